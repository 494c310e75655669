"""Positions and velocities that meet the closures: of loops, of holds and of wound tendons.

A straight rod cannot move its tip inward to first order, so Newton alone fails there. The elastic energy with a
penalty on the gaps, E + |Ψ|²/2w, has no such singular point: it is minimised by damped Gauss-Newton steps from
slightly bent shapes while w falls, and Ψ/w tends to the multipliers (Nocedal and Wright, Numerical Optimization,
2nd ed., section 17.1). Where the gap does not close, further starts with the joints turned at random are tried.

What is left of the gaps is closed by the smallest motion, in the metric of the stiffness so that joints turn rather
than rods bend; velocities follow by the impulse of the closures, M Δq̇ = -Jᵀμ with J q̇ + ∂Ψ/∂t = 0.

Theory: docs/theory/statics.md, eq. (closing), (assembly).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core, core
from elver.dynamics.quantities import closures_along
from elver.dynamics.states import Arrays, arrays
from elver.errors import BadInput, NotConverged
from elver.guards import guarded
from elver.lie import se3
from elver.mechanism import Driven, Joint
from elver.statics.gaps import cannot_close, gap, named, rows_of, units, widest
from elver.system import Balanced, Inputs, State, System, situation

__all__ = ["assemble", "bows", "check_closed", "close", "closed", "project", "relax", "retract"]

Array: TypeAlias = NDArray[np.float64]

REACHED = 1e-2  # rad or lengths of the robot: a gap that Newton closes exactly
_BEND = 0.5  # rad over the rod: curvature of the shapes to start from
_SOFTNESS = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # w, in units of EI/L per L² or rad²
_BOWS = (1.0, 2.0, 3.0)  # L times the largest curvature of shapes whose ends have come together, by degree
_FEW = 3  # rods, which are bowed first, and relaxed where that does not close them
_FURTHER = 12  # starts with joints turned at random, where the first ones do not close
_EXACT, _CLOSED = 1e-12, 1e-8  # rad or lengths of the robot: wanted, and taken where rounding of the inputs forbids it
# A run may start from a state that was read from a file with six digits; more than that is a mistake.
_OPEN, _OPENING = 1e-6, 1e-4  # rad or L, and per second


# Positions ----------------------------------------------------------------------------------------------------------


@guarded
def assemble(
    system: System, inputs: Inputs | None = None, guess: State | Balanced | None = None
) -> State:
    """A state that meets all closures: of loops, holds and wound tendons, in position and in velocity.

    For mechanisms that no load or spring brings to one equilibrium, such as a four-bar without weight, before
    ``simulate``. From ``guess`` (rods at rest and joints at their start by default) the joints turn first and rods
    bend as little as they must. Imposed coordinates take the values of ``inputs`` at the time of the guess, and the
    rates of the guess are changed by the impulse of the closures. Raises :class:`NotConverged`, with the loop and its
    gap in m and rad, where no position closes; ``result`` is then the nearest state found.
    """
    _, start, inputs = situation(system, guess, inputs)
    if isinstance(system.mechanism.base, Driven):
        g, eta, eta_dot = system.mechanism.base.motion.at(start.time)
        start = start.with_(g=g, eta=eta, eta_dot=eta_dot)
    signals = system.signals(inputs)
    u = system.input_vector(signals, start.time)
    kernels = core(system)
    a = arrays(start)
    kernels.residual(a, u)  # imposed coordinates take their values and rates
    if kernels.rows:
        a = closed(kernels, a, u, keep=guess is not None)
        left = gap(kernels, a, u)
        state = _seen(a, start)
        if left > _CLOSED:
            raise NotConverged(f"assemble: {cannot_close(kernels, a, u)}", result=state)
        return _with_rates(kernels, state, inputs)
    return _seen(a, start)


def closed(kernels: Core, a: Arrays, u: Array, keep: bool = False) -> Arrays:
    """A shape that meets the closures exactly, near ``a`` if that is possible (if ``keep``, from however far)."""
    if keep or gap(kernels, a, u) < REACHED:
        near = project(kernels, a, u)
        if gap(kernels, near, u) < 1e-9:
            return near
    found = close(kernels, a, u)
    exact = project(kernels, found, u)
    return exact if gap(kernels, exact, u) < gap(kernels, found, u) else found


def retract(kernels: Core, a: Arrays, step: Array) -> Arrays:
    """The state at increments ``step`` of base (body twist, if free) and coordinates, in their own units."""
    free = kernels.coordinates - kernels.n
    base = a.base
    if free:
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = a.base[:3], a.base[3]
        g = g @ se3.exp(step[:6])
        base = np.vstack([g[:3, :3], g[:3, 3]])
    q = a.q.copy()
    q[0] += step[free:]
    for first in kernels.program.wrap:
        turn = q[0, first : first + 3]
        angle = float(np.linalg.norm(turn))
        if angle > np.pi and not np.any(q[1]):
            turn *= 1.0 - 2.0 * np.pi / angle  # the same rotation, away from the singular full turn
    return Arrays(base, a.twist, q, a.multipliers)


def free_coordinates(kernels: Core) -> NDArray[np.bool_]:
    """Which coordinates no imposed motion prescribes."""
    free = np.ones(kernels.coordinates, dtype=bool)
    free[kernels.coordinates - kernels.n + kernels.program.imposed[:, 0]] = False
    return free


def project(kernels: Core, a: Arrays, u: Array, iterations: int = 20) -> Arrays:
    """The nearest shape that meets the closures: Newton with steps of least energy, damped where whole ones fail."""
    if not kernels.rows:
        return a
    free, scale, unit = free_coordinates(kernels), kernels.assembly.scale, units(kernels)
    c = kernels.coordinates
    soft = np.linalg.inv(_stiffness(kernels)[np.ix_(free, free)] + 1e-3 * np.eye(int(free.sum())))

    def beyond(a: Arrays, damping: float) -> Arrays:
        J = (kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[c:, :c] * scale / unit[:, None])[:, free]
        yields = J @ soft @ J.T
        yields += damping * np.trace(yields) / len(yields) * np.eye(len(yields))
        step = np.zeros(c)
        step[free] = -soft @ J.T @ np.linalg.lstsq(yields, rows_of(kernels, a, u), rcond=1e-10)[0]
        step *= min(1.0, 0.5 / max(float(np.max(np.abs(step))), 1e-300))
        return retract(kernels, a, scale * step)

    start, left = a, gap(kernels, a, u)
    for _ in range(iterations):
        if left < _EXACT:
            return a
        moved = beyond(a, 0.0)
        now = gap(kernels, moved, u)
        if not now < 2.0 * left or (now >= left and left < 1e-9):
            break
        a, left = moved, now
    if left < 1e-9:
        return a
    near, damping = start, 1e-2
    for _ in range(4 * iterations):
        before = float(np.linalg.norm(rows_of(kernels, near, u)))
        moved = beyond(near, damping)
        after = float(np.linalg.norm(rows_of(kernels, moved, u)))
        if after < before:
            near, damping = moved, (0.2 * damping if after < 0.9 * before else damping)
            if after < 1e-10 or (after > 0.9999 * before and after > REACHED):
                break
        elif (damping := 5.0 * damping) > 1e6:
            break
    return near if gap(kernels, near, u) < left else a


def close(kernels: Core, start: Arrays, u: Array) -> Arrays:
    """The shape of least elastic energy found that meets the closures, or comes nearest to them."""

    def merit(a: Arrays) -> tuple[float, float]:
        return round(gap(kernels, a, u), 2), _energy(kernels, a)

    few = len(kernels.system.mechanism.rods) <= _FEW
    found = [project(kernels, seed, u) for seed in bows(kernels, start)] if few else []
    if not found or min(gap(kernels, a, u) for a in found) > REACHED:
        found += [relax(kernels, seed, u) for seed in _seeds(kernels, start)]
    found += [project(kernels, seed, u) for seed in _rings(kernels, start)]
    best = min(found, key=merit)
    if not few and gap(kernels, best, u) > REACHED:
        best = min([best, *(project(kernels, seed, u) for seed in bows(kernels, start))], key=merit)
    for seed in _turned(kernels, start):
        if gap(kernels, best, u) < REACHED:
            break
        best = min(best, relax(kernels, seed, u), key=merit)
    return best


def bows(kernels: Core, start: Arrays) -> Iterator[Arrays]:
    """The start with rods bowed to either side about each axis: as an arc, as an S and as a bow between clamps.

    A straight rod cannot bring its ends together to first order but by pressing; these are the first of its buckling
    modes, with curvatures P₀, P₁ and P₂ of Legendre.
    """
    for degree, angle in enumerate(_BOWS):
        for component in (1, 2):
            bend = angle * bent(kernels, component, degree=degree)
            for sign in (1.0, -1.0) if np.any(bend) else ():
                q = start.q.copy()
                q[0] += sign * bend
                yield Arrays(start.base, start.twist, q, start.multipliers)


def _seeds(kernels: Core, start: Arrays) -> list[Arrays]:
    """The shape at the start, and bent to either side about each axis that bends."""
    return [start, *_bent_aside(kernels, start, [_BEND] * len(kernels.system.mechanism.rods))]


def _rings(kernels: Core, start: Arrays) -> list[Arrays]:
    """Shapes in which rods that are tied to themselves go round once: a penalty would open them again."""
    ties = {joint.a.part: joint for joint in kernels.system.mechanism.tree.cuts if joint.a.part is joint.b.part}
    turns = [
        2.0 * np.pi * rod.length / abs(ties[rod].a.s - ties[rod].b.s) if rod in ties else 0.0
        for rod in kernels.system.mechanism.rods
    ]
    return _bent_aside(kernels, start, turns)


def _bent_aside(kernels: Core, start: Arrays, angles: Sequence[float]) -> list[Arrays]:
    """The start with its rods bent by these angles [rad], to either side about each axis that bends."""
    seeds = []
    for component in (1, 2):
        bend = bent(kernels, component, np.array(angles))
        if np.any(bend):
            for sign in (1.0, -1.0):
                q = start.q.copy()
                q[0] += sign * bend
                seeds.append(Arrays(start.base, start.twist, q, start.multipliers))
    return seeds


def bent(kernels: Core, component: int, signs: Array | None = None, degree: int = 0) -> Array:
    """Coordinates (n,) of rods with the curvature P_degree(2s/L - 1)/L about one axis, each times its sign."""
    system, bend = kernels.system, np.zeros(kernels.n)
    rods = system.mechanism.rods
    for rod, sign in zip(rods, np.ones(len(rods)) if signs is None else signs, strict=True):
        own = np.arange(kernels.n)[system.coordinates(rod)][rod.component == component]
        if own.size:
            functions = rod.functions(rod.grid.s)[:, rod.component == component]
            along = np.polynomial.Legendre.basis(degree)(2.0 * rod.grid.s / rod.length - 1.0)
            bend[own] = sign * np.linalg.lstsq(functions, along, rcond=None)[0] / rod.length
    return bend


def turned(kernels: Core, random: np.random.Generator) -> Array:
    """Increments (n,) that turn every joint by up to half a turn and shift it by up to half the robot's length."""
    turn = np.zeros(kernels.n)
    for part, (first, count) in kernels.system.blocks.items():
        if isinstance(part, Joint):
            size = [np.pi if unit == "rad" else 0.5 * kernels.assembly.length for unit in part.coordinate_units]
            turn[first : first + count] = random.uniform(-1.0, 1.0, count) * size / max(1.0, np.sqrt(count))
    return turn


def _turned(kernels: Core, start: Arrays) -> Iterator[Arrays]:
    """Starts with the joints turned at random, always the same; none where no joint turns."""
    random = np.random.default_rng(0)
    for _ in range(_FURTHER if any(isinstance(part, Joint) for part in kernels.system.blocks) else 0):
        q = start.q.copy()
        q[0] += turned(kernels, random)
        yield Arrays(start.base, start.twist, q, start.multipliers)


def relax(kernels: Core, a: Arrays, u: Array) -> Arrays:
    """Least elastic energy with a penalty on the gaps that grows, from one start."""
    c, energy, scale, unit = kernels.coordinates, kernels.assembly.energy, kernels.assembly.scale, units(kernels)
    K = _stiffness(kernels)
    slack = kernels.program.spring_rest
    frozen = ~free_coordinates(kernels)
    a = Arrays(a.base, a.twist, a.q, np.zeros(kernels.rows))
    for w in _SOFTNESS:
        damping, best = 1e-2, _merit(kernels, a, u, w)
        for _ in range(25):
            x = np.concatenate([np.zeros(c - kernels.n), (a.q[0] - slack) / scale[c - kernels.n :]])
            J = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[c:, :c] * scale / unit[:, None]
            J[:, frozen] = 0.0
            psi = rows_of(kernels, a, u)
            step = -np.linalg.solve(K + J.T @ J / w + damping * np.eye(c), K @ x + J.T @ psi / w)
            step[frozen] = 0.0
            step *= min(1.0, 1.5 / max(float(np.max(np.abs(step))), 1e-300))
            moved = retract(kernels, a, scale * step)
            merit = _merit(kernels, moved, u, w)
            if merit < best:
                done = best - merit < 1e-6 * best
                a, best, damping = moved, merit, 0.2 * damping
                if done:
                    break
            else:
                damping *= 8.0
                if damping > 1e8:
                    break
    return Arrays(a.base, a.twist, a.q, energy * rows_of(kernels, a, u) / (_SOFTNESS[-1] * unit))


def _stiffness(kernels: Core) -> Array:
    """Elastic stiffness in scaled coordinates, base included, over the energy scale."""
    c, n, scale = kernels.coordinates, kernels.n, kernels.assembly.scale[kernels.coordinates - kernels.n :]
    K = np.zeros((c, c))
    K[c - n :, c - n :] = scale[:, None] * kernels.elastic * scale / kernels.assembly.energy
    return K


def _merit(kernels: Core, a: Arrays, u: Array, w: float) -> float:
    psi = rows_of(kernels, a, u)
    return _energy(kernels, a) + float(psi @ psi) / (2.0 * w)


def _energy(kernels: Core, a: Arrays) -> float:
    x = a.q[0] - kernels.program.spring_rest
    return float(0.5 * x @ kernels.elastic @ x / kernels.assembly.energy)


# Velocities ---------------------------------------------------------------------------------------------------------


def _opening(kernels: Core, state: State, inputs: Inputs | None) -> Array:
    """dΨ/dt in rad/s and lengths per second, by a five-point difference along the motion of the state.

    With the rates of imposed coordinates, of a driven base and of wound lengths; these are taken forward in time, so
    that a motion that begins at this instant counts.
    """
    weights = dict(enumerate((-25.0, 48.0, -36.0, 16.0, -3.0)))
    total, h = closures_along(kernels, state, inputs, weights)
    return total / (12.0 * h) / units(kernels)


def _with_rates(kernels: Core, state: State, inputs: Inputs | None) -> State:
    """The state with its rates changed by the impulse of the closures so that they stay met."""
    opening = _opening(kernels, state, inputs)
    if np.max(np.abs(opening), initial=0.0) < 1e-12:
        return state
    system, c = kernels.system, kernels.coordinates
    u = system.input_vector(system.signals(inputs), state.time)
    a, free, scale = arrays(state), free_coordinates(kernels), kernels.assembly.scale
    M = (scale[:, None] * kernels.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c] * scale)[np.ix_(free, free)]
    M /= max(float(np.max(np.abs(M), initial=0.0)), 1e-300)
    J = (kernels.tangent(a, u, (1.0, 0.0, 0.0))[c:, :c] * scale / units(kernels)[:, None])[:, free]
    rows = kernels.rows
    matrix = np.block([[M, J.T], [J, np.zeros((rows, rows))]])
    right = np.concatenate([np.zeros(M.shape[0]), -opening])
    change = np.zeros(c)
    change[free] = np.linalg.lstsq(matrix, right, rcond=1e-13)[0][: M.shape[0]]
    change *= scale
    base = c - kernels.n
    eta = state.eta + change[:6] if base else state.eta
    moving = state.with_(q_dot=state.q_dot + change[base:], eta=eta)
    left = _opening(kernels, moving, inputs)
    if np.max(np.abs(left), initial=0.0) > 1e-6 * max(1.0, float(np.max(np.abs(opening)))):
        raise NotConverged(
            f"assemble: no velocity keeps the closures met: {_speed(kernels, left)}; "
            "impose fewer motions, or move away from this configuration",
            result=state,
        )
    return moving


def _speed(kernels: Core, rows: Array) -> str:
    worst = widest(named(kernels, rows), kernels.assembly.length)
    return f"{worst.label} opens at {worst.metres:.3g} m/s and {worst.radians:.3g} rad/s"


def check_closed(system: System, state: State, inputs: Inputs | None = None) -> None:
    """Refuse a state from which a motion cannot start: closures that are open, or whose velocities open them.

    Velocities of wound tendons are not asked for: winding that begins at once is a common input.
    """
    kernels = core(system)
    if not kernels.rows:
        return
    u = system.input_vector(system.signals(inputs), state.time)
    a = arrays(state)
    rows = rows_of(kernels, a, u)
    if np.max(np.abs(rows)) > _OPEN:
        worst = widest(named(kernels, rows), kernels.assembly.length)
        raise BadInput(
            f"the start does not meet its closures: {worst}; start from equilibrium(...) or assemble(...) with the "
            "inputs of the first instant"
        )
    opening = _opening(kernels, state.with_(q=a.q[0], q_dot=_imposed_rates(kernels, a, u)), inputs)
    opening[len(kernels.program.row_axes) :] = 0.0
    if np.max(np.abs(opening), initial=0.0) > _OPENING * max(1.0, float(np.max(np.abs(state.q_dot), initial=0.0))):
        raise BadInput(
            f"the velocities of the start do not keep its closures met: {_speed(kernels, opening)}; "
            "assemble(system, inputs, guess=state) gives velocities that do"
        )


def _imposed_rates(kernels: Core, a: Arrays, u: Array) -> Array:
    kernels.residual(a, u)
    return a.q[1].copy()


def _seen(a: Arrays, like: State) -> State:
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = a.base[:3], a.base[3]
    return like.with_(q=a.q[0], q_dot=a.q[1], g=g, multipliers=np.zeros(like.multipliers.size))
