"""Direct methods: equilibria of one rod by transcription into a nonlinear program, solved by Ipopt.

The strain of the rod, constant or linear between nodes, is the control of g′ = g ξ̂; the potential is minimised over it
subject to the ends and to what the user asks for: walls, prescribed points, bounds of strains, the index of a closed
curve. What is found is a stationary point with its reactions, and the verdict of the second variation: the smallest
eigenvalue of the Hessian of the Lagrangian on the directions that the active constraints leave,

    δ²U = λ ∫ |δu|² ds (curvatures times L, stretches as they are; in units of B/L, B the bending stiffness),

negative for a saddle. Derivatives are exact and sparse. The program itself is described in
:mod:`elver.optimal.direct_program`, its steps in :mod:`elver.optimal.direct_maps`.

Conventions: tangent x, six-vectors angular first in section axes, Λ what the part beyond s exerts on the part before.
Reactions of constraints are generalized forces on the rod along growing values of their function: ≥ 0 at a lower bound.

Reference: A. Blumentals, "Numerical modelling of thin elastic solids in contact" (2017), chapter 6. Its three rotation
conditions diag(R₁ᵀR) = 1 have a vanishing Jacobian at the solution; the logarithm stands in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, eigvalsh_tridiagonal, ldl, lstsq, qr
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from elver.errors import BadInput, NotConverged
from elver.lie import se3, so3
from elver.lie.integration import magnus
from elver.optimal.direct_maps import Map, casadi, check_map
from elver.optimal.direct_program import PLANAR_STRAINS, Layout, NodeConstraint, Program, program, traced
from elver.optimal.indirect_statics import RodSolution
from elver.optimal.problem import RodProblem
from elver.optimal.result import RodResult
from elver.system import Inputs, System

__all__ = ["Constraint", "DirectSolution", "direct_equilibrium"]

Array: TypeAlias = NDArray[np.float64]
Guess: TypeAlias = "DirectSolution | RodSolution | Callable[[Array], ArrayLike] | None"

_NEUTRAL = 1e-7  # smallest eigenvalue that counts as zero: motions that nothing resists, such as turning a ring
_ACTIVE = 1e-6  # scaled multiplier above which an inequality is an equality for the second variation
_ESCAPES = 4
_STALLED = ("Error_In_Step_Computation", "Search_Direction_Becomes_Too_Small", "Restoration_Failed")
_LONGEST = 4.0  # longest Newton step: change of a curvature times L


@dataclass(frozen=True)
class Constraint:
    """lower ≤ function(s, position, rotation, strain) ≤ upper at nodes; an equality with 0 unless bounds are given.

    ``function`` sees CasADi expressions: s [m], the position (3,) [m] and rotation (3, 3) in the world, the strain (6,)
    [1/m, m/m], and returns a number or a list of numbers built with + - * / ** and casadi functions. ``at`` says where:
    None for every node, an arc length [m] or several (nodes are placed there), or a function of s that is true there.

    >>> floor = Constraint(lambda s, p, R, xi: p[2], lower=0.0, upper=np.inf, name="floor")
    >>> eyelet = Constraint(lambda s, p, R, xi: [p[1], p[2]], at=0.3, name="eyelet")
    """

    function: Callable[..., Any]
    lower: float | Sequence[float] = 0.0
    upper: float | Sequence[float] = 0.0
    at: float | Sequence[float] | Callable[[float], bool] | None = None
    name: str = "constraint"

    @property
    def stations(self) -> tuple[float, ...]:
        """Arc lengths [m] where it asks for nodes."""
        if self.at is None or callable(self.at):
            return ()
        return tuple(float(x) for x in np.atleast_1d(np.asarray(self.at, dtype=float)))


@dataclass(frozen=True, eq=False)
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
    as a whole, hold the rotation of its base, and Ipopt needs a third of the steps. ``guess``: a solution
    (warm start; other numbers of elements are allowed), or a function of s (m,) that returns strains (m, 6); without
    one, the search starts from the rest shape, slightly disturbed, and leaves saddles along their descent. ``seek``:
    "minimum" by Ipopt, or "stationary", the shape nearest to the guess in balance, stable or not, by Newton's method on
    the first-order conditions (equalities only).

    Raises :class:`NotConverged` with the constraints that cannot be met, and :class:`BadInput` for loads that have no
    potential.
    """
    casadi()
    started = perf_counter()
    problem = system if isinstance(system, RodProblem) else RodProblem.of(system, inputs)
    if order is None:
        order = 1 if strain == "constant" else 4
    check_map(map, order)
    for name, value, known in (
        ("strain", strain, ("linear", "constant")),
        ("shooting", shooting, ("multiple", "single")),
    ):
        if value not in known:
            raise BadInput(f'{name} = {value!r}: choose "{known[0]}" or "{known[1]}"')
    if int(elements) != elements or elements < 2:
        raise BadInput(f"elements = {elements!r}: give a whole number, 2 or more")
    task = _Task(problem, int(elements), strain, map, order, tuple(constraints), index)
    task.check_reach()

    v = task.start(guess)
    if seek == "stationary":
        return task.solution(task.newton(v, tolerance, max_iterations), perf_counter() - started)
    found = task.solve(v, shooting, tolerance, max_iterations)
    for _ in range(_ESCAPES if guess is None else 0):
        if found.eigenvalue > -_NEUTRAL:
            break
        try:
            found = task.solve(found.away, shooting, tolerance, max_iterations)
        except NotConverged:
            break
    return task.solution(found, perf_counter() - started)


# Numbers of one problem -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """A stationary point of the program: unknowns, multipliers, verdict."""

    w: Array
    lam: Array
    mu: Array
    f: float
    iterations: int
    residual: float
    eigenvalue: float
    negative: int
    history: tuple[float, ...]
    away: Array
    """(ν, U) moved from a saddle along its most negative direction."""


class _Task:
    """A problem on its nodes: layout, parameters, bounds."""

    def __init__(
        self,
        problem: RodProblem,
        elements: int,
        strain: str,
        map: Map,
        order: int,
        constraints: tuple[Constraint, ...],
        index: int | None,
    ) -> None:
        self.problem, self.constraints, self.strain = problem, constraints, strain
        self.L, self.B = problem.length, problem.bending_stiffness
        self.energy_unit = self.B / self.L
        self.ring = problem.closed and not problem.base.is_clamped  # closed, and free to move as a whole
        self._check_loads()
        self.planar = self._is_planar()
        if index is not None and not self.planar:
            raise BadInput("index: the number of turns is that of a planar curve; free only K_z (and G_x, G_y)")
        self.s, starts = self._nodes(elements)
        base, tip = problem.base, problem.tip
        free = tuple(k for k in range(3) if k not in base.rotation_axes)
        free += tuple(3 + k for k in range(3) if k not in base.position_axes)
        held = tuple(tip.rotation_axes) + tuple(3 + k for k in tip.position_axes)
        if self.planar:
            free, held = (tuple(k for k in rows if k in (2, 3, 4)) for rows in (free, held))
        if index is not None:
            held = tuple(k for k in held if k != 2)  # the total turn says more than the turn of the tip
        self.layout = Layout(
            elements=len(self.s) - 1,
            starts=starts,
            free=tuple(problem.component),
            strain=strain,
            map=map,
            order=order,
            planar=self.planar,
            tendons=sum(pull.tension != 0.0 for pull in problem.tendons),
            base_free=free,
            tip_held=held,
            closed=self.ring,
            index=index is not None,
            constraints=tuple(self._node_constraint(c) for c in constraints),
        )
        self.program: Program = program(self.layout)
        self.parameters = self._parameters(index)
        self.lower, self.upper = self._bounds()

    # Checks -----------------------------------------------------------------------------------------------

    def _check_loads(self) -> None:
        """Only loads with a potential can be minimised."""
        problem = self.problem
        s = np.linspace(0.0, problem.length, 65)
        here = problem.at(s)
        remedy = "it has no potential to be minimised; use the indirect method or equilibrium(system, ...)"
        if np.any(here.follower):
            raise BadInput(f"{problem.name!r} carries a distributed follower load: {remedy}")
        if np.any(here.dead[:, :3]):
            raise BadInput(f"{problem.name!r} carries distributed couples fixed in space: {remedy}")
        for where, wrench in (("base", problem.base_wrench), ("tip", problem.tip_wrench)):
            if np.any(wrench.follower[3:]):
                raise BadInput(f"a follower force acts on the {where} of {problem.name!r}: {remedy}")
            if np.any(wrench.follower[:3]) or np.any(wrench.dead[:3]):
                normal = problem.base.pose[:3, 2]
                dead = wrench.dead[:3]
                flat = np.allclose(wrench.follower[:2], 0.0) and np.allclose(dead, normal * (normal @ dead))
                if not (self._is_planar() and flat):
                    raise BadInput(
                        f"a couple acts on the {where} of {problem.name!r}: only in the plane has it a potential; "
                        "use the indirect method or equilibrium(system, ...)"
                    )

    def _is_planar(self) -> bool:
        problem, base, tip = self.problem, self.problem.base, self.problem.tip
        if not set(problem.component) <= set(PLANAR_STRAINS):
            return False
        rest = problem.rest_strain(np.linspace(0.0, problem.length, 65))
        if np.any(rest[:, [0, 1, 5]]):
            return False
        upright = np.allclose(base.pose[:3, 2], [0.0, 0.0, 1.0], atol=1e-12)
        if not base.is_clamped and not (upright and np.allclose(base.pose[:3, :3], np.eye(3), atol=1e-12)):
            return False
        if tip.held and not problem.closed:
            g = se3.inverse(base.pose) @ tip.pose
            flat_turn = not tip.rotation_axes or np.allclose(g[:3, 2], [0.0, 0.0, 1.0], atol=1e-12)
            places = set(tip.position_axes)
            flat_place = not places or (
                (upright and np.allclose(base.pose[:3, :3], np.eye(3), atol=1e-12)) or places == {0, 1, 2}
            )
            out = abs(g[2, 3]) if 2 in places or places == {0, 1, 2} else 0.0
            return bool(flat_turn and flat_place and out < 1e-12 * problem.length)
        return True

    def check_reach(self) -> None:
        """An inextensible rod cannot span more than its length."""
        problem = self.problem
        both = set(problem.base.position_axes) == set(problem.tip.position_axes) == {0, 1, 2}
        if not both or problem.closed or set(problem.component) & {3, 4, 5}:
            return
        distance = float(np.linalg.norm(problem.tip.pose[:3, 3] - problem.base.pose[:3, 3]))
        s = np.linspace(0.0, problem.length, 257)
        reach = float(np.mean(np.linalg.norm(problem.rest_strain(s)[:, 3:], axis=1)) * problem.length)
        if distance > reach * (1.0 + 1e-9):
            raise BadInput(
                f"the ends of {problem.name!r} are held {distance:g} m apart, and the rod does not stretch beyond its "
                f"{reach:g} m: bring them closer, or free the strain G_x"
            )

    # Nodes, parameters, bounds ----------------------------------------------------------------------------

    def _nodes(self, elements: int) -> tuple[Array, tuple[int, ...]]:
        L = self.L
        breaks = [b for b in self.problem.breaks if 1e-9 * L < b < (1.0 - 1e-9) * L]
        stations = [x for c in self.constraints for x in c.stations]
        for x in stations:
            if not 0.0 <= x <= L * (1.0 + 1e-12):
                raise BadInput(f"a constraint is asked for at s = {x:g} m: stay within [0, {L:g}] m")
        s = list(np.linspace(0.0, L, elements + 1))
        for x in (*breaks, *stations):
            near = int(np.argmin(np.abs(np.array(s) - x)))
            if abs(s[near] - x) <= 1e-9 * L:
                continue
            inner = 0 < near < len(s) - 1 and s[near] not in (*breaks, *stations)
            if inner and abs(s[near] - x) < 0.3 * L / elements:
                s[near] = x  # a node is moved rather than added
            else:
                s = sorted([*s, x])
        nodes = np.array(sorted(s))
        starts = (0, *sorted({int(np.argmin(np.abs(nodes - b))) for b in breaks}))
        return nodes, starts

    def _node_constraint(self, constraint: Constraint) -> NodeConstraint:
        if not callable(constraint.function):
            raise BadInput(f"constraint {constraint.name!r}: function = {constraint.function!r} cannot be called")
        if constraint.stations:
            nodes = tuple(int(np.argmin(np.abs(self.s - x))) for x in constraint.stations)
        elif constraint.at is None:
            nodes = tuple(range(len(self.s) - self.problem.closed))  # the tip of a ring is its base
        else:
            where: Any = constraint.at
            nodes = tuple(i for i, x in enumerate(self.s) if where(float(x)))
            if not nodes:
                raise BadInput(f"constraint {constraint.name!r}: `at` is true at no node; give arc lengths in m")
        trace, width = traced(constraint.name, constraint.function)
        return NodeConstraint(trace, constraint.name, nodes, width)

    def _parameters(self, index: int | None) -> Array:
        problem, L, B = self.problem, self.L, self.B
        ends = []
        closing = se3.inverse(problem.base.pose) @ problem.tip.pose if self.ring else problem.tip.pose
        for g in (problem.base.pose, closing):
            ends.append(np.concatenate([g[:3, 3] / L, g[:3, :3].T.ravel()]))
        wrenches = []
        for wrench in (problem.base_wrench, problem.tip_wrench):
            about = float(problem.base.pose[:3, 2] @ wrench.dead[:3] + wrench.follower[2])
            wrenches.append(np.concatenate([[0.0, 0.0, about * L / B], wrench.dead[3:] * L**2 / B]))
        head = np.concatenate([*ends, *wrenches, [L, 0.0 if index is None else float(index), 0.0]])

        s, h = self.s, np.diff(self.s)
        inside = 4.0 * np.finfo(float).eps * L
        columns = [h / L, s[:-1] / L]
        scale = np.array([1.0, 1.0, 1.0, L**2, L**2, L**2]) / B
        for at in (s[:-1] + inside, s[:-1] + 0.5 * h, s[1:] - inside):
            here = problem.at(at)
            rest = here.rest_strain.copy()
            rest[:, :3] *= L
            active = here.muscle * np.array([L, L, L, L**2, L**2, L**2]) / B
            columns += [*(here.stiffness * scale).T, *rest.T, *active.T]
            columns += [*((here.weight + here.dead[:, 3:]) * L**3 / B).T]
            for k, tension in enumerate(here.tensions):
                columns += [tension * here.here[:, k] * L**2 / B, *(here.D[:, k] / L).T, *here.D_prime[:, k].T]
        return np.concatenate([head, np.array(columns).T.ravel()])

    def _bounds(self) -> tuple[Array, Array]:
        """Of the rows that are not defects."""
        zero = np.zeros(len(self.layout.tip_held) + self.layout.index)
        lower, upper = [zero], [zero]
        for constraint, own in zip(self.constraints, self.layout.constraints, strict=True):
            for name, side, out in (("lower", constraint.lower, lower), ("upper", constraint.upper, upper)):
                values = np.asarray(side, dtype=float).ravel()
                if values.size not in (1, own.width) or np.any(np.isnan(values)):
                    raise BadInput(
                        f"constraint {constraint.name!r}: {name} = {side!r}; its function returns {own.width} "
                        f"number{'s' * (own.width > 1)}, so give one bound, or {own.width}"
                    )
                out.append(np.tile(np.broadcast_to(values, own.width), len(own.nodes)))
            if np.any(lower[-1] > upper[-1]):
                raise BadInput(
                    f"constraint {constraint.name!r}: lower = {constraint.lower!r} above upper = {constraint.upper!r}"
                )
        return np.concatenate(lower), np.concatenate(upper)

    def row_names(self) -> list[tuple[str, str]]:
        """Name and unit of every row that is not a defect."""
        turns, places = ("about x", "about y", "about z"), ("along x", "along y", "along z")
        names = [
            (f"rotation of the tip {turns[k]}", "rad") if k < 3 else (f"position of the tip {places[k - 3]}", "L")
            for k in self.layout.tip_held
        ]
        names += [("index of the curve", "rad")] * self.layout.index
        for constraint in self.layout.constraints:
            for node in constraint.nodes:
                names += [(f"{constraint.name!r} at s = {self.s[node]:g} m", "")] * constraint.width
        return names

    # Solve ------------------------------------------------------------------------------------------------

    def start(self, guess: Guess) -> Array:
        """(ν, U) to start from."""
        layout, L = self.layout, self.L
        n_base, _, _ = layout.sizes
        a, b = layout.columns
        if isinstance(guess, DirectSolution | RodSolution):
            scale = guess.problem.length / L
            strain: Any = lambda s: guess.strain(s * scale)  # noqa: E731
            nu = self._moved_base(guess.g[0])
        elif guess is None:
            strain, nu = self.problem.rest_strain, np.zeros(n_base)
        elif callable(guess):
            strain, nu = guess, np.zeros(n_base)
        else:
            raise BadInput(f"guess = {guess!r}: give a solution, or a function of s (m,) [m] that returns (m, 6)")
        inside = 1e-9 * L
        U = np.zeros((len(layout.free), layout.strain_columns))
        for columns, at in ((a, self.s[:-1] + inside), (b, self.s[1:] - inside)):
            if layout.strain == "constant":
                at = 0.5 * (self.s[:-1] + self.s[1:])
            xi = np.array(strain(at), dtype=float)
            if xi.shape != (len(at), 6) or not np.all(np.isfinite(xi)):
                raise BadInput(f"guess: strains of shape {xi.shape} (expected finite ({len(at)}, 6), 1/m and m/m)")
            xi[:, :3] *= L
            U[:, columns] = xi[:, list(layout.free)].T
        if guess is None:  # symmetric starts stay on symmetric saddles: leave them
            x = np.linspace(0.0, 1.0, layout.strain_columns)
            for row, k in enumerate(layout.free):
                if k < 3:
                    U[row] += 0.05 * np.cos((3.0 + k) * x + 0.7 * k)
        return np.concatenate([nu, U.T.ravel()])

    def _moved_base(self, g: Array) -> Array:
        """ν of a base at the pose ``g``: turns about its axes, shifts along world axes (in the plane: its own)."""
        base = self.problem.base.pose
        R = base[:3, :3]
        shift = (g[:3, 3] - base[:3, 3]) / self.L
        motion = np.concatenate([so3.log(R.T @ g[:3, :3]), R.T @ shift if self.planar else shift])
        return np.asarray(motion[list(self.layout.base_free)])

    def roll(self, v: Array) -> Array:
        """w = (ν, U, X) of (ν, U)."""
        return np.concatenate([v, np.array(self.program.roll(v, self.parameters)).ravel()])

    def solve(self, v: Array, shooting: str, tolerance: float, max_iterations: int) -> _Found:
        options = (
            ("print_time", False), ("calc_lam_p", False), ("ipopt.print_level", 0), ("ipopt.sb", "yes"),
            ("ipopt.tol", tolerance), ("ipopt.constr_viol_tol", tolerance), ("ipopt.acceptable_tol", tolerance),
            ("ipopt.max_iter", max_iterations), ("ipopt.bound_relax_factor", 0.0),
        )  # fmt: skip
        solver = self.program.solver(shooting, options)
        w = self.roll(v)
        n_defects = self.layout.sizes[2]
        zeros = np.zeros(n_defects)
        if shooting == "multiple":
            x0, lower, upper = w, np.concatenate([zeros, self.lower]), np.concatenate([zeros, self.upper])
        else:
            x0, lower, upper = v, self.lower, self.upper
        answer = solver(x0=x0, p=self.parameters, lbg=lower, ubg=upper)
        stats = solver.stats()
        x = np.array(answer["x"]).ravel()
        if shooting == "single":
            x = self.roll(x)
        if not np.all(np.isfinite(x)):
            raise NotConverged(f"direct_equilibrium: {stats['return_status']}, numbers are no longer finite")
        if not stats["success"] and stats["return_status"] in _STALLED and np.all(self.lower == self.upper):
            # motions that nothing resists stall the last digits of Ipopt; Newton with least-norm steps passes them
            own = self.layout.sizes[0] + self.layout.sizes[1]
            try:
                return self.newton(x[:own], tolerance, 10)
            except NotConverged:
                pass
        return self._judge(x, np.array(answer["lam_g"]).ravel(), shooting, stats, tolerance)

    def newton(self, v: Array, tolerance: float, max_iterations: int) -> _Found:
        """Stationary point near (ν, U): Newton's method on the condensed first-order conditions, least-norm steps.

        Directions that nothing resists (a ring that turns) leave the matrix singular, and the least norm leaves them.
        """
        if np.any(self.lower != self.upper):
            names = ", ".join(repr(c.name) for c in self.constraints if np.any(np.asarray(c.lower) != c.upper))
            raise BadInput(f'seek = "stationary" takes equalities only, and {names} is not one; use seek="minimum"')
        own, history = len(v), []
        mu = np.zeros(len(self.lower))
        for count in range(min(max_iterations, 100) + 1):
            w = self.roll(v)
            _, slope, _, J, rows, A = self.program.first_order(w, self.parameters)
            slope, gap = np.array(slope).ravel(), np.array(rows).ravel() - self.lower
            J, A = J.sparse().tocsc(), A.sparse() if A.shape[0] else None
            factor = splu(J[:, own:].tocsc())
            Z = np.vstack([np.eye(own), factor.solve(-J[:, :own].toarray())])
            held = np.zeros((0, own)) if A is None else A @ Z
            gradient = Z.T @ slope
            if count == 0 and len(mu):
                mu = np.linalg.lstsq(held.T, -gradient, rcond=None)[0]
            residual = max(float(np.max(np.abs(gradient + held.T @ mu))), float(np.max(np.abs(gap), initial=0.0)))
            history.append(residual)
            if residual < tolerance * max(1.0, float(np.max(np.abs(mu), initial=0.0))):
                stats = {"return_status": "", "iter_count": count, "success": True, "iterations": {"inf_du": history}}
                return self._judge(w, mu, "single", stats, tolerance)
            if not np.isfinite(residual) or count == min(max_iterations, 100):
                break
            pull = slope + (A.T @ mu if A is not None else 0.0)
            lam = -factor.solve(pull[own:], trans="T")
            W = self.program.hessian(w, self.parameters, 1.0, lam, mu).sparse()
            n = len(mu)
            matrix = np.block([[Z.T @ (W @ Z), held.T], [held, np.zeros((n, n))]])
            step = lstsq(matrix, -np.concatenate([gradient, gap]), cond=1e-11, lapack_driver="gelsy")[0]
            size = np.max(np.abs(step[:own]))
            v = v + step[:own] * min(1.0, _LONGEST / max(size, 1e-300))
            mu = step[own:] if size <= _LONGEST else mu + (step[own:] - mu) * _LONGEST / size
        raise NotConverged(
            f"direct_equilibrium: residual {history[-1]:.1e} after {len(history) - 1} Newton steps (wanted "
            f"{tolerance:.0e}); give a guess nearer to the shape wanted",
            history=history,
        )

    def _judge(self, w: Array, lam_g: Array, shooting: str, stats: Any, tolerance: float) -> _Found:
        """First-order conditions are met, or the rows that are not are named; then the second variation."""
        f, slope, defects, J, rows, A = self.program.first_order(w, self.parameters)
        rows = np.array(rows).ravel()
        n_defects = self.layout.sizes[2]
        missed = np.maximum(np.maximum(self.lower - rows, rows - self.upper), 0.0)
        worst = max(float(np.max(np.abs(np.array(defects)), initial=0.0)), float(np.max(missed, initial=0.0)))
        status, steps = stats["return_status"], int(stats["iter_count"])
        if not stats["success"]:
            raise NotConverged(self._why(status, steps, missed), history=stats.get("iterations", {}).get("inf_pr", ()))
        if len([k for k in self.layout.tip_held if k < 3]) == 3 and not self.planar:
            X = w[-n_defects:]
            *_, cosine = self.program.ends(X[:12], X[-12:], self.parameters[:39])
            if float(cosine) < 0.0:
                raise NotConverged("direct_equilibrium: the tip is turned by half a turn from where it is held")

        # multipliers of the poses: those of Ipopt, or from stationarity where the poses were eliminated
        own = self.layout.sizes[0] + self.layout.sizes[1]
        J, A = J.sparse(), A.sparse() if A.shape[0] else None
        J_x = J[:, own:].tocsc()
        factor = splu(J_x)
        if shooting == "multiple":
            lam, mu = lam_g[:n_defects], lam_g[n_defects:]
        else:
            mu = lam_g
            pull = np.array(slope).ravel() + (A.T @ mu if A is not None else 0.0)
            lam = -factor.solve(pull[own:], trans="T")
        eigenvalue, negative, direction = self._second_variation(w, lam, mu, J, factor, A, rows)
        away = w[:own] + 0.3 * direction
        history = tuple(float(x) for x in stats.get("iterations", {}).get("inf_du", ()))
        return _Found(w, lam, mu, float(f), steps, worst, eigenvalue, negative, history, away)

    def _second_variation(
        self, w: Array, lam: Array, mu: Array, J: Any, factor: Any, A: Any, rows: Array
    ) -> tuple[float, int, Array]:
        """Smallest eigenvalue on the null space of the active rows, how many are negative, and the direction in (ν, U)
        of the smallest, largest entry 1."""
        layout = self.layout
        own = layout.sizes[0] + layout.sizes[1]
        # Z: states that follow the strains
        follow = factor.solve(-J[:, :own].toarray())
        Z = np.vstack([np.eye(own), follow])
        W = self.program.hessian(w, self.parameters, 1.0, lam, mu).sparse()
        reduced = Z.T @ (W @ Z)
        # measure: ∫|δu|² ds/L of strains, |ν|² of motions of the base; by the quadrature of the elastic energy
        h = np.diff(self.s) / self.L
        a, b = layout.columns
        sides = (1 / 3, 1 / 6) if layout.strain == "linear" and layout.order == 4 else (1 / 2, 0.0)
        measure = np.zeros((layout.strain_columns,) * 2)
        for i, j, part in ((a, a, sides[0]), (b, b, sides[0]), (a, b, sides[1]), (b, a, sides[1])):
            np.add.at(measure, (i, j), part * h)
        mass = np.eye(own)
        mass[layout.sizes[0] :, layout.sizes[0] :] = np.kron(measure, np.eye(len(layout.free)))
        basis = np.eye(own)
        if A is not None:
            equal = self.lower == self.upper
            active = equal | (np.abs(mu) > _ACTIVE)
            if active.any():
                held = A.toarray()[active] @ Z
                size = np.linalg.norm(held, axis=1, keepdims=True)
                held = held[size[:, 0] > 1e-12] / size[size[:, 0] > 1e-12]
                Q, triangle, _ = qr(held.T, pivoting=True)
                rank = int(np.sum(np.abs(np.diag(triangle)) > 1e-10))
                basis = Q[:, rank:]
        if basis.shape[1] == 0:
            return np.inf, 0, np.zeros(own)
        K, M = basis.T @ reduced @ basis, basis.T @ mass @ basis
        value, vector = _lowest(K, M)
        negative = _below(K, M, -_NEUTRAL) if value < -_NEUTRAL else 0
        direction = basis @ vector
        return value, negative, direction / np.max(np.abs(direction))

    def _why(self, status: str, steps: int, missed: Array) -> str:
        words = {
            "Infeasible_Problem_Detected": "no shape meets all constraints near the start",
            "Restoration_Failed": "no shape meets all constraints near the start",
            "Maximum_Iterations_Exceeded": "did not converge",
            "Not_Enough_Degrees_Of_Freedom": "there are more equations than unknowns",
        }.get(status, f"stopped ({status})")
        names = self.row_names()
        order = np.argsort(-missed)
        bad: list[str] = []
        seen: set[str] = set()
        for k in order:
            if missed[k] > 1e-6 and len(bad) < 4:
                name, unit = names[k]
                label = name.split(" at s = ")[0]
                if label in seen:
                    continue
                seen.add(label)
                size = missed[k] * (self.L if unit == "L" else 1.0)
                bad.append(f"{name} by {size:.3g} {'m' if unit == 'L' else unit}".rstrip())
        text = f"direct_equilibrium: {words} after {steps} steps of Ipopt"
        if bad:
            text += "; violated: " + ", ".join(bad)
        return text + "; relax these, give a guess nearer to the shape wanted, or more elements"

    # Result -----------------------------------------------------------------------------------------------

    def solution(self, found: _Found, seconds: float) -> DirectSolution:
        layout, L, B, n = self.layout, self.L, self.B, len(self.s)
        n_base, n_strain, _ = layout.sizes
        U = found.w[n_base : n_base + n_strain].reshape(layout.strain_columns, -1)
        X = found.w[n_base + n_strain :].reshape(n, layout.state)
        lam = found.lam.reshape(n, layout.state)
        base = self.problem.base.pose
        a, b = layout.columns

        # poses
        if self.planar:
            x, y, angle = X.T
            c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros(n), np.ones(n)
            R = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]), -1, 0)
            g = base @ se3.pose(R, L * np.stack([x, y, zero], axis=1))
        else:
            g = se3.pose(X[:, 3:].reshape(n, 3, 3).swapaxes(1, 2), L * X[:, :3])

        # strains at both ends of the elements
        inside = 4.0 * np.finfo(float).eps * L
        xi = np.stack(
            [self.problem.rest_strain(self.s[:-1] + inside), self.problem.rest_strain(self.s[1:] - inside)], 1
        )
        if layout.strain == "constant":
            xi[:] = self.problem.rest_strain(0.5 * (self.s[:-1] + self.s[1:]))[:, None]
        scale = np.array([1.0 / L if k < 3 else 1.0 for k in layout.free])
        xi[:, 0, list(layout.free)], xi[:, 1, list(layout.free)] = U[a] * scale, U[b] * scale
        nodal = np.empty((n, 6))
        nodal[0], nodal[-1] = xi[0, 0], xi[-1, 1]
        nodal[1:-1] = 0.5 * (xi[:-1, 1] + xi[1:, 0])

        # wrench: multipliers, less what the loads of the element before put on its far node
        E = self.parameters[39:].reshape(-1, layout.element_size)
        heads = np.tile(self.parameters[:39, None], (1, n - 1))
        slopes = np.array(self.program.far_end_slope(X[:-1].T, X[1:].T, U[a].T, U[b].T, E.T, heads)).T
        elastic = float(np.sum(np.array(self.program.parts(X[:-1].T, X[1:].T, U[a].T, U[b].T, E.T, heads)[0])))
        lam = lam.copy()
        lam[1:] += slopes
        stress = np.zeros((n, 6))
        if self.planar:
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
        if self.ring:
            stress[0] = stress[-1]  # at its base the multiplier is the sum over both sides
        stress[:, :3] *= B / L
        stress[:, 3:] *= B / L**2

        forces, places = {}, {}
        first = len(layout.tip_held) + layout.index
        for own in layout.constraints:
            count = len(own.nodes) * own.width
            forces[own.name] = -self.energy_unit * found.mu[first : first + count].reshape(-1, own.width)
            places[own.name] = self.s[list(own.nodes)]
            first += count
        return DirectSolution(
            problem=self.problem,
            s=self.s.copy(),
            g=g,
            xi=nodal,
            stress=stress,
            energy=found.f * self.energy_unit,
            elastic_energy=elastic * self.energy_unit,
            iterations=found.iterations,
            history=found.history,
            stable=found.eigenvalue > -_NEUTRAL,
            eigenvalue=found.eigenvalue,
            negative=found.negative,
            constraint_forces=forces,
            constraint_nodes=places,
            residual=found.residual,
            seconds=seconds,
            elements=xi,
        )


def _lowest(K: Array, M: Array) -> tuple[float, Array]:
    """Smallest eigenvalue of K x = λ M x, M positive, and its vector, by inverse iteration from below.

    K - σ M has a Cholesky factor exactly when σ lies below all eigenvalues; then the nearest to σ is the smallest.
    """
    n = len(K)
    if n > 40:
        shift = -1.0
        for _ in range(40):
            try:
                factor = cho_factor(K - shift * M, lower=True)
                break
            except LinAlgError:
                shift *= 4.0
        inverse = LinearOperator((n, n), matvec=lambda x: cho_solve(factor, x), dtype=float)
        start = np.cos(np.arange(n) * 1.7) + 0.1  # the same answer at every call
        values, vectors = eigsh(K, k=1, M=M, sigma=shift, OPinv=inverse, v0=start, tol=1e-10)
    else:
        values, vectors = eigh(K, M, subset_by_index=[0, 0])
    return float(values[0]), np.asarray(vectors[:, 0])


def _below(K: Array, M: Array, shift: float) -> int:
    """Number of eigenvalues of K x = λ M x, M positive, below ``shift``: the negative ones of K - σM (Sylvester)."""
    _, D, _ = ldl(K - shift * M)
    return int(np.sum(eigvalsh_tridiagonal(np.diag(D), np.diag(D, 1)) < 0.0))
