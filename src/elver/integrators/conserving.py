"""Steps that keep energy and momentum: frames as free bodies over a step, tied by the robot's own columns.

Order two, no acceleration is carried on, and whatever root Newton finds obeys the balance of energy: no step can gain.
A free robot keeps its linear and angular momentum. Closures hold at the end of each step, and do no work.

Theory: docs/theory/time-integration.md, eq. (conserving).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elver.dynamics.quantities import mass_matrix
from elver.environment import Feedback, JointFeedback, Lighthill, Morison
from elver.errors import BadInput
from elver.integrators.method import Method, check_rho
from elver.rods import Spectral
from elver.system import System

__all__ = ["Conserving"]

# Coordinates: columns of all frames take the square of them, some gigabytes from here on.
_MOST = 1500


@dataclass(frozen=True)
class Conserving(Method):
    """Energy and momentum to rounding; ``rho_inf`` below 1 takes energy out of vibration that the step cannot resolve.

    ``rho_inf`` from 1/3 (most) to 1 (none): what is left per step of the amplitude of such vibration.
    """

    rho_inf: float = 1.0
    max_iterations: int = field(default=40, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rho(self.rho_inf, 1.0 / 3.0)
        if self.group != "SO3xR3":
            raise BadInput(f"group = {self.group!r}: Conserving() moves a free base on SO(3)×R³; leave it out")

    @property
    def damping(self) -> tuple[float, float]:
        """κ of velocities off what the robot can do, and χ of vibration."""
        rho = self.rho_inf
        return (1.0 if rho == 1.0 else 0.0), rho * (1.0 - rho) / (1.0 + rho) ** 2

    def check(self, system: System) -> None:
        """Refuse what it does not know yet."""
        if words := self.refusal(system):
            raise BadInput(words)

    def refusal(self, system: System) -> str:
        """What of ``system`` it does not know yet, in words; empty where it knows all."""
        for load in system.loads:
            if isinstance(load, Morison | Lighthill | Feedback | JointFeedback):
                return f"Conserving() does not know {type(load).__name__} ({load.name!r}) yet: use ImplicitMidpoint()"
        for rod in system.mechanism.rods:
            if isinstance(rod.integration, Spectral):
                return f"Conserving() is compiled, Spectral() of rod {rod.name!r} is not: use Magnus(), or Newmark()"
        if system.n > _MOST:
            return (
                f"Conserving() has dense matrices, and this robot {system.n} coordinates (it takes up to {_MOST}): "
                "use ImplicitMidpoint(), which follows the tree"
            )
        if name := _without_inertia(system):
            return f"Conserving() does not know coordinates without inertia ({name!r}) yet: use ImplicitMidpoint()"
        return ""


def _without_inertia(system: System) -> str:
    """Name of the first joint or rod with a coordinate that moves no mass; empty where there is none."""
    mass = np.diagonal(mass_matrix(system))[6 if system.free else 0 :]
    for part, (first, count) in system.blocks.items():
        if np.any(mass[first : first + count] <= 0.0):
            return str(part.name)
    return ""
