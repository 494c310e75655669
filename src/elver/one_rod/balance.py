"""Is a shape in balance? Judged from the strain alone, whatever found it.

Poses follow from the strain by Magnus steps. In world axes about one point, wrenches of all loads beyond s simply add,

    W(s) = W_tip + ∫_s^L coAd(g) F̄ dσ,     Λ(s) = coAd(g)⁻¹ W(s),

W_tip being the wrench on the tip: given loads, and the reaction of what is held there. That reaction, six numbers at
most, is the one for which Λ fits best the stress Λ_act + 𝓗(ξ-ξ₀) of the law in the free strains. What then is missing
is the imbalance of the shape. Nothing is shared with the equations that shooting, transcription or modes solve.

Six-vectors angular first; imbalance in EI/L (EI/L² of forces), gaps of the ends in lengths of the rod and rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.lie import se3, so3
from elver.lie.integration import magnus
from elver.one_rod.problem import End, RodProblem
from elver.one_rod.result import StrainField

__all__ = ["Balance", "balance"]

Array: TypeAlias = NDArray[np.float64]

_INTERVALS = 64


@dataclass(frozen=True, eq=False)
class Balance:
    """How far a strain field is from an equilibrium of a problem."""

    imbalance: float
    """Largest stress that is missing in a free strain, in EI/L and EI/L²."""
    gap: float
    """Largest distance of a held component of the tip from where it is held, in lengths of the rod and rad."""
    s: Array
    """Nodes asked for (n,) [m]."""
    stress: Array
    """Λ (n, 6) there, from loads and reactions alone, in all six components."""
    largest: float
    """Largest stress of the law, in the units of ``imbalance``."""


def balance(problem: RodProblem, strain: StrainField, base: Array, nodes: Array) -> Balance:
    """The balance of ``strain`` with the base at the pose ``base`` (4, 4); ``nodes`` (n,) [m] join the quadrature.

    Where a strain jumps, put a node: the law is asked in the middle of the intervals.
    """
    L, EI, free = problem.length, problem.bending_stiffness, list(problem.component)
    unit = np.array([L / EI] * 3 + [L**2 / EI] * 3)
    mesh = np.asarray(nodes, dtype=float)
    more = np.concatenate([np.linspace(0.0, L, _INTERVALS + 1) if mesh.size <= _INTERVALS else [], problem.breaks])
    mesh = np.sort(np.concatenate([mesh, [x for x in more if np.min(np.abs(mesh - x)) > 1e-6 * L]]))
    h = np.diff(mesh)
    half = np.sort(np.concatenate([mesh, mesh[:-1] + 0.5 * h]))  # nodes and middles
    g = magnus(strain, half, 4, base)

    # wrenches about the base point, in world axes; loads may jump at nodes, which are approached from inside
    about = se3.coAd(_shifted(g, base[:3, 3]))
    start, middle, end = (
        np.einsum("nij,nj->ni", about[at], problem.at(s).body_load(g[at])[0])
        for at, s in (
            (slice(0, -1, 2), mesh[:-1] + 1e-9 * h),
            (slice(1, None, 2), mesh[:-1] + 0.5 * h),
            (slice(2, None, 2), mesh[1:] - 1e-9 * h),
        )
    )
    parts = np.empty((2 * h.size, 6))  # of the parabola through three points, over each half of an interval
    parts[::2] = h[:, None] / 24.0 * (5.0 * start + 8.0 * middle - end)
    parts[1::2] = h[:, None] / 24.0 * (5.0 * end + 8.0 * middle - start)
    W = np.zeros((half.size, 6))
    W[:-1] = np.cumsum(parts[::-1], axis=0)[::-1]
    W += about[-1] @ problem.tip_wrench.at(g[-1])[0]

    # the law in the middles, and the columns of the reactions at the tip
    back = np.linalg.inv(about)
    asked = half[1::2]
    law = problem.at(asked).stress(strain(asked))[0]
    missing = (law - np.einsum("nij,nj->ni", back[1::2], W[1::2]))[:, free] * unit[free]
    columns = _reactions(problem.tip, g[-1], base[:3, 3], L, EI)
    A = (back[1::2] @ columns)[:, free] * unit[free][:, None]
    rows, wanted = [A.reshape(missing.size, columns.shape[1])], [missing.ravel()]
    if not problem.base.is_clamped:  # a base that is free somewhere is in balance there, with the tip of a ring
        own = _reactions(problem.base, g[0], base[:3, 3], L, EI)
        at_base = unit[:, None] * np.hstack([(0.0 if problem.closed else 1.0) * columns, own])
        load = about[0] @ problem.base_wrench.at(g[0])[0]
        given = W[0] - (about[-1] @ problem.tip_wrench.at(g[-1])[0] if problem.closed else 0.0)
        rows = [np.hstack([rows[0], np.zeros((len(rows[0]), own.shape[1]))]), at_base]
        wanted.append(-unit * (given + load))
    matrix, target = np.vstack(rows), np.concatenate(wanted)
    reaction = np.linalg.lstsq(matrix, target, rcond=1e-12)[0]
    left = target - matrix @ reaction
    W += columns @ reaction[: columns.shape[1]]

    near = np.searchsorted(half, nodes - 1e-12 * L)
    return Balance(
        imbalance=float(np.max(np.abs(left))),
        gap=_gap(problem, g[0], g[-1]),
        s=np.array(nodes),
        stress=np.einsum("nij,nj->ni", back[near], W[near]),
        largest=float(np.max(np.abs(law[:, free] * unit[free]))),
    )


def _shifted(g: Array, origin: Array) -> Array:
    out = g.copy()
    out[:, :3, 3] -= origin
    return out


def _held_turn(end: End, g: Array) -> Array:
    """Θ = log(R_holdᵀ R)."""
    return np.asarray(so3.log(end.pose[:3, :3].T @ g[:3, :3]))


def _reactions(end: End, g: Array, origin: Array, L: float, EI: float) -> Array:
    """World wrenches (6, held) about ``origin`` that work on what is held at an end, of the sizes EI/L and EI/L²."""
    R, p = g[:3, :3], g[:3, 3] - origin
    columns = []
    if end.rotation_axes:
        moments = R @ so3.dexp_inv(_held_turn(end, g)).T  # δΘ = dexp_inv(Θ) δζ
        columns += [EI / L * np.concatenate([moments[:, i], np.zeros(3)]) for i in end.rotation_axes]
    for j in end.position_axes:
        force = np.eye(3)[j]
        columns.append(EI / L**2 * np.concatenate([np.cross(p, force), force]))
    return np.array(columns).reshape(-1, 6).T


def _gap(problem: RodProblem, base: Array, tip: Array) -> float:
    """Of the held components of the tip; of a ring, whose base may be elsewhere, from where its base is."""
    end = problem.tip
    if not end.held:
        return 0.0
    if problem.closed:
        end = End.clamped(base @ se3.inverse(problem.base.pose) @ end.pose)
    turn = _held_turn(end, tip) if end.rotation_axes else np.zeros(3)
    way = (tip[:3, 3] - end.pose[:3, 3]) / problem.length
    return float(np.max(np.abs(np.concatenate([turn[list(end.rotation_axes)], way[list(end.position_axes)]]))))
