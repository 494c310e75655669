"""The law of one section of a rod, and the algebra that marches along it share.

    Λ = Λ_m + Σ T W t + a H (ξ - ξ₀),     W = [D̂; 1],  t = c/|c|,  c = Γ + K × D + D′            (tendons T, paths D)
    ∂Λ/∂ξ = a H + Σ T W P Wᵀ,             P = (1 - t tᵀ)/|c|

Free strains follow from their stresses by Newton's method at each section (Boyer 2023, form A1, with the strain in the
actuation); other strains keep their rest value. ``here`` (≥ 18) holds H, ξ₀ and the stress Λ_m of muscles; ``pulls``
(tendons, ≥ 7) holds D, D′ and T, zero where a tendon does not act; ``a`` is 1 in statics, and 1 + τ r₁ with material
damping in an implicit scheme. Six-vectors are angular first, in the axes of the section.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import stumpff
from elver.kernels.build.cache import inner, kernel

__all__ = ["cross", "invert_free", "law_of_strain", "section_strains", "step_pose", "strain_of_stress"]

_MOST = 40  # Newton steps at a section
_CLOSE = 1e-8  # error in strain (times the length, for curvatures) from which one more step is exact


@inner("UniTuple(f8, 3)(f8, f8, f8, f8, f8, f8)")
def cross(a0, a1, a2, b0, b1, b2):
    """a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


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
def law_of_strain(here, a, pulls, strain, stress, slope):
    """Λ (6,) at the strain ξ, and ∂Λ/∂ξ (6, 6)."""
    for r in range(6):
        for c in range(6):
            slope[r, c] = 0.0
        slope[r, r] = a * here[r]
        stress[r] = here[12 + r] + a * here[r] * (strain[r] - here[6 + r])
    K0, K1, K2, G0, G1, G2 = strain[0], strain[1], strain[2], strain[3], strain[4], strain[5]
    for k in range(pulls.shape[0]):
        tension = pulls[k, 6]
        if tension == 0.0:
            continue
        D0, D1, D2 = pulls[k, 0], pulls[k, 1], pulls[k, 2]
        b0, b1, b2 = cross(K0, K1, K2, D0, D1, D2)
        c0, c1, c2 = G0 + b0 + pulls[k, 3], G1 + b1 + pulls[k, 4], G2 + b2 + pulls[k, 5]
        size = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
        t0, t1, t2 = c0 / size, c1 / size, c2 / size
        m0, m1, m2 = cross(D0, D1, D2, t0, t1, t2)
        stress[0] += tension * m0
        stress[1] += tension * m1
        stress[2] += tension * m2
        stress[3] += tension * t0
        stress[4] += tension * t1
        stress[5] += tension * t2
        # W P Wᵀ = (W Wᵀ - (W t)(W t)ᵀ)/|c|
        part = tension / size
        D = D0 * D0 + D1 * D1 + D2 * D2
        slope[0, 0] += part * (D - D0 * D0 - m0 * m0)
        slope[1, 1] += part * (D - D1 * D1 - m1 * m1)
        slope[2, 2] += part * (D - D2 * D2 - m2 * m2)
        slope[0, 1] -= part * (D0 * D1 + m0 * m1)
        slope[0, 2] -= part * (D0 * D2 + m0 * m2)
        slope[1, 2] -= part * (D1 * D2 + m1 * m2)
        slope[0, 3] -= part * m0 * t0
        slope[1, 4] -= part * m1 * t1
        slope[2, 5] -= part * m2 * t2
        slope[0, 4] -= part * (D2 + m0 * t1)
        slope[0, 5] += part * (D1 - m0 * t2)
        slope[1, 3] += part * (D2 - m1 * t0)
        slope[1, 5] -= part * (D0 + m1 * t2)
        slope[2, 3] -= part * (D1 + m2 * t0)
        slope[2, 4] += part * (D0 - m2 * t1)
        slope[3, 3] += part * (1.0 - t0 * t0)
        slope[4, 4] += part * (1.0 - t1 * t1)
        slope[5, 5] += part * (1.0 - t2 * t2)
        slope[3, 4] -= part * t0 * t1
        slope[3, 5] -= part * t0 * t2
        slope[4, 5] -= part * t1 * t2
    for r in range(1, 6):
        for c in range(r):
            slope[r, c] = slope[c, r]


@inner
def invert_free(slope, active, soft):
    """soft (6, 6) = B (Bᵀ slope B)⁻¹ Bᵀ for the components with ``active`` ≠ 0, by elimination; slope is used up."""
    for r in range(6):
        for c in range(6):
            soft[r, c] = 0.0
        if active[r] != 0.0:
            soft[r, r] = 1.0
    for k in range(6):
        if active[k] == 0.0:
            continue
        pivot = 1.0 / slope[k, k]
        for r in range(6):
            if r == k or active[r] == 0.0:
                continue
            factor = slope[r, k] * pivot
            if factor == 0.0:
                continue
            for c in range(6):
                if active[c] != 0.0:
                    slope[r, c] -= factor * slope[k, c]
                    soft[r, c] -= factor * soft[k, c]
        for c in range(6):
            slope[k, c] *= pivot
            soft[k, c] *= pivot


@inner
def strain_of_stress(here, a, pulls, active, length, target, strain, soft, law, slope):
    """ξ with Λ(ξ) = ``target`` for the free strains, from the guess in ``strain``; the compliance goes to ``soft``.

    Not a number where Newton does not end. ``law`` (6,) and ``slope`` (6, 6) are scratch.
    """
    if pulls.shape[0] == 0:
        for r in range(6):
            for c in range(6):
                soft[r, c] = 0.0
            strain[r] = here[6 + r]
            if active[r] != 0.0:
                soft[r, r] = 1.0 / (a * here[r])
                strain[r] += (target[r] - here[12 + r]) * soft[r, r]
        return
    for r in range(6):
        if active[r] == 0.0:
            strain[r] = here[6 + r]
    for _ in range(_MOST):
        law_of_strain(here, a, pulls, strain, law, slope)
        invert_free(slope, active, soft)
        error = 0.0
        for r in range(6):
            if active[r] != 0.0:
                change = 0.0
                for c in range(6):
                    if active[c] != 0.0:
                        change += soft[r, c] * (target[c] - law[c])
                strain[r] += change
                missing = abs(target[r] - law[r]) / (a * here[r])
                missing *= length if r < 3 else 1.0
                error = max(error, missing)
                if missing != missing:
                    error = math.inf
        if error <= _CLOSE:  # one more, quadratic, step has just been taken
            return
    for r in range(6):
        strain[r] = math.nan


@kernel
def section_strains(a, length, active, at, pulls, targets, strains, scratch):
    """:func:`strain_of_stress` at many sections: ``targets`` and ``strains`` (n, 6); ``scratch`` (3, 6, 6)."""
    soft, slope, law = scratch[0, :6, :6], scratch[1, :6, :6], scratch[2, 0]
    for k in range(at.shape[0]):
        strain_of_stress(at[k], a, pulls[k], active, length, targets[k], strains[k], soft, law, slope)
