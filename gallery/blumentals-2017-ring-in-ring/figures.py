"""Rings in their walls with the pushes that hold them, where random starts lead, and the energy over the wall."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from elver.viz.style import COLOURS, style

from .run import EIGHT, ENERGY

COLOUR = {0: COLOURS["violet"], 1: COLOURS["rod"], 2: COLOURS["gold"], 3: COLOURS["grey"]}
SHOWN = 5  # random starts drawn


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Fig. 6.20 for eight walls; starts and ends; energies."""
    with style():
        figure = plt.figure(figsize=(13.0, 9.6))
        for k in range(run.sizes["case"]):
            row, column = divmod(k, 4)
            axes = figure.add_axes((0.015 + 0.245 * column, 0.665 - 0.325 * row, 0.24, 0.29))
            _packed(axes, run, k)
        for row, text in enumerate(("index 1: folded inwards", "index 0: figure eight")):
            figure.text(0.03, 0.966 - 0.325 * row, text, weight="bold", fontsize=12, color=COLOUR[1 - row])
        figure.text(0.985, 0.968, "arrows: pushes of the wall, each ring by its own scale", color=COLOURS["grey"],
                    fontsize=9, ha="right")  # fmt: skip
        _starts(figure.add_axes((0.015, 0.03, 0.445, 0.235)), run)
        _found(figure.add_axes((0.525, 0.07, 0.14, 0.19)), run)
        _energy(figure.add_axes((0.745, 0.07, 0.24, 0.19)), run)
        figure.savefig(path)
        plt.close(figure)


def _wall(axes: Axes, c: float, centre: tuple[float, float] = (0.0, 0.0), thick: float = 0.05) -> None:
    axes.add_patch(Circle(centre, c + thick, facecolor=COLOURS["steel"], linewidth=0, zorder=1))
    axes.add_patch(Circle(centre, c, facecolor=COLOURS["floor"], linewidth=0, zorder=2))


def _closed(points: np.ndarray) -> np.ndarray:
    return np.vstack([points, points[:1]])


def _packed(axes: Axes, run: xr.Dataset, k: int) -> None:
    index, c, energy = (run[f"case/{name}"].values[k] for name in ("index", "c", "energy"))
    place, push = run["case/place"].values[k], run["case/push"].values[k]
    _wall(axes, c)
    axes.plot(*_closed(place).T, color=COLOUR[index], linewidth=4.0, zorder=4, solid_joinstyle="round")
    size = push / push.max()
    for p, length in zip(place, size):
        if length > 0.02:
            out = p / np.linalg.norm(p)
            axes.annotate(
                "", 1.06 * c * out, (1.06 * c + 0.07 + 0.24 * length) * out, zorder=5,
                arrowprops={"arrowstyle": "-|>,head_width=0.16,head_length=0.32", "color": COLOURS["accent"],
                            "linewidth": 1.4, "shrinkA": 0.0, "shrinkB": 0.0},
            )  # fmt: skip
    axes.set_xlim(-1.62, 1.62)
    axes.set_ylim(-1.48, 1.48)
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()
    axes.text(0.0, -1.46, f"c = {c:g} R₀,  U = {energy:.2f} EI/L", ha="center", fontsize=9.5)


def _starts(axes: Axes, run: xr.Dataset) -> None:
    """Starts above, what they become below."""
    found = run["random/index"].values
    found = found[np.isfinite(found)]
    order: list[int] = []
    for wanted in (0, 1, 2, -1, 0, 1, 3, -2, 2):  # all kinds first
        rest = [k for k, index in enumerate(found) if index == wanted and k not in order]
        order += rest[:1]
    for column, k in enumerate(order[:SHOWN]):
        x = 2.5 * column
        start = run["random/start"].values[k]
        start = start / max(1.0, np.abs(start).max() / 1.05)
        axes.plot(*(start + np.array([x, 2.6])).T, color=COLOURS["grey"], linewidth=1.3)
        axes.annotate("", (x, 1.1), (x, 1.55), arrowprops={"arrowstyle": "->", "color": COLOURS["grey"]})
        _wall(axes, 0.9, (x, 0.0))
        points = _closed(run["random/place"].values[k]) + np.array([x, 0.0])
        axes.plot(*points.T, color=COLOUR[min(3, abs(int(found[k])))], linewidth=2.6, zorder=4)
        axes.text(x, -1.32, f"index {int(found[k])}", ha="center", fontsize=9)
    axes.set_xlim(-1.3, 2.5 * SHOWN - 1.2)
    axes.set_ylim(-1.45, 3.75)
    axes.set_aspect("equal", adjustable="box", anchor="SW")
    axes.set_axis_off()
    axes.set_title("random starts of no index, c = 0.9 R₀", x=0.02)


def _found(axes: Axes, run: xr.Dataset) -> None:
    found = np.abs(run["random/index"].values)
    names = ["0", "±1", "±2", "±3"]
    counts = [int(np.sum(found == k)) for k in range(4)]
    bars = axes.barh(names, counts, color=[COLOUR[k] for k in range(4)], height=0.68)
    axes.bar_label(bars, padding=3, fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.grid(axis="y", visible=False)
    axes.set_title(f"{found.size} starts")
    axes.set_xlabel(f"end there, in {np.median(run['random/time'].values):.1f} s each")
    axes.set_ylabel("index", labelpad=2)


def _energy(axes: Axes, run: xr.Dataset) -> None:
    for index, free, name in ((1, 2.0 * np.pi**2, "free ring"), (0, EIGHT, "free figure eight")):
        axes.plot(run[f"walls/{index}"], run[f"energy/{index}"], color=COLOUR[index], label=f"index {index}")
        axes.axhline(free, color=COLOUR[index], linewidth=1.0, linestyle=":")
        axes.text(1.41, free - 3.0, name, color=COLOUR[index], fontsize=8.5, ha="right", va="top")
    known = list(ENERGY)
    axes.plot([c for _, c in known], list(ENERGY.values()), "o", color="white", markeredgecolor=COLOURS["accent"],
              markersize=5.5, zorder=5, label="reference")  # fmt: skip
    axes.set_xlim(0.63, 1.42)
    axes.set_ylim(0.0, 138.0)
    axes.set_title("energy")
    axes.set_xlabel("radius of the wall c [R₀]")
    axes.set_ylabel("U [EI/L]")
    axes.legend(loc="upper right", bbox_to_anchor=(1.02, 1.08), fontsize=8.5)
