"""Exceptions, warnings and the small validators that guard the border of the library.

Everything a user hands in passes through :func:`positive`, :func:`finite` or :func:`expect` once, so that a message
always names the quantity, the value with its unit or its kind, and the remedy. Inside the library values are trusted.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from elver.words import describe

__all__ = [
    "BadInput", "CannotWrite", "ElverWarning", "Interrupted", "NotConverged", "UnitWarning", "as_path", "describe",
    "expect", "finite", "non_negative", "positive", "refused", "shape_of", "warn",
]  # fmt: skip

_Value = TypeVar("_Value")


class BadInput(ValueError):
    """A value that no model can be built from; the message names it and says what to do."""


class ElverWarning(UserWarning):
    """Something allowed but unusual, such as a tendon outside the section."""


class UnitWarning(ElverWarning):
    """Numbers that belong to no rod or material, by decades: probably millimetres, degrees, MPa or g/cm³."""


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


def warn(message: str, category: type[Warning] = ElverWarning) -> None:
    """Warn at the line outside of the library that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "elver":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


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
        raise BadInput(f"{name} = {describe(value)}: expected numbers in {unit} of shape {shape}") from None
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape, strict=True)):
        raise BadInput(f"{name} has shape {array.shape}: expected {shape} in {unit}")
    if not np.all(np.isfinite(array)):
        bad = array[~np.isfinite(array)].flat[0]
        raise BadInput(f"{name} contains {bad} ({unit}): every entry must be a finite number")
    return array


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Shape of numbers given as nested sequences or an array; None for what is no such thing."""
    try:
        return np.shape(value)
    except (TypeError, ValueError):
        return None


def _scalar(name: str, value: Any, unit: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} = {describe(value)}: expected a number" + (f" in {unit}" if unit else "")) from None
    if not np.isfinite(number):
        raise BadInput(f"{name} = {number} {unit}".rstrip() + ": must be a finite number")
    return number


# What was given, and what is wanted -------------------------------------------------------------------------


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
