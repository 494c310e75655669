"""Statics, last two bullets: an equilibrium keeps its inputs wherever a state is taken; moving bases are balanced."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.integrators.stepper import Stepper

RUBBER = ev.Material(young=2.0e6, poisson=0.5, density=1000.0)
PULL = 0.19  # N


@pytest.fixture(scope="module")
def arm() -> tuple[ev.System, ev.Tendon, ev.Equilibrium]:
    """An arm that a tendon beside it bends by more than half a turn."""
    rod = ev.Rod(0.3, ev.Circle(4e-3), RUBBER, ev.Legendre.kirchhoff(6), name="arm")
    tendon = ev.Tendon(rod, ev.parallel(z=3e-2), reach=3e-2, name="pull")
    system = ev.System(ev.Mechanism.clamped(rod), [tendon])
    return system, tendon, ev.equilibrium(system, {tendon: PULL})


# An Equilibrium is taken as it is ----------------------------------------------------------------------------------


def test_modes_about_an_equilibrium_are_those_of_small_motions_under_its_inputs(arm):
    """``modes(s, e)`` forgot the tendon; a run of small amplitude, which has it, is the independent measure."""
    system, tendon, held = arm
    found = ev.modes(system, held, count=1)
    slow = float(found.frequencies[0])
    start = held.state.with_(q=held.state.q + 1e-4 * found.shapes[:, 0])
    run = ev.simulate(system, start, 6.0 / slow, 0.01 / slow, ev.GaussLegendre4(), {tendon: PULL})
    swing = (run["q"].values - held.state.q) @ found.shapes[:, 0]
    assert _frequency(run["time"].values, swing) == pytest.approx(slow, rel=2e-4)
    # the fault: without its tension the same shape has another frequency, and now a word is said
    with pytest.warns(ev.ElverWarning, match="not in balance"):
        forgotten = ev.modes(system, held.state, count=1)
    assert abs(forgotten.frequencies[0] - slow) > 0.1 * slow


def test_every_function_of_a_state_takes_an_equilibrium(arm):
    system, tendon, held = arm
    given = {tendon: PULL}
    for function in (ev.inverse_dynamics, ev.bias_forces):
        np.testing.assert_array_equal(function(system, held), function(system, held.state, given))
        assert np.max(np.abs(function(held))) < 1e-8  # in balance, system and inputs known
        np.testing.assert_array_equal(function(system, held, {"pull": 0.0}), function(system, held.state))
    np.testing.assert_array_equal(ev.mass_matrix(held), ev.mass_matrix(system, held.state))
    np.testing.assert_array_equal(ev.poses(held), ev.poses(system, held.state))
    np.testing.assert_array_equal(ev.momentum(held), np.zeros(6))
    assert ev.energy(held) == ev.energy(system, held.state)
    assert np.max(np.abs(ev.forward_dynamics(held).q_ddot)) < 1e-3 < np.max(
        np.abs(ev.forward_dynamics(system, held.state).q_ddot)
    )
    for function, field in (
        (ev.tangent_inverse_dynamics, "dQ_dq"), (ev.tangent_forward_dynamics, "dq_ddot_dq"), (ev.linearize, "A")
    ):
        np.testing.assert_array_equal(
            getattr(function(system, held), field), getattr(function(system, held.state, given), field)
        )
    np.testing.assert_array_equal(ev.modes(held).frequencies, ev.modes(system, held.state, given).frequencies)
    np.testing.assert_array_equal(ev.assemble(system, guess=held).q, held.state.q)


def test_energy_counts_the_factor_of_gravity_that_held_the_equilibrium():
    rod = ev.Rod(0.3, ev.Circle(8e-3), RUBBER, ev.Legendre.kirchhoff(5))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
    half = ev.equilibrium(system, {"gravity": 0.5})
    assert ev.energy(half).gravity == pytest.approx(0.5 * ev.energy(system, half.state).gravity, rel=1e-14)


def test_a_run_from_an_equilibrium_stays_there_until_other_inputs_are_given(arm):
    system, tendon, held = arm
    stays = ev.simulate(system, held, 0.2, 1e-2)
    assert np.max(np.abs(stays["arm/tip/position"].values - held.tip[:3, 3])) < 1e-9
    cut = ev.simulate(system, held, 0.2, 1e-2, inputs={tendon: 0.0})
    np.testing.assert_array_equal(cut["q"].values, ev.simulate(system, held.state, 0.2, 1e-2)["q"].values)
    stepper = Stepper(system, held, 1e-2, ev.GeneralizedAlpha(rho_inf=0.6))
    stepper.advance(20)
    assert np.max(np.abs(stepper.state.q - held.state.q)) < 1e-8


def test_inputs_of_the_same_name_are_taken_over_by_another_system(arm):
    system, tendon, held = arm
    push = ev.PointWrench(system.rod, force=(1.0, 0.0, 0.0), name="push")
    other = ev.System(system.mechanism, [tendon], [push])
    np.testing.assert_allclose(ev.inverse_dynamics(other, held, {"push": 0.0}), ev.inverse_dynamics(held), atol=1e-12)


def test_what_is_no_state_is_refused_in_words(arm):
    system, *_ = arm
    with pytest.raises(ev.BadInput, match=r"state = 3\.0: give a State or an Equilibrium"):
        ev.modes(system, 3.0)
    with pytest.raises(ev.BadInput, match="system is a Mechanism: give a System"):
        ev.modes(system.mechanism, system.rest())


def _frequency(time: np.ndarray, signal: np.ndarray) -> float:
    """Hz, from the first and last upward crossing of zero, interpolated."""
    up = np.flatnonzero((signal[:-1] < 0.0) & (signal[1:] >= 0.0))
    at = time[up] - signal[up] * (time[up + 1] - time[up]) / (signal[up + 1] - signal[up])
    return float((at.size - 1) / (at[-1] - at[0]))
