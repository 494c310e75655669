"""Systems with wrenches that are Python functions of time and motion: the slow lane.

Before each evaluation the frames that carry such a wrench are looked at, the functions are called, and wrench and
tangent are put into the work space; the solvers are the compiled ones run as plain Python.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Arrays, Core
from elver.kernels import entry, march
from elver.kernels.march import March
from elver.kernels.program import Program, Work
from elver.lie import se3

__all__ = ["FeedbackCore"]

Array: TypeAlias = NDArray[np.float64]


class FeedbackCore(Core):
    """Kernels of a system with feedback; same calls as ``Core``. The last input is the time."""

    def residual(self, a: Arrays, u: Array, jets: int = 3) -> Array:
        """R with closure rows below, (coordinates + rows,)."""
        self._listen(self.work, a.base, a.twist, a.q, a.multipliers, u, jets)
        return super().residual(a, u, jets)

    def tangent(self, a: Arrays, u: Array, weights: tuple[float, float, float], jets: int = 3) -> Array:
        """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks, in body variations of the base."""
        self._listen(self.work, a.base, a.twist, a.q, a.multipliers, u, jets)
        return super().tangent(a, u, weights, jets)

    def _listen(
        self, work: Work, base: Array, twist: Array, q: Array, multipliers: Array, u: Array, jets: int
    ) -> None:
        """Wrenches and tangents of all feedback at this state."""
        entry.evaluate_residual(self.program, work, base, twist, q, multipliers, u, jets)
        for k, (part, f) in enumerate(zip(self.system.feedback, self.program.user_frame, strict=True)):
            g = np.eye(4)
            g[:3, :3], g[:3, 3] = work.pose[f, :3], work.pose[f, 3]
            # the twist is about the base point, as is the pose in the arrays
            eta = se3.Ad(se3.inverse(g)) @ work.eta[f]
            g[:3, 3] += base[3]
            work.user_wrench[k], work.user_tangent[k] = part.evaluate(float(u[-1]), g, eta)

    def _fill_residual(
        self, program: Program, work: Work, base: Array, twist: Array, q: Array, multipliers: Array, u: Array, jets: int
    ) -> None:
        self._listen(work, base, twist, q, multipliers, u, jets)
        entry.evaluate_residual(program, work, base, twist, q, multipliers, u, jets)

    def solve_static(self, scratch: March, *arguments: Any) -> int:
        """Newton for an equilibrium, in Python."""
        return self._solve(march.solve_static, scratch, *arguments)

    def march_one_step(self, scratch: March, *arguments: Any) -> int:
        """Newmark-type steps, in Python."""
        return self._solve(march.march_one_step, scratch, *arguments)

    def march_gauss(self, scratch: March, *arguments: Any) -> int:
        """Gauss steps, in Python."""
        return self._solve(march.march_gauss, scratch, *arguments)

    def _solve(self, function: Any, scratch: March, *arguments: Any) -> int:
        run = entry.as_python(function)
        return int(run(self._fill_residual, entry.evaluate_tangent, self.program, self.work, scratch, *arguments))
