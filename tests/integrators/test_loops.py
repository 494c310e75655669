"""Closed loops in time: where a loop is cut, what the steps keep of it, and what they must refuse.

The robot of most tests is two rods on motors, hinged to each other at their tips (Gotelli 2024, section 5.4); the last
one is the prototype of section 4.5.2, whose load snaps through.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import elver as ev


@pytest.fixture(autouse=True)
def _planar_loops():
    """Three of the five rows of a hinge are redundant in the plane; the first test asks for the notice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        yield


def two_rods(cut: str = "hinge", mass: float = 0.0) -> ev.System:
    """The loop cut at the hinge, at a motor, around an apex that moves in the plane; or an apex carried by a rod."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    left, right = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), name=name) for name in ("left", "right"))
    J1 = ev.Revolute(("world", (-0.2, 0.0, 0.0)), (left, "base"), name="J1", start=np.pi / 2)
    J4 = ev.Revolute(("world", (0.2, 0.0, 0.0)), (right, "base"), name="J4", start=np.pi / 2, cut=cut == "motor")
    motors = [ev.Motor(J1, name="tau_1"), ev.Motor(J4, name="tau_2")]
    if cut in ("hinge", "motor"):
        mechanism = ev.Mechanism([J1, J4, ev.Revolute((left, "tip"), (right, "tip"), name="P")])
        if cut == "hinge":
            return ev.System(mechanism, actuators=motors)
        torque = ev.PointWrench(right, at="base", moment=(0.0, 0.0, 1.0), name="tau_2")
        return ev.System(mechanism, actuators=motors[:1], loads=[torque])
    apex = ev.RigidBody(mass=mass, name="apex")
    floats = cut == "apex"
    joints = [
        J1, J4,
        ev.Fixed((left, "tip"), apex, name="F", cut=floats),
        ev.Revolute(apex, (right, "tip"), name="P", cut=floats),
    ]  # fmt: skip
    if floats:
        joints.append(ev.Planar("world", apex, name="plane", start=(0.0, 0.98, np.pi / 2)))
    return ev.System(ev.Mechanism(joints), actuators=motors)


FOLD = ev.smooth_step(0.0, 0.8, 0.0, 0.5)
TORQUES = {"tau_1": lambda t: -0.9 * FOLD(t), "tau_2": FOLD}
IDLE = {"tau_1": 0.0, "tau_2": 0.0}


def swing(system: ev.System, step: float, duration: float = 1.5, method: ev.GeneralizedAlpha | None = None):
    """Folded unevenly, recorded every 20 ms."""
    home = ev.equilibrium(system, IDLE)
    method = method or ev.GeneralizedAlpha(rho_inf=0.6)
    return ev.simulate(system, home, duration, step, method, TORQUES, every=round(0.02 / step))


def largest_gap(a, b) -> float:
    return float(np.max(np.abs(a["left/tip/position"].values - b["left/tip/position"].values)))


# Rows -----------------------------------------------------------------------------------------------------------


def test_redundant_rows_of_a_planar_hinge_are_named_and_dropped():
    with pytest.warns(ev.ElverWarning, match=r"redundant: P/moment_y, P/moment_x, P/force_z hold what is held already"):
        run = swing(two_rods(), 0.02, duration=0.4)
    felt = np.any(np.abs(run["multipliers"].values) > 1e-12, axis=0)  # the others but for rounding
    assert [str(name) for name, used in zip(run["multiplier"].values, felt) if used] == ["P/force_x", "P/force_y"]


def test_closures_hold_to_rounding_at_every_step():
    run = swing(two_rods(), 0.01)
    gap = run["left/tip/position"].values - run["right/tip/position"].values
    assert np.max(np.abs(gap)) < 1e-11


# Cuts -----------------------------------------------------------------------------------------------------------


def test_a_massless_apex_between_two_closures_changes_nothing():
    """It feels no inertia, so that it only follows: the paths agree to rounding, at any step."""
    one = swing(two_rods(), 0.02)
    assert largest_gap(swing(two_rods("apex"), 0.02), one) < 1e-11
    assert largest_gap(swing(two_rods("carried"), 0.02), one) < 1e-11


@pytest.mark.parametrize(("cut", "other", "mass"), [("motor", "hinge", 0.0), ("apex", "carried", 0.05)])
def test_cuts_differ_by_the_truncation_of_velocities(make, cut, other, mass):
    """Closures hold positions; velocities obey them to O(h²) only, and whatever has inertia beyond the cut feels it."""
    steps = (0.02, 0.01, 0.005)
    gaps = [largest_gap(swing(two_rods(cut, mass), h), swing(two_rods(other, mass), h)) for h in steps]
    assert make.observed_order(gaps) == pytest.approx(2.0, abs=0.1)
    assert gaps[1] < 5e-5


def test_velocities_miss_the_closures_by_the_truncation(make):
    system = two_rods()

    def slip(step: float) -> float:
        run = swing(system, step)
        states = [ev.state_at(system, run, t) for t in run["time"].values]
        return max(float(np.max(np.abs(ev.tangent_inverse_dynamics(system, s).J_closure @ s.q_dot))) for s in states)

    assert make.observed_order([slip(h) for h in (0.02, 0.01, 0.005)]) == pytest.approx(2.0, abs=0.2)


# Schemes --------------------------------------------------------------------------------------------------------


def test_newmark_keeps_the_noise_of_newton_and_generalized_alpha_forgets_it():
    """Noise of the force in the hinge: root mean square of its second difference."""

    def growth(method: ev.Newmark | ev.GeneralizedAlpha) -> float:
        system = two_rods()
        run = ev.simulate(system, ev.equilibrium(system), 8.0, 0.01, method, TORQUES)
        force = np.linalg.norm(run["multipliers"].values[:, -3:], axis=1)
        early, late = (np.sqrt(np.mean(np.diff(force[a:b], 2) ** 2)) for a, b in ((100, 200), (600, 800)))
        return float(late / early)

    assert growth(ev.Newmark(tolerance=1e-6)) > 10.0
    assert growth(ev.GeneralizedAlpha(rho_inf=0.6, tolerance=1e-6)) < 1.0
    assert growth(ev.Newmark()) < 1.5  # Newton solved to rounding leaves nothing to keep


# A snap ---------------------------------------------------------------------------------------------------------


def test_steps_that_newton_solves_with_effort_are_better_divided():
    """Steps too long for a snap have wrong solutions that make energy; few iterations refuse them."""
    glass = ev.Material(young=36e9, poisson=0.3, density=1900.0, damping=5e-3)
    left, right = (
        ev.Rod(0.47, ev.Rectangle(2.5e-3, 10e-3), glass, ev.Legendre.planar(3), name=name) for name in ("left", "right")
    )
    load = ev.RigidBody(mass=0.4, name="load")
    facing = np.diag([-1.0, -1.0, 1.0, 1.0])
    facing[0, 3] = 0.46
    J1 = ev.Revolute(("world", (-0.46, 0.0, 0.0)), (left, "base"), name="J1", start=np.pi / 6)
    J2 = ev.Revolute(("world", facing), (right, "base"), name="J2", start=-np.pi / 6)
    joints = [J1, J2, ev.Fixed((left, "tip"), load), ev.Revolute(load, (right, "tip"))]
    system = ev.System(
        ev.Mechanism(joints),
        actuators=[ev.Imposed(J1, name="q_1"), ev.Imposed(J2, name="q_2")],
        loads=[ev.Gravity((0.02, -9.81, 0.0))],
    )
    up = np.pi / 6
    start = ev.equilibrium(system, {"q_1": up, "q_2": -up})
    down = {"q_1": ev.smooth_step(0.0, 5.0, up, -up), "q_2": ev.smooth_step(0.0, 5.0, -up, up)}
    method = ev.GeneralizedAlpha(rho_inf=0.5, tolerance=1e-10, max_iterations=6)
    run = ev.simulate(system, start, 5.5, 0.005, method, down)

    rates = run["q_dot"].sel(coordinate=["J1/angle", "J2/angle"]).values
    power = np.sum(run["efforts"].values * rates, axis=1)
    work = np.append(0.0, np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(run["time"].values)))
    energy = run["energy/total"].values
    assert np.max(energy - energy[0] - work) < 1e-4
    rest = ev.equilibrium(system, {"q_1": -up, "q_2": up})
    away = run["load/position"].values[-1] - ev.poses(system, rest.state, load)[:3, 3]
    assert np.linalg.norm(away) < 1e-4  # it came to rest
