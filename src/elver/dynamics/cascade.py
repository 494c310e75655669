"""Pose, twist and its rate along one element, from its base end, with their variations.

In cascade, each linear in its own field once the ones before are known (:mod:`elver.dynamics.spectral`): quaternion H,
position p, Ω, V, Ω̇, V̇. Variations are those of the same matrices, with right-hand sides of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.collocation import Collocation, Element
from elver.lie import so3

__all__ = ["Fields", "fields_of", "turn"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class Fields:
    """Pose relative to the base, twist and rate at the nodes; each with its variation (columns last)."""

    xi: Array
    d_xi: Array
    h: Array  # (N, 4) unit quaternion base-from-section
    p: Array  # (N, 3) in base axes
    eta: Array  # (N, 6)
    eta_dot: Array
    d_h: Array  # (N, 4, columns)
    d_p: Array
    d_eta: Array
    d_eta_dot: Array
    R: Array  # (N, 3, 3) base from section
    d_theta: Array  # (N, 3, columns) body rotation relative to the base


def fields_of(
    e: Element,
    xi: Array,
    xi_dot: Array,
    xi_ddot: Array,
    d_xi: Array,
    w: Array,
    start: tuple[Array, Array, Array, Array],
    d_start: tuple[Array, Array, Array, Array],
) -> Fields:
    """Cascade H, p, Ω, V, Ω̇, V̇ on one element, from its base end; ``d_xi`` is for a unit weight."""
    h0, p0, eta0, eta_dot0 = start
    d_h0, d_p0, d_eta0, d_eta_dot0 = d_start
    h, R, p, d_h, d_theta, d_p = _pose(e, xi, d_xi, w[0], (h0, p0), (d_h0, d_p0))
    eta, eta_dot, d_eta, d_eta_dot = _motion(e, xi, xi_dot, xi_ddot, d_xi, w, (eta0, eta_dot0), (d_eta0, d_eta_dot0))
    return Fields(xi, d_xi, h, p, eta, eta_dot, d_h, d_p, d_eta, d_eta_dot, R, d_theta)


def _pose(
    e: Element, xi: Array, d_xi: Array, w: float, start: tuple[Array, Array], d_start: tuple[Array, Array]
) -> tuple[Array, ...]:
    """H′ = ½ H⊗(0, K), brought back to unit length, and p′ = R Γ."""
    (h0, p0), (d_h0, d_p0) = start, d_start
    K, Gamma, d_K, d_Gamma = xi[:, :3], xi[:, 3:], d_xi[:, :3], d_xi[:, 3:]

    turning = Collocation(e.D, -0.5 * _right_product(K))
    H = turning.solve(np.zeros((e.s.size, 4, 1)), h0[:, None])[..., 0]
    d_H = _vary(turning, 0.5 * w * _left_product(H) @ d_K, d_h0)
    size = np.linalg.norm(H, axis=1)
    h = H / size[:, None]
    d_h = (d_H - h[..., None] * np.einsum("ia,iak->ik", h, d_H)[:, None]) / size[:, None, None]
    R = so3.from_quaternion(h)
    d_theta = 2.0 * np.swapaxes(_left_product(h), 1, 2) @ d_h

    along = Collocation(e.D, np.zeros((e.s.size, 1, 1)))
    p = along.solve((R @ Gamma[..., None])[:, None, :, 0], p0[None])[:, 0]
    d_slope = R @ (w * d_Gamma - turn(Gamma, d_theta))
    d_p = _vary(along, d_slope.reshape(e.s.size, 1, -1), d_p0.reshape(1, -1)).reshape(d_slope.shape)
    return h, R, p, d_h, d_theta, d_p


def _motion(
    e: Element,
    xi: Array,
    xi_dot: Array,
    xi_ddot: Array,
    d_xi: Array,
    w: Array,
    start: tuple[Array, Array],
    d_start: tuple[Array, Array],
) -> tuple[Array, ...]:
    """Twist and its rate, which share one matrix."""
    (eta0, eta_dot0), (d_eta0, d_eta_dot0) = start, d_start
    K, Gamma, K_dot, Gamma_dot = xi[:, :3], xi[:, 3:], xi_dot[:, :3], xi_dot[:, 3:]
    d_K, d_Gamma = d_xi[:, :3], d_xi[:, 3:]
    carry = Collocation(e.D, so3.hat(K))

    def solve(b: Array, given: Array) -> Array:
        return carry.solve(b[..., None], given[:, None])[..., 0]

    Omega = solve(K_dot, eta0[:3])
    V = solve(Gamma_dot - np.cross(Gamma, Omega), eta0[3:])
    Omega_dot = solve(xi_ddot[:, :3] - np.cross(K_dot, Omega), eta_dot0[:3])
    V_dot = solve(
        xi_ddot[:, 3:] - np.cross(Gamma, Omega_dot) - np.cross(K_dot, V) - np.cross(Gamma_dot, Omega),
        eta_dot0[3:],
    )
    w0, w1, w2 = w
    d_Omega = _vary(carry, w1 * d_K + w0 * turn(Omega, d_K), d_eta0[:3])
    d_V = _vary(
        carry,
        w1 * d_Gamma - turn(Gamma, d_Omega) + w0 * (turn(Omega, d_Gamma) + turn(V, d_K)),
        d_eta0[3:],
    )
    d_Omega_dot = _vary(
        carry,
        w2 * d_K - turn(K_dot, d_Omega) + w1 * turn(Omega, d_K) + w0 * turn(Omega_dot, d_K),
        d_eta_dot0[:3],
    )
    d_V_dot = _vary(
        carry,
        w2 * d_Gamma
        - turn(Gamma, d_Omega_dot)
        - turn(K_dot, d_V)
        - turn(Gamma_dot, d_Omega)
        + w1 * (turn(V, d_K) + turn(Omega, d_Gamma))
        + w0 * (turn(Omega_dot, d_Gamma) + turn(V_dot, d_K)),
        d_eta_dot0[3:],
    )
    values, varied = ((Omega, V), (Omega_dot, V_dot)), ((d_Omega, d_V), (d_Omega_dot, d_V_dot))
    return tuple(np.concatenate(pair, axis=1) for pair in (*values, *varied))


def _vary(collocation: Collocation, b: Array, given: Array) -> Array:
    """Nothing where no variation is asked for."""
    return collocation.solve(b, given) if b.shape[-1] else np.zeros_like(b)


def turn(a: Array, b: Array) -> Array:
    """a × b for a field a (N, 3) and columns b (N, 3, columns)."""
    return so3.hat(a) @ b


def _right_product(K: Array) -> Array:
    """Matrix of H ↦ H⊗(0, K), (N, 4, 4)."""
    matrix = np.zeros((K.shape[0], 4, 4))
    matrix[:, 0, 1:], matrix[:, 1:, 0], matrix[:, 1:, 1:] = -K, K, -so3.hat(K)
    return matrix


def _left_product(H: Array) -> Array:
    """Matrix of K ↦ H⊗(0, K), (N, 4, 3)."""
    matrix = np.empty((H.shape[0], 4, 3))
    matrix[:, 0] = -H[:, 1:]
    matrix[:, 1:] = H[:, :1, None] * np.eye(3) + so3.hat(H[:, 1:])
    return matrix
