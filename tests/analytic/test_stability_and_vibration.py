"""Euler loads and beam frequencies, against textbook digits and against discretised eigenvalue problems."""

import numpy as np
import pytest
from scipy.linalg import eigh

from elver import analytic
from elver.errors import BadInput
from elver.numerics.polynomials import legendre
from elver.numerics.quadrature import gauss_legendre

# Ritz space: polynomials times a factor that meets the geometric end conditions.
FACTORS = {
    "clamped-free": [0, 0],
    "free-free": [],
    "pinned-pinned": [0, 1],
    "clamped-clamped": [0, 0, 1, 1],
    "clamped-pinned": [0, 0, 1],
}


def ritz(ends: str, count: int = 16):
    """Values, slopes and second derivatives of the trial functions on a Gauss grid of [0, 1]."""
    s, w = gauss_legendre(40, 0.0, 1.0)
    factor = (
        np.polynomial.Polynomial.fromroots(FACTORS[ends])
        if FACTORS[ends]
        else np.polynomial.Polynomial([1.0])
    )
    P = [np.polynomial.Legendre.basis(k, domain=[0, 1]) for k in range(count)]
    np.testing.assert_allclose(P[3](s), legendre(s, 4)[:, 3], atol=1e-14)
    f0, f1, f2 = factor(s), factor.deriv(1)(s), factor.deriv(2)(s)
    p0, p1, p2 = (np.stack([p.deriv(d)(s) if d else p(s) for p in P], 1) for d in (0, 1, 2))
    f0, f1, f2 = f0[:, None], f1[:, None], f2[:, None]
    return w, f0 * p0, f1 * p0 + f0 * p1, f2 * p0 + 2 * f1 * p1 + f0 * p2


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ("clamped-free", np.pi**2 / 4),
        ("pinned-pinned", np.pi**2),
        ("clamped-clamped", 4 * np.pi**2),
        ("clamped-pinned", 20.190728556426630),
    ],
)
def test_euler_loads(ends, expected):
    assert analytic.euler_load(ends, 1.0, 1.0) == pytest.approx(expected, rel=1e-14)
    assert analytic.euler_load(ends, 2.0, 3.0) == pytest.approx(0.75 * expected, rel=1e-14)
    w, _, slope, bend = ritz(ends)
    loads = eigh(bend.T @ (w[:, None] * bend), slope.T @ (w[:, None] * slope), eigvals_only=True)
    computed = [analytic.euler_load(ends, 1.0, 1.0, mode) for mode in (1, 2, 3, 4)]
    np.testing.assert_allclose(computed, loads[:4], rtol=1e-7)


@pytest.mark.parametrize("ends", FACTORS)
def test_beam_roots_solve_the_vibration_problem(ends):
    w, value, _, bend = ritz(ends)
    squares = eigh(bend.T @ (w[:, None] * bend), value.T @ (w[:, None] * value), eigvals_only=True)
    elastic = squares[2:] if ends == "free-free" else squares
    np.testing.assert_allclose(analytic.beam_roots(ends, 4), elastic[:4] ** 0.25, rtol=1e-7)


def test_beam_roots_to_published_digits():
    np.testing.assert_allclose(
        analytic.beam_roots("clamped-free", 3),
        [1.875104068711961, 4.694091132974175, 7.854757438237613],
        rtol=1e-15,
    )
    np.testing.assert_allclose(
        analytic.beam_roots("free-free", 3),
        [4.730040744862704, 7.853204624095838, 10.99560783800167],
        rtol=1e-15,
    )
    np.testing.assert_array_equal(
        analytic.beam_roots("clamped-clamped", 6), analytic.beam_roots("free-free", 6)
    )
    assert analytic.beam_roots("clamped-pinned", 1)[0] == pytest.approx(3.926602312047919, rel=1e-15)


@pytest.mark.parametrize("ends", FACTORS)
def test_beam_roots_satisfy_the_characteristic_equation(ends):
    beta = analytic.beam_roots(ends, 12)
    residual = {
        "clamped-free": np.cos(beta) + 1 / np.cosh(beta),
        "free-free": np.cos(beta) - 1 / np.cosh(beta),
        "clamped-clamped": np.cos(beta) - 1 / np.cosh(beta),
        "pinned-pinned": np.sin(beta),
        "clamped-pinned": np.sin(beta) - np.cos(beta) * np.tanh(beta),
    }[ends]
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)
    assert np.all(np.diff(beta) > 2.5)


def test_frequency_of_the_published_rod():
    """Steel rod of 1 mm radius, 0.4 m: 8.895 Hz clamped (Boyer 2023, derived), 22.37/(2πτ) free."""
    mass_per_length = 8000 * np.pi * 1e-6
    stiffness = 207e9 * np.pi * 1e-12 / 4
    assert analytic.beam_frequencies("clamped-free", 0.4, stiffness, mass_per_length)[0] == pytest.approx(
        8.895, abs=5e-4
    )
    tau = 0.4**2 * np.sqrt(mass_per_length / stiffness)
    free = analytic.beam_frequencies("free-free", 0.4, stiffness, mass_per_length)[0]
    assert free == pytest.approx(22.37 / (2 * np.pi * tau), rel=2e-4)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="ends = 'loose'"):
        analytic.euler_load("loose", 1.0, 1.0)
    with pytest.raises(BadInput, match="mode = 0"):
        analytic.euler_load("pinned-pinned", 1.0, 1.0, mode=0)
    with pytest.raises(BadInput, match="ends = 'loose'"):
        analytic.beam_roots("loose", 2)
    with pytest.raises(BadInput, match="count = 0"):
        analytic.beam_roots("free-free", 0)
    with pytest.raises(BadInput, match="mass_per_length = 0 kg/m"):
        analytic.beam_frequencies("free-free", 1.0, 1.0, 0.0)
