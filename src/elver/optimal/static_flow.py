"""The differential equations of a rod in balance along s, with their tangents, for shooting (Boyer 2023, eq. 50-55).

A1, :class:`StaticFlow`: x = Λ, and ξ follows pointwise from the law by Newton. A2, :class:`StrainFlow`: the free
strains and the stresses of constrained strains are integrated,

    𝓗̌ Bᵀξ′ = Bᵀ(ad(ξ)ᵀΛ - F̄) - ∂/∂s|_ξ Bᵀ(Λ_act + 𝓗(ξ-ξ₀)),   𝓗̌ = Bᵀ(𝓗 + ∂Λ_act/∂ξ)B

Both have the tangent Δξ = B 𝓗̌⁻¹ Bᵀ ΔΛ, ζ′ = -ad(ξ)ζ + Δξ, ΔΛ′ = ad(ξ)ᵀΔΛ + ad(Δξ)ᵀΛ - ΔF̄. Six-vectors are angular
first, in section axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.lie import se3
from elver.optimal.problem import RodProblem, Sections

__all__ = ["StaticFlow", "StrainFlow"]

Array: TypeAlias = NDArray[np.float64]

_POINTWISE_STEPS = 40


@dataclass(eq=False)
class _Stage:
    """Fields at one stage of all segments, and the strain found there last: where the pointwise Newton starts."""

    sections: Sections
    xi: Array
    around: tuple[tuple[Sections, Array], ...] = ()
    """Neighbouring sections and their weights in ∂/∂s, for form A2."""


class StaticFlow:
    """Form A1: x = Λ; the strain follows from BᵀΛ = Bᵀ(Λ_act(ξ) + 𝓗(ξ-ξ₀)) at each s."""

    def __init__(self, problem: RodProblem) -> None:
        self.problem = problem
        self.free = list(problem.component)
        probe = problem.at(np.linspace(0.0, problem.length, 17))
        self.needs_pose = probe.turns

    @property
    def size(self) -> int:
        """Six stresses."""
        return 6

    def fields(self, s: Array, start: Array, stop: Array) -> _Stage:
        """Sections at ``s`` (n,), with the rest strain as the first guess of ξ."""
        sections = self.problem.at(s)
        return _Stage(sections, sections.rest_strain.copy())

    def enter(self, fields: _Stage, x: Array) -> Array:
        """Λ itself."""
        return x

    def leave(self, fields: _Stage, y: Array) -> Array:
        """Λ itself."""
        return y

    def strain(self, stage: _Stage, stress: Array) -> tuple[Array, Array]:
        """ξ (n, 6) of the stress Λ (n, 6), and the compliance B 𝓗̌⁻¹ Bᵀ (n, 6, 6)."""
        sections, free = stage.sections, self.free
        compliance = np.zeros((stress.shape[0], 6, 6))
        if not sections.pulled:
            soft = 1.0 / sections.stiffness[:, free]
            xi = sections.rest_strain.copy()
            xi[:, free] += soft * (stress[:, free] - sections.muscle[:, free])
            compliance[:, free, free] = soft
            return xi, compliance
        xi = stage.xi
        unit = sections.stiffness[:, free] * np.where(np.array(free) < 3, 1.0 / self.problem.length, 1.0)
        grid = np.ix_(range(stress.shape[0]), free, free)
        for _ in range(_POINTWISE_STEPS):
            law, slope = sections.stress(xi)
            missing = stress[:, free] - law[:, free]
            inverse = np.linalg.inv(slope[grid])
            xi = xi.copy()
            xi[:, free] += (inverse @ missing[..., None])[..., 0]
            error = np.max(np.abs(missing) / unit)
            if not error > 1e-8:  # one more, quadratic, step has just been taken
                break
        else:
            xi = np.full_like(xi, np.nan)  # the step that led here is refused
        if np.all(np.isfinite(xi)):
            stage.xi = xi
        compliance[grid] = inverse
        return xi, compliance

    def rate(self, fields: _Stage, g: Array, y: Array, tangent: bool) -> tuple[Array, Array, Array]:
        """ξ, Λ′ and slopes."""
        xi, compliance = self.strain(fields, y)
        return self._balance(fields.sections, g, xi, y, compliance, tangent)

    def _balance(
        self, sections: Sections, g: Array, xi: Array, stress: Array, compliance: Array, tangent: bool
    ) -> tuple[Array, Array, Array]:
        """ξ, Λ′ = ad(ξ)ᵀΛ - F̄ and the slopes of (ζ′, ΔΛ′)."""
        ad = se3.ad(xi)
        load, load_slope = sections.body_load(g)
        adT = np.swapaxes(ad, 1, 2)
        rate = (adT @ stress[..., None])[..., 0] - load
        if not tangent:
            return xi, rate, _NONE
        slope = np.empty((xi.shape[0], 12, 12))
        slope[:, :6, :6] = -ad
        slope[:, :6, 6:] = compliance
        slope[:, 6:, :6] = -load_slope
        slope[:, 6:, 6:] = adT - se3.dcoad(stress) @ compliance
        return xi, rate, slope


_NONE = np.empty(0)


class StrainFlow(StaticFlow):
    """Form A2: free strains and constrained stresses are integrated; ∂/∂s of the law by differences of order six."""

    _OFFSETS = np.arange(-3, 4)
    _INVERSE = np.linalg.inv(np.vander(_OFFSETS.astype(float), increasing=True))

    def fields(self, s: Array, start: Array, stop: Array) -> _Stage:
        """Sections at ``s`` and at seven places around it, moved inward near the ends of the segment."""
        stage = super().fields(s, start, stop)
        step = np.minimum(1e-3 * self.problem.length, 0.15 * (stop - start))
        inside = 1e-9 * (stop - start)
        centre = np.clip(s, start + inside + 3.0 * step, stop - inside - 3.0 * step)
        x = (s - centre) / step
        # derivative at x of the polynomial through the seven values
        powers = np.stack([k * x ** max(k - 1, 0) for k in range(7)], axis=1)
        weights = powers @ self._INVERSE / step[:, None]
        around = tuple((self.problem.at(centre + k * step), weights[:, j]) for j, k in enumerate(self._OFFSETS))
        return replace(stage, around=around)

    def enter(self, fields: _Stage, x: Array) -> Array:
        """Free strains from the law, constrained stresses as they are."""
        y = x.copy()
        y[:, self.free] = self.strain(fields, x)[0][:, self.free]
        return y

    def leave(self, fields: _Stage, y: Array) -> Array:
        """The law gives the stresses of the free strains."""
        return self._stress(fields.sections, y)[1]

    def _stress(self, sections: Sections, y: Array) -> tuple[Array, Array, Array]:
        """ξ, Λ and the slope of the law."""
        xi = sections.rest_strain.copy()
        xi[:, self.free] = y[:, self.free]
        law, slope = sections.stress(xi)
        stress = y.copy()
        stress[:, self.free] = law[:, self.free]
        return xi, stress, slope

    def rate(self, fields: _Stage, g: Array, y: Array, tangent: bool) -> tuple[Array, Array, Array]:
        """ξ, (ξ_a′, Λ_c′) and the slopes of (ζ′, ΔΛ′)."""
        free = self.free
        xi, stress, slope = self._stress(fields.sections, y)
        compliance = np.zeros((y.shape[0], 6, 6))
        grid = np.ix_(range(y.shape[0]), free, free)
        compliance[grid] = np.linalg.inv(slope[grid])
        _, rate, slopes = self._balance(fields.sections, g, xi, stress, compliance, tangent)
        drift = np.zeros((y.shape[0], 6))
        for sections, weight in fields.around:
            here = sections.actuation(xi, slopes=False)[0] + sections.stiffness * (xi - sections.rest_strain)
            drift += weight[:, None] * here
        y_prime = rate.copy()
        y_prime[:, free] = (compliance[grid] @ (rate - drift)[:, free, None])[..., 0]
        return xi, y_prime, slopes
