"""What a file holds in place of a function: samples of it, or the note that code cannot be stored."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from elver.errors import BadInput
from elver.values import Carried, of_kind

__all__ = ["Code", "Table"]


@dataclasses.dataclass(frozen=True)
class Table(Carried):
    """A function known by samples: what becomes of a user's function in a file.

    Cubic interpolation between the samples (linear below four), constant beyond them; where ``x`` is given twice the
    function jumps, from the first value to the second. Called with a number or an array ``x`` (n,) it returns values of
    shape ``x.shape + values.shape[1:]``. Further arguments are ignored, so that a table can stand in for a function of
    (s, length).
    """

    x: np.ndarray = dataclasses.field(metadata=of_kind("any"))
    values: np.ndarray = dataclasses.field(metadata=of_kind("any"))
    variable: str = dataclasses.field(default="s", metadata=of_kind("text"))
    note: str = dataclasses.field(default="", metadata=of_kind("text"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", np.array(self.x, dtype=float))
        object.__setattr__(self, "values", np.array(self.values, dtype=float))
        if self.x.ndim != 1 or self.x.size < 2 or self.values.shape[:1] != self.x.shape:
            raise BadInput(
                f"table of {self.variable}: x has shape {self.x.shape} and values {self.values.shape}; "
                "give at least two samples and one row of values per sample"
            )
        if np.any(np.diff([0, *self._jumps, self.x.size]) < 2):
            raise BadInput(
                f"table of {self.variable}: twice the same {self.variable} means a jump, with two samples or more on "
                "each side of it; give more samples, or each position once"
            )

    @property
    def _jumps(self) -> list[int]:
        """First sample behind each jump."""
        return [int(k) + 1 for k in np.flatnonzero(np.diff(self.x) == 0.0)]

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where the function jumps: positions that are given twice."""
        return tuple(float(self.x[k]) for k in self._jumps)

    @functools.cached_property
    def _spline(self) -> Callable[[np.ndarray], np.ndarray]:
        from scipy.interpolate import make_interp_spline  # slow to import, and rarely needed

        cuts = [0, *self._jumps, self.x.size]
        parts = [make_interp_spline(self.x[a:b], self.values[a:b], k=3 if b - a >= 4 else 1) for a, b in pairwise(cuts)]
        if len(parts) == 1:
            return parts[0]

        def spline(x: np.ndarray) -> np.ndarray:
            piece = np.searchsorted(self.breaks, x, side="right")
            values = np.stack([part(x) for part in parts])
            return values[piece, np.arange(x.size)] if x.ndim else values[piece]

        return spline

    def __call__(self, x: Any, *_: Any) -> np.ndarray:
        return np.asarray(self._spline(np.clip(x, self.x[0], self.x[-1])))


@dataclasses.dataclass(frozen=True)
class Code:
    """Stands in a file for a Python function of the motion, such as a controller, whose code is not stored."""

    function: str

    def __call__(self, *_: Any) -> Any:
        raise BadInput(f"the code of {self.function} is not in the file: build the system anew with that function")
