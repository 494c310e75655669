"""Muscles: a field of internal stress Λ_act(s) along a rod, scaled by its input.

Given ``torque`` C(s) [N m]: Λ_act = (C; 0). Given ``target``, the strain ξ_d(s) the rod would take if nothing
else acted: Λ_act = -𝓗 (ξ_d - ξ₀) (Boyer 2023, eq. 92), or what a section law of one's own has there.

Theory: docs/theory/actuation.md, eq. (muscle), (active-force).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite
from elver.mechanism import Acts, Mechanism
from elver.rods import Rod
from elver.rods.fields import Array, Field, arc_lengths, breaks_of, check_field, check_name, interior, is_plain, sample
from elver.rods.jumps import warn_of_jumps
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["Muscle"]

_STRAIN_UNIT = "1/m (curvature) and m/m"


@brief
@dataclass(frozen=True, eq=False)
class Muscle(Acts):
    """Distributed actuation of a rod; its input (default 1) scales it.

    Give either ``torque``, three numbers [N m] or a vectorised callable of s [m] that returns (len(s), 3), or
    ``target``, a curvature (3) [1/m] or a strain (6), or a callable that returns (len(s), 3) or (len(s), 6).
    A travelling wave is two muscles, sine and cosine in s, with inputs cosine and sine in t.
    """

    rod: Rod = field(metadata=of_kind("@rod"))
    torque: Field | None = field(default=None, metadata=of_kind("any @function"))
    target: Field | None = field(default=None, metadata=of_kind("any @function"))
    name: str = field(default="muscle", metadata=of_kind("text"))

    unit: ClassVar[str] = "1"
    default: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("muscle", self.name))
        label = f"muscle {self.name!r}"
        if not isinstance(self.rod, Rod):
            raise BadInput(f"{label}: rod = {describe(self.rod)}; give the Rod it acts on")
        if (self.torque is None) == (self.target is None):
            raise BadInput(
                f"{label}: give either torque [N m] or target (strain, 1/m and m/m), not both or none"
            )
        if self.torque is not None:
            object.__setattr__(self, "torque", check_field(f"{label}: torque", self.torque, 3, "N m"))
        else:
            width = 6 if np.asarray(self.target, dtype=object).shape == (6,) else 3
            object.__setattr__(
                self, "target", check_field(f"{label}: target", self.target, width, _STRAIN_UNIT)
            )
        self.stress(self.rod.grid.s)
        self._check_jumps(label)

    def _check_jumps(self, label: str) -> None:
        """Warn where a plain function jumps at a place that is no break."""
        name, value, unit = "torque", self.torque, "N m"
        if value is None:
            name, value, unit = "target", self.target, _STRAIN_UNIT
        if value is None or not is_plain(value):
            return
        ends = sorted({*self.rod.piece_ends, *self.breaks})
        remedy = ", or describe the jump with Stepped(...)"
        warn_of_jumps(f"{label}: {name}", lambda s: self._field(name, value, s, unit), ends, unit, remedy)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Interior positions [m] where its stress jumps by its description."""
        return interior((*breaks_of(self.torque), *breaks_of(self.target)), self.rod.length)

    @property
    def rods(self) -> tuple[Rod, ...]:
        """The rod it acts on, as for actuators that run along several."""
        return (self.rod,)

    @property
    def jumps(self) -> tuple[tuple[Rod, float], ...]:
        """Its breaks."""
        return tuple((self.rod, s) for s in self.breaks)

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """The rod."""
        return (self.rod,)

    def stress(self, s: ArrayLike) -> Array:
        """Λ_act at ``s`` [m] for the input 1, (len(s), 6): couple [N m], force [N], section frame."""
        s = arc_lengths(s)
        if self.torque is not None:
            stress = np.zeros((s.size, 6))
            stress[:, :3] = self._field("torque", self.torque, s, "N m")
            return stress
        assert self.target is not None  # __post_init__ asks for one of the two
        target = self._field("target", self.target, s, _STRAIN_UNIT)
        difference = np.zeros((s.size, 6))
        difference[:, : target.shape[1]] = target - self.rod.rest_strain(s)[:, : target.shape[1]]
        if self.rod.law is not None:
            return -self.rod.elasticity(s, difference)[0]
        return -self.rod.stiffness(s) * difference

    def _field(self, name: str, value: Field, s: Array, unit: str) -> Array:
        if not callable(value):
            return np.tile(np.array(value), (s.size, 1))
        returned = np.asarray(value(s))
        width = 6 if name == "target" and returned.shape[-1:] == (6,) else 3
        return sample(f"muscle {self.name!r}: {name}", lambda _: returned, s, width, unit)

    def check(self, value: float) -> float:
        """The input (a scale) if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), "(dimensionless scale)"))
