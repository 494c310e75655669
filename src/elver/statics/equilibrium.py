"""Equilibria as values: a state in balance with its inputs, Newton that finds one, and their stability.

Statics is dynamics standing still: the same residual and tangent with zero rates (Gotelli 2024, Alg. 16). Residuals are
measured as work: a generalized force times a unit change of its coordinate (1/L for curvature), over EI/L. Which of
several equilibria is the one that is meant, :mod:`elver.statics.search` decides.

Theory: docs/theory/statics.md, eq. (rest), (second-variation), (small-motions).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.dynamics.core import Core, core
from elver.dynamics.quantities import nodes, poses
from elver.dynamics.states import Arrays, arrays, as_state
from elver.errors import BadInput, refused
from elver.guards import check_system
from elver.lie.integration import magnus
from elver.mechanism import Frame, Part
from elver.rods import Rod
from elver.rods.fields import Station
from elver.statics.moving import at_rest
from elver.statics.potential import potential
from elver.statics.verdict import Stable, reduced, symmetric, verdict, verdict_at
from elver.system import State, System
from elver.values import Carried
from elver.words import describe, listed, place

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["Equilibrium", "Solver", "Stability", "copied", "finish", "newton", "stability"]

Array: TypeAlias = NDArray[np.float64]

# Longest Newton step, in units of the coordinates: one radian over the length of the rod.
_LONGEST_STEP = 1.5


_WORDS: dict[Any, str] = {True: "stable", False: "unstable"}


@dataclass(frozen=True, eq=False)
class Equilibrium(Carried):
    """A state at rest in balance with its inputs."""

    system: System
    state: State
    inputs: Array
    """Value of every channel, in the order of ``system.channel_names``."""
    stable: Stable
    """True; False where a small motion grows; "neutral" where one meets no resistance (``motion`` names it)."""
    iterations: int
    residual: float
    """Scaled residual: work of the imbalance over a unit change of a coordinate, divided by EI/L."""
    motion: str = ""
    """Of what is not stable: the coordinates that take most part in the motion that grows, or is neutral."""

    @cached_property
    def potential(self) -> float:
        """Potential [J] of springs, weight and inputs together, zero with rods and joints at rest.

        Dead forces and tensions count with the work they can do. Loads without a potential (followers, couples fixed in
        space) count with the work along a straight way from rest in the coordinates.
        """
        return potential(core(self.system), at_rest(self.state), self.inputs)

    def __repr__(self) -> str:
        mechanism = self.system.mechanism
        last = mechanism.rods[-1] if mechanism.rods else mechanism.bodies[-1]
        where = f"tip of {last.name!r}" if isinstance(last, Rod) else f"{last.name!r}"
        names = self.system.channel_names
        given = ", ".join(f"{name} = {value:.4g}" for name, value in list(zip(names, self.inputs))[:3])
        title = f" of {self.system.title!r}" if self.system.title else f" of {mechanism.summary}"
        return (
            f"Equilibrium{title}: {_WORDS.get(self.stable, self.stable)}, {where} at {place(self.pose(last)[:3, 3])}"
            f"{f', {given}' if given else ''}{', ...' if len(names) > 3 else ''}"
        )

    @property
    def tip(self) -> Array:
        """Pose of the tip, (4, 4) world from section."""
        return poses(self.system, self.state)[-1]

    def pose(self, part: Part | str | None = None, at: Station | None = None) -> Array:
        """Pose (4, 4) in the world of a body, or of a section of a rod.

        ``part`` may be a name, and left out where there is one rod; ``at`` is "base", "tip" or s [m], for rods, the tip
        by default.
        """
        mechanism = self.system.mechanism
        part = mechanism.part(part) if isinstance(part, str) else (part or mechanism.rod)
        if part not in mechanism.parts:
            known = ", ".join(repr(other.name) for other in mechanism.parts)
            raise BadInput(f"{describe(part)} is not in this mechanism: choose among {known}")
        frame = Frame(part, (at or "tip") if isinstance(part, Rod) and at != 0.0 else at)
        if not isinstance(part, Rod):
            return poses(self.system, self.state, part)
        # from the nearest node along the strain, for sections between nodes
        s, all_poses = nodes(self.system, part), poses(self.system, self.state, part)
        near = int(np.argmin(np.abs(s - frame.s)))
        if abs(s[near] - frame.s) < 1e-12 * part.length:
            return all_poses[near]
        near = int(np.searchsorted(s, frame.s)) - 1
        q = self.state.q[self.system.coordinates(part)]
        return all_poses[near] @ magnus(lambda x: part.strain(x, q), np.array([s[near], frame.s]))[-1]

    def sample(self, part: Part | str | None = None, at: ArrayLike | Station | None = None) -> xr.Dataset:
        """Poses, strains and internal stress of a part at any places, by name: :func:`elver.sample`."""
        from elver.results import sample  # asked for when all is done, if at all

        return sample(self, part, at)

    def stress(self, part: Part | str | None = None, at: ArrayLike | Station = "base") -> Array:
        """Internal stress Λ = (moment [N m]; force [N]) of a rod at ``at``, section axes, (6,) or (len(at), 6).

        It is what the part beyond exerts on the part before, tendons and other actuators in the section included.
        """
        found = self.sample(part, at)
        return np.concatenate([found["moment"].values, found["force"].values], axis=-1)

    @property
    def reactions(self) -> xr.Dataset:
        """Wrench on each side of every joint, clamp and hold: :func:`elver.reactions`."""
        from elver.results import reactions  # asked for when all is done, if at all

        return reactions(self)

    @property
    def multipliers(self) -> dict[str, float]:
        """Reactions of cut joints and holds, and tensions of spooled tendons, by name, N and N m."""
        names = (name for name, _ in self.system.multipliers)
        return dict(zip(names, map(float, self.state.multipliers), strict=True))

    @property
    def efforts(self) -> dict[str, float]:
        """What holds each imposed coordinate in place, by name: N m or N at joints, N m² for curvatures."""
        kernels = core(self.system)
        kernels.residual(arrays(self.state), self.inputs, jets=1)
        names = (self.system.label(part) for part in self.system.imposed)
        return dict(zip(names, map(float, kernels.work.effort), strict=True))


@dataclass(frozen=True, eq=False)
class Stability:
    """Second variation of the potential on the motions that holds allow."""

    stable: Stable
    """True, False, or "neutral" where a motion neither raises nor lowers the potential."""
    eigenvalues: Array
    """Smallest first [J]: second variation per squared unit change (1/L of curvature, 1 rad, L of the base)."""
    modes: Array
    """Columns (coordinates, count): directions of the eigenvalues in the system's coordinates."""
    motion: str = ""
    """Coordinates that take most part in the motion that lowers the potential, or that nothing resists."""

    def __repr__(self) -> str:
        return f"Stability: {_WORDS.get(self.stable, self.stable)}, smallest eigenvalues {listed(self.eigenvalues)} J"


class Solver:
    """Compiled Newton of one system."""

    def __init__(self, system: System, tolerance: float, max_iterations: int) -> None:
        self.core: Core = core(system)
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.history = np.zeros(0)

    def __call__(self, a: Arrays, u: Array) -> int:
        """Newton in place; number of iterations, or a negative status."""
        status, norms = self.core.solve_static(a, u, (self.tolerance, self.max_iterations, _LONGEST_STEP))
        self.history = norms[np.isfinite(norms)]
        return status

    @property
    def norms(self) -> tuple[float, ...]:
        """Residuals of the last Newton, one per iteration."""
        return tuple(map(float, self.history))


def copied(a: Arrays) -> Arrays:
    """The same state in arrays of its own."""
    return Arrays(a.base.copy(), a.twist.copy(), a.q.copy(), a.multipliers.copy())


def newton(system: System, a: Arrays, u: Array, time: float, solver: Solver) -> Equilibrium | None:
    """Newton in place from ``a``; None where it fails."""
    status = solver(a, u)
    return finish(system, a, u, time, status, solver) if status >= 0 else None


def finish(
    system: System, a: Arrays, u: Array, time: float, iterations: int, solver: Solver, residual: float | None = None
) -> Equilibrium:
    """The equilibrium at ``a``, with the verdict on its stability."""
    norms = solver.norms
    judged = verdict_at(solver.core, a, u)
    if residual is None:
        residual = norms[-1] if norms else 0.0
    return Equilibrium(system, as_state(a, time), u, judged.stable, iterations, residual, judged.motion)


def stability(system: System | Equilibrium, at: Equilibrium | None = None, count: int = 6) -> Stability:
    """Stability of an equilibrium from the Hessian of its potential on the motions that holds allow.

    Stable when all eigenvalues are positive. Follower loads and couples fixed in space have no potential: the
    verdict is then that of the undamped small motions, divergence and flutter, and the eigenvalues shown are real
    parts only.
    """
    if isinstance(system, Equilibrium):
        at = at or system
        system = system.system
    check_system("stability", system)
    if not isinstance(at, Equilibrium):
        raise refused("stability", "at", at, "an Equilibrium", "equilibrium(system, inputs)")
    kernels = core(system)
    matrix = kernels.tangent(at_rest(at.state), at.inputs, (1.0, 0.0, 0.0), jets=1)
    K, Z = reduced(matrix, kernels)
    if symmetric(K):
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    else:
        complex_values, complex_vectors = np.linalg.eig(K)
        order = np.argsort(complex_values.real)
        values, vectors = complex_values.real[order], complex_vectors.real[:, order]
    shapes = kernels.assembly.scale[:, None] * (Z @ vectors)
    judged = verdict(matrix, kernels, at_rest(at.state), at.inputs)
    return Stability(judged.stable, values[:count], shapes[:, :count], judged.motion)
