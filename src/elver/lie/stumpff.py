"""Stumpff functions, the coefficients of every closed form on SO(3) and SE(3).

c_n(φ) = Σ_k (-φ)^k / (2k+n)!   with φ = θ²,

so c₀ = cos θ, c₁ = sin θ/θ, c₂ = (1-cos θ)/θ², c₃ = (θ-sin θ)/θ³, … They are entire functions of φ: no
coefficient of exp, dexp or their variations is singular at θ = 0, and none needs a threshold of its own.
Two relations give everything else:

c_n = 1/n! - φ c_{n+2},   dc_n/dφ = (n c_{n+2} - c_{n+1})/2.

Reference: K. Stumpff, Himmelsmechanik I (1959); E. L. Stiefel and G. Scheifele, Linear and Regular Celestial
Mechanics (1971), section 11.

Theory: docs/theory/recursion.md, eq. (stumpff).
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["stumpff"]

Array = NDArray[np.float64]

# The relation c_n = 1/n! - φ c_{n+2} is run downward from a series (its rounding grows like φ^k) below the
# switch, upward from cos and sin (rounding grows like φ^-k) above it. Near φ = 10 neither loses more than a
# digit, the terms of the series decrease from the first on, and 13 of them reach rounding.
SWITCH = 10.0
_TERMS = 13


def stumpff(phi: ArrayLike, count: int = 8) -> Array:
    """Values c_0(φ) … c_{count-1}(φ), stacked along a new first axis.

    ``phi`` = θ² ≥ 0 [rad²], any shape. ``count`` is even and at least 4. Relative accuracy about 1e-14 of
    the scale 1/n! for θ up to 2π.
    """
    phi = np.asarray(phi, dtype=float)
    near, far = np.minimum(phi, SWITCH), np.maximum(phi, SWITCH)

    down = np.empty((count, *phi.shape))
    down[-2:] = _series(near, count - 2), _series(near, count - 1)
    for n in reversed(range(count - 2)):
        down[n] = 1.0 / factorial(n) - near * down[n + 2]

    up = np.empty_like(down)
    theta = np.sqrt(far)
    up[:2] = np.cos(theta), np.sin(theta) / theta
    for n in range(2, count):
        up[n] = (1.0 / factorial(n - 2) - up[n - 2]) / far

    return np.where(phi < SWITCH, down, up)


def derivative(c: Array) -> Array:
    """dc_n/dφ of stacked values c_0 … c_m, for n = 0 … m-2."""
    n = np.arange(len(c) - 2).reshape(-1, *[1] * (c.ndim - 1))
    return 0.5 * (n * c[2:] - c[1:-1])


def _series(phi: Array, n: int) -> Array:
    total = np.zeros_like(phi)
    for k in reversed(range(_TERMS)):
        total = 1.0 - phi * total / ((2 * k + n + 1) * (2 * k + n + 2))
    return total / factorial(n)
