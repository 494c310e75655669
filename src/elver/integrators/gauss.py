"""Gauss collocation in time: the implicit midpoint rule (order 2) and the two-stage rule (order 4).

Symplectic and symmetric, without damping (Hairer, Lubich, Wanner, Geometric Numerical Integration, II.1). A free base
is integrated in the chart of its group around the start of each step, so the order is that of the rule.

Theory: docs/theory/time-integration.md, eq. (gauss), (stage-closures), (projection).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from elver.actuation import SpooledTendon
from elver.errors import BadInput
from elver.integrators.method import Method
from elver.system import System
from elver.values import of_kind

__all__ = ["Gauss", "GaussLegendre4", "ImplicitMidpoint"]


@dataclass(frozen=True, kw_only=True)
class Gauss(Method):
    """Collocation at the Gauss points of the step."""

    # the unknowns are accelerations: what Newton leaves in them adds up over many short steps
    tolerance: float = field(default=1e-14, metadata=of_kind("1"))
    stages = 1

    family: ClassVar[str] = "gauss"

    @property
    def remedy(self) -> str:
        """It brings in no energy but what damping leaves."""
        return "damp what it cannot follow (Material(damping=...), GeneralizedAlpha(rho_inf=0.3))"

    @property
    def tableau(self) -> NDArray[np.float64]:
        """Rows: c, b, b̄ = bᵀA, A, Ā = A², extrapolation of the last stages to the new ones and to the end."""
        s = self.stages
        x, w = np.polynomial.legendre.leggauss(s)
        c, b = 0.5 * (x + 1.0), 0.5 * w
        powers = np.arange(s)
        V = c[:, None] ** powers  # values of monomials at the stages
        A = (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(V)
        ahead = (1.0 + c)[:, None] ** powers @ np.linalg.inv(V)
        end = np.ones(s) @ np.linalg.inv(V)
        return np.ascontiguousarray(np.vstack([c, b, b @ A, A, A @ A, ahead, end]))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Its tableau."""
        return self.tableau

    @property
    def nodes(self) -> NDArray[np.float64]:
        """The Gauss points."""
        return self.tableau[0]

    def check(self, system: System) -> None:
        """Refuse tendons of given length."""
        if spooled := [part.name for part in system.actuators if isinstance(part, SpooledTendon)]:
            raise BadInput(
                f"{type(self).__name__} holds closures by their rates, which the wound length of {spooled[0]!r} does "
                "not give: use GeneralizedAlpha(), HHT() or Newmark() with spooled tendons"
            )


@dataclass(frozen=True)
class ImplicitMidpoint(Gauss):
    """One Gauss point: order 2."""


@dataclass(frozen=True)
class GaussLegendre4(Gauss):
    """Two Gauss points: order 4, the choice for smooth motions and long energy balances."""

    stages = 2
    order = 4
