"""The soft rod swinging, its tip by all schemes, the steel rod beside its references, and what the step costs."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from elver import viz
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

from .run import SOFT_TIP, STEEL_TIP

SHAPES = 21  # of the soft rod, in the time below
SHOWN = 0.5  # s


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Fig. 4 left, fig. 3a above right, and differences."""
    with style():
        figure = plt.figure(figsize=(12.8, 8.0))
        _fan(figure, figure.add_axes((0.055, 0.545, 0.395, 0.40)), run)
        _soft_tip(figure.add_axes((0.055, 0.065, 0.395, 0.375)), run)
        _steel_tip(figure.add_axes((0.535, 0.68, 0.45, 0.265)), run)
        _steel_energy(figure.add_axes((0.535, 0.385, 0.45, 0.19)), run)
        _against(figure.add_axes((0.535, 0.065, 0.195, 0.215)), run)
        _order(figure.add_axes((0.79, 0.065, 0.195, 0.215)), run)
        figure.savefig(path)
        plt.close(figure)


def animate(run: xr.Dataset, path: str | os.PathLike[str], still: str | os.PathLike[str]) -> None:
    """The soft rod, four times slower."""
    viz.animate(run, path, still=still, still_time=0.375, speed=0.25, view=(10.0, -12.0), title="let go")


def _fan(figure: Figure, axes: Axes, run: xr.Dataset) -> None:
    """Shapes of the first half second."""
    time, shapes = run["time"].values, run["arm/position"].values
    tip = shapes[time <= SHOWN + 1e-9, -1]
    axes.plot(tip[:, 1], tip[:, 2], color=COLOURS["accent"], linewidth=1.2, zorder=1)
    for k, t in enumerate(np.linspace(0.0, SHOWN, SHAPES)):
        at = int(np.argmin(np.abs(time - t)))
        colour = TIME_COLOURS(k / (SHAPES - 1))
        axes.plot(shapes[at, :, 1], shapes[at, :, 2], color=colour, linewidth=2.4 if k else 3.2, zorder=2 + k)
        axes.plot(*shapes[at, -1, 1:], "o", color=colour, markersize=3.5, zorder=2 + k)
    marks = np.array([xy for t, xy in SOFT_TIP.items() if t <= SHOWN])
    if time[1] - time[0] < 3e-3:
        axes.plot(
            marks[:, 1], -marks[:, 0], "o", color="white", markeredgecolor=COLOURS["accent"], markersize=7, zorder=40
        )
    axes.plot((-0.05, 0.05), (0.0, 0.0), color=COLOURS["steel"], linewidth=6, solid_capstyle="butt", zorder=50)
    axes.set_xlim(-0.41, 0.41)
    axes.set_ylim(-0.425, 0.045)
    axes.set_aspect("equal", adjustable="box", anchor="NW")
    axes.set_xlabel("y [m]")
    axes.set_ylabel("z [m]")
    axes.set_title("soft rod, 0.4 N at its tip let go")
    inset = axes.inset_axes((0.62, 0.945, 0.35, 0.025))
    bar = figure.colorbar(ScalarMappable(Normalize(0.0, SHOWN), TIME_COLOURS), cax=inset, orientation="horizontal")
    bar.set_ticks([0.0, SHOWN], labels=["0", f"{SHOWN:g} s"])
    bar.outline.set_visible(False)


def _soft_tip(axes: Axes, run: xr.Dataset) -> None:
    last = _soft_steps(run)[-1]
    time = run[f"soft/{last}"].values
    for k, (name, colour) in enumerate((("x", "rod"), ("y", "violet"))):
        axes.plot(time, run["soft/modes"].values[:, k], color=COLOURS["shadow"], linewidth=5.0,
                  label="modes" if k else None)  # fmt: skip
        axes.plot(time, run[f"soft/full/{last}"].values[:, k], color=COLOURS[colour], label=name)
        axes.plot(time, run[f"soft/hybrid/{last}"].values[:, k], ":", color=COLOURS["ink"], linewidth=1.4,
                  label="hybrid" if k else None)  # fmt: skip
    if last == "2.5ms":
        for k in (0, 1):
            axes.plot(list(SOFT_TIP), [xy[k] for xy in SOFT_TIP.values()], "o", color="white", clip_on=False,
                      markeredgecolor=COLOURS["accent"], markersize=5, zorder=5)  # fmt: skip
    open_axes(axes, f"soft tip, {last.replace('ms', ' ms')}", "x down, y [m]")
    legend_above(axes)


def _steel_tip(axes: Axes, run: xr.Dataset) -> None:
    time = run["steel/time"].values
    axes.plot(time, 1e3 * run["steel/modes"].values, color=COLOURS["shadow"], linewidth=5.0, label="modes")
    axes.plot(time, 1e3 * run["steel/full"].values, color=COLOURS["rod"], label="full")
    axes.plot(time, 1e3 * run["steel/hybrid"].values, ":", color=COLOURS["ink"], linewidth=1.4, label="hybrid")
    marks = {t: y for t, y in STEEL_TIP.items() if t <= time[-1] + 1e-9}
    axes.plot(list(marks), [1e3 * y for y in marks.values()], "o", color="white", markeredgecolor=COLOURS["accent"],
              markersize=5.5, clip_on=False, zorder=5, label="reference")  # fmt: skip
    open_axes(axes, "steel rod, tendon of 15 N cut", "tip y [mm]")
    legend_above(axes)


def _steel_energy(axes: Axes, run: xr.Dataset) -> None:
    time = run["steel/time"].values
    parts = [1e3 * run[f"steel/energy/{name}"].values for name in ("elastic", "kinetic", "gravity")]
    axes.stackplot(time, *parts, colors=[COLOURS["rod"], COLOURS["accent"], COLOURS["gold"]], alpha=0.55, linewidth=0,
                   labels=["elastic", "kinetic", "gravity"])  # fmt: skip
    axes.plot(time, 1e3 * run["steel/energy/total"].values, color=COLOURS["ink"], linewidth=1.2)
    axes.set_ylim(bottom=0.0)
    open_axes(axes, "its energy", "[mJ]")
    legend_above(axes)


def _against(axes: Axes, run: xr.Dataset) -> None:
    """How far hybrid is from full."""
    for step, colour in zip(_soft_steps(run), ("gold", "violet", "rod"), strict=False):
        off = run[f"soft/hybrid/{step}"].values - run[f"soft/full/{step}"].values
        axes.plot(run[f"soft/{step}"].values, 1e3 * np.linalg.norm(off, axis=1), color=COLOURS[colour],
                  linewidth=1.4, label=step.replace("ms", " ms"))  # fmt: skip
    open_axes(axes, "soft: hybrid against full", "tips apart [mm]")
    axes.legend(loc="upper left", fontsize=8.5, handlelength=1.0)


def _order(axes: Axes, run: xr.Dataset) -> None:
    """What halving the step changes: sudden and faded release."""
    steps = _soft_steps(run)
    for one, other, colour in zip(steps[:-1], steps[1:], ("gold", "violet"), strict=False):
        off = run[f"soft/full/{one}"].values - run[f"soft/full/{other}"].values[::2]
        inside = run[f"soft/{one}"].values <= SHOWN + 1e-9
        label = f"{one.removesuffix('ms')} to {other.removesuffix('ms')} ms"
        axes.semilogy(run[f"soft/{one}"].values[inside][1:], 1e3 * np.linalg.norm(off, axis=1)[inside][1:], ":",
                      color=COLOURS[colour], linewidth=1.5)  # fmt: skip
        name = "far" if one == "10ms" else "near"
        axes.semilogy(run[f"faded/{name}/time"].values[1:], run[f"faded/{name}"].values[1:], color=COLOURS[colour],
                      linewidth=1.6, label=label)  # fmt: skip
    open_axes(axes, "soft: half the step", "tips apart [mm]")
    if len(steps) > 1:
        axes.set_ylim(5e-2, 3e2)
        axes.legend(loc="upper left", fontsize=8.5, handlelength=1.0, title="faded; dotted: sudden", title_fontsize=8.5)
    else:
        axes.text(0.5, 0.5, "in the full run", ha="center", transform=axes.transAxes, color=COLOURS["grey"])


def _soft_steps(run: xr.Dataset) -> list[str]:
    """Steps of the soft runs as in their names, longest first."""
    return [step for step in ("10ms", "5ms", "2.5ms") if f"soft/full/{step}" in run]
