"""Do free robots keep their momentum? Largest drift over a run of random free systems, with loops and floating apart.

Systems of 1 to 4 rods and rigid bodies on all joints, moduli over six decades (within one for each robot), tendons with
a sudden tension that stays, thrown with a spin that turns frames by well less than a radian in a step. Three kinds:

    tree    one floating base
    loop    a ring of parts, closed by a cut joint, with one floating base
    apart   several floating parts, each with a pose of its own, tied by cut joints, or not at all

Of each run: largest change of linear and of angular momentum about the world's origin, of what the system began with;
energy out of nowhere, of that in play; divided steps; what the run says.

    python studies/momentum.py --count 50 --step 0.01 --steps 1000
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import xarray as xr

import elver as ev
from elver.mechanism import Joint

KINDS = ("tree", "loop", "apart")
JOINTS = (ev.Fixed, ev.Revolute, ev.Prismatic, ev.Cylindrical, ev.Universal, ev.Spherical, ev.Planar)
TIES = (ev.Revolute, ev.Universal, ev.Spherical, ev.Fixed)
OFFSET = 0.5  # of the radius, where tendons run
Part: TypeAlias = ev.Rod | ev.RigidBody


@dataclass(frozen=True, eq=False)
class Case:
    """A random free system, how it is thrown, and the tensions of its tendons."""

    system: ev.System
    state: ev.State
    tensions: dict[str, float]
    kind: str


def random_case(seed: int, kind: str | None = None) -> Case:
    """The system of a seed."""
    rng = np.random.default_rng(seed)
    kind = kind or KINDS[seed % len(KINDS)]
    count = int(rng.integers({"tree": 1, "loop": 3, "apart": 2}[kind], 5))
    decade = float(rng.uniform(5, 11))  # of the moduli
    rods = rng.random(count) < 0.7
    parts: list[Part] = []
    for k in range(count):
        parts.append(_rod(rng, f"rod-{k}", decade) if rods[k] else _body(rng, f"body-{k}"))
    make = {"tree": _tree, "loop": _ring, "apart": _apart}[kind]
    tendons, tensions = _tendons(rng, parts)
    system = ev.System(ev.Mechanism(make(rng, parts)), tendons)
    return Case(system, _thrown(rng, system), tensions, f"{kind}, {rods.sum()} rods, {count - rods.sum()} bodies")


def _rod(rng: np.random.Generator, name: str, decade: float) -> ev.Rod:
    length = float(rng.uniform(0.3, 0.4))  # any of them close to a ring
    n = int(rng.integers(1, 4))
    sets = [ev.Legendre(bending=n), ev.Legendre.kirchhoff(n), ev.Legendre.extensible(n), ev.Legendre.reissner(n)]
    young = 10.0 ** rng.uniform(decade - 0.5, decade + 0.5)
    material = ev.Material(young, poisson=0.4, density=rng.uniform(900, 8000))
    section = ev.Circle(float(rng.uniform(0.01, 0.03) * length))
    return ev.Rod(length, section, material, sets[int(rng.integers(len(sets)))], name=name)


def _body(rng: np.random.Generator, name: str) -> ev.RigidBody:
    """A body with its mass about its frame."""
    mass, size = float(10.0 ** rng.uniform(-2, 0)), float(rng.uniform(0.05, 0.2))
    inertia = mass * size**2 * rng.uniform(0.7, 1.0, 3)
    return ev.RigidBody(mass, tuple(inertia), tuple(size * rng.normal(size=3) / 3), name=name)


def _length(part: Part) -> float:
    return part.length if isinstance(part, ev.Rod) else 0.35


def _ends(part: Part) -> tuple[object, object]:
    return ((part, "base"), (part, "tip")) if isinstance(part, ev.Rod) else (part, (part, (_length(part), 0.0, 0.0)))


def _tree(rng: np.random.Generator, parts: list[Part]) -> list[Joint]:
    """Each part on the end of an earlier one, by any joint."""
    joints: list[Joint] = [ev.Floating("world", _ends(parts[0])[0])]
    for k, part in enumerate(parts[1:], start=1):
        kind, axis = JOINTS[int(rng.integers(len(JOINTS)))], tuple(rng.normal(size=3))
        parent = parts[int(rng.integers(k))]
        joints.append(kind(_ends(parent)[1], _ends(part)[0], axis=axis, name=f"joint-{k}"))
    return joints


def _ring(rng: np.random.Generator, parts: list[Part]) -> list[Joint]:
    """A polygon of parts on hinges or balls; the last joint, a ball or a hinge, is cut."""
    length = [_length(part) for part in parts]
    angles = _polygon(np.array(length))
    joints: list[Joint] = [ev.Floating("world", _ends(parts[0])[0])]
    for k in range(1, len(parts)):
        tip, base = _ends(parts[k - 1])[1], _ends(parts[k])[0]
        if rng.random() < 0.5:
            joints.append(ev.Revolute(tip, base, start=angles[k] - angles[k - 1], name=f"hinge-{k}"))
        else:
            turn = (0.0, 0.0, angles[k] - angles[k - 1])
            joints.append(ev.Spherical(tip, base, start=turn, name=f"ball-{k}"))
    close = (ev.Revolute, ev.Spherical)[int(rng.integers(2))]
    joints.append(close(_ends(parts[-1])[1], _ends(parts[0])[0], name="close", cut=True))
    return joints


def _polygon(length: np.ndarray) -> np.ndarray:
    """Headings of the sides of a closed polygon, its corners on a circle."""
    low, high = 0.5 * length.max(), 100.0 * length.sum()
    for _ in range(200):  # the sides fill the circle: sum of 2 asin(L/2r) = 2π
        radius = 0.5 * (low + high)
        low, high = (radius, high) if np.sum(np.arcsin(0.5 * length / radius)) > np.pi else (low, radius)
    half = np.arcsin(0.5 * length / high)
    return np.cumsum(np.concatenate([[0.0], half[1:] + half[:-1]]))


def _apart(rng: np.random.Generator, parts: list[Part]) -> list[Joint]:
    """Parts in one line, each floating by itself; some neighbours are tied."""
    joints: list[Joint] = []
    place = rng.normal(size=3) * 0.1
    for k, part in enumerate(parts):
        joints.append(ev.Floating(("world", tuple(place)), _ends(part)[0], name=f"float-{k}"))
        tied = k > 0 and rng.random() < 0.7
        if tied:
            kind = TIES[int(rng.integers(len(TIES)))]
            joints.append(kind(_ends(parts[k - 1])[1], _ends(part)[0], name=f"tie-{k}", cut=True))
        place = place + np.array([_length(part), 0.0, 0.0])
    return joints


def _tendons(rng: np.random.Generator, parts: list[Part]) -> tuple[list[ev.Tendon], dict[str, float]]:
    tendons, tensions = [], {}
    for rod in parts:
        if isinstance(rod, ev.Rod) and rng.random() < 0.4:
            radius = rod.section.radius
            y, z = OFFSET * radius * np.array([np.cos(a := rng.uniform(0, 2 * np.pi)), np.sin(a)])
            tendons.append(ev.Tendon(rod, ev.parallel(y=y, z=z), name=f"tendon-{rod.name}"))
            bend = rod.material.young * 0.25 * np.pi * radius**4 / (rod.length * OFFSET * radius)
            tensions[tendons[-1].name] = float(10.0 ** rng.uniform(-3, -1) * bend)
    return tendons, tensions


def _thrown(rng: np.random.Generator, system: ev.System) -> ev.State:
    """All parts as one body with a spin and a velocity; joints of a tree move as well."""
    spin, velocity = 2.0 * rng.normal(size=3), 0.3 * rng.normal(size=3)
    state = ev.assemble(system) if system.mechanism.tree.cuts else system.rest()
    rate = np.zeros(system.n)
    for joint, (first, count) in system.blocks.items():
        if isinstance(joint, ev.Floating):
            place = np.array(joint.a.g[:3, 3])
            rate[first : first + 3], rate[first + 3 : first + 6] = velocity + np.cross(spin, place), spin
        elif not isinstance(joint, ev.Rod) and not system.mechanism.tree.cuts:
            rate[first : first + count] = 0.5 * rng.normal(size=count)
    if not system.free:
        return state.with_(q_dot=rate)
    return state.with_(eta=np.concatenate([spin, velocity]), q_dot=rate)


class TooSlow(Exception):
    """A run beyond the time that the study gives it."""


def thrown_run(case: Case, duration: float, step: float, limit: float) -> tuple[xr.Dataset, str]:
    """The run, whole or as far as it came, and what stopped it."""
    began = time.process_time()

    def progress(now: float, end: float) -> None:
        if time.process_time() - began > limit:
            raise TooSlow(f"cut off at {now:.2f} of {end:g} s")

    inputs = dict(case.tensions)
    try:
        return ev.simulate(case.system, case.state, duration, step, ev.Conserving(), inputs, progress=progress), ""
    except (ev.NotConverged, TooSlow) as error:
        return error.result, str(error)[:60]  # type: ignore[union-attr]


@dataclass(frozen=True)
class Drift:
    """Of a run: largest change of linear and angular momentum, of what it began with, and energy out of nowhere."""

    linear: float
    angular: float
    energy: float
    divided: int
    status: str


def drift_of(run: xr.Dataset) -> Drift:
    """What a run lost or gained."""
    momentum = run["momentum"].values
    change = np.abs(momentum - momentum[0])
    start = np.linalg.norm(momentum[0].reshape(2, 3), axis=1)
    energy = float(np.max(np.abs(run["energy/numerical"])) / run.attrs["energy_in_play"])
    return Drift(
        float(np.max(change[:, 3:]) / start[1]), float(np.max(change[:, :3]) / start[0]), energy,
        int(run.attrs["divided_steps"]), str(run.attrs["status"]),
    )  # fmt: skip


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step", type=float, default=1e-2, help="s")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for a run")
    parser.add_argument("--only", choices=KINDS, help="leave out the others")
    options = parser.parse_args()
    found: dict[str, list[Drift]] = {}
    for seed in range(options.seed, options.seed + options.count):
        began = time.process_time()
        if options.only not in (None, KINDS[seed % len(KINDS)]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                case = random_case(seed)
            except ev.BadInput as error:
                print(f"{seed:4d} not built: {str(error)[:100]}", flush=True)
                continue
            head = f"{seed:4d} {case.kind:24s}"
            run, stopped = thrown_run(case, options.steps * options.step, options.step, options.limit)
        drift = drift_of(run)
        found.setdefault(case.kind.split(",")[0], []).append(drift)
        spent = time.process_time() - began
        print(
            f"{head} {spent:6.1f} s  linear {drift.linear:.1e}  angular {drift.angular:.1e}  energy {drift.energy:.1e}"
            f"  {drift.divided:4d} divided  {stopped or drift.status[:60]}", flush=True,
        )  # fmt: skip
    print("\nkind      runs    linear   angular    energy  divided  within 1e-10")
    for kind, drifts in sorted(found.items()):
        kept = sum(max(drift.linear, drift.angular) <= 1e-10 for drift in drifts)
        worst = [max(getattr(drift, name) for drift in drifts) for name in ("linear", "angular", "energy")]
        divided = sum(drift.divided for drift in drifts)
        print(f"{kind:8s}{len(drifts):6d}" + "".join(f"{x:10.1e}" for x in worst) + f"{divided:9d}{kept:14d}")


if __name__ == "__main__":
    main()
