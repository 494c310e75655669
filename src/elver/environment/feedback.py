"""Feedback: a wrench that depends on time and motion through a Python function, such as a drone's controller.

    F = wrench(t, g, η),   δF = tangent(t, g, η) (ζ; δη),   δg = g ζ̂

g is the pose world-from-frame, η its twist and F the wrench on the part, both in the axes of the frame, angular first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.environment.sites import check_label, check_site
from elver.errors import BadInput, finite
from elver.lie import se3
from elver.mechanism import Frame, FrameLike
from elver.rods.fields import Array

__all__ = ["Feedback"]

Law: TypeAlias = Callable[[float, Array, Array], ArrayLike]

# Cube root of the rounding unit: truncation, step², and rounding, unit / step, of the differences are then balanced.
_STEP = float(np.cbrt(np.finfo(float).eps))


@dataclass(frozen=True, eq=False)
class Feedback:
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
