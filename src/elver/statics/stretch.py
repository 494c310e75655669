"""Stretch of rods that is no longer that of a rod: warned about, or refused where the material is inside out.

A section law is linear in the stretch Γ_x and knows no bottom: pushed by more than EA it turns the rod inside out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from elver.errors import warn
from elver.rods import Law, Rod
from elver.system import System

__all__ = ["inside_out", "stretches", "warn_of_stretch"]

Array: TypeAlias = NDArray[np.float64]

# Half and twice the length: no material of a slender rod is linear so far, and the section changes by as much.
LEAST, MOST = 0.5, 2.0
_STRETCH = 3  # Γ_x among the six strains

_shapes: WeakKeyDictionary[Rod, tuple[Array, Array]] = WeakKeyDictionary()


def stretches(system: System, q: Array) -> Iterator[tuple[Rod, Array]]:
    """Γ_x at the nodes of every rod that can stretch, with the rod."""
    for rod in system.mechanism.rods:
        own = rod.component == _STRETCH
        if not own.any():
            continue
        if rod not in _shapes:
            s = rod.grid.s
            _shapes[rod] = (rod.functions(s)[:, own], rod.strain(s, np.zeros(rod.n))[:, _STRETCH])
        functions, rest = _shapes[rod]
        yield rod, rest + functions @ q[system.coordinates(rod)][own]


def inside_out(system: System, q: Array) -> str:
    """The rod, place and stretch where the material is inside out (Γ_x <= 0), in words; empty where it is nowhere."""
    for rod, stretch in stretches(system, q):
        k = int(np.argmin(stretch))
        if stretch[k] <= 0.0:
            return f"rod {rod.name!r} is inside out: stretch {stretch[k]:.3g} at s = {rod.grid.s[k]:.4g} m"
    return ""


def warn_of_stretch(system: System, q: Array, what: str) -> None:
    """Warn of rods that are stretched or pressed beyond what a linear law can mean; one's own law may mean more."""
    for rod, stretch in stretches(system, q):
        low, high = int(np.argmin(stretch)), int(np.argmax(stretch))
        k = low if stretch[low] < LEAST else high
        if LEAST <= stretch[k] <= MOST or isinstance(rod.law, Law):
            continue
        warn(
            f"{what}: rod {rod.name!r} has a stretch of {stretch[k]:.3g} at s = {rod.grid.s[k]:.4g} m, outside "
            f"{LEAST:g} to {MOST:g}, where its law is linear in name only; lighten the load, or check units, radius "
            "and modulus",
        )
