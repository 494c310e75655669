"""Imposed motion: a coordinate of a joint or a rod follows q(t) exactly; the effort that imposes it is a result.

The effort is the generalized force conjugate to the coordinate, with power effort · q̇: N m for an angle, N for a
distance, N m² for a curvature coordinate, N m for stretch and shear.

Theory: docs/theory/actuation.md, eq. (imposed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite
from elver.mechanism import Acts, Joint
from elver.mechanism.coordinates import choose, default_name, unit_of
from elver.numerics.differences import FIRST, OFFSETS, SECOND
from elver.rods import Rod
from elver.rods.fields import Array, check_name
from elver.values import Carried, of_kind
from elver.words import brief, describe

__all__ = ["Imposed", "MotionSignal"]

MotionSignal: TypeAlias = float | Callable[[float], ArrayLike]

_EFFORT = {"rad": "N m", "m": "N", "1/m": "N m2", "1": "N m"}
# For motions of about 1 Hz the truncation of order six is then below rounding: 1e-12 in rates, 1e-9 in accelerations.
_STEP = 1e-3


@brief
@dataclass(frozen=True, eq=False)
class Imposed(Acts, Carried):
    """A coordinate that follows its input exactly.

    ``target`` is a joint or a rod; ``coordinate`` one of its ``coordinate_names``, such as "angle" or "K_z[0]", and
    may be left out where there is one. The input is a number (held still), a signal with ``rates``, a callable of t
    [s] that returns q, or one that returns (q, q̇, q̈). Left alone, a joint stays at its start and a rod's coordinate
    at zero.
    """

    target: Joint | Rod = field(metadata=of_kind("@target"))
    coordinate: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below
    name: str = field(default=None, metadata=of_kind("text"))  # type: ignore[assignment]  # left out, it is filled in below

    means_one_number: ClassVar[bool] = True

    def __post_init__(self) -> None:
        label = "imposed motion" if self.name is None else f"imposed motion {check_name('imposed motion', self.name)!r}"
        if not isinstance(self.target, Joint | Rod):
            raise BadInput(
                f"{label}: target = {describe(self.target)}; give the joint or the Rod whose coordinate is imposed"
            )
        object.__setattr__(self, "coordinate", choose(label, self.target, self.coordinate))
        if self.name is None:
            object.__setattr__(self, "name", default_name(self.target, self.coordinate))

    @classmethod
    def all(cls, target: Joint | Rod) -> tuple[Self, ...]:
        """One for each coordinate of a rod or a joint, in order."""
        if not isinstance(target, Joint | Rod):
            raise BadInput(f"imposed motion: target = {describe(target)}; give the joint or the Rod to impose")
        return tuple(cls(target, name) for name in target.coordinate_names)

    @property
    def index(self) -> int:
        """Place of the coordinate within the joint or rod, counted from 0."""
        return self.target.coordinate_names.index(self.coordinate)

    @property
    def place(self) -> tuple[Joint | Rod, int]:
        """The coordinate."""
        return self.target, self.index

    @property
    def traits(self) -> tuple[Any, ...]:
        """Which coordinate it is."""
        return (self.coordinate,)

    @cached_property
    def unit(self) -> str:
        """Unit of the coordinate: "rad", "m", "1/m" or "1"."""
        return unit_of(self.target, self.coordinate)

    @property
    def effort_unit(self) -> str:
        """Unit of the effort: "N m" or "N" at joints, "N m2" for curvatures, "N m" for stretch and shear."""
        return _EFFORT[self.unit]

    @property
    def default(self) -> float:
        """Where it is held if no input is given: the start of the joint, 0 for rods."""
        return self.target.start[self.index] if isinstance(self.target, Joint) else 0.0

    def check(self, value: float) -> float:
        """The value of the coordinate if it is one finite number."""
        if type(value) is float and isfinite(value):
            return value
        return float(finite(f"imposed {self.name!r}", value, (), self.unit))

    def motion(self, signal: MotionSignal, t: float) -> Array:
        """(q, q̇, q̈) of the input ``signal`` at ``t`` [s], (3,).

        The rates of a signal that has ``rates``, such as smooth_step, c2_ramp and sine, and three numbers that a
        callable returns are taken as they are. Other rates are central differences of order six, 1e-3 s apart: the
        callable must then be smooth, and defined from 3 ms before the start to 3 ms beyond the end. A kink, as in ramp
        or triangle, is a blow.
        """
        if not callable(signal):
            return np.array([self.check(signal), 0.0, 0.0])
        rates = getattr(signal, "rates", None)
        now = signal(t) if rates is None else rates(t)
        if type(now) is tuple and len(now) == 3 and all(type(one) is float and isfinite(one) for one in now):
            return np.array(now)  # the usual case, many times in a run
        if rates is not None or np.shape(now) == (3,):
            unit = self.unit
            units = "1, 1/s, 1/s2" if unit == "1" else f"{unit}, {unit}/s, {unit}/s2"
            return finite(f"imposed {self.name!r} at t = {t:g} s", now, (3,), units)
        if np.shape(now) != ():
            raise BadInput(
                f"imposed {self.name!r} at t = {t:g} s has shape {np.shape(now)}: return one number in {self.unit}, "
                "or three, the coordinate and its first and second rate"
            )
        q_now = self._value(now, t)
        times = [t + k * _STEP for k in OFFSETS.tolist()]
        q = np.array([self._value(signal(time), time) if time != t else q_now for time in times])
        return np.array([q_now, FIRST @ q / _STEP, SECOND @ q / _STEP**2])

    def _value(self, value: Any, t: float) -> float:
        return float(finite(f"imposed {self.name!r} at t = {t:g} s", value, (), self.unit))
