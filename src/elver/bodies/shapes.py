"""Shapes of homogeneous solids: volume and inertia per unit of mass, about the mass centre in body axes.

A body is drawn with its shape around its mass centre.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput, positive, shape_of
from elver.values import of_kind
from elver.words import describe

__all__ = ["Box", "Cylinder", "EllipticCylinder", "Shape", "Sphere"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """Box with sides ``size`` = (x, y, z) [m] along the body axes."""

    size: tuple[float, float, float] = field(metadata=of_kind("m"))

    def __post_init__(self) -> None:
        if shape_of(self.size) != (3,):
            raise BadInput(f"size of the box = {describe(self.size)}: give the three sides (x, y, z) in m")
        size = tuple(positive(f"size of the box along {a}", side, "m") for a, side in zip("xyz", self.size))
        object.__setattr__(self, "size", size)

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return float(np.prod(self.size))

    @property
    def gyration(self) -> Array:
        """Principal inertia per mass [m²]: (b² + c²)/12, … (3,)."""
        squares = np.square(self.size)
        return np.asarray((squares.sum() - squares) / 12.0)


@dataclass(frozen=True)
class Cylinder:
    """Solid cylinder of ``radius`` and ``length`` [m] along the body axis ``axis``."""

    radius: float = field(metadata=of_kind("m"))
    length: float = field(metadata=of_kind("m"))
    axis: str = field(default="x", metadata=of_kind("text"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("radius of the cylinder", self.radius, "m"))
        object.__setattr__(self, "length", positive("length of the cylinder", self.length, "m"))
        if self.axis not in ("x", "y", "z"):
            raise BadInput(f'axis of the cylinder = {describe(self.axis)}: choose "x", "y" or "z"')

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return float(np.pi * self.radius**2 * self.length)

    @property
    def gyration(self) -> Array:
        """Principal inertia per mass [m²]: r²/2 about the axis, r²/4 + l²/12 across it, (3,)."""
        across = self.radius**2 / 4.0 + self.length**2 / 12.0
        return np.where([a == self.axis for a in "xyz"], self.radius**2 / 2.0, across)


@dataclass(frozen=True)
class EllipticCylinder:
    """Solid elliptic cylinder of ``length`` [m] along the body axis ``axis``.

    ``half_axes`` = (a, b) [m] lie along the two body axes that follow ``axis`` in cyclic order: (y, z) for "x",
    (z, x) for "y", (x, y) for "z".
    """

    half_axes: tuple[float, float] = field(metadata=of_kind("m"))
    length: float = field(metadata=of_kind("m"))
    axis: str = field(default="x", metadata=of_kind("text"))

    def __post_init__(self) -> None:
        if self.axis not in ("x", "y", "z"):
            raise BadInput(f'axis of the elliptic cylinder = {describe(self.axis)}: choose "x", "y" or "z"')
        k = "xyz".index(self.axis)
        across = "xyzxy"[k + 1 : k + 3]
        if shape_of(self.half_axes) != (2,):
            raise BadInput(
                f"half_axes of the elliptic cylinder = {describe(self.half_axes)}: give the two along {across[0]} and "
                f"{across[1]} in m"
            )
        label = "half axis of the elliptic cylinder along"
        half_axes = tuple(positive(f"{label} {a}", half, "m") for a, half in zip(across, self.half_axes))
        object.__setattr__(self, "half_axes", half_axes)
        object.__setattr__(self, "length", positive("length of the elliptic cylinder", self.length, "m"))

    @property
    def volume(self) -> float:
        """Volume [m³]: π a b l."""
        a, b = self.half_axes
        return float(np.pi * a * b * self.length)

    @property
    def gyration(self) -> Array:
        """Principal inertia per mass [m²]: (a² + b²)/4 about the axis, b²/4 + l²/12 about the direction of a, (3,)."""
        (a, b), l = self.half_axes, self.length
        cyclic = np.array([(a * a + b * b) / 4.0, b * b / 4.0 + l * l / 12.0, a * a / 4.0 + l * l / 12.0])
        return np.roll(cyclic, "xyz".index(self.axis))


@dataclass(frozen=True)
class Sphere:
    """Solid sphere of ``radius`` [m]."""

    radius: float = field(metadata=of_kind("m"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("radius of the sphere", self.radius, "m"))

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return float(4.0 / 3.0 * np.pi * self.radius**3)

    @property
    def gyration(self) -> Array:
        """Principal inertia per mass [m²]: 2 r²/5 about every axis, (3,)."""
        return np.full(3, 0.4 * self.radius**2)


Shape: TypeAlias = Box | Cylinder | EllipticCylinder | Sphere
