"""What the compiled solvers work with, as named views of one table, and what they share.

The table of a solver holds addresses of what it calls (:mod:`elver.kernels.build.calls`) and the views below; compiled
code passes two tables, of the robot and of the solver, and :data:`unpack_solver` reads of them what a function names.
The solvers are :mod:`.rest` (equilibria), :mod:`.one_step` (Newmark's family), :mod:`.gauss`, :mod:`.conserving`,
which all find their unknowns by :mod:`.newton`, and :mod:`.explicit`. Functions return a status and never raise. What
is called at an address is compiled once: a solver that contained it would be optimised with it once more, and two
solvers in one process might then differ in the last bit from the same two in another order.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.calls import CALLS, Calls
from elver.kernels.build.kinds import Record, record_of
from elver.kernels.build.tables import Unpacker, table_of

__all__ = [
    "BY_RESIDUAL", "CONTRACTION", "IN_FRONT", "JETS", "LONGEST", "MATRIX_STEP", "MOST", "PATIENCE", "ROW", "STAGE",
    "STAGES_STEP", "STEP", "TOLERANCE", "UNIT", "Iteration", "Trial", "Place", "Scratch", "Track", "follow", "is_far",
    "iteration_for", "trial_for", "place_for", "record", "solver_types", "track_for", "unpack_solver",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ASIDE = 0.3  # of the unit of a coordinate: rad in a joint, or of bending over a rod

# Places in Iteration.control
TOLERANCE, MOST, LONGEST, PATIENCE, BY_RESIDUAL, STEP, UNIT = range(7)
# Places in Iteration.memory
CONTRACTION, MATRIX_STEP, STAGES_STEP, IN_FRONT = range(4)
# Places in Trial.at
ROW, STAGE, JETS = range(3)


class Iteration(NamedTuple):
    """What Newton works with, and what it remembers from step to step (:mod:`.newton`)."""

    x: Floats  # (stages, coordinates + rows) the iterate: unknowns of the scheme, then multipliers
    residual: Floats  # (stages (coordinates + rows),)
    step: Floats  # (stages (coordinates + rows),) minus the residual, then the increment
    matrix: Floats  # (stages (coordinates + rows), the same) tangent, factored
    pivots: Ints
    front: Ints  # table of the elimination along the tree (:mod:`elver.kernels.tree.front`), empty where not used
    control: Floats  # (7,) tolerance; most iterations; longest step; iterations in which the increment must be halved,
    #                  0 for any; 1 where Newton ends by the residual, 0 by the increment; length of the time step [s],
    #                  0 at rest; what an increment is multiplied with to be compared with the scale
    memory: Floats  # (4,) contraction of Newton; length of the step of the matrix, -1 for none; that of the last
    #                 stages; where the factors are: 1 in the front of the elimination, 0 in the matrix
    history: Floats  # (most iterations,) norms of the residual, of Newton that ends by it


class Trial(NamedTuple):
    """Scratch arrays of a scheme."""

    at: Ints  # (3,) row of the inputs, stage, and number of rates (1 at rest, 3 in motion) at which to evaluate
    q: Floats  # (3, n) trial coordinates and rates
    base: Floats  # (4, 3) trial base
    twist: Floats  # (2, 6) trial body twist and rate
    step: Floats  # (coordinates + rows,)
    total: Floats  # (coordinates,) increment since the last step: the first unknowns of the iterate
    free: Floats  # (2, coordinates) x_dot_free, x_ddot_free
    columns: Floats  # (18, 6) body variations of the base per unknown
    mixed: Floats  # (18, 6) the same for a mixture of rates
    weights: Floats  # (3,)
    scale: Floats  # (coordinates,) large change of each unknown
    small: Floats  # (5, 3, 3) rotations
    stumpff: Floats  # (12,)
    stage: Floats  # (3, stages, coordinates) accelerations of the previous step, chart coordinates, their rates


class Place(NamedTuple):
    """Where a motion is between two steps, and the numbers of its scheme."""

    scheme: Floats  # (…, …) one-step: (β, γ, α_m, α_f); Gauss: tableau; conserving: (κ, χ)
    on_se3: Ints  # (1,) 1 where a free base moves on SE(3), 0 on SO(3)×R³
    base: Floats  # (4, 3)
    rates: Floats  # (3, 6) of the scheme on the base, with the pseudo-acceleration last
    q: Floats  # (4, n) likewise
    multipliers: Floats  # (rows,)


class Track(NamedTuple):
    """Instants of some steps with what is given there, and what is recorded, a row for each time."""

    times: Floats  # (T,)
    inputs: Floats  # (instants, inputs)
    given_base: Floats  # (instants, 4, 3) of a base that is not free
    given_twist: Floats  # (instants, 2, 6)
    out_q: Floats  # (T, 3, n)
    out_base: Floats  # (T, 4, 3)
    out_twist: Floats  # (T, 2, 6)
    out_multipliers: Floats  # (T, rows)
    out_iterations: Ints  # (T,)


class Scratch:
    """Views of one solver but those of its track, with their words of the table."""

    def __init__(self, iteration: Iteration, trial: Trial, place: Place) -> None:
        self.iteration, self.trial, self.place = iteration, trial, place
        self._last: tuple[Calls, Track, NDArray[np.int64]] | None = None

    @cached_property
    def words(self) -> NDArray[np.int64]:
        """Addresses and shapes."""
        return table_of(solver_types()[1:4], self.iteration, self.trial, self.place)

    def __getstate__(self) -> dict[str, Any]:
        """The views: addresses mean nothing elsewhere."""
        return {name: value for name, value in vars(self).items() if name != "words"} | {"_last": None}

    def table(self, calls: Calls, track: Track, *more: NDArray[np.int64]) -> NDArray[np.int64]:
        """The table of a solver; ``more`` are the words of further views. On the same track again it is the same."""
        if self._last is not None and self._last[0] is calls and self._last[1] is track and not more:
            return self._last[2]
        head, tail = np.array(calls, dtype=np.int64), table_of(solver_types()[4:], track)
        found = np.concatenate([head, self.words, tail, *more])
        self._last = calls, track, found
        return found

    def use_matrix(self, matrix: Floats, pivots: Ints) -> None:
        """Work with this dense matrix, also where a solver is at work with the table."""
        self.iteration = self.iteration._replace(matrix=matrix, pivots=pivots)
        words = table_of(solver_types()[1:2], self.iteration)
        self.words[: words.size] = words
        if self._last is not None:
            head = len(self._last[0])
            self._last[2][head : head + words.size] = words

    def take_over(self, other: Scratch) -> None:
        """Values of another scratch of the same solver in the same place, but for the table of its front."""
        front = self.iteration.front.copy()
        for own, value in zip((*self.iteration, *self.trial), (*other.iteration, *other.trial), strict=True):
            own[...] = value
        self.iteration.front[...] = front


def trial_for(coordinates: int, n: int, rows: int, scale: Floats, x: Floats | None = None) -> Trial:
    """Scratch arrays for ``coordinates`` unknowns (base and strains), of which ``n`` strains, and ``rows``.

    ``x`` is the iterate.
    """
    x = np.zeros((1, coordinates + rows)) if x is None else x
    return Trial(
        at=np.array([0, 0, 3]),
        q=np.zeros((3, n)),
        base=np.zeros((4, 3)),
        twist=np.zeros((2, 6)),
        step=np.zeros(coordinates + rows),
        total=x[0, :coordinates],
        free=np.zeros((2, coordinates)),
        columns=np.zeros((18, 6)),
        mixed=np.zeros((18, 6)),
        weights=np.zeros(3),
        scale=np.array(scale, dtype=float),
        small=np.zeros((5, 3, 3)),
        stumpff=np.zeros(12),
        stage=np.zeros((3, max(x.shape[0], 2), coordinates)),
    )


def iteration_for(
    unknowns: int, stages: int, residual: Floats | None = None, front: Ints | None = None
) -> Iteration:
    """Arrays of Newton; the residual is its own where none is given. No matrix with a ``front``."""
    size = stages * unknowns if front is None else 0
    return Iteration(
        x=np.zeros((stages, unknowns)),
        residual=np.zeros(stages * unknowns) if residual is None else residual,
        step=np.zeros(stages * unknowns),
        matrix=np.zeros((size, size)),
        pivots=np.zeros(size, dtype=np.int64),
        front=np.zeros(0, dtype=np.int64) if front is None else front,
        control=np.zeros(7),
        memory=np.array([1.0, -1.0, -1.0, 0.0]),
        history=np.zeros(0),
    )


def place_for(n: int, rows: int) -> Place:
    """A place of the right sizes."""
    return Place(
        np.zeros((1, 4)), np.zeros(1, dtype=np.int64), np.zeros((4, 3)), np.zeros((3, 6)), np.zeros((4, n)),
        np.zeros(rows),
    )  # fmt: skip


def track_for(instants: int, inputs: int, times: int = 0, n: int = 0, rows: int = 0) -> Track:
    """A track of the right sizes."""
    return Track(
        np.zeros(times), np.zeros((instants, inputs)), np.zeros((instants, 4, 3)), np.zeros((instants, 2, 6)),
        np.zeros((times, 3, n)), np.zeros((times, 4, 3)), np.zeros((times, 2, 6)), np.zeros((times, rows)),
        np.zeros(times, dtype=np.int64),
    )  # fmt: skip


@cache
def solver_types() -> tuple[Record, ...]:
    """Kinds of the views of a solver."""
    views = iteration_for(1, 1), trial_for(1, 1, 0, np.ones(1)), place_for(1, 0), track_for(0, 0)
    return (CALLS, *map(record_of, views))


unpack_solver = Unpacker(solver_types, parts=(0, 1, 2, 3, 4))
"""(calls, iteration, trial, place, track) of a solver, in compiled code."""


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
def follow(given_base, given_twist, base, twist):
    """A base that is not free: its given pose and motion."""
    for i in range(4):
        for k in range(3):
            base[i, k] = given_base[i, k]
    for i in range(2):
        for k in range(6):
            twist[i, k] = given_twist[i, k]


@inner
def record(solver, row):
    """Copy the accepted state, with the trial's twist of the base, into its row."""
    _, _, m, place, track = unpack_solver(solver)
    for i in range(3):
        for k in range(place.q.shape[1]):
            track.out_q[row, i, k] = place.q[i, k]
    for i in range(4):
        for k in range(3):
            track.out_base[row, i, k] = place.base[i, k]
    for i in range(2):
        for k in range(6):
            track.out_twist[row, i, k] = m.twist[i, k]
    for k in range(place.multipliers.size):
        track.out_multipliers[row, k] = place.multipliers[k]
