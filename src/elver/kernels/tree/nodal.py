"""Inertia of frames over one step, as free bodies: what the conserving method asks of them (see :mod:`.conserving`).

Every frame is a rigid body with mass m, mass centre x and inertia J about it, turned and moved over a step by

    R₊ = R cay(Θ) ,  θ = RΘ = R₊Θ ,  d = x₊ - x ,     |Θ| = 2 tan(angle/2) ,
    Ω₊ = 2Θ/h - Ω ,  v₊ = 2d/h - v ,
    w = ( (R₊JΩ₊ - RJΩ)/h ;  m (v₊ - v)/h )           couple, and force at the mass centre ,

so that w·(θ; d) is the change of kinetic energy, exactly, and force and couple are the changes of momentum. In the
residual w is a wrench of the end of the step like that of any load; what it does at the start of the step is added by
the solver. Its variation with the pose ζ at the end is

    δw = S ζ ,   S = (2/h²) diag( R₊ [ J (1 + ½Θ̂ + ¼ΘΘᵀ) - (h/2) hat(JΩ₊) ] R₊ᵀ ,  m 1 ) .

Six-vectors angular first, world axes; poses about the base point.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.build.cache import inner
from elver.kernels.tree.interval import add_hat
from elver.kernels.tree.recursion import has_inertia

__all__ = ["add_at", "body_of", "nodal_residual", "nodal_tangent", "turn", "turn_back"]

# 1 + trace of a rotation beyond which a step turns a frame too far (about 2.1 rad) to be trusted
_LEAST_TRACE = 1.0


@inner("UniTuple(f8, 10)(f8[:,::1])")
def body_of(M):
    """Mass, mass centre and inertia (00, 01, 02, 11, 12, 22) about it, in axes of the frame, of a rigid inertia."""
    m = M[3, 3]
    x, y, z = M[2, 4] / m, M[0, 5] / m, M[1, 3] / m
    return (
        m, x, y, z, M[0, 0] - m * (y * y + z * z), M[0, 1] + m * x * y, M[0, 2] + m * x * z,
        M[1, 1] - m * (x * x + z * z), M[1, 2] + m * y * z, M[2, 2] - m * (x * x + y * y),
    )  # fmt: skip


@inner("UniTuple(f8, 3)(f8[:,::1], f8, f8, f8)")
def turn(R, x, y, z):
    """R x."""
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inner("UniTuple(f8, 3)(f8[:,::1], f8, f8, f8)")
def turn_back(R, x, y, z):
    """Rᵀ x."""
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@inner("UniTuple(f8, 3)(f8[:,::1], f8[:,::1])")
def _cayley(a, b):
    """Θ of aᵀ b = cay(Θ); not a number where it turns too far."""
    trace, x, y, z = 1.0, 0.0, 0.0, 0.0
    for i in range(3):
        trace += a[i, 0] * b[i, 0] + a[i, 1] * b[i, 1] + a[i, 2] * b[i, 2]
        x += a[i, 2] * b[i, 1] - a[i, 1] * b[i, 2]
        y += a[i, 0] * b[i, 2] - a[i, 2] * b[i, 0]
        z += a[i, 1] * b[i, 0] - a[i, 0] * b[i, 1]
    factor = 2.0 / trace if trace > _LEAST_TRACE else np.nan
    return factor * x, factor * y, factor * z


@inner
def nodal_residual(inertia, base, step, start, rate, pose, end_rate, shift, wrench, force):
    """Displacements, rates at the end and wrenches w of all frames; w into ``force``, about the base point.

    ``step``: h [s] and the base point at the start; ``start``: poses there, about that point. Frames without mass have
    the displacement of their origin, and no wrench.
    """
    h = step[0]
    for f in range(pose.shape[0]):
        R, S, u, e, d, w = start[f], pose[f], rate[f], end_rate[f], shift[f], wrench[f]
        x, y, z = _cayley(R, S)
        d[0], d[1], d[2] = turn(S, x, y, z)
        for k in range(3):
            d[3 + k] = S[3, k] + base[3, k] - R[3, k] - step[1 + k]
        for k in range(6):
            w[k], e[k] = 0.0, 0.0
        if not has_inertia(inertia[f]):
            continue
        m, c0, c1, c2, j00, j01, j02, j11, j12, j22 = body_of(inertia[f])
        p0, p1, p2 = turn(R, c0, c1, c2)
        q0, q1, q2 = turn(S, c0, c1, c2)
        d[3] += q0 - p0
        d[4] += q1 - p1
        d[5] += q2 - p2
        a0, a1, a2 = turn_back(R, u[0], u[1], u[2])
        s0, s1, s2 = 2.0 * x / h - a0, 2.0 * y / h - a1, 2.0 * z / h - a2
        e[0], e[1], e[2] = turn(S, s0, s1, s2)
        for k in range(3, 6):
            e[k] = 2.0 * d[k] / h - u[k]
            w[k] = m * (e[k] - u[k]) / h
        g0, g1, g2 = turn(
            S, j00 * s0 + j01 * s1 + j02 * s2, j01 * s0 + j11 * s1 + j12 * s2, j02 * s0 + j12 * s1 + j22 * s2
        )
        l0, l1, l2 = turn(
            R, j00 * a0 + j01 * a1 + j02 * a2, j01 * a0 + j11 * a1 + j12 * a2, j02 * a0 + j12 * a1 + j22 * a2
        )
        w[0], w[1], w[2] = (g0 - l0) / h, (g1 - l1) / h, (g2 - l2) / h
        add_at(force[f], S[3, 0] + q0, S[3, 1] + q1, S[3, 2] + q2, w)


@inner("void(f8[::1], f8, f8, f8, f8[::1])")
def add_at(force, x, y, z, w):
    """force += a couple and a force at x, as a wrench about the base point."""
    force[0] += w[0] + y * w[5] - z * w[4]
    force[1] += w[1] + z * w[3] - x * w[5]
    force[2] += w[2] + x * w[4] - y * w[3]
    force[3] += w[3]
    force[4] += w[4]
    force[5] += w[5]


@inner
def nodal_tangent(inertia, step, pose, end_rate, shift, wrench, slope, B):
    """B += variation of w, about the base point and as seen from its frame, with ζ; the rotation's part into ``slope``.

    With r the mass centre, a = 2m/h² and w = (c; f): couple ( S_θ + ĉ + r̂ (f̂ - a r̂), a r̂ ), force ( f̂ - a r̂, a 1 ).
    """
    h = step[0]
    for f in range(pose.shape[0]):
        if not has_inertia(inertia[f]):
            continue
        m, c0, c1, c2, j00, j01, j02, j11, j12, j22 = body_of(inertia[f])
        S, b, t, w = pose[f], B[f], slope[f], wrench[f]
        x, y, z = turn_back(S, shift[f, 0], shift[f, 1], shift[f, 2])
        s0, s1, s2 = turn_back(S, end_rate[f, 0], end_rate[f, 1], end_rate[f, 2])
        l0, l1, l2 = j00 * s0 + j01 * s1 + j02 * s2, j01 * s0 + j11 * s1 + j12 * s2, j02 * s0 + j12 * s1 + j22 * s2
        # columns of 1 + ½Θ̂ + ¼ΘΘᵀ, times J, less (h/2) hat(JΩ₊), in axes of the frame; then turned
        for i in range(3):
            # row i of Rᵀ, seen as the vector R₊ᵀ e_i
            e0, e1, e2 = S[i, 0], S[i, 1], S[i, 2]
            along = 0.25 * (x * e0 + y * e1 + z * e2)
            v0 = e0 + 0.5 * (y * e2 - z * e1) + along * x
            v1 = e1 + 0.5 * (z * e0 - x * e2) + along * y
            v2 = e2 + 0.5 * (x * e1 - y * e0) + along * z
            k0 = j00 * v0 + j01 * v1 + j02 * v2 - 0.5 * h * (l1 * e2 - l2 * e1)
            k1 = j01 * v0 + j11 * v1 + j12 * v2 - 0.5 * h * (l2 * e0 - l0 * e2)
            k2 = j02 * v0 + j12 * v1 + j22 * v2 - 0.5 * h * (l0 * e1 - l1 * e0)
            g0, g1, g2 = turn(S, k0, k1, k2)
            t[0, i], t[1, i], t[2, i] = 2.0 * g0 / (h * h), 2.0 * g1 / (h * h), 2.0 * g2 / (h * h)
        q0, q1, q2 = turn(S, c0, c1, c2)
        r, a = (S[3, 0] + q0, S[3, 1] + q1, S[3, 2] + q2), 2.0 * m / (h * h)
        for i in range(3):
            b[3 + i, 3 + i] += a
            for k in range(3):
                b[i, k] += t[i, k] + (w[3 + i] - a * r[i]) * r[k]
            b[i, i] -= (w[3] - a * r[0]) * r[0] + (w[4] - a * r[1]) * r[1] + (w[5] - a * r[2]) * r[2]
        add_hat(b, 0, 0, 1.0, w[0], w[1], w[2])
        add_hat(b, 0, 3, a, r[0], r[1], r[2])
        add_hat(b, 3, 0, 1.0, w[3] - a * r[0], w[4] - a * r[1], w[5] - a * r[2])

