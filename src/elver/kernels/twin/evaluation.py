"""What one evaluation of the readable twin works on: a robot, its state, and residual and tangent as they grow.

Conventions as in :mod:`elver.kernels.twin.tree`: six-vectors angular first; columns of a variation are the unknowns
(base, coordinates, multipliers).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from elver.kernels.tree.program import Program

__all__ = ["Evaluation"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class Evaluation:
    """A robot at a state, the residual R and its variation, weighted; without weights that is not asked for."""

    program: Program
    base: Array
    twist: Array
    q: Array
    multipliers: Array
    inputs: Array
    weights: Array | None
    R: Array = field(init=False)  # (size,)
    matrix: Array = field(init=False)  # (size, size)
    g: Array = field(init=False)  # (frames, 4, 4) poses in the world
    eta: Array = field(init=False)  # (frames, 6) body twists
    eta_dot: Array = field(init=False)
    d_zeta: Array = field(init=False)  # (frames, 6, size) variations of pose, twist and its rate
    d_eta: Array = field(init=False)
    d_eta_dot: Array = field(init=False)
    F: Array = field(init=False)  # (frames, 6) what a frame demands, behind the backward pass with all beyond
    d_F: Array = field(init=False)  # (frames, 6, size)

    def __post_init__(self) -> None:
        p = self.program
        self.q = self.q.copy()
        self.q[:, p.imposed[:, 0]] = self.inputs[p.imposed[:, 1:].T]
        rows = p.row_kind.size + int(np.count_nonzero(p.tendon_row >= 0))
        frames, size = p.inertia.shape[0], self.coordinates + rows
        self.R, self.matrix = np.zeros(size), np.zeros((size, size))
        self.g = np.zeros((frames, 4, 4))
        self.eta, self.eta_dot, self.F = (np.zeros((frames, 6)) for _ in range(3))
        self.d_zeta, self.d_eta, self.d_eta_dot, self.d_F = (np.zeros((frames, 6, size)) for _ in range(4))

    @property
    def offset(self) -> int:
        """Unknowns of a free base."""
        return 6 * int(self.program.free[0])

    @property
    def coordinates(self) -> int:
        """Unknowns but the multipliers."""
        return self.offset + self.program.component.size

    @property
    def own(self) -> slice:
        """Rows and columns of the coordinates."""
        return slice(self.offset, self.coordinates)

    @property
    def w(self) -> Array:
        """Weights, zero without a tangent."""
        return np.zeros(3) if self.weights is None else self.weights

    def tension(self, t: int) -> float:
        """Tension of a tendon: its multiplier, or its input times its factor."""
        row, amount = self.program.tendon_row[t], self.inputs[self.program.tendon_input[t]]
        return float(self.multipliers[row] if row >= 0 else self.program.tendon_factor[t] * amount)
