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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation import Imposed, Motor, Muscle, Pressure, SpooledTendon, Tendon
from elver.bodies import RigidBody
from elver.dynamics.segments import RodFrames, Segments, floats, ints, windows
from elver.dynamics.water import Water
from elver.environment import (
    DistributedWrench,
    Feedback,
    Gravity,
    JointFriction,
    JointSpring,
    JointStop,
    Lighthill,
    Morison,
    PointWrench,
    SlidingFriction,
)
from elver.kernels.program import Program
from elver.lie import se3
from elver.mechanism import Clamped, Driven, Frame, Joint
from elver.rods import Rod
from elver.system import OnJoint, System

__all__ = ["Assembly", "assemble", "assembly_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Assembly:
    """The program of a system with the names and scales that its arrays have lost."""

    program: Program
    rods: dict[Rod, RodFrames]
    bodies: dict[RigidBody, int]  # frame of each body
    scale: Array  # (unknowns,) unit of each unknown in which "one" is a large change
    length: float  # m, size of the robot: the longest rod, or the distance of its joints
    energy: float  # J, scale of the residual times an unknown
    joints: dict[Joint, tuple[int, int]]  # joint frames of the tree: on the parent, on the child
    strip_owner: tuple[Morison | Lighthill, ...] = ()  # the water that each strip belongs to
    drag_owner: tuple[Rod, ...] = ()  # the rod that each drag belongs to

    def frame_of(self, frame: Frame) -> int:
        """Index of the frame of the body, section or (a clamped or driven) base that ``frame`` is fixed to."""
        part = frame.part
        if isinstance(part, Rod):
            at = self.rods[part]
            return int(at.frames[np.argmin(np.abs(at.s - frame.s))])
        return self.bodies[part] if isinstance(part, RigidBody) else 0


def assembly_of(system: System) -> Assembly:
    """Flat arrays of ``system``, made at the first use and kept with it."""
    found = system.__dict__.get("_assembly")
    if found is None:
        found = system.__dict__.setdefault("_assembly", assemble(system))  # of two threads, the first one's
    return found


def assemble(system: System, *, apart: bool = False) -> Assembly:
    """Compile ``system`` into flat arrays; ``apart`` with a frame of its own for each part, load and closure."""
    tree = Segments(system, apart=apart)
    tree.grow()
    frames, n = tree.frames, system.n
    most = max(count for _, count in system.blocks.values()) if system.blocks else 0
    water = Water(system, tree)
    inertia = np.array(tree.inertia) + water.added
    index = system.input_index
    gravity = next((load for load in system.loads if isinstance(load, Gravity)), None)
    loads = _loads(system, tree)
    K, D, rest, friction, stop, rotor = _joint_loads(system, most)
    points = _points(system, tree, most, K, D)
    tendons = _tendons(system, points)
    motors = [a for a in system.actuators if isinstance(a, Muscle | Motor)]
    force = np.zeros((len(motors), n))
    for row, a in zip(force, motors, strict=True):
        if isinstance(a, Motor):
            row[system.coordinates(a.joint).start + a.index] = -1.0
        else:
            first, count = system.blocks[a.rod]
            here, s = points.of(a.rod)
            stress = a.stress(s)[:, a.rod.component]
            row[first : first + count] = np.einsum("g,gk,gk->k", points.ds[here], points.phi[here, :count], stress)
    closures = _closures(system, tree)
    spans = _spans(system, tree)
    spooled = np.array(tendons["spooled"], dtype=bool)
    tendon_row = np.where(spooled, len(closures["kind"]) + np.cumsum(spooled) - 1, -1)
    imposed = [a for a in system.actuators if isinstance(a, Imposed)]
    slides = [load for load in system.loads if isinstance(load, SlidingFriction)]
    drags = _drags(system, tree)
    feedback = [load for load in system.loads if isinstance(load, Feedback)]
    paths = tree.paths([*closures["frame"], *spans["frame"]])

    program = Program(
        free=ints([system.free]),
        segment=ints(paths["segment"]).reshape(-1, 10),
        path=ints(paths["path"]),
        frame_slot=ints(paths["frame_slot"]),
        slot_path=ints(paths["slot_path"]),
        **tree.strains(most),
        **tree.polynomials(),
        inertia=floats(inertia.reshape(frames, 6, 6)),
        weight=floats(water.weight),
        gravity=floats(gravity.acceleration if gravity else (0.0, 0.0, 0.0)),
        gravity_input=ints([index(gravity) if gravity else -1]),
        load_frame=ints(loads["frame"]),
        load_input=ints(loads["input"]),
        load_follows=ints(loads["follows"]),
        load_wrench=floats(loads["wrench"]).reshape(-1, 6),
        block=ints(_blocks(system, K, D, friction[:, 0], stop[:, 2], rotor)).reshape(-1, 3),
        law=ints(_filled((K != 0.0) | (D != 0.0))),
        K_elastic=floats(K),
        D_elastic=floats(D),
        spring_rest=floats(rest),
        friction=floats(friction),
        stop=floats(stop),
        rotor=floats(rotor),
        imposed=ints([system.imposed_columns(a) for a in imposed]).reshape(-1, 4),
        wrap=ints(tree.rotation_vectors()),
        slide_frame=ints([tree.frame_of(load.frame) for load in slides]),
        slide=floats([(load.viscous, load.dry, load.speed) for load in slides]).reshape(-1, 3),
        drag_frame=ints(drags["frame"]),
        drag=floats(drags["matrix"]).reshape(-1, 6, 6),
        strip_frame=ints(water.frame).reshape(-1, 2),
        strip_pose=floats(water.pose).reshape(-1, 4, 3),
        strip=floats(water.strip).reshape(-1, 10),
        user_frame=ints([tree.frame_of(load.frame) for load in feedback]),
        point_block=ints(points.block),
        point_phi=floats(points.phi),
        point_bend=points.bend,
        point_rest=floats(points.rest),
        tendon_input=ints(tendons["input"]),
        tendon_factor=floats(tendons["factor"]),
        tendon_row=ints(tendon_row),
        tendon_reach=ints(tendons["reach"]).reshape(-1, 4),
        tendon_length=floats(tendons["length"]),
        tendon_path=floats(tendons["path"]).reshape(len(tendons["input"]), points.ds.size, 6),
        tendon_weight=floats(tendons["weight"]).reshape(len(tendons["input"]), points.ds.size),
        span_tendon=ints(spans["tendon"]),
        span_frame=ints(spans["frame"]).reshape(-1, 2),
        span_point=floats(spans["point"]).reshape(-1, 2, 3),
        span_slot=ints([[paths["slots"].get(f, -1) for f in pair] for pair in spans["frame"]]).reshape(-1, 2),
        muscle_input=ints([index(m) for m in motors]),
        muscle_reach=ints(_filled(force != 0.0)),
        muscle_force=floats(force),
        closure_frame=ints(closures["frame"]).reshape(-1, 2),
        closure_pose=floats(closures["pose"]).reshape(-1, 2, 4, 3),
        closure_slot=ints([[paths["slots"].get(f, -1) for f in pair] for pair in closures["frame"]]).reshape(-1, 2),
        closure_rows=ints(closures["rows"]).reshape(-1, 2),
        row_kind=ints(closures["kind"]),
        row_axes=floats(closures["axes"]).reshape(-1, 6),
        row_soft=np.zeros(len(closures["kind"])),
    )
    length = _size(system)
    scale = np.ones(n)
    for part, (first, count) in system.blocks.items():
        if isinstance(part, Rod):
            scale[first : first + count] = np.where(part.component < 3, 1.0 / part.length, 1.0)
        else:
            scale[first : first + count] = [1.0 if unit == "rad" else length for unit in part.coordinate_units]
    if system.free:
        scale = np.concatenate([[1.0, 1.0, 1.0, length, length, length], scale])
    energy = _energy(system, inertia, length)
    owners = tuple(water.owner), tuple(drags["owner"])
    return Assembly(program, tree.rods, tree.bodies, scale, length, energy, tree.joints, *owners)


def _size(system: System) -> float:
    """Size of the robot [m]: its longest rod; without rods the distances of its joints."""
    rods = [rod.length for rod in system.mechanism.rods]
    if rods:
        return max(rods)
    ends = [np.linalg.norm(f.g[:3, 3]) for joint in system.mechanism.joints for f in (joint.a, joint.b)]
    return float(max(ends, default=0.0)) or 1.0


def _energy(system: System, inertia: Array, length: float) -> float:
    """Scale of energy [J]: the softest free strain of all rods; without rods, the weight of the bodies lifted."""
    softest = []
    for rod in system.mechanism.rods:
        stiffness = rod.stiffness(rod.grid.s[rod.grid.quadrature])[:, rod.component]
        softest.append(np.min(stiffness * np.where(rod.component < 3, 1.0 / rod.length, rod.length)))
    if softest:
        return float(min(softest))
    return float(9.81 * length * inertia[:, 3, 3].sum()) or 1.0


# ---------------------------------------------------------------------------------------------------------------
# What acts
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Points:
    """Quadrature points of all rods."""

    rod: list[Rod]  # of each point
    s: Array
    ds: Array
    block: Sequence[int]
    phi: Array  # (points, most coordinates of a block)
    rest: Array  # (points, 6)
    bend: NDArray[np.int64]  # (points, 12) first and end of what is not zero in phi, for each free strain

    def of(self, rod: Rod) -> tuple[NDArray[np.bool_], Array]:
        """Which points lie on ``rod``, and their arc lengths [m]."""
        here = np.array([r is rod for r in self.rod], dtype=bool)
        return here, self.s[here]


def _points(system: System, tree: Segments, most: int, K: Array, D: Array) -> _Points:
    """Quadrature points; the elasticity and damping of the rods is added to ``K`` and ``D``."""
    rods: list[Rod] = []
    s, ds, block, phi, rest = [np.zeros(0)], [np.zeros(0)], [], [np.zeros((0, max(most, 1)))], [np.zeros((0, 6))]
    bend = [np.zeros((0, 12), dtype=np.int64)]
    numbers = {part: k for k, part in enumerate(system.blocks)}
    for rod in system.mechanism.rods:
        grid = tree.grids[rod]
        here, weights = grid.s[grid.quadrature], grid.weights[grid.quadrature]
        first, n = system.blocks[rod]
        Phi = rod.functions(here)
        stiffness, H = np.zeros((n, n)), rod.stiffness(here)
        for c in sorted(set(rod.component.tolist())):  # sums in one order everywhere, which BLAS does not promise
            own = rod.component == c
            blocks = np.einsum("g,gi,gk->ik", weights * H[:, c], Phi[:, own], Phi[:, own])
            stiffness[np.ix_(own, own)] = blocks
        K[first : first + n, :n] += stiffness
        D[first : first + n, :n] += rod.material.damping * stiffness
        rods += [rod] * here.size
        s.append(here)
        ds.append(weights)
        block += [numbers[rod]] * here.size
        phi.append(np.pad(Phi, ((0, 0), (0, max(most, 1) - n))))
        rest.append(rod.rest_strain(here))
        starts = np.concatenate([[0], np.cumsum([count for count in rod.counts if count])]).astype(int).tolist()
        bend.append(windows(Phi != 0.0, starts))
    return _Points(
        rods, np.concatenate(s), np.concatenate(ds), block, np.concatenate(phi), np.concatenate(rest),
        np.concatenate(bend),
    )  # fmt: skip


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


def _joint_loads(system: System, most: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Springs, friction, stops and rotors of joints: K, D (n, most), rest, friction and stop rows, rotor inertia."""
    n = system.n
    K, D = np.zeros((n, max(most, 1))), np.zeros((n, max(most, 1)))
    rest, friction, stop, rotor = np.zeros(n), np.zeros((n, 2)), np.zeros((n, 3)), np.zeros(n)
    friction[:, 1] = 1.0
    for load in system.loads:
        if not isinstance(load, OnJoint):
            continue
        k = system.coordinates(load.joint).start + load.index
        if isinstance(load, JointSpring):
            K[k, load.index] += load.stiffness
            rest[k] = load.rest
        elif isinstance(load, JointFriction):
            D[k, load.index] += load.viscous
            friction[k] = load.dry, load.speed
        elif isinstance(load, JointStop):
            stop[k] = load.lower, load.upper, load.stiffness
        else:
            rotor[k] = load.inertia
    return K, D, rest, friction, stop, rotor


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


def _drags(system: System, tree: Segments) -> dict[str, list[Any]]:
    """Damping in proportion to the mass, α 𝓜, of the rods' own matter: no part of the water is."""
    out: dict[str, list[Any]] = {"frame": [], "matrix": [], "owner": []}
    for rod in system.mechanism.rods:
        alpha = rod.mass_damping
        if alpha > 0.0:
            at = tree.rods[rod]
            for k in np.flatnonzero(at.weights > 0.0):
                out["frame"].append(int(at.frames[k]))
                out["matrix"].append(np.diag(alpha * at.weights[k] * rod.inertia(at.s[k : k + 1])[0]))
                out["owner"].append(rod)
    return out


def _tendons(system: System, points: _Points) -> dict[str, list[Any]]:
    """Tendons, spooled tendons and pressure chambers: one law, T (D×u; u)."""
    out: dict[str, list[Any]] = {k: [] for k in ("input", "factor", "length", "path", "weight", "spooled", "reach")}
    for a in system.actuators:
        if not isinstance(a, Tendon | SpooledTendon | Pressure):
            continue
        path, weight, length = np.zeros((points.ds.size, 6)), np.zeros(points.ds.size), 0.0
        for rod in a.rods:
            on, s = points.of(rod)
            D, D_prime, here = a.geometry(s, rod)
            rest = points.rest[on]
            c = rest[:, 3:] + np.cross(rest[:, :3], D) + D_prime
            path[on], weight[on] = np.hstack([D, D_prime]), np.where(here, points.ds[on], 0.0)
            length += float(weight[on] @ np.linalg.norm(c, axis=1))
        out["input"].append(system.input_index(a))
        out["factor"].append(-a.area if isinstance(a, Pressure) else 1.0)
        out["length"].append(length)
        out["path"].append(path)
        out["weight"].append(weight)
        out["spooled"].append(isinstance(a, SpooledTendon))
        own = [system.blocks[rod] for rod in a.rods]
        reach = min((first for first, _ in own), default=0), max((first + n for first, n in own), default=0)
        out["reach"].append([*_filled(weight[None] != 0.0)[0], *reach])
    return out


def _spans(system: System, tree: Segments) -> dict[str, list[Any]]:
    """Free spans of cables: which tendon, frames (-1: the world) and guides in them."""
    out: dict[str, list[Any]] = {"tendon": [], "frame": [], "point": []}
    base = system.mechanism.base
    cables = [a for a in system.actuators if isinstance(a, Tendon | SpooledTendon | Pressure)]
    for t, cable in enumerate(cables):
        for span in cable.spans:
            frames, points = [], []
            for guide in span:
                world = guide.part == "world" and not isinstance(base, Driven)
                g = base.g @ guide.g if world and isinstance(base, Clamped) else guide.g
                frames.append(-1 if world else tree.frame_of(guide))
                points.append(g[:3, 3])
            out["tendon"].append(t)
            out["frame"].append(frames)
            out["point"].append(points)
    return out


def _closures(system: System, tree: Segments) -> dict[str, list[Any]]:
    """Closures of holds (orientation along the axes of the target, position along world axes) and of cut joints."""
    out: dict[str, list[Any]] = {k: [] for k in ("frame", "pose", "rows", "kind", "axes")}
    mechanism = system.mechanism
    eye = np.eye(6)
    for hold in mechanism.holds:
        target = np.vstack([hold.R, hold.p])
        rows = [(0, eye[k]) for k in hold.rotation_axes]
        rows += [(0, np.concatenate([np.zeros(3), hold.R[k]])) for k in hold.position_axes]
        _close(out, (-1, tree.frame_of(mechanism.held(hold))), (target, np.vstack([np.eye(3), np.zeros(3)])), rows)
    for joint in mechanism.tree.cuts:
        a, b = joint.a, joint.b
        swapped = b.part == "world"  # the follower is a part of the tree
        if swapped:
            a, b = b, a
        axes = se3.pose(joint.axes, np.zeros(3))
        leader, follower = a.g @ axes, b.g @ axes
        world = a.part == "world" and not isinstance(mechanism.base, Driven)
        if world and isinstance(mechanism.base, Clamped):
            leader = mechanism.base.g @ leader
        rows = []
        for kind, *which in joint.closure_rows:
            if kind == "dot":
                u, w = (np.eye(3)[axis] for axis in (reversed(which) if swapped else which))
                # the row grows with a turn about w × u: signed so that this is the axis its multiplier is named after
                sign = np.sum(np.cross(w, u))
                rows.append((1, np.concatenate([sign * u, w])))
            else:
                rows.append((0, eye[which[0] + (3 if kind == "position" else 0)]))
        frames = (-1 if world else tree.frame_of(a), tree.frame_of(b))
        _close(out, frames, tuple(np.vstack([g[:3, :3], g[:3, 3]]) for g in (leader, follower)), rows)
    return out


def _close(out: dict[str, list[Any]], frames: tuple[int, int], poses: tuple[Array, ...], rows: list[Any]) -> None:
    out["frame"].append(frames)
    out["pose"].append(poses)
    out["rows"].append((len(out["kind"]), len(rows)))
    out["kind"] += [kind for kind, _ in rows]
    out["axes"] += [axes for _, axes in rows]
