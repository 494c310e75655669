"""What conserving steps take beyond inertia and springs: coordinates without mass, Python functions, order four."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import elver as ev
from elver.integrators.default import default_method
from elver.lie import so3

KEEPS = ev.Conserving()


def soft(name: str = "rod", **more: float) -> ev.Rod:
    material = ev.Material(young=1e7, poisson=0.5, density=1000.0, **more)
    return ev.Rod(1.0, ev.Circle(0.01), material, ev.Legendre.kirchhoff(2), name=name)


def gained(run) -> float:
    return float(np.max(np.abs(run["energy/numerical"])) / run.attrs["energy_in_play"])


# Coordinates without inertia --------------------------------------------------------------------------------


def on_springs() -> ev.System:
    """A pendulum whose hinge carries a link without mass on a second hinge, held by a spring: two springs in a row."""
    link = ev.RigidBody(0.0, (0.0, 0.0, 0.0), name="link")
    tip = ev.RigidBody(0.0, (0.0, 0.0, 0.0), name="tip")
    bob = ev.RigidBody(1.0, (0.01, 0.02, 0.02), (0.3, 0.0, 0.0), name="bob")
    joints = [
        ev.Revolute("world", bob, axis="y", name="main"),
        ev.Revolute((bob, (0.6, 0.0, 0.0)), link, axis="y", name="loose"),
        ev.Fixed((link, (0.1, 0.0, 0.0)), tip),
    ]
    loads = [
        ev.Gravity(), ev.JointSpring(joints[0], stiffness=5.0), ev.JointSpring(joints[1], stiffness=2.0),
        ev.PointWrench(tip, force=(0.0, 0.0, -1.0), name="push"),
    ]  # fmt: skip
    return ev.System(ev.Mechanism(joints), [], loads)


def test_a_joint_that_moves_no_mass_follows_its_springs() -> None:
    """-k φ = moment of the force at any instant, and the motion is that of the midpoint rule to the second order."""
    system = on_springs()
    rest = ev.equilibrium(system).state
    start = rest.with_(q_dot=np.array([1.0, 0.0]))
    assert isinstance(default_method(system), ev.ImplicitMidpoint)  # which names what has no inertia
    errors = []
    reference = ev.simulate(system, start, 0.4, 5e-4, ev.ImplicitMidpoint(), start="given")["q"].values
    for step in (1e-2, 5e-3):
        run = ev.simulate(system, start, 0.4, step, KEEPS)
        errors.append(np.abs(run["q"].values - reference[:: round(step / 5e-4)]).max(axis=0))
        assert gained(run) < 1e-9
    assert np.all(np.log2(errors[0] / errors[1]) > 1.7)
    q, q_dot = run["q"].values, run["q_dot"].values
    # rates of the light coordinate are those of its motion: central differences, off by h²
    np.testing.assert_allclose(q_dot[2:-1, 1], (q[3:, 1] - q[1:-2, 1]) / (2 * step), atol=2e-2 * np.ptp(q_dot[:, 1]))


def test_two_springs_in_a_row_with_nothing_between_them() -> None:
    """Hinges on one axis with a link without mass: one motion of the two has no inertia, in any coordinates.

    The angles share the twist as k₂ : k₁ and swing with k = k₁k₂/(k₁ + k₂).
    """
    link, J, k1, k2 = ev.RigidBody(0.0, (0.0, 0.0, 0.0), name="link"), 0.02, 5.0, 2.0
    bob = ev.RigidBody(1.0, (0.01, J, 0.02), name="bob")
    one, two = ev.Revolute("world", link, axis="y", name="one"), ev.Revolute(link, bob, axis="y", name="two")
    springs = [ev.JointSpring(one, stiffness=k1), ev.JointSpring(two, stiffness=k2)]
    system = ev.System(ev.Mechanism([one, two]), [], springs)
    share, omega = np.array([k2, k1]) / (k1 + k2), np.sqrt(k1 * k2 / (k1 + k2) / J)
    errors = []
    for step in (1e-2, 5e-3):
        run = ev.simulate(system, system.rest().with_(q=0.7 * share), 0.5, step, KEEPS)
        exact = 0.7 * np.cos(omega * run["time"].values)[:, None] * share
        errors.append(np.max(np.abs(run["q"].values - exact)))
        np.testing.assert_allclose(run["q"].values @ [k1, -k2], 0.0, atol=1e-9)
        assert gained(run) < 1e-9
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_where_nothing_has_mass_it_says_so() -> None:
    link = ev.RigidBody(0.0, (0.0, 0.0, 0.0), name="link")
    hinge = ev.Revolute("world", link, axis="y")
    with pytest.raises(ev.BadInput, match="moves masses"):
        KEEPS.check(ev.System(ev.Mechanism([hinge]), [], [ev.JointSpring(hinge, stiffness=1.0)]))


# Python functions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [False, True])
def test_a_film_in_python_is_the_film_of_kernels(free: bool) -> None:
    rod = soft()
    mechanism = ev.Mechanism.free(rod) if free else ev.Mechanism.clamped(rod)
    film = ev.Feedback((rod, "tip"), lambda t, g, eta: np.concatenate([np.zeros(3), -0.1 * eta[3:]]), name="film")
    own = ev.SlidingFriction((rod, "tip"), viscous=0.1, name="film")
    runs = []
    for load in (film, own):
        system = ev.System(mechanism, [], [ev.Gravity(), load])
        state = system.rest().with_(eta=np.array([1.0, 2.0, 3.0, 0.5, 0.2, 0.1])) if free else system.rest()
        runs.append(ev.simulate(system, state, 0.1, 1e-2, KEEPS))
    python, compiled = runs
    assert isinstance(default_method(ev.System(mechanism, [], [film])), ev.Conserving)
    np.testing.assert_allclose(python["q"].values, compiled["q"].values, atol=1e-9 * np.abs(compiled["q"].values).max())
    assert gained(python) < 1e-9
    work, heat = python["energy/work/film"].values, compiled["energy/dissipated"].values
    np.testing.assert_allclose(work, -heat, atol=1e-9 * python.attrs["energy_in_play"])
    counts = [run["newton_iterations"].values[1:] for run in (python, compiled)]
    np.testing.assert_allclose(*counts, atol=1)  # the tangent is exact in both


def test_a_spring_of_the_world_in_python_has_its_potential() -> None:
    """A wrench that turns with the section, from a potential: energy and it together stay, to the third order."""
    rod, k = soft(), 5.0

    def pull(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(3), g[:3, :3].T @ (-k * (g[:3, 3] - [1.0, 0.0, 0.1]))])

    system = ev.System(ev.Mechanism.clamped(rod), [], [ev.Feedback((rod, "tip"), pull, name="spring")])
    run = ev.simulate(system, duration=0.2, step=5e-3, method=KEEPS)
    x = run["rod/tip/position"].values - [1.0, 0.0, 0.1]
    stored = 0.5 * k * np.sum(x * x, axis=1)
    work = run["energy/work/spring"].values
    # ½ (F_n + F_+)·d is the potential's difference exactly, where the force is linear in the place
    np.testing.assert_allclose(work, stored[0] - stored, atol=1e-10 * stored[0])
    assert gained(run) < 1e-9


def test_a_controller_of_a_joint_is_a_spring_and_a_damper() -> None:
    body = ev.RigidBody(1.0, (0.01, 0.02, 0.02), (0.3, 0.0, 0.0), name="bob")
    hinge = ev.Revolute("world", body, axis="y", name="hinge")
    law = ev.JointFeedback(hinge, lambda t, q, rate: -2.0 * q - 0.1 * rate, name="law")
    own = [ev.JointSpring(hinge, stiffness=2.0), ev.JointFriction(hinge, viscous=0.1)]
    runs = [
        ev.simulate(ev.System(ev.Mechanism([hinge]), [], [ev.Gravity(), *loads]), duration=0.5, step=1e-2, method=KEEPS)
        for loads in ([law], own)
    ]
    np.testing.assert_allclose(runs[0]["q"].values, runs[1]["q"].values, atol=1e-10)
    assert gained(runs[0]) < 1e-9


# Order four -------------------------------------------------------------------------------------------------


def flying() -> tuple[ev.System, ev.State]:
    system = ev.System(ev.Mechanism.free(soft()))
    rate = np.zeros(system.n)
    rate[2], rate[4] = 3.0, -2.0
    return system, system.rest().with_(eta=np.array([1.0, 2.0, 3.0, 0.5, 0.2, 0.1]), q_dot=rate)


def swinging() -> tuple[ev.System, ev.State]:
    """Three links on hinges, pinned at both ends: a loop under its weight."""
    links = [ev.RigidBody(1.0, (0.01, 0.02, 0.02), (0.15, 0.0, 0.0), name=f"l{k}") for k in range(3)]
    hinges = [ev.Revolute("world", links[0], axis="y", start=-0.5)]
    hinges += [ev.Revolute((a, (0.3, 0.0, 0.0)), b, axis="y", start=0.5) for a, b in pairwise(links)]
    place = (0.3 * (1.0 + 2.0 * np.cos(0.5)), 0.0, 0.0)
    pin = ev.Revolute((links[2], (0.3, 0.0, 0.0)), ("world", place), axis="y", cut=True)
    system = ev.System(ev.Mechanism([*hinges, pin]), [], [ev.Gravity((2.0, 0.0, -9.81))])
    return system, ev.assemble(system)


@pytest.mark.filterwarnings("ignore:redundant:elver.errors.ElverWarning")  # rows that a plane loop has twice
@pytest.mark.parametrize(("make", "longest"), [(flying, 8e-3), (swinging, 16e-3)])
def test_order_four_keeps_energy_and_momentum(make, longest: float) -> None:
    system, state = make()
    method = ev.Conserving(order=4)
    reference = ev.simulate(system, state, 0.24, 5e-4, ev.GaussLegendre4())
    for what in ("q", "q_dot"):
        errors = []
        for step in (longest, longest / 2, longest / 4):
            run = ev.simulate(system, state, 0.24, step, method)
            every = round(step / 5e-4)
            errors.append(np.sqrt(np.mean((run[what].values - reference[what].values[::every]) ** 2)))
            assert gained(run) < 1e-9
            assert run.sizes["time"] == round(0.24 / step) + 1
        order = np.log2(np.array(errors[:-1]) / errors[1:])
        assert 3.5 < order[-1] < 4.6, (what, errors, order)
    if system.free:
        momentum = run["momentum"].values
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-12)


def test_order_four_refuses_what_dissipates() -> None:
    with pytest.raises(ev.BadInput, match="damping"):
        ev.Conserving(order=4).check(ev.System(ev.Mechanism.clamped(soft(damping=1e-3))))
    with pytest.raises(ev.BadInput, match="rho_inf"):
        ev.Conserving(rho_inf=0.8, order=4)
    with pytest.raises(ev.BadInput, match="order = 3"):
        ev.Conserving(order=3)


def test_turns_are_those_of_cayley() -> None:
    """A steady spin of a free body about an axis of inertia: slow by (Ωh)²/12, at order four by far less."""
    body = ev.RigidBody(1.0, (0.1, 0.2, 0.3), name="body")
    system = ev.System(ev.Mechanism([ev.Floating("world", body)]))
    state = system.rest().with_(eta=np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
    angle = []
    for order in (2, 4):
        run = ev.simulate(system, state, 0.5, 0.05, ev.Conserving(order=order))
        angle.append(float(so3.log(so3.from_quaternion(run["body/orientation"].values[-1]))[2]))
    assert 1.0 - angle[0] == pytest.approx(0.1**2 / 12.0, rel=1e-2)
    assert abs(1.0 - angle[1]) < 1e-6
