"""The eel from above on its way, from the side in its loop, its speed, its torques, and how near replays come."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgb
from matplotlib.patches import Polygon
from scipy.interpolate import CubicSpline

from elver import viz
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

from .model import BODIES, HALF_AXES, HEAD, LINK
from .run import LIMITS, PERIOD, SPEEDS, STEP

STATIONS = np.array([0.0, *(HEAD + LINK * np.arange(BODIES + 1))])  # m, nose, joints, end of the tail
TORQUES = (((0, 24, 33), "3i-2"), ((1, 25, 34), "3i-1"), ((2, 26, 35), "3i"))  # figs. 8 to 10, counted from 0
REPLAYS = {  # name: colour, where it is written (s, m), text
    "36 motors, open loop": ("accent", (4.2, 1.5e-3), "36 motors, torques only"),
    "file every 10 ms": ("violet", (4.6, 3e-6), "torques every 10 ms"),
    "12 motors, open loop": ("gold", (13.6, 6e-5), "12 motors, torques only"),
    "file every 2.5 ms": ("rod", (14.0, 2e-11), "torques every 2.5 ms"),
    "stages": ("ink", (14.0, 4e-15), "torques at the stages"),
}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """From above; from the side, speed, replays, torques."""
    with style():
        figure = plt.figure(figsize=(13.4, 8.6))
        _above(figure.add_axes((0.05, 0.80, 0.935, 0.155)), run)
        _loop(figure.add_axes((0.05, 0.065, 0.40, 0.625)), run)
        grid = figure.add_gridspec(2, 1, left=0.52, right=0.725, bottom=0.065, top=0.69, hspace=0.42)
        _speed(figure.add_subplot(grid[0]), run)
        _replays(figure.add_subplot(grid[1]), run)
        grid = figure.add_gridspec(3, 1, left=0.785, right=0.985, bottom=0.065, top=0.69, hspace=0.62)
        for cell, (joints, name) in zip(grid, TORQUES, strict=False):
            _torques(figure.add_subplot(cell), run, joints, name)
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The loop, six times as fast; what is left behind is the way of the head."""
    parts = [str(key) for key in run.data_vars if "shape" in run[key].attrs]
    backwards = [name for key in reversed(parts) for name in (key, key.replace("position", "orientation"))]
    viz.animate(
        run[backwards].isel(time=slice(None, None, 5)), path, still=still, still_time=45.0, speed=6.0,
        view=(16.0, -66.0), size=(7.0, 6.4), title="an eel of thirteen bodies loops",
    )  # fmt: skip


# The eel --------------------------------------------------------------------------------------------------------


def eel_line(head: np.ndarray, joint: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Nose, joints and end of the tail (14, 3), from the nose, the end of the head, and the far ends of the bodies."""
    return np.vstack([head, joint, ends])


def draw_eel(axes: Axes, line: np.ndarray, half: float, colour: Any, zorder: float = 3.0) -> None:
    """A body of half width ``half`` [m] around ``line`` (14, 2), rounded at nose and tail, with its joints."""
    # the head is straight: a point within keeps the curve so
    s = np.insert(STATIONS, 1, 0.5 * HEAD)
    curve = CubicSpline(s, np.insert(line, 1, 0.5 * (line[0] + line[1]), axis=0))
    fine = STATIONS[-1] * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 160)))
    points, slope = curve(fine), curve(fine, 1)
    across = np.column_stack([-slope[:, 1], slope[:, 0]]) / np.maximum(np.linalg.norm(slope, axis=1), 1e-9)[:, None]
    nose, tail = np.clip(fine / 0.16, 0.0, 1.0), np.clip((STATIONS[-1] - fine) / 0.42, 0.0, 1.0)
    width = half * np.sqrt(1.0 - (1.0 - nose) ** 2) * np.sqrt(1.0 - (1.0 - tail) ** 2)
    edges = points + width[:, None] * across, points - width[:, None] * across
    dark = tuple(0.55 * np.array(to_rgb(colour)))
    axes.add_patch(
        Polygon(np.vstack([edges[0], edges[1][::-1]]), facecolor=colour, edgecolor=dark, linewidth=0.5, zorder=zorder)
    )
    for at in STATIONS[1:-1]:
        k = int(np.argmin(np.abs(fine - at)))
        axes.plot(*np.column_stack([edges[0][k], edges[1][k]]), color="white", linewidth=0.6, alpha=0.7, zorder=zorder)
    eye = int(np.argmin(np.abs(fine - 0.09)))
    place = points[eye] + 0.45 * width[eye] * across[eye]
    axes.plot(*place, "o", color="white", markersize=2.0, markeredgecolor=dark, markeredgewidth=0.4, zorder=zorder)


def _way(axes: Axes, way: np.ndarray, time: np.ndarray, last: float) -> LineCollection:
    pieces: Any = np.stack([way[:-1], way[1:]], axis=1)
    lines = LineCollection(pieces, cmap=TIME_COLOURS, norm=Normalize(0.0, last), linewidths=1.4, zorder=2.0)
    lines.set_array(time[1:])
    axes.add_collection(lines)
    return lines


# Panels ---------------------------------------------------------------------------------------------------------


def _above(axes: Axes, run: xr.Dataset) -> None:
    """Fig. 5 of the paper, and the eel at three instants."""
    time, places = run["planar_time"].values, run["planar/places"].values
    shade = Normalize(0.0, time[-1])
    for t in (0.0, 16.0, 30.0):
        k = int(np.argmin(np.abs(time - t)))
        line = eel_line(places[k, 0], run["planar/joint"].values[k], places[k, 1:])[:, :2]
        draw_eel(axes, line, HALF_AXES[0], TIME_COLOURS(0.12 + 0.7 * shade(t)))
        axes.annotate(
            f"{t:g} s", line[0] + (0.0, 0.14), ha="left", va="center", fontsize=9, color=COLOURS["ink"], zorder=5
        )
    nose = places[:, 0, :2]
    axes.plot(*nose.T, color=COLOURS["accent"], linewidth=1.2, zorder=4)
    axes.set_xlim(-8.75, 2.3)
    axes.set_ylim(-0.53, 0.53)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_yticks([-0.4, 0.0, 0.4])
    axes.set_title("planar swimming from above, the way of the nose in red")


def _loop(axes: Axes, run: xr.Dataset) -> None:
    """Fig. 11 of the paper: way of the head, and the eel every 6 s."""
    time = run["time"].values
    ends = np.stack([run[f"link-{3 * i}/position"].values for i in range(1, BODIES + 1)], axis=1)
    nose, joint = run["link-0/position"].values, run["loop/joint"].values
    _way(axes, nose[:, [0, 2]], time, time[-1])
    shade = Normalize(0.0, time[-1])
    for order, t in enumerate(np.arange(6.0, time[-1] + 0.1, 6.0)):
        k = int(np.argmin(np.abs(time - t)))
        line = eel_line(nose[k], joint[k], ends[k])[:, [0, 2]]
        draw_eel(axes, line, HALF_AXES[1], TIME_COLOURS(0.1 + 0.85 * shade(t)), zorder=3.0 + 0.1 * order)
        back = line[-1] - line[-2]
        axes.annotate(
            f"{t:g}", line[-1] + 0.14 * back / np.linalg.norm(back), ha="center", va="center", fontsize=8.5,
            color=COLOURS["ink"], zorder=6,
        )  # fmt: skip
    axes.autoscale_view()
    axes.margins(0.05)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("z [m]")
    axes.set_title("looping from the side, numbers are seconds")
    bar = axes.figure.colorbar(
        ScalarMappable(shade, TIME_COLOURS), cax=axes.inset_axes((0.03, 0.055, 0.24, 0.018)), orientation="horizontal",
        ticks=[0.0, time[-1]],
    )  # fmt: skip
    bar.ax.set_title("time [s]", fontsize=9, fontweight="normal", pad=4)
    bar.ax.tick_params(labelsize=8)
    outline: Any = bar.outline
    outline.set_visible(False)


def _speed(axes: Axes, run: xr.Dataset) -> None:
    """Fig. 6 of the paper."""
    time, x = run["planar_time"].values, run["planar/places"].values[:, 0, 0]
    n = round(PERIOD / STEP)
    axes.plot(time[n // 2 : -n // 2], (x[:-n] - x[n:]) / PERIOD, color=COLOURS["rod"], linewidth=2.2, label="ours")
    axes.plot(
        [t - 0.5 * PERIOD for t in SPEEDS], list(SPEEDS.values()), "o", color="white", markersize=5,
        markeredgecolor=COLOURS["accent"], label="derived",
    )  # fmt: skip
    open_axes(axes, "speed", "mean over a period [m/s]")
    axes.set_xlim(0.0, 30.0)
    legend_above(axes)


def _replays(axes: Axes, run: xr.Dataset) -> None:
    last = 0.0
    for name, (colour, (t, gap), text) in REPLAYS.items():
        if f"replay/{name}" not in run:
            continue
        time = run[f"{name} time"].values
        last = max(last, time[-1])
        gaps = np.maximum(run[f"replay/{name}"].values[1:], 1e-17)
        axes.semilogy(time[1:], gaps, color=COLOURS[colour], linewidth=1.5)
        if run.sizes["time"] > 2000:
            axes.text(t, gap, text, color=COLOURS[colour], fontsize=8.5)
    axes.axhline(1e-6, color=COLOURS["grey"], linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(1e-17, 1e-1)
    open_axes(axes, "replays against the inverse run", "distance of the nose [m]")
    axes.set_xlim(0.0, last)


def _torques(axes: Axes, run: xr.Dataset, joints: tuple[int, ...], name: str) -> None:
    """Figs. 8 to 10 of the paper."""
    limit = LIMITS[name][1]
    for joint, colour in zip(joints, ("rod", "accent", "violet"), strict=True):
        axes.plot(
            run["time"], run["efforts"].values[:, joint], color=COLOURS[colour], linewidth=0.9, label=f"{joint + 1}"
        )
    open_axes(axes, "torques, joints", "[N m]")
    if limit < 1.0:
        for side in (-limit, limit):
            axes.axhline(side, color=COLOURS["grey"], linewidth=1.0, linestyle=(0, (4, 3)))
        axes.text(19.8, limit - 0.03, "limit of the motors", color=COLOURS["grey"], fontsize=8.5, ha="right", va="top")
        axes.set_ylim(-0.85, 0.85)
    axes.set_xlim(0.0, min(20.0, float(run["time"][-1])))
    legend_above(axes)
