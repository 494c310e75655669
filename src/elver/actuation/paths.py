"""Paths of tendons and chambers: D(s) = (0, D_y, D_z) in the section frame and its derivative D′ = dD/ds.

A path is called as ``path(s, length)`` and returns D and D′, each (len(s), 3), in m and m/m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite, positive
from elver.rods.fields import Array, arc_lengths, sample
from elver.values import of_kind
from elver.words import brief, describe

__all__ = [
    "Convergent",
    "Helical",
    "Parallel",
    "Path",
    "Route",
    "convergent",
    "helical",
    "parallel",
    "route",
]


@runtime_checkable
class Path(Protocol):
    """Where a tendon runs in the sections of a rod."""

    def __call__(self, s: Array, length: float) -> tuple[Array, Array]:
        """D and D′ at ``s`` [m] on a rod of ``length`` [m], each (len(s), 3)."""
        ...


def _columns(y: ArrayLike, z: ArrayLike, s: Array) -> Array:
    D = np.zeros((s.size, 3))
    D[:, 1], D[:, 2] = y, z
    return D


@dataclass(frozen=True)
class Parallel:
    """At constant (y, z) [m]."""

    y: float = field(metadata=of_kind("m"))
    z: float = field(metadata=of_kind("m"))

    def __post_init__(self) -> None:
        for name in ("y", "z"):
            object.__setattr__(self, name, float(finite(f"path: {name}", getattr(self, name), (), "m")))

    def __call__(self, s: Array, length: float) -> tuple[Array, Array]:
        """D = (0, y, z), D′ = 0."""
        s = arc_lengths(s)
        return _columns(self.y, self.z, s), np.zeros((s.size, 3))


@dataclass(frozen=True)
class Convergent:
    """From (y, z) [m] at the base straight to the axis at the tip."""

    y: float = field(metadata=of_kind("m"))
    z: float = field(metadata=of_kind("m"))

    def __post_init__(self) -> None:
        for name in ("y", "z"):
            object.__setattr__(self, name, float(finite(f"path: {name}", getattr(self, name), (), "m")))

    def __call__(self, s: Array, length: float) -> tuple[Array, Array]:
        """D = (0, y, z) (1 - s / L)."""
        s = arc_lengths(s)
        left = 1.0 - s / length
        return _columns(self.y * left, self.z * left, s), _columns(-self.y / length, -self.z / length, s)


@dataclass(frozen=True)
class Helical:
    """Around the axis at ``radius`` [m] with ``turns`` from base to tip, right-handed if positive.

    ``phase`` [rad] is the angle from y towards z at the base.
    """

    radius: float = field(metadata=of_kind("m"))
    turns: float = field(metadata=of_kind("1"))
    phase: float = field(default=0.0, metadata=of_kind("rad"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("path: radius", self.radius, "m"))
        object.__setattr__(self, "turns", float(finite("path: turns", self.turns, (), "(turns)")))
        object.__setattr__(self, "phase", float(finite("path: phase", self.phase, (), "rad")))

    def __call__(self, s: Array, length: float) -> tuple[Array, Array]:
        """D = r (0, cos φ, sin φ), φ = 2 π turns s / L + phase."""
        s = arc_lengths(s)
        rate = 2.0 * np.pi * self.turns / length
        y, z = self.radius * np.cos(rate * s + self.phase), self.radius * np.sin(rate * s + self.phase)
        return _columns(y, z, s), _columns(-rate * z, rate * y, s)


Routing: TypeAlias = Callable[[Array], Any]


@brief
@dataclass(frozen=True, eq=False)
class Route:
    """Along a function of one's own, s [m] -> (D_y, D_z) [m], as a pair of arrays or an array (len(s), 2).

    ``derivative`` gives (D_y′, D_z′) in the same form; without it D′ is the derivative of the polynomial
    through seven points around s, 1e-3 of the length apart: right to about 1e-10 for routes of a few turns.
    """

    function: Routing = field(metadata=of_kind("@function"))
    derivative: Routing | None = field(default=None, metadata=of_kind("@function"))

    def __post_init__(self) -> None:
        for name in ("function", "derivative"):
            value = getattr(self, name)
            if not callable(value) and (name == "function" or value is not None):
                raise BadInput(f"route: {name} = {describe(value)}; give a callable s [m] -> (D_y, D_z) [m]")

    def __call__(self, s: Array, length: float) -> tuple[Array, Array]:
        """D and D′ at ``s`` [m]."""
        s = arc_lengths(s)
        D = self._sample("function", self.function, s, "m")
        if self.derivative is not None:
            return D, self._sample("derivative", self.derivative, s, "m/m")
        # The stencil moves inward near the ends: the function need not be defined beyond the rod.
        step = 1e-3 * length
        centre = np.clip(s, 3.0 * step, length - 3.0 * step)
        offsets = np.arange(-3, 4)
        stencil = (centre[:, None] + step * offsets).clip(0.0, length)
        values = self._sample("function", self.function, stencil.ravel(), "m").reshape(s.size, 7, 3)
        coefficients = np.einsum("kj,ijc->ikc", np.linalg.inv(np.vander(offsets, increasing=True)), values)
        x = (s - centre) / step
        slopes = np.stack([k * x ** max(k - 1, 0) for k in range(7)], axis=1)
        return D, np.einsum("ik,ikc->ic", slopes, coefficients) / step

    @staticmethod
    def _sample(name: str, function: Routing, s: Array, unit: str) -> Array:
        def columns(s: Array) -> Any:
            pair = function(s)
            if isinstance(pair, tuple) and len(pair) == 2:
                try:
                    return np.stack([np.broadcast_to(np.asarray(x, float), s.shape) for x in pair], axis=1)
                except (TypeError, ValueError):
                    pass  # the message of sample() says what was expected
            return pair

        values = sample(f"route: {name}", columns, s, 2, unit)
        return _columns(values[:, 0], values[:, 1], s)


def parallel(y: float = 0.0, z: float = 0.0) -> Parallel:
    """Path at constant (y, z) [m]."""
    return Parallel(y, z)


def convergent(y: float = 0.0, z: float = 0.0) -> Convergent:
    """Path from (y, z) [m] at the base straight to the axis at the tip."""
    return Convergent(y, z)


def helical(radius: float, turns: float, phase: float = 0.0) -> Helical:
    """Path around the axis at ``radius`` [m], ``turns`` to the tip, ``phase`` [rad] from y to z."""
    return Helical(radius, turns, phase)


def route(function: Routing, derivative: Routing | None = None) -> Route:
    """Path along a function s [m] -> (D_y, D_z) [m] of one's own."""
    return Route(function, derivative)
