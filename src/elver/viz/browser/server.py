"""The server behind the page: for this machine and its own page only, with nothing that leads outside.

Listening on 127.0.0.1 keeps other machines out, not other pages: any page in the same browser may open a WebSocket to
127.0.0.1, and a name that its owner points to 127.0.0.1 makes such a page look like ours. Browsers say where a page
comes from (Origin) and by which name it reached us (Host), and a page cannot change either. Both are checked.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from elver.errors import BadInput
from elver.viz.browser.stage import rgb

__all__ = ["Served", "check_host", "open_server", "paragraph", "refusal"]

_opening = threading.Lock()


def _is_this_machine(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def check_host(host: str, remote: bool) -> str:
    """``host`` if it is this machine, or if ``remote`` says that others may come."""
    if not (_is_this_machine(host) or remote):
        raise BadInput(
            f"view: host = {host!r} would let other machines move the robot; leave it at 127.0.0.1 "
            "(and reach it through an SSH tunnel), or say remote=True if you mean it"
        )
    return host


def _check_address(host: str, port: int) -> None:
    """viser waits for ever for a server that cannot open."""
    if not 0 <= port <= 65535:
        raise BadInput(f"view: there is no port {port}; choose one from 1024 to 65535")
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise BadInput(f"view: host = {host!r} is no address of this machine ({error})") from None


def refusal(headers: Mapping[str, str], remote: bool) -> str:
    """Why a request is refused, in words; empty where it is welcome.

    Host must be a name of this machine, unless ``remote``; Origin must be the address of our own page. A program that
    is no browser sends no Origin and is welcome: on this machine it can do as its owner does anyway.
    """
    host, origin = headers.get("Host", ""), headers.get("Origin")
    if not remote and not _is_this_machine(urlsplit(f"//{host}").hostname):
        return f"The live view answers at 127.0.0.1 and localhost, not as {host!r}.\n"
    if origin is not None and urlsplit(origin).netloc != host:
        return f"The live view takes no orders from {origin!r}.\n"
    return ""


@contextlib.contextmanager
def _guarded(remote: bool) -> Iterator[None]:
    """What viser serves meanwhile is guarded.

    viser leaves no room for a check of requests, so that ``serve`` of the library below it is replaced while the
    server opens, which is over when its constructor returns.
    """
    import websockets.asyncio.server as library

    plain = library.serve

    def serve(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def checked(connection: Any, request: Any) -> Any:
            words = refusal(request.headers, remote)
            return connection.respond(403, words) if words else process_request(connection, request)

        return plain(*arguments, process_request=checked, **options)

    with _opening:
        library.serve = serve  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            library.serve = plain  # type: ignore[misc]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """viser prints through rich; where the page is, and that it ended, is for the command line to say."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def open_server(host: str, port: int, title: str, remote: bool = False) -> Any:
    """A viser server with our look; the next free port is taken where ``port`` is busy."""
    try:
        import viser
    except ImportError:
        raise BadInput("the live view needs viser, which is not installed: pip install 'elver[view]'") from None

    _check_address(host, port)

    class Server(viser.ViserServer):
        """Without chatter, and without the tunnel to a public address that a page could ask for."""

        def request_share_url(self, verbose: bool = True) -> str | None:
            return None

        def stop(self) -> None:
            with _quiet():
                super().stop()

    with _quiet(), _guarded(remote):
        server = Server(host=host, port=port, label=title, verbose=False)
    server.gui.configure_theme(
        control_width="medium", show_logo=False, show_share_button=False, brand_color=rgb("rod"), dark_mode=False
    )
    scene = server.scene
    scene.set_up_direction("+z")
    scene.world_axes.visible = False
    # Light that leaves colours what they are: from the left of the camera, and from the sky.
    scene.configure_environment_map(None)
    scene.configure_default_lights(False)
    scene.add_light_directional("/sun", position=(-0.3, -1.0, 1.2), intensity=2.2)
    scene.add_light_hemisphere("/sky", intensity=1.6, ground_color=rgb("grey"))
    return server


def paragraph(*lines: str) -> str:
    """Small text of the panel, from lines of HTML; empty ones are left out."""
    text = "<br>".join(filter(None, lines))
    return f"<div style='font-size:0.82em;line-height:1.5;padding:0 0.8em 0.4em'>{text}</div>"


class Served(ABC):
    """A page with a loop in a thread of its own, from ``start`` to ``stop``."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def _run(self) -> None:
        """The loop, until ``_stop`` is set."""

    def start(self) -> Self:
        """Run in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="elver-view", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the loop and the server."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)
        self.server.stop()

    @property
    def url(self) -> str:
        """Where the page is."""
        host = self.server.get_host()
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server.get_port()}"

    def wait(self) -> None:
        """Until Ctrl-C, or ``stop``; then everything is closed."""
        try:
            while not self._stop.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()
