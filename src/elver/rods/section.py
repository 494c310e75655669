"""Cross sections: geometry that turns a material into section stiffness and inertia.

Section axes y, z through the centroid are principal axes. I_y = ∫z² dA goes with K_y, I_z = ∫y² dA with K_z;
the torsion constant J_t is the exact one of Saint-Venant (Timoshenko and Goodier, chapter on torsion),
not the polar moment, unless ``torsion_constant`` is given. ``shear_correction`` is a number or (k_y, k_z), 1
by default. Every dimension is a number, a :class:`Taper`, :class:`Stepped`, or a vectorised callable of s [m].

Theory: docs/theory/rods.md, eq. (section-laws).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, UnitWarning, positive
from elver.rods.fields import Array, Dimension, arc_lengths, breaks_of, check_dimension, dimension, is_plain, numbers
from elver.rods.material import Material
from elver.values import of_kind
from elver.words import brief, describe

__all__ = [
    "STIFFNESS",
    "CrossSection",
    "Section",
    "SectionProperties",
    "ShapedSection",
    "ShearCorrection",
    "named_thickness",
    "plain_dimensions",
    "section_breaks",
]


@brief
@dataclass(frozen=True, eq=False)
class SectionProperties:
    """Properties at each s, arrays of shape (len(s),): A [m²], I_y, I_z, J_t [m⁴], shear factors k_y, k_z."""

    area: Array
    I_y: Array
    I_z: Array
    torsion_constant: Array
    k_y: Array
    k_z: Array

    polar: Array | None = None

    @property
    def I_polar(self) -> Array:
        """Polar moment of inertia [m⁴]: as given, else I_y + I_z."""
        return self.I_y + self.I_z if self.polar is None else self.polar


@runtime_checkable
class CrossSection(Protocol):
    """What a rod asks of its section."""

    def properties(self, s: ArrayLike, length: float) -> SectionProperties:
        """Section properties at ``s`` [m]."""
        ...

    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """Half extents along y and z [m] at ``s`` [m], for drawing and for the reach of a tendon."""
        ...

    def reach(self, s: ArrayLike, length: float, y: Array, z: Array) -> Array:
        """How far out (y, z) [m] lies at ``s``: 1 on the surface of the section, above 1 outside."""
        ...


ShearCorrection = float | tuple[float, float]


def named_thickness(section: CrossSection) -> tuple[str, float] | None:
    """Largest dimension across a section, with its name, where it is a number; None where it is not known.

    A Section given by its properties often has no dimensions at all, and is not asked.
    """
    if isinstance(section, Section):
        return None
    names = ("radius", "outer", "half_y", "half_z", "width_y", "width_z")
    given = {name: getattr(section, name, None) for name in names}
    known = {name: value for name, value in given.items() if isinstance(value, float)}
    return max(known.items(), key=lambda item: item[1]) if known else None


def _dimensions(section: Any) -> list[tuple[str, Any]]:
    """Fields of a section by name; none of a class that is no dataclass."""
    return [(f.name, getattr(section, f.name)) for f in fields(section)] if is_dataclass(section) else []


def section_breaks(section: CrossSection) -> tuple[float, ...]:
    """Arc lengths [m] where a dimension of ``section`` jumps by its description."""
    return tuple(sorted({*breaks_of(section), *(s for _, value in _dimensions(section) for s in breaks_of(value))}))


def plain_dimensions(section: CrossSection, length: float) -> list[tuple[str, Callable[[Array], Array]]]:
    """Dimensions of ``section`` that are plain functions of s, by name; of a class of one's own, its properties."""
    if not isinstance(section, ShapedSection):

        def properties(s: Array) -> Array:
            p = section.properties(s, length)
            return np.column_stack([p.area, p.I_y, p.I_z, p.torsion_constant])

        return [("a property", properties)]
    return [
        (name, partial(dimension, name, value, length=length, unit=""))
        for name, value in _dimensions(section)
        if is_plain(value)
    ]


def _check_shear_correction(value: ShearCorrection) -> ShearCorrection:
    if np.ndim(value) == 0:
        return positive("shear_correction", value, "(dimensionless)")
    pair = tuple(np.asarray(value, dtype=object).ravel())
    if len(pair) != 2:
        raise BadInput(f"shear_correction = {describe(value)} (dimensionless): give a number or a pair (k_y, k_z)")
    k_y, k_z = (positive("shear_correction", k, "(dimensionless)") for k in pair)
    return (k_y, k_z)


STIFFNESS = ("GJ", "EI_y", "EI_z", "EA", "GA_y", "GA_z")
"""Names of the stiffness that belongs to each strain, in the order K_x, K_y, K_z, G_x, G_y, G_z."""

_UNITS = {
    "area": "m2", "I_y": "m4", "I_z": "m4", "I_polar": "m4", "half_y": "m", "half_z": "m", "GJ": "N m2",
    "EI_y": "N m2", "EI_z": "N m2", "EA": "N", "GA_y": "N", "GA_z": "N", "mass": "kg/m",
}  # fmt: skip


class ShapedSection(ABC):
    """Common ground of the sections: optional torsion constant and shear correction."""

    torsion_constant: Dimension | None
    shear_correction: ShearCorrection

    def check_dimensions(self, **dimensions: str) -> None:
        """Check each named dimension (name=unit), the torsion constant and the shear correction."""
        for name, unit in dimensions.items():
            object.__setattr__(self, name, check_dimension(name, getattr(self, name), unit))
        if self.torsion_constant is not None:
            checked = check_dimension("torsion_constant", self.torsion_constant, "m4")
            object.__setattr__(self, "torsion_constant", checked)
        object.__setattr__(self, "shear_correction", _check_shear_correction(self.shear_correction))

    def properties_from(
        self, s: Array, length: float, area: Array, I_y: Array, I_z: Array, torsion: Array
    ) -> SectionProperties:
        if self.torsion_constant is not None:
            torsion = dimension("torsion_constant", self.torsion_constant, s, length, "m4")
        k = self.shear_correction
        k_y, k_z = k if isinstance(k, tuple) else (k, k)
        return SectionProperties(area, I_y, I_z, torsion, np.full(s.shape, k_y), np.full(s.shape, k_z))

    @abstractmethod
    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """Half extents along y and z [m] at ``s`` [m]."""

    def reach(self, s: ArrayLike, length: float, y: Array, z: Array) -> Array:
        """How far out (y, z) [m] lies at ``s``: 1 on the ellipse through the half widths, above 1 outside."""
        half_y, half_z = self.half_widths(s, length)
        return np.asarray(np.hypot(y / half_y, z / half_z))


@brief
@dataclass(frozen=True)
class Section(ShapedSection):
    """Section given by numbers: by its properties, or directly by stiffness and mass.

    **Properties**: area [m²], I_y, I_z, torsion_constant [m⁴], to be multiplied by the moduli and the density of the
    rod's material. ``I_polar`` [m⁴] of the rotary inertia is I_y + I_z unless given (benchmarks of the literature have
    other ones).

    **Stiffness and mass**, as measured or from another program: ``EI_y``, ``EI_z``, ``GJ`` [N m²], ``EA``, ``GA_y``,
    ``GA_z`` [N] of those strains that the rod's functions let change, and ``mass`` [kg/m]; the material may then be
    left out, and of one that is given only damping and mass_damping count. ``inertia`` [kg m] is the rotary inertia per
    length about x, y, z (one number: about y and z, and twice it about x), if not given that of an ellipse with the
    half widths.

    >>> Rod(0.4, Section(EI_y=2e-3, EI_z=2e-3, GJ=1.5e-3, mass=0.21), basis=Legendre.kirchhoff(4))

    The half widths [m] serve drawing and the reach of tendons; without them those of the ellipse with the
    same radii of gyration are taken, 2 √(I_z / A) along y and 2 √(I_y / A) along z (of EI over EA, or a hundredth of
    the length where EA is not given).
    """

    area: Dimension | None = field(default=None, metadata=of_kind("m^2 @function"))
    I_y: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    I_z: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    torsion_constant: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    half_y: Dimension | None = field(default=None, metadata=of_kind("m @function"))
    half_z: Dimension | None = field(default=None, metadata=of_kind("m @function"))
    shear_correction: ShearCorrection = field(default=1.0, metadata=of_kind("1"))
    I_polar: Dimension | None = field(default=None, metadata=of_kind("m^4 @function"))
    _: KW_ONLY
    EA: Dimension | None = field(default=None, metadata=of_kind("N @function"))
    EI_y: Dimension | None = field(default=None, metadata=of_kind("N m^2 @function"))
    EI_z: Dimension | None = field(default=None, metadata=of_kind("N m^2 @function"))
    GJ: Dimension | None = field(default=None, metadata=of_kind("N m^2 @function"))
    GA_y: Dimension | None = field(default=None, metadata=of_kind("N @function"))
    GA_z: Dimension | None = field(default=None, metadata=of_kind("N @function"))
    mass: Dimension | None = field(default=None, metadata=of_kind("kg/m @function"))
    inertia: Dimension | tuple[float, float, float] | None = field(default=None, metadata=of_kind("kg m @function"))

    def __post_init__(self) -> None:
        given = {name: unit for name, unit in _UNITS.items() if getattr(self, name) is not None}
        if self.is_direct:
            shape = ("I_y", "I_z", "torsion_constant", "I_polar")
            if mixed := [name for name in shape if getattr(self, name) is not None]:
                first = next(name for name in (*STIFFNESS, "mass", "inertia") if getattr(self, name) is not None)
                raise BadInput(
                    f"Section: {first} beside {mixed[0]}: give the properties of the shape (area, I_y, I_z, "
                    "torsion_constant), or stiffness and mass (EA, EI_y, EI_z, GJ, GA_y, GA_z, mass), not some of both"
                )
            if self.mass is None:
                raise BadInput("Section: mass [kg/m] is missing: give it beside the stiffness")
            if all(getattr(self, name) is None for name in STIFFNESS):
                raise BadInput("Section: mass without any stiffness: give EI_y, EI_z, GJ [N m2], EA, GA_y, GA_z [N]")
        else:
            for name, remedy in (("area", "A in m2"), ("I_y", "it in m4"), ("I_z", "it in m4")):
                if getattr(self, name) is None:
                    raise BadInput(f"{name} is missing: give {remedy}, or stiffness and mass (EI_y, ..., mass) instead")
            if self.torsion_constant is None:
                raise BadInput("torsion_constant is missing: give J_t in m4 (I_y + I_z for a round section)")
        if isinstance(self.inertia, tuple | list):
            x, y, z = (positive("inertia", value, "kg m") for value in numbers("inertia", self.inertia, 3, "kg m"))
            object.__setattr__(self, "inertia", (x, y, z))
        elif self.inertia is not None:
            given["inertia"] = "kg m"
        self.check_dimensions(**given)

    @property
    def is_direct(self) -> bool:
        """True where stiffness and mass are given directly."""
        return any(getattr(self, name) is not None for name in (*STIFFNESS, "mass", "inertia"))

    def _at(self, name: str, s: Array, length: float) -> Array | None:
        value = getattr(self, name)
        return None if value is None else dimension(name, value, s, length, _UNITS.get(name, "kg m"))

    def stiffness(self, s: ArrayLike, length: float) -> Array:
        """Diagonal of the given stiffness at ``s`` [m], (len(s), 6): GJ, EI_y, EI_z [N m²], EA, GA_y, GA_z [N].

        What is not given belongs to strains that do not change: it stands for a stiff section, and does nothing.
        """
        s = arc_lengths(s)
        columns = [self._at(name, s, length) for name in STIFFNESS]
        known = [column for column in columns[:3] if column is not None]
        bending = np.max(known, axis=0) if known else np.full(s.shape, length**2)
        stiff = [bending] * 3 + [1e4 * bending / length**2] * 3
        return np.stack([other if own is None else own for own, other in zip(columns, stiff, strict=True)], axis=1)

    def mass_and_inertia(self, s: ArrayLike, length: float) -> Array:
        """Diagonal of the inertia per metre given directly at ``s`` [m], (len(s), 6): kg m for rotation, then kg/m."""
        s = arc_lengths(s)
        mass = self._at("mass", s, length)
        assert mass is not None  # asked for by __post_init__
        if isinstance(self.inertia, tuple):
            x, y, z = (np.full(s.shape, value) for value in self.inertia)
        elif (about := self._at("inertia", s, length)) is not None:
            x, y, z = 2.0 * about, about, about
        else:
            half_y, half_z = self.half_widths(s, length)
            y, z = mass * half_z**2 / 4.0, mass * half_y**2 / 4.0
            x = y + z
        return np.stack([x, y, z, mass, mass, mass], axis=1)

    def material(self, length: float) -> Material:
        """The material that an ellipse with the half widths would have to be of, at the base."""
        s = np.zeros(1)
        H, M = self.stiffness(s, length)[0], self.mass_and_inertia(s, length)[0]
        half_y, half_z = (float(half[0]) for half in self.half_widths(s, length))
        area = np.pi * half_y * half_z
        young = H[3] / area if self.EA is not None else H[1] / (area * half_z**2 / 4.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitWarning)  # it is no material of the user's
            return Material(young=float(young), poisson=0.3, density=float(M[3] / area))

    def properties(self, s: ArrayLike, length: float) -> SectionProperties:
        """The given properties at ``s`` [m]; of a section given by stiffness, those of its half widths."""
        s = arc_lengths(s)
        if self.is_direct:
            half_y, half_z = self.half_widths(s, length)
            area = np.pi * half_y * half_z if self.area is None else dimension("area", self.area, s, length, "m2")
            I_y, I_z = area * half_z**2 / 4.0, area * half_y**2 / 4.0
            k = np.ones(s.shape)
            return SectionProperties(area, I_y, I_z, I_y + I_z, k, k.copy())
        values: dict[str, Any] = {name: self._at(name, s, length) for name in ("area", "I_y", "I_z")}
        given = self.properties_from(s, length, **values, torsion=np.empty(0))
        if self.I_polar is None:
            return given
        return replace(given, polar=dimension("I_polar", self.I_polar, s, length, "m4"))

    def half_widths(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """Given half widths, or those of the equivalent ellipse [m] at ``s`` [m]."""
        s = arc_lengths(s)
        half_y, half_z = self._equivalent(s, length)
        if self.half_y is not None:
            half_y = dimension("half_y", self.half_y, s, length, "m")
        if self.half_z is not None:
            half_z = dimension("half_z", self.half_z, s, length, "m")
        return half_y, half_z

    def _equivalent(self, s: Array, length: float) -> tuple[Array, Array]:
        """Half widths of the ellipse with the radii of gyration of the section."""
        if self.is_direct:
            area, I_y, I_z = (self._at(name, s, length) for name in ("EA", "EI_y", "EI_z"))
            I_y, I_z = (I_z if I_y is None else I_y), (I_y if I_z is None else I_z)
            if area is None or I_y is None or I_z is None:
                return np.full(s.shape, 0.01 * length), np.full(s.shape, 0.01 * length)
        else:
            p = self.properties(s, length)
            area, I_y, I_z = p.area, p.I_y, p.I_z
        return 2.0 * np.sqrt(I_z / area), 2.0 * np.sqrt(I_y / area)

    def reach(self, s: ArrayLike, length: float, y: Array, z: Array) -> Array:
        """How far out (y, z) [m] lies at ``s``: 1 on the box of the half widths (outline unknown)."""
        half_y, half_z = self.half_widths(s, length)
        return np.asarray(np.maximum(np.abs(y) / half_y, np.abs(z) / half_z))
