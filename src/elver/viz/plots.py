"""Quick plots of a run: shape in space, way of the tip, energy, and the three together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from elver.errors import BadInput
from elver.integrators.runs import as_run
from elver.viz.history import Cast, cast_of
from elver.viz.scene import Scene, surface_of, surface_of_body
from elver.viz.style import BODY_TIME_COLOURS, COLOURS, TIME_COLOURS, legend_above, open_axes, style
from elver.viz.tube import join
from elver.words import describe

if TYPE_CHECKING:
    from elver.integrators.runs import Seen

__all__ = ["energy", "shape_3d", "show", "tip_history"]

ENERGY_COLOURS = {
    "total": COLOURS["ink"],
    "kinetic": COLOURS["accent"],
    "elastic": COLOURS["rod"],
    "gravity": COLOURS["gold"],
}


def shape_3d(
    run: Seen | np.ndarray,
    *,
    times: Sequence[float] | None = None,
    view: tuple[float, float] | None = None,
    axes: Any = None,
) -> Figure:
    """Rods and bodies in space at ``times`` [s], early light, late dark.

    If not given, ``times`` are seven instants over the run, or three where there are many parts.

    ``run`` may also be an equilibrium, a system (at rest), or plain positions (node, 3) or (time, node, 3) in metres.
    ``view`` is elevation and
    azimuth in degrees (if not given, what lies flat is seen from further above); ``axes`` 3-D axes to draw in. A radius
    below 1/250 of the scene is drawn so.
    """
    cast = cast_of(run)
    with style():
        if axes is None:
            figure = plt.figure(figsize=(6.4, 5.2), layout="constrained")
            axes = figure.add_subplot(projection="3d")
        scene = Scene.of(axes, cast.rods, view, cast.bodies)
        scene.prepare()
        least_radius = 0.004 * scene.size
        time = cast.time
        chosen = _instants(time, times, 7 if len(cast.rods) + len(cast.bodies) <= 3 else 3)
        span = (time[chosen[0]], time[chosen[-1]])
        shade = Normalize(*span)
        layers = []
        for instant in chosen:
            last = instant == chosen[-1]
            colour, body_colour = COLOURS["rod"], COLOURS["body"]
            if len(chosen) > 1:
                colour = to_hex(TIME_COLOURS(shade(time[instant])))
                body_colour = to_hex(BODY_TIME_COLOURS(shade(time[instant])))
            layers.append(
                join(
                    [surface_of(rod, instant, least_radius, colour=colour, base=last) for rod in cast.rods]
                    + [
                        surface_of_body(body, instant, scene.size, cast.marker, colour=body_colour)
                        for body in cast.bodies
                    ]
                )
            )
        scene.add_shadow(join(layers))
        if len(time) > 1:
            for way in cast.traces:
                _trace(axes, way)
        # Late stands before early: sorted by depth, parts that come back to a place would cut through themselves.
        for k, layer in enumerate(layers):
            scene.add(layer, zorder=10.0 + k)
        axes.set_title("shape", loc="left")
        if len(chosen) > 1 and span[0] < span[1]:
            colours = ScalarMappable(shade, TIME_COLOURS if cast.rods else BODY_TIME_COLOURS)
            bar = axes.get_figure().colorbar(colours, ax=axes, shrink=0.45, aspect=22, pad=0.02)
            bar.set_label("time [s]")
            bar.outline.set_visible(False)
        axes.text2D(0.02, 0.02, f"grid {scene.grid_step:g} m", transform=axes.transAxes, color=COLOURS["grey"])
    return axes.get_figure()


def tip_history(run: Seen, *, rod: str | None = None, axes: Axes | None = None) -> Figure:
    """World position of a rod's tip over time; or, of several parts, how far each is from where it began.

    ``rod`` is the name of one rod, or of a body, whose centre is then drawn. A tip that a body carries goes with
    the body and has no line of its own.
    """
    cast = cast_of(run)
    ways = {part.name: part.tip for part in cast.rods} | {part.name: part.position for part in cast.bodies}
    if rod is None and len(cast.ways) == 1:
        (rod,) = cast.ways
    if rod is not None and rod not in ways:
        raise BadInput(f"no rod called {rod!r} in this run; known: {', '.join(ways)}")
    with style():
        axes = _axes(axes)
        if rod is None:
            _distances(axes, cast)
        else:
            for i, (name, colour) in enumerate([("x", "rod"), ("y", "gold"), ("z", "accent")]):
                axes.plot(cast.time, ways[rod][:, i], color=COLOURS[colour], label=name)
            end = "centre" if any(body.name == rod for body in cast.bodies) else "tip"
            open_axes(axes, f"{end} of {rod}", "position [m]")
        legend_above(axes)
    return _figure(axes)


def _distances(axes: Axes, cast: Cast) -> None:
    """One line per part: the distance of its tip or centre from where it began; many share a name."""
    names = {body.name for body in cast.bodies}
    rods = {name: way for name, way in cast.ways.items() if name not in names}
    bodies = {name: way for name, way in cast.ways.items() if name in names}
    every = ("rod", "accent", "gold", "violet", "ink", "grey")  # as those of their paths
    groups = [
        (rods, ("rod", "violet", "ink") if bodies else every, "tips of {} rods"),
        (bodies, ("gold", "accent", "grey") if rods else every, "{} bodies"),
    ]
    for ways, colours, together in groups:
        for k, (name, way) in enumerate(ways.items()):
            many = len(ways) > len(colours)
            axes.plot(
                cast.time,
                np.linalg.norm(way - way[0], axis=1),
                color=COLOURS[colours[0 if many else k]],
                linewidth=1.0 if many else 1.8,
                label=together.format(len(ways)) if many and k == 0 else "" if many else name,
            )
    title = "tips and bodies" if rods and bodies else "tips" if rods else "bodies"
    open_axes(axes, title, "distance from start [m]")


def energy(run: Seen, *, axes: Axes | None = None) -> Figure:
    """Kinetic, elastic, gravity and total energy over time, those of them that the run holds and that are not zero.

    The energy of gravity, which is known up to a constant, is counted from the start of the run, and so is the total.
    """
    run = as_run("energy", run)
    held = [name for name in ("kinetic", "elastic", "gravity", "total") if f"energy/{name}" in run]
    if not held:
        raise BadInput("no energy to draw: the run needs a variable like energy/total (time) in J")
    held = [name for name in held if name == "total" or np.any(run[f"energy/{name}"].values)]
    with style():
        axes = _axes(axes)
        level = run["energy/gravity"].values[0] if "gravity" in held else 0.0
        level = level if np.isfinite(level) else 0.0
        for name in held:
            values = run[f"energy/{name}"]
            time = values.coords[values.dims[0]].values
            from_level = values.values - (level if name in ("gravity", "total") else 0.0)
            # the total lies below, and is wide: where another line is all of it, both are seen
            width, layer = (3.6, 1.9) if name == "total" else (1.6, 2.0)
            axes.plot(time, from_level, color=ENERGY_COLOURS[name], label=name, linewidth=width, zorder=layer)
        open_axes(axes, "energy", "energy [J], gravity 0 at the start" if level else "energy [J]")
        legend_above(axes)
    return _figure(axes)


def show(run: Seen, *, block: bool | None = None) -> Figure:
    """Shape, way of the tip and energy in one figure, in a window where there is a display.

    ``run`` is a run or its file; of an equilibrium, or a system at rest, the shape alone is drawn. ``block`` waits for
    the window to be closed, as in ``matplotlib.pyplot.show``.
    """
    run = as_run("show", run)
    if run.sizes.get("time", 0) == 1:
        return _shown(_one_shape(run), block)
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
    return _shown(figure, block)


def _shown(figure: Figure, block: bool | None) -> Figure:
    if plt.get_backend().lower() != "agg":
        plt.show(block=block)
    return figure


def _one_shape(run: xr.Dataset) -> Figure:
    """The shape of a run of one instant, and below it what it is."""
    figure = shape_3d(run)
    verdict = {True: "stable", False: "not stable"}.get(run.attrs.get("stable"), "")  # type: ignore[arg-type]
    words = [str(run.attrs.get("title", "")).removeprefix("elver "), verdict]
    figure.axes[0].set_title(", ".join(word for word in words if word), loc="left")
    return figure


def _trace(axes: Any, tip: np.ndarray) -> Line3DCollection:
    line = Line3DCollection([tip], colors=COLOURS["accent"], linewidths=1.3, zorder=5, clip_on=False)
    axes.add_collection3d(line)
    return line


def _instants(time: np.ndarray, times: Sequence[float] | None, count: int) -> list[int]:
    wanted = np.linspace(time[0], time[-1], min(count, len(time))) if times is None else np.asarray(times, dtype=float)
    if not np.all(np.isfinite(wanted)) or wanted.size == 0:
        raise BadInput(f"times = {describe(times)}: expected one or more instants in s")
    return sorted({int(np.argmin(np.abs(time - t))) for t in wanted})


def _axes(axes: Axes | None) -> Axes:
    return axes if axes is not None else plt.subplots(figsize=(6.4, 3.4), layout="constrained")[1]


def _figure(axes: Axes) -> Figure:
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure
