"""Instability of a heavy rod with natural curvature: Blumentals 2017, the sweep of κ̄₁, by direct transcription.

A rod of rubber is clamped at one end and hangs under its weight: L = 0.30 m, radius 1.5 mm, E = 1.3 MPa, ν = 0.5,
ρ = 1200 kg/m³. Its natural curvature κ̄₁ grows slowly from 0 to 90 1/m, each shape the guess of the next. Strains are
constant in 50 elements. The clamp is horizontal and κ̄₁ bends with the weight, which the thesis does not say.

The thesis shows the shapes at 0, 50, 60 and 90 1/m (fig. 6.18) and the total twist (1/2π) ∫τ ds (fig. 6.19): flat with
a bent free end at 50, out of the plane at 60, a hanging spring at 90. The transition "occurs extremely fast".

We get the same shapes, the same jump, and what is behind it. Warm starts without any noise stay flat, since the
gradient of a flat shape has no part out of the plane; they do so up to 55, and jump to the coil at 60, as in the
thesis. But these flat shapes are no minima from κ̄₁ = 40.69 on: the smallest eigenvalue of the second variation is
negative there. Conjugate points of shooting, which share nothing with the transcription, say the same. With a little
noise in each guess the shape leaves the plane at 40.69, softly: the twist rises like a square root, with either sign,
and comes down the same way. So the transition is a supercritical pitchfork, and the jump is that of a search that
follows a saddle; how far it does is up to rounding. This is our reading of the thesis, whose steps are not known.

Where it happens hardly depends on the clamp: the free end becomes unstable, some multiple of l_g = (EI/ρSg)^(1/3) =
40 mm long. A clamp that points down gives the same value to three digits. Where κ̄₁ bends against the weight it is
lower.

The thesis has no numbers for this sweep. The values we compare with were computed independently on its data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from elver.cli.gallery import metric
from elver.lie import se3
from elver.one_rod.problem import End, RodProblem
from elver.one_rod.shooting.conjugate import conjugate_points
from elver.one_rod.shooting.statics import solve_rod
from elver.one_rod.transcription.direct import DirectSolution, direct_equilibrium

LENGTH, RADIUS, YOUNG, DENSITY = 0.3, 1.5e-3, 1.3e6, 1200.0  # m, m, Pa, kg/m³
EI = YOUNG * np.pi * RADIUS**4 / 4.0
GJ = EI / 1.5  # ν = 0.5
MASS = DENSITY * np.pi * RADIUS**2  # kg/m
CLAMPS = {  # columns: tangent d3, d1, d2
    "horizontal": np.eye(3),
    "down": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]),
}
OWN = "the same model on the data of Blumentals 2017, computed independently"
SECOND = "second variation"
CRITICAL = {25: 40.679, 50: 40.688, 100: 40.691}  # elements: 1/m
TWIST = {  # 1/m: turns
    40.75: 0.064, 41.0: 0.143, 42.0: 0.291, 50.0: 0.754, 60.0: 1.089, 70.0: 1.254, 80.0: 1.313, 90.0: 1.313,
}  # fmt: skip
SHOWN = (0.0, 40.0, 42.0, 50.0, 60.0, 70.0, 90.0)  # 1/m; the thesis shows 0, 50, 60, 90


# The rod ---------------------------------------------------------------------------------------------------------


def rod(curvature: float, component: tuple[int, ...] = (0, 1, 2), clamp: str = "horizontal") -> RodProblem:
    """Natural curvature K_y [1/m]; ``component`` (1,) holds it in its plane."""
    return RodProblem(
        LENGTH,
        component,
        lambda s: np.tile([GJ, EI, EI, 1.0, 1.0, 1.0], (len(s), 1)),
        lambda s: np.tile([0.0, curvature, 0.0, 1.0, 0.0, 0.0], (len(s), 1)),
        lambda s: np.tile([0.0, 0.0, 0.0, MASS, MASS, MASS], (len(s), 1)),
        gravity=np.array([0.0, 0.0, -9.81]),
        base=End.clamped(se3.pose(CLAMPS[clamp], np.zeros(3))),
    )


def shape(curvature: float, guess: Any = None, elements: int = 50) -> DirectSolution:
    """A minimum of the energy near ``guess``."""
    return direct_equilibrium(rod(curvature), elements=elements, strain="constant", guess=guess)


def noisy(last: DirectSolution) -> Any:
    """The strain of a shape and 0.1 1/m of a wave in all three curvatures."""
    wave = np.array([1.0, 0.3, 1.0, 0.0, 0.0, 0.0])
    return lambda s: last.strain(s) + np.outer(0.1 * np.sin(10.0 * s + 0.5), wave)


def flat(curvature: float, elements: int = 50, clamp: str = "horizontal", guess: Any = None) -> DirectSolution:
    """The shape within the plane, judged in space."""
    within = direct_equilibrium(rod(curvature, (1,), clamp), elements=elements, strain="constant", guess=guess)
    return direct_equilibrium(
        rod(curvature, clamp=clamp), elements=elements, strain="constant", guess=within, seek="stationary"
    )


def critical(low: float, high: float, elements: int = 50, clamp: str = "horizontal", guess: Any = None) -> float:
    """κ̄₁ [1/m] between ``low`` and ``high`` at which the flat shape stops being a minimum."""
    return float(brentq(lambda k: flat(k, elements, clamp, guess).eigenvalue, low, high, xtol=2e-4))


def critical_against() -> float:
    """The same where natural curvature bends against the weight: the branch that begins at the rod without any."""
    sagging = None
    for curvature in (0.0, -10.0, -20.0, -30.0, -37.0):
        sagging = flat(curvature, guess=None if sagging is None else sagging.strain)
    assert sagging is not None
    return -critical(-36.0, -40.0, guess=sagging.strain)


def twist(found: DirectSolution) -> float:
    """(1/2π) ∫τ ds, turns."""
    return float(np.sum(found.elements[:, 0, 0] * np.diff(found.s)) / (2.0 * np.pi))


def sweep(curvatures: np.ndarray, first: DirectSolution, noise: bool) -> list[DirectSolution]:
    """Shapes along ``curvatures``, each from the one before."""
    found: list[DirectSolution] = []
    for curvature in curvatures:
        first = shape(curvature, noisy(first) if noise else first)
        found.append(first)
    return found


def unstable_by_conjugate_points(curvature: float) -> int:
    """Number of unstable motions of the flat shape, by shooting."""
    return conjugate_points(solve_rod(rod(curvature), guess=flat(curvature).strain)).index


# The page --------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """The sweep up and down, the search that stays flat, and where stability ends; quick takes fewer steps."""
    metrics: dict[str, dict[str, Any]] = {}
    data: dict[str, Any] = {}
    start = shape(0.0)

    # up and down with a little noise
    steps = [20.0, 40.0] if quick else [*np.linspace(2.5, 40.0, 16), 41.5, 43.0, 44.0, *np.linspace(45.0, 90.0, 31)]
    curvatures = np.unique([*steps, *TWIST])
    up = sweep(curvatures, start, noise=True)
    fewer = curvatures[-2::-3]
    down = sweep(fewer, up[-1], noise=True)
    turns = np.array([twist(found) for found in up])
    back = np.array([twist(found) for found in down])
    data["curvature"] = ("curvature", curvatures, {"units": "1/m", "long_name": "natural curvature"})
    data["up"] = ("curvature", turns, {"units": "turns"})
    data["down/curvature"] = ("down", fewer, {"units": "1/m"})
    data["down"] = ("down", back, {"units": "turns"})
    for curvature, wanted in TWIST.items():
        ours = abs(turns[np.flatnonzero(curvatures == curvature)[0]])
        metrics[f"twist at {curvature:g} 1/m"] = metric(ours, "turns", wanted, OWN, 0.02 * wanted)
    metrics["twist down again, largest difference"] = metric(
        np.max(np.abs(np.abs(back) - np.abs(turns[np.searchsorted(curvatures, fewer)]))),
        "turns",
        0.0,
        "reversible",
        1e-5,
    )
    metrics["shapes of the sweep that are minima"] = metric(
        np.mean([found.stable for found in [*up, *down]]), "of all", 1.0, SECOND, 0.0
    )

    # warm starts without noise
    plain = np.array([20.0, 40.0, 44.0] if quick else np.arange(5.0, 91.0, 5.0))
    straight = sweep(plain, start, noise=False)
    lazy = np.array([abs(twist(found)) for found in straight])
    data["plain/curvature"] = ("plain", plain, {"units": "1/m"})
    data["plain"] = ("plain", lazy, {"units": "turns"})
    data["plain/stable"] = ("plain", np.array([float(found.stable) for found in straight]))
    saddle = plain[(lazy < 1e-3) & (plain > CRITICAL[50])]
    stays = [found.eigenvalue < 0.0 for found in straight if found.problem.rest_strain(np.zeros(1))[0, 1] in saddle]
    metrics["without noise: flat shapes beyond 40.69 called saddles"] = metric(
        np.mean(stays), "of all", 1.0, SECOND, 0.0
    )
    if not quick:
        jump = plain[np.flatnonzero(lazy > 0.5)[0]]
        metrics["without noise: first shape out of the plane"] = metric(
            jump, "1/m", 55.0, "thesis, fig. 6.18: between 50 and 60", 5.0
        )

    # the flat branch
    along = np.array([0.0, 20.0, 40.0, 50.0] if quick else [0.0, *np.arange(5.0, 61.0, 5.0)])
    branch: list[DirectSolution] = []
    for k in along:
        branch.append(flat(k, guess=branch[-1].strain if branch else None))
    data["flat/curvature"] = ("flat", along, {"units": "1/m"})
    data["flat/eigenvalue"] = ("flat", np.array([found.eigenvalue for found in branch]), {"units": "EI/L"})
    data["flat/energy"] = ("flat", np.array([found.energy for found in branch]), {"units": "J"})
    data["up/eigenvalue"] = ("curvature", np.array([found.eigenvalue for found in up]), {"units": "EI/L"})
    data["up/energy"] = ("curvature", np.array([found.energy for found in up]), {"units": "J"})
    wrong = [(found.eigenvalue < 0.0) != (k > CRITICAL[50]) for k, found in zip(along, branch)]
    metrics["flat shapes with the wrong sign of the second variation"] = metric(np.sum(wrong), "1", 0.0, OWN, 0.0)

    # where stability ends
    for elements, wanted in CRITICAL.items():
        if quick and elements != 50:
            continue
        ours = critical(40.5, 40.9, elements)
        data[f"critical/{elements}"] = ((), ours, {"units": "1/m"})
        metrics[f"critical curvature, {elements} elements"] = metric(ours, "1/m", wanted, OWN, 5e-3)
    metrics["critical curvature"] = metric(ours, "1/m", 40.69, OWN, 0.01 * 40.69)
    for curvature, wanted in ((40.6, 0), (40.8, 1)):
        metrics[f"unstable motions at {curvature:g} 1/m, by conjugate points"] = metric(
            unstable_by_conjugate_points(curvature), "1", wanted, "critical curvature 40.69 1/m", 0.0
        )
    if not quick:
        metrics["critical curvature, clamp that points down"] = metric(
            critical(40.3, 41.1, clamp="down"), "1/m", 40.69, OWN, 0.1
        )
        metrics["critical curvature, bent against the weight"] = metric(
            critical_against(), "1/m", 38.0, OWN + ': "about 38"', 0.5
        )

    # shapes
    s = np.linspace(0.0, LENGTH, 61 if quick else 181)
    data["s"] = ("s", s, {"units": "m"})
    shown = [start, *(up[np.flatnonzero(curvatures == k)[0]] for k in SHOWN[1:])]
    g = np.array([[found.pose(z) for z in s] for found in shown])
    data["shown"] = ("shown", np.array(SHOWN), {"units": "1/m"})
    data["shown/position"] = (("shown", "s", "xyz"), g[..., :3, 3], {"units": "m"})
    data["shown/rotation"] = (("shown", "s", "row", "column"), g[..., :3, :3])
    lies = flat(50.0)
    data["saddle/position"] = (("s", "xyz"), np.array([lies.pose(z)[:3, 3] for z in s]), {"units": "m"})

    # the film
    if not quick:
        film = [start, *up]
        data["film/curvature"] = ("frame", np.append(0.0, curvatures), {"units": "1/m"})
        data["film/s"] = ("element", film[0].s, {"units": "m"})
        data["film/turns"] = ("frame", np.array([twist(found) for found in film]), {"units": "turns"})
        data["film/position"] = (("frame", "element", "xyz"), np.array([found.g[:, :3, 3] for found in film]))
        data["film/rotation"] = (
            ("frame", "element", "row", "column"),
            np.array([found.g[:, :3, :3] for found in film]),
        )
    return xr.Dataset(data), metrics
