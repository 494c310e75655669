"""Snapshots of the benches with the reference points on them, what is conserved, and how long it takes."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import FixedLocator
from scipy.interpolate import CubicSpline

from elver import io
from elver.viz.style import COLOURS, TIME_COLOURS, style

from .run import FLIGHTS, SOFT_TIPS, STIFF_TIPS, TABLE


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes in time with the references as circles, energies, and the times of Table 3.1 beside ours."""
    with style():
        figure = plt.figure(figsize=(13.0, 10.2))
        top = figure.add_gridspec(1, 3, left=0.055, right=0.985, bottom=0.675, top=0.96, wspace=0.3)
        middle = figure.add_gridspec(1, 2, left=0.055, right=0.985, bottom=0.40, top=0.57, wspace=0.16)
        low = figure.add_gridspec(1, 2, left=0.055, right=0.985, bottom=0.06, top=0.285, wspace=0.28)

        soft, stiff = io.part(run, "soft-cantilever"), io.part(run, "stiff-cantilever")
        for cell, part, title, step, tips in (
            (top[0], soft, "soft cantilever, 50 N let go", 0.5, SOFT_TIPS),
            (top[1], stiff, "stiff cantilever, 0.4 N let go", 0.05, STIFF_TIPS),
        ):
            axes = figure.add_subplot(cell)
            instants = np.arange(0.0, part["time"].values[-1] + 1e-9, step)
            _snapshots(axes, part, title, (1, 0), instants)
            _marks(axes, [(y, x) for t, (x, y) in tips.items() if t <= part["time"].values[-1]])
            axes.invert_yaxis()
            axes.set_xlabel("across [m]")
            axes.set_ylabel("down [m]")
        _energies(figure.add_subplot(top[2]), run)

        for k, case in enumerate("ab"):
            axes = figure.add_subplot(middle[k])
            flight = io.part(run, f"soft-flying-{case}")
            _snapshots(axes, flight, f"soft rod in flight ({case})", (0, 1), np.arange(0.0, 10.1, 0.5))
            base, tip, _ = FLIGHTS[case]
            _marks(axes, [base[:2], tip[:2]])
            axes.set_xlabel("x [m]")
            axes.set_ylabel("y [m]")
        axes = figure.add_subplot(low[0])
        _snapshots(axes, io.part(run, "stiff-flying"), "stiff rod in flight", (0, 2), np.arange(0.0, 5.1, 0.25))
        _marks(axes, [(0.126, 0.489), (0.973, 0.364)])
        axes.set_xlabel("x [m]")
        axes.set_ylabel("z [m]")
        _times(figure.add_subplot(low[1]), run)
        figure.savefig(path)
        plt.close(figure)


def _snapshots(axes: Axes, run: xr.Dataset, title: str, plane: tuple[int, int], instants: np.ndarray) -> None:
    """Centre lines at many instants, early light, late dark."""
    time, s = run["time"].values, run["rod/s"].values
    instants = instants[instants <= time[-1] + 1e-9]
    shade = Normalize(instants[0], instants[-1])
    fine = np.linspace(s[0], s[-1], 120)
    for instant in instants:
        points = run["rod/position"].values[int(np.argmin(np.abs(time - instant)))]
        line = CubicSpline(s, points)(fine)
        axes.plot(line[:, plane[0]], line[:, plane[1]], color=TIME_COLOURS(shade(instant)), linewidth=1.6)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.06)
    axes.set_title(title, loc="left")
    bar = axes.figure.colorbar(ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.8, aspect=24, pad=0.02)
    bar.set_label("time [s]")
    bar.outline.set_visible(False)


def _marks(axes: Axes, points: list[tuple[float, ...]]) -> None:
    for x, y in points:
        axes.plot(
            x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, markeredgewidth=1.5, zorder=5
        )


def _energies(axes: Axes, run: xr.Dataset) -> None:
    """Largest energy change so far, after the last load, relative to what moves."""
    cases = (
        ("stiff-flying", 0.5, "stiff flight", "accent"),
        ("soft-cantilever", 0.0, "soft cantilever", "rod"),
        ("soft-flying-a", 5.0, "soft flight (a)", "violet"),
        ("soft-flying-b", 5.0, "soft flight (b)", "gold"),
    )
    for name, after, label, colour in cases:
        part = io.part(run, name)
        time, energy = part["time"].values, part["energy/total"].values
        free = time > after + 1e-9
        scale = max(part["energy/kinetic"].values.max(), 1e-30)
        change = np.maximum.accumulate(np.abs(energy[free] - energy[free][0]))[1:] / scale
        axes.semilogy(time[free][1:], np.maximum(change, 1e-8), color=COLOURS[colour], label=label)
    axes.set_title("energy: largest change so far")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("of the largest kinetic energy")
    axes.set_ylim(1e-7, 1e-1)
    axes.legend(loc="upper right", fontsize=9, ncols=2)


def _times(axes: Axes, run: xr.Dataset) -> None:
    """Table 3.1 with ours: one row per bench."""
    rows = {
        "soft-flying": "soft-flying-a",
        "stiff-flying": "stiff-flying",
        "soft-cantilever": "soft-cantilever",
        "stiff-cantilever": "stiff-cantilever",
    }
    marks = {"shooting": "s", "PyElastica": "D", "explicit modes": "^", "SoRoSim": "v", "thesis": "o"}
    for method, mark in marks.items():
        values = [TABLE[method][name] for name in rows]
        colour = COLOURS["ink"] if method == "thesis" else COLOURS["grey"]
        axes.plot(values, range(len(rows)), mark, color=colour, markersize=6, label=method)
    ours = [float(io.part(run, part).attrs["computing_per_simulated_time"]) for part in rows.values()]
    axes.plot(ours, range(len(rows)), "o", color=COLOURS["accent"], markersize=8, label="elver")
    axes.axvline(1.0, color=COLOURS["ink"], linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_xlim(4e-3, 2e4)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.yaxis.set_major_locator(FixedLocator(list(range(len(rows)))))
    axes.set_yticklabels([name.replace("-", " ") for name in rows])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("computing time / simulated time (left of the dashes: faster than real time)")
    axes.set_title("computing times: Table 3.1 and elver here", pad=24)
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.03, 0.98), ncols=6, fontsize=9, handlelength=1.0, handletextpad=0.3,
        columnspacing=0.9,
    )  # fmt: skip
