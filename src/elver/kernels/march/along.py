"""Conserving steps along the tree: what :mod:`.passage` and :mod:`.step_tangent` do with all columns, in O(n).

Wrenches where a step started are summed home with the registers kept from there, as the residual does; Newton's matrix
and that of the velocities are eliminated (:mod:`elver.kernels.tree.elimination`, jets = 2 and 0).
"""

from __future__ import annotations

import math

from elver.kernels.build.cache import inner
from elver.kernels.build.tables import slopes_at_start, unpack
from elver.kernels.march.memory import unpack_solver
from elver.kernels.march.passage import unpack_step
from elver.kernels.march.step_tangent import base_columns
from elver.kernels.tree.front import unpack_front
from elver.kernels.tree.interval import interval_columns
from elver.kernels.tree.nodal import slope_between
from elver.kernels.tree.recursion import has_inertia, project
from elver.kernels.tree.substitution import add_lever, tie_of
from elver.kernels.tree.tangent import world_inertia

__all__ = ["begin_along", "front_of_step", "mass_along", "project_along", "solve_mass"]


@inner
def begin_along(robot, step):
    """Keep the registers of the last residual, and the columns of all intervals there."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    _, it, _, _, _ = unpack_solver(step)
    o, f = unpack_front(it.front)
    for i in range(f.lever_start.shape[0]):
        for k in range(f.lever_start.shape[1]):
            f.lever_start[i, k] = 0.0
    for j in range(p.closure_frame.shape[0]):
        a, b = tie_of(o.tie, p.closure_frame[j, 0]), tie_of(o.tie, p.closure_frame[j, 1])
        for row in range(p.closure_rows[j, 0], p.closure_rows[j, 0] + p.closure_rows[j, 1]):
            add_lever(a, b, s.closure[row], f.lever_start, row)
    for i in range(s.register.shape[0]):
        for r in range(s.register.shape[1]):
            for k in range(6):
                s.register[i, r, k] = w.register[i, r, k]
    for segment in range(p.segment.shape[0]):
        before, start, poly = p.segment[segment, 0], p.segment[segment, 1], p.segment[segment, 5]
        moments, strains = p.poly_size[poly, 0], p.active[segment, 0]
        for i in range(start, start + p.segment[segment, 2]):
            if p.segment[segment, 4] > 0:
                interval_columns(robot, segment, i, before, 1)
                for a in range(strains * moments):
                    for k in range(6):
                        f.start[i, a, k] = w.local[a, 0, k]
            before = i + 1


@inner
def project_along(robot, register, pose, force, out):
    """out += Σ Jᵀ of the wrenches of all frames, J at these registers and poses; the wrenches are summed home."""
    p, w = unpack(robot)
    offset = 6 * p.free[0]
    keep = w.vector[14]
    for k in range(offset):
        keep[k] = out[k]
    project(robot, register, pose, force, out)
    for k in range(offset):  # rows of the base in world axes
        out[k] = keep[k] + force[0, k]


@inner
def front_of_step(robot, step, chi, h):
    """Eliminate Newton's matrix, behind :func:`.residual_of_step`; smallest pivot, relative."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    call, it, _, place, _ = unpack_solver(step)
    _, f = unpack_front(it.front)
    n = place.q.shape[1]
    held = it.x[0, m.total.size :]
    call.evaluate_frames(robot, m.base, held, s.inputs[1], 2)
    moving = s.slope.shape[0] > 0
    if moving:
        slopes_at_start(robot[4])(robot, m.base, s.mean, s.slope)
    for g in range(w.pose.shape[0]):
        A = s.whole
        for c in range(6):
            for k in range(6):
                A[c, k] = s.slope[g, c, k] if moving else 0.0
        if has_inertia(p.inertia[g]):
            slope_between(p.inertia[g], w.node_start[g], w.pose[g], w.node_slope[g], A)
        for c in range(6):
            for k in range(6):
                w.stiffness[g, c, 6 + k] = A[c, k]
    for k in range(n):
        f.extra[k] = 2.0 * p.rotor[k] / (h * h)
        if p.friction[k, 0] != 0.0:
            slip = math.tanh(m.total[m.total.size - n + k] / h / p.friction[k, 1])
            f.extra[k] += p.friction[k, 0] / (p.friction[k, 1] * h) * (1.0 - slip * slip)
    base_columns(m.base, m.total, m.small[0], m.columns)
    for i in range(6):
        for k in range(6):
            m.columns[i, k] *= 0.5  # half of what varies at the end counts
    m.weights[0], m.weights[1] = 0.5, 1.0 / h
    m.weights[2] = 0.5 * chi if abs(s.last[n] - h) < 1e-9 * h else 0.0
    return call.home(robot, it.front, m.q, held, s.inputs[1], m.columns, m.weights, 2)


@inner
def mass_along(robot, step):
    """Eliminate the matrix of inertia at the poses of the last residual; smallest pivot."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    call, _, _, place, _ = unpack_solver(step)
    _, f = unpack_front(s.mass_front)
    for g in range(w.pose.shape[0]):
        for c in range(6):
            w.force[g, c] = 0.0
            for k in range(6):
                w.stiffness[g, c, k] = 0.0
        if has_inertia(p.inertia[g]):
            world_inertia(p.inertia[g], w.pose, g, w.stiffness[g], 0)
    for k in range(place.q.shape[1]):
        f.extra[k] = p.rotor[k] + s.light[k]
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 0.0
    for i in range(3):
        for k in range(3):
            m.columns[i, k], m.columns[3 + i, 3 + k] = w.pose[0, k, i], w.pose[0, k, i]
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 0.0, 0.0
    return call.home(robot, s.mass_front, m.q, s.none, s.inputs[1], m.columns, m.weights, 0)


@inner
def solve_mass(robot, step, x):
    """x = M⁻¹ x, or with the columns of closures and below them their rows, by the factors of the last one."""
    call, _, _, _, _ = unpack_solver(step)
    _, s = unpack_step(step)
    if s.mass_front.size > 0:
        call.back(robot, s.mass_front, 0, x)
    else:
        call.substitute(s.mass, s.pivots, x)
