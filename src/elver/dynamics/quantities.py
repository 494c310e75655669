"""What a state shows: generalized forces and their tangents, poses, energies, momentum.

    R = Q_inertia + Q_elastic + Q_damping - Q_load - Q_act + Jᵀλ         (CONVENTIONS, "Residual")

A free base comes first in R and in all matrices, as body wrench against body twist. Everything here is a function of a
system and a state; there is no step size.

Theory: docs/theory/recursion.md, eq. (residual), (rows), (tangent).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Imposed, SpooledTendon
from elver.bodies import RigidBody
from elver.dynamics.assembly import assembly_of
from elver.dynamics.core import Core, core
from elver.dynamics.states import Arrays, arrays
from elver.errors import BadInput
from elver.kernels.build import entry
from elver.kernels.tree.observe import room_for_states
from elver.lie import se3
from elver.mechanism import Driven
from elver.rods import Rod
from elver.system import Balanced, Inputs, State, System, situation
from elver.words import brief, describe

__all__ = [
    "Energy",
    "Observation",
    "TangentInverseDynamics",
    "bias_forces",
    "closures_along",
    "energy",
    "inverse_dynamics",
    "mass_matrix",
    "momentum",
    "nodes",
    "observe_states",
    "overload",
    "poses",
    "prepare",
    "tangent_inverse_dynamics",
]

Array = NDArray[np.float64]

_OVERLOAD = 300.0  # beyond, no rod is a rod any more


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
    kernels = kernels.released
    kernels.work.own_fault[0] = 0.0
    residual = kernels.residual(a, u)[: kernels.coordinates]
    if kernels.fault:
        raise BadInput(kernels.fault)
    return residual


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


def overload(system: System, u: Array) -> str:
    """Which of the inputs ``u`` is beyond all that the rods could bear, in words; empty where none is.

    Compared are what each does in the shape at rest, and what bends the softest rod by a radian.
    """
    if not system.mechanism.rods:
        return ""
    kernels, a = core(system), arrays(system.rest())
    c = kernels.coordinates
    scale, whole = kernels.assembly.scale[:c], kernels.residual(a, u)[:c]
    worst, most = "", _OVERLOAD
    for k, (name, part) in enumerate(zip(system.channel_names, system.channels, strict=True)):
        if isinstance(part, Imposed | SpooledTendon):  # motions, not forces
            continue
        without = u.copy()
        without[k] = 0.0
        strength = float(np.max(np.abs(whole - kernels.residual(a, without)[:c]) * scale)) / kernels.assembly.energy
        if strength > most:
            worst, most = name, strength
    return f"{worst!r} is {most:.0e} times what bends a rod by a radian: check its size and unit" if worst else ""


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
    seen = room_for_states(T, frames, kernels.program.tendon_input.size)
    entry.observe_states(kernels.robot, base, twist, q, np.zeros(kernels.rows), np.ascontiguousarray(inputs), seen)
    energy = seen.energy
    return Observation(
        seen.position, seen.rotation, energy[:, :3], seen.momentum, seen.velocity, energy[:, 3], seen.length
    )


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
