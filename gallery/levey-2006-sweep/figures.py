"""What comes back, how errors grow, where the sweep escapes, and chains of links beside the rod."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from elver.viz.style import COLOURS, legend_above, style


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Five panels: conditioning, round trips, the sweep and its escape, the couple, convergence of chains."""
    with style():
        figure = plt.figure(figsize=(13.0, 7.8))
        top = figure.add_gridspec(1, 2, left=0.06, right=0.985, bottom=0.575, top=0.935, wspace=0.2)
        low = figure.add_gridspec(1, 3, left=0.06, right=0.985, bottom=0.075, top=0.43, wspace=0.27)
        _conditioning(figure.add_subplot(top[0]), run)
        _round_trips(figure.add_subplot(top[1]), run)
        _escape(figure.add_subplot(low[0]), run)
        _couple(figure.add_subplot(low[1]), run)
        _chains(figure.add_subplot(low[2]), run)
        figure.savefig(path)
        plt.close(figure)


def _conditioning(axes: Axes, run: xr.Dataset) -> None:
    sizes = run["slenderness"].values
    law = np.linspace(0.0, sizes[-1], 50)
    axes.semilogy(law, np.exp(2.0 * law), color=COLOURS["grey"], linestyle="--", label="exp(2 L/r)")
    axes.semilogy(sizes, run["condition"].values, "o-", color=COLOURS["rod"], markersize=5, label="measured")
    axes.axhline(1e12, color=COLOURS["accent"], linewidth=1.2)
    axes.annotate("refused above", (0.3, 1e12), (0, 4), textcoords="offset points", color=COLOURS["accent"], fontsize=9)
    axes.set_xlim(0.0, sizes[-1] + 0.2)
    axes.set_ylim(1.0, 1e14)
    axes.set_title("forward: a march from end to end")
    axes.set_xlabel("length over radius of the section")
    axes.set_ylabel("condition number")
    legend_above(axes)


def _round_trips(axes: Axes, run: xr.Dataset) -> None:
    sizes = run["trip"].values
    looks = (("collocation", "rod", "o"), ("superposition", "gold", "s"), ("riccati", "violet", "D"))
    for name, colour, marker in looks:
        values = run[f"{name}/error"].values
        on = np.isfinite(values)
        axes.loglog(sizes[on], values[on], marker + "-", color=COLOURS[colour], markersize=5, label=name)
        if not on.all() and on.any():
            last = np.flatnonzero(on)[-1]
            axes.annotate(
                "escapes" if name == "riccati" else "refused", (sizes[last], values[last]), (8, -3),
                textcoords="offset points", color=COLOURS[colour], fontsize=9,
            )  # fmt: skip
    axes.set_xlim(0.9, 1.25 * sizes[-1])
    ticks = [1, 2, 4, 8, 20, 50, 100]
    axes.set_xticks([t for t in ticks if t <= sizes[-1]], [str(t) for t in ticks if t <= sizes[-1]])
    axes.minorticks_off()
    axes.set_title("forward: round trip")
    axes.set_xlabel("length over radius of the section")
    axes.set_ylabel(r"error of $\ddot K$ [1/(m s²)]")
    legend_above(axes)


def _escape(axes: Axes, run: xr.Dataset) -> None:
    for size, colour in ((1, "rod"), (2, "violet"), (4, "gold"), (8, "accent")):
        s, zeta = run[f"zeta/{size}"].values.T
        axes.semilogy(s, zeta, color=COLOURS[colour], label=f"L/r = {size}")
        where = run["escape/s"].values[np.flatnonzero(run["escape/slenderness"].values == size)[0]]
        if where > 0.0:
            axes.axvline(where, color=COLOURS[colour], linewidth=0.9, linestyle=":")
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(1e-3, 1e4)
    axes.set_title("forward: Riccati")
    axes.set_xlabel("s [m], swept from right to left")
    axes.set_ylabel("|ζ|")
    axes.legend(loc="upper right", fontsize=9, handlelength=1.0)


def _couple(axes: Axes, run: xr.Dataset) -> None:
    for k, (name, colour) in enumerate((("x", "rod"), ("y", "violet"), ("z", "gold"))):
        axes.plot(run["s"].values, 1e3 * run["couple"].values[:, k], color=COLOURS[colour], label=f"$C_{name}$")
        axes.plot(
            run["chain/s"].values, 1e3 * run["chain/couple"].values[:, k], "o", color="white",
            markeredgecolor=COLOURS[colour], markersize=4.5,
        )  # fmt: skip
    axes.set_xlim(0.0, 1.0)
    axes.set_title("backward, 16 links")
    axes.set_xlabel("s [m]")
    axes.set_ylabel("couple [mN m]")
    legend_above(axes)


def _chains(axes: Axes, run: xr.Dataset) -> None:
    links, error = run["links"].values, run["chain/error"].values
    axes.loglog(links, error, "o-", color=COLOURS["rod"], markersize=5, label="chain")
    axes.loglog(links, error[-1] * (links[-1] / links) ** 2.0, "--", color=COLOURS["grey"], label="order 2")
    axes.set_xticks(links, [str(n) for n in links])
    axes.minorticks_off()
    axes.set_title("backward: links")
    axes.set_xlabel("number of joints")
    axes.set_ylabel("largest error of the torque [N m]")
    legend_above(axes)
