"""A mechanism: parts and who is connected to whom.

Rods and rigid bodies are named by the joints between them, in any order; the tree, the cuts of the loops and the
numbers of the coordinates follow (:mod:`elver.mechanism.tree`), and :meth:`Mechanism.explain` prints them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.mechanism.base import IDENTITY, Base, Clamped, Driven, Free, Motion, Rows
from elver.mechanism.explain import explain
from elver.mechanism.frame import Frame, FrameLike, Part, as_frame
from elver.mechanism.hold import Hold
from elver.mechanism.joints import Fixed, Floating, Joint
from elver.mechanism.naming import first_free
from elver.mechanism.tree import Tree, grow, parts_of, start_pose
from elver.rods import Rod
from elver.values import Carried, of_kind
from elver.words import describe

__all__ = ["Mechanism"]


@dataclass(frozen=True, eq=False, init=False)
class Mechanism(Carried):
    """Rods and rigid bodies, connected by ``joints``.

    ``base`` says what the world of the joints does: it stands at a pose (Clamped), or moves (Driven). ``root`` is a
    part (or a section of a rod) to grow the tree from, as a floating base; its ties to the world become closures.
    Where Floating joints are all that ties the mechanism to the world, the first is the floating base by itself;
    root="world" keeps it as a joint with coordinates. Then ``base`` reads Free(pose of the root).

    >>> Mechanism([Revolute("world", (left, "base")), Revolute("world", (right, "base")),
    ...            Fixed((left, "tip"), platform), Revolute((right, "tip"), platform)])
    """

    joints: tuple[Joint, ...] = field(metadata=of_kind("@joint"))
    base: Base = field(metadata=of_kind("@base"))
    holds: tuple[Hold, ...] = field(metadata=of_kind("@hold"))
    root: Frame | None = field(metadata=of_kind("frame"))

    def __repr__(self) -> str:
        kind = type(self.base).__name__.lower()
        holds = f", {len(self.holds)} holds" if self.holds else ""
        loops = f", {len(self.tree.cuts)} joints cut" if self.tree.cuts else ""
        return f"Mechanism of {self.summary}: {len(self.joints)} joints{loops}{holds}, base {kind}"

    @property
    def summary(self) -> str:
        """Its parts in a few words: their names, or how many there are."""
        names = [repr(part.name) for part in self.parts]
        if len(names) <= 4:
            return ", ".join(names)
        return f"{len(self.rods)} rods and {len(self.bodies)} bodies ({names[0]}, {names[1]}, ...)"

    def __init__(
        self,
        joints: Iterable[Joint] | Joint = (),
        base: Base = Clamped(),  # noqa: B008 (a frozen value)
        holds: Iterable[Hold] | Hold = (),
        root: FrameLike | None = None,
    ) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        if not isinstance(base, Base):
            raise BadInput(f"base = {describe(base)}: give Clamped(pose), Free(pose) or Driven(motion)")
        put("base", base)
        put("joints", _named(joints))
        _check_names(parts_of(self.joints))
        put("root", None if root is None else self._check_root(root))
        if self._root.part != "world":
            put("joints", _in_the_world(self.joints, base))
            put("base", self._floating_base())
            for branch in self.tree.branches:
                if branch.parent.part == "world":
                    raise BadInput(
                        f"root = {self._root.label} floats, but {branch.child.label} hangs from the world and is not "
                        "connected to it: leave root out"
                    )
        elif isinstance(base, Free):
            raise BadInput('base = Free(...): nothing floats; add Floating("world", part), or say root=part')
        self._check_masses()
        put("holds", _several(holds))
        self._check_holds()

    # The usual ones -----------------------------------------------------------------------------------------

    @classmethod
    def clamped(cls, rod: Part, pose: ArrayLike | None = None, holds: Iterable[Hold] = ()) -> Self:
        """Base fixed at ``pose`` (4 x 4 world-from-base, identity by default)."""
        return cls((Fixed("world", _foot(rod)),), Clamped(_given(pose)), _several(holds))

    @classmethod
    def free(cls, rod: Part, pose: ArrayLike | None = None, holds: Iterable[Hold] = ()) -> Self:
        """Rod or body free to move; ``pose`` (4 x 4 world-from-base) is where it starts."""
        return cls((Floating("world", _foot(rod)),), Free(_given(pose)), _several(holds))

    @classmethod
    def driven(cls, rod: Part, motion: Motion, holds: Iterable[Hold] = ()) -> Self:
        """Base that follows ``motion``."""
        return cls((Fixed("world", _foot(rod)),), Driven(motion), _several(holds))

    # Parts --------------------------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> Tree:
        """Which joints carry parts, and which close loops."""
        return grow(self.joints, self._root)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Rods and bodies in tree order."""
        return self.tree.parts

    @property
    def rods(self) -> tuple[Rod, ...]:
        """Rods in tree order."""
        return tuple(part for part in self.parts if isinstance(part, Rod))

    @property
    def bodies(self) -> tuple[RigidBody, ...]:
        """Rigid bodies in tree order."""
        return tuple(part for part in self.parts if isinstance(part, RigidBody))

    @property
    def rod(self) -> Rod:
        """The only rod."""
        if len(self.rods) != 1:
            raise BadInput(f"this mechanism has {_count(self.rods)}: say which part you mean")
        return self.rods[0]

    def part(self, name: str) -> Part:
        """The rod or body of this name."""
        for part in self.parts:
            if part.name == name:
                return part
        raise BadInput(f"no part is named {name!r}: this mechanism has {_list(self.parts)}")

    def joint(self, key: str | Joint) -> Joint:
        """The joint of this name; or the one made of a joint that was handed in without a name."""
        name = key.name if isinstance(key, Joint) else key
        alike = [joint for joint in self.joints if joint is key or joint.name == name]
        if not alike and isinstance(key, Joint):
            alike = [joint for joint in self.joints if _alike(joint, key)]
        if len(alike) == 1:
            return alike[0]
        shown = key.label if isinstance(key, Joint) else repr(key)
        trouble = "is ambiguous, give it a name=" if alike else "is no joint of this mechanism"
        raise BadInput(f"{shown} {trouble}: it has {_list(self.joints)}")

    def held(self, hold: Hold) -> Frame:
        """The frame that a hold prescribes."""
        if hold.part is None and len(self.rods) != 1:
            raise BadInput(f"{hold.label}: this mechanism has {_count(self.rods)}; say which part with part=...")
        part = self.rod if hold.part is None else hold.part
        if part not in self.parts:
            raise BadInput(f"{hold.label}: {part.name!r} is connected to nothing: no joint of this mechanism names it")
        return Frame(part, hold.s(part.length)) if isinstance(part, Rod) else Frame(part)

    @property
    def hold_names(self) -> tuple[str, ...]:
        """Names of the holds; those without one are called hold-1, hold-2 … by their place, past names in use."""
        taken = {name for name in (*(h.name for h in self.holds), *(j.name for j in self.joints)) if name}
        names = []
        for k, hold in enumerate(self.holds):
            name = hold.name or first_free("hold", k + 1, taken)
            taken.add(name)
            names.append(name)
        return tuple(names)

    def with_part(self, old: Part, new: Part) -> Self:
        """The same mechanism with ``new`` in the place of ``old``."""

        def exchanged(frame: Frame) -> Frame:
            return replace(frame, part=new) if frame.part is old else frame

        joints = [replace(joint, a=exchanged(joint.a), b=exchanged(joint.b)) for joint in self.joints]
        holds = [replace(hold, part=new) if hold.part is old else hold for hold in self.holds]
        return type(self)(joints, self.base, holds, self.root and exchanged(self.root))

    def explain(self) -> str:
        """Text that shows the tree, the cuts and their rows, and how coordinates are numbered."""
        return explain(self.tree, self.base, self.holds)

    # Base ---------------------------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> Frame:
        """Where the tree grows from: as asked for, else the part that one Floating joint alone ties to the world."""
        if isinstance(self.root, Frame):
            return self.root
        ties = [joint for joint in self.joints if "world" in (joint.a.part, joint.b.part)]
        feet = [joint.b if joint.a.part == "world" else joint.a for joint in ties]
        if len(ties) == 1 and isinstance(ties[0], Floating) and not isinstance(self.base, Driven):
            return Frame(feet[0].part, feet[0].at)
        return Frame("world")

    def _check_root(self, root: Any) -> Frame:
        frame = as_frame(_foot(root) if isinstance(root, Rod) else root)
        if frame.part == "world":
            return frame
        if not np.array_equal(frame.g, np.eye(4)):
            raise BadInput(f"root = {frame.label}: an offset has no meaning here; give the part, or (rod, s in m)")
        if frame.part not in parts_of(self.joints):
            raise BadInput(f"root = {frame.label} is connected to nothing: no joint names it")
        if isinstance(self.base, Driven):
            raise BadInput(f"root = {frame.label} floats, and base = Driven(...): choose one of the two")
        return frame

    def _floating_base(self) -> Free:
        if isinstance(self.base, Free):
            return self.base
        return Free(_given(start_pose(self.joints, self._root)))

    # Checks -------------------------------------------------------------------------------------------------

    def _check_masses(self) -> None:
        ends = Counter(part for joint in self.joints for part in (joint.a.part, joint.b.part))
        for body in self.bodies:
            if body.mass > 0.0 or ends[body] > 1:
                continue
            if any(isinstance(joint, Floating) and body in (joint.a.part, joint.b.part) for joint in self.joints):
                raise BadInput(
                    f"{body.name!r} floats without mass and with nothing attached: give mass > 0 kg, or join a part"
                )

    def _check_holds(self) -> None:
        fixed = [b.child for b in self.tree.branches if isinstance(b.joint, Fixed) and b.parent.part == "world"]
        names = Counter(hold.name for hold in self.holds if isinstance(hold, Hold))
        for hold in self.holds:
            if not isinstance(hold, Hold):
                raise BadInput(
                    f"holds contains {describe(hold)}: give Hold(at=..., position=... [m], orientation=...)"
                )
            frame = self.held(hold)
            rod = isinstance(frame.part, Rod)
            if any(foot.part is frame.part and (not rod or foot.s == frame.s) for foot in fixed):
                where = f" (s = {frame.s:g} m)" if rod else ""
                raise BadInput(
                    f"{hold.label}{where}: this base is already prescribed; "
                    "hold another section, or use Mechanism.free"
                )
            if hold.name is not None and names[hold.name] > 1:
                raise BadInput(f"two holds are named {hold.name!r}: give each its own name=...")
            if any(hold.name == joint.name for joint in self.joints):
                raise BadInput(
                    f"a hold and a joint are both named {hold.name!r}, and so would be their reactions: give one "
                    "another name=..."
                )


def _named(joints: Any) -> tuple[Joint, ...]:
    """The joints, those without a name called after their kind: revolute-1, revolute-2, …"""
    if isinstance(joints, Joint):
        joints = (joints,)
    if isinstance(joints, Part | str) or not isinstance(joints, Iterable):
        raise BadInput(
            f'joints is {describe(joints)}: give a list such as [Fixed("world", (rod, "base"))], or use '
            "Mechanism.clamped(rod)"
        )
    joints = tuple(joints)
    seen: Counter[str] = Counter()
    taken = {joint.name for joint in joints if isinstance(joint, Joint) and joint.name}
    named = []
    for joint in joints:
        if not isinstance(joint, Joint):
            raise BadInput(f'joints contains {describe(joint)}: give Fixed(a, b), Revolute(a, b, axis="z") and so on')
        seen[joint.kind] += 1
        if not joint.name:
            free = first_free(joint.kind, seen[joint.kind], taken)
            taken.add(free)
            joint = replace(joint, name=free)
        named.append(joint)
    if not joints:
        raise BadInput('a mechanism without joints: give at least one, such as Fixed("world", (rod, "base"))')
    if len(set(joints)) < len(joints):
        twice = next(joint for joint, count in Counter(joints).items() if count > 1)
        raise BadInput(f"{twice.label} is listed twice: list each joint once")
    names = Counter(joint.name for joint in named)
    for name, count in names.items():
        if count > 1:
            raise BadInput(f"two joints are named {name!r}: give each its own name=...")
    return tuple(named)


def _check_names(parts: Iterable[Part]) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.name in seen:
            kind = type(part).__name__
            raise BadInput(f"two parts are named {part.name!r}: give each its own, such as {kind}(..., name='left')")
        if part.name in ("world", "base"):
            raise BadInput(f"a part is named {part.name!r}, which has a meaning of its own: give it another name=...")
        seen.add(part.name)


def _in_the_world(joints: Sequence[Joint], base: Base) -> tuple[Joint, ...]:
    """The joints with their world frames moved to where a clamped base puts them: a floating root has no clamp."""
    if not isinstance(base, Clamped) or base.pose == IDENTITY:
        return tuple(joints)

    def moved(frame: Frame) -> Frame:
        return Frame("world", pose=base.g @ frame.g) if frame.part == "world" else frame

    return tuple(
        replace(joint, a=moved(joint.a), b=moved(joint.b)) if "world" in (joint.a.part, joint.b.part) else joint
        for joint in joints
    )


def _alike(joint: Joint, other: Joint) -> bool:
    """Same kind between the same places; world frames may have been moved."""

    def same(f: Frame, g: Frame) -> bool:
        if f.part is not g.part or f.part == "world":
            return f.part is g.part
        return f.at == g.at and f.pose == g.pose

    return (
        type(joint) is type(other)
        and same(joint.a, other.a)
        and same(joint.b, other.b)
        and (joint.axis, joint.start, joint.cut) == (other.axis, other.start, other.cut)
        and other.name is None
    )


def _foot(part: Any) -> FrameLike:
    if not isinstance(part, Part):
        raise BadInput(f"rod = {describe(part)}: give a Rod or a RigidBody")
    return (part, "base") if isinstance(part, Rod) else part


def _count(rods: Sequence[Rod]) -> str:
    return f"{len(rods)} rods ({_list(rods)})" if rods else "0 rods"


def _list(named: Iterable[Any]) -> str:
    return ", ".join(repr(value.name) for value in named)


def _given(pose: ArrayLike | None) -> Rows:
    # Clamped and Free check the pose and turn it into rows.
    return IDENTITY if pose is None else pose  # type: ignore[return-value]


def _several(holds: Iterable[Hold] | Hold) -> tuple[Hold, ...]:
    return (holds,) if isinstance(holds, Hold) else tuple(holds)
