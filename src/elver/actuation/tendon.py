"""Tendons: cables along a path D(s), pulled with a given tension or wound in by a given length.

With c = Γ + K × D + D′ the cable's tangent in the section frame, a tension T gives
Λ_act = T (D × c; c) / |c| on [start, end]; equivalently Q_act = -T ∂(cable length)/∂q (Boyer 2023, eq. 17).
The cable is anchored at ``end`` and runs in a sheath before ``start``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation.paths import Path
from elver.errors import BadInput, ElverWarning, finite, positive
from elver.rods import Rod
from elver.rods.fields import Array, arc_lengths, check_interval, check_name

__all__ = ["Routed", "SpooledTendon", "Tendon"]


class Routed:
    """What tendons and pressure chambers share: a path on a stretch of a rod."""

    rod: Rod
    path: Path
    name: str
    start: float
    end: float | None
    reach: float | None

    def _check_routing(self, kind: str) -> None:
        object.__setattr__(self, "name", check_name(kind, self.name))
        label = f"{kind} {self.name!r}"
        if not isinstance(self.rod, Rod):
            raise BadInput(f"{label}: rod = {self.rod!r}; give the Rod it runs along")
        if isinstance(self.path, type) or not callable(self.path):
            raise BadInput(f"{label}: path = {self.path!r}; give e.g. parallel(y=5e-3, z=0.0) in m")
        start, end = check_interval(label, self.start, self.end, self.rod.length)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        if self.reach is not None:
            object.__setattr__(self, "reach", positive(f"{label}: reach", self.reach, "m"))
        self._check_reach(label)

    def _check_reach(self, label: str) -> None:
        """Warn when the path leaves the section, or the disks that ``reach`` tells of."""
        s = self.rod.grid.s
        s = s[self.active(s)] if self.active(s).any() else np.array([self.start, self.last])
        D, _, _ = self.geometry(s)
        radius = np.hypot(D[:, 1], D[:, 2])
        if self.reach is not None:
            outside = radius / self.reach
            border = f"reach = {self.reach:g} m"
        else:
            outside = self.rod.section.reach(s, self.rod.length, D[:, 1], D[:, 2])
            half_y, half_z = (h[np.argmax(outside)] for h in self.rod.section.half_widths(s, self.rod.length))
            border = f"the section (half widths {half_y:g} m and {half_z:g} m)"
        worst = int(np.argmax(outside))
        if outside[worst] > 1.0 + 1e-9:
            warnings.warn(
                f"{label} runs {radius[worst]:g} m from the axis at s = {s[worst]:g} m, outside {border}; "
                "it is computed as given: check the path, or state the radius of the disks that carry it "
                f"with reach={radius.max():g}",
                ElverWarning,
                stacklevel=5,
            )

    @property
    def last(self) -> float:
        """Arc length [m] where it ends: ``end``, which is the tip where it was not given."""
        return self.rod.length if self.end is None else self.end

    @property
    def breaks(self) -> tuple[float, ...]:
        """Interior positions [m] where its action begins or ends."""
        return tuple(s for s in (self.start, self.last) if 0.0 < s < self.rod.length)

    def active(self, s: ArrayLike) -> NDArray[np.bool_]:
        """Where it acts: True for ``s`` [m] within [start, end]."""
        s = arc_lengths(s)
        return (s >= self.start) & (s <= self.last)

    def geometry(self, s: ArrayLike) -> tuple[Array, Array, NDArray[np.bool_]]:
        """D [m] and D′ [m/m] at ``s`` [m], each (len(s), 3), zero where not active; the mask of active."""
        s = arc_lengths(s)
        on = self.active(s)
        D, D_prime = np.zeros((s.size, 3)), np.zeros((s.size, 3))
        if on.any():
            shape = (int(on.sum()), 3)
            returned = self.path(s[on], self.rod.length)
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


@dataclass(frozen=True, eq=False)
class Tendon(Routed):
    """Tendon pulled with a tension [N] ≥ 0, its input; it acts on [start, end] [m] of the rod.

    ``reach`` [m] is the radius of the disks that carry it, where they stand out of the section.
    """

    rod: Rod
    path: Path
    name: str = "tendon"
    start: float = 0.0
    end: float | None = None
    reach: float | None = None

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


@dataclass(frozen=True, eq=False)
class SpooledTendon(Routed):
    """Tendon of which a length [m], its input, is wound in (positive shortens); tension follows."""

    rod: Rod
    path: Path
    name: str = "spooled tendon"
    start: float = 0.0
    end: float | None = None
    reach: float | None = None

    unit: ClassVar[str] = "m"
    default: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        self._check_routing("spooled tendon")

    def check(self, value: float) -> float:
        """The length wound in [m] if it is finite."""
        return float(finite(f"length wound in of {self.name!r}", value, (), "m"))
