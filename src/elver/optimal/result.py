"""What every method says of an equilibrium of one rod: its tip, its reactions, the nearest state of strain modes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.optimal.problem import RodProblem
from elver.rods import Rod
from elver.system import State, System

__all__ = ["Reaction", "RodResult", "StrainField", "project"]

Array: TypeAlias = NDArray[np.float64]
StrainField: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Reaction:
    """What a held end does to the rod: ``moment`` [N m] and ``force`` [N] in world axes, at the end's centre."""

    moment: Array
    force: Array


class RodResult(ABC):
    """Poses ``g`` (n, 4, 4) and stresses ``stress`` Λ (n, 6) at the nodes of a ``problem``, from base to tip."""

    problem: RodProblem
    g: Array
    stress: Array

    @abstractmethod
    def strain(self, s: ArrayLike) -> Array:
        """ξ (n, 6) at ``s`` (n,) [m]."""

    @property
    def tip(self) -> Array:
        """Pose of the tip, (4, 4) world from section."""
        return np.array(self.g[-1])

    @property
    def reactions(self) -> dict[str, Reaction]:
        """Reaction at each held end: "base", "tip"."""
        found = {}
        for name, end, wrench, k, sign in (
            ("base", self.problem.base, self.problem.base_wrench, 0, -1.0),
            ("tip", self.problem.tip, self.problem.tip_wrench, -1, 1.0),
        ):
            if end.held:
                R = self.g[k, :3, :3]
                excess = sign * self.stress[k] - wrench.at(self.g[k])[0]
                found[name] = Reaction(R @ excess[:3], R @ excess[3:])
        return found

    def to_state(self, system: System) -> State:
        """State of ``system`` with the strain projected on the rod's basis: q = argmin ∫ |ξ - ξ₀ - BΦq|² ds."""
        rod = system.rod
        q = project(rod, self.strain)
        state = system.rest()
        full = state.q.copy()
        full[system.coordinates(rod)] = q
        changes: dict[str, Any] = {"q": full}
        if system.free:
            changes["g"] = self.g[0]
        return state.with_(**changes)


def project(rod: Rod, strain: StrainField) -> Array:
    """Coordinates q (n,) of the strain nearest to ``strain(s)`` (n, 6) in the sense of L²."""
    grid = rod.grid
    on = grid.weights > 0.0
    s, w = grid.s[on], grid.weights[on]
    missing = np.asarray(strain(s)) - rod.rest_strain(s)
    Phi = rod.functions(s)
    q = np.zeros(rod.n)
    for c in range(6):
        own = rod.component == c
        if own.any():
            root = np.sqrt(w)
            q[own] = np.linalg.lstsq(root[:, None] * Phi[:, own], root * missing[:, c], rcond=None)[0]
    return q
