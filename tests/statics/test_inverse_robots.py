"""Which inputs put the platform of a robot where it is wanted."""

import numpy as np
import pytest

import elver as ev
from elver.lie import so3


@pytest.fixture(scope="module")
def six(robots):
    system = robots.six_limbs()
    return system, ev.equilibrium(system, {f"drive{k}": 0.6 for k in range(6)})


def test_a_pose_of_six_limbs_comes_back(six):
    system, home = six
    g = home.pose("platform")
    position = g[:3, 3] + [0.02, 0.0, 0.01]
    orientation = so3.exp(np.array([0.1, 0.05, 0.0])) @ g[:3, :3]
    answer = ev.inverse_statics(system, position, orientation, part="platform", guess=home)
    assert list(answer.inputs) == [f"drive{k}" for k in range(6)]
    assert answer.equilibrium.stable
    forward = ev.equilibrium(system, answer.inputs, guess=home).pose("platform")
    np.testing.assert_allclose(forward[:3, 3], position, atol=1e-8)
    np.testing.assert_allclose(forward[:3, :3], orientation, atol=1e-8)


def test_a_pose_beyond_the_limbs_says_how_far_beyond(six):
    system, home = six
    platform = system.mechanism.part("platform")
    with pytest.raises(ev.NotConverged, match=r"'platform' stays 3\.\d+e-01 m and 0\S* rad.*out of reach") as caught:
        ev.inverse_statics(system, (0.0, 0.0, 0.9), part=platform, guess=home)
    assert caught.value.result.pose(platform)[2, 3] > 0.57


@pytest.mark.parametrize("drive", [ev.Motor, ev.Imposed])
def test_two_inputs_place_the_hinge(robots, drive):
    # at the start the rods are straight, and no input moves the hinge to first order
    system = robots.rfrfr(drive=drive)
    answer = ev.inverse_statics(system, (0.2, 0.7, None), part="rod1")
    np.testing.assert_allclose(answer.equilibrium.pose("rod2")[:3, 3], [0.2, 0.7, 0.0], atol=1e-9)
    again = ev.equilibrium(system, answer.inputs, guess=answer.equilibrium)
    np.testing.assert_allclose(again.pose("rod1")[:2, 3], [0.2, 0.7], atol=1e-8)


def test_positions_out_of_the_plane_are_refused(robots):
    with pytest.raises(ev.BadInput, match=r"'target': its position along z differs by 0\.1 m"):
        ev.inverse_statics(robots.rfrfr(), (0.2, 0.7, 0.1), part="rod1")


def test_rigid_limbs_need_no_elasticity(robots):
    """A five-bar with two driven joints in the base: its angles by trigonometry."""
    lengths = (0.3, 0.4, 0.3, 0.4)
    bars = [ev.RigidBody.box((l, 0.02, 0.02), mass=1.0, name=f"bar{k}") for k, l in enumerate(lengths)]
    begin = [(bar, (-l / 2, 0, 0)) for bar, l in zip(bars, lengths)]
    end = [(bar, (l / 2, 0, 0)) for bar, l in zip(bars, lengths)]
    left = ev.Revolute(("world", (-0.1, 0, 0)), begin[0], name="left", start=2.0)
    right = ev.Revolute(("world", (0.1, 0, 0)), begin[2], name="right", start=1.0)
    joints = [
        left,
        ev.Revolute(end[0], begin[1], name="elbow0", start=-1.0),
        right,
        ev.Revolute(end[2], begin[3], name="elbow2", start=1.0),
        ev.Revolute(end[1], end[3], name="apex"),
    ]
    apex = ev.RigidBody.sphere(0.01, mass=0.1, name="tool")
    joints.append(ev.Fixed(end[1], apex, name="mount"))
    system = robots.planar(joints, [ev.Imposed(left, name="left"), ev.Imposed(right, name="right")])
    x, y = 0.03, 0.5
    answer = ev.inverse_statics(system, (x, y, None), part=apex)
    np.testing.assert_allclose(answer.equilibrium.pose(apex)[:2, 3], [x, y], atol=1e-9)
    for name, foot, side in (("left", -0.1, 1.0), ("right", 0.1, -1.0)):
        reach = np.hypot(x - foot, y)
        inner = np.arccos((0.3**2 + reach**2 - 0.4**2) / (2 * 0.3 * reach))
        assert answer.inputs[name] == pytest.approx(np.arctan2(y, x - foot) + side * inner, abs=1e-8)


def test_spare_inputs_stay_where_they_were(robots):
    """One coordinate of the hinge wanted, two angles to do it: the change of the angles is the least."""
    system = robots.rfrfr(drive=ev.Imposed)
    start = ev.equilibrium(system, {"drive1": 1.0, "drive4": np.pi - 1.0})
    height = start.pose("rod1")[1, 3] - 0.02
    answer = ev.inverse_statics(system, (None, height, None), part="rod1", guess=start)
    # by symmetry both turn alike
    change = answer.equilibrium.inputs[:2] - start.inputs[:2]
    assert change[0] == pytest.approx(-change[1], rel=1e-4)


def test_wound_tendons_place_the_tip():
    rod = ev.Rod(0.4, ev.Circle(4e-3), ev.Material(1e7, 1000.0, poisson=0.45), ev.Legendre(bending=4, torsion=2))
    spools = [
        ev.SpooledTendon(rod, ev.parallel(3e-3 * np.cos(a), 3e-3 * np.sin(a)), name=f"spool{k}")
        for k, a in enumerate((0.0, np.pi / 2))
    ]
    system = ev.System(ev.Mechanism.clamped(rod), spools, [ev.Gravity((9.81, 0.0, 0.0))])
    wanted = ev.equilibrium(system, {"spool0": 1e-3, "spool1": 5e-4})
    answer = ev.inverse_statics(system, (None, *wanted.tip[1:3, 3]))
    assert answer.inputs == pytest.approx({"spool0": 1e-3, "spool1": 5e-4}, abs=1e-9)
