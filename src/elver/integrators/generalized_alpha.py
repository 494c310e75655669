"""Generalized-α of Chung and Hulbert (1993), the default for systems with closures (Gotelli 2024, section 4.5).

Theory: docs/theory/time-integration.md, eq. (generalized-alpha), (rho-infinity).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elver.integrators.method import OneStep, check_rho
from elver.values import of_kind

__all__ = ["GeneralizedAlpha"]


@dataclass(frozen=True)
class GeneralizedAlpha(OneStep):
    """α_m = (2ρ∞-1)/(ρ∞+1), α_f = ρ∞/(ρ∞+1), γ = ½-α_m+α_f, β = ¼(γ+½)²; ρ∞ = 1 does not damp, 0 damps most."""

    rho_inf: float = field(default=0.8, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rho(self.rho_inf, 0.0)

    @property
    def scheme(self) -> tuple[float, float, float, float]:
        """(β, γ, α_m, α_f)."""
        alpha_m = (2.0 * self.rho_inf - 1.0) / (self.rho_inf + 1.0)
        alpha_f = self.rho_inf / (self.rho_inf + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return 0.25 * (gamma + 0.5) ** 2, gamma, alpha_m, alpha_f
