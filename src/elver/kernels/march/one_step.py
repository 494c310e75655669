"""One-step implicit methods: Newmark, HHT, generalized-α (Gotelli 2024, sections 3.2, 4.5).

With d the increment of a coordinate over the step, x' = a d + f and x'' = b d + h, and the residual is required at the
end of the step, closures at the level of position (index 3). A free base moves on SO(3)×R³ (Θ in body axes, d in world
axes) or on SE(3); the formulas are applied to (Ω, ṗ) or η directly.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import follow, is_far, is_small, record, solve, take
from elver.kernels.tree.base_motion import orthonormalise, retract, unwind
from elver.kernels.tree.evaluate import impose

__all__ = ["march_one_step"]


@kernel
def march_one_step(
    evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
    on_se3, scheme, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, tolerance, iterations_max,
    out_q, out_base, out_twist, out_multipliers, out_iterations,
):
    """Newmark-type steps over ``times``; returns the number of steps done (all, or the failing one's index).

    ``scheme`` = (β, γ, α_m, α_f). State in place: base (4, 3), rates (3, 6) of the scheme on the base with the
    pseudo-acceleration last, q (4, n) likewise, multipliers. A driven base follows given_base, given_twist.
    Outputs have one row per time, the first being the start.
    """
    program, _ = unpack(robot)
    beta, gamma, alpha_m, alpha_f = scheme[0], scheme[1], scheme[2], scheme[3]
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    for step in range(times.size - 1):
        h = times[step + 1] - times[step]
        a = gamma / (beta * h)
        b = (1.0 - alpha_m) / (beta * h * h * (1.0 - alpha_f))
        m.weights[0], m.weights[1], m.weights[2] = 1.0, a, b
        ratio = (1.0 - alpha_m) / (1.0 - alpha_f)
        # what the rates would be without a further increment
        for k in range(coordinates):
            if k < offset:
                v, acc, like = rates[0, k], rates[1, k], rates[2, k]
            else:
                v, acc, like = q[1, k - offset], q[2, k - offset], q[3, k - offset]
            m.free[0, k] = (1.0 - gamma / beta) * v + h * (1.0 - 0.5 * gamma / beta) * like
            m.free[1, k] = ratio * (-v / (beta * h) + (1.0 - 0.5 / beta) * like)
            m.free[1, k] += (alpha_m * like - alpha_f * acc) / (1.0 - alpha_f)
        count = -1
        for careful in range(2):
            if count >= 0:
                break
            for k in range(multipliers.size):
                multipliers[k] = out_multipliers[step, k]
            count = _newton_step(
                evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
                on_se3, a, b, h, base, rates, q, multipliers,
                inputs[step + 1], given_base[step + 1], given_twist[step + 1], tolerance, iterations_max, careful,
            )
        if count < 0:
            return step
        _trial(on_se3, m, a, b, base, q, rates, offset, given_base[step + 1], given_twist[step + 1])
        impose(program.imposed, inputs[step + 1], 3, m.q)
        # accept
        for k in range(coordinates):
            v = a * m.total[k] + m.free[0, k]
            acc = b * m.total[k] + m.free[1, k]
            if k < offset:
                like = ((1.0 - alpha_f) * acc + alpha_f * rates[1, k] - alpha_m * rates[2, k]) / (1.0 - alpha_m)
                rates[0, k], rates[1, k], rates[2, k] = v, acc, like
            else:
                j = k - offset
                acc = m.q[2, j]
                like = ((1.0 - alpha_f) * acc + alpha_f * q[2, j] - alpha_m * q[3, j]) / (1.0 - alpha_m)
                q[0, j], q[1, j], q[2, j], q[3, j] = m.q[0, j], m.q[1, j], acc, like
        for i in range(4):
            for k in range(3):
                base[i, k] = m.base[i, k]
        orthonormalise(base)
        unwind(program.wrap, q, m.small, m.stumpff)
        record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
        out_iterations[step + 1] = count
    return times.size - 1


@inner
def _newton_step(
    evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
    on_se3, a, b, h, base, rates, q, multipliers,
    u, given_base, given_twist, tolerance, iterations_max, careful,
):
    """Newton for the increment m.total of one step; number of iterations, or -1.

    The predictor keeps the acceleration. Where that is far off (stiff modes set off by a sudden load), ``careful``
    starts from the velocity alone, with strains that change by half a radian over the rod at most.
    """
    _, work = unpack(robot)
    coordinates, memory = m.total.size, m.memory
    offset = coordinates - q.shape[1]
    largest = 0.0
    for k in range(coordinates):
        if careful == 1:
            m.total[k] = h * (rates[0, k] if k < offset else q[1, k - offset])
            if k >= offset:
                largest = max(largest, abs(m.total[k]) / m.scale[k])
        else:
            m.total[k] = ((rates[1, k] if k < offset else q[2, k - offset]) - m.free[1, k]) / b
    if largest > 0.5:
        for k in range(offset, coordinates):
            m.total[k] *= 0.5 / largest
    if careful == 1:
        memory[0], memory[1] = 1.0, -1.0
    previous, contraction, first = 0.0, memory[0], memory[0]
    for count in range(1, iterations_max + 1):
        _trial(on_se3, m, a, b, base, q, rates, offset, given_base, given_twist)
        evaluate_residual(robot, m.base, m.twist, m.q, multipliers, u, 3)
        fresh, size = False, 0.0
        while True:
            if abs(memory[1] - h) > 1e-9 * h:
                pivot = take(
                    evaluate_frames, evaluate_matrix, factor, home, robot, m, m.base, m.q, multipliers, u, m.columns, 3
                )
                if pivot < 1e-300:
                    memory[1] = -1.0
                    return -1
                memory[1], fresh = h, True
            for k in range(m.step.size):
                m.step[k] = -work.residual[k]
            solve(substitute, back, robot, m, 3, m.step)
            size = 0.0
            for k in range(coordinates):
                value = abs(m.step[k]) / m.scale[k]
                if not value <= size:
                    size = value
            if fresh or previous == 0.0 or size <= 0.1 * previous or size <= tolerance:
                break
            memory[1] = -1.0  # this matrix is too old: take a new one at the present trial
        if not np.isfinite(size):
            break
        if previous > 0.0:
            contraction = size / previous
            if count == 2:
                first = contraction
        part = 1.0 if size < 1.0 else 1.0 / size
        for k in range(coordinates):
            m.total[k] += part * m.step[k]
        for k in range(multipliers.size):
            multipliers[k] += part * m.step[coordinates + k]
        if is_small(size, contraction, previous, fresh, tolerance):
            memory[0] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[1] = -1.0  # the next step begins with a new matrix
            if is_far(m.total, q, m.scale, offset, h, multipliers.size > 0):
                break
            return count
        if fresh and contraction > 0.1:
            memory[1] = -1.0
        previous = size * part
    memory[1] = -1.0
    return -1


@kernel
def _trial(on_se3, m, a, b, base, q, rates, offset, given_base, given_twist):
    """Trial state of a one-step scheme at the increment m.total."""
    for k in range(q.shape[1]):
        d = m.total[offset + k]
        m.q[0, k] = q[0, k] + d
        m.q[1, k] = a * d + m.free[0, offset + k]
        m.q[2, k] = b * d + m.free[1, offset + k]
    if offset > 0:
        # scheme rates of the base at this increment, kept in the first two rows of m.stage
        trial = m.stage[3]
        for k in range(6):
            trial[0, k] = a * m.total[k] + m.free[0, k]
            trial[1, k] = b * m.total[k] + m.free[1, k]
        retract(on_se3, base, m.total, trial, a, b, m, m.base, m.twist)
    else:
        follow(given_base, given_twist, m.base, m.twist)
