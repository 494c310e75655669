"""The run that dies, where its unrest is born, the ringing, the growth of one shoot, and the law of the step."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy.ndimage import maximum_filter1d

from elver.viz.style import COLOURS, legend_above, open_axes, style

from .run import GROWTH, Case

EVERY, APART = 15e-3, 0.088  # s between two shapes, m between their clamps
GLOW = LinearSegmentedColormap.from_list("glow", ["#cfe3e4", "#12858f", "#6a5acd", "#e4572e"])
MARKS = {"k": ("o", "rod", "stiffness k"), "mu": ("s", "gold", "mass μ"), "l": ("D", "violet", "length l")}
LINES = {
    "dies": ("accent", "0.5 ms, 30 intervals"),
    "hybrid_run": ("gold", "0.5 ms, 30, hybrid"),
    "later": ("violet", "0.25 ms, 60"),
    "lives": ("rod", "0.25 ms, 240"),
}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Fig. 3b above, the laws below."""
    with style():
        figure = plt.figure(figsize=(12.8, 8.2))
        shade = LogNorm(1e6, 1e9, clip=True)
        _shapes(figure.add_axes((0.06, 0.55, 0.52, 0.39)), run, shade)
        _along(figure, figure.add_axes((0.655, 0.55, 0.33, 0.385)), run, shade)
        _ringing(figure.add_axes((0.06, 0.07, 0.255, 0.36)), run)
        _growth(figure.add_axes((0.395, 0.07, 0.255, 0.36)), run)
        _law(figure.add_axes((0.73, 0.07, 0.255, 0.36)), run)
        figure.savefig(path)
        plt.close(figure)


def _shapes(axes: Axes, run: xr.Dataset, shade: LogNorm) -> None:
    """Shapes every 15 ms as in fig. 3b, coloured by the second rate of the curvature."""
    shape, time, fast = run["dies/shape"].values, run["dies/time"].values, _ringing_of(run)
    step = time[1] - time[0]
    chosen = np.unique([*np.arange(0.008, time[-1] - 0.004, EVERY), time[-2]] // step).astype(int)
    for k, at in enumerate(chosen):
        points = shape[at] + (APART * k, 0.0)
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        lines = LineCollection(list(pieces), cmap=GLOW, norm=shade, linewidths=4.0, capstyle="round", zorder=3)
        lines.set_array(0.5 * (fast[at, :-1] + fast[at, 1:]))
        axes.add_collection(lines)
    axes.axhline(0.0, color=COLOURS["steel"], linewidth=4.0)
    axes.set_xlim(-0.06, APART * (len(chosen) - 1) + 0.06)
    axes.set_ylim(-0.42, 0.03)
    axes.set_aspect("equal", adjustable="box", anchor="NW")
    axes.set_xticks(APART * np.arange(len(chosen)), [f"{1e3 * time[at]:.0f}" for at in chosen])
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("z [m]")
    axes.grid(visible=False)
    axes.set_title("a run with steps of 0.5 ms dies from its tip")


def _ringing_of(run: xr.Dataset) -> np.ndarray:
    """|K̈| (T, nodes), the largest of ten steps, since it changes sign from step to step."""
    return np.asarray(maximum_filter1d(np.abs(run["dies/second_rate"].values), 10, axis=0))


def _along(figure: Figure, axes: Axes, run: xr.Dataset, shade: LogNorm) -> None:
    """The same over s and time."""
    time, s = run["dies/time"].values, run["dies/node"].values
    image = axes.pcolormesh(
        1e3 * time, s, _ringing_of(run).T, cmap=GLOW, norm=shade, shading="nearest", rasterized=True
    )
    bar = figure.colorbar(image, ax=axes, pad=0.03, aspect=28)
    bar.set_label(r"$|\ddot K|$ [1/(m s²)]")
    bar.outline.set_visible(False)
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("s [m], tip above")
    axes.grid(visible=False)
    axes.set_title("second rate of its curvature")


def _ringing(axes: Axes, run: xr.Dataset) -> None:
    for name, (colour, label) in LINES.items():
        if f"{name}/ringing" not in run:
            continue
        time, ringing = run[f"{name}/time"].values[1:], run[f"{name}/ringing"].values[1:]
        axes.semilogy(time, ringing, color=COLOURS[colour], linewidth=1.3, label=label)
        if name in ("dies", "later"):
            axes.plot(time[-1], ringing[-1], "x", color=COLOURS[colour], markersize=8, markeredgewidth=2.2)
    open_axes(axes, "ringing", r"largest $L\ddot K$ [1/s²]")
    axes.set_xlim(0.0, 0.22)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.03), fontsize=8.5, handlelength=1.2)


def _growth(axes: Axes, run: xr.Dataset) -> None:
    tau = Case().tau
    root = np.sqrt(tau / run["step"].values)
    axes.semilogy(root, run["growth"].values, color=COLOURS["rod"], label="ours")
    axes.semilogy(root, np.exp(root), color=COLOURS["grey"], linestyle="--", linewidth=1.3, label="exp √(τ/Δt)")
    listed = np.array(list(GROWTH))
    axes.plot(np.sqrt(tau / listed), list(GROWTH.values()), "o", color="white", markeredgecolor=COLOURS["accent"],
              markersize=5.5, label="reference", zorder=5)  # fmt: skip
    axes.axhline(1e13, color=COLOURS["ink"], linewidth=0.9, linestyle=":")
    axes.text(1.5, 2.2e13, "no digit left", fontsize=8.5, va="bottom")
    axes.set_ylim(1.0, 1e15)
    axes.set_title("one shoot")
    axes.set_xlabel("√(τ/Δt)")
    axes.set_ylabel("norm of its Jacobian")
    legend_above(axes)


def _law(axes: Axes, run: xr.Dataset) -> None:
    """Critical step over τ; the paper's window is for its rod and its solver."""
    cases, tau, step = run["case"].values, run["tau"].values, run["critical"].values
    wide = np.array([tau.min() / 1.8, tau.max() * 1.8])
    chi = step[0] / tau[0]
    axes.loglog(1e3 * wide, 1e3 * chi * wide, color=COLOURS["grey"], linestyle="--", linewidth=1.3, zorder=1)
    axes.text(
        1e3 * wide[1], 1e3 * chi * wide[1] * 0.45, f"τ/{1 / chi:.0f}", color=COLOURS["grey"], ha="right", va="top"
    )
    axes.plot(2 * [1e3 * tau[0]], (0.5, 1.0), color=COLOURS["shadow"], linewidth=9, solid_capstyle="butt",
              label="paper", zorder=0)  # fmt: skip
    for name, (mark, colour, label) in MARKS.items():
        mine = [k for k, case in enumerate(cases) if str(case).startswith(f"{name} ")]
        if mine:
            style_of = (
                {"markersize": 8} if name != "k" else {"markersize": 14, "fillstyle": "none", "markeredgewidth": 1.8}
            )
            axes.plot(1e3 * tau[mine], 1e3 * step[mine], mark, color=COLOURS[colour], label=label, **style_of)
    axes.plot(1e3 * tau[0], 1e3 * step[0], "*", color=COLOURS["accent"], markersize=13, zorder=5)
    if "fine" in run:
        axes.plot(1e3 * tau[0], 1e3 * run["hybrid"].item(), "P", color=COLOURS["accent"], markersize=8, label="hybrid")
        axes.plot(1e3 * tau[0], 1e3 * run["fine"].item(), "*", color="white", markeredgecolor=COLOURS["accent"],
                  markersize=11, label="60 intervals", zorder=5)  # fmt: skip
        axes.plot(1e3 * tau[0], 1e3 * run["nodes_only/full"].item(), "v", color=COLOURS["ink"], markersize=7,
                  label="rates at nodes")  # fmt: skip
    for axis, ticks in ((axes.xaxis, (10, 20, 50, 100, 200, 500)), (axes.yaxis, (0.1, 0.2, 0.5, 1, 2, 5))):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    axes.set_title("critical step")
    axes.set_xlabel("τ = L²√(ρA/EI) [ms]")
    axes.set_ylabel("Δt_c [ms]")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, 1.02), fontsize=8.5, handlelength=1.0)
