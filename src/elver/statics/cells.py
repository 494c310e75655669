"""Equilibria of one cell of a workspace map: by given inputs, or by a given place of the part.

A point is a state of rest with its inputs; solvers go from a known point to one near it, along the tangent of the
equations, R(x, u) = 0 and Ψ(x) = 0, and stay on its sheet of solutions: the sign of their determinant is kept.

Theory: docs/theory/statics.md, eq. (inverse-statics).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.dynamics.core import core
from elver.dynamics.states import Arrays
from elver.errors import BadInput
from elver.mechanism import Hold, Part
from elver.rods import Rod
from elver.rods.fields import Station
from elver.statics.closing import retract
from elver.statics.equilibrium import Equilibrium
from elver.statics.target import Target, input_units
from elver.system import System

__all__ = ["Forward", "Inverse", "Point", "Solver"]

Array: TypeAlias = NDArray[np.float64]

_LONGEST_MOVE = 0.6  # rad of bending over a rod or of a joint, from cell to cell: further is another branch
_BEND = 0.5  # part of a step by which a sheet may depart from its tangent


@dataclass(frozen=True, eq=False)
class Point:
    """A state of rest and its inputs."""

    a: Arrays
    u: Array
    sign: float = 0.0  # of the determinant of the equations of a cell, which one sheet of solutions keeps


class Solver:
    """Newton for a cell from a point near by."""

    def __init__(self, system: System, channels: list[int]) -> None:
        self.system, self.core, self.channels = system, core(system), channels
        k = self.core
        self.unit = input_units(k, channels)
        forces = np.full(k.rows, k.assembly.energy / k.assembly.length)
        self.scale = np.concatenate([k.assembly.scale, forces])
        self.weight = np.concatenate([k.assembly.scale / k.assembly.energy, np.ones(k.rows)])
        # where an imposed coordinate is in the unknowns, by its channel
        self.driven = {int(column): k.coordinates - k.n + int(q) for q, column, *_ in k.program.imposed}

    def slopes(self, matrix: Array, at: Point) -> Array:
        """∂R/∂u of the channels, (unknowns, channels)."""
        columns = []
        for channel in self.channels:
            if channel in self.driven:
                column = matrix[:, self.driven[channel]].copy()
                column[self.driven[channel]] = 0.0
            else:
                column = self.core.input_slope(at.a, at.u, channel)
            columns.append(column)
        return np.column_stack(columns)

    def linear(self, at: Point) -> tuple[Array, Array, Array]:
        """Scaled R, ∂R/∂(unknowns) and ∂R/∂(channels)."""
        matrix = self.core.tangent(at.a, at.u, (1.0, 0.0, 0.0), jets=1)
        R = self.weight * self.core.residual(at.a, at.u, jets=1)
        slopes = self.weight[:, None] * self.slopes(matrix, at) * self.unit
        return R, self.weight[:, None] * matrix * self.scale, slopes

    def step(self, at: Point, dx: Array, du: Array) -> Point:
        """The point at scaled increments of unknowns and channels."""
        c, step, u = self.core.coordinates, self.scale * dx, at.u.copy()
        u[self.channels] += self.unit * du
        for k, channel in enumerate(self.channels):
            if channel in self.driven:
                step[self.driven[channel]] = self.unit[k] * du[k]
        moved = retract(self.core, at.a, step[:c])
        return Point(replace(moved, multipliers=at.a.multipliers + step[c:]), u, at.sign)

    def newton(self, near: Point, moved: Callable[[Point], tuple[Array, Array]]) -> Point | None:
        """Newton from a point near by, on the same sheet: None where it fails or leaves for another one.

        ``moved(point)`` gives the scaled equations and their Jacobian by (unknowns, channels). The first step is
        the tangent of the sheet; where the others change more than a part of it, the sheet bends too much for one step,
        or ends. So it does where the determinant has changed its sign.
        """
        at, size = near, self.scale.size
        tangent, rest = np.zeros(0), np.zeros(0)
        for iteration in range(14):
            R, J = moved(at)
            square = J.shape[0] == J.shape[1]
            if iteration and float(np.max(np.abs(R))) < 1e-10:
                sign = float(np.linalg.slogdet(J)[0]) if square else 1.0
                return None if near.sign * sign < 0.0 else replace(at, sign=sign)
            try:
                found = np.linalg.solve(J, -R) if square else np.linalg.lstsq(J, -R, rcond=1e-12)[0]
            except np.linalg.LinAlgError:
                return None
            step: Array = np.asarray(found, dtype=float)
            motion = np.concatenate([step[: self.core.coordinates], step[size:]])
            tangent, rest = (motion, 0.0 * motion) if iteration == 0 else (tangent, rest + motion)
            bent = float(np.linalg.norm(rest)) > _BEND * float(np.linalg.norm(tangent)) + 1e-9
            if bent or not float(np.max(np.abs(motion))) < _LONGEST_MOVE:
                return None
            at = self.step(at, step[:size], step[size:])
        return None


class Forward(Solver):
    """Cells are values of two inputs."""

    def where(self, at: Point) -> Array:
        return at.u[self.channels]

    def solve(self, near: Point, value: Array) -> Point | None:
        """The equilibrium at the inputs of a cell."""

        def moved(at: Point) -> tuple[Array, Array]:
            R, J, slopes = self.linear(at)
            away = (at.u[self.channels] - value) / self.unit
            below = np.hstack([np.zeros((2, self.scale.size)), np.eye(2)])
            return np.concatenate([R, away]), np.vstack([np.hstack([J, slopes]), below])

        return self.newton(near, moved)


class Inverse(Solver):
    """Cells are positions of a part; inputs are unknown."""

    def __init__(
        self,
        system: System,
        over: tuple[str, ...],
        part: Part,
        at: Station,
        by: Sequence[Any] | None,
        position: Sequence[float | None] | None,
        orientation: ArrayLike | None,
        first: Equilibrium,
    ) -> None:
        super().__init__(system, [system.input_index(key) for key in (system.actuators if by is None else by)])
        wanted: list[float | None] = [None, None, None] if position is None else list(position)
        self.axes = ["xyz".index(key) for key in over]
        if len(set(self.axes)) < 2:
            raise BadInput(f"over = {over}: give two different axes")
        here = first.pose(part, at if isinstance(part, Rod) else None)[:3, 3]
        for axis in self.axes:
            wanted[axis] = float(here[axis])
        hold = Hold(
            at=at if isinstance(part, Rod) else "tip",
            position=tuple(wanted),  # type: ignore[arg-type]
            orientation=orientation,  # type: ignore[arg-type]
            name="target",
            part=part,
        )
        self.target, self.origin = Target(system, hold), here[self.axes]
        first_row = sum(other.rows for other in system.mechanism.holds) + len(hold.rotation_axes)
        places = [first_row + hold.position_axes.index(axis) for axis in self.axes]
        if any(row not in self.target.rows for row in places):
            raise BadInput(f"over = {over}: the part does not move along both axes")
        self.moving = [int(np.flatnonzero(self.target.rows == row)[0]) for row in places]
        if len(self.channels) < self.target.rows.size:
            raise BadInput(
                f"workspace: {self.target.rows.size} components of the pose are wanted of {len(self.channels)} inputs; "
                "want less, or name more actuators with by=[...]"
            )
        self.rows = np.where(self.target.turns, 1.0, self.core.assembly.length)

    def where(self, at: Point) -> Array:
        gap = self.target.gap(at.a)
        return self.origin + gap[self.moving]

    def solve(self, near: Point, value: Array) -> Point | None:
        """State and inputs at the position of a cell."""
        c, rows = self.core.coordinates, self.core.rows
        shift = np.zeros(self.target.rows.size)
        shift[self.moving] = value - self.origin

        def moved(at: Point) -> tuple[Array, Array]:
            R, J, slopes = self.linear(at)
            gap = (self.target.gap(at.a) - shift) / self.rows
            G = self.target.gradient(at.a) * self.scale[:c] / self.rows[:, None]
            direct = np.zeros((gap.size, len(self.channels)))
            for k, channel in enumerate(self.channels):
                if channel in self.driven:
                    j = self.driven[channel]
                    direct[:, k] = G[:, j] * self.unit[k] / self.scale[j]
                    G[:, j] = 0.0
            below = np.hstack([G, np.zeros((gap.size, rows)), direct])
            return np.concatenate([R, gap]), np.vstack([np.hstack([J, slopes]), below])

        return self.newton(near, moved)
