r"""Forward dynamics of a rod as a singular linear-quadratic problem along its length: for study, not for simulation.

**The problem** (G. Le Vey 2006, section 3). Minimise over υ(s)

    ∫ (½ xᵀΣx + bᵀx + cᵀυ) ds,   x′ = F x + G υ + h,   G constant,

in which the control enters linearly. With the costate λ the conditions of an optimum are

    λ′ = -Fᵀλ - Σx - b,   0 = c + Gᵀλ,

and the last one, differentiated twice along s, gives the control (N = GᵀΣG, primes are d/ds)

    N υ = K₁λ + K₂x + K₃,   K₁ = Gᵀ(FᵀFᵀ - F′ᵀ),   K₂ = Gᵀ(FᵀΣ - Σ′ - ΣF),   K₃ = c″ + Gᵀ(Fᵀb - b′ - Σh).

Inserted, a linear problem with conditions at both ends is left. It is solved in two ways:

* :func:`solve_by_superposition`: the transition matrix from 0 to L, and six equations for what is unknown at 0;
* :func:`solve_by_riccati`: λ = ζx + κ with ζ(L) = 0, swept back, and x forward (eq. 8, 9 of the source).

**The rod** in this form is in :mod:`elver.one_rod.sweeps.singular_rods`.

**Conditioning.** Of a straight rod V̇″ = (A/I) V̇ across: a march from one end amplifies errors by exp(L√(A/I)), which
is exp(2L/r) of a circular section of radius r, 1e17 at L/r = 20; and the Riccati sweep escapes to infinity inside the
rod unless it is very short. Both are measured, reported and refused. This belongs to the march, not to the problem:
:func:`solve_by_collocation` takes all elements together, and its condition number grows like a power of L/r.

Still for study only: data must come from a motion. A stress field of one's own leaves 0 = c + Gᵀλ unmet, since the
minimiser then has impulses at the ends, and is refused too; the regular way is implicit in time
(:mod:`elver.integrators`).

Theory: docs/theory/optimal-control.md, eq. (singular-control).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.polynomial.chebyshev import chebder, chebvander
from numpy.typing import NDArray

from elver.errors import BadInput, NotConverged, finite, positive
from elver.one_rod.sweeps.mesh import gauss_integration
from elver.values import Carried

__all__ = [
    "Escape",
    "SingularProblem",
    "SingularSolution",
    "condition",
    "solve_by_collocation",
    "solve_by_riccati",
    "solve_by_superposition",
    "times",
]

Array: TypeAlias = NDArray[np.float64]
Field: TypeAlias = Callable[[Array], Array]

_HOPELESS = 1e12  # condition number beyond which double precision leaves no trustworthy digit of υ
_POINTS = 6  # Gauss points per element, order 12: with half a growth per element the error is below rounding
_X, _W, _I = gauss_integration(_POINTS)
_ESCAPED = 1e7  # times the size of ζ if nothing escaped: the sweep has gone to infinity


# The problem --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SingularProblem(Carried):
    """Data of the problem at Chebyshev-Lobatto nodes s (n,) of [0, length]; derivatives are those of polynomials.

    ``F`` (n, m, m), ``G`` (m, k), ``h`` (n, m), ``Sigma`` (n, m, m), ``b`` (n, m), ``c`` (n, k). ``start`` is x(0), or
    None where λ(0) = ``start_costate`` is given instead; ``end_costate`` is λ(L).
    """

    length: float
    F: Array
    G: Array
    h: Array
    Sigma: Array
    b: Array
    c: Array
    end_costate: Array
    start: Array | None = None
    start_costate: Array | None = None

    def __post_init__(self) -> None:
        put: Callable[[str, Any], None] = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("length", positive("length", self.length, "m"))
        put("G", finite("G", self.G, (-1, -1), "1"))
        m, k = self.G.shape
        n = np.shape(self.F)[0]
        shapes = {"F": (n, m, m), "h": (n, m), "Sigma": (n, m, m), "b": (n, m), "c": (n, k), "end_costate": (m,)}
        for name, shape in shapes.items():
            put(name, finite(name, getattr(self, name), shape, "SI units"))
        if (self.start is None) == (self.start_costate is None):
            raise BadInput(
                f"the problem has {m} unknowns at s = 0 and needs {m} conditions there: give either start (the state, "
                "of a held base) or start_costate (of a free one)"
            )
        name = "start" if self.start_costate is None else "start_costate"
        put(name, finite(name, getattr(self, name), (m,), "SI units"))

    @property
    def s(self) -> Array:
        """Nodes (n,) [m]."""
        return chebyshev_nodes(len(self.F), self.length)

    @property
    def size(self) -> int:
        """Number of states m."""
        return len(self.G)

    def derivative(self, field: Array) -> Array:
        """d/ds of a field (n, ...) given at the nodes."""
        n = len(self.F)
        z = chebyshev_nodes(n, 2.0) - 1.0
        D = 2.0 / self.length * chebvander(z, n - 2) @ chebder(np.eye(n)) @ np.linalg.inv(chebvander(z, n - 1))
        return np.tensordot(D, field, axes=1)

    @cached_property
    def control_law(self) -> tuple[Array, Array, Array]:
        """υ = K_lam λ + K_x x + k at the nodes, N⁻¹ applied: (n, k, m), (n, k, m), (n, k)."""
        F, G, Sigma, b = self.F, self.G, self.Sigma, self.b
        Ft, Gt = np.swapaxes(F, -1, -2), G.T
        N = Gt @ Sigma @ G
        singular = np.linalg.cond(N) > 1e14
        if np.any(singular):
            raise BadInput(
                f"GᵀΣG is singular at s = {self.s[np.argmax(singular)]:g} m: a control has no inertia behind it; give "
                "the section inertia in every free strain"
            )
        K1 = Gt @ (Ft @ Ft - np.swapaxes(self.derivative(F), -1, -2))
        K2 = Gt @ (Ft @ Sigma - self.derivative(Sigma) - Sigma @ F)
        K3 = self.derivative(self.derivative(self.c)) + (times(Ft, b) - self.derivative(b) - times(Sigma, self.h)) @ G
        inverse = np.asarray(np.linalg.inv(N), dtype=np.float64)
        return inverse @ K1, inverse @ K2, times(inverse, K3)

    @cached_property
    def equations(self) -> tuple[Array, Array]:
        """A (n, 2m, 2m) and a (n, 2m) of (x; λ)′ = A (x; λ) + a with the control inserted."""
        K1, K2, K3 = self.control_law
        F, G = self.F, self.G
        A = np.block([[F + G @ K2, G @ K1], [-self.Sigma, -np.swapaxes(F, -1, -2)]])
        return A, np.concatenate([self.h + K3 @ G.T, -self.b], axis=1)

    @cached_property
    def growth(self) -> float:
        """Exponent of the amplification from 0 to L: the integral of the fastest rate of the frozen equations.

        2 L/r of a straight circular rod.
        """
        rates = np.max(np.linalg.eigvals(self.equations[0]).real, axis=1)
        # Clenshaw-Curtis is not needed for an estimate
        return float(np.trapezoid(np.maximum(rates, 0.0), self.s))


@dataclass(frozen=True, eq=False)
class SingularSolution:
    """State, costate and control along the rod."""

    s: Array
    state: Array
    costate: Array
    control: Array
    condition: float
    """Condition number of the linear equations for what was unknown at s = 0; not a number where none was solved."""
    optimality: float
    """Largest |c + Gᵀλ| over the size of c: zero for data that come from a motion."""
    zeta: Array | None = None
    kappa: Array | None = None


@dataclass(frozen=True, eq=False)
class Escape:
    """Where a sweep left for infinity, as the ``result`` of :class:`NotConverged`."""

    where: float
    """Arc length [m]."""
    s: Array
    """Arc lengths beyond it, (n,) [m], with ζ there, (n, m, m)."""
    zeta: Array


def chebyshev_nodes(n: int, length: float) -> Array:
    """Chebyshev-Lobatto nodes (n,) of [0, length], increasing."""
    return 0.5 * length * (1.0 + np.sin(0.5 * np.pi * np.arange(1 - n, n, 2) / (n - 1)))


# Superposition ------------------------------------------------------------------------------------------------------


def condition(problem: SingularProblem) -> float:
    """Condition number of the map from what is unknown at s = 0 to λ(L): about exp(2L/r) of a circular rod."""
    m = problem.size
    if problem.growth > 300.0:
        return float("inf")
    transition, _ = _Mesh(problem).prepared().whole
    return float(np.linalg.cond(transition[m:, _unknown(problem)]))


def solve_by_superposition(
    problem: SingularProblem, *, max_condition: float = _HOPELESS, max_optimality: float = 1e-3
) -> SingularSolution:
    """The linear two-point problem: transition matrix from 0 to L, m equations at 0, and a last march.

    Refused with :class:`NotConverged` when the growth promises, or the equations show, a condition number beyond
    ``max_condition``; and when the result leaves |c + Gᵀλ| > ``max_optimality`` of the size of c, since no motion
    carries such a stress.
    """
    m = problem.size
    if problem.growth > np.log(max_condition):
        raise NotConverged(
            f"solve_by_superposition: {_advice(problem)}; refused beyond a condition number of {max_condition:.0e}"
        )
    mesh = _Mesh(problem).prepared()
    transition, forced = mesh.whole
    start, unknown = _given(problem), _unknown(problem)
    matrix = transition[m:, unknown]
    cond = float(np.linalg.cond(matrix))
    if not cond < max_condition:
        raise NotConverged(
            f"solve_by_superposition: the condition number of the two-point problem is {cond:.1e} (at most "
            f"{max_condition:.0e}); {_advice(problem)}"
        )
    start[unknown] = np.linalg.solve(matrix, problem.end_costate - transition[m:] @ start - forced[m:])
    ends = [start]
    for T, t in zip(mesh.transition, mesh.forced):
        ends.append(T @ ends[-1] + t)
    return _solution(mesh, mesh.inside(np.array(ends)), cond, max_optimality, "solve_by_superposition")


def solve_by_collocation(problem: SingularProblem, *, max_optimality: float = 1e-3) -> SingularSolution:
    """The same two-point problem with the values at the ends of all elements unknown together.

    What grows is held at the far end and what decays at the near one, so that nothing is amplified: the condition of
    :func:`solve_by_superposition` belongs to the march from one end. What remains is the division by the inertia of the
    section, with which the errors of the given stress come into ξ̈: (L/r)² times its second derivative.
    """
    from scipy.sparse import csc_array, diags_array, kron  # slow to import, and needed here alone
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    m = problem.size
    mesh = _Mesh(problem).prepared()
    E = len(mesh.transition)
    # rows: y_{e+1} - T_e y_e = t_e, then what is known at 0, then λ(L)
    rows, columns = np.meshgrid(np.arange(2 * m), np.arange(2 * m), indexing="ij")
    place = 2 * m * np.arange(E)[:, None, None]
    steps = csc_array(
        (-mesh.transition.ravel(), ((place + rows).ravel(), (place + columns).ravel())),
        shape=(2 * m * E + 2 * m, 2 * m * E + 2 * m),
    )
    steps = steps + kron(diags_array(np.ones(E), offsets=1, shape=(E + 1, E + 1)), np.eye(2 * m))
    known = np.setdiff1d(np.arange(2 * m), np.arange(2 * m)[_unknown(problem)])
    last = 2 * m * E + np.arange(2 * m)
    ends = csc_array(
        (np.ones(2 * m), (last, np.concatenate([known, last[m:]]))), shape=(2 * m * E + 2 * m, 2 * m * E + 2 * m)
    )
    matrix = csc_array(steps + ends)
    load = np.concatenate([mesh.forced.ravel(), _given(problem)[known], problem.end_costate])
    factors = splu(matrix)
    y = factors.solve(load)
    y += factors.solve(load - matrix @ y)  # one refinement: pivots of a sparse factor are not the largest
    inverse = LinearOperator(
        matrix.shape, matvec=factors.solve, rmatvec=lambda v: factors.solve(v, trans="T"), dtype=float
    )
    cond = float(onenormest(inverse) * onenormest(matrix))
    return _solution(mesh, mesh.inside(y.reshape(E + 1, 2 * m)), cond, max_optimality, "solve_by_collocation")


def _unknown(problem: SingularProblem) -> slice:
    """Which of (x; λ) at s = 0 is unknown."""
    m = problem.size
    return slice(m, 2 * m) if problem.start is not None else slice(0, m)


def _given(problem: SingularProblem) -> Array:
    """(x; λ) at s = 0 with zeros for what is unknown."""
    zero = np.zeros(problem.size)
    if problem.start is not None:
        return np.concatenate([problem.start, zero])
    assert problem.start_costate is not None
    return np.concatenate([zero, problem.start_costate])


class _Mesh:
    """The linear equations on elements short enough for what grows, by collocation at Gauss points (order 12)."""

    def __init__(self, problem: SingularProblem) -> None:
        self.problem = problem
        count = max(16, int(np.ceil(2.0 * problem.growth)))
        ends = np.linspace(0.0, problem.length, count + 1)
        self.half = 0.5 * np.diff(ends)
        points = 0.5 * (ends[1:] + ends[:-1])[:, None] + self.half[:, None] * _X
        self.s = np.concatenate([[0.0], points.ravel(), [problem.length]])
        self.A, self.a = _interpolate(problem.s, self.s[1:-1], *problem.equations)

    def prepared(self, A: Array | None = None, a: Array | None = None) -> _Mesh:
        """Values inside and at the end of each element from those at its begin: y′ = A y + a, by default as given."""
        A, a = (self.A, self.a) if A is None or a is None else (A, a)
        E, size = len(self.half), A.shape[-1]
        A, a = A.reshape(E, _POINTS, size, size), a.reshape(E, _POINTS, size)
        half = self.half[:, None, None, None]
        # Y_i = y + half Σ_j I_ij (A_j Y_j + a_j)
        coupled = self.half[:, None, None, None, None] * np.einsum("ij,ejab->eiajb", _I, A)
        matrix = np.eye(_POINTS * size) - coupled.reshape(E, _POINTS * size, _POINTS * size)
        load = np.empty((E, _POINTS, size, size + 1))
        load[..., :-1] = np.eye(size)
        load[..., -1] = half[..., 0] * np.einsum("ij,eja->eia", _I, a)
        Y = np.linalg.solve(matrix, load.reshape(E, _POINTS * size, size + 1)).reshape(load.shape)
        slope = A @ Y
        slope[..., -1] += a
        step = half[:, 0] * np.einsum("j,ejab->eab", _W, slope)
        self.within, self.transition, self.forced = Y, np.eye(size) + step[..., :-1], step[..., -1]
        return self

    @property
    def whole(self) -> tuple[Array, Array]:
        """Φ and φ of y(L) = Φ y(0) + φ."""
        size = self.transition.shape[-1]
        total, forced = np.eye(size), np.zeros(size)
        for T, t in zip(self.transition, self.forced):
            total, forced = T @ total, T @ forced + t
        return total, forced

    def inside(self, ends: Array) -> Array:
        """y at ``s`` from its values (elements + 1, size) at the ends of elements."""
        inner = np.einsum("eiab,eb->eia", self.within[..., :-1], ends[:-1]) + self.within[..., -1]
        return np.concatenate([ends[:1], inner.reshape(-1, ends.shape[1]), ends[-1:]])


# Riccati ------------------------------------------------------------------------------------------------------------


def solve_by_riccati(problem: SingularProblem, *, max_optimality: float = 1e-3) -> SingularSolution:
    """The sweep λ = ζx + κ, back from ζ(L) = 0, κ(L) = λ(L), then x forward with the control on the fly.

    ζ′ = -ζGN⁻¹K₁ζ - ζ(F + GN⁻¹K₂) - Fᵀζ - Σ,   κ′ = -(Fᵀ + ζGN⁻¹K₁)κ - ζ(h + GN⁻¹K₃) - b      (Le Vey, eq. 9)

    :class:`NotConverged` tells where ζ escapes to infinity, which it does inside all but the shortest rods; its
    ``result`` is an :class:`Escape`.
    """
    m = problem.size
    equations = _at_points(problem.s, *problem.equations)

    def back(s: float, y: Array) -> Array:
        A, a = equations(s)
        zeta, kappa = y[: m * m].reshape(m, m), y[m * m :]
        F_x, F_lam, lam_x, lam_lam = A[:m, :m], A[:m, m:], A[m:, :m], A[m:, m:]
        zeta_prime = lam_x + lam_lam @ zeta - zeta @ (F_x + F_lam @ zeta)
        kappa_prime = lam_lam @ kappa + a[m:] - zeta @ (F_lam @ kappa + a[:m])
        return np.concatenate([zeta_prime.ravel(), kappa_prime])

    mesh = _Mesh(problem)
    swept = _swept_back(back, problem, mesh.s)
    zeta, kappa = swept[:, : m * m].reshape(-1, m, m), swept[:, m * m :]

    cond = float("nan")
    if problem.start is not None:
        start = problem.start
    else:
        assert problem.start_costate is not None
        cond = float(np.linalg.cond(zeta[0]))
        start = np.linalg.solve(zeta[0], problem.start_costate - kappa[0])

    # x′ = (A_xx + A_xλ ζ) x + A_xλ κ + a_x
    A, a = mesh.A, mesh.a
    mesh.prepared(A[:, :m, :m] + A[:, :m, m:] @ zeta[1:-1], times(A[:, :m, m:], kappa[1:-1]) + a[:, :m])
    ends = [start]
    for T, t in zip(mesh.transition, mesh.forced):
        ends.append(T @ ends[-1] + t)
    x = mesh.inside(np.array(ends))
    lam = times(zeta, x) + kappa
    found = _solution(mesh, np.hstack([x, lam]), cond, max_optimality, "solve_by_riccati")
    return replace(found, zeta=zeta, kappa=kappa)


def _swept_back(back: Callable[[float, Array], Array], problem: SingularProblem, s: Array) -> Array:
    """(ζ, κ) at ``s``, by an adaptive method of order 8 from L to 0; escape to infinity is reported."""
    from scipy.integrate import solve_ivp  # slow to import, and needed here alone

    m, L = problem.size, problem.length
    # the size of ζ if nothing escaped: that of the composite inertia
    usual = float(np.max(np.abs(problem.Sigma))) * L * max(1.0, L**2)

    def gone(_: float, y: Array) -> float:
        return float(np.max(np.abs(y[: m * m])) - _ESCAPED * usual)

    gone.terminal = True  # type: ignore[attr-defined]
    end = np.concatenate([np.zeros(m * m), problem.end_costate])
    with np.errstate(over="ignore", invalid="ignore"):
        run = solve_ivp(
            back, (L, 0.0), end, method="DOP853", dense_output=True, rtol=1e-12, atol=1e-13 * usual, events=[gone]
        )
    if run.status != 0:
        where = float(run.t_events[0][0]) if len(run.t_events[0]) else float(run.t[-1])
        raise NotConverged(
            f"solve_by_riccati: the sweep escapes to infinity at s = {where:.4g} m of {L:g} m, as it does inside all "
            f"rods but the thickest (this one grows like L/r = {0.5 * problem.growth:.3g} of a circular rod); use "
            "solve_by_superposition for short rods, solve_by_collocation for long ones, and simulate(...) with an "
            "implicit method for motions",
            result=Escape(where, run.t[::-1], run.y[: m * m].T[::-1].reshape(-1, m, m)),
        )
    return np.asarray(run.sol(s).T)


# Shared -------------------------------------------------------------------------------------------------------------


def _interpolate(nodes: Array, s: Array, *fields: Array) -> list[Array]:
    """Fields given at Chebyshev-Lobatto nodes, at other points, by the barycentric formula."""
    weights = (-1.0) ** np.arange(len(nodes))
    weights[[0, -1]] *= 0.5
    away = s[:, None] - nodes
    on_node = away == 0.0
    ratio = weights / np.where(on_node, 1.0, away)
    matrix = np.where(on_node.any(axis=1)[:, None], on_node, ratio / ratio.sum(axis=1, keepdims=True))
    return [np.tensordot(matrix, field, axes=1) for field in fields]


def _at_points(nodes: Array, A: Array, a: Array) -> Callable[[float], tuple[Array, Array]]:
    """:func:`_interpolate` for two fields at one point after the other."""
    weights = (-1.0) ** np.arange(len(nodes))
    weights[[0, -1]] *= 0.5
    flat, split, shape = np.hstack([A.reshape(len(nodes), -1), a]), A[0].size, A.shape[1:]

    def at(s: float) -> tuple[Array, Array]:
        away = s - nodes
        nearest = int(np.argmin(np.abs(away)))
        if away[nearest] == 0.0:
            values = flat[nearest]
        else:
            ratio = weights / away
            values = ratio @ flat / ratio.sum()
        return values[:split].reshape(shape), values[split:]

    return at


def _advice(problem: SingularProblem) -> str:
    growth = problem.growth
    return (
        f"along {problem.length:g} m errors are amplified by about exp({growth:.3g}) = 1e{growth / np.log(10.0):.0f}, "
        f"which is exp(2 L/r) of a circular rod with L/r = {0.5 * growth:.3g}, and double precision carries it to "
        "L/r = 8 or so; use solve_by_collocation, which does not march, forward_dynamics for accelerations, or "
        "simulate(...) with an implicit method for motions"
    )


def _solution(mesh: _Mesh, y: Array, cond: float, max_optimality: float, what: str) -> SingularSolution:
    problem, m = mesh.problem, mesh.problem.size
    x, lam = y[:, :m], y[:, m:]
    K1, K2, K3, c = _interpolate(problem.s, mesh.s, *problem.control_law, problem.c)
    control = times(K1, lam) + times(K2, x) + K3
    size = max(float(np.max(np.abs(c))), float(np.max(np.abs(lam))), 1e-300)
    left = float(np.max(np.abs(c + lam @ problem.G))) / size
    if not left <= max_optimality:
        raise NotConverged(
            f"{what}: the stress differs by {left:.1e} of its size from the one given (at most {max_optimality:.0e}): "
            "no smooth motion carries it, the minimiser has impulses at the ends; give the stress of a motion, e.g. of "
            "stress_of_motion with the same state and loads",
            result=control,
        )
    return SingularSolution(mesh.s, x, lam, control, cond, left)


def times(matrices: Array, vectors: Array) -> Array:
    product: Array = (matrices @ vectors[..., None])[..., 0]
    return product
