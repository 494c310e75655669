"""The chain at the instants of the thesis, the way of the payload, and drones beside what is asked of them."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Circle, Ellipse, FancyBboxPatch, Polygon
from matplotlib.transforms import Affine2D
from scipy.interpolate import CubicSpline

from elver import viz
from elver.lie import so3
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

from .run import TARGETS, impulse

INSTANTS = (1.68, 4.22, 9.44)  # s, the snapshots of the thesis
RADIUS = 0.035


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Snapshots, payload, velocities, momentum."""
    time = run["time"].values
    instants = [t for t in INSTANTS if t <= time[-1]] or [float(time[-1])]
    instants = sorted({*instants, *([] if len(instants) == 3 else [float(time[-1])])})
    with style():
        figure = plt.figure(figsize=(13.4, 6.4))
        top = figure.add_gridspec(1, len(instants), left=0.055, right=0.80, bottom=0.55, top=0.93, wspace=0.08)
        low = figure.add_gridspec(1, 3, left=0.055, right=0.80, bottom=0.09, top=0.41, wspace=0.26)
        for k, instant in enumerate(instants):
            axes = figure.add_subplot(top[k])
            _chain(axes, run, instant)
            if k:
                axes.set_yticklabels([])
            else:
                axes.set_ylabel("z [m]")
        _payload(figure.add_axes((0.855, 0.09, 0.115, 0.84)), run)

        for cell, name in zip(low, TARGETS, strict=False):
            axes = figure.add_subplot(cell)
            axes.plot(time, run[f"{name}/target"], color=COLOURS["grey"], label="target")
            axes.plot(time, run[f"{name}/velocity"].values[:, 2], color=COLOURS["rod"], label="up")
            axes.plot(time, run[f"{name}/velocity"].values[:, 0], color=COLOURS["gold"], linewidth=1.2, label="along x")
            open_axes(axes, f"drone {name[-1]}", "velocity [m/s]")
            legend_above(axes)
        axes = figure.add_subplot(low[2])
        given, marks = impulse(run), slice(None, None, 25)
        for k, label, colour in ((5, "up", "rod"), (3, "x", "gold")):
            axes.plot(time, run["momentum"].values[:, k], color=COLOURS[colour], label=label)
            axes.plot(
                time[marks], given[marks, k], "o", color="white", markeredgecolor=COLOURS["accent"], markersize=4,
                label="impulse" if k == 3 else None,
            )  # fmt: skip
        open_axes(axes, "momentum", "momentum [kg m/s]")
        legend_above(axes)
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The flight in real time."""
    viz.animate(
        run, path, still=still, still_time=INSTANTS[-1], speed=1.0, view=(14.0, -78.0), size=(8.0, 5.0),
        title="two drones and a payload",
    )  # fmt: skip


def _chain(axes: Axes, run: xr.Dataset, instant: float) -> None:
    """Rods with their true width, drones, payload with its way so far, in the plane x-z."""
    time = run["time"].values
    k = int(np.argmin(np.abs(time - instant)))
    way = run["payload/position"].values[: k + 1]
    axes.plot(way[:, 0], way[:, 2], color=COLOURS["accent"], linewidth=1.3, zorder=1)
    for rod in ("rod2", "rod5"):
        s = run[f"{rod}/s"].values
        line = CubicSpline(s, run[f"{rod}/position"].values[k][:, [0, 2]])
        fine = np.linspace(s[0], s[-1], 80)
        points, slope = line(fine), line(fine, 1)
        across = RADIUS * np.column_stack([-slope[:, 1], slope[:, 0]]) / np.linalg.norm(slope, axis=1)[:, None]
        shape = Polygon(np.vstack([points + across, (points - across)[::-1]]), facecolor=COLOURS["rod"], zorder=2)
        axes.add_patch(shape)
        axes.plot(points[:, 0], points[:, 1] + 0.3 * RADIUS, color="white", alpha=0.35, linewidth=1.6, zorder=2.5)
    for name in TARGETS:
        R = so3.from_quaternion(run[f"{name}/orientation"].values[k])
        p = run[f"{name}/position"].values[k]
        _drone(axes, p[0], p[2], float(np.arctan2(R[2, 0], R[0, 0])))
        force = 0.03 * (R @ run[f"{name}/wrench"].values[k, 3:])
        axes.annotate(
            "", xy=(p[0] + force[0], p[2] + force[2]), xytext=(p[0], p[2]), zorder=6,
            arrowprops={"arrowstyle": "-|>", "color": COLOURS["violet"], "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
    axes.add_patch(Circle((way[-1, 0], way[-1, 2]), 0.065, facecolor=COLOURS["accent"], edgecolor="white", zorder=5))
    axes.set_xlim(-0.32, 2.32)
    axes.set_ylim(-0.45, 1.45)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("x [m]")
    axes.set_yticks([0.0, 0.5, 1.0])
    axes.set_title(f"t = {instant:g} s, with the forces of control")


def _drone(axes: Axes, x: float, z: float, angle: float) -> None:
    """A small quadrotor seen from the side."""
    place = Affine2D().scale(1.25).rotate(angle).translate(x, z) + axes.transData
    body = FancyBboxPatch((-0.06, -0.03), 0.12, 0.06, boxstyle="round,pad=0,rounding_size=0.02")
    arm = FancyBboxPatch((-0.15, 0.025), 0.30, 0.018, boxstyle="round,pad=0,rounding_size=0.008")
    rotors = [Ellipse((side * 0.14, 0.07), 0.17, 0.022) for side in (-1.0, 1.0)]
    for patch in (body, arm):
        patch.set(facecolor=COLOURS["ink"], edgecolor="white", linewidth=0.6, zorder=4)
    for patch in rotors:
        patch.set(facecolor=COLOURS["steel"], edgecolor="none", zorder=4)
    for patch in (body, arm, *rotors):
        patch.set_transform(place)
        axes.add_patch(patch)


def _payload(axes: Axes, run: xr.Dataset) -> None:
    time, way = run["time"].values, run["payload/position"].values[:, [0, 2]]
    pieces: Any = np.stack([way[:-1], way[1:]], axis=1)
    lines = LineCollection(pieces, cmap=TIME_COLOURS, norm=Normalize(time[0], time[-1]), linewidths=2.0)
    lines.set_array(time[1:])
    axes.add_collection(lines)
    for point, label in ((way[0], "start"), (way[-1], "end")):
        axes.plot(*point, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, zorder=5)
        axes.annotate(label, point, xytext=(8, -3), textcoords="offset points", fontsize=9, color=COLOURS["accent"])
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x [m]")
    axes.set_title("way of the payload")
    bar = axes.figure.colorbar(lines, ax=axes, location="bottom", shrink=1.0, aspect=16, pad=0.09)
    bar.set_label("time [s]")
    outline: Any = bar.outline
    outline.set_visible(False)
