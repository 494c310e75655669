"""Runs that begin from the equilibrium that other inputs held."""

import numpy as np
import pytest

import elver as ev


def arm():
    silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=4), name="arm")
    front, side = (ev.Tendon(rod, ev.parallel(y=y, z=z), name=n) for n, y, z in (("front", 0, 6e-3), ("side", 6e-3, 0)))
    return ev.System(ev.Mechanism.clamped(rod), actuators=[front, side], loads=[ev.Gravity()])


@pytest.mark.parametrize("by_name", [True, False])
def test_inputs_as_a_state_are_the_equilibrium_under_them(by_name):
    """Those that are not named are as in the run, at its first instant."""
    system = arm()
    front, side = system.actuators
    inputs = {"side": ev.ramp(0.0, 0.1, 1.0, 2.0), "front": 0.0}
    bent = ev.equilibrium(system, {front: 3.0, side: 1.0})
    wanted = ev.simulate(system, bent, 0.05, 2e-3, inputs=inputs)
    found = ev.simulate(system, {"front" if by_name else front: 3.0}, 0.05, 2e-3, inputs=inputs)
    for name in wanted.variables:
        np.testing.assert_array_equal(found[name].values, wanted[name].values)
    assert np.ptp(found["arm/tip/position"].values[:, 2]) > 1e-3


def test_no_inputs_as_a_state_are_the_equilibrium_of_the_run():
    system = arm()
    still = ev.simulate(system, {}, 0.05, 1e-2, inputs={"front": 1.0})
    assert np.ptp(still["arm/tip/position"].values, axis=0).max() < 1e-9
    with pytest.raises(ev.BadInput, match="'frant' is not part of this system"):
        ev.simulate(system, {"frant": 1.0})
