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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.tree.interval import columns, world_columns, world_map
from elver.kernels.tree.program import Program
from elver.kernels.tree.recursion import dual_stumpff, has_inertia
from elver.kernels.tree.tangent import world_inertia

__all__ = ["Sweep", "accelerations", "sweep_for"]

Floats = NDArray[np.float64]

# A pivot this much below its diagonal is a motion without inertia.
_RANK = 1e-13


class Sweep(NamedTuple):
    """Scratch arrays of the sweeps home and outward."""

    given: NDArray[np.int64]  # (n,) 1 for coordinates whose acceleration is given
    anchor: NDArray[np.int64]  # (frames,) the frame that carries this one: itself, unless it ends an offset
    inertia: Floats  # (frames, 6, 6) J*, world axes about the base point
    bias: Floats  # (frames, 6) β*
    column: Floats  # (intervals, most of a segment, 6) Z of each interval
    carried: Floats  # (segments, most, 6) Uᵀ, then L⁻¹ Uᵀ
    factor: Floats  # (segments, most, most) H = L D Lᵀ, then L below and D⁻¹ on the diagonal
    effort: Floats  # (segments, most) ν, then L⁻¹ ν, then x
    momentum: Floats  # (most, 6) J* Z summed over the intervals of one of a pair of segments
    acceleration: Floats  # (frames, 6) V'
    base: Floats  # (1, 6, 6) J* at the base, factored likewise
    slope: Floats  # (4, 2, coordinates) stages of an explicit method


def sweep_for(program: Program) -> Sweep:
    """Scratch arrays of the right sizes."""
    intervals = program.rest.shape[0]
    segments, most = program.segment.shape[0], max(int(np.max(program.segment[:, 4])), 1)
    n = program.component.size
    given = np.zeros(n, dtype=np.int64)
    given[program.imposed[:, 0]] = 1
    anchor = np.arange(intervals + 1)
    for parent, start, _, _, _, _, _, _, _, kind in program.segment[: segments if intervals else 0]:
        if kind == 0:
            anchor[start + 1] = anchor[parent]
    return Sweep(
        given=given,
        anchor=anchor,
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
def accelerations(evaluate_residual, robot, sweep, base, twist, q, multipliers, inputs):
    """Fill q[2] and, for a free base, twist[1]; False where a motion has no inertia.

    ``sweep.given`` marks coordinates that keep the acceleration in q[2]. The work of the robot then holds the state at
    zero acceleration of the others.
    """
    p, w = unpack(robot)
    for k in range(q.shape[1]):
        if sweep.given[k] == 0:
            q[2, k] = 0.0
    if p.free[0] == 1:
        for k in range(6):
            twist[1, k] = 0.0
    evaluate_residual(robot, base, twist, q, multipliers, inputs, 3)
    _columns(
        p.segment, p.active, p.component, p.bend, p.poly_size, p.poly_pair, p.poly_beta, p.poly_linear, p.phi,
        w.register, w.pose, w.eta, w.acc, w.column, w.local, w.vector, w.scalar, w.stumpff, w.tangent_map, sweep.column,
    )
    if not _home(
        p.free[0], p.segment, p.inertia, p.rotor, sweep.given, sweep.anchor, w.pose, w.force, w.residual, w.hessian6,
        sweep.inertia, sweep.bias, sweep.column, sweep.carried, sweep.factor, sweep.effort,
        sweep.momentum, sweep.acceleration, sweep.base,
    ):
        return False
    _outward(
        p.segment, sweep.given, sweep.anchor, sweep.column, sweep.carried, sweep.factor, sweep.effort,
        sweep.acceleration, q,
    )
    if p.free[0] == 1:
        a = sweep.acceleration[0]
        for k in range(3):
            twist[1, k] = base[0, k] * a[0] + base[1, k] * a[1] + base[2, k] * a[2]
            twist[1, 3 + k] = base[0, k] * a[3] + base[1, k] * a[4] + base[2, k] * a[5]
    return True


@inner("void(f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1])")
def _turn_columns(pose, f, r, last, v):
    """v[:3]: world columns (R T(-Θ) e; p × R T(-Θ) e) of the three angles, T(-Θ) = c_1 + c_2 Θ̂ + c_3 ΘΘᵀ."""
    x, y, z = r[last, 0], r[last, 1], r[last, 2]
    kept = r.shape[0] - 1
    c1, c2, c3 = r[kept, 0], r[kept, 1], r[kept, 2]
    px, py, pz = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    for c in range(3):
        along = c3 * r[last, c]
        # column c of T(-Θ)
        if c == 0:
            t0, t1, t2 = c1 + along * x, c2 * z + along * y, along * z - c2 * y
        elif c == 1:
            t0, t1, t2 = along * x - c2 * z, c1 + along * y, c2 * x + along * z
        else:
            t0, t1, t2 = c2 * y + along * x, along * y - c2 * x, c1 + along * z
        w0 = pose[f, 0, 0] * t0 + pose[f, 0, 1] * t1 + pose[f, 0, 2] * t2
        w1 = pose[f, 1, 0] * t0 + pose[f, 1, 1] * t1 + pose[f, 1, 2] * t2
        w2 = pose[f, 2, 0] * t0 + pose[f, 2, 1] * t1 + pose[f, 2, 2] * t2
        v[c, 0], v[c, 1], v[c, 2] = w0, w1, w2
        v[c, 3], v[c, 4], v[c, 5] = py * w2 - pz * w1, pz * w0 - px * w2, px * w1 - py * w0


@kernel
def _columns(
    segment, active, component, bend, poly_size, poly_pair, poly_beta, poly_linear, moment_phi,
    register, pose, eta, acc, column, local, v, dual, cs, maps, out,
):
    """World columns of each interval, per coordinate of its segment."""
    for s in range(segment.shape[0]):
        start, first, count, poly, kind = segment[s, 1], segment[s, 3], segment[s, 4], segment[s, 5], segment[s, 9]
        if kind == 0:
            continue
        moments, operations, strains = poly_size[poly, 0], poly_size[poly, 1], active[s, 0]
        last = 3 * (moments + operations - 1)
        for i in range(start, start + segment[s, 2]):
            before = i
            if i == start:
                before = segment[s, 0]
            r, z = register[i], out[i]
            if kind == 1:
                _turn_columns(pose, before, r, last, v)
                for slot in range(count):
                    phi, c = 0.0, component[first + slot]
                    if bend[i, 3 * slot] < bend[i, 3 * slot + 1]:
                        phi = moment_phi[i, 0, slot - bend[i, 3 * slot + 2]]
                    for j in range(6):
                        z[slot, j] = phi * v[c, j]
                continue
            pair, beta, linear = poly_pair[poly], poly_beta[poly], poly_linear[poly]
            columns(moments, operations, pair, beta, linear, active[s], r, 1, column)
            dual_stumpff(r, last, 1, cs, dual)
            world_map(pose, eta, acc, before, r, last, dual, 1, maps)
            world_columns(maps, column, last, strains * moments, 1, local)
            for k in range(count):
                for c in range(6):
                    z[k, c] = 0.0
            for slot in range(strains):
                for m in range(moments):
                    unit = local[slot * moments + m, 0]
                    for k in range(bend[i, 3 * slot], bend[i, 3 * slot + 1]):
                        for c in range(6):
                            z[k, c] += moment_phi[i, m, k - bend[i, 3 * slot + 2]] * unit[c]


@inner("f8(f8[:,::1], i8, f8[:,::1], i8)")
def _dot(a, i, b, j):
    """Product of two six-vectors."""
    return (
        a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2]
        + a[i, 3] * b[j, 3] + a[i, 4] * b[j, 4] + a[i, 5] * b[j, 5]
    )  # fmt: skip


@inner("void(f8[:,::1], f8[:,::1], i8, f8[:,::1])")
def _times(J, z, a, out):
    """out[0] = J z[a] with symmetric J, summed row by row."""
    z0, z1, z2, z3, z4, z5 = z[a, 0], z[a, 1], z[a, 2], z[a, 3], z[a, 4], z[a, 5]
    for c in range(6):
        out[0, c] = J[0, c] * z0 + J[1, c] * z1 + J[2, c] * z2 + J[3, c] * z3 + J[4, c] * z4 + J[5, c] * z5


@kernel
def _home(
    free, segment, own_inertia, rotor, given, anchor, pose, force, residual, moved,
    inertia, bias, column, carried, factor, effort, momentum, acceleration, base,
):
    """From the tips to the base: J* and β* of every frame, H of every segment, and the acceleration of the base."""
    offset = 6 * free
    for f in range(inertia.shape[0]):
        J = inertia[anchor[f]]
        if anchor[f] == f:
            for k in range(6):
                bias[f, k] = 0.0
            if has_inertia(own_inertia[f]):
                world_inertia(own_inertia[f], pose, f, J, 0)
            else:
                for i in range(6):
                    for k in range(6):
                        J[i, k] = 0.0
        elif has_inertia(own_inertia[f]):
            world_inertia(own_inertia[f], pose, f, moved, 0)
            for i in range(6):
                for k in range(6):
                    J[i, k] += moved[i, k]
    for s in range(segment.shape[0] - 1, -1, -1):
        parent, start, first, count = anchor[segment[s, 0]], segment[s, 1], segment[s, 3], segment[s, 4]
        if count == 0:
            continue
        # a rod that hangs by a section in between is two segments with the same coordinates, solved with the first
        second = s > 0 and segment[s - 1, 4] == count and segment[s - 1, 3] == first
        paired = s < segment.shape[0] - 1 and segment[s + 1, 4] == count and segment[s + 1, 3] == first
        home = s - 1 if second else s
        H, U, nu = factor[home], carried[home], effort[home]
        # J* Z summed over the intervals: that of the first of a pair, or of a segment by itself, is U
        carries = momentum if second or paired else U
        for a in range(count):
            for c in range(6):
                carries[a, c] = 0.0
            if not paired:
                nu[a] = -residual[offset + first + a]
                for b in range(a):
                    H[a, b] = 0.0
                H[a, a] = rotor[first + a]
        for i in range(start + segment[s, 2] - 1, start - 1, -1):
            J, beta, z = inertia[i + 1], bias[i + 1], column[i]
            if i < start + segment[s, 2] - 1:
                # what the columns farther out carry, seen by this interval and the other way round
                for a in range(count):
                    for b in range(a + 1):
                        H[a, b] += _dot(z, a, carries, b) + _dot(z, b, carries, a)
            for a in range(count):
                nu[a] -= z[a, 0] * beta[0] + z[a, 1] * beta[1] + z[a, 2] * beta[2]
                nu[a] -= z[a, 3] * beta[3] + z[a, 4] * beta[4] + z[a, 5] * beta[5]
                _times(J, z, a, acceleration)
                for b in range(a, count):
                    H[b, a] += _dot(z, b, acceleration, 0)
                for c in range(6):
                    carries[a, c] += acceleration[0, c]
            if i > start:
                for c in range(6):
                    bias[i, c] += beta[c]
                    for d in range(6):
                        inertia[i, c, d] += J[c, d]
        if second:
            for a in range(count):
                for c in range(6):
                    U[a, c] = momentum[a, c]
            for c in range(6):
                bias[parent, c] += bias[start + 1, c]
                for d in range(6):
                    inertia[parent, c, d] += inertia[start + 1, c, d]
            continue
        if paired:
            for a in range(count):
                for c in range(6):
                    U[a, c] += momentum[a, c]
        for a in range(count):
            if given[first + a] == 1:
                nu[a] = 0.0
                for c in range(6):
                    U[a, c] = 0.0
                for b in range(count):
                    if b < a:
                        H[a, b] = 0.0
                    else:
                        H[b, a] = 0.0
                H[a, a] = 1.0
        if not _factor(H, count):
            return False
        for a in range(count):
            for b in range(a):
                nu[a] -= H[a, b] * nu[b]
                for c in range(6):
                    U[a, c] -= H[a, b] * U[b, c]
        J, nearer = inertia[start + 1], inertia[parent]
        for c in range(6):
            total = bias[start + 1, c]
            j0, j1, j2, j3, j4, j5 = J[c, 0], J[c, 1], J[c, 2], J[c, 3], J[c, 4], J[c, 5]
            for a in range(count):
                u = U[a, c] * H[a, a]
                total += u * nu[a]
                j0 -= u * U[a, 0]
                j1 -= u * U[a, 1]
                j2 -= u * U[a, 2]
                j3 -= u * U[a, 3]
                j4 -= u * U[a, 4]
                j5 -= u * U[a, 5]
            bias[parent, c] += total
            nearer[c, 0] += j0
            nearer[c, 1] += j1
            nearer[c, 2] += j2
            nearer[c, 3] += j3
            nearer[c, 4] += j4
            nearer[c, 5] += j5
    a = acceleration[0]
    for k in range(6):
        a[k] = 0.0
    if free == 1:
        L = base[0]
        for c in range(6):
            a[c] = -force[0, c] - bias[0, c]
            for d in range(6):
                L[c, d] = inertia[0, c, d]
        if not _factor(L, 6):
            return False
        for c in range(6):
            for d in range(c):
                a[c] -= L[c, d] * a[d]
        for c in range(5, -1, -1):
            a[c] *= L[c, c]
            for d in range(c + 1, 6):
                a[c] -= L[d, c] * a[d]
    return True


@inner
def _factor(H, n):
    """H = L D Lᵀ in place: L below the diagonal, D⁻¹ on it; False when a pivot is rounding."""
    for a in range(n):
        pivot = H[a, a]
        for b in range(a):
            total = H[a, b]
            for c in range(b):
                total -= H[a, c] * H[b, c]
            H[a, b] = total  # L D until the row is done
        for b in range(a):
            scaled = H[a, b] * H[b, b]
            pivot -= H[a, b] * scaled
            H[a, b] = scaled
        if not pivot > _RANK * H[a, a]:
            return False
        H[a, a] = 1.0 / pivot
    return True


@kernel
def _outward(segment, given, anchor, column, carried, factor, effort, acceleration, q):
    """From the base to the tips: accelerations of coordinates and frames."""
    for s in range(segment.shape[0]):
        parent, first, count, start = anchor[segment[s, 0]], segment[s, 3], segment[s, 4], segment[s, 1]
        if count == 0:
            continue
        second = s > 0 and segment[s - 1, 4] == count and segment[s - 1, 3] == first
        home = s - 1 if second else s
        L, U, x = factor[home], carried[home], effort[home]
        if not second:
            start_of = acceleration[parent]
            for a in range(count):
                for c in range(6):
                    x[a] -= U[a, c] * start_of[c]
            for a in range(count - 1, -1, -1):
                x[a] *= L[a, a]
                for b in range(a + 1, count):
                    x[a] -= L[b, a] * x[b]
            for a in range(count):
                if given[first + a] == 0:
                    q[2, first + a] = x[a]
                else:
                    x[a] = 0.0
        for i in range(start, start + segment[s, 2]):
            before = i
            if i == start:
                before = parent
            nearer, farther = acceleration[before], acceleration[i + 1]
            for c in range(6):
                farther[c] = nearer[c]
            for a in range(count):
                z, amount = column[i, a], x[a]
                for c in range(6):
                    farther[c] += z[c] * amount
