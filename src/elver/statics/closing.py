"""A shape that meets the holds, for Newton's method to start from.

A straight rod cannot move its tip inward to first order, so Newton alone fails there. The elastic energy with a
penalty on the gaps, E + |Ψ|²/2w, has no such singular point: it is minimised by damped Gauss-Newton steps from
slightly bent shapes while w falls, and Ψ/w tends to the multipliers (Nocedal and Wright, Numerical Optimization,
2nd ed., section 17.1).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Arrays, Core
from elver.lie import se3

__all__ = ["close", "gap", "retract"]

Array: TypeAlias = NDArray[np.float64]

_BEND = 0.5  # rad over the rod: curvature of the shapes to start from
_SOFTNESS = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # w, in units of EI/L per L² or rad²


def gap(kernels: Core, a: Arrays, u: Array) -> float:
    """Largest violation of a closure, in rad or in lengths of the rod."""
    rows = kernels.residual(a, u, jets=1)[kernels.coordinates :]
    return float(np.max(np.abs(rows / _units(kernels)), initial=0.0))


def retract(kernels: Core, a: Arrays, step: Array) -> Arrays:
    """The state at increments ``step`` of base (body twist, if free) and coordinates, in their own units."""
    free = kernels.coordinates - kernels.n
    base = a.base
    if free:
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = a.base[:3], a.base[3]
        g = g @ se3.exp(step[:6])
        base = np.vstack([g[:3, :3], g[:3, 3]])
    q = a.q.copy()
    q[0] += step[free:]
    return Arrays(base, a.twist, q, a.multipliers)


def close(kernels: Core, start: Arrays, u: Array) -> Arrays:
    """The shape of least elastic energy found that meets the closures, or comes nearest to them."""
    found = [_relax(kernels, seed, u) for seed in _seeds(kernels, start)]
    return min(found, key=lambda a: (round(gap(kernels, a, u), 2), _energy(kernels, a)))


def _seeds(kernels: Core, start: Arrays) -> list[Arrays]:
    """The shape at the start, and bent to either side about each axis that bends."""
    system = kernels.system
    seeds = [start]
    for component in (1, 2):
        bend = np.zeros(kernels.n)
        for rod in system.mechanism.rods:
            own = np.arange(kernels.n)[system.coordinates(rod)][rod.component == component]
            if own.size:
                functions = rod.functions(rod.grid.s)[:, rod.component == component]
                bend[own] = np.linalg.lstsq(functions, np.ones(rod.grid.s.size), rcond=None)[0] / rod.length
        if np.any(bend):
            for sign in (1.0, -1.0):
                q = start.q.copy()
                q[0] += sign * _BEND * bend
                seeds.append(Arrays(start.base, start.twist, q, start.multipliers))
    return seeds


def _relax(kernels: Core, a: Arrays, u: Array) -> Arrays:
    c, n, energy = kernels.coordinates, kernels.n, kernels.assembly.energy
    scale, units = kernels.assembly.scale, _units(kernels)
    K = np.zeros((c, c))
    K[c - n :, c - n :] = scale[c - n :, None] * kernels.elastic * scale[c - n :] / energy
    slack = kernels.program.spring_rest
    frozen = c - n + kernels.program.imposed[:, 0]
    a = Arrays(a.base, a.twist, a.q, np.zeros(kernels.rows))
    psi = np.zeros(kernels.rows)
    for w in _SOFTNESS:
        damping, best = 1e-2, _merit(kernels, a, u, w)
        for _ in range(25):
            x = np.concatenate([np.zeros(c - n), (a.q[0] - slack) / scale[c - n :]])
            matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
            J = matrix[c:, :c] * scale / units[:, None]
            J[:, frozen] = 0.0
            psi = kernels.residual(a, u, jets=1)[c:] / units
            step = -np.linalg.solve(K + J.T @ J / w + damping * np.eye(c), K @ x + J.T @ psi / w)
            step[frozen] = 0.0
            step *= min(1.0, 1.5 / max(float(np.max(np.abs(step))), 1e-300))
            moved = retract(kernels, a, scale * step)
            merit = _merit(kernels, moved, u, w)
            if merit < best:
                done = best - merit < 1e-6 * best
                a, best, damping = moved, merit, 0.2 * damping
                if done:
                    break
            else:
                damping *= 8.0
                if damping > 1e8:
                    break
    psi = kernels.residual(a, u, jets=1)[c:] / units
    return Arrays(a.base, a.twist, a.q, energy * psi / (_SOFTNESS[-1] * units))


def _merit(kernels: Core, a: Arrays, u: Array, w: float) -> float:
    psi = kernels.residual(a, u, jets=1)[kernels.coordinates :] / _units(kernels)
    return _energy(kernels, a) + float(psi @ psi) / (2.0 * w)


def _energy(kernels: Core, a: Arrays) -> float:
    x = a.q[0] - kernels.program.spring_rest
    return float(0.5 * x @ kernels.elastic @ x / kernels.assembly.energy)


def _units(kernels: Core) -> Array:
    """1 rad for orientations, the length of the longest rod for positions and cables."""
    L = kernels.assembly.length
    return np.array([1.0 if unit == "N m" else L for _, unit in kernels.system.multipliers])
