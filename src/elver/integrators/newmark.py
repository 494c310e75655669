"""Newmark's method (1959) on R^n and, for a free base, on SO(3)×R³ or SE(3) (Gotelli 2024, App. B).

Theory: docs/theory/time-integration.md, eq. (newmark), (increment).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elver.errors import BadInput, finite
from elver.integrators.method import OneStep
from elver.values import of_kind

__all__ = ["Newmark"]


@dataclass(frozen=True)
class Newmark(OneStep):
    """x₊ = x + h ẋ + h² ((½-β) ẍ + β ẍ₊),  ẋ₊ = ẋ + h ((1-γ) ẍ + γ ẍ₊).

    The default (¼, ½), the average acceleration, is of order two and does not damp; γ > ½ damps and is of order one.
    """

    beta: float = field(default=0.25, metadata=of_kind("1"))
    gamma: float = field(default=0.5, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        super().__post_init__()
        beta, gamma = (float(finite(k, getattr(self, k), (), "(dimensionless)")) for k in ("beta", "gamma"))
        if gamma < 0.5 or beta < 0.25 * (0.5 + gamma) ** 2 - 1e-12:
            raise BadInput(
                f"Newmark(beta={beta:g}, gamma={gamma:g}) is unstable for large steps: "
                "choose gamma >= 1/2 and beta >= (1/2 + gamma)^2 / 4"
            )

    @property
    def scheme(self) -> tuple[float, float, float, float]:
        """(β, γ, 0, 0)."""
        return self.beta, self.gamma, 0.0, 0.0
