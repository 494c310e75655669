"""Nodes along a rod: quadrature points between its borders, and nodes of weight zero where a pose is wanted.

A grid is made in two steps. A :class:`GridPlan` says in whole numbers which borders there are, how many quadrature
points lie between each two, and which of the places asked for share a node. :func:`filled` puts the nodes of a plan on
a rod, which may be another design than the one it was planned for: longer, with its places elsewhere.

Theory: docs/theory/rods.md, eq. (grid).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.rods.fields import Array
from elver.words import brief

__all__ = ["Elements", "Grid", "GridPlan", "Place", "filled", "gauss", "planned", "same_place"]

# So many times more points than it has, an element of another design may want and keep its plan.
_COARSE = 1.5
# Numbers of points are rounded up: not for a part that is longer by rounding alone.
_ROUNDING = 1e-9


@brief
@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes along a rod: ``s`` [m] increasing from 0 to L, ``weights`` [m] that sum to L."""

    s: Array
    weights: Array
    ends: Array
    """Ends of the elements [m], from 0 to L: the points of each are those of one Gauss-Legendre rule."""

    @property
    def quadrature(self) -> NDArray[np.bool_]:
        """Which nodes are quadrature points; the others have weight zero."""
        return self.weights > 0.0

    def index(self, s: float) -> int:
        """Index of the node at ``s`` [m], which must be one of the nodes."""
        nearest = int(np.argmin(np.abs(self.s - s)))
        if abs(self.s[nearest] - s) > same_place(self.s[-1]):
            raise BadInput(f"no node at s = {s:g} m; ask for it with rod.grid_with(stations=[{s:g}])")
        return nearest


@dataclass(frozen=True)
class Place:
    """An arc length ``s`` [m] of a rod, and how messages speak of what is there."""

    s: float
    label: str = "a node"


@dataclass(frozen=True)
class GridPlan:
    """Whole numbers of a grid, the same for every design of a rod.

    ``points`` of the quadrature in each element. Borders, from base to tip, are numbered: those of the rod itself
    0, 1, ... and places at which elements are divided -1, -2, ... ``breaks`` and ``stations`` say on which border
    each place is, by its position in ``borders``; quadrature points are counted on from there, and a station that is
    on none has a node of its own, -1, -2, ...
    """

    points: tuple[int, ...]
    borders: tuple[int, ...]
    breaks: tuple[int, ...]
    stations: tuple[int, ...]


@dataclass(frozen=True)
class Elements:
    """Smooth elements of a rod by itself: their ``ends`` [m] from 0 to L, and quadrature ``points`` in each.

    A part of an element has no fewer points than ``least``.
    """

    ends: tuple[float, ...]
    points: tuple[int, ...]
    least: int


def same_place(length: float) -> float:
    """Distance [m] below which two nodes are one: far above rounding, far below any spacing in use."""
    return 1e-10 * length


def planned(elements: Elements, stations: Sequence[Place], breaks: Sequence[Place]) -> GridPlan:
    """The plan of a rod with ``elements``, nodes at ``stations``, and elements divided at ``breaks``.

    Each part of an element has points in proportion to its length.
    """
    near, own = same_place(elements.ends[-1]), len(elements.ends)
    borders = [(s, k) for k, s in enumerate(elements.ends)]
    for place in sorted(breaks, key=lambda place: place.s):
        if min(abs(place.s - s) for s, _ in borders) > near:
            borders.append((place.s, own - 1 - len(borders)))
    borders.sort()
    where, numbers = [s for s, _ in borders], tuple(number for _, number in borders)
    points = tuple(_shares(elements, where, numbers))
    known = np.concatenate([where, *(x for x, _ in _quadrature(points, where))]) if stations else np.array(where)
    extra: list[float] = []
    on: list[int] = []
    for place in stations:
        k = int(np.argmin(np.abs(known - place.s)))
        if abs(known[k] - place.s) > near:
            k = -1 - _nearest(extra, place.s) if extra else -1
            if not extra or abs(extra[-1 - k] - place.s) > near:
                extra.append(place.s)
                k = -len(extra)
        on.append(k)
    at = tuple(_nearest(where, place.s) for place in breaks)
    return GridPlan(points, numbers, at, tuple(on))


def _nearest(positions: Sequence[float], s: float) -> int:
    return min(range(len(positions)), key=lambda k: abs(positions[k] - s))


def _shares(elements: Elements, where: Sequence[float], numbers: Sequence[int]) -> list[int]:
    """Points between each two borders: those of an element, divided among its parts."""
    found: list[int] = []
    first = [k for k, number in enumerate(numbers) if number >= 0]
    for (low, high), n in zip(pairwise(first), elements.points, strict=True):
        whole = where[high] - where[low]
        for c, d in pairwise(where[low : high + 1]):
            found.append(n if high == low + 1 else max(ceil(n * (d - c) / whole - _ROUNDING), elements.least))
    return found


def filled(plan: GridPlan, elements: Elements, stations: Sequence[Place], breaks: Sequence[Place]) -> Grid:
    """The grid of ``plan`` on a rod with ``elements``; BadInput names the place for which it has no room.

    A station keeps its node wherever it goes, also past quadrature points, and where it meets another. Borders stay
    in their order, and where an element grows much longer than its points are meant for, the plan is refused.
    """
    if len(stations) != len(plan.stations) or len(breaks) != len(plan.breaks):
        raise BadInput(
            f"{len(stations) + len(breaks)} places where something is joined, acts, begins or ends; "
            f"{len(plan.stations) + len(plan.breaks)} in the structure"
        )
    if len(elements.ends) != sum(number >= 0 for number in plan.borders):
        raise BadInput(f"{len(elements.points)} elements, another number in the structure")
    near = same_place(elements.ends[-1])
    where = [elements.ends[number] if number >= 0 else np.nan for number in plan.borders]
    extra = [np.nan] * -min(0, *plan.stations, 0)
    for place, k in zip(breaks, plan.breaks, strict=True):
        _put(place, where, k, near)
    _check_borders(plan, elements, where)
    parts = _quadrature(plan.points, where)
    points = np.concatenate([x for x, _ in parts])
    for place, k in zip(stations, plan.stations, strict=True):
        if k >= len(where):
            _put(place, points, k - len(where), near)
        else:
            _put(place, *((where, k) if k >= 0 else (extra, -1 - k)), near)
    s = np.concatenate([where, points, extra])
    w = np.concatenate([np.zeros(len(where)), *(w for _, w in parts), np.zeros(len(extra))])
    order = np.argsort(s, kind="stable")
    return Grid(_frozen(s[order]), _frozen(w[order]), _frozen(np.array(where)))


def _put(place: Place, nodes: list[float] | Array, k: int, near: float) -> None:
    """Put a place on the node ``k``; BadInput where that is elsewhere."""
    if np.isnan(nodes[k]):
        nodes[k] = place.s
    elif abs(nodes[k] - place.s) > near:
        raise BadInput(
            f"{place.label} at s = {place.s:g} m shares its place with something else in the structure, or with a "
            f"quadrature point, which is at s = {nodes[k]:g} m here"
        )


def _check_borders(plan: GridPlan, elements: Elements, where: Sequence[float]) -> None:
    """Borders are in their order, and no element is much longer than its points are meant for."""
    if any(d - c <= same_place(where[-1]) for c, d in pairwise(where)):
        found = ", ".join(f"{s:g}" for s in where)
        raise BadInput(f"what divides it is at s = {found} m: in another order than in the structure, or in one place")
    for (c, d), n, m in zip(pairwise(where), _shares(elements, where, plan.borders), plan.points, strict=True):
        if n > _COARSE * m:
            raise BadInput(
                f"{n} quadrature points are wanted from s = {c:g} to {d:g} m, {m} are in the structure, which was "
                "made for a shorter part"
            )


def _quadrature(points: Sequence[int], where: Sequence[float]) -> list[tuple[Array, Array]]:
    """Quadrature points and their weights between each two borders."""
    found = []
    for (c, d), m in zip(pairwise(where), points, strict=True):
        x, w = gauss(m)
        found.append((0.5 * ((d - c) * x + c + d), 0.5 * (d - c) * w))
    return found


@cache
def gauss(points: int) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights on [-1, 1]; found once, since rods are built by the thousand in searches."""
    x, w = leggauss(points)
    return _frozen(x), _frozen(w)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
