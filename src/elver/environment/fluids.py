"""Water around bodies and rods: two models of the wrench of a fluid, and buoyancy.

Morison      slices of an elliptic body, each with drag and with its added mass times its own acceleration
             (Khalil 2007, section 5): for bodies and rods, in still or uniformly flowing water, no wake
Lighthill    large-amplitude elongated-body theory (Boyer 2023, eq. 90-91): the momentum of the water carried along,
             which is shed at the tail; no drag, no friction

They are different models of the same water and are never mixed on one part. Both act by *strips* across the body:
x along it, y and z in its section, half axes a_y and a_z; the added mass per length is

    ρ π diag(C_roll (a_y² - a_z²)²/8, 0, 0;  0, C_y a_z², C_z a_y²)     (angular; linear)

Added mass is part of the inertia of the robot, and has no weight.

Theory: docs/theory/surroundings.md, eq. (added-mass), (morison), (lighthill), (shed).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from elver.bodies import Cylinder, EllipticCylinder, RigidBody
from elver.errors import BadInput, finite, non_negative, positive
from elver.mechanism import Mechanism, Part, Passive
from elver.rods import Rod
from elver.rods.fields import Array, check_name
from elver.slips import ask_of_fluid
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["Buoyancy", "Lighthill", "Morison", "Outline"]

_STILL = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Outline:
    """The elliptic cylinder that the water sees of a rigid body: x of its axes points along it."""

    R: Array  # (3, 3) axes of the cylinder in body axes
    start: Array  # (3,) m, centre of the end that x points away from
    length: float  # m
    half_axes: tuple[float, float]  # m

    @classmethod
    def of(cls, body: RigidBody) -> Outline:
        """From the shape of the body."""
        shape = body.shape
        if isinstance(shape, EllipticCylinder):
            half_axes = shape.half_axes
        elif isinstance(shape, Cylinder):
            half_axes = shape.radius, shape.radius
        else:
            raise BadInput(
                f"{body.name!r} has no slender outline in the water: give it shape=EllipticCylinder(half_axes [m], "
                "length [m], axis), or list only other parts"
            )
        first = "xyz".index(shape.axis)
        R = np.eye(3)[:, [first, (first + 1) % 3, (first + 2) % 3]]
        return cls(R, np.asarray(body.centre) - 0.5 * shape.length * R[:, 0], shape.length, half_axes)


def _coefficients(label: str, values: Any, names: str) -> tuple[float, ...]:
    """Non-negative numbers, one per name."""
    wanted = names.split()
    if not isinstance(values, Sequence | np.ndarray) or len(values) != len(wanted):
        raise BadInput(f"{label} = {describe(values)}: give {len(wanted)} numbers, {', '.join(wanted)}")
    return tuple(non_negative(f"{label}, {name}", value, "") for name, value in zip(wanted, values))


class _InWater(Passive):
    """What water and buoyancy share: the parts that are in it."""

    parts: Sequence[Part]

    def acts_on(self, mechanism: Mechanism) -> tuple[Part, ...]:
        """Parts that are in it: those listed, else all rods and all bodies with mass."""
        if self.parts is not None:
            return tuple(self.parts)
        return tuple(part for part in mechanism.parts if isinstance(part, Rod) or part.mass > 0.0)


class _Fluid(_InWater):
    """What both models share."""

    fluid_density: float
    added_mass: Sequence[float]
    flow: Sequence[float]
    name: str

    def _check(self) -> str:
        label = f"fluid {check_name('fluid', self.name)!r}"
        if self.parts is not None:
            object.__setattr__(self, "parts", _several(label, self.parts))
        object.__setattr__(self, "fluid_density", positive(f"{label}: density", self.fluid_density, "kg/m³"))
        ask_of_fluid(label, self.fluid_density)
        added = _coefficients(f"{label}: added_mass", self.added_mass, "C_y C_z C_roll")
        object.__setattr__(self, "added_mass", added)
        object.__setattr__(self, "flow", tuple(finite(f"{label}: flow", self.flow, (3,), "m/s").tolist()))
        return label

    def added(self, a_y: Array | float, a_z: Array | float) -> Array:
        """Added mass per length (…, 3): along y and z [kg/m], in roll [kg m]."""
        a_y, a_z = np.asarray(a_y), np.asarray(a_z)
        C_y, C_z, C_roll = self.added_mass
        per = np.pi * self.fluid_density
        return np.stack([per * C_y * a_z**2, per * C_z * a_y**2, per * C_roll * (a_y**2 - a_z**2) ** 2 / 8.0], axis=-1)


def _several(label: str, parts: Any) -> tuple[Part, ...]:
    """Bodies and rods, one or many."""
    given = (parts,) if isinstance(parts, Part) or not isinstance(parts, Iterable) else tuple(parts)
    for part in given:
        if not isinstance(part, Part):
            raise BadInput(f"{label}: parts contains {describe(part)}; give rods and rigid bodies of the mechanism")
    if not given:
        raise BadInput(f"{label}: parts is empty; list the rods and bodies in the water, or leave it out for all")
    if len(set(given)) < len(given):
        raise BadInput(f"{label}: a part is listed twice; list each once")
    return given


@brief
@dataclass(frozen=True, eq=False)
class Morison(_Fluid):
    """Drag and added mass by slices (Morison; Khalil 2007, eq. 44-62).

    ``parts``: rods and bodies in the water, by default all that have mass; bodies need a cylinder as their shape.
    ``drag`` = (C_x, C_y, C_z, C_roll): per length ½ρ C_x π(a_y+a_z)/2 |r_x| r_x along the body (a friction law on the
    whole wetted perimeter would have twice that: then double C_x), ½ρ C_y 2a_z |r_n| r_y and ½ρ C_z 2a_y |r_n| r_z
    across it, ½ρ C_roll (a_y²-a_z²)² |ω_x| ω_x in roll, with the velocity r through the water and its part r_n across
    the body. ``added_mass`` = (C_y, C_z, C_roll). ``flow`` [m/s] of the water, world axes. ``stations`` slices per
    rigid body (Gauss points); rods have one at each of their nodes.
    """

    parts: Sequence[Part] = field(default=None, metadata=of_kind("@part"))  # type: ignore[arg-type]  # left out: all parts
    fluid_density: float = field(default=1000.0, metadata=of_kind("kg/m^3"))
    drag: Sequence[float] = field(default=(0.01, 1.0, 1.0, 1.0), metadata=of_kind("1"))
    added_mass: Sequence[float] = field(default=(1.0, 1.0, 1.0), metadata=of_kind("1"))
    flow: Sequence[float] = field(default=_STILL, metadata=of_kind("m/s"))
    stations: int = field(default=4, metadata=of_kind("int"))
    name: str = field(default="water", metadata=of_kind("text"))

    law: ClassVar[int] = 0

    def __post_init__(self) -> None:
        label = self._check()
        drag = _coefficients(f"{label}: drag", self.drag, "C_x C_y C_z C_roll")
        object.__setattr__(self, "drag", drag)
        if not isinstance(self.stations, int | np.integer) or self.stations < 2:
            raise BadInput(f"{label}: stations = {describe(self.stations)}; give a whole number of at least 2 per body")

    def resistance(self, a_y: Array | float, a_z: Array | float) -> Array:
        """Drag per length and squared speed (…, 4): along x, y, z [kg/m²], in roll [kg m]."""
        a_y, a_z = np.asarray(a_y), np.asarray(a_z)
        C_x, C_y, C_z, C_roll = self.drag
        half = 0.5 * self.fluid_density
        across = [half * C_y * 2.0 * a_z, half * C_z * 2.0 * a_y]
        along, roll = half * C_x * np.pi * (a_y + a_z) / 2.0, half * C_roll * (a_y**2 - a_z**2) ** 2
        return np.stack([along, *across, roll], axis=-1)


@brief
@dataclass(frozen=True, eq=False)
class Lighthill(_Fluid):
    """Large-amplitude elongated-body theory (Lighthill 1971; Boyer 2023, eq. 90-91): water carried along and shed.

    ``parts`` from nose to tail, each along its x: rods from base to tip, bodies with a cylinder as their shape; the
    tail is the end of the last. The nose closes, so nothing is shed there, and swimming head first is V_x < 0.
    The theory is for bodies that bend: rods may have bending strains, and torsion where their section is circular.
    ``added_mass`` = (C_y, C_z, C_roll); ``flow`` [m/s] of the water, world axes.
    """

    parts: Sequence[Part] = field(metadata=of_kind("@part"))
    fluid_density: float = field(default=1000.0, metadata=of_kind("kg/m^3"))
    added_mass: Sequence[float] = field(default=(1.0, 1.0, 1.0), metadata=of_kind("1"))
    flow: Sequence[float] = field(default=_STILL, metadata=of_kind("m/s"))
    name: str = field(default="water", metadata=of_kind("text"))

    law: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.parts is None:
            raise BadInput(f"fluid {self.name!r}: list the parts from nose to tail, such as parts=[head, rod]")
        label = self._check()
        for part in self.parts:
            if isinstance(part, Rod):
                self._check_strains(label, part)

    def _check_strains(self, label: str, rod: Rod) -> None:
        """Λ and Λ* = Λ + G differ in roll, stretch and shear: those strains must be held, or G be zero in them."""
        s = rod.grid.s
        round_section = np.allclose(self.added(*rod.section.half_widths(s, rod.length))[:, 2], 0.0, atol=0.0)
        names = ("K_x", "K_y", "K_z", "Gamma_x", "Gamma_y", "Gamma_z")
        for component in sorted(set(rod.component.tolist())):
            if component in (1, 2) or (component == 0 and round_section):
                continue
            raise BadInput(
                f"{label}: rod {rod.name!r} has free {names[component]}, which Lighthill's theory does not know: free "
                "only bending" + (" (or torsion of a circular section)" if component == 0 else "") + ", or use Morison"
            )


@brief
@dataclass(frozen=True, eq=False)
class Buoyancy(_InWater):
    """The weight of the displaced water, upward against gravity, at the centre of the volume.

    ``parts``: rods and bodies in the water, by default all that have mass; the volume of a body is that of its shape,
    around its mass centre. It acts only together with Gravity, and is scaled with it.
    """

    parts: Sequence[Part] = field(default=None, metadata=of_kind("@part"))  # type: ignore[arg-type]  # left out: all parts
    fluid_density: float = field(default=1000.0, metadata=of_kind("kg/m^3"))
    name: str = field(default="buoyancy", metadata=of_kind("text"))

    def __post_init__(self) -> None:
        label = f"load {check_name('load', self.name)!r}"
        if self.parts is not None:
            object.__setattr__(self, "parts", _several(label, self.parts))
        object.__setattr__(self, "fluid_density", positive(f"{label}: density", self.fluid_density, "kg/m³"))
        ask_of_fluid(label, self.fluid_density)
