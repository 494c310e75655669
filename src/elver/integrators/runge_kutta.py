"""The classical Runge-Kutta method of order 4: explicit, for rigid robots and for swimmers whose shape is imposed.

Accelerations come from articulated bodies at O(n) per stage. A rod with its own elasticity is stiff: its fastest mode
then bounds the step, and an implicit method is faster.
"""

from __future__ import annotations

from dataclasses import dataclass

from elver.errors import BadInput
from elver.integrators.method import Method
from elver.rods import Spectral
from elver.system import System

__all__ = ["RungeKutta4"]


@dataclass(frozen=True, kw_only=True)
class RungeKutta4(Method):
    """Explicit, order 4; a free base moves on SO(3)×R³. Newton's options do not matter."""

    order = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group != "SO3xR3":
            raise BadInput(f"group = {self.group!r}: RungeKutta4 moves a free base on 'SO3xR3'")

    def check(self, system: System) -> None:
        """Refuse what an explicit method cannot hold."""
        if system.multipliers:
            raise BadInput(
                f"RungeKutta4 cannot hold closures, such as {system.multipliers[0][0]!r}: use GeneralizedAlpha()"
            )
        if any(isinstance(rod.integration, Spectral) for rod in system.mechanism.rods):
            raise BadInput("RungeKutta4 needs rods with Magnus or RungeKuttaMuntheKaas integration: not Spectral")
