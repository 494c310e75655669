"""Rest in a frame that moves: a base that turns or accelerates steadily, a joint that is turned at a constant rate.

In the frame of the base the coordinates stand still, q̇ = q̈ = 0, while its twist η and η̇ are those of the motion:

    R(q, 0, 0; η, η̇) = 0 ,   K = ∂R/∂q  with the stiffness from centrifugal forces,   D = ∂R/∂q̇ = damping + G ,

G skew, from Coriolis forces. It is an equilibrium as long as R stays zero, which is so when twist and weight do not
change in the frame of the base; whether they do is looked at, not assumed.

Theory: docs/theory/statics.md, eq. (relative-rest), (gyroscopic).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Imposed, Signal
from elver.dynamics.core import Core
from elver.dynamics.states import Arrays, arrays
from elver.errors import warn
from elver.mechanism import Driven
from elver.system import State, System

__all__ = ["STILL", "at_rest", "carried", "check_steady", "gyroscopic_growth", "inputs_at", "ramped_twist"]

Array: TypeAlias = NDArray[np.float64]

# What differences of a pose that stands still leave by rounding, rad/s or m/s, and per s
STILL = np.repeat([[1e-11], [1e-8]], 6, axis=1)
# Imbalance that a steady motion may show later, of EI/L and of the inertial forces: what differences in time leave
_STEADY = 1e-6


def carried(system: System, state: State) -> State:
    """``state`` at rest in the frame of the base, which is where the mechanism has it at the time of the state."""
    zero, base = np.zeros(system.n), system.mechanism.base
    g, eta, eta_dot = state.g, np.zeros(6), np.zeros(6)
    if isinstance(base, Driven):
        g, eta, eta_dot = base.motion.at(state.time)
    elif not (state.q_dot.any() or state.q_ddot.any() or state.eta.any() or state.eta_dot.any()):
        return state
    return state.with_(q_dot=zero, q_ddot=zero, g=g, eta=eta, eta_dot=eta_dot)


def at_rest(state: State) -> Arrays:
    """The state with all rates zero but those of its base, in the layout of the kernels."""
    a = arrays(state)
    a.q[1:] = 0.0
    a.twist[np.abs(a.twist) < STILL] = 0.0
    return a


def inputs_at(system: System, signals: Sequence[Signal], time: float) -> Array:
    """Inputs of an equilibrium: constant rates of imposed motions count; those that change are left out, and told."""
    u = system.input_vector(signals, time)
    for part in system.imposed:
        _, value, first, second = system.imposed_columns(part)
        rate, change = float(u[first]), float(u[second])
        size = 1.0 + abs(float(u[value]))
        if abs(rate) < 1e2 * STILL[0, 0] * size and abs(change) < 1e2 * STILL[1, 0] * size:
            u[[first, second]] = 0.0  # rounding of differences
            continue
        steady = abs(change) <= _STEADY * (1.0 + rate**2)
        if not steady or abs(_rate_soon(part, signals[value], time, rate) - rate) > _STEADY * abs(rate):
            warn(
                f"equilibrium: {part.name!r} is imposed at {rate:.3g} {part.unit}/s and {change:.3g} {part.unit}/s² at "
                f"t = {time:g} s, which is no constant rate; it is taken to stand still at {u[value]:.3g} {part.unit}: "
                "give that number to silence this, or a constant rate for steady motion",
            )
            u[first] = 0.0
        u[second] = 0.0
    return u


def _rate_soon(part: Imposed, signal: Signal, time: float, rate: float) -> float:
    """Rate of an imposed motion when it has gone a tenth of its unit, or as late as it is known for certain."""
    try:
        return float(part.motion(signal, time + 0.1 / abs(rate))[1])
    except Exception:  # a function of the user's that ends: it is defined for the steps of its differences
        return float(part.motion(signal, time + 1e-3)[1])


def ramped_twist(twist: Array, part: float) -> Array:
    """Twist (2, 6) of the base at which inertial forces, η² and η̇, are ``part`` of theirs."""
    return np.array([np.sqrt(part) * twist[0], part * twist[1]])


def check_steady(kernels: Core, state: State, u: Array, signals: Sequence[Signal]) -> None:
    """Tell of a motion in which the balance found at the time of the state does not last."""
    system = kernels.system
    if not (kernels.driven or system.imposed):
        return
    a = at_rest(state)
    if not kernels.moves(a, u):
        return
    scale = np.concatenate([kernels.assembly.scale / kernels.assembly.energy, np.ones(kernels.rows)])
    standing = u.copy()
    standing[len(system.channels) : len(system.channels) + 2 * len(system.imposed)] = 0.0
    stopped = replace(at_rest(state), twist=np.zeros((2, 6)))
    inertial = float(np.max(np.abs(scale * kernels.residual(stopped, standing, jets=1)), initial=0.0))
    worst, when = 0.0, 0.0
    for later in _instants(kernels, a, u):
        b, v, late = _later(kernels, a, u, signals, state.time, later)
        left = float(np.max(np.abs(scale * kernels.residual(b, v, jets=1)), initial=0.0))
        if left > worst:
            worst, when = left, late
    if worst > _STEADY * (1.0 + inertial):
        moving = "the base" if kernels.driven and np.any(a.twist) else "what is imposed"
        warn(
            f"equilibrium: the motion of {moving} is not steady: what is in balance at t = {state.time:g} s is out of "
            f"balance by {worst:.2g} EI/L {when:.2g} s later, so this shape holds at that instant only (weight turns "
            "in a frame that rotates, unless about the vertical); simulate(...) shows what follows",
        )


def _instants(kernels: Core, a: Arrays, u: Array) -> list[float]:
    """When to look again [s]: after a radian of each rotation, and after the time that the system itself needs."""
    system = kernels.system
    turning = [float(np.linalg.norm(a.twist[0, :3]))]
    turning += [abs(float(u[system.imposed_columns(part)[2]])) for part in system.imposed if part.unit == "rad"]
    M = kernels.tangent(a, u, (0.0, 0.0, 1.0))
    own = np.sqrt(np.max(np.diag(M)[: kernels.coordinates] * kernels.assembly.scale**2) / kernels.assembly.energy)
    return [1.0 / rate for rate in turning if rate > 0.0] + [float(own)]


def _later(
    kernels: Core, a: Arrays, u: Array, signals: Sequence[Signal], time: float, dt: float
) -> tuple[Arrays, Array, float]:
    """The same coordinates, carried on by base and imposed motions for ``dt`` [s] or as far as these are known."""
    system, base = kernels.system, kernels.system.mechanism.base
    later, v = replace(a, q=a.q.copy()), u.copy()
    if isinstance(base, Driven):
        try:
            g, *rates = base.motion.at(time + dt)
        except Exception:  # a motion of the user's that ends: it is defined for some steps of its differences
            dt = 2.0 * base.motion.step
            g, *rates = base.motion.at(time + dt)
        later = replace(later, base=np.vstack([g[:3, :3], g[:3, 3]]), twist=np.array(rates))
    for part in system.imposed:
        _, value, first, second = system.imposed_columns(part)
        if u[first] != 0.0:
            signal = signals[value]
            v[[value, first, second]] = part.motion(signal, time + dt)
    return later, v, dt


def gyroscopic_growth(M: Array, D: Array, K: Array) -> tuple[float, float]:
    """Of M z̈ + D ż + K z = 0: the largest growth rate of a motion, and the slowest motion, each over the fastest.

    Growth is counted relative to the motion that grows, where that is more.
    """
    n = M.shape[0]
    if not n:
        return 0.0, 1.0
    inverse = np.linalg.solve(M, np.hstack([K, D]))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse[:, :n], -inverse[:, n:]]])
    roots = np.linalg.eigvals(A)
    size = np.abs(roots)
    return float(np.max(roots.real / (size + 1e-6 * np.median(size)))), float(np.min(size) / np.median(size))
