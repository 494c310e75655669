"""Model files: a robot, its actuation, surroundings and a study in one TOML file, there and back.

The sections of a file hold named values; a key is the name of a constructor's argument, and its unit stands in one
table (model_fields). So a class of the library needs no code here to be read or written.

    [materials.silicone]            a Material called silicone
    [rods.arm]                      material = "silicone" refers to it; like = "limb" begins from another entry
    [joints], [holds], [mechanism]  how the parts are connected
    [actuators], [loads]            in the order of the file
    [inputs]                        numbers, quantities and signals by the name of an actuator or load
    [study]                         kind = "equilibrium", "continuation" or "simulation"

A model file holds no code, and names no file outside its own folder unless that is allowed by a flag.
"""

from __future__ import annotations

import csv
import dataclasses
import difflib
import inspect
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np

from elver.errors import BadInput
from elver.io.model import MODEL_PACKAGES, _Encoder, _model_classes
from elver.io.model_fields import GROUPS, METHODS, SECTIONS, STUDY_FIELDS, kind_of
from elver.io.toml_text import LARGEST_FILE, lines_of_keys, parse, read_text, write_document
from elver.io.units import quantity

__all__ = [
    "ContinuationStudy", "EquilibriumStudy", "Model", "SimulationStudy", "Study", "load_model", "save_model",
]  # fmt: skip

FORMAT = 1
_LARGEST_TABLE = 64_000_000
_TOP = ("elver", "title", "note", *SECTIONS, "gaits", "mechanism", "inputs", "study")
_FLAGS = ("free", "world", "text")


# What a file holds ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EquilibriumStudy:
    """Find the state at rest; the arguments of ``equilibrium``."""

    kind: str = field(default="equilibrium", init=False)
    tolerance: float = 1e-10
    max_iterations: int = 40


@dataclass(frozen=True)
class ContinuationStudy:
    """Follow equilibria while the input ``over`` goes from ``start`` to ``stop``; the arguments of ``continuation``."""

    over: str
    stop: float
    kind: str = field(default="continuation", init=False)
    start: float = 0.0
    step: float = 0.1
    max_points: int = 200
    tolerance: float = 1e-10


@dataclass(frozen=True, eq=False)
class SimulationStudy:
    """Simulate a motion; the arguments of ``simulate``.

    ``state`` is "rest", "equilibrium" (under the inputs at 0 s) or a State. ``method`` None is the choice of simulate.
    """

    duration: float = 1.0
    kind: str = field(default="simulation", init=False)
    step: Any = 1e-2
    method: Any = None
    state: Any = "rest"
    start: Literal["consistent", "given"] = "consistent"
    every: int = 1


Study: TypeAlias = EquilibriumStudy | ContinuationStudy | SimulationStudy
_STUDIES: dict[str, type] = {
    "equilibrium": EquilibriumStudy,
    "continuation": ContinuationStudy,
    "simulation": SimulationStudy,
}


@dataclass(frozen=True, eq=False)
class Model:
    """What a model file describes: ``system``, ``inputs`` by the names of its channels, and the ``study``, if any."""

    system: Any
    inputs: dict[str, Any] = field(default_factory=dict)
    study: Study | None = None
    title: str = ""


def load_model(
    path: str | os.PathLike[str],
    *,
    changes: Mapping[str, Any] | None = None,
    outside: bool = False,
) -> Model:
    """The model in a TOML file.

    ``changes`` replaces values: ``{"rods.arm.length": "0.5 m", "inputs.tendon": 5.0}``. ``outside`` allows tables
    (CSV) outside the folder of the file. :class:`BadInput` names the file, the line, the key, the value and a remedy.

    >>> model = load_model("arm.toml")
    >>> run = simulate(model.system, duration=2.0, inputs=model.inputs)
    """
    return _Reader(Path(path), changes or {}, outside, methods=True).model()


def check_model(
    path: str | os.PathLike[str], *, changes: Mapping[str, Any] | None = None, outside: bool = False
) -> Model:
    """:func:`load_model` without the compiled core: time schemes stay tables, whose ranges are checked by the run."""
    return _Reader(Path(path), changes or {}, outside, methods=False).model()


# Reading ----------------------------------------------------------------------------------------------------

_Path: TypeAlias = tuple[str, ...]


def file_types(methods: bool = False) -> dict[str, type]:
    """Classes that a model file may name; those of time schemes only on demand, since they need the compiled core."""
    packages = MODEL_PACKAGES if methods else tuple(p for p in MODEL_PACKAGES if p != "elver.integrators")
    known = _model_classes(packages)
    named = {name for group, names in GROUPS.items() if group != "study" for name in names}
    named |= set(METHODS) if methods else set()
    return {name: known[name] for name in sorted(named)}


def arguments(cls: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Arguments of a constructor that a model file may give."""
    parameters = dict(inspect.signature(cls).parameters)
    if dataclasses.is_dataclass(cls):
        fields = {f.name for f in dataclasses.fields(cls)}
        parameters = {name: p for name, p in parameters.items() if name in fields}
    return parameters


class _Reader:
    """One file on its way to a model."""

    def __init__(self, path: Path, changes: Mapping[str, Any], outside: bool, *, methods: bool) -> None:
        self.path, self.outside = path, outside
        text = read_text(path)
        self.document = parse(path, text)
        self.lines = lines_of_keys(text)
        self.types = file_types()
        self.methods = methods
        self.built: dict[str, Any] = {}
        self.building: list[str] = []
        for key in self.document:
            if key not in _TOP:
                self.fail((key,), f"unknown section {key!r}; {_meant(key, _TOP)}")
        for key in (*SECTIONS, "gaits", "mechanism", "inputs", "study"):
            if not isinstance(self.document.get(key, {}), dict):
                self.fail((key,), f"{self.document[key]!r} is no table; write [{key}] or [{key}.NAME] above its keys")
        self.where: dict[str, str] = {}
        for section in SECTIONS:
            for name, table in self.document.get(section, {}).items():
                if section not in ("actuators", "loads", "signals") and not isinstance(table, dict):
                    self.fail((section, name), f"{table!r} is no table; write [{section}.{name}] above its keys")
                if name in self.where:
                    self.fail((section, name), f"the name {name!r} is also in {self.where[name]}; give each its own")
                self.where[name] = section
        for key, value in changes.items():
            self.change(key, value)
        version = self.document.get("elver", FORMAT)
        if version != FORMAT:
            self.fail(("elver",), f"elver = {version!r}: this version reads format {FORMAT}; write elver = {FORMAT}")

    def fail(self, path: _Path, message: str) -> NoReturn:
        """Raise :class:`BadInput` with file, line and key."""
        line = next((self.lines[path[:k]] for k in range(len(path), 0, -1) if path[:k] in self.lines), None)
        at = f"{self.path}" + (f", line {line}" if line else "")
        raise BadInput(f"{at}: {'.'.join(path)}: {message}" if path else f"{at}: {message}")

    def change(self, key: str, value: Any) -> None:
        """Replace one value, named by its path; sections may be left out before a name that is in the file."""
        names = tuple(key.split("."))
        if names[0] in self.where:
            section = self.where[names[0]]
            names = ("inputs", *names) if len(names) == 1 else (section, *names)
        if names[0] not in _TOP:
            close = _meant(names[0], [*_TOP, *self.where])
            self.fail((), f"cannot set {key!r}: no section and no part is called {names[0]!r}; {close}")
        table: Any = self.document
        for name in names[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                self.fail(names, f"cannot set {key!r}: {name!r} is a value, not a table")
        table[names[-1]] = value

    # Names and reuse

    def expanded(self, raw: dict[str, Any], path: _Path, seen: tuple[str, ...] = ()) -> dict[str, Any]:
        """A table with what it takes over by ``like``; its own keys win."""
        if "like" not in raw:
            return raw
        other = raw["like"]
        if not isinstance(other, str) or other not in self.where:
            self.fail((*path, "like"), f"like = {other!r} is no entry of this file; {_meant(str(other), self.where)}")
        if other in seen or path == (self.where[other], other):
            chain = " -> ".join((*seen, other))
            self.fail((*path, "like"), f"like goes in a circle ({chain}); let one of them stand on its own")
        section = self.where[other]
        begin = self.document[section][other]
        if not isinstance(begin, dict):
            self.fail((*path, "like"), f"like = {other!r} is a value, not a table")
        begin = self.expanded(begin, (section, other), (*seen, other))
        own = {key: value for key, value in raw.items() if key != "like"}
        return _merged({key: value for key, value in begin.items() if key != "name"}, own)

    def named(self, name: str, group: str, path: _Path, same: str) -> Any:
        """The value called ``name``, built once."""
        section = self.where.get(name)
        fitting = [other for other, s in self.where.items() if self._fits(s, group)]
        if section is None:
            self.fail(path, f"nothing in this file is called {name!r}; {_meant(name, fitting, 'a ' + group)}")
        if name in self.building:
            chain = " -> ".join((*self.building, name))
            self.fail(path, f"{name!r} refers to itself ({chain}); break the circle")
        if section == "signals":  # checked against the unit of each input it is for
            return self.value("same @signal", self.document[section][name], (section, name), same)
        if name not in self.built:
            self.building.append(name)
            self.built[name] = self.make(SECTIONS[section], self.document[section][name], (section, name), same, name)
            self.building.pop()
        value = self.built[name]
        if type(value).__name__ not in GROUPS[group]:
            close = _meant(name, fitting, f"a {group}")
            self.fail(path, f"{name!r} is a {type(value).__name__}, not a {group}; {close}")
        return value

    def _fits(self, section: str, group: str) -> bool:
        return bool(set(GROUPS[SECTIONS[section]]) & set(GROUPS[group]))

    # Values

    def make(self, group: str, raw: Any, path: _Path, same: str = "any", name: str | None = None) -> Any:
        """A value of a group from its table."""
        if not isinstance(raw, dict):
            self.fail(path, f"{_short(raw)} is no {group}; write a table with type = {_any_of(GROUPS[group])}")
        raw = self.expanded(raw, path)
        allowed = GROUPS[group]
        kind = raw.get("type", allowed[0] if len(allowed) == 1 else None)
        if kind is None:
            self.fail(path, f"the key 'type' is missing; add type = {_any_of(allowed)}")
        if not isinstance(kind, str) or kind not in allowed:
            close = _meant(str(kind), allowed, f"a {group}")
            self.fail((*path, "type"), f"type = {_short(kind)} is no {group}; {close}")
        cls = self.types[kind]
        keys = arguments(cls)
        given = {key: value for key, value in raw.items() if key != "type"}
        if kind == "SampledSignal" and "file" in given:
            given = self.table(given, path)
        if name is not None and "name" in keys:
            given.setdefault("name", name)
        return self.construct(kind, cls, keys, given, path, same)

    def construct(
        self,
        kind: str,
        cls: Callable[..., Any],
        keys: Mapping[str, inspect.Parameter],
        given: dict[str, Any],
        path: _Path,
        same: str = "any",
        kinds: Mapping[str, str] | None = None,
    ) -> Any:
        """Call a constructor with what a table gives, after a look at its keys, units and types."""
        for key in given:
            if key not in keys or not (kinds[key] if kinds else kind_of(kind, key)):
                self.fail((*path, key), f"{kind} has no key {key!r}; {_meant(key, keys)}")
        for key, parameter in keys.items():
            if parameter.default is parameter.empty and key not in given:
                unit = (kinds or {}).get(key, kind_of(kind, key))
                self.fail(path, f"the key {key!r} of {kind} is missing; add {key} = {_example(unit)}")
        values = {
            key: self.value(kinds[key] if kinds else kind_of(kind, key), item, (*path, key), same)
            for key, item in given.items()
        }
        return self.call(kind, cls, values, path)

    def call(self, kind: str, cls: Callable[..., Any], values: dict[str, Any], path: _Path) -> Any:
        try:
            return cls(**values)
        except BadInput as error:
            self.fail(path, str(error))
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            self.fail(path, f"no {kind} can be built of this ({error}); check the types of its keys")

    def value(self, kind: str, item: Any, path: _Path, same: str = "any") -> Any:
        """What a key means, by the kind of the key."""
        words = kind.split(" @")[0] if not kind.startswith("@") else ""
        group = kind.partition("@")[2]
        if item == {"none": True} or item == "none":
            return None
        if words == "frame":
            return self.frame(item, path)
        if words == "guides":
            return tuple(self.guide(v, path) for v in item) if isinstance(item, list) else self.guide(item, path)
        if words in ("pose", "rotation"):
            return self.pose(item, path, words)
        if words == "chain":
            return self.chain(item, path)
        if group == "method":
            if isinstance(item, dict):
                return self.method(item, path)
            if not words:
                self.fail(path, f'{_short(item)} is no time scheme; write a table such as {{ type = "Newmark" }}')
        elif group:
            unit = same if words == "same" or (group == "signal" and not words) else words
            inner = "1" if path[-1] == "ramp" else ("any" if words == "any" or not unit else unit)
            if isinstance(item, dict):
                return self.make(group, item, path, inner)
            if isinstance(item, str) and (item in self.where or not words):
                if words == "world" and item == "world":
                    return item
                return self.named(item, group, path, inner)
            if isinstance(item, list) and not words:
                return tuple(self.value(kind, v, (*path, str(k)), same) for k, v in enumerate(item))
            if not words or words == "world":
                if words == "world" and item == "world":
                    return item
                self.fail(path, f"{_short(item)} is no {group}; give a name in quotes, or a table with its keys")
        return self.plain(words, item, path, same)

    def plain(self, words: str, item: Any, path: _Path, same: str) -> Any:
        """Numbers, texts, switches."""
        if words == "bool":
            if isinstance(item, bool):
                return item
            self.fail(path, f"{_short(item)} is neither true nor false")
        if words == "int":
            if isinstance(item, int) and not isinstance(item, bool):
                return item
            self.fail(path, f"{_short(item)} is no whole number; write such as {path[-1]} = 4")
        if words == "text":
            if isinstance(item, str):
                return item
            if isinstance(item, list) and all(isinstance(v, str) for v in item):
                return tuple(item)
            self.fail(path, f'{_short(item)} is no text; write it in quotes, such as "tip"')
        unit = " ".join(word for word in words.split(" ") if word not in _FLAGS)
        unit = same if unit == "same" else unit
        return self.numbers(unit, item, path, texts="text" in words, free="free" in words)

    def numbers(self, unit: str, item: Any, path: _Path, *, texts: bool = False, free: bool = False) -> Any:
        """A quantity, or nested lists of quantities, in SI units."""
        if isinstance(item, list):
            inner = [self.numbers(unit, v, (*path, str(k)), free=free) for k, v in enumerate(item)]
            return tuple(inner)
        if isinstance(item, bool) or not isinstance(item, (int, float, str)):
            self.fail(path, f"{_short(item)} is no number; write such as {path[-1]} = {_example(unit)}")
        if isinstance(item, str):
            if free and item in ("free", "none"):
                return None
            if texts and not item[:1].isdigit() and item[:1] not in "+-.":
                return item
            try:
                return quantity(item, unit or "any")
            except BadInput as error:
                self.fail(path, str(error))
        if isinstance(item, float) and math.isnan(item):
            self.fail(path, f"nan is no number to compute with; write such as {path[-1]} = {_example(unit)}")
        if unit == "any":
            return item
        try:
            return float(item)
        except OverflowError:
            self.fail(path, f"{_short(item)} is beyond all numbers; write such as {path[-1]} = {_example(unit)}")

    # Places

    def frame(self, item: Any, path: _Path) -> Any:
        if item == "world":
            return item
        if isinstance(item, str):
            if self.where.get(item) == "frames":
                return self.named(item, "frame", path, "any")
            return self.named(item, "part", path, "any")
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str):
            part = item[0] if item[0] == "world" else self.named(item[0], "part", (*path, "0"), "any")
            place = item[1]
            if isinstance(place, (list, dict)):
                return part, self.pose(place, (*path, "1"), "pose")
            return part, self.plain("m text", place, (*path, "1"), "m")
        if not isinstance(item, dict):
            self.fail(path, f'{_short(item)} is no frame; write "world", "plate", ["arm", "tip"] or ["arm", "0.1 m"]')
        return self.make("frame", item, path)

    def guide(self, item: Any, path: _Path) -> Any:
        """A rod that a tendon runs along, or a frame that it passes."""
        if isinstance(item, str) and self.where.get(item) != "frames":
            return self.named(item, "rod", path, "any")
        frame = self.frame(item, path)
        if isinstance(frame, tuple):
            part, where = frame
            at = {"at": where} if type(part).__name__ == "Rod" else {"pose": where}
            return self.call("Frame", self.types["Frame"], {"part": part, **at}, path)
        return frame

    def pose(self, item: Any, path: _Path, kind: str) -> Any:
        """Rows of numbers; or a table of position, axis and angle."""
        if isinstance(item, list):
            return self.numbers("m|1" if kind == "pose" else "1", item, path)
        if not isinstance(item, dict):
            self.fail(path, f'{_short(item)} is no {kind}; write {{ axis = "z", angle = "90 deg" }} or rows of numbers')
        keys = ("position", "axis", "angle") if kind == "pose" else ("axis", "angle")
        for key in item:
            if key not in keys:
                self.fail((*path, key), f"a {kind} has no key {key!r}; {_meant(key, keys)}")
        axis = self.plain("text 1", item.get("axis", "z"), (*path, "axis"), "1")
        direction = np.eye(3)["xyz".index(axis)] if axis in ("x", "y", "z") else None
        if direction is None:
            if not _three_numbers(axis) or not any(axis):
                self.fail((*path, "axis"), f'{_short(item["axis"])} is no axis; write "x", "y", "z" or three numbers')
            direction = np.array(axis, dtype=float) / np.linalg.norm(np.array(axis, dtype=float))
        angle = self.numbers("rad", item.get("angle", 0.0), (*path, "angle"))
        if not isinstance(angle, float) or not math.isfinite(angle):
            self.fail((*path, "angle"), f'{_short(item["angle"])} is no angle; write such as "90 deg"')
        from elver.lie import so3

        R = so3.exp(angle * direction)
        if kind == "rotation":
            return tuple(map(tuple, R.tolist()))
        g = np.eye(4)
        g[:3, :3] = R
        position = self.numbers("m", item.get("position", [0.0, 0.0, 0.0]), (*path, "position"))
        if not _three_numbers(position):
            self.fail((*path, "position"), f"{_short(item['position'])} is no position; write [x, y, z] in m")
        g[:3, 3] = position
        return tuple(map(tuple, g.tolist()))

    def chain(self, item: Any, path: _Path) -> Any:
        if not isinstance(item, list):
            self.fail(path, f"{_short(item)} is no list of joints; write their names from head to tail")
        joints = []
        for k, entry in enumerate(item):
            name = entry[0] if isinstance(entry, list) and len(entry) == 2 else entry
            if not isinstance(name, str):
                self.fail((*path, str(k)), f"{_short(entry)} is no joint; give its name in quotes")
            joint = self.named(name, "joint", (*path, str(k)), "any")
            joints.append((joint, entry[1]) if isinstance(entry, list) else joint)
        return joints

    # Files beside the model

    def table(self, given: dict[str, Any], path: _Path) -> dict[str, Any]:
        """Times and values from a CSV file: ``file``, and the ``column`` of the values (name or number, from 1)."""
        place = self.beside(given["file"], (*path, "file"))
        rows = list(csv.reader(read_text(place, "table", _LARGEST_TABLE).splitlines()))
        rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
        rows = [row for row in rows if not row[0].startswith("#")]
        header: list[str] = rows.pop(0) if rows and not _is_number(rows[0][0]) else []
        column: Any = given.get("column", 2)
        if isinstance(column, str):
            if column not in header:
                self.fail((*path, "column"), f"{place.name} has no column {column!r}; {_meant(column, header)}")
            column = header.index(column) + 1
        if not isinstance(column, int) or column < 1:
            self.fail((*path, "column"), f"{_short(column)} is no column; give its name, or its number from 1 on")
        times, values = [], []
        for number, row in enumerate(rows, start=2 if header else 1):
            try:
                times.append(float(row[0]))
                values.append(float(row[column - 1]))
            except (ValueError, IndexError):
                self.fail(
                    (*path, "file"),
                    f"{place.name}, row {number}: {','.join(row)[:60]!r} has no number in column 1 or {column}; "
                    "write times in s and values in SI units, separated by commas",
                )
        rest = {key: value for key, value in given.items() if key not in ("file", "column")}
        return {**rest, "times": times, "values": values}

    def beside(self, name: Any, path: _Path) -> Path:
        """A file in the folder of the model, and nowhere else unless the flag allows it."""
        if not isinstance(name, str) or not name or "\0" in name:
            self.fail(path, f"{_short(name)} is no file name; write it in quotes")
        place = self.path.parent / name
        if self.outside:
            return place
        folder = self.path.parent.resolve()
        there = place.resolve()
        if Path(name).is_absolute() or ".." in Path(name).parts or not there.is_relative_to(folder):
            self.fail(
                path,
                f"{name!r} leads out of the folder of the model; put the table beside the model, or allow it with "
                "outside=True (--outside on the command line)",
            )
        return there

    # The whole

    def model(self) -> Model:
        """System, inputs and study."""
        for section, entries in self.document.items():
            if section in SECTIONS and section != "signals":
                for name in entries:
                    self.named(name, SECTIONS[section], (section, name), "any")
        actuators = [self.built[name] for name in self.document.get("actuators", {})]
        loads = [self.built[name] for name in self.document.get("loads", {})]
        inputs: dict[Any, Any] = {}
        for name, raw in self.document.get("gaits", {}).items():
            drives, signals = self.gait(name, raw)
            actuators += drives
            inputs |= signals
        mechanism = self.mechanism()
        values = {"mechanism": mechanism, "actuators": tuple(actuators), "loads": tuple(loads)}
        system = self.call("System", self.types_system(), values, ())
        keyed = {system.label(part): signal for part, signal in inputs.items()}
        for name, raw in self.document.get("inputs", {}).items():
            path = ("inputs", name)
            if name not in system.channel_names:
                known = system.channel_names
                self.fail(path, f"no actuator and no load is called {name!r}; {_meant(name, known, 'an input')}")
            keyed[name] = self.value("same @signal", raw, path, self.unit(system, name))
            self.probe(system, name, keyed[name], path)
        study = self.study(system) if "study" in self.document else None
        title = self.document.get("title", "")
        if not isinstance(title, str):
            self.fail(("title",), f"{_short(title)} is no text; write it in quotes")
        return Model(system, keyed, study, title)

    def types_system(self) -> type:
        from elver.system import System

        return System

    def unit(self, system: Any, name: str) -> str:
        unit = str(system.channels[system.channel_names.index(name)].unit)
        try:
            quantity("1 " + unit, "any")
        except BadInput:
            return "any"
        return unit

    def probe(self, system: Any, name: str, signal: Any, path: _Path) -> None:
        """Look at an input at the first instant: a slack tendon that should push is told here, not in the run."""
        try:
            system.input_vector(system.signals({name: signal}), 0.0)
        except BadInput as error:
            self.fail(path, str(error))
        except (ArithmeticError, TypeError, ValueError) as error:
            self.fail(path, f"the signal has no value at 0 s ({error}); check its numbers")

    def gait(self, name: str, raw: Any) -> tuple[list[Any], dict[Any, Any]]:
        from elver.actuation import joint_gait, muscle_gait, rod_gait

        path = ("gaits", name)
        if not isinstance(raw, dict):
            self.fail(path, f"{_short(raw)} is no table; write [gaits.{name}] above its keys")
        kind = raw.get("type")
        gaits: dict[Any, Callable[..., Any]] = {g.__name__: g for g in (joint_gait, rod_gait, muscle_gait)}
        if not isinstance(kind, str) or kind not in gaits:
            self.fail((*path, "type"), f"type = {_short(kind)} is no gait; write type = {_any_of(gaits)}")
        function = gaits[kind]
        given = {key: value for key, value in raw.items() if key != "type"}
        drives, inputs = self.construct(kind, function, arguments(function), given, path)
        return list(drives), dict(inputs)

    def mechanism(self) -> Any:
        from elver.mechanism import Mechanism

        raw, path = dict(self.document.get("mechanism", {})), ("mechanism",)
        holds = tuple(self.built[name] for name in self.document.get("holds", {}))
        for short in ("clamped", "free"):
            if short in raw:
                for key in raw:
                    if key not in (short, "pose"):
                        self.fail((*path, key), f"{key!r} does not go with {short!r}; use joints and base instead")
                if self.document.get("joints"):
                    self.fail((*path, short), f"{short} = {raw[short]!r} and [joints]: choose one of the two")
                part = self.value("@part", raw[short], (*path, short))
                pose = self.value("pose", raw["pose"], (*path, "pose")) if "pose" in raw else None
                build = getattr(Mechanism, short)
                return self.call("Mechanism", build, {"rod": part, "pose": pose, "holds": holds}, path)
        joints = tuple(self.built[name] for name in self.document.get("joints", {}))
        if not joints:
            parts = [name for name, section in self.where.items() if section in ("rods", "bodies")]
            example = parts[0] if parts else "arm"
            self.fail(path, f'no part is held: add [mechanism] with clamped = "{example}", or [joints.NAME] tables')
        raw.setdefault("joints", list(self.document.get("joints", {})))
        raw.setdefault("holds", list(self.document.get("holds", {})))
        return self.construct("Mechanism", Mechanism, arguments(Mechanism), raw, path)

    def study(self, system: Any) -> Study:
        raw, path = dict(self.document["study"]), ("study",)
        kind = raw.pop("kind", None)
        if not isinstance(kind, str) or kind not in _STUDIES:
            self.fail((*path, "kind"), f"kind = {_short(kind)} is no study; write kind = {_any_of(_STUDIES)}")
        cls, kinds, same = _STUDIES[kind], STUDY_FIELDS[kind], "any"
        if kind == "continuation" and raw.get("over") is not None:
            if raw["over"] not in system.channel_names:
                close = _meant(str(raw["over"]), system.channel_names, "an input")
                self.fail((*path, "over"), f"over = {_short(raw['over'])} is no input of this system; {close}")
            same = self.unit(system, raw["over"])
        study: Study = self.construct(kind, cls, arguments(cls), raw, path, same, kinds)
        for key, item in raw.items():
            value = getattr(study, key)
            if kinds[key] not in ("text", "text @state", "@method") and (value is None or isinstance(value, tuple)):
                self.fail((*path, key), f"{_short(item)} is no number; write such as {key} = {_example(kinds[key])}")
        for key in ("duration", "step", "tolerance"):
            value = getattr(study, key, 1.0)
            if isinstance(value, float) and not (math.isfinite(value) and value > 0.0):
                self.fail((*path, key), f"{key} = {value:g}: must be greater than zero, and finite")
        for key in ("every", "max_iterations"):
            if getattr(study, key, 1) < 1:
                self.fail((*path, key), f"{key} = {getattr(study, key)}: must be at least 1")
        if isinstance(study, SimulationStudy):
            if isinstance(study.step, float) and study.step > study.duration:
                self.fail((*path, "step"), f"step = {study.step:g} s is longer than the duration {study.duration:g} s")
            if isinstance(study.state, str) and study.state not in ("rest", "equilibrium"):
                self.fail((*path, "state"), f'state = {study.state!r}: write "rest", "equilibrium" or a table with q')
            if not isinstance(study.state, str):
                self.call("State", lambda state: system.check_state(state), {"state": study.state}, (*path, "state"))
            if study.start not in ("consistent", "given"):
                self.fail((*path, "start"), f'start = {study.start!r}: write "consistent" or "given"')
        return study

    def method(self, raw: dict[str, Any], path: _Path) -> Any:
        raw = self.expanded(raw, path)
        kind = raw.get("type")
        allowed = ("Adaptive",) if path[-1] == "step" else tuple(name for name in METHODS if name != "Adaptive")
        if kind not in allowed:
            self.fail((*path, "type"), f"type = {_short(kind)} is no time scheme; {_meant(str(kind), allowed)}")
        given = {key: value for key, value in raw.items() if key != "type"}
        for key in given:
            if key not in METHODS[kind]:
                self.fail((*path, key), f"{kind} has no key {key!r}; {_meant(key, METHODS[kind])}")
        values = {key: self.value(METHODS[kind][key], item, (*path, key)) for key, item in given.items()}
        if not self.methods:
            return {"type": kind, **values}
        return self.call(kind, file_types(methods=True)[kind], values, path)


def _merged(begin: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """``begin`` with the values of ``own``; tables are merged too, unless they name a type of their own."""
    result = dict(begin)
    for key, value in own.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and "type" not in value:
            result[key] = _merged(old, value)
        else:
            result[key] = value
    return result


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _meant(word: str, known: Any, what: str = "one") -> str:
    names = [str(name) for name in known]
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"choose among {listed}" if names else f"the file has no such thing yet: add {what}"


def _any_of(names: Any) -> str:
    return " or ".join(f'"{name}"' for name in names)


def _example(kind: str) -> str:
    if kind.startswith("@"):
        return '"NAME" or { type = ... }'
    unit = kind.split(" @")[0].split("|")[0]
    given = {
        "m": '"12 mm"', "Pa": '"1 MPa"', "kg/m^3": "1000.0", "int": "4", "text": '"NAME"', "s": '"10 ms"',
        "frame": '["arm", "tip"]', "kg": '"20 g"', "rad": '"30 deg"', "1": "1.0", "any": "1.0", "same": "1.0",
        "": "1.0", "guides": '"arm"', "world": '"arm"', "bool": "true",
    }  # fmt: skip
    return given.get(unit, f'"1 {unit}"')


def _three_numbers(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 3 and all(isinstance(v, float) for v in value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Writing ----------------------------------------------------------------------------------------------------


def save_model(
    path: str | os.PathLike[str],
    system: Any,
    inputs: Mapping[Any, Any] | None = None,
    study: Study | None = None,
    *,
    title: str = "",
    sample: bool = False,
) -> Path:
    """Write a system, its inputs and a study to a TOML file; :func:`load_model` gives the same motion to the last bit.

    Functions written in Python cannot be stored: they are refused, or with ``sample=True`` replaced by samples (over
    the duration of the study, or along the rod), which give nearly the same motion. Feedback laws cannot be stored.
    """
    from elver.io.files import _checked_target, _replacing

    target = _checked_target(path)
    duration = getattr(study, "duration", None)
    writer = _Writer(system, sample, 1.0 if duration is None else float(duration))
    document = writer.document(system, inputs or {}, study, title)
    text = write_document(document, "Model file of elver. Numbers are in SI units and radians.")
    data = text.encode("utf-8")
    if len(data) > LARGEST_FILE:
        raise BadInput(
            f"{target}: the model takes {len(data) / 1e6:.1f} MB, more than a model file may have "
            f"({LARGEST_FILE / 1e6:.0f} MB); put long tables into CSV files beside it"
        )
    with _replacing(target) as temporary:
        temporary.write_bytes(data)
    return target


class _Writer(_Encoder):
    """A walk over a model that gives a name to every part that others refer to."""

    def __init__(self, system: Any, sample: bool, duration: float) -> None:
        super().__init__(duration=duration, samples=101)
        self.system, self.sample = system, sample
        self.sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        self.names: dict[int, str] = {}
        self.keep: list[Any] = []  # values whose identity is used must not be collected meanwhile
        self.types = file_types()

    def document(self, system: Any, inputs: Mapping[Any, Any], study: Study | None, title: str) -> dict[str, Any]:
        mechanism = system.mechanism
        self.count(system)
        head: dict[str, Any] = {"elver": FORMAT}
        if title:
            head["title"] = title
        table: dict[str, Any] = {
            "joints": [self.reference(joint, "joints") for joint in mechanism.joints],
            "base": self.inline(mechanism.base, "mechanism.base", (mechanism,)),
        }
        if mechanism.holds:
            table["holds"] = [self.reference(hold, "holds") for hold in mechanism.holds]
        if mechanism.root is not None:
            table["root"] = self.place(mechanism.root, "mechanism.root")
        for section in ("actuators", "loads"):
            for part in getattr(system, section):
                self.reference(part, section)
        values: dict[str, Any] = {}
        channels = dict(zip(system.channel_names, system.channels, strict=True))
        for key, signal in inputs.items():
            name = system.channel_names[system._channel(key)]
            values[name] = self.encode(signal, f"inputs[{name!r}]", (channels[name],))
        result = {**head, **self.sections, "mechanism": table, "inputs": values}
        if study is not None:
            if isinstance(study, ContinuationStudy) and not isinstance(study.over, str):
                study = dataclasses.replace(study, over=system.label(study.over))
            result["study"] = {"kind": study.kind} | self.fields(study, type(study), "study", ())
        return result

    def reference(self, value: Any, section: str) -> str:
        """Name of a value that stands in a section of its own."""
        if section == "joints" and not any(value is joint for joint in self.system.mechanism.joints):
            value = self.system.mechanism.joint(value)
        if id(value) in self.names:
            return self.names[id(value)]
        wanted = getattr(value, "name", None) or type(value).__name__.lower()
        taken = {name for entries in self.sections.values() for name in entries}
        name, number = wanted, 1
        while name in taken or name in ("world", "none", "free", "rest", "equilibrium"):
            number += 1
            name = f"{wanted}-{number}"
        self.names[id(value)] = name
        self.keep.append(value)
        entry: dict[str, Any] = {}
        # what it refers to comes first in the file, so its own place is taken only now
        self.sections[section][name] = entry
        content = self.inline(value, f"{section}.{name}", (), named=name)
        entry.update(content)
        return name

    def inline(self, value: Any, path: str, owners: tuple[Any, ...], named: str | None = None) -> dict[str, Any]:
        kind = type(value).__name__
        if kind not in self.types:
            raise BadInput(
                f"{path}: a {kind} cannot be written to a model file, which holds no code; build this system in Python"
            )
        content = self.fields(value, self.types[kind], path, owners)
        if named is not None and hasattr(value, "name"):
            if value.name == named:
                content.pop("name", None)
            else:
                content["name"] = {"none": True} if value.name is None else value.name
        return {"type": kind, **content}

    def fields(self, value: Any, cls: type, path: str, owners: tuple[Any, ...]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, parameter in arguments(cls).items():
            item = getattr(value, key)
            default = parameter.default
            if item is None and default is None:
                continue
            if default is not parameter.empty and type(item) is type(default) and _same(item, default):
                continue
            kind = kind_of(cls.__name__, key)
            if kind in ("frame", "guides"):
                content[key] = self.places(item, f"{path}.{key}")
            else:
                content[key] = self.encode(item, f"{path}.{key}", (*owners, value))
        return content

    def places(self, item: Any, path: str) -> Any:
        if isinstance(item, (tuple, list)) and not (len(item) == 2 and isinstance(item[1], (str, float))):
            return [self.places(v, path) for v in item]
        return self.place(item, path)

    def place(self, item: Any, path: str) -> Any:
        """A frame in its shortest form."""
        if type(item).__name__ != "Frame":
            return self.encode(item, path, ())
        part = item.part if isinstance(item.part, str) else self.encode(item.part, path, ())
        if np.array_equal(item.g, np.eye(4)):
            return part if item.at is None else [part, item.at]
        return {"part": part, **({} if item.at is None else {"at": item.at}), "pose": self.encode(item.pose, path, ())}

    def encode(self, value: Any, path: str, owners: tuple[Any, ...]) -> Any:
        if value is None:
            return "none" if path.endswith("]") else {"none": True}
        if isinstance(value, (float, np.floating)):
            return float(value)
        return super().encode(value, path, owners)

    def _array(self, value: np.ndarray, path: str) -> Any:
        if value.dtype.kind not in "biuf":
            raise BadInput(f"{path}: an array of {value.dtype} cannot be written to a file; use numbers")
        return value.tolist()

    def _dataclass(self, value: Any, path: str, owners: tuple[Any, ...]) -> Any:
        kind = type(value).__name__
        own = ("materials", "rods", "bodies", "joints")
        for section, group in SECTIONS.items():
            if kind in GROUPS[group] and (section in own or (self.seen[id(value)] > 1 and section != "frames")):
                return self.reference(value, section)
        if kind == "Frame":
            return self.place(value, path)
        if kind in METHODS:
            return {"type": kind} | self.fields(value, type(value), path, ())
        return self.inline(value, path, owners)

    def _function(self, function: Callable[..., Any], path: str, owners: tuple[Any, ...]) -> Any:
        name = getattr(function, "__qualname__", type(function).__name__)
        if not self.sample:
            raise BadInput(
                f"{path}: the Python function {name} cannot be written to a model file; use a signal, field or path of "
                "elver, or accept samples of it with sample=True"
            )
        return super()._function(function, path, owners)


def _same(item: Any, default: Any) -> bool:
    try:
        return bool(item == default)
    except ValueError:
        return False
