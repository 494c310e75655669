"""Stability of a rod's equilibrium by conjugate points along its length (Jacobi), for any conditions at its ends.

The second variation of the energy is a quadratic form in ζ(s), Δg = g ζ̂. Solutions of its Euler-Lagrange equations,

    ζ′ = -ad(ξ)ζ + B 𝓗̌⁻¹ Bᵀ ΔΛ,   ΔΛ′ = ad(ξ)ᵀΔΛ + ad(Δξ)ᵀΛ - ΔF̄,

that obey the conditions at one end form a plane Y(s) of dimension six. With Δμ = ΔΛ + ½ dcoad(Λ) ζ, which makes (ζ, Δμ)
canonical, Δμ = W(s) ζ with W symmetric: for a sweep from the base, W is the stiffness that the part before s offers.
A conjugate point is an s at which some ζ of the plane vanishes: W passes through infinity, and the form has one more
negative direction (Morse). At the other end the stiffness of what is held and loaded there is added; its negative
eigenvalues count too. Clamped-clamped this is the map ΔΛ(0) → ζ(s), which must stay regular on 0 < s ≤ L (F. Boyer et
al. 2023, remark 1); clamped-free it is swept from the free end, where ΔΛ = ∂F/∂ζ ζ (transversality).

    index = conjugate points inside + negative eigenvalues of the stiffness at the end = number of unstable motions

Points are counted with their multiplicity by the angles of the plane: Y = (cos θ_j, sin θ_j) in suitable axes, θ_j
passes π/2 (V. I. Arnold, Funct. Anal. Appl. 1, 1967). Held components yield like springs of 10⁶ EI/L: it keeps apart
what an inextensible straight rod cannot do at all. Legendre's condition is 𝓗̌ = Bᵀ(𝓗 + ∂Λ_act/∂ξ)B > 0 at every s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from elver.errors import BadInput
from elver.lie import se3
from elver.optimal.indirect_statics import EndCondition, RodSolution
from elver.optimal.shooting import March
from elver.optimal.static_flow import StaticFlow

__all__ = ["ConjugatePoints", "conjugate_points"]

Array: TypeAlias = NDArray[np.float64]

_COMPLIANCE = 1e-6  # of held components, in L/EI
_UNIT = (
    30.0  # EI/L, unit of stiffness in which angles are taken: a size at which a slender rod is neither soft nor stiff
)
_LONGEST_TURN = 0.8  # of 2θ in one interval; longer ones are halved
_MOST_HALVES = 14
_CANONICAL = 1e-5  # asymmetry above which there is no potential
_PLANE = (2, 3, 4)


@dataclass(frozen=True, eq=False)
class ConjugatePoints:
    """Second-order conditions of one equilibrium."""

    stable: bool
    """No unstable motion, none that nothing resists, and Legendre's condition."""
    index: int
    """Number of independent motions that lower the energy."""
    points: tuple[float, ...]
    """Conjugate points inside the rod, s [m], in the order of the sweep."""
    sweep: Literal["base", "tip"]
    """End at which the sweep began."""
    neutral: bool
    """True when some motion is resisted by nothing: the solution is one of a family, or critical."""
    legendre: float
    """Smallest eigenvalue of 𝓗̌ along the rod, in units of the elastic stiffness alone: 1 without tendons."""

    @property
    def first(self) -> float | None:
        """The first conjugate point, s [m], or None."""
        return self.points[0] if self.points else None


def conjugate_points(
    found: RodSolution, sweep: Literal["base", "tip"] | None = None, intervals: int = 256
) -> ConjugatePoints:
    """Conjugate points and stability of an equilibrium.

    ``sweep`` says from which end; by default from the tip if it is not clamped, else from the base. ``intervals`` along
    the rod. Follower loads, and couples fixed in space on rods that turn in space, have no potential: BadInput.
    """
    if sweep not in (None, "base", "tip"):
        raise BadInput(f'sweep = {sweep!r}: say "base" or "tip"')
    problem = found.problem
    L, EI = problem.length, problem.bending_stiffness
    start: Literal["base", "tip"] = sweep or ("base" if problem.tip.is_clamped else "tip")
    nodes, g, x = _finer(found, intervals)

    # canonical, dimensionless variables (ζ, Δμ), restricted to the plane for planar rods
    own = _own_axes(found)
    canonical = _Canonical(found, own)
    scale, pick = canonical.scale, canonical.pick
    maps = canonical.maps(nodes, g, x)

    planes = {}
    for name, end, wrench, sign, k in (
        ("base", problem.base, problem.base_wrench, -1.0, 0),
        ("tip", problem.tip, problem.tip_wrench, 1.0, -1),
    ):
        condition = EndCondition(end, wrench, sign, L, EI)
        rows = _yielding(condition, g[k], x[k]) @ (_canonical(-x[[k]])[0] * scale)
        planes[name] = _solutions(rows[:, pick], len(own), name)

    # sweep: the plane is carried from interval to interval and kept orthonormal
    first, last = ("base", "tip") if start == "base" else ("tip", "base")
    direction = 1.0 if start == "base" else -1.0
    Y = planes[first]
    total, crossed = float(np.sum(_angles(Y))), 0
    points: list[float] = []
    for k in range(nodes.size - 1) if start == "base" else range(nodes.size - 2, -1, -1):
        for piece in canonical.carried(Y, maps[k], nodes[k], nodes[k + 1], g[k], x[k], direction):
            count = _count(piece.after, total + piece.turned, direction)
            if count > crossed:
                points += [canonical.located(Y, piece, total, crossed, direction)] * (count - crossed)
            Y, total, crossed = piece.after, total + piece.turned, count

    # the stiffness of the swept part and of what is at the other end
    stiffness = direction * (_stiffness(Y) - _stiffness(planes[last]))
    values = np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T))
    negative = int(np.sum(values < 0.0))
    size = np.abs(values).min() * _UNIT
    index = crossed + negative
    neutral = (
        bool(size < 1e-4) or (found.singular and len(own) == 6) or _at_the_end(points, L if start == "base" else 0.0, L)
    )
    legendre = _legendre(found)
    return ConjugatePoints(
        stable=index == 0 and not neutral and legendre > 0.0,
        index=index,
        points=tuple(float(p) for p in points),
        sweep=start,
        neutral=neutral,
        legendre=legendre,
    )


class _Piece(NamedTuple):
    """An interval [a, b] of the sweep, (g, x) at a, the plane behind it, and the sum of the angles it turned."""

    a: float
    b: float
    g: Array
    x: Array
    after: Array
    turned: float


class _Canonical:
    """Transition matrices in canonical, dimensionless variables."""

    def __init__(self, found: RodSolution, own: tuple[int, ...]) -> None:
        L, EI = found.problem.length, found.problem.bending_stiffness
        unit = np.array([1.0, 1.0, 1.0, L, L, L])
        self.scale = np.concatenate([unit, _UNIT * EI / L / unit])
        self.pick = np.array([*own, *(6 + k for k in own)])
        self.flow = StaticFlow(found.problem)

    def maps(self, nodes: Array, g: Array, x: Array) -> Array:
        """Of the intervals between ``nodes`` (M + 1,), with one step each: (M, 2n, 2n)."""
        _, _, Phi = March.between(self.flow, nodes, 1)(g[:-1], x[:-1])
        return self._reduced(Phi, x[:-1], x[1:])

    def _reduced(self, Phi: Array, x: Array, x_end: Array) -> Array:
        whole = (_canonical(x_end) @ Phi @ _canonical(-x)) * self.scale / self.scale[:, None]
        return np.asarray(whole[:, self.pick[:, None], self.pick])

    def carried(
        self, Y: Array, carry: Array, a: float, b: float, g: Array, x: Array, direction: float, halves: int = 0
    ) -> Iterator[_Piece]:
        """The plane after the interval [a, b], in pieces in which it turns little; (g, x) are at ``a``."""
        after = np.linalg.qr(carry @ Y if direction > 0.0 else np.linalg.solve(carry, Y))[0]
        turned, most = _turned(Y, after)
        if most < _LONGEST_TURN or halves == _MOST_HALVES:
            yield _Piece(a, b, g, x, after, turned)
            return
        lower, upper, g_middle, x_middle = self._halves(a, b, g, x)
        middle = 0.5 * (a + b)
        parts = [(lower, a, middle, g, x), (upper, middle, b, g_middle, x_middle)]
        for one, start, stop, pose, stress in parts if direction > 0.0 else parts[::-1]:
            for piece in self.carried(Y, one, start, stop, pose, stress, direction, halves + 1):
                yield piece
                Y = piece.after

    def _halves(self, a: float, b: float, g: Array, x: Array) -> tuple[Array, Array, Array, Array]:
        """Transition matrices of the two halves of [a, b], and pose and stress between them."""
        middle = 0.5 * (a + b)
        g_middle, x_middle, Phi = March(self.flow, [a], [middle], 1)(g[None], x[None])
        _, x_end, Phi_end = March(self.flow, [middle], [b], 1)(g_middle, x_middle)
        lower = self._reduced(Phi, x[None], x_middle)[0]
        upper = self._reduced(Phi_end, x_middle, x_end)[0]
        return lower, upper, g_middle[0], x_middle[0]

    def located(self, Y: Array, piece: _Piece, total: float, crossed: int, direction: float) -> float:
        """Conjugate point inside a piece, by bisection; ``Y`` is the plane where the sweep enters."""
        a, b, g, x = piece.a, piece.b, piece.g, piece.x
        for _ in range(14):
            lower, upper, g_middle, x_middle = self._halves(a, b, g, x)
            middle = 0.5 * (a + b)
            between = np.linalg.qr(lower @ Y if direction > 0.0 else np.linalg.solve(upper, Y))[0]
            so_far = total + _turned(Y, between)[0]
            beyond = _count(between, so_far, direction) > crossed
            if not beyond:
                Y, total = between, so_far
            if beyond == (direction > 0.0):
                b = middle
            else:
                a, g, x = middle, g_middle, x_middle
        return 0.5 * (a + b)


def _canonical(x: Array) -> Array:
    """(ζ, ΔΛ) to (ζ, Δμ), Δμ = ΔΛ + ½ dcoad(Λ) ζ, at stresses (n, 6); with -Λ the way back. (n, 12, 12)."""
    change = np.tile(np.eye(12), (x.shape[0], 1, 1))
    change[:, 6:, :6] = 0.5 * se3.dcoad(x)
    return change


def _finer(found: RodSolution, intervals: int) -> tuple[Array, Array, Array]:
    """Nodes, poses and stresses of a mesh of at least so many intervals."""
    march = found.shot.march
    parts = max(1, int(np.ceil(intervals / march.start.size)))
    fine = March(StaticFlow(found.problem), march.start, march.stop, parts)
    return fine.stations(), *fine.along(found.shot.g, found.shot.x)


def _own_axes(found: RodSolution) -> tuple[int, ...]:
    """Components of ζ that matter: three for a rod that can only move in the xy plane of its sections."""
    component = set(found.problem.component)
    flat = np.max(np.abs(found.xi[:, [0, 1, 5]])) < 1e-12 * max(1.0, float(np.max(np.abs(found.xi))))
    return _PLANE if component <= set(_PLANE) and flat else (0, 1, 2, 3, 4, 5)


def _yielding(condition: EndCondition, g: Array, x: Array) -> Array:
    """Slopes (6, 12) of the end conditions, held components on stiff springs: Θ ± (compliance) moment = 0."""
    (_, place), (_, load) = condition.pairs(g, x)
    rows = load.copy()
    held = [*condition.end.rotation_axes, *(3 + j for j in condition.end.position_axes)]
    rows[held] = place[held] + condition.sign * _COMPLIANCE * load[held]
    return rows


def _solutions(rows: Array, n: int, name: str) -> Array:
    """Orthonormal basis (2n, n) of the variations that obey linear conditions."""
    if rows.shape[0] > n:  # a planar rod: conditions out of its plane say nothing
        U, sizes, _ = np.linalg.svd(rows)
        rows = (U[:, :n].T @ rows) if sizes[n - 1] > 1e-12 * sizes[0] else rows
    basis = null_space(rows / np.linalg.norm(rows, axis=1, keepdims=True), rcond=1e-13)
    if basis.shape[1] != n:
        raise BadInput(f"conjugate points: the conditions at the {name} leave {basis.shape[1]} motions, expected {n}")
    Q1, Q2 = basis[:n], basis[n:]
    if np.max(np.abs(Q1.T @ Q2 - Q2.T @ Q1)) > _CANONICAL:
        raise BadInput(
            f"conjugate points: the load at the {name} has no potential (it follows the section, or is a couple fixed "
            "in space); its stability is that of small motions, see stability(...)"
        )
    return np.asarray(basis)


def _unitary(Y: Array) -> NDArray[np.complex128]:
    """U Uᵀ with U = Q₁ + i Q₂: symmetric, unitary, eigenvalues exp(2 i θ_j)."""
    n = Y.shape[1]
    U = Y[:n] + 1j * Y[n:]
    if np.max(np.abs(U.conj().T @ U - np.eye(n))) > 100.0 * _CANONICAL:
        raise BadInput(
            "conjugate points: a load along the rod has no potential (it follows the sections, or is a couple fixed in "
            "space); its stability is that of small motions, see stability(...)"
        )
    return np.asarray(U @ U.T)


def _angles(Y: Array) -> Array:
    """θ_j in (-π/2, π/2], increasing; tan θ_j are the stiffnesses of the plane."""
    return np.sort(0.5 * np.angle(np.linalg.eigvals(_unitary(Y))))


def _turned(before: Array, after: Array) -> tuple[float, float]:
    """Σ of the angles θ through which the plane turned, and the largest turn of 2θ."""
    relative = _unitary(after) @ _unitary(before).conj().T
    turns = np.angle(np.linalg.eigvals(relative))
    return float(0.5 * np.sum(turns)), float(np.max(np.abs(turns)))


def _stiffness(Y: Array) -> Array:
    """W of the plane, Δμ = W ζ."""
    n = Y.shape[1]
    return np.asarray(Y[n:] @ np.linalg.inv(Y[:n]))


def _count(Y: Array, total: float, direction: float) -> int:
    """Conjugate points so far: how often π the angles have turned more than they show."""
    return int(round(direction * (float(np.sum(_angles(Y))) - total) / np.pi))


def _at_the_end(points: list[float], end: float, length: float) -> bool:
    return any(abs(p - end) < 1e-4 * length for p in points)


def _legendre(found: RodSolution) -> float:
    """Smallest eigenvalue of 𝓗̌ relative to 𝓗."""
    problem = found.problem
    free = list(problem.component)
    s = np.clip(found.s, 1e-9 * problem.length, (1.0 - 1e-9) * problem.length)
    sections = problem.at(s)
    slope = sections.stress(found.xi)[1][np.ix_(range(s.size), free, free)]
    root = 1.0 / np.sqrt(sections.stiffness[:, free])
    return float(np.min(np.linalg.eigvalsh(root[:, :, None] * slope * root[:, None, :])))
