"""Statics, last two bullets: an equilibrium keeps its inputs wherever a state is taken; moving bases are balanced."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.integrators.stepper import Stepper
from elver.statics import Equilibrium

RUBBER = ev.Material(young=2.0e6, poisson=0.5, density=1000.0)
PULL = 0.19  # N


@pytest.fixture(scope="module")
def arm() -> tuple[ev.System, ev.Tendon, Equilibrium]:
    """An arm that a tendon beside it bends by more than half a turn."""
    rod = ev.Rod(0.3, ev.Circle(4e-3), RUBBER, ev.Legendre.kirchhoff(6), name="arm")
    tendon = ev.Tendon(rod, ev.parallel(z=3e-2), reach=3e-2, name="pull")
    system = ev.System(ev.Mechanism.clamped(rod), [tendon])
    return system, tendon, ev.equilibrium(system, {tendon: PULL})


# An Equilibrium is taken as it is ----------------------------------------------------------------------------------


def test_modes_about_an_equilibrium_are_those_of_small_motions_under_its_inputs(arm):
    """``modes(s, e)`` forgot the tendon; a run of small amplitude, which has it, is the independent measure."""
    system, tendon, held = arm
    found = ev.modes(system, held, count=1)
    slow = float(found.frequencies[0])
    start = held.state.with_(q=held.state.q + 1e-4 * found.shapes[:, 0])
    run = ev.simulate(system, start, 6.0 / slow, 0.01 / slow, ev.GaussLegendre4(), {tendon: PULL})
    swing = (run["q"].values - held.state.q) @ found.shapes[:, 0]
    assert _frequency(run["time"].values, swing) == pytest.approx(slow, rel=2e-4)
    # the fault: without its tension the same shape has another frequency, and now a word is said
    with pytest.warns(ev.ElverWarning, match="not in balance"):
        forgotten = ev.modes(system, held.state, count=1)
    assert abs(forgotten.frequencies[0] - slow) > 0.1 * slow


def test_every_function_of_a_state_takes_an_equilibrium(arm):
    system, tendon, held = arm
    given = {tendon: PULL}
    for function in (ev.inverse_dynamics, ev.bias_forces):
        np.testing.assert_array_equal(function(system, held), function(system, held.state, given))
        assert np.max(np.abs(function(held))) < 1e-8  # in balance, system and inputs known
        np.testing.assert_array_equal(function(system, held, {"pull": 0.0}), function(system, held.state))
    np.testing.assert_array_equal(ev.mass_matrix(held), ev.mass_matrix(system, held.state))
    np.testing.assert_array_equal(ev.poses(held), ev.poses(system, held.state))
    np.testing.assert_array_equal(ev.momentum(held), np.zeros(6))
    assert ev.energy(held) == ev.energy(system, held.state)
    assert np.max(np.abs(ev.forward_dynamics(held).q_ddot)) < 1e-3 < np.max(
        np.abs(ev.forward_dynamics(system, held.state).q_ddot)
    )
    for function, field in (
        (ev.tangent_inverse_dynamics, "dQ_dq"), (ev.tangent_forward_dynamics, "dq_ddot_dq"), (ev.linearize, "A")
    ):
        np.testing.assert_array_equal(
            getattr(function(system, held), field), getattr(function(system, held.state, given), field)
        )
    np.testing.assert_array_equal(ev.modes(held).frequencies, ev.modes(system, held.state, given).frequencies)
    np.testing.assert_array_equal(ev.assemble(system, guess=held).q, held.state.q)


def test_energy_counts_the_factor_of_gravity_that_held_the_equilibrium():
    rod = ev.Rod(0.3, ev.Circle(8e-3), RUBBER, ev.Legendre.kirchhoff(5))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
    half = ev.equilibrium(system, {"gravity": 0.5})
    assert ev.energy(half).gravity == pytest.approx(0.5 * ev.energy(system, half.state).gravity, rel=1e-14)


@pytest.mark.filterwarnings("ignore:simulate. ")  # a tendon that is cut, at 10 ms
def test_a_run_from_an_equilibrium_stays_there_until_other_inputs_are_given(arm):
    system, tendon, held = arm
    stays = ev.simulate(system, held, 0.2, 1e-2)
    assert np.max(np.abs(stays["arm/tip/position"].values - held.tip[:3, 3])) < 1e-9
    cut = ev.simulate(system, held, 0.2, 1e-2, inputs={tendon: 0.0})
    np.testing.assert_array_equal(cut["q"].values, ev.simulate(system, held.state, 0.2, 1e-2)["q"].values)
    stepper = Stepper(system, held, 1e-2, ev.GeneralizedAlpha(rho_inf=0.6))
    stepper.advance(20)
    assert np.max(np.abs(stepper.state.q - held.state.q)) < 1e-8


def test_inputs_of_the_same_name_are_taken_over_by_another_system(arm):
    system, tendon, held = arm
    push = ev.PointWrench(system.rod, force=(1.0, 0.0, 0.0), name="push")
    other = ev.System(system.mechanism, [tendon], [push])
    np.testing.assert_allclose(ev.inverse_dynamics(other, held, {"push": 0.0}), ev.inverse_dynamics(held), atol=1e-12)


def test_what_is_no_state_is_refused_in_words(arm):
    system, *_ = arm
    with pytest.raises(ev.BadInput, match=r"state = 3\.0: give a State or an Equilibrium"):
        ev.modes(system, 3.0)
    with pytest.raises(ev.BadInput, match="system is a Mechanism: give a System"):
        ev.modes(system.mechanism, system.rest())


def _frequency(time: np.ndarray, signal: np.ndarray) -> float:
    """Hz, from the first and last upward crossing of zero, interpolated."""
    up = np.flatnonzero((signal[:-1] < 0.0) & (signal[1:] >= 0.0))
    at = time[up] - signal[up] * (time[up + 1] - time[up]) / (signal[up + 1] - signal[up])
    return float((at.size - 1) / (at[-1] - at[0]))


# A base that moves -------------------------------------------------------------------------------------------------


def spinning(rod: ev.Rod, omega: float, axis: int = 2, **parts: object) -> ev.System:
    """A rod along x whose base turns about a world axis at ``omega`` [rad/s]."""
    twist = np.zeros(6)
    twist[axis] = omega
    return ev.System(ev.Mechanism.driven(rod, ev.Motion.steady(twist)), **parts)


def stretched(k: float) -> float:
    """Length over rest length of a rod that rotates about its end, linear law: EA x'' + ρA ω² x = 0, EA(x' - 1) = 0
    at the tip, so x = L sin(k s/L)/(k cos k) with k = ω L √(ρ/E)."""
    return float(np.tan(k) / k)


@pytest.mark.parametrize("omega", [5.0, 50.0, 90.0])
def test_a_rotating_rod_is_stretched_by_its_inertia(omega):
    """At 50 rad/s the tip was at 1.0 for a stretch of 1.0926."""
    rod = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=1e7, poisson=0.5, density=1000.0), ev.Legendre.extensible(10))
    found = ev.equilibrium(spinning(rod, omega))
    assert found.tip[0, 3] == pytest.approx(stretched(omega * np.sqrt(1000.0 / 1e7)), abs=1e-10)
    np.testing.assert_allclose(found.tip[1:3, 3], 0.0, atol=1e-12)
    assert found.stable is True
    np.testing.assert_array_equal(found.state.eta, [0.0, 0.0, omega, 0.0, 0.0, 0.0])


def test_a_joint_turned_at_a_constant_rate_carries_its_rod_like_a_base():
    rod = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=1e7, poisson=0.5, density=1000.0), ev.Legendre.extensible(10))
    hinge = ev.Revolute("world", (rod, "base"), name="hub")
    system = ev.System(ev.Mechanism([hinge]), [ev.Imposed(hinge, name="turn")])
    found = ev.equilibrium(system, {"turn": lambda t: (0.3 + 50.0 * t, 50.0, 0.0)})
    assert np.linalg.norm(found.tip[:3, 3]) == pytest.approx(stretched(0.5), abs=1e-10)
    # and it turns on from there, with the rate that held it
    run = ev.simulate(system, found, 0.05, 1e-3, ev.GaussLegendre4())
    reach = np.linalg.norm(run["rod/tip/position"].values, axis=1)
    np.testing.assert_allclose(reach, stretched(0.5), atol=1e-8)
    assert float(run["q"].values[-1, 0]) == pytest.approx(0.3 + 50.0 * 0.05, abs=1e-12)


def test_a_run_from_a_relative_equilibrium_stays_there():
    rod = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=1e7, poisson=0.5, density=1000.0), ev.Legendre.reissner(5))
    system = spinning(rod, 30.0, loads=[ev.Gravity()])  # about the vertical: the tip sags and stretches, steadily
    found = ev.equilibrium(system)
    assert found.tip[2, 3] < -1e-3
    run = ev.simulate(system, found, 0.2, 2e-3, ev.GaussLegendre4())
    np.testing.assert_allclose(run["q"].values, np.tile(found.state.q, (run.sizes["time"], 1)), atol=1e-9)


def test_steady_acceleration_is_weight_the_other_way():
    """Einstein's lift: what a base that accelerates does to a rod is what gravity does."""
    rod = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre.reissner(4))
    push = np.array([1.0, -2.0, 6.0])

    def pose(t: float) -> np.ndarray:
        g = np.eye(4)
        g[:3, 3] = 0.5 * push * t**2
        return g

    motion = ev.Motion(pose, lambda t: [0.0, 0.0, 0.0, *(push * t)], lambda t: [0.0, 0.0, 0.0, *push])
    lifted = ev.equilibrium(ev.System(ev.Mechanism.driven(rod, motion)))
    weighed = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity(tuple(-push))]))
    np.testing.assert_allclose(lifted.state.q, weighed.state.q, atol=1e-9)
    np.testing.assert_allclose(
        ev.modes(lifted, count=4).frequencies, ev.modes(weighed, count=4).frequencies, rtol=1e-8
    )


def test_a_driven_base_that_stands_still_is_a_clamp():
    rod = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre.reissner(4))
    g = np.eye(4)
    g[:3, 3] = 0.1, 0.2, 0.3
    still = ev.equilibrium(ev.System(ev.Mechanism.driven(rod, ev.Motion(lambda t: g)), loads=[ev.Gravity()]))
    clamped = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod, g), loads=[ev.Gravity()]))
    np.testing.assert_array_equal(still.state.q, clamped.state.q)


# Vibrations of what rotates ----------------------------------------------------------------------------------------

SLENDER = ev.Material(young=2e9, poisson=0.3, density=1200.0)


def blade(speed: float, axis: int) -> tuple[ev.System, float, float]:
    """A slender cantilever turned at non-dimensional ``speed``, its unit of frequency √(EI/ρA)/L² and its speed."""
    rod = ev.Rod(1.0, ev.Circle(2e-3), SLENDER, ev.Legendre(bending=10), name="blade")
    unit = float(np.sqrt(2e9 * (2e-3) ** 2 / 4.0 / 1200.0))
    return spinning(rod, speed * unit, axis), unit, speed * unit


@pytest.mark.parametrize(("speed", "wanted"), [(0, 3.5160), (4, 5.5850), (8, 9.2568), (12, 13.1702)])
def test_a_rotating_cantilever_flaps_as_published(speed, wanted):
    """First flapping frequencies without hub: Wright, Smith, Thresher and Wang 1982. In the plane of rotation (lead
    and lag) the same blade has √(flap² - speed²), since the centrifugal force keeps its direction, not its line."""
    system, unit, _ = blade(speed, 2)
    found = ev.equilibrium(system)
    assert found.stable is True
    lag, flap = 2.0 * np.pi * np.sort(ev.modes(found, count=2).frequencies) / unit
    assert flap == pytest.approx(wanted, abs=1e-3)
    assert lag == pytest.approx(np.sqrt(wanted**2 - speed**2), abs=2e-3)  # set with the values in view


def test_frequencies_about_a_relative_equilibrium_are_seen_in_a_run():
    system, unit, _ = blade(8, 2)
    found = ev.equilibrium(system)
    seen = ev.modes(found, count=2)
    k = int(np.argmax(seen.frequencies))
    f, shape = float(seen.frequencies[k]), seen.shapes[:, k]
    start = found.state.with_(q=found.state.q + 1e-3 * shape)
    run = ev.simulate(system, start, 8.0 / f, 0.01 / f, ev.GaussLegendre4())
    swing = (run["q"].values - found.state.q) @ shape
    assert _frequency(run["time"].values, swing) == pytest.approx(f, rel=3e-4)  # set with the value in view
    assert 2.0 * np.pi * f / unit == pytest.approx(9.2568, abs=1e-3)


def test_a_pendulum_on_a_turning_table_stands_out_from_the_axis():
    """Uniform bar of length L on a hinge, the table turned about the vertical at Ω² > 3g/2L: cos θ = 3g/(2LΩ²), and
    small motions at Ω sin θ; hanging straight down it is unstable then."""
    bar = ev.RigidBody(mass=0.3, inertia=(1e-9, 0.3 * 0.4**2 / 12.0, 0.3 * 0.4**2 / 12.0), name="bar")
    hinge = ev.Revolute("world", (bar, (-0.2, 0.0, 0.0)), axis="y", start=0.5, name="hinge")
    omega, g = 9.0, 9.81
    table = ev.Driven(ev.Motion.steady((0.0, 0.0, omega, 0.0, 0.0, 0.0)))
    system = ev.System(ev.Mechanism([hinge], base=table), loads=[ev.Gravity()])
    found = ev.equilibrium(system)
    theta = np.arccos(3.0 * g / (2.0 * 0.4 * omega**2))  # from the vertical; the hinge turns down from x
    assert found.state.q[0] == pytest.approx(0.5 * np.pi - theta, abs=1e-7)
    assert found.stable is True
    assert 2.0 * np.pi * ev.modes(found).frequencies[0] == pytest.approx(omega * np.sin(theta), rel=1e-6)
    straight = system.rest().with_(q=np.array([0.5 * np.pi]))
    assert ev.modes(system, straight).damping[0] == pytest.approx(-1.0)  # grows


@pytest.mark.parametrize("damping", [0.0, 1e-3])
def test_a_shaft_beyond_its_critical_speed_is_held_by_gyroscopic_forces_alone(damping):
    """A round rod along the axis it is turned about: in its frame it moves at |ω ± Ω|. Beyond Ω = ω the stiffness is
    negative, and Coriolis forces hold it; the least damping inside the rod undoes that (Kimball 1924)."""
    material = ev.Material(young=2e9, poisson=0.3, density=1200.0, damping=damping)
    rod = ev.Rod(1.0, ev.Circle(2e-3), material, ev.Legendre(bending=6), name="shaft")
    omega = 3.51601527 * float(np.sqrt(2e9 * (2e-3) ** 2 / 4.0 / 1200.0))
    for speed, holds in ((0.7 * omega, True), (1.4 * omega, damping == 0.0)):
        system = spinning(rod, speed, axis=0)
        straight = system.rest()
        stable = ev.stability(_at(system, straight)).stable
        assert stable is holds
        slow = 2.0 * np.pi * np.sort(ev.modes(system, straight, count=2).frequencies)
        np.testing.assert_allclose(slow, [abs(omega - speed), omega + speed], rtol=2e-4)


def _at(system: ev.System, state: ev.State) -> Equilibrium:
    """A state in balance, as it is."""
    return Equilibrium(system, state, system.input_vector(system.signals(None), 0.0), True, 0, 0.0)


# What is not steady is told ----------------------------------------------------------------------------------------


def test_a_motion_that_is_not_steady_is_told():
    rod = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre.reissner(3))
    with pytest.warns(ev.ElverWarning, match="the motion of the base is not steady: what is in balance at t = 0 s"):
        ev.equilibrium(spinning(rod, 3.0, axis=1, loads=[ev.Gravity()]))  # weight turns in the frame of the base
    faster = ev.Motion(
        lambda t: _turned(0.5 * t**2), lambda t: [0.0, 0.0, t, 0.0, 0.0, 0.0], lambda t: [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    )
    with pytest.warns(ev.ElverWarning, match="not steady"):
        ev.equilibrium(ev.System(ev.Mechanism.driven(rod, faster)), guess=_later(rod, faster, 2.0))
    hold = ev.Hold("tip", position=(0.38, 0.0, None))
    held = ev.System(ev.Mechanism.driven(rod, ev.Motion.steady((0.0, 0.0, 3.0, 0.0, 0.0, 0.0)), holds=[hold]))
    with pytest.warns(ev.ElverWarning, match="not steady"):
        ev.equilibrium(held)  # its tip is held in the world


def test_an_imposed_motion_that_changes_its_rate_is_told():
    rod = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre.reissner(3))
    hinge = ev.Revolute("world", (rod, "base"), name="hub")
    system = ev.System(ev.Mechanism([hinge]), [ev.Imposed(hinge, name="turn")], [ev.Gravity()])
    faster = {"turn": lambda t: (0.1 + 3.0 * t + t**2, 3.0 + 2.0 * t, 2.0)}
    with pytest.warns(ev.ElverWarning, match=r"'turn' is imposed at 3 rad/s and 2 rad/s² .* no constant rate"):
        found = ev.equilibrium(system, faster)
    wave = {"turn": lambda t: (0.1 + np.sin(3.0 * t), 3.0 * np.cos(3.0 * t), -9.0 * np.sin(3.0 * t))}
    with pytest.warns(ev.ElverWarning, match="'turn' is imposed at 3 rad/s and -0 rad/s² "):
        np.testing.assert_array_equal(ev.equilibrium(system, wave).state.q, found.state.q)
    np.testing.assert_array_equal(found.state.q, ev.equilibrium(system, {"turn": 0.1}).state.q)


def _turned(angle: float) -> np.ndarray:
    g = np.eye(4)
    g[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return g


def _later(rod: ev.Rod, motion: ev.Motion, time: float) -> ev.State:
    return ev.System(ev.Mechanism.driven(rod, motion)).rest(time)


def test_methods_for_rods_that_stand_still_refuse_a_base_that_turns():
    rod = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre.kirchhoff(3))
    with pytest.raises(ev.BadInput, match=r"the base moves, at 3 rad/s, .* use equilibrium\(system\)"):
        ev.rod_equilibrium(spinning(rod, 3.0))


def test_branches_and_inverse_models_know_a_base_that_turns():
    """All of statics works on the same balance: what they return needs no force beyond its inputs."""
    rod = ev.Rod(0.4, ev.Circle(8e-3), RUBBER, ev.Legendre.planar(4), name="arm")
    tendon = ev.Tendon(rod, ev.parallel(y=6e-3), name="pull")
    system = spinning(rod, 6.0, actuators=[tendon])
    branch = ev.continuation(system, tendon, stop=3.0, step=0.3)
    assert branch.values[-1] >= 3.0
    for point in (branch.equilibria[-1], ev.equilibrium(system, {tendon: 2.0})):
        assert np.max(np.abs(ev.inverse_dynamics(point))) < 1e-9
    wanted = ev.equilibrium(system, {tendon: 2.0})
    found = ev.inverse_statics(system, (None, float(wanted.tip[1, 3]), None))
    assert found.inputs["pull"] == pytest.approx(2.0, abs=1e-6)
    assert np.max(np.abs(ev.inverse_dynamics(found.equilibrium))) < 1e-8
    # the turn matters: it pulls the arm straight
    slack = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [tendon]), {tendon: 2.0})
    assert slack.tip[1, 3] - wanted.tip[1, 3] > 1e-3
    soft = ev.singularity(system, wanted).stiffness, ev.singularity(ev.System(slack.system.mechanism, [tendon]), slack)
    assert soft[0] > soft[1].stiffness
