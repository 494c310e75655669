"""Pressure chambers: p on the area A_c of a chamber that runs along D(s) is a pushed tendon, T = -p A_c.

Theory: docs/theory/actuation.md, eq. (pressure).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from elver.actuation.paths import Path, parallel
from elver.actuation.tendon import Routed
from elver.errors import finite, positive
from elver.rods import Rod
from elver.rods.fields import Array
from elver.slips import ask_of_area, ask_of_pressure
from elver.values import of_kind
from elver.words import brief

__all__ = ["Pressure"]


@brief
@dataclass(frozen=True, eq=False)
class Pressure(Routed):
    """Radially inextensible chamber of ``area`` [m²] along ``path``; its input is the pressure [Pa].

    Overpressure lengthens the rod and bends it away from the chamber; a negative value is suction.
    """

    rod: Rod = field(metadata=of_kind("@rod"))
    area: float = field(metadata=of_kind("m^2"))
    path: Path = field(default=parallel(), metadata=of_kind("@path"))
    name: str = field(default="pressure", metadata=of_kind("text"))
    start: float = field(default=0.0, metadata=of_kind("m"))
    end: float | None = field(default=None, metadata=of_kind("m"))
    reach: float | None = field(default=None, metadata=of_kind("m"))

    unit: ClassVar[str] = "Pa"
    default: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", positive(f"chamber area of {self.name!r}", self.area, "m2"))
        self._check_routing("pressure chamber", several=False)
        half_y, half_z = self.rod.section.half_widths(self._middle, self.rod.length)
        ask_of_area(f"pressure chamber {self.name!r}", self.area, 4.0 * float(half_y[0] * half_z[0]))

    @property
    def _middle(self) -> Array:
        """Arc length [m] of the middle of the chamber, (1,)."""
        return np.array([0.5 * (self.start + self.last)])

    def tension(self, pressure: float) -> float:
        """Tension [N] of the equivalent tendon, -p A_c."""
        return -pressure * self.area

    def check(self, value: float) -> float:
        """The pressure [Pa] if it is finite."""
        return float(finite(f"pressure of {self.name!r}", value, (), "Pa"))

    def ask(self, pressure: float) -> None:
        """Ask whether a constant pressure [Pa] that does nothing to the rod is one in kPa or bar."""
        _, EI_y, EI_z, EA, *_ = self.rod.stiffness(self._middle)[0]
        _, y, z = np.abs(self.geometry(self._middle)[0][0])
        length, force = self.last - self.start, abs(pressure) * self.area
        effect = force * max(1.0 / EA, z * length / EI_y, y * length / EI_z)
        ask_of_pressure(f"pressure of {self.name!r}", pressure, float(effect))
