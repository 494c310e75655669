"""Branches of equilibria in one input, or in several that move together: pseudo-arc-length continuation.

The unknowns (coordinates, multipliers) and the input p move together along the branch: a tangent predictor, then
Newton on R = 0 with the plane equation t·(Δx, Δp) = Δs (Keller 1977). R is affine in loads and efforts, and imposed
coordinates have columns of their own in its tangent, so ∂R/∂p is exact. Branches pass limit points, where the input
turns back: snaps of rods, dead centres of linkages.

On the way the eigenvalues of the constrained Hessian are counted: a change with a turning point of p marks a limit
point, a change without one a branch point, whose critical mode starts the crossing branch. Which kind of singularity
of a robot it is, :func:`elver.singularity` says.

Theory: docs/theory/statics.md, eq. (arc-length), (second-variation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import core
from elver.dynamics.states import Arrays, as_state
from elver.errors import BadInput, NotConverged, finite, positive
from elver.guards import guarded
from elver.mechanism import Part
from elver.rods.fields import Station
from elver.statics.closing import retract
from elver.statics.equilibrium import Equilibrium
from elver.statics.moving import at_rest
from elver.statics.search import equilibrium
from elver.statics.verdict import reduced, symmetric
from elver.system import Inputs, System
from elver.words import describe

__all__ = ["Branch", "BranchPoint", "continuation"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BranchPoint:
    """A limit point (the input turns back) or a branch point (another branch crosses)."""

    kind: Literal["limit", "branch"]
    equilibrium: Equilibrium
    value: float
    """Input at the point, in the unit of its channel."""
    mode: Array
    """Critical direction in scaled unknowns: start :func:`continuation` from this point to follow it."""

    def __repr__(self) -> str:
        return f"BranchPoint: {self.kind} point where the input is {self.value:.6g}"


@dataclass(frozen=True, eq=False)
class Branch:
    """Equilibria along a branch, in order, with the value of the input and their stability."""

    equilibria: tuple[Equilibrium, ...]
    values: Array
    stable: NDArray[np.bool_]
    points: tuple[BranchPoint, ...]

    def __repr__(self) -> str:
        special = ", ".join(f"{point.kind} point at {point.value:.4g}" for point in self.points[:3])
        ends = f"input {self.values[0]:.4g} to {self.values[-1]:.4g}" if self.values.size else "empty"
        stable = f"{int(np.sum(self.stable))} of {len(self.equilibria)} equilibria stable"
        return f"Branch: {ends}, {stable}" + (f", {special}" if special else "")

    @property
    def tips(self) -> Array:
        """Positions of the tip along the branch, (points, 3) m."""
        return np.array([e.tip[:3, 3] for e in self.equilibria])

    def positions(self, part: Part | str | None = None, at: Station | None = None) -> Array:
        """Positions of a body, or of a section of a rod (its tip by default), along the branch, (points, 3) m."""
        return np.array([e.pose(part, at)[:3, 3] for e in self.equilibria])


class _Path:
    """Residual, Jacobian and retraction in scaled unknowns y = (coordinates, multipliers, input).

    The input is that of the first channel; others move by ``rates`` per unit of it.
    """

    def __init__(self, system: System, rates: dict[int, float], u: Array, unit: float) -> None:
        self.system, self.core, self.rates, self.origin, self.unit = system, core(system), rates, u.copy(), unit
        self.channel = next(iter(rates))
        k = self.core
        forces = np.full(k.rows, k.assembly.energy / k.assembly.length)
        self.scale = np.concatenate([k.assembly.scale, forces, [unit]])
        self.rows = np.concatenate([k.assembly.scale / k.assembly.energy, np.ones(k.rows)])
        # Arc length counts motion and input; reactions follow, and stiff ones must not shorten the steps.
        self.metric = np.concatenate([np.ones(k.coordinates), np.zeros(k.rows), [1.0]])

    def inputs(self, p: float) -> Array:
        """All inputs where the first of those that move is at ``p``."""
        u = self.origin.copy()
        for channel, rate in self.rates.items():
            u[channel] += rate * (p - self.origin[self.channel])
        return u

    def evaluate(self, a: Arrays, p: float) -> tuple[Array, Array]:
        """Scaled residual (m,) and Jacobian (m, m + 1)."""
        k, u = self.core, self.inputs(p)
        K = k.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
        R = k.residual(a, u, jets=1)
        slope = sum(rate * k.input_slope(a, u, channel) for channel, rate in self.rates.items())
        J = np.column_stack([K, slope])
        return self.rows * R, self.rows[:, None] * J * self.scale

    def move(self, a: Arrays, p: float, dy: Array) -> tuple[Arrays, float]:
        """The point at scaled increment ``dy``."""
        step = self.scale * dy
        b = retract(self.core, a, step[: self.core.coordinates])
        return replace(b, multipliers=a.multipliers + step[self.core.coordinates : -1]), p + step[-1]

    def spectrum(self, a: Arrays, p: float) -> tuple[Array, Array]:
        """Eigenvalues of the constrained Hessian (ascending real parts) and modes in scaled unknowns."""
        K, Z = reduced(self.core.tangent(a, self.inputs(p), (1.0, 0.0, 0.0), jets=1), self.core)
        if symmetric(K):
            values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        else:
            complex_values, complex_vectors = np.linalg.eig(K)
            order = np.argsort(complex_values.real)
            values, vectors = complex_values.real[order], complex_vectors.real[:, order]
        return values, Z @ vectors

    def result(
        self, a: Arrays, p: float, stable: bool, iterations: int, residual: float, t: float
    ) -> Equilibrium:
        return Equilibrium(self.system, as_state(a, t), self.inputs(p), stable, iterations, residual)


@guarded
def continuation(
    system: System,
    over: Any,
    stop: float,
    start: float | Equilibrium | BranchPoint = 0.0,
    inputs: Inputs | None = None,
    *,
    step: float = 0.1,
    max_points: int = 200,
    tolerance: float = 1e-10,
    bounds: Sequence[float] | None = None,
) -> Branch:
    """Follow equilibria while the input ``over`` (a load, an actuator, or its name) runs toward ``stop``.

    Several inputs move together where ``over`` maps each to its rate: ``{left: 1.0, right: -1.0}``; start, stop and the
    values of the branch are then those of the first, and the others begin at their value in ``inputs``.
    ``start`` is the first value of the input, an equilibrium, or a branch point whose crossing branch is wanted.
    ``step`` is the arc length of one step, in radians of bending over the rod (or the same fraction of the range of
    the input). The branch ends when the input passes ``stop`` (or leaves ``bounds``, by default the range from start
    to stop widened tenfold) or after ``max_points``. Other inputs stay as given in ``inputs``.
    """
    positive("step", step, "(arc length, rad)")
    positive("tolerance", tolerance, "(relative residual)")
    if max_points < 2:
        raise BadInput(f"max_points = {max_points}: a branch needs at least 2")
    rates = _rates(system, over)
    channel = next(iter(rates))
    signals = list(system.signals(inputs))
    direction = None
    if isinstance(start, BranchPoint):
        first, direction = start.equilibrium, start.mode
    elif isinstance(start, Equilibrium):
        first = start
    else:
        signals[channel] = float(start)
        keyed = dict(zip(system.channels, signals, strict=True))
        first = equilibrium(system, keyed, tolerance=tolerance, branch="connected")
    u = first.inputs.copy()
    begin = float(u[channel])
    if not np.isfinite(stop) or (stop == begin and direction is None):
        raise BadInput(f"stop = {stop:g}: give a finite value of the input other than its start {begin:g}")
    span = abs(stop - begin) or max(abs(stop), 1.0)
    low, high = bounds or (min(begin, stop) - 10.0 * span, max(begin, stop) + 10.0 * span)
    path = _Path(system, rates, u, span)
    return _follow(path, first, direction, begin, stop, (low, high), step, max_points, tolerance)


def _rates(system: System, over: Any) -> dict[int, float]:
    """Rate of each channel that moves, per unit of the first."""
    if not isinstance(over, Mapping):
        return {system.input_index(over): 1.0}
    if not over:
        raise BadInput("over = {}: name at least one input and its rate")
    rates = {
        system.input_index(key): float(finite(f"rate of {describe(key)}", rate, (), "1")) for key, rate in over.items()
    }
    first = next(iter(rates.values()))
    if first == 0.0:
        raise BadInput("over: the rate of the first input is 0, so its value cannot tell where the branch is")
    return {channel: rate / first for channel, rate in rates.items()}


def _follow(
    path: _Path,
    first: Equilibrium,
    direction: Array | None,
    begin: float,
    stop: float,
    bounds: tuple[float, float],
    step: float,
    max_points: int,
    tolerance: float,
) -> Branch:
    a, p = at_rest(first.state), begin
    values, _ = path.spectrum(a, p)
    t = np.zeros(path.scale.size)
    t[-1] = 1.0 if stop > begin else -1.0
    if direction is not None:
        t[:] = 0.0
        t[: direction.size] = direction / np.sqrt(direction @ (path.metric * direction))
    else:
        t = _tangent(path, a, p, t)
    time = first.state.time
    stable = bool(np.all(values > 0.0))
    found = [path.result(a, p, stable, first.iterations, first.residual, time)]
    parameters, stables = [p], [stable]
    points: list[BranchPoint] = []
    negative = int(np.sum(values < 0.0))
    ds, crossing = step, direction is not None
    passed = 1.0 if stop > begin else -1.0
    while len(found) < max_points:
        corrected = _correct(path, a, p, t, ds, tolerance)
        if corrected is None:
            ds *= 0.5
            if ds < 1e-6 * step:
                branch = Branch(tuple(found), np.array(parameters), np.array(stables), tuple(points))
                raise NotConverged(
                    f"continuation: Newton failed at input {p:g} with an arc step of {ds:.1e} rad; "
                    "the branch may end here; .result holds the branch so far",
                    result=branch,
                )
            continue
        b, p_new, iterations, residual = corrected
        t_new = _tangent(path, b, p_new, t)
        if t_new @ (path.metric * t) < 0.5 and ds > 1e-3 * step:
            ds *= 0.5
            continue
        values_new, _ = path.spectrum(b, p_new)
        count = int(np.sum(values_new < 0.0))
        turned = t[-1] * t_new[-1] < 0.0
        if (turned or count != negative) and not crossing:
            points.append(_locate(path, (a, p, t, values), (b, p_new), ds, turned, tolerance, time))
        a, p, t, negative, crossing = b, p_new, t_new, count, False
        values = values_new
        stable = bool(np.all(values > 0.0))
        found.append(path.result(a, p, stable, iterations, residual, time))
        parameters.append(p)
        stables.append(stable)
        if iterations <= 3:
            ds = min(1.5 * ds, step)
        if (p - stop) * passed >= 0.0 or not bounds[0] <= p <= bounds[1]:
            break
    return Branch(tuple(found), np.array(parameters), np.array(stables), tuple(points))


def _tangent(path: _Path, a: Arrays, p: float, along: Array) -> Array:
    """Unit tangent of the branch with a positive component along ``along``."""
    _, J = path.evaluate(a, p)
    bordered = np.vstack([J, path.metric * along])
    rhs = np.zeros(along.size)
    rhs[-1] = 1.0
    try:
        t = np.linalg.solve(bordered, rhs)
    except np.linalg.LinAlgError:
        t = np.linalg.lstsq(bordered, rhs, rcond=None)[0]
    return t / np.sqrt(t @ (path.metric * t))


def _correct(
    path: _Path, a: Arrays, p: float, t: Array, ds: float, tolerance: float
) -> tuple[Arrays, float, int, float] | None:
    """Newton from the predictor in the plane t·Δy = ds."""
    total = ds * t
    for iteration in range(12):
        b, p_new = path.move(a, p, total)
        R, J = path.evaluate(b, p_new)
        residual = float(np.max(np.abs(R)))
        if not np.isfinite(residual):
            return None
        if residual < tolerance:
            return b, p_new, iteration, residual
        bordered = np.vstack([J, path.metric * t])
        try:
            correction = np.linalg.solve(bordered, np.append(-R, 0.0))
        except np.linalg.LinAlgError:
            return None
        size = float(np.max(np.abs(path.metric * correction)))
        if not np.isfinite(size) or size > 5.0 * max(ds, 0.05):
            return None
        total = total + correction
    return None


def _locate(
    path: _Path,
    before: tuple[Arrays, float, Array, Array],
    after: tuple[Arrays, float],
    ds: float,
    turned: bool,
    tolerance: float,
    time: float,
) -> BranchPoint:
    """Bisection in arc length for the point where an eigenvalue (or the rate of the input) changes sign."""
    a, p, t, values = before
    count = int(np.sum(values < 0.0))
    low, high = 0.0, ds
    best, best_p, residual = after[0], after[1], tolerance
    for _ in range(40):
        middle = 0.5 * (low + high)
        corrected = _correct(path, a, p, t, middle, tolerance)
        if corrected is None:
            break
        best, best_p, _, residual = corrected
        spectrum, _ = path.spectrum(best, best_p)
        if turned:
            crossed = _tangent(path, best, best_p, t)[-1] * t[-1] < 0.0
        else:
            crossed = int(np.sum(spectrum < 0.0)) != count
        low, high = (low, middle) if crossed else (middle, high)
        if high - low < 1e-9 * max(ds, 1e-3):
            break
    spectrum, modes = path.spectrum(best, best_p)
    mode = np.zeros(path.scale.size)
    if spectrum.size:
        mode[: modes.shape[0]] = modes[:, int(np.argmin(np.abs(spectrum)))]
    else:  # nothing moves but with the input: where that turns back, the parts go on along the branch
        mode[:] = _tangent(path, best, best_p, t)
    at = path.result(best, best_p, bool(np.all(spectrum > 0.0)), 0, residual, time)
    return BranchPoint("limit" if turned else "branch", at, best_p, mode)
