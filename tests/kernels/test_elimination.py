"""Increments by elimination along the tree against the dense matrix, on random trees of everything that fits one.

Rods with functions along their whole length and on elements, hung by their base, their tip or a section in between;
rigid bodies, every joint, tendons, springs, stops, friction, followers, imposed motions, fixed and floating.
"""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core
from elver.dynamics.states import Arrays, arrays
from elver.kernels.build import entry
from elver.lie import se3

KINDS = (ev.Fixed, ev.Revolute, ev.Prismatic, ev.Cylindrical, ev.Universal, ev.Spherical, ev.Planar)
DYNAMIC, STATIC = (0.7, 13.0, 240.0), (1.0, 0.0, 0.0)


def some_basis(rng: np.random.Generator) -> ev.Legendre | ev.PiecewiseLinear | ev.PiecewiseConstant:
    family = str(rng.choice(["planar", "kirchhoff", "extensible", "reissner"]))
    kind = (ev.Legendre, ev.PiecewiseLinear, ev.PiecewiseConstant)[int(rng.integers(3))]
    return getattr(kind, family)(int(rng.integers(2, 5)))


def some_tree(seed: int, floating: bool) -> tuple[ev.System, np.random.Generator]:
    """Six parts, each on an earlier one or on the world, and all that can act on them without tying two branches."""
    rng = np.random.default_rng(seed)

    def frame(part):
        pose = se3.exp(rng.normal(size=6) * np.repeat([0.5, 0.05], 3))
        return ev.Frame(part, float(rng.choice([0.0, 0.4, 1.0])) * part.length, pose) if isinstance(part, ev.Rod) else (
            ev.Frame(part, pose=pose)
        )

    material = ev.Material(young=1e6, poisson=0.4, density=1000.0, damping=1e-2)
    parts, joints = [], []
    for k in range(6):
        if rng.random() < 0.3:
            parts.append(ev.RigidBody(rng.uniform(0.1, 1.0), 1e-3 * np.eye(3), 0.05 * rng.normal(size=3), name=f"p{k}"))
        else:
            size = rng.uniform(0.3, 0.6)
            parts.append(ev.Rod(size, ev.Ellipse(6e-3, 9e-3), material, some_basis(rng), name=f"p{k}"))
        if k == 0 and floating:
            joints.append(ev.Floating("world", frame(parts[0]), start=0.3 * rng.normal(size=6)))
            continue
        old = parts[rng.integers(k)] if k and (floating or rng.random() < 0.8) else "world"
        joints.append(KINDS[rng.integers(len(KINDS))](frame(old), frame(parts[k]), axis=rng.normal(size=3)))
    mechanism = ev.Mechanism(joints)
    follows = "section" if isinstance(parts[-1], ev.Rod) else "body"
    loads: list = [ev.Gravity((1.0, -4.0, -8.0)), ev.PointWrench(parts[-1], force=(1.0, -0.5, 0.7), frame=follows)]
    loads += [ev.SlidingFriction((part, "tip"), viscous=0.2) for part in mechanism.rods[:1]]
    actuators: list = [
        ev.Tendon(rod, path=ev.parallel(y=5e-3, z=2e-3), name=f"{rod.name}-cable") for rod in mechanism.rods
    ]
    for branch in mechanism.tree.branches:
        if branch.joint.n:
            name = branch.joint.coordinate_names[0]
            if rng.random() < 0.3:
                actuators.append(ev.Imposed(branch.joint, coordinate=name))
                continue
            loads.append(ev.JointSpring(branch.joint, 0.8, rest=0.1, coordinate=name))
            loads.append(ev.JointFriction(branch.joint, viscous=0.3, dry=0.2, speed=0.5, coordinate=name))
            loads.append(ev.JointStop(branch.joint, upper=-0.4, stiffness=3.0, coordinate=name))
    return ev.System(mechanism, actuators, loads), rng


def some_motion(system: ev.System, rng: np.random.Generator) -> tuple[Core, Arrays, np.ndarray]:
    core, a = Core(system), arrays(system.rest())
    a.q[:] += 0.4 * np.array([[1.0], [2.0], [3.0]]) * rng.normal(size=a.q.shape)
    if system.free:
        a.twist[:] = rng.normal(size=(2, 6))
    return core, a, 0.5 + rng.random(system.input_size)


def by_sweep(core: Core, a: Arrays, u: np.ndarray, weights, jets: int, b: np.ndarray) -> tuple[np.ndarray, float]:
    """A⁻¹ b, and the smallest pivot."""
    columns = np.vstack([w * np.eye(6) for w in weights])
    table, x = core.table, b.copy()
    entry.evaluate_residual(core.robot, a.base, a.twist, a.q, a.multipliers, u, jets)
    entry.evaluate_frames(core.robot, a.base, a.multipliers, u, jets)
    pivot = entry.home(core.robot, table, a.q, a.multipliers, u, columns, np.array(weights), jets)
    entry.back(core.robot, table, jets, x)
    return x, pivot


@pytest.mark.parametrize("floating", [False, True])
def test_increments_are_those_of_the_matrix(floating: bool) -> None:
    """100 trees each; where a local pivot is small, digits are lost and said to be."""
    compared = 0
    for seed in range(100):
        system, rng = some_tree(seed, floating)
        if not system.n:
            continue
        core, a, u = some_motion(system, rng)
        for weights, jets in ((DYNAMIC, 3), (STATIC, 1)):
            if jets == 1:
                a.q[1:], a.twist[:] = 0.0, 0.0
                u[len(system.channels) :] = 0.0  # rates of imposed coordinates
            A, scale = core.tangent(a, u, weights, jets), core.assembly.scale
            b = rng.normal(size=core.coordinates) / scale
            b[core.coordinates - core.n + core.program.imposed[:, 0]] = 0.0
            x, pivot = by_sweep(core, a, u, weights, jets, b)
            condition = np.linalg.cond(scale[:, None] * A * scale)
            if condition > 1e10:
                continue
            expected = np.linalg.solve(A, b)
            error = np.max(np.abs(x - expected) / scale) / np.max(np.abs(expected) / scale)
            if pivot > 1e-5:
                compared += 1
                # Rounding: 1e-10, or what it makes of the condition number, which any solver loses. The latter was
                # added after seeing 1.2e-10 for one tree of condition 6e6, where LAPACK is off by 2e-11 itself.
                assert error < max(1e-10, np.finfo(float).eps * condition), (seed, jets, pivot)
            elif pivot > 1e-7:  # what solvers accept
                assert error < 1e-8, (seed, jets, pivot)
    assert compared > 80  # the others are singular as a whole, or have a small pivot (number seen, then set)


def column(load: float) -> ev.System:
    """Four equal planar rods in line under a dead axial force, in units of the critical load of the whole."""
    material = ev.Material(young=1e8, poisson=0.4, density=1000.0)
    rods = [ev.Rod(0.25, ev.Circle(0.01), material, ev.Legendre.planar(4), name=f"r{k}") for k in range(4)]
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((rods[k], "tip"), (rods[k + 1], "base")) for k in range(3)]
    critical = 0.25 * np.pi**2 * float(rods[0].stiffness([0.0])[0, 2])
    return ev.System(ev.Mechanism(joints), loads=[ev.PointWrench(rods[-1], force=(-load * critical, 0.0, 0.0))])


@pytest.mark.parametrize("load", [0.0, 0.9, 0.999, 1.001, 5.0, 8.9, 9.1, 20.0])
def test_nature_of_the_matrix_is_that_of_its_eigenvalues(load: float) -> None:
    system = column(load)
    core, a = Core(system), arrays(system.rest())
    u = system.input_vector(system.signals(None), 0.0)
    by_sweep(core, a, u, STATIC, 1, np.zeros(core.coordinates))
    K = core.tangent(a, u, STATIC, 1)
    assert core.front.nature[0] < 1e-12
    assert (core.front.nature[1] > 0.0) == (np.linalg.eigvalsh(0.5 * (K + K.T))[0] > 0.0) == (load < 1.0)


def test_small_pivots_are_told() -> None:
    """Beyond 16 times its critical load the last rod alone is critical: its pivot vanishes, not that of the whole."""
    at = [16.0 * (1.0 + 1e-7 * k) for k in range(-3, 4)]
    pivots = []
    for load in at:
        system = column(load)
        core, a = Core(system), arrays(system.rest())
        u = system.input_vector(system.signals(None), 0.0)
        pivots.append(by_sweep(core, a, u, STATIC, 1, np.zeros(core.coordinates))[1])
        assert np.linalg.cond(core.tangent(a, u, STATIC, 1)) < 1e5
    assert min(pivots) < 1e-6
