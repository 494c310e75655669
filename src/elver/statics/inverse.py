"""Inverse statics: which inputs put a part of the robot where it is wanted, the inverse geometrico-static model.

The wanted pose is a hold with zero reaction: R(x, u) = 0 and Ψ(x) = 0 with unknown inputs u of the chosen actuators.
Each step eliminates x and leaves A u = b, solved for the least-norm u with tensions ≥ 0 (quadratic program by active
set), which is the answer where several inputs do (Boyer 2023, A12). Efforts count from zero; imposed coordinates and
wound lengths count from where they were.

Far targets, and starts in which the inputs move nothing (straight rods), are reached from the other side: the part is
held at the target, and the reaction of the hold is taken away while the inputs follow.

Theory: docs/theory/statics.md, eq. (inverse-statics).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation import Imposed, SpooledTendon, Tendon
from elver.dynamics.core import Core, core
from elver.dynamics.states import Arrays
from elver.errors import BadInput, ElverWarning, NotConverged, positive, warn
from elver.guards import guarded
from elver.mechanism import Hold, Part
from elver.rods import Rod
from elver.rods.fields import Station
from elver.statics.closing import retract
from elver.statics.equilibria import equilibria
from elver.statics.equilibrium import Equilibrium, Solver, newton
from elver.statics.moving import at_rest
from elver.statics.search import BranchName, equilibrium, find
from elver.statics.target import Target, input_units, response
from elver.system import Inputs, State, System
from elver.words import brief

__all__ = ["InverseStatics", "inverse_statics"]

Array: TypeAlias = NDArray[np.float64]

# Inputs whose effect on the target is smaller than this part of the largest do not act on it: antagonist tendons
# pulled together do nothing, and must not be pulled for it.
_RANK = 1e-8
_LONGEST_MOVE = 1.0  # rad of bending over the rod, or of a joint, in one step


@brief
@dataclass(frozen=True, eq=False)
class InverseStatics:
    """Inputs that reach the target, the equilibrium they hold, and what is left of the gap."""

    inputs: dict[str, float]
    equilibrium: Equilibrium
    gap: float
    """Largest remaining distance [m] or angle [rad] to the target."""
    iterations: int


@guarded
def inverse_statics(
    system: System,
    position: Sequence[float | None] | None = None,
    orientation: ArrayLike | None = None,
    *,
    part: Part | str | None = None,
    at: Station = "tip",
    by: Sequence[Any] | None = None,
    inputs: Inputs | None = None,
    guess: Equilibrium | None = None,
    orientation_axes: str = "xyz",
    tolerance: float = 1e-9,
    max_iterations: int = 60,
) -> InverseStatics:
    """Inputs of the actuators ``by`` (all by default) that bring a part to ``position`` [m, world] and ``orientation``.

    ``part`` is a body, such as the platform, or a rod (the only one by default), of which ``at`` says the section;
    it may be a name. ``position`` may leave components free with None; ``orientation`` is the 3 x 3 world from part,
    of which rotations about ``orientation_axes`` count. Inputs of tendons stay ≥ 0. Where several inputs do, the least
    is returned: of efforts counted from zero, of imposed coordinates and wound lengths from the guess. The search
    begins at ``guess``, by default the equilibrium of ``inputs``; where no inputs reach the target,
    :class:`NotConverged` tells the gap that is left in m and rad. An answer that is unstable, where no stable shape was
    found at the target, is warned about.
    """
    positive("tolerance", tolerance, "m or rad")
    chosen = [system.input_index(key) for key in (system.actuators if by is None else by)]
    if not chosen:
        raise BadInput("inverse_statics: the system has no actuator; name the loads to use instead with by=[...]")
    part = system.mechanism.part(part) if isinstance(part, str) else (part or system.rod)
    hold = Hold(
        at=at if isinstance(part, Rod) else "tip",
        position=position,  # type: ignore[arg-type]
        orientation=orientation,  # type: ignore[arg-type]
        orientation_axes=orientation_axes,
        name="target",
        part=part,
    )
    now = guess or equilibrium(system, inputs)
    search = _Search(system, Target(system, hold), chosen, now, tolerance, max_iterations)
    near = search.toward_target(now)
    if not near.reached:
        near = search.best(near, search.from_target(now, hold))
    if near.reached and not near.stands and now.stable is not False:
        near = search.best(near, chain(search.fallen(near), search.from_target(now, hold, spread=True)))
    if near.reached:
        if not near.stands:
            warn(
                f"inverse_statics: with these inputs {part.name!r} is at the target, but stays there only as long as "
                f"nothing disturbs it (unstable: a motion of {near.equilibrium.motion} grows), and no stable shape was "
                "found there; choose another target, or hold it by feedback"
            )
        values = {system.channel_names[k]: float(near.equilibrium.inputs[k]) for k in chosen}
        return InverseStatics(values, near.equilibrium, near.history[-1], len(near.history) - 1)
    metres, radians = search.target.parted(near.gap)
    raise NotConverged(
        f"inverse_statics: {part.name!r} stays {metres:.2e} m and {radians:.2e} rad away from the target after "
        f"{len(near.history) - 1} steps" + (" with tensions >= 0" if np.any(search.pulls) else "") + "; the pose is "
        "likely out of reach: choose a nearer target or more actuators (.result is the nearest equilibrium found)",
        history=near.history,
        result=near.equilibrium,
    )


@dataclass(frozen=True, eq=False)
class _Near:
    """Where a search ended."""

    equilibrium: Equilibrium
    gap: Array
    distance: float
    history: list[float]
    reached: bool

    @property
    def stands(self) -> bool:
        """False where the equilibrium is unstable."""
        return self.equilibrium.stable is not False


class _Search:
    """The inputs ``chosen`` of a robot, on their way to a target."""

    def __init__(
        self, system: System, target: Target, chosen: list[int], start: Equilibrium, tolerance: float, most: int
    ) -> None:
        self.system, self.target, self.chosen, self.tolerance, self.most = system, target, chosen, tolerance, most
        self.core = core(system)
        parts = [system.channels[k] for k in chosen]
        self.pulls = np.array([isinstance(part, Tendon) for part in parts])
        # inputs and rows in units of a large change, inputs counted from where they cost nothing
        self.unit = input_units(self.core, chosen)
        self.rows = np.where(target.turns, 1.0, self.core.assembly.length)
        kept = [isinstance(part, Imposed | SpooledTendon) for part in parts]
        self.origin = np.where(kept, start.inputs[chosen], 0.0)
        self.solver = Solver(system, min(1e-10, 0.1 * tolerance), 40)

    def toward_target(self, now: Equilibrium) -> _Near:
        """From equilibrium to equilibrium, each nearer to the target."""
        target, kernels, chosen, unit = self.target, self.core, self.chosen, self.unit
        c, scale = kernels.coordinates, kernels.assembly.scale
        gap = target.gap(at_rest(now.state))
        history = [float(np.max(np.abs(gap), initial=0.0))]
        damping = 1e-2
        while len(history) <= self.most and history[-1] >= self.tolerance:
            # linear answer of the gap to the inputs
            answer = response(kernels, at_rest(now.state), now.inputs, chosen)
            A = target.gradient(at_rest(now.state)) @ answer[:c] * unit / self.rows[:, None]
            y = (now.inputs[chosen] - self.origin) / unit
            b = A @ y - gap / self.rows
            # the whole way to the least norm if that helps, else damped steps toward the target
            for attempt in range(14):
                if attempt == 0:
                    new = _least_norm(A, b, self.pulls)
                else:
                    new = _damped(A, b, y, damping * float(np.linalg.norm(A)), self.pulls)
                step = answer @ ((new - y) * unit)
                if float(np.max(np.abs(step[:c] / scale))) < _LONGEST_MOVE:
                    better = self._moved(now, step, self.origin + new * unit)
                    if better is not None:
                        moved_gap = target.gap(at_rest(better.state))
                        if np.linalg.norm(moved_gap / self.rows) < 0.999 * np.linalg.norm(gap / self.rows):
                            damping *= 0.25 if attempt == 1 else 1.0
                            break
                damping *= 4.0 if attempt else 1.0
            else:
                break
            now, gap = better, moved_gap
            history.append(float(np.max(np.abs(gap))))
        reached = history[-1] < self.tolerance
        return _Near(now, gap, float(np.linalg.norm(gap / self.rows)), history, reached)

    def best(self, near: _Near, starts: Iterator[Equilibrium]) -> _Near:
        """The first from ``starts`` that reaches the target and stands; else the nearest, be it ``near``."""
        for began in starts:
            again = self.toward_target(began)
            better = again.distance < near.distance if not (again.reached and near.reached) else again.stands
            near = again if better else near
            if near.reached and near.stands:
                break
        return near

    def _moved(self, now: Equilibrium, step: Array, values: Array) -> Equilibrium | None:
        """The equilibrium at other inputs, from where the linear model expects it."""
        u, c = now.inputs.copy(), self.core.coordinates
        u[self.chosen] = np.where(self.pulls, np.maximum(values, 0.0), values)
        expected = retract(self.core, at_rest(now.state), step[:c])
        expected.multipliers[:] += step[c:]
        return newton(self.system, expected, u, now.state.time, self.solver)

    def from_target(self, now: Equilibrium, hold: Hold, spread: bool = False) -> Iterator[Equilibrium]:
        """The part is held at the target first, driven coordinates let go; then the reaction of the hold is taken away
        while the inputs follow. Where that leads to equilibria, these.

        From straight rods it is rounding that chooses how they buckle, so there are several ways to be held
        (:meth:`_held`), and more with ``spread``: all stable ones that are found from spread starts.
        """
        system, chosen = self.system, self.chosen
        mechanism = replace(system.mechanism, holds=(*system.mechanism.holds, hold))
        let_go = [system.channels[k] for k in chosen if isinstance(system.channels[k], Imposed)]
        given = dict(zip(system.channels, now.inputs, strict=False))
        others = {part: value for part, value in given.items() if part not in let_go}
        free = [part for part in system.actuators if part not in let_go]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElverWarning)
            try:
                loose = System(mechanism, free, system.loads)
                kernels = core(System(mechanism, system.actuators, system.loads))
            except BadInput:
                return
        start = loose.rest(now.state.time).with_(q=now.state.q, g=now.state.g)
        shapes = self._spread(loose, others) if spread else self._held(loose, others, start)
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ElverWarning)
                held = next(shapes, None)
                if held is None:
                    return
                found = self._let_go(kernels, held, now, hold)
            if found is not None:
                yield found

    def fallen(self, near: _Near) -> Iterator[Equilibrium]:
        """The stable shape that an unstable one falls to under the same inputs."""
        given = dict(zip(self.system.channels, near.equilibrium.inputs, strict=True))
        try:
            yield find(self.system, given, near.equilibrium.state, tolerance=self.solver.tolerance)
        except (NotConverged, BadInput):
            return

    def _spread(self, loose: System, others: dict[Any, float]) -> Iterator[Equilibrium]:
        """Stable shapes held at the target, from spread starts."""
        try:
            yield from equilibria(loose, others, unstable=False, tolerance=self.solver.tolerance)
        except (NotConverged, BadInput):
            return

    def _held(self, loose: System, others: dict[Any, float], guess: State) -> Iterator[Equilibrium]:
        """Shapes held at the target: the one that comes first, a stable one near it, and the one found from rest."""
        ways: tuple[tuple[BranchName, bool], ...] = (("connected", True), ("stable", True), ("stable", False))
        for branch, near in ways:
            try:
                start = guess if near else None
                held = equilibrium(loose, others, start, branch=branch, tolerance=self.solver.tolerance)
            except (NotConverged, BadInput):
                continue
            guess = held.state
            yield held

    def _let_go(self, kernels: Core, held: Equilibrium, now: Equilibrium, hold: Hold) -> Equilibrium | None:
        """Take the reaction of the hold away while the inputs follow; None where that fails."""
        system, chosen = self.system, self.chosen
        first = sum(other.rows for other in system.mechanism.holds)
        is_hold = np.zeros(kernels.rows, dtype=bool)
        is_hold[first : first + hold.rows] = True
        keep = np.concatenate([np.ones(kernels.coordinates, dtype=bool), ~is_hold])
        a, u = at_rest(held.state), now.inputs.copy()
        for k in chosen:
            part = system.channels[k]
            if isinstance(part, Imposed):
                u[k] = held.state.q[system.coordinates(part.target).start + part.index]
        reaction, reached, step = a.multipliers[is_hold].copy(), 0.0, 1.0
        while reached < 1.0:
            step = min(step, 1.0 - reached)
            released = self._released(kernels, a, u, keep, is_hold, (1.0 - reached - step) * reaction)
            if released is None:
                step *= 0.5
                if step < 1e-2:
                    return None
                continue
            a, u = released
            reached += step
        own = replace(a, multipliers=a.multipliers[~is_hold])
        u[chosen] = np.where(self.pulls, np.maximum(u[chosen], 0.0), u[chosen])
        return newton(system, own, u, now.state.time, self.solver)

    def _released(
        self, kernels: Core, a: Arrays, u: Array, keep: NDArray[np.bool_], is_hold: NDArray[np.bool_], reaction: Array
    ) -> tuple[Arrays, Array] | None:
        """Newton for state and inputs with a given reaction of the hold."""
        c, E, L = kernels.coordinates, kernels.assembly.energy, kernels.assembly.length
        scale = np.concatenate([kernels.assembly.scale, np.full(kernels.rows, E / L)])
        weight = np.concatenate([kernels.assembly.scale / E, np.ones(kernels.rows)])
        a, u = replace(a, multipliers=a.multipliers.copy(), q=a.q.copy()), u.copy()
        a.multipliers[is_hold] = reaction
        driven = {int(column): c - kernels.n + int(k) for k, column, *_ in kernels.program.imposed}
        for _ in range(25):
            R = weight * kernels.residual(a, u, jets=1)
            if not np.all(np.isfinite(R)):
                return None
            if float(np.max(np.abs(R))) < 1e-9:
                return a, u
            matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
            slope = np.column_stack([kernels.input_slope(a, u, k) for k in self.chosen])
            J = weight[:, None] * np.hstack([(matrix * scale)[:, keep], slope * self.unit])
            move = np.linalg.lstsq(J, -R, rcond=1e-12)[0]
            size = float(np.max(np.abs(move[:c])))
            move *= min(1.0, 1.0 / max(size, 1e-300))
            full = np.zeros(c + kernels.rows)
            full[keep] = move[: -len(self.chosen)]
            for k, change in zip(self.chosen, move[-len(self.chosen) :] * self.unit, strict=True):
                u[k] += change
                if k in driven:
                    full[driven[k]] = change / scale[driven[k]]
            moved = retract(kernels, a, (scale * full)[:c])
            a = replace(moved, multipliers=a.multipliers + (scale * full)[c:])
        return None


def _damped(A: Array, b: Array, x: Array, mu: float, bounded: NDArray[np.bool_]) -> Array:
    """Minimum of |A y - b|² + μ² |y - x|² with y ≥ 0 where bounded (a Levenberg step)."""
    low = np.where(bounded, 0.0, -np.inf)
    stacked = np.vstack([A, mu * np.eye(x.size)])
    from scipy.optimize import lsq_linear  # slow to import, and needed here alone

    return np.asarray(lsq_linear(stacked, np.concatenate([b, mu * x]), bounds=(low, np.inf)).x)


def _least_norm(A: Array, b: Array, bounded: NDArray[np.bool_]) -> Array:
    """Least-norm x with A x = b and x ≥ 0 where bounded; the nearest to it where none satisfies A x = b."""
    size = max(float(np.max(np.abs(A))), 1e-300)
    free = np.linalg.pinv(A, rcond=_RANK) @ b
    if not np.any(free[bounded] < 0.0):
        return free
    # x = x⁺ - x⁻ with x⁻ only for unbounded entries; a small weight on x selects the least norm
    both = np.column_stack([A, -A[:, ~bounded]])
    weight = 1e-6 * size
    stacked = np.vstack([both, weight * np.eye(both.shape[1])])
    from scipy.optimize import nnls  # slow to import, and needed here alone

    found, _ = nnls(stacked, np.concatenate([b, np.zeros(both.shape[1])]))
    x = found[: A.shape[1]].copy()
    x[~bounded] -= found[A.shape[1] :]
    # polish on the active set: exact least norm among the inputs that are not zero
    on = (x > 0.0) | ~bounded
    polished = np.zeros_like(x)
    polished[on] = np.linalg.pinv(A[:, on], rcond=_RANK) @ b
    return x if np.any(polished[bounded] < 0.0) else polished
