"""Energy and momentum that a conserving step owes, given back by the velocities at its end (see :mod:`.conserving`).

A step brings in a little energy, which is known exactly. Velocities u = u_0 + v become u_0 + (1 + δ) v; u_0 is what
must not change: the motion of what floats as one rigid body, which has all its momentum, or what a driven base and
imposed coordinates prescribe. Where Newton stops it leaves a rest of the balance of momentum as well: by h times that
rest the momentum of the group is set right, with a rigid motion.

Theory: docs/theory/time-integration.md, eq. (give-back).
"""

from __future__ import annotations

from elver.kernels.algebra import lu_factor, lu_solve
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.march.passage import reach_of, unpack_step
from elver.kernels.tree.nodal import add_momentum, kinetic_of, rate_of_frame, turn
from elver.kernels.tree.recursion import has_inertia
from elver.kernels.tree.tangent import world_inertia

__all__ = ["give_back", "keep_momentum", "owes_too_much"]

# Part of their motion that one step may take from or give to the velocities, for the energy that it brought in.
_MOST = 0.02
# Of the largest energy in play so far: what may be owed without shorter steps being tried.
_ALLOWED = 0.001


@inner
def give_back(robot, step, base, inputs, given_twist):
    """Give back the energy that steps brought in. A step pays with a little of v at most; the rest is owed."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    _take_aim(robot, step, base, inputs, given_twist)
    own, mixed = 0.0, 0.0  # ½ vᵀM v and u_0ᵀM v
    v, f0 = w.vector[1], w.vector[2]
    for f in range(w.pose.shape[0]):
        if has_inertia(p.inertia[f]):
            for k in range(6):
                v[k] = w.node_end[f, k] - s.aim[f, k]
                f0[k] = s.aim[f, k] + v[k]
            one, two = kinetic_of(p.inertia[f], w.pose[f], v), kinetic_of(p.inertia[f], w.pose[f], s.aim[f])
            own += one
            mixed += kinetic_of(p.inertia[f], w.pose[f], f0) - one - two
    for k in range(s.spin.size):
        own += 0.5 * p.rotor[k] * s.spin[k] ** 2
    slope = 2.0 * own + mixed
    if not abs(slope) > 0.0 or not abs(s.debt[0]) < 1e300:
        return
    # own δ² + slope δ + debt = 0
    share = -s.debt[0] / slope
    for _ in range(3):
        share = -(s.debt[0] + own * share * share) / slope
    share = max(min(share, _MOST), -_MOST)
    s.debt[0] += (own * share + slope) * share
    for f in range(w.pose.shape[0]):
        for k in range(6):
            w.node_end[f, k] += share * (w.node_end[f, k] - s.aim[f, k])
    for k in range(s.spin.size):
        s.spin[k] += share * s.spin[k]
    for j in range(p.imposed.shape[0]):
        s.spin[p.imposed[j, 0]] /= 1.0 + share


@inner
def _take_aim(robot, step, base, inputs, given_twist):
    """s.aim: rates of frames that are not to be changed, u_0."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    twist, n = w.vector[0], s.spin.size
    offset = m.total.size - n
    for k in range(6):
        twist[k] = 0.0
    if offset == 0:
        twist[0], twist[1], twist[2] = turn(base, given_twist[0, 0], given_twist[0, 1], given_twist[0, 2])
        twist[3], twist[4], twist[5] = turn(base, given_twist[0, 3], given_twist[0, 4], given_twist[0, 5])
    moved = w.vector[1]
    for segment in range(-1, p.segment.shape[0]):
        low, high, path, size = reach_of(robot, segment)
        for f in range(low, high):
            if not has_inertia(p.inertia[f]):
                continue
            for c in range(6):
                moved[c] = twist[c] if s.group[f] < 0 else s.drift[s.group[f], c]
            for j in range(p.imposed.shape[0]):
                for k in range(size):
                    if p.path[path + k] == offset + p.imposed[j, 0]:
                        for c in range(6):
                            moved[c] += s.start_columns[f, c, k] * inputs[p.imposed[j, 2]]
            rate_of_frame(p.inertia[f], w.pose[f], moved, s.aim[f])


@inner
def keep_momentum(robot, step, h):
    """Set the momentum of all that floats right, by what Newton left of its balance; s.drift: its rigid motion."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    whole, twist, rest, change = s.whole, w.vector[0], w.vector[1], w.vector[2]
    for group in range(s.drift.shape[0]):
        for i in range(7):
            for k in range(6):
                whole[i, k] = 0.0
        for f in range(w.pose.shape[0]):
            if s.group[f] == group and has_inertia(p.inertia[f]):
                b = w.stiffness[f]
                world_inertia(p.inertia[f], w.pose, f, b, 12)
                for i in range(6):
                    for k in range(6):
                        whole[i, k] += b[i, 12 + k]
                add_momentum(p.inertia[f], w.pose[f], w.node_end[f], whole[6])
        _rest_of_balance(robot, step, group, rest)
        for k in range(6):
            s.drift[group, k] = 0.0
            twist[k], change[k] = whole[6, k], -h * rest[k]
        if not lu_factor(whole[:6], s.whole_pivots) > 1e-12:
            continue
        lu_solve(whole[:6], s.whole_pivots, twist)
        lu_solve(whole[:6], s.whole_pivots, change)
        for k in range(6):
            s.drift[group, k] = twist[k] + change[k]
            s.debt[0] += change[k] * (whole[6, k] - 0.5 * h * rest[k])
        for f in range(w.pose.shape[0]):
            if s.group[f] == group and has_inertia(p.inertia[f]):
                rate_of_frame(p.inertia[f], w.pose[f], change, rest)
                for k in range(6):
                    w.node_end[f, k] += rest[k]


@inner
def _rest_of_balance(robot, step, group, out):
    """Wrench about the base point, over the step, that Newton has left to the momentum of a group."""
    p, _ = unpack(robot)
    m, s = unpack_step(step)
    for k in range(6):
        out[k] = 0.0
    if p.free[0] == 1 and s.group[0] == group:
        # rows are about the mean of the base points of both ends
        r, x, y, z = s.residual, 0.5 * m.total[3], 0.5 * m.total[4], 0.5 * m.total[5]
        out[0] = r[0] - (y * r[5] - z * r[4])
        out[1] = r[1] - (z * r[3] - x * r[5])
        out[2] = r[2] - (x * r[4] - y * r[3])
        for k in range(3, 6):
            out[k] = r[k]
    for j in range(s.floats.shape[0]):
        if s.floats[j, 2] == group:
            _, _, path, _ = reach_of(robot, s.floats[j, 0])
            for k in range(6):
                out[k] += s.residual[p.path[path + k]]


@inner
def owes_too_much(robot, step, h, q, gain):
    """Whether a step brings in more than velocities soon give back, and shorter ones have not been tried."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n = q.shape[1]
    offset, here = m.total.size - n, abs(s.fallen[0] + s.fall[0])
    for f in range(w.pose.shape[0]):
        if has_inertia(p.inertia[f]):
            here += kinetic_of(p.inertia[f], w.pose[f], w.node_end[f])
    for b in range(p.block.shape[0]):
        first = p.block[b, 0]
        for k in range(first, first + p.block[b, 1]):
            here += 0.5 * p.rotor[k] * (2.0 * m.total[offset + k] / h - s.spin[k]) ** 2
            for j in range(p.law[k, 0], p.law[k, 1]):
                away = m.q[0, first + j] - p.spring_rest[first + j]
                here += 0.5 * (m.q[0, k] - p.spring_rest[k]) * p.K_elastic[k, j - p.law[k, 0]] * away
    most, owed = max(s.most[0], here), abs(s.debt[0] + gain)
    if owed > _ALLOWED * most and owed > abs(s.debt[0]) and abs(h) > s.least[0]:
        s.refused[0] = 1.0
        return True
    s.most[0] = most
    s.fallen[0] += s.fall[0]
    return False
