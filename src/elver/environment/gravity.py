"""Gravity: F̄ = 𝓜 (0; Rᵀγ) along a rod, M (0; Rᵀγ) on a body, with γ the acceleration of free fall in world axes.

Theory: docs/theory/surroundings.md, eq. (gravity).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from elver.errors import finite
from elver.mechanism import Acts
from elver.rods.fields import check_name, numbers
from elver.slips import ask_of_gravity
from elver.values import of_kind
from elver.words import brief

__all__ = ["Gravity"]


@brief
@dataclass(frozen=True, eq=False)
class Gravity(Acts):
    """Uniform gravity with ``acceleration`` γ [m/s²] in world axes; its input scales it."""

    acceleration: tuple[float, ...] = field(default=(0.0, 0.0, -9.81), metadata=of_kind("m/s^2"))
    name: str = field(default="gravity", metadata=of_kind("text"))

    unit: ClassVar[str] = "1"
    default: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("gravity", self.name))
        object.__setattr__(
            self, "acceleration", numbers("gravity acceleration", self.acceleration, 3, "m/s2")
        )
        ask_of_gravity(math.hypot(*self.acceleration))

    def check(self, value: float) -> float:
        """The input (a scale) if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), "(dimensionless scale)"))
