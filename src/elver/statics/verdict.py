"""Stability of equilibria: the second variation of the potential on the motions that closures allow.

    Zᵀ K Z > 0 ,   J Z = 0                                    (with a potential)
    all eigenvalues of (Zᵀ M Z)⁻¹ Zᵀ K Z real and positive    (without: followers, couples fixed in space)

A motion along which the second variation vanishes is neutral: nothing resists it (a round cable rolls between two
balls), or the shape is about to buckle.

Theory: docs/theory/statics.md, eq. (second-variation), (small-motions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core, core
from elver.dynamics.increments import nature
from elver.dynamics.states import Arrays
from elver.statics.moving import gyroscopic_growth
from elver.statics.settling import Constrained
from elver.system import System

__all__ = ["Stable", "Verdict", "flutter", "free_motions", "in_words", "reduced", "symmetric", "verdict", "verdict_at"]

Array: TypeAlias = NDArray[np.float64]
Stable: TypeAlias = bool | Literal["neutral"]

# Second variation of a motion that is neutral, where the stiffness of each coordinate is one: rounding, with more room
# below, since a shape that balances to 1e-10 and not better may seem to fall by as much.
_SOFTEST, _NONE = 1e-11, 1e-9
_NO_DOUBT = 1e-9  # least second variation, the stiffness of each coordinate being one
_SKEW = 1e-6  # part of a stiffness that is not symmetric, and still rounding
_RATES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # weights of the tangents D = ∂R/∂q̇ and M = ∂R/∂q̈
_NONE_OF_RATES = 1e-12  # the same of squared frequencies, as part of the largest


@dataclass(frozen=True)
class Verdict:
    """Whether an equilibrium is stable, and the motion that decides."""

    stable: Stable
    motion: str = ""
    """Coordinates that take most part in the motion that lowers the potential, or that nothing resists."""


def reduced(matrix: Array, kernels: Core, own: Array | None = None) -> tuple[Array, Array]:
    """Scaled Hessian on the motions allowed by the closures, and their basis in scaled coordinates."""
    c, scale = kernels.coordinates, kernels.assembly.scale if own is None else own
    K = scale[:, None] * matrix[:c, :c] * scale
    imposed = np.eye(c)[c - kernels.n + kernels.program.imposed[:, 0]]
    J = np.vstack([matrix[c:, :c] * scale, imposed])
    if J.size == 0:
        return K, np.eye(c)
    _, sizes, Vt = np.linalg.svd(J)
    rank = int(np.sum(sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)))
    Z = Vt[rank:].T
    return Z.T @ K @ Z, Z


def verdict_at(kernels: Core, a: Arrays, u: Array) -> Verdict:
    """:func:`verdict` at a shape in balance; where the tree itself leaves no doubt, without the matrix."""
    if kernels.along_tree and not kernels.tied and not kernels.system.free and not kernels.moves(a, u):
        skew, softest = nature(kernels, a, u)
        if skew < _SKEW and softest > _NO_DOUBT:
            return Verdict(True)
    return verdict(kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1), kernels, a, u)


def verdict(matrix: Array, kernels: Core, a: Arrays, u: Array) -> Verdict:
    """Stable where no small motion about the equilibrium grows, and none is free; ``matrix`` is the tangent at rest.

    With a potential the Hessian decides. Follower loads and couples fixed in space have none: then M⁻¹K decides,
    whose eigenvalues must be real and positive (a negative one is divergence, a complex pair flutter; damping left
    out). At rest in a frame that moves, what stiffness does not hold gyroscopic forces may.
    """
    c, scale = kernels.coordinates, kernels.assembly.scale
    K, Z = reduced(matrix, kernels)
    if kernels.moves(a, u) and not (symmetric(K) and np.linalg.eigvalsh(K)[0] > 0.0):
        D, M = (Z.T @ (scale[:, None] * kernels.tangent(a, u, w)[:c, :c] * scale) @ Z for w in _RATES)
        growth, slowest = gyroscopic_growth(M, D, K)
        if growth < 1e-6 and slowest > 1e-6:
            return Verdict(True)
        softest = np.linalg.eigh(0.5 * (K + K.T))[1][:, :1]
        return Verdict("neutral" if growth < 1e-6 else False, in_words(kernels.system, scale[:, None] * (Z @ softest)))
    if not symmetric(K):
        mass = kernels.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]
        values, vectors = np.linalg.eig(np.linalg.solve(Z.T @ (scale[:, None] * mass * scale) @ Z, K))
        none = np.abs(values) <= _NONE_OF_RATES * np.max(np.abs(values), initial=0.0)
        # equal pairs (a round section) split by the root of rounding
        grows = (values.real <= 0.0) | (np.abs(values.imag) > 1e-5 * np.abs(values))
        if not np.any(grows):
            return Verdict(True)
        first = grows & ~none if np.any(grows & ~none) else grows
        motions = scale[:, None] * (Z @ vectors[:, first].real)
        return Verdict(False if np.any(grows & ~none) else "neutral", in_words(kernels.system, motions))
    # coordinates in units in which their own stiffness is one: a pivot that is rounding is then seen as such
    own = np.sqrt(np.maximum(np.abs(np.diag(matrix)[:c]) * scale**2 / kernels.assembly.energy, 1.0))
    K, Z = reduced(matrix, kernels, scale / own)
    K = 0.5 * (K + K.T) / kernels.assembly.energy
    try:  # without an eigenvalue, where a bound on the least one leaves no doubt: pivots alone may be large without it
        if float(np.linalg.norm(np.linalg.inv(np.linalg.cholesky(K)))) < _NO_DOUBT**-0.5:
            return Verdict(True)
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(K)
    if values[0] > _SOFTEST:
        return Verdict(True)
    falls = values < -_NONE
    deciding = falls if np.any(falls) else values <= _SOFTEST
    motions = (scale / own)[:, None] * (Z @ vectors[:, deciding])
    return Verdict(False if np.any(falls) else "neutral", in_words(kernels.system, motions))


def flutter(matrix: Array, kernels: Core, a: Arrays, u: Array) -> float:
    """Largest growth of an undamped small motion in one radian of it; infinite where one grows without oscillating.

    With ω² an eigenvalue of M⁻¹K the motion exp(iωt) grows by |Im ω|/|ω| per radian: damping of that ratio holds it.
    """
    c, scale = kernels.coordinates, kernels.assembly.scale
    K, Z = reduced(matrix, kernels)
    if symmetric(K) or kernels.moves(a, u):
        return np.inf
    mass = kernels.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(Z.T @ (scale[:, None] * mass * scale) @ Z, K)).astype(complex))
    return float(np.max(np.where(omega.real > 0.0, np.abs(omega.imag) / np.maximum(np.abs(omega), 1e-300), np.inf)))


def symmetric(K: Array) -> bool:
    """True where the forces have a potential, by their stiffness."""
    return bool(np.max(np.abs(K - K.T), initial=0.0) < _SKEW * np.max(np.abs(K), initial=1.0))


def free_motions(here: Constrained) -> str:
    """Motions that nothing resists, in words: how many, and the coordinates that take most part; empty if none."""
    motions = here.neutral()
    if not motions.shape[1]:
        return ""
    count = motions.shape[1]
    return f"{'a motion' if count == 1 else f'{count} motions'} of {in_words(here.kernels.system, motions)}"


def in_words(system: System, motions: Array) -> str:
    """Names of the coordinates with the largest part in some motions (coordinates, count), given in their units."""
    base = tuple(f"base/{kind}_{axis}" for kind in ("rotation", "position") for axis in "xyz") if system.free else ()
    names = (*base, *system.coordinate_names)
    share = np.linalg.norm(motions / core(system).assembly.scale[:, None], axis=1)
    order = [k for k in np.argsort(-share, kind="stable") if share[k] > 0.3 * share.max()]
    return ", ".join(names[k] for k in order[:4]) + (", ..." if len(order) > 4 else "")
