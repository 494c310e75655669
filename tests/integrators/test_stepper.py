"""A motion advanced piece by piece keeps the balance of its energy as a run does."""

import numpy as np
import pytest

import elver as ev
from elver.integrators.stepper import Stepper


def arm(**damping):
    rod = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(1e6, poisson=0.45, density=1e3, **damping), ev.Legendre(bending=3))
    return ev.System(ev.Mechanism.clamped(rod), [ev.Tendon(rod, ev.parallel(z=6e-3), name="pull")], [ev.Gravity()])


@pytest.mark.parametrize("method", [ev.GeneralizedAlpha(0.6), ev.Conserving(), ev.Conserving(0.8)])
def test_its_ledger_is_that_of_a_run(method):
    system = arm(damping=1e-2)
    run = ev.simulate(system, duration=1.0, step=1e-2, method=method, inputs={"pull": 2.0})
    stepper = Stepper(system, system.rest(), 1e-2, method, {"pull": 2.0})
    for count in (16, 4, 30, 50):
        stepper.advance(count)
    assert stepper.state.q == pytest.approx(run["q"].values[-1], rel=1e-9)
    assert stepper.verdict.error == pytest.approx(run.attrs["energy_error"], rel=1e-6, abs=1e-9)
    assert stepper.verdict.in_play == pytest.approx(run.attrs["energy_in_play"], rel=1e-9)
    assert stepper.verdict.steps == 100


@pytest.mark.parametrize("method", [ev.GeneralizedAlpha(0.8), ev.Conserving()])
def test_what_calms_it_is_no_error_of_the_method(method):
    """With calm the kinetic energy goes; inputs jump between calls; both are booked where they belong."""
    system = arm()
    stepper = Stepper(system, system.rest(), 1e-3, method)
    for k in range(60):
        stepper.signals = system.signals({"pull": 2.0 * (k % 20 < 10)})
        stepper.advance(10, calm=2.0)
    assert abs(stepper.verdict.error) < 0.02
    assert stepper.verdict.words == ()


def test_it_speaks_of_the_last_seconds(monkeypatch):
    """A start that is off is forgotten after two windows, and nothing piles up."""
    monkeypatch.setattr("elver.integrators.stepper._WINDOW", 0.5)
    system = arm(damping=5e-2)
    stepper = Stepper(system, system.rest(), 2e-2, ev.GeneralizedAlpha(0.0), {"pull": 8.0})
    stepper.advance(20)
    assert stepper.verdict.words
    for _ in range(30):
        stepper.advance(20)
    assert not stepper.verdict.words
    assert len(stepper.ledger.series) <= 4
    assert np.isfinite(stepper.verdict.error)
