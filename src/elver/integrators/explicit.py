"""Explicit methods, for rigid robots and for swimmers whose shape is imposed: Runge-Kutta 4, semi-implicit Euler.

Accelerations come from articulated bodies at O(n) per stage. A rod with its own elasticity is stiff: its fastest mode
then bounds the step, and an implicit method is faster.

Theory: docs/theory/time-integration.md, eq. (runge-kutta), (semi-implicit-euler).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from elver.errors import BadInput
from elver.integrators.method import Method
from elver.rods import Spectral
from elver.system import System
from elver.words import describe

__all__ = ["Explicit", "RungeKutta4", "SemiImplicitEuler"]


@dataclass(frozen=True, kw_only=True)
class Explicit(Method):
    """What explicit methods share; a free base moves on SO(3)×R³. Newton's options do not matter."""

    stages = 1

    family: ClassVar[str] = "explicit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group != "SO3xR3":
            raise BadInput(f"group = {describe(self.group)}: {type(self).__name__} moves a free base on 'SO3xR3'")

    def check(self, system: System) -> None:
        """Refuse what an explicit method cannot hold."""
        name = type(self).__name__
        if system.multipliers:
            raise BadInput(
                f"{name} cannot hold closures, such as {system.multipliers[0][0]!r}: use GeneralizedAlpha()"
            )
        if any(isinstance(rod.integration, Spectral) for rod in system.mechanism.rods):
            raise BadInput(f"{name} needs rods with Magnus or RungeKuttaMuntheKaas integration: not Spectral")


@dataclass(frozen=True, kw_only=True)
class RungeKutta4(Explicit):
    """The classical method of order 4; steps too long for the fastest motion are divided."""

    stages = 4
    order = 4


@dataclass(frozen=True, kw_only=True)
class SemiImplicitEuler(Explicit):
    """Order 1 at one evaluation per step, symplectic for constant inertia: usual at the rate of a controller.

    The rates go one step on with the accelerations at its start, the coordinates with the new rates.
    """

    order = 1
