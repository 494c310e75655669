"""What every method says of an equilibrium of one rod, and what every method may be given to start from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput
from elver.one_rod.problem import RodProblem
from elver.rods import Rod
from elver.system import State, System
from elver.values import Carried
from elver.words import brief

__all__ = ["Guess", "Reaction", "RodResult", "StrainField", "project", "strain_of"]

Array: TypeAlias = NDArray[np.float64]
StrainField: TypeAlias = Callable[[Array], Array]
Guess: TypeAlias = "RodResult | State | StrainField | ArrayLike | None"


@brief
@dataclass(frozen=True, eq=False)
class Reaction:
    """What a held end does to the rod: ``moment`` [N m] and ``force`` [N] in world axes, at the end's centre."""

    moment: Array
    force: Array


class RodResult(Carried, ABC):
    """Poses ``g`` (n, 4, 4) and stresses ``stress`` Λ (n, 6) at nodes ``s`` (n,) [m] of a ``problem``, base to tip."""

    problem: RodProblem
    s: Array
    g: Array
    stress: Array

    def __repr__(self) -> str:
        x, y, z = self.g[-1, :3, 3]
        return f"<{type(self).__name__} of {self.problem.name!r}: tip ({x:.6g}, {y:.6g}, {z:.6g}) m>"

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


def strain_of(guess: Any, problem: RodProblem, system: System | None = None) -> StrainField:
    """The strain field that ``guess`` stands for, checked at every call; :class:`BadInput` where it stands for none.

    A guess is an earlier result (of a rod of any length), a state or an equilibrium of ``system``, six strains
    [1/m, m/m], or a function of s (n,) [m] that returns (n, 6).
    """
    state = guess if isinstance(guess, State) else getattr(guess, "state", None)
    field: Callable[..., Any]
    if isinstance(guess, RodResult):
        scale = guess.problem.length / problem.length
        field = lambda s: guess.strain(np.minimum(s * scale, guess.problem.length))  # noqa: E731
    elif isinstance(state, State):
        if system is None:
            raise BadInput("guess is a State: give the System it belongs to, instead of a RodProblem")
        system.check_state(state)
        q = state.q[system.coordinates(system.rod)]
        field = lambda s: system.rod.strain(s, q)  # noqa: E731
    elif callable(guess):
        field = guess
    else:
        try:
            constant = np.array(guess, dtype=float)
        except (TypeError, ValueError):
            constant = np.empty(0)
        if constant.shape != (6,):
            given = f"has shape {constant.shape}" if constant.size else f"is a {type(guess).__name__}"
            raise BadInput(
                f"guess {given}: give a result, a state, a strain (6,), or a function of s that returns (n, 6)"
            )
        field = lambda s: np.tile(constant, (s.size, 1))  # noqa: E731

    def checked(s: Array) -> Array:
        xi = np.array(field(s), dtype=float)
        if xi.shape != (s.size, 6):
            raise BadInput(f"guess returned shape {xi.shape} for {s.size} positions; return ({s.size}, 6)")
        if not np.all(np.isfinite(xi)):
            raise BadInput(f"guess: the strain at s = {s[~np.isfinite(xi).all(axis=1)][0]:g} m is not a finite number")
        return xi

    return checked


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
