"""What acts on a robot: kinds of actuators and loads, and what is asked of them together.

Each acts on a part of its mechanism; a coordinate is driven once; a part is in one water.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from elver.actuation import ActiveStress, Imposed, Motor, Muscle, Pressure, SpooledTendon, Tendon
from elver.bodies import RigidBody
from elver.environment import (
    Buoyancy,
    DistributedWrench,
    FrameLoad,
    Gravity,
    JointFeedback,
    JointLoad,
    Lighthill,
    Morison,
    PointWrench,
)
from elver.errors import BadInput
from elver.mechanism import Joint, Part, Passive
from elver.rods import Rod

if TYPE_CHECKING:
    from elver.system import System

__all__ = [
    "Actuator", "Channel", "Fluid", "Load", "Settable", "check_coordinates", "check_target", "check_water",
]  # fmt: skip

Actuator: TypeAlias = Tendon | SpooledTendon | Muscle | Pressure | Motor | Imposed | ActiveStress
Settable: TypeAlias = Gravity | PointWrench | DistributedWrench | FrameLoad
Fluid: TypeAlias = Morison | Lighthill
Load: TypeAlias = Settable | Passive
Channel: TypeAlias = Actuator | Settable


def check_target(system: System, part: Any) -> None:
    """What a part acts on belongs to this mechanism."""
    mechanism = system.mechanism
    for target in part.acts_on(mechanism):
        if isinstance(target, Joint):
            target = mechanism.joint(target)
        elif target not in mechanism.parts:
            kind = "rod" if isinstance(target, Rod) else "body"
            listed = ", ".join(repr(other.name) for other in mechanism.parts)
            raise BadInput(
                f"{part.name!r} acts on the {kind} {getattr(target, 'name', target)!r}, which is not in this "
                f"mechanism ({listed}): build it with the same {type(target).__name__} value"
            )
        if isinstance(target, Joint) and target not in system.blocks:
            raise BadInput(
                f"{part.name!r} acts on {target.label}, where a loop is cut (or which carries the floating base), "
                "so it has no coordinate of its own: set cut=True on another joint of the loop"
            )


def check_coordinates(system: System) -> None:
    """A coordinate is driven by a motor or imposed, and imposed once; it has one spring, stop and friction."""
    imposed: dict[int, str] = {}
    for part in system.imposed:
        k = system.coordinates(part.target).start + part.index
        if k in imposed:
            raise BadInput(f"{part.name!r} and {imposed[k]!r} impose the same coordinate: keep one of them")
        imposed[k] = part.name
    for motor in system.actuators:
        if isinstance(motor, Motor) and (other := imposed.get(system.coordinates(motor.joint).start + motor.index)):
            raise BadInput(
                f"{other!r} imposes the coordinate that the motor {motor.name!r} already drives: keep one of them "
                "(the effort of an imposed motion is a result)"
            )
    for law in system.feedback:
        for joint in law.driven if isinstance(law, JointFeedback) else ():
            own = system.coordinates(joint)
            if other := next((imposed[k] for k in range(own.start, own.stop) if k in imposed), None):
                raise BadInput(
                    f"{other!r} imposes a coordinate of {joint.name!r}, which the feedback {law.name!r} drives: "
                    "keep one of them"
                )
    taken: dict[tuple[type, int], str] = {}
    for load in system.loads:
        if isinstance(load, JointLoad):
            place = type(load), system.coordinates(load.joint).start + load.index
            if place in taken:
                raise BadInput(
                    f"{taken[place]!r} and {load.name!r} are both a {type(load).__name__} on "
                    f"{system.mechanism.joint(load.joint).name}/{load.coordinate}: combine them into one"
                )
            taken[place] = load.name


def check_water(system: System) -> None:
    """A part is in one fluid; buoyancy needs gravity."""
    for kind, remedy in (
        (Fluid, "Morison and Lighthill are two models of the same water: list the part in one of them"),
        (Buoyancy, "list the part in one of them"),
    ):
        wet: dict[Part, str] = {}
        for load in system.loads:
            for part in system.immersed(load) if isinstance(load, kind) else ():
                if part in wet:
                    raise BadInput(f"{part.name!r} is both in {wet[part]!r} and in {load.name!r}; {remedy}")
                wet[part] = load.name
    for load in system.loads:
        if isinstance(load, Lighthill):
            for nose, tail in pairwise(load.parts):
                _check_follows(system, load.name, nose, tail)
    floats = next((load for load in system.loads if isinstance(load, Buoyancy)), None)
    if floats is not None and not any(isinstance(load, Gravity) for load in system.loads):
        raise BadInput(f"{floats.name!r}: without Gravity in loads nothing is buoyant; add Gravity()")


def _check_follows(system: System, name: str, nose: Part, tail: Part) -> None:
    """``tail`` is joined to the end of ``nose``, directly or by parts without mass."""
    reached, seen = [nose], {nose}
    while reached:
        part = reached.pop()
        for joint in system.mechanism.joints:
            for here, there in ((joint.a, joint.b), (joint.b, joint.a)):
                wrong_end = isinstance(part, Rod) and here.part is part and here.s < 0.5 * part.length
                if here.part is not part or there.part in seen or there.part == "world" or wrong_end:
                    continue
                if there.part is tail and not (isinstance(tail, Rod) and there.s > 0.5 * tail.length):
                    return
                if isinstance(there.part, RigidBody) and there.part.mass == 0.0:
                    seen.add(there.part)
                    reached.append(there.part)
    raise BadInput(
        f"fluid {name!r}: {tail.name!r} is not joined to the end of {nose.name!r}; list the parts from nose to "
        "tail, each rod from base to tip"
    )
