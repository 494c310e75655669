"""Which equilibrium is meant: the stable one that a robot comes to from where it starts.

The full load is tried first. Where Newton fails, or lands on a shape that tips over, closures are closed by the
shortest way and the loads are raised from zero in steps that are halved where stability is lost. There the structure
buckles or snaps: the potential is descended (:mod:`elver.statics.settling`) to the minimum beside, and the loads go on
from there. From a guess the descent begins at the guess, under the full load.

``branch="connected"`` follows the equilibria themselves, stable or not, for studies of branches.

Theory: docs/theory/statics.md, eq. (rest), (settling), (closing).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import core
from elver.dynamics.quantities import overload
from elver.dynamics.states import Arrays
from elver.errors import BadInput, NotConverged, positive, warn
from elver.guards import guarded
from elver.mechanism import Joint
from elver.statics.closing import REACHED, close, project
from elver.statics.equilibrium import Equilibrium, Solver, copied, finish, newton
from elver.statics.gaps import cannot_close, gap
from elver.statics.moving import at_rest, carried, check_steady, inputs_at, ramped_twist
from elver.statics.settling import constrained, settle
from elver.statics.stretch import inside_out, warn_of_stretch
from elver.statics.verdict import flutter, free_motions
from elver.system import Inputs, State, System

__all__ = ["BranchName", "Search", "equilibrium", "find", "stands"]

Array: TypeAlias = NDArray[np.float64]
BranchName: TypeAlias = Literal["stable", "connected"]

_SMALLEST_LOAD_STEP = 1.0 / 1024.0
_SMALLEST_STABLE_STEP = 1.0 / 256.0  # by which a load may pass the one at which stability is lost
_AFTER_A_SNAP = 1.0 / 16.0  # load step
_MOST_FAILURES = 3  # of descents, in raising one load
_FARTHEST = 3.0  # change of a coordinate in one load step: further is another shape
# Damping ratio below that of any material: what it holds is not worth another shape, nor a warning.
_SLIGHT = 1e-2
_NEAR = 0.1  # residual from which Newton may end a descent that came no further
_CLOSED = 1e-9  # gap of closures that is none, in rad or lengths of the robot
_REASONS = {
    -1: "did not converge",
    -2: "met a singular stiffness (a limit point, or a motion that nothing resists)",
    -3: "met numbers that are not finite",
}


@guarded
def equilibrium(
    system: System,
    inputs: Inputs | None = None,
    guess: State | Equilibrium | None = None,
    *,
    branch: BranchName = "stable",
    tolerance: float = 1e-10,
    max_iterations: int = 40,
) -> Equilibrium:
    """State at rest in balance with ``inputs`` (signals are taken at the time of the guess, 0 s by default).

    For robots with loops this is the forward geometrico-static model: ``equilibrium(...).pose(platform)``. ``guess`` is
    where the search starts: a nearby state or equilibrium; rods at rest and joints at their start by default, which may
    be off by tens of degrees. A guess that misses its closures is closed by the shortest way.

    ``branch="stable"`` is the minimum of the potential that the robot comes to from there: columns buckle, arches snap.
    ``"connected"`` is the equilibrium that load steps from rest (or Newton from the guess) lead to, stable or not, such
    as the straight column beyond its Euler load. :func:`elver.equilibria` finds several.

    An unstable shape, where none that is stable was found (unless a damping ratio of 1 % would hold its flutter), and a
    stretch outside 0.5 to 2 are warned about. Raises :class:`NotConverged` when there is no equilibrium to be found,
    with the loop that does not close and its gap in m and rad; the error's ``result`` is the equilibrium at the largest
    part of the loads that was reached. Without a guess, :class:`BadInput` names the motions that nothing resists.
    """
    found = find(system, inputs, guess, branch=branch, tolerance=tolerance, max_iterations=max_iterations)
    if branch == "stable" and not stands(found):
        warn(
            f"equilibrium: the shape found is unstable (a motion of {found.motion} grows), and none that is stable was "
            'reached; lighten the load, give a guess=..., or look among equilibria(system, ...); branch="connected" '
            "takes it without this warning",
        )
    warn_of_stretch(system, found.state.q, "equilibrium")
    return found


def find(
    system: System,
    inputs: Inputs | None = None,
    guess: State | Equilibrium | None = None,
    *,
    branch: BranchName = "stable",
    tolerance: float = 1e-10,
    max_iterations: int = 40,
) -> Equilibrium:
    """:func:`equilibrium` without its warnings, for those who look at ``stable`` themselves."""
    positive("tolerance", tolerance, "(relative residual)")
    if max_iterations < 1:
        raise BadInput(f"max_iterations = {max_iterations}: allow at least one Newton step")
    if branch not in ("stable", "connected"):
        raise BadInput(f'branch = {branch!r}: choose "stable" or "connected"')
    tied = any("world" in (joint.a.part, joint.b.part) for joint in system.mechanism.tree.cuts)
    if system.free and not system.mechanism.holds and not tied:
        raise BadInput(
            "equilibrium: the base is free and nothing holds it, so no pose is better than another; "
            "use Mechanism.clamped(rod), or add holds=[Hold(...)]"
        )
    start = carried(system, system.check_state(guess or system.rest()))
    signals = system.signals(inputs)
    target = inputs_at(system, signals, start.time)
    search = Search(system, target, start.time, Solver(system, tolerance, max_iterations))
    found = search.stable(start, guess) if branch == "stable" else search.connected(start, guess)
    if guess is None and found.stable is not True:
        here = constrained(search.solver.core, at_rest(found.state), target)
        if free := free_motions(here):
            raise BadInput(
                f"equilibrium: nothing resists {free}, so no position is better than another; add a spring, gravity "
                "or an imposed motion, or take the equilibrium nearest to a state with guess=assemble(system)"
            )
    check_steady(search.solver.core, found.state, target, signals)
    return found


def stands(found: Equilibrium | None) -> bool:
    """True for an equilibrium that does not tip over: stable, neutral, or in a flutter that slight damping holds."""
    if found is None or found.stable is not False:
        return found is not None
    kernels, a = core(found.system), at_rest(found.state)
    return flutter(kernels.tangent(a, found.inputs, (1.0, 0.0, 0.0), jets=1), kernels, a, found.inputs) < _SLIGHT


class Search:
    """The equilibria of one system under one load: by Newton, by descent, by load steps."""

    def __init__(self, system: System, target: Array, time: float, solver: Solver) -> None:
        self.system, self.target, self.time, self.solver = system, target, time, solver
        self.refused = ""  # why the last equilibrium was none that a rod can take

    # One at a time ------------------------------------------------------------------------------------------------

    def newton(self, a: Arrays, u: Array | None = None) -> Equilibrium | None:
        """Newton from ``a``, which is left alone; None where it fails or turns a rod inside out."""
        u = self.target if u is None else u
        return self._sane(newton(self.system, copied(a), u, self.time, self.solver))

    def descend(self, a: Arrays, u: Array | None = None) -> Equilibrium | None:
        """The minimum of the potential below ``a``; None where descent fails or turns a rod inside out."""
        u = self.target if u is None else u
        settled = settle(self.solver.core, copied(a), u, self.solver.tolerance)
        if settled is None or not np.isfinite(settled.residual):
            return None
        if not settled.exact:
            return self.newton(settled.a, u) if settled.residual < _NEAR else None
        return self._sane(
            finish(self.system, settled.a, u, self.time, settled.steps, self.solver, settled.residual)
        )

    def _sane(self, found: Equilibrium | None) -> Equilibrium | None:
        if found is not None and (wrong := inside_out(self.system, found.state.q)):
            self.refused = wrong
            return None
        return found

    def closed(self, start: State, guess: State | Equilibrium | None) -> Arrays:
        """The start with its closures met: a guess by the shortest way, else with rods bent as little as they must."""
        kernels, system = self.solver.core, self.system
        rest = system.rest(start.time).with_(g=start.g) if system.free else system.rest(start.time)
        first = at_rest(start if guess is not None else rest)
        none = system.ramped(self.target, 0.0)
        if not kernels.rows or gap(kernels, first, none) <= _CLOSED:
            return first
        if guess is not None:
            near = project(kernels, first, none)
            if gap(kernels, near, none) <= _CLOSED:
                return near
        first = close(kernels, first, none)
        if gap(kernels, first, none) > REACHED:
            raise NotConverged(f"equilibrium: {cannot_close(kernels, first, none)}", history=self.solver.norms)
        return first

    # The one that is meant ----------------------------------------------------------------------------------------

    def stable(self, start: State, guess: State | Equilibrium | None) -> Equilibrium:
        """The stable equilibrium that is reached from the start; an unstable one where none was found."""
        found = self.newton(at_rest(start))
        if found is not None and stands(found):
            return found
        first = self.closed(start, guess)
        others = [found, self.newton(first) if self.solver.core.rows else None]
        if stands(others[-1]):
            return others[-1]  # type: ignore[return-value]
        trouble: NotConverged | None = None
        if guess is not None:
            others.append(self.descend(first))
        if not stands(others[-1]):
            try:
                others.append(self.raise_loads(first, watch=True))
            except NotConverged as error:
                trouble = error
        if not stands(others[-1]) and guess is None:
            others.append(self.descend(first))
        for above in [one for one in others if one is not None]:
            if stands(others[-1]):
                break
            others.append(self.descend(at_rest(above.state)))
        return self._chosen(others, trouble)

    def connected(self, start: State, guess: State | Equilibrium | None) -> Equilibrium:
        """The equilibrium to which load steps from rest, or Newton from the guess, lead, stable or not."""
        found = self.newton(at_rest(start))
        if found is not None and (found.stable is True or guess is not None):
            return found
        first = self.closed(start, guess)
        near = self.newton(first) if self.solver.core.rows else None
        if near is not None and (near.stable is True or guess is not None):
            return near
        trouble, last = None, None
        try:
            last = self.raise_loads(first, watch=False)
            if last.stable is True:
                return last
        except NotConverged as error:
            trouble = error
        # An unstable shape that rods reach from rest is an answer; of joints it is only where Newton happened to land.
        joints = any(isinstance(part, Joint) for part in self.system.blocks)
        low = self.descend(first) if joints or guess is not None else None
        return low if low is not None and stands(low) else self._chosen([last, found, near, low], trouble)

    def _chosen(self, others: list[Equilibrium | None], trouble: NotConverged | None) -> Equilibrium:
        """The first that stands, else the first found; raises what went wrong where there is none."""
        found = [one for one in others if one is not None]
        if standing := [one for one in found if stands(one)]:
            return standing[0]
        if found:
            return found[0]
        if self.refused:
            raise NotConverged(
                f"equilibrium: in the only balance found, {self.refused}; a linear law has no bottom: lighten the "
                "load, or check units, radius and modulus",
                history=self.solver.norms,
                result=None if trouble is None else trouble.result,
            )
        assert trouble is not None
        raise trouble

    # Load steps ---------------------------------------------------------------------------------------------------

    def raise_loads(self, a: Arrays, watch: bool) -> Equilibrium:
        """Raise all inputs from zero at ``a`` to their value, with steps that adapt to Newton.

        Where stability is lost (if ``watch``) the step is halved, and what then still gives way falls to the minimum
        beside.
        """
        system, solver = self.system, self.solver
        reached, step, total, failures, full = 0.0, 0.25, 0, 0, a.twist
        last: Equilibrium | None = None
        if watch:
            none, a = system.ramped(self.target, 0.0), replace(a, twist=ramped_twist(full, 0.0))
            last = self.newton(a, none)
            last = last if last is not None and stands(last) else self.descend(a, none)
            a = a if last is None else at_rest(last.state)
        steady = stands(last)
        while reached < 1.0:
            step = min(step, 1.0 - reached)
            u = system.ramped(self.target, reached + step)
            trial = replace(copied(a), twist=ramped_twist(full, reached + step))
            status = solver(trial, u)
            if status >= 0 and self._leap(a, trial) < _FARTHEST:
                found = self._sane(finish(system, trial, u, self.time, total + status, solver))
                if found is not None and (stands(found) or not (watch and steady)):
                    a, reached, total, last, steady = trial, reached + step, total + status, found, stands(found)
                    step *= 2.0 if status <= 6 else 1.0
                    continue
            if watch and failures < _MOST_FAILURES and step <= _SMALLEST_STABLE_STEP:
                fallen = self.descend(replace(a, twist=trial.twist), u)
                if fallen is not None and stands(fallen):
                    total += fallen.iterations
                    a, reached, last, steady = at_rest(fallen.state), reached + step, fallen, True
                    step = _AFTER_A_SNAP
                    continue
                failures, again, steady = failures + 1, steady, False
                if again:  # nothing stable beside: on along the branch
                    continue
            step *= 0.5
            if step < _SMALLEST_LOAD_STEP:
                raise self._stuck(a, reached, status, last)
        assert last is not None
        return last

    def _leap(self, a: Arrays, b: Arrays) -> float:
        """Largest change of a coordinate in its unit, to notice a jump between branches."""
        k = self.solver.core
        return float(np.max(np.abs(b.q[0] - a.q[0]) / k.assembly.scale[k.coordinates - k.n :], initial=0.0))

    def _stuck(self, a: Arrays, reached: float, status: int, last: Equilibrium | None) -> NotConverged:
        """What to say of a load that could not be raised further."""
        why = self.refused or f"Newton {_REASONS.get(status, 'jumped to another shape')}"
        norms = self.solver.norms or (float("nan"),)
        here = constrained(self.solver.core, a, self.system.ramped(self.target, reached))
        free, idle = free_motions(here), ", ".join(here.idle_rows())
        none = self.system.ramped(self.target, 0.0)
        if last is None and not (free or idle) and gap(self.solver.core, a, none) > _CLOSED:
            # nearly reached, and no more: Newton was asked for what cannot be
            return NotConverged(f"equilibrium: {cannot_close(self.solver.core, a, none)}", history=norms)
        return NotConverged(
            f"equilibrium: {why} beyond {100.0 * reached:.1f} % of the inputs "
            f"(residual {norms[-1]:.1e}, wanted {self.solver.tolerance:.0e}); "
            + (f"there nothing resists {free}; " if free else "")
            + (f"there {idle} hold what other closures and imposed motions hold already; " if idle else "")
            + (f"{fault}; " if (fault := self.solver.core.fault) else "")
            + (f"{much}; " if (much := overload(self.system, self.target)) else "")
            + "there may be no equilibrium beyond: "
            "follow the branch with continuation(...), or lighten the load; .result holds the last one found",
            history=norms,
            result=last,
        )
