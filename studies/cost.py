"""What the default method costs beside Newmark at equal error: released rod, flying rods, RFRFR, six rods.

Each robot runs with each method at steps from 20 ms down; the error is the largest distance of its tips, over the
length of a rod, from a run of GaussLegendre4 at 1 ms with the same functions and nodes. The last columns compare the
processor time at the error that Newmark has at 5 ms, on straight lines between points in logarithms.

    python studies/cost.py
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import elver as ev

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import gotelli_benches as benches
from benchmarks import robots
from benchmarks.common_rod import common_rod

METHODS: dict[str, Callable[[], Any]] = {
    "Newmark": ev.Newmark,
    "ImplicitMidpoint": ev.ImplicitMidpoint,
    "Conserving": ev.Conserving,
    "GeneralizedAlpha(0.6)": lambda: ev.GeneralizedAlpha(0.6),
}
STEPS = (2e-2, 1e-2, 5e-3, 2.5e-3, 1.25e-3)
INSTANT = 2e-2  # tips are compared every 20 ms [s]

Problem = tuple[ev.System, Any, dict[str, Any], float]  # system, start, inputs, duration [s]


def problems() -> dict[str, Problem]:
    """The robots, by name."""
    rod = common_rod(ev.Legendre.reissner(4), 8, ev.Magnus(4))
    released = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
    loop = robots.rfrfr(3, 6, ev.Magnus(6))
    page = robots.six_rods()
    six = page.robot()
    return {
        "released rod": (released, released.rest(), {}, 2.0),
        "soft flying": (*benches.soft_flying(6, ev.Magnus(4)), 4.0),
        "stiff flying": (*benches.stiff_flying(6, ev.Magnus(4)), 4.0),
        "RFRFR": (loop, ev.equilibrium(loop), robots.TORQUES, 6.0),
        "six rods": (six, ev.equilibrium(six), page.slide_signals(2.0), 2.0),
    }


def tips(problem: Problem, method: Any, step: float) -> tuple[np.ndarray, float]:
    """Tips of all rods every INSTANT (times, rods, 3), and the processor time [s], the better of two runs."""
    system, start, inputs, duration = problem
    seconds = []
    for _ in range(2):
        began = time.process_time()
        run = ev.simulate(system, start, duration, step, method, inputs, every=round(INSTANT / step))
        seconds.append(time.process_time() - began)
    names = [rod.name for rod in system.mechanism.rods]
    return np.stack([run[f"{name}/tip/position"].values for name in names], axis=1), min(seconds)


def at_error(errors: list[float], seconds: list[float], wanted: float) -> float:
    """Time at an error, on the line through its neighbours in logarithms, or beyond the last two."""
    order = np.argsort(errors)
    e, s = np.log(np.array(errors)[order]), np.log(np.array(seconds)[order])
    k = int(np.clip(np.searchsorted(e, np.log(wanted)), 1, e.size - 1))
    slope = (s[k] - s[k - 1]) / (e[k] - e[k - 1])
    return float(np.exp(s[k - 1] + slope * (np.log(wanted) - e[k - 1])))


def main() -> None:
    """Run all and print the table."""
    warnings.simplefilter("ignore")
    for name, problem in problems().items():
        longest = max(rod.length for rod in problem[0].mechanism.rods)
        right, _ = tips(problem, ev.GaussLegendre4(), 1e-3)
        found: dict[str, tuple[list[float], list[float]]] = {}
        for label, method in METHODS.items():
            errors, seconds = [], []
            for step in STEPS:
                try:
                    path, spent = tips(problem, method(), step)
                except ev.NotConverged:
                    continue
                errors.append(float(np.linalg.norm(path - right, axis=-1).max()) / longest)
                seconds.append(spent / problem[3])
            found[label] = errors, seconds
            pairs = "  ".join(f"{e:.1e} {s:.4f}" for e, s in zip(errors, seconds, strict=True))
            print(f"{name:14s}{label:24s}{pairs}", flush=True)
        wanted = found["Newmark"][0][2]
        base = at_error(*found["Newmark"], wanted)
        ratios = ", ".join(f"{label} {at_error(*pair, wanted) / base:.2f}" for label, pair in found.items())
        print(f"{name:14s}time at an error of {wanted:.1e} L, Newmark = 1: {ratios}", flush=True)


if __name__ == "__main__":
    main()
