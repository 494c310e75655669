"""Sliding friction and drag over one conserving step (see :mod:`.conserving`).

Over a step of length h a frame turns by the Cayley vector θ and its origin moves by d. Its friction and drag are taken
with the mean velocity (θ; d)/h at both ends of the step, F_n in the axes of the start and F_+ in those of the end, and
act as ½ (J_nᵀ F_n + J_+ᵀ F_+): their heat, ½ (F_n + F_+)·(θ; d), is never negative. With p the origin, world axes about
the base point, the twist in axes of the frame varies with the pose ζ = (ω; v) of the end by

    end      ζ' = ( a ; b + p₊×a ) ,   a = (ω + ½θ×ω + ¼θ(θ·ω))/h ,   b = (v + ω×(p₊ - d))/h ,
    start    ζ' = ( a ; b + p×a ) ,    a = (ω - ½θ×ω + ¼θ(θ·ω))/h ,   b = (v + ω×p₊)/h .
"""

from __future__ import annotations

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.terms.frame_loads import frame_load_residual, frame_load_tangent

__all__ = ["fold_slopes", "mean_twists", "push_at_start", "slopes_at_start"]


@inner
def mean_twists(robot, base, pose, eta):
    """Mean twist over the step of frames with friction or drag, about the base point, at one end with these poses."""
    p, w = unpack(robot)
    for j in range(p.slide_frame.size + p.drag_frame.size):
        f = p.slide_frame[j] if j < p.slide_frame.size else p.drag_frame[j - p.slide_frame.size]
        h, r = w.node_step[0], pose[f, 3]
        x, y, z = w.node_shift[f, 0] / h, w.node_shift[f, 1] / h, w.node_shift[f, 2] / h
        eta[f, 0], eta[f, 1], eta[f, 2] = x, y, z
        a, b, c = _moved(robot, base, f)
        eta[f, 3] = a / h - (y * r[2] - z * r[1])
        eta[f, 4] = b / h - (z * r[0] - x * r[2])
        eta[f, 5] = c / h - (x * r[1] - y * r[0])


@inner
def _moved(robot, base, f):
    """Displacement of the origin of a frame over the step."""
    _, w = unpack(robot)
    now, then, at = w.pose[f, 3], w.node_start[f, 3], w.node_step
    return (
        now[0] + base[3, 0] - then[0] - at[1], now[1] + base[3, 1] - then[1] - at[2],
        now[2] + base[3, 2] - then[2] - at[3],
    )  # fmt: skip


@kernel
def push_at_start(robot, base, eta, force):
    """Add F_n to ``force``; the heat of the step [J], right behind the residual at its end. ``eta`` is scratch."""
    p, w = unpack(robot)
    heat = _power(robot)
    mean_twists(robot, base, w.node_start, eta)
    frame_load_residual(
        p.slide_frame, p.slide, p.drag_frame, p.drag, p.user_frame[:0], w.user_wrench, 3, w.node_start, eta, force,
        w.vector,
    )
    return heat


@inner
def _power(robot):
    """Heat of the step [J]."""
    p, w = unpack(robot)
    h, total = w.node_step[0], 0.0
    for j in range(p.slide_frame.size):
        f = p.slide_frame[j]
        e, r = w.eta[f], w.pose[f, 3]
        a = e[3] + e[1] * r[2] - e[2] * r[1]
        b = e[4] + e[2] * r[0] - e[0] * r[2]
        c = e[5] + e[0] * r[1] - e[1] * r[0]
        square = a * a + b * b + c * c
        total += h * (p.slide[j, 0] + p.slide[j, 1] / (square + p.slide[j, 2] ** 2) ** 0.5) * square
    for j in range(p.drag_frame.size):
        f = p.drag_frame[j]
        e, r = w.eta[f], w.pose[f, 3]
        a = e[3] + e[1] * r[2] - e[2] * r[1]
        b = e[4] + e[2] * r[0] - e[0] * r[2]
        c = e[5] + e[0] * r[1] - e[1] * r[0]
        total += 0.5 * h * _in_axes(w.pose[f], p.drag[j], e, a, b, c, w.vector[0])
        total += 0.5 * h * _in_axes(w.node_start[f], p.drag[j], e, a, b, c, w.vector[0])
    return total


@inner
def _in_axes(R, drag, e, a, b, c, out):
    """ηᵀ𝓑 η with spin e[:3] and velocity (a, b, c), both in the world."""
    for k in range(3):
        out[k] = R[0, k] * e[0] + R[1, k] * e[1] + R[2, k] * e[2]
        out[3 + k] = R[0, k] * a + R[1, k] * b + R[2, k] * c
    total = 0.0
    for i in range(6):
        for k in range(6):
            total += out[i] * drag[i, k] * out[k]
    return total


@inner
def fold_slopes(robot, base):
    """At the end of the step: what work.stiffness has with ζ' joins what it has with ζ."""
    p, w = unpack(robot)
    for j in range(p.slide_frame.size + p.drag_frame.size):
        f = p.slide_frame[j] if j < p.slide_frame.size else p.drag_frame[j - p.slide_frame.size]
        x, y, z = _moved(robot, base, f)
        r, B = w.pose[f, 3], w.stiffness[f]
        _fold(w.node_shift[f], 0.5, r, r[0] - x, r[1] - y, r[2] - z, w.node_step[0], B, B, w.vector)
        for i in range(6):
            for k in range(6, 12):
                B[i, k] = 0.0  # done, should the frame have a second load


@kernel
def slopes_at_start(robot, base, eta, out):
    """out[f, :, :6]: variation of F_n with the pose at the end of the step, for frames with friction or drag."""
    p, w = unpack(robot)
    mean_twists(robot, base, w.node_start, eta)
    for f in range(out.shape[0]):
        for i in range(6):
            for k in range(12):
                out[f, i, k] = 0.0
    frame_load_tangent(
        p.slide_frame, p.slide, p.drag_frame, p.drag, p.user_frame[:0], w.user_tangent, 3, w.node_start, eta, out,
        w.vector,
    )
    for j in range(p.slide_frame.size + p.drag_frame.size):
        f = p.slide_frame[j] if j < p.slide_frame.size else p.drag_frame[j - p.slide_frame.size]
        q, r, B = w.pose[f, 3], w.node_start[f, 3], out[f]
        _fold(w.node_shift[f], -0.5, r, q[0], q[1], q[2], w.node_step[0], B, B, w.vector)
        for i in range(6):
            for k in range(6, 12):
                B[i, k] = 0.0


@inner
def _fold(shift, half, r, x, y, z, h, slope, out, v):
    """out[:, :6] += slope[:, 6:12] N with the ζ' = N ζ of a twist at r; b = (v + ω×(x, y, z))/h."""
    t0, t1, t2 = shift[0], shift[1], shift[2]
    for k in range(6):
        for i in range(6):
            v[0, i] = 1.0 if i == k else 0.0
        o0, o1, o2 = v[0, 0], v[0, 1], v[0, 2]
        along = 0.25 * (t0 * o0 + t1 * o1 + t2 * o2)
        a0 = (o0 + half * (t1 * o2 - t2 * o1) + along * t0) / h
        a1 = (o1 + half * (t2 * o0 - t0 * o2) + along * t1) / h
        a2 = (o2 + half * (t0 * o1 - t1 * o0) + along * t2) / h
        b0 = (v[0, 3] + o1 * z - o2 * y) / h + r[1] * a2 - r[2] * a1
        b1 = (v[0, 4] + o2 * x - o0 * z) / h + r[2] * a0 - r[0] * a2
        b2 = (v[0, 5] + o0 * y - o1 * x) / h + r[0] * a1 - r[1] * a0
        for i in range(6):
            s = slope[i]
            out[i, k] += s[6] * a0 + s[7] * a1 + s[8] * a2 + s[9] * b0 + s[10] * b1 + s[11] * b2
