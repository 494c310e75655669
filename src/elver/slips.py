"""Likely slips of units, asked about with the value that was probably meant: millimetres, degrees, MPa, g/cm³.

Each function looks at numbers that are allowed one by one, but together belong to no rod or material that exists, by
decades. Where nothing real could be meant the value is refused; else :class:`UnitWarning` asks, and is silenced by
``warnings.simplefilter("ignore", elver.UnitWarning)``, for models without dimensions or of another scale.
"""

from __future__ import annotations

import math
import warnings

from elver.errors import BadInput, UnitWarning

__all__ = ["ask", "ask_of_angle", "ask_of_gravity", "ask_of_material", "check_proportions", "without_dimensions"]

# Speed of sound √(E/ρ) [m/s]: 1 in the softest gels, 2e4 in diamond and carbon; without dimensions it is about one.
_SLOWEST, _FASTEST = 0.3, 5e4
_LIGHTEST, _STIFF = 25.0, 1e4  # kg/m³, below which there are aerogels only, and Pa, above which numbers have units
_GRAMS = 0.5  # g/cm³ of the lightest woods and foams that anybody types so
_PLUMPEST, _THICKEST, _THINNEST = 3.0, 0.1, 2e4  # length over thickness: worth a word, refused, worth a word
_STRONGEST = 500.0  # m/s², fifty times the earth's


def ask(message: str, stacklevel: int = 2) -> None:
    """Warn of what is probably a slip."""
    warnings.warn(message, UnitWarning, stacklevel=stacklevel + 2)


def ask_of_material(young: float, density: float) -> None:
    """E [Pa] and ρ [kg/m³] that no material has together."""
    speed, given = math.sqrt(young / density), f"young = {young:g} Pa with density = {density:g} kg/m3"
    if young >= _STIFF and _GRAMS <= density < _LIGHTEST and density != 1.0:  # one is a unit, in models without any
        ask(f"{given}, lighter than anything of that stiffness: g/cm3? write density={1e3 * density:g}", 3)
    elif speed < _SLOWEST:
        ask(f"{given}, softer than any gel: MPa? write young={young:g}e6", 3)
    elif speed > _FASTEST and density >= _LIGHTEST:
        ask(f"{given}, stiffer for its weight than diamond: check both", 3)


def without_dimensions(young: float, density: float) -> bool:
    """True where E and ρ are numbers near one, as in models without dimensions, whose lengths mean nothing either."""
    return young < _STIFF and density < _LIGHTEST


def check_proportions(name: str, length: float, half_widths: tuple[float, float], dimension: tuple[str, float]) -> None:
    """Length [m] of a rod over its thickness; ``dimension`` is the name and the value [m] of what makes it thick."""
    thin, wide = sorted(half_widths)
    slenderness = 0.5 * length / wide
    what, value = dimension
    if slenderness < _THICKEST:
        raise BadInput(
            f"rod {name!r}: {what} = {value:g} m on a rod of {length:g} m: millimetres? write {value:g}e-3"
        )
    if 0.5 * length / thin < _PLUMPEST or slenderness < 0.5:  # a ribbon may be as wide as long
        question = f": millimetres? write {value:g}e-3" if slenderness < 1.0 else ""
        ask(
            f"rod {name!r}: {what} = {value:g} m on a rod of {length:g} m{question}; a rod as thick as a third of its "
            "length is no slender body, and sections do not stay plane", 3,
        )  # fmt: skip
    elif slenderness > _THINNEST:
        ask(
            f"rod {name!r}: length = {length:g} m with {what} = {value:g} m, {slenderness:.2g} times as long as thick: "
            f"millimetres? write length={1e-3 * length:g}", 3,
        )  # fmt: skip


def ask_of_angle(name: str, value: float) -> None:
    """An angle [rad] of more than two turns."""
    if abs(value) > 4.0 * math.pi and math.isfinite(value):
        ask(f"{name} = {value:g} rad is more than two turns: degrees? write {math.radians(value):.6g}", 3)


def ask_of_gravity(size: float) -> None:
    """An acceleration [m/s²] that nothing on earth has."""
    if size > _STRONGEST:
        ask(f"gravity of {size:g} m/s2: mm/s2? write {1e-3 * size:g}", 3)
