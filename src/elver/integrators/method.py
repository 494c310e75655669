"""What all time integrators share: the group of a free base, and the control of Newton.

A method is a frozen value. One-step methods give the four numbers (β, γ, α_m, α_f) of the generalized-α family,
Gauss methods their tableau; :mod:`elver.integrators.simulate` runs both.

Theory: docs/theory/time-integration.md, eq. (increment), (step), (retraction).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput, finite, positive
from elver.system import System
from elver.values import of_kind
from elver.words import describe

__all__ = ["Group", "Method", "OneStep", "check_rho"]

Group: TypeAlias = Literal["SO3xR3", "SE3"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """Options of every method.

    ``group``: a free base moves on SO(3)×R³ (rotation in body axes, translation in world axes) or on SE(3).
    ``tolerance``: Newton stops when its next correction is estimated below it, in radians of bending over the rod.
    What is left of it enters velocities divided by the step, and adds up: the default keeps that well below the
    truncation of steps down to a thousandth of a period; a run at 1e-9 is a few percent faster, and drifts.
    ``halvings``: how often a failing step is halved before the run gives up.
    """

    group: Group = field(default="SO3xR3", metadata=of_kind("text"))
    tolerance: float = field(default=1e-12, metadata=of_kind("1"))
    max_iterations: int = field(default=25, metadata=of_kind("int"))
    halvings: int = field(default=10, metadata=of_kind("int"))

    order = 2
    """Order of accuracy in the step."""

    family: ClassVar[str] = ""
    """Its solver, one of :data:`elver.kernels.build.schemes.SCHEMES`."""

    @property
    def numbers(self) -> NDArray[np.float64]:
        """What its solver knows of it, in rows."""
        return np.zeros((1, 1))

    @property
    def nodes(self) -> NDArray[np.float64]:
        """Where its stages are, as fractions of the step; none where it works with the ends."""
        return np.zeros(0)

    def check(self, system: System) -> None:
        """Refuse what it cannot do."""

    @property
    def ledger_order(self) -> int:
        """Order of the rule by which work is booked over each of its records."""
        return self.order

    @property
    def energy_cause(self) -> str:
        """Why the books of a run do not close to rounding."""
        return f"the rule balances energy to order {self.order} in the step only"

    @property
    def remedy(self) -> str:
        """What helps, beside a smaller step, against energy from nowhere."""
        return "Conserving() or GaussLegendre4()"

    def asks_for_accelerations(self, system: System) -> bool:
        """True where runs begin with the accelerations that inputs and motion ask for."""
        return True

    def __post_init__(self) -> None:
        if self.group not in ("SO3xR3", "SE3"):
            raise BadInput(f"group = {describe(self.group)}: choose 'SO3xR3' or 'SE3'")
        positive("tolerance", self.tolerance, "(rad of bending)")
        if self.max_iterations < 1:
            raise BadInput(f"max_iterations = {self.max_iterations}: allow at least one Newton step")
        if self.halvings < 0:
            raise BadInput(f"halvings = {self.halvings}: must not be negative; 0 forbids halving")


@dataclass(frozen=True, kw_only=True)
class OneStep(Method, ABC):
    """A member of the generalized-α family."""

    family: ClassVar[str] = "one-step"

    @property
    @abstractmethod
    def scheme(self) -> tuple[float, float, float, float]:
        """(β, γ, α_m, α_f)."""

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Its scheme."""
        return np.array([self.scheme])


def check_rho(rho_inf: float, low: float) -> float:
    """``rho_inf`` within [low, 1]."""
    rho = float(finite("rho_inf", rho_inf, (), "(spectral radius)"))
    if not low <= rho <= 1.0:
        raise BadInput(f"rho_inf = {rho:g}: choose it between {low:g} (most damping) and 1 (none)")
    return rho
