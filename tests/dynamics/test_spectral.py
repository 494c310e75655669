"""The second evaluator: it converges faster than any power, to the compiled one, and its tangent is exact."""

from __future__ import annotations

import numpy as np
import pytest

import elver.environment as en
import elver.mechanism as me
import elver.rods as er
from elver.actuation import Muscle, Pressure, SpooledTendon, Tendon, convergent, helical, parallel
from elver.dynamics.collocation import with_integration
from elver.dynamics.core import Core
from elver.dynamics.spectral import SpectralCore
from elver.dynamics.states import arrays
from elver.lie import se3, so3
from elver.system import System

SOFT = er.Material(1e6, 1000.0, poisson=0.4)
WEIGHTS = (1.0, 0.8, 1.2)


def everything(tools, basis, foundation="free", nodes=None):
    """A rod under all loads, actuators and holds there are."""
    rod = tools.rod(basis, nodes=nodes, integration=er.Spectral())
    holds = [me.Hold(at="tip", position=(0.5, None, 0.2), orientation=so3.exp([0.2, -0.3, 0.4]))]
    if foundation == "free":
        holds.append(me.Hold(at="base", position=(0.0, 0.1, None), name="foot"))
    actuators = [
        Tendon(rod, helical(0.02, 1.0)),
        Tendon(rod, convergent(0.02, -0.01), end=0.4, name="short"),
        SpooledTendon(rod, parallel(0.01, 0.02), name="spool"),
        Pressure(rod, 1e-3, parallel(-0.02, 0.01)),
        Muscle(rod, torque=(0.1, -0.2, 0.3)),
    ]
    loads = [
        en.Gravity((1.0, -4.0, -8.0)),
        en.PointWrench(rod, force=(1.0, -0.5, 0.7), moment=(0.1, 0.2, -0.1), name="dead"),
        en.PointWrench(rod, at=0.4, force=(0.0, 1.0, 0.5), frame="section", name="follower"),
        en.DistributedWrench(
            rod, force=lambda s: np.stack([s, 1.0 - s, s**2], axis=1), moment=(0.1, 0.2, 0.3), end=0.4
        ),
        en.DistributedWrench(rod, force=(0.5, 1.0, -1.0), frame="section", name="wind"),
    ]
    make = me.Mechanism.free if foundation == "free" else me.Mechanism.clamped
    system = System(make(rod, se3.exp([0.3, 0.2, -0.5, 0.1, 0.2, 0.3]), holds=holds), actuators, loads)
    u = system.input_vector(
        system.signals({"tendon": 1.5, "short": 0.7, "pressure": 400.0, "spool": 0.01}), 0.0
    )
    return system, u


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


# Poses ------------------------------------------------------------------------------------------------------


def definite_case(nodes):
    """Tip of the rod of Gotelli, section 3.8, in the reading of the specification."""
    rod = er.Rod(
        1.0, er.Circle(0.01), SOFT, er.Legendre.kirchhoff(3), nodes=nodes - 2, integration=er.Spectral()
    )
    system = System(me.Mechanism.clamped(rod))
    q = np.array([1.0, -1.5, 0.5, 2.0, 1.0, -1.0, -1.0, 2.0, 1.5])
    s, p = SpectralCore(system).positions(arrays(system.rest().with_(q=q)))
    assert s.size == nodes
    return p[-1]


def test_tip_of_the_definite_case():
    np.testing.assert_allclose(definite_case(31), [0.45666071, 0.03821986, -0.62120891], atol=1e-8)


def test_poses_converge_faster_than_any_power():
    """Within the errors published for N = 11, 16, 21 nodes, which fall by a thousand each time."""
    exact = definite_case(41)
    errors = [np.linalg.norm(definite_case(n) - exact) for n in (11, 16, 21)]
    assert errors[0] <= 4e-6
    assert errors[1] <= 3e-9
    assert errors[2] <= 1e-11


def test_constant_curvature_is_a_circle():
    rod = er.Rod(1.0, er.Circle(0.01), SOFT, er.Legendre.planar(1), nodes=24, integration=er.Spectral())
    system = System(me.Mechanism.clamped(rod))
    _, p = SpectralCore(system).positions(arrays(system.rest().with_(q=[2.3])))
    np.testing.assert_allclose(p[-1], [np.sin(2.3) / 2.3, (1.0 - np.cos(2.3)) / 2.3, 0.0], atol=1e-13)


# Residual ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("foundation", ["clamped", "free"])
@pytest.mark.parametrize(
    "basis",
    [
        er.Legendre.reissner(2),
        er.Chebyshev.kirchhoff(3),
        er.PiecewiseLinear.extensible(2),
        er.PiecewiseConstant.planar(3),
    ],
)
def test_agrees_with_the_compiled_core(tools, basis, foundation):
    """With many nodes: what is left is the truncation of Magnus 6."""
    system, u = everything(tools, basis, foundation, nodes=60)
    state = arrays(tools.state(system))
    compiled, spectral = Core(with_integration(system, er.Magnus())), SpectralCore(system)
    assert relative(spectral.residual(state, u), compiled.residual(state, u)) <= 1e-10
    assert relative(spectral.tangent(state, u, WEIGHTS), compiled.tangent(state, u, WEIGHTS)) <= 1e-9
    assert relative(spectral.residual(state, u, jets=1), compiled.residual(state, u, jets=1)) <= 1e-10
    found = spectral.tangent(state, u, (1.0, 0.0, 0.0), jets=1)
    assert relative(found, compiled.tangent(state, u, (1.0, 0.0, 0.0), jets=1)) <= 1e-9
    assert (spectral.n, spectral.coordinates, spectral.rows) == (
        compiled.n,
        compiled.coordinates,
        compiled.rows,
    )


def test_a_driven_base(tools):
    rod = tools.rod(nodes=30, integration=er.Spectral())
    motion = me.Motion(lambda t: se3.exp(np.sin(1.0 + t) * np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3])))
    system = System(me.Mechanism.driven(rod, motion), loads=[en.Gravity()])
    state, u = arrays(tools.state(system)), np.ones(1)
    compiled, spectral = Core(with_integration(system, er.Magnus())), SpectralCore(system)
    assert np.abs(state.twist).max() > 0.1
    assert relative(spectral.residual(state, u), compiled.residual(state, u)) <= 1e-10


def test_residual_converges_faster_than_any_power(tools):
    """Error against nodes: the exponent of the observed power grows, and rounding is reached at 20."""

    def error(nodes):
        rod = tools.rod(er.Legendre.reissner(2), nodes=nodes, integration=er.Spectral())
        system = System(
            me.Mechanism.free(rod), loads=[en.Gravity(), en.PointWrench(rod, force=(1.0, 2.0, 0.5))]
        )
        return SpectralCore(system).residual(arrays(tools.state(system)), np.ones(2))

    exact, nodes = error(40), np.array([5, 8, 12])
    errors = np.array([relative(error(n), exact) for n in nodes])
    orders = -np.diff(np.log(errors)) / np.diff(np.log(nodes))
    assert orders[0] > 8.0
    assert orders[1] > orders[0]
    assert relative(error(20), exact) <= 1e-12


# Tangent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("foundation", ["clamped", "free"])
@pytest.mark.parametrize("basis", [er.Legendre.extensible(2), er.PiecewiseLinear.extensible(1)])
def test_tangent_is_the_derivative_of_the_discrete_residual(tools, basis, foundation):
    """Against five-point differences, with so few nodes that truncation is large: 1e-8 of each block."""
    system, u = everything(tools, basis, foundation, nodes=4)
    core, state = SpectralCore(system), tools.state(system)
    size, free, c = core.coordinates + core.rows, core.coordinates - core.n, core.coordinates
    for w in np.eye(3):

        def moved(h, d, w=w):
            base, q, multipliers = np.split(h * d, [free, c])
            changes = {
                "q": state.q + w[0] * q,
                "q_dot": state.q_dot + w[1] * q,
                "q_ddot": state.q_ddot + w[2] * q,
                "multipliers": state.multipliers + multipliers,
            }
            if free:
                changes["g"] = state.g @ se3.exp(w[0] * base)
                changes["eta"] = state.eta + w[1] * base
                changes["eta_dot"] = state.eta_dot + w[2] * base
            return core.residual(arrays(state.with_(**changes)), u)

        expected = np.stack([tools.difference(lambda h, d=d: moved(h, d)) for d in np.eye(size)], axis=1)
        found = core.tangent(arrays(state), u, tuple(w))
        for block in (
            (slice(0, c), slice(0, c)),
            (slice(0, c), slice(c, None)),
            (slice(c, None), slice(0, c)),
        ):
            if np.abs(expected[block]).max() > 1e-9:
                assert relative(found[block], expected[block]) <= 1e-8


def test_newton_with_either_core_ends_in_the_same_shape(tools):
    """Equilibrium of a cantilever under its weight: the two discretisations agree to their truncation."""
    rubber = er.Material(1e7, 1000.0, poisson=0.4)
    rod = er.Rod(0.5, er.Circle(0.01), rubber, er.Legendre.kirchhoff(3), integration=er.Spectral())
    system = System(me.Mechanism.clamped(rod), loads=[en.Gravity((0.0, -4.0, -8.0))])
    shapes = []
    for core in (SpectralCore(system), Core(with_integration(system, er.Magnus()))):
        state, u = system.rest(), np.ones(1)
        for _ in range(30):
            a = arrays(state)
            step = np.linalg.solve(core.tangent(a, u, (1.0, 0.0, 0.0), jets=1), core.residual(a, u, jets=1))
            state = state.with_(q=state.q - step)
        assert np.abs(step).max() <= 1e-10
        shapes.append(state.q)
    assert relative(shapes[0], shapes[1]) <= 1e-8


def test_nodes_are_shared_among_elements(tools):
    smooth = System(me.Mechanism.clamped(tools.rod(nodes=9, integration=er.Spectral())))
    assert [e.s.size for e in SpectralCore(smooth).elements] == [11]
    rod = tools.rod(er.PiecewiseConstant.kirchhoff(2), nodes=20, integration=er.Spectral())
    pieces = SpectralCore(System(me.Mechanism.clamped(rod))).elements
    assert [e.s.size for e in pieces] == [11, 11]
    assert pieces[0].s[-1] == pieces[1].s[0]
    # each element sees its own side of the jump
    assert pieces[0].B_Phi[-1].max(axis=0)[0] == 1.0
    assert pieces[1].B_Phi[0].max(axis=0)[1] == 1.0
