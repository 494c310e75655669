"""Joints whose coordinates are a rotation vector, turned further than such a vector reaches.

Beyond 1.2 π the vector is exchanged for the shorter one of the same rotation. Nothing but the numbers in q may show
it: poses, energy and momentum go on, and every method keeps its order.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import OdeSolution, solve_ivp

import elver as ev
from elver.lie import so3

Array = NDArray[np.float64]

G = 9.81
MASS, HEIGHT, ACROSS, ALONG = 1.0, 0.2, 0.05, 0.02  # of the top: kg, m, kg m² about the mass centre
TILT, OMEGA = 0.6, np.array([0.3, 0.5, 25.0])  # start: rad, body rates
END = 1.6
METHODS = {
    "Newmark": ev.Newmark(),
    "HHT": ev.HHT(0.8),
    "GeneralizedAlpha": ev.GeneralizedAlpha(0.8),
    "ImplicitMidpoint": ev.ImplicitMidpoint(),
    "GaussLegendre4": ev.GaussLegendre4(tolerance=1e-15),
}


def euler(theta: float, phi: float, psi: float) -> Array:
    """Precession φ about z, nutation θ about x, spin ψ about z."""
    return so3.exp([0.0, 0.0, phi]) @ so3.exp([theta, 0.0, 0.0]) @ so3.exp([0.0, 0.0, psi])


@pytest.fixture(scope="module")
def motion() -> OdeSolution:
    """(θ, θ', φ, ψ) of the heavy top with its two momenta kept (Landau and Lifshitz, Mechanics, § 35)."""
    A, C = ACROSS + MASS * HEIGHT**2, ALONG
    spin = C * OMEGA[2]
    vertical = A * np.sin(TILT) * OMEGA[1] + spin * np.cos(TILT)

    def rate(_: float, y: Array) -> list[float]:
        s, c = np.sin(y[0]), np.cos(y[0])
        phi_dot = (vertical - spin * c) / (A * s**2)
        nutation = phi_dot**2 * s * c - spin * phi_dot * s / A + MASS * G * HEIGHT * s / A
        return [y[1], nutation, phi_dot, spin / C - phi_dot * c]

    start = [TILT, OMEGA[0], 0.0, 0.0]
    return solve_ivp(rate, (0.0, END), start, "DOP853", rtol=1e-12, atol=1e-12, dense_output=True).sol


def top(reverse: bool = False) -> tuple[ev.System, ev.State]:
    """A heavy symmetric top on a ball joint, written from the world or from the top."""
    body = ev.RigidBody(MASS, (ACROSS, ACROSS, ALONG), (0.0, 0.0, HEIGHT), name="top")
    x = so3.log(euler(TILT, 0.0, 0.0))
    if reverse:
        ball, q, q_dot = ev.Spherical(body, "world", start=-x), -x, -so3.dexp_inv(x) @ OMEGA
    else:
        ball, q, q_dot = ev.Spherical("world", body, start=x), x, so3.dexp_inv(x) @ OMEGA
    system = ev.System(ev.Mechanism([ball]), loads=[ev.Gravity()])
    return system, system.rest().with_(q=q, q_dot=q_dot)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_a_heavy_top_turns_on(name: str, reverse: bool, motion: OdeSolution, make: SimpleNamespace):
    system, state = top(reverse)
    pose, energy, momentum = [], [], []
    for step in (4e-3, 2e-3, 1e-3):
        run = ev.simulate(system, state, END, step, METHODS[name])
        some = slice(None, None, round(0.02 / step))
        seen = so3.from_quaternion(run["top/orientation"].values[some])
        expected = [euler(theta, phi, psi) for theta, _, phi, psi in motion(run["time"].values[some]).T]
        pose.append(np.abs(seen - np.array(expected)).max())
        energy.append(np.ptp(run["energy/total"].values))
        momentum.append(np.ptp(run["momentum"].values[:, 2]))
        jumps = np.linalg.norm(np.diff(run["q"].values, axis=0), axis=1) > np.pi
        assert jumps.sum() == 7  # six turns, and the vector was exchanged as often
    order = METHODS[name].order
    for errors in (pose, energy, momentum):
        assert make.observed_order(errors) == pytest.approx(order, abs=0.15)
    assert pose[-1] < (1e-2 if order == 2 else 1e-7)


def test_rates_go_on_where_the_vector_is_exchanged():
    """Ω and Ω' from q, q', q'' on both sides of an exchange differ by what a step changes."""
    system, state = top()
    run = ev.simulate(system, state, 0.4, 1e-3)
    q, q_dot, q_ddot = (run[name].values for name in ("q", "q_dot", "q_ddot"))
    omega = np.array([so3.dexp(x) @ v for x, v in zip(q, q_dot)])
    omega_dot = np.array([so3.dexp(x) @ a + so3.d_dexp(x, v) @ v for x, v, a in zip(q, q_dot, q_ddot)])
    (where,) = np.nonzero(np.linalg.norm(np.diff(q, axis=0), axis=1) > np.pi)
    assert where.size
    for values in (omega, omega_dot):
        change = np.linalg.norm(np.diff(values, axis=0), axis=1)
        assert np.all(change[where] < 1.5 * np.maximum(change[where - 1], change[where + 1]) + 1e-9)


def test_a_run_goes_on_behind_an_exchange():
    system, state = top()
    whole = ev.simulate(system, state, 0.4, 2e-3, ev.ImplicitMidpoint())
    part = ev.simulate(system, state, 0.3, 2e-3, ev.ImplicitMidpoint())
    rest = ev.simulate(system, ev.state_at(system, part), 0.1, 2e-3, ev.ImplicitMidpoint())
    np.testing.assert_allclose(rest["q"][-1], whole["q"][-1], atol=1e-8)


def test_a_spring_on_a_rotation_vector_makes_no_energy():
    """A spring means one number: wound up beyond π it pulls back, and the vector is not exchanged."""
    body = ev.RigidBody(1.0, (0.1, 0.1, 0.1), name="body")
    ball = ev.Spherical("world", body, name="ball")
    system = ev.System(ev.Mechanism([ball]), loads=[ev.JointSpring(ball, 0.1, coordinate="theta_z")])
    run = ev.simulate(system, system.rest().with_(q_dot=np.array([0.0, 0.0, 5.0])), 3.0, 1e-2, ev.ImplicitMidpoint())
    t = run["time"].values
    np.testing.assert_allclose(run["q"][:, 2], 5.0 * np.sin(t), atol=1e-3)
    assert np.ptp(run["energy/total"].values) < 1e-9


def test_an_imposed_rotation_vector_is_followed_beyond_pi():
    body = ev.RigidBody(1.0, (0.1, 0.12, 0.15), (0.0, 0.0, 0.2), name="body")
    ball = ev.Spherical("world", body, name="ball")
    drive = ev.Imposed(ball, "theta_z")
    system = ev.System(ev.Mechanism([ball]), [drive], [ev.Gravity((0.0, 0.0, G))])
    state = system.rest().with_(q=np.array([0.3, 0.2, 0.0]))
    run = ev.simulate(system, state, 2.0, 5e-3, inputs={drive: lambda t: (2.0 * t, 2.0, 0.0)})
    np.testing.assert_allclose(run["q"][:, 2], 2.0 * run["time"], atol=1e-12)
    R = so3.from_quaternion(run["body/orientation"].values)
    step = [np.linalg.norm(so3.log(a.T @ b)) for a, b in pairwise(R)]
    assert max(step) < 0.05
