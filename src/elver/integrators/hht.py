"""Hilber, Hughes and Taylor (1977): order two with damping of high frequencies, in generalized-α form.

Theory: docs/theory/time-integration.md, eq. (generalized-alpha), (rho-infinity).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elver.integrators.method import OneStep, check_rho
from elver.values import of_kind

__all__ = ["HHT"]


@dataclass(frozen=True)
class HHT(OneStep):
    """α_m = 0, α_f = (1-ρ∞)/(1+ρ∞), γ = ½+α_f, β = ¼(1+α_f)²; ρ∞ in [½, 1] is what is left of a high frequency."""

    rho_inf: float = field(default=0.8, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rho(self.rho_inf, 0.5)

    @property
    def scheme(self) -> tuple[float, float, float, float]:
        """(β, γ, α_m, α_f)."""
        alpha_f = (1.0 - self.rho_inf) / (1.0 + self.rho_inf)
        return 0.25 * (1.0 + alpha_f) ** 2, 0.5 + alpha_f, 0.0, alpha_f
