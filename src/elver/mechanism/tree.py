"""The tree of a mechanism: which joints carry parts and have coordinates, and which close loops.

Every part hangs from the root by one path of joints; each further joint closes a loop and is cut: it has closure
rows in place of coordinates. Where there is a choice, the joints with most freedom are cut, since they leave the
fewest coordinates and the fewest rows (the minimum spanning tree of Kruskal, weighted by freedom).

The root is the world, or a part that floats. From a floating root all ties of its parts to the world are cut.

Theory: docs/theory/loops.md, eq. (closure).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from elver.errors import BadInput
from elver.lie import se3
from elver.lie.integration import magnus
from elver.mechanism.frame import Frame, Part, Place
from elver.mechanism.joints import Joint
from elver.rods import Rod
from elver.rods.fields import Array
from elver.values import Carried
from elver.words import brief

__all__ = ["Branch", "Tree", "component", "grow", "parts_of", "start_pose"]

Owner: TypeAlias = Joint | Rod


@brief
@dataclass(frozen=True, eq=False)
class Branch:
    """A joint of the tree: ``parent`` and ``child`` are its frames a and b, swapped if ``reverse``."""

    joint: Joint
    parent: Frame
    child: Frame
    reverse: bool


@brief
@dataclass(frozen=True, eq=False)
class Tree(Carried):
    """``branches`` from the ``root`` on, parents first and limb after limb; ``cuts`` are the joints that close loops.

    ``root`` is the world or, for a floating base, a part (a section of it, for a rod); parts that are tied to the
    world only then still hang from branches whose parent is the world.
    """

    root: Frame
    branches: tuple[Branch, ...]
    cuts: tuple[Joint, ...]

    @property
    def floating(self) -> bool:
        """True when the root is a part that floats."""
        return self.root.part != "world"

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts in tree order."""
        places = (self.root.part, *(branch.child.part for branch in self.branches))
        return tuple(place for place in places if not isinstance(place, str))

    @cached_property
    def coordinates(self) -> tuple[tuple[Owner, slice], ...]:
        """Who owns which coordinates of q: each joint, then the rod it carries. The pose of the base is not in q."""
        owners: list[Owner] = [self.root.part] if isinstance(self.root.part, Rod) else []
        for branch in self.branches:
            owners.append(branch.joint)
            if isinstance(branch.child.part, Rod):
                owners.append(branch.child.part)
        ends = np.cumsum([owner.n for owner in owners]).tolist()
        return tuple((owner, slice(end - owner.n, end)) for owner, end in zip(owners, ends))

    @property
    def n(self) -> int:
        """Number of coordinates of joints and rods."""
        return sum(owner.n for owner, _ in self.coordinates)

    @property
    def rows(self) -> int:
        """Number of closure rows of the cuts."""
        return sum(len(joint.closure_rows) for joint in self.cuts)


def parts_of(joints: Iterable[Joint]) -> tuple[Part, ...]:
    """Every part that is joined, once, in the order of mention."""
    places = dict.fromkeys(frame.part for joint in joints for frame in (joint.a, joint.b))
    return tuple(place for place in places if not isinstance(place, str))


def grow(joints: Sequence[Joint], root: Frame) -> Tree:
    """The tree of ``joints`` from ``root``."""
    own = component(joints, root.part)
    ties = {j for j in joints if "world" in _ends(j) and own & set(_ends(j))} if root.part != "world" else set()
    sources: list[Place] = list(dict.fromkeys((root.part, "world")))
    usable = [joint for joint in joints if not joint.cut and joint not in ties]
    depth = _distances(usable, sources)
    _check_reached(joints, ties, depth)

    # Kruskal: the least freedom first, then the nearest to the root, then the order of the list.
    group: dict[Place, Place] = {}

    def head(place: Place) -> Place:
        while place in group:
            place = group[place]
        return place

    kept = []
    for joint in sorted(usable, key=lambda joint: (joint.n, min(depth[end] for end in _ends(joint)))):
        a, b = map(head, _ends(joint))
        if a is not b:
            group[b] = a
            kept.append(joint)

    # Orient: from the root outwards, one limb after the other, each in the order of the list.
    kept.sort(key=joints.index)
    branches: list[Branch] = []
    waiting = [branch for source in reversed(sources) for branch in reversed(_outward(kept, source))]
    while waiting:
        branch = waiting.pop()
        branches.append(branch)
        onward = _outward([joint for joint in kept if joint is not branch.joint], branch.child.part)
        waiting.extend(reversed(onward))
    # A joint that leaves everything free closes nothing.
    cuts = tuple(joint for joint in joints if joint not in kept and joint.closure_rows)
    return Tree(root, tuple(branches), cuts)


def component(joints: Iterable[Joint], place: Place) -> set[Place]:
    """All parts connected to one, by ways that do not pass through the world."""
    inner = [joint for joint in joints if "world" not in _ends(joint)]
    return set(_distances(inner, [place]))


def start_pose(joints: Iterable[Joint], frame: Frame) -> Array | None:
    """g_world_section (4, 4) of the section or body of ``frame``, joints at their start and rods at rest.

    Along the shortest way from the world; None where there is none.
    """
    reached: dict[Place, tuple[Frame, Array]] = {"world": (Frame("world"), np.eye(4))}
    queue: deque[Place] = deque(["world"])
    joints = list(joints)
    while queue:
        place = queue.popleft()
        entry, g = reached[place]
        if place is frame.part:
            return g @ _along(entry, frame)
        for branch in _outward(joints, place):
            if branch.child.part not in reached:
                motion = branch.joint.pose()
                g_parent_child = se3.inverse(motion) if branch.reverse else motion
                offset = branch.parent.g @ g_parent_child @ se3.inverse(branch.child.g)
                reached[branch.child.part] = branch.child, g @ _along(entry, branch.parent) @ offset
                queue.append(branch.child.part)
    return None


def _along(start: Frame, end: Frame) -> Array:
    """Pose of the section of ``end`` in that of ``start``, on one part; a rod is at rest."""
    if not isinstance(end.part, Rod) or start.s == end.s:
        return np.eye(4)
    first, last = sorted((start.s, end.s))
    s = end.part.grid.s
    g = magnus(end.part.rest_strain, np.array([first, *s[(s > first) & (s < last)], last]))[-1]
    return g if start.s < end.s else se3.inverse(g)


def _ends(joint: Joint) -> tuple[Place, Place]:
    return joint.a.part, joint.b.part


def _outward(joints: Iterable[Joint], place: Place) -> list[Branch]:
    """Branches that leave a part, or the world."""
    return [
        Branch(joint, joint.a, joint.b, False) if joint.a.part is place else Branch(joint, joint.b, joint.a, True)
        for joint in joints
        if place in _ends(joint)
    ]


def _distances(joints: Iterable[Joint], sources: Iterable[Place]) -> dict[Place, int]:
    """Number of joints from the nearest source to every part that can be reached."""
    neighbours: dict[Place, list[Place]] = {}
    for joint in joints:
        a, b = _ends(joint)
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    distance: dict[Place, int] = dict.fromkeys(sources, 0)
    queue = deque(distance)
    while queue:
        place = queue.popleft()
        for other in neighbours.get(place, ()):
            if other not in distance:
                distance[other] = distance[place] + 1
                queue.append(other)
    return distance


def _check_reached(joints: Sequence[Joint], ties: set[Joint], depth: dict[Place, int]) -> None:
    lost = [part for part in parts_of(joints) if part not in depth]
    if not lost:
        return
    for joint in joints:
        reached = [end for end in _ends(joint) if end in depth]
        if joint.cut and joint not in ties and len(reached) == 1:
            far = joint.b if joint.a.part in reached else joint.a
            raise BadInput(
                f"{joint.label} cannot be cut: {far.label} would hang on nothing; set cut=True in a loop, once for each"
            )
    raise BadInput(
        f"{lost[0].name!r} is connected to nothing that reaches the world: add a joint, or "
        'Floating("world", ...) to let it float'
    )
