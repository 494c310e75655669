"""Steps that keep energy and momentum: frames as free bodies over a step, tied by the robot's own columns.

Order two, or four by composition; no acceleration is carried on, and whatever root Newton finds obeys the balance of
energy: no step can gain. A free robot keeps its linear and angular momentum. Closures hold at the end of each step, and
do no work.

Theory: docs/theory/time-integration.md, eq. (conserving).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from elver.actuation import ActiveStress
from elver.dynamics.core import core
from elver.dynamics.passages import adrift, light_of, mass_of
from elver.environment import FrameLoad
from elver.errors import BadInput
from elver.integrators.method import Method, check_rho
from elver.rods import Spectral
from elver.system import System
from elver.values import of_kind
from elver.words import describe

__all__ = ["Conserving"]

# Suzuki (1990): five steps of these parts; the terms of third order of a symmetric step cancel, Σ c = 1, Σ c³ = 0.
_OUTER = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
# Coordinates: columns of all frames take the square of them, some gigabytes from here on.
_MOST = 1500


@dataclass(frozen=True)
class Conserving(Method):
    """Energy and momentum to rounding; ``rho_inf`` below 1 takes energy out of vibration that the step cannot resolve.

    ``rho_inf`` from 1/3 (most) to 1 (none): what is left per step of the amplitude of such vibration. ``order`` 4 is
    for robots without any damping: each step is then five, the middle one back in time.
    """

    rho_inf: float = field(default=1.0, metadata=of_kind("1"))
    order: int = field(default=2, kw_only=True, metadata=of_kind("int"))
    max_iterations: int = field(default=40, kw_only=True, metadata=of_kind("int"))

    family: ClassVar[str] = "conserving"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rho(self.rho_inf, 1.0 / 3.0)
        if self.order not in (2, 4):
            raise BadInput(f"order = {describe(self.order)}: choose 2 or 4")
        if self.order == 4 and self.rho_inf != 1.0:
            raise BadInput(f"rho_inf = {self.rho_inf:g} with order = 4: steps back in time would gain; take 1")
        if self.group != "SO3xR3":
            raise BadInput(f"group = {self.group!r}: Conserving() moves a free base on SO(3)×R³; leave it out")

    @property
    def damping(self) -> tuple[float, float, float]:
        """κ of velocities off what the robot can do, χ of vibration, and after how many steps energy is given back."""
        rho = self.rho_inf
        return (1.0 if rho == 1.0 else 0.0), rho * (1.0 - rho) / (1.0 + rho) ** 2, float(len(self.composition))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Its damping."""
        return np.array([self.damping])

    @property
    def energy_cause(self) -> str:
        """At rho_inf = 1 only what a step brings in beyond what velocities give back behind it."""
        if self.rho_inf < 1.0:
            return f"rho_inf = {self.rho_inf:g} damps vibration that the steps do not resolve"
        return "single steps bring in more than velocities give back at once (2 % of them); later steps give it back"

    @property
    def remedy(self) -> str:
        """It brings in no energy but that of motion that the steps do not resolve."""
        if self.rho_inf < 1.0:
            return "rho_inf nearer to 1, which keeps what the steps do not resolve"
        return "damp what it cannot follow (Material(damping=...), Conserving(rho_inf=0.8))"

    @property
    def ledger_order(self) -> int:
        """Two: of each step that one of order four is made of."""
        return 2

    @property
    def composition(self) -> tuple[float, ...]:
        """Parts that a step is made of."""
        return (_OUTER, _OUTER, 1.0 - 4.0 * _OUTER, _OUTER, _OUTER) if self.order == 4 else (1.0,)

    def asks_for_accelerations(self, system: System) -> bool:
        """False where some motion moves no mass: no step begins with accelerations, and there they are not known."""
        return not np.any(light_of(core(system)))

    def check(self, system: System) -> None:
        """Refuse what it does not know yet."""
        if words := self.refusal(system):
            raise BadInput(words)

    def refusal(self, system: System) -> str:
        """What of ``system`` it does not know yet, in words; empty where it knows all."""
        for load in system.loads:
            if isinstance(load, FrameLoad):
                return f"Conserving() does not know {type(load).__name__} ({load.name!r}) yet: use ImplicitMidpoint()"
        for part in system.actuators:
            if isinstance(part, ActiveStress) and not part.has_energy:
                return (
                    f"Conserving() needs the energy of {part.name!r}, which its function does not return: return it, "
                    "or use ImplicitMidpoint()"
                )
        for rod in system.mechanism.rods:
            if isinstance(rod.integration, Spectral):
                return f"Conserving() is compiled, Spectral() of rod {rod.name!r} is not: use Magnus(), or Newmark()"
        if system.n > _MOST and not core(system).steps_along_tree:
            return (
                f"Conserving() has dense matrices here, and takes up to {_MOST} coordinates, not {system.n}: "
                "use ImplicitMidpoint()"
            )
        kernels = core(system)
        along = kernels.steps_along_tree and np.any(kernels.program.inertia)
        if not along and not np.any(mass_of(kernels) > 0.0):
            return "Conserving() moves masses, and nothing here has any: use ImplicitMidpoint()"
        if np.any(light_of(core(system))) and (names := adrift(core(system))):
            return (
                f"Conserving(): a motion of {', '.join(names)} has no inertia, and nothing resists it, so that it is "
                "not determined: give the bodies mass and inertia, a spring or damping, or fix what moves"
            )
        if self.order == 4 and (name := _what_dissipates(system)):
            return f"Conserving(order=4) steps back in time, where {name} brings energy in: use GaussLegendre4()"
        return ""


def _what_dissipates(system: System) -> str:
    """What takes energy out, or may; empty where nothing does."""
    p = core(system).program
    if np.any(p.D_elastic) or p.drag_frame.size:
        return "damping"
    if np.any(p.friction[:, 0]) or p.slide_frame.size:
        return "friction"
    if p.strip_frame.size:
        return "water"
    return "feedback" if system.feedback else ""
