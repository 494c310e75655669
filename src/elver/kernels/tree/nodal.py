"""Inertia of frames over one step, as free bodies: what the conserving method asks of them (see :mod:`.conserving`).

Every frame is a rigid body with mass m, mass centre x and inertia J about it, turned and moved over a step by

    R₊ = R cay(Θ) ,  θ = RΘ = R₊Θ ,  d = x₊ - x ,     |Θ| = 2 tan(angle/2) ,
    Ω₊ = 2Θ/h - Ω ,  v₊ = 2d/h - v ,
    w = ( (R₊JΩ₊ - RJΩ)/h ;  m (v₊ - v)/h )           couple, and force at the mass centre ,

so that w·(θ; d) is the change of kinetic energy, exactly, and force and couple are changes of momentum. A frame that
carries water along has another mass in each direction. Its momentum (L; p) = M η lives in axes of the frame, x is its
origin, and with the mean p̄ of Rp at both ends

    D = Rᵀ(d - ½θ×d) = R₊ᵀ(d + ½θ×d) ,  η₊ = 2 (Θ; D)/h - η ,
    w = ( Δ(RL) + d×p̄ ;  Δ(Rp) )/h ,                  couple, and force at the origin ,

again with w·(θ; d) = Δ ½ ηᵀM η, and the changes of Rp and RL + x×Rp for force and couple. In the residual w is a wrench
of the end of the step like that of any load; what it does at the start of the step is added by the solver. T is its
variation with the turn ω and the displacement δx at the end; of a rigid frame

    T = (2/h²) diag( R₊ [ J (1 + ½Θ̂ + ¼ΘΘᵀ) - (h/2) hat(JΩ₊) ] R₊ᵀ ,  m 1 ) .

Six-vectors angular first, world axes; poses about the base point. *Rates* of a frame: its spin, the velocity of x.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.algebra import times
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.tree.recursion import has_inertia

__all__ = [
    "add_at", "add_momentum", "centre_of", "is_rigid", "kinetic_of", "nodal_residual", "nodal_tangent", "rate_of_frame",
    "slope_between", "turn", "turn_back",
]  # fmt: skip

# 1 + trace of a rotation beyond which a step turns a frame too far (about 2.1 rad) to be trusted
_LEAST_TRACE = 1.0


@inner("b1(f8[:,::1])")
def is_rigid(M):
    """True without added mass: the same mass in all directions, and a first moment."""
    return (
        M[3, 3] == M[4, 4] and M[4, 4] == M[5, 5] and M[3, 4] == 0.0 and M[3, 5] == 0.0 and M[4, 5] == 0.0
        and M[0, 3] == 0.0 and M[1, 4] == 0.0 and M[2, 5] == 0.0
        and M[0, 4] == -M[1, 3] and M[2, 3] == -M[0, 5] and M[1, 5] == -M[2, 4]
    )  # fmt: skip


@inner("UniTuple(f8, 3)(f8[:,::1])")
def centre_of(M):
    """x in axes of the frame: the mass centre of a rigid inertia, else the origin."""
    if not is_rigid(M):
        return 0.0, 0.0, 0.0
    return M[2, 4] / M[3, 3], M[0, 5] / M[3, 3], M[1, 3] / M[3, 3]


@inner
def _momentum(M, u):
    """Momentum (L; p) about x of a frame with rates u, all in axes of the frame."""
    a, b, c, x, y, z = u
    if is_rigid(M):
        m = M[3, 3]
        c0, c1, c2 = centre_of(M)
        # that of the mass in the mass centre is not about it: J = I - m (c·c - ccᵀ)
        along, square = m * (c0 * a + c1 * b + c2 * c), m * (c0 * c0 + c1 * c1 + c2 * c2)
        return (
            M[0, 0] * a + M[0, 1] * b + M[0, 2] * c - square * a + along * c0,
            M[1, 0] * a + M[1, 1] * b + M[1, 2] * c - square * b + along * c1,
            M[2, 0] * a + M[2, 1] * b + M[2, 2] * c - square * c + along * c2,
            m * x, m * y, m * z,
        )  # fmt: skip
    return times(M, u)


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


@inner
def _turn_both(R, u):
    """Both halves of a six-vector into world axes."""
    a, b, c = turn(R, u[0], u[1], u[2])
    x, y, z = turn(R, u[3], u[4], u[5])
    return a, b, c, x, y, z


@inner("UniTuple(f8, 6)(f8[:,::1], f8[::1])")
def _turn_both_back(R, u):
    """Both halves of a six-vector into axes of the frame."""
    a, b, c = turn_back(R, u[0], u[1], u[2])
    x, y, z = turn_back(R, u[3], u[4], u[5])
    return a, b, c, x, y, z


@inner("UniTuple(f8, 3)(f8, f8, f8, f8, f8, f8)")
def _cross(a, b, c, x, y, z):
    """(a, b, c) × (x, y, z)."""
    return b * z - c * y, c * x - a * z, a * y - b * x


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
def nodal_residual(robot, base):
    """Displacements, rates at the end and wrenches w of all frames; w into work.force, about the base point.

    work.node_step: h [s] and the base point at the start; work.node_start: poses there, about that point. Frames
    without mass have the displacement of their origin, and no wrench.
    """
    p, w = unpack(robot)
    step = w.node_step
    for f in range(w.pose.shape[0]):
        M, R, S, d, wrench = p.inertia[f], w.node_start[f], w.pose[f], w.node_shift[f], w.node_wrench[f]
        turned = _cayley(R, S)
        d[0], d[1], d[2] = turn(S, turned[0], turned[1], turned[2])
        for k in range(3):
            d[3 + k] = S[3, k] + base[3, k] - R[3, k] - step[1 + k]
        for k in range(6):
            wrench[k], w.node_end[f, k] = 0.0, 0.0
        if not has_inertia(M):
            continue
        c0, c1, c2 = centre_of(M)
        p0, p1, p2 = turn(R, c0, c1, c2)
        q0, q1, q2 = turn(S, c0, c1, c2)
        d[3] += q0 - p0
        d[4] += q1 - p1
        d[5] += q2 - p2
        _take(robot, f, turned)
        add_at(w.force[f], S[3, 0] + q0, S[3, 1] + q1, S[3, 2] + q2, wrench)


@inner
def _take(robot, f, turned):
    """Rates e at the end and wrench of a frame with rates u at the start, turned and moved by ``turned`` and d."""
    p, work = unpack(robot)
    M, h, R, S, u = p.inertia[f], work.node_step[0], work.node_start[f], work.pose[f], work.node_rate[f]
    d, e, w = work.node_shift[f], work.node_end[f], work.node_wrench[f]
    own = _turn_both_back(R, u)
    x, y, z = 2.0 * turned[0] / h - own[0], 2.0 * turned[1] / h - own[1], 2.0 * turned[2] / h - own[2]
    e[0], e[1], e[2] = turn(S, x, y, z)
    if is_rigid(M):
        for k in range(3, 6):
            e[k] = 2.0 * d[k] / h - u[k]
    else:
        b0, b1, b2 = _cross(d[0], d[1], d[2], d[3], d[4], d[5])
        D = turn_back(R, d[3] - 0.5 * b0, d[4] - 0.5 * b1, d[5] - 0.5 * b2)
        e[3], e[4], e[5] = turn(S, 2.0 * D[0] / h - own[3], 2.0 * D[1] / h - own[4], 2.0 * D[2] / h - own[5])
    first, last = _turn_both(R, _momentum(M, own)), _turn_both(S, _momentum(M, _turn_both_back(S, e)))
    for k in range(6):
        w[k] = (last[k] - first[k]) / h
    if not is_rigid(M):
        a = 0.5 / h
        b0, b1, b2 = _cross(
            d[3], d[4], d[5], a * (first[3] + last[3]), a * (first[4] + last[4]), a * (first[5] + last[5])
        )
        w[0] += b0
        w[1] += b1
        w[2] += b2


@inner("void(f8[::1], f8, f8, f8, f8[::1])")
def add_at(force, x, y, z, w):
    """force += a couple and a force at x, as a wrench about the base point."""
    force[0] += w[0] + y * w[5] - z * w[4]
    force[1] += w[1] + z * w[3] - x * w[5]
    force[2] += w[2] + x * w[4] - y * w[3]
    force[3] += w[3]
    force[4] += w[4]
    force[5] += w[5]


# Variation --------------------------------------------------------------------------------------------------


@inner
def nodal_tangent(robot):
    """work.stiffness += variation of w, about the base point and as seen from its frame, with ζ; T: work.node_slope.

    With x and w = (c; f), and (δc; δf) = T (ω; v + ω×x): force δf + f×ω, couple δc + c×ω + x×(δf + f×ω).
    """
    p, work = unpack(robot)
    for f in range(work.pose.shape[0]):
        if not has_inertia(p.inertia[f]):
            continue
        b, t, w = work.stiffness[f], work.node_slope[f], work.node_wrench[f]
        _slope(robot, f)
        x, y, z = _place(p.inertia[f], work.pose[f])
        for k in range(6):
            u, g = _unit(k, x, y, z), times(t, _unit(k, x, y, z))
            f0, f1, f2 = _cross(w[3], w[4], w[5], u[0], u[1], u[2])
            f0, f1, f2 = f0 + g[3], f1 + g[4], f2 + g[5]
            c0, c1, c2 = _cross(w[0], w[1], w[2], u[0], u[1], u[2])
            r0, r1, r2 = _cross(x, y, z, f0, f1, f2)
            b[0, k] += g[0] + c0 + r0
            b[1, k] += g[1] + c1 + r1
            b[2, k] += g[2] + c2 + r2
            b[3, k] += f0
            b[4, k] += f1
            b[5, k] += f2


@inner
def slope_between(M, start, pose, slope, out):
    """out += variation with ζ at the end of the wrench that w is where the step started, (6, 6), about the base."""
    x, y, z = _place(M, pose)
    x0, y0, z0 = _place(M, start)
    for k in range(6):
        g = times(slope, _unit(k, x, y, z))
        r0, r1, r2 = _cross(x0, y0, z0, g[3], g[4], g[5])
        out[0, k] += g[0] + r0
        out[1, k] += g[1] + r1
        out[2, k] += g[2] + r2
        out[3, k] += g[3]
        out[4, k] += g[4]
        out[5, k] += g[5]


@inner("UniTuple(f8, 3)(f8[:,::1], f8[:,::1])")
def _place(M, g):
    """x about the base point."""
    c0, c1, c2 = centre_of(M)
    q0, q1, q2 = turn(g, c0, c1, c2)
    return g[3, 0] + q0, g[3, 1] + q1, g[3, 2] + q2


@inner("UniTuple(f8, 6)(i8, f8, f8, f8)")
def _unit(k, x, y, z):
    """Turn, and displacement of x, of the k-th unit twist about the base point."""
    a, b, c = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
    r0, r1, r2 = _cross(a, b, c, x, y, z)
    return (
        a, b, c, r0 + (1.0 if k == 3 else 0.0), r1 + (1.0 if k == 4 else 0.0), r2 + (1.0 if k == 5 else 0.0)
    )  # fmt: skip


@inner
def _slope(robot, f):
    """T: variation of (couple; force at x) with turn and displacement of x at the end, world axes."""
    p, work = unpack(robot)
    M, h, R, S, u = p.inertia[f], work.node_step[0], work.node_start[f], work.pose[f], work.node_rate[f]
    e, d, t = work.node_end[f], work.node_shift[f], work.node_slope[f]
    rigid = is_rigid(M)
    first, last = _turn_both(R, _momentum(M, _turn_both_back(R, u))), _turn_both(S, _momentum(M, _turn_both_back(S, e)))
    mean = 0.5 * (first[3] + last[3]), 0.5 * (first[4] + last[4]), 0.5 * (first[5] + last[5])
    for k in range(6):
        o = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
        v = 1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0
        own = _change_of_rates(rigid, h, R, S, d, o, v)
        g = _turn_both(S, _momentum(M, own))
        c0, c1, c2 = _cross(o[0], o[1], o[2], last[0], last[1], last[2])
        f0, f1, f2 = 0.0, 0.0, 0.0
        if not rigid:
            f0, f1, f2 = _cross(o[0], o[1], o[2], last[3], last[4], last[5])
        f0, f1, f2 = f0 + g[3], f1 + g[4], f2 + g[5]
        if not rigid:
            a0, a1, a2 = _cross(v[0], v[1], v[2], mean[0], mean[1], mean[2])
            b0, b1, b2 = _cross(d[3], d[4], d[5], 0.5 * f0, 0.5 * f1, 0.5 * f2)
            c0, c1, c2 = c0 + a0 + b0, c1 + a1 + b1, c2 + a2 + b2
        t[0, k], t[1, k], t[2, k] = (c0 + g[0]) / h, (c1 + g[1]) / h, (c2 + g[2]) / h
        t[3, k], t[4, k], t[5, k] = f0 / h, f1 / h, f2 / h


@inner
def _change_of_rates(rigid, h, R, S, d, o, v):
    """Variation of the rates at the end with turn o and displacement v, in axes of the frame at the end.

    Of a rigid frame that of the velocity as it is seen in the world, else in axes of the frame.
    """
    x, y, z = turn_back(S, d[0], d[1], d[2])
    e0, e1, e2 = turn_back(S, o[0], o[1], o[2])
    b0, b1, b2 = _cross(x, y, z, e0, e1, e2)
    along = 0.25 * (x * e0 + y * e1 + z * e2)
    a0, a1, a2 = e0 + 0.5 * b0 + along * x, e1 + 0.5 * b1 + along * y, e2 + 0.5 * b2 + along * z
    if rigid:
        v0, v1, v2 = turn_back(S, v[0], v[1], v[2])
    else:
        y0, y1, y2 = turn_back(R, d[3], d[4], d[5])
        b0, b1, b2 = turn_back(R, v[0], v[1], v[2])
        p0, p1, p2 = _cross(a0, a1, a2, y0, y1, y2)
        q0, q1, q2 = _cross(x, y, z, b0, b1, b2)
        v0, v1, v2 = b0 - 0.5 * (p0 + q0), b1 - 0.5 * (p1 + q1), b2 - 0.5 * (p2 + q2)
    s = 2.0 / h
    return s * a0, s * a1, s * a2, s * v0, s * v1, s * v2


# Rates, momentum and energy at an instant -------------------------------------------------------------------


@inner
def rate_of_frame(M, g, twist, out):
    """Rates of a frame with a spatial twist about the base point."""
    x, y, z = _place(M, g)
    out[0], out[1], out[2] = twist[0], twist[1], twist[2]
    a, b, c = _cross(twist[0], twist[1], twist[2], x, y, z)
    out[3], out[4], out[5] = twist[3] + a, twist[4] + b, twist[5] + c


@inner
def add_momentum(M, g, u, out):
    """out += momentum of a frame with rates u, about the base point."""
    x, y, z = _place(M, g)
    own = _turn_both(g, _momentum(M, _turn_both_back(g, u)))
    a, b, c = _cross(x, y, z, own[3], own[4], own[5])
    out[0] += own[0] + a
    out[1] += own[1] + b
    out[2] += own[2] + c
    out[3] += own[3]
    out[4] += own[4]
    out[5] += own[5]


@inner
def kinetic_of(M, g, u):
    """Kinetic energy of a frame with rates u."""
    own = _turn_both_back(g, u)
    p = _momentum(M, own)
    return 0.5 * (
        own[0] * p[0] + own[1] * p[1] + own[2] * p[2] + own[3] * p[3] + own[4] * p[4] + own[5] * p[5]
    )
