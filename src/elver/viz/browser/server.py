"""The server behind the page: on this machine only, with nothing that leads outside."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import threading
from abc import ABC, abstractmethod
from typing import Any, Self

from elver.errors import BadInput
from elver.viz.browser.stage import rgb

__all__ = ["Served", "check_host", "open_server"]


def check_host(host: str, remote: bool) -> str:
    """``host`` if it is this machine, or if ``remote`` says that others may come."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not (local or remote):
        raise BadInput(
            f"view: host = {host!r} would let other machines move the robot; leave it at 127.0.0.1 "
            "(and reach it through an SSH tunnel), or say remote=True if you mean it"
        )
    return host


def open_server(host: str, port: int, title: str) -> Any:
    """A viser server with our look; the next free port is taken where ``port`` is busy."""
    try:
        import viser
    except ImportError:
        raise BadInput("the live view needs viser, which is not installed: pip install 'elver[view]'") from None

    class Server(viser.ViserServer):
        """Without the tunnel to a public address that a page could ask for."""

        def request_share_url(self, verbose: bool = True) -> str | None:
            return None

    with contextlib.redirect_stdout(io.StringIO()):  # its banner; the command line says where the page is
        server = Server(host=host, port=port, label=title, verbose=False)
    server.gui.configure_theme(
        control_width="medium", show_logo=False, show_share_button=False, brand_color=rgb("rod"), dark_mode=False
    )
    server.scene.set_up_direction("+z")
    server.scene.world_axes.visible = False
    return server


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
        return f"http://{self.server.get_host()}:{self.server.get_port()}"

    def wait(self) -> None:
        """Until Ctrl-C, or ``stop``; then everything is closed."""
        try:
            while not self._stop.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()
