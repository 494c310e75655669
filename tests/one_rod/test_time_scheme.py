"""Time schemes as linear maps, and the base that follows them on SO(3)×R³ (Boyer 2023, eq. 65-72; acceptance 15)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.shooting.dynamics import shooting_dynamics
from elver.one_rod.shooting.ends import Root
from elver.one_rod.shooting.time_scheme import DAMPED, NEWMARK, Rates, TimeScheme

INERTIA = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("method", [ev.Newmark(), ev.HHT(0.7), ev.GeneralizedAlpha(0.6)])
def test_the_scheme_is_that_of_its_formulas(method):
    """x₊, ẋ₊ and the mean of accelerations as printed in the module."""
    beta, gamma, alpha_m, alpha_f = method.scheme
    h = 0.1
    scheme = TimeScheme.of(method, h, constrained=False)
    x, d = np.array([0.3, -1.0]), np.array([0.2, 0.1])
    before = Rates(np.array([1.0, 2.0]), np.array([-3.0, 0.5]), np.array([-2.0, 0.7]))
    after = scheme.after(d, before)
    A, A_next = before.like, after.like
    np.testing.assert_allclose(x + d, x + h * before.first + h**2 * ((0.5 - beta) * A + beta * A_next), atol=1e-12)
    np.testing.assert_allclose(after.first, before.first + h * ((1.0 - gamma) * A + gamma * A_next), atol=1e-12)
    mixed = (1.0 - alpha_f) * after.second + alpha_f * before.second
    np.testing.assert_allclose((1.0 - alpha_m) * A_next + alpha_m * A, mixed, atol=1e-12)
    np.testing.assert_allclose((scheme.after(2.0 * d, before).first - after.first) / d, scheme.a)
    np.testing.assert_allclose((scheme.after(2.0 * d, before).second - after.second) / d, scheme.b)


def test_the_default_is_damped_where_poses_are_held():
    assert TimeScheme.of(None, 0.1, constrained=False) == TimeScheme(0.1, *NEWMARK)
    np.testing.assert_allclose(DAMPED, ev.GeneralizedAlpha(rho_inf=0.6).scheme, rtol=1e-12)
    assert TimeScheme.of(None, 0.1, constrained=True) == TimeScheme(0.1, *DAMPED)
    with pytest.raises(ev.BadInput, match="one implicit step at a time; choose Newmark"):
        TimeScheme.of(ev.GaussLegendre4(), 0.1, constrained=False)
    with pytest.raises(ev.BadInput, match="SE3"):
        TimeScheme.of(ev.Newmark(group="SE3"), 0.1, constrained=False)


@cache
def tumble(h: float, duration: float = 10.0) -> list[Root]:
    """A rigid body of inertia diag(1, 2, 3) without torque, from Ω = (0.1, 1, 0.1), by the scheme alone."""
    scheme = TimeScheme(h)
    omega = np.array([0.1, 1.0, 0.1])
    start = np.concatenate([-np.cross(omega, INERTIA * omega) / INERTIA, np.zeros(3)])
    root = Root.at(np.eye(4), np.concatenate([omega, np.zeros(3)]), start)
    roots = [root]
    for _ in range(round(duration / h)):
        nu = h * root.rates.first
        for _ in range(20):
            base = root.moved(nu, scheme)
            W, W_dot = base.state[12:15], base.state[18:21]
            residual = INERTIA * W_dot + np.cross(W, INERTIA * W)
            slope = np.diag(INERTIA) @ base.slopes[12:15, :3]
            slope += (so3.hat(W) @ np.diag(INERTIA) - so3.hat(INERTIA * W)) @ base.slopes[6:9, :3]
            correction = np.linalg.solve(slope, residual)
            nu[:3] -= correction
            if np.abs(correction).max() < 1e-12:
                break
        base = root.moved(nu, scheme)
        root = Root(base.pose, base.rates)
        roots.append(root)
    return roots


def test_torque_free_body():
    """Acceptance 15: 1000 steps of 10 ms keep |L| to 1e-5, its vector to 3e-5, the energy to 2e-5."""
    roots = tumble(1e-2)
    omega = np.array([root.rates.first[:3] for root in roots])
    momentum = np.array([root.pose[:3, :3] @ (INERTIA * W) for root, W in zip(roots, omega, strict=True)])
    size, energy = np.linalg.norm(momentum, axis=1), 0.5 * np.sum(INERTIA * omega**2, axis=1)
    assert len(roots) == 1001
    assert np.abs(size / size[0] - 1.0).max() < 1e-5
    assert np.linalg.norm(momentum - momentum[0], axis=1).max() / size[0] < 3e-5
    assert np.abs(energy / energy[0] - 1.0).max() < 2e-5


def test_torque_free_body_converges_with_order_two():
    """Acceptance 15: R at t = 10 s with 40, 20, 10 ms against a solution of Runge-Kutta to 1e-12."""

    def slope(_, y):
        R, W = y[:9].reshape(3, 3), y[9:]
        return np.concatenate([(R @ so3.hat(W)).ravel(), -np.cross(W, INERTIA * W) / INERTIA])

    y = solve_ivp(slope, (0.0, 10.0), [*np.eye(3).ravel(), 0.1, 1.0, 0.1], method="DOP853", rtol=1e-12, atol=1e-13)
    exact = y.y[:9, -1].reshape(3, 3)
    steps = np.array([0.04, 0.02, 0.01])
    errors = [np.linalg.norm(so3.log(exact.T @ tumble(h)[-1].pose[:3, :3])) for h in steps]
    orders = np.diff(np.log(errors)) / np.diff(np.log(steps))
    np.testing.assert_allclose(orders, 2.0, atol=0.05)


def test_a_stiff_stick_flies_like_a_rigid_cylinder():
    """Acceptance 15: the rod of test 3 with 1e4 times its stiffness, 1 % of its length in 1 s."""
    rubber = ev.Material(young=1e10, shear=1e10, density=1e3)
    rod = ev.Rod(1.0, ev.Circle(0.05), rubber, ev.Legendre.kirchhoff(2), name="stick")
    force = ev.PointWrench(rod, "tip", force=(1.0, 0.0, 0.0), name="force")
    couple = ev.PointWrench(rod, "tip", moment=(0.0, 1.0, 0.5), frame="section", name="couple")
    start = se3.pose(so3.exp(np.array([0.0, np.arctan2(0.8, 0.6), 0.0])), np.array([0.0, 0.0, 0.8]))
    system = ev.System(ev.Mechanism.free(rod, pose=start), loads=[force, couple])
    c2 = ev.triangle(10.7, 0.25, 0.5)
    run = shooting_dynamics(system, None, 1.0, 1e-2, {force: c2, couple: c2}, segments=2, nodes=20)

    A, I = np.pi * 0.05**2, np.pi * 0.05**4 / 4.0
    mass, J = 1e3 * A, 1e3 * np.array([2.0 * I, I + A / 12.0, I + A / 12.0])
    arm = np.array([0.5, 0.0, 0.0])

    def slope(t, y):
        R, W, v = y[:9].reshape(3, 3), y[12:15], y[15:]
        push = np.array([c2(t), 0.0, 0.0])
        torque = c2(t) * np.array([0.0, 1.0, 0.5]) + np.cross(arm, R.T @ push)
        return np.concatenate([(R @ so3.hat(W)).ravel(), v, (torque - np.cross(W, J * W)) / J, push / mass])

    first = np.concatenate([start[:3, :3].ravel(), start[:3, 3] + start[:3, :3] @ arm, np.zeros(6)])
    body = solve_ivp(slope, (0.0, 1.0), first, t_eval=run.time, rtol=1e-9, atol=1e-10, max_step=0.05).y.T
    R, centre = body[:, :9].reshape(-1, 3, 3), body[:, 9:12]
    for node, side in ((0, -1.0), (-1, 1.0)):
        off = np.linalg.norm(run.pose[:, node, :3, 3] - centre - side * R @ arm, axis=1)
        assert off.max() < 0.01
