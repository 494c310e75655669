"""Inverse dynamics of a tree of rods, in inertial axes about the base point.

Inverse dynamics (Gotelli 2024, section 3.6) with every field in world axes: twists and accelerations are then
prefix sums, wrenches suffix sums, and only the chain of poses is a true recursion.
Its exact tangent is :mod:`elver.kernels.tree.tangent`, its readable twin :mod:`elver.kernels.twin.tree`.
"""

from __future__ import annotations

from elver.kernels.algebra import (
    act,
    act_back,
    act_turn,
    add,
    bracket,
    coact,
    coact_back,
    coad,
    couple_back,
    minus,
    moved,
    plus,
    put,
    scaled,
    six,
    stumpff,
    times,
)  # fmt: skip
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.tree.program import COORDINATES, FIRST, INTERVALS, KIND, OFFSET, PARENT, POLYNOMIAL, START, TURNING

__all__ = [
    "STILL", "add_bracket_jet", "backward", "compose", "dual_at", "dual_product", "dual_scaled", "dual_stumpff",
    "dual_times", "first_moment", "flipped", "forward", "has_inertia", "inertia_wrench", "project", "registers",
    "reverse", "share", "tangent_transposed",
]  # fmt: skip


STILL = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


# Forward pass -----------------------------------------------------------------------------------------------


@inner
def forward(robot, base, twist, jets):
    """Poses, twists and accelerations of all frames from the registers of all intervals.

    ``base`` (4, 3) rows of R and position; ``twist`` (2, 6) body twist of the base and its rate;
    ``jets`` = 1 for statics (rates are taken as zero), 3 for dynamics.
    """
    p, w = unpack(robot)
    segment, pose, eta, acc = p.segment, w.pose, w.eta, w.acc
    _start(base, twist, jets, pose[0], eta[0], acc[0])
    for s in range(segment.shape[0]):
        size = p.poly_size[segment[s, POLYNOMIAL]]
        last = 3 * (size[0] + size[1] - 1)
        before, kind = segment[s, PARENT], segment[s, KIND]
        for i in range(segment[s, START], segment[s, START] + segment[s, INTERVALS]):
            after = i + 1
            if kind == OFFSET:
                compose(pose, before, p.fixed[i], pose, after)
                put(eta[after], six(eta[before]))
                put(acc[after], six(acc[before]))
            else:
                psi, g = w.register[i], pose[before]
                if kind == TURNING:
                    rate, curve = _turn(psi, last, jets, w.stumpff, g, pose[after])
                elif jets == 3:
                    dual_stumpff(psi, last, jets, w.stumpff, w.scalar)
                    _advance_pose(pose, before, after, psi, last, w.stumpff)
                    rate, curve = _bend(psi[last], psi[last + 1], psi[last + 2], w.scalar)
                    rate, curve = act(g, rate), act(g, curve)
                else:
                    _real_stumpff(psi, last, w.stumpff)
                    _advance_pose(pose, before, after, psi, last, w.stumpff)
                    rate, curve = STILL, STILL
                # η += Ad y,  η' += Ad y' + [η_before, Ad y]
                nearer = six(eta[before])
                put(eta[after], plus(nearer, rate))
                put(acc[after], plus(six(acc[before]), plus(curve, bracket(nearer, rate))))
            before = after


@inner
def _start(base, twist, jets, pose, eta, acc):
    """Body twist of the base to world axes; the base point is the origin, so its position drops out."""
    for i in range(3):
        pose[3, i] = 0.0
        for j in range(3):
            pose[i, j] = base[i, j]
    if jets == 3:
        put(eta, act(pose, six(twist[0])))
        put(acc, act(pose, six(twist[1])))
    else:
        put(eta, STILL)
        put(acc, STILL)


@inner
def _bend(psi, psi1, psi2, c):
    """y = T(-Ψ) Ψ' = c_1 Ψ' + c_2 [Ψ, Ψ'] + c_3 Ψ (Ψ·Ψ') in the axes of the frame before, all dual, and its rate."""
    a, b, d = six(psi), six(psi1), six(psi2)
    turn, turn1 = bracket(a, b), bracket(a, d)
    along, along1 = dual_product(a, b), dual_product(a, d)
    spread = dual_product(b, b)
    along1 = along1[0] + spread[0], along1[1] + spread[1]
    c1, c2, c3 = dual_at(c, 0, 0), dual_at(c, 0, 1), dual_at(c, 0, 2)
    r1, r2, r3 = dual_at(c, 1, 0), dual_at(c, 1, 1), dual_at(c, 1, 2)
    most = dual_times(c3, along)
    rest = dual_times(c3, along1)
    more = dual_times(r3, along)
    rate = plus(plus(dual_scaled(c1, b), dual_scaled(c2, turn)), dual_scaled(most, a))
    curve = plus(plus(dual_scaled(c1, d), dual_scaled(r1, b)), plus(dual_scaled(c2, turn1), dual_scaled(r2, turn)))
    return rate, plus(curve, plus(dual_scaled(most, b), dual_scaled((rest[0] + more[0], rest[1] + more[1]), a)))


@inner
def dual_at(c, jet, n):
    """Dual c_{n+1} of :func:`dual_stumpff`, or a rate of it."""
    return c[jet, n, 0], c[jet, n, 1]


@inner
def dual_times(a, b):
    """Product of two dual numbers."""
    return a[0] * b[0], a[0] * b[1] + a[1] * b[0]


@inner
def dual_scaled(c, a):
    """(c + ε c_ε) a of a twist."""
    return (
        c[0] * a[0], c[0] * a[1], c[0] * a[2],
        c[0] * a[3] + c[1] * a[0], c[0] * a[4] + c[1] * a[1], c[0] * a[5] + c[1] * a[2],
    )  # fmt: skip


@inner
def dual_product(a, b):
    """Dual scalar product of two twists: (ω·ω, ω·v + v·ω)."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
        a[0] * b[3] + a[1] * b[4] + a[2] * b[5] + a[3] * b[0] + a[4] * b[1] + a[5] * b[2],
    )


@inner("void(f8[:,::1], i8, f8[::1])")
def _real_stumpff(psi, last, c):
    """c_0 … c_9 of the angle of psi[last]."""
    stumpff(psi[last, 0] * psi[last, 0] + psi[last, 1] * psi[last, 1] + psi[last, 2] * psi[last, 2], c)


@inner
def _turn(psi, last, jets, c, g, after):
    """Pose behind a joint that only turns, after = g exp(Θ), and Ad(g) of y = T(-Θ) Θ' and of its rate.

    Leaves c_1, c_2, c_3 in the last row of the registers.
    """
    x, y, z = psi[last, 0], psi[last, 1], psi[last, 2]
    stumpff(x * x + y * y + z * z, c)
    c0, c1, c2, c3, c4, c5 = c[0], c[1], c[2], c[3], c[4], c[5]
    kept = psi[psi.shape[0] - 1]
    kept[0], kept[1], kept[2] = c1, c2, c3
    # R (c_0 + c_1 Θ̂ + c_2 ΘΘᵀ), the same position
    for i in range(3):
        a, b, d = g[i, 0], g[i, 1], g[i, 2]
        along = c2 * (a * x + b * y + d * z)
        after[i, 0] = c0 * a + c1 * (b * z - d * y) + along * x
        after[i, 1] = c0 * b + c1 * (d * x - a * z) + along * y
        after[i, 2] = c0 * d + c1 * (a * y - b * x) + along * z
        after[3, i] = g[3, i]
    if jets != 3:
        return STILL, STILL
    x1, y1, z1 = psi[last + 1, 0], psi[last + 1, 1], psi[last + 1, 2]
    x2, y2, z2 = psi[last + 2, 0], psi[last + 2, 1], psi[last + 2, 2]
    d = x * x1 + y * y1 + z * z1
    d1 = x * x2 + y * y2 + z * z2 + x1 * x1 + y1 * y1 + z1 * z1
    # rates: dc_n/dφ = (n c_{n+2} - c_{n+1})/2 and φ' = 2 d
    r1, r2, r3 = (c3 - c2) * d, (2.0 * c4 - c3) * d, (3.0 * c5 - c4) * d
    bx, by, bz = y * z1 - z * y1, z * x1 - x * z1, x * y1 - y * x1
    along, spread = c3 * d, c3 * d1 + r3 * d
    rate = act_turn(g, c1 * x1 + c2 * bx + along * x, c1 * y1 + c2 * by + along * y, c1 * z1 + c2 * bz + along * z)
    return rate, act_turn(
        g,
        c1 * x2 + r1 * x1 + c2 * (y * z2 - z * y2) + r2 * bx + spread * x + along * x1,
        c1 * y2 + r1 * y1 + c2 * (z * x2 - x * z2) + r2 * by + spread * y + along * y1,
        c1 * z2 + r1 * z1 + c2 * (x * y2 - y * x2) + r2 * bz + spread * z + along * z1,
    )


@inner
def _turn_transposed(psi, last, c, f):
    """T(-Θ)ᵀ f = c_1 f - c_2 Θ×f + c_3 Θ (Θ·f) of a couple; c from c_1 on."""
    x, y, z = psi[last, 0], psi[last, 1], psi[last, 2]
    a, b, d = f
    along = c[2] * (x * a + y * b + z * d)
    return (
        c[0] * a - c[1] * (y * d - z * b) + along * x, c[0] * b - c[1] * (z * a - x * d) + along * y,
        c[0] * d - c[1] * (x * b - y * a) + along * z,
    )  # fmt: skip


@inner("void(f8[:,:,::1], i8, f8[:,::1], f8[:,:,::1], i8)")
def compose(pose, f, local, out, i):
    """out[i] = pose[f] ∘ local."""
    for r in range(3):
        a, b, c = pose[f, r, 0], pose[f, r, 1], pose[f, r, 2]
        for k in range(3):
            out[i, r, k] = a * local[0, k] + b * local[1, k] + c * local[2, k]
        out[i, 3, r] = pose[f, 3, r] + a * local[3, 0] + b * local[3, 1] + c * local[3, 2]


@inner
def share(phi, bend, k):
    """Part of coordinate k of a turning joint, which has one for each of its angles, in that angle."""
    if bend[3 * k] == bend[3 * k + 1]:
        return 0.0
    return phi[k - bend[3 * k + 2]]


@inner
def registers(robot, q, jets):
    """Moments of the strain and the Lie polynomial, with time rates, for every interval."""
    p, w = unpack(robot)
    segment, component = p.segment, p.component
    for s in range(segment.shape[0]):
        first, poly, kind = segment[s, FIRST], segment[s, POLYNOMIAL], segment[s, KIND]
        if kind == OFFSET:
            continue
        for i in range(segment[s, START], segment[s, START] + segment[s, INTERVALS]):
            r, bend = w.register[i], p.bend[i]
            if kind == TURNING:
                # Ψ is the only moment, the angles themselves
                angles, rates, curves = r[0], r[1], r[2]
                for c in range(3):
                    angles[c], rates[c], curves[c] = 0.0, 0.0, 0.0
                for k in range(segment[s, COORDINATES]):
                    c, factor = component[first + k], share(p.phi[i, 0], bend, k)
                    angles[c] += factor * q[0, first + k]
                    if jets == 3:
                        rates[c] += factor * q[1, first + k]
                        curves[c] += factor * q[2, first + k]
                continue
            for m in range(p.poly_size[poly, 0]):
                phi = p.phi[i, m]
                put(r[3 * m], six(p.rest[i, m]))
                put(r[3 * m + 1], STILL)
                put(r[3 * m + 2], STILL)
                for slot in range(6):
                    low, high, shift = bend[3 * slot], bend[3 * slot + 1], bend[3 * slot + 2]
                    if low < high:
                        c = component[first + low]
                        for jet in range(jets):
                            total = 0.0
                            for k in range(low, high):
                                total += phi[k - shift] * q[jet, first + k]
                            r[3 * m + jet, c] += total
            _combine(p.poly_size[poly], p.poly_pair[poly], p.poly_beta[poly], p.poly_linear[poly], jets, r)


@inner
def _combine(size, pair, beta, linear, jets, r):
    """Registers of the Lie polynomial, from its moments on."""
    for o in range(size[1]):
        out = size[0] + o
        for jet in range(jets):
            put(r[3 * out + jet], STILL)
        for j in range(out):
            weight = linear[o, j]
            if weight != 0.0:
                for jet in range(jets):
                    add(r[3 * out + jet], scaled(weight, six(r[3 * j + jet])))
        if beta[o] != 0.0:
            add_bracket_jet(r, 3 * out, beta[o], r, 3 * pair[o, 0], r, 3 * pair[o, 1], jets)


@inner
def add_bracket_jet(out, i, scale, a, j, b, k, jets):
    """out[i : i+jets] += scale [a, b] with its time rates."""
    a0, b0 = scaled(scale, six(a[j])), six(b[k])
    add(out[i], bracket(a0, b0))
    if jets == 3:
        a1, a2, b1, b2 = scaled(scale, six(a[j + 1])), scaled(scale, six(a[j + 2])), six(b[k + 1]), six(b[k + 2])
        add(out[i + 1], plus(bracket(a1, b0), bracket(a0, b1)))
        add(out[i + 2], plus(plus(bracket(a2, b0), scaled(2.0, bracket(a1, b1))), bracket(a0, b2)))


@inner("void(f8[:,::1], i8, i8, f8[::1], f8[:,:,::1])")
def dual_stumpff(psi, row, jets, c, out):
    """Dual c_1, c_2, c_3 of Ψ·Ψ with rates into ``out``; real c_0 … c_9 into ``c``."""
    now = six(psi[row])
    phi, phi_e = dual_product(now, now)
    stumpff(phi, c)
    if jets == 3:
        speed = six(psi[row + 1])
        a, a_e = dual_product(now, speed)
        b, b_e = dual_product(now, six(psi[row + 2]))
        d, d_e = dual_product(speed, speed)
        rate, rate_e = 2.0 * a, 2.0 * a_e
        curve, curve_e = 2.0 * (b + d), 2.0 * (b_e + d_e)
    else:
        rate, rate_e, curve, curve_e = 0.0, 0.0, 0.0, 0.0
    for n in range(1, 4):
        c1 = 0.5 * (n * c[n + 2] - c[n + 1])
        p1 = 0.5 * ((n + 1) * c[n + 3] - c[n + 2])
        r1 = 0.5 * ((n + 2) * c[n + 4] - c[n + 3])
        c2 = 0.5 * (n * r1 - p1)
        out[0, n - 1, 0] = c[n]
        out[0, n - 1, 1] = c1 * phi_e
        if jets == 3:
            s1 = 0.5 * ((n + 3) * c[n + 5] - c[n + 4])
            t1 = 0.5 * ((n + 4) * c[n + 6] - c[n + 5])
            p2 = 0.5 * ((n + 1) * s1 - r1)
            r2 = 0.5 * ((n + 2) * t1 - s1)
            c3 = 0.5 * (n * r2 - p2)
            out[1, n - 1, 0] = c1 * rate
            out[1, n - 1, 1] = c1 * rate_e + c2 * phi_e * rate
            out[2, n - 1, 0] = c2 * rate * rate + c1 * curve
            out[2, n - 1, 1] = (
                c2 * (2.0 * rate * rate_e + phi_e * curve) + c3 * phi_e * rate * rate + c1 * curve_e
            )


@inner
def _advance_pose(pose, before, after, psi, row, c):
    """pose[after] = pose[before] exp(psi[row]) with c the real Stumpff functions of the angle."""
    x, y, z = psi[row, 0], psi[row, 1], psi[row, 2]
    u, v, w = psi[row, 3], psi[row, 4], psi[row, 5]
    c0, c1, c2, c3 = c[0], c[1], c[2], c[3]
    e00, e01, e02 = c0 + c2 * x * x, c2 * x * y - c1 * z, c2 * x * z + c1 * y
    e10, e11, e12 = c2 * x * y + c1 * z, c0 + c2 * y * y, c2 * y * z - c1 * x
    e20, e21, e22 = c2 * x * z - c1 * y, c2 * y * z + c1 * x, c0 + c2 * z * z
    along = c3 * (x * u + y * v + z * w)
    d0 = c1 * u + c2 * (y * w - z * v) + along * x
    d1 = c1 * v + c2 * (z * u - x * w) + along * y
    d2 = c1 * w + c2 * (x * v - y * u) + along * z
    for i in range(3):
        a, b, d = pose[before, i, 0], pose[before, i, 1], pose[before, i, 2]
        pose[after, i, 0] = a * e00 + b * e10 + d * e20
        pose[after, i, 1] = a * e01 + b * e11 + d * e21
        pose[after, i, 2] = a * e02 + b * e12 + d * e22
        pose[after, 3, i] = pose[before, 3, i] + a * d0 + b * d1 + d * d2


# Backward pass ----------------------------------------------------------------------------------------------


@inner("b1(f8[:,::1])")
def has_inertia(M):
    """False for a frame without mass."""
    return M[0, 0] + M[1, 1] + M[2, 2] + M[3, 3] + M[4, 4] + M[5, 5] != 0.0


@inner("UniTuple(f8, 3)(f8[:,:,::1], i8, f8[::1])")
def first_moment(pose, f, weight):
    """First moment of mass m p + R (m c) about the base point, world axes."""
    m, x, y, z = weight[0], weight[1], weight[2], weight[3]
    return (
        m * pose[f, 3, 0] + pose[f, 0, 0] * x + pose[f, 0, 1] * y + pose[f, 0, 2] * z,
        m * pose[f, 3, 1] + pose[f, 1, 0] * x + pose[f, 1, 1] * y + pose[f, 1, 2] * z,
        m * pose[f, 3, 2] + pose[f, 2, 0] * x + pose[f, 2, 1] * y + pose[f, 2, 2] * z,
    )


@inner
def backward(robot, inputs, jets):
    """Wrench demanded by each frame itself: inertia minus weight minus applied loads, in world axes.

    F = M η' + coad(η) M η - (m c × γ; m γ) - F_load, where M holds the water carried along, which has no weight,
    and ``weight`` = (m, m c) what buoyancy leaves. :func:`project` sums them from the tips home.
    """
    p, w = unpack(robot)
    pose, force = w.pose, w.force
    scale = 1.0
    if p.gravity_input[0] >= 0:
        scale = inputs[p.gravity_input[0]]
    gx, gy, gz = scale * p.gravity[0], scale * p.gravity[1], scale * p.gravity[2]
    falls = gx != 0.0 or gy != 0.0 or gz != 0.0
    for f in range(force.shape[0]):
        g, M, demand = pose[f], p.inertia[f], STILL
        if jets == 3 and has_inertia(M):
            demand = coact(g, inertia_wrench(M, act_back(g, six(w.eta[f])), act_back(g, six(w.acc[f]))))
        if falls:
            x, y, z = first_moment(pose, f, p.weight[f])
            mass = p.weight[f, 0]
            weight = y * gz - z * gy, z * gx - x * gz, x * gy - y * gx, mass * gx, mass * gy, mass * gz
            demand = plus(demand, minus(weight))
        put(force[f], demand)
    for j in range(p.load_frame.size):
        f, amount = p.load_frame[j], inputs[p.load_input[j]]
        load = scaled(-amount, six(p.load_wrench[j]))
        if p.load_follows[j] == 1:
            add(force[f], coact(pose[f], load))
        else:
            add(force[f], moved(pose[f, 3], load))


@inner
def inertia_wrench(M, twist, rate):
    """M η' + coad(η) M η, in axes of the frame."""
    return plus(times(M, rate), coad(twist, times(M, twist)))


@inner
def project(robot, register, pose, force, out):
    """Sum the wrenches from the tips to the base and add their work on the coordinates, at these registers and poses.

    Each interval projects by reverse accumulation through T(-Ψ) and the Lie polynomial: no columns are formed.
    """
    p, w = unpack(robot)
    segment, component, bar = p.segment, p.component, w.adjoint
    offset = 6 * p.free[0]
    for s in range(segment.shape[0] - 1, -1, -1):
        start, first, kind = segment[s, START], offset + segment[s, FIRST], segment[s, KIND]
        moments, operations = p.poly_size[segment[s, POLYNOMIAL], 0], p.poly_size[segment[s, POLYNOMIAL], 1]
        last = moments + operations - 1
        for i in range(start + segment[s, INTERVALS] - 1, start - 1, -1):
            before = i
            if i == start:
                before = segment[s, PARENT]
            r, bend, g, f = register[i], p.bend[i], pose[before], six(force[i + 1])
            if kind == TURNING:
                couple = _turn_transposed(r, 3 * last, r[r.shape[0] - 1], couple_back(g, f))
                for k in range(segment[s, COORDINATES]):
                    out[first + k] += share(p.phi[i, 0], bend, k) * couple[component[first - offset + k]]
            elif kind != OFFSET:
                dual_stumpff(r, 3 * last, 1, w.stumpff, w.scalar)
                for j in range(last):
                    put(bar[j], STILL)
                put(bar[last], flipped(tangent_transposed(w.scalar, six(r[3 * last]), flipped(coact_back(g, f)))))
                reverse(robot, s, r, bar)
                for m in range(moments):
                    phi = p.phi[i, m]
                    for slot in range(6):
                        low, high, shift = bend[3 * slot], bend[3 * slot + 1], bend[3 * slot + 2]
                        if low < high:
                            value = bar[m, component[first - offset + low]]
                            for k in range(low, high):
                                out[first + k] += phi[k - shift] * value
            add(force[before], f)
    if offset > 0:
        add(out, coact_back(pose[0], six(force[0])))


@inner
def flipped(a):
    """A wrench (couple; force) as the dual vector force + ε couple, on which coad acts as the bracket; and back."""
    return a[3], a[4], a[5], a[0], a[1], a[2]


@inner
def tangent_transposed(c, psi, f):
    """T(-Ψ)ᵀ f = c_1 f - c_2 [Ψ, f] + c_3 Ψ (Ψ·f) of a dual force, with dual c of :func:`dual_stumpff`."""
    c1, c2, c3 = dual_at(c, 0, 0), dual_at(c, 0, 1), dual_at(c, 0, 2)
    turned, along = dual_scaled(c2, bracket(psi, f)), dual_times(c3, dual_product(psi, f))
    return plus(dual_scaled(c1, f), plus(minus(turned), dual_scaled(along, psi)))


@inner
def reverse(robot, s, r, bar):
    """Adjoint of the Lie polynomial of a segment: from the last register of ``bar`` down to the moments."""
    p, _ = unpack(robot)
    poly = p.segment[s, POLYNOMIAL]
    moments, pair, beta, linear = p.poly_size[poly, 0], p.poly_pair[poly], p.poly_beta[poly], p.poly_linear[poly]
    for o in range(p.poly_size[poly, 1] - 1, -1, -1):
        out = six(bar[moments + o])
        for j in range(moments + o):
            weight = linear[o, j]
            if weight != 0.0:
                add(bar[j], scaled(weight, out))
        if beta[o] != 0.0:
            a, b = pair[o, 0], pair[o, 1]
            add(bar[a], scaled(beta[o], coad(six(r[3 * b]), out)))
            add(bar[b], scaled(-beta[o], coad(six(r[3 * a]), out)))
