"""The backward and the forward algorithm of Le Vey 2006 along an inextensible rod of 1 m, 1 kg/m.

*Backward*: the motion is known, and the couple inside comes out: composite inertia, well behaved for any rod. Checked
here by the balance of momentum and as the limit of chains of rigid links with ball joints.

*Forward*: the couple is known, and the acceleration of the curvature comes out of a singular linear-quadratic problem.
In a march along the rod errors grow like exp(2 L/r), r the radius of the section; the Riccati sweep of the source
escapes to infinity inside all but the thickest rods. At L/r = 1.97 it escapes at the base itself: there the problem of
the bent motion has no solution, which the condition number beside it shows. Taken in all elements together the same
equations are solved for slender rods too: the amplification belongs to the march.

The paper prints no numbers. The motions are

    waving   K = (0.3 sin t, sin(2πs - t), 0.5 s cos t) at t = 0.3 s, ρI = diag(0.02, 0.01, 0.01) kg m
    bent     K = (0.3 sin s, sin(2s + 0.3), s/2), K̇ = (0.2 cos 3s, -cos 2s, 0.4 s²), K̈ = (sin s, 0.7 cos 4s, -s), with a
             tip wrench (0.1, 0.2, -0.1) N m, (0.3, 0.1, -0.2) N and sections of radius r: ρI = r²/4 diag(2, 1, 1)

both in SI units, clamped at the base. References are closed forms, balances, and condition numbers computed once by
another program on the bent motion. The paper's moment balance has a term k×M too many in space (its control is the
inertial k̈, and the power of a couple goes with the co-rotational rate), which is measured as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.polynomial.chebyshev import chebfit, chebval
from scipy.integrate import solve_ivp

from elver.cli.gallery import metric
from elver.errors import NotConverged
from elver.lie import se3, so3
from elver.numerics.differences import FIRST, OFFSETS
from elver.one_rod.sweeps.inverse import MotionStress, StrainMotion, stress_of_motion
from elver.one_rod.sweeps.singular_rods import rod_problem
from elver.one_rod.sweeps.singular_sweep import (
    SingularProblem,
    condition,
    solve_by_collocation,
    solve_by_riccati,
    solve_by_superposition,
)

TIME = 0.3  # s
TIP = np.array([0.1, 0.2, -0.1, 0.3, 0.1, -0.2])  # N m, N
MEASURED = {1: 5.0, 2: 2e3, 4: 4e3, 6: 1.5e5, 8: 6.5e6}  # condition numbers of the bent motion
INDEPENDENT = "independent program on the data of Boyer 2023, appendix 2"
LINKS = (8, 16, 32, 64, 128)
SOLVERS: dict[str, Callable[[SingularProblem], Any]] = {
    "superposition": solve_by_superposition, "riccati": solve_by_riccati, "collocation": solve_by_collocation,
}  # fmt: skip


class Bar:
    """One metre with a given rotary inertia per metre [kg m]."""

    length, component = 1.0, (0, 1, 2)

    def __init__(self, rotary: Any) -> None:
        self.diagonal = np.array([*rotary, 1.0, 1.0, 1.0])

    def inertia(self, s: np.ndarray) -> np.ndarray:
        return np.tile(self.diagonal, (len(s), 1))

    def stiffness(self, s: np.ndarray) -> np.ndarray:
        return np.zeros((len(s), 6))

    def rest_strain(self, s: np.ndarray) -> np.ndarray:
        return np.tile((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), (len(s), 1))


WAVING = Bar((0.02, 0.01, 0.01))


def circular(slenderness: float) -> Bar:
    """Section of radius 1 m / slenderness."""
    return Bar(0.25 / slenderness**2 * np.array([2.0, 1.0, 1.0]))


def field(s: np.ndarray, *curvature: Any, stretch: float = 0.0) -> np.ndarray:
    """(n, 6) of three curvatures and Γ_x."""
    return np.stack([np.broadcast_to(c, s.shape) for c in (*curvature, stretch, 0.0, 0.0)], axis=1).astype(float)


def waving(t: float) -> StrainMotion:
    return StrainMotion(
        lambda s: field(s, 0.3 * np.sin(t), np.sin(2 * np.pi * s - t), 0.5 * s * np.cos(t), stretch=1.0),
        lambda s: field(s, 0.3 * np.cos(t), -np.cos(2 * np.pi * s - t), -0.5 * s * np.sin(t)),
        lambda s: field(s, -0.3 * np.sin(t), -np.sin(2 * np.pi * s - t), -0.5 * s * np.cos(t)),
    )


BENT = StrainMotion(
    lambda s: field(s, 0.3 * np.sin(s), np.sin(2 * s + 0.3), s / 2, stretch=1.0),
    lambda s: field(s, 0.2 * np.cos(3 * s), -np.cos(2 * s), 0.4 * s**2),
    lambda s: field(s, np.sin(s), 0.7 * np.cos(4 * s), -s),
)


def couple(found: MotionStress) -> Callable[[np.ndarray], np.ndarray]:
    """C(s) (n, 3) [N m] as a polynomial through the result."""
    coefficients = chebfit(2.0 * found.s - 1.0, found.stress[:, :3], 28)
    return lambda s: chebval(2.0 * s - 1.0, coefficients).T


def forward_problem(slenderness: float) -> SingularProblem:
    """The couple of the bent motion is given, K̈ is wanted."""
    bar = circular(slenderness)
    found = stress_of_motion(bar, BENT, eta_dot=np.zeros(6), tip_wrench=TIP)
    return rod_problem(1.0, BENT.xi, BENT.xi_dot, bar.inertia, couple(found), tip_wrench=TIP, nodes=32)


def round_trip(slenderness: float) -> dict[str, float]:
    """Largest error of K̈ [1/(m s²)] by each solver; not a number where it refuses."""
    problem, errors = forward_problem(slenderness), {}
    for name, solve in SOLVERS.items():
        try:
            found = solve(problem)
        except NotConverged:
            errors[name] = np.nan
        else:
            errors[name] = float(np.max(np.abs(found.control - BENT.xi_ddot(found.s)[:, :3])))
    return errors


def escape(slenderness: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Where the Riccati sweep escapes (0 if it does not), and |ζ| along s beyond."""
    problem = forward_problem(slenderness)
    try:
        found = solve_by_riccati(problem)
    except NotConverged as gone:
        found = gone.result
        return found.where, found.s, np.linalg.norm(found.zeta, axis=(1, 2))
    return 0.0, found.s, np.linalg.norm(found.zeta, axis=(1, 2))


def first_escape() -> float:
    """L/r of the thickest rod that the sweep does not pass, by bisection."""
    low, high = 1.0, 2.0
    while high - low > 2e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if escape(middle)[0] > 0.0 else (middle, high)
    return 0.5 * (low + high)


# Backward -------------------------------------------------------------------------------------------------------


def momentum_rate() -> np.ndarray:
    """d/dt of (angular; linear) momentum about the base, by differences in time of whole motions."""

    def momentum(t: float) -> np.ndarray:
        found = stress_of_motion(WAVING, waving(t), eta_dot=np.zeros(6))
        return np.einsum("s,sij,sj->i", found.weights, se3.coAd(found.g), WAVING.diagonal * found.eta)

    h = 1e-2
    return np.tensordot(FIRST, [momentum(TIME + k * h) for k in OFFSETS], axes=1) / h


def base_couple_as_printed(found: MotionStress) -> np.ndarray:
    """M(0) of eq. 11 as printed, with k×M."""
    R = found.g[:, :3, :3]
    Omega, V = found.eta[:, :3], found.eta[:, 3:]
    rotary = WAVING.diagonal[:3]
    parts = [
        found.eta_dot[:, 3:] + np.cross(Omega, V),
        np.tile((1.0, 0.0, 0.0), (len(R), 1)),
        found.xi[:, :3],
        rotary * found.eta_dot[:, :3] + np.cross(Omega, rotary * Omega),
    ]
    inertial = np.concatenate([np.einsum("sij,sj->si", R, part) for part in parts], axis=1)
    coefficients = chebfit(2.0 * found.s - 1.0, inertial, 40)

    def rate(s: float, y: np.ndarray) -> np.ndarray:
        r_ddot, t, k, gyroscopic = chebval(2.0 * s - 1.0, coefficients).reshape(4, 3)
        return np.concatenate([-r_ddot, -np.cross(t, y[:3]) + np.cross(k, y[3:]) - gyroscopic])

    return solve_ivp(rate, (1.0, 0.0), np.zeros(6), method="DOP853", rtol=1e-11, atol=1e-13).y[3:, -1]


def link_torques(links: int) -> tuple[np.ndarray, np.ndarray]:
    """Arc lengths and torques (links, 3) [N m] of a chain in the waving motion.

    Ball joints in the middle of equal parts turn by exp(hK) with the rate dexp(hK) hK̇; forward for twists, back for
    wrenches, as in Khalil 2007.
    """
    h, motion = 1.0 / links, waving(TIME)
    at = (np.arange(links) + 0.5) * h
    theta, rate, second = (h * f(at)[:, :3] for f in (motion.xi, motion.xi_dot, motion.xi_ddot))
    length = np.full(links + 1, h)
    length[[0, -1]] = 0.5 * h
    eta, eta_dot, X = np.zeros((links + 1, 6)), np.zeros((links + 1, 6)), []
    for j in range(links):
        X.append(se3.Ad(se3.inverse(se3.pose(so3.exp(theta[j]), (length[j], 0.0, 0.0)))))
        turn = np.concatenate([so3.dexp(theta[j]) @ rate[j], np.zeros(3)])
        eta[j + 1] = X[j] @ eta[j] + turn
        eta_dot[j + 1] = X[j] @ eta_dot[j] + se3.ad(eta[j + 1]) @ turn
        eta_dot[j + 1, :3] += so3.dexp(theta[j]) @ second[j] + so3.d_dexp(theta[j], rate[j]) @ rate[j]
    wrench, torques = np.zeros(6), np.zeros((links, 3))
    for j in reversed(range(1, links + 1)):
        to_middle = se3.Ad(se3.pose(np.eye(3), (-0.5 * length[j], 0.0, 0.0)))
        J = np.diag(length[j] * WAVING.diagonal + length[j] ** 3 / 12.0 * np.array([0, 1, 1, 0, 0, 0]))
        J = to_middle.T @ J @ to_middle
        wrench = J @ eta_dot[j] - se3.ad(eta[j]).T @ J @ eta[j] + (X[j].T @ wrench if j < links else 0.0)
        torques[j - 1] = so3.exp(0.5 * theta[j - 1]) @ wrench[:3]
    return at, torques


# The page -------------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Both algorithms; quick takes fewer rods."""
    metrics: dict[str, dict[str, Any]] = {}
    data: dict[str, Any] = {}

    # backward
    found = stress_of_motion(WAVING, waving(TIME), eta_dot=np.zeros(6))
    at_base = found.base_wrench
    metrics["backward: n(0), M(0) against momentum"] = metric(
        np.max(np.abs(at_base - momentum_rate())), "N m, N", 0.0, "d/dt of momentum, by differences of order 6", 1e-8
    )
    off = np.linalg.norm(base_couple_as_printed(found) - at_base[:3]) / np.linalg.norm(at_base[:3])
    metrics["eq. 11 as printed: M(0) off by"] = metric(100.0 * off, "%", 3.8, "rederivation of eq. 11", 0.05)
    mass = np.max(np.abs(found.composite_inertia[0][3:, 3:] - np.eye(3)))
    metrics["composite inertia at the base: mass"] = metric(mass, "kg", 0.0, "1 kg", 1e-12)
    C = couple(found)
    apart = []
    for links in LINKS:
        at, torques = link_torques(links)
        apart.append(np.max(np.abs(torques + C(at))))
        if links == LINKS[1]:
            data["chain/s"], data["chain/couple"] = ("joint", at, {"units": "m"}), (("joint", "xyz"), -torques)
    order = -np.polyfit(np.log(LINKS), np.log(apart), 1)[0]
    metrics["chains of links: order"] = metric(order, "1", 2.0, "midpoint rule; 1 at least is asked for", 0.15)
    data["links"], data["chain/error"] = ("links", np.array(LINKS)), ("links", np.array(apart), {"units": "N m"})
    data["couple"] = (("s", "xyz"), C(np.linspace(0.0, 1.0, 201)), {"units": "N m"})

    # forward: conditioning
    sizes = np.array([1, 2, 4, 6, 8] if quick else [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14])
    conditions = np.array([condition(forward_problem(size)) for size in sizes])
    data["slenderness"] = ("size", sizes, {"units": "1", "long_name": "length over radius"})
    data["condition"] = ("size", conditions, {"units": "1"})
    for size, known in MEASURED.items():
        ours = conditions[np.flatnonzero(sizes == size)[0]]
        metrics[f"condition number at L/r = {size}"] = metric(ours, "1", known, INDEPENDENT, 0.15 * known)
        if size >= 4:
            metrics[f"its logarithm over 2 L/r, L/r = {size}"] = metric(
                np.log(ours) / (2.0 * size), "1", 1.0, "exp(2 L/r), of V'' = (A/I) V", 0.1
            )

    # forward: round trips
    asked = {"riccati": {1: 1e-6}, "superposition": {1: 1e-5, 2: 1e-5, 4: 1e-5, 6: 1e-4, 8: 1e-3}}
    trips = np.array([1, 2, 4, 6, 8, 20] if quick else [1, 1.2, 1.5, 2, 3, 4, 6, 8, 10, 12, 14, 20, 30, 50, 100])
    errors = [round_trip(size) for size in trips]
    data["trip"] = ("trip", trips, {"units": "1", "long_name": "length over radius"})
    for name in SOLVERS:
        values = np.array([e[name] for e in errors])
        data[f"{name}/error"] = ("trip", values, {"units": "1/(m s2)"})
        for size, tolerance in asked.get(name, {}).items():
            metrics[f"{name}: error of K'' at L/r = {size}"] = metric(
                values[np.flatnonzero(trips == size)[0]], "1/(m s2)", 0.0, "the motion put in", tolerance
            )
    values = data["collocation/error"][1]
    metrics["collocation: error of K'' at L/r = 20"] = metric(
        values[np.flatnonzero(trips == 20)[0]], "1/(m s2)", 0.0, "the motion put in; a march would lose 17 digits", 1e-4
    )
    refused = np.isnan(data["superposition/error"][1][np.flatnonzero(trips == 20)[0]])
    metrics["superposition at L/r = 20 is refused"] = metric(float(refused), "1", 1.0, "condition number > 1e12", 0.0)

    # forward: finite escape
    gone = np.array([1, 2, 4, 8] if quick else [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8, 10, 14, 20])
    places = []
    for size in gone:
        where, s, zeta = escape(size)
        places.append(where)
        if size in (1, 2, 4, 8):
            fill = s[0] + (1.0 - s[0]) * np.linspace(0.0, 1.0, 600) ** 2
            data[f"zeta/{size:g}"] = (("along", "value"), np.column_stack([fill, np.interp(fill, s, zeta)]))
    data["escape/slenderness"] = ("rod", gone, {"units": "1"})
    data["escape/s"] = ("rod", np.array(places), {"units": "m"})
    metrics["the sweep passes L/r = 1"] = metric(places[0], "m", 0.0, INDEPENDENT, 0.0)
    for size, place in zip(gone, places):
        if size in (2, 4, 8):
            metrics[f"finite escape at L/r = {size:g}"] = metric(
                place, "m", 0.155, f"between 0.01 and 0.3 m: {INDEPENDENT}", 0.146
            )
    if not quick:
        metrics["thickest rod that escapes"] = metric(
            first_escape(), "L/r", 1.5, "between 1 and 2: " + INDEPENDENT, 0.5
        )
    return xr.Dataset(data, {"s": ("s", np.linspace(0.0, 1.0, 201), {"units": "m"})}), metrics
