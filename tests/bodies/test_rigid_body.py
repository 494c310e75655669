"""Rigid bodies: inertia of solids, transport to the frame, and refusal of what is no body."""

import numpy as np
import pytest

from elver.bodies import Box, Cylinder, EllipticCylinder, RigidBody, Sphere
from elver.errors import BadInput
from elver.lie import se3, so3

RNG = np.random.default_rng(3)


def cloud(inside, half, count=400_000):
    """Points spread evenly in a solid, by rejection from its bounding box."""
    points = RNG.uniform(-1.0, 1.0, (count, 3)) * half
    return points[inside(points)]


@pytest.mark.parametrize(
    ("body", "inside", "half"),
    [
        (RigidBody.box((0.1, 0.2, 0.3), mass=2.0), lambda p: p[:, 0] < 1.0, (0.05, 0.1, 0.15)),
        (
            RigidBody.cylinder(0.1, 0.4, axis="y", mass=2.0),
            lambda p: p[:, 0] ** 2 + p[:, 2] ** 2 < 0.01,
            (0.1, 0.2, 0.1),
        ),
        (
            RigidBody.elliptic_cylinder((0.1, 0.3), 0.4, axis="x", mass=2.0),
            lambda p: (p[:, 1] / 0.1) ** 2 + (p[:, 2] / 0.3) ** 2 < 1.0,
            (0.2, 0.1, 0.3),
        ),
        (
            RigidBody.elliptic_cylinder((0.1, 0.3), 0.4, axis="y", mass=2.0),
            lambda p: (p[:, 2] / 0.1) ** 2 + (p[:, 0] / 0.3) ** 2 < 1.0,
            (0.3, 0.2, 0.1),
        ),
        (
            RigidBody.elliptic_cylinder((0.1, 0.3), 0.4, axis="z", mass=2.0),
            lambda p: (p[:, 0] / 0.1) ** 2 + (p[:, 1] / 0.3) ** 2 < 1.0,
            (0.1, 0.3, 0.2),
        ),
        (RigidBody.sphere(0.2, mass=2.0), lambda p: (p**2).sum(axis=1) < 0.04, (0.2, 0.2, 0.2)),
    ],
)
def test_inertia_of_solids_is_that_of_their_points(body, inside, half):
    points = cloud(inside, np.array(half))
    sampled = body.mass * np.mean([-so3.hat(p) @ so3.hat(p) for p in points[:20_000]], axis=0)
    # Sampling error of 20 000 points: about 1 %.
    assert np.array(body.inertia) == pytest.approx(sampled, abs=0.03 * sampled.max())


@pytest.mark.parametrize(
    ("make", "volume"),
    [
        (lambda **m: RigidBody.box((0.1, 0.2, 0.3), **m), 6e-3),
        (lambda **m: RigidBody.cylinder(0.1, 0.4, **m), 4e-3 * np.pi),
        (lambda **m: RigidBody.elliptic_cylinder((0.1, 0.2), 0.4, **m), 8e-3 * np.pi),
        (lambda **m: RigidBody.sphere(0.3, **m), 0.036 * np.pi),
    ],
)
def test_density_gives_the_mass(make, volume):
    heavy = make(density=1000.0)
    assert heavy.mass == pytest.approx(1000.0 * volume)
    given = make(mass=1000.0 * volume)
    assert np.array(heavy.inertia) == pytest.approx(np.array(given.inertia))


def test_spatial_inertia_is_the_transported_one():
    """M at the frame equals Ad⁻ᵀ M_c Ad⁻¹ with the mass centre at c, in the axes of the body."""
    c = np.array([0.3, -0.2, 0.5])
    I_c = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    body = RigidBody(2.0, I_c, c)
    M_c = np.zeros((6, 6))
    M_c[:3, :3], M_c[3:, 3:] = I_c, 2.0 * np.eye(3)
    to_centre = se3.Ad(se3.inverse(se3.pose(np.eye(3), c)))
    moved = to_centre.T @ M_c @ to_centre
    assert moved == pytest.approx(body.M, abs=1e-15)
    assert np.array_equal(body.M, body.M.T)


def test_the_mass_moves_the_centre_with_it():
    eta = np.array([0.1, -0.4, 0.3, 1.0, 2.0, 3.0])
    point = RigidBody.point(1.5, centre=(0.1, 0.2, 0.3))
    v_centre = eta[3:] + np.cross(eta[:3], point.centre)
    assert eta @ point.M @ eta == pytest.approx(1.5 * v_centre @ v_centre)


def test_principal_values_and_matrix_agree_and_shapes_are_kept():
    assert RigidBody(1.0, (1, 2, 2.5)).inertia == RigidBody(1.0, np.diag([1, 2, 2.5])).inertia
    assert RigidBody.box((1, 2, 3), mass=1).shape == Box((1.0, 2.0, 3.0))
    assert RigidBody.cylinder(1, 2, mass=1).shape == Cylinder(1.0, 2.0, "x")
    assert RigidBody.elliptic_cylinder((1, 2), 3, mass=1).shape == EllipticCylinder((1.0, 2.0), 3.0, "x")
    assert RigidBody.sphere(1, mass=1).shape == Sphere(1.0)
    assert not RigidBody.massless().M.any()


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_equal_half_axes_make_a_round_cylinder(axis):
    flat, round_one = EllipticCylinder((0.2, 0.2), 0.5, axis), Cylinder(0.2, 0.5, axis)
    assert flat.volume == pytest.approx(round_one.volume, rel=1e-15)
    assert flat.gyration == pytest.approx(round_one.gyration, rel=1e-15)


def test_links_of_the_eel_have_the_inertia_of_its_source():
    """Section 13 cm x 18 cm, ρ = 1000 kg/m³ (Khalil 2007): m (a² + b²)/4, m (b²/4 + L²/12), m (a²/4 + L²/12)."""
    a, b, L = 0.065, 0.09, 0.14
    head = RigidBody.elliptic_cylinder((a, b), 0.4, density=1000.0)
    link = RigidBody.elliptic_cylinder((a, b), L, density=1000.0)
    assert (head.mass, link.mass) == pytest.approx((7.351, 2.573), abs=5e-4)
    m = link.mass
    wanted = np.diag([m * (a**2 + b**2) / 4, m * (b**2 / 4 + L**2 / 12), m * (a**2 / 4 + L**2 / 12)])
    assert np.array(link.inertia) == pytest.approx(wanted, rel=1e-14)


def test_bodies_are_compared_by_identity():
    assert RigidBody.point(1.0) != RigidBody.point(1.0)


def test_a_flat_plate_is_allowed():
    """The triangle inequality holds with equality; rounding must not refuse it."""
    assert RigidBody(0.3, (0.1 / 3, 0.2 / 3, 0.1)).mass == 0.3


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RigidBody(-1.0), r"mass of 'body' = -1 kg: must not be negative"),
        (lambda: RigidBody(1.0, name="a/b"), r"body name = 'a/b': give a non-empty text without \"/\""),
        (lambda: RigidBody(1.0, name="world"), r"body name = 'world': .* other than \"world\""),
        (lambda: RigidBody(1.0, (1, 1)), r"inertia of 'body' has shape \(2,\): expected \(3, 3\) in kg m²"),
        (
            lambda: RigidBody(1.0, [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], name="link"),
            r"inertia of 'link': differs from its transpose by 0.5 kg m²; give a symmetric matrix",
        ),
        (lambda: RigidBody(1.0, (-1, 2, 2)), r"principal value -1 kg m² must not be negative"),
        (
            lambda: RigidBody(1.0, (1, 2, 4)),
            r"principal values 1, 2, 4 kg m² belong to no body, since the largest exceeds the sum of the others",
        ),
        (lambda: RigidBody(0.0, (1, 1, 1)), r"'body' has inertia \(up to 1 kg m²\) but no mass: give mass > 0 kg"),
        (lambda: RigidBody(1.0, centre=(0, 0)), r"centre of 'body' has shape \(2,\): expected \(3,\) in m"),
        (lambda: RigidBody(1.0, shape="box"), r"shape of 'body' = 'box': give Box\(size\)"),
        (lambda: RigidBody.box((1, 1, 1)), r"'body': give either mass \(kg\) or density \(kg/m³\)"),
        (lambda: RigidBody.sphere(1, mass=1, density=1), r"give either mass \(kg\) or density"),
        (lambda: RigidBody.sphere(1, density=-1), r"density of 'body' = -1 kg/m³: must be greater than zero"),
        (lambda: RigidBody.box((1, 1), mass=1), r"size of the box = \(1, 1\): give the three sides \(x, y, z\) in m"),
        (lambda: RigidBody.box((1, 0, 1), mass=1), r"size of the box along y = 0 m: must be greater than zero"),
        (lambda: RigidBody.cylinder(1, 1, axis="w", mass=1), r"axis of the cylinder = 'w': choose"),
        (
            lambda: RigidBody.elliptic_cylinder((1, 2), 1, axis="w", mass=1),
            r"axis of the elliptic cylinder = 'w': choose",
        ),
        (
            lambda: RigidBody.elliptic_cylinder(1, 1, axis="y", mass=1),
            r"half_axes of the elliptic cylinder = 1: give the two along z and x in m",
        ),
        (
            lambda: RigidBody.elliptic_cylinder((1, -2), 1, axis="y", mass=1),
            r"half axis of the elliptic cylinder along x = -2 m: must be greater than zero",
        ),
        (
            lambda: RigidBody.elliptic_cylinder((1, 2), 0, mass=1),
            r"length of the elliptic cylinder = 0 m: must be greater than zero",
        ),
    ],
)
def test_what_is_no_body_is_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
