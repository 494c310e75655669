"""The classical Runge-Kutta method of order 4 on the accelerations of a tree, for motions that are not stiff.

A free base moves on SO(3)×R³ in the chart of each step: R = R_n exp(Θ), Θ' = T⁻¹(Θ) Ω, with the terms of T⁻¹ that the
order asks for (Runge-Kutta-Munthe-Kaas). Stages are at the start, twice in the middle and at the end of the step.
"""

from __future__ import annotations

from elver.kernels.articulated import accelerations
from elver.kernels.base_motion import orthonormalise, turned, unwind
from elver.kernels.cache import kernel
from elver.kernels.march import follow, is_far, record

__all__ = ["march_explicit"]


@kernel
def march_explicit(
    evaluate_residual, evaluate_tangent, program, work, m, sweep, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, out_q, out_base, out_twist, out_multipliers,
):
    """Steps over ``times``; returns the number of steps done (all, or the failing one's index).

    Inputs and the motion of a driven base have a row for the first time, then two for each step: its middle, its end.
    State in place: base (4, 3), rates (3, 6) = (Ω; ṗ) and their rates, q (4, n). Outputs have one row per time.
    """
    n, offset = q.shape[1], m.total.size - q.shape[1]
    for k in range(m.total.size):
        m.total[k] = 0.0
    if not _stage(
        evaluate_residual, program, work, m, sweep, 0, base, rates, q, multipliers, inputs[0], given_base[0],
        given_twist[0], 0.0,
    ):
        return 0
    _accept(m, sweep, offset, base, rates, q)
    record(0, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
    for step in range(times.size - 1):
        h = times[step + 1] - times[step]
        for stage in range(4):
            if stage < 3:
                row = 2 * step + (1 if stage < 2 else 2)
                part = 0.5 * h if stage < 2 else h
                _increment(m, sweep, stage, part)
            else:
                row = 2 * step + 2
                for k in range(m.total.size):
                    for rate in range(2):
                        a, b, c, d = (
                            sweep.slope[0, rate, k], sweep.slope[1, rate, k], sweep.slope[2, rate, k],
                            sweep.slope[3, rate, k],
                        )  # fmt: skip
                        total = h / 6.0 * (a + 2.0 * (b + c) + d)
                        if rate == 0:
                            m.total[k] = total
                        else:
                            m.free[1, k] = total
                if is_far(m.total, q, m.scale, offset, h, False):
                    return step
            if not _stage(
                evaluate_residual, program, work, m, sweep, (stage + 1) % 4, base, rates, q, multipliers, inputs[row],
                given_base[row], given_twist[row], 1.0,
            ):
                return step
        _accept(m, sweep, offset, base, rates, q)
        orthonormalise(base)
        if unwind(program.wrap, q, m.small, m.stumpff):
            for k in range(n):
                sweep.slope[0, 0, offset + k] = q[1, k]
                sweep.slope[0, 1, offset + k] = q[2, k]
        record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
    return times.size - 1


@kernel
def _increment(m, sweep, stage, part):
    """Increments of coordinates and rates to the next stage: a part of the step along the slopes of this one."""
    for k in range(m.total.size):
        m.total[k] = part * sweep.slope[stage, 0, k]
        m.free[1, k] = part * sweep.slope[stage, 1, k]


@kernel
def _stage(
    evaluate_residual, program, work, m, sweep, stage, base, rates, q, multipliers, u, given_base, given_twist, moved
):
    """State at the increments m.total and m.free[1], its accelerations, and the slopes of a stage."""
    n, offset = q.shape[1], m.total.size - q.shape[1]
    for k in range(n):
        m.q[0, k] = q[0, k] + moved * m.total[offset + k]
        m.q[1, k] = q[1, k] + moved * m.free[1, offset + k]
    if offset > 0:
        turned(base, m.total, m.stumpff, m.base)
        velocity = m.small[3]
        for k in range(3):
            m.base[3, k] = base[3, k] + m.total[3 + k]
            m.twist[0, k] = rates[0, k] + moved * m.free[1, k]
            velocity[0, k] = rates[0, 3 + k] + moved * m.free[1, 3 + k]
        for k in range(3):
            m.twist[0, 3 + k] = (
                m.base[0, k] * velocity[0, 0] + m.base[1, k] * velocity[0, 1] + m.base[2, k] * velocity[0, 2]
            )
    else:
        follow(given_base, given_twist, m.base, m.twist)
    if not accelerations(evaluate_residual, program, work, sweep, m.base, m.twist, m.q, multipliers, u):
        return False
    for k in range(n):
        sweep.slope[stage, 0, offset + k] = m.q[1, k]
        sweep.slope[stage, 1, offset + k] = m.q[2, k]
    if offset > 0:
        W, V, A, x = m.twist[0], m.twist[0, 3:], m.twist[1], m.total
        slope = sweep.slope[stage]
        # T⁻¹(Θ) Ω = Ω + ½ Θ×Ω + 1/12 Θ×(Θ×Ω) + O(Θ⁴)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            m.small[2, 0, i] = x[j] * W[k] - x[k] * W[j]
            m.small[2, 1, i] = A[3 + i] + W[j] * V[k] - W[k] * V[j]
        turn, acceleration = m.small[2, 0], m.small[2, 1]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            slope[0, i] = W[i] + 0.5 * turn[i] + (x[j] * turn[k] - x[k] * turn[j]) / 12.0
            slope[0, 3 + i] = velocity[0, i]
            slope[1, i] = A[i]
            slope[1, 3 + i] = (
                m.base[i, 0] * acceleration[0] + m.base[i, 1] * acceleration[1] + m.base[i, 2] * acceleration[2]
            )
    return True


@kernel
def _accept(m, sweep, offset, base, rates, q):
    """The last stage becomes the state; in the chart of the next step Θ = 0, so that Θ' = Ω."""
    for k in range(q.shape[1]):
        q[0, k], q[1, k], q[2, k], q[3, k] = m.q[0, k], m.q[1, k], m.q[2, k], m.q[2, k]
    for i in range(4):
        for k in range(3):
            base[i, k] = m.base[i, k]
    if offset > 0:
        for k in range(3):
            rates[0, k], rates[0, 3 + k] = m.twist[0, k], sweep.slope[0, 0, 3 + k]
            sweep.slope[0, 0, k] = m.twist[0, k]
        for k in range(6):
            rates[1, k] = sweep.slope[0, 1, k]
            rates[2, k] = rates[1, k]
