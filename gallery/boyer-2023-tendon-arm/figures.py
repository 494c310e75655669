"""The arm with its disks and tendon: bent by a convergent and by a spiral tendon, and swinging when it is cut."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from PIL import Image
from scipy.interpolate import CubicSpline

from elver import io
from elver.lie import so3
from elver.viz.animation import write_gif
from elver.viz.history import RodHistory
from elver.viz.scene import Scene
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, style
from elver.viz.tube import Surface, flange, join, tube

from .run import CUT, HANGING, LARGEST, PATHS, REACH, RELEASED, TIPS

LENGTH = 0.4
DISKS = np.linspace(0.0, LENGTH, 9)[1:]
VIEW = (14.0, -68.0)


# One arm --------------------------------------------------------------------------------------------------------


def arm_surface(s: np.ndarray, p: np.ndarray, R: np.ndarray, *, colour: str, disks: bool = True) -> Surface:
    """The rod (drawn 3 mm thick, to be seen), its disks and the plate it hangs from."""
    half = np.full((s.size, 2), 1.5e-3)
    parts = [tube(s, p, R, half, colour=colour, around=12, stripe=False)]
    if disks:
        position, quaternion = CubicSpline(s, p), CubicSpline(s, _continuous(so3.to_quaternion(R)))
        for at in DISKS:
            q = quaternion(at) / np.linalg.norm(quaternion(at))
            parts.append(flange(position(at), so3.from_quaternion(q), REACH + 2e-3, 2e-3, colour="#e6edf1"))
        parts.append(flange(p[0], R[0], 0.045, 8e-3, colour=COLOURS["steel"]))
    return join(parts)


def cable(tendon: str, s: np.ndarray, p: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Points (n, 3) of the tendon in the world, from hole to hole."""
    fine = np.linspace(0.0, LENGTH, 121)
    D, _ = PATHS[tendon](fine, LENGTH)
    position, quaternion = CubicSpline(s, p), CubicSpline(s, _continuous(so3.to_quaternion(R)))
    q = quaternion(fine)
    frames = so3.from_quaternion(q / np.linalg.norm(q, axis=1, keepdims=True))
    return np.asarray(position(fine) + np.einsum("nij,nj->ni", frames, D))


def _continuous(quaternion: np.ndarray) -> np.ndarray:
    """The same rotations with neighbouring quaternions on one side."""
    flips = np.where(np.sum(quaternion[1:] * quaternion[:-1], axis=-1) < 0.0, -1.0, 1.0)
    return quaternion * np.concatenate([np.ones_like(flips[:1]), np.cumprod(flips, axis=0)])[..., None]


def _scene(
    axes: Any, s: np.ndarray, positions: np.ndarray, view: tuple[float, float], shape: float, above: float = 0.0
) -> Scene:
    """A stage with room for disks and plate around all ``positions`` (n, nodes, 3)."""
    low, high = positions.min(axis=(0, 1)) - REACH, positions.max(axis=(0, 1)) + REACH
    low[2] -= 0.03
    high[2] += above
    box = np.array([low, high])[:, None]
    points = np.concatenate([positions.reshape(1, -1, 3), box.reshape(1, -1, 3)], axis=1)
    history = RodHistory("arm", np.zeros(1), s, points, None, np.zeros((points.shape[1], 2)))
    scene = Scene.of(axes, [history], view)
    scene.prepare(width_by_height=shape)
    return scene


# The figure -----------------------------------------------------------------------------------------------------


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes of both tendons from 0 to 67.5 N; the tip over the tension; the tip after the cut."""
    with style():
        figure = plt.figure(figsize=(11.6, 9.4))
        for k, tendon in enumerate(PATHS):
            axes: Any = figure.add_axes((0.01 + 0.5 * k, 0.40, 0.48, 0.56), projection="3d")
            _shapes(axes, io.part(run, f"{tendon}-exact"), tendon)
        _tip_over_tension(figure.add_axes((0.065, 0.065, 0.40, 0.27)), run)
        _tip_over_time(figure.add_axes((0.565, 0.065, 0.41, 0.27)), io.part(run, "released"))
        figure.savefig(path)
        plt.close(figure)


def _shapes(axes: Any, statics: xr.Dataset, tendon: str) -> None:
    s, tensions = statics["arm/s"].values, statics["tension"].values
    positions, rotations = statics["arm/position"].values, statics["arm/rotation"].values
    scene = _scene(axes, s, positions, VIEW, 1.0)
    chosen = [int(np.argmin(np.abs(tensions - T))) for T in np.linspace(0.0, LARGEST, 5)]
    surfaces = []
    for k in chosen:
        last = k == chosen[-1]
        colour = to_hex(TIME_COLOURS(tensions[k] / LARGEST))
        surfaces.append(arm_surface(s, positions[k], rotations[k], colour=colour, disks=last))
    everything = join(surfaces)
    scene.add_shadow(everything)
    scene.add(everything)
    _line(axes, statics["arm/tip/position"].values, COLOURS["gold"], 1.6)
    _line(axes, cable(tendon, s, positions[chosen[-1]], rotations[chosen[-1]]), COLOURS["accent"], 1.8)
    figure = axes.get_figure()
    box = axes.get_position()
    figure.text(box.x0 + 0.03, 0.965, f"{tendon} tendon, 0 to {LARGEST:g} N", weight="bold", fontsize=12)
    note = f"grid {scene.grid_step:g} m"
    figure.text(box.x0 + 0.03, box.y0 + 0.005, note, color=COLOURS["grey"], fontsize=9)


def _line(axes: Any, points: np.ndarray, colour: str, width: float) -> Line3DCollection:
    line = Line3DCollection([points], colors=colour, linewidths=width, zorder=20, clip_on=False, capstyle="round")
    axes.add_collection3d(line)
    return line


def _tip_over_tension(axes: Axes, run: xr.Dataset) -> None:
    for tendon, component, colour in (("convergent", 1, "rod"), ("spiral", 2, "violet")):
        for law, dashes in (("exact", "-"), ("neglected", (0, (1, 1.6)))):
            statics = io.part(run, f"{tendon}-{law}")
            tips = statics["arm/tip/position"].values @ HANGING[:3, :3]
            name = f"{tendon}, {'yz'[component - 1]}"
            label = name if law == "exact" else None
            axes.plot(statics["tension"], tips[:, component], color=COLOURS[colour], linestyle=dashes, label=label)
            for tension in (CUT, LARGEST):
                _mark(axes, tension, TIPS[tendon, law, tension][component])
    axes.plot([], [], color=COLOURS["ink"], linestyle=(0, (1, 1.6)), label="strain neglected")
    _mark(axes, np.nan, np.nan, "shooting")
    axes.set_title("tip at rest")
    axes.set_xlabel("tension [N]")
    axes.set_ylabel("across the hanging rod [m]")
    axes.legend(loc="upper left", fontsize=9)


def _tip_over_time(axes: Axes, released: xr.Dataset) -> None:
    time = released["time"].values
    height = released["arm/tip/position"].values @ HANGING[:3, 1]
    axes.plot(time, height, color=COLOURS["rod"], label="elver")
    for k, (instant, value) in enumerate(RELEASED.items()):
        _mark(axes, instant, value, None if k else "shooting, 1 ms")
    axes.set_title(f"tip after the cut at {CUT:g} N")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("y [m]")
    axes.margins(x=0.02)
    legend_above(axes)


def _mark(axes: Axes, x: float, y: float, label: str | None = None) -> None:
    axes.plot(x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, zorder=6, label=label)


# The film -------------------------------------------------------------------------------------------------------

FPS = 20
SLOW = 4.0  # seconds of film for the second after the cut


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """Both arms: pulled to 67.5 N, let down to 15 N, cut. The still is taken at full tension."""
    with style():
        film = _Film(run)
        rise = _smooth(np.arange(1, round(2.2 * FPS) + 1) / (2.2 * FPS)) * LARGEST
        down = LARGEST + _smooth(np.arange(1, round(1.2 * FPS) + 1) / (1.2 * FPS)) * (CUT - LARGEST)
        hold = [LARGEST] * round(0.4 * FPS)
        wait = [CUT] * round(0.5 * FPS)
        film.pulled(LARGEST)
        film.figure.savefig(still, dpi=200)
        frames = []
        for tension in [0.0] * 6 + [*rise, *hold, *down, *wait]:
            film.pulled(float(tension))
            frames.append(film.picture())
        for instant in np.arange(0, round(SLOW * FPS) + 1) / (SLOW * FPS):
            film.released(float(instant))
            frames.append(film.picture())
        write_gif(Path(path), iter(frames), FPS)


def _smooth(x: np.ndarray) -> np.ndarray:
    return x * x * (3.0 - 2.0 * x)


class _Film:
    """One picture of both arms, moved from frame to frame."""

    def __init__(self, run: xr.Dataset) -> None:
        self.pull = {t: io.part(run, f"film-pulled-{t}") for t in PATHS}
        self.swing = {t: io.part(run, f"film-released-{t}") for t in PATHS}
        self.rest = {}
        for t, data in self.pull.items():
            turns = _continuous(so3.to_quaternion(data[f"{t}/rotation"].values))
            p = data[f"{t}/position"].values
            self.rest[t] = CubicSpline(data["tension"].values, np.concatenate([p, turns], axis=2))
        self.s = {t: self.pull[t][f"{t}/s"].values for t in PATHS}
        self.turns = {t: so3.from_quaternion(self.swing[t][f"{t}/orientation"].values) for t in PATHS}
        self.figure = Figure(figsize=(8.0, 5.6), dpi=100, facecolor="white")
        self.canvas = FigureCanvasAgg(self.figure)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 0.92), projection="3d")
        everywhere = [d[f"{t}/position"].values for parts in (self.pull, self.swing) for t, d in parts.items()]
        self.scene = _scene(
            axes, self.s["spiral"], np.concatenate(everywhere), (12.0, -66.0), 8.0 / (0.92 * 5.6), above=0.06
        )
        for t, colour in (("convergent", COLOURS["rod"]), ("spiral", COLOURS["violet"])):
            base = self.pull[t][f"{t}/position"].values[0, 0]
            label = {"color": colour, "fontsize": 11, "ha": "center", "va": "bottom", "zorder": 30}
            axes.text(base[0], base[1], base[2] + 0.03, f"{t} tendon", **label)
        text = self.figure.text
        text(0.04, 0.935, "tendon-driven arms", fontsize=14, weight="bold")
        self.clock = text(0.96, 0.935, "", fontsize=12, ha="right", family="monospace")
        text(0.04, 0.03, f"grid {self.scene.grid_step:g} m", fontsize=9, color=COLOURS["grey"])
        self.note = text(0.96, 0.03, "", fontsize=9, color=COLOURS["grey"], ha="right")
        first = self._surface(self._pulled_shapes(0.0))
        self.shadow = self.scene.add_shadow(first)
        nowhere = [np.zeros((1, 3))]
        self.trace = Line3DCollection(nowhere, linewidths=1.8, zorder=5, clip_on=False)
        axes.add_collection3d(self.trace)
        self.body = self.scene.add(first)
        self.cables = Line3DCollection(nowhere, zorder=20, clip_on=False, capstyle="round")
        axes.add_collection3d(self.cables)

    def _pulled_shapes(self, tension: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        shapes = {}
        for t, path in self.rest.items():
            now = path(tension)
            turn = now[:, 3:] / np.linalg.norm(now[:, 3:], axis=1, keepdims=True)
            shapes[t] = (now[:, :3], so3.from_quaternion(turn))
        return shapes

    def _surface(self, shapes: dict[str, tuple[np.ndarray, np.ndarray]]) -> Surface:
        colours = {"convergent": COLOURS["rod"], "spiral": COLOURS["violet"]}
        return join([arm_surface(self.s[t], p, R, colour=colours[t]) for t, (p, R) in shapes.items()])

    def _place(self, shapes: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
        surface = self._surface(shapes)
        self.scene.move(self.body, surface)
        self.scene.move_shadow(self.shadow, surface)

    def pulled(self, tension: float) -> None:
        """Both arms at rest under ``tension`` [N]."""
        shapes = self._pulled_shapes(tension)
        self._place(shapes)
        self.cables.set_segments([cable(t, self.s[t], p, R) for t, (p, R) in shapes.items()])
        part = tension / LARGEST
        self.cables.set_color(COLOURS["accent"])
        self.cables.set_linewidth(0.9 + 1.5 * part)
        self.trace.set_segments([])
        self.clock.set_text(f"tension {tension:5.1f} N")
        self.clock.set_color(COLOURS["accent"])
        self.note.set_text("at rest")

    def released(self, instant: float) -> None:
        """Both arms ``instant`` [s] after their tendons were cut."""
        shapes, ways = {}, []
        for t, data in self.swing.items():
            k = int(np.argmin(np.abs(data["time"].values - instant)))
            shapes[t] = (data[f"{t}/position"].values[k], self.turns[t][k])
            ways.append(data[f"{t}/tip/position"].values[max(0, k - 110) : k + 1])
        self._place(shapes)
        self.cables.set_segments([])
        self.trace.set_segments(ways)
        self.trace.set_color(COLOURS["gold"])
        self.clock.set_text(f"cut   t = {instant:4.2f} s")
        self.clock.set_color(COLOURS["ink"])
        self.note.set_text(f"slowed {SLOW:g} times")

    def picture(self) -> Image.Image:
        self.canvas.draw()
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3].copy())
