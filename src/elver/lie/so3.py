"""Rotations: exp, log and their tangents on SO(3), and quaternions for storage.

Conventions: R takes body coordinates to world coordinates, R = exp(Θ) with rotation vector Θ [rad]; angular
velocities and variations are in the body frame (left-trivialised): (Rᵀ δR)^∨ = dexp(Θ) δΘ. Quaternions are
scalar first (w, x, y, z), Hamilton, world from body, w ≥ 0 on output.

Every function takes arrays with any leading axes: vectors (…, 3), matrices (…, 3, 3), quaternions (…, 4).

Every matrix function here has the form F(Θ) = 1 + a(φ) Θ̂ + b(φ) Θ̂² with φ = |Θ|² and coefficients smooth
in φ (see :mod:`elver.lie.stumpff`), so that it and its variations are safe at Θ = 0:

    exp       a = c₁      b = c₂
    dexp      a = -c₂     b = c₃
    dexp_inv  a = ½       b = (1 - (θ/2) cot(θ/2))/θ²

Reference: V. Sonneville, A. Cardona, O. Brüls, "Geometrically exact beam finite element formulated on the
special Euclidean group SE(3)", CMAME 268 (2014); S. W. Shepperd, "Quaternion from rotation matrix" (1978).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.lie.stumpff import derivative, stumpff

__all__ = [
    "Ad",
    "ad",
    "coAd",
    "coad",
    "d_dexp",
    "d_dexp_inv",
    "dd_dexp",
    "dd_dexp_inv",
    "dexp",
    "dexp_inv",
    "exp",
    "from_quaternion",
    "hat",
    "log",
    "to_quaternion",
    "vee",
]

Array = NDArray[np.float64]


def hat(w: ArrayLike) -> Array:
    """ŵ, the skew matrix with ŵ x = w × x. (…, 3) → (…, 3, 3)."""
    w = np.asarray(w, dtype=float)
    w_hat = np.zeros((*w.shape, 3))
    w_hat[..., 2, 1] = w[..., 0]
    w_hat[..., 0, 2] = w[..., 1]
    w_hat[..., 1, 0] = w[..., 2]
    return w_hat - np.swapaxes(w_hat, -1, -2)


def vee(W: ArrayLike) -> Array:
    """Vector of the skew part of W, inverse of :func:`hat`. (…, 3, 3) → (…, 3)."""
    W = np.asarray(W, dtype=float)
    skew = 0.5 * (W - np.swapaxes(W, -1, -2))
    return np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)


def exp(theta: ArrayLike) -> Array:
    """R = exp(Θ̂) = 1 + sin θ/θ Θ̂ + (1-cos θ)/θ² Θ̂². (…, 3) [rad] → (…, 3, 3)."""
    theta = np.asarray(theta, dtype=float)
    c = stumpff(_dot(theta, theta), 4)
    return _quadratic(theta, c[1], c[2])


def log(R: ArrayLike) -> Array:
    """Rotation vector Θ of R, |Θ| ≤ π. (…, 3, 3) → (…, 3) [rad].

    Taken through the unit quaternion, Θ = 2 atan2(|v|, w) v/|v|, which keeps all digits both at θ = 0 and at
    θ = π. At θ = π exactly, Θ and -Θ are the same rotation and either may be returned.
    """
    quaternion = to_quaternion(R)
    w, v = quaternion[..., 0], quaternion[..., 1:]
    sine = np.sqrt(_dot(v, v))
    scale = np.divide(2.0 * np.arctan2(sine, w), sine, out=np.full_like(sine, 2.0), where=sine > 0.0)
    return scale[..., None] * v


def Ad(R: ArrayLike) -> Array:
    """Ad(R) = R: body to world components of an angular velocity."""
    return np.array(R, dtype=float)


def ad(omega: ArrayLike) -> Array:
    """ad(Ω) = Ω̂, the bracket ad(a) b = a × b."""
    return hat(omega)


def coAd(R: ArrayLike) -> Array:
    """coAd(R) = Ad(R)⁻ᵀ = R: body to world components of a moment."""
    return np.array(R, dtype=float)


def coad(omega: ArrayLike) -> Array:
    """coad(Ω) = -ad(Ω)ᵀ = Ω̂."""
    return hat(omega)


def dexp(theta: ArrayLike) -> Array:
    """T(Θ) with (Rᵀ δR)^∨ = T(Θ) δΘ for R = exp(Θ), the left-trivialised tangent.

    T = Σ (-1)ᵏ Θ̂ᵏ/(k+1)! = 1 - (1-cos θ)/θ² Θ̂ + (θ-sin θ)/θ³ Θ̂². (…, 3) → (…, 3, 3).
    """
    theta = np.asarray(theta, dtype=float)
    c = stumpff(_dot(theta, theta), 4)
    return _quadratic(theta, -c[2], c[3])


def d_dexp(theta: ArrayLike, delta: ArrayLike) -> Array:
    """Variation of T(Θ) in direction δ: d/dε T(Θ + ε δ). (…, 3), (…, 3) → (…, 3, 3)."""
    theta, delta = _pair(theta, delta)
    (a, da, _), (b, db, _) = _dexp_coefficients(_dot(theta, theta))
    return _quadratic_variation(theta, delta, (a, da), (b, db))


def dd_dexp(theta: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> Array:
    """Second variation of T(Θ): d²/dε dκ T(Θ + ε α + κ β), symmetric in α and β. (…, 3, 3)."""
    theta, alpha, beta = _triple(theta, alpha, beta)
    return _quadratic_second_variation(theta, alpha, beta, *_dexp_coefficients(_dot(theta, theta)))


def dexp_inv(theta: ArrayLike) -> Array:
    """T(Θ)⁻¹ = 1 + ½ Θ̂ + b Θ̂², b = (1 - (θ/2) cot(θ/2))/θ². (…, 3) → (…, 3, 3).

    With R = R₀ exp(Θ) and body rate Ω: Θ̇ = dexp_inv(Θ) Ω. Singular at θ = 2π, regular at π.
    """
    theta = np.asarray(theta, dtype=float)
    a, b = _dexp_inv_coefficients(_dot(theta, theta))
    return _quadratic(theta, a[0], b[0])


def d_dexp_inv(theta: ArrayLike, delta: ArrayLike) -> Array:
    """Variation of T(Θ)⁻¹ in direction δ: d/dε dexp_inv(Θ + ε δ). (…, 3), (…, 3) → (…, 3, 3)."""
    theta, delta = _pair(theta, delta)
    (a, da, _), (b, db, _) = _dexp_inv_coefficients(_dot(theta, theta))
    return _quadratic_variation(theta, delta, (a, da), (b, db))


def dd_dexp_inv(theta: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> Array:
    """Second variation of T(Θ)⁻¹ in directions α and β, symmetric in them. (…, 3, 3)."""
    theta, alpha, beta = _triple(theta, alpha, beta)
    return _quadratic_second_variation(theta, alpha, beta, *_dexp_inv_coefficients(_dot(theta, theta)))


def to_quaternion(R: ArrayLike) -> Array:
    """Unit quaternion (w, x, y, z) of R with w ≥ 0. (…, 3, 3) → (…, 4).

    4 q qᵀ is linear in R; its row with the largest diagonal entry is q up to scale and loses no digits.
    """
    R = np.asarray(R, dtype=float)
    trace = np.trace(R, axis1=-2, axis2=-1)
    outer = np.empty((*R.shape[:-2], 4, 4))
    outer[..., 0, 0] = 1.0 + trace
    outer[..., 0, 1:] = outer[..., 1:, 0] = 2.0 * vee(R)
    outer[..., 1:, 1:] = R + np.swapaxes(R, -1, -2) + (1.0 - trace)[..., None, None] * np.eye(3)
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q: Array = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0.0, -q, q) + 0.0  # + 0.0 turns -0.0 into 0.0


def from_quaternion(q: ArrayLike) -> Array:
    """R of a quaternion (w, x, y, z), normalised on the way. (…, 4) → (…, 3, 3)."""
    q = np.asarray(q, dtype=float)
    unit: Array = q / np.linalg.norm(q, axis=-1, keepdims=True)
    v_hat = hat(unit[..., 1:])
    return np.eye(3) + 2.0 * (unit[..., :1, None] * v_hat + v_hat @ v_hat)


# Coefficients (f, df/dφ, d²f/dφ²) of F(Θ) = 1 + a Θ̂ + b Θ̂².

Jet = tuple[Array, Array, Array]


def _dexp_coefficients(phi: Array) -> tuple[Jet, Jet]:
    c = stumpff(phi, 8)
    dc = derivative(c)
    ddc = derivative(dc)
    return (-c[2], -dc[2], -ddc[2]), (c[3], dc[3], ddc[3])


def _dexp_inv_coefficients(phi: Array) -> tuple[Jet, Jet]:
    # 1 - u cot u = 1 - c₀/c₁ = u² (c₂ - c₃)/c₁ at u = θ/2, hence b = (c₂ - c₃)/(4 c₁) without cancellation.
    c = stumpff(0.25 * phi, 8)
    dc = 0.25 * derivative(c)
    ddc = 0.0625 * derivative(derivative(c))
    b = (c[2] - c[3]) / (4.0 * c[1])
    db = ((dc[2] - dc[3]) / 4.0 - dc[1] * b) / c[1]
    ddb = ((ddc[2] - ddc[3]) / 4.0 - ddc[1] * b - 2.0 * dc[1] * db) / c[1]
    zero = np.zeros_like(phi)
    return (zero + 0.5, zero, zero), (b, db, ddb)


# F(Θ) = 1 + a Θ̂ + b Θ̂² and its variations; φ = Θ·Θ, φ_α = 2 Θ·α, φ_αβ = 2 α·β.


def _quadratic(theta: Array, a: Array, b: Array) -> Array:
    X = hat(theta)
    return np.eye(3) + _scale(a, X) + _scale(b, X @ X)


def _quadratic_variation(theta: Array, delta: Array, a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    X, Y = hat(theta), hat(delta)
    phi_delta = 2.0 * _dot(theta, delta)
    linear = _scale(a[0], Y) + _scale(a[1] * phi_delta, X)
    square = _scale(b[0], X @ Y + Y @ X) + _scale(b[1] * phi_delta, X @ X)
    return linear + square


def _quadratic_second_variation(theta: Array, alpha: Array, beta: Array, a: Jet, b: Jet) -> Array:
    X, Y, Z = hat(theta), hat(alpha), hat(beta)
    phi_a, phi_b, phi_ab = 2.0 * _dot(theta, alpha), 2.0 * _dot(theta, beta), 2.0 * _dot(alpha, beta)
    linear = (
        _scale(a[1] * phi_b, Y) + _scale(a[1] * phi_a, Z) + _scale(a[2] * phi_a * phi_b + a[1] * phi_ab, X)
    )
    square = (
        _scale(b[0], Y @ Z + Z @ Y)
        + _scale(b[1] * phi_b, X @ Y + Y @ X)
        + _scale(b[1] * phi_a, X @ Z + Z @ X)
        + _scale(b[2] * phi_a * phi_b + b[1] * phi_ab, X @ X)
    )
    return linear + square


def _dot(a: Array, b: Array) -> Array:
    product: Array = np.sum(a * b, axis=-1)
    return product


def _scale(factor: Array, matrix: Array) -> Array:
    return factor[..., None, None] * matrix


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    return a, b


def _triple(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> tuple[Array, Array, Array]:
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (a, b, c)))
    return a, b, c
