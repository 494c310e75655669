"""Conserving steps in water: Kirchhoff's body keeps energy and both momenta, swimmers balance their books.

GaussLegendre4 is the other side; the added mass of an ideal fluid without strips is that of Kirchhoff's equations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core

KEEPS = ev.Conserving()
THROWN = np.array([2.0, 3.0, -1.0, 0.5, 0.3, -0.2])


def kirchhoff(system: ev.System) -> ev.System:
    """The same without the wake and the drag of its strips: their added mass stays."""
    kernels = core(system)
    none = {"strip_frame": np.zeros((0, 2), dtype=np.int64), "strip_pose": np.zeros((0, 4, 3))}
    kernels._take(kernels.program._replace(strip=np.zeros((0, 10)), **none))
    return system


def leaf() -> ev.System:
    """A rigid body with an elliptic section, its mass off the middle of the water it carries."""
    shape = ev.EllipticCylinder((0.05, 0.1), 0.4, axis="x")
    body = ev.RigidBody(2.0, (0.01, 0.03, 0.04), (0.05, 0.0, 0.01), name="leaf", shape=shape)
    return kirchhoff(ev.System(ev.Mechanism.free(body), [], [ev.Lighthill(body)]))


def worm() -> ev.System:
    rod = ev.Rod(1.0, ev.Circle(0.04), ev.Material(young=1e6, poisson=0.4, density=1000.0), ev.Legendre.kirchhoff(3))
    return kirchhoff(ev.System(ev.Mechanism.free(rod), [], [ev.Lighthill(rod)]))


def bent(system: ev.System) -> ev.State:
    rate = np.zeros(system.n)
    if system.n:
        rate[3], rate[6] = 3.0, -2.0
    return system.rest().with_(eta=THROWN, q_dot=rate)


@pytest.mark.parametrize("make", [leaf, worm])
def test_in_an_ideal_fluid_energy_and_both_momenta_are_kept(make: Callable[[], ev.System]) -> None:
    system = make()
    run = ev.simulate(system, bent(system), 10.0, 1e-2, KEEPS)
    momentum, energy = run["momentum"].values, run["energy/total"].values
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)


def swimmer(fluid: Callable[[ev.Rod], object]) -> tuple[ev.System, ev.State, dict]:
    """An eel of elliptic section that two tendons bend in turn, thrown into the water."""
    flesh = ev.Material(young=1e5, poisson=0.4, density=1000.0, damping=2e-3)
    rod = ev.Rod(1.0, ev.Ellipse(0.05, 0.03), flesh, ev.Legendre.planar(3), name="eel")
    sides = {side: ev.Tendon(rod, ev.parallel(y=y), name=side) for side, y in (("left", 0.02), ("right", -0.02))}
    pull = {
        tendon: lambda t, lag=lag: 20.0 * (1.0 - np.cos(2.0 * np.pi * t)) * (1.0 + np.sin(6.0 * t + lag))
        for tendon, lag in zip(sides.values(), (0.0, np.pi), strict=True)
    }
    system = ev.System(ev.Mechanism.free(rod), [*sides.values()], [fluid(rod)])
    return system, system.rest().with_(eta=np.array([0.1, 0.2, 0.3, -0.2, 0.1, 0.05])), pull


FLUIDS = {
    "slices": lambda rod: ev.Morison([rod]),
    "slices in a stream": lambda rod: ev.Morison([rod], flow=(0.3, 0.1, 0.05)),
    "wake": lambda rod: ev.Lighthill([rod]),
    "wake in a stream": lambda rod: ev.Lighthill([rod], flow=(0.3, 0.1, 0.05)),
}


@pytest.mark.parametrize("name", FLUIDS)
def test_order_two_and_closed_books_in_water(name: str) -> None:
    system, state, inputs = swimmer(FLUIDS[name])
    reference = ev.simulate(system, state, 0.48, 1e-3, ev.GaussLegendre4(), inputs)
    for what in ("q", "eel/tip/position"):
        errors = []
        for every in (8, 4, 2):
            run = ev.simulate(system, state, 0.48, every * 1e-3, KEEPS, inputs)
            errors.append(np.sqrt(np.mean((run[what].values[:: 8 // every] - reference[what].values[::8]) ** 2)))
            # work and heat of the water are those that the steps knew; what a first step cannot pay back at once is of
            # third order (bound chosen after it was seen)
            assert np.max(np.abs(run["energy/numerical"])) < 1e-8 * run.attrs["energy_in_play"]
            if name == "slices":
                assert np.all(np.diff(run["energy/dissipated"].values) >= 0.0)
        assert np.log2(errors[-2] / errors[-1]) == pytest.approx(2.0, abs=0.2), (what, errors)


@pytest.mark.parametrize("make", [leaf, worm])
def test_kirchhoffs_motion_is_of_order_two(make: Callable[[], ev.System]) -> None:
    system = make()
    reference = ev.simulate(system, bent(system), 0.24, 1e-3, ev.GaussLegendre4())
    part = system.mechanism.bodies[0] if system.mechanism.bodies else system.mechanism.rods[0]
    place = f"{part.name}/position"
    errors = []
    for every in (4, 2):
        run = ev.simulate(system, bent(system), 0.24, every * 1e-3, KEEPS)
        errors.append(np.sqrt(np.mean((run[place].values[:: 4 // every] - reference[place].values[::4]) ** 2)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("young", [1e4, 1e5])
def test_a_step_that_would_bring_energy_in_is_taken_in_parts(young: float) -> None:
    """A soft rod that hangs in its own wake swings up: at 20 ms single steps brought in up to 37 % of the energy."""
    flesh = ev.Material(young=young, poisson=0.4, density=1500.0)
    rod = ev.Rod(1.0, ev.Circle(0.02), flesh, ev.Legendre.kirchhoff(3), name="arm")
    system = ev.System(ev.Mechanism.clamped(rod), [], [ev.Lighthill([rod]), ev.Gravity()])
    run = ev.simulate(system, system.rest(), 2.0, 2e-2, KEEPS)
    assert run.attrs["shortened_steps"] > 0
    assert run.attrs["divided_steps"] == 0
    assert np.max(np.abs(run["energy/numerical"])) < 1e-8 * run.attrs["energy_in_play"]


@pytest.mark.parametrize("water", [ev.Lighthill, ev.Morison])
def test_order_four_is_refused_in_water(water):
    """Its steps back in time would take energy from drag and wake."""
    rod = ev.Rod(1.0, ev.Circle(0.05), ev.Material(1e7, poisson=0.4, density=1000.0), ev.Legendre.planar(3), name="eel")
    system = ev.System(ev.Mechanism.free(rod), loads=[water([rod])])
    with pytest.raises(ev.BadInput, match=r"order=4\) steps back in time, where water brings energy in"):
        ev.simulate(system, duration=0.1, step=0.01, method=ev.Conserving(order=4))
