"""The law of a tendon at a section, in NumPy; compiled it is in :mod:`elver.kernels.terms.tendon`.

    c = Γ + K × D + D′,     t = c/|c|,     W = [D̂; 1]
    stretch |c|,     pull ∂|c|/∂ξ = W t = (D × t; t),     stiffening ∂²|c|/∂ξ² = W (1 - t tᵀ) Wᵀ/|c|

A tension T stores T |c| per metre of the rod, which gives the section the stress T (D × t; t). Strains ξ = (K; Γ),
paths D and their slopes D′ are in the axes of the section (Gotelli 2024, eq. 2.32; the second derivative is ours).

Theory: docs/theory/actuation.md, eq. (tendon), (tendon-length).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["pull_of_tendon", "stiffening_of_tendon", "stretch_of_tendon"]

Array: TypeAlias = NDArray[np.float64]


def stretch_of_tendon(strain: Array, D: Array, D_prime: Array) -> Array:
    """|c|, length of the tendon per metre of the rod, at strains (..., 6) and paths (..., 3)."""
    return np.asarray(np.linalg.norm(_run(strain, D, D_prime), axis=-1))


def pull_of_tendon(strain: Array, D: Array, D_prime: Array) -> Array:
    """(D × t; t) (..., 6), stress of the section per unit tension."""
    c = _run(strain, D, D_prime)
    t = c / np.linalg.norm(c, axis=-1, keepdims=True)
    return np.concatenate([np.cross(D, t), t], axis=-1)


def stiffening_of_tendon(strain: Array, D: Array, D_prime: Array) -> Array:
    """W (1 - t tᵀ) Wᵀ/|c| (..., 6, 6), slope of the stress per unit tension with the strain: symmetric, ≥ 0."""
    c = _run(strain, D, D_prime)
    size = np.linalg.norm(c, axis=-1)[..., None, None]
    t = c[..., None] / size
    W = np.empty((*c.shape[:-1], 6, 3))
    W[..., :3, :] = np.stack([np.cross(D, axis) for axis in np.eye(3)], axis=-1)
    W[..., 3:, :] = np.eye(3)
    return np.asarray(W @ (np.eye(3) - t @ np.swapaxes(t, -1, -2)) @ np.swapaxes(W, -1, -2) / size)


def _run(strain: Array, D: Array, D_prime: Array) -> Array:
    """c = Γ + K × D + D′."""
    return np.asarray(strain[..., 3:] + np.cross(strain[..., :3], D) + D_prime)
