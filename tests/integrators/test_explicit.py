"""The explicit methods: their order on every kind of robot, their limits, and what they say at them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import elver as ev
from elver.lie import so3

RK4 = ev.RungeKutta4()


def link(name: str, length: float = 0.3) -> ev.RigidBody:
    return ev.RigidBody.elliptic_cylinder((0.03, 0.05), length, mass=1.0, centre=(length / 2.0, 0.0, 0.0), name=name)


def free_chain() -> tuple[ev.System, ev.State, dict]:
    """Three links and two joints in free flight, with a spring and a motor."""
    a, b, c = (link(name) for name in "abc")
    elbow = ev.Revolute((a, (0.3, 0.0, 0.0)), b, axis=(0.1, 1.0, 0.3), name="elbow")
    wrist = ev.Universal((b, (0.3, 0.0, 0.0)), c, name="wrist")
    motor = ev.Motor(elbow)
    loads = [ev.Gravity(), ev.JointSpring(wrist, 0.5, coordinate=wrist.coordinate_names[0])]
    system = ev.System(ev.Mechanism([ev.Floating("world", a), elbow, wrist]), [motor], loads)
    state = system.rest().with_(q=(0.3, -0.4, 0.6), q_dot=(2.0, -1.0, 3.0), eta=(3.0, -2.0, 4.0, 0.5, 1.0, -1.0))
    return system, state, {motor: ev.sine(0.0, 0.1, 1.5)}


def tumbling_body() -> tuple[ev.System, ev.State, dict]:
    """A free top far from its axes: Ω turns fast, so that every term of Θ' = T⁻¹(Θ) Ω that the order needs is seen."""
    top = ev.RigidBody(1.0, (1.0, 2.0, 2.8), name="top")
    system = ev.System(ev.Mechanism([ev.Floating("world", top)]))
    return system, system.rest().with_(eta=(4.0, 3.0, -5.0, 0.0, 0.0, 0.0)), {}


def spinning_balls() -> tuple[ev.System, ev.State, dict]:
    """A pendulum of two links on ball joints that turns over and over."""
    a, b = link("a"), link("b")
    balls = [ev.Spherical("world", a, name="hip"), ev.Spherical((a, (0.3, 0.0, 0.0)), b, name="knee")]
    system = ev.System(ev.Mechanism(balls), loads=[ev.Gravity()])
    return system, system.rest().with_(q_dot=(4.0, 5.0, 6.0, -6.0, 3.0, 8.0)), {}


def driven_chain() -> tuple[ev.System, ev.State, dict]:
    """Two links on a base that turns about z and moves along x, with exact rates."""

    def pose(t: float) -> np.ndarray:
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = so3.exp((0.0, 0.0, np.sin(3.0 * t))), (0.2 * np.sin(4.0 * t), 0.0, 0.0)
        return g

    def twist(t: float) -> np.ndarray:
        return np.array([0.0, 0.0, 3.0 * np.cos(3.0 * t), *(pose(t)[:3, :3].T @ (0.8 * np.cos(4.0 * t), 0.0, 0.0))])

    def rate(t: float) -> np.ndarray:
        eta = twist(t)
        v_dot = pose(t)[:3, :3].T @ (-3.2 * np.sin(4.0 * t), 0.0, 0.0) - np.cross(eta[:3], eta[3:])
        return np.array([0.0, 0.0, -9.0 * np.sin(3.0 * t), *v_dot])

    a, b = link("a"), link("b")
    joints = [
        ev.Revolute("world", a, axis="y", name="shoulder"),
        ev.Spherical((a, (0.3, 0.0, 0.0)), b, name="elbow"),
    ]
    system = ev.System(ev.Mechanism(joints, base=ev.Driven(ev.Motion(pose, twist, rate))), loads=[ev.Gravity()])
    return system, system.rest().with_(q=(0.5, 0.2, -0.3, 0.4), q_dot=(1.0, 2.0, -1.0, 0.5)), {}


def controlled() -> tuple[ev.System, ev.State, dict]:
    """A free body under a wrench, and a link on it under an effort, that are Python functions of time and motion."""
    a, b = link("a"), link("b")
    elbow = ev.Revolute((a, (0.3, 0.0, 0.0)), b, axis="z", name="elbow")

    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.concatenate([-0.1 * eta[:3], g[:3, :3].T @ (0.3 * np.sin(4.0 * t) - 4.0 * g[:3, 3]) - eta[3:]])

    control = ev.JointFeedback([elbow], lambda t, q, q_dot: np.array([0.3 * np.cos(5.0 * t) - np.sin(q[0])]))
    system = ev.System(ev.Mechanism([ev.Floating("world", a), elbow]), loads=[ev.Feedback(a, wrench), control])
    return system, system.rest().with_(q_dot=(3.0,), eta=(1.0, -2.0, 3.0, 0.5, 0.0, 1.0)), {}


def swimmer() -> tuple[ev.System, ev.State, dict]:
    """A rod whose shape is imposed, in water."""
    rod = ev.Rod(
        0.6, ev.Ellipse(0.03, 0.05), ev.Material(1e6, poisson=0.4, density=1000.0), ev.Legendre.planar(2), nodes=12
    )
    drives = ev.Imposed.all(rod)
    inputs = {drives[0]: ev.sine(0.0, 2.0, 1.0), drives[1]: ev.sine(0.0, 3.0, 1.0, phase=1.0)}
    # added mass alone: drag has a kink where a strip stands still, and costs the order
    system = ev.System(ev.Mechanism.free(rod), drives, [ev.Morison(drag=(0.0, 0.0, 0.0, 0.0))])
    return system, system.rest().with_(eta=(0.0, 0.0, 0.0, -0.3, 0.0, 0.0)), inputs


# Name: robot, duration [s], longest step [s]
CASES = {
    # steps so short that a term of third order would stand out from those of fourth order
    "tumbling body": (tumbling_body, 0.5, 0.008),
    "free chain": (free_chain, 0.5, 0.01),
    "ball joints": (spinning_balls, 1.0, 0.005),
    "driven base": (driven_chain, 0.5, 0.0125),
    "feedback": (controlled, 0.18, 0.015),
    "swimmer": (swimmer, 0.5, 0.025),
}


def end(run: xr.Dataset) -> np.ndarray:
    """Places and orientations of all bodies, and of all nodes of a rod, at the last instant."""
    found = []
    for name in run:
        if str(name).endswith("/position"):
            found.append(run[name].values[-1].ravel())
        if str(name).endswith("/orientation"):
            found.append(so3.from_quaternion(run[name].values[-1]).ravel())
    return np.concatenate(found)


def move(case: str, method: ev.RungeKutta4 | ev.GaussLegendre4, divide: int) -> xr.Dataset:
    make, duration, step = CASES[case]
    system, state, inputs = make()
    return ev.simulate(system, state, duration, step / divide, method, inputs)


@pytest.mark.parametrize("case", CASES)
def test_order_four(case, make):
    """Against the same method with half the last step, whose own error of 1/16 of that adds 0.05 to the order."""
    expected = end(move(case, RK4, 8))
    errors = [np.abs(end(move(case, RK4, divide)) - expected).max() for divide in (1, 2, 4)]
    assert errors[-1] > 1e-12  # above rounding
    assert make.observed_order(errors) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("case", CASES)
def test_semi_implicit_euler_has_order_one(case, make):
    """Against Runge-Kutta; Euler's own error shrinks by the step, up to terms that are smaller by it once more."""
    expected, euler = end(move(case, RK4, 8)), ev.SemiImplicitEuler()
    errors = [np.abs(end(move(case, euler, divide)) - expected).max() for divide in (10, 20, 40)]
    assert make.observed_order(errors) == pytest.approx(1.0, abs=0.1)


@pytest.mark.filterwarnings("ignore:simulate. energy")
def test_semi_implicit_euler_by_hand():
    """v₁ = v₀ + h a₀, x₁ = x₀ + h v₁ on a spring: an ellipse of constant area, for ever."""
    slider = ev.RigidBody.point(2.0, "slider")
    rail = ev.Prismatic("world", slider, axis="x", name="rail")
    system = ev.System(ev.Mechanism([rail]), loads=[ev.JointSpring(rail, 8.0)])
    h, steps = 0.1, 400
    run = ev.simulate(system, system.rest().with_(q=(0.3,)), steps * h, h, ev.SemiImplicitEuler())
    x, v = 0.3, 0.0
    for k in range(1, steps + 1):
        v -= h * 4.0 * x
        x += h * v
        assert run["q"].values[k, 0] == pytest.approx(x, abs=1e-12)
    # x² + v²/ω² - h x v is conserved exactly
    q, q_dot = run["q"].values[:, 0], run["q_dot"].values[:, 0]
    np.testing.assert_allclose(q**2 + q_dot**2 / 4.0 - h * q * q_dot, 0.09, rtol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if case != "feedback"])
def test_the_same_motion_as_the_method_of_gauss(case):
    """Two methods of order 4, each as far from the truth as 1/15 of what halving its step changes; a margin of 2."""
    coarse, fine = end(move(case, RK4, 2)), end(move(case, RK4, 4))
    coarse_gauss, fine_gauss = end(move(case, ev.GaussLegendre4(), 2)), end(move(case, ev.GaussLegendre4(), 4))
    bound = 2.0 / 15.0 * (np.abs(coarse - fine).max() + np.abs(coarse_gauss - fine_gauss).max())
    assert np.abs(fine - fine_gauss).max() < bound


def test_rotation_vectors_were_exchanged():
    """The run of the ball joints is one in which coordinates jump, and bodies do not."""
    run = move("ball joints", RK4, 1)
    q = run["q"].values.reshape(-1, 2, 3)
    assert np.linalg.norm(np.diff(q, axis=0), axis=2).max() > np.pi
    assert np.linalg.norm(q, axis=2).max() < 1.3 * np.pi
    for body in "ab":
        R = so3.from_quaternion(run[f"{body}/orientation"].values)
        turn = np.linalg.norm(so3.log(np.einsum("tji,tjk->tik", R[:-1], R[1:])), axis=-1)
        assert turn.max() < 0.2


def test_the_record_is_the_motion():
    """Accelerations in the record are those of the state beside them, rounding apart; Newton was not asked."""
    system, state, inputs = free_chain()
    run = ev.simulate(system, state, 0.2, 0.01, RK4, inputs)
    assert not run["newton_iterations"].values.any()
    for time in (0.0, 0.1, 0.2):
        at = ev.state_at(system, run, time)
        found = ev.forward_dynamics(system, at, inputs)
        np.testing.assert_allclose(found.q_ddot, at.q_ddot, rtol=1e-9)
        np.testing.assert_allclose(found.eta_dot, at.eta_dot, rtol=1e-9)


def test_a_run_goes_on_where_it_ended():
    system, state, inputs = free_chain()
    whole = ev.simulate(system, state, 0.4, 0.01, RK4, inputs)
    first = ev.simulate(system, state, 0.2, 0.01, RK4, inputs)
    second = ev.simulate(system, ev.state_at(system, first), 0.2, 0.01, RK4, inputs)
    np.testing.assert_allclose(end(second), end(whole), atol=1e-12)  # rounding: quaternions are in between


# Steps of any length ------------------------------------------------------------------------------------------


def test_adaptive_steps():
    """An error of ``tolerance`` per step and no more of them in all: N tolerance, and what the motion makes of it.

    The chain is not chaotic over half a second: the factor by which an error grows is seen by moving the start.
    """
    system, state, inputs = free_chain()
    expected = end(move("free chain", RK4, 16))
    moved = state.with_(q_dot=state.q_dot + 1e-6, eta=state.eta + 1e-6)
    growth = np.abs(end(ev.simulate(system, moved, 0.5, 0.01 / 16, RK4, inputs)) - expected).max() / 1e-6
    counts = []
    for tolerance in (1e-6, 1e-9):
        run = ev.simulate(system, state, 0.5, ev.Adaptive(tolerance, first=1e-3), RK4, inputs)
        counts.append(run.sizes["time"])
        assert float(run["time"][-1]) == pytest.approx(0.5, abs=1e-12)
        assert np.abs(end(run) - expected).max() < max(growth, 1.0) * counts[-1] * tolerance
    # order 4: a thousandth of the error takes steps shorter by 1000^(1/5) = 4
    assert 2.0 < counts[1] / counts[0] < 8.0


def test_a_duration_that_is_no_multiple_of_the_step():
    system, state, inputs = free_chain()
    run = ev.simulate(system, state, 0.25, 0.0099, RK4, inputs)
    assert float(run["time"][-1]) == pytest.approx(0.25, abs=1e-12)


# What it cannot do --------------------------------------------------------------------------------------------


def test_closures_are_refused():
    rod = ev.Rod(0.5, ev.Circle(0.01), ev.Material(1e6, poisson=0.4, density=1000.0), ev.Legendre.planar(2))
    held = ev.System(ev.Mechanism.clamped(rod, holds=[ev.Hold(at="tip", position=(0.4, None, None))]))
    with pytest.raises(ev.BadInput, match=r"RungeKutta4 cannot hold closures, such as .*: use GeneralizedAlpha"):
        ev.simulate(held, duration=0.1, method=RK4)


def test_spectral_rods_are_refused():
    rod = ev.Rod(
        0.5, ev.Circle(0.01), ev.Material(1e6, poisson=0.4, density=1000.0), ev.Legendre.planar(2),
        integration=ev.Spectral(),
    )  # fmt: skip
    with pytest.raises(ev.BadInput, match=r"RungeKutta4 needs rods with Magnus or RungeKuttaMuntheKaas"):
        ev.simulate(ev.System(ev.Mechanism.clamped(rod)), duration=0.1, method=RK4)


def test_the_other_group_is_refused():
    with pytest.raises(ev.BadInput, match=r"group = 'SE3': RungeKutta4 moves a free base on 'SO3xR3'"):
        ev.RungeKutta4(group="SE3")


def test_a_stiff_rod_and_a_long_step():
    """The fastest mode has a period far below the step: it is told, with advice and the steps before."""
    steel = ev.Material(2e11, poisson=0.3, density=7800.0)
    rod = ev.Rod(0.5, ev.Circle(5e-3), steel, ev.Legendre.planar(4))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity((0.0, -9.81, 0.0))])
    with pytest.raises(ev.NotConverged, match=r"the explicit step blew up at t = .* s even with .*implicit") as caught:
        ev.simulate(system, duration=1.0, step=0.02, method=ev.RungeKutta4(halvings=3))
    assert "Newmark() or GeneralizedAlpha(rho_inf=0.5)" in str(caught.value)
    kept = caught.value.result
    assert kept.sizes["time"] >= 1
    assert kept.attrs["status"].startswith("stopped")
    # and with a step that resolves its modes the same rod runs
    run = ev.simulate(system, duration=1e-3, step=2e-6, method=RK4)
    assert run.attrs["status"] == "complete"


@pytest.mark.filterwarnings("ignore:simulate. energy")
def test_a_base_that_blows_up_is_noticed_in_the_same_step():
    """Drag of 2 d |v| / m = 130/s and steps of 0.05 s: too long by far, and shorter ones would do.

    What is kept of a run is motion: drag alone makes nothing faster.
    """
    body = ev.RigidBody.elliptic_cylinder((0.03, 0.05), 0.4, density=1000.0)
    water = ev.Morison(drag=(1.0, 1.0, 1.0, 1.0), added_mass=(0.0, 0.0, 0.0))
    system = ev.System(ev.Mechanism([ev.Floating("world", body)]), loads=[water])
    start = system.rest().with_(eta=(0.0, 0.0, 0.0, -5.0, 0.0, 0.0))
    try:
        run = ev.simulate(system, start, 2.0, 0.05, RK4)
    except ev.NotConverged as error:
        run = error.result
    energy = run["energy/kinetic"].values
    assert np.all(energy <= energy[0])


# Inputs that go wrong -----------------------------------------------------------------------------------------


def gait(function) -> tuple[ev.System, dict]:
    a, b = link("a"), link("b")
    elbow = ev.Revolute((a, (0.3, 0.0, 0.0)), b, axis="z", name="elbow")
    drive = ev.Imposed(elbow)
    system = ev.System(ev.Mechanism([ev.Floating("world", a), elbow]), [drive], [ev.Morison()])
    return system, {drive: function}


def test_a_gait_that_becomes_nan_names_input_and_time():
    """At the middle of a step too; what was computed before it is kept."""
    system, inputs = gait(lambda t: (np.sin(t), np.cos(t), -np.sin(t)) if t < 0.052 else (np.nan, 0.0, 0.0))
    with pytest.raises(ev.BadInput, match=r"imposed 'elbow.*' at t = 0\.055 s") as caught:
        ev.simulate(system, duration=0.2, step=0.01, method=RK4, inputs=inputs)
    np.testing.assert_allclose(caught.value.result["time"].values, 0.01 * np.arange(6), atol=1e-12)


def test_a_gait_of_the_wrong_length_is_refused():
    system, inputs = gait(lambda t: (np.sin(t), np.cos(t)))
    with pytest.raises(ev.BadInput, match=r"imposed 'elbow.*' at t = 0 s has shape \(2,\): return one number in rad"):
        ev.simulate(system, duration=0.2, step=0.01, method=RK4, inputs=inputs)
    joints = [joint for joint in system.mechanism.joints if joint.name == "elbow"]
    wave = ev.TravellingWave(0.1, 0.0, 1.0, 1.0)
    with pytest.raises(ev.BadInput, match=r"3 stations for 1 joint; give 2, one more than joints"):
        ev.joint_gait(joints, wave, (0.0, 0.1, 0.2))


def test_a_gait_for_a_joint_of_another_robot_is_refused():
    system, _ = gait(0.0)
    stranger = ev.Revolute(link("x"), link("y"), axis="z", name="stranger")
    drives, inputs = ev.joint_gait([stranger], ev.TravellingWave(0.1, 0.0, 1.0, 1.0), (0.0, 0.1))
    with pytest.raises(ev.BadInput, match=r"'stranger.*'.* is not part of this system; its inputs are 'elbow"):
        ev.simulate(system, duration=0.2, step=0.01, method=RK4, inputs=inputs)
    with pytest.raises(ev.BadInput, match=r"stranger"):
        ev.System(system.mechanism, drives)


def test_energies_take_the_inputs_of_their_own_instant() -> None:
    """Inputs are kept for the middle of each step too: a pendulum whose angle is imposed rises by m g a sin(angle)."""
    bob = ev.RigidBody.point(2.0, centre=(0.3, 0.0, 0.0), name="bob")
    hinge = ev.Revolute("world", bob, axis="y", name="hinge")
    system = ev.System(ev.Mechanism([hinge]), [*ev.Imposed.all(hinge)], loads=[ev.Gravity()])
    angle = {system.channel_names[0]: lambda t: 0.5 * t}
    run = ev.simulate(system, system.rest(), 0.4, 0.1, ev.RungeKutta4(), inputs=angle)
    rise = run["energy/gravity"].values - run["energy/gravity"].values[0]
    np.testing.assert_allclose(rise, -2.0 * 9.81 * 0.3 * np.sin(0.5 * run.time.values), atol=1e-3)
