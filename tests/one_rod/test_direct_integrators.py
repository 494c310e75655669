"""Steps of the direct methods: Blumentals 2017, section 6.2 (integrators) and appendix C (maps)."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipj

from elver.analytic.elliptic import second_kind
from elver.lie import se3, so3
from elver.one_rod.transcription.maps import integrate, inverse_tangent, retract, rotation_vector

LENGTH, MODULUS = 100.0, 0.8
BETA = 0.5 / MODULUS

# Largest error of the position over the length, N = 100, 200, 400, 800, 1600 steps on the periodic elastica.
TABLE = {
    ("exp", 1): (1.455e-1, 7.241e-2, 3.622e-2, 1.812e-2, 9.065e-3),
    ("cayley", 1): (1.481e-1, 7.224e-2, 3.604e-2, 1.806e-2, 9.047e-3),
    ("exp", 2): (2.251e-2, 5.808e-3, 1.464e-3, 3.667e-4, 9.171e-5),
    ("cayley", 2): (3.266e-2, 1.050e-2, 2.796e-3, 7.098e-4, 1.781e-4),
    ("exp", 4): (8.19e-5, 6.39e-6, 4.24e-7, 2.69e-8, 1.69e-9),
    ("cayley", 4): (1.33e-4, 3.45e-6, 1.06e-7, 4.45e-9, 2.30e-10),
}


def elastica_strain(s):
    """κ1 = cn(s/2p; p) of the source is K_y here, tangent x."""
    xi = np.zeros((len(s), 6))
    xi[:, 1] = ellipj(BETA * s, MODULUS**2)[1]
    xi[:, 3] = 1.0
    return xi


def elastica_position(s):
    m = MODULUS**2
    _, cn, _, am = ellipj(BETA * s, m)
    along, across = 2.0 * second_kind(am, m) / BETA - s, 2.0 * MODULUS / BETA * (1.0 - cn)
    return np.stack([along, np.zeros_like(s), -across], axis=1)


def elastica_error(name, order, steps):
    s = np.linspace(0.0, LENGTH, steps + 1)
    p = integrate(elastica_strain, s, name, order)[:, :3, 3]
    return np.max(np.linalg.norm(p - elastica_position(s), axis=1)) / LENGTH


@pytest.mark.parametrize(("name", "order"), TABLE)
def test_table_of_the_periodic_elastica(name, order):
    errors = [elastica_error(name, order, n) for n in (100, 200, 400, 800, 1600)]
    assert errors == pytest.approx(TABLE[name, order], rel=0.02)  # printed digits


def twisted_strain(s):
    """κ = (cos s, ½ sin 2s, 0.3 + 0.2 s), tangent last, in our order (K_x, K_y, K_z) = (κ3, κ1, κ2)."""
    xi = np.zeros((len(s), 6))
    xi[:, 0], xi[:, 1], xi[:, 2], xi[:, 3] = 0.3 + 0.2 * s, np.cos(s), 0.5 * np.sin(2.0 * s), 1.0
    return xi


def test_end_of_the_twisted_rod():
    end = integrate(twisted_strain, np.linspace(0.0, 5.0, 801))[-1, :3, 3]
    theirs = np.array([-0.79577036, -2.61059605, 1.99178510])  # in axes whose third is the tangent at the base
    assert end == pytest.approx(theirs[[2, 0, 1]], abs=2e-8)


@pytest.mark.parametrize("name", ["exp", "cayley"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_orders_in_space(name, order):
    reference = integrate(twisted_strain, np.linspace(0.0, 5.0, 2561))[-1]

    def error(n):
        return np.linalg.norm(integrate(twisted_strain, np.linspace(0.0, 5.0, n + 1), name, order)[-1] - reference)

    counts = (80, 160, 320) if order < 4 else (40, 80, 160)
    errors = np.array([error(n) for n in counts])
    assert np.log2(errors[:-1] / errors[1:]) == pytest.approx(order, abs=0.15)
    if name == "exp":
        published = {2: 1.15e-2, 4: 6.06e-6}
        if order in published:
            assert error(40) == pytest.approx(published[order], rel=0.02)


def test_the_printed_fourth_order_method_is_third_order():
    h = ca.SX.sym("h")
    a, m, b = (ca.SX.sym(label, 6) for label in "amb")
    k2 = inverse_tangent(0.5 * h * a, m, "exp")
    k3 = inverse_tangent(0.5 * h * m, m, "exp")  # printed: the strain in the place of K2
    k4 = inverse_tangent(h * m, b, "exp")  # and of K3
    R, p = retract(h / 6.0 * (a + 2.0 * k2 + 2.0 * k3 + k4), "exp")
    printed = ca.Function("printed", [h, a, m, b], [R, p])
    reference = integrate(twisted_strain, np.linspace(0.0, 5.0, 2561))[-1]

    def error(n):
        s = np.linspace(0.0, 5.0, n + 1)
        g = np.eye(4)
        for start, end in pairwise(s):
            xi = twisted_strain(np.array([start, 0.5 * (start + end), end]))
            R, p = printed(end - start, *xi)
            g = g @ se3.pose(np.array(R), np.array(p).ravel())
        return np.linalg.norm(g - reference)

    errors = np.array([error(n) for n in (80, 160, 320)])
    assert np.log2(errors[:-1] / errors[1:]) == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.999, 1.001, 3.0])
@pytest.mark.parametrize("name", ["exp", "cayley"])
def test_tangent_is_the_derivative_of_the_map(name, size):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(6)
    x[:3] *= size / np.linalg.norm(x[:3])
    symbol = ca.SX.sym("x", 6)
    R, p = retract(symbol, name)
    value = ca.Function("value", [symbol], [R, p])
    xi = rng.standard_normal(6)
    rate = np.array(ca.evalf(inverse_tangent(ca.DM(x), ca.DM(xi), name))).ravel()

    def pose(t):
        R, p = value(x + t * rate)
        return se3.pose(np.array(R), np.array(p).ravel())

    h = 1e-5
    found = se3.vee(se3.inverse(pose(0.0)) @ (pose(h) - pose(-h)) / (2.0 * h))
    assert found == pytest.approx(xi, abs=1e-8)  # rounding of the central difference
    if name == "exp":
        assert pose(0.0) == pytest.approx(se3.exp(x), abs=1e-14)
        assert rate == pytest.approx(se3.dexp_inv(x) @ xi, abs=1e-12)


@pytest.mark.parametrize("name", ["exp", "cayley"])
def test_tangents_of_a_map_and_of_its_inverse(name):
    """Lemmas 6.2.1 and 6.2.2 of the thesis: τ(-θ) = τ(θ)⁻¹ and dτ(θ)⁻¹ δ = dτ(-θ)⁻¹ Ad(τ(-θ)) δ, to 1e-12."""
    rng = np.random.default_rng(6)

    def pose(x):
        R, p = (np.array(ca.evalf(part)) for part in retract(ca.DM(x), name))
        return se3.pose(R, p.ravel())

    def inverse(x, xi):
        return np.array(ca.evalf(inverse_tangent(ca.DM(x), ca.DM(xi), name))).ravel()

    for _ in range(20):
        x, delta = rng.standard_normal((2, 6))
        assert pose(-x) @ pose(x) == pytest.approx(np.eye(4), abs=1e-12)
        assert inverse(-x, delta) == pytest.approx(inverse(x, se3.Ad(pose(-x)) @ delta), abs=1e-12)


def test_second_derivatives_are_continuous_across_the_switch():
    symbol = ca.SX.sym("x", 6)
    R, p = retract(symbol, "exp")
    rate = inverse_tangent(symbol, ca.DM([0.3, -0.2, 0.5, 1.0, 0.1, -0.4]), "exp")
    hessian = ca.hessian(ca.sum1(ca.vertcat(ca.vec(R), p, rate)), symbol)[0]
    f = ca.Function("f", [symbol], [hessian])
    direction = np.array([0.6, 0.0, 0.8, 0.3, 0.2, 0.1])
    below, above = (np.array(f(direction * t)) for t in (1.0 - 1e-9, 1.0 + 1e-9))
    assert below == pytest.approx(above, abs=1e-7)
    assert np.all(np.isfinite(np.array(f(np.zeros(6)))))


def test_rotation_vector_is_the_logarithm():
    rng = np.random.default_rng(5)
    matrix = ca.SX.sym("R", 3, 3)
    f = ca.Function("f", [matrix], [rotation_vector(matrix), ca.jacobian(rotation_vector(matrix), matrix)])
    for size in (0.0, 1e-12, 1e-4, 0.0999, 0.101, 1.5, 2.0, 3.1):
        theta = rng.standard_normal(3)
        theta *= size / np.linalg.norm(theta)
        value, slope = f(so3.exp(theta))
        assert np.array(value).ravel() == pytest.approx(theta, abs=1e-12)
        assert np.all(np.isfinite(np.array(slope)))


def test_constant_strain_is_a_helix_exactly_and_rotations_stay_rotations():
    xi = np.array([0.7, -0.4, 1.1, 1.0, 0.05, -0.02])
    s = np.linspace(0.0, 40.0, 10_001)
    g = integrate(lambda s: np.tile(xi, (len(s), 1)), s, "exp", 1)
    assert g[-1] == pytest.approx(se3.exp(40.0 * xi), abs=1e-11)  # rounding of 10⁴ products
    R = g[-1, :3, :3]
    assert np.max(np.abs(R.T @ R - np.eye(3))) < 1e-12
