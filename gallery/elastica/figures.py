"""The three families of the elastica, and how far their columns lean."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from scipy.interpolate import CubicSpline

from elver.viz.style import COLOURS, TIME_COLOURS, style


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes under a force, a couple and a thrust with the closed forms on them, and the buckling diagram."""
    with style():
        figure, panels = plt.subplots(2, 2, figsize=(10.4, 9.2), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # type: ignore[union-attr]
        (force, couple), (thrust, diagram) = panels
        _family(force, run, "force", "force across the tip", "$F L^2/EI$")
        _arrow(force, run["force/shape"].values[-1, -1], (0.0, 0.13))
        _family(couple, run, "couple", "couple at the tip", "$M L/EI$")
        _family(thrust, run, "thrust", "thrust on a column", "$P/P_\\mathrm{Euler}$", upright=True, count=9)
        _diagram(diagram, run)
        figure.savefig(path)
        plt.close(figure)


def _family(
    axes: Axes, run: xr.Dataset, name: str, title: str, label: str, *, upright: bool = False, count: int = 99
) -> None:
    """Shapes from light to heavy load; circles are the closed form."""
    loads, s = run[f"{name}/load"].values, run[f"{name}/s"].values
    shapes, exact = run[f"{name}/shape"].values, run[f"{name}/closed_form"].values
    chosen = _spread(shapes[:, -1], count)
    shade = (LogNorm if upright else Normalize)(loads.min(), loads.max())
    turn = np.array([[0.0, 1.0], [1.0, 0.0]]) if upright else np.eye(2)
    fine = np.linspace(s[0], s[-1], 300)
    if upright:
        axes.plot([0, 0], [0, 1], color=COLOURS["grey"], linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    for k in chosen:
        colour = TIME_COLOURS(shade(loads[k]))
        axes.plot(*(CubicSpline(s, shapes[k])(fine) @ turn).T, color=colour, linewidth=2.4, zorder=3)
        marks = CubicSpline(s, exact[k])(np.linspace(s[0], s[-1], 11)[1:]) @ turn
        axes.plot(
            *marks.T,
            "o",
            color="white",
            markeredgecolor=colour,
            markersize=4.6,
            markeredgewidth=1.1,
            zorder=4,
        )
    _clamp(axes, upright)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    axes.set_title(title)
    axes.set_xlabel("y / L" if upright else "x / L")
    axes.set_ylabel("x / L" if upright else "y / L")
    bar = axes.figure.colorbar(ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.55, aspect=24, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)
    if upright:
        bar.ax.minorticks_off()
        bar.set_ticks([2.0, 3.0, 4.0, 6.0], labels=["2", "3", "4", "6"])
    if name == "force":
        axes.plot([], [], color=COLOURS["rod"], linewidth=2.4, label="elver")
        axes.plot([], [], "o", color="white", markeredgecolor=COLOURS["rod"], markersize=4.6, label="closed form")
        axes.legend(loc="upper left", fontsize=9)


def _spread(tips: np.ndarray, count: int) -> np.ndarray:
    """Indices of shapes whose tips lie about equally far apart."""
    if len(tips) <= count:
        return np.arange(len(tips))
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(tips, axis=0), axis=1))])
    return np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], count)))


def _clamp(axes: Axes, upright: bool) -> None:
    wall = [(-0.06, 0.06), (0.0, 0.0)] if upright else [(0.0, 0.0), (-0.06, 0.06)]
    axes.plot(*wall, color=COLOURS["ink"], linewidth=4.0, solid_capstyle="butt", zorder=5)


def _arrow(axes: Axes, tip: np.ndarray, by: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": COLOURS["accent"], "linewidth": 1.8, "mutation_scale": 14}
    axes.annotate("", xy=(tip[0] + by[0], tip[1] + by[1]), xytext=tuple(tip), arrowprops=style, zorder=6)
    axes.plot(*np.add(tip, by), alpha=0.0)


def _diagram(axes: Axes, run: xr.Dataset) -> None:
    """Lean of the head over the thrust: the straight column and the two sides it can fall to."""
    loads, tips = run["thrust/load"].values, run["thrust/shape"].values[:, -1]
    straight, stable = run["straight/load"].values, run["straight/stable"].values.astype(bool)
    axes.plot(straight[stable], 0 * straight[stable], color=COLOURS["rod"], linewidth=2.4)
    first = straight[stable][-1]
    axes.plot([first, 1.0], [0, 0], color=COLOURS["rod"], linewidth=2.4)
    axes.plot(
        [1.0, straight[-1]],
        [0, 0],
        color=COLOURS["grey"],
        linewidth=1.6,
        linestyle=(0, (4, 3)),
        label="unstable",
    )
    fine = np.geomspace(loads[0], loads[-1], 300)
    lean = CubicSpline(np.log(loads), tips[:, 1])(np.log(fine))
    for side in (1.0, -1.0):
        label = "stable" if side > 0 else None
        axes.plot([1.0, *fine], side * np.array([0.0, *lean]), color=COLOURS["rod"], linewidth=2.4, label=label)
    axes.plot(1.0, 0.0, "o", color=COLOURS["accent"], markersize=8, zorder=5)
    axes.annotate(
        "Euler's load",
        xy=(1.0, 0.0),
        xytext=(1.55, 0.1),
        color=COLOURS["accent"],
        arrowprops={"arrowstyle": "-", "color": COLOURS["accent"], "linewidth": 1.0},
    )
    axes.set_title("lean of the head")
    axes.set_xlabel("$P/P_\\mathrm{Euler}$")
    axes.set_ylabel("y / L")
    axes.set_xlim(0.0, straight[-1])
    axes.legend(loc="lower right", fontsize=9)
