"""The force in the hinge with both schemes, its noise over the minute, paths, iterations, and what long steps damp."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from elver import io
from elver.viz.style import COLOURS, open_axes, style

from .run import EARLY, LATE, LONG_STEPS, amplitude, apart, noise, scheme_damping

LINES = {  # colour and label of each run
    "newmark-loose": (COLOURS["accent"], "Newmark, tolerance 1e-7"),
    "newmark-middle": (COLOURS["gold"], "Newmark, 1e-9"),
    "newmark-tight": (COLOURS["violet"], "Newmark, 1e-12"),
    "alpha-loose": (COLOURS["rod"], "generalized-alpha, 1e-7"),
}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Force, noise, paths, iterations, damping."""
    held = {str(name).split("/")[0] for name in run.data_vars}
    parts = {name: io.part(run, name) for name in (*LINES, "alpha-tight", *LONG_STEPS) if name in held}
    with style():
        figure = plt.figure(figsize=(13.0, 9.6))
        top = figure.add_gridspec(1, 3, left=0.055, right=0.985, bottom=0.60, top=0.95, wspace=0.18)
        low = figure.add_gridspec(1, 3, left=0.055, right=0.985, bottom=0.065, top=0.49, wspace=0.27)
        _force(figure.add_subplot(top[:2]), parts)
        _moment(figure.add_subplot(top[2]), parts)
        _noise(figure.add_subplot(low[0]), parts)
        middle = low[1].subgridspec(2, 1, hspace=0.55)
        _paths(figure.add_subplot(middle[0]), parts)
        _iterations(figure.add_subplot(middle[1]), parts)
        _damping(figure.add_subplot(low[2]), parts, np.atleast_1d(run.attrs["frequencies"]))
        figure.savefig(path)
        plt.close(figure)


def _force(axes: Axes, parts: dict[str, xr.Dataset]) -> None:
    for name in ("newmark-loose", "alpha-loose"):
        colour, label = LINES[name]
        out = parts[name]
        axes.plot(out["time"], out["force"][:, 0], color=colour, linewidth=1.0, label=label, zorder=3)
    out = parts["newmark-loose"]
    end, total = float(out["time"].values[-1]), float(parts["alpha-loose"]["time"].values[-1])
    if end < total:
        axes.axvline(end, color=COLOURS["accent"], linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(f"Newton gives up\nat {end:.1f} s", (end, 0.2), (-6, 0), va="top", ha="right", fontsize=9,
                      textcoords="offset points", color=COLOURS["accent"])  # fmt: skip
    for window in (EARLY, LATE):
        if window[1] <= total:
            axes.axvspan(*window, color=COLOURS["grid"], zorder=0, linewidth=0)
    open_axes(axes, "force in the hinge along x, steps of 10 ms", "N")
    axes.set_xlim(0.0, total)
    axes.set_ylim(-1.3, 0.25)  # the last steps of Newmark go far beyond
    axes.legend(loc="lower left", bbox_to_anchor=(0.12, 0.0), fontsize=9, ncols=2)


def _moment(axes: Axes, parts: dict[str, xr.Dataset]) -> None:
    """A third of a second near the end, with the steps to be seen."""
    total = float(parts["alpha-loose"]["time"].values[-1])
    start = 37.0 if total > 38.0 else total - 1.0
    for name in ("newmark-loose", "alpha-loose"):
        colour, _ = LINES[name]
        out = parts[name].sel(time=slice(start, start + 0.35))
        axes.plot(out["time"], out["force"][:, 0], ".-", color=colour, linewidth=1.2, markersize=5)
    open_axes(axes, "the same, step by step", "N")
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _noise(axes: Axes, parts: dict[str, xr.Dataset]) -> None:
    for name, (colour, label) in LINES.items():
        if name in parts:
            end = float(parts[name]["time"].values[-1])
            starts = np.arange(2.0, end - 2.0 + 1e-9, 1.0)
            axes.semilogy(starts + 1.0, [noise(parts[name], (t, t + 2.0)) for t in starts], color=colour, label=label)
    open_axes(axes, "noise: rms second difference, over 2 s", "N")
    axes.set_ylim(5e-5, 1e2)
    axes.legend(loc="upper left", fontsize=9)


def _paths(axes: Axes, parts: dict[str, xr.Dataset]) -> None:
    for name in ("newmark-loose", "newmark-tight"):
        colour, _ = LINES[name]
        distance = 1e3 * apart(parts[name], parts["alpha-tight"])[1:]
        largest = distance[: distance.size // 50 * 50].reshape(-1, 50).max(axis=1)
        dashes = "-" if name == "newmark-loose" else (0, (3, 2))
        axes.plot(0.5 * np.arange(largest.size) + 0.25, largest, color=colour, linestyle=dashes)
    axes.axhline(1.0, color=COLOURS["ink"], linewidth=0.9, linestyle=(0, (4, 3)))
    open_axes(axes, "P with Newmark, from generalized-alpha", "mm")
    axes.set_ylim(0.0, 2.0)


def _iterations(axes: Axes, parts: dict[str, xr.Dataset]) -> None:
    for name in ("newmark-loose", "newmark-tight", "alpha-loose"):
        colour, _ = LINES[name]
        count = parts[name]["newton_iterations"].values[1:]
        whole = count[: count.size // 100 * 100].reshape(-1, 100).mean(axis=1)
        axes.plot(np.arange(whole.size) + 0.5, whole, color=colour)
    open_axes(axes, "Newton iterations, mean over 1 s", "")
    axes.set_ylim(bottom=0.0)


def _damping(axes: Axes, parts: dict[str, xr.Dataset], frequencies: np.ndarray) -> None:
    """Amplitudes of the two slow vibrations at three steps, with the decay of the amplification matrix."""
    colours = {"alpha-tight": (1e-2, COLOURS["rod"]), "alpha-50ms": (5e-2, COLOURS["gold"]),
               "alpha-100ms": (1e-1, COLOURS["accent"])}  # fmt: skip
    for name, (step, colour) in colours.items():
        for component, (frequency, mark) in enumerate(zip(frequencies, "os")):
            damping, turn = scheme_damping(2.0 * np.pi * frequency * step)
            time, size = amplitude(parts[name], component, turn)
            seen = size > 2e-2 * size[0]
            seen &= np.cumprod(seen).astype(bool)
            axes.semilogy(time[seen], 1e3 * size[seen], mark, color=colour, markersize=4, markerfacecolor="white")
            decay = np.exp(-damping * turn / step * (time - time[0]))
            keep = decay > 1.5e-2
            axes.semilogy(time[keep], 1e3 * size[0] * decay[keep], color=colour, linewidth=1.2)
    open_axes(axes, "generalized-alpha: what long steps damp", "amplitude of P [mm]")
    grey = COLOURS["ink"]
    handles = [Line2D([], [], color=colour, label=f"{1e3 * step:g} ms") for step, colour in colours.values()]
    for mark, frequency, axis in zip("os", frequencies, "xy"):
        handles.append(Line2D([], [], linestyle="none", marker=mark, color=grey, markerfacecolor="white", markersize=5,
                              label=f"{axis}, {frequency:.2f} Hz"))  # fmt: skip
    handles.append(Line2D([], [], color=grey, linewidth=1.2, label="amplification matrix"))
    axes.set_ylim(2e-2, 2e2)
    axes.legend(handles=handles, loc="upper right", ncols=2, fontsize=9)
