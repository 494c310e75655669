"""Motion of a free base on SO(3)×R³ and on SE(3), for the time integrators.

SO(3)×R³ (the default): R = R_n exp(Θ), p = p_n + d with d in world axes, ν = (Θ; d). SE(3): g = g_n exp(ν).
:func:`retract` serves the one-step schemes, which run on (Ω, ṗ) or η directly (Gotelli 2024, App. B);
:func:`chart` the Gauss schemes, which integrate the coordinates ν themselves. Both give the body variations
(δζ, δη, δη̇) of the base per unknown, the columns that the tangent asks for.

Rotation vectors of spherical and floating joints are coordinates like any other; :func:`unwind` changes to the shorter
vector of the same rotation before they come near a full turn, where the chart ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.algebra import stumpff
from elver.kernels.build.cache import inner, kernel

__all__ = ["Turning", "chart", "mix_chart_columns", "move", "orthonormalise", "retract", "shift", "turned", "unwind"]

Floats = NDArray[np.float64]


class Turning(NamedTuple):
    """What the motion of a base works with."""

    columns: Floats  # (18, 6) body variations (δζ, δη, δη̇) of the base per unknown
    stumpff: Floats  # (12,)
    small: Floats  # (5, 3, 3)


@kernel
def turned(R, theta, cs, out):
    """out = R exp(θ)."""
    x, y, z = theta[0], theta[1], theta[2]
    stumpff(x * x + y * y + z * z, cs)
    c0, c1, c2 = cs[0], cs[1], cs[2]
    for i in range(3):
        a, b, c = R[i, 0], R[i, 1], R[i, 2]
        along = c2 * (a * x + b * y + c * z)
        out[i, 0] = c0 * a + c1 * (b * z - c * y) + along * x
        out[i, 1] = c0 * b + c1 * (c * x - a * z) + along * y
        out[i, 2] = c0 * c + c1 * (a * y - b * x) + along * z


@kernel
def _dexp(theta, cs, T):
    """T(θ) = c_1 - c_2 θ̂ + c_3 θθᵀ, with the Stumpff functions already in ``cs``."""
    x, y, z = theta[0], theta[1], theta[2]
    for i in range(3):
        for k in range(3):
            T[i, k] = cs[3] * theta[i] * theta[k]
        T[i, i] += cs[1]
    T[0, 1] += cs[2] * z
    T[0, 2] -= cs[2] * y
    T[1, 0] -= cs[2] * z
    T[1, 2] += cs[2] * x
    T[2, 0] += cs[2] * y
    T[2, 1] -= cs[2] * x


@kernel
def _dual(theta, u, v, w, cs, Q):
    """Q of dexp on SE(3) = [[T, 0], [Q, T]]: the dual part of T(θ + ε d), d = (u, v, w)."""
    x, y, z = theta[0], theta[1], theta[2]
    dot = x * u + y * v + z * w
    c2, c3 = cs[2], cs[3]
    # dual parts of c_1, c_2, c_3 at φ + ε 2θ·d
    e1 = (c3 - c2) * dot
    e2 = (2.0 * cs[4] - c3) * dot
    e3 = (3.0 * cs[5] - cs[4]) * dot
    for i in range(3):
        for k in range(3):
            Q[i, k] = e3 * theta[i] * theta[k] + c3 * (theta[i] * theta[3 + k] + theta[3 + i] * theta[k])
        Q[i, i] += e1
    hx, hy, hz = e2 * x + c2 * u, e2 * y + c2 * v, e2 * z + c2 * w
    Q[0, 1] += hz
    Q[0, 2] -= hy
    Q[1, 0] -= hz
    Q[1, 2] += hx
    Q[2, 0] += hy
    Q[2, 1] -= hx


@kernel
def move(base_n, nu, cs, base):
    """g = g_n exp(ν) on SE(3): p = p_n + R_n V(θ) d with V(θ) = T(-θ)."""
    turned(base_n, nu, cs, base)
    x, y, z = nu[0], nu[1], nu[2]
    u, v, w = nu[3], nu[4], nu[5]
    c1, c2, c3 = cs[1], cs[2], cs[3]
    dot = x * u + y * v + z * w
    d0 = c1 * u + c2 * (y * w - z * v) + c3 * dot * x
    d1 = c1 * v + c2 * (z * u - x * w) + c3 * dot * y
    d2 = c1 * w + c2 * (x * v - y * u) + c3 * dot * z
    for i in range(3):
        base[3, i] = base_n[3, i] + base_n[i, 0] * d0 + base_n[i, 1] * d1 + base_n[i, 2] * d2


@kernel
def retract(on_se3, base_n, nu, rates, weights, turning, base, twist):
    """Base pose, body twist and rate at increment ν with scheme rates (2, 6); variations into turning.columns.

    SO(3)×R³: rates are (Ω; ṗ) and (Ω̇; p̈), V = Rᵀṗ, V̇ = Rᵀp̈ - Ω×V. SE(3): rates are η and η̇. ``weights`` (3,) of the
    increment in pose, rates and accelerations.
    """
    for i in range(18):
        for k in range(6):
            turning.columns[i, k] = 0.0
    if on_se3 == 1:
        move(base_n, nu, turning.stumpff, base)
        for k in range(6):
            twist[0, k] = rates[0, k]
            twist[1, k] = rates[1, k]
        _columns_on_se3(nu, weights, turning)
        return
    turned(base_n, nu, turning.stumpff, base)
    R, V, A, W = base, turning.small[2, 0], turning.small[2, 1], twist[0]
    for i in range(3):
        base[3, i] = base_n[3, i] + nu[3 + i]
        twist[0, i] = rates[0, i]
        twist[1, i] = rates[1, i]
        V[i] = R[0, i] * rates[0, 3] + R[1, i] * rates[0, 4] + R[2, i] * rates[0, 5]
        A[i] = R[0, i] * rates[1, 3] + R[1, i] * rates[1, 4] + R[2, i] * rates[1, 5]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        twist[0, 3 + i] = V[i]
        twist[1, 3 + i] = A[i] - (W[j] * V[k] - W[k] * V[j])
    _columns_on_so3(nu, weights, turning, R, W)


@kernel
def _columns_on_se3(nu, weights, turning):
    """Body variations with ν, of the pose by dexp on SE(3) = [[T, 0], [Q, T]]; Stumpff functions are there."""
    C, cs, T, Q = turning.columns, turning.stumpff, turning.small[0], turning.small[1]
    _dexp(nu, cs, T)
    _dual(nu, nu[3], nu[4], nu[5], cs, Q)
    for i in range(3):
        for k in range(3):
            C[i, k] = T[i, k]
            C[3 + i, 3 + k] = T[i, k]
            C[3 + i, k] = Q[i, k]
    for k in range(6):
        C[6 + k, k] = weights[1]
        C[12 + k, k] = weights[2]


@kernel
def _columns_on_so3(nu, weights, turning, R, W):
    """Body variations with ν at the rotation R and the spin W; V and Rᵀp̈ and the Stumpff functions are there."""
    C, T, G, a, b = turning.columns, turning.small[0], turning.small[3], weights[1], weights[2]
    V, A = turning.small[2, 0], turning.small[2, 1]
    _dexp(nu, turning.stumpff, T)
    # Â - Ω̂V̂ ; Ω̂V̂ = V Ωᵀ - (Ω·V) 1
    dot = W[0] * V[0] + W[1] * V[1] + W[2] * V[2]
    for i in range(3):
        for k in range(3):
            G[i, k] = -V[i] * W[k]
        G[i, i] += dot
    G[0, 1] -= A[2]
    G[0, 2] += A[1]
    G[1, 0] += A[2]
    G[1, 2] -= A[0]
    G[2, 0] -= A[1]
    G[2, 1] += A[0]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        C[6 + i, i] = a
        C[12 + i, i] = b
        for c in range(3):
            C[i, c] = T[i, c]
            C[3 + i, 3 + c] = R[c, i]
            C[9 + i, c] = V[j] * T[k, c] - V[k] * T[j, c]
            C[9 + i, 3 + c] = a * R[c, i]
            C[15 + i, c] = G[i, 0] * T[0, c] + G[i, 1] * T[1, c] + G[i, 2] * T[2, c]
            C[15 + i, 3 + c] = b * R[c, i] - a * (W[j] * R[c, k] - W[k] * R[c, j])
        # a V̂
        C[15 + i, j] -= a * V[k]
        C[15 + i, k] += a * V[j]


@kernel
def _dexp_rate(x, x_dot, cs, S):
    """S = rate of T on SO(3): ċ_1 - ċ_2 θ̂ - c_2 θ̇^ + ċ_3 θθᵀ + c_3 (θ̇θᵀ + θθ̇ᵀ), Stumpff functions in ``cs``."""
    rate = 2.0 * (x[0] * x_dot[0] + x[1] * x_dot[1] + x[2] * x_dot[2])
    d1 = 0.5 * (cs[3] - cs[2]) * rate
    d2 = 0.5 * (2.0 * cs[4] - cs[3]) * rate
    d3 = 0.5 * (3.0 * cs[5] - cs[4]) * rate
    for i in range(3):
        for k in range(3):
            S[i, k] = d3 * x[i] * x[k] + cs[3] * (x_dot[i] * x[k] + x[i] * x_dot[k])
        S[i, i] += d1
    hx, hy, hz = d2 * x[0] + cs[2] * x_dot[0], d2 * x[1] + cs[2] * x_dot[1], d2 * x[2] + cs[2] * x_dot[2]
    S[0, 1] += hz
    S[0, 2] -= hy
    S[1, 0] -= hz
    S[1, 2] += hx
    S[2, 0] += hy
    S[2, 1] -= hx


@kernel
def shift(base, step, cs, small):
    """base <- base exp(step), to first order in the position: R exp(ζ_ω), p + R ζ_v."""
    out = small[0]
    for i in range(3):
        base[3, i] += base[i, 0] * step[3] + base[i, 1] * step[4] + base[i, 2] * step[5]
    turned(base, step, cs, out)
    for i in range(3):
        for k in range(3):
            base[i, k] = out[i, k]


@kernel
def unwind(first, q, small, cs):
    """Rotation vectors longer than 1.2 π become the shorter one of the same rotation; True when any did.

    ``first`` lists the first coordinate of each. With Ω = T(Θ)Θ' and its rate the same before and after, rates and
    accelerations change along (all rows of ``q`` from the third on are accelerations).
    """
    changed = False
    T, S, x, omega = small[0], small[1], small[2, 0], small[2, 1]
    for j in range(first.size):
        k = first[j]
        angle = math.sqrt(q[0, k] ** 2 + q[0, k + 1] ** 2 + q[0, k + 2] ** 2)
        if angle <= 1.2 * math.pi:
            continue
        changed = True
        factor = 1.0 - 2.0 * math.pi / angle
        old_rate = small[2, 2]
        for i in range(3):
            x[i] = q[0, k + i]
            old_rate[i] = q[1, k + i]
        stumpff(angle * angle, cs)
        _dexp(x, cs, T)
        _dexp_rate(x, old_rate, cs, S)
        # Ω in the place of the rate, Ω' in the place of the accelerations
        for row in range(q.shape[0] - 1, 0, -1):
            for i in range(3):
                omega[i] = 0.0
                for c in range(3):
                    omega[i] += T[i, c] * q[row, k + c]
                    if row > 1:
                        omega[i] += S[i, c] * old_rate[c]
            for i in range(3):
                q[row, k + i] = omega[i]
        for i in range(3):
            x[i] *= factor
            q[0, k + i] = x[i]
        square = (factor * angle) ** 2
        stumpff(square, cs)
        _dexp(x, cs, T)
        for row in range(1, q.shape[0]):
            if row == 2:
                for i in range(3):
                    old_rate[i] = q[1, k + i]
                _dexp_rate(x, old_rate, cs, S)
            if row > 1:
                for i in range(3):
                    for c in range(3):
                        q[row, k + i] -= S[i, c] * old_rate[c]
            for i in range(3):
                omega[i] = q[row, k + i]
            # T⁻¹ = 1 + ½ θ̂ + c θ̂², c = (1 - (θ/2) cot(θ/2))/θ², with θ̂² = θθᵀ - θ²
            half = 0.5 * abs(factor) * angle
            c2 = (1.0 - half * math.cos(half) / math.sin(half)) / square
            dot = x[0] * omega[0] + x[1] * omega[1] + x[2] * omega[2]
            for i in range(3):
                a, b = (i + 1) % 3, (i + 2) % 3
                turn = x[a] * omega[b] - x[b] * omega[a]
                q[row, k + i] = omega[i] + 0.5 * turn + c2 * (x[i] * dot - square * omega[i])
    return changed


@kernel
def chart(on_se3, base_n, x, x_dot, x_ddot, turning, base, twist):
    """Base at chart coordinates ν with ν', ν'': the true body twist and its rate.

    SO(3)×R³: Ω = T(Θ)Θ', and as in :func:`retract`. SE(3): η = T(ν)ν' with dual T.
    """
    cs, T, S = turning.stumpff, turning.small[0], turning.small[1]
    turned(base_n, x, cs, base)
    _dexp(x, cs, T)
    _dexp_rate(x, x_dot, cs, S)
    for i in range(3):
        twist[0, i] = 0.0
        twist[1, i] = 0.0
        for k in range(3):
            twist[0, i] += T[i, k] * x_dot[k]
            twist[1, i] += T[i, k] * x_ddot[k] + S[i, k] * x_dot[k]
    W, V = twist[0], turning.small[2, 0]
    if on_se3 == 0:
        for i in range(3):
            base[3, i] = base_n[3, i] + x[3 + i]
        v, a = turning.small[2, 1], turning.small[2, 2]
        for i in range(3):
            v[i] = x_dot[3 + i]
            a[i] = x_ddot[3 + i]
    else:
        # p - p_n = R_n U d with U = T(-θ): world rates by the product rule, U = c_1 + c_2 θ̂ + c_3 θθᵀ
        _se3_position(base_n, x, x_dot, x_ddot, cs, turning.small, base)
        v, a = turning.small[2, 1], turning.small[2, 2]
    for i in range(3):
        V[i] = base[0, i] * v[0] + base[1, i] * v[1] + base[2, i] * v[2]
        twist[0, 3 + i] = V[i]
        twist[1, 3 + i] = base[0, i] * a[0] + base[1, i] * a[1] + base[2, i] * a[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        twist[1, 3 + i] -= W[j] * V[k] - W[k] * V[j]


@kernel
def _se3_position(base_n, x, x_dot, x_ddot, cs, small, base):
    """Position of g_n exp(ν) with its first and second rate in world axes, into base[3], small[2, 1], small[2, 2]."""
    t0, t1, t2 = x[0], x[1], x[2]
    phi1 = 2.0 * (t0 * x_dot[0] + t1 * x_dot[1] + t2 * x_dot[2])
    phi2 = 2.0 * (t0 * x_ddot[0] + t1 * x_ddot[1] + t2 * x_ddot[2])
    phi2 += 2.0 * (x_dot[0] ** 2 + x_dot[1] ** 2 + x_dot[2] ** 2)
    local = small[4]
    for k in range(3):
        local[0, k] = 0.0
        local[1, k] = 0.0
        local[2, k] = 0.0
    for n in range(1, 4):
        first = 0.5 * (n * cs[n + 2] - cs[n + 1])
        p1 = 0.5 * ((n + 1) * cs[n + 3] - cs[n + 2])
        r1 = 0.5 * ((n + 2) * cs[n + 4] - cs[n + 3])
        second = 0.5 * (n * r1 - p1)
        c, c_dot, c_ddot = cs[n], first * phi1, second * phi1 * phi1 + first * phi2
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            if n == 1:
                w, w1, w2 = x[3 + k], x_dot[3 + k], x_ddot[3 + k]
            elif n == 2:
                w = x[i] * x[3 + j] - x[j] * x[3 + i]
                w1 = x_dot[i] * x[3 + j] - x_dot[j] * x[3 + i] + x[i] * x_dot[3 + j] - x[j] * x_dot[3 + i]
                w2 = x_ddot[i] * x[3 + j] - x_ddot[j] * x[3 + i] + x[i] * x_ddot[3 + j] - x[j] * x_ddot[3 + i]
                w2 += 2.0 * (x_dot[i] * x_dot[3 + j] - x_dot[j] * x_dot[3 + i])
            else:
                s = t0 * x[3] + t1 * x[4] + t2 * x[5]
                s1 = t0 * x_dot[3] + t1 * x_dot[4] + t2 * x_dot[5]
                s1 += x_dot[0] * x[3] + x_dot[1] * x[4] + x_dot[2] * x[5]
                s2 = t0 * x_ddot[3] + t1 * x_ddot[4] + t2 * x_ddot[5]
                s2 += x_ddot[0] * x[3] + x_ddot[1] * x[4] + x_ddot[2] * x[5]
                s2 += 2.0 * (x_dot[0] * x_dot[3] + x_dot[1] * x_dot[4] + x_dot[2] * x_dot[5])
                w = s * x[k]
                w1 = s1 * x[k] + s * x_dot[k]
                w2 = s2 * x[k] + 2.0 * s1 * x_dot[k] + s * x_ddot[k]
            local[0, k] += c * w
            local[1, k] += c_dot * w + c * w1
            local[2, k] += c_ddot * w + 2.0 * c_dot * w1 + c * w2
    for i in range(3):
        r0, r1, r2 = base_n[i, 0], base_n[i, 1], base_n[i, 2]
        base[3, i] = base_n[3, i] + r0 * local[0, 0] + r1 * local[0, 1] + r2 * local[0, 2]
        small[2, 1, i] = r0 * local[1, 0] + r1 * local[1, 1] + r2 * local[1, 2]
        small[2, 2, i] = r0 * local[2, 0] + r1 * local[2, 1] + r2 * local[2, 2]


@kernel
def orthonormalise(R):
    """One Newton step back to the rotations, R (3 - RᵀR)/2, so that rounding does not pile up over many steps."""
    s00 = R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0] + R[2, 0] * R[2, 0]
    s11 = R[0, 1] * R[0, 1] + R[1, 1] * R[1, 1] + R[2, 1] * R[2, 1]
    s22 = R[0, 2] * R[0, 2] + R[1, 2] * R[1, 2] + R[2, 2] * R[2, 2]
    s01 = R[0, 0] * R[0, 1] + R[1, 0] * R[1, 1] + R[2, 0] * R[2, 1]
    s02 = R[0, 0] * R[0, 2] + R[1, 0] * R[1, 2] + R[2, 0] * R[2, 2]
    s12 = R[0, 1] * R[0, 2] + R[1, 1] * R[1, 2] + R[2, 1] * R[2, 2]
    for i in range(3):
        a, b, c = R[i, 0], R[i, 1], R[i, 2]
        R[i, 0] = 0.5 * (a * (3.0 - s00) - b * s01 - c * s02)
        R[i, 1] = 0.5 * (b * (3.0 - s11) - a * s01 - c * s12)
        R[i, 2] = 0.5 * (c * (3.0 - s22) - a * s02 - b * s12)


@inner("void(f8[:], f8[:,:], f8, f8[:,:])")
def _add_hat(a, A, factor, out):
    """out += factor â A, all 3x3."""
    x, y, z = factor * a[0], factor * a[1], factor * a[2]
    for c in range(3):
        u, v, w = A[0, c], A[1, c], A[2, c]
        out[0, c] += y * w - z * v
        out[1, c] += z * u - x * w
        out[2, c] += x * v - y * u


@kernel
def _chart_columns(on_se3, which, nu, base, twist, turning):
    """Variations of pose, twist and rate (rows of turning.columns) with ν, ν' or ν'' (``which`` = 0, 1, 2).

    Exact in ν'' and in the pose; in ν and ν' the derivative of T = 1 - ½ ad(ν) + ⅙ ad(ν)² ... is kept to the orders
    that matter for Newton: δη = ½ ad(η) δν, δη̇ = ½ ad(η̇) δν - ⅙ ad(η)² δν.
    """
    C, cs, small = turning.columns, turning.stumpff, turning.small
    T, Q, acceleration, one = small[0], small[1], small[2, 0], small[3]
    for i in range(18):
        for k in range(6):
            C[i, k] = 0.0
    for i in range(3):
        for k in range(3):
            one[i, k] = 1.0 if i == k else 0.0
    stumpff(nu[0] * nu[0] + nu[1] * nu[1] + nu[2] * nu[2], cs)
    _dexp(nu, cs, T)
    _dual(nu, nu[3], nu[4], nu[5], cs, Q)
    row = 6 * which
    for i in range(3):
        for k in range(3):
            C[row + i, k] = T[i, k]
            if on_se3 == 1:
                C[row + 3 + i, k] = Q[i, k]
                C[row + 3 + i, 3 + k] = T[i, k]
            else:
                C[row + 3 + i, 3 + k] = base[k, i]
    W, V, W_dot, V_dot = twist[0, :3], twist[0, 3:], twist[1, :3], twist[1, 3:]
    twist_angular, rate_angular = C[6:9, :3], C[12:15, :3]
    twist_linear, rate_linear = C[9:12, :3], C[15:18, :3]
    if which == 0:
        _add_hat(W, one, 0.5, twist_angular)
        _add_hat(W_dot, one, 0.5, rate_angular)
        _add_hat(W, twist_angular, -1.0 / 3.0, rate_angular)
    if on_se3 == 1:
        if which == 0:
            _add_hat(V, one, 0.5, twist_linear)
            _add_hat(V_dot, one, 0.5, rate_linear)
            _add_hat(V, twist_angular, -1.0 / 3.0, rate_linear)
            _add_hat(W, twist_linear, -1.0 / 3.0, rate_linear)
            for i in range(3):
                for k in range(3):
                    C[9 + i, 3 + k] = C[6 + i, k]
                    C[15 + i, 3 + k] = C[12 + i, k]
        return
    # V = Rᵀṗ, V̇ = Rᵀp̈ - Ω×V
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        acceleration[i] = V_dot[i] + W[j] * V[k] - W[k] * V[j]
    if which == 0:
        _add_hat(V, T, 1.0, twist_linear)
        _add_hat(acceleration, T, 1.0, rate_linear)
    if which < 2:
        _add_hat(V, twist_angular, 1.0, rate_linear)
        _add_hat(W, twist_linear, -1.0, rate_linear)
    if which == 1:
        _add_hat(W, C[9:12, 3:6], -1.0, C[15:18, 3:6])


@kernel
def mix_chart_columns(on_se3, nu, weights, turning, base, twist, mixed):
    """mixed (18, 6) = variations of the base when ν, ν' and ν'' vary with these weights."""
    for i in range(18):
        for k in range(6):
            mixed[i, k] = 0.0
    for which in range(3):
        _chart_columns(on_se3, which, nu, base, twist, turning)
        for i in range(18):
            for k in range(6):
                mixed[i, k] += weights[which] * turning.columns[i, k]
