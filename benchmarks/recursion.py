"""Inverse dynamics of one rod and its tangent: time of one call inside a compiled loop, and how it grows.

A clamped Kirchhoff rod with four functions per strain, Magnus 6, under gravity, at a random state with rates and
accelerations. A grid of n nodes is n - 2 quadrature points, base and tip. Error = largest difference of the
residual to the readable twin in plain NumPy, relative to its largest entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.kernels.build import entry
from elver.kernels.tree.repeat import repeat_residual, repeat_tangent
from elver.kernels.twin.tree import twin_residual

ACCURACY = 1e-12
CALLS = 200  # in one compiled loop
NODES = (10, 20, 40, 80, 160)


class Evaluations:
    """A clamped system at a moving state, ready for compiled loops."""

    def __init__(self, system: ev.System) -> None:
        kernels, random = core(system), np.random.default_rng(0)
        kernels.make_room()
        self.program, self.work, self.robot = kernels.program, kernels.work, kernels.robot
        rest = arrays(system.rest())
        self.base, self.twist = rest.base, rest.twist
        self.q = rest.q + kernels.assembly.scale * random.normal(size=(3, system.n)) * [[0.1], [1.0], [10.0]]
        self.multipliers = random.normal(size=kernels.rows)
        self.inputs = system.input_vector(system.signals(None), 0.0)
        self.columns, self.weights = np.zeros((18, 6)), np.array([1.0, 2e2, 4e4])  # as in a step of 10 ms
        self._tangent = entry.address("tree.tangent.evaluate_frames"), entry.address("tree.tangent.evaluate_matrix")
        self.inverse_dynamics(1)  # the tangent is taken at the state of the last residual

    def inverse_dynamics(self, calls: int) -> None:
        """``calls`` residuals."""
        state: tuple[Any, ...] = (self.base, self.twist, self.q, self.multipliers, self.inputs)
        repeat_residual(entry.address("tree.evaluate.evaluate_residual"), self.robot, *state, 3, calls)

    def newton_matrix(self, calls: int) -> None:
        """``calls`` tangents."""
        state: tuple[Any, ...] = (self.base, self.q, self.multipliers, self.inputs, self.columns, self.weights)
        repeat_tangent(*self._tangent, self.robot, *state, 3, calls)

    def error(self) -> float:
        """Largest difference of the residual to the readable twin, over its largest entry."""
        self.inverse_dynamics(1)
        twin = twin_residual(self.program, self.base, self.twist, self.q, self.multipliers, self.inputs)
        return float(np.abs(self.work.residual - twin).max() / np.abs(twin).max())

    def times(self, calls: int, repeats: int = 5) -> tuple[float, float]:
        """CPU seconds of one residual and of one Newton matrix."""
        one = cpu_time(lambda: self.inverse_dynamics(calls), repeats=repeats) / calls
        return one, cpu_time(lambda: self.newton_matrix(calls), repeats=repeats) / calls


class Problem(Evaluations):
    """A rod with ``nodes`` nodes."""

    def __init__(self, nodes: int) -> None:
        material = ev.Material(young=1e6, poisson=0.45, density=1000.0)
        rod = ev.Rod(1.0, ev.Circle(0.02), material, ev.Legendre.kirchhoff(4), nodes=nodes - 2)
        assert rod.grid.s.size == nodes
        super().__init__(ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()]))


@row("rod-inverse-dynamics-11", unit="us", goal=10.0)
def rod_inverse_dynamics_11(peers: bool) -> Row:
    """Inverse dynamics of one rod with 11 nodes, forward and backward pass."""
    problem = Problem(11)
    error = problem.error()
    ours = 1e6 * cpu_time(lambda: problem.inverse_dynamics(CALLS)) / CALLS if error <= ACCURACY else None
    return Row(ours, error)


@row("rod-cost-exponent", unit="power of nodes", goal=1.2)
def rod_cost_exponent(peers: bool) -> Row:
    """p in time ~ nodes^p from 10 to 160 nodes: the larger of inverse dynamics and tangent."""
    times = []
    for nodes in NODES:
        problem = Problem(nodes)
        calls = max(1, CALLS * NODES[0] // nodes)
        one = cpu_time(lambda p=problem, c=calls: p.inverse_dynamics(c)) / calls
        times.append((one, cpu_time(lambda p=problem, c=calls: p.newton_matrix(c)) / calls))
    powers = np.polyfit(np.log(NODES), np.log(times), 1)[0]
    return Row(float(powers.max()))
