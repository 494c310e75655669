"""Multiple shooting for two-point problems along a rod, with the pose on SE(3).

    g′ = g ξ̂,  x′ = f(s, g, x),  ξ = ξ(s, g, x)      conditions at s = 0 and at s = L, separated

The rod is divided into segments. All segments are integrated at once, as arrays, by Runge-Kutta-Munthe-Kaas steps of
order 4; the tangent initial value problem for (ζ, Δx), Δg = g ζ̂, goes with them (Boyer 2023, section "Shooting and
Jacobian"; A. Iserles et al., Acta Numerica 2000). The unknowns are pose and x at all nodes; Newton's matrix

    base conditions        [B_0                    ]
    continuity, segment 1  [Φ_1  -A_1              ]
    ...                    [      Φ_2  -A_2        ]
    tip conditions         [                   B_L ]

is condensed to the single-shooting Jacobian, six by six in statics, whose singular values show the motions that nothing
resists: along them the step of least norm is taken. Where integration amplifies so much that condensing would lose all
digits, the banded matrix is factored as it is. Steps are damped by the natural monotonicity test, and singular values
given up one after the other, as by P. Deuflhard (Newton Methods for Nonlinear Problems, 2011); where that does not
help, a Levenberg-Marquardt step is taken on the sparse matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space
from scipy.linalg.lapack import dgbtrf, dgbtrs
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import splu

from elver.errors import BadInput, NotConverged
from elver.lie import se3

__all__ = ["Condition", "Flow", "March", "Shot", "mesh", "refine", "shoot"]

Array: TypeAlias = NDArray[np.float64]
Condition: TypeAlias = Callable[[Array, Array], tuple[Array, Array]]
"""(g (4, 4), x (m,)) -> dimensionless residual (k,) and its slopes (k, 6 + m) with (ζ, x)."""

_SINGULAR = 1e11  # growth of a random right-hand side above which the matrix counts as singular
_RANK = (1e-9, 1e-5, 1e-3, 3e-2)  # singular values below these parts of the largest are given up, one after the other
_IDLE = 2e-5  # residual that integration may leave along motions that nothing resists
_GROWTH = 1e7  # amplification over the rod up to which the matrix is condensed
_PATIENCE = 10  # iterations in which the residual must fall by half
_LONGEST_TURN = 1.0  # rad per Newton step and node


class Flow(Protocol):
    """A differential equation along the rod."""

    @property
    def size(self) -> int:
        """Number m of components of x."""
        ...

    @property
    def needs_pose(self) -> bool:
        """False when f and ξ do not depend on g: the poses of stages are then not formed."""
        ...

    def fields(self, s: Array, start: Array, stop: Array) -> Any:
        """What :meth:`rate` wants to know at ``s`` (n,), inside smooth segments [start, stop] (n,)."""
        ...

    def enter(self, fields: Any, x: Array) -> Array:
        """Variables of integration at the start of segments, from x (n, m)."""
        ...

    def leave(self, fields: Any, y: Array) -> Array:
        """x (n, m) at the end of segments, from the variables of integration."""
        ...

    def rate(self, fields: Any, g: Array, y: Array, tangent: bool) -> tuple[Array, Array, Array]:
        """ξ (n, 6), y′ (n, m) and the slopes (n, 6 + m, 6 + m) of (ζ′, Δx′) with (ζ, Δx), empty if not asked for."""
        ...


class March:
    """Integration of a flow over all segments at once.

    Segment k runs from ``start`` to ``stop`` (M,) [m] and is crossed in ``steps`` equal RKMK4 steps. Ends of segments
    are approached from inside, so that fields may jump there.
    """

    def __init__(self, flow: Flow, start: ArrayLike, stop: ArrayLike, steps: int) -> None:
        self.flow, self.steps = flow, int(steps)
        self.start, self.stop = np.asarray(start, dtype=float), np.asarray(stop, dtype=float)
        self.h = (self.stop - self.start) / steps
        inside = 1e-9 * self.h
        self._fields = []
        for j in range(self.steps):
            a = self.start + j * self.h
            places = (a + inside, a + 0.5 * self.h, a + self.h - inside)
            self._fields.append(tuple(flow.fields(s, self.start, self.stop) for s in places))

    @classmethod
    def between(cls, flow: Flow, nodes: ArrayLike, steps: int) -> March:
        """Segments between neighbouring ``nodes`` (M + 1,) [m]."""
        nodes = np.asarray(nodes, dtype=float)
        return cls(flow, nodes[:-1], nodes[1:], steps)

    @property
    def nodes(self) -> Array:
        """Ends of segments that follow each other, (M + 1,) [m]."""
        return np.append(self.start, self.stop[-1])

    def __call__(
        self, g: Array, x: Array, *, tangent: bool = True, dense: bool = False
    ) -> tuple[Array, Array, Array, list[tuple[Array, Array]]]:
        """Ends of the segments from their starts ``g`` (M, 4, 4), ``x`` (M, m).

        Returns g, x, the transition matrices Φ (M, 6 + m, 6 + m) of (ζ, Δx) if ``tangent``, and, if ``dense``, (g, x)
        after each step.
        """
        flow, h = self.flow, self.h[:, None]
        n = 6 + flow.size
        Phi: Array = np.broadcast_to(np.eye(n), (g.shape[0], n, n))
        trace: list[tuple[Array, Array]] = []
        y = flow.enter(self._fields[0][0], x)
        for left, middle, right in self._fields:
            # stages: θ, and what it does to a stage's rates k = dexp_inv(θ) ξ and f
            theta = k = total = np.zeros((g.shape[0], 6))
            f = f_total = np.zeros_like(y)
            stage, change = g, _Change(Phi) if tangent else None
            for place, ahead, weight in ((left, 0.0, 1.0), (middle, 0.5, 2.0), (middle, 0.5, 2.0), (right, 1.0, 1.0)):
                if ahead:
                    theta = ahead * h * k
                    if flow.needs_pose:
                        stage = g @ se3.exp(theta)
                xi, f, slope = flow.rate(place, stage, y + ahead * h * f, tangent)
                k = _dexp_inv(theta, xi) if ahead else xi
                total = total + weight * k
                f_total = f_total + weight * f
                if change is not None:
                    change.stage(theta, xi, slope, ahead * h[..., None], weight, flow.needs_pose)
            theta = h / 6.0 * total
            g = g @ se3.exp(theta)
            y = y + h / 6.0 * f_total
            if change is not None:
                Phi = change.end(theta, h[..., None] / 6.0)
            if dense:
                trace.append((g, flow.leave(right, y)))
        return g, flow.leave(self._fields[-1][2], y), Phi, trace

    def stations(self) -> Array:
        """Arc lengths [m] of the ends of all steps, with the base: (M steps + 1,)."""
        ends = self.start[:, None] + self.h[:, None] * np.arange(1, self.steps + 1)
        return np.concatenate([self.start[:1], ends.ravel()])

    def along(self, g: Array, x: Array) -> tuple[Array, Array]:
        """g and x at :meth:`stations`, from the values at nodes (M + 1, ...)."""
        _, _, _, trace = self(g[:-1], x[:-1], tangent=False, dense=True)
        poses = np.stack([step[0] for step in trace], axis=1).reshape(-1, 4, 4)
        values = np.stack([step[1] for step in trace], axis=1).reshape(-1, x.shape[1])
        return np.concatenate([g[:1], poses]), np.concatenate([x[:1], values])


class _Change:
    """Derivative of one RKMK4 step with what came before: the tangent problem, exact for the steps taken.

    ζ of a stage g exp(θ) is Ad(exp(-θ))ζ + dexp(θ)δθ; k = ξ + ½[θ, ξ] + 1/12 [θ, [θ, ξ]] is varied term by term.
    """

    def __init__(self, Phi: Array) -> None:
        self.zeta, self.x = Phi[:, :6], Phi[:, 6:]
        self.k: Array = np.zeros_like(self.zeta)
        self.f: Array = np.zeros_like(self.x)
        self.k_total: Array = np.zeros_like(self.zeta)
        self.f_total: Array = np.zeros_like(self.x)

    def stage(
        self, theta: Array, xi: Array, slope: Array, ahead: Array | float, weight: float, needs_pose: bool
    ) -> None:
        """Variation of k and f at a stage ``ahead`` [m] of the start; ``slope`` of (ζ′, Δx′) is at the stage."""
        first = not np.any(ahead)
        delta = ahead * self.k
        x = self.x + ahead * self.f
        ad_xi = se3.ad(xi)
        delta_xi = slope[:, :6, 6:] @ x
        self.f = slope[:, 6:, 6:] @ x
        if needs_pose:
            zeta = self.zeta if first else se3.Ad(se3.exp(-theta)) @ self.zeta + se3.dexp(theta) @ delta
            delta_xi = delta_xi + (slope[:, :6, :6] + ad_xi) @ zeta
            self.f = self.f + slope[:, 6:, :6] @ zeta
        if first:
            self.k = delta_xi
        else:
            ad = se3.ad(theta)
            bracket = (ad @ xi[..., None])[..., 0]
            self.k = (
                delta_xi
                + ad @ (0.5 * delta_xi + ad @ delta_xi / 12.0)
                - (0.5 * ad_xi + (se3.ad(bracket) + ad @ ad_xi) / 12.0) @ delta
            )
        self.k_total = self.k_total + weight * self.k
        self.f_total = self.f_total + weight * self.f

    def end(self, theta: Array, part: Array) -> Array:
        """Transition matrix up to the end of the step."""
        zeta = se3.Ad(se3.exp(-theta)) @ self.zeta + se3.dexp(theta) @ (part * self.k_total)
        return np.concatenate([zeta, self.x + part * self.f_total], axis=1)


def _dexp_inv(theta: Array, xi: Array) -> Array:
    """dexp_inv(θ) ξ to the order that RKMK4 needs: ξ + ½[θ, ξ] + 1/12 [θ, [θ, ξ]]; the next term is of fourth order."""
    first = _bracket(theta, xi)
    return xi + 0.5 * first + _bracket(theta, first) / 12.0


def _bracket(a: Array, b: Array) -> Array:
    """ad(a) b = (Ω_a × Ω_b; V_a × Ω_b + Ω_a × V_b)."""
    turn = _cross(a[:, :3], b[:, :3])
    shift = _cross(a[:, 3:], b[:, :3]) + _cross(a[:, :3], b[:, 3:])
    return np.concatenate([turn, shift], axis=1)


def _cross(a: Array, b: Array) -> Array:
    """a × b of (n, 3), several times faster than numpy.cross on short arrays."""
    c = np.empty(np.broadcast_shapes(a.shape, b.shape))
    c[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    c[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    c[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return c


@dataclass(frozen=True, eq=False)
class Shot:
    """Solution of a two-point problem: pose and x at all nodes."""

    march: March
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
        M, n, _ = self.onward.shape
        k = self.base_inverse.shape[1]
        jumps = (self.back @ residual[k : k + M * n].reshape(M, n, 1))[..., 0]
        step = np.empty((M + 1, n))
        step[0] = -self.base_inverse @ residual[:k]
        for j in range(M):
            step[j + 1] = self.onward[j] @ step[j] + jumps[j]
        U, sizes, Vt = self.svd
        missing = residual[k + M * n :] + self.J_tip @ step[-1]
        z = -Vt[:rank].T @ ((U[:, :rank].T @ missing) / sizes[:rank])
        return (step + self.carried @ z).ravel()


class _Newton:
    """Newton's matrix of one mesh, its pattern prepared once."""

    def __init__(self, march: March, base: Condition, tip: Condition, scale: Array) -> None:
        self.march, self.base, self.tip, self.scale = march, base, tip, scale
        self.n, self.M = scale.size, march.start.size
        self.condition = float("nan")
        self._pattern: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    def system(self, g: Array, x: Array) -> tuple[Array, Array]:
        """Residual, and the entries of the matrix in scaled unknowns."""
        n, M, c = self.n, self.M, self.scale
        ends, values, Phi, _ = self.march(g[:-1], x[:-1])
        jump_g = se3.inverse(g[1:]) @ ends
        e = se3.log(jump_g)
        r_base, J_base = self.base(g[0], x[0])
        r_tip, J_tip = self.tip(g[-1], x[-1])
        if r_base.size + r_tip.size != n:
            raise BadInput(
                f"shooting: {r_base.size} conditions at the base and {r_tip.size} at the tip are "
                f"{r_base.size + r_tip.size} in all, and {n} are needed: "
                + ("take some away" if r_base.size + r_tip.size > n else "add some")
            )
        residual = np.concatenate([r_base, (np.hstack([e, values - x[1:]]) / c).ravel(), r_tip])
        # ζ at the end of a segment minus Ad(jump⁻¹) ζ of the next node: d(log jump) up to dexp(e), which leaves e alone
        A = np.zeros((M, n, n))
        A[:, :6, :6] = -se3.Ad(se3.inverse(jump_g))
        A[:, np.arange(6, n), np.arange(6, n)] = -1.0
        blocks = np.concatenate([Phi, A], axis=2)
        blocks = blocks * np.tile(c, 2) / c[:, None]
        entries = np.concatenate([(J_base * c).ravel(), blocks.ravel(), (J_tip * c).ravel()])
        self._transition = Phi * c / c[:, None]
        self._back = np.zeros((M, n, n))
        self._back[:, :6, :6] = se3.Ad(jump_g) * c[:6] / c[:6, None]
        self._back[:, np.arange(6, n), np.arange(6, n)] = 1.0
        self._ends = J_base * c, J_tip * c
        if self._pattern is None:
            self._prepare(r_base.size)
        return residual, entries

    def _prepare(self, k: int) -> None:
        """Rows and columns of all entries, and the band they lie in."""
        n, M = self.n, self.M
        rows = [np.repeat(np.arange(k), n)]
        cols = [np.tile(np.arange(n), k)]
        inner_rows = k + np.arange(M * n)
        rows.append(np.repeat(inner_rows, 2 * n))
        cols.append((np.repeat(np.arange(M) * n, n)[:, None] + np.arange(2 * n)).ravel())
        rows.append(np.repeat(k + M * n + np.arange(n - k), n))
        cols.append(np.tile(M * n + np.arange(n), n - k))
        row, col = np.concatenate(rows), np.concatenate(cols)
        lower, upper = int(np.max(row - col)), int(np.max(col - row))
        self._pattern = row, col
        self._band = lower, upper
        self._size = (M + 1) * n

    def condense(self) -> Condensed | None:
        """The matrix condensed to the unknowns left free at the base; None where integration amplifies too much."""
        J_base, J_tip = self._ends
        onward = self._back @ self._transition
        free = null_space(J_base)
        carried = np.empty((self.M + 1, self.n, free.shape[1]))
        carried[0] = free
        for k in range(self.M):
            carried[k + 1] = onward[k] @ carried[k]
        single = J_tip @ carried[-1]
        largest = float(np.max(np.abs(carried)))
        if not np.all(np.isfinite(single)):
            self.condition = float("inf")
            return None
        U, sizes, Vt = np.linalg.svd(single)
        self.condition = float(sizes[0] / sizes[-1]) if sizes[-1] > 0.0 else float("inf")
        if largest > _GROWTH:
            return None
        base_inverse = np.asarray(np.linalg.pinv(J_base), dtype=float)
        return Condensed(base_inverse, J_tip, onward, self._back, carried, (U, sizes, Vt))

    def factor(self, entries: Array) -> tuple[Callable[[Array], Array], bool]:
        """A solver with the banded LU factors, and whether the matrix counts as singular."""
        assert self._pattern is not None
        row, col = self._pattern
        lower, upper = self._band
        band = np.zeros((2 * lower + upper + 1, self._size), order="F")
        band[lower + upper + row - col, col] = entries
        lu, pivots, info = dgbtrf(band, lower, upper, overwrite_ab=1)

        def solve(b: Array) -> Array:
            z, _ = dgbtrs(lu, lower, upper, b, pivots)
            return np.asarray(z)

        if info != 0:
            return solve, True
        probe = np.random.default_rng(0).standard_normal(self._size)
        grown = float(np.linalg.norm(solve(probe)) / np.linalg.norm(probe) * np.max(np.abs(entries)))
        return solve, not np.isfinite(grown) or grown > _SINGULAR

    def least_norm(self, entries: Array, residual: Array, sigma: float) -> Array:
        """Levenberg-Marquardt step -(JᵀJ + σ 1)⁻¹ Jᵀ r."""
        assert self._pattern is not None
        J = csc_matrix((entries, self._pattern), shape=(self._size, self._size))
        lu = splu((J.T @ J + sigma * identity(self._size)).tocsc())
        step = lu.solve(-(J.T @ residual))
        # one refinement: the square has the square of the condition
        return np.asarray(step + lu.solve(-(J.T @ (J @ step + residual)) - sigma * step))

    def moved(self, g: Array, x: Array, step: Array) -> tuple[Array, Array]:
        """Nodes after a scaled step."""
        delta = step.reshape(self.M + 1, self.n) * self.scale
        return g @ se3.exp(delta[:, :6]), x + delta[:, 6:]


def shoot(
    flow: Flow,
    base: Condition,
    tip: Condition,
    nodes: ArrayLike,
    g: Array,
    x: Array,
    *,
    scale: ArrayLike,
    steps: int = 2,
    tolerance: float = 1e-10,
    max_iterations: int = 40,
    label: str = "shooting",
) -> Shot:
    """Pose and x at ``nodes`` (M + 1,) [m] from the guesses ``g`` (M + 1, 4, 4), ``x`` (M + 1, m).

    ``base`` and ``tip`` are the conditions, 6 + m in all. ``scale`` (6 + m,) are the sizes of one unit of (ζ, x). Done
    when the largest scaled residual is below ``tolerance``; else :class:`NotConverged` with the history of residuals.
    One segment is single shooting.
    """
    newton = _Newton(March.between(flow, nodes, steps), base, tip, np.asarray(scale, dtype=float))
    longest: tuple[float, ...] = ()
    for careful in (False, True):
        shot, history = _iterate(newton, g, x, tolerance, max_iterations, careful)
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
    newton: _Newton, g: Array, x: Array, tolerance: float, max_iterations: int, careful: bool
) -> tuple[Shot | None, tuple[float, ...]]:
    """Newton's iterations; ``careful`` prefers steps that leave the smallest residual, on all or fewer unknowns."""
    history: list[float] = []
    sigma, damping = 1e-4, 1.0
    with np.errstate(all="ignore"):
        residual, entries = newton.system(g, x)
        for iteration in range(max_iterations + 1):
            size = float(np.max(np.abs(residual)))
            history.append(size)
            condensed = newton.condense() if np.all(np.isfinite(entries)) else None
            if size <= tolerance:
                singular = condensed is not None and condensed.rank(_RANK[0]) < condensed.svd[1].size
                return Shot(newton.march, g, x, iteration, tuple(history), newton.condition, singular), ()
            stuck = iteration >= _PATIENCE and size > 0.5 * max(history[-_PATIENCE:])
            if iteration == max_iterations or not np.isfinite(size) or stuck:
                break
            found = None
            # along motions that nothing resists the steps of integration may leave a residual of their own order
            if condensed is not None and size <= _IDLE and (rank := condensed.rank(_RANK[1])) < condensed.svd[1].size:
                rest = condensed.solve(residual, rank)
                if np.max(np.abs(rest)) <= 10.0 * tolerance:
                    return Shot(newton.march, g, x, iteration, tuple(history), newton.condition, True), ()
                found = _damped(newton, g, x, residual, partial(_least, condensed, rank), 1.0, 2)
            if found is None:
                found = _best(newton, g, x, residual, condensed, entries, damping, careful)
            if found is None:
                found, sigma = _levenberg(newton, g, x, residual, entries, sigma)
                if found is None:
                    break
            g, x, residual, entries, damping = found
    return None, tuple(history)


def _solvers(
    newton: _Newton, condensed: Condensed | None, entries: Array, parts: Sequence[float]
) -> Iterator[Callable[[Array], Array]]:
    """Ways to a step: with all singular values first, then without the smallest ones."""
    if condensed is None:
        solve, singular = newton.factor(entries)
        if not singular:
            yield solve
        return
    tried = -1
    for part in parts:
        rank = condensed.rank(part)
        if rank != tried and rank > 0:
            yield partial(_least, condensed, rank)
        tried = rank


def _best(
    newton: _Newton,
    g: Array,
    x: Array,
    residual: Array,
    condensed: Condensed | None,
    entries: Array,
    damping: float,
    careful: bool,
) -> _Found | None:
    """Of the steps with all and with fewer singular values the first that helps, or, ``careful``, the best."""
    for halvings in (3, 8):
        good: list[_Found] = []
        for solve in _solvers(newton, condensed, entries, _RANK[:3] if halvings == 3 else _RANK):
            found = _damped(newton, g, x, residual, solve, damping, halvings)
            if found is not None:
                good.append(found)
                if not careful:
                    break
        if good:
            return min(good, key=lambda found: float(np.linalg.norm(found[2])))
        damping = 1.0
    return None


def _least(condensed: Condensed, rank: int, b: Array) -> Array:
    return condensed.solve(-b, rank)


_Found: TypeAlias = tuple[Array, Array, Array, Array, float]


def _damped(
    newton: _Newton,
    g: Array,
    x: Array,
    residual: Array,
    solve: Callable[[Array], Array],
    damping: float,
    halvings: int,
) -> _Found | None:
    """A Newton step shortened until the next, simplified step is smaller; None where that does not happen."""
    step = solve(-residual)
    if not np.all(np.isfinite(step)):
        return None
    turn = float(np.max(np.abs(step.reshape(-1, newton.n)[:, :3])))
    factor = min(1.0, 4.0 * damping, _LONGEST_TURN / max(turn, 1e-300))
    size = float(np.linalg.norm(step))
    for _ in range(halvings):
        trial_g, trial_x = newton.moved(g, x, factor * step)
        trial, entries = newton.system(trial_g, trial_x)
        if np.all(np.isfinite(trial)) and np.all(np.isfinite(entries)):
            following = float(np.linalg.norm(solve(-trial)))
            if following <= (1.0 - 0.25 * factor) * size or np.max(np.abs(trial)) < 1e-13:
                return trial_g, trial_x, trial, entries, factor
        factor *= 0.5
    return None


def _levenberg(
    newton: _Newton, g: Array, x: Array, residual: Array, entries: Array, sigma: float
) -> tuple[_Found | None, float]:
    """A Levenberg-Marquardt step that lowers the residual, and the damping for the next one."""
    size = float(np.linalg.norm(residual))
    for _ in range(16):
        step = newton.least_norm(entries, residual, sigma)
        if np.all(np.isfinite(step)):
            turn = float(np.max(np.abs(step.reshape(-1, newton.n)[:, :3])))
            step *= min(1.0, _LONGEST_TURN / max(turn, 1e-300))
            trial_g, trial_x = newton.moved(g, x, step)
            trial, following = newton.system(trial_g, trial_x)
            if np.all(np.isfinite(trial)) and np.linalg.norm(trial) < (1.0 - 1e-4) * size:
                return (trial_g, trial_x, trial, following, 1.0), max(0.02 * sigma, 1e-12)
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
    fine = March(march.flow, march.start, march.stop, 2 * march.steps)
    g1, x1, _, _ = march(shot.g[:-1], shot.x[:-1], tangent=False)
    g2, x2, _, trace = fine(shot.g[:-1], shot.x[:-1], tangent=False, dense=True)
    change = np.hstack([se3.log(se3.inverse(g2) @ g1), x1 - x2]) / c
    error = np.max(np.abs(change), axis=1)
    total = float(error.sum())
    M = error.size
    if total <= accuracy or most <= M:
        return None, total
    parts = np.clip(np.ceil((2.0 * error * M / accuracy) ** 0.25), 1, 8).astype(int)
    nodes: list[float] = []
    old = march.nodes
    poses: list[Array] = []
    values: list[Array] = []
    for k in range(M):
        places = np.arange(parts[k]) / parts[k]
        nodes.extend(old[k] + places * (old[k + 1] - old[k]))
        for place in places:
            # the nearest step of the fine integration is guess enough: Newton closes the gap
            j = int(round(place * 2 * march.steps))
            poses.append(shot.g[k] if j == 0 else trace[j - 1][0][k])
            values.append(shot.x[k] if j == 0 else trace[j - 1][1][k])
    nodes.append(old[-1])
    poses.append(shot.g[-1])
    values.append(shot.x[-1])
    return (np.array(nodes), np.array(poses), np.array(values)), total


def mesh(length: float, segments: int, breaks: Sequence[float] = ()) -> Array:
    """Nodes of about ``segments`` equal segments, with nodes at the ``breaks`` [m]."""
    ends = np.array([0.0, *breaks, length])
    pieces = [np.linspace(a, b, max(1, int(round(segments * (b - a) / length))) + 1)[:-1] for a, b in pairwise(ends)]
    return np.concatenate([*pieces, [length]])
