"""Steps too short for shooting are refused, warned of or failed with the number, the law and the remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import elver as ev
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.critical_step import Ringing, growth_per_segment, shooting_exponent, shooting_growth
from elver.one_rod.shooting.dynamics import shooting_dynamics

STEEL = ev.Material(young=207e9, poisson=0.3, density=8000.0)
LAW = r"near which shooting becomes critical \(τ/100, Boyer 2023; τ = L²√\(ρA/EI\) = 0.0629 s\)"


def released() -> tuple[ev.System, ev.State]:
    """The rod of Boyer's test 2, bent like K ∝ 1 - s/L by the tendon that is cut; no gravity."""
    rod = ev.Rod(0.4, ev.Circle(1e-3), STEEL, ev.Legendre.planar(4), name="arm")
    system = ev.System(ev.Mechanism.clamped(rod))
    return system, system.rest().with_(q=np.array([0.92, -0.92, 0.0, 0.0]))


def test_growth_without_the_equation_of_the_acceleration_is_the_same():
    """Acceptance 13, what is identical for A4 and A5: the growth of one shoot, at 1 and 0.1 ms."""
    system, _ = released()
    for step in (1e-3, 1e-4):
        assert shooting_growth(system, step, hybrid=True) == pytest.approx(shooting_growth(system, step), rel=1e-9)


def test_exponents_of_waves():
    """√(τ/h) of bending, 2L/ch of torsion and stretch: of a soft thick rod the waves decide."""
    system, _ = released()
    assert shooting_exponent(RodProblem.of(system), 1e-3) == pytest.approx(np.sqrt(62.9086), rel=1e-5)
    thick = ev.Rod(1.0, ev.Circle(0.05), ev.Material(young=1e6, poisson=0.5, density=1e3), ev.Legendre.reissner(2))
    problem = RodProblem.of(ev.System(ev.Mechanism.clamped(thick)))
    slowest = np.sqrt(1e6 / 3.0 / 1e3)  # m/s, torsion and shear
    assert shooting_exponent(problem, 2e-3) == pytest.approx(2.0 / (slowest * 2e-3))
    assert growth_per_segment(problem, 2e-3, 5) == pytest.approx(np.exp(0.4 / (slowest * 2e-3)))


def test_a_step_that_leaves_no_digit_is_refused():
    system, state = released()
    message = rf"no digit left: the step of 5e-05 s is below 0.00063 s, {LAW}.*1 segments amplifies by about 2.5e\+15"
    with pytest.raises(ev.BadInput, match=message) as caught:
        shooting_dynamics(system, state, 1e-3, 5e-5, segments=1, nodes=400)
    assert "take segments=6 or more" in str(caught.value)
    assert "take a longer step, more nodes" in str(caught.value)


def test_nodes_that_do_not_resolve_the_step_are_warned_of():
    system, state = released()
    with pytest.warns(ev.ElverWarning, match=rf"step of 0.0001 s is below.*{LAW}.*30 intervals .*take nodes=71"):
        shooting_dynamics(system, state, 2e-4, 1e-4, nodes=30)


def test_ringing_is_heard_before_the_run_breaks():
    """Below the critical step: a warning while shapes are good, then a failure with all that was computed."""
    system, state = released()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ev.ElverWarning)
        with pytest.raises(ev.NotConverged) as caught:
            shooting_dynamics(system, state, 0.4, 0.5e-3, segments=5, nodes=30, own_midpoints=True)
    assert len(heard) == 1
    said = str(heard[0].message)
    for part in ("the step of 0.0005 s is below 0.00063 s", "each of 5 segments amplifies by about 9.4e+00",
                 "rings from step to step", "GeneralizedAlpha(rho_inf=0.8)"):  # fmt: skip
        assert part in said
        assert part in str(caught.value)
    run = caught.value.result
    when = float(said.split("from t = ")[1].split(" s")[0])
    assert 0.0 < when < run.time[-1]
    # until the warning the run is that of a scheme which does not ring, within 1 % of the amplitude
    good = shooting_dynamics(system, state, when, 0.5e-3, segments=5, nodes=30)
    off = np.abs(good.tip - run.tip[: good.time.size]).max()
    assert off < 0.01 * np.abs(run.tip[:, 1]).max()
    assert good.ringing.max() < 0.1 * run.ringing.max()


def test_ringing_that_grows_in_proportion_to_time_is_no_alarm():
    n = np.arange(400.0)
    sizes = {"steady": 1.0 + 0.0 * n, "after an event": np.maximum(n - 150.0, 0.0), "exponential": np.exp(n / 40.0)}
    alarms = {}
    for name, size in sizes.items():
        ear, alarms[name] = Ringing(1e-3), False
        for k in range(n.size):
            ear.heard(1e6 * (-1.0) ** k * size[k] * np.ones(3))
            alarms[name] |= ear.grows
    assert alarms == {"steady": False, "after an event": False, "exponential": True}


def test_damping_stops_the_ringing():
    """The remedy that the message names: the run that breaks above, with generalized-α."""
    system, state = released()
    method = ev.GeneralizedAlpha(rho_inf=0.8)
    run = shooting_dynamics(system, state, 0.1, 0.5e-3, segments=5, nodes=30, own_midpoints=True, method=method)
    assert run.ringing.max() < 10.0
