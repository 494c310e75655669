"""Water as the kernels see it: added mass in the inertia of frames, strips with their laws, and weight less buoyancy.

A rod has one strip at each quadrature node, in the axes of the section; a rigid body has a few along its axis, at Gauss
points, which is exact for added mass (Khalil 2007, eq. 56-62, holds its integrals in closed form).

Theory: docs/theory/surroundings.md, eq. (added-mass), (strips), (gravity).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elver.bodies import RigidBody
from elver.dynamics.segments import Segments
from elver.environment import Buoyancy, Lighthill, Morison, Outline
from elver.errors import BadInput
from elver.lie import se3
from elver.mechanism import Part
from elver.rods import Rod
from elver.system import System

__all__ = ["Water"]

Array = NDArray[np.float64]

_TAIL = 2


class Water:
    """What the water adds to the frames of a tree."""

    def __init__(self, system: System, tree: Segments) -> None:
        self.tree = tree
        self.added = np.zeros((tree.frames, 6, 6))
        M = self.inertia = tree.inertia
        self.weight = np.stack([M[:, 3, 3], M[:, 2, 4], M[:, 0, 5], M[:, 1, 3]], axis=1)
        self.frame: list[tuple[int, int]] = []  # frame and law of each strip
        self.pose: list[Array] = []  # (4, 3)
        self.strip: list[Array] = []  # (10,)
        self.owner: list[Morison | Lighthill] = []  # of each strip
        for load in system.loads:
            if isinstance(load, Morison | Lighthill):
                for part in system.immersed(load):
                    self._strips(load, part)
                if isinstance(load, Lighthill):
                    self._tail(load, load.parts[-1])
            elif isinstance(load, Buoyancy):
                for part in system.immersed(load):
                    self._buoyancy(load, part)

    def _strips(self, fluid: Morison | Lighthill, part: Part) -> None:
        """Strips over the length of a part, with their share of it."""
        if isinstance(part, Rod):
            at = self.tree.rods[part]
            half_axes = part.section.half_widths(at.s, part.length)
            added, drag = fluid.added(*half_axes), _drag(fluid, half_axes)
            for k in np.flatnonzero(at.weights > 0.0):
                ds, pose = at.weights[k], np.vstack([np.eye(3), np.zeros(3)])
                self._add(fluid, int(at.frames[k]), pose, fluid.law, ds * added[k], ds * drag[k])
            return
        outline = Outline.of(part)
        points, weights = np.polynomial.legendre.leggauss(fluid.stations if isinstance(fluid, Morison) else 2)
        added, drag = fluid.added(*outline.half_axes), _drag(fluid, outline.half_axes)
        for x, w in zip(points, weights):
            p = outline.start + 0.5 * (1.0 + x) * outline.length * outline.R[:, 0]
            ds = 0.5 * w * outline.length
            self._add(fluid, self.tree.bodies[part], np.vstack([outline.R, p]), fluid.law, ds * added, ds * drag)

    def _tail(self, fluid: Lighthill, part: Part) -> None:
        """Where water is left behind: its wrench has the added mass per length of the last section."""
        if isinstance(part, Rod):
            at = self.tree.rods[part]
            a_y, a_z = part.section.half_widths(at.s[-1:], part.length)
            frame, pose, added = int(at.frames[-1]), np.vstack([np.eye(3), np.zeros(3)]), fluid.added(a_y, a_z)[0]
        else:
            outline = Outline.of(part)
            frame, added = self.tree.bodies[part], fluid.added(*outline.half_axes)
            pose = np.vstack([outline.R, outline.start + outline.length * outline.R[:, 0]])
        self._add(fluid, frame, pose, _TAIL, added, np.zeros(4))

    def _add(
        self, fluid: Morison | Lighthill, frame: int, pose: Array, law: int, added: Array, drag: Array
    ) -> None:
        self.frame.append((frame, law))
        self.pose.append(pose)
        self.strip.append(np.concatenate([drag, added, fluid.flow]))
        self.owner.append(fluid)
        if law != _TAIL:
            back = se3.Ad(se3.inverse(se3.pose(pose[:3], pose[3])))
            self.added[frame] += back.T @ np.diag([added[2], 0.0, 0.0, 0.0, added[0], added[1]]) @ back

    def _buoyancy(self, load: Buoyancy, part: Part) -> None:
        """Take the displaced mass, and its first moment, from what gravity acts on."""
        if isinstance(part, Rod):
            at = self.tree.rods[part]
            self.weight[at.frames, 0] -= load.fluid_density * at.weights * part.section_properties(at.s).area
            return
        displaced = load.fluid_density * _volume(part)
        self.weight[self.tree.bodies[part]] -= displaced * np.append(1.0, part.centre)


def _drag(fluid: Morison | Lighthill, half_axes: tuple[Array | float, Array | float]) -> Array:
    """Drag per length (…, 4); Lighthill's theory has none."""
    if isinstance(fluid, Morison):
        return fluid.resistance(*half_axes)
    return np.zeros((*np.shape(half_axes[0]), 4))


def _volume(body: RigidBody) -> float:
    if body.shape is None:
        raise BadInput(f"buoyancy: {body.name!r} has no shape to take its volume from: give shape=..., or list parts")
    return body.shape.volume
