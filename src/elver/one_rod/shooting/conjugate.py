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
passes π/2 (V. I. Arnold, Funct. Anal. Appl. 1, 1967). Held components yield like springs of 10⁸ EI/L: it keeps apart
what an inextensible straight rod cannot do at all. Legendre's condition is 𝓗̌ = Bᵀ(∂²W/∂ε² + ∂Λ_act/∂ξ)B > 0 at every s.

Theory: docs/theory/optimal-control.md, eq. (canonical), (index).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, logm, null_space

from elver.errors import BadInput
from elver.lie import se3
from elver.one_rod.shooting.multiple import SegmentFlow
from elver.one_rod.shooting.static_flow import StaticFlow
from elver.one_rod.shooting.statics import EndCondition, RodSolution
from elver.words import brief, describe

__all__ = ["ConjugatePoints", "conjugate_points"]

Array: TypeAlias = NDArray[np.float64]

_COMPLIANCE = 1e-8  # of held components, in L/EI
_UNIT = (
    30.0  # EI/L, unit of stiffness in which angles are taken: a size at which a slender rod is neither soft nor stiff
)
_LONGEST_TURN = 0.8  # of 2θ in one interval; longer ones are halved
_MOST_HALVES = 14
_FINER = (256, 1024)  # intervals where those asked for are too long for the curvature
_PARTS, _ROUNDS = 16, 4  # an interval with a conjugate point is divided so often, to find where in it
_CANONICAL = 1e-5  # asymmetry above which there is no potential
_NEUTRAL = 2e-5  # 2θ between the planes of both ends below which nothing resists; the springs make 1.2e-6 of it
_PLANE = (2, 3, 4)


@brief
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
    """Smallest eigenvalue of 𝓗̌ along the rod, in units of the stiffness at rest: 1 of a linear law without tendons."""

    @property
    def first(self) -> float | None:
        """The first conjugate point, s [m], or None."""
        return self.points[0] if self.points else None


def conjugate_points(
    found: RodSolution, sweep: Literal["base", "tip"] | None = None, intervals: int = 64
) -> ConjugatePoints:
    """Conjugate points and stability of an equilibrium.

    ``sweep`` says from which end; by default from the tip if it is not clamped, else from the base. ``intervals``: at
    least so many along the rod, or those of the solution if they are more. Follower loads, and couples fixed in space
    on rods that turn in space, have no potential: BadInput.
    """
    if sweep not in (None, "base", "tip"):
        raise BadInput(f'sweep = {describe(sweep)}: say "base" or "tip"')
    problem = found.problem
    L, EI = problem.length, problem.bending_stiffness
    start: Literal["base", "tip"] = sweep or ("base" if problem.tip.is_clamped else "tip")
    # canonical, dimensionless variables (ζ, Δμ), restricted to the plane for planar rods
    own = _own_axes(found)
    canonical = _Canonical(found, own)
    scale, pick = canonical.scale, canonical.pick

    planes = {}
    for name, end, wrench, sign, k in (
        ("base", problem.base, problem.base_wrench, -1.0, 0),
        ("tip", problem.tip, problem.tip_wrench, 1.0, -1),
    ):
        condition = EndCondition(end, wrench, sign, L, EI)
        rows = _yielding(condition, found.g[k], found.stress[k]) @ (_canonical(-found.stress[[k]])[0] * scale)
        planes[name] = _solutions(rows[:, pick], len(own), name)

    # sweep: the plane is carried from node to node; intervals in which it turns far are halved
    last = "tip" if start == "base" else "base"
    for count in (intervals, *_FINER):
        path = canonical.swept(*_finer(found, count), planes[start], start)
        if path.asymmetry < 10.0 * _CANONICAL:
            break
    if path.asymmetry > 100.0 * _CANONICAL:  # steps do not cure it
        raise BadInput(
            "conjugate points: a load along the rod has no potential (it follows the sections, or is a couple fixed in "
            "space); its stability is that of small motions, see stability(...)"
        )
    path = canonical.refined(path)
    points = canonical.located(path, start)

    # the stiffness of the swept part and of what is at the other end; motions that nothing resists do not count, for
    # the plane is turned back a little at the end of its way
    direction, Y = (1.0, path.planes[-1]) if start == "base" else (-1.0, path.planes[0])
    apart = np.angle(np.linalg.eigvals(_unitary(Y) @ _unitary(planes[last]).conj().T))
    neutral = bool(np.any(np.abs(apart) < _NEUTRAL))
    Y = _rotated(Y, 0.5 * direction * _NEUTRAL)
    stiffness = direction * (_stiffness(Y) - _stiffness(planes[last]))
    negative = np.sum(np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T)) < 0.0)
    index = int(path.ended(Y, start) + negative)
    legendre = _legendre(found)
    return ConjugatePoints(
        stable=index == 0 and not neutral and legendre > 0.0,
        index=index,
        points=points,
        sweep=start,
        neutral=neutral,
        legendre=legendre,
    )


@dataclass(frozen=True, eq=False)
class _Path:
    """Planes (M + 1, 2n, n) at ``nodes`` (M + 1,) [m] with pose and stress there, from base to tip."""

    nodes: Array
    g: Array
    x: Array
    planes: Array

    @property
    def asymmetry(self) -> float:
        """Largest entry of Q₁ᵀQ₂ - Q₂ᵀQ₁: none with a potential, but for the steps of integration."""
        n = self.planes.shape[-1]
        product = np.swapaxes(self.planes[:, :n], 1, 2) @ self.planes[:, n:]
        return float(np.max(np.abs(product - np.swapaxes(product, 1, 2))))

    @cached_property
    def turned(self) -> tuple[Array, Array]:
        """Of each interval: Σ of the angles θ through which the plane turns, and the largest turn of 2θ, (M,)."""
        unitary = _unitary(self.planes)
        turns = np.angle(np.linalg.eigvals(unitary[1:] @ np.swapaxes(unitary[:-1].conj(), 1, 2)))
        return 0.5 * np.sum(turns, axis=1), np.max(np.abs(turns), axis=1)

    def count(self, start: Literal["base", "tip"]) -> Array:
        """Conjugate points between the start of the sweep and each node: how often π the angles hide, (M + 1,)."""
        shown = np.sum(_angles(self.planes), axis=-1)
        total = np.concatenate([[0.0], np.cumsum(self.turned[0])])
        hidden = np.round((shown - total) / np.pi - (shown - total)[0 if start == "base" else -1] / np.pi)
        return np.asarray(hidden if start == "base" else -hidden)

    def ended(self, Y: Array, start: Literal["base", "tip"]) -> int:
        """Conjugate points of the whole sweep, the last plane being ``Y`` instead."""
        planes = [self.planes, Y[None]] if start == "base" else [Y[None], self.planes]
        whole = _Path(self.nodes, self.g, self.x, np.concatenate(planes))
        return int(whole.count(start)[-1 if start == "base" else 0])

    def with_nodes(self, behind: NDArray[np.intp], nodes: Array, g: Array, x: Array, planes: Array) -> _Path:
        """More nodes, each behind one of the present ones."""
        pairs = ((self.nodes, nodes), (self.g, g), (self.x, x), (self.planes, planes))
        return _Path(*(np.insert(old, behind + 1, new, axis=0) for old, new in pairs))


class _Canonical:
    """Transition matrices in canonical, dimensionless variables."""

    def __init__(self, found: RodSolution, own: tuple[int, ...]) -> None:
        L, EI = found.problem.length, found.problem.bending_stiffness
        unit = np.array([1.0, 1.0, 1.0, L, L, L])
        self.scale = np.concatenate([unit, _UNIT * EI / L / unit])
        self.pick = np.array([*own, *(6 + k for k in own)])
        self.flow = StaticFlow(found.problem)

    def maps(self, start: Array, stop: Array, g: Array, x: Array) -> tuple[Array, Array, Array]:
        """Of intervals [start, stop] (M,) from (g, x), one step each: (M, 2n, 2n), and (g, x) at their ends."""
        g_end, x_end, Phi, _ = SegmentFlow(self.flow, start, stop, 1)(g, x)
        whole = (_canonical(x_end) @ Phi @ _canonical(-x)) * self.scale / self.scale[:, None]
        return whole[:, self.pick[:, None], self.pick], g_end, x_end

    def swept(self, nodes: Array, g: Array, x: Array, first: Array, start: Literal["base", "tip"]) -> _Path:
        """The plane ``first`` at one end carried to the other."""
        maps, *_ = self.maps(nodes[:-1], nodes[1:], g[:-1], x[:-1])
        Y = first
        planes = [Y]
        for carry in maps if start == "base" else np.linalg.inv(maps)[::-1]:
            Y = np.linalg.qr(carry @ Y)[0]
            planes.append(Y)
        return _Path(nodes, g, x, np.array(planes if start == "base" else planes[::-1]))

    def refined(self, path: _Path) -> _Path:
        """More nodes until the plane turns little from one to the next."""
        for _ in range(_MOST_HALVES):
            far = np.flatnonzero(path.turned[1] > _LONGEST_TURN)
            if not far.size:
                break
            middle = 0.5 * (path.nodes[far] + path.nodes[far + 1])
            carry, g_middle, x_middle = self.maps(path.nodes[far], middle, path.g[far], path.x[far])
            between = np.linalg.qr(carry @ path.planes[far])[0]
            path = path.with_nodes(far, middle, g_middle, x_middle, between)
        return path

    def located(self, path: _Path, start: Literal["base", "tip"]) -> tuple[float, ...]:
        """Conjugate points, s [m], in the order of the sweep, inside intervals on which the equation hardly changes."""
        crossing = np.flatnonzero(np.diff(path.count("base")) > 0)
        if not crossing.size:
            return ()
        a, b = path.nodes[crossing], path.nodes[crossing + 1]
        maps, *_ = self.maps(a, b, path.g[crossing], path.x[crossing])
        points: list[float] = []
        for k, carry in enumerate(maps):
            places = _places(path.planes[crossing[k]], np.real(logm(carry)), _ROUNDS)
            points += [float(a[k] + (b[k] - a[k]) * place) for place in places]
        return tuple(sorted(points, reverse=start == "tip"))


def _places(Y: Array, generator: Array, rounds: int) -> list[float]:
    """Parts of an interval, 0 to 1, after which exp(t·generator) Y has a vanishing ζ."""
    part = expm(generator / _PARTS)
    planes = [Y]
    for _ in range(_PARTS):
        planes.append(np.linalg.qr(part @ planes[-1])[0])
    count = np.diff(_Path(*3 * (np.empty(0),), np.array(planes)).count("base"))
    if rounds == 1:
        return [(k + 0.5) / _PARTS for k in range(_PARTS) for _ in range(int(max(count[k], 0)))]
    return [
        (k + place) / _PARTS
        for k in np.flatnonzero(count > 0)
        for place in _places(planes[k], generator / _PARTS, rounds - 1)
    ]


def _canonical(x: Array) -> Array:
    """(ζ, ΔΛ) to (ζ, Δμ), Δμ = ΔΛ + ½ dcoad(Λ) ζ, at stresses (n, 6); with -Λ the way back. (n, 12, 12)."""
    change = np.tile(np.eye(12), (x.shape[0], 1, 1))
    change[:, 6:, :6] = 0.5 * se3.dcoad(x)
    return change


def _finer(found: RodSolution, intervals: int) -> tuple[Array, Array, Array]:
    """Nodes, poses and stresses of a mesh of at least so many intervals."""
    if found.s.size > intervals:
        return found.s, found.g, found.stress
    march = found.shot.march
    parts = max(1, int(np.ceil(intervals / march.start.size)))
    fine = SegmentFlow(StaticFlow(found.problem), march.start, march.stop, parts)
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
    """U Uᵀ with U = Q₁ + i Q₂ of planes (..., 2n, n): symmetric, unitary, eigenvalues exp(2 i θ_j)."""
    n = Y.shape[-1]
    U = Y[..., :n, :] + 1j * Y[..., n:, :]
    return np.asarray(U @ np.swapaxes(U, -1, -2))


def _rotated(Y: Array, angle: float) -> Array:
    """The plane with all its θ_j greater by ``angle`` [rad]."""
    n = Y.shape[-1]
    U = (Y[:n] + 1j * Y[n:]) * np.exp(1j * angle)
    return np.concatenate([U.real, U.imag])


def _angles(Y: Array) -> Array:
    """θ_j in (-π/2, π/2], increasing (..., n); tan θ_j are the stiffnesses of the plane."""
    return np.sort(0.5 * np.angle(np.linalg.eigvals(_unitary(Y))), axis=-1)


def _stiffness(Y: Array) -> Array:
    """W of the plane, Δμ = W ζ."""
    n = Y.shape[1]
    return np.asarray(Y[n:] @ np.linalg.inv(Y[:n]))


def _legendre(found: RodSolution) -> float:
    """Smallest eigenvalue of 𝓗̌ relative to 𝓗, the slope of the law at rest."""
    problem = found.problem
    free = list(problem.component)
    s = np.clip(found.s, 1e-9 * problem.length, (1.0 - 1e-9) * problem.length)
    sections = problem.at(s)
    rows = np.ix_(range(s.size), free, free)
    slope, rest = sections.stress(found.xi)[1][rows], sections.rest_stiffness()[rows]
    root = np.linalg.inv(np.linalg.cholesky(rest))
    return float(np.min(np.linalg.eigvalsh(root @ slope @ np.swapaxes(root, 1, 2))))
