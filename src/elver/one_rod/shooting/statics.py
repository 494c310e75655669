"""Equilibria of one rod from the optimality conditions of its potential energy, by shooting; no strain modes.

The rod minimises its energy over the strain u(s) (OCP1; F. Boyer et al. 2023, eq. 18-27). Stationarity gives

    g′ = g ξ̂,   Λ′ = ad(ξ)ᵀΛ - F̄,   BᵀΛ = Bᵀ(Λ_act(ξ) + 𝓗(ξ-ξ₀))
    in components C′ = -K×C - Γ×N - c̄,   N′ = -K×N - n̄

with, at each end and for each of six components, either the pose or the wrench given: Λ(L) = F_tip, Λ(0) = -F_base.

Two forms of these equations, A1 ("stress") and A2 ("strain"), which agree, are in
:mod:`elver.one_rod.shooting.static_flow`. Six-vectors are angular first, in section axes. Residuals are measured in
lengths of the rod, radians, EI/L and EI/L².

Theory: docs/theory/optimal-control.md, eq. (least-energy), (static-conditions).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, NotConverged, positive
from elver.lie import se3, so3
from elver.lie.integration import magnus
from elver.one_rod.balance import balance
from elver.one_rod.checks import check_ends
from elver.one_rod.problem import End, EndWrench, RodProblem
from elver.one_rod.result import RodResult, StrainField, strain_of
from elver.one_rod.shooting.end_condition import EndCondition
from elver.one_rod.shooting.multiple import Condition, Shot, mesh, refine, shoot
from elver.one_rod.shooting.static_flow import Form, Integrator, SegmentFlow, StaticFlow
from elver.system import Inputs, State, System
from elver.words import describe

__all__ = ["EndCondition", "RodSolution", "solve_rod"]

Array: TypeAlias = NDArray[np.float64]

_SMALLEST_PART = 1.0 / 64.0


# The ends -------------------------------------------------------------------------------------------------


# The solution ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class RodSolution(RodResult):
    """An equilibrium along s: ``s`` (n,) [m], ``g`` (n, 4, 4), ``xi`` (n, 6), ``stress`` Λ (n, 6) [N m, N]."""

    problem: RodProblem
    s: Array
    g: Array
    xi: Array
    stress: Array
    iterations: int
    """Newton steps, of all load steps."""
    history: tuple[float, ...]
    condition: float
    """Condition number of the single-shooting Jacobian."""
    singular: bool
    """True when the solution is one of a family: some motion is resisted by nothing."""
    error: float
    """Estimate of the integration error, in lengths of the rod, radians, EI/L and EI/L²."""
    load_steps: int
    shot: Shot

    @cached_property
    def _energies(self) -> tuple[float, float]:
        return _energy(self.problem, self.shot)

    @property
    def energy(self) -> float:
        """Potential [J]: elastic, actuators, gravity and dead forces; couples and followers have none."""
        return self._energies[0]

    @property
    def elastic_energy(self) -> float:
        """∫ W ds [J]."""
        return self._energies[1]

    def pose(self, s: float) -> Array:
        """Pose (4, 4) of the section at ``s`` [m]."""
        if not 0.0 <= s <= self.problem.length:
            raise BadInput(f"s = {s:g} m lies outside the rod; choose s within [0, {self.problem.length:g}] m")
        march = self.shot.march
        k = int(np.clip(np.searchsorted(march.nodes, s, side="right") - 1, 0, march.nodes.size - 2))
        if s - march.nodes[k] < 1e-12 * self.problem.length:
            return np.array(self.shot.g[k])
        part = SegmentFlow.between(march.flow, [march.nodes[k], s], march.steps)
        return part(self.shot.g[k : k + 1], self.shot.x[k : k + 1], tangent=False)[0][0]

    def strain(self, s: ArrayLike) -> Array:
        """ξ (n, 6) at ``s`` (n,) [m]: of the law at the stress there, which is integrated from the node before."""
        s = np.atleast_1d(np.asarray(s, dtype=float))
        return _sample(self.shot, self.problem, s)


def _sample(shot: Shot, problem: RodProblem, s: Array) -> Array:
    """Strain between nodes: one step of integration from the node before, then the law."""
    nodes = shot.nodes
    k = np.clip(np.searchsorted(nodes, s, side="right") - 1, 0, nodes.size - 2)
    flow = StaticFlow(problem)
    span = np.maximum(s - nodes[k], 1e-9 * problem.length)
    inside = np.minimum(s, nodes[k + 1] - 1e-9 * (nodes[k + 1] - nodes[k]))
    inside = np.maximum(inside, nodes[k] + 1e-9 * (nodes[k + 1] - nodes[k]))
    stress = SegmentFlow(flow, nodes[k], nodes[k] + span, shot.march.steps)(shot.g[k], shot.x[k], tangent=False)[1]
    return flow.strain(problem.at(inside), stress)


# Solving --------------------------------------------------------------------------------------------------


def solve_rod(
    problem: RodProblem | System,
    inputs: Inputs | None = None,
    guess: RodResult | State | StrainField | ArrayLike | None = None,
    *,
    form: Form = "stress",
    integrator: Integrator = "rkmk",
    segments: int | None = None,
    steps: int | None = None,
    accuracy: float | None = 1e-8,
    tolerance: float = 1e-10,
    max_iterations: int = 40,
    load_stepping: bool = True,
) -> RodSolution:
    """Equilibrium of one rod by multiple shooting on the optimality conditions.

    ``problem`` is a :class:`RodProblem`, or a system of one rod with its ``inputs``. ``guess`` is a result of any
    method, a state of the system, or a strain: six numbers, or a function s (n,) -> (n, 6). ``form`` "stress"
    integrates Λ (A1), "strain" the strains (A2), in steps of order four of Runge-Kutta-Munthe-Kaas ("rkmk") or Magnus
    ("magnus"). ``segments`` and ``steps`` per segment are chosen unless given; the mesh is then refined until the
    estimated error is below ``accuracy`` (None: never). Where Newton fails, loads and the pose of the tip are moved
    from rest in steps. :class:`NotConverged` tells how far it came, :class:`BadInput` counts end conditions that do
    not fit.
    """
    system = problem if isinstance(problem, System) else None
    whole = problem if isinstance(problem, RodProblem) else RodProblem.at_rest(problem, inputs)
    if form not in ("stress", "strain"):
        raise BadInput(f'form = {describe(form)}: say "stress" (A1) or "strain" (A2)')
    if integrator not in ("rkmk", "magnus"):
        raise BadInput(f'integrator = {describe(integrator)}: say "rkmk" or "magnus"')
    positive("tolerance", tolerance, "(scaled residual)")
    for name, value in (("segments", segments), ("steps", steps)):
        if value is not None and not (np.isfinite(value) and int(value) == value and value >= 1):
            raise BadInput(f"{name} = {describe(value)}: give a whole number, at least 1")
    whole = _placed(whole)
    check_ends(whole)
    solver = _Solver(whole, form, integrator, segments, steps, accuracy, tolerance, max_iterations)
    start = solver.start(guess, system)
    try:
        return solver.finish(solver(whole, *start), whole, 1)
    except NotConverged as error:
        if not load_stepping:
            raise
        first = error
    return solver.stepped(first, guess is None or isinstance(guess, RodSolution), guess)


def _placed(problem: RodProblem) -> RodProblem:
    """A ring that may move as a whole is held where it starts.

    Without loads the wrench is the same all along it in world axes, so that the clamp bears nothing.
    """
    if not problem.closed or problem.base.is_clamped:
        return problem
    probe = problem.at(np.linspace(0.0, problem.length, 17))
    if probe.turns or np.any(probe.follower) or np.any([*problem.base_wrench, *problem.tip_wrench]):
        raise BadInput(
            f"{problem.name!r} is a ring under loads, its base {problem.base.name}: shooting needs the base clamped; "
            "fix it to the world, or use direct_equilibrium(...) or equilibrium(system, ...)"
        )
    return problem.with_(base=End.clamped(problem.base.pose))


class _Solver:
    """Settings of one solve, and the attempts with them."""

    def __init__(
        self,
        problem: RodProblem,
        form: Form,
        integrator: Integrator,
        segments: int | None,
        steps: int | None,
        accuracy: float | None,
        tolerance: float,
        max_iterations: int,
    ) -> None:
        L, EI = problem.length, problem.bending_stiffness
        self.problem, self.form, self.integrator = problem, form, integrator
        self.accuracy, self.tolerance, self.max_iterations = accuracy, tolerance, max_iterations
        self.scale = np.array([1.0, 1.0, 1.0, L, L, L, *[EI / L] * 3, *[EI / L**2] * 3])
        self.L, self.EI = L, EI
        self.steps = 2 if steps is None else int(steps)
        if segments is None:
            self.nodes = mesh(L, 32, problem.breaks)
        else:
            self.nodes = mesh(L, int(segments), problem.breaks)
        self.iterations = 0

    def conditions(self, problem: RodProblem) -> tuple[Condition, Condition]:
        return (
            EndCondition(problem.base, problem.base_wrench, -1.0, self.L, self.EI),
            EndCondition(problem.tip, problem.tip_wrench, 1.0, self.L, self.EI),
        )

    def __call__(self, problem: RodProblem, nodes: Array, g: Array, x: Array) -> Shot:
        """One Newton solve on one mesh."""
        base, tip = self.conditions(problem)
        flow = StaticFlow(problem, self.form, self.integrator)
        try:
            shot = shoot(
                SegmentFlow.between(flow, nodes, self.steps), base, tip, g, x,
                scale=self.scale, tolerance=self.tolerance, max_iterations=self.max_iterations,
                label="shooting",
            )  # fmt: skip
        except NotConverged as error:
            self.iterations += max(len(error.history) - 1, 0)
            raise
        self.iterations += shot.iterations
        return shot

    # Guesses --------------------------------------------------------------------------------------------------

    def start(self, guess: Any, system: System | None) -> tuple[Array, Array, Array]:
        """Nodes, poses and stresses to begin with."""
        problem = self.problem
        if isinstance(guess, RodResult):
            return self.nodes, *_moved_guess(guess, problem, self.nodes)
        if guess is None:
            return self.from_strain(_reaching(problem))
        state = guess if isinstance(guess, State) else getattr(guess, "state", None)
        base = state.g if isinstance(state, State) and system is not None and system.free else None
        return self.from_strain(strain_of(guess, problem, system), base)

    def from_strain(self, strain: StrainField, base: Array | None = None) -> tuple[Array, Array, Array]:
        """Poses of a strain field, and the stresses of its law; stresses of constrained strains are those in balance.

        ``base`` is where the base is, unless the ends say so.
        """
        nodes, problem = self.nodes, self.problem
        free = list(problem.component)
        fine = nodes if nodes.size > 32 else np.unique(np.concatenate([nodes, np.linspace(0.0, problem.length, 33)]))
        if base is None:
            base = problem.base.pose if problem.base.held or not problem.tip.held else np.eye(4)
        g = magnus(strain, fine, 4, base)[np.searchsorted(fine, nodes)]
        if not problem.base.is_clamped and problem.tip.is_clamped:
            g = problem.tip.pose @ se3.inverse(g[-1]) @ g
        inside = np.clip(nodes, 1e-9 * problem.length, (1.0 - 1e-9) * problem.length)
        sections = problem.at(inside)
        xi = strain(inside)
        if np.allclose(xi, sections.rest_strain):
            F = problem.tip_wrench.at(g[-1])[0] if not problem.tip.held else np.zeros(6)
            x = se3.coAd(se3.inverse(g) @ g[-1]) @ F
            x[:, free] = 0.0
        else:
            x = balance(problem, strain, g[0], nodes).stress
            x[:, free] = sections.stress(xi)[0][:, free]
        return nodes, g, x

    # Load steps -----------------------------------------------------------------------------------------------

    def stepped(self, first: NotConverged, from_rest: bool, guess: Any) -> RodSolution:
        """Loads and held poses moved from rest to their values, in steps that adapt."""
        whole = self.problem
        if isinstance(guess, RodSolution):
            origin, at = guess.problem, guess
            nodes = self.nodes
            g, x = _moved_guess(at, origin, nodes)
            start_tip = at.g[-1]
        else:
            nodes, g, x = self.from_strain(_reaching(whole))
            origin = whole.ramped(0.0)
            start_tip = g[-1]
        part, step, count = 0.0, 0.25, 0
        shot: Shot | None = None
        while part < 1.0:
            step = min(step, 1.0 - part)
            try:
                trial = self(_between(origin, whole, start_tip, part + step), nodes, g, x)
            except NotConverged as error:
                step *= 0.5
                if step < _SMALLEST_PART:
                    last = None if shot is None else self.finish(shot, _between(origin, whole, start_tip, part), count)
                    raise NotConverged(
                        f"equilibrium of {whole.name!r} by shooting: no solution beyond {100.0 * part:.1f} % of the "
                        f"loads and of the way of the tip (residual {error.history[-1]:.1e}, wanted "
                        f"{self.tolerance:.0e}); base {whole.base.name}, tip {whole.tip.name}: "
                        f"{whole.base.held + whole.tip.held} components of poses are held, free strains "
                        f"{', '.join(_SYMBOLS[c] for c in whole.component)}; "
                        "check that the rod can reach them, start from another guess=..., or follow the branch with "
                        "continuation(...); .result holds the last solution found",
                        history=first.history,
                        result=last,
                    ) from None
                continue
            shot, count = trial, count + 1
            g, x = trial.g, trial.x
            part += step
            step *= 2.0 if trial.iterations <= 5 else 1.0
        assert shot is not None
        return self.finish(shot, whole, count)

    # Refinement and result ------------------------------------------------------------------------------------

    def finish(self, shot: Shot, problem: RodProblem, load_steps: int) -> RodSolution:
        """The solution on a mesh fine enough."""
        error = float("nan")
        if self.accuracy is not None:
            positive("accuracy", self.accuracy, "(lengths of the rod)")
            for _ in range(8):
                finer, error = refine(shot, self.scale, self.accuracy)
                if finer is None:
                    break
                shot = self(problem, *finer)
            # what steps of integration leave along unresisted motions falls with them; what stays is a contradiction
            if shot.history[-1] > max(self.tolerance, 1e-6):
                raise NotConverged(
                    f"shooting: residual {shot.history[-1]:.1e} stays however fine the mesh; the end conditions "
                    f"(base {problem.base.name}, tip {problem.tip.name}) contradict each other for this rod",
                    history=shot.history,
                )
        s = shot.march.stations()
        g, x = shot.march.along(shot.g, shot.x)
        nearby = np.clip(s, 1e-9 * problem.length, (1.0 - 1e-9) * problem.length)
        xi = StaticFlow(problem).strain(problem.at(nearby), x)
        return RodSolution(
            problem, s, g, xi, x, self.iterations, shot.history, shot.condition, shot.singular,
            error, load_steps, shot,
        )  # fmt: skip


_SYMBOLS = ("K_x", "K_y", "K_z", "G_x", "G_y", "G_z")


def _between(origin: RodProblem, whole: RodProblem, start_tip: Array, part: float) -> RodProblem:
    """Loads between those of two problems, and the tip on the way from ``start_tip`` to where it is held."""
    tip = whole.tip
    if tip.held and part < 1.0:
        way = se3.log(se3.inverse(start_tip) @ tip.pose)
        pose = start_tip @ se3.exp(part * way) if tip.is_clamped else tip.pose.copy()
        if not tip.is_clamped:
            for j in tip.position_axes:
                pose[j, 3] = start_tip[j, 3] + part * (tip.pose[j, 3] - start_tip[j, 3])
            if tip.rotation_axes:
                turn = so3.log(start_tip[:3, :3].T @ tip.pose[:3, :3])
                pose[:3, :3] = start_tip[:3, :3] @ so3.exp(part * turn)
        tip = replace(tip, pose=pose)
    if part >= 1.0:
        return whole
    if origin.tendons or origin.muscle is not None or np.any(origin.tip_wrench.dead) or np.any(origin.gravity):
        same = len(origin.tendons) == len(whole.tendons) and len(origin.distributed) == len(whole.distributed)
        if same and origin.muscle is None and whole.muscle is None and not whole.distributed:
            blend = [
                a._replace(tension=(1.0 - part) * a.tension + part * b.tension)
                for a, b in zip(origin.tendons, whole.tendons)
            ]
            wrench = EndWrench(*((1.0 - part) * a + part * b for a, b in zip(origin.tip_wrench, whole.tip_wrench)))
            gravity = (1.0 - part) * origin.gravity + part * whole.gravity
            return replace(whole, tip=tip, tendons=tuple(blend), tip_wrench=wrench, gravity=gravity)
    return replace(whole.ramped(part), tip=tip)


def _moved_guess(guess: RodResult, problem: RodProblem, nodes: Array) -> tuple[Array, Array]:
    """Poses and stresses of a solution at other nodes."""
    scaled = nodes * (guess.problem.length / problem.length)
    own = guess.s
    k = np.clip(np.searchsorted(own, scaled, side="right") - 1, 0, own.size - 2)
    way = (scaled - own[k]) / (own[k + 1] - own[k])
    x = guess.stress[k] + way[:, None] * (guess.stress[k + 1] - guess.stress[k])
    jump = se3.log(se3.inverse(guess.g[k]) @ guess.g[k + 1])
    return guess.g[k] @ se3.exp(way[:, None] * jump), x


def _reaching(problem: RodProblem) -> StrainField:
    """A strain field to start from: the rest strain, or a smooth one that takes the tip near where it is held.

    Least change of strain, in a few Legendre functions, for which the held components of the tip are met.
    """
    free, L = list(problem.component), problem.length
    if not problem.tip.held or not problem.base.held:
        return problem.rest_strain
    functions = 6

    def strain(q: Array) -> StrainField:
        def field(s: Array) -> Array:
            xi = np.array(problem.rest_strain(s), dtype=float)
            xi[:, free] += legvander(2.0 * s / L - 1.0, functions - 1) @ q.reshape(functions, len(free))
            return xi

        return field

    unit = np.array([1.0 / L if c < 3 else 1e-2 for c in free])
    nodes = np.linspace(0.0, L, 33)
    target = problem.tip
    condition = EndCondition(target, EndWrench(np.zeros(6), np.zeros(6)), 1.0, L, 1.0)

    values = legvander(2.0 * nodes / L - 1.0, functions - 1)
    weights = L / 96.0 * np.array([1.0, *[4.0, 2.0] * 15, 4.0, 1.0])  # Simpson's rule on the 33 nodes

    def gap(q: Array) -> tuple[Array, Array]:
        """What is missing at the tip, and its slopes: ζ(L) = ∫ Ad(g(L)⁻¹ g(s)) δξ ds."""
        g = magnus(strain(q), nodes, 4, problem.base.pose)
        e, slope = condition(g[-1], np.zeros(6))
        carried = se3.Ad(se3.inverse(g[-1]) @ g)[:, :, free]
        zeta = np.einsum("n,nic,nk->ikc", weights, carried, values).reshape(6, -1)
        return e[: target.held], slope[: target.held, :6] @ zeta

    q = np.zeros(functions * len(free))
    bend = next((c for c in (2, 1) if c in free), None)
    if bend is not None:
        column = free.index(bend)
        table = q.reshape(functions, len(free))
        if problem.closed:
            table[0, column] = 2.0 * np.pi / L
        elif np.max(np.abs(gap(q)[0])) > 1e-9:
            table[0, column], table[2, column] = 0.2 / L, -1.0 / L  # out of the straight line, which cannot shorten
    scale = np.tile(unit, functions)
    z = q / scale
    for _ in range(60):
        e, J = gap(scale * z)
        J = J * scale
        inverse = np.linalg.pinv(J, rcond=1e-4)
        step = -inverse @ e
        if np.max(np.abs(e)) < 0.1:
            step -= 0.5 * (z - inverse @ (J @ z))  # toward the least strain along what the ends allow
        step *= min(1.0, 1.0 / max(float(np.max(np.abs(step))), 1e-12))
        z = z + step
        if np.max(np.abs(e)) < 1e-3 and np.max(np.abs(step)) < 1e-2:
            break
    return strain(scale * z)


def _energy(problem: RodProblem, shot: Shot) -> tuple[float, float]:
    """Potential and elastic energy [J], by Gauss points in each segment."""
    points, weights = leggauss(4)
    nodes = shot.nodes
    h = np.diff(nodes)
    total = elastic = 0.0
    flow = StaticFlow(problem)
    for x, w in zip(points, weights):
        span = 0.5 * (1.0 + x) * h
        start = nodes[:-1]
        march = SegmentFlow(flow, start, start + span, shot.march.steps)
        g, stress, _, _ = march(shot.g[:-1], shot.x[:-1], tangent=False)
        sections = problem.at(start + span)
        xi = flow.strain(sections, stress)
        stored = sections.elasticity(xi)[2]
        ds = 0.5 * w * h
        elastic += float(ds @ stored)
        total += float(ds @ (stored + sections.actuation_energy(xi) + sections.load_energy(g)))
    total -= float(problem.tip_wrench.dead[3:] @ shot.g[-1, :3, 3] + problem.base_wrench.dead[3:] @ shot.g[0, :3, 3])
    return total, elastic
