"""Compiled solvers: Newton for equilibria, and the two families of implicit time steps.

**One-step family** (Newmark, HHT, generalized-α; Gotelli 2024 sections 3.2, 4.5): with d the increment of a
coordinate over the step, x' = a d + f and x'' = b d + h, and the residual is required at the end of the step.

**Gauss family** (implicit midpoint, order 4 with two stages): the accelerations of the stages are the unknowns,

    x_i = x_n + c_i h x'_n + h² Σ ā_ij x''_j ,    x'_i = x'_n + h Σ a_ij x''_j ,

solved by simplified Newton. Closures hold at the level of velocity at the stages (index 2), and position and velocity
at the end of the step are projected back onto them along M⁻¹Jᵀ, which keeps the order (Ascher and Petzold 1991,
projected collocation). A free base moves on SO(3)×R³ (Θ in body axes, d in world axes) or on SE(3); the one-step
family applies its formulas to (Ω, ṗ) or η directly, the Gauss family integrates the chart coordinates ν.

Matrices are kept from step to step as long as Newton contracts well with them; a step that fails from the present
acceleration is tried once more from the present velocity. Functions return a status and never raise. Residual and
tangent come in as function pointers (see :mod:`elver.kernels.entry`): a solver that contained their bodies would be
optimised with them once more, which takes six times as long to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.algebra import lu_factor, lu_solve
from elver.kernels.base_motion import chart, mix_chart_columns, orthonormalise, retract, shift, unwind
from elver.kernels.cache import inner, kernel
from elver.kernels.closures import closure_accelerations, closure_is_active, closure_rates
from elver.kernels.evaluate import impose

__all__ = ["March", "march_for", "march_gauss", "march_one_step", "solve_static"]

Floats = NDArray[np.float64]

_ASIDE = 0.3  # of the unit of a coordinate: rad in a joint, or of bending over a rod


class March(NamedTuple):
    """Scratch arrays of the solvers."""

    q: Floats  # (3, n) trial coordinates and rates
    base: Floats  # (4, 3) trial base
    twist: Floats  # (2, 6) trial body twist and rate
    step: Floats  # (size,) Newton increment
    total: Floats  # (coordinates,) increment since the last step
    free: Floats  # (2, coordinates) x_dot_free, x_ddot_free
    columns: Floats  # (18, 6) body variations of the base per unknown
    mixed: Floats  # (18, 6) the same for a mixture of rates
    weights: Floats  # (3,)
    scale: Floats  # (coordinates,) large change of each unknown
    small: Floats  # (5, 3, 3) rotations
    stumpff: Floats  # (12,)
    stage: Floats  # (4, stages, coordinates) accelerations: now, previous step, chart coordinates, their rates
    stage_multipliers: Floats  # (stages, rows)
    big: Floats  # (stages unknowns, stages unknowns)
    big_step: Floats  # (stages unknowns,)
    big_pivots: NDArray[np.int64]
    memory: Floats  # (3,) from step to step: contraction of Newton, step of the matrix, step of the last stages


def march_for(coordinates: int, n: int, rows: int, scale: Floats, stages: int) -> March:
    """Scratch arrays for ``coordinates`` unknowns (base and strains), of which ``n`` strains, and ``rows``."""
    return March(
        q=np.zeros((3, n)),
        base=np.zeros((4, 3)),
        twist=np.zeros((2, 6)),
        step=np.zeros(coordinates + rows),
        total=np.zeros(coordinates),
        free=np.zeros((2, coordinates)),
        columns=np.zeros((18, 6)),
        mixed=np.zeros((18, 6)),
        weights=np.zeros(3),
        scale=np.array(scale, dtype=float),
        small=np.zeros((5, 3, 3)),
        stumpff=np.zeros(12),
        stage=np.zeros((4, stages, coordinates)),
        stage_multipliers=np.zeros((stages, rows)),
        big=np.zeros((stages * (coordinates + rows), stages * (coordinates + rows))),
        big_step=np.zeros(stages * (coordinates + rows)),
        big_pivots=np.zeros(stages * (coordinates + rows), dtype=np.int64),
        memory=np.array([1.0, -1.0, -1.0]),
    )


# ---------------------------------------------------------------------------------------------------------------
# Statics
# ---------------------------------------------------------------------------------------------------------------


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


@kernel
def solve_static(
    evaluate_residual, evaluate_tangent, program, work, m,
    base, q, multipliers, inputs, energy, tolerance, largest, history,
):
    """Newton for R = 0 at rest, in place on base (4, 3), q (3, n), multipliers.

    Steps are limited to ``largest`` times the scale of each unknown. Returns the number of iterations, or -1 when
    not converged within ``history.size``, -2 on a singular matrix, -3 when numbers broke; ``history`` holds the
    scaled residual norms, NaN behind the last.
    """
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == k else 0.0
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 0.0, 0.0
    for k in range(2):
        for i in range(6):
            m.twist[k, i] = 0.0
        for i in range(n):
            q[1 + k, i] = 0.0
    for i in range(history.size):
        history[i] = np.nan
    for it in range(history.size):
        evaluate_residual(program, work, base, m.twist, q, multipliers, inputs, 1)
        norm = _residual_norm(work.residual, m.scale, coordinates, energy)
        history[it] = norm
        if not np.isfinite(norm):
            return -3
        if norm < tolerance:
            return it
        evaluate_tangent(program, work, base, q, multipliers, inputs, m.columns, m.weights, 1)
        if lu_factor(work.matrix, work.pivots) < 1e-300:
            return -2
        step = m.step
        for k in range(step.size):
            step[k] = -work.residual[k]
        lu_solve(work.matrix, work.pivots, step)
        size = 0.0
        for k in range(coordinates):
            size = max(size, abs(step[k]) / m.scale[k])
        if not np.isfinite(size):
            return -2
        factor = 1.0 if size <= largest else largest / size
        for k in range(n):
            q[0, k] += factor * step[offset + k]
        for k in range(multipliers.size):
            multipliers[k] += factor * step[coordinates + k]
        if offset > 0:
            for k in range(6):
                step[k] *= factor
            retract(1, base, step, m.twist, 0.0, 0.0, m, m.base, m.twist)
            for i in range(4):
                for k in range(3):
                    base[i, k] = m.base[i, k]
            for i in range(18):
                for k in range(6):
                    m.columns[i, k] = 1.0 if i == k else 0.0
    evaluate_residual(program, work, base, m.twist, q, multipliers, inputs, 1)
    if _residual_norm(work.residual, m.scale, coordinates, energy) < tolerance:
        return history.size
    return -1


# ---------------------------------------------------------------------------------------------------------------
# One-step family
# ---------------------------------------------------------------------------------------------------------------


@kernel
def march_one_step(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, scheme, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, tolerance, iterations_max,
    out_q, out_base, out_twist, out_multipliers, out_iterations,
):
    """Newmark-type steps over ``times``; returns the number of steps done (all, or the failing one's index).

    ``scheme`` = (β, γ, α_m, α_f). State in place: base (4, 3), rates (3, 6) of the scheme on the base with the
    pseudo-acceleration last, q (4, n) likewise, multipliers. A driven base follows given_base, given_twist.
    Outputs have one row per time, the first being the start.
    """
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
                evaluate_residual, evaluate_tangent, program, work, m, on_se3, a, b, h, base, rates, q, multipliers,
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
        _record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
        out_iterations[step + 1] = count
    return times.size - 1


@inner
def _newton_step(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, a, b, h, base, rates, q, multipliers,
    u, given_base, given_twist, tolerance, iterations_max, careful,
):
    """Newton for the increment m.total of one step; number of iterations, or -1.

    The predictor keeps the acceleration. Where that is far off (stiff modes set off by a sudden load), ``careful``
    starts from the velocity alone, with strains that change by half a radian over the rod at most.
    """
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
        evaluate_residual(program, work, m.base, m.twist, m.q, multipliers, u, 3)
        fresh, size = False, 0.0
        while True:
            if abs(memory[1] - h) > 1e-9 * h:
                evaluate_tangent(program, work, m.base, m.q, multipliers, u, m.columns, m.weights, 3)
                if lu_factor(work.matrix, work.pivots) < 1e-300:
                    memory[1] = -1.0
                    return -1
                memory[1], fresh = h, True
            for k in range(m.step.size):
                m.step[k] = -work.residual[k]
            lu_solve(work.matrix, work.pivots, m.step)
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
        factor = 1.0 if size < 1.0 else 1.0 / size
        for k in range(coordinates):
            m.total[k] += factor * m.step[k]
        for k in range(multipliers.size):
            multipliers[k] += factor * m.step[coordinates + k]
        if _small(size, contraction, previous, fresh, tolerance):
            memory[0] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[1] = -1.0  # the next step begins with a new matrix
            if _far(m.total, q, m.scale, offset, h, multipliers.size > 0):
                break
            return count
        if fresh and contraction > 0.1:
            memory[1] = -1.0
        previous = size * factor
    memory[1] = -1.0
    return -1


@kernel
def _far(increment, q, scale, offset, h, closed):
    """True for a step that goes where no motion goes: to another solution of its equations, or to no number.

    The equations of a long step have further solutions, with no limit on their energy, and Newton may find one of
    them. A strain that turns the rod by more than a full turn is refused; and, with closures, whose multipliers
    feed such solutions, any coordinate that leaves the way of its velocity by more than a fraction of its unit.
    """
    largest, aside = 0.0, 0.0
    for k in range(offset, increment.size):
        value = abs(increment[k]) / scale[k]
        if not value <= largest:
            largest = value
        value = abs(increment[k] - h * q[1, k - offset]) / scale[k]
        if not value <= aside:
            aside = value
    return not largest <= 6.3 or (closed and not aside <= _ASIDE)


@kernel
def _small(size, contraction, previous, fresh, tolerance):
    """True when what Newton leaves behind after a correction of this size is below the tolerance, or is rounding."""
    # before a contraction was seen in this step, that of the last one is trusted to one digit only
    guess = min(contraction, 0.9) if previous > 0.0 else max(min(contraction, 0.9), 0.1)
    if size * guess < tolerance * (1.0 - guess):
        return True
    # with a new matrix, a small correction that no longer shrinks is rounding
    return fresh and previous > 0.0 and contraction > 0.5 and size < 1e-9


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
        for i in range(4):
            for k in range(3):
                m.base[i, k] = given_base[i, k]
        for i in range(2):
            for k in range(6):
                m.twist[i, k] = given_twist[i, k]


@kernel
def _record(row, base, twist, q, multipliers, out_q, out_base, out_twist, out_multipliers):
    """Copy the accepted state into its row."""
    for i in range(3):
        for k in range(q.shape[1]):
            out_q[row, i, k] = q[i, k]
    for i in range(4):
        for k in range(3):
            out_base[row, i, k] = base[i, k]
    for i in range(2):
        for k in range(6):
            out_twist[row, i, k] = twist[i, k]
    for k in range(multipliers.size):
        out_multipliers[row, k] = multipliers[k]


# ---------------------------------------------------------------------------------------------------------------
# Gauss family
# ---------------------------------------------------------------------------------------------------------------


@kernel
def march_gauss(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, tableau, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, tolerance, iterations_max,
    out_q, out_base, out_twist, out_multipliers, out_iterations,
):
    """Gauss steps over ``times``; arguments as :func:`march_one_step`.

    ``tableau`` (4 + stages², ...) packs the method: rows c, b, b̄, then a (stages rows), ā (stages rows), and the
    extrapolation (stages + 1 rows) of the previous accelerations to the new stages and to the end of the step.
    ``inputs``, ``given_base``, ``given_twist`` have stages + 1 rows per step: the stages, then the end.
    """
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    s = m.stage.shape[1]
    weight, weight2 = tableau[1], tableau[2]
    now, before = m.stage[0], m.stage[1]
    for step in range(times.size - 1):
        h = times[step + 1] - times[step]
        first, last = (s + 1) * step, (s + 1) * step + s
        count = -1
        for careful in range(2):
            if count >= 0:
                break
            count = _newton_gauss(
                evaluate_residual, evaluate_tangent, program, work, m, on_se3, tableau, h, base, rates, q, multipliers,
                inputs[first:last], given_base[first:last], given_twist[first:last],
                tolerance, iterations_max, careful,
            )
        if count < 0:
            return step
        # end of the step
        end = m.stage[2, 0]
        for k in range(coordinates):
            v0 = rates[0, k] if k < offset else q[1, k - offset]
            x, v, acc = h * v0, v0, 0.0
            for j in range(s):
                x += h * h * weight2[j] * now[j, k]
                v += h * weight[j] * now[j, k]
                acc += tableau[3 + 3 * s, j] * now[j, k]
                before[j, k] = now[j, k]
            end[k] = x
            if k < offset:
                rates[0, k], rates[1, k] = v, acc
            else:
                q[0, k - offset] += x
                q[1, k - offset], q[2, k - offset] = v, acc
        row = (s + 1) * step + s
        impose(program.imposed, inputs[row], 3, q)
        # a rotation vector in another chart: the last accelerations do not predict the next ones
        m.memory[2] = -1.0 if unwind(program.wrap, q, m.small, m.stumpff) else h
        if offset > 0:
            chart(on_se3, base, end, rates[0], rates[1], m, m.base, m.twist)
            for k in range(6):
                if on_se3 == 1 or k < 3:
                    rates[0, k] = m.twist[0, k]
                    rates[1, k] = m.twist[1, k]
        else:
            for i in range(4):
                for k in range(3):
                    m.base[i, k] = given_base[row, i, k]
            for i in range(2):
                for k in range(6):
                    m.twist[i, k] = given_twist[row, i, k]
        if multipliers.size > 0:
            if not _project(evaluate_residual, evaluate_tangent, program, work, m, q, multipliers, inputs[row]):
                return step
            if offset > 0:
                _rates_of(on_se3, m.base, m.twist, rates)
        for i in range(4):
            for k in range(3):
                base[i, k] = m.base[i, k]
        orthonormalise(base)
        _record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
        out_iterations[step + 1] = count
    return times.size - 1


@kernel
def _rates_of(on_se3, base, twist, rates):
    """Rates of the scheme from the body twist and its rate: themselves, or (Ω; ṗ) and (Ω̇; p̈) in world axes."""
    for k in range(3):
        rates[0, k], rates[1, k] = twist[0, k], twist[1, k]
    w, V, a = twist[0], twist[0, 3:], twist[1, 3:]
    x, y, z = a[0] + w[1] * V[2] - w[2] * V[1], a[1] + w[2] * V[0] - w[0] * V[2], a[2] + w[0] * V[1] - w[1] * V[0]
    for k in range(3):
        if on_se3 == 1:
            rates[0, 3 + k], rates[1, 3 + k] = V[k], a[k]
        else:
            rates[0, 3 + k] = base[k, 0] * V[0] + base[k, 1] * V[1] + base[k, 2] * V[2]
            rates[1, 3 + k] = base[k, 0] * x + base[k, 1] * y + base[k, 2] * z


@inner
def _project(evaluate_residual, evaluate_tangent, program, work, m, q, multipliers, u):
    """Put the end of a step (m.base, m.twist, q) back on the closures: δ = -M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹ Ψ, then the velocity."""
    coordinates, matrix = m.total.size, work.matrix
    offset = coordinates - q.shape[1]
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == 12 + k else 0.0
    m.weights[0], m.weights[1], m.weights[2] = 0.0, 0.0, 1.0
    for it in range(6):
        evaluate_residual(program, work, m.base, m.twist, q, multipliers, u, 3)
        if it == 0:
            evaluate_tangent(program, work, m.base, q, multipliers, u, m.columns, m.weights, 3)
            for i in range(coordinates, matrix.shape[0]):
                for k in range(coordinates):
                    matrix[i, k] = matrix[k, i]
            if lu_factor(matrix, work.pivots) < 1e-300:
                return False
        gap = 0.0
        for k in range(m.step.size):
            m.step[k] = 0.0
            if k >= coordinates:
                j = k - coordinates
                if closure_is_active(program.row_axes[j]):
                    m.step[k] = -work.residual[k]
                    gap = max(gap, abs(work.residual[k]))
        # a first correction always, then until only rounding is left
        if it > 0 and not gap > 1e-13:
            break
        lu_solve(matrix, work.pivots, m.step)
        for k in range(q.shape[1]):
            q[0, k] += m.step[offset + k]
        if offset > 0:
            shift(m.base, m.step, m.stumpff, m.small)
    closure_rates(program.closure_frame, program.closure_rows, work.closure, work.eta, m.step, coordinates)
    for k in range(m.step.size):
        m.step[k] = -m.step[k] if k >= coordinates else 0.0
    lu_solve(matrix, work.pivots, m.step)
    for k in range(q.shape[1]):
        q[1, k] += m.step[offset + k]
    for k in range(offset):
        m.twist[0, k] += m.step[k]
    # accelerations and multipliers in balance there: stages only extrapolate to them, with less order
    for k in range(q.shape[1]):
        q[2, k] = 0.0
    for k in range(offset):
        m.twist[1, k] = 0.0
    for k in range(multipliers.size):
        multipliers[k] = 0.0
    evaluate_residual(program, work, m.base, m.twist, q, multipliers, u, 3)
    closure_accelerations(
        program.closure_frame, program.closure_pose, program.closure_rows, program.row_kind, program.row_axes, m.base,
        work.pose, work.eta, work.acc, work.closure, work.vector, work.closure_map, work.closure_end,
        work.residual, coordinates,
    )
    for k in range(m.step.size):
        m.step[k] = -work.residual[k]
    lu_solve(matrix, work.pivots, m.step)
    for k in range(q.shape[1]):
        q[2, k] += m.step[offset + k]
    for k in range(offset):
        m.twist[1, k] += m.step[k]
    for k in range(multipliers.size):
        multipliers[k] = m.step[coordinates + k]
    return True


@inner
def _newton_gauss(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, tableau, h, base, rates, q, multipliers,
    inputs, given_base, given_twist, tolerance, iterations_max, careful,
):
    """Newton for the accelerations m.stage[0] of all stages; number of iterations, or -1.

    The predictor continues the polynomial of the last accelerations; ``careful`` starts without acceleration.
    """
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    s, rows = m.stage.shape[1], multipliers.size
    size_of = coordinates + rows
    now, before, memory = m.stage[0], m.stage[1], m.memory
    for i in range(s):
        for k in range(rows):
            m.stage_multipliers[i, k] = multipliers[k]
        for k in range(coordinates):
            now[i, k] = 0.0
            if careful == 1:
                continue
            if abs(memory[2] - h) <= 1e-9 * h:
                for j in range(s):
                    now[i, k] += tableau[3 + 2 * s + i, j] * before[j, k]
            elif k < offset:
                now[i, k] = rates[1, k]
            else:
                now[i, k] = q[2, k - offset]
    if careful == 1:
        memory[0], memory[1] = 1.0, -1.0
    previous, contraction, first = 0.0, memory[0], memory[0]
    for count in range(1, iterations_max + 1):
        fresh, size = False, 0.0
        while True:
            if abs(memory[1] - h) > 1e-9 * h:
                # rows of stage i: δ_ij M + h a_ij D + h² ā_ij K, with K, D, M at that stage in the chart of the base
                for i in range(s):
                    _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base[i], given_twist[i])
                    evaluate_residual(program, work, m.base, m.twist, m.q, m.stage_multipliers[i], inputs[i], 3)
                    for j in range(s):
                        m.weights[0], m.weights[1] = h * h * tableau[3 + s + i, j], h * tableau[3 + i, j]
                        m.weights[2] = 1.0 if i == j else 0.0
                        if offset > 0:
                            mix_chart_columns(on_se3, m.stage[2, i], m)
                        evaluate_tangent(
                            program, work, m.base, m.q, m.stage_multipliers[i], inputs[i], m.mixed, m.weights, 3
                        )
                        # closures: from h² ā_ij J, at the level of position, to h a_ij J
                        ratio = m.weights[1] / m.weights[0]
                        _put_block(
                            on_se3, offset, m.base, work.matrix, i, j, coordinates, ratio, program.row_soft, m.big
                        )
                if lu_factor(m.big, m.big_pivots) < 1e-300:
                    memory[1] = -1.0
                    return -1
                memory[1], fresh = h, True
            for i in range(s):
                _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base[i], given_twist[i])
                evaluate_residual(program, work, m.base, m.twist, m.q, m.stage_multipliers[i], inputs[i], 3)
                closure_rates(
                    program.closure_frame, program.closure_rows, work.closure, work.eta, work.residual, coordinates
                )
                # off the closed loops, rows that depend on others there would lock the motion: they carry no force
                for j in range(program.row_soft.size):
                    if program.row_soft[j] > 0.0:
                        work.residual[coordinates + j] = m.stage_multipliers[i, j]
                if offset > 0 and on_se3 == 0:
                    # rows of the base in the chart of the unknowns: moments in body axes, forces in world axes
                    f0, f1, f2 = work.residual[3], work.residual[4], work.residual[5]
                    for k in range(3):
                        work.residual[3 + k] = m.base[k, 0] * f0 + m.base[k, 1] * f1 + m.base[k, 2] * f2
                for k in range(size_of):
                    m.big_step[i * size_of + k] = -work.residual[k]
            lu_solve(m.big, m.big_pivots, m.big_step)
            size = 0.0
            for i in range(s):
                for k in range(coordinates):
                    value = abs(m.big_step[i * size_of + k]) * h * h / m.scale[k]
                    if not value <= size:
                        size = value
            if fresh or previous == 0.0 or size <= 0.1 * previous or size <= tolerance:
                break
            memory[1] = -1.0
        if not np.isfinite(size):
            break
        if previous > 0.0:
            contraction = size / previous
            if count == 2:
                first = contraction
        factor = 1.0 if size < 1.0 else 1.0 / size
        for i in range(s):
            for k in range(coordinates):
                now[i, k] += factor * m.big_step[i * size_of + k]
            for k in range(rows):
                m.stage_multipliers[i, k] += factor * m.big_step[i * size_of + coordinates + k]
        if _small(size, contraction, previous, fresh, tolerance):
            memory[0] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[1] = -1.0
            if _far(m.stage[2, s - 1], q, m.scale, offset, tableau[0, s - 1] * h, multipliers.size > 0):
                break
            return count
        if fresh and contraction > 0.1:
            memory[1] = -1.0
        previous = size * factor
    memory[1] = -1.0
    return -1


@kernel
def _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base, given_twist):
    """State of stage i from the present accelerations of all stages."""
    s = m.stage.shape[1]
    now, x, v = m.stage[0], m.stage[2], m.stage[3]
    for k in range(m.total.size):
        v0 = rates[0, k] if k < offset else q[1, k - offset]
        x[i, k] = tableau[0, i] * h * v0
        v[i, k] = v0
        for j in range(s):
            x[i, k] += h * h * tableau[3 + s + i, j] * now[j, k]
            v[i, k] += h * tableau[3 + i, j] * now[j, k]
        if k >= offset:
            m.q[0, k - offset] = q[0, k - offset] + x[i, k]
            m.q[1, k - offset] = v[i, k]
            m.q[2, k - offset] = now[i, k]
    if offset > 0:
        chart(on_se3, base, x[i], v[i], now[i], m, m.base, m.twist)
    else:
        for r in range(4):
            for k in range(3):
                m.base[r, k] = given_base[r, k]
        for r in range(2):
            for k in range(6):
                m.twist[r, k] = given_twist[r, k]


@kernel
def _put_block(on_se3, offset, base, matrix, i, j, coordinates, ratio, row_soft, big):
    """Block (i, j) of the stage matrix, with the force rows of a base on SO(3)×R³ in world axes."""
    size = matrix.shape[0]
    for r in range(size):
        for k in range(size):
            value = matrix[r, k]
            if r >= coordinates and k < coordinates:
                value *= ratio
            elif k >= coordinates and i != j:
                value = 0.0  # a multiplier acts at its own stage
            big[i * size + r, j * size + k] = value
    for k in range(row_soft.size):
        if row_soft[k] > 0.0:
            row = big[i * size + coordinates + k]
            for r in range(size):
                row[j * size + r] = 0.0
            if i == j:
                row[j * size + coordinates + k] = 1.0
    if offset > 0 and on_se3 == 0:
        for k in range(size):
            f0 = big[i * size + 3, j * size + k]
            f1 = big[i * size + 4, j * size + k]
            f2 = big[i * size + 5, j * size + k]
            for r in range(3):
                big[i * size + 3 + r, j * size + k] = base[r, 0] * f0 + base[r, 1] * f1 + base[r, 2] * f2


