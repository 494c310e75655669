"""Momentum of free systems, to rounding: trees, rings closed by cut joints, parts that float apart, tied or not.

studies/momentum.py asks many at random; here are some that had lost momentum each in its own way.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import elver as ev


def rod(name: str, basis: ev.Legendre | None = None) -> ev.Rod:
    material = ev.Material(young=1e7, poisson=0.4, density=1200.0)
    return ev.Rod(0.35, ev.Circle(0.01), material, basis or ev.Legendre.kirchhoff(2), name=name)


def body(name: str) -> ev.RigidBody:
    return ev.RigidBody(0.2, (2e-3, 3e-3, 4e-3), (0.02, -0.03, 0.01), name=name)


def drift(run: xr.Dataset) -> tuple[float, float]:
    """Largest change of angular and of linear momentum, of what there was."""
    momentum = run["momentum"].values.reshape(-1, 2, 3)
    change = np.max(np.abs(momentum - momentum[0]), axis=(0, 2))
    angular, linear = change / np.linalg.norm(momentum[0], axis=1)
    return float(angular), float(linear)


def thrown(system: ev.System, spin: tuple[float, ...] = (1.0, -2.0, 1.5)) -> ev.State:
    """All parts as one rigid body."""
    velocity, rate = np.array([0.3, 0.1, -0.2]), np.zeros(system.n)
    state = ev.assemble(system) if system.mechanism.tree.cuts else system.rest()
    if system.free:
        return state.with_(eta=np.concatenate([spin, velocity]))
    for part, (first, _) in system.blocks.items():
        if isinstance(part, ev.Floating):
            rate[first : first + 3] = velocity + np.cross(spin, part.a.g[:3, 3])
            rate[first + 3 : first + 6] = spin
    return state.with_(q_dot=rate)


def ring() -> ev.System:
    """A triangle of two rods and a body on hinges and a ball, with a tendon that pulls at once."""
    a, b, c = rod("a"), rod("b"), body("c")
    third = 2.0 * np.pi / 3.0
    joints = [
        ev.Floating("world", (a, "base")),
        ev.Revolute((a, "tip"), (b, "base"), start=third),
        ev.Spherical((b, "tip"), c, start=(0.0, 0.0, third)),
        ev.Revolute((c, (0.35, 0.0, 0.0)), (a, "base"), cut=True),
    ]
    return ev.System(ev.Mechanism(joints), [ev.Tendon(a, ev.parallel(z=5e-3), name="pull")])


def apart(tie: type | None, pull: bool = True) -> ev.System:
    """A rod and a body that float each by itself, the body at the tip of the rod."""
    a, b = rod("a", ev.Legendre.reissner(2)), body("b")
    joints = [ev.Floating(("world", (0.1, 0.2, -0.1)), (a, "base")), ev.Floating(("world", (0.45, 0.2, -0.1)), b)]
    if tie is not None:
        joints.append(tie((a, "tip"), b, cut=True))
    return ev.System(ev.Mechanism(joints), [ev.Tendon(a, ev.parallel(z=5e-3), name="pull")] if pull else [])


def test_a_ring_keeps_its_momentum() -> None:
    system = ring()
    run = ev.simulate(system, thrown(system), 3.0, 1e-2, ev.Conserving(), {"pull": 0.5})
    assert max(drift(run)) < 1e-12  # rounding of 300 steps


@pytest.mark.parametrize("tie", [None, ev.Spherical, ev.Revolute, ev.Fixed])
def test_parts_that_float_apart_keep_their_momentum(tie) -> None:
    system = apart(tie)
    assert not system.free
    run = ev.simulate(system, thrown(system), 2.0, 1e-2, ev.Conserving(), {"pull": 0.5})
    assert max(drift(run)) < 1e-12
    assert np.max(np.abs(run["energy/numerical"])) < 1e-9 * run.attrs["energy_in_play"]


def test_apart_or_joined_is_the_same_motion() -> None:
    """A ball as a joint of one floating robot, and as a tie of two: to the square of the step."""
    a, b = rod("a"), body("b")
    joined = ev.System(ev.Mechanism([ev.Floating("world", (a, "base")), ev.Spherical((a, "tip"), b)]))
    floats = [ev.Floating("world", (a, "base")), ev.Floating(("world", (0.35, 0.0, 0.0)), b)]
    tied = ev.System(ev.Mechanism([*floats, ev.Spherical((a, "tip"), b, cut=True)]))
    apart_by = []
    for step in (1e-2, 5e-3):
        runs = [ev.simulate(system, thrown(system), 0.4, step, ev.Conserving()) for system in (joined, tied)]
        one, two = (run["b/position"].values[:: round(1e-2 / step)] for run in runs)
        apart_by.append(float(np.max(np.abs(one - two))))
    assert apart_by[0] < 2e-3  # seen, then set
    assert np.log2(apart_by[0] / apart_by[1]) > 1.7


def test_what_floats_beside_another_keeps_its_own_momentum() -> None:
    """Two bodies with nothing between them: the spinning one gives back its energy, and leaves the other alone."""
    a, b = body("a"), rod("b")
    joints = [ev.Floating("world", a), ev.Floating(("world", (1.0, 0.0, 0.0)), (b, "base"))]
    system = ev.System(ev.Mechanism(joints))
    alone = ev.System(ev.Mechanism([ev.Floating(("world", (1.0, 0.0, 0.0)), (b, "base"))], root="world"))
    rate = np.random.default_rng(1).normal(size=alone.n)
    both = np.concatenate([[0.1, 0.2, 0.3, 5.0, 0.5, 0.2], rate])
    run = ev.simulate(system, system.rest().with_(q_dot=both), 0.5, 1e-2, ev.Conserving())
    own = ev.simulate(alone, alone.rest().with_(q_dot=rate), 0.5, 1e-2, ev.Conserving())
    assert max(drift(run)) < 1e-12
    assert max(drift(own)) < 1e-12
    # energy that both gave back together is a little other than what each owed
    np.testing.assert_allclose(run["q"].values[:, 6:], own["q"].values, atol=1e-3)
