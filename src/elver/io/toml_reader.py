"""A model file read key by key: values by their units, parts by their names; what is wrong is told with its place.

Each value is built by the constructor of its class, with the arguments that the file gives; kinds and units of keys are
those of model_fields. A file holds no code, and names no file outside its own folder unless that is allowed.
"""

from __future__ import annotations

import csv
import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from elver.errors import BadInput
from elver.io.model_fields import GROUPS, METHODS, SECTIONS, STUDY_FIELDS, kind_of
from elver.io.toml_text import lines_of_keys, parse, read_text
from elver.io.toml_values import FORMAT, STUDIES, Model, SimulationStudy, Study, arguments, file_types, method_types
from elver.io.units import quantity

__all__ = ["ModelReader"]

_Path: TypeAlias = tuple[str, ...]
_LARGEST_TABLE = 64_000_000
_TOP = ("elver", "title", "note", *SECTIONS, "gaits", "mechanism", "inputs", "study")
_FLAGS = ("free", "world", "text")


class ModelReader:
    """One file on its way to a model."""

    def __init__(self, path: Path, changes: Mapping[str, Any], outside: bool) -> None:
        self.path, self.outside = path, outside
        text = read_text(path)
        self.document = parse(path, text)
        self.lines = lines_of_keys(text)
        self.types = file_types()
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
            self.building.append(name)
            signal = self.value("same @signal", self.document[section][name], (section, name), same)
            self.building.pop()
            return signal
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
        if kind == "RigidBody" and ("density" in given or given.get("inertia") == "solid"):
            if given.pop("inertia", "solid") != "solid":
                self.fail((*path, "inertia"), "with density the inertia is that of the shape: leave one of them out")
            from elver.bodies import RigidBody

            return self.construct(kind, RigidBody.solid, arguments(RigidBody.solid), given, path, same)
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
        if words == "rates" and isinstance(item, dict):
            return {name: self.plain("1", rate, (*path, name), "1") for name, rate in item.items()}
        if words == "rates":
            return self.plain("text", item, path, "any")
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
            if isinstance(item, list) and (not words or not _only_numbers(item, self.where)):
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
        """Rows of numbers; a table of position, axis and angle; or several such, one after the other."""
        if isinstance(item, list) and item and all(isinstance(move, dict) for move in item):
            g = np.eye(4 if kind == "pose" else 3)
            for k, move in enumerate(item):
                g = g @ np.array(self.pose(move, (*path, str(k)), kind))
            return tuple(map(tuple, g.tolist()))
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
        if abs(angle) > 4.0 * math.pi and not isinstance(item["angle"], str):
            self.fail((*path, "angle"), f'{angle:g} rad is more than two turns: degrees? write "{angle:g} deg"')
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
        title = self.document.get("title", "")
        if not isinstance(title, str):
            self.fail(("title",), f"{_short(title)} is no text; write it in quotes")
        values = {"mechanism": mechanism, "actuators": tuple(actuators), "loads": tuple(loads), "title": title}
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
        if not isinstance(kind, str) or kind not in STUDIES:
            self.fail((*path, "kind"), f"kind = {_short(kind)} is no study; write kind = {_any_of(STUDIES)}")
        cls, kinds, same = STUDIES[kind], STUDY_FIELDS[kind], "any"
        if kind == "continuation" and raw.get("over") is not None:
            moved = list(raw["over"]) if isinstance(raw["over"], dict) else [raw["over"]]
            if not moved:
                self.fail((*path, "over"), "over names no input; write such as over = { left = 1.0, right = -1.0 }")
            for name in moved:
                self.known(system, name, (*path, "over"), f"over = {_short(name)}")
            same = self.unit(system, moved[0])
        begun = raw.get("state") if kind == "simulation" else None
        held = isinstance(begun, dict) and "equilibrium" in begun
        if held:
            del raw["state"]
        study: Study = self.construct(kind, cls, arguments(cls), raw, path, same, kinds)
        if held and isinstance(study, SimulationStudy):
            study = replace(study, state=self.held(system, begun, (*path, "state")))
        for key, item in raw.items():
            value = getattr(study, key)
            if kinds[key] in ("text", "rates", "text @state", "@method"):
                continue
            if value is None or isinstance(value, tuple):
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
            if not isinstance(study.state, (str, dict)):
                self.call("State", lambda state: system.check_state(state), {"state": study.state}, (*path, "state"))
            if study.start not in ("consistent", "given"):
                self.fail((*path, "start"), f'start = {study.start!r}: write "consistent" or "given"')
        return study

    def known(self, system: Any, name: Any, path: _Path, said: str) -> None:
        """Fail unless ``name`` is an input of the system."""
        if name not in system.channel_names:
            close = _meant(str(name), system.channel_names, "an input")
            self.fail(path, f"{said} is no input of this system; {close}")

    def held(self, system: Any, raw: Any, path: _Path) -> dict[str, Any]:
        """Inputs that hold a system before its run begins, by their names."""
        given = raw["equilibrium"]
        if len(raw) > 1 or not isinstance(given, dict):
            self.fail(path, f'{_short(raw)} is no state; write such as {{ equilibrium = {{ tendon = "5 N" }} }}')
        inputs = {}
        for name, item in given.items():
            where = (*path, "equilibrium", name)
            self.known(system, name, where, repr(name))
            inputs[name] = self.value("same @signal", item, where, self.unit(system, name))
            self.probe(system, name, inputs[name], where)
        return inputs

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
        return self.call(kind, method_types()[kind], values, path)


def _only_numbers(item: Any, names: Mapping[str, Any]) -> bool:
    """True for nested lists of quantities, without tables and names."""
    if isinstance(item, list):
        return all(_only_numbers(v, names) for v in item)
    return not isinstance(item, dict) and not (isinstance(item, str) and item in names)


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
