"""What conserving steps know of a system: motion that moves no mass, and joints by which parts float apart.

Theory: docs/theory/time-integration.md, eq. (floats), (put-back).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.states import arrays
from elver.environment import JointFeedback
from elver.kernels.build import entry
from elver.kernels.march.passage import Passage, passage_for
from elver.mechanism import Floating

if TYPE_CHECKING:
    from elver.dynamics.core import Core

__all__ = ["adrift", "floating_of", "light_of", "mass_of", "passage_of"]

Array = NDArray[np.float64]

# Of the largest inertia, in units of the coordinates: what rates without any weigh where velocities are put back, and
# what counts as none.
_LIGHT, _SINGULAR = 1e-8, 1e-13
# Of the scale of energy, EI/L or a weight lifted: what rounding moves in a robot at rest, with much room (amplitudes
# are some 1e-12 of it, energies go with the square). What steps owe is measured with no less.
_AT_REST = 1e-15
# Pivot of the elimination along the tree from which no motion is without inertia.
_CLEAR = 1e-10


def passage_of(kernels: Core, mass_front: NDArray[np.int64] | None = None) -> Passage:
    """Arrays of conserving steps; with the table of a front those that go along the tree."""
    if mass_front is None:
        kernels.make_room()
    inputs, floating = kernels.system.input_size, floating_of(kernels)
    passage = passage_for(kernels.program, kernels.rows, inputs, light_of(kernels), floating, mass_front)
    passage.most[0] = _AT_REST * kernels.assembly.energy
    return passage


def light_of(kernels: Core) -> Array:
    """Small weights (n,) of the rates of coordinates where some motion at rest moves no mass; zeros where none does.

    Not of rotors, nor of joints by which parts float: their rows are the balance of momentum.
    """
    p, offset, none = kernels.program, kernels.coordinates - kernels.n, np.zeros(kernels.n)
    scale = kernels.assembly.scale
    if kernels.steps_along_tree and _mass_pivot(kernels) > _CLEAR:
        return none
    M = mass_of(kernels) * np.outer(scale, scale)
    most = float(np.max(np.diagonal(M), initial=0.0))
    try:
        if np.min(np.diagonal(np.linalg.cholesky(M))) ** 2 > _SINGULAR * most:
            return none
    except np.linalg.LinAlgError:
        pass
    light = np.where(p.rotor > 0.0, 0.0, _LIGHT * most / scale[offset:] ** 2)
    for segment in p.segment[list(floating_of(kernels))]:
        light[segment[3] : segment[3] + segment[4]] = 0.0
    return light


def _mass_pivot(kernels: Core) -> float:
    """Smallest pivot of the matrix of inertia at rest, eliminated along the tree, of what it is compared with."""
    a, inputs, weights = arrays(kernels.system.rest()), np.zeros(kernels.system.input_size), np.array([1.0, 0.0, 0.0])
    entry.evaluate_residual(kernels.robot, a.base, a.twist, a.q, a.multipliers, inputs, 3)
    entry.evaluate_frames(kernels.robot, a.base, a.multipliers, inputs, 3)
    kernels.work.stiffness[:, :, :6] = kernels.work.stiffness[:, :, 12:]
    kernels.work.force[:] = 0.0
    kernels.mass_front.extra[:] = kernels.program.rotor
    columns = np.zeros((18, 6))
    columns[:3, :3] = columns[3:6, 3:] = a.base[:3].T
    return entry.home(kernels.robot, kernels.mass_table, a.q, a.multipliers, inputs, columns, weights, 0)


def adrift(kernels: Core) -> tuple[str, ...]:
    """Coordinates of a motion at rest that moves no mass and that neither stiffness nor damping resists; few names."""
    scale, offset = kernels.assembly.scale, kernels.coordinates - kernels.n
    M, K, D = (_tangent_at_rest(kernels, k) * np.outer(scale, scale) for k in (2, 0, 1))
    moves = np.ones(kernels.coordinates, dtype=bool)
    moves[offset + kernels.program.imposed[:, 0]] = False
    values, vectors = np.linalg.eigh(0.5 * (M + M.T)[np.ix_(moves, moves)])
    massless = vectors[:, values <= _SINGULAR * max(values[-1], np.finfo(float).tiny)] if values.size else vectors
    if not massless.size:
        return ()
    units = [max(float(np.linalg.norm(A)), np.finfo(float).tiny) for A in (K, D)]
    resisted = np.vstack([A[:, moves] @ massless / unit for A, unit in zip((K, D), units, strict=True)])
    _, sizes, right = np.linalg.svd(resisted)
    free = right[np.count_nonzero(sizes > _LIGHT * max(np.max(sizes, initial=0.0), _SINGULAR)) :]
    if not free.size:
        return ()
    motion = np.zeros(kernels.coordinates)
    motion[moves] = np.max(np.abs(massless @ free.T), axis=1)
    base = tuple(f"base/{name}" for name in ("rotation", "position")) if offset else ()
    parts = np.array([*np.repeat(base, 3), *kernels.system.coordinate_names])
    return tuple(dict.fromkeys(parts[motion > 0.1 * np.max(motion)].tolist()))


def mass_of(kernels: Core) -> Array:
    """The mass matrix at rest, (coordinates, coordinates)."""
    return _tangent_at_rest(kernels, 2)


def _tangent_at_rest(kernels: Core, rate: int) -> Array:
    """Variation of the residual with coordinates (0), rates (1), accelerations (2); no Python function is asked."""
    own, a, c = kernels.released, arrays(kernels.system.rest()), kernels.coordinates
    inputs, columns, weights = np.zeros(kernels.system.input_size), np.zeros((18, 6)), np.zeros(3)
    columns[6 * rate : 6 * rate + 6], weights[rate] = np.eye(6), 1.0
    own.make_room()
    entry.evaluate_residual(own.robot, a.base, a.twist, a.q, a.multipliers, inputs, 3)
    entry.evaluate_tangent(own.robot, a.base, a.q, a.multipliers, inputs, columns, weights, 3)
    return own.work.matrix[:c, :c].copy()


def floating_of(kernels: Core) -> tuple[int, ...]:
    """Segments of joints by which parts float in a world at rest, where nothing acts on their coordinates."""
    p, system = kernels.program, kernels.system
    if p.free[0] or kernels.driven:
        return ()
    held = np.zeros(kernels.n, dtype=bool)
    held[p.imposed[:, 0]] = True
    held |= (p.friction[:, 0] != 0.0) | (p.stop[:, 2] != 0.0) | (p.rotor != 0.0)
    held |= np.any(p.K_elastic != 0.0, axis=1) | np.any(p.D_elastic != 0.0, axis=1)
    held |= np.any(p.muscle_force != 0.0, axis=0)
    for part in system.feedback:
        for joint in part.driven if isinstance(part, JointFeedback) else ():
            held[system.coordinates(joint)] = True
    found = []
    for branch in system.mechanism.tree.branches:
        if isinstance(branch.joint, Floating) and branch.parent.part == "world":
            first, count = system.blocks[branch.joint]
            if not np.any(held[first : first + count]):
                found.append(int(np.flatnonzero((p.segment[:, 3] == first) & (p.segment[:, 4] == count))[0]))
    return tuple(found)
