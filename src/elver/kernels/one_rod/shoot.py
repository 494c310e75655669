"""Initial value problems along a rod at one instant of an implicit scheme, with their exact tangents.

Dynamics of a rod as conditions of optimality (Boyer 2023, eq. 61, 64 and 78-83): with the strains expressed
by the stress and by the history of the implicit scheme,

    ξ = ξ₀ + B ε ,   BᵀΛ = Λ_act(ξ) + H ε + τ H ε' ,   ε' = r₁ ε + e₁ ,   ε'' = r₂ ε + e₂          (rates in time)

the fields obey ordinary differential equations in s

    g_s = g ξ̂ ,  η_s = -ad(ξ)η + ξ' ,  η'_s = -ad(ξ)η' - ad(ξ')η + ξ'' ,  Λ_s = ad(ξ)ᵀΛ + Mη' - ad(η)ᵀMη - F̄ ,

integrated by Runge-Kutta of order four (Munthe-Kaas for g) together with the variation of (ζ, η, η', Λ). Several
segments are integrated one after the other, each from its own start. The law of a section is that of
:mod:`elver.kernels.one_rod.section`. In the variant without equation for the acceleration η' = c η + f_η is algebraic.

Six-vectors angular first, body axes; a state is 30 numbers: R row by row, p, η, η', Λ; its variation has 24 rows.
"""

from __future__ import annotations

from elver.kernels.build.cache import inner, kernel
from elver.kernels.one_rod.section import cross, step_pose, strain_of_stress

__all__ = ["shoot"]


@kernel
def shoot(
    steps, h, tangent, hybrid, length, active, scheme, at, pulls, strains, gravity, state, variation, path, work,
    slopes, trial,
):  # fmt: skip
    """Integrate each segment over its ``steps`` steps of length ``h`` [m].

    ``state`` (segments, 30) and ``variation`` (segments, 24, columns) in place; ``tangent`` 0 leaves the latter alone.
    ``active`` (6,) is 1 for free strains; ``scheme`` = (r₁, r₂, τ, c). ``at`` (segments, 2 steps + 1, 55) holds at
    nodes and midpoints: H (6), ξ₀ (6), Λ_m of muscles (6), inertia (6), e₁ (6), e₂ (6), dead load per length (6), f_η
    (6), mass per length that gravity acts on, following load per length (6); ``pulls`` (segments, 2 steps + 1, tendons,
    7) D, D′ and T of tendons. ``strains`` (segments, 2 steps + 1, 6) are guesses of ξ, kept up to date. ``path``
    (segments, steps + 1, 36) records the states and Λ_s at the nodes. Scratch: ``work`` (18, 30), ``slopes`` (4, 30),
    ``trial`` (5, 24, columns).
    """
    columns = variation.shape[2]
    cs, target, law = work[3], work[4], work[5]
    slope, soft = work[6:12, :6], work[12:18, :6]
    for segment in range(state.shape[0]):
        y, X = state[segment], variation[segment]
        for step in range(steps):
            for k in range(30):
                path[segment, step, k] = y[k]
            for stage in range(4):
                place = 2 * step + (0 if stage == 0 else (2 if stage == 3 else 1))
                here = at[segment, place]
                part = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
                # state and variation of the stage: work[0] holds the trial state, slopes[stage] its slope
                for k in range(6):
                    work[1, k] = part * slopes[stage - 1, k] if stage > 0 else 0.0
                step_pose(y, work[1], cs, work[0])
                for k in range(12, 30):
                    work[0, k] = y[k] + (part * slopes[stage - 1, k] if stage > 0 else 0.0)
                if hybrid == 1:
                    for k in range(6):
                        work[0, 18 + k] = scheme[3] * work[0, 12 + k] + here[42 + k]
                _strain(
                    here, pulls[segment, place], active, length, scheme, work[0], strains[segment, place], work[2],
                    soft, target, law, slope,
                )  # fmt: skip
                _slope(here, hybrid, gravity, work[0], work[1], work[2], slopes[stage])
                if stage == 0:
                    for k in range(6):
                        path[segment, step, 30 + k] = slopes[0, 24 + k]
                if tangent == 1:
                    for r in range(24):
                        before = trial[0, r]
                        for c in range(columns):
                            before[c] = X[r, c]
                        if stage > 0:
                            last = trial[stage, r]
                            for c in range(columns):
                                before[c] += part * last[c]
                    _tangent(here, soft, scheme, hybrid, gravity, work[0], work[2], trial[0], trial[1 + stage])
            for k in range(6):
                work[1, k] = h / 6.0 * (slopes[0, k] + 2.0 * (slopes[1, k] + slopes[2, k]) + slopes[3, k])
            step_pose(y, work[1], cs, work[0])
            for k in range(12):
                y[k] = work[0, k]
            for k in range(12, 30):
                y[k] += h / 6.0 * (slopes[0, k] + 2.0 * (slopes[1, k] + slopes[2, k]) + slopes[3, k])
            if hybrid == 1:
                end = at[segment, 2 * step + 2]
                for k in range(6):
                    y[18 + k] = scheme[3] * y[12 + k] + end[42 + k]
            if tangent == 1:
                for r in range(24):
                    for c in range(columns):
                        X[r, c] += h / 6.0 * (
                            trial[1, r, c] + 2.0 * (trial[2, r, c] + trial[3, r, c]) + trial[4, r, c]
                        )
                if hybrid == 1:
                    for r in range(6):
                        for c in range(columns):
                            X[12 + r, c] = scheme[3] * X[6 + r, c]
        for k in range(30):
            path[segment, steps, k] = y[k]
        for k in range(6):
            work[1, k] = 0.0
        _strain(
            at[segment, 2 * steps], pulls[segment, 2 * steps], active, length, scheme, y, strains[segment, 2 * steps],
            work[2], soft, target, law, slope,
        )  # fmt: skip
        _slope(at[segment, 2 * steps], hybrid, gravity, y, work[1], work[2], slopes[0])
        for k in range(6):
            path[segment, steps, 30 + k] = slopes[0, 24 + k]


@inner
def _strain(here, pulls, active, length, scheme, y, guess, strain, soft, target, law, slope):
    """ξ, ξ', ξ'' of the stress in the state ``y``, and the compliance B (∂Λ/∂ξ)⁻¹ Bᵀ of the implicit scheme.

    BᵀΛ = Λ_act(ξ) + H ε + τ H (r₁ ε + e₁), ε = ξ - ξ₀.
    """
    for c in range(6):
        target[c] = y[24 + c] - scheme[2] * here[c] * here[24 + c]
        strain[c] = guess[c]
    strain_of_stress(here, 1.0 + scheme[2] * scheme[0], pulls, active, length, target, strain, soft, law, slope)
    for c in range(6):
        strain[6 + c] = 0.0
        strain[12 + c] = 0.0
        if active[c] != 0.0:
            e = strain[c] - here[6 + c]
            strain[6 + c] = scheme[0] * e + here[24 + c]
            strain[12 + c] = scheme[1] * e + here[30 + c]
    if strain[0] == strain[0]:
        for c in range(6):
            guess[c] = strain[c]


@inner
def _slope(here, hybrid, gravity, y, theta, strain, out):
    """Slopes with s of θ and of η, η', Λ, at the strains ξ, ξ', ξ'' in ``strain`` (18,)."""
    K0, K1, K2, G0, G1, G2 = strain[0], strain[1], strain[2], strain[3], strain[4], strain[5]
    # θ_s = T⁻¹(θ) ξ = ξ + ½ ad(θ) ξ + 1/12 ad(θ)² ξ + ...
    a0, a1, a2 = cross(theta[0], theta[1], theta[2], K0, K1, K2)
    b0, b1, b2 = cross(theta[0], theta[1], theta[2], G0, G1, G2)
    v0, v1, v2 = cross(theta[3], theta[4], theta[5], K0, K1, K2)
    b0, b1, b2 = b0 + v0, b1 + v1, b2 + v2
    p0, p1, p2 = cross(theta[0], theta[1], theta[2], a0, a1, a2)
    q0, q1, q2 = cross(theta[0], theta[1], theta[2], b0, b1, b2)
    v0, v1, v2 = cross(theta[3], theta[4], theta[5], a0, a1, a2)
    out[0], out[1], out[2] = K0 + 0.5 * a0 + p0 / 12.0, K1 + 0.5 * a1 + p1 / 12.0, K2 + 0.5 * a2 + p2 / 12.0
    out[3] = G0 + 0.5 * b0 + (q0 + v0) / 12.0
    out[4] = G1 + 0.5 * b1 + (q1 + v1) / 12.0
    out[5] = G2 + 0.5 * b2 + (q2 + v2) / 12.0
    for jet in range(2):
        # η_s and η'_s
        base = 12 + 6 * jet
        w0, w1, w2, u0, u1, u2 = y[base], y[base + 1], y[base + 2], y[base + 3], y[base + 4], y[base + 5]
        a0, a1, a2 = cross(K0, K1, K2, w0, w1, w2)
        b0, b1, b2 = cross(K0, K1, K2, u0, u1, u2)
        c0, c1, c2 = cross(G0, G1, G2, w0, w1, w2)
        rate = 6 + 6 * jet
        out[base], out[base + 1], out[base + 2] = strain[rate] - a0, strain[rate + 1] - a1, strain[rate + 2] - a2
        out[base + 3] = strain[rate + 3] - b0 - c0
        out[base + 4] = strain[rate + 4] - b1 - c1
        out[base + 5] = strain[rate + 5] - b2 - c2
    a0, a1, a2 = cross(strain[6], strain[7], strain[8], y[12], y[13], y[14])
    b0, b1, b2 = cross(strain[6], strain[7], strain[8], y[15], y[16], y[17])
    c0, c1, c2 = cross(strain[9], strain[10], strain[11], y[12], y[13], y[14])
    out[18] -= a0
    out[19] -= a1
    out[20] -= a2
    out[21] -= b0 + c0
    out[22] -= b1 + c1
    out[23] -= b2 + c2
    if hybrid == 1:
        for k in range(18, 24):
            out[k] = 0.0
    # Λ_s = ad(ξ)ᵀΛ + M η' - ad(η)ᵀ M η - F̄, with ad(x)ᵀF = (-Ω×C - V×N; -Ω×N)
    a0, a1, a2 = cross(K0, K1, K2, y[24], y[25], y[26])
    b0, b1, b2 = cross(G0, G1, G2, y[27], y[28], y[29])
    c0, c1, c2 = cross(K0, K1, K2, y[27], y[28], y[29])
    m = here
    l0, l1, l2 = m[18] * y[12], m[19] * y[13], m[20] * y[14]
    n0, n1, n2 = m[21] * y[15], m[22] * y[16], m[23] * y[17]
    d0, d1, d2 = cross(y[12], y[13], y[14], l0, l1, l2)
    e0, e1, e2 = cross(y[15], y[16], y[17], n0, n1, n2)
    f0, f1, f2 = cross(y[12], y[13], y[14], n0, n1, n2)
    out[24] = -a0 - b0 + m[18] * y[18] + d0 + e0
    out[25] = -a1 - b1 + m[19] * y[19] + d1 + e1
    out[26] = -a2 - b2 + m[20] * y[20] + d2 + e2
    out[27] = -c0 + m[21] * y[21] + f0
    out[28] = -c1 + m[22] * y[22] + f1
    out[29] = -c2 + m[23] * y[23] + f2
    for k in range(3):
        couple = y[k] * here[36] + y[3 + k] * here[37] + y[6 + k] * here[38]
        x = here[48] * gravity[0] + here[39]
        z = here[48] * gravity[1] + here[40]
        w = here[48] * gravity[2] + here[41]
        out[24 + k] -= couple + here[49 + k]
        out[27 + k] -= y[k] * x + y[3 + k] * z + y[6 + k] * w + here[52 + k]


@inner
def _tangent(here, soft, scheme, hybrid, gravity, y, strain, X, out):
    """Slopes with s of the variations (ζ, η, η', Λ), a column for each unknown; δξ = soft δΛ."""
    rate, second = scheme[0], scheme[1]
    K0, K1, K2, G0, G1, G2 = strain[0], strain[1], strain[2], strain[3], strain[4], strain[5]
    k0, k1, k2, g0, g1, g2 = strain[6], strain[7], strain[8], strain[9], strain[10], strain[11]
    W0, W1, W2, V0, V1, V2 = y[12], y[13], y[14], y[15], y[16], y[17]
    A0, A1, A2, B0, B1, B2 = y[18], y[19], y[20], y[21], y[22], y[23]
    C0, C1, C2, N0, N1, N2 = y[24], y[25], y[26], y[27], y[28], y[29]
    m0, m1, m2, m3, m4, m5 = here[18], here[19], here[20], here[21], here[22], here[23]
    # dead loads in body axes: δ(Rᵀf) = (Rᵀf) × ζ_ω
    x = here[48] * gravity[0] + here[39]
    z = here[48] * gravity[1] + here[40]
    w = here[48] * gravity[2] + here[41]
    q0, q1, q2 = y[0] * x + y[3] * z + y[6] * w, y[1] * x + y[4] * z + y[7] * w, y[2] * x + y[5] * z + y[8] * w
    x, z, w = here[36], here[37], here[38]
    o0, o1, o2 = y[0] * x + y[3] * z + y[6] * w, y[1] * x + y[4] * z + y[7] * w, y[2] * x + y[5] * z + y[8] * w
    for c in range(X.shape[1]):
        l0, l1, l2, l3, l4, l5 = X[18, c], X[19, c], X[20, c], X[21, c], X[22, c], X[23, c]
        d0 = soft[0, 0] * l0 + soft[0, 1] * l1 + soft[0, 2] * l2 + soft[0, 3] * l3 + soft[0, 4] * l4 + soft[0, 5] * l5
        d1 = soft[1, 0] * l0 + soft[1, 1] * l1 + soft[1, 2] * l2 + soft[1, 3] * l3 + soft[1, 4] * l4 + soft[1, 5] * l5
        d2 = soft[2, 0] * l0 + soft[2, 1] * l1 + soft[2, 2] * l2 + soft[2, 3] * l3 + soft[2, 4] * l4 + soft[2, 5] * l5
        d3 = soft[3, 0] * l0 + soft[3, 1] * l1 + soft[3, 2] * l2 + soft[3, 3] * l3 + soft[3, 4] * l4 + soft[3, 5] * l5
        d4 = soft[4, 0] * l0 + soft[4, 1] * l1 + soft[4, 2] * l2 + soft[4, 3] * l3 + soft[4, 4] * l4 + soft[4, 5] * l5
        d5 = soft[5, 0] * l0 + soft[5, 1] * l1 + soft[5, 2] * l2 + soft[5, 3] * l3 + soft[5, 4] * l4 + soft[5, 5] * l5
        z0, z1, z2, z3, z4, z5 = X[0, c], X[1, c], X[2, c], X[3, c], X[4, c], X[5, c]
        out[0, c] = d0 - (K1 * z2 - K2 * z1)
        out[1, c] = d1 - (K2 * z0 - K0 * z2)
        out[2, c] = d2 - (K0 * z1 - K1 * z0)
        out[3, c] = d3 - (K1 * z5 - K2 * z4) - (G1 * z2 - G2 * z1)
        out[4, c] = d4 - (K2 * z3 - K0 * z5) - (G2 * z0 - G0 * z2)
        out[5, c] = d5 - (K0 * z4 - K1 * z3) - (G0 * z1 - G1 * z0)
        e0, e1, e2, e3, e4, e5 = X[6, c], X[7, c], X[8, c], X[9, c], X[10, c], X[11, c]
        out[6, c] = rate * d0 - (K1 * e2 - K2 * e1) - (d1 * W2 - d2 * W1)
        out[7, c] = rate * d1 - (K2 * e0 - K0 * e2) - (d2 * W0 - d0 * W2)
        out[8, c] = rate * d2 - (K0 * e1 - K1 * e0) - (d0 * W1 - d1 * W0)
        out[9, c] = rate * d3 - (K1 * e5 - K2 * e4) - (G1 * e2 - G2 * e1) - (d1 * V2 - d2 * V1) - (d4 * W2 - d5 * W1)
        out[10, c] = rate * d4 - (K2 * e3 - K0 * e5) - (G2 * e0 - G0 * e2) - (d2 * V0 - d0 * V2) - (d5 * W0 - d3 * W2)
        out[11, c] = rate * d5 - (K0 * e4 - K1 * e3) - (G0 * e1 - G1 * e0) - (d0 * V1 - d1 * V0) - (d3 * W1 - d4 * W0)
        if hybrid == 1:
            a0, a1, a2 = scheme[3] * e0, scheme[3] * e1, scheme[3] * e2
            a3, a4, a5 = scheme[3] * e3, scheme[3] * e4, scheme[3] * e5
            for r in range(12, 18):
                out[r, c] = 0.0
        else:
            a0, a1, a2, a3, a4, a5 = X[12, c], X[13, c], X[14, c], X[15, c], X[16, c], X[17, c]
            # -ad(ξ)δη' - ad(ξ')δη - ad(δξ')η - ad(δξ)η' + δξ''
            t0, t1, t2, t3, t4, t5 = rate * d0, rate * d1, rate * d2, rate * d3, rate * d4, rate * d5
            out[12, c] = (
                second * d0 - (K1 * a2 - K2 * a1) - (k1 * e2 - k2 * e1) - (t1 * W2 - t2 * W1) - (d1 * A2 - d2 * A1)
            )
            out[13, c] = (
                second * d1 - (K2 * a0 - K0 * a2) - (k2 * e0 - k0 * e2) - (t2 * W0 - t0 * W2) - (d2 * A0 - d0 * A2)
            )
            out[14, c] = (
                second * d2 - (K0 * a1 - K1 * a0) - (k0 * e1 - k1 * e0) - (t0 * W1 - t1 * W0) - (d0 * A1 - d1 * A0)
            )
            out[15, c] = (
                second * d3 - (K1 * a5 - K2 * a4) - (G1 * a2 - G2 * a1) - (k1 * e5 - k2 * e4) - (g1 * e2 - g2 * e1)
                - (t1 * V2 - t2 * V1) - (t4 * W2 - t5 * W1) - (d1 * B2 - d2 * B1) - (d4 * A2 - d5 * A1)
            )  # fmt: skip
            out[16, c] = (
                second * d4 - (K2 * a3 - K0 * a5) - (G2 * a0 - G0 * a2) - (k2 * e3 - k0 * e5) - (g2 * e0 - g0 * e2)
                - (t2 * V0 - t0 * V2) - (t5 * W0 - t3 * W2) - (d2 * B0 - d0 * B2) - (d5 * A0 - d3 * A2)
            )  # fmt: skip
            out[17, c] = (
                second * d5 - (K0 * a4 - K1 * a3) - (G0 * a1 - G1 * a0) - (k0 * e4 - k1 * e3) - (g0 * e1 - g1 * e0)
                - (t0 * V1 - t1 * V0) - (t3 * W1 - t4 * W0) - (d0 * B1 - d1 * B0) - (d3 * A1 - d4 * A0)
            )  # fmt: skip
        # ad(ξ)ᵀδΛ + ad(δξ)ᵀΛ + M δη' - ad(η)ᵀM δη - ad(δη)ᵀM η - δF̄
        p0, p1, p2, p3, p4, p5 = m0 * e0, m1 * e1, m2 * e2, m3 * e3, m4 * e4, m5 * e5
        P0, P1, P2, P3, P4, P5 = m0 * W0, m1 * W1, m2 * W2, m3 * V0, m4 * V1, m5 * V2
        out[18, c] = (
            -(K1 * l2 - K2 * l1) - (G1 * l5 - G2 * l4) - (d1 * C2 - d2 * C1) - (d4 * N2 - d5 * N1) + m0 * a0
            + (W1 * p2 - W2 * p1) + (V1 * p5 - V2 * p4) + (e1 * P2 - e2 * P1) + (e4 * P5 - e5 * P4)
            - (o1 * z2 - o2 * z1)
        )  # fmt: skip
        out[19, c] = (
            -(K2 * l0 - K0 * l2) - (G2 * l3 - G0 * l5) - (d2 * C0 - d0 * C2) - (d5 * N0 - d3 * N2) + m1 * a1
            + (W2 * p0 - W0 * p2) + (V2 * p3 - V0 * p5) + (e2 * P0 - e0 * P2) + (e5 * P3 - e3 * P5)
            - (o2 * z0 - o0 * z2)
        )  # fmt: skip
        out[20, c] = (
            -(K0 * l1 - K1 * l0) - (G0 * l4 - G1 * l3) - (d0 * C1 - d1 * C0) - (d3 * N1 - d4 * N0) + m2 * a2
            + (W0 * p1 - W1 * p0) + (V0 * p4 - V1 * p3) + (e0 * P1 - e1 * P0) + (e3 * P4 - e4 * P3)
            - (o0 * z1 - o1 * z0)
        )  # fmt: skip
        out[21, c] = (
            -(K1 * l5 - K2 * l4) - (d1 * N2 - d2 * N1) + m3 * a3 + (W1 * p5 - W2 * p4) + (e1 * P5 - e2 * P4)
            - (q1 * z2 - q2 * z1)
        )  # fmt: skip
        out[22, c] = (
            -(K2 * l3 - K0 * l5) - (d2 * N0 - d0 * N2) + m4 * a4 + (W2 * p3 - W0 * p5) + (e2 * P3 - e0 * P5)
            - (q2 * z0 - q0 * z2)
        )  # fmt: skip
        out[23, c] = (
            -(K0 * l4 - K1 * l3) - (d0 * N1 - d1 * N0) + m5 * a5 + (W0 * p4 - W1 * p3) + (e0 * P4 - e1 * P3)
            - (q0 * z1 - q1 * z0)
        )  # fmt: skip
