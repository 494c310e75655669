"""Which of pose and wrench is given at an end of a rod, and how far a shot misses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.lie import so3
from elver.one_rod.problem import End, EndWrench

__all__ = ["EndCondition"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EndCondition:
    """Six conditions at one end: what is held, and the wrench where nothing is held.

    Held: log(R_holdᵀR)_i = 0, (p - p_hold)_j / L = 0. Else, with Λ = ±F (+ at the tip, - at the base): the world
    components j of the force, and the components i of dexp(Θ)ᵀ(C ∓ C_ext), the moment that works on Θ = log(R_holdᵀR).
    """

    end: End
    wrench: EndWrench
    sign: float
    length: float
    stiffness: float

    def __call__(self, g: Array, x: Array) -> tuple[Array, Array]:
        """Residual (6,) and its slopes (6, 12) with (ζ, Λ)."""
        end = self.end
        held = [*end.rotation_axes, *(3 + j for j in end.position_axes)]
        free = [k for k in range(6) if k not in held]
        if not held:
            return self.load(g, x, turned=False)
        place, place_slope = self.place(g)
        if not free:
            return place, place_slope
        load, load_slope = self.load(g, x, turned=0 < len(end.rotation_axes) < 3)
        return np.concatenate([place[held], load[free]]), np.concatenate([place_slope[held], load_slope[free]])

    def place(self, g: Array) -> tuple[Array, Array]:
        """(Θ; (p - p_hold)/L) (6,), and its slopes (6, 12)."""
        place, slope = np.zeros(6), np.zeros((6, 12))
        if np.array_equal(g, self.end.pose):  # where a clamped base stays all the time
            slope[range(3), range(3)] = 1.0
        elif self.end.rotation_axes:
            place[:3] = so3.log(self.end.pose[:3, :3].T @ g[:3, :3])
            slope[:3, :3] = so3.dexp_inv(place[:3])
        place[3:] = (g[:3, 3] - self.end.pose[:3, 3]) / self.length
        slope[3:, 3:6] = g[:3, :3] / self.length
        return place, slope

    def load(self, g: Array, x: Array, *, turned: bool) -> tuple[Array, Array]:
        """Λ ∓ F (6,) in EI/L and EI/L², forces in world axes, and its slopes (6, 12).

        Moments are in section axes, or, ``turned``, those that work on Θ.
        """
        L, EI, R = self.length, self.stiffness, g[:3, :3]
        F, F_slope = self.wrench.at(g)
        excess = x - self.sign * F
        load, slope = excess.copy(), np.zeros((6, 12))
        slope[:, :6], slope[range(6), range(6, 12)] = -self.sign * F_slope, 1.0
        if turned:
            Theta = so3.log(self.end.pose[:3, :3].T @ R)
            T, T_inv = so3.dexp(Theta), so3.dexp_inv(Theta)
            vary = np.swapaxes(so3.d_dexp(Theta, T_inv.T), -1, -2) @ excess[:3]
            load[:3], slope[:3] = T.T @ excess[:3], T.T @ slope[:3]
            slope[:3, :3] += vary.T
        load[3:], slope[3:] = R @ excess[3:], R @ slope[3:]
        slope[3:, :3] -= R @ so3.hat(excess[3:])
        unit = np.array([L / EI] * 3 + [L**2 / EI] * 3)
        return unit * load, unit[:, None] * slope

    def pairs(self, g: Array, x: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Pose (6,) and wrench (6,) that work on each other, dimensionless, each with its slopes (6, 12)."""
        return self.place(g), self.load(g, x, turned=bool(self.end.rotation_axes))
