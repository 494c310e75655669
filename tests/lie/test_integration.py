"""Integration of g′ = g ξ̂: exact cases, a definite case with known errors, orders, jumps, start pose."""

import numpy as np
import pytest

from elver.errors import BadInput
from elver.lie import integration, se3, so3
from elver.numerics.polynomials import legendre
from elver.numerics.quadrature import chebyshev_differentiation, chebyshev_lobatto

COEFFICIENTS = np.array([[1.0, -1.5, 0.5], [2.0, 1.0, -1.0], [-1.0, 2.0, 1.5]])
COUNTS = (11, 16, 21, 31)


def twisted(s: np.ndarray) -> np.ndarray:
    """Kirchhoff rod of length 1 with quadratic curvatures, the definite case set for Gotelli (2024)."""
    return np.hstack([legendre(s, 3) @ COEFFICIENTS.T, np.tile([1.0, 0.0, 0.0], (len(s), 1))])


def sheared(s: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(3 * s), np.exp(s), 1 - s**2, 1 + 0.1 * s, 0.2 * np.cos(s), 0.3 * s], axis=1)


@pytest.fixture(scope="module")
def tip() -> np.ndarray:
    return integration.reference(twisted, [0.0, 1.0])[-1]


METHODS = {
    "magnus 4": lambda strain, nodes: integration.magnus(strain, nodes, order=4),
    "magnus 6": lambda strain, nodes: integration.magnus(strain, nodes, order=6),
    "rkmk": integration.rkmk,
    "reference": integration.reference,
    "spectral": lambda strain, nodes: integration.spectral(strain, len(nodes), nodes[-1])[1],
}


@pytest.mark.parametrize("method", METHODS)
def test_constant_strain_gives_the_exact_screw(method):
    xi = np.array([0.3, -0.5, 0.8, 1.0, 0.1, -0.05])
    g = METHODS[method](lambda s: np.tile(xi, (len(s), 1)), np.linspace(0.0, 1.5, 16))
    np.testing.assert_allclose(g[-1], se3.exp(1.5 * xi), atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_constant_curvature_gives_the_exact_arc(method):
    kappa, length = 2.0, 1.3
    g = METHODS[method](lambda s: np.tile([0, 0, kappa, 1, 0, 0], (len(s), 1)), np.linspace(0.0, length, 21))
    x, y = np.sin(kappa * length) / kappa, (1 - np.cos(kappa * length)) / kappa
    np.testing.assert_allclose(g[-1, :3, 3], [x, y, 0.0], atol=1e-13)


def test_definite_case_tip(tip):
    np.testing.assert_allclose(tip[:3, 3], [0.45666071, 0.03821986, -0.62120891], atol=1e-8)
    np.testing.assert_allclose(so3.log(tip[:3, :3]), [1.82067761, 1.73312215, -0.29022203], atol=1e-8)


@pytest.mark.parametrize(
    ("order", "nodes", "published"),
    [
        (6, lambda n: chebyshev_lobatto(n, 0.0, 1.0), (1.9e-6, 1.7e-7, 3.0e-8, 2.6e-9)),
        (6, lambda n: np.linspace(0.0, 1.0, n), (2.7e-7, 2.3e-8, 4.2e-9, 3.7e-10)),
        (4, lambda n: np.linspace(0.0, 1.0, n), (8.5e-5, 1.7e-5, 5.4e-6, 1.1e-6)),
    ],
    ids=["order 6, Chebyshev nodes", "order 6, uniform nodes", "order 4, uniform nodes"],
)
def test_definite_case_magnus_errors(tip, order, nodes, published):
    errors = [np.linalg.norm(integration.magnus(twisted, nodes(n), order)[-1] - tip) for n in COUNTS]
    np.testing.assert_allclose(errors, published, rtol=0.05)  # two printed digits


def test_definite_case_spectral_errors(tip):
    """The published errors belong to a position collocated like the quaternion; quadrature does better."""
    published = (3.8e-6, 2.0e-9, 7e-13)
    for n, expected in zip(COUNTS, published, strict=False):
        s, g = integration.spectral(twisted, n, 1.0)
        assert np.linalg.norm(g[-1] - tip) < expected
        D = chebyshev_differentiation(n, 0.0, 1.0)
        tangent = g[:, :3, 0]
        collocated = se3.pose(g[-1, :3, :3], np.linalg.solve(D[1:, 1:], tangent[1:])[-1])
        assert np.linalg.norm(collocated - tip) == pytest.approx(expected, rel=0.3)
        np.testing.assert_array_equal(s[[0, -1]], [0.0, 1.0])
    assert np.linalg.norm(integration.spectral(twisted, 31, 1.0)[1][-1] - tip) < 1e-13  # rounding


@pytest.mark.parametrize(("method", "order"), [("magnus 6", 6), ("magnus 4", 4), ("rkmk", 4)])
@pytest.mark.parametrize("strain", [twisted, sheared])
def test_observed_order(method, order, strain):
    exact = integration.reference(strain, [0.0, 1.0])[-1]
    errors = [
        np.linalg.norm(METHODS[method](strain, np.linspace(0.0, 1.0, n + 1))[-1] - exact)
        for n in (10, 20, 40)
    ]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(slopes[-1], order, atol=0.25)


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_agree_at_every_node(method):
    nodes = chebyshev_lobatto(41, 0.0, 1.0)
    exact = integration.reference(sheared, nodes)
    np.testing.assert_allclose(METHODS[method](sheared, nodes), exact, atol=2e-6)
    R = METHODS[method](sheared, nodes)[:, :3, :3]
    np.testing.assert_allclose(R @ np.swapaxes(R, 1, 2), np.broadcast_to(np.eye(3), R.shape), atol=1e-12)


@pytest.mark.parametrize("method", ["magnus 4", "magnus 6", "rkmk", "reference"])
def test_strain_may_jump_at_a_node(method):
    a, b = np.array([0.0, 0.0, 3.0, 1, 0, 0]), np.array([1.0, -2.0, 0.0, 1, 0, 0])
    g = METHODS[method](lambda s: np.where(s[:, None] < 0.4, a, b), np.array([0.0, 0.4, 1.0]))
    np.testing.assert_allclose(g[-1], se3.exp(0.4 * a) @ se3.exp(0.6 * b), atol=1e-13)


def test_start_pose_multiplies_from_the_left():
    g_0 = se3.exp([0.3, -1.0, 0.4, 1.0, 2.0, 3.0])
    nodes = chebyshev_lobatto(21, 0.0, 1.0)
    for moved, plain in (
        (integration.magnus(sheared, nodes, start=g_0), integration.magnus(sheared, nodes)),
        (integration.rkmk(sheared, nodes, start=g_0), integration.rkmk(sheared, nodes)),
        (integration.spectral(sheared, 21, 1.0, start=g_0)[1], integration.spectral(sheared, 21, 1.0)[1]),
        (integration.reference(sheared, nodes, start=g_0), integration.reference(sheared, nodes)),
    ):
        np.testing.assert_allclose(moved, g_0 @ plain, atol=1e-12)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="order = 5"):
        integration.magnus(twisted, [0.0, 1.0], order=5)
    with pytest.raises(BadInput, match="strictly increasing"):
        integration.rkmk(twisted, [0.0, 0.5, 0.5])
    with pytest.raises(BadInput, match="length = -1 m"):
        integration.spectral(twisted, 11, -1.0)
    with pytest.raises(BadInput, match="nodes_count = 1"):
        integration.spectral(twisted, 1, 1.0)
