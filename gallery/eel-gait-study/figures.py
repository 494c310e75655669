"""Maps of speed and cost over the wave, and three gaits at the same speed."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from elver.cli.folders import folder, load_module
from elver.viz.style import COLOURS, TIME_COLOURS, style

from .run import AMPLITUDE, FREQUENCIES, FREQUENCY, WANTED, khalil, smooth

eel = load_module(folder("gallery") / "khalil-2007-eel", "figures")

COSTS = TIME_COLOURS.reversed()  # dark where it is cheap
MARKS = {"paper": ("o", COLOURS["grey"]), "best": ("*", COLOURS["accent"]), "best within 4 N m": ("D", COLOURS["gold"])}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Over the frequency; over the amplitude; the eels."""
    with style():
        figure = plt.figure(figsize=(13.4, 8.2))
        grid = figure.add_gridspec(2, 2, left=0.055, right=0.655, bottom=0.07, top=0.945, wspace=0.22, hspace=0.34)
        _frequency(figure.add_subplot(grid[0, 0]), run, "speed")
        _frequency(figure.add_subplot(grid[0, 1]), run, "cost")
        _efficiency(figure.add_subplot(grid[1, 0]), run)
        _wanted(figure.add_subplot(grid[1, 1]), run)
        right = figure.add_gridspec(3, 1, left=0.70, right=0.99, bottom=0.05, top=0.92, hspace=0.32)
        for cell, name in zip(right, MARKS, strict=False):
            _gait(figure.add_subplot(cell), run.sel(gait=name), name)
        figure.savefig(path)
        plt.close(figure)


def _frequency(axes: Axes, run: xr.Dataset, name: str) -> None:
    """Speed or cost over wavelength and frequency, from one frequency; points are places with a run of their own."""
    wavelength, amplitude, values = smooth(run, name, 161)
    row = values[:, np.argmin(np.abs(amplitude - AMPLITUDE))]
    frequency = np.geomspace(*FREQUENCIES, 60)
    ratio = frequency[:, None] / FREQUENCY
    if name == "speed":
        values = row * ratio
        levels: Any = [0.1, 0.2, 0.5, 1.0, 2.0]
        _fill(axes, wavelength, frequency, values, levels, TIME_COLOURS, "%g m/s")
        axes.set_title("speed, amplitude of the paper")
    else:
        values = row * ratio**2
        levels = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
        _fill(axes, wavelength, frequency, values, levels, COSTS, "%g")
        axes.set_title("cost of transport, amplitude of the paper")
    axes.plot(run["own/wavelength"], run["own/frequency"], "x", color="white", markersize=6, markeredgewidth=1.6)
    at = run.sel(gait="paper")
    axes.plot(at["gait/wavelength"], FREQUENCY, "o", color=COLOURS["grey"], markeredgecolor="white", markersize=8)
    _log(axes.xaxis, [1.0, 2.0, 3.0, 5.0])
    _log(axes.yaxis, [0.25, 0.5, 1.0, 2.0])
    axes.set_xlabel("wavelength [m]")
    axes.set_ylabel("frequency [Hz]")


def _efficiency(axes: Axes, run: xr.Dataset) -> None:
    x, y, z = smooth(run, "efficiency", 161)
    z = z.T
    _fill(axes, x, y, z, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], TIME_COLOURS, "%g", log=False)
    if z.max() > 1.0:
        beyond = axes.contour(x, y, z, levels=[1.0], colors=[COLOURS["accent"]], linewidths=1.8)
        axes.clabel(beyond, fmt="1: no slip", fontsize=9)
    _finish(axes, "speed over the speed of the wave")


def _wanted(axes: Axes, run: xr.Dataset) -> None:
    x, y, z = smooth(run, "wanted/cost", 161)
    z = z.T
    _fill(axes, x, y, z, [0.006, 0.007, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05], COSTS, "%g")
    torque = smooth(run, "wanted/torque", 161)[2].T
    if torque.min() < 4.0 < torque.max():
        limit = axes.contour(x, y, torque, levels=[4.0], colors=[COLOURS["gold"]], linewidths=1.8)
        axes.clabel(limit, fmt="4 N m", fontsize=9)
    for name, (marker, colour) in MARKS.items():
        at = run.sel(gait=name)
        axes.plot(
            at["gait/wavelength"], at["gait/amplitude"], marker, color=colour, markeredgecolor="white",
            markersize=15 if marker == "*" else 8, clip_on=False, zorder=5,
        )  # fmt: skip
    _finish(axes, f"cost of transport at {WANTED:g} m/s")


def _gait(axes: Axes, run: xr.Dataset, name: str) -> None:
    """One period of a gait, seen from above, a quarter of a period apart."""
    marker, colour = MARKS[name]
    lines = run["gait/lines"].values[:3]
    for k, line in enumerate(lines):
        eel.draw_eel(axes, line - (0.0, 0.62 * k), khalil.HALF_AXES[0], TIME_COLOURS(0.15 + 0.35 * k), zorder=3.0 + k)
    axes.set_xlim(-0.98, 2.16)
    axes.set_ylim(-1.55, 0.3)
    axes.set_aspect("equal", adjustable="box", anchor="W")
    axes.set_axis_off()
    top = 1.16
    size = 13 if marker == "*" else 8
    axes.plot(0.02, top, marker, color=colour, markersize=size, transform=axes.transAxes, clip_on=False)
    axes.text(
        0.06,
        top,
        f"{name}, at {WANTED:g} m/s",
        transform=axes.transAxes,
        fontsize=11,
        fontweight="bold",
        va="center_baseline",
    )
    wave = f"{float(run['gait/wavelength']):.2f} m, {float(run['gait/frequency']):.2f} Hz"
    cost = f"cost {float(run['gait/cost']):.4f}, torque {float(run['gait/torque']):.1f} N m"
    text = f"{wave}, {float(run['gait/amplitude']):.3f} rad: {cost}"
    axes.text(0.0, top - 0.125, text, transform=axes.transAxes, fontsize=9, va="center_baseline")


def _fill(
    axes: Axes, x: np.ndarray, y: np.ndarray, z: np.ndarray, levels: Any, colours: Any, label: str, log: bool = True
) -> None:
    """A smooth map with labelled lines at ``levels``."""
    norm = LogNorm(z.min(), z.max()) if log else plt.Normalize(z.min(), z.max())
    steps = np.geomspace(z.min(), z.max(), 48) if log else np.linspace(z.min(), z.max(), 48)
    filled = axes.contourf(x, y, z, levels=steps, cmap=colours, norm=norm, extend="both")
    filled.set_edgecolor("face")
    inside = [level for level in levels if z.min() < level < z.max()]
    lines = axes.contour(x, y, z, levels=inside, colors="white", linewidths=0.9)
    axes.clabel(lines, fmt=label, fontsize=8.5)
    axes.grid(False)


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title)
    _log(axes.xaxis, [1.0, 2.0, 3.0, 5.0])
    axes.set_xlabel("wavelength [m]")
    axes.set_ylabel("amplitude [rad]")


def _log(axis: Any, ticks: list[float]) -> None:
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
