"""A robot in the browser, live or as a recording: ``view(system)``, ``view(run)``, ``view("run.nc")``.

The page is served by viser on 127.0.0.1. Every browser window sees the same robot; closing one stops nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from elver.errors import BadInput
from elver.integrators import Method
from elver.io import load
from elver.statics.equilibrium import Equilibrium
from elver.system import Inputs, State, System
from elver.viz.browser.live import LiveRobot, Mode
from elver.viz.browser.liveview import LiveView
from elver.viz.browser.server import check_host, open_server

__all__ = ["LiveRobot", "LiveView", "view"]


def view(
    what: System,
    inputs: Inputs | None = None,
    state: State | Equilibrium | None = None,
    *,
    mode: Mode = "dynamics",
    step: float = 1.0 / 240.0,
    method: Method | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    title: str = "elver",
    host: str = "127.0.0.1",
    port: int = 8080,
    remote: bool = False,
    wait: bool = True,
) -> Any:
    """Show a system live."""
    check_host(host, remote)
    robot = LiveRobot(what, inputs, state, mode=mode, step=step, method=method, ranges=ranges)
    shown = LiveView(robot, open_server(host, port, title), title).start()
    if wait:
        shown.wait()
    return shown
