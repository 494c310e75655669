"""Functions and laws without their zeros: the same numbers as with them, and memory in proportion to the robot."""

from itertools import pairwise

import numpy as np
import pytest

import elver as ev
from elver.dynamics.bands import law_bands, project, windows
from elver.dynamics.core import core
from elver.kernels.tree.program import laws_of
from elver.rods.basis import spread

WIRE = ev.Material(young=1e9, poisson=0.3, density=1000.0, damping=0.01)
BASES = {
    "legendre": ev.Legendre(bending=4, torsion=2),
    "hats": ev.PiecewiseLinear.extensible(5),
    "uneven hats": ev.PiecewiseLinear((0.1, 0.4, 0.45), "planar"),
    "constants": ev.PiecewiseConstant.reissner(4),
    "pieces": ev.Piecewise(
        (ev.Legendre.kirchhoff(3), ev.PiecewiseLinear.planar(2), ev.Legendre(bending=2)), elements=(0.3, 0.6)
    ),
}


def rod(basis) -> ev.Rod:
    return ev.Rod(0.5, ev.Rectangle(ev.Taper(4e-3, 2e-3), 3e-3), WIRE, basis)


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_local_functions_are_the_functions(basis):
    one = rod(basis)
    s = np.sort(np.concatenate([np.linspace(0.0, one.length, 41), one.expansion.breaks(one.length)]))
    counts = [count for count in one.counts if count]
    parts = [spread(near, values, n) for (near, values), n in zip(one.local_functions(s), counts, strict=True)]
    np.testing.assert_array_equal(np.hstack(parts), one.functions(s))


def test_hats_are_two_at_a_place_and_no_more():
    near, values = rod(ev.PiecewiseLinear.planar(50)).local_functions([0.0, 0.123, 0.5])[0]
    assert values.shape == (3, 2)
    assert near.tolist() == [0, 12, 49]


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_windows_hold_all_that_is_not_zero(basis):
    one = rod(basis)
    s = one.grid.s
    starts = [0, *np.cumsum([count for count in one.counts if count])]
    bend, columns = windows([(near, values[:, None]) for near, values in one.local_functions(s)], starts)
    found = np.zeros((s.size, one.n))
    for row, own in enumerate(bend.reshape(s.size, 6, 3)):
        for low, high, shift in own:
            found[row, low:high] = columns[row, 0, low - shift : high - shift]
    np.testing.assert_array_equal(found, one.functions(s))


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_laws_are_the_integrals_of_products(basis):
    one = rod(basis)
    s, weights = one.grid.s, one.grid.weights
    H, Phi = one.stiffness(s), one.functions(s)
    wanted = np.einsum("g,gi,gk->ik", weights, H[:, one.component] * Phi, Phi)
    wanted *= one.component[:, None] == one.component
    K, D = laws_of(core(ev.System(ev.Mechanism.clamped(one))).program)
    # sums in another order
    np.testing.assert_allclose(K, wanted, rtol=1e-13, atol=1e-13 * np.abs(wanted).max())
    np.testing.assert_allclose(D, WIRE.damping * K, rtol=1e-15)
    for (near, values), count in zip(one.local_functions(s), filter(None, one.counts), strict=True):
        full = spread(near, values, count)
        np.testing.assert_allclose(project((near, values), count, weights), weights @ full, rtol=1e-13, atol=1e-15)
        low, columns = law_bands((near, values), count, weights)
        products = np.einsum("g,gi,gk->ik", weights, full, full)
        for i, first in enumerate(low):
            own = columns[i, : count - first]
            np.testing.assert_allclose(own, products[i, first : first + own.size], rtol=1e-13, atol=1e-15)
            assert not products[i, :first].any()
            assert not products[i, first + own.size :].any()


def hats(count: int) -> ev.System:
    return ev.System(ev.Mechanism.clamped(rod(ev.PiecewiseLinear.kirchhoff(count))), loads=[ev.Gravity()])


def test_arrays_of_a_rod_grow_with_its_elements():
    sizes = [20, 40, 80, 160]
    bytes_of = [sum(array.nbytes for array in core(hats(n)).program) for n in sizes]
    assert all(more <= 2.0 * less for less, more in pairwise(bytes_of))  # in proportion, with a part that is fixed
