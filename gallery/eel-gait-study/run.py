"""Steady swimming of the eel of Khalil 2007 over the wavelength, frequency and amplitude of its gait.

Reported are the mean speed v of the nose over a period, the swimming efficiency v / (λ f), speed over the speed of the
wave (1 without slip), and the mechanical cost of transport

    COT = mean of Σ max(τ q', 0) / (m g v)     [1]: power that joints take in, none won back where they are driven

with g = 9.81 m/s2 for scale only: the eel is weightless in its water.

Water without viscosity or gravity, bodies without stiffness: all forces grow with the square of speeds, nothing has a
time of its own. A gait twice as fast therefore makes the same way per period, v ~ f, torques ~ f², COT ~ f², and slip
does not know of f at all. So the map over frequency follows from one frequency, and is checked by runs at others; each
place of the map over wavelength and amplitude is its own run. At a wanted speed the frequency is f = v / (v₁/f₁), and
what is left to choose is the wave: COT at a speed is COT₁ (v/v₁)².

A run begins with the eel gliding at a guessed speed, that of its neighbour on the map (0.6 of the wave speed for the
first), while the wave comes up over one period. The eel is heavy and slippery, it needs some 15 m to forget its speed:
after three periods the change of speed from period to period is taken, the glide is corrected along the way by a secant
step to where the change would be zero, and so on until the change is below 2e-4 of the speed per period. A
deviation shrinks by some 4 to 20 % per period, so up to half a percent of the speed is left to come; the change itself
is on the map as ``unsteady``.

Where amplitudes are large and waves short, the eel outruns its wave, v > λ f. Elongated bodies that shed momentum at
the tail cannot; slices that know only their own added mass (Morison) can: that corner is beyond the model of water.

The robot is that of the page khalil-2007-eel with joints 3i-1 and 3i fixed at zero, where its planar gait holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import RectBivariateSpline

import elver as ev
from elver.cli.folders import folder, load_module
from elver.cli.gallery import metric
from elver.lie import se3, so3

khalil = load_module(folder("gallery") / "khalil-2007-eel", "model")

GRAVITY = 9.81  # m/s2
STEPS = 40  # per period
UNSTEADY = 2e-4  # of the speed, change per period
WANTED = 0.5  # m/s
FREQUENCY = 0.5  # Hz, of the map over amplitude; that of the paper
AMPLITUDE, WAVELENGTH = 0.06, 1.8  # rad, m: those of the paper
FREQUENCIES = 0.25, 2.0  # Hz, range of the map


@dataclass(frozen=True)
class Steady:
    """Steady swimming."""

    speed: float  # m/s
    power: float  # W, mean of what joints take in
    torque: float  # N m, largest
    unsteady: float  # change of speed per period, of the speed
    periods: int  # that were needed
    mass: float  # kg
    lines: np.ndarray  # (4, 14, 2) m, nose, joints and tail every quarter of a period; the way goes along -x

    @property
    def cost(self) -> float:
        """Cost of transport [1]."""
        return self.power / (self.mass * GRAVITY * self.speed)


def planar_eel() -> khalil.Eel:
    """Thirteen bodies and the twelve joints 3i-2."""
    rows = khalil.table()
    whole = khalil.eel()
    bodies = [body for body in whole.mechanism.bodies if body.mass > 0.0]
    joints = []
    for i, (a, b) in enumerate(pairwise(bodies)):
        side, lift, roll = rows[3 * i : 3 * i + 3]
        rest = lift.pose() @ roll.pose()
        joints.append(
            ev.Revolute(
                ev.Frame(a, pose=side.g_before_joint), ev.Frame(b, pose=se3.inverse(rest)), name=f"joint-{3 * i + 1}"
            )
        )
    mechanism = ev.Mechanism([ev.Floating("world", bodies[0], name="free"), *joints])
    return khalil.Eel(mechanism, tuple(joints), whole.mass)


def swimmer(robot: khalil.Eel, wave: ev.TravellingWave) -> tuple[ev.System, dict[Any, Any]]:
    """The planar eel in water with its gait."""
    drives, inputs = ev.joint_gait(robot.joints, wave, khalil.LINK * np.arange(khalil.BODIES + 1))
    return ev.System(robot.mechanism, actuators=drives, loads=[ev.Morison()]), inputs


def steady(
    robot: khalil.Eel, wavelength: float, frequency: float, amplitude: float, guess: float, steps: int = STEPS
) -> Steady:
    """Steady swimming with this wave [m, Hz, rad], looked for from a guessed speed [m/s]."""
    T = 1.0 / frequency
    wave = ev.TravellingWave(amplitude, khalil.WAVE.growth, wavelength, T, ramp=ev.smooth_step(0.0, T))
    system, inputs = swimmer(robot, wave)
    state = system.rest().with_(eta=np.array([0.0, 0.0, 0.0, -guess, 0.0, 0.0]))
    tried: list[tuple[float, float]] = []  # speed and its change per period
    while len(tried) < 12:
        run = ev.simulate(system, state, 3.0 * T, T / steps, ev.RungeKutta4(), inputs)
        nose = run["link-0/position"].values[::steps]
        way = np.diff(nose, axis=0) / T
        speeds = np.linalg.norm(way, axis=1)
        speed, change = float(speeds[2]), float(speeds[2] - speeds[1])
        tried.append((0.5 * (speeds[1] + speeds[2]), change))
        if abs(change) < UNSTEADY * speed:
            break
        kick = _correction(tried, speed)
        state = ev.state_at(system, run)
        eta = state.eta.copy()
        eta[3:] += kick * state.g[:3, :3].T @ (way[2] / speed)
        state = state.with_(eta=eta)
    else:
        raise ev.NotConverged(f"no steady speed at {wavelength:g} m, {frequency:g} Hz, {amplitude:g} rad: {tried}")
    last = slice(2 * steps, None)
    power = np.maximum(run["efforts"].values[last] * run["q_dot"].values[last], 0.0).sum(axis=1)
    torque = float(np.abs(run["efforts"].values[last]).max())
    return Steady(
        speed, float(np.mean(power[1:])), torque, change / speed, 3 * len(tried), robot.mass, _lines(run, way[2], steps)
    )


def _lines(run: xr.Dataset, way: np.ndarray, steps: int) -> np.ndarray:
    """The body at four instants of the last period, turned so that ``way`` (3,) points along -x."""
    quarters = 2 * steps + steps // 4 * np.arange(4)
    nose = run["link-0/position"].values[quarters, :2]
    R = so3.from_quaternion(run["link-0/orientation"].values[quarters])
    ends = [run[f"link-{3 * i}/position"].values[quarters, :2] for i in range(1, khalil.BODIES + 1)]
    line = np.stack([nose, nose + khalil.HEAD * R[:, :2, 0], *ends], axis=1)
    c, s = -way[:2] / np.linalg.norm(way[:2])
    return (line - line[0, 0]) @ np.array([[c, -s], [s, c]])


def _correction(tried: list[tuple[float, float]], speed: float) -> float:
    """How much faster [m/s] to glide on: a secant step, at most a third of the speed; the first is a tenth."""
    step = np.sign(tried[-1][1]) * 0.1 * speed
    if len(tried) > 1:
        (v, r), (v_before, r_before) = tried[-1], tried[-2]
        slope = (r - r_before) / (v - v_before)
        step = -r / slope if slope < 0.0 else 3.0 * step
    return float(np.clip(step, -speed / 3.0, speed / 3.0))


def run(quick: bool) -> tuple[xr.Dataset, dict[str, dict[str, Any]]]:
    """The map over wavelength and amplitude, runs at other frequencies, the best gaits, and what they rest on."""
    robot = planar_eel()
    wavelengths = np.array([1.2, 1.8, 3.0]) if quick else np.geomspace(0.8, 7.0, 15)
    amplitudes = np.array([0.04, 0.06, 0.09]) if quick else np.linspace(0.02, 0.14, 9)
    places = _map(robot, wavelengths, amplitudes)
    data = _dataset(wavelengths, amplitudes, places)
    metrics: dict[str, dict[str, Any]] = {}

    # other frequencies
    own: dict[tuple[float, float], Steady] = {}
    for wavelength, frequency in ((1.8, 1.5),) if quick else ((1.0, 0.3), (1.2, 1.7), (1.8, 1.0), (4.0, 1.5)):
        guess = 0.6 * wavelength
        slow = steady(robot, wavelength, FREQUENCY, AMPLITUDE, guess * FREQUENCY)
        fast = own[wavelength, frequency] = steady(robot, wavelength, frequency, AMPLITUDE, guess * frequency)
        ratio = frequency / FREQUENCY
        away = max(abs(fast.speed / slow.speed / ratio - 1.0), abs(fast.cost / slow.cost / ratio**2 - 1.0))
        metrics[f"speed ~ f and cost ~ f2: {wavelength:g} m, {frequency:g} Hz"] = metric(
            away, "(relative)", 0.0, "similarity in time", 1e-9
        )

    # the gait of the paper
    paper = steady(robot, WAVELENGTH, FREQUENCY, AMPLITUDE, 0.6 * WAVELENGTH * FREQUENCY)
    system, inputs = swimmer(robot, khalil.WAVE)
    other = steady(robot, WAVELENGTH, FREQUENCY, AMPLITUDE, 0.8 * WAVELENGTH * FREQUENCY)
    metrics["gait of the paper: steady speed from a faster guess"] = metric(
        other.speed, "m/s", paper.speed, "from a slower guess", 0.005 * paper.speed
    )
    fine = steady(robot, WAVELENGTH, FREQUENCY, AMPLITUDE, 0.6 * WAVELENGTH * FREQUENCY, 2 * STEPS)
    for name in ("speed", "cost"):
        value, reference = getattr(fine, name), getattr(paper, name)
        metrics[f"gait of the paper: {name} with half the step"] = metric(
            value / reference, "of that with the whole", 1.0, "truncation", 1e-3
        )
    if not quick:
        begin = ev.simulate(system, duration=30.0, step=0.02, method=ev.RungeKutta4(), inputs=inputs)
        metrics["gait of the paper: nose at 30 s, twelve joints"] = metric(
            begin["link-0/position"].values[-1, 0], "m", -8.113462, "page khalil-2007-eel, 36 joints", 1e-5
        )
        late = ev.simulate(system, duration=160.0, step=0.04, method=ev.RungeKutta4(), inputs=inputs)
        x = late["link-0/position"].values[[-51, -1], 0]
        metrics["gait of the paper: speed 160 s after rest"] = metric(
            (x[0] - x[1]) / 2.0, "m/s", paper.speed, "steady speed", 0.01 * paper.speed
        )
    metrics["largest change of speed left on the map"] = metric(
        float(np.abs(data["unsteady"]).max()), "per period, of the speed", 0.0, "asked for", UNSTEADY
    )

    # the best waves at the wanted speed, between the places of the map, and a run of each
    gaits = {"paper": (WAVELENGTH, AMPLITUDE, paper)}
    for name, limit in (("best", np.inf), ("best within 4 N m", 4.0)):
        wavelength, amplitude, cost = _best(data, limit)
        near = data.sel(wavelength=wavelength, amplitude=amplitude, method="nearest")
        there = steady(robot, wavelength, FREQUENCY, amplitude, float(near["efficiency"]) * wavelength * FREQUENCY)
        gaits[name] = wavelength, amplitude, there
        metrics[f"cost at {WANTED:g} m/s, {name}"] = metric(
            there.cost * (WANTED / there.speed) ** 2, "1", cost,
            f"spline of the map, at {wavelength:.2f} m, {amplitude:.3f} rad", (0.06 if quick else 0.01) * cost,
        )  # fmt: skip
    data = data.assign(_gaits(gaits)).assign_coords(gait=list(gaits))
    data["own/wavelength"] = ("own", [wavelength for wavelength, _ in own], {"units": "m"})
    data["own/frequency"] = ("own", [frequency for _, frequency in own], {"units": "Hz"})
    data["own/speed"] = ("own", [found.speed for found in own.values()], {"units": "m/s"})
    return data, metrics


def _map(robot: khalil.Eel, wavelengths: np.ndarray, amplitudes: np.ndarray) -> list[list[Steady]]:
    """Steady swimming at all places; each begins as efficient as its neighbour."""
    rows: list[list[Steady]] = []
    for i, wavelength in enumerate(wavelengths):
        wave_speed = wavelength * FREQUENCY
        rows.append([])
        for k, amplitude in enumerate(amplitudes):
            if k:
                guess = rows[i][-1].speed * amplitude / amplitudes[k - 1]
            elif i:
                guess = rows[i - 1][0].speed
            else:
                guess = 0.6 * wave_speed
            rows[i].append(steady(robot, float(wavelength), FREQUENCY, float(amplitude), min(guess, wave_speed)))
    return rows


def _dataset(wavelengths: np.ndarray, amplitudes: np.ndarray, places: list[list[Steady]]) -> xr.Dataset:
    def of(name: str) -> np.ndarray:
        return np.array([[getattr(place, name) for place in row] for row in places])

    dims = ("wavelength", "amplitude")
    faster = WANTED / of("speed")
    variables: dict[str, Any] = {
        "speed": (dims, of("speed"), {"units": "m/s", "long_name": f"mean speed at {FREQUENCY} Hz"}),
        "efficiency": (dims, of("speed") / (wavelengths[:, None] * FREQUENCY), {"units": "1"}),
        "cost": (dims, of("cost"), {"units": "1", "long_name": f"cost of transport at {FREQUENCY} Hz"}),
        "torque": (dims, of("torque"), {"units": "N m", "long_name": f"largest at {FREQUENCY} Hz"}),
        "unsteady": (dims, of("unsteady"), {"units": "1", "long_name": "change per period over the speed"}),
        "periods": (dims, of("periods"), {"units": "1", "long_name": "periods until steady"}),
        "wanted/cost": (dims, of("cost") * faster**2, {"units": "1", "long_name": f"at {WANTED} m/s"}),
        "wanted/torque": (dims, of("torque") * faster**2, {"units": "N m", "long_name": f"at {WANTED} m/s"}),
        "wanted/frequency": (dims, FREQUENCY * faster, {"units": "Hz", "long_name": f"at {WANTED} m/s"}),
    }
    coordinates = {
        "wavelength": ("wavelength", wavelengths, {"units": "m"}),
        "amplitude": ("amplitude", amplitudes, {"units": "rad", "long_name": "of the heading at the first joint"}),
    }
    return xr.Dataset(variables, coordinates, {"title": "Gaits of an eel"})


def _gaits(gaits: dict[str, tuple[float, float, Steady]]) -> dict[str, Any]:
    """What a few gaits take at the wanted speed, and how they look."""
    faster = np.array([WANTED / found.speed for _, _, found in gaits.values()])
    waves = np.array([(wavelength, amplitude) for wavelength, amplitude, _ in gaits.values()])
    found = [found for _, _, found in gaits.values()]
    return {
        "gait/wavelength": ("gait", waves[:, 0], {"units": "m"}),
        "gait/amplitude": ("gait", waves[:, 1], {"units": "rad"}),
        "gait/frequency": ("gait", FREQUENCY * faster, {"units": "Hz"}),
        "gait/cost": ("gait", np.array([one.cost for one in found]) * faster**2, {"units": "1"}),
        "gait/torque": ("gait", np.array([one.torque for one in found]) * faster**2, {"units": "N m"}),
        "gait/lines": (("gait", "quarter", "station", "xy"), np.array([one.lines for one in found]), {"units": "m"}),
    }


def _best(data: xr.Dataset, limit: float) -> tuple[float, float, float]:
    """Wavelength [m], amplitude [rad], cost of the cheapest wave with torques up to ``limit`` at the wanted speed."""
    x, y, cost = smooth(data, "wanted/cost")
    values = np.where(smooth(data, "wanted/torque")[2] <= limit, cost, np.inf)
    i, j = np.unravel_index(np.argmin(values), values.shape)
    return float(x[i]), float(y[j]), float(values[i, j])


def smooth(data: xr.Dataset, name: str, count: int = 401) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wavelengths, amplitudes and a variable on a fine grid: splines in the logarithms of all three."""
    x, y = np.log(data["wavelength"].values), np.log(data["amplitude"].values)
    k = min(3, x.size - 1, y.size - 1)
    spline = RectBivariateSpline(x, y, np.log(data[name].values), kx=k, ky=k)
    fine_x, fine_y = np.linspace(x[0], x[-1], count), np.linspace(y[0], y[-1], count)
    return np.exp(fine_x), np.exp(fine_y), np.exp(spline(fine_x, fine_y))
