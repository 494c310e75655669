"""Maps of what a robot reaches, and where it is stable there."""

import numpy as np
import pytest

import elver as ev
from elver.io import load, save


@pytest.fixture(scope="module")
def robot(robots):
    """Two rods bowed inward by imposed angles."""
    system = robots.rfrfr(drive=ev.Imposed)
    return system, ev.equilibrium(system, {"drive1": 0.2, "drive4": np.pi - 0.2})


@pytest.fixture(scope="module")
def places(robot):
    system, start = robot
    return ev.workspace(system, ("x", "y"), ((-0.3, 0.3), (0.4, 1.1)), part="rod1", guess=start, resolution=(7, 8))


@pytest.fixture(scope="module")
def angles(robot):
    system, start = robot
    ranges = ((0.0, 0.6), (np.pi - 0.6, np.pi))
    return ev.workspace(system, ("drive1", "drive4"), ranges, part="rod1", guess=start, resolution=7)


def test_a_map_of_places_holds_its_places(robot, places):
    system, start = robot
    reached = places["reached"].values
    assert 10 < reached.sum() < reached.size
    x, y = np.meshgrid(places["wanted_x"], places["wanted_y"], indexing="ij")
    np.testing.assert_allclose(places["position"].values[reached][:, 0], x[reached], atol=1e-9)
    np.testing.assert_allclose(places["position"].values[reached][:, 1], y[reached], atol=1e-9)
    # no rod reaches further than it is long
    for foot in (-0.2, 0.2):
        assert np.all(np.hypot(x[reached] - foot, y[reached]) < 1.0)
    # each cell is an equilibrium under its inputs
    cell = tuple(np.argwhere(reached)[3])
    state = start.state.with_(q=places["q"].values[cell], multipliers=places["multipliers"].values[cell])
    again = ev.equilibrium(system, dict(zip(("drive1", "drive4"), places["inputs"].values[cell])), guess=state)
    np.testing.assert_allclose(again.state.q, places["q"].values[cell], atol=1e-8)
    assert again.stable == places["stable"].values[cell]
    least = ev.stability(system, again, count=1).eigenvalues[0]
    assert places["eigenvalue"].values[cell] == pytest.approx(least, rel=1e-6)


def test_a_map_of_a_symmetric_robot_is_symmetric(places):
    for name in ("eigenvalue", "stiffness", "condition"):
        values = places[name].values
        np.testing.assert_allclose(values, values[::-1], rtol=1e-5)


def test_the_edge_is_where_the_rods_end(places):
    """Below the singular top, a branch of one bow ends where a rod is straight."""
    place = places["edge/place"].values
    reach = np.max([np.hypot(place[:, 0] - foot, place[:, 1]) for foot in (-0.2, 0.2)], axis=0)
    assert np.all(reach < 1.0)
    beyond = place[:, 1] < 0.75
    assert np.all(reach[beyond] > 0.97)


def test_a_map_of_inputs_agrees_with_equilibria(robot, angles):
    system, start = robot
    assert angles["reached"].values.all()
    assert angles["stable"].values.all()
    found = ev.equilibrium(system, {"drive1": 0.6, "drive4": np.pi - 0.6}, guess=start)
    near = angles.sel(drive1=0.6, drive4=np.pi - 0.6, method="nearest")
    np.testing.assert_allclose(near["position"], found.pose("rod1")[:3, 3], atol=1e-8)
    assert angles["drive1"].attrs["units"] == "rad"


def test_the_stiffness_is_that_against_a_force(robots, robot, angles):
    system, start = robot
    rod = system.mechanism.part("rod1")
    pushes = [ev.PointWrench(rod, force=f, name=n) for n, f in (("fx", (1.0, 0, 0)), ("fy", (0, 1.0, 0)))]
    pushed = robots.planar(system.mechanism.joints, system.actuators, pushes)
    here = {"drive1": angles["drive1"].values[2], "drive4": angles["drive4"].values[3], "fx": 0.0, "fy": 0.0}
    step = 1e-4
    compliance = np.zeros((2, 2))
    for k, name in enumerate(("fx", "fy")):
        ends = [
            ev.equilibrium(pushed, here | {name: sign * step}, guess=start.state).pose(rod)[:2, 3] for sign in (1, -1)
        ]
        compliance[:, k] = (ends[0] - ends[1]) / (2 * step)
    least = 1.0 / np.linalg.eigvalsh(compliance).max()
    assert angles["stiffness"].values[2, 3] == pytest.approx(least, rel=1e-4)


def test_torques_hold_only_a_part_of_what_angles_hold(robots):
    """With torques held the robot is stable near the top only: the same places, other equilibria of the inputs."""
    system = robots.rfrfr()
    start = ev.equilibrium(system, {"drive1": -0.5, "drive4": 0.5})
    found = ev.workspace(system, ("x", "y"), ((-0.1, 0.1), (0.3, 0.85)), part="rod1", guess=start, resolution=(3, 12))
    middle = found.isel(wanted_x=1)
    assert middle["reached"].values.all()
    stable = middle["stable"].values
    assert stable[-1]
    assert not stable[0]
    # one boundary, where the least eigenvalue changes sign: a limit point in the torque
    y, least = middle["wanted_y"].values, middle["eigenvalue"].values
    assert np.sum(np.diff(stable.astype(int)) != 0) == 1
    k = int(np.argmax(stable)) - 1
    assert least[k] < 0.0 < least[k + 1]
    snap = found["snap/place"].values[np.abs(found["snap/place"].values[:, 0]) < 1e-9]
    assert snap.shape == (1, 2)
    assert y[k] < snap[0, 1] < y[k + 1]
    branch = ev.continuation(system, {"drive1": 1.0, "drive4": -1.0}, stop=-3.0, start=start, step=0.1, max_points=60)
    limit = branch.points[0]
    assert limit.kind == "limit"
    assert limit.equilibrium.pose("rod1")[1, 3] == pytest.approx(snap[0, 1], abs=1e-4)


def test_progress_is_told_and_ctrl_c_keeps_what_was_computed(robot):
    system, start = robot
    told = []

    def stop_later(done, total):
        told.append((done, total))
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(ev.Interrupted, match=r"after 40 of 144 cells") as caught:
        ev.workspace(
            system, ("drive1", "drive4"), ((0.0, 0.6), (2.5, 3.1)), part="rod1", guess=start, resolution=12,
            progress=stop_later,
        )  # fmt: skip
    kept = caught.value.result
    assert int(kept["reached"].sum()) == 40
    assert np.isfinite(kept["eigenvalue"].values[kept["reached"].values]).all()
    assert told == [(20, 144), (40, 144)]


def test_maps_survive_a_file(places, tmp_path):
    again = load(save(places, tmp_path / "map.nc"))
    np.testing.assert_array_equal(again["reached"].values.astype(bool), places["reached"].values)
    np.testing.assert_array_equal(again["eigenvalue"].values, places["eigenvalue"].values)


def test_a_plane_of_a_spatial_robot(robots):
    """Six limbs, the platform level and at one height: positions in a plane by six inputs."""
    system = robots.six_limbs()
    home = ev.equilibrium(system, {f"drive{k}": 0.6 for k in range(6)})
    g = home.pose("platform")
    found = ev.workspace(
        system, ("x", "y"), ((-0.02, 0.02), (-0.02, 0.02)), part="platform", resolution=3, guess=home,
        position=(None, None, g[2, 3]), orientation=g[:3, :3],
    )  # fmt: skip
    assert found["reached"].values.all()
    np.testing.assert_allclose(found["position"].values[..., 2], g[2, 3], atol=1e-9)
    assert found["stable"].values[1, 1]


def test_what_is_refused(robot):
    system, start = robot
    good = {"ranges": ((0.0, 1.0), (2.0, 3.0)), "part": "rod1", "guess": start}
    with pytest.raises(ev.BadInput, match="over has 1 entries"):
        ev.workspace(system, ("drive1",), **good)
    with pytest.raises(ev.BadInput, match="low to a high"):
        ev.workspace(system, ("drive1", "drive4"), **good | {"ranges": ((1.0, 0.0), (2.0, 3.0))})
    with pytest.raises(ev.BadInput, match="resolution = 1"):
        ev.workspace(system, ("drive1", "drive4"), **good, resolution=1)
    with pytest.raises(ev.BadInput, match="does not move along both axes"):
        ev.workspace(system, ("x", "z"), **good)
    with pytest.raises(ev.BadInput, match=r"2 components of the pose are wanted of 1 inputs"):
        ev.workspace(system, ("x", "y"), **good, by=["drive1"])
    with pytest.raises(ev.BadInput, match=r"no cell of the map can be reached.*ranges that contain it"):
        ev.workspace(system, ("x", "y"), **good | {"ranges": ((2.0, 3.0), (2.0, 3.0))}, resolution=3)
