"""Workspace of the planar RFRFR robot: two steel rods of 1 m from base motors 0.4 m apart to one passive hinge.

The robot is the case study of Gotelli 2024, section 5.4. Each place of the hinge is solved by the inverse model, for
the rods bowed inward as the printed torques bow them: once with the base angles imposed, once with the torques held.
The places and the shapes are the same; what differs is which of them stand by themselves. Beside the maps stand the
torque that the thesis holds (recomputed to six digits), the limit point of the torque found by continuation, and the
area of the lens that two rods of this length can reach.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import xarray as xr

import elver as ev
from elver.cli.gallery import metric

DISTANCE, LENGTH = 0.4, 1.0  # m
HELD = {"left": -0.5, "right": 0.5}  # N m
RANGES = ((-0.82, 0.82), (-1.0, 1.0))  # m
SOURCE = "Gotelli 2024, section 5.4, recomputed"


def robot(drive: type[ev.Motor] | type[ev.Imposed], functions: int) -> ev.System:
    """The robot with motors (torques) or imposed angles at its base."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    rods = [
        ev.Rod(LENGTH, ev.Circle(1e-3), steel, ev.Legendre.planar(functions), name=f"rod {side}")
        for side in ("left", "right")
    ]
    bases = [
        ev.Revolute(("world", (x, 0.0, 0.0)), (rod, "base"), name=f"base {side}", start=np.pi / 2)
        for x, rod, side in zip((-DISTANCE / 2, DISTANCE / 2), rods, ("left", "right"), strict=True)
    ]
    hinge = ev.Revolute((rods[0], "tip"), (rods[1], "tip"), name="hinge")
    drives = [drive(base, name=side) for base, side in zip(bases, ("left", "right"), strict=True)]
    return ev.System(ev.Mechanism([*bases, hinge]), drives)


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Both maps, the symmetric branch of torques, and how they agree with what is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)  # a planar loop says twice that it is flat
        return _run(quick)


def _run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    resolution = (15, 19) if quick else (83, 101)
    functions = 3 if quick else 8
    metrics: dict[str, dict[str, Any]] = {}

    # the held torque, forward and back
    thesis = robot(ev.Motor, 3)
    held = ev.equilibrium(thesis, HELD)
    metrics["hinge height under 0.5 N m"] = metric(held.pose("rod left")[1, 3], "m", 0.854820, SOURCE, 1e-6)
    metrics["base angle under 0.5 N m"] = metric(held.state.q[0], "rad", 0.221224, SOURCE, 1e-6)
    back = ev.inverse_statics(
        thesis, (0.0, held.pose("rod left")[1, 3], None), part="rod left", guess=ev.equilibrium(thesis, _part(0.9))
    )
    metrics["torque from the height"] = metric(back.inputs["left"], "N m", -0.5, SOURCE, 1e-7)

    # the maps
    torques, angles = robot(ev.Motor, functions), robot(ev.Imposed, functions)
    by_torque = ev.equilibrium(torques, HELD)
    left, right = (torques.mechanism.joint(f"base {side}") for side in ("left", "right"))
    q = {side: by_torque.state.q[torques.coordinates(base)][0] for side, base in (("left", left), ("right", right))}
    by_angle = ev.equilibrium(angles, q, guess=angles.rest().with_(q=by_torque.state.q))
    maps = {
        name: ev.workspace(system, ("x", "y"), RANGES, part="rod left", guess=start, resolution=resolution)
        for name, system, start in (("angles", angles, by_angle), ("torques", torques, by_torque))
    }

    # the torque raised until the robot snaps, by another method
    branch = ev.continuation(torques, {"left": 1.0, "right": -1.0}, start=by_torque, stop=-3.0, step=0.05)
    limit = branch.points[0]
    y_snap = limit.equilibrium.pose("rod left")[1, 3]
    snaps = maps["torques"]["snap/place"].values
    middle = snaps[np.abs(snaps[:, 0]) < 1e-9, 1]
    metrics["height at which the torque snaps"] = metric(
        middle[np.argmin(np.abs(middle - y_snap))], "m", y_snap, "limit point, by continuation", 1e-3 if quick else 1e-4
    )
    singular = ev.singularity(torques, limit, "rod left", locked=False)
    metrics["stiffness at the limit point"] = metric(singular.stiffness, "EI/L", 0.0, "output singularity", 1e-6)

    # what is reached is the lens of two circles, up to the first cell beyond its edge
    d, L = DISTANCE, LENGTH
    lens = 2.0 * L**2 * np.arccos(d / (2.0 * L)) - 0.5 * d * np.sqrt(4.0 * L**2 - d**2)
    cell = np.prod([(high - low) / (size - 1) for (low, high), size in zip(RANGES, resolution, strict=True)])
    area = float(maps["angles"]["reached"].sum() * cell)
    metrics["area that is reached"] = metric(
        area / lens, "lens", 1.0, "lens of two circles of radius L", 0.08 if quick else 0.03
    )
    mirrored = maps["torques"]["eigenvalue"].values
    skew = float(np.nanmax(np.abs(mirrored - mirrored[::-1])) / np.nanmax(np.abs(mirrored)))
    metrics["map against its mirror image"] = metric(skew, "1", 0.0, "symmetry of the robot", 1e-5)

    data = xr.merge([_named(found, name) for name, found in maps.items()], combine_attrs="override")
    data["branch/torque"] = ("branch", branch.values, {"units": "N m"})
    data["branch/height"] = ("branch", branch.positions("rod left")[:, 1], {"units": "m"})
    data["branch/stable"] = ("branch", branch.stable.astype(np.int8), {"units": "1"})
    data.attrs = {"title": "Workspace of the RFRFR robot", "functions": functions, "y_snap": y_snap}
    return data, metrics


def _named(found: xr.Dataset, name: str) -> xr.Dataset:
    """A map whose variables, edges and snaps carry its name; the places are those of both."""
    own = {str(key): f"{name}/{key}" for key in found.data_vars}
    return found.rename(own | {kind: f"{name}_{kind}" for kind in ("edge", "snap")})


def _part(factor: float) -> dict[str, float]:
    return {side: factor * torque for side, torque in HELD.items()}
