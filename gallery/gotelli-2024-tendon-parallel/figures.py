"""The robot at work, what its sensors miss beside the thesis' tables, tensions out of efforts, and the energy."""

from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import FancyBboxPatch
from matplotlib.transforms import Affine2D

from elver import io
from elver.viz.style import COLOURS, TIME_COLOURS, legend_above, open_axes, style

from .run import CASES, DISTANCE, SPREAD, TABLES, balance, outputs, pulled, spreads

IMPOSED = {"A": "the rods", "B": "the joints", "C": "joint 1, rod 6"}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """The wide motion in space; errors with noisy sensors; tensions from efforts; energies."""
    wide, exact = io.part(run, "wide"), io.part(run, "wide-exact")
    with style():
        figure = plt.figure(figsize=(13.0, 9.4))
        top = figure.add_gridspec(
            1, 2, left=0.05, right=0.985, bottom=0.53, top=0.95, wspace=0.16, width_ratios=[1.0, 1.1]
        )
        low = figure.add_gridspec(1, 3, left=0.05, right=0.98, bottom=0.07, top=0.41, wspace=0.24)
        _robot(figure.add_subplot(top[0]), wide)
        _table(figure.add_subplot(top[1]), run)

        axes = figure.add_subplot(low[0])
        truth = outputs(wide)
        for case, name, colour in (("A", "q_1", "accent"), ("A", "q_4", "gold"), ("C", "q_4", "violet")):
            found = outputs(io.part(run, f"wide-{case}"))
            label = f"{case}: {'joint 1' if name == 'q_1' else 'joint 4'}"
            axes.plot(wide["time"], found[name] - truth[name], color=COLOURS[colour], label=label, linewidth=1.3)
        open_axes(axes, "errors", "angle, noisy sensors [degrees]")
        legend_above(axes)

        axes = figure.add_subplot(low[1])
        time = wide["time"].values
        tension = {c: wide["inputs"].sel(input=f"cable{c}").values for c in (1, 2, 3, 4)}
        noisy = io.part(run, "wide-A")
        axes.plot(time, pulled(noisy, "rod3"), color=COLOURS["gold"], linewidth=1.0, label="noisy")
        axes.plot(time, tension[2] - tension[1], color=COLOURS["rod"], label="pulled")
        marks = slice(None, None, 20)
        _circles(axes, time[marks], pulled(exact, "rod3")[marks], label="from effort")
        open_axes(axes, "tensions", "cable 2 - cable 1 [N]")
        legend_above(axes)

        axes = figure.add_subplot(low[2])
        energy = balance(wide)
        axes.plot(time, 1e3 * energy["work"], color=COLOURS["ink"], label="work of cables")
        axes.plot(time, 1e3 * energy["stored"], color=COLOURS["rod"], label="stored")
        axes.plot(time, 1e3 * energy["lost"], color=COLOURS["accent"], label="lost")
        open_axes(axes, "energy", "energy [mJ]")
        legend_above(axes)
        figure.savefig(path)
        plt.close(figure)


def _robot(axes: Axes, run: xr.Dataset) -> None:
    """Limbs over one sweep from side to side, early light, late dark; bodies, joints and the way of the platform."""
    time = run["time"].values
    instants = np.linspace(np.pi, min(2.0 * np.pi, time[-1]), 9)
    shade = Normalize(instants[0], instants[-1])
    for instant in instants:
        k, colour = int(np.argmin(np.abs(time - instant))), TIME_COLOURS(shade(instant))
        for rod in ("rod3", "rod6"):
            line = run[f"{rod}/position"].values[k]
            axes.plot(line[:, 0], line[:, 1], color=colour, linewidth=2.2)
        for x, q in ((0.0, 0), (DISTANCE, 3)):
            _body(axes, x, float(run["q"].values[k, q]), colour)
    for x in (0.0, DISTANCE):
        axes.plot(
            x, 0.0, "o", color="white", markeredgecolor=COLOURS["ink"], markersize=9, markeredgewidth=1.6, zorder=6
        )
    way = run["platform/position"].values
    axes.plot(way[:, 0], way[:, 1], color=COLOURS["accent"], linewidth=1.6, zorder=7)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.06)
    axes.set_title("the wide motion, from side to side")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.annotate(
        "way of the platform", way[0, :2], xytext=(-92, 6), textcoords="offset points", color=COLOURS["accent"],
        fontsize=9,
    )  # fmt: skip
    bar = axes.figure.colorbar(ScalarMappable(shade, TIME_COLOURS), ax=axes, shrink=0.75, aspect=26, pad=0.02)
    bar.set_label("time [s]")
    outline: Any = bar.outline
    outline.set_visible(False)


def _body(axes: Axes, x: float, angle: float, colour: Any) -> None:
    box = FancyBboxPatch((-0.028, -0.011), 0.056, 0.022, boxstyle="round,pad=0,rounding_size=0.006")
    box.set(facecolor=colour, edgecolor="white", linewidth=0.8, alpha=0.85, zorder=5)
    box.set_transform(Affine2D().rotate(angle).translate(x, 0.0) + axes.transData)
    axes.add_patch(box)


def _table(axes: Axes, run: xr.Dataset) -> None:
    """Root mean squares of ours and standard deviations of the thesis; angles as arcs of 10 cm to share one axis."""
    rows, ticks, labels = 0, [], []
    for case in CASES:
        ours = {pull: spreads(io.part(run, pull), io.part(run, f"{pull}-{case}"), case) for pull in ("gentle", "wide")}
        heading = f"{case}: {IMPOSED[case]} imposed ({TABLES[case]})"
        axes.text(2.4e-6, rows - 0.9, heading, fontsize=9.5, fontweight="bold", va="center")
        for name, spread in SPREAD[case].items():
            scale = np.radians(0.1) if name.startswith("q") else 1.0
            values = [spread * scale, *(ours[pull][name] * scale for pull in ours)]
            axes.plot([min(values), max(values)], [rows, rows], color=COLOURS["grid"], linewidth=2.5, zorder=1)
            first = not ticks
            axes.plot(values[0], rows, "D", color=COLOURS["grey"], markersize=5.5, label="thesis" if first else None)
            axes.plot(values[2], rows, "o", color=COLOURS["accent"], markersize=6.5, label="wide" if first else None)
            axes.plot(
                values[1], rows, "o", color="white", markeredgecolor=COLOURS["rod"], markeredgewidth=1.6,
                markersize=5.5, label="gentle" if first else None,
            )  # fmt: skip
            ticks.append(rows)
            labels.append(f"${name[0]}_{{{name[2:]}}}$")
            rows += 1
        rows += 2
    axes.set_xscale("log")
    axes.set_xlim(2e-6, 4e-2)
    axes.set_ylim(rows - 1.6, -1.8)
    axes.set_yticks(ticks, labels, fontsize=9)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("error [m]; angles as arcs of 0.1 m")
    axes.set_title("noisy sensors: spread of the thesis and ours")
    legend_above(axes)


def _circles(axes: Axes, x: np.ndarray, y: np.ndarray, label: str) -> None:
    axes.plot(x, y, "o", color="white", markeredgecolor=COLOURS["accent"], markersize=5, label=label, zorder=5)
