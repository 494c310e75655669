"""The way back of the elimination along the tree: right-hand sides, and the border of what ties branches together.

:mod:`elver.kernels.tree.elimination` leaves the factors of the tree. Here constant parts are carried home and
coordinates brought back, and closures, free spans and wound cables are added as a border: unknown are the variation of
the tied frames and the multipliers, a small dense system whose columns are answers of the tree to unit wrenches.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import lu_factor, lu_solve, scaled, six
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.terms.closures import add_coad_matrix, closure_is_active
from elver.kernels.tree.front import unpack_front

__all__ = ["add_lever", "back", "levers", "push_ties", "solve_tree", "take_border", "tie_of", "tie_spring"]


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
def _carry_home(
    segment, strains, moments, tall, top, offset, scale, own, low, phi, place, leave, leave_at, groups, given, column,
    factor, pivot, load, part, solution, wrench, demand, x,
):
    """Constant parts of wrench and rows of one segment; what leaves is solved for, but for what is nearer."""
    start, more = segment[1], wrench[wrench.shape[0] - 1]  # of a frame of its own, behind all others
    for r in range(6, tall):
        more[r] = 0.0
    w0, w1, w2, w3, w4, w5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start + segment[2] - 1, start - 1, -1):
        b = wrench[i + 1]
        for r in range(6, tall):
            more[r] += b[r]
        w0 += b[0]
        w1 += b[1]
        w2 += b[2]
        w3 += b[3]
        w4 += b[4]
        w5 += b[5]
        if segment[4] == 0:
            continue
        for slot in range(strains):
            for m in range(moments):
                z = column[i, slot * moments + m]
                value = z[0] * w0 + z[1] * w1 + z[2] * w2 + z[3] * w3 + z[4] * w4 + z[5] * w5
                for r in range(6, tall):
                    value += z[r] * more[r]
                if value != 0.0:
                    for j in range(low[i, slot], low[i, slot + 1]):
                        demand[place[own[i, j]]] += phi[i, m, j] * value
        g = groups[i]
        if g < 0:
            continue
        first, count = leave[i], leave[i + 1] - leave[i]
        for k in range(count):
            me = leave_at[first + k]
            part[k] = x[offset + me]
            if given[me] == 0:
                part[k] -= demand[place[me]]
            part[k] *= scale[me]
        _apply_one(factor[g], count, pivot[g], part)
        for k in range(count):
            me = leave_at[first + k]
            value = part[k] * scale[me]
            solution[me] = value
            w0 += load[g, 0, k] * value
            w1 += load[g, 1, k] * value
            w2 += load[g, 2, k] * value
            w3 += load[g, 3, k] * value
            w4 += load[g, 4, k] * value
            w5 += load[g, 5, k] * value
            for r in range(6, tall):
                more[r] += load[g, r, k] * value
            for r in range(top):
                demand[r] += load[g, tall + r, k] * value
        for k in range(count):
            demand[place[leave_at[first + k]]] = 0.0
    b = wrench[segment[0]]
    b[0] += w0
    b[1] += w1
    b[2] += w2
    b[3] += w3
    b[4] += w4
    b[5] += w5
    for r in range(6, tall):
        b[r] += more[r]


@inner
def _bring_back(
    segment, strains, moments, top, moved, width, offset, own, low, phi, place, leave, leave_at, groups, alone, spread,
    answer, part, solution, Y, found, x,
):
    """Coordinates of one segment, and the variations of its frames."""
    start = segment[1]
    for i in range(start, start + segment[2]):
        before, after = Y[i if i > start else segment[0]], Y[i + 1]
        for c in range(width):
            after[c] = before[c]
        if segment[4] == 0:
            continue
        g = groups[i]
        if g >= 0:
            first, count = leave[i], leave[i + 1] - leave[i]
            for k in range(count):
                total = solution[leave_at[first + k]]
                if moved or i > start or alone[i] == 0:
                    for c in range(width):
                        total -= answer[g, k, c] * before[c]
                if alone[i] == 0:
                    for c in range(top):
                        total -= answer[g, k, width + c] * found[c]
                part[k] = total
            for k in range(count):
                me = leave_at[first + k]
                found[place[me]] = part[k]
                x[offset + me] = part[k]
        for slot in range(strains):
            for m in range(moments):
                amount = 0.0
                for j in range(low[i, slot], low[i, slot + 1]):
                    amount += phi[i, m, j] * x[offset + own[i, j]]
                u = spread[i, slot * moments + m]
                for c in range(width):
                    after[c] += amount * u[c]


@kernel
def solve_tree(robot, table, jets, x):
    """x = A⁻¹ x of the tree alone, for the coordinates in x, and the variations of all frames.

    Demands of constant wrenches on frames, in ``Front.wrench``, are taken from the right-hand side and cleared.
    """
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    segment, offset, width, scale = p.segment, 6 * p.free[0], 18 if jets == 3 else 6, o.scale
    tall = 12 if jets == 2 else 6
    wrench, Y, demand = f.wrench, f.variation, f.demand
    for k in range(demand.size):
        demand[k] = 0.0
    for s in range(segment.shape[0] - 1, -1, -1):
        _carry_home(
            segment[s], p.active[s, 0], p.poly_size[segment[s, 5], 0], tall, o.top[s], offset, scale[offset:], o.own,
            o.low, p.phi, o.place, o.leave, o.leave_at, o.group, o.given, f.column, f.factor, f.pivot, f.load, f.part,
            f.solution, wrench, demand, x,
        )
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
        _bring_back(
            segment[s], p.active[s, 0], p.poly_size[segment[s, 5], 0], o.top[s], o.moved[s] == 1, width, offset, o.own,
            o.low, p.phi, o.place, o.leave, o.leave_at, o.group, o.alone, f.spread, f.answer, f.part, f.solution, Y,
            demand, x,
        )
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
    levers(
        p.closure_frame, p.closure_rows, w.closure, w.closure_force, w.closure_stiffness, p.span_tendon, p.span_frame,
        w.span, w.span_stiffness, p.tendon_input, p.tendon_factor, p.tendon_row, held, multipliers, inputs, o.tie,
        o.tie_frame, o.size, jets > 0, f.stiffness, f.lever, w.vector,
    )
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
    return lu_factor(M, f.border_pivot)


@inner
def levers(
    closure_frame, closure_rows, closure, closure_force, closure_stiffness, span_tendon, span_frame, span,
    span_stiffness, tendon_input, tendon_factor, tendon_row, held, multipliers, inputs, tie, tie_frame, size, stiff,
    S, C, v,
):
    """S and C of all closures and spans: what couples two ties, where ``stiff``, and what a multiplier does."""
    for i in range(S.shape[0]):
        for k in range(S.shape[1]):
            S[i, k] = 0.0
        for k in range(C.shape[1]):
            C[i, k] = 0.0
        S[i, i] = -tie_spring(i % 6, size)
    for h in range(closure_frame.shape[0]):
        a, b = tie_of(tie, closure_frame[h, 0]), tie_of(tie, closure_frame[h, 1])
        for j in range(closure_rows[h, 0], closure_rows[h, 0] + closure_rows[h, 1]):
            add_lever(a, b, closure[j], C, j)
        if stiff and closure_frame[h, 0] >= 0:
            _couple(a, b, closure_force[h], 1.0, closure_stiffness[h], S, v)
    for j in range(span_tendon.size):
        t = span_tendon[j]
        a, b = tie_of(tie, span_frame[j, 0]), tie_of(tie, span_frame[j, 1])
        if tendon_row[t] >= 0:
            add_lever(a, b, span[j], C, tendon_row[t])
            tension = multipliers[tendon_row[t]]
        else:
            tension = tendon_factor[t] * inputs[tendon_input[t]]
        if stiff and span_frame[j, 0] >= 0 and span_frame[j, 1] >= 0:
            _couple(a, b, span[j], tension, span_stiffness[j], S, v)


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
def _couple(a, b, W, amount, K, S, v):
    """Wrench on b per variation of a, -K; on a per variation of b, -(K + coad(.) W)."""
    if a < 0 or b < 0:
        return
    for i in range(6):
        for k in range(K.shape[1]):
            S[6 * b + i, 6 * a + k] -= K[i, k]
            S[6 * a + i, 6 * b + k] -= K[i, k]
        v[i, 0], v[i, 1], v[i, 2], v[i, 3], v[i, 4], v[i, 5] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    add_coad_matrix(scaled(amount, six(W)), v)
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
