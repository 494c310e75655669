"""Clamped-clamped elastica of Blumentals 2017, section 6.1.3, in its scaling: EI = 1, length 2, s in [-1, 1].

    θ″ + F sin θ = 0,   θ(±1) = 0,   ½ ∫ cos θ ds = 1 - ε²,     ε² the part by which the ends approach

Closed form with the modulus k, ε² = 2 (1 - E(k)/K(k)), and n full waves, u = √F (s + 1):

    F = 4n²K²,   θ = 2 asin(k sn u),   κ = 2k √F cn u,   x = 2E(am u)/√F - (s + 1),   y = 2k/√F (1 - cn u)

Series in ε, eq. 6.8 and 6.10, the latter corrected (printed are sin 2πs, which does not solve eq. 6.9, and F = π² +
π²/4 ε²):

    θ = -2ε sin πs - ε³/24 (7 + 2 cos 2πs) sin πs + …,   F = π² + π²/2 ε² + …

The thesis puts both orders in a neighbourhood of 10 % at 80 % compression (fig. 6.4, norm not given): in the angle,
order 1 is off by 12 %, order 3 by 3 %, and order 3 as printed is worse than order 1 at all compressions shown.

The indirect method solves eq. 6.11 for (κ(-1), F_x, F_y). It is done in two ways: by the library (multiple shooting, a
strain as guess, 7 to 10 Newton steps), and as in the thesis, one shot over the whole length with SciPy's odeint in
fsolve, which took 4 to 26 ms beside the 20 ms of the thesis. The range of its random guesses is not given; here they
fill the box of the map of residuals, fig. 6.6, with F_y = 0 and ε = 0.8, read as ε² = 0.64. Two in a hundred find the
lowest mode, two in five nothing; beside n waves there are solutions with F_y ≠ 0, which the map cannot show.

The experiment in space, section 6.1.2, has length 1, ends 0.8 apart, and 100 guesses of the costate in [-2, 2], either
of the planar kind or in all six components; γ = 0.7, which the thesis gives elsewhere. It reports 72 % and 12 % solved,
by Ipopt under diag(R₁ᵀR - 1) = 0. Least-norm Newton steps solve more: about nine in ten and six in ten as whole steps,
and nearly all with a line search. That planar guesses are the better ones is confirmed; the 12 % are not. The slope of
the diagonal vanishes at every solution, which makes Newton slow, but does not lower these counts: they belong to the
solver. Nor are unstable equilibria found from so small costates: nearly all that is solved ends in the lowest mode.

Last, one hundred starts by every method of the library (:mod:`starts`): ends 0.36 apart, the shortening of the map, and
costates in [-10, 10], far from any solution. Solved, and of these stable: single shooting 17 and 0, multiple shooting
56 and 33, with load steps from rest 100 and 33, direct methods, both, 100 and 100, strain modes 77 and 50, the
automatic choice 100 and 71, in six equilibria of 1 to 4 times the lowest energy. In space the planar fold is
not the lowest, and a saddle. Direct methods go down to minima; the others stay with what is near the start.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import ODEintWarning, cumulative_simpson, odeint
from scipy.optimize import brentq, fsolve
from scipy.special import ellipe, ellipj, ellipk

from elver.analytic.elliptic import second_kind
from elver.cli.gallery import metric
from elver.lie import se3
from elver.one_rod.problem import End, RodProblem
from elver.one_rod.shooting.conjugate import conjugate_points
from elver.one_rod.shooting.statics import RodSolution, solve_rod

from .starts import METHODS, PROBLEMS, SINGLE, count, random_starts, single_shooting

# ε², k, F, κ(-1), y(0), ½∫κ²: elliptic integrals, computed independently; not printed in the thesis
TABLE = np.array(
    [
        (0.01, 0.099937, 9.919232, 0.629501, 0.126925, 0.197887),
        (0.1, 0.314194, 10.392564, 2.025763, 0.389849, 2.025204),
        (0.2, 0.441284, 10.982291, 2.924788, 0.532637, 4.161470),
        (0.5, 0.681183, 13.318528, 4.971892, 0.746613, 11.401184),
        (0.64, 0.760398, 14.848558, 5.860209, 0.789330, 15.335889),
        (0.8, 0.835222, 17.169989, 6.921765, 0.806263, 20.438852),
        (1.0, 0.908909, 21.549087, 8.438488, 0.783187, 28.109902),
    ]
)
COLUMNS = ("k", "F", "kappa(-1)", "y(0)", "energy")
ELLIPTIC = "elliptic integrals, computed independently"
MAP = 0.64  # ε² of the map of residuals: fig. 6.6 says ε = 0.8
BOX = (22.0, -20.0, 180.0)  # |κ(-1)| below, F_x from, to
SHOWN = (0.05, 0.2, 0.4, 0.64, 0.8)
PERTURBATION = "perturbation series"


# Closed form and series ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elastica:
    """Closed form for one shortening and one number of waves."""

    modulus: float
    force: float

    @classmethod
    def of(cls, shortening: float, waves: int = 1) -> Elastica:
        m = brentq(lambda m: 2.0 * (1.0 - ellipe(m) / ellipk(m)) - shortening, 1e-12, 0.99, xtol=1e-16)
        return cls(np.sqrt(m), 4.0 * waves**2 * ellipk(m) ** 2)

    def curvature(self, s: np.ndarray) -> np.ndarray:
        cn = ellipj(np.sqrt(self.force) * (s + 1.0), self.modulus**2)[1]
        return 2.0 * self.modulus * np.sqrt(self.force) * cn

    def angle(self, s: np.ndarray) -> np.ndarray:
        return 2.0 * np.arcsin(self.modulus * ellipj(np.sqrt(self.force) * (s + 1.0), self.modulus**2)[0])

    def shape(self, s: np.ndarray) -> np.ndarray:
        """(n, 2)."""
        root, m = np.sqrt(self.force), self.modulus**2
        _, cn, _, am = ellipj(root * (s + 1.0), m)
        return np.stack([2.0 * second_kind(am, m) / root - (s + 1.0), 2.0 * self.modulus / root * (1.0 - cn)], axis=1)

    @property
    def energy(self) -> float:
        """½∫κ² = 4 √F n (E - (1 - m) K) with √F = 2nK."""
        m = self.modulus**2
        return 2.0 * self.force * (2.0 * (ellipe(m) / ellipk(m) - 1.0 + m))

    def row(self) -> np.ndarray:
        middle = np.array([0.0])
        at_base = float(self.curvature(middle - 1.0)[0])
        return np.array([self.modulus, self.force, at_base, self.shape(middle)[0, 1], self.energy])


def series(s: np.ndarray, shortening: float, order: int) -> tuple[np.ndarray, np.ndarray, float]:
    """θ, κ (n,) and F of order 1 or 3."""
    e, wave, pi = np.sqrt(shortening), np.pi * s, np.pi
    theta, kappa, F = -2.0 * e * np.sin(wave), -2.0 * e * pi * np.cos(wave), pi**2
    if order == 3:
        # (7 + 2 cos 2w) sin w = 6 sin w + sin 3w
        theta = theta - e**3 / 24.0 * (6.0 * np.sin(wave) + np.sin(3.0 * wave))
        kappa = kappa - e**3 * pi / 24.0 * (6.0 * np.cos(wave) + 3.0 * np.cos(3.0 * wave))
        F = F + 0.5 * pi**2 * shortening
    return theta, kappa, F


def printed_angle(s: np.ndarray, shortening: float) -> np.ndarray:
    """θ of order 3 with eq. 6.10 as printed."""
    wave = np.pi * s
    return series(s, shortening, 1)[0] - shortening**1.5 / 24.0 * (7.0 + 2.0 * np.cos(2.0 * wave)) * np.sin(2.0 * wave)


def shape_of(theta: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(n, 2) from angles at equal spacing, by Simpson's rule."""
    return np.stack([cumulative_simpson(f(theta), x=s, initial=0.0) for f in (np.cos, np.sin)], axis=1)


# The library -----------------------------------------------------------------------------------------------------


def rod(shortening: float, length: float = 2.0, component: tuple[int, ...] = (2,)) -> RodProblem:
    """EI = 1, γ = 0.7, both ends clamped."""
    H = np.array([0.7, 1.0, 1.0, 1e6, 1e6, 1e6])
    return RodProblem(
        length=length,
        component=component,
        stiffness=lambda s: np.tile(H, (s.size, 1)),
        rest_strain=lambda s: np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (s.size, 1)),
        inertia=lambda s: np.tile([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], (s.size, 1)),
        tip=End.clamped(se3.pose(np.eye(3), (length * (1.0 - shortening), 0.0, 0.0))),
    )


def bent(curvature: Any) -> Any:
    """Strain field of a curvature given over [-1, 1]."""

    def strain(s: np.ndarray) -> np.ndarray:
        xi = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (s.size, 1))
        xi[:, 2] = curvature(s - 1.0)
        return xi

    return strain


def row_of(found: RodSolution) -> np.ndarray:
    """F, κ(-1), y(0), energy."""
    force = found.g[0, :3, :3] @ found.stress[0, 3:]
    return np.array([-force[0], found.xi[0, 2], found.pose(1.0)[1, 3], found.elastic_energy])


# As in the thesis ------------------------------------------------------------------------------------------------


def along(unknown: np.ndarray, points: int = 2) -> np.ndarray:
    """(x, y, θ, κ, energy) from s = -1 to 1 by eq. 6.11."""
    kappa, Fx, Fy = unknown

    def rate(y: np.ndarray, s: float) -> tuple[float, ...]:
        c, n = np.cos(y[2]), np.sin(y[2])
        return c, n, y[3], -Fx * n + Fy * c, 0.5 * y[3] ** 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ODEintWarning)  # a wild guess gives up, and fsolve goes on elsewhere
        return odeint(rate, (0.0, 0.0, 0.0, kappa, 0.0), np.linspace(-1.0, 1.0, points), rtol=1e-9, atol=1e-9)


@dataclass(frozen=True)
class Shot:
    """One attempt: unknowns, ½∫κ², whether it met the end, residuals evaluated, seconds."""

    unknown: np.ndarray
    energy: float
    met: bool
    evaluations: int
    seconds: float


def shoot_once(shortening: float, guess: tuple[float, float, float]) -> Shot:
    """SciPy's fsolve on the end of odeint."""
    target = np.array([2.0 - 2.0 * shortening, 0.0, 0.0])
    begin = time.perf_counter()
    found, info, _, _ = fsolve(lambda z: along(z)[-1, :3] - target, guess, full_output=True)
    seconds = time.perf_counter() - begin
    last = along(found)[-1]
    met = bool(np.linalg.norm(last[:3] - target) < 1e-6)
    return Shot(found, float(last[4]), met, int(info["nfev"]), seconds)


def residual_map(kappa: np.ndarray, Fx: np.ndarray, steps: int = 160) -> np.ndarray:
    """Distance |(x, y, θ) - target| at the end, F_y = 0, by the classical method for all pairs at once."""
    k, F = np.meshgrid(kappa, Fx, indexing="ij")
    y, h = np.stack([0.0 * k, 0.0 * k, 0.0 * k, k]), 2.0 / steps

    def rate(y: np.ndarray) -> np.ndarray:
        s = np.sin(y[2])
        return np.stack([np.cos(y[2]), s, y[3], -F * s])

    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(y + h * k3))
    return np.sqrt((y[0] - 2.0 + 2.0 * MAP) ** 2 + y[1] ** 2 + y[2] ** 2)


def valleys(kappa: np.ndarray, Fx: np.ndarray, distance: np.ndarray) -> list[Shot]:
    """Solutions below the local minima of the map, each once."""
    inner = distance[1:-1, 1:-1]
    low = np.ones_like(inner, dtype=bool)
    for i in (0, 1, 2):
        for j in (0, 1, 2):
            if (i, j) != (1, 1):
                low &= inner <= distance[i : i + inner.shape[0], j : j + inner.shape[1]]
    found: list[Shot] = []
    for i, j in np.argwhere(low & (inner < 0.5)):
        shot = shoot_once(MAP, (kappa[i + 1], Fx[j + 1], 0.0))
        if shot.met and not any(np.linalg.norm(shot.unknown - old.unknown) < 1e-3 for old in found):
            found.append(shot)
    return found


# The page --------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """All parts; quick takes fewer shortenings, a coarser map and fewer guesses."""
    metrics: dict[str, dict[str, Any]] = {}
    data: dict[str, Any] = {}
    s = np.linspace(-1.0, 1.0, 401)

    # closed form
    rows = np.array([Elastica.of(shortening).row() for shortening in TABLE[:, 0]])
    for k, name in enumerate(COLUMNS):
        metrics[f"closed form: {name}, seven rows"] = metric(
            np.max(np.abs(rows[:, k] - TABLE[:, k + 1])), "1", 0.0, ELLIPTIC, 1e-6
        )

    # series
    sizes = np.geomspace(0.004, 0.9, 25)
    angle = {name: [] for name in ("1", "3", "printed")}
    for size in sizes:
        exact = Elastica.of(size).angle(s)
        for name, found in (
            ("1", series(s, size, 1)[0]), ("3", series(s, size, 3)[0]), ("printed", printed_angle(s, size)),
        ):  # fmt: skip
            angle[name].append(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    for name, values in angle.items():
        data[f"series/{name}"] = ("size", np.array(values), {"units": "1", "long_name": "relative error of the angle"})
    data["size"] = ("size", sizes, {"units": "1", "long_name": "eps²"})
    base = np.array([-1.0])
    at_base = {order: series(base, 0.01, order)[1][0] for order in (1, 3)}
    metrics["series of order 3: kappa(-1) at eps² = 0.01"] = metric(
        at_base[3], "1", 0.629497, PERTURBATION + ", eq. 6.10 corrected", 1e-6
    )
    small = np.array((0.01, 0.04))
    for order in (1, 3):
        off = [abs(series(base, e, order)[1][0] - Elastica.of(e).curvature(base)[0]) for e in small]
        observed = np.log2(off[1] / off[0])  # eps doubles
        metrics[f"series of order {order}: error of kappa(-1), power of eps"] = metric(
            observed, "1", order + 2, PERTURBATION, 0.15
        )
    off = [np.linalg.norm(printed_angle(s, e) - Elastica.of(e).angle(s)) for e in small]
    metrics["eq. 6.10 as printed: error, power of eps"] = metric(
        np.log2(off[1] / off[0]), "1", 3.0, "erratum: no better than order 1", 0.15
    )
    exact = Elastica.of(0.8).angle(s)
    gap = 100.0 * np.linalg.norm(series(s, 0.8, 1)[0] - exact) / np.linalg.norm(exact)
    metrics["series of order 1: angle at 80 %, off by"] = metric(
        gap, "%", 10.0, "thesis, fig. 6.4: in a neighbourhood of 10 %; norm not given", 5.0
    )

    # shooting from the series
    chosen = TABLE[[0, 2, 4]] if quick else TABLE[:6]
    worst = np.zeros(4)
    library = {"seconds": [], "iterations": []}
    single: list[Shot] = []
    for row in chosen:
        begin = time.perf_counter()
        found = solve_rod(rod(row[0]), guess=bent(lambda z, e=row[0]: series(z, e, 1)[1]))
        library["seconds"].append(time.perf_counter() - begin)
        library["iterations"].append(found.iterations)
        known = Elastica.of(row[0]).row()[1:]
        worst = np.maximum(worst, np.abs(row_of(found) - known) / known)
        single.append(shoot_once(row[0], (2.0 * np.pi * np.sqrt(row[0]), np.pi**2, 0.0)))
    for name, value in zip(COLUMNS[1:], worst):
        metrics[f"shooting, library: {name}, relative"] = metric(value, "1", 0.0, "closed form", 1e-6)
    lowest = [shot.met and abs(shot.energy / row[5] - 1.0) < 1e-5 for shot, row in zip(single, chosen)]
    metrics["single shooting from order 1: lowest upward mode"] = metric(
        np.mean(lowest), "of all", 1.0, "thesis, section 6.1.3", 0.0
    )
    data["shooting/eps2"] = ("row", chosen[:, 0])
    data["shooting/library/iterations"] = ("row", np.array(library["iterations"]))
    data["shooting/library/time"] = ("row", np.array(library["seconds"]), {"units": "s"})
    data["shooting/single/evaluations"] = ("row", np.array([shot.evaluations for shot in single]))
    data["shooting/single/time"] = ("row", np.array([shot.seconds for shot in single]), {"units": "s"})

    # shapes
    nine = np.linspace(0.0, 2.0, 17)
    for k, size in enumerate(SHOWN):
        data[f"shape/{k}/exact"] = (("s", "xy"), Elastica.of(size).shape(s))
        for order in (1, 3):
            data[f"shape/{k}/order_{order}"] = (("s", "xy"), shape_of(series(s, size, order)[0], s))
        found = solve_rod(rod(size), guess=bent(lambda z, e=size: series(z, e, 1)[1]), accuracy=None if quick else 1e-8)
        data[f"shape/{k}/shooting"] = (("mark", "xy"), np.array([found.pose(z)[:2, 3] for z in nine]))

    # map of residuals
    kappa, Fx = np.linspace(-BOX[0], BOX[0], 133 if quick else 353), np.linspace(*BOX[1:], 121 if quick else 401)
    distance = residual_map(kappa, Fx)
    data["map"] = (("kappa", "Fx"), distance, {"long_name": "distance from the target at s = 1"})
    below = valleys(kappa, Fx, distance)
    straight = [shot for shot in below if abs(shot.unknown[2]) < 1e-3]
    unknowns = np.array([shot.unknown[:2] for shot in straight])
    for waves, F, at in ((1, 14.849, 5.860), (2, 59.394, 11.720), (3, 133.637, 17.581)):
        away = max(np.min(np.linalg.norm(unknowns - (sign * at, F), axis=1)) for sign in (1.0, -1.0))
        metrics[f"map: solutions with {waves} waves, up and down"] = metric(away, "1", 0.0, ELLIPTIC, 2e-3)
    metrics["map: solutions with F_y = 0 in the box"] = metric(len(straight), "1", 6.0, "closed form: n = 1, 2, 3", 0.0)
    data["map/solutions"] = (("solution", "kF"), unknowns)

    # random guesses
    rng = np.random.default_rng(6)
    guesses = 16 if quick else 100
    shots = [shoot_once(MAP, (rng.uniform(-BOX[0], BOX[0]), rng.uniform(*BOX[1:]), 0.0)) for _ in range(guesses)]
    lowest_energy = Elastica.of(MAP).energy
    ratio = np.array([shot.energy / lowest_energy if shot.met else np.nan for shot in shots])
    data["random/energy"] = ("guess", ratio, {"units": "energy of one wave"})
    data["random/time"] = ("guess", np.array([shot.seconds for shot in shots]), {"units": "s"})
    whole = ratio[np.isfinite(ratio)]
    metrics["random guesses: most of those solved lie above the lowest energy"] = metric(
        float(np.mean(whole > 1.01) > 0.5), "1", 1.0, "thesis, fig. 6.5: much higher energy", 0.0
    )
    symmetric = whole[np.abs(np.sqrt(whole) - np.round(np.sqrt(whole))) < 1e-3]
    metrics["random guesses: energies n², largest departure"] = metric(
        np.max(np.abs(symmetric - np.round(np.sqrt(symmetric)) ** 2)), "1", 0.0, "closed form", 1e-4
    )
    shown: list[Shot] = []
    for shot in sorted([*below, *shots], key=lambda shot: shot.energy):
        if shot.met and not (shown and shot.energy < shown[-1].energy + 0.1):
            shown.append(shot)
    data["found/energy"] = ("found", np.array([shot.energy / lowest_energy for shot in shown]))
    up = [np.array([1.0, np.sign(shot.unknown[0])]) for shot in shown]
    traces = [along(shot.unknown, 401)[:, :2] * side for shot, side in zip(shown, up)]
    data["found/shape"] = (("found", "s", "xy"), np.array(traces))

    # stability of the waves
    index = {}
    for waves in (2,) if quick else (1, 2, 3):
        found = solve_rod(rod(MAP), guess=bent(Elastica.of(MAP, waves).curvature))
        index[waves] = conjugate_points(found).index
    for waves, value in index.items():
        metrics[f"unstable motions in the plane, {waves} waves"] = metric(
            value, "1", 2 * waves - 2, "2n - 2 loads of the column below its nth symmetric one", 0.0
        )

    # in space
    planar, full = rng.uniform(-2.0, 2.0, (guesses, 6)), rng.uniform(-2.0, 2.0, (guesses, 6))
    planar[:, [0, 1, 5]] = 0.0
    full[:, 0] *= 0.7  # the couple of a twist in [-2, 2]
    solved = {}
    near = PROBLEMS["ends at 0.8 L"]()
    cases = [("whole", 0, False)]
    if not quick:
        cases += [("halved", 10, False), ("whole, diagonal", 0, True)]
    for name, halvings, diagonal in cases:
        for kind, start in (("planar", planar), ("full", full)):
            x, met = single_shooting(near, start, halvings=halvings, diagonal=diagonal, iterations=12 if quick else 30)
            solved[name, kind] = 100.0 * np.mean(met)
            if (name, kind) == ("whole", "planar"):
                force = np.linalg.norm(x[met, 3:], axis=1)
    data["space/solved"] = (("case", "kind"), np.array([[solved[c[0], k] for k in ("planar", "full")] for c in cases]))
    metrics["space: planar guesses do better than full ones"] = metric(
        float(solved["whole", "planar"] > solved["whole", "full"]),
        "1",
        1.0,
        "thesis, section 6.1.2: 72 % and 12 %",
        0.0,
    )
    metrics["space: force of the lowest mode"] = metric(
        np.median(force), "1", 43.929164, "planar mode, computed independently; 32 steps here", 5e-3
    )
    # the same starts by every method
    names = ["multiple shooting", "strain modes", "automatic"] if quick else [SINGLE, *METHODS]
    folded = PROBLEMS["ends at 0.36 L"]()
    starts = random_starts(folded, np.random.default_rng(1), 3 if quick else 100, 10.0)
    outcomes = {name: count(folded, starts, name) for name in names}
    percent = 100.0 / len(starts)
    for part, values in (
        ("solved", [o.solved * percent for o in outcomes.values()]),
        ("stable", [o.stable_count * percent for o in outcomes.values()]),
        ("equilibria", [float(o.equilibria) for o in outcomes.values()]),
        ("time", [o.seconds / len(starts) for o in outcomes.values()]),
    ):
        data[f"starts/{part}"] = ("method", np.array(values))
    metrics["starts in space: solved by the automatic choice"] = metric(
        outcomes["automatic"].solved * percent, "%", 100.0, "wanted: 99 of 100, each in balance by an own check", 1.0
    )
    coords = {
        "method": names,
        "s": s,
        "kappa": kappa,
        "Fx": Fx,
        "case": [c[0] for c in cases],
        "kind": ["planar", "full"],
    }
    return xr.Dataset(data, coords), metrics
