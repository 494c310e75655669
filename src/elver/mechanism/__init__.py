"""Mechanisms: rods and rigid bodies, the joints between them, and what their base does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "acts": "Acts Passive",
    "base": "Base Clamped Driven Free Motion",
    "denavit_hartenberg": "MDHRow mdh_chain",
    "frame": "Frame FrameLike Part as_frame",
    "hold": "Hold",
    "joints": "Cylindrical Fixed Floating Joint Planar Prismatic Revolute Spherical Universal",
    "mechanism": "Mechanism",
    "tree": "Branch Tree",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.mechanism.acts import Acts, Passive
    from elver.mechanism.base import Base, Clamped, Driven, Free, Motion
    from elver.mechanism.denavit_hartenberg import MDHRow, mdh_chain
    from elver.mechanism.frame import Frame, FrameLike, Part, as_frame
    from elver.mechanism.hold import Hold
    from elver.mechanism.joints import (
        Cylindrical,
        Fixed,
        Floating,
        Joint,
        Planar,
        Prismatic,
        Revolute,
        Spherical,
        Universal,
    )
    from elver.mechanism.mechanism import Mechanism
    from elver.mechanism.tree import Branch, Tree
