"""Test 4 of Boyer 2023: a free rod in still water bends in a wave that runs from head to tail, and swims.

    K_d(s, t) = f(t) (1 + s/2 + 2 s²) sin 2π(s - t)  [1/m, m, s],   f the C² ramp of the first second    (93), (94)

The water is Lighthill's: added mass along the body, and what is shed at the tail. Two runs of the same gait:

    forward    muscles with the stress Λ_act = -k K_d of the shape they aim at (92); shape and motion come out
    inverse    the shape K = K_d is imposed; the motion of the head and the stress Λ_act come out      (84) to (86)

The shapes differ by what the body carries, K = K_d + C/k with the couple C that inertia and water ask for. The paper
draws V_x of the head and the shapes, and prints no numbers; its stiffness is diag(0, 50, 0) N m², its step 10 ms, its
sections are ellipses "as in" another work. Chosen here: circles of 0.1 m, 1000 kg/m3, k = 50 N m² in all curvatures,
6 s. The references are a shooting solution of these data. Ours: ten Legendre functions; forward by Newmark (1/4, 1/2)
as in the paper, inverse by Runge-Kutta 4 (the paper takes another explicit scheme), both with 10 ms. Newton takes
three steps where shooting took two, with a tolerance of 1e-8, and 4.5 with the default.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.polynomial.legendre import legval
from scipy.interpolate import CubicSpline

import elver as ev
from elver.cli.gallery import metric
from elver.integrators.method import Method
from elver.lie import so3

LENGTH, RADIUS, WATER, STIFFNESS, STEP = 1.0, 0.05, 1e3, 50.0, 1e-2  # m, m, kg/m3, N m2, s
FUNCTIONS = 10
WAVE = ev.CurvatureWave((1.0, 0.5, 2.0), 1.0, 1.0, ramp=ev.c2_ramp(0.0, 1.0))
ADDED = WATER * np.pi * RADIUS**2  # kg/m, across the body
STATIONS = np.linspace(0.0, LENGTH, 101)
SHOOTING = "shooting on the data of Boyer 2023, test 4, at 10 ms"
SPEED = {  # V_x of the head at 1, 2, ... 6 s [m/s], shooting
    "forward": (-0.111, -0.175, -0.237, -0.296, -0.352, -0.404),
    "inverse": (-0.107, -0.170, -0.231, -0.288, -0.342, -0.394),
}
LATERAL = {"forward": 0.236, "inverse": 0.231}  # V_y of the head at 3 s [m/s], shooting: -V_3 there
WAY = {"forward": -1.106, "inverse": -1.074}  # x of the head at 6 s [m], shooting


def eel(stiffness: float = STIFFNESS, basis: ev.Legendre | None = None) -> ev.Rod:
    """The body from nose to tail, its bending and torsional stiffness alike."""
    young = stiffness / (np.pi * RADIUS**4 / 4.0)
    flesh = ev.Material(young=young, poisson=0.0, density=WATER)
    return ev.Rod(LENGTH, ev.Circle(RADIUS), flesh, basis or ev.Legendre.planar(FUNCTIONS), name="eel")


def swim(
    rod: ev.Rod, actuators: Any, inputs: Any, duration: float, step: float = STEP, method: Method | None = None,
    pose: np.ndarray | None = None, water: bool = True,
) -> xr.Dataset:  # fmt: skip
    """From rest, nose at the origin, along x."""
    mechanism = ev.Mechanism.free(rod, pose=np.eye(4) if pose is None else pose)
    system = ev.System(mechanism, actuators=actuators, loads=[ev.Lighthill(rod)] if water else [])
    return ev.simulate(system, None, duration, step, method or ev.Newmark(), inputs)


def forward(rod: ev.Rod, duration: float, step: float = STEP, **options: Any) -> xr.Dataset:
    """Muscles aim at the wave."""
    return swim(rod, *ev.muscle_gait(rod, WAVE), duration, step, **options)


def inverse(rod: ev.Rod, duration: float, step: float = STEP) -> xr.Dataset:
    """The wave is imposed, and the efforts come out."""
    return swim(rod, *ev.rod_gait(rod, WAVE), duration, step, ev.RungeKutta4())


# Efforts and muscles --------------------------------------------------------------------------------------------


def stress(efforts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Λ_act (T, len(s)) [N m] about z of the efforts of an imposed planar shape.

    An effort is -∫ P_k Λ_act ds and ∫ P_k² ds = L/(2k+1), so that Λ_act = -Σ (2k+1)/L effort_k P_k(2s/L - 1).
    """
    scale = (2.0 * np.arange(efforts.shape[1]) + 1.0) / LENGTH
    return -legval(2.0 * s / LENGTH - 1.0, (scale * efforts).T)


def fed_back(rod: ev.Rod, run: xr.Dataset, step: float = STEP) -> xr.Dataset:
    """Forward run with the stress of an inverse run, one muscle for each polynomial."""
    time, efforts = run["time"].values, run["efforts"].values
    muscles, inputs = [], {}
    for k, row in enumerate(np.eye(efforts.shape[1])):
        muscle = ev.Muscle(rod, torque=lambda s, row=row: np.outer(stress(row[None], s)[0], (0, 0, 1)), name=f"P{k}")
        muscles.append(muscle)
        inputs[muscle] = CubicSpline(time, efforts[:, k])
    return swim(rod, muscles, inputs, float(time[-1]), step)


def curvature(rod: ev.Rod, run: xr.Dataset) -> np.ndarray:
    """K_z (T, stations) [1/m] of a planar rod."""
    return run["q"].values @ rod.basis.functions(2, STATIONS, rod.length).T


def target(time: np.ndarray) -> np.ndarray:
    """K_d (T, stations) [1/m]."""
    return sum(np.outer([signal(t) for t in time], shape) for signal, shape in zip(WAVE.signals, WAVE.shapes(STATIONS)))


# The tail and the balances --------------------------------------------------------------------------------------


def tail(rod: ev.Rod, run: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Of a planar rod: velocity V (T, 3) of the tail in its axes, and force (T, 3) of the water on it in world axes.

    v(L) = v(0) + ω(0)×(p(L) - p(0)) + ∫ R K̇ × (p(L) - p) ds,   G = V_x m_a V - T_f e_x,  T_f = ½ V·m_a V     (90), (91)
    """
    p, R = run["eel/position"].values, so3.from_quaternion(run["eel/orientation"].values)
    twist, arm = run["eel/base/twist"].values, p[:, -1:] - p
    s, weights = run["eel/s"].values, rod.grid_with(stations=[rod.length]).weights
    rate = run["q_dot"].values @ rod.basis.functions(2, s, rod.length).T  # K̇_z (T, nodes)
    omega, v = (np.einsum("tij,tj->ti", R[:, 0], twist[:, part]) for part in (slice(3), slice(3, 6)))
    turn = np.cross(rate[..., None] * R[..., 2], arm)
    V = np.einsum("tji,tj->ti", R[:, -1], v + np.cross(omega, arm[:, 0]) + np.einsum("n,tni->ti", weights, turn))
    carried = ADDED * V * (0.0, 1.0, 1.0)
    G = V[:, :1] * carried
    G[:, 0] -= 0.5 * np.sum(V * carried, axis=1)
    return V, np.einsum("tij,tj->ti", R[:, -1], G)


def impulse(run: xr.Dataset, force: np.ndarray) -> np.ndarray:
    """Integral (T, 6) of the tail force about the world origin: what the momentum of body and water must be."""
    moment = np.cross(run["eel/tip/position"].values, force)
    return integral(np.hstack([moment, force]), run["time"].values)


def shed(V: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Energy (T,) [J] left in the wake: the tail leaves T_f per length behind, at its speed -V_x."""
    return integral(-V[:, 0] * 0.5 * ADDED * (V[:, 1] ** 2 + V[:, 2] ** 2), time)


def integral(rate: np.ndarray, time: np.ndarray) -> np.ndarray:
    """∫ from the first instant on, of a spline through the instants."""
    return CubicSpline(time, rate).antiderivative()(time)


# The page -------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Six seconds of swimming (three when quick), both ways."""
    duration, rod = 3.0 if quick else 6.0, eel()
    runs = {"forward": forward(rod, duration), "inverse": inverse(rod, duration)}
    time = runs["forward"]["time"].values
    V_x = {name: _head(found, 3) for name, found in runs.items()}
    metrics: dict[str, dict[str, Any]] = {}

    # both runs beside shooting
    whole = np.arange(1, round(duration) + 1)
    for name, found in runs.items():
        ours, wanted = V_x[name][100 * whole], np.array(SPEED[name][: whole.size])
        metrics[f"{name}: V_x of the head, end"] = metric(ours[-1], "m/s", wanted[-1], SHOOTING, 0.02 * abs(wanted[-1]))
        metrics[f"{name}: V_x of the head, every second"] = metric(
            100.0 * np.max(np.abs(ours / wanted - 1.0)), "% off at most", 0.0, SHOOTING, 2.0
        )
        metrics[f"{name}: V_y of the head at 3 s"] = metric(
            _head(found, 4)[300], "m/s", LATERAL[name], SHOOTING, 0.02 * LATERAL[name]
        )
        if not quick:
            metrics[f"{name}: x of the head at 6 s"] = metric(
                found["eel/position"].values[-1, 0, 0], "m", WAY[name], SHOOTING, 0.01
            )
    metrics["forward against inverse: V_x of the head"] = metric(
        np.max(np.abs(V_x["forward"] - V_x["inverse"])), "m/s at most", 0.0, f"0.010, {SHOOTING}", 0.012
    )
    fine = [_head(found, 3) for found in _fine(1.5 if quick else duration)]
    far, near = (np.max(np.abs(fine[k] - fine[2])) for k in (0, 1))
    metrics["the same, over that of ten times the stiffness"] = metric(
        far / near, "1", 10.0, "K - K_d = C/k; at 2.5 ms, where the step does not show", 1.0
    )

    # muscles and efforts
    k3, wanted_K = 300, target(time)
    lag = np.abs(curvature(rod, runs["forward"]) - wanted_K)
    metrics["forward: curvature against its target at 3 s"] = metric(lag[k3].max(), "1/m", 0.012, SHOOTING, 1e-3)
    couple = stress(runs["inverse"]["efforts"].values, STATIONS) + STIFFNESS * wanted_K
    metrics["inverse: couple in the body over k at 3 s"] = metric(
        np.abs(couple[k3]).max() / STIFFNESS, "1/m", lag[k3].max(), "K - K_d of the forward run, to its own size", 2e-3
    )
    again = fed_back(rod, runs["inverse"])
    metrics["efforts of the inverse run, fed back: curvature"] = metric(
        np.max(np.abs(curvature(rod, again) - curvature(rod, runs["inverse"]))), "1/m", 0.0,
        "the imposed shape; to the square of the step", 2e-4,
    )  # fmt: skip
    metrics["efforts of the inverse run, fed back: V_x"] = metric(
        np.max(np.abs(_head(again, 3) - V_x["inverse"])), "m/s", 0.0, "the inverse run; to the square of the step", 5e-4
    )

    # direction and plane
    centre = _centre(rod, runs["forward"])
    last = centre[-1] - centre[-101]
    metrics["direction of the last period, from -x"] = metric(
        np.degrees(np.arctan2(abs(last[1]), -last[0])), "deg", 0.0, "head first; the start turns it a little", 5.0
    )
    metrics["motion out of the plane"] = metric(
        _out_of_plane(duration), "m", 0.0, "symmetry; k = 50 N m2 in K_x, K_y, K_z, in a tilted plane", 1e-9
    )

    # balances
    tails = {name: tail(rod, found) for name, found in runs.items()}
    given = {name: impulse(runs[name], tails[name][1]) for name in runs}
    momentum = runs["forward"]["momentum"].values
    for name, part in (("linear", slice(3, 6)), ("angular", slice(0, 3))):
        away = np.linalg.norm((momentum - given["forward"])[:, part], axis=1).max()
        metrics[f"{name} momentum of body and water against the tail"] = metric(
            away / np.linalg.norm(momentum[:, part], axis=1).max(), "of the largest", 0.0,
            "body and water change by G alone; to the order of the step", 2e-3,
        )  # fmt: skip
    # of the work, the elastic body stores and returns a hundred times what it takes to swim: that is left out
    work = integral(np.sum(runs["inverse"]["efforts"].values * runs["inverse"]["q_dot"].values, axis=1), time)
    work -= runs["inverse"]["energy/elastic"].values
    wake, kinetic = shed(tails["inverse"][0], time), runs["inverse"]["energy/kinetic"].values
    metrics["work of the efforts against motion and wake"] = metric(
        np.max(np.abs(work - kinetic - wake)) / work.max(), "of the largest", 0.0, "conservation of energy", 1e-3
    )
    dry = forward(rod, duration, method=ev.GaussLegendre4(), water=False)
    metrics["without water: momentum"] = metric(
        np.max(np.abs(dry["momentum"].values)), "kg m2/s, kg m/s", 0.0,
        "conservation; by Gauss of order 4, as Newmark keeps it to the square of the step", 1e-6,
    )  # fmt: skip
    metrics["without water: way of the mass centre"] = metric(
        np.max(np.linalg.norm(_centre(rod, dry) - (0.5 * LENGTH, 0.0, 0.0), axis=1)), "m", 0.0, "no propulsion", 1e-6
    )

    # Newton: shooting looks at its residual, ours at the next correction, in rad; both tolerances are reported
    loose = forward(rod, duration, method=ev.Newmark(tolerance=1e-8))
    for label, found in (("1e-8", loose), ("1e-12", runs["forward"])):
        metrics[f"Newton steps at a tolerance of {label}, mean"] = metric(
            found["newton_iterations"].values[1:].mean(), "1", 2.0, "2 of shooting; bound as measured",
            1.25 if label == "1e-8" else 3.0,
        )  # fmt: skip

    result = runs["forward"]
    stiff = forward(eel(10.0 * STIFFNESS), duration)
    for name, values, unit, text in (
        ("inverse/speed", V_x["inverse"], "m/s", "V_x of the head, shape imposed"),
        ("stiff/speed", _head(stiff, 3), "m/s", "V_x of the head, forward with ten times the stiffness"),
        ("inverse/work", work, "J", "work of the efforts, less what is stored"),
        ("inverse/kinetic", kinetic, "J", "kinetic energy of body and water"),
        ("inverse/wake", wake, "J", "energy left in the wake"),
    ):  # fmt: skip
        result[name] = ("time", values, {"units": unit, "long_name": text})
    result["tail/force"] = (("time", "xyz"), tails["forward"][1], {"units": "N", "long_name": "water on the tail"})
    result["tail/impulse"] = (("time", "six"), given["forward"], {"units": "kg m2/s, kg m/s"})
    return result, metrics


def _fine(duration: float) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Forward with k and with 10 k, and inverse, in steps of 2.5 ms."""
    soft, stiff, step = eel(), eel(10.0 * STIFFNESS), 0.25 * STEP
    return forward(soft, duration, step), forward(stiff, duration, step), inverse(soft, duration, step)


def _out_of_plane(duration: float) -> float:
    """Largest distance [m] from the plane of the gait, which stands askew in the world so that no axis hides it."""
    pose = np.eye(4)
    pose[:3, :3] = so3.exp(np.array([0.7, -0.4, 1.1]))
    tilted = forward(eel(basis=ev.Legendre.kirchhoff(FUNCTIONS)), duration, pose=pose)
    return float(np.max(np.abs(tilted["eel/position"].values @ pose[:3, 2])))


def _head(run: xr.Dataset, component: int) -> np.ndarray:
    """One component (T,) of the twist of the head, in its own axes."""
    return run["eel/base/twist"].values[:, component]


def _centre(rod: ev.Rod, run: xr.Dataset) -> np.ndarray:
    """Mass centre (T, 3) [m]."""
    weights = rod.grid_with(stations=[rod.length]).weights
    return np.einsum("n,tnc->tc", weights, run["eel/position"].values) / rod.length
