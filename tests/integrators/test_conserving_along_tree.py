"""Conserving steps along the tree: increments and whole runs are those of the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core
from elver.integrators.march import March
from elver.kernels.build.entry import address, calls_of
from elver.kernels.build.load import load
from elver.kernels.march.memory import ROW, STEP, track_for
from elver.kernels.march.passage import words_of
from elver.lie import se3

KINDS = (ev.Fixed, ev.Revolute, ev.Prismatic, ev.Cylindrical, ev.Universal, ev.Spherical, ev.Planar)


def some_tree(seed: int, floating: bool) -> tuple[ev.System, np.random.Generator]:
    """Five parts, each on an earlier one or on the world, with loads, tendons, damping, rotors, water."""
    rng = np.random.default_rng(seed)

    def frame(part: ev.Rod | ev.RigidBody) -> ev.Frame:
        pose = se3.exp(rng.normal(size=6) * np.repeat([0.5, 0.05], 3))
        if isinstance(part, ev.Rod):
            return ev.Frame(part, float(rng.choice([0.0, 0.4, 1.0])) * part.length, pose)
        return ev.Frame(part, pose=pose)

    def basis() -> ev.Legendre | ev.PiecewiseLinear | ev.PiecewiseConstant:
        family = str(rng.choice(["planar", "kirchhoff", "extensible", "reissner"]))
        kind = (ev.Legendre, ev.PiecewiseLinear, ev.PiecewiseConstant)[int(rng.integers(3))]
        return getattr(kind, family)(int(rng.integers(2, 4)))

    material = ev.Material(young=1e7, poisson=0.4, density=1000.0, damping=1e-3, mass_damping=float(rng.integers(2)))
    parts: list[ev.Rod | ev.RigidBody] = []
    joints = []
    for k in range(5):
        if rng.random() < 0.3:
            shape = ev.EllipticCylinder((0.03, 0.02), 0.2, axis="x")
            inertia, place = 1e-3 * np.diag([1.0, 1.2, 1.5]), 0.05 * rng.normal(size=3)
            parts.append(ev.RigidBody(rng.uniform(0.1, 1.0), inertia, place, name=f"p{k}", shape=shape))
        else:
            parts.append(ev.Rod(rng.uniform(0.3, 0.6), ev.Ellipse(1e-2, 1.5e-2), material, basis(), name=f"p{k}"))
        if k == 0 and floating:
            joints.append(ev.Floating("world", frame(parts[0]), start=0.3 * rng.normal(size=6)))
            continue
        old = parts[rng.integers(k)] if k and (floating or rng.random() < 0.8) else "world"
        joints.append(KINDS[rng.integers(len(KINDS))](frame(old), frame(parts[k]), axis=rng.normal(size=3)))
    mechanism = ev.Mechanism(joints)
    follows = "section" if isinstance(parts[-1], ev.Rod) else "body"
    loads: list = [ev.Gravity((1.0, -4.0, -8.0)), ev.PointWrench(parts[-1], force=(1.0, -0.5, 0.7), frame=follows)]
    loads += [ev.SlidingFriction((part, "tip"), viscous=0.2) for part in mechanism.rods[:1]]
    if rng.random() < 0.5:
        loads.append(ev.Morison([parts[0]], flow=(0.1, 0.2, 0.0)))
    cables = [ev.Tendon(rod, path=ev.parallel(y=5e-3, z=2e-3), name=f"{rod.name}-cable") for rod in mechanism.rods]
    for branch in mechanism.tree.branches:
        if branch.joint.n and not isinstance(branch.joint, ev.Floating):
            name = branch.joint.coordinate_names[0]
            loads.append(ev.JointSpring(branch.joint, 0.8, rest=0.1, coordinate=name))
            loads.append(ev.JointFriction(branch.joint, viscous=0.3, dry=0.2, speed=0.5, coordinate=name))
            loads.append(ev.JointStop(branch.joint, upper=-0.4, stiffness=3.0, coordinate=name))
            loads.append(ev.RotorInertia(branch.joint, 1e-3, coordinate=name))
    return ev.System(mechanism, cables, loads), rng


def increment(
    system: ev.System, along: bool, rho: float, unit: np.ndarray, b: np.ndarray, start: ev.State | None = None
) -> np.ndarray:
    """Newton's increment for the right-hand side b at an iterate of the third step."""
    core(system).__dict__["steps_along_tree"] = along
    march = March(system, start or system.rest(), ev.Conserving(rho), [1.0] * len(system.channels))
    h = 1e-3
    march.run(np.array([0.0, h, 2.0 * h]))
    kernels, scratch, passage = march.core, march.scratch, march.passage
    assert passage is not None
    assert bool(passage.mass_front.size) == along
    u = march.inputs(2.0 * h + h * np.array([0.0, 0.5, 1.0]))
    track = track_for(3, u.shape[1])._replace(inputs=u, given_base=march.given(np.zeros(3))[0])
    table = scratch.table(calls_of("conserving", along), track, words_of(passage))
    it, scratch.trial.at[ROW], scratch.iteration.control[STEP] = scratch.iteration, 2, h
    own = address("tree.evaluate.evaluate_residual")
    load("march.step_residual.start_step").call(own, kernels.robot, table, h, march.base, march.q, *u)
    it.x[0] = 0.02 * unit
    load("march.conserving.residual_of_motion").call(kernels.robot, table)
    residual = passage.residual.copy()
    assert load("march.conserving.tangent_of_motion").call(kernels.robot, table) > 0.0
    it.step[:] = b
    name = "along_tree" if along else "dense"
    load(f"march.newton.{name}").call(kernels.robot, table)
    return np.stack([residual, it.step])


@pytest.mark.parametrize("floating", [False, True])
def test_increments_are_those_of_the_matrix(floating: bool) -> None:
    for seed in range(30):
        system, rng = some_tree(seed, floating)
        if not system.n:
            continue
        scale = core(system).assembly.scale
        unit, b = scale * rng.normal(size=scale.size), rng.normal(size=scale.size) / scale
        (r, x), (expected_r, expected) = (increment(system, way, 0.8, unit, b) for way in (True, False))
        np.testing.assert_allclose(r * scale, expected_r * scale, atol=1e-10 * np.max(np.abs(expected_r * scale)))
        # two steps were done before, each solved to its own rounding
        error = np.max(np.abs(x - expected) / scale) / np.max(np.abs(expected) / scale)
        assert error < 1e-9, (seed, error)  # 8e-11 at most (seen, then set)


@pytest.mark.parametrize(("floating", "rho"), [(False, 1.0), (True, 1.0), (True, 0.8)])
def test_whole_runs_are_those_of_the_matrix(floating: bool, rho: float) -> None:
    for seed in range(4):
        system, _ = some_tree(seed, floating)
        runs = []
        for along in (True, False):
            core(system).__dict__["steps_along_tree"] = along
            inputs = dict.fromkeys(system.actuators, 1.0)
            runs.append(ev.simulate(system, duration=0.05, step=1e-3, method=ev.Conserving(rho), inputs=inputs))
        assert runs[0].attrs["newton"].startswith("along the tree")
        for what in ("q", "q_dot"):
            size = np.max(np.abs(runs[1][what].values))
            # Newton's tolerance over fifty steps; rates divide it by the step
            np.testing.assert_allclose(runs[0][what], runs[1][what], atol=1e-8 * size)
        one, two = (run["energy/numerical"].values / run.attrs["energy_in_play"] for run in runs)
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_it_is_the_default_of_long_trees_and_says_so() -> None:
    flesh = ev.Material(young=1e7, poisson=0.4, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.01), flesh, ev.PiecewiseLinear.kirchhoff(100), name="hats")
    run = ev.simulate(ev.System(ev.Mechanism.clamped(rod), [], [ev.Gravity()]), duration=0.02, step=1e-3)
    assert run.attrs["method"].startswith("Conserving")
    assert run.attrs["newton"].startswith("along the tree")
    assert abs(run.attrs["energy_error"]) < 1e-8


def tied_tree(kind: str) -> ev.System:
    """Rods in a ring on hinges and balls, free or held by the world, or an arm with a free cable and a held tip."""
    flesh = ev.Material(young=1e7, poisson=0.4, density=1000.0, damping=1e-3)
    rods = [ev.Rod(0.3, ev.Circle(0.01), flesh, ev.Legendre.kirchhoff(3), name=f"r{k}") for k in range(4)]
    tip, base = [(rod, "tip") for rod in rods], [(rod, "base") for rod in rods]
    loads = [ev.Gravity((1.0, -4.0, -8.0))]
    quarter = 0.5 * np.pi
    hinges = [ev.Revolute(tip[k], base[k + 1], start=quarter, name=f"hinge-{k}") for k in range(2)]
    ball = ev.Spherical(tip[2], base[3], start=(0.0, 0.0, quarter), name="ball")
    if kind == "free ring":
        close = ev.Spherical(tip[3], base[0], name="close", cut=True)
        return ev.System(ev.Mechanism([ev.Floating("world", base[0]), *hinges, ball, close]), [], loads)
    if kind == "held ring":
        close = ev.Revolute(tip[3], ("world", (0.0, 0.0, 0.0)), name="close", cut=True)
        return ev.System(ev.Mechanism([ev.Revolute("world", base[0]), *hinges, ball, close]), [], loads)
    stay = ev.Tendon([ev.Frame("world", pose=(0.3, 0.2, 0.2)), ev.Frame(rods[1], "tip")], name="stay")
    between = ev.Tendon([ev.Frame(rods[0], "tip"), ev.Frame(rods[3], "tip")], name="between")
    return ev.System(
        ev.Mechanism([ev.Fixed("world", base[0]), *hinges, ball]), [stay, between],
        [*loads, ev.SlidingFriction(tip[3], viscous=0.1)],
    )


@pytest.mark.parametrize("kind", ["free ring", "held ring", "stayed"])
def test_tied_trees_go_along_it_with_a_border(kind: str) -> None:
    system, runs = tied_tree(kind), []
    start = ev.assemble(system) if system.mechanism.tree.cuts else system.rest()
    if system.free:
        start = start.with_(eta=np.array([1.0, 4.0, 8.0, 0.5, -0.2, 0.3]))
    rng = np.random.default_rng(1)
    scale = core(system).assembly.scale
    rows = len(system.multipliers)
    unit, b = np.append(scale, np.ones(rows)) * rng.normal(size=scale.size + rows), rng.normal(size=scale.size + rows)
    (r, x), (expected_r, expected) = (increment(system, way, 1.0, unit, b, start) for way in (True, False))
    np.testing.assert_allclose(r, expected_r, atol=1e-10 * np.max(np.abs(expected_r)))
    np.testing.assert_allclose(x, expected, atol=1e-9 * np.max(np.abs(expected)))
    for along in (True, False):
        core(system).__dict__["steps_along_tree"] = along
        inputs = dict.fromkeys(system.actuators, 0.5)
        runs.append(ev.simulate(system, start, 0.2, 2e-3, ev.Conserving(), inputs))
    for what in ("q", "q_dot"):
        size = np.max(np.abs(runs[1][what].values))
        np.testing.assert_allclose(runs[0][what], runs[1][what], atol=1e-7 * size)
    assert abs(runs[0].attrs["energy_error"]) < 1e-8
