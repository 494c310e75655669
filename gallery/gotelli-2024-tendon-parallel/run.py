"""The tendon-driven planar robot of Gotelli 2024 as a twin experiment: one run plays the robot, others its model.

Two limbs on revolute joints, each a rigid body with a spring-steel strip that two antagonist cables bend; the tips
meet in a joint with a sliding platform. The thesis measures the robot, imposes some of its coordinates on the model
and lets the others follow:

    A    both rods (q_3, q_6) are imposed, the base joints follow; no cable pulls, the efforts tell the tensions
    B    both base joints (q_1, q_4) are imposed, the rods follow under the tensions of all cables
    C    one of each (q_1, q_6), with the tensions of the other rod

Its measurements are not printed, so a simulated robot is measured instead: once exactly, and once with sensors that
err as its do (0.2 degrees on the joints; 1 mm on each of 25 points along the fibres in the rods, 0.25 m of the first
and all of the second, to which shapes are fitted), filtered forward and backward by a Butterworth filter of order 4
at 4 Hz, with central differences of 40 ms. Errors of the model are then those of the sensors alone; the spread
printed in the thesis also holds its friction, stiffness and synchronisation, and is an upper bound here.

Tensions are T = 1 + 2.5 (1 - cos t) N, half a second later in cables 2 and 4: chosen, since the measured ones are not
printed. They turn the joints by 5 degrees and hardly move the platform. A second, wide motion has the 56 degrees
that the tables imply: T = 1 + 7 (1 - cos t) N, with the antagonists half a turn later.

Joints, mass centres and clamps coincide in each limb (the thesis gives no offsets), and the platform is a point of
0.24 kg; friction on it is 0.01 N against its velocity, smoothed below 1 mm/s. Generalized-alpha (0.6), 40 ms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import BPoly
from scipy.signal import butter, sosfiltfilt

import elver as ev
from elver import io
from elver.cli.gallery import metric

DISTANCE, LENGTHS = 0.435, (0.394, 0.48)  # m: between the base joints; of the rods 3 and 6
OFFSET = 0.011  # m, of the cables
JOINT_FRICTION, PLATFORM_FRICTION = 0.005, 0.01  # N m s/rad, N
FIBRE = 0.25  # m of the first rod that the fibre sees; of the second it sees all
STEP, METHOD = 0.04, ev.GeneralizedAlpha(rho_inf=0.6)
NOISE_ANGLE, NOISE_SHAPE, POINTS = np.radians(0.2), 1e-3, 25  # rad, m, number of points along a fibre
CASES = {"A": ("rod3", "rod6"), "B": ("J1", "J4"), "C": ("J1", "rod6")}
# Standard deviations of Tables 4.2 to 4.4: degrees, then metres. r_1, r_2: ends of the fibres in the rods' frames.
SPREAD = {
    "A": {"q_1": 0.74, "q_4": 0.80, "r_1x": 1.1e-3, "r_1y": 2.2e-3, "r_2x": 1.3e-3, "r_2y": 2.7e-3, "r_px": 4.9e-3,
          "r_py": 3.9e-3},
    "B": {"r_1x": 6.1e-3, "r_1y": 1.1e-2, "r_2x": 5.9e-3, "r_2y": 1.1e-2, "r_px": 1.1e-2, "r_py": 6.5e-3},
    "C": {"q_4": 1.1, "r_1x": 6.5e-3, "r_1y": 1.3e-2, "r_2x": 1.3e-3, "r_2y": 2.7e-3, "r_px": 6.8e-3, "r_py": 5.4e-3},
}  # fmt: skip
TABLES = {"A": "Table 4.2", "B": "Table 4.3", "C": "Table 4.4"}

Tensions = Mapping[str, Callable[[float], float]]
PULLS: dict[str, Tensions] = {
    "gentle": {
        f"cable{c}": (lambda t, late=late: 1.0 + 2.5 * (1.0 - np.cos(max(t - late, 0.0))))
        for c, late in ((1, 0.0), (2, 0.5), (3, 0.0), (4, 0.5))
    },
    "wide": {
        f"cable{c}": (lambda t, late=late: 1.0 + 7.0 * (1.0 - np.cos(max(t - late, 0.0))))
        for c, late in ((1, 0.0), (2, np.pi), (3, 0.0), (4, np.pi))
    },
}


@dataclass(frozen=True)
class Robot:
    """The robot, with the coordinates of some of its parts imposed."""

    system: ev.System
    imposed: dict[str, tuple[ev.Imposed, ...]]

    @property
    def cables(self) -> list[str]:
        return [part.name for part in self.system.actuators if isinstance(part, ev.Tendon)]


def robot(imposed: tuple[str, ...] = ()) -> Robot:
    """The robot straight at rest; parts named in ``imposed`` follow given motions, and cables on them are left out."""
    steel = ev.Material(young=293e9, poisson=0.3, density=9538.0)  # of the strip with its disks
    strip = ev.Rectangle(0.51e-3, 19.05e-3)
    rods = [
        ev.Rod(length, strip, steel, ev.Legendre.planar(2), name=name)
        for length, name in zip(LENGTHS, ("rod3", "rod6"), strict=True)
    ]
    bodies = [
        ev.RigidBody(mass, (0.5 * I_zz, 0.5 * I_zz, I_zz), name=name)
        for mass, I_zz, name in ((0.897, 4.268e-3, "body1"), (0.663, 3.122e-3, "body4"))
    ]
    platform = ev.RigidBody.point(0.24, name="platform")
    x = (LENGTHS[0] ** 2 - LENGTHS[1] ** 2 + DISTANCE**2) / (2.0 * DISTANCE)
    y = np.sqrt(LENGTHS[0] ** 2 - x**2)
    J1 = ev.Revolute("world", bodies[0], name="J1", start=np.arctan2(y, x))
    J4 = ev.Revolute(("world", (DISTANCE, 0.0, 0.0)), bodies[1], name="J4", start=np.arctan2(y, x - DISTANCE))
    mechanism = ev.Mechanism(
        [
            J1,
            J4,
            ev.Fixed(bodies[0], (rods[0], "base"), name="J2"),
            ev.Fixed(bodies[1], (rods[1], "base"), name="J5"),
            # A point cannot turn, so one limb may carry it.
            ev.Fixed((rods[0], "tip"), platform, name="J3"),
            ev.Revolute(platform, (rods[1], "tip"), name="J6", cut=True),
        ]
    )
    motions = {part.name: ev.Imposed.all(part) for part in (*rods, J1, J4) if part.name in imposed}
    cables = [
        ev.Tendon(rod, ev.parallel(y=side * OFFSET, z=0.0), name=f"cable{c}", reach=OFFSET)
        for c, rod, side in ((1, rods[0], -1), (2, rods[0], 1), (3, rods[1], -1), (4, rods[1], 1))
        if rod.name not in motions
    ]
    losses = [
        ev.JointFriction(J1, viscous=JOINT_FRICTION),
        ev.JointFriction(J4, viscous=JOINT_FRICTION),
        ev.SlidingFriction(platform, dry=PLATFORM_FRICTION),
    ]
    everything = [*cables, *(motion for several in motions.values() for motion in several)]
    return Robot(ev.System(mechanism, actuators=everything, loads=losses), motions)


def play(pulls: Tensions, duration: float, step: float = STEP) -> xr.Dataset:
    """The robot itself, pulled by its cables."""
    twin = robot()
    with _planar():
        start = ev.equilibrium(twin.system, pulls)
        return ev.simulate(twin.system, start, duration, step, METHOD, pulls)


def follow(case: str, pulls: Tensions, measured: dict[str, np.ndarray], time: np.ndarray) -> xr.Dataset:
    """The model with the coordinates of ``case`` imposed as measured, (T, coordinates, 3) with two rates each."""
    model = robot(CASES[case])
    inputs: dict[Any, Any] = {cable: pulls[cable] for cable in model.cables}
    for name, motions in model.imposed.items():
        for k, motion in enumerate(motions):
            inputs[motion] = _through(time, measured[name][:, k])
    standing = {motion: inputs[motion](0.0)[0] for motions in model.imposed.values() for motion in motions}
    with _planar():
        still = ev.equilibrium(model.system, {**inputs, **standing}).state
        # noise lets the imposed coordinates start with a rate, and the loop has to follow
        start = ev.assemble(model.system, inputs, guess=still)
        # noise in what is imposed sets off vibrations that the damped scheme takes out again, which it would tell of
        warnings.filterwarnings("ignore", message="simulate: energy", category=ev.ElverWarning)
        return ev.simulate(model.system, start, float(time[-1]), STEP, METHOD, inputs)


# What the sensors see ---------------------------------------------------------------------------------------


def exact(twin: xr.Dataset) -> dict[str, np.ndarray]:
    """Coordinates of each part with their rates, (T, coordinates, 3), as the twin has them."""
    jets = np.stack([twin[name].values for name in ("q", "q_dot", "q_ddot")], axis=-1)
    owner = [str(name).split("/")[0] for name in twin["coordinate"].values]
    return {part: jets[:, [o == part for o in owner]] for part in dict.fromkeys(owner)}


def sensed(twin: xr.Dataset, random: np.random.Generator) -> dict[str, np.ndarray]:
    """The same from noisy sensors: fitted, filtered and differentiated."""
    out = {}
    for part, jets in exact(twin).items():
        q = jets[:, :, 0]
        if part.startswith("J"):
            q = q + random.normal(scale=NOISE_ANGLE, size=q.shape)
        else:
            length, seen = (LENGTHS[0], FIBRE) if part == "rod3" else (LENGTHS[1], LENGTHS[1])
            s = np.linspace(0.0, seen, POINTS + 1)[1:]
            points = strip_shape(q, s, length)[0]
            q = fit_shape(points + random.normal(scale=NOISE_SHAPE, size=points.shape), s, length)
        smooth = sosfiltfilt(butter(4, 4.0, fs=1.0 / STEP, output="sos"), q, axis=0)
        rate = np.gradient(smooth, STEP, axis=0)
        out[part] = np.stack([smooth, rate, np.gradient(rate, STEP, axis=0)], axis=-1)
    return out


def strip_shape(q: np.ndarray, s: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (T, S, 2) [m] at ``s`` of strips with curvature q_0 + q_1 (2 s/L - 1), and their slopes (T, S, 2, 2) in q.

    theta = q_0 s + q_1 (s^2/L - s); the points are its integrals of (cos, sin), by Gauss' rule on [0, s].
    """
    x, w = np.polynomial.legendre.leggauss(8)
    u = 0.5 * s[:, None] * (1.0 + x)
    slopes = np.stack([u, u**2 / length - u], axis=-1)
    theta = np.einsum("suk,tk->tsu", slopes, q)
    direction = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
    across = np.stack([-np.sin(theta), np.cos(theta)], axis=-1)
    weights = 0.5 * s[:, None] * w
    points = np.einsum("su,tsuc->tsc", weights, direction)
    return points, np.einsum("su,tsuc,suk->tsck", weights, across, slopes)


def fit_shape(points: np.ndarray, s: np.ndarray, length: float) -> np.ndarray:
    """Curvature coordinates (T, 2) whose shapes come nearest to the points (T, S, 2), by Gauss and Newton."""
    q = np.zeros((len(points), 2))
    for _ in range(6):
        shape, slope = strip_shape(q, s, length)
        miss, J = (points - shape).reshape(len(q), -1), slope.reshape(len(q), -1, 2)
        q = q + np.linalg.solve(np.einsum("tik,til->tkl", J, J), np.einsum("tik,ti->tk", J, miss)[..., None])[..., 0]
    return q


def outputs(run: xr.Dataset) -> dict[str, np.ndarray]:
    """What the tables list: joint angles [degrees], ends of the fibres in the rods' frames, and the platform [m]."""
    q = {part: jets[:, :, 0] for part, jets in exact(run).items()}
    r_1 = strip_shape(q["rod3"], np.array([FIBRE]), LENGTHS[0])[0][:, 0]
    r_2 = strip_shape(q["rod6"], np.array([LENGTHS[1]]), LENGTHS[1])[0][:, 0]
    r_p = run["platform/position"].values
    points = {f"{name}{axis}": r[:, k] for name, r in (("r_1", r_1), ("r_2", r_2), ("r_p", r_p))
              for k, axis in enumerate("xy")}  # fmt: skip
    return {"q_1": np.degrees(q["J1"][:, 0]), "q_4": np.degrees(q["J4"][:, 0]), **points}


def spreads(twin: xr.Dataset, seen: xr.Dataset, case: str) -> dict[str, float]:
    """Root mean square of the error [degrees or m] of all that the table of ``case`` lists."""
    truth, found = outputs(twin), outputs(seen)
    return {name: float(np.sqrt(np.mean((found[name] - truth[name]) ** 2))) for name in SPREAD[case]}


def pulled(run: xr.Dataset, rod: str) -> np.ndarray:
    """Difference of the tensions [N] of the two cables on an imposed rod, from the effort on its mean curvature.

    Q = (T_far - T_near) d L on the mean curvature, zero on the slope of the curvature, and the sum does no work.
    """
    effort = run["efforts"].sel(imposed=f"{rod}-K_z[0]").values
    return effort / (OFFSET * LENGTHS[0 if rod == "rod3" else 1])


def balance(run: xr.Dataset) -> dict[str, np.ndarray]:
    """Energy [J] over time: stored, put in by the cables, and taken by friction (never negative), from rest."""
    jets, time = exact(run), run["time"].values
    tension = {str(name): run["inputs"].sel(input=name).values for name in run["input"].values}
    pull = {
        "rod3": OFFSET * LENGTHS[0] * (tension["cable2"] - tension["cable1"]),
        "rod6": OFFSET * LENGTHS[1] * (tension["cable4"] - tension["cable3"]),
    }
    power = sum(pull[rod] * jets[rod][:, 0, 1] for rod in pull)
    # velocity of the platform: of the tip of the first limb
    points, slope = strip_shape(jets["rod3"][:, :, 0], np.array([LENGTHS[0]]), LENGTHS[0])
    swing = jets["J1"][:, 0, 1, None] * np.stack([-points[:, 0, 1], points[:, 0, 0]], axis=-1)
    v = np.linalg.norm(swing + np.einsum("tck,tk->tc", slope[:, 0], jets["rod3"][:, :, 1]), axis=1)
    loss = JOINT_FRICTION * (jets["J1"][:, 0, 1] ** 2 + jets["J4"][:, 0, 1] ** 2)
    loss = loss + PLATFORM_FRICTION * v**2 / np.hypot(v, 1e-3)
    total = run["energy/total"].values

    def integral(f: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(time))])

    return {"stored": total - total[0], "work": integral(power), "lost": integral(loss)}


# The page ---------------------------------------------------------------------------------------------------


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """Both motions; twenty seconds each, seven when quick."""
    duration = 7.0 if quick else 20.0
    parts: dict[str, xr.Dataset] = {}
    metrics: dict[str, dict[str, Any]] = {}
    for pull, pulls in PULLS.items():
        twin = play(pulls, duration)
        time, truth = twin["time"].values, outputs(twin)
        parts[pull] = twin
        said = "" if pull == "gentle" else "wide motion, "

        # exact measurements bring back the rest
        for case, names in CASES.items():
            back = follow(case, pulls, exact(twin), time)
            if case == "A":
                parts[f"{pull}-exact"] = back
            found = outputs(back)
            angle = max(np.max(np.abs(np.radians(found[name] - truth[name]))) for name in ("q_1", "q_4"))
            away = max(np.max(np.abs(found[name] - truth[name])) for name in truth if name.startswith("r_"))
            imposed = " and ".join(names)
            for what, value, unit in (("angles", angle, "rad"), ("points", away, "m")):
                metrics[f"{said}{case}, exact {imposed}: {what}"] = metric(value, unit, 0.0, "the twin run", 1e-5)

        # noisy ones do not spread wider than the thesis'
        noisy = sensed(twin, np.random.default_rng(2024))
        for case in CASES:
            seen = follow(case, pulls, noisy, time)
            parts[f"{pull}-{case}"] = seen
            ratios = []
            for name, rms in spreads(twin, seen, case).items():
                ratios.append(rms / SPREAD[case][name])
                if pull == "gentle":
                    metrics[f"{case}, noisy: {name}"] = metric(
                        rms, f"{'degrees' if name.startswith('q') else 'm'}, root mean square", 0.0,
                        f"Gotelli 2024, {TABLES[case]}, standard deviation; to stay below", SPREAD[case][name],
                    )  # fmt: skip
            if pull == "wide":
                metrics[f"{said}{case}, noisy: largest"] = metric(
                    max(ratios), "of the printed standard deviation", 0.0, f"Gotelli 2024, {TABLES[case]}", 1.0
                )

        # efforts tell the tensions
        back = parts[f"{pull}-exact"]
        for rod, near, far in (("rod3", "cable1", "cable2"), ("rod6", "cable3", "cable4")):
            given = np.array([pulls[far](t) - pulls[near](t) for t in time])
            metrics[f"{said}A, exact: {far} - {near} from the effort"] = metric(
                float(np.max(np.abs(pulled(back, rod) - given))), "N", 0.0, "the twin run", 1e-4
            )

        # friction takes energy
        energy = balance(twin)
        metrics[f"{said}energy balance"] = metric(
            float(np.max(np.abs(energy["stored"] + energy["lost"] - energy["work"])) / np.ptp(energy["work"])),
            "of the work of the cables", 0.0, "work = stored + lost, to the order of the step", 2e-3,
        )  # fmt: skip
        metrics[f"{said}friction gives back"] = metric(
            max(0.0, float(-np.min(np.diff(energy["lost"])))), "J in any step", 0.0, "friction only takes", 0.0
        )
    wide = np.ptp(outputs(parts["wide"])["q_1"])
    metrics["wide motion, amplitude of q_1"] = metric(
        wide, "degrees", 56.0, "Gotelli 2024, Table 4.2: mean error over its percentage", 10.0
    )
    return io.collect(parts), metrics


def _through(time: np.ndarray, jets: np.ndarray) -> Callable[[float], np.ndarray]:
    """A motion (q, q', q'') through samples (T, 3) of all three: quintic between them."""
    pieces = BPoly.from_derivatives(time, jets)
    derivatives = (pieces, pieces.derivative(1), pieces.derivative(2))
    return lambda t: np.array([float(piece(t)) for piece in derivatives])


class _planar(warnings.catch_warnings):
    """A revolute joint closes the loop in five directions, and planar rods hold three of them already: no surprise."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message="redundant: J6", category=ev.ElverWarning)
        return entered
