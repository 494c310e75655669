"""The energy ledger closes at the order of the method, whatever acts on the robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import elver as ev
from elver.actuation.signals import Sine
from elver.results.ledger import Verdict
from elver.results.status import is_complete

SOFT = ev.Material(young=2e6, poisson=0.4, density=1000.0)
Case = tuple[ev.System, dict[Any, Any], ev.State | None]


def rod(material: ev.Material = SOFT, name: str = "rod", **options: Any) -> ev.Rod:
    return ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre(bending=2), name=name, **options)


def wave(amount: float) -> Callable[[float], float]:
    return lambda t: amount * np.sin(9.0 * t)


def constant_tension() -> Case:
    arm = rod()
    tendon = ev.Tendon(arm, ev.parallel(z=6e-3), name="tendon")
    return ev.System(ev.Mechanism.clamped(arm), [tendon], [ev.Gravity()]), {tendon: 4.0}, None


def changing_tension() -> Case:
    system, _, _ = constant_tension()
    return system, {"tendon": lambda t: 4.0 - 3.0 * np.cos(9.0 * t)}, None


def motor_torque() -> Case:
    arm = rod()
    joint = ev.Revolute("world", (arm, "base"), axis=(0, 1, 0), name="joint")
    motor = ev.Motor(joint, name="motor")
    loads = [ev.Gravity(), ev.JointFriction(joint, viscous=0.02, dry=0.01, speed=0.5)]
    return ev.System(ev.Mechanism([joint]), [motor], loads), {motor: wave(0.2)}, None


def driven_base() -> Case:
    def pose(t: float) -> np.ndarray:
        c, s = np.cos(0.3 * np.sin(6.0 * t)), np.sin(0.3 * np.sin(6.0 * t))
        g = np.eye(4)
        g[:3, :3], g[2, 3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]], 0.05 * np.sin(8.0 * t)
        return g

    return ev.System(ev.Mechanism.driven(rod(), ev.Motion(pose)), loads=[ev.Gravity()]), {}, None


def imposed_angle() -> Case:
    arm = rod()
    joint = ev.Revolute("world", (arm, "base"), axis=(0, 1, 0), name="joint")
    swing = ev.Imposed(joint, name="swing")
    return ev.System(ev.Mechanism([joint]), [swing], [ev.Gravity()]), {swing: Sine(0.0, 0.5, 1.2)}, None


def kelvin_voigt() -> Case:
    arm = rod(ev.Material(young=2e6, poisson=0.4, density=1000.0, damping=0.02))
    return ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity()]), {}, None


def dead_force() -> Case:
    arm = rod()
    push = ev.PointWrench(arm, force=(0.0, 0.3, 0.1), moment=(0.0, 0.02, -0.03), name="push")
    return ev.System(ev.Mechanism.clamped(arm), loads=[push]), {push: wave(1.0)}, None


def follower_force() -> Case:
    arm = rod()
    push = ev.PointWrench(arm, force=(-0.2, 0.3, 0.1), moment=(0.0, 0.02, 0.0), frame="section", name="push")
    return ev.System(ev.Mechanism.free(arm), loads=[push]), {push: 1.0}, None


def spread_follower() -> Case:
    arm = rod()
    wind = ev.DistributedWrench(arm, force=(0.0, 0.6, 0.0), frame="section", name="wind")
    return ev.System(ev.Mechanism.clamped(arm), loads=[wind]), {}, None


def drag() -> Case:
    arm = rod()
    water = ev.Morison(fluid_density=100.0, drag=(0.1, 1.0, 1.0, 1.0))
    return ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity(), water]), {}, None


def stream() -> Case:
    arm = rod()
    water = ev.Morison(fluid_density=100.0, flow=(0.3, 0.8, 0.0))
    return ev.System(ev.Mechanism.clamped(arm), loads=[water]), {}, None


def swimmer() -> Case:
    arm = rod()
    muscle = ev.Muscle(arm, torque=(0.0, 0.02, 0.03), name="muscle")
    water = ev.Lighthill((arm,), fluid_density=100.0)
    return ev.System(ev.Mechanism.free(arm), [muscle], [water]), {muscle: wave(1.0)}, None


def sliding() -> Case:
    arm = rod()
    friction = ev.SlidingFriction((arm, "tip"), viscous=0.1, dry=0.05, speed=0.3)
    return ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity(), friction]), {}, None


def feedback() -> Case:
    arm = rod()
    joint = ev.Revolute("world", (arm, "base"), axis=(0, 1, 0), name="joint")
    wrench = lambda t, g, eta: np.concatenate([np.zeros(3), -0.2 * eta[3:] + (0.0, 0.0, 0.1)])  # noqa: E731
    hand = ev.Feedback((arm, "tip"), wrench, name="hand")
    control = ev.JointFeedback(joint, lambda t, q, q_dot: [-0.3 * (q[0] - 0.4) - 0.02 * q_dot[0]], name="control")
    return ev.System(ev.Mechanism([joint]), loads=[ev.Gravity(), hand, control]), {}, None


def changing_gravity() -> Case:
    system = ev.System(ev.Mechanism.clamped(rod()), loads=[ev.Gravity()])
    return system, {"gravity": lambda t: 1.0 + 0.5 * np.sin(9.0 * t)}, None


def spooled_tendon() -> Case:
    arm = rod()
    spool = ev.SpooledTendon(arm, ev.parallel(z=6e-3), name="spool")
    system = ev.System(ev.Mechanism.clamped(arm), [spool], [ev.Gravity()])
    return system, {spool: ev.smooth_step(0.0, 0.4, after=4e-3)}, None


CASES = [
    constant_tension, changing_tension, motor_torque, driven_base, imposed_angle, kelvin_voigt, dead_force,
    follower_force, spread_follower, drag, stream, swimmer, sliding, feedback, changing_gravity,
]  # fmt: skip


def run_of(case: Case, step: float, method: ev.Method, duration: float = 0.4) -> xr.Dataset:
    system, inputs, state = case
    return ev.simulate(system, state, duration, step, method, inputs)


def moved(run: xr.Dataset) -> float:
    return max(float(run["energy/kinetic"].max()), float(np.abs(run["energy/work"]).max()))


METHODS = {"newmark": ev.Newmark(), "midpoint": ev.ImplicitMidpoint(), "gauss 4": ev.GaussLegendre4()}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("make", CASES, ids=lambda f: f.__name__)
def test_the_ledger_closes_at_the_order_of_the_method(make: Callable[[], Case], name: str) -> None:
    method, case = METHODS[name], make()
    steps = (4e-3, 2e-3) if method.order == 2 else (8e-3, 4e-3)
    runs = [run_of(case, step, method) for step in steps]
    errors = [float(np.abs(run["energy/numerical"]).max()) / moved(run) for run in runs]
    # tolerances chosen after seeing the values; the order is the statement
    assert errors[1] < (5e-3 if method.order == 2 else 1e-5)
    assert errors[1] < 1e-9 or errors[0] / errors[1] > 2.0 ** (method.order - 0.5)


@pytest.mark.parametrize("method", [ev.Newmark(), ev.GeneralizedAlpha(0.8)], ids=["newmark", "alpha 0.8"])
def test_the_work_of_a_spool(method: ev.Method) -> None:
    errors = [float(np.abs(run_of(spooled_tendon(), h, method)["energy/numerical"]).max()) for h in (4e-3, 2e-3)]
    assert errors[0] / errors[1] > 2.0**1.5


@pytest.mark.parametrize("method", [ev.RungeKutta4(), ev.SemiImplicitEuler()], ids=["order 4", "order 1"])
def test_explicit_methods(method: ev.Method) -> None:
    arm = ev.RigidBody(mass=1.0, inertia=(0.01, 0.02, 0.02), centre=(0.2, 0.0, 0.0), name="arm")
    joint = ev.Revolute("world", arm, axis=(0, 1, 0), name="joint")
    motor = ev.Motor(joint, name="motor")
    loads = [ev.Gravity(), ev.JointFriction(joint, viscous=0.3)]
    system = ev.System(ev.Mechanism([joint]), [motor], loads)
    runs = [ev.simulate(system, None, 0.4, h, method, {motor: wave(1.0)}) for h in (8e-3, 4e-3)]
    errors = [float(np.abs(run["energy/numerical"]).max()) for run in runs]
    assert errors[0] / errors[1] > 2.0 ** (method.order - 0.5)


# Independent amounts --------------------------------------------------------------------------------------------


def test_the_balance_holds_by_construction() -> None:
    run = run_of(motor_torque(), 1e-2, ev.GeneralizedAlpha(0.6))
    change = run["energy/total"] - run["energy/total"][0]
    balance = run["energy/work"] - run["energy/dissipated"] + run["energy/numerical"]
    np.testing.assert_allclose(change, balance, rtol=0.0, atol=1e-14)
    works = sum(run[name] for name in run.data_vars if name.startswith("energy/work/"))
    np.testing.assert_allclose(run["energy/work"], works, rtol=0.0, atol=1e-14)
    assert float(run["energy/dissipated/joint"][-1]) > 0.0


def test_a_constant_motor_torque_does_torque_times_angle() -> None:
    system, _, _ = motor_torque()
    run = ev.simulate(system, None, 0.2, 5e-3, ev.Newmark(), {"motor": 0.1})
    np.testing.assert_allclose(run["energy/work/motor"], 0.1 * run["q"][:, 0], rtol=0.0, atol=1e-14)


def test_every_step_is_booked_also_those_not_recorded() -> None:
    full, some = (ev.simulate(*[kelvin_voigt()[0]], None, 0.3, 5e-3, ev.Newmark(), every=k) for k in (1, 10))
    for name in ("energy/dissipated/rod", "energy/numerical"):
        np.testing.assert_allclose(some[name], full[name][::10], rtol=0.0, atol=1e-14)


def test_a_turn_of_a_ball_joint_beyond_half_a_turn() -> None:
    """Its rotation vector changes to another chart on the way."""
    body = ev.RigidBody(mass=1.0, inertia=(0.02, 0.02, 0.02), name="ball")
    joint = ev.Spherical("world", body, name="joint")
    friction = ev.JointFriction(joint, viscous=1e-3, coordinate="theta_z")
    system = ev.System(ev.Mechanism([joint]), loads=[friction])
    state = system.rest().with_(q_dot=np.array([0.0, 0.0, 4.0]))
    for method in (ev.Newmark(), ev.GaussLegendre4()):
        run = ev.simulate(system, state, 2.0, 1e-2, method)
        assert np.max(np.abs(run["energy/numerical"])) < 1e-3 * float(run["energy/dissipated"][-1])


# Words ----------------------------------------------------------------------------------------------------------


def test_what_is_said_of_a_run() -> None:
    fine = Verdict(1.0, 0.02, float("nan"), 2, 0.1, 100)
    assert fine.status() == "complete"
    grown = Verdict(1.0, 0.123, 0.3, 14, 0.12, 100)
    assert grown.status() == "complete, energy grew by 12 %, 14 steps divided (first at 0.12 s)"
    lost = Verdict(2.0, -0.36, 0.3, 0, float("nan"), 100)
    assert lost.status() == "complete, energy fell by 36 %"
    assert "energy fell by 36 % of the 2 J in play (beyond 5 % from t = 0.3 s on)" in lost.warning("halve the step")
    assert all(is_complete(verdict.status()) for verdict in (fine, grown, lost))
    assert not is_complete("stopped: Newton failed")
    assert not is_complete("running")


def test_a_robot_at_rest_raises_no_alarm() -> None:
    system, inputs, _ = constant_tension()
    bent = ev.equilibrium(system, inputs)
    for method in METHODS.values():
        run = ev.simulate(system, bent, 1.0, 2e-2, method, inputs)
        assert run.attrs["status"] == "complete"


@pytest.mark.parametrize(
    ("method", "cause"),
    [(ev.Conserving(), None), (ev.Conserving(rho_inf=0.8), "rho_inf = 0.8 damps"), (ev.Newmark(), "to order 2")],
)
def test_a_run_says_why_its_books_do_not_close(method, cause):
    rod = ev.Rod(0.3, ev.Circle(0.004), ev.Material(young=1e7, poisson=0.4, density=1000.0), ev.Legendre.planar(3))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity((0.0, -9.81, 0.0))])
    run = ev.simulate(system, duration=0.1, step=2e-3, method=method)
    assert (abs(run.attrs["energy_error"]) > 1e-8) == (cause is not None)
    if cause is None:
        assert "energy_error_cause" not in run.attrs
    else:
        assert cause in run.attrs["energy_error_cause"]
