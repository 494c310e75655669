"""The tables of a model file: keys with their lines, names, what is taken over from another table, numbers with units.

What is wrong is told with its place: file, line and key. Nothing here knows the parts of a robot; they are built of
these tables by toml_reader. A file names no file outside its own folder unless that is allowed.
"""

from __future__ import annotations

import csv
import difflib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from elver.errors import BadInput
from elver.io.model_fields import SECTIONS
from elver.io.toml_text import lines_of_keys, parse, read_text
from elver.io.toml_values import FORMAT
from elver.io.units import quantity
from elver.lie import so3

__all__ = ["Document", "KeyPath", "any_of", "example", "meant", "short"]

KeyPath: TypeAlias = tuple[str, ...]
_LARGEST_TABLE = 64_000_000
_TOP = ("elver", "title", "note", *SECTIONS, "gaits", "mechanism", "inputs", "study")
_FLAGS = ("free", "world", "text")


class Document:
    """A model file as tables of keys, and where each name stands in them."""

    def __init__(self, path: Path, changes: Mapping[str, Any], outside: bool) -> None:
        self.path, self.outside = path, outside
        text = read_text(path)
        self.tables = parse(path, text)
        self.lines = lines_of_keys(text)
        for key in self.tables:
            if key not in _TOP:
                self.fail((key,), f"unknown section {key!r}; {meant(key, _TOP)}")
        for key in (*SECTIONS, "gaits", "mechanism", "inputs", "study"):
            if not isinstance(self.tables.get(key, {}), dict):
                self.fail((key,), f"{self.tables[key]!r} is no table; write [{key}] or [{key}.NAME] above its keys")
        self.where: dict[str, str] = {}
        for section in SECTIONS:
            for name, table in self.tables.get(section, {}).items():
                if section not in ("actuators", "loads", "signals") and not isinstance(table, dict):
                    self.fail((section, name), f"{table!r} is no table; write [{section}.{name}] above its keys")
                if name in self.where:
                    self.fail((section, name), f"the name {name!r} is also in {self.where[name]}; give each its own")
                self.where[name] = section
        for key, value in changes.items():
            self.change(key, value)
        version = self.tables.get("elver", FORMAT)
        if version != FORMAT:
            self.fail(("elver",), f"elver = {version!r}: this version reads format {FORMAT}; write elver = {FORMAT}")

    def fail(self, path: KeyPath, message: str) -> NoReturn:
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
            close = meant(names[0], [*_TOP, *self.where])
            self.fail((), f"cannot set {key!r}: no section and no part is called {names[0]!r}; {close}")
        table: Any = self.tables
        for name in names[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                self.fail(names, f"cannot set {key!r}: {name!r} is a value, not a table")
        table[names[-1]] = value

    def expanded(self, raw: dict[str, Any], path: KeyPath, seen: tuple[str, ...] = ()) -> dict[str, Any]:
        """A table with what it takes over by ``like``; its own keys win."""
        if "like" not in raw:
            return raw
        other = raw["like"]
        if not isinstance(other, str) or other not in self.where:
            self.fail((*path, "like"), f"like = {other!r} is no entry of this file; {meant(str(other), self.where)}")
        if other in seen or path == (self.where[other], other):
            chain = " -> ".join((*seen, other))
            self.fail((*path, "like"), f"like goes in a circle ({chain}); let one of them stand on its own")
        section = self.where[other]
        begin = self.tables[section][other]
        if not isinstance(begin, dict):
            self.fail((*path, "like"), f"like = {other!r} is a value, not a table")
        begin = self.expanded(begin, (section, other), (*seen, other))
        own = {key: value for key, value in raw.items() if key != "like"}
        return _merged({key: value for key, value in begin.items() if key != "name"}, own)

    def plain(self, words: str, item: Any, path: KeyPath, same: str) -> Any:
        """Numbers, texts, switches."""
        if words == "bool":
            if isinstance(item, bool):
                return item
            self.fail(path, f"{short(item)} is neither true nor false")
        if words == "int":
            if isinstance(item, int) and not isinstance(item, bool):
                return item
            self.fail(path, f"{short(item)} is no whole number; write such as {path[-1]} = 4")
        if words == "text":
            if isinstance(item, str):
                return item
            if isinstance(item, list) and all(isinstance(v, str) for v in item):
                return tuple(item)
            self.fail(path, f'{short(item)} is no text; write it in quotes, such as "tip"')
        unit = " ".join(word for word in words.split(" ") if word not in _FLAGS)
        unit = same if unit == "same" else unit
        return self.numbers(unit, item, path, texts="text" in words, free="free" in words)

    def numbers(self, unit: str, item: Any, path: KeyPath, *, texts: bool = False, free: bool = False) -> Any:
        """A quantity, or nested lists of quantities, in SI units."""
        if isinstance(item, list):
            inner = [self.numbers(unit, v, (*path, str(k)), free=free) for k, v in enumerate(item)]
            return tuple(inner)
        if isinstance(item, bool) or not isinstance(item, (int, float, str)):
            self.fail(path, f"{short(item)} is no number; write such as {path[-1]} = {example(unit)}")
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
            self.fail(path, f"nan is no number to compute with; write such as {path[-1]} = {example(unit)}")
        if unit == "any":
            return item
        try:
            return float(item)
        except OverflowError:
            self.fail(path, f"{short(item)} is beyond all numbers; write such as {path[-1]} = {example(unit)}")

    def pose(self, item: Any, path: KeyPath, kind: str) -> Any:
        """Rows of numbers; a table of position, axis and angle; or several such, one after the other."""
        if isinstance(item, list) and item and all(isinstance(move, dict) for move in item):
            g = np.eye(4 if kind == "pose" else 3)
            for k, move in enumerate(item):
                g = g @ np.array(self.pose(move, (*path, str(k)), kind))
            return tuple(map(tuple, g.tolist()))
        if isinstance(item, list):
            return self.numbers("m|1" if kind == "pose" else "1", item, path)
        if not isinstance(item, dict):
            self.fail(path, f'{short(item)} is no {kind}; write {{ axis = "z", angle = "90 deg" }} or rows of numbers')
        keys = ("position", "axis", "angle") if kind == "pose" else ("axis", "angle")
        for key in item:
            if key not in keys:
                self.fail((*path, key), f"a {kind} has no key {key!r}; {meant(key, keys)}")
        axis = self.plain("text 1", item.get("axis", "z"), (*path, "axis"), "1")
        direction = np.eye(3)["xyz".index(axis)] if axis in ("x", "y", "z") else None
        if direction is None:
            if not _three_numbers(axis) or not any(axis):
                self.fail((*path, "axis"), f'{short(item["axis"])} is no axis; write "x", "y", "z" or three numbers')
            direction = np.array(axis, dtype=float) / np.linalg.norm(np.array(axis, dtype=float))
        angle = self.numbers("rad", item.get("angle", 0.0), (*path, "angle"))
        if not isinstance(angle, float) or not math.isfinite(angle):
            self.fail((*path, "angle"), f'{short(item["angle"])} is no angle; write such as "90 deg"')
        if abs(angle) > 4.0 * math.pi and not isinstance(item["angle"], str):
            self.fail((*path, "angle"), f'{angle:g} rad is more than two turns: degrees? write "{angle:g} deg"')
        R = so3.exp(angle * direction)
        if kind == "rotation":
            return tuple(map(tuple, R.tolist()))
        g = np.eye(4)
        g[:3, :3] = R
        position = self.numbers("m", item.get("position", [0.0, 0.0, 0.0]), (*path, "position"))
        if not _three_numbers(position):
            self.fail((*path, "position"), f"{short(item['position'])} is no position; write [x, y, z] in m")
        g[:3, 3] = position
        return tuple(map(tuple, g.tolist()))

    # Files beside the model

    def table(self, given: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        """Times and values from a CSV file: ``file``, and the ``column`` of the values (name or number, from 1)."""
        place = self.beside(given["file"], (*path, "file"))
        rows = list(csv.reader(read_text(place, "table", _LARGEST_TABLE).splitlines()))
        rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
        rows = [row for row in rows if not row[0].startswith("#")]
        header: list[str] = rows.pop(0) if rows and not _is_number(rows[0][0]) else []
        column: Any = given.get("column", 2)
        if isinstance(column, str):
            if column not in header:
                self.fail((*path, "column"), f"{place.name} has no column {column!r}; {meant(column, header)}")
            column = header.index(column) + 1
        if not isinstance(column, int) or column < 1:
            self.fail((*path, "column"), f"{short(column)} is no column; give its name, or its number from 1 on")
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

    def beside(self, name: Any, path: KeyPath) -> Path:
        """A file in the folder of the model, and nowhere else unless the flag allows it."""
        if not isinstance(name, str) or not name or "\0" in name:
            self.fail(path, f"{short(name)} is no file name; write it in quotes")
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


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def meant(word: str, known: Any, what: str = "one") -> str:
    names = [str(name) for name in known]
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"choose among {listed}" if names else f"the file has no such thing yet: add {what}"


def any_of(names: Any) -> str:
    return " or ".join(f'"{name}"' for name in names)


def example(kind: str) -> str:
    if kind.startswith("@"):
        return '"NAME" or { type = ... }'
    unit = kind.split(" @")[0].split("|")[0]
    given = {
        "m": '"12 mm"', "Pa": '"1 MPa"', "kg/m^3": "1000.0", "int": "4", "text": '"NAME"', "s": '"10 ms"',
        "frame": '["arm", "tip"]', "kg": '"20 g"', "rad": '"30 deg"', "1": "1.0", "any": "1.0", "same": "1.0",
        "": "1.0", "guides": '"arm"', "world": '"arm"', "bool": "true",
    }  # fmt: skip
    return given.get(unit, f'"1 {unit}"')


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _three_numbers(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 3 and all(isinstance(v, float) for v in value)
