"""Loads on frames that depend on how they move: friction, drag, and wrenches that a Python function supplies.

Sliding friction opposes the velocity v of the frame's origin: F = -(c + f/√(v² + w²)) v with viscous c, dry f and the
speed w over which the dry part is smoothed; it only takes energy away. Drag is a wrench -𝓑 η, 𝓑 constant in the axes
of the frame: damping in proportion to the mass has 𝓑 = α 𝓜. A wrench from outside, with its variation
(A ζ + B δη in axes of the frame), has been put into the work space before the evaluation.
"""

from __future__ import annotations

import math

from elver.kernels.build.cache import inner
from elver.kernels.tree.recursion import add_wrench_to_world, twist_to_body

__all__ = ["frame_load_residual", "frame_load_tangent"]


@inner
def frame_load_residual(slide_frame, slide, drag_frame, drag, user_frame, user_wrench, jets, pose, eta, force, v):
    """Subtract these loads from the demand of their frames."""
    if jets == 3:
        for j in range(slide_frame.size):
            f = slide_frame[j]
            factor = _velocity(pose[f, 3], eta[f], slide[j], v[0])
            p = pose[f, 3]
            f0, f1, f2 = factor * v[0, 0], factor * v[0, 1], factor * v[0, 2]
            force[f, 0] += p[1] * f2 - p[2] * f1
            force[f, 1] += p[2] * f0 - p[0] * f2
            force[f, 2] += p[0] * f1 - p[1] * f0
            force[f, 3] += f0
            force[f, 4] += f1
            force[f, 5] += f2
        for j in range(drag_frame.size):
            f, b = drag_frame[j], drag[j]
            twist_to_body(pose, f, eta, f, v, 0)
            for i in range(6):
                v[1, i] = 0.0
                for k in range(6):
                    v[1, i] += b[i, k] * v[0, k]
            add_wrench_to_world(pose, f, v, 1, force, f)
    for j in range(user_frame.size):
        for k in range(6):
            v[0, k] = -user_wrench[j, k]
        add_wrench_to_world(pose, user_frame[j], v, 0, force, user_frame[j])


@inner
def _velocity(p, eta, slide, out):
    """out[:3] = velocity of the origin, out[3] = √(v² + w²); returns the friction force per velocity."""
    out[0] = eta[3] + eta[1] * p[2] - eta[2] * p[1]
    out[1] = eta[4] + eta[2] * p[0] - eta[0] * p[2]
    out[2] = eta[5] + eta[0] * p[1] - eta[1] * p[0]
    out[3] = math.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 + slide[2] ** 2)
    return slide[0] + slide[1] / out[3]


@inner
def frame_load_tangent(slide_frame, slide, drag_frame, drag, user_frame, user_tangent, jets, pose, eta, B, v):
    """Add the variation of :func:`frame_load_residual` to the matrices of the frames."""
    if jets == 3:
        for j in range(slide_frame.size):
            f = slide_frame[j]
            p, b = pose[f, 3], B[f]
            factor = _velocity(p, eta[f], slide[j], v[0])
            bend = slide[j, 1] / v[0, 3] ** 3
            for k in range(6):
                # velocity of the origin in a unit twist
                for i in range(6):
                    v[1, i] = 1.0 if i == k else 0.0
                v[2, 0] = v[1, 3] + v[1, 1] * p[2] - v[1, 2] * p[1]
                v[2, 1] = v[1, 4] + v[1, 2] * p[0] - v[1, 0] * p[2]
                v[2, 2] = v[1, 5] + v[1, 0] * p[1] - v[1, 1] * p[0]
                along = bend * (v[0, 0] * v[2, 0] + v[0, 1] * v[2, 1] + v[0, 2] * v[2, 2])
                f0 = factor * v[2, 0] - along * v[0, 0]
                f1 = factor * v[2, 1] - along * v[0, 1]
                f2 = factor * v[2, 2] - along * v[0, 2]
                b[0, 6 + k] += p[1] * f2 - p[2] * f1
                b[1, 6 + k] += p[2] * f0 - p[0] * f2
                b[2, 6 + k] += p[0] * f1 - p[1] * f0
                b[3, 6 + k] += f0
                b[4, 6 + k] += f1
                b[5, 6 + k] += f2
        for j in range(drag_frame.size):
            _add_in_world(1.0, drag[j], 0, pose, drag_frame[j], B, 6, v)
    for j in range(user_frame.size):
        _add_in_world(-1.0, user_tangent[j], 0, pose, user_frame[j], B, 0, v)
        if jets == 3:
            _add_in_world(-1.0, user_tangent[j], 6, pose, user_frame[j], B, 6, v)


@inner
def _add_in_world(sign, slope, first, pose, f, B, at, v):
    """B[f, :, at : at+6] += sign times six columns of ``slope``, from axes of the frame to the world."""
    for k in range(6):
        for i in range(6):
            v[0, i] = 1.0 if i == k else 0.0
        twist_to_body(pose, f, v, 0, v, 1)
        for i in range(6):
            v[2, i] = 0.0
            v[3, i] = 0.0
            for c in range(6):
                v[2, i] += sign * slope[i, first + c] * v[1, c]
        add_wrench_to_world(pose, f, v, 2, v, 3)
        for i in range(6):
            B[f, i, at + k] += v[3, i]
