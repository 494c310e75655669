"""Branches of robots in their inputs, the singularities on them, and the modes in which they can be assembled."""

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core


@pytest.fixture(scope="module")
def snap(robots):
    """The flat two-rod robot, both base angles turned down together from 30°."""
    system = robots.flat_rfrfr()
    start = ev.equilibrium(system)
    branch = ev.continuation(system, {"q1": 1.0, "q2": -1.0}, stop=-np.pi / 6, start=start, step=0.05, max_points=90)
    return system, branch


def test_two_angles_together_reach_the_published_limit(snap):
    branch = snap[1]
    limit = branch.points[0]
    assert limit.kind == "limit"
    # spec of Gotelli 2024, section 3.5: q_1 = -0.179, tip at y = 0.026
    assert limit.value == pytest.approx(-0.179, abs=1e-3)
    assert limit.equilibrium.pose("platform")[1, 3] == pytest.approx(0.026, abs=5e-4)
    # the other angle moved with it
    assert limit.equilibrium.inputs[1] == pytest.approx(-limit.value, abs=1e-12)
    # stable down to it, unstable beyond
    last = int(np.flatnonzero(branch.stable)[-1])
    assert branch.stable[: last + 1].all()
    assert not branch.stable[last + 1 :].any()
    assert min(branch.values[last : last + 2]) == pytest.approx(limit.value, abs=5e-3)
    assert branch.positions("platform").shape == (len(branch.values), 3)


def test_the_limit_is_an_output_singularity(snap):
    system, branch = snap
    home, limit = (ev.singularity(system, at) for at in (branch.equilibria[0], branch.points[0]))
    assert home.kinds == ()
    assert home.stiffness > 0.1
    assert limit.kinds == ("output",)
    assert limit.stiffness < 1e-6
    assert "K_z" in limit.free
    # the platform falls along y while the angles are held
    assert abs(limit.twist[4]) > 0.9


def test_one_angle_alone_has_its_own_limit(robots):
    system = robots.flat_rfrfr()
    branch = ev.continuation(system, "q1", stop=-np.pi / 6, start=ev.equilibrium(system), step=0.05, max_points=120)
    assert [point.kind for point in branch.points] == ["limit", "limit"]
    assert all(e.inputs[1] == pytest.approx(-np.pi / 6) for e in branch.equilibria)


def test_rates_are_relative_to_the_first(robots):
    system = robots.flat_rfrfr()
    start = ev.equilibrium(system)
    branch = ev.continuation(system, {"q1": 2.0, "q2": -1.0}, stop=0.45, start=start)
    moved = branch.equilibria[-1].inputs[:2] - start.inputs[:2]
    assert moved[0] == pytest.approx(-2.0 * moved[1], rel=1e-12)
    with pytest.raises(ev.BadInput, match="rate of the first input is 0"):
        ev.continuation(system, {"q1": 0.0, "q2": 1.0}, stop=1.0, start=start)
    with pytest.raises(ev.BadInput, match="at least one input"):
        ev.continuation(system, {}, stop=1.0, start=start)


def test_a_linkage_turns_back_at_its_dead_centre(robots):
    """Coupler and rocker in line: the crank cannot turn further, and cannot hold the others."""
    a, b, c, d = 0.4, 0.3, 0.3, 0.5
    system = robots.four_bar(lengths=(a, b, c, d), imposed=True)
    start = ev.equilibrium(system)
    branch = ev.continuation(system, "angle", stop=3.0, start=start, step=0.05, max_points=50)
    limit = branch.points[0]
    assert limit.kind == "limit"
    assert limit.value == pytest.approx(np.arccos((a**2 + d**2 - (b + c) ** 2) / (2 * a * d)), abs=1e-8)
    found = ev.singularity(system, limit, "rocker")
    assert found.kinds == ("output",)
    assert found.closure < 1e-6
    assert ev.singularity(system, start, "rocker").kinds == ()
    # beyond, the linkage comes back on its other mode
    assert branch.values[-1] < limit.value - 0.1
    modes = ev.equilibria(system, {"angle": start.inputs[0]}, count=2)
    assert len(modes) == 2


def test_a_crank_in_line_with_its_rod_moves_nothing(robots):
    """Dead centre of a slider-crank, seen from the piston: an input singularity."""
    system = robots.slider_crank()
    for angle, kinds in ((0.0, ("input",)), (0.9, ())):
        state = ev.assemble(system, {"angle": angle})
        found = ev.singularity(system, ev.equilibrium(system, {"angle": angle}, guess=state), "piston")
        assert found.kinds == kinds
        assert found.idle == pytest.approx({"angle": 1.0}) or found.idle == pytest.approx({"angle": -1.0})
    # transmission is the speed of the piston per length of the robot
    reach = np.sqrt(0.5**2 - (0.2 * np.sin(0.9)) ** 2)
    speed = 0.2 * np.sin(0.9) + 0.2**2 * np.sin(0.9) * np.cos(0.9) / reach
    size = core(system).assembly.length
    assert found.transmission == pytest.approx(speed / size, rel=1e-6)


def test_a_locked_motor_holds_what_a_torque_does_not(robots):
    system = robots.rfrfr()
    found = ev.equilibrium(system, {"drive1": -0.5, "drive4": 0.5})
    held, free = (ev.singularity(system, found, "rod1", locked=locked).stiffness for locked in (True, False))
    assert held > 1.005 * free  # softest is a mode of the rods, which the motors hardly see


def test_the_platform_is_asked_for_where_it_is_not_clear(robots):
    system = robots.rfrfr()
    with pytest.raises(ev.BadInput, match=r"part=.*'rod1', 'rod2'"):
        ev.singularity(system, ev.equilibrium(system))


# Assembly modes -----------------------------------------------------------------------------------------------------


def test_a_four_bar_is_open_or_crossed(robots):
    system = robots.four_bar(imposed=True)
    modes = ev.equilibria(system)
    assert len(modes) == 2
    # mirror images about the line from the crank's end to the ground pin
    crank = np.array([0.2 * np.cos(1.0), 0.2 * np.sin(1.0)])
    ends = [(mode.pose("rocker") @ [0.2, 0.0, 0.0, 1.0])[:2] for mode in modes]
    line = np.array([0.5, 0.0]) - crank
    np.testing.assert_allclose((ends[0] - ends[1]) @ line, 0.0, atol=1e-9)
    for end in ends:
        assert np.linalg.norm(end - crank) == pytest.approx(0.5, abs=1e-9)


def test_two_flat_rods_are_bistable(robots):
    system = robots.flat_rfrfr()
    modes = ev.equilibria(system, {"q1": 0.05, "q2": -0.05})
    stable = [mode for mode in modes if mode.stable]
    assert sorted(np.sign(mode.pose("platform")[1, 3]) for mode in stable) == [-1.0, 1.0]
    assert [mode.stable for mode in modes] == sorted((mode.stable for mode in modes), reverse=True)
    # between two stable shapes there is an unstable one
    assert len(modes) > len(stable)
    only = ev.equilibria(system, {"q1": 0.05, "q2": -0.05}, unstable=False)
    assert len(only) == len(stable)


def test_the_search_repeats_itself(robots):
    system = robots.four_bar(gravity=True)
    first, again = (ev.equilibria(system, starts=8, seed=3) for _ in range(2))
    assert [list(mode.state.q) for mode in first] == [list(mode.state.q) for mode in again]
    assert len(ev.equilibria(system, count=1)) == 1


def test_what_cannot_be_assembled_has_no_modes(robots):
    with pytest.raises(ev.NotConverged, match=r"no equilibrium found from 5 starts; the closures stay open by"):
        ev.equilibria(robots.four_bar(lengths=(0.2, 0.5, 0.4, 1.5), gravity=True), starts=5)
    with pytest.raises(ev.BadInput, match="count = 0"):
        ev.equilibria(robots.four_bar(), count=0)
