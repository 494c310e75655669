"""States from measured shapes: what was measured comes back, noise is not fitted, a bad fit is told."""

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3

MATERIAL = ev.Material(1e6, poisson=0.45, density=1070.0)


def rod(basis=None, **more):
    return ev.Rod(0.4, ev.Circle(8e-3), MATERIAL, basis or ev.Legendre.kirchhoff(4), **{"name": "arm", **more})


def clamped(arm, pose=None):
    return ev.System(ev.Mechanism.clamped(arm, pose))


def bent(system, seed=0, size=3.0):
    """A state with large curvature in all free strains."""
    q = np.random.default_rng(seed).normal(size=system.n) * np.where(
        np.array(system.coordinate_units) == "1/m", size, 0.02
    )
    return system.rest().with_(q=q / (1.0 + np.array([int(name[-2]) for name in system.coordinate_names])) ** 2)


def measured(state, system, s):
    d = ev.sample(state, at=s, system=system)
    return (
        d["position"].values,
        so3.from_quaternion(d["orientation"].values),
        np.concatenate([d["curvature"], d["stretch"]], 1),
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("basis", [ev.Legendre.kirchhoff(4), ev.Legendre.reissner(3)])
def test_poses_and_strains_come_back(basis, seed):
    """Coordinates of a shape that the rod can take are found from its poses, and from its strains, to rounding."""
    system = clamped(rod(basis), se3.exp([0.3, -0.5, 0.2, 0.1, 0.2, 0.3]))
    state, s = bent(system, seed), np.linspace(0.0, 0.4, 12)
    p, R, xi = measured(state, system, s)
    by_poses = ev.state_from(system, poses=(s, se3.pose(R, p)))
    by_strains = ev.state_from(system, strains=(s, xi))
    np.testing.assert_allclose(by_strains.q, state.q, atol=1e-8)
    np.testing.assert_allclose(by_poses.q, state.q, atol=1e-6)


def test_a_line_of_points_without_torsion():
    """A strongly bent rod from its centre line alone: bending comes back, torsion stays zero."""
    system = clamped(rod(ev.Legendre(bending=4, torsion=2)))
    state = bent(system, 1, size=8.0)
    q = state.q.copy()
    q[:2] = 0.0
    state, s = state.with_(q=q), np.linspace(0.0, 0.4, 15)
    p, _, _ = measured(state, system, s)
    found = ev.state_from(system, centre_line=(s, p))
    np.testing.assert_allclose(measured(found, system, s)[0], p, atol=1e-8)
    np.testing.assert_allclose(found.q, q, atol=1e-3)


def test_a_straight_line_leaves_the_rest_torsion():
    """Points of a straight rod say nothing about roll: torsion is that of rest."""
    system = clamped(rod(ev.Legendre(bending=3, torsion=3), rest=(2.0, 0.0, 0.0)))
    s = np.linspace(0.0, 0.4, 9)
    found = ev.state_from(system, centre_line=np.stack([s, 0 * s, 0 * s], axis=1))
    np.testing.assert_allclose(found.q, 0.0, atol=1e-9)


def test_noise_is_not_fitted_by_torsion():
    """1 mm of noise on a nearly straight rod of 0.4 m: the line is met within the noise, strains stay small."""
    system = clamped(rod(ev.Legendre(bending=4, torsion=4)))
    s = np.linspace(0.02, 0.4, 20)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(20, 3))
    found = ev.state_from(system, centre_line=(s, np.stack([s, 0.1 * s**2, 0 * s], axis=1) + noise))
    d = ev.sample(found, at=s, system=system)
    truth = np.stack([s, 0.1 * s**2, 0 * s], axis=1)
    assert np.sqrt(np.mean((d["position"].values - truth) ** 2)) < 1e-3
    assert np.max(np.abs(d["curvature"].values[:, 0])) < 0.5


def test_a_free_base_is_fitted():
    """Base pose and shape of a floating rod from poses; from points, up to its roll."""
    arm = rod(ev.Legendre(bending=3))
    system = ev.System(ev.Mechanism.free(arm))
    state = bent(system, 2).with_(g=se3.exp([1.0, -2.0, 0.5, 0.3, 0.2, 0.1]))
    s = np.linspace(0.0, 0.4, 9)
    p, R, _ = measured(state, system, s)
    found = ev.state_from(system, poses=(s, se3.pose(R, p)))
    np.testing.assert_allclose(found.g, state.g, atol=1e-8)
    np.testing.assert_allclose(found.q, state.q, atol=1e-6)
    line = ev.state_from(system, centre_line=(s, p))
    np.testing.assert_allclose(measured(line, system, s)[0], p, atol=1e-7)


def test_joints_and_bodies_are_fitted():
    """A rod on a hinge with a hand: the pose of the hand and some points find hinge and shape."""
    arm, hand = rod(ev.Legendre(bending=2)), ev.RigidBody(0.1, (1e-5, 1e-5, 1e-5), name="hand")
    hinge = ev.Revolute("world", (arm, "base"), name="hinge")
    system = ev.System(ev.Mechanism([hinge, ev.Fixed((arm, "tip"), hand)]))
    state = system.rest().with_(q=np.array([0.7, 1.0, 0.5, -2.0, 0.3]))
    s = np.array([0.1, 0.2, 0.3])
    p = ev.sample(state, arm, at=s, system=system)["position"].values
    found = ev.state_from(system, centre_line={"arm": (s, p)}, poses={hand: ev.poses(system, state, hand)})
    np.testing.assert_allclose(found.q, state.q, atol=1e-6)


def test_a_shape_that_the_rod_cannot_take_is_told():
    """A planar rod asked to leave its plane, and a line twice as long as the rod."""
    planar = clamped(rod(ev.Legendre.planar(3)))
    s = np.linspace(0.0, 0.4, 9)
    out = np.stack([s, 0 * s, s**2], axis=1)
    with pytest.warns(ev.ElverWarning, match=r"off by .* m in the mean and .* m at s = 0\.4 m on 'arm'"):
        ev.state_from(planar, centre_line=(s, out))
    with pytest.warns(ev.ElverWarning, match="check the units"):
        ev.state_from(clamped(rod()), centre_line=np.stack([2.0 * s, 0 * s, 0 * s], axis=1))


def test_a_run_begins_from_a_measured_shape():
    system = clamped(rod())
    s = np.linspace(0.0, 0.4, 9)
    start = ev.state_from(
        system, centre_line=(s, np.stack([np.sin(2 * s) / 2, 0 * s, (1 - np.cos(2 * s)) / 2], axis=1))
    )
    np.testing.assert_allclose(
        ev.poses(system, start)[-1][:3, 3], [np.sin(0.8) / 2, 0, (1 - np.cos(0.8)) / 2], atol=1e-6
    )
    run = ev.simulate(system, start, duration=0.02, step=5e-3)
    assert run.attrs["status"].startswith("complete")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "nothing was measured"),
        ({"centre_line": [[0, 0, 0]]}, "at least two points"),
        ({"centre_line": ([0.0, 0.5], [[0, 0, 0], [0.4, 0, 0]])}, r"within \[0, 0.4\] m"),
        ({"centre_line": ([0.0, 0.1, 0.2], [[0, 0, 0], [0.4, 0, 0]])}, "3 arc lengths for 2 points"),
        ({"poses": np.eye(4)}, r"give a pair \(s, g\)"),
        ({"strains": [[1.0, 2.0, 3.0]]}, r"give a pair \(s, ξ\)"),
        ({"centre_line": {"leg": [[0, 0, 0], [0.4, 0, 0]]}}, "no part is named 'leg'"),
    ],
)
def test_bad_measurements_are_refused(given, message):
    with pytest.raises(ev.BadInput, match=message):
        ev.state_from(clamped(rod()), **given)
