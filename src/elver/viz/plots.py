"""Quick plots of a run: shape in space, way of the tip, energy, and the three together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from elver.errors import BadInput
from elver.viz.history import rods_of
from elver.viz.scene import Scene, surface_of
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style
from elver.viz.tube import join

__all__ = ["energy", "shape_3d", "show", "tip_history"]

VIEW = (22.0, -62.0)  # elevation and azimuth in degrees

ENERGY_COLOURS = {
    "total": COLOURS["ink"],
    "kinetic": COLOURS["accent"],
    "elastic": COLOURS["rod"],
    "gravity": COLOURS["gold"],
}


def shape_3d(
    run: xr.Dataset | np.ndarray,
    *,
    times: Sequence[float] | None = None,
    view: tuple[float, float] = VIEW,
    axes: Any = None,
) -> Figure:
    """The rods in space at ``times`` [s] (seven instants over the run if not given), early light, late dark.

    ``run`` may also be plain positions (node, 3) or (time, node, 3) in metres. ``view`` is elevation and
    azimuth in degrees; ``axes`` 3-D axes to draw in. A radius below 1/250 of the scene is drawn so.
    """
    rods = rods_of(run)
    with style():
        if axes is None:
            figure = plt.figure(figsize=(6.4, 5.2), layout="constrained")
            axes = figure.add_subplot(projection="3d")
        scene = Scene.of(axes, rods, view)
        scene.prepare()
        least_radius = 0.004 * scene.size
        time = rods[0].time
        chosen = _instants(time, times)
        span = (time[chosen[0]], time[chosen[-1]])
        shade = Normalize(*span)
        surfaces = []
        for instant in chosen:
            colour = to_hex(TIME_COLOURS(shade(time[instant]))) if len(chosen) > 1 else COLOURS["rod"]
            last = instant == chosen[-1]
            surfaces += [surface_of(rod, instant, least_radius, colour=colour, base=last) for rod in rods]
        everything = join(surfaces)
        scene.add_shadow(everything)
        for rod in rods:
            if len(rod.time) > 1:
                _trace(axes, rod.tip)
        scene.add(everything)
        axes.set_title("shape", loc="left")
        if len(chosen) > 1 and span[0] < span[1]:
            bar = axes.get_figure().colorbar(
                ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.45, aspect=22, pad=0.02
            )
            bar.set_label("time [s]")
            bar.outline.set_visible(False)
        axes.text2D(
            0.02, 0.02, f"grid {scene.grid_step:g} m", transform=axes.transAxes, color=COLOURS["grey"]
        )
    return axes.get_figure()


def tip_history(run: xr.Dataset, *, rod: str | None = None, axes: Axes | None = None) -> Figure:
    """World position of a rod's tip over time; ``rod`` is its name where there are several."""
    histories = {history.name: history for history in rods_of(run)}
    if rod is None:
        rod = next(iter(histories))
    if rod not in histories:
        raise BadInput(f"no rod called {rod!r} in this run; known: {', '.join(histories)}")
    history = histories[rod]
    with style():
        axes = _axes(axes)
        for i, (name, colour) in enumerate([("x", "rod"), ("y", "gold"), ("z", "accent")]):
            axes.plot(history.time, history.tip[:, i], color=COLOURS[colour], label=name)
        open_axes(axes, f"tip of {rod}", "position [m]")
        legend_above(axes)
    return _figure(axes)


def energy(run: xr.Dataset, *, axes: Axes | None = None) -> Figure:
    """Kinetic, elastic, gravity and total energy over time, those of them that the run holds."""
    held = [name for name in ("kinetic", "elastic", "gravity", "total") if f"energy/{name}" in run]
    if not held:
        raise BadInput("no energy to draw: the run needs a variable like energy/total (time) in J")
    with style():
        axes = _axes(axes)
        for name in held:
            values = run[f"energy/{name}"]
            time = values.coords[values.dims[0]].values
            width = 2.4 if name == "total" else 1.6
            axes.plot(time, values.values, color=ENERGY_COLOURS[name], label=name, linewidth=width)
        open_axes(axes, "energy", "energy [J]")
        legend_above(axes)
    return _figure(axes)


def show(run: xr.Dataset, *, block: bool | None = None) -> Figure:
    """Shape, way of the tip and energy in one figure, in a window where there is a display.

    ``block`` waits for the window to be closed, as in ``matplotlib.pyplot.show``.
    """
    with_energy = any(str(key).startswith("energy/") for key in run.data_vars)
    with style():
        figure = plt.figure(figsize=(11.5, 5.4), layout="constrained")
        panels: Any = figure.subfigures(1, 2, width_ratios=[1.15, 1.0])
        left, right = panels
        shape_3d(run, axes=left.add_subplot(projection="3d"))
        plots = right.subplots(2 if with_energy else 1, 1, squeeze=False)[:, 0]
        tip_history(run, axes=plots[0])
        if with_energy:
            energy(run, axes=plots[1])
            plots[0].set_xlabel("")
    if plt.get_backend().lower() != "agg":
        plt.show(block=block)
    return figure


def _trace(axes: Any, tip: np.ndarray) -> Line3DCollection:
    line = Line3DCollection([tip], colors=COLOURS["accent"], linewidths=1.3, zorder=5, clip_on=False)
    axes.add_collection3d(line)
    return line


def _instants(time: np.ndarray, times: Sequence[float] | None) -> list[int]:
    wanted = (
        np.linspace(time[0], time[-1], min(7, len(time))) if times is None else np.asarray(times, dtype=float)
    )
    if not np.all(np.isfinite(wanted)) or wanted.size == 0:
        raise BadInput(f"times = {times!r}: expected one or more instants in s")
    return sorted({int(np.argmin(np.abs(time - t))) for t in wanted})


def _axes(axes: Axes | None) -> Axes:
    return axes if axes is not None else plt.subplots(figsize=(6.4, 3.4), layout="constrained")[1]


def _figure(axes: Axes) -> Figure:
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure
