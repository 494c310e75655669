"""The swimmer at the instants of the thesis, its torques, its speed, momentum and energy."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from scipy.interpolate import CubicSpline

from elver import viz
from elver.lie import so3
from elver.viz.style import COLOURS, legend_above, open_axes, style

from .run import HEAD, NOSE, RADIUS, SPEED, mean_velocity

EVERY, APART = 1.65, 0.27  # s between two snapshots, Gotelli 2024; m between their rows
TORQUES = 3.0  # s, Gotelli 2024
PARTS = {"head": COLOURS["body"], "actuated": COLOURS["rod"], "passive": "#7cc0c4"}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Snapshots every 1.65 s, torques over 3 s, way and speed, momentum, energy."""
    time = run["time"].values
    with style():
        figure = plt.figure(figsize=(12.8, 8.2))
        _snapshots(figure.add_axes((0.05, 0.435, 0.60, 0.52)), run)
        _way(figure.add_axes((0.645, 0.485, 0.335, 0.45)), run)
        axes = figure.add_axes((0.05, 0.07, 0.31, 0.265))
        first = time <= TORQUES + 1e-9
        axes.plot(time[first], run["torque/control"].values[first], color=COLOURS["accent"], label="control")
        axes.plot([], [], color=PARTS["actuated"], label="elastic, root of the tail")
        open_axes(axes, "torques", "control [N m]")
        legend_above(axes)
        other = axes.twinx()
        other.plot(time[first], run["torque/passive"].values[first], color=PARTS["actuated"])
        other.set_ylabel("elastic [N m]")
        other.grid(visible=False)
        other.margins(x=0.0)
        for plot, most in ((axes, 2.4), (other, 1.2 * float(np.abs(run["torque/passive"].values[first]).max()))):
            plot.set_ylim(-most, most)

        axes = figure.add_axes((0.49, 0.07, 0.205, 0.265))
        marks = slice(None, None, round(0.5 / (time[1] - time[0])))
        for k, name, colour in ((3, "x", "rod"), (4, "y", "violet")):
            axes.plot(time, run["momentum"].values[:, k], color=COLOURS[colour], linewidth=1.2, label=name)
            axes.plot(
                time[marks], run["tail/impulse"].values[marks, k], "o", color="white",
                markeredgecolor=COLOURS["accent"], markersize=4, label="tail" if k == 4 else None,
            )  # fmt: skip
        open_axes(axes, "momentum", "of body and water [kg m/s]")
        legend_above(axes)

        axes = figure.add_axes((0.775, 0.07, 0.205, 0.265))
        wake, total = run["energy/wake"].values, run["energy/total"].values
        axes.fill_between(time, 0.0, wake, color=COLOURS["grey"], alpha=0.35, linewidth=0, label="wake")
        axes.fill_between(time, wake, wake + total, color=COLOURS["rod"], alpha=0.45, linewidth=0, label="fish")
        axes.plot(time, run["energy/work"].values, color=COLOURS["ink"], linewidth=0.8, label="tendons")
        axes.set_ylim(bottom=0.0)
        open_axes(axes, "work", "energy [J]")
        legend_above(axes)
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The swim in real time."""
    viz.animate(
        run, path, still=still, still_time=6.6, speed=1.0, view=(48.0, -80.0), size=(8.0, 4.4),
        title="tendon-driven swimmer",
    )  # fmt: skip


def _snapshots(axes: Axes, run: xr.Dataset) -> None:
    """Bodies with their true width, later ones lower, with tendons; the way of the nose across the rows."""
    time, nose = run["time"].values, run["head/position"].values
    rows = -APART / EVERY * time
    axes.plot(nose[:, 0], nose[:, 1] + rows, color=COLOURS["grey"], linewidth=0.9, zorder=1)
    instants = np.arange(0.0, time[-1] + 1e-9, EVERY)
    for instant in instants:
        k = int(np.argmin(np.abs(time - instant)))
        tensions = run["inputs"].values[k]
        for name, colour in PARTS.items():
            points, normal, s = _line(run, name, k)
            points[:, 1] += rows[k]
            across = RADIUS * normal
            if name == "head":  # round in the picture only: the model is a cylinder
                across *= np.sqrt(1.0 - (1.0 - np.clip(s / RADIUS, 0.0, 1.0)) ** 2)[:, None]
            ring = np.vstack([points + across, (points - across)[::-1]])
            axes.add_patch(Polygon(ring, facecolor=colour, edgecolor="white", linewidth=0.5, zorder=2))
            if name == "head":
                axes.plot(*(points[24] + 0.45 * across[24]), "o", color=COLOURS["ink"], markersize=3, zorder=4)
            if name == "actuated":
                for side, tension in ((1.0, tensions[0]), (-1.0, tensions[1])):
                    cable = points + side * across
                    width = 0.4 + 0.065 * tension
                    axes.plot(cable[:, 0], cable[:, 1], color=COLOURS["accent"], linewidth=width, zorder=3)
    axes.set_aspect("equal", adjustable="box", anchor="SW")
    axes.set_xlim(min(-1.65, float(nose[:, 0].min()) - 0.1), 1.05)
    axes.set_ylim(-APART * (instants.size - 1) - 0.17, 0.14)
    axes.set_yticks(-APART * np.arange(instants.size), [f"{t:.2f} s" for t in instants])
    axes.set_xlabel("x [m]")
    axes.set_title("head, actuated rod with its tendons (as thick as they pull), passive tail")


def _line(run: xr.Dataset, name: str, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and unit normals of a part along its axis, in the plane, and its arc lengths."""
    if name == "head":
        R = so3.from_quaternion(run["head/orientation"].values[k])
        s = np.linspace(0.0, HEAD, 80)
        return run["head/position"].values[k, :2] + np.outer(s, R[:2, 0]), np.tile(R[:2, 1], (s.size, 1)), s
    nodes = run[f"{name}/s"].values
    s = np.linspace(nodes[0], nodes[-1], 80)
    line = CubicSpline(nodes, run[f"{name}/position"].values[k][:, :2])
    slope = line(s, 1)
    return line(s), np.column_stack([-slope[:, 1], slope[:, 0]]) / np.linalg.norm(slope, axis=1)[:, None], s


def _way(axes: Axes, run: xr.Dataset) -> None:
    """Way and mean speed of the nose beside the independent program."""
    time, nose = run["time"].values, run["head/position"].values
    dots = {"linestyle": "", "color": "white", "markeredgecolor": COLOURS["accent"], "markersize": 5}
    ends, velocity = mean_velocity(run)
    axes.plot(time, -nose[:, 0], color=COLOURS["rod"], label="way [m]")
    axes.plot(ends, -4.0 * velocity[:, 0], color=COLOURS["gold"], label="4 × mean speed [m/s]")
    known = {t: -x for t, x in NOSE.items() if t <= time[-1] + 1e-9}
    axes.plot(list(known), list(known.values()), "o", clip_on=False, zorder=5, label="reference", **dots)
    known = {t: 4.0 * v for t, v in SPEED.items() if t <= time[-1] + 1e-9}
    axes.plot(list(known), list(known.values()), "s", zorder=5, **dots)
    axes.set_ylim(bottom=0.0)
    open_axes(axes, "", "of the nose, towards -x")
    axes.legend(loc="upper left", fontsize=9)
    axes.set_title("way and speed")
