"""Three closed forms of the planar elastica: dead tip force, tip couple up to a full circle, and the buckled column.

Every shape is computed twice: as an equilibrium of a rod with Legendre strain functions, and by the closed form in
elliptic functions (``elver.analytic``). Lengths are in units of the rod, loads of EI/L² and EI/L.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import elver as ev
from elver import analytic
from elver.cli.gallery import metric

EI = 1.0
LARGEST_FORCE = 10.0  # F L²/EI
LARGEST_THRUST = 6.0  # P / P_Euler


def rod(functions: int) -> ev.Rod:
    """A planar rod with L = 1 m and EI = 1 N m²."""
    section = ev.Section(area=1e-2, I_y=1.0, I_z=1.0, torsion_constant=1.0, half_y=0.01, half_z=0.01)
    return ev.Rod(1.0, section, ev.Material(young=1.0, poisson=0.5, density=1.0), ev.Legendre.planar(functions))


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Shapes of the three families beside their closed forms, and the largest distances between them."""
    data: dict[str, Any] = {}
    metrics: dict[str, dict[str, Any]] = {}

    # a dead force across the tip
    clamped = rod(10)
    force = ev.PointWrench(clamped, force=(0.0, 1.0, 0.0), name="force")
    system = ev.System(ev.Mechanism.clamped(clamped), loads=[force])
    forces = np.linspace(0.0, LARGEST_FORCE, 6 if quick else 11)
    shapes, exact = _family(system, "force", forces, lambda F, s: analytic.cantilever_tip_force(F, 1.0, EI, s))
    _store(data, "force", "F L²/EI", forces, ev.nodes(system), shapes, exact)
    tip = analytic.cantilever_tip_force(LARGEST_FORCE, 1.0, EI).tip
    source = "Bisshopp and Drucker 1945, closed form"
    metrics["tip x under F = 10 EI/L²"] = metric(shapes[-1, -1, 0], "L", tip[0], source, 1e-8)
    metrics["tip y under F = 10 EI/L²"] = metric(shapes[-1, -1, 1], "L", tip[1], source, 1e-8)
    metrics["largest distance, tip force"] = metric(_distance(shapes, exact), "L", 0.0, source, 1e-7)

    # a couple that closes the circle
    clamped = rod(3)  # the arc needs one function; more would only add what the quadrature leaves of them
    couple = ev.PointWrench(clamped, moment=(0.0, 0.0, 1.0), name="couple")
    system = ev.System(ev.Mechanism.clamped(clamped), loads=[couple])
    couples = np.linspace(0.0, 2.0 * np.pi, 5 if quick else 9)
    shapes, exact = _family(system, "couple", couples, lambda M, s: analytic.cantilever_tip_moment(M, 1.0, EI, s))
    _store(data, "couple", "M L/EI", couples, ev.nodes(system), shapes, exact)
    closure = float(np.linalg.norm(shapes[-1, -1]))
    metrics["gap of the closed circle"] = metric(closure, "L", 0.0, "arc of curvature M/EI", 1e-10)
    metrics["largest distance, tip couple"] = metric(
        _distance(shapes, exact), "L", 0.0, "arc of curvature M/EI", 1e-10
    )

    # a thrust along the column, up to the Euler load and far beyond
    column = rod(20)
    thrust = ev.PointWrench(column, force=(-1.0, 0.0, 0.0), name="thrust")
    system = ev.System(ev.Mechanism.clamped(column), loads=[thrust])
    euler = analytic.euler_load("clamped-free", 1.0, EI)
    straight = ev.continuation(system, thrust, stop=LARGEST_THRUST * euler, step=0.1)
    point = straight.points[0]
    buckled = ev.continuation(system, thrust, start=point, stop=LARGEST_THRUST * euler, step=0.4 if quick else 0.15)
    side = np.sign(buckled.tips[-1, 1])
    beyond = buckled.values > 1.001 * euler  # the closed form's modulus goes to 0 at the load itself
    loads = buckled.values[beyond]
    found = [e for e, kept in zip(buckled.equilibria, beyond, strict=True) if kept]
    s = ev.nodes(system)
    shapes = np.array([ev.poses(system, e.state)[:, :2, 3] for e in found]) * [1.0, side]
    exact = np.array([_points(analytic.buckled_cantilever(P, 1.0, EI, s)) for P in loads])
    _store(data, "thrust", "P/P_Euler", loads / euler, s, shapes, exact)
    data["straight/load"] = (
        "straight_load",
        straight.values / euler,
        {"long_name": "P/P_Euler", "units": "1"},
    )
    data["straight/stable"] = ("straight_load", straight.stable.astype(np.int8), {"units": "1"})
    metrics["buckling load"] = metric(point.value / euler, "P_Euler", 1.0, "Euler 1744, π² EI/4 L²", 1e-6)
    metrics["largest distance, buckled column"] = metric(
        _distance(shapes, exact), "L", 0.0, "Love 1927, § 263, closed form", 1e-6
    )
    unstable = float(np.mean(~straight.stable[straight.values > euler]))
    metrics["straight column unstable beyond"] = metric(unstable, "1", 1.0, "Euler 1744", 0.0)

    attributes = {"title": "The planar elastica", "units": "lengths in L, loads as named"}
    return xr.Dataset(data, attrs=attributes), metrics


def _family(
    system: ev.System, channel: str, loads: np.ndarray, closed_form: Callable[[float, np.ndarray], Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Centre lines (loads, nodes, 2) of ours and of the closed form."""
    s = ev.nodes(system)
    near = ev.equilibrium(system, {channel: 0.0})
    shapes, exact = [], []
    for load in loads:
        near = ev.equilibrium(system, {channel: load}, guess=near)
        shapes.append(ev.poses(system, near.state)[:, :2, 3])
        exact.append(_points(closed_form(float(load), s)))
    return np.array(shapes), np.array(exact)


def _points(shape: Any) -> np.ndarray:
    return np.stack([shape.x, shape.y], axis=1)


def _distance(shapes: np.ndarray, exact: np.ndarray) -> float:
    return float(np.max(np.linalg.norm(shapes - exact, axis=2)))


def _store(
    data: dict[str, Any],
    name: str,
    long_name: str,
    loads: np.ndarray,
    s: np.ndarray,
    shapes: np.ndarray,
    exact: np.ndarray,
) -> None:
    dimensions = (f"{name}_load", f"{name}_node", "xy")
    data[f"{name}/load"] = (dimensions[0], loads, {"long_name": long_name, "units": "1"})
    data[f"{name}/s"] = (dimensions[1], s, {"units": "m"})
    data[f"{name}/shape"] = (dimensions, shapes, {"long_name": "centre line", "units": "m"})
    data[f"{name}/closed_form"] = (dimensions, exact, {"long_name": "centre line, closed form", "units": "m"})
