"""One implicit step of a rod as a two-point problem along s, by multiple shooting and Newton (Boyer 2023, eq. 61).

Unknowns: ν of the base and Λ(0), then (ζ, η, η', Λ) at the start of each further segment. Equations: six conditions at
the base, continuity at each cut, six conditions at the tip. Each segment is integrated from its own start together with
its exact tangent; the matrix is banded.

What the scheme remembers of a rod are the strain and its rates on the grid. The rates are kept at the nodes, and follow
them between: midpoints with a memory of their own (``own_midpoints``), as a Runge-Kutta method asks for at first sight,
ring from step to step, and that grows into the instability of short steps long before the nodes do.

Theory: docs/theory/optimal-control.md, eq. (implicit-strain), (acceleration-form).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from elver.errors import NotConverged
from elver.lie import se3, so3
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.critical_step import Ringing, trouble
from elver.one_rod.shooting.ends import BaseState, Root, base_of, check_start, conditions, residual_at
from elver.one_rod.shooting.grid import RodGrid, poses_of
from elver.one_rod.shooting.time_scheme import Rates, TimeScheme
from elver.system import Inputs, State

__all__ = ["ShootingRun", "Record"]

Array = NDArray[np.float64]

# Unknowns and rows of neighbouring segments: this many diagonals below and above the main one are not empty.
_BAND = (41, 29)


class Record(NamedTuple):
    """One instant of a run."""

    time: float
    path: Array  # (segments, steps + 1, 36)
    strain: Array  # (segments, steps + 1, 6) ε
    iterations: int
    acceleration: float  # largest of ε'' [1/s²], dimensionless
    ringing: float


class ShootingRun:
    """The state of a run on the grid of the rod; :meth:`advance` takes a step."""

    def __init__(
        self,
        grid: RodGrid,
        state: State,
        inputs: Inputs | None,
        scheme: TimeScheme,
        tolerance: float = 1e-8,
        iterations: int = 25,
        own_midpoints: bool = False,
    ) -> None:
        self.grid, self.inputs, self.scheme = grid, inputs, scheme
        self.tolerance, self.iterations, self.own_midpoints = tolerance, iterations, own_midpoints
        self.time = state.time
        at = grid.system.coordinates(grid.rod)
        self.strain = grid.strain_field(state.q[at])
        second = grid.strain_field(state.q_ddot[at])
        self.rates = Rates(grid.strain_field(state.q_dot[at]), second, second)
        problem = grid.load(inputs, self.time)
        g, eta, eta_dot = base_of(grid, state, problem)
        self.root = Root.at(g, eta, eta_dot)
        self.moves = not problem.base.is_clamped
        self.path = grid.kinematics(g, eta, eta_dot, self.strain, self.rates)
        check_start(grid, problem, self.path)
        self.starts = np.ascontiguousarray(self.path[:, 0, :30])
        # scheme for the kernel: dε'/dε, dε''/dε, τ, and c of η' = c η + f_η where that stands for its equation
        a, b = scheme.a, scheme.b
        self.table = np.array([a, 0.0, grid.damping, a] if grid.hybrid else [a, b, grid.damping, 0.0])
        self.twists = [grid.between(self.path[:, :, first : first + 6]) for first in (12, 18)]
        self.listener = Ringing(scheme.step)
        self.records = [Record(self.time, self.path.copy(), self.strain[:, ::2].copy(), 0, 0.0, 0.0)]

    def advance(self, t: float) -> None:
        """One step, to the instant ``t`` [s]; :class:`NotConverged` says why not."""
        grid, scheme, rates = self.grid, self.scheme, self.rates
        first, second = scheme.free(rates)
        e1, e2 = first - scheme.a * self.strain, second - scheme.b * self.strain
        grid.at[:, :, 24:30], grid.at[:, :, 30:36] = e1 * grid.active, e2 * grid.active
        if grid.hybrid:
            grid.at[:, :, 30:36] = 0.0
            eta, eta_dot = self.twists
            grid.at[:, :, 42:48] = -eta_dot - scheme.a * eta
        ahead = self.strain + scheme.step * (rates.first + 0.5 * scheme.step * rates.second)
        history: list[float] = []
        with np.errstate(over="ignore", invalid="ignore"):
            if self._newton(ahead, t, history):
                return
        raise NotConverged(f"shooting_dynamics: Newton failed at t = {self.time:g} s; {self.trouble}", history=history)

    @property
    def trouble(self) -> str:
        """What makes such steps hard, and what to do; the end of a message."""
        grid, scheme = self.grid, self.scheme
        nodes = grid.segments * grid.steps
        damped = scheme.alpha_f > 0.0 or scheme.gamma > 0.5 or grid.hybrid  # which takes no other scheme
        return trouble(grid.problem, scheme.step, grid.segments, nodes, self.records[-1].ringing, damped)

    # Newton ----------------------------------------------------------------------------------------------------

    def _newton(self, ahead: Array, t: float, history: list[float]) -> bool:
        """Newton from the strains ``ahead``; True when the step was taken."""
        grid = self.grid
        problem = grid.load(self.inputs, t)
        starts = self._predict(ahead)
        nu = self.scheme.step * self.root.rates.first if self.moves else np.zeros(6)
        base = self._base(problem, nu, t)
        starts[0, :24] = base.state
        for iteration in range(1, self.iterations + 1):
            matrix, residual = self._shoot(starts, base, problem)
            try:
                x = solve_banded(_BAND, _banded(matrix), -residual)
            except (np.linalg.LinAlgError, ValueError):  # singular, or not a number
                return False
            size = self._size(x)
            history.append(size)
            if not np.isfinite(size) or size > 1e6:
                return False
            nu = nu + x[:6]
            self._update(starts, x)
            if self.moves:
                base = self._base(problem, nu, t)
                starts[0, :24] = base.state
            if size < self.tolerance:
                self._accept(starts, base, problem, t, iteration)
                return True
        return False

    def _predict(self, ahead: Array) -> Array:
        """Starts of the segments: moved on by their twists, stresses of free strains from the strains ``ahead``."""
        grid, dt = self.grid, self.scheme.step
        starts = self.starts.copy()
        g = poses_of(starts) @ se3.exp(dt * starts[:, 12:18])
        starts[:, :9], starts[:, 9:12] = g[:, :3, :3].reshape(-1, 9), g[:, :3, 3]
        starts[:, 12:18] += dt * starts[:, 18:24]
        starts[:, 24:] = np.where(grid.active > 0.0, grid.stress(ahead)[:, 0], starts[:, 24:])
        return starts

    def _base(self, problem: RodProblem, nu: Array, t: float) -> BaseState:
        return self.root.moved(nu, self.scheme) if self.moves else self.root.given(problem, self.grid, t)

    def _shoot(self, starts: Array, base: BaseState, problem: RodProblem) -> tuple[Array, Array]:
        """Matrix and residual of Newton."""
        grid = self.grid
        M = grid.segments
        ends, variation = starts.copy(), np.tile(np.eye(24), (M, 1, 1))
        grid.integrate(self.table, ends, variation, problem.gravity)
        size = 12 + 24 * (M - 1)
        matrix, residual = np.zeros((size, size)), np.zeros(size)
        at_base, at_tip = conditions(grid, problem)
        if self.moves:
            residual[:6], slope = residual_at(at_base, base.pose, starts[0, 24:])
            matrix[:6, :6], matrix[:6, 6:12] = slope[:, :6] @ base.slopes[:6], slope[:, 6:]
        else:
            matrix[:6, :6] = np.eye(6)
        first = np.zeros((24, 12))
        first[:18, :6], first[18:, 6:] = base.slopes, np.eye(6)
        variations = [variation[0] @ first, *variation[1:]]
        residual[6 : 6 + 24 * (M - 1)] = _gaps(ends[:-1], starts[1:]).ravel()
        for m in range(M):
            own = slice(0, 12) if m == 0 else slice(12 + 24 * (m - 1), 12 + 24 * m)
            if m < M - 1:
                rows = slice(6 + 24 * m, 30 + 24 * m)
                matrix[rows, own] = variations[m]
                matrix[rows, 12 + 24 * m : 36 + 24 * m] = -np.eye(24)
            else:
                G, shed = self._tail(ends[m, 12:18])
                residual[-6:], slope = residual_at(at_tip, poses_of(ends[m]), ends[m, 24:] - G)
                stress = variations[m][18:] - shed @ variations[m][6:12]
                matrix[-6:, own] = slope[:, :6] @ variations[m][:6] + slope[:, 6:] @ stress
        return matrix, residual

    def _tail(self, eta: Array) -> tuple[Array, Array]:
        """G = V_x M_a η - (0; T e_x) of Lighthill's water at the tail, and its slope with η."""
        m = self.grid.tail
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
        grid, dt = self.grid, self.scheme.step
        L = grid.problem.length
        wrench = np.concatenate([np.full(3, grid.bending / L), np.full(3, grid.bending / L**2)])
        own = np.concatenate([grid.unit, grid.unit / dt, grid.unit / dt**2, wrench])
        units = np.concatenate([grid.unit, wrench, *[own] * (grid.segments - 1)])
        return float(np.max(np.abs(x) / units))

    def _update(self, starts: Array, x: Array) -> None:
        starts[0, 24:] += x[6:12]
        d, own = x[12:].reshape(-1, 24), starts[1:]
        R = own[:, :9].reshape(-1, 3, 3)
        own[:, 9:12] += np.einsum("mij,mj->mi", R, d[:, 3:6])
        own[:, :9] = (R @ so3.exp(d[:, :3])).reshape(-1, 9)
        own[:, 12:] += d[:, 6:]

    def _accept(self, starts: Array, base: BaseState, problem: RodProblem, t: float, iteration: int) -> None:
        """The fields at the new instant, and what the scheme remembers of them."""
        grid = self.grid
        path = grid.integrate(self.table, starts.copy(), None, problem.gravity)
        strain = grid.strains(path, self.table)
        rates = self.scheme.after(strain - self.strain, self.rates)
        if grid.hybrid:
            self.twists = [grid.between(path[:, :, first : first + 6]) for first in (12, 18)]
        if not self.own_midpoints:
            rates = grid.nodes_only(rates)
        self.strain, self.rates, self.path, self.time = strain, rates, path, t
        self.starts = starts
        if self.moves:
            self.root = Root(base.pose, base.rates)
        second = rates.second[:, ::2] * grid.strain_unit
        heard = self.listener.heard(second)
        self.records.append(Record(t, path, strain[:, ::2].copy(), iteration, float(np.max(np.abs(second))), heard))


def _banded(matrix: Array) -> Array:
    """The diagonals of a matrix, for the solver."""
    rows, inside = _band_of(len(matrix))
    return np.asarray(np.where(inside, matrix[rows, np.arange(len(matrix))], 0.0))


@cache
def _band_of(n: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Row of the matrix for each diagonal and column, and whether there is one."""
    lower, upper = _BAND
    rows = np.arange(n) + np.arange(-upper, lower + 1)[:, None]
    inside = (rows >= 0) & (rows < n)
    return np.where(inside, rows, 0), inside


def _gaps(ends: Array, starts: Array) -> Array:
    """What the ends of segments miss of the starts of the next ones, (m, 24)."""
    R, R_next = ends[:, :9].reshape(-1, 3, 3), starts[:, :9].reshape(-1, 3, 3)
    across = np.einsum("mji,mj->mi", R_next, ends[:, 9:12] - starts[:, 9:12])
    turn = so3.log(np.swapaxes(R_next, 1, 2) @ R)
    return np.hstack([turn, across, ends[:, 12:] - starts[:, 12:]])
