"""Equilibria: Newton on the residual at rest (Gotelli 2024, Alg. 16), with steps of limited length.

At rest means relative to the base: where that moves, or a coordinate is imposed at a rate, the inertia of what is
carried along counts, and so does its share of the tangent, the stiffness from centrifugal forces.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import solve, take
from elver.kernels.tree.base_motion import retract

__all__ = ["solve_static"]


@kernel
def solve_static(
    evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
    base, twist, q, multipliers, inputs, energy, tolerance, largest,
    history,
):
    """Newton for R = 0 at rest in the frame of the base, in place on base (4, 3), q (3, n), multipliers.

    ``twist`` (2, 6) is that of a driven base and its rate; of a free one it is taken as zero. Steps are limited to
    ``largest`` times the scale of each unknown. Returns the number of iterations, or -1 when not converged within
    ``history.size``, -2 on a singular matrix, -3 when numbers broke; ``history`` holds the scaled residual norms, NaN
    behind the last.
    """
    p, work = unpack(robot)
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == k else 0.0
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 0.0, 0.0
    jets = 1
    for k in range(2):
        for i in range(6):
            m.twist[k, i] = 0.0 if offset > 0 else twist[k, i]
            if m.twist[k, i] != 0.0:
                jets = 3
        for i in range(n):
            q[1 + k, i] = 0.0
        for j in range(p.imposed.shape[0]):
            if inputs[p.imposed[j, 2 + k]] != 0.0:
                jets = 3
    for i in range(history.size):
        history[i] = np.nan
    for it in range(history.size):
        evaluate_residual(robot, base, m.twist, q, multipliers, inputs, jets)
        norm = _residual_norm(work.residual, m.scale, coordinates, energy)
        history[it] = norm
        if not np.isfinite(norm):
            return -3
        if norm < tolerance:
            return it
        pivot = take(
            evaluate_frames, evaluate_matrix, factor, home, robot, m, base, q, multipliers, inputs, m.columns, jets
        )
        if pivot < 1e-300:
            return -2
        step = m.step
        for k in range(step.size):
            step[k] = -work.residual[k]
        # many short rods turn far together: what counts is the rotation of the farthest frame
        size = solve(substitute, back, robot, m, jets, step)
        for k in range(coordinates):
            size = max(size, abs(step[k]) / m.scale[k])
        if not np.isfinite(size):
            return -2
        part = 1.0 if size <= largest else largest / size
        for k in range(n):
            q[0, k] += part * step[offset + k]
        for k in range(multipliers.size):
            multipliers[k] += part * step[coordinates + k]
        if offset > 0:
            for k in range(6):
                step[k] *= part
            retract(1, base, step, m.twist, 0.0, 0.0, m, m.base, m.twist)
            for i in range(4):
                for k in range(3):
                    base[i, k] = m.base[i, k]
            for i in range(18):
                for k in range(6):
                    m.columns[i, k] = 1.0 if i == k else 0.0
    evaluate_residual(robot, base, m.twist, q, multipliers, inputs, jets)
    if _residual_norm(work.residual, m.scale, coordinates, energy) < tolerance:
        return history.size
    return -1


@kernel
def _residual_norm(residual, scale, coordinates, energy):
    """Largest generalized force times its unit of change, over the energy scale; closures as they are."""
    norm = 0.0
    for k in range(residual.size):
        value = abs(residual[k])
        if k < coordinates:
            value *= scale[k] / energy
        if not value <= norm:
            norm = value
    return norm
