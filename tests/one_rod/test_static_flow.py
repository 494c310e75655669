"""The compiled march of statics: derivatives by differences, order, small parts beside their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.kernels.build import entry
from elver.lie import se3
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.static_flow import SegmentFlow, StaticFlow, poses_of, states_of
from elver.one_rod.shooting.statics import solve_rod

L = 0.4
SOFT = ev.Material(young=3e6, poisson=0.4, density=1100.0)


def crowded(basis: ev.Legendre) -> RodProblem:
    """A tapered, curved rod with all that may act: weight, dead and following lines, a muscle, two tendons."""
    section = ev.Circle(lambda s: 0.01 - 0.008 * s)
    rod = ev.Rod(L, section, SOFT, basis, rest=lambda s: np.stack([0.0 * s, 2.0 - s, 1.0 + s], axis=1))
    helical, short = ev.Tendon(rod, ev.helical(0.006, 1.0)), ev.Tendon(rod, ev.parallel(y=0.0, z=0.006), end=0.3)
    flexor = ev.Muscle(rod, target=(0.3, 1.0, 2.0, 1.0, 0.0, 0.0))
    loads = [
        ev.Gravity(),
        ev.DistributedWrench(rod, force=(0.1, 0.2, 0.05), moment=(0.01, 0.02, -0.01)),
        ev.DistributedWrench(rod, force=(0.1, -0.2, 0.3), moment=(0.0, 0.01, 0.02), frame="section"),
    ]
    system = ev.System(ev.Mechanism.clamped(rod), [helical, short, flexor], loads)
    return RodProblem.of(system, {helical: 4.0, short: 3.0, flexor: 0.8})


BASES = pytest.mark.parametrize("basis", [ev.Legendre.kirchhoff(3), ev.Legendre.reissner(3)], ids=["angles", "all"])


@BASES
@pytest.mark.parametrize("integrator", ["rkmk", "magnus"])
def test_the_tangent_is_the_derivative_of_the_steps_taken(basis, integrator):
    """Also where steps are long: 1e-7 of the largest entry, by central differences in all twelve directions."""
    problem = crowded(basis)
    march = SegmentFlow(StaticFlow(problem, integrator=integrator), [0.0, 0.3], [0.2, L], 2)
    rng = np.random.default_rng(2)
    g = se3.exp(rng.standard_normal((2, 6)))
    x = problem.bending_stiffness * rng.standard_normal((2, 6)) * [8, 8, 8, 40, 40, 40]
    _, _, Phi, _ = march(g, x)
    EI = problem.bending_stiffness
    size = np.concatenate([np.ones(6), np.full(3, EI / L), np.full(3, EI)])
    for k in range(12):
        e = 1e-5 * size[k] * np.eye(12)[k]
        ends = [march(g @ se3.exp(sign * e[:6]), x + sign * e[6:], tangent=False)[:2] for sign in (1.0, -1.0)]
        for m in range(2):
            zeta = se3.log(se3.inverse(ends[1][0][m]) @ ends[0][0][m])
            change = np.concatenate([zeta, ends[0][1][m] - ends[1][1][m]]) / 2e-5
            np.testing.assert_allclose(Phi[m, :, k] * size[k] / size, change / size, atol=1e-7 * np.max(np.abs(Phi[m])))


@BASES
@pytest.mark.parametrize("form", ["stress", "strain"])
@pytest.mark.parametrize("integrator", ["rkmk", "magnus"])
def test_both_integrators_are_of_fourth_order(basis, form, integrator):
    """In both forms, toward the same end."""
    problem = crowded(basis)
    g = np.eye(4)[None]
    x = problem.bending_stiffness * np.array([[0.5, 2.0, -1.0, 3.0, 5.0, 2.0]])
    exact = SegmentFlow(StaticFlow(problem), [0.0], [0.2], 512).run(states_of(g, x), tangent=False)[0]
    flow = StaticFlow(problem, form, integrator)
    errors = [
        np.max(np.abs(SegmentFlow(flow, [0.0], [0.2], n).run(states_of(g, x), tangent=False)[0] - exact))
        for n in (8, 16, 32)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 3.7)
    assert np.all(orders < 5.5)


def test_solutions_do_not_depend_on_the_integrator():
    problem = crowded(ev.Legendre.kirchhoff(3))
    one, other = (solve_rod(problem, integrator=name, accuracy=1e-9) for name in ("rkmk", "magnus"))
    np.testing.assert_allclose(one.tip, other.tip, atol=1e-8)
    with pytest.raises(ev.BadInput, match='integrator = \'euler\': say "rkmk" or "magnus"'):
        solve_rod(problem, integrator="euler")


@BASES
def test_strains_of_stresses_invert_the_law(basis):
    problem = crowded(basis)
    sections = problem.at(np.linspace(0.01, 0.39, 7))
    rng = np.random.default_rng(3)
    xi = sections.rest_strain.copy()
    free = list(problem.component)
    xi[:, free] += rng.standard_normal((7, len(free))) * np.where(np.array(free) < 3, 3.0, 0.05)
    found = StaticFlow(problem).strain(sections, sections.stress(xi)[0])
    np.testing.assert_allclose(found, xi, atol=1e-10)


def test_nodes_are_joined_and_moved_as_in_the_group():
    """Logarithms near zero and near half turns, adjoints, and exponentials, beside :mod:`elver.lie`."""
    rng = np.random.default_rng(4)
    turns = np.array([0.0, 1e-12, 1e-5, 0.3, 2.0, 3.1, np.pi - 1e-9, np.pi])
    M = turns.size
    axes = rng.standard_normal((M, 3))
    jump = np.hstack([turns[:, None] * axes / np.linalg.norm(axes, axis=1)[:, None], rng.standard_normal((M, 3))])
    g, x = se3.exp(rng.standard_normal((M + 1, 6))), rng.standard_normal((M + 1, 6))
    nodes, scale = states_of(g, x), rng.uniform(0.5, 2.0, 12)
    miss, Phi = rng.standard_normal((M, 6)), rng.standard_normal((M, 12, 12))
    ends = states_of(g[1:] @ se3.exp(jump), x[1:] + miss)
    gaps, back, onward, scaled = np.empty((M, 12)), np.empty((M, 6, 6)), np.empty((M, 12, 12)), Phi.copy()
    entry.join_segments(ends, nodes, scale, scaled, gaps, back, onward, np.zeros(10))
    found = gaps * scale
    np.testing.assert_allclose(se3.exp(found[:, :6]), se3.exp(jump), atol=1e-8)
    np.testing.assert_allclose(found[:-2, :6], jump[:-2], atol=1e-12)
    np.testing.assert_allclose(found[:, 6:], miss, atol=1e-14)
    unit = scale[:6] / scale[:6, None]
    np.testing.assert_allclose(back, se3.Ad(se3.exp(jump)) * unit, atol=1e-12)
    np.testing.assert_allclose(scaled, Phi * scale / scale[:, None])
    whole = np.tile(np.eye(12), (M, 1, 1))
    whole[:, :6, :6] = back
    np.testing.assert_allclose(onward, whole @ scaled, atol=1e-12)
    step, after = rng.standard_normal((M + 1, 12)), np.empty_like(nodes)
    entry.move_nodes(nodes, step, scale, after, np.zeros(16))
    there, stress = poses_of(after)
    np.testing.assert_allclose(there, g @ se3.exp(step[:, :6] * scale[:6]), atol=1e-13)
    np.testing.assert_allclose(stress, x + step[:, 6:] * scale[6:])
    columns, jumps = np.empty((M + 1, 12, 1)), rng.standard_normal((M, 12))
    columns[0] = 1.0
    entry.carry_columns(onward, jumps, columns)
    np.testing.assert_allclose(columns[1:, :, 0], (onward @ columns[:-1])[..., 0] + jumps, rtol=1e-10)
