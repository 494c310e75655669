"""The page gotelli-2024-tendon-parallel: its sensors, its energy balance, and what its friction does."""

import numpy as np
import pytest

import elver as ev
from elver.cli.folders import folder, load_module

page = load_module(folder("gallery") / "gotelli-2024-tendon-parallel", "run")


def test_shapes_are_fitted_back():
    q = np.array([[0.4, -0.2], [3.0, 1.5], [-2.5, 0.7]])
    for s in (np.linspace(0.01, 0.25, 25), np.linspace(0.02, 0.48, 25)):
        points, slope = page.strip_shape(q, s, 0.48)
        np.testing.assert_allclose(page.fit_shape(points, s, 0.48), q, atol=1e-10)  # rounding
        for k in range(2):
            near = [page.strip_shape(q + sign * 1e-6 * np.eye(2)[k], s, 0.48)[0] for sign in (1, -1)]
            np.testing.assert_allclose((near[0] - near[1]) / 2e-6, slope[..., k], atol=1e-9)  # rounding over the step


def test_shapes_are_those_of_the_model():
    twin = page.play(page.PULLS["wide"], 2.0)
    q = page.exact(twin)["rod6"][:, :, 0]
    tip = page.strip_shape(q, np.array([page.LENGTHS[1]]), page.LENGTHS[1])[0][:, 0]
    angle = twin["q"].sel(coordinate="J4/angle").values
    x = page.DISTANCE + np.cos(angle) * tip[:, 0] - np.sin(angle) * tip[:, 1]
    y = np.sin(angle) * tip[:, 0] + np.cos(angle) * tip[:, 1]
    # the loop is closed at the platform, which hangs on the other limb
    np.testing.assert_allclose(np.column_stack([x, y]), twin["platform/position"].values[:, :2], atol=1e-9)


def test_energy_balance_closes_with_the_square_of_the_step():
    def miss(step):
        energy = page.balance(page.play(page.PULLS["wide"], 4.0, step))
        return np.max(np.abs(energy["stored"] + energy["lost"] - energy["work"]))

    assert np.log2(miss(0.04) / miss(0.02)) == pytest.approx(2.0, abs=0.25)


def test_friction_only_takes_energy_away():
    """Bent by one cable and let go, the robot swings with less and less energy."""
    robot = page.robot()
    with page._planar():
        bent = ev.equilibrium(robot.system, {"cable1": 8.0, "cable4": 8.0})
        run = ev.simulate(robot.system, bent.state, 1.0, 1e-3, page.METHOD)
    energy = run["energy/total"].values
    assert energy[-1] < 0.5 * energy[0]
    assert np.max(np.diff(energy)) < 5e-4 * energy[0]  # truncation: a quarter of it at half the step


def test_efforts_vanish_where_nothing_is_needed():
    """Base joints that follow their own free motion ask for no torque."""
    pulls = page.PULLS["gentle"]
    twin = page.play(pulls, 2.0)
    back = page.follow("B", pulls, page.exact(twin), twin["time"].values)
    assert np.max(np.abs(back["efforts"].values)) < 1e-7
