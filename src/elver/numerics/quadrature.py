"""Nodes, weights and matrices for integration and differentiation on an interval [a, b].

Gauss-Legendre quadrature, and Chebyshev-Lobatto collocation in increasing order of the nodes:
differentiation matrix, Clenshaw-Curtis weights and the matrix of running integrals.

Reference: L. N. Trefethen, Spectral Methods in MATLAB (2000), chapters 6 and 12; J. P. Boyd, Chebyshev and
Fourier Spectral Methods (2001).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput

__all__ = [
    "chebyshev_differentiation",
    "chebyshev_integration",
    "chebyshev_lobatto",
    "clenshaw_curtis",
    "gauss_legendre",
]

Array = NDArray[np.float64]


def gauss_legendre(n: int, a: float = -1.0, b: float = 1.0) -> tuple[Array, Array]:
    """Nodes and weights (n,) of the Gauss-Legendre rule on [a, b], exact up to degree 2n - 1."""
    _at_least(n, 1, "gauss_legendre")
    x, w = np.polynomial.legendre.leggauss(n)
    half = 0.5 * (b - a)
    return a + half * (x + 1.0), half * w


def chebyshev_lobatto(n: int, a: float = -1.0, b: float = 1.0) -> Array:
    """The n Chebyshev-Lobatto nodes on [a, b], increasing, both ends included."""
    _at_least(n, 2, "chebyshev_lobatto")
    nodes = a + 0.5 * (b - a) * (_points(n) + 1.0)
    nodes[-1] = b
    return nodes


def chebyshev_differentiation(n: int, a: float = -1.0, b: float = 1.0) -> Array:
    """D (n, n) with f′(s_i) = Σ_j D_ij f(s_j), exact for polynomials of degree n - 1.

    Node differences come from sin(u) sin(v) products and the diagonal from D 1 = 0, which keeps rounding low.
    """
    _at_least(n, 2, "chebyshev_differentiation")
    angle = np.pi * np.arange(n) / (n - 1)
    half_sum, half_difference = np.add.outer(angle, angle) / 2.0, np.subtract.outer(angle, angle) / 2.0
    difference = 2.0 * np.sin(half_sum) * np.sin(half_difference)  # x_i - x_j with x = -cos(angle)
    np.fill_diagonal(difference, 1.0)
    weight = (-1.0) ** np.arange(n)
    weight[[0, -1]] *= 2.0
    D = np.outer(weight, 1.0 / weight) / difference
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    return 2.0 / (b - a) * D


def clenshaw_curtis(n: int, a: float = -1.0, b: float = 1.0) -> tuple[Array, Array]:
    """Chebyshev-Lobatto nodes and their quadrature weights (n,), exact up to degree n - 1."""
    return chebyshev_lobatto(n, a, b), chebyshev_integration(n, a, b)[-1]


def chebyshev_integration(n: int, a: float = -1.0, b: float = 1.0) -> Array:
    """S (n, n) with ∫_a^{s_i} f = Σ_j S_ij f(s_j), exact for polynomials of degree n - 1.

    The interpolant is written in Chebyshev polynomials and integrated term by term,
    ∫ T_k = T_{k+1}/2(k+1) - T_{k-1}/2(k-1).
    """
    _at_least(n, 2, "chebyshev_integration")
    degree = n - 1
    angle = np.pi * (degree - np.arange(n)) / degree  # x = cos(angle), increasing
    T = np.cos(np.outer(angle, np.arange(n + 1)))

    # Coefficients of the interpolant from nodal values (discrete cosine transform).
    ends = np.ones(n)
    ends[[0, -1]] = 2.0
    coefficients = 2.0 / degree * T[:, :n].T / np.outer(ends, ends)

    # Antiderivative of each Chebyshev polynomial at the nodes, zero at x = -1.
    k = np.arange(2, n)
    antiderivative = np.empty((n, n))
    antiderivative[:, 0] = T[:, 1]
    antiderivative[:, 1] = T[:, 2] / 4.0
    antiderivative[:, 2:] = T[:, k + 1] / (2.0 * (k + 1)) - T[:, k - 1] / (2.0 * (k - 1))
    antiderivative -= antiderivative[0]

    S: Array = 0.5 * (b - a) * antiderivative @ coefficients
    return S


def _points(n: int) -> Array:
    # sin of a symmetric argument: nodes are exactly antisymmetric and the middle one exactly 0.
    return np.sin(0.5 * np.pi * np.arange(1 - n, n, 2) / (n - 1))


def _at_least(n: int, least: int, name: str) -> None:
    if n < least:
        raise BadInput(f"n = {n} nodes: {name} needs at least {least}")
