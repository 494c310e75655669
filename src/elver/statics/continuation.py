"""Branches of equilibria in one input: pseudo-arc-length continuation through limit points.

The unknowns (coordinates, multipliers) and the input p move together along the branch: a tangent predictor, then
Newton on R = 0 with the plane equation t·(Δx, Δp) = Δs (Keller 1977). R is affine in every input, so ∂R/∂p is exact.
On the way the eigenvalues of the constrained Hessian are counted: a change with a turning point of p marks a limit
point, a change without one a branch point, whose critical mode starts the crossing branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Arrays, core, state_from
from elver.errors import BadInput, NotConverged, positive
from elver.statics.closing import retract
from elver.statics.equilibrium import Equilibrium, _at_rest, _reduced, _symmetric, equilibrium
from elver.system import Inputs, System

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


@dataclass(frozen=True, eq=False)
class Branch:
    """Equilibria along a branch, in order, with the value of the input and their stability."""

    equilibria: tuple[Equilibrium, ...]
    values: Array
    stable: NDArray[np.bool_]
    points: tuple[BranchPoint, ...]

    @property
    def tips(self) -> Array:
        """Positions of the tip along the branch, (points, 3) m."""
        return np.array([e.tip[:3, 3] for e in self.equilibria])


class _Path:
    """Residual, Jacobian and retraction in scaled unknowns y = (coordinates, multipliers, input)."""

    def __init__(self, system: System, channel: int, u: Array, unit: float) -> None:
        self.system, self.core, self.channel, self.u, self.unit = (
            system,
            core(system),
            channel,
            u.copy(),
            unit,
        )
        k = self.core
        forces = np.full(k.rows, k.assembly.energy / k.assembly.length)
        self.scale = np.concatenate([k.assembly.scale, forces, [unit]])
        self.rows = np.concatenate([k.assembly.scale / k.assembly.energy, np.ones(k.rows)])
        # Arc length counts motion and input; reactions follow, and stiff ones must not shorten the steps.
        self.metric = np.concatenate([np.ones(k.coordinates), np.zeros(k.rows), [1.0]])

    def evaluate(self, a: Arrays, p: float) -> tuple[Array, Array]:
        """Scaled residual (m,) and Jacobian (m, m + 1)."""
        k, u = self.core, self.u
        u[self.channel] = p
        K = k.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
        R = k.residual(a, u, jets=1)
        slope = k.input_slope(a, u, self.channel)
        J = np.column_stack([K, slope])
        return self.rows * R, self.rows[:, None] * J * self.scale

    def move(self, a: Arrays, p: float, dy: Array) -> tuple[Arrays, float]:
        """The point at scaled increment ``dy``."""
        step = self.scale * dy
        b = retract(self.core, a, step[: self.core.coordinates])
        return replace(b, multipliers=a.multipliers + step[self.core.coordinates : -1]), p + step[-1]

    def spectrum(self, a: Arrays, p: float) -> tuple[Array, Array]:
        """Eigenvalues of the constrained Hessian (ascending real parts) and modes in scaled unknowns."""
        self.u[self.channel] = p
        K, Z = _reduced(self.core.tangent(a, self.u, (1.0, 0.0, 0.0), jets=1), self.core)
        if _symmetric(K):
            values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        else:
            complex_values, complex_vectors = np.linalg.eig(K)
            order = np.argsort(complex_values.real)
            values, vectors = complex_values.real[order], complex_vectors.real[:, order]
        return values, Z @ vectors

    def result(
        self, a: Arrays, p: float, stable: bool, iterations: int, residual: float, t: float
    ) -> Equilibrium:
        u = self.u.copy()
        u[self.channel] = p
        return Equilibrium(self.system, state_from(a, t), u, stable, iterations, residual)


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

    ``start`` is the first value of the input, an equilibrium, or a branch point whose crossing branch is wanted.
    ``step`` is the arc length of one step, in radians of bending over the rod (or the same fraction of the range of
    the input). The branch ends when the input passes ``stop`` (or leaves ``bounds``, by default the range from start
    to stop widened tenfold) or after ``max_points``. Other inputs stay as given in ``inputs``.
    """
    positive("step", step, "(arc length, rad)")
    positive("tolerance", tolerance, "(relative residual)")
    if max_points < 2:
        raise BadInput(f"max_points = {max_points}: a branch needs at least 2")
    channel = system._channel(over)
    signals = list(system.signals(inputs))
    direction = None
    if isinstance(start, BranchPoint):
        first, direction = start.equilibrium, start.mode
    elif isinstance(start, Equilibrium):
        first = start
    else:
        signals[channel] = float(start)
        keyed = dict(zip(system.channels, signals, strict=True))
        first = equilibrium(system, keyed, tolerance=tolerance)
    u = first.inputs.copy()
    begin = float(u[channel])
    if not np.isfinite(stop) or (stop == begin and direction is None):
        raise BadInput(f"stop = {stop:g}: give a finite value of the input other than its start {begin:g}")
    span = abs(stop - begin) or max(abs(stop), 1.0)
    low, high = bounds or (min(begin, stop) - 10.0 * span, max(begin, stop) + 10.0 * span)
    path = _Path(system, channel, u, span)
    return _follow(path, first, direction, begin, stop, (low, high), step, max_points, tolerance)


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
    a, p = _at_rest(first.state), begin
    values, _ = path.spectrum(a, p)
    t = np.zeros(path.scale.size)
    t[-1] = 1.0 if stop > begin else -1.0
    if direction is not None:
        t[:] = 0.0
        t[: direction.size] = direction / np.sqrt(direction @ (path.metric * direction))
    else:
        t = _tangent(path, a, p, t)
    time = first.state.time
    found = [path.result(a, p, bool(values[0] > 0.0), first.iterations, first.residual, time)]
    parameters, stables = [p], [bool(values[0] > 0.0)]
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
        stable = bool(values[0] > 0.0)
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
    critical = int(np.argmin(np.abs(spectrum)))
    mode = np.zeros(path.scale.size)
    mode[: modes.shape[0]] = modes[:, critical]
    at = path.result(best, best_p, bool(spectrum[0] > 0.0), 0, residual, time)
    return BranchPoint("limit" if turned else "branch", at, best_p, mode)
