"""Gaits: travelling waves of heading or curvature, as actuators and the signals that drive them.

    Q(s, t) = f(t) A exp(α s) sin(2π(s/λ - t/T))                        heading [rad], Khalil 2007, section on the gait
    K_d(s, t) = f(t) (a₀ + a₁ s + a₂ s² + …) sin(2π(s/λ - t/T))         curvature [1/m], Boyer 2023, test 4

f(t) brings the wave up from rest: the quintic smooth_step in Khalil, c2_ramp in Boyer. Both waves run towards larger s,
from head to tail, and both are two shapes in s with a signal in t each:

    sin(2π(s/λ - t/T)) = sin(2πs/λ) cos(2πt/T) - cos(2πs/λ) sin(2πt/T)

So whatever is linear in the wave, an angle between two headings or a coordinate of a rod, is one sine in time, with
exact rates. s, λ and the coefficients are in SI units: a source that takes X = s/L and K_X = L K has a wavelength of
L λ and aₖ L⁻ᵏ⁻¹ here; with L = 1 m, as in Boyer's test 4, the numbers stay as printed. Boyer bends about axis 2 there:
in planar systems of ours it is K_z.

Theory: docs/theory/actuation.md, eq. (wave).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from elver.actuation.imposed import Imposed
from elver.actuation.muscle import Muscle
from elver.actuation.signals import Sine, SmoothSignal, check_ramp, check_smooth
from elver.errors import BadInput, finite, positive, warn
from elver.mechanism import Joint
from elver.mechanism.coordinates import choose, owner, unit_of
from elver.rods import Rod
from elver.rods.fields import Array, arc_lengths
from elver.rods.rod import STRAIN_SYMBOLS
from elver.values import Carried, of_kind
from elver.words import brief, describe

__all__ = ["CurvatureWave", "TravellingWave", "WaveTarget", "joint_gait", "muscle_gait", "rod_gait"]

JointCoordinate: TypeAlias = Joint | tuple[Joint, str]

_CURVATURES = STRAIN_SYMBOLS[:3]
# Part of the wave that the functions of a rod may leave out before it is told.
_COARSE = 0.1


# Waves ------------------------------------------------------------------------------------------------------


class _Wave(Carried, ABC):
    """f(t) envelope(s) sin(2π(s/λ - t/T)): what both waves share."""

    wavelength: float
    period: float
    ramp: SmoothSignal | None

    def _check(self) -> None:
        for name, unit in (("wavelength", "m"), ("period", "s")):
            object.__setattr__(self, name, positive(f"wave: {name}", getattr(self, name), unit))
        object.__setattr__(self, "ramp", check_ramp("wave: ramp", self.ramp))

    @abstractmethod
    def envelope(self, s: ArrayLike) -> Array:
        """Amplitude at ``s`` [m]."""

    def shapes(self, s: ArrayLike) -> tuple[Array, Array]:
        """envelope(s) sin(2πs/λ) and envelope(s) cos(2πs/λ) at ``s`` [m]."""
        turns = 2.0 * np.pi * np.asarray(s, dtype=float) / self.wavelength
        envelope = self.envelope(s)
        return envelope * np.sin(turns), envelope * np.cos(turns)

    @cached_property
    def signals(self) -> tuple[Sine, Sine]:
        """f(t) cos(2πt/T) and -f(t) sin(2πt/T): the factors in time of the two :meth:`shapes`."""
        return self.sine(1.0, 0.0), self.sine(0.0, 1.0)

    def sine(self, of_sine: float, of_cosine: float, mean: float | SmoothSignal = 0.0) -> Sine:
        """The signal of what holds the two :meth:`shapes` with these factors, about ``mean``.

        a cos(ωt) - b sin(ωt) = √(a² + b²) sin(ωt + φ),  tan φ = a / -b,  ω = 2π/T
        """
        size, phase = math.hypot(of_sine, of_cosine), math.atan2(of_sine, -of_cosine)
        return Sine(mean, size, 1.0 / self.period, phase, self.ramp)

    def at(self, s: ArrayLike, t: float) -> tuple[Array, Array, Array]:
        """The wave and its first and second rate at ``s`` [m], of any shape, and ``t`` [s]."""
        sine, cosine = self.shapes(s)
        with_sine, with_cosine = (signal.rates(t) for signal in self.signals)
        value, first, second = (a * sine + b * cosine for a, b in zip(with_sine, with_cosine, strict=True))
        return value, first, second


@brief
@dataclass(frozen=True)
class TravellingWave(_Wave):
    """Heading Q(s, t) = f(t) A exp(α s) sin(2π(s/λ - t/T)) of a swimming body (Khalil 2007).

    ``amplitude`` A [rad] at s = 0, ``growth`` α [1/m], ``wavelength`` λ [m], ``period`` T [s]; ``ramp`` is f, such as
    smooth_step(0, 2), or None for 1.
    """

    amplitude: float = field(metadata=of_kind("rad"))
    growth: float = field(metadata=of_kind("1/m"))
    wavelength: float = field(metadata=of_kind("m"))
    period: float = field(metadata=of_kind("s"))
    ramp: SmoothSignal | None = field(default=None, metadata=of_kind("@signal"))

    def __post_init__(self) -> None:
        for name, unit in (("amplitude", "rad"), ("growth", "1/m")):
            object.__setattr__(self, name, float(finite(f"wave: {name}", getattr(self, name), (), unit)))
        self._check()

    def envelope(self, s: ArrayLike) -> Array:
        """A exp(α s) [rad] at ``s`` [m]."""
        return self.amplitude * np.exp(self.growth * np.asarray(s, dtype=float))


@brief
@dataclass(frozen=True)
class CurvatureWave(_Wave):
    """Curvature K_d(s, t) = f(t) (a₀ + a₁ s + a₂ s² + …) sin(2π(s/λ - t/T)) of a swimming rod (Boyer 2023, test 4).

    ``coefficients`` (a₀ [1/m], a₁ [1/m²], a₂ [1/m³] …) for s in m, ``wavelength`` λ [m], ``period`` T [s]; ``ramp`` is
    f, such as c2_ramp(0, 1), or None for 1. It adds to the rest curvature of the rod.
    """

    coefficients: tuple[float, ...] = field(metadata=of_kind("any"))
    wavelength: float = field(metadata=of_kind("m"))
    period: float = field(metadata=of_kind("s"))
    ramp: SmoothSignal | None = field(default=None, metadata=of_kind("@signal"))

    def __post_init__(self) -> None:
        coefficients = finite("wave: coefficients", self.coefficients, (-1,), "1/m, 1/m2, ...")
        if not coefficients.size:
            raise BadInput("wave: coefficients is empty; give a0 [1/m], a1 [1/m2], ... as far as needed")
        object.__setattr__(self, "coefficients", tuple(coefficients.tolist()))
        self._check()

    def envelope(self, s: ArrayLike) -> Array:
        """a₀ + a₁ s + a₂ s² + … [1/m] at ``s`` [m]."""
        return np.polynomial.polynomial.polyval(np.asarray(s, dtype=float), self.coefficients)


# Joints -----------------------------------------------------------------------------------------------------


def joint_gait(
    joints: Sequence[JointCoordinate],
    wave: TravellingWave,
    stations: ArrayLike,
    offset: float | SmoothSignal = 0.0,
) -> tuple[tuple[Imposed, ...], dict[Imposed, Sine]]:
    """Actuators and inputs that lay a chain of joints along a wave of heading.

    q_i = Q(X_{i+1}, t) - Q(X_i, t) + offset     (Khalil 2007, eq. 65: a joint turns by the difference of headings)

    ``joints`` from head to tail, each a joint with one coordinate or (joint, name of its coordinate); ``stations`` X
    [m], one more than joints; ``offset`` [rad] the same for all joints, a number or a signal with rates.

    >>> eel = TravellingWave(0.06, growth=1.2, wavelength=1.8, period=2.0, ramp=smooth_step(0.0, 2.0))
    >>> drives, inputs = joint_gait(yaw_joints, eel, stations=0.14 * np.arange(13))
    >>> system = System(robot, actuators=drives)
    >>> run = simulate(system, duration=30.0, inputs=inputs)

    Joints that bend the body as a whole, f(t) O without a wave, need no gait: they are imposed with a scaled ramp.

    >>> lift = [Imposed(joint) for joint in pitch_joints]
    >>> inputs |= dict.fromkeys(lift, smooth_step(0.0, 2.0, after=np.pi / 40))
    """
    label = "joint gait"
    if not isinstance(wave, TravellingWave):
        raise BadInput(f"{label}: wave = {describe(wave)}; give a TravellingWave")
    if isinstance(joints, Joint) or not isinstance(joints, Sequence):
        raise BadInput(f"{label}: joints = {describe(joints)}; give a sequence of joints, from head to tail")
    chosen = [_coordinate(label, k, item) for k, item in enumerate(joints)]
    X = finite(f"{label}: stations", stations, (-1,), "m")
    if not chosen:
        raise BadInput(f"{label}: 0 joints and {_count(X.size, 'station')}; give at least one joint")
    if X.size != len(chosen) + 1:
        raise BadInput(
            f"{label}: {_count(X.size, 'station')} for {_count(len(chosen), 'joint')}; "
            f"give {len(chosen) + 1}, one more than joints"
        )
    if np.any(np.diff(X) <= 0.0):
        k = int(np.argmax(np.diff(X) <= 0.0))
        raise BadInput(
            f"{label}: stations[{k + 1}] = {X[k + 1]:g} m does not come after {X[k]:g} m: give them from head to tail"
        )
    mean = check_smooth(f"{label}: offset", offset, "rad")
    differences = np.diff(wave.shapes(X), axis=1)
    drives = tuple(Imposed(joint, name) for joint, name in chosen)
    return drives, {drive: wave.sine(a, b, mean) for drive, (a, b) in zip(drives, differences.T.tolist(), strict=True)}


def _coordinate(label: str, k: int, item: Any) -> tuple[Joint, str]:
    """A joint and the name of an angle of it."""
    joint, name = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
    if not isinstance(joint, Joint):
        raise BadInput(f"{label}: joints[{k}] = {describe(item)}; give a joint, or (joint, name of its coordinate)")
    name = choose(label, joint, name)
    unit = unit_of(joint, name)
    if unit != "rad":
        raise BadInput(
            f"{label}: {owner(joint)}: {name} is in {unit}, and a heading is an angle; choose a coordinate in rad"
        )
    return joint, name


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


# Rods -------------------------------------------------------------------------------------------------------


def rod_gait(
    rod: Rod, wave: CurvatureWave, strain: str = "K_z"
) -> tuple[tuple[Imposed, ...], dict[Imposed, float | Sine]]:
    """Actuators and inputs that impose a wave of curvature on a rod, all other strains staying at rest.

    q(t) = argmin ∫₀ᴸ (Φ(s) q - K_d(s, t))² ds     with Φ the functions of ``strain``: "K_x", "K_y" or "K_z"

    The fit is made once for each of the two shapes of the wave, so that rates in time are exact. A warning tells when
    the rod has too few functions for the wave, so that more than a tenth of it is left out.
    """
    component = _component("rod gait", rod, wave, strain)
    s, weights = _quadrature(rod, wave)
    scale = np.sqrt(weights)[:, None]
    Phi = scale * rod.expansion.functions(component, s, rod.length)
    shapes = scale * np.stack(wave.shapes(s), axis=1)
    q = np.linalg.lstsq(Phi, shapes, rcond=None)[0]
    left, size = np.linalg.norm(Phi @ q - shapes), np.linalg.norm(shapes)
    if left > _COARSE * size:
        warn(
            f"gait of {rod.name!r}: {_count(rod.counts[component], 'function')} of {strain} leave "
            f"{100.0 * left / size:.0f} % of the wave out; give the rod's basis more of them, or take a longer wave",
        )
    drives = Imposed.all(rod)
    inputs: dict[Imposed, float | Sine] = dict.fromkeys(drives, 0.0)
    following = [drive for drive in drives if rod.component[drive.index] == component]
    inputs.update({drive: wave.sine(a, b) for drive, (a, b) in zip(following, q.tolist(), strict=True)})
    return drives, inputs


def muscle_gait(
    rod: Rod, wave: CurvatureWave, strain: str = "K_z"
) -> tuple[tuple[Muscle, Muscle], dict[Muscle, Sine]]:
    """Two muscles and their inputs, for which the wave of curvature is the shape that the rod would take if left alone.

    Λ_act = -𝓗 (ξ_d - ξ₀),  ξ_d = ξ₀ + K_d(s, t) along ``strain``: "K_x", "K_y" or "K_z"     (Boyer 2023, eq. 92)
    """
    _component("muscle gait", rod, wave, strain)
    sine = Muscle(rod, target=WaveTarget(rod, wave, strain, "sine"), name=f"{rod.name}-{strain}-sine")
    cosine = Muscle(rod, target=WaveTarget(rod, wave, strain, "cosine"), name=f"{rod.name}-{strain}-cosine")
    return (sine, cosine), dict(zip((sine, cosine), wave.signals, strict=True))


@brief
@dataclass(frozen=True)
class WaveTarget:
    """Curvature that a muscle aims at: that of the rod at rest, plus one of the two shapes of a wave in ``strain``."""

    rod: Rod = field(metadata=of_kind("@rod"))
    wave: CurvatureWave = field(metadata=of_kind("@wave"))
    strain: str = field(metadata=of_kind("text"))
    shape: Literal["sine", "cosine"] = field(metadata=of_kind("text"))

    def __post_init__(self) -> None:
        _component("target of a wave", self.rod, self.wave, self.strain)
        if self.shape not in ("sine", "cosine"):
            raise BadInput(f"target of a wave: shape = {describe(self.shape)}; choose 'sine' or 'cosine'")

    def __call__(self, s: ArrayLike) -> Array:
        """Curvature at ``s`` [m], (len(s), 3) in 1/m."""
        s = arc_lengths(s)
        target = self.rod.rest_strain(s)[:, :3]
        target[:, _CURVATURES.index(self.strain)] += self.wave.shapes(s)[self.shape == "cosine"]
        return target


def _component(label: str, rod: Any, wave: Any, strain: Any) -> int:
    """Which of the six strains follows the wave, counted from 0."""
    if not isinstance(rod, Rod):
        raise BadInput(f"{label}: rod = {describe(rod)}; give the Rod that follows the wave")
    if not isinstance(wave, CurvatureWave):
        raise BadInput(f"{label}: wave = {describe(wave)}; give a CurvatureWave")
    if strain not in _CURVATURES:
        raise BadInput(f"{label}: strain = {describe(strain)}; choose a curvature, 'K_x', 'K_y' or 'K_z'")
    component = _CURVATURES.index(strain)
    if not rod.counts[component]:
        free = ", ".join(symbol for symbol, count in zip(STRAIN_SYMBOLS, rod.counts, strict=True) if count)
        raise BadInput(
            f"{label}: {strain} is not free on the rod {rod.name!r}, whose coordinates are of {free}: "
            f"choose another strain, or give its basis functions for {strain}"
        )
    return component


def _quadrature(rod: Rod, wave: CurvatureWave) -> tuple[Array, Array]:
    """Gauss-Legendre points [m] and weights [m] in each smooth element of the basis.

    A polynomial of degree d takes d/2 points, and sin(κx) on [-1, 1] about κ/2 and ten more down to rounding; here it
    is twice as many, with κ = πℓ/λ on an element of length ℓ.
    """
    ends = np.array([0.0, *np.asarray(rod.expansion.breaks(rod.length), dtype=float), rod.length])
    points, weights = [], []
    for a, b in pairwise(ends):
        waves = math.ceil(np.pi * (b - a) / wave.wavelength)
        x, w = leggauss(rod.expansion.degree + len(wave.coefficients) + waves + 20)
        points.append(0.5 * ((b - a) * x + a + b))
        weights.append(0.5 * (b - a) * w)
    return np.concatenate(points), np.concatenate(weights)
