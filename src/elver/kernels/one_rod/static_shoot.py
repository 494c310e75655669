"""Initial value problems of statics along a rod, over many segments, with the exact derivative of the steps taken.

    g_s = g ξ̂ ,   Λ_s = ad(ξ)ᵀΛ - F̄ ,   BᵀΛ = Bᵀ(Λ_act(ξ) + H(ξ - ξ₀))                        (Boyer 2023, eq. 50-55)

by Runge-Kutta-Munthe-Kaas steps of order four: k = dexp⁻¹(θ) ξ = ξ + ½[θ, ξ] + 1/12 [θ, [θ, ξ]], or, with the same
stages, by Magnus steps of order four: θ = h/6 (ξ₁ + 2ξ₂ + 2ξ₃ + ξ₄) + h²/12 [ξ₁, ξ₄]. Form 0 integrates Λ, and ξ
follows at each stage from the law; form 1 integrates the free strains and the stresses of the others,

    (BᵀSB) Bᵀξ_s = Bᵀ(ad(ξ)ᵀΛ - F̄ - ∂Λ/∂s|_ξ),   S = ∂Λ/∂ξ

The variation of (ζ, Λ), δg = g ζ̂, goes along: in form 0 it is the derivative of the discrete step. With ζ of a stage,
g exp(θ), equal to Ad(exp(-θ))ζ + dexp(θ)δθ and dexp left-trivialised. What Newton's method on the nodes of multiple
shooting needs beside that, per node, is in :mod:`elver.kernels.one_rod.nodes`.
"""

from __future__ import annotations

from elver.kernels.algebra import add_bracket, bracket, coad, stumpff, times
from elver.kernels.build.cache import inner, kernel
from elver.kernels.one_rod.section import invert_free, law_of_strain, strain_of_stress
from elver.kernels.one_rod.six import (
    add_column,
    column,
    cross,
    plus,
    put,
    put_column,
    six,
    turned,
)
from elver.kernels.one_rod.views import FORM, MAGNUS, STEPS, TURNS, unpack_rod, unpack_statics
from elver.kernels.terms.tendon import pull_of_tendon

__all__ = ["static_shoot", "step_pose"]

_NONE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def static_shoot(rod, tangent, state, variation, path):
    """Integrate each segment over its steps, from ``state`` (segments, 18): R, p, Λ, in place.

    ``variation`` (segments, 12, 12) in place, too, unless ``tangent`` is 0. Fields of the rod behind the first three,
    of 48: dead load per metre in world axes, following load per metre, and, where free strains are integrated, the
    derivatives with s of the first three. ``path`` (segments, steps, 18) records the ends of steps.
    """
    p, _, w = unpack_statics(rod)
    for segment in range(state.shape[0]):
        now = state[segment]
        for r in range(6):
            w.y[r] = now[12 + r]
        if p.how[FORM] == 1:
            _to_strain(rod, segment)
        for step in range(p.how[STEPS]):
            if tangent == 1:
                for r in range(12):
                    for c in range(12):
                        w.total[r, c] = 0.0
            for stage in range(4):
                _stage(rod, segment, step, stage, tangent, now, variation[segment])
            _advance(rod, segment, step, tangent, now, variation[segment])
            for r in range(18):
                path[segment, step, r] = now[r]


@inner
def _stage(rod, segment, step, stage, tangent, now, X):
    """Slopes of a stage, and their variation."""
    p, v, w = unpack_statics(rod)
    place = 2 * step + (0 if stage == 0 else (2 if stage == 3 else 1))
    h, theta, guess = p.step[segment], w.xi[4], p.strains[segment, place]
    ahead = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
    for r in range(6):
        theta[r] = ahead * w.rate[stage - 1, r] if stage > 0 else 0.0
        w.stress[r] = w.y[r] + (ahead * w.force[stage - 1, r] if stage > 0 else 0.0)
    moves = p.how[TURNS] == 1 and stage > 0
    if moves:
        step_pose(now, theta, w.stumpff, w.moved)
    else:
        for r in range(9):
            w.moved[r] = now[r]
    if p.how[FORM] == 0:
        for r in range(6):
            v.strain[r] = guess[r]
        strain_of_stress(rod, segment, place, 1.0, w.stress, v.strain)
        if v.strain[0] == v.strain[0]:
            for r in range(6):
                guess[r] = v.strain[r]
    else:
        _to_stress(rod, segment, place, w.stress)
        invert_free(rod)
    _balance(rod, segment, place, stage)
    put(w.rate[stage], 0, _munthe_kaas(six(theta, 0), six(v.strain, 0)))
    for r in range(6):
        w.xi[stage, r] = v.strain[r]
    if tangent == 1:
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        if moves:
            _pose_change(theta, w.stumpff, ahead, X, w.last, w.zeta)
            _vary(rod, ahead, weight, X, w.zeta)
        else:
            _vary(rod, ahead, weight, X, X)
        if p.how[MAGNUS] == 1:
            _magnus_change(rod, stage, h, weight)
    if p.how[FORM] == 1:
        _strain_rate(rod, segment, place, stage)


@inner
def _advance(rod, segment, step, tangent, now, X):
    """The end of a step from its four stages."""
    p, _, w = unpack_statics(rod)
    h, theta, k, f = p.step[segment], w.xi[4], w.rate, w.force
    slopes = w.xi if p.how[MAGNUS] == 1 else k
    for r in range(6):
        theta[r] = h / 6.0 * (slopes[0, r] + 2.0 * (slopes[1, r] + slopes[2, r]) + slopes[3, r])
        w.y[r] += h / 6.0 * (f[0, r] + 2.0 * (f[1, r] + f[2, r]) + f[3, r])
    if p.how[MAGNUS] == 1:
        add_bracket(w.xi, 4, h * h / 12.0, w.xi, 0, w.xi, 3)
    step_pose(now, theta, w.stumpff, w.moved)
    for r in range(12):
        now[r] = w.moved[r]
    for r in range(6):
        w.stress[r] = w.y[r]
    if p.how[FORM] == 1:
        _to_stress(rod, segment, 2 * step + 2, w.stress)
    for r in range(6):
        now[12 + r] = w.stress[r]
    if tangent == 1:
        _pose_change(theta, w.stumpff, h / 6.0, X, w.mean if p.how[MAGNUS] == 1 else w.total, w.zeta)
        for r in range(6):
            for c in range(12):
                X[r, c] = w.zeta[r, c]
                X[6 + r, c] += h / 6.0 * w.total[6 + r, c]


@inner
def step_pose(y, theta, cs, out):
    """out[:12] = (R, p) of y moved by exp(θ); ``cs`` keeps the Stumpff functions of θ."""
    x, b, z, u, v, w = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
    stumpff(x * x + b * b + z * z, cs)
    c0, c1, c2, c3 = cs[0], cs[1], cs[2], cs[3]
    t0, t1, t2 = cross(x, b, z, u, v, w)
    along = c3 * (x * u + b * v + z * w)
    d0, d1, d2 = c1 * u + c2 * t0 + along * x, c1 * v + c2 * t1 + along * b, c1 * w + c2 * t2 + along * z
    for i in range(3):
        r0, r1, r2 = y[3 * i], y[3 * i + 1], y[3 * i + 2]
        dot = c2 * (r0 * x + r1 * b + r2 * z)
        out[3 * i] = c0 * r0 + c1 * (r1 * z - r2 * b) + dot * x
        out[3 * i + 1] = c0 * r1 + c1 * (r2 * x - r0 * z) + dot * b
        out[3 * i + 2] = c0 * r2 + c1 * (r0 * b - r1 * x) + dot * z
        out[9 + i] = y[9 + i] + r0 * d0 + r1 * d1 + r2 * d2


@inner
def _to_strain(rod, segment):
    """At the start of a segment, free stresses in statics.y replaced by their strains."""
    p, v, w = unpack_statics(rod)
    for r in range(6):
        v.strain[r] = p.strains[segment, 0, r]
    strain_of_stress(rod, segment, 0, 1.0, w.y, v.strain)
    for r in range(6):
        if p.active[r] != 0.0:
            w.y[r] = v.strain[r]


@inner
def _to_stress(rod, segment, place, y):
    """Free strains in ``y`` replaced by their stresses; ξ goes to section.strain, ∂Λ/∂ξ to section.slope."""
    p, v = unpack_rod(rod)
    for r in range(6):
        v.strain[r] = y[r] if p.active[r] != 0.0 else p.at[segment, place, 6 + r]
    law_of_strain(rod, segment, place, 1.0, v.strain)
    for r in range(6):
        if p.active[r] != 0.0:
            y[r] = v.law[r]


@inner
def _balance(rod, segment, place, stage):
    """Λ_s = ad(ξ)ᵀΛ - F̄ of a stage; the dead couple and force per metre in section axes go to statics.drift."""
    p, v, w = unpack_statics(rod)
    here, R, dead = p.at[segment, place], w.moved, w.drift
    for r in range(3):
        dead[r] = R[r] * here[18] + R[3 + r] * here[19] + R[6 + r] * here[20]
        dead[3 + r] = R[r] * here[21] + R[3 + r] * here[22] + R[6 + r] * here[23]
    load = plus(six(dead, 0), 1.0, six(here, 24))
    put(w.force[stage], 0, plus(plus(_NONE, -1.0, coad(six(v.strain, 0), six(w.stress, 0))), -1.0, load))


@inner
def _munthe_kaas(theta, strain):
    """ξ + ½[θ, ξ] + 1/12 [θ, [θ, ξ]]."""
    once = bracket(theta, strain)
    return plus(plus(strain, 0.5, once), 1.0 / 12.0, bracket(theta, once))


@inner
def _strain_rate(rod, segment, place, stage):
    """Slopes of free stresses replaced by those of their strains, S⁻¹(Λ_s - ∂Λ/∂s|_ξ)."""
    p, v, w = unpack_statics(rod)
    here, pulls, strain, rate, drift = p.at[segment, place], p.pulls[segment, place], v.strain, w.force[stage], w.drift
    for r in range(6):
        drift[r] = here[42 + r] + here[30 + r] * (strain[r] - here[6 + r]) - here[r] * here[36 + r]
    K0, K1, K2 = strain[0], strain[1], strain[2]
    for k in range(pulls.shape[0]):
        tension = pulls[k, 6]
        if tension == 0.0:
            continue
        D0, D1, D2, E0, E1, E2 = pulls[k, 0], pulls[k, 1], pulls[k, 2], pulls[k, 3], pulls[k, 4], pulls[k, 5]
        size, (_, _, _, t0, t1, t2) = pull_of_tendon(pulls[k], strain)
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
        if p.active[r] != 0.0:
            rate[r] = 0.0
            for c in range(6):
                rate[r] += v.soft[r, c] * drift[c]


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
def _vary(rod, ahead, weight, X, zeta):
    """Variation of both slopes at a stage: statics.last (12, 12) holds that of the stage before, then this one's.

    ``zeta``[:3] are the turns of the stage; statics.total collects with ``weight``; δξ goes to statics.bent[:6].
    """
    _, v, w = unpack_statics(rod)
    theta, xi, stress, dead = six(w.xi[4], 0), six(v.strain, 0), six(w.stress, 0), six(w.drift, 0)
    once = bracket(theta, xi)
    for c in range(12):
        change, turn = column(X, 6, c), _NONE
        if ahead > 0.0:
            change = plus(change, ahead, column(w.last, 6, c))
            turn = plus(_NONE, ahead, column(w.last, 0, c))
        bent = times(v.soft, change)
        # δξ + [½δθ, ξ] + [½θ, δξ] + 1/12 ([δθ, [θ, ξ]] + [θ, [δθ, ξ] + [θ, δξ]])
        first = plus(bracket(turn, xi), 1.0, bracket(theta, bent))
        second = plus(bracket(turn, once), 1.0, bracket(theta, first))
        rate = plus(plus(bent, 0.5, first), 1.0 / 12.0, second)
        # ad(ξ)ᵀδΛ + ad(δξ)ᵀΛ - δF̄; a dead vector in section axes changes by (Rᵀf) × ζ_ω
        force = plus(coad(xi, change), 1.0, coad(bent, stress))
        force = plus(_NONE, -1.0, plus(force, 1.0, turned(dead, column(zeta, 0, c))))
        put_column(w.bent, 0, c, bent)
        put_column(w.last, 0, c, rate)
        put_column(w.last, 6, c, force)
        add_column(w.total, 0, c, weight, rate)
        add_column(w.total, 6, c, weight, force)


@inner
def _magnus_change(rod, stage, h, weight):
    """Σ weight δξ, at the end with h/2 ([δξ₁, ξ₄] + [ξ₁, δξ₄]), in statics.mean[:6]; statics.bent[6:] keeps δξ₁."""
    _, _, w = unpack_statics(rod)
    for c in range(12):
        bent = column(w.bent, 0, c)
        if stage == 0:
            put_column(w.bent, 6, c, bent)
            put_column(w.mean, 0, c, bent)
        else:
            add_column(w.mean, 0, c, weight, bent)
        if stage == 3:
            add_column(w.mean, 0, c, 0.5 * h, bracket(column(w.bent, 6, c), six(w.xi[3], 0)))
            add_column(w.mean, 0, c, 0.5 * h, bracket(six(w.xi[0], 0), bent))
