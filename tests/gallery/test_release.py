"""The pages boyer-2023-release and boyer-2023-critical-step: their measures of a motion."""

import numpy as np
import pytest

import elver as ev
from elver.cli.folders import folder, load_module
from elver.one_rod.shooting.dynamics import shooting_dynamics

release = load_module(folder("gallery") / "boyer-2023-release", "run")
critical = load_module(folder("gallery") / "boyer-2023-critical-step", "run")


@pytest.fixture(scope="module")
def motion():
    return shooting_dynamics(*release.steel(), 0.01, 1e-3)


def test_energies_are_those_of_strain_modes(motion):
    system, state = release.steel()
    modes = ev.simulate(system, state, 0.01, 1e-3, ev.Newmark(), start="given")
    ours = release.energies(motion, release.YOUNG)
    for name in ("kinetic", "elastic", "gravity"):
        # gravity counts from the hanging rod; eight functions follow the sudden start to 2 % of the energy
        wanted = modes[f"energy/{name}"].values
        wanted = wanted - ev.energy(system, system.rest()).gravity if name == "gravity" else wanted
        assert ours[name][0] == pytest.approx(wanted[0], rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(ours[name], wanted, atol=0.02 * ours["total"][0])


def test_second_rate_is_that_of_the_solver(motion):
    largest = release.LENGTH * np.abs(critical.second_rate(motion)).max(axis=1)
    np.testing.assert_allclose(largest[1:], motion.strain_acceleration[1:], rtol=1e-9)


def test_frequency_of_a_cosine():
    time = np.linspace(0.0, 1.0, 1001)
    assert release.frequency(time, np.cos(2.0 * np.pi * 8.95 * time)) == pytest.approx(8.95, rel=1e-4)


def test_critical_step_is_bracketed():
    """All rods are one in units of τ; a lattice that does not hold Δt_c says so."""
    case = critical.Case(k=4.0, mu=1.0, l=2.0)
    assert case.tau == pytest.approx(2.0 * critical.Case().tau)
    assert np.isnan(critical.critical(critical.Case(), np.array([5e-3, 6e-3, 7e-3])))
