"""The helix of a rod with constant strain.

A constant ξ = (K; Γ) gives the screw motion g(s) = exp(s ξ̂): a helix about the axis along K through
K×Γ/|K|², of radius |K×Γ|/|K|² and advance Γ·K/|K| per metre of rod. A Kirchhoff rod with K = (τ, κ_y, κ_z)
has the radius κ/(κ²+τ²) and the pitch 2πτ/(κ²+τ²).

Reference: A. E. H. Love, A Treatise on the Mathematical Theory of Elasticity (4th ed., 1927), § 270.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, finite

__all__ = ["Helix", "helix"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Helix:
    """Helix through the origin, in the frame of the section at s = 0.

    ``radius`` [m], ``pitch`` advance per turn [m], negative for a left-handed one, ``rate`` turn per metre of
    rod [rad/m], ``axis`` unit vector along K and ``centre`` the point of the axis nearest the origin [m].
    """

    radius: float
    pitch: float
    rate: float
    axis: Array
    centre: Array

    def points(self, s: ArrayLike) -> Array:
        """Positions [m] at arc lengths s (n,) [m]: (n, 3)."""
        s = np.atleast_1d(np.asarray(s, dtype=float))
        turn = (self.rate * s)[:, None]
        arm = -self.centre
        rotated = np.cos(turn) * arm + np.sin(turn) * np.cross(self.axis, arm)
        return self.centre + rotated + turn / (2.0 * np.pi) * self.pitch * self.axis


def helix(strain: ArrayLike) -> Helix:
    """The helix of a constant strain (K; Γ) (6,) [1/m, -], curvature not zero."""
    xi = finite("strain", strain, (6,), "1/m and -")
    K, gamma = xi[:3], xi[3:]
    rate = float(np.linalg.norm(K))
    if rate == 0.0:
        raise BadInput("strain: the curvature is 0 1/m, so the rod is straight and has no helix")
    axis = K / rate
    centre = np.cross(K, gamma) / rate**2
    pitch = 2.0 * np.pi * float(gamma @ axis) / rate
    return Helix(float(np.linalg.norm(centre)), pitch, rate, axis, centre)
