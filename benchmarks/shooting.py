"""Rods by shooting along their length: statics of a tendon arm, and tests 2 to 4 of Boyer 2023 in steps of 10 ms.

Shooting codes of the literature take 71.9 (stiff cantilever) and 52.2 (flying rod) seconds of computing for a second of
such motions at 10 ms (Gotelli 2024, Table 3.1; Matlab on an i9-9880H; the load of the cantilever is another one). These
figures are printed beside ours, and were not measured here. Errors are against strain modes with the same step in time,
largest distance of the tip over the length: what space integration and truncation of the modes leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row
from elver.lie import se3, so3
from elver.one_rod.shooting.dynamics import shooting_dynamics
from elver.one_rod.shooting.statics import solve_rod

STEEL = ev.Material(young=207e9, poisson=0.3, density=8000.0)
LENGTH, STEP = 0.4, 1e-2
DOWN = se3.pose(so3.exp(np.array([0.0, np.pi / 2.0, 0.0])), np.zeros(3))
ACCURACY = 1e-2
PUBLISHED = "published (Matlab)"


def arm() -> tuple[ev.System, ev.Tendon]:
    """Test 1: 0.4 m of steel, radius 1 mm, hanging, a tendon that converges from 20 mm to the tip."""
    rod = ev.Rod(LENGTH, ev.Circle(1e-3), STEEL, ev.Legendre.kirchhoff(8), name="arm")
    tendon = ev.Tendon(rod, ev.convergent(y=0.02, z=0.0), reach=0.02)
    return ev.System(ev.Mechanism.clamped(rod, pose=DOWN), [tendon], [ev.Gravity()]), tendon


@row("shooting-statics", unit="ms", goal=5.0)
def shooting_statics(peers: bool) -> Row:
    """The tendon arm at 15 N from the straight rod."""
    system, tendon = arm()
    inputs = {tendon: 15.0}
    modes = ev.poses(system, ev.equilibrium(system, inputs=inputs).state)[-1, :3, 3]
    error = float(np.linalg.norm(solve_rod(system, inputs).tip[:3, 3] - modes) / LENGTH)
    return Row(1e3 * cpu_time(lambda: solve_rod(system, inputs)) if error <= 1e-6 else None, error)


def _moving(
    system: ev.System, state: ev.State | None, duration: float, name: str, length: float,
    published: float | None = None, **how: Any,
) -> Row:  # fmt: skip
    def run() -> Any:
        return shooting_dynamics(system, state, duration, STEP, **how)

    modes = ev.simulate(system, state, duration, STEP, ev.Newmark(), how.get("inputs"), start="given")
    error = float(np.linalg.norm(modes[f"{name}/tip/position"].values - run().tip, axis=1).max() / length)
    beside = {} if published is None else {PUBLISHED: published}
    return Row(cpu_time(run, repeats=3, at_least=0.0) / duration if error <= ACCURACY else None, error, beside)


@row("shooting-cut-tendon", unit="CPU s/s", goal=1.0)
def shooting_cut_tendon(peers: bool) -> Row:
    """Test 2: the tendon of 15 N is cut, 1 s."""
    system, tendon = arm()
    bent = ev.equilibrium(system, inputs={tendon: 15.0}).state
    free = ev.System(system.mechanism, loads=[ev.Gravity()])
    return _moving(free, free.rest().with_(q=bent.q), 1.0, "arm", LENGTH, 71.9)


@row("shooting-flying-stick", unit="CPU s/s", goal=1.0)
def shooting_flying_stick(peers: bool) -> Row:
    """Test 3: a free rod, pushed and twisted for half a second, 1 s."""
    I = np.pi * 0.05**4 / 4.0
    material = ev.Material(young=4.9087 / I, poisson=0.0, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.05), material, ev.Legendre.kirchhoff(8), name="stick")
    push = ev.PointWrench(rod, "tip", force=(1.0, 0.0, 0.0), name="push")
    twist = ev.PointWrench(rod, "tip", moment=(0.0, 1.0, 0.5), frame="section", name="twist")
    start = se3.pose(so3.exp(np.array([0.0, np.arctan2(0.8, 0.6), 0.0])), np.array([0.0, 0.0, 0.8]))
    system = ev.System(ev.Mechanism.free(rod, pose=start), loads=[push, twist])
    pulse = ev.triangle(10.7, 0.25, 0.5)
    return _moving(system, None, 1.0, "stick", 1.0, 52.2, inputs={push: pulse, twist: pulse}, segments=5, nodes=100)


@row("shooting-swimmer", unit="CPU s/s", goal=1.0)
def shooting_swimmer(peers: bool) -> Row:
    """Test 4: the swimmer in Lighthill's water, 2 s."""
    I = np.pi * 0.05**4 / 4.0
    material = ev.Material(young=50.0 / I, poisson=0.0, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.05), material, ev.Legendre.kirchhoff(10), name="eel")
    wave = ev.CurvatureWave((1.0, 0.5, 2.0), 1.0, 1.0, ramp=ev.c2_ramp(0.0, 1.0))
    muscles, inputs = ev.muscle_gait(rod, wave)
    system = ev.System(ev.Mechanism.free(rod), actuators=muscles, loads=[ev.Lighthill(rod)])
    return _moving(system, None, 2.0, "eel", 1.0, inputs=inputs, segments=4, nodes=40)
