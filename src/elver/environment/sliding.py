"""Friction of something that slides, such as a platform on a table: a force against the velocity of one point.

    F = -(d + f / √(V² + v²)) V      V: velocity of the frame's origin; viscous and smoothed dry friction

Theory: docs/theory/surroundings.md, eq. (sliding).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elver.environment.sites import check_label, check_site
from elver.errors import non_negative, positive
from elver.mechanism import Frame, FrameLike, Passive
from elver.rods.fields import Array
from elver.values import of_kind
from elver.words import brief

__all__ = ["SlidingFriction"]


@brief
@dataclass(frozen=True, eq=False)
class SlidingFriction(Passive):
    """Friction against the velocity of the origin of a body or section; it has no input.

    ``on`` is a body, (rod, "tip") or (rod, s) [m]; ``viscous`` [N s/m]; ``dry`` [N], Coulomb friction smoothed over
    ``speed`` [m/s], at which it has reached 71 % of its full value. It makes no moment about the origin.
    """

    on: FrameLike = field(metadata=of_kind("frame"))
    viscous: float = field(default=0.0, metadata=of_kind("N s/m"))
    dry: float = field(default=0.0, metadata=of_kind("N"))
    speed: float = field(default=1e-3, metadata=of_kind("m/s"))
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below

    def __post_init__(self) -> None:
        label = check_label("sliding friction", self.name)
        frame = check_site(label, self.on)
        object.__setattr__(self, "on", frame)
        if self.name is None:
            object.__setattr__(self, "name", f"{frame.part.name}-sliding")
        label = f"sliding friction {self.name!r}"
        object.__setattr__(self, "viscous", non_negative(f"{label}: viscous", self.viscous, "N s/m"))
        object.__setattr__(self, "dry", non_negative(f"{label}: dry", self.dry, "N"))
        object.__setattr__(self, "speed", positive(f"{label}: speed", self.speed, "m/s"))

    @property
    def frame(self) -> Frame:
        """The frame of the body or section it acts on."""
        assert isinstance(self.on, Frame)  # set by __post_init__
        return self.on

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Where it acts."""
        return (self.frame,)

    heats: ClassVar[bool] = True

    def heat(self, motion: Array) -> Array:
        """Power [W] that it turns into heat at motions (…, 6) of its frame: spin and velocity in world axes."""
        v = motion[..., 3:]
        square = np.einsum("...i,...i->...", v, v)
        return np.asarray((self.viscous + self.dry / np.sqrt(square + self.speed**2)) * square)

    def force(self, v: ArrayLike) -> Array:
        """Force [N] at the velocity ``v`` [m/s] of the origin, (3,), in the axes of ``v``."""
        v = np.asarray(v, dtype=float)
        return np.asarray(-(self.viscous + self.dry / np.hypot(np.linalg.norm(v), self.speed)) * v)
