"""Given wrenches on a rod: at one section, or per metre along it.

A wrench is (moment; force), reduced to the centre of the section it acts on. In frame "world" it is a dead
load, whose components in world axes stay as given; in frame "section" it follows the section. The input
scales it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite
from elver.rods import Rod
from elver.rods.fields import (
    Array,
    Field,
    Station,
    arc_lengths,
    check_field,
    check_interval,
    check_name,
    numbers,
    sample,
    station,
)

__all__ = ["DistributedWrench", "PointWrench"]

Frame: TypeAlias = Literal["world", "section"]
_ZERO = (0.0, 0.0, 0.0)


def _check_frame(label: str, frame: str) -> None:
    if frame not in ("world", "section"):
        raise BadInput(f'{label}: frame = {frame!r}; say "world" (dead load) or "section" (follower)')


def _check_rod(label: str, rod: Rod) -> None:
    if not isinstance(rod, Rod):
        raise BadInput(f"{label}: rod = {rod!r}; give the Rod it acts on")


@dataclass(frozen=True, eq=False)
class PointWrench:
    """Force [N] and moment [N m] on the section ``at`` ("tip", "base" or s [m]); its input scales both."""

    rod: Rod
    at: Station = "tip"
    force: tuple[float, ...] = _ZERO
    moment: tuple[float, ...] = _ZERO
    frame: Frame = "world"
    name: str = "point wrench"

    unit: ClassVar[str] = "1"
    default: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("load", self.name))
        label = f"load {self.name!r}"
        _check_rod(label, self.rod)
        _check_frame(label, self.frame)
        s = station(label, self.at, self.rod.length)
        if not isinstance(self.at, str):
            object.__setattr__(self, "at", s)
        object.__setattr__(self, "force", numbers(f"{label}: force", self.force, 3, "N"))
        object.__setattr__(self, "moment", numbers(f"{label}: moment", self.moment, 3, "N m"))

    @property
    def position(self) -> float:
        """Arc length s [m] of the section the wrench acts on."""
        return station(self.name, self.at, self.rod.length)

    @property
    def wrench(self) -> Array:
        """(moment; force) in the axes of ``frame``, (6,), for the input 1."""
        return np.array([*self.moment, *self.force])

    def check(self, value: float) -> float:
        """The input (a scale) if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), "(dimensionless scale)"))


@dataclass(frozen=True, eq=False)
class DistributedWrench:
    """Force [N/m] and moment [N m/m] per metre of rest length on [start, end]; its input scales both.

    Each is three numbers or a vectorised callable of s [m] that returns (len(s), 3).
    """

    rod: Rod
    force: Field = _ZERO
    moment: Field = _ZERO
    frame: Frame = "world"
    start: float = 0.0
    end: float | None = None
    name: str = "distributed wrench"

    unit: ClassVar[str] = "1"
    default: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("load", self.name))
        label = f"load {self.name!r}"
        _check_rod(label, self.rod)
        _check_frame(label, self.frame)
        start, end = check_interval(label, self.start, self.end, self.rod.length)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "force", check_field(f"{label}: force", self.force, 3, "N/m"))
        object.__setattr__(self, "moment", check_field(f"{label}: moment", self.moment, 3, "N m/m"))
        self.density(self.rod.grid.s)

    @property
    def last(self) -> float:
        """Arc length [m] where it ends: ``end``, which is the tip where it was not given."""
        return self.rod.length if self.end is None else self.end

    @property
    def breaks(self) -> tuple[float, ...]:
        """Interior positions [m] where the density jumps."""
        return tuple(s for s in (self.start, self.last) if 0.0 < s < self.rod.length)

    def density(self, s: ArrayLike) -> Array:
        """(moment; force) per metre at ``s`` [m], axes of ``frame``, (len(s), 6); 0 off [start, end]."""
        s = arc_lengths(s)
        on = (s >= self.start) & (s <= self.last)
        density = np.zeros((s.size, 6))
        for columns, name, value, unit in (
            (slice(0, 3), "moment", self.moment, "N m/m"),
            (slice(3, 6), "force", self.force, "N/m"),
        ):
            if callable(value):
                density[on, columns] = sample(f"load {self.name!r}: {name}", value, s[on], 3, unit)
            else:
                density[on, columns] = value
        return density

    def check(self, value: float) -> float:
        """The input (a scale) if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), "(dimensionless scale)"))
