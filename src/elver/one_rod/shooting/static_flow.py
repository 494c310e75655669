"""The differential equations of a rod in balance along s, integrated over segments with their tangents, for shooting.

    g′ = g ξ̂,   Λ′ = ad(ξ)ᵀΛ - F̄,   BᵀΛ = Bᵀ(Λ_act(ξ) + ∂W/∂ε)                       (Boyer 2023, eq. 50-55)

Form A1, "stress": Λ is integrated, and ξ follows pointwise from the law by Newton. Form A2, "strain": the free strains
and the stresses of constrained strains are integrated,

    𝓗̌ Bᵀξ′ = Bᵀ(ad(ξ)ᵀΛ - F̄) - ∂/∂s|_ξ Bᵀ(Λ_act + 𝓗(ξ-ξ₀)),   𝓗̌ = Bᵀ(𝓗 + ∂Λ_act/∂ξ)B

Both have the tangent Δξ = B 𝓗̌⁻¹ Bᵀ ΔΛ, ζ′ = -ad(ξ)ζ + Δξ, ΔΛ′ = ad(ξ)ᵀΔΛ + ad(Δξ)ᵀΛ - ΔF̄. Six-vectors are angular
first, in section axes. The steps themselves are compiled: :mod:`elver.kernels.one_rod.static_shoot`.

Theory: docs/theory/optimal-control.md, eq. (static-conditions), (strain-form), (static-tangent).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput
from elver.kernels.build import entry
from elver.kernels.one_rod.views import FORM, MAGNUS, TURNS, Rod, section_for, statics_for, table
from elver.one_rod.problem import RodProblem, Sections
from elver.rods import Law

__all__ = ["Form", "Integrator", "SegmentFlow", "StaticFlow", "poses_of", "rod_of", "states_of", "tendon_table"]

Array: TypeAlias = NDArray[np.float64]
Form: TypeAlias = Literal["stress", "strain"]
Integrator: TypeAlias = Literal["rkmk", "magnus"]

# ∂/∂s of fields: the derivative of the polynomial through seven values
_OFFSETS = np.arange(-3, 4)
_INVERSE = np.linalg.inv(np.vander(_OFFSETS.astype(float), increasing=True))


class StaticFlow:
    """The equations of one problem, in one of two forms, and the integrator that crosses them."""

    def __init__(self, problem: RodProblem, form: Form = "stress", integrator: Integrator = "rkmk") -> None:
        if form == "strain" and problem.law is not None:
            raise BadInput(
                'form = "strain": strains are integrated with the derivative of the law along s, which a '
                f'{type(problem.law).__name__} does not say; take form="stress", the default, with the same solutions'
            )
        self.problem, self.form, self.integrator = problem, form, integrator
        self.free = list(problem.component)

    def strain(self, sections: Sections, stress: Array, guess: Array | None = None) -> Array:
        """ξ (n, 6) of the stress Λ (n, 6) at ``sections``; not a number where the law has no solution nearby."""
        rod = rod_of(self.problem, sections, (1, sections.s.size), _tables(sections))
        if guess is not None:
            rod.strains[0] = guess
        entry.section_strains(table(rod, section_for()), 1.0, np.ascontiguousarray(stress)[None])
        return rod.strains[0]

    def tables(self, s: Array, start: Array, stop: Array) -> tuple[Sections, Array, Array]:
        """Sections at ``s`` (n,), inside smooth segments [start, stop] (n,), and what the kernel reads of them.

        Fields (n, 48) and tendons (n, tendons, 10), as :func:`elver.kernels.one_rod.static_shoot.static_shoot` has
        them.
        """
        sections = self.problem.at(s)
        at, pulls = _tables(sections)
        if self.form == "strain":
            step = np.minimum(1e-3 * self.problem.length, 0.15 * (stop - start))
            inside = 1e-9 * (stop - start)
            centre = np.clip(s, start + inside + 3.0 * step, stop - inside - 3.0 * step)
            x = (s - centre) / step
            powers = np.stack([k * x ** max(k - 1, 0) for k in range(7)], axis=1)
            weights = powers @ _INVERSE / step[:, None]
            for j, k in enumerate(_OFFSETS):
                near, w = self.problem.at(centre + k * step), weights[:, j, None]
                at[:, 30:36] += w * near.stiffness
                at[:, 36:42] += w * near.rest_strain
                at[:, 42:48] += w * near.muscle
                pulls[..., 7:10] += w[..., None] * near.D_prime
        return sections, at, pulls


def rod_of(problem: RodProblem, sections: Sections, shape: tuple[int, int], tables: tuple[Array, Array]) -> Rod:
    """What kernels read of a rod, from fields and tendons at ``sections`` of (segments, places) = ``shape``.

    Guesses of strains are those at rest.
    """
    at, pulls = tables
    law = sections.law
    coupled = np.zeros((sections.s.size, 0)) if law is None else sections.rest_stiffness().reshape(-1, 36)
    at, pulls, strains, coupled = (x.reshape(*shape, *x.shape[1:]) for x in (at, pulls, sections.rest_strain, coupled))
    segments, places = at.shape[:2]
    active = np.zeros(6)
    active[list(problem.component)] = 1.0
    own = law.asked if isinstance(law, Law) else None
    return Rod(
        how=np.array([places // 2, 0, 0, 0, 0]), length=np.array([problem.length]), step=np.zeros(segments),
        active=active, at=at, pulls=pulls, strains=strains.copy(), stiffness=coupled,
        s=sections.s.reshape(segments, places), address=np.array([own.address if own else 0]),
        parameters=own.parameters.copy() if own else np.zeros(0), scheme=np.zeros(4), gravity=np.zeros(3),
    )  # fmt: skip


def tendon_table(sections: Sections) -> Array:
    """D, D′, T and room for D″ of tendons (n, tendons, 10), as kernels read them."""
    pulls = np.zeros((sections.s.size, sections.tensions.size, 10))
    pulls[..., :3], pulls[..., 3:6] = sections.D, sections.D_prime
    pulls[..., 6] = sections.tensions * sections.here
    return pulls


def _tables(sections: Sections) -> tuple[Array, Array]:
    """Fields (n, 48) and tendons (n, tendons, 10) without their derivatives."""
    at = np.zeros((sections.s.size, 48))
    at[:, :6], at[:, 6:12], at[:, 12:18] = sections.stiffness, sections.rest_strain, sections.muscle
    at[:, 18:24], at[:, 24:30] = sections.dead, sections.follower
    at[:, 21:24] += sections.weight
    return at, tendon_table(sections)


class SegmentFlow:
    """Integration of a flow over all segments at once.

    Segment k runs from ``start`` to ``stop`` (M,) [m] and is crossed in ``steps`` equal steps of order four. Ends of
    segments are approached from inside, so that fields may jump there.
    """

    def __init__(self, flow: StaticFlow, start: ArrayLike, stop: ArrayLike, steps: int) -> None:
        self.flow, self.steps = flow, int(steps)
        self.start, self.stop = np.asarray(start, dtype=float), np.asarray(stop, dtype=float)
        M, places = self.start.size, 2 * self.steps + 1
        self.h = (self.stop - self.start) / steps
        s = self.start[:, None] + 0.5 * self.h[:, None] * np.arange(places)
        s[:, 0] += 1e-9 * self.h
        s[:, -1] -= 1e-9 * self.h
        sections, at, pulls = flow.tables(s.ravel(), np.repeat(self.start, places), np.repeat(self.stop, places))
        rod = rod_of(flow.problem, sections, (M, places), (at, pulls))
        rod.step[:] = self.h
        rod.how[[FORM, MAGNUS, TURNS]] = flow.form == "strain", flow.integrator == "magnus", sections.turns
        self._arrays = rod, section_for(), statics_for()
        self._table = table(*self._arrays)

    @classmethod
    def between(cls, flow: StaticFlow, nodes: ArrayLike, steps: int) -> SegmentFlow:
        """Segments between neighbouring ``nodes`` (M + 1,) [m]."""
        nodes = np.asarray(nodes, dtype=float)
        return cls(flow, nodes[:-1], nodes[1:], steps)

    @property
    def nodes(self) -> Array:
        """Ends of segments that follow each other, (M + 1,) [m]."""
        return np.append(self.start, self.stop[-1])

    def run(self, starts: Array, *, tangent: bool = True) -> tuple[Array, Array, Array]:
        """Ends of the segments from their ``starts`` (M, 18): R, p, x = Λ.

        Returns the ends, the transition matrices Φ (M, 12, 12) of (ζ, ΔΛ), 1 unless ``tangent``, and the path
        (M, steps, 18): the ends of all steps.
        """
        M = self.start.size
        ends, path, Phi = np.array(starts), np.empty((M, self.steps, 18)), np.zeros((M, 12, 12))
        Phi[:, range(12), range(12)] = 1.0
        entry.shoot_statics(self._table, int(tangent), ends, Phi, path)
        return ends, Phi, path

    def __call__(self, g: Array, x: Array, *, tangent: bool = True) -> tuple[Array, Array, Array, Array]:
        """:meth:`run` from ``g`` (M, 4, 4), ``x`` (M, 6): g and x at the ends, Φ, and the path."""
        ends, Phi, path = self.run(states_of(g, x), tangent=tangent)
        return *poses_of(ends), Phi, path

    def stations(self) -> Array:
        """Arc lengths [m] of the ends of all steps, with the base: (M steps + 1,)."""
        ends = self.start[:, None] + self.h[:, None] * np.arange(1, self.steps + 1)
        return np.concatenate([self.start[:1], ends.ravel()])

    def along(self, g: Array, x: Array) -> tuple[Array, Array]:
        """g and x at :meth:`stations`, from the values at nodes (M + 1, ...)."""
        path = self.run(states_of(g[:-1], x[:-1]), tangent=False)[2]
        poses, values = poses_of(path.reshape(-1, 18))
        return np.concatenate([g[:1], poses]), np.concatenate([x[:1], values])


def states_of(g: Array, x: Array) -> Array:
    """States (n, 18): R, p, Λ, of poses (n, 4, 4) and stresses (n, 6)."""
    state = np.empty((x.shape[0], 18))
    state[:, :9], state[:, 9:12], state[:, 12:] = g[:, :3, :3].reshape(-1, 9), g[:, :3, 3], x
    return state


def poses_of(state: Array) -> tuple[Array, Array]:
    """Poses (n, 4, 4) and stresses (n, 6) of states (n, 18): R, p, Λ."""
    g = np.zeros((state.shape[0], 4, 4))
    g[:, :3, :3], g[:, :3, 3], g[:, 3, 3] = state[:, :9].reshape(-1, 3, 3), state[:, 9:12], 1.0
    return g, np.array(state[:, 12:])
