"""The rod at four natural curvatures, its twist, the second variation that foretells it, and what is won."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from PIL import Image

from elver.viz.animation import write_gif
from elver.viz.history import RodHistory
from elver.viz.scene import Scene
from elver.viz.style import COLOURS, TIME_COLOURS, style
from elver.viz.tube import Surface, flange, join, tube

from .run import CRITICAL, RADIUS, TWIST

APART = 0.085  # m between two clamps
SIZE = (13.0, 10.0)
SCENE = (0.0, 0.385, 1.0, 0.575)


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Fig. 6.18 above, fig. 6.19 below with what is behind it."""
    with style():
        figure = plt.figure(figsize=SIZE)
        axes: Any = figure.add_axes(SCENE, projection="3d")
        _rods(axes, run)
        low = figure.add_gridspec(1, 3, left=0.06, right=0.985, bottom=0.062, top=0.335, wspace=0.26)
        _twist(figure.add_subplot(low[0]), run)
        _second(figure.add_subplot(low[1]), run)
        _energy(figure.add_subplot(low[2]), run)
        figure.savefig(path)
        plt.close(figure)


def _rods(axes: Any, run: xr.Dataset) -> None:
    s, shown = run["s"].values, run["shown"].values
    aside = APART * np.arange(len(shown))[:, None, None] * np.array([1.0, 0.0, 0.0])
    p, R = run["shown/position"].values + aside, run["shown/rotation"].values
    room = np.array([[-0.02, -0.025, 0.045], [p[-1, 0, 0] + 0.05, 0.045, -0.31]])
    points = np.concatenate([p.reshape(-1, 3), room])[None]
    history = RodHistory("rod", np.zeros(1), s, points, None, np.zeros((points.shape[1], 2)))
    scene = Scene.of(axes, [history], (14.0, -78.0))
    scene.prepare(width_by_height=SIZE[0] * SCENE[2] / (SIZE[1] * SCENE[3]))
    half = np.full((s.size, 2), 1.35 * RADIUS)  # drawn a third thicker than it is
    parts = []
    for k, curvature in enumerate(shown):
        colour = to_hex(TIME_COLOURS(0.25 + 0.65 * k / (len(shown) - 1)))
        parts.append(tube(s, p[k], R[k], half, colour=colour, around=16, along=3 * s.size))
        parts.append(flange(p[k, 0], R[k, 0], 0.014, 6e-3, colour=COLOURS["steel"]))
        label = {"ha": "center", "va": "bottom", "fontsize": 11, "weight": "bold", "zorder": 40}
        axes.text(p[k, 0, 0] + 0.004, 0.0, 0.02, f"{curvature:g} 1/m", color=colour, **label)
    everything = join(parts)
    scene.add_shadow(everything)
    scene.add(everything)
    flat = run["saddle/position"].values + aside[list(shown).index(50.0)]
    ghost = Line3DCollection(
        [flat], colors=COLOURS["accent"], linewidths=1.5, linestyles="--", zorder=30, clip_on=False
    )
    axes.add_collection3d(ghost)
    figure = axes.get_figure()
    figure.text(0.03, 0.968, "natural curvature grows, the rod leaves its plane", weight="bold", fontsize=12)
    note = f"dashed: the flat shape at 50 1/m, a saddle; grid {scene.grid_step:g} m"
    figure.text(0.03, 0.395, note, color=COLOURS["grey"], fontsize=9)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """Natural curvature grows to 90 1/m and falls again; all shapes are solved, the way back is the way up."""
    s, p, R = run["film/s"].values, run["film/position"].values, run["film/rotation"].values
    curvature, turns = run["film/curvature"].values, np.abs(run["film/turns"].values)
    half = np.full((s.size, 2), 1.2 * RADIUS)
    with style():
        figure = Figure(figsize=(5.4, 6.2), dpi=100, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        axes: Any = figure.add_axes((0.0, 0.0, 1.0, 0.94), projection="3d")
        history = RodHistory("rod", np.zeros(1), s, p.reshape(1, -1, 3), None, np.zeros((p[..., 0].size, 2)))
        scene = Scene.of(axes, [history], (15.0, -68.0))
        scene.prepare(width_by_height=5.4 / (0.94 * 6.2))

        def surface(k: int) -> Surface:
            body = tube(s, p[k], R[k], half, colour=COLOURS["rod"], around=14, along=200)
            return join([body, flange(p[k, 0], R[k, 0], 0.014, 6e-3, colour=COLOURS["steel"])])

        shadow, body = scene.add_shadow(surface(0)), scene.add(surface(0))
        figure.text(0.05, 0.945, "natural curvature", fontsize=13, weight="bold")
        clock = figure.text(0.95, 0.945, "", fontsize=12, ha="right", family="monospace")
        note = figure.text(0.95, 0.025, "", fontsize=10, ha="right", color=COLOURS["accent"])
        figure.text(0.05, 0.025, f"grid {scene.grid_step:g} m", fontsize=9, color=COLOURS["grey"])

        def place(k: int) -> None:
            scene.move(body, surface(k))
            scene.move_shadow(shadow, surface(k))
            clock.set_text(f"{curvature[k]:4.1f} 1/m")
            note.set_text(f"twist {turns[k]:.2f} turns" if turns[k] > 5e-3 else "")

        def pictures() -> Iterator[Image.Image]:
            last = len(curvature) - 1
            for k in [0] * 4 + [*range(last + 1)] + [last] * 8 + [*range(last, -1, -1)]:
                place(k)
                canvas.draw()
                yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())

        place(int(np.argmin(np.abs(curvature - 66.0))))
        figure.savefig(still, dpi=200)
        write_gif(Path(path), pictures(), 15)


def _critical(axes: Axes) -> None:
    axes.axvline(CRITICAL[100], color=COLOURS["ink"], linewidth=0.9, linestyle=":", zorder=1)


def _twist(axes: Axes, run: xr.Dataset) -> None:
    curvature, up = run["curvature"].values, np.abs(run["up"].values)
    first = np.concatenate([[CRITICAL[100]], curvature[curvature > CRITICAL[100]]])
    for sign in (1.0, -1.0):
        axes.plot(first, sign * np.concatenate([[0.0], up[curvature > CRITICAL[100]]]), color=COLOURS["rod"])
    axes.plot([0.0, CRITICAL[100]], [0.0, 0.0], color=COLOURS["rod"])
    axes.plot([CRITICAL[100], 90.0], [0.0, 0.0], color=COLOURS["rod"], linestyle="--", linewidth=1.2)
    plain = run["plain"].values
    axes.plot(
        run["plain/curvature"], plain, "s", color="white", markeredgecolor=COLOURS["gold"], markersize=4.5, zorder=4
    )
    axes.plot(list(TWIST), list(TWIST.values()), "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6,
              zorder=5)  # fmt: skip
    axes.plot(run["down/curvature"], np.abs(run["down"].values), ".", color=COLOURS["ink"], markersize=3.5, zorder=6)
    _critical(axes)
    handles = [
        Line2D([], [], color=COLOURS["rod"], label="minima"),
        Line2D([], [], color=COLOURS["rod"], linestyle="--", linewidth=1.2, label="saddles"),
        _dot("s", "gold", 4.5, "search without noise"),
        _dot("o", "accent", 6.0, "reference"),
        Line2D([], [], color=COLOURS["ink"], marker=".", linestyle="", markersize=4, label="down again"),
    ]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.02, -0.02), fontsize=8, handlelength=1.1)
    axes.set_title("total twist")
    axes.set_xlabel("natural curvature [1/m]")
    axes.set_ylabel("(1/2π) ∫τ ds [turns]")
    axes.set_xlim(0.0, 93.0)


def _dot(mark: str, colour: str, size: float, label: str) -> Line2D:
    return Line2D(
        [], [], color="white", marker=mark, linestyle="", markeredgecolor=COLOURS[colour], markersize=size, label=label
    )


def _second(axes: Axes, run: xr.Dataset) -> None:
    along, flat = run["flat/curvature"].values, run["flat/eigenvalue"].values
    curvature, out = run["curvature"].values, run["up/eigenvalue"].values
    beyond = curvature > CRITICAL[100]
    axes.axhspan(-2.0, 0.0, color=COLOURS["accent"], alpha=0.07, linewidth=0)
    axes.axhline(0.0, color=COLOURS["ink"], linewidth=0.9)
    axes.plot(along, flat, color=COLOURS["accent"], label="flat")
    axes.plot([CRITICAL[100], *curvature[beyond]], [0.0, *out[beyond]], color=COLOURS["rod"], label="out of the plane")
    _critical(axes)
    axes.annotate(
        f"{CRITICAL[100]:.2f} 1/m",
        (CRITICAL[100], 0.0),
        (-8, -22),
        textcoords="offset points",
        ha="right",
        fontsize=9.5,
    )
    axes.set_ylim(-0.95, 0.72)
    axes.set_xlim(0.0, 93.0)
    axes.text(91.0, -0.9, "saddles", color=COLOURS["accent"], fontsize=9, ha="right")
    axes.set_title("second variation")
    axes.set_xlabel("natural curvature [1/m]")
    axes.set_ylabel("smallest eigenvalue [EI/L]")
    axes.legend(loc="lower left", fontsize=8.5, bbox_to_anchor=(-0.01, -0.02))


def _energy(axes: Axes, run: xr.Dataset) -> None:
    along, flat = run["flat/curvature"].values, run["flat/energy"].values
    curvature, out = run["curvature"].values, run["up/energy"].values
    common = [(k, flat[i] - out[curvature == k][0]) for i, k in enumerate(along) if k in curvature]
    won = np.array(common)
    axes.plot(won[:, 0], 1e6 * won[:, 1], color=COLOURS["rod"], marker="o", markersize=4)
    _critical(axes)
    axes.set_xlim(0.0, 62.0)
    axes.set_title("energy won by leaving the plane")
    axes.set_xlabel("natural curvature [1/m]")
    axes.set_ylabel("flat less curled [µJ]")
