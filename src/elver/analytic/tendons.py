"""Inextensible, unshearable rods bent by one tendon in the xy plane, without other loads.

A tendon at (0, D(s), 0) with tension T, anchored at the tip, bends a clamped rod toward itself; the stress
beyond any section vanishes (C = N = 0), so the curvature is local: EI K_z = T D c_x/|c| with
c = (1 - K_z D, D′).

Reference: F. Boyer et al. (2023), test 1, which neglects K_z in c; both versions are given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fresnel

from elver.analytic.elastica import cantilever_tip_moment
from elver.analytic.shapes import PlanarShape, arc_lengths
from elver.errors import finite, non_negative, positive

__all__ = ["convergent_tendon", "convergent_tendon_curvature", "parallel_tendon"]

Array = NDArray[np.float64]


def parallel_tendon(
    tension: float, offset: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> PlanarShape:
    """Arc of a rod under a tendon parallel to its axis at D_y = ``offset`` [m]: K_z = T D_y/EI, exactly.

    ``tension`` T [N], ``length`` [m], ``bending_stiffness`` EI [N m²], ``s`` arc lengths to report [m].
    """
    tension = non_negative("tension", tension, "N")
    offset = float(finite("offset", offset, (), "m"))
    return cantilever_tip_moment(tension * offset, length, bending_stiffness, s)


def convergent_tendon(
    tension: float, offset: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> PlanarShape:
    """Shape under a tendon running straight to the axis at the tip, D_y = R_d (1 - s/L), neglecting K_z in c.

    K_z = T R_d (1 - s/L)/(EI √(1 + (R_d/L)²)): a clothoid, θ = θ_L (1 - (1 - s/L)²), by Fresnel integrals.
    ``tension`` T [N], ``offset`` R_d at the base [m], ``length`` [m], ``bending_stiffness`` EI [N m²].
    """
    tension, offset, length, stiffness = _checked(tension, offset, length, bending_stiffness)
    s = arc_lengths(s, length)
    base_curvature = tension * offset / (stiffness * np.hypot(1.0, offset / length))
    theta_tip = 0.5 * base_curvature * length

    # x + i y = L exp(iθ_L) ∫_u^1 exp(-iθ_L v²) dv with u = 1 - s/L.
    u = 1.0 - s / length
    turn = max(
        abs(theta_tip), 1e-300
    )  # C(z) = z to rounding for small z, so the straight rod needs no branch
    sine_1, cosine_1 = fresnel(np.sqrt(2.0 * turn / np.pi))
    sine_u, cosine_u = fresnel(u * np.sqrt(2.0 * turn / np.pi))
    integral = np.sqrt(np.pi / (2.0 * turn)) * ((cosine_1 - cosine_u) - 1j * (sine_1 - sine_u))
    z = length * np.exp(1j * turn) * integral
    y = np.sign(theta_tip) * z.imag
    return PlanarShape(s, z.real, y, theta_tip * (1.0 - u**2), base_curvature * u)


def convergent_tendon_curvature(
    tension: float, offset: float, length: float, bending_stiffness: float, s: ArrayLike | None = None
) -> Array:
    """K_z(s) [1/m] of the convergent tendon with the full c = (1 - K_z D, D′), by Newton's method."""
    tension, offset, length, stiffness = _checked(tension, offset, length, bending_stiffness)
    D = offset * (1.0 - arc_lengths(s, length) / length)
    D_prime = -offset / length
    pull = tension * D / stiffness
    K = np.zeros_like(D)
    for _ in range(50):
        c_x = 1.0 - K * D
        norm = np.hypot(c_x, D_prime)
        residual = K - pull * c_x / norm
        slope = 1.0 + pull * D * D_prime**2 / norm**3
        K = K - residual / slope
        if np.max(np.abs(residual)) <= 1e-15 * (1.0 + np.max(np.abs(K))):
            break
    return K


def _checked(
    tension: float, offset: float, length: float, stiffness: float
) -> tuple[float, float, float, float]:
    return (
        non_negative("tension", tension, "N"),
        float(finite("offset", offset, (), "m")),
        positive("length", length, "m"),
        positive("bending_stiffness", stiffness, "N m²"),
    )
