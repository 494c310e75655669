"""Plots beside the picture: curves over time that scroll, or that show where a playback is."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from elver.viz.style import COLOURS

__all__ = ["LinkedPlot", "ScrollingPlot"]

_STROKES = ("rod", "accent", "gold", "violet", "grey", "ink")


def _options(title: str, names: list[str], unit: str, markers: int = 0) -> dict[str, Any]:
    series: list[dict[str, Any]] = [{"label": "t [s]"}]
    for k, name in enumerate(names):
        colour = COLOURS[_STROKES[k % len(_STROKES)]]
        series.append({"label": name, "stroke": colour, "width": 2})
    for k in range(markers):
        colour = COLOURS[_STROKES[k % len(_STROKES)]]
        series.append({"label": "", "stroke": colour, "points": {"show": True, "size": 9, "fill": colour}})
    return {
        "series": tuple(series),
        "title": f"{title} [{unit}]",
        "scales": {"x": {"time": False}},
        "axes": ({"size": 26}, {"size": 52}),
        "legend": {"show": True},
        "height": 170,
    }


class ScrollingPlot:
    """The last ``span`` seconds of a few numbers."""

    def __init__(self, gui: Any, title: str, names: list[str], unit: str, span: float = 10.0) -> None:
        self.span, self.rows = span, deque[tuple[float, ...]]()
        self.width = len(names) + 1
        self.handle = gui.add_uplot(tuple(np.zeros(2) for _ in range(self.width)), **_options(title, names, unit))

    def add(self, t: float, *values: float) -> None:
        """One instant more."""
        self.rows.append((t, *values))
        while self.rows and self.rows[0][0] < t - self.span:
            self.rows.popleft()

    def clear(self) -> None:
        """Begin anew."""
        self.rows.clear()

    def show(self) -> None:
        """Send what there is."""
        if len(self.rows) >= 2:
            table = np.array(self.rows)
            table = table[:: max(1, len(table) // 200)]
            self.handle.data = tuple(np.ascontiguousarray(table[:, k]) for k in range(self.width))


class LinkedPlot:
    """Whole curves over time with a dot on each where the playback is."""

    def __init__(self, gui: Any, title: str, time: np.ndarray, curves: dict[str, np.ndarray], unit: str) -> None:
        keep = np.unique(np.linspace(0, time.size - 1, min(time.size, 400)).round().astype(int))
        self.time = time[keep]
        self.curves = [np.asarray(curve, dtype=float)[keep] for curve in curves.values()]
        self.blank = [np.full(self.time.size, np.nan) for _ in self.curves]
        self.at = -1
        options = _options(title, list(curves), unit, markers=len(self.curves))
        self.handle = gui.add_uplot(self._data(0), **options)

    def show(self, t: float) -> None:
        """Move the dots to ``t`` [s]."""
        k = int(np.argmin(np.abs(self.time - t)))
        if k != self.at:
            self.at = k
            self.handle.data = self._data(k)

    def _data(self, k: int) -> tuple[np.ndarray, ...]:
        dots = []
        for curve, blank in zip(self.curves, self.blank, strict=True):
            dot = blank.copy()
            dot[k] = curve[k]
            dots.append(dot)
        return (self.time, *self.curves, *dots)
