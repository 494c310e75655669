"""Test 2 of Boyer 2023: a hanging rod is let go, and each time step is a two-point problem along its length.

    g' = g ξ,  η' = -ad_ξ η + ξ̇,  η̇' = -ad_ξ η̇ - ad_ξ̇ η + ξ̈,  Λ' = ad_ξᵀ Λ + M η̇ - ad_ηᵀ M η - F     (61)

with the strain from the stress, its rates from Newmark (1/4, 1/2), the clamp at one end and the load at the other. Two
variants, and a third way to the same motion:

    full     with the equation of the acceleration, as written
    hybrid   without it: η̇ = c η + f_η by the same trapezoidal rule in time, at each s                   (89)
    modes    strains of eight (soft: sixteen) Legendre functions, same scheme, no boundary value problem

and two rods of 0.4 m, 2 mm thick (the paper leaves the radius out; 1 mm agrees with all it reports):

    steel    E = 207 GPa, bent by a tendon of 15 N that is cut; 1 ms                                 fig. 3a
    soft     E/100, held aside by 0.4 N at the tip that vanish; 10, 5, 2.5 ms                        fig. 4

The paper shows curves and no tables. The references are regression values of our own, from an independent program for
the same equations; they start, as this page does, with zero strain acceleration, which the paper does not state. They
test the equations and not convergence: letting go is an impulse, and halving the step moves the tip of the soft rod by
centimetres at 10 ms. Where the force fades in 0.1 s instead, the order is two, and that is shown too.

The scheme conserves no energy exactly. Steel changes by 0.3 % of its energy over hanging (0.1 % in the regression),
the soft rod by 0.4 % at 2.5 ms and 2.1 % at 5 ms, and modes lose as much; with accelerations that fit the first instant
it is 0.4 and 2.0 %. The regression says 2 % and 12 %. Its zero of energy is not recorded; counted from the height of
the clamp, where little energy is left to compare with, and from the first step on, the loss is 2.2 % and 11.9 % here.

The soft rod is cut into 20 segments: with ten, and 5 ms, Newton loses the hybrid scheme at 0.9 s, as its strain
acceleration, which rings from step to step, spoils the first guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import simpson

import elver as ev
from elver.cli.gallery import metric
from elver.lie import se3, so3
from elver.one_rod.shooting.dynamics import RodMotion, shooting_dynamics

LENGTH, RADIUS, REACH, TENSION, FORCE = 0.4, 1e-3, 0.02, 15.0, 0.4  # m, m, m, N, N
YOUNG, DENSITY, GRAVITY = 207e9, 8000.0, 9.81  # Pa, kg/m3, m/s2
HANGING = se3.pose(so3.exp(np.array([0.0, np.pi / 2.0, 0.0])), np.zeros(3))  # x of the rod down, y stays y
OWN = "regression value of our own, on the data of Boyer 2023, test 2"
STEEL_TIP = {  # s: m, y of the tip at 1 ms
    0.02: 0.0450, 0.05: -0.0874, 0.1: 0.0700, 0.15: -0.0496, 0.2: 0.0238, 0.25: 0.0091,
    0.3: -0.0410, 0.4: -0.0803, 0.5: -0.0936, 0.6: -0.0616, 0.8: 0.0524, 1.0: 0.0910,
}  # fmt: skip
SOFT_TIP = {  # s: m, x (down) and y of the tip at 2.5 ms
    0.1: (0.2084, 0.2815), 0.2: (0.3903, -0.0440), 0.3: (0.2284, -0.2966), 0.4: (0.0769, -0.3208),
    0.5: (0.2563, -0.2832), 0.6: (0.3969, 0.0163), 0.8: (0.0792, 0.3160), 1.0: (0.3959, 0.0126),
}  # fmt: skip
SOFT_START = (0.12136, 0.35415)  # m, the same of the tip while held
SOFT_RMS = {"full": {5e-3: 5.4, 10e-3: 16.4}, "hybrid": {5e-3: 5.8, 10e-3: 17.5}}  # mm, to full at 2.5 ms
SOFT_LOSS = {2.5e-3: 0.6, 5e-3: 2.2}  # % of the energy over hanging, as measured
CLAMP_LOSS = {2.5e-3: 2.0, 5e-3: 12.0}  # %
STEPS = (10e-3, 5e-3, 2.5e-3)  # s
SOFT = {"segments": 20, "nodes": 160}
SCHEMES = {"full": False, "hybrid": True}  # is it hybrid?


def arm(softer: float = 1.0, functions: int = 8) -> ev.Rod:
    """The rod, its modulus divided by ``softer``; the functions serve the start, and the run with modes."""
    material = ev.Material(young=YOUNG / softer, poisson=0.3, density=DENSITY)
    return ev.Rod(LENGTH, ev.Circle(RADIUS), material, ev.Legendre.planar(functions), name="arm")


def steel() -> tuple[ev.System, ev.State]:
    """Bent by the tendon of 15 N, which is gone."""
    rod = arm()
    robot = ev.Mechanism.clamped(rod, pose=HANGING)
    tendon = ev.Tendon(rod, ev.convergent(y=REACH, z=0.0), reach=REACH)
    bent = ev.equilibrium(ev.System(robot, [tendon], [ev.Gravity()]), inputs={tendon: TENSION})
    system = ev.System(robot, loads=[ev.Gravity()])
    return system, system.rest().with_(q=bent.state.q)


def soft() -> tuple[ev.System, ev.State, ev.PointWrench]:
    """Held aside by 0.4 N at the tip; the force is an input."""
    rod = arm(100.0, 16)
    hold = ev.PointWrench(rod, "tip", force=(0.0, 1.0, 0.0), name="hold")
    system = ev.System(ev.Mechanism.clamped(rod, pose=HANGING), loads=[ev.Gravity(), hold])
    bent = ev.equilibrium(system, inputs={hold: FORCE})
    return system, system.rest().with_(q=bent.state.q), hold


# Measures -------------------------------------------------------------------------------------------------------


def energies(motion: RodMotion, young: float) -> dict[str, np.ndarray]:
    """Energies (T,) [J]: ∫ ½ η·M η ds, ∫ ½ EI K² ds and ∫ ρA γ (z + s) ds, the last over that of the hanging rod."""
    A, I = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4.0
    inertia = DENSITY * np.array([2.0 * I, I, I, A, A, A])
    density = {
        "kinetic": 0.5 * np.sum(inertia * motion.twist**2, axis=2),
        "elastic": 0.5 * young * I * np.sum(motion.strain[:, :, 1:3] ** 2, axis=2),
        "gravity": DENSITY * A * GRAVITY * (motion.pose[:, :, 2, 3] + motion.s),
    }
    parts = {name: np.asarray(simpson(values, x=motion.s, axis=1)) for name, values in density.items()}
    return {**parts, "total": sum(parts.values())}


def tip(motion: RodMotion) -> np.ndarray:
    """x (down) and y of the tip, (T, 2) [m]."""
    return np.stack([-motion.tip[:, 2], motion.tip[:, 1]], axis=1)


def frequency(time: np.ndarray, y: np.ndarray) -> float:
    """Beats per second [Hz], from the first to the last downward crossing."""
    k = np.flatnonzero((y[:-1] > 0.0) & (y[1:] <= 0.0))
    crossings = time[k] + (time[k + 1] - time[k]) * y[k] / (y[k] - y[k + 1])
    return float((crossings.size - 1) / (crossings[-1] - crossings[0]))


def drift(total: np.ndarray) -> float:
    """Largest change of the energy, in % of its start."""
    return 100.0 * float(np.max(np.abs(total / total[0] - 1.0)))


def apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance of two tips [mm], the second perhaps with a multiple of the instants."""
    return 1e3 * np.linalg.norm(one - other[:: (len(other) - 1) // (len(one) - 1)], axis=1)


# The page -------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """One second of both rods (when quick 0.2 s of steel, and the soft one at 10 ms only)."""
    metrics: dict[str, dict[str, Any]] = {}
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    _steel(0.2 if quick else 1.0, metrics, data, coords)
    shown = _soft(STEPS[:1] if quick else STEPS, metrics, data, coords)
    if not quick:
        _faded(metrics, data, coords)
    return xr.Dataset({**data, **shown}, coords), metrics


def _steel(duration: float, metrics: dict[str, Any], data: dict[str, Any], coords: dict[str, Any]) -> None:
    """Fig. 3a."""
    system, state = steel()
    runs = {
        name: shooting_dynamics(system, state, duration, 1e-3, hybrid=is_hybrid) for name, is_hybrid in SCHEMES.items()
    }
    modes = ev.simulate(system, state, duration, 1e-3, ev.Newmark(), start="given")["arm/tip/position"].values[:, 1]
    time, y = runs["full"].time, {name: motion.tip[:, 1] for name, motion in runs.items()}
    for name, motion in runs.items():
        for until, tolerance in {min(0.3, duration): 2.0, duration: 2.0 if duration <= 0.3 else 5.0}.items():
            off = [1e3 * abs(y[name][round(t / 1e-3)] - wanted) for t, wanted in STEEL_TIP.items() if t <= until]
            metrics[f"steel, {name}: tip y to {until:g} s"] = metric(max(off), "mm off at most", 0.0, OWN, tolerance)
        total = energies(motion, YOUNG)["total"]
        metrics[f"steel, {name}: energy drift"] = metric(drift(total), "%", 0.0, "conservation", 0.5)
        metrics[f"steel, {name}: Newton steps, most"] = metric(
            motion.iterations.max(), "1", 3.0, f"3.1 in the mean, {OWN}", 2.0
        )
    metrics["steel, full: frequency"] = metric(
        frequency(time, y["full"]), "Hz", 8.95, f"{OWN}; 9 beats per s in Boyer 2023, fig. 3a", 0.05
    )
    half = time <= 0.5
    metrics["steel, full against modes to 0.5 s"] = metric(
        100.0 * np.abs(y["full"] - modes)[half].max() / np.abs(y["full"]).max(), "% of the amplitude", 0.0,
        "no difference to be seen in Boyer 2023, fig. 3a", 1.0,
    )  # fmt: skip
    metrics["steel, hybrid against full"] = metric(
        1e3 * np.abs(y["hybrid"] - y["full"]).max(), "mm at most", 0.0, "slight drift in Boyer 2023, fig. 3a", 1.0
    )
    coords["steel/time"] = ("steel/time", time, {"units": "s"})
    for name, values in {**y, "modes": modes}.items():
        data[f"steel/{name}"] = ("steel/time", values, {"units": "m", "long_name": "y of the tip"})
    for name, values in energies(runs["full"], YOUNG).items():
        data[f"steel/energy/{name}"] = ("steel/time", values, {"units": "J"})
    for name, motion in runs.items():
        data[f"steel/ringing/{name}"] = ("steel/time", motion.strain_acceleration, {"units": "1/s2"})


def _soft(
    steps: tuple[float, ...], metrics: dict[str, Any], data: dict[str, Any], coords: dict[str, Any]
) -> Mapping[str, Any]:
    """Fig. 4; returns what it takes to draw the run with the shortest step."""
    system, state, hold = soft()
    gone = {hold: 0.0}
    runs = {
        (name, step): shooting_dynamics(system, state, 1.0, step, gone, hybrid=is_hybrid, **SOFT)
        for name, is_hybrid in SCHEMES.items()
        for step in steps
    }
    tips = {key: tip(motion) for key, motion in runs.items()}
    modes = ev.simulate(system, state, 1.0, steps[-1], ev.Newmark(), gone, start="given")["arm/tip/position"].values
    modes = np.stack([-modes[:, 2], modes[:, 1]], axis=1)
    best = tips["full", steps[-1]]
    metrics["soft, tip while held"] = metric(1e3 * np.linalg.norm(best[0] - SOFT_START), "mm off", 0.0, OWN, 0.1)
    metrics["soft, full against modes to 0.5 s"] = metric(
        apart(best, modes)[: round(0.5 / steps[-1]) + 1].max(), "mm at most", 0.0, "the same scheme in time", 2.0
    )
    if 2.5e-3 in steps:
        off = [1e3 * np.abs(best[round(t / 2.5e-3)] - wanted).max() for t, wanted in SOFT_TIP.items()]
        metrics["soft, full: tip at 2.5 ms"] = metric(max(off), "mm off at most", 0.0, OWN, 3.0)
    for step in steps:
        label = f"at {1e3 * step:g} ms"
        metrics[f"soft, hybrid against full {label}"] = metric(
            apart(tips["hybrid", step], tips["full", step]).max(), "mm at most", 0.0,
            f"3.6 mm at 5, 4.6 mm at 10 ms, {OWN}; small discrepancies in Boyer 2023, fig. 4", 5.0,
        )  # fmt: skip
        if 2.5e-3 in steps and step > 2.5e-3:
            rms = {name: np.sqrt(np.mean(apart(tips[name, step], best) ** 2)) for name in SCHEMES}
            for name, value in rms.items():
                metrics[f"soft, {name} {label}: tip against 2.5 ms"] = metric(
                    value, "mm rms", SOFT_RMS[name][step], OWN, 0.5
                )
            metrics[f"soft, full over hybrid {label}: tip against 2.5 ms"] = metric(
                rms["full"] / rms["hybrid"], "1", 0.5, "below 1: full is the better one, Boyer 2023, fig. 4", 0.5
            )
        total = energies(runs["full", step], YOUNG / 100.0)["total"]
        if step in SOFT_LOSS:
            # as the regression seems to count: gravity zero at the clamp, from the first step to the last
            clamp = total - 0.5 * GRAVITY * DENSITY * np.pi * RADIUS**2 * LENGTH**2
            metrics[f"soft, full {label}: energy lost, zero at the clamp"] = metric(
                100.0 * (1.0 - clamp[-1] / clamp[1]), "%", CLAMP_LOSS[step], f"{OWN}; its zero is our reading", 0.5
            )
            metrics[f"soft, full {label}: energy drift"] = metric(
                drift(total), "%", 0.0, "conservation; bound as measured", SOFT_LOSS[step]
            )
    coords["xy"] = ("xy", ["x", "y"])
    for (name, step), values in tips.items():
        axis = f"soft/{1e3 * step:g}ms"
        coords[axis] = (axis, runs[name, step].time, {"units": "s"})
        data[f"soft/{name}/{1e3 * step:g}ms"] = ((axis, "xy"), values, {"units": "m", "long_name": "tip, x down"})
    data["soft/modes"] = ((axis, "xy"), modes, {"units": "m", "long_name": "tip, x down"})
    return _scene(runs["full", steps[-1]], coords)


def _faded(metrics: dict[str, Any], data: dict[str, Any], coords: dict[str, Any]) -> None:
    """The force of the soft rod fades within 0.1 s: order of the scheme."""
    system, state, hold = soft()
    fade = {hold: ev.c2_ramp(0.0, 0.1, FORCE, 0.0)}
    tips = [tip(shooting_dynamics(system, state, 0.5, step, fade, **SOFT)) for step in STEPS]
    far, near = (apart(one, other) for one, other in pairwise(tips))
    rms = [float(np.sqrt(np.mean(values**2))) for values in (far, near)]
    metrics["soft, faded: 10 to 5 ms over 5 to 2.5 ms"] = metric(rms[0] / rms[1], "1", 4.0, "second order", 1.0)
    for name, values, step in (("far", far, STEPS[0]), ("near", near, STEPS[1])):
        axis = f"faded/{name}/time"
        coords[axis] = (axis, step * np.arange(values.size), {"units": "s"})
        data[f"faded/{name}"] = (axis, values, {"units": "mm", "long_name": "tip against half the step"})


def _scene(motion: RodMotion, coords: dict[str, Any]) -> dict[str, Any]:
    """Shapes of a motion by the names of a run."""
    coords["time"] = ("time", motion.time, {"units": "s"})
    coords["arm/s"] = ("arm_node", motion.s, {"units": "m"})
    position = motion.pose[:, :, :3, 3]
    return {
        "arm/position": (("time", "arm_node", "xyz"), position, {"units": "m"}),
        "arm/orientation": (("time", "arm_node", "wxyz"), so3.to_quaternion(motion.pose[:, :, :3, :3]), {"units": "1"}),
        "arm/half_width": (("arm_node", "yz"), np.full((motion.s.size, 2), RADIUS), {"units": "m"}),
        "arm/tip/position": (("time", "xyz"), position[:, -1], {"units": "m"}),
    }
