"""Conserving steps of systems with feedback, as plain Python around compiled kernels (see :mod:`.feedback`).

Over a step of length h a frame turns by the Cayley vector θ = RΘ and its origin moves by d. Its wrench is asked at both
ends of the step, with the mean twist η̄ = Rᵀ(θ; d)/h in the axes of either end and the time of the middle, and acts as
½ (J_nᵀF_n + J_+ᵀF_+); what it does is ½ (F_n·η̄_n + F_+·η̄_+) h. With the pose g₊ exp(ζ̂) of the end they vary by

    δη̄_+ = [ 1 + ½Θ̂ + ¼ΘΘᵀ, 0 ;  V̂, 1 ] ζ/h ,   V = R₊ᵀd ;      δη̄_n = [ 1 + ½Θ̂ + ¼ΘΘᵀ, 0 ;  0, RᵀR₊ ] ζ/h .

Efforts on joints are asked once, at the mean coordinates with the rates Δq/h.

Theory: docs/theory/time-integration.md, eq. (conserving), (moving-loads).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.environment import Feedback
from elver.kernels.algebra import lu_factor
from elver.kernels.build import entry
from elver.kernels.build.plain import InPython
from elver.kernels.march import conserving, step_residual, step_tangent
from elver.kernels.march.memory import STEP, Scratch, Track
from elver.kernels.march.passage import Passage, words_of
from elver.lie import se3, so3

if TYPE_CHECKING:
    from elver.dynamics.feedback import FeedbackCore

__all__ = ["FeedbackSteps"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Push:
    """A frame with feedback over the step, its poses about the base point of either end."""

    frame: int
    start: Array  # (4, 4)
    wrench: Array  # (6,) at the start, in its axes
    slope: Array  # (6, 6) its variation with the pose of the end, in axes of the end
    end: Array  # (4, 4)


class FeedbackSteps:
    """The functions that conserving steps call, with feedback between them."""

    def __init__(self, kernels: FeedbackCore, scratch: Scratch, track: Track, passage: Passage) -> None:
        self.kernels, self.scratch, self.track, self.passage = kernels, scratch, track, passage
        self.robot = InPython((kernels.program, kernels.work), kernels.robot)
        self.pushes: list[_Push] = []
        self.start: tuple[Array, Array] | None = None  # residual at rest and wrench on the base, without feedback
        self.tangents: list[Array] = []  # of wrenches at the end, with the pose there
        self.work = 0.0  # J, in the step

    def run(self, *records: Array) -> int:
        """:func:`elver.kernels.march.conserving.march_conserving`."""
        solve, calls = entry.solver_in_python("conserving", self._residual, self._frames, self._matrix)
        calls = calls._replace(
            residual=self._residual_of_motion, tangent=self._tangent_of_motion, frame_columns=self._columns,
            settle=self._settle, start_step=entry.as_python(step_residual.start_step),
        )  # fmt: skip
        own, words = self.scratch, words_of(self.passage)
        views = calls, own.iteration, own.trial, own.place, self.track, self.passage
        solver = InPython(views, own.table(entry.calls_of("conserving", False), self.track, words))
        return int(solve(self.robot, solver, *records))

    @property
    def _wrenches(self) -> list[Feedback]:
        return [part for part in self.kernels.system.feedback if isinstance(part, Feedback)]

    def _residual(
        self, _: Any, base: Array, twist: Array, q: Array, multipliers: Array, u: Array, jets: int
    ) -> None:
        """Residual at an instant (3), at rest and without feedback (1, 0), or over the step (2)."""
        kernels, work = self.kernels, self.kernels.work
        if jets == 3:
            kernels.fill_residual(None, base, twist, q, multipliers, u, 3)
            return
        work.user_wrench[:] = 0.0
        entry.evaluate_residual(kernels.robot, base, twist, q, multipliers, u, jets)
        if jets < 2:
            self.start = None
            return
        powers = self._push(base, float(u[-1]))
        if work.user_wrench.size:
            entry.evaluate_residual(kernels.robot, base, twist, q, multipliers, u, 2)
        h = work.node_step[0]
        for k, (rows, part) in enumerate(kernels.controllers(), start=len(self._wrenches)):
            effort = part.evaluate(float(u[-1]), q[0] - 0.25 * h * q[1], 0.5 * q[1])[0]
            work.residual[rows] -= 2.0 * effort  # half of it counts
            powers[k] = 0.5 * effort @ q[1, rows - (kernels.coordinates - kernels.n)]
        self.work = h * float(powers.sum())
        kernels.powers[float(u[-1])] = powers

    def _push(self, base: Array, t: float) -> Array:
        """Wrenches of the step; their powers, with room for efforts."""
        kernels, passage, work = self.kernels, self.passage, self.kernels.work
        if self.start is None:
            self.start = passage.static.copy(), passage.root[0].copy()
        passage.static[:], passage.root[0] = self.start
        powers = np.zeros(len(kernels.system.feedback))
        h, then = work.node_step[0], work.node_step[1:4]
        self.pushes, self.tangents = [], []
        for k, (part, f) in enumerate(zip(self._wrenches, kernels.program.user_frame, strict=True)):
            g_n, g = _pose(work.node_start[f]), _pose(work.pose[f])
            R_n, R = g_n[:3, :3], g[:3, :3]
            turn, d = work.node_shift[f, :3], g[:3, 3] + base[3] - g_n[:3, 3] - then
            eta_n, eta = np.concatenate([R_n.T @ turn, R_n.T @ d]) / h, np.concatenate([R.T @ turn, R.T @ d]) / h
            F_n, T_n = part.evaluate(t, _moved(g_n, then), eta_n)
            F, T = part.evaluate(t, _moved(g, base[3]), eta)
            theta = R.T @ turn
            spin = np.eye(3) + 0.5 * so3.hat(theta) + 0.25 * np.outer(theta, theta)
            none = np.zeros((3, 3))
            at_end = np.block([[spin, none], [so3.hat(R.T @ d), np.eye(3)]]) / h
            at_start = np.block([[spin, none], [none, R_n.T @ R]]) / h
            work.user_wrench[k] = F
            self.tangents.append(T[:, :6] + T[:, 6:] @ at_end)
            self.pushes.append(_Push(int(f), g_n, F_n, T_n[:, 6:] @ at_start, g))
            powers[k] = 0.5 * (F_n @ eta_n + F @ eta)
            spatial = se3.Ad(se3.inverse(g_n)).T @ F_n
            path = kernels.path_of(int(f))
            passage.static[path] -= passage.start_columns[f][:, : path.size].T @ spatial
            passage.root[0] -= spatial
        return powers

    def _residual_of_motion(self, robot: Any, solver: Any) -> float:
        entry.as_python(conserving.residual_of_motion)(robot, solver)
        self.passage.heat[0] -= self.work
        return 0.0

    def _frames(self, _: Any, base: Array, multipliers: Array, u: Array, jets: int) -> None:
        work = self.kernels.work
        work.user_tangent[:] = 0.0
        for k, tangent in enumerate(self.tangents):
            work.user_tangent[k, :, :6] = tangent
        entry.evaluate_frames(self.kernels.robot, base, multipliers, u, jets)

    def _matrix(
        self, _: Any, q: Array, multipliers: Array, u: Array, columns: Array, weights: Array, jets: int
    ) -> None:
        kernels = self.kernels
        entry.evaluate_matrix(kernels.robot, q, multipliers, u, columns, weights, jets)
        h, free, c = kernels.work.node_step[0], kernels.coordinates - kernels.n, kernels.coordinates
        for rows, part in kernels.controllers():
            change = part.evaluate(float(u[-1]), q[0] - 0.25 * h * q[1], 0.5 * q[1])[1]
            kernels.work.matrix[rows, free:c] -= (
                weights[0] * change[:, : kernels.n] + weights[1] * change[:, kernels.n :]
            )

    def _tangent_of_motion(self, robot: Any, solver: Any) -> float:
        """Factors of Newton's matrix; what wrenches at the start vary by with the end is added to it."""
        it, m, place = self.scratch.iteration, self.scratch.trial, self.scratch.place
        own = self._frames, self._matrix, self._columns, robot, solver, place.scheme[0, 1], it.control[STEP], place.q
        entry.as_python(step_tangent.matrix_of_step)(*own, it.x[0, m.total.size :])
        kernels, passage = self.kernels, self.passage
        imposed = kernels.coordinates - kernels.n + kernels.program.imposed[:, 0]
        for push in self.pushes:
            path, f = kernels.path_of(push.frame), push.frame
            columns = passage.columns[f][:, : path.size].copy()
            if kernels.program.free[0]:
                columns[:3, :3] = m.small[0]
            slope = se3.Ad(se3.inverse(push.start)).T @ push.slope @ se3.Ad(se3.inverse(push.end)) @ columns
            block = -0.5 * passage.start_columns[f][:, : path.size].T @ slope
            block[np.isin(path, imposed)] = 0.0
            kernels.work.matrix[np.ix_(path, path)] += block
        return float(lu_factor(it.matrix, it.pivots))

    @staticmethod
    def _columns(robot: InPython, J: Array) -> None:
        entry.frame_columns(robot.table, J)

    @staticmethod
    def _settle(_: Any, robot: InPython, step: InPython) -> None:
        entry.settle(robot.table, step.table)


def _pose(rows: Array) -> Array:
    """(4, 4) of the rows of R, then p."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rows[:3], rows[3]
    return g


def _moved(g: Array, by: Array) -> Array:
    """The pose in the world, given that about the base point."""
    out = g.copy()
    out[:3, 3] += by
    return out
