"""Strain functions given by their samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from elver.errors import BadInput, finite, shape_of
from elver.rods.basis import STRAINS, Counts, no_modes
from elver.rods.fields import Array
from elver.values import Carried, of_kind
from elver.words import brief

__all__ = ["Sampled"]

Table = tuple[tuple[float, ...], ...]


@brief
@dataclass(frozen=True)
class Sampled(Carried):
    """Functions of one's own, given by their samples.

    ``s`` [m] are positions from 0 to the rod's length; each strain takes a table (len(s), number of
    functions), or (len(s),) for one function. Between samples a spline of degree 5 (less with fewer than six
    samples) goes through the table. They stand for smooth functions, except where a position is given twice: there
    the functions jump from the first row to the second, and the quadrature has a break.
    """

    s: tuple[float, ...] = field(metadata=of_kind("m"))
    torsion: Table | None = field(default=None, metadata=of_kind("any"))
    bending_y: Table | None = field(default=None, metadata=of_kind("any"))
    bending_z: Table | None = field(default=None, metadata=of_kind("any"))
    stretch: Table | None = field(default=None, metadata=of_kind("any"))
    shear_y: Table | None = field(default=None, metadata=of_kind("any"))
    shear_z: Table | None = field(default=None, metadata=of_kind("any"))

    def __post_init__(self) -> None:
        s = finite("sample positions s", self.s, (-1,), "m")
        twice = np.flatnonzero(np.diff(s) == 0.0) + 1
        thin = np.diff([0, *twice, s.size]).min(initial=2) < 2
        if s.size < 2 or s[0] != 0.0 or np.any(np.diff(s) < 0.0) or thin:
            raise BadInput(
                f"sample positions s = {_short(s)} m: give at least two, the first 0 m, strictly increasing; twice the "
                "same inside means a jump, with two positions or more on each side"
            )
        object.__setattr__(self, "s", tuple(s.tolist()))
        for name in STRAINS:
            table = getattr(self, name)
            if table is None:
                continue
            columns = len(shape_of(table) or ()) == 1
            values = finite(f"{name} table", table, (-1,) if columns else (-1, -1), "1/m or dimensionless")
            values = values.reshape(len(values), -1)
            if values.shape[0] != s.size:
                raise BadInput(
                    f"{name} table has {values.shape[0]} rows for {s.size} sample positions: "
                    "give one row per position"
                )
            if values.shape[1] and np.linalg.matrix_rank(values) < values.shape[1]:
                raise BadInput(
                    f"{name} table: its {values.shape[1]} functions are linearly dependent at the {s.size} "
                    "positions; remove the redundant ones or sample more finely"
                )
            object.__setattr__(self, name, tuple(map(tuple, values.tolist())))
        if not any(self.counts):
            raise no_modes("Sampled", "Sampled(s, bending_z=table)")

    @classmethod
    def planar(cls, s: Iterable[float], table: Any) -> Self:
        """The same functions for K_z alone."""
        return cls(tuple(s), bending_z=table)

    @classmethod
    def kirchhoff(cls, s: Iterable[float], table: Any) -> Self:
        """The same functions for each of K_x, K_y, K_z."""
        return cls(tuple(s), torsion=table, bending_y=table, bending_z=table)

    @classmethod
    def extensible(cls, s: Iterable[float], table: Any) -> Self:
        """The same functions for each of K_x, K_y, K_z, Γ_x."""
        return cls(tuple(s), torsion=table, bending_y=table, bending_z=table, stretch=table)

    @classmethod
    def reissner(cls, s: Iterable[float], table: Any) -> Self:
        """The same functions for all six strains."""
        return cls(tuple(s), table, table, table, table, table, table)

    @property
    def _tables(self) -> tuple[Table | None, ...]:
        return (self.torsion, self.bending_y, self.bending_z, self.stretch, self.shear_y, self.shear_z)

    @property
    def counts(self) -> Counts:
        """Number of functions of each strain: columns of its table."""
        a, b, c, d, e, f = (0 if table is None else len(table[0]) for table in self._tables)
        return (a, b, c, d, e, f)

    @cached_property
    def _stretches(self) -> list[slice]:
        """Samples of each smooth stretch."""
        cuts = [0, *(np.flatnonzero(np.diff(self.s) == 0.0) + 1).tolist(), len(self.s)]
        return [slice(a, b) for a, b in pairwise(cuts)]

    @cached_property
    def _splines(self) -> tuple[Any, ...]:
        """Splines of each strain, one for each stretch; None without functions."""
        from scipy.interpolate import make_interp_spline  # slow to import, and rarely needed

        s, found = np.array(self.s), []
        for given in self._tables:
            table = np.array(given or [[]])
            one = [
                make_interp_spline(s[own], table[own], k=min(5, own.stop - own.start - 1)) for own in self._stretches
            ] if table.size else None  # fmt: skip
            found.append(one)
        return tuple(found)

    @cached_property
    def degree(self) -> int:
        """Smallest degree of polynomials that match every function to 1e-6 of its size, below len(s)."""
        return max(self._degree(k, own) for k, own in enumerate(self._stretches))

    def _degree(self, stretch: int, own: slice) -> int:
        """The degree on one smooth stretch."""
        first, last, many = self.s[own.start], self.s[own.stop - 1], own.stop - own.start
        x, weights = leggauss(max(64, 2 * many))
        P = legvander(x, many - 1)
        norms = (np.arange(many) + 0.5)[:, None]
        degree = 0
        for splines in self._splines:
            if splines is not None:
                values = splines[stretch](first + 0.5 * (x + 1.0) * (last - first))
                coefficients = norms * (P.T @ (weights[:, None] * values))
                # Size of what is left out beyond each degree, relative to the largest value.
                size = np.maximum(np.abs(values).max(axis=0), 1e-300)
                beyond = np.cumsum(np.abs(coefficients)[::-1], axis=0)[::-1] / size
                degree = max(degree, int(np.flatnonzero((beyond > 1e-6).any(axis=1)).max(initial=0)))
        return degree

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Interpolated functions of one strain at ``s`` [m]: (len(s), counts[component])."""
        if abs(self.s[-1] - length) > 1e-9 * length:
            raise BadInput(
                f"samples end at s = {self.s[-1]:g} m but the rod is {length:g} m long: sample up to the tip"
            )
        splines = self._splines[component]
        if splines is None:
            return np.empty((s.size, 0))
        if len(splines) == 1:
            return np.asarray(splines[0](s), dtype=float)
        stretch = np.searchsorted(self.breaks(length), s, side="right")
        values = np.empty((s.size, self.counts[component]))
        for k, spline in enumerate(splines):
            values[stretch == k] = spline(s[stretch == k])
        return values

    def breaks(self, length: float) -> Array:
        """Positions [m] that are given twice, where the functions jump; empty otherwise."""
        return np.array([self.s[own.start] for own in self._stretches[1:]])


def _short(values: Array) -> str:
    return np.array2string(values, threshold=6, edgeitems=2, separator=", ")
