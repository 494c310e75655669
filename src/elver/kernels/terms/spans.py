"""Free spans of cables: a straight line between two guides, fixed to two frames or to the world.

With guides at p_a and p_b, ℓ = |p_b - p_a| and u along it, tension T adds T ∂ℓ/∂q to the residual: the world wrench
W = T (p_b × u; u) on the second frame and -W on the first. In axes of the second frame W varies with the relative twist
alone, by K = (T/ℓ) L_bᵀ (1 - u uᵀ) L_a with L = [-p̂, 1]; what then follows is that of a closure.
A cable of a given length adds ℓ to its closure row, and the rows of its spans to J.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import add, add_column, minus, moved, scaled, six, unit, velocity_at
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.terms.closures import add_coad_matrix, add_path_row, couple_paths

__all__ = ["span_couplings", "span_residual", "span_tangent", "tension_of"]


@inner
def span_residual(robot, base, multipliers, inputs):
    """Rows of all spans as world wrenches per unit tension, lengths of spans per tendon, wrenches into work.force."""
    p, w = unpack(robot)
    for t in range(p.tendon_input.size):
        w.tendon_span[t] = 0.0
    for j in range(p.span_tendon.size):
        t = p.span_tendon[j]
        w.tendon_span[t] += _line(p.span_frame[j], p.span_point[j], base, w.pose, w.closure_end, w.span[j])
        pull = scaled(tension_of(robot, t, multipliers, inputs), six(w.span[j]))
        a, b = p.span_frame[j, 0], p.span_frame[j, 1]
        if a >= 0:
            add(w.force[a], minus(pull))
        if b >= 0:
            add(w.force[b], pull)


@inner
def tension_of(robot, t, multipliers, inputs):
    """Tension of a tendon: its multiplier, or its input."""
    p, _ = unpack(robot)
    if p.tendon_row[t] >= 0:
        return multipliers[p.tendon_row[t]]
    return p.tendon_factor[t] * inputs[p.tendon_input[t]]


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
def span_tangent(robot, base, multipliers, inputs):
    """K of every span, and its part in the matrices of its frames."""
    p, w = unpack(robot)
    for j in range(p.span_tendon.size):
        length = _line(p.span_frame[j], p.span_point[j], base, w.pose, w.closure_end, w.span[j])
        tension = tension_of(robot, p.span_tendon[j], multipliers, inputs)
        K, a, b, u = w.span_stiffness[j], w.closure_end[0, 3], w.closure_end[1, 3], six(w.span[j])
        for i in range(6):
            for k in range(6):
                K[i, k] = 0.0
        for k in range(6):
            # displacement of the first guide in a unit twist, across the line, times T/ℓ
            x, y, z = velocity_at(a, unit(k))
            along, pull = u[3] * x + u[4] * y + u[5] * z, tension / length
            across = 0.0, 0.0, 0.0, pull * (x - along * u[3]), pull * (y - along * u[4]), pull * (z - along * u[5])
            add_column(K, k, moved(b, across))
        for side in range(2):
            f = p.span_frame[j, side]
            if f >= 0:
                for i in range(6):
                    for k in range(6):
                        w.stiffness[f, i, k] += K[i, k]
        if p.span_frame[j, 0] >= 0:
            add_coad_matrix(scaled(tension, u), w.stiffness[p.span_frame[j, 0]])


@inner
def span_couplings(robot, multipliers, inputs):
    """Stiffness that couples the two paths of a span; rows and columns of cables of given length."""
    p, w = unpack(robot)
    for j in range(p.span_tendon.size):
        t, a, b = p.span_tendon[j], p.span_slot[j, 0], p.span_slot[j, 1]
        if p.tendon_row[t] >= 0:
            add_path_row(robot, p.tendon_row[t], -1.0, w.span[j], a)
            add_path_row(robot, p.tendon_row[t], 1.0, w.span[j], b)
        if a >= 0 and b >= 0:
            pull = scaled(tension_of(robot, t, multipliers, inputs), six(w.span[j]))
            couple_paths(robot, b, a, 0, pull, w.span_stiffness[j])
            couple_paths(robot, a, b, 1, pull, w.span_stiffness[j])
