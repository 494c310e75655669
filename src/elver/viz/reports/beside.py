"""The plots of two runs over each other: the first in solid lines, the second dashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from elver.viz.history import Cast
from elver.viz.plots import ENERGY_COLOURS
from elver.viz.reports.charts import Chart, drawn_over_time, drawn_plain, flat, legend_below, plane_of, safe
from elver.viz.style import COLOURS, open_axes

__all__ = ["charts_beside"]

_LOOKS: tuple[dict[str, Any], ...] = ({"linestyle": "-"}, {"linestyle": (0, (4, 2))})


def charts_beside(runs: Mapping[str, tuple[xr.Dataset, Cast]]) -> Iterator[Chart]:
    """Paths, the first tip or body, energies and Newton iterations of runs by name."""
    looks = dict(zip(runs, _LOOKS, strict=True))
    casts = {name: cast for name, (_, cast) in runs.items()}

    def paths(axes: Axes) -> None:
        ways = {name: cast.traces for name, cast in casts.items()}
        i, j = plane_of(np.concatenate([way for own in ways.values() for way in own]))
        for (name, own), colour in zip(ways.items(), ("rod", "accent"), strict=True):
            for k, way in enumerate(own):
                label = safe(name) if k == 0 else ""
                axes.plot(way[:, i], way[:, j], color=COLOURS[colour], linewidth=1.4, label=label, **looks[name])
        axes.set_title("paths")
        flat(axes, i, j)
        legend_below(axes)

    def tips(axes: Axes) -> None:
        for name, cast in casts.items():
            way = next(iter(cast.ways.values()))
            for i, (axis, colour) in enumerate([("x", "rod"), ("y", "gold"), ("z", "accent")]):
                axes.plot(cast.time, way[:, i], color=COLOURS[colour], label=safe(f"{axis}, {name}"), **looks[name])
        cast = next(iter(casts.values()))
        first = next(iter(cast.ways))
        part = "tip" if any(rod.name == first for rod in cast.rods) else "middle"
        open_axes(axes, f"{part} of {safe(first)}", "position [m]")
        legend_below(axes)

    def energies(axes: Axes) -> None:
        for name, (run, _) in runs.items():
            level = float(run["energy/gravity"][0]) if "energy/gravity" in run else 0.0
            for kind in ("kinetic", "elastic", "total"):
                values = run[f"energy/{kind}"].values - (level if kind == "total" else 0.0)
                label = safe(f"{kind}, {name}")
                axes.plot(run["time"].values, values, color=ENERGY_COLOURS[kind], label=label, **looks[name])
        open_axes(axes, "energy (that of gravity 0 at the start)", "energy [J]")
        legend_below(axes)

    def newton(axes: Axes) -> None:
        for (name, (run, _)), colour in zip(runs.items(), ("violet", "accent"), strict=True):
            time, sums = run["time"].values, np.cumsum(run["newton_iterations"].values)
            axes.plot(time, sums, color=COLOURS[colour], label=safe(name), **looks[name])
        open_axes(axes, "Newton iterations", "since the start")
        legend_below(axes)

    yield drawn_plain("paths", "paths of tips and bodies of both runs", paths)
    yield drawn_over_time("tips", "the first tip or body of both runs", tips)
    kinds = [f"energy/{kind}" for kind in ("kinetic", "elastic", "total")]
    if all(kind in run for run, _ in runs.values() for kind in kinds):
        yield drawn_over_time("energy", "energies of both runs", energies)
    if all("newton_iterations" in run and run["newton_iterations"].values.any() for run, _ in runs.values()):
        yield drawn_over_time("newton", "Newton iterations of both runs", newton)
