"""Quantities in texts, such as "12 mm" or "9.81 m/s^2", to SI numbers, with a check of their dimension.

Factors are decimal numbers, so that "12 mm" is the same float as 12e-3 written in Python. An angle counts as a
dimension of its own: "30 deg" does not fit a length, nor a factor.
"""

from __future__ import annotations

import functools
import math
import re
from decimal import Decimal, localcontext

from elver.errors import BadInput

__all__ = ["Dimension", "dimension", "quantity"]

Dimension = tuple[int, int, int, int]
"""Powers of m, kg, s, rad."""

_PI = Decimal("3.14159265358979323846264338327950288")
_NONE: Dimension = (0, 0, 0, 0)
_PREFIXES = {"": 0, "n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9}
_WITH_PREFIX: dict[str, tuple[str, Dimension]] = {
    "m": ("1", (1, 0, 0, 0)),
    "g": ("0.001", (0, 1, 0, 0)),
    "s": ("1", (0, 0, 1, 0)),
    "N": ("1", (1, 1, -2, 0)),
    "Pa": ("1", (-1, 1, -2, 0)),
    "J": ("1", (2, 1, -2, 0)),
    "W": ("1", (2, 1, -3, 0)),
    "Hz": ("1", (0, 0, -1, 0)),
    "rad": ("1", (0, 0, 0, 1)),
    "bar": ("100000", (-1, 1, -2, 0)),
}
_ALONE: dict[str, tuple[Decimal, Dimension]] = {
    "1": (Decimal(1), _NONE),
    "%": (Decimal("0.01"), _NONE),
    "deg": (_PI / 180, (0, 0, 0, 1)),
    "°": (_PI / 180, (0, 0, 0, 1)),
    "rev": (2 * _PI, (0, 0, 0, 1)),
    "rpm": (2 * _PI / 60, (0, 0, -1, 1)),
    "min": (Decimal(60), (0, 0, 1, 0)),
    "h": (Decimal(3600), (0, 0, 1, 0)),
    "t": (Decimal(1000), (0, 1, 0, 0)),
}
UNITS: dict[str, tuple[Decimal, Dimension]] = {
    f"{prefix}{name}": (Decimal(scale).scaleb(power), powers)
    for name, (scale, powers) in _WITH_PREFIX.items()
    for prefix, power in _PREFIXES.items()
} | _ALONE
_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*", re.S)
_FACTOR = re.compile(r"\s*([/*·]?)\s*([A-Za-zµμ°%]+|1)(?:\^?([+-]?\d))?")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


@functools.lru_cache(maxsize=512)
def _unit(text: str) -> tuple[Decimal, Dimension]:
    """Factor to SI and dimension of a unit, such as "N m/rad"."""
    scale, powers, position = Decimal(1), list(_NONE), 0
    plain = text.translate(_SUPERSCRIPTS).strip()
    while position < len(plain):
        found = _FACTOR.match(plain, position)
        if found is None or found[2] not in UNITS:
            wrong = found[2] if found else plain[position:]
            raise BadInput(
                f"{wrong!r} is no unit known here; write such as mm, g, s, N, kPa, GPa, Hz, deg, N m, m/s^2, kg/m^3"
            )
        power = int(found[3] or 1) * (-1 if found[1] == "/" else 1)
        factor, own = UNITS[found[2]]
        scale *= factor**power
        powers = [a + power * b for a, b in zip(powers, own)]
        position = found.end()
    return scale, (powers[0], powers[1], powers[2], powers[3])


def dimension(unit: str) -> Dimension:
    """Powers of m, kg, s, rad of a unit."""
    return _unit(unit)[1]


def quantity(text: str, allowed: str) -> float:
    """SI value of a quantity such as "12 mm"; ``allowed`` lists units of the dimensions that fit: "rad|m"."""
    found = _NUMBER.fullmatch(text) if len(text) < 200 else None
    if found is None:
        raise BadInput(f"{text[:60]!r} is no quantity: write a number and its unit, such as {_example(allowed)}")
    with localcontext() as context:
        context.prec = 34
        try:
            scale, powers = _unit(found[2])
            value = float(Decimal(found[1].replace("_", "")) * scale)
        except ArithmeticError:
            raise BadInput(f"{text[:60]!r} is beyond all numbers: write such as {_example(allowed)}") from None
    if not math.isfinite(value):
        raise BadInput(f"{text[:60]!r} is beyond all numbers: write such as {_example(allowed)}")
    if not found[2] and allowed != "any":
        powers = dimension(allowed.split("|")[0])  # a bare number in quotes is in SI units, as without them
    if allowed != "any" and powers not in {dimension(unit) for unit in allowed.split("|")}:
        raise BadInput(f"the unit of {text!r} does not fit: expected {_wanted(allowed)}, such as {_example(allowed)}")
    return value


def _wanted(allowed: str) -> str:
    named = ["a number without unit" if unit == "1" else unit for unit in allowed.split("|")]
    return " or ".join(named)


def _example(allowed: str) -> str:
    first = allowed.split("|")[0]
    nice = {"m": "12 mm", "Pa": "2 MPa", "rad": "30 deg", "s": "10 ms", "kg": "20 g", "1": "0.5", "any": "5 N"}
    return repr(nice.get(first, f"1.5 {first}"))
