"""Rods: coordinates, laws, rest shapes, the grid and the rule behind it, and refusals."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.legendre import legval
from scipy.linalg import expm

from elver.errors import BadInput
from elver.rods import (
    Chebyshev,
    Circle,
    Ellipse,
    Legendre,
    Magnus,
    Material,
    PiecewiseConstant,
    PiecewiseLinear,
    Rod,
    RungeKuttaMuntheKaas,
    Sampled,
    Spectral,
    Taper,
)

L = 0.4
SILICONE = Material(young=1e6, poisson=0.45, density=1070.0, damping=0.02)
LINE = np.linspace(0.0, L, 9)


def rod(basis=None, **changes):
    given = {
        "length": L,
        "section": Circle(8e-3),
        "material": SILICONE,
        "basis": basis or Legendre.kirchhoff(3),
    }
    return Rod(**{**given, **changes})


BASES = [
    Legendre.kirchhoff(4),
    Legendre(bending=6, torsion=2, stretch=1, shear=1),
    Chebyshev.reissner(3),
    PiecewiseConstant.kirchhoff(8),
    PiecewiseConstant.planar((0.3, 0.4)),
    PiecewiseLinear.extensible(3),
    Sampled.planar(LINE, np.stack([np.ones(9), LINE**2], axis=1)),
]


# Coordinates ------------------------------------------------------------------------------------------------


def test_coordinates_run_by_strain_then_degree():
    r = rod(Legendre(bending_y=2, torsion=1, shear_z=2))
    assert r.n == 5
    assert r.counts == (1, 2, 0, 0, 0, 2)
    assert r.component.tolist() == [0, 1, 1, 5, 5]
    assert r.coordinate_names == ("K_x[0]", "K_y[0]", "K_y[1]", "G_z[0]", "G_z[1]")
    assert r.coordinate_units == ("1/m", "1/m", "1/m", "1", "1")


@pytest.mark.parametrize("basis", BASES)
def test_strain_is_rest_plus_b_phi_q(basis):
    r = rod(basis, rest=(0.1, 0.2, 0.3))
    q = np.random.default_rng(1).normal(size=(2, r.n))
    s = np.linspace(0.01, L - 0.01, 7)
    B = np.eye(6)[:, r.component]
    expected = [np.array([0.1, 0.2, 0.3, 1, 0, 0]) + (r.functions(s) * row) @ B.T for row in q]
    assert r.strain(s, q) == pytest.approx(np.array(expected), abs=1e-13)
    assert r.strain(s, q[0]).shape == (7, 6)
    assert r.functions(s).shape == (7, r.n)


def test_the_first_legendre_coordinate_is_the_mean_strain():
    r = rod(Legendre.planar(4))
    q = np.array([3.0, 1.0, -2.0, 0.7])
    mean = r.grid.weights @ r.strain(r.grid.s, q)[:, 2] / L
    assert mean == pytest.approx(3.0, rel=1e-14)


# Laws -------------------------------------------------------------------------------------------------------


def test_stiffness_damping_and_inertia():
    r = rod(section=Ellipse(0.01, 0.005, shear_correction=(0.9, 0.8)))
    E, G, rho = 1e6, 1e6 / 2.9, 1070.0
    p = r.section_properties(0.1)
    A, I_y, I_z, J = p.area[0], p.I_y[0], p.I_z[0], p.torsion_constant[0]
    H = np.array([G * J, E * I_y, E * I_z, E * A, 0.9 * G * A, 0.8 * G * A])
    assert r.stiffness(0.1)[0] == pytest.approx(H, rel=1e-14)
    assert r.damping(0.1)[0] == pytest.approx(0.02 * H, rel=1e-14)
    assert r.inertia(0.1)[0] == pytest.approx(rho * np.array([I_y + I_z, I_y, I_z, A, A, A]), rel=1e-14)
    assert r.mass == pytest.approx(rho * A * L, rel=1e-13)


def test_mass_of_a_cone():
    r = rod(section=Circle(Taper(0.02, 0.01)))
    volume = np.pi * L / 3 * (0.02**2 + 0.02 * 0.01 + 0.01**2)
    assert r.mass == pytest.approx(1070.0 * volume, rel=1e-13)


@pytest.mark.parametrize("component", range(6))
def test_elastic_matrix_of_a_uniform_legendre_rod_is_diagonal(component):
    r = rod(Legendre.reissner(5))
    Phi = r.functions(r.grid.s)[:, r.component == component]
    H = r.stiffness(r.grid.s)[:, component]
    K = Phi.T @ ((r.grid.weights * H)[:, None] * Phi)
    assert pytest.approx(np.diag(H[0] * L / (2 * np.arange(5) + 1)), abs=1e-13 * H[0]) == K


# Rest shapes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        (0.0, 0.0, 2.0),
        np.array([0, 0, 2, 1, 0, 0]),
        lambda s: np.tile([0.0, 0.0, 2.0], (len(s), 1)),
        lambda s: np.tile([0.0, 0.0, 2.0, 1.0, 0.0, 0.0], (len(s), 1)),
        lambda s: (0.0, 0.0, 2.0),
    ],
)
def test_forms_of_a_constant_rest_curvature(rest):
    assert rod(rest=rest).rest_strain(LINE) == pytest.approx(np.tile([0, 0, 2.0, 1, 0, 0], (9, 1)))


def test_straight_by_default_and_varying_twist():
    assert rod().rest_strain(0.1).tolist() == [[0, 0, 0, 1, 0, 0]]
    r = rod(rest=lambda s: np.stack([5 * s, 0 * s, 1 + s], axis=1))
    assert r.rest_strain(LINE)[:, 0] == pytest.approx(5 * LINE)
    assert np.all(r.rest_strain(LINE)[:, 3] == 1.0)


# Grid -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [None, 17])
@pytest.mark.parametrize("basis", BASES)
def test_grid_increases_sums_to_the_length_and_counts_its_nodes(basis, nodes):
    r = rod(basis, nodes=nodes)
    s, w = r.grid.s, r.grid.weights
    assert np.all(np.diff(s) > 0.0)
    assert (s[0], s[-1]) == (0.0, L)
    assert w.sum() == pytest.approx(L, rel=1e-14)
    assert r.grid.quadrature.sum() == r.nodes
    for position in (0.0, *basis.breaks(L), L):
        assert w[r.grid.index(position)] == 0.0
    if nodes is not None:
        assert r.nodes == nodes
    else:
        assert r.nodes >= max(r.counts)


@pytest.mark.parametrize("basis", BASES)
def test_grid_integrates_polynomials_exactly_in_every_element(basis):
    r = rod(basis)
    ends = np.array([0.0, *basis.breaks(L), L])
    n = r.nodes // (len(ends) - 1)
    for degree in range(2 * n):
        for a, b in pairwise(ends):
            inside = (r.grid.s > a) & (r.grid.s < b)
            x = (2 * r.grid.s[inside] - a - b) / (b - a)
            exact = 0.0 if degree % 2 else (b - a) / (degree + 1)
            assert r.grid.weights[inside] @ x**degree == pytest.approx(exact, abs=1e-15)


def test_the_rule_for_the_number_of_nodes():
    assert rod(Legendre.kirchhoff(4)).nodes == 2 * 3 + 14
    assert rod(PiecewiseConstant.kirchhoff(8)).nodes == 8 * 3
    assert rod(PiecewiseLinear.kirchhoff(8)).nodes == 8 * 4
    assert rod(PiecewiseConstant.kirchhoff(2)).nodes == 14
    r = rod(Legendre.kirchhoff(4))
    assert dataclasses.replace(r, nodes=r.nodes).grid.s == pytest.approx(r.grid.s)


def hat(xi):
    a, b, c, u, v, w = xi
    return np.array([[0, -c, b, u], [c, 0, -a, v], [-b, a, 0, w], [0, 0, 0, 0]], dtype=float)


def magnus(strain, a, b):
    """exp of the sixth-order Magnus expansion of g' = g ξ̂ on [a, b] (Blanes, Casas, Ros 2000)."""

    def bracket(X, Y):
        return X @ Y - Y @ X

    h, middle, c = b - a, (a + b) / 2, np.sqrt(15) / 10
    X, Y, Z = (-hat(strain(x)) for x in (middle - c * h, middle, middle + c * h))
    A, B, C = h * Y, h * np.sqrt(15) / 3 * (Z - X), h * 10 / 3 * (Z - 2 * Y + X)
    D = bracket(A, B)
    E = -bracket(A, 2 * C + D) / 60
    return expm(-(A + C / 12 + bracket(-20 * A - C + D, B + E) / 240))


def poses(strain, s):
    g = [np.eye(4)]
    for a, b in pairwise(s):
        g.append(g[-1] @ magnus(strain, a, b))
    return np.array(g)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_default_nodes_carry_a_full_circle_to_1e_7(count):
    """The claim of the module: tip and inertia integral of a rod turned through 2 π, decaying strains."""
    r = rod(Legendre.kirchhoff(count), length=1.0)
    q = np.random.default_rng(3).normal(size=(3, count)) * 0.3 ** np.arange(count)
    q[0] *= 0.3
    x = 2 * r.grid.s - 1
    q *= 2 * np.pi / (r.grid.weights @ np.linalg.norm(legval(x, q.T), axis=0))

    def strain(s):
        return np.array([*legval(2 * s - 1, q.T), 1.0, 0.0, 0.0])

    fine = rod(Legendre.kirchhoff(count), length=1.0, nodes=100).grid
    coarse_poses, fine_poses = poses(strain, r.grid.s), poses(strain, fine.s)
    assert coarse_poses[-1, :3, 3] == pytest.approx(fine_poses[-1, :3, 3], abs=1e-7)

    def second_moment(grid, g):
        return np.einsum("n,ni,nj->ij", grid.weights, g[:, :3, 3], g[:, :3, 3])

    assert second_moment(r.grid, coarse_poses) == pytest.approx(second_moment(fine, fine_poses), abs=1e-7)


def test_stations_add_nodes_and_keep_the_quadrature():
    r = rod()
    grid = r.grid_with(stations=[0.1, 0.1, 0.0, 0.25, r.grid.s[4]])
    assert grid.s.size == r.grid.s.size + 2
    assert grid.weights[grid.quadrature] == pytest.approx(r.grid.weights[r.grid.quadrature])
    assert grid.weights[grid.index(0.25)] == 0.0


@pytest.mark.parametrize("basis", BASES)
def test_breaks_divide_elements_so_that_jumps_are_integrated_exactly(basis):
    grid = rod(basis).grid_with(stations=[0.3], breaks=[0.13, 0.5 * L])
    assert np.all(np.diff(grid.s) > 0.0)
    assert grid.weights.sum() == pytest.approx(L, rel=1e-14)
    assert grid.weights @ (grid.s * (grid.s < 0.13)) == pytest.approx(0.13**2 / 2, rel=1e-13)


def test_a_station_that_is_no_node_is_named():
    with pytest.raises(BadInput, match=r"no node at s = 0.1234 m; ask for it with rod.grid_with"):
        rod().grid.index(0.1234)
    with pytest.raises(BadInput, match=r"node at s = 0.9 m is outside the rod; stay within \[0, 0.4\] m"):
        rod().grid_with(stations=[0.9])


def test_results_kept_by_the_rod_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        rod().grid.weights[0] = 1.0


# Values and refusals ----------------------------------------------------------------------------------------


def test_two_equal_rods_are_two_rods():
    a, b = rod(), rod()
    assert a != b
    assert {a: 1, b: 2}[a] == 1


@pytest.mark.parametrize("integration", [Magnus(4), Magnus(), RungeKuttaMuntheKaas(), Spectral()])
def test_space_integration_is_a_value_of_the_rod(integration):
    assert rod(integration=integration).integration == integration


class Odd:
    """A basis of one's own with faults to order."""

    def __init__(self, counts=(0, 0, 1, 0, 0, 0), width=1, value=1.0, breaks=()):
        self.counts, self.degree, self.width, self.value, self._breaks = counts, 0, width, value, breaks

    def functions(self, component, s, length):
        return np.full((len(s), self.width if self.counts[component] else 0), self.value)

    def breaks(self, length):
        return np.array(self._breaks)


def test_a_basis_of_ones_own_serves():
    assert rod(Odd()).nodes == 14


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": -1.0}, r"length = -1 m: must be greater than zero"),
        ({"length": float("nan")}, r"length = nan m: must be a finite number"),
        ({"length": float("inf")}, r"length = inf m: must be a finite number"),
        ({"name": "a/b"}, r"rod name = 'a/b': give a non-empty text without \"/\""),
        ({"section": 0.01}, r"section = 0.01 cannot be used: pass e.g. Circle\(radius=5e-3\)"),
        ({"section": Circle}, r"cannot be used: pass e.g. Circle"),
        ({"material": "steel"}, r"material = 'steel' cannot be used: pass e.g. Material"),
        ({"basis": 4}, r"basis = 4 cannot be used: pass e.g. Legendre.kirchhoff\(4\)"),
        ({"integration": "magnus"}, r"integration = 'magnus' cannot be used: pass e.g. Magnus\(order=6\)"),
        ({"nodes": 2}, r"nodes = 2 quadrature points for 3 functions.*choose nodes >= 3, fewer functions"),
        ({"nodes": 3.5}, r"nodes = 3.5: expected a whole number of quadrature points"),
        ({"nodes": 0}, r"nodes = 0: expected a whole number of quadrature points, at least 1"),
        ({"basis": PiecewiseConstant(8), "nodes": 5}, r"nodes = 5 quadrature points for 8 functions"),
        (
            {"basis": Odd(breaks=(0.1, 0.2)), "nodes": 2},
            r"nodes = 2 quadrature points for 3 elements.*nodes >= 3",
        ),
        ({"basis": Odd(counts=(0,) * 6)}, r"basis has 0 functions in all six strains"),
        ({"basis": Odd(counts=(1, 1))}, r"basis.counts = \(1, 1\): give six whole numbers >= 0"),
        ({"basis": Odd(width=2)}, r"basis functions of K_z have shape \(16, 2\).*return \(16, 1\)"),
        ({"basis": Odd(value=np.nan)}, r"basis functions of K_z are \[nan\] at s = 0 m"),
        (
            {"basis": Odd(breaks=(0.5,))},
            r"basis.breaks = \[0.5\] m: let them increase strictly between 0 and 0.4 m",
        ),
        ({"rest": (1.0, 2.0)}, r"rest has shape \(2,\): expected \(3,\) in 1/m"),
        ({"rest": (0.0, 0.0, np.nan)}, r"rest contains nan \(1/m"),
        (
            {"rest": lambda s: np.zeros((len(s), 4))},
            r"rest: the callable returned shape \(20, 4\).*\(20, 3\)",
        ),
        (
            {"rest": lambda s: np.full((len(s), 3), np.inf)},
            r"rest: the callable returned \[inf inf inf\].*s = 0 m",
        ),
        ({"rest": (0, 0, 0, -1, 0, 0)}, r"rest: G_x = -1 m/m at s = 0 m must be greater than zero"),
        ({"section": Circle(lambda s: 0.1 - s)}, r"radius = .* m at s = .* m: must be greater than zero"),
    ],
)
def test_bad_rods_are_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        rod(**changes)


def test_bad_order_and_bad_q_are_refused():
    with pytest.raises(BadInput, match=r"Magnus order = 5: choose 4 or 6"):
        Magnus(order=5)
    with pytest.raises(BadInput, match=r"q has shape \(4,\): the rod 'rod' has 9 coordinates"):
        rod().strain(0.0, np.zeros(4))
