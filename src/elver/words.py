"""Values in a few words: for messages, which never print what is nested inside a part, and for a prompt.

``describe(value)`` is a phrase for the middle of a sentence; ``@brief`` gives a dataclass a ``repr`` of at most two
lines.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

__all__ = ["brief", "describe", "listed", "place", "shown"]

LONGEST = 200  # characters of a repr: two lines of a terminal
_Class = TypeVar("_Class", bound=type)


def describe(value: Any) -> str:
    """What a value is in a few words, for messages: short texts and numbers as they are, of all else kind and name.

    A message never shows the ``repr`` of a part: with its rods and arrays inside, that is pages long.
    """
    if value is None or isinstance(value, bool | int | float | complex | np.number):
        return str(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else f"{value[:57]}...")
    if isinstance(value, os.PathLike):
        return f"the path {os.fspath(value)}"
    if isinstance(value, type):
        return f"the class {value.__name__}, not a value made with it"
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if kind == "Dataset":
        return "a Dataset (a run)"
    if isinstance(value, Mapping):
        keys = [describe(key) for key in value]
        return f"a {kind} with {', '.join(keys[:3])}{', ...' if len(keys) > 3 else ''}" if keys else f"an empty {kind}"
    if isinstance(value, list | tuple | set | frozenset):
        return _group(value, kind)
    name = getattr(value, "name", None)
    if isinstance(name, str) and name:
        return f"the {kind} {name!r}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    return f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"


def _group(values: Any, kind: str) -> str:
    """A list or tuple: a few numbers and texts as they are, else what it is made of."""
    plain = all(value is None or isinstance(value, str | bool | int | float | np.number) for value in values)
    if plain and len(values) <= 6:
        inside = ", ".join(describe(value) for value in values)
        return f"[{inside}]" if kind == "list" else f"({inside})" if kind == "tuple" else f"a {kind} of {inside}"
    kinds = sorted({type(value).__name__ for value in values})
    return f"a {kind} of {len(values)} ({', '.join(kinds[:3])}{', ...' if len(kinds) > 3 else ''})"


def brief(cls: _Class) -> _Class:
    """A class decorator for dataclasses: ``Kind 'name': field=value, ...``, or ``Kind(field=value, ...)`` without name.

    What has its default is left out.

    Parts stand by kind and name, arrays by shape, long values by their kind; no more than two lines.
    """
    cls.__repr__ = _brief  # type: ignore[method-assign, assignment]
    return cls


def _brief(self: Any) -> str:
    name = getattr(self, "name", None)
    named = isinstance(name, str)
    fields = []
    for field in dataclasses.fields(self):
        value = getattr(self, field.name)
        if field.name == "name" or not field.repr or _is_default(field, value):
            continue
        fields.append(f"{field.name}={shown(value)}")
    text = ""
    for item in fields:
        longer = f"{text}, {item}" if text else item
        if len(longer) > LONGEST - 40:
            text = f"{text}, ..." if text else "..."
            break
        text = longer
    head = type(self).__name__
    if named:
        return f"{head} {name!r}" + (f": {text}" if text else "")
    return f"{head}({text})"


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    """True where a field has its default value, as far as that can be told by comparing."""
    if field.default is dataclasses.MISSING:
        return False
    if value is field.default:
        return True
    if not isinstance(value, str | int | float | tuple) or type(value) is not type(field.default):
        return False
    return repr(value) == repr(field.default) if isinstance(value, tuple) else bool(value == field.default)


def shown(value: Any) -> str:
    """A value inside the ``repr`` of another: short ones as they are, parts by kind and name, the rest by kind."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        flat = ", ".join(f"{x:.4g}" for x in value.ravel()) if value.ndim == 1 and value.dtype.kind == "f" else ""
        return f"[{flat}]" if 0 < value.size <= 6 and flat else f"array {value.shape}"
    if isinstance(value, tuple | list):
        inside = [shown(item) for item in value[:7]]
        text = f"({', '.join(inside)})"
        return text if len(value) <= 6 and len(text) <= 80 else f"{len(value)} {_kind(value)}s"
    if isinstance(value, Mapping):
        text = f"{{{', '.join(f'{shown(key)}: {shown(item)}' for key, item in list(value.items())[:4])}}}"
        return text if len(value) <= 4 and len(text) <= 80 else f"{len(value)} entries"
    name = getattr(value, "name", None)
    if isinstance(name, str) and name and not isinstance(value, type):
        return f"{type(value).__name__} {name!r}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"the function {value.__name__}"
    text = repr(value)
    kind = type(value).__name__
    return text if len(text) <= 60 and "\n" not in text else f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"


def _kind(values: Any) -> str:
    kinds = {type(value).__name__ for value in values}
    if len(kinds) > 1:
        return "value"
    return {"ndarray": "array", "float": "number", "int": "number", "tuple": "row"}.get(*kinds, *kinds)


def place(position: Any) -> str:
    """A point in m, as (0.31, 0, -0.12)."""
    return "(" + ", ".join(f"{x:.3g}" if abs(x) >= 5e-5 else "0" for x in np.asarray(position, dtype=float)) + ") m"


def listed(values: Any, most: int = 6) -> str:
    """The first of some numbers, with four digits each."""
    numbers = np.asarray(values).ravel()
    return ", ".join(f"{x:.4g}" for x in numbers[:most]) + (", ..." if numbers.size > most else "")
