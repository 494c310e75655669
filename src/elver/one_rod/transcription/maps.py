"""Runge-Kutta-Munthe-Kaas steps of g′ = g ξ̂ as CasADi expressions, with the exponential or the Cayley map.

With g = g₀ τ(θ) the algebra carries θ′ = dτ⁻¹(θ) ξ, θ = 0 at the start of a step (left-trivialised, the dτ⁻¹₋θ of the
source). For any explicit tableau

    θ_i = h Σ a_ij K_j,   K_i = dτ⁻¹(θ_i) ξ(s + c_i h),   g₊ = g τ(h Σ b_i K_i)

order 1 is the Lie-Euler method, 2 the explicit trapezoidal rule, 4 the classical method. The source prints the strain
in the place of K₂ and K₃ in the last two stages of the latter, which lowers its order to 3; here they stand as above.

    exp      R = exp(Θ),   p = dexp(Θ)ᵀ v;   exact for a strain that is constant in the step (a helix)
    cayley   (1 - x̂/2)⁻¹ (1 + x̂/2): R = 1 + 4/(4 + Θ²) (Θ̂ + Θ̂²/2),   p = (1 - Θ̂/2)⁻¹ v

Coefficients such as (θ - sin θ)/θ³ are power series of θ² below one radian and closed forms above, so that two
derivatives are right to rounding on both sides; 1 rad is where the closed forms still have all but two of their digits.

Conventions: six-vectors angular first (Θ; v), body frame; tangent x.
Reference: A. Blumentals (2017), sections 6.2 and C; H. Munthe-Kaas, Appl. Numer. Math. 29 (1999).

Theory: docs/theory/optimal-control.md, eq. (direct-step).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput
from elver.lie import se3
from elver.words import describe

__all__ = ["Map", "casadi", "increment", "integrate", "retract", "rotation_vector", "step"]

Array: TypeAlias = NDArray[np.float64]
Map: TypeAlias = Literal["exp", "cayley"]
Expression: TypeAlias = Any  # casadi.SX, casadi.MX or casadi.DM; CasADi carries no types

_TERMS = 11
_SWITCH = 1.0  # θ² in rad²: series below, closed form above
# |B₂ₖ|/(2k)!, k = 1 …: coefficients of (1 - θ/2 cot θ/2)/θ² as a power series of θ²
_COTANGENT = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000, 43867 / 5109094217170944000, 174611 / 802857662698291200000,
    77683 / 14101100039391805440000, 236364091 / 1693824136731743669452800000,
    657931 / 186134520519971831808000000,
)  # fmt: skip


def casadi() -> ModuleType:
    """The module CasADi, or :class:`BadInput` that says how to get it."""
    try:
        import casadi as module
    except ImportError:
        raise BadInput(
            'direct methods need CasADi with Ipopt, which is not installed: pip install "elver[optimal]" '
            "(or pip install casadi); the indirect methods and equilibrium(...) need nothing more"
        ) from None
    return module  # type: ignore[no-any-return, unused-ignore]


def check_map(name: str, order: int) -> None:
    """Only what is here is accepted."""
    if name not in ("exp", "cayley"):
        raise BadInput(f'map = {name!r}: choose "exp" or "cayley"')
    if order not in (1, 2, 4):
        raise BadInput(f"order = {describe(order)}: RKMK steps are available in order 1, 2 and 4")


# Coefficients ---------------------------------------------------------------------------------------------


def _series(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _switched(x: Expression, coefficients: tuple[float, ...], closed: Callable[[Expression], Expression]) -> Expression:
    """Series below the switch, closed form above; each sees only arguments at which it and its derivatives exist."""
    ca = casadi()
    small = x < _SWITCH
    low, high = ca.if_else(small, x, 0.0), ca.if_else(small, _SWITCH, x)
    return ca.if_else(small, _series(low, coefficients), closed(high))


def _sine(x: Expression) -> Expression:
    """sin θ/θ of x = θ²."""
    ca = casadi()
    c = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(_TERMS))
    return _switched(x, c, lambda x: ca.sin(ca.sqrt(x)) / ca.sqrt(x))


def _versine(x: Expression) -> Expression:
    """(1 - cos θ)/θ² of x = θ²."""
    ca = casadi()
    c = tuple((-1.0) ** k / factorial(2 * k + 2) for k in range(_TERMS))
    return _switched(x, c, lambda x: (1.0 - ca.cos(ca.sqrt(x))) / x)


def _cubic(x: Expression) -> Expression:
    """(θ - sin θ)/θ³ of x = θ²."""
    ca = casadi()
    c = tuple((-1.0) ** k / factorial(2 * k + 3) for k in range(_TERMS))
    return _switched(x, c, lambda x: (1.0 - ca.sin(ca.sqrt(x)) / ca.sqrt(x)) / x)


def _cotangent(x: Expression) -> Expression:
    """(1 - θ/2 cot θ/2)/θ² of x = θ²."""
    ca = casadi()
    return _switched(x, _COTANGENT, lambda x: (1.0 - 0.5 * ca.sqrt(x) / ca.tan(0.5 * ca.sqrt(x))) / x)


def _cotangent_slope(x: Expression) -> Expression:
    """Derivative of the former by x."""
    ca = casadi()
    y = ca.SX.sym("x")
    slope = ca.Function("cotangent_slope", [y], [ca.gradient(_cotangent(y), y)])
    return slope(x)


# Maps -----------------------------------------------------------------------------------------------------


def retract(x: Expression, name: Map) -> tuple[Expression, Expression]:
    """τ(x) of a six-vector (6,): rotation (3, 3) and translation (3,)."""
    ca = casadi()
    theta, v = x[:3], x[3:]
    T, square = ca.skew(theta), ca.dot(theta, theta)
    one = ca.SX.eye(3)
    if name == "cayley":
        f = 1.0 / (4.0 + square)
        R = one + 4.0 * f * (T + 0.5 * T @ T)
        # (1 - Θ̂/2)⁻¹ v = (2 Θ × v + Θ (Θ·v) + 4 v)/(4 + Θ²)
        return R, f * (2.0 * ca.cross(theta, v) + theta * ca.dot(theta, v) + 4.0 * v)
    b = _versine(square)
    turned = ca.cross(theta, v)
    return one + _sine(square) * T + b * T @ T, v + b * turned + _cubic(square) * ca.cross(theta, turned)


def inverse_tangent(x: Expression, xi: Expression, name: Map) -> Expression:
    """dτ⁻¹(x) ξ, left-trivialised: x′ of g = g₀ τ(x) with g′ = g ξ̂. Six-vectors (6,)."""
    ca = casadi()
    theta, v, K, G = x[:3], x[3:], xi[:3], xi[3:]
    if name == "cayley":
        top = K + 0.5 * ca.cross(theta, K) + 0.25 * theta * ca.dot(theta, K)
        half = G + 0.5 * ca.cross(v, K)
        return ca.vertcat(top, half + 0.5 * ca.cross(theta, half))
    square = ca.dot(theta, theta)
    c, slope = _cotangent(square), _cotangent_slope(square)
    once = ca.cross(theta, K)
    twice = ca.cross(theta, once)
    once_G = ca.cross(theta, G)
    top = K + 0.5 * once + c * twice
    bottom = (
        G + 0.5 * (once_G + ca.cross(v, K))
        + c * (ca.cross(theta, once_G) + ca.cross(v, once) + ca.cross(theta, ca.cross(v, K)))
        + 2.0 * slope * ca.dot(theta, v) * twice
    )  # fmt: skip
    return ca.vertcat(top, bottom)


def increment(h: Expression, xi: tuple[Expression, Expression, Expression], name: Map, order: int) -> Expression:
    """θ of one step of length ``h`` for strains (6,) at its start, middle and end."""
    start, middle, end = xi
    if order == 1:
        return h * start
    if order == 2:
        return 0.5 * h * (start + inverse_tangent(h * start, end, name))
    k2 = inverse_tangent(0.5 * h * start, middle, name)
    k3 = inverse_tangent(0.5 * h * k2, middle, name)
    k4 = inverse_tangent(h * k3, end, name)
    return h / 6.0 * (start + 2.0 * k2 + 2.0 * k3 + k4)


def rotation_vector(R: Expression) -> Expression:
    """log R (3,) of a rotation (3, 3), |log R| < π; for matrices near a rotation too.

    With w = (R - Rᵀ)^∨/2 and c = (tr R - 1)/2 it is w atan2(|w|, c)/|w|.
    """
    ca = casadi()
    w = 0.5 * ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    c = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    square = ca.dot(w, w)
    small = ca.logic_and(square < 1e-2, c > 0.0)
    low, low_c = ca.if_else(small, square, 0.0), ca.if_else(small, c, 1.0)
    series = _series(low / low_c**2, tuple((-1.0) ** k / (2 * k + 1) for k in range(10))) / low_c
    # a turn by π exactly has no logarithm; the smallest number keeps its derivatives finite, and callers check c
    size = ca.sqrt(ca.if_else(small, 1.0, square + 1e-30))
    return w * ca.if_else(small, series, ca.atan2(size, c) / size)


# Integration with numbers ---------------------------------------------------------------------------------


@cache
def step(name: Map, order: int) -> Any:
    """CasADi function (h, ξ start, ξ middle, ξ end) → (R, p) of one step."""
    ca = casadi()
    check_map(name, order)
    h = ca.SX.sym("h")
    xi = tuple(ca.SX.sym(label, 6) for label in ("start", "middle", "end"))
    R, p = retract(increment(h, xi, name, order), name)
    return ca.Function("step", [h, *xi], [R, p])


def integrate(
    strain: Callable[[Array], Array],
    nodes: ArrayLike,
    map: Map = "exp",
    order: int = 4,
    start: ArrayLike | None = None,
) -> Array:
    """Poses (n, 4, 4) at ``nodes`` (n,) [m] of a rod with ``strain(s)`` (m, 6), by the steps of the direct methods."""
    check_map(map, order)
    s = np.asarray(nodes, dtype=float)
    h = np.diff(s)
    inside = 4.0 * np.finfo(float).eps * np.max(np.abs(s))
    samples = [np.asarray(strain(at), dtype=float).T for at in (s[:-1] + inside, s[:-1] + 0.5 * h, s[1:] - inside)]
    R, p = step(map, order).map(len(h))(h[None, :], *samples)
    R = np.array(R).reshape(3, len(h), 3).transpose(1, 0, 2)
    g = np.empty((len(s), 4, 4))
    g[0] = np.eye(4) if start is None else np.asarray(start, dtype=float)
    for i, move in enumerate(se3.pose(R, np.array(p).T)):
        g[i + 1] = g[i] @ move
    return g
