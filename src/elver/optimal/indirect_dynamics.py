"""Motion of one rod by shooting along its length at every time step: no strain modes (Boyer 2023, sections 4 and 5).

The acceleration of a rod minimises Gauss' constraint; with an implicit scheme in time for the strains the conditions of
optimality are a two-point problem for (g, η, η', Λ) along s (eq. 61), solved here by multiple shooting: the rod is cut
into segments, each integrated from its own start by Runge-Kutta of order four together with its exact tangent
(:mod:`elver.kernels.shoot`), and Newton joins them. A manipulator is held at its base, which may move; a locomotor is
free, and its base follows the scheme on SO(3)×R³ (eq. 67-72). In the water of Lighthill the inertia holds the added
mass and the tip feels the wrench shed at the tail (eq. 90-91).

``hybrid=True`` drops the equation of the acceleration, η' = c η + f_η (eq. 89), for comparison only.

Single shooting amplifies by exp(√(τ/Δt)), τ = L²√(ρA/EI): :func:`shooting_growth` measures it, and a step that it makes
hopeless is refused, with the number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from elver.environment import Lighthill
from elver.errors import BadInput, NotConverged, positive
from elver.kernels import entry
from elver.lie import se3, so3
from elver.mechanism import Driven
from elver.optimal.problem import RodProblem
from elver.rods import Rod
from elver.system import Inputs, State, System

__all__ = ["RodMotion", "shooting_dynamics", "shooting_growth"]

Array = NDArray[np.float64]

_SIX = np.eye(6)
_BETA, _GAMMA = 0.25, 0.5
# Unknowns and rows of neighbouring segments: this many diagonals below and above the main one are not empty.
_BAND = (41, 29)


@dataclass(frozen=True, eq=False)
class RodMotion:
    """A motion of a rod, time first; six-vectors angular first, in the axes of the sections."""

    time: Array  # (T,) s
    s: Array  # (nodes,) m
    pose: Array  # (T, nodes, 4, 4)
    twist: Array  # (T, nodes, 6) rad/s, m/s
    strain: Array  # (T, nodes, 6) 1/m, 1
    wrench: Array  # (T, nodes, 6) N m, N: what the part beyond exerts on the part before
    iterations: NDArray[np.int64]  # (T,) Newton steps
    strain_acceleration: Array  # (T,) largest of the second rate of the free strains, in 1/(L s²)

    @property
    def tip(self) -> Array:
        """Positions of the tip, (T, 3) [m]."""
        return self.pose[:, -1, :3, 3]


@dataclass
class _Fields:
    """What changes from step to step, at nodes and midpoints of all segments."""

    strain: Array  # (M, 2n+1, 6) ε
    rate: Array
    acceleration: Array


class _Rod:
    """One rod on its grid: everything that the kernel asks for."""

    def __init__(self, system: System, segments: int, steps: int, hybrid: bool) -> None:
        self.system, self.segments, self.steps, self.hybrid = system, segments, steps, hybrid
        self.water = next((load for load in system.loads if isinstance(load, Lighthill)), None)
        dry = tuple(load for load in system.loads if load is not self.water)
        self.dry = System(system.mechanism, system.actuators, dry)
        self.rod: Rod = system.mechanism.rod
        self.problem = RodProblem.of(self.dry)
        if self.problem.tip.held or self.problem.closed:
            raise BadInput("shooting_dynamics: the tip of the rod is held, and must be free here; use simulate")
        self.free = self.problem.base.held == 0
        if not self.free and not self.problem.base.is_clamped:
            raise BadInput(f"shooting_dynamics: the base is {self.problem.base.name}; clamp it, or let it free")
        L = self.problem.length
        self.h = L / (segments * steps)
        self.s = (np.arange(segments)[:, None] * steps + 0.5 * np.arange(2 * steps + 1)) * self.h
        flat = self.s.ravel()
        self.at = np.zeros((segments, 2 * steps + 1, 49))
        self._put(0, self.problem.stiffness(flat))
        self.at[:, :, :6][self.at[:, :, :6] == 0.0] = 1.0
        self._put(6, self.problem.rest_strain(flat))
        inertia = np.asarray(self.problem.inertia(flat))
        self._put(48, inertia[:, 3:4])
        self.tail = np.zeros(6)
        if self.water is not None:
            added = self.water.added(*self.rod.section.half_widths(flat, L))
            inertia = inertia + np.stack([added[:, 2], *(0.0 * added.T[:3]), added[:, 0], added[:, 1]], axis=1)
            self.tail = np.array([added[-1, 2], 0.0, 0.0, 0.0, added[-1, 0], added[-1, 1]])
        self._put(18, inertia)
        self.active = np.zeros(6)
        self.active[list(self.problem.component)] = 1.0
        self.damping = self.rod.material.damping
        self.bending = self.problem.bending_stiffness
        self.unit = np.concatenate([np.ones(3), np.full(3, L)])

    def _put(self, column: int, values: Array) -> None:
        values = np.asarray(values)
        self.at[:, :, column : column + values.shape[1]] = values.reshape(self.segments, 2 * self.steps + 1, -1)

    def load(self, inputs: Inputs | None, time: float, strain: Array) -> RodProblem:
        """Actuation and loads at an instant into the arrays, actuators that depend on the strain at ``strain``."""
        problem = RodProblem.of(self.dry, inputs, time)
        sections = problem.at(self.s.ravel())
        xi = (self.at[:, :, 6:12] + strain).reshape(-1, 6)
        self._put(12, sections.actuation(xi, slopes=False)[0])
        if np.any(sections.follower):
            raise BadInput("shooting_dynamics: distributed loads that follow the rod are not solved here; use simulate")
        self._put(36, sections.dead)
        return problem


def shooting_dynamics(
    system: System,
    state: State | None = None,
    duration: float = 1.0,
    step: float = 1e-2,
    inputs: Inputs | None = None,
    *,
    segments: int = 10,
    nodes: int = 60,
    hybrid: bool = False,
    tolerance: float = 1e-8,
    max_iterations: int = 25,
) -> RodMotion:
    """Motion of a system of one rod from ``state`` over ``duration`` [s] with Newmark steps [s], by multiple shooting.

    ``segments`` shoots over ``nodes`` intervals in all. The strain accelerations of the state are taken as they are
    (zero in a state at rest, as in Boyer 2023). Newton stops when its correction is below ``tolerance``, in rad over
    the rod, and the like for velocities and wrenches. A step that fails raises :class:`NotConverged` with the motion so
    far in ``.result``.
    """
    positive("duration", duration, "s")
    positive("step", step, "s")
    if segments < 1 or nodes < segments:
        raise BadInput(f"segments = {segments}, nodes = {nodes}: give at least one segment, and a node for each")
    rod = _Rod(system, segments, max(1, round(nodes / segments)), hybrid)
    march = _March(rod, system.check_state(state or system.rest()), inputs, step, tolerance, max_iterations)
    count = max(1, round(duration / step))
    for _ in range(count):
        try:
            march.advance()
        except NotConverged as error:
            error.result = march.motion()
            raise
    return march.motion()


class _March:
    """The state of a run on the grid of the rod."""

    def __init__(
        self, rod: _Rod, state: State, inputs: Inputs | None, step: float, tolerance: float, iterations: int
    ) -> None:
        self.rod, self.inputs, self.step, self.tolerance, self.iterations = rod, inputs, step, tolerance, iterations
        r, M, n = rod.rod, rod.segments, rod.steps
        functions = r.functions(rod.s.ravel())

        def field(q: Array) -> Array:
            select = np.eye(6)[r.component]  # the strain of each coordinate
            return ((functions * q) @ select).reshape(M, 2 * n + 1, 6)

        self.fields = _Fields(field(state.q), field(state.q_dot), field(state.q_ddot))
        self.time = state.time
        self.base = state.g.copy()
        p_dot = state.g[:3, :3] @ state.eta[3:]
        a = state.eta_dot[3:] + np.cross(state.eta[:3], state.eta[3:])
        self.root = np.array([[*state.eta[:3], *p_dot], [*state.eta_dot[:3], *(state.g[:3, :3] @ a)]])
        self.states = np.zeros((M, 30))
        self.path = np.zeros((M, n + 1, 36))
        self.eta_free = np.zeros((M, 2 * n + 1, 6))  # f_η of the hybrid scheme
        self._start(state)
        self.records: list[tuple[float, Array, int, float]] = [(self.time, self.path.copy(), 0, 0.0)]
        self.strains = [self.fields.strain[:, ::2].copy()]

    def _start(self, state: State) -> None:
        """Poses, twists and a first guess of the wrench from the strains of the state."""
        rod = self.rod
        rod.load(self.inputs, self.time, self.fields.strain)
        at = rod.at
        xi, xi_dot = at[:, :, 6:12] + self.fields.strain, self.fields.rate
        g, eta = self.base.copy(), state.eta.copy()
        acc = state.eta_dot.copy()
        h = rod.h
        for m in range(rod.segments):
            for k in range(rod.steps + 1):
                wrench = at[m, 2 * k, 12:18] + at[m, 2 * k, :6] * self.fields.strain[m, 2 * k] * rod.active
                y = np.concatenate([g[:3, :3].ravel(), g[:3, 3], eta, acc, wrench])
                self.path[m, k, :30] = y
                if k == 0:
                    self.states[m] = y
                if k == rod.steps:
                    break
                # Simpson in the exponent is Magnus of order 4; twists by the classical method
                x0, x1, x2 = xi[m, 2 * k], xi[m, 2 * k + 1], xi[m, 2 * k + 2]
                psi = h / 6.0 * (x0 + 4.0 * x1 + x2) + h * h / 12.0 * se3.ad(x0) @ x2
                r0, r1, r2 = xi_dot[m, 2 * k], xi_dot[m, 2 * k + 1], xi_dot[m, 2 * k + 2]
                k1 = r0 - se3.ad(x0) @ eta
                k2 = r1 - se3.ad(x1) @ (eta + 0.5 * h * k1)
                k3 = r1 - se3.ad(x1) @ (eta + 0.5 * h * k2)
                k4 = r2 - se3.ad(x2) @ (eta + h * k3)
                eta = eta + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
                g = g @ se3.exp(psi)

    # One step -----------------------------------------------------------------------------------------------

    def advance(self) -> None:
        rod, dt = self.rod, self.step
        t = self.time + dt
        F = self.fields
        if rod.hybrid:
            c = 2.0 / dt
            scheme = np.array([c, 0.0, rod.damping, c])
            e1, e2 = -F.rate - c * F.strain, np.zeros_like(F.rate)
            eta, eta_dot = self._twists()
            rod.at[:, :, 42:48] = -eta_dot - c * eta
        else:
            a, b = _GAMMA / (_BETA * dt), 1.0 / (_BETA * dt * dt)
            scheme = np.array([a, b, rod.damping, 0.0])
            e1 = -a * F.strain + (1.0 - _GAMMA / _BETA) * F.rate + dt * (1.0 - 0.5 * _GAMMA / _BETA) * F.acceleration
            e2 = -b * F.strain - F.rate / (_BETA * dt) + (1.0 - 0.5 / _BETA) * F.acceleration
        rod.at[:, :, 24:30], rod.at[:, :, 30:36] = e1 * rod.active, e2 * rod.active
        ahead = F.strain + dt * F.rate + 0.5 * dt * dt * F.acceleration
        history: list[float] = []
        with np.errstate(over="ignore", invalid="ignore"):
            if self._newton(ahead, scheme, t, history):
                return
        growth = math.exp(shooting_exponent(rod.problem, dt) / rod.segments)
        raise NotConverged(
            f"shooting_dynamics: Newton failed at t = {self.time:g} s with a step of {dt:g} s; shooting over each of "
            f"{rod.segments} segments amplifies by about {growth:.1g}: take a longer step, more segments or nodes, or "
            "simulate with strain modes",
            history=history,
        )

    def _newton(self, ahead: Array, scheme: Array, t: float, history: list[float]) -> bool:
        """Newton from the strains ``ahead``; True when the step was taken."""
        rod = self.rod
        problem = rod.load(self.inputs, t, ahead)
        starts = self._predict(ahead)
        nu = self.step * self.root[0] if rod.free else np.zeros(6)
        base, columns = self._base(nu, t)
        self._put_base(starts, base, problem)
        for iteration in range(1, self.iterations + 1):
            path, matrix, residual = self._shoot(starts, scheme, problem, columns)
            try:
                x = solve_banded(_BAND, _banded(matrix), -residual)
            except (np.linalg.LinAlgError, ValueError):  # singular, or not a number
                return False
            size = self._size(x)
            history.append(size)
            if not np.isfinite(size) or size > 1e6:
                return False
            self._update(starts, x)
            if rod.free:
                nu = nu + x[:6]
                base, columns = self._base(nu, t)
                self._put_base(starts, base, problem)
            else:
                starts[0, 24:] += x[:6]
            if rod.problem.tendons:
                rod.load(self.inputs, t, self._strains(path, scheme)[0])
            if size < self.tolerance:
                self._accept(starts, scheme, problem, base, t, iteration)
                return True
        return False

    def _predict(self, ahead: Array) -> Array:
        """Starts of the segments: moved on by their twists, stresses of free strains from the strains ``ahead``."""
        rod, dt = self.rod, self.step
        starts = self.states.copy()
        g = _poses(starts) @ se3.exp(dt * starts[:, 12:18])
        starts[:, :9], starts[:, 9:12] = g[:, :3, :3].reshape(-1, 9), g[:, :3, 3]
        starts[:, 12:18] += dt * starts[:, 18:24]
        stress = rod.at[:, 0, 12:18] + rod.at[:, 0, :6] * ahead[:, 0]
        starts[:, 24:] = np.where(rod.active > 0.0, stress, starts[:, 24:])
        return starts

    def _base(self, nu: Array, t: float) -> tuple[Array, Array]:
        """State of the base (24 first numbers of a start, then Λ from outside) and its variation with ν (24, 6)."""
        rod, dt = self.rod, self.step
        columns = np.zeros((24, 6))
        if not rod.free:
            mechanism = rod.system.mechanism
            if isinstance(mechanism.base, Driven):
                g, eta, eta_dot = mechanism.base.motion.at(t)
            else:
                g, eta, eta_dot = rod.problem.base.pose, np.zeros(6), np.zeros(6)
            columns[18:] = _SIX
            return np.concatenate([g[:3, :3].ravel(), g[:3, 3], eta, eta_dot]), columns
        a, b = _GAMMA / (_BETA * dt), 1.0 / (_BETA * dt * dt)
        v, acc = self.root
        rates = a * nu + (1.0 - _GAMMA / _BETA) * v + dt * (1.0 - 0.5 * _GAMMA / _BETA) * acc
        second = b * nu - v / (_BETA * dt) + (1.0 - 0.5 / _BETA) * acc
        R = self.base[:3, :3] @ so3.exp(nu[:3])
        p = self.base[:3, 3] + nu[3:]
        W, V, A = rates[:3], R.T @ rates[3:], R.T @ second[3:]
        T = so3.dexp(nu[:3])
        columns[:3, :3], columns[3:6, 3:] = T, R.T
        columns[6:9, :3] = a * np.eye(3)
        columns[9:12, :3], columns[9:12, 3:] = so3.hat(V) @ T, a * R.T
        columns[12:15, :3] = b * np.eye(3)
        columns[15:18, :3] = (so3.hat(A) - so3.hat(W) @ so3.hat(V)) @ T + a * so3.hat(V)
        columns[15:18, 3:] = (b * np.eye(3) - a * so3.hat(W)) @ R.T
        self._root_next = np.array([rates, second])
        return np.concatenate([R.ravel(), p, W, V, second[:3], A - np.cross(W, V)]), columns

    def _put_base(self, starts: Array, base: Array, problem: RodProblem) -> None:
        starts[0, :24] = base
        if self.rod.free:
            g = se3.pose(base[:9].reshape(3, 3), base[9:12])
            starts[0, 24:] = -problem.base_wrench.at(g)[0]

    def _shoot(self, starts: Array, scheme: Array, problem: RodProblem, columns: Array) -> tuple[Array, Array, Array]:
        """Path of all segments, matrix and residual of Newton."""
        rod = self.rod
        M = rod.segments
        ends, variation, path = starts.copy(), np.tile(np.eye(24), (M, 1, 1)), np.zeros((M, rod.steps + 1, 36))
        _kernel(rod, scheme, ends, variation, path, problem.gravity, tangent=True)
        size = 6 + 24 * (M - 1)
        matrix, residual = np.zeros((size, size)), np.zeros(size)
        first = columns.copy()
        if rod.free:
            g = se3.pose(starts[0, :9].reshape(3, 3), starts[0, 9:12])
            first[18:] = -problem.base_wrench.at(g)[1] @ first[:6]
        variations = [variation[0] @ first, *variation[1:]]
        residual[: 24 * (M - 1)] = _gaps(ends[:-1], starts[1:]).ravel()
        for m in range(M):
            own = slice(0, 6) if m == 0 else slice(6 + 24 * (m - 1), 6 + 24 * m)
            if m < M - 1:
                rows = slice(24 * m, 24 * (m + 1))
                after = slice(6 + 24 * m, 6 + 24 * (m + 1))
                matrix[rows, own] = variations[m]
                matrix[rows, after] = -np.eye(24)
            else:
                rows = slice(24 * m, 24 * m + 6)
                g = se3.pose(ends[m, :9].reshape(3, 3), ends[m, 9:12])
                F, slope = problem.tip_wrench.at(g)
                G, shed = self._tail(ends[m, 12:18])
                residual[rows] = ends[m, 24:] - F - G
                matrix[rows, own] = variations[m][18:] - slope @ variations[m][:6] - shed @ variations[m][6:12]
        return path, matrix, residual

    def _tail(self, eta: Array) -> tuple[Array, Array]:
        """G = V_x M_a η - (0; T e_x) of Lighthill's water at the tail, and its slope with η."""
        m = self.rod.tail
        if not np.any(m):
            return np.zeros(6), np.zeros((6, 6))
        G = eta[3] * m * eta
        G[3] -= 0.5 * np.sum(m * eta * eta)
        slope = eta[3] * np.diag(m)
        slope[:, 3] += m * eta
        slope[3] -= m * eta
        return G, slope

    def _size(self, x: Array) -> float:
        """Largest correction, in rad over the rod and the like."""
        rod, dt = self.rod, self.step
        L = rod.problem.length
        wrench = np.concatenate([np.full(3, rod.bending / L), np.full(3, rod.bending / L**2)])
        own = np.concatenate([rod.unit, rod.unit / dt, rod.unit / dt**2, wrench])
        first = np.concatenate([[1.0, 1.0, 1.0, L, L, L]]) if rod.free else wrench
        units = np.concatenate([first, *[own] * (rod.segments - 1)])
        return float(np.max(np.abs(x) / units))

    def _update(self, starts: Array, x: Array) -> None:
        d, own = x[6:].reshape(-1, 24), starts[1:]
        R = own[:, :9].reshape(-1, 3, 3)
        own[:, 9:12] += np.einsum("mij,mj->mi", R, d[:, 3:6])
        own[:, :9] = (R @ so3.exp(d[:, :3])).reshape(-1, 9)
        own[:, 12:] += d[:, 6:]

    def _accept(
        self, starts: Array, scheme: Array, problem: RodProblem, base: Array, t: float, iteration: int
    ) -> None:
        rod = self.rod
        ends, path = starts.copy(), np.zeros((rod.segments, rod.steps + 1, 36))
        _kernel(rod, scheme, ends, np.zeros((rod.segments, 24, 1)), path, problem.gravity, tangent=False)
        strain, rate, acceleration = self._strains(path, scheme)
        if rod.hybrid:
            acceleration = (rate - self.fields.rate) * (2.0 / self.step) - self.fields.acceleration
        self.fields = _Fields(strain, rate, acceleration)
        self.states, self.path, self.time = starts, path, t
        if rod.free:
            self.base = se3.pose(base[:9].reshape(3, 3), base[9:12])
            self.root = self._root_next
        largest = float(np.max(np.abs(acceleration[:, ::2]) * rod.unit[[3, 4, 5, 0, 1, 2]]))
        self.records.append((t, path, iteration, largest))
        self.strains.append(strain[:, ::2].copy())

    def _strains(self, path: Array, scheme: Array) -> tuple[Array, Array, Array]:
        """ε and its rates at nodes and midpoints, from the stress: cubic between the nodes, with its slopes."""
        rod = self.rod
        stress = np.zeros((rod.segments, 2 * rod.steps + 1, 6))
        Y, slope = path[:, :, 24:30], path[:, :, 30:36]
        stress[:, ::2] = Y
        stress[:, 1::2] = 0.5 * (Y[:, :-1] + Y[:, 1:]) + rod.h / 8.0 * (slope[:, :-1] - slope[:, 1:])
        at = rod.at
        e = (stress - at[:, :, 12:18]) / at[:, :, :6] - scheme[2] * at[:, :, 24:30]
        e = rod.active * e / (1.0 + scheme[2] * scheme[0])
        return e, rod.active * (scheme[0] * e + at[:, :, 24:30]), rod.active * (scheme[1] * e + at[:, :, 30:36])

    def _twists(self) -> tuple[Array, Array]:
        """η and η' at nodes and midpoints, for the history of the hybrid scheme."""
        rod = self.rod
        out = []
        for first in (12, 18):
            Y = self.path[:, :, first : first + 6]
            field = np.zeros((rod.segments, 2 * rod.steps + 1, 6))
            field[:, ::2] = Y
            # cubic through four nodes, quadratic at the ends of a segment
            field[:, 1::2] = 0.5 * (Y[:, :-1] + Y[:, 1:])
            if rod.steps >= 3:
                field[:, 3:-3:2] = (9.0 * (Y[:, 1:-2] + Y[:, 2:-1]) - Y[:, :-3] - Y[:, 3:]) / 16.0
                field[:, 1] = (3.0 * Y[:, 0] + 6.0 * Y[:, 1] - Y[:, 2]) / 8.0
                field[:, -2] = (3.0 * Y[:, -1] + 6.0 * Y[:, -2] - Y[:, -3]) / 8.0
            out.append(field)
        return out[0], out[1]

    def motion(self) -> RodMotion:
        """All that was computed."""
        rod = self.rod
        join: Any = lambda x: np.concatenate([x[0], *[part[1:] for part in x[1:]]])  # noqa: E731
        states = np.array([join(path) for _, path, *_ in self.records])
        pose = np.tile(np.eye(4), (*states.shape[:2], 1, 1))
        pose[..., :3, :3], pose[..., :3, 3] = states[..., :9].reshape(*states.shape[:2], 3, 3), states[..., 9:12]
        strain = np.array([join(e) for e in self.strains]) + join(rod.at[:, ::2, 6:12])
        return RodMotion(
            time=np.array([t for t, *_ in self.records]),
            s=join(rod.s[:, ::2]),
            pose=pose,
            twist=states[..., 12:18],
            strain=strain,
            wrench=states[..., 24:30],
            iterations=np.array([count for _, _, count, _ in self.records]),
            strain_acceleration=np.array([a for *_, a in self.records]),
        )


def _banded(matrix: Array) -> Array:
    """The diagonals of a matrix, for the solver."""
    lower, upper = _BAND
    n = len(matrix)
    out = np.zeros((lower + upper + 1, n))
    for k in range(-lower, upper + 1):
        diagonal = np.diagonal(matrix, k)
        out[upper - k, max(k, 0) : max(k, 0) + diagonal.size] = diagonal
    return out


def _poses(states: Array) -> Array:
    """Poses (m, 4, 4) of states (m, 30)."""
    g = np.tile(np.eye(4), (len(states), 1, 1))
    g[:, :3, :3], g[:, :3, 3] = states[:, :9].reshape(-1, 3, 3), states[:, 9:12]
    return g


def _gaps(ends: Array, starts: Array) -> Array:
    """What the ends of segments miss of the starts of the next ones, (m, 24)."""
    R, R_next = ends[:, :9].reshape(-1, 3, 3), starts[:, :9].reshape(-1, 3, 3)
    across = np.einsum("mji,mj->mi", R_next, ends[:, 9:12] - starts[:, 9:12])
    turn = so3.log(np.swapaxes(R_next, 1, 2) @ R)
    return np.hstack([turn, across, ends[:, 12:] - starts[:, 12:]])


def _kernel(
    rod: _Rod, scheme: Array, ends: Array, variation: Array, path: Array, gravity: Array, tangent: bool
) -> None:
    columns = variation.shape[2]
    entry.shoot_segments(
        rod.steps, rod.h, int(tangent), int(rod.hybrid), rod.active, scheme, rod.at, np.asarray(gravity, dtype=float),
        ends, variation, path, np.zeros((3, 30)), np.zeros((4, 30)), np.zeros((5, 24, columns)), np.zeros(12),
    )  # fmt: skip


def shooting_exponent(problem: RodProblem, step: float) -> float:
    """√(τ/Δt) with τ = L²√(ρA/EI): single shooting over the rod amplifies by its exponential."""
    mass = float(np.mean(np.asarray(problem.inertia(np.linspace(0.0, problem.length, 9)))[:, 3]))
    return math.sqrt(problem.length**2 * math.sqrt(mass / problem.bending_stiffness) / step)


def shooting_growth(system: System, step: float, nodes: int = 400) -> float:
    """Norm of the single-shooting Jacobian ∂(C, L N)(L)/∂(C, L N)(0) of a clamped rod at rest, straight, unloaded.

    It follows exp(√(τ/Δt)) (Boyer 2023, section 2.11 of our reading); a solver in double precision has no digits left
    where it passes 1e13.
    """
    positive("step", step, "s")
    rod = _Rod(system, 1, nodes, hybrid=False)
    a, b = _GAMMA / (_BETA * step), 1.0 / (_BETA * step * step)
    g = rod.problem.base.pose
    ends = np.concatenate([g[:3, :3].ravel(), g[:3, 3], np.zeros(18)])[None]
    variation = np.zeros((1, 24, 6))
    variation[0, 18:] = _SIX
    _kernel(rod, np.array([a, b, rod.damping, 0.0]), ends, variation, np.zeros((1, nodes + 1, 36)), np.zeros(3), True)
    unit = np.concatenate([np.ones(3), np.full(3, rod.problem.length)])
    return float(np.linalg.norm(unit[:, None] * variation[0, 18:] / unit, 2))
