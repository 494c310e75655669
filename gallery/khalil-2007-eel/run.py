"""The eel swims 30 s in a plane, loops for 60 s, and its planar motion is replayed by direct dynamics.

The paper prints curves without values, so ``DERIVED`` numbers are those of an independent recursion, written from its
equations (14)-(62) with its data: section, lengths, gait and coefficients are the paper's, density, bodies and the sign
of two rows of Table I as ``model.py`` says, the step (20 ms) and Runge-Kutta 4 our choice. Printed are the limits of
the motors, ±4 N m at joints 3i-2 and 3i-1, ±0.7 N m at joints 3i. The loop keeps them but for 8 % at joints 3i; the
planar gait does not: it takes 5.1 N m at the middle of the body when it cruises, 5.4 N m on the way there, though the
paper calls it slow for the sake of these limits. Rounded ends bring it to 4.7 N m, so a lighter head and tail may
explain a part.

Inverse against direct dynamics ("give the same results", section VII) is asked in four ways, by what is given:

stages      joints and, at each stage of Runge-Kutta, the torques of that stage: the two algorithms and nothing else
file        joints and torques of a run with half the step, so that its instants are the stages of the replay: the
            differences are those of truncation, and small errors of the head grow by about 0.3/s; a file every 10 ms
            gives 1e-5 m after 30 s, one every 2.5 ms less than 1e-7 m
open loop,  torques only, twelve motors at joints 3i-2 through splines of a file, the other joints held: the wave itself
plane       follows from the torques, and the nose is found again within 1e-4 m
open loop,  torques only, 36 motors: for two seconds as good as the others, then the eel rolls out of its plane. Nothing
space       holds a joint but its torque, and a bent body without stiffness buckles sideways: deviations in lift and
            roll grow by 29/s, in the plane by 2/s (eigenvalues at 3 s). That is the robot, not the method: no step
            and no file mend it, a controller would
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import make_interp_spline

import elver as ev
from elver.cli.gallery import metric

from .model import LIFT, OFFSET, ROLL, SIDE, Eel, eel
from .replay import STAGES, Joints, direct, inverse

STEP, PERIOD = 0.02, 2.0  # s
DERIVED = "independent recursion with the paper's data; the paper prints none"
LIMITS = {"3i-2": (SIDE, 4.0), "3i-1": (LIFT, 4.0), "3i": (ROLL, 0.7)}  # N m, section VII-A
SPEEDS = {6.0: 0.110, 10.0: 0.196, 14.0: 0.268, 20.0: 0.352, 24.0: 0.394, 30.0: 0.441}  # m/s, mean of the last period
NOSE = -8.11, -0.02  # m, after 30 s
PEAKS = 1.37, 2.25, 3.18, 4.03, 4.69, 5.05, 5.03, 4.59, 3.76, 2.63, 1.43, 0.43  # N m, joints 1, 4 ... 34 after 20 s
LOOP = (  # m, x and z of the nose every 6 s
    (0.0, 0.0), (-0.13, -0.25), (-0.62, -0.58), (-1.12, -1.24), (-1.24, -2.14), (-0.78, -2.95), (0.07, -3.29),
    (0.95, -3.03), (1.47, -2.26), (1.38, -1.35), (0.73, -0.70),
)  # fmt: skip
LOOP_TORQUES = {"3i-2": 2.0, "3i-1": 1.9, "3i": 0.75}  # N m

Metrics = dict[str, dict[str, Any]]


# Runs -----------------------------------------------------------------------------------------------------------


def swim(robot: Eel, duration: float, lift: float = 0.0, step: float = STEP) -> xr.Dataset:
    """The gait from rest; ``efforts`` are the torques."""
    system, inputs = robot.imposed(lift=lift)
    return ev.simulate(system, duration=duration, step=step, method=ev.RungeKutta4(), inputs=inputs)


def open_loop(robot: Eel, file: xr.Dataset, duration: float, step: float, every: bool) -> xr.Dataset:
    """The motion that the torques of ``file`` make: at all joints, or at joints 3i-2 with the others held."""
    driven = robot.joints if every else robot.joints[SIDE]
    torques = make_interp_spline(file["time"].values, file["efforts"].values[:, :: 1 if every else 3], k=5)

    @lru_cache(maxsize=1)  # all motors ask for the same instant, one after the other
    def at(t: float) -> np.ndarray:
        return torques(t)

    motors = [ev.Motor(joint) for joint in driven]
    held = [ev.Imposed(joint) for joint in robot.joints if joint not in driven]
    system = ev.System(robot.mechanism, actuators=[*motors, *held], loads=[ev.Morison()])
    inputs = {motor: (lambda t, k=k: float(at(t)[k])) for k, motor in enumerate(motors)}
    return ev.simulate(system, duration=duration, step=step, method=ev.RungeKutta4(), inputs=inputs)


def growth(robot: Eel, run: xr.Dataset, time: float) -> tuple[float, float]:
    """Fastest growth [1/s] of deviations at an instant of a planar run with torques given: across, and in its plane."""
    system, motors = robot.driven()
    torques = run["efforts"].sel(time=time, method="nearest").values
    slope = ev.tangent_forward_dynamics(system, ev.state_at(system, run, time), dict(zip(motors, torques, strict=True)))
    joints = 6 + np.arange(len(motors))
    plane = np.sort([2, 3, 4, *joints[SIDE]])  # the head turns about z, moves along x and y
    across = np.setdiff1d(np.arange(6 + len(motors)), plane)
    rates = []
    for part in (across, plane):
        n, at = part.size, np.ix_(part, part)
        rows = np.block([[np.zeros((n, n)), np.eye(n)], [slope.dq_ddot_dq[at], slope.dq_ddot_dq_dot[at]]])
        rates.append(float(np.linalg.eigvals(rows).real.max()))
    return rates[0], rates[1]


# What is read off them ------------------------------------------------------------------------------------------


def period_mean(values: np.ndarray, step: float = STEP) -> np.ndarray:
    """Mean over one period around each instant, by the trapezoidal rule; one period less of instants."""
    n = round(PERIOD / step)
    total = np.concatenate([np.zeros_like(values[:1]), np.cumsum(0.5 * (values[1:] + values[:-1]), axis=0)])
    return (total[n:] - total[:-n]) / n


def mean_speed(run: xr.Dataset, time: float) -> float:
    """Speed [m/s] towards -x over the period that ends at ``time`` [s]."""
    x = run["link-0/position"].sel(xyz="x").sel(time=[time - PERIOD, time], method="nearest").values
    return float(x[0] - x[1]) / PERIOD


def circle(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (2,) and radius of the circle nearest to ``points`` (n, 2): least squares of |p|² - 2 c·p = r² - |c|²."""
    rows = np.column_stack([2.0 * points, np.ones(len(points))])
    *centre, rest = np.linalg.lstsq(rows, np.sum(points**2, axis=1), rcond=None)[0]
    return np.array(centre), float(np.sqrt(rest + np.dot(centre, centre)))


def run(quick: bool) -> tuple[xr.Dataset, Metrics]:
    """All runs; when quick, the loop for 12 s and the replays for 4 s."""
    robot = eel()
    planar = swim(robot, 30.0)
    loop = swim(robot, 12.0 if quick else 60.0, OFFSET)
    metrics = _planar_metrics(planar) | _loop_metrics(loop)
    if not quick:
        half = swim(robot, 30.0, step=0.5 * STEP)
        moved = np.linalg.norm(half["link-0/position"].values[-1] - planar["link-0/position"].values[-1])
        metrics["planar: nose at 30 s when the step is halved"] = metric(moved, "m, change", 0.0, "truncation", 1e-3)
        metrics |= _rounded_metrics(swim(eel(rounded=True), 30.0))
    replays, found = _replays(robot, planar, 4.0 if quick else 30.0, quick)
    metrics |= found
    return _dataset(planar, loop, replays, growth(robot, planar, 3.0)), metrics


# Metrics --------------------------------------------------------------------------------------------------------


def _planar_metrics(run: xr.Dataset) -> Metrics:
    time, nose, torques = run["time"].values, run["link-0/position"].values, np.abs(run["efforts"].values)
    metrics = {
        f"planar: mean speed over the period before {t:g} s": metric(mean_speed(run, t), "m/s", v, DERIVED, 0.01 * v)
        for t, v in SPEEDS.items()
    }
    for axis, value, wanted, tolerance in zip("xy", nose[-1], NOSE, (0.02, 0.01), strict=False):
        metrics[f"planar: nose at 30 s, {axis}"] = metric(value, "m", wanted, DERIVED, tolerance)
    mean = period_mean(nose)
    speeds = -np.diff(mean[:: round(PERIOD / STEP), 0]) / PERIOD
    metrics["planar: speed rises from period to period"] = metric(
        np.all(np.diff(speeds) > 0.0), "(1 = yes)", 1.0, "fig. 6", 0.0
    )
    drift = np.abs(mean[-1, 1] - mean[0, 1]) / np.abs(mean[-1, 0] - mean[0, 0])
    metrics["planar: drift aside"] = metric(drift, "of the distance", 0.0, "fig. 5, a straight line", 0.02)
    rise = np.log(mean_speed(run, 30.0) / mean_speed(run, 28.0)) / PERIOD
    metrics["planar: growth of the speed at 30 s"] = metric(
        rise, "1/s", 0.0, 'fig. 6, "about 30 s" to the final speed', 0.02
    )
    cruising = torques[time > 20.0, SIDE].max(axis=0)
    metrics["planar: peak torques of joints 1, 4 ... 34 after 20 s"] = metric(
        np.max(np.abs(cruising / np.array(PEAKS) - 1.0)), "(largest relative difference)", 0.0, DERIVED, 0.05
    )
    metrics["planar: largest torque"] = metric(torques.max(), "N m", 5.36, DERIVED, 0.05 * 5.36)
    return metrics


def _loop_metrics(run: xr.Dataset) -> Metrics:
    time, nose, torques = run["time"].values, run["link-0/position"].values, np.abs(run["efforts"].values)
    seen = nose[:: round(6.0 / STEP), [0, 2]]
    metrics = {
        "loop: nose every 6 s": metric(
            np.max(np.abs(seen - LOOP[: len(seen)])), "m, largest difference", 0.0, DERIVED, 0.02
        )
    }
    for name, (joints, limit) in LIMITS.items():
        largest = torques[:, joints].max()
        metrics[f"loop: torque beyond the limit of {limit:g} N m, joints {name}"] = metric(
            max(largest / limit - 1.0, 0.0), "of the limit", 0.0, "limits of the motors, section VII-A", 0.1
        )
        if time[-1] > 59.0:
            wanted = LOOP_TORQUES[name]
            metrics[f"loop: largest torque, joints {name}"] = metric(largest, "N m", wanted, DERIVED, 0.05 * wanted)
    if time[-1] > 59.0:
        mean, middle = period_mean(nose), time[50:-50]
        _, radius = circle(mean[middle >= 12.0][:, [0, 2]])
        metrics["loop: diameter from 12 s on"] = metric(2.0 * radius, "m", 2.8, DERIVED, 0.05 * 2.8)
        way = np.diff(mean[middle >= 4.0], axis=0)
        heading = np.unwrap(np.arctan2(way[:, 2], way[:, 0]))
        metrics["loop: turn of the mean path from 4 s on"] = metric(
            np.rad2deg(heading[-1] - heading[0]), "deg", 300.0, DERIVED, 10.0
        )
        metrics["loop: way out of its plane"] = metric(np.abs(nose[:, 1]).max(), "m", 0.36, DERIVED, 0.02)
    return metrics


def _rounded_metrics(run: xr.Dataset) -> Metrics:
    """Half ellipsoids at both ends: how much hangs on what the paper leaves open."""
    peaks = np.abs(run["efforts"].values[run["time"].values > 20.0, SIDE]).max(axis=0)
    return {
        "planar, rounded ends: mean speed over the period before 30 s": metric(
            mean_speed(run, 30.0), "m/s", 0.441, "cylinders; the paper does not say where ends begin", 0.25 * 0.441
        ),
        "planar, rounded ends: peak torques after 20 s": metric(
            np.max(np.abs(peaks / np.array(PEAKS) - 1.0)), "(largest relative difference)", 0.0, "cylinders", 0.4
        ),
    }


def _replays(robot: Eel, planar: xr.Dataset, duration: float, quick: bool) -> tuple[dict[str, Any], Metrics]:
    """How far the nose is from the run that gave the torques, over time, for each way to ask."""
    source, away, metrics = '"give the same results", section VII', {}, {}
    system, inputs = robot.imposed()

    joints = Joints(system, inputs, duration, STEP)
    first = inverse(robot, joints)
    again = direct(robot, joints, lambda k, stage: first.torques[k, stage])
    away["stages"] = joints.time[::2], _apart(again.position, first.position)
    metrics[f"replay, torques at the stages: nose over {duration:g} s"] = metric(
        away["stages"][1].max(), "m", 0.0, source, 1e-6
    )
    other = planar["link-0/position"].values[: joints.count + 1]
    metrics["head by quaternion and on SO(3): nose"] = metric(
        _apart(first.position, other).max(), "m", 0.0, "two methods of order 4", 1e-5
    )
    metrics["head by quaternion: its length"] = metric(first.norm_error, "1, away from 1", 0.0, "order 4", 1e-9)

    files = {10.0: 2e-5} if quick else {10.0: 2e-5, 2.5: 1e-6}  # ms: m
    for instants, tolerance in files.items():
        step = 2e-3 * instants
        file = swim(robot, duration, step=0.5 * step)
        torques = file["efforts"].values
        joints = Joints(system, inputs, duration, step)
        again = direct(robot, joints, lambda k, stage, torques=torques: torques[2 * k + STAGES[stage]])
        key = f"file every {instants:g} ms"
        away[key] = joints.time[::2], _apart(again.position, file["link-0/position"].values[::2])
        metrics[f"replay, {key}: nose over {duration:g} s"] = metric(away[key][1].max(), "m", 0.0, source, tolerance)

    file = swim(robot, duration, step=0.005)
    nose = file["link-0/position"].values[::2]
    for key, every, seconds, tolerance in (
        ("12 motors, open loop", False, duration, 1e-4), ("36 motors, open loop", True, 3.4, np.inf),
    ):  # fmt: skip
        found = open_loop(robot, file, seconds, 0.01, every)
        gap = _apart(found["link-0/position"].values, nose[: found.sizes["time"]])
        away[key] = found["time"].values, gap
        if every:  # later it is rounding that grows
            gap, seconds, tolerance = gap[found["time"].values <= 2.0], 2.0, 1e-6
        metrics[f"replay, {key}: nose over {seconds:g} s"] = metric(
            gap.max(), "m", 0.0, "truncation, and its growth", tolerance
        )
    return away, metrics


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.norm(a - b, axis=1)


def _dataset(planar: xr.Dataset, loop: xr.Dataset, replays: dict[str, Any], rates: tuple[float, float]) -> xr.Dataset:
    """The loop, with the planar run and the replays beside it, each on its own time."""
    empty = [key for key in loop.data_vars if str(key).endswith("/position") and "shape" not in loop[key].attrs]
    data = loop.drop_vars([*empty, *(str(key).replace("position", "orientation") for key in empty)])
    links = [f"link-{3 * i}" for i in range(13)]
    data["planar/places"] = (
        ("planar_time", "link", "xyz"), np.stack([planar[f"{link}/position"].values for link in links], axis=1),
        {"units": "m", "long_name": "origins of the links: the nose, then far ends"},
    )  # fmt: skip
    data["planar/joint"] = (
        ("planar_time", "xyz"), planar["link-1/position"].values, {"units": "m", "long_name": "end of the head"}
    )  # fmt: skip
    data["planar/torques"] = (("planar_time", "imposed"), planar["efforts"].values, {"units": "N m"})
    data["loop/joint"] = (
        ("time", "xyz"), loop["link-1/position"].values, {"units": "m", "long_name": "end of the head"}
    )  # fmt: skip
    data = data.assign_coords(planar_time=("planar_time", planar["time"].values, {"units": "s"}), link=links)
    for name, (time, gap) in replays.items():
        instant = f"{name} time"
        data[f"replay/{name}"] = (instant, gap, {"units": "m", "long_name": "nose against the run by inverse dynamics"})
        data = data.assign_coords({instant: (instant, time, {"units": "s"})})
    return data.assign_attrs(growth_across=rates[0], growth_in_plane=rates[1])
