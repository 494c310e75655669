"""Rods tied to themselves: a ring has the energy of a circle, and the force of a bent wire."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev

SILICONE = ev.Material(young=1e6, poisson=0.45, density=1070.0)


@pytest.mark.parametrize("basis", [ev.Legendre.planar(6), ev.Legendre.kirchhoff(4)], ids=["planar", "spatial"])
@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
def test_a_straight_rod_tied_to_its_own_base_becomes_a_circle(basis: ev.Legendre) -> None:
    rod = ev.Rod(1.0, ev.Circle(0.01), SILICONE, basis, name="ring")
    joints = [ev.Fixed("world", (rod, "base")), ev.Fixed((rod, "tip"), (rod, "base"), name="weld")]
    system = ev.System(ev.Mechanism(joints))
    ring = ev.equilibrium(system)
    # in space the circle may lie in any plane through the base's tangent: nothing resists that
    assert np.min(ev.stability(system, ring).eigenvalues) > -1e-9
    EI = rod.stiffness([0.0])[0, 2]
    assert ev.energy(system, ring.state).elastic == pytest.approx(0.5 * EI * (2.0 * np.pi) ** 2, rel=1e-6)
    far = ring.pose(rod, 0.5)[:3, 3]
    assert np.linalg.norm(far) == pytest.approx(1.0 / np.pi, rel=1e-6)
