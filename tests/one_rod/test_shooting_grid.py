"""What acts on a moving rod along its length, by shooting beside strain modes."""

from __future__ import annotations

import numpy as np

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.shooting.dynamics import shooting_dynamics

DOWN = se3.pose(so3.exp(np.array([0.0, np.pi / 2.0, 0.0])), np.zeros(3))


def test_tendons_and_following_loads_move_as_with_strain_modes():
    """Tension that rises on a rod in a wind that follows it; tendons depend on the strain at each section."""
    rod = ev.Rod(0.4, ev.Circle(1e-2), ev.Material(2e6, poisson=0.4, density=1000.0), ev.Legendre.kirchhoff(12))
    cable = ev.Tendon(rod, ev.helical(8e-3, 0.5))
    wind = ev.DistributedWrench(rod, force=(0.0, 0.2, 0.1), moment=(0.0, 0.0, 0.01), frame="section")
    system = ev.System(ev.Mechanism.clamped(rod, pose=DOWN), [cable], [ev.Gravity(), wind])
    inputs = {cable: ev.c2_ramp(0.0, 0.1, 0.0, 8.0)}
    motion = shooting_dynamics(system, None, 0.3, 5e-3, inputs=inputs, nodes=240)
    scheme = ev.GeneralizedAlpha(rho_inf=0.6) if system.multipliers else ev.Newmark()  # those of shooting
    modes = ev.simulate(system, None, 0.3, 5e-3, inputs=inputs, start="given", method=scheme)
    tips = modes["rod/tip/position"].values
    assert np.linalg.norm(tips - tips[0], axis=1).max() > 0.1
    # by our own runs 8, 12, 16 functions leave 5.5e-6, 6.4e-7, 1.7e-7 m
    assert np.linalg.norm(tips - motion.tip, axis=1).max() < 1e-6
    # Newton with the exact slopes of tendons, 1e-8 of a radian
    assert motion.iterations[1:].max() <= 5
