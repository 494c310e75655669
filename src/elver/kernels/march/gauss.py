"""Gauss collocation in time: the implicit midpoint rule and the two-stage rule of order four.

The accelerations of the stages are the unknowns,

    x_i = x_n + c_i h x'_n + h² Σ ā_ij x''_j ,    x'_i = x'_n + h Σ a_ij x''_j ,

solved by simplified Newton. Closures hold at the level of velocity at the stages (index 2), and position and velocity
at the end of the step are projected back onto them along M⁻¹Jᵀ, which keeps the order (Ascher and Petzold 1991,
projected collocation); accelerations and multipliers are then solved for there. A free base moves on SO(3)×R³ or on
SE(3), by the coordinates of its chart around the start of the step.
"""

from __future__ import annotations

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.memory import (
    CONTRACTION,
    LONGEST,
    MATRIX_STEP,
    ROW,
    STAGE,
    STAGES_STEP,
    STEP,
    UNIT,
    follow,
    is_far,
    record,
    unpack_solver,
)
from elver.kernels.march.newton import evaluate, factors
from elver.kernels.terms.closures import closure_accelerations, closure_is_active, closure_rates
from elver.kernels.tree.base_motion import Turning, chart, mix_chart_columns, orthonormalise, shift, unwind
from elver.kernels.tree.evaluate import impose

__all__ = ["march_gauss", "residual_of_stages", "tangent_of_stages"]


@kernel
def march_gauss(robot, solver):
    """Gauss steps over the times of a track; returns the number of steps done (all, or the failing one's index).

    ``scheme`` packs the method: rows c, b, b̄, then a (stages rows), ā (stages rows), and the extrapolation (stages + 1
    rows) of the previous accelerations to the new stages and to the end of the step. Inputs and the motion of a driven
    base have stages + 1 rows per step: the stages, then the end. The unknowns are the accelerations of the stages.
    """
    program, _ = unpack(robot)
    call, it, m, place, track = unpack_solver(solver)
    s, offset, closed = it.x.shape[0], m.total.size - place.q.shape[1], place.multipliers.size > 0
    it.control[LONGEST] = 1.0
    for step in range(track.times.size - 1):
        h = track.times[step + 1] - track.times[step]
        it.control[STEP], it.control[UNIT] = h, h * h
        m.at[ROW], m.at[STAGE], last = (s + 1) * step, 0, (s + 1) * step + s
        count = -1
        for careful in range(2):
            if count >= 0:
                break
            _predict(solver, h, careful)
            count = call.iterate(robot, solver)
            if count >= 0 and is_far(m.stage[1, s - 1], place.q, m.scale, offset, place.scheme[0, s - 1] * h, closed):
                it.memory[MATRIX_STEP], count = -1.0, -1
        if count < 0:
            return step
        _advance(solver, h)
        impose(program.imposed, track.inputs[last], 3, place.q)
        # a rotation vector in another chart: the last accelerations do not predict the next ones
        it.memory[STAGES_STEP] = -1.0 if unwind(program.wrap, place.q, m.small, m.stumpff) else h
        _move_base(solver, last)
        if closed:
            if not _project(robot, solver, last):
                return step
            if offset > 0:
                _rates_of(place.on_se3[0], m.base, m.twist, place.rates)
        for i in range(4):
            for k in range(3):
                place.base[i, k] = m.base[i, k]
        orthonormalise(place.base)
        record(solver, step + 1)
        track.out_iterations[step + 1] = count
    return track.times.size - 1


@inner
def _predict(solver, h, careful):
    """The first iterate: the polynomial of the last accelerations goes on; ``careful`` starts without acceleration."""
    _, it, m, place, _ = unpack_solver(solver)
    s, coordinates, before, scheme = it.x.shape[0], m.total.size, m.stage[0], place.scheme
    offset = coordinates - place.q.shape[1]
    for i in range(s):
        for k in range(place.multipliers.size):
            it.x[i, coordinates + k] = place.multipliers[k]
        for k in range(coordinates):
            it.x[i, k] = 0.0
            if careful == 1:
                continue
            if abs(it.memory[STAGES_STEP] - h) <= 1e-9 * h:
                for j in range(s):
                    it.x[i, k] += scheme[3 + 2 * s + i, j] * before[j, k]
            elif k < offset:
                it.x[i, k] = place.rates[1, k]
            else:
                it.x[i, k] = place.q[2, k - offset]
    if careful == 1:
        it.memory[CONTRACTION], it.memory[MATRIX_STEP] = 1.0, -1.0


@inner
def _advance(solver, h):
    """Coordinates and rates at the end of the step, accelerations extrapolated there; m.stage[1, 0] its chart."""
    _, it, m, place, _ = unpack_solver(solver)
    s, coordinates, before, end, scheme = it.x.shape[0], m.total.size, m.stage[0], m.stage[1, 0], place.scheme
    rates, q = place.rates, place.q
    offset = coordinates - q.shape[1]
    for k in range(coordinates):
        v0 = rates[0, k] if k < offset else q[1, k - offset]
        x, v, acc = h * v0, v0, 0.0
        for j in range(s):
            x += h * h * scheme[2, j] * it.x[j, k]
            v += h * scheme[1, j] * it.x[j, k]
            acc += scheme[3 + 3 * s, j] * it.x[j, k]
            before[j, k] = it.x[j, k]
        end[k] = x
        if k < offset:
            rates[0, k], rates[1, k] = v, acc
        else:
            q[0, k - offset] += x
            q[1, k - offset], q[2, k - offset] = v, acc


@inner
def _move_base(solver, row):
    """The base at the end of the step, with its rates."""
    _, _, m, place, track = unpack_solver(solver)
    rates, on_se3 = place.rates, place.on_se3[0]
    if m.total.size > place.q.shape[1]:
        turning = Turning(m.columns, m.stumpff, m.small)
        chart(on_se3, place.base, m.stage[1, 0], rates[0], rates[1], turning, m.base, m.twist)
        for k in range(6):
            if on_se3 == 1 or k < 3:
                rates[0, k] = m.twist[0, k]
                rates[1, k] = m.twist[1, k]
    else:
        follow(track.given_base[row], track.given_twist[row], m.base, m.twist)


@kernel
def residual_of_stages(robot, solver):
    """Residuals of all stages: closures at the level of velocity, rows of the base in the chart of the unknowns."""
    program, work = unpack(robot)
    _, it, m, place, _ = unpack_solver(solver)
    coordinates, size, first = m.total.size, it.x.shape[1], m.at[ROW] - m.at[STAGE]
    in_world = coordinates > place.q.shape[1] and place.on_se3[0] == 0 and it.front.size == 0
    for i in range(it.x.shape[0]):
        m.at[ROW], m.at[STAGE] = first + i, i
        _stage(solver, it.control[STEP], i)
        evaluate(robot, solver)
        closure_rates(program.closure_frame, program.closure_rows, work.closure, work.eta, work.residual, coordinates)
        # off the closed loops, rows that depend on others there would lock the motion: they carry no force
        for j in range(program.row_soft.size):
            if program.row_soft[j] > 0.0:
                work.residual[coordinates + j] = it.x[i, coordinates + j]
        if in_world:
            # moments in body axes, forces in world axes
            f0, f1, f2 = work.residual[3], work.residual[4], work.residual[5]
            for k in range(3):
                work.residual[3 + k] = m.base[k, 0] * f0 + m.base[k, 1] * f1 + m.base[k, 2] * f2
        for k in range(size):
            it.residual[i * size + k] = work.residual[k]
    return 0.0


@kernel
def tangent_of_stages(robot, solver):
    """Factors of the rows of all stages i: δ_ij M + h a_ij D + h² ā_ij K, with K, D, M at that stage."""
    program, work = unpack(robot)
    call, it, m, place, track = unpack_solver(solver)
    s, h, scheme, on_se3 = it.x.shape[0], it.control[STEP], place.scheme, place.on_se3[0]
    offset, first = m.total.size - place.q.shape[1], m.at[ROW] - m.at[STAGE]
    for i in range(s):
        m.at[ROW], m.at[STAGE] = first + i, i
        if s > 1:  # one stage is where the residual was
            _stage(solver, h, i)
            evaluate(robot, solver)
        multipliers, inputs = it.x[i, m.total.size :], track.inputs[m.at[ROW]]
        for j in range(s):
            m.weights[0], m.weights[1] = h * h * scheme[3 + s + i, j], h * scheme[3 + i, j]
            m.weights[2] = 1.0 if i == j else 0.0
            if offset > 0:
                turning = Turning(m.columns, m.stumpff, m.small)
                mix_chart_columns(on_se3, m.stage[1, i], m.weights, turning, m.base, m.twist, m.mixed)
            if it.front.size > 0:  # one stage and no closures: the base keeps its rows in body axes
                return factors(robot, solver, m.mixed)
            call.evaluate_frames(robot, m.base, multipliers, inputs, 3)
            call.evaluate_matrix(robot, m.q, multipliers, inputs, m.mixed, m.weights, 3)
            # closures: from h² ā_ij J, at the level of position, to h a_ij J
            _put_block(m.weights[1] / m.weights[0], i, j, m.total.size, work.matrix, program.row_soft, it.matrix)
            if offset > 0 and on_se3 == 0:
                _rows_to_world(m.base, i * it.x.shape[1], j * it.x.shape[1], it.x.shape[1], it.matrix)
    return call.factor(it.matrix, it.pivots)


@inner
def _stage(solver, h, i):
    """State of stage i from the present accelerations of all stages."""
    _, it, m, place, track = unpack_solver(solver)
    s, x, v, q, scheme = it.x.shape[0], m.stage[1], m.stage[2], place.q, place.scheme
    offset = m.total.size - q.shape[1]
    for k in range(m.total.size):
        v0 = place.rates[0, k] if k < offset else q[1, k - offset]
        x[i, k] = scheme[0, i] * h * v0
        v[i, k] = v0
        for j in range(s):
            x[i, k] += h * h * scheme[3 + s + i, j] * it.x[j, k]
            v[i, k] += h * scheme[3 + i, j] * it.x[j, k]
        if k >= offset:
            m.q[0, k - offset] = q[0, k - offset] + x[i, k]
            m.q[1, k - offset] = v[i, k]
            m.q[2, k - offset] = it.x[i, k]
    if offset > 0:
        turning = Turning(m.columns, m.stumpff, m.small)
        chart(place.on_se3[0], place.base, x[i], v[i], it.x[i], turning, m.base, m.twist)
    else:
        follow(track.given_base[m.at[ROW]], track.given_twist[m.at[ROW]], m.base, m.twist)


@kernel
def _put_block(ratio, i, j, coordinates, matrix, row_soft, big):
    """Block (i, j) of the stage matrix; rows of closures times ``ratio``."""
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


@kernel
def _rows_to_world(base, first, start, size, big):
    """Force rows of a base on SO(3)×R³, in a block that begins at (first, start), in world axes."""
    for k in range(start, start + size):
        f0, f1, f2 = big[first + 3, k], big[first + 4, k], big[first + 5, k]
        for r in range(3):
            big[first + 3 + r, k] = base[r, 0] * f0 + base[r, 1] * f1 + base[r, 2] * f2


@inner
def _project(robot, solver, row):
    """Put the end of a step (m.base, m.twist, q) back on the closures: δ = -M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹ Ψ, then the velocity."""
    program, work = unpack(robot)
    call, _, m, place, track = unpack_solver(solver)
    q, multipliers, u = place.q, place.multipliers, track.inputs[row]
    coordinates, matrix = m.total.size, work.matrix
    offset = coordinates - q.shape[1]
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == 12 + k else 0.0
    m.weights[0], m.weights[1], m.weights[2] = 0.0, 0.0, 1.0
    for correction in range(6):
        call.evaluate_residual(robot, m.base, m.twist, q, multipliers, u, 3)
        if correction == 0:
            call.evaluate_frames(robot, m.base, multipliers, u, 3)
            call.evaluate_matrix(robot, q, multipliers, u, m.columns, m.weights, 3)
            for i in range(coordinates, matrix.shape[0]):
                for k in range(coordinates):
                    matrix[i, k] = matrix[k, i]
            if call.factor(matrix, work.pivots) < 1e-300:
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
        if correction > 0 and not gap > 1e-13:
            break
        call.substitute(matrix, work.pivots, m.step)
        for k in range(q.shape[1]):
            q[0, k] += m.step[offset + k]
        if offset > 0:
            shift(m.base, m.step, m.stumpff, m.small)
    closure_rates(program.closure_frame, program.closure_rows, work.closure, work.eta, m.step, coordinates)
    for k in range(m.step.size):
        m.step[k] = -m.step[k] if k >= coordinates else 0.0
    call.substitute(matrix, work.pivots, m.step)
    for k in range(q.shape[1]):
        q[1, k] += m.step[offset + k]
    for k in range(offset):
        m.twist[0, k] += m.step[k]
    _balance(robot, solver, u)
    return True


@inner
def _balance(robot, solver, u):
    """Accelerations and multipliers in balance at the end: stages only extrapolate to them, with less order."""
    _, work = unpack(robot)
    call, _, m, place, _ = unpack_solver(solver)
    q, multipliers, coordinates = place.q, place.multipliers, m.total.size
    offset = coordinates - q.shape[1]
    for k in range(q.shape[1]):
        q[2, k] = 0.0
    for k in range(offset):
        m.twist[1, k] = 0.0
    for k in range(multipliers.size):
        multipliers[k] = 0.0
    call.evaluate_residual(robot, m.base, m.twist, q, multipliers, u, 3)
    closure_accelerations(robot, m.base)
    for k in range(m.step.size):
        m.step[k] = -work.residual[k]
    call.substitute(work.matrix, work.pivots, m.step)
    for k in range(q.shape[1]):
        q[2, k] += m.step[offset + k]
    for k in range(offset):
        m.twist[1, k] += m.step[k]
    for k in range(multipliers.size):
        multipliers[k] = m.step[coordinates + k]


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
