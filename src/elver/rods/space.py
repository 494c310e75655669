"""Choices for the integration of poses along a rod, g' = g ξ̂.

These are values that a :class:`~elver.rods.Rod` carries; the methods live in ``elver.lie.integration``.

Theory: docs/theory/rods.md, eq. (chain), (magnus).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from elver.errors import BadInput
from elver.values import of_kind
from elver.words import describe

__all__ = ["Magnus", "RungeKuttaMuntheKaas", "SpaceIntegration", "Spectral"]


@dataclass(frozen=True)
class Magnus:
    """Magnus expansion from node to node: order 4 (two Gauss points a step) or 6 (three)."""

    order: int = field(default=6, metadata=of_kind("int"))

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order not in (4, 6):
            raise BadInput(f"Magnus order = {describe(self.order)}: choose 4 or 6")


@dataclass(frozen=True)
class RungeKuttaMuntheKaas:
    """Classical Runge-Kutta of order 4 on the Lie algebra, from node to node (Munthe-Kaas 1998)."""


@dataclass(frozen=True)
class Spectral:
    """Chebyshev collocation of quaternion and position on each smooth element."""


SpaceIntegration: TypeAlias = Magnus | RungeKuttaMuntheKaas | Spectral
