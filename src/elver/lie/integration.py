"""Poses along a rod: integration of g′ = g ξ̂ for a given strain field ξ(s).

Four methods share one idea of a strain: a vectorised function ``strain(s)`` from arc lengths (m,) [m] to
six-vectors (m, 6), angular first. They return poses (n, 4, 4) at the nodes.

    magnus     one exponential per interval, order 4 or 6 (two or three Gauss points)
    rkmk       Runge-Kutta-Munthe-Kaas, order 4
    spectral   Chebyshev-Lobatto collocation of the quaternion, then quadrature of the position
    reference  adaptive Dormand-Prince 8(5,3), for comparison only

``magnus`` and ``rkmk`` never leave the group and treat each interval by itself, so the strain may jump at
nodes; ``spectral`` converges faster than any power but wants a smooth strain on the whole length.

Reference: S. Blanes, F. Casas, J. Ros, "Improved high order integrators based on the Magnus expansion", BIT
40 (2000); H. Munthe-Kaas, "High order Runge-Kutta methods on manifolds", Appl. Numer. Math. 29 (1999);
M. Gotelli (2024), chapter 3. Their formulas hold for Y′ = A Y; here A multiplies from the right, which
reverses the sign of every bracket.

Theory: docs/theory/rods.md, eq. (strain-and-twist), (chain), (magnus).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.polynomial.chebyshev import chebder, chebint, chebvander
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, NotConverged, positive
from elver.lie import se3, so3

__all__ = ["Strain", "magnus", "magnus_increment", "reference", "rkmk", "spectral"]

Array = NDArray[np.float64]
Strain = Callable[[Array], Array]


def magnus(strain: Strain, nodes: ArrayLike, order: int = 6, start: ArrayLike | None = None) -> Array:
    """Poses at ``nodes`` (n,) [m] by one Magnus step per interval, g_{i+1} = g_i exp(x_i).

    ``order`` 4 uses two Gauss points per interval, 6 three. ``start`` is the pose at the first node, the
    identity by default. Exact for a strain that is constant in each interval. Returns (n, 4, 4).
    """
    nodes = _checked(nodes)
    if order == 4:
        increments = _magnus_4(strain, nodes)
    elif order == 6:
        increments = _magnus_6(strain, nodes)
    else:
        raise BadInput(f"order = {order}: Magnus integration is available in order 4 and 6")
    return _chain(increments, start)


def rkmk(strain: Strain, nodes: ArrayLike, start: ArrayLike | None = None) -> Array:
    """Poses at ``nodes`` (n,) [m] by one classical fourth-order step in the algebra per interval.

    With g = g_i exp(x): x′ = dexp_inv(x) ξ, x = 0 at s_i. The ends of an interval are approached from inside,
    so that the strain may jump at nodes. Returns (n, 4, 4).
    """
    nodes = _checked(nodes)
    h = np.diff(nodes)
    inside = 4.0 * np.finfo(float).eps * np.max(np.abs(nodes))
    xi_left = strain(nodes[:-1] + inside)
    xi_middle = strain(nodes[:-1] + 0.5 * h)
    xi_right = strain(nodes[1:] - inside)
    h = h[:, None]

    k1 = xi_left
    k2 = _apply(se3.dexp_inv(0.5 * h * k1), xi_middle)
    k3 = _apply(se3.dexp_inv(0.5 * h * k2), xi_middle)
    k4 = _apply(se3.dexp_inv(h * k3), xi_right)
    return _chain(h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), start)


def spectral(
    strain: Strain, nodes_count: int, length: float, start: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Arc lengths (n,) [m] and poses (n, 4, 4) at ``nodes_count`` Chebyshev-Lobatto nodes on [0, length].

    The quaternion obeys H′ = ½ [[0, -Kᵀ], [K, -K̂]] H, collocated at every node but the first, and is then
    renormalised; the position is p = p₀ + ∫ R Γ ds with the integration matrix of the same nodes.
    """
    length = positive("length", length, "m")
    if nodes_count < 2:
        raise BadInput(f"nodes_count = {nodes_count}: collocation needs at least 2 nodes")
    n = int(nodes_count)
    z = np.sin(0.5 * np.pi * np.arange(1 - n, n, 2) / (n - 1))  # -1 … 1, exactly antisymmetric
    s = 0.5 * length * (z + 1.0)
    to_coefficients = np.linalg.inv(chebvander(z, n - 1))
    differentiation = 2.0 / length * chebvander(z, n - 2) @ chebder(np.eye(n)) @ to_coefficients
    integration = 0.5 * length * chebvander(z, n) @ chebint(np.eye(n), lbnd=-1) @ to_coefficients
    xi = np.asarray(strain(s), dtype=float)
    curvature, stretch = xi[:, :3], xi[:, 3:]
    g_start = np.eye(4) if start is None else np.asarray(start, dtype=float)

    # Collocation: (D ⊗ 1 - blkdiag A) H = 0 with H(0) known.
    system = np.kron(differentiation, np.eye(4))
    rate = _quaternion_rate(curvature)
    for i in range(n):
        system[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] -= rate[i]
    known = so3.to_quaternion(se3.rotation(g_start))
    unknown = np.linalg.solve(system[4:, 4:], -system[4:, :4] @ known)
    R = so3.from_quaternion(np.vstack([known, unknown.reshape(n - 1, 4)]))

    p = se3.position(g_start) + integration @ _apply(R, stretch)
    return s, se3.pose(R, p)


def reference(
    strain: Strain, nodes: ArrayLike, tolerance: float = 1e-13, start: ArrayLike | None = None
) -> Array:
    """Poses at ``nodes`` (n,) [m] by an adaptive eighth-order method run from node to node.

    ``tolerance`` is relative per step; independent of exp and the Magnus series, and slow. Returns (n, 4, 4).
    """
    nodes = _checked(nodes)
    g_start = np.eye(4) if start is None else np.asarray(start, dtype=float)
    state = np.concatenate([so3.to_quaternion(se3.rotation(g_start)), se3.position(g_start)])

    def rate(s: float, state: Array) -> Array:
        xi = np.asarray(strain(np.array([s])), dtype=float)[0]
        H_prime = _quaternion_rate(xi[None, :3])[0] @ state[:4]
        return np.concatenate([H_prime, so3.from_quaternion(state[:4]) @ xi[3:]])

    states = [state]
    for a, b in pairwise(nodes):
        inside = 4.0 * np.finfo(float).eps * max(abs(a), abs(b))
        from scipy.integrate import solve_ivp  # slow to import, and needed here alone

        step = solve_ivp(
            rate, (a + inside, b - inside), states[-1], method="DOP853", rtol=tolerance, atol=1e-2 * tolerance
        )
        if not step.success:
            message = f"reference: {step.message} between s = {a:g} m and {b:g} m; check the strain there"
            raise NotConverged(message, result=np.array(states))
        end = step.y[:, -1]
        end[:4] /= np.linalg.norm(end[:4])
        states.append(end)
    path = np.array(states)
    return se3.pose(so3.from_quaternion(path[:, :4]), path[:, 4:])


def _magnus_4(strain: Strain, nodes: Array) -> Array:
    h, (xi_1, xi_2) = _gauss_samples(strain, nodes, np.array([-1.0, 1.0]) * np.sqrt(3.0) / 6.0)
    x: Array = 0.5 * h * (xi_1 + xi_2) + np.sqrt(3.0) / 12.0 * h**2 * _bracket(xi_1, xi_2)
    return x


def _magnus_6(strain: Strain, nodes: Array) -> Array:
    h, (xi_1, xi_2, xi_3) = _gauss_samples(strain, nodes, np.array([-1.0, 0.0, 1.0]) * np.sqrt(15.0) / 10.0)
    return magnus_increment(xi_1, xi_2, xi_3, h)


def magnus_increment(xi_1: Array, xi_2: Array, xi_3: Array, h: Array | float) -> Array:
    """x of one Magnus step of order 6, g(s + h) = g(s) exp(x), from strains (…, 6) at the three Gauss points of it."""
    a_1 = h * xi_2
    a_2 = np.sqrt(15.0) / 3.0 * h * (xi_3 - xi_1)
    a_3 = 10.0 / 3.0 * h * (xi_3 - 2.0 * xi_2 + xi_1)
    c_1 = -_bracket(a_1, a_2)
    c_2 = _bracket(a_1, 2.0 * a_3 + c_1) / 60.0
    return a_1 + a_3 / 12.0 - _bracket(-20.0 * a_1 - a_3 + c_1, a_2 + c_2) / 240.0


def _gauss_samples(strain: Strain, nodes: Array, offsets: Array) -> tuple[Array, list[Array]]:
    h = np.diff(nodes)
    middle = 0.5 * (nodes[:-1] + nodes[1:])
    points = middle + offsets[:, None] * h
    xi = np.asarray(strain(points.ravel()), dtype=float).reshape(*points.shape, 6)
    return h[:, None], list(xi)


def _bracket(x: Array, y: Array) -> Array:
    omega_x, v_x, omega_y, v_y = x[..., :3], x[..., 3:], y[..., :3], y[..., 3:]
    return np.concatenate([np.cross(omega_x, omega_y), np.cross(omega_x, v_y) + np.cross(v_x, omega_y)], axis=-1)


def _chain(increments: Array, start: ArrayLike | None) -> Array:
    steps = se3.exp(increments)
    g = np.empty((len(steps) + 1, 4, 4))
    g[0] = np.eye(4) if start is None else np.asarray(start, dtype=float)
    for i, step in enumerate(steps):
        g[i + 1] = g[i] @ step
    return g


def _quaternion_rate(curvature: Array) -> Array:
    """½ [[0, -Kᵀ], [K, -K̂]], so that H′ is this matrix times H."""
    rate = np.zeros((len(curvature), 4, 4))
    rate[:, 0, 1:] = -0.5 * curvature
    rate[:, 1:, 0] = 0.5 * curvature
    rate[:, 1:, 1:] = -0.5 * so3.hat(curvature)
    return rate


def _apply(matrices: Array, vectors: Array) -> Array:
    product: Array = (matrices @ vectors[..., None])[..., 0]
    return product


def _checked(nodes: ArrayLike) -> Array:
    s = np.asarray(nodes, dtype=float)
    if s.ndim != 1 or len(s) < 2 or not np.all(np.diff(s) > 0.0):
        raise BadInput(f"nodes of shape {s.shape} [m]: expected at least two strictly increasing arc lengths")
    return s
