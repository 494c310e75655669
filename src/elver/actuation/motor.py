"""Motors: a torque or a force on one coordinate of a joint, Q_act = τ.

Its power is τ q̇. It acts from frame a on frame b, with the reaction on a: positive values drive the coordinate up.

Theory: docs/theory/actuation.md, eq. (imposed).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from elver.errors import BadInput, finite
from elver.mechanism import Acts, Joint
from elver.mechanism.coordinates import choose, default_name, unit_of
from elver.rods.fields import check_name
from elver.values import Carried, of_kind
from elver.words import brief, describe

__all__ = ["Motor"]


@brief
@dataclass(frozen=True, eq=False)
class Motor(Acts, Carried):
    """Motor on one coordinate of a joint; its input is a torque [N m], or a force [N] where the joint slides.

    ``coordinate`` is one of ``joint.coordinate_names``, and may be left out where the joint has one. On a component
    of a rotation vector the input is the torque conjugate to it, the moment about the axis only near zero rotation.
    """

    joint: Joint = field(metadata=of_kind("@joint"))
    coordinate: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below

    default: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        label = "motor" if self.name is None else f"motor {check_name('motor', self.name)!r}"
        if not isinstance(self.joint, Joint):
            raise BadInput(f"{label}: joint = {describe(self.joint)}; give the joint it drives, such as a Revolute")
        object.__setattr__(self, "coordinate", choose(label, self.joint, self.coordinate))
        if self.name is None:
            chosen = self.coordinate if self.joint.n > 1 else None
            object.__setattr__(self, "name", default_name(self.joint, chosen, "motor"))

    @property
    def index(self) -> int:
        """Place of the coordinate within the joint, counted from 0."""
        return self.joint.coordinate_names.index(self.coordinate)

    @property
    def place(self) -> tuple[Joint, int]:
        """The coordinate."""
        return self.joint, self.index

    @property
    def traits(self) -> tuple[Any, ...]:
        """Which coordinate it is."""
        return (self.coordinate,)

    @cached_property
    def unit(self) -> str:
        """ "N m" for a coordinate that turns, "N" for one that slides."""
        return "N m" if unit_of(self.joint, self.coordinate) == "rad" else "N"

    def check(self, value: float) -> float:
        """The torque [N m] or force [N] if it is finite."""
        kind = "torque" if self.unit == "N m" else "force"
        return float(finite(f"{kind} of {self.name!r}", value, (), self.unit))
