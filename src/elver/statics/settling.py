"""Rest by descent: the way a robot takes when it is let go in honey.

Newton finds any point of balance that is near, also one that tips over, and fails far from all. Here every step lowers
the potential on the motions that the closures allow: with Z their basis and H = Zᵀ K Z,

    (H + δ) z = -Zᵀ f ,   δ ≥ 0 such that H + δ > 0 and |Z z| within the trusted length

(Moré and Sorensen 1983), and the closures are met again after each. A step is judged by the work it does
(:mod:`elver.statics.potential`) beside what its quadratic model foretells. Where nothing pulls along a motion that
lowers the potential, as in a column loaded beyond its Euler load, the step takes that motion: descent ends in minima.

Theory: docs/theory/statics.md, eq. (settling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core
from elver.dynamics.states import Arrays
from elver.statics.closing import free_coordinates, project, retract
from elver.statics.gaps import gap, units
from elver.statics.potential import work

__all__ = ["Constrained", "Settled", "constrained", "null_space", "settle", "trusted_step"]

Array: TypeAlias = NDArray[np.float64]

# Stiffness of a motion that nothing resists, relative to that of its parts: rounding, with room.
_NEUTRAL = 1e-11
_ROUGH, _ROUNDING = 1e-8, 1e-13  # second variation that is none: in EI/L, and as part of the stiffest motion
_ROUNDED = 1e3  # times the tolerance, where rounding of large loads lets no step lower the residual further
_FARTHEST = 1.5  # longest step, in units of the coordinates


@dataclass(frozen=True, eq=False)
class Constrained:
    """Forces and stiffness on the motions that closures and imposed coordinates allow, in scaled coordinates."""

    kernels: Core
    free: NDArray[np.bool_]  # coordinates that no imposed motion prescribes
    K: Array  # (free, free)
    J: Array  # (rows, free)
    Z: Array  # (free, motions) orthonormal
    force: Array  # (free,) what is out of balance, reactions of the closures included
    scale: Array  # (free,) unit of each coordinate

    @property
    def H(self) -> Array:
        """Stiffness of the allowed motions."""
        return self.Z.T @ self.K @ self.Z

    def neutral(self) -> Array:
        """Motions (coordinates, count), in the units of the coordinates, that nothing resists.

        Only motions without strain count: a strained shape on the verge of buckling is another matter.
        """
        k = self.kernels
        slack = np.ones(self.free.size, dtype=bool)
        slack[k.coordinates - k.n :] = np.diag(k.elastic) == 0.0
        slack = slack[self.free]
        within = null_space(self.J[:, slack])
        Z = np.zeros((self.Z.shape[0], within.shape[1]))
        Z[slack] = within
        H = Z.T @ self.K @ Z
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        motions = Z @ vectors
        # in balance to first order: what a motion calls up is taken by the closures
        called = np.linalg.norm(self.Z.T @ self.K @ motions, axis=0)
        none = np.maximum(np.abs(values), called) < _NEUTRAL * max(1.0, float(np.max(np.abs(self.K), initial=0.0)))
        found = np.zeros((self.free.size, int(none.sum())))
        found[self.free] = self.scale[:, None] * motions[:, none]
        return found

    def idle_rows(self) -> list[str]:
        """Closure rows that depend on the others in this configuration: they cannot all be met, or hold twice."""
        kept = np.any(self.J, axis=1)
        U, sizes, _ = np.linalg.svd(self.J[kept], full_matrices=True)
        rank = int(np.sum(sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)))
        share = np.linalg.norm(U[:, rank:], axis=1)
        names = [name for (name, _), on in zip(self.kernels.system.multipliers, kept, strict=True) if on]
        return [names[k] for k in np.argsort(-share, kind="stable") if share[k] > 0.5 * np.max(share, initial=1e-9)]


def null_space(J: Array, tolerance: float = 1e-9) -> Array:
    """Orthonormal basis of the null space of J, with singular values below ``tolerance`` of the largest as zero."""
    if J.size == 0:
        return np.eye(J.shape[1])
    _, sizes, Vt = np.linalg.svd(J)
    rank = int(np.sum(sizes > tolerance * max(float(sizes.max(initial=0.0)), 1e-300)))
    return np.asarray(Vt[rank:].T)


def constrained(kernels: Core, a: Arrays, u: Array) -> Constrained:
    """Forces and stiffness at a state of rest."""
    c, scale, energy = kernels.coordinates, kernels.assembly.scale, kernels.assembly.energy
    free = free_coordinates(kernels)
    matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
    R = kernels.residual(a, u, jets=1)[:c]
    K = (scale[:, None] * matrix[:c, :c] * scale / energy)[np.ix_(free, free)]
    J = (matrix[c:, :c] * scale / units(kernels)[:, None])[:, free]
    return Constrained(kernels, free, K, J, null_space(J), (scale * R / energy)[free], scale[free])


@dataclass(frozen=True, eq=False)
class Settled:
    """Where a descent ended: at a minimum to ``residual``, or where it came no further."""

    a: Arrays
    steps: int
    residual: float
    exact: bool
    """True for a minimum to the tolerance, or to the rounding of loads that are large beside EI/L."""


def settle(kernels: Core, a: Arrays, u: Array, tolerance: float, steps: int = 300) -> Settled | None:
    """Rest by descent from ``a``: the lowest shape reached; None where the closures cannot be met."""
    longest = float(units(kernels).max(initial=1.0))
    a = _balanced(kernels, project(kernels, a, u), u)
    if gap(kernels, a, u) > 1e-6:
        return None
    now, trusted, idle, taken, exact = constrained(kernels, a, u), 0.3, 0, 0, False
    while taken < steps:
        residual = max(float(np.max(np.abs(now.force), initial=0.0)), longest * gap(kernels, a, u))
        values, vectors = np.linalg.eigh(0.5 * (now.H + now.H.T))
        rough = _ROUGH + _ROUNDING * float(np.max(np.abs(values), initial=0.0))
        falls = values.size > 0 and values[0] < -rough
        exact = not falls and residual < (tolerance if idle <= 5 else _ROUNDED * tolerance)
        if exact or idle > 5:
            break
        pull = -vectors.T @ (now.Z.T @ now.force)
        for _ in range(30):
            z = trusted_step(values, pull, trusted, falls)
            found = _moved(kernels, a, now, u, vectors @ z)
            foretold = float(0.5 * z @ (values * z) - pull @ z)
            if found is not None and _goes_down(kernels, a, found, u, foretold):
                break
            found, trusted = None, 0.25 * min(trusted, float(np.linalg.norm(z)))
        idle = idle + 1 if abs(foretold) < 1e-14 else 0
        if found is None:
            break
        trusted = min(_FARTHEST, 2.0 * trusted) if float(np.linalg.norm(z)) > 0.5 * trusted else trusted
        (a, now), taken = found, taken + 1
    return Settled(a, taken, residual, exact)


def _moved(kernels: Core, a: Arrays, now: Constrained, u: Array, z: Array) -> tuple[Arrays, Constrained] | None:
    """The state beyond a step in allowed motions, closures met again; None where they cannot be."""
    full = np.zeros(kernels.coordinates)
    full[now.free] = now.scale * (now.Z @ z)
    moved = project(kernels, retract(kernels, a, full), u)
    if not gap(kernels, moved, u) < 1e-8:
        return None
    moved = _balanced(kernels, moved, u)
    return moved, constrained(kernels, moved, u)


def _goes_down(kernels: Core, a: Arrays, found: tuple[Arrays, Constrained], u: Array, foretold: float) -> bool:
    """True where a step lowers the potential by a good part of what its quadratic model foretells."""
    moved, then = found
    if not np.all(np.isfinite(then.force)):
        return False
    if abs(foretold) < 1e-11:  # rounding decides no more
        return True
    return work(kernels, a, moved, u) / kernels.assembly.energy <= 0.1 * foretold


def _balanced(kernels: Core, a: Arrays, u: Array) -> Arrays:
    """The state with the multipliers that leave the least out of balance."""
    if not kernels.rows:
        return a
    unit = units(kernels)
    zero = replace(a, multipliers=np.zeros(kernels.rows))
    found = constrained(kernels, zero, u)
    lam = np.linalg.lstsq(found.J.T, -found.force, rcond=1e-10)[0]
    return replace(a, multipliers=kernels.assembly.energy * lam / unit)


def trusted_step(values: Array, pull: Array, length: float, falls: bool = False) -> Array:
    """Minimiser of ½ z·diag(values) z - pull·z within |z| <= length; values ascending.

    Where it ``falls`` (values[0] < 0) the minimiser lies at the full length: what the pull leaves of it goes along the
    first motion, the hard case of Moré and Sorensen.
    """
    if not values.size:
        return pull
    floor = 1e-10 * max(1.0, float(np.max(np.abs(values))))
    least = max(0.0, -float(values[0])) + (floor if values[0] < floor else 0.0)

    def at(shift: float) -> Array:
        return pull / (values + shift)

    if (inside := float(np.linalg.norm(at(least)))) <= length:
        z = at(least)
        if falls:
            rest = np.sqrt(max(length**2 - inside**2 + z[0] ** 2, 0.0))
            z[0] = rest if z[0] >= 0.0 else -rest
        return z
    low, high = least, least + float(np.linalg.norm(pull)) / length
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(at(middle)) > length else (low, middle)
    return at(high)
