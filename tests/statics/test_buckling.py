"""Euler loads, what comes after them, and snapping: branches, limit points, and the sign of the second variation."""

import numpy as np
import pytest

import elver as ev
from elver import analytic

L, RADIUS = 1.0, 0.01
MATERIAL = ev.Material(young=5e7, poisson=0.5, density=1000.0)
EI = 5e7 * np.pi / 4.0 * RADIUS**4
ENDS = ("clamped-free", "pinned-pinned", "clamped-clamped", "clamped-pinned")


def column(ends, basis=None):
    """A straight column along x with a unit compressive load "P" on its head."""
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, basis or ev.Legendre.planar(12))
    on_axis = ev.Hold("tip", position=(None, 0.0, None), name="head")
    upright = ev.Hold("tip", position=(None, 0.0, None), orientation=np.eye(3), orientation_axes="z", name="head")
    foot = ev.Hold("base", position=(0.0, 0.0, 0.0), orientation=np.eye(3), orientation_axes="xy", name="foot")
    mechanism = {
        "clamped-free": lambda: ev.Mechanism.clamped(rod),
        "clamped-pinned": lambda: ev.Mechanism.clamped(rod, holds=[on_axis]),
        "clamped-clamped": lambda: ev.Mechanism.clamped(rod, holds=[upright]),
        "pinned-pinned": lambda: ev.Mechanism.free(rod, holds=[foot, on_axis]),
    }[ends]()
    return ev.System(mechanism, loads=[ev.PointWrench(rod, force=(-1.0, 0.0, 0.0), name="P")])


@pytest.mark.parametrize("ends", ENDS)
def test_the_euler_load_is_a_branch_point(ends):
    critical = analytic.euler_load(ends, L, EI)
    branch = ev.continuation(column(ends), "P", stop=1.3 * critical)
    (point,) = branch.points
    assert point.kind == "branch"
    assert point.value == pytest.approx(critical, rel=1e-6)  # truncation of twelve functions; asked for: 1e-4
    assert np.all(branch.stable == (branch.values < critical))
    assert np.max(np.abs(branch.tips - [L, 0.0, 0.0])) < 1e-12  # the straight branch, not the other


@pytest.mark.parametrize("ends", ENDS)
def test_the_smallest_eigenvalue_vanishes_at_the_euler_load(ends):
    system, critical = column(ends), analytic.euler_load(ends, L, EI)
    straight = ev.equilibrium(system, {"P": 0.0})

    def smallest(load):
        found = ev.equilibrium(system, {"P": load}, guess=straight, branch="connected")
        return ev.stability(system, found).eigenvalues[0]

    below, above = smallest(0.9999 * critical), smallest(1.0001 * critical)
    assert below > 0.0 > above
    # linear to truncation between the two: the root lies far inside the 1e-4 asked for
    root = critical * (0.9999 + 0.0002 * below / (below - above))
    assert root == pytest.approx(critical, rel=1e-6)


def test_a_column_in_space_buckles_either_way_at_once():
    system = column("clamped-free", ev.Legendre.kirchhoff(8))
    critical = analytic.euler_load("clamped-free", L, EI)
    straight = ev.equilibrium(system, {"P": 0.0})
    straight = ev.equilibrium(system, {"P": 1.02 * critical}, guess=straight, branch="connected")
    beyond = ev.stability(system, straight)
    assert not beyond.stable
    assert np.sum(beyond.eigenvalues < 0.0) == 2
    assert beyond.eigenvalues[0] == pytest.approx(beyond.eigenvalues[1], rel=1e-9)


@pytest.mark.parametrize(
    ("ends", "closed_form"),
    [("clamped-free", analytic.buckled_cantilever), ("pinned-pinned", analytic.buckled_pinned_column)],
)
def test_the_buckled_branch_is_the_elastica(ends, closed_form):
    system, critical = column(ends, ev.Legendre.planar(16)), analytic.euler_load(ends, L, EI)
    point = ev.continuation(system, "P", stop=1.1 * critical).points[0]
    branch = ev.continuation(system, "P", start=point, stop=1.8 * critical, step=0.3)
    assert np.all(branch.stable[1:])
    assert not branch.points
    for load, found in zip(branch.values[1:], branch.equilibria[1:], strict=True):
        if load < 1.001 * critical:  # the closed form loses digits as its modulus goes to 0
            continue
        s = ev.nodes(system)
        exact = closed_form(load, L, EI, s)
        shape = ev.poses(system, found.state)[:, :2, 3]
        side = np.sign(shape[s.size // 2, 1])
        np.testing.assert_allclose(shape[:, 0], exact.x, atol=1e-7)
        np.testing.assert_allclose(side * shape[:, 1], exact.y, atol=1e-7)


def test_the_buckled_clamped_column_is_four_quarter_waves():
    # by symmetry each quarter of the clamped-clamped column is a clamped-free one of a quarter of its length
    system = column("clamped-clamped", ev.Legendre.planar(20))
    critical = analytic.euler_load("clamped-clamped", L, EI)
    point = ev.continuation(system, "P", stop=1.1 * critical).points[0]
    branch = ev.continuation(system, "P", start=point, stop=1.3 * critical, step=0.3)
    exact = analytic.buckled_cantilever(branch.values[-1], L / 4.0, EI).tip
    assert branch.tips[-1][0] == pytest.approx(4.0 * exact[0], abs=1e-6)


def test_equilibrium_prefers_the_buckled_shape_when_shown_it():
    system, critical = column("clamped-free"), analytic.euler_load("clamped-free", L, EI)
    hint = system.rest().with_(q=2.0 * np.eye(12)[0])
    found = ev.equilibrium(system, {"P": 1.5 * critical}, guess=hint)
    assert found.stable
    exact = analytic.buckled_cantilever(1.5 * critical, L, EI).tip
    np.testing.assert_allclose(found.tip[:2, 3], exact[:2], atol=1e-7)


# Snapping -------------------------------------------------------------------------------------------------------


def arch(middle=None, rise=1.0):
    """A shallow arch on two pins, bowed upward, loaded by "P" downward at its middle, or held there at a height."""
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, ev.Legendre.planar(10), rest=(0.0, 0.0, -rise))
    g = np.eye(4)
    g[:2, :2] = [[np.cos(rise / 2), -np.sin(rise / 2)], [np.sin(rise / 2), np.cos(rise / 2)]]
    chord = 2.0 / rise * np.sin(rise / 2)
    holds = [
        ev.Hold("base", position=(0.0, 0.0, 0.0), orientation=np.eye(3), orientation_axes="xy", name="left"),
        ev.Hold("tip", position=(chord, 0.0, None), name="right"),
    ]
    if middle is not None:
        holds.append(ev.Hold(L / 2, position=(None, middle, None), name="middle"))
    load = ev.PointWrench(rod, at=L / 2, force=(0.0, -1.0, 0.0), name="P")
    return ev.System(ev.Mechanism.free(rod, pose=g, holds=holds), loads=[load])


def middle_height(system, found):
    return ev.poses(system, found.state)[np.argmin(np.abs(ev.nodes(system) - L / 2)), 1, 3]


@pytest.fixture(scope="module")
def snapping():
    system = arch()
    return system, ev.continuation(system, "P", stop=100.0 * EI, max_points=90)


def test_continuation_passes_the_limit_point_of_an_arch(snapping):
    system, branch = snapping
    limit = next(point for point in branch.points if point.kind == "limit")
    beyond = np.argmax(branch.values)
    assert limit.value >= branch.values[beyond]
    assert branch.values[-1] < 0.5 * limit.value
    heights = np.array([middle_height(system, found) for found in branch.equilibria])
    assert np.all(np.diff(heights[: beyond + 8]) < 0.0)  # the middle keeps sinking while the load turns back
    assert not np.any(branch.stable[beyond:])


def test_the_limit_load_is_the_largest_reaction_of_an_arch_that_is_pushed(snapping):
    # another method: hold the middle at a height instead of loading it; the largest reaction is the limit load
    system, branch = snapping
    limit = next(point for point in branch.points if point.kind == "limit")
    height = middle_height(system, limit.equilibrium)

    def reaction(y):
        held, near = arch(middle=y), limit.equilibrium.state
        symmetric = held.rest().with_(q=near.q, g=near.g)
        found = ev.equilibrium(held, {"P": 0.0}, guess=symmetric, branch="connected")
        return found.multipliers["middle/force_y"]

    around = [reaction(height + d) for d in (-0.01, -1e-3, 0.0, 1e-3, 0.01)]
    # a multiplier is what the rod exerts on its support: an arch pushed down pushes up
    assert around[2] == pytest.approx(limit.value, rel=1e-8)
    assert around[2] >= max(around) - 1e-9 * limit.value


def test_the_arch_sways_before_it_snaps(snapping):
    # antisymmetric buckling comes before the limit point, and from there the symmetric branch is unstable
    _, branch = snapping
    kinds = [point.kind for point in branch.points]
    assert kinds[:2] == ["branch", "limit"]
    assert branch.points[0].value < branch.points[1].value
    assert not np.any(branch.stable[branch.values.argmax() :])


def test_a_load_beyond_the_limit_point_says_how_far_one_came(snapping):
    system, branch = snapping
    limit = branch.points[1].value
    with pytest.raises(ev.NotConverged, match=r"beyond \d+\.\d % of the inputs.*continuation") as caught:
        ev.equilibrium(system, {"P": 1.5 * limit}, branch="connected")
    last = caught.value.result
    assert 0.9 * limit < last.inputs[0] <= limit  # the last load in balance, and its shape
    assert last.residual < 1e-9
    assert caught.value.history


@pytest.mark.parametrize("turn", [0.05, 0.25, 0.45, 0.5, 1.0])
def test_the_verdict_on_a_couple_fixed_in_space_is_that_of_the_vibrations(turn: float) -> None:
    """Such a couple has no potential in space: `stable` must agree with whether any natural vibration grows."""
    material = ev.Material(young=5e7, poisson=0.5, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.01), material, ev.Legendre.kirchhoff(6))
    EI = rod.stiffness([0.0])[0, 2]
    couple = ev.PointWrench(rod, moment=(0.0, 0.0, 2.0 * np.pi * EI * turn))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[couple])
    bent = ev.equilibrium(system, branch="connected")
    grows = ev.modes(system, bent.state, count=rod.n).damping.min() < -1e-5
    assert bent.stable == ev.stability(system, bent).stable == (not grows)
