"""Mechanisms: how a rod is attached to the world, at its base and where it is held."""

from elver.mechanism.base import Base, Clamped, Driven, Free, Motion
from elver.mechanism.hold import Hold
from elver.mechanism.mechanism import Mechanism

__all__ = ["Base", "Clamped", "Driven", "Free", "Hold", "Mechanism", "Motion"]
