"""The way back of the elimination along the tree: right-hand sides, and the border of what ties branches together.

:mod:`elver.kernels.tree.elimination` leaves the factors of the tree. Here constant parts are carried home and
coordinates brought back, and closures, free spans and wound cables are added as a border: unknown are the variation of
the tied frames and the multipliers, a small dense system whose columns are answers of the tree to unit wrenches.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import add, dot, lu_factor, lu_solve, plus, scaled, six
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.terms.closures import add_coad_matrix, closure_is_active
from elver.kernels.terms.spans import tension_of
from elver.kernels.tree.front import unpack_front
from elver.kernels.tree.program import COORDINATES, INTERVALS, PARENT, POLYNOMIAL, START
from elver.kernels.tree.recursion import STILL

__all__ = [
    "add_lever", "back", "height_of", "levers", "push_ties", "solve_tree", "take_border", "tie_of", "tie_spring",
    "width_of",
]  # fmt: skip


@inner
def _apply_one(a, n, pivot, x):
    """x[:n] = A⁻¹ x with the factors of :func:`_factor`."""
    for k in range(n):
        p = pivot[k]
        if p != k:
            swap = x[k]
            x[k] = x[p]
            x[p] = swap
    for i in range(1, n):
        total = x[i]
        for j in range(i):
            total -= a[i, j] * x[j]
        x[i] = total
    for i in range(n - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, n):
            total -= a[i, j] * x[j]
        x[i] = total / a[i, i]


@inner
def width_of(jets):
    """Columns of the front: the variation of a frame, with its rates or without."""
    return 18 if jets == 3 else 6


@inner
def height_of(jets):
    """Rows of the front: the wrench of what is beyond, over a conserving step at its start and at its end."""
    return 12 if jets == 2 else 6


@inner
def _carry_home(robot, table, s, jets, x):
    """Constant parts of wrench and rows of one segment; what leaves is solved for, but for what is nearer."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    start, moments = p.segment[s, START], p.poly_size[p.segment[s, POLYNOMIAL], 0]
    demand, tall = f.demand, height_of(jets)
    total, more = STILL, f.wrench[f.wrench.shape[0] - 1]  # of a frame of its own, behind all others
    for r in range(6, tall):
        more[r] = 0.0
    for i in range(start + p.segment[s, INTERVALS] - 1, start - 1, -1):
        total = plus(total, six(f.wrench[i + 1]))
        for r in range(6, tall):
            more[r] += f.wrench[i + 1, r]
        if p.segment[s, COORDINATES] == 0:
            continue
        for slot in range(p.active[s, 0]):
            for m in range(moments):
                z = f.column[i, slot * moments + m]
                value = dot(six(z), total)
                for r in range(6, tall):
                    value += z[r] * more[r]
                if value != 0.0:
                    for j in range(o.low[i, slot], o.low[i, slot + 1]):
                        demand[o.place[o.own[i, j]]] += p.phi[i, m, j] * value
        g, first, count = o.group[i], o.leave[i], o.leave[i + 1] - o.leave[i]
        if g < 0:
            continue
        _solve_leaving(robot, table, g, first, count, x)
        load = f.load[g]
        for k in range(count):
            value = f.solution[o.leave_at[first + k]]
            total = plus(total, scaled(value, (load[0, k], load[1, k], load[2, k], load[3, k], load[4, k], load[5, k])))
            for r in range(6, tall):
                more[r] += load[r, k] * value
            for r in range(o.top[s]):
                demand[r] += load[tall + r, k] * value
        for k in range(count):
            demand[o.place[o.leave_at[first + k]]] = 0.0
    nearer = f.wrench[p.segment[s, PARENT]]
    add(nearer, total)
    for r in range(6, tall):
        nearer[r] += more[r]


@inner
def _solve_leaving(robot, table, g, first, count, x):
    """Front.solution of the coordinates of a group."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    offset = 6 * p.free[0]
    for k in range(count):
        me = o.leave_at[first + k]
        f.part[k] = x[offset + me]
        if o.given[me] == 0:
            f.part[k] -= f.demand[o.place[me]]
        f.part[k] *= o.scale[offset + me]
    _apply_one(f.factor[g], count, f.pivot[g], f.part)
    for k in range(count):
        me = o.leave_at[first + k]
        f.solution[me] = f.part[k] * o.scale[offset + me]


@inner
def _bring_back(robot, table, s, width, x):
    """Coordinates of one segment, and the variations of its frames."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    start, moments, offset = p.segment[s, START], p.poly_size[p.segment[s, POLYNOMIAL], 0], 6 * p.free[0]
    Y, found = f.variation, f.demand
    for i in range(start, start + p.segment[s, INTERVALS]):
        before, after = Y[i if i > start else p.segment[s, PARENT]], Y[i + 1]
        for c in range(width):
            after[c] = before[c]
        if p.segment[s, COORDINATES] == 0:
            continue
        g = o.group[i]
        if g >= 0:
            first, count = o.leave[i], o.leave[i + 1] - o.leave[i]
            for k in range(count):
                total = f.solution[o.leave_at[first + k]]
                if o.moved[s] == 1 or i > start or o.alone[i] == 0:
                    for c in range(width):
                        total -= f.answer[g, k, c] * before[c]
                if o.alone[i] == 0:
                    for c in range(o.top[s]):
                        total -= f.answer[g, k, width + c] * found[c]
                f.part[k] = total
            for k in range(count):
                me = o.leave_at[first + k]
                found[o.place[me]] = f.part[k]
                x[offset + me] = f.part[k]
        for slot in range(p.active[s, 0]):
            for m in range(moments):
                amount = 0.0
                for j in range(o.low[i, slot], o.low[i, slot + 1]):
                    amount += p.phi[i, m, j] * x[offset + o.own[i, j]]
                u = f.spread[i, slot * moments + m]
                for c in range(width):
                    after[c] += amount * u[c]


@kernel
def solve_tree(robot, table, jets, x):
    """x = A⁻¹ x of the tree alone, for the coordinates in x, and the variations of all frames.

    Demands of constant wrenches on frames, in ``Front.wrench``, are taken from the right-hand side and cleared.
    """
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    segment, offset, width, scale = p.segment, 6 * p.free[0], width_of(jets), o.scale
    tall = height_of(jets)
    wrench, Y, demand = f.wrench, f.variation, f.demand
    for k in range(demand.size):
        demand[k] = 0.0
    for s in range(segment.shape[0] - 1, -1, -1):
        _carry_home(robot, table, s, jets, x)
    for c in range(width):
        Y[0, c] = 0.0
    if offset > 0:
        for a in range(6):
            total = x[a]
            for r in range(6):
                total -= f.base_columns[18 + r, a] * wrench[0, r]
                if tall == 12:
                    total -= f.base_columns[18 + r, a] * wrench[0, 6 + r]
            x[a] = total * scale[a]
        _apply_one(f.base, 6, f.base_pivot, x)
        for a in range(6):
            x[a] *= scale[a]
        for c in range(width):
            for a in range(6):
                Y[0, c] += f.base_columns[c, a] * x[a]
    for s in range(segment.shape[0]):
        _bring_back(robot, table, s, width, x)
    for i in range(wrench.shape[0]):
        for k in range(tall):
            wrench[i, k] = 0.0


@inner
def tie_spring(k, size):
    """Spring on a tied frame, of the size of the robot's own stiffness."""
    return size[1] if k < 3 else size[1] / (size[0] * size[0])


@kernel
def take_border(robot, table, weights, multipliers, inputs, jets):
    """Factors of the border; its smallest pivot over the largest.

    With the variation t of the ties, the wrench v = S t + C λ on them, X the answer of the tree to v and, for a wound
    cable, ρ the change of its length along its rods per coordinate:

        t = t₀ + X v + X_ρ λ ,       Cᵀ t + w₀ ρᵀ x + C_λ λ = r .
    """
    p, w = unpack(robot)
    o, f = unpack_front(table)
    ties, rows, offset = 6 * o.tie_frame.size, f.lever.shape[1], 6 * p.free[0]
    held, x = p.row_kind.size, f.right
    levers(robot, table, multipliers, inputs, jets > 0)
    wound = rows - held
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            j = p.tendon_row[t] - held
            for k in range(p.component.size):
                f.rate[j, k] = w.tendon_rate[t, k] if o.given[k] == 0 else 0.0
                f.rate[wound + j, k] = weights[0] * w.tendon_rate[t, k]
    for j in range(ties + rows):
        if j >= ties + held or j < ties:
            for k in range(x.size):
                x[k] = 0.0
            if j < ties:
                f.wrench[o.tie_frame[j // 6], j % 6] = 1.0
            else:
                _add_cable(-1.0, f.rate[j - ties - held], offset, x)
            solve_tree(robot, table, jets, x)
            for i in range(ties):
                value = f.variation[o.tie_frame[i // 6], i % 6]
                if j < ties:
                    f.compliance[i, j] = value
                else:
                    f.pulled[i, j - ties] = value
            for i in range(wound):
                f.cable[held + i, j] = _stretch(f.rate[wound + i], offset, x)
    _fill_border(robot, table)
    return lu_factor(f.border, f.border_pivot)


@inner
def _fill_border(robot, table):
    """Front.border from compliances, levers and stiffness of the ties."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    ties, rows, held = 6 * o.tie_frame.size, f.lever.shape[1], p.row_kind.size
    M = f.border
    for i in range(ties + rows):
        X = f.compliance[i] if i < ties else f.cable[i - ties]
        sign = -1.0 if i < ties else 1.0
        for k in range(ties + rows):
            total = 0.0
            if i < ties or i >= ties + held:
                for j in range(ties):
                    total += X[j] * (f.stiffness[j, k] if k < ties else f.lever[j, k - ties])
                if k >= ties + held:
                    total += f.pulled[i, k - ties] if i < ties else X[k]
            M[i, k] = sign * total
        if i < ties:
            M[i, i] += 1.0
        else:
            for k in range(ties):
                M[i, k] += f.lever[k, i - ties]
            if i < ties + held:
                active = closure_is_active(p.row_axes[i - ties])
                M[i, i] += -p.row_soft[i - ties] if active else 1.0


@inner
def levers(robot, table, multipliers, inputs, stiff):
    """S and C of all closures and spans: what couples two ties, where ``stiff``, and what a multiplier does."""
    p, w = unpack(robot)
    o, f = unpack_front(table)
    S, C = f.stiffness, f.lever
    for i in range(S.shape[0]):
        for k in range(S.shape[1]):
            S[i, k] = 0.0
        for k in range(C.shape[1]):
            C[i, k] = 0.0
        S[i, i] = -tie_spring(i % 6, o.size)
    for h in range(p.closure_frame.shape[0]):
        a, b = tie_of(o.tie, p.closure_frame[h, 0]), tie_of(o.tie, p.closure_frame[h, 1])
        for j in range(p.closure_rows[h, 0], p.closure_rows[h, 0] + p.closure_rows[h, 1]):
            add_lever(a, b, w.closure[j], C, j)
        if stiff and p.closure_frame[h, 0] >= 0:
            _couple(a, b, six(w.closure_force[h]), w.closure_stiffness[h], S, w.vector)
    for j in range(p.span_tendon.size):
        t = p.span_tendon[j]
        a, b = tie_of(o.tie, p.span_frame[j, 0]), tie_of(o.tie, p.span_frame[j, 1])
        if p.tendon_row[t] >= 0:
            add_lever(a, b, w.span[j], C, p.tendon_row[t])
        if stiff and p.span_frame[j, 0] >= 0 and p.span_frame[j, 1] >= 0:
            pull = scaled(tension_of(robot, t, multipliers, inputs), six(w.span[j]))
            _couple(a, b, pull, w.span_stiffness[j], S, w.vector)


@inner
def tie_of(tie, frame):
    """Number of the tie at a frame; -1 for the world and for a base that does not move."""
    return tie[frame] if frame >= 0 else -1


@inner
def add_lever(a, b, wrench, C, row):
    """A multiplier acts on the follower b and back on the leader a."""
    for k in range(6):
        if b >= 0:
            C[6 * b + k, row] += wrench[k]
        if a >= 0:
            C[6 * a + k, row] -= wrench[k]


@inner
def _couple(a, b, wrench, K, S, v):
    """Wrench on b per variation of a, -K; on a per variation of b, -(K + coad(.) W) of the wrench W."""
    if a < 0 or b < 0:
        return
    for i in range(6):
        for k in range(K.shape[1]):
            S[6 * b + i, 6 * a + k] -= K[i, k]
            S[6 * a + i, 6 * b + k] -= K[i, k]
        v[i, 0], v[i, 1], v[i, 2], v[i, 3], v[i, 4], v[i, 5] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    add_coad_matrix(wrench, v)
    for i in range(6):
        for k in range(6):
            S[6 * a + i, 6 * b + k] -= v[i, k]


@inner
def _add_cable(tension, rate, offset, x):
    """x += the forces of a wound cable along its rods."""
    for k in range(rate.size):
        x[offset + k] += tension * rate[k]


@inner
def _stretch(rate, offset, x):
    """Change of length of a wound cable along its rods."""
    total = 0.0
    for k in range(rate.size):
        total += rate[k] * x[offset + k]
    return total


@inner
def push_ties(table, jets, step):
    """Wrenches S t + C λ on the ties; over a conserving step half of C λ, at both of its ends."""
    o, f = unpack_front(table)
    ties, rows = 6 * o.tie_frame.size, f.lever.shape[1]
    at, part = (6, 0.5) if jets == 2 else (0, 1.0)
    for i in range(ties):
        total, first = 0.0, 0.0
        for k in range(ties):
            total += f.stiffness[i, k] * step[k]
        for k in range(rows):
            total += part * f.lever[i, k] * step[ties + k]
            first += part * f.lever_start[i, k] * step[ties + k]
        f.wrench[o.tie_frame[i // 6], at + i % 6] = total
        if at == 6:
            f.wrench[o.tie_frame[i // 6], i % 6] = first


@kernel
def back(robot, table, jets, x):
    """x = A⁻¹ x with the factors of :func:`elver.kernels.tree.elimination.home`, multipliers behind the coordinates.

    Returns the largest rotation of a frame [rad] in this increment, times the first weight.
    """
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    offset, Y = 6 * p.free[0], f.variation
    ties, rows, size = 6 * o.tie_frame.size, f.lever.shape[1], f.right.size
    if ties + rows > 0:
        step, held = f.border_step, p.row_kind.size
        wound = rows - held
        for k in range(size):
            f.right[k] = x[k]
        solve_tree(robot, table, jets, f.right)
        for i in range(ties):
            step[i] = Y[o.tie_frame[i // 6], i % 6]
        for j in range(rows):
            step[ties + j] = x[size + j]
        for j in range(wound):
            step[ties + held + j] -= _stretch(f.rate[wound + j], offset, f.right)
        lu_solve(f.border, f.border_pivot, step)
        push_ties(table, jets, step)
        for j in range(rows):
            x[size + j] = step[ties + j]
            if j >= held:
                _add_cable(-step[ties + j], f.rate[j - held], offset, x)
    solve_tree(robot, table, jets, x)
    turned = 0.0
    for i in range(Y.shape[0]):
        turned = max(turned, Y[i, 0] * Y[i, 0] + Y[i, 1] * Y[i, 1] + Y[i, 2] * Y[i, 2])
    return math.sqrt(turned)
