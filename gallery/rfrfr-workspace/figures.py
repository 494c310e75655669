"""Two maps of the same places: which of them stand by themselves, with angles imposed and with torques held."""

from __future__ import annotations

import os
import warnings

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import elver as ev
from elver.viz.style import COLOURS, style

from . import run as model

LEVELS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # N/m
SHAPES = {"angles": [(0.0, 0.85), (-0.55, 0.3), (0.52, -0.32)], "torques": [(0.0, 0.85), (-0.38, 0.5), (0.5, -0.15)]}
TITLES = {"angles": "base angles imposed", "torques": "base torques held"}


def draw(run: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Stability by colour over all places of the hinge, with the robot in some of them."""
    with style():
        figure, panels = plt.subplots(1, 2, figsize=(10.6, 6.6), layout="constrained", sharey=True)
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.16)  # type: ignore[union-attr]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ev.ElverWarning)  # a planar loop says twice that it is flat
            for axes, name, drive in zip(panels, ("angles", "torques"), (ev.Imposed, ev.Motor), strict=True):
                ev.draw_workspace(
                    _map(run, name),
                    axes=axes,
                    system=model.robot(drive, int(run.attrs["functions"])),
                    shapes=SHAPES[name],
                    levels=LEVELS,
                    bar=axes is panels[1],
                )
                axes.set_title(TITLES[name])
                axes.set_xlim(-0.86, 0.86)
                axes.set_ylim(-1.03, 1.03)
        panels[1].set_ylabel("")
        panels[1].annotate(
            "held torque\nof the thesis",
            xy=(0.0, 0.855),
            xytext=(0.3, 0.93),
            fontsize=9,
            color=COLOURS["ink"],
            arrowprops={"arrowstyle": "-", "color": COLOURS["ink"], "linewidth": 0.8, "shrinkB": 5},
            zorder=7,
        )
        figure.legend(
            handles=[
                Patch(facecolor="#6fb9be", label="stable"),
                Patch(facecolor="#f6cdbf", label="unstable"),
                Line2D([], [], color=COLOURS["accent"], linewidth=1.8, label="snaps here"),
                Line2D([], [], color=COLOURS["ink"], linewidth=1.7, label="the robot, stable"),
                Line2D([], [], color=COLOURS["ink"], linewidth=1.7, linestyle=(0, (3.5, 1.5)), label="and not"),
            ],
            loc="outside lower center",
            ncols=5,
        )
        figure.savefig(path)
        plt.close(figure)


def _map(run: xr.Dataset, name: str) -> xr.Dataset:
    """One of the maps of the run."""
    own = {key: str(key).removeprefix(f"{name}/") for key in run.data_vars if str(key).startswith(f"{name}/")}
    kinds = {f"{name}_{kind}": kind for kind in ("edge", "snap")}
    found = run[list(own)].rename(own | kinds)
    found.attrs |= {"over": "position", "part": "the hinge"}
    return found
