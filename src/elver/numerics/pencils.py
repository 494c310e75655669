"""Eigenvalues of two symmetric matrices, as small vibrations have them.

    K x = λ M x ,   M = L Lᵀ ,   (L⁻¹ K L⁻ᵀ) (Lᵀ x) = λ (Lᵀ x)

as LAPACK's ``sygv`` does it: NumPy has no such function, and SciPy's linear algebra takes longer to import than a first
equilibrium to find.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["symmetric_pencil"]

Array = NDArray[np.float64]


def symmetric_pencil(K: Array, M: Array) -> tuple[Array, Array]:
    """Values (n,), ascending, and vectors (n, n) with xᵀMx = 1 of a symmetric K and a positive definite M."""
    L = np.linalg.cholesky(M)
    half = np.linalg.solve(L, K)
    whole = np.linalg.solve(L, half.T)
    values, rotated = np.linalg.eigh(0.5 * (whole + whole.T))
    return values, np.linalg.solve(L.T, rotated)
