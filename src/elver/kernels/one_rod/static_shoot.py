"""Initial value problems of statics along a rod, over many segments, with the exact derivative of the steps taken.

    g_s = g ξ̂ ,   Λ_s = ad(ξ)ᵀΛ - F̄ ,   BᵀΛ = Bᵀ(Λ_act(ξ) + H(ξ - ξ₀))                        (Boyer 2023, eq. 50-55)

by Runge-Kutta-Munthe-Kaas steps of order four: k = dexp⁻¹(θ) ξ = ξ + ½[θ, ξ] + 1/12 [θ, [θ, ξ]], or, with the same
stages, by Magnus steps of order four: θ = h/6 (ξ₁ + 2ξ₂ + 2ξ₃ + ξ₄) + h²/12 [ξ₁, ξ₄]. Form 0 integrates Λ, and ξ
follows at each stage from the law; form 1 integrates the free strains and the stresses of the others,

    (BᵀSB) Bᵀξ_s = Bᵀ(ad(ξ)ᵀΛ - F̄ - ∂Λ/∂s|_ξ),   S = ∂Λ/∂ξ

The variation of (ζ, Λ), δg = g ζ̂, goes along: in form 0 it is the derivative of the discrete step. With ζ of a stage,
g exp(θ), equal to Ad(exp(-θ))ζ + dexp(θ)δθ and dexp left-trivialised. What Newton's method on the nodes of multiple
shooting needs beside that, per node, is here too.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import add_bracket, stumpff
from elver.kernels.build.cache import inner, kernel
from elver.kernels.one_rod.section import cross, invert_free, law_of_strain, step_pose, strain_of_stress

__all__ = ["carry_columns", "join_segments", "move_nodes", "static_shoot"]


@kernel
def static_shoot(
    steps, tangent, form, magnus, turns, length, active, h, at, pulls, strains, state, variation, path, work, var
):
    """Integrate each segment over its ``steps`` steps of length ``h[segment]`` [m].

    ``state`` (segments, 18): R, p, Λ, and ``variation`` (segments, 12, 12) in place; ``tangent`` 0 leaves the latter
    alone. ``magnus`` 1 takes Magnus steps. ``turns`` 0: loads do not depend on the pose. ``at`` (segments,
    2 steps + 1, 48) holds at nodes and midpoints H, ξ₀, Λ_m, dead load per metre in world axes, following load per
    metre, and, for form 1, the derivatives with s of the first three; ``pulls`` (segments, 2 steps + 1, tendons, 10)
    D, D′, T and D″ of tendons. ``strains`` (segments, 2 steps + 1, 6) are guesses of ξ, kept up to date. ``path``
    (segments, steps, 18) records the ends of steps.
    Scratch: ``work`` (20, 18), ``var`` (7, 12, 12).
    """
    k, f, theta, moved = work[0:4], work[4:8], work[8], work[9]
    strain, stress, y, drift, law, cs = work[10], work[11], work[12], work[13], work[14], work[15]
    xi = work[16:20]
    slope, soft = var[4, :6, :6], var[5, :6, :6]
    for segment in range(state.shape[0]):
        now, X, step_size = state[segment], variation[segment], h[segment]
        here, cables = at[segment, 0], pulls[segment, 0]
        for r in range(6):
            y[r] = now[12 + r]
        if form == 1:
            _to_strain(here, cables, active, length, y, strains[segment, 0], strain, soft, law, slope)
        for step in range(steps):
            if tangent == 1:
                for r in range(12):
                    for c in range(12):
                        var[1, r, c] = 0.0
            for stage in range(4):
                place = 2 * step + (0 if stage == 0 else (2 if stage == 3 else 1))
                here, cables, guess = at[segment, place], pulls[segment, place], strains[segment, place]
                ahead = 0.0 if stage == 0 else (step_size if stage == 3 else 0.5 * step_size)
                for r in range(6):
                    theta[r] = ahead * k[stage - 1, r] if stage > 0 else 0.0
                    stress[r] = y[r] + (ahead * f[stage - 1, r] if stage > 0 else 0.0)
                if turns == 1 and stage > 0:
                    step_pose(now, theta, cs, moved)
                else:
                    for r in range(9):
                        moved[r] = now[r]
                if form == 0:
                    for r in range(6):
                        strain[r] = guess[r]
                    strain_of_stress(here, 1.0, cables, active, length, stress, strain, soft, law, slope)
                    if strain[0] == strain[0]:
                        for r in range(6):
                            guess[r] = strain[r]
                else:
                    _to_stress(here, cables, active, stress, strain, law, slope)
                    invert_free(slope, active, soft)
                _balance(here, strain, stress, moved, f[stage], drift)
                _munthe_kaas(theta, strain, k[stage])
                for r in range(6):
                    xi[stage, r] = strain[r]
                if tangent == 1:
                    weight = 1.0 if stage == 0 or stage == 3 else 2.0
                    if stage > 0 and turns == 1:
                        _pose_change(theta, cs, ahead, X, var[0], var[2])
                        _vary(theta, strain, stress, soft, drift, ahead, weight, X, var[2], var[0], var[1], var[3])
                    else:
                        _vary(theta, strain, stress, soft, drift, ahead, weight, X, X, var[0], var[1], var[3])
                    if magnus == 1:
                        _magnus_change(stage, step_size, weight, xi, var[3], var[6])
                if form == 1:
                    _strain_rate(here, cables, active, strain, soft, f[stage], drift)
            slopes = xi if magnus == 1 else k
            for r in range(6):
                theta[r] = step_size / 6.0 * (slopes[0, r] + 2.0 * (slopes[1, r] + slopes[2, r]) + slopes[3, r])
                y[r] += step_size / 6.0 * (f[0, r] + 2.0 * (f[1, r] + f[2, r]) + f[3, r])
            if magnus == 1:
                add_bracket(work, 8, step_size * step_size / 12.0, work, 16, work, 19)
            step_pose(now, theta, cs, moved)
            for r in range(12):
                now[r] = moved[r]
            for r in range(6):
                stress[r] = y[r]
            if form == 1:
                _to_stress(at[segment, 2 * step + 2], pulls[segment, 2 * step + 2], active, stress, strain, law, slope)
            for r in range(6):
                now[12 + r] = stress[r]
            for r in range(18):
                path[segment, step, r] = now[r]
            if tangent == 1:
                _pose_change(theta, cs, step_size / 6.0, X, var[6] if magnus == 1 else var[1], var[2])
                for r in range(6):
                    for c in range(12):
                        X[r, c] = var[2, r, c]
                        X[6 + r, c] += step_size / 6.0 * var[1, 6 + r, c]


@inner
def _to_strain(here, pulls, active, length, y, guess, strain, soft, law, slope):
    """Free stresses in ``y`` replaced by their strains."""
    for r in range(6):
        strain[r] = guess[r]
    strain_of_stress(here, 1.0, pulls, active, length, y, strain, soft, law, slope)
    for r in range(6):
        if active[r] != 0.0:
            y[r] = strain[r]


@inner
def _to_stress(here, pulls, active, y, strain, law, slope):
    """Free strains in ``y`` replaced by their stresses; ξ goes to ``strain``, ∂Λ/∂ξ to ``slope``."""
    for r in range(6):
        strain[r] = y[r] if active[r] != 0.0 else here[6 + r]
    law_of_strain(here, 1.0, pulls, strain, law, slope)
    for r in range(6):
        if active[r] != 0.0:
            y[r] = law[r]


@inner
def _balance(here, strain, stress, R, out, dead):
    """out = ad(ξ)ᵀΛ - F̄; the dead couple and force per metre in section axes go to ``dead`` (6,)."""
    K0, K1, K2, G0, G1, G2 = strain[0], strain[1], strain[2], strain[3], strain[4], strain[5]
    a0, a1, a2 = cross(K0, K1, K2, stress[0], stress[1], stress[2])
    b0, b1, b2 = cross(G0, G1, G2, stress[3], stress[4], stress[5])
    c0, c1, c2 = cross(K0, K1, K2, stress[3], stress[4], stress[5])
    for r in range(3):
        dead[r] = R[r] * here[18] + R[3 + r] * here[19] + R[6 + r] * here[20]
        dead[3 + r] = R[r] * here[21] + R[3 + r] * here[22] + R[6 + r] * here[23]
    out[0] = -a0 - b0 - here[24] - dead[0]
    out[1] = -a1 - b1 - here[25] - dead[1]
    out[2] = -a2 - b2 - here[26] - dead[2]
    out[3] = -c0 - here[27] - dead[3]
    out[4] = -c1 - here[28] - dead[4]
    out[5] = -c2 - here[29] - dead[5]


@inner
def _strain_rate(here, pulls, active, strain, soft, rate, drift):
    """Slopes of free stresses in ``rate`` replaced by those of their strains, S⁻¹(Λ_s - ∂Λ/∂s|_ξ)."""
    for r in range(6):
        drift[r] = here[42 + r] + here[30 + r] * (strain[r] - here[6 + r]) - here[r] * here[36 + r]
    K0, K1, K2, G0, G1, G2 = strain[0], strain[1], strain[2], strain[3], strain[4], strain[5]
    for k in range(pulls.shape[0]):
        tension = pulls[k, 6]
        if tension == 0.0:
            continue
        D0, D1, D2, E0, E1, E2 = pulls[k, 0], pulls[k, 1], pulls[k, 2], pulls[k, 3], pulls[k, 4], pulls[k, 5]
        b0, b1, b2 = cross(K0, K1, K2, D0, D1, D2)
        c0, c1, c2 = G0 + b0 + E0, G1 + b1 + E1, G2 + b2 + E2
        size = (c0 * c0 + c1 * c1 + c2 * c2) ** 0.5
        t0, t1, t2 = c0 / size, c1 / size, c2 / size
        # ∂c/∂s|_ξ = K × D′ + D″
        b0, b1, b2 = cross(K0, K1, K2, E0, E1, E2)
        e0, e1, e2 = b0 + pulls[k, 7], b1 + pulls[k, 8], b2 + pulls[k, 9]
        dot = t0 * e0 + t1 * e1 + t2 * e2
        e0, e1, e2 = (e0 - dot * t0) / size, (e1 - dot * t1) / size, (e2 - dot * t2) / size
        m0, m1, m2 = cross(E0, E1, E2, t0, t1, t2)
        n0, n1, n2 = cross(D0, D1, D2, e0, e1, e2)
        drift[0] += tension * (m0 + n0)
        drift[1] += tension * (m1 + n1)
        drift[2] += tension * (m2 + n2)
        drift[3] += tension * e0
        drift[4] += tension * e1
        drift[5] += tension * e2
    for r in range(6):
        drift[r] = rate[r] - drift[r]
    for r in range(6):
        if active[r] != 0.0:
            rate[r] = 0.0
            for c in range(6):
                rate[r] += soft[r, c] * drift[c]


@inner
def _munthe_kaas(theta, strain, out):
    """k = ξ + ½[θ, ξ] + 1/12 [θ, [θ, ξ]]."""
    x0, x1, x2, x3, x4, x5 = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    a0, a1, a2 = cross(x0, x1, x2, strain[0], strain[1], strain[2])
    b0, b1, b2 = cross(x0, x1, x2, strain[3], strain[4], strain[5])
    v0, v1, v2 = cross(x3, x4, x5, strain[0], strain[1], strain[2])
    b0, b1, b2 = b0 + v0, b1 + v1, b2 + v2
    p0, p1, p2 = cross(x0, x1, x2, a0, a1, a2)
    q0, q1, q2 = cross(x0, x1, x2, b0, b1, b2)
    v0, v1, v2 = cross(x3, x4, x5, a0, a1, a2)
    out[0] = strain[0] + 0.5 * a0 + p0 / 12.0
    out[1] = strain[1] + 0.5 * a1 + p1 / 12.0
    out[2] = strain[2] + 0.5 * a2 + p2 / 12.0
    out[3] = strain[3] + 0.5 * b0 + (q0 + v0) / 12.0
    out[4] = strain[4] + 0.5 * b1 + (q1 + v1) / 12.0
    out[5] = strain[5] + 0.5 * b2 + (q2 + v2) / 12.0


@inner
def _pose_change(theta, cs, part, X, dk, out):
    """out[:6] = Ad(exp(-θ)) ζ + dexp(θ) δθ with ζ = X[:6], δθ = part · dk[:6]; ``cs`` belong to θ."""
    x, b, z, u, v, w = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    c0, c1, c2, c3 = cs[0], cs[1], cs[2], cs[3]
    # exp(θ): R = c₀ + c₁ Θ̂ + c₂ ΘΘᵀ and its translation d
    r00, r01, r02 = c0 + c2 * x * x, c2 * x * b - c1 * z, c2 * x * z + c1 * b
    r10, r11, r12 = c2 * x * b + c1 * z, c0 + c2 * b * b, c2 * b * z - c1 * x
    r20, r21, r22 = c2 * x * z - c1 * b, c2 * b * z + c1 * x, c0 + c2 * z * z
    t0, t1, t2 = cross(x, b, z, u, v, w)
    dot = x * u + b * v + z * w
    d0, d1, d2 = c1 * u + c2 * t0 + c3 * dot * x, c1 * v + c2 * t1 + c3 * dot * b, c1 * w + c2 * t2 + c3 * dot * z
    # dexp = [[B, 0], [Q, B]], B = c₁ - c₂ Θ̂ + c₃ ΘΘᵀ and Q its derivative along the translation of θ
    b00, b01, b02 = c1 + c3 * x * x, c3 * x * b + c2 * z, c3 * x * z - c2 * b
    b10, b11, b12 = c3 * x * b - c2 * z, c1 + c3 * b * b, c3 * b * z + c2 * x
    b20, b21, b22 = c3 * x * z + c2 * b, c3 * b * z - c2 * x, c1 + c3 * z * z
    e1, e2, e3 = dot * (cs[3] - c2), dot * (2.0 * cs[4] - c3), dot * (3.0 * cs[5] - cs[4])
    q00, q01, q02 = e1 + 2.0 * c3 * x * u, c3 * (x * v + u * b) + c2 * w, c3 * (x * w + u * z) - c2 * v
    q10, q11, q12 = c3 * (x * v + u * b) - c2 * w, e1 + 2.0 * c3 * b * v, c3 * (b * w + v * z) + c2 * u
    q20, q21, q22 = c3 * (x * w + u * z) + c2 * v, c3 * (b * w + v * z) - c2 * u, e1 + 2.0 * c3 * z * w
    q00, q01, q02 = q00 + e3 * x * x, q01 + e3 * x * b + e2 * z, q02 + e3 * x * z - e2 * b
    q10, q11, q12 = q10 + e3 * x * b - e2 * z, q11 + e3 * b * b, q12 + e3 * b * z + e2 * x
    q20, q21, q22 = q20 + e3 * x * z + e2 * b, q21 + e3 * b * z - e2 * x, q22 + e3 * z * z
    for c in range(12):
        z0, z1, z2 = X[0, c], X[1, c], X[2, c]
        y0 = X[3, c] - (d1 * z2 - d2 * z1)
        y1 = X[4, c] - (d2 * z0 - d0 * z2)
        y2 = X[5, c] - (d0 * z1 - d1 * z0)
        a0, a1, a2 = part * dk[0, c], part * dk[1, c], part * dk[2, c]
        a3, a4, a5 = part * dk[3, c], part * dk[4, c], part * dk[5, c]
        out[0, c] = r00 * z0 + r10 * z1 + r20 * z2 + b00 * a0 + b01 * a1 + b02 * a2
        out[1, c] = r01 * z0 + r11 * z1 + r21 * z2 + b10 * a0 + b11 * a1 + b12 * a2
        out[2, c] = r02 * z0 + r12 * z1 + r22 * z2 + b20 * a0 + b21 * a1 + b22 * a2
        out[3, c] = r00 * y0 + r10 * y1 + r20 * y2 + b00 * a3 + b01 * a4 + b02 * a5 + q00 * a0 + q01 * a1 + q02 * a2
        out[4, c] = r01 * y0 + r11 * y1 + r21 * y2 + b10 * a3 + b11 * a4 + b12 * a5 + q10 * a0 + q11 * a1 + q12 * a2
        out[5, c] = r02 * y0 + r12 * y1 + r22 * y2 + b20 * a3 + b21 * a4 + b22 * a5 + q20 * a0 + q21 * a1 + q22 * a2


@inner
def _vary(theta, strain, stress, soft, dead, ahead, weight, X, zeta, last, total, bent):
    """Variation of k and f at a stage: ``last`` (12, 12) holds that of the stage before, then this one's.

    ``zeta``[:3] are the turns of the stage; ``total`` collects with ``weight``; δξ goes to ``bent``[:6].
    """
    x0, x1, x2, x3, x4, x5 = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    K0, K1, K2, G0, G1, G2 = strain[0], strain[1], strain[2], strain[3], strain[4], strain[5]
    C0, C1, C2, N0, N1, N2 = stress[0], stress[1], stress[2], stress[3], stress[4], stress[5]
    o0, o1, o2, q0, q1, q2 = dead[0], dead[1], dead[2], dead[3], dead[4], dead[5]
    # [θ, ξ]
    h0, h1, h2 = cross(x0, x1, x2, K0, K1, K2)
    i0, i1, i2 = cross(x0, x1, x2, G0, G1, G2)
    j0, j1, j2 = cross(x3, x4, x5, K0, K1, K2)
    h3, h4, h5 = i0 + j0, i1 + j1, i2 + j2
    for c in range(12):
        l0, l1, l2 = X[6, c], X[7, c], X[8, c]
        l3, l4, l5 = X[9, c], X[10, c], X[11, c]
        t0, t1, t2, t3, t4, t5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if ahead > 0.0:
            l0, l1, l2 = l0 + ahead * last[6, c], l1 + ahead * last[7, c], l2 + ahead * last[8, c]
            l3, l4, l5 = l3 + ahead * last[9, c], l4 + ahead * last[10, c], l5 + ahead * last[11, c]
            t0, t1, t2 = ahead * last[0, c], ahead * last[1, c], ahead * last[2, c]
            t3, t4, t5 = ahead * last[3, c], ahead * last[4, c], ahead * last[5, c]
        d0 = soft[0, 0] * l0 + soft[0, 1] * l1 + soft[0, 2] * l2 + soft[0, 3] * l3 + soft[0, 4] * l4 + soft[0, 5] * l5
        d1 = soft[1, 0] * l0 + soft[1, 1] * l1 + soft[1, 2] * l2 + soft[1, 3] * l3 + soft[1, 4] * l4 + soft[1, 5] * l5
        d2 = soft[2, 0] * l0 + soft[2, 1] * l1 + soft[2, 2] * l2 + soft[2, 3] * l3 + soft[2, 4] * l4 + soft[2, 5] * l5
        d3 = soft[3, 0] * l0 + soft[3, 1] * l1 + soft[3, 2] * l2 + soft[3, 3] * l3 + soft[3, 4] * l4 + soft[3, 5] * l5
        d4 = soft[4, 0] * l0 + soft[4, 1] * l1 + soft[4, 2] * l2 + soft[4, 3] * l3 + soft[4, 4] * l4 + soft[4, 5] * l5
        d5 = soft[5, 0] * l0 + soft[5, 1] * l1 + soft[5, 2] * l2 + soft[5, 3] * l3 + soft[5, 4] * l4 + soft[5, 5] * l5
        # δk = δξ + [½δθ, ξ] + [½θ, δξ] + 1/12 ([δθ, [θ, ξ]] + [θ, [δθ, ξ] + [θ, δξ]])
        a0 = t1 * K2 - t2 * K1 + x1 * d2 - x2 * d1
        a1 = t2 * K0 - t0 * K2 + x2 * d0 - x0 * d2
        a2 = t0 * K1 - t1 * K0 + x0 * d1 - x1 * d0
        a3 = t1 * G2 - t2 * G1 + t4 * K2 - t5 * K1 + x1 * d5 - x2 * d4 + x4 * d2 - x5 * d1
        a4 = t2 * G0 - t0 * G2 + t5 * K0 - t3 * K2 + x2 * d3 - x0 * d5 + x5 * d0 - x3 * d2
        a5 = t0 * G1 - t1 * G0 + t3 * K1 - t4 * K0 + x0 * d4 - x1 * d3 + x3 * d1 - x4 * d0
        b0 = t1 * h2 - t2 * h1 + x1 * a2 - x2 * a1
        b1 = t2 * h0 - t0 * h2 + x2 * a0 - x0 * a2
        b2 = t0 * h1 - t1 * h0 + x0 * a1 - x1 * a0
        b3 = t1 * h5 - t2 * h4 + t4 * h2 - t5 * h1 + x1 * a5 - x2 * a4 + x4 * a2 - x5 * a1
        b4 = t2 * h3 - t0 * h5 + t5 * h0 - t3 * h2 + x2 * a3 - x0 * a5 + x5 * a0 - x3 * a2
        b5 = t0 * h4 - t1 * h3 + t3 * h1 - t4 * h0 + x0 * a4 - x1 * a3 + x3 * a1 - x4 * a0
        k0, k1, k2 = d0 + 0.5 * a0 + b0 / 12.0, d1 + 0.5 * a1 + b1 / 12.0, d2 + 0.5 * a2 + b2 / 12.0
        k3, k4, k5 = d3 + 0.5 * a3 + b3 / 12.0, d4 + 0.5 * a4 + b4 / 12.0, d5 + 0.5 * a5 + b5 / 12.0
        # δf = ad(ξ)ᵀδΛ + ad(δξ)ᵀΛ - δF̄; a dead vector in section axes changes by (Rᵀf) × ζ_ω
        z0, z1, z2 = zeta[0, c], zeta[1, c], zeta[2, c]
        f0 = -(K1 * l2 - K2 * l1) - (G1 * l5 - G2 * l4) - (d1 * C2 - d2 * C1) - (d4 * N2 - d5 * N1)
        f0 -= o1 * z2 - o2 * z1
        f1 = -(K2 * l0 - K0 * l2) - (G2 * l3 - G0 * l5) - (d2 * C0 - d0 * C2) - (d5 * N0 - d3 * N2)
        f1 -= o2 * z0 - o0 * z2
        f2 = -(K0 * l1 - K1 * l0) - (G0 * l4 - G1 * l3) - (d0 * C1 - d1 * C0) - (d3 * N1 - d4 * N0)
        f2 -= o0 * z1 - o1 * z0
        f3 = -(K1 * l5 - K2 * l4) - (d1 * N2 - d2 * N1) - (q1 * z2 - q2 * z1)
        f4 = -(K2 * l3 - K0 * l5) - (d2 * N0 - d0 * N2) - (q2 * z0 - q0 * z2)
        f5 = -(K0 * l4 - K1 * l3) - (d0 * N1 - d1 * N0) - (q0 * z1 - q1 * z0)
        bent[0, c], bent[1, c], bent[2, c], bent[3, c], bent[4, c], bent[5, c] = d0, d1, d2, d3, d4, d5
        last[0, c], last[1, c], last[2, c], last[3, c], last[4, c], last[5, c] = k0, k1, k2, k3, k4, k5
        last[6, c], last[7, c], last[8, c], last[9, c], last[10, c], last[11, c] = f0, f1, f2, f3, f4, f5
        total[0, c] += weight * k0
        total[1, c] += weight * k1
        total[2, c] += weight * k2
        total[3, c] += weight * k3
        total[4, c] += weight * k4
        total[5, c] += weight * k5
        total[6, c] += weight * f0
        total[7, c] += weight * f1
        total[8, c] += weight * f2
        total[9, c] += weight * f3
        total[10, c] += weight * f4
        total[11, c] += weight * f5


@inner
def _magnus_change(stage, h, weight, xi, bent, total):
    """Σ weight δξ, at the end with h/2 ([δξ₁, ξ₄] + [ξ₁, δξ₄]), in ``total``[:6]; ``bent``[6:] keeps δξ₁."""
    for c in range(12):
        for r in range(6):
            if stage == 0:
                bent[6 + r, c] = bent[r, c]
                total[r, c] = bent[r, c]
            else:
                total[r, c] += weight * bent[r, c]
        if stage == 3:
            for part in range(2):
                # [a, b] = (a_ω × b_ω; a_ω × b_v + a_v × b_ω) with (δξ₁, ξ₄), and then -(δξ₄, ξ₁)
                sign = 0.5 * h if part == 0 else -0.5 * h
                b0, b1, b2 = xi[3 - 3 * part, 0], xi[3 - 3 * part, 1], xi[3 - 3 * part, 2]
                b3, b4, b5 = xi[3 - 3 * part, 3], xi[3 - 3 * part, 4], xi[3 - 3 * part, 5]
                at = 6 - 6 * part
                w0, w1, w2 = cross(bent[at, c], bent[at + 1, c], bent[at + 2, c], b0, b1, b2)
                u0, u1, u2 = cross(bent[at, c], bent[at + 1, c], bent[at + 2, c], b3, b4, b5)
                v0, v1, v2 = cross(bent[at + 3, c], bent[at + 4, c], bent[at + 5, c], b0, b1, b2)
                total[0, c] += sign * w0
                total[1, c] += sign * w1
                total[2, c] += sign * w2
                total[3, c] += sign * (u0 + v0)
                total[4, c] += sign * (u1 + v1)
                total[5, c] += sign * (u2 + v2)


@kernel
def join_segments(ends, nodes, scale, transition, gaps, back, onward, cs):
    """What the ``ends`` (M, 18) of segments miss of the ``nodes`` (M + 1, 18) after them, and the linearised recursion.

    j = g_node⁻¹ g_end:  ``gaps`` (M, 12) = (log j; x_end - x_node), ``back`` (M, 6, 6) = Ad(j), and with
    ``transition`` Φ (M, 12, 12), ``onward`` = diag(Ad(j), 1) Φ; all in units of ``scale`` (12,). Φ is scaled in place.
    ``cs`` (10,) is scratch.
    """
    for m in range(ends.shape[0]):
        y, z = ends[m], nodes[m + 1]
        p0, p1, p2 = y[9] - z[9], y[10] - z[10], y[11] - z[11]
        d0 = z[0] * p0 + z[3] * p1 + z[6] * p2
        d1 = z[1] * p0 + z[4] * p1 + z[7] * p2
        d2 = z[2] * p0 + z[5] * p1 + z[8] * p2
        r00 = z[0] * y[0] + z[3] * y[3] + z[6] * y[6]
        r01 = z[0] * y[1] + z[3] * y[4] + z[6] * y[7]
        r02 = z[0] * y[2] + z[3] * y[5] + z[6] * y[8]
        r10 = z[1] * y[0] + z[4] * y[3] + z[7] * y[6]
        r11 = z[1] * y[1] + z[4] * y[4] + z[7] * y[7]
        r12 = z[1] * y[2] + z[4] * y[5] + z[7] * y[8]
        r20 = z[2] * y[0] + z[5] * y[3] + z[8] * y[6]
        r21 = z[2] * y[1] + z[5] * y[4] + z[8] * y[7]
        r22 = z[2] * y[2] + z[5] * y[5] + z[8] * y[8]
        # quaternion from the row of 4 q qᵀ with the largest diagonal entry
        trace = r00 + r11 + r22
        a, b, c = r21 - r12, r02 - r20, r10 - r01
        w, q0, q1, q2 = 1.0 + trace, a, b, c
        largest = w
        if 1.0 + 2.0 * r00 - trace > largest:
            largest = 1.0 + 2.0 * r00 - trace
            w, q0, q1, q2 = a, largest, r01 + r10, r02 + r20
        if 1.0 + 2.0 * r11 - trace > largest:
            largest = 1.0 + 2.0 * r11 - trace
            w, q0, q1, q2 = b, r01 + r10, largest, r12 + r21
        if 1.0 + 2.0 * r22 - trace > largest:
            largest = 1.0 + 2.0 * r22 - trace
            w, q0, q1, q2 = c, r02 + r20, r12 + r21, largest
        if w < 0.0:
            w, q0, q1, q2 = -w, -q0, -q1, -q2
        size = math.sqrt(q0 * q0 + q1 * q1 + q2 * q2)
        factor = 2.0 / w if size < 1e-9 * w else 2.0 * math.atan2(size, w) / size
        t0, t1, t2 = factor * q0, factor * q1, factor * q2
        # v = (1 - ½ Θ̂ + κ Θ̂²) d,  κ = (c₃ - 2c₄)/(2c₂)
        stumpff(t0 * t0 + t1 * t1 + t2 * t2, cs)
        kappa = 0.5 * (cs[3] - 2.0 * cs[4]) / cs[2]
        a0, a1, a2 = cross(t0, t1, t2, d0, d1, d2)
        b0, b1, b2 = cross(t0, t1, t2, a0, a1, a2)
        gap = gaps[m]
        gap[0], gap[1], gap[2] = t0 / scale[0], t1 / scale[1], t2 / scale[2]
        gap[3] = (d0 - 0.5 * a0 + kappa * b0) / scale[3]
        gap[4] = (d1 - 0.5 * a1 + kappa * b1) / scale[4]
        gap[5] = (d2 - 0.5 * a2 + kappa * b2) / scale[5]
        for r in range(6):
            gap[6 + r] = (y[12 + r] - z[12 + r]) / scale[6 + r]
        # Ad(j) = [[R, 0], [d̂ R, R]]
        A = back[m]
        A[0, 0], A[0, 1], A[0, 2] = r00, r01, r02
        A[1, 0], A[1, 1], A[1, 2] = r10, r11, r12
        A[2, 0], A[2, 1], A[2, 2] = r20, r21, r22
        for c in range(3):
            A[3, c] = d1 * A[2, c] - d2 * A[1, c]
            A[4, c] = d2 * A[0, c] - d0 * A[2, c]
            A[5, c] = d0 * A[1, c] - d1 * A[0, c]
            for r in range(3):
                A[r, 3 + c] = 0.0
                A[3 + r, 3 + c] = A[r, c]
        for r in range(6):
            for c in range(6):
                A[r, c] *= scale[c] / scale[r]
        X, out = transition[m], onward[m]
        for r in range(12):
            for c in range(12):
                X[r, c] *= scale[c] / scale[r]
        for r in range(6):
            for c in range(12):
                out[r, c] = 0.0
                out[6 + r, c] = X[6 + r, c]
            for k in range(6):
                for c in range(12):
                    out[r, c] += A[r, k] * X[k, c]


@kernel
def carry_columns(onward, jumps, columns):
    """columns[m + 1] = onward[m] @ columns[m] + jumps[m], from node to node: (M + 1, 12, k); jumps (M, 12) or none."""
    k = columns.shape[2]
    for m in range(onward.shape[0]):
        A, X, out = onward[m], columns[m], columns[m + 1]
        for r in range(12):
            for c in range(k):
                out[r, c] = jumps[m, r] if jumps.shape[0] > 0 else 0.0
            for j in range(12):
                for c in range(k):
                    out[r, c] += A[r, j] * X[j, c]


@kernel
def move_nodes(nodes, step, scale, out, cs):
    """out (n, 18) = nodes moved by the scaled ``step`` (n, 12): g exp(ζ), Λ + ΔΛ; ``cs`` (16,) is scratch."""
    theta = cs[10:]
    for m in range(nodes.shape[0]):
        for r in range(6):
            theta[r] = step[m, r] * scale[r]
            out[m, 12 + r] = nodes[m, 12 + r] + step[m, 6 + r] * scale[6 + r]
        step_pose(nodes[m], theta, cs, out[m])
