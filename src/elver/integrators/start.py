"""The first accelerations of a one-step method: what its step resolves of the consistent ones.

A sudden load on stiff modes asks for accelerations that no step h with hω ≫ 1 can follow. Newmark carries them along
with alternating sign, generalized-α overshoots. Seen through the matrix of the step itself,

    A₀ = b (K + aD + bM)⁻¹ (-R(x, x', 0)) ,   J A₀ = -J' x' ,   a = γ/(βh),  b = (1-α_m) / (βh² (1-α_f)) ,

slow modes keep their acceleration to O(h²), or O(h) with damping, which at one instant costs no order, and fast ones
4/(hω)² of it. The pseudo-acceleration of generalized-α begins alike. Where the two differ by little over a step the
consistent ones stay: small vibrations that a step does not resolve are carried along without harm, and steps of any
length then begin alike, so that errors of a run fall as smoothly as they should.

Theory: docs/theory/time-integration.md, eq. (filtered-start).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core
from elver.dynamics.states import Arrays
from elver.integrators.method import OneStep
from elver.lie import so3

__all__ = ["FilteredStart", "filtered_start"]

Array = NDArray[np.float64]

# Difference of the two over a step, in units of the coordinates (a radian of bending over the rod), that is little.
_LITTLE = 0.1


@dataclass(frozen=True, eq=False)
class FilteredStart:
    """Accelerations and multipliers to begin a step with."""

    q_ddot: Array
    base_rate: Array  # (6,) second rate of a free base in the scheme: (Ω', p'' in world axes), or η' on SE(3)
    multipliers: Array


def filtered_start(
    kernels: Core, a: Arrays, u: Array, method: OneStep, step: float, drift: Array
) -> FilteredStart | None:
    """What a step [s] resolves of the accelerations at a state; ``drift`` is J' x' of the closures.

    None where they are the consistent ones but for little, and where the matrix of the step is singular, or nearly (a
    state so unstable that it leaves within a step).
    """
    beta, gamma, alpha_m, alpha_f = method.scheme
    speed = gamma / (beta * step)
    b = (1.0 - alpha_m) / (beta * step**2 * (1.0 - alpha_f))
    c, free = kernels.coordinates, kernels.coordinates - kernels.n
    start = Arrays(a.base, a.twist.copy(), a.q.copy(), np.zeros(kernels.rows))
    start.q[2] = 0.0
    world = method.group == "SO3xR3"
    if free:
        start.twist[1] = 0.0
        if world:  # no acceleration of the base point: V' = -Ω×V
            start.twist[1, 3:] = -np.cross(a.twist[0, :3], a.twist[0, 3:])
    matrix = kernels.tangent(start, u, (1.0, speed, b))
    if free and world:
        matrix[:, :6] = _base_columns(kernels, start, u, speed, b)
    load = -kernels.residual(start, u)  # puts what is imposed into start.q
    load[c:] = -drift / b
    try:
        solution: Array = np.linalg.solve(matrix, load).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    found = b * solution[:c]
    before = np.concatenate([a.twist[1] - start.twist[1], a.q[2]]) if free else a.q[2]
    scale = kernels.assembly.scale
    if step**2 * np.max(np.abs(found - before) / scale, initial=0.0) <= _LITTLE:
        return None
    if not np.max(np.abs(found) / scale, initial=0.0) <= 10.0 * np.max(np.abs(before) / scale, initial=0.0) + 1e-9:
        return None
    return FilteredStart(start.q[2] + found[free:], found[:free], solution[c:])


def _base_columns(kernels: Core, start: Arrays, u: Array, a: float, b: float) -> Array:
    """Columns of the base in the step's matrix on SO(3)×R³, at the start of a step without acceleration.

    With (Θ; d) the increment, R = R_n exp(Θ), p = p_n + d, and V = Rᵀp', V' = Rᵀp'' - Ω×V:

        δζ = (Θ; Rᵀd),   δη = (aΘ; aRᵀd + V×Θ),   δη' = (bΘ; bRᵀd + aV×Θ - Ω×(aRᵀd + V×Θ)) .

    In body rates the spin would count as a force on the flight of the mass centre.
    """
    R_T, spin, V = start.base[:3].T, so3.hat(start.twist[0, :3]), so3.hat(start.twist[0, 3:])
    one, none = np.eye(3), np.zeros((3, 3))
    pose = np.block([[one, none], [none, R_T]])
    rate = np.block([[a * one, none], [V, a * R_T]])
    second = np.block([[b * one, none], [a * V - spin @ V, b * R_T - a * spin @ R_T]])
    units = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    parts = [kernels.tangent(start, u, unit)[:, :6] for unit in units]
    columns: Array = parts[0] @ pose + parts[1] @ rate + parts[2] @ second
    return columns
