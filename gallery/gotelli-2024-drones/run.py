"""Two drones, a payload between them, and two soft rods: a free chain of five parts under feedback.

    drone 0 - rod 2 - payload 3 - rod 5 - drone 6,   all joints fixed, drone 0 the floating base, no gravity

Each drone applies a wrench in its own frame, by proportional and integral control of its twist,

    F = k_P e + k_I ∫ e dt,   e = Ad(g⁻¹ g_d) η_d - η = (-Ω; Rᵀ V_d - V)       (3.65), (3.66)

where V_d = (0, 0, sin π t) for drone 0 and (0, 0, sin π t/2) for drone 6 [m/s], in world axes. The integral runs by the
trapezoidal rule with the steps of the simulation, and its tangent is part of Newton's matrix.

The rods are the thesis': 1 m, 7 cm thick, 950 kg/m3, 0.25 MPa, three Chebyshev polynomials per curvature and torsion,
Newmark (1/4, 1/2), 10 s in steps of 10 ms. It gives no inertias, and no numbers beyond "3 Newton steps" and pictures;
chosen here: bodies that are points for the geometry, drones of 1 kg and 0.01 kg m2, a payload of 0.5 kg and
0.005 kg m2, G = E/3; the chain starts at rest, straight along x. With these the payload runs through a loop every four
seconds, as the slower drone does, but a narrow one: the thesis sees almost a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import elver as ev
from elver.cli.gallery import metric
from elver.lie import so3

K_P, K_I = 20.0, 2.5  # N s/m and N m s/rad; N/m and N m/rad
STEP = 1e-2
TARGETS: dict[str, Callable[[float], float]] = {  # upward velocity [m/s]
    "drone0": lambda t: float(np.sin(np.pi * t)),
    "drone6": lambda t: float(np.sin(0.5 * np.pi * t)),
}


def error(v_d: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """e = (-Omega; R^T V_d - V) in the drone's axes, with V_d = (0, 0, v_d) in the world, (6,)."""
    return np.concatenate([-eta[:3], g[2, :3] * v_d - eta[3:]])


def error_slope(v_d: float, g: np.ndarray) -> np.ndarray:
    """Variation of e with the pose, g exp(zeta), and with the twist, (6, 12): Rᵀ V_d turns by (Rᵀ V_d) × zeta."""
    slope = np.zeros((6, 12))
    slope[3:, :3] = so3.hat(g[2, :3] * v_d)
    slope[:, 6:] = -np.eye(6)
    return slope


class Controller:
    """Proportional and integral control of the twist of one drone.

    It remembers the errors of past steps for the integral. Newton's trials at one instant replace each other, and an
    instant that comes again, since its step was divided, drops what was remembered beyond it: what stays is the motion
    that was taken.
    """

    def __init__(self, target: Callable[[float], float]) -> None:
        self.target = target
        self.past: list[tuple[float, np.ndarray, np.ndarray]] = []  # t, e, ∫ e dt

    def wrench(self, t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """F (6,) in the drone's axes, and a note of e."""
        while self.past and self.past[-1][0] >= t - 1e-9:
            self.past.pop()
        e = error(self.target(t), g, eta)
        integral = np.zeros(6)
        if self.past:
            t_before, e_before, before = self.past[-1]
            integral = before + 0.5 * (t - t_before) * (e_before + e)
        self.past.append((t, e, integral))
        return K_P * e + K_I * integral

    def tangent(self, t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """dF (6, 12), asked for after F: the integral moves with half the step."""
        step = t - self.past[-2][0] if len(self.past) > 1 else 0.0
        return (K_P + 0.5 * K_I * step) * error_slope(self.target(t), g)

    def history(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instants (T,), errors e (T, 6) and wrenches F (T, 6) of the motion that was taken."""
        t, e, integral = (np.array(column) for column in zip(*self.past, strict=True))
        return t, e, K_P * e + K_I * integral


def chain(controllers: dict[str, Controller]) -> ev.System:
    """Drone, rod, payload, rod, drone along x."""
    rubber = ev.Material(young=0.25e6, shear=0.25e6 / 3.0, density=950.0)
    rods = [ev.Rod(1.0, ev.Circle(0.035), rubber, ev.Chebyshev.kirchhoff(3), name=name) for name in ("rod2", "rod5")]
    drones = [
        ev.RigidBody(1.0, (0.01, 0.01, 0.01), name=name, shape=ev.Box((0.16, 0.16, 0.09))) for name in controllers
    ]
    payload = ev.RigidBody(0.5, (0.005, 0.005, 0.005), name="payload", shape=ev.Sphere(0.06))
    mechanism = ev.Mechanism(
        [
            ev.Floating("world", drones[0]),
            ev.Fixed(drones[0], (rods[0], "base")),
            ev.Fixed((rods[0], "tip"), payload),
            ev.Fixed(payload, (rods[1], "base")),
            ev.Fixed((rods[1], "tip"), drones[1]),
        ]
    )
    control = [
        ev.Feedback(drone, wrench=controllers[drone.name].wrench, tangent=controllers[drone.name].tangent)
        for drone in drones
    ]
    return ev.System(mechanism, loads=control)


def fly(duration: float, step: float = STEP) -> xr.Dataset:
    """The flight from rest, with velocities [m/s, world] and wrenches [N m, N, own axes] of the drones beside it."""
    controllers = {name: Controller(target) for name, target in TARGETS.items()}
    # 1e-8 rad per step is far below truncation; the default, made for long energy balances, takes one iteration more
    run = ev.simulate(chain(controllers), None, duration, step, ev.Newmark(tolerance=1e-8))
    for name, controller in controllers.items():
        _, e, wrench = controller.history()
        target = np.array([controller.target(t) for t in run["time"].values])
        velocity = np.outer(target, (0.0, 0.0, 1.0)) - _turned(run, name, e[:, 3:])
        run[f"{name}/target"] = ("time", target, {"units": "m/s", "long_name": "wanted upward velocity"})
        run[f"{name}/velocity"] = (("time", "xyz"), velocity, {"units": "m/s", "long_name": "velocity, world"})
        run[f"{name}/omega"] = (("time", "xyz"), -e[:, :3], {"units": "rad/s", "long_name": "angular velocity, own"})
        run[f"{name}/wrench"] = (("time", "six"), wrench, {"units": "N m, N", "long_name": "by control, own axes"})
    return run


def impulse(run: xr.Dataset) -> np.ndarray:
    """Integral (T, 6) of the wrenches about the world origin, world axes: what the momentum must be."""
    total = np.zeros((run.sizes["time"], 6))
    for name in TARGETS:
        wrench = run[f"{name}/wrench"].values
        force = _turned(run, name, wrench[:, 3:])
        total[:, 3:] += force
        total[:, :3] += _turned(run, name, wrench[:, :3]) + np.cross(run[f"{name}/position"].values, force)
    return _integral(total, run["time"].values)


def work(run: xr.Dataset) -> np.ndarray:
    """Work (T,) [J] of the wrenches: what the energy must be."""
    power = np.zeros(run.sizes["time"])
    for name in TARGETS:
        wrench = run[f"{name}/wrench"].values
        power += np.sum(wrench[:, :3] * run[f"{name}/omega"].values, axis=1)
        power += np.sum(_turned(run, name, wrench[:, 3:]) * run[f"{name}/velocity"].values, axis=1)
    return _integral(power, run["time"].values)


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Ten seconds of flight, three when quick."""
    flight = fly(3.0 if quick else 10.0)
    metrics: dict[str, dict[str, Any]] = {}
    metrics["Newton steps, mean"] = metric(
        flight["newton_iterations"].values[1:].mean(), "1", 0.0, "Gotelli 2024: 3 on average; not more", 3.0
    )
    miss, momentum = flight["momentum"].values - impulse(flight), flight["momentum"].values
    for name, part in (("linear", slice(3, 6)), ("angular", slice(0, 3))):
        away = np.linalg.norm(miss[:, part], axis=1).max() / np.linalg.norm(momentum[:, part], axis=1).max()
        metrics[f"{name} momentum against the impulse"] = metric(
            away, "of the largest", 0.0, "Newton's law; to the order of the step", 1e-3
        )
    energy = flight["energy/total"].values
    metrics["energy against the work of the wrenches"] = metric(
        np.max(np.abs(energy - work(flight))) / energy.max(), "of the largest", 0.0, "to the order of the step", 5e-3
    )
    for name in TARGETS:
        target, velocity = flight[f"{name}/target"].values, flight[f"{name}/velocity"].values[:, 2]
        metrics[f"{name}: upward velocity against its target"] = metric(
            np.sqrt(np.mean((velocity - target) ** 2)), "m/s, root mean square", 0.0,
            "none printed; to do better than standing still", float(np.sqrt(np.mean(target**2))),
        )  # fmt: skip
    metrics["motion out of the plane"] = metric(
        max(np.abs(flight[f"{part}/position"].values[..., 1]).max() for part in ("rod2", "rod5")), "m", 0.0,
        "symmetry", 1e-9,
    )  # fmt: skip
    return flight, metrics


def _turned(run: xr.Dataset, name: str, vectors: np.ndarray) -> np.ndarray:
    """Vectors (T, 3) of a drone's axes in those of the world."""
    return np.einsum("tij,tj->ti", so3.from_quaternion(run[f"{name}/orientation"].values), vectors)


def _integral(rate: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Trapezoidal rule from the first instant on."""
    steps = np.diff(time).reshape(-1, *[1] * (rate.ndim - 1))
    return np.concatenate([np.zeros_like(rate[:1]), np.cumsum(0.5 * steps * (rate[1:] + rate[:-1]), axis=0)])
