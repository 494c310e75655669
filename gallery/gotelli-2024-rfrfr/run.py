"""The case study of Gotelli 2024, chapter 5: two rods on motors, hinged to each other at their tips (RFRFR).

Rods of 1 m of steel, 2 mm thick, stand on motors 0.4 m apart and bend in their plane, three Legendre functions each;
the hinge P closes the loop. From 1 s to 2 s both motors fold the robot with 0.5 N m; from 4 s to 7 s one of them
pulses. Generalized-alpha, rho_inf = 0.6, 10 ms. No gravity, no damping, no platform.

The thesis shows figures; the references are check values: its equations solved by another program with the same
functions, steps and scheme. The hinge asks five things of which three hold already in the plane: they are found and
dropped.

Where the loop is cut should not matter, and does a little. Closures hold positions to rounding, and velocities only to
the truncation of the scheme, O(h²). Cut at P, rod 2 moves as its own coordinates say; cut at the motor J4, it hangs
from rod 1 and inherits that error. The two paths are 0.02 mm apart at 10 ms (a sixtieth of the error of the step
itself) and approach each other as h²: they agree to 1e-8 m from 0.2 ms on. Gauss methods hold velocities too: with
order four the paths agree to 1e-8 m at 10 ms already. A massless apex that floats in the plane
between two closures has no inertia that could feel the difference, and gives the same path to rounding at any step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np
import xarray as xr

import elver as ev
from elver import io
from elver.cli.gallery import metric
from elver.lie import so3

Cut: TypeAlias = Literal["hinge", "motor", "apex"]

CHECK = "check value: independent solution of Gotelli 2024, section 5.4"
HALF = 0.2  # m, half the distance of the motors
FOLD, PULSE = 0.5, 0.04  # N m
STATICS = {3: (0.221224, 0.854820, -0.584918), 8: (0.219525, 0.854187, -0.585352)}  # q_1, y of P, force along x
TABLE = {  # at 10 ms: q_1, x and y of P
    1.5: (0.84533, 0.0, 0.95239),
    2.0: (0.21560, 0.0, 0.85330),
    3.0: (0.20380, 0.0, 0.85009),
    4.5: (0.36664, -0.02590, 0.87613),
    5.5: (0.35940, -0.02192, 0.87458),
    7.0: (0.22701, 0.00408, 0.85669),
}
FINE_TABLE = {  # at 2.5 ms
    1.5: (0.84515, 0.0, 0.95237),
    2.0: (0.21592, 0.0, 0.85338),
    3.0: (0.20426, 0.0, 0.85021),
    4.5: (0.36901, -0.02602, 0.87672),
    5.5: (0.36255, -0.02246, 0.87536),
    7.0: (0.22508, 0.00384, 0.85616),
}
STEPS = (2e-2, 1e-2, 5e-3, 2.5e-3)  # s, of the comparison of cuts
SMALLEST_STEP = 2e-4


# The robot ------------------------------------------------------------------------------------------------------


ALPHA = ev.GeneralizedAlpha(rho_inf=0.6)


def robot(functions: int = 3, cut: Cut = "hinge") -> ev.System:
    """Two rods, two motors, one hinge; the loop cut at the hinge, at a motor, or around a massless apex."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    left, right = (
        ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(functions), name=n) for n in ("left", "right")
    )
    J1 = ev.Revolute(("world", (-HALF, 0.0, 0.0)), (left, "base"), name="J1", start=np.pi / 2)
    J4 = ev.Revolute(("world", (HALF, 0.0, 0.0)), (right, "base"), name="J4", start=np.pi / 2, cut=cut == "motor")
    motors: list[ev.Motor] = [ev.Motor(J1, name="tau_1"), ev.Motor(J4, name="tau_2")]
    if cut == "apex":
        apex = ev.RigidBody(mass=0.0, name="apex")
        joints = [
            J1, J4,
            ev.Planar("world", apex, name="plane", start=(0.0, 0.98, np.pi / 2)),
            ev.Fixed((left, "tip"), apex, name="F", cut=True),
            ev.Revolute(apex, (right, "tip"), name="P", cut=True),
        ]  # fmt: skip
        return ev.System(ev.Mechanism(joints), actuators=motors)
    mechanism = ev.Mechanism([J1, J4, ev.Revolute((left, "tip"), (right, "tip"), name="P")])
    if cut == "motor":
        # a cut joint has no coordinate to drive: the same torque, from the ground on the base of the rod
        torque = ev.PointWrench(right, at="base", moment=(0.0, 0.0, 1.0), name="tau_2")
        return ev.System(mechanism, actuators=motors[:1], loads=[torque])
    return ev.System(mechanism, actuators=motors)


# Torque of the right motor [N m]; the left one has it with the other sign.
fold = ev.smooth_step(1.0, 2.0, 0.0, FOLD)


def pulse(t: float) -> float:
    """What the left motor adds from 4 s to 7 s [N m]."""
    return PULSE * (1.0 - np.cos(2.0 * np.pi * (t - 4.0))) if 4.0 <= t <= 7.0 else 0.0


TORQUES: dict[str, Callable[[float], float]] = {"tau_1": lambda t: pulse(t) - fold(t), "tau_2": fold}
IDLE, HELD = {"tau_1": 0.0, "tau_2": 0.0}, {"tau_1": -FOLD, "tau_2": FOLD}


@contextmanager
def expecting_redundant_rows() -> Iterator[list[str]]:
    """Collects the notices about rows that a planar loop does not need."""
    heard: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ev.ElverWarning)
        yield heard
    heard += [str(w.message) for w in caught if issubclass(w.category, ev.ElverWarning)]
    for w in caught:
        if not issubclass(w.category, ev.ElverWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


# The runs -------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Assembly, statics, the trajectory at two steps, and the same robot cut at three places."""
    metrics: dict[str, dict[str, Any]] = {}
    parts: dict[str, xr.Dataset] = {}

    # assembly and statics
    system = robot()
    with expecting_redundant_rows() as heard:
        home = ev.equilibrium(system, IDLE)
    dropped = [name for text in heard for name in text.split(":")[1].split(" hold ")[0].split(",")]
    _add(metrics, "rows of the hinge dropped", len(dropped), "of 5", 3, "a planar loop needs two rows", 0)
    _add(metrics, "assembly: q_1", home.state.q[0], "rad", 1.369438, CHECK, 1e-6)
    _add(metrics, "assembly: q_4", home.state.q[4], "rad", 1.772154, CHECK, 1e-6)
    _add(metrics, "assembly: Newton iterations", home.iterations, "", 0, "at most 6", 6)
    for functions, wanted in STATICS.items():
        bent = robot(functions)
        with expecting_redundant_rows():
            held = ev.equilibrium(bent, HELD, guess=ev.equilibrium(bent, IDLE))
        g = ev.poses(bent, held.state, bent.mechanism.rods[0])[-1]
        force = g[:3, :3] @ held.state.multipliers[2:]
        found = (held.state.q[0], g[1, 3], force[0])
        for name, unit, value, reference in zip(("q_1", "y of P", "force in P"), ("rad", "m", "N"), found, wanted):
            _add(metrics, f"held torque, {functions} functions: {name}", value, unit, reference, CHECK, 1e-6)
        _add(metrics, f"held torque, {functions} functions: moment of the force in P", -force[0] * g[1, 3], "N m", FOLD,
             "balance of moments", 1e-9)  # fmt: skip

    # trajectory
    for name, part, step, table in (("10 ms", "coarse", 1e-2, TABLE), ("2.5 ms", "fine", 2.5e-3, FINE_TABLE)):
        out = ev.simulate(system, home, 10.0, step, ev.GeneralizedAlpha(rho_inf=0.6, tolerance=2e-9), TORQUES)
        parts[part] = out
        for instant, wanted in table.items():
            at = out.sel(time=instant, method="nearest")
            found = (float(at["q"][0]), *at["left/tip/position"].values[:2])
            _add(metrics, f"{name}: q_1, x, y at {instant:g} s", np.max(np.abs(np.subtract(found, wanted))),
                 "rad, m from reference", 0.0, CHECK, 1e-4)  # fmt: skip
        tips = out["left/tip/position"].values
        gap = np.max(np.abs(tips - out["right/tip/position"].values))
        _add(metrics, f"{name}: gap of the hinge", gap, "m, at all times", 0.0, "closure", 1e-9)
        before = out["time"].values < 4.0
        _add(metrics, f"{name}: x of P before 4 s", np.max(np.abs(tips[before, 0])), "m", 0.0, "mirror symmetry", 1e-8)
    iterations = parts["coarse"]["newton_iterations"].values[1:]
    _add(metrics, "10 ms: Newton iterations, largest", iterations.max(), "", 0, "at most 3", 3)
    _add(metrics, "10 ms: Newton iterations, mean", iterations.mean(), "", 2.0, CHECK, 1.0)

    # cuts
    steps, duration = (STEPS[:3], 5.0) if quick else (STEPS, 8.0)
    paths = {(cut, h): path(cut, h, duration) for cut in ("hinge", "motor", "apex") for h in steps}
    apart = {cut: [_apart(paths[cut, h], paths["hinge", h]) for h in steps] for cut in ("motor", "apex")}
    _add(metrics, "cut around the apex, 10 ms", apart["apex"][1], "m between paths of P", 0.0, "same robot", 1e-8)
    _add(metrics, "cut at a motor, 10 ms", apart["motor"][1], "m between paths of P", 0.0,
         "same robot; bound set after seeing 2.0e-5", 3e-5)  # fmt: skip
    gauss = [path(cut, 1e-2, duration, ev.GaussLegendre4()) for cut in ("hinge", "motor")]
    _add(metrics, "cut at a motor, 10 ms, Gauss-Legendre 4", _apart(*gauss), "m between paths of P", 0.0,
         "same robot", 1e-8)  # fmt: skip
    order = np.polyfit(np.log(steps), np.log(apart["motor"]), 1)[0]
    _add(metrics, "cut at a motor: order of the difference", order, "", 2.0, "order of the scheme", 0.05)
    if not quick:
        smallest = _apart(path("motor", SMALLEST_STEP, duration), path("hinge", SMALLEST_STEP, duration))
        _add(metrics, "cut at a motor, 0.2 ms", smallest, "m between paths of P", 0.0, "same robot", 1e-8)
        apart["motor"].append(smallest)
    used = np.array([*steps, SMALLEST_STEP][: len(apart["motor"])])
    finest = paths["hinge", steps[-1]]
    error = [_apart(paths["hinge", h], finest) for h in steps[:-1]]
    filled = np.full((2, used.size), np.nan)
    filled[0, : len(steps)], filled[1, : len(error)] = apart["apex"], error
    note = f"distance to the path at {1e3 * steps[-1]:g} ms"
    parts["cuts"] = xr.Dataset(
        {
            "motor": ("step", apart["motor"], {"units": "m"}),
            "apex": ("step", filled[0], {"units": "m"}),
            "error": ("step", filled[1], {"units": "m", "long_name": note}),
        },
        {"step": ("step", used, {"units": "s"})},
    )
    return io.collect(parts), metrics


def path(cut: Cut, step: float, duration: float, method: Any = ALPHA) -> np.ndarray:
    """Path of P every 20 ms, (T, 3)."""
    system = robot(cut=cut)
    with expecting_redundant_rows():
        home = ev.equilibrium(system, IDLE)
    out = ev.simulate(system, home, duration, step, method, TORQUES, every=round(2e-2 / step))
    return np.asarray(out["left/tip/position"].values)


def hinge_force(out: xr.Dataset) -> np.ndarray:
    """Force of the right rod on the left one in P, world axes, (T, 3) [N]."""
    R = so3.from_quaternion(out["left/orientation"].values[:, -1])
    return np.einsum("tij,tj->ti", R, out["multipliers"].values[:, -3:])


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b)))


def _add(metrics: dict[str, dict[str, Any]], name: str, *entries: Any) -> None:
    metrics[name] = metric(*entries)
