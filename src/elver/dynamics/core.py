"""Residual and tangent of a system at a state: the bridge between frozen values and kernels.

    R = Q_inertia + Q_elastic + Q_damping - Q_load - Q_act + Jᵀλ         (CONVENTIONS, "Residual")

A free base comes first in R and in all matrices, as body wrench against body twist. Everything here is a function
of a system and a state; there is no step size.

Theory: docs/theory/recursion.md, eq. (residual), (rows), (tangent); docs/theory/loops.md, eq. (dropped-row).
"""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from elver.actuation import SpooledTendon, Tendon
from elver.bodies import RigidBody
from elver.dynamics.assembly import Assembly, assemble, assembly_of
from elver.errors import BadInput, ElverWarning
from elver.kernels import entry
from elver.kernels.articulated import Sweep, sweep_for
from elver.kernels.march import March
from elver.kernels.program import Program, work_for
from elver.kernels.robot import robot_of
from elver.kernels.warmup import COMMON, ensure
from elver.lie import se3
from elver.mechanism import Driven
from elver.rods import Rod, Spectral
from elver.system import Balanced, Inputs, State, System, situation
from elver.words import brief, describe

__all__ = [
    "Arrays",
    "Core",
    "Energy",
    "Observation",
    "TangentInverseDynamics",
    "bias_forces",
    "core",
    "energy",
    "inverse_dynamics",
    "mass_matrix",
    "momentum",
    "nodes",
    "observe_states",
    "poses",
    "prepare",
    "tangent_inverse_dynamics",
]

Array = NDArray[np.float64]

# Compliance of closures that repeat each other, in units of length²/energy: far below any rod's, far above rounding.
_SOFT = 1e-10


@dataclass(frozen=True, eq=False)
class Arrays:
    """A state in the layout of the kernels."""

    base: Array  # (4, 3) rows of R, then p
    twist: Array  # (2, 6)
    q: Array  # (3, n)
    multipliers: Array


class Core:
    """Kernels of one system: its program, which nobody writes to, and the work space of one thread or one run.

    :func:`core` hands out one for each thread; a run, which remembers a matrix from step to step, takes its own
    (:meth:`with_own_work`).
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.assembly: Assembly = assembly_of(system)
        program = self.assembly.program
        # the arrays that are completed below are its own: the assembly is shared
        self._take(
            program._replace(
                tendon_length=program.tendon_length.copy(),
                row_axes=program.row_axes.copy(),
                row_soft=program.row_soft.copy(),
            )
        )
        self.n = system.n
        self.coordinates = self.n + 6 * int(system.free)
        self.rows = len(system.multipliers)
        self.driven = isinstance(system.mechanism.base, Driven)
        if self.program.span_tendon.size:
            self._measure_cables()
        if len(self.program.row_axes):
            self._reduce_rows()

    def _take(self, program: Program) -> None:
        """Work on this program, in new arrays."""
        self.program = program
        self.work = work_for(program)
        self.robot = robot_of(program, self.work)

    def with_own_work(self) -> Self:
        """The same kernels with a work space of their own."""
        other = self._alike()
        other.work = work_for(self.program)
        # a robot ends with the addresses and shapes of its work; those of the program were checked already
        words = [word for array in other.work for word in (array.ctypes.data, *array.shape)]
        other.robot = self.robot.copy()
        other.robot[-len(words) :] = words
        return other

    def _alike(self) -> Self:
        """All but the work space."""
        other = object.__new__(type(self))
        with_work = ("work", "robot", "released", "sweep", "apart", "powers", "_power")
        # a copy first: another thread may just be adding one of these
        other.__dict__.update((name, value) for name, value in dict(vars(self)).items() if name not in with_work)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # addresses mean nothing elsewhere
        return core, (self.system,)

    def _measure_cables(self) -> None:
        """Add the free spans at the start of the joints to the length of cables at rest."""
        u = self.system.input_vector(self.system.signals(None), 0.0)
        rest = arrays(self.system.rest())
        entry.evaluate_residual(self.robot, rest.base, rest.twist, rest.q, rest.multipliers, u, 1)
        if np.any(none := ~np.isfinite(self.work.span).all(axis=1)):
            cables = [part for part in self.system.actuators if isinstance(part, Tendon | SpooledTendon)]
            guides = [(part.name, a.label, b.label) for part in cables for a, b in part.spans]
            name, first, second = guides[int(np.argmax(none))]
            raise BadInput(
                f"{name!r} runs from {first} to {second}, which are at the same place at the start: a span of 0 m has "
                "no direction; move one of the two guides, leave one out, or start the joints elsewhere"
            )
        self.program.tendon_length[:] += self.work.tendon_span

    def _reduce_rows(self) -> None:
        """Set closure rows that depend on others to zero (their multiplier is then zero), and say which.

        A row whose gradient is the same combination of the others' at several random states says nothing new:
        the z of a planar loop, or a section held twice. Where it contradicts them the closure cannot be met. Others
        depend on the rest only where the loops are closed (a planar loop around a body that is free in space).
        """
        names = [name for name, _ in self.system.multipliers]
        held, L = len(self.program.row_axes), self.assembly.length
        random = np.random.default_rng(0)
        gradients, gaps = [], np.zeros(self.rows)
        u = self.system.input_vector(self.system.signals(None), 0.0)
        rest = self.system.rest()
        for _ in range(3):
            g = rest.g @ se3.exp(random.normal(size=6) * [1, 1, 1, L, L, L]) if self.system.free else rest.g
            q = rest.q + self.assembly.scale[self.coordinates - self.n :] * random.normal(size=self.n)
            a = arrays(rest.with_(g=g, q=q))
            gradients.append(self.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[self.coordinates :, : self.coordinates])
            gaps = self.residual(a, u, jets=1)[self.coordinates :]
        # one row of all samples per closure, angles in rad and lengths over L
        units = np.where([unit == "N" for _, unit in self.system.multipliers], L, 1.0)[:held]
        scale = self.assembly.scale.copy()
        scale[self.coordinates - self.n + self.program.imposed[:, 0]] = 0.0  # what is imposed does not adapt
        rows = np.hstack([J * scale for J in gradients])[:held] / units[:, None]
        of = np.repeat(np.arange(len(self.program.closure_rows)), self.program.closure_rows[:, 1])
        kept: list[int] = []
        dropped: list[str] = []
        for j in range(held):
            known = rows[kept]
            combination = np.linalg.lstsq(known.T, rows[j], rcond=1e-12)[0] if kept else np.zeros(0)
            if np.linalg.norm(rows[j] - combination @ known) > 1e-8:
                kept.append(j)
                continue
            gap = gaps[j] / units[j] - combination @ (gaps[kept] / units[kept])
            if abs(gap) > 1e-9:
                unit = self.system.multipliers[j][1]
                what, kind = ("rad", "rotation about") if unit == "N m" else ("m", "position along")
                raise BadInput(
                    f"{self._closure_label(of[j])}: its {kind} {names[j].rsplit('_')[-1]} differs by "
                    f"{abs(gap * units[j]):.6g} {what} from what the parts, the imposed motions and the other closures "
                    f"allow; {self._remedy(of[j])}, or free more strains in the basis"
                )
            dropped.append(names[j])
            self.program.row_axes[j] = 0.0
        shared = self._redundant_once_closed(kept, scale, units)
        self.program.row_soft[shared] = _SOFT * units[shared] ** 2 / self.assembly.energy
        if shared:
            warnings.warn(
                f"redundant once the loops are closed: {', '.join(names[j] for j in shared)} hold what is held "
                "already; motions are not affected, but such forces are shared and not determined",
                ElverWarning,
                stacklevel=4,
            )
        if dropped:
            of_holds = any(name.split("/")[0] in self.system.mechanism.hold_names for name in dropped)
            warnings.warn(
                f"redundant: {', '.join(dropped)} hold what is held already (a planar rod or loop stays in its plane); "
                "they are dropped and their reactions reported as 0"
                + (": leave them free (None) to silence this" if of_holds else ", which changes no motion"),
                ElverWarning,
                stacklevel=4,
            )

    def _redundant_once_closed(self, kept: list[int], scale: Array, units: Array) -> list[int]:
        """Rows among ``kept`` that add nothing to the others at any of several states with all loops closed."""
        if not kept:
            return []
        random = np.random.default_rng(1)
        samples: list[Array] = []
        for trial in range(8):
            J = self._closed_gradient(kept, scale, units, 0.3 * random.normal(size=self.coordinates) * (trial > 0))
            if J is None:
                continue
            samples.append(J)
            if np.linalg.matrix_rank(J, tol=1e-7) == len(kept):
                return []
            if len(samples) == 3:
                break
        if len(samples) < 3:
            return []
        used: list[int] = []
        for k in range(len(kept)):
            if any(np.linalg.matrix_rank(J[[*used, k]], tol=1e-7) > len(used) for J in samples):
                used.append(k)
        return [j for k, j in enumerate(kept) if k not in used]

    def _closed_gradient(self, kept: list[int], scale: Array, units: Array, aside: Array) -> Array | None:
        """Gradients of the rows ``kept`` at a state with closed loops, sought from the start moved ``aside``."""
        c, free = self.coordinates, self.coordinates - self.n
        u = self.system.input_vector(self.system.signals(None), 0.0)
        state, step = self.system.rest(), scale * aside
        for _ in range(12):
            g = state.g @ se3.exp(step[:6]) if free else state.g
            state = state.with_(g=g, q=state.q + step[free:])
            a = arrays(state)
            matrix = self.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
            J = matrix[c:, :c][kept] * scale / units[kept, None]
            gap = self.residual(a, u, jets=1)[c:][kept] / units[kept]
            if np.max(np.abs(gap)) < 1e-11:
                return J
            increment = -np.linalg.lstsq(J, gap, rcond=1e-9)[0]
            step = scale * increment / max(1.0, float(np.max(np.abs(increment))))
        return None

    def _remedy(self, closure: int) -> str:
        """What to do about a closure that contradicts the others."""
        if closure < len(self.system.mechanism.holds):
            return "prescribe what they give, leave it free (None)"
        return "move the frames of its joints so that the loop closes, use a joint with more freedom"

    def _closure_label(self, closure: int) -> str:
        """How messages speak of a closure."""
        mechanism = self.system.mechanism
        if closure < len(mechanism.holds):
            return mechanism.holds[closure].label
        joint = mechanism.tree.cuts[closure - len(mechanism.holds)]
        return f"the loop closed by {joint.kind} {joint.name!r} ({joint.a.label} to {joint.b.label})"

    def moves(self, a: Arrays, u: Array) -> bool:
        """True where a base that is driven, or an imposed coordinate, carries along what is at rest in it."""
        if self.driven and a.twist.any():
            return True
        first, count = len(self.system.channels), 2 * len(self.system.imposed)
        return count > 0 and bool(u[first : first + count].any())

    def jets(self, a: Arrays, u: Array, asked: int) -> int:
        """Rates to be computed with: none (1) at rest, unless that is rest in a frame that moves; else all (3)."""
        return 3 if asked == 3 or self.moves(a, u) else 1

    def residual(self, a: Arrays, u: Array, jets: int = 3) -> Array:
        """R with closure rows below, (coordinates + rows,); ``jets`` = 1 at rest in the frame of the base."""
        jets = self.jets(a, u, jets)
        entry.evaluate_residual(self.robot, a.base, a.twist, a.q, a.multipliers, u, jets)
        return self.work.residual.copy()

    def tangent(self, a: Arrays, u: Array, weights: tuple[float, float, float], jets: int = 3) -> Array:
        """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks, in body variations of the base."""
        at_rest, jets = jets == 1, self.jets(a, u, jets)
        columns = np.zeros((18, 6))
        for k in range(3):
            columns[6 * k : 6 * k + 6] = weights[k] * np.eye(6)
        entry.evaluate_residual(self.robot, a.base, a.twist, a.q, a.multipliers, u, jets)
        entry.evaluate_tangent(
            self.robot, a.base, a.q, a.multipliers, u, columns, np.array(weights, dtype=float), jets
        )
        return self.with_imposed_rows(self.work.matrix.copy()) if at_rest else self.work.matrix.copy()

    def with_imposed_rows(self, matrix: Array) -> Array:
        """The tangent of statics, in which an imposed coordinate has the row δq = 0."""
        own = self.coordinates - self.n + self.program.imposed[:, 0]
        matrix[own, own] = 1.0
        return matrix

    def input_slope(self, a: Arrays, u: Array, channel: int) -> Array:
        """∂R/∂u of one input at rest: exact, since R is affine in each input, or a column where it is a coordinate."""
        for k, column, *_ in self.program.imposed:
            if column == channel:
                return self.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[:, self.coordinates - self.n + k] * (
                    np.arange(self.coordinates + self.rows) != self.coordinates - self.n + k
                )
        step = max(1.0, abs(u[channel]))
        v = u.copy()
        v[channel] += step
        return (self.residual(a, v, jets=1) - self.residual(a, u, jets=1)) / step

    def efforts(self, base: Array, twist: Array, q: Array, multipliers: Array, u: Array) -> Array:
        """What imposes the motion of each imposed coordinate, for many states with time first."""
        out = np.zeros((q.shape[0], self.program.imposed.shape[0]))
        free = self.coordinates - self.n
        for t, row in enumerate(out):
            a = Arrays(base[t], twist[t].copy(), q[t].copy(), multipliers[t])
            R = self.residual(a, u[t])
            if not self.rows:
                # Gauss methods extrapolate accelerations to the end of a step, which would cost the effort their order:
                # those of the other coordinates are what balance asks for.
                M = self.tangent(a, u[t], (0.0, 0.0, 1.0))
                try:
                    step = np.linalg.solve(M, -R)
                except np.linalg.LinAlgError:  # a motion without inertia is in balance at any acceleration
                    step = np.linalg.lstsq(M, -R, rcond=None)[0]
                a.twist[1] += step[:6] if free else 0.0
                a.q[2] += step[free:]
                self.residual(a, u[t])
            row[:] = self.work.effort
        return out

    def base_wrench(self, a: Arrays, u: Array) -> Array:
        """Body wrench (6,) that must act on the base for this motion, right behind :meth:`residual` there."""
        R = a.base[:3]
        return np.concatenate([R.T @ self.work.force[0, :3], R.T @ self.work.force[0, 3:]])

    @cached_property
    def released(self) -> Core:
        """The same kernels with no motion imposed: coordinates are those of the state, and no row is left out."""
        if not self.program.imposed.size:
            return self
        other = self._alike()
        other._take(self.program._replace(imposed=np.zeros((0, 4), dtype=np.int64)))
        return other

    @cached_property
    def apart(self) -> Core:
        """The same equations with a frame of its own for each part, load and closure, and no motion imposed.

        After a residual, ``work.force`` then holds the wrench that passes through each joint and along each rod.
        """
        other = self._alike()
        other.assembly = assemble(self.system, apart=True)
        # cables were measured and closure rows that repeat others dropped on the equations that are solved
        own, solved = other.assembly.program, self.program
        other._take(
            own._replace(
                imposed=np.zeros((0, 4), dtype=np.int64), tendon_length=solved.tendon_length,
                row_axes=solved.row_axes, row_soft=solved.row_soft,
            )
        )  # fmt: skip
        return other

    @cached_property
    def elastic(self) -> Array:
        """Stiffness of rods and joint springs, (n, n)."""
        K = np.zeros((self.n, self.n))
        for first, count, _ in self.program.block:
            own = slice(first, first + count)
            K[own, own] = self.program.K_elastic[own, :count]
        return K

    def solve_static(self, scratch: March, *arguments: Any) -> int:
        """Newton for an equilibrium: :func:`elver.kernels.rest.solve_static`."""
        return entry.solve_static(self.robot, scratch, *arguments)

    def march_one_step(self, scratch: March, *arguments: Any) -> int:
        """Newmark-type steps: :func:`elver.kernels.one_step.march_one_step`."""
        return entry.march_one_step(self.robot, scratch, *arguments)

    def march_explicit(self, scratch: March, *arguments: Any) -> int:
        """Runge-Kutta steps: :func:`elver.kernels.explicit.march_explicit`."""
        return entry.march_explicit(self.robot, scratch, self.sweep, *arguments)

    @cached_property
    def sweep(self) -> Sweep:
        """Scratch arrays of the sweeps that find accelerations in O(n)."""
        return sweep_for(self.program)

    def march_gauss(self, scratch: March, *arguments: Any) -> int:
        """Gauss steps: :func:`elver.kernels.gauss.march_gauss`."""
        return entry.march_gauss(self.robot, scratch, *arguments)


class _Cores(threading.local):
    """The core of each thread that uses a system: a work space, and one program for all."""

    own: Core | None = None


_making = threading.RLock()


def _renew_lock() -> None:
    """A forked child has no thread that could give back the lock of its parent."""
    global _making
    _making = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def core(system: System) -> Core:
    """The kernels of ``system`` with the work space of this thread; the program is made once."""
    kept: tuple[Core, _Cores] | None = system.__dict__.get("_core")
    if kept is None:
        with _making:
            kept = system.__dict__.get("_core")
            if kept is None:
                first = _make_core(system)
                kept = first, _Cores()
                kept[1].own = first
                system.__dict__["_core"] = kept
    first, cores = kept
    if cores.own is None:
        cores.own = first.with_own_work()
    return cores.own


def _make_core(system: System) -> Core:
    ensure(COMMON, "the numeric core", 40)
    if any(isinstance(rod.integration, Spectral) for rod in system.mechanism.rods):
        from elver.dynamics.spectral import SpectralCore  # a Core itself, so it cannot be imported above

        return SpectralCore(system)
    if system.feedback:
        from elver.dynamics.feedback import FeedbackCore  # likewise

        return FeedbackCore(system)
    return Core(system)


def arrays(state: State) -> Arrays:
    """Kernel layout of ``state`` (copies)."""
    base = np.vstack([state.g[:3, :3], state.g[:3, 3]])
    return Arrays(
        np.ascontiguousarray(base),
        np.vstack([state.eta, state.eta_dot]),
        np.vstack([state.q, state.q_dot, state.q_ddot]),
        state.multipliers.copy(),
    )


def as_state(a: Arrays, time: float) -> State:
    """The state of kernel arrays."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = a.base[:3], a.base[3]
    return State(a.q[0], a.q[1], a.q[2], g, a.twist[0], a.twist[1], a.multipliers, time)


def prepare(
    system: System | Balanced, state: State | Balanced | None, inputs: Inputs | None
) -> tuple[Core, Arrays, Array]:
    """Kernels, state and inputs of a call; an equilibrium brings its own (:func:`elver.system.situation`)."""
    system, state, inputs = situation(system, state, inputs)
    u = system.input_vector(system.signals(inputs), state.time)
    return core(system), arrays(state), u


def inverse_dynamics(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> Array:
    """Residual R at a motion: the generalized force that must act beyond the inputs to produce it.

    Zero along a free motion, except for imposed coordinates, where it is the effort. For a free base the first six
    entries are the body wrench on the base.
    """
    kernels, a, u = prepare(system, state, inputs)
    return kernels.released.residual(a, u)[: kernels.coordinates]


def bias_forces(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> Array:
    """Residual R at zero acceleration: centrifugal and elastic forces, minus loads and actuation.

    R = M q'' + bias. For a free base the first six entries are the body wrench on the base.
    """
    system, state, inputs = situation(system, state, inputs)
    still = state.with_(q_ddot=np.zeros(system.n), eta_dot=np.zeros(6) if system.free else state.eta_dot)
    return inverse_dynamics(system, still, inputs)


@brief
@dataclass(frozen=True, eq=False)
class TangentInverseDynamics:
    """First-order model of the inverse dynamics around one motion."""

    Q: Array
    dQ_dq: Array
    dQ_dq_dot: Array
    dQ_dq_ddot: Array
    J_closure: Array
    """Rate of the closure rows per rate of the coordinates, (rows, coordinates)."""


def tangent_inverse_dynamics(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> TangentInverseDynamics:
    """Exact tangent of :func:`inverse_dynamics`; ``dQ_dq_ddot`` is the mass matrix."""
    kernels, a, u = prepare(system, state, inputs)
    kernels, c = kernels.released, kernels.coordinates
    K, D, M = (kernels.tangent(a, u, w) for w in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    Q = kernels.residual(a, u)[:c]
    return TangentInverseDynamics(Q, K[:c, :c], D[:c, :c], M[:c, :c], K[c:, :c])


def mass_matrix(system: System | Balanced, state: State | Balanced | None = None) -> Array:
    """M(q), symmetric positive definite, (coordinates, coordinates)."""
    kernels, a, u = prepare(system, state, None)
    c = kernels.coordinates
    return kernels.released.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]


def closures_along(
    kernels: Core, state: State, inputs: Inputs | None, weights: dict[int, float]
) -> tuple[Array, float]:
    """Weighted sum of the closure rows at k steps along the motion of the state, and the step [s]."""
    system = kernels.system
    rates = np.concatenate([state.eta, state.q_dot])
    h = 1e-3 / max(1.0, float(np.max(np.abs(rates), initial=0.0)))
    signals, total = system.signals(inputs), np.zeros(kernels.rows)
    for k, weight in weights.items():
        t = k * h
        if isinstance(system.mechanism.base, Driven):
            g = system.mechanism.base.motion.at(state.time + t)[0]
        else:
            g = state.g @ se3.exp(t * state.eta)
        moved = arrays(state.with_(g=g, q=state.q + t * state.q_dot, multipliers=np.zeros(kernels.rows)))
        u = system.input_vector(signals, state.time + t)
        total += weight * kernels.residual(moved, u, jets=1)[kernels.coordinates :]
    return total, h


# ---------------------------------------------------------------------------------------------------------------
# What a state shows
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Observation:
    """Poses, energies and momentum of many states, time first."""

    position: Array  # (T, frames, 3) m, world
    rotation: Array  # (T, frames, 3, 3) world from section
    energy: Array  # (T, 3) J: kinetic, elastic, gravitational
    momentum: Array  # (T, 6): angular about the world origin [kg m²/s], linear [kg m/s], world axes
    velocity: Array  # (T, frames, 6) rad/s, m/s: spin, velocity of the origin of the frame, world axes
    weight_energy: Array  # (T,) J of gravity at the scale 1
    length: Array  # (T, tendons) m, of cables with their spans


@dataclass(frozen=True)
class Energy:
    """Energies in joule; gravity counts from the world origin."""

    kinetic: float
    elastic: float
    gravity: float

    @property
    def total(self) -> float:
        """Sum of the three [J]."""
        return self.kinetic + self.elastic + self.gravity


def observe_states(system: System, base: Array, twist: Array, q: Array, inputs: Array) -> Observation:
    """Poses, energies and momentum for arrays of states: base (T, 4, 3), twist (T, 2, 6), q (T, 3, n)."""
    kernels = core(system)
    T, frames = base.shape[0], kernels.program.inertia.shape[0]
    position, rotation, velocity = np.zeros((T, frames, 3)), np.zeros((T, frames, 3, 3)), np.zeros((T, frames, 6))
    energy, momentum, length = np.zeros((T, 4)), np.zeros((T, 6)), np.zeros((T, kernels.program.tendon_input.size))
    entry.observe_states(
        kernels.robot, base, twist, q, np.zeros(kernels.rows), inputs, 3,
        position, rotation, velocity, energy, momentum, length,
    )  # fmt: skip
    return Observation(position, rotation, energy[:, :3], momentum, velocity, energy[:, 3], length)


def _observe_one(
    system: System | Balanced, state: State | Balanced | None, inputs: Inputs | None = None
) -> Observation:
    kernels, a, u = prepare(system, state, inputs)
    return observe_states(kernels.system, a.base[None], a.twist[None], a.q[None], u[None])


def nodes(system: System | Balanced, rod: Rod | None = None) -> Array:
    """Arc lengths [m] of the nodes of ``rod`` (the only one by default) at which poses are known, from base to tip."""
    system = situation(system)[0]
    if rod is not None and (not isinstance(rod, Rod) or rod not in system.mechanism.rods):
        known = ", ".join(repr(other.name) for other in system.mechanism.rods)
        raise BadInput(f"nodes: {describe(rod)} is no rod of this system; choose among {known or 'no rod at all'}")
    return assembly_of(system).rods[rod or system.rod].s


def poses(
    system: System | Balanced, state: State | Balanced | None = None, part: Rod | RigidBody | None = None
) -> Array:
    """Poses in the world: of the nodes of a rod, (nodes, 4, 4) at ``nodes(system, rod)`` [m], or of a body, (4, 4).

    The part may be left out where there is one rod.
    """
    system, state, _ = situation(system, state)
    seen = _observe_one(system, state)
    assembly = assembly_of(system)
    part = part or system.rod
    at = assembly.rods[part].frames if isinstance(part, Rod) else np.array([assembly.bodies[part]])
    g = np.tile(np.eye(4), (at.size, 1, 1))
    g[:, :3, :3], g[:, :3, 3] = seen.rotation[0, at], seen.position[0, at]
    return g if isinstance(part, Rod) else g[0]


def energy(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> Energy:
    """Kinetic, elastic and gravitational energy [J]."""
    kinetic, elastic, gravity = _observe_one(system, state, inputs).energy[0]
    return Energy(float(kinetic), float(elastic), float(gravity))


def momentum(system: System | Balanced, state: State | Balanced | None = None) -> Array:
    """(angular momentum about the world origin; linear momentum) in world axes, (6,)."""
    return _observe_one(system, state).momentum[0]
