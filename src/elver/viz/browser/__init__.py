"""A robot in the browser, live or as a recording: ``view(system)``, ``view(run)``, ``view("run.nc")``.

The page is served by viser on 127.0.0.1. Every browser window sees the same robot; closing one stops nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import xarray as xr

from elver.errors import BadInput
from elver.integrators import Method
from elver.integrators.live import LiveRobot, Mode
from elver.integrators.runs import as_run
from elver.statics.equilibrium import Equilibrium
from elver.system import Inputs, State, System
from elver.viz.browser.liveview import LiveView
from elver.viz.browser.player import Player
from elver.viz.browser.server import check_host, open_server

if TYPE_CHECKING:
    Run: TypeAlias = xr.Dataset | str | os.PathLike[str]

__all__ = ["LiveRobot", "LiveView", "Player", "view"]


def view(
    what: System | Equilibrium | Run | Sequence[Run],
    inputs: Inputs | None = None,
    state: State | Equilibrium | None = None,
    *,
    mode: Mode = "dynamics",
    step: float = 1.0 / 240.0,
    method: Method | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    title: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    remote: bool = False,
    wait: bool = True,
) -> LiveView | Player:
    """Show a robot in the browser: a system live, a run (dataset or .nc file) as a playback, two runs side by side.

    Live: ``inputs`` are numbers or functions of time and are moved by sliders, within ``ranges`` by name where given;
    ``state`` is where it begins, the equilibrium of the inputs by default; ``mode`` is "dynamics" or "statics" at
    first; ``step`` [s] and ``method`` (GeneralizedAlpha(rho_inf=0.6) by default) are those of the motion.

    The page is at http://127.0.0.1:8080, or at the next port that is free. Other hosts are refused unless
    ``remote=True``. With ``wait`` the call lasts until Ctrl-C; without, it returns at once what runs, with ``url`` and
    ``stop()``.
    """
    check_host(host, remote)
    if isinstance(what, Equilibrium):
        state = state or what
        what = what.system
    shown: LiveView | Player
    if isinstance(what, System):
        robot = LiveRobot(what, inputs, state, mode=mode, step=step, method=method, ranges=ranges)
        label = title or what.title or ", ".join(part.name for part in what.mechanism.parts[:3])
        shown = LiveView(robot, open_server(host, port, label, remote), label)
    else:
        several = list(what) if isinstance(what, list | tuple) else [what]
        runs, names = [], []
        for k, item in enumerate(several):
            runs.append(as_run("view", item))
            names.append(Path(item).name if isinstance(item, str | os.PathLike) else f"run {k + 1}")
        if not 1 <= len(runs) <= 2:
            raise BadInput(f"view: {len(runs)} runs; give one run, or two to see them side by side")
        label = title or " | ".join(names)
        shown = Player(runs, open_server(host, port, label, remote), label, names)
    shown.start()
    if wait:
        shown.wait()
    return shown
