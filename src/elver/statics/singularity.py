"""Singularities of robots: where inputs stop moving the platform, or stop holding it.

With the driven joints as inputs a, the other coordinates x, and the twist of the platform η_p = G_x ẋ + G_a ȧ,

    [K_xx  J_xᵀ] [ẋ]     [K_xa]
    [J_x   0   ] [λ̇] = - [J_a ] ȧ ,        η_p = T ȧ .

*Input* (serial, type 1): T loses rank, some motion of the inputs leaves the platform where it is. *Output* (parallel,
type 2): the matrix loses rank, the platform moves though the inputs are held. For rigid parts that is a rank loss of
J_x (Gosselin and Angeles 1990); for elastic ones the stiffness on the motions that closures allow vanishes, and beyond
it the robot snaps (Briot and Goldsztejn 2022).

Theory: docs/theory/statics.md, eq. (singularity).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Imposed, Motor
from elver.dynamics.core import core
from elver.errors import BadInput, expect, positive
from elver.guards import guarded
from elver.mechanism import Hold, Part
from elver.statics.continuation import BranchPoint
from elver.statics.equilibrium import Equilibrium
from elver.statics.gaps import units
from elver.statics.moving import at_rest
from elver.statics.settling import null_space
from elver.statics.target import Target, input_units
from elver.statics.verdict import in_words
from elver.system import System
from elver.words import brief

__all__ = ["Singularity", "singularity"]

Array: TypeAlias = NDArray[np.float64]


@brief
@dataclass(frozen=True, eq=False)
class Singularity:
    """How near a robot is to its singularities; rad, lengths of the robot and EI/L are the units of all figures."""

    kinds: tuple[str, ...]
    """Of "input" (serial, type 1) and "output" (parallel, type 2), those that are met here."""
    transmission: float
    """Least motion of the platform per motion of the inputs; 0 at an input singularity, inf without inputs."""
    stiffness: float
    """Least stiffness, in magnitude, while the inputs are held; 0 at an output singularity of elastic parts."""
    closure: float
    """Least singular value of the closures on what the inputs leave free; 0 at an output singularity of rigid parts."""
    free: str
    """Coordinates that move most in the softest motion with the inputs held, or in the one that closures allow."""
    idle: dict[str, float]
    """Motion of the inputs that moves the platform least, by name, of length one in their units."""
    twist: Array
    """Twist (6,) of the platform in the softest motion with the inputs held, world axes, of length one; or zero."""


@guarded
def singularity(
    system: System,
    at: Equilibrium | BranchPoint,
    part: Part | str | None = None,
    *,
    locked: bool = True,
    tolerance: float = 1e-3,
) -> Singularity:
    """Singularities of a robot at an equilibrium, seen from the platform ``part`` (a body, a rod's tip, or a name).

    ``locked`` motors hold their joint, as geared ones do; else they hold their torque. A figure below ``tolerance``
    counts as singular.
    """
    positive("tolerance", tolerance, "(rad, lengths of the robot, EI/L)")
    found = at.equilibrium if isinstance(at, BranchPoint) else at
    expect("singularity", "at", found, Equilibrium, wanted="an Equilibrium", example="equilibrium(system, inputs)")
    part = system.mechanism.part(part) if isinstance(part, str) else (part or _only(system))
    kernels, a, u = core(system), at_rest(found.state), found.inputs
    c, E = kernels.coordinates, kernels.assembly.energy
    scale = kernels.assembly.scale
    driven = _driven(system, locked)
    free = np.ones(c, dtype=bool)
    free[list(driven.values())] = False

    matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
    K = scale[:, None] * matrix[:c, :c] * scale / E
    kept = np.any(matrix[c:, :c], axis=1)
    J = (matrix[c:, :c] * scale / units(kernels)[:, None])[kept]
    G = _twist_map(system, part, found) * scale
    G[3:] /= kernels.assembly.length

    closure, stiffness, motion = _held(K, J, free)
    twist = G @ motion
    size = float(np.linalg.norm(twist))

    columns = []
    for k in range(len(system.actuators)):
        if k in driven:
            columns.append(np.concatenate([K[free, driven[k]], J[:, driven[k]]]))
        else:
            slope = kernels.input_slope(a, u, k) * input_units(kernels, [k])[0]
            columns.append(np.concatenate([(scale * slope[:c] / E)[free], (slope[c:] / units(kernels))[kept]]))
    transmission, idle = _moved(K, J, G, free, columns, driven)
    kinds = tuple(
        kind for kind, value in (("input", transmission), ("output", min(stiffness, closure))) if value < tolerance
    )
    free_text = in_words(system, (scale * motion)[:, None]) if np.any(motion) else ""
    names = {system.channel_names[k]: float(x) for k, x in enumerate(idle)}
    return Singularity(kinds, transmission, stiffness, closure, free_text, names, twist / size if size else twist)


def _driven(system: System, locked: bool) -> dict[int, int]:
    """Coordinates that inputs prescribe, by actuator; the others are columns of the residual."""
    base = core(system).coordinates - core(system).n
    driven: dict[int, int] = {}
    for k, actuator in enumerate(system.actuators):
        if isinstance(actuator, Imposed):
            driven[k] = base + system.coordinates(actuator.target).start + actuator.index
        elif isinstance(actuator, Motor) and locked:
            driven[k] = base + system.coordinates(actuator.joint).start + actuator.index
    return driven


def _held(K: Array, J: Array, free: NDArray[np.bool_]) -> tuple[float, float, Array]:
    """With inputs held: the least singular value of closures, the least stiffness, and the motion of the lesser."""
    J_x = J[:, free]
    sizes = np.linalg.svd(J_x, compute_uv=False)
    closure = float(sizes[-1]) if 0 < J_x.shape[0] <= J_x.shape[1] else (0.0 if J_x.shape[0] else np.inf)
    Z = null_space(J_x)
    H = Z.T @ K[np.ix_(free, free)] @ Z
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    softest = int(np.argmin(np.abs(values))) if values.size else -1
    stiffness = float(abs(values[softest])) if values.size else np.inf
    motion = np.zeros(free.size)
    if values.size and (stiffness <= closure or not J_x.shape[0]):
        motion[free] = Z @ vectors[:, softest]
    elif J_x.size:
        motion[free] = np.linalg.svd(J_x)[2][J_x.shape[0] - 1]
    return closure, stiffness, motion


def _moved(
    K: Array, J: Array, G: Array, free: NDArray[np.bool_], columns: list[Array], driven: dict[int, int]
) -> tuple[float, Array]:
    """With inputs moved: the least gain of the platform's motion, and the inputs that have it."""
    if not columns:
        return np.inf, np.zeros(0)
    J_x = J[:, free]
    bordered = np.block([[K[np.ix_(free, free)], J_x.T], [J_x, np.zeros((J_x.shape[0],) * 2)]])
    answer = -np.linalg.lstsq(bordered, np.column_stack(columns), rcond=1e-13)[0][: int(free.sum())]
    T = G[:, free] @ answer
    for k, coordinate in driven.items():
        T[:, k] += G[:, coordinate]
    _, gains, directions = np.linalg.svd(T)
    # motions that the platform has at all, with the inputs let go
    reach = min(len(columns), int(np.sum(np.linalg.svd(G @ null_space(J), compute_uv=False) > 1e-9)))
    return (float(gains[reach - 1]), directions[reach - 1]) if reach else (0.0, directions[0])


def _only(system: System) -> Part:
    """The platform where there is no doubt: the only body, or the only part."""
    bodies = system.mechanism.bodies
    candidates: tuple[Part, ...] = bodies if len(bodies) == 1 else system.mechanism.parts
    if len(candidates) != 1:
        known = ", ".join(repr(part.name) for part in system.mechanism.parts)
        raise BadInput(f"singularity: say which part is the platform with part=..., one of {known}")
    return candidates[0]


def _twist_map(system: System, part: Part, found: Equilibrium) -> Array:
    """Twist (angular, linear) of a part in world axes per rate of base and coordinates, (6, coordinates)."""
    g = found.pose(part)
    hold = Hold("tip", position=tuple(g[:3, 3]), orientation=g[:3, :3], name="target", part=part)  # type: ignore[arg-type]
    target = Target(system, hold)
    own = np.zeros((6, core(system).coordinates))
    # rows of the hold are about the axes of the part, then along those of the world; dropped ones are zero
    first = sum(other.rows for other in system.mechanism.holds)
    own[target.rows - first] = target.gradient(at_rest(found.state))
    own[:3] = g[:3, :3] @ own[:3]
    return own
