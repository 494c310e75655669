"""Imposed motion: coordinates follow it exactly, what imposes it is the effort of mechanics, and its work is energy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import simpson

import elver as ev

METHODS = [ev.Newmark(), ev.GeneralizedAlpha(rho_inf=0.6), ev.ImplicitMidpoint(), ev.GaussLegendre4()]
NAMES = [type(method).__name__ for method in METHODS]
DOWN = ev.Gravity((9.81, 0.0, 0.0))  # along x, so that a pendulum hangs at the angle 0
MASS, CENTRE, INERTIA = 0.7, 0.3, 0.02

Motion = Callable[[float], tuple[float, float, float]]


def wave(a: float = 0.8, w: float = 3.0, b: float = 0.4) -> Motion:
    """q = a sin wt + b t²/2 with its rates: not at rest at the start."""
    return lambda t: (
        a * np.sin(w * t) + 0.5 * b * t**2,
        a * w * np.cos(w * t) + b * t,
        -a * w**2 * np.sin(w * t) + b,
    )


def link(name: str) -> ev.RigidBody:
    return ev.RigidBody(MASS, (INERTIA, INERTIA, INERTIA), (CENTRE, 0.0, 0.0), name=name)


def pendulum() -> ev.System:
    """One link on a joint that follows its input."""
    hinge = ev.Revolute("world", link("link"), name="hinge")
    return ev.System(ev.Mechanism([hinge]), actuators=[ev.Imposed(hinge, name="hinge")], loads=[DOWN])


def shaken_pendulum() -> ev.System:
    """A link that follows its input, and one that hangs on it freely."""
    upper, lower = link("upper"), link("lower")
    shoulder = ev.Revolute("world", upper, name="shoulder")
    elbow = ev.Revolute((upper, (0.5, 0.0, 0.0)), lower, name="elbow")
    return ev.System(ev.Mechanism([shoulder, elbow]), actuators=[ev.Imposed(shoulder, name="given")], loads=[DOWN])


def bent_rod(modes: int = 2) -> ev.System:
    """A rod on a free hinge whose mean curvature follows its input; the slope of its curvature is free."""
    material = ev.Material(young=2e6, poisson=0.4, density=1000.0)
    rod = ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.planar(modes), name="rod")
    hinge = ev.Revolute("world", (rod, "base"), name="hinge")
    given = ev.Imposed(rod, "K_z[0]", name="given")
    return ev.System(ev.Mechanism([hinge]), actuators=[given], loads=[DOWN])


def moving(system: ev.System, motion: Motion, name: str) -> ev.State:
    """At rest but for the imposed coordinate, which moves as its input does."""
    rest = system.rest()
    k = [c.split("/")[0] for c in system.coordinate_names].index(name)
    q_dot = rest.q_dot.copy()
    q_dot[k] = motion(0.0)[1]
    return rest.with_(q_dot=q_dot)


# On a joint -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_effort_on_a_pendulum_is_that_of_mechanics(method: ev.Newmark) -> None:
    """effort = (I + m l²) q'' + m g l sin q, at any step size: nothing is left to integrate."""
    motion = wave()
    run = ev.simulate(pendulum(), None, 2.0, 0.1, method, {"hinge": motion})
    q, q_dot, q_ddot = np.array([motion(t) for t in run["time"].values]).T
    np.testing.assert_allclose(run["q"].values[:, 0], q, atol=1e-12)
    np.testing.assert_allclose(run["q_dot"].values[:, 0], q_dot, atol=1e-12)
    np.testing.assert_allclose(run["q_ddot"].values[:, 0], q_ddot, atol=1e-12)
    effort = (INERTIA + MASS * CENTRE**2) * q_ddot + MASS * 9.81 * CENTRE * np.sin(q)
    np.testing.assert_allclose(run["efforts"].sel(imposed="hinge").values, effort, atol=1e-11)
    assert run["effort_units"].values.tolist() == ["N m"]


def test_rates_of_a_plain_function_are_found() -> None:
    motion = wave()
    system = pendulum()
    given = ev.simulate(system, None, 1.0, 0.1, inputs={"hinge": motion})
    found = ev.simulate(system, None, 1.0, 0.1, inputs={"hinge": lambda t: motion(t)[0]})
    # accelerations by differences are right to about 1e-9
    np.testing.assert_allclose(found["efforts"].values, given["efforts"].values, atol=1e-8)


def test_a_number_holds_still() -> None:
    run = ev.simulate(pendulum(), ev.equilibrium(pendulum(), {"hinge": 0.6}).state, 0.5, 0.1, inputs={"hinge": 0.6})
    np.testing.assert_allclose(run["q"].values, 0.6, atol=1e-14)
    np.testing.assert_allclose(run["efforts"].values, MASS * 9.81 * CENTRE * np.sin(0.6), atol=1e-12)


def test_effort_as_a_motor_torque_gives_the_motion_back() -> None:
    """What imposes a motion, given to a motor, brings it about."""
    motion = wave(w=2.0)
    body = link("link")
    hinge = ev.Revolute("world", body, name="hinge")
    motor = ev.Motor(hinge, name="motor")
    driven = ev.System(ev.Mechanism([hinge]), actuators=[motor], loads=[DOWN])

    def torque(t: float) -> float:
        q, _, q_ddot = motion(t)
        return (INERTIA + MASS * CENTRE**2) * q_ddot + MASS * 9.81 * CENTRE * np.sin(q)

    start = driven.rest().with_(q_dot=np.array([motion(0.0)[1]]))
    run = ev.simulate(driven, start, 1.0, 0.01, ev.GaussLegendre4(), {motor: torque})
    imposed = ev.simulate(pendulum(), None, 1.0, 0.01, ev.GaussLegendre4(), {"hinge": motion})
    np.testing.assert_allclose(run["q"].values, imposed["q"].values, atol=1e-7)  # truncation of order four


# Work is energy ---------------------------------------------------------------------------------------------


def imbalance(run: xr.Dataset, coordinate: str) -> float:
    """Energy gained beyond the work of the effort, by Simpson's rule [J]."""
    power = run["efforts"].values[:, 0] * run["q_dot"].sel(coordinate=coordinate).values
    energy = run["energy/total"].values
    return abs(energy[-1] - energy[0] - simpson(power, x=run["time"].values))


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_work_of_the_effort_is_energy_to_the_order_of_the_method(method: ev.Newmark) -> None:
    system, motion = shaken_pendulum(), wave()

    def miss(step: float) -> float:
        run = ev.simulate(system, moving(system, motion, "shoulder"), 1.6, step, method, {"given": motion})
        return imbalance(run, "shoulder/angle")

    steps = np.array([0.04, 0.02, 0.01])
    misses = [miss(step) for step in steps]
    order = np.polyfit(np.log(steps), np.log(misses), 1)[0]
    assert order == pytest.approx(method.order, abs=0.35)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_work_of_bending_a_rod_is_energy(method: ev.Newmark) -> None:
    system, motion = bent_rod(), wave(a=1.0, w=4.0, b=2.0)
    run = ev.simulate(system, moving(system, motion, "rod"), 1.0, 0.005, method, {"given": motion})
    energy = run["energy/total"].values
    bound = 1e-6 if method.order == 4 else 2e-3  # truncation
    assert imbalance(run, "rod/K_z[0]") < bound * np.ptp(energy)
    assert run["effort_units"].values.tolist() == ["N m2"]


# On a rod ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_effort_on_a_straight_rod_is_its_inertia(method: ev.Newmark) -> None:
    """While a clamped rod of constant curvature K passes its straight shape: effort = ρ (A L⁵/20 + I L³/3) K''."""
    material = ev.Material(young=1e6, poisson=0.4, density=1000.0)
    rod = ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.planar(1), name="rod")
    given = ev.Imposed(rod, name="given")
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[given])
    # straight at 0, at 0.1 s, and so on, with the acceleration b
    motion = wave(a=0.5, w=10.0 * np.pi, b=0.0)

    def shifted(t: float) -> tuple[float, float, float]:
        q, q_dot, q_ddot = motion(t)
        u = t - 0.1
        return q + 0.5 * 40.0 * u**2, q_dot + 40.0 * u, q_ddot + 40.0

    run = ev.simulate(system, None, 0.1, 0.02, method, {given: shifted})
    A, I, L = np.pi * 0.01**2, np.pi * 0.01**4 / 4.0, 0.5
    mass = 1000.0 * (A * L**5 / 20.0 + I * L**3 / 3.0)
    assert run["efforts"].values[-1, 0] == pytest.approx(mass * 40.0, rel=1e-9)
    # and what bends it at rest is its stiffness
    held = ev.equilibrium(system, {given: 3.0})
    assert held.efforts["given"] == pytest.approx(1e6 * I * L * 3.0, rel=1e-10)


def test_all_coordinates_imposed_leave_the_hinge_to_follow() -> None:
    """A rod whose whole shape is given swings as the rigid body of that shape."""
    system = bent_rod(2)
    rod, hinge = system.rod, system.mechanism.joints[0]
    both = ev.Imposed.all(rod)
    frozen = ev.System(system.mechanism, actuators=both, loads=[DOWN])
    run = ev.simulate(frozen, None, 1.0, 0.005, ev.GaussLegendre4(), dict(zip(both, (2.0, -1.0), strict=True)))
    # inertia and lever of the bent shape about the hinge, by the rod's own quadrature
    grid = rod.grid_with(stations=[rod.length])
    p = run["rod/position"].values[0][:, :2]
    assert grid.s.size == len(p)
    line = 1000.0 * np.pi * 0.01**2
    inertia = grid.weights @ (line * np.sum(p**2, axis=1)) + 1000.0 * np.pi * 0.01**4 / 4.0 * rod.length
    centre = line * grid.weights @ p
    # let go from the angle 0: ½ J q'² = g (centre_x(q) - centre_x(0)), with x downward
    q, q_dot = run["q"].sel(coordinate=f"{hinge.name}/angle").values, run["q_dot"].sel(coordinate="hinge/angle").values
    fallen = np.cos(q) * centre[0] - np.sin(q) * centre[1] - centre[0]
    np.testing.assert_allclose(0.5 * inertia * q_dot**2, 9.81 * fallen, atol=1e-7)


# At rest ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.4, -1.2, 2.5])
def test_equilibrium_holds_an_imposed_angle(angle: float) -> None:
    found = ev.equilibrium(pendulum(), {"hinge": angle})
    assert found.state.q == pytest.approx([angle], abs=1e-14)
    assert found.efforts == {"hinge": pytest.approx(MASS * 9.81 * CENTRE * np.sin(angle), rel=1e-12)}


def test_equilibrium_settles_around_what_is_imposed() -> None:
    """The lower link hangs straight down, and the shoulder carries both."""
    found = ev.equilibrium(shaken_pendulum(), {"given": 0.9})
    assert found.state.q == pytest.approx([0.9, -0.9], abs=1e-9)
    torque = MASS * 9.81 * (CENTRE + 0.5) * np.sin(0.9)
    assert found.efforts["given"] == pytest.approx(torque, rel=1e-9)


def test_an_imposed_hinge_is_a_clamp_that_turns() -> None:
    material = ev.Material(young=2e6, poisson=0.4, density=1000.0)
    rod = ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.planar(4), name="rod")
    hinge = ev.Revolute("world", (rod, "base"), name="hinge")
    hinged = ev.System(ev.Mechanism([hinge]), actuators=[ev.Imposed(hinge, name="given")], loads=[DOWN])
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(1.1), -np.sin(1.1)], [np.sin(1.1), np.cos(1.1)]]
    clamped = ev.System(ev.Mechanism.clamped(rod, pose), loads=[DOWN])
    turned, fixed = ev.equilibrium(hinged, {"given": 1.1}), ev.equilibrium(clamped)
    np.testing.assert_allclose(turned.tip, fixed.tip, atol=1e-10)
    # the clamp carries the weight at the lever of the mass centre
    grid = rod.grid_with(stations=[rod.length])
    y = ev.poses(clamped, fixed.state)[:, 1, 3]
    weight = 9.81 * 1000.0 * np.pi * 0.01**2
    assert turned.efforts["given"] == pytest.approx(weight * grid.weights @ y, rel=1e-8)


def test_effort_is_the_slope_of_the_potential() -> None:
    """d(energy)/dq along equilibria with q imposed is what holds them there."""
    system = bent_rod()

    def energy(curvature: float) -> float:
        return ev.energy(system, ev.equilibrium(system, {"given": curvature}).state, {"given": curvature}).total

    slope = (energy(2.0 + 1e-4) - energy(2.0 - 1e-4)) / 2e-4
    assert ev.equilibrium(system, {"given": 2.0}).efforts["given"] == pytest.approx(slope, rel=1e-6)
