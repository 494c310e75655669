"""Shapes of all experiments, convergence, invariants, forces and strains, and computing time."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from elver.viz.history import RodHistory
from elver.viz.scene import Scene
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, style
from elver.viz.tube import Surface, flange, join, tube

from .run import TABLE

SIZE = (14.0, 11.6)
LINES = {
    "ss-cay1": ("gold", "-", ""), "ss-cay2": ("violet", "-", ""), "ss-exp1": ("rod", "-", ""),
    "ms-cay1": ("gold", "", "s"), "ms-exp1": ("rod", "", "s"), "ms-exp4": ("ink", "--", ""),
}  # fmt: skip
PALE = to_hex(TIME_COLOURS(0.05))


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes above; fig. 6.17 and 6.16 in the middle; strains, forces, times below."""
    with style():
        figure = plt.figure(figsize=SIZE)
        _shapes(figure, run)
        middle = figure.add_gridspec(1, 4, left=0.055, right=0.985, bottom=0.405, top=0.605, wspace=0.36)
        _convergence(figure.add_subplot(middle[0]), run, "position", "positions", "largest error [L]")
        _convergence(figure.add_subplot(middle[1]), run, "energy", "energy", "relative error")
        _invariant(figure.add_subplot(middle[2]), run, "H", "Hamiltonian", "H [EI/L²]")
        _invariant(figure.add_subplot(middle[3]), run, "mf", "momentum", "m·f [(EI)²/L³]")
        low = figure.add_gridspec(1, 4, left=0.055, right=0.985, bottom=0.06, top=0.29, wspace=0.36)
        _strains(figure.add_subplot(low[0]), run, "0.2")
        _strains(figure.add_subplot(low[1]), run, "0.5")
        _forces(figure.add_subplot(low[2]), run)
        _times(figure.add_subplot(low[3]), run)
        figure.savefig(path)
        plt.close(figure)


# Pictures --------------------------------------------------------------------------------------------------------


def _shapes(figure: Figure, run: xr.Dataset) -> None:
    turns = max(
        int(str(name).split("/")[1]) for name in run if str(name).startswith("ring/") and str(name)[5].isdigit()
    )
    panels: list[tuple[str, list[tuple[str, str]], float, tuple[float, float]]] = [
        ("ends 0.2 apart", [("clamped/0.2/g", COLOURS["rod"])], 0.008, (20.0, -58.0)),
        ("ends 0.5 apart", [("clamped/0.5/g", COLOURS["rod"])], 0.011, (20.0, -62.0)),
        ("helix, free and hanging", [("helix/free/g", PALE), ("helix/down/g", COLOURS["rod"])], 2.23e-3, (14.0, -60.0)),
        (f"ring, twist {turns} · 2π/L", [(f"ring/{turns}/g", COLOURS["rod"])], 0.011, (26.0, -52.0)),
        ("heavy ring", [("ring/heavy/g", COLOURS["rod"])], 0.011, (16.0, -66.0)),
    ]
    for k, (title, parts, radius, view) in enumerate(panels):
        box = (0.005 + 0.199 * k, 0.69, 0.195, 0.265)
        axes: Any = figure.add_axes(box, projection="3d")
        scene = _place(axes, [(run[name].values, colour) for name, colour in parts], radius, view, box)
        unit = "m" if "helix" in title else "L"
        figure.text(box[0] + 0.02, 0.968, title, weight="bold", fontsize=11)
        figure.text(box[0] + 0.02, 0.682, f"grid {scene.grid_step:g} {unit}", color=COLOURS["grey"], fontsize=9)


def _place(
    axes: Any,
    parts: list[tuple[np.ndarray, str]],
    radius: float,
    view: tuple[float, float],
    box: tuple[float, float, float, float],
) -> Scene:
    shift = np.zeros(3)
    surfaces: list[Surface] = []
    places = []
    for k, (g, colour) in enumerate(parts):
        s = np.linspace(0.0, 1.0, len(g))
        if k:  # beside the one before
            shift = shift + np.array([0.06, 0.0, 0.0])
        p, R = g[:, :3, 3] + shift, g[:, :3, :3]
        places.append(p)
        surfaces.append(tube(s, p, R, np.full((s.size, 2), radius), colour=colour, around=16, along=240))
        surfaces.append(flange(p[0], R[0], 2.2 * radius, 0.8 * radius, colour=COLOURS["steel"]))
        if np.linalg.norm(p[-1] - p[0]) > 2.0 * radius and len(parts) == 1:
            back = R[-1] @ np.diag([-1.0, 1.0, -1.0])
            surfaces.append(flange(p[-1], back, 2.2 * radius, 0.8 * radius, colour=COLOURS["steel"]))
    points = np.concatenate(places)[None]
    history = RodHistory("rod", np.zeros(1), np.zeros(points.shape[1]), points, None, np.zeros((points.shape[1], 2)))
    scene = Scene.of(axes, [history], view)
    scene.prepare(width_by_height=SIZE[0] * box[2] / (SIZE[1] * box[3]))
    everything = join(surfaces)
    scene.add_shadow(everything)
    scene.add(everything)
    return scene


# Measures --------------------------------------------------------------------------------------------------------


def _convergence(axes: Axes, run: xr.Dataset, what: str, title: str, label: str) -> None:
    n = run["elements"].values
    for name, (colour, dashes, mark) in LINES.items():
        values = np.abs(run[f"{name}/{what}"].values)
        axes.loglog(
            n, values, color=COLOURS[colour], linestyle=dashes or "none", marker=mark or None, markersize=6,
            fillstyle="none", label=name,
        )  # fmt: skip
    for name in TABLE:
        known = np.abs(TABLE[name][0 if what == "position" else 1])[: n.size]
        axes.plot(n, known, ".", color=COLOURS["accent"], markersize=5, zorder=6)
    axes.set_xticks(n, [str(k) for k in n])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_title(title)
    axes.set_xlabel("elements")
    axes.set_ylabel(label)
    if what == "energy":
        handles, labels = axes.get_legend_handles_labels()
        handles.append(Line2D([], [], color=COLOURS["accent"], marker=".", linestyle="", markersize=6))
        axes.legend(
            handles, [*labels, "reference"], loc="lower left", bbox_to_anchor=(-0.02, -0.03), fontsize=7.5,
            handlelength=1.4, labelspacing=0.25,
        )  # fmt: skip
        axes.set_ylim(bottom=1e-8)


def _invariant(axes: Axes, run: xr.Dataset, what: str, title: str, label: str) -> None:
    numbers = run["invariants/elements"].values[:3]
    for k, n in enumerate(numbers):
        colour = TIME_COLOURS(0.25 + 0.75 * k / max(1, len(numbers) - 1))
        axes.plot(
            run[f"invariants/{n}/s"], run[f"invariants/{n}/{what}"], color=colour, label=str(n), linewidth=1.6,
            marker="." if n <= 20 else None, markersize=4,
        )  # fmt: skip
    axes.set_title(title)
    axes.set_xlabel("s [L]")
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.margins(x=0.0)
    legend_above(axes)


def _strains(axes: Axes, run: xr.Dataset, distance: str) -> None:
    for k, (name, colour) in enumerate((("τ", "accent"), ("κ₁", "rod"), ("κ₂", "violet"))):
        axes.plot(
            run[f"clamped/{distance}/100/s"], run[f"clamped/{distance}/100/strain"][:, k], color=COLOURS[colour],
            label=name,
        )  # fmt: skip
        axes.plot(
            run[f"clamped/{distance}/20/s"], run[f"clamped/{distance}/20/strain"][:, k], "o", color="white",
            markeredgecolor=COLOURS[colour], markersize=4,
        )  # fmt: skip
    axes.set_title(f"strains, {distance}")
    axes.set_xlabel("s [L]; dots 20 elements, lines 100")
    axes.set_ylabel("strain [1/L]")
    axes.margins(x=0.0)
    legend_above(axes)


def _forces(axes: Axes, run: xr.Dataset) -> None:
    s, force = run["ring/s"].values, run["ring/heavy/force"].values
    for k, (name, colour) in enumerate((("x", "gold"), ("y", "violet"), ("z", "rod"))):
        axes.plot(s, force[:, k], color=COLOURS[colour], label=name, linestyle="--" if name == "y" else "-")
    line = force[0, 2] + 150.0 * s
    axes.plot(s[::10], line[::10], "o", color="white", markeredgecolor=COLOURS["accent"], markersize=5, label="150 s")
    axes.set_title("heavy ring")
    axes.set_xlabel("s [L]")
    axes.set_ylabel("internal force [EI/L²]")
    axes.margins(x=0.0)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.01, 1.03), fontsize=9)


def _times(axes: Axes, run: xr.Dataset) -> None:
    if "dynamics/away" in run:
        computed, away = run["dynamics/computed"].values[1:], run["dynamics/away"].values[1:]
        axes.loglog(computed, 1e3 * away, color=COLOURS["grey"], linewidth=1.3)
        axes.text(
            computed[-1] * 1.3, 6e1, "damped\ndynamics", fontsize=9, color=COLOURS["grey"], ha="right", va="bottom"
        )
    for name, colour, label, side in (
        ("direct", "violet", "50 elements", (-2, 9)), ("modes", "rod", "strain modes", (10, -17)),
    ):  # fmt: skip
        x, y = run[f"time/{name}"].item(), 1e3 * run[f"time/{name}/error"].item()
        axes.loglog(x, y, "D", color=COLOURS[colour], markersize=8, zorder=5)
        axes.annotate(
            label,
            (x, y),
            side,
            textcoords="offset points",
            fontsize=9,
            color=COLOURS[colour],
            ha="right" if name == "direct" else "center",
        )
    axes.axhline(0.1, color=COLOURS["ink"], linewidth=0.9, linestyle=":")
    axes.set_xlim(5e-3, 2e1)
    axes.set_ylim(1e-2, 4e2)
    axes.set_title("helix: one run")
    axes.set_xlabel("computing time [s]")
    axes.set_ylabel("tip from rest [mm]")
