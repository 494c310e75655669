"""A problem of one rod on its nodes: what a direct method hands to its program, and where it starts.

Nodes are equal, moved or added where a field jumps or a constraint asks for one. The numbers of the problem (lengths in
units of L, energies in units of B/L) become the parameters of a :class:`NonlinearProgram`; rows that are not defects
are the held components of the tip, the index of a closed curve, and the constraints given by the user, in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.lie import se3, so3
from elver.one_rod.checks import check_potential, is_planar
from elver.one_rod.problem import RodProblem
from elver.one_rod.result import Guess, RodResult, strain_of
from elver.one_rod.transcription.maps import Map
from elver.one_rod.transcription.program import NodeConstraint, NodeLayout, NonlinearProgram, program, traced
from elver.rods import FullLaw
from elver.system import State, System
from elver.words import describe

__all__ = ["Constraint", "Row", "Transcription"]

Array: TypeAlias = NDArray[np.float64]


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


class Row(NamedTuple):
    """A row of the program: whose it is, where, and its unit (positions are rows in units of L)."""

    owner: str
    where: str
    unit: str


class Transcription:
    """A problem on its nodes: layout, parameters, bounds, starts."""

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
        check_potential(problem)
        self.planar = is_planar(problem)
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
        self.layout = NodeLayout(
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
            law=problem.law,
        )
        self.program: NonlinearProgram = program(self.layout)
        self.parameters = self._parameters(index)
        self.lower, self.upper = self._bounds()

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
            raise BadInput(
                f"constraint {constraint.name!r}: function = {describe(constraint.function)} cannot be called"
            )
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
        head = np.concatenate([*ends, *wrenches, [L, 0.0 if index is None else float(index), B]])

        s, h = self.s, np.diff(self.s)
        inside = 4.0 * np.finfo(float).eps * L
        columns = [h / L, s[:-1] / L]
        unit = np.array([1.0, 1.0, 1.0, L, L, L])
        for at in (s[:-1] + inside, s[:-1] + 0.5 * h, s[1:] - inside):
            here = problem.at(at)
            rest = here.rest_strain.copy()
            rest[:, :3] *= L
            active = here.muscle * np.array([L, L, L, L**2, L**2, L**2]) / B
            if isinstance(problem.law, FullLaw):
                H = (here.rest_stiffness() * np.outer(unit, unit)).reshape(-1, 36)
            else:
                H = here.stiffness * unit**2
            columns += [*(H / B).T, *rest.T, *active.T]
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
                        f"constraint {constraint.name!r}: {name} = {describe(side)}; its function returns {own.width} "
                        f"number{'s' * (own.width > 1)}, so give one bound, or {own.width}"
                    )
                out.append(np.tile(np.broadcast_to(values, own.width), len(own.nodes)))
            if np.any(lower[-1] > upper[-1]):
                raise BadInput(
                    f"constraint {constraint.name!r}: lower = {describe(constraint.lower)} above upper = "
                    f"{describe(constraint.upper)}"
                )
        return np.concatenate(lower), np.concatenate(upper)

    def rows(self) -> list[Row]:
        """What every row that is not a defect stands for."""
        names = [
            Row("the rotation of the tip", f"about {'xyz'[k]}", "rad")
            if k < 3
            else Row("the position of the tip", f"along {'xyz'[k - 3]}", "m")
            for k in self.layout.tip_held
        ]
        names += [Row("the index of the curve", "", "rad")] * self.layout.index
        for constraint in self.layout.constraints:
            for node in constraint.nodes:
                names += [Row(repr(constraint.name), f"at s = {self.s[node]:g} m", "")] * constraint.width
        return names

    # Starts -----------------------------------------------------------------------------------------------

    def start(self, guess: Guess, system: System | None) -> Array:
        """(ν, U) to start from."""
        layout, L = self.layout, self.L
        n_base, _, _ = layout.sizes
        a, b = layout.columns
        nu = np.zeros(n_base)
        strain = self.problem.rest_strain if guess is None else strain_of(guess, self.problem, system)
        if isinstance(guess, RodResult):
            nu = self._moved_base(guess.g[0])
        elif system is not None and system.free and isinstance(state := getattr(guess, "state", guess), State):
            nu = self._moved_base(state.g)
        inside = 1e-9 * L
        U = np.zeros((len(layout.free), layout.strain_columns))
        for columns, at in ((a, self.s[:-1] + inside), (b, self.s[1:] - inside)):
            if layout.strain == "constant":
                at = 0.5 * (self.s[:-1] + self.s[1:])
            xi = np.array(strain(at), dtype=float)
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
