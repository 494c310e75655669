"""Loads on frames that depend on how they move: friction, drag, and wrenches that a Python function supplies.

Sliding friction opposes the velocity v of the frame's origin: F = -(c + f/√(v² + w²)) v with viscous c, dry f and the
speed w over which the dry part is smoothed; it only takes energy away. Drag is a wrench -𝓑 η, 𝓑 constant in the axes
of the frame: damping in proportion to the mass has 𝓑 = α 𝓜. A wrench from outside, with its variation
(A ζ + B δη in axes of the frame), has been put into the work space before the evaluation.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import (
    act_back,
    add,
    add_column,
    coact,
    minus,
    moved,
    plus,
    scaled,
    six,
    times,
    unit,
    velocity_at,
)  # fmt: skip
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack

__all__ = ["frame_load_residual", "frame_load_tangent", "outside_residual", "outside_tangent"]


@inner
def frame_load_residual(robot, pose, eta, force):
    """Subtract friction and drag from the demand of frames with these poses and twists."""
    p, _ = unpack(robot)
    for j in range(p.slide_frame.size):
        f = p.slide_frame[j]
        x, y, z = velocity_at(pose[f, 3], six(eta[f]))
        factor = _friction(p.slide[j], _speed(p.slide[j], x, y, z))
        add(force[f], moved(pose[f, 3], (0.0, 0.0, 0.0, factor * x, factor * y, factor * z)))
    for j in range(p.drag_frame.size):
        f = p.drag_frame[j]
        add(force[f], coact(pose[f], times(p.drag[j], act_back(pose[f], six(eta[f])))))


@inner
def outside_residual(robot):
    """Subtract wrenches from outside."""
    p, w = unpack(robot)
    for j in range(p.user_frame.size):
        f = p.user_frame[j]
        add(w.force[f], coact(w.pose[f], minus(six(w.user_wrench[j]))))


@inner
def _speed(slide, x, y, z):
    """√(v² + w²)."""
    return math.sqrt(x * x + y * y + z * z + slide[2] * slide[2])


@inner
def _friction(slide, speed):
    """Friction force per velocity."""
    return slide[0] + slide[1] / speed


@inner
def frame_load_tangent(robot, pose, eta, B):
    """Add the variation of :func:`frame_load_residual` with ζ' to the matrices of the frames."""
    p, _ = unpack(robot)
    for j in range(p.slide_frame.size):
        f, slide = p.slide_frame[j], p.slide[j]
        x, y, z = velocity_at(pose[f, 3], six(eta[f]))
        speed = _speed(slide, x, y, z)
        factor, bend = _friction(slide, speed), slide[1] / speed**3
        for k in range(6):
            u, v, w = velocity_at(pose[f, 3], unit(k))
            along = bend * (x * u + y * v + z * w)
            push = 0.0, 0.0, 0.0, factor * u - along * x, factor * v - along * y, factor * w - along * z
            add_column(B[f], 6 + k, moved(pose[f, 3], push))
    for j in range(p.drag_frame.size):
        f = p.drag_frame[j]
        _add_in_world(1.0, p.drag[j], 0, pose[f], B[f], 6)


@inner
def outside_tangent(robot, jets):
    """Add the variation of :func:`outside_residual`."""
    p, w = unpack(robot)
    for j in range(p.user_frame.size):
        f = p.user_frame[j]
        _add_in_world(-1.0, w.user_tangent[j], 0, w.pose[f], w.stiffness[f], 0)
        if jets == 3:
            _add_in_world(-1.0, w.user_tangent[j], 6, w.pose[f], w.stiffness[f], 6)


@inner
def _add_in_world(sign, slope, first, g, b, at):
    """b[:, at : at+6] += sign times six columns of ``slope``, from axes of the frame to the world."""
    for k in range(6):
        a = act_back(g, unit(k))
        total = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(6):
            d = first + c
            one = slope[0, d], slope[1, d], slope[2, d], slope[3, d], slope[4, d], slope[5, d]
            total = plus(total, scaled(sign * a[c], one))
        add_column(b, at + k, coact(g, total))
