"""Strain bases: the functions of s in which the free strains of a rod are expanded, ξ = ξ₀ + B Φ(s) q.

The six strains are K_x (torsion), K_y, K_z (bending), Γ_x (stretch), Γ_y, Γ_z (shear), in this order; a
strain with no function keeps its rest value. Every family answers the same four questions
(:class:`StrainBasis`) and has the same four shorthands: ``planar`` (K_z alone), ``kirchhoff`` (K),
``extensible`` (K and Γ_x), ``reissner`` (all six). Polynomials are of x = 2 s / L - 1 and unnormalised: the
first Legendre coordinate is the mean strain.

Theory: docs/theory/rods.md, eq. (strain-modes), (legendre).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.polynomial.legendre import leggauss, legvander

from elver.errors import BadInput, finite, shape_of
from elver.rods.fields import Array
from elver.values import Carried
from elver.words import brief, describe

__all__ = [
    "STRAINS",
    "Chebyshev",
    "Legendre",
    "Mesh",
    "PiecewiseConstant",
    "PiecewiseLinear",
    "Sampled",
    "StrainBasis",
    "check_elements",
]

STRAINS = ("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")
"""Names of the six strains, in the order K_x, K_y, K_z, Γ_x, Γ_y, Γ_z."""

_GROUPS: dict[str, tuple[str, ...]] = {
    "bending": STRAINS[1:3],
    "shear": STRAINS[4:6],
    "planar": STRAINS[2:3],
    "kirchhoff": STRAINS[:3],
    "extensible": STRAINS[:4],
    "reissner": STRAINS,
}

Counts = tuple[int, int, int, int, int, int]


@runtime_checkable
class StrainBasis(Protocol):
    """What a rod asks of its strain basis."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of functions of each of the six strains; 0 constrains a strain to its rest value."""
        ...

    @property
    def degree(self) -> int:
        """Highest polynomial degree inside a smooth element; it sets the default number of nodes."""
        ...

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Functions of one strain at ``s`` [m]: (len(s), counts[component])."""
        ...

    def breaks(self, length: float) -> Array:
        """Interior positions [m] where some function is not smooth, increasing; empty for a smooth basis."""
        ...


def _count(name: str, value: Any, least: int = 0) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        raise BadInput(f"{name} = {describe(value)}: expected a whole number, at least {least}")
    return number


def _no_modes(family: str, example: str) -> BadInput:
    return BadInput(f"{family} has 0 functions in all six strains: no strain is free; give e.g. {example}")


# Polynomials ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Polynomials:
    """Number of functions per strain; degrees run from 0.

    ``bending`` and ``shear`` stand for both directions, ``bending_y`` ... ``shear_z`` override one direction.
    A strain that is not mentioned is constrained.
    """

    bending: int = 0
    torsion: int = 0
    stretch: int = 0
    shear: int = 0
    bending_y: int | None = None
    bending_z: int | None = None
    shear_y: int | None = None
    shear_z: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                object.__setattr__(self, field.name, _count(f"number of {field.name} functions", value))
        if not any(self.counts):
            family = type(self).__name__
            raise _no_modes(family, f"{family}(bending=4, torsion=2) or {family}.kirchhoff(4)")

    @classmethod
    def planar(cls, n: int) -> Self:
        """Bending in the xy plane: ``n`` functions for K_z."""
        return cls(bending_z=n)

    @classmethod
    def kirchhoff(cls, n: int) -> Self:
        """Bending and torsion: ``n`` functions for each of K_x, K_y, K_z."""
        return cls(bending=n, torsion=n)

    @classmethod
    def extensible(cls, n: int) -> Self:
        """Kirchhoff rod that also stretches: ``n`` functions for each of K_x, K_y, K_z, Γ_x."""
        return cls(bending=n, torsion=n, stretch=n)

    @classmethod
    def reissner(cls, n: int) -> Self:
        """All six strains with ``n`` functions each."""
        return cls(bending=n, torsion=n, stretch=n, shear=n)

    @property
    def counts(self) -> Counts:
        """Number of functions of each strain."""
        return (
            self.torsion,
            self.bending if self.bending_y is None else self.bending_y,
            self.bending if self.bending_z is None else self.bending_z,
            self.stretch,
            self.shear if self.shear_y is None else self.shear_y,
            self.shear if self.shear_z is None else self.shear_z,
        )

    @property
    def degree(self) -> int:
        """Highest degree of all strains."""
        return max(self.counts) - 1

    def breaks(self, length: float) -> Array:
        """Polynomials are smooth: empty."""
        return np.empty(0)


@lru_cache(maxsize=16)
def _legendre(x: bytes, degree: int) -> Array:
    """P_0 ... P_degree at numbers given as bytes: strains of one rod, which have the same nodes, ask one by one."""
    return np.asarray(legvander(np.frombuffer(x), degree), dtype=float)


@brief
@dataclass(frozen=True)
class Legendre(_Polynomials):
    """Shifted Legendre polynomials P_k(2 s / L - 1): orthogonal, ∫ P_j P_k ds = L δ_jk / (2 k + 1)."""

    def functions(self, component: int, s: Array, length: float) -> Array:
        """P_0 ... P_{n-1} of x = 2 s / L - 1: (len(s), n)."""
        x = 2.0 * s / length - 1.0
        return _legendre(x.tobytes(), self.degree)[:, : self.counts[component]].copy()


@brief
@dataclass(frozen=True)
class Chebyshev(_Polynomials):
    """Shifted Chebyshev polynomials T_k(2 s / L - 1); |T_k| ≤ 1."""

    def functions(self, component: int, s: Array, length: float) -> Array:
        """T_0 ... T_{n-1} of x = 2 s / L - 1: (len(s), n)."""
        n = self.counts[component]
        return np.asarray(chebvander(2.0 * s / length - 1.0, max(n - 1, 0))[:, :n], dtype=float)


# Piecewise functions ----------------------------------------------------------------------------------------


def _check_strains(strains: Any) -> tuple[str, ...]:
    """Names of single strains, in canonical order, from one name or several, of strains or of groups."""
    names = (strains,) if isinstance(strains, str) else tuple(strains)
    chosen: set[str] = set()
    for name in names:
        if name not in _GROUPS and name not in STRAINS:
            raise BadInput(f"strains: unknown name {name!r}; choose from {', '.join((*_GROUPS, *STRAINS))}")
        chosen.update(_GROUPS.get(name, (name,)))
    return tuple(name for name in STRAINS if name in chosen)


def check_elements(elements: Any) -> int | tuple[float, ...]:
    """A number of equal elements, or their interior ends as fractions of the length."""
    if not shape_of(elements):
        return _count("elements", elements, least=1)
    ends = finite("elements", elements, (-1,), "fractions of the length")
    if np.any(np.diff(ends, prepend=0.0, append=1.0) <= 0.0):
        raise BadInput(
            f"elements = {tuple(ends.tolist())}: interior element ends are fractions of the length; "
            "let them increase strictly between 0 and 1"
        )
    return tuple(ends.tolist())


@dataclass(frozen=True)
class Mesh(Carried):
    """A mesh shared by the named strains.

    ``elements`` is the number of equal elements, or the interior element ends as fractions of the length.
    ``strains`` is one name or several: "planar", "kirchhoff", "extensible", "reissner", "bending", "shear",
    "torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z".
    """

    elements: int | tuple[float, ...] = 8
    strains: str | tuple[str, ...] = "kirchhoff"

    def __post_init__(self) -> None:
        object.__setattr__(self, "elements", check_elements(self.elements))
        names = self.strains
        object.__setattr__(self, "strains", names if isinstance(names, str) else tuple(names))
        if not _check_strains(self.strains):
            raise _no_modes(type(self).__name__, 'strains="kirchhoff"')

    @classmethod
    def planar(cls, elements: int | tuple[float, ...]) -> Self:
        """Bending in the xy plane (K_z)."""
        return cls(elements, "planar")

    @classmethod
    def kirchhoff(cls, elements: int | tuple[float, ...]) -> Self:
        """Bending and torsion (K_x, K_y, K_z)."""
        return cls(elements, "kirchhoff")

    @classmethod
    def extensible(cls, elements: int | tuple[float, ...]) -> Self:
        """Kirchhoff rod that also stretches (K_x, K_y, K_z, Γ_x)."""
        return cls(elements, "extensible")

    @classmethod
    def reissner(cls, elements: int | tuple[float, ...]) -> Self:
        """All six strains."""
        return cls(elements, "reissner")

    @cached_property
    def _ends(self) -> Array:
        if isinstance(self.elements, tuple):
            return np.array([0.0, *self.elements, 1.0])
        return np.linspace(0.0, 1.0, self.elements + 1)

    def _counts(self, functions: int) -> Counts:
        chosen = _check_strains(self.strains)
        a, b, c, d, e, f = (functions if name in chosen else 0 for name in STRAINS)
        return (a, b, c, d, e, f)

    def _locate(self, s: Array, length: float) -> tuple[Array, Any]:
        """Fraction of the length and index of the element; at an end the element that begins there."""
        x = s / length
        return x, np.clip(np.searchsorted(self._ends, x, side="right") - 1, 0, self._ends.size - 2)

    def breaks(self, length: float) -> Array:
        """Interior element ends [m]."""
        return self._ends[1:-1] * length


@brief
@dataclass(frozen=True)
class PiecewiseConstant(Mesh):
    """Strains constant in each element: one indicator function per element."""

    @property
    def counts(self) -> Counts:
        """Number of functions of each strain: the number of elements."""
        return self._counts(self._ends.size - 1)

    @property
    def degree(self) -> int:
        """0."""
        return 0

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Indicator of each element: (len(s), elements)."""
        if not self.counts[component]:
            return np.empty((s.size, 0))
        _, element = self._locate(s, length)
        return np.eye(self._ends.size - 1)[element]


@brief
@dataclass(frozen=True)
class PiecewiseLinear(Mesh):
    """Strains linear in each element and continuous: one hat function per element end."""

    @property
    def counts(self) -> Counts:
        """Number of functions of each strain: the number of elements plus one."""
        return self._counts(self._ends.size)

    @property
    def degree(self) -> int:
        """1."""
        return 1

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Hat function of each element end: (len(s), elements + 1); coordinates are the strains there."""
        if not self.counts[component]:
            return np.empty((s.size, 0))
        x, element = self._locate(s, length)
        local = (x - self._ends[element]) / np.diff(self._ends)[element]
        values = np.zeros((s.size, self._ends.size))
        rows = np.arange(s.size)
        values[rows, element] = 1.0 - local
        values[rows, element + 1] = local
        return values


# Functions given by samples ---------------------------------------------------------------------------------

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

    s: tuple[float, ...]
    torsion: Table | None = None
    bending_y: Table | None = None
    bending_z: Table | None = None
    stretch: Table | None = None
    shear_y: Table | None = None
    shear_z: Table | None = None

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
            raise _no_modes("Sampled", "Sampled(s, bending_z=table)")

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
