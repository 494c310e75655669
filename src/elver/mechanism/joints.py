"""Joints: what two frames may do relative to each other.

    g_a_b = A · motion(q) · A⁻¹,   motion = Π exp(Σ q_i e_i)

A are the joint axes in the axes of frame a, with the joint's axis as their z; e_i are components of a twist in
joint axes, angular first. ``motion`` lists the factors: ((3, 4), (2,)) is a shift in the plane, then a turn. At
zero coordinates frame b is frame a.

A joint that closes a loop has no coordinates; it holds instead, with (R, p) of A⁻¹ g_a_b A,

    ("log", i)         component i of log R = 0
    ("position", i)    component i of p = 0
    ("dot", i, j)      e_i · R e_j = 0: axis i of a stays normal to axis j of b

Theory: docs/theory/loops.md, eq. (joint), (closure).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite
from elver.lie import se3
from elver.mechanism.frame import Frame, FrameLike, as_frame
from elver.rods import Rod
from elver.rods.fields import Array, check_name
from elver.values import of_kind
from elver.words import describe, shown

__all__ = [
    "Cylindrical",
    "Fixed",
    "Floating",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Row",
    "Spherical",
    "Universal",
]

Row: TypeAlias = tuple[str, int] | tuple[str, int, int]

_LOG: tuple[Row, ...] = (("log", 0), ("log", 1), ("log", 2))
_POSITION: tuple[Row, ...] = (("position", 0), ("position", 1), ("position", 2))
_PARALLEL: tuple[Row, ...] = (("dot", 0, 2), ("dot", 1, 2))
_ROTATION_VECTOR = ("theta_x", "theta_y", "theta_z")


@dataclass(frozen=True, eq=False, init=False)
class Joint:
    """A connection of two frames; use one of its kinds, such as Revolute(a, b).

    ``a`` and ``b`` are frames, or what :func:`as_frame` makes frames of; ``axis`` is "x", "y", "z" or a vector in
    the axes of frame a; ``start`` the coordinates [rad, m] at which assembly begins, zero by default; ``cut`` asks
    for a loop to be cut here.
    """

    motion: ClassVar[tuple[tuple[int, ...], ...]]
    coordinate_names: ClassVar[tuple[str, ...]]
    closure_rows: ClassVar[tuple[Row, ...]]

    a: Frame = field(metadata=of_kind("frame"))
    b: Frame = field(metadata=of_kind("frame"))
    name: str | None = field(default=None, metadata=of_kind("text"))
    axis: str | tuple[float, ...] = field(default="z", metadata=of_kind("text 1"))
    start: tuple[float, ...] = field(default=(), metadata=of_kind("rad|m"))
    cut: bool = field(default=False, metadata=of_kind("bool"))

    def __init__(
        self,
        a: FrameLike,
        b: FrameLike,
        name: str | None = None,
        axis: str | ArrayLike = "z",
        start: ArrayLike | None = None,
        cut: bool = False,
    ) -> None:
        if type(self) is Joint:
            raise BadInput("Joint is what all joints share: use a kind of joint, such as Revolute(a, b, axis='z')")
        for key, value in (
            ("a", as_frame(a)),
            ("b", as_frame(b)),
            ("name", None if name is None else check_name("joint", name)),
            ("cut", bool(cut)),
        ):
            object.__setattr__(self, key, value)
        self._check_frames()
        object.__setattr__(self, "axis", _check_axis(self.label, axis))
        object.__setattr__(self, "start", self._check_start(start))

    def _check_frames(self) -> None:
        a, b = self.a, self.b
        if a.part == "world" and b.part == "world":
            raise BadInput(f"{self.label}: both frames are in the world; join a part to it")
        if a.part is b.part and not (isinstance(a.part, Rod) and a.s != b.s):
            raise BadInput(f"{self.label}: joins {a.label} to itself; give frames of two parts or of two sections")

    def _check_start(self, start: ArrayLike | None) -> tuple[float, ...]:
        if start is None:
            return (0.0,) * self.n
        label = f"{self.label}: start"
        if np.size(start) != self.n or np.ndim(start) > 1:
            wanted = ", ".join(f"{name} [{unit}]" for name, unit in zip(self.coordinate_names, self.coordinate_units))
            raise BadInput(f"{label} = {describe(start)}: give {self.n} numbers" + (f", {wanted}" if wanted else ""))
        values = finite(label, np.ravel(np.asarray(start)), (self.n,), "rad or m")
        for value, unit in zip(values, self.coordinate_units):
            if unit == "rad" and abs(value) > 4.0 * np.pi:
                raise BadInput(f"{label} = {value:g} rad is more than two turns: angles are in radians, not degrees")
        if self.coordinate_names[-3:] == _ROTATION_VECTOR and (angle := np.linalg.norm(values[-3:])) > np.pi:
            raise BadInput(
                f"{label}: the rotation vector turns by {angle:g} rad; give the same rotation with at most pi, "
                "about the opposite axis"
            )
        return tuple(values.tolist())

    # What it lets move --------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """Type in lower case, such as "revolute"."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"{type(self).__name__}{name}: {self.a.label} to {self.b.label}, axis {shown(self.axis)}"

    @property
    def label(self) -> str:
        """How messages speak of it."""
        return f"{self.kind} {self.name!r}" if self.name else f"{self.kind} ({self.a.label} to {self.b.label})"

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return sum(map(len, self.motion))

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """ "rad" or "m", one per coordinate."""
        return tuple("rad" if i < 3 else "m" for factor in self.motion for i in factor)

    @property
    def axes(self) -> Array:
        """Joint axes in the axes of frame a (and of frame b), (3, 3): the joint's axis is the third column."""
        if isinstance(self.axis, str):
            # x: (y, z, x), y: (z, x, y), z: (x, y, z).
            return np.roll(np.eye(3), -"xyz".index(self.axis) - 1, axis=1)
        return _basis(*self.axis)

    def pose(self, q: ArrayLike | None = None) -> Array:
        """g_a_b (4, 4) at coordinates ``q`` (n,) [rad, m], the start by default."""
        q = np.asarray(self.start if q is None else q, dtype=float)
        g, first = np.eye(4), 0
        for factor in self.motion:
            twist = np.zeros(6)
            twist[list(factor)] = q[first : first + len(factor)]
            g, first = g @ se3.exp(twist), first + len(factor)
        A = se3.pose(self.axes, np.zeros(3))
        return A @ g @ A.T

    # What it holds where it closes a loop -------------------------------------------------------------------

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of the multiplier of each closure row, such as "moment_x" or "force_z", in joint axes."""
        return tuple(_row_name(*row) for row in self.closure_rows)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of each multiplier: "N m" or "N"."""
        return tuple("N" if row[0] == "position" else "N m" for row in self.closure_rows)


class Fixed(Joint):
    """Frame b is frame a."""

    motion = ()
    coordinate_names = ()
    closure_rows = (*_LOG, *_POSITION)


class Revolute(Joint):
    """A turn by ``angle`` about the axis."""

    motion = ((2,),)
    coordinate_names = ("angle",)
    closure_rows = (*_PARALLEL, *_POSITION)


class Prismatic(Joint):
    """A shift by ``distance`` along the axis."""

    motion = ((5,),)
    coordinate_names = ("distance",)
    closure_rows = (*_LOG, *_POSITION[:2])


class Cylindrical(Joint):
    """A turn about the axis and a shift along it."""

    motion = ((2, 5),)
    coordinate_names = ("angle", "distance")
    closure_rows = (*_PARALLEL, *_POSITION[:2])


class Universal(Joint):
    """A turn about x of frame a, then about y of frame b (of the joint axes, if ``axis`` is given)."""

    motion = ((0,), (1,))
    coordinate_names = ("angle_x", "angle_y")
    closure_rows = (("dot", 0, 1), *_POSITION)


class Spherical(Joint):
    """Any rotation, by a rotation vector; the origins coincide."""

    motion = ((0, 1, 2),)
    coordinate_names = _ROTATION_VECTOR
    closure_rows = _POSITION


class Planar(Joint):
    """A shift in the plane normal to the axis, then a turn about the axis."""

    motion = ((3, 4), (2,))
    coordinate_names = ("x", "y", "angle")
    closure_rows = (*_PARALLEL, ("position", 2))


class Floating(Joint):
    """Free in all six directions; from the world to a part, it says where the part begins to float."""

    motion = ((3, 4, 5), (0, 1, 2))
    coordinate_names = ("x", "y", "z", *_ROTATION_VECTOR)
    closure_rows = ()


def _row_name(kind: str, *axes: int) -> str:
    # The moment that keeps two axes normal is about the third.
    axis = axes[0] if len(axes) == 1 else 3 - sum(axes)
    return f"{'force' if kind == 'position' else 'moment'}_{'xyz'[axis]}"


def _check_axis(label: str, axis: Any) -> str | tuple[float, ...]:
    """A letter, also for a vector along x, y or z; else a unit vector."""
    if isinstance(axis, str):
        if axis not in ("x", "y", "z"):
            raise BadInput(
                f'{label}: axis = {describe(axis)}; choose "x", "y", "z" or a vector (3,) in the axes of frame a'
            )
        return axis
    vector = finite(f"{label}: axis", axis, (3,), "dimensionless")
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise BadInput(f"{label}: axis = (0, 0, 0) has no direction; give a vector of any other length")
    # a unit vector stays as it is, so that a joint read from a file is the same to the last bit
    unit = tuple((vector if abs(length - 1.0) < 1e-15 else vector / length).tolist())
    return "xyz"[unit.index(1.0)] if 1.0 in unit else unit


def _basis(x: float, y: float, z: float) -> Array:
    """A rotation with the unit vector (x, y, z) as third column.

    Smooth on either half-space: T. Duff et al., "Building an orthonormal basis, revisited", JCGT 6 (2017).
    """
    sign = math.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    return np.array([[1.0 + sign * x * x * a, b, x], [sign * b, sign + y * y * a, y], [-sign * x, -y, z]])
