"""Free spans of cables: a rigid finger pulled over guides, in closed form; and a rod stayed by a wire."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev

ANCHOR, EYE = np.array([-0.1, 0.06, 0.0]), np.array([0.2, 0.03, 0.0])


def finger(cable) -> tuple[ev.System, ev.RigidBody]:
    """A link on a hinge at the origin; the cable runs from ANCHOR in the world to EYE on the link."""
    link = ev.RigidBody.box((0.3, 0.04, 0.04), mass=0.2, centre=(0.15, 0.0, 0.0), name="link")
    hinge = ev.Revolute("world", link, name="hinge")
    return ev.System(ev.Mechanism([hinge]), actuators=[cable(link)]), link


def length(q: float) -> float:
    """Distance [m] from the anchor to the eye at the angle ``q``."""
    eye = np.array([np.cos(q) * EYE[0] - np.sin(q) * EYE[1], np.sin(q) * EYE[0] + np.cos(q) * EYE[1], 0.0])
    return float(np.linalg.norm(eye - ANCHOR))


def test_tension_times_the_change_of_length_is_the_torque() -> None:
    system, _ = finger(lambda link: ev.Tendon([("world", ANCHOR), (link, EYE)], name="flexor"))
    for q in (-0.7, 0.0, 0.4, 1.9):
        state = system.rest().with_(q=[q])
        slope = (length(q + 1e-5) - length(q - 1e-5)) / 2e-5
        assert ev.inverse_dynamics(system, state, {"flexor": 3.0})[0] == pytest.approx(3.0 * slope, rel=1e-8)


def test_a_guide_in_between_and_points_on_one_body_change_only_what_they_should() -> None:
    """Two eyes on one body: the piece between them is rigid; only the first span pulls."""
    one, _ = finger(lambda link: ev.Tendon([("world", ANCHOR), (link, EYE)], name="c"))
    two, _ = finger(lambda link: ev.Tendon([("world", ANCHOR), (link, EYE), (link, (0.3, 0.0, 0.0))], name="c"))
    state = one.rest().with_(q=[0.5])
    torques = [ev.inverse_dynamics(system, state, {"c": 2.0}) for system in (one, two)]
    np.testing.assert_allclose(*torques, rtol=1e-14)


def test_a_wound_cable_sets_the_angle() -> None:
    """ℓ(q) + wound = ℓ(start); the tension is a multiplier that balances the weight."""
    link = ev.RigidBody.box((0.3, 0.04, 0.04), mass=0.2, centre=(0.15, 0.0, 0.0), name="link")
    hinge = ev.Revolute("world", link, name="hinge", start=-0.4)
    winch = ev.SpooledTendon([("world", ANCHOR), (link, EYE)], name="winch")
    system = ev.System(ev.Mechanism([hinge]), actuators=[winch], loads=[ev.Gravity((0.0, -9.81, 0.0))])
    for wound in (0.0, 0.03, 0.08):
        found = ev.equilibrium(system, {winch: wound})
        q = float(found.state.q[0])
        assert length(q) == pytest.approx(length(-0.4) - wound, abs=1e-10)
        slope = (length(q + 1e-5) - length(q - 1e-5)) / 2e-5
        weight = 0.2 * 9.81 * 0.15 * np.cos(q)
        assert found.multipliers["winch/tension"] == pytest.approx(-weight / slope, rel=1e-7)
    run = ev.simulate(system, ev.equilibrium(system), 0.4, 5e-3, inputs={winch: ev.smooth_step(0.0, 0.3, 0.0, 0.05)})
    lengths = np.array([length(q) for q in run["q"].values[:, 0]])
    wanted = length(-0.4) - run["inputs"].sel(input="winch").values
    np.testing.assert_allclose(lengths, wanted, atol=1e-9)


def test_a_stayed_mast_leans_as_a_force_toward_the_anchor_would_make_it() -> None:
    """A wire from the ground to the tip of a rod is a dead force along the wire, at equilibrium."""
    material = ev.Material(young=2e9, poisson=0.3, density=1200.0)
    mast = ev.Rod(0.5, ev.Circle(3e-3), material, ev.Legendre.kirchhoff(4), name="mast")
    peg = np.array([0.3, 0.2, 0.1])
    wire = ev.Tendon([("world", peg), (mast, "tip")], name="wire")
    stayed = ev.equilibrium(ev.System(ev.Mechanism.clamped(mast), actuators=[wire]), {wire: 0.8})
    tip = stayed.tip[:3, 3]
    push = ev.PointWrench(mast, force=0.8 * (peg - tip) / np.linalg.norm(peg - tip))
    pushed = ev.equilibrium(ev.System(ev.Mechanism.clamped(mast), loads=[push]))
    assert np.linalg.norm(tip - (0.5, 0.0, 0.0)) > 0.02
    np.testing.assert_allclose(pushed.tip, stayed.tip, atol=1e-9)


def test_energy_of_a_swinging_finger_and_the_work_of_its_cable() -> None:
    """With constant tension the energy lost by the robot is tension times the cable paid out."""
    system, _ = finger(lambda link: ev.Tendon([("world", ANCHOR), (link, EYE)], name="flexor"))
    run = ev.simulate(system, system.rest(), 1.0, 2e-3, ev.GaussLegendre4(), {"flexor": 1.5})
    lengths = np.array([length(q) for q in run["q"].values[:, 0]])
    balance = run["energy/total"].values + 1.5 * lengths
    assert np.ptp(lengths) > 0.02
    assert np.ptp(balance) < 1e-7


def test_what_a_cable_cannot_run_over_is_told() -> None:
    link = ev.RigidBody.point(1.0, name="link")
    with pytest.raises(ev.BadInput, match="tendon 'c': it runs along no rod and between no two guides"):
        ev.Tendon([(link, (0.1, 0.0, 0.0)), (link, (0.2, 0.0, 0.0))], name="c")
    with pytest.raises(ev.BadInput, match=r"tendon .c.: rod contains 3\.0, neither a rod nor a guide"):
        ev.Tendon([("world", (0.0, 0.0, 0.0)), 3.0], name="c")
    other = ev.RigidBody.point(1.0, name="other")
    cable = ev.Tendon([("world", (0.1, 0.0, 0.0)), (other, (0.0, 0.1, 0.0))], name="c")
    with pytest.raises(ev.BadInput, match="'c' acts on the body 'other', which is not in this mechanism"):
        ev.System(ev.Mechanism([ev.Revolute("world", link)]), actuators=[cable])


def test_guides_at_one_place_are_named():
    """A span of no length has no direction: told when the robot is built, not as numbers that are not finite."""
    soft = ev.Material(1e6, poisson=0.45, density=1070.0)
    rod = ev.Rod(0.4, ev.Circle(8e-3), soft, ev.Legendre(bending=4), name="arm")
    cable = ev.Tendon([("world", (0.4, 0.0, 0.0)), ev.Frame(rod, "tip")], name="cable")
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[cable], loads=[ev.Gravity()])
    with pytest.raises(ev.BadInput, match=r"'cable' runs from world to arm at tip, which are at the same place"):
        ev.equilibrium(system, {cable: 1.0})
