"""Residual of a system and its tangent: the two functions that every solver calls.

    R = Q_inertia + Q_elastic + Q_damping - Q_load - Q_act + Jᵀλ ,   closure rows below,
    matrix = w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' ,   closure blocks beside and below.

Unknowns run: free base (6), coordinates (n), multipliers (m). Order of multipliers: rows of holds, spooled tendons.
"""

from __future__ import annotations

from elver.kernels.cache import kernel
from elver.kernels.closures import hold_residual, hold_tangent
from elver.kernels.recursion import backward, forward, project, tangent, tangent_backward
from elver.kernels.strain_loads import strain_residual, strain_tangent

__all__ = ["evaluate_residual", "evaluate_tangent"]


@kernel
def evaluate_residual(program, work, base, twist, q, multipliers, inputs, jets):
    """work.residual = R; also leaves poses, twists and wrenches of all frames in ``work``."""
    residual = work.residual
    for k in range(residual.size):
        residual[k] = 0.0
    forward(program, work, base, twist, q, jets)
    backward(program, work, inputs, jets)
    hold_residual(program, work, base, multipliers, residual)
    project(program, work, residual)
    strain_residual(program, work, q, multipliers, inputs, residual)


@kernel
def evaluate_tangent(program, work, base, q, multipliers, inputs, base_columns, weights, jets):
    """work.matrix = tangent at the state of the last :func:`evaluate_residual`."""
    matrix = work.matrix
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[i, k] = 0.0
    tangent_backward(program, work, inputs, jets)
    hold_tangent(program, work, base, multipliers)
    tangent(program, work, base_columns, weights, jets, matrix)
    strain_tangent(program, work, q, multipliers, inputs, weights, matrix)
