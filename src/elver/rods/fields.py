"""Fields along a rod: the border where numbers, tapers and callables of s become checked arrays.

A quantity that may vary along the rod is a number, a :class:`Taper`, a :class:`Stepped` field, or any callable that
maps an array of arc lengths ``s`` [m] to an array. Whatever a callable returns is checked for shape and for finite
values each time it is evaluated, and the message names the position where it went wrong. A field whose description
says where it jumps has ``breaks``, those arc lengths [m]; :func:`breaks_of` asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, finite, non_negative, positive, shape_of
from elver.values import of_kind
from elver.words import describe

__all__ = [
    "Array",
    "Dimension",
    "Field",
    "Station",
    "Stepped",
    "Taper",
    "arc_lengths",
    "breaks_of",
    "check_dimension",
    "check_field",
    "check_interval",
    "check_name",
    "dimension",
    "interior",
    "is_plain",
    "numbers",
    "sample",
    "station",
]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Taper:
    """A dimension that varies linearly from ``base`` (s = 0) to ``tip`` (s = L), in its own unit."""

    base: float = field(metadata=of_kind("same"))
    tip: float = field(metadata=of_kind("same"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", positive("taper base", self.base, "(unit of the dimension)"))
        object.__setattr__(self, "tip", positive("taper tip", self.tip, "(unit of the dimension)"))

    def __call__(self, s: ArrayLike, length: float) -> Array:
        """Value at ``s`` [m] of a rod of ``length`` [m]."""
        return self.base + (self.tip - self.base) * np.asarray(s, dtype=float) / length


@dataclass(frozen=True)
class Stepped:
    """A field with jumps: ``values[k]`` on the k-th piece of the rod, cut at the arc lengths ``at`` [m].

    A value is a number (a radius), three or six numbers (a rest curvature or strain, a torque), a :class:`Taper` over
    its piece, or a vectorised callable of s [m]. At a jump the value is that of the piece which begins there.

    >>> Circle(radius=Stepped((8e-3, 5e-3), at=(0.2,)))
    """

    values: tuple[Any, ...] = field(metadata=of_kind("same @function"))
    at: tuple[float, ...] = field(metadata=of_kind("m"))

    def __post_init__(self) -> None:
        at = np.atleast_1d(finite("Stepped: at", self.at, (-1,) if shape_of(self.at) else (), "m"))
        if not at.size or at[0] <= 0.0 or np.any(np.diff(at) <= 0.0):
            raise BadInput(f"Stepped: at = {at.tolist()} m: give arc lengths > 0 m that increase strictly")
        given = tuple(self.values) if shape_of(self.values) else (self.values,)
        if len(given) != at.size + 1:
            raise BadInput(
                f"Stepped: {len(given)} values for {at.size} jumps: give {at.size + 1}, one for each piece of the rod, "
                f"not {describe(self.values)}"
            )
        values = tuple(value if callable(value) else _constant(value) for value in given)
        widths = {np.shape(value) for value in values if not callable(value)}
        if len(widths) > 1:
            raise BadInput(f"Stepped: values {given} are of different sizes: give all as numbers, or all as triples")
        object.__setattr__(self, "at", tuple(at.tolist()))
        object.__setattr__(self, "values", values)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Arc lengths [m] of its jumps, and of those inside its pieces."""
        return tuple(sorted({*self.at, *(s for value in self.values for s in breaks_of(value))}))

    @property
    def plain(self) -> bool:
        """True if a piece is a function of one's own, of which nothing is known."""
        return any(is_plain(value) for value in self.values)

    def __call__(self, s: ArrayLike, length: float | None = None) -> Array:
        """Values at ``s`` [m], (len(s),) or (len(s), width), on a rod of ``length`` [m] (for a taper at the tip)."""
        s = arc_lengths(s)
        piece = np.searchsorted(self.at, s, side="right")
        ends = (0.0, *self.at, length)
        parts = []
        for k, value in enumerate(self.values):
            a, b, here = ends[k], ends[k + 1], s[piece == k]
            if isinstance(value, Taper):
                if b is None:
                    raise BadInput("Stepped: a Taper up to the tip is for dimensions of a section; give numbers here")
                assert a is not None  # only the last end can be left out
                parts.append(value(here - a, b - a))
            else:
                parts.append(np.asarray(value(here) if callable(value) else np.array([value] * here.size), dtype=float))
        shape = next((part.shape[1:] for part in parts if part.size), ())
        out = np.empty((s.size, *shape))
        for k, part in enumerate(parts):
            if part.size:
                out[piece == k] = part
        return out


def _constant(value: Any) -> float | tuple[float, ...]:
    if np.ndim(value) == 0:
        return float(finite("Stepped: value", value, (), "(unit of the field)"))
    return tuple(float(x) for x in finite("Stepped: value", value, (-1,), "(unit of the field)"))


def breaks_of(value: Any) -> tuple[float, ...]:
    """Arc lengths [m] where the description of a field says that it jumps; none for numbers and plain functions."""
    found = getattr(value, "breaks", ())
    return () if callable(found) else tuple(float(s) for s in found)


def interior(positions: Iterable[float], length: float) -> tuple[float, ...]:
    """Those positions [m] that lie inside a rod of ``length`` [m], each once, increasing."""
    return tuple(sorted({float(s) for s in positions if 0.0 < s < length}))


def is_plain(value: Any) -> bool:
    """True for a function of which only its values are known, which may jump anywhere."""
    return callable(value) and not isinstance(value, Taper) and (not isinstance(value, Stepped) or value.plain)


Dimension: TypeAlias = float | Taper | Stepped | Callable[[Array], ArrayLike]
Field: TypeAlias = tuple[float, ...] | Callable[[Array], ArrayLike]
Station: TypeAlias = float | Literal["base", "tip"]


def arc_lengths(s: ArrayLike) -> Array:
    """``s`` as a one-dimensional float array; a single number becomes an array of length one."""
    return np.atleast_1d(np.asarray(s, dtype=float))


def sample(name: str, function: Callable[[Array], Any], s: Array, width: int | None, unit: str) -> Array:
    """What a user's callable returns at ``s``, as (len(s),) or, given ``width``, (len(s), width), checked."""
    shape = (s.size,) if width is None else (s.size, width)
    returned = function(s)
    try:
        values = np.asarray(returned, dtype=float)
    except (TypeError, ValueError):
        raise BadInput(f"{name}: the callable returned {describe(returned)}; return numbers in {unit}") from None
    # A constant is a fair answer for every s; anything else must say one value per position.
    if values.shape == shape[1:]:
        values = np.broadcast_to(values, shape)
    if values.shape != shape:
        raise BadInput(
            f"{name}: the callable returned shape {values.shape} for {s.size} positions s; "
            f"return an array of shape {shape} in {unit}"
        )
    bad = ~np.isfinite(values.reshape(s.size, -1)).all(axis=1)
    if bad.any():
        where = int(np.argmax(bad))
        raise BadInput(
            f"{name}: the callable returned {values[where]} {unit} at s = {s[where]:g} m; "
            "make it finite everywhere on [0, length]"
        )
    return np.array(values)


def check_dimension(name: str, value: Dimension, unit: str) -> Dimension:
    """``value`` as given, a number as a positive float; a callable is checked when evaluated."""
    if isinstance(value, Taper) or callable(value):
        return value
    return positive(name, value, unit)


def dimension(name: str, value: Dimension, s: Array, length: float, unit: str) -> Array:
    """A dimension at ``s``: (len(s),), positive everywhere."""
    if isinstance(value, Taper):
        return value(s, length)
    if not callable(value):
        return np.full(s.shape, value)
    function = partial(value, length=length) if isinstance(value, Stepped) else value
    values = sample(name, function, s, None, unit)
    if np.any(values <= 0.0):
        where = int(np.argmax(values <= 0.0))
        raise BadInput(
            f"{name} = {values[where]:g} {unit} at s = {s[where]:g} m: must be greater than zero; "
            "let the callable stay positive on [0, length]"
        )
    return values


def check_field(name: str, value: Any, width: int, unit: str) -> Field:
    """A vector along the rod as given: a callable, or ``width`` finite numbers as a tuple."""
    if callable(value) and not isinstance(value, type):
        field: Callable[[Array], ArrayLike] = value
        return field
    return numbers(name, value, width, unit)


def numbers(name: str, value: Any, width: int, unit: str) -> tuple[float, ...]:
    """``value`` as a tuple of ``width`` finite floats."""
    return tuple(float(x) for x in finite(name, value, (width,), unit))


def station(name: str, at: Any, length: float) -> float:
    """Arc length of a position on the rod: ``"base"``, ``"tip"`` or s [m] within [0, length]."""
    if isinstance(at, str):
        if at not in ("base", "tip"):
            raise BadInput(f'{name}: at = {describe(at)}; say "base", "tip" or a number s in m')
        return 0.0 if at == "base" else length
    s = float(finite(f"{name}: at", at, (), "m"))
    if not 0.0 <= s <= length:
        raise BadInput(f"{name}: at = {s:g} m lies outside the rod; choose s within [0, {length:g}] m")
    return s


def check_interval(name: str, start: Any, end: Any, length: float) -> tuple[float, float]:
    """A stretch [start, end] of the rod in m; ``end`` None means the tip."""
    first = non_negative(f"{name}: start", start, "m")
    last = length if end is None else positive(f"{name}: end", end, "m")
    if last > length:
        raise BadInput(f"{name}: end = {last:g} m lies beyond the rod; choose end <= {length:g} m")
    if first >= last:
        raise BadInput(f"{name}: start = {first:g} m is not before end = {last:g} m; choose start < end")
    return first, last


def check_name(kind: str, name: Any, reserved: Iterable[str] = ()) -> str:
    """A name usable in result paths such as ``arm/tip/position``."""
    if not isinstance(name, str) or not name.strip() or "/" in name or name in set(reserved):
        raise BadInput(f'{kind} name = {name!r}: give a non-empty text without "/"')
    return name
