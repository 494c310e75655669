"""Quadrature and collocation: exact on polynomials, spectrally accurate on smooth functions."""

import numpy as np
import pytest

from elver.errors import BadInput
from elver.numerics import quadrature as quad


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 30])
def test_gauss_legendre_is_exact_to_degree_2n_minus_1(n):
    x, w = quad.gauss_legendre(n, 0.0, 2.0)
    assert np.all(np.diff([0.0, *x, 2.0]) > 0)
    assert np.all(w > 0)
    for k in range(2 * n):
        assert np.sum(w * (x - 1.0) ** k) == pytest.approx((1 - (-1) ** (k + 1)) / (k + 1), abs=1e-13)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 16, 33])
def test_chebyshev_is_exact_to_degree_n_minus_1(n):
    a, b = -0.3, 1.1
    s = quad.chebyshev_lobatto(n, a, b)
    nodes, w = quad.clenshaw_curtis(n, a, b)
    D, S = quad.chebyshev_differentiation(n, a, b), quad.chebyshev_integration(n, a, b)
    np.testing.assert_array_equal(s[[0, -1]], [a, b])
    assert np.all(np.diff(s) > 0)
    np.testing.assert_array_equal(nodes, s)
    for k in range(n):
        f, primitive = s**k, (s ** (k + 1) - a ** (k + 1)) / (k + 1)
        np.testing.assert_allclose(D @ f, k * s ** max(k - 1, 0), atol=1e-14 * n**4)
        np.testing.assert_allclose(S @ f, primitive, atol=1e-14)
        assert w @ f == pytest.approx(primitive[-1], abs=1e-14)


def test_clenshaw_curtis_weights_are_positive_and_symmetric():
    for n in (2, 3, 8, 21):
        _, w = quad.clenshaw_curtis(n)
        assert np.all(w > 0)
        np.testing.assert_allclose(w, w[::-1], atol=1e-15)
        assert np.sum(w) == pytest.approx(2.0, abs=1e-14)


def test_simpson_is_the_three_point_rule():
    np.testing.assert_allclose(quad.clenshaw_curtis(3)[1], [1 / 3, 4 / 3, 1 / 3], atol=1e-15)
    np.testing.assert_allclose(quad.chebyshev_lobatto(3), [-1.0, 0.0, 1.0], atol=0)


def test_spectral_accuracy_on_a_smooth_function():
    s = quad.chebyshev_lobatto(40, 0.0, 2.0)
    f = np.exp(np.sin(2 * s))
    derivative = 2 * np.cos(2 * s) * f
    np.testing.assert_allclose(quad.chebyshev_differentiation(40, 0.0, 2.0) @ f, derivative, atol=1e-9)
    np.testing.assert_allclose(quad.chebyshev_integration(40, 0.0, 2.0) @ derivative, f - f[0], atol=1e-11)


def test_too_few_nodes_are_refused():
    with pytest.raises(BadInput, match="n = 0"):
        quad.gauss_legendre(0)
    for function in (quad.chebyshev_lobatto, quad.chebyshev_differentiation, quad.chebyshev_integration):
        with pytest.raises(BadInput, match="n = 1"):
            function(1)
