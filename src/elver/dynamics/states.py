"""A state in the layout of the kernels, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elver.system import State

__all__ = ["Arrays", "arrays", "as_state"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Arrays:
    """A state in the layout of the kernels."""

    base: Array  # (4, 3) rows of R, then p
    twist: Array  # (2, 6)
    q: Array  # (3, n)
    multipliers: Array


def arrays(state: State) -> Arrays:
    """Kernel layout of ``state`` (copies)."""
    base = np.vstack([state.g[:3, :3], state.g[:3, 3]])
    return Arrays(
        np.ascontiguousarray(base),
        np.vstack([state.eta, state.eta_dot]),
        np.vstack([state.q, state.q_dot, state.q_ddot]),
        state.multipliers.copy(),
    )


def as_state(a: Arrays, time: float) -> State:
    """The state of kernel arrays."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = a.base[:3], a.base[3]
    return State(a.q[0], a.q[1], a.q[2], g, a.twist[0], a.twist[1], a.multipliers, time)
