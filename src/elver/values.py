"""Values that travel: copies and pickles of a frozen value carry its fields, never what was computed from them.

Many values keep something beside their fields: a grid, a tree, compiled arrays with the addresses of their memory. In
another process, or in a copy, that would be stale at best and an address of somebody else's memory at worst.
Identity inside one pickle or one deepcopy is kept: a tendon that is sent along with its system is still the system's.
"""

from __future__ import annotations

import functools
import pickle
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any, Self

__all__ = ["Carried", "of_kind"]


def of_kind(kind: str) -> dict[str, str]:
    """Metadata of a field: what a model file may give for it, a text of words.

        m, Pa, "rad|m"    a quantity in these units (SI when a bare number), or a list of such
        any               numbers in SI units
        same              numbers in the unit of what the value is for, such as the input of a tendon
        int, bool, text   as said
        @group            another value: its name in the file, or a table with a type of that group
        frame, pose, rotation, guides   places and directions, see the page "Model files"
        rates             the name of an input, or a table of names with the rate of each

    Files, their schema and the words of reports follow; a field without stands in no file.

    >>> radius: float = field(metadata=of_kind("m"))
    """
    return {"kind": kind}


class Carried:
    """A dataclass whose copies and pickles have its fields only; all else is computed anew where it is needed."""

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(_fields(self))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = memo[id(self)] = object.__new__(type(self))
        other.__dict__.update(deepcopy(_fields(self), memo))
        return other

    def __getstate__(self) -> dict[str, Any]:
        for place, function in _functions(self, "", set()):
            if not _can_be_found(function) and not _sends_code():
                raise pickle.PicklingError(
                    f"{place} is the function {function.__qualname__}, which another process cannot find by its name: "
                    "define it with def at the top of a module, put a value such as Taper, sine or Table in its "
                    "place, or send it with cloudpickle"
                )
        return _fields(self)


def _fields(value: Any) -> dict[str, Any]:
    own = vars(value)
    return {field.name: own[field.name] for field in fields(value) if field.name in own}


def _functions(value: Any, place: str, seen: set[int]) -> Iterator[tuple[str, FunctionType]]:
    """Python functions in the fields of ``value`` and of the values in them, each with the place where it stands."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, FunctionType) or isinstance(getattr(value, "__wrapped__", None), FunctionType):
        yield place, value
    elif isinstance(value, functools.partial):
        yield from _functions(value.func, place, seen)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _functions(item, place, seen)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _functions(item, place, seen)
    elif is_dataclass(value) and not isinstance(value, type):
        name = getattr(value, "name", None)
        who = f"{type(value).__name__.lower()} {name!r}" if name else (place or type(value).__name__)
        for key, item in _fields(value).items():
            yield from _functions(item, f"{who}: {key}", seen)


def _can_be_found(function: FunctionType) -> bool:
    """True for what a pickle can name: a function of a module or of a class in it."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _sends_code() -> bool:
    """True when the pickler at work writes code into the pickle, as cloudpickle (also joblib's, dask's) and dill do."""
    frame = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if "cloudpickle" in module or module.split(".")[0] == "dill":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
