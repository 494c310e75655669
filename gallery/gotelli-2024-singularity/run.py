"""The planar prototype of Gotelli 2024, chapter 4: two rods, two driven hinges, and a load that falls through.

Rods of 0.47 m, 2.5 mm by 10 mm, 36 GPa, face each other and carry 0.4 kg where they are hinged together; the angles of
both motors are imposed, mirrored (q_1 = -q_2). Both trajectories start with the rods pointing up by 30 degrees and
lower them in 5 s along quintics: the first to the horizontal, where the robot has lost its stiffness and the load
hangs from the rods like a pendulum; the second on to 30 degrees below it. Three Legendre functions per rod,
generalized-alpha, rho_inf = 0.5, 5 ms (2 ms where the load snaps).

The thesis gives neither the distance of the motors nor the mass, the plane of gravity and the times, and compares with
a film. The distances here, 0.93 m and 0.92 m (the rods together have 0.94 m), a point mass, gravity tilted by
2e-3 rad and the times are choices, and the references are check values: another program on the same choices. With
0.93 m the load passes smoothly; with 0.92 m the branch of equilibria turns back at a fold, where the smallest
eigenvalue of the Hessian on the allowed motions passes zero, and the load snaps through.

The snap is violent, and the equations of a step that is too long have wrong solutions, which would bring in energy from
nowhere. The integrator refuses and divides steps that go there; energy never exceeds the work of the motors. What
follows the snap without damping depends
on the step, as every chaotic motion does, and has no reference; with damping the load comes to rest.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

import elver as ev
from elver import io
from elver.cli.gallery import metric
from elver.statics import Equilibrium

CHECK = "check value: independent solution of Gotelli 2024, section 4.5.2, same choices"
UP = np.pi / 6
NEAR, FAR = 0.92, 0.93  # m, distances of the motors
DAMPING = 5e-3  # s
METHOD = ev.GeneralizedAlpha(rho_inf=0.5, tolerance=1e-10)
LEVELS = {  # m, of the load, and s
    "far-1": {"start": 0.0272, "crossing": 2.19, "lowest": -0.0650, "highest": -0.0608},
    "far-2": {"start": 0.0272, "crossing": 1.655, "deepest": -0.068, "end": -0.0353},
    "near-1": {"start": 0.0609, "end": 0.0830},
    "near-2": {"start": 0.0609, "crossing": 3.10},
    "near-2-damped": {"end": -0.0781},
}
FOLD = -0.179  # rad


# The robot ------------------------------------------------------------------------------------------------------


def robot(distance: float, damping: float = 0.0) -> ev.System:
    """Motors ``distance`` [m] apart, facing each other; ``damping`` [s] of the rods."""
    glass = ev.Material(young=36e9, poisson=0.3, density=1900.0, damping=damping)
    left, right = (
        ev.Rod(0.47, ev.Rectangle(2.5e-3, 10e-3), glass, ev.Legendre.planar(3), name=name) for name in ("left", "right")
    )
    load = ev.RigidBody(mass=0.4, name="load")
    facing = np.diag([-1.0, -1.0, 1.0, 1.0])
    facing[0, 3] = distance / 2
    J1 = ev.Revolute(("world", (-distance / 2, 0.0, 0.0)), (left, "base"), name="J1", start=UP)
    J2 = ev.Revolute(("world", facing), (right, "base"), name="J2", start=-UP)
    joints = [J1, J2, ev.Fixed((left, "tip"), load, name="F"), ev.Revolute(load, (right, "tip"), name="P")]
    tilt = 2e-3
    return ev.System(
        ev.Mechanism(joints),
        actuators=[ev.Imposed(J1, name="q_1"), ev.Imposed(J2, name="q_2")],
        loads=[ev.Gravity((9.81 * np.sin(tilt), -9.81 * np.cos(tilt), 0.0))],
    )


def mirrored(q: float) -> dict[str, float]:
    """Both angles."""
    return {"q_1": q, "q_2": -q}


def trajectory(end: float) -> dict[str, Any]:
    """Both angles from 30 degrees up to ``end`` [rad] in 5 s."""
    return {"q_1": ev.smooth_step(0.0, 5.0, UP, end), "q_2": ev.smooth_step(0.0, 5.0, -UP, -end)}


def place(at: Equilibrium) -> np.ndarray:
    """Where the load is, (3,) [m]."""
    load = at.system.mechanism.bodies[0]
    return np.asarray(ev.poses(at.system, at.state, load)[:3, 3])


# The runs -------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Static branches, then the trajectories; those without reference are left out when quick."""
    metrics: dict[str, dict[str, Any]] = {}
    parts: dict[str, xr.Dataset] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)  # a planar loop: three rows of the hinge are redundant
        _statics(parts, metrics, quick)
        _dynamics(parts, metrics, quick)
    return io.collect(parts), metrics


def _statics(parts: dict[str, xr.Dataset], metrics: dict[str, dict[str, Any]], quick: bool) -> None:
    for name, distance, begin, points in (
        ("near", NEAR, UP, 110),
        ("near-mirror", NEAR, -UP, 110),
        ("far", FAR, UP, 140),
    ):
        if quick and name != "near":
            continue
        system = robot(distance)
        start = ev.equilibrium(system, mirrored(begin))
        both = {"q_1": 1.0, "q_2": -1.0}
        branch = ev.continuation(system, both, -begin, start=start, step=0.05, max_points=points)
        parts[f"{name}-branch"] = _seen(branch.equilibria)
        if name == "near":
            fold = branch.points[0]
            _add(metrics, "0.92 m: q_1 at the fold", fold.value, "rad", FOLD, CHECK, 3e-3)
            _add(metrics, "0.92 m: height of the load at the fold", place(fold.equilibrium)[1], "m", 0.026, CHECK, 1e-3)
            smallest = ev.stability(system, fold.equilibrium).eigenvalues[0]
            _add(metrics, "0.92 m: smallest eigenvalue at the fold", smallest, "J", 0.0, "it changes sign there", 1e-4)
            changes = int(np.count_nonzero(np.diff(np.sign(parts["near-branch"]["eigenvalue"].values))))
            _add(metrics, "0.92 m: changes of its sign along the branch", changes, "", 1, "one fold", 0)


def _seen(equilibria: Sequence[Equilibrium]) -> xr.Dataset:
    """Angle, height of the load and smallest eigenvalue along a branch."""
    values = [(at.inputs[0], place(at)[1], ev.stability(at.system, at).eigenvalues[0]) for at in equilibria]
    columns = zip((("q_1", "rad"), ("y", "m"), ("eigenvalue", "J")), np.transpose(values), strict=True)
    return xr.Dataset({name: ("point", column, {"units": unit}) for (name, unit), column in columns})


def _dynamics(parts: dict[str, xr.Dataset], metrics: dict[str, dict[str, Any]], quick: bool) -> None:
    cases = {  # distance, end, damping, step, duration
        "far-1": (FAR, 0.0, 0.0, 5e-3, 7.0),
        "far-2": (FAR, -UP, 0.0, 5e-3, 7.0),
        "near-1": (NEAR, 0.0, 0.0, 5e-3, 7.0),
        "near-2": (NEAR, -UP, 0.0, 2e-3, 3.3 if quick else 7.0),
        "near-2-damped": (NEAR, -UP, DAMPING, 5e-3 if quick else 2e-3, 7.0),
    }
    for name, (distance, end, damping, step, duration) in cases.items():
        system = robot(distance, damping)
        start = ev.equilibrium(system, mirrored(UP))
        out = ev.simulate(system, start, duration, step, METHOD, trajectory(end))
        parts[name] = out
        time, y = out["time"].values, out["load/position"].values[:, 1]
        late = y[time >= 5.0]
        label, levels = f"{distance} m, trajectory {name[-1] if damping == 0.0 else '2, damped'}", LEVELS[name]
        found = {"start": y[0], "end": y[-1], "deepest": y.min(), "lowest": late.min(initial=0.0),
                 "highest": late.max(initial=-1.0)}  # fmt: skip
        for what, value in levels.items():
            if what == "crossing":
                bound = 0.02 if distance == FAR else 0.03
                _add(metrics, f"{label}: the load passes y = 0", crossing(time, y), "s", value, CHECK, bound)
            else:
                _add(metrics, f"{label}: {what} height", found[what], "m", value, CHECK, 1e-3)
        _add(metrics, f"{label}: energy above the work of the motors", surplus(out).max(), "J", 0.0,
             "energy is not made", 1e-2)  # fmt: skip
        gap = np.max(np.abs(out["load/position"].values - out["right/tip/position"].values))
        _add(metrics, f"{label}: gap of the hinge", gap, "m", 0.0, "closure", 1e-9)
        if damping:
            rest = ev.equilibrium(system, mirrored(end), guess=ev.state_at(system, out))
            away = float(np.linalg.norm(out["load/position"].values[-1] - place(rest)))
            _add(metrics, f"{label}: load from its equilibrium", away, "m", 0.0, "it comes to rest", 1e-3)


def crossing(time: np.ndarray, y: np.ndarray) -> float:
    """First instant [s] at which the load passes y = 0 downward."""
    k = int(np.argmax(y < 0.0))
    return float(time[k - 1] + (time[k] - time[k - 1]) * y[k - 1] / (y[k - 1] - y[k]))


def surplus(out: xr.Dataset) -> np.ndarray:
    """Energy beyond that of the start and the work of the motors [J]; damping makes it fall, nothing lets it rise."""
    rates = out["q_dot"].sel(coordinate=["J1/angle", "J2/angle"]).values
    power = np.sum(out["efforts"].values * rates, axis=1)
    work = np.append(0.0, np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(out["time"].values)))
    energy = out["energy/total"].values
    return np.asarray(energy - energy[0] - work)


def _add(metrics: dict[str, dict[str, Any]], name: str, *entries: Any) -> None:
    metrics[name] = metric(*entries)
