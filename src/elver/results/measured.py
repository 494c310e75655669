"""Measured points, poses and strains of the parts of a robot, as a fit takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.bodies import RigidBody
from elver.errors import BadInput, finite
from elver.mechanism import Part
from elver.mechanism.base import check_pose
from elver.results.history import part_of
from elver.rods import Rod
from elver.system import System

__all__ = ["Measured", "collect", "read_line", "read_poses", "read_strains"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of one part."""

    part: Part
    s: Array  # (n,) m; one zero for a body
    points: Array | None = None  # (n, 3) m
    turns: Array | None = None  # (n, 3, 3)
    strains: Array | None = None  # (n, 3 or 6)


def collect(system: System, name: str, given: Any, read: Any) -> list[Measured]:
    """What is ``given`` of one part, or of several by part, each read by ``read(label, part, value)``."""
    if given is None:
        return []
    items = given.items() if isinstance(given, Mapping) else [(None, given)]
    return [read(f"{name} of {part.name!r}", part, value) for part, value in _parts(system, items)]


def _parts(system: System, items: Any) -> list[tuple[Part, Any]]:
    return [(part_of(system, key), value) for key, value in items]


def _arc_lengths(label: str, rod: Part, s: Any) -> Array:
    if not isinstance(rod, Rod):
        raise BadInput(f"{label}: a body has no arc length; give its pose in poses=")
    places = finite(f"{label}: s", s, (-1,), "m")
    if places.size == 0 or np.any(np.diff(places) <= 0.0) or places[0] < 0.0 or places[-1] > rod.length * (1 + 1e-9):
        raise BadInput(f"{label}: s must increase within [0, {rod.length:g}] m, from base to tip")
    return np.minimum(places, rod.length)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and np.ndim(value[0]) == 1 and np.ndim(value[1]) >= 2


def read_line(label: str, rod: Part, value: Any) -> Measured:
    """Points (n, 3), or arc lengths and points, of a rod."""
    points = finite(label, value[1] if _is_pair(value) else value, (-1, 3), "m")
    if not isinstance(rod, Rod):
        raise BadInput(f"{label}: only a rod has a centre line; give the pose of a body in poses=")
    if _is_pair(value):
        s = _arc_lengths(label, rod, value[0])
    else:
        chords = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        if len(points) < 2 or np.any(np.diff(chords) <= 0.0):
            raise BadInput(f"{label}: give at least two points, all different, or a pair (s, points)")
        s = rod.length * chords / chords[-1]
    if len(s) != len(points):
        raise BadInput(f"{label}: {len(s)} arc lengths for {len(points)} points; give one for each")
    return Measured(rod, s, points=points)


def read_poses(label: str, part: Part, value: Any) -> Measured:
    """A pose of a body; arc lengths and poses of a rod."""
    if isinstance(part, RigidBody):
        g = check_pose(label, value)[None]
        s = np.zeros(1)
    else:
        if not _is_pair(value):
            raise BadInput(f"{label}: give a pair (s, g) with arc lengths (n,) in m and poses (n, 4, 4)")
        s = _arc_lengths(label, part, value[0])
        given = finite(label, value[1], (-1, 4, 4), "m (position) and dimensionless (rotation)")
        if len(given) != len(s):
            raise BadInput(f"{label}: {len(s)} arc lengths for {len(given)} poses; give one for each")
        g = np.array([check_pose(f"{label} at s = {x:g} m", pose) for x, pose in zip(s, given)])
    return Measured(part, s, points=g[:, :3, 3], turns=g[:, :3, :3])


def read_strains(label: str, rod: Part, value: Any) -> Measured:
    """Arc lengths and strains, or curvatures, of a rod."""
    if not _is_pair(value):
        raise BadInput(f"{label}: give a pair (s, ξ) with arc lengths (n,) in m and strains (n, 6) or (n, 3)")
    s = _arc_lengths(label, rod, value[0])
    width = 6 if np.shape(value[1])[-1:] == (6,) else 3
    strains = finite(label, value[1], (-1, width), "1/m (curvature) and m/m")
    if len(s) != len(strains):
        raise BadInput(f"{label}: {len(s)} arc lengths for {len(strains)} strains; give one for each")
    return Measured(rod, s, strains=strains)
