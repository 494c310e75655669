"""Whether every part of random robots in motion is in balance with the reactions that are told.

    python studies/reactions.py --count 100 --seed 0

Each robot has two to five rods and bodies, joined by random joints at random places, either end first, half of them
with a loop; weight, point and distributed loads, motors, a cable over guides; a random fast motion, accelerations
with it. For each part, all loads and reactions less the rate of its momentum, which is found from samples
alone (twenty-four points along a rod that are not the nodes), are compared with the largest reaction.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import elver as ev
from elver.lie import se3, so3

GRAVITY = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True)
class Case:
    """One robot: the largest imbalance of its parts over the largest reaction."""

    label: str
    imbalance: float
    seconds: float


def imbalance(robot: ev.System, result: Any, part: Any, tensions: dict[Any, float] | None = None, **more: Any) -> Any:
    """All wrenches on a part, reactions included, less its rate of momentum: (6,) about the world origin."""
    total = _less_momentum(result, part, **more)
    for load in robot.loads:
        if isinstance(load, ev.PointWrench) and load.part is part:
            total += _about_world(load.wrench[3:], _place(result, load.site, **more), load.wrench[:3])
        elif isinstance(load, ev.DistributedWrench) and load.rod is part:
            total += _spread(result, load, **more)
    for cable, tension in (tensions or {}).items():
        for first, second in cable.spans:
            ends = [_place(result, guide, **more) for guide in (first, second)]
            pull = tension * (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
            total += sum(
                _about_world(sign * pull, at)
                for guide, at, sign in ((first, ends[0], 1.0), (second, ends[1], -1.0))
                if guide.part is part
            )
    found = ev.reactions(result, **more)
    for joint in robot.mechanism.joints:
        for side, frame in (("a", joint.a), ("b", joint.b)):
            if frame.part is part and joint.name in found["joint"]:
                own = found.sel(joint=joint.name)
                force, moment = own[f"force_on_{side}_world"].values, own[f"moment_on_{side}_world"].values
                total += _about_world(force, _place(result, frame, **more), moment)
    return total


def _about_world(force: Any, at: Any, moment: Any = 0.0) -> Any:
    return np.concatenate([moment + np.cross(at, force), force])


def _less_momentum(result: Any, part: Any, **more: Any) -> Any:
    """Weight less the rate of momentum."""
    if isinstance(part, ev.RigidBody):
        d = ev.sample(result, part, at=part.centre, **more)
        R, I = so3.from_quaternion(d["orientation"].values), np.array(part.inertia)
        w, a = d["angular_velocity"].values, d["angular_acceleration"].values
        turning = R @ (I @ a + np.cross(w, I @ w))
        return _about_world(part.mass * (GRAVITY - d["acceleration"].values), d["position"].values, -turning)
    s, ds = _points(part)
    d = ev.sample(result, part, at=s, **more)
    R, inertia, total = so3.from_quaternion(d["orientation"].values), part.inertia(s), np.zeros(6)
    for k, step in enumerate(ds):
        I, w = np.diag(inertia[k, :3]), d["angular_velocity"].values[k]
        turning = R[k] @ (I @ d["angular_acceleration"].values[k] + np.cross(w, I @ w))
        force = inertia[k, 3] * (GRAVITY - d["acceleration"].values[k])
        total += step * _about_world(force, d["position"].values[k], -turning)
    return total


def _spread(result: Any, load: Any, **more: Any) -> Any:
    s, ds = _points(load.rod)
    at = ev.sample(result, load.rod, at=s, **more)["position"].values
    return sum(step * _about_world(f[3:], p, f[:3]) for step, f, p in zip(ds, load.density(s), at))


def _points(rod: ev.Rod) -> tuple[Any, Any]:
    x, w = np.polynomial.legendre.leggauss(24)
    return 0.5 * rod.length * (1.0 + x), 0.5 * rod.length * w


def _place(result: Any, frame: Any, **more: Any) -> Any:
    """Origin of a frame in the world, by sampling its part."""
    if frame.part == "world":
        return frame.g[:3, 3]
    if isinstance(frame.part, ev.RigidBody):
        return ev.sample(result, frame.part, at=frame.g[:3, 3], **more)["position"].values
    d = ev.sample(result, frame.part, at=frame.s, **more)
    return d["position"].values + so3.from_quaternion(d["orientation"].values) @ frame.g[:3, 3]


# Random robots -------------------------------------------------------------------------------------------------------


def random_part(random: np.random.Generator, name: str) -> ev.Rod | ev.RigidBody:
    if random.random() < 0.35:
        return ev.RigidBody(
            random.uniform(0.1, 0.5), tuple(random.uniform(3e-4, 5e-4, 3)), random.normal(size=3) * 0.02, name
        )
    basis = [ev.Legendre.kirchhoff(3), ev.Legendre.reissner(2), ev.Legendre(bending=3), ev.Legendre.extensible(2)]
    material = ev.Material(10 ** random.uniform(6, 9), poisson=0.45, density=1100.0, damping=0.01)
    nodes = None if random.random() < 0.7 else 21
    return ev.Rod(
        random.uniform(0.2, 0.4), ev.Circle(8e-3), material, basis[random.integers(4)], name=name, nodes=nodes
    )


def random_frame(random: np.random.Generator, part: Any) -> Any:
    g = np.eye(4) if random.random() < 0.4 else se3.exp(random.normal(size=6) * [0.5, 0.5, 0.5, 0.02, 0.02, 0.02])
    if not isinstance(part, ev.Rod):
        return ev.Frame(part, pose=g)
    at = random.choice(["base", "tip", "middle"])
    return ev.Frame(part, at if at != "middle" else random.choice([0.5, random.uniform(0.2, 0.8)]) * part.length, g)


def random_robot(random: np.random.Generator) -> tuple[ev.System, dict[Any, float], str]:
    """A robot, its inputs, and what it is in words."""
    kinds = [ev.Fixed, ev.Revolute, ev.Spherical, ev.Universal, ev.Prismatic, ev.Cylindrical, ev.Planar]
    parts: list[Any] = []
    joints = []
    for k in range(random.integers(2, 6)):
        new = random_part(random, f"p{k}")
        old = "world" if not parts or random.random() < 0.15 else parts[random.integers(len(parts))]
        ends = [random_frame(random, old), random_frame(random, new)]
        if random.random() < 0.4:
            ends.reverse()
        kind = ev.Fixed if old == "world" else kinds[random.integers(len(kinds))]
        joints.append(kind(*ends, name=f"j{k}", axis=random.choice(["x", "y", "z"])))
        parts.append(new)
    loop = random.random() < 0.5
    if loop:
        a, b = ("world", parts[-1]) if len(parts) < 3 or random.random() < 0.3 else (parts[0], parts[-1])
        joints.append(ev.Spherical(random_frame(random, a), random_frame(random, b), name="loop", cut=True))
    loads: list[Any] = [ev.Gravity()]
    for part in parts:
        if isinstance(part, ev.Rod) and random.random() < 0.4:
            force = random.normal(size=3)
            loads.append(
                ev.DistributedWrench(part, force=lambda s, f=force: np.outer(1.0 + s, f), name=f"wind {part.name}")
            )
        if random.random() < 0.4:
            at = {"at": random.uniform(0.0, part.length)} if isinstance(part, ev.Rod) else {}
            loads.append(ev.PointWrench(part, force=random.normal(size=3), name=f"push {part.name}", **at))
    actuators: list[Any] = [ev.Motor(j, name=f"motor {j.name}") for j in joints if isinstance(j, ev.Revolute)]
    guides = [random_frame(random, part) for part in (parts[0], parts[-1])]
    actuators.append(ev.Tendon([ev.Frame("world", pose=(0.3, 0.2, 0.4)), *guides], name="cable"))
    system = ev.System(ev.Mechanism(joints), actuators, loads)
    inputs = {a: random.uniform(0.1, 1.0) for a in actuators}
    return system, inputs, f"{len(parts)} parts{', loop' if loop else ''}"


def run_case(seed: int) -> Case:
    """Imbalance of one robot."""
    began = time.perf_counter()
    random = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        system, inputs, label = random_robot(random)
        rest = system.rest()
        state = rest.with_(q=rest.q + 0.2 * random.normal(size=system.n), q_dot=2.0 * random.normal(size=system.n))
        state = ev.forward_dynamics(system, state, inputs)
        given = {"system": system, "inputs": inputs}
        found = ev.reactions(state, **given)
        cables = {a: value for a, value in inputs.items() if isinstance(a, ev.Tendon)}
        worst = max(
            float(np.max(np.abs(imbalance(system, state, part, cables, **given)))) for part in system.mechanism.parts
        )
    return Case(label, worst / float(np.abs(found["force_on_b_world"]).max()), time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cases, refused = [], 0
    for k in range(options.count):
        try:
            cases.append(run_case(options.seed + k))
        except ev.BadInput as error:  # a motion without inertia, a loop that repeats itself here
            refused += 1
            print(f"{k:4d} refused: {error}", flush=True)
            continue
        print(f"{k:4d} {cases[-1].label:18s} {cases[-1].imbalance:.1e} {cases[-1].seconds:.1f} s", flush=True)
    values = np.array([case.imbalance for case in cases])
    print(f"{len(cases)} robots, {refused} refused; imbalance over largest reaction:")
    print(f"  median {np.median(values):.1e}, 95 % {np.quantile(values, 0.95):.1e}, worst {values.max():.1e}")


if __name__ == "__main__":
    main()
