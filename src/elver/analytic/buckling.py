"""Euler's critical loads of a uniform column.

P = (β/L)² EI with β from the end conditions. Shear and compression before buckling are neglected.

Reference: S. P. Timoshenko and J. M. Gere, Theory of Elastic Stability (2nd ed., 1961), chapter 2.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from elver.errors import BadInput, positive

__all__ = ["euler_load"]


def euler_load(ends: str, length: float, bending_stiffness: float, mode: int = 1) -> float:
    """Critical compressive load [N] of mode 1, 2, … of a column.

    ``ends``: "clamped-free", "pinned-pinned", "clamped-clamped" or "clamped-pinned"; ``length`` [m],
    ``bending_stiffness`` EI [N m²]. The first ones are π²/4, π², 4π² and 20.1907 times EI/L².
    """
    length = positive("length", length, "m")
    stiffness = positive("bending_stiffness", bending_stiffness, "N m²")
    if mode < 1:
        raise BadInput(f"mode = {mode}: buckling modes are counted from 1")
    if ends == "clamped-free":
        beta = (mode - 0.5) * np.pi
    elif ends == "pinned-pinned":
        beta = mode * np.pi
    elif ends == "clamped-clamped":  # symmetric and antisymmetric modes alternate
        beta = (mode + 1) * np.pi if mode % 2 else 2.0 * _tangent_root(mode // 2)
    elif ends == "clamped-pinned":
        beta = _tangent_root(mode)
    else:
        raise BadInput(
            f"ends = {ends!r}: choose clamped-free, pinned-pinned, clamped-clamped or clamped-pinned"
        )
    return float(beta**2 * stiffness / length**2)


def _tangent_root(n: int) -> float:
    """n-th positive root of tan β = β, written sin β = β cos β."""
    root: float = brentq(
        lambda beta: np.sin(beta) - beta * np.cos(beta), n * np.pi, (n + 0.5) * np.pi, xtol=1e-15, rtol=1e-15
    )
    return root
