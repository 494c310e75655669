"""Both arms, their tips over the tension, what the tendon's law changes, Newton, strain modes, energy, the circle."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from elver.viz.history import RodHistory
from elver.viz.scene import Scene
from elver.viz.style import COLOURS, TIME_COLOURS, style
from elver.viz.tube import flange, join, tube

from .run import LARGEST, LENGTH, PATHS, REACH, TIPS

NAMES = {"convergent": "rod", "spiral": "violet"}
ASIDE = {"convergent": -0.16, "spiral": 0.27}  # m along the world's x, in the picture only
SHOWN = (0.0, 15.0, 30.0, 50.0, LARGEST)
NEGLECTED = (0, (1, 1.6))
SCENE = (0.0, 0.40, 0.645, 0.57)


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """The arms and their tips above, how they were found below."""
    with style():
        figure = plt.figure(figsize=(13.4, 9.4))
        axes: Any = figure.add_axes(SCENE, projection="3d")
        _arms(axes, run)
        right = figure.add_gridspec(2, 1, left=0.705, right=0.985, bottom=0.43, top=0.95, hspace=0.55)
        _tips(figure.add_subplot(right[0]), run)
        _law(figure.add_subplot(right[1]), run)
        low = figure.add_gridspec(1, 4, left=0.06, right=0.985, bottom=0.065, top=0.325, wspace=0.38)
        _newton(figure.add_subplot(low[0]), run)
        _modes(figure.add_subplot(low[1]), run)
        _energy(figure.add_subplot(low[2]), run)
        _circle(figure.add_subplot(low[3]), run)
        figure.savefig(path)
        plt.close(figure)


def _arms(axes: Any, run: xr.Dataset) -> None:
    s, tensions = run["s"].values, run["tension/exact"].values
    positions = {t: run[f"{t}/position"].values + np.array([ASIDE[t], 0.0, 0.0]) for t in PATHS}
    everywhere = np.concatenate([p.reshape(1, -1, 3) for p in positions.values()], axis=1)
    room = np.array([[[-0.21, -0.03, 0.06], [0.33, 0.03, -0.43]]])
    points = np.concatenate([everywhere, room], axis=1)
    history = RodHistory("arm", np.zeros(1), s, points, None, np.zeros((points.shape[1], 2)))
    scene = Scene.of(axes, [history], (13.0, -64.0))
    scene.prepare(width_by_height=13.4 * SCENE[2] / (9.4 * SCENE[3]))
    half, surfaces = np.full((s.size, 2), 1.7e-3), []  # drawn thicker than it is, to be seen
    cables, ways = [], []
    for tendon, p in positions.items():
        R = run[f"{tendon}/rotation"].values
        for tension in SHOWN:
            k = int(np.argmin(np.abs(tensions - tension)))
            colour = to_hex(TIME_COLOURS(tensions[k] / LARGEST))
            surfaces.append(tube(s, p[k], R[k], half, colour=colour, around=12, stripe=False))
        surfaces += [flange(p[-1, j], R[-1, j], REACH + 2e-3, 2e-3, colour="#e6edf1") for j in range(8, 65, 8)]
        surfaces.append(flange(p[-1, 0], R[-1, 0], 0.045, 8e-3, colour=COLOURS["steel"]))
        D = PATHS[tendon](s, LENGTH)[0]
        cables.append(p[-1] + np.einsum("nij,nj->ni", R[-1], D))
        ways.append(p[:, -1])
        label = {"ha": "center", "va": "bottom", "fontsize": 11, "weight": "bold", "color": COLOURS[NAMES[tendon]]}
        axes.text(ASIDE[tendon], 0.0, 0.035, f"{tendon} tendon", zorder=30, **label)
    everything = join(surfaces)
    scene.add_shadow(everything)
    scene.add(everything)
    for lines, colour, width in ((ways, "gold", 1.6), (cables, "accent", 1.8)):
        collection = Line3DCollection(
            lines, colors=COLOURS[colour], linewidths=width, zorder=20, clip_on=False, capstyle="round"
        )
        axes.add_collection3d(collection)
    figure = axes.get_figure()
    figure.text(0.03, 0.96, "shapes by shooting", weight="bold", fontsize=11)
    named = ", ".join(f"{tension:g}" for tension in SHOWN)
    figure.text(0.03, 0.40, f"{named} N, light to dark; grid {scene.grid_step:g} m", color=COLOURS["grey"], fontsize=9)


def _tips(axes: Axes, run: xr.Dataset) -> None:
    for tendon, component in (("convergent", 1), ("spiral", 2)):
        for law, dashes in (("exact", "-"), ("neglected", NEGLECTED)):
            tips = run[f"{tendon}/{law}/tip"].values
            label = f"{tendon}, {'xyz'[component]}" if law == "exact" else None
            axes.plot(
                run[f"tension/{law}"], tips[:, component], color=COLOURS[NAMES[tendon]], linestyle=dashes, label=label
            )
            for tension in (15.0, LARGEST):
                _mark(axes, tension, TIPS[tendon, law, tension][component])
    axes.plot([], [], color=COLOURS["ink"], linestyle=NEGLECTED, label="strain neglected")
    _mark(axes, np.nan, np.nan, "reference")
    axes.set_title("tip")
    axes.set_xlabel("tension [N]")
    axes.set_ylabel("across the hanging rod [m]")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.01, 1.04), fontsize=8.5)


def _law(axes: Axes, run: xr.Dataset) -> None:
    for tendon, colour in NAMES.items():
        axes.plot(run["tension/neglected"], run[f"{tendon}/shift"], color=COLOURS[colour], label=tendon)
    axes.errorbar(
        LARGEST, 1.4, 0.05, fmt="o", color=COLOURS["accent"], markerfacecolor="white", markersize=6, capsize=3,
        label="paper", clip_on=False, zorder=6,
    )  # fmt: skip
    axes.set_ylim(-0.03, 1.62)
    axes.set_title("strain neglected")
    axes.set_xlabel("tension [N]")
    axes.set_ylabel("tip moved by [% of its way]")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.01, 1.04), fontsize=8.5)


def _newton(axes: Axes, run: xr.Dataset) -> None:
    for tendon, colour in NAMES.items():
        for name, dashes, mark in (("one", "-", "o"), ("many", "--", "s")):
            history = run[f"{tendon}/history/{name}"].values
            axes.semilogy(
                np.arange(history.size), np.maximum(history, 1e-16), color=COLOURS[colour], linestyle=dashes,
                marker=mark, markersize=5, clip_on=False,
            )  # fmt: skip
    axes.axhline(1e-10, color=COLOURS["ink"], linewidth=0.9, linestyle=":")
    axes.text(0.0, 1.6e-10, "wanted", fontsize=8.5, va="bottom")
    axes.set_ylim(1e-16, 1e1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("Newton, 67.5 N at once")
    axes.set_xlabel("step")
    axes.set_ylabel("residual [L, rad, EI/L, EI/L²]")
    handles = [
        Line2D([], [], color=COLOURS["grey"], marker="o", markersize=5, label="one shoot"),
        Line2D([], [], color=COLOURS["grey"], marker="s", markersize=5, linestyle="--", label="32 segments"),
    ]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.01, -0.02), fontsize=8.5, handlelength=2.4)


def _modes(axes: Axes, run: xr.Dataset) -> None:
    for tendon, colour in NAMES.items():
        axes.semilogy(
            run["functions"], 1e3 * run[f"{tendon}/modes"], color=COLOURS[colour], marker="o", markersize=4.5,
            label=tendon,
        )  # fmt: skip
        shift = 1e3 * np.linalg.norm(run[f"{tendon}/exact/tip"].values[-1] - run[f"{tendon}/neglected/tip"].values[-1])
        axes.axhline(shift, color=COLOURS[colour], linewidth=1.2, linestyle=NEGLECTED)
        axes.text(12.1, 1.35 * shift, "strain neglected", fontsize=8.5, color=COLOURS[colour], ha="right", va="bottom")
    axes.set_xlim(0.6, 12.4)
    axes.set_title("strain modes")
    axes.set_xlabel("functions of each curvature")
    axes.set_ylabel("tip from that of shooting [mm]")
    axes.set_ylim(1e-7, 3e4)
    axes.set_xticks([1, 4, 8, 12])
    axes.legend(loc="upper right", bbox_to_anchor=(1.03, 1.04), ncols=2, fontsize=8.5, handlelength=1.2)


def _energy(axes: Axes, run: xr.Dataset) -> None:
    size, rise = 100.0 * run["amplitude"].values, 1e3 * run["spiral/rise"].values
    fine = np.linspace(size[0], size[-1], 81)
    for row in rise:
        axes.plot(fine, np.polyval(np.polyfit(size, row, 2), fine), color=COLOURS["violet"], linewidth=0.9, alpha=0.8)
    axes.plot(0.0, 0.0, "o", color=COLOURS["accent"], clip_on=False, zorder=6)
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0.0)
    axes.set_title(f"energy, {len(rise)} ways, spiral")
    axes.set_xlabel("change of K [% of the largest]")
    axes.set_ylabel("rise [mJ]")


def _circle(axes: Axes, run: xr.Dataset) -> None:
    for part, shape in zip(run["ring/part"].values, run["ring/shape"].values):
        colour = TIME_COLOURS(0.15 + 0.85 * part)
        axes.plot(shape[:, 1], -shape[:, 0], color=colour, linewidth=2.6)
        place, offset = shape[-1] if part < 1.0 else shape[16], (6, 0) if part < 0.7 else (0, 7)
        axes.annotate(
            f"{part:g}", (place[1], -place[0]), offset, textcoords="offset points", fontsize=8.5, color=colour,
            ha="left" if part < 0.7 else "center", va="center" if part < 0.7 else "bottom",
        )  # fmt: skip
    axes.plot(0.0, 0.0, "s", color=COLOURS["steel"], markersize=9)
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title("tip couple, in 2π EI/L")
    axes.set_xlabel("y [m]")
    axes.set_ylabel("-x [m]")


def _mark(axes: Axes, x: float, y: float, label: str | None = None) -> None:
    axes.plot(x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, zorder=6, label=label)
