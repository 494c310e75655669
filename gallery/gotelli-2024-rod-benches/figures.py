"""Snapshots of the four benches with the reference points on them, and what is conserved."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from scipy.interpolate import CubicSpline

from elver import io
from elver.viz.style import COLOURS, TIME_COLOURS, style

from .run import FLIGHTS, SOFT_TIPS, STIFF_TIPS


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Shapes in time, tips and ends from the references as circles, energies."""
    with style():
        figure, panels = plt.subplots(2, 3, figsize=(13.6, 8.4), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12)  # type: ignore[union-attr]
        soft, stiff = io.part(run, "soft-cantilever"), io.part(run, "stiff-cantilever")
        _snapshots(panels[0, 0], soft, "soft cantilever, 50 N let go", (1, 0), np.arange(0.0, 10.1, 0.5))
        _marks(panels[0, 0], [(y, x) for t, (x, y) in SOFT_TIPS.items() if t <= soft["time"].values[-1]])
        _snapshots(panels[0, 1], stiff, "stiff cantilever, 0.4 N let go", (1, 0), np.arange(0.0, 1.01, 0.05))
        _marks(panels[0, 1], [(y, x) for t, (x, y) in STIFF_TIPS.items() if t <= stiff["time"].values[-1]])
        for axes in panels[0, :2]:
            axes.invert_yaxis()
            axes.set_xlabel("across [m]")
            axes.set_ylabel("down [m]")

        flights = (("a", panels[0, 2]), ("b", panels[1, 0]))
        for case, axes in flights:
            flight = io.part(run, f"soft-flying-{case}")
            _snapshots(axes, flight, f"soft rod in flight ({case})", (0, 1), np.arange(0.0, 10.1, 0.5))
            base, tip, _ = FLIGHTS[case]
            _marks(axes, [base[:2], tip[:2]])
            axes.set_xlabel("x [m]")
            axes.set_ylabel("y [m]")
        flight = io.part(run, "stiff-flying")
        _snapshots(panels[1, 1], flight, "stiff rod in flight", (0, 2), np.arange(0.0, 5.1, 0.25))
        _marks(panels[1, 1], [(0.126, 0.489), (0.973, 0.364)])
        panels[1, 1].set_xlabel("x [m]")
        panels[1, 1].set_ylabel("z [m]")
        _energies(panels[1, 2], run)
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
    bar = axes.figure.colorbar(ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.5, aspect=24, pad=0.02)
    bar.set_label("time [s]")
    bar.outline.set_visible(False)


def _marks(axes: Axes, points: list[tuple[float, ...]]) -> None:
    for x, y in points:
        axes.plot(
            x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=6, markeredgewidth=1.5, zorder=5
        )


def _energies(axes: Axes, run: xr.Dataset) -> None:
    """Energy change after the last load, relative to what moves."""
    cases = (
        ("soft-cantilever", 0.0, "soft cantilever", "rod"),
        ("soft-flying-a", 5.0, "soft flight (a)", "violet"),
        ("soft-flying-b", 5.0, "soft flight (b)", "gold"),
        ("stiff-flying", 0.5, "stiff flight", "accent"),
    )
    for name, after, label, colour in cases:
        part = io.part(run, name)
        time, energy = part["time"].values, part["energy/total"].values
        free = time > after + 1e-9
        scale = max(part["energy/kinetic"].values.max(), 1e-30)
        change = np.abs(energy[free] - energy[free][0])[1:] / scale
        axes.semilogy(time[free][1:], np.maximum(change, 1e-8), color=COLOURS[colour], linewidth=1.0, label=label)
    axes.set_title("energy error", loc="left")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("|change| / largest kinetic energy")
    axes.set_ylim(1e-7, 1e-1)
    axes.legend(loc="upper right", fontsize=8, ncols=2)
