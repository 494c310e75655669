"""What the compiled solvers share: their scratch arrays, and when a Newton step is done, or has gone astray.

The solvers are :mod:`elver.kernels.rest` (equilibria), :mod:`elver.kernels.one_step` (Newmark's family) and
:mod:`elver.kernels.gauss`. In the last two, matrices are kept from step to step as long as Newton contracts well with
them; a step that fails from the present acceleration is tried once more from the present velocity. Functions return a
status and never raise. Residual and tangent come in as function pointers (see :mod:`elver.kernels.entry`): a solver
that contained their bodies would be optimised with them once more, which takes six times as long to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.cache import kernel

__all__ = ["March", "follow", "is_far", "is_small", "march_for", "record"]

Floats = NDArray[np.float64]

_ASIDE = 0.3  # of the unit of a coordinate: rad in a joint, or of bending over a rod


class March(NamedTuple):
    """Scratch arrays of the solvers."""

    q: Floats  # (3, n) trial coordinates and rates
    base: Floats  # (4, 3) trial base
    twist: Floats  # (2, 6) trial body twist and rate
    step: Floats  # (size,) Newton increment
    total: Floats  # (coordinates,) increment since the last step
    free: Floats  # (2, coordinates) x_dot_free, x_ddot_free
    columns: Floats  # (18, 6) body variations of the base per unknown
    mixed: Floats  # (18, 6) the same for a mixture of rates
    weights: Floats  # (3,)
    scale: Floats  # (coordinates,) large change of each unknown
    small: Floats  # (5, 3, 3) rotations
    stumpff: Floats  # (12,)
    stage: Floats  # (4, stages, coordinates) accelerations: now, previous step, chart coordinates, their rates
    stage_multipliers: Floats  # (stages, rows)
    big: Floats  # (stages unknowns, stages unknowns)
    big_step: Floats  # (stages unknowns,)
    big_pivots: NDArray[np.int64]
    memory: Floats  # (3,) from step to step: contraction of Newton, step of the matrix, step of the last stages


def march_for(coordinates: int, n: int, rows: int, scale: Floats, stages: int) -> March:
    """Scratch arrays for ``coordinates`` unknowns (base and strains), of which ``n`` strains, and ``rows``."""
    return March(
        q=np.zeros((3, n)),
        base=np.zeros((4, 3)),
        twist=np.zeros((2, 6)),
        step=np.zeros(coordinates + rows),
        total=np.zeros(coordinates),
        free=np.zeros((2, coordinates)),
        columns=np.zeros((18, 6)),
        mixed=np.zeros((18, 6)),
        weights=np.zeros(3),
        scale=np.array(scale, dtype=float),
        small=np.zeros((5, 3, 3)),
        stumpff=np.zeros(12),
        stage=np.zeros((4, stages, coordinates)),
        stage_multipliers=np.zeros((stages, rows)),
        big=np.zeros((stages * (coordinates + rows), stages * (coordinates + rows))),
        big_step=np.zeros(stages * (coordinates + rows)),
        big_pivots=np.zeros(stages * (coordinates + rows), dtype=np.int64),
        memory=np.array([1.0, -1.0, -1.0]),
    )


@kernel
def is_far(increment, q, scale, offset, h, closed):
    """True for a step that goes where no motion goes: to another solution of its equations, or to no number.

    The equations of a long step have further solutions, with no limit on their energy, and Newton may find one of
    them. A strain that turns the rod by more than a full turn is refused; and, with closures, whose multipliers
    feed such solutions, any coordinate that leaves the way of its velocity by more than a fraction of its unit.
    """
    largest, aside = 0.0, 0.0
    for k in range(offset, increment.size):
        value = abs(increment[k]) / scale[k]
        if not value <= largest:
            largest = value
        value = abs(increment[k] - h * q[1, k - offset]) / scale[k]
        if not value <= aside:
            aside = value
    return not largest <= 6.3 or (closed and not aside <= _ASIDE)


@kernel
def is_small(size, contraction, previous, fresh, tolerance):
    """True when what Newton leaves behind after a correction of this size is below the tolerance, or is rounding."""
    # before a contraction was seen in this step, that of the last one is trusted to one digit only
    guess = min(contraction, 0.9) if previous > 0.0 else max(min(contraction, 0.9), 0.1)
    if size * guess < tolerance * (1.0 - guess):
        return True
    # with a new matrix, a small correction that no longer shrinks is rounding
    return fresh and previous > 0.0 and contraction > 0.5 and size < 1e-9


@kernel
def follow(given_base, given_twist, base, twist):
    """A base that is not free: its given pose and motion."""
    for i in range(4):
        for k in range(3):
            base[i, k] = given_base[i, k]
    for i in range(2):
        for k in range(6):
            twist[i, k] = given_twist[i, k]


@kernel
def record(row, base, twist, q, multipliers, out_q, out_base, out_twist, out_multipliers):
    """Copy the accepted state into its row."""
    for i in range(3):
        for k in range(q.shape[1]):
            out_q[row, i, k] = q[i, k]
    for i in range(4):
        for k in range(3):
            out_base[row, i, k] = base[i, k]
    for i in range(2):
        for k in range(6):
            out_twist[row, i, k] = twist[i, k]
    for k in range(multipliers.size):
        out_multipliers[row, k] = multipliers[k]
