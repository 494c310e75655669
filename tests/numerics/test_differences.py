"""Differences: exact on polynomials up to the degree their order promises."""

import numpy as np
import pytest

from elver.numerics.differences import FIRST, OFFSETS, SECOND


@pytest.mark.parametrize(("rule", "derivative", "highest"), [(FIRST, 1, 6), (SECOND, 2, 7)])
def test_differences_are_exact_on_polynomials(rule, derivative, highest):
    x, h = 0.3, 0.1
    for degree in range(highest + 1):
        polynomial = np.polynomial.Polynomial.basis(degree)
        exact = polynomial.deriv(derivative)(x)
        assert rule @ polynomial(x + h * OFFSETS) / h**derivative == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize(("rule", "derivative"), [(FIRST, 1), (SECOND, 2)])
def test_differences_are_of_order_six(rule, derivative):
    exact = (np.cos(0.4), -np.sin(0.4))[derivative - 1]
    error = [abs(rule @ np.sin(0.4 + h * OFFSETS) / h**derivative - exact) for h in (0.4, 0.2)]
    assert np.log2(error[0] / error[1]) == pytest.approx(6.0, abs=0.1)
