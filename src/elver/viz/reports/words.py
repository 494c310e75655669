"""A model in words: what each rod, body, joint, actuator and load is, with values and units.

Everything is read from the fields of the model's frozen values, so that nothing that was given is left out. Values
are in SI units, as they are in the model.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.io import Table, loads
from elver.io.model_fields import unit_of
from elver.mechanism import Frame, Joint
from elver.rods import Rod
from elver.system import System

__all__ = ["Section", "model_of", "sections_of", "sentence_of", "summary_of", "value_text"]

_WORDS = {"imposed": "imposed motion", "lighthill": "Lighthill's water", "morison": "Morison's water"}
_QUIET = {
    "shear_correction": 1.0,
    **dict.fromkeys(("stretch", "shear", "torsion", "bending"), 0),
    **dict.fromkeys(("damping", "mass_damping"), 0.0),
    "cut": False,
}


@dataclasses.dataclass(frozen=True)
class Section:
    """One table: a heading, and a row (name, what it is, details) per part."""

    title: str
    rows: list[tuple[str, str, str]]


def model_of(run: xr.Dataset) -> tuple[System | None, str]:
    """The system inside a run, or None and the reason."""
    text = run.attrs.get("model")
    if not isinstance(text, str) or not text:
        return None, "The run holds no model."
    try:
        model = loads(text)
    except (BadInput, ValueError, TypeError, KeyError, AttributeError) as error:
        return None, f"The model cannot be read here: {error}"
    if not isinstance(model, System):
        return None, f"The model is a {type(model).__name__}, not a System."
    return model, ""


def sentence_of(system: System | None, run: xr.Dataset) -> str:
    """The run in words, such as "1 rod with 3 tendons and gravity; 10 coordinates. 2 s, 201 instants by Newmark."."""
    texts = []
    if system is not None:
        parts = _counted(system.mechanism.parts, one="1 ")
        acting = _counted(system.actuators, one="1 ") + _counted(system.loads, one="")
        others = f" with {_listed(acting)}" if acting else ""
        texts.append(f"{_listed(parts)}{others}; {system.n} coordinates.")
    steps = run.sizes.get("time", 0)
    if steps > 1 and "time" in run.coords:
        time = run["time"].values
        method = str(run.attrs.get("method", "")).partition("(")[0]
        how = f" by {method}" if method else ""
        texts.append(f"{time[-1] - time[0]:.6g} s, {steps} instants{how}.")
    return " ".join(texts)


def _counted(parts: Iterable[Any], *, one: str) -> list[str]:
    counts = Counter(_WORDS.get(_kind(part), _kind(part)) for part in parts)
    return [f"{one}{kind}" if n == 1 else f"{n} {_plural(kind)}" for kind, n in counts.items()]


def _plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _listed(texts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def summary_of(system: System) -> str:
    """The tree, the cuts and the coordinates, as ``mechanism.explain()`` says them."""
    return system.mechanism.explain()


def sections_of(system: System, run: xr.Dataset) -> Iterator[Section]:
    """Rods, bodies, joints, actuators and loads; those of them that there are."""
    mechanism = system.mechanism
    rods = [part for part in mechanism.parts if isinstance(part, Rod)]
    bodies = [part for part in mechanism.parts if isinstance(part, RigidBody)]
    tables = [
        Section("Rods", _alike([_row(rod, run) for rod in rods])),
        Section("Rigid bodies", _alike([_row(body, run) for body in bodies])),
        Section("Joints", [_joint(joint) for joint in mechanism.joints]),
        Section("Actuators", [_row(part, run) for part in system.actuators]),
        Section("Loads", [_row(part, run) for part in system.loads]),
    ]
    return (table for table in tables if table.rows)


def _alike(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Parts that differ in nothing but their names share one row."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, kind, details in rows:
        names.setdefault((kind, details), []).append(name)
    short = {key: own if len(own) <= 4 else [own[0], own[1], "…", own[-1]] for key, own in names.items()}
    return [
        (", ".join(short[key]), key[0] if len(own) == 1 else f"{key[0]}, {len(own)} alike", key[1])
        for key, own in names.items()
    ]


def _row(part: Any, run: xr.Dataset) -> tuple[str, str, str]:
    used = _input(str(part.name), run)
    details = "; ".join(filter(None, [_details(part), used]))
    return str(part.name), _kind(part), details


def _joint(joint: Joint) -> tuple[str, str, str]:
    fields = [f"{joint.a.label} to {joint.b.label}", _details(joint, skip=("a", "b"))]
    return str(joint.name), joint.kind, "; ".join(filter(None, fields))


def _kind(part: Any) -> str:
    """ "SpooledTendon" as "spooled tendon"."""
    name = type(part).__name__
    return "".join(f" {c.lower()}" if c.isupper() and k and not name[k - 1].isupper() else c.lower()
                   for k, c in enumerate(name))  # fmt: skip


def _input(name: str, run: xr.Dataset) -> str:
    """What the input of a channel was in this run."""
    if "inputs" not in run or "input" not in run.coords or name not in run["input"].values:
        return ""
    column = list(run["input"].values).index(name)
    values = run["inputs"].values[:, column]
    values = values[np.isfinite(values)]
    unit = str(run["input_units"].values[column]) if "input_units" in run else ""
    unit = "" if unit == "1" else f" {unit}"
    if values.size == 0:
        return ""
    low, high = float(values.min()), float(values.max())
    word = "input" if unit else "factor"
    if low == high:
        return "" if (word, low) == ("factor", 1.0) else f"{word} {low:.4g}{unit}"
    return f"{word} from {low:.4g} to {high:.4g}{unit}"


def _details(value: Any, skip: tuple[str, ...] = ()) -> str:
    texts = []
    for field in dataclasses.fields(value):
        if not field.init or field.name in ("name", *skip):
            continue
        item = getattr(value, field.name)
        if item is None or (isinstance(item, tuple) and not item) or _says_nothing(field.name, item):
            continue
        unit = _unit(value, field.name) if _numeric(item) else ""
        word, text = field.name.replace("_", " "), value_text(item)
        if not text.startswith(f"{word} ("):  # "material (young ...)", not "material material (young ...)"
            text = f"{word} {text}"
        texts.append(f"{text} {unit}" if unit else text)
    return "; ".join(texts)


def _says_nothing(name: str, item: Any) -> bool:
    return name in _QUIET and isinstance(item, int | float) and item == _QUIET[name]


def _unit(owner: Any, name: str) -> str:
    if isinstance(owner, Joint):
        return ", ".join(dict.fromkeys(owner.coordinate_units)) if name == "start" else ""
    if hasattr(owner, "joint") and hasattr(owner, "coordinate_unit"):  # a spring, stop, friction or rotor of a joint
        turns, effort = owner.coordinate_unit, owner.effort_unit
        own = {"stiffness": f"{effort}/{turns}", "viscous": f"{effort} s/{turns}", "dry": effort, "rest": turns}
        own |= {"lower": turns, "upper": turns, "speed": f"{turns}/s", "inertia": "kg m²" if turns == "rad" else "kg"}
        return own.get(name, "")
    return unit_of(type(owner), name)


def _numeric(value: Any) -> bool:
    if isinstance(value, bool | str):
        return False
    if isinstance(value, tuple | list):
        return all(_numeric(item) for item in value)
    return isinstance(value, int | float | np.number | np.ndarray)


def value_text(value: Any) -> str:
    """One value of a model as short text; parts by their names, functions by what they are."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float | np.number):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        if value.size > 12:
            return f"array of shape {value.shape}"
        return value_text(tuple(value.tolist()))
    if isinstance(value, tuple | list):
        return f"({', '.join(value_text(item) for item in value)})"
    if isinstance(value, Rod | RigidBody | Joint):
        return str(value.name)
    if isinstance(value, Frame):
        return value.label
    if isinstance(value, Table):
        return f"table of {len(value.x)} samples over {value.variable} ({value.x[0]:.4g} to {value.x[-1]:.4g})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inside = _details(value).replace("; ", ", ")
        return f"{_kind(value)} ({inside})" if inside else _kind(value)
    return str(getattr(value, "__qualname__", type(value).__name__))
