"""Residual, tangent and accelerations many times in a compiled loop, as solvers call them: to be timed."""

from __future__ import annotations

from elver.kernels.build.cache import kernel

__all__ = ["repeat_accelerations", "repeat_residual", "repeat_tangent"]


@kernel
def repeat_residual(evaluate_residual, robot, base, twist, q, multipliers, inputs, jets, calls):
    """``calls`` residuals."""
    for _ in range(calls):
        evaluate_residual(robot, base, twist, q, multipliers, inputs, jets)


@kernel
def repeat_tangent(
    evaluate_frames, evaluate_matrix, robot, base, q, multipliers, inputs, columns, weights, jets, calls
):
    """``calls`` tangents."""
    for _ in range(calls):
        evaluate_frames(robot, base, multipliers, inputs, jets)
        evaluate_matrix(robot, q, multipliers, inputs, columns, weights, jets)


@kernel
def repeat_accelerations(
    find_accelerations, evaluate_residual, robot, sweep, base, twist, q, multipliers, inputs, calls
):
    """``calls`` accelerations."""
    for _ in range(calls):
        find_accelerations(evaluate_residual, robot, sweep, base, twist, q, multipliers, inputs)
