"""Likely slips of units, asked about with the value that was probably meant: millimetres, degrees, MPa, bar, g/cm³.

Each function looks at numbers that are allowed one by one, but together belong to no rod or material that exists, by
decades. Where nothing real could be meant the value is refused; else :class:`UnitWarning` asks, and is silenced by
``warnings.simplefilter("ignore", elver.UnitWarning)``, for models without dimensions or of another scale.
"""

from __future__ import annotations

import math

from elver.errors import BadInput, UnitWarning, warn

__all__ = [
    "ask", "ask_of_angle", "ask_of_area", "ask_of_density", "ask_of_fluid", "ask_of_gravity", "ask_of_material",
    "ask_of_pressure", "check_proportions", "without_dimensions",
]  # fmt: skip

# Speed of sound √(E/ρ) [m/s]: 1 in the softest gels, 2e4 in diamond and carbon; without dimensions it is about one.
_SLOWEST, _FASTEST = 0.3, 5e4
_LIGHTEST, _STIFF = 25.0, 1e4  # kg/m³, below which there are aerogels only, and Pa, above which numbers have units
_GRAMS = 0.5  # g/cm³ of the lightest woods and foams that anybody types so
_WATER = (0.99, 1.04)  # g/cm³, fresh and salt; gases are lighter or heavier
_LARGE = 0.01  # m³, from which on a body of density one may be a model without dimensions
_WIDE = 100.0  # chamber over the box around its section
_HIGHEST = 1e7  # Pa, a hundred bar, in chambers of rods
_IDLE, _WORKING = 1e-3, 3e-2  # what a pressure does to a rod, stretch or turn [rad]: nothing to be seen, something
_PLUMPEST, _THICKEST, _THINNEST = 3.0, 0.1, 2e4  # length over thickness: worth a word, refused, worth a word
_STRONGEST = 500.0  # m/s², fifty times the earth's


def ask(message: str) -> None:
    """Warn of what is probably a slip."""
    warn(message, UnitWarning)


def ask_of_material(young: float, density: float) -> None:
    """E [Pa] and ρ [kg/m³] that no material has together."""
    speed, given = math.sqrt(young / density), f"young = {young:g} Pa with density = {density:g} kg/m3"
    # A density of one is a unit in models without any; their E follows from EI = 1, and is no number that one types.
    is_typed = density != 1.0 or young == float(f"{young:.3g}")
    if young >= _STIFF and _GRAMS <= density < _LIGHTEST and is_typed:
        ask(f"{given}, lighter than anything of that stiffness: g/cm3? write density={1e3 * density:g}")
    elif speed < _SLOWEST:
        ask(f"{given}, softer than any gel: MPa? write young={young:g}e6")
    elif speed > _FASTEST and density >= _LIGHTEST:
        ask(f"{given}, stiffer for its weight than diamond: check both")


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
            "length is no slender body, and sections do not stay plane"
        )
    elif slenderness > _THINNEST:
        ask(
            f"rod {name!r}: length = {length:g} m with {what} = {value:g} m, {slenderness:.2g} times as long as thick: "
            f"millimetres? write length={1e-3 * length:g}"
        )


def ask_of_angle(name: str, value: float) -> None:
    """An angle [rad] of more than two turns."""
    if abs(value) > 4.0 * math.pi and math.isfinite(value):
        ask(f"{name} = {value:g} rad is more than two turns: degrees? write {math.radians(value):.6g}")


def ask_of_gravity(size: float) -> None:
    """An acceleration [m/s²] that nothing on earth has."""
    if size > _STRONGEST:
        ask(f"gravity of {size:g} m/s2: mm/s2? write {1e-3 * size:g}")


def ask_of_density(name: str, density: float, volume: float) -> None:
    """ρ [kg/m³] of a solid of ``volume`` [m³] that is lighter than any foam."""
    if _GRAMS <= density < _LIGHTEST and (density != 1.0 or volume < _LARGE):
        ask(f"density of {name!r} = {density:g} kg/m3, lighter than any foam: g/cm3? write density={1e3 * density:g}")


def ask_of_fluid(label: str, density: float) -> None:
    """ρ [kg/m³] of a fluid with the digits of water."""
    if _WATER[0] <= density <= _WATER[1]:
        ask(f"{label}: density = {density:g} kg/m3, that of a gas: water in g/cm3? write {1e3 * density:g}")


def ask_of_area(label: str, area: float, box: float) -> None:
    """Area [m²] of a chamber, and of the ``box`` [m²] around the section that it runs along."""
    if area > _WIDE * box:
        unit, factor = ("cm2", 1e-4) if 1e-4 * area <= box else ("mm2", 1e-6)
        ask(f"{label}: area = {area:g} m2 on a section within {box:.3g} m2: {unit}? write {factor * area:g}")


def ask_of_pressure(label: str, pressure: float, effect: float) -> None:
    """A constant pressure [Pa]; ``effect`` is how far it stretches (1) or turns (rad) its rod, the larger of both."""
    for unit, factor in (("kPa", 1e3), ("bar", 1e5)):
        if effect < _IDLE and factor * effect >= _WORKING and factor * abs(pressure) <= _HIGHEST:
            ask(
                f"{label} = {pressure:g} Pa, which stretches or bends its rod by {effect:.1g} only: {unit}? "
                f"write {factor * pressure:g}"
            )
            return
