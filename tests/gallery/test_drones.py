"""The page gotelli-2024-drones: its controller and its balances."""

import numpy as np
import pytest

import elver as ev
from elver.cli.folders import folder, load_module
from elver.lie import se3

page = load_module(folder("gallery") / "gotelli-2024-drones", "run")


def motion(seed):
    random = np.random.default_rng(seed)
    return se3.exp(random.normal(size=6)), random.normal(size=6)


def controller_at(t=0.37, step=0.01):
    """A controller with a past, about to be asked at t."""
    controller = page.Controller(page.TARGETS["drone0"])
    for k, past in enumerate((t - 2.0 * step, t - step)):
        controller.wrench(past, *motion(k))
    return controller


@pytest.mark.parametrize("seed", range(3))
def test_tangent_of_the_controller_is_that_of_differences(seed):
    t, (g, eta) = 0.37, motion(10 + seed)
    controller = controller_at(t)
    given = ev.Feedback(ev.RigidBody(1.0), wrench=controller.wrench, tangent=controller.tangent)
    by_differences = ev.Feedback(ev.RigidBody(1.0), wrench=controller.wrench)
    wrench, tangent = given.evaluate(t, g, eta)
    same, differences = by_differences.evaluate(t, g, eta)
    np.testing.assert_array_equal(wrench, same)
    # differences are right to about 1e-10 of the wrench
    np.testing.assert_allclose(tangent, differences, atol=1e-8)


def test_controller_forgets_what_was_not_taken():
    """Trials at one instant and steps that are divided leave no trace in the integral."""
    t, (g, eta) = 0.37, motion(5)
    plain, busy = controller_at(t), controller_at(t)
    for seed in (20, 21):
        busy.wrench(t, *motion(seed))
    busy.wrench(t - 0.005, *motion(22))  # half a step, taken back
    for k, past in enumerate((t - 0.02, t - 0.01)):
        busy.wrench(past, *motion(k))
    np.testing.assert_array_equal(plain.wrench(t, g, eta), busy.wrench(t, g, eta))


def test_integral_is_that_of_the_error():
    """Held still against a constant target, F = k_P e + k_I e t."""
    controller = page.Controller(lambda t: 0.5)
    g, eta = np.eye(4), np.zeros(6)
    for t in np.linspace(0.0, 1.0, 11):
        wrench = controller.wrench(t, g, eta)
    np.testing.assert_allclose(wrench, [0.0, 0.0, 0.0, 0.0, 0.0, 0.5 * (page.K_P + page.K_I)], rtol=1e-12)


def test_one_drone_follows_its_closed_form():
    """A drone alone, V_d constant: m v' = k_P (V_d - v) + k_I ∫ (V_d - v) dt, an oscillator of ∫ e."""
    controller = page.Controller(lambda t: 0.5)
    body = ev.RigidBody(1.0, (0.01, 0.01, 0.01), name="drone")
    control = ev.Feedback(body, wrench=controller.wrench, tangent=controller.tangent)
    run = ev.simulate(ev.System(ev.Mechanism.free(body), loads=[control]), None, 1.0, 1e-3)
    t = run["time"].values
    fast, slow = np.roots([1.0, page.K_P, page.K_I])
    # e = V_d - v: e'' + k_P e' + k_I e = 0, e(0) = V_d, e'(0) = -k_P V_d
    a = 0.5 * (-page.K_P - slow) / (fast - slow)
    integral = a / fast * (np.exp(fast * t) - 1.0) + (0.5 - a) / slow * (np.exp(slow * t) - 1.0)
    np.testing.assert_allclose(run["drone/position"].values[:, 2], 0.5 * t - integral, atol=1e-6)  # truncation


def test_momentum_balance_closes_with_the_square_of_the_step():
    def miss(step):
        run = page.fly(1.5, step)
        return np.max(np.abs(run["momentum"].values - page.impulse(run)))

    assert np.log2(miss(0.02) / miss(0.01)) == pytest.approx(2.0, abs=0.2)
