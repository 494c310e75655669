"""Springs, friction, stops and rotors on one coordinate of a joint; they have no input.

    spring      Q = -k (q - q_rest)
    friction    Q = -(d q̇ + f tanh(q̇ / v))         viscous and smoothed dry friction
    stop        Q = k max(lower - q, 0) - k max(q - upper, 0)
    rotor       Q = -I q̈                             inertia of a motor as seen through its gear

Q is the generalized force on the coordinate: a torque [N m] where it turns, a force [N] where it slides.

Theory: docs/theory/surroundings.md, eq. (joint-loads).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from elver.errors import BadInput, finite, non_negative, positive
from elver.mechanism import Joint, Passive
from elver.mechanism.coordinates import choose, default_name
from elver.rods.fields import check_name
from elver.slips import ask_of_angle
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["JointFriction", "JointLoad", "JointSpring", "JointStop", "RotorInertia"]


class JointLoad(Passive, ABC):
    """What loads on joints share: one coordinate of a joint, chosen by name."""

    joint: Joint
    coordinate: str
    name: str

    @property
    @abstractmethod
    def coefficients(self) -> dict[str, Any]:
        """What it gives to the laws of its coordinate, by the names of their arrays."""

    def _check_joint(self, kind: str) -> str:
        """Fill in coordinate and name; returns how messages speak of this load."""
        label = kind if self.name is None else f"{kind} {check_name(kind, self.name)!r}"
        joint = self.joint
        if not isinstance(joint, Joint):
            raise BadInput(f"{label}: joint = {describe(joint)}; give the joint it acts on, such as a Revolute")
        object.__setattr__(self, "coordinate", choose(label, joint, self.coordinate))
        if self.name is None:
            object.__setattr__(self, "name", default_name(joint, self.coordinate if joint.n > 1 else None, kind))
        return f"{kind} {self.name!r}"

    @property
    def index(self) -> int:
        """Place of the coordinate within the joint, counted from 0."""
        return self.joint.coordinate_names.index(self.coordinate)

    @property
    def place(self) -> tuple[Joint, int]:
        """The coordinate that it acts on."""
        return self.joint, self.index

    @property
    def traits(self) -> tuple[Any, ...]:
        """Which coordinate it is."""
        return (self.coordinate,)

    @property
    def coordinate_unit(self) -> str:
        """ "rad" where the coordinate turns, "m" where it slides."""
        return self.joint.coordinate_units[self.index]

    @property
    def effort_unit(self) -> str:
        """Unit of the generalized force: "N m" or "N"."""
        return "N m" if self.coordinate_unit == "rad" else "N"


@brief
@dataclass(frozen=True, eq=False)
class JointSpring(JointLoad):
    """Linear spring on a coordinate q: Q = -stiffness (q - rest).

    ``stiffness`` [N m/rad or N/m]; ``rest`` [rad or m], where it is slack; ``coordinate`` is one of
    ``joint.coordinate_names`` and may be left out where the joint has one.
    """

    joint: Joint = field(metadata=of_kind("@joint"))
    stiffness: float = field(metadata=of_kind("N m/rad|N m|N/m"))
    rest: float = field(default=0.0, metadata=of_kind("rad|m"))
    coordinate: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below

    means_one_number: ClassVar[bool] = True

    def __post_init__(self) -> None:
        label = self._check_joint("spring")
        unit = self.coordinate_unit
        stiffness = non_negative(f"{label}: stiffness", self.stiffness, f"{self.effort_unit}/{unit}")
        object.__setattr__(self, "stiffness", stiffness)
        object.__setattr__(self, "rest", float(finite(f"{label}: rest", self.rest, (), unit)))
        if unit == "rad":
            ask_of_angle(f"{label}: rest", self.rest)

    @property
    def coefficients(self) -> dict[str, Any]:
        """Its rows."""
        return {"stiffness": self.stiffness, "rest": self.rest}

    def effort(self, q: float, q_dot: float = 0.0) -> float:
        """Generalized force Q [N m or N] at ``q`` [rad or m]; the rate does not matter."""
        return -self.stiffness * (q - self.rest)


@brief
@dataclass(frozen=True, eq=False)
class JointFriction(JointLoad):
    """Friction on a coordinate: Q = -(viscous q̇ + dry tanh(q̇ / speed)).

    ``viscous`` [N m s/rad or N s/m]; ``dry`` [N m or N], Coulomb friction smoothed over ``speed`` [rad/s or m/s]:
    at that rate it has reached 76 % of its full value. Below it a load makes the joint creep instead of sticking;
    a smaller speed sticks better and is harder to solve. ``coordinate`` as for :class:`JointSpring`.
    """

    joint: Joint = field(metadata=of_kind("@joint"))
    viscous: float = field(default=0.0, metadata=of_kind("N m s/rad|N m s|N s/m"))
    dry: float = field(default=0.0, metadata=of_kind("N m|N"))
    speed: float = field(default=1e-3, metadata=of_kind("rad/s|m/s"))
    coordinate: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below

    def __post_init__(self) -> None:
        label = self._check_joint("friction")
        unit, effort = self.coordinate_unit, self.effort_unit
        viscous = non_negative(f"{label}: viscous", self.viscous, f"{effort} s/{unit}")
        object.__setattr__(self, "viscous", viscous)
        object.__setattr__(self, "dry", non_negative(f"{label}: dry", self.dry, effort))
        object.__setattr__(self, "speed", positive(f"{label}: speed", self.speed, f"{unit}/s"))

    @property
    def coefficients(self) -> dict[str, Any]:
        """Its rows."""
        return {"viscous": self.viscous, "friction": (self.dry, self.speed)}

    def effort(self, q: float, q_dot: float) -> float:
        """Generalized force Q [N m or N] at the rate ``q_dot`` [rad/s or m/s]; the coordinate does not matter."""
        return -(self.viscous * q_dot + self.dry * math.tanh(q_dot / self.speed))


@brief
@dataclass(frozen=True, eq=False)
class JointStop(JointLoad):
    """Elastic stops of a coordinate: free within [lower, upper] [rad or m], pushed back beyond.

    ``stiffness`` [N m/rad or N/m] is given by keyword; a limit left out is none. The stop is soft: it yields by
    load / stiffness. ``coordinate`` as for :class:`JointSpring`.
    """

    joint: Joint = field(metadata=of_kind("@joint"))
    lower: float = field(default=-math.inf, metadata=of_kind("rad|m"))
    upper: float = field(default=math.inf, metadata=of_kind("rad|m"))
    coordinate: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    stiffness: float = field(kw_only=True, metadata=of_kind("N m/rad|N m|N/m"))

    means_one_number: ClassVar[bool] = True

    def __post_init__(self) -> None:
        label = self._check_joint("stop")
        unit = self.coordinate_unit
        stiffness = non_negative(f"{label}: stiffness", self.stiffness, f"{self.effort_unit}/{unit}")
        object.__setattr__(self, "stiffness", stiffness)
        object.__setattr__(self, "lower", _limit(f"{label}: lower", self.lower, unit))
        object.__setattr__(self, "upper", _limit(f"{label}: upper", self.upper, unit))
        if unit == "rad":
            ask_of_angle(f"{label}: lower", self.lower)
            ask_of_angle(f"{label}: upper", self.upper)
        if not self.lower < self.upper:
            raise BadInput(
                f"{label}: lower = {self.lower:g} {unit} is not below upper = {self.upper:g} {unit}; "
                "choose lower < upper"
            )
        if math.isinf(self.lower) and math.isinf(self.upper):
            raise BadInput(f"{label} stops nothing: give lower or upper in {unit}")

    @property
    def coefficients(self) -> dict[str, Any]:
        """Its rows."""
        return {"stop": (self.lower, self.upper, self.stiffness)}

    def effort(self, q: float, q_dot: float = 0.0) -> float:
        """Generalized force Q [N m or N] at ``q`` [rad or m]; the rate does not matter."""
        return self.stiffness * (max(self.lower - q, 0.0) - max(q - self.upper, 0.0))


@brief
@dataclass(frozen=True, eq=False)
class RotorInertia(JointLoad):
    """Inertia of what drives a coordinate, such as a motor behind a gear: Q = -inertia q̈ (Khalil 2007, I_a).

    ``inertia`` [kg m² or kg], rotor inertia times the square of the gear ratio. Its spin about its own axis is not
    counted elsewhere, as usual with high ratios. ``coordinate`` as for :class:`JointSpring`.
    """

    joint: Joint = field(metadata=of_kind("@joint"))
    inertia: float = field(metadata=of_kind("kg m^2|kg"))
    coordinate: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below

    def __post_init__(self) -> None:
        label = self._check_joint("rotor")
        unit = "kg m²" if self.coordinate_unit == "rad" else "kg"
        object.__setattr__(self, "inertia", non_negative(f"{label}: inertia", self.inertia, unit))

    @property
    def coefficients(self) -> dict[str, Any]:
        """Its row."""
        return {"rotor": self.inertia}


def _limit(name: str, value: Any, unit: str) -> float:
    """A number, which may be infinite: no limit."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} = {describe(value)}: expected a number in {unit}") from None
    if math.isnan(number):
        raise BadInput(f"{name} = nan {unit}: give a number, or leave it out for no limit")
    return number
