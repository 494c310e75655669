"""Potential of all forces at rest: the work against them along a way through the coordinates.

    V(b) - V(a) = ∫₀¹ R(x(t)) · ẋ dt ,   x(t) straight from a to b, multipliers zero (closures do no work)

R = Q_elastic - Q_load - Q_act at rest, so that springs, weight, dead forces, tensions, buoyancy count without a formula
of their own. Along a straight way R is smooth, and Gauss points give the work to rounding; for loads without a
potential (followers, couples fixed in space) the value belongs to this way alone.

Theory: docs/theory/statics.md, eq. (potential).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core
from elver.dynamics.states import Arrays, arrays
from elver.lie import se3

__all__ = ["potential", "work"]

Array: TypeAlias = NDArray[np.float64]

_MOST_PIECES = 256  # of the way, where the forces on it oscillate


def work(kernels: Core, a: Arrays, b: Arrays, u: Array, points: int = 4, pieces: int = 1) -> float:
    """Work [J] against all forces at rest on the straight way from ``a`` to ``b``, by Gauss points in equal pieces."""
    base = kernels.coordinates - kernels.n
    change = np.zeros(kernels.coordinates)
    change[base:] = b.q[0] - a.q[0]
    start = np.eye(4)
    start[:3, :3], start[:3, 3] = a.base[:3], a.base[3]
    if base:
        end = np.eye(4)
        end[:3, :3], end[:3, 3] = b.base[:3], b.base[3]
        change[:6] = se3.log(np.linalg.solve(start, end))
    none, place, q = np.zeros(kernels.rows), a.base, np.zeros_like(a.q)
    x, weights = np.polynomial.legendre.leggauss(points)
    total = 0.0
    for piece in range(pieces):
        for at, weight in zip((piece + 0.5 * (1.0 + x)) / pieces, 0.5 * weights / pieces, strict=True):
            if base:
                g = start @ se3.exp(at * change[:6])
                place = np.vstack([g[:3, :3], g[:3, 3]])
            q[0] = a.q[0] + at * change[base:]
            here = Arrays(place, b.twist, q, none)
            total += weight * float(kernels.residual(here, u, jets=1)[: kernels.coordinates] @ change)
    return total


def potential(kernels: Core, a: Arrays, u: Array) -> float:
    """Potential [J] of springs, weight and all inputs, from zero with rods and joints at rest."""
    rest = replace(arrays(kernels.system.rest()), twist=a.twist)
    kernels.residual(rest, u, jets=1)  # imposed coordinates take their values
    pieces, before = 1, work(kernels, rest, a, u, 16)
    while pieces < _MOST_PIECES:
        pieces *= 2
        now = work(kernels, rest, a, u, 16, pieces)
        if abs(now - before) <= 1e-12 * max(abs(now), kernels.assembly.energy):
            return now
        before = now
    return before
