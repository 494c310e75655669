"""Newton's matrix of a conserving step: the variation of its residual with the end of the step (:mod:`.conserving`).

What acts at the end varies as in any tangent (:mod:`.tangent`, with the blocks of :mod:`.nodal`). What frames take acts
at the start of the step as well, J_nᵀ S J_+, with rows and columns of two instants.
"""

from __future__ import annotations

import math

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import slopes_at_start, unpack
from elver.kernels.march.floating import matrix_of_floats
from elver.kernels.march.passage import add_block, add_products, add_tie_column, clear_block, reach_of, unpack_step
from elver.kernels.tree.nodal import slope_between, turn
from elver.kernels.tree.recursion import has_inertia

__all__ = ["base_columns", "matrix_of_step"]


@kernel
def matrix_of_step(evaluate_frames, evaluate_matrix, frame_columns, robot, step, chi, h, q, multipliers):
    """work.matrix = variation of s.residual, right behind :func:`.residual_of_step`."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n, coordinates = q.shape[1], m.total.size
    offset, matrix = coordinates - n, w.matrix
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 2.0 / h, 0.0
    base_columns(m.base, m.total, m.small[0], m.columns)
    frame_columns(robot, s.columns)
    evaluate_frames(robot, m.base, multipliers, s.inputs[1], 2)
    evaluate_matrix(robot, m.q, multipliers, s.inputs[1], m.columns, m.weights, 1)
    if offset > 0:
        _world_rows(m.base, m.small[0], w.residual, matrix)
    matrix_of_floats(robot, step)
    if s.slope.shape[0] > 0:
        slopes_at_start(robot[4])(robot, m.base, s.mean, s.slope)
    _add_mixed(robot, step, m.small[0], offset)
    _add_tie_columns(robot, step, coordinates)
    for i in range(coordinates):
        for k in range(matrix.shape[1]):
            matrix[i, k] *= 0.5
    for k in range(n):
        me = offset + k
        matrix[me, me] += 2.0 * p.rotor[k] / (h * h)
        if p.friction[k, 0] != 0.0:
            slip = math.tanh(m.total[me] / h / p.friction[k, 1])
            matrix[me, me] += p.friction[k, 0] / (p.friction[k, 1] * h) * (1.0 - slip * slip)
    if chi != 0.0 and abs(s.last[n] - h) < 1e-9 * h:
        for b in range(p.block.shape[0]):
            first = p.block[b, 0]
            for k in range(first, first + p.block[b, 1]):
                for j in range(p.law[k, 0], p.law[k, 1]):
                    matrix[offset + k, offset + first + j] += 0.5 * chi * p.K_elastic[k, j - p.law[k, 0]]
    for j in range(p.imposed.shape[0]):
        me = offset + p.imposed[j, 0]
        for k in range(matrix.shape[1]):
            matrix[me, k] = 0.0
        matrix[me, me] = 1.0


@inner
def base_columns(base, total, chart, out):
    """Body variations of the base per unknown; chart = (1 + ½Δθ̂)/(1 + ¼|Δθ|²), spatial turn per Cayley vector."""
    x, y, z = 0.0, 0.0, 0.0
    if total.size > 2:  # else the base is not free, and its columns are not asked for
        x, y, z = 0.5 * total[0], 0.5 * total[1], 0.5 * total[2]
    f = 1.0 / (1.0 + x * x + y * y + z * z)
    chart[0, 0], chart[0, 1], chart[0, 2] = f, -f * z, f * y
    chart[1, 0], chart[1, 1], chart[1, 2] = f * z, f, -f * x
    chart[2, 0], chart[2, 1], chart[2, 2] = -f * y, f * x, f
    for i in range(18):
        for k in range(6):
            out[i, k] = 0.0
    for i in range(3):
        for k in range(3):
            out[i, k] = base[0, i] * chart[0, k] + base[1, i] * chart[1, k] + base[2, i] * chart[2, k]
            out[3 + i, 3 + k] = base[k, i]


@inner
def _world_rows(base, chart, r, matrix):
    """Rows of the base from its own axes to the world's, whose variation they follow: + δθ × (couple; force)."""
    for half in range(0, 6, 3):
        for k in range(matrix.shape[1]):
            a, b, c = turn(base, matrix[half, k], matrix[half + 1, k], matrix[half + 2, k])
            matrix[half, k], matrix[half + 1, k], matrix[half + 2, k] = a, b, c
        x, y, z = r[half], r[half + 1], r[half + 2]
        for k in range(3):
            a, b, c = chart[0, k], chart[1, k], chart[2, k]
            matrix[half, k] += b * z - c * y
            matrix[half + 1, k] += c * x - a * z
            matrix[half + 2, k] += a * y - b * x


@inner
def _add_mixed(robot, step, chart, offset):
    """matrix += J_nᵀ S J_+: frames push on where the step started, too."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    moving, A = s.slope.shape[0] > 0, s.whole
    for segment in range(-1, p.segment.shape[0]):
        low, high, path, size = reach_of(robot, segment)
        clear_block(size, s.sum)
        for f in range(low, high):
            heavy, right = has_inertia(p.inertia[f]), s.columns[f]
            if not heavy and not moving:
                continue
            if offset > 0:
                for c in range(3):
                    for k in range(3):
                        right[c, k] = chart[c, k]
            for c in range(6):
                for k in range(6):
                    A[c, k] = s.slope[f, c, k] if moving else 0.0
            if heavy:
                slope_between(p.inertia[f], w.node_start[f], w.pose[f], w.node_slope[f], A)
            for c in range(6):
                for k in range(size):
                    s.product[c, k] = (
                        A[c, 0] * right[0, k] + A[c, 1] * right[1, k] + A[c, 2] * right[2, k]
                        + A[c, 3] * right[3, k] + A[c, 4] * right[4, k] + A[c, 5] * right[5, k]
                    )  # fmt: skip
            add_products(s.start_columns[f], s.product, size, s.sum)
        add_block(p.path, path, size, s.sum, w.matrix)


@inner
def _add_tie_columns(robot, step, coordinates):
    """matrix[:, rows] += J_nᵀ of closures and wound cables."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    for j in range(p.closure_frame.shape[0]):
        for row in range(p.closure_rows[j, 0], p.closure_rows[j, 0] + p.closure_rows[j, 1]):
            add_tie_column(robot, s.start_columns, p.closure_frame[j], s.closure[row], coordinates + row, w.matrix)
    for j in range(p.span_tendon.size):
        row = p.tendon_row[p.span_tendon[j]]
        if row >= 0:
            add_tie_column(robot, s.start_columns, p.span_frame[j], s.span[j], coordinates + row, w.matrix)
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            for k in range(s.tendon.shape[1]):
                w.matrix[coordinates - s.tendon.shape[1] + k, coordinates + p.tendon_row[t]] += s.tendon[t, k]
