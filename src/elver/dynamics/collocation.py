"""Rods cut into smooth elements with Chebyshev-Lobatto nodes, and linear equations along one of them.

A rod is cut at the breaks of its basis, where loads begin or end, and at wrenches and holds; between the elements are
stations, where something acts on a section.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Muscle, Pressure, SpooledTendon, Tendon
from elver.environment import DistributedWrench, PointWrench
from elver.errors import ElverWarning
from elver.numerics.quadrature import chebyshev_differentiation, clenshaw_curtis
from elver.rods import Rod, SpaceIntegration
from elver.system import System

__all__ = ["Collocation", "Element", "Load", "Station", "discretise", "with_integration"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Load:
    """A wrench, or wrench density at the nodes of an element, scaled by an input."""

    channel: int
    follows: bool
    wrench: Array  # (6,) or (nodes, 6): couple, force


@dataclass(frozen=True, eq=False)
class Element:
    """One smooth piece of the rod on its Chebyshev-Lobatto nodes."""

    s: Array  # (N,)
    D: Array  # (N, N) differentiation
    weights: Array  # (N,) Clenshaw-Curtis
    B_Phi: Array  # (N, 6, n)
    xi_rest: Array  # (N, 6)
    inertia: Array  # (N, 6) diagonal of 𝓜
    loads: tuple[Load, ...]


@dataclass(frozen=True, eq=False)
class Station:
    """What acts at an end of an element: wrenches, and rows of holds."""

    loads: tuple[Load, ...]
    rows: tuple[int, ...]


class Collocation:
    """x′ + A x = b on the nodes of an element, x given at one end; factored once for all columns."""

    def __init__(self, D: Array, A: Array, from_tip: bool = False) -> None:
        from scipy.linalg import lu_factor  # slow to import, and every first equilibrium imports this module

        nodes, size = A.shape[:2]
        self.known = nodes - 1 if from_tip else 0
        self.rest = slice(0, nodes - 1) if from_tip else slice(1, nodes)
        matrix = np.einsum("ij,ab->iajb", D[self.rest, self.rest], np.eye(size))
        index = np.arange(nodes - 1)
        matrix[index, :, index, :] += A[self.rest]
        self.factors = lu_factor(matrix.reshape((nodes - 1) * size, -1))
        self.boundary = D[self.rest, self.known]

    def solve(self, b: Array, given: Array) -> Array:
        """x (N, size, columns) for b of that shape and x = ``given`` (size, columns) at the known end."""
        from scipy.linalg import lu_solve

        x = np.empty_like(b)
        right = b[self.rest] - self.boundary[:, None, None] * given
        x[self.known] = given
        x[self.rest] = lu_solve(self.factors, right.reshape(-1, b.shape[-1])).reshape(right.shape)
        return x


def with_integration(system: System, integration: SpaceIntegration) -> System:
    """The same system with another integration of poses along its rod; inputs by name stay the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElverWarning)  # said when the parts were made
        rod = replace(system.rod, integration=integration)

        def moved(parts: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(
                replace(part, part=rod)
                if isinstance(part, PointWrench)
                else replace(part, rod=rod)
                if hasattr(part, "rod")
                else part
                for part in parts
            )

        mechanism = system.mechanism.with_part(system.rod, rod)
        return System(mechanism, moved(system.actuators), moved(system.loads))


def discretise(system: System) -> tuple[tuple[Element, ...], tuple[Station, ...]]:
    """Elements from base to tip, and the stations at their ends (one more than elements).

    A rod in one piece has rod.nodes + 2 collocation nodes. Several elements share them in proportion to their
    lengths, with no fewer than degree + 6 in each: a short element with few nodes would spoil the others.
    """
    rod, L = system.rod, system.rod.length
    index = {id(part): k for k, part in enumerate(system.channels)}
    positions: list[float] = [0.0, L, *rod.expansion.breaks(L), *rod.piece_ends]
    positions += [hold.s(L) for hold in system.mechanism.holds]
    for part in system.channels:
        if isinstance(part, PointWrench):
            positions.append(part.position)
        elif isinstance(part, DistributedWrench | Tendon | SpooledTendon | Pressure | Muscle):
            positions += part.breaks
    ends = np.unique(positions)
    ends = ends[np.diff(ends, prepend=-L) > 1e-10 * L]
    ends[-1] = L

    assert rod.nodes is not None  # a rod fills it in
    least = int(rod.expansion.degree) + 6 if ends.size > 2 else 0
    elements = []
    for a, b in pairwise(ends):
        nodes = max(int(np.ceil((rod.nodes + 2) * (b - a) / L - 1e-9)), least)
        s, weights = clenshaw_curtis(nodes, a, b)
        # Functions may jump at the ends of an element: look from inside.
        inside = np.clip(s, a + 1e-15 * L if a > 0.0 else a, b - 1e-15 * L if b < L else b)
        loads = tuple(
            Load(index[id(load)], load.frame == "section", load.density(s))
            for load in system.loads
            if isinstance(load, DistributedWrench) and load.start <= 0.5 * (a + b) <= load.last
        )
        D = chebyshev_differentiation(nodes, a, b)
        elements.append(
            Element(s, D, weights, _columns(rod, inside), rod.rest_strain(inside), rod.inertia(inside), loads)
        )

    hold_at = [int(np.argmin(np.abs(ends - hold.s(L)))) for hold in system.mechanism.holds]
    row_at = [at for at, hold in zip(hold_at, system.mechanism.holds) for _ in range(hold.rows)]
    wrenches = [load for load in system.loads if isinstance(load, PointWrench)]
    stations = tuple(
        Station(
            tuple(
                Load(index[id(load)], load.frame == "section", load.wrench)
                for load in wrenches
                if int(np.argmin(np.abs(ends - load.position))) == k
            ),
            tuple(row for row, at in enumerate(row_at) if at == k),
        )
        for k in range(ends.size)
    )
    return tuple(elements), stations


def _columns(rod: Rod, s: Array) -> Array:
    """B Φ(s), (len(s), 6, n)."""
    B_Phi = np.zeros((s.size, 6, rod.n))
    B_Phi[:, rod.component, np.arange(rod.n)] = rod.functions(s)
    return B_Phi
