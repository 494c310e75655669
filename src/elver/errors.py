"""Exceptions, warnings and the small validators that guard the border of the library.

Everything a user hands in passes through :func:`positive`, :func:`finite` or :func:`expect` once, so that a message
always names the quantity, the value with its unit or its kind, and the remedy. Inside the library values are trusted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "BadInput", "CannotWrite", "ElverWarning", "Interrupted", "NotConverged", "as_path", "describe", "expect", "finite",
    "non_negative", "positive", "refused",
]  # fmt: skip

_Value = TypeVar("_Value")


class BadInput(ValueError):
    """A value that no model can be built from; the message names it and says what to do."""


class ElverWarning(UserWarning):
    """Something allowed but unusual, such as a tendon outside the section."""


class NotConverged(RuntimeError):
    """A solver stopped short of its tolerance.

    ``history`` holds the residual of every iteration, ``result`` all that was computed before the failure
    (a state, an equilibrium at a lighter load, or the run so far), so that nothing is lost.
    """

    def __init__(self, message: str, *, history: Sequence[float] = (), result: Any = None) -> None:
        super().__init__(message)
        self.history = tuple(history)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a long computation; ``result`` holds what was computed until then."""

    def __init__(self, message: str, *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class CannotWrite(OSError):
    """A file could not be written: a full disk, a quota, a limit; ``result`` holds what was computed until then."""

    result: Any = None


def positive(name: str, value: Any, unit: str) -> float:
    """``value`` as a float if it is finite and > 0, else :class:`BadInput`."""
    number = _scalar(name, value, unit)
    if number <= 0.0:
        raise BadInput(f"{name} = {number:g} {unit}".rstrip() + ": must be greater than zero")
    return number


def non_negative(name: str, value: Any, unit: str) -> float:
    """``value`` as a float if it is finite and >= 0, else :class:`BadInput`."""
    number = _scalar(name, value, unit)
    if number < 0.0:
        raise BadInput(f"{name} = {number:g} {unit}".rstrip() + ": must not be negative")
    return number


def finite(name: str, value: Any, shape: tuple[int, ...], unit: str) -> np.ndarray:
    """``value`` as a float array of ``shape`` (-1 for any length) with finite entries, else :class:`BadInput`."""
    if not shape and isinstance(value, float) and math.isfinite(value):
        return np.asarray(value)  # the usual case, many times in a run
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise BadInput(f"{name} is {describe(value)}: expected numbers in {unit} of shape {shape}") from None
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape, strict=True)):
        raise BadInput(f"{name} has shape {array.shape}: expected {shape} in {unit}")
    if not np.all(np.isfinite(array)):
        bad = array[~np.isfinite(array)].flat[0]
        raise BadInput(f"{name} contains {bad} ({unit}): every entry must be a finite number")
    return array


def _scalar(name: str, value: Any, unit: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} = {describe(value)}: expected a number" + (f" in {unit}" if unit else "")) from None
    if not np.isfinite(number):
        raise BadInput(f"{name} = {number} {unit}".rstrip() + ": must be a finite number")
    return number


# What was given, and what is wanted -------------------------------------------------------------------------


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


def refused(where: str, name: str, value: Any, wanted: str, example: str) -> BadInput:
    """The error for a value of the wrong kind: what was given, what is wanted, and how that is written."""
    return BadInput(f"{where}: {name} is {describe(value)}; give {wanted}, such as {example}")


def expect(
    where: str, name: str, value: _Value, kinds: type | tuple[type, ...], *, wanted: str, example: str
) -> _Value:
    """``value`` if it is one of ``kinds``, else :class:`BadInput` by :func:`refused`.

    >>> expect("equilibrium", "system", rod, System, wanted="a System", example="System(Mechanism.clamped(rod))")
    BadInput: equilibrium: system is the Rod 'arm'; give a System, such as System(Mechanism.clamped(rod))
    """
    if isinstance(value, type) or not isinstance(value, kinds):
        raise refused(where, name, value, wanted, example)
    return value


def as_path(where: str, path: Any, example: str) -> Path:
    """``path`` as a Path if it is a text or a path, else :class:`BadInput`."""
    return Path(expect(where, "path", path, (str, os.PathLike), wanted="the name of a file", example=f'"{example}"'))
