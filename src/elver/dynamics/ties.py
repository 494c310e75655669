"""What ties the tree: free spans of cables between frames, and closures of holds and cut joints.

Theory: docs/theory/loops.md, eq. (closure); docs/theory/actuation.md, eq. (span).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Pressure, SpooledTendon, Tendon
from elver.dynamics.segments import Segments
from elver.lie import se3
from elver.mechanism import Clamped, Driven
from elver.system import System

__all__ = ["closures_of", "spans_of"]

Array = NDArray[np.float64]


def spans_of(system: System, tree: Segments) -> dict[str, list[Any]]:
    """Free spans of cables: which tendon, frames (-1: the world) and guides in them."""
    out: dict[str, list[Any]] = {"tendon": [], "frame": [], "point": []}
    base = system.mechanism.base
    cables = [a for a in system.actuators if isinstance(a, Tendon | SpooledTendon | Pressure)]
    for t, cable in enumerate(cables):
        for span in cable.spans:
            frames, points = [], []
            for guide in span:
                world = guide.part == "world" and not isinstance(base, Driven)
                g = base.g @ guide.g if world and isinstance(base, Clamped) else guide.g
                frames.append(-1 if world else tree.frame_of(guide))
                points.append(g[:3, 3])
            out["tendon"].append(t)
            out["frame"].append(frames)
            out["point"].append(points)
    return out


def closures_of(system: System, tree: Segments) -> dict[str, list[Any]]:
    """Closures of holds (orientation along the axes of the target, position along world axes) and of cut joints."""
    out: dict[str, list[Any]] = {k: [] for k in ("frame", "pose", "rows", "kind", "axes")}
    mechanism = system.mechanism
    eye = np.eye(6)
    for hold in mechanism.holds:
        target = np.vstack([hold.R, hold.p])
        rows = [(0, eye[k]) for k in hold.rotation_axes]
        rows += [(0, np.concatenate([np.zeros(3), hold.R[k]])) for k in hold.position_axes]
        _close(out, (-1, tree.frame_of(mechanism.held(hold))), (target, np.vstack([np.eye(3), np.zeros(3)])), rows)
    for joint in mechanism.tree.cuts:
        a, b = joint.a, joint.b
        swapped = b.part == "world"  # the follower is a part of the tree
        if swapped:
            a, b = b, a
        axes = se3.pose(joint.axes, np.zeros(3))
        leader, follower = a.g @ axes, b.g @ axes
        world = a.part == "world" and not isinstance(mechanism.base, Driven)
        if world and isinstance(mechanism.base, Clamped):
            leader = mechanism.base.g @ leader
        rows = []
        for kind, *which in joint.closure_rows:
            if kind == "dot":
                u, w = (np.eye(3)[axis] for axis in (reversed(which) if swapped else which))
                # the row grows with a turn about w × u: signed so that this is the axis its multiplier is named after
                sign = np.sum(np.cross(w, u))
                rows.append((1, np.concatenate([sign * u, w])))
            else:
                rows.append((0, eye[which[0] + (3 if kind == "position" else 0)]))
        frames = (-1 if world else tree.frame_of(a), tree.frame_of(b))
        _close(out, frames, tuple(np.vstack([g[:3, :3], g[:3, 3]]) for g in (leader, follower)), rows)
    return out


def _close(out: dict[str, list[Any]], frames: tuple[int, int], poses: tuple[Array, ...], rows: list[Any]) -> None:
    out["frame"].append(frames)
    out["pose"].append(poses)
    out["rows"].append((len(out["kind"]), len(rows)))
    out["kind"] += [kind for kind, _ in rows]
    out["axes"] += [axes for _, axes in rows]
