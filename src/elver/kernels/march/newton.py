"""Newton for every compiled solver: residual, tangent and increment of a problem are called at addresses.

The *problem* of a scheme is what it requires at its iterate x: its residual and the factors of its tangent. The
*increment* is found by dense LU, or by elimination along the tree, with closures as its border; which of them is
decided by the size of the robot (:meth:`elver.dynamics.core.Core.along_tree`).

At rest Newton ends by the residual, with a new matrix in every iteration. Over a time step it ends when what the next
correction would be is below the tolerance. The matrix is then kept from iteration to iteration and from step to step
as long as Newton contracts with it; an increment that does not shrink tenfold asks for a new one at the present
iterate. Increments are limited in length, in units of the coordinates, and Newton may be given up where some iterations
did not halve them.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import ROOM, call_own, unpack
from elver.kernels.march.memory import (
    BY_RESIDUAL,
    CONTRACTION,
    IN_FRONT,
    JETS,
    LONGEST,
    MATRIX_STEP,
    MOST,
    PATIENCE,
    ROW,
    STAGE,
    STEP,
    TOLERANCE,
    UNIT,
    unpack_solver,
)

__all__ = ["along_tree", "dense", "evaluate", "factors", "newton", "tangent_at_trial"]

_NOT_CONVERGED, _SINGULAR, _BROKEN = -1, -2, -3
# Of what it is compared with: below this a local pivot of the elimination along the tree costs digits of the increment.
_LEAST_PIVOT = 1e-7
# What is no number, or larger, is no result. (isfinite(x) is x - x == 0, which reordered sums make true of any sum.)
_LARGEST = 1e300
_ENOUGH = 0.5  # of the increment some iterations before: more is no progress


@kernel
def newton(robot, solver):
    """Newton from the iterate x, in place; number of iterations, or a negative status.

    -1: not converged, -2: singular matrix, -3: residual at rest that is no number.
    """
    call, it, _, _, _ = unpack_solver(solver)
    memory, control = it.memory, it.control
    tolerance, longest, most = control[TOLERANCE], control[LONGEST], int(control[MOST])
    patience, by_residual = int(control[PATIENCE]), control[BY_RESIDUAL] > 0.0
    previous, contraction, first, before = 0.0, memory[CONTRACTION], memory[CONTRACTION], np.inf
    for count in range(1, most + 1):
        norm = call.residual(robot, solver)
        if by_residual:
            it.history[count - 1] = norm
            if not norm < _LARGEST:
                return _BROKEN
            if norm < tolerance:
                return count - 1
        fresh, size = _correction(robot, solver, previous)
        if not size < _LARGEST:
            memory[MATRIX_STEP] = -1.0
            return _SINGULAR
        part = 1.0 if size <= longest else longest / size
        for i in range(it.x.shape[0]):
            for k in range(it.x.shape[1]):
                it.x[i, k] += part * it.step[i * it.x.shape[1] + k]
        if by_residual:
            memory[MATRIX_STEP] = -1.0
            continue
        if previous > 0.0:
            contraction = size / previous
            if count == 2:
                first = contraction
        if _is_small(size, contraction, previous, fresh, tolerance):
            memory[CONTRACTION] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[MATRIX_STEP] = -1.0  # the next step begins with a new matrix
            return count
        if fresh and contraction > 0.1:
            memory[MATRIX_STEP] = -1.0
        previous = size * part
        if patience > 0 and count % patience == 0:
            if not size < _ENOUGH * before:
                break
            before = size
    memory[MATRIX_STEP] = -1.0
    if by_residual and call.residual(robot, solver) < tolerance:
        return most
    return _NOT_CONVERGED


@inner
def _correction(robot, solver, previous):
    """The increment at the last residual into it.step: whether with a new matrix, and its size, NaN where singular."""
    call, it, m, _, _ = unpack_solver(solver)
    memory, h, fresh = it.memory, it.control[STEP], False
    while True:
        if abs(memory[MATRIX_STEP] - h) > 1e-9 * abs(h):
            if call.tangent(robot, solver) < 1e-300:
                return True, np.nan
            memory[MATRIX_STEP], fresh = h, True
        for k in range(it.step.size):
            it.step[k] = -it.residual[k]
        turned = call.increment(robot, solver)
        # at rest many short rods turn far together: what counts is the rotation of the farthest frame
        size = turned if it.control[BY_RESIDUAL] > 0.0 else 0.0
        for i in range(it.x.shape[0]):
            for k in range(m.scale.size):
                value = abs(it.step[i * it.x.shape[1] + k]) * it.control[UNIT] / m.scale[k]
                if not value <= size:
                    size = value
        if fresh or previous == 0.0 or size <= 0.1 * previous or size <= it.control[TOLERANCE]:
            return fresh, size
        memory[MATRIX_STEP] = -1.0  # this matrix is too old: take a new one at the present iterate


@inner
def _is_small(size, contraction, previous, fresh, tolerance):
    """True when what Newton leaves behind after a correction of this size is below the tolerance, or is rounding."""
    # before a contraction was seen in this step, that of the last one is trusted to one digit only
    guess = min(contraction, 0.9) if previous > 0.0 else max(min(contraction, 0.9), 0.1)
    if size * guess < tolerance * (1.0 - guess):
        return True
    # with a new matrix, a small correction that no longer shrinks is rounding
    return fresh and previous > 0.0 and contraction > 0.5 and size < 1e-9


# Residual and tangent of a robot at the trial of a scheme ---------------------------------------------------


@inner
def evaluate(robot, solver):
    """Residual of the robot at the trial state, into its work."""
    call, it, m, _, track = unpack_solver(solver)
    multipliers = it.x[m.at[STAGE], m.total.size :]
    call.evaluate_residual(robot, m.base, m.twist, m.q, multipliers, track.inputs[m.at[ROW]], m.at[JETS])


@kernel
def tangent_at_trial(robot, solver):
    """Factors of the tangent at the trial of the last residual, with the columns of the base there."""
    _, _, m, _, _ = unpack_solver(solver)
    return factors(robot, solver, m.columns)


@inner
def factors(robot, solver, columns):
    """Factors of the robot's tangent at the trial of the last residual; its smallest pivot, relative, 0 where singular.

    Along the tree where that is asked for; where a part by itself is loose, by the matrix, whose arrays Python makes
    when they are wanted for the first time.
    """
    call, it, m, _, track = unpack_solver(solver)
    multipliers, inputs, jets = it.x[m.at[STAGE], m.total.size :], track.inputs[m.at[ROW]], m.at[JETS]
    call.evaluate_frames(robot, m.base, multipliers, inputs, jets)
    if it.front.size > 0:
        if call.home(robot, it.front, m.q, multipliers, inputs, columns, m.weights, jets) > _LEAST_PIVOT:
            it.memory[IN_FRONT] = 1.0
            return 1.0
        call.evaluate_frames(robot, m.base, multipliers, inputs, jets)
        if it.matrix.shape[0] == 0:
            call_own(robot[ROOM], solver, 0.0, 0.0, solver, solver, solver)
    it.memory[IN_FRONT] = 0.0
    call.evaluate_matrix(robot, m.q, multipliers, inputs, columns, m.weights, jets)
    return _dense_factors(robot, solver)


@inner
def _dense_factors(robot, solver):
    """Factors of the matrix, wherever that is by now; 0 where no room could be made for it."""
    p, _ = unpack(robot)
    call, it, m, _, _ = unpack_solver(solver)
    if it.matrix.shape[0] == 0:
        return 0.0
    if m.weights[2] == 0.0:  # rows of imposed coordinates, which the weights leave empty
        for j in range(p.imposed.shape[0]):
            k = m.total.size - m.q.shape[1] + p.imposed[j, 0]
            it.matrix[k, k] = 1.0
    return call.factor(it.matrix, it.pivots)


# Increments -------------------------------------------------------------------------------------------------


@kernel
def dense(robot, solver):
    """it.step = A⁻¹ it.step by the factors of the matrix."""
    call, it, _, _, _ = unpack_solver(solver)
    call.substitute(it.matrix, it.pivots, it.step)
    return 0.0


@kernel
def along_tree(robot, solver):
    """The same by the front of the elimination, where the last tangent was taken along the tree."""
    call, it, m, _, _ = unpack_solver(solver)
    if it.memory[IN_FRONT] == 1.0:
        return call.back(robot, it.front, m.at[JETS], it.step)
    call.substitute(it.matrix, it.pivots, it.step)
    return 0.0
