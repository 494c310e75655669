"""A rigid body: mass, mass centre c and inertia I_c, and from them the spatial inertia at its frame.

    M = [[I_c - m ĉĉ, m ĉ], [-m ĉ, m 1]]     (six-vectors angular first, body axes, at the frame's origin)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.bodies.shapes import Box, Cylinder, EllipticCylinder, Shape, Sphere
from elver.errors import BadInput, finite, non_negative, positive, shape_of
from elver.lie.so3 import hat
from elver.slips import ask_of_density
from elver.values import of_kind
from elver.words import describe, shown

__all__ = ["RigidBody"]

Array: TypeAlias = NDArray[np.float64]

_ZERO = (0.0, 0.0, 0.0)
# Inertias come rounded from drawing programs; anything worse is a mistake.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A rigid body with a frame of its own.

    ``mass`` [kg]; ``inertia`` [kg m²] about the mass centre in body axes: three principal values or a symmetric
    3 x 3 matrix; ``centre``, the mass centre [m] from the origin of the body frame. ``shape`` is only drawn.
    Bodies are compared by identity: two equal links are two bodies.
    """

    mass: float = field(metadata=of_kind("kg"))
    inertia: ArrayLike = field(default=_ZERO, metadata=of_kind("kg m^2"))
    centre: ArrayLike = field(default=_ZERO, metadata=of_kind("m"))
    name: str = field(default="body", metadata=of_kind("text"))
    shape: Shape | None = field(default=None, metadata=of_kind("@shape"))

    def __repr__(self) -> str:
        shape = f", {shown(self.shape)}" if self.shape is not None else ""
        return f"RigidBody {self.name!r}: {self.mass:g} kg{shape}"

    def __post_init__(self) -> None:
        name = self.name
        if not isinstance(name, str) or not name.strip() or "/" in name or name == "world":
            raise BadInput(f'body name = {name!r}: give a non-empty text without "/", other than "world"')
        I_c = self._check_inertia()
        centre = finite(f"centre of {name!r}", self.centre, (3,), "m")
        object.__setattr__(self, "mass", non_negative(f"mass of {name!r}", self.mass, "kg"))
        object.__setattr__(self, "inertia", tuple(map(tuple, I_c.tolist())))
        object.__setattr__(self, "centre", tuple(centre.tolist()))
        if self.mass == 0.0 and np.any(I_c):
            raise BadInput(f"{name!r} has inertia (up to {I_c.max():g} kg m²) but no mass: give mass > 0 kg")
        if self.shape is not None and not isinstance(self.shape, Shape):
            raise BadInput(
                f"shape of {name!r} = {describe(self.shape)}: give Box(size), Cylinder(...), EllipticCylinder(...) or "
                "Sphere(radius)"
            )

    def _check_inertia(self) -> Array:
        label, unit = f"inertia of {self.name!r}", "kg m²"
        given = shape_of(self.inertia)
        I_c = finite(label, self.inertia, (3,) if given == (3,) else (3, 3), unit)
        I_c = np.diag(I_c) if given == (3,) else I_c
        scale = float(np.abs(I_c).max())
        skew = float(np.abs(I_c - I_c.T).max())
        if skew > _ROUNDING * scale:
            raise BadInput(f"{label}: differs from its transpose by {skew:g} {unit}; give a symmetric matrix")
        I_c = 0.5 * (I_c + I_c.T)
        small, middle, large = np.linalg.eigvalsh(I_c)
        if small < -_ROUNDING * scale:
            raise BadInput(f"{label}: principal value {small:g} {unit} must not be negative")
        if large > (small + middle) + _ROUNDING * scale:
            raise BadInput(
                f"{label}: principal values {small:g}, {middle:g}, {large:g} {unit} belong to no body, since the "
                "largest exceeds the sum of the others; are they about the mass centre?"
            )
        return I_c

    @property
    def M(self) -> Array:
        """Spatial inertia at the origin of the body frame, (6, 6), angular first."""
        c_hat, m = hat(self.centre), self.mass
        return np.block([[np.array(self.inertia) - m * c_hat @ c_hat, m * c_hat], [-m * c_hat, m * np.eye(3)]])

    # Common bodies ------------------------------------------------------------------------------------------

    @classmethod
    def box(
        cls,
        size: Any,
        mass: float | None = None,
        density: float | None = None,
        name: str = "body",
        centre: ArrayLike = _ZERO,
    ) -> Self:
        """Box with sides ``size`` (x, y, z) [m]; ``mass`` [kg] or ``density`` [kg/m³]."""
        return cls.solid(Box(size), mass, density, name, centre)

    @classmethod
    def cylinder(
        cls,
        radius: float,
        length: float,
        axis: str = "x",
        mass: float | None = None,
        density: float | None = None,
        name: str = "body",
        centre: ArrayLike = _ZERO,
    ) -> Self:
        """Solid cylinder [m] along a body axis; ``mass`` [kg] or ``density`` [kg/m³]."""
        return cls.solid(Cylinder(radius, length, axis), mass, density, name, centre)

    @classmethod
    def elliptic_cylinder(
        cls,
        half_axes: Any,
        length: float,
        axis: str = "x",
        mass: float | None = None,
        density: float | None = None,
        name: str = "body",
        centre: ArrayLike = _ZERO,
    ) -> Self:
        """Solid elliptic cylinder [m] along a body axis; ``mass`` [kg] or ``density`` [kg/m³].

        ``half_axes`` along the two axes that follow ``axis`` in cyclic order: (y, z) for "x", and so on.
        """
        return cls.solid(EllipticCylinder(half_axes, length, axis), mass, density, name, centre)

    @classmethod
    def sphere(
        cls,
        radius: float,
        mass: float | None = None,
        density: float | None = None,
        name: str = "body",
        centre: ArrayLike = _ZERO,
    ) -> Self:
        """Solid sphere of ``radius`` [m]; ``mass`` [kg] or ``density`` [kg/m³]."""
        return cls.solid(Sphere(radius), mass, density, name, centre)

    @classmethod
    def point(cls, mass: float, name: str = "body", centre: ArrayLike = _ZERO) -> Self:
        """All the ``mass`` [kg] in one point: no inertia about the mass centre."""
        return cls(mass, centre=centre, name=name)

    @classmethod
    def massless(cls, name: str = "body") -> Self:
        """A frame without mass, to which others are joined."""
        return cls(0.0, name=name)

    @classmethod
    def solid(
        cls,
        shape: Shape,
        mass: float | None = None,
        density: float | None = None,
        name: str = "body",
        centre: ArrayLike = _ZERO,
    ) -> Self:
        """A solid of this shape; ``mass`` [kg] or ``density`` [kg/m³]."""
        if not isinstance(shape, Shape):
            raise BadInput(
                f"{name!r}: shape = {describe(shape)} is no solid; give a Box, Cylinder, EllipticCylinder or Sphere"
            )
        if (mass is None) == (density is None):
            raise BadInput(f"{name!r}: give either mass (kg) or density (kg/m³)")
        if density is not None:
            mass = positive(f"density of {name!r}", density, "kg/m³") * shape.volume
            ask_of_density(name, density, shape.volume)
        m = positive(f"mass of {name!r}", mass, "kg")
        return cls(m, tuple(m * shape.gyration), centre, name, shape)
