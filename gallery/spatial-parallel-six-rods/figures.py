"""The robot on its tilting path, the slides that move it, and the platform that rings when a rope is cut."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from elver import viz
from elver.lie import so3
from elver.viz.style import COLOURS, legend_above, style

VIEW = (17.0, -58.0)


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """The robot leaning, feet, lean, and the energy after the cut."""
    time = run["time"].values
    normal = so3.from_quaternion(run["platform/orientation"].values)[:, :, 2]
    with style():
        figure = plt.figure(figsize=(12.4, 7.2))
        scene = figure.add_axes((0.03, 0.02, 0.52, 0.90), projection="3d")
        viz.shape_3d(run, times=[float(time[np.argmax(np.hypot(*normal[:, :2].T))])], view=VIEW, axes=scene)
        scene.set_title("", loc="left")
        figure.text(0.03, 0.945, "six elastic limbs, one platform", fontsize=14, fontweight="bold")
        grid = figure.add_gridspec(3, 1, left=0.62, right=0.985, bottom=0.075, top=0.93, hspace=0.62)

        axes = figure.add_subplot(grid[0])
        colours = [COLOURS[name] for name in ("rod", "accent", "gold", "violet", "grey", "ink")]
        for k, colour in enumerate(colours):
            axes.plot(time, 1e3 * run["inputs"].sel(input=f"slide{k + 1}").values, color=colour)
        _finish(axes, "sliding of the six feet", "[mm]", "time [s]")

        axes = figure.add_subplot(grid[1])
        axes.plot(time, np.rad2deg(np.arcsin(normal[:, 0])), color=COLOURS["rod"], label="toward x")
        axes.plot(time, np.rad2deg(np.arcsin(normal[:, 1])), color=COLOURS["gold"], label="toward y")
        _finish(axes, "lean of the platform", "[deg]", "time [s]")
        legend_above(axes)

        axes = figure.add_subplot(grid[2])
        ring = 1e3 * run["ring_time"].values
        for name, colour in (("kinetic", COLOURS["accent"]), ("elastic", COLOURS["rod"]), ("total", COLOURS["ink"])):
            energy = run[f"ring/energy/{name}"].values
            axes.plot(ring, 1e3 * (energy - energy[0]), color=colour, label=name)
        _finish(axes, "energy after the rope is cut", "[mJ]", "time [ms]")
        legend_above(axes)
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The tilting path in real time."""
    viz.animate(run, path, still=still, still_time=2.0, speed=1.0, view=VIEW, title="six limbs", size=(6.4, 6.0))


def _finish(axes: plt.Axes, title: str, label: str, time: str) -> None:
    axes.set_title(title, loc="left")
    axes.set_xlabel(time)
    axes.set_ylabel(label)
