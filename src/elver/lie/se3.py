"""Poses: exp, log, adjoints and their tangents on SE(3).

Conventions: a pose g = [[R, p], [0, 1]] takes body coordinates to world coordinates. Six-vectors are angular
first and in the body frame: twist η = (Ω; V) = (g⁻¹ ġ)^∨, strain ξ = (K; Γ) = (g⁻¹ g′)^∨, wrench F = (C; N).

    Ad(g) = [[R, 0], [p̂ R, R]]              η_a = Ad(g_a_b) η_b
    coAd(g) = Ad(g)⁻ᵀ = [[R, p̂ R], [0, R]]   F_a = coAd(g_a_b) F_b
    ad(η) = [[Ω̂, 0], [V̂, Ω̂]]                 coad(η) = -ad(η)ᵀ = [[Ω̂, V̂], [0, Ω̂]]

``dexp`` is left-trivialised: (exp(x)⁻¹ δexp(x))^∨ = dexp(x) δx, which is dexp₋ₓ of most Lie-group papers.

se(3) is so(3) over the dual numbers Θ + ε v, ε² = 0. A matrix function F on SO(3), evaluated there, is
F(Θ) + ε dF(Θ)[v]; hence f(ad(x)) = [[F, 0], [dF[v], F]], and one more variation of F gives the variations
on SE(3).

Every function takes arrays with any leading axes: six-vectors (…, 6), poses (…, 4, 4).

Reference: V. Sonneville, A. Cardona, O. Brüls, CMAME 268 (2014); F. Boyer et al. (2023), section 2.

Theory: docs/theory/recursion.md, eq. (stumpff).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.lie import so3

__all__ = [
    "Ad",
    "ad",
    "coAd",
    "coad",
    "d_dexp",
    "d_dexp_inv",
    "dcoad",
    "dexp",
    "dexp_inv",
    "exp",
    "hat",
    "inverse",
    "log",
    "pose",
    "position",
    "rotation",
    "transform",
    "vee",
]

Array = NDArray[np.float64]


def pose(R: ArrayLike, p: ArrayLike) -> Array:
    """g = [[R, p], [0, 1]] of a rotation (…, 3, 3) and a position (…, 3) [m]."""
    R, p = np.asarray(R, dtype=float), np.asarray(p, dtype=float)
    g = np.zeros((*np.broadcast_shapes(R.shape[:-2], p.shape[:-1]), 4, 4))
    g[..., :3, :3] = R
    g[..., :3, 3] = p
    g[..., 3, 3] = 1.0
    return g


def rotation(g: ArrayLike) -> Array:
    """R of a pose. (…, 4, 4) → (…, 3, 3)."""
    return np.array(np.asarray(g, dtype=float)[..., :3, :3])


def position(g: ArrayLike) -> Array:
    """p of a pose [m]. (…, 4, 4) → (…, 3)."""
    return np.array(np.asarray(g, dtype=float)[..., :3, 3])


def inverse(g: ArrayLike) -> Array:
    """g⁻¹ = [[Rᵀ, -Rᵀ p], [0, 1]]."""
    Rt = np.swapaxes(rotation(g), -1, -2)
    return pose(Rt, -_times(Rt, position(g)))


def transform(g: ArrayLike, point: ArrayLike) -> Array:
    """Coordinates R x + p in frame a of a point given in frame b, for g = g_a_b. (…, 3) [m]."""
    return _times(rotation(g), np.asarray(point, dtype=float)) + position(g)


def hat(x: ArrayLike) -> Array:
    """x̂ = [[Θ̂, v], [0, 0]]. (…, 6) → (…, 4, 4)."""
    theta, v = _split(x)
    x_hat = np.zeros((*theta.shape[:-1], 4, 4))
    x_hat[..., :3, :3] = so3.hat(theta)
    x_hat[..., :3, 3] = v
    return x_hat


def vee(X: ArrayLike) -> Array:
    """Inverse of :func:`hat`. (…, 4, 4) → (…, 6)."""
    X = np.asarray(X, dtype=float)
    return np.concatenate([so3.vee(X[..., :3, :3]), X[..., :3, 3]], axis=-1)


def exp(x: ArrayLike) -> Array:
    """g = exp(x̂): R = exp(Θ), p = dexp(Θ)ᵀ v. (…, 6) → (…, 4, 4)."""
    theta, v = _split(x)
    return pose(so3.exp(theta), _times(np.swapaxes(so3.dexp(theta), -1, -2), v))


def log(g: ArrayLike) -> Array:
    """Six-vector x with exp(x) = g and |Θ| ≤ π. (…, 4, 4) → (…, 6)."""
    theta = so3.log(rotation(g))
    v = _times(np.swapaxes(so3.dexp_inv(theta), -1, -2), position(g))
    return np.concatenate([theta, v], axis=-1)


def Ad(g: ArrayLike) -> Array:
    """[[R, 0], [p̂ R, R]], twists of frame b in frame a for g = g_a_b. (…, 4, 4) → (…, 6, 6)."""
    R = rotation(g)
    return _dual(R, so3.hat(position(g)) @ R)


def ad(x: ArrayLike) -> Array:
    """[[Θ̂, 0], [v̂, Θ̂]], the bracket ad(x) y = [x, y]. (…, 6) → (…, 6, 6)."""
    theta, v = _split(x)
    return _dual(so3.hat(theta), so3.hat(v))


def coAd(g: ArrayLike) -> Array:
    """Ad(g)⁻ᵀ = [[R, p̂ R], [0, R]], wrenches of frame b in frame a for g = g_a_b. (…, 4, 4) → (…, 6, 6)."""
    R = rotation(g)
    return _codual(R, so3.hat(position(g)) @ R)


def coad(x: ArrayLike) -> Array:
    """-ad(x)ᵀ = [[Θ̂, v̂], [0, Θ̂]]. (…, 6) → (…, 6, 6)."""
    theta, v = _split(x)
    return _codual(so3.hat(theta), so3.hat(v))


def dcoad(wrench: ArrayLike) -> Array:
    """The matrix with coad(x) F = dcoad(F) x, -[[Ĉ, N̂], [N̂, 0]]. (…, 6) → (…, 6, 6)."""
    C, N = (so3.hat(part) for part in _split(wrench))
    matrix = np.zeros((*C.shape[:-2], 6, 6))
    matrix[..., :3, :3] = -C
    matrix[..., :3, 3:] = matrix[..., 3:, :3] = -N
    return matrix


def dexp(x: ArrayLike) -> Array:
    """T(x) = Σ (-1)ᵏ ad(x)ᵏ/(k+1)!, (g⁻¹ δg)^∨ = T(x) δx for g = exp(x). (…, 6) → (…, 6, 6)."""
    theta, v = _split(x)
    return _dual(so3.dexp(theta), so3.d_dexp(theta, v))


def d_dexp(x: ArrayLike, delta: ArrayLike) -> Array:
    """Variation of dexp in direction δ: d/dε dexp(x + ε δ). (…, 6), (…, 6) → (…, 6, 6)."""
    theta, v, delta_theta, delta_v = _split_pair(x, delta)
    return _dual(
        so3.d_dexp(theta, delta_theta), so3.dd_dexp(theta, v, delta_theta) + so3.d_dexp(theta, delta_v)
    )


def dexp_inv(x: ArrayLike) -> Array:
    """T(x)⁻¹: with g = g₀ exp(x) and g′ = g ξ̂, x′ = dexp_inv(x) ξ. (…, 6) → (…, 6, 6).

    Singular at a turn of 2π, regular at π.
    """
    theta, v = _split(x)
    return _dual(so3.dexp_inv(theta), so3.d_dexp_inv(theta, v))


def d_dexp_inv(x: ArrayLike, delta: ArrayLike) -> Array:
    """Variation of dexp_inv in direction δ: d/dε dexp_inv(x + ε δ). (…, 6), (…, 6) → (…, 6, 6)."""
    theta, v, delta_theta, delta_v = _split_pair(x, delta)
    return _dual(
        so3.d_dexp_inv(theta, delta_theta),
        so3.dd_dexp_inv(theta, v, delta_theta) + so3.d_dexp_inv(theta, delta_v),
    )


def _split(x: ArrayLike) -> tuple[Array, Array]:
    x = np.asarray(x, dtype=float)
    return x[..., :3], x[..., 3:]


def _split_pair(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Array, Array]:
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    return x[..., :3], x[..., 3:], y[..., :3], y[..., 3:]


def _dual(diagonal: Array, lower: Array) -> Array:
    matrix = np.zeros((*diagonal.shape[:-2], 6, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = diagonal
    matrix[..., 3:, :3] = lower
    return matrix


def _codual(diagonal: Array, upper: Array) -> Array:
    matrix = np.zeros((*diagonal.shape[:-2], 6, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = diagonal
    matrix[..., :3, 3:] = upper
    return matrix


def _times(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix @ vector[..., None])[..., 0]
    return product
