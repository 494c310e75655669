"""One look for all figures: few colours with a meaning each, light grid, text that can be read in print."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

__all__ = ["BODY_TIME_COLOURS", "COLOURS", "RC", "TIME_COLOURS", "legend_above", "open_axes", "style"]

# Distinguishable with the common colour deficiencies and in grey print.
COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "ink": "#1d2a35",  # text, totals
        "rod": "#12858f",  # the rod, our curve
        "accent": "#e4572e",  # the tip, what to look at
        "gold": "#d99a1c",
        "violet": "#6a5acd",
        "grey": "#8795a1",  # references, published curves
        "grid": "#e4e9ed",
        "floor": "#f4f6f8",
        "shadow": "#dbe1e6",
        "steel": "#8d9aa6",  # what holds the rod
        "body": "#edb549",  # rigid bodies: gold, lighter, since flat faces catch little light
    }
)

# From early to late: rods, and bodies.
TIME_COLOURS = LinearSegmentedColormap.from_list("elver-time", ["#b9dbdc", "#12858f", "#123b56"])
BODY_TIME_COLOURS = LinearSegmentedColormap.from_list("elver-body-time", ["#f8efdc", "#f2d08a", "#eba526"])

RC: Mapping[str, Any] = MappingProxyType(
    {
        "figure.facecolor": "white",
        "figure.dpi": 110,
        "savefig.dpi": 160,
        "savefig.facecolor": "white",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 10,
        "axes.labelcolor": COLOURS["ink"],
        "axes.edgecolor": COLOURS["grey"],
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.prop_cycle": cycler(color=[COLOURS[c] for c in ("rod", "accent", "gold", "violet", "grey", "ink")]),
        "grid.color": COLOURS["grid"],
        "grid.linewidth": 0.8,
        "lines.linewidth": 1.8,
        "lines.solid_capstyle": "round",
        "text.color": COLOURS["ink"],
        "xtick.color": COLOURS["ink"],
        "ytick.color": COLOURS["ink"],
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "xtick.major.pad": 6,
        "ytick.major.pad": 5,
        "legend.frameon": False,
    }
)


def style() -> AbstractContextManager[None]:
    """The look of elver's figures, for figures of yours: ``with elver.viz.style(): ...``."""
    settings: Any = dict(RC)
    return mpl.rc_context(settings)


def open_axes(axes: Axes, title: str, ylabel: str) -> None:
    """A plot over time: title, labels, no wasted space left and right."""
    axes.set_title(title)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(ylabel)
    axes.margins(x=0.0)


def legend_above(axes: Axes) -> None:
    """The names of the lines in a row above the plot, at its right end, where they hide nothing."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.02, 1.0),
        ncols=4,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.0,
        fontsize=9,
    )
