"""Wrenches inside a robot, by balance: what passes through every joint and along every rod.

The recursion sums what all frames beyond a place demand (inertia less loads), in world axes about one point. There
the balance Λ′ = ad(ξ)ᵀΛ + 𝓜η̇ - ad(η)ᵀ𝓜η - F̄ of a rod is a plain sum: with f(s) the density of the demand, c_k what
is demanded at points of the rod (loads, closures, other parts), F_root what its parent exerts at s_root,

    Λ(s) = - ∫_s^L f ds - Σ_{s_k ≥ s} c_k + F_root [s_root ≥ s] .

f is known at the quadrature points; its polynomial through those of an element is integrated, which at the ends of
the element is the sum of the recursion itself. All six components come out, those of strains that are not free too.

Theory: docs/theory/recursion.md, eq. (rows); docs/theory/rods.md, eq. (balance).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from elver.dynamics.assembly import Assembly
from elver.dynamics.collocation import with_integration
from elver.dynamics.core import core
from elver.dynamics.spectral import SpectralCore
from elver.results.history import History
from elver.rods import Magnus

__all__ = ["Wrenches", "rod_stress", "to_frame", "wrenches"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Wrenches:
    """Motion of all frames and what passes through them, time first; world axes, about the base point."""

    assembly: Assembly
    pose: Array  # (T, frames, 4, 3) rows of R, then p from the base point
    eta: Array  # (T, frames, 6) twist
    acc: Array  # (T, frames, 6) its rate
    force: Array  # (T, frames, 6) what a frame and all beyond it demand
    closure: Array  # (T, closures, 6) what each closure demands of its follower
    origin: Array  # (T, 3) the base point in the world [m]


def wrenches(history: History) -> Wrenches:
    """Evaluate the recursion at every instant."""
    kernels = core(history.system)
    if isinstance(kernels, SpectralCore):  # which works without frames; its modes mean the same on them
        kernels = core(with_integration(history.system, Magnus(order=6)))
    kernels = kernels.apart
    T, F = history.times.size, kernels.program.inertia.shape[0]
    names = ("pose", "eta", "acc", "force", "closure_force")
    out = {name: np.zeros((T, *getattr(kernels.work, name).shape)) for name in names}
    for k in range(T):
        a, u = history.at(k)
        kernels.residual(a, u)
        for name, values in out.items():
            values[k] = getattr(kernels.work, name)
    assert out["pose"].shape[1] == F
    return Wrenches(
        kernels.assembly, out["pose"], out["eta"], out["acc"], out["force"], out["closure_force"], history.base[:, 3]
    )


def to_frame(R: Array, p: Array, wrench: Array) -> Array:
    """(Rᵀ(C - p×N); RᵀN): a wrench about the base point in the axes R (…, 3, 3) and about the origin p (…, 3)."""
    C, N = wrench[..., :3], wrench[..., 3:]
    both = np.stack([C - np.cross(p, N), N], axis=-1)
    turned = np.swapaxes(R, -1, -2) @ both
    return np.concatenate([turned[..., 0], turned[..., 1]], axis=-1)


def rod_stress(found: Wrenches, rod: int, s: Array) -> Array:
    """Λ at ``s`` [m] of a rod, by its place in the assembly, (T, len(s), 6) in world axes about the base point.

    At a concentrated load, just before it (nearer to the base); at the base itself just after.
    """
    at = list(found.assembly.rods.values())[rod]
    length = at.s[-1]
    density, points = _demand(found, at.frames, at.weights)
    beyond = np.where(s > 0.0, s, 1e-10 * length)  # just after the base
    stress = np.zeros((found.force.shape[0], s.size, 6))
    for a, b in pairwise(at.ends):
        own = (at.weights > 0.0) & (at.s > a) & (at.s < b)
        stress -= _integral(at.s[own], at.weights[own], density[:, own], (a, b), np.clip(s, a, b))
    reached = at.s[None, :] >= beyond[:, None] - 1e-11 * length
    stress -= np.einsum("sk,tkc->tsc", reached.astype(float), points)
    root = found.force[:, at.frames[at.root]]
    return stress + reached[:, at.root, None] * root[:, None]


def _demand(found: Wrenches, frames: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Density of what a rod demands at its quadrature points, and what is demanded at its nodes, (T, nodes, 6)."""
    segment = found.assembly.program.segment
    own = {int(f) for f in frames}
    points = np.zeros((found.force.shape[0], frames.size, 6))
    along = np.zeros_like(points)
    for parent, first, count, *_ in segment:
        if parent in own and count and int(first) + 1 not in own:
            points[:, frames == parent] += found.force[:, None, first + 1]
    # within the rod's own segments each frame hands on to the one after it
    for parent, first, count, *_ in segment:
        if count and int(first) + 1 in own:
            chain = [int(parent), *range(int(first) + 1, int(first) + int(count) + 1)]
            for before, after in pairwise(chain):
                along[:, frames == before] += found.force[:, None, after]
    demand = found.force[:, frames] - along - points
    spread = weights > 0.0
    points[:, ~spread] += demand[:, ~spread]
    density = np.where(spread[:, None], demand, 0.0) / np.where(spread, weights, 1.0)[:, None]
    return density, points


def _integral(x: Array, weights: Array, density: Array, ends: tuple[float, float], s: Array) -> Array:
    """∫_s^b of the polynomial through ``density`` (T, m, 6) at the Gauss points ``x`` of an element (a, b)."""
    a, b = ends
    m, h = x.size, b - a
    z, at = (2.0 * x - a - b) / h, (2.0 * s - a - b) / h
    orders = 2.0 * np.arange(m) + 1.0
    # Legendre coefficients by the rule itself, which is exact for products of degree 2 m - 2
    coefficients = np.einsum("j,i,ij,tic->tjc", orders / h, weights, legvander(z, m - 1), density)
    P = legvander(at, m)
    integral = np.empty((s.size, m))
    integral[:, 0] = 1.0 - at
    integral[:, 1:] = (P[:, : m - 1] - P[:, 2:]) / orders[1:] if m > 1 else 0.0
    return 0.5 * h * np.einsum("sj,tjc->tsc", integral, coefficients)
