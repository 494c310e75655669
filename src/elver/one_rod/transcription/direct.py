"""Direct methods: equilibria of one rod by transcription into a nonlinear program, solved by Ipopt.

The strain of the rod, constant or linear between nodes, is the control of g′ = g ξ̂; the potential is minimised over it
subject to the ends and to what the user asks for: walls, prescribed points, bounds of strains, the index of a closed
curve. What is found is a stationary point with its reactions, and the verdict of the second variation: the smallest
eigenvalue of the Hessian of the Lagrangian on the directions that the active constraints leave,

    δ²U = λ ∫ |δu|² ds (curvatures times L, stretches as they are; in units of B/L, B the bending stiffness),

negative for a saddle. Derivatives are exact and sparse. A problem on its nodes is in
:mod:`elver.one_rod.transcription.transcription`, the program in :mod:`elver.one_rod.transcription.program`, its steps
in :mod:`elver.one_rod.transcription.maps`, and its solution in :mod:`elver.one_rod.transcription.solver`.

Conventions: tangent x, six-vectors angular first in section axes, Λ what the part beyond s exerts on the part before.
Reactions of constraints are generalized forces on the rod along growing values of their function: ≥ 0 at a lower bound.

Reference: A. Blumentals, "Numerical modelling of thin elastic solids in contact" (2017), chapter 6. Its three rotation
conditions diag(R₁ᵀR) = 1 have a vanishing Jacobian at the solution; the logarithm stands in their place.

Theory: docs/theory/optimal-control.md, eq. (direct-program).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, NotConverged, positive
from elver.lie import se3
from elver.lie.integration import magnus
from elver.one_rod.checks import check_reach
from elver.one_rod.problem import RodProblem
from elver.one_rod.result import Guess, RodResult
from elver.one_rod.transcription.maps import Map, casadi, check_map
from elver.one_rod.transcription.solver import NEUTRAL, Stationary, minimum, stationary
from elver.one_rod.transcription.transcription import Constraint, Transcription
from elver.system import Inputs, System
from elver.words import describe

__all__ = ["Constraint", "DirectSolution", "direct_equilibrium"]

Array: TypeAlias = NDArray[np.float64]

_ESCAPES = 4


@dataclass(frozen=True, eq=False, repr=False)
class DirectSolution(RodResult):
    """A stationary shape of a rod found by a direct method."""

    problem: RodProblem
    s: Array
    """Nodes (n,) [m]."""
    g: Array
    """Poses at the nodes (n, 4, 4)."""
    xi: Array
    """Strain at the nodes (n, 6); of constant strain, and where it jumps, the mean of both sides."""
    stress: Array
    """Λ, internal wrench at the nodes (n, 6) in section axes, from the multipliers of the poses."""
    energy: float
    """Potential [J]: elastic, actuators, weight and dead loads."""
    elastic_energy: float
    """Part of it [J] that is elastic."""
    iterations: int
    """Steps of Ipopt."""
    history: tuple[float, ...]
    """Largest dual residual at each step, scaled."""
    stable: bool
    eigenvalue: float
    """Smallest eigenvalue of the second variation, in units of B/L; negative: a saddle."""
    negative: int
    """Number of its negative eigenvalues: independent motions that lower the energy."""
    constraint_forces: dict[str, Array]
    """Of each constraint, at its nodes: generalized force on the rod (nodes, width), J per unit of its function."""
    constraint_nodes: dict[str, Array]
    """Arc lengths [m] of the nodes of each constraint."""
    residual: float
    """Largest scaled violation of a row."""
    seconds: float
    elements: Array
    """Strain at start and end of every element, (elements, 2, 6)."""

    @property
    def force(self) -> Array:
        """Internal force in world axes (n, 3) [N], tension along the tangent."""
        return np.einsum("nij,nj->ni", self.g[:, :3, :3], self.stress[:, 3:])

    def pose(self, s: float) -> Array:
        """Pose (4, 4) of the section at ``s`` [m], from the node before it along the strain."""
        if not 0.0 <= s <= self.problem.length:
            raise BadInput(f"s = {s:g} m lies outside the rod; choose s within [0, {self.problem.length:g}] m")
        k = int(np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 2))
        if s - self.s[k] < 1e-12 * self.problem.length:
            return np.array(self.g[k])
        return np.array(self.g[k] @ magnus(self.strain, np.array([self.s[k], s]))[-1])

    def strain(self, s: ArrayLike) -> Array:
        """ξ (m, 6) at arc lengths ``s`` (m,) [m], as transcribed."""
        s = np.asarray(s, dtype=float)
        i = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 2)
        t = ((s - self.s[i]) / (self.s[i + 1] - self.s[i]))[:, None]
        return (1.0 - t) * self.elements[i, 0] + t * self.elements[i, 1]


def direct_equilibrium(
    system: System | RodProblem,
    inputs: Inputs | None = None,
    *,
    elements: int = 50,
    strain: Literal["linear", "constant"] = "linear",
    shooting: Literal["multiple", "single"] = "multiple",
    map: Map = "exp",
    order: int | None = None,
    constraints: Sequence[Constraint] = (),
    index: int | None = None,
    guess: Guess = None,
    seek: Literal["minimum", "stationary"] = "minimum",
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> DirectSolution:
    """Equilibrium of one rod by direct transcription with Ipopt.

    ``elements`` equal elements (more where a field jumps or a constraint asks for a node), ``strain`` constant or
    linear in them, ``map`` and ``order`` (1, 2 or 4; by default 1 for constant strain, where the exponential is exact,
    else 4) of the steps. ``index``: number of turns of the tangent of a planar closed curve; where a free ring may turn
    as a whole, hold the rotation of its base, and Ipopt needs a third of the steps. ``guess``: a result of
    any method (warm start; other numbers of elements are allowed), a state of the system, a strain (6,), or a function
    of s (m,) that returns strains (m, 6); without one, the search starts from the rest shape, slightly disturbed, and
    leaves saddles along their descent. ``seek``:
    "minimum" by Ipopt, or "stationary", the shape nearest to the guess in balance, stable or not, by Newton's method on
    the first-order conditions (equalities only).

    Raises :class:`NotConverged` with the constraints that cannot be met together, and :class:`BadInput` for loads
    that have no potential.
    """
    casadi()
    started = perf_counter()
    problem = system if isinstance(system, RodProblem) else RodProblem.at_rest(system, inputs)
    if order is None:
        order = 1 if strain == "constant" else 4
    check_map(map, order)
    for name, value, known in (
        ("strain", strain, ("linear", "constant")),
        ("shooting", shooting, ("multiple", "single")),
    ):
        if value not in known:
            raise BadInput(f'{name} = {describe(value)}: choose "{known[0]}" or "{known[1]}"')
    if isinstance(elements, bool) or not np.isfinite(elements) or int(elements) != elements or elements < 2:
        raise BadInput(f"elements = {describe(elements)}: give a whole number, 2 or more")
    if seek not in ("minimum", "stationary"):
        raise BadInput(f'seek = {describe(seek)}: choose "minimum" or "stationary"')
    positive("tolerance", tolerance, "(scaled residual)")
    if max_iterations < 1:
        raise BadInput(f"max_iterations = {describe(max_iterations)}: allow at least one step")
    check_reach(problem)
    task = Transcription(problem, int(elements), strain, map, order, tuple(constraints), index)

    v = task.start(guess, None if isinstance(system, RodProblem) else system)
    if seek == "stationary":
        return _solution(task, stationary(task, v, tolerance, max_iterations), perf_counter() - started)
    found = minimum(task, v, shooting, tolerance, max_iterations)
    for _ in range(_ESCAPES if guess is None else 0):
        if found.eigenvalue > -NEUTRAL:
            break
        try:
            found = minimum(task, found.away, shooting, tolerance, max_iterations)
        except NotConverged:
            break
    return _solution(task, found, perf_counter() - started)


def _solution(task: Transcription, found: Stationary, seconds: float) -> DirectSolution:
    """Shape, strain, wrench and reactions of a stationary point, in the units of the problem."""
    problem = task.problem
    layout, L, B, n = task.layout, task.L, task.B, len(task.s)
    n_base, n_strain, _ = layout.sizes
    U = found.w[n_base : n_base + n_strain].reshape(layout.strain_columns, -1)
    X = found.w[n_base + n_strain :].reshape(n, layout.state)
    lam = found.lam.reshape(n, layout.state)
    base = problem.base.pose
    a, b = layout.columns

    # poses
    if task.planar:
        x, y, angle = X.T
        c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros(n), np.ones(n)
        R = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]), -1, 0)
        g = base @ se3.pose(R, L * np.stack([x, y, zero], axis=1))
    else:
        g = se3.pose(X[:, 3:].reshape(n, 3, 3).swapaxes(1, 2), L * X[:, :3])

    # strains at both ends of the elements
    inside = 4.0 * np.finfo(float).eps * L
    xi = np.stack([problem.rest_strain(task.s[:-1] + inside), problem.rest_strain(task.s[1:] - inside)], 1)
    if layout.strain == "constant":
        xi[:] = problem.rest_strain(0.5 * (task.s[:-1] + task.s[1:]))[:, None]
    scale = np.array([1.0 / L if k < 3 else 1.0 for k in layout.free])
    xi[:, 0, list(layout.free)], xi[:, 1, list(layout.free)] = U[a] * scale, U[b] * scale
    nodal = np.empty((n, 6))
    nodal[0], nodal[-1] = xi[0, 0], xi[-1, 1]
    nodal[1:-1] = 0.5 * (xi[:-1, 1] + xi[1:, 0])

    # wrench: multipliers, less what the loads of the element before put on its far node
    E = task.parameters[39:].reshape(-1, layout.element_size)
    heads = np.tile(task.parameters[:39, None], (1, n - 1))
    slopes = np.array(task.program.far_end_slope(X[:-1].T, X[1:].T, U[a].T, U[b].T, E.T, heads)).T
    elastic = float(task.program.elastic(found.w, task.parameters))
    lam = lam.copy()
    lam[1:] += slopes
    stress = np.zeros((n, 6))
    if task.planar:
        world = lam[:, :2]
        stress[:, 2] = lam[:, 2]
        angle = X[:, 2]
        stress[:, 3] = np.cos(angle) * world[:, 0] + np.sin(angle) * world[:, 1]
        stress[:, 4] = -np.sin(angle) * world[:, 0] + np.cos(angle) * world[:, 1]
    else:
        R, lam_R = g[:, :3, :3], lam[:, 3:].reshape(n, 3, 3).swapaxes(1, 2)
        skew = np.swapaxes(R, 1, 2) @ lam_R  # δR = R δω̂: couple = twice the axial vector of Rᵀ Λ_R
        stress[:, 0] = skew[:, 2, 1] - skew[:, 1, 2]
        stress[:, 1] = skew[:, 0, 2] - skew[:, 2, 0]
        stress[:, 2] = skew[:, 1, 0] - skew[:, 0, 1]
        stress[:, 3:] = np.einsum("nji,nj->ni", R, lam[:, :3])
    if task.ring:
        stress[0] = stress[-1]  # at its base the multiplier is the sum over both sides
    stress[:, :3] *= B / L
    stress[:, 3:] *= B / L**2

    forces, places = {}, {}
    first = len(layout.tip_held) + layout.index
    for own in layout.constraints:
        count = len(own.nodes) * own.width
        forces[own.name] = -task.energy_unit * found.mu[first : first + count].reshape(-1, own.width)
        places[own.name] = task.s[list(own.nodes)]
        first += count
    return DirectSolution(
        problem=problem,
        s=task.s.copy(),
        g=g,
        xi=nodal,
        stress=stress,
        energy=found.f * task.energy_unit,
        elastic_energy=elastic * task.energy_unit,
        iterations=found.iterations,
        history=found.history,
        stable=found.eigenvalue > -NEUTRAL,
        eigenvalue=found.eigenvalue,
        negative=found.negative,
        constraint_forces=forces,
        constraint_nodes=places,
        residual=found.residual,
        seconds=seconds,
        elements=xi,
    )
