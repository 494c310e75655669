"""What a hand may set on a robot, and how far: ranges of its inputs, and points at which it can be pulled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from elver.actuation import Imposed, Motor, Muscle, Pressure, Signal, SpooledTendon, Tendon
from elver.dynamics.core import core
from elver.environment import Gravity
from elver.errors import BadInput
from elver.integrators.by_hand import value_at
from elver.mechanism import Part
from elver.numerics.round_numbers import nice_step
from elver.rods import Rod
from elver.system import Channel, System

__all__ = ["moving_force", "pull_points", "range_of", "ranges_of", "round_up", "size_of"]


def size_of(system: System) -> float:
    """Length [m] of the robot: of all rods in a row at most, or of what its bodies span."""
    rods = system.mechanism.rods
    return max([rod.length for rod in rods], default=float(core(system).assembly.length))


def pull_points(system: System) -> dict[str, tuple[Part, Any]]:
    """Places to pull at, by name: tip and middle of each rod, each body with mass or shape."""
    points: dict[str, tuple[Part, Any]] = {}
    for rod in system.mechanism.rods:
        points[f"{rod.name} tip"] = rod, "tip"
        points[f"{rod.name} middle"] = rod, 0.5 * rod.length
    for body in system.mechanism.bodies:
        if body.mass > 0.0 or body.shape is not None:
            points[body.name] = body, tuple(np.asarray(body.centre, dtype=float).tolist())
    return points


def range_of(system: System, channel: Channel) -> tuple[float, float]:
    """Range of a slider: what bends a rod by about three radians, or what carries the weight of the robot."""
    rods = getattr(channel, "rods", ()) or system.mechanism.rods
    if isinstance(channel, Tendon | SpooledTendon | Pressure) and channel.rods:
        arm = max(float(np.hypot(*channel.geometry(rod.grid.s, rod)[0][:, 1:].T).max()) for rod in channel.rods)
        arm = max(arm, 1e-6)
        if isinstance(channel, SpooledTendon):
            reach = round_up(3.0 * arm)
            return -reach, reach
        tension = round_up(3.0 * min(_bending(rod) / rod.length for rod in channel.rods) / arm)
        return (0.0, round_up(tension / channel.area)) if isinstance(channel, Pressure) else (0.0, tension)
    if isinstance(channel, Imposed):
        if isinstance(channel.target, Rod):
            reach = 3.0 / channel.target.length if channel.unit == "1/m" else 0.1
        else:
            reach = np.pi if channel.unit == "rad" else 0.5 * size_of(system)
        middle = channel.default
        return middle - reach, middle + reach
    if isinstance(channel, Motor):
        effort = moving_force(system, rods) * (size_of(system) if channel.unit == "N m" else 1.0)
        return -round_up(effort), round_up(effort)
    if isinstance(channel, Tendon | SpooledTendon):  # between bodies
        return 0.0, round_up(moving_force(system, rods))
    if isinstance(channel, Muscle):
        return -2.0, 2.0
    return (0.0, 2.0) if isinstance(channel, Gravity) else (-2.0, 2.0)


def _bending(rod: Rod) -> float:
    """Bending stiffness [N m²] of the softer axis, mean along the rod."""
    return float(rod.stiffness(rod.grid.s)[:, 1:3].mean(axis=0).min())


def moving_force(system: System, rods: Any) -> float:
    """A force [N] that moves the robot well: 3 EI/L² of its softest rod, or half its weight; twice that of bodies."""
    weight = 9.81 * sum(part.mass for part in system.mechanism.parts)
    if rods:
        heavy = any(isinstance(load, Gravity) for load in system.loads)
        return max(3.0 * min(_bending(rod) / rod.length**2 for rod in rods), 0.5 * weight * heavy)
    return 2.0 * max(weight, 1e-2)


def round_up(value: float) -> float:
    return nice_step(max(value, 1e-12), 1)


def ranges_of(
    system: System, given: Mapping[str, Signal], wanted: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Range of every input: as ``wanted``, else its own, with what is ``given`` at first inside."""
    unknown = set(wanted) - set(given)
    if unknown:
        raise BadInput(f"ranges: {sorted(unknown)} are no inputs; the inputs are {', '.join(given)}")
    ranges = {}
    for name, channel in zip(system.channel_names, system.channels, strict=True):
        low, high = map(float, wanted[name]) if name in wanted else range_of(system, channel)
        if not low < high:
            raise BadInput(f"ranges: {name!r} from {low:g} to {high:g} is empty; give the lower end first")
        value = value_at(given[name], 0.0)
        ranges[name] = min(low, value), max(high, value)
    return ranges
