"""Robots from URDF files: a tree of rigid links and joints, as a System.

The Unified Robot Description Format places the frame of a joint in the frame of its parent link,

    g_parent_child = Trans(xyz) Rz(yaw) Ry(pitch) Rx(roll) · motion(q)

and the frame of the child link is that of its joint; axes are given in it, (1, 0, 0) where left out. Lengths are in m,
angles in rad, masses in kg. Inertias are about the mass centre, in the axes of the ``origin`` of ``inertial``; here
they are turned into the axes of the link. Specification: https://wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from elver.acting import Load
from elver.bodies import Box, Cylinder, RigidBody, Shape, Sphere
from elver.environment import JointFriction
from elver.errors import BadInput
from elver.lie import se3, so3
from elver.mechanism import Fixed, Floating, Frame, Joint, Mechanism, Planar, Prismatic, Revolute
from elver.system import System

__all__ = ["read_urdf"]

Array = NDArray[np.float64]
Place = RigidBody | Literal["world"]

_KINDS: dict[str, type[Joint]] = {
    "fixed": Fixed,
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "floating": Floating,
}
# A picture may be off by as much, in parts of its size or of a turn: quarter turns are often written as 1.57.
_SEEN = 1e-3


def read_urdf(source: str | os.PathLike[str], floating: bool = False, loads: Sequence[Load] | Load = ()) -> System:
    """The robot of a URDF file, or of URDF text, as a System with ``loads`` such as Gravity().

    Links become bodies and joints joints, under their names; a link called "base", which has a meaning of its own
    here, becomes "base_link". The root link is clamped to the world or, if ``floating``, floats; a root called "world"
    without inertial is the world itself. Joints are fixed, revolute, continuous, prismatic, planar or floating;
    ``dynamics`` becomes a JointFriction (damping its viscous part, friction its dry one). A box, cylinder or sphere
    around the mass centre and along the axes of its link is what the body is drawn with; other ``visual`` is left out.

    Not taken over: **limits are not enforced** (neither position, nor effort, nor velocity; for soft stops add
    JointStop), and collision geometry, transmissions, safety controllers and calibration are ignored. ``mimic`` is
    refused. For more loads or actuators: System(system.mechanism, actuators, [*system.loads, ...]).

    >>> robot = read_urdf("arm.urdf", loads=[Gravity()])
    """
    file, robot = _parse(source)
    links = _named(file, robot, "link")
    joints = _named(file, robot, "joint")
    if not links:
        raise BadInput(f"{file}: the robot has no link; give at least one <link name=...>")
    ties = [_Tie.read(node, links) for node in joints.values()]
    root = _root(file, links, ties)

    is_world = root == "world" and links[root].find("inertial") is None
    if is_world and floating:
        raise BadInput(
            f'{file}: floating=True, but its root link is "world", which stays; join its robot to it by a joint of '
            'type "floating", or leave floating out'
        )
    places: dict[str, Place] = {
        name: "world" if is_world and name == root else _body(node, links) for name, node in links.items()
    }
    _check_masses(file, root, ties, places, floating)

    built: list[Joint] = []
    if not is_world:
        name = "root_joint"
        while name in joints:
            name = f"_{name}"
        built.append((Floating if floating else Fixed)("world", places[root], name=name))
    frictions: list[Load] = []
    for tie in ties:
        joint = tie.build(places)
        built.append(joint)
        frictions += tie.friction(joint)
    if not built:
        raise BadInput(f'{file}: there is only the link "world", and nothing that moves; give links and joints')
    given = tuple(loads) if isinstance(loads, Sequence) else (loads,)
    return System(_located(file, partial(Mechanism, built)), loads=(*frictions, *given))


# Elements ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Node:
    """An element with what messages say of it: the file and the link or joint it belongs to."""

    element: ET.Element
    where: str

    def find(self, tag: str) -> _Node | None:
        found = self.element.find(tag)
        return None if found is None else _Node(found, f"{self.where}: <{tag}>")

    def word(self, attribute: str, remedy: str) -> str:
        value = self.element.get(attribute, "").strip()
        if not value:
            raise BadInput(f"{self.where} has no {attribute}; {remedy}")
        return value

    def numbers(self, attribute: str, count: int, unit: str, default: Sequence[float] | None = None) -> Array:
        text = self.element.get(attribute)
        label = f"{self.where}: {attribute}"
        wanted = f"{count} numbers" if count > 1 else "a number"
        if text is None and default is None:
            raise BadInput(f"{label} is missing; give {wanted} in {unit}")
        try:
            values = np.array(default if text is None else [float(word) for word in text.split()])
        except ValueError:
            raise BadInput(f"{label} = {text!r} is not numeric; give {wanted} in {unit}") from None
        if values.shape != (count,) or not np.all(np.isfinite(values)):
            raise BadInput(f"{label} = {text!r}: give {wanted} in {unit}, finite")
        return values

    def number(self, attribute: str, unit: str, default: float | None = None) -> float:
        return float(self.numbers(attribute, 1, unit, None if default is None else (default,))[0])

    def origin(self) -> Array:
        """Pose (4, 4) of the element <origin>; the identity where there is none."""
        node = self.find("origin")
        if node is None:
            return np.eye(4)
        p = node.numbers("xyz", 3, "m", (0.0, 0.0, 0.0))
        rpy = node.numbers("rpy", 3, "rad", (0.0, 0.0, 0.0))
        if np.abs(rpy).max() > 4.0 * np.pi:
            worst = rpy[np.abs(rpy).argmax()]
            raise BadInput(
                f"{node.where}: rpy holds {worst:g} rad, more than two turns: angles are in rad, not degrees"
            )
        roll, pitch, yaw = rpy[:, None] * np.eye(3)
        return se3.pose(so3.exp(yaw) @ so3.exp(pitch) @ so3.exp(roll), p)


def _parse(source: str | os.PathLike[str]) -> tuple[str, ET.Element]:
    """How messages speak of the source, and its <robot>."""
    if not isinstance(source, str | os.PathLike):
        raise BadInput(f"source is a {type(source).__name__}: give the path of a URDF file, or its text")
    if isinstance(source, str) and source.lstrip().startswith("<"):
        file, data = "URDF text", source.strip().encode()
    else:
        path = Path(source)
        file = str(path)
        if not path.is_file():
            kind = "is a folder" if path.is_dir() else "there is no such file"
            raise BadInput(f"{file!r}: {kind}; give the path of a URDF file, or its text from <robot> on")
        data = path.read_bytes()
    macros = "; expand it with xacro first" if b"xacro" in data else ""
    try:
        robot = ET.fromstring(data)
    except (ET.ParseError, ValueError, LookupError) as trouble:  # the latter two for encodings
        remedy = macros or "; give a URDF file, with <robot> at its root"
        raise BadInput(f"{file} is not XML ({trouble}){remedy}") from None
    if robot.tag != "robot":
        raise BadInput(f"{file}: its root element is <{robot.tag}>; URDF begins with <robot>")
    if any(str(element.tag).startswith("{") and "xacro" in str(element.tag) for element in robot.iter()):
        raise BadInput(f"{file} holds xacro macros{macros}")
    return file, robot


def _named(file: str, robot: ET.Element, tag: str) -> dict[str, _Node]:
    found: dict[str, _Node] = {}
    for element in robot.findall(tag):
        name = element.get("name", "").strip()
        if not name:
            raise BadInput(f"{file}: a <{tag}> has no name; give name=...")
        if name in found:
            raise BadInput(f"{file}: two {tag}s are named {name!r}; give each its own name")
        found[name] = _Node(element, f"{file}: {tag} {name!r}")
    return found


# Joints -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Tie:
    """A joint of the file: what it joins, and how."""

    node: _Node
    name: str
    kind: str
    parent: str
    child: str

    @classmethod
    def read(cls, node: _Node, links: dict[str, _Node]) -> _Tie:
        known = ", ".join(_KINDS)
        kind = node.word("type", f"choose one of {known}")
        if kind not in _KINDS:
            raise BadInput(f"{node.where}: type = {kind!r} is not known; choose one of {known}")
        if node.find("mimic") is not None:
            raise BadInput(
                f"{node.where}: <mimic> ties it to another joint, which is not supported; remove it, and impose or "
                "drive both joints"
            )
        ends = []
        for tag in ("parent", "child"):
            end = node.find(tag)
            if end is None:
                raise BadInput(f"{node.where} has no <{tag}>; give <{tag} link=.../>")
            link = end.word("link", "give the name of a link")
            if link not in links:
                listed = ", ".join(map(repr, links))
                raise BadInput(f"{node.where}: its {tag} {link!r} is no link of the robot; it has {listed}")
            ends.append(link)
        return cls(node, str(node.element.get("name")).strip(), kind, *ends)

    @property
    def moves(self) -> bool:
        return self.kind != "fixed"

    def build(self, places: dict[str, Place]) -> Joint:
        axis_node = self.node.find("axis")
        axis: Any = (1.0, 0.0, 0.0)
        if axis_node is not None:
            axis = axis_node.numbers("xyz", 3, "parts of a direction", axis)
        parent = Frame(places[self.parent], pose=self.node.origin())
        if self.kind in ("fixed", "floating"):
            axis = "z"
        make = partial(_KINDS[self.kind], parent, places[self.child], name=self.name, axis=axis)
        return _located(self.node.where, make)

    def friction(self, joint: Joint) -> list[Load]:
        dynamics = self.node.find("dynamics")
        if dynamics is None or not self.moves:
            return []
        rate = "N s/m" if self.kind == "prismatic" else "N m s/rad"
        viscous = dynamics.number("damping", rate, 0.0)
        dry = dynamics.number("friction", rate.split(" s/")[0], 0.0)
        if viscous == dry == 0.0:
            return []
        if joint.n > 1:
            raise BadInput(
                f"{dynamics.where} of a {self.kind} joint, which has {joint.n} coordinates: remove it, and add "
                "JointFriction(joint, coordinate=...) for each that rubs"
            )
        return [_located(dynamics.where, lambda: JointFriction(joint, viscous, dry))]


def _root(file: str, links: dict[str, _Node], ties: list[_Tie]) -> str:
    """The link from which all others hang, in one tree."""
    for tie in ties:
        if tie.parent == tie.child:
            raise BadInput(f"{tie.node.where} joins link {tie.child!r} to itself; give two links")
    for link, count in Counter(tie.child for tie in ties).items():
        if count > 1:
            by = " and ".join(repr(tie.name) for tie in ties if tie.child == link)
            raise BadInput(
                f"{file}: link {link!r} has {count} parents, by the joints {by}; URDF is a tree: keep one, and close "
                "the loop with a joint of the Mechanism"
            )
    children = {tie.child for tie in ties}
    roots = [link for link in links if link not in children]
    if len(roots) > 1:
        listed = ", ".join(map(repr, roots))
        raise BadInput(f"{file}: {len(roots)} links are no child of any joint ({listed}); join all but one to others")
    below: dict[str, list[str]] = {}
    for tie in ties:
        below.setdefault(tie.parent, []).append(tie.child)
    reached, waiting = set[str](), list(roots)
    while waiting:
        link = waiting.pop()
        reached.add(link)
        waiting += below.get(link, [])
    if lost := [link for link in links if link not in reached]:
        listed = ", ".join(map(repr, lost))
        raise BadInput(f"{file}: the links {listed} hang from each other in a loop; one link must be the root of all")
    return roots[0]


def _check_masses(file: str, root: str, ties: list[_Tie], places: dict[str, Place], floating: bool) -> None:
    """Beyond every joint that moves there is something with mass."""
    below: dict[str, list[_Tie]] = {}
    for tie in ties:
        below.setdefault(tie.parent, []).append(tie)
    order, waiting = list[str](), [root]
    while waiting:
        link = waiting.pop()
        order.append(link)
        waiting += [tie.child for tie in below.get(link, [])]
    beyond: dict[str, float] = {}
    for link in reversed(order):
        own = places[link]
        beyond[link] = (0.0 if isinstance(own, str) else own.mass) + sum(beyond[t.child] for t in below.get(link, []))
    for tie in ties:
        if tie.moves and beyond[tie.child] == 0.0:
            raise BadInput(
                f"{file}: link {tie.child!r} moves by the {tie.kind} joint {tie.name!r} but has no mass, nor has what "
                "hangs on it; give it <inertial> with mass and inertia, or make the joint fixed"
            )
    if floating and beyond[root] == 0.0:
        raise BadInput(f"{file}: floating=True, but no link has mass; give link {root!r} <inertial>")


# Links ------------------------------------------------------------------------------------------------------


def _body(node: _Node, links: dict[str, _Node]) -> RigidBody:
    name = str(node.element.get("name")).strip()
    if name == "base":
        name = "base_link"
        if name in links:
            raise BadInput(f"{node.where}: this name has a meaning of its own, and 'base_link' is taken; rename it")
    mass, inertia, centre = 0.0, np.zeros((3, 3)), np.zeros(3)
    inertial = node.find("inertial")
    if inertial is not None:
        mass, inertia, centre = _inertia(inertial)
    shape = _shape(node, centre)
    return _located(node.where, lambda: RigidBody(mass, inertia, centre, name, shape))


def _inertia(inertial: _Node) -> tuple[float, Array, Array]:
    """Mass [kg], inertia about the mass centre in axes of the link (3, 3) [kg m²], mass centre (3,) [m]."""
    parts = {}
    for tag in ("mass", "inertia"):
        part = inertial.find(tag)
        if part is None:
            raise BadInput(f"{inertial.where} has no <{tag}>; give both <mass value=.../> and <inertia ixx=... />")
        parts[tag] = part
    mass = parts["mass"].number("value", "kg")
    if mass < 0.0:
        raise BadInput(f"{parts['mass'].where}: value = {mass:g} kg must not be negative; give the mass of the link")
    entry = {key: parts["inertia"].number(key, "kg m²") for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}
    inertia = np.array([[entry["".join(sorted(f"i{a}{b}"))] for b in "xyz"] for a in "xyz"])
    g = inertial.origin()
    return mass, g[:3, :3] @ inertia @ g[:3, :3].T, g[:3, 3]


def _shape(node: _Node, centre: Array) -> Shape | None:
    """What the link is drawn with, if one box, cylinder or sphere stands around ``centre`` along the link's axes."""
    visuals = node.element.findall("visual")
    if len(visuals) != 1:
        return None
    visual = _Node(visuals[0], f"{node.where}: <visual>")
    geometry = visual.find("geometry")
    if geometry is None:
        return None
    g = visual.origin()
    box, cylinder, sphere = map(geometry.find, ("box", "cylinder", "sphere"))
    # Where the axes of the picture lie along those of the link, this is a permutation.
    along = np.abs(g[:3, :3])
    turned = np.abs(along - np.round(along)).max() > _SEEN
    shape: Shape
    if sphere is not None:
        size, turned = sphere.number("radius", "m"), False
        shape = _located(sphere.where, lambda: Sphere(size))
    elif box is not None:
        sides = box.numbers("size", 3, "m")
        size = float(sides.max())
        if turned:
            return None
        shape = _located(box.where, lambda: Box(tuple((np.round(along) @ sides).tolist())))
    elif cylinder is not None:
        axis = "xyz"[int(np.argmax(along[:, 2]))]
        radius, length = cylinder.number("radius", "m"), cylinder.number("length", "m")
        # A round body may be turned about its axis.
        turned = along[:, 2].max() < 1.0 - _SEEN**2
        shape = _located(cylinder.where, lambda: Cylinder(radius, length, axis))
        size = max(radius, length)
    else:
        return None
    return None if turned or math.dist(g[:3, 3], centre) > _SEEN * size else shape


def _located(where: str, make: Any) -> Any:
    """What ``make`` returns; its complaint, if any, with the place in the file."""
    try:
        return make()
    except BadInput as trouble:
        raise BadInput(f"{where}: {trouble}") from None
