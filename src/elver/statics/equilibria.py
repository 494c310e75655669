"""Several equilibria of one system under the same inputs, from starts that are spread over its shapes.

Each start is a smooth random strain of every rod (curvatures and twist linear along it, or of a higher degree, of
several sizes) with joints turned at random, closed by the shortest way. From there Newton finds what balances near, and
descent the minimum below; what is unstable is left to either side along its softest motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core, core
from elver.dynamics.quantities import observe_states
from elver.dynamics.states import Arrays
from elver.errors import BadInput, NotConverged
from elver.guards import guarded
from elver.statics.closing import REACHED, bent, project, relax, retract, turned
from elver.statics.equilibrium import Equilibrium, Solver
from elver.statics.gaps import gap
from elver.statics.moving import at_rest, carried, inputs_at
from elver.statics.search import Search, stands
from elver.statics.settling import constrained
from elver.system import Inputs, System

__all__ = ["equilibria"]

Array: TypeAlias = NDArray[np.float64]

_OPEN = 1e-6  # gap of closures, in rad or lengths of the robot, that is worth a word
_SAME = 1e-6  # largest distance of points of one shape, in lengths of the robot
_SAME_POTENTIAL = 1e-8  # part of the potential, between shapes that a neutral motion joins
_SIZES = (1.5, 3.0, 6.0)  # standard deviation of L times a curvature, in turn
_DEGREES = (1, 1, 3)  # of the strain along the rod, in turn
_ASIDE = 0.2  # way along the softest motion of what is unstable, in units of the coordinates


@guarded
def equilibria(
    system: System,
    inputs: Inputs | None = None,
    count: int = 8,
    *,
    seed: int = 0,
    starts: int = 40,
    unstable: bool = True,
    tolerance: float = 1e-10,
) -> list[Equilibrium]:
    """Up to ``count`` equilibria that differ in the pose of some part: stable ones first, each by its potential.

    The search begins where ``equilibrium(system, inputs)`` ends, and goes on from ``starts`` shapes with joints turned
    and rods bent and twisted at random, always the same for one ``seed``; it cannot prove that there are no more. Of
    shapes that a neutral motion joins one is kept; unstable ones are left out if ``unstable`` is False.
    """
    for name, value in (("count", count), ("starts", starts)):
        if int(value) != value or value < 1:
            raise BadInput(f"{name} = {value}: give a whole number >= 1")
    rest = carried(system, system.rest())
    u = inputs_at(system, system.signals(inputs), rest.time)
    found = _Found(Search(system, u, rest.time, Solver(system, tolerance, 40)))
    with suppress(NotConverged):
        found.keep(found.search.stable(rest, None))
    for a in _closed_starts(found, int(starts), np.random.default_rng(seed)):
        near = found.search.newton(a)
        found.keep(near)
        if not stands(near):
            found.keep(found.search.descend(a))
    for saddle in [one for one in found.equilibria if one.stable is False][: int(count)]:
        for side in (1.0, -1.0):
            found.keep(found.search.descend(_aside(found.kernels, saddle, side)))
    ordered = sorted(found.equilibria, key=lambda one: (one.stable is False, one.potential))
    chosen = [one for one in ordered if unstable or stands(one)][: int(count)]
    if not chosen:
        raise NotConverged(
            f"equilibria: no {'' if unstable else 'stable '}equilibrium found from {starts} starts"
            + (f"; the closures stay open by {found.nearest:.2g} (rad, lengths)" if found.nearest > _OPEN else "")
            + "; equilibrium(system, ...) says more"
        )
    return chosen


class _Found:
    """What has been found so far, without repetitions."""

    def __init__(self, search: Search) -> None:
        self.search, self.kernels = search, search.solver.core
        self.nearest = np.inf if self.kernels.rows else 0.0  # least gap of all starts
        self._kept: list[tuple[Array, Equilibrium]] = []

    @property
    def equilibria(self) -> list[Equilibrium]:
        return [one for _, one in self._kept]

    def keep(self, found: Equilibrium | None) -> None:
        """Add an equilibrium, unless it is there."""
        if found is None:
            return
        points = _points(found.system, found)
        if not any(self._same(found, points, *other) for other in self._kept):
            self._kept.append((points, found))

    def _same(self, found: Equilibrium, points: Array, other_points: Array, other: Equilibrium) -> bool:
        if np.max(np.abs(points - other_points)) < _SAME * self.kernels.assembly.length:
            return True
        if found.stable != "neutral" or other.stable != "neutral":
            return False
        size = max(abs(found.potential), abs(other.potential), self.kernels.assembly.energy)
        return abs(found.potential - other.potential) < _SAME_POTENTIAL * size


def _closed_starts(found: _Found, starts: int, random: np.random.Generator) -> Iterator[Arrays]:
    """Random shapes that meet the closures."""
    kernels, u = found.kernels, found.search.target
    for k in range(starts):
        a = _random_start(kernels, random, k)
        if kernels.rows:
            kernels.residual(a, u, jets=1)  # imposed coordinates take their values
            # by the smallest motion, since relaxing a random start first would lead all of them to one shape
            a = project(kernels, a, u)
            if gap(kernels, a, u) > REACHED:
                a = relax(kernels, a, u)
            found.nearest = min(found.nearest, gap(kernels, a, u))
            if gap(kernels, a, u) > REACHED:
                continue
        yield a


def _random_start(kernels: Core, random: np.random.Generator, k: int) -> Arrays:
    """Joints turned, rods bent and twisted, by the ``k``-th of the sizes and degrees."""
    rest = kernels.system.rest()
    q = rest.q + turned(kernels, random)
    rods = len(kernels.system.mechanism.rods)
    for component in (0, 1, 2):
        for degree in range(_DEGREES[k // 3 % 3] + 1):
            size = _SIZES[k % 3] * (0.5 if component == 0 else 1.0) / (1.0 + degree) ** 0.5
            q = q + bent(kernels, component, size * random.normal(size=rods), degree)
    return at_rest(rest.with_(q=q))


def _aside(kernels: Core, saddle: Equilibrium, side: float) -> Arrays:
    """The shape beside an unstable one, to one side along the motion that lowers its potential most."""
    a = at_rest(saddle.state)
    here = constrained(kernels, a, saddle.inputs)
    _, vectors = np.linalg.eigh(0.5 * (here.H + here.H.T))
    step = np.zeros(kernels.coordinates)
    step[here.free] = here.scale * (here.Z @ vectors[:, 0]) * side * _ASIDE
    return replace(retract(kernels, a, step), multipliers=a.multipliers.copy())


def _points(system: System, found: Equilibrium) -> Array:
    """What tells one shape from another: origins of all frames, and points beside them along their axes."""
    a = at_rest(found.state)
    seen = observe_states(system, a.base[None], a.twist[None], a.q[None], found.inputs[None])
    length = core(system).assembly.length
    return np.concatenate([seen.position[0][:, None], length * np.swapaxes(seen.rotation[0], 1, 2)], axis=1)
