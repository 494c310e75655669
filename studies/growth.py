"""How the cost of Newton's work grows with a robot: rods in a chain, a star and a comb, elements in one rod.

For each size: processor time of one residual, of one matrix with its factors, of one solve, of a step of a run and of
an equilibrium, along the tree; memory that the process holds; and the exponent p in time ~ size^p between the sizes.

    python studies/growth.py --sizes 10 30 100 300 1000 --shapes chain star comb hats
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np

import elver as ev
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.kernels.build import entry

STEP, STEPS = 1e-3, 20  # s
RADIUS = 3e-4
WIRE = ev.Material(young=1e11, poisson=0.3, density=8000.0, damping=1e-4)


def _rod(length: float, name: str) -> ev.Rod:
    return ev.Rod(length, ev.Circle(RADIUS), WIRE, ev.Legendre.kirchhoff(2), name=name)


def chain(count: int) -> ev.System:
    """0.5 m of wire in ``count`` pieces, clamped, under its weight."""
    rods = [_rod(0.5 / count, f"rod{k}") for k in range(count)]
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((inner, "tip"), (outer, "base")) for inner, outer in pairwise(rods)]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def star(count: int) -> ev.System:
    """``count`` wires of 0.2 m around a hub on a hinge with a spring."""
    hub = ev.RigidBody.cylinder(0.05, 0.05, mass=0.1, axis="z", name="hub")
    pivot = ev.Revolute("world", hub, name="pivot")
    joints: list[ev.Revolute | ev.Fixed] = [pivot]
    for k, angle in enumerate(2.0 * np.pi * np.arange(count) / count):
        g, c, s = np.eye(4), np.cos(angle), np.sin(angle)
        g[:2, :2], g[:2, 3] = [[c, -s], [s, c]], [0.05 * c, 0.05 * s]
        joints.append(ev.Fixed((hub, g), (_rod(0.2, f"rod{k}"), "base")))
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity(), ev.JointSpring(pivot, 1.0)])


def comb(count: int) -> ev.System:
    """A back of half the pieces, clamped, with a tooth of 2 cm at the end of each."""
    back = [_rod(1.0 / count, f"back{k}") for k in range(count // 2)]
    side = np.eye(4)
    side[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    joints = [ev.Fixed("world", (back[0], "base"))]
    joints += [ev.Fixed((inner, "tip"), (outer, "base")) for inner, outer in pairwise(back)]
    joints += [ev.Fixed(ev.Frame(rod, "tip", side), (_rod(0.02, f"tooth{k}"), "base")) for k, rod in enumerate(back)]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def hats(count: int) -> ev.System:
    """0.5 m of wire as one rod of ``count`` linear elements."""
    rod = ev.Rod(0.5, ev.Circle(RADIUS), WIRE, ev.PiecewiseLinear.kirchhoff(count), name="rod")
    return ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])


SHAPES: dict[str, Callable[[int], ev.System]] = {"chain": chain, "star": star, "comb": comb, "hats": hats}


def cpu(call: Callable[[], object], repeats: int = 3) -> float:
    """Least processor time [s] of a call."""
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return float(best)


def times(system: ev.System) -> list[float]:
    """Processor time [ms] of the assembly, and of one residual, factors, solve, step and equilibrium."""
    began = time.process_time()
    kernels = core(system)
    table = kernels.table
    assembled = time.process_time() - began
    a, random = arrays(system.rest()), np.random.default_rng(0)
    offset = kernels.coordinates - kernels.n
    a.q[0] += 1e-2 * random.normal(size=kernels.n) * kernels.assembly.scale[offset:]
    u = system.input_vector(system.signals(None), 0.0)
    weights = np.array([1.0, 2.0 / STEP, 4.0 / STEP**2])
    columns = np.vstack([w * np.eye(6) for w in weights])
    right = random.normal(size=kernels.coordinates)
    state = kernels.robot, a.base, a.twist, a.q, a.multipliers, u

    def factors() -> None:
        entry.evaluate_frames(kernels.robot, a.base, a.multipliers, u, 3)
        entry.home(kernels.robot, table, a.q, a.multipliers, u, columns, weights, 3)

    found = [assembled, cpu(lambda: entry.evaluate_residual(*state, 3)), cpu(factors)]
    found.append(cpu(lambda: entry.back(kernels.robot, table, 3, right.copy())))

    def run(steps: int) -> float:
        return cpu(lambda: ev.simulate(system, None, steps * STEP, STEP, ev.GeneralizedAlpha(0.6), start="given"), 2)

    found.append((run(2 * STEPS) - run(STEPS)) / STEPS)
    found.append(cpu(lambda: ev.equilibrium(system), 2))
    return [1e3 * one for one in found]


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 30, 100, 300, 1000])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    options = parser.parse_args()
    warnings.simplefilter("ignore", ev.UnitWarning)  # pieces of a wire become as short as they are thick
    names = ("assembly", "residual", "factors", "solve", "step", "equilibrium")
    for shape in options.shapes:
        print(f"\n{shape:8s}{'unknowns':>10s}" + "".join(f"{name + ' ms':>16s}" for name in names) + f"{'MB':>8s}")
        rows = []
        for size in options.sizes:
            system = SHAPES[shape](size)
            rows.append(times(system))
            held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            line = "".join(f"{one:16.3f}" for one in rows[-1])
            print(f"{size:8d}{system.n:10d}{line}{held:8.0f}", flush=True)
        if len(rows) > 1:
            powers = np.polyfit(np.log(options.sizes), np.log(np.maximum(rows, 1e-6)), 1)[0]
            print(f"{'power':>18s}" + "".join(f"{power:16.2f}" for power in powers))


if __name__ == "__main__":
    main()
