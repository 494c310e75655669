"""The server behind the page: on this machine only, with nothing that leads outside."""

from __future__ import annotations

import contextlib
import io
import ipaddress
from typing import Any

from elver.errors import BadInput
from elver.viz.browser.stage import rgb

__all__ = ["check_host", "open_server"]


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
