"""One rod, several methods: the same system through strain modes, shooting and direct transcription.

    "modes"      coordinates of the strain, as for every robot (:func:`elver.statics.equilibrium`)
    "shooting"   conditions of optimality by multiple shooting, exact in space (:func:`solve_rod`); stable without
                 conjugate points
    "direct"     energy minimised over strains in elements, with Ipopt (:func:`direct_equilibrium`)
    "auto"       a start by the fastest that finds one, the answer by shooting, and a check from the shape alone

They share nothing but the description of the rod, so that each is a judge of the others.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.dynamics import nodes, poses
from elver.errors import BadInput, ElverWarning, NotConverged, warn
from elver.guards import guarded
from elver.lie.integration import magnus
from elver.one_rod.balance import Balance, balance
from elver.one_rod.checks import check_ends, check_reach
from elver.one_rod.problem import RodProblem
from elver.one_rod.result import Guess, RodResult, StrainField, project, strain_of
from elver.one_rod.shooting.conjugate import conjugate_points
from elver.one_rod.shooting.statics import solve_rod
from elver.one_rod.transcription.direct import direct_equilibrium
from elver.statics import equilibrium, stability
from elver.system import Inputs, State, System
from elver.words import brief, describe

__all__ = ["Comparison", "RodShape", "compare_methods", "rod_equilibrium"]

Array: TypeAlias = NDArray[np.float64]
MethodName: TypeAlias = Literal["auto", "modes", "shooting", "direct"]

_BALANCED, _MET = 1e-5, 1e-7  # what a shape of the automatic choice may miss: part of its stress; L and rad at the tip
_LOWER = 1e-6  # part of the energy by which another shape counts as lower
_NEUTRAL = 1e-6  # second variation that counts as none, in EI/L
_NUDGE = 0.2  # change of a curvature times L that leaves a saddle
_START = 30  # elements of a direct method that only has to find a start


@dataclass(frozen=True, eq=False, repr=False)
class RodShape(RodResult):
    """An equilibrium of one rod, whatever found it."""

    method: str
    """What found it: "modes", "shooting" or "direct"."""
    problem: RodProblem
    s: Array
    """Nodes (n,) [m]."""
    g: Array
    """Poses (n, 4, 4), world from section."""
    xi: Array
    """Strains (n, 6)."""
    stress: Array
    """Λ (n, 6) [N m, N]."""
    energy: float
    """Potential [J]: elastic, actuators, weight and dead forces."""
    iterations: int
    seconds: float
    """Of the method itself; of the automatic choice, of all that it tried."""
    stable: bool | None
    """No motion lowers the energy (one that nothing resists may be there); None where it is not said: loads without a
    potential."""
    found: Any
    """The result of the method itself."""
    field_of: StrainField
    passed_over: dict[str, str] = field(default_factory=dict)
    """Of the automatic choice: what else was tried, and why it is not the answer."""
    lower: RodShape | None = None
    """Another equilibrium with less energy, where one was seen: this one may be on the wrong branch."""

    def __repr__(self) -> str:
        x, y, z = self.g[-1, :3, 3]
        verdict = {True: "stable", False: "unstable", None: "stability not said"}[self.stable]
        return (
            f"<{self.problem.name!r} in balance, by {self.method}: tip ({x:.6g}, {y:.6g}, {z:.6g}) m, "
            f"energy {self.energy:.6g} J, {verdict}>"
        )

    def strain(self, s: ArrayLike) -> Array:
        """ξ (n, 6) at ``s`` (n,) [m]."""
        return self.field_of(np.atleast_1d(np.asarray(s, dtype=float)))

    def pose(self, s: float) -> Array:
        """Pose (4, 4) of the section at ``s`` [m], from the node before it along the strain."""
        if not 0.0 <= s <= self.problem.length:
            raise BadInput(f"s = {s:g} m lies outside the rod; choose s within [0, {self.problem.length:g}] m")
        k = int(np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 1))
        if s - self.s[k] < 1e-12 * self.problem.length:
            return np.array(self.g[k])
        return np.array(self.g[k] @ magnus(self.strain, np.array([self.s[k], s]))[-1])

    @cached_property
    def balance(self) -> Balance:
        """How far the shape is from balance, judged from its strain alone (:mod:`elver.one_rod.balance`)."""
        return balance(self.problem, self.strain, self.g[0], self.s)


@guarded
def rod_equilibrium(
    system: System,
    inputs: Inputs | None = None,
    method: MethodName = "auto",
    guess: Guess = None,
    **options: Any,
) -> RodShape:
    """Equilibrium of a system of one rod; ``options`` go to the ``method``, if you choose one.

    ``guess`` is an earlier result of any method, a state or an equilibrium of the system, a strain (6,), or a function
    s (n,) -> (n, 6).

    "auto" starts from the guess, or from rest:

    1. strain modes find a shape in milliseconds; where they do not, the energy is descended by the direct method (if
       CasADi is installed and all loads have a potential), else Newton starts from the guess itself, and at last loads
       and ends are moved from rest in steps;
    2. shooting makes that shape exact, and conjugate points say whether it is stable;
    3. the answer is checked from its strain alone: imbalance below 1e-5 of its stress, ends met to 1e-7.

    Without a guess a saddle is left for a stable shape below it. With a guess the shape found near it stays the answer;
    an :class:`ElverWarning` says, with both energies, when a descent from it or the strain modes from rest find one
    with less energy, which is kept as ``lower``. An unstable answer is always said. ``passed_over`` tells what was
    tried besides.
    """
    known: dict[str, tuple[Callable[..., RodShape], Callable[..., Any] | None]] = {
        "auto": (_auto, None),
        "modes": (_modes, equilibrium),
        "shooting": (_shooting, solve_rod),
        "direct": (_direct, direct_equilibrium),
    }
    if method not in known:
        renamed = " ('indirect' is called 'shooting' now)" if method == "indirect" else ""
        raise BadInput(f"method = {describe(method)}: choose one of {', '.join(map(repr, known))}{renamed}")
    run, solver = known[method]
    _check_options(method, solver, options)
    problem = RodProblem.at_rest(system, inputs)
    check_ends(problem)
    check_reach(problem)
    task = _Task(system, inputs, problem)
    if guess is not None:
        strain_of(guess, problem, system)(np.array([0.0, problem.length]))  # what cannot be a guess is said at once
    shape = run(task, guess, **options)
    if method == "auto" and guess is not None and task.conservative:
        shape = replace(shape, lower=_lower(task, shape))
    _say(shape)
    return shape


def _check_options(method: str, solver: Callable[..., Any] | None, options: dict[str, Any]) -> None:
    taken = () if solver is None else tuple(inspect.signature(solver).parameters)
    taken = tuple(name for name in taken if name not in ("system", "problem", "inputs", "guess"))
    if unknown := [name for name in options if name not in taken]:
        remedy = ", ".join(taken) if taken else 'none; choose a method, such as method="shooting"'
        raise BadInput(f"method = {describe(method)} has no option {unknown[0]!r}; it takes {remedy}")


@dataclass(frozen=True, eq=False)
class _Task:
    """What all methods are asked."""

    system: System
    inputs: Inputs | None
    problem: RodProblem

    @property
    def conservative(self) -> bool:
        """True when the energies that all methods state are complete: no couples, nothing that follows."""
        problem, ends = self.problem, (self.problem.base_wrench, self.problem.tip_wrench)
        here = problem.at(np.linspace(0.0, problem.length, 65))
        along = np.any(here.follower) or np.any(here.dead[:, :3])
        return not (along or any(np.any(end.follower) or np.any(end.dead[:3]) for end in ends))


# The methods ------------------------------------------------------------------------------------------------------


def _modes(task: _Task, guess: Guess, **options: Any) -> RodShape:
    system, problem, started = task.system, task.problem, perf_counter()
    rod, s = system.rod, nodes(system)
    start: Any = guess
    if guess is not None and not isinstance(getattr(guess, "state", guess), State):
        own = guess.found if isinstance(guess, RodShape) and guess.method == "modes" else None
        if own is not None and own.system is system:
            start = own
        elif isinstance(guess, RodResult):
            start = guess.to_state(system)
        else:
            rest = system.rest()
            q = rest.q.copy()
            q[system.coordinates(rod)] = project(rod, strain_of(guess, problem, system))
            start = rest.with_(q=q)
    options.setdefault("branch", "stable" if guess is None else "connected")  # what is near a guess is the answer
    with warnings.catch_warnings():  # of an unstable shape the answer itself warns, if it is the answer
        warnings.filterwarnings("ignore", "equilibrium: the shape found is unstable", ElverWarning)
        found = equilibrium(system, inputs=task.inputs, guess=start, **options)
    seconds = perf_counter() - started
    q = found.state.q[system.coordinates(rod)]
    strain: StrainField = lambda s: rod.strain(s, q)  # noqa: E731
    g, xi = poses(system, found.state), strain(s)
    free, scale = list(problem.component), problem.bending_stiffness / problem.length
    stress = balance(problem, strain, g[0], s).stress  # strains that are held: by what the loads ask for
    stress[:, free] = problem.at(s).stress(xi)[0][:, free]
    on = rod.grid.weights > 0.0
    points, weights = rod.grid.s[on], rod.grid.weights[on]
    sections, along = problem.at(points), strain(points)
    density = sections.elasticity(along)[2] + sections.actuation_energy(along)
    at = np.array([found.pose(rod, float(point)) for point in points])
    energy = float(weights @ (density + sections.load_energy(at)))
    energy -= float(problem.tip_wrench.dead[3:] @ g[-1, :3, 3] + problem.base_wrench.dead[3:] @ g[0, :3, 3])
    stable = found.stable is not False or bool(np.min(stability(system, found).eigenvalues) > -_NEUTRAL * scale)
    return RodShape("modes", problem, s, g, xi, stress, energy, found.iterations, seconds, stable, found, strain)


def _shooting(task: _Task, guess: Guess, **options: Any) -> RodShape:
    started, problem = perf_counter(), task.problem
    start: Any = guess.found if isinstance(guess, RodShape) and guess.method == "shooting" else guess
    start = getattr(start, "state", start)
    if isinstance(start, State):
        found = solve_rod(task.system, task.inputs, start, **options)
    else:
        known = start is None or isinstance(start, RodResult)
        found = solve_rod(problem, guess=start if known else strain_of(start, problem), **options)
    seconds = perf_counter() - started
    stable = None
    try:
        verdict = conjugate_points(found)
        stable = verdict.index == 0 and verdict.legendre > 0.0
    except BadInput:  # loads without a potential have no second variation
        pass
    return RodShape(
        "shooting", problem, found.s, found.g, found.xi, found.stress, found.energy, found.iterations, seconds, stable,
        found, found.strain,
    )  # fmt: skip


def _direct(task: _Task, guess: Guess, **options: Any) -> RodShape:
    started = perf_counter()
    found = direct_equilibrium(task.system, task.inputs, guess=guess, **options)
    seconds = perf_counter() - started
    return RodShape(
        "direct", task.problem, found.s, found.g, found.xi, found.stress, found.energy, found.iterations, seconds,
        found.stable, found, found.strain,
    )  # fmt: skip


# The automatic choice ---------------------------------------------------------------------------------------------


def _auto(task: _Task, guess: Guess) -> RodShape:
    started = perf_counter()
    passed: dict[str, str] = {}
    shape = _search(task, guess, passed)
    if guess is None and shape.stable is False and task.conservative:
        below = _descended(task, shape, passed)
        if below is not None:
            passed["from rest"] = f"an unstable shape, energy {shape.energy:.6g} J"
            shape = below
    return replace(shape, seconds=perf_counter() - started, passed_over=passed)


def _search(task: _Task, guess: Guess, passed: dict[str, str]) -> RodShape:
    """The first shape that shooting confirms; without one, that of the modes."""
    rough: RodShape | None = None
    routes: list[tuple[str, Callable[[], RodShape]]] = [
        ("modes", lambda: _modes(task, guess)),
        ("direct", lambda: _direct(task, guess, elements=_START)),
    ]
    for name, route in routes:
        start = _tried(name, route, passed)
        if start is None:
            continue
        rough = rough or start
        shape = _confirmed(task, start, passed, load_stepping=False)
        if shape is not None:
            passed[name] = f"gave the start; its own shape has an imbalance of {start.balance.imbalance:.1e} EI/L"
            return shape
    if guess is not None and (shape := _confirmed(task, guess, passed, load_stepping=False)) is not None:
        return shape
    if (shape := _confirmed(task, None, passed)) is not None:
        if guess is not None:
            passed["guess"] = "led no method to an equilibrium; the shape was reached from rest"
        return shape
    if rough is not None:
        return rough
    reasons = "; ".join(f"{name}: {why}" for name, why in passed.items())
    raise NotConverged(f"rod_equilibrium: no method finds an equilibrium of {task.problem.name!r}. {reasons}")


def _tried(name: str, route: Callable[[], RodShape], passed: dict[str, str]) -> RodShape | None:
    try:
        return route()
    except (NotConverged, BadInput) as error:
        passed[name] = str(error)
        return None


def _confirmed(task: _Task, start: Guess, passed: dict[str, str], **options: Any) -> RodShape | None:
    """The shape that shooting finds from ``start``, if the check from its strain alone agrees."""
    shape = _tried("shooting", lambda: _shooting(task, start, **options), passed)
    if shape is None:
        return None
    check = shape.balance
    if check.imbalance < _BALANCED * max(1.0, check.largest) and check.gap < _MET:
        passed.pop("shooting", None)
        return shape
    passed["shooting"] = f"imbalance of {check.imbalance:.1e} EI/L, end missed by {check.gap:.1e} (lengths, rad)"

    return None


def _descended(task: _Task, above: RodShape, passed: dict[str, str]) -> RodShape | None:
    """A stable equilibrium with less energy than a saddle, by the direct method from beside it."""
    L, turns = task.problem.length, [k for k in task.problem.component if k < 3]

    def beside(s: Array) -> Array:
        xi = above.strain(s)
        for k in turns:  # of no symmetry, so that it has a part along every motion that lowers the energy
            xi[:, k] += _NUDGE / L * np.cos((3.0 + k) * s / L + 0.7 * k)
        return xi

    start = _tried("direct", lambda: _direct(task, beside, elements=_START), passed)
    if start is None or not start.stable or start.energy > above.energy:
        return None
    shape = _confirmed(task, start, passed, load_stepping=False)
    return shape if shape is not None and shape.stable and _is_lower(shape, above) else None


def _is_lower(shape: RodShape, other: RodShape) -> bool:
    return shape.energy < other.energy - _LOWER * max(abs(other.energy), abs(shape.energy))


def _lower(task: _Task, shape: RodShape) -> RodShape | None:
    """An equilibrium with less energy: of a saddle by descent, else by the modes from rest."""
    if shape.stable is False and (below := _descended(task, shape, {})) is not None:
        return below
    rest = _tried("modes", lambda: _modes(task, None), {})
    # few functions find too much energy rather than too little: what they find below is below
    return rest if rest is not None and _is_lower(rest, shape) else None


def _say(shape: RodShape) -> None:
    """What is wrong with an equilibrium."""
    name, unstable = f"equilibrium of {shape.problem.name!r}", shape.stable is False
    if shape.lower is not None:
        message = (
            f"{name}: the shape near the guess has the energy {shape.energy:.6g} J{' and is unstable' * unstable}, and "
            f"{'below it' if unstable else 'from rest'} one with {shape.lower.energy:.6g} J is reached (result.lower): "
            "the guess may be on the wrong branch"
        )
    elif unstable:
        message = f"{name}: the shape found, energy {shape.energy:.6g} J, is unstable; try another guess=..."
    else:
        return
    warn(message)


# Side by side -----------------------------------------------------------------------------------------------------


@brief
@dataclass(frozen=True, eq=False)
class Comparison:
    """What each method says of one rod; ``print`` it for a table."""

    shapes: dict[str, RodShape]
    failures: dict[str, str]
    length: float

    def distance(self, a: str, b: str) -> float:
        """Distance of the tips that two methods find [m]."""
        return float(np.linalg.norm(self.shapes[a].tip[:3, 3] - self.shapes[b].tip[:3, 3]))

    def __str__(self) -> str:
        lines = [
            f"{'method':10} {'tip x, y, z [m]':36} {'energy [J]':>14} {'steps':>6} {'time [ms]':>10} {'imbalance':>10}"
            "  stable"
        ]
        for name, shape in self.shapes.items():
            x, y, z = shape.tip[:3, 3]
            verdict = "not said" if shape.stable is None else ("yes" if shape.stable else "no")
            lines.append(
                f"{name:10} {x:11.7f} {y:11.7f} {z:11.7f}  {shape.energy:14.8g} {shape.iterations:6d} "
                f"{1e3 * shape.seconds:10.1f} {shape.balance.imbalance:10.1e}  {verdict}"
            )
        lines += [f"{name:10} {message}" for name, message in self.failures.items()]
        return "\n".join(lines)


@guarded
def compare_methods(
    system: System,
    inputs: Inputs | None = None,
    methods: Sequence[MethodName] = ("modes", "shooting", "direct"),
    guess: Guess = None,
) -> Comparison:
    """The equilibrium of one rod by several methods, side by side: answers, iterations, times, imbalance, stability.

    >>> print(compare_methods(system, {tendon: 5.0}))
    """
    shapes: dict[str, RodShape] = {}
    failures: dict[str, str] = {}
    for method in methods:
        try:
            shapes[method] = rod_equilibrium(system, inputs, method, guess)
        except NotConverged as error:
            failures[method] = f"did not converge: {error}"
    return Comparison(shapes, failures, system.rod.length)
