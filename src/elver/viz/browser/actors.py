"""What of a robot is on the stage of the browser: its rods, bodies, lines and frames, and where its parts are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elver.actuation import SpooledTendon, Tendon
from elver.bodies import Shape
from elver.mechanism import Fixed, Frame
from elver.rods import Rod
from elver.system import System
from elver.viz.history import Cast

__all__ = ["Actors", "Line", "Place", "actors_of", "actors_of_cast"]


@dataclass(frozen=True)
class Place:
    """Where a part is: nodes ``s`` (N,) of a rod, or one frame of a body; positions (N, 3), rotations (N, 3, 3)."""

    s: np.ndarray
    position: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True)
class Line:
    """A tendon, from the system or, where only names are known, not drawn."""

    name: str
    tendon: Tendon | SpooledTendon


@dataclass(frozen=True)
class Actors:
    """Who plays: names with what is needed to draw them. Places come with every picture."""

    rods: dict[str, tuple[np.ndarray, np.ndarray, Rod | None]]  # s, half widths, the rod where it is known
    bodies: dict[str, tuple[Shape | None, np.ndarray]]  # shape, its middle in body axes
    joints: list[tuple[Frame, str]] = field(default_factory=list)  # on a part: "plate" or "ball"
    tendons: list[Line] = field(default_factory=list)


def actors_of(system: System) -> Actors:
    """Everything of a system that can be seen."""
    mechanism = system.mechanism
    rods: dict[str, tuple[np.ndarray, np.ndarray, Rod | None]] = {}
    for rod in mechanism.rods:
        s = rod.grid.s
        rods[rod.name] = s, np.column_stack(rod.section.half_widths(s, rod.length)), rod
    bodies = {
        body.name: (body.shape, np.asarray(body.centre, dtype=float))
        for body in mechanism.bodies
        if body.mass > 0.0 or body.shape is not None
    }
    joints: list[tuple[Frame, str]] = []
    for joint in mechanism.joints:
        fixed = isinstance(joint, Fixed)
        if joint.b.part == "world" or type(joint).__name__ == "Floating" or (fixed and joint.a.part != "world"):
            continue
        if isinstance(joint.b.part, Rod) or joint.b.part.name in bodies:
            joints.append((joint.b, "plate" if fixed else "ball"))
    tendons = [Line(system.label(part), part) for part in system.actuators if isinstance(part, Tendon | SpooledTendon)]
    return Actors(rods, bodies, joints, tendons)


def actors_of_cast(cast: Cast) -> Actors:
    """Rods and bodies of a run whose model is not known."""
    rods: dict[str, tuple[np.ndarray, np.ndarray, Rod | None]] = {
        rod.name: (rod.s, rod.half_width, None) for rod in cast.rods
    }
    return Actors(rods, {body.name: (body.shape, np.zeros(3)) for body in cast.bodies})
