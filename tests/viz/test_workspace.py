"""Pictures of workspace maps: what is reached is filled, what is unstable is told apart."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import elver as ev
from elver.viz.workspace import _levels, _triangles


@pytest.fixture(scope="module")
def mapped():
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    rods = [ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), name=f"rod{k}") for k in (1, 2)]
    left = ev.Revolute(("world", (-0.2, 0, 0)), (rods[0], "base"), name="left", start=1.5)
    right = ev.Revolute(("world", (0.2, 0, 0)), (rods[1], "base"), name="right", start=1.6)
    hinge = ev.Revolute((rods[0], "tip"), (rods[1], "tip"), name="hinge")
    system = ev.System(ev.Mechanism([left, right, hinge]), [ev.Motor(left, name="a"), ev.Motor(right, name="b")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)  # a planar loop says twice that it is flat
        start = ev.equilibrium(system, {"a": -0.5, "b": 0.5})
    places = ev.workspace(system, ("x", "y"), ((-0.4, 0.4), (0.3, 1.0)), part="rod1", guess=start, resolution=(9, 8))
    inputs = ev.workspace(system, ("a", "b"), ((-0.6, -0.3), (0.3, 0.6)), part="rod1", guess=start, resolution=5)
    return system, places, inputs


def test_a_map_is_drawn_with_the_robot_on_it(mapped, tmp_path):
    system, places, _ = mapped
    figure = ev.draw_workspace(places, system=system, shapes=[(0.0, 0.8), (0.2, 0.4)])
    axes = figure.axes[0]
    assert axes.get_xlabel() == "x [m]"
    assert "rod1" in axes.get_title(loc="left")
    # two rods and a hinge at two places, and two feet
    assert len(axes.lines) == 2 * 3 + 2
    dashed = [line.get_linestyle() != "-" for line in axes.lines if line.get_marker() == "None"]
    assert dashed == [False, False, True, True]  # unstable shapes are dashed
    figure.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    plt.close(figure)


def test_the_triangles_cover_what_is_reached(mapped):
    _, places, _ = mapped
    mesh, eigenvalue, stiffness = _triangles(places, positions=False)
    count = int(places["reached"].sum()) + places.sizes["edge"] + places.sizes["snap"]
    assert eigenvalue.shape == stiffness.shape == mesh.x.shape == (count,)
    cell = np.prod([np.ptp(places[name].values) / (places.sizes[name] - 1) for name in ("wanted_x", "wanted_y")])
    kept = mesh.triangles[~mesh.mask] if mesh.mask is not None else mesh.triangles
    x, y = mesh.x[kept], mesh.y[kept]
    area = 0.5 * np.abs((x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])).sum()
    reached = places["reached"].values
    whole = reached[1:, 1:] & reached[:-1, 1:] & reached[1:, :-1] & reached[:-1, :-1]
    touched = reached[1:, 1:] | reached[:-1, 1:] | reached[1:, :-1] | reached[:-1, :-1]
    assert whole.sum() * cell <= area <= touched.sum() * cell


def test_a_map_over_inputs_has_two_planes(mapped):
    system, _, inputs = mapped
    figure = ev.draw_workspace(inputs, bar=False)
    assert figure.axes[0].get_xlabel() == "a [N m]"
    plt.close(figure)
    figure = ev.draw_workspace(inputs, system=system, shapes=[(0.0, 0.85)], positions=True)
    assert figure.axes[0].get_ylabel() == "y [m]"
    plt.close(figure)


def test_levels_are_round_numbers():
    np.testing.assert_array_equal(_levels(np.geomspace(0.09, 6.0, 50)), [0.0, 0.1, 0.2, 0.5, 1.0, 2.0])
    np.testing.assert_array_equal(_levels(np.array([-1.0])), [0.0, 1.0])


def test_what_is_refused(mapped):
    system, places, inputs = mapped
    with pytest.raises(ev.BadInput, match="shapes need the robot"):
        ev.draw_workspace(places, shapes=[(0, 0.8)])
    with pytest.raises(ev.BadInput, match="among positions"):
        ev.draw_workspace(inputs, system=system, shapes=[(0, 0.8)])
    empty = places.copy(deep=True)
    empty["reached"][:] = False
    with pytest.raises(ev.BadInput, match="nothing to draw"):
        ev.draw_workspace(empty)
    plt.close("all")
