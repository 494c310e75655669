"""The eel through time, both runs beside shooting, what the tail gives, and where the work goes."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from scipy.interpolate import CubicSpline

from elver import viz
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

from .run import RADIUS, SPEED

EVERY, APART = 0.4, 0.22  # s between two bodies, m between their rows


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Bodies as in fig. 7; V_x as in fig. 6b; difference of the runs; momentum; work."""
    time = run["time"].values
    V_x = run["eel/base/twist"].values[:, 3]
    with style():
        figure = plt.figure(figsize=(12.8, 7.6))
        _bodies(figure.add_axes((0.045, 0.075, 0.39, 0.865)), run)
        grid = figure.add_gridspec(2, 2, left=0.465, right=0.985, bottom=0.075, top=0.935, wspace=0.27, hspace=0.42)

        axes = figure.add_subplot(grid[0, 0])
        whole = np.arange(1, int(time[-1] + 1e-9) + 1)
        for name, values, colour in (("forward", V_x, "rod"), ("inverse", run["inverse/speed"].values, "gold")):
            axes.plot(time, values, color=COLOURS[colour], linewidth=2.2 if colour == "rod" else 1.3, label=name)
            wanted = SPEED[name][: whole.size]
            axes.plot(
                whole, wanted, "o" if name == "forward" else "s", color="white", markeredgecolor=COLOURS["accent"],
                markersize=5, clip_on=False, zorder=5, label="shooting" if name == "inverse" else None,
            )  # fmt: skip
        open_axes(axes, "head", r"$V_x$ [m/s]")
        legend_above(axes)

        axes = figure.add_subplot(grid[0, 1])
        for label, values, colour in (("k", V_x, "rod"), ("10 k", run["stiff/speed"].values, "violet")):
            apart = np.abs(values - run["inverse/speed"].values)
            axes.semilogy(time[1:], apart[1:], color=COLOURS[colour], label=label)
        axes.axhline(0.012, color=COLOURS["grey"], linestyle="--", linewidth=1.2, label="0.012")
        axes.set_ylim(2e-6, 4e-2)
        open_axes(axes, "how far apart", r"difference of $V_x$ [m/s]")
        legend_above(axes)

        axes = figure.add_subplot(grid[1, 0])
        marks = slice(None, None, 20)
        for k, name, colour in ((3, "x", "rod"), (4, "y", "violet")):
            axes.plot(time, run["momentum"].values[:, k], color=COLOURS[colour], label=name)
            axes.plot(
                time[marks], run["tail/impulse"].values[marks, k], "o", color="white",
                markeredgecolor=COLOURS["accent"], markersize=4, label="impulse of tail" if k == 4 else None,
            )  # fmt: skip
        open_axes(axes, "momentum", "of body and water [kg m/s]")
        legend_above(axes)

        axes = figure.add_subplot(grid[1, 1])
        kinetic, wake = run["inverse/kinetic"].values, run["inverse/wake"].values
        axes.fill_between(time, 0.0, wake, color=COLOURS["grey"], alpha=0.35, linewidth=0, label="wake")
        axes.fill_between(time, wake, wake + kinetic, color=COLOURS["rod"], alpha=0.45, linewidth=0, label="motion")
        axes.plot(time, run["inverse/work"].values, color=COLOURS["ink"], linewidth=1.4, label="muscles")
        axes.set_ylim(bottom=0.0)
        open_axes(axes, "work", "energy [J]")
        legend_above(axes)
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The swim in real time."""
    viz.animate(
        run, path, still=still, still_time=float(run["time"][-1]) - 0.3, speed=1.0, view=(48.0, -80.0), size=(8.0, 4.4),
        title="swimming eel",
    )  # fmt: skip


def _bodies(axes: Axes, run: xr.Dataset) -> None:
    """Bodies with their true width, later ones lower, and the way of the nose across the rows."""
    time, s = run["time"].values, run["eel/s"].values
    count = int(time[-1] / EVERY + 1e-9) + 1
    rows = -APART / EVERY * time
    nose = run["eel/position"].values[:, 0]
    axes.plot(nose[:, 0], nose[:, 1] + rows, color=COLOURS["accent"], linewidth=1.1, zorder=1)
    fine = np.linspace(0.0, s[-1], 160)
    for k in range(count):
        at = int(np.argmin(np.abs(time - k * EVERY)))
        line = CubicSpline(s, run["eel/position"].values[at][:, :2])
        points, slope = line(fine), line(fine, 1)
        slope /= np.linalg.norm(slope, axis=1)[:, None]
        # rounded ends of the picture only: the model is a cylinder
        inside = np.clip(np.minimum(fine, s[-1] - fine) / RADIUS, 0.0, 1.0)
        width = RADIUS * np.sqrt(1.0 - (1.0 - inside) ** 2)
        across = width[:, None] * np.column_stack([-slope[:, 1], slope[:, 0]])
        points[:, 1] += rows[at]
        ring = np.vstack([points + across, (points - across)[::-1]])
        colour = TIME_COLOURS(k / max(count - 1, 1))
        axes.add_patch(Polygon(ring, facecolor=colour, edgecolor="white", linewidth=0.7, zorder=2 + k))
        eye = points[12] + 0.45 * across[12]
        axes.plot(*eye, "o", color="white", markersize=2.2, zorder=2.5 + k)
    axes.set_aspect("equal", adjustable="box", anchor="W")
    left = min(-1.25, float(nose[:, 0].min()) - 0.1)
    axes.set_xlim(left, 1.12)
    axes.set_ylim(rows[-1] - 0.28, 0.2)
    seconds = np.arange(0, int(time[-1] + 1e-9) + 1)
    axes.set_yticks(-APART / EVERY * seconds, [f"{t} s" for t in seconds])
    axes.set_xlabel("x [m]")
    axes.set_title("the wave runs right, the eel swims left")
