"""Loads of one's own: a wrench on a body or section, a function of its pose, its twist and an input.

    F = wrench(g, η, u) ,   δF = slope (ζ; δη) ,   δg = g ζ̂

g is the pose world-from-frame, η its twist and F the wrench on the part, both in the axes of the frame, angular first.
A load that depends on time has the time, or a function of it, as its input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elver.environment.sites import check_label, check_site
from elver.errors import finite
from elver.functions import LOAD, Asked, Function, as_function, check_slopes
from elver.lie import se3
from elver.mechanism import Acts, Frame, FrameLike
from elver.rods import Rod
from elver.rods.fields import Array
from elver.values import Carried
from elver.words import brief

__all__ = ["FrameLoad"]

# Poses, as twists of unit length of the part, and twists at which slopes are compared.
_POSES = np.array([[0.1, -0.2, 0.3, 0.4, -0.3, 0.2], [-0.7, 0.4, 0.5, 0.9, 0.6, -0.4], [1.1, 0.3, -0.8, 0.2, 0.5, 0.7]])
_TWISTS = np.array([[0.0] * 6, [0.3, -0.2, 0.1, 0.2, -0.1, 0.3], [-0.6, 0.5, 0.4, -0.3, 0.8, -0.5]])


@brief
@dataclass(frozen=True, eq=False)
class FrameLoad(Acts, Carried):
    """A load of one's own on a body or section: ``function(g, eta, input, parameters, wrench, slope)``.

    ``on`` is a body, (rod, "tip") or (rod, s) [m]; ``g`` (4, 4) its pose, ``eta`` (6,) its twist [rad/s, m/s] in its
    own axes (zero in statics), ``input`` the value of its channel (``default`` unless given; a function of time where
    the load depends on it). Write in place, into zeros, ``wrench`` (6,) [N m, N], (moment; force) in axes of the frame,
    and ``slope`` (6, 12), its variation with the pose, g exp(ζ), and with the twist. Functions as for
    :class:`elver.Law`: Python, the slow lane, in which the slope may be left out, :func:`elver.compiled`, a
    ``numba.cfunc`` or an address. Slopes are checked at three motions with the input ``check_at``.
    """

    on: FrameLike
    function: Function
    parameters: Any = ()
    unit: str = "1"
    default: float = 1.0
    check_at: float = 1.0
    name: str = None  # type: ignore[assignment]  # left out, it is filled in below

    def __post_init__(self) -> None:
        put = object.__setattr__
        frame = check_site(check_label("load", self.name), self.on)
        put(self, "on", frame)
        if self.name is None:
            put(self, "name", f"{frame.part.name}-load")
        object.__setattr__(self, "function", as_function(f"load {self.name!r}", LOAD, self.function))
        parameters = tuple(float(value) for value in np.atleast_1d(np.asarray(self.parameters, dtype=float)))
        put(self, "parameters", parameters)
        for field in ("default", "check_at"):
            put(self, field, float(finite(f"load {self.name!r}: {field}", getattr(self, field), (), self.unit)))
        size = frame.part.length if isinstance(frame.part, Rod) else 1.0
        unit = np.array([1.0, 1.0, 1.0, size, size, size] * 2)
        poses = [se3.exp(x * unit[:6]) for x in _POSES]
        places = [(g, eta * unit[6:], self.check_at) for g, eta in zip(poses, _TWISTS, strict=True)]
        check_slopes(self.asked, places, unit)

    @cached_property
    def asked(self) -> Asked:
        """The function, for Python and for compiled code."""
        return Asked(f"load {self.name!r}", LOAD, self.function, self.parameters)

    @property
    def frame(self) -> Frame:
        """The frame of the body or section it acts on."""
        assert isinstance(self.on, Frame)  # set by __post_init__
        return self.on

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Where it acts."""
        return (self.frame,)

    @property
    def traits(self) -> tuple[Any, ...]:
        """Its function."""
        return (self.asked.code,)

    def wrench(self, g: Array, eta: Array, value: float) -> Array:
        """F (6,) at a pose (4, 4) and a twist (6,), for an input."""
        return self.asked.evaluate(g, eta, value)[0]

    def check(self, value: float) -> float:
        """The input if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), self.unit))
