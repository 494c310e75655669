"""Runs and equilibria by elimination along the tree are those by the dense matrix."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core
from elver.dynamics.quantities import overload
from elver.integrators.stepper import Stepper

MATERIAL = ev.Material(young=2e7, poisson=0.4, density=1000.0, damping=1e-3)


def arm(kind: str) -> tuple[ev.System, dict]:
    """Robots of some 40 unknowns: a tree with tendon and imposed hinge, one that floats, a held chain, a loop."""
    basis = ev.PiecewiseLinear.kirchhoff(4) if kind in ("elements", "held elements") else ev.Legendre.kirchhoff(4)
    rods = [ev.Rod(0.3, ev.Circle(0.01), MATERIAL, basis, name=f"rod{k}") for k in range(3)]
    tendon = ev.Tendon(rods[1], ev.parallel(z=5e-3), name="tendon")
    hinge = ev.Revolute((rods[0], "tip"), (rods[1], "base"), axis="y", name="hinge")
    tail = ev.Fixed((rods[1], 0.2), (rods[2], "base"))
    if kind == "floating":
        return ev.System(ev.Mechanism([ev.Floating("world", (rods[0], 0.1)), hinge, tail]), [tendon]), {tendon: 0.5}
    joints = [ev.Fixed("world", (rods[0], "base")), hinge, tail]
    if kind == "imposed":
        swing = ev.Imposed(hinge, name="swing")
        return ev.System(ev.Mechanism(joints), [tendon, swing], [ev.Gravity()]), {
            tendon: 0.5,
            swing: lambda t: 0.3 * np.sin(10.0 * t),
        }
    if kind.startswith("held"):
        hold = ev.Hold("tip", position=(0.7, 0.05, -0.05), part=rods[2], name="tip")
        return ev.System(ev.Mechanism(joints, holds=[hold]), [tendon], [ev.Gravity()]), {tendon: 0.5}
    if kind == "cable":
        stay = ev.Tendon([ev.Frame("world", pose=(0.3, 0.2, 0.2)), ev.Frame(rods[2], "tip")], name="stay")
        return ev.System(ev.Mechanism(joints), [tendon, stay], [ev.Gravity()]), {tendon: 0.5, stay: 0.2}
    return ev.System(ev.Mechanism(joints), [tendon], [ev.Gravity()]), {tendon: 0.5}


KINDS = ("functions", "elements", "imposed", "floating", "held", "held elements", "cable")
METHODS = (ev.Newmark(tolerance=1e-12), ev.GeneralizedAlpha(0.6, tolerance=1e-12), ev.ImplicitMidpoint(tolerance=1e-12))


@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_runs_are_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for method in METHODS:
        runs = []
        for along in (True, False):
            monkeypatch.setattr(Core, "along_tree", along)
            system, inputs = arm(kind)
            start = ev.assemble(system) if system.mechanism.holds else system.rest()
            # of longer steps some are divided, and a robot that falls into its hold goes another way by rounding
            runs.append(ev.simulate(system, start, 0.04, 2e-3, method, inputs))
        first, second = (run["q"].values for run in runs)
        assert runs[0].attrs["status"] == runs[1].attrs["status"]
        # Newton ends at rounding of stiff accelerations: 5e-7 seen on the floating robot, 1e-9 else; then set
        np.testing.assert_allclose(first, second, atol=2e-6 * np.max(np.abs(second)), err_msg=str(method))


@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "floating"])
def test_equilibria_are_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for along in (True, False):
        monkeypatch.setattr(Core, "along_tree", along)
        system, inputs = arm(kind)
        found.append(ev.equilibrium(system, inputs))
    np.testing.assert_allclose(found[0].state.q, found[1].state.q, atol=1e-7)
    assert found[0].stable == found[1].stable


def test_many_short_rods_do_not_turn_over() -> None:
    """Newton on 100 pieces takes the steps that it takes on one rod: it is the farthest frame that may not turn far."""
    rubber, basis = ev.Material(8e7, poisson=0.4, density=1000.0), ev.Legendre.kirchhoff(1)
    rods = [ev.Rod(0.01, ev.Circle(1e-3), rubber, basis, name=f"r{k}") for k in range(100)]
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((rods[k], "tip"), (rods[k + 1], "base")) for k in range(99)]
    found = ev.equilibrium(ev.System(ev.Mechanism(joints), loads=[ev.Gravity()]))
    assert found.stable is True
    assert found.iterations <= 12


def test_a_loose_part_falls_back_to_the_matrix() -> None:
    """A pendulum of 40 links near the horizontal, where a hinge alone has next to no stiffness, comes to hang."""
    links = [ev.RigidBody.cylinder(0.01, 0.1, mass=0.1, axis="x", name=f"b{k}") for k in range(40)]
    near, far = np.eye(4), np.eye(4)
    near[0, 3], far[0, 3] = -0.05, 0.05
    joints = [ev.Revolute("world", (links[0], near), axis="y", start=0.3)]
    joints += [ev.Revolute((links[k], far), (links[k + 1], near), axis="y", start=0.01) for k in range(39)]
    system = ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])
    found = ev.equilibrium(system)
    assert found.stable is True
    down = ev.poses(system, found.state, links[-1])
    assert down[2, 3] == pytest.approx(-3.95, abs=1e-9)


def test_a_stepper_travels_with_its_factors() -> None:
    """Copied in the middle of a run, both go on to the same bits: kept factors travel along."""
    system, inputs = arm("functions")
    named = {part.name: value for part, value in inputs.items()}
    for method in METHODS[:2]:
        one = Stepper(system, system.rest(), 5e-3, method, named)
        one.advance(5)
        other = pickle.loads(pickle.dumps(one))
        one.advance(5)
        other.advance(5)
        np.testing.assert_array_equal(one.state.q, other.state.q)
        np.testing.assert_array_equal(one.state.q_ddot, other.state.q_ddot)


def test_threads_give_the_same_bits() -> None:
    """Four threads on one system, each with a work space of its own."""
    system, inputs = arm("functions")

    def run(_: int) -> np.ndarray:
        return ev.simulate(system, system.rest(), 0.05, 5e-3, ev.GeneralizedAlpha(0.6), inputs)["q"].values

    expected = run(0)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(8)):
            np.testing.assert_array_equal(found, expected)


def test_a_motion_that_nothing_resists_is_seen() -> None:
    """Round rods that hang from a ball spin freely about the vertical: all pivots are large, one eigenvalue is zero."""
    rods = [ev.Rod(0.2, ev.Circle(5e-3), MATERIAL, ev.Legendre.kirchhoff(4), name=f"rod{k}") for k in range(3)]
    joints = [ev.Spherical("world", (rods[0], "base"), axis="x", start=(0.0, 1.2, 0.0))]
    joints += [ev.Fixed((rods[k], "tip"), (rods[k + 1], "base")) for k in range(2)]
    system = ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])
    found = ev.equilibrium(system, guess=ev.assemble(system))
    assert found.stable == "neutral"
    assert ev.poses(system, found.state, rods[-1])[-1, 2, 3] == pytest.approx(-0.6, abs=1e-6)


def test_two_threads_on_one_stepper_take_turns() -> None:
    """A kernel lets other threads run: steps of one run must not be taken by two at a time."""
    system, inputs = arm("functions")
    named = {part.name: value for part, value in inputs.items()}
    alone, shared = (Stepper(system, system.rest(), 5e-3, METHODS[1], named) for _ in range(2))
    alone.advance(40)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: shared.advance(1), range(40)))
    assert shared.time == pytest.approx(alone.time, abs=1e-12)
    np.testing.assert_allclose(shared.state.q, alone.state.q, rtol=0.0, atol=1e-13)  # times differ in the last bit
    again = pickle.loads(pickle.dumps(shared))
    for stepper in (again, shared):
        stepper.advance(3)
    np.testing.assert_array_equal(again.state.q, shared.state.q)


def test_a_load_beyond_all_rods_is_named() -> None:
    """A force of 1e9 N on an arm that 0.1 N bends: named, with how much too strong it is; what rods can bear is not."""
    rods = [ev.Rod(0.3, ev.Circle(0.01), MATERIAL, ev.Legendre.kirchhoff(4), name=f"rod{k}") for k in range(3)]
    joints = [ev.Fixed("world", (rods[0], "base")), *(ev.Fixed((rods[0], "tip"), (rod, "base")) for rod in rods[1:])]
    loads = [ev.Gravity(), ev.PointWrench(rods[2], force=(0.0, 0.0, -1e9), name="push")]
    tendon = ev.Tendon(rods[1], ev.parallel(z=5e-3), name="tendon")
    system = ev.System(ev.Mechanism(joints), [tendon], loads)
    assert system.n > 30
    with pytest.raises(ev.NotConverged, match=r"'push' is \de\+\d+ times what bends a rod by a radian: check its size"):
        ev.simulate(system, duration=0.05, step=5e-3, method=ev.Newmark(halvings=0))
    strength = 1e5 * 5e-3 / (0.25e-8 * np.pi * MATERIAL.young / 0.3)  # T D over EI / L, which turns a rod by a radian
    for pull, words in ((1.0, ""), (1e5, f"'tendon' is {strength:.0e} times")):
        u = system.input_vector(system.signals({tendon: pull, "push": 0.0}), 0.0)
        assert overload(system, u).startswith(words)
        assert bool(overload(system, u)) == bool(words)


def test_it_is_said_how_increments_are_found_and_why() -> None:
    """explain(system) and the runs' attribute ``newton`` name the way and its reason."""
    rod = ev.Rod(0.3, ev.Circle(0.01), MATERIAL, ev.Legendre.kirchhoff(2), name="rod")
    small = ev.System(ev.Mechanism.clamped(rod))
    large, inputs = arm("elements")
    held, _ = arm("held elements")
    assert small.mechanism.explain() in ev.explain(small)
    assert ev.explain(small).endswith(
        "dense matrix: 6 unknowns, the way along the tree is the quicker from 30 on"
    )
    assert "along the tree: 46 unknowns" in ev.explain(large)
    assert "a border of 9 for 1 tied frames" in ev.explain(held)
    driven = ev.System(small.mechanism, loads=[ev.Feedback((rod, "tip"), lambda t, g, eta: np.zeros(6), name="none")])
    assert "dense matrix: a controller" in ev.explain(driven)
    words = {}
    for method in (ev.Newmark(), ev.ImplicitMidpoint(), ev.GaussLegendre4(), ev.Conserving()):
        words[type(method).__name__] = ev.simulate(large, None, 2e-3, 1e-3, method, inputs).attrs["newton"]
    assert words["Newmark"] == words["ImplicitMidpoint"]
    assert words["Newmark"].startswith("along the tree: 46 unknowns")
    assert words["GaussLegendre4"] == "dense matrix: GaussLegendre4(), its stages are solved together"
    assert words["Conserving"].startswith("dense matrix: 46 unknowns, conserving steps")
    explicit = ev.simulate(small, None, 2e-6, 1e-6, ev.RungeKutta4()).attrs["newton"]
    assert explicit == "none: explicit steps"
