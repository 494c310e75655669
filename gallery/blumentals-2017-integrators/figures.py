"""The periodic elastica by coarse steps, errors in the plane and in space, and what becomes of rotations."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elver.viz.style import COLOURS, legend_above, style

LOOKS = {
    1: ("gold", "o", "RKMK1"),
    2: ("violet", "s", "RKMK2"),
    3: ("accent", "^", "as printed"),
    4: ("rod", "D", "RKMK4"),
}
LINES = {"exp": "-", "cayley": (0, (4, 2))}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Five panels: the curve by two maps, errors against the number of steps on two rods, orthogonality."""
    with style():
        figure = plt.figure(figsize=(13.0, 8.4))
        top = figure.add_gridspec(1, 2, left=0.06, right=0.985, bottom=0.64, top=0.945, wspace=0.12)
        low = figure.add_gridspec(1, 3, left=0.06, right=0.985, bottom=0.15, top=0.545, wspace=0.27)
        for k, kind in enumerate(("exp", "cayley")):
            _curve(figure.add_subplot(top[k]), run, kind)
        _errors(figure.add_subplot(low[0]), run, "error", "steps", "plane curve", "largest error of the position / L")
        _errors(
            figure.add_subplot(low[1]), run, "space", "counts", "bent and twisted in space", "error of the end pose"
        )
        _rotations(figure.add_subplot(low[2]), run)
        handles = [
            Line2D([], [], color=COLOURS[c], marker=m, markersize=5, label=f"RKMK4 {n}" if k == 3 else n)
            for k, (c, m, n) in LOOKS.items()
        ]
        handles += [
            Line2D([], [], color=COLOURS["ink"], linestyle=LINES[name], label=label)
            for name, label in (("exp", "exponential"), ("cayley", "Cayley"))
        ]
        figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.055, 0.02), ncols=6, fontsize=9)
        figure.savefig(path)
        plt.close(figure)


def _curve(axes: Axes, run: xr.Dataset, kind: str) -> None:
    x, z = run["curve/exact"].values.T
    axes.plot(x, -z, color=COLOURS["shadow"], linewidth=6.0, label="closed form")
    for order in (1, 2, 4):
        colour, marker, name = LOOKS[order]
        x, z = run[f"curve/{order}/{kind}"].values.T
        size = 3.4 if order == 4 else 2.6
        axes.plot(
            x, -z, marker + "-", color=COLOURS[colour], markersize=size, linewidth=1.0, label=name, zorder=2 + order
        )
    axes.set_yticks(np.arange(0, 21, 5))
    axes.set_ylim(-1.5, 20.5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(f"100 steps, {'exponential' if kind == 'exp' else 'Cayley'} map")
    axes.set_xlabel("x")
    axes.set_ylabel("-z")
    legend_above(axes)


def _errors(axes: Axes, run: xr.Dataset, name: str, over: str, title: str, label: str) -> None:
    n = run[over].values
    for order, (colour, marker, _) in LOOKS.items():
        for kind, line in LINES.items():
            axes.loglog(
                n, run[f"{name}/{order}/{kind}"].values, marker=marker, linestyle=line, color=COLOURS[colour],
                markersize=4.5, linewidth=1.4, markerfacecolor=COLOURS[colour] if kind == "exp" else "white",
            )  # fmt: skip
    axes.set_xticks(n, [str(k) for k in n])
    axes.minorticks_off()
    if name == "space":
        for order in LOOKS:
            last = run[f"space/{order}/exp"].values[-1]
            axes.annotate(
                f"order {order}", (n[-1], last), (8, 0), textcoords="offset points", va="center", fontsize=9,
                color=COLOURS[LOOKS[order][0]],
            )  # fmt: skip
        axes.set_xlim(n[0] * 0.85, n[-1] * 2.2)
    axes.set_title(title)
    axes.set_xlabel("steps N")
    axes.set_ylabel(label)


def _rotations(axes: Axes, run: xr.Dataset) -> None:
    n = run["few"].values
    group = np.maximum(run["orthogonality/group"].values, 1e-16)
    axes.loglog(n, run["orthogonality/entries"].values, "v-", color=COLOURS["grey"], markersize=5)
    axes.loglog(n, group, "D-", color=COLOURS["rod"], markersize=5)
    axes.annotate("classical method on\nthe entries of g", (n[1], run["orthogonality/entries"].values[1]), (10, 4),
                  textcoords="offset points", fontsize=9, color=COLOURS["ink"])  # fmt: skip
    axes.annotate("RKMK4", (n[1], group[1]), (0, 9), textcoords="offset points", fontsize=9, color=COLOURS["rod"])
    axes.set_ylim(1e-16, 10.0)
    axes.set_xticks(n, [str(k) for k in n])
    axes.minorticks_off()
    axes.set_title("rotations, plane curve")
    axes.set_xlabel("steps N")
    axes.set_ylabel(r"largest entry of $R^T R - 1$")
