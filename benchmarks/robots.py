"""Robots of several rods: trees and closed loops, per simulated second and per number of rods.

RFRFR: the two-rod loop of Gotelli 2024, section 5.4, two motors on the ground and one hinge between the tips, with
the torques of the thesis for 10 s; three planar functions per rod, generalized-α (0.6), 10 ms. Six rods: the robot of
the gallery page ``spatial-parallel-six-rods`` on its tilting path. Errors are against converged runs of the same
model made in the same call.

Chain and star: rods of six coordinates each, fixed one after the other (1 m of rod in all, so that the motion is the
same for any number), or all to one hub that a motor turns. One step is a hundredth of ``simulate`` over 1 s at 10 ms,
results included. Residual and Newton matrix are single calls in a compiled loop.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row
from elver.cli.folders import folder, load_module
from elver.dynamics.core import core

from . import peers as others
from .recursion import Evaluations

STEEL = ev.Material(young=210e9, shear=80e9, density=7800.0)


# Two rods, one loop -----------------------------------------------------------------------------------------

LENGTH, RADIUS, DISTANCE = 1.0, 1e-3, 0.4  # m: of a rod, of its section, between the motors
DURATION = 10.0


def torque_right(t: float) -> float:
    """0 before 1 s, a quintic to 0.5 N m at 2 s, then held."""
    s = min(max(t - 1.0, 0.0), 1.0)
    return 0.5 * s**3 * (10.0 + s * (6.0 * s - 15.0))


def torque_left(t: float) -> float:
    """The same the other way round, with three waves between 4 s and 7 s."""
    wave = 0.04 * (1.0 - np.cos(2.0 * np.pi * (t - 4.0))) if 4.0 <= t <= 7.0 else 0.0
    return wave - torque_right(t)


TORQUES = {"left": torque_left, "right": torque_right}


def rfrfr(functions: int, nodes: int, integration: ev.Magnus) -> ev.System:
    """The planar loop; the rows of its closure that say the plane twice are known to be dropped."""
    basis = ev.Legendre.planar(functions)
    rods, hinges = {}, {}
    for side, x in (("left", -0.5 * DISTANCE), ("right", 0.5 * DISTANCE)):
        rods[side] = ev.Rod(
            LENGTH, ev.Circle(RADIUS), STEEL, basis, nodes=nodes, integration=integration, name=f"{side}-rod"
        )
        hinges[side] = ev.Revolute(("world", (x, 0, 0)), (rods[side], "base"), name=f"{side}-hinge", start=np.pi / 2)
    apex = ev.Revolute((rods["left"], "tip"), (rods["right"], "tip"), name="apex")
    motors = [ev.Motor(hinge, name=side) for side, hinge in hinges.items()]
    system = ev.System(ev.Mechanism([*hinges.values(), apex]), actuators=motors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        core(system)
    return system


@dataclass(frozen=True)
class Setting:
    """Functions and nodes of a rod, order in space, step [s] and method in time."""

    functions: int
    nodes: int
    order: int
    step: float
    method: Any


def apex_path(setting: Setting, instant: float, duration: float = DURATION) -> Callable[[], np.ndarray]:
    """A run from rest, ready to be timed; it returns the place of the hinge every ``instant`` [s]."""
    system = rfrfr(setting.functions, setting.nodes, ev.Magnus(setting.order))
    start, every = ev.equilibrium(system), round(instant / setting.step)

    def run() -> np.ndarray:
        made = ev.simulate(system, start, duration, setting.step, setting.method, TORQUES, every=every)
        return made["left-rod/tip/position"].values

    return run


def distance(path: np.ndarray, reference: np.ndarray) -> float:
    """Largest distance of two paths / L."""
    return float(np.linalg.norm(path - reference, axis=-1).max()) / LENGTH


THESIS = Setting(3, 6, 6, 1e-2, ev.GeneralizedAlpha(rho_inf=0.6, tolerance=1e-9))
THESIS_CONVERGED = Setting(3, 12, 6, 5e-3, ev.GaussLegendre4())
THESIS_ACCURACY = 2e-3  # of the length: what a step of 10 ms leaves


@row("rfrfr-realtime", unit="x real time", goal=50.0, goal_is_lower_bound=True)
def rfrfr_realtime(peers: bool) -> Row:
    """The RFRFR of the thesis in its own setting, 10 s at 10 ms."""
    run = apex_path(THESIS, THESIS.step)
    error = distance(run(), apex_path(THESIS_CONVERGED, THESIS.step)())
    return Row(DURATION / cpu_time(run) if error <= THESIS_ACCURACY else None, error)


LOOP_INSTANT = 0.02
LOOP = {  # the continuous rods, not their three functions: the cheapest settings we know that reach the accuracy
    1e-2: Setting(3, 4, 4, 2e-2, ev.GeneralizedAlpha(rho_inf=0.9, tolerance=1e-6)),
    1e-3: Setting(4, 5, 4, 2e-2 / 3.0, ev.GeneralizedAlpha(rho_inf=0.9, tolerance=1e-7)),
}
LOOP_CONVERGED = Setting(8, 16, 6, 5e-3, ev.GaussLegendre4())


@cache
def loop_reference(duration: float = DURATION) -> np.ndarray:
    """Path of the hinge between two continuous rods every 20 ms, to 1e-6 L."""
    return apex_path(LOOP_CONVERGED, LOOP_INSTANT, duration)()


def _two_rod_loop(accuracy: float, peers: bool) -> Row:
    run = apex_path(LOOP[accuracy], LOOP_INSTANT)
    error = distance(run(), loop_reference())
    beside = _loop_peers(accuracy) if peers and others.installed("exudyn") else {}
    return Row(cpu_time(run) / DURATION if error <= accuracy else None, error, beside)


@row("two-rod-loop-1pct", unit="CPU s/s", goal=0.02)
def two_rod_loop_1pct(peers: bool) -> Row:
    """The same motion of continuous rods, within 1 % of L for 10 s."""
    return _two_rod_loop(1e-2, peers)


@row("two-rod-loop-0.1pct", unit="CPU s/s", goal=0.04)
def two_rod_loop_01pct(peers: bool) -> Row:
    """The same within 0.1 % of L."""
    return _two_rod_loop(1e-3, peers)


def exudyn_path(elements: int, step: float, duration: float = DURATION) -> tuple[float, np.ndarray]:
    """CPU seconds of Exudyn on the same loop, and its path every 20 ms."""
    rod = rfrfr(3, 6, ev.Magnus(4)).mechanism.rods[0]
    stiffness = rod.stiffness([0.0])[0]
    return others.exudyn_loop(
        elements, step, duration, LOOP_INSTANT, DISTANCE, LENGTH, rod.mass / LENGTH, stiffness[2], stiffness[3],
        torque_left, torque_right,
    )  # fmt: skip


def _loop_peers(accuracy: float) -> dict[str, float | None]:
    settings: Sequence[tuple[int, float]] = [(2, 2e-2), (3, 2e-2), (4, 1e-2), (6, 1e-2), (6, 5e-3), (8, 5e-3)]

    def attempt(elements: int, step: float) -> tuple[float, float]:
        runs = [exudyn_path(elements, step) for _ in range(3)]  # and once more: as many tries as we have, or more
        return min(seconds for seconds, _ in runs) / DURATION, distance(runs[0][1], loop_reference())

    return {"exudyn-planar": others.first_that_reaches(accuracy, attempt, settings)}


# Six rods, five loops ---------------------------------------------------------------------------------------

SIX_ACCURACY = 1e-5  # of the length of a limb


def six_rods() -> Any:
    """The page of the gallery: its robot and its path."""
    return load_module(folder("gallery") / "spatial-parallel-six-rods", "run")


def refined(system: ev.System, nodes: int) -> ev.System:
    """The same robot with more nodes on every rod; joints are imposed, and no load is tied to a part."""
    rods: dict[Any, Any] = {rod: replace(rod, nodes=nodes) for rod in system.mechanism.rods}
    joints = {}
    for joint in system.mechanism.joints:
        a, b = (replace(frame, part=rods.get(frame.part, frame.part)) for frame in (joint.a, joint.b))
        joints[joint.name] = type(joint)(a, b, joint.name, joint.axis, joint.start, joint.cut)
    drives = [replace(drive, target=joints[drive.target.name]) for drive in system.actuators]
    return ev.System(ev.Mechanism(joints.values()), actuators=drives, loads=system.loads)


def tilt(duration: float) -> tuple[Callable[[], np.ndarray], float]:
    """The path of the six balls of the platform every 10 ms, ready to be timed, and its error / L."""
    page = six_rods()
    signals = page.slide_signals(duration)

    def balls(system: ev.System, start: Any, method: Any) -> np.ndarray:
        made = ev.simulate(system, start, duration, 1e-2, method, signals)
        return np.stack([made[f"limb{k}/tip/position"].values for k in range(1, 7)], axis=1)

    system = page.robot()
    home = ev.equilibrium(system)
    fine = refined(system, 16)
    converged = balls(fine, ev.equilibrium(fine), ev.GaussLegendre4())

    def run() -> np.ndarray:
        return balls(system, home, ev.GeneralizedAlpha(rho_inf=0.6))

    return run, float(np.linalg.norm(run() - converged, axis=-1).max()) / page.LENGTH


@row("six-rods-realtime", unit="x real time", goal=1.0, goal_is_lower_bound=True)
def six_rods_realtime(peers: bool) -> Row:
    """Six Kirchhoff limbs and a platform (63 coordinates, 15 multipliers) through the tilting path, 6 s at 10 ms."""
    duration = 3.0 * six_rods().PERIOD
    run, error = tilt(duration)
    return Row(duration / cpu_time(run, repeats=3) if error <= SIX_ACCURACY else None, error)


# One residual, one Newton matrix ----------------------------------------------------------------------------

ROUNDING = 1e-11


@row("rfrfr-newton-matrix", unit="x inverse dynamics", goal=10.0)
def rfrfr_newton_matrix(peers: bool) -> Row:
    """Newton matrix of the RFRFR over its inverse dynamics."""
    at = Evaluations(rfrfr(THESIS.functions, THESIS.nodes, ev.Magnus(THESIS.order)))
    error = at.error()
    one, matrix = at.times(200)
    return Row(matrix / one if error <= ROUNDING else None, error)


# Number of rods ---------------------------------------------------------------------------------------------

COUNTS = (2, 4, 8, 16, 32)
STEPS, STEP = 100, 1e-2  # s
ROUNDS = 3
RUBBER = ev.Material(young=5e6, poisson=0.45, density=1000.0)


def _limb(length: float, name: str) -> ev.Rod:
    return ev.Rod(length, ev.Circle(0.02), RUBBER, ev.Legendre.kirchhoff(2), nodes=4, name=name)


def chain(count: int) -> ev.System:
    """1 m of rod in ``count`` pieces fixed one after the other, let go from the horizontal."""
    rods = [_limb(1.0 / count, f"rod{k + 1}") for k in range(count)]
    joints: list[Any] = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((inner, "tip"), (outer, "base")) for inner, outer in pairwise(rods)]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def star(count: int) -> ev.System:
    """``count`` rods of 0.5 m around a hub, which turns about the vertical with as much torque per rod."""
    hub = ev.RigidBody.cylinder(0.05, 0.05, mass=0.1 * count, axis="z", name="hub")
    pivot = ev.Revolute("world", hub, name="pivot")
    joints: list[Any] = [pivot]
    for k, angle in enumerate(2.0 * np.pi * np.arange(count) / count):
        g, c, s = np.eye(4), np.cos(angle), np.sin(angle)
        g[:2, :2], g[:2, 3] = [[c, -s], [s, c]], [0.05 * c, 0.05 * s]
        joints.append(ev.Fixed((hub, g), (_limb(0.5, f"rod{k + 1}"), "base")))
    return ev.System(ev.Mechanism(joints), actuators=[ev.Motor(pivot, name="motor")], loads=[ev.Gravity()])


SHAPES: dict[str, Callable[[int], ev.System]] = {"chain": chain, "star": star}


def swing(system: ev.System) -> Any:
    """The run that is timed; without looking for consistent accelerations, which is done once and not per step."""
    inputs = {"motor": 0.05 * len(system.mechanism.rods)} if system.actuators else {}
    method = ev.GeneralizedAlpha(rho_inf=0.6)
    return ev.simulate(system, None, STEPS * STEP, STEP, method, inputs, start="given")


@cache
def growth(shape: str) -> np.ndarray:
    """CPU seconds of one residual, one Newton matrix and one step, (numbers of rods, 3).

    Sizes take turns, so that a busy minute does not fall on one of them.
    """
    systems = [SHAPES[shape](count) for count in COUNTS]
    evaluations = [Evaluations(system) for system in systems]
    best = np.full((len(COUNTS), 3), np.inf)
    for _ in range(ROUNDS):
        for k, count in enumerate(COUNTS):
            one_step = cpu_time(lambda k=k: swing(systems[k]), repeats=1) / STEPS
            best[k] = np.minimum(best[k], [*evaluations[k].times(max(1, 100 // count), repeats=2), one_step])
    return best


def exponents(shape: str) -> np.ndarray:
    """p in time ~ rods^p of the three."""
    return np.asarray(np.polyfit(np.log(COUNTS), np.log(growth(shape)), 1)[0])


@row("chain-cost-exponent", unit="power of rods", goal=None)
def chain_cost_exponent(peers: bool) -> Row:
    """p in time of one step ~ rods^p, 2 to 32 rods one after the other."""
    return Row(float(exponents("chain")[2]))


@row("chain-residual-exponent", unit="power of rods", goal=None)
def chain_residual_exponent(peers: bool) -> Row:
    """The same of one residual."""
    return Row(float(exponents("chain")[0]))


@row("chain-matrix-exponent", unit="power of rods", goal=None)
def chain_matrix_exponent(peers: bool) -> Row:
    """The same of one Newton matrix, without its factors."""
    return Row(float(exponents("chain")[1]))


@row("star-cost-exponent", unit="power of rods", goal=None)
def star_cost_exponent(peers: bool) -> Row:
    """p in time of one step ~ rods^p, 2 to 32 rods on one hub."""
    return Row(float(exponents("star")[2]))


@row("star-residual-exponent", unit="power of rods", goal=None)
def star_residual_exponent(peers: bool) -> Row:
    """The same of one residual."""
    return Row(float(exponents("star")[0]))


@row("star-matrix-exponent", unit="power of rods", goal=None)
def star_matrix_exponent(peers: bool) -> Row:
    """The same of one Newton matrix, without its factors."""
    return Row(float(exponents("star")[1]))
