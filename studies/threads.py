"""Whether runs of one system really go side by side in threads, and what keeps them apart where they do not.

Wall time of two runs one after the other and in two threads, of one system; the ratio is 0.5 where nothing is shared
and 1 where they wait for each other all the time. Beside it the part of a run that is spent in compiled code, which
goes without Python's lock: all else (building chunks, booking energy, the dataset) has it. With f that part, two
threads can at best come to max(0.5, 1 - f). Results are compared bit by bit. Run it on a quiet machine.

    python studies/threads.py --duration 10 --runs 2 --best 5
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import xarray as xr

import elver as ev
from elver.dynamics.core import Core
from elver.integrators.method import Method
from elver.kernels.build import entry

METHODS = (ev.Conserving(), ev.GeneralizedAlpha(rho_inf=0.6), ev.GaussLegendre4())


def tendon_arm() -> tuple[ev.System, dict[str, float]]:
    """A soft arm that is let go."""
    silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0, damping=1e-3)
    arm = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=4, torsion=2), name="arm")
    tendon = ev.Tendon(arm, path=ev.parallel(y=0.0, z=6e-3), name="pull")
    return ev.System(ev.Mechanism.clamped(arm), actuators=[tendon], loads=[ev.Gravity()]), {"pull": 1.0}


def chain() -> tuple[ev.System, dict[str, float]]:
    """Thirty pieces of wire under their weight, by elimination along the tree."""
    wire = ev.Material(young=1e8, poisson=0.4, density=1000.0, damping=1e-3)
    rods = [ev.Rod(0.02, ev.Circle(2e-3), wire, ev.Legendre.kirchhoff(2), name=f"rod{k}") for k in range(30)]
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((rods[k], "tip"), (rods[k + 1], "base")) for k in range(29)]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()]), {}


def unlocked_part(run: Callable[[], xr.Dataset]) -> float:
    """Part of the wall time of a run that compiled solvers and observations take."""
    spent = 0.0

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def timed_call(*arguments: Any) -> Any:
            nonlocal spent
            began = time.perf_counter()
            found = call(*arguments)
            spent += time.perf_counter() - began
            return found

        return timed_call

    with (
        mock.patch.object(Core, "solve", timed(Core.solve)),
        mock.patch.object(entry, "observe_states", timed(entry.observe_states)),
    ):
        began = time.perf_counter()
        run()
        return spent / (time.perf_counter() - began)


def wall(work: Callable[[], Any], best: int) -> float:
    """Least wall time [s] of several."""
    found = []
    for _ in range(best):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def main() -> None:
    """A line per robot and method."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--duration", type=float, default=5.0, help="s, of each run")
    options.add_argument("--runs", type=int, default=2, help="runs, and threads")
    options.add_argument("--best", type=int, default=5, help="repetitions, of which the best counts")
    given = options.parse_args()
    warnings.simplefilter("ignore", ev.ElverWarning)
    print(f"{given.runs} runs of {given.duration:g} s at 5 ms: wall time one after the other and in threads")
    for make in (tendon_arm, chain):
        system, held = make()
        start = ev.equilibrium(system, held)
        for method in METHODS:
            if isinstance(method, ev.GaussLegendre4) and make is chain:
                continue  # dense, minutes

            def run(method: Method = method, system: ev.System = system, start: ev.State = start.state) -> xr.Dataset:
                return ev.simulate(system, start, given.duration, 5e-3, method)

            wanted = run()["q"].values
            with ThreadPoolExecutor(given.runs) as pool:
                together = list(pool.map(lambda _: run()["q"].values, range(given.runs)))
                equal = all(np.array_equal(one, wanted) for one in together)
                alone = wall(lambda: [run() for _ in range(given.runs)], given.best)
                beside = wall(lambda: list(pool.map(lambda _: run(), range(given.runs))), given.best)
            print(
                f"  {make.__name__:11s} {type(method).__name__:16s} {alone:7.3f} s {beside:7.3f} s, ratio "
                f"{beside / alone:.2f}, compiled {unlocked_part(run):.2f}, {'bit-equal' if equal else 'DIFFERENT'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
