"""Accelerations of a tree in O(n): articulated bodies in inertial axes (Khalil 2007, section 4 and appendix).

The inverse dynamics at zero acceleration leave the residual R; what is sought solves M x = -R. With inertias and
columns in world axes about the base point nothing is transformed from body to body. Going home, with the articulated
inertia J* and bias β* of all that lies beyond a segment, its columns Z and own coordinates,

    H = Zᵀ J* Z + I_a ,  U = J* Z ,  ν = -R - Zᵀ β* ;      J*_parent += J* - U H⁻¹ Uᵀ ,  β*_parent += β* + U H⁻¹ ν ,

at a free base V' = -J*⁻¹ (F_0 + β*), and outward x = H⁻¹ (ν - Uᵀ V'_parent). A rod is one such joint, whose columns
grow along it. Coordinates with given acceleration are left out of H: with all of them given, J* is the composite
inertia, and what remains is the inverse dynamics with a free base (section 3 there): out comes its acceleration.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.algebra import stumpff
from elver.kernels.cache import inner, kernel
from elver.kernels.interval import columns, world_columns, world_map
from elver.kernels.program import Program
from elver.kernels.recursion import dual_stumpff, has_inertia, to_world
from elver.kernels.tangent import world_inertia

__all__ = ["Sweep", "accelerations", "sweep_for"]

Floats = NDArray[np.float64]

# A pivot this much below its diagonal is a motion without inertia.
_RANK = 1e-13


class Sweep(NamedTuple):
    """Scratch arrays of the sweeps home and outward."""

    given: NDArray[np.int64]  # (n,) 1 for coordinates whose acceleration is given
    inertia: Floats  # (frames, 6, 6) J*, world axes about the base point
    bias: Floats  # (frames, 6) β*
    column: Floats  # (intervals, most of a segment, 6) Z of each interval
    carried: Floats  # (segments, most, 6) U, then L⁻¹ Uᵀ
    factor: Floats  # (segments, most, most) H, then its Cholesky factor L
    effort: Floats  # (segments, most) ν, then L⁻¹ ν, then x
    momentum: Floats  # (most, 6) J* Z summed over the intervals of one segment
    acceleration: Floats  # (frames, 6) V'
    base: Floats  # (1, 6, 6) Cholesky factor of J* at the base
    slope: Floats  # (4, 2, coordinates) stages of an explicit method


def sweep_for(program: Program) -> Sweep:
    """Scratch arrays of the right sizes."""
    intervals = program.rest.shape[0]
    segments, most = program.segment.shape[0], max(int(np.max(program.segment[:, 4])), 1)
    n = program.component.size
    given = np.zeros(n, dtype=np.int64)
    given[program.imposed[:, 0]] = 1
    return Sweep(
        given=given,
        inertia=np.zeros((intervals + 1, 6, 6)),
        bias=np.zeros((intervals + 1, 6)),
        column=np.zeros((intervals, most, 6)),
        carried=np.zeros((segments, most, 6)),
        factor=np.zeros((segments, most, most)),
        effort=np.zeros((segments, most)),
        momentum=np.zeros((most, 6)),
        acceleration=np.zeros((intervals + 1, 6)),
        base=np.zeros((1, 6, 6)),
        slope=np.zeros((4, 2, n + 6)),
    )


@kernel
def accelerations(evaluate_residual, program, work, sweep, base, twist, q, multipliers, inputs):
    """Fill q[2] and, for a free base, twist[1]; False where a motion has no inertia.

    ``sweep.given`` marks coordinates that keep the acceleration in q[2]. ``work`` holds the state at zero acceleration
    of the others.
    """
    p, w = program, work
    for k in range(q.shape[1]):
        if sweep.given[k] == 0:
            q[2, k] = 0.0
    if p.free[0] == 1:
        for k in range(6):
            twist[1, k] = 0.0
    evaluate_residual(program, work, base, twist, q, multipliers, inputs, 3)
    _columns(p, w, sweep.column)
    if not _home(
        p.free[0], p.segment, p.inertia, p.rotor, sweep.given, w.pose, w.force, w.residual, w.tangent_map[0, 0],
        w.tangent_map[1, 0], sweep.inertia, sweep.bias, sweep.column, sweep.carried, sweep.factor, sweep.effort,
        sweep.momentum, sweep.acceleration, sweep.base,
    ):
        return False
    _outward(
        p.segment, sweep.given, sweep.column, sweep.carried, sweep.factor, sweep.effort, sweep.acceleration, q
    )
    if p.free[0] == 1:
        a = sweep.acceleration[0]
        for k in range(3):
            twist[1, k] = base[0, k] * a[0] + base[1, k] * a[1] + base[2, k] * a[2]
            twist[1, 3 + k] = base[0, k] * a[3] + base[1, k] * a[4] + base[2, k] * a[5]
    return True


@kernel
def _columns(p, w, column):
    """World columns of each interval, per coordinate of its segment."""
    pose, v, cs = w.pose, w.vector, w.stumpff
    for s in range(p.segment.shape[0]):
        first, count, poly, kind = p.segment[s, 3], p.segment[s, 4], p.segment[s, 5], p.segment[s, 9]
        if kind == 0:
            continue
        moments, operations, strains = p.poly_size[poly, 0], p.poly_size[poly, 1], p.active[s, 0]
        last = 3 * (moments + operations - 1)
        for i in range(p.segment[s, 1], p.segment[s, 1] + p.segment[s, 2]):
            before = i
            if i == p.segment[s, 1]:
                before = p.segment[s, 0]
            r, z = w.register[i], column[i]
            if kind == 1:
                x, y, t = r[last, 0], r[last, 1], r[last, 2]
                stumpff(x * x + y * y + t * t, cs)
                for k in range(count):
                    # T(-Θ) e = c_1 e + c_2 Θ×e + c_3 Θ (Θ·e) for the unit vector e of the coordinate
                    phi, c = p.phi[i, 0, k], p.component[first + k]
                    e0, e1, e2 = phi * (c == 0), phi * (c == 1), phi * (c == 2)
                    along = cs[3] * (x * e0 + y * e1 + t * e2)
                    v[0, 0] = cs[1] * e0 + cs[2] * (y * e2 - t * e1) + along * x
                    v[0, 1] = cs[1] * e1 + cs[2] * (t * e0 - x * e2) + along * y
                    v[0, 2] = cs[1] * e2 + cs[2] * (x * e1 - y * e0) + along * t
                    v[0, 3], v[0, 4], v[0, 5] = 0.0, 0.0, 0.0
                    to_world(pose, before, v, 0, z, k)
                continue
            pair, beta, linear = p.poly_pair[poly], p.poly_beta[poly], p.poly_linear[poly]
            columns(moments, operations, pair, beta, linear, p.active[s], r, 1, w.column)
            dual_stumpff(r, last, 1, cs, w.scalar)
            world_map(pose, w.eta, w.acc, before, r, last, w.scalar, 1, w.tangent_map)
            world_columns(w.tangent_map, w.column, last, strains * moments, 1, w.local)
            for k in range(count):
                for c in range(6):
                    z[k, c] = 0.0
            for slot in range(strains):
                for m in range(moments):
                    local = w.local[slot * moments + m, 0]
                    for k in range(p.slot_start[s, slot], p.slot_start[s, slot + 1]):
                        for c in range(6):
                            z[k, c] += p.phi[i, m, k] * local[c]


@inner("f8(f8[::1], f8[::1])")
def _dot(a, b):
    """Product of two six-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def _home(
    free, segment, own_inertia, rotor, given, pose, force, residual, block, rotated,
    inertia, bias, column, carried, factor, effort, momentum, acceleration, base,
):
    """From the tips to the base: J* and β* of every frame, H of every segment, and the acceleration of the base."""
    offset = 6 * free
    for f in range(inertia.shape[0]):
        if has_inertia(own_inertia[f]):
            world_inertia(own_inertia[f], pose, f, inertia[f], 0, block, rotated)
        else:
            for i in range(6):
                for k in range(6):
                    inertia[f, i, k] = 0.0
        for k in range(6):
            bias[f, k] = 0.0
    for s in range(segment.shape[0] - 1, -1, -1):
        parent, start, first, count = segment[s, 0], segment[s, 1], segment[s, 3], segment[s, 4]
        # a rod that hangs by a section in between is two segments with the same coordinates, solved with the first
        second = s > 0 and count > 0 and segment[s - 1, 4] == count and segment[s - 1, 3] == first
        paired = s < segment.shape[0] - 1 and count > 0 and segment[s + 1, 4] == count and segment[s + 1, 3] == first
        home = s - 1 if second else s
        H, U, nu = factor[home], carried[home], effort[home]
        for a in range(count):
            for c in range(6):
                momentum[a, c] = 0.0
                if not paired:
                    U[a, c] = 0.0
            if not paired:
                nu[a] = -residual[offset + first + a]
                for b in range(count):
                    H[a, b] = 0.0
                H[a, a] = rotor[first + a]
        for i in range(start + segment[s, 2] - 1, start - 1, -1):
            before = i
            if i == start:
                before = parent
            J, beta, z = inertia[i + 1], bias[i + 1], column[i]
            for a in range(count):
                za = z[a]
                nu[a] -= _dot(za, beta)
                # what the columns farther out carry, seen by this interval and the other way round
                for b in range(count):
                    value = _dot(za, momentum[b])
                    H[a, b] += value
                    H[b, a] += value
            for a in range(count):
                za, out = z[a], acceleration[0]
                for c in range(6):
                    out[c] = _dot(J[c], za)
                    momentum[a, c] += out[c]
                for b in range(count):
                    H[b, a] += _dot(z[b], out)
            for c in range(6):
                bias[before, c] += beta[c]
                for d in range(6):
                    inertia[before, c, d] += J[c, d]
        for a in range(count):
            for c in range(6):
                U[a, c] += momentum[a, c]
        if second or count == 0:
            continue
        for a in range(count):
            if given[first + a] == 1:
                nu[a] = 0.0
                for c in range(6):
                    U[a, c] = 0.0
                for b in range(count):
                    H[a, b] = 0.0
                    H[b, a] = 0.0
                H[a, a] = 1.0
        if not _cholesky(H, count):
            return False
        for a in range(count):
            for b in range(a):
                nu[a] -= H[a, b] * nu[b]
                for c in range(6):
                    U[a, c] -= H[a, b] * U[b, c]
            nu[a] /= H[a, a]
            for c in range(6):
                U[a, c] /= H[a, a]
        J = inertia[parent]
        for a in range(count):
            Ua = U[a]
            for c in range(6):
                bias[parent, c] += Ua[c] * nu[a]
                for d in range(6):
                    J[c, d] -= Ua[c] * Ua[d]
    a = acceleration[0]
    for k in range(6):
        a[k] = 0.0
    if free == 1:
        L = base[0]
        for c in range(6):
            a[c] = -force[0, c] - bias[0, c]
            for d in range(6):
                L[c, d] = inertia[0, c, d]
        if not _cholesky(L, 6):
            return False
        for c in range(6):
            for d in range(c):
                a[c] -= L[c, d] * a[d]
            a[c] /= L[c, c]
        for c in range(5, -1, -1):
            for d in range(c + 1, 6):
                a[c] -= L[d, c] * a[d]
            a[c] /= L[c, c]
    return True


@inner
def _cholesky(H, n):
    """Lower factor of H in place; False when a pivot is rounding."""
    for a in range(n):
        before = H[a, a]
        for b in range(a + 1):
            total = H[a, b]
            for c in range(b):
                total -= H[a, c] * H[b, c]
            if a > b:
                H[a, b] = total / H[b, b]
            elif total > _RANK * before:
                H[a, a] = math.sqrt(total)
            else:
                return False
    return True


@kernel
def _outward(segment, given, column, carried, factor, effort, acceleration, q):
    """From the base to the tips: accelerations of coordinates and frames."""
    for s in range(segment.shape[0]):
        first, count, start = segment[s, 3], segment[s, 4], segment[s, 1]
        second = s > 0 and count > 0 and segment[s - 1, 4] == count and segment[s - 1, 3] == first
        home = s - 1 if second else s
        L, U, x = factor[home], carried[home], effort[home]
        if not second:
            start_of = acceleration[segment[s, 0]]
            for a in range(count):
                for c in range(6):
                    x[a] -= U[a, c] * start_of[c]
            for a in range(count - 1, -1, -1):
                for b in range(a + 1, count):
                    x[a] -= L[b, a] * x[b]
                x[a] /= L[a, a]
            for a in range(count):
                if given[first + a] == 0:
                    q[2, first + a] = x[a]
                else:
                    x[a] = 0.0
        for i in range(start, start + segment[s, 2]):
            before = i
            if i == start:
                before = segment[s, 0]
            for c in range(6):
                total = acceleration[before, c]
                for a in range(count):
                    total += column[i, a, c] * x[a]
                acceleration[i + 1, c] = total
