"""Robots of many parts: what elimination along the tree is for.

Chain: 0.5 m of wire in 200 rods, clamped, under its weight; the same as one rod of 200 linear elements. Lattice: a
square of 6 by 6 nodes in a vertical plane, 60 rods of six coordinates between them, held at one corner, with 25 loops
and 150 closure rows. One step is a part of ``simulate``, results included: that of more steps less that of fewer.

Errors: of the chain and of the elements, the tip at rest beside that of one rod of twelve Legendre functions, over the
length; of the lattice, the wrench at the corner beside its weight.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row
from elver.dynamics.core import core
from elver.dynamics.states import arrays

LENGTH, COUNT, RADIUS = 0.5, 200, 3e-4  # m, rods or elements, m
WIRE = ev.Material(young=1e11, poisson=0.3, density=8000.0, damping=1e-4)
ACCURACY = 1e-4
STEP, STEPS = 1e-3, 20  # s


def _wire(length: float, basis: Any, name: str = "rod") -> ev.Rod:
    return ev.Rod(length, ev.Circle(RADIUS), WIRE, basis, name=name)


def one_rod(basis: Any) -> ev.System:
    """The wire as one rod."""
    return ev.System(ev.Mechanism.clamped(_wire(LENGTH, basis)), loads=[ev.Gravity()])


def chain(count: int = COUNT) -> ev.System:
    """The wire in pieces."""
    rods = [_wire(LENGTH / count, ev.Legendre.kirchhoff(2), f"rod{k}") for k in range(count)]
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((inner, "tip"), (outer, "base")) for inner, outer in pairwise(rods)]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def hats(count: int = COUNT) -> ev.System:
    """The wire as one rod of linear elements."""
    return one_rod(ev.PiecewiseLinear.kirchhoff(count))


def tip_error(system: ev.System) -> float:
    """Distance of the tips at rest over the length."""
    both = system, one_rod(ev.Legendre.kirchhoff(12))
    found, exact = (ev.poses(one, ev.equilibrium(one), one.mechanism.rods[-1])[-1, :3, 3] for one in both)
    return float(np.linalg.norm(found - exact)) / LENGTH


def step_time(system: ev.System) -> float:
    """CPU seconds of one step."""

    def run(steps: int) -> Any:
        return ev.simulate(system, None, steps * STEP, STEP, ev.GeneralizedAlpha(0.6), start="given")

    times = [cpu_time(lambda n=n: run(n), repeats=3) for n in (STEPS, 2 * STEPS)]
    return (times[1] - times[0]) / STEPS


def _step(system: ev.System) -> Row:
    error = tip_error(system)
    return Row(1e3 * step_time(system) if error <= ACCURACY else None, error)


@row("chain-200-step", unit="ms", goal=25.0)
def chain_200_step(peers: bool) -> Row:
    """One step of 1 ms of 200 rods in a chain (1200 coordinates)."""
    return _step(chain())


@row("hats-200-step", unit="ms", goal=30.0)
def hats_200_step(peers: bool) -> Row:
    """One step of 1 ms of one rod of 200 linear elements (603 coordinates)."""
    return _step(hats())


# Lattice ----------------------------------------------------------------------------------------------------

SIDE, PITCH = 6, 0.05  # nodes, m
BALANCE = 1e-8
MESH = ev.Material(young=1e9, poisson=0.35, density=1200.0, damping=1e-3)


def lattice(side: int = SIDE) -> ev.System:
    """Rods of 5 cm between the nodes of a square in the xz plane, held at its first node."""
    nodes = {
        (i, k): ev.RigidBody.cylinder(2e-3, 2e-3, mass=1e-4, name=f"node{i}{k}")
        for i in range(side) for k in range(side)
    }  # fmt: skip
    up = np.eye(4)
    up[:3, :3] = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    joints: list[Any] = [ev.Fixed("world", nodes[0, 0])]
    for (i, k), node in nodes.items():
        for di, dk, turned in ((1, 0, np.eye(4)), (0, 1, up)):
            if (i + di, k + dk) in nodes:
                rod = ev.Rod(PITCH, ev.Circle(1.5e-3), MESH, ev.Legendre.kirchhoff(2), name=f"rod{i}{k}{di}")
                joints.append(ev.Fixed((node, turned), (rod, "base"), name=f"{rod.name}-base"))
                end = nodes[i + di, k + dk], turned
                joints.append(ev.Fixed((rod, "tip"), end, name=f"{rod.name}-tip"))
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def weight_error(system: ev.System, state: Any) -> float:
    """What the wrench at the base differs by from the weight, over the weight."""
    kernels, u = core(system), system.input_vector(system.signals(None), 0.0)
    a = arrays(state)
    kernels.residual(a, u, jets=1)
    parts = [*system.mechanism.rods, *system.mechanism.bodies]
    weight = 9.81 * sum(part.mass for part in parts)
    return float(np.linalg.norm(kernels.base_wrench(a, u)[3:] - [0.0, 0.0, weight])) / weight


@row("lattice-60-equilibrium", unit="ms", goal=600.0)
def lattice_60_equilibrium(peers: bool) -> Row:
    """Equilibrium of 60 rods in a lattice (360 coordinates, 150 multipliers), its verdict included."""
    system = lattice()
    error = weight_error(system, ev.equilibrium(system).state)
    return Row(1e3 * cpu_time(lambda: ev.equilibrium(system), repeats=3) if error <= BALANCE else None, error)


@row("lattice-60-step", unit="ms", goal=30.0)
def lattice_60_step(peers: bool) -> Row:
    """One step of 1 ms of it."""
    system = lattice()
    error = weight_error(system, ev.equilibrium(system).state)
    return Row(1e3 * step_time(system) if error <= BALANCE else None, error)
