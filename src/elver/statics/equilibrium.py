"""Equilibria: Newton on the residual at rest, with load stepping, and their stability.

Statics is dynamics standing still: the same residual and tangent with zero rates (Gotelli 2024, Alg. 16). The full
load is tried first; where Newton fails, or lands on an unstable shape, loops are closed and the loads are raised from
zero in steps, so that the equilibrium found is the one reached from rest. Where that fails too, as for linkages that
only their weight brings to rest, the potential is descended (:mod:`elver.statics.settling`). Residuals are measured as
work: a generalized force times a unit change of its coordinate (1/L for curvature), over EI/L.

Theory: docs/theory/statics.md, eq. (rest), (second-variation), (small-motions).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from elver.dynamics.core import Arrays, Core, arrays, as_state, core, nodes, poses
from elver.errors import BadInput, NotConverged, positive
from elver.kernels.march import March, march_for
from elver.lie.integration import magnus
from elver.mechanism import Frame, Joint, Part
from elver.results import reactions, sample
from elver.rods import Rod
from elver.rods.fields import Station
from elver.statics.closing import REACHED, cannot_close, close, gap
from elver.statics.moving import at_rest, carried, check_steady, gyroscopic_growth, inputs_at, ramped_twist
from elver.statics.settling import Constrained, constrained, settle
from elver.system import Inputs, State, System
from elver.values import Carried

__all__ = ["Equilibrium", "Stability", "equilibrium", "stability"]

Array: TypeAlias = NDArray[np.float64]

# Longest Newton step, in units of the coordinates: one radian over the length of the rod.
_LONGEST_STEP = 1.5
_SMALLEST_LOAD_STEP = 1.0 / 1024.0
_CLOSED = 1e-9  # gap of closures that is none, in rad or lengths of the robot
_REASONS = {
    -1: "did not converge",
    -2: "met a singular stiffness (a limit point, or a motion that nothing resists)",
    -3: "met numbers that are not finite",
}


@dataclass(frozen=True, eq=False)
class Equilibrium(Carried):
    """A state at rest in balance with its inputs."""

    system: System
    state: State
    inputs: Array
    """Value of every channel, in the order of ``system.channel_names``."""
    stable: bool
    iterations: int
    residual: float
    """Scaled residual: work of the imbalance over a unit change of a coordinate, divided by EI/L."""

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
            raise BadInput(f"{getattr(part, 'name', part)!r} is not in this mechanism: choose among {known}")
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
        return sample(self, part, at)

    def stress(self, part: Part | str | None = None, at: ArrayLike | Station = "base") -> Array:
        """Internal stress Λ = (moment [N m]; force [N]) of a rod at ``at``, section axes, (6,) or (len(at), 6).

        It is what the part beyond exerts on the part before, tendons and other actuators in the section included.
        """
        found = sample(self, part, at)
        return np.concatenate([found["moment"].values, found["force"].values], axis=-1)

    @property
    def reactions(self) -> xr.Dataset:
        """Wrench on each side of every joint, clamp and hold: :func:`elver.reactions`."""
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

    stable: bool
    eigenvalues: Array
    """Smallest first [J]: second variation per squared unit change (1/L of curvature, 1 rad, L of the base)."""
    modes: Array
    """Columns (coordinates, count): directions of the eigenvalues in the system's coordinates."""


class _Solver:
    """Compiled Newton of one system with its scratch arrays."""

    def __init__(self, system: System, tolerance: float, max_iterations: int) -> None:
        self.core: Core = core(system)
        self.tolerance = tolerance
        self.scratch: March = march_for(
            self.core.coordinates, self.core.n, self.core.rows, self.core.assembly.scale, 1
        )
        self.history = np.zeros(max_iterations)

    def __call__(self, a: Arrays, u: Array) -> int:
        """Newton in place; number of iterations, or a negative status."""
        k = self.core
        return int(
            k.solve_static(
                self.scratch, a.base, a.twist, a.q, a.multipliers, u,
                k.assembly.energy, self.tolerance, _LONGEST_STEP, self.history,
            )
        )  # fmt: skip

    @property
    def norms(self) -> tuple[float, ...]:
        return tuple(float(x) for x in self.history[np.isfinite(self.history)])


def equilibrium(
    system: System,
    inputs: Inputs | None = None,
    guess: State | Equilibrium | None = None,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 40,
) -> Equilibrium:
    """State at rest in balance with ``inputs`` (signals are taken at the time of the guess, 0 s by default).

    For robots with loops this is the forward geometrico-static model: ``equilibrium(...).pose(platform)``. ``guess`` is
    where Newton starts: a nearby state or equilibrium; rods at rest and joints at their start by default, which may be
    off by tens of degrees. Raises :class:`NotConverged` when there is no equilibrium to be found, with the loop that
    does not close and its gap in m and rad; the error's ``result`` is the equilibrium at the largest part of the loads
    that was reached. Without a guess, :class:`BadInput` names the motions that nothing resists.
    """
    positive("tolerance", tolerance, "(relative residual)")
    if max_iterations < 1:
        raise BadInput(f"max_iterations = {max_iterations}: allow at least one Newton step")
    tied = any("world" in (joint.a.part, joint.b.part) for joint in system.mechanism.tree.cuts)
    if system.free and not system.mechanism.holds and not tied:
        raise BadInput(
            "equilibrium: the base is free and nothing holds it, so no pose is better than another; "
            "use Mechanism.clamped(rod), or add holds=[Hold(...)]"
        )
    start = carried(system, system.check_state(guess or system.rest()))
    signals = system.signals(inputs)
    target = inputs_at(system, signals, start.time)
    solver = _Solver(system, tolerance, max_iterations)
    found = _search(system, start, target, solver, guess)
    if guess is None and not found.stable:
        here = constrained(solver.core, _at_rest(found.state), target)
        if free := free_motions(here):
            raise BadInput(
                f"equilibrium: nothing resists {free}, so no position is better than another; add a spring, gravity "
                "or an imposed motion, or take the equilibrium nearest to a state with guess=assemble(system)"
            )
    check_steady(solver.core, found.state, target, signals)
    return found


def _search(
    system: System, start: State, target: Array, solver: _Solver, guess: State | Equilibrium | None
) -> Equilibrium:
    """The first stable equilibrium found, else an unstable one."""
    found = _newton(system, _at_rest(start), target, start.time, solver)
    if found is not None and (found.stable or isinstance(guess, Equilibrium)):
        return found
    rest = system.rest(start.time).with_(g=start.g) if system.free else system.rest(start.time)
    none = system.ramped(target, 0.0)
    first = _at_rest(start if guess is not None and solver.core.rows else rest)
    if solver.core.rows and gap(solver.core, first, none) > _CLOSED:
        first = close(solver.core, first, none)
        if gap(solver.core, first, none) > REACHED:
            raise NotConverged(
                f"equilibrium: {cannot_close(solver.core, first, none)}", history=solver.norms, result=found
            )
        near = _newton(system, _copy(first), target, start.time, solver)
        if near is not None and near.stable:
            return near
        found = found or near
    try:
        last = _ramp(system, first, start.time, target, solver)
        if last.stable:
            return last
        found = found or last
        trouble = None
    except NotConverged as error:
        trouble = error
    # An unstable shape that rods reach from rest is an answer; of joints it is only where Newton happened to land.
    joints = any(isinstance(part, Joint) for part in system.blocks)
    settled = settle(solver.core, _copy(first), target, solver.tolerance) if joints else None
    if settled is not None:
        a, steps, residual = settled
        low = _finish(system, a, target, start.time, steps, solver, residual)
        if low.stable:
            return low
        found = found or low
    if found is None:
        assert trouble is not None
        raise trouble
    return found


def _copy(a: Arrays) -> Arrays:
    return Arrays(a.base.copy(), a.twist.copy(), a.q.copy(), a.multipliers.copy())


def free_motions(here: Constrained) -> str:
    """Motions that nothing resists, in words: how many, and the coordinates that take most part; empty if none."""
    motions = here.neutral()
    if not motions.shape[1]:
        return ""
    count = motions.shape[1]
    return f"{'a motion' if count == 1 else f'{count} motions'} of {in_words(here.kernels.system, motions)}"


def in_words(system: System, motions: Array) -> str:
    """Names of the coordinates with the largest part in some motions (coordinates, count), given in their units."""
    base = tuple(f"base/{kind}_{axis}" for kind in ("rotation", "position") for axis in "xyz") if system.free else ()
    names = (*base, *system.coordinate_names)
    share = np.linalg.norm(motions / core(system).assembly.scale[:, None], axis=1)
    order = [k for k in np.argsort(-share, kind="stable") if share[k] > 0.3 * share.max()]
    return ", ".join(names[k] for k in order[:4]) + (", ..." if len(order) > 4 else "")


def _newton(system: System, a: Arrays, u: Array, time: float, solver: _Solver) -> Equilibrium | None:
    """Newton in place from ``a``; None where it fails."""
    status = solver(a, u)
    return _finish(system, a, u, time, status, solver) if status >= 0 else None


def _at_rest(state: State) -> Arrays:
    return at_rest(state)


def _ramp(system: System, a: Arrays, time: float, target: Array, solver: _Solver) -> Equilibrium:
    """Raise all inputs from zero at ``a`` to ``target`` with steps that adapt to Newton."""
    reached, step, total, full = 0.0, 0.25, 0, a.twist
    last: Equilibrium | None = None
    while reached < 1.0:
        step = min(step, 1.0 - reached)
        trial = replace(_copy(a), twist=ramped_twist(full, reached + step))
        status = solver(trial, system.ramped(target, reached + step))
        if status >= 0 and _leap(a, trial, solver) < 3.0:
            a, reached, total = trial, reached + step, total + status
            last = _finish(system, a, system.ramped(target, reached), time, total, solver)
            step *= 2.0 if status <= 6 else 1.0
            continue
        step *= 0.5
        if step < _SMALLEST_LOAD_STEP:
            why = _REASONS.get(status, "jumped to another shape")
            norms = solver.norms or (float("nan"),)
            here = constrained(solver.core, a, system.ramped(target, reached))
            free, idle = free_motions(here), ", ".join(here.idle_rows())
            raise NotConverged(
                f"equilibrium: Newton {why} beyond {100.0 * reached:.1f} % of the inputs "
                f"(residual {norms[-1]:.1e}, wanted {solver.tolerance:.0e}); "
                + (f"there nothing resists {free}; " if free else "")
                + (f"there {idle} hold what other closures and imposed motions hold already; " if idle else "")
                + "there may be no equilibrium beyond: "
                "follow the branch with continuation(...), or lighten the load; .result holds the last one found",
                history=norms,
                result=last,
            )
    assert last is not None
    return last


def _leap(a: Arrays, b: Arrays, solver: _Solver) -> float:
    """Largest change of a strain coordinate in its unit, to notice a jump between branches."""
    k = solver.core
    return float(np.max(np.abs(b.q[0] - a.q[0]) / k.assembly.scale[k.coordinates - k.n :], initial=0.0))


def _finish(
    system: System, a: Arrays, u: Array, time: float, iterations: int, solver: _Solver, residual: float | None = None
) -> Equilibrium:
    norms = solver.norms
    matrix = solver.core.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
    stable = _positive(matrix, solver.core, a, u)
    if residual is None:
        residual = norms[-1] if norms else 0.0
    return Equilibrium(system, as_state(a, time), u, stable, iterations, residual)


def _reduced(matrix: Array, kernels: Core, own: Array | None = None) -> tuple[Array, Array]:
    """Scaled Hessian on the motions allowed by the closures, and their basis in scaled coordinates."""
    c, scale = kernels.coordinates, kernels.assembly.scale if own is None else own
    K = scale[:, None] * matrix[:c, :c] * scale
    imposed = np.eye(c)[c - kernels.n + kernels.program.imposed[:, 0]]
    J = np.vstack([matrix[c:, :c] * scale, imposed])
    if J.size == 0:
        return K, np.eye(c)
    _, sizes, Vt = np.linalg.svd(J)
    rank = int(np.sum(sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)))
    Z = Vt[rank:].T
    return Z.T @ K @ Z, Z


def _positive(matrix: Array, kernels: Core, a: Arrays, u: Array) -> bool:
    """True when no small motion about the equilibrium grows, and none is free.

    With a potential the Hessian decides. Follower loads and couples fixed in space have none: then M⁻¹K decides,
    whose eigenvalues must be real and positive (a negative one is divergence, a complex pair flutter; damping left
    out).
    """
    c, scale = kernels.coordinates, kernels.assembly.scale
    K, Z = _reduced(matrix, kernels)
    if kernels.moves(a, u) and not (_symmetric(K) and np.linalg.eigvalsh(K)[0] > 0.0):
        D, M = (Z.T @ (scale[:, None] * kernels.tangent(a, u, w)[:c, :c] * scale) @ Z for w in ((0, 1, 0), (0, 0, 1)))
        growth, slowest = gyroscopic_growth(M, D, K)
        return growth < 1e-6 and slowest > 1e-6
    if not _symmetric(K):
        mass = kernels.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]
        values = np.linalg.eigvals(np.linalg.solve(Z.T @ (scale[:, None] * mass * scale) @ Z, K))
        # equal pairs (a round section) split by the root of rounding
        return bool(np.all(values.real > 0.0) and np.all(np.abs(values.imag) <= 1e-5 * np.abs(values)))
    # coordinates in units in which their own stiffness is one: a pivot that is rounding is then seen as such
    own = np.sqrt(np.maximum(np.abs(np.diag(matrix)[:c]) * scale**2 / kernels.assembly.energy, 1.0))
    K, _ = _reduced(matrix, kernels, scale / own)
    try:
        factor = np.linalg.cholesky(0.5 * (K + K.T) / kernels.assembly.energy)
    except np.linalg.LinAlgError:
        return False
    return bool(np.min(np.diag(factor), initial=1.0) > 3e-6)


def _symmetric(K: Array) -> bool:
    return bool(np.max(np.abs(K - K.T), initial=0.0) < 1e-6 * np.max(np.abs(K), initial=1.0))


def stability(system: System | Equilibrium, at: Equilibrium | None = None, count: int = 6) -> Stability:
    """Stability of an equilibrium from the Hessian of its potential on the motions that holds allow.

    Stable when all eigenvalues are positive. Follower loads and couples fixed in space have no potential: the
    verdict is then that of the undamped small motions, divergence and flutter, and the eigenvalues shown are real
    parts only.
    """
    if isinstance(system, Equilibrium):
        at = at or system
        system = system.system
    if not isinstance(at, Equilibrium):
        raise BadInput(f"stability: at is a {type(at).__name__}: give an Equilibrium")
    kernels = core(system)
    matrix = kernels.tangent(_at_rest(at.state), at.inputs, (1.0, 0.0, 0.0), jets=1)
    K, Z = _reduced(matrix, kernels)
    if _symmetric(K):
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    else:
        complex_values, complex_vectors = np.linalg.eig(K)
        order = np.argsort(complex_values.real)
        values, vectors = complex_values.real[order], complex_vectors.real[:, order]
    shapes = kernels.assembly.scale[:, None] * (Z @ vectors)
    stable = _positive(matrix, kernels, _at_rest(at.state), at.inputs)
    return Stability(stable, values[:count], shapes[:, :count])
