"""Tests 1 and 2 of Boyer 2023: an arm hangs, one tendon pulls it from 0 to 67.5 N; at 15 N the tendon is cut.

The rod is 0.4 m of steel, 2 mm thick (the paper leaves the radius out; 1 mm agrees with all it reports), with disks
that carry the tendon 20 mm from its axis: straight to the axis at the tip ("convergent"), or once around it ("spiral").
The paper takes the tendon's pull on the straight rod ("neglected"); elver follows the strained one ("exact").
The release steps 1 ms with Newmark (1/4, 1/2).

The paper shows figures, not tables: the reference values are shooting results on its data, in its axes (x down along
the hanging rod, y toward the tendon at the base). They start with zero curvature acceleration, which the paper does
not state, and so does this page: tips then agree to 0.1 mm over the second. That is agreement of two programs at one
step, not convergence: the cut is sudden, and the accelerations that balance at once, or half the step, move the tip
by 3 mm within 0.3 s and by up to 5 mm within the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import elver as ev
from elver import io
from elver.cli.gallery import metric

REACH = 0.02  # m, radius of the disks
LARGEST, CUT = 67.5, 15.0  # N
PATHS = {"convergent": ev.convergent(REACH, 0.0), "spiral": ev.helical(REACH, 1.0)}

# World axes of the hanging rod: its x down, its y to the world's x.
HANGING = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

SOURCE = "shooting on the data of Boyer 2023, test 1"
TIPS = {  # m, paper's axes
    ("convergent", "exact", 15.0): (0.38597, 0.09566, 0.0),
    ("convergent", "exact", 67.5): (0.15777, 0.31685, 0.0),
    ("convergent", "neglected", 15.0): (0.38596, 0.09566, 0.0),
    ("convergent", "neglected", 67.5): (0.15765, 0.31688, 0.0),
    ("spiral", "exact", 15.0): (0.39444, 0.00015, 0.04749),
    ("spiral", "exact", 67.5): (0.28178, 0.00154, 0.18807),
    ("spiral", "neglected", 15.0): (0.39444, 0.00016, 0.04749),
    ("spiral", "neglected", 67.5): (0.27967, 0.00218, 0.19019),
}
RELEASED = {  # s: m, height y of the tip, paper's axes
    0.02: 0.0450, 0.05: -0.0874, 0.1: 0.0700, 0.15: -0.0496, 0.2: 0.0238, 0.25: 0.0091,
    0.3: -0.0410, 0.4: -0.0803, 0.5: -0.0936, 0.6: -0.0616, 0.8: 0.0524, 1.0: 0.0910,
}  # fmt: skip


def arm(name: str, tendon: str, law: str = "exact", aside: float = 0.0) -> ev.System:
    """The arm with one tendon, called "pull", hanging from the ceiling ``aside`` [m] along the world's x."""
    steel = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    rod = ev.Rod(0.4, ev.Circle(1e-3), steel, ev.Legendre(bending=8, torsion=8), name=name)
    path = PATHS[tendon]
    pull: ev.Tendon | ev.Muscle
    if law == "exact":
        pull = ev.Tendon(rod, path, name="pull", reach=REACH)
    else:
        pull = ev.Muscle(rod, torque=lambda s: _straight_pull(path, s, rod.length), name="pull")
    pose = HANGING.copy()
    pose[0, 3] = aside
    return ev.System(ev.Mechanism.clamped(rod, pose=pose), [pull], [ev.Gravity()])


def _straight_pull(path: Any, s: np.ndarray, length: float) -> np.ndarray:
    """Couple D × t per newton, with the tangent t of the tendon on the straight rod."""
    D, D_prime = path(s, length)
    t = D_prime + np.array([1.0, 0.0, 0.0])
    return np.cross(D, t / np.linalg.norm(t, axis=1, keepdims=True))


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Statics of both tendons with both laws, the release, and the scenes of the film."""
    metrics: dict[str, dict[str, Any]] = {}
    parts: dict[str, xr.Dataset] = {}
    tips: dict[tuple[str, str, float], np.ndarray] = {}

    # test 1: tension from 0 to 67.5 N in steps of at most 10 N
    tensions = np.unique([*np.linspace(0.0, LARGEST, 10 if quick else 28), CUT])
    for tendon in PATHS:
        for law in ("exact", "neglected"):
            statics = _pulled(arm("arm", tendon, law), tensions)
            parts[f"{tendon}-{law}"] = statics
            for tension in (CUT, LARGEST):
                point = statics["arm/tip/position"].sel(tension=tension).values @ HANGING[:3, :3]
                tips[tendon, law, tension] = point
                for axis, value, wanted in zip("xyz", point, TIPS[tendon, law, tension], strict=True):
                    name = f"{tendon} {tension:g} N, {law}, tip {axis}"
                    metrics[name] = metric(value, "m", wanted, SOURCE, 1e-4)
    for tendon, wanted, tolerance in (("spiral", 1.4, 0.2), ("convergent", 0.0, 0.1)):
        exact, neglected = tips[tendon, "exact", LARGEST], tips[tendon, "neglected", LARGEST]
        part = 100.0 * np.linalg.norm(exact - neglected) / np.linalg.norm(exact - [0.4, 0.0, 0.0])
        name = f"{tendon}: tip moved by the strain in the tendon's law"
        metrics[name] = metric(part, "%", wanted, "Boyer 2023, test 1", tolerance)

    # test 2: the convergent tendon is cut at 15 N
    system = arm("arm", "convergent")
    released = _released(system)
    parts["released"] = released
    height = released["arm/tip/position"].values @ HANGING[:3, 1]
    time = released["time"].values
    for instant, wanted in RELEASED.items():
        value = height[np.argmin(np.abs(time - instant))]
        tolerance = 2e-3 if instant <= 0.3 else 5e-3
        metrics[f"released, tip y at {instant:g} s"] = metric(
            value, "m", wanted, "shooting at 1 ms on the data of Boyer 2023, test 2", tolerance
        )
    frequency = _frequency(time, height)
    metrics["frequency"] = metric(frequency, "Hz", 8.95, "shooting at 1 ms on the data of Boyer 2023, test 2", 0.05)
    energy = released["energy/total"].values
    stored = energy[0] - ev.energy(system, system.rest()).total
    drift = 100.0 * float(np.max(np.abs(energy - energy[0]))) / stored
    metrics["energy drift"] = metric(drift, "%", 0.0, "conservation", 0.5)

    # the film: both arms side by side, and the spiral's release
    if not quick:
        for tendon, aside in (("convergent", -0.2), ("spiral", 0.26)):
            system = arm(tendon, tendon, aside=aside)
            parts[f"film-pulled-{tendon}"] = _pulled(system, np.linspace(0.0, LARGEST, 61))
            # torsion of the thin rod rings at kilohertz, which 1 ms cannot follow: damp it
            parts[f"film-released-{tendon}"] = _released(system, ev.GeneralizedAlpha(rho_inf=0.6))
    return io.collect(parts), metrics


def _pulled(system: ev.System, tensions: np.ndarray) -> xr.Dataset:
    """Equilibria along rising tension, each from the one before."""
    name = system.rod.name
    near = ev.equilibrium(system, {"pull": 0.0})
    positions, orientations = [], []
    for tension in tensions:
        near = ev.equilibrium(system, {"pull": tension}, guess=near)
        g = ev.poses(system, near.state)
        positions.append(g[:, :3, 3])
        orientations.append(g[:, :3, :3])
    node = f"{name}_node"
    position = np.array(positions)
    data = {
        f"{name}/position": (("tension", node, "xyz"), position, {"units": "m"}),
        f"{name}/rotation": (("tension", node, "row", "column"), np.array(orientations), {"units": "1"}),
        f"{name}/tip/position": (("tension", "xyz"), position[:, -1], {"units": "m"}),
        f"{name}/s": (node, ev.nodes(system), {"units": "m"}),
    }
    return xr.Dataset(data, coords={"tension": ("tension", tensions, {"units": "N"})})


def _released(system: ev.System, method: Any = ev.Newmark()) -> xr.Dataset:  # noqa: B008 (a frozen value)
    """One second after the tendon is cut at 15 N."""
    bent = ev.equilibrium(system, {"pull": CUT})
    return ev.simulate(system, bent, duration=1.0, step=1e-3, method=method, inputs={"pull": 0.0}, start="given")


def _frequency(time: np.ndarray, height: np.ndarray) -> float:
    """Beats per second, from the first to the last downward crossing."""
    k = np.flatnonzero((height[:-1] > 0.0) & (height[1:] <= 0.0))
    crossings = time[k] + (time[k + 1] - time[k]) * height[k] / (height[k] - height[k + 1])
    return float((crossings.size - 1) / (crossings[-1] - crossings[0]))
