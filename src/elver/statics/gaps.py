"""Gaps of closures: how far loops, holds and wound tendons are from being met, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import SpooledTendon
from elver.dynamics.completion import closure_label
from elver.dynamics.core import Core
from elver.dynamics.quantities import poses
from elver.dynamics.states import Arrays, as_state
from elver.mechanism import Frame
from elver.rods import Rod

__all__ = ["Gap", "cannot_close", "gap", "gaps", "named", "rows_of", "units", "widest"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """How far one closure is from being met."""

    label: str
    metres: float
    radians: float

    def __str__(self) -> str:
        return f"{self.label} is open by {self.metres:.3g} m and {self.radians:.3g} rad"


def gap(kernels: Core, a: Arrays, u: Array) -> float:
    """Largest violation of a closure, in rad or in lengths of the robot."""
    return float(np.max(np.abs(rows_of(kernels, a, u)), initial=0.0))


def gaps(kernels: Core, a: Arrays, u: Array) -> tuple[Gap, ...]:
    """The gap of every closure and of every wound tendon."""
    return named(kernels, rows_of(kernels, a, u))


def widest(found: tuple[Gap, ...], length: float) -> Gap:
    """The gap that is largest, in lengths of the robot [m] or in rad."""
    return max(found, key=lambda one: max(one.metres / length, one.radians))


def named(kernels: Core, rows: Array) -> tuple[Gap, ...]:
    """The gap of every closure by its name, from rows in rad and lengths of the robot."""
    program, L, found = kernels.program, kernels.assembly.length, []
    angular = np.array([unit == "N m" for _, unit in kernels.system.multipliers], dtype=bool)
    for k, (first, count) in enumerate(program.closure_rows):
        own, turns = rows[first : first + count], angular[first : first + count]
        radians = float(np.linalg.norm(own[turns]))
        found.append(Gap(closure_label(kernels, k), L * float(np.linalg.norm(own[~turns])), radians))
    spools = [part for part in kernels.system.actuators if isinstance(part, SpooledTendon)]
    for part, row in zip(spools, rows[len(program.row_axes) :], strict=True):
        found.append(Gap(f"wound tendon {kernels.system.label(part)!r}", L * abs(float(row)), 0.0))
    return tuple(found)


def rows_of(kernels: Core, a: Arrays, u: Array) -> Array:
    """Ψ in rad and lengths of the robot; rows that were dropped are zero."""
    unloaded = Arrays(a.base, a.twist, a.q, np.zeros(kernels.rows))
    return kernels.residual(unloaded, u, jets=1)[kernels.coordinates :] / units(kernels)


def units(kernels: Core) -> Array:
    """1 rad for orientations, the length of the robot for positions and cables."""
    L = kernels.assembly.length
    return np.array([1.0 if unit == "N m" else L for _, unit in kernels.system.multipliers])


def cannot_close(kernels: Core, a: Arrays, u: Array) -> str:
    """What to say of a shape that does not meet the closures."""
    found = gaps(kernels, a, u)
    worst = widest(found, kernels.assembly.length)
    advice = {
        1: "it is out of reach: move the ends nearer, lengthen the parts, ",
        -1: "the rod is too long for it: move the ends apart, shorten the rod, give a guess=... that is bent aside, ",
        0: "move the ends, change the lengths of the parts, ",
    }[_side(kernels, a, found.index(worst))]
    return (
        f"the closures cannot be met: in the nearest shape found, {worst}; {advice}"
        + ("impose other motions, or fewer, " if kernels.system.imposed else "")
        + "or free a joint or a strain"
    )


def _side(kernels: Core, a: Arrays, closure: int) -> int:
    """1 where a rod ends before the place in the world that it is tied to, -1 where beyond it; 0 for other closures."""
    mechanism = kernels.system.mechanism
    frames: tuple[Frame, ...] = ()
    place = np.full(3, np.nan)
    if closure < len(mechanism.holds):
        hold = mechanism.holds[closure]
        rod = hold.part or (mechanism.rods[0] if mechanism.rods else None)
        frames = (Frame(rod, hold.at),) if isinstance(rod, Rod) else ()
        place = np.array([np.nan if x is None else x for x in hold.position or [None] * 3], dtype=float)
    elif closure < len(mechanism.holds) + len(mechanism.tree.cuts):
        joint = mechanism.tree.cuts[closure - len(mechanism.holds)]
        frames = tuple(end for end in (joint.a, joint.b) if isinstance(end.part, Rod))
        for end in (joint.a, joint.b):
            place = end.g[:3, 3] if end.part == "world" else place
    if len(frames) != 1 or not np.any(np.isfinite(place)):
        return 0
    (end,) = frames
    assert isinstance(end.part, Rod)
    centre = poses(kernels.system, as_state(a, 0.0), end.part)[:, :3, 3]
    here = centre[int(np.argmin(np.abs(end.part.grid.s - end.s)))]
    ahead = float((here - centre[0]) @ np.where(np.isfinite(place), place - here, 0.0))
    return int(np.sign(ahead))
