"""What every actuator and load tells of itself, so that nobody else asks for its kind: where it acts, and on what.

Who checks a system, lays nodes on its rods or compares two designs asks these; a kind says what is not as here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from elver.mechanism.frame import Frame
from elver.rods.fields import Array

if TYPE_CHECKING:
    from elver.mechanism.joints import Joint
    from elver.mechanism.mechanism import Mechanism
    from elver.rods import Rod

__all__ = ["Acts", "Passive"]


class Acts:
    """Something that acts on parts, joints or coordinates of a mechanism."""

    name: str

    means_one_number: ClassVar[bool] = False
    """Whether it speaks of the value of a coordinate: a rotation vector may then not be exchanged for another."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Where it holds on to bodies, sections and the world."""
        return ()

    @property
    def site(self) -> Frame | None:
        """The point beside a body or on a rod that has a frame for it alone."""
        return None

    @property
    def jumps(self) -> tuple[tuple[Rod, float], ...]:
        """Interior places, s [m] of a rod, where its action along the rod begins, ends or jumps."""
        return ()

    @property
    def place(self) -> tuple[Joint | Rod, int] | None:
        """The coordinate that it acts on: of what, and which one, counted from 0."""
        return None

    @property
    def traits(self) -> tuple[Any, ...]:
        """What of it, beside what it acts on, is not a number and so the same in all designs."""
        return ()

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """Parts and joints that it acts on."""
        on = () if self.place is None else (self.place[0],)
        return (*on, *(frame.part for frame in self.frames if frame.part != "world"))


class Passive(Acts):
    """A load without an input."""

    heats: ClassVar[bool] = False
    """Whether it turns the motion of its frame into heat."""

    def heat(self, motion: Array) -> Array:
        """Power [W] that it turns into heat at motions (…, 6) of its frame: spin and velocity in world axes."""
        return np.zeros(motion.shape[:-1])
