"""Inverse statics in two passes and inverse dynamics in three, along the rod and without strain modes.

*Tendon arm* (test 1): the equilibria of the convergent and of the spiral tendon, 0 to 67.5 N, from strain modes; the
shape alone goes into the two passes, the stress that must act comes out, and least squares of it on the tendons (both,
and two that do not pull) give the tensions back. The rod is 0.4 m of steel, 2 mm thick, as in the page of the arm.

*Swimmer* (test 4): the strain of the gait

    K_d(s, t) = f(t) (1 + s/2 + 2 s²) sin 2π(s - t)  [1/m, m, s]

is imposed, the Riccati sweep (84) with the inertia of body and water gives the acceleration of the head (85), which
Runge-Kutta 4 integrates with 10 ms, and the couple of the muscles. Chosen as in the page of the swimmer, since the
paper prints no numbers: circles of 0.1 m, 1000 kg/m3, k = 50 N m²; the references are a shooting solution of these
data.

*Arm in space*: a soft arm moves its three curvatures, each a polynomial of degree three in s. The stress of the three
passes, fed back to the forward dynamics of strain modes by Newmark (1/4, 1/2), returns the motion to the square of
the step (0.4 s: nothing corrects it, and errors grow with time). *Free rod in space*: the same strains on a free rod;
its momentum stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import CubicSpline

import elver as ev
from elver.cli.gallery import metric
from elver.lie import se3
from elver.numerics.polynomials import legendre
from elver.one_rod.sweeps.inverse import (
    MotionStress,
    StrainMotion,
    stress_of_motion,
    stress_of_shape,
    tensions_of_stress,
)

STEP = 1e-2  # s
SHOOTING = "shooting on the data of Boyer 2023, test 4, at 10 ms"
SPEED = (-0.107, -0.170, -0.231, -0.288, -0.342, -0.394)  # V_x of the head at 1, 2, ... 6 s [m/s], inverse run
LATERAL, WAY = 0.231, -1.074  # V_y of the head at 3 s [m/s]: -V_3 there; x of the head at 6 s [m]
REACH, DOWN = 0.02, (9.81, 0.0, 0.0)  # m, radius of the disks; m/s², the arm hangs along its x


# Statics --------------------------------------------------------------------------------------------------------


def tendon_arm() -> tuple[ev.Rod, dict[str, ev.Tendon], ev.System]:
    """The arm with four tendons, two of which the paper has."""
    steel = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    rod = ev.Rod(0.4, ev.Circle(1e-3), steel, ev.Legendre.kirchhoff(12), name="arm", nodes=60)
    paths = {
        "convergent": ev.convergent(REACH, 0.0),
        "spiral": ev.helical(REACH, 1.0),
        "opposite": ev.convergent(-REACH, 0.0),
        "aside": ev.convergent(0.0, REACH),
    }
    tendons = {name: ev.Tendon(rod, path, name=name, reach=1.01 * REACH) for name, path in paths.items()}
    system = ev.System(ev.Mechanism.clamped(rod), actuators=list(tendons.values()), loads=[ev.Gravity(DOWN)])
    return rod, tendons, system


def tensions_back(pulled: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Tensions (pulls, 4) that come back for each of the two tendons, and the largest residual."""
    rod, tendons, system = tendon_arm()
    back: dict[str, np.ndarray] = {}
    worst = []
    for name in ("convergent", "spiral"):
        rows, near = [], None
        for tension in pulled:
            near = ev.equilibrium(system, {name: tension}, guess=near)
            q = near.state.q
            found = stress_of_shape(rod, lambda s, q=q: rod.strain(s, q), gravity=DOWN)
            answer = tensions_of_stress(rod, found, list(tendons.values()))
            rows.append(answer.tensions)
            worst.append(answer.residual)
        back[name] = np.array(rows)
    return back, np.array(worst)


def free_of_stress() -> float:
    """Largest |Λ| over T R_d [1] in the closed form of the convergent tendon without gravity, where Λ is zero.

    K_z = T R_d (1 - s/L)/(EI √(1 + (R_d/L)²)) with the pull on the straight rod; Λ_act then balances 𝓗(ξ - ξ₀).
    """
    rod, _, _ = tendon_arm()
    EI = rod.stiffness(np.array([0.0]))[0, 2]
    slope = REACH / rod.length
    scale = 67.5 * REACH / np.sqrt(1.0 + slope**2)
    shape = lambda s: rod.rest_strain(s) + np.outer(1.0 - s / rod.length, (0, 0, scale / EI, 0, 0, 0))  # noqa: E731
    found = stress_of_shape(rod, shape)
    wanted = np.outer(1.0 - found.s / rod.length, (0, 0, -scale, 0, 0, 0))
    return float(max(np.max(np.abs(found.stress)), np.max(np.abs(found.stress_act - wanted)))) / scale


# The swimmer ----------------------------------------------------------------------------------------------------


class Eel:
    """One metre, circles of 0.1 m, as dense as water, k = 50 N m² in bending."""

    length, component = 1.0, (2,)
    mass = 1e3 * np.pi * 0.05**2  # kg/m; across the body the water carries as much
    added = np.array([0.0, 0.0, 0.0, 0.0, mass, mass])

    def inertia(self, s: np.ndarray) -> np.ndarray:
        rotary = self.mass * 0.05**2 / 4.0
        return np.tile((2.0 * rotary, rotary, rotary, *(self.mass,) * 3), (len(s), 1))

    def stiffness(self, s: np.ndarray) -> np.ndarray:
        return np.tile((50.0, 50.0, 50.0, 1.0, 1.0, 1.0), (len(s), 1))

    def rest_strain(self, s: np.ndarray) -> np.ndarray:
        return np.tile((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), (len(s), 1))

    def water(self, s: np.ndarray) -> np.ndarray:
        return np.tile(self.added, (len(s), 1))

    def tail(self, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """V_x 𝓜_a η - (0; T_f e_x) (91)."""
        carried = self.added * eta
        wrench = eta[3] * carried
        wrench[3] -= 0.5 * eta @ carried
        return wrench


EEL = Eel()


def gait(t: float) -> StrainMotion:
    """Strain of the gait and its rates, with the C² ramp of the first second."""
    tau = min(max(t, 0.0), 1.0)
    ramp = tau - np.sin(2 * np.pi * tau) / (2 * np.pi)
    first = 1.0 - np.cos(2 * np.pi * tau) if 0.0 < t < 1.0 else 0.0
    second = 2 * np.pi * np.sin(2 * np.pi * tau) if 0.0 < t < 1.0 else 0.0
    w = 2 * np.pi

    def bend(amount: Callable[[np.ndarray], np.ndarray], straight: float) -> Callable[[np.ndarray], np.ndarray]:
        def strain(s: np.ndarray) -> np.ndarray:
            values = np.zeros((len(s), 6))
            values[:, 2], values[:, 3] = (1.0 + 0.5 * s + 2.0 * s**2) * amount(w * (s - t)), straight
            return values

        return strain

    return StrainMotion(
        bend(lambda x: ramp * np.sin(x), 1.0),
        bend(lambda x: first * np.sin(x) - w * ramp * np.cos(x), 0.0),
        bend(lambda x: (second - w**2 * ramp) * np.sin(x) - 2 * w * first * np.cos(x), 0.0),
    )


def swim(duration: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[MotionStress]]:
    """Times, poses (T, 4, 4) and twists (T, 6) of the head, and the stress every 50 ms."""

    def at(t: float, g: np.ndarray, eta: np.ndarray) -> MotionStress:
        return stress_of_motion(
            EEL, gait(t), base=g, eta=eta, added_inertia=EEL.water, tip_wrench=EEL.tail, elements=4
        )

    return _integrated(at, duration, STEP, np.zeros(6))


def _integrated(
    at: Callable[[float, np.ndarray, np.ndarray], MotionStress], duration: float, step: float, eta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[MotionStress]]:
    """Runge-Kutta 4 of g′ = g η̂ (in exponential coordinates of each step) and η′."""
    steps = round(duration / step)
    g, poses, twists, stress = np.eye(4), [np.eye(4)], [eta], []
    for k in range(steps):
        t, x = k * step, np.zeros((4, 6))
        rates = np.zeros((4, 12))
        for stage, part in enumerate((0.0, 0.5, 0.5, 1.0)):
            before = rates[max(stage - 1, 0)]
            x[stage] = part * step * before[:6]
            now = eta + part * step * before[6:]
            found = at(t + part * step, g @ se3.exp(x[stage]), now)
            if stage == 0 and k % 5 == 0:
                stress.append(found)
            rates[stage] = np.concatenate([se3.dexp_inv(x[stage]) @ now, found.eta_dot[0]])
        mean = (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3]) / 6.0
        g, eta = g @ se3.exp(step * mean[:6]), eta + step * mean[6:]
        poses.append(g)
        twists.append(eta)
    return step * np.arange(steps + 1), np.array(poses), np.array(twists), stress


# Motions in space -----------------------------------------------------------------------------------------------


COUNT = 4  # polynomials per curvature


def soft_arm() -> ev.Rod:
    flesh = ev.Material(young=5e5, poisson=0.4, density=1000.0, damping=0.05)
    return ev.Rod(0.5, ev.Circle(0.02), flesh, ev.Legendre.kirchhoff(COUNT), name="arm", nodes=40)


def wanted(t: float) -> np.ndarray:
    """q, q̇, q̈ (3, 12) of the three curvatures: sums of two tones, smaller for higher degrees."""
    degree = np.tile(np.arange(COUNT), 3)
    size = 3.0 / (1.0 + degree) ** 2
    w = 2 * np.pi * np.outer((0.9, 1.7), np.ones(3 * COUNT))
    phase = np.outer((1.0, 0.6), np.arange(3 * COUNT))
    x, parts = w * t + phase, size * np.array([[0.6], [0.4]])
    return np.array([(parts * np.sin(x)).sum(0), (parts * w * np.cos(x)).sum(0), -(parts * w**2 * np.sin(x)).sum(0)])


def stress_coefficients(rod: ev.Rod, time: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """Legendre coefficients (T, 3, COUNT) [N m] of Λ_act that the wanted motion of the clamped arm needs."""
    scale = (2.0 * np.arange(COUNT) + 1.0) / rod.length
    rows = []
    for t in time:
        motion = StrainMotion.of(rod, *wanted(t))
        found = stress_of_motion(rod, motion, eta_dot=np.zeros(6), gravity=gravity, elements=6)
        P = legendre(found.s, COUNT, rod.length)
        rows.append(np.einsum("s,sk,sc->ck", found.weights, P, found.stress_act[:, :3]) * scale)
    return np.array(rows)


def fed_back(duration: float, steps: tuple[float, ...]) -> list[float]:
    """Largest error of the curvature coefficients [1/m] in forward runs with the stress of the inverse model."""
    rod, gravity = soft_arm(), np.array([0.0, 0.0, -9.81])
    fine = np.linspace(0.0, duration, round(400 * duration) + 1)
    rows = stress_coefficients(rod, fine, gravity)
    muscles, inputs = [], {}
    for c in range(3):
        for k in range(COUNT):
            muscle = ev.Muscle(
                rod, torque=lambda s, c=c, k=k: np.outer(legendre(s, COUNT, rod.length)[:, k], np.eye(3)[c]),
                name=f"C_{'xyz'[c]}{k}",
            )  # fmt: skip
            muscles.append(muscle)
            inputs[muscle] = CubicSpline(fine, rows[:, c, k])
    system = ev.System(ev.Mechanism.clamped(rod), actuators=muscles, loads=[ev.Gravity(tuple(gravity))])
    q, q_dot, q_ddot = wanted(0.0)
    start = system.rest().with_(q=q, q_dot=q_dot, q_ddot=q_ddot)
    errors = []
    for step in steps:
        out = ev.simulate(system, start, duration, step, ev.Newmark(), inputs)
        exact = np.array([wanted(t)[0] for t in out["time"].values])
        errors.append(float(np.max(np.abs(out["q"].values - exact))))
    return errors


def momentum_of_a_free_rod(duration: float) -> float:
    """Largest change of momentum, over that of the parts of the body, while a free rod moves its curvatures."""
    rod = soft_arm()

    def at(t: float, g: np.ndarray, eta: np.ndarray) -> MotionStress:
        return stress_of_motion(rod, StrainMotion.of(rod, *wanted(t)), base=g, eta=eta, elements=6)

    time, poses, twists, _ = _integrated(at, duration, 2.5e-3, np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.1]))
    totals, size = [], 0.0
    for k in range(0, len(time), max(1, len(time) // 5)):
        found = at(time[k], poses[k], twists[k])
        parts = np.einsum("sij,sj->si", se3.coAd(found.g), rod.inertia(found.s) * found.eta)
        totals.append(found.weights @ parts)
        size = max(size, float(np.max(found.weights @ np.abs(parts))))
    return float(np.max(np.abs(np.array(totals) - totals[0]))) / size


# The page -------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Quick: fewer tensions, two seconds of swimming instead of six, shorter motions in space."""
    metrics: dict[str, dict[str, Any]] = {}
    data: dict[str, Any] = {}

    # statics
    pulled = np.array([15.0, 67.5]) if quick else np.linspace(7.5, 67.5, 9)
    back, residual = tensions_back(pulled)
    data["tension"] = ("pull", pulled, {"units": "N"})
    for k, name in enumerate(("convergent", "spiral")):
        exact = np.zeros_like(back[name])
        exact[:, k] = pulled
        metrics[f"{name}: tensions from the shape"] = metric(
            np.max(np.abs(back[name] - exact) / pulled[:, None]), "of the tension", 0.0, "the tension that pulled", 1e-6
        )
        data[f"{name}/tensions"] = (("pull", "tendon"), back[name], {"units": "N"})
    metrics["stress that the tendons do not make"] = metric(np.max(residual), "of it", 0.0, "truncation of modes", 1e-5)
    metrics["closed form of the convergent tendon: stress"] = metric(
        free_of_stress(), "of T R_d", 0.0, "C = N = 0 without gravity (Boyer 2023, tendon law)", 1e-12
    )

    # swimming
    duration = 2.0 if quick else 6.0
    time, poses, twists, stress = swim(duration)
    whole = np.arange(1, round(duration) + 1)
    ours, published = twists[100 * whole, 3], np.array(SPEED[: whole.size])
    metrics["swimmer: V_x of the head, every second"] = metric(
        100.0 * np.max(np.abs(ours / published - 1.0)), "% off at most", 0.0, SHOOTING, 2.0
    )
    if not quick:
        metrics["swimmer: V_y of the head at 3 s"] = metric(twists[300, 4], "m/s", LATERAL, SHOOTING, 0.02 * LATERAL)
        metrics["swimmer: x of the head at 6 s"] = metric(poses[-1, 0, 3], "m", WAY, SHOOTING, 0.01)
    largest = max(np.max(np.abs(found.stress)) for found in stress)
    metrics["swimmer: stress at the nose"] = metric(
        max(np.max(np.abs(found.stress[0])) for found in stress) / largest, "of the largest", 0.0, "free end", 1e-10
    )
    data["speed"] = ("time", twists[:, 3], {"units": "m/s"})
    data["head"] = (("time", "xyz"), poses[:, :3, 3], {"units": "m"})
    data["act"] = (("instant", "node"), np.array([found.stress_act[:, 2] for found in stress]), {"units": "N m"})
    data["couple"] = (("instant", "node"), np.array([found.stress[:, 2] for found in stress]), {"units": "N m"})
    data["shape"] = (("instant", "node", "xyz"), np.array([found.g[:, :3, 3] for found in stress]), {"units": "m"})
    data["instant"] = ("instant", time[:-1:5], {"units": "s"})
    data["node"] = ("node", stress[0].s, {"units": "m"})

    # in space
    steps = (2e-2, 1e-2, 5e-3) if quick else (2e-2, 1e-2, 5e-3, 2.5e-3, 1.25e-3)
    errors = fed_back(0.4, steps)
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    data["step"], data["fed_back"] = ("step", np.array(steps), {"units": "s"}), ("step", np.array(errors))
    metrics["stress fed back: order in the step"] = metric(order, "1", 2.0, "Newmark (1/4, 1/2)", 0.2)
    metrics["stress fed back: curvature at 5 ms"] = metric(errors[2], "1/m", 0.0, "the wanted motion", 2e-3)
    metrics["free rod in space: change of momentum"] = metric(
        momentum_of_a_free_rod(0.1 if quick else 0.5), "of its parts", 0.0, "conservation; Runge-Kutta 4, 2.5 ms", 5e-8
    )
    coordinates = {name: data.pop(name) for name in ("instant", "node", "step")}
    return xr.Dataset(data, {**coordinates, "time": ("time", time, {"units": "s"})}), metrics
