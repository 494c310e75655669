"""Whether strain functions and nodes of an equilibrium suffice: its errors, estimated.

The found state is carried over, as it is, to the same system with about twice the strain functions and twice the nodes
(:mod:`elver.dynamics.refinement`), and balance is sought there by Newton steps: how far the finer equilibrium is away
is the estimate. For the share of the nodes the same is done with the functions it has.

    position    largest distance of a point of a rod or body from where it is on the finer system
    tip         the same of the tips of rods alone
    energy      elastic energy, part of it by which it changes
    reaction    forces and moments of holds and closed loops, part of the largest by which they change

Theory: docs/theory/statics.md, eq. (refinement).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import core
from elver.dynamics.quantities import observe_states
from elver.dynamics.refinement import Refinement, balanced, refine
from elver.dynamics.segments import places
from elver.dynamics.states import Arrays, arrays
from elver.errors import BadInput
from elver.rods import STRAINS, Chebyshev, Legendre, Piecewise, PiecewiseConstant, PiecewiseLinear, Rod
from elver.statics.equilibrium import Equilibrium
from elver.system import State, System

__all__ = [
    "Resolution",
    "StrainResolution",
    "conclude",
    "excess_of",
    "positions",
    "resolution_of_equilibrium",
    "strain_by_strain",
]

Array = NDArray[np.float64]

_FORCES = 10.0  # energy and reactions may be off by so many times the tolerance: they follow strains, not positions


@dataclass(frozen=True)
class StrainResolution:
    """How well the functions of one strain of one rod resolve it."""

    rod: str
    strain: str
    """``torsion``, ``bending_y`` ... ``shear_z``."""
    functions: int
    """On each piece of the rod, or elements of a mesh."""
    error: float
    """Largest displacement [m] that what they leave out makes."""
    decay: float
    """Last coefficients of the strain over its largest: small where it is resolved."""
    needed: int | None
    """About how many would do; None where more would not help, or the number cannot be told."""


@dataclass(frozen=True)
class Resolution:
    """Estimated errors of a result, and what to do about them."""

    length: float
    """Longest rod [m], of which ``tolerance`` is a part."""
    position: float
    """Largest error of a position [m]."""
    tip: float
    """Largest error of the tip of a rod [m]."""
    energy: float
    """Error of the elastic energy, as a part of it."""
    reaction: float
    """Error of reactions of holds and closed loops, as a part of the largest; 0 without any."""
    functions: float
    """What strain functions contribute to ``position`` [m]."""
    nodes: float
    """What nodes contribute to ``position`` [m]."""
    step: float | None
    """What the time step contributes to ``position`` [m]; None where it was not asked for."""
    strains: tuple[StrainResolution, ...]
    """Each free strain of each rod, the worst first."""
    tolerance: float
    advice: str
    """One sentence: what suffices, or what limits and how much is needed."""

    @property
    def relative(self) -> float:
        """Largest error of a position over the length."""
        return self.position / self.length

    @property
    def sufficient(self) -> bool:
        """True when positions are right to the tolerance, energy and reactions to ten times the tolerance."""
        return excess_of(self.relative, self.energy, self.reaction, self.tolerance) <= 1.0

    def __str__(self) -> str:
        return self.advice


def excess_of(relative: float, energy: float, reaction: float, tolerance: float) -> float:
    """Largest error in units of what is allowed."""
    return max(relative, energy / _FORCES, reaction / _FORCES) / tolerance


# Equilibria -------------------------------------------------------------------------------------------------


def resolution_of_equilibrium(found: Equilibrium, tolerance: float) -> Resolution:
    """Estimated errors of an equilibrium."""
    system, u = found.system, found.inputs
    if not system.mechanism.rods:
        raise BadInput("check_resolution: this system has no rods, so there are no strain functions to check")
    fine, denser = refine(system), refine(system, functions=False)
    richer, _ = balanced(fine.system, fine.state(found.state), u)
    dense, _ = balanced(denser.system, denser.state(found.state), u)
    ends = _tips(system, found.state, u)
    total = max(
        _distance(fine.system, fine.state(found.state), richer, u), _apart(ends, _tips(fine.system, richer, u))
    )
    nodes = max(
        _distance(denser.system, denser.state(found.state), dense, u), _apart(ends, _tips(denser.system, dense, u))
    )
    tip = _apart(ends, _tips(fine.system, richer, u))
    energies = [_elastic(system, found.state, u), _elastic(fine.system, richer, u)]
    energy = abs(energies[1] - energies[0]) / max(*map(abs, energies), 1e-300)
    reaction = _reactions(system, found.state, richer)
    length = core(system).assembly.length
    if energies[1] < 1e-14 * core(system).assembly.energy:
        energy = 0.0
    excess = excess_of(total / length, energy, reaction, tolerance)
    strains = strain_by_strain(system, fine, found.state, richer, u, excess)
    errors = {"position": total, "tip": tip, "energy": energy, "reaction": reaction, "nodes": nodes}
    return conclude(system, length, errors, strains, tolerance)


def positions(system: System, states: list[State], u: Array) -> Array:
    """Positions of all frames, (states, frames, 3)."""
    all_arrays: list[Arrays] = [arrays(state) for state in states]
    base, twist, q = (np.array([getattr(a, name) for a in all_arrays]) for name in ("base", "twist", "q"))
    return observe_states(system, base, twist, q, np.tile(u, (len(states), 1))).position


def _distance(system: System, a: State, b: State, u: Array) -> float:
    """Largest distance [m] of a frame in two states."""
    one, two = positions(system, [a, b], u)
    return float(np.max(np.linalg.norm(one - two, axis=1), initial=0.0))


def _tips(system: System, state: State, u: Array) -> Array:
    """Positions of the tips of all rods, (rods, 3)."""
    frames = [at.frames[-1] for at in core(system).assembly.rods.values()]
    return positions(system, [state], u)[0, frames]


def _apart(a: Array, b: Array) -> float:
    return float(np.max(np.linalg.norm(a - b, axis=1), initial=0.0))


def _elastic(system: System, state: State, u: Array) -> float:
    a = arrays(state)
    return float(observe_states(system, a.base[None], a.twist[None], a.q[None], u[None]).energy[0, 1])


def _reactions(system: System, state: State, finer: State) -> float:
    """Largest change of a multiplier over the largest of its unit."""
    units = np.array([unit for _, unit in system.multipliers])
    worst = 0.0
    for unit in set(units.tolist()):
        a, b = state.multipliers[units == unit], finer.multipliers[units == unit]
        if np.max(np.abs(b)) > 1e-9 * core(system).assembly.energy / core(system).assembly.length:
            worst = max(worst, float(np.max(np.abs(a - b)) / np.max(np.abs(b))))
    return worst


# Strain by strain -------------------------------------------------------------------------------------------


def strain_by_strain(
    system: System, fine: Refinement, state: State, richer: State, u: Array, excess: float
) -> tuple[StrainResolution, ...]:
    """What the functions of each strain leave out, and how many would do."""
    carried = fine.state(state)
    groups = [(rod, c) for rod in system.mechanism.rods for c in range(6) if rod.counts[c]]
    trials, kept = [richer], []
    for rod, c in groups:
        own = _own(fine.system, fine.rods[rod], c)
        q = richer.q.copy()
        q[own] = carried.q[own]
        trials.append(richer.with_(q=q))
        kept.append(own)
    seen = positions(fine.system, trials, u)
    effect = np.linalg.norm(seen[1:] - seen[0], axis=2).max(axis=1)
    found = []
    for (rod, c), own, error in zip(groups, kept, effect, strict=True):
        functions = _functions(rod, c)[0]
        decay, needed = _decay(rod, c, state.q[system.coordinates(rod)]), None
        if excess > 1.0 and error > 0.2 * effect.max():
            needed = _needed(fine, rod, c, richer, own, u, excess)
        found.append(StrainResolution(rod.name, STRAINS[c], functions, float(error), decay, needed))
    return tuple(sorted(found, key=lambda one: -one.error))


def _own(system: System, rod: Rod, component: int) -> NDArray[np.int64]:
    """Coordinates of one strain of a rod."""
    return system.coordinates(rod).start + np.flatnonzero(rod.component == component)


def _functions(rod: Rod, component: int) -> tuple[int, str]:
    """Functions of a strain on each piece with "functions", or the elements of a mesh with "elements"."""
    basis = rod.basis
    if isinstance(basis, PiecewiseConstant | PiecewiseLinear):
        return len(basis.breaks(1.0)) + 1, "elements"
    if isinstance(rod.expansion, Piecewise):
        return max(int(own.counts[component]) for *_, own in rod.expansion.pieces), "functions"
    return rod.counts[component], "functions"


def _decay(rod: Rod, component: int, q: Array) -> float:
    """Size of the last two coefficients of a strain over the largest: 1 says that nothing falls."""
    count, family = _functions(rod, component)
    own = np.abs(q[rod.component == component])
    if family == "elements" or count < 3 or not own.max(initial=0.0) or own.size % count:
        return 1.0 if own.max(initial=0.0) else 0.0
    size = own.reshape(-1, count).max(axis=0)
    return float(size[-2:].max() / size.max())


def _needed(
    fine: Refinement, rod: Rod, component: int, richer: State, own: NDArray[np.int64], u: Array, excess: float
) -> int | None:
    """About how many functions bring the error of a strain down by ``excess``, from how its finer coefficients fall."""
    count, family = _functions(rod, component)
    if family == "elements":
        order = 2.0 if isinstance(rod.basis, PiecewiseConstant) else 4.0
        return int(np.ceil(count * (2.0 * excess) ** (1.0 / order)))
    many, _ = _functions(fine.rods[rod], component)
    plain = isinstance(rod.basis, Legendre | Chebyshev) or (
        isinstance(rod.basis, Piecewise) and isinstance(rod.basis.basis, Legendre | Chebyshev)
    )
    if not plain or own.size % many:
        return None
    trials = [richer]
    for n in range(count, many):
        q = richer.q.copy()
        part = q[own].reshape(-1, many)
        part[:, n:] = 0.0
        q[own] = part.ravel()
        trials.append(richer.with_(q=q))
    seen = positions(fine.system, trials, u)
    left = np.linalg.norm(seen[1:] - seen[0], axis=2).max(axis=1)
    left = np.maximum.accumulate(left[::-1])[::-1]  # what is left out does not grow with more functions
    enough = np.flatnonzero(left <= left[0] / excess)
    if enough.size:
        return count + int(enough[0])
    rate = (left[-1] / left[0]) ** (1.0 / (left.size - 1))
    return int(np.ceil(count + np.log(1.0 / excess) / np.log(min(rate, 0.95))))


# Words ------------------------------------------------------------------------------------------------------


def conclude(
    system: System, length: float, errors: dict[str, float], strains: tuple[StrainResolution, ...], tolerance: float,
    step: float | None = None,
) -> Resolution:  # fmt: skip
    """The estimates with their advice; ``errors`` has position, tip, energy, reaction and nodes."""
    functions = max(errors["position"] - errors["nodes"] - (step or 0.0), 0.0)
    values: dict[str, Any] = {**errors, "functions": functions, "step": step}
    about = Resolution(length=length, strains=strains, tolerance=tolerance, advice="", **values)
    return Resolution(length=length, strains=strains, tolerance=tolerance, advice=_advice(system, about), **values)


def _advice(system: System, about: Resolution) -> str:
    """One sentence on what limits."""
    off = [f"positions by about {_percent(about.relative)} of the length ({about.position:.1g} m)"]
    for name, value in (("energy", about.energy), ("reactions", about.reaction)):
        if value > _FORCES * about.tolerance:
            off.append(f"{name} by {_percent(value)}")
    if about.sufficient:
        return f"functions and nodes suffice: {off[0].replace('positions by', 'positions off by')}"
    told = f"off: {', '.join(off)}"
    parts = {"functions": about.functions, "nodes": about.nodes, "step": about.step or 0.0}
    worst = max(parts, key=lambda name: parts[name])
    for rod in system.mechanism.rods:
        if worst != "step" and rod.hidden_jumps:
            places_told = [float(f"{s:.9g}") for s in rod.hidden_jumps]
            return f"a function of {rod.name!r} jumps: give it breaks={places_told} m; {told}"
    if worst == "nodes":
        longest = max(system.mechanism.rods, key=lambda one: one.length)
        return f"nodes are too few (nodes={2 * (longest.nodes or 0)} on {longest.name!r} would do better); {told}"
    if worst == "step":
        return f"the time step is too long (halve it); {told}"
    one = about.strains[0]
    rod = next(rod for rod in system.mechanism.rods if rod.name == one.rod)
    what = "elements" if isinstance(rod.basis, PiecewiseConstant | PiecewiseLinear) else "functions"
    needs = f"{one.strain} of {one.rod!r} needs "
    needs += f"about {one.needed} {what}, has {one.functions}" if one.needed else f"more {what} than {one.functions}"
    places_inside = _kinks(system, rod)
    if places_inside and (one.needed or 99) > 2 * one.functions:
        needs += f", or breaks={places_inside} m where loads, joints or actuators begin, end or attach"
    return f"{needs}; {told}"


def _percent(part: float) -> str:
    return f"{100.0 * part:.2g} %"


def _kinks(system: System, rod: Rod) -> list[float]:
    """Places [m] inside a rod where strains may jump or bend and its functions may not."""
    found = [place.s for group in places(system) for place in group[rod]]
    return sorted({round(s, 9) for s in found if min(abs(s - end) for end in rod.piece_ends) > 1e-9 * rod.length})


