"""Compiled solvers: Newton for equilibria, and the two families of implicit time steps.

**One-step family** (Newmark, HHT, generalized-α; Gotelli 2024 sections 3.2, 4.5): with d the increment of a
coordinate over the step, x' = a d + f and x'' = b d + h, and the residual is required at the end of the step.

**Gauss family** (implicit midpoint, order 4 with two stages): the accelerations of the stages are the unknowns,

    x_i = x_n + c_i h x'_n + h² Σ ā_ij x''_j ,    x'_i = x'_n + h Σ a_ij x''_j ,

solved by simplified Newton. A free base moves on SO(3)×R³ (Θ in body axes, d in world axes) or on SE(3); the one-step
family applies its formulas to (Ω, ṗ) or η directly, the Gauss family integrates the chart coordinates ν.

Matrices are kept from step to step as long as Newton contracts well with them; a step that fails from the present
acceleration is tried once more from the present velocity. Functions return a status and never raise. Residual and
tangent come in as function pointers (see :mod:`elver.kernels.entry`): a solver that contained their bodies would be
optimised with them once more, which takes six times as long to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.algebra import lu_factor, lu_solve, stumpff
from elver.kernels.cache import kernel

__all__ = ["March", "march_for", "march_gauss", "march_one_step", "solve_static"]

Floats = NDArray[np.float64]


class March(NamedTuple):
    """Scratch arrays of the solvers."""

    q: Floats  # (3, n) trial coordinates and rates
    base: Floats  # (4, 3) trial base
    twist: Floats  # (2, 6) trial body twist and rate
    step: Floats  # (size,) Newton increment
    total: Floats  # (coordinates,) increment since the last step
    free: Floats  # (2, coordinates) x_dot_free, x_ddot_free
    columns: Floats  # (18, 6) body variations of the base per unknown
    mixed: Floats  # (18, 6) the same for a mixture of rates
    weights: Floats  # (3,)
    scale: Floats  # (coordinates,) large change of each unknown
    small: Floats  # (5, 3, 3) rotations
    stumpff: Floats  # (12,)
    stage: Floats  # (3, stages, coordinates) accelerations: now, previous step, chart coordinates
    big: Floats  # (stages coordinates, stages coordinates)
    big_step: Floats  # (stages coordinates,)
    big_pivots: NDArray[np.int64]
    memory: Floats  # (3,) from step to step: contraction of Newton, step of the matrix, step of the last stages


def march_for(coordinates: int, n: int, rows: int, scale: Floats, stages: int) -> March:
    """Scratch arrays for ``coordinates`` unknowns (base and strains), of which ``n`` strains, and ``rows``."""
    return March(
        q=np.zeros((3, n)),
        base=np.zeros((4, 3)),
        twist=np.zeros((2, 6)),
        step=np.zeros(coordinates + rows),
        total=np.zeros(coordinates),
        free=np.zeros((2, coordinates)),
        columns=np.zeros((18, 6)),
        mixed=np.zeros((18, 6)),
        weights=np.zeros(3),
        scale=np.array(scale, dtype=float),
        small=np.zeros((5, 3, 3)),
        stumpff=np.zeros(12),
        stage=np.zeros((4, stages, coordinates)),
        big=np.zeros((stages * coordinates, stages * coordinates)),
        big_step=np.zeros(stages * coordinates),
        big_pivots=np.zeros(stages * coordinates, dtype=np.int64),
        memory=np.array([1.0, -1.0, -1.0]),
    )


# ---------------------------------------------------------------------------------------------------------------
# Base on SO(3)×R³ and SE(3)
# ---------------------------------------------------------------------------------------------------------------


@kernel
def _rotate(R, theta, cs, out):
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
def _retract(on_se3, base_n, nu, rates, a, b, m, base, twist):
    """Base pose, body twist and rate at increment ν with scheme rates (2, 6); variations into m.columns.

    SO(3)×R³: rates are (Ω; ṗ) and (Ω̇; p̈), V = Rᵀṗ, V̇ = Rᵀp̈ - Ω×V. SE(3): rates are η and η̇.
    """
    C, cs, T, small = m.columns, m.stumpff, m.small[0], m.small
    for i in range(18):
        for k in range(6):
            C[i, k] = 0.0
    _rotate(base_n, nu, cs, base)
    _dexp(nu, cs, T)
    if on_se3 == 1:
        # p = p_n + R_n V(θ) d with V(θ) = T(-θ); dexp on SE(3) = [[T, 0], [Q, T]]
        x, y, z = nu[0], nu[1], nu[2]
        u, v, w = nu[3], nu[4], nu[5]
        c1, c2, c3 = cs[1], cs[2], cs[3]
        dot = x * u + y * v + z * w
        d0 = c1 * u + c2 * (y * w - z * v) + c3 * dot * x
        d1 = c1 * v + c2 * (z * u - x * w) + c3 * dot * y
        d2 = c1 * w + c2 * (x * v - y * u) + c3 * dot * z
        Q = small[1]
        _dual(nu, u, v, w, cs, Q)
        for i in range(3):
            base[3, i] = base_n[3, i] + base_n[i, 0] * d0 + base_n[i, 1] * d1 + base_n[i, 2] * d2
            for k in range(3):
                C[i, k] = T[i, k]
                C[3 + i, 3 + k] = T[i, k]
                C[3 + i, k] = Q[i, k]
        for k in range(6):
            twist[0, k] = rates[0, k]
            twist[1, k] = rates[1, k]
            C[6 + k, k] = a
            C[12 + k, k] = b
        return
    for i in range(3):
        base[3, i] = base_n[3, i] + nu[3 + i]
        twist[0, i] = rates[0, i]
        twist[1, i] = rates[1, i]
    R = base
    V, A, W = small[2, 0], small[2, 1], twist[0]
    for i in range(3):
        V[i] = R[0, i] * rates[0, 3] + R[1, i] * rates[0, 4] + R[2, i] * rates[0, 5]
        A[i] = R[0, i] * rates[1, 3] + R[1, i] * rates[1, 4] + R[2, i] * rates[1, 5]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        twist[0, 3 + i] = V[i]
        twist[1, 3 + i] = A[i] - (W[j] * V[k] - W[k] * V[j])
    # Â - Ω̂V̂ ; Ω̂V̂ = V Ωᵀ - (Ω·V) 1
    G = small[3]
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
def _chart(on_se3, base_n, x, x_dot, x_ddot, m, base, twist):
    """Base at chart coordinates ν with ν', ν'': the true body twist and its rate.

    SO(3)×R³: Ω = T(Θ)Θ', and as in :func:`_retract`. SE(3): η = T(ν)ν' with dual T.
    """
    cs, T, S = m.stumpff, m.small[0], m.small[1]
    _rotate(base_n, x, cs, base)
    _dexp(x, cs, T)
    # rate of T on SO(3): dT = ċ_1 - ċ_2 θ̂ - c_2 θ̇^ + ċ_3 θθᵀ + c_3 (θ̇θᵀ + θθ̇ᵀ)
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
    for i in range(3):
        twist[0, i] = 0.0
        twist[1, i] = 0.0
        for k in range(3):
            twist[0, i] += T[i, k] * x_dot[k]
            twist[1, i] += T[i, k] * x_ddot[k] + S[i, k] * x_dot[k]
    W, V = twist[0], m.small[2, 0]
    if on_se3 == 0:
        for i in range(3):
            base[3, i] = base_n[3, i] + x[3 + i]
        v, a = m.small[2, 1], m.small[2, 2]
        for i in range(3):
            v[i] = x_dot[3 + i]
            a[i] = x_ddot[3 + i]
    else:
        # p - p_n = R_n U d with U = T(-θ): world rates by the product rule, U = c_1 + c_2 θ̂ + c_3 θθᵀ
        _se3_position(base_n, x, x_dot, x_ddot, cs, m.small, base)
        v, a = m.small[2, 1], m.small[2, 2]
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
def _orthonormalise(R):
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


# ---------------------------------------------------------------------------------------------------------------
# Statics
# ---------------------------------------------------------------------------------------------------------------


@kernel
def _residual_norm(residual, scale, coordinates, energy):
    """Largest generalized force times its unit of change, over the energy scale; closures as they are."""
    norm = 0.0
    for k in range(residual.size):
        value = abs(residual[k])
        if k < coordinates:
            value *= scale[k] / energy
        if not value <= norm:
            norm = value
    return norm


@kernel
def solve_static(
    evaluate_residual, evaluate_tangent, program, work, m,
    base, q, multipliers, inputs, energy, tolerance, largest, history,
):
    """Newton for R = 0 at rest, in place on base (4, 3), q (3, n), multipliers.

    Steps are limited to ``largest`` times the scale of each unknown. Returns the number of iterations, or -1 when
    not converged within ``history.size``, -2 on a singular matrix, -3 when numbers broke; ``history`` holds the
    scaled residual norms, NaN behind the last.
    """
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    for i in range(18):
        for k in range(6):
            m.columns[i, k] = 1.0 if i == k else 0.0
    m.weights[0], m.weights[1], m.weights[2] = 1.0, 0.0, 0.0
    for k in range(2):
        for i in range(6):
            m.twist[k, i] = 0.0
        for i in range(n):
            q[1 + k, i] = 0.0
    for i in range(history.size):
        history[i] = np.nan
    for it in range(history.size):
        evaluate_residual(program, work, base, m.twist, q, multipliers, inputs, 1)
        norm = _residual_norm(work.residual, m.scale, coordinates, energy)
        history[it] = norm
        if not np.isfinite(norm):
            return -3
        if norm < tolerance:
            return it
        evaluate_tangent(program, work, base, q, multipliers, inputs, m.columns, m.weights, 1)
        if lu_factor(work.matrix, work.pivots) < 1e-300:
            return -2
        step = m.step
        for k in range(step.size):
            step[k] = -work.residual[k]
        lu_solve(work.matrix, work.pivots, step)
        size = 0.0
        for k in range(coordinates):
            size = max(size, abs(step[k]) / m.scale[k])
        if not np.isfinite(size):
            return -2
        factor = 1.0 if size <= largest else largest / size
        for k in range(n):
            q[0, k] += factor * step[offset + k]
        for k in range(multipliers.size):
            multipliers[k] += factor * step[coordinates + k]
        if offset > 0:
            for k in range(6):
                step[k] *= factor
            _retract(1, base, step, m.twist, 0.0, 0.0, m, m.base, m.twist)
            for i in range(4):
                for k in range(3):
                    base[i, k] = m.base[i, k]
            for i in range(18):
                for k in range(6):
                    m.columns[i, k] = 1.0 if i == k else 0.0
    evaluate_residual(program, work, base, m.twist, q, multipliers, inputs, 1)
    if _residual_norm(work.residual, m.scale, coordinates, energy) < tolerance:
        return history.size
    return -1


# ---------------------------------------------------------------------------------------------------------------
# One-step family
# ---------------------------------------------------------------------------------------------------------------


@kernel
def march_one_step(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, scheme, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, tolerance, iterations_max,
    out_q, out_base, out_twist, out_multipliers, out_iterations,
):
    """Newmark-type steps over ``times``; returns the number of steps done (all, or the failing one's index).

    ``scheme`` = (β, γ, α_m, α_f). State in place: base (4, 3), rates (3, 6) of the scheme on the base with the
    pseudo-acceleration last, q (4, n) likewise, multipliers. A driven base follows given_base, given_twist.
    Outputs have one row per time, the first being the start.
    """
    beta, gamma, alpha_m, alpha_f = scheme[0], scheme[1], scheme[2], scheme[3]
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    for step in range(times.size - 1):
        h = times[step + 1] - times[step]
        a = gamma / (beta * h)
        b = (1.0 - alpha_m) / (beta * h * h * (1.0 - alpha_f))
        m.weights[0], m.weights[1], m.weights[2] = 1.0, a, b
        ratio = (1.0 - alpha_m) / (1.0 - alpha_f)
        # what the rates would be without a further increment
        for k in range(coordinates):
            if k < offset:
                v, acc, like = rates[0, k], rates[1, k], rates[2, k]
            else:
                v, acc, like = q[1, k - offset], q[2, k - offset], q[3, k - offset]
            m.free[0, k] = (1.0 - gamma / beta) * v + h * (1.0 - 0.5 * gamma / beta) * like
            m.free[1, k] = ratio * (-v / (beta * h) + (1.0 - 0.5 / beta) * like)
            m.free[1, k] += (alpha_m * like - alpha_f * acc) / (1.0 - alpha_f)
        count = -1
        for careful in range(2):
            if count >= 0:
                break
            for k in range(multipliers.size):
                multipliers[k] = out_multipliers[step, k]
            count = _newton_step(
                evaluate_residual, evaluate_tangent, program, work, m, on_se3, a, b, h, base, rates, q, multipliers,
                inputs[step + 1], given_base[step + 1], given_twist[step + 1], tolerance, iterations_max, careful,
            )
        if count < 0:
            return step
        _trial(on_se3, m, a, b, base, q, rates, offset, given_base[step + 1], given_twist[step + 1])
        # accept
        for k in range(coordinates):
            v = a * m.total[k] + m.free[0, k]
            acc = b * m.total[k] + m.free[1, k]
            if k < offset:
                like = ((1.0 - alpha_f) * acc + alpha_f * rates[1, k] - alpha_m * rates[2, k]) / (1.0 - alpha_m)
                rates[0, k], rates[1, k], rates[2, k] = v, acc, like
            else:
                j = k - offset
                like = ((1.0 - alpha_f) * acc + alpha_f * q[2, j] - alpha_m * q[3, j]) / (1.0 - alpha_m)
                q[0, j] += m.total[k]
                q[1, j], q[2, j], q[3, j] = v, acc, like
        for i in range(4):
            for k in range(3):
                base[i, k] = m.base[i, k]
        _orthonormalise(base)
        _record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
        out_iterations[step + 1] = count
    return times.size - 1


@kernel
def _newton_step(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, a, b, h, base, rates, q, multipliers,
    u, given_base, given_twist, tolerance, iterations_max, careful,
):
    """Newton for the increment m.total of one step; number of iterations, or -1.

    The predictor keeps the acceleration. Where that is far off (stiff modes set off by a sudden load), ``careful``
    starts from the velocity alone, with strains that change by half a radian over the rod at most.
    """
    coordinates, memory = m.total.size, m.memory
    offset = coordinates - q.shape[1]
    largest = 0.0
    for k in range(coordinates):
        if careful == 1:
            m.total[k] = h * (rates[0, k] if k < offset else q[1, k - offset])
            if k >= offset:
                largest = max(largest, abs(m.total[k]) / m.scale[k])
        else:
            m.total[k] = ((rates[1, k] if k < offset else q[2, k - offset]) - m.free[1, k]) / b
    if largest > 0.5:
        for k in range(offset, coordinates):
            m.total[k] *= 0.5 / largest
    if careful == 1:
        memory[0], memory[1] = 1.0, -1.0
    previous, contraction, first = 0.0, memory[0], memory[0]
    for count in range(1, iterations_max + 1):
        _trial(on_se3, m, a, b, base, q, rates, offset, given_base, given_twist)
        evaluate_residual(program, work, m.base, m.twist, m.q, multipliers, u, 3)
        fresh, size = False, 0.0
        while True:
            if abs(memory[1] - h) > 1e-9 * h:
                evaluate_tangent(program, work, m.base, m.q, multipliers, u, m.columns, m.weights, 3)
                if lu_factor(work.matrix, work.pivots) < 1e-300:
                    memory[1] = -1.0
                    return -1
                memory[1], fresh = h, True
            for k in range(m.step.size):
                m.step[k] = -work.residual[k]
            lu_solve(work.matrix, work.pivots, m.step)
            size = 0.0
            for k in range(coordinates):
                value = abs(m.step[k]) / m.scale[k]
                if not value <= size:
                    size = value
            if fresh or previous == 0.0 or size <= 0.1 * previous or size <= tolerance:
                break
            memory[1] = -1.0  # this matrix is too old: take a new one at the present trial
        if not np.isfinite(size):
            break
        if previous > 0.0:
            contraction = size / previous
            if count == 2:
                first = contraction
        factor = 1.0 if size < 1.0 else 1.0 / size
        for k in range(coordinates):
            m.total[k] += factor * m.step[k]
        for k in range(multipliers.size):
            multipliers[k] += factor * m.step[coordinates + k]
        if _small(size, contraction, previous, fresh, tolerance):
            memory[0] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[1] = -1.0  # the next step begins with a new matrix
            return count
        if fresh and contraction > 0.1:
            memory[1] = -1.0
        previous = size * factor
    memory[1] = -1.0
    return -1


@kernel
def _small(size, contraction, previous, fresh, tolerance):
    """True when what Newton leaves behind after a correction of this size is below the tolerance, or is rounding."""
    # before a contraction was seen in this step, that of the last one is trusted to one digit only
    guess = min(contraction, 0.9) if previous > 0.0 else max(min(contraction, 0.9), 0.1)
    if size * guess < tolerance * (1.0 - guess):
        return True
    # with a new matrix, a small correction that no longer shrinks is rounding
    return fresh and previous > 0.0 and contraction > 0.5 and size < 1e-9


@kernel
def _trial(on_se3, m, a, b, base, q, rates, offset, given_base, given_twist):
    """Trial state of a one-step scheme at the increment m.total."""
    for k in range(q.shape[1]):
        d = m.total[offset + k]
        m.q[0, k] = q[0, k] + d
        m.q[1, k] = a * d + m.free[0, offset + k]
        m.q[2, k] = b * d + m.free[1, offset + k]
    if offset > 0:
        # scheme rates of the base at this increment, kept in the first two rows of m.stage
        trial = m.stage[3]
        for k in range(6):
            trial[0, k] = a * m.total[k] + m.free[0, k]
            trial[1, k] = b * m.total[k] + m.free[1, k]
        _retract(on_se3, base, m.total, trial, a, b, m, m.base, m.twist)
    else:
        for i in range(4):
            for k in range(3):
                m.base[i, k] = given_base[i, k]
        for i in range(2):
            for k in range(6):
                m.twist[i, k] = given_twist[i, k]


@kernel
def _record(row, base, twist, q, multipliers, out_q, out_base, out_twist, out_multipliers):
    """Copy the accepted state into its row."""
    for i in range(3):
        for k in range(q.shape[1]):
            out_q[row, i, k] = q[i, k]
    for i in range(4):
        for k in range(3):
            out_base[row, i, k] = base[i, k]
    for i in range(2):
        for k in range(6):
            out_twist[row, i, k] = twist[i, k]
    for k in range(multipliers.size):
        out_multipliers[row, k] = multipliers[k]


# ---------------------------------------------------------------------------------------------------------------
# Gauss family
# ---------------------------------------------------------------------------------------------------------------


@kernel
def march_gauss(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, tableau, times, inputs, given_base, given_twist,
    base, rates, q, multipliers, tolerance, iterations_max,
    out_q, out_base, out_twist, out_multipliers, out_iterations,
):
    """Gauss steps over ``times``; arguments as :func:`march_one_step`.

    ``tableau`` (4 + stages², ...) packs the method: rows c, b, b̄, then a (stages rows), ā (stages rows), and the
    extrapolation (stages + 1 rows) of the previous accelerations to the new stages and to the end of the step.
    ``inputs``, ``given_base``, ``given_twist`` have stages + 1 rows per step: the stages, then the end.
    """
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    s = m.stage.shape[1]
    weight, weight2 = tableau[1], tableau[2]
    now, before, chart = m.stage[0], m.stage[1], m.stage[2]
    for step in range(times.size - 1):
        h = times[step + 1] - times[step]
        first, last = (s + 1) * step, (s + 1) * step + s
        count = -1
        for careful in range(2):
            if count >= 0:
                break
            count = _newton_gauss(
                evaluate_residual, evaluate_tangent, program, work, m, on_se3, tableau, h, base, rates, q, multipliers,
                inputs[first:last], given_base[first:last], given_twist[first:last],
                tolerance, iterations_max, careful,
            )
        if count < 0:
            return step
        # end of the step
        end = chart[0]
        for k in range(coordinates):
            v0 = rates[0, k] if k < offset else q[1, k - offset]
            x, v, acc = h * v0, v0, 0.0
            for j in range(s):
                x += h * h * weight2[j] * now[j, k]
                v += h * weight[j] * now[j, k]
                acc += tableau[3 + 3 * s, j] * now[j, k]
                before[j, k] = now[j, k]
            end[k] = x
            if k < offset:
                rates[0, k], rates[1, k] = v, acc
            else:
                q[0, k - offset] += x
                q[1, k - offset], q[2, k - offset] = v, acc
        m.memory[2] = h
        row = (s + 1) * step + s
        if offset > 0:
            _chart(on_se3, base, end, rates[0], rates[1], m, m.base, m.twist)
            for k in range(6):
                if on_se3 == 1 or k < 3:
                    rates[0, k] = m.twist[0, k]
                    rates[1, k] = m.twist[1, k]
        else:
            for i in range(4):
                for k in range(3):
                    m.base[i, k] = given_base[row, i, k]
            for i in range(2):
                for k in range(6):
                    m.twist[i, k] = given_twist[row, i, k]
        for i in range(4):
            for k in range(3):
                base[i, k] = m.base[i, k]
        _orthonormalise(base)
        _record(step + 1, base, m.twist, q, multipliers, out_q, out_base, out_twist, out_multipliers)
        out_iterations[step + 1] = count
    return times.size - 1


@kernel
def _newton_gauss(
    evaluate_residual, evaluate_tangent, program, work, m, on_se3, tableau, h, base, rates, q, multipliers,
    inputs, given_base, given_twist, tolerance, iterations_max, careful,
):
    """Newton for the accelerations m.stage[0] of all stages; number of iterations, or -1.

    The predictor continues the polynomial of the last accelerations; ``careful`` starts without acceleration.
    """
    coordinates, n = m.total.size, q.shape[1]
    offset = coordinates - n
    s = m.stage.shape[1]
    now, before, memory = m.stage[0], m.stage[1], m.memory
    for i in range(s):
        for k in range(coordinates):
            now[i, k] = 0.0
            if careful == 1:
                continue
            if abs(memory[2] - h) <= 1e-9 * h:
                for j in range(s):
                    now[i, k] += tableau[3 + 2 * s + i, j] * before[j, k]
            elif k < offset:
                now[i, k] = rates[1, k]
            else:
                now[i, k] = q[2, k - offset]
    if careful == 1:
        memory[0], memory[1] = 1.0, -1.0
    previous, contraction, first = 0.0, memory[0], memory[0]
    for count in range(1, iterations_max + 1):
        fresh, size = False, 0.0
        while True:
            if abs(memory[1] - h) > 1e-9 * h:
                # rows of stage i: δ_ij M + h a_ij D + h² ā_ij K, with K, D, M at that stage in the chart of the base
                for i in range(s):
                    _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base[i], given_twist[i])
                    evaluate_residual(program, work, m.base, m.twist, m.q, multipliers, inputs[i], 3)
                    for j in range(s):
                        m.weights[0], m.weights[1] = h * h * tableau[3 + s + i, j], h * tableau[3 + i, j]
                        m.weights[2] = 1.0 if i == j else 0.0
                        if offset > 0:
                            _mix_chart_columns(on_se3, m.stage[2, i], m)
                        evaluate_tangent(program, work, m.base, m.q, multipliers, inputs[i], m.mixed, m.weights, 3)
                        _put_block(on_se3, offset, m.base, work.matrix, i, j, coordinates, m.big)
                if lu_factor(m.big, m.big_pivots) < 1e-300:
                    memory[1] = -1.0
                    return -1
                memory[1], fresh = h, True
            for i in range(s):
                _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base[i], given_twist[i])
                evaluate_residual(program, work, m.base, m.twist, m.q, multipliers, inputs[i], 3)
                if offset > 0 and on_se3 == 0:
                    # rows of the base in the chart of the unknowns: moments in body axes, forces in world axes
                    f0, f1, f2 = work.residual[3], work.residual[4], work.residual[5]
                    for k in range(3):
                        work.residual[3 + k] = m.base[k, 0] * f0 + m.base[k, 1] * f1 + m.base[k, 2] * f2
                for k in range(coordinates):
                    m.big_step[i * coordinates + k] = -work.residual[k]
            lu_solve(m.big, m.big_pivots, m.big_step)
            size = 0.0
            for i in range(s):
                for k in range(coordinates):
                    value = abs(m.big_step[i * coordinates + k]) * h * h / m.scale[k]
                    if not value <= size:
                        size = value
            if fresh or previous == 0.0 or size <= 0.1 * previous or size <= tolerance:
                break
            memory[1] = -1.0
        if not np.isfinite(size):
            break
        if previous > 0.0:
            contraction = size / previous
            if count == 2:
                first = contraction
        factor = 1.0 if size < 1.0 else 1.0 / size
        for i in range(s):
            for k in range(coordinates):
                now[i, k] += factor * m.big_step[i * coordinates + k]
        if _small(size, contraction, previous, fresh, tolerance):
            memory[0] = min(max(first, 1e-3), 0.9)
            if first > 0.02:
                memory[1] = -1.0
            return count
        if fresh and contraction > 0.1:
            memory[1] = -1.0
        previous = size * factor
    memory[1] = -1.0
    return -1


@kernel
def _stage(on_se3, m, tableau, h, i, base, rates, q, offset, given_base, given_twist):
    """State of stage i from the present accelerations of all stages."""
    s = m.stage.shape[1]
    now, x, v = m.stage[0], m.stage[2], m.stage[3]
    for k in range(m.total.size):
        v0 = rates[0, k] if k < offset else q[1, k - offset]
        x[i, k] = tableau[0, i] * h * v0
        v[i, k] = v0
        for j in range(s):
            x[i, k] += h * h * tableau[3 + s + i, j] * now[j, k]
            v[i, k] += h * tableau[3 + i, j] * now[j, k]
        if k >= offset:
            m.q[0, k - offset] = q[0, k - offset] + x[i, k]
            m.q[1, k - offset] = v[i, k]
            m.q[2, k - offset] = now[i, k]
    if offset > 0:
        _chart(on_se3, base, x[i], v[i], now[i], m, m.base, m.twist)
    else:
        for r in range(4):
            for k in range(3):
                m.base[r, k] = given_base[r, k]
        for r in range(2):
            for k in range(6):
                m.twist[r, k] = given_twist[r, k]


@kernel
def _add_hat(a, A, factor, out):
    """out += factor â A, all 3x3."""
    x, y, z = factor * a[0], factor * a[1], factor * a[2]
    for c in range(3):
        u, v, w = A[0, c], A[1, c], A[2, c]
        out[0, c] += y * w - z * v
        out[1, c] += z * u - x * w
        out[2, c] += x * v - y * u


@kernel
def _put_block(on_se3, offset, base, matrix, i, j, size, big):
    """Block (i, j) of the stage matrix, with the force rows of a base on SO(3)×R³ in world axes."""
    for r in range(size):
        for k in range(size):
            big[i * size + r, j * size + k] = matrix[r, k]
    if offset > 0 and on_se3 == 0:
        for k in range(size):
            f0, f1, f2 = matrix[3, k], matrix[4, k], matrix[5, k]
            for r in range(3):
                big[i * size + 3 + r, j * size + k] = base[r, 0] * f0 + base[r, 1] * f1 + base[r, 2] * f2


@kernel
def _mix_chart_columns(on_se3, nu, m):
    """m.mixed = variations of the base when ν, ν' and ν'' vary with m.weights."""
    for i in range(18):
        for k in range(6):
            m.mixed[i, k] = 0.0
    for which in range(3):
        _chart_columns(on_se3, which, nu, m.base, m.twist, m)
        for i in range(18):
            for k in range(6):
                m.mixed[i, k] += m.weights[which] * m.columns[i, k]


@kernel
def _chart_columns(on_se3, which, nu, base, twist, m):
    """Variations of pose, twist and rate (rows of m.columns) with ν, ν' or ν'' (``which`` = 0, 1, 2).

    Exact in ν'' and in the pose; in ν and ν' the derivative of T = 1 - ½ ad(ν) + ⅙ ad(ν)² ... is kept to the orders
    that matter for Newton: δη = ½ ad(η) δν, δη̇ = ½ ad(η̇) δν - ⅙ ad(η)² δν.
    """
    C, cs, T, Q, acceleration, one = m.columns, m.stumpff, m.small[0], m.small[1], m.small[2, 0], m.small[3]
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
