"""Laws of SE(3): group axioms, adjoints and their duals, exp, log, tangents and their variations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm

from elver.lie import se3, so3

quick = settings(deadline=None, max_examples=40)
unit = arrays(float, 3, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 1e-2)
vector = arrays(float, 3, elements=st.floats(-2, 2))
six = arrays(float, 6, elements=st.floats(-1.5, 1.5))
angle = st.one_of(
    st.floats(0, 5.0),
    st.sampled_from([0.0, 1e-300, 1e-12, 1e-8, 1e-4, np.pi - 1e-9, np.pi, np.pi + 1e-9, 3.16, 3.17]),
)


@st.composite
def screws(draw):
    e = draw(unit)
    return np.concatenate([draw(angle) * e / np.linalg.norm(e), draw(vector)])


def difference(function, step=1e-3):
    return sum(w * (function(k * step) - function(-k * step)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))) / (
        60.0 * step
    )


@quick
@given(six, six, six)
def test_group_axioms(x, y, z):
    a, b, c = se3.exp(x), se3.exp(y), se3.exp(z)
    np.testing.assert_allclose((a @ b) @ c, a @ (b @ c), atol=1e-13)
    np.testing.assert_allclose(a @ se3.inverse(a), np.eye(4), atol=1e-13)
    np.testing.assert_allclose(se3.inverse(a), se3.exp(-x), atol=1e-13)
    np.testing.assert_allclose(se3.pose(se3.rotation(a), se3.position(a)), a)
    p = np.array([0.2, -0.4, 1.0])
    np.testing.assert_allclose(se3.transform(a, p), (a @ [*p, 1.0])[:3], atol=1e-15)


@quick
@given(screws())
def test_exp_is_the_matrix_exponential(x):
    np.testing.assert_allclose(se3.exp(x), expm(se3.hat(x)), atol=1e-12)
    np.testing.assert_array_equal(se3.vee(se3.hat(x)), x)


@quick
@given(screws())
def test_exp_inverts_log(x):
    g = se3.exp(x)
    np.testing.assert_allclose(se3.exp(se3.log(g)), g, atol=1e-12)
    if np.linalg.norm(x[:3]) < 3.1:
        np.testing.assert_allclose(se3.log(g), x, atol=1e-12)


@quick
@given(six, six, six)
def test_adjoints(x, y, z):
    g, h = se3.exp(x), se3.exp(y)
    # Conjugation, homomorphism, duality.
    np.testing.assert_allclose(se3.hat(se3.Ad(g) @ z), g @ se3.hat(z) @ se3.inverse(g), atol=1e-12)
    np.testing.assert_allclose(se3.Ad(g @ h), se3.Ad(g) @ se3.Ad(h), atol=1e-12)
    np.testing.assert_allclose(se3.coAd(g), np.linalg.inv(se3.Ad(g)).T, atol=1e-12)
    np.testing.assert_allclose((se3.coAd(g) @ z) @ (se3.Ad(g) @ y), z @ y, atol=1e-12)  # power is invariant
    # Bracket.
    X, Y = se3.hat(x), se3.hat(y)
    np.testing.assert_allclose(se3.hat(se3.ad(x) @ y), X @ Y - Y @ X, atol=1e-13)
    np.testing.assert_array_equal(se3.coad(x), -se3.ad(x).T)
    np.testing.assert_allclose(se3.dcoad(z) @ x, se3.coad(x) @ z, atol=1e-14)
    np.testing.assert_allclose(se3.Ad(g), expm(se3.ad(x)), atol=1e-12)
    jacobi = se3.ad(x) @ se3.ad(y) - se3.ad(y) @ se3.ad(x)
    np.testing.assert_allclose(se3.ad(se3.ad(x) @ y), jacobi, atol=1e-13)


@quick
@given(screws(), six)
def test_dexp_is_the_derivative_of_exp(x, d):
    slope = difference(lambda h: se3.exp(x + h * d))
    np.testing.assert_allclose(se3.hat(se3.dexp(x) @ d), se3.inverse(se3.exp(x)) @ slope, atol=1e-10)


@quick
@given(screws())
def test_dexp_identities(x):
    T = se3.dexp(x)
    np.testing.assert_allclose(T @ se3.dexp_inv(x), np.eye(6), atol=2e-12)
    np.testing.assert_allclose(se3.ad(x) @ T, np.eye(6) - se3.Ad(se3.exp(-x)), atol=1e-12)
    np.testing.assert_allclose(se3.dexp(-x), se3.Ad(se3.exp(x)) @ T, atol=1e-12)
    np.testing.assert_allclose(T @ x, x, atol=1e-13)


def test_dexp_is_its_series():
    x = np.array([0.3, -0.2, 0.4, 1.0, 0.5, -0.7])
    total, term = np.zeros((6, 6)), np.eye(6)
    for k in range(30):
        total += term
        term = -term @ se3.ad(x) / (k + 2)
    np.testing.assert_allclose(se3.dexp(x), total, atol=1e-15)


@quick
@given(screws(), six)
def test_variations_are_derivatives(x, d):
    for function, variation in ((se3.dexp, se3.d_dexp), (se3.dexp_inv, se3.d_dexp_inv)):
        exact = variation(x, d)
        error = exact - difference(lambda h, f=function: f(x + h * d))
        assert np.max(np.abs(error)) < 1e-8 * max(1.0, np.max(np.abs(exact)))


@quick
@given(six, six)
def test_rate_of_a_moving_twist(x, y):
    """g = g₀ exp(x(s)), g′ = g ξ̂ gives x′ = dexp_inv(x) ξ."""
    xi = se3.dexp(x) @ y
    np.testing.assert_allclose(se3.dexp_inv(x) @ xi, y, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_tangent_relations_of_random_surfaces_of_poses(seed):
    """ξ̇ = η′ + ad(ξ) η on a smooth random g(s, t), and δξ = δζ′ + ad(ξ) δζ for δg = g δζ̂ (Boyer 2023, eqs. 3, 5)."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, 6, 4))
    s, t = random.uniform(-1.0, 1.0, size=2)

    def smooth(c, s, t):
        return c[:, 0] * s + c[:, 1] * np.sin(s + t) + c[:, 2] * s * t + c[:, 3] * np.cos(s - 2.0 * t)

    def g(s, t):
        return se3.exp(smooth(a, s, t)) @ se3.exp(smooth(b, s, t))

    def strain(s, t):
        return se3.vee(se3.inverse(g(s, t)) @ difference(lambda h: g(s + h, t)))

    def twist(s, t):
        return se3.vee(se3.inverse(g(s, t)) @ difference(lambda h: g(s, t + h)))

    xi, eta = strain(s, t), twist(s, t)
    eta_prime = difference(lambda h: twist(s + h, t))
    xi_dot = difference(lambda h: strain(s, t + h))
    np.testing.assert_allclose(xi_dot, eta_prime + se3.ad(xi) @ eta, atol=1e-6)

    # a variation with a field δζ(s) of its own, which no motion in time gives
    c = random.normal(size=(6, 4))

    def zeta(s):
        return smooth(c, s, 0.0)

    def varied(s, h):
        return g(s, t) @ se3.exp(h * zeta(s))

    def strain_of(h):
        return se3.vee(se3.inverse(varied(s, h)) @ difference(lambda k: varied(s + k, h)))

    zeta_prime = difference(lambda k: zeta(s + k))
    np.testing.assert_allclose(difference(strain_of), zeta_prime + se3.ad(xi) @ zeta(s), atol=1e-6)


def test_variation_of_the_adjoint():
    """d/dε Ad((g exp(ε ζ))⁻¹) = -ad(ζ) Ad(g⁻¹) (Gotelli 2024, appendix A)."""
    g, zeta = se3.exp([0.3, 1.0, -0.5, 0.2, 0.1, 0.9]), np.array([0.5, -0.1, 0.7, 1.0, 0.3, -0.2])
    slope = difference(lambda h: se3.Ad(se3.inverse(g @ se3.exp(h * zeta))))
    np.testing.assert_allclose(slope, -se3.ad(zeta) @ se3.Ad(se3.inverse(g)), atol=1e-11)


@pytest.mark.parametrize("function", [se3.exp, se3.dexp, se3.dexp_inv, se3.ad, se3.coad, se3.hat, se3.dcoad])
def test_leading_axes_broadcast(function):
    x = np.random.default_rng(1).normal(size=(3, 2, 6))
    np.testing.assert_allclose(function(x)[2, 1], function(x[2, 1]), atol=1e-14)


def test_leading_axes_of_poses_and_variations():
    x = np.random.default_rng(2).normal(size=(3, 2, 6))
    g, d = se3.exp(x), np.arange(6.0)
    for function in (se3.log, se3.Ad, se3.coAd, se3.inverse, se3.rotation, se3.position):
        np.testing.assert_allclose(function(g)[2, 1], function(g[2, 1]), atol=1e-14)
    np.testing.assert_allclose(se3.d_dexp(x, d)[2, 1], se3.d_dexp(x[2, 1], d), atol=1e-14)
    np.testing.assert_allclose(se3.d_dexp_inv(x, d)[2, 1], se3.d_dexp_inv(x[2, 1], d), atol=1e-13)
    assert se3.pose(np.eye(3), np.zeros((5, 3))).shape == (5, 4, 4)
    np.testing.assert_allclose(so3.exp(x[..., :3]), se3.rotation(g))
