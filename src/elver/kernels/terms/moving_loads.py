"""Sliding friction, drag and water over one conserving step (see :mod:`.conserving`).

Over a step of length h a frame turns by the Cayley vector θ and its origin moves by d. What acts on it by its motion is
taken with the mean velocity (θ; d)/h at both ends, F_n in the axes of the start and F_+ in those of the end,
and acts as ½ (J_nᵀ F_n + J_+ᵀ F_+): its power, ½ (F_n + F_+)·(θ; d), is that of the law at that velocity, so that
friction and drag only take energy away. With p the origin, world axes about the base point, the twist in axes of the
frame varies with the pose ζ = (ω; v) of the end by

    end      ζ' = ( a ; b + p₊×a ) ,   a = (ω + ½θ×ω + ¼θ(θ·ω))/h ,   b = (v + ω×(p₊ - d))/h ,
    start    ζ' = ( a ; b + p×a ) ,    a = (ω - ½θ×ω + ¼θ(θ·ω))/h ,   b = (v + ω×p₊)/h .
"""

from __future__ import annotations

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.terms.fluid import strip_residual, strip_tangent
from elver.kernels.terms.frame_loads import frame_load_residual, frame_load_tangent

__all__ = ["fold_slopes", "heat_of_step", "mean_twists", "push_at_start", "slopes_at_start"]


@inner
def _count(robot):
    """Number of loads that move with their frames."""
    p, _ = unpack(robot)
    return p.slide_frame.size + p.drag_frame.size + p.strip_frame.shape[0]


@inner
def _frame(robot, j):
    """Frame of such a load; -1 where that of the load before is the same."""
    p, _ = unpack(robot)
    if j < p.slide_frame.size:
        return p.slide_frame[j]
    j -= p.slide_frame.size
    if j < p.drag_frame.size:
        return p.drag_frame[j]
    j -= p.drag_frame.size
    return -1 if j > 0 and p.strip_frame[j, 0] == p.strip_frame[j - 1, 0] else p.strip_frame[j, 0]


@inner
def mean_twists(robot, base, pose, eta):
    """Mean twist over the step of frames with such loads, about the base point, at one end with these poses."""
    _, w = unpack(robot)
    for j in range(_count(robot)):
        f = _frame(robot, j)
        if f < 0:
            continue
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


@inner
def _add_loads(robot, pose, eta, force):
    """force += what frames with these poses and twists give to their surroundings."""
    frame_load_residual(robot, pose, eta, force)
    strip_residual(robot, 3, pose, eta, force)


@kernel
def push_at_start(robot, base, eta, force):
    """Add F_n to ``force``, right behind the residual at the end of the step. ``eta`` is scratch."""
    _, w = unpack(robot)
    mean_twists(robot, base, w.node_start, eta)
    _add_loads(robot, w.node_start, eta, force)


@kernel
def heat_of_step(robot, base, eta, push):
    """What these loads take out over the step [J], right behind the residual at its end. Two arrays of scratch."""
    _, w = unpack(robot)
    heat = 0.0
    for end in range(2):
        pose = w.node_start if end == 0 else w.pose
        mean_twists(robot, base, pose, eta)
        for f in range(push.shape[0]):
            for k in range(6):
                push[f, k] = 0.0
        _add_loads(robot, pose, eta, push)
        for j in range(_count(robot)):
            f = _frame(robot, j)
            if f >= 0:
                for k in range(6):
                    heat += 0.5 * w.node_step[0] * push[f, k] * eta[f, k]
                    push[f, k] = 0.0  # done, should the frame have a second load
    return heat


@inner
def fold_slopes(robot, base):
    """At the end of the step: what work.stiffness has with ζ' joins what it has with ζ."""
    _, w = unpack(robot)
    for j in range(_count(robot)):
        f = _frame(robot, j)
        if f < 0:
            continue
        x, y, z = _moved(robot, base, f)
        r, B = w.pose[f, 3], w.stiffness[f]
        _fold(w.node_shift[f], 0.5, r, r[0] - x, r[1] - y, r[2] - z, w.node_step[0], B, w.vector)


@kernel
def slopes_at_start(robot, base, eta, out):
    """out[f, :, :6]: variation of F_n with the pose at the end of the step, for frames with such loads."""
    _, w = unpack(robot)
    mean_twists(robot, base, w.node_start, eta)
    for f in range(out.shape[0]):
        for i in range(6):
            for k in range(12):
                out[f, i, k] = 0.0
    frame_load_tangent(robot, w.node_start, eta, out)
    strip_tangent(robot, 3, w.node_start, eta, out)
    for j in range(_count(robot)):
        f = _frame(robot, j)
        if f < 0:
            continue
        q, r, B = w.pose[f, 3], w.node_start[f, 3], out[f]
        for i in range(6):
            for k in range(6):  # where the step starts the frame does not turn against a flow
                B[i, k] = 0.0
        _fold(w.node_shift[f], -0.5, r, q[0], q[1], q[2], w.node_step[0], B, w.vector)


@inner
def _fold(shift, half, r, x, y, z, h, B, v):
    """B[:, :6] += B[:, 6:12] N with the ζ' = N ζ of a twist at r, b = (v + ω×(x, y, z))/h; B[:, 6:12] is then zero."""
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
            s = B[i]
            s[k] += s[6] * a0 + s[7] * a1 + s[8] * a2 + s[9] * b0 + s[10] * b1 + s[11] * b2
    for i in range(6):
        for k in range(6, 12):
            B[i, k] = 0.0
