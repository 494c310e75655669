"""What the drawings need of a run, looked up by name: the rods, their shapes over time, their sections.

Expected in a run, for a rod called "arm": ``arm/position`` (time, arm_node, xyz) [m]; and, where known,
``arm/orientation`` (time, arm_node, 4) scalar first, ``arm/half_width`` (arm_node, 2) [m] along the section's
y and z, ``arm/s`` (arm_node) [m].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from elver.errors import BadInput
from elver.lie import so3

__all__ = ["RodHistory", "rods_of"]


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
        """True when the base does not move during the run: something holds it."""
        travel = np.ptp(self.position[:, 0], axis=0).max()
        return len(self.time) > 1 and bool(travel < 1e-9 * max(self.s[-1] - self.s[0], 1e-12))


def rods_of(run: xr.Dataset | np.ndarray) -> list[RodHistory]:
    """Every rod of a run; or one rod from plain positions (N, 3) or (T, N, 3) in metres."""
    if not isinstance(run, xr.Dataset):
        return [_from_positions(np.asarray(run, dtype=float))]
    names = [str(key).removesuffix("/position") for key in run.data_vars if str(key).endswith("/position")]
    names = [name for name in names if run[f"{name}/position"].ndim == 3]
    if not names:
        held = ", ".join(map(str, run.data_vars)) or "nothing"
        raise BadInput(
            f"no rod to draw: the run needs a variable like arm/position (time, node, xyz); it has {held}"
        )
    # steps that failed hold no numbers; rods are drawn together, so they share one time
    position = {name: run[f"{name}/position"] for name in names}
    instant = position[names[0]].dims[0]
    names = [name for name in names if position[name].dims[0] == instant]
    whole = [np.all(np.isfinite(position[name].values), axis=(1, 2)) for name in names]
    kept = run.isel({instant: np.flatnonzero(np.all(whole, axis=0))})
    if kept.sizes[instant] == 0:
        raise BadInput(f"{names[0]}/position holds no step with finite values: nothing to draw")
    return [_from_run(kept, name) for name in names]


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
    time = run[instant].values if instant in run.coords else np.arange(points.shape[0], dtype=float)
    if half_width is None:
        half_width = np.zeros((run.sizes[node], 2))
    return RodHistory(name, time, s, points, orientation, half_width)


def _from_positions(points: np.ndarray) -> RodHistory:
    if points.ndim not in (2, 3) or points.shape[-1] != 3 or points.shape[-2] < 2:
        raise BadInput(
            f"positions have shape {points.shape}: expected (node, 3) or (time, node, 3) in metres"
        )
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
