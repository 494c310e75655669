"""Feedback: wrenches and joint efforts that depend on time and motion through Python functions, such as controllers.

    F = wrench(t, g, η),   δF = tangent(t, g, η) (ζ; δη),   δg = g ζ̂

g is the pose world-from-frame, η its twist and F the wrench on the part, both in the axes of the frame, angular first.

    Q = effort(t, q, q̇),   δQ = tangent(t, q, q̇) (δq; δq̇)

q are all coordinates of the system, Q the torques [N m] or forces [N] on the coordinates of some joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.environment.sites import check_label, check_site
from elver.errors import BadInput, finite
from elver.lie import se3
from elver.mechanism import Frame, FrameLike, Joint, Mechanism, Passive
from elver.rods.fields import Array, check_name
from elver.words import brief, describe

__all__ = ["Feedback", "JointFeedback"]

Law: TypeAlias = Callable[[float, Array, Array], ArrayLike]

# Cube root of the rounding unit: truncation, step², and rounding, unit / step, of the differences are then balanced.
_STEP = float(np.cbrt(np.finfo(float).eps))


@brief
@dataclass(frozen=True, eq=False)
class Feedback(Passive):
    """Wrench on a body or section by a function of time and motion; it has no input.

    ``on`` is a body, (rod, "tip") or (rod, s) [m]. ``wrench(t, g, eta)`` returns (moment; force) (6,) [N m, N] in
    axes of the frame, at t [s], the pose g (4, 4) and the twist eta (6,) [rad/s, m/s]. ``tangent(t, g, eta)``
    returns its variation (6, 12) with the pose, g exp(ζ), and with the twist; left out, it is found by central
    differences, right to about 1e-10 of the wrench for functions that vary over metres, radians and seconds.

    This is the slow lane: Python is called at every Newton iteration, 25 times where the tangent is left out. The
    functions must depend on their arguments alone, since they see trial motions that are never taken.
    """

    on: FrameLike
    wrench: Law
    tangent: Law | None = None
    name: str = None  # type: ignore[assignment]  # left out, it is filled in below

    def __post_init__(self) -> None:
        label = check_label("feedback", self.name)
        frame = check_site(label, self.on)
        object.__setattr__(self, "on", frame)
        if self.name is None:
            object.__setattr__(self, "name", f"{frame.part.name}-feedback")
        if not callable(self.wrench):
            raise BadInput(
                f"feedback {self.name!r}: wrench is a {type(self.wrench).__name__}; give a callable (t, g, eta) -> "
                "(6,) in N m and N, or a PointWrench for a given one"
            )
        if self.tangent is not None and not callable(self.tangent):
            raise BadInput(
                f"feedback {self.name!r}: tangent is a {type(self.tangent).__name__}; give a callable (t, g, eta) -> "
                "(6, 12), or leave it out for differences"
            )

    @property
    def frame(self) -> Frame:
        """The frame of the body or section it acts on."""
        assert isinstance(self.on, Frame)  # set by __post_init__
        return self.on

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Where it acts."""
        return (self.frame,)

    def evaluate(self, t: float, g: ArrayLike, eta: ArrayLike) -> tuple[Array, Array]:
        """Wrench (6,) and its variation (6, 12) with the pose, as g exp(ζ), and with the twist; checked."""
        g, eta = np.array(g, dtype=float), np.array(eta, dtype=float)
        wrench = self._wrench(t, g, eta)
        if self.tangent is not None:
            name = f"tangent of {self.name!r} at t = {t:g} s"
            return wrench, finite(name, self.tangent(t, g.copy(), eta.copy()), (6, 12), "N m and N, per SI unit")
        tangent = np.empty((6, 12))
        for i, e in enumerate(np.eye(6)):
            plus, minus = (self._wrench(t, g @ se3.exp(sign * _STEP * e), eta) for sign in (1.0, -1.0))
            tangent[:, i] = (plus - minus) / (2.0 * _STEP)
            # A fast twist is varied in proportion, or the step would drown in its rounding.
            step = _STEP * max(1.0, abs(eta[i]))
            plus, minus = (self._wrench(t, g, eta + sign * step * e) for sign in (1.0, -1.0))
            tangent[:, 6 + i] = (plus - minus) / (2.0 * step)
        return wrench, tangent

    def _wrench(self, t: float, g: Array, eta: Array) -> Array:
        # Copies: a function that works in place must not move the robot.
        wrench = self.wrench(t, g.copy(), eta.copy())
        return finite(f"wrench of {self.name!r} at t = {t:g} s", wrench, (6,), "N m and N")


@brief
@dataclass(frozen=True, eq=False)
class JointFeedback(Passive):
    """Efforts on joints by a function of time and motion; it has no input.

    ``joints`` is a joint or several, all of whose coordinates it drives. ``effort(t, q, q_dot)`` returns one number per
    driven coordinate [N m or N], at t [s] and all coordinates of the system (in the order of
    ``system.coordinate_names``) with their rates. ``tangent(t, q, q_dot)`` returns its variation (efforts, 2 n) with q
    and q_dot; left out, it is found by central differences, with 4 n calls. The slow lane, as :class:`Feedback`.
    """

    joints: Joint | Sequence[Joint]
    effort: Law
    tangent: Law | None = None
    name: str = "controller"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("joint feedback", self.name))
        joints = self.joints if isinstance(self.joints, list | tuple) else (self.joints,)
        object.__setattr__(self, "joints", tuple(joints))
        for joint in joints:
            if not isinstance(joint, Joint):
                raise BadInput(
                    f"joint feedback {self.name!r}: joints contains {describe(joint)}; give joints, as a Revolute"
                )
            if not joint.n:
                raise BadInput(f"joint feedback {self.name!r}: {joint.label} has no coordinate; choose one that moves")
        if not joints:
            raise BadInput(f"joint feedback {self.name!r}: joints is empty; give the joints it drives")
        for field, law in (("effort", self.effort), ("tangent", self.tangent)):
            if not callable(law) and not (field == "tangent" and law is None):
                raise BadInput(
                    f"joint feedback {self.name!r}: {field} is a {type(law).__name__}; give a callable (t, q, q_dot)"
                )

    @property
    def size(self) -> int:
        """Number of coordinates it drives."""
        return sum(joint.n for joint in self.driven)

    @property
    def driven(self) -> tuple[Joint, ...]:
        """The joints it drives."""
        assert isinstance(self.joints, tuple)  # set by __post_init__
        return self.joints

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """The joints it drives."""
        return self.driven

    def evaluate(self, t: float, q: Array, q_dot: Array) -> tuple[Array, Array]:
        """Efforts (size,) and their variation (size, 2 n) with the coordinates and their rates; checked."""
        effort = self._effort(t, q, q_dot)
        if self.tangent is not None:
            name = f"tangent of {self.name!r} at t = {t:g} s"
            given = self.tangent(t, q.copy(), q_dot.copy())
            return effort, finite(name, given, (self.size, 2 * q.size), "N m or N, per SI unit")
        tangent = np.empty((self.size, 2 * q.size))
        for k in range(2 * q.size):
            x = np.concatenate([q, q_dot])
            step = _STEP * max(1.0, abs(x[k]))
            values = []
            for sign in (1.0, -1.0):
                moved = x.copy()
                moved[k] += sign * step
                values.append(self._effort(t, moved[: q.size], moved[q.size :]))
            tangent[:, k] = (values[0] - values[1]) / (2.0 * step)
        return effort, tangent

    def _effort(self, t: float, q: Array, q_dot: Array) -> Array:
        effort = np.atleast_1d(np.asarray(self.effort(t, q.copy(), q_dot.copy()), dtype=float))
        return finite(f"effort of {self.name!r} at t = {t:g} s", effort, (self.size,), "N m or N")
