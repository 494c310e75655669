"""The four rod benches of Gotelli 2024 (Table 3.1): CPU seconds per simulated second.

Kirchhoff rods with three Legendre functions for torsion and for each curvature, Newmark (1/4, 1/2). Cantilevers hang
along gravity, are pulled sideways by a dead tip force, and are let go; flying rods are free, straight and at rest,
and are pushed at one end by a triangular load. Error = largest tip distance / L over the whole run to a converged
run of the same three-function model (order 4, finer step, more nodes) made in the same call.

The step is the thesis' 10 ms, except for the stiff cantilever: its 10 N (F L²/EI = 1019) leave 30 % of error at
10 ms, so it is run with 1 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row

ACCURACY = 0.05  # of the length, over the whole run
INSTANT = 0.01  # tips are compared every 10 ms [s]
BASIS = ev.Legendre.kirchhoff(3)
METHOD = ev.Newmark(tolerance=1e-7)

Problem = tuple[ev.System, Any, dict[str, Any]]  # system, start, inputs


@dataclass(frozen=True)
class Setting:
    """One bench: how it is built from (nodes, integration), how long it runs [s], with which steps [s]."""

    build: Callable[[int, ev.Magnus], Problem]
    duration: float
    step: float
    fine: float


def cantilever(rod_of: Callable[..., ev.Rod], force: float) -> Callable[[int, ev.Magnus], Problem]:
    """Hanging rod at equilibrium with a tip force [N] across gravity, then without it."""

    def build(nodes: int, integration: ev.Magnus) -> Problem:
        rod = rod_of(basis=BASIS, nodes=nodes, integration=integration)
        down = np.eye(4)
        down[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # the rod's x axis points along -z of the world
        pull = ev.PointWrench(rod, force=(0.0, force, 0.0), name="pull")
        system = ev.System(ev.Mechanism.clamped(rod, pose=down), loads=[ev.Gravity(), pull])
        return system, ev.equilibrium(system), {"pull": 0.0}

    return build


def _pose(base: np.ndarray, tip: np.ndarray, y: np.ndarray) -> np.ndarray:
    """World from base of a rod from ``base`` to ``tip`` whose section has the axis ``y``."""
    x = (tip - base) / np.linalg.norm(tip - base)
    g = np.eye(4)
    g[:3, :3] = np.column_stack([x, y, np.cross(x, y)])
    g[:3, 3] = base
    return g


def soft_cantilever(**options: Any) -> ev.Rod:
    return ev.Rod(10.0, ev.Circle(5e-3), ev.Material(young=1e11, poisson=0.5, density=7800.0), **options)


def stiff_cantilever(**options: Any) -> ev.Rod:
    return ev.Rod(0.4, ev.Circle(1e-3), ev.Material(young=2e9, poisson=0.5, density=8000.0), **options)


def soft_flying(nodes: int, integration: ev.Magnus) -> Problem:
    """Simo and Vu-Quoc's flexible rod: H = diag(500, 500, 500), M = diag(10, 10, 10, 1, 1, 1), bench (a)."""
    section = ev.Section(area=1.0, I_y=10.0, I_z=10.0, torsion_constant=10.0, I_polar=10.0)
    material = ev.Material(young=50.0, shear=50.0, density=1.0)
    rod = ev.Rod(10.0, section, material, BASIS, nodes=nodes, integration=integration)
    pose = _pose(np.array([0.0, 8.0, 0.0]), np.array([6.0, 0.0, 0.0]), np.array([0.8, 0.6, 0.0]))
    push = ev.PointWrench(rod, force=(0.1, 0.0, 0.0), moment=(0.0, 0.5, 1.0), name="push")
    system = ev.System(ev.Mechanism.free(rod, pose=pose), loads=[push])
    return system, None, {"push": ev.triangle(200.0, 2.5, 5.0)}


def stiff_flying(nodes: int, integration: ev.Magnus) -> Problem:
    """Boyer 2023, test 3 with the loads of our own gallery: force in world axes, couple in the section's."""
    material = ev.Material(young=1e6, shear=1e6, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.05), material, BASIS, nodes=nodes, integration=integration)
    pose = _pose(np.array([0.0, 0.0, 0.8]), np.array([0.6, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    force = ev.PointWrench(rod, force=(1.0, 0.0, 0.0), name="force")
    couple = ev.PointWrench(rod, moment=(0.0, 1.0, 0.5), frame="section", name="couple")
    system = ev.System(ev.Mechanism.free(rod, pose=pose), loads=[force, couple])
    signal = ev.triangle(10.7, 0.25, 0.5)
    return system, None, {"force": signal, "couple": signal}


SETTINGS = {
    "stiff-cantilever": Setting(cantilever(stiff_cantilever, 10.0), 1.0, 1e-3, fine=5e-4),
    "soft-cantilever": Setting(cantilever(soft_cantilever, 50.0), 10.0, 1e-2, fine=5e-3),
    "stiff-flying": Setting(stiff_flying, 10.0, 1e-2, fine=2.5e-3),
    "soft-flying": Setting(soft_flying, 10.0, 1e-2, fine=5e-3),
}


def measure(setting: Setting) -> tuple[float, float]:
    """CPU seconds per simulated second, and error."""

    def tips(problem: Problem, step: float, method: Any) -> np.ndarray:
        system, start, inputs = problem
        every = round(INSTANT / step)
        run = ev.simulate(system, start, setting.duration, step, method, inputs, every=every)
        return run["rod/tip/position"].values

    problem = setting.build(8, ev.Magnus(4))
    length = problem[0].rod.length
    converged = tips(setting.build(16, ev.Magnus(6)), setting.fine, ev.GaussLegendre4())
    error = np.linalg.norm(tips(problem, setting.step, METHOD) - converged, axis=1).max() / length
    seconds = cpu_time(lambda: tips(problem, setting.step, METHOD), repeats=3)
    return seconds / setting.duration, float(error)


def _row(name: str) -> Row:
    seconds, error = measure(SETTINGS[name])
    return Row(seconds if error <= ACCURACY else None, error)


@row("bench-stiff-cantilever", unit="CPU s/s", goal=0.05)
def bench_stiff_cantilever(peers: bool) -> Row:
    """0.4 m, diameter 2 mm, 10 N released, 1 s."""
    return _row("stiff-cantilever")


@row("bench-soft-cantilever", unit="CPU s/s", goal=0.05)
def bench_soft_cantilever(peers: bool) -> Row:
    """10 m, diameter 10 mm, 50 N released, 10 s."""
    return _row("soft-cantilever")


@row("bench-stiff-flying", unit="CPU s/s", goal=0.05)
def bench_stiff_flying(peers: bool) -> Row:
    """1 m, diameter 0.1 m, E = 1 MPa, 10 s."""
    return _row("stiff-flying")


@row("bench-soft-flying", unit="CPU s/s", goal=0.05)
def bench_soft_flying(peers: bool) -> Row:
    """10 m, EI = 500 N m², 10 s."""
    return _row("soft-flying")
