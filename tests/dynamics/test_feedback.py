"""Wrenches written in Python: they equal built-in loads and closed forms, and what fails in them loses nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import elver as ev
from elver.lie.so3 import hat

MASS = 0.8
METHODS = [ev.Newmark(), ev.GeneralizedAlpha(rho_inf=0.8), ev.ImplicitMidpoint(), ev.GaussLegendre4()]
NAMES = [type(method).__name__ for method in METHODS]


def link(name: str = "link") -> ev.RigidBody:
    return ev.RigidBody(MASS, (0.02, 0.03, 0.04), (0.3, 0.05, 0.0), name=name)


# Built-in loads, written by hand ----------------------------------------------------------------------------


def spring_and_damper(k: float, d: float) -> tuple[Any, Any]:
    """A torsion spring and a damper about z, and their tangent."""

    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> list[float]:
        return [0.0, 0.0, -k * np.arctan2(g[1, 0], g[0, 0]) - d * eta[2], 0.0, 0.0, 0.0]

    def tangent(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        slope = np.zeros((6, 12))
        slope[2, 2], slope[2, 8] = -k, -d
        return slope

    return wrench, tangent


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("given", [True, False], ids=["tangent", "differences"])
def test_a_spring_in_python_is_a_joint_spring(method: ev.Newmark, given: bool) -> None:
    body = link()
    hinge = ev.Revolute("world", body, name="hinge", start=0.9)
    wrench, tangent = spring_and_damper(5.0, 0.1)
    down = ev.Gravity((0.0, -9.81, 0.0))
    mechanism = ev.Mechanism([hinge])
    ours = ev.System(mechanism, loads=[down, ev.Feedback(body, wrench=wrench, tangent=tangent if given else None)])
    built_in = ev.System(
        mechanism, loads=[down, ev.JointSpring(hinge, stiffness=5.0), ev.JointFriction(hinge, viscous=0.1)]
    )
    run, wanted = (ev.simulate(system, None, 0.5, 0.02, method) for system in (ours, built_in))
    for name in ("q", "q_dot", "q_ddot"):
        np.testing.assert_allclose(run[name].values, wanted[name].values, atol=1e-9)  # Newton's tolerance, over h²


def test_friction_in_python_is_sliding_friction_in_a_loop() -> None:
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    rods = [ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(2), name=name) for name in ("left", "right")]
    platform = ev.RigidBody.point(0.1, name="platform")
    mechanism = ev.Mechanism(
        [
            ev.Revolute(("world", (-0.2, 0.0, 0.0)), (rods[0], "base"), name="J1", start=1.2),
            ev.Revolute(("world", (0.2, 0.0, 0.0)), (rods[1], "base"), name="J4", start=np.pi - 1.2),
            ev.Fixed((rods[0], "tip"), platform, name="J3"),
            ev.Revolute(platform, (rods[1], "tip"), name="P", cut=True),
        ]
    )
    motor = ev.Motor(mechanism.joint("J1"), name="motor")

    def drag(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(3), -2.0 * eta[3:]])

    slope = np.zeros((6, 12))
    slope[3:, 9:] = -2.0 * np.eye(3)
    runs = []
    with warnings.catch_warnings():
        # planar rods hold three of the five rows already
        warnings.filterwarnings("ignore", message="redundant: P", category=ev.ElverWarning)
        for load in (
            ev.Feedback(platform, wrench=drag, tangent=lambda t, g, eta: slope),
            ev.SlidingFriction(platform, viscous=2.0),
        ):
            system = ev.System(mechanism, actuators=[motor], loads=[load])
            start = ev.equilibrium(system, {motor: 0.0})
            inputs = {motor: lambda t: 0.2 * np.sin(20.0 * t)}
            runs.append(ev.simulate(system, start, 0.3, 5e-3, ev.ImplicitMidpoint(), inputs))
    run, wanted = runs
    assert np.ptp(wanted["platform/position"].values[:, 0]) > 1e-3
    np.testing.assert_allclose(run["q"].values, wanted["q"].values, atol=1e-9)
    np.testing.assert_allclose(run["multipliers"].values, wanted["multipliers"].values, atol=1e-5)


def test_a_constant_wrench_in_python_bends_like_a_dead_load() -> None:
    """At a section inside the rod, in statics: force and moment in the world, written in section axes."""
    material = ev.Material(young=2e6, poisson=0.4, density=1000.0)
    rod = ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.kirchhoff(3), name="rod")
    force, moment = np.array([0.05, 0.08, -0.06]), np.array([0.004, -0.003, 0.005])

    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.concatenate([g[:3, :3].T @ moment, g[:3, :3].T @ force])

    def tangent(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        slope = np.zeros((6, 12))
        slope[:3, :3], slope[3:, :3] = hat(g[:3, :3].T @ moment), hat(g[:3, :3].T @ force)
        return slope

    mechanism = ev.Mechanism.clamped(rod)
    load = ev.PointWrench(rod, at=0.3, force=force, moment=moment)
    # a couple fixed in space has no potential, and without damping the rod flutters under it
    wanted = ev.equilibrium(ev.System(mechanism, loads=[load]), branch="connected")
    for slope in (tangent, None):
        written = ev.Feedback((rod, 0.3), wrench=wrench, tangent=slope)
        found = ev.equilibrium(ev.System(mechanism, loads=[written]), branch="connected")
        np.testing.assert_allclose(found.tip, wanted.tip, atol=1e-9)
    assert np.linalg.norm(wanted.tip[:3, 3] - (0.5, 0.0, 0.0)) > 0.05


# Closed forms -----------------------------------------------------------------------------------------------


def tied(k: float, d: float) -> ev.System:
    """A free body whose mass centre is its origin, tied to the world's origin by a spring and a damper."""
    body = ev.RigidBody(MASS, (0.02, 0.03, 0.04), name="body")

    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(3), -k * g[:3, :3].T @ g[:3, 3] - d * eta[3:]])

    def tangent(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        # δ(Rᵀ p) = (Rᵀ p)^ ζ_ω + ζ_v
        slope = np.zeros((6, 12))
        slope[3:, :3], slope[3:, 3:6] = -k * hat(g[:3, :3].T @ g[:3, 3]), -k * np.eye(3)
        slope[3:, 9:] = -d * np.eye(3)
        return slope

    return ev.System(ev.Mechanism.free(body), loads=[ev.Feedback(body, wrench=wrench, tangent=tangent)])


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
def test_a_tied_body_swings_as_the_closed_form(method: ev.Newmark, group: str) -> None:
    """x = exp(-ct) (a cos wt + b sin wt), whatever the spin: the order is that of the method."""
    k, d = 30.0, 0.6
    system = tied(k, d)
    g = np.eye(4)
    g[:3, 3] = (0.3, -0.2, 0.1)
    v = np.array([0.5, 1.0, -0.4])
    start = system.rest().with_(g=g, eta=np.array([1.0, -2.0, 1.5, *v]))
    c, w = 0.5 * d / MASS, np.sqrt(k / MASS - (0.5 * d / MASS) ** 2)
    t = 0.8
    exact = np.exp(-c * t) * (g[:3, 3] * np.cos(w * t) + (v + c * g[:3, 3]) / w * np.sin(w * t))

    def miss(step: float) -> float:
        chosen = type(method)(**{**method.__dict__, "group": group})
        run = ev.simulate(system, start, t, step, chosen)
        return float(np.linalg.norm(run["body/position"].values[-1] - exact))

    assert np.log2(miss(0.04) / miss(0.02)) == pytest.approx(method.order, abs=0.4)
    assert miss(0.02) < (1e-4 if method.order == 4 else 1e-2)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_time_reaches_the_function(method: ev.Newmark) -> None:
    """m x'' = f cos wt from t = 0.7 s on, at the instants at which the method asks."""
    f, w, t_0 = 2.0, 3.0, 0.7
    body = ev.RigidBody(MASS, (0.02, 0.03, 0.04), name="body")
    asked: list[float] = []

    def push(t: float, g: np.ndarray, eta: np.ndarray) -> list[float]:
        asked.append(t)
        return [0.0, 0.0, 0.0, f * np.cos(w * t), 0.0, 0.0]

    load = ev.Feedback(body, wrench=push, tangent=lambda t, g, eta: np.zeros((6, 12)))
    system = ev.System(ev.Mechanism.free(body), loads=[load])
    run = ev.simulate(system, system.rest(t_0), 1.0, 0.02, method)
    t = run["time"].values
    assert t[0] == t_0
    exact = f / (MASS * w**2) * (np.cos(w * t_0) - np.cos(w * t) - w * (t - t_0) * np.sin(w * t_0))
    bound = 1e-8 if method.order == 4 else 1e-3  # truncation
    np.testing.assert_allclose(run["body/position"].values[:, 0], exact, atol=bound)
    # never before the start nor beyond the end
    assert min(asked) >= t_0
    assert max(asked) <= t_0 + 1.0 + 1e-12


# The tangent ------------------------------------------------------------------------------------------------


def chain(strength: float = 1.0) -> tuple[ev.System, ev.System]:
    """A body and a rod that float, under a law that mixes pose and twist; with its tangent and without."""
    body = link("head")
    material = ev.Material(young=1e5, poisson=0.4, density=1000.0)
    rod = ev.Rod(0.4, ev.Circle(0.01), material, ev.Legendre.kirchhoff(2), name="tail")
    mechanism = ev.Mechanism([ev.Floating("world", body, name="free"), ev.Fixed(body, (rod, "base"), name="neck")])
    random = np.random.default_rng(8)
    K, D = strength * random.normal(size=(2, 6, 6))

    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.cos(t) * K @ np.concatenate([g[2, :3], g[:3, :3].T @ g[:3, 3]]) + D @ eta * eta[0]

    def tangent(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        slope = np.zeros((6, 12))
        moved = np.zeros((6, 6))
        moved[:3, :3] = hat(g[2, :3])
        moved[3:, :3], moved[3:, 3:] = hat(g[:3, :3].T @ g[:3, 3]), np.eye(3)
        slope[:, :6] = np.cos(t) * K @ moved
        slope[:, 6:] = D * eta[0]
        slope[:, 6] += D @ eta
        return slope

    systems = [
        ev.System(
            mechanism,
            loads=[
                ev.Feedback(body, wrench=wrench, tangent=slope, name="head"),
                ev.Feedback((rod, "tip"), wrench=wrench, tangent=slope, name="tail"),
            ],
        )
        for slope in (tangent, None)
    ]
    return systems[0], systems[1]


def moving_state(system: ev.System, seed: int = 3) -> ev.State:
    random = np.random.default_rng(seed)
    rest = system.rest(0.4)
    g = rest.g.copy()
    g[:3, 3] = random.normal(size=3)
    return rest.with_(
        q=random.normal(size=system.n), q_dot=random.normal(size=system.n), q_ddot=random.normal(size=system.n),
        g=g, eta=random.normal(size=6), eta_dot=random.normal(size=6),
    )  # fmt: skip


def test_the_tangent_by_differences_is_the_one_given() -> None:
    given, by_differences = chain()
    state = moving_state(given)
    a, b = (ev.tangent_inverse_dynamics(system, state) for system in (given, by_differences))
    np.testing.assert_array_equal(a.Q, b.Q)
    for name in ("dQ_dq", "dQ_dq_dot", "dQ_dq_ddot"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-7)


def test_the_tangent_of_the_system_is_that_of_differences() -> None:
    """In coordinates and rates: the variation of the law goes through poses and twists of its frames."""
    system, _ = chain()
    state = moving_state(system)
    tangent = ev.tangent_inverse_dynamics(system, state)
    for name, matrix in (("q", tangent.dQ_dq), ("q_dot", tangent.dQ_dq_dot)):
        for k, e in enumerate(np.eye(system.n)):
            near = [
                ev.inverse_dynamics(system, state.with_(**{name: getattr(state, name) + sign * 1e-5 * e}))
                for sign in (1.0, -1.0)
            ]
            np.testing.assert_allclose((near[0] - near[1]) / 2e-5, matrix[:, 6 + k], atol=1e-7)


def test_both_tangents_give_the_same_run() -> None:
    given, by_differences = chain(1e-5)  # weak, since the law drives what it acts on
    runs = [ev.simulate(system, None, 0.2, 0.01) for system in (given, by_differences)]
    np.testing.assert_allclose(runs[0]["q"].values, runs[1]["q"].values, atol=1e-9)
    np.testing.assert_allclose(runs[0]["head/position"].values, runs[1]["head/position"].values, atol=1e-9)


# What fails -------------------------------------------------------------------------------------------------


def failing(wrench: Any, tangent: Any = None) -> ev.System:
    body = ev.RigidBody(MASS, (0.02, 0.03, 0.04), name="body")
    return ev.System(ev.Mechanism.free(body), loads=[ev.Feedback(body, wrench=wrench, tangent=tangent, name="pilot")])


def push(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
    return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])


def check_rest_of_run(run: Any, end: float) -> None:
    """Whole steps up to the last good one, with right numbers."""
    t = run["time"].values
    assert t[0] == 0.0
    assert end - 0.02 < t[-1] <= end + 1e-12
    np.testing.assert_allclose(run["body/position"].values[:, 0], 0.5 / MASS * t**2, atol=1e-9)


def test_an_exception_of_the_function_keeps_the_run_so_far(tmp_path: Any) -> None:
    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        if t > 0.505:
            raise ZeroDivisionError("the battery is empty")
        return push(t, g, eta)

    file = tmp_path / "run.nc"
    with pytest.raises(ZeroDivisionError, match="the battery is empty") as caught:
        ev.simulate(failing(wrench), None, 1.0, 0.01, ev.Newmark(), file=file)
    run = caught.value.result  # type: ignore[attr-defined]
    check_rest_of_run(run, 0.5)
    assert run.attrs["status"] == "stopped: ZeroDivisionError: the battery is empty"
    check_rest_of_run(ev.load(file), 0.5)


def test_a_wrench_that_is_no_number_is_named_with_its_time() -> None:
    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return push(t, g, eta) * (np.nan if t > 0.305 else 1.0)

    with pytest.raises(ev.BadInput, match=r"wrench of 'pilot' at t = 0\.31 s") as caught:
        ev.simulate(failing(wrench), None, 1.0, 0.01, ev.Newmark())
    check_rest_of_run(caught.value.result, 0.3)  # type: ignore[attr-defined]


def test_a_law_that_newton_cannot_solve_keeps_the_run_so_far() -> None:
    """A tangent that lies: steps are divided, the run ends, and nothing is lost."""

    def wrench(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        stiff = -1e12 * g[0, 3] if t > 0.405 else 1.0
        return np.array([0.0, 0.0, 0.0, stiff, 0.0, 0.0])

    with pytest.raises(ev.NotConverged, match=r"Newton failed at t = 0\.4 s") as caught:
        ev.simulate(failing(wrench, lambda t, g, eta: np.zeros((6, 12))), None, 1.0, 0.01, ev.Newmark(halvings=3))
    check_rest_of_run(caught.value.result, 0.4)


@pytest.mark.parametrize(
    ("wrench", "tangent", "message"),
    [
        (lambda t, g, eta: np.zeros(3), None, r"wrench of 'pilot' at t = 0 s.*\(6,\)"),
        (push, lambda t, g, eta: np.zeros((6, 6)), r"tangent of 'pilot' at t = 0 s.*\(6, 12\)"),
        (lambda t, g, eta: None, None, "wrench of 'pilot' at t = 0 s"),
    ],
)
def test_wrong_shapes_are_told(wrench: Any, tangent: Any, message: str) -> None:
    with pytest.raises(ev.BadInput, match=message):
        ev.simulate(failing(wrench, tangent), None, 0.1, 0.01)


# Joints -----------------------------------------------------------------------------------------------------


def arm(loads: list) -> tuple[ev.System, ev.Revolute, ev.Revolute]:
    """Two bars on hinges, one after the other, under gravity."""
    bars = [ev.RigidBody.box((0.3, 0.02, 0.02), mass=0.5, centre=(0.15, 0.0, 0.0), name=name) for name in ("a", "b")]
    one = ev.Revolute("world", bars[0], name="one", start=0.3)
    two = ev.Revolute((bars[0], (0.3, 0.0, 0.0)), bars[1], name="two", start=-0.4)
    made = [load(one, two) for load in loads]
    return ev.System(ev.Mechanism([one, two]), loads=[ev.Gravity((0.0, -9.81, 0.0)), *made]), one, two


def test_a_controller_of_joints_is_a_spring_and_a_damper() -> None:
    """PD control with and without its tangent equals springs and viscous friction, in rest and in motion."""

    def law(t: float, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        return -np.array([3.0, 2.0]) * (q - (0.2, -0.1)) - np.array([0.05, 0.02]) * q_dot

    def slope(t: float, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        return np.hstack([np.diag([-3.0, -2.0]), np.diag([-0.05, -0.02])])

    passive, *_ = arm([
        lambda one, two: ev.JointSpring(one, 3.0, rest=0.2), lambda one, two: ev.JointSpring(two, 2.0, rest=-0.1),
        lambda one, two: ev.JointFriction(one, viscous=0.05), lambda one, two: ev.JointFriction(two, viscous=0.02),
    ])  # fmt: skip
    expected = ev.simulate(passive, passive.rest(), 0.4, 5e-3, ev.Newmark())["q"].values
    still = ev.equilibrium(passive).state.q
    for tangent in (None, slope):
        active, *_ = arm([lambda one, two, tangent=tangent: ev.JointFeedback([one, two], law, tangent)])
        run = ev.simulate(active, active.rest(), 0.4, 5e-3, ev.Newmark())
        np.testing.assert_allclose(run["q"].values, expected, atol=1e-9)
        np.testing.assert_allclose(ev.equilibrium(active).state.q, still, atol=1e-9)
        assert run["newton_iterations"].values.max() <= 6


def test_a_controller_of_joints_sees_the_time_and_all_coordinates() -> None:
    """Computed torque: with gravity compensated and a common law, both hinges follow their reference."""
    free, *_ = arm([])

    def law(t: float, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        wanted, rate = np.array([0.3, -0.4]) + 0.2 * np.sin(t) ** 3, 0.6 * np.sin(t) ** 2 * np.cos(t)
        second = 1.2 * np.sin(t) * np.cos(t) ** 2 - 0.6 * np.sin(t) ** 3
        acceleration = second + 40.0 * (rate - q_dot) + 400.0 * (wanted - q)
        return ev.inverse_dynamics(free, free.rest().with_(q=q, q_dot=q_dot, q_ddot=acceleration))

    system, *_ = arm([lambda one, two: ev.JointFeedback((one, two), law, name="computed torque")])
    run = ev.simulate(system, system.rest(), 1.0, 1e-2)
    wanted = np.array([0.3, -0.4]) + 0.2 * np.sin(run["time"].values[:, None]) ** 3
    np.testing.assert_allclose(run["q"].values, wanted, atol=1e-3)


def test_bad_controllers_of_joints_are_refused() -> None:
    bar = ev.RigidBody.point(1.0, name="bar")
    hinge = ev.Revolute("world", bar, name="hinge")
    with pytest.raises(ev.BadInput, match="joint feedback 'pd': effort is a float; give a callable"):
        ev.JointFeedback(hinge, 3.0, name="pd")
    with pytest.raises(ev.BadInput, match=r"joint feedback 'pd': fixed .* has no coordinate"):
        ev.JointFeedback(ev.Fixed("world", bar), lambda t, q, v: 0.0, name="pd")
    law = ev.JointFeedback(hinge, lambda t, q, v: [1.0, 2.0], name="pd")
    with pytest.raises(ev.BadInput, match="imposes a coordinate of 'hinge', which the feedback 'pd' drives"):
        ev.System(ev.Mechanism([hinge]), actuators=[ev.Imposed(hinge)], loads=[law])
    system = ev.System(ev.Mechanism([hinge]), loads=[law])
    with pytest.raises(ev.BadInput, match=r"effort of 'pd' at t = 0 s has shape \(2,\): expected \(1,\)"):
        ev.simulate(system, system.rest(), 0.1, 0.01)
