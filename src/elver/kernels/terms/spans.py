"""Free spans of cables: a straight line between two guides, fixed to two frames or to the world.

With guides at p_a and p_b, ℓ = |p_b - p_a| and u along it, tension T adds T ∂ℓ/∂q to the residual: the world wrench
W = T (p_b × u; u) on the second frame and -W on the first. In axes of the second frame W varies with the relative twist
alone, by K = (T/ℓ) L_bᵀ (1 - u uᵀ) L_a with L = [-p̂, 1]; what then follows is that of a closure.
A cable of a given length adds ℓ to its closure row, and the rows of its spans to J.
"""

from __future__ import annotations

import math

from elver.kernels.build.cache import inner
from elver.kernels.terms.closures import add_coad_matrix, add_path_row, couple_paths

__all__ = ["span_couplings", "span_residual", "span_tangent"]


@inner
def span_residual(
    span_tendon, span_frame, span_point, tendon_input, tendon_factor, tendon_row, base, multipliers, inputs, pose,
    ends, spans, length, force,
):
    """Rows of all spans as world wrenches per unit tension, lengths of spans per tendon, wrenches into ``force``."""
    for t in range(tendon_input.size):
        length[t] = 0.0
    for j in range(span_tendon.size):
        t = span_tendon[j]
        length[t] += _line(span_frame[j], span_point[j], base, pose, ends, spans[j])
        tension = _tension(t, tendon_input, tendon_factor, tendon_row, multipliers, inputs)
        a, b = span_frame[j, 0], span_frame[j, 1]
        for k in range(6):
            if a >= 0:
                force[a, k] -= tension * spans[j, k]
            if b >= 0:
                force[b, k] += tension * spans[j, k]


@inner
def _tension(t, tendon_input, tendon_factor, tendon_row, multipliers, inputs):
    """Tension of a tendon: its multiplier, or its input."""
    if tendon_row[t] >= 0:
        return multipliers[tendon_row[t]]
    return tendon_factor[t] * inputs[tendon_input[t]]


@inner
def _line(frames, points, base, pose, ends, row):
    """Guides about the base point into ends[0, 3], ends[1, 3]; row = (p_b × u; u); returns the length."""
    for side in range(2):
        f, p, out = frames[side], points[side], ends[side, 3]
        for i in range(3):
            if f < 0:
                out[i] = p[i] - base[3, i]
            else:
                g = pose[f]
                out[i] = g[3, i] + g[i, 0] * p[0] + g[i, 1] * p[1] + g[i, 2] * p[2]
    a, b = ends[0, 3], ends[1, 3]
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    length = math.sqrt(x * x + y * y + z * z)
    row[3], row[4], row[5] = x / length, y / length, z / length
    row[0] = b[1] * row[5] - b[2] * row[4]
    row[1] = b[2] * row[3] - b[0] * row[5]
    row[2] = b[0] * row[4] - b[1] * row[3]
    return length


@inner
def span_tangent(
    span_tendon, span_frame, span_point, tendon_input, tendon_factor, tendon_row, base, multipliers, inputs, pose,
    ends, spans, v, K, stiffness,
):
    """K of every span, and its part in the matrices of its frames."""
    for j in range(span_tendon.size):
        length = _line(span_frame[j], span_point[j], base, pose, ends, spans[j])
        tension = _tension(span_tendon[j], tendon_input, tendon_factor, tendon_row, multipliers, inputs)
        k_j, a, b = K[j], ends[0, 3], ends[1, 3]
        u0, u1, u2 = spans[j, 3], spans[j, 4], spans[j, 5]
        for k in range(6):
            # displacement of the first guide in a unit twist, across the line, times T/ℓ
            for i in range(6):
                v[0, i] = 1.0 if i == k else 0.0
            x = v[0, 3] + v[0, 1] * a[2] - v[0, 2] * a[1]
            y = v[0, 4] + v[0, 2] * a[0] - v[0, 0] * a[2]
            z = v[0, 5] + v[0, 0] * a[1] - v[0, 1] * a[0]
            along = u0 * x + u1 * y + u2 * z
            x, y, z = tension / length * (x - along * u0), tension / length * (y - along * u1), tension / length * (
                z - along * u2
            )
            k_j[0, k], k_j[1, k], k_j[2, k] = b[1] * z - b[2] * y, b[2] * x - b[0] * z, b[0] * y - b[1] * x
            k_j[3, k], k_j[4, k], k_j[5, k] = x, y, z
        for side in range(2):
            f = span_frame[j, side]
            if f >= 0:
                for i in range(6):
                    for k in range(6):
                        stiffness[f, i, k] += k_j[i, k]
        if span_frame[j, 0] >= 0:
            for k in range(6):
                v[0, k] = tension * spans[j, k]
            add_coad_matrix(v[0], stiffness[span_frame[j, 0]])


@inner
def span_couplings(
    size, span_tendon, span_slot, tendon_input, tendon_factor, tendon_row, multipliers, inputs, slot_path, path,
    spans, K, saved, v, row, matrix,
):
    """Stiffness that couples the two paths of a span; rows and columns of cables of given length."""
    for j in range(span_tendon.size):
        t = span_tendon[j]
        tension = _tension(t, tendon_input, tendon_factor, tendon_row, multipliers, inputs)
        for k in range(6):
            v[0, k] = tension * spans[j, k]
        for side in range(2):
            slot = span_slot[j, side]
            if slot >= 0 and tendon_row[t] >= 0:
                sign = 1.0 if side == 1 else -1.0
                add_path_row(size + tendon_row[t], sign, spans[j], slot, slot_path, path, saved, matrix)
        if span_slot[j, 0] >= 0 and span_slot[j, 1] >= 0:
            couple_paths(span_slot[j, 1], span_slot[j, 0], 0, v[0], K[j], slot_path, path, saved, row, matrix)
            couple_paths(span_slot[j, 0], span_slot[j, 1], 1, v[0], K[j], slot_path, path, saved, row, matrix)
