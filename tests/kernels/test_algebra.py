"""Small algebra of the kernels: Stumpff functions, LU, rotation vectors; one compilation for all robots."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elver.kernels.algebra import _SERIES_LIMIT, add_bracket, add_coad, lu_factor, lu_solve, stumpff
from elver.kernels.terms.closures import _inverse_coefficients, _log
from elver.lie import se3, so3


def series(phi: float, n: int) -> float:
    """c_n(φ) in exact rational arithmetic."""
    from fractions import Fraction

    x = Fraction(phi)
    return float(sum((-x) ** k / math.factorial(2 * k + n) for k in range(60)))


@pytest.mark.parametrize("phi", [0.0, 1e-30, 1e-8, 0.1, 1.0, 9.0, 30.0, 44.999999, 45.000001, 60.0])
def test_stumpff_functions_on_both_sides_of_the_switch(phi):
    c = np.zeros(12)
    stumpff(phi, c)
    # Alternating series lose digits as φ grows: rounding of the largest term, relative to c_n(0) = 1/n!.
    for n in range(10):
        assert c[n] == pytest.approx(series(phi, n), abs=2e-14 / math.factorial(n) * max(1.0, phi))


def test_stumpff_functions_are_continuous_at_the_switch():
    below, above = np.zeros(12), np.zeros(12)
    stumpff(np.nextafter(_SERIES_LIMIT, 0.0), below)
    stumpff(_SERIES_LIMIT, above)
    factorials = np.array([math.factorial(n) for n in range(10)])
    np.testing.assert_allclose(below[:10] * factorials, above[:10] * factorials, atol=1e-11)


@pytest.mark.parametrize("phi", [0.0, 0.3, 7.0, 50.0])
def test_recurrence_and_derivative_of_stumpff_functions(phi):
    c, ahead, behind = np.zeros(12), np.zeros(12), np.zeros(12)
    stumpff(phi, c)
    for n in range(8):
        assert c[n] == pytest.approx(1.0 / math.factorial(n) - phi * c[n + 2], abs=1e-14)
    if phi > 0.0:
        h = 1e-5
        stumpff(phi + h, ahead)
        stumpff(phi - h, behind)
        for n in range(1, 7):
            difference = (ahead[n] - behind[n]) / (2.0 * h)
            assert 0.5 * (n * c[n + 2] - c[n + 1]) == pytest.approx(difference, abs=1e-10)


def test_brackets_are_those_of_se3(rng):
    a, b, out = rng.standard_normal((2, 6)), rng.standard_normal((2, 6)), np.zeros((2, 6))
    add_bracket(out, 0, 2.0, a, 1, b, 0)
    add_coad(out, 1, -0.5, a, 0, b, 1)
    np.testing.assert_allclose(out[0], 2.0 * se3.ad(a[1]) @ b[0], atol=1e-15)
    np.testing.assert_allclose(out[1], -0.5 * se3.coad(a[0]) @ b[1], atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_lu_solves(rng, n):
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    factors, x, pivots = A.copy(), b.copy(), np.zeros(n, dtype=np.int64)
    assert lu_factor(factors, pivots) > 0.0
    lu_solve(factors, pivots, x)
    np.testing.assert_allclose(A @ x, b, atol=1e-12 * n)


def test_lu_needs_its_pivots():
    """A zero in the corner, as in the closure block of a Newton matrix."""
    A, b = np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([2.0, 3.0])
    pivots = np.zeros(2, dtype=np.int64)
    assert lu_factor(A, pivots) == pytest.approx(0.5)
    lu_solve(A, pivots, b)
    np.testing.assert_allclose(b, [2.0, 1.0])


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.array([[1.0, 2.0], [2.0, 4.0]])])
def test_lu_says_singular(A):
    assert lu_factor(A.copy(), np.zeros(A.shape[0], dtype=np.int64)) == 0.0


def test_lu_sees_broken_numbers():
    assert lu_factor(np.full((2, 2), np.nan), np.zeros(2, dtype=np.int64)) == 0.0


@pytest.mark.parametrize(
    "angle", [0.0, 1e-12, 1e-6, 9e-5, 1.1e-4, 0.5, 2.0, 2.68, 2.7, 3.1, np.pi - 1e-6, np.pi - 1e-9]
)
@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.6, -0.8), (-0.48, 0.6, 0.64), (0.0, 0.0, -1.0)])
def test_log_from_zero_to_half_a_turn(angle, axis):
    theta, expected = np.zeros(3), angle * np.array(axis)
    _log(so3.exp(expected), theta)
    np.testing.assert_allclose(theta, expected, atol=5e-15 * max(1.0, angle), rtol=1e-13)


def test_log_at_exactly_half_a_turn_is_one_of_the_two():
    theta = np.zeros(3)
    _log(np.diag([-1.0, 1.0, -1.0]), theta)
    np.testing.assert_allclose(np.abs(theta), [0.0, np.pi, 0.0], atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.1, 0.299999, 0.300001, 1.0, 3.0, np.pi, 3.3])
def test_coefficients_of_the_inverse_tangent(angle):
    """c Θ̂² of T⁻¹ and the derivative c′/θ, on both sides of the switch at 0.3."""
    axis, v = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    c, d = _inverse_coefficients(angle)
    if angle > 0.0:
        # T⁻¹ = 1 + ½Θ̂ + c Θ̂²: the y entry is 1 - c θ²
        expected = (1.0 - so3.dexp_inv(angle * axis)[1, 1]) / angle**2
        assert c == pytest.approx(expected, abs=1e-15 / min(angle, 1.0) ** 2)
    else:
        assert c == pytest.approx(1.0 / 12.0, rel=1e-15)
        assert d == pytest.approx(1.0 / 360.0, rel=1e-15)
    # δT⁻¹ = ½ δ̂ + c (Θ̂δ̂ + δ̂Θ̂) + d (Θ·δ) Θ̂²
    theta, delta = angle * axis, 0.7 * axis + 0.2 * v
    X, Y = so3.hat(theta), so3.hat(delta)
    variation = 0.5 * Y + c * (X @ Y + Y @ X) + d * (theta @ delta) * X @ X
    np.testing.assert_allclose(variation, so3.d_dexp_inv(theta, delta), atol=1e-13)


def test_coefficients_are_continuous_at_the_switch():
    below, above = _inverse_coefficients(np.nextafter(0.3, 0.0)), _inverse_coefficients(0.3)
    assert below[0] == pytest.approx(above[0], rel=1e-14)
    assert below[1] == pytest.approx(above[1], rel=1e-11)


def test_a_second_robot_of_other_sizes_compiles_nothing(robot, stored):
    first = robot("legendre kirchhoff", foundation="free")
    for jets in (1, 3):
        first.core.residual(first.arrays, first.inputs, jets)
        first.core.tangent(first.arrays, first.inputs, (1.0, 2.0, 3.0), jets)
    before = stored()
    others = (
        robot("legendre reissner", scheme="rkmk", foundation="clamped", nodes=9),
        robot("piecewise constant", scheme="magnus 4", chosen=("gravity",)),
        robot("legendre planar", chosen=()),
    )
    for other in others:
        for jets in (1, 3):
            other.core.residual(other.arrays, other.inputs, jets)
            other.core.tangent(other.arrays, other.inputs, (1.0, 0.0, 0.0), jets)
    assert stored() == before
    assert "tree.evaluate.evaluate_residual.code" in before
