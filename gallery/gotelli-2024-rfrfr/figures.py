"""The robot folding and swinging, its angle and hinge force with the reference points, and how little a cut matters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator
from PIL import Image
from scipy.interpolate import CubicSpline

from elver import io
from elver.viz.animation import write_gif
from elver.viz.style import COLOURS, TIME_COLOURS, open_axes, style

from .run import HALF, STEPS, TABLE, TORQUES, hinge_force

# The right rod, from early to late: the rods cross, and two tints tell them apart.
RIGHT_COLOURS = LinearSegmentedColormap.from_list("right", ["#d8d2f0", "#6a5acd", "#2f2670"])


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes while it folds, the way of P while it swings, angle, force, and the paths of different cuts."""
    out = io.part(run, "coarse")
    with style():
        figure = plt.figure(figsize=(13.0, 8.6))
        left = figure.add_gridspec(1, 1, left=0.045, right=0.40, bottom=0.07, top=0.94)
        right = figure.add_gridspec(2, 2, left=0.475, right=0.985, bottom=0.07, top=0.94, hspace=0.36, wspace=0.27)
        _folding(figure.add_subplot(left[0]), out)
        _swinging(figure.add_subplot(right[0, 0]), out)
        _angle(figure.add_subplot(right[0, 1]), out)
        _force(figure.add_subplot(right[1, 0]), out)
        _cuts(figure.add_subplot(right[1, 1]), io.part(run, "cuts"))
        figure.savefig(path)
        plt.close(figure)


# Panels ---------------------------------------------------------------------------------------------------------


def _folding(axes: Axes, out: xr.Dataset) -> None:
    time = out["time"].values
    instants = np.linspace(1.0, 2.0, 9)
    shade = Normalize(1.0, 2.0)
    for instant in instants:
        step = int(np.argmin(np.abs(time - instant)))
        for rod, tint in (("right", RIGHT_COLOURS), ("left", TIME_COLOURS)):
            axes.plot(*centre_line(out, rod, step), color=tint(shade(instant)), linewidth=2.2, zorder=3)
    tips = out["left/tip/position"].values
    chosen = [int(np.argmin(np.abs(time - instant))) for instant in instants]
    axes.plot(*tips[chosen, :2].T, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, zorder=6)
    axes.annotate(
        "P", tuple(tips[chosen[0], :2]), (8, 3), textcoords="offset points", color=COLOURS["accent"], weight="bold"
    )
    _ground(axes)
    for x, name in ((-HALF, "J1"), (HALF, "J4")):
        axes.annotate(name, (x, 0.0), (0, -26), textcoords="offset points", ha="center", weight="bold")
    axes.set_aspect("equal")
    axes.set_xlim(-0.36, 0.36)
    axes.set_ylim(-0.12, 1.06)
    axes.set_title("the motors fold the robot, 1 s to 2 s")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    for place, tint, name in (((0.06, 0.94, 0.28, 0.014), TIME_COLOURS, "left"),
                              ((0.66, 0.94, 0.28, 0.014), RIGHT_COLOURS, "right")):  # fmt: skip
        bar = axes.figure.colorbar(
            ScalarMappable(shade, tint), cax=axes.inset_axes(place), orientation="horizontal", ticks=(1.0, 1.5, 2.0)
        )
        bar.set_label(f"{name} rod, time [s]", fontsize=9, labelpad=1)
        bar.outline.set_visible(False)


def _ground(axes: Axes) -> None:
    steel = COLOURS["steel"]
    for x in (-HALF, HALF):
        axes.add_patch(Rectangle((x - 0.05, -0.036), 0.10, 0.022, facecolor="white", edgecolor=steel, hatch="/////",
                                 linewidth=0, zorder=2))  # fmt: skip
        axes.plot([x - 0.05, x + 0.05], [-0.014, -0.014], color=steel, linewidth=2.0, zorder=2)
        axes.plot(x, 0.0, "o", color="white", markeredgecolor=COLOURS["ink"], markersize=10, markeredgewidth=1.8,
                  zorder=7)  # fmt: skip


def _swinging(axes: Axes, out: xr.Dataset) -> None:
    time = out["time"].values
    late = time >= 4.0
    tips = CubicSpline(time[late], 1e3 * out["left/tip/position"].values[late, :2])
    fine = np.linspace(4.0, 10.0, 3000)
    points = tips(fine)
    shade = Normalize(4.0, 10.0)
    ways = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)),
        array=fine[:-1],
        cmap=TIME_COLOURS,
        norm=shade,
        linewidths=1.6,
    )
    axes.add_collection(ways)
    for k, (instant, (_, x, y)) in enumerate(TABLE.items()):
        if instant >= 4.0:
            _mark(axes, 1e3 * x, 1e3 * y, None)
            up = 9 if k % 2 else -13
            axes.annotate(f"{instant:g} s", (1e3 * x, 1e3 * y), (5, up), textcoords="offset points", fontsize=9)
    axes.autoscale_view()
    axes.margins(0.08)
    axes.set_title("way of P, 4 s to 10 s")
    axes.set_xlabel("x [mm]")
    axes.set_ylabel("y [mm]")
    bar = axes.figure.colorbar(ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.8, aspect=24, pad=0.02)
    bar.set_label("time [s]")
    bar.outline.set_visible(False)


def _angle(axes: Axes, out: xr.Dataset) -> None:
    time, q = out["time"].values, out["q"].values
    axes.plot(time, q[:, 0], color=COLOURS["rod"], label="$q_1$")
    axes.plot(time, np.pi - q[:, 4], color=COLOURS["gold"], linestyle=(0, (4, 2)), label=r"$\pi - q_4$")
    for k, (instant, (angle, _, _)) in enumerate(TABLE.items()):
        _mark(axes, instant, angle, None if k else "reference")
    open_axes(axes, "angles of the motors", "rad")
    axes.legend(loc="upper right", fontsize=9)


def _force(axes: Axes, out: xr.Dataset) -> None:
    time, force = out["time"].values, hinge_force(out)
    axes.plot(time, force[:, 0], color=COLOURS["rod"], linewidth=1.3, label="x")
    axes.plot(time, force[:, 1], color=COLOURS["violet"], linewidth=1.3, label="y")
    axes.axhline(-0.584918, color=COLOURS["accent"], linewidth=1.0, linestyle=(0, (4, 3)), label="x at rest, held")
    open_axes(axes, "force in the hinge on the left rod", "N")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.42), fontsize=9)


def _cuts(axes: Axes, cuts: xr.Dataset) -> None:
    steps = 1e3 * cuts["step"].values
    axes.loglog(steps, cuts["error"], "s-", color=COLOURS["grey"], markersize=5, label="error of the step (to 2.5 ms)")
    axes.loglog(steps, cuts["motor"], "o-", color=COLOURS["rod"], markersize=6, label="cut at motor J4")
    axes.loglog(steps, cuts["apex"], "D-", color=COLOURS["violet"], markersize=5, label="cut around a massless apex")
    slope = float(cuts["motor"].values[1]) * (np.array([0.2, 20.0]) / (1e3 * STEPS[1])) ** 2
    axes.loglog([0.2, 20.0], 2.2 * slope, color=COLOURS["ink"], linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate("slope 2", (0.9, 2.2 * slope[0] * 20.25 * 2.6), fontsize=9, rotation=29, ha="center")
    axes.axhline(1e-8, color=COLOURS["accent"], linewidth=0.9, linestyle=(0, (1, 2)))
    axes.annotate("1e-8 m", (20.0, 1.4e-8), fontsize=9, color=COLOURS["accent"], ha="right")
    axes.set_xlabel("step [ms]")
    axes.set_ylabel("m from the path cut at P")
    axes.set_title("one robot, cut at three places")
    axes.set_ylim(1e-15, 2e-2)
    axes.xaxis.set_major_locator(FixedLocator([0.2, 1.0, 2.5, 5.0, 10.0, 20.0]))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.33), fontsize=9)


def _mark(axes: Axes, x: float, y: float, label: str | None) -> None:
    axes.plot(
        x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, markeredgewidth=1.5, zorder=6,
        linestyle="none", label=label,
    )  # fmt: skip


def centre_line(out: xr.Dataset, rod: str, step: int) -> np.ndarray:
    """Smooth line in the plane, (2, points) [m]."""
    s = out[f"{rod}/s"].values
    return CubicSpline(s, out[f"{rod}/position"].values[step, :, :2])(np.linspace(0.0, s[-1], 80)).T


# The film -------------------------------------------------------------------------------------------------------

FPS = 20
SPEED = 1.0


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """From 0.8 s to 8 s in real time; the still is taken in the last pulse."""
    out = io.part(run, "coarse")
    with style():
        film = _Film(out)
        film.move(6.6)
        film.figure.savefig(still, dpi=200)
        frames = []
        for instant in np.arange(0.8, 8.0 + 1e-9, SPEED / FPS):
            film.move(float(instant))
            frames.append(film.picture())
        write_gif(Path(path), iter(frames), FPS)


class _Film:
    """The robot with its torques as arcs, and the way of P enlarged beside it."""

    def __init__(self, out: xr.Dataset) -> None:
        self.out = out
        self.time, self.tips = out["time"].values, out["left/tip/position"].values[:, :2]
        self.figure = Figure(figsize=(7.6, 5.4), dpi=100, facecolor="white")
        self.canvas = FigureCanvasAgg(self.figure)
        axes = self.figure.add_axes((0.01, 0.02, 0.58, 0.90))
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set_xlim(-0.42, 0.42)
        axes.set_ylim(-0.12, 1.06)
        _ground(axes)
        self.rods = {
            rod: axes.plot([], [], color=COLOURS[colour], linewidth=4.0, zorder=4)[0]
            for rod, colour in (("right", "violet"), ("left", "rod"))
        }
        (self.trace,) = axes.plot([], [], color=COLOURS["gold"], linewidth=1.4, zorder=3)
        look: Any = {"color": "white", "markeredgecolor": COLOURS["accent"], "markersize": 9, "markeredgewidth": 2}
        (self.tip,) = axes.plot([], [], "o", zorder=8, **look)
        self.arcs = [axes.plot([], [], color=COLOURS["accent"], linewidth=2.2, zorder=6)[0] for _ in range(2)]
        self.heads = [axes.plot([], [], ">", color=COLOURS["accent"], markersize=7, zorder=6)[0] for _ in range(2)]
        zoom = self.figure.add_axes((0.70, 0.42, 0.27, 0.42))
        zoom.set_title("way of P [mm]", fontsize=10)
        after = 1e3 * self.tips[self.time >= 2.0]
        zoom.set_xlim(after[:, 0].min() - 3, after[:, 0].max() + 3)
        zoom.set_ylim(after[:, 1].min() - 3, after[:, 1].max() + 3)
        (self.zoom_trace,) = zoom.plot([], [], color=COLOURS["gold"], linewidth=1.4)
        (self.zoom_tip,) = zoom.plot([], [], "o", **{**look, "markersize": 7})
        self.figure.text(0.04, 0.935, "two rods, two motors, one hinge", fontsize=14, weight="bold")
        self.clock = self.figure.text(0.96, 0.935, "", fontsize=12, ha="right", family="monospace")
        self.words = self.figure.text(0.70, 0.20, "", fontsize=10, family="monospace", linespacing=1.6)

    def move(self, instant: float) -> None:
        """Everything at the recorded step nearest to ``instant`` [s]."""
        step = int(np.argmin(np.abs(self.time - instant)))
        for rod, line in self.rods.items():
            line.set_data(*centre_line(self.out, rod, step))
        x, y = self.tips[step]
        self.tip.set_data([x], [y])
        self.trace.set_data(*self.tips[: step + 1].T)
        self.zoom_tip.set_data([1e3 * x], [1e3 * y])
        first = max(int(np.searchsorted(self.time, 2.0)), step - 150)
        self.zoom_trace.set_data(*(1e3 * self.tips[first : step + 1].T))
        torques = [float(law(self.time[step])) for law in TORQUES.values()]
        for arc, head, centre, torque in zip(self.arcs, self.heads, (-HALF, HALF), torques):
            _arc(arc, head, centre, torque)
        self.clock.set_text(f"t = {self.time[step]:5.2f} s")
        self.words.set_text(f"motor J1 {torques[0]:+.2f} N m\nmotor J4 {torques[1]:+.2f} N m")

    def picture(self) -> Image.Image:
        self.canvas.draw()
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3].copy())


def _arc(arc: Any, head: Any, centre: float, torque: float) -> None:
    """A torque as an arc about its motor, as long as the torque is large, with its head in the sense of rotation."""
    span = 2.6 * torque / 0.5
    angles = np.linspace(-np.pi / 2 - span / 2, -np.pi / 2 + span / 2, 40)
    x, y = centre + 0.075 * np.cos(angles), 0.075 * np.sin(angles)
    visible = abs(torque) > 5e-3
    arc.set_data(x if visible else [], y if visible else [])
    head.set_data([x[-1]] if visible else [], [y[-1]] if visible else [])
    turn = np.degrees(angles[-1]) + (90.0 if torque > 0.0 else -90.0)
    head.set_marker((3, 0, turn - 90.0))
