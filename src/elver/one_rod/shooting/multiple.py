"""Multiple shooting for the two-point problem of a rod in balance, with the pose on SE(3).

    g′ = g ξ̂,  x′ = f(s, g, x),  x = Λ      conditions at s = 0 and at s = L, separated

The rod is divided into segments, integrated by Runge-Kutta-Munthe-Kaas steps of order 4; the tangent initial value
problem for (ζ, Δx), Δg = g ζ̂, goes with them (:mod:`elver.one_rod.shooting.static_flow`; Boyer 2023, section "Shooting
and Jacobian"; A. Iserles et al., Acta Numerica 2000). The unknowns are pose and x at all nodes; Newton's matrix

    base conditions        [B_0                    ]
    continuity, segment 1  [Φ_1  -A_1              ]
    ...                    [      Φ_2  -A_2        ]
    tip conditions         [                   B_L ]

is condensed to the single-shooting Jacobian, six by six in statics, whose singular values show the motions that nothing
resists: along them the step of least norm is taken. Where integration amplifies so much that condensing would lose all
digits, the banded matrix is factored as it is. Steps are damped by the natural monotonicity test, and singular values
given up one after the other, as by P. Deuflhard (Newton Methods for Nonlinear Problems, 2011); where that does not
help, a Levenberg-Marquardt step is taken on the sparse matrix.

Theory: docs/theory/optimal-control.md, eq. (static-tangent).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dgbtrf, dgbtrs
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import splu

from elver.errors import BadInput, NotConverged
from elver.kernels.build import entry
from elver.one_rod.shooting.static_flow import SegmentFlow, poses_of, states_of

__all__ = ["Condition", "SegmentFlow", "Shot", "mesh", "refine", "shoot"]

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Condition: TypeAlias = Callable[[Array, Array], tuple[Array, Array]]
"""(g (4, 4), x (m,)) -> dimensionless residual (k,) and its slopes (k, 6 + m) with (ζ, x)."""

_SINGULAR = 1e11  # growth of a random right-hand side above which the matrix counts as singular
_RANK = (1e-9, 1e-5, 1e-3, 3e-2)  # singular values below these parts of the largest are given up, one after the other
_IDLE = 2e-5  # residual that integration may leave along motions that nothing resists
_GROWTH = 1e7  # amplification over the rod up to which the matrix is condensed
_PATIENCE = 10  # iterations in which the residual must fall by half
_LONGEST_TURN = 1.0  # rad per Newton step and node


@dataclass(frozen=True, eq=False)
class Shot:
    """Solution of a two-point problem: pose and x at all nodes."""

    march: SegmentFlow
    g: Array
    x: Array
    iterations: int
    history: tuple[float, ...]
    """Largest scaled residual before each iteration, and at the end."""
    condition: float
    """Condition number of the Jacobian that single shooting would have (scaled unknowns)."""
    singular: bool
    """True when some motion is resisted by nothing, and the solution is one of a family."""

    @property
    def nodes(self) -> Array:
        """Ends of the segments [m]."""
        return self.march.nodes


@dataclass(frozen=True, eq=False)
class Condensed:
    """Newton's matrix as a recursion from node to node, with the singular values of the single-shooting Jacobian."""

    base_inverse: Array
    J_tip: Array
    onward: Array
    back: Array
    carried: Array
    svd: tuple[Array, Array, Array]

    def rank(self, part: float) -> int:
        """Number of singular values above ``part`` of the largest."""
        sizes = self.svd[1]
        return int(np.sum(sizes > part * sizes[0]))

    def solve(self, residual: Array, rank: int) -> Array:
        """Step of least norm for the linearised conditions, with the ``rank`` largest singular values."""
        M, k = self.onward.shape[0], self.base_inverse.shape[1]
        jumps = residual[k : k + M * 12].reshape(M, 12).copy()
        jumps[:, :6] = (self.back @ jumps[:, :6, None])[..., 0]
        step = np.empty((M + 1, 12, 1))
        step[0, :, 0] = -self.base_inverse @ residual[:k]
        entry.carry_columns(self.onward, jumps, step)
        U, sizes, Vt = self.svd
        missing = residual[k + M * 12 :] + self.J_tip @ step[-1, :, 0]
        z = -Vt[:rank].T @ ((U[:, :rank].T @ missing) / sizes[:rank])
        return (step[..., 0] + self.carried @ z).ravel()


@dataclass(frozen=True, eq=False)
class _Point:
    """Nodes of an iteration, their residual, and Newton's matrix there in scaled unknowns, in pieces."""

    nodes: Array  # (M + 1, 18): R, p, x
    residual: Array
    transition: Array  # Φ (M, 12, 12) of the segments
    back: Array  # Ad(jump) (M, 6, 6), jump = g_node⁻¹ g_end
    onward: Array  # diag(Ad(jump), 1) Φ
    J_base: Array
    J_tip: Array

    @cached_property
    def finite(self) -> bool:
        """True when residual and matrix are numbers."""
        return bool(np.isfinite(self.residual).all() and np.isfinite(self.onward).all())

    @cached_property
    def size(self) -> float:
        """Largest scaled residual."""
        return float(np.max(np.abs(self.residual)))

    @cached_property
    def condensed(self) -> tuple[Condensed | None, float]:
        """The matrix condensed to the unknowns left free at the base, None where integration amplifies too much.

        And the condition number of the single-shooting Jacobian.
        """
        if not self.finite:
            return None, float("inf")
        M, k = self.onward.shape[0], self.J_base.shape[0]
        U, sizes, Vt = np.linalg.svd(self.J_base)
        carried = np.empty((M + 1, 12, 12 - k))
        carried[0] = Vt[k:].T
        entry.carry_columns(self.onward, np.empty((0, 12)), carried)
        single = self.J_tip @ carried[-1]
        if not np.isfinite(single).all():
            return None, float("inf")
        left, values, right = np.linalg.svd(single)
        condition = float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")
        if np.max(np.abs(carried)) > _GROWTH:
            return None, condition
        base_inverse = (Vt[:k].T / sizes) @ U.T
        return Condensed(base_inverse, self.J_tip, self.onward, self.back, carried, (left, values, right)), condition

    def band(self) -> tuple[Array, int, int]:
        """The whole matrix by its diagonals, as LAPACK wants it, and the numbers below and above the main one."""
        row, col, entries = self._entries
        lower, upper = int(np.max(row - col)), int(np.max(col - row))
        band = np.zeros((2 * lower + upper + 1, self.nodes.shape[0] * 12), order="F")
        band[lower + upper + row - col, col] = entries
        return band, lower, upper

    def sparse(self) -> csc_matrix:
        """The whole matrix."""
        row, col, entries = self._entries
        n = self.nodes.shape[0] * 12
        return csc_matrix((entries, (row, col)), shape=(n, n))

    @cached_property
    def _entries(self) -> tuple[Indices, Indices, Array]:
        """Rows, columns and values.

        ζ at the end of a segment minus Ad(jump⁻¹) ζ of the next node is d(log jump) up to dexp(e), which leaves e as
        it is.
        """
        M, k = self.onward.shape[0], self.J_base.shape[0]
        A = np.tile(-np.eye(12), (M, 1, 1))
        A[:, :6, :6] = -np.linalg.inv(self.back)
        rows = np.concatenate([
            np.repeat(np.arange(k), 12),
            np.repeat(k + np.arange(M * 12), 24),
            np.repeat(k + M * 12 + np.arange(12 - k), 12),
        ])  # fmt: skip
        cols = np.concatenate([
            np.tile(np.arange(12), k),
            (np.repeat(np.arange(M) * 12, 12)[:, None] + np.arange(24)).ravel(),
            np.tile(M * 12 + np.arange(12), 12 - k),
        ])  # fmt: skip
        inner = np.concatenate([self.transition, A], axis=2)
        return rows, cols, np.concatenate([self.J_base.ravel(), inner.ravel(), self.J_tip.ravel()])


class _Newton:
    """The equations of one mesh."""

    def __init__(self, march: SegmentFlow, base: Condition, tip: Condition, scale: Array) -> None:
        self.march, self.base, self.tip, self.scale = march, base, tip, scale
        self._scratch = np.zeros(16)

    def at(self, nodes: Array) -> _Point:
        """Residual and matrix at ``nodes`` (M + 1, 18)."""
        c, M = self.scale, nodes.shape[0] - 1
        ends, transition, _ = self.march.run(nodes[:-1])
        gaps, back, onward = np.empty((M, 12)), np.empty((M, 6, 6)), np.empty((M, 12, 12))
        entry.join_segments(ends, nodes, c, transition, gaps, back, onward, self._scratch)
        g, x = poses_of(nodes[[0, -1]])
        r_base, J_base = self.base(g[0], x[0])
        r_tip, J_tip = self.tip(g[1], x[1])
        given = r_base.size + r_tip.size
        if given != 12:
            raise BadInput(
                f"shooting: {r_base.size} conditions at the base and {r_tip.size} at the tip are "
                f"{given} in all, and 12 are needed: " + ("take some away" if given > 12 else "add some")
            )
        residual = np.concatenate([r_base, gaps.ravel(), r_tip])
        return _Point(nodes, residual, transition, back, onward, J_base * c, J_tip * c)

    def moved(self, nodes: Array, step: Array) -> _Point:
        """The equations after a scaled step."""
        after = np.empty_like(nodes)
        entry.move_nodes(nodes, step.reshape(-1, 12), self.scale, after, self._scratch)
        return self.at(after)


def shoot(
    march: SegmentFlow,
    base: Condition,
    tip: Condition,
    g: Array,
    x: Array,
    *,
    scale: ArrayLike,
    tolerance: float = 1e-10,
    max_iterations: int = 40,
    label: str = "shooting",
) -> Shot:
    """Pose and x at the nodes of ``march`` from the guesses ``g`` (M + 1, 4, 4), ``x`` (M + 1, 6).

    ``base`` and ``tip`` are the conditions, twelve in all. ``scale`` (12,) are the sizes of one unit of (ζ, x). Done
    when the largest scaled residual is below ``tolerance``; else :class:`NotConverged` with the history of residuals.
    One segment is single shooting.
    """
    newton = _Newton(march, base, tip, np.array(scale, dtype=float))
    longest: tuple[float, ...] = ()
    for careful in (False, True):
        shot, history = _iterate(newton, states_of(g, x), tolerance, max_iterations, careful)
        if shot is not None:
            return shot
        longest = longest or history
    trouble = "the residual no longer falls" if len(longest) <= max_iterations else "all iterations are used"
    raise NotConverged(
        f"{label}: residual {longest[-1]:.1e} after {len(longest) - 1} iterations (wanted {tolerance:.0e}), {trouble}; "
        "start from a closer guess, raise the loads in steps, or use more segments",
        history=longest,
    )


def _iterate(
    newton: _Newton, nodes: Array, tolerance: float, max_iterations: int, careful: bool
) -> tuple[Shot | None, tuple[float, ...]]:
    """Newton's iterations; ``careful`` prefers steps that leave the smallest residual, on all or fewer unknowns."""
    history: list[float] = []
    sigma, damping = 1e-4, 1.0

    def shot(singular: bool) -> Shot:
        g, x = poses_of(point.nodes)
        return Shot(newton.march, g, x, len(history) - 1, tuple(history), condition, singular)

    with np.errstate(all="ignore"):
        point = newton.at(nodes)
        for iteration in range(max_iterations + 1):
            history.append(point.size)
            condensed, condition = point.condensed
            if point.size <= tolerance:
                return shot(condensed is not None and condensed.rank(_RANK[0]) < condensed.svd[1].size), ()
            stuck = iteration >= _PATIENCE and point.size > 0.5 * max(history[-_PATIENCE:])
            if iteration == max_iterations or not np.isfinite(point.size) or stuck:
                break
            found = None
            # along motions that nothing resists the steps of integration may leave a residual of their own order
            if condensed and point.size <= _IDLE and (rank := condensed.rank(_RANK[1])) < condensed.svd[1].size:
                rest = condensed.solve(point.residual, rank)
                if np.max(np.abs(rest)) <= 10.0 * tolerance:
                    return shot(True), ()
                found = _damped(newton, point, partial(_least, condensed, rank), 1.0, 2)
            if found is None:
                found = _best(newton, point, damping, careful)
            if found is None:
                found, sigma = _levenberg(newton, point, sigma)
                if found is None:
                    break
            point, damping = found
    return None, tuple(history)


def _solvers(point: _Point, parts: Sequence[float]) -> Iterator[Callable[[Array], Array]]:
    """Ways to a step: with all singular values first, then without the smallest ones."""
    condensed, _ = point.condensed
    if condensed is None:
        solve = _banded(point)
        if solve is not None:
            yield solve
        return
    tried = -1
    for part in parts:
        rank = condensed.rank(part)
        if rank != tried and rank > 0:
            yield partial(_least, condensed, rank)
        tried = rank


def _least(condensed: Condensed, rank: int, b: Array) -> Array:
    return condensed.solve(-b, rank)


def _banded(point: _Point) -> Callable[[Array], Array] | None:
    """A solver with the banded LU factors; None when the matrix counts as singular."""
    if not point.finite:
        return None
    band, lower, upper = point.band()
    largest = float(np.max(np.abs(band)))
    lu, pivots, info = dgbtrf(band, lower, upper, overwrite_ab=1)

    def solve(b: Array) -> Array:
        z, _ = dgbtrs(lu, lower, upper, b, pivots)
        return np.asarray(z)

    if info != 0:
        return None
    probe = np.random.default_rng(0).standard_normal(point.residual.size)
    grown = float(np.linalg.norm(solve(probe)) / np.linalg.norm(probe) * largest)
    return None if not np.isfinite(grown) or grown > _SINGULAR else solve


_Found: TypeAlias = tuple[_Point, float]
"""The next point, and the part of the step that led there."""


def _best(newton: _Newton, point: _Point, damping: float, careful: bool) -> _Found | None:
    """Of the steps with all and with fewer singular values the first that helps, or, ``careful``, the best."""
    for halvings in (3, 8):
        good: list[_Found] = []
        for solve in _solvers(point, _RANK[:3] if halvings == 3 else _RANK):
            found = _damped(newton, point, solve, damping, halvings)
            if found is not None:
                good.append(found)
                if not careful:
                    break
        if good:
            return min(good, key=lambda found: float(np.linalg.norm(found[0].residual)))
        damping = 1.0
    return None


def _damped(
    newton: _Newton, point: _Point, solve: Callable[[Array], Array], damping: float, halvings: int
) -> _Found | None:
    """A Newton step shortened until the next, simplified step is smaller; None where that does not happen."""
    step = solve(-point.residual)
    if not np.isfinite(step).all():
        return None
    factor = min(1.0, 4.0 * damping, _LONGEST_TURN / max(_turn(step), 1e-300))
    size = float(np.linalg.norm(step))
    for _ in range(halvings):
        trial = newton.moved(point.nodes, factor * step)
        if trial.finite:
            following = float(np.linalg.norm(solve(-trial.residual)))
            if following <= (1.0 - 0.25 * factor) * size or trial.size < 1e-13:
                return trial, factor
        factor *= 0.5
    return None


def _turn(step: Array) -> float:
    """Largest turn of a node [rad]."""
    return float(np.max(np.abs(step.reshape(-1, 12)[:, :3])))


def _levenberg(newton: _Newton, point: _Point, sigma: float) -> tuple[_Found | None, float]:
    """A Levenberg-Marquardt step -(JᵀJ + σ 1)⁻¹ Jᵀ r that lowers the residual, and the damping σ for the next one."""
    if not point.finite:
        return None, sigma
    residual, J = point.residual, point.sparse()
    size = float(np.linalg.norm(residual))
    for _ in range(16):
        lu = splu((J.T @ J + sigma * identity(residual.size)).tocsc())
        step = lu.solve(-(J.T @ residual))
        # one refinement: the square has the square of the condition
        step += lu.solve(-(J.T @ (J @ step + residual)) - sigma * step)
        if np.isfinite(step).all():
            trial = newton.moved(point.nodes, step * min(1.0, _LONGEST_TURN / max(_turn(step), 1e-300)))
            if trial.finite and np.linalg.norm(trial.residual) < (1.0 - 1e-4) * size:
                return (trial, 1.0), max(0.02 * sigma, 1e-12)
        sigma *= 10.0
    return None, sigma


def refine(
    shot: Shot, scale: ArrayLike, accuracy: float, most: int = 2000
) -> tuple[tuple[Array, Array, Array] | None, float]:
    """A finer mesh where needed: nodes, g and x there; and the error estimated so far.

    The error of a segment is what changes when its steps are halved, in units of ``scale``; the sum over segments is to
    fall below ``accuracy``: None when it does. A segment in need is divided evenly, by the
    fourth-order law.
    """
    c = np.asarray(scale, dtype=float)
    march = shot.march
    fine = SegmentFlow(march.flow, march.start, march.stop, 2 * march.steps)
    starts = states_of(shot.g[:-1], shot.x[:-1])
    ends, transition, _ = march.run(starts, tangent=False)
    better, _, path = fine.run(starts, tangent=False)
    change = np.empty((starts.shape[0], 12))
    blank = np.empty((starts.shape[0], 6, 6)), np.empty_like(transition)
    entry.join_segments(ends, np.concatenate([better[:1], better]), c, transition, change, *blank, np.zeros(10))
    error = np.max(np.abs(change), axis=1)
    total = float(error.sum())
    M = error.size
    if total <= accuracy or most <= M:
        return None, total
    parts = np.clip(np.ceil((2.0 * error * M / accuracy) ** 0.25), 1, 8).astype(int)
    # the nearest step of the fine integration is guess enough: Newton closes the gap
    segment = np.repeat(np.arange(M), parts)
    place = np.concatenate([np.arange(n) / n for n in parts])
    step = np.rint(place * 2 * march.steps).astype(int)
    g, x = poses_of(path[segment, np.maximum(step - 1, 0)])
    first = step == 0
    g[first], x[first] = shot.g[segment[first]], shot.x[segment[first]]
    nodes = march.start[segment] + place * (march.stop - march.start)[segment]
    return (
        np.append(nodes, march.stop[-1]), np.concatenate([g, shot.g[-1:]]), np.concatenate([x, shot.x[-1:]]),
    ), total  # fmt: skip


def mesh(length: float, segments: int, breaks: Sequence[float] = ()) -> Array:
    """Nodes of about ``segments`` equal segments, with nodes at the ``breaks`` [m]."""
    ends = np.array([0.0, *breaks, length])
    pieces = [np.linspace(a, b, max(1, int(round(segments * (b - a) / length))) + 1)[:-1] for a, b in pairwise(ends)]
    return np.concatenate([*pieces, [length]])
