"""Equilibria: Newton on the residual at rest (Gotelli 2024, Alg. 16), with steps of limited length.

At rest means relative to the base: where that moves, or a coordinate is imposed at a rate, the inertia of what is
carried along counts, and so does its share of the tangent, the stiffness from centrifugal forces.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import BY_RESIDUAL, JETS, STEP, UNIT, unpack_solver
from elver.kernels.march.newton import evaluate
from elver.kernels.tree.base_motion import move

__all__ = ["residual_at_rest", "solve_static"]


@kernel
def solve_static(robot, solver, base, twist, q, multipliers, inputs):
    """Newton for R = 0 at rest in the frame of the base, in place on base (4, 3), q (3, n), multipliers.

    ``twist`` (2, 6) is that of a driven base and its rate; of a free one it is taken as zero. Returns the number of
    iterations, or -1 when not converged, -2 on a singular matrix, -3 when numbers broke; ``history`` of the iteration
    holds the scaled residual norms, NaN behind the last.
    """
    p, _ = unpack(robot)
    call, it, m, _, track = unpack_solver(solver)
    coordinates, n = m.total.size, q.shape[1]
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 0.0, 0.0
    it.control[BY_RESIDUAL], it.control[STEP], it.control[UNIT] = 1.0, 0.0, 1.0
    jets = 1
    for k in range(2):
        for i in range(6):
            m.twist[k, i] = 0.0 if coordinates > n else twist[k, i]
            if m.twist[k, i] != 0.0:
                jets = 3
        for j in range(p.imposed.shape[0]):
            if inputs[p.imposed[j, 2 + k]] != 0.0:
                jets = 3
    m.at[JETS] = jets
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == k else 0.0
    for k in range(n):
        m.q[0, k], m.q[1, k], m.q[2, k] = q[0, k], 0.0, 0.0
    for i in range(4):
        for k in range(3):
            m.base[i, k] = base[i, k]
    for k in range(it.x.shape[1]):
        it.x[0, k] = 0.0 if k < coordinates else multipliers[k - coordinates]
    for k in range(inputs.size):
        track.inputs[0, k] = inputs[k]
    for i in range(it.history.size):
        it.history[i] = np.nan
    status = call.iterate(robot, solver)
    for i in range(3):
        for k in range(n):
            q[i, k] = m.q[i, k]
    for i in range(4):
        for k in range(3):
            base[i, k] = m.base[i, k]
    for k in range(multipliers.size):
        multipliers[k] = it.x[0, coordinates + k]
    return status


@kernel
def residual_at_rest(robot, solver):
    """The residual beyond the last increment, which then is zero: largest generalized force times its unit of change,
    over the energy of the robot (scheme[0, 0]); closures as they are."""
    _, it, m, place, _ = unpack_solver(solver)
    coordinates, n = m.total.size, m.q.shape[1]
    offset = coordinates - n
    for k in range(n):
        m.q[0, k] += m.total[offset + k]
    if offset > 0:
        for i in range(4):
            for k in range(3):
                place.base[i, k] = m.base[i, k]
        move(place.base, m.total, m.stumpff, m.base)
    for k in range(coordinates):
        m.total[k] = 0.0
    evaluate(robot, solver)
    norm = 0.0
    for k in range(it.residual.size):
        value = abs(it.residual[k])
        if k < coordinates:
            value *= m.scale[k] / place.scheme[0, 0]
        if not value <= norm:
            norm = value
    return norm
