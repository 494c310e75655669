"""A system in two halves: its structure, in names and whole numbers, and its values.

The **structure** is what all designs of a robot have in common: parts, joints, loads and actuators by name, the layout
of the unknowns, which frames and terms there are, and which closure rows say nothing new. **Values** are the numbers of
one design, in arrays whose shapes the structure knows: lengths, stiffnesses, masses, offsets, positions; with them the
indices that follow from numbers, such as the node at which a load comes to lie between quadrature points. Together they
are the :class:`~elver.kernels.tree.program.Program` of the kernels. Nobody changes either: arrays are read-only.

What depends on numbers, and how it is kept out of the structure:

    offsets              kept where one was given, be it zero (:attr:`elver.mechanism.Frame.shifted`)
    nodes of a rod       as many as places were named, wherever they are; places at one point of the first design, or
                         on a quadrature point of it, stay together (:class:`elver.rods.GridPlan`)
    quadrature points    as many as the first design has
    mass damping, water  on the rods and parts that have it in the first design
    functions that vanish somewhere, rows of laws that are zero    found anew in each design, as part of the values
    closure rows that repeat others    by name; each design is checked, except that rows which repeat others only once
                         loops are closed are those of the first
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.kernels.tree.program import Program
from elver.mechanism import Frame
from elver.rods import GridPlan, Law, Rod
from elver.system import System
from elver.values import Carried

__all__ = [
    "REMEDY",
    "Layout",
    "Structure",
    "Values",
    "check_ingredients",
    "check_rows",
    "check_same",
    "ingredients",
    "locked",
    "program_of",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Ingredient: TypeAlias = tuple[Any, ...]  # what it is, its name, and what of it makes the structure


class Layout(NamedTuple):
    """Whole numbers of a :class:`~elver.kernels.tree.program.Program` that all designs share."""

    free: Ints
    active: Ints
    component: Ints
    poly_size: Ints
    poly_pair: Ints
    gravity_input: Ints
    load_input: Ints
    load_follows: Ints
    imposed: Ints
    wrap: Ints
    point_block: Ints
    tendon_input: Ints
    tendon_row: Ints
    span_tendon: Ints
    muscle_input: Ints
    own_input: Ints
    own_reach: Ints
    own_first: Ints
    own_point: Ints
    pushed_input: Ints
    pushed_first: Ints
    closure_rows: Ints
    row_kind: Ints


class Values(NamedTuple):
    """Arrays of a :class:`~elver.kernels.tree.program.Program` in one design, and the sizes of its unknowns."""

    # where places come to lie among the nodes, and what is zero
    segment: Ints
    frame_slot: Ints
    slot_path: Ints
    bend: Ints
    load_frame: Ints
    block: Ints
    law: Ints
    slide_frame: Ints
    drag_frame: Ints
    strip_frame: Ints
    user_frame: Ints
    point_bend: Ints
    tendon_reach: Ints
    span_frame: Ints
    span_slot: Ints
    muscle_reach: Ints
    closure_frame: Ints
    closure_slot: Ints
    # numbers
    fixed: Floats
    rest: Floats
    phi: Floats
    poly_beta: Floats
    poly_linear: Floats
    inertia: Floats
    weight: Floats
    gravity: Floats
    load_wrench: Floats
    K_elastic: Floats
    D_elastic: Floats
    spring_rest: Floats
    friction: Floats
    stop: Floats
    rotor: Floats
    slide: Floats
    drag: Floats
    strip_pose: Floats
    strip: Floats
    point_phi: Floats
    point_rest: Floats
    tendon_factor: Floats
    tendon_length: Floats
    tendon_path: Floats
    tendon_weight: Floats
    span_point: Floats
    muscle_force: Floats
    own_weight: Floats
    own_s: Floats
    own_origin: Floats
    own_linear: Floats
    own_parameters: Floats
    pushed_parameters: Floats
    closure_pose: Floats
    row_axes: Floats
    row_soft: Floats
    scale: Floats  # (unknowns,) unit of each unknown in which "one" is a large change
    length: Floats  # (1,) m, size of the robot: the longest rod, or the distance of its joints
    energy: Floats  # (1,) J, scale of the residual times an unknown


@dataclass(frozen=True, eq=False)
class Structure(Carried):
    """What all designs of a system share; equal by content."""

    ingredients: tuple[Ingredient, ...]
    grids: tuple[GridPlan, ...]  # of each rod
    offsets: tuple[bool, ...]  # which of the places where an offset may be have one, in the order of the tree
    damped: tuple[str, ...]  # rods with damping in proportion to mass
    layout: Layout
    shapes: tuple[tuple[int, ...], ...]  # of the values
    dropped: tuple[str, ...] = ()  # closure rows that repeat others
    shared: tuple[str, ...] = ()  # closure rows that repeat others once loops are closed

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one of the arrays of the values."""
        return self.shapes[Values._fields.index(name)]

    @cached_property
    def _content(self) -> tuple[Any, ...]:
        own = [getattr(self, field.name) for field in fields(self) if field.name != "layout"]
        return (*own, *((array.shape, array.tobytes()) for array in self.layout))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


def program_of(structure: Structure, values: Values, addresses: dict[str, Ints] | None = None) -> Program:
    """The table that kernels work on, with the ``addresses`` of functions of one's own in this process, if any."""
    layout = structure.layout
    halves = {**layout._asdict(), **values._asdict()}
    given = addresses or {name: np.zeros(0, dtype=np.int64) for name in ("own_address", "pushed_address")}
    halves |= {name: locked(array) for name, array in given.items()}
    halves["path"] = np.zeros(0, dtype=np.int64)  # of the dense matrix, where somebody asks for it
    return Program(*[halves[name] for name in Program._fields])


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, which nobody can write to from here on."""
    array.flags.writeable = False
    return array


# What a system is made of -----------------------------------------------------------------------------------


def ingredients(system: System) -> tuple[Ingredient, ...]:
    """Parts, joints, holds, actuators and loads by name, each with what of it is not a number."""
    mechanism = system.mechanism
    tree = mechanism.tree
    found: list[Ingredient] = [("base", type(mechanism.base).__name__, _part(tree.root))]
    for part in mechanism.parts:
        more = (part.counts, part.integration, *_law(part)) if isinstance(part, Rod) else ()
        found.append((type(part).__name__, part.name, *more))
    for branch in tree.branches:
        joint = branch.joint
        found.append((type(joint).__name__, joint.name, _part(branch.parent), _part(branch.child), branch.reverse))
    for joint in tree.cuts:
        found.append((type(joint).__name__, joint.name, _part(joint.a), _part(joint.b), "closes a loop"))
    for name, hold in zip(mechanism.hold_names, mechanism.holds, strict=True):
        axes = tuple(hold.rotation_axes), tuple(hold.position_axes)
        found.append(("hold", name, _part(mechanism.held(hold)), *axes))
    for one in (*system.actuators, *system.loads):
        found.append((type(one).__name__, one.name, *(on.name for on in one.acts_on(mechanism)), *one.traits))
    return tuple(found)


def _law(rod: Rod) -> tuple[Any, ...]:
    """Kind and function of a section law that is not the common one."""
    if rod.law is None:
        return ()
    return type(rod.law).__name__, *((rod.law.asked.code,) if isinstance(rod.law, Law) else ())


def _part(frame: Frame) -> str:
    return frame.part if isinstance(frame.part, str) else frame.part.name


REMEDY = "it is no design of that structure; structure_of(system) finds its own"


def check_ingredients(found: tuple[Ingredient, ...], structure: Structure) -> None:
    """BadInput names the first part, joint, hold, actuator or load that makes another structure."""
    wanted = structure.ingredients
    for here, there in zip(found, wanted, strict=False):
        if here != there:
            raise BadInput(f"{_label(here)} stands here where the structure has {_label(there)}: {REMEDY}")
    if len(found) > len(wanted):
        raise BadInput(f"{_label(found[len(wanted)])} is not in the structure: {REMEDY}")
    if len(found) < len(wanted):
        raise BadInput(f"{_label(wanted[len(found)])} is in the structure and not here: {REMEDY}")


def check_same(found: Structure, wanted: Structure) -> None:
    """BadInput says in which array a system of the same ingredients has another structure."""
    for name, a, b in zip(Values._fields, found.shapes, wanted.shapes, strict=True):
        if a != b:
            raise BadInput(f"{name} has the shape {a} here and {b} in the structure: {REMEDY}")
    for name, here, there in zip(Layout._fields, found.layout, wanted.layout, strict=True):
        if here.shape != there.shape or here.tobytes() != there.tobytes():
            raise BadInput(f"{name} is {here.tolist()} here and {there.tolist()} in the structure: {REMEDY}")


def check_rows(found: Structure, wanted: Structure) -> None:
    """BadInput names a closure row that repeats others in one of the two only."""
    for what, here, there in (
        ("redundant", found.dropped, wanted.dropped),
        ("redundant once the loops are closed", found.shared, wanted.shared),
    ):
        if odd := sorted(set(here) ^ set(there)):
            where = "here, not in the structure" if odd[0] in here else "in the structure, not here"
            raise BadInput(f"the closure row {odd[0]} is {what} {where}: {REMEDY}")


def _label(one: Ingredient) -> str:
    kind, name, *more = one
    what = ", ".join(str(item) for item in more)
    return f"{kind} {name!r}" + (f" ({what})" if what else "")
