"""Which tensions put a section where it is wanted."""

import numpy as np
import pytest

import elver as ev


def finger(tendons, turn=0.0, gravity=True, torsion=2):
    rod = ev.Rod(
        0.4,
        ev.Circle(0.004),
        ev.Material(young=1e7, poisson=0.45, density=1000.0),
        ev.Legendre(bending=5, torsion=torsion),
    )
    angles = turn + 2.0 * np.pi * np.arange(tendons) / tendons
    pulls = [
        ev.Tendon(rod, ev.parallel(0.003 * np.cos(a), 0.003 * np.sin(a)), name=f"t{k}") for k, a in enumerate(angles)
    ]
    return ev.System(ev.Mechanism.clamped(rod), pulls, [ev.Gravity()] if gravity else [])


def in_plane(found):
    """Target that leaves x, along the rod, free."""
    return (None, *found.tip[1:3, 3])


@pytest.mark.parametrize(
    "tensions", [{"t0": 1.0, "t1": 0.5}, {"t0": 0.2, "t2": 1.0}, {"t1": 0.7}, {"t2": 2.0, "t1": 2.0}]
)
def test_tensions_come_back(tensions):
    system = finger(3)
    wanted = ev.equilibrium(system, tensions)
    answer = ev.inverse_statics(system, position=in_plane(wanted))
    assert answer.gap < 1e-9
    for name, tension in answer.inputs.items():
        assert tension == pytest.approx(tensions.get(name, 0.0), abs=1e-6)
    np.testing.assert_allclose(answer.equilibrium.tip, wanted.tip, atol=1e-7)


def test_a_spiral_and_a_straight_tendon_come_back():
    # the arm of Boyer 2023 with both of its routings at once
    steel = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    rod = ev.Rod(0.4, ev.Circle(1e-3), steel, ev.Legendre(bending=6, torsion=6))
    spiral = ev.Tendon(rod, ev.helical(0.02, 1.0), name="spiral", reach=0.02)
    straight = ev.Tendon(rod, ev.convergent(0.02, 0.0), name="straight", reach=0.02)
    system = ev.System(ev.Mechanism.clamped(rod), [spiral, straight], [ev.Gravity((9.81, 0.0, 0.0))])
    wanted = ev.equilibrium(system, {spiral: 30.0, straight: 12.0})
    answer = ev.inverse_statics(system, position=(None, *wanted.tip[1:3, 3]))
    assert answer.inputs["spiral"] == pytest.approx(30.0, rel=1e-6)
    assert answer.inputs["straight"] == pytest.approx(12.0, rel=1e-6)


def test_antagonists_are_not_pulled_together():
    # without torsion a common tension of opposite tendons does nothing: the least norm has none
    system = finger(4, turn=0.3, torsion=0)
    wanted = ev.equilibrium(system, {"t0": 1.0, "t1": 0.5, "t2": 0.3, "t3": 0.2})
    answer = ev.inverse_statics(system, position=in_plane(wanted))
    assert answer.inputs == pytest.approx({"t0": 0.7, "t1": 0.3, "t2": 0.0, "t3": 0.0}, abs=1e-6)
    assert all(tension >= 0.0 for tension in answer.inputs.values())
    np.testing.assert_allclose(answer.equilibrium.tip[1:3, 3], wanted.tip[1:3, 3], atol=1e-9)


def test_an_orientation_can_be_asked_for():
    system = finger(3, gravity=False)
    wanted = ev.equilibrium(system, {"t0": 1.0, "t1": 0.4})
    # of the orientation, the direction of the tip follows from two tensions; its roll about x comes with them
    answer = ev.inverse_statics(system, orientation=wanted.tip[:3, :3])
    assert answer.inputs == pytest.approx({"t0": 1.0, "t1": 0.4, "t2": 0.0}, abs=1e-6)


def test_only_the_chosen_inputs_move():
    system = finger(3)
    wanted = ev.equilibrium(system, {"t0": 1.0, "t1": 0.5, "t2": 0.25})
    answer = ev.inverse_statics(system, position=in_plane(wanted), by=["t0", "t1"], inputs={"t2": 0.25})
    assert answer.inputs == pytest.approx({"t0": 1.0, "t1": 0.5}, abs=1e-6)
    assert answer.equilibrium.inputs[2] == 0.25


def test_pressures_may_be_negative():
    rod = ev.Rod(
        0.2,
        ev.Circle(0.01),
        ev.Material(young=1e6, poisson=0.45, density=1000.0),
        ev.Legendre(bending=4, torsion=1),
    )
    chambers = [
        ev.Pressure(rod, 2e-5, ev.parallel(0.006, 0.0), name="a"),
        ev.Pressure(rod, 2e-5, ev.parallel(0.0, 0.006), name="b"),
    ]
    system = ev.System(ev.Mechanism.clamped(rod), chambers, [ev.Gravity()])
    wanted = ev.equilibrium(system, {"a": 3e3, "b": -2e3})
    answer = ev.inverse_statics(system, position=in_plane(wanted), by=chambers)
    assert answer.inputs == pytest.approx({"a": 3e3, "b": -2e3}, rel=1e-6)


def test_out_of_reach_names_the_gap_and_keeps_the_nearest():
    system = finger(3, gravity=False)
    with pytest.raises(ev.NotConverged, match=r"stays 3\.\d+e-01 m and 0\S* rad away.*nearer target") as caught:
        ev.inverse_statics(system, position=(None, 0.6, 0.0))
    near = caught.value.result
    # 0.4 m of rod: the nearest tip with y = 0.6 m wanted lies at the top of the path of an arc, y = 0.29 m
    assert near.tip[1, 3] == pytest.approx(0.29, abs=0.01)
    assert caught.value.history[-1] == pytest.approx(0.6 - near.tip[1, 3], abs=1e-3)


def test_pulling_alone_cannot_push():
    rod = ev.Rod(0.4, ev.Circle(0.004), ev.Material(young=1e7, poisson=0.45, density=1000.0), ev.Legendre.planar(4))
    tendon = ev.Tendon(rod, ev.parallel(0.003, 0.0))
    system = ev.System(ev.Mechanism.clamped(rod), [tendon])
    with pytest.raises(ev.NotConverged, match=r"tensions >= 0"):
        ev.inverse_statics(system, position=(None, -0.1, None))


def test_a_system_without_actuators_says_what_to_give():
    rod = ev.Rod(0.4, ev.Circle(0.004), ev.Material(young=1e7, poisson=0.45, density=1000.0), ev.Legendre.planar(4))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
    with pytest.raises(ev.BadInput, match=r"no actuator; .*by="):
        ev.inverse_statics(system, position=(0.1, 0.1, None))


def test_an_answer_that_falls_is_told():
    # a pendulum upright: without torque in balance, and unstable since its weight lowers the potential either way
    bob = ev.RigidBody(mass=1.0, inertia=1e-3 * np.eye(3), centre=(0.5, 0.0, 0.0), name="bob")
    hinge = ev.Revolute("world", bob, axis="y", name="hinge")
    system = ev.System(ev.Mechanism([hinge]), [ev.Motor(hinge, name="motor")], [ev.Gravity()])
    with pytest.warns(ev.ElverWarning, match=r"unstable: a motion of hinge.* grows.*no stable shape") as caught:
        answer = ev.inverse_statics(system, orientation=[[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
                                    part=bob, orientation_axes="y", guess=None)
    assert answer.inputs["motor"] == pytest.approx(0.0, abs=1e-7)
    assert answer.equilibrium.stable is False
    # the line that is named is the caller's
    assert caught[0].filename == __file__


def test_an_answer_that_falls_leads_to_one_that_stands():
    """Lifted in its plane this soft arm falls over sideways; what it falls to reaches the height, too."""
    silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
    arm = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=3, torsion=1), name="arm")
    tendon = ev.Tendon(arm, ev.parallel(z=6e-3), name="tendon")
    system = ev.System(ev.Mechanism.clamped(arm), [tendon], [ev.Gravity()])
    answer = ev.inverse_statics(system, position=(None, None, -0.1))
    assert answer.equilibrium.stable is True
    assert answer.equilibrium.tip[2, 3] == pytest.approx(-0.1, abs=1e-9)
    again = ev.equilibrium(system, answer.inputs, answer.equilibrium)
    assert again.tip == pytest.approx(answer.equilibrium.tip, abs=1e-8)
