"""Accelerations: direct dynamics of trees and loops, inverse dynamics with a free base, and their tangents.

Trees are solved in O(n) by articulated bodies (:mod:`elver.kernels.tree.articulated`), robots with closures by one
dense system. What has no inertia is named.

Theory: docs/theory/recursion.md, eq. (articulated); docs/theory/loops.md, eq. (accelerations-with-closures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core
from elver.dynamics.quantities import closures_along, inverse_dynamics, mass_matrix, prepare, tangent_inverse_dynamics
from elver.dynamics.states import Arrays
from elver.errors import BadInput
from elver.kernels.build import entry
from elver.system import Balanced, Inputs, State, System, situation
from elver.words import brief

__all__ = [
    "FloatingInverseDynamics",
    "TangentForwardDynamics",
    "closure_drift",
    "floating_inverse_dynamics",
    "forward_dynamics",
    "tangent_forward_dynamics",
]

Array = NDArray[np.float64]

# Below this, relative to the largest, a singular value is rounding.
_RANK = 1e-14
_BASE = tuple(f"base/{what}_{axis}" for what in ("rotation", "position") for axis in "xyz")


def forward_dynamics(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> State:
    """``state`` with the accelerations and multipliers that the equations of motion ask for.

    Trees by articulated bodies; with closures M q'' + Jᵀλ = -R(q, q', 0) and J q'' = -J' q', so that they stay closed.
    """
    system, state, inputs = situation(system, state, inputs)
    kernels, a, u = prepare(system, state, inputs)
    if type(kernels) is Core and not kernels.rows:
        sweep = kernels.sweep
        if entry.accelerations(kernels.robot, sweep, a.base, a.twist, a.q, a.multipliers, u):
            return state.with_(q=a.q[0], q_dot=a.q[1], q_ddot=a.q[2], eta_dot=a.twist[1])
    return _dense(system, state, inputs)


def _dense(system: System, state: State, inputs: Inputs | None) -> State:
    """:func:`forward_dynamics` by one dense system."""
    kernels, a, u = prepare(system, state, inputs)
    c, rows = kernels.coordinates, kernels.rows
    start = Arrays(a.base, a.twist.copy(), a.q.copy(), np.zeros(rows))
    start.q[2] = 0.0
    if system.free:
        start.twist[1] = 0.0
    M = kernels.tangent(start, u, (0.0, 0.0, 1.0))[:c, :c]
    load = -kernels.residual(start, u)[:c]
    if rows:
        closures = kernels.tangent(start, u, (1.0, 0.0, 0.0))
        system_matrix = closures.copy()
        system_matrix[:c, :c] = M
        drift = closure_drift(kernels, state.with_(multipliers=start.multipliers), inputs)
        solution = _solve(kernels, system_matrix, np.concatenate([load, -drift]))
    else:
        solution = _solve(kernels, M, load)
    free = c - kernels.n
    # an imposed motion has put its value and rates into the start
    changes: dict[str, Any] = {
        "q": start.q[0],
        "q_dot": start.q[1],
        "q_ddot": start.q[2] + solution[free:c],
        "multipliers": solution[c:],
    }
    if system.free:
        changes["eta_dot"] = solution[:6]
    return state.with_(**changes)


@brief
@dataclass(frozen=True, eq=False)
class FloatingInverseDynamics:
    """What a motion of the joints and rods does to a free base, and what it costs."""

    eta_dot: Array
    """Rate of the body twist of the base, (6,)."""

    efforts: Array
    """Generalized forces that must act on the coordinates beyond the inputs, (n,)."""


def floating_inverse_dynamics(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> FloatingInverseDynamics:
    """Base acceleration and efforts of a given q, q', q'' with a base that nothing holds (Khalil 2007, eq. 14-28).

    Forward for twists, back for the composite inertia and bias of all that lies beyond each joint, so that at the base
    Jᶜ V' = -βᶜ, and forward again for the efforts. The acceleration of the base in ``state`` does not matter.
    """
    system, state, inputs = situation(system, state, inputs)
    if not system.free:
        raise BadInput("floating_inverse_dynamics: this base is held; use inverse_dynamics")
    kernels, a, u = prepare(system, state, inputs)
    kernels = kernels.released
    if type(kernels) is not Core or kernels.rows:
        raise BadInput("floating_inverse_dynamics: for trees without closures and feedback; use forward_dynamics")
    sweep = kernels.sweep._replace(given=np.ones(system.n, dtype=np.int64))
    if not entry.accelerations(kernels.robot, sweep, a.base, a.twist, a.q, a.multipliers, u):
        values, axes = np.linalg.eigh(mass_matrix(system, state)[:6, :6])
        free = np.max(np.abs(axes[:, values <= _RANK * values[-1]]), axis=1, initial=0.0)
        names = ", ".join(name for name, part in zip(_BASE, free) if part > 0.1)
        raise BadInput(
            f"floating_inverse_dynamics: the composite inertia of the robot is singular: a motion of {names} has no "
            "inertia, so that its acceleration may be any; give the bodies mass (kg) and inertia (kg m²) about all axes"
        )
    moving = state.with_(eta_dot=a.twist[1])
    return FloatingInverseDynamics(a.twist[1], inverse_dynamics(system, moving, inputs)[6:])


@brief
@dataclass(frozen=True, eq=False)
class TangentForwardDynamics:
    """First-order model of the accelerations around one state; a free base first, in body variations."""

    q_ddot: Array
    dq_ddot_dq: Array
    dq_ddot_dq_dot: Array
    dq_ddot_dQ: Array
    """Accelerations per generalized force: the inverse of the mass matrix."""


def tangent_forward_dynamics(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> TangentForwardDynamics:
    """Exact tangent of :func:`forward_dynamics` for trees: -M⁻¹ ∂R/∂q, -M⁻¹ ∂R/∂q' at the accelerations it finds."""
    system, state, inputs = situation(system, state, inputs)
    if system.multipliers or system.imposed:
        raise BadInput(
            "tangent_forward_dynamics: for trees without closures and imposed motions; use linearize for the others"
        )
    moving = forward_dynamics(system, state, inputs)
    tangent = tangent_inverse_dynamics(system, moving, inputs)
    inverse = np.asarray(np.linalg.inv(tangent.dQ_dq_ddot), dtype=np.float64)
    found = np.concatenate([moving.eta_dot, moving.q_ddot]) if system.free else moving.q_ddot
    return TangentForwardDynamics(found, -inverse @ tangent.dQ_dq, -inverse @ tangent.dQ_dq_dot, inverse)


def _solve(kernels: Core, matrix: Array, load: Array) -> Array:
    """Solution of the equations of motion; what has no inertia, or closures that repeat each other here, are named."""
    from scipy.linalg.lapack import dgecon, dgetrf, dgetrs  # half of what a first equilibrium would otherwise import

    system, c = kernels.system, kernels.coordinates
    moves = np.ones(load.size, dtype=bool)
    moves[c - kernels.n + kernels.program.imposed[:, 0]] = False
    # Coordinates in units of equal inertia, closures in units of equal gradient: whether the rank is full must not
    # depend on the size of a robot. Less inertia than rounding leaves of the largest is none.
    scale = kernels.assembly.scale
    inertia = np.abs(np.diag(matrix)[:c]) * scale**2
    largest = max(np.max(inertia, where=moves[:c], initial=0.0), np.finfo(float).tiny)
    unit = np.ones(load.size)
    # Massless parts count like the heaviest: blown up, they would drown what else their closures hold.
    unit[:c] = scale / np.sqrt(np.where(inertia > _RANK * largest, inertia, largest))
    gradient = np.max(np.abs(matrix[c:, :c]) * unit[:c], axis=1, where=moves[:c], initial=0.0)
    unit[c:] /= np.where(gradient > 0.0, gradient, 1.0)
    unit = unit[moves]
    scaled = unit[:, None] * matrix[np.ix_(moves, moves)] * unit
    factors, pivots, failed = dgetrf(scaled)
    if failed == 0 and dgecon(factors, np.linalg.norm(scaled, 1))[0] > 100.0 * _RANK:
        solution = np.zeros(load.size)
        solution[moves] = unit * dgetrs(factors, pivots, unit * load[moves])[0]
        return solution
    left, values, right = np.linalg.svd(scaled)
    full = values > _RANK * values[0] if values.size else np.ones(0, dtype=bool)
    # where closed loops share forces, the smallest that do
    shared = np.any(kernels.program.row_soft) and np.max(np.abs(right[~full][:, : moves[:c].sum()]), initial=0.0) < 1e-6
    if np.all(full) or shared:
        solution = np.zeros(load.size)
        solution[moves] = unit * (right[full].T @ ((left[:, full].T @ (unit * load[moves])) / values[full]))
        return solution
    unknowns = (*(_BASE if system.free else ()), *system.coordinate_names, *(name for name, _ in system.multipliers))
    names = np.array(unknowns)[moves]
    c = int(moves[:c].sum())
    vector = np.max(np.abs(right[~full]), axis=0)
    if np.max(vector[:c], initial=0.0) > 1e-6:
        moving = ", ".join(names[:c][vector[:c] > 0.1 * np.max(vector[:c])])
        raise BadInput(
            f"forward_dynamics: the mass matrix is singular, since a motion of {moving} has no inertia: "
            "give the bodies mass and inertia, or fix what moves (a strain with 0 functions, a Fixed joint)"
        )
    rows = ", ".join(names[vector > 0.1 * np.max(vector)])
    raise BadInput(
        f"forward_dynamics: the closures {rows} repeat each other in this configuration, so their forces are not "
        "determined: start from another configuration, or use joints with more freedom"
    )


def closure_drift(kernels: Core, state: State, inputs: Inputs | None) -> Array:
    """Second rate of the closures when the coordinates keep their rates: five-point difference along that motion.

    It holds the centrifugal part J' q' and what a driven base and the inputs of spooled tendons do by themselves.
    """
    weights = {-2: -1.0, -1: 16.0, 0: -30.0, 1: 16.0, 2: -1.0}
    total, h = closures_along(kernels, state, inputs, weights)
    return total / (12.0 * h * h)
