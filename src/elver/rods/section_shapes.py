"""Sections by their shape: circle, tube, ellipse, rectangle, with the exact torsion constant of each.

Every dimension is a number, a :class:`Taper`, :class:`Stepped`, or a vectorised callable of s [m]. Torsion constants
are those of Timoshenko and Goodier, chapter on torsion, unless ``torsion_constant`` is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput
from elver.rods.fields import Array, Dimension, arc_lengths, dimension
from elver.rods.section import SectionProperties, ShapedSection, ShearCorrection
from elver.values import of_kind
from elver.words import brief

__all__ = ["Circle", "Ellipse", "Rectangle", "Tube", "rectangle_torsion_constant"]


def rectangle_torsion_constant(width_y: ArrayLike, width_z: ArrayLike) -> Array:
    """Torsion constant [m⁴] of a rectangle of full widths [m].

    With a ≥ b the sides: J_t = a b³ (1/3 - 64 b / (π⁵ a) Σ_{n odd} tanh(n π a / 2 b) / n⁵).
    The sum is (31/32) ζ(5) minus a remainder that falls as exp(-n π a / b): eight terms reach rounding.
    """
    wide, narrow = np.maximum(width_y, width_z), np.minimum(width_y, width_z)
    n = np.arange(1, 17, 2)
    decay = np.exp(-np.pi * n * np.expand_dims(wide / narrow, -1))
    total = 31.0 / 32.0 * 1.0369277551433699 - (2.0 * decay / (1.0 + decay) / n**5).sum(axis=-1)
    return np.asarray(wide * narrow**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * narrow / wide * total))


@brief
@dataclass(frozen=True)
class Circle(ShapedSection):
    """Solid circular section of ``radius`` [m]; J_t = I_polar = π r⁴ / 2."""

    radius: Dimension = field(metadata=of_kind("m @function"))
    torsion_constant: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    shear_correction: ShearCorrection = field(default=1.0, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        self.check_dimensions(radius="m")

    def properties(self, s: ArrayLike, length: float) -> SectionProperties:
        """A = π r², I = π r⁴ / 4, J_t = π r⁴ / 2 at ``s`` [m]."""
        s = arc_lengths(s)
        r = dimension("radius", self.radius, s, length, "m")
        inertia = np.pi * r**4 / 4.0
        return self.properties_from(s, length, np.pi * r**2, inertia, inertia.copy(), 2.0 * inertia)

    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """(r, r) [m] at ``s`` [m]."""
        r = dimension("radius", self.radius, arc_lengths(s), length, "m")
        return r, r.copy()


@brief
@dataclass(frozen=True)
class Tube(ShapedSection):
    """Circular tube with ``outer`` and ``inner`` radius [m]; J_t = I_polar."""

    outer: Dimension = field(metadata=of_kind("m @function"))
    inner: Dimension = field(metadata=of_kind("m @function"))
    torsion_constant: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    shear_correction: ShearCorrection = field(default=1.0, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        self.check_dimensions(outer="m", inner="m")
        if isinstance(self.outer, float) and isinstance(self.inner, float) and self.inner >= self.outer:
            raise BadInput(
                f"inner = {self.inner:g} m is not smaller than outer = {self.outer:g} m: "
                "choose inner < outer, or Circle for a solid rod"
            )

    def _radii(self, s: Array, length: float) -> tuple[Array, Array]:
        outer = dimension("outer", self.outer, s, length, "m")
        inner = dimension("inner", self.inner, s, length, "m")
        if np.any(inner >= outer):
            where = int(np.argmax(inner >= outer))
            raise BadInput(
                f"inner = {inner[where]:g} m is not smaller than outer = {outer[where]:g} m "
                f"at s = {s[where]:g} m: choose inner < outer everywhere"
            )
        return outer, inner

    def properties(self, s: ArrayLike, length: float) -> SectionProperties:
        """A = π (r_o² - r_i²), I = π (r_o⁴ - r_i⁴) / 4, J_t = 2 I at ``s`` [m]."""
        s = arc_lengths(s)
        outer, inner = self._radii(s, length)
        inertia = np.pi * (outer**4 - inner**4) / 4.0
        area = np.pi * (outer**2 - inner**2)
        return self.properties_from(s, length, area, inertia, inertia.copy(), 2.0 * inertia)

    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """(r_o, r_o) [m] at ``s`` [m]."""
        outer, _ = self._radii(arc_lengths(s), length)
        return outer, outer.copy()


@brief
@dataclass(frozen=True)
class Ellipse(ShapedSection):
    """Solid ellipse with half-axes ``half_y``, ``half_z`` [m]; J_t = π a³ b³ / (a² + b²)."""

    half_y: Dimension = field(metadata=of_kind("m @function"))
    half_z: Dimension = field(metadata=of_kind("m @function"))
    torsion_constant: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    shear_correction: ShearCorrection = field(default=1.0, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        self.check_dimensions(half_y="m", half_z="m")

    def properties(self, s: ArrayLike, length: float) -> SectionProperties:
        """A = π a b, I_y = π a b³ / 4, I_z = π a³ b / 4 with a = half_y, b = half_z at ``s`` [m]."""
        s = arc_lengths(s)
        a, b = self.half_widths(s, length)
        torsion = np.pi * a**3 * b**3 / (a**2 + b**2)
        return self.properties_from(s, length, np.pi * a * b, np.pi * a * b**3 / 4, np.pi * a**3 * b / 4, torsion)

    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """(half_y, half_z) [m] at ``s`` [m]."""
        s = arc_lengths(s)
        half_y = dimension("half_y", self.half_y, s, length, "m")
        return half_y, dimension("half_z", self.half_z, s, length, "m")


@brief
@dataclass(frozen=True)
class Rectangle(ShapedSection):
    """Solid rectangle of full widths ``width_y``, ``width_z`` [m]; J_t by the exact series."""

    width_y: Dimension = field(metadata=of_kind("m @function"))
    width_z: Dimension = field(metadata=of_kind("m @function"))
    torsion_constant: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    shear_correction: ShearCorrection = field(default=1.0, metadata=of_kind("1"))

    def __post_init__(self) -> None:
        self.check_dimensions(width_y="m", width_z="m")

    def properties(self, s: ArrayLike, length: float) -> SectionProperties:
        """A = w_y w_z, I_y = w_y w_z³ / 12, I_z = w_y³ w_z / 12 at ``s`` [m]."""
        s = arc_lengths(s)
        half_y, half_z = self.half_widths(s, length)
        w_y, w_z = 2.0 * half_y, 2.0 * half_z
        torsion = rectangle_torsion_constant(w_y, w_z)
        return self.properties_from(s, length, w_y * w_z, w_y * w_z**3 / 12, w_y**3 * w_z / 12, torsion)

    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """(width_y / 2, width_z / 2) [m] at ``s`` [m]."""
        s = arc_lengths(s)
        width_y = dimension("width_y", self.width_y, s, length, "m")
        return width_y / 2.0, dimension("width_z", self.width_z, s, length, "m") / 2.0

    def reach(self, s: ArrayLike, length: float, y: Array, z: Array) -> Array:
        """How far out (y, z) [m] lies at ``s``: 1 on the sides of the rectangle, above 1 outside."""
        half_y, half_z = self.half_widths(s, length)
        return np.asarray(np.maximum(np.abs(y) / half_y, np.abs(z) / half_z))
