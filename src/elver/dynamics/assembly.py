"""From a described system to the flat arrays of the kernels.

The tree of the mechanism is walked from its root: an offset becomes an interval without coordinates, a joint one or two
intervals, a rod one interval between each two of its nodes. A rod that is reached by another section than its base
grows from there to both ends; the part toward the base runs backward on the same coordinates.

A rod is cut at its quadrature nodes; between two nodes the pose advances by the exponential of a Lie polynomial of a
few strain moments (Magnus 4 or 6, Runge-Kutta-Munthe-Kaas 4; Gotelli 2024 section 3.8 and the sources named there).
Inertia and distributed loads are lumped at the nodes with their quadrature weights, so the compiled robot is itself a
mechanical system: its energy and momentum balances hold to rounding whatever the number of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation import Imposed, Motor, Muscle, Pressure, SpooledTendon, Tendon
from elver.bodies import RigidBody
from elver.environment import (
    DistributedWrench,
    Feedback,
    Gravity,
    JointFriction,
    JointSpring,
    JointStop,
    PointWrench,
    SlidingFriction,
)
from elver.kernels.program import Program
from elver.lie import se3
from elver.mechanism import Branch, Clamped, Driven, Frame, Joint
from elver.rods import Grid, Magnus, Rod, RungeKuttaMuntheKaas
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


# a rigid joint: its twist is the only moment, and the exponent itself
JOINT = LieScheme(points=(), moments=((),), operations=())


@dataclass(frozen=True, eq=False)
class RodFrames:
    """Where the nodes of a rod are in the arrays."""

    s: Array  # (nodes,) arc lengths [m], from base to tip
    weights: Array  # (nodes,) quadrature weights
    frames: NDArray[np.int64]  # (nodes,)


@dataclass(frozen=True, eq=False)
class Assembly:
    """The program of a system with the names and scales that its arrays have lost."""

    program: Program
    rods: dict[Rod, RodFrames]
    bodies: dict[RigidBody, int]  # frame of each body
    scale: Array  # (unknowns,) unit of each unknown in which "one" is a large change
    length: float  # m, size of the robot: the longest rod, or the distance of its joints
    energy: float  # J, scale of the residual times an unknown

    def frame_of(self, frame: Frame) -> int:
        """Index of the frame of the body, section or (a clamped or driven) base that ``frame`` is fixed to."""
        part = frame.part
        if isinstance(part, Rod):
            at = self.rods[part]
            return int(at.frames[np.argmin(np.abs(at.s - frame.s))])
        return self.bodies[part] if isinstance(part, RigidBody) else 0


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
    tree = _Tree(system)
    tree.grow()
    frames, n = tree.frames, system.n
    most = max(count for _, count in system.blocks.values()) if system.blocks else 0
    inertia = np.array(tree.inertia)
    index = system.input_index
    gravity = next((load for load in system.loads if isinstance(load, Gravity)), None)
    loads = _loads(system, tree)
    K, D, rest, friction, stop = _joint_loads(system, most)
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
    feedback = [load for load in system.loads if isinstance(load, Feedback)]
    paths = tree.paths()

    program = Program(
        free=_ints([system.free]),
        segment=_ints(paths["segment"]).reshape(-1, 9),
        path=_ints(paths["path"]),
        frame_slot=_ints(paths["frame_slot"]),
        slot_path=_ints(paths["slot_path"]),
        **tree.strains(most),
        **tree.polynomials(),
        inertia=_floats(inertia.reshape(frames, 6, 6)),
        gravity=_floats(gravity.acceleration if gravity else (0.0, 0.0, 0.0)),
        gravity_input=_ints([index(gravity) if gravity else -1]),
        load_frame=_ints(loads["frame"]),
        load_input=_ints(loads["input"]),
        load_follows=_ints(loads["follows"]),
        load_wrench=_floats(loads["wrench"]).reshape(-1, 6),
        block=_ints(list(system.blocks.values())).reshape(-1, 2),
        K_elastic=_floats(K),
        D_elastic=_floats(D),
        spring_rest=_floats(rest),
        friction=_floats(friction),
        stop=_floats(stop),
        imposed=_ints([system.imposed_columns(a) for a in imposed]).reshape(-1, 4),
        wrap=_ints(tree.rotation_vectors()),
        slide_frame=_ints([tree.frame_of(load.frame) for load in slides]),
        slide=_floats([(load.viscous, load.dry, load.speed) for load in slides]).reshape(-1, 3),
        user_frame=_ints([tree.frame_of(load.frame) for load in feedback]),
        point_block=_ints(points.block),
        point_phi=_floats(points.phi),
        point_rest=_floats(points.rest),
        tendon_input=_ints(tendons["input"]),
        tendon_factor=_floats(tendons["factor"]),
        tendon_row=_ints(tendon_row),
        tendon_length=_floats(tendons["length"]),
        tendon_path=_floats(tendons["path"]).reshape(len(tendons["input"]), points.ds.size, 6),
        tendon_weight=_floats(tendons["weight"]).reshape(len(tendons["input"]), points.ds.size),
        span_tendon=_ints(spans["tendon"]),
        span_frame=_ints(spans["frame"]).reshape(-1, 2),
        span_point=_floats(spans["point"]).reshape(-1, 2, 3),
        span_slot=_ints([[paths["slots"].get(f, -1) for f in pair] for pair in spans["frame"]]).reshape(-1, 2),
        muscle_input=_ints([index(m) for m in motors]),
        muscle_force=_floats(force),
        closure_frame=_ints(closures["frame"]).reshape(-1, 2),
        closure_pose=_floats(closures["pose"]).reshape(-1, 2, 4, 3),
        closure_slot=_ints([[paths["slots"].get(f, -1) for f in pair] for pair in closures["frame"]]).reshape(-1, 2),
        closure_rows=_ints(closures["rows"]).reshape(-1, 2),
        row_kind=_ints(closures["kind"]),
        row_axes=_floats(closures["axes"]).reshape(-1, 6),
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
    return Assembly(program, tree.rods, tree.bodies, scale, length, _energy(system, inertia, length))


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
# The tree
# ---------------------------------------------------------------------------------------------------------------


class _Tree:
    """Frames, segments and intervals of a mechanism, in the order in which they grow from the root."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.inertia: list[Array] = [np.zeros((6, 6))]
        self.segments: list[tuple[int, int, int, int, int, int]] = []
        self.active: list[tuple[list[int], list[int]]] = []  # free strains, first own coordinate of each
        self.rest: list[Array] = []  # per interval (moments, 6)
        self.phi: list[Array] = []  # per interval (moments, coordinates)
        self.schemes: list[tuple[LieScheme, int]] = []  # with the sign of the exponent
        self.rods: dict[Rod, RodFrames] = {}
        self.bodies: dict[RigidBody, int] = {}
        self.sites: dict[PointWrench, int] = {}  # where point loads act
        self.grids = _grids(system)

    @property
    def frames(self) -> int:
        return len(self.inertia)

    def frame_of(self, frame: Frame) -> int:
        """Frame of a part or section; 0 for the world, which is the base of the tree unless that floats."""
        part = frame.part
        if isinstance(part, Rod):
            return int(self.rods[part].frames[self.grids[part].index(frame.s)])
        return self.bodies[part] if isinstance(part, RigidBody) else 0

    def grow(self) -> None:
        """Walk the tree."""
        tree = self.system.mechanism.tree
        if not isinstance(tree.root.part, str):
            self._place(tree.root, 0)
        for branch in tree.branches:
            self._branch(branch)
        for load in self.system.loads:
            if isinstance(load, PointWrench):
                self.sites[load] = self._offset(self.frame_of(load.site), load.site.g)

    def _branch(self, branch: Branch) -> None:
        joint, sign = branch.joint, -1.0 if branch.reverse else 1.0
        axes = se3.pose(joint.axes, np.zeros(3))
        at = self._offset(self.frame_of(branch.parent), branch.parent.g @ axes)
        if joint.n:
            first = self.system.blocks[joint][0]
            component = [c for factor in joint.motion for c in factor]
            factors = np.split(np.eye(joint.n), np.cumsum([len(factor) for factor in joint.motion])[:-1])
            phi = [sign * own.sum(axis=0, keepdims=True) for own in (factors[::-1] if branch.reverse else factors)]
            rest = [np.zeros((1, 6))] * len(phi)
            at = self._segment(at, rest, phi, first, joint.n, (JOINT, 1), component, list(range(joint.n + 1)))
        at = self._offset(at, axes.T @ se3.inverse(branch.child.g))
        self._place(branch.child, at)

    def _offset(self, at: int, g: Array) -> int:
        """Frame at a constant pose ``g`` from the frame ``at``."""
        if np.allclose(g, np.eye(4), rtol=0.0, atol=1e-15):
            return at
        return self._segment(at, [se3.log(g)[None]], [np.zeros((1, 0))], 0, 0, (JOINT, 1), [], [0])

    def _place(self, frame: Frame, at: int) -> None:
        """Put the part of ``frame`` into the tree, its section or body frame at the frame ``at``."""
        part = frame.part
        if isinstance(part, RigidBody):
            self.bodies[part] = at
            self.inertia[at] = self.inertia[at] + part.M
            return
        assert isinstance(part, Rod)
        grid, scheme = self.grids[part], lie_scheme(part)
        first, n = self.system.blocks[part]
        rest, phi = _moments(part, grid.s, scheme)
        active = [c for c in range(6) if part.counts[c]]
        starts = np.concatenate([[0], np.cumsum([part.counts[c] for c in active])]).astype(int).tolist()
        own = np.zeros(grid.s.size, dtype=np.int64)
        root = grid.index(frame.s)
        own[root] = at
        if root < grid.s.size - 1:
            begin = self.frames
            self._segment(at, list(rest[root:]), list(phi[root:]), first, n, (scheme, 1), active, starts)
            own[root + 1 :] = np.arange(begin, self.frames)
        if root > 0:
            begin = self.frames
            back = slice(root - 1, None, -1)
            self._segment(at, list(rest[back]), list(phi[back]), first, n, (scheme, -1), active, starts)
            own[back] = np.arange(begin, self.frames)
        for f, weight, density in zip(own, grid.weights, part.inertia(grid.s), strict=True):
            self.inertia[f] = self.inertia[f] + np.diag(weight * density)
        self.rods[part] = RodFrames(grid.s, grid.weights, own)

    def _segment(
        self, parent: int, rest: list[Array], phi: list[Array], first: int, count: int,
        scheme: tuple[LieScheme, int], active: list[int], starts: list[int],
    ) -> int:  # fmt: skip
        """A new segment; returns its last frame."""
        if scheme not in self.schemes:
            self.schemes.append(scheme)
        poly = self.schemes.index(scheme)
        self.segments.append((parent, len(self.rest), len(rest), first, count, poly))
        self.active.append((active, starts))
        self.rest += rest
        self.phi += phi
        self.inertia += [np.zeros((6, 6))] * len(rest)
        return self.frames - 1

    # Arrays -------------------------------------------------------------------------------------------------

    def strains(self, most: int) -> dict[str, Any]:
        """Moments of all intervals, padded to one size, and the free strains of all segments."""
        segments = self.segments
        moments = max(len(r) for r in self.rest) if self.rest else 1
        rest = np.zeros((len(self.rest), moments, 6))
        phi = np.zeros((len(self.rest), moments, max(most, 1)))
        for i, (r, f) in enumerate(zip(self.rest, self.phi, strict=True)):
            rest[i, : len(r)] = r
            phi[i, : len(f), : f.shape[1]] = f
        active = np.zeros((max(len(segments), 1), 7), dtype=np.int64)
        slot_start = np.zeros_like(active)
        for k, (strains, starts) in enumerate(self.active):
            active[k, 0] = len(strains)
            active[k, 1 : 1 + len(strains)] = strains
            slot_start[k] = [*starts, *[starts[-1]] * (7 - len(starts))]
        component = np.zeros(self.system.n, dtype=np.int64)
        for part, (first, count) in self.system.blocks.items():
            own = part.component if isinstance(part, Rod) else [c for factor in part.motion for c in factor]
            component[first : first + count] = own
        return {
            "active": _ints(active),
            "component": _ints(component),
            "slot_start": _ints(slot_start),
            "rest": _floats(rest),
            "phi": _floats(phi),
        }

    def polynomials(self) -> dict[str, Any]:
        """Tables of the Lie polynomials in use; a segment that runs backward negates the last operation."""
        operations = max([len(scheme.operations) for scheme, _ in self.schemes] + [1])
        moments = max([len(scheme.moments) for scheme, _ in self.schemes] + [1])
        many = max(len(self.schemes), 1)
        pair = np.zeros((many, operations, 2), dtype=np.int64)
        beta = np.zeros((many, operations))
        linear = np.zeros((many, operations, moments + operations))
        size = np.ones((many, 2), dtype=np.int64)
        for p, (scheme, sign) in enumerate(self.schemes):
            size[p] = len(scheme.moments), len(scheme.operations)
            for o, (bracket, a, b, weights) in enumerate(scheme.operations):
                factor = sign if o == len(scheme.operations) - 1 else 1
                pair[p, o], beta[p, o] = (a, b), factor * bracket
                for j, weight in weights.items():
                    linear[p, o, j] = factor * weight
        return {"poly_size": size, "poly_pair": pair, "poly_beta": beta, "poly_linear": linear}

    def paths(self) -> dict[str, Any]:
        """Unknowns that move each segment, and slots for the frames where columns are wanted again."""
        offset = 6 * int(self.system.free)
        owner = np.full(self.frames, -1)  # segment of each frame
        for k, (_, start, count, *_) in enumerate(self.segments):
            owner[start + 1 : start + count + 1] = k
        wanted = {0, *(parent for parent, *_ in self.segments)}
        tied = [*_closures(self.system, self)["frame"], *_spans(self.system, self)["frame"]]
        wanted |= {f for pair in tied for f in pair if f >= 0}
        slots = {f: k for k, f in enumerate(sorted(wanted))}
        base = list(range(offset))
        lists: list[list[int]] = []
        path, starts, segment = list(base), [], []
        for k, row in enumerate(self.segments):
            before = owner[row[0]]
            nearer = base if before < 0 else lists[before]
            lists.append([*nearer, *range(offset + row[3], offset + row[3] + row[4])])
            starts.append(len(path))
            segment.append([*row, slots[row[0]], starts[k], len(lists[k])])
            path += lists[k]
        slot_path = [(0, offset) if owner[f] < 0 else (starts[owner[f]], len(lists[owner[f]])) for f in slots]
        frame_slot = [slots.get(f, -1) for f in range(self.frames)]
        if not segment:  # a single floating body: one empty segment keeps the arrays in shape
            segment = [[0, 0, 0, 0, 0, 0, 0, 0, offset]]
        return {"segment": segment, "path": path, "frame_slot": frame_slot, "slot_path": slot_path, "slots": slots}

    def rotation_vectors(self) -> list[int]:
        """First coordinate of each rotation vector that may be exchanged for a shorter one of the same rotation.

        Not where a component is imposed or has a spring or a stop: these mean one number, which would jump.
        """
        system, found = self.system, []
        given = {system.coordinates(part.target).start + part.index for part in system.imposed}
        for load in system.loads:
            if isinstance(load, JointSpring | JointStop):
                given.add(system.coordinates(load.joint).start + load.index)
        for part, (first, _) in system.blocks.items():
            if isinstance(part, Joint):
                before = first
                for factor in part.motion:
                    if factor == (0, 1, 2) and not given & {before, before + 1, before + 2}:
                        found.append(before)
                    before += len(factor)
        return found


def _grids(system: System) -> dict[Rod, Grid]:
    """Nodes of each rod, with those where a pose is wanted or where a field along the rod jumps."""
    mechanism = system.mechanism
    stations: dict[Rod, list[float]] = {rod: [] for rod in mechanism.rods}
    breaks: dict[Rod, list[float]] = {rod: [] for rod in mechanism.rods}
    frames = [frame for joint in mechanism.joints for frame in (joint.a, joint.b)]
    frames += [mechanism.held(hold) for hold in mechanism.holds]
    frames += [load.frame for load in system.loads if isinstance(load, SlidingFriction | Feedback)]
    for frame in frames:
        if isinstance(frame.part, Rod):
            stations[frame.part].append(frame.s)
    for part in system.channels:
        if isinstance(part, PointWrench) and isinstance(part.part, Rod):
            stations[part.part].append(part.position)
        elif isinstance(part, DistributedWrench):
            breaks[part.rod] += part.breaks
        elif isinstance(part, Tendon | SpooledTendon | Pressure):
            for rod in part.rods:
                breaks[rod] += part.breaks_on(rod)
            for guide in (guide for span in part.spans for guide in span):
                if isinstance(guide.part, Rod):
                    stations[guide.part].append(guide.s)
    return {rod: rod.grid_with(stations=stations[rod], breaks=breaks[rod]) for rod in mechanism.rods}


def _moments(rod: Rod, s: Array, scheme: LieScheme) -> tuple[Array, Array]:
    """Strain moments of each interval: of the rest strain (intervals, m, 6), of each function (intervals, m, n)."""
    h = np.diff(s)
    points = s[:-1, None] + h[:, None] * np.array(scheme.points)
    shape = (*points.shape, -1)
    C = np.array(scheme.moments)
    rest = rod.rest_strain(points.ravel()).reshape(shape)
    phi = rod.functions(points.ravel()).reshape(shape)
    return np.einsum("i,mj,ijc->imc", h, C, rest), np.einsum("i,mj,ijk->imk", h, C, phi)


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

    def of(self, rod: Rod) -> tuple[NDArray[np.bool_], Array]:
        """Which points lie on ``rod``, and their arc lengths [m]."""
        here = np.array([r is rod for r in self.rod], dtype=bool)
        return here, self.s[here]


def _points(system: System, tree: _Tree, most: int, K: Array, D: Array) -> _Points:
    """Quadrature points; the elasticity and damping of the rods is added to ``K`` and ``D``."""
    rods: list[Rod] = []
    s, ds, block, phi, rest = [np.zeros(0)], [np.zeros(0)], [], [np.zeros((0, max(most, 1)))], [np.zeros((0, 6))]
    numbers = {part: k for k, part in enumerate(system.blocks)}
    for rod in system.mechanism.rods:
        grid = tree.grids[rod]
        here, weights = grid.s[grid.quadrature], grid.weights[grid.quadrature]
        first, n = system.blocks[rod]
        Phi = rod.functions(here)
        same = rod.component[:, None] == rod.component[None, :]
        H = rod.stiffness(here)[:, rod.component]
        stiffness = np.where(same, np.einsum("g,gi,gi,gk->ik", weights, H, Phi, Phi), 0.0)
        K[first : first + n, :n] += stiffness
        D[first : first + n, :n] += rod.material.damping * stiffness
        rods += [rod] * here.size
        s.append(here)
        ds.append(weights)
        block += [numbers[rod]] * here.size
        phi.append(np.pad(Phi, ((0, 0), (0, max(most, 1) - n))))
        rest.append(rod.rest_strain(here))
    return _Points(rods, np.concatenate(s), np.concatenate(ds), block, np.concatenate(phi), np.concatenate(rest))


def _joint_loads(system: System, most: int) -> tuple[Array, Array, Array, Array, Array]:
    """Springs, friction and stops of joints: K, D (n, most), rest, friction and stop rows."""
    n = system.n
    K, D = np.zeros((n, max(most, 1))), np.zeros((n, max(most, 1)))
    rest, friction, stop = np.zeros(n), np.zeros((n, 2)), np.zeros((n, 3))
    friction[:, 1] = 1.0
    for load in system.loads:
        if not isinstance(load, JointSpring | JointFriction | JointStop):
            continue
        k = system.coordinates(load.joint).start + load.index
        if isinstance(load, JointSpring):
            K[k, load.index] += load.stiffness
            rest[k] = load.rest
        elif isinstance(load, JointFriction):
            D[k, load.index] += load.viscous
            friction[k] = load.dry, load.speed
        else:
            stop[k] = load.lower, load.upper, load.stiffness
    return K, D, rest, friction, stop


def _loads(system: System, tree: _Tree) -> dict[str, list[Any]]:
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


def _tendons(system: System, points: _Points) -> dict[str, list[Any]]:
    """Tendons, spooled tendons and pressure chambers: one law, T (D×u; u)."""
    out: dict[str, list[Any]] = {k: [] for k in ("input", "factor", "length", "path", "weight", "spooled")}
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
    return out


def _spans(system: System, tree: _Tree) -> dict[str, list[Any]]:
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


def _closures(system: System, tree: _Tree) -> dict[str, list[Any]]:
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


def _ints(values: Any) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64, order="C")


def _floats(values: Any) -> Array:
    return np.array(values, dtype=np.float64, order="C")
