"""Two arms and the rod they hold, before and after the pull; tensions, and the force between hand and rod."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from elver import viz
from elver.viz.style import COLOURS, legend_above, style

from .run import PULLS

VIEW = (14.0, -64.0)


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes at rest and pulled, tendons, force of the second hand."""
    time = run["time"].values
    with style():
        figure = plt.figure(figsize=(12.4, 6.4))
        scene = figure.add_axes((-0.06, -0.06, 0.70, 1.06), projection="3d")
        viz.shape_3d(run, times=[0.0, 1.0], view=VIEW, axes=scene)
        scene.set_title("")
        figure.text(0.03, 0.94, "two arms bend the rod between them", fontsize=14, fontweight="bold")
        grid = figure.add_gridspec(2, 1, left=0.66, right=0.985, bottom=0.085, top=0.86, hspace=0.6)

        axes = figure.add_subplot(grid[0])
        for name, colour in zip(PULLS, ("rod", "accent", "gold", "violet"), strict=True):
            axes.plot(time, run["inputs"].sel(input=name).values, color=COLOURS[colour], label=name.replace("-", " "))
        _finish(axes, "tensions", "[N]")

        axes = figure.add_subplot(grid[1])
        force = run["multipliers"].sel(multiplier=[f"east hand/force_{axis}" for axis in "xyz"]).values
        for k, (axis, colour) in enumerate(zip("xyz", ("rod", "gold", "violet"), strict=True)):
            axes.plot(time, force[:, k], color=COLOURS[colour], label=axis)
        axes.plot(time, np.linalg.norm(force, axis=1), color=COLOURS["ink"], label="magnitude")
        _finish(axes, "force on the second hand", "[N]")
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """Pull and release in real time."""
    viz.animate(run, path, still=still, still_time=1.0, speed=1.0, view=VIEW, title="two arms", size=(8.0, 5.6))


def _finish(axes: plt.Axes, title: str, label: str) -> None:
    axes.set_title(title, loc="left")
    axes.set_xlabel("time [s]")
    axes.set_ylabel(label)
    legend_above(axes)
