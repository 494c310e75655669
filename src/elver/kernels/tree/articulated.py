"""Accelerations of a tree in O(n): articulated bodies in inertial axes (Khalil 2007, section 4 and appendix).

The inverse dynamics at zero acceleration leave the residual R; what is sought solves M x = -R. With inertias and
columns in world axes about the base point nothing is transformed from body to body. Going home, with the articulated
inertia J* and bias β* of all that lies beyond a segment, its columns Z and own coordinates,

    H = Zᵀ J* Z + I_a ,  U = J* Z ,  ν = -R - Zᵀ β* ;      J*_parent += J* - U H⁻¹ Uᵀ ,  β*_parent += β* + U H⁻¹ ν ,

at a free base V' = -J*⁻¹ (F_0 + β*), and outward x = H⁻¹ (ν - Uᵀ V'_parent). A rod is one such joint, whose columns
grow along it. Coordinates with given acceleration are left out of H: with all of them given, J* is the composite
inertia, and what remains is the inverse dynamics with a free base (section 3 there): out comes its acceleration.

Rows are eight long, as vector registers are: [J* β* 0], [Uᵀ -ν 0] and (V'; 1; 0). Bias and inertia are one matrix so,
and go through each of these formulas together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.algebra import act_turn, add, put, scaled, six
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.tree.interval import interval_columns
from elver.kernels.tree.program import (
    COORDINATES,
    FIRST,
    INTERVALS,
    KIND,
    OFFSET,
    PARENT,
    POLYNOMIAL,
    START,
    TURNING,
    Program,
)  # fmt: skip
from elver.kernels.tree.recursion import has_inertia, share
from elver.kernels.tree.tangent import world_inertia

__all__ = ["Sweep", "accelerations", "sweep_for"]

Floats = NDArray[np.float64]

# A pivot this much below its diagonal is a motion without inertia.
_RANK = 1e-13
# Column of β in [J β 0].
BIAS = 6
_NOTHING = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
_ON_BIAS = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0


class Sweep(NamedTuple):
    """Scratch arrays of the sweeps home and outward."""

    given: NDArray[np.int64]  # (n,) 1 for coordinates whose acceleration is given
    anchor: NDArray[np.int64]  # (frames,) the frame that carries this one: itself, unless it ends an offset
    inertia: Floats  # (frames, 6, 8) [J* β*], world axes about the base point
    column: Floats  # (intervals, most of a segment, 8) Zᵀ of each interval
    carried: Floats  # (segments, most, 8) [Uᵀ -ν], then L⁻¹ of it
    factor: Floats  # (segments, most, most) H = L D Lᵀ, then L below and D⁻¹ on the diagonal
    effort: Floats  # (segments, most) x
    momentum: Floats  # (most, 8) Zᵀ [J* β*] summed over the intervals of one of a pair of segments
    acceleration: Floats  # (frames, 8) V', then 1
    base: Floats  # (6, 6) J* at the base, factored likewise
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
        inertia=np.zeros((intervals + 1, 6, 8)),
        column=np.zeros((intervals, most, 8)),
        carried=np.zeros((segments, most, 8)),
        factor=np.zeros((segments, most, most)),
        effort=np.zeros((segments, most)),
        momentum=np.zeros((most, 8)),
        acceleration=np.tile(np.eye(8)[BIAS], (intervals + 1, 1)),
        base=np.zeros((6, 6)),
        slope=np.zeros((4, 2, n + 6)),
    )


@kernel
def accelerations(evaluate_residual, robot, sweep, base, twist, q, multipliers, inputs):
    """Fill q[2] and, for a free base, twist[1]; False where a motion has no inertia.

    ``sweep.given`` marks coordinates that keep the acceleration in q[2]. The work of the robot then holds the state at
    zero acceleration of the others.
    """
    p, _ = unpack(robot)
    for k in range(q.shape[1]):
        if sweep.given[k] == 0:
            q[2, k] = 0.0
    if p.free[0] == 1:
        for k in range(6):
            twist[1, k] = 0.0
    evaluate_residual(robot, base, twist, q, multipliers, inputs, 3)
    _columns(robot, sweep.column)
    if not _home(robot, sweep):
        return False
    _outward(p.segment, sweep, q)
    if p.free[0] == 1:
        a = sweep.acceleration[0]
        for k in range(3):
            twist[1, k] = base[0, k] * a[0] + base[1, k] * a[1] + base[2, k] * a[2]
            twist[1, 3 + k] = base[0, k] * a[3] + base[1, k] * a[4] + base[2, k] * a[5]
    return True


@inner
def _turn_column(g, psi, kept, c):
    """World column of angle c: Ad(g) of column c of T(-Θ) = c_1 + c_2 Θ̂ + c_3 ΘΘᵀ, with the Stumpff functions kept."""
    x, y, z = psi[0], psi[1], psi[2]
    c1, c2, along = kept[0], kept[1], kept[2] * psi[c]
    if c == 0:
        t0, t1, t2 = c1 + along * x, c2 * z + along * y, along * z - c2 * y
    elif c == 1:
        t0, t1, t2 = along * x - c2 * z, c1 + along * y, c2 * x + along * z
    else:
        t0, t1, t2 = c2 * y + along * x, along * y - c2 * x, c1 + along * z
    return act_turn(g, t0, t1, t2)


@kernel
def _columns(robot, out):
    """World columns of each interval, per coordinate of its segment."""
    p, w = unpack(robot)
    segment, local = p.segment, w.local
    for s in range(segment.shape[0]):
        start, first, count = segment[s, START], segment[s, FIRST], segment[s, COORDINATES]
        poly, strains = segment[s, POLYNOMIAL], p.active[s, 0]
        moments, operations = p.poly_size[poly, 0], p.poly_size[poly, 1]
        last, before = 3 * (moments + operations - 1), segment[s, PARENT]
        for i in range(start, start + segment[s, INTERVALS]):
            r, z, phi = w.register[i], out[i], p.phi[i]
            if segment[s, KIND] == TURNING:
                for k in range(count):
                    along = _turn_column(w.pose[before], r[last], r[r.shape[0] - 1], p.component[first + k])
                    put(z[k], scaled(share(phi[0], p.bend[i], k), along))
            elif segment[s, KIND] != OFFSET:
                interval_columns(robot, s, i, before, 1)
                for k in range(count):
                    for c in range(6):
                        z[k, c] = 0.0
                for slot in range(strains):
                    for m in range(moments):
                        unit = six(local[slot * moments + m, 0])
                        for k in range(p.bend[i, 3 * slot], p.bend[i, 3 * slot + 1]):
                            add(z[k], scaled(phi[m, k - p.bend[i, 3 * slot + 2]], unit))
            before = i + 1


# Rows of eight, as values like six-vectors -------------------------------------------------------------------


@inner
def _eight(row):
    """The numbers of a row."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]


@inner
def _keep(row, a):
    """row = a."""
    row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = a


@inner
def _plus(a, x, b):
    """a + x b."""
    return (
        a[0] + x * b[0], a[1] + x * b[1], a[2] + x * b[2], a[3] + x * b[3],
        a[4] + x * b[4], a[5] + x * b[5], a[6] + x * b[6], a[7] + x * b[7],
    )  # fmt: skip


@inner
def _product(a, b):
    """Sum of the products."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
        + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] + a[7] * b[7]
    )  # fmt: skip


@inner
def _join(J, a):
    """aᵀ [J β]."""
    near = _plus(_plus(_plus(_NOTHING, a[0], _eight(J[0])), a[1], _eight(J[1])), a[2], _eight(J[2]))
    return _plus(_plus(_plus(near, a[3], _eight(J[3])), a[4], _eight(J[4])), a[5], _eight(J[5]))


@inner
def _add_row(row, x, a):
    """row += x a."""
    _keep(row, _plus(_eight(row), x, a))


@inner
def _add_rows(out, A):
    """out += A, six rows."""
    for c in range(6):
        _add_row(out[c], 1.0, _eight(A[c]))


# Home -------------------------------------------------------------------------------------------------------


@kernel
def _home(robot, sweep):
    """From the tips to the base: J* and β* of every frame, H of every segment, and the acceleration of the base."""
    p, w = unpack(robot)
    segment, anchor, inertia = p.segment, sweep.anchor, sweep.inertia
    offset = 6 * p.free[0]
    _own_inertias(p.inertia, w.pose, anchor, inertia)
    for s in range(segment.shape[0] - 1, -1, -1):
        start, first, count = segment[s, START], segment[s, FIRST], segment[s, COORDINATES]
        if count == 0:
            continue
        near, far = inertia[anchor[segment[s, PARENT]]], inertia[start + 1]
        # a rod that hangs by a section in between is two segments with the same coordinates, solved with the first
        second, paired = _is_second(segment, s), _is_second(segment, s + 1)
        home = s - 1 if second else s
        H, U = sweep.factor[home], sweep.carried[home]
        if count == 3 and segment[s, INTERVALS] == 1 and not (second or paired) and _moves(sweep.given, first, 3):
            if not _pass_three(robot, first, sweep.column[start], H, U, near, far):
                return False
            continue
        carries = sweep.momentum if second or paired else U
        if not paired:
            _open(H, p.rotor, first, count)
        _gather(segment[s], inertia, sweep.column, carries, H)
        if not paired:
            for a in range(count):
                carries[a, BIAS] += w.residual[offset + first + a]
        if second:
            for a in range(count):
                _keep(U[a], _eight(carries[a]))
            _add_rows(near, far)
            continue
        if paired:
            for a in range(count):
                _add_row(U[a], 1.0, _eight(carries[a]))
        _hold(sweep.given, first, count, H, U)
        if not _close(H, U, count, near, far):
            return False
    if p.free[0] == 1:
        return _solve_base(inertia[0], w.force[0], sweep.base, sweep.acceleration[0])
    for k in range(6):
        sweep.acceleration[0, k] = 0.0
    return True


@inner
def _is_second(segment, s):
    """True for the second of two segments on the same coordinates."""
    if s == 0 or s == segment.shape[0]:
        return False
    return segment[s - 1, COORDINATES] == segment[s, COORDINATES] and segment[s - 1, FIRST] == segment[s, FIRST]


@inner
def _own_inertias(own, pose, anchor, inertia):
    """[J β] of each frame by itself, and of those that end an offset from it."""
    for f in range(inertia.shape[0]):
        J, has = inertia[f], has_inertia(own[f])
        if has:
            world_inertia(own[f], pose, f, J, 0)
        if anchor[f] != f:
            if has:
                nearer = inertia[anchor[f]]
                for c in range(6):
                    for d in range(6):
                        nearer[c, d] += J[c, d]
            continue
        for c in range(6):
            J[c, BIAS] = 0.0
            if not has:
                for d in range(6):
                    J[c, d] = 0.0


@inner
def _moves(given, first, count):
    """True where no acceleration is given."""
    held = 0
    for a in range(count):
        held += given[first + a]
    return held == 0


@inner
def _open(H, rotor, first, count):
    """H of the rotors alone."""
    for a in range(count):
        for b in range(a):
            H[a, b] = 0.0
        H[a, a] = rotor[first + a]


@inner
def _gather(segment, inertia, column, carries, H):
    """Add Zᵀ J* Z to H and fill ``carries`` with Zᵀ [J* β*], summed over the intervals of a segment from its end."""
    start, count, end = segment[START], segment[COORDINATES], segment[START] + segment[INTERVALS]
    for a in range(count):
        _keep(carries[a], _NOTHING)
    for i in range(end - 1, start - 1, -1):
        J, z = inertia[i + 1], column[i]
        if i < end - 1:
            # what the columns farther out carry, seen by this interval and the other way round
            for a in range(count):
                own, carried = _eight(z[a]), _eight(carries[a])
                for b in range(a):
                    H[a, b] += _product(own, _eight(carries[b])) + _product(_eight(z[b]), carried)
                H[a, a] += 2.0 * _product(own, carried)
        for a in range(count):
            row = _join(J, _eight(z[a]))
            for b in range(a, count):
                H[b, a] += _product(_eight(z[b]), row)
            _add_row(carries[a], 1.0, row)
        if i > start:
            _add_rows(inertia[i], J)


@inner
def _hold(given, first, count, H, U):
    """Leave coordinates with given acceleration out of H."""
    for a in range(count):
        if given[first + a] == 1:
            _keep(U[a], _NOTHING)
            for b in range(count):
                if b < a:
                    H[a, b] = 0.0
                else:
                    H[b, a] = 0.0
            H[a, a] = 1.0


@inner
def _close(H, U, count, near, far):
    """Factor H, take L⁻¹ of the rows carried, and hand [J* β*] less what moves freely to the nearer frame."""
    if not _factor(H, count):
        return False
    for a in range(count):
        row = _eight(U[a])
        for b in range(a):
            row = _plus(row, -H[a, b], _eight(U[b]))
        _keep(U[a], row)
    for c in range(6):
        row = _plus(_eight(near[c]), 1.0, _eight(far[c]))
        for a in range(count):
            row = _plus(row, -U[a, c] * H[a, a], _eight(U[a]))
        _keep(near[c], row)
    return True


@inner
def _pass_three(robot, first, z, H, U, near, far):
    """All of this for a joint of three coordinates, as spherical joints are."""
    p, w = unpack(robot)
    rotor, residual, offset = p.rotor, w.residual, 6 * p.free[0]
    z0, z1, z2 = _eight(z[0]), _eight(z[1]), _eight(z[2])
    u0, u1, u2 = _join(far, z0), _join(far, z1), _join(far, z2)
    h00, h11 = _product(z0, u0) + rotor[first], _product(z1, u1) + rotor[first + 1]
    h22 = _product(z2, u2) + rotor[first + 2]
    h10, h20, h21 = _product(z1, u0), _product(z2, u0), _product(z2, u1)
    d0 = 1.0 / h00
    l10, l20 = h10 * d0, h20 * d0
    p1, t = h11 - l10 * h10, h21 - l20 * h10
    d1 = 1.0 / p1
    l21 = t * d1
    p2 = h22 - l20 * h20 - l21 * t
    d2 = 1.0 / p2
    if not (h00 > 0.0 and p1 > _RANK * h11 and p2 > _RANK * h22):
        return False
    H[0, 0], H[1, 1], H[2, 2], H[1, 0], H[2, 0], H[2, 1] = d0, d1, d2, l10, l20, l21
    u0 = _plus(u0, residual[offset + first], _ON_BIAS)
    u1 = _plus(_plus(u1, residual[offset + first + 1], _ON_BIAS), -l10, u0)
    u2 = _plus(_plus(_plus(u2, residual[offset + first + 2], _ON_BIAS), -l20, u0), -l21, u1)
    _keep(U[0], u0)
    _keep(U[1], u1)
    _keep(U[2], u2)
    for c in range(6):
        row = _plus(_eight(near[c]), 1.0, _eight(far[c]))
        _keep(near[c], _plus(_plus(_plus(row, -d0 * U[0, c], u0), -d1 * U[1, c], u1), -d2 * U[2, c], u2))
    return True


@inner
def _solve_base(J, force, L, a):
    """a = -J⁻¹ (force + β): the acceleration of a free base."""
    for c in range(6):
        a[c] = -force[c] - J[c, BIAS]
        for d in range(6):
            L[c, d] = J[c, d]
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
            factor = H[a, b] * H[b, b]
            pivot -= H[a, b] * factor
            H[a, b] = factor
        if not pivot > _RANK * H[a, a]:
            return False
        H[a, a] = 1.0 / pivot
    return True


# Outward ----------------------------------------------------------------------------------------------------


@kernel
def _outward(segment, sweep, q):
    """From the base to the tips: accelerations of coordinates and frames."""
    for s in range(segment.shape[0]):
        start, first, count = segment[s, START], segment[s, FIRST], segment[s, COORDINATES]
        if count == 0:
            continue
        nearer = sweep.acceleration[sweep.anchor[segment[s, PARENT]]]
        second = _is_second(segment, s)
        home = s - 1 if second else s
        x = sweep.effort[home]
        if not second:
            L, U = sweep.factor[home], sweep.carried[home]
            there = _eight(nearer)
            for a in range(count - 1, -1, -1):
                total = -_product(_eight(U[a]), there) * L[a, a]
                for b in range(a + 1, count):
                    total -= L[b, a] * x[b]
                x[a] = total
            for a in range(count):
                if sweep.given[first + a] == 0:
                    q[2, first + a] = x[a]
                else:
                    x[a] = 0.0
        there = _eight(nearer)
        for i in range(start, start + segment[s, INTERVALS]):
            for a in range(count):
                there = _plus(there, x[a], _eight(sweep.column[i, a]))
            _keep(sweep.acceleration[i + 1], there)
