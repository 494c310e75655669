"""Steps too short for shooting: what one shoot amplifies by, and ringing of the strain acceleration.

After an implicit step of length h a small disturbance of the rod obeys, with r₂ = 4/h² of Newmark (¼, ½),

    bending  EI w'''' + r₂ ρA w = 0,   torsion  GJ φ'' = r₂ ρJ φ,   stretch and shear  EA u'' = r₂ ρA u

(primes along s), so that one shoot over the length amplifies by exp(√(τ/h)), τ = L²√(ρA/EI), resp. by exp(2L/ch) with
the speed c of the wave. Boyer 2023 (section 5, eqs. 87 and 88) finds that runs break below a step of about τ/100.
Segments tame the growth; what is left is that errors of the integration along s enter the strain acceleration times r₂,
where an undamped scheme keeps them, with a sign that changes from step to step. :class:`Ringing` watches that.

Theory: docs/theory/optimal-control.md, eq. (critical-step).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from elver.errors import positive
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.grid import RodGrid
from elver.one_rod.shooting.time_scheme import TimeScheme
from elver.system import System

__all__ = [
    "Ringing",
    "growth_per_segment",
    "nodes_needed",
    "segments_needed",
    "shooting_exponent",
    "shooting_growth",
    "trouble",
]

Array = NDArray[np.float64]

CHI = 100.0  # τ over the critical step in Boyer 2023, test 2
HOPELESS = 1e13  # amplification that leaves no digit
LOUD = 300.0  # ringing over motion; runs that die of it pass 2000
_HEARD = 1e-3  # rad over the rod, of the alternating acceleration times h²/4: less is rounding
_TAMED = 1e3  # amplification of one segment that Newton takes easily


def bending_time(problem: RodProblem) -> float:
    """τ = L²√(ρA/EI) [s], of the mean section."""
    mass = float(np.mean(np.asarray(problem.inertia(np.linspace(0.0, problem.length, 9)))[:, 3]))
    return problem.length**2 * math.sqrt(mass / problem.bending_stiffness)


def shooting_exponent(problem: RodProblem, step: float) -> float:
    """Exponent of what one shoot over the rod amplifies by: √(τ/h), or 2L/ch of a faster growing wave."""
    s = np.linspace(0.0, problem.length, 9)
    stiffness, inertia = (np.mean(np.asarray(field(s)), axis=0) for field in (problem.stiffness, problem.inertia))
    waves = [
        2.0 * problem.length / (math.sqrt(stiffness[c] / inertia[c]) * step)
        for c in problem.component
        if c not in (1, 2) and inertia[c] > 0.0
    ]
    return max([math.sqrt(bending_time(problem) / step), *waves])


def nodes_needed(problem: RodProblem, step: float) -> int:
    """Intervals along s that resolve the bending of one step, a wave number of √(2τ/h)/L: two for each of its radians.

    With fewer than half of that a Runge-Kutta step sees little of it: energies and shapes are off from the first steps.
    """
    return math.ceil(2.0 * math.sqrt(2.0 * bending_time(problem) / step))


def growth_per_segment(problem: RodProblem, step: float, segments: int) -> float:
    """What a shoot over one of ``segments`` amplifies by, from the law."""
    return math.exp(min(shooting_exponent(problem, step) / segments, 700.0))


def segments_needed(problem: RodProblem, step: float) -> int:
    """Segments that keep the amplification of each below a thousand."""
    return math.ceil(shooting_exponent(problem, step) / math.log(_TAMED))


def shooting_growth(system: System, step: float, nodes: int = 400, *, hybrid: bool = False) -> float:
    """Norm of the single-shooting Jacobian ∂(C, L N)(L)/∂(C, L N)(0) of a clamped rod at rest, straight, unloaded.

    It follows exp(√(τ/Δt)) (Boyer 2023, section 5); a solver in double precision has no digits left where it passes
    1e13. ``hybrid`` leaves the equation of the acceleration out.
    """
    positive("step", step, "s")
    grid = RodGrid(system, 1, nodes, hybrid)
    scheme = TimeScheme(step)
    g = grid.problem.base.pose
    ends = np.concatenate([g[:3, :3].ravel(), g[:3, 3], np.zeros(18)])[None]
    variation = np.zeros((1, 24, 6))
    variation[0, 18:] = np.eye(6)
    table = [scheme.a, 0.0, grid.damping, scheme.a] if hybrid else [scheme.a, scheme.b, grid.damping, 0.0]
    grid.integrate(np.array(table), ends, variation, np.zeros(3))
    unit = np.concatenate([np.ones(3), np.full(3, grid.problem.length)])
    return float(np.linalg.norm(unit[:, None] * variation[0, 18:] / unit, 2))


class Ringing:
    """How much of the strain acceleration changes sign from step to step, beside what does not, and whether it grows.

    alternating |ε̈₊ - 2ε̈ + ε̈₋|/4, smooth |ε̈₊ + 2ε̈ + ε̈₋|/4, each the largest over the rod and the last few steps.

    An undamped scheme rings without harm where strains are given by loads, as at a free end, after each load that jumps
    or bends in time: in proportion to the time since. What breaks a run grows like an exponential, that is by the same
    factor over stretches of time that follow each other.
    """

    _WINDOW = 8
    _STRETCHES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # steps
    _FACTOR = 2.2  # over each of three: what is proportional to the time since one event at most doubles in the third

    def __init__(self, step: float) -> None:
        self.scale = step * step / 4.0
        self.last: list[Array] = []
        self.parts: list[tuple[float, float]] = []
        self.past: list[float] = []

    def heard(self, acceleration: Array) -> float:
        """Ratio of both parts, 0 while there is too little to tell; ``acceleration`` is in 1/s², dimensionless."""
        self.last = [*self.last[-2:], acceleration]
        if len(self.last) < 3:
            return 0.0
        before, now, after = self.last
        sides = before + after
        self.parts = [
            *self.parts[1 - self._WINDOW :],
            (float(np.max(np.abs(sides - 2.0 * now))) / 4.0, float(np.max(np.abs(sides + 2.0 * now))) / 4.0),
        ]
        alternating, smooth = (max(part) for part in zip(*self.parts, strict=True))
        self.past.append(max(alternating, self.past[-1] if self.past else 0.0))
        if not alternating * self.scale > _HEARD:
            return 0.0
        return alternating / smooth if smooth > 0.0 else math.inf

    @property
    def grows(self) -> bool:
        """True when the alternating part grows exponentially."""
        past, factor = self.past, self._FACTOR
        return any(
            all(past[-1 - k * w] > factor * past[-1 - (k + 1) * w] for k in range(3))
            for w in self._STRETCHES
            if len(past) > 3 * w
        )


def trouble(problem: RodProblem, step: float, segments: int, nodes: int, ringing: float, damped: bool) -> str:
    """The step, the law, the growth, the ringing, and what to do; the end of a message."""
    tau = bending_time(problem)
    side = "below" if step < tau / CHI else "above"
    text = (
        f"the step of {step:g} s is {side} {tau / CHI:.2g} s, near which shooting becomes critical (τ/100, Boyer 2023; "
        f"τ = L²√(ρA/EI) = {tau:.3g} s), and shooting over each of {segments} segments amplifies by about "
        f"{growth_per_segment(problem, step, segments):.1e}"
    )
    if ringing > LOUD:
        text += f"; the strain acceleration rings from step to step, {ringing:.0f} times as strong as the motion"
    if segments < segments_needed(problem, step):
        text += f"; take segments={segments_needed(problem, step)} or more"
    if nodes < nodes_needed(problem, step):
        text += f"; {nodes} intervals along the rod do not resolve the step, take nodes={nodes_needed(problem, step)}"
    longer = "take a longer step, more nodes or segments, " if step < tau / CHI else "take more nodes or segments, "
    damp = "" if damped else "damp it with method=GeneralizedAlpha(rho_inf=0.8), "
    return f"{text}; {longer}{damp}or simulate with strain modes"
