"""Holds: sections of a rod, or rigid bodies, whose position or orientation is prescribed, by multipliers.

A hold prescribes components of the position p in world axes [m] and rotations of the section or body about its
axes; each prescribed component is one closure row with one multiplier.

Theory: docs/theory/loops.md, eq. (closure), (closure-rate).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, expect, finite
from elver.mechanism.base import Rows, check_rotation
from elver.mechanism.frame import Part
from elver.rods import Rod
from elver.rods.fields import Array, Station, check_name, station
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["Hold"]

Target: TypeAlias = tuple[float | None, float | None, float | None]


@brief
@dataclass(frozen=True)
class Hold:
    """Position and/or orientation of one section, or of a body, prescribed in the world.

    ``at`` is "tip", "base" or s [m]; ``position`` is (x, y, z) [m] with None for a component left free;
    ``orientation`` the 3 x 3 world-from-section, of which the rotations about ``orientation_axes`` are held.
    ``part`` is the rod or body held, the only rod by default; a body is held at its frame, whatever ``at`` is.
    """

    at: Station = field(default="tip", metadata=of_kind("m text"))
    position: Target | None = field(default=None, metadata=of_kind("m free"))
    orientation: Rows | None = field(default=None, metadata=of_kind("rotation"))
    orientation_axes: str = field(default="xyz", metadata=of_kind("text"))
    name: str | None = field(default=None, metadata=of_kind("text"))
    part: Part | None = field(default=None, metadata=of_kind("@part"))

    def __post_init__(self) -> None:
        if self.name is not None:
            object.__setattr__(self, "name", check_name("hold", self.name))
        if self.part is not None and not isinstance(self.part, Part):
            raise BadInput(
                f"hold: part = {describe(self.part)}; give a Rod or a RigidBody, or leave it out for the only rod"
            )
        label = self.label
        if isinstance(self.at, str):
            station(label, self.at, 1.0)
        else:
            object.__setattr__(self, "at", station(label, self.at, np.inf))
        if self.position is not None:
            object.__setattr__(self, "position", self._check_position(label, self.position))
        if self.orientation is not None:
            R = check_rotation(f"{label}: orientation", self.orientation)
            object.__setattr__(self, "orientation", tuple(map(tuple, R.tolist())))
        axes = self.orientation_axes
        if not isinstance(axes, str) or not axes or set(axes) - set("xyz") or len(set(axes)) < len(axes):
            raise BadInput(f'{label}: orientation_axes = {describe(axes)}; choose among "x", "y", "z", such as "yz"')
        if not self.rows:
            raise BadInput(f"{label} holds nothing: give position (m) with a number in it, or orientation")

    @staticmethod
    def _check_position(label: str, position: Sequence[float | None]) -> Target:
        wanted, example = "(x, y, z) in m", "(0.3, None, 0.0), None = free"
        values = list(expect(label, "position", position, Iterable, wanted=wanted, example=example))
        if len(values) != 3:
            raise BadInput(
                f"{label}: position has {len(values)} components; give (x, y, z) in m, None = free"
            )
        x, y, z = (
            None if value is None else float(finite(f"{label}: position", value, (), "m")) for value in values
        )
        return (x, y, z)

    @property
    def label(self) -> str:
        """How messages speak of it."""
        if self.name is not None:
            return f"hold {self.name!r}"
        part = "" if self.part is None else f" on {self.part.name!r}"
        where = f"the {self.at}" if isinstance(self.at, str) else f"s = {describe(self.at)} m"
        return f"hold{part} at {where}" if self.part is None or isinstance(self.part, Rod) else f"hold{part}"

    @property
    def position_axes(self) -> tuple[int, ...]:
        """World axes (0, 1, 2) along which the position is held."""
        return () if self.position is None else tuple(i for i, x in enumerate(self.position) if x is not None)

    @property
    def rotation_axes(self) -> tuple[int, ...]:
        """Axes (0, 1, 2) about which the rotation is held."""
        return (
            () if self.orientation is None else tuple(sorted("xyz".index(a) for a in self.orientation_axes))
        )

    @property
    def rows(self) -> int:
        """Number of prescribed components."""
        return len(self.position_axes) + len(self.rotation_axes)

    @property
    def p(self) -> Array:
        """Prescribed position [m], (3,), zero where free."""
        return np.array([x or 0.0 for x in self.position or (0.0, 0.0, 0.0)])

    @property
    def R(self) -> Array:
        """Prescribed rotation world-from-section, (3, 3), identity where the orientation is free."""
        rotation: ArrayLike = np.eye(3) if self.orientation is None else self.orientation
        return np.array(rotation, dtype=float)

    def s(self, length: float) -> float:
        """Arc length [m] of the hold on a rod of ``length`` [m]."""
        return station(self.label, self.at, length)
