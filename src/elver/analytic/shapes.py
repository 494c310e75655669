"""The planar curve that the closed forms return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput

__all__ = ["PlanarShape"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlanarShape:
    """A rod in the world xy plane that leaves the origin along x at angle ``angle[0]``.

    ``s`` arc length of the rest shape [m], ``x``, ``y`` positions [m], ``angle`` of the section normal
    against x, positive about z [rad], ``curvature`` K_z [1/m]; all of shape (n,).
    """

    s: Array
    x: Array
    y: Array
    angle: Array
    curvature: Array

    @property
    def tip(self) -> Array:
        """Last point (x, y) [m]."""
        return np.array([self.x[-1], self.y[-1]])


def arc_lengths(s: ArrayLike | None, length: float) -> Array:
    """``s`` as an array inside [0, length], 101 uniform values by default."""
    if s is None:
        return np.linspace(0.0, length, 101)
    values = np.atleast_1d(np.asarray(s, dtype=float))
    if values.ndim != 1 or np.any(values < 0.0) or np.any(values > length * (1.0 + 1e-12)):
        raise BadInput(f"s = {s!r} m: arc lengths must be a list inside [0, {length:g}] m")
    return values
