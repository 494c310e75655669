"""Inverse dynamics of a tree of rods, in inertial axes about the base point.

Inverse dynamics (Gotelli 2024, section 3.6) with every field in world axes: twists and accelerations are then
prefix sums, wrenches suffix sums, and only the chain of poses is a true recursion.
Its exact tangent is :mod:`elver.kernels.tree.tangent`, its readable twin :mod:`elver.kernels.twin.tree`.
"""

from __future__ import annotations

from elver.kernels.algebra import add_bracket, add_coad, stumpff
from elver.kernels.build.cache import inner

__all__ = [
    "add_bracket_jet",
    "add_tangent_transposed",
    "add_wrench_to_world",
    "backward",
    "compose",
    "dual_dot",
    "dual_stumpff",
    "first_moment",
    "forward",
    "has_inertia",
    "project",
    "registers",
    "reverse",
    "to_world",
    "twist_to_body",
    "wrench_to_body",
]


# ---------------------------------------------------------------------------------------------------------------
# Forward pass
# ---------------------------------------------------------------------------------------------------------------


@inner
def forward(segment, fixed, poly_size, base, twist, register, jets, pose, eta, acc, v, c, cs):
    """Poses, twists and accelerations of all frames from the registers of all intervals.

    ``base`` (4, 3) rows of R and position; ``twist`` (2, 6) body twist of the base and its rate;
    ``jets`` = 1 for statics (rates are taken as zero), 3 for dynamics.
    """
    # Base: body twist to world axes; the base point is the origin, so its position drops out.
    for i in range(3):
        pose[0, 3, i] = 0.0
        for j in range(3):
            pose[0, i, j] = base[i, j]
    for i in range(6):
        eta[0, i] = 0.0
        acc[0, i] = 0.0
    if jets == 3:
        for h in range(2):
            for i in range(3):
                for j in range(3):
                    eta[0, 3 * h + i] += base[i, j] * twist[0, 3 * h + j]
                    acc[0, 3 * h + i] += base[i, j] * twist[1, 3 * h + j]
    for s in range(segment.shape[0]):
        last = 3 * (poly_size[segment[s, 5], 0] + poly_size[segment[s, 5], 1] - 1)
        before, kind = segment[s, 0], segment[s, 9]
        for i in range(segment[s, 1], segment[s, 1] + segment[s, 2]):
            psi = register[i]
            if kind == 0:
                compose(pose, before, fixed[i], pose, i + 1)
                for k in range(6):
                    eta[i + 1, k] = eta[before, k]
                    acc[i + 1, k] = acc[before, k]
            elif kind == 1:
                _real_stumpff(psi, last, cs)
                _turn_pose(pose, before, i + 1, psi, last, cs)
                kept = psi[psi.shape[0] - 1]
                kept[0], kept[1], kept[2] = cs[1], cs[2], cs[3]
                if jets == 3:
                    _turn(psi, last, cs, v)
                    _turn_to_world(pose, before, v, 2, v, 6)
                    _turn_to_world(pose, before, v, 3, v, 7)
                    add_bracket(v, 7, 1.0, eta, before, v, 6)
                    for k in range(6):
                        eta[i + 1, k] = eta[before, k] + v[6, k]
                        acc[i + 1, k] = acc[before, k] + v[7, k]
                else:
                    for k in range(6):
                        eta[i + 1, k] = 0.0
                        acc[i + 1, k] = 0.0
            elif jets == 3:
                dual_stumpff(psi, last, jets, cs, c)
                _advance_pose(pose, before, i + 1, psi, last, cs)
                # y = T(-Ψ) Ψ' in the axes of the frame before, and its rate
                for k in range(6):
                    v[0, k] = 0.0
                    v[1, k] = 0.0
                    v[2, k] = 0.0
                    v[3, k] = 0.0
                    v[4, k] = psi[last + 1, k]
                    v[5, k] = psi[last + 2, k]
                add_bracket(v, 0, 1.0, psi, last, v, 4)
                add_bracket(v, 1, 1.0, psi, last, v, 5)
                _add_scaled(v, 2, c, 0, 0, v, 4)
                _add_scaled(v, 2, c, 0, 1, v, 0)
                _add_scaled(v, 3, c, 0, 0, v, 5)
                _add_scaled(v, 3, c, 1, 0, v, 4)
                _add_scaled(v, 3, c, 0, 1, v, 1)
                _add_scaled(v, 3, c, 1, 1, v, 0)
                # c_3 Ψ (Ψ·Ψ'), rate: c_3' Ψ d + c_3 Ψ' d + c_3 Ψ d'
                dr, de = dual_dot(psi, last, v, 4)
                er, ee = dual_dot(psi, last, v, 5)
                fr, fe = dual_dot(v, 4, v, 4)
                er += fr
                ee += fe
                c3r, c3e, c3r1, c3e1 = c[0, 2, 0], c[0, 2, 1], c[1, 2, 0], c[1, 2, 1]
                _add_dual(v, 2, c3r * dr, c3r * de + c3e * dr, psi, last)
                _add_dual(v, 3, c3r * dr, c3r * de + c3e * dr, v, 4)
                _add_dual(
                    v,
                    3,
                    c3r * er + c3r1 * dr,
                    c3r * ee + c3e * er + c3r1 * de + c3e1 * dr,
                    psi,
                    last,
                )
                # into world axes: η += Ad y,  η' += Ad y' + [η_before, Ad y]
                to_world(pose, before, v, 2, v, 6)
                to_world(pose, before, v, 3, v, 7)
                add_bracket(v, 7, 1.0, eta, before, v, 6)
                for k in range(6):
                    eta[i + 1, k] = eta[before, k] + v[6, k]
                    acc[i + 1, k] = acc[before, k] + v[7, k]
            else:
                _real_stumpff(psi, last, cs)
                _advance_pose(pose, before, i + 1, psi, last, cs)
                for k in range(6):
                    eta[i + 1, k] = 0.0
                    acc[i + 1, k] = 0.0
            before = i + 1


@inner("void(f8[:,::1], i8, f8[::1])")
def _real_stumpff(psi, last, c):
    """c_0 … c_9 of the angle of psi[last]."""
    stumpff(psi[last, 0] * psi[last, 0] + psi[last, 1] * psi[last, 1] + psi[last, 2] * psi[last, 2], c)


@inner("void(f8[:,::1], i8, f8[::1], f8[:,::1])")
def _turn(psi, last, c, v):
    """v[2, :3], v[3, :3]: y = T(-Θ) Θ' and its rate for an exponent without translation."""
    x, y, z = psi[last, 0], psi[last, 1], psi[last, 2]
    x1, y1, z1 = psi[last + 1, 0], psi[last + 1, 1], psi[last + 1, 2]
    x2, y2, z2 = psi[last + 2, 0], psi[last + 2, 1], psi[last + 2, 2]
    c1, c2, c3 = c[1], c[2], c[3]
    d = x * x1 + y * y1 + z * z1
    d1 = x * x2 + y * y2 + z * z2 + x1 * x1 + y1 * y1 + z1 * z1
    # rates: dc_n/dφ = (n c_{n+2} - c_{n+1})/2 and φ' = 2 d
    r1, r2, r3 = (c[3] - c[2]) * d, (2.0 * c[4] - c[3]) * d, (3.0 * c[5] - c[4]) * d
    bx, by, bz = y * z1 - z * y1, z * x1 - x * z1, x * y1 - y * x1
    along, spread = c3 * d, c3 * d1 + r3 * d
    v[2, 0] = c1 * x1 + c2 * bx + along * x
    v[2, 1] = c1 * y1 + c2 * by + along * y
    v[2, 2] = c1 * z1 + c2 * bz + along * z
    v[3, 0] = c1 * x2 + r1 * x1 + c2 * (y * z2 - z * y2) + r2 * bx + spread * x + along * x1
    v[3, 1] = c1 * y2 + r1 * y1 + c2 * (z * x2 - x * z2) + r2 * by + spread * y + along * y1
    v[3, 2] = c1 * z2 + r1 * z1 + c2 * (x * y2 - y * x2) + r2 * bz + spread * z + along * z1


@inner("void(f8[:,:,::1], i8, i8, f8[:,::1], i8, f8[::1])")
def _turn_pose(pose, before, after, psi, last, c):
    """pose[after] = pose[before] exp(Θ): R (c_0 + c_1 Θ̂ + c_2 ΘΘᵀ), the same position."""
    x, y, z = psi[last, 0], psi[last, 1], psi[last, 2]
    c0, c1, c2 = c[0], c[1], c[2]
    for i in range(3):
        a, b, d = pose[before, i, 0], pose[before, i, 1], pose[before, i, 2]
        along = c2 * (a * x + b * y + d * z)
        pose[after, i, 0] = c0 * a + c1 * (b * z - d * y) + along * x
        pose[after, i, 1] = c0 * b + c1 * (d * x - a * z) + along * y
        pose[after, i, 2] = c0 * d + c1 * (a * y - b * x) + along * z
        pose[after, 3, i] = pose[before, 3, i]


@inner("void(f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1], i8)")
def _turn_to_world(pose, f, a, j, out, i):
    """out[i] = Ad(pose f) (a[j, :3]; 0)."""
    w0 = pose[f, 0, 0] * a[j, 0] + pose[f, 0, 1] * a[j, 1] + pose[f, 0, 2] * a[j, 2]
    w1 = pose[f, 1, 0] * a[j, 0] + pose[f, 1, 1] * a[j, 1] + pose[f, 1, 2] * a[j, 2]
    w2 = pose[f, 2, 0] * a[j, 0] + pose[f, 2, 1] * a[j, 1] + pose[f, 2, 2] * a[j, 2]
    px, py, pz = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    out[i, 0], out[i, 1], out[i, 2] = w0, w1, w2
    out[i, 3], out[i, 4], out[i, 5] = py * w2 - pz * w1, pz * w0 - px * w2, px * w1 - py * w0


@inner("void(f8[:,::1], i8, f8[::1], f8[:,::1])")
def _turn_transposed(psi, last, c, v):
    """v[1, :3] = couple of T(-Θ)ᵀ f = c_1 f - c_2 Θ×f + c_3 Θ (Θ·f) for the couple f of v[0]; c from c_1 on."""
    x, y, z = psi[last, 0], psi[last, 1], psi[last, 2]
    a, b, d = v[0, 0], v[0, 1], v[0, 2]
    along = c[2] * (x * a + y * b + z * d)
    v[1, 0] = c[0] * a - c[1] * (y * d - z * b) + along * x
    v[1, 1] = c[0] * b - c[1] * (z * a - x * d) + along * y
    v[1, 2] = c[0] * d - c[1] * (x * b - y * a) + along * z


@inner("void(f8[:,:,::1], i8, f8[:,::1], f8[:,:,::1], i8)")
def compose(pose, f, local, out, i):
    """out[i] = pose[f] ∘ local."""
    for r in range(3):
        a, b, c = pose[f, r, 0], pose[f, r, 1], pose[f, r, 2]
        for k in range(3):
            out[i, r, k] = a * local[0, k] + b * local[1, k] + c * local[2, k]
        out[i, 3, r] = pose[f, 3, r] + a * local[3, 0] + b * local[3, 1] + c * local[3, 2]


@inner
def registers(
    segment, component, poly_size, poly_pair, poly_beta, poly_linear, rest, moment_phi, bend, q, jets, register
):
    """Moments of the strain and the Lie polynomial, with time rates, for every interval."""
    for s in range(segment.shape[0]):
        first, poly = segment[s, 3], segment[s, 5]
        if segment[s, 9] == 0:
            continue
        if segment[s, 9] == 1:
            # Ψ is the only moment, the angles themselves
            for i in range(segment[s, 1], segment[s, 1] + segment[s, 2]):
                r, phi = register[i], moment_phi[i, 0]
                for jet in range(jets):
                    r[jet, 0], r[jet, 1], r[jet, 2] = 0.0, 0.0, 0.0
                    for slot in range(3):
                        low, high, shift = bend[i, 3 * slot], bend[i, 3 * slot + 1], bend[i, 3 * slot + 2]
                        for k in range(low, high):
                            r[jet, component[first + k]] += phi[k - shift] * q[jet, first + k]
            continue
        moments, operations = poly_size[poly, 0], poly_size[poly, 1]
        pair, beta, linear = poly_pair[poly], poly_beta[poly], poly_linear[poly]
        for i in range(segment[s, 1], segment[s, 1] + segment[s, 2]):
            r = register[i]
            for m in range(moments):
                phi = moment_phi[i, m]
                for c in range(6):
                    r[3 * m, c] = rest[i, m, c]
                    r[3 * m + 1, c] = 0.0
                    r[3 * m + 2, c] = 0.0
                for slot in range(6):
                    low, high, shift = bend[i, 3 * slot], bend[i, 3 * slot + 1], bend[i, 3 * slot + 2]
                    if low < high:
                        c = component[first + low]
                        for jet in range(jets):
                            total = 0.0
                            for k in range(low, high):
                                total += phi[k - shift] * q[jet, first + k]
                            r[3 * m + jet, c] += total
            for o in range(operations):
                out = 3 * (moments + o)
                for jet in range(jets):
                    for c in range(6):
                        r[out + jet, c] = 0.0
                for j in range(moments + o):
                    weight = linear[o, j]
                    if weight != 0.0:
                        for jet in range(jets):
                            for c in range(6):
                                r[out + jet, c] += weight * r[3 * j + jet, c]
                if beta[o] != 0.0:
                    add_bracket_jet(r, out, beta[o], r, 3 * pair[o, 0], r, 3 * pair[o, 1], jets)


@inner("void(f8[:,::1], i8, f8, f8[:,::1], i8, f8[:,::1], i8, i8)")
def add_bracket_jet(out, i, scale, a, j, b, k, jets):
    """out[i : i+jets] += scale [a, b] with its time rates."""
    add_bracket(out, i, scale, a, j, b, k)
    if jets == 3:
        add_bracket(out, i + 1, scale, a, j + 1, b, k)
        add_bracket(out, i + 1, scale, a, j, b, k + 1)
        add_bracket(out, i + 2, scale, a, j + 2, b, k)
        add_bracket(out, i + 2, 2.0 * scale, a, j + 1, b, k + 1)
        add_bracket(out, i + 2, scale, a, j, b, k + 2)


@inner("UniTuple(f8, 2)(f8[:,::1], i8, f8[:,::1], i8)")
def dual_dot(a, j, b, k):
    """Dual scalar product of two twists: (ω·ω, ω·v + v·ω)."""
    real = a[j, 0] * b[k, 0] + a[j, 1] * b[k, 1] + a[j, 2] * b[k, 2]
    dual = (
        a[j, 0] * b[k, 3]
        + a[j, 1] * b[k, 4]
        + a[j, 2] * b[k, 5]
        + a[j, 3] * b[k, 0]
        + a[j, 4] * b[k, 1]
        + a[j, 5] * b[k, 2]
    )
    return real, dual


@inner("void(f8[:,::1], i8, f8, f8, f8[:,::1], i8)")
def _add_dual(out, i, real, dual, a, j):
    """out[i] += (real + ε dual) a[j] for a twist a."""
    for k in range(3):
        out[i, k] += real * a[j, k]
        out[i, 3 + k] += real * a[j, 3 + k] + dual * a[j, k]


@inner("void(f8[:,::1], i8, f8[:,:,::1], i8, i8, f8[:,::1], i8)")
def _add_scaled(out, i, scalar, jet, n, a, j):
    """out[i] += c_{n+1}^(jet) a[j] with the dual Stumpff function of :func:`dual_stumpff`."""
    _add_dual(out, i, scalar[jet, n, 0], scalar[jet, n, 1], a, j)


@inner("void(f8[:,::1], i8, i8, f8[::1], f8[:,:,::1])")
def dual_stumpff(psi, row, jets, c, out):
    """Dual c_1, c_2, c_3 of Ψ·Ψ with rates into ``out``; real c_0 … c_9 into ``c``."""
    phi, phi_e = dual_dot(psi, row, psi, row)
    stumpff(phi, c)
    if jets == 3:
        a, a_e = dual_dot(psi, row, psi, row + 1)
        b, b_e = dual_dot(psi, row, psi, row + 2)
        d, d_e = dual_dot(psi, row + 1, psi, row + 1)
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


@inner("void(f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1], i8)")
def to_world(pose, f, a, j, out, i):
    """out[i] = Ad(pose f) a[j] for a twist."""
    for r in range(3):
        out[i, r] = pose[f, r, 0] * a[j, 0] + pose[f, r, 1] * a[j, 1] + pose[f, r, 2] * a[j, 2]
        out[i, 3 + r] = pose[f, r, 0] * a[j, 3] + pose[f, r, 1] * a[j, 4] + pose[f, r, 2] * a[j, 5]
    px, py, pz = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    out[i, 3] += py * out[i, 2] - pz * out[i, 1]
    out[i, 4] += pz * out[i, 0] - px * out[i, 2]
    out[i, 5] += px * out[i, 1] - py * out[i, 0]


@inner("void(f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1], i8)")
def twist_to_body(pose, f, a, j, out, i):
    """out[i] = Ad(pose f)⁻¹ a[j] for a twist in world axes."""
    px, py, pz = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    w0, w1, w2 = a[j, 0], a[j, 1], a[j, 2]
    v0 = a[j, 3] + w1 * pz - w2 * py
    v1 = a[j, 4] + w2 * px - w0 * pz
    v2 = a[j, 5] + w0 * py - w1 * px
    for r in range(3):
        out[i, r] = pose[f, 0, r] * w0 + pose[f, 1, r] * w1 + pose[f, 2, r] * w2
        out[i, 3 + r] = pose[f, 0, r] * v0 + pose[f, 1, r] * v1 + pose[f, 2, r] * v2


@inner("void(f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1], i8)")
def wrench_to_body(pose, f, a, j, out, i):
    """out[i] = Ad(pose f)ᵀ a[j] for a wrench in world axes."""
    px, py, pz = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    n0, n1, n2 = a[j, 3], a[j, 4], a[j, 5]
    c0 = a[j, 0] - py * n2 + pz * n1
    c1 = a[j, 1] - pz * n0 + px * n2
    c2 = a[j, 2] - px * n1 + py * n0
    for r in range(3):
        out[i, r] = pose[f, 0, r] * c0 + pose[f, 1, r] * c1 + pose[f, 2, r] * c2
        out[i, 3 + r] = pose[f, 0, r] * n0 + pose[f, 1, r] * n1 + pose[f, 2, r] * n2


@inner("void(f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1], i8)")
def add_wrench_to_world(pose, f, a, j, out, i):
    """out[i] += coAd(pose f) a[j] for a wrench in the axes of frame f."""
    n0 = pose[f, 0, 0] * a[j, 3] + pose[f, 0, 1] * a[j, 4] + pose[f, 0, 2] * a[j, 5]
    n1 = pose[f, 1, 0] * a[j, 3] + pose[f, 1, 1] * a[j, 4] + pose[f, 1, 2] * a[j, 5]
    n2 = pose[f, 2, 0] * a[j, 3] + pose[f, 2, 1] * a[j, 4] + pose[f, 2, 2] * a[j, 5]
    px, py, pz = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    out[i, 0] += pose[f, 0, 0] * a[j, 0] + pose[f, 0, 1] * a[j, 1] + pose[f, 0, 2] * a[j, 2] + py * n2 - pz * n1
    out[i, 1] += pose[f, 1, 0] * a[j, 0] + pose[f, 1, 1] * a[j, 1] + pose[f, 1, 2] * a[j, 2] + pz * n0 - px * n2
    out[i, 2] += pose[f, 2, 0] * a[j, 0] + pose[f, 2, 1] * a[j, 1] + pose[f, 2, 2] * a[j, 2] + px * n1 - py * n0
    out[i, 3] += n0
    out[i, 4] += n1
    out[i, 5] += n2


# ---------------------------------------------------------------------------------------------------------------
# Backward pass
# ---------------------------------------------------------------------------------------------------------------


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
def backward(
    inertia, weight, gravity, gravity_input, load_frame, load_input, load_follows, load_wrench, inputs, jets,
    pose, eta, acc, force, v,
):
    """Wrench demanded by each frame itself: inertia minus weight minus applied loads, in world axes.

    F = M η' + coad(η) M η - (m c × γ; m γ) - F_load, where M holds the water carried along, which has no weight,
    and ``weight`` = (m, m c) what buoyancy leaves. :func:`project` sums them from the tips home.
    """
    scale = 1.0
    if gravity_input[0] >= 0:
        scale = inputs[gravity_input[0]]
    gx, gy, gz = scale * gravity[0], scale * gravity[1], scale * gravity[2]
    for f in range(force.shape[0]):
        for k in range(6):
            force[f, k] = 0.0
        if weight[f, 0] != 0.0 or weight[f, 1] != 0.0 or weight[f, 2] != 0.0 or weight[f, 3] != 0.0:
            x, y, z = first_moment(pose, f, weight[f])
            force[f, 0] -= y * gz - z * gy
            force[f, 1] -= z * gx - x * gz
            force[f, 2] -= x * gy - y * gx
            force[f, 3] -= weight[f, 0] * gx
            force[f, 4] -= weight[f, 0] * gy
            force[f, 5] -= weight[f, 0] * gz
        M = inertia[f]
        if jets == 3 and has_inertia(M):
            twist_to_body(pose, f, acc, f, v, 1)
            twist_to_body(pose, f, eta, f, v, 2)
            for i in range(6):
                v[3, i] = (
                    M[i, 0] * v[1, 0] + M[i, 1] * v[1, 1] + M[i, 2] * v[1, 2]
                    + M[i, 3] * v[1, 3] + M[i, 4] * v[1, 4] + M[i, 5] * v[1, 5]
                )
                v[4, i] = (
                    M[i, 0] * v[2, 0] + M[i, 1] * v[2, 1] + M[i, 2] * v[2, 2]
                    + M[i, 3] * v[2, 3] + M[i, 4] * v[2, 4] + M[i, 5] * v[2, 5]
                )
            add_coad(v, 3, 1.0, v, 2, v, 4)
            add_wrench_to_world(pose, f, v, 3, force, f)
    for j in range(load_frame.size):
        f = load_frame[j]
        amount = inputs[load_input[j]]
        if load_follows[j] == 1:
            for k in range(6):
                v[0, k] = -amount * load_wrench[j, k]
            add_wrench_to_world(pose, f, v, 0, force, f)
        else:
            w = load_wrench[j]
            p = pose[f, 3]
            force[f, 0] -= amount * (w[0] + p[1] * w[5] - p[2] * w[4])
            force[f, 1] -= amount * (w[1] + p[2] * w[3] - p[0] * w[5])
            force[f, 2] -= amount * (w[2] + p[0] * w[4] - p[1] * w[3])
            for k in range(3, 6):
                force[f, k] -= amount * w[k]


@inner
def project(
    offset, segment, component, poly_size, poly_pair, poly_beta, poly_linear, moment_phi, bend, register, pose, force,
    bar, v, c, cs, residual,
):
    """Sum the wrenches from the tips to the base and project them on the coordinates, into ``residual``.

    Each interval projects by reverse accumulation through T(-Ψ) and the Lie polynomial: no columns are formed.
    """
    for s in range(segment.shape[0] - 1, -1, -1):
        parent, start, intervals = segment[s, 0], segment[s, 1], segment[s, 2]
        first, poly, kind = segment[s, 3], segment[s, 5], segment[s, 9]
        moments, operations = poly_size[poly, 0], poly_size[poly, 1]
        pair, beta, linear = poly_pair[poly], poly_beta[poly], poly_linear[poly]
        last = 3 * (moments + operations - 1)
        for i in range(start + intervals - 1, start - 1, -1):
            before = i
            if i == start:
                before = parent
            r = register[i]
            if kind == 1:
                wrench_to_body(pose, before, force, i + 1, v, 0)
                phi = moment_phi[i, 0]
                _turn_transposed(r, last, r[r.shape[0] - 1], v)
                for slot in range(3):
                    low, high, shift = bend[i, 3 * slot], bend[i, 3 * slot + 1], bend[i, 3 * slot + 2]
                    for k in range(low, high):
                        residual[offset + first + k] += phi[k - shift] * v[1, component[first + k]]
            elif kind == 2:
                wrench_to_body(pose, before, force, i + 1, v, 0)
                dual_stumpff(r, last, 1, cs, c)
                for j in range(moments + operations):
                    for k in range(6):
                        bar[j, k] = 0.0
                add_tangent_transposed(c, r, last, v, bar, moments + operations - 1)
                reverse(moments, operations, pair, beta, linear, r, bar)
                for m in range(moments):
                    phi = moment_phi[i, m]
                    for slot in range(6):
                        low, high, shift = bend[i, 3 * slot], bend[i, 3 * slot + 1], bend[i, 3 * slot + 2]
                        if low < high:
                            value = bar[m, component[first + low]]
                            for k in range(low, high):
                                residual[offset + first + k] += phi[k - shift] * value
            for k in range(6):
                force[before, k] += force[i + 1, k]
    if offset > 0:
        wrench_to_body(pose, 0, force, 0, v, 0)
        for k in range(6):
            residual[k] += v[0, k]


@inner
def add_tangent_transposed(c, r, last, v, bar, out):
    """bar[out] += T(-Ψ)ᵀ f = c_1 f - c_2 coad(Ψ) f + c_3 Ψ (Ψ·f), all dual, for the wrench f = v[0].

    Leaves coad(Ψ) f in v[15].
    """
    for k in range(6):
        v[15, k] = 0.0
    add_coad(v, 15, 1.0, r, last, v, 0)
    real = r[last, 0] * v[0, 3] + r[last, 1] * v[0, 4] + r[last, 2] * v[0, 5]
    dual = 0.0
    for k in range(6):
        dual += r[last, k] * v[0, k]
    along = c[0, 2, 0] * real
    along_e = c[0, 2, 0] * dual + c[0, 2, 1] * real
    for k in range(3):
        bar[out, k] += (
            c[0, 0, 0] * v[0, k]
            + c[0, 0, 1] * v[0, 3 + k]
            - c[0, 1, 0] * v[15, k]
            - c[0, 1, 1] * v[15, 3 + k]
            + along * r[last, 3 + k]
            + along_e * r[last, k]
        )
        bar[out, 3 + k] += c[0, 0, 0] * v[0, 3 + k] - c[0, 1, 0] * v[15, 3 + k] + along * r[last, k]


@inner
def reverse(moments, operations, pair, beta, linear, r, bar):
    """Adjoint of the Lie polynomial: from the last register of ``bar`` down to the moments."""
    for o in range(operations - 1, -1, -1):
        out = moments + o
        for j in range(out):
            weight = linear[o, j]
            if weight != 0.0:
                for k in range(6):
                    bar[j, k] += weight * bar[out, k]
        if beta[o] != 0.0:
            a, b = pair[o, 0], pair[o, 1]
            add_coad(bar, a, beta[o], r, 3 * b, bar, out)
            add_coad(bar, b, -beta[o], r, 3 * a, bar, out)
