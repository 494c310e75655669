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
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from elver.errors import BadInput, finite, shape_of
from elver.rods.fields import Array
from elver.values import Carried, of_kind
from elver.words import brief, describe

__all__ = [
    "STRAINS",
    "STRAIN_SYMBOLS",
    "Chebyshev",
    "Counts",
    "Legendre",
    "Mesh",
    "PiecewiseConstant",
    "PiecewiseLinear",
    "StrainBasis",
    "check_elements",
    "no_modes",
    "spread",
]

STRAIN_SYMBOLS = ("K_x", "K_y", "K_z", "G_x", "G_y", "G_z")
"""Symbols of the six strains as they appear in the names of coordinates."""

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
Ints = NDArray[np.int64]


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


def no_modes(family: str, example: str) -> BadInput:
    return BadInput(f"{family} has 0 functions in all six strains: no strain is free; give e.g. {example}")


def spread(first: Ints, values: Array, count: int) -> Array:
    """All ``count`` functions, (len(values), count), of which only those from ``first`` on may differ from zero."""
    found = np.zeros((len(values), count))
    np.put_along_axis(found, first[:, None] + np.arange(values.shape[1]), values, axis=1)
    return found


# Polynomials ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Polynomials:
    """Number of functions per strain; degrees run from 0.

    ``bending`` and ``shear`` stand for both directions, ``bending_y`` ... ``shear_z`` override one direction.
    A strain that is not mentioned is constrained.
    """

    bending: int = field(default=0, metadata=of_kind("int"))
    torsion: int = field(default=0, metadata=of_kind("int"))
    stretch: int = field(default=0, metadata=of_kind("int"))
    shear: int = field(default=0, metadata=of_kind("int"))
    bending_y: int | None = field(default=None, metadata=of_kind("int"))
    bending_z: int | None = field(default=None, metadata=of_kind("int"))
    shear_y: int | None = field(default=None, metadata=of_kind("int"))
    shear_z: int | None = field(default=None, metadata=of_kind("int"))

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None:
                object.__setattr__(self, one.name, _count(f"number of {one.name} functions", value))
        if not any(self.counts):
            family = type(self).__name__
            raise no_modes(family, f"{family}(bending=4, torsion=2) or {family}.kirchhoff(4)")

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

    elements: int | tuple[float, ...] = field(default=8, metadata=of_kind("any"))
    strains: str | tuple[str, ...] = field(default="kirchhoff", metadata=of_kind("text"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "elements", check_elements(self.elements))
        names = self.strains
        object.__setattr__(self, "strains", names if isinstance(names, str) else tuple(names))
        if not _check_strains(self.strains):
            raise no_modes(type(self).__name__, 'strains="kirchhoff"')

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

    def _locate(self, s: Array, length: float) -> tuple[Array, Ints]:
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
        return spread(*self.local_functions(component, s, length), self.counts[component])

    def local_functions(self, component: int, s: Array, length: float) -> tuple[Ints, Array]:
        """Element at each ``s``, and the one function that is not zero there: (len(s),), (len(s), 1)."""
        if not self.counts[component]:
            return np.zeros(s.size, dtype=np.int64), np.empty((s.size, 0))
        return self._locate(s, length)[1], np.ones((s.size, 1))


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
        return spread(*self.local_functions(component, s, length), self.counts[component])

    def local_functions(self, component: int, s: Array, length: float) -> tuple[Ints, Array]:
        """Element at each ``s``, and the hats of its two ends there: (len(s),), (len(s), 2)."""
        if not self.counts[component]:
            return np.zeros(s.size, dtype=np.int64), np.empty((s.size, 0))
        x, element = self._locate(s, length)
        local = (x - self._ends[element]) / np.diff(self._ends)[element]
        return element, np.stack([1.0 - local, local], axis=1)
