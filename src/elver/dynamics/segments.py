"""From the tree of a mechanism to segments, intervals and frames.

The tree is walked from its root: an offset becomes an interval without coordinates, a joint one or two intervals, a rod
one interval between each two of its nodes. A rod that is reached by another section than its base grows from there to
both ends; the part toward the base runs backward on the same coordinates.

Theory: docs/theory/recursion.md, eq. (sum-of-twists).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.bodies import RigidBody
from elver.dynamics.bands import SLOTS, Near, stacked, windows
from elver.dynamics.lie_schemes import JOINT, LieScheme, lie_scheme
from elver.dynamics.structure import Structure
from elver.errors import BadInput
from elver.lie import se3
from elver.mechanism import Acts, Branch, Frame, Joint
from elver.rods import Grid, GridPlan, Place, Rod, filled, planned
from elver.system import System

__all__ = ["RodFrames", "Segments", "floats", "ints", "places"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RodFrames:
    """Where the nodes of a rod are in the arrays."""

    s: Array  # (nodes,) arc lengths [m], from base to tip
    weights: Array  # (nodes,) quadrature weights
    frames: NDArray[np.int64]  # (nodes,)
    ends: Array  # (elements + 1,) ends of the elements [m], each with quadrature points of its own
    root: int  # node by which it hangs in the tree


class Segments:
    """Frames, segments and intervals of a mechanism, in the order in which they grow from the root.

    Parts without an offset between them share a frame, for speed. ``apart`` gives each part a frame of its own where it
    is joined, and another to whatever acts at a point, so that the wrench that passes can be read there. With a
    ``structure``, nodes and offsets are those that it has.
    """

    def __init__(self, system: System, structure: Structure | None = None, *, apart: bool = False) -> None:
        self.system, self.structure, self.apart = system, structure, apart
        self.segments: list[tuple[int, int, int, int, int, int]] = []
        self.active: list[list[int]] = []  # free strains of each segment
        self.rest: list[Array] = []  # per segment (intervals, moments, 6)
        self.bend: list[NDArray[np.int64]] = []  # per segment, windows of the coordinates that bend its intervals
        self.phi: list[Array] = []  # per segment (intervals, moments, most of a window)
        self.steps: dict[int, Array] = {}  # pose of each offset, by its interval
        self.offsets: list[bool] = []  # which of the places where one may be have one
        self.masses: list[tuple[Any, Array]] = []  # frames, and inertia that is added there
        self.schemes: list[tuple[LieScheme, int]] = []  # with the sign of the exponent
        self.rods: dict[Rod, RodFrames] = {}
        self.bodies: dict[RigidBody, int] = {}
        self.sites: dict[Acts, int] = {}  # where point loads act
        self.joints: dict[Joint, tuple[int, int]] = {}  # joint frames of the tree: on the parent, on the child
        self.ties: dict[int, int] = {}  # frame at which something acts, if apart, by the frame of the part
        self.frames = 1
        self.plans, self.grids = _grids(system, structure)

    @property
    def inertia(self) -> Array:
        """Inertia of bodies and rods at their frames, (frames, 6, 6)."""
        found = np.zeros((self.frames, 6, 6))
        for frames, M in self.masses:
            found[frames] += M
        return found

    def frame_of(self, frame: Frame) -> int:
        """Frame of a part or section; 0 for the world, which is the base of the tree unless that floats."""
        part = frame.part
        if isinstance(part, Rod):
            found = int(self.rods[part].frames[self.grids[part].index(frame.s)])
        else:
            found = self.bodies[part] if isinstance(part, RigidBody) else 0
        return self.ties.get(found, found)

    def grow(self) -> None:
        """Walk the tree."""
        tree = self.system.mechanism.tree
        if not isinstance(tree.root.part, str):
            self._place(tree.root, 0)
        for branch in tree.branches:
            self._branch(branch)
        for load in self.system.loads:
            if (site := load.site) is not None:
                self.sites[load] = self._offset(self.frame_of(site), site.g, site.shifted, load.name)
        if self.apart:
            at = {self.frame_of(frame) for frame in _tied(self.system)}
            self.ties = {f: self._shift(f, np.eye(4)) for f in sorted(at)}

    def _branch(self, branch: Branch) -> None:
        joint = branch.joint
        parent, child, turned = branch.parent, branch.child, joint.axis != "z"
        axes = se3.pose(joint.axes, np.zeros(3))
        at = before = self._offset(self.frame_of(parent), parent.g @ axes, parent.shifted or turned, joint.name)
        if joint.n:
            first = self.system.blocks[joint][0]
            component = [c for factor in joint.motion for c in factor]
            functions = _of_joint(tuple(len(factor) for factor in joint.motion), branch.reverse)
            rest = np.zeros((len(joint.motion), 1, 6))
            at = self._segment(at, rest, functions, first, joint.n, (JOINT, 1), component)
        self.joints[joint] = before, at
        at = self._offset(at, axes.T @ se3.inverse(child.g), child.shifted or turned, joint.name)
        self._place(child, at)

    def _offset(self, at: int, g: Array, shifted: bool, who: str | None) -> int:
        """Frame at a constant pose ``g`` from the frame ``at``; that one itself where nothing is ``shifted``."""
        if self.structure is not None:
            known = self.structure.offsets
            wanted, shifted = shifted, known[len(self.offsets)] if len(self.offsets) < len(known) else shifted
            if wanted and not shifted and np.any(g != np.eye(4)):
                raise BadInput(
                    f"{who!r} has an offset that the structure has no room for: give a pose, be it zero, where the "
                    "structure is made"
                )
        self.offsets.append(shifted)
        return self._shift(at, g) if shifted or self.apart else at

    def _shift(self, at: int, g: Array) -> int:
        self.steps[self.frames - 1] = g
        nothing = np.zeros((1, 3 * SLOTS), dtype=np.int64), np.zeros((1, 1, 0))
        return self._segment(at, np.zeros((1, 1, 6)), nothing, 0, 0, (JOINT, 1), [])

    def _place(self, frame: Frame, at: int) -> None:
        """Put the part of ``frame`` into the tree, its section or body frame at the frame ``at``."""
        part = frame.part
        if isinstance(part, RigidBody):
            self.bodies[part] = at
            self.masses.append((at, part.M))
            return
        assert isinstance(part, Rod)
        grid, scheme = self.grids[part], lie_scheme(part)
        first, n = self.system.blocks[part]
        rest, functions = _moments(part, grid.s, scheme)
        active = [c for c in range(6) if part.counts[c]]
        bend, phi = windows(functions, [0, *accumulate(part.counts[c] for c in active)])
        own = np.zeros(grid.s.size, dtype=np.int64)
        root = grid.index(frame.s)
        own[root] = at
        if root < grid.s.size - 1:
            begin = self.frames
            self._segment(at, rest[root:], (bend[root:], phi[root:]), first, n, (scheme, 1), active)
            own[root + 1 :] = np.arange(begin, self.frames)
        if root > 0:
            begin = self.frames
            back = slice(root - 1, None, -1)
            self._segment(at, rest[back], (bend[back], phi[back]), first, n, (scheme, -1), active)
            own[back] = np.arange(begin, self.frames)
        self.masses.append((own, (grid.weights[:, None] * part.inertia(grid.s))[:, :, None] * np.eye(6)))
        self.rods[part] = RodFrames(grid.s, grid.weights, own, grid.ends, root)

    def _segment(
        self, parent: int, rest: Array, functions: tuple[NDArray[np.int64], Array], first: int, count: int,
        scheme: tuple[LieScheme, int], active: list[int],
    ) -> int:  # fmt: skip
        """A new segment; returns its last frame."""
        if scheme not in self.schemes:
            self.schemes.append(scheme)
        poly = self.schemes.index(scheme)
        self.segments.append((parent, self.frames - 1, len(rest), first, count, poly))
        self.active.append(active)
        self.rest.append(rest)
        self.bend.append(functions[0])
        self.phi.append(functions[1])
        self.frames += len(rest)
        return self.frames - 1

    # Arrays -------------------------------------------------------------------------------------------------

    def least(self, name: str, *sizes: int) -> tuple[int, ...]:
        """Sizes behind the first that an array has at least: those in the structure, ``sizes`` where none is given.

        What is zero somewhere is a matter of numbers, and so is how many functions are not: few shapes are wider.
        """
        return sizes if self.structure is None else self.structure.shape(name)[1:]

    def strains(self) -> dict[str, Any]:
        """Moments of all intervals, padded to one size, and the free strains of all segments."""
        segments, intervals = self.segments, self.frames - 1
        rest, phi = stacked(self.rest, intervals, (1, 6)), stacked(self.phi, intervals, self.least("phi", 1, 1))
        bend = np.concatenate([np.zeros((0, 3 * SLOTS), dtype=np.int64), *self.bend])
        fixed = np.zeros((intervals, 4, 3))
        if self.steps:
            at, g = list(self.steps), np.array(list(self.steps.values()))
            rest[at, 0] = se3.log(g)
            fixed[at, :3], fixed[at, 3] = g[:, :3, :3], g[:, :3, 3]
        active = np.zeros((max(len(segments), 1), 7), dtype=np.int64)
        for k, strains in enumerate(self.active):
            active[k, : 1 + len(strains)] = len(strains), *strains
        component = np.zeros(self.system.n, dtype=np.int64)
        for part, (first, count) in self.system.blocks.items():
            moved = part.component if isinstance(part, Rod) else [c for factor in part.motion for c in factor]
            component[first : first + count] = moved
        return {
            "active": active,
            "component": component,
            "fixed": fixed,
            "rest": rest,
            "phi": phi,
            "bend": bend,
        }

    def polynomials(self) -> dict[str, Any]:
        """Tables of the Lie polynomials in use."""
        return _polynomials(tuple(self.schemes))

    def paths(self, tied: Iterable[Sequence[int]]) -> dict[str, Any]:
        """Unknowns that move each segment, and slots where columns are wanted again: at parents and frames ``tied``."""
        offset = 6 * int(self.system.free)
        owner = np.full(self.frames, -1)  # segment of each frame
        for k, (_, start, count, *_) in enumerate(self.segments):
            owner[start + 1 : start + count + 1] = k
        wanted = {0, *(parent for parent, *_ in self.segments)}
        wanted |= {f for pair in tied for f in pair if f >= 0}
        slots = {f: k for k, f in enumerate(sorted(wanted))}
        paths: list[tuple[int, int]] = []  # first entry and length
        segment, begins = [], offset
        for k, row in enumerate(self.segments):
            before = owner[row[0]]
            paths.append((begins, row[4] + (offset if before < 0 else paths[before][1])))
            begins += paths[k][1]
            segment.append([*row, slots[row[0]], *paths[k], self._kind(k)])
        slot_path = [(0, offset) if owner[f] < 0 else paths[owner[f]] for f in slots]
        frame_slot = [slots.get(f, -1) for f in range(self.frames)]
        if not segment:  # a single floating body: one empty segment keeps the arrays in shape
            segment = [[0, 0, 0, 0, 0, 0, 0, 0, offset, 0]]
        return {"segment": segment, "frame_slot": frame_slot, "slot_path": slot_path, "slots": slots}

    def _kind(self, k: int) -> int:
        """0 for an offset, 1 for a joint that only turns, which have short cuts, 2 for other joints and for rods."""
        if not self.segments[k][4]:
            return 0
        scheme, sign = self.schemes[self.segments[k][5]]
        return 1 if scheme is JOINT and sign == 1 and max(self.active[k]) < 3 else 2

    def rotation_vectors(self) -> list[int]:
        """First coordinate of each rotation vector that may be exchanged for a shorter one of the same rotation.

        Not where a component is imposed or has a spring or a stop: these mean one number, which would jump.
        """
        system, found = self.system, []
        given = {
            system.coordinates(part.place[0]).start + part.place[1]
            for part in (*system.actuators, *system.loads)
            if part.means_one_number and part.place is not None
        }
        for part, (first, _) in system.blocks.items():
            if isinstance(part, Joint):
                before = first
                for factor in part.motion:
                    if factor == (0, 1, 2) and not given & {before, before + 1, before + 2}:
                        found.append(before)
                    before += len(factor)
        return found


def places(system: System) -> tuple[dict[Rod, list[Place]], dict[Rod, list[Place]]]:
    """Places on each rod where a pose is wanted (loads, joints, guides), and where actions begin or end."""
    mechanism = system.mechanism
    stations: dict[Rod, list[Place]] = {rod: [] for rod in mechanism.rods}
    breaks: dict[Rod, list[Place]] = {rod: [] for rod in mechanism.rods}
    sites = [(load.site, load.name) for load in system.loads]
    frames: list[tuple[Frame, str | None]] = [(site, name) for site, name in sites if site is not None]
    frames.append((mechanism.tree.root, "the root of the tree"))
    frames += [(frame, joint.name) for joint in mechanism.joints for frame in (joint.a, joint.b)]
    frames += [(mechanism.held(hold), hold.label) for hold in mechanism.holds]
    frames += [(frame, part.name) for part in (*system.loads, *system.actuators) for frame in part.frames]
    for part in (*system.actuators, *system.loads):
        for rod, s in part.jumps:
            breaks[rod].append(Place(s, part.name))
    for frame, who in frames:
        if isinstance(frame.part, Rod):
            stations[frame.part].append(Place(frame.s, str(who)))
    return stations, breaks


def _grids(system: System, structure: Structure | None) -> tuple[tuple[GridPlan, ...], dict[Rod, Grid]]:
    """Nodes of each rod, with those where a pose is wanted or where a field along the rod jumps."""
    stations, breaks = places(system)
    plans: list[GridPlan] = []
    grids: dict[Rod, Grid] = {}
    for k, rod in enumerate(system.mechanism.rods):
        at, cuts = stations[rod], breaks[rod]
        plans.append(planned(rod.elements, at, cuts) if structure is None else structure.grids[k])
        try:
            grids[rod] = filled(plans[-1], rod.elements, at, cuts)
        except BadInput as error:
            raise BadInput(f"rod {rod.name!r}: {error}; structure_of(system) finds its own") from None
    return tuple(plans), grids


@cache
def _polynomials(schemes: tuple[tuple[LieScheme, int], ...]) -> dict[str, Any]:
    """Tables of Lie polynomials; a segment that runs backward negates the last operation."""
    operations = max([len(scheme.operations) for scheme, _ in schemes] + [1])
    moments = max([len(scheme.moments) for scheme, _ in schemes] + [1])
    many = max(len(schemes), 1)
    pair = np.zeros((many, operations, 2), dtype=np.int64)
    beta = np.zeros((many, operations))
    linear = np.zeros((many, operations, moments + operations))
    size = np.ones((many, 2), dtype=np.int64)
    for p, (scheme, sign) in enumerate(schemes):
        size[p] = len(scheme.moments), len(scheme.operations)
        for o, (bracket, a, b, weights) in enumerate(scheme.operations):
            factor = sign if o == len(scheme.operations) - 1 else 1
            pair[p, o], beta[p, o] = (a, b), factor * bracket
            for j, weight in weights.items():
                linear[p, o, j] = factor * weight
    return {"poly_size": size, "poly_pair": pair, "poly_beta": beta, "poly_linear": linear}


def _tied(system: System) -> list[Frame]:
    """Frames at which closures, cables over guides, sliding friction, feedback and loads of one's own act."""
    mechanism = system.mechanism
    frames = [frame for joint in mechanism.tree.cuts for frame in (joint.a, joint.b)]
    frames += [mechanism.held(hold) for hold in mechanism.holds]
    return frames + [frame for part in (*system.loads, *system.actuators) for frame in part.frames]


def _moments(rod: Rod, s: Array, scheme: LieScheme) -> tuple[Array, list[Near]]:
    """Strain moments of each interval: of the rest strain (intervals, m, 6), of the functions of each free strain."""
    h = np.diff(s)
    points = s[:-1, None] + h[:, None] * np.array(scheme.points)
    C = np.array(scheme.moments)
    rest = rod.rest_strain(points.ravel()).reshape(*points.shape, -1)
    found = []
    for near, values in rod.local_functions(points.ravel()):
        at, own = near.reshape(points.shape), values.reshape(*points.shape, -1)
        first = at.min(axis=1)
        ahead = at - first[:, None]
        if ahead.any():  # at the end of an interval, functions of the next element
            wide = np.zeros((*points.shape, own.shape[2] + int(ahead.max())))
            np.put_along_axis(wide, ahead[:, :, None] + np.arange(own.shape[2]), own, axis=2)
            own = wide
        found.append((first, np.einsum("i,mj,ijk->imk", h, C, own)))
    return np.einsum("i,mj,ijc->imc", h, C, rest), found


@cache
def _of_joint(counts: tuple[int, ...], reverse: bool) -> tuple[NDArray[np.int64], Array]:
    """Windows and columns of a joint of so many coordinates in each interval, each a free strain of its own."""
    own = np.repeat(np.arange(len(counts)), counts) == np.arange(len(counts))[:, None]
    phi = np.where(own[::-1], -1.0, 0.0) if reverse else np.where(own, 1.0, 0.0)
    none = np.zeros(len(phi), dtype=np.int64)
    return windows([(none, phi[:, k, None, None]) for k in range(phi.shape[1])], range(phi.shape[1]))


def ints(values: Any) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64, order="C")


def floats(values: Any) -> Array:
    return np.array(values, dtype=np.float64, order="C")
