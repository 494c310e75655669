"""One rod, several methods: the same system through strain modes, shooting and direct transcription.

    "modes"      coordinates of the strain, as for every robot (:func:`elver.statics.equilibrium`)
    "indirect"   conditions of optimality by multiple shooting, exact in space (:func:`solve_rod`); stable without
                 conjugate points
    "direct"     energy minimised over strains in elements, with Ipopt (:func:`direct_equilibrium`)

They share nothing but the description of the rod, so that each is a judge of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics import nodes, poses
from elver.errors import BadInput, NotConverged
from elver.optimal.conjugate import conjugate_points
from elver.optimal.direct import direct_equilibrium
from elver.optimal.indirect_statics import solve_rod
from elver.optimal.problem import RodProblem
from elver.statics import equilibrium
from elver.system import Inputs, System

__all__ = ["Comparison", "RodShape", "compare_methods", "rod_equilibrium"]

Array: TypeAlias = NDArray[np.float64]
MethodName: TypeAlias = Literal["modes", "indirect", "direct"]


@dataclass(frozen=True, eq=False)
class RodShape:
    """An equilibrium of one rod, whatever found it."""

    method: str
    s: Array  # (n,) m
    g: Array  # (n, 4, 4) poses, world from section
    xi: Array  # (n, 6) strains
    stress: Array  # (n, 6) Λ [N m, N]; not a number where the method does not give it
    energy: float  # J, potential: elastic, actuators, weight and dead forces
    iterations: int
    seconds: float
    stable: bool | None  # None where the method does not say
    found: Any  # the result of the method itself

    @property
    def tip(self) -> Array:
        """Pose of the tip, (4, 4)."""
        return np.array(self.g[-1])


def rod_equilibrium(
    system: System, inputs: Inputs | None = None, method: MethodName = "modes", **options: Any
) -> RodShape:
    """Equilibrium of a system of one rod by the method of your choice; ``options`` go to it."""
    known: dict[str, Callable[..., RodShape]] = {"modes": _modes, "indirect": _indirect, "direct": _direct}
    if method not in known:
        raise BadInput(f"method = {method!r}: choose one of {', '.join(map(repr, known))}")
    return known[method](system, inputs, options)


def _modes(system: System, inputs: Inputs | None, options: dict[str, Any]) -> RodShape:
    problem, started = RodProblem.of(system, inputs), perf_counter()
    found = equilibrium(system, inputs=inputs, **options)
    seconds = perf_counter() - started
    rod, s = system.rod, nodes(system)
    q = found.state.q[system.coordinates(rod)]
    g, xi = poses(system, found.state), rod.strain(s, q)
    free = list(problem.component)
    stress = np.full((s.size, 6), np.nan)
    stress[:, free] = problem.at(s).stress(xi)[0][:, free]
    on = rod.grid.weights > 0.0
    points, weights = rod.grid.s[on], rod.grid.weights[on]
    sections, strain = problem.at(points), rod.strain(points, q)
    change = (strain - sections.rest_strain)[:, free]
    density = 0.5 * np.sum(sections.stiffness[:, free] * change**2, axis=1) + sections.actuation_energy(strain)
    at = np.array([found.pose(rod, float(point)) for point in points])
    energy = float(weights @ (density + sections.load_energy(at)))
    energy -= float(problem.tip_wrench.dead[3:] @ g[-1, :3, 3] + problem.base_wrench.dead[3:] @ g[0, :3, 3])
    return RodShape("modes", s, g, xi, stress, energy, found.iterations, seconds, found.stable, found)


def _indirect(system: System, inputs: Inputs | None, options: dict[str, Any]) -> RodShape:
    started = perf_counter()
    found = solve_rod(system, inputs, **options)
    seconds = perf_counter() - started
    try:
        stable = conjugate_points(found).stable
    except BadInput:  # loads without a potential have no second variation
        stable = None
    return RodShape(
        "indirect", found.s, found.g, found.xi, found.stress, found.energy, found.iterations, seconds, stable, found
    )


def _direct(system: System, inputs: Inputs | None, options: dict[str, Any]) -> RodShape:
    started = perf_counter()
    found = direct_equilibrium(system, inputs, **options)
    seconds = perf_counter() - started
    return RodShape(
        "direct", found.s, found.g, found.xi, found.stress, found.energy, found.iterations, seconds, found.stable, found
    )


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
        lines = [f"{'method':10} {'tip x, y, z [m]':36} {'energy [J]':>14} {'steps':>6} {'time [ms]':>10}  stable"]
        for name, shape in self.shapes.items():
            x, y, z = shape.tip[:3, 3]
            verdict = "not said" if shape.stable is None else ("yes" if shape.stable else "no")
            lines.append(
                f"{name:10} {x:11.7f} {y:11.7f} {z:11.7f}  {shape.energy:14.8g} {shape.iterations:6d} "
                f"{1e3 * shape.seconds:10.1f}  {verdict}"
            )
        lines += [f"{name:10} {message}" for name, message in self.failures.items()]
        return "\n".join(lines)


def compare_methods(
    system: System, inputs: Inputs | None = None, methods: Sequence[MethodName] = ("modes", "indirect", "direct")
) -> Comparison:
    """The equilibrium of one rod by several methods, side by side: answers, iterations, times, stability.

    >>> print(compare_methods(system, {tendon: 5.0}))
    """
    shapes: dict[str, RodShape] = {}
    failures: dict[str, str] = {}
    for method in methods:
        try:
            shapes[method] = rod_equilibrium(system, inputs, method)
        except NotConverged as error:
            failures[method] = f"did not converge: {error}"
    return Comparison(shapes, failures, system.rod.length)
