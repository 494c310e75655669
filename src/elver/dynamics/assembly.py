"""From a described system to the flat arrays of the kernels.

The rod is cut at its quadrature nodes; between two nodes the pose advances by the exponential of a Lie polynomial
of a few strain moments (Magnus 4 or 6, Runge-Kutta-Munthe-Kaas 4; Gotelli 2024 section 3.8 and the sources named
there). Inertia and distributed loads are lumped at the nodes with their quadrature weights, so the compiled robot
is itself a mechanical system: its energy and momentum balances hold to rounding whatever the number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Muscle, Pressure, SpooledTendon, Tendon
from elver.environment import DistributedWrench, Gravity, PointWrench
from elver.kernels.program import Program
from elver.mechanism import Free
from elver.rods import Magnus, Rod, RungeKuttaMuntheKaas
from elver.system import System

__all__ = ["Assembly", "assemble", "assembly_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LieScheme:
    """One-step pose integrator: α_m = h Σ_j moments[m, j] ξ(s + points[j] h), then a Lie polynomial of the α.

    Each operation is (beta, a, b, {register: weight}): beta [register a, register b] + Σ weight register.
    The signs are those of g′ = g ξ̂ (strain on the right).
    """

    points: tuple[float, ...]
    moments: tuple[tuple[float, ...], ...]
    operations: tuple[tuple[float, int, int, dict[int, float]], ...]


_R3, _R15 = np.sqrt(3.0), np.sqrt(15.0)

MAGNUS_4 = LieScheme(
    points=(0.5 - _R3 / 6.0, 0.5 + _R3 / 6.0),
    moments=((0.5, 0.5), (-_R3, _R3)),
    operations=((1.0 / 12.0, 0, 1, {0: 1.0}),),
)
# Blanes, Casas, Ros 2000: three Gauss points, three commutators.
MAGNUS_6 = LieScheme(
    points=(0.5 - _R15 / 10.0, 0.5, 0.5 + _R15 / 10.0),
    moments=((0.0, 1.0, 0.0), (-_R15 / 3.0, 0.0, _R15 / 3.0), (10.0 / 3.0, -20.0 / 3.0, 10.0 / 3.0)),
    operations=(
        (-1.0, 0, 1, {}),  # 3: C1
        (0.0, 0, 0, {2: 2.0, 3: 1.0}),  # 4: 2 α3 + C1
        (1.0 / 60.0, 0, 4, {1: 1.0}),  # 5: α2 + C2
        (0.0, 0, 0, {0: -20.0, 2: -1.0, 3: 1.0}),  # 6: -20 α1 - α3 + C1
        (-1.0 / 240.0, 6, 5, {0: 1.0, 2: 1.0 / 12.0}),  # 7: Ψ
    ),
)
# Munthe-Kaas 1998 with the classical tableau; the stages sit just inside the interval, where a basis may jump.
_INSIDE = 1e-9
RKMK_4 = LieScheme(
    points=(_INSIDE, 0.5, 1.0 - _INSIDE),
    moments=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    operations=(
        (1.0, 0, 1, {}),
        (1.0 / 48.0, 0, 3, {1: 1.0, 3: 0.25}),  # 4: second slope
        (1.0, 4, 1, {}),
        (1.0 / 48.0, 4, 5, {1: 1.0, 5: 0.25}),  # 6: third slope
        (1.0, 6, 2, {}),
        (1.0 / 12.0, 6, 7, {2: 1.0, 7: 0.5}),  # 8: fourth slope
        (0.0, 0, 0, {0: 1.0 / 6.0, 4: 1.0 / 3.0, 6: 1.0 / 3.0, 8: 1.0 / 6.0}),
    ),
)


@dataclass(frozen=True, eq=False)
class Assembly:
    """The program of a system with the names and scales that its arrays have lost."""

    program: Program
    s: Array  # (frames,) arc length of each frame
    weights: Array  # (frames,) quadrature weights
    scale: Array  # (unknowns,) unit of each unknown in which "one" is a large change
    energy: float  # J, scale of the residual times an unknown


def lie_scheme(rod: Rod) -> LieScheme:
    """The pose integrator that a rod asks for; Magnus 6 draws the poses of a rod solved by collocation."""
    if rod.integration == Magnus(order=4):
        return MAGNUS_4
    if isinstance(rod.integration, RungeKuttaMuntheKaas):
        return RKMK_4
    return MAGNUS_6


def assembly_of(system: System) -> Assembly:
    """Flat arrays of ``system``, made at the first use and kept with it."""
    found = system.__dict__.get("_assembly")
    if found is None:
        found = system.__dict__["_assembly"] = assemble(system)
    return found


def assemble(system: System) -> Assembly:
    """Compile ``system`` into flat arrays."""
    rod = system.rod
    stations, breaks = _marks(system)
    grid = rod.grid_with(stations=stations, breaks=breaks)
    s, weights = grid.s, grid.weights
    frames, n = s.size, rod.n
    scheme = lie_scheme(rod)
    rest, phi = _moments(rod, s, scheme)
    active = [c for c in range(6) if rod.counts[c]]
    starts = np.concatenate([[0], np.cumsum([rod.counts[c] for c in active])])

    inertia = np.zeros((frames, 6, 6))
    inertia[:, range(6), range(6)] = weights[:, None] * rod.inertia(s)

    index = {part: k for k, part in enumerate(system.channels)}
    gravity = next((load for load in system.loads if isinstance(load, Gravity)), None)
    load_frame, load_input, load_follows, load_wrench = _loads(system, s, weights, index)
    point = weights > 0.0
    Phi, ds, sp = rod.functions(s[point]), weights[point], s[point]
    same = rod.component[:, None] == rod.component[None, :]
    H = rod.stiffness(sp)[:, rod.component]
    K_elastic = np.where(same, np.einsum("g,gi,gi,gk->ik", ds, H, Phi, Phi), 0.0)
    D_elastic = rod.material.damping * K_elastic
    tendons = _tendons(system, sp, ds, rod, index)
    muscles = [a for a in system.actuators if isinstance(a, Muscle)]
    muscle_force = np.array(
        [np.einsum("g,gk,gk->k", ds, Phi, m.stress(sp)[:, rod.component]) for m in muscles]
    ).reshape(len(muscles), n)
    hold_frame, hold_pose, row_hold, row_axes = _holds(system, s)
    spooled = np.array(tendons["spooled"], dtype=bool)
    tendon_row = np.where(spooled, len(row_hold) + np.cumsum(spooled) - 1, -1)

    operations = len(scheme.operations)
    moments = len(scheme.moments)
    poly_pair = np.array([[(o[1], o[2]) for o in scheme.operations]])
    poly_linear = np.zeros((1, operations, moments + operations))
    for o, (_, _, _, linear) in enumerate(scheme.operations):
        for j, weight in linear.items():
            poly_linear[0, o, j] = weight

    program = Program(
        free=_ints([isinstance(system.mechanism.base, Free)]),
        segment=_ints([[0, 0, frames - 1, 0, n, 0]]),
        active=_ints([[len(active), *active, *[0] * (6 - len(active))]]),
        component=_ints(rod.component),
        slot_start=_ints([[*starts, *[n] * (7 - len(starts))]]),
        rest=_floats(rest),
        phi=_floats(phi),
        poly_size=_ints([[moments, operations]]),
        poly_pair=_ints(poly_pair),
        poly_beta=_floats([[o[0] for o in scheme.operations]]),
        poly_linear=_floats(poly_linear),
        inertia=_floats(inertia),
        gravity=_floats(gravity.acceleration if gravity else (0.0, 0.0, 0.0)),
        gravity_input=_ints([index[gravity] if gravity else -1]),
        load_frame=_ints(load_frame),
        load_input=_ints(load_input),
        load_follows=_ints(load_follows),
        load_wrench=_floats(np.reshape(load_wrench, (-1, 6))),
        K_elastic=_floats(K_elastic),
        D_elastic=_floats(D_elastic),
        point_phi=_floats(Phi),
        point_rest=_floats(rod.rest_strain(sp)),
        tendon_input=_ints(tendons["input"]),
        tendon_factor=_floats(tendons["factor"]),
        tendon_row=_ints(tendon_row),
        tendon_length=_floats(tendons["length"]),
        tendon_path=_floats(np.reshape(tendons["path"], (-1, sp.size, 6))),
        tendon_weight=_floats(np.reshape(tendons["weight"], (-1, sp.size))),
        muscle_input=_ints([index[m] for m in muscles]),
        muscle_force=_floats(muscle_force),
        hold_frame=_ints(hold_frame),
        hold_pose=_floats(np.reshape(hold_pose, (-1, 4, 3))),
        row_hold=_ints(row_hold),
        row_axes=_floats(np.reshape(row_axes, (-1, 6))),
    )
    L = rod.length
    scale = np.where(rod.component < 3, 1.0 / L, 1.0)
    if program.free[0]:
        scale = np.concatenate([[1.0, 1.0, 1.0, L, L, L], scale])
    # bending (or the softest free strain) sets the scale of energy
    energy = float(np.min(rod.stiffness(sp)[:, rod.component] * np.where(rod.component < 3, 1.0 / L, L)))
    return Assembly(program, s, weights, scale, energy)


def _marks(system: System) -> tuple[list[float], list[float]]:
    """Positions where a pose is wanted, and positions where a field along the rod jumps."""
    stations: list[float] = [hold.s(system.rod.length) for hold in system.mechanism.holds]
    breaks: list[float] = []
    for part in system.channels:
        if isinstance(part, PointWrench):
            stations.append(part.position)
        elif isinstance(part, DistributedWrench | Tendon | SpooledTendon | Pressure):
            breaks += part.breaks
    return stations, breaks


def _moments(rod: Rod, s: Array, scheme: LieScheme) -> tuple[Array, Array]:
    """Strain moments of each interval: of the rest strain (intervals, m, 6), of each function (intervals, m, n)."""
    h = np.diff(s)
    points = s[:-1, None] + h[:, None] * np.array(scheme.points)
    shape = (*points.shape, -1)
    C = np.array(scheme.moments)
    rest = rod.rest_strain(points.ravel()).reshape(shape)
    phi = rod.functions(points.ravel()).reshape(shape)
    return np.einsum("i,mj,ijc->imc", h, C, rest), np.einsum("i,mj,ijk->imk", h, C, phi)


def _loads(
    system: System, s: Array, weights: Array, index: dict[Any, int]
) -> tuple[list[int], list[int], list[int], list[Any]]:
    """Point loads at their frame, distributed loads at the frames of the quadrature points they reach."""
    frame: list[int] = []
    channel: list[int] = []
    follows: list[int] = []
    wrench: list[Any] = []
    for load in system.loads:
        if isinstance(load, PointWrench):
            frame.append(int(np.argmin(np.abs(s - load.position))))
            channel.append(index[load])
            follows.append(int(load.frame == "section"))
            wrench.append(load.wrench)
        elif isinstance(load, DistributedWrench):
            reach = np.flatnonzero(weights > 0.0)
            for f, density in zip(reach, load.density(s[reach]), strict=True):
                frame.append(int(f))
                channel.append(index[load])
                follows.append(int(load.frame == "section"))
                wrench.append(weights[f] * density)
    return frame, channel, follows, wrench


def _tendons(system: System, s: Array, ds: Array, rod: Rod, index: dict[Any, int]) -> dict[str, list[Any]]:
    """Tendons, spooled tendons and pressure chambers: one law, T (D×u; u)."""
    out: dict[str, list[Any]] = {k: [] for k in ("input", "factor", "length", "path", "weight", "spooled")}
    rest = rod.rest_strain(s)
    for a in system.actuators:
        if not isinstance(a, Tendon | SpooledTendon | Pressure):
            continue
        D, D_prime, here = a.geometry(s)
        weight = np.where(here, ds, 0.0)
        c = rest[:, 3:] + np.cross(rest[:, :3], D) + D_prime
        out["input"].append(index[a])
        out["factor"].append(-a.area if isinstance(a, Pressure) else 1.0)
        out["length"].append(weight @ np.linalg.norm(c, axis=1))
        out["path"].append(np.hstack([D, D_prime]))
        out["weight"].append(weight)
        out["spooled"].append(isinstance(a, SpooledTendon))
    return out


def _holds(system: System, s: Array) -> tuple[list[int], list[Any], list[int], list[Any]]:
    """Closure rows of the holds: orientation along the axes of the target, position along world axes."""
    frame: list[int] = []
    pose: list[Any] = []
    row_hold: list[int] = []
    axes: list[Any] = []
    for h, hold in enumerate(system.mechanism.holds):
        frame.append(int(np.argmin(np.abs(s - hold.s(system.rod.length)))))
        pose.append(np.vstack([hold.R, hold.p]))
        axes += [np.eye(6)[k] for k in hold.rotation_axes]
        axes += [np.concatenate([np.zeros(3), hold.R[k]]) for k in hold.position_axes]
        row_hold += [h] * hold.rows
    return frame, pose, row_hold, axes


def _ints(values: Any) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64, order="C")


def _floats(values: Any) -> Array:
    return np.array(values, dtype=np.float64, order="C")
