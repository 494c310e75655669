"""What random starts lead to: one problem, one hundred starts, every method.

A start is a costate Λ(0) drawn at random, as in section 6.1.2 of the thesis, and the strain along the rod that follows
from it; all methods but single shooting, which starts from the costate itself, are given that strain. Solved is a start
from which a method returns an equilibrium that misses its ends by less than 1e-6 and whose imbalance, judged from the
strain alone (:mod:`elver.one_rod.balance`), is that of its truncation: below 1e-6 of the largest moment for shooting,
the automatic choice; below 5 %, and 1e-3 at the ends, for thirty elements and for twelve functions.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.balance import Balance, balance
from elver.one_rod.methods import RodShape
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.conjugate import conjugate_points
from elver.one_rod.shooting.multiple import SegmentFlow
from elver.one_rod.shooting.static_flow import StaticFlow

RADIUS = 0.01
EXACT, TRUNCATED = (1e-6, 1e-6), (5e-2, 1e-3)  # imbalance as part of the largest moment, gap


def rod(*, length: float = 1.0, functions: int = 12, weight: float = 0.0) -> ev.Rod:
    """EI = 1 N m², GJ = 0.7 EI, round; ``weight`` = ρAgL³/EI."""
    young = 4.0 / (np.pi * RADIUS**4)
    density = max(weight, 1e-3) / (9.81 * np.pi * RADIUS**2 * length**3)
    material = ev.Material(young=young, poisson=1.0 / 0.7 - 1.0, density=density)
    return ev.Rod(length, ev.Circle(RADIUS), material, ev.Legendre.kirchhoff(functions))


def held(
    x: float, y: float = 0.0, z: float = 0.0, turn: Sequence[float] = (0.0, 0.0, 0.0), weight: float = 0.0
) -> ev.System:
    """A rod of length 1, clamped at both ends, its tip at (x, y, z) and turned by the vector ``turn`` [rad]."""
    hold = ev.Hold("tip", position=(x, y, z), orientation=so3.exp(np.array(turn)))
    mechanism = ev.Mechanism.clamped(rod(weight=weight), holds=[hold])
    return ev.System(mechanism, loads=[ev.Gravity()] if weight else [])


def heavy(weight: float) -> ev.System:
    """Upright, its tip free: beyond weight = 7.84 it falls over."""
    up = se3.pose(so3.exp(np.array([0.0, -np.pi / 2.0, 0.0])), np.zeros(3))
    return ev.System(ev.Mechanism.clamped(rod(weight=weight), pose=up), loads=[ev.Gravity()])


PROBLEMS: dict[str, Callable[[], ev.System]] = {
    "ends at 0.8 L": lambda: held(0.8),  # thesis, section 6.1.2
    "ends at 0.36 L": lambda: held(0.36),  # the shortening of fig. 6.6, in space
    "ends at 0.8 L, turned by 90°": lambda: held(0.8, turn=(np.pi / 2.0, 0.0, 0.0)),  # fig. 6.16
    "tip aside and askew": lambda: held(0.5, 0.3, 0.2, turn=(0.3, -0.8, 1.2)),
    "heavy, ends at 0.6 L": lambda: held(0.6, weight=40.0),
    "heavy and upright, tip free": lambda: heavy(30.0),
}


# Starts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """A costate at the base (6,) and the strain that follows from it."""

    costate: np.ndarray
    strain: Callable[[np.ndarray], np.ndarray]


def random_starts(system: ev.System, rng: np.random.Generator, count: int, size: float) -> list[Start]:
    """Moments and forces in [-``size``, ``size``] (EI/L, EI/L²; the torque of a twist in that range)."""
    problem = RodProblem.of(system)
    x = rng.uniform(-size, size, (count, 6))
    x[:, 0] *= 0.7
    return [Start(*pair) for pair in _along(problem, x)]


def _along(problem: RodProblem, x: np.ndarray) -> list[tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
    """Costates (n, 6) at the base, each with the strain that follows from it."""
    s, n = np.linspace(0.0, problem.length, 65), len(x)
    flow = StaticFlow(problem)
    g, stress = np.tile(problem.base.pose, (n, 1, 1)), [x]
    for a, b in pairwise(s):
        g, x, _, _ = SegmentFlow(flow, np.full(n, a), np.full(n, b), 2)(g, x, tangent=False)
        stress.append(x)
    sections, free = problem.at(s), list(problem.component)
    xi = np.tile(sections.rest_strain, (n, 1, 1))
    xi[:, :, free] += np.stack(stress, axis=1)[:, :, free] / sections.stiffness[:, free]
    return [(costate, CubicSpline(s, own)) for costate, own in zip(stress[0], xi)]


# Methods ------------------------------------------------------------------------------------------------------------


def by(method: Any, **options: Any) -> Callable[[ev.System, Start], RodShape]:
    """A method of the front door, given the strain."""
    return lambda system, start: ev.rod_equilibrium(system, None, method, start.strain, **options)


METHODS: dict[str, tuple[Callable[[ev.System, Start], RodShape], tuple[float, float]]] = {
    "multiple shooting": (by("shooting", load_stepping=False), EXACT),
    "multiple shooting, load steps": (by("shooting"), EXACT),
    "direct, single shooting": (by("direct", shooting="single", elements=30), TRUNCATED),
    "direct, multiple shooting": (by("direct", elements=30), TRUNCATED),
    "strain modes": (by("modes"), TRUNCATED),
    "automatic": (by("auto"), EXACT),
}
SINGLE = "single shooting"


def single_shooting(
    system: ev.System, starts: np.ndarray, *, halvings: int, iterations: int = 30, diagonal: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Costates Λ(0) (n, 6) after Newton steps from ``starts`` (n, 6), and which of them meet the end; all at once.

    ``halvings`` of a step that does not come nearer, 0 for whole steps. The turn of a clamped tip is measured by its
    logarithm, or by the ``diagonal`` of R - 1 as in the thesis; a free tip by its stress.
    """
    problem = RodProblem.of(system)
    flow, held, target = StaticFlow(problem), bool(problem.tip.held), problem.tip.pose
    length = problem.length

    def shot(x: np.ndarray, tangent: bool) -> tuple[np.ndarray, np.ndarray]:
        n = len(x)
        march = SegmentFlow(flow, np.zeros(n), np.full(n, length), 32)
        g, end, Phi, _ = march(np.tile(problem.base.pose, (n, 1, 1)), x, tangent=tangent)
        if not held:
            return end, Phi[:, 6:, 6:] if tangent else np.zeros((n, 6, 6))
        R = target[:3, :3].T @ g[:, :3, :3]
        Theta = so3.log(R)
        turn = np.diagonal(R, axis1=1, axis2=2) - 1.0 if diagonal else Theta
        slope = np.zeros((n, 6, 6))
        if tangent:
            slope[:, 3:, 3:] = g[:, :3, :3]
            slope[:, :3, :3] = _diagonal_slope(R) if diagonal else so3.dexp_inv(Theta)
            slope = slope @ Phi[:, :6, 6:]
        return np.concatenate([turn, g[:, :3, 3] - target[:3, 3]], axis=1), slope

    x, going = np.array(starts), np.ones(len(starts), dtype=bool)
    for _ in range(iterations):
        on = np.flatnonzero(going)
        if not on.size:
            break
        r, J = shot(x[on], True)
        size = np.linalg.norm(r, axis=1)
        step = -(np.linalg.pinv(J, rcond=1e-8) @ r[..., None])[..., 0]
        step *= np.minimum(1.0, 20.0 / np.maximum(np.linalg.norm(step, axis=1), 1e-12))[:, None]
        part, worse = np.ones(on.size), np.arange(on.size)
        for _ in range(halvings):
            trial = x[on[worse]] + part[worse, None] * step[worse]
            worse = worse[~(np.linalg.norm(shot(trial, False)[0], axis=1) < size[worse])]
            if not worse.size:
                break
            part[worse] *= 0.5
        if halvings:
            part[worse] = 0.0  # no way down
        x[on] += part[:, None] * step
        going[on] = (part > 0.0) & (size > 1e-9) & (np.linalg.norm(x[on], axis=1) < 1e3)
    return x, np.linalg.norm(shot(x, False)[0], axis=1) < 1e-7


def _diagonal_slope(R: np.ndarray) -> np.ndarray:
    """∂ diag(R)/∂ζ (n, 3, 3), ΔR = R ζ̂."""
    return np.stack([np.diagonal(R @ so3.hat(e), axis1=1, axis2=2) for e in np.eye(3)], axis=2)


# Counts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What one method made of all starts."""

    energy: np.ndarray
    """Of each start [J]; not a number where it failed."""
    stable: np.ndarray
    """Of each start: 1, 0, or not a number where it failed or is not said."""
    ways: dict[str, int]
    """Of the automatic choice: how many starts were led by what; of others: why they failed, in a few words."""
    seconds: float
    """CPU time of all starts."""

    @property
    def solved(self) -> int:
        return int(np.sum(np.isfinite(self.energy)))

    @property
    def equilibria(self) -> int:
        """Different ones, told apart by their energy to 0.5 % (mirror images are one)."""
        return len(_levels(self.energy))

    @property
    def stable_count(self) -> int:
        """Starts that end in a stable equilibrium."""
        return int(np.nansum(self.stable))


def _fits(check: Balance, tolerance: tuple[float, float]) -> bool:
    return check.imbalance < tolerance[0] * max(1.0, check.largest) and check.gap < tolerance[1]


def _levels(energy: np.ndarray) -> np.ndarray:
    levels: list[float] = []
    for value in np.sort(energy[np.isfinite(energy)]):
        if not levels or value > levels[-1] + 5e-3 * max(abs(value), 1e-3):
            levels.append(float(value))
    return np.array(levels)


def count(system: ev.System, starts: Sequence[Start], method: str) -> Outcome:
    """All ``starts`` by one of the methods."""
    begin = process_time()
    if method == SINGLE:
        x, met = single_shooting(system, np.array([start.costate for start in starts]), halvings=10)
        problem, energy, verdict = RodProblem.of(system), np.full(len(x), np.nan), np.full(len(x), np.nan)
        for k in np.flatnonzero(met):
            strain = _along(problem, x[k : k + 1])[0][1]
            s = np.linspace(0.0, problem.length, 65)
            check = balance(problem, strain, problem.base.pose, s)
            if _fits(check, TRUNCATED):  # 32 steps
                found = ev.solve_rod(problem, guess=strain, load_stepping=False)
                energy[k], verdict[k] = found.energy, conjugate_points(found).index == 0
        return Outcome(energy, verdict, {"not met": int(np.sum(~met))}, process_time() - begin)
    solve, tolerance = METHODS[method]
    energy, verdict = np.full(len(starts), np.nan), np.full(len(starts), np.nan)
    ways: Counter[str] = Counter()
    for k, start in enumerate(starts):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ev.ElverWarning)  # unstable shapes are counted here
                shape = solve(system, start)
        except ev.NotConverged as error:
            ways[str(error)[:60]] += 1
            continue
        check = shape.balance
        if not _fits(check, tolerance):
            ways["not in balance"] += 1
            continue
        energy[k] = shape.energy
        if shape.stable is not None:
            verdict[k] = shape.stable
        if method == "automatic":
            ways[_way(shape)] += 1
    return Outcome(energy, verdict, dict(ways), process_time() - begin)


def _way(shape: RodShape) -> str:
    if "guess" in shape.passed_over:
        return "from rest"
    for name in ("modes", "direct"):
        if shape.passed_over.get(name, "").startswith("gave the start"):
            return name
    return shape.method
