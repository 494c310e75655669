"""Implicit schemes of the generalized-α family as linear maps: rates at the new instant from the new value.

    x₊ = x + h ẋ + h² ((½-β) A + β A₊),   ẋ₊ = ẋ + h ((1-γ) A + γ A₊),   (1-α_m) A₊ + α_m A = (1-α_f) ẍ₊ + α_f ẍ

With the increment d = x₊ - x this is ẋ₊ = a d + ``x_dot_free`` and ẍ₊ = b d + ``x_ddot_free``. Newmark has
α_m = α_f = 0, so that A = ẍ; Boyer 2023, eq. 65, is (β, γ) = (¼, ½) with a_B = 1/b and b_B = a/b.

Theory: docs/theory/time-integration.md, eq. (newmark), (generalized-alpha), (increment).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.words import describe

__all__ = ["Rates", "SchemeOf", "TimeScheme"]

Array = NDArray[np.float64]

NEWMARK = (0.25, 0.5, 0.0, 0.0)
# Generalized-α with ρ∞ = 0.6, as in simulate: what is held by multipliers excites what Newmark never damps.
DAMPED = (0.390625, 0.75, 0.125, 0.375)


class SchemeOf(Protocol):
    """Newmark(), HHT() or GeneralizedAlpha(): what has the four numbers (β, γ, α_m, α_f)."""

    @property
    def scheme(self) -> tuple[float, float, float, float]:
        """(β, γ, α_m, α_f)."""


class Rates(NamedTuple):
    """ẋ, ẍ and the acceleration A of the scheme, arrays of one shape."""

    first: Array
    second: Array
    like: Array


@dataclass(frozen=True)
class TimeScheme:
    """One step of length ``step`` [s]."""

    step: float
    beta: float = 0.25
    gamma: float = 0.5
    alpha_m: float = 0.0
    alpha_f: float = 0.0

    @classmethod
    def of(cls, method: Any, step: float, constrained: bool) -> TimeScheme:
        """That of ``method``; None is Newmark (¼, ½), or damped where poses are ``constrained`` by multipliers."""
        if method is None:
            return cls(step, *(DAMPED if constrained else NEWMARK))
        if not isinstance(getattr(method, "scheme", None), tuple):
            raise BadInput(
                f"method = {describe(method)}: shooting takes one implicit step at a time; choose Newmark(), HHT() or "
                "GeneralizedAlpha()"
            )
        if getattr(method, "group", "SO3xR3") != "SO3xR3":
            raise BadInput('group = "SE3": the base moves on SO(3)×R³ here, group="SO3xR3"; use simulate for SE(3)')
        return cls(step, *method.scheme)

    @property
    def a(self) -> float:
        """dẋ₊/dx₊ [1/s]."""
        return self.gamma / (self.beta * self.step)

    @property
    def b(self) -> float:
        """dẍ₊/dx₊ [1/s²]."""
        return (1.0 - self.alpha_m) / ((1.0 - self.alpha_f) * self.beta * self.step**2)

    def free(self, rates: Rates) -> tuple[Array, Array]:
        """``x_dot_free`` and ``x_ddot_free``, the rates at d = 0."""
        beta, gamma, h = self.beta, self.gamma, self.step
        x_dot = (1.0 - gamma / beta) * rates.first + h * (1.0 - 0.5 * gamma / beta) * rates.like
        return x_dot, self._second(self._like(0.0, rates), rates)

    def after(self, d: Array, rates: Rates) -> Rates:
        """Rates at the new instant."""
        x_dot, x_ddot = self.free(rates)
        return Rates(self.a * d + x_dot, self.b * d + x_ddot, self._like(d, rates))

    def _like(self, d: Array | float, rates: Rates) -> Array:
        h = self.step
        return np.asarray((d / h**2 - rates.first / h - (0.5 - self.beta) * rates.like) / self.beta)

    def _second(self, like: Array, rates: Rates) -> Array:
        mixed = (1.0 - self.alpha_m) * like + self.alpha_m * rates.like - self.alpha_f * rates.second
        return np.asarray(mixed / (1.0 - self.alpha_f))
