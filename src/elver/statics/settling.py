"""Rest by descent: the way a robot takes when it is let go in honey.

Newton finds any point of balance that is near, also one that tips over, and fails far from all. Here every step lowers
the potential on the motions that the closures allow: with Z their basis and H = Zᵀ K Z,

    (H + δ) z = -Zᵀ(g + K p) ,   p = -J⁺ Ψ ,   δ ≥ 0 such that H + δ > 0 and |Z z| within the trusted length

(Moré and Sorensen 1983), and the closures are met again after each. No potential is evaluated, since not every load has
one: a step is too long where the force along it has turned against it by more than half.

Theory: docs/theory/statics.md, eq. (settling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Arrays, Core
from elver.statics.closing import free_coordinates, gap, project, retract, units

__all__ = ["Constrained", "constrained", "null_space", "settle"]

Array: TypeAlias = NDArray[np.float64]

# Stiffness of a motion that nothing resists, relative to that of its parts: rounding, with room.
_NEUTRAL = 1e-11


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


def settle(kernels: Core, a: Arrays, u: Array, tolerance: float, steps: int = 300) -> tuple[Arrays, int, float] | None:
    """Rest reached by descent from ``a``: its state, the number of steps and the residual; None where there is none."""
    longest = float(units(kernels).max(initial=1.0))
    trusted = 0.3
    a = _balanced(kernels, project(kernels, a, u), u)
    if gap(kernels, a, u) > 1e-6:
        return None
    now = constrained(kernels, a, u)
    for step in range(steps):
        residual = max(float(np.max(np.abs(now.force), initial=0.0)), longest * gap(kernels, a, u))
        if residual < tolerance:
            return a, step, residual
        values, vectors = np.linalg.eigh(0.5 * (now.H + now.H.T))
        pull = -vectors.T @ (now.Z.T @ now.force)
        move = now.Z @ (vectors @ _trusted(values, pull, trusted))
        for _ in range(40):
            full = np.zeros(kernels.coordinates)
            full[now.free] = now.scale * move
            moved = project(kernels, retract(kernels, a, full), u)
            if gap(kernels, moved, u) < 1e-8:
                moved = _balanced(kernels, moved, u)
                then = constrained(kernels, moved, u)
                before, after = float(move @ now.force), float(move @ then.force)
                small = abs(before) < 1e-13  # rounding decides no more
                if np.isfinite(after) and (after <= -0.5 * before or small):
                    break
            move *= 0.5
            trusted *= 0.5
        else:
            return None
        if float(np.max(np.abs(move), initial=0.0)) < 1e-15 and residual > tolerance:
            return None
        trusted = min(1.5, 1.6 * trusted)
        a, now = moved, then
    return None


def _balanced(kernels: Core, a: Arrays, u: Array) -> Arrays:
    """The state with the multipliers that leave the least out of balance."""
    if not kernels.rows:
        return a
    unit = units(kernels)
    zero = replace(a, multipliers=np.zeros(kernels.rows))
    found = constrained(kernels, zero, u)
    lam = np.linalg.lstsq(found.J.T, -found.force, rcond=1e-10)[0]
    return replace(a, multipliers=kernels.assembly.energy * lam / unit)


def _trusted(values: Array, pull: Array, length: float) -> Array:
    """Minimiser of ½ z·diag(values) z - pull·z within |z| <= length (without the hard case)."""
    if not values.size:
        return pull
    floor = 1e-10 * max(1.0, float(np.max(np.abs(values))))
    least = max(0.0, -float(values[0])) + (floor if values[0] < floor else 0.0)

    def at(shift: float) -> Array:
        return pull / (values + shift)

    if float(np.linalg.norm(at(least))) <= length:
        return at(least)
    low, high = least, least + float(np.linalg.norm(pull)) / length
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(at(middle)) > length else (low, middle)
    return at(high)
