"""Newton's increment of a tree in O(n), without its matrix: the articulated sweep on the whole tangent.

All that lies beyond a frame acts on what is nearer to the base only through its wrench, which is affine in the
variation Y = (ζ, ζ', ζ'') of that frame. So the *front* that travels from the tips to the base is one small matrix,

    ( W )   ( P  Q ) ( Y )          W  wrench of everything beyond,          Y  variation of the frame,
    ( r ) = ( E  H ) ( x )          r  rows of the coordinates begun here,   x  those coordinates,

and passing an interval with world columns z (see :mod:`elver.kernels.tree.tangent`; u holds z with its rates, weighted)
is, in this order,

    P += B of the frame ;  [Q; H] += [P; E] u φ ;  [E H] += φᵀ (zᵀ [P Q] + w₀ Hess φ) ;  Q += w₀ coad(z) F φ .

A coordinate is *finished* at the interval nearest to the base that it bends. Its rows are then complete, it is solved
for and leaves the front. Functions along a whole rod all leave at its start; those of elements (hats, pieces) leave
element by element, so a rod with many of them costs as much as many short rods. On the way back x = H⁻¹ (r - [E H] ...)
gives the coordinates and Y the next frames. Nothing of the size of the robot squared is formed.

Closures and free spans of cables tie branches to each other. The tree is eliminated without them, and they follow as a
border (:mod:`elver.kernels.tree.substitution`); springs on the tied frames, which the border takes away again, keep
limbs regular that are loose once the loop is cut.

Over a conserving step (:mod:`elver.kernels.march.conserving`; jets = 2) wrenches act at both ends, each on the columns
there: W has twelve rows, those of the start first, rows of coordinates are z_nᵀ W_n + z_+ᵀ W_+; only the end varies.
With jets = 0 the matrix is that of inertia, in the first columns of work.stiffness, and of what is in ``Front.extra``.

Pivots are compared with what the front itself holds, in units of the unknowns. In statics a part that is loose when
held at its start (a passive joint, a strut beyond its own critical load) has none, though the whole may be regular:
:func:`home` returns the smallest, and a solver takes the dense matrix where it is too small.
"""

from __future__ import annotations

import numpy as np

from elver.kernels.algebra import coad, put, scaled, six
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import OWN, own_slopes, unpack
from elver.kernels.terms.strain_loads import coordinate_slope, is_none, point_slopes
from elver.kernels.tree.border_of_step import take_border_of_step
from elver.kernels.tree.front import unpack_front
from elver.kernels.tree.interval import curvature, interval_columns
from elver.kernels.tree.program import COORDINATES, INTERVALS, PARENT, POLYNOMIAL, START
from elver.kernels.tree.substitution import height_of, take_border, tie_spring, width_of
from elver.kernels.tree.tangent import base_columns_in_world, spread

__all__ = ["home"]


@kernel
def home(robot, table, q, multipliers, inputs, base_columns, weights, jets):
    """Eliminate all coordinates from the tips to the base; smallest pivot beside what it is compared with.

    Behind :func:`elver.kernels.tree.tangent.evaluate_frames`, whose matrices are consumed. Weights and columns of the
    base as in :func:`elver.kernels.tree.tangent.evaluate_matrix`, whose matrix this is the inverse of.
    """
    p, w = unpack(robot)
    o, f = unpack_front(table)
    B, width, smallest = w.stiffness, width_of(jets), np.inf
    f.nature[0], f.nature[1] = 0.0, np.inf
    if jets > 0 and p.tendon_input.size + p.own_input.size > 0:
        point_slopes(robot, q, multipliers, inputs)
    if jets > 0 and p.own_input.size > 0:
        own_slopes(robot[OWN + 1])(robot, q, inputs)
    for j in range(o.tie_frame.size):
        for k in range(6):
            B[o.tie_frame[j], k, k] += tie_spring(k, o.size)
    for s in range(p.segment.shape[0] - 1, -1, -1):
        smallest = min(smallest, _carry_front(robot, table, s, q, weights, jets))
    if p.free[0] == 1:
        base_columns_in_world(w.pose[0], six(w.eta[0]), base_columns, f.base_columns, f.base_columns[18:])
        if jets == 2 or jets == 0:
            _world_rows(w.force[0], jets, f.base_columns, B[0])
        found = _base_block(
            B[0], f.base_columns, width, o.scale, o.size[1] * weights[0] if jets > 0 else 0.0, f.base, f.base_pivot
        )
        smallest = min(smallest, found)
    if f.border_step.size > 0 and smallest > 0.0:
        if jets == 2:
            smallest = min(smallest, take_border_of_step(robot, table, multipliers, inputs))
        else:
            smallest = min(smallest, take_border(robot, table, weights, multipliers, inputs, jets))
    return smallest


@inner
def _carry_front(robot, table, s, q, weights, jets):
    """The front of one segment from its end to its start, and into the frame that carries it; smallest pivot."""
    p, w = unpack(robot)
    o, f = unpack_front(table)
    F, width, tall, smallest = f.front, width_of(jets), height_of(jets), np.inf
    start, top, parent = p.segment[s, START], o.top[s], w.stiffness[p.segment[s, PARENT]]
    has_slopes = jets > 0 and p.tendon_input.size + p.own_input.size > 0
    _clear(F, tall + top, width + top, f.live, top)
    for i in range(start + p.segment[s, INTERVALS] - 1, start - 1, -1):
        _add_frame(w.stiffness[i + 1], tall, width, F)
        if p.segment[s, COORDINATES] == 0:
            continue
        for j in range(o.enter[i], o.enter[i + 1]):
            f.live[o.place[o.enter_at[j]]] = o.enter_at[j]
        if has_slopes and o.point[i + 1] >= 0:
            _add_slope(robot, table, o.point[i + 1], weights[0], jets)
        _interval(robot, table, s, i, weights, jets)
        _pass(robot, table, s, i, weights[0], jets)
        if i == start:
            if has_slopes and o.start_point[s] >= 0:
                _add_slope(robot, table, o.start_point[s], weights[0], jets)
            if o.pair[s] == 2:
                for r in range(tall + top):
                    for c in range(width + top):
                        F[r, c] += f.held[r, c]
        if o.group[i] >= 0:
            _add_laws(robot, table, s, i, q, weights, jets)
            smallest = min(smallest, _eliminate(robot, table, s, i, weights, jets))
    if o.pair[s] == 1:
        _hold(F, tall + top, width + top, f.held)
        return smallest  # its wrench goes home with the other half
    for r in range(6):
        for c in range(width):
            parent[r, c] += F[tall - 6 + r, c]
            if tall == 12:
                parent[r, 6 + c] += F[r, c]
    return smallest


@inner
def _add_frame(B, tall, width, F):
    """What a frame demands by itself joins the front."""
    for r in range(6):
        for c in range(width):
            F[tall - 6 + r, c] += B[r, c]
            if tall == 12:
                F[r, c] += B[r, 6 + c]


@inner
def _world_rows(force, jets, base_columns, B):
    """Rows of a free base in world axes: those of both ends, the latter as they turn, + ω × (couple; force)."""
    for r in range(6):
        for k in range(6):
            base_columns[18 + r, k] = 1.0 if r == k else 0.0
            if jets == 2:
                B[r, k] += B[r, 6 + k]
    if jets == 2:
        for half in range(0, 6, 3):
            x, y, z = force[half], force[half + 1], force[half + 2]
            B[half, 1] += z
            B[half, 2] -= y
            B[half + 1, 0] -= z
            B[half + 1, 2] += x
            B[half + 2, 0] += y
            B[half + 2, 1] -= x


@inner
def _clear(F, rows, width, live, top):
    """An empty front."""
    for r in range(rows):
        for c in range(width):
            F[r, c] = 0.0
    for k in range(top):
        live[k] = -1


@inner
def _hold(F, rows, width, held):
    """Keep the front of a half of a rod until the other half comes home."""
    for r in range(held.shape[0]):
        for c in range(held.shape[1]):
            held[r, c] = F[r, c] if r < rows and c < width else 0.0


@inner
def _add_slope(robot, table, g, weight, jets):
    """H += φᵀ h φ of one quadrature point, between coordinates that are in the front."""
    p, w = unpack(robot)
    o, f = unpack_front(table)
    h, phi, bend, width, tall = w.slope[g], p.point_phi[g], p.point_bend[g], width_of(jets), height_of(jets)
    first, component, place = p.block[p.point_block[g], 0], p.component, o.place
    if is_none(h):
        return
    for slot in range(6):
        for i in range(bend[3 * slot], bend[3 * slot + 1]):
            a, left = first + i, weight * phi[i - bend[3 * slot + 2]]
            if f.live[place[a]] != a:
                continue
            row = f.front[tall + place[a]]
            for other in range(6):
                for k in range(bend[3 * other], bend[3 * other + 1]):
                    b = first + k
                    if f.live[place[b]] == b:
                        row[width + place[b]] += left * h[component[a], component[b]] * phi[k - bend[3 * other + 2]]


@inner
def _interval(robot, table, s, i, weights, jets):
    """Columns z of an interval, with weighted rates into Front.spread; work.hessian; Front.turned = w₀ coad(z) F.

    At both ends of a conserving step (jets 2) rows are those of its start, then those of its end.
    """
    p, w = unpack(robot)
    _, f = unpack_front(table)
    before, force = i if i > p.segment[s, START] else p.segment[s, PARENT], six(w.force[i + 1])
    rates = 3 if jets == 3 else 1
    interval_columns(robot, s, i, before, rates)
    curvature(robot, s, i, before)
    for a in range(p.active[s, 0] * p.poly_size[p.segment[s, POLYNOMIAL], 0]):
        z, row = six(w.local[a, 0]), f.column[i, a]
        if jets == 2:
            put(row, six(f.start[i, a]))
            put(row[6:], z)
        else:
            put(row, z)
        spread(w.local[a], weights, rates, f.spread[i, a])
        put(f.turned[a], scaled(weights[0], coad(z, force)))


@inner
def _pass(robot, table, s, i, w0, jets):
    """The front at the end of an interval becomes the one at its start."""
    p, w = unpack(robot)
    o, f = unpack_front(table)
    strains, moments = p.active[s, 0], p.poly_size[p.segment[s, POLYNOMIAL], 0]
    width, tall = width_of(jets), height_of(jets)
    F, rows, columns, local = f.front, tall + o.top[s], width + o.top[s], strains * moments
    own, low, phi, place, z, u = o.own[i], o.low[i], p.phi[i], o.place, f.column[i], f.spread[i]
    hessian, turned, ahead, across = w.hessian, f.turned, f.ahead, f.across
    # [Q; H] += [P; E] u φ
    for r in range(rows):
        row, out = F[r], ahead[r]
        for a in range(local):
            ua, total = u[a], 0.0
            for c in range(width):
                total += row[c] * ua[c]
            out[a] = total
        for slot in range(strains):
            for j in range(low[slot], low[slot + 1]):
                total = 0.0
                for m in range(moments):
                    total += phi[m, j] * out[slot * moments + m]
                row[width + place[own[j]]] += total
    # [E H] += φᵀ (zᵀ [P Q] + w₀ Hess φ)
    for a in range(local):
        out, za = across[a], z[a]
        z0, z1, z2, z3, z4, z5 = za[0], za[1], za[2], za[3], za[4], za[5]
        for c in range(columns):
            out[c] = z0 * F[0, c] + z1 * F[1, c] + z2 * F[2, c] + z3 * F[3, c] + z4 * F[4, c] + z5 * F[5, c]
        for r in range(6, tall):
            for c in range(columns):
                out[c] += za[r] * F[r, c]
        for slot in range(strains):
            for j in range(low[slot], low[slot + 1]):
                total = 0.0
                for m in range(moments):
                    total += hessian[a, slot * moments + m] * phi[m, j]
                out[width + place[own[j]]] += w0 * total
    for slot in range(strains):
        for j in range(low[slot], low[slot + 1]):
            row = F[tall + place[own[j]]]
            for m in range(moments):
                value, source = phi[m, j], across[slot * moments + m]
                for c in range(columns):
                    row[c] += value * source[c]
    # Q += w₀ coad(z) F φ
    for slot in range(strains):
        for j in range(low[slot], low[slot + 1]):
            at = width + place[own[j]]
            for m in range(moments):
                value, source = phi[m, j], turned[slot * moments + m]
                for r in range(6):
                    F[tall - 6 + r, at] += value * source[r]


@inner
def _add_laws(robot, table, s, i, q, weights, jets):
    """Elasticity, damping and what else acts on the coordinates that leave, between them and with those that stay."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    leaving, place, block, live, F = o.leave_at[o.leave[i] : o.leave[i + 1]], o.place, o.block, f.live, f.front
    top, width, tall, law, K, D = o.top[s], width_of(jets), height_of(jets), p.law, p.K_elastic, p.D_elastic
    w0, w1 = weights[0], weights[1]
    if jets == 2:
        w0 += weights[2]  # of vibration that the step does not resolve
    for j in range(leaving.size):
        k = leaving[j]
        at, low = place[k], law[k, 0]
        if jets == 0 or jets == 2:
            F[tall + at, width + at] += f.extra[k]
        if jets == 0:
            continue
        for c in range(law[k, 1] - low):
            other = block[k] + low + c
            if live[place[other]] == other:
                F[tall + at, width + place[other]] += w0 * K[k, c] + w1 * D[k, c]
        F[tall + at, width + at] += coordinate_slope(k, p.friction, p.stop, p.rotor, q, weights, jets)
    for j in range(leaving.size):
        live[place[leaving[j]]] = -1
    for j in range(leaving.size):
        k = leaving[j]
        at = place[k]
        for c in range(top):
            other = live[c]
            if jets > 0 and other >= 0 and law[other, 0] <= k - block[k] and k - block[k] < law[other, 1]:
                back = k - block[k] - law[other, 0]
                F[tall + c, width + at] += w0 * K[other, back] + w1 * D[other, back]
        if o.given[k] == 1:
            for c in range(width + top):
                F[tall + at, c] = 0.0
            F[tall + at, width + at] = 1.0 if jets < 3 or weights[2] == 0.0 else weights[2]


@inner
def _eliminate(robot, table, s, i, weights, jets):
    """Solve for the coordinates that leave, and take them out of the front; smallest pivot, relative."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    leaving, group, place, size = o.leave_at[o.leave[i] : o.leave[i + 1]], o.group[i], o.place, o.size
    F, scale, top, alone = f.front, o.scale[6 * p.free[0] :], o.top[s], o.alone[i] == 1
    factor, pivot, answer, load = f.factor[group], f.pivot[group], f.answer[group], f.load[group]
    count, width, tall = leaving.size, width_of(jets), height_of(jets)
    known = width if alone else width + top
    most = size[1] * weights[0] if jets > 0 else 0.0
    for x in range(count):
        row, own = F[tall + place[leaving[x]]], scale[leaving[x]]
        for y in range(count):
            factor[x, y] = own * row[width + place[leaving[y]]] * scale[leaving[y]]
            most = max(most, abs(factor[x, y]))
        for c in range(known):
            answer[x, c] = own * row[c]
        if not alone:
            for y in range(count):
                answer[x, width + place[leaving[y]]] = 0.0
        for c in range(width):
            unit = weights[c // 6] * (size[0] if c % 6 >= 3 else 1.0)
            most = max(most, abs(answer[x, c]) * unit)
        for r in range(tall + top):
            load[r, x] = F[r, width + place[leaving[x]]]
    if jets == 1:
        _judge(table, leaving, scale, group, most)
    smallest = _factor(factor, count, pivot)
    if not smallest > 0.0:
        return 0.0
    if o.moved[s] == 1 or i > p.segment[s, START] or not alone:
        _apply(factor, count, pivot, answer, known)
        for x in range(count):
            for c in range(known):
                answer[x, c] *= scale[leaving[x]]
        for r in range(tall if alone else tall + top):
            row = F[r]
            for x in range(count):
                value, source = load[r, x], answer[x]
                if value != 0.0:
                    for c in range(known):
                        row[c] -= value * source[c]
    # what has left is no more: its place may be taken
    for x in range(count):
        at = place[leaving[x]]
        for c in range(width + top):
            F[tall + at, c] = 0.0
        for r in range(tall + top):
            F[r, width + at] = 0.0
    return smallest / most


@inner
def _judge(table, leaving, scale, group, most):
    """Whether the matrix is symmetric and positive definite as far as these coordinates tell."""
    o, f = unpack_front(table)
    H, E, Q, spare, nature, given = f.factor[group], f.answer[group], f.load[group], f.spare, f.nature, o.given
    count = leaving.size
    for x in range(count):
        free = given[leaving[x]] == 0
        for y in range(count):
            both = free and given[leaving[y]] == 0
            spare[x, y] = H[x, y] if both else 0.0
            if both:
                nature[0] = max(nature[0], abs(H[x, y] - H[y, x]) / most)
        if free:
            for c in range(6):
                nature[0] = max(nature[0], abs(E[x, c] - scale[leaving[x]] * Q[c, x]) / most)
        else:
            spare[x, x] = most
    for k in range(count):
        whole = spare[k, k]
        for j in range(k):
            spare[k, k] -= spare[k, j] * spare[k, j] * spare[j, j]
        if not spare[k, k] > 0.0:
            nature[1] = -1.0
            return
        nature[1] = min(nature[1], spare[k, k] / whole)
        for i in range(k + 1, count):
            for j in range(k):
                spare[i, k] -= spare[i, j] * spare[k, j] * spare[j, j]
            spare[i, k] /= spare[k, k]


@inner
def _base_block(B, base_columns, width, scale, energy, base, pivot):
    """Aᵀ P U of a free base, factored; smallest pivot, relative."""
    most = energy
    for a in range(6):
        for k in range(6):
            total = 0.0
            for r in range(6):
                inside = 0.0
                for c in range(width):
                    inside += B[r, c] * base_columns[c, k]
                total += base_columns[18 + r, a] * inside
            base[a, k] = scale[a] * total * scale[k]
            most = max(most, abs(base[a, k]))
    return _factor(base, 6, pivot) / most


@inner
def _factor(a, n, pivot):
    """LU with row pivoting of the first n rows and columns; smallest pivot."""
    smallest = np.inf
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        pivot[k] = p
        best = abs(a[p, k])
        if not best > 0.0:
            return 0.0
        smallest = min(smallest, best)
        if p != k:
            for j in range(n):
                swap = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = swap
        for i in range(k + 1, n):
            value = a[i, k] / a[k, k]
            a[i, k] = value
            if value != 0.0:
                for j in range(k + 1, n):
                    a[i, j] -= value * a[k, j]
    return smallest


@inner
def _apply(a, n, pivot, X, columns):
    """X[:n, :columns] = A⁻¹ X with the factors of :func:`_factor`."""
    for k in range(n):
        p = pivot[k]
        if p != k:
            for c in range(columns):
                swap = X[k, c]
                X[k, c] = X[p, c]
                X[p, c] = swap
    for i in range(1, n):
        row = X[i]
        for j in range(i):
            value, source = a[i, j], X[j]
            if value != 0.0:
                for c in range(columns):
                    row[c] -= value * source[c]
    for i in range(n - 1, -1, -1):
        row = X[i]
        for j in range(i + 1, n):
            value, source = a[i, j], X[j]
            if value != 0.0:
                for c in range(columns):
                    row[c] -= value * source[c]
        value = 1.0 / a[i, i]
        for c in range(columns):
            row[c] *= value
