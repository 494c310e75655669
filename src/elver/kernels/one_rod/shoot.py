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

from elver.kernels.algebra import bracket, coad, times
from elver.kernels.build.cache import inner, kernel
from elver.kernels.one_rod.section import strain_of_stress
from elver.kernels.one_rod.six import column, plus, put, put_column, six, turned
from elver.kernels.one_rod.static_shoot import step_pose
from elver.kernels.one_rod.views import HYBRID, STEPS, unpack_motion

__all__ = ["shoot"]

_NONE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def shoot(rod, tangent, state, variation, path):
    """Integrate each segment over its steps, from ``state`` (segments, 30) and ``variation`` (segments, 24, columns).

    Both in place; ``tangent`` 0 leaves the latter alone. Fields of the rod behind the first three, of 55: inertia (6),
    e₁ (6), e₂ (6), dead load per length (6), f_η (6), mass per length that gravity acts on, following load per length
    (6). ``path`` (segments, steps + 1, 36) records the states and Λ_s at the nodes.
    """
    p, _, w = unpack_motion(rod)
    for segment in range(state.shape[0]):
        y, X = state[segment], variation[segment]
        for step in range(p.how[STEPS]):
            for k in range(30):
                path[segment, step, k] = y[k]
            for stage in range(4):
                _stage(rod, segment, step, stage, tangent, y, X)
                if stage == 0:
                    for k in range(6):
                        path[segment, step, 30 + k] = w.slopes[0, 24 + k]
            _advance(rod, segment, step, tangent, y, X)
        for k in range(30):
            path[segment, p.how[STEPS], k] = y[k]
            w.y[k] = y[k]
        for k in range(6):
            w.theta[k] = 0.0
        _strain(rod, segment, 2 * p.how[STEPS])
        _slope(rod, segment, 2 * p.how[STEPS], 0)
        for k in range(6):
            path[segment, p.how[STEPS], 30 + k] = w.slopes[0, 24 + k]


@inner
def _stage(rod, segment, step, stage, tangent, y, X):
    """Slopes of a stage, and their variation."""
    p, _, w = unpack_motion(rod)
    place = 2 * step + (0 if stage == 0 else (2 if stage == 3 else 1))
    h = p.step[segment]
    part = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
    for k in range(6):
        w.theta[k] = part * w.slopes[stage - 1, k] if stage > 0 else 0.0
    step_pose(y, w.theta, w.stumpff, w.y)
    for k in range(12, 30):
        w.y[k] = y[k] + (part * w.slopes[stage - 1, k] if stage > 0 else 0.0)
    if p.how[HYBRID] == 1:
        put(w.y, 18, plus(six(p.at[segment, place], 42), p.scheme[3], six(w.y, 12)))
    _strain(rod, segment, place)
    _slope(rod, segment, place, stage)
    if tangent == 1:
        for r in range(24):
            before = w.trial[0, r]
            for c in range(X.shape[1]):
                before[c] = X[r, c]
            if stage > 0:
                last = w.trial[stage, r]
                for c in range(X.shape[1]):
                    before[c] += part * last[c]
        _tangent(rod, segment, place, w.trial[0], w.trial[1 + stage])


@inner
def _advance(rod, segment, step, tangent, y, X):
    """The end of a step from its four stages."""
    p, _, w = unpack_motion(rod)
    h, slopes, trial = p.step[segment], w.slopes, w.trial
    for k in range(6):
        w.theta[k] = h / 6.0 * (slopes[0, k] + 2.0 * (slopes[1, k] + slopes[2, k]) + slopes[3, k])
    step_pose(y, w.theta, w.stumpff, w.y)
    for k in range(12):
        y[k] = w.y[k]
    for k in range(12, 30):
        y[k] += h / 6.0 * (slopes[0, k] + 2.0 * (slopes[1, k] + slopes[2, k]) + slopes[3, k])
    if p.how[HYBRID] == 1:
        put(y, 18, plus(six(p.at[segment, 2 * step + 2], 42), p.scheme[3], six(y, 12)))
    if tangent == 1:
        for r in range(24):
            for c in range(X.shape[1]):
                X[r, c] += h / 6.0 * (trial[1, r, c] + 2.0 * (trial[2, r, c] + trial[3, r, c]) + trial[4, r, c])
        if p.how[HYBRID] == 1:
            for r in range(6):
                for c in range(X.shape[1]):
                    X[12 + r, c] = p.scheme[3] * X[6 + r, c]


@inner
def _strain(rod, segment, place):
    """ξ, ξ', ξ'' of the stress in motion.y, and the compliance B (∂Λ/∂ξ)⁻¹ Bᵀ of the implicit scheme.

    BᵀΛ = Λ_act(ξ) + Λ_law(ε) + τ 𝓗 (r₁ ε + e₁), ε = ξ - ξ₀.
    """
    p, v, w = unpack_motion(rod)
    here, guess, strain, damping = p.at[segment, place], p.strains[segment, place], v.strain, p.scheme[2]
    for c in range(6):
        v.target[c] = w.y[24 + c]
        strain[c] = guess[c]
    if p.stiffness.shape[2] > 0:
        for r in range(6):
            for c in range(6):
                v.target[r] -= damping * p.stiffness[segment, place, 6 * r + c] * here[24 + c]
    else:
        for c in range(6):
            v.target[c] -= damping * here[c] * here[24 + c]
    strain_of_stress(rod, segment, place, 1.0 + damping * p.scheme[0], v.target, strain)
    for c in range(6):
        strain[6 + c] = 0.0
        strain[12 + c] = 0.0
        if p.active[c] != 0.0:
            e = strain[c] - here[6 + c]
            strain[6 + c] = p.scheme[0] * e + here[24 + c]
            strain[12 + c] = p.scheme[1] * e + here[30 + c]
    if strain[0] == strain[0]:
        for c in range(6):
            guess[c] = strain[c]


@inner
def _loads(rod, segment, place):
    """Dead couple and force per metre of a stage, in its axes."""
    p, _, w = unpack_motion(rod)
    here, R = p.at[segment, place], w.y
    f0 = here[48] * p.gravity[0] + here[39]
    f1 = here[48] * p.gravity[1] + here[40]
    f2 = here[48] * p.gravity[2] + here[41]
    return (
        R[0] * here[36] + R[3] * here[37] + R[6] * here[38],
        R[1] * here[36] + R[4] * here[37] + R[7] * here[38],
        R[2] * here[36] + R[5] * here[37] + R[8] * here[38],
        R[0] * f0 + R[3] * f1 + R[6] * f2, R[1] * f0 + R[4] * f1 + R[7] * f2, R[2] * f0 + R[5] * f1 + R[8] * f2,
    )  # fmt: skip


@inner
def _weighed(here, a):
    """𝓜 a."""
    return here[18] * a[0], here[19] * a[1], here[20] * a[2], here[21] * a[3], here[22] * a[4], here[23] * a[5]


@inner
def _slope(rod, segment, place, stage):
    """Slopes with s of θ and of η, η', Λ, at the strains ξ, ξ', ξ'' of the section."""
    p, v, w = unpack_motion(rod)
    here, out = p.at[segment, place], w.slopes[stage]
    theta, xi, rate = six(w.theta, 0), six(v.strain, 0), six(v.strain, 6)
    eta, eta_dot, stress = six(w.y, 12), six(w.y, 18), six(w.y, 24)
    # θ_s = T⁻¹(θ) ξ = ξ + ½ ad(θ) ξ + 1/12 ad(θ)² ξ + ...
    once = bracket(theta, xi)
    put(out, 0, plus(plus(xi, 0.5, once), 1.0 / 12.0, bracket(theta, once)))
    put(out, 12, plus(rate, -1.0, bracket(xi, eta)))
    if p.how[HYBRID] == 1:
        put(out, 18, _NONE)
    else:
        drift = plus(bracket(xi, eta_dot), 1.0, bracket(rate, eta))
        put(out, 18, plus(six(v.strain, 12), -1.0, drift))
    # Λ_s = ad(ξ)ᵀΛ + M η' - ad(η)ᵀ M η - F̄
    inertia = plus(_weighed(here, eta_dot), 1.0, coad(eta, _weighed(here, eta)))
    load = plus(_loads(rod, segment, place), 1.0, six(here, 49))
    put(out, 24, plus(plus(inertia, -1.0, coad(xi, stress)), -1.0, load))


@inner
def _tangent(rod, segment, place, X, out):
    """Slopes with s of the variations (ζ, η, η', Λ), a column for each unknown; δξ = soft δΛ."""
    p, v, w = unpack_motion(rod)
    here, first, second = p.at[segment, place], p.scheme[0], p.scheme[1]
    xi, rate = six(v.strain, 0), six(v.strain, 6)
    eta, eta_dot, stress = six(w.y, 12), six(w.y, 18), six(w.y, 24)
    momentum, load = _weighed(here, eta), _loads(rod, segment, place)
    for c in range(X.shape[1]):
        zeta, d_eta, d_stress = column(X, 0, c), column(X, 6, c), column(X, 18, c)
        bent = times(v.soft, d_stress)
        d_rate = plus(_NONE, first, bent)
        put_column(out, 0, c, plus(bent, -1.0, bracket(xi, zeta)))
        put_column(out, 6, c, plus(plus(d_rate, -1.0, bracket(xi, d_eta)), -1.0, bracket(bent, eta)))
        if p.how[HYBRID] == 1:
            d_eta_dot = plus(_NONE, p.scheme[3], d_eta)
            put_column(out, 12, c, _NONE)
        else:
            # -ad(ξ)δη' - ad(ξ')δη - ad(δξ')η - ad(δξ)η' + δξ''
            d_eta_dot = column(X, 12, c)
            drift = plus(bracket(xi, d_eta_dot), 1.0, bracket(rate, d_eta))
            drift = plus(plus(drift, 1.0, bracket(d_rate, eta)), 1.0, bracket(bent, eta_dot))
            put_column(out, 12, c, plus(plus(_NONE, second, bent), -1.0, drift))
        # ad(ξ)ᵀδΛ + ad(δξ)ᵀΛ + M δη' - ad(η)ᵀM δη - ad(δη)ᵀM η - δF̄
        demand = plus(_weighed(here, d_eta_dot), 1.0, coad(eta, _weighed(here, d_eta)))
        demand = plus(plus(demand, 1.0, coad(d_eta, momentum)), -1.0, coad(xi, d_stress))
        put_column(out, 18, c, plus(plus(demand, -1.0, coad(bent, stress)), -1.0, turned(load, zeta)))
