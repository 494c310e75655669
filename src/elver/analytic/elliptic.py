"""Jacobi's elliptic functions from the complementary parameter, for moduli close to 1.

Long or heavily loaded elasticas have m = k² within 1e-8 of 1. A function of m has lost those digits already;
here everything is a function of m₁ = 1 - m. Functions come from the descending Landen transformation
(arithmetic-geometric mean), integrals from Carlson's forms.

Reference: NIST Digital Library of Mathematical Functions, §§ 19.25 and 22.20.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ellipe, elliprd, elliprf

__all__ = ["first_kind", "jacobi", "second_kind"]

Array = NDArray[np.float64]


def jacobi(u: ArrayLike, m1: float) -> tuple[Array, Array, Array, Array]:
    """sn u, cn u, dn u and Jacobi's epsilon ℰ(u) = ∫ dn², for |u| ≤ K and 0 < m₁ < 1."""
    u = np.asarray(u, dtype=float)
    a, b, m = 1.0, np.sqrt(m1), 1.0 - m1
    means: list[tuple[float, float, float]] = []
    while abs(a - b) > 1e-16 * a and len(means) < 12:
        a, b, c = 0.5 * (a + b), np.sqrt(a * b), 0.5 * (a - b)
        means.append((a, b, c))
    phi = 2.0 ** len(means) * a * u
    for a, b, c in reversed(means):
        # ½ (φ + arcsin(c/a sin φ)), with the arcsine written so that no digit is lost near π/2.
        sine, cosine = np.sin(phi), np.cos(phi)
        phi = 0.5 * (phi + np.arctan2(c * sine, np.hypot(a * cosine, b * sine)))
    sn, cn = np.sin(phi), np.cos(phi)
    dn = np.hypot(cn, np.sqrt(m1) * sn)
    epsilon = u - m / 3.0 * sn**3 * elliprd(cn**2, dn**2, 1.0)
    return sn, cn, dn, epsilon


def first_kind(tangent: float, m1: float) -> float:
    """F(φ|m), the incomplete integral of the first kind, from tan φ and m₁ = 1 - m."""
    # F = sin φ R_F(cos²φ, cos²φ + m₁ sin²φ, 1), divided by cos φ through the homogeneity of R_F.
    square = tangent * tangent
    return tangent * float(elliprf(1.0, 1.0 + m1 * square, 1.0 + square))


def second_kind(phi: ArrayLike, m: float) -> Array:
    """E(φ|m), the incomplete integral of the second kind, for any φ and 0 ≤ m < 1.

    SciPy's ellipeinc (1.17) errs by 0.19 at φ = 1.0906849890329542, m = 0.09871763252779145, and at
    other single places (its issue 19498).
    """
    phi = np.asarray(phi, dtype=float)
    turns = np.round(phi / np.pi)
    sine, cosine = np.sin(phi - np.pi * turns), np.cos(phi - np.pi * turns)
    y = 1.0 - m * sine**2
    within = sine * elliprf(cosine**2, y, 1.0) - m * sine**3 / 3.0 * elliprd(cosine**2, y, 1.0)
    return np.asarray(within + 2.0 * turns * ellipe(m))
