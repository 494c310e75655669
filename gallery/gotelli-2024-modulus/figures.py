"""Shapes as measured with their circles, the estimates over the load, and what their scatter is made of."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm

from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, style

from .run import LIMIT, YOUNG


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Three panels."""
    tension = run["tension"].values
    young, flagged = run["young"].values, run["flagged"].values.astype(bool)
    with style():
        figure = plt.figure(figsize=(13.0, 4.9))
        grid = figure.add_gridspec(
            1, 3, left=0.05, right=0.985, bottom=0.13, top=0.87, wspace=0.25, width_ratios=[1.0, 1.25, 1.0]
        )
        _shapes(figure.add_subplot(grid[0]), run)

        axes = figure.add_subplot(grid[1])
        axes.axhspan(0.99e-9 * YOUNG, 1.01e-9 * YOUNG, color=COLOURS["shadow"], alpha=0.7, linewidth=0, label="± 1 %")
        axes.axhline(1e-9 * YOUNG, color=COLOURS["ink"], linewidth=1.0, linestyle=(0, (4, 3)))
        jitter = np.exp(0.012 * np.linspace(-3.0, 3.0, young.shape[1]))
        x = tension[:, None] * jitter
        axes.plot(x[flagged], 1e-9 * young[flagged], ".", color=COLOURS["grey"], alpha=0.6, label="flagged")
        axes.plot(x[~flagged], 1e-9 * young[~flagged], ".", color=COLOURS["rod"], alpha=0.7, label="used")
        weights = ~flagged / run["deviation"].values ** 2
        kept = (~flagged).mean(axis=1) > 0.5
        mean = np.sum(weights * young, axis=1)[kept] / weights.sum(axis=1)[kept]
        axes.plot(
            tension[kept], 1e-9 * mean, "o", color="white", markeredgecolor=COLOURS["accent"], markeredgewidth=1.6,
            markersize=6, label="mean", zorder=5,
        )  # fmt: skip
        _loads(axes, tension)
        axes.set_ylim(245.0, 345.0)
        axes.set_title("estimates")
        axes.set_ylabel("Young's modulus [GPa]")
        legend_above(axes)

        axes = figure.add_subplot(grid[2])
        exact = np.sqrt(np.mean((young / YOUNG - 1.0) ** 2, axis=1))
        told = np.median(run["deviation"].values / young, axis=1)
        axes.loglog(tension, 100.0 * told, color=COLOURS["rod"], label="told")
        axes.loglog(
            tension, 100.0 * exact, "o", color="white", markeredgecolor=COLOURS["accent"], markeredgewidth=1.6,
            markersize=6, label="found",
        )  # fmt: skip
        axes.axhline(100.0 * LIMIT, color=COLOURS["ink"], linewidth=1.0, linestyle=(0, (4, 3)))
        axes.text(tension[-1], 105.0 * LIMIT, "used below", ha="right", va="bottom", fontsize=9)
        _loads(axes, tension)
        axes.set_yticks([0.2, 0.5, 1.0, 2.0, 5.0], ["0.2", "0.5", "1", "2", "5"])
        axes.minorticks_off()
        axes.set_title("error of one shape")
        axes.set_ylabel("standard deviation [%]")
        legend_above(axes)
        figure.savefig(path)
        plt.close(figure)


def _shapes(axes: Axes, run: xr.Dataset) -> None:
    """The first measurement of each load, laid back onto the plane of the rod, and the rod itself."""
    shade: Any = LogNorm(float(run["tension"].min()), float(run["tension"].max()))
    for T, shape, points in zip(run["tension"].values, run["shape"].values, run["measured"].values, strict=True):
        back = _laid_on(points, shape)
        colour = TIME_COLOURS(shade(T))
        axes.plot(shape[:, 0], shape[:, 1], color=colour, linewidth=1.2)
        axes.plot(back[:, 0], back[:, 1], ".", color=colour, markersize=2.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title("shapes as measured")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    bar = axes.figure.colorbar(ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.8, aspect=26, pad=0.02)
    bar.set_label("tension [N]")
    bar.set_ticks([0.5, 1.0, 2.0, 5.0, 10.0, 20.0], labels=["0.5", "1", "2", "5", "10", "20"])
    bar.minorticks_off()
    outline: Any = bar.outline
    outline.set_visible(False)


def _laid_on(points: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Points turned and shifted to lie nearest to a shape (Kabsch 1976)."""
    centred, target = points - points.mean(axis=0), shape - shape.mean(axis=0)
    U, _, Vt = np.linalg.svd(centred.T @ target)
    # a plane shape looks the same from both sides: keep it a rotation
    turn = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    return centred @ turn + shape.mean(axis=0)


def _loads(axes: Axes, tension: np.ndarray) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.85 * tension[0], 1.2 * tension[-1])
    axes.set_xticks([0.5, 1.0, 2.0, 5.0, 10.0, 20.0], ["0.5", "1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.set_xlabel("tension [N]")
