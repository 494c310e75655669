"""Tendons: cables along a path D(s), pulled with a given tension or wound in by a given length.

With c = Γ + K × D + D′ the cable's tangent in the section frame, a tension T gives
Λ_act = T (D × c; c) / |c| on [start, end]; equivalently Q_act = -T ∂(cable length)/∂q (Boyer 2023, eq. 17).
The cable is anchored at ``end`` and runs in a sheath before ``start``.

A cable may run through several rods, one after the other, and over guides (eyelets, pulleys without friction or size)
on bodies, sections or the world, with one tension: its length is the sum of its lengths along the rods and of the
straight spans before, between and behind guides. From rod to rod it is guided by what holds them together, and adds
nothing there.

Theory: docs/theory/actuation.md, eq. (tendon), (tendon-length), (span), (spool).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation.paths import Path
from elver.errors import BadInput, ElverWarning, UnitWarning, finite, positive, warn
from elver.mechanism import Acts, Frame, Mechanism, as_frame
from elver.rods import Rod
from elver.rods.fields import Array, arc_lengths, check_interval, check_name
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["Routed", "SpooledTendon", "Tendon"]


class Routed(Acts):
    """What tendons and pressure chambers share: a path on a stretch of a rod, or of rods in a row."""

    rod: Rod | Sequence[Rod | Frame]
    path: Path | Sequence[Path] | None
    name: str
    start: float
    end: float | None
    reach: float | None

    # Checks -------------------------------------------------------------------------------------------------

    def _check_routing(self, kind: str, several: bool = True) -> None:
        object.__setattr__(self, "name", check_name(kind, self.name))
        label = f"{kind} {self.name!r}"
        self._check_rods(label, several)
        self._check_paths(label)
        if not self.rods:
            return
        first, last = self.rods[0], self.rods[-1]
        if first is last:
            start, end = check_interval(label, self.start, self.end, first.length)
        else:
            start, _ = check_interval(f"{label} on {first.name!r}", self.start, None, first.length)
            _, end = check_interval(f"{label} on {last.name!r}", 0.0, self.end, last.length)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        if self.reach is not None:
            object.__setattr__(self, "reach", positive(f"{label}: reach", self.reach, "m"))
        self._check_reach(label)

    def _check_rods(self, label: str, several: bool) -> None:
        given: Any = self.rod
        if several and isinstance(given, list | tuple):
            if not given:
                raise BadInput(
                    f"{label}: rod = {describe(given)} is empty; give the rods in the order in which it runs"
                )
            route = tuple(item if isinstance(item, Rod) else _guide(label, item) for item in given)
            for k, rod in enumerate(route):
                if isinstance(rod, Rod) and any(rod is other for other in route[:k]):
                    raise BadInput(f"{label}: the rod {rod.name!r} is listed twice; list each rod once")
            object.__setattr__(self, "rod", route[0] if len(route) == 1 and isinstance(route[0], Rod) else route)
            if not self.rods and not self.spans:
                raise BadInput(f"{label}: it runs along no rod and between no two guides on different parts")
        elif not isinstance(given, Rod):
            raise BadInput(f"{label}: rod = {describe(given)}; give the Rod it runs along")

    def _check_paths(self, label: str) -> None:
        given: Any = self.path
        if given is None and not self.rods:
            return
        if isinstance(given, list | tuple) and given and all(map(_is_path, given)):
            if len(given) != len(self.rods):
                raise BadInput(
                    f"{label}: {len(given)} paths for {len(self.rods)} rod{'s' * (len(self.rods) > 1)}; "
                    "give one path for all, or one per rod"
                )
            object.__setattr__(self, "path", given[0] if len(given) == 1 else tuple(given))
        elif not _is_path(given):
            raise BadInput(f"{label}: path = {describe(given)}; give e.g. parallel(y=5e-3, z=0.0) in m")

    def _check_reach(self, label: str) -> None:
        """Warn when the path leaves the section, or the disks that ``reach`` tells of."""
        for rod in self.rods:
            s = rod.grid.s
            on = self.active(s, rod)
            s = s[on] if on.any() else np.array(self.stretch(rod))
            D, _, _ = self.geometry(s, rod)
            radius = np.hypot(D[:, 1], D[:, 2])
            if self.reach is not None:
                outside = radius / self.reach
                border = f"reach = {self.reach:g} m"
            else:
                outside = rod.section.reach(s, rod.length, D[:, 1], D[:, 2])
                half_y, half_z = (h[np.argmax(outside)] for h in rod.section.half_widths(s, rod.length))
                border = f"the section (half widths {half_y:g} m and {half_z:g} m)"
            worst = int(np.argmax(outside))
            if outside[worst] > 1.0 + 1e-9:
                of_rod = f" of {rod.name!r}" if len(self.rods) > 1 else ""
                far = radius[worst] > 0.5 * rod.length and outside[worst] > 50.0
                question = f": millimetres? write {1e-3 * radius[worst]:g}" if far else ""
                warn(
                    f"{label} runs {radius[worst]:g} m from the axis{of_rod} at s = {s[worst]:g} m, outside "
                    f"{border}{question}; "
                    "it is computed as given: check the path, or state the radius of the disks that carry it "
                    f"with reach={radius.max():g}",
                    UnitWarning if far else ElverWarning,
                )

    # Where it runs ------------------------------------------------------------------------------------------

    @property
    def rods(self) -> tuple[Rod, ...]:
        """The rods it runs along, in order."""
        return (self.rod,) if isinstance(self.rod, Rod) else tuple(item for item in self.rod if isinstance(item, Rod))

    @property
    def spans(self) -> tuple[tuple[Frame, Frame], ...]:
        """Its free spans, from guide to guide; a hole at the end of a rod is a guide where a span begins there."""
        route: Any = () if isinstance(self.rod, Rod) else self.rod
        found = []
        for before, after in pairwise(route):
            if isinstance(before, Rod) and isinstance(after, Rod):
                continue
            a = self._hole(before, 1) if isinstance(before, Rod) else before
            b = self._hole(after, 0) if isinstance(after, Rod) else after
            rigid = a.part is b.part and not isinstance(a.part, Rod)
            if not rigid:
                found.append((a, b))
        return tuple(found)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Ends of its free spans."""
        return tuple(guide for span in self.spans for guide in span)

    @property
    def jumps(self) -> tuple[tuple[Rod, float], ...]:
        """Where its action begins or ends."""
        return tuple((rod, s) for rod in self.rods for s in self.breaks_on(rod))

    @property
    def traits(self) -> tuple[Any, ...]:
        """The parts between which its spans are."""
        return tuple(tuple(getattr(guide.part, "name", guide.part) for guide in span) for span in self.spans)

    def acts_on(self, mechanism: Mechanism) -> tuple[Any, ...]:
        """Its rods, and parts that guide it."""
        return (*self.rods, *super().acts_on(mechanism))

    def _hole(self, rod: Rod, end: int) -> Frame:
        """Where it enters (``end`` = 0) or leaves (1) a rod."""
        s = self.stretch(rod)[end]
        return Frame(rod, s, self.geometry(np.array([s]), rod)[0][0])

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its path on each of the rods."""
        given: Any = self.path
        return tuple(given) if isinstance(given, Sequence) else (given,) * len(self.rods)

    @property
    def last(self) -> float:
        """Arc length [m] on the last rod where it ends: ``end``, which is the tip where it was not given."""
        return self.rods[-1].length if self.end is None else self.end

    @property
    def breaks(self) -> tuple[float, ...]:
        """Interior positions [m] where its action begins or ends, on the only rod."""
        return self.breaks_on()

    def breaks_on(self, rod: Rod | None = None) -> tuple[float, ...]:
        """Interior positions [m] of ``rod`` (the only one by default) where its action begins or ends."""
        length = self.rods[self._place(rod)].length
        return tuple(s for s in self.stretch(rod) if 0.0 < s < length)

    def stretch(self, rod: Rod | None = None) -> tuple[float, float]:
        """First and last arc length [m] of ``rod`` (the only one by default) on which it acts."""
        k = self._place(rod)
        return (
            self.start if k == 0 else 0.0,
            self.last if k == len(self.rods) - 1 else self.rods[k].length,
        )

    def active(self, s: ArrayLike, rod: Rod | None = None) -> NDArray[np.bool_]:
        """Where it acts on ``rod`` (the only one by default): True for ``s`` [m] within its stretch."""
        s = arc_lengths(s)
        start, end = self.stretch(rod)
        return (s >= start) & (s <= end)

    def geometry(self, s: ArrayLike, rod: Rod | None = None) -> tuple[Array, Array, NDArray[np.bool_]]:
        """D [m] and D′ [m/m] at ``s`` [m] of ``rod`` (the only one by default), and where it acts.

        D and D′ are (len(s), 3), zero where it does not act; the mask is (len(s),).
        """
        s = arc_lengths(s)
        on = self.active(s, rod)
        D, D_prime = np.zeros((s.size, 3)), np.zeros((s.size, 3))
        if on.any():
            shape = (int(on.sum()), 3)
            k = self._place(rod)
            returned = self.paths[k](s[on], self.rods[k].length)
            for name, out, values in zip(("D", "D'"), (D, D_prime), returned):
                values = np.asarray(values, dtype=float)
                if values.shape != shape:
                    raise BadInput(
                        f"path of {self.name!r}: {name} has shape {values.shape}; return {shape} in m"
                    )
                bad = ~np.isfinite(values).all(axis=1)
                if bad.any():
                    where = s[on][np.argmax(bad)]
                    raise BadInput(
                        f"path of {self.name!r}: {name} = {values[np.argmax(bad)]} m at s = {where:g} m; "
                        "make it finite on the rod"
                    )
                out[on] = values
        return D, D_prime, on

    def _place(self, rod: Rod | None) -> int:
        """Which of the rods is meant, counted from 0."""
        names = ", ".join(repr(r.name) for r in self.rods)
        if rod is None:
            if len(self.rods) > 1:
                raise BadInput(f"{self.name!r} runs through several rods, {names}: say which one is meant")
            return 0
        for k, own in enumerate(self.rods):
            if rod is own:
                return k
        other = getattr(rod, "name", rod)
        raise BadInput(f"{self.name!r} does not run through the rod {other!r}, only through {names}")


def _guide(label: str, item: Any) -> Frame:
    try:
        return as_frame(item)
    except BadInput as error:
        raise BadInput(f"{label}: rod contains {describe(item)}, neither a rod nor a guide: {error}") from None


def _is_path(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


@brief
@dataclass(frozen=True, eq=False)
class Tendon(Routed):
    """Tendon pulled with a tension [N] ≥ 0, its input; it acts on [start, end] [m] of the rod.

    ``reach`` [m] is the radius of the disks that carry it, where they stand out of the section. A tendon through
    several rods has them as a sequence, in the order in which it runs, and one ``path`` for all (at each rod's own
    arc length) or one per rod; ``start`` is then on the first rod and ``end`` on the last. Guides may stand in the
    sequence: (body, position), ("world", position) or a Frame; without any rod, ``path`` is left out.
    """

    rod: Rod | Sequence[Rod | Frame] = field(metadata=of_kind("guides"))
    path: Path | Sequence[Path] | None = field(default=None, metadata=of_kind("@path"))
    name: str = field(default="tendon", metadata=of_kind("text"))
    start: float = field(default=0.0, metadata=of_kind("m"))
    end: float | None = field(default=None, metadata=of_kind("m"))
    reach: float | None = field(default=None, metadata=of_kind("m"))

    unit: ClassVar[str] = "N"
    default: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        self._check_routing("tendon")

    def check(self, value: float) -> float:
        """The tension [N] if it is finite and not negative."""
        tension = float(finite(f"tension of {self.name!r}", value, (), "N"))
        if tension < 0.0:
            raise BadInput(
                f"tension of {self.name!r} = {tension:g} N: a tendon can only pull; give a tension >= 0 N, "
                "or pull an opposite tendon"
            )
        return tension


@brief
@dataclass(frozen=True, eq=False)
class SpooledTendon(Routed):
    """Tendon of which a length [m], its input, is wound in (positive shortens); tension follows.

    Rods, path and stretch are given as for :class:`Tendon`; through several rods it is one cable.
    """

    rod: Rod | Sequence[Rod | Frame] = field(metadata=of_kind("guides"))
    path: Path | Sequence[Path] | None = field(default=None, metadata=of_kind("@path"))
    name: str = field(default="spooled tendon", metadata=of_kind("text"))
    start: float = field(default=0.0, metadata=of_kind("m"))
    end: float | None = field(default=None, metadata=of_kind("m"))
    reach: float | None = field(default=None, metadata=of_kind("m"))

    unit: ClassVar[str] = "m"
    default: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        self._check_routing("spooled tendon")

    def check(self, value: float) -> float:
        """The length wound in [m] if it is finite."""
        return float(finite(f"length wound in of {self.name!r}", value, (), "m"))
