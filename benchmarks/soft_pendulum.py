"""A soft rod on a hinge, let go from the horizontal: PyElastica's example of a flexible swinging pendulum.

1 m of 5 mm radius, 5 MPa, 1100 kg/m³, for 2 s. Waves of bending run along it, so that it takes many functions. The
error is the largest distance of the tip, every 10 ms, to a converged run of the same model made in the same call, over
the length; four functions less change that one by 2e-5, twice the step by 1e-5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row

LENGTH, DURATION, INSTANT = 1.0, 2.0, 0.01  # m, s, s
RUBBER = ev.Material(young=5e6, poisson=0.49, density=1100.0)
ACCURACY = 1e-3
SETTING = 16, 1e-3, ev.GeneralizedAlpha(0.9)  # functions, step [s], method: the cheapest we know that reaches it
CONVERGED = 28, 1e-3, ev.GaussLegendre4()


def tips(functions: int, step: float, method: Any, duration: float = DURATION) -> np.ndarray:
    """Path of the tip."""
    rod = ev.Rod(LENGTH, ev.Circle(5e-3), RUBBER, ev.Legendre(bending_y=functions), name="rod")
    hinge = ev.Revolute("world", (rod, "base"), axis="y", name="hinge")
    system = ev.System(ev.Mechanism([hinge]), loads=[ev.Gravity()])
    run = ev.simulate(system, None, duration, step, method, every=round(INSTANT / step))
    return np.asarray(run["rod/tip/position"].values)


def distance(duration: float = DURATION) -> float:
    """Largest distance to the converged run / L."""
    apart = tips(*SETTING, duration) - tips(*CONVERGED, duration)
    return float(np.linalg.norm(apart, axis=1).max()) / LENGTH


@row("soft-pendulum-0.1pct", unit="CPU s/s", goal=0.7)
def soft_pendulum_01pct(peers: bool) -> Row:
    """The pendulum within 0.1 % of L for 2 s."""
    error = distance()
    return Row(cpu_time(lambda: tips(*SETTING), repeats=3) / DURATION if error <= ACCURACY else None, error)
