"""Gauss collocation in time: the implicit midpoint rule and the two-stage rule of order four.

The accelerations of the stages are the unknowns,

    x_i = x_n + c_i h x'_n + h² Σ ā_ij x''_j ,    x'_i = x'_n + h Σ a_ij x''_j ,

solved by simplified Newton. Closures hold at the level of velocity at the stages (index 2), and position and velocity
at the end of the step are projected back onto them along M⁻¹Jᵀ, which keeps the order (Ascher and Petzold 1991,
projected collocation); accelerations and multipliers are then solved for there. A free base moves on SO(3)×R³ or on
SE(3), by the coordinates of its chart around the start of the step.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import follow, is_far, is_small, record, solve, take
from elver.kernels.terms.closures import closure_accelerations, closure_is_active, closure_rates
from elver.kernels.tree.base_motion import chart, mix_chart_columns, orthonormalise, shift, unwind
from elver.kernels.tree.evaluate import impose

__all__ = ["march_gauss"]


@kernel
def march_gauss(
    evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
    on_se3, tableau, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, tolerance, iterations_max,
    out_q, out_base, out_twist, out_multipliers, out_iterations,
):
    """Gauss steps over ``times``; arguments as :func:`march_one_step`.

    ``tableau`` (4 + stages², ...) packs the method: rows c, b, b̄, then a (stages rows), ā (stages rows), and the
    extrapolation (stages + 1 rows) of the previous accelerations to the new stages and to the end of the step.
    ``inputs``, ``given_base``, ``given_twist`` have stages + 1 rows per step: the stages, then the end.
    """
    program, _ = unpack(robot)
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
                evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
                on_se3, tableau, h, base, rates, q, multipliers,
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
            follow(given_base[row], given_twist[row], m.base, m.twist)
        if multipliers.size > 0:
            if not _project(
                evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, robot, m, q, multipliers,
                inputs[row],
            ):
                return step
            if offset > 0:
                _rates_of(on_se3, m.base, m.twist, rates)
        for i in range(4):
            for k in range(3):
                base[i, k] = m.base[i, k]
        orthonormalise(base)
        record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
        out_iterations[step + 1] = count
    return times.size - 1


@inner
def _newton_gauss(
    evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, home, back, robot, m,
    on_se3, tableau, h, base, rates, q, multipliers,
    inputs, given_base, given_twist, tolerance, iterations_max, careful,
):
    """Newton for the accelerations m.stage[0] of all stages; number of iterations, or -1.

    The predictor continues the polynomial of the last accelerations; ``careful`` starts without acceleration.
    """
    program, work = unpack(robot)
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
    along_tree, pivot = m.front.size > 0, 0.0  # one stage and no closures: the base keeps its rows in body axes
    for count in range(1, iterations_max + 1):
        fresh, size = False, 0.0
        while True:
            if abs(memory[1] - h) > 1e-9 * h:
                # rows of stage i: δ_ij M + h a_ij D + h² ā_ij K, with K, D, M at that stage in the chart of the base
                for i in range(s):
                    _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base[i], given_twist[i])
                    evaluate_residual(robot, m.base, m.twist, m.q, m.stage_multipliers[i], inputs[i], 3)
                    for j in range(s):
                        m.weights[0], m.weights[1] = h * h * tableau[3 + s + i, j], h * tableau[3 + i, j]
                        m.weights[2] = 1.0 if i == j else 0.0
                        if offset > 0:
                            mix_chart_columns(on_se3, m.stage[2, i], m)
                        if along_tree:
                            pivot = take(
                                evaluate_frames, evaluate_matrix, factor, home, robot, m, m.base, m.q,
                                m.stage_multipliers[i], inputs[i], m.mixed, 3,
                            )
                            continue
                        evaluate_frames(robot, m.base, m.stage_multipliers[i], inputs[i], 3)
                        evaluate_matrix(robot, m.q, m.stage_multipliers[i], inputs[i], m.mixed, m.weights, 3)
                        # closures: from h² ā_ij J, at the level of position, to h a_ij J
                        ratio = m.weights[1] / m.weights[0]
                        _put_block(
                            on_se3, offset, m.base, work.matrix, i, j, coordinates, ratio, program.row_soft, m.big
                        )
                if not along_tree:
                    pivot = factor(m.big, m.big_pivots)
                if pivot < 1e-300:
                    memory[1] = -1.0
                    return -1
                memory[1], fresh = h, True
            for i in range(s):
                _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base[i], given_twist[i])
                evaluate_residual(robot, m.base, m.twist, m.q, m.stage_multipliers[i], inputs[i], 3)
                closure_rates(
                    program.closure_frame, program.closure_rows, work.closure, work.eta, work.residual, coordinates
                )
                # off the closed loops, rows that depend on others there would lock the motion: they carry no force
                for j in range(program.row_soft.size):
                    if program.row_soft[j] > 0.0:
                        work.residual[coordinates + j] = m.stage_multipliers[i, j]
                if offset > 0 and on_se3 == 0 and not along_tree:
                    # rows of the base in the chart of the unknowns: moments in body axes, forces in world axes
                    f0, f1, f2 = work.residual[3], work.residual[4], work.residual[5]
                    for k in range(3):
                        work.residual[3 + k] = m.base[k, 0] * f0 + m.base[k, 1] * f1 + m.base[k, 2] * f2
                for k in range(size_of):
                    m.big_step[i * size_of + k] = -work.residual[k]
            if along_tree:
                solve(substitute, back, robot, m, 3, m.big_step)
            else:
                substitute(m.big, m.big_pivots, m.big_step)
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
        part = 1.0 if size < 1.0 else 1.0 / size
        for i in range(s):
            for k in range(coordinates):
                now[i, k] += part * m.big_step[i * size_of + k]
            for k in range(rows):
                m.stage_multipliers[i, k] += part * m.big_step[i * size_of + coordinates + k]
        if is_small(size, contraction, previous, fresh, tolerance):
            memory[0] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[1] = -1.0
            if is_far(m.stage[2, s - 1], q, m.scale, offset, tableau[0, s - 1] * h, multipliers.size > 0):
                break
            return count
        if fresh and contraction > 0.1:
            memory[1] = -1.0
        previous = size * part
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
        follow(given_base, given_twist, m.base, m.twist)


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


@inner
def _project(evaluate_residual, evaluate_frames, evaluate_matrix, factor, substitute, robot, m, q, multipliers, u):
    """Put the end of a step (m.base, m.twist, q) back on the closures: δ = -M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹ Ψ, then the velocity."""
    program, work = unpack(robot)
    coordinates, matrix = m.total.size, work.matrix
    offset = coordinates - q.shape[1]
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == 12 + k else 0.0
    m.weights[0], m.weights[1], m.weights[2] = 0.0, 0.0, 1.0
    for it in range(6):
        evaluate_residual(robot, m.base, m.twist, q, multipliers, u, 3)
        if it == 0:
            evaluate_frames(robot, m.base, multipliers, u, 3)
            evaluate_matrix(robot, q, multipliers, u, m.columns, m.weights, 3)
            for i in range(coordinates, matrix.shape[0]):
                for k in range(coordinates):
                    matrix[i, k] = matrix[k, i]
            if factor(matrix, work.pivots) < 1e-300:
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
        substitute(matrix, work.pivots, m.step)
        for k in range(q.shape[1]):
            q[0, k] += m.step[offset + k]
        if offset > 0:
            shift(m.base, m.step, m.stumpff, m.small)
    closure_rates(program.closure_frame, program.closure_rows, work.closure, work.eta, m.step, coordinates)
    for k in range(m.step.size):
        m.step[k] = -m.step[k] if k >= coordinates else 0.0
    substitute(matrix, work.pivots, m.step)
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
    evaluate_residual(robot, m.base, m.twist, q, multipliers, u, 3)
    closure_accelerations(
        program.closure_frame, program.closure_pose, program.closure_rows, program.row_kind, program.row_axes, m.base,
        work.pose, work.eta, work.acc, work.closure, work.closure_stiffness, work.vector, work.closure_map,
        work.closure_end, work.residual, coordinates,
    )
    for k in range(m.step.size):
        m.step[k] = -work.residual[k]
    substitute(matrix, work.pivots, m.step)
    for k in range(q.shape[1]):
        q[2, k] += m.step[offset + k]
    for k in range(offset):
        m.twist[1, k] += m.step[k]
    for k in range(multipliers.size):
        multipliers[k] = m.step[coordinates + k]
    return True


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
