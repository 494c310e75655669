"""Systems with wrenches or efforts that are Python functions of time and motion: the slow lane.

Before each evaluation the frames that carry such a wrench are looked at, the functions are called, and wrench and
tangent are put into the work space; efforts on joints are added behind. The solvers are the compiled ones run as plain
Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core
from elver.dynamics.feedback_steps import FeedbackSteps
from elver.dynamics.increments import Increments
from elver.dynamics.states import Arrays
from elver.environment import Feedback, JointFeedback
from elver.kernels.build import entry
from elver.kernels.build.calls import Calls
from elver.kernels.build.plain import InPython
from elver.kernels.march import explicit
from elver.kernels.march.memory import Scratch, Track
from elver.kernels.tree import articulated
from elver.lie import se3

__all__ = ["FeedbackCore"]

Array: TypeAlias = NDArray[np.float64]


class FeedbackCore(Core):
    """Kernels of a system with feedback; same calls as ``Core``. The last input is the time."""

    @cached_property
    def powers(self) -> dict[float, Array]:
        """Power [W] of each feedback at the instants [s] that solvers asked for last; who reads it, empties it.

        A controller may remember what it was asked: its functions are called by solvers, in the order of time, and by
        nobody else.
        """
        return {}

    def residual(self, a: Arrays, u: Array, jets: int = 3) -> Array:
        """R with closure rows below, (coordinates + rows,)."""
        self.fill_residual(None, a.base, a.twist, a.q, a.multipliers, u, self.jets(a, u, jets))
        return self.work.residual.copy()

    def tangent(self, a: Arrays, u: Array, weights: tuple[float, float, float], jets: int = 3) -> Array:
        """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks, in body variations of the base."""
        self._listen(a.base, a.twist, a.q, a.multipliers, u, self.jets(a, u, jets))
        matrix = super().tangent(a, u, weights, jets)
        self._control_tangent(matrix, a.q, u, weights, self.jets(a, u, jets))
        return matrix

    def _listen(self, base: Array, twist: Array, q: Array, multipliers: Array, u: Array, jets: int) -> None:
        """Wrenches and tangents of all feedback at this state."""
        work = self.work
        self._power = np.zeros(len(self.system.feedback))  # wrenches first, then efforts
        entry.evaluate_residual(self.robot, base, twist, q, multipliers, u, jets)
        wrenches = [part for part in self.system.feedback if isinstance(part, Feedback)]
        for k, (part, f) in enumerate(zip(wrenches, self.program.user_frame, strict=False)):
            g = np.eye(4)
            g[:3, :3], g[:3, 3] = work.pose[f, :3], work.pose[f, 3]
            # the twist is about the base point, as is the pose in the arrays
            eta = se3.Ad(se3.inverse(g)) @ work.eta[f]
            g[:3, 3] += base[3]
            work.user_wrench[k], work.user_tangent[k] = part.evaluate(float(u[-1]), g, eta)
            self._power[k] = work.user_wrench[k] @ eta

    def fill_residual(
        self, _: Any, base: Array, twist: Array, q: Array, multipliers: Array, u: Array, jets: int
    ) -> None:
        """work.residual at this state, with all feedback."""
        self._listen(base, twist, q, multipliers, u, jets)
        entry.evaluate_residual(self.robot, base, twist, q, multipliers, u, jets)
        first = sum(isinstance(part, Feedback) for part in self.system.feedback)
        for k, (rows, part) in enumerate(self.controllers()):
            rates = q[1] if jets == 3 else 0.0 * q[1]
            effort = part.evaluate(float(u[-1]), q[0], rates)[0]
            self.work.residual[rows] -= effort
            self._power[first + k] = effort @ rates[rows - (self.coordinates - self.n)]
        if jets == 3:
            self.powers[float(u[-1])] = self._power

    def _fill_frames(self, _: Any, base: Array, multipliers: Array, u: Array, jets: int) -> None:
        entry.evaluate_frames(self.robot, base, multipliers, u, jets)

    def _fill_matrix(
        self, _: Any, q: Array, multipliers: Array, u: Array, columns: Array, weights: Array, jets: int
    ) -> None:
        entry.evaluate_matrix(self.robot, q, multipliers, u, columns, weights, jets)
        self._control_tangent(self.work.matrix, q, u, weights, jets)

    def _control_tangent(self, matrix: Array, q: Array, u: Array, weights: Sequence[float] | Array, jets: int) -> None:
        """Subtract the variation of the efforts on joints."""
        free, c = self.coordinates - self.n, self.coordinates
        for rows, part in self.controllers():
            change = part.evaluate(float(u[-1]), q[0], q[1] if jets == 3 else 0.0 * q[1])[1]
            matrix[rows, free:c] -= weights[0] * change[:, : self.n] + weights[1] * change[:, self.n :]

    def controllers(self) -> Iterator[tuple[NDArray[np.int64], JointFeedback]]:
        """Rows of the residual that each controller of joints drives."""
        offset = self.coordinates - self.n
        for part in self.system.feedback:
            if isinstance(part, JointFeedback):
                own = [np.arange(self.n)[self.system.coordinates(joint)] for joint in part.driven]
                yield offset + np.concatenate(own), part

    @property
    def increments(self) -> Increments:
        """By the matrix."""
        return Increments(False, "a controller may couple any joint with any other")

    def solve(self, scheme: str, scratch: Scratch, track: Track, *more: Any) -> int:
        """The solver of a scheme, in Python."""
        if scheme == "conserving":
            passage, *out = more
            return FeedbackSteps(self, scratch, track, passage).run(*out)
        own = self.fill_residual, self._fill_frames, self._fill_matrix
        return self.solve_in_python(scheme, own, scratch, track, *more)

    def march_explicit(self, scratch: Scratch, track: Track, stages: int) -> int:
        """Runge-Kutta steps, in Python."""
        run, accelerations = entry.as_python(explicit.march_explicit), entry.as_python(articulated.accelerations)
        calls = Calls(self.fill_residual, 0, 0, 0, 0)
        views = calls, scratch.iteration, scratch.trial, scratch.place, track
        robot = InPython((self.program, self.work), self.robot)
        return int(run(accelerations, robot, views, self.sweep, stages))

    def path_of(self, frame: int) -> NDArray[np.int64]:
        """Unknowns that move a frame, in the order of its columns."""
        p = self.program
        for segment in p.segment:
            if segment[1] < frame <= segment[1] + segment[2]:
                return p.path[segment[7] : segment[7] + segment[8]]
        return p.path[p.slot_path[0, 0] :][: p.slot_path[0, 1]]
