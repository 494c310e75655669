"""The nodes of multiple shooting at rest: what segments miss of them, linearised, and how they move.

States are R, p, Λ (18 numbers), their changes (ζ, ΔΛ), g exp(ζ); angular first, in axes of the section.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import stumpff
from elver.kernels.build.cache import inner, kernel
from elver.kernels.one_rod.six import cross
from elver.kernels.one_rod.static_shoot import step_pose

__all__ = ["carry_columns", "join_segments", "move_nodes"]


@kernel
def join_segments(ends, nodes, scale, transition, gaps, back, onward, cs):
    """What the ``ends`` (M, 18) of segments miss of the ``nodes`` (M + 1, 18) after them, and the linearised recursion.

    j = g_node⁻¹ g_end:  ``gaps`` (M, 12) = (log j; x_end - x_node), ``back`` (M, 6, 6) = Ad(j), and with
    ``transition`` Φ (M, 12, 12), ``onward`` = diag(Ad(j), 1) Φ; all in units of ``scale`` (12,). Φ is scaled in place.
    ``cs`` (10,) is scratch.
    """
    for m in range(ends.shape[0]):
        y, z, A, X, out = ends[m], nodes[m + 1], back[m], transition[m], onward[m]
        p0, p1, p2 = y[9] - z[9], y[10] - z[10], y[11] - z[11]
        d0 = z[0] * p0 + z[3] * p1 + z[6] * p2
        d1 = z[1] * p0 + z[4] * p1 + z[7] * p2
        d2 = z[2] * p0 + z[5] * p1 + z[8] * p2
        # Ad(j) = [[R, 0], [d̂ R, R]]
        for c in range(3):
            for r in range(3):
                A[r, c] = z[r] * y[c] + z[3 + r] * y[3 + c] + z[6 + r] * y[6 + c]
            A[3, c] = d1 * A[2, c] - d2 * A[1, c]
            A[4, c] = d2 * A[0, c] - d0 * A[2, c]
            A[5, c] = d0 * A[1, c] - d1 * A[0, c]
            for r in range(3):
                A[r, 3 + c] = 0.0
                A[3 + r, 3 + c] = A[r, c]
        _log(A, d0, d1, d2, cs, gaps[m])
        for r in range(6):
            gaps[m, r] /= scale[r]
            gaps[m, 6 + r] = (y[12 + r] - z[12 + r]) / scale[6 + r]
            for c in range(6):
                A[r, c] *= scale[c] / scale[r]
        for r in range(12):
            for c in range(12):
                X[r, c] *= scale[c] / scale[r]
        for r in range(6):
            for c in range(12):
                out[r, c] = 0.0
                out[6 + r, c] = X[6 + r, c]
            for k in range(6):
                for c in range(12):
                    out[r, c] += A[r, k] * X[k, c]


@inner
def _log(R, d0, d1, d2, cs, out):
    """out[:6] = logarithm of the pose (R, d)."""
    r00, r11, r22 = R[0, 0], R[1, 1], R[2, 2]
    r01, r02, r10, r12, r20, r21 = R[0, 1], R[0, 2], R[1, 0], R[1, 2], R[2, 0], R[2, 1]
    # quaternion from the row of 4 q qᵀ with the largest diagonal entry
    trace = r00 + r11 + r22
    a, b, c = r21 - r12, r02 - r20, r10 - r01
    w, q0, q1, q2 = 1.0 + trace, a, b, c
    largest = w
    if 1.0 + 2.0 * r00 - trace > largest:
        largest = 1.0 + 2.0 * r00 - trace
        w, q0, q1, q2 = a, largest, r01 + r10, r02 + r20
    if 1.0 + 2.0 * r11 - trace > largest:
        largest = 1.0 + 2.0 * r11 - trace
        w, q0, q1, q2 = b, r01 + r10, largest, r12 + r21
    if 1.0 + 2.0 * r22 - trace > largest:
        largest = 1.0 + 2.0 * r22 - trace
        w, q0, q1, q2 = c, r02 + r20, r12 + r21, largest
    if w < 0.0:
        w, q0, q1, q2 = -w, -q0, -q1, -q2
    size = math.sqrt(q0 * q0 + q1 * q1 + q2 * q2)
    factor = 2.0 / w if size < 1e-9 * w else 2.0 * math.atan2(size, w) / size
    t0, t1, t2 = factor * q0, factor * q1, factor * q2
    # v = (1 - ½ Θ̂ + κ Θ̂²) d,  κ = (c₃ - 2c₄)/(2c₂)
    stumpff(t0 * t0 + t1 * t1 + t2 * t2, cs)
    kappa = 0.5 * (cs[3] - 2.0 * cs[4]) / cs[2]
    a0, a1, a2 = cross(t0, t1, t2, d0, d1, d2)
    b0, b1, b2 = cross(t0, t1, t2, a0, a1, a2)
    out[0], out[1], out[2] = t0, t1, t2
    out[3] = d0 - 0.5 * a0 + kappa * b0
    out[4] = d1 - 0.5 * a1 + kappa * b1
    out[5] = d2 - 0.5 * a2 + kappa * b2


@kernel
def carry_columns(onward, jumps, columns):
    """columns[m + 1] = onward[m] @ columns[m] + jumps[m], from node to node: (M + 1, 12, k); jumps (M, 12) or none."""
    k = columns.shape[2]
    for m in range(onward.shape[0]):
        A, X, out = onward[m], columns[m], columns[m + 1]
        for r in range(12):
            for c in range(k):
                out[r, c] = jumps[m, r] if jumps.shape[0] > 0 else 0.0
            for j in range(12):
                for c in range(k):
                    out[r, c] += A[r, j] * X[j, c]


@kernel
def move_nodes(nodes, step, scale, out, cs):
    """out (n, 18) = nodes moved by the scaled ``step`` (n, 12): g exp(ζ), Λ + ΔΛ; ``cs`` (16,) is scratch."""
    theta = cs[10:]
    for m in range(nodes.shape[0]):
        for r in range(6):
            theta[r] = step[m, r] * scale[r]
            out[m, 12 + r] = nodes[m, 12 + r] + step[m, 6 + r] * scale[6 + r]
        step_pose(nodes[m], theta, cs, out[m])
