"""How Newton's increments are found, by a dense matrix or by elimination along the tree, and why; its verdict at rest.

The dense matrix costs the cube of the unknowns; the elimination (docs/theory/recursion.md, eq. (front)) is linear in
them, with closures and free cables as a border whose size is that of their ties. Which is quicker was measured for
trees, and is counted in operations where something ties them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.passages import floating_of
from elver.kernels.build import entry
from elver.kernels.tree.program import Program

if TYPE_CHECKING:
    from elver.dynamics.core import Core
    from elver.dynamics.states import Arrays

__all__ = [
    "Increments", "choose_increments", "nature", "steps_along_tree", "words_of_increments", "words_of_steps",
]  # fmt: skip

# Unknowns from which the elimination along the tree is quicker than the matrix (measured: studies/growth.py).
_ALONG_TREE = 30
# The same of conserving steps (measured on chains and hats).
_STEPS_ALONG_TREE = 110
# Pivot of the elimination, of what it is compared with, below which nothing is said about stability; and the number of
# inverse iterations that find the softest motion: from a random start it stands out tenfold after few.
_LEAST_PIVOT, _INVERSE_STEPS = 1e-7, 8


class Increments(NamedTuple):
    """The way that is taken, and why."""

    along_tree: bool
    reason: str


def choose_increments(program: Program, coordinates: int, rows: int) -> Increments:
    """The quicker way for a robot of so many ``coordinates`` (of a free base and of its parts) and closure rows."""
    p = program
    if rows == 0 and p.span_tendon.size == 0:
        pays = coordinates >= _ALONG_TREE
        return Increments(pays, f"{coordinates} unknowns, the way along the tree is the quicker from {_ALONG_TREE} on")
    ends = np.unique(np.concatenate([p.closure_frame.ravel(), p.span_frame.ravel()]))
    ties = int(np.count_nonzero(ends > 0))
    border = 6 * ties + rows
    # operations in all: columns of both ways are the same; dense, rows over paths and factors; here, the border
    path = np.repeat(p.segment[:, 8], p.segment[:, 2])
    dense = float(np.sum(400.0 * path)) + (coordinates + rows) ** 3 / 3.0
    along = p.rest.shape[0] * (2500.0 + 500.0 * border) + border**3
    return Increments(
        bool(along < dense),
        f"{coordinates + rows} unknowns, about {dense:.1g} operations by the matrix and {along:.1g} along the tree, "
        f"with a border of {border} for {ties} tied frames",
    )


def steps_along_tree(kernels: Core) -> bool:
    """True where conserving steps go along the tree: many unknowns, and none of what only the matrix knows."""
    return kernels.along_tree and kernels.coordinates >= _STEPS_ALONG_TREE and not _only_dense(kernels)


def _only_dense(kernels: Core) -> str:
    """What of a robot conserving steps do by the matrix alone; empty where nothing is."""
    if np.any(kernels.program.tendon_row >= 0):
        return "cables are wound on it"
    if kernels.program.imposed.size:
        return "motion is imposed on it"
    if kernels.system.feedback:
        return "it is fed back"
    return "parts float apart" if floating_of(kernels) else ""


def words_of_steps(kernels: Core) -> str:
    """The way of conserving steps and the reason, in one line."""
    count, why = f"{kernels.coordinates} unknowns", _only_dense(kernels)
    if kernels.steps_along_tree:
        return f"along the tree: {count}, conserving steps are quicker so from {_STEPS_ALONG_TREE} on"
    if kernels.coordinates < _STEPS_ALONG_TREE or not why:
        return f"dense matrix: {count}, conserving steps are quicker along the tree from {_STEPS_ALONG_TREE} on"
    return f"dense matrix: {why}, which conserving steps do not know along the tree"


def words_of_increments(kernels: Core) -> str:
    """The way of a system and the reason, in one line."""
    chosen = kernels.increments
    way = "along the tree" if kernels.along_tree else "dense matrix"
    return f"{way}: {chosen.reason if kernels.along_tree == chosen.along_tree else 'as asked for'}"


def nature(kernels: Core, a: Arrays, u: NDArray[np.float64]) -> tuple[float, float]:
    """Of the tangent at rest, along the tree: how far it is from symmetric, and its least eigenvalue.

    In units of the unknowns, by inverse iteration: a motion that nothing resists is found in a step or two. Zero
    where one is negative, or a pivot too small to tell.
    """
    columns, weights, table = np.eye(18, 6), np.array([1.0, 0.0, 0.0]), kernels.table
    entry.evaluate_residual(kernels.robot, a.base, a.twist, a.q, a.multipliers, u, 1)
    entry.evaluate_frames(kernels.robot, a.base, a.multipliers, u, 1)
    pivot = entry.home(kernels.robot, table, a.q, a.multipliers, u, columns, weights, 1)
    skew, least = (float(value) for value in kernels.front.nature)
    if min(least, pivot) < _LEAST_PIVOT:
        return skew, 0.0
    scale, free = kernels.assembly.scale, np.ones(kernels.coordinates)
    free[kernels.coordinates - kernels.n + kernels.program.imposed[:, 0]] = 0.0
    x, softest = np.random.default_rng(0).normal(size=kernels.coordinates) * free, np.inf
    for _ in range(_INVERSE_STEPS):
        y = x / np.linalg.norm(x) / scale
        entry.back(kernels.robot, table, 1, y)
        x = y / scale * free * kernels.assembly.energy
        softest = 1.0 / float(np.linalg.norm(x))
    return skew, softest
