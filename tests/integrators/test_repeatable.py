"""A run does not hang on the clock, which decides how many steps go in one call.

Implicit methods carry all they know from call to call. Explicit ones evaluate anew where a call begins, which changes
the last digits; so their calls have one size.
"""

import sys

import numpy as np
import pytest

import elver as ev

IMPLICIT = [ev.Newmark(), ev.GeneralizedAlpha(rho_inf=0.6), ev.GaussLegendre4()]
EXPLICIT = [ev.RungeKutta4(), ev.SemiImplicitEuler()]
MODULE = "elver.integrators.simulate"


def eel():
    flesh = ev.Material(young=1e6, poisson=0.4, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.05), flesh, ev.Legendre.planar(8), name="eel")
    wave = ev.CurvatureWave((1.0, 0.5, 2.0), 1.0, 1.0, ramp=ev.c2_ramp(0.0, 1.0))
    shape, inputs = ev.rod_gait(rod, wave)
    return ev.System(ev.Mechanism.free(rod), shape, [ev.Lighthill(rod)]), inputs


@pytest.mark.filterwarnings("ignore:simulate. energy")  # that of an explicit method of order one
@pytest.mark.parametrize("method", [*IMPLICIT, *EXPLICIT], ids=lambda method: type(method).__name__)
def test_the_clock_does_not_change_a_run(method, monkeypatch):
    system, inputs = eel()
    ev.simulate(system, None, 0.01, 1e-2, method, inputs)  # the module is there
    march = sys.modules["elver.integrators.march"].March
    advance, sizes, runs = march.advance, [], []

    def watched(self, grid):
        sizes[-1].append(grid.size)
        return advance(self, grid)

    monkeypatch.setattr(march, "advance", watched)
    for seconds in (1e-9, 10.0):
        monkeypatch.setattr(f"{MODULE}._CHUNK_SECONDS", seconds)
        sizes.append([])
        runs.append(ev.simulate(system, None, 1.5, 1e-2, method, inputs))
    assert abs(runs[0]["eel/base/position"].values[-1, 0]) > 1e-3
    assert (sizes[0] == sizes[1]) == (method in EXPLICIT)
    for name in runs[0].data_vars:
        if runs[0][name].dtype == float:
            one, two = runs[0][name].values, runs[1][name].values
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * (1.0 + np.abs(two).max()), err_msg=str(name))
