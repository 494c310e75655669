"""One coordinate of a joint or a rod, chosen by name: what motors, imposed motions and loads on joints act on."""

from __future__ import annotations

from elver.errors import BadInput
from elver.mechanism.joints import Joint
from elver.rods import Rod
from elver.words import describe

__all__ = ["choose", "default_name", "owner", "unit_of"]


def owner(target: Joint | Rod) -> str:
    """How messages speak of a joint or a rod."""
    return target.label if isinstance(target, Joint) else f"rod {target.name!r}"


def choose(label: str, target: Joint | Rod, coordinate: str | None) -> str:
    """The name of the coordinate meant; it may be left out where there is one only."""
    names = target.coordinate_names
    if not names:
        raise BadInput(f"{label}: {owner(target)} has no coordinate; choose a joint that moves, such as Revolute")
    listed = ", ".join(map(repr, names))
    if coordinate is None:
        if len(names) > 1:
            raise BadInput(f"{label}: {owner(target)} has several coordinates; choose one of {listed}")
        return names[0]
    if coordinate not in names:
        raise BadInput(f"{label}: {owner(target)} has no coordinate {describe(coordinate)}; choose one of {listed}")
    return coordinate


def unit_of(target: Joint | Rod, coordinate: str) -> str:
    """Unit of a coordinate: "rad" or "m" of joints, "1/m" or "1" of rods."""
    return target.coordinate_units[target.coordinate_names.index(coordinate)]


def default_name(target: Joint | Rod, coordinate: str | None, ending: str = "") -> str:
    """A name such as "crank-motor" or "table-x-motor"; with ``coordinate`` None it is left out."""
    who = target.name or (target.kind if isinstance(target, Joint) else "rod")
    return "-".join(word for word in (who, coordinate, ending) if word)
