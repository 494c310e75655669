"""Closed forms of bent rods, each against an independent method: shooting, collocation, quadrature."""

from math import inf

import numpy as np
import pytest
from scipy.integrate import quad, solve_bvp, solve_ivp
from scipy.special import ellipeinc, ellipj, ellipk, ellipkinc

from elver import analytic
from elver.analytic.elliptic import first_kind, jacobi, second_kind
from elver.errors import BadInput, NotConverged
from elver.lie import integration, se3

EI = 0.162577  # N m², steel rod of 1 mm radius (Boyer 2023, test 1)


def check_kinematics(shape, atol=1e-9):
    """Angle and position belong to the curvature: integrated through SE(3), from the first pose."""

    def strain(s):
        xi = np.zeros((len(s), 6))
        xi[:, 2], xi[:, 3] = np.interp(s, shape.s, shape.curvature), 1.0
        return xi

    g = integration.magnus(strain, shape.s, order=4, start=se3.exp([0, 0, shape.angle[0], 0, 0, 0]))
    np.testing.assert_allclose(g[:, 0, 3], shape.x, atol=atol)
    np.testing.assert_allclose(g[:, 1, 3], shape.y, atol=atol)


def elastica_bvp(f_x, f_y, angle_0):
    """Elastica of unit length and stiffness, clamped at angle 0, by collocation (θ, θ′, x, y)."""

    def rate(s, z):
        sine, cosine = np.sin(z[0]), np.cos(z[0])
        return np.stack([z[1], f_x * sine - f_y * cosine, cosine, sine])

    def ends(a, b):
        return np.array([a[0], b[1], a[2], a[3]])

    s = np.linspace(0, 1, 201)
    guess = np.stack([angle_0 * s, np.full_like(s, angle_0), s, 0.2 * s])
    solution = solve_bvp(rate, ends, s, guess, tol=1e-9, max_nodes=100_000)
    assert solution.success
    return solution.sol


def test_cantilever_force_published_tip():
    shape = analytic.cantilever_tip_force(force=10.0, length=1.0, bending_stiffness=1.0)
    np.testing.assert_allclose(shape.tip, [0.44500, 0.81061], atol=5e-6)  # printed digits


@pytest.mark.parametrize("ratio", [1e-9, 1e-3, 0.5, 3.0, 10.0, 40.0, 139.0])
def test_cantilever_force_agrees_with_collocation(ratio):
    length, stiffness = 0.4, 0.7
    force = ratio * stiffness / length**2
    shape = analytic.cantilever_tip_force(force, length, stiffness)
    other = analytic.reissner_cantilever(length, stiffness, tip_force=(0.0, force))
    np.testing.assert_allclose(shape.x, other.x, atol=1e-12)
    np.testing.assert_allclose(shape.y, other.y, atol=1e-12)
    np.testing.assert_allclose(shape.angle, other.angle, atol=1e-10)
    np.testing.assert_allclose(shape.curvature, other.curvature, atol=1e-9)


def test_cantilever_force_agrees_with_solve_bvp():
    shape, sol = analytic.cantilever_tip_force(6.0, 1.0, 1.0), elastica_bvp(0.0, 6.0, 1.0)
    np.testing.assert_allclose(
        np.stack([shape.angle, shape.curvature, shape.x, shape.y]), sol(shape.s), atol=1e-8
    )


def test_cantilever_force_limits():
    small = analytic.cantilever_tip_force(1e-6, 2.0, 5.0)
    assert small.y[-1] == pytest.approx(1e-6 * 2.0**3 / (3 * 5.0), rel=1e-8)  # linear beam
    up, down = analytic.cantilever_tip_force(3.0, 1.0, 1.0), analytic.cantilever_tip_force(-3.0, 1.0, 1.0)
    np.testing.assert_array_equal(up.y, -down.y)
    np.testing.assert_array_equal(up.x, down.x)
    assert analytic.cantilever_tip_force(0.0, 1.0, 1.0).tip == pytest.approx([1.0, 0.0])
    with pytest.raises(BadInput, match="force = 200 N"):
        analytic.cantilever_tip_force(200.0, 1.0, 1.0)
    with pytest.raises(BadInput, match="length = -1 m"):
        analytic.cantilever_tip_force(1.0, -1.0, 1.0)
    with pytest.raises(BadInput, match="arc lengths"):
        analytic.cantilever_tip_force(1.0, 1.0, 1.0, s=[0.0, 1.5])


@pytest.mark.parametrize("turns", [0.0, 0.25, 1.0, -2.0])
def test_tip_moment_gives_an_arc(turns):
    length = 0.4
    shape = analytic.cantilever_tip_moment(2 * np.pi * turns * EI / length, length, EI)
    xi = np.array([0, 0, 2 * np.pi * turns / length, 1, 0, 0])
    np.testing.assert_allclose(
        np.stack([shape.x, shape.y], 1), se3.exp(shape.s[:, None] * xi)[:, :2, 3], atol=1e-15
    )
    if abs(turns) >= 1:
        np.testing.assert_allclose(shape.tip, 0.0, atol=1e-15)  # the circle closes
    other = analytic.reissner_cantilever(length, EI, tip_moment=2 * np.pi * turns * EI / length)
    np.testing.assert_allclose(other.tip, shape.tip, atol=1e-13)


@pytest.mark.parametrize("excess", [1.001, 1.2, 2.0, 6.0])
def test_buckled_cantilever(excess):
    load = excess * analytic.euler_load("clamped-free", 1.0, 1.0)
    shape = analytic.buckled_cantilever(load, 1.0, 1.0, np.linspace(0, 1, 801))
    sol = elastica_bvp(-load, 0.0, shape.angle[-1])
    np.testing.assert_allclose(
        np.stack([shape.angle, shape.curvature, shape.x, shape.y]), sol(shape.s), atol=1e-6
    )
    # Moment balance, exactly: EI θ′ = P (y_tip - y); and the kinematics.
    np.testing.assert_allclose(shape.curvature, load * (shape.y[-1] - shape.y), atol=1e-12)
    check_kinematics(shape, atol=5e-5)


@pytest.mark.parametrize("excess", [1.001, 1.2, 2.0, 6.0])
def test_buckled_pinned_column(excess):
    length, stiffness = 0.8, 2.0
    load = excess * analytic.euler_load("pinned-pinned", length, stiffness)
    shape = analytic.buckled_pinned_column(load, length, stiffness, np.linspace(0, length, 801))
    np.testing.assert_allclose(stiffness * shape.curvature, -load * shape.y, atol=1e-11)  # moment balance
    assert shape.y[[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-14)
    check_kinematics(shape, atol=5e-5)
    # Independent: integrate θ″ = -(P/EI) sin θ from the first end with an adaptive method.
    path = solve_ivp(
        lambda s, z: [z[1], -load / stiffness * np.sin(z[0]), np.cos(z[0]), np.sin(z[0])],
        (0, length),
        [shape.angle[0], 0.0, 0.0, 0.0],
        "DOP853",
        rtol=1e-12,
        atol=1e-13,
    ).y[:, -1]
    np.testing.assert_allclose(path, [shape.angle[-1], 0.0, *shape.tip], atol=1e-8)


def test_buckled_columns_stand_straight_below_their_load():
    for column, ends in (
        (analytic.buckled_cantilever, "clamped-free"),
        (analytic.buckled_pinned_column, "pinned-pinned"),
    ):
        critical = analytic.euler_load(ends, 1.0, 1.0)
        with pytest.raises(BadInput, match="straight up to its Euler load"):
            column(0.99 * critical, 1.0, 1.0)
        with pytest.raises(BadInput, match="accurate up to"):
            column(100.0 * critical, 1.0, 1.0)
        assert np.max(np.abs(column(critical * (1 + 1e-10), 1.0, 1.0).y)) < 1e-4


def test_published_postbuckling_values():
    """P/P_cr = 1.015, 1.063, 1.152, 1.293 at tip angles of 20° to 80° (Timoshenko and Gere, § 2.7)."""
    for degrees, ratio in ((20, 1.015), (40, 1.063), (60, 1.152), (80, 1.293)):
        exact = (ellipk(np.sin(np.radians(degrees) / 2) ** 2) / (np.pi / 2)) ** 2
        assert exact == pytest.approx(ratio, abs=1e-3)  # the book cuts the third decimal
        shape = analytic.buckled_cantilever(exact * np.pi**2 / 4, 1.0, 1.0)
        assert np.degrees(shape.angle[-1]) == pytest.approx(degrees, abs=1e-9)


@pytest.mark.parametrize(
    "case",
    [
        {"tip_force": (3.0, -7.0)},
        {"tip_force": (-1.0, 5.0), "tip_moment": 2.0, "axial_stiffness": 50.0, "shear_stiffness": 20.0},
        {"load_per_length": (0.0, -12.0), "shear_stiffness": 30.0},
        {"load_per_length": (4.0, -3.0), "tip_moment": -4.0, "axial_stiffness": 80.0},
    ],
)
def test_reissner_agrees_with_shooting(case):
    """From the computed base couple, an adaptive integration arrives at the prescribed tip moment."""
    shape = analytic.reissner_cantilever(1.5, 2.0, **case)
    EA, GA = case.get("axial_stiffness", inf), case.get("shear_stiffness", inf)
    force, weight = np.array(case.get("tip_force", (0, 0))), np.array(case.get("load_per_length", (0, 0)))

    def rate(s, z):
        R = np.array([[np.cos(z[0]), -np.sin(z[0])], [np.sin(z[0]), np.cos(z[0])]])
        N = R.T @ (force + weight * (1.5 - s))
        gamma = np.array([1 + N[0] / EA, N[1] / GA])
        return np.concatenate([[z[1] / 2.0, gamma[1] * N[0] - gamma[0] * N[1]], R @ gamma])

    start = [0.0, 2.0 * shape.curvature[0], 0.0, 0.0]
    path = solve_ivp(rate, (0, 1.5), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    expected = [shape.angle[-1], case.get("tip_moment", 0.0), *shape.tip]
    np.testing.assert_allclose(path, expected, atol=1e-9)


def test_reissner_small_load_is_the_timoshenko_beam():
    L, stiffness, GA, F = 0.5, 3.0, 40.0, 1e-5
    shape = analytic.reissner_cantilever(L, stiffness, shear_stiffness=GA, tip_force=(0.0, F))
    assert shape.y[-1] == pytest.approx(F * L**3 / (3 * stiffness) + F * L / GA, rel=1e-9)
    pulled = analytic.reissner_cantilever(L, stiffness, axial_stiffness=10.0, tip_force=(2.0, 0.0))
    np.testing.assert_allclose(pulled.tip, [0.6, 0.0], atol=1e-15)


def test_reissner_is_independent_of_nodes_and_steps():
    loads = {"tip_force": (-0.5, 8.0), "shear_stiffness": 60.0}
    a = analytic.reissner_cantilever(1.0, 1.0, **loads)
    b = analytic.reissner_cantilever(1.0, 1.0, **loads, nodes=97, load_steps=3)
    np.testing.assert_allclose(a.tip, b.tip, atol=1e-13)


def test_reissner_reports_failure():
    with pytest.raises(BadInput, match="shear_stiffness = 0"):
        analytic.reissner_cantilever(1.0, 1.0, shear_stiffness=0.0)
    with pytest.raises(NotConverged, match=r"beyond 9[0-9.]*% of the load"):
        # A perfect column buckles at π²/4 = 2.467 N; it must not stay straight without saying so.
        analytic.reissner_cantilever(1.0, 1.0, tip_force=(-2.6, 0.0))
    with pytest.raises(NotConverged, match="8 nodes leave an error"):
        analytic.reissner_cantilever(1.0, 1.0, tip_force=(0.0, 100.0), nodes=8)


@pytest.mark.parametrize("ratio", [1.5, 3.0, 20.0])
def test_reissner_follows_the_buckled_branch_of_an_imperfect_column(ratio):
    load = ratio * np.pi**2 / 4
    imperfect = analytic.reissner_cantilever(1.0, 1.0, tip_force=(-load, 1e-5))
    perfect = analytic.buckled_cantilever(load, 1.0, 1.0)
    np.testing.assert_allclose(imperfect.tip, perfect.tip, atol=1e-5)


# Tendons


@pytest.mark.parametrize(
    ("tension", "tip", "degrees"), [(15.0, (0.38563, 0.09677), 21.12), (67.5, (0.15402, 0.31786), 95.04)]
)
def test_convergent_tendon_published_tips(tension, tip, degrees):
    shape = analytic.convergent_tendon(tension, offset=0.02, length=0.4, bending_stiffness=EI)
    np.testing.assert_allclose(shape.tip, tip, atol=1e-5)
    assert np.degrees(shape.angle[-1]) == pytest.approx(degrees, abs=0.01)


@pytest.mark.parametrize("tension", [0.0, 1e-9, 15.0, 200.0])
@pytest.mark.parametrize("offset", [0.02, -0.02])
def test_convergent_tendon_is_its_integral(tension, offset):
    shape = analytic.convergent_tendon(tension, offset, 0.4, EI)
    kappa = tension * offset / EI / np.sqrt(1 + (offset / 0.4) ** 2)
    x = quad(lambda s: np.cos(kappa * (s - s**2 / 0.8)), 0, 0.4, epsabs=1e-14)[0]
    y = quad(lambda s: np.sin(kappa * (s - s**2 / 0.8)), 0, 0.4, epsabs=1e-14)[0]
    np.testing.assert_allclose(shape.tip, [x, y], atol=1e-13)
    np.testing.assert_allclose(shape.curvature, kappa * (1 - shape.s / 0.4), atol=1e-13)


def test_convergent_tendon_full_law_minimises_the_energy():
    """EI K²/2 + T |c| per unit length is stationary in K at every section."""
    tension, offset, length = 67.5, 0.02, 0.4
    s = np.linspace(0, length, 21)
    K = analytic.convergent_tendon_curvature(tension, offset, length, EI, s)
    D, h = offset * (1 - s / length), 1e-5

    def energy(K):
        return 0.5 * EI * K**2 + tension * np.hypot(1 - K * D, -offset / length)

    np.testing.assert_allclose((energy(K + h) - energy(K - h)) / (2 * h), 0.0, atol=1e-9)
    simple = analytic.convergent_tendon(tension, offset, length, EI, s)
    assert np.max(np.abs(K - simple.curvature)) < 2e-3 * np.max(K)  # the neglected coupling is small


def test_parallel_tendon_bends_toward_itself():
    shape = analytic.parallel_tendon(5.0, 0.01, 0.4, EI)
    assert shape.curvature[0] == pytest.approx(5.0 * 0.01 / EI)
    assert shape.y[-1] > 0 > analytic.parallel_tendon(5.0, -0.01, 0.4, EI).y[-1]
    with pytest.raises(BadInput, match="tension = -1 N"):
        analytic.parallel_tendon(-1.0, 0.01, 0.4, EI)


# Helix


def test_helix_is_the_exponential():
    rng = np.random.default_rng(3)
    s = np.linspace(0, 3, 40)
    for _ in range(10):
        xi = rng.normal(size=6)
        curve = analytic.helix(xi)
        np.testing.assert_allclose(curve.points(s), se3.exp(s[:, None] * xi)[:, :3, 3], atol=1e-13)
        distance = np.linalg.norm(np.cross(curve.points(s) - curve.centre, curve.axis), axis=1)
        np.testing.assert_allclose(distance, curve.radius, atol=1e-13)


def test_helix_of_a_kirchhoff_rod():
    tau, kappa = 1.5, 2.0
    curve = analytic.helix([tau, 0.0, kappa, 1.0, 0.0, 0.0])
    assert curve.radius == pytest.approx(kappa / (kappa**2 + tau**2))
    assert curve.pitch == pytest.approx(2 * np.pi * tau / (kappa**2 + tau**2))
    with pytest.raises(BadInput, match="straight"):
        analytic.helix([0, 0, 0, 1, 0, 0])


# Elliptic functions


@pytest.mark.parametrize("m1", [0.999, 0.5, 0.03, 1e-5])
def test_elliptic_functions_agree_with_scipy(m1):
    u = np.linspace(-1.0, 1.0, 41) * ellipk(1 - m1) * 0.999
    sn, cn, dn, epsilon = jacobi(u, m1)
    expected = ellipj(u, 1 - m1)
    np.testing.assert_allclose([sn, cn, dn], expected[:3], atol=1e-10)
    np.testing.assert_allclose(epsilon, ellipeinc(expected[3], 1 - m1), atol=1e-10)
    assert first_kind(np.tan(1.2), m1) == pytest.approx(float(ellipkinc(1.2, 1 - m1)), rel=1e-13)


def test_elliptic_functions_near_the_hyperbolic_limit():
    u = np.linspace(0, 5, 11)
    sn, cn, dn, _ = jacobi(u, 1e-14)
    np.testing.assert_allclose([sn, cn, dn], [np.tanh(u), 1 / np.cosh(u), 1 / np.cosh(u)], atol=1e-12)


@pytest.mark.parametrize(("phi", "m"), [(0.4, 0.3), (1.9, 0.7), (5.8, 0.2), (1.0906849890329542, 0.09871763252779145)])
def test_integral_of_the_second_kind(phi, m):
    exact = quad(lambda t: np.sqrt(1.0 - m * np.sin(t) ** 2), 0.0, phi, epsabs=1e-13)[0]
    assert second_kind(np.array([phi]), m)[0] == pytest.approx(exact, abs=1e-12)
