"""Pressure chambers: p on the area A_c of a chamber that runs along D(s) is a pushed tendon, T = -p A_c.

Theory: docs/theory/actuation.md, eq. (pressure).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from elver.actuation.paths import Path, parallel
from elver.actuation.tendon import Routed
from elver.errors import finite, positive
from elver.rods import Rod
from elver.words import brief

__all__ = ["Pressure"]


@brief
@dataclass(frozen=True, eq=False)
class Pressure(Routed):
    """Radially inextensible chamber of ``area`` [m²] along ``path``; its input is the pressure [Pa].

    Overpressure lengthens the rod and bends it away from the chamber; a negative value is suction.
    """

    rod: Rod
    area: float
    path: Path = parallel()  # noqa: RUF009 (a frozen value)
    name: str = "pressure"
    start: float = 0.0
    end: float | None = None
    reach: float | None = None

    unit: ClassVar[str] = "Pa"
    default: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", positive(f"chamber area of {self.name!r}", self.area, "m2"))
        self._check_routing("pressure chamber", several=False)

    def tension(self, pressure: float) -> float:
        """Tension [N] of the equivalent tendon, -p A_c."""
        return -pressure * self.area

    def check(self, value: float) -> float:
        """The pressure [Pa] if it is finite."""
        return float(finite(f"pressure of {self.name!r}", value, (), "Pa"))
