"""How good the error estimates of check_resolution are: random statics and runs, against much finer solutions.

    python studies/resolution.py --count 50 --seed 0

Each case has one or two rods with random sections, rest shapes, strain sets and few functions, under random loads and
actuators, some of which begin or end inside a rod. The true error is the distance from the same system with many
functions between breaks at every kink, many nodes and, for runs, a much smaller step.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

import elver as ev
from elver.dynamics.refinement import Refinement, refined_by
from elver.dynamics.segments import places


@dataclass(frozen=True)
class Case:
    """One comparison: errors of the largest position [m] over the length, estimated and true."""

    label: str
    estimate: float
    true: float
    seconds: float
    advice: str

    @property
    def ratio(self) -> float:
        """Estimate over truth."""
        return self.estimate / max(self.true, 1e-300)


def random_rod(random: np.random.Generator, name: str, functions: int, damping: float | None) -> ev.Rod:
    """A rod, soft or stiff, straight or bent at rest, round, tapered or with a jump that nobody told of."""
    length = random.uniform(0.2, 1.0)
    slenderness = random.uniform(40.0, 120.0)
    radius = length / slenderness
    kind = random.choice(["constant", "taper", "jump"], p=[0.6, 0.3, 0.1])
    shape: object = radius
    if kind == "taper":
        shape = ev.Taper(1.3 * radius, 0.7 * radius)
    elif kind == "jump":
        at = random.uniform(0.3, 0.7) * length
        shape = lambda s: np.where(s < at, 1.2 * radius, 0.9 * radius)  # noqa: E731
    rest = None
    if random.random() < 0.4:
        size, waves = random.normal(size=3) * 2.0 / length, random.uniform(0.5, 1.5)
        rest = lambda s: np.outer(np.cos(waves * np.pi * s / length), size)  # noqa: E731
    # in runs, stretch and shear vibrate faster than any step in use: nothing of theirs is to be seen
    weights = [0.5, 0.15, 0.15, 0.1, 0.1] if damping is None else [0.7, 0.0, 0.0, 0.15, 0.15]
    family = random.choice(["kirchhoff", "extensible", "reissner", "constant", "linear"], p=weights)
    if family == "constant":
        basis: object = ev.PiecewiseConstant.kirchhoff(2 * functions)
    elif family == "linear":
        basis = ev.PiecewiseLinear.kirchhoff(functions)
    else:
        basis = getattr(ev.Legendre, family)(functions)
    material = ev.Material(young=10.0 ** random.uniform(6.0, 9.0), poisson=0.4, density=1100.0, damping=damping or 0.0)
    return ev.Rod(length, ev.Circle(shape), material, basis, rest=rest, name=name)


def random_system(
    random: np.random.Generator, damping: float | None = None, most: int = 6, two: float = 0.3
) -> tuple[ev.System, dict]:
    """A clamped rod or two, with loads in the range of moderate to large bending, and their inputs."""
    functions = int(random.integers(2, most + 1))
    rods = [random_rod(random, "a", functions, damping)]
    if random.random() < two:
        rods.append(random_rod(random, "b", functions, damping))
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((rods[0], "tip"), (rods[1], "base"))] if len(rods) > 1 else []
    loads: list = []
    actuators: list = []
    inputs: dict = {}
    # forces of the softest rod, which all of them bend: those of a stiffer one would wind it up
    softest = min(rod.stiffness([rod.length])[0, 1] for rod in rods)
    unit = softest / sum(rod.length for rod in rods) ** 2
    for rod in rods:
        EI = rod.stiffness([rod.length / 2])[0, 1]
        direction = random.normal(size=3)
        choice = random.random()
        if choice < 0.5:
            force = tuple(random.uniform(0.3, 3.0) * unit * direction)
            loads.append(ev.PointWrench(rod, force=force, name=f"f-{rod.name}"))
        elif choice < 0.75:
            at = random.uniform(0.3, 0.8) * rod.length
            force = tuple(random.uniform(0.5, 3.0) * unit * direction)
            loads.append(ev.PointWrench(rod, at=at, force=force, name=f"m-{rod.name}"))
        else:
            half = rod.section.half_widths([rod.length], rod.length)[0][0]
            end = random.choice([rod.length, random.uniform(0.4, 0.9) * rod.length])
            tendon = ev.Tendon(rod, ev.parallel(y=0.6 * half), name=f"t-{rod.name}", end=end)
            actuators.append(tendon)
            inputs[tendon] = random.uniform(0.3, 2.0) * EI / (rod.length * 0.6 * half)
    if random.random() < 0.3:
        weight = 9.81 * sum(rod.mass for rod in rods)
        scale = random.uniform(0.5, 5.0) * unit / weight
        loads.append(ev.Gravity(acceleration=(0.0, 0.0, -9.81 * scale)))
    return ev.System(ev.Mechanism(joints), actuators, loads), inputs


def reference(system: ev.System, functions: int, nodes: int) -> Refinement:
    """Many functions between breaks at all kinks and jumps."""
    stations, breaks = places(system)
    exchange = {}
    for rod in system.mechanism.rods:
        inside = [*(place.s for place in (*stations[rod], *breaks[rod])), *rod.hidden_jumps]
        cut = tuple(sorted({round(s, 12) for s in inside if 1e-6 < s / rod.length < 1.0 - 1e-6}))
        free = [n > 0 for n in rod.counts]
        names = ("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")
        basis = ev.Legendre(**{name: functions for name, on in zip(names, free, strict=True) if on})
        exchange[rod] = replace(rod, basis=basis, breaks=cut, nodes=nodes * (len(cut) + 1))
    return refined_by(system, exchange)


def shape(found: ev.Equilibrium) -> np.ndarray:
    """Positions at ten sections of each rod."""
    parts = found.system.mechanism.rods
    return np.array([found.pose(rod, s)[:3, 3] for rod in parts for s in np.linspace(0.0, rod.length, 11)[1:]])


def statics(seed: int) -> Case:
    """One random equilibrium."""
    random = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        system, inputs = random_system(random)
        found = ev.equilibrium(system, inputs)
        began = time.perf_counter()
        about = ev.check_resolution(found)
        spent = time.perf_counter() - began
        names = dict(zip(system.channel_names, found.inputs, strict=False))
        fine = reference(system, 12, 40)
        near = replace(found, system=fine.system, state=fine.state(found.state))  # the same branch, not another one
        finer = ev.equilibrium(fine.system, names, near)
    true = np.max(np.linalg.norm(shape(found) - shape(finer), axis=1))
    length = about.length
    kinds = "+".join(type(rod.basis).__name__ for rod in system.mechanism.rods)
    label = f"statics {seed} {kinds}({max(max(rod.counts) for rod in system.mechanism.rods)})"
    return Case(label, about.position / length, true / length, spent, about.advice)


def runs(seed: int, steps: bool = True) -> Case:
    """One random run: a period or two of the first vibration after a sudden load, against a quarter of the step.

    Of one rod, so that fifty take minutes.
    """
    random = np.random.default_rng(10_000 + seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        system, inputs = random_system(random, damping=float(random.choice([0.0, 1e-3, 1e-2])), most=4, two=0.0)
        names = {actuator.name: value for actuator, value in inputs.items()}
        period = 1.0 / ev.modes(system, system.rest(), dict.fromkeys(system.channels, 0.0)).frequencies[0]
        step, periods = period / random.uniform(20.0, 50.0), random.uniform(0.5, 2.0)
        options = {"duration": periods * period, "inputs": names, "method": ev.ImplicitMidpoint()}
        run = ev.simulate(system, step=step, **options)
        began = time.perf_counter()
        about = ev.check_resolution(run, system=system, steps=steps)
        spent = time.perf_counter() - began
        finer = ev.simulate(reference(system, 8, 20).system, step=step / 4.0, **options)
    rods = system.mechanism.rods
    at = run["time"].values[1:]
    true = 0.0
    for rod in rods:
        s = np.linspace(0.0, rod.length, 6)[1:]
        one, two = (ev.sample(r, rod.name, s, at)["position"].values for r in (run, finer))
        true = max(true, float(np.linalg.norm(one - two, axis=2).max()))
    kinds = "+".join(type(rod.basis).__name__ for rod in rods)
    label = f"run {seed} {kinds}({max(max(rod.counts) for rod in rods)})"
    return Case(label, about.position / about.length, true / about.length, spent, about.advice)


def table(cases: list[Case], floor: float = 1e-9) -> str:
    """Closing lines: how many estimates are near; errors below ``floor`` of the length are rounding, and equal."""
    judged = [max(case.estimate, floor) / max(case.true, floor) for case in cases]
    near = sum(1 / 3 <= ratio <= 3 for ratio in judged)
    low = sum(ratio < 0.1 for ratio in judged)
    lines = [
        f"{len(cases)} cases: {near} within a factor 3 ({100 * near / len(cases):.0f} %), {low} below a tenth; "
        f"ratio estimate/true from {min(judged):.2g} to {max(judged):.2g}, median {np.median(judged):.2g}"
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=["statics", "runs", "records", "both"], default="both")
    options = parser.parse_args()
    for kind in ("statics", "runs") if options.kind == "both" else (options.kind,):
        cases = []
        for k in range(options.count):
            case = {"statics": statics, "runs": runs, "records": lambda k: runs(k, steps=False)}[kind](options.seed + k)
            cases.append(case)
            figures = f"estimate {case.estimate:.2e} true {case.true:.2e} ratio {case.ratio:.2g}"
            print(f"{case.label:50s} {figures} {1e3 * case.seconds:.0f} ms; {case.advice}", flush=True)
        print(table(cases))


if __name__ == "__main__":
    main()
