"""Two continuum arms stand side by side, four tendons each, and hold the two ends of an elastic rod.

The rod's ends are fixed to the tips of the arms, so their positions and orientations are what the arms make them: a
closed loop with six multipliers. Judges: the rod alone, clamped at one end and held in position and orientation at the
other where the arms have them, must take the same shape and need the same wrench; the loop stays closed; and the
tensions that inverse statics finds for a place of the rod's middle put it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import elver as ev
from elver.cli.gallery import metric
from elver.lie import so3

ROD = 0.6  # m, its length
LEAN = np.deg2rad(35.0)  # the rod leaves the hands upward by this angle: it arches
UP = np.column_stack([(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)])  # an arm points up, its z to the west
PULLS = {"west-back": 8.0, "east-front": 3.0, "west-left": 4.0, "east-left": 6.0}  # N


def robot() -> ev.System:
    """Arms upright, the rod in an arch between their tips: the model file of this page."""
    return ev.load_model(Path(__file__).with_name("model.toml")).system


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Pull, hold and let go (1 s of it when quick); then the statics of the same robot."""
    system = robot()
    rest = ev.equilibrium(system)
    pull = ev.smooth_step(0.0, 0.8, 0.0, 1.0)
    back = ev.smooth_step(1.5, 2.3, 0.0, 1.0)
    inputs = {name: (lambda t, f=force: f * (pull(t) - back(t))) for name, force in PULLS.items()}
    motion = ev.simulate(system, rest, 1.0 if quick else 3.0, 1e-2, ev.GeneralizedAlpha(rho_inf=0.6), inputs)
    metrics: dict[str, dict[str, Any]] = {}
    gap = np.linalg.norm(motion["rod/tip/position"].values - motion["east/tip/position"].values, axis=1).max()
    metrics["largest gap of the second hand"] = metric(gap, "m", 0.0, "closed loop", 1e-9)

    bent = ev.equilibrium(system, PULLS, guess=rest)
    metrics["stable under the pulls"] = metric(bent.stable, "(1 = yes)", 1.0, "Hessian on the allowed motions", 0.0)
    shape_error, wrench_error = _compare_with_clamped_rod(system, bent)
    source = "the rod alone, clamped and held where the arms hold it"
    metrics["shape of the rod"] = metric(shape_error, "m", 0.0, source, 1e-8)
    metrics["force of the second hand"] = metric(wrench_error, "N", 0.0, source, 1e-7)

    wanted = (0.03, 0.05, 0.37)
    rod = system.mechanism.part("rod")
    found = ev.inverse_statics(system, part=rod, at=ROD / 2, position=wanted, guess=bent)
    again = ev.equilibrium(system, found.inputs, guess=bent)
    middle = again.pose(rod, ROD / 2)[:3, 3]
    metrics["middle of the rod by inverse statics"] = metric(
        np.linalg.norm(middle - wanted), "m", 0.0, "round trip", 1e-8
    )
    metrics["smallest tension"] = metric(min(0.0, *found.inputs.values()), "N", 0.0, "tendons only pull", 0.0)
    return motion, metrics


def _compare_with_clamped_rod(system: ev.System, bent: Any) -> tuple[float, float]:
    """Differences in shape [m] and in the force at the far end [N] from a single rod with the same two end poses."""
    rod = system.mechanism.part("rod")
    poses = ev.poses(system, bent.state, rod)
    alone = ev.System(
        ev.Mechanism.clamped(
            rod, pose=poses[0], holds=[ev.Hold("tip", tuple(poses[-1, :3, 3]), poses[-1, :3, :3], name="far")]
        ),
        loads=[ev.Gravity()],
    )
    start = alone.rest().with_(q=bent.state.q[system.coordinates(rod)])
    held = ev.equilibrium(alone, guess=start)
    shape = np.max(np.abs(ev.poses(alone, held.state)[:, :3, 3] - poses[:, :3, 3]))
    far = np.array([held.multipliers[f"far/force_{axis}"] for axis in "xyz"])
    hand = np.array([bent.multipliers[f"east hand/force_{axis}"] for axis in "xyz"])
    # the hand's force is in axes of its frame on the arm, and what the rod exerts on it
    frame = ev.poses(system, bent.state, system.mechanism.part("east"))[-1, :3, :3] @ UP.T @ so3.exp((0.0, LEAN, 0.0))
    return float(shape), float(np.linalg.norm(far - frame @ hand))
