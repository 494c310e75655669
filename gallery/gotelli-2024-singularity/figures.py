"""The robot before, in and after the snap; the height of its load; branches, stability, and energy less work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from scipy.interpolate import CubicSpline

from elver import io
from elver.viz.animation import write_gif
from elver.viz.style import COLOURS, TIME_COLOURS, open_axes, style

from .run import FAR, LEVELS, NEAR, UP, crossing, surplus


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes of both robots, heights over time, branches, eigenvalues, energies."""
    with style():
        figure = plt.figure(figsize=(13.0, 10.6))
        top = figure.add_gridspec(1, 2, left=0.055, right=0.985, bottom=0.70, top=0.955, wspace=0.16)
        middle = figure.add_gridspec(1, 2, left=0.055, right=0.985, bottom=0.40, top=0.60, wspace=0.16)
        low = figure.add_gridspec(1, 3, left=0.055, right=0.985, bottom=0.06, top=0.31, wspace=0.27)
        for k, (name, distance, instants) in enumerate((
            ("far-2", FAR, (0.0, 1.4, 1.7, 2.0, 2.9, 3.8, 5.0)),
            ("near-2", NEAR, (0.0, 2.0, 2.7, 3.0, 3.1, 3.15, 3.18)),
        )):  # fmt: skip
            out = io.part(run, name)
            _shapes(figure.add_subplot(top[k]), out, distance, instants)
        _heights(figure.add_subplot(middle[0]), run, "far")
        _heights(figure.add_subplot(middle[1]), run, "near")
        _branches(figure.add_subplot(low[0]), run)
        _eigenvalues(figure.add_subplot(low[1]), run)
        _energies(figure.add_subplot(low[2]), run)
        figure.savefig(path)
        plt.close(figure)


# Panels ---------------------------------------------------------------------------------------------------------


def _shapes(axes: Axes, out: xr.Dataset, distance: float, instants: tuple[float, ...]) -> None:
    """Both rods at some instants, early light, late dark, with the load as a disk."""
    time = out["time"].values
    for k, instant in enumerate(instants):
        step = int(np.argmin(np.abs(time - instant)))
        colour = TIME_COLOURS(k / (len(instants) - 1))
        for rod in ("left", "right"):
            label = f"{instant:g} s" if rod == "left" else None
            axes.plot(*(1e3 * centre_line(out, rod, step)), color=colour, linewidth=2.2, zorder=3 + k, label=label)
        x, y = 1e3 * out["load/position"].values[step, :2]
        axes.plot(x, y, "o", color=colour, markeredgecolor="white", markersize=11, zorder=20 + k)
    _motors(axes, 1e3 * distance)
    axes.set_xlim(-490.0, 650.0)
    axes.set_ylim(-112.0, 112.0)
    axes.set_title(f"motors {distance} m apart, second trajectory")
    axes.set_xlabel("x [mm]")
    axes.set_ylabel("y [mm], stretched")
    axes.legend(loc="center right", fontsize=9, handlelength=1.2, borderaxespad=0.0)


def _motors(axes: Axes, distance: float) -> None:
    for x in (-distance / 2, distance / 2):
        axes.plot(x, 0.0, "s", color=COLOURS["steel"], markersize=15, zorder=22)
        axes.plot(x, 0.0, "o", color="white", markeredgecolor=COLOURS["ink"], markersize=8, markeredgewidth=1.6,
                  zorder=23)  # fmt: skip


def _heights(axes: Axes, run: xr.Dataset, which: str) -> None:
    cases = {"far-1": ("rod", "first: stops at the horizontal"), "far-2": ("violet", "second: goes on to -30°")}
    if which == "near":
        cases = {
            "near-1": ("rod", "first"),
            "near-2": ("violet", "second"),
            "near-2-damped": ("ink", "second, damping 5 ms"),
        }
    for name, (colour, label) in cases.items():
        out = io.part(run, name)
        time, y = out["time"].values, 1e3 * out["load/position"].values[:, 1]
        width = 1.0 if name == "near-2" else 1.8
        axes.plot(time, y, color=COLOURS[colour], linewidth=width, label=label, zorder=2 if name == "near-2" else 3)
        levels = LEVELS[name]
        for what, value in levels.items():
            if what == "crossing":
                _mark(axes, value, 0.0)
            elif what == "deepest":
                _mark(axes, float(time[np.argmin(y)]), 1e3 * value)
            elif what in ("start", "end"):
                _mark(axes, 0.0 if what == "start" else 7.0, 1e3 * value)
            else:
                axes.plot([5.0, 7.0], [1e3 * value] * 2, color=COLOURS["accent"], linewidth=1.2, linestyle=(0, (4, 3)))
    axes.plot([], [], "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, label="reference")
    open_axes(axes, f"height of the load, motors {FAR if which == 'far' else NEAR} m apart", "mm")
    axes.set_xlim(-0.12, 7.12)
    axes.legend(loc="upper right" if which == "far" else "center right", fontsize=9,
                bbox_to_anchor=(1.0, 1.04) if which == "far" else (1.0, 0.58))  # fmt: skip


def _branches(axes: Axes, run: xr.Dataset) -> None:
    """Equilibria over the angle: full where stable, dotted where not; and what the damped robot does."""
    held = {str(name).split("/")[0] for name in run.data_vars}
    for name, colour in (("far-branch", "gold"), ("near-branch", "rod"), ("near-mirror-branch", "rod")):
        if name not in held:
            continue
        part = io.part(run, name)
        q, y, value = np.degrees(part["q_1"].values), 1e3 * part["y"].values, part["eigenvalue"].values
        for stable in (True, False):
            shown = np.where((value > 0.0) == stable, y, np.nan)
            label = None
            if stable and name != "near-mirror-branch":
                label = f"{NEAR if name == 'near-branch' else FAR} m"
            axes.plot(
                q, shown, color=COLOURS[colour], linestyle="-" if stable else (0, (1, 1.5)), label=label, zorder=3
            )
    out = io.part(run, "near-2-damped")
    way = 1e3 * out["load/position"].values[:, 1]
    angle = np.degrees(out["q"].sel(coordinate="J1/angle").values)
    axes.plot(angle, way, color=COLOURS["ink"], linewidth=1.0, label="0.92 m, damped motion", zorder=4)
    _fold(axes, io.part(run, "near-branch"), "y", 1e3)
    axes.plot([], [], color=COLOURS["grey"], linestyle=(0, (1, 1.5)), label="unstable")
    axes.set_xlim(31.0, -31.0)
    axes.set_title("equilibria")
    axes.set_xlabel("$q_1$ [degrees], from start to end")
    axes.set_ylabel("height of the load [mm]")
    axes.set_ylim(-110.0, 165.0)
    axes.legend(loc="upper right", fontsize=9, ncols=2)


def _eigenvalues(axes: Axes, run: xr.Dataset) -> None:
    held = {str(name).split("/")[0] for name in run.data_vars}
    for name, colour, label in (("far-branch", "gold", "0.93 m"), ("near-branch", "rod", "0.92 m")):
        if name not in held:
            continue
        part = io.part(run, name)
        q, value = np.degrees(part["q_1"].values), part["eigenvalue"].values
        near = value > -0.2
        axes.plot(q[near], np.where(value > 0.0, value, np.nan)[near], color=COLOURS[colour], label=label)
        axes.plot(q[near], np.where(value < 2e-2, value, np.nan)[near], color=COLOURS[colour], linestyle=(0, (1, 1.5)))
    _fold(axes, io.part(run, "near-branch"), "eigenvalue", 1.0)
    axes.axhline(0.0, color=COLOURS["ink"], linewidth=0.8)
    axes.set_xlim(31.0, -31.0)
    axes.set_ylim(-0.2, 0.45)
    axes.set_title("smallest eigenvalue of the reduced Hessian")
    axes.set_xlabel("$q_1$ [degrees]")
    axes.set_ylabel("J")
    axes.legend(loc="lower left", fontsize=9)


def _fold(axes: Axes, branch: xr.Dataset, what: str, factor: float) -> None:
    at = int(np.argmin(branch["q_1"].values))
    x = np.degrees(branch["q_1"].values[at])
    y = 0.0 if what == "eigenvalue" else factor * branch[what].values[at]
    axes.plot(x, y, "o", color=COLOURS["accent"], markersize=6, zorder=6)
    axes.annotate(f"fold\n{np.radians(x):.4f} rad", (x, y), (10, -2), textcoords="offset points", fontsize=9,
                  va="bottom", color=COLOURS["accent"])  # fmt: skip


def _energies(axes: Axes, run: xr.Dataset) -> None:
    for name, colour, label in (("near-2", "violet", "undamped"), ("near-2-damped", "ink", "damping 5 ms")):
        out = io.part(run, name)
        axes.plot(out["time"], surplus(out), color=COLOURS[colour], linewidth=1.4, label=label)
    snap = crossing(out["time"].values, out["load/position"].values[:, 1])
    axes.axvline(snap, color=COLOURS["grey"], linewidth=0.9, linestyle=(0, (4, 3)))
    open_axes(axes, "energy less work, 0.92 m", "J")
    axes.set_xlim(2.8, 6.0)
    axes.legend(loc="center right", fontsize=9)


def _mark(axes: Axes, x: float, y: float) -> None:
    axes.plot(x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, markeredgewidth=1.5, zorder=6,
              clip_on=False)  # fmt: skip


def centre_line(out: xr.Dataset, rod: str, step: int) -> np.ndarray:
    """Smooth line in the plane, (2, points) [m]."""
    s = out[f"{rod}/s"].values
    return CubicSpline(s, out[f"{rod}/position"].values[step, :, :2])(np.linspace(0.0, s[-1], 80)).T


# The film -------------------------------------------------------------------------------------------------------

FPS = 20
SLOW = 12.0  # seconds of film per second of the snap


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """Both robots on the second trajectory, the snap slowed down; the still is taken in the snap."""
    fast = 2.0 / FPS
    instants = np.concatenate([
        np.arange(0.0, 3.0, fast), np.arange(3.0, 3.45, 1.0 / (SLOW * FPS)), np.arange(3.45, 7.0 + 1e-9, fast)
    ])  # fmt: skip
    with style():
        film = _Film(run)
        film.move(3.165, slow=True)
        film.figure.savefig(still, dpi=200)
        frames = []
        for instant in instants:
            film.move(float(instant), slow=3.0 <= instant < 3.45)
            frames.append(film.picture())
        write_gif(Path(path), iter(frames), FPS)


class _Film:
    """One robot above the other, with the way of the load behind it."""

    def __init__(self, run: xr.Dataset) -> None:
        self.figure = Figure(figsize=(7.6, 5.2), dpi=100, facecolor="white")
        self.canvas = FigureCanvasAgg(self.figure)
        self.robots: list[dict[str, Any]] = []
        for k, (name, distance) in enumerate((("far-2", FAR), ("near-2", NEAR))):
            axes = self.figure.add_axes((0.01, 0.475 - 0.435 * k, 0.98, 0.41))
            axes.set_axis_off()
            axes.set_aspect("equal")
            axes.set_xlim(-0.54, 0.54)
            axes.set_ylim(-0.135, 0.135)
            _motors(axes, distance)
            axes.text(-0.53, 0.105, f"motors {distance} m apart", fontsize=10, color=COLOURS["grey"])
            axes.axhline(0.0, color=COLOURS["grid"], linewidth=1.0, zorder=0)
            out = io.part(run, name)
            self.robots.append({
                "run": out,
                "trace": axes.plot([], [], color=COLOURS["gold"], linewidth=1.2, zorder=3)[0],
                "left": axes.plot([], [], color=COLOURS["rod"], linewidth=4.5, zorder=5)[0],
                "right": axes.plot([], [], color=COLOURS["violet"], linewidth=4.5, zorder=5)[0],
                "load": axes.plot([], [], "o", color=COLOURS["accent"], markersize=17, zorder=8)[0],
            })  # fmt: skip
        self.figure.text(0.04, 0.93, "down through a singularity", fontsize=14, weight="bold")
        self.clock = self.figure.text(0.96, 0.93, "", fontsize=12, ha="right", family="monospace")
        self.note = self.figure.text(0.96, 0.03, "", fontsize=9, ha="right", color=COLOURS["grey"])
        self.angle = self.figure.text(0.04, 0.03, "", fontsize=9, color=COLOURS["grey"])

    def move(self, instant: float, *, slow: bool) -> None:
        """Everything at the recorded steps nearest to ``instant`` [s]."""
        for robot in self.robots:
            out = robot["run"]
            time = out["time"].values
            step = int(np.argmin(np.abs(time - instant)))
            for rod in ("left", "right"):
                robot[rod].set_data(*centre_line(out, rod, step))
            way = out["load/position"].values[:, :2]
            robot["load"].set_data([way[step, 0]], [way[step, 1]])
            first = int(np.searchsorted(time, time[step] - 0.6))
            robot["trace"].set_data(*way[first : step + 1].T)
        angle = float(self.robots[0]["run"]["q"].sel(coordinate="J1/angle").sel(time=instant, method="nearest"))
        self.clock.set_text(f"t = {instant:5.3f} s")
        self.note.set_text(f"slowed {SLOW:g} times" if slow else "twice as fast as it is")
        self.angle.set_text(f"motors at {np.degrees(angle):+.0f}° of ±{np.degrees(UP):.0f}°")

    def picture(self) -> Image.Image:
        self.canvas.draw()
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3].copy())
