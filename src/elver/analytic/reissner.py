"""The planar Reissner cantilever to rounding: bending, stretch and shear in large deflection.

θ′ = C/EI,  Γ_x = 1 + N_x/EA,  Γ_y = N_y/kGA,  (x, y)′ = R(θ) Γ,  C′ = -(Γ_x N_y - Γ_y N_x),  N = R(θ)ᵀ f(s),

with the dead force f(s) = tip force + w (L - s). Both ends are built into the integral equation

EI θ(s) = ∫₀ˢ [ M + ∫ₜᴸ (Γ_x N_y - Γ_y N_x) du ] dt,

collocated at Chebyshev nodes and solved by Newton's method along a growing load. Not a closed form, but as
accurate as one (1e-12 of the length), and free of the exponential sensitivity of shooting under heavy loads.

Reference: E. Reissner, "On one-dimensional finite-strain beam theory: the plane problem", ZAMP 23 (1972).
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.polynomial.chebyshev import chebval
from numpy.typing import ArrayLike, NDArray

from elver.analytic.shapes import PlanarShape, arc_lengths
from elver.errors import BadInput, NotConverged, finite, positive
from elver.numerics.polynomials import chebyshev
from elver.numerics.quadrature import chebyshev_integration, chebyshev_lobatto

__all__ = ["reissner_cantilever"]

Array = NDArray[np.float64]


def reissner_cantilever(
    length: float,
    bending_stiffness: float,
    *,
    axial_stiffness: float = inf,
    shear_stiffness: float = inf,
    tip_force: ArrayLike = (0.0, 0.0),
    tip_moment: float = 0.0,
    load_per_length: ArrayLike = (0.0, 0.0),
    s: ArrayLike | None = None,
    nodes: int = 64,
    load_steps: int = 10,
) -> PlanarShape:
    """Shape of a clamped rod under dead loads in the xy plane.

    ``length`` [m], ``bending_stiffness`` EI [N m²], ``axial_stiffness`` EA and ``shear_stiffness`` kGA [N]
    (infinite by default: the elastica), ``tip_force`` (x, y) [N], ``tip_moment`` about z [N m],
    ``load_per_length`` (x, y) [N/m of rest length], ``s`` arc lengths of the rest shape to report [m]. The
    load grows in ``load_steps`` parts, or smaller ones where needed, along the stable branch of the straight
    rod; ``nodes`` collocation points resolve a boundary layer √(EI/F) down to a thirtieth of the length.
    """
    length = positive("length", length, "m")
    flexibility = 1.0 / positive("bending_stiffness", bending_stiffness, "N m²")
    stretch = _compliance("axial_stiffness", axial_stiffness)
    shear = _compliance("shear_stiffness", shear_stiffness)
    force = finite("tip_force", tip_force, (2,), "N")
    weight = finite("load_per_length", load_per_length, (2,), "N/m")
    moment = float(finite("tip_moment", tip_moment, (), "N m"))
    s = arc_lengths(s, length)

    beam = _Beam(length, nodes, flexibility, stretch, shear, moment, force, weight)
    theta = _loaded(beam, load_steps)

    # Position, and interpolation of all fields at s.
    N_x, N_y = beam.section_force(theta, 1.0)
    gamma_x, gamma_y = 1.0 + stretch * N_x, shear * N_y
    x = beam.from_base @ (np.cos(theta) * gamma_x - np.sin(theta) * gamma_y)
    y = beam.from_base @ (np.sin(theta) * gamma_x + np.cos(theta) * gamma_y)
    fields = np.stack([x, y, theta, beam.curvature(theta, 1.0)], axis=1)
    coefficients = np.linalg.solve(chebyshev(beam.grid, nodes, length), fields)
    tail = np.max(np.abs(coefficients[-2:, 2]))
    if tail > 1e-9 * max(1.0, np.max(np.abs(coefficients[:, 2]))):
        raise NotConverged(
            f"reissner_cantilever: {nodes} nodes leave an error of about {tail:.0e} rad in the angle; "
            f"try nodes = {2 * nodes}",
            result=theta,
        )
    x, y, theta, kappa = chebval(2.0 * s / length - 1.0, coefficients)
    return PlanarShape(s, x, y, theta, kappa)


class _Beam:
    """Equations of the angle θ at Chebyshev-Lobatto nodes, under a part ``factor`` of the load."""

    def __init__(
        self, length: float, nodes: int, flexibility: float, stretch: float, shear: float,
        moment: float, force: Array, weight: Array,
    ) -> None:  # fmt: skip
        self.flexibility, self.stretch, self.shear, self.moment = flexibility, stretch, shear, moment
        self.grid = chebyshev_lobatto(nodes, 0.0, length)
        self.from_base = chebyshev_integration(nodes, 0.0, length)
        self.to_tip = self.from_base[-1] - self.from_base
        self.dead_force = force + weight * (length - self.grid)[:, None]

    def section_force(self, theta: Array, factor: float) -> tuple[Array, Array]:
        f_x, f_y = factor * self.dead_force.T
        return np.cos(theta) * f_x + np.sin(theta) * f_y, np.cos(theta) * f_y - np.sin(theta) * f_x

    def curvature(self, theta: Array, factor: float) -> Array:
        N_x, N_y = self.section_force(theta, factor)
        lever = (1.0 + self.stretch * N_x) * N_y - self.shear * N_y * N_x
        kappa: Array = self.flexibility * (factor * self.moment + self.to_tip @ lever)
        return kappa

    def newton(self, guess: Array, factor: float) -> Array | None:
        """The stable shape near ``guess``; None where there is none."""
        # A larger correction might reach another branch, such as the mirror image of a buckled column.
        trust = min(0.2, 0.2 * np.max(np.abs(guess)) + 1e-9)
        theta = guess
        for _ in range(20):
            residual = theta - self.from_base @ self.curvature(theta, factor)
            N_x, N_y = self.section_force(theta, factor)
            # δN_x = N_y δθ, δN_y = -N_x δθ.
            d_lever = -N_x + (self.stretch - self.shear) * (N_y**2 - N_x**2)
            jacobian = np.eye(guess.size) - self.flexibility * self.from_base @ self.to_tip * d_lever
            change = np.linalg.solve(jacobian, residual)
            theta = theta - change
            if np.max(np.abs(theta - guess)) > trust:
                return None
            if np.max(np.abs(change)) < 1e-13 * (1.0 + np.max(np.abs(theta))):
                # Its spectrum has the signs of the second variation of the energy: positive where stable.
                return theta if np.min(np.linalg.eigvals(jacobian).real) > 0.0 else None
        return None


def _loaded(beam: _Beam, load_steps: int) -> Array:
    """Continuation from the straight beam: extrapolate, correct, halve the step on failure, let it grow on success."""
    theta, factor, step = np.zeros(beam.grid.size), 0.0, 1.0 / load_steps
    rate = beam.from_base @ beam.curvature(theta, 1.0)  # of the linear beam
    while factor < 1.0:
        reached = min(1.0, factor + step)
        corrected = beam.newton(theta + rate * (reached - factor), reached)
        if corrected is not None:
            rate = (corrected - theta) / (reached - factor)
            theta, factor, step = corrected, reached, min(1.0 / load_steps, 1.5 * step)
        elif step > 1e-7:
            step *= 0.5
        else:
            raise NotConverged(
                f"reissner_cantilever: no stable shape near the last one beyond {factor:.2%} of the load; "
                "the rod buckles or snaps there (give it a small transverse load), or needs more nodes",
                result=theta,
            )
    return theta


def _compliance(name: str, stiffness: float) -> float:
    if not stiffness > 0.0:
        raise BadInput(f"{name} = {stiffness} N: must be greater than zero (math.inf: rigid)")
    return 1.0 / stiffness
