"""A wanted pose of a part: how far it is from it, and how that changes with coordinates and inputs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Imposed
from elver.dynamics.core import Core, core
from elver.dynamics.states import Arrays
from elver.errors import ElverWarning
from elver.mechanism import Hold
from elver.system import System

__all__ = ["Target", "input_units", "response"]

Array: TypeAlias = NDArray[np.float64]


class Target:
    """Rows Ψ of a hold that is looked at but does not act; without those that the parts fulfil by themselves."""

    def __init__(self, system: System, hold: Hold) -> None:
        # What is imposed moves with the inputs here, so nothing is: only the parts may make a row redundant.
        driven = [part for part in system.actuators if not isinstance(part, Imposed)]
        mechanism = replace(system.mechanism, holds=(*system.mechanism.holds, hold))
        self.system = System(mechanism, driven, system.loads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElverWarning)
            self.core: Core = core(self.system)
        first = sum(other.rows for other in system.mechanism.holds)
        rows = np.arange(first, first + hold.rows)
        self.rows = rows[np.any(self.core.program.row_axes[rows], axis=1)]
        self.turns = np.array([self.system.multipliers[k][1] == "N m" for k in self.rows], dtype=bool)
        self.u = self.system.input_vector(self.system.signals(None), 0.0)

    def gap(self, a: Arrays) -> Array:
        """Ψ at a state of rest of the robot: rad about the axes of the target, m along those of the world."""
        return self.core.residual(self._seen(a), self.u, jets=1)[self.core.coordinates + self.rows]

    def gradient(self, a: Arrays) -> Array:
        """∂Ψ/∂(base, coordinates), (rows, coordinates)."""
        matrix = self.core.tangent(self._seen(a), self.u, (1.0, 0.0, 0.0), jets=1)
        return matrix[self.core.coordinates + self.rows, : self.core.coordinates]

    def _seen(self, a: Arrays) -> Arrays:
        return Arrays(a.base, a.twist, a.q, np.zeros(self.core.rows))

    def parted(self, gap: Array) -> tuple[float, float]:
        """Distance [m] and angle [rad] of a gap."""
        return float(np.linalg.norm(gap[~self.turns])), float(np.linalg.norm(gap[self.turns]))


def response(kernels: Core, a: Arrays, u: Array, channels: list[int]) -> Array:
    """Change of (base, coordinates, multipliers) per unit of each input, in balance: (unknowns, inputs)."""
    matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
    slope = np.column_stack([kernels.input_slope(a, u, k) for k in channels])
    try:
        answer = -np.linalg.solve(matrix, slope)
    except np.linalg.LinAlgError:
        answer = -np.linalg.lstsq(matrix, slope, rcond=1e-12)[0]
    # an imposed coordinate is its input
    for coordinate, column, *_ in kernels.program.imposed:
        if column in channels:
            answer[kernels.coordinates - kernels.n + coordinate, channels.index(column)] += 1.0
    return np.asarray(answer)


def input_units(kernels: Core, channels: list[int]) -> Array:
    """A large change of each input: 1 rad, the length of the robot, or what strains it by as much."""
    L, E = kernels.assembly.length, kernels.assembly.energy
    scale = {"rad": 1.0, "m": L, "N": E / L, "N m": E, "1/m": 1.0 / L, "Pa": E / L**3}
    return np.array([scale.get(kernels.system.channels[k].unit, 1.0) for k in channels])
