"""Explicit methods on the accelerations of a tree, for motions that are not stiff: Runge-Kutta 4, semi-implicit Euler.

A free base moves on SO(3)×R³ in the chart of each step: R = R_n exp(Θ), Θ' = T⁻¹(Θ) Ω, with the terms of T⁻¹ that the
order asks for (Runge-Kutta-Munthe-Kaas). Stages of Runge-Kutta 4 are at the start, twice in the middle and at the end
of the step; the accelerations at the end are the first stage of the next step. Semi-implicit Euler takes the rates one
step on with the accelerations at the start, and the coordinates with the new rates.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import follow, is_far, record, unpack_solver
from elver.kernels.tree.base_motion import orthonormalise, turned, unwind

__all__ = ["march_explicit"]


@kernel
def march_explicit(find_accelerations, robot, solver, sweep, stages):
    """Steps over the times of a track; returns the number of steps done (all, or the failing one's index).

    ``stages`` is 4 for Runge-Kutta, 1 for Euler. Inputs and the motion of a driven base have a row for the first time,
    then two for each step: its middle, its end. Rates of the base are (Ω; ṗ) and their rates.
    """
    program, _ = unpack(robot)
    call, _, m, place, track = unpack_solver(solver)
    base, rates, q, times = place.base, place.rates, place.q, track.times
    n, offset = q.shape[1], m.total.size - q.shape[1]
    for k in range(m.total.size):
        m.total[k] = 0.0
        m.free[1, k] = 0.0
    # one evaluation at the start, then four for each step (two in its middle, a trial of its end, its end) or one
    for evaluation in range(stages * (times.size - 1) + 1):
        step, stage, row, finished = 0, 0, 0, True
        if evaluation > 0:
            step, stage = (evaluation - 1) // stages, (evaluation - 1) % stages
            finished = stage == stages - 1
            row = 2 * step + (2 if finished or stage == 2 else 1)
            h = times[step + 1] - times[step]
            _increment(m.total, m.free, sweep.slope, stages, stage, h)
            if finished and is_far(m.total, q, m.scale, offset, h, False):
                return step
            if finished and stages == 4 and _is_unstable(sweep.given, sweep.slope, m.scale, offset, h):
                return step
        _try(solver, row)
        if not find_accelerations(
            call.evaluate_residual, robot, sweep, m.base, m.twist, m.q, place.multipliers, track.inputs[row]
        ):
            return step
        _slopes(m.total, m.q, m.base, m.twist, m.small, sweep.slope[0 if finished else stage + 1])
        if finished:
            _accept(m.q, m.base, m.twist, sweep.slope[0], offset, base, rates, q)
            orthonormalise(base)
            if unwind(program.wrap, q, m.small, m.stumpff):
                for k in range(n):
                    sweep.slope[0, 0, offset + k] = q[1, k]
                    sweep.slope[0, 1, offset + k] = q[2, k]
            record(solver, 0 if evaluation == 0 else step + 1)
    return times.size - 1


@kernel
def _is_unstable(given, slope, scale, offset, h):
    """True where the step is too long for the fastest motion in it: h ω > 2.8, the limit of stability.

    The two stages in the middle differ by δx = ½h (x'_2 - x'_1) and their accelerations by about ω² δx, for an
    oscillation as for drag.
    """
    far, fast = 0.0, 0.0
    for k in range(scale.size):
        if k < offset or given[k - offset] == 0:
            far += (0.5 * h * (slope[1, 0, k] - slope[0, 0, k]) / scale[k]) ** 2
            fast += ((slope[2, 1, k] - slope[1, 1, k]) / scale[k]) ** 2
    if not fast < np.inf:
        return True
    # below this distance differences are rounding
    return far > 1e-20 and h**4 * fast > 2.8**4 * far


@kernel
def _increment(total, free, slope, stages, stage, h):
    """Increments of coordinates and of rates (in free[1]) from the start of the step to the next evaluation."""
    part = 0.5 * h if stage < 2 else h
    for k in range(total.size):
        if stages == 1:
            free[1, k] = h * slope[0, 1, k]
            total[k] = h * (slope[0, 0, k] + free[1, k])
        elif stage < 3:
            total[k] = part * slope[stage, 0, k]
            free[1, k] = part * slope[stage, 1, k]
        else:
            total[k] = h / 6.0 * (slope[0, 0, k] + 2.0 * (slope[1, 0, k] + slope[2, 0, k]) + slope[3, 0, k])
            free[1, k] = h / 6.0 * (slope[0, 1, k] + 2.0 * (slope[1, 1, k] + slope[2, 1, k]) + slope[3, 1, k])


@inner
def _try(solver, row):
    """The state at these increments; leaves the velocity of a free base in world axes in m.small[3, 0]."""
    _, _, m, place, track = unpack_solver(solver)
    n, offset = place.q.shape[1], m.total.size - place.q.shape[1]
    for k in range(n):
        m.q[0, k] = place.q[0, k] + m.total[offset + k]
        m.q[1, k] = place.q[1, k] + m.free[1, offset + k]
    if offset == 0:
        follow(track.given_base[row], track.given_twist[row], m.base, m.twist)
        return
    turned(place.base, m.total, m.stumpff, m.base)
    pose, velocity = m.base, m.small[3, 0]
    for k in range(3):
        pose[3, k] = place.base[3, k] + m.total[3 + k]
        m.twist[0, k] = place.rates[0, k] + m.free[1, k]
        velocity[k] = place.rates[0, 3 + k] + m.free[1, 3 + k]
    for k in range(3):
        m.twist[0, 3 + k] = pose[0, k] * velocity[0] + pose[1, k] * velocity[1] + pose[2, k] * velocity[2]


@kernel
def _slopes(total, trial, pose, twist, small, slope):
    """Rates of the coordinates and of the rates at an evaluation."""
    n, offset = trial.shape[1], total.size - trial.shape[1]
    for k in range(n):
        slope[0, offset + k] = trial[1, k]
        slope[1, offset + k] = trial[2, k]
    if offset == 0:
        return
    W, A, x, velocity, turn, a = twist[0], twist[1], total, small[3, 0], small[2, 0], small[2, 1]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn[i] = x[j] * W[k] - x[k] * W[j]
        a[i] = A[3 + i] + W[j] * W[3 + k] - W[k] * W[3 + j]
    # T⁻¹(Θ) Ω = Ω + ½ Θ×Ω + 1/12 Θ×(Θ×Ω) + O(Θ⁴)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        slope[0, i] = W[i] + 0.5 * turn[i] + (x[j] * turn[k] - x[k] * turn[j]) / 12.0
        slope[0, 3 + i] = velocity[i]
        slope[1, i] = A[i]
        slope[1, 3 + i] = pose[i, 0] * a[0] + pose[i, 1] * a[1] + pose[i, 2] * a[2]


@kernel
def _accept(trial, pose, twist, slope, offset, base, rates, q):
    """The last evaluation becomes the state; in the chart of the next step Θ = 0, so that Θ' = Ω."""
    for k in range(q.shape[1]):
        q[0, k], q[1, k], q[2, k], q[3, k] = trial[0, k], trial[1, k], trial[2, k], trial[2, k]
    for i in range(4):
        for k in range(3):
            base[i, k] = pose[i, k]
    if offset > 0:
        for k in range(3):
            rates[0, k], rates[0, 3 + k] = twist[0, k], slope[0, 3 + k]
            slope[0, k] = twist[0, k]
        for k in range(6):
            rates[1, k] = slope[1, k]
            rates[2, k] = rates[1, k]
