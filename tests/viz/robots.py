"""The robots that tests of the live view play with."""

from __future__ import annotations

import warnings

import numpy as np

import elver as ev


def soft_arm(damping: float = 0.02) -> ev.System:
    """A silicone arm with one tendon, in gravity."""
    silicone = ev.Material(young=1e6, poisson=0.45, density=1070.0, damping=damping)
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=4, torsion=2), name="arm")
    tendon = ev.Tendon(rod, path=ev.parallel(y=6e-3, z=0.0), name="pull")
    return ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.Gravity()])


def rfrfr() -> ev.System:
    """Two rods on motors, hinged at their tips: the hinge asks what the plane gives already, and that is known."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    left, right = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), name=n) for n in ("left", "right"))
    joints = [
        ev.Revolute(("world", (-0.2, 0.0, 0.0)), (left, "base"), name="J1", start=np.pi / 2),
        ev.Revolute(("world", (0.2, 0.0, 0.0)), (right, "base"), name="J4", start=np.pi / 2),
        ev.Revolute((left, "tip"), (right, "tip"), name="P"),
    ]
    system = ev.System(ev.Mechanism(joints), [ev.Motor(joints[0], name="tau_1"), ev.Motor(joints[1], name="tau_2")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        ev.equilibrium(system)
    return system
