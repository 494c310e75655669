"""Shapes of homogeneous solids: volume and inertia per unit of mass, about the mass centre in body axes.

A body is drawn with its shape around its mass centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput, positive

__all__ = ["Box", "Cylinder", "Shape", "Sphere"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """Box with sides ``size`` = (x, y, z) [m] along the body axes."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        if np.shape(self.size) != (3,):
            raise BadInput(f"size of the box = {self.size!r}: give the three sides (x, y, z) in m")
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

    radius: float
    length: float
    axis: str = "x"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("radius of the cylinder", self.radius, "m"))
        object.__setattr__(self, "length", positive("length of the cylinder", self.length, "m"))
        if self.axis not in ("x", "y", "z"):
            raise BadInput(f'axis of the cylinder = {self.axis!r}: choose "x", "y" or "z"')

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
class Sphere:
    """Solid sphere of ``radius`` [m]."""

    radius: float

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


Shape: TypeAlias = Box | Cylinder | Sphere
