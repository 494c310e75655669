"""Laws of SO(3): group axioms, exp and log up to a half turn, tangents and their variations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from elver.lie import so3

quick = settings(deadline=None, max_examples=40)
unit = arrays(float, 3, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 1e-2)
vector = arrays(float, 3, elements=st.floats(-2, 2))
# Angles in (0, 2π), with weight on the neighbourhoods of 0 and π and on the switch of the series, θ² = 10.
angle = st.one_of(
    st.floats(0, 6.0),
    st.sampled_from([0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4]),
    st.sampled_from([np.pi - 1e-9, np.pi, np.pi + 1e-9, 10**0.5, 3.16, 3.17]),
)


def along(direction: np.ndarray, theta: float) -> np.ndarray:
    return theta * direction / np.linalg.norm(direction)


def difference(function, step=1e-3):
    """Sixth-order central difference at 0 of a function of one number."""
    return sum(
        w * (function(k * step) - function(-k * step)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))
    ) / (60.0 * step)


@quick
@given(vector)
def test_hat_is_the_cross_product(w):
    x = np.array([0.3, -1.2, 0.8])
    np.testing.assert_allclose(so3.hat(w) @ x, np.cross(w, x), atol=1e-15)
    np.testing.assert_array_equal(so3.vee(so3.hat(w)), w)
    np.testing.assert_array_equal(so3.ad(w), so3.hat(w))
    np.testing.assert_array_equal(so3.coad(w), -so3.ad(w).T)


@quick
@given(unit, angle)
def test_exp_is_a_rotation_and_agrees_with_scipy(e, theta):
    R = so3.exp(along(e, theta))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-13)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(R, Rotation.from_rotvec(along(e, theta)).as_matrix(), atol=1e-13)


@quick
@given(unit, angle, st.floats(-3, 3), st.floats(-3, 3))
def test_one_parameter_subgroup(e, theta, a, b):
    x = along(e, theta)
    np.testing.assert_allclose(so3.exp(a * x) @ so3.exp(b * x), so3.exp((a + b) * x), atol=1e-13)


@quick
@given(unit, st.floats(0, 3.1))
def test_log_inverts_exp(e, theta):
    x = along(e, theta)
    np.testing.assert_allclose(so3.log(so3.exp(x)), x, atol=1e-13)


@quick
@given(unit, angle)
def test_exp_inverts_log_up_to_half_a_turn_and_beyond(e, theta):
    R = so3.exp(along(e, theta))
    x = so3.log(R)
    assert np.linalg.norm(x) <= np.pi + 1e-15
    np.testing.assert_allclose(so3.exp(x), R, atol=1e-13)


@pytest.mark.parametrize("theta", [1e-150, 1e-12, 1e-7])
def test_log_keeps_all_digits_of_a_small_rotation(theta):
    x = theta * np.array([0.6, -0.0, 0.8])
    np.testing.assert_allclose(so3.log(so3.exp(x)), x, rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-8, 1e-5, 1e-2])
@pytest.mark.parametrize("e", [[1, 0, 0], [0, 1, 0], [0, 0, -1], [1, 1, 0], [-1, 1e-6, 0], [0.2, -0.5, 0.8]])
def test_log_near_half_a_turn(e, gap):
    x = along(np.array(e, dtype=float), np.pi - gap)
    y = so3.log(so3.exp(x))
    np.testing.assert_allclose(so3.exp(y), so3.exp(x), atol=1e-14)
    if gap > 1e-15:
        np.testing.assert_allclose(y, x, atol=2e-15 / gap if gap < 1e-8 else 1e-14)


def test_log_of_exact_half_turns():
    for diagonal in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1]):
        R = np.diag(np.array(diagonal, dtype=float))
        np.testing.assert_allclose(np.abs(so3.log(R)), np.pi * (np.array(diagonal) > 0), atol=0.0)


@quick
@given(unit, angle, vector)
def test_exp_is_equivariant(e, theta, y):
    R, x = so3.exp(y), along(e, theta)
    np.testing.assert_allclose(so3.exp(so3.Ad(R) @ x), R @ so3.exp(x) @ R.T, atol=1e-13)
    np.testing.assert_allclose(so3.coAd(R), np.linalg.inv(so3.Ad(R)).T, atol=1e-13)


@quick
@given(unit, angle, vector)
def test_dexp_is_the_derivative_of_exp(e, theta, d):
    x = along(e, theta)
    slope = difference(lambda h: so3.exp(x + h * d))
    np.testing.assert_allclose(so3.hat(so3.dexp(x) @ d), so3.exp(x).T @ slope, atol=1e-11)


@quick
@given(unit, angle)
def test_dexp_identities(e, theta):
    x = along(e, theta)
    T, R = so3.dexp(x), so3.exp(x)
    np.testing.assert_allclose(T @ so3.dexp_inv(x), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(so3.dexp(-x), T.T, atol=1e-15)
    np.testing.assert_allclose(R @ T, T.T, atol=1e-13)  # left and right trivialisation
    np.testing.assert_allclose(so3.hat(x) @ T, np.eye(3) - R.T, atol=1e-13)
    np.testing.assert_allclose(T @ x, x, atol=1e-14)


@quick
@given(unit, angle.filter(lambda t: t < 5.0), vector)
def test_variations_are_derivatives(e, theta, d):
    x = along(e, theta)
    for function, variation in ((so3.dexp, so3.d_dexp), (so3.dexp_inv, so3.d_dexp_inv)):
        np.testing.assert_allclose(variation(x, d), difference(lambda h, f=function: f(x + h * d)), atol=1e-8)


@quick
@given(unit, angle.filter(lambda t: t < 5.0), vector, vector)
def test_second_variations_are_derivatives(e, theta, a, b):
    x = along(e, theta)
    for first, second in ((so3.d_dexp, so3.dd_dexp), (so3.d_dexp_inv, so3.dd_dexp_inv)):
        exact = second(x, a, b)
        np.testing.assert_allclose(exact, second(x, b, a), atol=1e-12)
        np.testing.assert_allclose(exact, difference(lambda h, f=first: f(x + h * b, a)), atol=1e-8)


@pytest.mark.parametrize("theta", [1e-3, 0.5, 2.0, 3.0])
def test_dexp_inv_as_printed_in_the_source(theta):
    """c = (1 - u cot u)/θ² and c′ = (u cot u + u²/sin²u - 2)/θ³ with u = θ/2 (Gotelli 2024, appendix A)."""
    e, d, u = np.array([0.6, 0.0, 0.8]), np.array([0.3, -1.0, 0.4]), theta / 2
    c = (1 - u / np.tan(u)) / theta**2
    c_prime = (u / np.tan(u) + u**2 / np.sin(u) ** 2 - 2) / theta**3
    X, Y = so3.hat(theta * e), so3.hat(d)
    np.testing.assert_allclose(so3.dexp_inv(theta * e), np.eye(3) + X / 2 + c * X @ X, atol=1e-12)
    printed = Y / 2 + c_prime * (e @ d) * X @ X + c * (Y @ X + X @ Y)
    np.testing.assert_allclose(so3.d_dexp_inv(theta * e, d), printed, atol=2e-12)


@quick
@given(unit, angle)
def test_quaternion_round_trip(e, theta):
    R = so3.exp(along(e, theta))
    q = so3.to_quaternion(R)
    assert q[0] >= 0.0
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(so3.from_quaternion(q), R, atol=1e-14)
    np.testing.assert_allclose(so3.from_quaternion(-3.0 * q), R, atol=1e-14)
    # SciPy stores the scalar last.
    scipy_q = Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]
    assert abs(q @ scipy_q) == pytest.approx(1.0, abs=1e-14)


def test_leading_axes_broadcast():
    x = np.random.default_rng(0).normal(size=(4, 2, 3))
    d = np.array([0.1, 0.2, -0.3])
    for function in (so3.exp, so3.dexp, so3.dexp_inv):
        assert function(x).shape == (4, 2, 3, 3)
        np.testing.assert_allclose(function(x)[3, 1], function(x[3, 1]), atol=1e-15)
    np.testing.assert_allclose(so3.d_dexp(x, d)[2, 0], so3.d_dexp(x[2, 0], d), atol=1e-15)
    second = so3.dd_dexp_inv(x, d, x[0])
    np.testing.assert_allclose(second[2, 0], so3.dd_dexp_inv(x[2, 0], d, x[0, 0]), atol=1e-15)
    np.testing.assert_allclose(so3.log(so3.exp(x))[1, 1], so3.log(so3.exp(x[1, 1])), atol=1e-15)
