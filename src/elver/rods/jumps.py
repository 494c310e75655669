"""Jumps of functions that users write: looked for when a rod is built, and warned about with their place.

A global polynomial integrates and expands a field that jumps slowly and without a sign of it. What jumps by its
description (:class:`~elver.rods.fields.Stepped`) becomes a break of the rod; a plain function is sampled, and where a
difference stands out the place is narrowed down: across a jump the difference stays, on a steep ramp it falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from elver.errors import warn
from elver.rods.fields import Array

__all__ = ["Jump", "find_jumps", "warn_of_jumps"]

_SAMPLES = 256  # on the whole rod
_SMALLEST = 1e-4  # of the largest value: a smaller jump is not told
_CANDIDATES = 8
_SECTIONS = 16  # each round narrows a place down by this factor
_STEEP = 0.05, 2e-3  # a ramp as wrong as a jump: change over the largest value, within this part of the length


@dataclass(frozen=True)
class Jump:
    """Where a function jumps, or changes as if it did: on [start, end] [m], from ``before`` to ``after``."""

    start: float
    end: float
    before: Array
    after: Array

    @property
    def abrupt(self) -> bool:
        """True for a jump, False for a steep ramp."""
        return self.start == self.end


def find_jumps(function: Callable[[Array], Array], ends: Sequence[float]) -> tuple[Jump, ...]:
    """Jumps of ``function`` (len(s),) or (len(s), width) between ``ends`` [m], where it may jump and is known to."""
    length = ends[-1]
    inside = 1e-12 * length

    def values(s: Array) -> Array:
        return np.asarray(function(s), dtype=float).reshape(s.size, -1)

    pieces = []
    for a, b in pairwise(ends):
        pieces.append(np.linspace(a + inside, b - inside, max(9, round(_SAMPLES * (b - a) / length) + 1)))
    sampled = np.split(values(np.concatenate(pieces)), np.cumsum([s.size for s in pieces])[:-1])
    size = np.max(np.abs(np.concatenate(sampled)), axis=0)
    size = np.where(size > 1e-9 * size.max(initial=0.0), size, np.inf)  # a column of rounding has no jumps
    found: list[tuple[float, float, float]] = []
    for s, f in zip(pieces, sampled, strict=True):
        change = np.diff(f, axis=0) / size
        padded = np.concatenate([change[1:2], change, change[-2:-1]])
        excess = np.max(np.abs(change - 0.5 * (padded[:-2] + padded[2:])), axis=1)
        around = np.concatenate([[0.0], excess, [0.0]])
        peak = (excess > _SMALLEST) & (excess >= around[:-2]) & (excess >= around[2:])
        found += [(float(excess[k]), float(s[k]), float(s[k + 1])) for k in np.flatnonzero(peak)]
    jumps = [_narrowed(values, a, b, size, length) for _, a, b in sorted(found, reverse=True)[:_CANDIDATES]]
    border = 1e-9 * length
    kept = [j for j in jumps if j is not None and min(abs(j.start - e) for e in ends) > border]
    return tuple(sorted(kept, key=lambda j: j.start))


def _narrowed(values: Callable[[Array], Array], a: float, b: float, size: Array, length: float) -> Jump | None:
    """The jump or steep ramp in [a, b], or None where the function is smooth."""
    whole, resolved = None, False
    while b - a > 1e-13 * length:  # about nine rounds
        s = np.linspace(a, b, _SECTIONS + 1)
        f = values(s)
        change = np.max(np.abs(np.diff(f, axis=0)) / size, axis=1)
        total = float(np.max(np.abs(f[-1] - f[0]) / size))
        whole = total if whole is None else whole
        k = int(np.argmax(change))
        if not resolved and change[k] < 0.5 * whole:
            resolved = True  # now the sections are finer than the change, unless a small jump hides in a slope
            if whole > _STEEP[0] and b - a < _STEEP[1] * length:
                return Jump(a, b, f[0], f[-1])
        if change[k] < _SMALLEST:
            return None
        a, b, before, after = float(s[k]), float(s[k + 1]), f[k], f[k + 1]
    where = 0.5 * (a + b)
    return Jump(where, where, before, after)


def warn_of_jumps(
    label: str, function: Callable[[Array], Array], ends: Sequence[float], unit: str, remedy: str
) -> None:
    """Warn of jumps of ``function`` with their places; ``remedy`` follows "give breaks=[...] on the rod"."""
    jumps = find_jumps(function, ends)
    if not jumps:
        return
    first = jumps[0]
    k = int(np.argmax(np.abs(first.after - first.before)))
    how = f"from {first.before[k]:.4g} to {first.after[k]:.4g} {unit}"
    if first.abrupt:
        what = f"jumps at s = {first.start:.9g} m, {how}"
    else:
        what = f"changes between s = {first.start:.9g} m and {first.end:.9g} m {how}, as steep as a jump"
    more = f" (and at {len(jumps) - 1} more places)" if len(jumps) > 1 else ""
    places = sorted({float(f"{s:.9g}") for jump in jumps for s in (jump.start, jump.end)})
    warn(
        f"{label} {what}{more}: smooth strain functions and their quadrature are wrong there without a sign; "
        f"give the rod breaks={places}{remedy}",
    )
