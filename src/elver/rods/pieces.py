"""Strain functions in pieces: any basis anew on each piece of a rod, so that strains may jump from piece to piece.

Where stiffness, rest strain or actuation jump, so does the strain; between the jumps it is smooth, and polynomials
converge there as fast as ever. A rod with breaks has the functions of a rod of its own on each of its pieces:
it is what its pieces would be, joined by Fixed joints, with the same coordinates on the same nodes.

Theory: docs/theory/rods.md, eq. (pieces).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from elver.errors import BadInput
from elver.rods.basis import (
    STRAIN_SYMBOLS,
    Ints,
    Mesh,
    PiecewiseConstant,
    PiecewiseLinear,
    StrainBasis,
    check_elements,
    spread,
)
from elver.rods.fields import Array
from elver.rods.sampled import Sampled
from elver.values import Carried, of_kind
from elver.words import describe

__all__ = ["Piecewise", "broken", "local_functions"]

_SAME = 1e-9  # of the length: ends that are nearer are one


@dataclass(frozen=True)
class Piecewise(Carried):
    """``basis`` anew on each element, with strains that may jump at its ends: Legendre of any degree in pieces.

    ``basis`` is one basis for all elements, as on a rod of the element's length, or a tuple with one for each.
    ``elements`` is the number of equal elements, or the interior element ends as fractions of the length.

    >>> Piecewise(Legendre(bending=3, torsion=2), elements=(0.37,))
    """

    basis: StrainBasis | tuple[StrainBasis, ...] = field(metadata=of_kind("@basis"))
    elements: int | tuple[float, ...] = field(default=2, metadata=of_kind("any"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "elements", check_elements(self.elements))
        given: Any = self.basis
        several = isinstance(given, list | tuple)
        bases = tuple(given) if several else (given,)
        for basis in bases:
            if isinstance(basis, type) or not isinstance(basis, StrainBasis):
                raise BadInput(f"Piecewise: basis = {describe(basis)} cannot be used: pass e.g. Legendre.kirchhoff(3)")
        if several:
            if len(bases) != len(self._ends) - 1:
                raise BadInput(
                    f"Piecewise: {len(bases)} bases for {len(self._ends) - 1} elements: give one for all, or one each"
                )
            object.__setattr__(self, "basis", bases)

    @cached_property
    def _ends(self) -> Array:
        if isinstance(self.elements, tuple):
            return np.array([0.0, *self.elements, 1.0])
        return np.linspace(0.0, 1.0, self.elements + 1)

    @cached_property
    def pieces(self) -> tuple[tuple[float, float, StrainBasis], ...]:
        """Beginning, end (fractions of the length) and basis of each element."""
        ends = self._ends.tolist()
        bases = self.basis if isinstance(self.basis, tuple) else (self.basis,) * (len(ends) - 1)
        return tuple((a, b, basis) for (a, b), basis in zip(pairwise(ends), bases, strict=True))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of functions of each strain: the sum of those of the elements."""
        return tuple(sum(int(basis.counts[c]) for *_, basis in self.pieces) for c in range(6))

    @property
    def degree(self) -> int:
        """Highest degree of all elements."""
        return max(int(basis.degree) for *_, basis in self.pieces)

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Functions of one strain, element after element; zero outside their own: (len(s), counts[component])."""
        return spread(*self.local_functions(component, s, length), self.counts[component])

    def local_functions(self, component: int, s: Array, length: float) -> tuple[Ints, Array]:
        """First function of the element at each ``s``, and the values of so many there: (len(s),), (len(s), most)."""
        element = np.clip(np.searchsorted(self._ends * length, s, side="right") - 1, 0, self._ends.size - 2)
        order = np.argsort(element, kind="stable")
        ends = np.searchsorted(element[order], np.arange(self._ends.size))
        found, starts = [], np.cumsum([0, *(int(basis.counts[component]) for *_, basis in self.pieces)])
        for (a, b, basis), before, low, high in zip(self.pieces, starts, ends, ends[1:], strict=False):
            here = order[low:high]
            if here.size and basis.counts[component]:
                local = np.clip(s[here] - a * length, 0.0, (b - a) * length)
                near, values = local_functions(basis, component, local, (b - a) * length)
                found.append((here, before + near, values))
        most = max((values.shape[1] for *_, values in found), default=min(1, int(starts[-1])))
        first, out = np.zeros(s.size, dtype=np.int64), np.zeros((s.size, most))
        for here, near, values in found:
            # the last functions of all have zeros before them, not behind
            first[here] = np.minimum(near, starts[-1] - most)
            at = (near - first[here])[:, None] + np.arange(values.shape[1])
            out[here[:, None], at] = values
        return first, out

    def breaks(self, length: float) -> Array:
        """Interior element ends [m], and the breaks inside elements."""
        found = list(self._ends[1:-1] * length)
        for a, b, basis in self.pieces:
            found += [a * length + s for s in np.asarray(basis.breaks((b - a) * length), dtype=float)]
        return np.sort(np.array(found))


_LOCAL = PiecewiseConstant, PiecewiseLinear, Piecewise


def local_functions(basis: StrainBasis, component: int, s: Array, length: float) -> tuple[Ints, Array]:
    """Functions of one strain that may differ from zero at each ``s`` [m]: the first of them, and their values.

    (len(s),), (len(s), most of them). Elements have few; a basis that is not known to be local has all.
    """
    if type(basis) in _LOCAL:  # one derived from them may have functions of its own
        return basis.local_functions(component, s, length)  # type: ignore[attr-defined]
    values = np.asarray(basis.functions(component, s, length), dtype=float)
    if values.shape != (s.size, wanted := int(basis.counts[component])):
        raise BadInput(
            f"basis functions of {STRAIN_SYMBOLS[component]} have shape {values.shape} for {s.size} positions s; "
            f"return {(s.size, wanted)}"
        )
    return np.zeros(s.size, dtype=np.int64), values


@dataclass(frozen=True)
class Window:
    """The part between two fractions of the length of functions that are given on the whole rod (samples)."""

    basis: Sampled
    start: float
    end: float

    @property
    def counts(self) -> tuple[int, ...]:
        """Those of the whole."""
        return self.basis.counts

    @property
    def degree(self) -> int:
        """That of the whole."""
        return self.basis.degree

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Functions of the whole, at ``s`` [m] from the beginning of the window of ``length`` [m]."""
        whole = length / (self.end - self.start)
        return self.basis.functions(component, s + self.start * whole, whole)

    def breaks(self, length: float) -> Array:
        """Those of the whole inside the window [m], from its beginning."""
        whole = length / (self.end - self.start)
        found = np.asarray(self.basis.breaks(whole), dtype=float) - self.start * whole
        return found[(found > _SAME * whole) & (found < length - _SAME * whole)]


def broken(basis: StrainBasis, breaks: Sequence[float], length: float) -> StrainBasis:
    """``basis`` with strains that may jump at ``breaks`` [m] of a rod of ``length`` [m].

    Polynomials, and meshes given by a number of elements, are repeated on each piece with their number of functions;
    meshes given by their ends, and samples, are cut. Where the strain of a basis may jump already, nothing changes.
    """
    wanted = [float(s) / length for s in breaks]
    if isinstance(basis, PiecewiseConstant | Piecewise | Sampled):
        own = np.asarray(basis.breaks(length), dtype=float) / length
        wanted = [x for x in wanted if not np.any(np.abs(own - x) < _SAME)]
    if not wanted:
        return basis
    parts = [_part(basis, a, b) for a, b in pairwise([0.0, *wanted, 1.0])]
    return Piecewise(parts[0] if all(part is basis for part in parts) else tuple(parts), tuple(wanted))


def _cut(basis: StrainBasis, a: float, b: float) -> StrainBasis:
    """The part of ``basis``, or all of it where that is the whole."""
    return basis if a < _SAME and b > 1.0 - _SAME else _part(basis, a, b)


def _part(basis: StrainBasis, a: float, b: float) -> StrainBasis:
    """What ``basis`` becomes on the piece between two fractions of the length."""
    if isinstance(basis, Sampled):
        return Window(basis, a, b)
    if isinstance(basis, Mesh) and isinstance(basis.elements, tuple):
        inner = tuple((x - a) / (b - a) for x in basis.elements if a + _SAME < x < b - _SAME)
        return type(basis)(inner or 1, basis.strains)
    if isinstance(basis, Piecewise) and (isinstance(basis.elements, tuple) or isinstance(basis.basis, tuple)):
        inside = [(x, y, own) for x, y, own in basis.pieces if x < b - _SAME and y > a + _SAME]
        ends = tuple((x - a) / (b - a) for x, *_ in inside[1:])
        cut = tuple(_cut(own, max(a - x, 0.0) / (y - x), min(b - x, y - x) / (y - x)) for x, y, own in inside)
        return cut[0] if len(cut) == 1 else Piecewise(cut, ends)
    return basis
