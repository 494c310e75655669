"""Mechanisms: rods and rigid bodies, the joints between them, and what their base does."""

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

__all__ = [
    "Base",
    "Branch",
    "Clamped",
    "Cylindrical",
    "Driven",
    "Fixed",
    "Floating",
    "Frame",
    "FrameLike",
    "Free",
    "Hold",
    "Joint",
    "MDHRow",
    "Mechanism",
    "Motion",
    "Part",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Tree",
    "Universal",
    "as_frame",
    "mdh_chain",
]
