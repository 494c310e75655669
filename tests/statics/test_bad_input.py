"""What statics refuses, in which words, and what it keeps when there is no equilibrium."""

import numpy as np
import pytest

import elver as ev


@pytest.fixture
def system():
    rod = ev.Rod(
        0.4,
        ev.Circle(0.004),
        ev.Material(young=1e7, poisson=0.45, density=1000.0),
        ev.Legendre.planar(4),
        name="arm",
    )
    return ev.System(ev.Mechanism.clamped(rod), [ev.Tendon(rod, ev.parallel(0.003, 0.0), name="pull")], [ev.Gravity()])


def test_unknown_inputs_are_named_with_those_that_exist(system):
    with pytest.raises(ev.BadInput, match=r"'pul' is not part of this system; its inputs are 'pull', 'gravity'"):
        ev.equilibrium(system, {"pul": 1.0})
    with pytest.raises(ev.BadInput, match=r"'push' is not part"):
        ev.continuation(system, "push", stop=1.0)


def test_a_negative_tension_is_refused_with_its_value(system):
    with pytest.raises(ev.BadInput, match=r"tension of 'pull' = -2 N: .*>= 0 N"):
        ev.equilibrium(system, {"pull": -2.0})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_inputs_are_finite(system, value):
    with pytest.raises(ev.BadInput, match=r"'pull'"):
        ev.equilibrium(system, {"pull": value})


def test_tolerances_and_limits_are_positive(system):
    with pytest.raises(ev.BadInput, match="tolerance"):
        ev.equilibrium(system, tolerance=0.0)
    with pytest.raises(ev.BadInput, match="max_iterations = 0: allow at least one"):
        ev.equilibrium(system, max_iterations=0)
    with pytest.raises(ev.BadInput, match="step"):
        ev.continuation(system, "pull", stop=1.0, step=-0.1)
    with pytest.raises(ev.BadInput, match="max_points = 1: a branch needs at least 2"):
        ev.continuation(system, "pull", stop=1.0, max_points=1)


@pytest.mark.parametrize("stop", [0.0, np.nan, np.inf])
def test_a_branch_goes_somewhere(system, stop):
    with pytest.raises(ev.BadInput, match=r"stop = .*other than its start 0"):
        ev.continuation(system, "pull", stop=stop)


def test_a_state_belongs_to_its_system(system):
    rod = ev.Rod(0.4, ev.Circle(0.004), system.rod.material, ev.Legendre.planar(3))
    other = ev.System(ev.Mechanism.clamped(rod))
    with pytest.raises(ev.BadInput, match=r"shape \(3,\).*needs \(4,\)"):
        ev.equilibrium(system, guess=other.rest())


def test_a_length_that_cannot_be_wound_in_keeps_what_was_reached():
    # constant curvature shortens this cable by at most L (2 - √2) = 0.234 m
    rod = ev.Rod(
        0.4,
        ev.Circle(0.004),
        ev.Material(young=1e7, poisson=0.45, density=1000.0),
        ev.PiecewiseConstant.planar(1),
    )
    spool = ev.SpooledTendon(rod, ev.convergent(0.2, 0.0), name="spool", reach=0.2)
    system = ev.System(ev.Mechanism.clamped(rod), [spool])
    with pytest.raises(ev.NotConverged, match=r"beyond \d+\.\d % of the inputs.*lighten the load.*\.result") as caught:
        ev.equilibrium(system, {spool: 0.3})
    last = caught.value.result
    assert 0.1 < last.inputs[0] < 0.234
    assert last.residual < 1e-9
    again = ev.equilibrium(system, {spool: last.inputs[0]})
    np.testing.assert_allclose(again.tip, last.tip, atol=1e-8)


def test_signals_are_taken_at_the_time_of_the_guess(system):
    later = system.rest(t=2.0)
    found = ev.equilibrium(system, {"pull": lambda t: 0.5 * t}, guess=later)
    assert found.inputs[0] == 1.0
    assert found.state.time == 2.0
