"""Shifted Legendre and Chebyshev polynomials against SciPy, and their orthogonality."""

import numpy as np
import pytest
from scipy.special import eval_chebyt, eval_legendre

from elver.errors import BadInput
from elver.numerics.polynomials import chebyshev, legendre
from elver.numerics.quadrature import gauss_legendre


@pytest.mark.parametrize("count", [0, 1, 2, 3, 12])
@pytest.mark.parametrize(("family", "scipy_family"), [(legendre, eval_legendre), (chebyshev, eval_chebyt)])
def test_values_agree_with_scipy(family, scipy_family, count):
    length = 0.4
    s = np.linspace(0.0, length, 17)
    expected = scipy_family(np.arange(count), 2 * s[:, None] / length - 1)
    np.testing.assert_allclose(family(s, count, length), expected, atol=1e-14)
    assert family(s.reshape(17, 1), count, length).shape == (17, 1, count)


def test_legendre_is_orthogonal_and_the_first_coefficient_is_the_mean():
    length, count = 2.5, 8
    s, w = gauss_legendre(12, 0.0, length)
    P = legendre(s, count, length)
    gram = P.T @ (w[:, None] * P)
    np.testing.assert_allclose(gram, np.diag(length / (2 * np.arange(count) + 1)), atol=1e-14)


@pytest.mark.parametrize("family", [legendre, chebyshev])
def test_ends(family):
    np.testing.assert_allclose(family(3.0, 6, 3.0), np.ones(6))
    np.testing.assert_allclose(family(0.0, 6, 3.0), (-1.0) ** np.arange(6))


def test_negative_count_is_refused():
    with pytest.raises(BadInput, match="count = -1"):
        legendre(0.5, -1)
