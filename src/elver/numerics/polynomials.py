"""Values of orthogonal polynomials on an interval, one column per degree.

Both families are unnormalised and shifted to [0, length]: P_k(2s/L - 1), T_k(2s/L - 1), with value 1 at
s = L and (-1)^k at s = 0. The first Legendre coefficient of a function is its mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput

__all__ = ["chebyshev", "legendre"]

Array = NDArray[np.float64]


def legendre(s: ArrayLike, count: int, length: float = 1.0) -> Array:
    """Shifted Legendre polynomials P_0 … P_{count-1} at s (…,): (…, count)."""
    x, values = _prepare(s, count, length)
    for k in range(1, count - 1):
        values[..., k + 1] = ((2 * k + 1) * x * values[..., k] - k * values[..., k - 1]) / (k + 1)
    return values


def chebyshev(s: ArrayLike, count: int, length: float = 1.0) -> Array:
    """Shifted Chebyshev polynomials of the first kind T_0 … T_{count-1} at s (…,): (…, count)."""
    x, values = _prepare(s, count, length)
    for k in range(1, count - 1):
        values[..., k + 1] = 2.0 * x * values[..., k] - values[..., k - 1]
    return values


def _prepare(s: ArrayLike, count: int, length: float) -> tuple[Array, Array]:
    if count < 0:
        raise BadInput(f"count = {count}: the number of polynomials must not be negative")
    s = np.asarray(s, dtype=float)
    x = 2.0 * s / length - 1.0
    values = np.empty((*s.shape, count))
    values[..., :1] = 1.0
    if count > 1:
        values[..., 1] = x
    return x, values
