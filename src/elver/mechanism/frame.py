"""Frames: where a joint takes hold. A section of a rod, a rigid body, or the world, each with an offset.

    g_world_frame = g_world_part(s) · offset
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.bodies import RigidBody
from elver.errors import BadInput, finite
from elver.mechanism.base import check_pose
from elver.rods import Rod
from elver.rods.fields import Array, Station, station
from elver.values import of_kind
from elver.words import describe, place

__all__ = ["Frame", "FrameLike", "Part", "Place", "as_frame"]

Part: TypeAlias = Rod | RigidBody
Place: TypeAlias = Part | Literal["world"]


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame on a part, or in the world.

    ``part`` is a rod, a body or "world"; ``at``, for rods, "base", "tip" or s [m]; ``pose`` the offset of this
    frame in the axes of the section, body or world: 4 x 4, or a position (3,) [m]; none by default.
    """

    part: Place = field(metadata=of_kind("world @part"))
    at: Station | None = field(default=None, metadata=of_kind("m text"))
    pose: ArrayLike | None = field(default=None, metadata=of_kind("pose"))

    def __repr__(self) -> str:
        offset = self.g[:3, 3]
        return f"Frame on {self.label}" + (f", offset {place(offset)}" if np.any(offset) else "")

    def __post_init__(self) -> None:
        part = self.part
        if isinstance(part, str):
            if part != "world":
                raise BadInput(
                    f'there is no frame {describe(part)}: only "world" is given as text; for a part pass it itself'
                )
            object.__setattr__(self, "part", "world")  # the same text everywhere, so that places compare by identity
        if not isinstance(part, Part | str):
            raise BadInput(f'frame on {describe(part)}: give a Rod, a RigidBody or "world"')
        if isinstance(part, Rod):
            if self.at is None:
                raise BadInput(
                    f'frame on the rod {part.name!r}: say which section, such as Frame(rod, "tip") or (rod, 0.1) in m'
                )
            s = station(f"frame on {part.name!r}", self.at, part.length)
            object.__setattr__(self, "at", self.at if isinstance(self.at, str) else s)
        elif self.at is not None:
            raise BadInput(
                f"frame on {self.label}: at = {describe(self.at)} is for rods; give pose=(x, y, z) in m instead"
            )
        if self.pose is None:
            return
        g = np.eye(4)
        if np.shape(self.pose) == (3,):
            g[:3, 3] = finite(f"position on {self.label}", self.pose, (3,), "m")
        else:
            g = check_pose(f"pose on {self.label}", self.pose)
        object.__setattr__(self, "pose", tuple(map(tuple, g.tolist())))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if isinstance(self.part, str):
            object.__setattr__(self, "part", "world")  # as above, of a text that came out of a pickle

    @property
    def s(self) -> float:
        """Arc length [m] of the section, for a frame on a rod."""
        if not isinstance(self.part, Rod):
            raise BadInput(f"{self.label} has no arc length: only rods have")
        return station(self.label, self.at, self.part.length)

    @property
    def g(self) -> Array:
        """Offset of this frame in the axes of its section, body or world, (4, 4)."""
        return np.eye(4) if self.pose is None else np.array(self.pose)

    @property
    def shifted(self) -> bool:
        """True where an offset was given, be it zero: designs of one robot differ in its numbers only."""
        return self.pose is not None

    @property
    def label(self) -> str:
        """How messages speak of it."""
        if isinstance(self.part, str):
            return self.part
        if isinstance(self.part, RigidBody):
            return self.part.name
        where = self.at if isinstance(self.at, str) else f"s = {self.at:g} m"
        return f"{self.part.name} at {where}"


FrameLike: TypeAlias = Frame | Place | tuple[Any, Any]


def as_frame(value: FrameLike) -> Frame:
    """A frame from what is convenient to write.

    A Frame, "world", a body; or a pair: (rod, "tip"), (rod, s) [m], (body, position or pose), ("world", position
    or pose), with a position (3,) [m] or a pose 4 x 4.
    """
    if isinstance(value, Frame):
        return value
    if isinstance(value, tuple | list) and len(value) == 2:
        part, where = value
        return Frame(part, where) if isinstance(part, Rod) else Frame(part, pose=where)
    if isinstance(value, Part | str):
        return Frame(value)
    raise BadInput(
        f'{describe(value)} is no frame: give "world", a body, (rod, "tip"), (rod, s in m), (body, position in m) or '
        "a Frame"
    )
