"""Young's modulus of a rod from its shape under known tensions, as in Gotelli 2024, appendix D.

A cable parallel to the rod at the distance d bends it into an arc of the curvature κ = T d / (E I), so that

    E = T d / (I κ)

The curvature is that of the circle nearest to the points of a shape-sensing fibre, in the plane nearest to them: the
fibre says where its points are, not how the plane of the bend lies. The residual of the circle gives the noise of the
points, and this the standard deviation of κ and of E. The error of κ does not depend on the load, so that of E grows as
1/T; estimates whose own standard deviation exceeds 1 % are flagged and not used.

The measurements of the thesis are not printed. Here a rod with its result, 293 GPa, is bent by tensions from 0.5 to
20 N, and each shape is measured many times: points with Gaussian noise of 0.5 mm, all turned at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import elver as ev
from elver.cli.gallery import metric

YOUNG = 293e9  # Pa
WIDTH, HEIGHT, OFFSET = 0.51e-3, 19.05e-3, 0.011  # m: the second rod of the robot, its cables; as in model.toml
I_ZZ = WIDTH**3 * HEIGHT / 12.0
TENSIONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)  # N
NOISE = 0.5e-3  # m
LIMIT = 0.01  # largest standard deviation of an estimate that is used, of the estimate


@dataclass(frozen=True)
class Estimate:
    """Young's modulus from one shape, with the standard deviation that the scatter of its points implies."""

    young: float  # Pa
    deviation: float  # Pa
    curvature: float  # 1/m
    curvature_deviation: float  # 1/m

    @property
    def flagged(self) -> bool:
        """True where the load is too low for the noise."""
        return self.deviation > LIMIT * self.young


def estimate(points: np.ndarray, tension: float, offset: float = OFFSET, I: float = I_ZZ) -> Estimate:
    """E = T d / (I κ) from points (N, 3) [m] along a rod that a cable bends into an arc; their axes do not matter."""
    curvature, deviation = arc(points)
    young = tension * offset / (I * curvature)
    return Estimate(young, young * deviation / curvature, curvature, deviation)


def arc(points: np.ndarray) -> tuple[float, float]:
    """Curvature [1/m] of the circle nearest to points (N, 3) [m] in space, and its standard deviation.

    Circles are A (x² + y²) + √(1 + 4AD) (x cos θ + y sin θ) + D = 0: also straight lines, where the curvature 2A is 0
    (Chernov and Lesort 2005). A point with the value P has the distance 2P / (1 + √(1 + 4AP)).
    """
    # the plane nearest to the points, in which the first axis runs along them
    size = np.ptp(points, axis=0).max()
    _, _, axes = np.linalg.svd((points - points.mean(axis=0)) / size)
    x, y = ((points - points.mean(axis=0)) / size @ axes[:2].T).T

    def distance(unknown: np.ndarray) -> np.ndarray:
        A, D, theta = unknown
        P = A * (x**2 + y**2) + np.sqrt(max(1.0 + 4.0 * A * D, 0.0)) * (x * np.cos(theta) + y * np.sin(theta)) + D
        return 2.0 * P / (1.0 + np.sqrt(np.maximum(1.0 + 4.0 * A * P, 0.0)))

    # a parabola y = a + b x + c x² is a good start: A = c, near θ = -π/2
    c = np.polyfit(x, y, 2)[0]
    fit = least_squares(distance, (c, 0.0, -0.5 * np.pi), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    variance = np.sum(fit.fun**2) / (len(points) - 3)
    covariance = variance * np.linalg.inv(fit.jac.T @ fit.jac)
    return 2.0 * abs(float(fit.x[0])) / size, 2.0 * float(np.sqrt(covariance[0, 0])) / size


def shapes(tensions: tuple[float, ...] = TENSIONS) -> np.ndarray:
    """Points (loads, N, 3) [m] of the rod bent by each tension: its equilibria."""
    system = ev.load_model(Path(__file__).with_name("model.toml")).system
    return np.array([ev.poses(system, ev.equilibrium(system, {"cable": T}).state)[:, :3, 3] for T in tensions])


def measured(points: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The points (N, 3) as a fibre in any position reports them: turned and shifted at random, with noise."""
    turn = Rotation.random(random_state=random).as_matrix()
    return points @ turn.T + random.normal(scale=0.1, size=3) + random.normal(scale=NOISE, size=points.shape)


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Forty measurements of each shape, ten when quick."""
    random = np.random.default_rng(293)
    repeats = 10 if quick else 40
    exact = shapes()
    seen = np.array([[measured(points, random) for _ in range(repeats)] for points in exact])
    found = [[estimate(points, T) for points in several] for T, several in zip(TENSIONS, seen, strict=True)]
    young, deviation, curvature, curvature_deviation = (
        np.array([[getattr(e, name) for e in several] for several in found])
        for name in ("young", "deviation", "curvature", "curvature_deviation")
    )
    flagged = np.array([[e.flagged for e in several] for several in found])
    loads = (("load", "repeat"), ("load", "point", "xyz"))
    data = xr.Dataset(
        {
            "young": (loads[0], young, {"units": "Pa"}),
            "deviation": (loads[0], deviation, {"units": "Pa", "long_name": "standard deviation of one estimate"}),
            "curvature": (loads[0], curvature, {"units": "1/m"}),
            "curvature_deviation": (loads[0], curvature_deviation, {"units": "1/m"}),
            "flagged": (loads[0], flagged.astype(int), {"units": "1", "long_name": "load too low for the noise"}),
            "shape": (loads[1], exact, {"units": "m", "long_name": "points of the rod in balance"}),
            "measured": (loads[1], seen[:, 0], {"units": "m", "long_name": "points as first measured"}),
        },
        {"tension": ("load", list(TENSIONS), {"units": "N"})},
    )

    metrics: dict[str, dict[str, Any]] = {}
    source = "Gotelli 2024, appendix D: 293 GPa, given to the rod"
    used = ~flagged
    weights = used / deviation**2
    metrics["Young's modulus"] = metric(1e-9 * np.sum(weights * young) / weights.sum(), "GPa", 293.0, source, 0.5)
    for T, own, mine, weight in zip(TENSIONS, used, young, weights, strict=True):
        if own.mean() > 0.5:
            metrics[f"Young's modulus at {T:g} N"] = metric(
                1e-9 * np.sum(weight * mine) / weight.sum(), "GPa", 293.0, source, 2.93
            )
    single = np.abs(young[-3:] / YOUNG - 1.0)
    metrics["one shape at 12 N and more, at worst"] = metric(100.0 * single.max(), "% from 293 GPa", 0.0, source, 1.0)
    metrics["flagged at 1 N and less"] = metric(
        100.0 * flagged[:2].mean(), "% of the shapes", 100.0, "low loads are to be found out", 0.0
    )
    metrics["flagged at 8 N and more"] = metric(100.0 * flagged[7:].mean(), "% of the shapes", 0.0, "none", 0.0)
    score = (curvature[used] - (np.array(TENSIONS)[:, None] * OFFSET / (YOUNG * I_ZZ) + 0.0 * curvature)[used]) / (
        curvature_deviation[used]
    )
    metrics["scatter of the curvatures over the one told"] = metric(
        np.sqrt(np.mean(score**2)), "1", 1.0, "an honest standard deviation", 0.15
    )
    return data, metrics
