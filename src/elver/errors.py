"""Exceptions, warnings and the small validators that guard the border of the library.

Everything a user hands in passes through :func:`positive` or :func:`finite` once, so that a message always
names the quantity, the value with its unit, and the remedy. Inside the library values are trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["BadInput", "ElverWarning", "Interrupted", "NotConverged", "finite", "non_negative", "positive"]


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
        raise BadInput(f"{name} = {value!r}: expected numbers in {unit} of shape {shape}") from None
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
        raise BadInput(f"{name} = {value!r}: expected a number" + (f" in {unit}" if unit else "")) from None
    if not np.isfinite(number):
        raise BadInput(f"{name} = {number} {unit}".rstrip() + ": must be a finite number")
    return number
