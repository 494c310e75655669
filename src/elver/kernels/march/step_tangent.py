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
from elver.kernels.tree.nodal import body_of, turn
from elver.kernels.tree.recursion import has_inertia

__all__ = ["matrix_of_step"]


@kernel
def matrix_of_step(evaluate_frames, evaluate_matrix, frame_columns, robot, step, chi, h, q, multipliers):
    """work.matrix = variation of s.residual, right behind :func:`.residual_of_step`."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n, coordinates = q.shape[1], m.total.size
    offset, matrix = coordinates - n, w.matrix
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 2.0 / h, 0.0
    _base_columns(m.base, m.total, m.small[0], m.columns)
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
def _base_columns(base, total, chart, out):
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
    moving = s.slope.shape[0] > 0
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
                for k in range(size):
                    s.product[c, k] = 0.0
            if heavy:
                _add_inertia(robot, f, right, size, s.product)
            if moving:
                for c in range(6):
                    for k in range(size):
                        for j in range(6):
                            s.product[c, k] += s.slope[f, c, j] * right[j, k]
            add_products(s.start_columns[f], s.product, size, s.sum)
        add_block(p.path, path, size, s.sum, w.matrix)


@inner
def _add_inertia(robot, f, right, size, out):
    """out += variation of what frame f takes over the step, as a wrench where it started, with columns ``right``."""
    p, w = unpack(robot)
    t, h = w.node_slope[f], w.node_step[0]
    m, c0, c1, c2, _, _, _, _, _, _ = body_of(p.inertia[f])
    q0, q1, q2 = turn(w.pose[f], c0, c1, c2)
    x, y, z = w.pose[f, 3, 0] + q0, w.pose[f, 3, 1] + q1, w.pose[f, 3, 2] + q2
    q0, q1, q2 = turn(w.node_start[f], c0, c1, c2)
    x0, y0, z0 = w.node_start[f, 3, 0] + q0, w.node_start[f, 3, 1] + q1, w.node_start[f, 3, 2] + q2
    a = 2.0 * m / (h * h)
    for k in range(size):
        u, v, r = right[0, k], right[1, k], right[2, k]
        f0 = a * (right[3, k] + v * z - r * y)
        f1 = a * (right[4, k] + r * x - u * z)
        f2 = a * (right[5, k] + u * y - v * x)
        out[0, k] += t[0, 0] * u + t[0, 1] * v + t[0, 2] * r + y0 * f2 - z0 * f1
        out[1, k] += t[1, 0] * u + t[1, 1] * v + t[1, 2] * r + z0 * f0 - x0 * f2
        out[2, k] += t[2, 0] * u + t[2, 1] * v + t[2, 2] * r + x0 * f1 - y0 * f0
        out[3, k] += f0
        out[4, k] += f1
        out[5, k] += f2


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
