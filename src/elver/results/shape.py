"""A state from a measured shape: coordinates fitted to points, poses or strains along rods, and poses of bodies.

Least squares by damped Gauss-Newton with exact derivatives (the twists of unit rates), of

    Σ |p - p*|²/L² + |log(R*ᵀR)|² + |L (K - K*)|² + |Γ - Γ*|²   + ε² |x - x_rest|² ,

all without unit. What the data say nothing about stays at rest: a line of points leaves the roll of its sections free,
and is then fitted without torsion beyond that of the rest shape. Of all ε the largest is taken that fits about as well
as the smallest, so that noise is not fitted by wild strains.

The start is near already: strains from the turn between neighbouring frames; along a line of points, frames that turn
with it and not about it (R. L. Bishop, "There is more than one way to frame a curve", Am. Math. Monthly 82, 1975).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import core
from elver.dynamics.quantities import nodes, poses
from elver.dynamics.states import arrays
from elver.errors import BadInput, positive, warn
from elver.guards import guarded
from elver.lie import se3, so3
from elver.results.balance import wrenches
from elver.results.history import History
from elver.results.measured import Measured, collect, read_line, read_poses, read_strains
from elver.results.sampling import body_motion, rod_motion
from elver.rods import Rod
from elver.system import State, System

__all__ = ["state_from"]

Array: TypeAlias = NDArray[np.float64]

_EPSILONS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
_AS_WELL = 1.05  # a fit is as good as another whose misfit is less by this factor
_ROUNDING = 1e-10
_TORSION = 1e3  # how much more torsion is drawn to rest than bending, where only points are known


@guarded
def state_from(
    system: System,
    *,
    centre_line: Any = None,
    poses: Any = None,
    strains: Any = None,
    time: float = 0.0,
    tolerance: float = 0.02,
) -> State:
    """State at rest whose rods lie as measured, to begin a computation from; a misfit is told by a warning.

    ``centre_line``: points (n, 3) [m] in the world from base to tip, spread over the rod as their chords are, or a pair
    (s, points) with their arc lengths [m]. ``poses``: a pair (s, g) with g (n, 4, 4) world from section. ``strains``: a
    pair (s, ξ) with ξ (n, 6), or curvatures (n, 3) [1/m], in axes of the section. For several rods each is a mapping
    from rods (or names) to such values; poses may hold bodies, as {hand: g}.

    Joints and a free base are fitted too, a clamped one stays where it is. Without a measured orientation the roll of a
    rod is free, and its torsion stays that of rest where the points do not ask for another. Rates and multipliers are
    zero. Warns when the misfit (distance over length of the rod, rad, curvature times length) exceeds ``tolerance`` in
    the mean. Closures are not looked at: ``assemble(system, guess=state)`` closes loops from here.
    """
    positive("tolerance", tolerance, "(misfit relative to the length of a rod, rad)")
    data = [
        *collect(system, "centre_line", centre_line, read_line),
        *collect(system, "poses", poses, read_poses),
        *collect(system, "strains", strains, read_strains),
    ]
    if not data:
        raise BadInput("state_from: nothing was measured; give centre_line=..., poses=... or strains=...")
    fit = _Fit(system, data, time)
    state, misfit = fit.best()
    if misfit > tolerance:
        warn(
            f"state_from: the fitted shape is off by {fit.words(state)}: more strain functions, or other arc lengths, "
            "may fit better; check the units (m, 1/m) and which end is the base",
        )
    return state


class _Fit:
    """Residuals of a system against data, in unknowns x: a free base, then coordinates, in units of their own."""

    def __init__(self, system: System, data: list[Measured], time: float) -> None:
        self.system, self.data = system, data
        self.rest = system.rest(time)
        self.free = 6 * int(system.free)
        self.scale = core(system).assembly.scale
        self.length = core(system).assembly.length

    def best(self) -> tuple[State, float]:
        """The fitted state, and its misfit."""
        starts = [self.rest, self._near()]
        found = [self._solve(start, _EPSILONS[0]) for start in starts]
        state = min(found, key=self._misfit)
        fits = []
        for epsilon in _EPSILONS:
            state = self._solve(state, epsilon)
            fits.append((state, self._misfit(state)))
        least = min(misfit for _, misfit in fits)
        return next(fit for fit in fits if fit[1] <= _AS_WELL * least + _ROUNDING)

    def _misfit(self, state: State) -> float:
        return float(np.sqrt(np.mean(self._residual(state)[0] ** 2)))

    def _solve(self, state: State, epsilon: float) -> State:
        """Damped Gauss-Newton."""
        damping = 1e-6
        r, J = self._residual(state)
        cost = r @ r + self._penalty(state, epsilon)
        for _ in range(60):
            # one tall system, whose condition is not squared
            drawn = epsilon * np.sqrt(len(r)) * self._held
            size = np.sqrt(damping * (np.sum(J**2, axis=0) + drawn**2 + 1e-12))
            tall = np.vstack([J, np.diag(drawn), np.diag(size)])
            right = np.concatenate([r, drawn * self._away(state), np.zeros(size.size)])
            step: Array = -np.linalg.lstsq(tall, right, rcond=1e-14)[0]
            step *= min(1.0, 2.0 / max(float(np.max(np.abs(step), initial=0.0)), 1e-300))
            trial = self._moved(state, step)
            r_trial, J_trial = self._residual(trial)
            cost_trial = r_trial @ r_trial + self._penalty(trial, epsilon)
            if cost_trial <= cost:
                small = cost - cost_trial <= 1e-8 * cost + 1e-26 or np.max(np.abs(step)) < 1e-12
                state, r, J, cost, damping = trial, r_trial, J_trial, cost_trial, max(damping / 10.0, 1e-16)
                if small:
                    break
            else:
                damping *= 10.0
                if damping > 1e3:
                    break
        return state

    @cached_property
    def _held(self) -> Array:
        """How much each unknown is drawn to rest: a free base not at all, torsion that only points tell of most."""
        held = np.concatenate([np.zeros(self.free), np.ones(self.system.n)])
        told = {data.part for data in self.data if data.turns is not None or data.strains is not None}
        for rod in self.system.mechanism.rods:
            if rod not in told:
                own = held[self.free :][self.system.coordinates(rod)]
                own[rod.component == 0] = _TORSION
        return held

    def _away(self, state: State) -> Array:
        return np.concatenate([np.zeros(self.free), (state.q - self.rest.q) / self.scale[self.free :]])

    def _penalty(self, state: State, epsilon: float) -> float:
        r = self._residual_size
        return float(epsilon**2 * r * np.sum((self._held * self._away(state)) ** 2))

    def _moved(self, state: State, step: Array) -> State:
        step = step * self.scale
        g = state.g @ se3.exp(step[:6]) if self.free else state.g
        return state.with_(q=state.q + step[self.free :], g=g)

    def _residual(self, state: State) -> tuple[Array, Array]:
        """Residuals without unit, and their derivative in the unknowns."""
        a = arrays(state)
        columns = self.free + self.system.n
        rates = np.diag(self.scale)
        T = columns + 1  # the state at rest, then moving with each unknown
        q = np.tile(a.q[0], (T, 3, 1)) * np.array([1.0, 0.0, 0.0])[:, None]
        q[1:, 1] = rates[:, self.free :]
        twist = np.zeros((T, 2, 6))
        if self.free:
            twist[1:, 0] = rates[:, :6]
        history = History(
            self.system, np.full(T, state.time), np.tile(a.base, (T, 1, 1)), twist, q,
            np.zeros((T, a.multipliers.size)), np.zeros((T, len(self.system.channels))),
        )  # fmt: skip
        found = wrenches(history)
        r, J = [], []
        for data in self.data:
            own = self._of_part(data, history, found)
            r += [part[0].ravel() for part in own]
            J += [part[1].reshape(columns, -1).T for part in own]
        values, slopes = np.concatenate(r), np.concatenate(J)
        self._residual_size = values.size
        return values, slopes

    def _of_part(self, data: Measured, history: History, found: Any) -> list[tuple[Array, Array]]:
        """Residuals of one part and their derivatives, (columns, ...) each."""
        part = data.part
        if isinstance(part, Rod):
            own = self.system.coordinates(part)
            if data.strains is not None:
                return [_strain_residual(data, part, history.q[:, :, own])]
            index = list(self.system.mechanism.rods).index(part)
            motion = rod_motion(found, part, index, history.q[:, :, own], data.s)
            length = part.length
        else:
            index = list(self.system.mechanism.bodies).index(part)
            motion = body_motion(found, list(found.assembly.bodies.values())[index], np.zeros((1, 3)))
            length = self.length
        position = motion.p[0] + found.origin[0]
        velocity = motion.eta[1:, :, 3:] + np.cross(motion.eta[1:, :, :3], motion.p[1:])
        out = [((position - data.points) / length, velocity / length)]
        if data.turns is not None:
            theta = so3.log(np.swapaxes(data.turns, -1, -2) @ motion.R[0])
            spin = np.einsum("sji,tsj->tsi", motion.R[0], motion.eta[1:, :, :3])
            out.append((theta, np.einsum("sij,tsj->tsi", so3.dexp_inv(theta), spin)))
        return out

    # Where to begin ---------------------------------------------------------------------------------------------

    def _near(self) -> State:
        """A state near the data: strains of measured rods from neighbouring frames, a free base from the first."""
        state = self.rest
        q = state.q.copy()
        for data in self.data:
            rod = data.part
            if not isinstance(rod, Rod):
                continue
            if data.strains is not None:
                s, xi = data.s, data.strains
            elif len(data.s) < 2:
                continue
            else:
                g = self._frames(data, rod)
                s = 0.5 * (data.s[1:] + data.s[:-1])
                xi = se3.log(se3.inverse(g[:-1]) @ g[1:]) / np.diff(data.s)[:, None]
            q[self.system.coordinates(rod)] = _strain_fit(rod, s, xi)
        state = state.with_(q=q)
        return self._placed(state) if self.free else state

    def _frames(self, data: Measured, rod: Rod) -> Array:
        """Poses (n, 4, 4) along the points: as measured, or turned with the line from the start on."""
        assert data.points is not None
        if data.turns is not None:
            return se3.pose(data.turns, data.points)
        tangents = np.gradient(data.points, data.s, axis=0)
        tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
        at = nodes(self.system, rod)
        R = poses(self.system, self.rest, rod)[int(np.argmin(np.abs(at - data.s[0]))), :3, :3]
        torsion = rod.rest_strain(data.s)[:, 0]
        roll = np.concatenate([[0.0], np.cumsum(0.5 * (torsion[1:] + torsion[:-1]) * np.diff(data.s))])
        out = []
        for t in tangents:
            R = _turned(R, t)
            out.append(R)
        turned = np.array(out) @ so3.exp(roll[:, None] * np.array([1.0, 0.0, 0.0]))
        return se3.pose(turned, data.points)

    def _placed(self, state: State) -> State:
        """With the base moved so that one measured frame is in place."""
        for data in self.data:
            if data.points is None:
                continue
            part = data.part
            if isinstance(part, Rod):
                if len(data.s) < 2 and data.turns is None:
                    continue
                wanted = self._frames(data, part)[0]
                at = nodes(self.system, part)
                here = poses(self.system, state, part)[int(np.argmin(np.abs(at - data.s[0])))]
            else:
                assert data.turns is not None
                wanted, here = se3.pose(data.turns[0], data.points[0]), poses(self.system, state, part)
            return state.with_(g=wanted @ se3.inverse(here) @ state.g)
        return state

    def words(self, state: State) -> str:
        """The misfit in words."""
        texts, start = [], 0
        found, _ = self._residual(state)
        for data in self.data:
            parts: list[tuple[int, float, str]] = []
            if data.strains is not None:
                parts.append((data.strains.size, 1.0, "(curvature times length)"))
            else:
                length = data.part.length if isinstance(data.part, Rod) else self.length
                parts.append((3 * len(data.s), length, "m"))
                if data.turns is not None:
                    parts.append((3 * len(data.s), 1.0, "rad"))
            for size, unit, name in parts:
                own = found[start : start + size].reshape(len(data.s), -1)
                each = unit * np.linalg.norm(own, axis=1)
                where = f" at s = {data.s[int(np.argmax(each))]:g} m" if isinstance(data.part, Rod) else ""
                mean = float(np.sqrt(np.mean(each**2)))
                texts.append(f"{mean:.3g} {name} in the mean and {each.max():.3g} {name}{where} on {data.part.name!r}")
                start += size
        return "; ".join(texts)


def _strain_residual(data: Measured, rod: Rod, q: Array) -> tuple[Array, Array]:
    assert data.strains is not None
    width = data.strains.shape[1]
    unit = np.array([rod.length] * 3 + [1.0] * 3)[:width]
    xi = rod.strain(data.s, q[0, 0])[:, :width]
    slopes = (rod.strain(data.s, q[1:, 1]) - rod.rest_strain(data.s))[..., :width]
    return unit * (xi - data.strains), unit * slopes


def _strain_fit(rod: Rod, s: Array, xi: Array) -> Array:
    """Coordinates whose strain is nearest to ``xi`` (n, 3 or 6), the smallest where there are many."""
    q = np.zeros(rod.n)
    Phi, change = rod.functions(s), xi - rod.rest_strain(s)[:, : xi.shape[1]]
    for c in range(xi.shape[1]):
        own = rod.component == c
        if own.any():
            q[own] = np.linalg.lstsq(Phi[:, own], change[:, c], rcond=1e-8)[0]
    return q


def _turned(R: Array, tangent: Array) -> Array:
    """R turned by the shortest way so that its x axis is ``tangent``."""
    x = R[:, 0]
    axis, cosine = np.cross(x, tangent), float(x @ tangent)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-14:
        return R if cosine > 0.0 else R @ np.diag([-1.0, -1.0, 1.0])
    return so3.exp(np.arctan2(sine, cosine) * axis / sine) @ R
