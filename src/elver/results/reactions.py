"""Reactions: the wrench that passes through every joint and hold, on each of its sides.

Through a joint of the tree passes what all beyond it demands (:mod:`elver.results.balance`), through a cut joint or a
hold what its multipliers say: one meaning for both, so that it does not matter where a loop is cut. A reaction holds
everything that passes: the constraint, motor, spring, friction and imposed effort of the joint, and cables that run
from one part to the other inside them; not cables over guides, which act at their guides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.mechanism import Frame, Joint
from elver.results.balance import Wrenches, to_frame, wrenches
from elver.results.history import History, Result, history_of
from elver.system import Inputs, System

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["Passage", "passages_of", "reactions"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Passage:
    """A joint or hold: its frames on both sides, time first, and the wrench on b about the base point."""

    name: str
    kind: str
    labels: tuple[str, str]
    frames: tuple[tuple[Array, Array], tuple[Array, Array]]  # (R, p) of a and of b
    on_b: Array

    def on(self, side: Literal["a", "b"]) -> tuple[Array, Array]:
        """Wrench on a side (time, 6), about the origin of its frame: in axes of the frame, and of the world."""
        R, p = self.frames[side == "b"]
        wrench = self.on_b if side == "b" else -self.on_b
        return to_frame(R, p, wrench), to_frame(np.broadcast_to(np.eye(3), R.shape), p, wrench)


def reactions(
    result: Result, times: ArrayLike | None = None, *, system: System | None = None, inputs: Inputs | None = None
) -> xr.Dataset:
    """Wrench on each side of every joint, clamp and hold of a run, an equilibrium or a state.

    ``moment_on_a`` [N m] and ``force_on_a`` [N] are what b exerts on a, in joint axes (z is the joint's axis) and about
    the origin of the joint's frame on a; ``..._on_b`` what a exerts on b, about its frame on b. The same with
    ``_world`` are in world axes, about the same origins. ``joint`` names joints and holds; ``kind``, ``a`` and ``b``
    say what they are and what they join. A hold, and the clamp of a base, join "world" to a part.

    ``times``, ``system`` and ``inputs`` as for :func:`sample`. Closure rows that repeat others (a planar loop in space)
    are dropped by the equations and count as zero here.
    """
    history, instant = history_of(result, times, system=system, inputs=inputs)
    data = _dataset(passages_of(history), history.times)
    return data.isel(time=0) if instant else data


def passages_of(history: History) -> list[Passage]:
    """What passes through every joint and hold, in the order of the mechanism."""
    found = wrenches(history)
    return [*_joints(history, found), *_holds(history, found)]


def _joints(history: History, found: Wrenches) -> list[Passage]:
    """Joints in the order of the mechanism; those that leave everything free have none."""
    mechanism = history.system.mechanism
    reverse = {branch.joint: branch.reverse for branch in mechanism.tree.branches}
    # with a spectral rod the frames are those of a copy, whose joints stand in the same order
    tree = dict(zip((branch.joint for branch in mechanism.tree.branches), found.assembly.joints.values(), strict=True))
    cuts = {joint: len(mechanism.holds) + k for k, joint in enumerate(mechanism.tree.cuts)}
    out = []
    for joint in mechanism.joints:
        if joint in tree:
            parent, child = tree[joint]
            ends = tuple((found.pose[:, f, :3], found.pose[:, f, 3]) for f in (parent, child))
            wrench = found.force[:, child]  # what the parent exerts on the child
            swapped = reverse[joint]
        elif joint in cuts:
            ends = _closure_ends(history, found, cuts[joint])
            wrench = -found.closure[:, cuts[joint]]  # the closure demands the opposite of what acts on its follower
            swapped = joint.b.part == "world"
        else:
            continue
        frames = (ends[1], ends[0]) if swapped else (ends[0], ends[1])
        on_b = -wrench if swapped else wrench
        out.append(Passage(_name(joint), joint.kind, (joint.a.label, joint.b.label), frames, on_b))
    return out


def _name(joint: Joint) -> str:
    assert joint.name is not None  # a mechanism names its joints
    return joint.name


def _holds(history: History, found: Wrenches) -> list[Passage]:
    mechanism = history.system.mechanism
    out = []
    for k, hold in enumerate(mechanism.holds):
        frame: Frame = mechanism.held(hold)
        ends = _closure_ends(history, found, k)
        out.append(Passage(mechanism.hold_names[k], "hold", ("world", frame.label), ends, -found.closure[:, k]))
    return out


def _closure_ends(history: History, found: Wrenches, k: int) -> Any:
    """(R, p) of leader and follower of a closure, from the base point."""
    program = found.assembly.program
    ends = []
    for side in range(2):
        frame, local = program.closure_frame[k, side], program.closure_pose[k, side]
        if frame < 0:
            T = history.times.size
            ends.append((np.broadcast_to(local[:3], (T, 3, 3)), local[3] - found.origin))
        else:
            R, p = found.pose[:, frame, :3], found.pose[:, frame, 3]
            ends.append((R @ local[:3], p + R @ local[3]))
    return tuple(ends)


def _dataset(passages: list[Passage], times: Array) -> xr.Dataset:
    dims = ("time", "joint", "xyz")
    variables: dict[str, Any] = {}
    sides: tuple[Literal["a", "b"], ...] = ("a", "b")
    for side in sides:
        found = [passage.on(side) for passage in passages]
        for k, (suffix, axes) in enumerate((("", "joint axes"), ("_world", "world axes"))):
            values = np.stack([pair[k] for pair in found], axis=1) if found else np.zeros((times.size, 0, 6))
            where = f"in {axes}, about the joint's frame on {side}"
            variables[f"moment_on_{side}{suffix}"] = (dims, values[..., :3], {"units": "N m", "long_name": where})
            variables[f"force_on_{side}{suffix}"] = (dims, values[..., 3:], {"units": "N", "long_name": where})
    coordinates: dict[str, Any] = {
        "time": ("time", times, {"units": "s"}),
        "joint": [passage.name for passage in passages],
        "kind": ("joint", [passage.kind for passage in passages]),
        "a": ("joint", [passage.labels[0] for passage in passages]),
        "b": ("joint", [passage.labels[1] for passage in passages]),
        "xyz": ["x", "y", "z"],
    }
    import xarray as xr

    return xr.Dataset(variables, coordinates)
