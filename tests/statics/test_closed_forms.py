"""Equilibria against closed forms: arcs, the elastica, the Reissner cantilever; orders of bases and integrators."""

from itertools import pairwise

import numpy as np
import pytest

import elver as ev
from elver import analytic

L, RADIUS = 1.0, 0.01
MATERIAL = ev.Material(young=5e7, poisson=0.5, density=1000.0)
EI = 5e7 * np.pi / 4.0 * RADIUS**4


def tip(basis, force=(0.0, 0.0, 0.0), moment=(0.0, 0.0, 0.0), nodes=None, integration=None, **options):
    """Tip of a clamped rod under a dead wrench at its end."""
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, basis, nodes=nodes, integration=integration or ev.Magnus())
    load = ev.PointWrench(rod, force=force, moment=moment)
    return ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[load]), **options).tip


def elastica_error(basis):
    """Distance to the closed form under F L²/EI = 10, in m."""
    exact = analytic.cantilever_tip_force(10.0 * EI / L**2, L, EI).tip
    return float(np.linalg.norm(tip(basis, force=(0.0, 10.0 * EI / L**2, 0.0))[:3, 3] - [*exact[:2], 0.0]))


def orders(errors):
    """Observed orders between successive halvings."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


EVERY_BASIS = [
    ev.Legendre.kirchhoff(3),
    ev.Legendre.reissner(3),
    ev.Chebyshev.kirchhoff(3),
    ev.Chebyshev.reissner(3),
    ev.PiecewiseConstant.kirchhoff(4),
    ev.PiecewiseConstant.reissner(4),
    ev.PiecewiseLinear.reissner(3),
    ev.Sampled.kirchhoff((0.0, 0.5, 1.0), np.ones(3)),
]


@pytest.mark.parametrize("basis", EVERY_BASIS, ids=lambda b: f"{type(b).__name__}-{sum(map(bool, b.counts))}")
def test_a_tip_couple_closes_the_circle(basis):
    # rounding: every basis holds the constant, so the arc is exact; under a couple fixed in space it flutters
    g = tip(basis, moment=(0.0, 0.0, 2.0 * np.pi * EI / L), branch="connected")
    np.testing.assert_allclose(g, np.eye(4), atol=1e-10)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_part_of_a_circle_has_the_curvature_of_its_couple(axis):
    moment = np.zeros(3)
    moment[axis] = 1.5 * EI / L
    g = tip(ev.Legendre.kirchhoff(2), moment=moment)
    arc = analytic.cantilever_tip_moment(1.5 * EI / L, L, EI).tip
    # a couple about y turns x toward -z
    expected = [arc[0], arc[1], 0.0] if axis == 2 else [arc[0], 0.0, -arc[1]]
    np.testing.assert_allclose(g[:3, 3], expected, atol=1e-12)


@pytest.mark.parametrize("family", [ev.Legendre, ev.Chebyshev])
def test_polynomials_converge_to_the_elastica_exponentially(family):
    errors = [elastica_error(family.planar(n)) for n in (4, 6, 8, 10)]
    # truncation: two more functions gain an order of magnitude, and more from each pair to the next but one
    assert all(after < 0.1 * before for before, after in pairwise(errors))
    assert errors[-1] < 1e-10


def test_legendre_and_chebyshev_span_the_same_space():
    force = (0.0, 10.0 * EI, 4.0 * EI)
    difference = tip(ev.Legendre.kirchhoff(5), force) - tip(ev.Chebyshev.kirchhoff(5), force)
    assert np.max(np.abs(difference)) < 1e-11  # rounding


def test_piecewise_constant_strain_is_second_order():
    assert orders([elastica_error(ev.PiecewiseConstant.planar(n)) for n in (8, 16, 32)]) == pytest.approx(2.0, abs=0.05)


def test_piecewise_linear_strain_is_fourth_order():
    # Galerkin: the tip converges with twice the order of the strain
    assert orders([elastica_error(ev.PiecewiseLinear.planar(n)) for n in (4, 8, 16)]) == pytest.approx(4.0, abs=0.1)


def test_sampled_functions_give_the_elastica_too():
    s = np.linspace(0.0, L, 41)
    table = np.polynomial.legendre.legvander(2.0 * s / L - 1.0, 7)
    # truncation of the quintic spline through the samples, and of eight functions
    assert elastica_error(ev.Sampled.planar(s, table)) < 1e-7


@pytest.mark.parametrize(
    ("integration", "order"), [(ev.Magnus(4), 3.8), (ev.Magnus(6), 5.5), (ev.RungeKuttaMuntheKaas(), 3.8)]
)
def test_space_integrators_reach_their_order_in_nodes(integration, order):
    force = (0.0, 10.0 * EI, 3.0 * EI)
    basis = ev.Legendre.kirchhoff(6)
    reference = tip(basis, force, nodes=96)
    errors = [np.max(np.abs(tip(basis, force, nodes=n, integration=integration) - reference)) for n in (12, 24, 48)]
    assert np.all(orders(errors)[:1] >= order)
    assert errors[-1] < 1e-6  # truncation of the coarsest of the three


def test_collocation_agrees_with_the_recursion():
    force = (0.0, 10.0 * EI, 3.0 * EI)
    basis = ev.Legendre.kirchhoff(6)
    spectral = tip(basis, force, nodes=32, integration=ev.Spectral())
    # truncation of Magnus 6 with 96 nodes; collocation has none left
    np.testing.assert_allclose(spectral, tip(basis, force, nodes=96), atol=1e-11)


@pytest.mark.parametrize("force", [(0.0, 6.0), (-1.0, 3.0), (2.0, -5.0)])
def test_the_reissner_cantilever_is_exact(force):
    # a stubby rod, so that stretch and shear count: they move the tip by more than a hundredth of the length
    rod = ev.Rod(L, ev.Circle(0.08), MATERIAL, ev.Legendre(bending_z=12, stretch=12, shear_y=12))
    H = rod.stiffness([0.0])[0]
    F = np.array([*force, 0.0]) * H[2] / L**2
    exact = analytic.reissner_cantilever(L, H[2], axial_stiffness=H[3], shear_stiffness=H[4], tip_force=F[:2])
    rigid = analytic.reissner_cantilever(L, H[2], tip_force=F[:2])
    assert np.linalg.norm(exact.tip[:2] - rigid.tip[:2]) > 1e-3
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, force=F)]))
    np.testing.assert_allclose(found.tip[:2, 3], exact.tip[:2], atol=1e-8)


def test_weight_is_a_distributed_load():
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, ev.Legendre.planar(10))
    weight = rod.mass / L * 9.81
    exact = analytic.reissner_cantilever(L, EI, load_per_length=(0.0, -weight)).tip
    as_gravity = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity((0.0, -9.81, 0.0))])
    as_load = ev.System(ev.Mechanism.clamped(rod), loads=[ev.DistributedWrench(rod, force=(0.0, -weight, 0.0))])
    for system in (as_gravity, as_load):
        np.testing.assert_allclose(ev.equilibrium(system).tip[:2, 3], exact[:2], atol=1e-8)


def test_a_follower_force_bends_further_than_a_dead_one():
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, ev.Legendre.planar(8))
    tips = []
    for frame in ("world", "section"):
        load = ev.PointWrench(rod, force=(0.0, 3.0 * EI, 0.0), frame=frame)
        found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[load]))
        tips.append(found.tip)
    assert tips[1][0, 3] < tips[0][0, 3]
    # global balance: the couple at the clamp is (tip - base) × force, force along the tip's own y
    strain = rod.strain([0.0], found.state.q)[0]
    force = 3.0 * EI * tips[1][:2, 1]
    couple = tips[1][0, 3] * force[1] - tips[1][1, 3] * force[0]
    assert EI * strain[2] == pytest.approx(couple, rel=1e-4)  # truncation of the strain at the end of its range


def test_frames_do_not_matter():
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, ev.Legendre.kirchhoff(5))
    from elver.lie import se3

    g = se3.exp(np.array([0.4, -1.1, 2.0, 0.3, 0.2, -0.7]))
    force = EI * np.array([1.0, 4.0, -2.0])
    here = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, force=force)]))
    turned = ev.PointWrench(rod, force=g[:3, :3] @ force)
    there = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod, pose=g), loads=[turned]))
    np.testing.assert_allclose(there.tip, g @ here.tip, atol=1e-10)
