"""A run is the same to the last bit whatever the speed of the machine, which decides how many steps go in one call."""

import sys

import numpy as np
import pytest

import elver as ev

METHODS = [
    ev.Newmark(), ev.GeneralizedAlpha(rho_inf=0.6), ev.GaussLegendre4(), ev.RungeKutta4(), ev.SemiImplicitEuler(),
]  # fmt: skip


def eel():
    flesh = ev.Material(young=1e6, poisson=0.4, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.05), flesh, ev.Legendre.planar(8), name="eel")
    wave = ev.CurvatureWave((1.0, 0.5, 2.0), 1.0, 1.0, ramp=ev.c2_ramp(0.0, 1.0))
    shape, inputs = ev.rod_gait(rod, wave)
    return ev.System(ev.Mechanism.free(rod), shape, [ev.Lighthill(rod)]), inputs


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_clock_does_not_change_a_run(method, monkeypatch):
    system, inputs = eel()
    runs = []
    for seconds in (1e-9, 10.0):
        monkeypatch.setattr(sys.modules["elver.integrators.simulate"], "_CHUNK_SECONDS", seconds)
        runs.append(ev.simulate(system, None, 1.5, 1e-2, method, inputs))
    assert abs(runs[0]["eel/base/position"].values[-1, 0]) > 1e-3
    for name in runs[0].variables:
        np.testing.assert_array_equal(runs[0][name].values, runs[1][name].values, err_msg=str(name))
