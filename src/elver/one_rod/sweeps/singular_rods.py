"""A rod in motion as a singular linear-quadratic problem along its length, for
:mod:`elver.one_rod.sweeps.singular_sweep`.

Of :func:`rod_problem` (Boyer et al. 2023, appendix 2) x = η̇, λ = -Λ, υ = Bᵀξ̈ in the frame of each section,

    F = -ad(ξ),  G = B,  h = -ad(ξ̇)η,  Σ = 𝓜,  b = -(F̄ + ad(η)ᵀ𝓜η),  c = BᵀΛ = Bᵀ(Λ_act + 𝓗(ξ-ξ₀)).

:func:`inertial_problem` is the same rod, if inextensible and without shear, in Le Vey's inertial frame, linear part
first, x = (r̈; ω̇) and υ = RK̈, with the co-rotational curvature rate in place of the inertial one he printed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.polynomial.chebyshev import chebint, chebvander
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, finite, positive
from elver.lie import integration, se3, so3
from elver.one_rod.problem import RodProblem
from elver.one_rod.sweeps.inverse import StrainMotion, base_motion
from elver.one_rod.sweeps.singular_sweep import SingularProblem, chebyshev_nodes, times
from elver.system import Balanced, Inputs, State, System, situation

__all__ = ["inertial_problem", "rod_problem", "system_problem"]

Array: TypeAlias = NDArray[np.float64]
Field: TypeAlias = Callable[[Array], Array]


def rod_problem(
    length: float,
    xi: Field,
    xi_dot: Field,
    inertia: Field,
    stress: Field,
    *,
    component: ArrayLike = (0, 1, 2),
    base: ArrayLike | None = None,
    eta: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    eta_dot: ArrayLike | None = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    wrench_density: Callable[[Array, Array, Array], Array] | None = None,
    tip_wrench: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    base_wrench: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    nodes: int = 40,
) -> SingularProblem:
    """The problem of one rod in the frames of its sections: state η̇, costate -Λ, control Bᵀξ̈ (Boyer 2023, app. 2).

    ``xi``, ``xi_dot`` (n, 6) are strain and rate at the instant, ``inertia`` the diagonal of 𝓜 (n, 6), ``stress`` gives
    BᵀΛ = Bᵀ(Λ_act + 𝓗(ξ-ξ₀) + 𝓓ξ̇) as (n, k), one column per free strain of ``component``. ``eta_dot`` is that of a
    held base, None for a free one on which ``base_wrench`` acts. Loads as for
    :func:`elver.one_rod.sweeps.inverse.stress_of_motion`. Fields must be smooth: they are sampled at ``nodes`` points.
    """
    s, _, eta_s, xi_s, xi_dot_s, M, loads = _rod_fields(
        length, xi, xi_dot, inertia, base, eta, wrench_density, nodes
    )
    free = np.unique(np.asarray(component, dtype=int))
    c = np.asarray(stress(s), dtype=float)
    if c.shape != (s.size, free.size):
        raise BadInput(f"stress returns shape {c.shape}: return {(s.size, free.size)}, one column per free strain")
    return SingularProblem(
        length=length,
        F=-se3.ad(xi_s),
        G=np.eye(6)[:, free],
        h=-times(se3.ad(xi_dot_s), eta_s),
        Sigma=M[:, :, None] * np.eye(6),
        b=-loads + times(se3.coad(eta_s), M * eta_s),
        c=c,
        end_costate=-finite("tip_wrench", tip_wrench, (6,), "N m, N"),
        start=None if eta_dot is None else finite("eta_dot", eta_dot, (6,), "rad/s², m/s²"),
        start_costate=finite("base_wrench", base_wrench, (6,), "N m, N") if eta_dot is None else None,
    )


def inertial_problem(
    length: float,
    xi: Field,
    xi_dot: Field,
    inertia: Field,
    stress: Field,
    *,
    base: ArrayLike | None = None,
    eta: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    start: ArrayLike | None = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    wrench_density: Callable[[Array, Array, Array], Array] | None = None,
    tip_wrench: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    base_wrench: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    nodes: int = 40,
) -> SingularProblem:
    """The problem of an inextensible rod without shear in the inertial frame: state (r̈; ω̇), costate -(RN; RC), RK̈.

    F = [[0, -t̂₁], [0, 0]],  G = [0; 1],  h = (ω×(ω×t₁); ω×RK̇),  Σ = diag(ρA, RρIRᵀ),  b = (-f; -c + ω×Σ₂ω)

    Le Vey takes the inertial k̈ for control, which leaves a term k×M in the balance that Newton and Euler do not have
    (it vanishes in the plane); the power of a couple goes with the co-rotational rate RK̇, which is used here.
    Arguments as for :func:`rod_problem`, in the frames of the sections; ``start`` is (r̈; ω̇) of a held base in
    inertial axes, None for a free one.
    """
    s, g, eta_s, xi_s, xi_dot_s, M, loads = _rod_fields(
        length, xi, xi_dot, inertia, base, eta, wrench_density, nodes
    )
    if np.max(np.abs(xi_s[:, 3:] - (1.0, 0.0, 0.0))) > 1e-9 or np.any(xi_dot_s[:, 3:]):
        raise BadInput("inertial_problem: this form holds for rods without stretch and shear; use rod_problem")
    n, R = s.size, g[:, :3, :3]
    t = R[:, :, 0]
    omega, rate = times(R, eta_s[:, :3]), times(R, xi_dot_s[:, :3])
    second = R @ (M[:, :3, None] * np.swapaxes(R, -1, -2))
    F, Sigma = np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    F[:, :3, 3:] = -so3.hat(t)
    Sigma[:, :3, :3] = R @ (M[:, 3:, None] * np.swapaxes(R, -1, -2))
    Sigma[:, 3:, 3:] = second
    gyroscopic = np.cross(omega, times(second, omega))
    end, begin = finite("tip_wrench", tip_wrench, (6,), "N m, N"), finite("base_wrench", base_wrench, (6,), "N m, N")
    return SingularProblem(
        length=length,
        F=F,
        G=np.vstack([np.zeros((3, 3)), np.eye(3)]),
        h=np.hstack([np.cross(omega, np.cross(omega, t)), np.cross(omega, rate)]),
        Sigma=Sigma,
        b=np.hstack([-times(R, loads[:, 3:]), -times(R, loads[:, :3]) + gyroscopic]),
        c=times(R, np.asarray(stress(s), dtype=float)),
        end_costate=-np.concatenate([R[-1] @ end[3:], R[-1] @ end[:3]]),
        start=None if start is None else finite("start", start, (6,), "m/s², rad/s²"),
        start_costate=np.concatenate([R[0] @ begin[3:], R[0] @ begin[:3]]) if start is None else None,
    )


def system_problem(
    system: System, state: State | Balanced, inputs: Inputs | None = None, *, nodes: int = 40
) -> SingularProblem:
    """The problem of the only rod of ``system`` at its q and q̇, with all that acts on it; υ is the wanted Bᵀξ̈.

    Actuators give the stress as they are; where no smooth motion carries it, which is so of most tendons, the
    solvers say so.
    """
    rod = system.rod
    _, state, inputs = situation(system, state, inputs)
    problem = RodProblem.of(system, inputs, state.time)
    g, eta, eta_dot = base_motion(system, state, problem)
    motion = StrainMotion.of(rod, state.q, state.q_dot, np.zeros(rod.n))
    tip = integration.magnus(motion.xi, np.linspace(0.0, rod.length, 65), start=g)[-1]
    free = list(problem.component)

    def stress(s: Array) -> Array:
        carried = problem.at(s).stress(motion.xi(s))[0] + rod.damping(s) * motion.xi_dot(s)
        return np.asarray(carried[:, free])

    return rod_problem(
        rod.length, motion.xi, motion.xi_dot, rod.inertia, stress, component=free, base=g, eta=eta, eta_dot=eta_dot,
        wrench_density=lambda s, g, eta: problem.body_load(s, g)[0] - rod.mass_damping * rod.inertia(s) * eta,
        tip_wrench=problem.tip_wrench.at(tip)[0], base_wrench=problem.base_wrench.at(g)[0], nodes=nodes,
    )  # fmt: skip


def _rod_fields(
    length: float, xi: Field, xi_dot: Field, inertia: Field, base: ArrayLike | None, eta: ArrayLike,
    wrench_density: Callable[[Array, Array, Array], Array] | None, nodes: int,
) -> tuple[Array, ...]:  # fmt: skip
    """Arc lengths, poses, twists, strains and their rates, inertia and loads at the nodes."""
    length = positive("length", length, "m")
    if int(nodes) != nodes or nodes < 6:
        raise BadInput(f"nodes = {nodes}: give a whole number of nodes, at least 6")
    s = chebyshev_nodes(int(nodes), length)
    fine = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in pairwise(s)]))
    places = np.searchsorted(fine, s)
    g0 = np.eye(4) if base is None else finite("base", base, (4, 4), "m")
    g = integration.magnus(xi, fine, order=6, start=g0)[places]
    eta_s = _twists(length, xi_dot, g, g0, finite("eta", eta, (6,), "rad/s, m/s"), s)
    xi_s, xi_dot_s, M = (np.asarray(field(s), dtype=float) for field in (xi, xi_dot, inertia))
    loads = np.zeros((s.size, 6)) if wrench_density is None else np.asarray(wrench_density(s, g, eta_s), dtype=float)
    for name, field in (("xi", xi_s), ("xi_dot", xi_dot_s), ("inertia", M), ("wrench_density", loads)):
        finite(name, field, (s.size, 6), "SI units")
    return s, g, eta_s, xi_s, xi_dot_s, M, loads


def _twists(length: float, xi_dot: Field, g: Array, g0: Array, eta: Array, s: Array) -> Array:
    """η of η′ = -ad(ξ)η + ξ̇: an integral in the frame of the base, of the polynomial through the nodes."""
    h = se3.inverse(g0) @ g
    z = 2.0 * s / length - 1.0
    n = s.size
    integrate = 0.5 * length * chebvander(z, n) @ chebint(np.eye(n), lbnd=-1) @ np.linalg.inv(chebvander(z, n - 1))
    in_base = eta + integrate @ times(se3.Ad(h), np.asarray(xi_dot(s), dtype=float))
    return times(se3.Ad(se3.inverse(h)), in_base)
