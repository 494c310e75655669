"""Random held rods and frames: is the shape that `equilibrium` returns stable, and is the lowest among `equilibria`?

    python studies/branches.py --count 200 --seed 0 --starts 100

For each system: `equilibrium` returns a stable (or neutral) shape, or says that it does not, by a warning or an error;
what it calls stable is pushed at random and let go, and must come back to the same potential. The lowest of
`equilibria` is compared with the lowest of ``--starts`` random starts by another method: for one rod multiple shooting
(:func:`elver.one_rod.solve_rod`), which has no strain functions; for frames, which it does not know, a penalty on the
closures minimised by SciPy from as many random strains.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

import elver as ev
from elver.dynamics.core import core
from elver.lie import so3
from elver.one_rod.problem import RodProblem
from elver.statics.equilibrium import Solver
from elver.statics.moving import at_rest
from elver.statics.search import Search

SAME = 1e-3  # part of the larger potential: truncation of the strain functions, far below the distance of two shapes


# Systems --------------------------------------------------------------------------------------------------------------


def reachable(random: np.random.Generator, length: float) -> tuple[np.ndarray, np.ndarray]:
    """A place within the length of a rod that begins at the origin along x, and an orientation."""
    direction = random.normal(size=3)
    direction[0] = abs(direction[0]) + 0.5
    return random.uniform(0.3, 0.95) * length * direction / np.linalg.norm(direction), so3.exp(random.normal(size=3))


def held_rod(seed: int) -> ev.System:
    """A rod clamped at its base, its tip held in place or clamped; light or heavy."""
    random = np.random.default_rng(seed)
    material = ev.Material(young=10 ** random.uniform(6.0, 9.0), poisson=0.4, density=1000.0)
    planar = random.random() < 0.3
    basis = ev.Legendre.planar(12) if planar else ev.Legendre.kirchhoff(12)
    rod = ev.Rod(1.0, ev.Circle(0.01), material, basis, name="rod")
    place, R = reachable(random, 1.0)
    if planar:
        place[2], R = 0.0, so3.exp(np.array([0.0, 0.0, random.normal()]))
    clamp: dict[str, object] = {}
    if random.random() < 0.6:
        clamp = {"orientation": R, **({"orientation_axes": "z"} if planar else {})}
    position = (place[0], place[1], None if planar else place[2])
    hold = ev.Hold("tip", position=position, name="tip", **clamp)
    weight = ev.Gravity((0.0, -9.81, 0.0)) if planar else ev.Gravity()
    return ev.System(ev.Mechanism.clamped(rod, holds=[hold]), loads=[weight] if random.random() < 0.5 else [])


def frame(seed: int) -> ev.System:
    """Two or three rods welded at corners, clamped at one end and pinned or clamped at the other, with dead forces."""
    random = np.random.default_rng(10_000 + seed)
    material = ev.Material(young=10 ** random.uniform(6.0, 8.0), poisson=0.4, density=1000.0)
    count = int(random.integers(2, 4))
    rods = [
        ev.Rod(random.uniform(0.3, 0.6), ev.Circle(8e-3), material, ev.Legendre.kirchhoff(6), name=f"rod{k + 1}")
        for k in range(count)
    ]
    joints: list[ev.Fixed] = [ev.Fixed("world", (rods[0], "base"))]
    for one, other in pairwise(rods):
        corner = np.eye(4)
        corner[:3, :3] = so3.exp(random.normal(size=3))
        joints.append(ev.Fixed(ev.Frame(one, "tip", corner), (other, "base")))
    free = ev.System(ev.Mechanism(joints))
    foot = ev.poses(free, free.rest(), rods[-1])[-1]
    place = foot[:3, 3] * random.uniform(0.75, 1.0) + 0.05 * random.normal(size=3)
    clamp = {"orientation": foot[:3, :3]} if random.random() < 0.5 else {}
    EI = rods[0].stiffness([0.0])[0, 2]
    loads = [ev.Gravity()]
    for rod in rods[: count - 1]:
        force = random.uniform(0.0, 20.0) * EI / rod.length**2 * random.normal(size=3)
        loads.append(ev.PointWrench(rod, force=tuple(force)))
    hold = ev.Hold("tip", position=tuple(place), name="foot", part=rods[-1], **clamp)
    return ev.System(ev.Mechanism(joints, holds=[hold]), loads=loads)


# Judges ---------------------------------------------------------------------------------------------------------------


def by_shooting(system: ev.System, starts: int, seed: int = 0) -> float:
    """Least potential [J] of the equilibria that shooting finds from random linear curvatures."""
    random, problem = np.random.default_rng(seed), RodProblem.of(system, None)
    L, free = problem.length, list(problem.component)
    lowest = np.inf
    for _ in range(starts):
        ends = random.normal(size=(2, 6)) * random.choice([1.5, 3.0, 6.0]) / L

        def strain(s: np.ndarray, ends: np.ndarray = ends) -> np.ndarray:
            xi = problem.at(s).rest_strain.copy()
            for k in (k for k in free if k < 3):
                xi[:, k] += (0.5 if k == 0 else 1.0) * (ends[0, k] + ends[1, k] * (2.0 * s / L - 1.0))
            return xi

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = ev.solve_rod(problem, guess=strain, load_stepping=False)
        except (ev.NotConverged, ev.BadInput, np.linalg.LinAlgError):
            continue
        lowest = min(lowest, found.energy)
    return lowest


def by_penalty(system: ev.System, starts: int, seed: int = 0) -> float:
    """Least potential [J] that BFGS finds from random strains, closures by a penalty that grows; then made exact."""
    random, kernels = np.random.default_rng(seed), core(system)
    u = system.input_vector(system.signals(None), 0.0)
    scale, energy = kernels.assembly.scale[kernels.coordinates - kernels.n :], kernels.assembly.energy
    search = Search(system, u, 0.0, Solver(system, 1e-10, 40))
    lowest = np.inf
    a = at_rest(system.rest())

    def value(x: np.ndarray, weight: float) -> tuple[float, np.ndarray]:
        a.q[0] = x * scale
        a.multipliers[:] = 0.0
        gap = kernels.residual(a, u, jets=1)[kernels.coordinates :]
        a.multipliers[:] = weight * energy * gap
        R = kernels.residual(a, u, jets=1)[: kernels.coordinates]
        state = system.rest().with_(q=a.q[0].copy())
        return total(system, state) / energy + 0.5 * weight * float(gap @ gap), scale * R / energy

    for _ in range(starts):
        x = random.normal(size=kernels.n) * random.choice([0.5, 1.5, 3.0])
        for weight in (1e2, 1e4):
            x = minimize(value, x, (weight,), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
        state = system.rest().with_(q=x * scale)
        found = search.newton(at_rest(state))
        if found is not None and found.stable is not False:
            lowest = min(lowest, total(system, found.state))
    return lowest


def total(system: ev.System, state: ev.State) -> float:
    """Elastic energy, weight and dead forces [J], from the formula of each."""
    dead = [load for load in system.loads if isinstance(load, ev.PointWrench)]
    work = sum(float(np.dot(load.force, ev.poses(system, state, load.part)[-1, :3, 3])) for load in dead)
    return ev.energy(system, state).total - work


def comes_back(found: ev.Equilibrium, seed: int = 0) -> bool:
    """True where the shape, pushed a little at random and let go, settles at no less potential."""
    system, random = found.system, np.random.default_rng(seed)
    kernels = core(system)
    search = Search(system, found.inputs, 0.0, Solver(system, 1e-10, 40))
    scale = kernels.assembly.scale[kernels.coordinates - kernels.n :]
    a = at_rest(found.state)
    a.q[0] += 1e-3 * random.normal(size=kernels.n) * scale
    again = search.descend(a)
    return again is not None and again.potential > found.potential - 1e-6 * max(abs(found.potential), 1e-9)


# The study ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What was seen of one system."""

    said: str
    """"stable", "neutral", "warned", "refused", or "wrong" where a stable shape does not come back."""
    first: float  # potential of `equilibrium` [J]
    lowest: float  # of `equilibria`
    other: float  # of the other method
    seconds: tuple[float, float, float]

    @property
    def agrees(self) -> bool:
        """True where the other method finds nothing lower."""
        return bool(self.lowest <= self.other + SAME * max(abs(self.lowest), abs(self.other)))


def verdict_of(system: ev.System) -> tuple[str, ev.Equilibrium | None]:
    """What `equilibrium` says of a system, and its answer."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ev.ElverWarning)
        try:
            found = ev.equilibrium(system)
        except (ev.NotConverged, ev.BadInput):
            return "refused", None
    if found.stable is False:
        return ("warned" if any("unstable" in str(one.message) for one in heard) else "wrong"), found
    if not comes_back(found):
        return "wrong", found
    return ("stable" if found.stable is True else "neutral"), found


def examine(system: ev.System, starts: int, searches: int = 40) -> Outcome:
    """One system: what is said of it, and the lowest potential by both methods."""
    clock = [time.process_time()]
    said, found = verdict_of(system)
    clock.append(time.process_time())
    first = np.nan if found is None else total(system, found.state)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ev.ElverWarning)
            lowest = total(system, ev.equilibria(system, starts=searches)[0].state)
    except ev.NotConverged:
        lowest = np.inf
    clock.append(time.process_time())
    single = len(system.mechanism.rods) == 1
    other = (by_shooting if single else by_penalty)(system, starts) if starts else np.inf
    clock.append(time.process_time())
    return Outcome(said, first, lowest, other, tuple(np.diff(clock)))  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="systems, every other one a frame")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--starts", type=int, default=100, help="random starts of the other method; 0 leaves it out")
    parser.add_argument("--kind", choices=("both", "rods", "frames"), default="both")
    options = parser.parse_args()
    outcomes = []
    for k in range(options.seed, options.seed + options.count):
        rods = options.kind == "rods" or (options.kind == "both" and k % 2 == 0)
        one = examine(held_rod(k) if rods else frame(k), options.starts)
        outcomes.append(one)
        print(
            f"{k:4d} {'rod' if rods else 'frame':5} {one.said:8} first {one.first:11.5g} J, "
            f"lowest {one.lowest:11.5g} J, other {one.other:11.5g} J {'' if one.agrees else '<-- lower'} "
            f"({one.seconds[0]:.1f}, {one.seconds[1]:.1f}, {one.seconds[2]:.1f} s)",
            flush=True,
        )
    said = Counter(one.said for one in outcomes)
    print("\n`equilibrium`:", ", ".join(f"{count} {word}" for word, count in said.most_common()), f"of {len(outcomes)}")
    if options.starts:
        agree = sum(one.agrees for one in outcomes)
        print(f"lowest of `equilibria` is the lowest known: {agree} of {len(outcomes)}")


if __name__ == "__main__":
    main()
