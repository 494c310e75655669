"""Given wrenches: on a section of a rod, on a rigid body, or per metre along a rod.

A wrench is (moment; force), reduced to the centre of the section, or the point of the body, it acts on. In frame
"world" it is a dead load, whose components in world axes stay as given; in frame "section", on a body "body", it
follows what it acts on. The input scales it.

Theory: docs/theory/surroundings.md, eq. (dead-load).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.bodies import RigidBody
from elver.errors import BadInput, finite
from elver.mechanism import Acts, Frame, Mechanism, Part
from elver.rods import Rod
from elver.rods.fields import (
    Array,
    Field,
    Station,
    arc_lengths,
    breaks_of,
    check_field,
    check_interval,
    check_name,
    interior,
    is_plain,
    numbers,
    sample,
    station,
)
from elver.rods.jumps import warn_of_jumps
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["DistributedWrench", "PointWrench"]

Axes: TypeAlias = Literal["world", "section"]
_ZERO = (0.0, 0.0, 0.0)


def _check_axes(label: str, axes: str, follower: str = "section") -> None:
    if axes not in ("world", follower):
        raise BadInput(f'{label}: frame = {describe(axes)}; say "world" (dead load) or "{follower}" (follower)')


@brief
@dataclass(frozen=True, eq=False, init=False)
class PointWrench(Acts):
    """Force [N] and moment [N m] on one section of a rod or on a rigid body; its input scales both.

    ``part`` is the rod or the body. ``at`` is, on a rod, "tip" (the default), "base" or s [m]; on a body the point
    (3,) [m] in body axes, by default the origin of the body frame. ``frame`` names the axes of the components:
    "world" for a dead load; "section" on a rod, "body" on a body, for one that follows.
    """

    part: Part = field(metadata=of_kind("@part"))
    at: Station | tuple[float, ...] = field(metadata=of_kind("m text"))
    force: tuple[float, ...] = field(metadata=of_kind("N"))
    moment: tuple[float, ...] = field(metadata=of_kind("N m"))
    frame: Literal["world", "section", "body"] = field(metadata=of_kind("text"))
    name: str = field(metadata=of_kind("text"))

    unit: ClassVar[str] = "1"
    default: ClassVar[float] = 1.0

    def __init__(
        self,
        part: Part | None = None,
        at: Station | ArrayLike | None = None,
        force: ArrayLike = _ZERO,
        moment: ArrayLike = _ZERO,
        frame: Literal["world", "section", "body"] = "world",
        name: str = "point wrench",
        *,
        rod: Rod | None = None,
    ) -> None:
        # ``rod`` is the earlier word for ``part``: files written with it can still be read.
        part = part if rod is None else rod
        label = f"load {check_name('load', name)!r}"
        if isinstance(part, Rod):
            _check_axes(label, frame)
            at = "tip" if at is None else at
            s = station(label, at, part.length)
            at = at if isinstance(at, str) else s
        elif isinstance(part, RigidBody):
            _check_axes(label, frame, "body")
            at = _ZERO if at is None else at
            if np.shape(at) != (3,):
                raise BadInput(f"{label}: at = {describe(at)}; on a body give the point (x, y, z) in m, in body axes")
            at = numbers(f"{label}: at", at, 3, "m")
        else:
            raise BadInput(f"{label}: part = {describe(part)}; give the Rod or the RigidBody it acts on")
        for key, value in (
            ("part", part),
            ("at", at),
            ("force", numbers(f"{label}: force", force, 3, "N")),
            ("moment", numbers(f"{label}: moment", moment, 3, "N m")),
            ("frame", frame),
            ("name", name),
        ):
            object.__setattr__(self, key, value)

    @property
    def rod(self) -> Rod:
        """The rod it acts on; a load on a body has none (AttributeError)."""
        if not isinstance(self.part, Rod):
            raise AttributeError(f"load {self.name!r} acts on the body {self.part.name!r}, not on a rod")
        return self.part

    @property
    def position(self) -> float:
        """Arc length s [m] of the section it acts on, for a load on a rod."""
        if not isinstance(self.part, Rod):
            raise BadInput(f"load {self.name!r} acts on the body {self.part.name!r}, which has no arc length")
        return station(self.name, self.at, self.part.length)

    @property
    def site(self) -> Frame:
        """Where it acts: the section of the rod, or the body frame shifted to the point."""
        if isinstance(self.part, Rod):
            return Frame(self.part, self.at)  # type: ignore[arg-type]  # a station on rods
        return Frame(self.part, pose=self.at)

    @property
    def follows(self) -> bool:
        """True if it turns with what it acts on, False for a dead load."""
        return self.frame != "world"

    @property
    def traits(self) -> tuple[Any, ...]:
        """Whether it turns with what it acts on."""
        return (self.follows,)

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """The rod or the body."""
        return (self.part,)

    @property
    def wrench(self) -> Array:
        """(moment; force) at its ``site``, in the axes of ``frame``, (6,), for the input 1."""
        return np.array([*self.moment, *self.force])

    def check(self, value: float) -> float:
        """The input (a scale) if it is finite."""
        return float(finite(f"input of {self.name!r}", value, (), "(dimensionless scale)"))


@brief
@dataclass(frozen=True, eq=False)
class DistributedWrench(Acts):
    """Force [N/m] and moment [N m/m] per metre of rest length on [start, end]; its input scales both.

    Each is three numbers or a vectorised callable of s [m] that returns (len(s), 3).
    """

    rod: Rod = field(metadata=of_kind("@rod"))
    force: Field = field(default=_ZERO, metadata=of_kind("N/m @function"))
    moment: Field = field(default=_ZERO, metadata=of_kind("N m/m|N @function"))
    frame: Axes = field(default="world", metadata=of_kind("text"))
    start: float = field(default=0.0, metadata=of_kind("m"))
    end: float | None = field(default=None, metadata=of_kind("m"))
    name: str = field(default="distributed wrench", metadata=of_kind("text"))

    unit: ClassVar[str] = "1"
    default: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("load", self.name))
        label = f"load {self.name!r}"
        if not isinstance(self.rod, Rod):
            raise BadInput(f"{label}: rod = {describe(self.rod)}; give the Rod it acts on")
        _check_axes(label, self.frame)
        start, end = check_interval(label, self.start, self.end, self.rod.length)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "force", check_field(f"{label}: force", self.force, 3, "N/m"))
        object.__setattr__(self, "moment", check_field(f"{label}: moment", self.moment, 3, "N m/m"))
        self.density(self.rod.grid.s)
        if is_plain(self.force) or is_plain(self.moment):
            ends = sorted({*self.rod.piece_ends, *self.breaks})
            remedy = ", or give start and end of the load, or Stepped(...)"
            warn_of_jumps(f"{label}: its density", self.density, ends, "N/m or N m/m", remedy)

    @property
    def part(self) -> Rod:
        """The rod, under the name that loads on bodies have too."""
        return self.rod

    @property
    def follows(self) -> bool:
        """True if it turns with the sections it acts on, False for a dead load."""
        return self.frame != "world"

    @property
    def last(self) -> float:
        """Arc length [m] where it ends: ``end``, which is the tip where it was not given."""
        return self.rod.length if self.end is None else self.end

    @property
    def breaks(self) -> tuple[float, ...]:
        """Interior positions [m] where the density jumps."""
        return interior((self.start, self.last, *breaks_of(self.force), *breaks_of(self.moment)), self.rod.length)

    @property
    def traits(self) -> tuple[Any, ...]:
        """Whether it turns with what it acts on."""
        return (self.follows,)

    @property
    def jumps(self) -> tuple[tuple[Rod, float], ...]:
        """Its breaks."""
        return tuple((self.rod, s) for s in self.breaks)

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """The rod."""
        return (self.rod,)

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
