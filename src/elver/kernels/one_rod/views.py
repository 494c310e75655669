"""One rod cut into segments, and scratch, as named views of one table.

Each segment is crossed in equal steps; fields are kept at nodes and midpoints of the steps, the *places* of a segment.
Kernels pass the table on, and read of it what they name.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.kinds import Record, record_of
from elver.kernels.build.tables import Unpacker, table_of

__all__ = [
    "FORM", "HYBRID", "MAGNUS", "STEPS", "TURNS", "Motion", "Rod", "Section", "Statics", "motion_for", "rod_for",
    "section_for", "statics_for", "table", "unpack_motion", "unpack_rod", "unpack_statics",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Places in Rod.how
STEPS, FORM, MAGNUS, TURNS, HYBRID = range(5)


class Rod(NamedTuple):
    """A rod at the places of its segments, and how it is crossed."""

    how: Ints  # (5,) steps of a segment; statics: 1 integrates free strains, 0 stresses; 1 takes Magnus steps; 0 where
    #            loads do not depend on the pose; motion: 1 where the acceleration is algebraic
    length: Floats  # (1,) [m] of the rod
    step: Floats  # (segments,) [m]
    active: Floats  # (6,) 1 for free strains
    at: Floats  # (segments, places, fields): diagonal of 𝓗, ξ₀, stress of muscles Λ_m (6 each), then what a shoot asks
    pulls: Floats  # (segments, places, tendons, 10): D, D′, T (0 where a tendon does not act), D″
    strains: Floats  # (segments, places, 6) guesses of ξ, kept up to date
    stiffness: Floats  # (segments, places, 36 or 0) 𝓗 at rest, of a law that is not diagonal
    s: Floats  # (segments, places) [m]
    address: Ints  # (1,) of the C function of a law of one's own, 0 for none
    parameters: Floats  # what it is given
    scheme: Floats  # (4,) of a motion: r₁, r₂, τ, c
    gravity: Floats  # (3,) of a motion


class Section(NamedTuple):
    """Scratch of one section."""

    strain: Floats  # (18,) ξ, and its rates in time
    target: Floats  # (6,) stress whose strain is sought
    change: Floats  # (6,) ξ - ξ₀
    increment: Floats  # (6,) of Newton
    law: Floats  # (6,) stress of a strain
    slope: Floats  # (6, 6) of it
    soft: Floats  # (6, 6) compliance of the free strains


class Statics(NamedTuple):
    """Scratch of a step at rest."""

    y: Floats  # (6,) what is integrated: stress, or free strains and the stresses of others
    stress: Floats  # (6,)
    drift: Floats  # (6,) dead load in section axes, then ∂Λ/∂s at a fixed strain
    moved: Floats  # (12,) pose of a stage
    stumpff: Floats  # (12,)
    rate: Floats  # (4, 6) of θ, at the stages
    force: Floats  # (4, 6) slopes of y
    xi: Floats  # (5, 6) strains of the stages, then θ
    last: Floats  # (12, 12) variation of rate and force at a stage
    total: Floats  # (12, 12) their weighted sum
    zeta: Floats  # (12, 12) variation of the pose of a stage
    bent: Floats  # (12, 12) that of the strain, and of the first stage's
    mean: Floats  # (12, 12) what Magnus steps take of it


class Motion(NamedTuple):
    """Scratch of a step in motion."""

    y: Floats  # (30,) state of a stage
    theta: Floats  # (6,)
    stumpff: Floats  # (12,)
    slopes: Floats  # (4, 30) at the stages
    trial: Floats  # (5, 24, columns) variation of the state of a stage, and of its slope at each


def rod_for(segments: int, steps: int, fields: int, tendons: int = 0, coupled: int = 0, parameters: int = 0) -> Rod:
    """A rod without any number."""
    n = segments, 2 * steps + 1
    return Rod(
        np.array([steps, 0, 0, 0, 0]), np.zeros(1), np.zeros(segments), np.zeros(6), np.zeros((*n, fields)),
        np.zeros((*n, tendons, 10)), np.zeros((*n, 6)), np.zeros((*n, coupled)), np.zeros(n),
        np.zeros(1, dtype=np.int64), np.zeros(parameters), np.zeros(4), np.zeros(3),
    )  # fmt: skip


def section_for() -> Section:
    """Scratch of one section."""
    a, b, c, d = np.zeros((4, 6))
    return Section(np.zeros(18), a, b, c, d, np.zeros((6, 6)), np.zeros((6, 6)))


def statics_for() -> Statics:
    """Scratch of statics."""
    vectors = *(np.zeros(6) for _ in range(3)), *(np.zeros(12) for _ in range(2))
    return Statics(*vectors, *(np.zeros((n, 6)) for n in (4, 4, 5)), *(np.zeros((12, 12)) for _ in range(5)))


def motion_for(columns: int) -> Motion:
    """Scratch of a motion with so many columns of variation."""
    return Motion(np.zeros(30), np.zeros(6), np.zeros(12), np.zeros((4, 30)), np.zeros((5, 24, columns)))


@cache
def _records() -> tuple[Record, Record, Record, Record]:
    return record_of(rod_for(1, 1, 18)), record_of(section_for()), record_of(statics_for()), record_of(motion_for(1))


def table(rod: Rod, section: Section, scratch: Statics | Motion | None = None) -> Ints:
    """The table of a rod, to be kept as long as its arrays."""
    more: Any = () if scratch is None else (scratch,)
    kinds = {Rod: 0, Section: 1, Statics: 2, Motion: 3}
    values = rod, section, *more
    return table_of(tuple(_records()[kinds[type(one)]] for one in values), *values)


unpack_rod = Unpacker(lambda: _records()[:2], parts=(0, 1))
"""(rod, section) of any of the tables."""
unpack_statics = Unpacker(lambda: _records()[:3])
"""(rod, section, statics)."""
unpack_motion = Unpacker(lambda: (*_records()[:2], _records()[3]))
"""(rod, section, motion)."""
