"""Does the energy of random robots stay, and is one told where it does not? A count for each method and step.

Systems of 1 to 4 rods of all strain sets, moduli over six decades (within one for each robot), trees and loops, clamped
and free, with sudden
tendons, weight, with and without damping, move for 2 s. Of each run the energy is balanced once more, apart from the
ledger of the run: E + T ℓ + ∫ q̇ᵀD q̇ dt, with lengths of cables by quadrature of the recorded strains. Runs are

    clean     complete, and within 5 % of the energy in play
    warned    complete with a warning: energy off, or many steps divided
    told      not seen to its end, but sure to be warned there: more steps are divided already than a run may have
    refused   stopped with NotConverged, and what was computed kept
    silent    off by more than 5 % without a word: must not occur

    python studies/energy.py --count 300 --methods default --seed 1
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
import xarray as xr

import elver as ev
from elver.dynamics.core import core

METHODS: dict[str, ev.Method | None] = {
    "default": None,
    "Newmark": ev.Newmark(),
    "GeneralizedAlpha(0.6)": ev.GeneralizedAlpha(0.6),
    "GeneralizedAlpha(0.3)": ev.GeneralizedAlpha(0.3),
    "ImplicitMidpoint": ev.ImplicitMidpoint(),
    "GaussLegendre4": ev.GaussLegendre4(),
    "Conserving": ev.Conserving(),
}
STEPS = (1e-3, 5e-3, 2e-2)
DURATION = 2.0
OFFSET = 0.5  # of the radius, where tendons run


@dataclass(frozen=True, eq=False)
class Case:
    """A random system with its start and its sudden tensions."""

    system: ev.System
    state: ev.State
    tensions: dict[str, float]
    kind: str


class TooSlow(Exception):
    """A run beyond the time that the study gives it."""


def random_case(seed: int) -> Case:
    """The system of a seed."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([1, 2, 3, 4], p=[0.4, 0.3, 0.2, 0.1]))
    loop = count >= 2 and rng.random() < 0.4
    free = not loop and rng.random() < 0.35
    decade = float(rng.uniform(5, 11))  # of the moduli: rods of one robot are within a factor ten of each other
    rods = [_rod(rng, f"rod-{k + 1}", 10.0 ** rng.uniform(decade - 0.5, decade + 0.5)) for k in range(count)]
    mechanism = _loop(rng, rods) if loop else _tree(rng, rods, free)
    tendons = []
    tensions = {}
    for k, rod in enumerate(rods):
        if rng.random() < 0.4:
            radius = rod.section.radius
            y, z = OFFSET * radius * np.array([np.cos(a := rng.uniform(0, 2 * np.pi)), np.sin(a)])
            tendons.append(ev.Tendon(rod, ev.parallel(y=y, z=z), name=f"tendon-{k + 1}"))
            bend = rod.material.young * 0.25 * np.pi * radius**4 / (rod.length * OFFSET * radius)
            tensions[tendons[-1].name] = float(10.0 ** rng.uniform(-2, 0) * bend)
    loads = [ev.Gravity()] if not free and (rng.random() < 0.7 or not tendons) else []
    system = ev.System(mechanism, tendons, loads)
    state = system.rest()
    if free:
        L = rods[0].length
        state = state.with_(eta=np.concatenate([rng.normal(size=3) * 3.0, rng.normal(size=3) * L]))
    damping = "damped" if any(rod.material.damping for rod in rods) else "undamped"
    place = "loop" if loop else "free" if free else "clamped"
    return Case(system, state, tensions, f"{place}, {damping}, {count} rods{', tendons' if tendons else ''}")


def _rod(rng: np.random.Generator, name: str, young: float) -> ev.Rod:
    length = float(rng.uniform(0.2, 1.0))
    radius = float(rng.uniform(0.005, 0.02) * length)
    n = int(rng.integers(2, 4))
    sets = [ev.Legendre(bending=n), ev.Legendre.kirchhoff(n), ev.Legendre.extensible(n), ev.Legendre.reissner(n)]
    basis = sets[int(rng.integers(len(sets)))]
    damping = float(10.0 ** rng.uniform(-4, -2)) if rng.random() < 0.4 else 0.0
    material = ev.Material(young, poisson=0.4, density=rng.uniform(900, 8000), damping=damping)
    return ev.Rod(length, ev.Circle(radius), material, basis, name=name)


def _tree(rng: np.random.Generator, rods: list[ev.Rod], free: bool) -> ev.Mechanism:
    """Each rod on the tip of an earlier one, by a weld, a hinge or a ball; the first clamped, hinged or free."""
    if len(rods) == 1:
        return ev.Mechanism.free(rods[0]) if free else ev.Mechanism.clamped(rods[0])
    joints: list[ev.Joint] = []
    if free:
        joints.append(ev.Floating("world", (rods[0], "base")))
    else:
        joints.append(ev.Fixed("world", (rods[0], "base")))
    for k, rod in enumerate(rods[1:], start=1):
        parent = rods[int(rng.integers(k))]
        kind = (ev.Fixed, ev.Revolute, ev.Spherical)[int(rng.integers(3))]
        joints.append(kind((parent, "tip"), (rod, "base"), name=f"joint-{k}"))
    return ev.Mechanism(joints)


def _loop(rng: np.random.Generator, rods: list[ev.Rod]) -> ev.Mechanism:
    """A chain of rods on hinges along an arc, pinned to the world at both ends."""
    angle, place = float(rng.uniform(0.6, 1.4)), np.zeros(3)
    turn = -2.0 * angle / max(len(rods) - 1, 1)
    joints: list[ev.Joint] = []
    heading = angle
    for k, rod in enumerate(rods):
        where = ("world", (0.0, 0.0, 0.0)) if k == 0 else (rods[k - 1], "tip")
        joints.append(ev.Revolute(where, (rod, "base"), start=heading if k == 0 else turn, name=f"hinge-{k + 1}"))
        place = place + rod.length * np.array([np.cos(heading), np.sin(heading), 0.0])
        heading += turn
    joints.append(ev.Revolute((rods[-1], "tip"), ("world", tuple(place)), name="pin", cut=True))
    return ev.Mechanism(joints)


def balance(case: Case, run: xr.Dataset) -> tuple[float, float]:
    """Largest |energy out of nowhere| over the energy in play, apart from the run's own ledger; and kinetic alone."""
    system = case.system
    q, t = run["q"].values, run["time"].values
    energy = run["energy/total"].values
    rest = energy - energy[0]
    work, heat = np.zeros(t.size), np.zeros(t.size)
    x, w = np.polynomial.legendre.leggauss(24)
    for tendon in system.actuators:
        rod = tendon.rods[0]
        s, own = 0.5 * rod.length * (x + 1.0), system.coordinates(rod)
        offset = np.concatenate([[0.0], np.atleast_2d(tendon.geometry(s, rod)[0])[0, 1:]])
        length = np.zeros(t.size)
        for phi, weight in zip(rod.functions(s), 0.5 * rod.length * w, strict=True):
            xi = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (t.size, 1))
            for k, component in enumerate(rod.component):
                xi[:, component] += phi[k] * q[:, own][:, k]
            length += weight * np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], offset), axis=1)
        work -= case.tensions[tendon.name] * (length - length[0])
    K = core(system).elastic
    for rod in system.mechanism.rods:
        own = system.coordinates(rod)
        d = np.diff(q[:, own], axis=0)
        heat[1:] += np.cumsum(np.einsum("ti,ij,tj->t", d, rod.material.damping * K[own, own], d) / np.diff(t))
    if parts_of_steps := int(run.attrs["divided_steps"]) + int(run.attrs.get("shortened_steps", 0)):
        # a divided step swings within itself, which its ends do not tell: there the heat is that of the ledger, whose
        # rows are the parts
        told = np.diff(run["energy/dissipated"].values)
        most = np.argsort(told - np.diff(heat))[-parts_of_steps:]
        gained = np.diff(heat)
        gained[most] = np.maximum(told[most], gained[most])
        heat = np.concatenate([[0.0], np.cumsum(gained)])
    rest = rest - work + heat
    kinetic, elastic = run["energy/kinetic"].values, run["energy/elastic"].values
    parts = [kinetic, np.abs(work), heat, np.maximum.accumulate(elastic) - np.minimum.accumulate(elastic)]
    play = float(np.max(np.maximum.reduce(parts) - np.maximum(rest, 0.0)))
    noise = 20e-9 * (core(system).assembly.energy + float(np.max(np.abs(energy))))
    return float(np.max(np.abs(rest))) / max(play, noise), float(np.max(np.abs(rest)) / max(kinetic.max(), noise))


def verdict(
    case: Case, method: ev.Method | None, step: float, limit: float, duration: float = DURATION
) -> tuple[str, str]:
    """Class of a run, and a word on it."""
    began = time.process_time()

    def progress(now: float, end: float) -> None:
        if time.process_time() - began > limit:
            raise TooSlow(f"reached {now:.2f} of {end:g} s")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = ev.simulate(
                case.system, case.state, duration, step, method, dict(case.tensions), progress=progress
            )
        except ev.NotConverged as error:
            return "refused", str(error)[:90]
        except TooSlow as error:
            divided = int(error.result.attrs["divided_steps"])  # type: ignore[attr-defined]
            told = divided > max(3.0, 0.01 * duration / step)
            return ("told" if told else "cut off"), f"{error}, {divided} steps divided"
    off, of_kinetic = balance(case, run)
    status = str(run.attrs["status"])
    about = f"off by {off:.1e} (of kinetic {of_kinetic:.1e}), {status}"
    if status != "complete":
        return "warned", about
    return ("clean" if off <= 0.05 else "silent"), about


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", nargs="+", default=["default"], choices=list(METHODS))
    parser.add_argument("--steps", nargs="+", type=float, default=STEPS, help="s")
    parser.add_argument("--duration", type=float, default=DURATION, help="s")
    parser.add_argument("--only", choices=["trees", "loops"], help="leave out the others")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for a run")
    parser.add_argument("--enough", type=float, default=20.0, help="the same, where it is sure to be warned by then")
    options = parser.parse_args()
    counts: dict[tuple[str, str, float], Counter[str]] = {}
    for seed in range(options.seed, options.seed + options.count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = random_case(seed)
        shape = "loops" if case.kind.startswith("loop") else "trees"
        if options.only not in (None, shape):
            continue
        for name in options.methods:
            for step in options.steps:
                began = time.process_time()
                for limit in (min(options.enough, options.limit), options.limit):
                    kind, about = verdict(case, METHODS[name], step, limit, options.duration)
                    if kind != "cut off":
                        break
                counts.setdefault((name, shape, step), Counter())[kind] += 1
                spent = time.process_time() - began
                head = f"{seed:4d} {case.kind:36s} {name:22s} {1e3 * step:4.0f} ms"
                print(f"{head} {kind:8s} {spent:6.1f} s  {about}", flush=True)
    kinds = ("clean", "warned", "told", "refused", "cut off", "silent")
    print(f"\n{'method':24s}{'':8s}{'step':>8s}" + "".join(f"{kind:>9s}" for kind in kinds))
    for (name, shape, step), found in sorted(counts.items()):
        row = "".join(f"{found[kind]:9d}" for kind in kinds)
        print(f"{name:24s}{shape:8s}{1e3 * step:5.0f} ms{row}")


if __name__ == "__main__":
    main()
