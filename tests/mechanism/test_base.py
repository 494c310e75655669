"""Bases and motions: poses are checked, missing derivatives are found."""

import numpy as np
import pytest

from elver.errors import BadInput
from elver.mechanism import Clamped, Driven, Free, Motion

W = 3.0


def turning(t):
    """Turn about z at constant rate on a circle of radius one, rising as t squared."""
    c, s = np.cos(W * t), np.sin(W * t)
    return np.array([[c, -s, 0, c], [s, c, 0, s], [0, 0, 1, t * t], [0, 0, 0, 1]])


def twist(t):
    return np.array([0, 0, W, 0, W, 2 * t])


def acceleration(t):
    return np.array([0, 0, 0, 0, 0, 2.0])


def tumbling(t):
    """Two rotations about moving axes: the twist's components vary."""
    a, b = np.sin(2 * t), t**2
    X = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    Z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = X @ Z, (np.cos(t), t, 0.3 * t**3)
    return g


def tumbling_twist(t):
    """Ω = Zᵀ (ȧ e_x) + ḃ e_z, V = Rᵀ ṗ."""
    g, b = tumbling(t), t**2
    omega = 2 * np.cos(2 * t) * np.array([np.cos(b), -np.sin(b), 0]) + np.array([0, 0, 2 * t])
    return np.concatenate([omega, g[:3, :3].T @ np.array([-np.sin(t), 1.0, 0.9 * t**2])])


@pytest.mark.parametrize("given", [{}, {"twist": twist}, {"twist": twist, "acceleration": acceleration}])
@pytest.mark.parametrize("t", [0.0, 0.7])
def test_motion_gives_body_twist_and_its_rate(given, t):
    g, eta, eta_dot = Motion(turning, **given).at(t)
    assert g == pytest.approx(turning(t))
    # Rounding of differences with a step of 1e-3 s.
    assert eta == pytest.approx(twist(t), abs=1e-11)
    assert eta_dot == pytest.approx(acceleration(t), abs=5e-9)


def test_differences_agree_with_a_given_twist_for_a_tumbling_frame():
    by_pose, by_twist = Motion(tumbling).at(0.4), Motion(tumbling, tumbling_twist).at(0.4)
    assert by_pose[1] == pytest.approx(by_twist[1], abs=1e-11)
    assert by_pose[2] == pytest.approx(by_twist[2], abs=5e-9)


def test_poses_are_the_identity_by_default_and_kept_as_numbers():
    assert np.array_equal(Clamped().g, np.eye(4))
    g = turning(0.3)
    assert np.array_equal(Free(g).g, g)
    assert Clamped(g) == Clamped(g)
    assert isinstance(Clamped(g).pose[0][0], float)


STRETCHED = np.diag([1.0, 1.0, 1.01, 1.0])
MIRROR = np.diag([1.0, 1.0, -1.0, 1.0])
AFFINE = np.eye(4)
AFFINE[3, 0] = 0.5


@pytest.mark.parametrize("kind", [Clamped, Free])
@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (STRETCHED, r"rotation: R\^T R differs from the identity by 2.0e-02; give a rotation matrix"),
        (MIRROR, r"rotation: det R = -1 is a reflection; give a right-handed frame"),
        (AFFINE, r"the last row is \[0.5 0.  0.  1. \]; a pose ends with the row \(0, 0, 0, 1\)"),
        (np.eye(3), r"has shape \(3, 3\): expected \(4, 4\) in m"),
        (np.full((4, 4), np.nan), r"contains nan"),
    ],
)
def test_bad_poses_are_refused(kind, pose, message):
    with pytest.raises(BadInput, match=message):
        kind(pose)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Motion(np.eye(4)), r"(?s)motion: pose = .*; give a callable of the time in s"),
        (lambda: Motion(turning, twist=(0,) * 6), r"motion: twist = .*; give a callable of the time in s"),
        (lambda: Motion(lambda t: np.eye(3)), r"pose of the motion at t = 0 s has shape \(3, 3\)"),
        (lambda: Motion(turning, lambda t: np.zeros(3)), r"twist of the motion at t = 0 s has shape \(3,\)"),
        (
            lambda: Motion(turning, twist, lambda t: np.full(6, np.nan)),
            r"acceleration of the motion at t = 0 s contains nan",
        ),
        (lambda: Motion(turning, step=0.0), r"step of the differences = 0 s: must be greater than zero"),
        (lambda: Driven(turning), r"motion = .*: give a Motion\(pose=callable of t in s\)"),
    ],
)
def test_bad_motions_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
