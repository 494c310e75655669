"""From a described system to the flat arrays of the kernels: the segments of its tree, and what acts on them.

A rod is cut at its quadrature nodes; between two nodes the pose advances by the exponential of a Lie polynomial of a
few strain moments (Magnus 4 or 6, Runge-Kutta-Munthe-Kaas 4; Gotelli 2024 section 3.8 and the sources named there).
Inertia and distributed loads are lumped at the nodes with their quadrature weights, so the compiled robot is itself a
mechanical system: its energy and momentum balances hold to rounding whatever the number of nodes.

Theory: docs/theory/rods.md, eq. (grid), (modal-stiffness).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation import Motor, Muscle, Pressure, SpooledTendon, Tendon
from elver.bodies import RigidBody
from elver.dynamics.bands import SLOTS, Near, law_bands, project, stacked, windows
from elver.dynamics.own import Own, own_functions
from elver.dynamics.segments import RodFrames, Segments, floats, ints
from elver.dynamics.structure import (
    REMEDY,
    Layout,
    Structure,
    Values,
    check_ingredients,
    check_same,
    ingredients,
    locked,
    program_of,
)
from elver.dynamics.ties import closures_of, spans_of
from elver.dynamics.water import Water
from elver.environment import (
    DistributedWrench,
    Feedback,
    Gravity,
    JointLoad,
    Lighthill,
    Morison,
    PointWrench,
    SlidingFriction,
)
from elver.errors import BadInput
from elver.kernels.tree.program import Program
from elver.kernels.twin.tendon import stretch_of_tendon
from elver.mechanism import Acts, Frame, Joint
from elver.rods import Rod
from elver.system import System

__all__ = ["Assembly", "assembly_of", "compile_system"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Assembly:
    """Structure and values of a system, with the parts that its arrays speak of."""

    structure: Structure
    values: Values
    rods: dict[Rod, RodFrames]
    bodies: dict[RigidBody, int]  # frame of each body
    joints: dict[Joint, tuple[int, int]]  # joint frames of the tree: on the parent, on the child
    strip_owner: tuple[Morison | Lighthill, ...]  # the water that each strip belongs to
    drag_owner: tuple[Rod, ...]  # the rod that each drag belongs to
    held: dict[Acts, int]  # frame that each load holds on to
    own: Own  # functions of one's own

    @cached_property
    def program(self) -> Program:
        """The table of the kernels, before cables are measured and closure rows compared."""
        return program_of(self.structure, self.values, self.own.addresses)

    @property
    def scale(self) -> Array:
        """Unit of each unknown in which "one" is a large change, (unknowns,)."""
        return self.values.scale

    @cached_property
    def length(self) -> float:
        """Size of the robot [m]: the longest rod, or the distance of its joints."""
        return float(self.values.length[0])

    @cached_property
    def energy(self) -> float:
        """Scale [J] of the residual times an unknown."""
        return float(self.values.energy[0])

    def frame_of(self, frame: Frame) -> int:
        """Index of the frame of the body, section or (a clamped or driven) base that ``frame`` is fixed to."""
        part = frame.part
        if isinstance(part, Rod):
            at = self.rods[part]
            return int(at.frames[np.argmin(np.abs(at.s - frame.s))])
        return self.bodies[part] if isinstance(part, RigidBody) else 0


def assembly_of(system: System) -> Assembly:
    """Structure and values of ``system``, made at the first use and kept with it."""
    found = system.__dict__.get("_assembly")
    if found is None:
        found = system.__dict__.setdefault("_assembly", compile_system(system))  # of two threads, the first one's
    return found


def compile_system(system: System, structure: Structure | None = None, *, apart: bool = False) -> Assembly:
    """Compile ``system`` into flat arrays, of ``structure`` where it is given: BadInput names what does not fit in.

    ``apart`` gives a frame of its own to each part, load and closure.
    """
    made_of = ingredients(system)
    if structure is not None:
        check_ingredients(made_of, structure)
    tree = Segments(system, structure, apart=apart)
    tree.grow()
    arrays = _Arrays(system, tree)
    damped = _damped(system, structure)
    arrays.on_frames(damped)
    arrays.on_coordinates()
    arrays.between_frames()
    found = arrays.found
    layout = Layout(**{name: locked(found[name]) for name in Layout._fields})
    values = Values(**{name: locked(found[name]) for name in Values._fields})
    own = Structure(
        made_of, tree.plans, tuple(tree.offsets), damped, layout, tuple(array.shape for array in values)
    )  # fmt: skip
    if structure is not None and not apart:
        check_same(own, structure)
    return Assembly(
        own, values, tree.rods, tree.bodies, tree.joints, tuple(arrays.strip_owner), tuple(arrays.drag_owner),
        arrays.held, arrays.own,
    )  # fmt: skip


def _damped(system: System, structure: Structure | None) -> tuple[str, ...]:
    """Rods with damping in proportion to mass; of a design of ``structure``, those that it knows."""
    found = tuple(rod.name for rod in system.mechanism.rods if rod.mass_damping > 0.0)
    if structure is None:
        return found
    for name in found:
        if name not in structure.damped:
            raise BadInput(f"rod {name!r} has mass damping, which it has not in the structure: {REMEDY}")
    return structure.damped


class _Arrays:
    """Arrays of a system by name, made group by group."""

    def __init__(self, system: System, tree: Segments) -> None:
        self.system, self.tree = system, tree
        self.strip_owner: list[Morison | Lighthill] = []
        self.drag_owner: list[Rod] = []
        self.held: dict[Acts, int] = {load: tree.frame_of(load.frames[0]) for load in system.loads if load.frames}
        self.own = own_functions(system)
        self.index = system.input_index
        self.on_joints, self.points = _joint_loads(system), _points(system, tree)
        self.closures, self.spans = closures_of(system, tree), spans_of(system, tree)
        self.found: dict[str, Any] = {"free": ints([system.free]), **tree.strains(), **tree.polynomials()}

    def on_frames(self, damped: tuple[str, ...]) -> None:
        """Inertia, weight, wrenches, friction and water at frames; sizes of the unknowns."""
        system, tree = self.system, self.tree
        water, loads, drags = Water(system, tree), _loads(system, tree), _drags(system, tree, damped)
        self.strip_owner, self.drag_owner = water.owner, drags["owner"]
        gravity = next((load for load in system.loads if isinstance(load, Gravity)), None)
        slides = [load for load in system.loads if isinstance(load, SlidingFriction)]
        pushes = [*(load for load in system.loads if isinstance(load, Feedback)), *self.own.loads]
        inertia, length = water.inertia + water.added, _size(system)
        self.found |= {
            "inertia": inertia,
            "weight": water.weight,
            "gravity": floats(gravity.acceleration if gravity else (0.0, 0.0, 0.0)),
            "gravity_input": ints([self.index(gravity) if gravity else -1]),
            "load_frame": ints(loads["frame"]),
            "load_input": ints(loads["input"]),
            "load_follows": ints(loads["follows"]),
            "load_wrench": floats(loads["wrench"]).reshape(-1, 6),
            "slide_frame": ints([self.held[load] for load in slides]),
            "slide": floats([(load.viscous, load.dry, load.speed) for load in slides]).reshape(-1, 3),
            "drag_frame": ints(drags["frame"]),
            "drag": floats(drags["matrix"]).reshape(-1, 6, 6),
            "strip_frame": ints(water.frame).reshape(-1, 2),
            "strip_pose": floats(water.pose).reshape(-1, 4, 3),
            "strip": floats(water.strip).reshape(-1, 10),
            "user_frame": ints([self.held[load] for load in pushes]),
            "scale": _scale(system, length),
            "length": floats([length]),
            "energy": floats([_energy(self.points.softest, inertia, length)]),
        }

    def on_coordinates(self) -> None:
        """Laws of rods and joints, tendons, muscles, motors and imposed motions."""
        system = self.system
        (stiffness, viscous, rest, friction, stop, rotor), points = self.on_joints, self.points
        law, K, D = _laws(system, points, stiffness, viscous, self.tree.least("K_elastic", 1))
        tendons = _tendons(system, points)
        motors = [a for a in system.actuators if isinstance(a, Muscle | Motor)]
        force = _forces(system, motors, points)
        spooled = np.array(tendons["spooled"], dtype=bool)
        cables = len(tendons["input"])
        self.found |= {
            "block": ints(_blocks(system, K, D, friction[:, 0], stop[:, 2], rotor)).reshape(-1, 3),
            "law": law,
            "K_elastic": K,
            "D_elastic": D,
            "spring_rest": rest,
            "friction": friction,
            "stop": stop,
            "rotor": rotor,
            "imposed": ints([system.imposed_columns(a) for a in system.imposed]).reshape(-1, 4),
            "wrap": ints(self.tree.rotation_vectors()),
            "point_block": ints(points.block),
            "point_phi": points.phi,
            "point_bend": points.bend,
            "point_rest": points.rest,
            "tendon_input": ints(tendons["input"]),
            "tendon_factor": floats(tendons["factor"]),
            "tendon_row": ints(np.where(spooled, len(self.closures["kind"]) + np.cumsum(spooled) - 1, -1)),
            "tendon_reach": ints(tendons["reach"]).reshape(-1, 4),
            "tendon_length": floats(tendons["length"]),
            "tendon_path": stacked(tendons["path"], cables, (1, 6)),
            "tendon_weight": stacked(tendons["weight"], cables, (1,)),
            "muscle_input": ints([self.index(m) for m in motors]),
            "muscle_reach": ints(_filled(force != 0.0)),
            "muscle_force": force,
            **self.own.arrays(system, points.at, points.s, points.ds, points.rest),
        }

    def between_frames(self) -> None:
        """Closures, free spans of cables, and the paths of unknowns to them."""
        closures, spans = self.closures, self.spans
        paths = self.tree.paths([*closures["frame"], *spans["frame"]])
        slots = paths["slots"]
        self.found |= {
            "segment": ints(paths["segment"]).reshape(-1, 10),
            "frame_slot": ints(paths["frame_slot"]),
            "slot_path": ints(paths["slot_path"]),
            "span_tendon": ints(spans["tendon"]),
            "span_frame": ints(spans["frame"]).reshape(-1, 2),
            "span_point": floats(spans["point"]).reshape(-1, 2, 3),
            "span_slot": ints([[slots.get(f, -1) for f in pair] for pair in spans["frame"]]).reshape(-1, 2),
            "closure_frame": ints(closures["frame"]).reshape(-1, 2),
            "closure_pose": floats(closures["pose"]).reshape(-1, 2, 4, 3),
            "closure_slot": ints([[slots.get(f, -1) for f in pair] for pair in closures["frame"]]).reshape(-1, 2),
            "closure_rows": ints(closures["rows"]).reshape(-1, 2),
            "row_kind": ints(closures["kind"]),
            "row_axes": floats(closures["axes"]).reshape(-1, 6),
            "row_soft": np.zeros(len(closures["kind"])),
        }


def _scale(system: System, length: float) -> Array:
    """Unit of each unknown in which "one" is a large change."""
    scale = [1.0, 1.0, 1.0, length, length, length] if system.free else []
    for part in system.blocks:
        if isinstance(part, Rod):
            scale += [1.0 / part.length if c < 3 else 1.0 for c in part.component.tolist()]
        else:
            scale += [1.0 if unit == "rad" else length for unit in part.coordinate_units]
    return floats(scale)


def _forces(system: System, motors: Sequence[Muscle | Motor], points: _Points) -> Array:
    """Generalized force of each muscle and motor for a unit input, (motors, n)."""
    force = np.zeros((len(motors), system.n))
    for row, a in zip(force, motors, strict=True):
        if isinstance(a, Motor):
            row[system.coordinates(a.joint).start + a.index] = -1.0
        else:
            first, count = system.blocks[a.rod]
            here, s = points.of(a.rod)
            stress = points.ds[here, None] * a.stress(s)
            free = [c for c in range(6) if a.rod.counts[c]]
            parts = zip(free, points.functions[a.rod], strict=True)
            row[first : first + count] = np.concatenate([project(f, a.rod.counts[c], stress[:, c]) for c, f in parts])
    return force


def _size(system: System) -> float:
    """Size of the robot [m]: its longest rod; without rods the distances of its joints."""
    rods = [rod.length for rod in system.mechanism.rods]
    if rods:
        return max(rods)
    ends = [np.linalg.norm(f.g[:3, 3]) for joint in system.mechanism.joints for f in (joint.a, joint.b)]
    return float(max(ends, default=0.0)) or 1.0


def _energy(softest: Array, inertia: Array, length: float) -> float:
    """Scale of energy [J]: the ``softest`` free strain of all rods; without rods, the weight of the bodies lifted."""
    if softest.size:
        return float(softest.min())
    return float(9.81 * length * inertia[:, 3, 3].sum()) or 1.0


# ---------------------------------------------------------------------------------------------------------------
# What acts
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Points:
    """Quadrature points of all rods."""

    at: dict[Rod, slice]  # points of each rod
    s: Array
    ds: Array
    block: Sequence[int]
    functions: dict[Rod, list[Near]]  # of each free strain
    stiffness: dict[Rod, Array]  # of the sections, diagonal
    phi: Array  # (points, most): all of them
    rest: Array  # (points, 6)
    bend: NDArray[np.int64]  # (points, 18) windows of phi
    softest: Array  # J, of each rod: least stiffness of a free strain times what of it is a large change

    def of(self, rod: Rod) -> tuple[slice, Array]:
        """Which points lie on ``rod``, and their arc lengths [m]."""
        return self.at[rod], self.s[self.at[rod]]


def _points(system: System, tree: Segments) -> _Points:
    """Quadrature points."""
    at: dict[Rod, slice] = {}
    s, ds, rest = [np.zeros(0)], [np.zeros(0)], [np.zeros((0, 6))]
    block: list[int] = []
    functions: dict[Rod, list[Near]] = {}
    stiffness: dict[Rod, Array] = {}
    phi, bend = [], [np.zeros((0, 3 * SLOTS), dtype=np.int64)]
    softest: list[float] = []
    numbers = {part: k for k, part in enumerate(system.blocks)}
    for rod in system.mechanism.rods:
        grid = tree.grids[rod]
        here, weights = grid.s[grid.quadrature], grid.weights[grid.quadrature]
        functions[rod] = rod.local_functions(here)
        found = windows([(near, values[:, None]) for near, values in functions[rod]], _starts(rod))
        bend.append(found[0])
        phi.append(found[1][:, 0])
        H = stiffness[rod] = rod.stiffness(here)
        free = np.flatnonzero(rod.counts)
        softest.append(np.min(H[:, free] * np.where(free < 3, 1.0 / rod.length, rod.length)))
        at[rod] = slice(len(block), len(block) + here.size)
        s.append(here)
        ds.append(weights)
        block += [numbers[rod]] * here.size
        rest.append(rod.rest_strain(here))
    return _Points(
        at, np.concatenate(s), np.concatenate(ds), block, functions, stiffness,
        stacked(phi, len(block), tree.least("point_phi", 1)), np.concatenate(rest), np.concatenate(bend),
        np.array(softest),
    )  # fmt: skip


def _starts(rod: Rod) -> list[int]:
    """First coordinate of each free strain."""
    return [0, *accumulate(count for count in rod.counts if count)]


def _laws(
    system: System, points: _Points, stiffness: Array, viscous: Array, least: Sequence[int]
) -> tuple[NDArray[np.int64], Array, Array]:
    """Windows of the laws of all coordinates, (n, 2), elasticity and damping there, (n, most)."""
    first, K, D = [np.zeros(0, dtype=np.int64)], [], []
    for part, (start, count) in system.blocks.items():
        if isinstance(part, Rod):
            low, band = _modal_stiffness(part, points)
            damped = part.material.damping * band
        else:
            own = slice(start, start + count)
            low, band, damped = np.arange(count), stiffness[own, None], viscous[own, None]
        first.append(low)
        K.append(band)
        D.append(damped)
    elastic, damping, low = stacked(K, system.n, least), stacked(D, system.n, least), np.concatenate(first)
    reach = _filled((elastic != 0.0) | (damping != 0.0))
    return np.stack([low, low + reach[:, 1]], axis=1), elastic, damping


def _modal_stiffness(rod: Rod, points: _Points) -> tuple[NDArray[np.int64], Array]:
    """∫ Φᵀ Bᵀ 𝓗 B Φ ds without what is zero everywhere: first coordinate of each row (n,), columns (n, most)."""
    here, s = points.of(rod)
    weights, starts = points.ds[here], _starts(rod)
    strains = [c for c, count in enumerate(rod.counts) if count]
    if rod.law is None:
        H = points.stiffness[rod]
        parts = [
            law_bands(functions, rod.counts[c], weights * H[:, c])
            for c, functions in zip(strains, points.functions[rod], strict=True)
        ]
        first = np.concatenate([start + low for start, (low, _) in zip(starts, parts, strict=False)])
        return first, stacked([columns for _, columns in parts], rod.n, (1,))
    full, Phi = rod.section_stiffness(s), rod.functions(s)
    stiffness = np.zeros((rod.n, rod.n))
    for c in strains:
        for d in strains:
            if np.any(full[:, c, d]):
                own, other = rod.component == c, rod.component == d
                blocks = np.einsum("g,gi,gk->ik", weights * full[:, c, d], Phi[:, own], Phi[:, other])
                stiffness[np.ix_(own, other)] = blocks
    return np.zeros(rod.n, dtype=np.int64), stiffness


def _filled(used: NDArray[np.bool_]) -> NDArray[np.int64]:
    """First and end of what is used in each row, (rows, 2); zeros where nothing is."""
    if not used.size:
        return np.zeros((len(used), 2), dtype=np.int64)
    first, end = used.argmax(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1)
    return np.stack([first, end], axis=1) * np.any(used, axis=1, keepdims=True)


def _blocks(system: System, *laws: Array) -> list[tuple[int, int, bool]]:
    """First coordinate, number of coordinates, and whether one of ``laws``, rows of which act on them, is not zero."""
    return [
        (first, count, any(np.any(law[first : first + count]) for law in laws))
        for first, count in system.blocks.values()
    ]


def _joint_loads(system: System) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Springs, friction, stops and rotors: stiffness, viscous damping, rest, friction and stop rows, rotor inertia."""
    n = system.n
    rows = {name: np.zeros(n) for name in ("stiffness", "viscous", "rest")}
    rows |= {"friction": np.tile([0.0, 1.0], (n, 1)), "stop": np.zeros((n, 3)), "rotor": np.zeros(n)}
    given: dict[tuple[str, int], str] = {}
    for load in system.loads:
        if isinstance(load, JointLoad):
            k = system.coordinates(load.joint).start + load.index
            for name, value in load.coefficients.items():
                if other := given.get((name, k)):
                    raise BadInput(f"{other!r} and {load.name!r} both give {name} to one coordinate: combine them")
                given[name, k] = load.name
                rows[name][k] = value
    return rows["stiffness"], rows["viscous"], rows["rest"], rows["friction"], rows["stop"], rows["rotor"]


def _loads(system: System, tree: Segments) -> dict[str, list[Any]]:
    """Point loads at their frame, distributed loads at the frames of the quadrature points they reach."""
    out: dict[str, list[Any]] = {"frame": [], "input": [], "follows": [], "wrench": []}

    def add(load: PointWrench | DistributedWrench, frame: int, wrench: ArrayLike) -> None:
        out["frame"].append(frame)
        out["input"].append(system.input_index(load))
        out["follows"].append(int(load.follows))
        out["wrench"].append(wrench)

    for load in system.loads:
        if isinstance(load, PointWrench):
            add(load, tree.sites[load], load.wrench)
        elif isinstance(load, DistributedWrench):
            at = tree.rods[load.rod]
            reach = np.flatnonzero(at.weights > 0.0)
            for k, density in zip(reach, load.density(at.s[reach]), strict=True):
                add(load, int(at.frames[k]), at.weights[k] * density)
    return out


def _drags(system: System, tree: Segments, damped: Sequence[str]) -> dict[str, list[Any]]:
    """Damping in proportion to the mass, α 𝓜, of the rods' own matter: no part of the water is."""
    out: dict[str, list[Any]] = {"frame": [], "matrix": [], "owner": []}
    for rod in system.mechanism.rods:
        if rod.name in damped:
            at = tree.rods[rod]
            reach = at.weights > 0.0
            density = (rod.mass_damping * at.weights[reach])[:, None] * rod.inertia(at.s[reach])
            out["frame"] += at.frames[reach].tolist()
            out["matrix"] += list(density[:, :, None] * np.eye(6))
            out["owner"] += [rod] * len(density)
    return out


def _tendons(system: System, points: _Points) -> dict[str, list[Any]]:
    """Tendons, spooled tendons and pressure chambers: one law, T (D×u; u)."""
    out: dict[str, list[Any]] = {k: [] for k in ("input", "factor", "length", "path", "weight", "spooled", "reach")}
    for a in system.actuators:
        if not isinstance(a, Tendon | SpooledTendon | Pressure):
            continue
        low = min((points.at[rod].start for rod in a.rods), default=0)
        many = max((points.at[rod].stop for rod in a.rods), default=0) - low
        path, weight, length = np.zeros((many, 6)), np.zeros(many), 0.0
        for rod in a.rods:
            on, s = points.of(rod)
            D, D_prime, here = a.geometry(s, rod)
            at = slice(on.start - low, on.stop - low)
            path[at], weight[at] = np.hstack([D, D_prime]), np.where(here, points.ds[on], 0.0)
            length += float(weight[at] @ stretch_of_tendon(points.rest[on], D, D_prime))
        first, end = _filled(weight[None] != 0.0)[0].tolist()
        out["input"].append(system.input_index(a))
        out["factor"].append(-a.area if isinstance(a, Pressure) else 1.0)
        out["length"].append(length)
        # columns begin at the first point of the tendon, which is a matter of numbers: their number is not
        out["path"].append(np.roll(path, -first, axis=0)[None])
        out["weight"].append(np.roll(weight, -first)[None])
        out["spooled"].append(isinstance(a, SpooledTendon))
        own = [system.blocks[rod] for rod in a.rods]
        reach = min((first for first, _ in own), default=0), max((first + n for first, n in own), default=0)
        out["reach"].append([low + first, low + end, *reach])
    return out
