"""Joints: their motion keeps what their closure holds, and nothing else."""

import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.lie import se3, so3
from elver.mechanism import (
    Cylindrical,
    Fixed,
    Floating,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from elver.rods import Circle, Legendre, Material, Rod

KINDS = [Fixed, Revolute, Prismatic, Cylindrical, Universal, Spherical, Planar, Floating]
AXES = ["x", "y", "z", (1.0, 2.0, -3.0), (0.0, 0.0, -1.0), (-2.0, 0.0, 0.0)]
BODY = RigidBody.sphere(0.1, mass=1.0, name="platform")
ROD = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.kirchhoff(3), name="arm")


def residual(joint, g_a_b):
    """The closure rows as the module defines them."""
    A = joint.axes
    R, p = A.T @ g_a_b[:3, :3] @ A, A.T @ g_a_b[:3, 3]
    theta = so3.log(R)
    value = {"log": lambda i: theta[i], "position": lambda i: p[i], "dot": lambda i, j: R[i, j]}
    return np.array([value[row[0]](*row[1:]) for row in joint.closure_rows])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", AXES)
def test_motion_keeps_the_closure(kind, axis):
    joint = kind("world", BODY, axis=axis)
    q = np.random.default_rng(1).uniform(-1, 1, joint.n)
    # Rounding.
    assert residual(joint, joint.pose(q)) == pytest.approx(np.zeros(len(joint.closure_rows)), abs=1e-15)
    assert joint.pose(np.zeros(joint.n)) == pytest.approx(np.eye(4), abs=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_freedoms_and_rows_make_six(kind):
    """The rows are independent and their kernel is as large as the motion."""
    joint = kind("world", BODY, axis=(1.0, 2.0, -3.0))
    h = 1e-6
    J = np.array([residual(joint, se3.exp(h * e)) - residual(joint, se3.exp(-h * e)) for e in np.eye(6)]) / (2 * h)
    assert joint.n + len(joint.closure_rows) == 6
    assert J.size == 0 or np.linalg.matrix_rank(J, tol=1e-6) == len(joint.closure_rows)


@pytest.mark.parametrize("axis", AXES)
def test_axes_are_a_rotation_about_the_axis(axis):
    A = Revolute("world", BODY, axis=axis).axes
    gram = A.T @ A
    assert gram == pytest.approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(A) == pytest.approx(1.0)
    along = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.array(axis) / np.linalg.norm(axis)
    assert A[:, 2] == pytest.approx(along, abs=1e-15)


def test_letters_are_cyclic_and_vectors_along_them_the_same():
    assert np.array_equal(Universal("world", BODY, axis="x").axes, np.eye(3)[:, [1, 2, 0]])
    assert np.array_equal(Universal("world", BODY, axis="y").axes, np.eye(3)[:, [2, 0, 1]])
    assert np.array_equal(Universal("world", BODY).axes, np.eye(3))
    assert Universal("world", BODY, axis=(0, 3, 0)).axis == "y"


def test_motion_in_plain_words():
    assert Revolute("world", BODY).pose([0.3])[:3, :3] == pytest.approx(so3.exp([0, 0, 0.3]))
    assert Prismatic("world", BODY, axis="x").pose([0.3])[:3, 3].tolist() == [0.3, 0, 0]
    turned = Universal("world", BODY).pose([0.3, 0.4])[:3, :3]
    assert turned == pytest.approx(so3.exp([0.3, 0, 0]) @ so3.exp([0, 0.4, 0]))
    placed = Floating("world", BODY, start=[1, 2, 3, 0.1, 0.2, 0.3]).pose()
    assert placed == pytest.approx(se3.pose(so3.exp([0.1, 0.2, 0.3]), [1, 2, 3]))
    screw = Cylindrical("world", BODY).pose([0.3, 0.2])
    assert screw == pytest.approx(se3.pose(so3.exp([0, 0, 0.3]), [0, 0, 0.2]))
    slid = Planar("world", BODY).pose([1.0, 2.0, 0.3])
    assert slid == pytest.approx(se3.pose(so3.exp([0, 0, 0.3]), [1, 2, 0]))


@pytest.mark.parametrize(
    ("kind", "names", "units", "rows"),
    [
        (Fixed, "", "", "moment_x moment_y moment_z force_x force_y force_z"),
        (Revolute, "angle", "rad", "moment_y moment_x force_x force_y force_z"),
        (Prismatic, "distance", "m", "moment_x moment_y moment_z force_x force_y"),
        (Cylindrical, "angle distance", "rad m", "moment_y moment_x force_x force_y"),
        (Universal, "angle_x angle_y", "rad rad", "moment_z force_x force_y force_z"),
        (Spherical, "theta_x theta_y theta_z", "rad rad rad", "force_x force_y force_z"),
        (Planar, "x y angle", "m m rad", "moment_y moment_x force_z"),
        (Floating, "x y z theta_x theta_y theta_z", "m m m rad rad rad", ""),
    ],
)
def test_names_and_units(kind, names, units, rows):
    joint = kind("world", BODY)
    assert joint.coordinate_names == tuple(names.split())
    assert joint.coordinate_units == tuple(units.split())
    assert joint.n == len(joint.coordinate_names)
    assert joint.row_names == tuple(rows.split())
    assert joint.row_units == tuple("N m" if "moment" in row else "N" for row in rows.split())


def test_start_is_zero_by_default_and_one_number_may_stand_alone():
    assert Planar("world", BODY).start == (0.0, 0.0, 0.0)
    assert Revolute("world", BODY, start=0.3).start == (0.3,)
    assert Fixed("world", BODY, start=()).start == ()


def test_a_ring_is_a_rod_joined_to_itself_at_two_sections():
    assert Fixed((ROD, "base"), (ROD, "tip")).b.s == 0.4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Joint("world", BODY), r"Joint is what all joints share: use a kind of joint"),
        (lambda: Revolute("world", BODY, axis="w"), r"revolute \(world to platform\): axis = 'w'; choose"),
        (lambda: Revolute("world", BODY, axis=(0, 0, 0)), r"axis = \(0, 0, 0\) has no direction"),
        (lambda: Revolute("world", BODY, axis=(1, 2)), r"axis has shape \(2,\): expected \(3,\)"),
        (lambda: Revolute("world", BODY, "j", start=(1, 2)), r"'j': start = \(1, 2\): give 1 numbers, angle \[rad\]"),
        (lambda: Fixed("world", BODY, start=1), r"start = 1: give 0 numbers"),
        (lambda: Prismatic("world", BODY, start=np.nan), r"start contains nan \(rad or m\)"),
        (
            lambda: Spherical("world", BODY, start=(0, 3, 1)),
            r"start: the rotation vector turns by 3.16228 rad; give the same rotation with at most pi",
        ),
        (lambda: Floating("world", BODY, start=(0, 0, 9, 0, 3.2, 0)), r"the rotation vector turns by 3.2 rad"),
        (lambda: Fixed("world", ("world", (1, 0, 0))), r"fixed \(world to world\): both frames are in the world"),
        (lambda: Revolute(BODY, (BODY, (1, 0, 0))), r"joins platform to itself; give frames of two parts"),
        (lambda: Fixed((ROD, "tip"), (ROD, 0.4)), r"joins arm at tip to itself; give frames of two parts or of two"),
        (lambda: Fixed("world", BODY, name="a/b"), r"joint name = 'a/b': give a non-empty text"),
        (lambda: Fixed("world", ROD), r"frame on the rod 'arm': say which section"),
        (lambda: Fixed("world", (ROD, 0.7)), r"at = 0.7 m lies outside the rod; choose s within \[0, 0.4\] m"),
    ],
)
def test_bad_joints_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
