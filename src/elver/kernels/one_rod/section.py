"""The law of one section of a rod, and its inverse.

    Λ = Λ_m + Σ T W t + Λ_law(ε) + τ r₁ 𝓗 ε,     ε = ξ - ξ₀,  W = [D̂; 1],  t = c/|c|,  c = Γ + K × D + D′
    ∂Λ/∂ξ = ∂Λ_law/∂ε + τ r₁ 𝓗 + Σ T W P Wᵀ,      P = (1 - t tᵀ)/|c|                      (tendons T, paths D)

The section law Λ_law is 𝓗 ε with a diagonal or full 𝓗, or a C function of a user's own, called at its address as the
terms of the recursion do (:mod:`elver.kernels.terms.own_functions`); 𝓗 is then its slope at rest. Free strains follow
from their stresses by Newton's method at each section (Boyer 2023, form A1, with the strain in the actuation), which
shortens steps that leave more than they take away; other strains keep their rest value. ``a`` is 1 in statics, and
1 + τ r₁ with material damping in an implicit scheme. A section is a ``place`` in a ``segment`` of the rod
(:mod:`elver.kernels.one_rod.views`).
"""

from __future__ import annotations

import math

from elver.kernels.algebra import add, scaled
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import call_own
from elver.kernels.one_rod.views import unpack_rod
from elver.kernels.terms.tendon import add_stiffening, pull_of_tendon

__all__ = ["invert_free", "law_of_strain", "section_strains", "strain_of_stress"]

_MOST = 40  # Newton steps at a section
_HALVES = 30  # of one of them
_CLOSE = 1e-8  # error in strain (times the length, for curvatures) from which one more step is exact


@inner
def law_of_strain(rod, segment, place, a, strain):
    """Λ (6,) at the strain ξ into section.law, and ∂Λ/∂ξ (6, 6) into section.slope."""
    p, w = unpack_rod(rod)
    here, law, slope, x = p.at[segment, place], w.law, w.slope, w.change
    own = p.address[0] != 0
    for r in range(6):
        x[r] = strain[r] - here[6 + r]
        law[r] = 0.0
        for c in range(6):
            slope[r, c] = 0.0
    if own:
        call_own(p.address[0], x, p.s[segment, place], 0.0, p.parameters, law, slope)
    if p.stiffness.shape[2] > 0:
        part = a - 1.0 if own else a
        H = p.stiffness[segment, place]
        for r in range(6):
            for c in range(6):
                law[r] += part * H[6 * r + c] * x[c]
                slope[r, c] += part * H[6 * r + c]
    else:
        for r in range(6):
            law[r] = a * here[r] * x[r]
            slope[r, r] = a * here[r]
    for r in range(6):
        law[r] += here[12 + r]
    for k in range(p.pulls.shape[2]):
        if p.pulls[segment, place, k, 6] != 0.0:
            path, tension = p.pulls[segment, place, k], p.pulls[segment, place, k, 6]
            size, pull = pull_of_tendon(path, strain)
            add(law, scaled(tension, pull))
            add_stiffening(tension / size, path, pull, slope)
    for r in range(1, 6):
        for c in range(r):
            slope[r, c] = slope[c, r]


@inner
def invert_free(rod):
    """section.soft = B (Bᵀ slope B)⁻¹ Bᵀ for the free strains, by elimination; section.slope is used up."""
    p, w = unpack_rod(rod)
    active, slope, soft = p.active, w.slope, w.soft
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
def strain_of_stress(rod, segment, place, a, target, strain):
    """ξ with Λ(ξ) = ``target`` for the free strains, from the guess in ``strain``; compliance into section.soft.

    Not a number where Newton does not end.
    """
    p, w = unpack_rod(rod)
    here, active, soft = p.at[segment, place], p.active, w.soft
    if p.pulls.shape[2] == 0 and p.stiffness.shape[2] == 0:
        for r in range(6):
            for c in range(6):
                soft[r, c] = 0.0
            strain[r] = here[6 + r]
            if active[r] != 0.0:
                soft[r, r] = 1.0 / (a * here[r])
                strain[r] += (target[r] - here[12 + r]) * soft[r, r]
        return
    for r in range(6):
        w.increment[r] = 0.0
        if active[r] == 0.0:
            strain[r] = here[6 + r]
    before = math.inf
    for _ in range(_MOST):
        error = _missing(rod, segment, place, a, target, strain)
        for _ in range(_HALVES):
            if error <= before or before == math.inf:  # false of what is no number, too
                break
            for r in range(6):
                w.increment[r] *= 0.5
                strain[r] -= w.increment[r]
            error = _missing(rod, segment, place, a, target, strain)
        if error != error:
            break
        invert_free(rod)
        for r in range(6):
            w.increment[r] = 0.0
            for c in range(6):
                if active[c] != 0.0:
                    w.increment[r] += soft[r, c] * (target[c] - w.law[c])
            strain[r] += w.increment[r]
        if error <= _CLOSE:  # one more, quadratic, step has just been taken
            return
        before = error
    for r in range(6):
        strain[r] = math.nan


@inner
def _missing(rod, segment, place, a, target, strain):
    """The law at a strain, and what its stress misses of the target, as a strain of the linear law: root of squares."""
    p, w = unpack_rod(rod)
    law_of_strain(rod, segment, place, a, strain)
    total = 0.0
    for r in range(6):
        if p.active[r] != 0.0:
            missing = (target[r] - w.law[r]) / (a * p.at[segment, place, r])
            if r < 3:
                missing *= p.length[0]
            total += missing * missing
    return math.sqrt(total)


@kernel
def section_strains(rod, a, targets):
    """:func:`strain_of_stress` everywhere: ``targets`` (segments, places, 6); strains go to those of the rod."""
    p, _ = unpack_rod(rod)
    for segment in range(targets.shape[0]):
        for place in range(targets.shape[1]):
            strain_of_stress(rod, segment, place, a, targets[segment, place], p.strains[segment, place])
