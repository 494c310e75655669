"""What the drawings need of a run, looked up by name: rods and bodies, where they are over time, how they look.

Expected in a run, for a rod called "arm": ``arm/position`` (time, arm_node, xyz) [m]; and, where known,
``arm/orientation`` (time, arm_node, 4) scalar first, ``arm/half_width`` (arm_node, 2) [m] along the section's
y and z, ``arm/s`` (arm_node) [m].

For a body called "hand": ``hand/position`` (time, xyz) [m] of its frame and ``hand/orientation`` (time, 4). The
attributes of the position say how to draw it: ``shape`` is "box" (with ``size``), "cylinder" (``radius``,
``length``, ``axis``), "ellipticcylinder" (``half_axes``, ``length``, ``axis``), "sphere" (``radius``), or "point";
``centre`` [m] is the middle of the shape in body axes. What has no ``shape`` is a place, not a body, and is not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from elver.bodies import Box, Cylinder, EllipticCylinder, Shape, Sphere
from elver.errors import BadInput, finite
from elver.integrators.runs import as_run
from elver.lie import so3

if TYPE_CHECKING:
    from elver.integrators.runs import Seen

__all__ = ["BodyHistory", "Cast", "RodHistory", "cast_of", "rods_of"]

# Motion that no picture shows, in lengths of the rod or in radians.
_UNSEEN = 1e-6


@dataclass(frozen=True)
class RodHistory:
    """The shapes of one rod. T instants, N nodes, positions and directors in the world frame."""

    name: str
    time: np.ndarray  # (T,) s
    s: np.ndarray  # (N,) m
    position: np.ndarray  # (T, N, 3) m
    orientation: np.ndarray | None  # (T, N, 3, 3) world from section, or unknown
    half_width: np.ndarray  # (N, 2) m, zero where unknown

    @property
    def tip(self) -> np.ndarray:
        return self.position[:, -1]

    @property
    def base_rests(self) -> bool:
        """True when the base does not move during the run: something holds it, if only as a pivot."""
        travel = np.ptp(self.position[:, 0], axis=0).max()
        return len(self.time) > 1 and bool(travel < _UNSEEN * max(self.s[-1] - self.s[0], 1e-12))

    @property
    def base_turns(self) -> bool:
        """True when the base section turns during the run, as on a hinge."""
        return self.orientation is not None and bool(np.ptp(self.orientation[:, 0], axis=0).max() > _UNSEEN)


@dataclass(frozen=True)
class BodyHistory:
    """The places of one rigid body. T instants; ``position`` is the middle of its shape in the world frame."""

    name: str
    time: np.ndarray  # (T,) s
    position: np.ndarray  # (T, 3) m
    orientation: np.ndarray  # (T, 3, 3) world from body
    shape: Shape | None  # a body without shape is a point

    def carries(self, way: np.ndarray) -> bool:
        """True when the point that goes along ``way`` (T, 3) is fixed to this body."""
        seen = np.einsum("tji,tj->ti", self.orientation, way - self.position)
        size = max(np.abs(seen).max(), np.ptp(way, axis=0).max())  # also where the point is the middle of the body
        return len(way) > 1 and bool(np.ptp(seen, axis=0).max() <= 1e-4 * size)


@dataclass(frozen=True)
class Cast:
    """All that is drawn of a run: rods and bodies, at the same instants."""

    rods: list[RodHistory]
    bodies: list[BodyHistory]
    steps: np.ndarray  # (T,) which of the stored instants these are: those where all places are finite

    @property
    def time(self) -> np.ndarray:
        """The instants (T,), in s."""
        return self.rods[0].time if self.rods else self.bodies[0].time

    @property
    def ways(self) -> dict[str, np.ndarray]:
        """The ways (T, 3) of bodies and tips by the name of the part; of what moves as one, the first.

        A tip that a body carries goes with the body, and two tips joined to each other go one way.
        """
        ways: dict[str, np.ndarray] = {}
        for rod in self.rods:
            joined = any(np.abs(rod.tip - way).max() < 1e-6 * rod.s[-1] for way in ways.values())
            if not joined and not any(body.carries(rod.tip) for body in self.bodies):
                ways[rod.name] = rod.tip
        return ways | {body.name: body.position for body in self.bodies}

    @property
    def traces(self) -> list[np.ndarray]:
        """The ways worth drawing in space: of a long chain of bodies, only that of the last."""
        hidden = [body.name for body in self.bodies[:-1]] if len(self.bodies) > 3 else []
        return [way for name, way in self.ways.items() if name not in hidden]

    @property
    def marker(self) -> float:
        """Least radius [m] of a ball that is not lost inside the rods."""
        return 1.6 * max((float(rod.half_width.max()) for rod in self.rods), default=0.0)


def rods_of(run: xr.Dataset | np.ndarray) -> list[RodHistory]:
    """Every rod of a run; or one rod from plain positions (N, 3) or (T, N, 3) in metres."""
    return cast_of(run).rods


def cast_of(run: Seen | np.ndarray) -> Cast:
    """Every rod and body of a run; or one rod from plain positions (N, 3) or (T, N, 3) in metres."""
    if isinstance(run, np.ndarray | list | tuple):
        rod = _from_positions(finite("positions", run, (-1,) * np.ndim(run), "m"))
        return Cast([rod], [], np.arange(len(rod.time)))
    run = as_run("a drawing", run)
    position = {str(key).removesuffix("/position"): run[key] for key in run.data_vars if str(key).endswith("/position")}
    position = {name: p for name, p in position.items() if p.ndim == 3 or _is_body(run, name)}
    if not position:
        held = ", ".join(map(str, run.data_vars)) or "nothing"
        raise BadInput(
            "no rod or body to draw: the run needs a variable like arm/position (time, node, xyz), or hand/position "
            f"(time, xyz) with an attribute shape; it has {held}"
        )
    # steps that failed hold no numbers; all parts are drawn together, so they share one time
    first = next(iter(position))
    instant = position[first].dims[0]
    position = {name: p for name, p in position.items() if p.dims[0] == instant}
    whole = [np.all(np.isfinite(p.values), axis=tuple(range(1, p.ndim))) for p in position.values()]
    steps = np.flatnonzero(np.all(whole, axis=0))
    kept = run.isel({instant: steps})
    if kept.sizes[instant] == 0:
        raise BadInput(f"{first}/position holds no step with finite values: nothing to draw")
    return Cast(
        [_from_run(kept, name) for name, p in position.items() if p.ndim == 3],
        [_body_from_run(kept, name) for name, p in position.items() if p.ndim == 2],
        steps,
    )


def _is_body(run: xr.Dataset, name: str) -> bool:
    position = run[f"{name}/position"]
    return position.ndim == 2 and "shape" in position.attrs and f"{name}/orientation" in run


def _body_from_run(run: xr.Dataset, name: str) -> BodyHistory:
    position = run[f"{name}/position"]
    orientation = so3.from_quaternion(run[f"{name}/orientation"].values)
    middle = position.values + orientation @ np.asarray(position.attrs.get("centre", np.zeros(3)), dtype=float)
    return BodyHistory(name, _time(run, str(position.dims[0])), middle, orientation, _shape(name, position.attrs))


def _shape(name: str, attributes: dict[str, Any]) -> Shape | None:
    kind = attributes["shape"]
    try:
        match kind:
            case "box":
                return Box(tuple(np.asarray(attributes["size"], dtype=float).tolist()))
            case "cylinder":
                return Cylinder(attributes["radius"], attributes["length"], attributes["axis"])
            case "ellipticcylinder":
                a, b = np.asarray(attributes["half_axes"], dtype=float).tolist()
                return EllipticCylinder((a, b), attributes["length"], attributes["axis"])
            case "sphere":
                return Sphere(attributes["radius"])
            case "point":
                return None
    except KeyError as missing:
        raise BadInput(f"{name}/position: a {kind} without attribute {missing}; give it in m") from None
    raise BadInput(
        f'{name}/position: shape = {kind!r} is not known; choose "box", "cylinder", "ellipticcylinder", "sphere" or '
        '"point"'
    )


def _time(run: xr.Dataset, instant: str) -> np.ndarray:
    return run[instant].values if instant in run.coords else np.arange(run.sizes[instant], dtype=float)


def _from_run(run: xr.Dataset, name: str) -> RodHistory:
    position = run[f"{name}/position"]
    instant, node, _ = position.dims
    points = position.values
    orientation = half_width = None
    if f"{name}/orientation" in run:
        orientation = so3.from_quaternion(run[f"{name}/orientation"].values)
    if f"{name}/half_width" in run:
        half_width = run[f"{name}/half_width"].values
    s = run[f"{name}/s"].values if f"{name}/s" in run.variables else _arc_length(points[0])
    if half_width is None:
        half_width = np.zeros((run.sizes[node], 2))
    return RodHistory(name, _time(run, str(instant)), s, points, orientation, half_width)


def _from_positions(points: np.ndarray) -> RodHistory:
    if points.ndim not in (2, 3) or points.shape[-1] != 3 or points.shape[-2] < 2:
        raise BadInput(f"positions have shape {points.shape}: expected (node, 3) or (time, node, 3) in metres")
    if not np.all(np.isfinite(points)):
        raise BadInput("positions hold NaN or infinite values: every entry must be a finite number in metres")
    if points.ndim == 2:
        points = points[None]
    time = np.arange(points.shape[0], dtype=float)
    return RodHistory("rod", time, _arc_length(points[0]), points, None, np.zeros((points.shape[1], 2)))


def _arc_length(points: np.ndarray) -> np.ndarray:
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    # coinciding nodes would make an interpolation along the rod impossible
    return np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-12))])
