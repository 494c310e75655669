"""Inverse models of one rod without modes: which stress must act inside it for a shape or a motion that is wanted.

Statics in two passes: g forward with the wanted strain ξ, the stress Λ back from the tip,

    g′ = g ξ̂,   Λ′ = ad(ξ)ᵀΛ - F̄,   Λ(L) = F_tip,   Λ_act = BBᵀ(Λ - 𝓗(ξ-ξ₀)).

Dynamics in three passes, by the Riccati sweep Λ = -J η̇ + s of F. Boyer et al. (2023), eq. 84-86 (their S is -J):

    forward    η′ = -ad(ξ)η + ξ̇
    backward   J′ = ad(ξ)ᵀJ + J ad(ξ) - 𝓜,  J(L) = 0          composite inertia of [s, L] in the frame of s
               s′ = ad(ξ)ᵀs - F̃ + J(ξ̈ - ad(ξ̇)η),  s(L) = F_tip   stress at η̇ = 0;  F̃ = F̄ + ad(η)ᵀ𝓜η
    forward    η̇′ = -ad(ξ)η̇ - ad(ξ̇)η + ξ̈,  Λ = -J η̇ + s,  Λ_act = BBᵀ(Λ - 𝓗(ξ-ξ₀) - 𝓓ξ̇)

from the acceleration of the base where that is given (manipulator), else from Λ(0) = -F_base (locomotor):
η̇(0) = J(0)⁻¹(s(0) + F_base). It is the continuous form of the composite bodies of W. Khalil et al. (2007).

Carried over to the frame of the base by Ad, every pass is a quadrature (eq. 86), so that nothing is stepped: poses by
Magnus of order 6, all else by Gauss-Legendre polynomials in each element. Elements are doubled until nothing changes.

Conventions are the project's: six-vectors angular first and in the frame of their section, Λ(s) is what the part
beyond s exerts on the part before it, external wrenches act on the rod.

Theory: docs/theory/optimal-control.md, eq. (riccati).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, NotConverged, finite, positive
from elver.kernels.twin.tendon import pull_of_tendon
from elver.lie import integration, se3
from elver.one_rod.problem import RodProblem
from elver.one_rod.sweeps.mesh import Mesh
from elver.rods import Rod
from elver.system import Balanced, Inputs, State, System, situation
from elver.words import brief

__all__ = [
    "MotionStress",
    "RodLike",
    "ShapeStress",
    "StrainMotion",
    "Tensions",
    "stress_in_system",
    "stress_of_motion",
    "stress_of_shape",
    "tendon_columns",
    "tensions_of_stress",
]

Array: TypeAlias = NDArray[np.float64]
Field: TypeAlias = Callable[[Array], Array]
Density: TypeAlias = Callable[[Array, Array, Array], Array]
"""Wrench per length (n, 6) from arc lengths (n,), poses (n, 4, 4) and twists (n, 6)."""
TipWrench: TypeAlias = ArrayLike | Callable[[Array, Array], Array]
"""Wrench (6,) at the tip, or a function of its pose (4, 4) and twist (6,)."""

_FIRST, _MOST = 4, 512  # elements at the start of the doubling, and where it gives up


_HELD = (
    "the tip of this rod is held, so that its stress is not determined by its motion; inverse models along the rod are "
    "for rods with a free tip: use inverse_dynamics(system, ...)"
)


class RodLike(Protocol):
    """What is asked of a rod; ``Rod`` and ``RodProblem`` have it. Fields take s (n,) [m] and return (n, 6)."""

    @property
    def length(self) -> float: ...
    @property
    def component(self) -> Any: ...
    def stiffness(self, s: Array, /) -> Array: ...
    def rest_strain(self, s: Array, /) -> Array: ...
    def inertia(self, s: Array, /) -> Array: ...


# Motions ------------------------------------------------------------------------------------------------------------


@brief
@dataclass(frozen=True, eq=False)
class StrainMotion:
    """Strain ξ(s) and its two rates at an instant, each a function of s (n,) [m] that returns (n, 6)."""

    xi: Field
    xi_dot: Field
    xi_ddot: Field

    @classmethod
    def of(cls, rod: Rod, q: ArrayLike, q_dot: ArrayLike, q_ddot: ArrayLike) -> StrainMotion:
        """The motion of a rod's strain basis: ξ = ξ₀ + BΦq, ξ̇ = BΦq̇, ξ̈ = BΦq̈."""
        fields = []
        for name, value in (("q", q), ("q_dot", q_dot), ("q_ddot", q_ddot)):
            fields.append(finite(name, value, (rod.n,), "1/m, 1 and their rates"))
        q, q_dot, q_ddot = fields
        zero = np.zeros(rod.n)
        return cls(
            lambda s: rod.strain(s, q),
            lambda s: rod.strain(s, q_dot) - rod.strain(s, zero),
            lambda s: rod.strain(s, q_ddot) - rod.strain(s, zero),
        )

    @classmethod
    def at(cls, time: float, *fields: Callable[[Array, float], Array]) -> StrainMotion:
        """The motion at ``time`` [s] of three functions ξ(s, t), ξ̇(s, t), ξ̈(s, t)."""
        if len(fields) != 3 or not all(callable(field) for field in fields):
            raise BadInput("StrainMotion.at: give a time and three functions of (s, t): the strain and its two rates")
        xi, xi_dot, xi_ddot = fields
        return cls(lambda s: xi(s, time), lambda s: xi_dot(s, time), lambda s: xi_ddot(s, time))


# Results ------------------------------------------------------------------------------------------------------------


@brief
@dataclass(frozen=True, eq=False)
class ShapeStress:
    """Stress along a rod at rest in a wanted shape. Nodes are Gauss points, and the two ends with weight zero."""

    s: Array
    weights: Array
    """Quadrature weights [m] that sum to the length, (n,)."""
    g: Array
    """Poses, (n, 4, 4)."""
    xi: Array
    stress: Array
    """Λ, (n, 6)."""
    stress_act: Array
    """Λ_act that holds the shape, (n, 6), zero in the strains that are not free."""

    @property
    def base_wrench(self) -> Array:
        """What holds the rod at its base, in the frame of the base, (6,): -Λ(0)."""
        return -self.stress[0]


@brief
@dataclass(frozen=True, eq=False)
class MotionStress(ShapeStress):
    """Stress along a rod in a wanted motion, with the sweep it comes from."""

    eta: Array
    """Twists, (n, 6)."""
    eta_dot: Array
    """Rates of the twists, (n, 6); the first is the acceleration of the base, which of a locomotor is a result."""
    composite_inertia: Array
    """J = -S: inertia of all beyond s in the frame of s, (n, 6, 6)."""
    bias: Array
    """s: the stress at η̇ = 0, (n, 6)."""


# The two and the three passes ---------------------------------------------------------------------------------------


def stress_of_shape(
    rod: RodLike,
    xi: Field,
    *,
    base: ArrayLike | None = None,
    gravity: ArrayLike = (0.0, 0.0, 0.0),
    wrench_density: Density | None = None,
    tip_wrench: TipWrench = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    breaks: Iterable[float] = (),
    elements: int | None = None,
    tolerance: float = 1e-10,
) -> ShapeStress:
    """Inverse statics in two passes: the stress Λ and the part Λ_act of it that must act for the strain ξ(s).

    ``base`` is the pose of the base (identity), ``gravity`` [m/s²] in world axes; ``wrench_density(s, g, eta)``
    [N, N/m] and ``tip_wrench`` [N m, N] act on the rod, in the axes of their section (eta is zero here). ``breaks``
    are arc lengths where a field jumps. Elements are doubled until integrals change by less than ``tolerance`` of
    their size, unless ``elements`` gives their number. Of a :class:`RodProblem` the base, its loads and its breaks are
    taken too; what is given here comes on top.
    """
    zero: Field = lambda s: np.zeros((len(s), 6))  # noqa: E731
    motion = StrainMotion(xi, zero, zero)
    found = stress_of_motion(
        rod, motion, base=base, eta_dot=np.zeros(6), gravity=gravity, wrench_density=wrench_density,
        tip_wrench=tip_wrench, breaks=breaks, elements=elements, tolerance=tolerance,
    )  # fmt: skip
    return ShapeStress(found.s, found.weights, found.g, found.xi, found.stress, found.stress_act)


def stress_of_motion(
    rod: RodLike,
    motion: StrainMotion,
    *,
    base: ArrayLike | None = None,
    eta: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    eta_dot: ArrayLike | None = None,
    gravity: ArrayLike = (0.0, 0.0, 0.0),
    wrench_density: Density | None = None,
    tip_wrench: TipWrench = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    base_wrench: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    added_inertia: Field | None = None,
    breaks: Iterable[float] = (),
    elements: int | None = None,
    tolerance: float = 1e-10,
) -> MotionStress:
    """Inverse dynamics in three passes (module docstring): the stress for a motion of the strain.

    ``base`` and ``eta`` are pose and twist of the base. With ``eta_dot`` given the base is held in that motion
    (manipulator; zeros for a clamp); without it the base is free, ``base_wrench`` acts on it, and its acceleration is a
    result (locomotor). ``added_inertia(s)`` (n, 6) moves along and has no weight: the water of Lighthill's
    swimmer, with its wrench at the tail as ``tip_wrench(g, eta)``. The rest as for :func:`stress_of_shape`.
    """
    length = positive("length", rod.length, "m")
    base_wrench = finite("base_wrench", base_wrench, (6,), "N m, N")
    if isinstance(rod, RodProblem):
        if rod.tip.held:
            raise BadInput(_HELD)
        base = rod.base.pose if base is None else base
        wrench_density = _both(lambda s, g, _: rod.body_load(s, g)[0], wrench_density)
        tip_wrench = _both(lambda g, _: rod.tip_wrench.at(g)[0], _function(tip_wrench))
        base_wrench = base_wrench + rod.base_wrench.at(np.asarray(base, dtype=float))[0]
        breaks = {*breaks, *rod.breaks}
    elif isinstance(rod, Rod):
        breaks = {*breaks, *rod.expansion.breaks(rod.length), *rod.piece_ends[1:-1]}
    if isinstance(rod, Rod | RodProblem) and rod.mass_damping > 0.0:
        alpha = rod.mass_damping
        wrench_density = _both(lambda s, _, eta: -alpha * rod.inertia(s) * eta, wrench_density)
    sweep = _Sweep(
        rod=rod,
        length=length,
        motion=motion,
        base=np.eye(4) if base is None else finite("base", base, (4, 4), "m"),
        eta=finite("eta", eta, (6,), "rad/s, m/s"),
        eta_dot=None if eta_dot is None else finite("eta_dot", eta_dot, (6,), "rad/s², m/s²"),
        gravity=finite("gravity", gravity, (3,), "m/s²"),
        density=wrench_density,
        tip=tip_wrench,
        base_wrench=base_wrench,
        added=added_inertia,
    )
    borders = _borders(length, breaks)
    if elements is not None:
        if int(elements) != elements or elements < 1:
            raise BadInput(f"elements = {elements}: give a whole number of elements, at least 1")
        return sweep.run(Mesh.of(borders, int(elements)))[0]
    positive("tolerance", tolerance, "")
    count, history = _FIRST, []
    found, before = sweep.run(Mesh.of(borders, count))
    while count < _MOST:
        count *= 2
        found, now = sweep.run(Mesh.of(borders, count))
        history.append(max(_change(a, b, size) for (a, _), (b, size) in zip(before, now)))
        if history[-1] < tolerance:
            return found
        before = now
    raise NotConverged(
        f"stress_of_motion: with {count} elements the integrals along the rod still change by {history[-1]:.1e} of "
        f"their size (wanted {tolerance:.0e}); name the arc lengths where the strain or a load jumps with "
        "breaks=[...], smooth the fields, or ask for a larger tolerance",
        history=history,
        result=found,
    )


def stress_in_system(
    system: System,
    state: State | Balanced,
    inputs: Inputs | None = None,
    *,
    motion: StrainMotion | None = None,
    **options: Any,
) -> MotionStress:
    """The stress that the only rod of ``system`` needs for ``state`` (q, q̇, q̈ and base) under its loads.

    The base is held or driven in the motion of the state (η̇ of ``state``), or free: then its acceleration is a result
    and η̇ of the state does not matter. ``motion`` replaces the strains of the state by fields without modes.
    ``inputs`` set the loads; what the actuators do is not subtracted, since it is what comes out. Further options as
    for :func:`stress_of_motion`.
    """
    rod = system.rod
    _, state, inputs = situation(system, state, inputs)
    problem = RodProblem.of(system, inputs, state.time)
    g, eta, eta_dot = base_motion(system, state, problem)
    return stress_of_motion(
        rod,
        motion or StrainMotion.of(rod, state.q, state.q_dot, state.q_ddot),
        base=g,
        eta=eta,
        eta_dot=eta_dot,
        wrench_density=lambda s, g, _: problem.body_load(s, g)[0],
        tip_wrench=lambda g, _: problem.tip_wrench.at(g)[0],
        base_wrench=problem.base_wrench.at(g)[0],
        breaks=problem.breaks,
        **options,
    )


def base_motion(system: System, state: State, problem: RodProblem) -> tuple[Array, Array, Array | None]:
    """Pose, twist and, unless it is free, acceleration of the base of the rod in ``state``."""
    system.check_state(state)
    if problem.closed or problem.tip.held:
        raise BadInput(_HELD)
    if problem.base.held == 0:
        return state.g, state.eta, None
    if not problem.base.is_clamped:
        raise BadInput(
            f"the base of this rod is neither clamped nor free ({problem.base.name}); use inverse_dynamics(system, ...)"
        )
    to_rod = se3.Ad(se3.inverse(problem.base.pose) @ state.g)
    return problem.base.pose, to_rod @ state.eta, to_rod @ state.eta_dot


@dataclass(frozen=True, eq=False)
class _Sweep:
    """One rod in one motion; ``run`` makes the passes on a mesh."""

    rod: RodLike
    length: float
    motion: StrainMotion
    base: Array
    eta: Array
    eta_dot: Array | None
    gravity: Array
    density: Density | None
    tip: TipWrench
    base_wrench: Array
    added: Field | None

    def run(self, mesh: Mesh) -> tuple[MotionStress, list[tuple[Array, float]]]:
        """The result, and the integrals from end to end by which refinement is judged, each with its size."""
        rod, motion, s = self.rod, self.motion, mesh.s
        xi, xi_dot, xi_ddot = (
            _field(name, getattr(motion, name), s, self.length) for name in ("xi", "xi_dot", "xi_ddot")
        )

        # forward: poses and twists, h in the frame of the base
        h = integration.magnus(lambda at: _field("xi", motion.xi, at, self.length), mesh.chain, order=6)[mesh.places]
        Ad, coAd = se3.Ad(h), se3.coAd(h)
        Ad_back = se3.Ad(se3.inverse(h))
        eta_base = self.eta + mesh.integral(_times(Ad, xi_dot))
        eta = _times(Ad_back, eta_base)
        g = self.base @ h

        # what acts: F̃ = F̄ + ad(η)ᵀ𝓜η
        own = _field("inertia", rod.inertia, s, self.length)
        M = own if self.added is None else own + _field("added_inertia", self.added, s, self.length)
        loads = -_times(se3.coad(eta), M * eta)
        if np.any(self.gravity):
            down = np.einsum("nji,j->ni", g[:, :3, :3], self.gravity)
            loads[:, 3:] += own[:, 3:] * down
        if self.density is not None:
            returned = np.asarray(self.density(s, g, eta), dtype=float)
            loads += _checked("wrench_density", returned, s)
        given = self.tip(g[-1], eta[-1]) if callable(self.tip) else self.tip
        tip = finite("tip_wrench", given, (6,), "N m, N")

        # backward: composite inertia and bias in the frame of the base, α′ = Ad(ξ̈ - ad(ξ̇)η)
        J = mesh.integral_back(coAd @ (M[:, :, None] * Ad_back))
        alpha_prime = _times(Ad, xi_ddot - _times(se3.ad(xi_dot), eta))
        bias_prime = _times(coAd, loads) - _times(J, alpha_prime)
        bias = coAd[-1] @ tip + mesh.integral_back(bias_prime)

        # forward: accelerations, stress
        if self.eta_dot is None:
            start = self._free_base(J[0], bias[0] + self.base_wrench)
        else:
            start = self.eta_dot
        alpha = start + mesh.integral(alpha_prime)
        back = np.swapaxes(Ad, -1, -2)
        stress = _times(back, bias - _times(J, alpha))
        act = stress - _elastic_stress(rod, s, xi - _field("rest_strain", rod.rest_strain, s, self.length))
        damping = getattr(rod, "damping", None)
        if callable(damping):
            act -= _field("damping", damping, s, self.length) * xi_dot
        act *= np.isin(np.arange(6), np.asarray(rod.component))

        found = MotionStress(
            s, mesh.weights, g, xi, stress, act, eta, _times(Ad_back, alpha), back @ J @ Ad, _times(back, bias)
        )
        L = self.length
        judged = [
            (h[-1], max(1.0, L)),
            (eta_base[-1], _size(eta_base) + L * _size(xi_dot)),
            (alpha[-1], _size(alpha) + L * _size(alpha_prime)),
            (J[0], _size(J)),
            (bias[0], _size(bias) + L * _size(bias_prime)),
        ]
        return found, judged

    def _free_base(self, J: Array, wrench: Array) -> Array:
        values, axes = np.linalg.eigh(J)
        if values[0] <= 1e-13 * values[-1]:
            free = ", ".join(
                name for name, part in zip(("K_x", "K_y", "K_z", "x", "y", "z"), np.abs(axes[:, 0])) if part > 0.1
            )
            raise BadInput(
                f"stress_of_motion: the composite inertia of the rod is singular about {free}, so that the "
                "acceleration of its free base is not determined; give the section inertia, or hold the base "
                "with eta_dot"
            )
        return np.asarray(np.linalg.solve(J, wrench), dtype=np.float64)


# Tendons ------------------------------------------------------------------------------------------------------------


@brief
@dataclass(frozen=True, eq=False)
class Tensions:
    """Tensions that come nearest to a field of stress."""

    tensions: Array
    """[N], one per tendon."""
    residual: float
    """What the tendons do not make, as a part of the wanted stress, both in the norm of elastic energy."""
    misfit: Array
    """Wanted stress minus that of the tendons, (n, 6)."""


def tendon_columns(tendons: Sequence[Any], s: ArrayLike, xi: ArrayLike) -> Array:
    """Stress per tension of each tendon at ``s`` (n,) [m] with strain ``xi`` (n, 6): (n, 6, tendons).

    Λ_act = T (D×t; t),  t = c/|c|,  c = Γ + K×D + D′; a tendon is a :class:`elver.Tendon` of one rod, or a function
    of s that returns D and D′, each (n, 3).
    """
    s, xi = np.asarray(s, dtype=float), np.asarray(xi, dtype=float)
    columns = np.zeros((s.size, 6, len(tendons)))
    for k, tendon in enumerate(tendons):
        geometry = getattr(tendon, "geometry", None)
        D, D_prime, *on = geometry(s) if callable(geometry) else tendon(s)
        acts = np.asarray(on[0] if on else np.ones(s.size), dtype=float)
        columns[:, :, k] = acts[:, None] * pull_of_tendon(xi, D, D_prime)
    return columns


def tensions_of_stress(
    rod: RodLike, found: ShapeStress, tendons: Sequence[Any], *, pulling: bool = True
) -> Tensions:
    """Tensions of ``tendons`` whose stress is nearest to ``found.stress_act``: Boyer 2023, inversion of the actuation.

    Least squares in the norm ∫ Λᵀ𝓗⁻¹Λ ds over the free strains, in which couples and forces may be added. With
    ``pulling`` tensions are ≥ 0; where several do, the least are taken without it.
    """
    from scipy.optimize import nnls  # slow to import, and needed here alone

    if not tendons:
        raise BadInput("tensions_of_stress: no tendon is given; list those whose tensions are wanted")
    free = np.unique(np.asarray(rod.component))
    H = _field("stiffness", rod.stiffness, found.s, rod.length)[:, free]
    if np.any(H <= 0.0):
        raise BadInput(
            "tensions_of_stress: a free strain has no stiffness, in whose norm stresses are compared; give it one"
        )
    columns = tendon_columns(tendons, found.s, found.xi)
    norm = np.sqrt(found.weights[:, None] / H)
    A = (norm[:, :, None] * columns[:, free]).reshape(-1, len(tendons))
    b = (norm * found.stress_act[:, free]).ravel()
    if pulling:
        tensions = nnls(A, b)[0]
    else:
        tensions = np.linalg.lstsq(A, b, rcond=1e-12)[0]
    size = float(np.linalg.norm(b))
    residual = float(np.linalg.norm(A @ tensions - b)) / size if size > 0.0 else 0.0
    made = columns @ tensions * np.isin(np.arange(6), free)
    return Tensions(tensions, residual, found.stress_act - made)


# Quadrature along the rod -------------------------------------------------------------------------------------------


def _both(first: Callable[..., Array], second: Callable[..., Array] | None) -> Callable[..., Array]:
    """The sum of two functions, or the first alone."""
    return first if second is None else lambda *at: first(*at) + second(*at)


def _function(tip: TipWrench) -> Callable[..., Array]:
    return tip if callable(tip) else lambda *_: np.asarray(tip, dtype=float)


def _borders(length: float, breaks: Iterable[float]) -> Array:
    inside = finite("breaks", sorted(breaks), (-1,), "m")
    if np.any((inside <= 0.0) | (inside >= length)):
        raise BadInput(f"breaks = {inside} m: give arc lengths between 0 and {length:g} m")
    return np.unique(np.concatenate([[0.0], inside, [length]]))


def _elastic_stress(rod: Any, s: Array, strain: Array) -> Array:
    """What the section law makes of a strain, (n, 6)."""
    if getattr(rod, "law", None) is not None:
        return np.asarray(rod.elasticity(np.clip(s, 0.0, rod.length), strain)[0])
    return _field("stiffness", rod.stiffness, s, rod.length) * strain


def _field(name: str, function: Callable[..., Any], s: Array, length: float) -> Array:
    # the ends are approached from inside: a field need not be defined beyond
    returned = np.asarray(function(np.clip(s, 1e-15 * length, (1.0 - 1e-15) * length)), dtype=float)
    return _checked(name, returned, s)


def _checked(name: str, values: Array, s: Array) -> Array:
    if values.shape != (s.size, 6):
        raise BadInput(f"{name} returns shape {values.shape} for {s.size} arc lengths: return ({s.size}, 6)")
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        where = int(np.argmax(bad))
        raise BadInput(f"{name} = {values[where]} at s = {s[where]:g} m: let it be finite")
    return values


def _size(field: Array) -> float:
    return float(np.max(np.abs(field)))


def _change(before: Array, now: Array, size: float) -> float:
    change = _size(now - before)
    return change / size if change > 0.0 else 0.0


def _times(matrices: Array, vectors: Array) -> Array:
    product: Array = (matrices @ vectors[..., None])[..., 0]
    return product
