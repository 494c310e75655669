"""What the base of a mechanism does: it stands still, floats freely, or follows a given motion.

A pose is the 4 x 4 matrix g_world_base. A motion is g(t) with its body twist η = (g⁻¹ġ)^∨, angular first,
and η̇, the derivative of the twist's components; what is not given is found by differences in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, finite, positive
from elver.lie import se3
from elver.numerics.differences import FIRST, OFFSETS, SECOND
from elver.values import of_kind
from elver.words import brief, describe

__all__ = ["IDENTITY", "Base", "Clamped", "Driven", "Free", "Motion", "check_pose", "check_rotation"]

Array: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = tuple[tuple[float, ...], ...]

IDENTITY: Rows = tuple(map(tuple, np.eye(4).tolist()))
# Poses often come from other programs with single precision; anything worse is a mistake.
_ORTHONORMAL = 1e-6


def check_rotation(name: str, value: ArrayLike) -> Array:
    """``value`` as a 3 x 3 rotation matrix."""
    R = finite(name, value, (3, 3), "dimensionless")
    error = float(np.abs(R.T @ R - np.eye(3)).max())
    if error > _ORTHONORMAL:
        raise BadInput(f"{name}: R^T R differs from the identity by {error:.1e}; give a rotation matrix")
    if np.linalg.det(R) < 0.0:
        raise BadInput(f"{name}: det R = -1 is a reflection; give a right-handed frame, det R = +1")
    return R


def check_pose(name: str, value: ArrayLike) -> Array:
    """``value`` as a 4 x 4 pose with rotation and position [m]."""
    g = finite(name, value, (4, 4), "m (position) and dimensionless (rotation)")
    if np.abs(g[3] - (0.0, 0.0, 0.0, 1.0)).max() > 1e-12:
        raise BadInput(f"{name}: the last row is {g[3]}; a pose ends with the row (0, 0, 0, 1)")
    check_rotation(f"{name}: rotation", g[:3, :3])
    return g


def _rows(name: str, pose: ArrayLike | None) -> Rows:
    return IDENTITY if pose is None else tuple(map(tuple, check_pose(name, pose).tolist()))


@brief
@dataclass(frozen=True)
class Clamped:
    """Base fixed in the world at ``pose`` (4 x 4 world-from-base, identity by default)."""

    pose: Rows = field(default=IDENTITY, metadata=of_kind("pose"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", _rows("pose of the clamp", self.pose))

    @property
    def g(self) -> Array:
        """g_world_base as an array, (4, 4)."""
        return np.array(self.pose)


@brief
@dataclass(frozen=True)
class Free:
    """Base free to move in all six directions; ``pose`` (4 x 4 world-from-base) is where it starts."""

    pose: Rows = field(default=IDENTITY, metadata=of_kind("pose"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", _rows("pose of the free base", self.pose))

    @property
    def g(self) -> Array:
        """g_world_base at the start as an array, (4, 4)."""
        return np.array(self.pose)


@brief
@dataclass(frozen=True, eq=False)
class Motion:
    """A prescribed motion of a frame.

    ``pose`` maps t [s] to the 4 x 4 world-from-base, ``twist`` to η (6,) [rad/s, m/s] in the moving frame,
    angular first, ``acceleration`` to η̇ (6,), the derivative of its components [rad/s², m/s²]. Missing
    ones are central differences of order six with ``step`` [s]: pose must then be defined from 3 steps before
    the start to 3 steps beyond the end. With a step of 1e-3 s a motion of about 1 Hz has twists right to
    about 1e-12 and accelerations, if from the pose, to about 1e-9; faster motions ask for a shorter step.
    """

    pose: Callable[[float], ArrayLike] = field(metadata=of_kind("@function"))
    twist: Callable[[float], ArrayLike] | None = field(default=None, metadata=of_kind("@function"))
    acceleration: Callable[[float], ArrayLike] | None = field(default=None, metadata=of_kind("@function"))
    step: float = field(default=1e-3, metadata=of_kind("s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", positive("step of the differences", self.step, "s"))
        for name in ("pose", "twist", "acceleration"):
            value = getattr(self, name)
            wrong = not callable(value) or isinstance(value, type)
            if wrong and (name == "pose" or value is not None):
                raise BadInput(f"motion: {name} = {describe(value)}; give a callable of the time in s")
        self.at(0.0)

    @classmethod
    def steady(cls, twist: ArrayLike, pose: ArrayLike | None = None) -> Motion:
        """A turn, slide or screw at constant body ``twist`` η (6,) [rad/s, m/s], with exact rates: g = g_0 exp(t η̂).

        ``pose`` is g_0, at t = 0, the identity by default. A hub that turns about the world's z at 50 rad/s:
        ``Motion.steady((0, 0, 50, 0, 0, 0))``; one whose base is r beside the axis: η = (0, 0, ω, 0, r ω, 0) with the
        base at x = r.
        """
        eta = finite("twist", twist, (6,), "rad/s and m/s")
        g = IDENTITY if pose is None else _rows("pose of the motion at t = 0 s", pose)
        return cls(_Screw(g, tuple(eta.tolist())), _Constant(tuple(eta.tolist())), _Constant((0.0,) * 6))

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Pose g (4, 4), body twist η (6,) and η̇ (6,) at time ``t`` [s]."""
        g = check_pose(f"pose of the motion at t = {t:g} s", self.pose(t))
        if self.twist is not None:
            eta = self._vector("twist", self.twist, t)
        else:
            eta = _vee(_inverse(g) @ self._difference(self.pose, t, FIRST, 1))
        if self.acceleration is not None:
            return g, eta, self._vector("acceleration", self.acceleration, t)
        if self.twist is not None:
            return g, eta, self._difference(self.twist, t, FIRST, 1)
        # g'' = g (η̂ η̂ + dη̂/dt)
        twice = _inverse(g) @ self._difference(self.pose, t, SECOND, 2)
        return g, eta, _vee(twice - _hat(eta) @ _hat(eta))

    def _vector(self, name: str, function: Callable[[float], ArrayLike], t: float) -> Array:
        return finite(f"{name} of the motion at t = {t:g} s", function(t), (6,), "rad/s.. and m/s..")

    def _difference(self, function: Callable[[float], Any], t: float, rule: Array, power: int) -> Array:
        points = (t + OFFSETS * self.step).tolist()
        total = sum(c * np.asarray(function(x), float) for x, c in zip(points, rule) if c)
        return np.asarray(total / self.step**power)


@dataclass(frozen=True)
class _Screw:
    """t [s] to g_0 exp(t η̂)."""

    pose: Rows
    twist: tuple[float, ...]

    def __call__(self, t: float) -> Array:
        return np.asarray(np.array(self.pose) @ se3.exp(t * np.array(self.twist)))


@dataclass(frozen=True)
class _Constant:
    """t [s] to the same six numbers."""

    value: tuple[float, ...]

    def __call__(self, t: float) -> Array:
        return np.array(self.value)


@brief
@dataclass(frozen=True, eq=False)
class Driven:
    """Base that follows a given motion."""

    motion: Motion = field(metadata=of_kind("@motion"))

    def __post_init__(self) -> None:
        if not isinstance(self.motion, Motion):
            raise BadInput(f"motion = {describe(self.motion)}: give a Motion(pose=callable of t in s)")


Base: TypeAlias = Clamped | Free | Driven


def _inverse(g: Array) -> Array:
    inverse = np.eye(4)
    inverse[:3, :3] = g[:3, :3].T
    inverse[:3, 3] = -g[:3, :3].T @ g[:3, 3]
    return inverse


def _hat(x: Array) -> Array:
    a, b, c, u, v, w = x
    return np.array([[0.0, -c, b, u], [c, 0.0, -a, v], [-b, a, 0.0, w], [0.0, 0.0, 0.0, 0.0]])


def _vee(X: Array) -> Array:
    """Six-vector of a twist matrix; the skew part is averaged, which halves the noise of differences."""
    S = 0.5 * (X[:3, :3] - X[:3, :3].T)
    return np.array([S[2, 1], S[0, 2], S[1, 0], *X[:3, 3]])
