"""The planar elastica in closed form: inextensible, unshearable rods in large deflection.

EI θ″ = -(transverse component of the force beyond s), integrated with Jacobi's elliptic functions. The
modulus follows from the length by one scalar equation; angle, position and curvature are then explicit. Rods
leave the origin along x (clamped) and lie in the xy plane; a force along +y bends toward +y.

Reference: A. E. H. Love, A Treatise on the Mathematical Theory of Elasticity (4th ed., 1927), §§ 262-263;
K. E. Bisshopp and D. C. Drucker, "Large deflection of cantilever beams", Q. Appl. Math. 3 (1945);
S. P. Timoshenko and J. M. Gere, Theory of Elastic Stability (2nd ed., 1961), § 2.7.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ellipkm1

from elver.analytic.buckling import euler_load
from elver.analytic.elliptic import first_kind, jacobi
from elver.analytic.shapes import PlanarShape, arc_lengths
from elver.errors import BadInput, finite, positive

__all__ = ["buckled_cantilever", "buckled_pinned_column", "cantilever_tip_force", "cantilever_tip_moment"]

Array = NDArray[np.float64]

# Beyond these the modulus is closer to 1 than 1e-9 and the shape near the clamp loses digits.
_LARGEST_FORCE = 140.0  # F L²/EI
_LARGEST_HALF_WAVE = 11.5  # √(P/EI) times the length from a node to an antinode of θ


def cantilever_tip_moment(
    moment: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> PlanarShape:
    """Clamped rod under a tip moment [N m]: an arc of curvature M/EI, a full circle at M = 2π EI/L.

    ``length`` [m], ``bending_stiffness`` EI [N m²], ``s`` arc lengths to report [m].
    """
    length = positive("length", length, "m")
    kappa = float(moment) / positive("bending_stiffness", bending_stiffness, "N m²")
    s = arc_lengths(s, length)
    theta = kappa * s
    half = np.sinc(theta / (2.0 * np.pi))  # sin(θ/2)/(θ/2)
    chord = s * half
    return PlanarShape(
        s, chord * np.cos(theta / 2.0), chord * np.sin(theta / 2.0), theta, np.full_like(s, kappa)
    )


def cantilever_tip_force(
    force: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> PlanarShape:
    """Clamped rod under a dead tip force along y [N], perpendicular to the straight rod.

    With σ = sin θ(L), m = (1+σ)/2, α = √(F/EI) and u = α (L-s):
    sin θ = (σ - m sn²u)/dn²u, and α L = F(ψ|m) with tan ψ = √(2σ/(1-σ)) fixes σ.
    ``length`` [m], ``bending_stiffness`` EI [N m²], ``s`` arc lengths to report [m]; |F| L²/EI up to 140.
    """
    length = positive("length", length, "m")
    stiffness = positive("bending_stiffness", bending_stiffness, "N m²")
    force = float(finite("force", force, (), "N"))
    s = arc_lengths(s, length)
    ratio = abs(force) * length**2 / stiffness
    if ratio > _LARGEST_FORCE:
        raise BadInput(
            f"force = {force:g} N: F L²/EI = {ratio:g} exceeds {_LARGEST_FORCE:g}, where the tip already "
            "hangs within 0.01° of the force; use a lighter load"
        )
    if ratio < 1e-12:  # the straight rod, to rounding
        return PlanarShape(s, s.copy(), np.zeros_like(s), np.zeros_like(s), np.zeros_like(s))

    alpha = sqrt(ratio) / length
    sigma, rest = _solve_tip_sine(alpha * length)
    m, m1 = 0.5 * (1.0 + sigma), 0.5 * rest
    k, k_prime = sqrt(m), sqrt(m1)

    u = alpha * (length - s)
    sn, cn, dn, epsilon = jacobi(u, m1)
    sn_0, cn_0, dn_0, epsilon_0 = jacobi(alpha * length, m1)
    # Two forms of the same numerator; each cancels where the other does not.
    sine = np.where(sn**2 < 0.5, sigma - m * sn**2, m * cn**2 - m1) / dn**2
    cosine = 2.0 * k * k_prime * cn / dn**2
    x = 2.0 * k * k_prime / alpha * (sn_0 / dn_0 - sn / dn)
    y = s - 2.0 / alpha * ((epsilon_0 - m * sn_0 * cn_0 / dn_0) - (epsilon - m * sn * cn / dn))
    curvature = 2.0 * k * k_prime * alpha * sn / dn
    sign = np.sign(force)
    return PlanarShape(s, x, sign * y, sign * np.arctan2(sine, cosine), sign * curvature)


def buckled_cantilever(
    load: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> PlanarShape:
    """Clamped-free column bent by a dead compressive tip load P [N] along -x, first branch, toward +y.

    sin(θ/2) = k sn(β s), β = √(P/EI), K(k) = β L. ``load`` above the Euler load π² EI/4L².
    ``length`` [m], ``bending_stiffness`` EI [N m²], ``s`` arc lengths to report [m].
    """
    beta, m1, s = _buckled(load, length, bending_stiffness, s, "clamped-free", 1.0)
    k = sqrt(1.0 - m1)
    sn, cn, dn, epsilon = jacobi(beta * s, m1)
    x = 2.0 / beta * epsilon - s
    y = 2.0 * k / beta * (1.0 - cn)
    return PlanarShape(s, x, y, 2.0 * np.arctan2(k * sn, dn), 2.0 * k * beta * cn)


def buckled_pinned_column(
    load: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> PlanarShape:
    """Column pinned at both ends, the far pin sliding on x, under a thrust P [N]; first branch, toward +y.

    sin(θ/2) = k sn(β s + K), K(k) = β L/2. ``load`` above the Euler load π² EI/L².
    ``length`` [m], ``bending_stiffness`` EI [N m²], ``s`` arc lengths to report [m].
    """
    beta, m1, s = _buckled(load, length, bending_stiffness, s, "pinned-pinned", 0.5)
    k, quarter = sqrt(1.0 - m1), 0.5 * beta * length
    # From the middle, v = β s - K: the column is twice the buckled cantilever, mirrored.
    sn, cn, dn, epsilon = jacobi(beta * s - quarter, m1)
    x = 2.0 / beta * (epsilon + jacobi(quarter, m1)[3]) - s
    y = 2.0 * k / beta * cn
    return PlanarShape(s, x, y, -2.0 * np.arctan2(k * sn, dn), -2.0 * k * beta * cn)


def _solve_tip_sine(alpha_length: float) -> tuple[float, float]:
    """σ and 1-σ from α L = F(ψ|m). Solved in t = ln(σ/(1-σ)), which keeps digits at both ends."""

    def residual(t: float) -> float:
        return first_kind(sqrt(2.0 * exp(t)), 0.5 / (1.0 + exp(t))) - alpha_length

    t = brentq(residual, -60.0, 22.0, xtol=1e-15, rtol=1e-15)
    return 1.0 / (1.0 + exp(-t)), 1.0 / (1.0 + exp(t))


def _buckled(
    load: float, length: float, bending_stiffness: float, s: ArrayLike | None, ends: str, part: float
) -> tuple[float, float, Array]:
    """β [1/m], m₁ = 1-m and s; ``part`` is the fraction of the length that spans one quarter period K."""
    length = positive("length", length, "m")
    stiffness = positive("bending_stiffness", bending_stiffness, "N m²")
    load = positive("load", load, "N")
    critical = euler_load(ends, length, stiffness)
    if load <= critical:
        raise BadInput(
            f"load = {load:g} N: the {ends} column is straight up to its Euler load {critical:g} N"
        )
    beta = sqrt(load / stiffness)
    quarter = beta * length * part
    if quarter > _LARGEST_HALF_WAVE:
        limit = critical * (_LARGEST_HALF_WAVE / (0.5 * np.pi)) ** 2
        raise BadInput(f"load = {load:g} N: the closed form is accurate up to {limit:g} N")

    def residual(t: float) -> float:  # m₁ = 1-m = 1/(1+eᵗ)
        return float(ellipkm1(1.0 / (1.0 + exp(t)))) - quarter

    t = brentq(residual, -40.0, 22.0, xtol=1e-15, rtol=1e-15)
    return beta, 1.0 / (1.0 + exp(t)), arc_lengths(s, length)
