"""The pages khalil-2007-eel and eel-gait-study: the model, what is read off its runs, the search for steady speed."""

import numpy as np
import pytest

import elver as ev
from elver.cli.folders import folder, load_module
from elver.lie import so3

model, run, replay = (load_module(folder("gallery") / "khalil-2007-eel", name) for name in ("model", "run", "replay"))
study = load_module(folder("gallery") / "eel-gait-study", "run")
ROBOT = model.eel()


def places(robot):
    """Position and axes of all links of the eel at rest, by name."""
    system, _ = robot.imposed()
    still = ev.simulate(system, duration=1e-3, step=1e-3, method=ev.RungeKutta4()).isel(time=0)
    return {
        body.name: (
            still[f"{body.name}/position"].values,
            so3.from_quaternion(still[f"{body.name}/orientation"].values),
        )
        for body in robot.mechanism.bodies
    }


def test_eel_is_straight_at_zero():
    """Acceptance: z_{3i} = x0 and O_36 = (2.08, 0, 0) m."""
    at = places(ROBOT)
    for i in range(1, 13):
        position, R = at[f"link-{3 * i}"]
        np.testing.assert_allclose(position, [0.4 + 0.14 * i, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(R[:, 2], [1.0, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(np.abs(R[1, 0]), 1.0, atol=1e-12)  # the small half axis lies across, in the plane
    assert ROBOT.mass == pytest.approx(38.23, abs=0.005)


def test_printed_offsets_fold_the_body_back():
    at = places(model.eel(rows=model.table(first=np.pi / 2, second=-np.pi / 2)))
    np.testing.assert_allclose(at["link-36"][0], [-1.28, 0.0, 0.0], atol=1e-12)


def test_rounded_ends_have_the_volume_of_half_ellipsoids():
    a, b = model.HALF_AXES
    lost = 2.0 * (1.0 - 2.0 / 3.0) * np.pi * a * b * model.ROUNDED * model.DENSITY
    assert model.eel(rounded=True).mass == pytest.approx(ROBOT.mass - lost, rel=1e-12)


def test_circle_is_found_from_a_part_of_it():
    angle = np.linspace(0.3, 2.0, 20)
    centre, radius = run.circle(np.column_stack([1.0 + 2.0 * np.cos(angle), -3.0 + 2.0 * np.sin(angle)]))
    np.testing.assert_allclose([*centre, radius], [1.0, -3.0, 2.0], rtol=1e-10)


def test_period_mean_takes_out_the_wave():
    t = np.arange(0.0, 6.0 + 1e-9, run.STEP)
    mean = run.period_mean(0.5 * t + np.sin(2.0 * np.pi * t / run.PERIOD))
    np.testing.assert_allclose(mean, 0.5 * t[50:-50], atol=1e-12)


def test_head_by_quaternion_follows_simulate_with_the_fourth_power_of_the_step():
    """Two ways to move the head; both are of order 4 until drag changes sign."""

    def apart(step):
        system, inputs = ROBOT.imposed()
        found = replay.inverse(ROBOT, replay.Joints(system, inputs, 0.8, step)).position[-1]
        return np.linalg.norm(found - run.swim(ROBOT, 0.8, step=step)["link-0/position"].values[-1])

    assert apart(0.02) < 1e-8
    assert apart(0.02) > 8.0 * apart(0.01)


def test_direct_dynamics_gives_back_the_joints_too():
    """Torques of inverse dynamics, fed to direct dynamics, ask for the accelerations of the gait."""
    system, inputs = ROBOT.imposed(lift=model.OFFSET)
    joints = replay.Joints(system, inputs, 2.0, 0.5)
    driven, motors = ROBOT.driven()
    state = driven.rest().with_(
        q=joints.q[3], q_dot=joints.q_dot[3], q_ddot=joints.q_ddot[3], eta=np.array([0.1, -0.2, 0.3, -0.4, 0.1, 0.05])
    )
    by_motion = ev.floating_inverse_dynamics(driven, state)
    by_torque = ev.forward_dynamics(driven, state, dict(zip(motors, by_motion.efforts, strict=True)))
    np.testing.assert_allclose(by_torque.q_ddot, joints.q_ddot[3], atol=1e-9)
    np.testing.assert_allclose(by_torque.eta_dot, by_motion.eta_dot, atol=1e-10)


def test_open_loop_is_unstable_across_its_plane():
    across, plane = run.growth(ROBOT, run.swim(ROBOT, 3.0), 3.0)
    assert across > 20.0
    assert plane < 4.0


def test_twelve_joints_swim_as_thirty_six_do():
    system, inputs = study.swimmer(study.planar_eel(), model.WAVE)
    twelve = ev.simulate(system, duration=3.0, step=0.02, method=ev.RungeKutta4(), inputs=inputs)
    all_joints = run.swim(ROBOT, 3.0)
    np.testing.assert_allclose(twelve["link-0/position"], all_joints["link-0/position"], atol=1e-10)
    np.testing.assert_allclose(twelve["efforts"], all_joints["efforts"][:, model.SIDE], atol=1e-8)


def test_correction_finds_where_the_speed_would_not_change():
    """Change per period 0.1 (0.5 - v): the first step probes, the second hits."""

    def change(v):
        return 0.1 * (0.5 - v)

    first = study._correction([(0.4, change(0.4))], 0.4)
    assert first == pytest.approx(0.04)
    v = 0.4 + first
    assert v + study._correction([(0.4, change(0.4)), (v, change(v))], v) == pytest.approx(0.5)
