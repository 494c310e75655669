"""Plots beside the picture: curves over time that scroll, or that show where a playback is."""

from __future__ import annotations

from collections import deque
from html import escape
from typing import Any

import numpy as np

from elver.viz.browser.server import paragraph
from elver.viz.style import COLOURS

__all__ = ["LinkedPlot", "ScrollingPlot"]

_STROKES = ("rod", "accent", "gold", "violet", "grey", "ink")


def _options(title: str, names: list[str], unit: str) -> dict[str, Any]:
    series: list[dict[str, Any]] = [{"label": "t [s]"}]
    for k, name in enumerate(names):
        series.append({"label": name, "stroke": COLOURS[_STROKES[k % len(_STROKES)]], "width": 2})
    return {
        "series": tuple(series),
        "title": f"{title} [{unit}]",
        "scales": {"x": {"time": False}},
        "axes": ({"size": 28, "ticks": {"size": 4}}, {"size": 52, "ticks": {"size": 4}}),
        "legend": {"show": True},
        "height": 170,
    }


class ScrollingPlot:
    """The last ``span`` seconds of a few numbers."""

    def __init__(self, gui: Any, title: str, names: list[str], unit: str, span: float = 10.0) -> None:
        self.unit, self.span, self.rows = unit, span, deque[tuple[float, ...]]()
        self.width = len(names) + 1
        # a title that changes would make the page draw the plot anew, and lose its scale of time
        self.title = gui.add_html(self._heading(title))
        options = _options(title, names, unit) | {"title": None}
        self.handle = gui.add_uplot(tuple(np.zeros(2) for _ in range(self.width)), **options)

    def add(self, t: float, *values: float) -> None:
        """One instant more."""
        self.rows.append((t, *values))
        while self.rows and self.rows[0][0] < t - self.span:
            self.rows.popleft()

    def clear(self) -> None:
        """Begin anew."""
        self.rows.clear()

    def begin(self, title: str) -> None:
        """Begin anew with something else."""
        self.clear()
        self.title.content = self._heading(title)

    def _heading(self, title: str) -> str:
        return paragraph(f"<b>{escape(title)}</b> [{self.unit}]")

    def show(self) -> None:
        """Send what there is."""
        if len(self.rows) >= 2:
            table = np.array(self.rows)
            table = table[:: max(1, len(table) // 200)]
            self.handle.data = tuple(np.ascontiguousarray(table[:, k]) for k in range(self.width))


class LinkedPlot:
    """Whole curves over time with a line where the playback is."""

    def __init__(self, gui: Any, title: str, time: np.ndarray, curves: dict[str, np.ndarray], unit: str) -> None:
        keep = np.unique(np.linspace(0, time.size - 1, min(time.size, 400)).round().astype(int))
        self.time = time[keep]
        self.curves = [np.asarray(curve, dtype=float)[keep] for curve in curves.values()]
        known = np.concatenate([curve[np.isfinite(curve)] for curve in self.curves])
        low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
        margin = 0.05 * (high - low) or 1.0
        self.low, self.high = low - margin, high + margin
        self.at = 0
        options = _options(title, [*curves, "now"], unit)
        options["series"][-1].update(stroke=COLOURS["ink"], width=1)
        options["scales"]["y"] = {"range": (self.low, self.high)}  # given, since gaps have no largest value
        self.handle = gui.add_uplot(self._data(0), **options)

    def show(self, t: float) -> None:
        """Move the line to ``t`` [s]."""
        k = int(np.argmin(np.abs(self.time - t)))
        if k != self.at:
            self.at = k
            self.handle.data = self._data(k)

    def _data(self, k: int) -> tuple[np.ndarray, ...]:
        """The instant of the line stands there twice: at its lower and at its upper end."""
        line = np.full(self.time.size + 1, np.nan)
        line[k : k + 2] = self.low, self.high
        return (*(np.insert(row, k, row[k]) for row in (self.time, *self.curves)), line)
