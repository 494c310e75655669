"""Robots that several tests of statics build."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core

STEEL = ev.Material(young=210e9, shear=80e9, density=7800.0)


def planar(joints, actuators=(), loads=()):
    """A system whose loops lie in a plane: the rows that say so twice are expected."""
    system = ev.System(ev.Mechanism(joints), actuators, loads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        core(system)
    return system


def rfrfr(start=(np.pi / 2, np.pi / 2), drive=ev.Motor, distance=0.4, functions=3, loads=()):
    """Two rods of 1 m between base motors 0.4 m apart and one passive hinge (Gotelli 2024, section 5.4)."""
    rods = [ev.Rod(1.0, ev.Circle(1e-3), STEEL, ev.Legendre.planar(functions), name=f"rod{k}") for k in (1, 2)]
    bases = [
        ev.Revolute(("world", (x, 0, 0)), (rod, "base"), name=name, start=angle)
        for x, rod, name, angle in zip((-distance / 2, distance / 2), rods, ("J1", "J4"), start, strict=True)
    ]
    hinge = ev.Revolute((rods[0], "tip"), (rods[1], "tip"), name="P")
    return planar([*bases, hinge], [drive(joint, name=f"drive{k}") for k, joint in zip((1, 4), bases)], loads)


def four_bar(lengths=(0.2, 0.5, 0.4, 0.5), start=(1.0, -1.0, -0.5), imposed=False, gravity=False):
    """Crank, coupler, rocker and the distance of the two pins in the ground [m], of rigid bars."""
    a, b, c, d = lengths
    bars = {
        name: ev.RigidBody.box((l, 0.02, 0.02), mass=l, name=name)
        for name, l in (("crank", a), ("coupler", b), ("rocker", c))
    }
    crank, coupler, rocker = bars.values()
    drive = ev.Revolute("world", (crank, (-a / 2, 0, 0)), name="drive", start=start[0])
    joints = [
        drive,
        ev.Revolute((crank, (a / 2, 0, 0)), (coupler, (-b / 2, 0, 0)), name="A", start=start[1]),
        ev.Revolute(("world", (d, 0, 0)), (rocker, (-c / 2, 0, 0)), name="D", start=start[2]),
        ev.Revolute((coupler, (b / 2, 0, 0)), (rocker, (c / 2, 0, 0)), name="B"),
    ]
    loads = [ev.Gravity((0.0, -9.81, 0.0))] if gravity else []
    return planar(joints, [ev.Imposed(drive, name="angle")] if imposed else [], loads)


def slider_crank(crank=0.2, rod=0.5, start=(2.0, -1.0, 0.3), imposed=True):
    """A piston on the x axis, driven by a crank."""
    arm = ev.RigidBody.box((crank, 0.02, 0.02), mass=1.0, name="crank")
    link = ev.RigidBody.box((rod, 0.02, 0.02), mass=1.0, name="link")
    piston = ev.RigidBody.box((0.05, 0.05, 0.05), mass=1.0, name="piston")
    drive = ev.Revolute("world", (arm, (-crank / 2, 0, 0)), name="drive", start=start[0])
    joints = [
        drive,
        ev.Revolute((arm, (crank / 2, 0, 0)), (link, (-rod / 2, 0, 0)), name="pin", start=start[1]),
        ev.Prismatic("world", piston, axis="x", name="guide", start=start[2]),
        ev.Revolute((link, (rod / 2, 0, 0)), piston, name="wrist"),
    ]
    return planar(joints, [ev.Imposed(drive, name="angle")] if imposed else [])


def six_limbs(angles=(0.0,) * 6, drive=ev.Imposed, functions=3, gravity=True):
    """Six Kirchhoff rods from revolutes on a circle to balls under a platform."""
    platform = ev.RigidBody.cylinder(radius=0.1, length=0.02, mass=0.5, axis="z", name="platform")
    dural = ev.Material(young=70e9, shear=26e9, density=2700.0)
    joints, drives = [], []
    for k, angle in enumerate(angles):
        side = -0.3 if k % 2 == 0 else 0.3
        at = 2.0 * np.pi / 3.0 * (k // 2) + side
        head = 2.0 * np.pi / 3.0 * ((k + 1) // 2) - side - np.pi / 3.0
        rod = ev.Rod(0.6, ev.Circle(1e-3), dural, ev.Legendre.kirchhoff(functions), name=f"limb{k}")
        out, up = np.array([np.cos(at), np.sin(at), 0.0]), np.array([0.0, 0.0, 1.0])
        foot = np.eye(4)
        foot[:3, :3] = np.column_stack([up, out, np.cross(up, out)])  # the rod stands, and turns outward
        foot[:3, 3] = 0.15 * out
        joint = ev.Revolute(("world", foot), (rod, "base"), name=f"motor{k}", start=angle)
        ball = ev.Spherical(
            (rod, "tip"), (platform, (0.1 * np.cos(head), 0.1 * np.sin(head), 0.0)), name=f"ball{k}"
        )
        joints += [joint, ball]
        drives.append(drive(joint, name=f"drive{k}"))
    return ev.System(ev.Mechanism(joints), drives, [ev.Gravity()] if gravity else [])


def pendulums(count, gravity=True, start=0.0):
    """A chain of bars on hinges, hanging from the origin."""
    bars = [ev.RigidBody.box((0.3, 0.02, 0.02), mass=1.0, name=f"bar{k}") for k in range(count)]
    joints = [
        ev.Revolute(
            "world" if k == 0 else (bars[k - 1], (0.15, 0, 0)),
            (bars[k], (-0.15, 0, 0)),
            name=f"hinge{k}",
            start=start if k == 0 else 0.1,
        )
        for k in range(count)
    ]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity((0.0, -9.81, 0.0))] if gravity else [])


def flat_rfrfr(distance=0.92, functions=3):
    """Two flat rods nearly in line between imposed base angles, a mass at the hinge, in the plane of gravity.

    Gotelli 2024, section 4.4 (the prototype that crosses a singularity), with the choices of the specification.
    """
    glass = ev.Material(young=36e9, poisson=0.3, density=1900.0)
    section = ev.Rectangle(0.0025, 0.010)
    rods = [ev.Rod(0.47, section, glass, ev.Legendre.planar(functions), name=f"rod{k}") for k in (1, 2)]
    facing = np.diag([-1.0, -1.0, 1.0, 1.0])
    facing[0, 3] = distance / 2
    left = ev.Revolute(("world", (-distance / 2, 0, 0)), (rods[0], "base"), name="J1", start=np.pi / 6)
    right = ev.Revolute(("world", facing), (rods[1], "base"), name="J2", start=-np.pi / 6)
    platform = ev.RigidBody.sphere(1e-3, mass=0.4, name="platform")
    joints = [
        left,
        right,
        ev.Revolute((rods[0], "tip"), (rods[1], "tip"), name="P"),
        ev.Fixed((rods[0], "tip"), platform, name="mount"),
    ]
    gravity = 9.81 * np.array([np.sin(2e-3), -np.cos(2e-3), 0.0])
    return planar(joints, [ev.Imposed(left, name="q1"), ev.Imposed(right, name="q2")], [ev.Gravity(gravity)])


@pytest.fixture(scope="session")
def robots():
    """Builders of robots."""
    return SimpleNamespace(
        planar=planar,
        rfrfr=rfrfr,
        four_bar=four_bar,
        slider_crank=slider_crank,
        six_limbs=six_limbs,
        pendulums=pendulums,
        flat_rfrfr=flat_rfrfr,
    )
