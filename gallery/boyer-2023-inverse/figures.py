"""Tensions that come back, the swimmer and what its muscles do, and the stress fed back to forward dynamics."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

from .run import SPEED

NAMES = ("convergent", "spiral", "opposite", "aside")


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Two panels of statics, three of the swimmer, one of the arm in space."""
    with style():
        figure = plt.figure(figsize=(13.0, 8.0))
        top = figure.add_gridspec(1, 3, left=0.06, right=0.985, bottom=0.575, top=0.935, wspace=0.28)
        low = figure.add_gridspec(
            1, 3, left=0.06, right=0.985, bottom=0.075, top=0.43, wspace=0.28, width_ratios=(1, 1.25, 0.85)
        )
        _tensions(figure.add_subplot(top[0]), run)
        _errors(figure.add_subplot(top[1]), run)
        _speed(figure.add_subplot(top[2]), run)
        _shapes(figure.add_subplot(low[0]), run)
        _muscles(figure.add_subplot(low[1]), run)
        _fed_back(figure.add_subplot(low[2]), run)
        figure.savefig(path)
        plt.close(figure)


def _tensions(axes: Axes, run: xr.Dataset) -> None:
    """What comes back for the tendon that pulled, and for the three that did not."""
    pulled = run["tension"].values
    axes.plot(pulled, pulled, color=COLOURS["grey"], linestyle="--", linewidth=1.2, label="as pulled")
    for k, (name, colour, marker) in enumerate(zip(NAMES[:2], ("rod", "violet"), ("o", "x"))):
        back = run[f"{name}/tensions"].values
        size = 7 if marker == "o" else 5
        axes.plot(pulled, back[:, k], marker, color=COLOURS[colour], markersize=size, label=name, zorder=3 + k)
        axes.plot(pulled, np.delete(back, k, axis=1), marker, color=COLOURS[colour], markersize=size, zorder=3 + k)
    axes.annotate("the other three", (pulled[-1], 0.0), (0, 8), textcoords="offset points", ha="right", fontsize=9)
    axes.set_title("tensions")
    axes.set_xlabel("one tendon pulls [N]")
    axes.set_ylabel("from the shape [N]")
    legend_above(axes)


def _errors(axes: Axes, run: xr.Dataset) -> None:
    """Error of all four tensions, over the one that pulled."""
    pulled = run["tension"].values
    for k, (name, colour) in enumerate(zip(NAMES[:2], ("rod", "violet"))):
        error = run[f"{name}/tensions"].values.copy()
        error[:, k] -= pulled
        largest = np.max(np.abs(error), axis=1) / pulled
        axes.semilogy(pulled, np.maximum(largest, 1e-16), "o-", color=COLOURS[colour], markersize=5, label=name)
    axes.axhline(1e-6, color=COLOURS["accent"], linewidth=1.2, label="asked for")
    axes.set_ylim(1e-14, 1e-5)
    axes.set_title("errors")
    axes.set_xlabel("one tendon pulls [N]")
    axes.set_ylabel("largest error of four, relative")
    legend_above(axes)


def _speed(axes: Axes, run: xr.Dataset) -> None:
    time = run["time"].values
    axes.plot(time, run["speed"].values, color=COLOURS["rod"], label="three passes")
    whole = np.arange(1, int(time[-1] + 1e-9) + 1)
    axes.plot(
        whole, SPEED[: whole.size], "s", color="white", markeredgecolor=COLOURS["accent"], markersize=5, clip_on=False,
        zorder=5, label="shooting",
    )  # fmt: skip
    open_axes(axes, "swimmer", r"$V_x$ [m/s]")
    legend_above(axes)


def _shapes(axes: Axes, run: xr.Dataset) -> None:
    shapes, instants = run["shape"].values, run["instant"].values
    start = int(np.argmin(np.abs(instants - (instants[-1] + 0.05 - 1.0))))
    chosen = np.arange(start, len(instants), 4)
    for k, at in enumerate(chosen):
        colour = TIME_COLOURS(k / max(len(chosen) - 1, 1))
        axes.plot(*shapes[at, :, :2].T, color=colour, linewidth=2.4, label=f"{instants[at]:.1f} s")
        axes.plot(*shapes[at, 0, :2], "o", color=colour, markersize=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title("the last period")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(fontsize=8, ncols=3, loc="lower center", handlelength=1.0)


def _muscles(axes: Axes, run: xr.Dataset) -> None:
    act = run["act"].values
    reach = np.max(np.abs(act))
    picture = axes.pcolormesh(
        run["instant"].values, run["node"].values, act.T, cmap="RdBu_r", vmin=-reach, vmax=reach, shading="gouraud"
    )
    axes.grid(visible=False)
    axes.figure.colorbar(picture, ax=axes, pad=0.02, label="N m")
    axes.set_title("couple of the muscles about z")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("s [m]")


def _fed_back(axes: Axes, run: xr.Dataset) -> None:
    step, error = 1e3 * run["step"].values, run["fed_back"].values
    axes.loglog(step, error, "o-", color=COLOURS["rod"], markersize=5, label="error")
    axes.loglog(step, error[0] * (step / step[0]) ** 2, "--", color=COLOURS["grey"], label="order 2")
    axes.set_xticks(step, [f"{h:g}" for h in step])
    axes.minorticks_off()
    axes.set_title("stress fed back")
    axes.set_xlabel("step of the forward run [ms]")
    axes.set_ylabel("error of curvature [1/m]")
    legend_above(axes)
