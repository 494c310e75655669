"""The residual of a conserving step, and the energy that it brings in (see :mod:`.conserving`)."""

from __future__ import annotations

import math

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import heat_of_step, push_at_start, unpack
from elver.kernels.march.along import begin_along, project_along
from elver.kernels.march.floating import float_from_start, rows_of_floats
from elver.kernels.march.memory import follow
from elver.kernels.march.passage import project_wrenches, unpack_step
from elver.kernels.terms.closures import closure_is_active
from elver.kernels.terms.strain_loads import beyond
from elver.kernels.tree.nodal import add_at, centre_of, turn
from elver.kernels.tree.recursion import first_moment, has_inertia

__all__ = ["base_rows_to_world", "gain_of_step", "residual_of_step", "start_step"]


@kernel
def start_step(evaluate_residual, robot, step, h, base, q, first, middle, end):
    """All that is taken at the start of a step, with the inputs of its middle."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n = q.shape[1]
    coordinates = m.total.size
    for k in range(middle.size):
        s.inputs[0, k] = middle[k]
        s.inputs[1, k] = middle[k]
    for j in range(p.imposed.shape[0]):
        for jet in range(1, 4):
            k = p.imposed[j, jet]
            s.inputs[0, k], s.inputs[1, k] = first[k], end[k]
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            k = p.tendon_input[t]
            s.inputs[0, k], s.inputs[1, k] = first[k], end[k]
    for k in range(n):
        m.q[0, k], m.q[1, k], m.q[2, k] = q[0, k], 0.0, 0.0
    evaluate_residual(robot, base, m.twist, m.q, s.none, s.inputs[0], 0)
    for j in range(p.imposed.shape[0]):  # the row itself, not what became of it
        w.residual[coordinates - n + p.imposed[j, 0]] = w.effort[j]
    for k in range(coordinates + s.none.size):
        s.static[k] = w.residual[k]
    if coordinates > n:
        base_rows_to_world(base, s.static)
    float_from_start(robot, step)
    w.node_step[0] = h
    for k in range(3):
        w.node_step[1 + k] = base[3, k]
    for f in range(w.pose.shape[0]):
        for i in range(4):
            for k in range(3):
                w.node_start[f, i, k] = w.pose[f, i, k]
        for k in range(6):
            w.node_rate[f, k] = s.rate[f, k]
    for k in range(6):
        s.root[0, k] = w.force[0, k]
        for j in range(s.none.size):
            s.closure[j, k] = w.closure[j, k]
        for j in range(s.span.shape[0]):
            s.span[j, k] = w.span[j, k]
    if s.mass_front.size > 0:
        begin_along(robot, step)
    for t in range(p.own_input.size):
        w.own_start[t] = w.own_energy[t]
    for r in range(w.own_now.shape[0]):
        for k in range(13):
            w.own_before[r, k] = w.own_now[r, k]
    for t in range(s.length.size):
        s.length[t] = w.tendon_now[t]
        for k in range(n):
            s.tendon[t, k] = w.tendon_rate[t, k]


@inner
def base_rows_to_world(base, r):
    """The first six rows, in axes of the base, in world axes."""
    r[0], r[1], r[2] = turn(base, r[0], r[1], r[2])
    r[3], r[4], r[5] = turn(base, r[3], r[4], r[5])


@kernel
def residual_of_step(evaluate_residual, robot, step, chi, h, base, q, multipliers, given_base):
    """s.residual = r at the increment m.total."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n, coordinates = q.shape[1], m.total.size
    offset = coordinates - n
    for k in range(n):
        m.q[0, k] = q[0, k] + m.total[offset + k]
        m.q[1, k] = 2.0 * m.total[offset + k] / h  # half of it counts: damping Δq/h
        m.q[2, k] = 0.0
    for j in range(p.imposed.shape[0]):
        k = p.imposed[j, 0]
        m.total[offset + k] = s.inputs[1, p.imposed[j, 1]] - q[0, k]
    if offset > 0:
        _cayley_turn(base, m.total, m.base)
        for k in range(3):
            m.base[3, k] = base[3, k] + m.total[3 + k]
    else:
        follow(given_base, m.twist, m.base, m.twist)
    evaluate_residual(robot, m.base, m.twist, m.q, multipliers, s.inputs[1], 2)
    for j in range(p.imposed.shape[0]):
        w.residual[offset + p.imposed[j, 0]] = w.effort[j]
    if offset > 0:
        base_rows_to_world(m.base, w.residual)
    rows_of_floats(robot, step, w.residual)
    _wrenches_at_start(robot, step, m.base, multipliers)
    for k in range(coordinates):
        s.residual[k] = w.residual[k] + s.static[k]
    if s.mass_front.size > 0:
        project_along(robot, s.register, w.node_start, s.force, s.residual)
    else:
        project_wrenches(robot, s.start_columns, s.force, s.residual)
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            for k in range(n):
                s.residual[offset + k] += multipliers[p.tendon_row[t]] * s.tendon[t, k]
    for k in range(coordinates):
        s.residual[k] *= 0.5
    for k in range(coordinates, s.residual.size):
        s.residual[k] = w.residual[k]
    for k in range(n):
        s.residual[offset + k] += _own_force(p.rotor[k], p.friction[k], s.spin[k], h, m.total[offset + k])
    if chi != 0.0 and abs(s.last[n] - h) < 1e-9 * h:
        _add_unresolved(robot, step, chi, offset)
    for j in range(p.imposed.shape[0]):
        w.effort[j] = s.residual[offset + p.imposed[j, 0]]
        s.residual[offset + p.imposed[j, 0]] = 0.0


@inner
def _cayley_turn(base, turned_by, out):
    """out = cay(Δθ) R of the base, Δθ in world axes."""
    x, y, z = 0.5 * turned_by[0], 0.5 * turned_by[1], 0.5 * turned_by[2]
    f = 2.0 / (1.0 + x * x + y * y + z * z)
    for k in range(3):
        a, b, c = base[0, k], base[1, k], base[2, k]
        u, v, w = y * c - z * b, z * a - x * c, x * b - y * a
        out[0, k] = a + f * (u + y * w - z * v)
        out[1, k] = b + f * (v + z * u - x * w)
        out[2, k] = c + f * (w + x * v - y * u)


@inner
def _wrenches_at_start(robot, step, base, multipliers):
    """s.force: what frames take over the step, and closures and wound cables, as wrenches where the step starts."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    for f in range(s.force.shape[0]):
        g = w.node_start[f]
        for k in range(6):
            s.force[f, k] = 0.0
        if has_inertia(p.inertia[f]):
            c0, c1, c2 = centre_of(p.inertia[f])
            q0, q1, q2 = turn(g, c0, c1, c2)
            add_at(s.force[f], g[3, 0] + q0, g[3, 1] + q1, g[3, 2] + q2, w.node_wrench[f])
    for j in range(p.closure_frame.shape[0]):
        for row in range(p.closure_rows[j, 0], p.closure_rows[j, 0] + p.closure_rows[j, 1]):
            _add_between(s.force, p.closure_frame[j], multipliers[row], s.closure[row])
    for j in range(p.span_tendon.size):
        row = p.tendon_row[p.span_tendon[j]]
        if row >= 0:
            _add_between(s.force, p.span_frame[j], multipliers[row], s.span[j])
    s.heat[0] = 0.0
    if s.slope.shape[0] > 0:
        push_at_start(robot[3])(robot, base, s.mean, s.force)
    for k in range(6):
        total = s.root[0, k] + w.force[0, k]
        for f in range(s.force.shape[0]):
            total += s.force[f, k]
        s.root[1, k] = 0.5 * total


@inner
def _add_between(force, frames, amount, wrench):
    """A wrench on the second frame, and against it on the first."""
    for k in range(6):
        if frames[1] >= 0:
            force[frames[1], k] += amount * wrench[k]
        if frames[0] >= 0:
            force[frames[0], k] -= amount * wrench[k]


@inner
def _own_force(rotor, friction, spin, h, change):
    """Rotor and dry friction of a coordinate over the step."""
    total = 2.0 * rotor * (change / h - spin) / h
    if friction[0] != 0.0:
        total += friction[0] * math.tanh(change / h / friction[1])
    return total


@inner
def _add_unresolved(robot, step, chi, offset):
    """s.residual += ½χ K (Δq - Δq of the step before)."""
    p, _ = unpack(robot)
    m, s = unpack_step(step)
    for b in range(p.block.shape[0]):
        first = p.block[b, 0]
        for k in range(first, first + p.block[b, 1]):
            for j in range(p.law[k, 0], p.law[k, 1]):
                change = m.total[offset + first + j] - s.last[first + j]
                s.residual[offset + k] += 0.5 * chi * p.K_elastic[k, j - p.law[k, 0]] * change


@inner
def gain_of_step(robot, step, chi, h, base, q, multipliers):
    """Energy [J] that the step brings in: its change less all work, right behind the residual at its end."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n = q.shape[1]
    offset, gain = m.total.size - n, s.heat[0]
    if s.slope.shape[0] > 0:
        gain += heat_of_step(robot[5])(robot, m.base, s.mean, s.push)
    for f in range(w.pose.shape[0]):
        if has_inertia(p.inertia[f]):
            for k in range(6):
                gain += w.node_wrench[f, k] * w.node_shift[f, k]
    s.fall[0] = _work_of_weight(robot, step, m.base) + _work_of_loads(robot, step, m.base)
    s.fall[0] += _work_of_ties(robot, step, multipliers)
    gain += s.fall[0]
    for b in range(p.block.shape[0]):
        first, count = p.block[b, 0], p.block[b, 1]
        for k in range(first, first + count):
            d = m.total[offset + k]
            force = _own_force(p.rotor[k], p.friction[k], s.spin[k], h, d)
            for j in range(p.law[k, 0], p.law[k, 1]):
                change, at = m.total[offset + first + j], j - p.law[k, 0]
                middle = q[0, first + j] + 0.5 * change - p.spring_rest[first + j]
                force += p.K_elastic[k, at] * middle + p.D_elastic[k, at] * change / h
                if chi != 0.0 and abs(s.last[n] - h) < 1e-9 * h:
                    force += 0.5 * chi * p.K_elastic[k, at] * (change - s.last[first + j])
            gain += d * force
            if p.stop[k, 2] != 0.0:
                more = beyond(m.q[0, k], p.stop[k]) ** 2 - beyond(q[0, k], p.stop[k]) ** 2
                gain += 0.5 * p.stop[k, 2] * more
    for j in range(p.muscle_input.size):
        amount = s.inputs[1, p.muscle_input[j]]
        for k in range(p.muscle_reach[j, 0], p.muscle_reach[j, 1]):
            gain += amount * p.muscle_force[j, k] * m.total[offset + k]
    for t in range(p.own_input.size):
        gain += w.own_energy[t] - w.own_start[t]
    for j in range(p.imposed.shape[0]):
        gain -= w.effort[j] * m.total[offset + p.imposed[j, 0]]
    if offset == 0:
        _base_displacement(base, m.base, s.root[2])
        for k in range(6):
            gain -= s.root[2, k] * s.root[1, k]
    return gain


@inner
def _work_of_weight(robot, step, base):
    """Change of the potential of weight."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    total = 0.0
    for f in range(w.pose.shape[0]):
        if p.weight[f, 0] != 0.0 or p.weight[f, 1] != 0.0 or p.weight[f, 2] != 0.0 or p.weight[f, 3] != 0.0:
            now, then = first_moment(w.pose, f, p.weight[f]), first_moment(w.node_start, f, p.weight[f])
            for k in range(3):
                rise = p.weight[f, 0] * (base[3, k] - w.node_step[1 + k]) + now[k] - then[k]
                total -= p.gravity[k] * rise
    if p.gravity_input[0] >= 0:
        total *= s.inputs[1, p.gravity_input[0]]
    return total


@inner
def _work_of_loads(robot, step, base):
    """Work against loads on frames: dead ones, and those that follow, in their mean direction."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    total = 0.0
    for j in range(p.load_frame.size):
        f, load = p.load_frame[j], p.load_wrench[j]
        amount = s.inputs[1, p.load_input[j]]
        g, g0, shift = w.pose[f], w.node_start[f], w.node_shift[f]
        c0, c1, c2 = load[0], load[1], load[2]
        f0, f1, f2 = load[3], load[4], load[5]
        if p.load_follows[j] == 1:
            a0, a1, a2 = turn(g, f0, f1, f2)
            b0, b1, b2 = turn(g0, f0, f1, f2)
            f0, f1, f2 = 0.5 * (a0 + b0), 0.5 * (a1 + b1), 0.5 * (a2 + b2)
            c0, c1, c2 = turn(g, c0, c1, c2)
        d0 = g[3, 0] + base[3, 0] - g0[3, 0] - w.node_step[1]
        d1 = g[3, 1] + base[3, 1] - g0[3, 1] - w.node_step[2]
        d2 = g[3, 2] + base[3, 2] - g0[3, 2] - w.node_step[3]
        total -= amount * (f0 * d0 + f1 * d1 + f2 * d2 + c0 * shift[0] + c1 * shift[1] + c2 * shift[2])
    return total


@inner
def _work_of_ties(robot, step, multipliers):
    """T Δℓ of cables, λ ΔΨ of closures."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    total, rows_at = 0.0, m.total.size
    for j in range(p.row_kind.size):
        if closure_is_active(p.row_axes[j]):
            total += multipliers[j] * (w.residual[rows_at + j] - s.static[rows_at + j])
    for t in range(p.tendon_input.size):
        row, longer = p.tendon_row[t], w.tendon_now[t] - s.length[t]
        if row >= 0:
            total += multipliers[row] * longer
        else:
            total += p.tendon_factor[t] * s.inputs[1, p.tendon_input[t]] * longer
    return total


@inner
def _base_displacement(base, end, out):
    """Cayley vector of the turn, in world axes, and displacement of a base whose motion is given."""
    trace, x, y, z = 1.0, 0.0, 0.0, 0.0
    for k in range(3):
        trace += end[0, k] * base[0, k] + end[1, k] * base[1, k] + end[2, k] * base[2, k]
        x += end[2, k] * base[1, k] - end[1, k] * base[2, k]
        y += end[0, k] * base[2, k] - end[2, k] * base[0, k]
        z += end[1, k] * base[0, k] - end[0, k] * base[1, k]
        out[3 + k] = end[3, k] - base[3, k]
    out[0], out[1], out[2] = 2.0 * x / trace, 2.0 * y / trace, 2.0 * z / trace
