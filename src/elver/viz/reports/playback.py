"""What the player in a report needs of a run: parts, meshes, poses and colours, in few bytes.

Positions are whole numbers of 1/65535 of the space that is shown, quaternions of 1/32767, measures of 1/255 of the
largest: 17 bytes for a node and an instant, with three measures. Between its nodes a rod is a cubic spline in s; that
is linear in the nodes, so the page gets its weights, a matrix, and multiplies. Measures, which may jump, are straight
between nodes. Instants are thinned out until all this fits in a budget; the player interpolates between them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.colors import to_rgb
from scipy.interpolate import CubicSpline, make_interp_spline

from elver.bodies import Cylinder, Shape, Sphere
from elver.lie import so3
from elver.numerics.round_numbers import nice_step
from elver.system import System
from elver.viz.animation import pleasant_speed
from elver.viz.bodies import corners_of, solid
from elver.viz.history import Cast, RodHistory
from elver.viz.measures import MEASURES, RAMP
from elver.viz.reports.robot import measures_of, tendons_of
from elver.viz.scene import bounds, pleasant_view
from elver.viz.style import COLOURS
from elver.viz.tube import Surface, flange

__all__ = ["BUDGET", "Playback", "playback_of"]

FRAMES_PER_SECOND = 60.0
FRAMES = 3000
BUDGET = 4_000_000  # bytes of poses; base64 makes a third more of them
_CREASE = 0.6  # cosine of the angle between faces below which an edge is sharp


@dataclass(frozen=True)
class Playback:
    """The two data blocks of the player: ``scene`` (JSON values) and ``poses`` (bytes, with the measures behind)."""

    scene: dict[str, Any]
    poses: bytes

    @property
    def frames(self) -> int:
        return len(self.scene["times"])

    def scene_text(self) -> str:
        """JSON that can stand inside a script element: no character in it can end the element."""
        text = json.dumps(self.scene, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def poses_text(self) -> str:
        return base64.b64encode(self.poses).decode("ascii")


def playback_of(
    cast: Cast, run: xr.Dataset | None = None, system: System | None = None, *, budget: int = BUDGET
) -> Playback:
    """Everything that ``cast`` of ``run`` shows, in at most ``budget`` bytes of poses (but two instants at least).

    The model, ``system``, tells the strains and has the tendons.
    """
    nodes = sum(len(rod.s) for rod in cast.rods) + len(cast.bodies)
    chosen = _instants(cast.time, max(2, budget // ((14 + len(MEASURES)) * nodes)))
    seen = _points(cast)
    low, high = bounds(seen)
    size = float(np.max(high - low))
    least_radius = 0.006 * size
    meshes = _Meshes()

    parts = _parts_of(cast, chosen, size, least_radius, meshes)
    measures, values = measures_of(cast, chosen, parts.frames[: len(cast.rods)], run, system)
    tendons = tendons_of(system, run, cast.steps[chosen], parts.points)

    position = np.concatenate(parts.places, axis=1)  # (frames, nodes, 3)
    whole = np.round((position - low) / (high - low) * 65535.0).astype("<u2")
    quaternion = np.round(so3.to_quaternion(np.concatenate(parts.frames, axis=1)) * 32767.0).astype("<i2")
    duration = float(cast.time[-1] - cast.time[0])
    extent, travel = _extent(position)
    scene = {
        "times": [round(float(t), 9) for t in cast.time[chosen]],
        "digits": _digits(duration),
        "speed": pleasant_speed(duration),
        "nodes": nodes,
        "measures": measures,
        "ramp": [to_rgb(colour) for colour in RAMP],
        "lines": [{"tendon": k, "part": part, "first": i, "offsets": _text(D)} for k, part, i, D in tendons.lines],
        "spans": [{"tendon": k, "ends": ends} for k, ends in tendons.spans],
        "pulls": base64.b64encode(tendons.pulls.tobytes()).decode("ascii"),
        "disks": [{"part": part, "at": i, "mesh": meshes.of_disk(radius, size)} for part, i, radius in tendons.disks],
        "slack": to_rgb(COLOURS["grey"]),
        "low": low.tolist(),
        "high": high.tolist(),
        "extent": max(extent, 0.05 * size),
        "follow": travel > 2.5 * extent,  # a robot that goes away is followed from the start
        "grid": nice_step(size),
        "view": pleasant_view(seen),
        "outline": np.round(_outline(np.concatenate([seen, seen * [1, 1, 0] + [0, 0, low[2]]])), 6).tolist(),
        "around": 20 if len(cast.rods) <= 6 else 14,
        "accent": to_rgb(COLOURS["accent"]),
        "parts": parts.texts,
        "weights": [base64.b64encode(matrix).decode("ascii") for matrix in parts.weights],
        "fixed": [held for rod in cast.rods for held in _held(rod, least_radius, meshes)],
        "trails": _trails(cast, parts.texts),
        "meshes": meshes.texts,
    }
    return Playback(scene, whole.tobytes() + quaternion.tobytes() + values.tobytes())


@dataclass(frozen=True)
class _Parts:
    """Rods and bodies, with the poses of their nodes at the chosen instants."""

    texts: list[dict[str, Any]]  # as the page has them
    weights: list[bytes]  # of splines from the nodes of a rod to its fine points; many rods share one
    points: dict[str, np.ndarray]  # s of the fine points, by part
    places: list[np.ndarray]  # (frames, nodes, 3) of each part
    frames: list[np.ndarray]  # (frames, nodes, 3, 3)


def _parts_of(cast: Cast, chosen: np.ndarray, size: float, least_radius: float, meshes: _Meshes) -> _Parts:
    texts: list[dict[str, Any]] = []
    weights: dict[bytes, int] = {}
    points: dict[str, np.ndarray] = {}
    first = 0
    along = int(np.clip(1400 // max(len(cast.rods), 1), 28, 96))
    for rod in cast.rods:
        fine = points[rod.name] = np.linspace(rod.s[0], rod.s[-1], along)
        matrix = _spline(rod.s, np.eye(len(rod.s)), fine).astype(np.float32).tobytes()
        half = np.stack([np.interp(fine, rod.s, rod.half_width[:, i]) for i in (0, 1)], axis=1)
        texts.append(
            {
                "kind": "rod",
                "name": rod.name,
                "first": first,
                "count": len(rod.s),
                "weights": weights.setdefault(matrix, len(weights)),
                "between": _text(np.interp(fine, rod.s, np.arange(len(rod.s)))),
                "half": _text(np.maximum(half, least_radius)),
                "colour": to_rgb(COLOURS["rod"]),
            }
        )
        first += len(rod.s)
    for body in cast.bodies:
        mesh = meshes.of_body(body.shape or Sphere(max(0.02 * size, cast.marker)), size, stripe=body.shape is not None)
        texts.append({"kind": "body", "name": body.name, "first": first, "count": 1, "mesh": mesh})
        first += 1
        points[body.name] = np.zeros(0)
    places = [rod.position[chosen] for rod in cast.rods] + [body.position[chosen][:, None] for body in cast.bodies]
    frames = [
        rod.orientation[chosen] if rod.orientation is not None else _carried(rod.position[chosen]) for rod in cast.rods
    ]
    frames += [body.orientation[chosen][:, None] for body in cast.bodies]
    return _Parts(texts, list(weights), points, places, frames)


def _instants(time: np.ndarray, most: int) -> np.ndarray:
    """Indices of the instants that are kept: all, or as evenly spread in time as the steps allow."""
    duration = float(time[-1] - time[0])
    wanted = min(most, FRAMES, int(np.ceil(FRAMES_PER_SECOND * duration)) + 1 if duration > 4.0 else FRAMES)
    if len(time) <= wanted:
        return np.arange(len(time))
    nearest = np.abs(np.searchsorted(time, np.linspace(time[0], time[-1], wanted)))
    return np.unique(np.clip(np.append(nearest, [0, len(time) - 1]), 0, len(time) - 1))


def _points(cast: Cast) -> np.ndarray:
    places = [rod.position.reshape(-1, 3) for rod in cast.rods]
    for body in cast.bodies:
        places.append(body.position)
        if body.shape is not None:
            places.append(corners_of(body.shape, body.orientation, body.position).reshape(-1, 3))
    return np.concatenate(places)


def _outline(points: np.ndarray) -> np.ndarray:
    """Of points (n, 3), those farthest out in a hundred directions all around: what a picture has to hold."""
    height = np.linspace(-0.99, 0.99, 100)
    around = np.arange(100) * np.pi * (3.0 - np.sqrt(5.0))  # a spiral with the golden angle covers a ball evenly
    wide = np.sqrt(1.0 - height**2)
    directions = np.stack([wide * np.cos(around), wide * np.sin(around), height], axis=1)
    return points[sorted({int(np.argmax(points @ way)) for way in directions})]


def _extent(position: np.ndarray) -> tuple[float, float]:
    """Half the largest size of the robot at one instant, and how far its middle travels [m]."""
    low, high = position.min(axis=1), position.max(axis=1)
    middle = 0.5 * (low + high)
    largest = 0.5 * float(np.linalg.norm(high - low, axis=1).max())
    return largest, float(np.linalg.norm(np.ptp(middle, axis=0)))


def _digits(duration: float) -> int:
    """Decimals of a clock that shows a thousandth of the run, but two at least."""
    return int(np.clip(np.ceil(-np.log10(duration / 1000.0)), 2, 6)) if duration > 0.0 else 2


def _spline(s: np.ndarray, values: np.ndarray, fine: np.ndarray) -> np.ndarray:
    if len(s) < 4:
        return np.asarray(make_interp_spline(s, values, k=1)(fine))
    return np.asarray(CubicSpline(s, values)(fine))


def _carried(position: np.ndarray) -> np.ndarray:
    """Frames (T, N, 3, 3) along centre lines (T, N, 3) of unknown orientation, carried along without twist."""
    tangent = np.gradient(position, axis=1)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=2, keepdims=True), 1e-12)
    y = np.cross(np.eye(3)[np.argmin(np.abs(tangent[:, 0]), axis=1)], tangent[:, 0])
    frames = np.empty((*position.shape, 3))
    for i in range(position.shape[1]):
        x = tangent[:, i]
        y = y - np.sum(y * x, axis=1, keepdims=True) * x
        y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-12)
        frames[:, i] = np.stack([x, y, np.cross(x, y)], axis=2)
    return frames


def _trails(cast: Cast, parts: Sequence[dict[str, Any]]) -> list[int]:
    """Nodes whose ways are drawn behind the robot: the same tips and bodies as in an animation."""
    last = {part["name"]: part["first"] + part["count"] - 1 for part in parts}
    names = list(cast.ways)
    hidden = {body.name for body in cast.bodies[:-1]} if len(cast.bodies) > 3 else set()
    return [last[name] for name in names if name not in hidden]


def _held(rod: RodHistory, least_radius: float, meshes: _Meshes) -> list[dict[str, Any]]:
    """A plate behind a clamped base, or a ball around a pivot, where the base does not move."""
    if not rod.base_rests or rod.orientation is None:
        return []
    radius = max(float(rod.half_width[0].max()), least_radius)
    if rod.base_turns:
        mesh = meshes.of(solid(Sphere(1.7 * radius), radius, colour=COLOURS["steel"], stripe=False))
    else:
        mesh = meshes.of(flange(np.zeros(3), np.eye(3), 2.6 * radius, 0.9 * radius, colour=COLOURS["steel"]))
    quaternion = so3.to_quaternion(rod.orientation[0, 0])
    return [{"mesh": mesh, "p": rod.position[0, 0].tolist(), "q": quaternion.tolist()}]


class _Meshes:
    """Meshes in the order they are first needed; equal ones are stored once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self.numbers)

    def of(self, surface: Surface) -> int:
        return self.numbers.setdefault(_text(_vertices(surface)), len(self.numbers))

    def of_body(self, shape: Shape, size: float, *, stripe: bool) -> int:
        return self.of(solid(shape, 0.12 * size, colour=COLOURS["body"], stripe=stripe))

    def of_disk(self, radius: float, size: float) -> int:
        disk = Cylinder(1.08 * radius, 0.006 * size, axis="x")
        return self.of(solid(disk, 0.12 * size, colour=COLOURS["steel"], stripe=False))


def _vertices(surface: Surface) -> np.ndarray:
    """Four vertices (4 F, 9) per face: place, normal, colour. Normals are smooth but across sharp edges."""
    places = surface.corners.reshape(-1, 3)
    normals = np.repeat(surface.normals, 4, axis=0)
    size = max(float(np.ptp(places, axis=0).max()), 1e-12)
    _, owner = np.unique(np.round(places / size, 6), axis=0, return_inverse=True)
    smooth = normals.copy()
    order = np.argsort(owner.ravel(), kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(owner.ravel()[order])) + 1):
        together = normals[group]
        smooth[group] = (together @ together.T > _CREASE).astype(float) @ together
    smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-12)
    return np.hstack([places, smooth, np.repeat(surface.colours, 4, axis=0)])


def _text(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
