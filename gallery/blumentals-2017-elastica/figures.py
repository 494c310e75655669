"""Shapes and their series, the map of residuals, and where guesses lead."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D

from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, style

DISTANCE = LinearSegmentedColormap.from_list("distance", ["#123b56", "#12858f", "#b9dbdc", "#f4f6f8"])
SHORTENING = (0.05, 0.2, 0.4, 0.64, 0.8)


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes, error of the series, outcome of random guesses; residuals, solutions, guesses in space; all methods."""
    with style():
        figure = plt.figure(figsize=(13.0, 11.6))
        top = figure.add_gridspec(
            1, 3, left=0.055, right=0.985, bottom=0.69, top=0.958, wspace=0.24, width_ratios=(1.5, 1.0, 1.0)
        )
        low = figure.add_gridspec(
            1, 3, left=0.055, right=0.985, bottom=0.29, top=0.6, wspace=0.24, width_ratios=(1.5, 1.0, 1.0)
        )
        _shapes(figure.add_subplot(top[0]), run)
        _series(figure.add_subplot(top[1]), run)
        _outcome(figure.add_subplot(top[2]), run)
        _residuals(figure.add_subplot(low[0]), run)
        _solutions(figure.add_subplot(low[1]), run)
        _space(figure.add_subplot(low[2]), run)
        _starts(figure.add_axes((0.19, 0.05, 0.78, 0.15)), run)
        figure.savefig(path)
        plt.close(figure)


def _shapes(axes: Axes, run: xr.Dataset) -> None:
    for k, size in enumerate(SHORTENING):
        colour = TIME_COLOURS(0.15 + 0.85 * k / (len(SHORTENING) - 1))
        axes.plot(*run[f"shape/{k}/exact"].values.T, color=colour, linewidth=2.2, zorder=3)
        axes.plot(*run[f"shape/{k}/order_1"].values.T, color=COLOURS["gold"], linewidth=1.1, linestyle=":")
        axes.plot(*run[f"shape/{k}/order_3"].values.T, color=COLOURS["accent"], linewidth=1.1, linestyle="--", zorder=4)
        axes.plot(
            *run[f"shape/{k}/shooting"].values.T, "o", color="white", markeredgecolor=colour, markersize=4, zorder=5
        )
        x = run[f"shape/{k}/exact"].values[-1, 0]
        axes.annotate(
            f"{100 * size:.0f} %", (x, 0.0), (0, -13), textcoords="offset points", ha="center", fontsize=9, color=colour
        )
    axes.set_aspect("equal", adjustable="datalim")
    handles = [
        Line2D([], [], color=COLOURS["rod"], linewidth=2.2, label="closed form"),
        Line2D([], [], color="white", markeredgecolor=COLOURS["rod"], marker="o", markersize=4, label="shooting"),
        Line2D([], [], color=COLOURS["gold"], linestyle=":", label="order 1"),
        Line2D([], [], color=COLOURS["accent"], linestyle="--", label="order 3"),
    ]
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1.02, 1.0), ncols=4, handlelength=1.2, handletextpad=0.4,
        columnspacing=0.9, fontsize=9,
    )  # fmt: skip
    axes.set_title("shapes")
    axes.set_xlabel("x (length 2, ends approach by ε²)")
    axes.set_ylabel("y")


def _series(axes: Axes, run: xr.Dataset) -> None:
    size = run["size"].values
    for name, colour, label in (
        ("1", "gold", "order 1"), ("printed", "grey", "order 3 as printed"), ("3", "accent", "order 3"),
    ):  # fmt: skip
        axes.loglog(size, run[f"series/{name}"].values, color=COLOURS[colour], label=label)
    axes.axhline(0.1, color=COLOURS["ink"], linewidth=0.8, linestyle=":")
    axes.annotate("10 %", (size[0], 0.1), (0, 4), textcoords="offset points", fontsize=9)
    axes.set_title("series")
    axes.set_xlabel("shortening ε²")
    axes.set_ylabel("relative error of θ")
    axes.legend(loc="lower right", fontsize=9)


def _outcome(axes: Axes, run: xr.Dataset) -> None:
    ratio = run["random/energy"].values
    levels, counts = np.unique(np.round(ratio[np.isfinite(ratio)], 1), return_counts=True)
    names = [f"{level:g}" for level in levels] + ["none"]
    counts = np.append(counts, np.sum(~np.isfinite(ratio)))
    whole = np.abs(np.sqrt(levels) - np.round(np.sqrt(levels))) < 1e-6
    colours = [COLOURS["rod"] if on else COLOURS["violet"] for on in whole] + [COLOURS["grey"]]
    bars = axes.barh(names, counts, color=colours, height=0.7)
    axes.bar_label(bars, padding=3, fontsize=9)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.12)
    axes.set_title(f"{len(ratio)} random guesses")
    axes.set_xlabel("end there")
    axes.set_ylabel("energy / that of one wave")


def _residuals(axes: Axes, run: xr.Dataset) -> None:
    picture = axes.pcolormesh(
        run["Fx"].values, run["kappa"].values, np.log10(run["map"].values), cmap=DISTANCE, vmin=-1.0, vmax=1.2,
        shading="nearest", rasterized=True,
    )  # fmt: skip
    found = run["map/solutions"].values
    axes.plot(
        found[:, 1], found[:, 0], "o", color=COLOURS["accent"], markeredgecolor="white", markersize=7, label="solutions"
    )
    guess = 2.0 * np.pi * 0.8
    axes.plot(
        [np.pi**2], [guess], "X", color=COLOURS["gold"], markeredgecolor="white", markersize=8, label="series, order 1"
    )
    axes.grid(visible=False)
    axes.set_xlabel("$F_x$")
    axes.set_ylabel("κ(-1)")
    axes.set_title("residual, ε = 0.8")
    legend_above(axes)
    bar = axes.figure.colorbar(picture, ax=axes, pad=0.015, fraction=0.04, ticks=[-1, 0, 1])
    bar.ax.set_yticklabels(["0.1", "1", "10"])
    bar.outline.set_visible(False)


def _solutions(axes: Axes, run: xr.Dataset) -> None:
    shapes, ratio = run["found/shape"].values, run["found/energy"].values
    for k, (shape, energy) in enumerate(zip(shapes, ratio)):
        whole = abs(np.sqrt(energy) - round(np.sqrt(energy))) < 1e-3
        colour = COLOURS["rod"] if whole else COLOURS["violet"]
        x, y = shape.T
        axes.plot(x + 1.05 * (k % 3), y - np.mean([y.min(), y.max()]) - 1.2 * (k // 3), color=colour)
        axes.text(1.05 * (k % 3) + 0.36, 0.47 - 1.2 * (k // 3), f"{energy:.1f}", ha="center", fontsize=9, color=colour)
    axes.set_xlim(-0.15, 2.97)
    axes.set_ylim(-2.9, 0.75)
    axes.set_aspect("equal", adjustable="box", anchor="NW")
    axes.set_axis_off()
    axes.set_title("solutions, ε = 0.8, by energy")


def _space(axes: Axes, run: xr.Dataset) -> None:
    cases = [str(name) for name in run["case"].values]
    known = {"whole": "whole steps", "halved": "line search"}
    shown = [name for name in cases if name in known]
    labels = ["thesis"] + [known[name] for name in shown]
    solved = np.vstack([(72.0, 12.0), *(run["space/solved"].values[cases.index(name)] for name in shown)])
    place = np.arange(len(labels))
    for k, (kind, colour) in enumerate((("planar guess", "rod"), ("full guess", "gold"))):
        bars = axes.bar(place + 0.38 * (k - 0.5), solved[:, k], width=0.36, color=COLOURS[colour], label=kind)
        axes.bar_label(bars, fmt="%.0f", padding=2, fontsize=9)
    axes.set_xticks(place, labels)
    axes.grid(axis="x", visible=False)
    axes.set_ylim(0.0, 112.0)
    axes.set_title("in space")
    axes.set_ylabel("solved [%]")
    legend_above(axes)


def _starts(axes: Axes, run: xr.Dataset) -> None:
    names = [str(name) for name in run["method"].values]
    solved, stable = run["starts/solved"].values, run["starts/stable"].values
    axes.barh(names, stable, color=COLOURS["rod"], height=0.7, label="stable")
    axes.barh(names, solved - stable, left=stable, color=COLOURS["violet"], height=0.7, label="unstable")
    axes.barh(names, 100.0 - solved, left=solved, color=COLOURS["grey"], height=0.7, alpha=0.35, label="not solved")
    for place, (done, seconds) in enumerate(zip(solved, run["starts/time"].values)):
        axes.text(100.8, place, f"{done:.0f} %   {seconds:.2g} s", va="center", fontsize=9)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0.0, 112.0)
    axes.set_title("random starts in space, ends at 0.36 L: every method", loc="left")
    axes.set_xlabel("starts [%], and CPU time of one")
    legend_above(axes)
