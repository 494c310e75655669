"""Strain bases: what each family is, and what it refuses."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev as ChebyshevSeries
from numpy.polynomial import Legendre as LegendreSeries
from numpy.polynomial.legendre import leggauss

from elver.errors import BadInput
from elver.rods import Chebyshev, Legendre, PiecewiseConstant, PiecewiseLinear, Sampled, StrainBasis

L = 0.7
X, W = leggauss(40)
S, DS = 0.5 * L * (X + 1), 0.5 * L * W
GRID = np.linspace(0.0, L, 31)


def gram(basis, component=2):
    Phi = basis.functions(component, S, L)
    return Phi.T @ (DS[:, None] * Phi)


@pytest.mark.parametrize("family", [Legendre, Chebyshev, PiecewiseConstant, PiecewiseLinear])
def test_shorthands_free_the_strains_they_name(family):
    n = 4
    m = n + 1 if family is PiecewiseLinear else n
    assert family.planar(n).counts == (0, 0, m, 0, 0, 0)
    assert family.kirchhoff(n).counts == (m, m, m, 0, 0, 0)
    assert family.extensible(n).counts == (m, m, m, m, 0, 0)
    assert family.reissner(n).counts == (m,) * 6
    assert isinstance(family.planar(n), StrainBasis)
    assert family.planar(n).functions(0, GRID, L).shape == (31, 0)


def test_any_subset_of_the_strains():
    assert Legendre(bending=4, torsion=2).counts == (2, 4, 4, 0, 0, 0)
    assert Legendre(bending_y=3, shear_z=1).counts == (0, 3, 0, 0, 0, 1)
    assert Legendre(bending=3, bending_z=0, shear=2, shear_y=1, stretch=5).counts == (0, 3, 0, 5, 1, 2)
    assert PiecewiseConstant(elements=3, strains=("torsion", "shear")).counts == (3, 0, 0, 0, 3, 3)
    assert PiecewiseLinear(elements=2, strains="bending_y").counts == (0, 3, 0, 0, 0, 0)


def test_legendre_is_the_unnormalised_shifted_polynomial_and_orthogonal():
    basis = Legendre.planar(6)
    Phi = basis.functions(2, GRID, L)
    for k in range(6):
        assert Phi[:, k] == pytest.approx(LegendreSeries.basis(k, domain=[0, L])(GRID), abs=1e-13)
    # ∫ P_j P_k ds = L / (2 k + 1) δ_jk, to rounding.
    assert gram(basis) == pytest.approx(np.diag(L / (2 * np.arange(6) + 1)), abs=1e-14)
    assert basis.degree == 5
    assert basis.breaks(L).size == 0


def test_chebyshev_is_the_shifted_polynomial():
    Phi = Chebyshev.planar(6).functions(2, GRID, L)
    for k in range(6):
        assert Phi[:, k] == pytest.approx(ChebyshevSeries.basis(k, domain=[0, L])(GRID), abs=1e-13)
    assert np.abs(Phi).max() == pytest.approx(1.0)


def test_chebyshev_and_legendre_span_the_same_space():
    A, B = Chebyshev.planar(5).functions(2, S, L), Legendre.planar(5).functions(2, S, L)
    remainder = A - B @ np.linalg.lstsq(B, A, rcond=None)[0]
    assert np.abs(remainder).max() < 1e-13


@pytest.mark.parametrize("elements", [1, 5, (0.1, 0.15, 0.8)])
@pytest.mark.parametrize("family", [PiecewiseConstant, PiecewiseLinear])
def test_piecewise_functions_are_a_partition_of_unity(family, elements):
    basis = family.planar(elements)
    Phi = basis.functions(2, GRID, L)
    assert Phi.sum(axis=1) == pytest.approx(np.ones(31), abs=1e-14)
    assert np.all(Phi >= 0.0)
    count = elements if isinstance(elements, int) else len(elements) + 1
    assert basis.breaks(L).size == count - 1


def test_indicators_are_orthogonal():
    basis = PiecewiseConstant.planar((0.25, 0.5))
    s = np.concatenate([a + (b - a) * (X + 1) / 2 for a, b in ((0, L / 4), (L / 4, L / 2), (L / 2, L))])
    w = np.concatenate([(b - a) * W / 2 for a, b in ((0, L / 4), (L / 4, L / 2), (L / 2, L))])
    Phi = basis.functions(2, s, L)
    assert Phi.T @ (w[:, None] * Phi) == pytest.approx(np.diag([L / 4, L / 4, L / 2]), abs=1e-15)


def test_hats_are_continuous_and_nodal():
    basis = PiecewiseLinear.planar((0.3, 0.6))
    ends = np.array([0.0, *basis.breaks(L), L])
    assert basis.functions(2, ends, L) == pytest.approx(np.eye(4), abs=1e-14)
    left, right = (basis.functions(2, ends[1:-1] + d, L) for d in (-1e-9, 1e-9))
    assert left == pytest.approx(right, abs=1e-7)
    # They reproduce a straight line exactly.
    assert basis.functions(2, GRID, L) @ (3 * ends - 1) == pytest.approx(3 * GRID - 1, abs=1e-13)


@pytest.mark.parametrize("samples", [2, 3, 4, 5, 6, 7, 20])
def test_sampled_functions_go_through_their_samples(samples):
    s = np.linspace(0.0, L, samples)
    table = np.stack([np.ones(samples), np.cos(3 * s)], axis=1)
    basis = Sampled(tuple(s), bending_z=table)
    assert basis.counts == (0, 0, 2, 0, 0, 0)
    assert basis.functions(2, s, L) == pytest.approx(table, abs=1e-12)


def test_sampled_interpolation_is_of_order_six():
    def error(samples):
        s = np.linspace(0.0, L, samples)
        return np.abs(
            Sampled(tuple(s), stretch=np.sin(9 * s)).functions(3, GRID, L)[:, 0] - np.sin(9 * GRID)
        ).max()

    order = np.log2(error(21) / error(41))
    assert order > 5.5


def test_sampled_polynomials_are_reproduced_with_their_degree():
    s = np.linspace(0.0, L, 12)
    legendre = Legendre.planar(4)
    basis = Sampled.kirchhoff(s, legendre.functions(2, s, L))
    assert basis.degree == 3
    assert basis.counts == (4, 4, 4, 0, 0, 0)
    assert basis.functions(1, GRID, L) == pytest.approx(legendre.functions(2, GRID, L), abs=1e-12)
    assert Sampled.reissner(s, np.ones(12)).counts == (1,) * 6
    assert Sampled.extensible(s, np.ones(12)).counts == (1, 1, 1, 1, 0, 0)
    assert Sampled.planar(s, np.ones(12)).degree == 0


def test_bases_are_values():
    assert Legendre.kirchhoff(3) == Legendre(bending=3, torsion=3)
    assert len({PiecewiseConstant(4), PiecewiseConstant(4), PiecewiseConstant(5)}) == 2
    assert Sampled((0.0, 1.0), torsion=[1.0, 2.0]) == Sampled((0, 1), torsion=((1,), (2,)))


LINE = (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Legendre(),
            r"Legendre has 0 functions in all six strains.*Legendre\(bending=4, torsion=2\)",
        ),
        (lambda: Chebyshev.kirchhoff(0), r"Chebyshev has 0 functions in all six strains"),
        (
            lambda: Legendre(bending=-1),
            r"number of bending functions = -1: expected a whole number, at least 0",
        ),
        (lambda: Legendre(torsion=2.5), r"number of torsion functions = 2.5: expected a whole number"),
        (lambda: PiecewiseConstant(elements=0), r"elements = 0: expected a whole number, at least 1"),
        (lambda: PiecewiseLinear(strains=()), r'PiecewiseLinear has 0 functions.*strains="kirchhoff"'),
        (
            lambda: PiecewiseLinear(strains="wobble"),
            r"strains: unknown name 'wobble'; choose from .*kirchhoff",
        ),
        (
            lambda: PiecewiseConstant((0.5, 0.2)),
            r"elements = \(0.5, 0.2\).*increase strictly between 0 and 1",
        ),
        (lambda: PiecewiseConstant((0.5, np.nan)), r"elements contains nan \(fractions of the length\)"),
        (lambda: Sampled(LINE), r"Sampled has 0 functions in all six strains"),
        (lambda: Sampled((0.1, 0.5), torsion=(1, 1)), r"sample positions s = .*at least two, the first 0 m"),
        (lambda: Sampled((0.0,), torsion=(1,)), r"sample positions s = .*at least two"),
        (lambda: Sampled(LINE, torsion=(1.0, 2.0)), r"torsion table has 2 rows for 3 sample positions"),
        (lambda: Sampled(LINE, torsion=(1.0, np.inf, 0)), r"torsion table contains inf"),
        (lambda: Sampled(LINE, torsion=[[1, 2]] * 3), r"its 2 functions are linearly dependent.*remove"),
        (
            lambda: Sampled(LINE, torsion=(1, 1, 1)).functions(0, GRID, L),
            r"samples end at s = 1 m but the rod is 0.7 m long: sample up to the tip",
        ),
    ],
)
def test_bad_bases_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
