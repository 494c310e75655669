"""The plots of a report, as vector pictures in the look of all figures of elver."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from elver.viz.history import Cast
from elver.viz.plots import energy, tip_history
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

__all__ = [
    "FORMATS",
    "Chart",
    "charts_of",
    "drawn_over_time",
    "drawn_plain",
    "flat",
    "is_branch",
    "legend_below",
    "plane_of",
    "safe",
]

FORMATS = ("pdf", "svg", "png")

SIZE = (5.6, 3.1)  # inches
_LINES = 6  # more of a kind share one colour
_VECTORS: Any = {"svg.fonttype": "none", "svg.hashsalt": "elver", "pdf.fonttype": 42}


@dataclass(frozen=True)
class Chart:
    """One plot: a short name, what it shows, its figure, and whether time runs along its axis."""

    name: str
    about: str
    figure: Figure
    axes: Axes
    over_time: bool = False

    def svg(self) -> str:
        """The plot as SVG text; the same run gives the same text."""
        text = io.StringIO()
        with mpl.rc_context(_VECTORS):
            self.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return text.getvalue()

    def save(self, folder: Path, format: str) -> Path:
        """The plot as a file of its own; vector formats keep text as text."""
        path = folder / f"{self.name}.{format}"
        with style(), mpl.rc_context(_VECTORS):
            self.figure.savefig(path, format=format)
        return path

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of the axes in parts of the picture, once it has been drawn."""
        box = self.axes.get_position()
        return float(box.x0), float(box.x1), float(box.y0), float(box.y1)

    @property
    def span(self) -> tuple[float, float]:
        """What is at left and right of the axes [s]."""
        start, end = self.axes.get_xlim()
        return float(start), float(end)


def charts_of(run: xr.Dataset, cast: Cast | None, reactions: xr.Dataset | None) -> Iterator[Chart]:
    """The plots that this run has something for, in the order of a report; ``reactions`` are those of its joints."""
    if cast is not None and len(cast.time) > 1:
        yield drawn_plain("paths", "ways of tips and bodies in the plane of the largest motion", _of(_ways, cast))
    if cast is not None and cast.rods:
        yield drawn_plain("shapes", "centre lines at several instants, early light, late dark", _of(_shapes, cast))
    if is_branch(run):
        yield from _branch(run)
    if run.sizes.get("time", 0) < 2:
        return
    if cast is not None and len(cast.time) > 1:
        yield drawn_over_time("tips", "tips and bodies over time", lambda axes: tip_history(run, axes=axes))
    if any(_finite(run, f"energy/{name}") for name in ("kinetic", "elastic", "gravity", "total")):
        yield drawn_over_time("energy", "energy over time", lambda axes: energy(run, axes=axes))
    if _finite(run, "energy/numerical"):
        yield drawn_over_time("balance", "where energy came from, where it went", _of(_balance, run))
    for name, labels, units, title in (
        ("inputs", "input", "input_units", "inputs"),
        ("multipliers", "multiplier", "multiplier_units", "multipliers of loops and holds"),
        ("efforts", "imposed", "effort_units", "efforts of imposed motion"),
    ):
        if _finite(run, name) and run[name].ndim == 2:
            yield from _channels(run, name, labels, units, title)
    if reactions is not None and reactions.sizes["joint"]:
        yield from _channels(_sizes(reactions), "reactions", "reaction", "units", "size of the reactions")
    if _finite(run, "newton_iterations") and run["newton_iterations"].values.any():  # explicit methods have none
        yield drawn_over_time("newton", "Newton iterations of each step", _of(_newton, run))


def _finite(run: xr.Dataset, name: str) -> bool:
    """There are numbers over time under this name."""
    return name in run and run[name].dims[:1] == ("time",) and run[name].size > 0 and bool(np.isfinite(run[name]).any())


def _ways(axes: Axes, cast: Cast) -> None:
    ways = cast.ways
    i, j = plane_of(np.concatenate(list(ways.values())))
    for k, (name, way) in enumerate(ways.items()):
        many = len(ways) > _LINES
        colour = COLOURS["rod"] if many else _colour(k)
        axes.plot(way[:, i], way[:, j], color=colour, linewidth=1.0 if many else 1.8, label="" if many else safe(name))
        axes.plot(*way[0, [i, j]], "o", color="white", markeredgecolor=colour, markersize=5)
        axes.plot(*way[-1, [i, j]], "o", color=colour, markersize=5)
    only = safe(next(iter(ways)))
    place = only if any(body.name == next(iter(ways)) for body in cast.bodies) else f"the tip of {only}"
    axes.set_title(
        f"path of {place}" if len(ways) == 1 else "paths of tips and bodies" if cast.bodies else "paths of tips"
    )
    flat(axes, i, j)
    if 1 < len(ways) <= _LINES:
        legend_above(axes)


def _shapes(axes: Axes, cast: Cast) -> None:
    i, j = plane_of(np.concatenate([rod.position.reshape(-1, 3) for rod in cast.rods]))
    time = cast.time
    wanted = np.linspace(time[0], time[-1], min(len(time), 9 if len(cast.rods) <= 3 else 4))
    chosen = sorted({int(np.argmin(np.abs(time - t))) for t in wanted})
    shade = Normalize(time[0], time[-1] if time[-1] > time[0] else time[0] + 1.0)
    for instant in chosen:
        colour = TIME_COLOURS(shade(time[instant])) if len(chosen) > 1 else COLOURS["rod"]
        for rod in cast.rods:
            axes.plot(rod.position[instant, :, i], rod.position[instant, :, j], color=colour)
    when = f", {time[chosen[0]]:.3g} s (light) to {time[chosen[-1]]:.3g} s" if len(chosen) > 1 else ""
    axes.set_title(f"shapes{when}")
    flat(axes, i, j)


def _balance(axes: Axes, run: xr.Dataset) -> None:
    time = run["time"].values
    change = run["energy/total"].values - run["energy/total"].values[0]
    kinds = [("total", change)] + [(name, run[f"energy/{name}"].values) for name in ("work", "dissipated", "numerical")]
    for k, (name, values) in enumerate(kinds):
        axes.plot(time, values, color=_colour(k), label=name, linewidth=3.6 if k == 0 else 1.6)
    least = 1e-3 * float(run.attrs.get("energy_in_play", 0.0))  # rounding is not drawn as if it were something
    low, high = axes.get_ylim()
    if least > 0.0:
        axes.set_ylim(min(low, -least), max(high, least))
    open_axes(axes, "balance", "energy since the start [J]")
    legend_above(axes)


def is_branch(run: xr.Dataset) -> bool:
    """The file of a continuation: equilibria over a value."""
    return "value" in run and "stable" in run and run["value"].dims == ("point",) == run["stable"].dims


def _branch(run: xr.Dataset) -> Iterator[Chart]:
    """Where each part is over the value, dashed where the equilibrium is not stable."""
    value, stable = run["value"].values, run["stable"].values.astype(bool)
    unit, over = run["value"].attrs.get("units", ""), run["value"].attrs.get("long_name", "value")
    places = [str(name) for name in run.data_vars if str(name).endswith("/position") and run[name].dims[0] == "point"]
    for k, name in enumerate(places[:_LINES]):

        def draw(axes: Axes, name: str = name) -> None:
            for i, (axis, colour) in enumerate([("x", "rod"), ("y", "gold"), ("z", "accent")]):
                place = run[name].values[:, i]
                axes.plot(value, place, color=COLOURS[colour], linestyle="--", linewidth=1.0)
                axes.plot(value, np.where(stable, place, np.nan), color=COLOURS[colour], label=axis)
            axes.set_title(safe(name.removesuffix("/position")))
            axes.set_xlabel(f"{safe(str(over))} [{safe(str(unit))}]" if unit else safe(str(over)))
            axes.set_ylabel("position [m]")
            axes.margins(x=0.0)
            legend_above(axes)

        yield drawn_plain(f"branch-{k + 1}" if k else "branch", f"{name} along the branch; dashed: not stable", draw)


def _channels(run: xr.Dataset, name: str, labels: str, units: str, title: str) -> Iterator[Chart]:
    """One plot per unit."""
    values = run[name].values
    time = run["time"].values
    names = [str(label) for label in run[labels].values] if labels in run.coords else [""] * values.shape[1]
    kinds = [str(unit) for unit in run[units].values] if units in run else [""] * values.shape[1]
    for unit in dict.fromkeys(kinds):
        own = [k for k, kind in enumerate(kinds) if kind == unit]
        if name == "inputs":  # a constant one is told in the model
            own = [k for k in own if np.ptp(values[:, k]) > 0.0]
        own = [k for k in own if np.any(values[:, k])]  # a row that is dropped as redundant is zero
        if not own:
            continue
        # of many, those that matter most have a name and a colour each
        main = sorted(sorted(own, key=lambda k: -np.nanmax(np.abs(values[:, k]), initial=0.0))[:_LINES])

        def draw(axes: Axes, own: list[int] = own, main: list[int] = main, unit: str = unit) -> None:
            for k in own:
                if k not in main:
                    axes.plot(time, values[:, k], color=COLOURS["grid"], linewidth=1.0)
            for place, k in enumerate(main):
                axes.plot(time, values[:, k], color=_colour(place), label=safe(names[k]))
            label = "factor" if unit == "1" else f"{name.removesuffix('s')} [{safe(unit)}]" if unit else ""
            open_axes(axes, title, label)
            legend_below(axes)

        about = f"{title}, {unit}" if unit not in ("", "1") else title
        number = list(dict.fromkeys(kinds)).index(unit)
        yield drawn_over_time(f"{name}-{number + 1}" if number else name, about, draw)


def _sizes(reactions: xr.Dataset) -> xr.Dataset:
    """Sizes of the force and of the moment on the second side of every joint over time."""
    kinds = {"N": "force_on_b", "N m": "moment_on_b"}
    values = np.concatenate([np.linalg.norm(reactions[name].values, axis=-1) for name in kinds.values()], axis=1)
    joints = reactions["joint"].values
    return xr.Dataset(
        {
            "reactions": (("time", "reaction"), np.where(values > 1e-9 * np.max(values, initial=0.0), values, 0.0)),
            "units": ("reaction", [unit for unit in kinds for _ in joints]),
        },
        {"time": reactions["time"], "reaction": np.tile(joints, 2)},
    )


def _newton(axes: Axes, run: xr.Dataset) -> None:
    time, iterations = run["time"].values[1:], run["newton_iterations"].values[1:]  # the start has none
    together = int(np.ceil(len(time) / 300))  # more steps than points of the screen would be a block of ink
    starts = np.arange(0, len(time), together)
    most, mean = (operation.reduceat(iterations, starts) for operation in (np.maximum, np.add))
    ends = np.append(starts[1:], len(time))
    time, mean = time[ends - 1], mean / (ends - starts)
    axes.fill_between(time, most, step="pre", color=COLOURS["violet"], alpha=0.25, linewidth=0.0)
    axes.step(time, mean, where="pre", color=COLOURS["violet"], linewidth=0.9)
    axes.set_xlim(float(run["time"][0]), float(run["time"][-1]))
    axes.set_ylim(0.0, max(1.0, 1.1 * float(np.nanmax(iterations))))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("Newton iterations")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("per step" if together == 1 else "per step, mean and most")


def legend_below(axes: Axes) -> None:
    """Names may be long: one column beside the plot would squeeze it, so they stand in rows below."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=2, fontsize=8, handlelength=2.0)


def plane_of(points: np.ndarray) -> tuple[int, int]:
    """The two axes along which the points spread most; z, if it is one of them, points up."""
    spread = np.ptp(points, axis=0)
    i, j = sorted(np.argsort(-spread, kind="stable")[:2].tolist())
    return i, j


def flat(axes: Axes, i: int, j: int) -> None:
    """Axes for places in the plane of two axes of the world, in equal scale."""
    axes.set_xlabel(f"{'xyz'[i]} [m]")
    axes.set_ylabel(f"{'xyz'[j]} [m]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _colour(k: int) -> str:
    return COLOURS[("rod", "accent", "gold", "violet", "ink", "grey")[k % 6]]


def safe(text: str) -> str:
    """A name as matplotlib should print it: a dollar is a dollar, and a leading underscore hides nothing."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _of(draw: Callable[[Axes, Any], None], what: Any) -> Callable[[Axes], None]:
    return lambda axes: draw(axes, what)


def drawn_plain(name: str, about: str, draw: Callable[[Axes], Any]) -> Chart:
    """What ``draw`` draws."""
    return Chart(name, about, *_figure(draw))


def drawn_over_time(name: str, about: str, draw: Callable[[Axes], Any]) -> Chart:
    """What ``draw`` draws over time."""
    return Chart(name, about, *_figure(draw), over_time=True)


def _figure(draw: Callable[[Axes], Any]) -> tuple[Figure, Axes]:
    with style():
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        try:
            draw(axes)
        finally:
            plt.close(figure)
    return figure, axes
