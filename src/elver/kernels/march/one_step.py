"""One-step implicit methods: Newmark, HHT, generalized-α (Gotelli 2024, sections 3.2, 4.5).

With d the increment of a coordinate over the step, x' = a d + f and x'' = b d + h, and the residual is required at the
end of the step, closures at the level of position (index 3). A free base moves on SO(3)×R³ (Θ in body axes, d in world
axes) or on SE(3); the formulas are applied to (Ω, ṗ) or η directly. A step in which Newton fails from the present
acceleration is tried once more from the present velocity.
"""

from __future__ import annotations

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import (
    CONTRACTION,
    LONGEST,
    MATRIX_STEP,
    ROW,
    STEP,
    UNIT,
    follow,
    is_far,
    record,
    unpack_solver,
)
from elver.kernels.march.newton import evaluate
from elver.kernels.tree.base_motion import Turning, orthonormalise, retract, unwind
from elver.kernels.tree.evaluate import impose

__all__ = ["march_one_step", "residual_of_increment"]


@kernel
def march_one_step(robot, solver):
    """Newmark-type steps over the times of a track; returns the number of steps done (all, or the failing one's index).

    Inputs and the motion of a driven base have one row per time. The unknowns are the increments over the step.
    """
    program, _ = unpack(robot)
    call, it, m, place, track = unpack_solver(solver)
    beta, gamma, alpha_m, alpha_f = place.scheme[0, 0], place.scheme[0, 1], place.scheme[0, 2], place.scheme[0, 3]
    q, closed = place.q, place.multipliers.size > 0
    offset = m.total.size - q.shape[1]
    it.control[LONGEST], it.control[UNIT] = 1.0, 1.0
    for step in range(track.times.size - 1):
        h = track.times[step + 1] - track.times[step]
        m.weights[0], m.weights[1] = 1.0, gamma / (beta * h)
        m.weights[2] = (1.0 - alpha_m) / (beta * h * h * (1.0 - alpha_f))
        it.control[STEP], m.at[ROW] = h, step + 1
        _free_rates(solver, h)
        count = -1
        for careful in range(2):
            if count >= 0:
                break
            _predict(solver, h, careful)
            count = call.iterate(robot, solver)
            if count >= 0 and is_far(m.total, q, m.scale, offset, h, closed):
                it.memory[MATRIX_STEP], count = -1.0, -1
        if count < 0:
            return step
        _try(solver)
        impose(program.imposed, track.inputs[step + 1], 3, m.q)
        _accept(solver)
        orthonormalise(place.base)
        unwind(program.wrap, q, m.small, m.stumpff)
        record(solver, step + 1)
        track.out_iterations[step + 1] = count
    return track.times.size - 1


@kernel
def residual_of_increment(robot, solver):
    """The residual at the end of the step."""
    _try(solver)
    evaluate(robot, solver)
    return 0.0


@inner
def _free_rates(solver, h):
    """m.free: what the rates would be without a further increment."""
    _, _, m, place, _ = unpack_solver(solver)
    beta, gamma, alpha_m, alpha_f = place.scheme[0, 0], place.scheme[0, 1], place.scheme[0, 2], place.scheme[0, 3]
    rates, q, ratio = place.rates, place.q, (1.0 - alpha_m) / (1.0 - alpha_f)
    offset = m.total.size - q.shape[1]
    for k in range(m.total.size):
        if k < offset:
            v, acc, like = rates[0, k], rates[1, k], rates[2, k]
        else:
            v, acc, like = q[1, k - offset], q[2, k - offset], q[3, k - offset]
        m.free[0, k] = (1.0 - gamma / beta) * v + h * (1.0 - 0.5 * gamma / beta) * like
        m.free[1, k] = ratio * (-v / (beta * h) + (1.0 - 0.5 / beta) * like)
        m.free[1, k] += (alpha_m * like - alpha_f * acc) / (1.0 - alpha_f)


@inner
def _predict(solver, h, careful):
    """The first iterate.

    The predictor keeps the acceleration. Where that is far off (stiff modes set off by a sudden load), ``careful``
    starts from the velocity alone, with strains that change by half a radian over the rod at most.
    """
    _, it, m, place, _ = unpack_solver(solver)
    rates, q, coordinates = place.rates, place.q, m.total.size
    offset, largest = coordinates - q.shape[1], 0.0
    for k in range(place.multipliers.size):
        it.x[0, coordinates + k] = place.multipliers[k]
    for k in range(coordinates):
        if careful == 1:
            m.total[k] = h * (rates[0, k] if k < offset else q[1, k - offset])
            if k >= offset:
                largest = max(largest, abs(m.total[k]) / m.scale[k])
        else:
            m.total[k] = ((rates[1, k] if k < offset else q[2, k - offset]) - m.free[1, k]) / m.weights[2]
    if largest > 0.5:
        for k in range(offset, coordinates):
            m.total[k] *= 0.5 / largest
    if careful == 1:
        it.memory[CONTRACTION], it.memory[MATRIX_STEP] = 1.0, -1.0


@inner
def _try(solver):
    """Trial state at the increment m.total."""
    _, _, m, place, track = unpack_solver(solver)
    a, b, offset = m.weights[1], m.weights[2], m.total.size - place.q.shape[1]
    for k in range(place.q.shape[1]):
        d = m.total[offset + k]
        m.q[0, k] = place.q[0, k] + d
        m.q[1, k] = a * d + m.free[0, offset + k]
        m.q[2, k] = b * d + m.free[1, offset + k]
    if offset > 0:
        # scheme rates of the base at this increment
        rates = m.stage[2]
        for k in range(6):
            rates[0, k] = a * m.total[k] + m.free[0, k]
            rates[1, k] = b * m.total[k] + m.free[1, k]
        turning = Turning(m.columns, m.stumpff, m.small)
        retract(place.on_se3[0], place.base, m.total, rates, m.weights, turning, m.base, m.twist)
    else:
        follow(track.given_base[m.at[ROW]], track.given_twist[m.at[ROW]], m.base, m.twist)


@inner
def _accept(solver):
    """The trial becomes the state, with the pseudo-accelerations that go on from it."""
    _, it, m, place, _ = unpack_solver(solver)
    a, b, alpha_m, alpha_f = m.weights[1], m.weights[2], place.scheme[0, 2], place.scheme[0, 3]
    rates, q, coordinates = place.rates, place.q, m.total.size
    offset = coordinates - q.shape[1]
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
            place.base[i, k] = m.base[i, k]
    for k in range(place.multipliers.size):
        place.multipliers[k] = it.x[0, coordinates + k]
