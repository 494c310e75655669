"""The stick in flight, its mass centre against Newton's law, and what is conserved."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from elver import analytic, viz
from elver.viz.style import COLOURS, legend_above, style

from .run import LENGTH, MASS, PEAK, T_END, T_PEAK, TIPS

VIEW = (16.0, -72.0)


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes every half second of flight, mass centre, ends beside shooting and its references, energy."""
    time = run["time"].values
    with style():
        figure = plt.figure(figsize=(12.4, 8.6))
        grid = figure.add_gridspec(1, 3, left=0.055, right=0.985, bottom=0.065, top=0.36, wspace=0.24)
        # a wide scene: larger than the figure, since 3-D axes keep a margin of their own
        scene = figure.add_axes((-0.57, 0.20, 1.7, 1.0), projection="3d")
        viz.shape_3d(run, times=[0.0, *np.arange(1.0, time[-1] + 1e-9, 0.5)], view=VIEW, axes=scene)
        scene.set_title("")
        figure.text(0.03, 0.955, "a stick is pushed at its lower end, then flies", fontsize=14, fontweight="bold")

        axes = figure.add_subplot(grid[0, 0])
        exact, _ = analytic.pulse_flight(time, MASS, PEAK / LENGTH, T_PEAK, T_END)
        for k, (axis, start) in enumerate(zip("xyz", (0.3, 0.0, 0.4), strict=True)):
            axes.plot(time, run["stick/centre"].values[:, k], color=_colour(k), label=axis)
            marks = slice(None, None, 40)
            axes.plot(
                time[marks], start + (exact[marks] if k == 0 else 0.0 * exact[marks]), "o", color="white",
                markeredgecolor=COLOURS["accent"], markersize=5, label="Newton's law" if k == 2 else None,
            )  # fmt: skip
        _finish(axes, "mass centre", "position [m]")

        axes = figure.add_subplot(grid[0, 1])
        ends = run["stick/position"].values[:, -1]
        for k in range(3):
            axes.plot(time, ends[:, k], color=_colour(k))
            axes.plot(time, run["shooting/tip"].values[:, k], ":", color=COLOURS["ink"], linewidth=1.4,
                      label="shooting" if k == 2 else None)  # fmt: skip
        for instant, (tip, _) in TIPS.items():
            if instant > time[-1] + 1e-9:
                continue
            label = "reference" if instant == 1.0 else None
            axes.plot(
                [instant] * 3, tip, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=5, label=label
            )
        _finish(axes, "the pushed end", "position [m]")

        axes = figure.add_subplot(grid[0, 2])
        for name, colour in (("kinetic", COLOURS["accent"]), ("elastic", COLOURS["rod"]), ("total", COLOURS["ink"])):
            axes.plot(time, run[f"energy/{name}"].values, color=colour, label=name)
        axes.plot(time, run["shooting/energy"].values, ":", color=COLOURS["gold"], linewidth=1.8)
        _finish(axes, "energy", "energy [J]")
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The flight in real time."""
    viz.animate(run, path, still=still, still_time=1.2, speed=1.0, view=VIEW, title="flying stick", size=(8.0, 4.6))


def _colour(k: int) -> str:
    return (COLOURS["rod"], COLOURS["gold"], COLOURS["violet"])[k]


def _finish(axes: plt.Axes, title: str, label: str) -> None:
    axes.set_title(title, loc="left")
    axes.set_xlabel("time [s]")
    axes.set_ylabel(label)
    legend_above(axes)
