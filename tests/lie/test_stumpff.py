"""Stumpff functions against rational arithmetic, on both sides of the switch from the series."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from elver.lie.stumpff import SWITCH, derivative, stumpff


def exact(n: int, phi: float) -> float:
    """Partial sum in rational arithmetic, free of rounding."""
    x = Fraction(phi)
    return float(sum((-x) ** k / factorial(2 * k + n) for k in range(60)))


SMALL, LARGE = [0.0, 1e-300, 1e-12, 1e-3, 1.0, 4.0], [np.pi**2, 15.0, 39.4, 60.0]


@pytest.mark.parametrize("phi", [*SMALL, SWITCH - 1e-9, SWITCH, SWITCH + 1e-9, *LARGE])
def test_values_in_rational_arithmetic(phi):
    c = stumpff(phi, 8)
    expected = [exact(n, phi) for n in range(8)]
    scale = [1.0 / factorial(n) for n in range(8)]
    assert np.max(np.abs(c - expected) / scale) < 2e-14  # rounding


def test_both_sides_of_the_switch_meet():
    below, above = stumpff(np.nextafter(SWITCH, 0.0)), stumpff(SWITCH)
    np.testing.assert_allclose(below, above, rtol=2e-13)


@pytest.mark.parametrize("phi", [0.0, 0.3, 9.0, 11.0, 30.0])
def test_derivative(phi):
    h = 1e-5
    dc = derivative(stumpff(phi + h))
    difference = (stumpff(phi + 2 * h) - stumpff(phi))[:6] / (2 * h)
    np.testing.assert_allclose(dc, difference, atol=2e-11)
