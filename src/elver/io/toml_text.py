"""The text of model files: read with limits and with the line of each key; written so that numbers survive.

Floats are written by ``repr``, the shortest text that reads back to the same bits.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elver.errors import BadInput
from elver.io.recognise import instead_of_model, like_named

__all__ = ["LARGEST_FILE", "lines_of_keys", "parse", "read_text", "value_text", "write_document"]

LARGEST_FILE = 4_000_000
_WIDTH = 120
_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_NAME = re.compile(r"[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'")
_DOTS = re.compile(r"(?:\.\s{0,9}[\w\"'-]{0,99}\s{0,9}){50}")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_text(path: Path, what: str = "model file", largest: int = LARGEST_FILE) -> str:
    """Text of a file of reasonable size, else :class:`BadInput`."""
    try:
        if path.is_dir():
            raise BadInput(f"{path}: is a folder; give the name of a {what} in it")
        size = path.stat().st_size
        if size > largest:
            raise BadInput(
                f"{path}: {size / 1e6:.0f} MB is too large for a {what} (at most {largest / 1e6:.0f} MB); "
                "is it the right file?"
            )
        if what == "model file" and (otherwise := instead_of_model(path)):
            raise BadInput(f"{path}: {otherwise}")
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except FileNotFoundError:
        close = like_named(path, ".toml") if what == "model file" else ""
        raise BadInput(
            f"{path}: no such file" + (close or "; 'elver new tendon-arm' writes a model file to start from")
        ) from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the name and its permissions") from None
    if len(data) > largest:
        raise BadInput(f"{path}: more than {largest / 1e6:.0f} MB; too large for a {what}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text; save the {what} as UTF-8"
        ) from None


def parse(path: Path, text: str) -> dict[str, Any]:
    """The tables of a TOML text."""
    if found := _DOTS.search(text):  # the parser's time grows with the square of the dots in a key
        line = text.count("\n", 0, found.start()) + 1
        shown = f"{found[0][:20]!r} and more dots in a row"
        raise BadInput(f"{path}, line {line}: not TOML of a model: {shown}; write tables as [rods.arm] instead")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        shown = ""
        if found:
            here = text.splitlines()[int(found[1]) - 1 : int(found[1])]
            shown = f": {here[0].strip()[:80]!r}" if here else ""
        remedy = "texts need quotes, and each key stands once"
        raise BadInput(f"{path}: not valid TOML ({error}){shown}; {remedy}") from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"{path}: not valid TOML ({reason}); write tables as [rods.arm] instead") from None


def lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """Line of each header and of each key that begins a line; texts over several lines are not looked into."""
    lines: dict[tuple[str, ...], int] = {}
    prefix: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            prefix = _names(header[1])
            lines.setdefault(prefix, number)
        elif key := _KEY.match(line):
            lines.setdefault((*prefix, *_names(key[1])), number)
    return lines


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip("\"'") for name in _NAME.findall(text))


# Writing ----------------------------------------------------------------------------------------------------


def write_document(document: Mapping[str, Any], comment: str = "") -> str:
    """TOML text of plain values: numbers and texts first, then a table for each mapping of mappings."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += [f"{_key(key)} = {value_text(v)}" for key, v in document.items() if not isinstance(v, Mapping)]
    for key, table in document.items():
        if not isinstance(table, Mapping) or not table:
            continue
        if key in ("mechanism", "inputs", "study"):
            lines += ["", f"[{_key(key)}]", *_pairs(table)]
        else:
            for name, entry in table.items():
                lines += ["", f"[{_key(key)}.{_key(name)}]", *_pairs(entry)]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_folded(value, len(key) + 3)}" for key, value in table.items()]


def _folded(value: Any, used: int) -> str:
    """A value on one line, or a long list with an item per line."""
    text = value_text(value)
    if isinstance(value, (list, tuple)) and len(text) + used > _WIDTH:
        return "[\n" + "".join(f"    {value_text(item)},\n" for item in value) + "]"
    return text


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else value_text(str(key))


def value_text(value: Any) -> str:
    """One TOML value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {value_text(v)}" for k, v in value.items()) + " }"
    raise BadInput(f"{value!r} cannot be written to a model file")
