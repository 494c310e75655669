"""What the compiled solvers share: their scratch arrays, and when a Newton step is done, or has gone astray.

The solvers are :mod:`elver.kernels.march.rest` (equilibria), :mod:`elver.kernels.march.one_step` (Newmark's family) and
:mod:`elver.kernels.march.gauss`. In the last two, matrices are kept from step to step as long as Newton contracts well
with them; a step that fails from the present acceleration is tried once more from the present velocity. Functions
return a status and never raise. Residual, the two parts of the tangent, LU and its substitution, and the two ways of
the elimination along the tree come in as function pointers (see :mod:`elver.kernels.build.entry`): a solver that
contained their bodies would be optimised with them once more, which takes six times as long to compile, and two solvers
in one process might then differ in the last bit from the same two in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack

__all__ = ["March", "follow", "is_far", "is_small", "march_for", "record", "solve", "take"]

Floats = NDArray[np.float64]

# Of what it is compared with: below this a local pivot of the elimination along the tree costs digits of the increment.
_LEAST_PIVOT = 1e-7
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
    memory: Floats  # (4,) from step to step: contraction of Newton, step of the matrix, step of the last stages, and
    #                  where the factors are: 1 in the front of the elimination, 0 in the matrix
    front: NDArray[np.int64]  # table of the elimination along the tree (:mod:`.elimination`), empty where not used


def march_for(
    coordinates: int, n: int, rows: int, scale: Floats, stages: int = 0, front: NDArray[np.int64] | None = None
) -> March:
    """Scratch arrays for ``coordinates`` unknowns (base and strains), of which ``n`` strains, and ``rows``.

    ``stages`` of a Gauss method, 0 for other solvers. With the table of a ``front`` increments are found by elimination
    along the tree.
    """
    size = 0 if front is not None else stages * (coordinates + rows)
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
        stage=np.zeros((4, stages or 2, coordinates)),
        stage_multipliers=np.zeros((stages, rows)),
        big=np.zeros((size, size)),
        big_step=np.zeros(stages * (coordinates + rows)),
        big_pivots=np.zeros(size, dtype=np.int64),
        memory=np.array([1.0, -1.0, -1.0, 0.0]),
        front=np.zeros(0, dtype=np.int64) if front is None else front,
    )


@inner
def take(evaluate_frames, evaluate_matrix, factor, home, robot, m, base, q, multipliers, inputs, columns, jets):
    """Factors of the Newton matrix at the state of the last residual; its smallest pivot, relative, 0 where singular.

    Along the tree where that is asked for; where a part by itself is loose, by the matrix.
    """
    p, work = unpack(robot)
    evaluate_frames(robot, base, multipliers, inputs, jets)
    if m.front.size > 0:
        if home(robot, m.front, q, multipliers, inputs, columns, m.weights, jets) > _LEAST_PIVOT:
            m.memory[3] = 1.0
            return 1.0
        evaluate_frames(robot, base, multipliers, inputs, jets)
    m.memory[3] = 0.0
    evaluate_matrix(robot, q, multipliers, inputs, columns, m.weights, jets)
    if m.weights[2] == 0.0:  # rows of imposed coordinates, which the weights leave empty
        for j in range(p.imposed.shape[0]):
            k = work.matrix.shape[0] - multipliers.size - q.shape[1] + p.imposed[j, 0]
            work.matrix[k, k] = 1.0
    return factor(work.matrix, work.pivots)


@inner
def solve(substitute, back, robot, m, jets, x):
    """x = A⁻¹ x with the factors of the last :func:`take`; largest rotation of a frame, where that is known."""
    _, work = unpack(robot)
    if m.memory[3] == 1.0:
        return back(robot, m.front, jets, x)
    substitute(work.matrix, work.pivots, x)
    return 0.0


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
