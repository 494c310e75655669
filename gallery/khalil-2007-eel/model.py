"""The eel-like robot of Khalil, Gallot, Boyer 2007: thirteen bodies, twelve spherical joints, 36 revolutes, in water.

The head is link 0, its frame at the nose with x towards the tail: the eel swims towards -x. Link 3i is body i, its
frame at its far end and its axis z; links 3i-2 and 3i-1 have no mass and make three revolutes one spherical joint.

Table I with two signs corrected: q0_2 and q0_4, printed π/2 and -π/2, would fold the body back onto the head; with the
opposite signs, which are those of its row 35, rows repeat and the body is straight at q = 0.

All bodies are elliptic cylinders as dense as the water, 1000 kg/m3 (the paper's ρ = 1 is read in g/cm3), since the
paper does not say where its half spheroid of the head and half ellipsoid of the tail begin. ``rounded`` ends are one
way to model them: slices of half ellipsoids, each a short elliptic cylinder.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import elver as ev

HALF_AXES = 0.065, 0.09  # m, of the section: 13 cm across, 18 cm high
HEAD, LINK, BODIES = 0.4, 0.14, 12  # m, m, behind the head
DENSITY = 1000.0  # kg/m3, of the eel and of the water
OFFSET = np.pi / 40.0  # rad, of each joint 3i-1 in the loop
ROUNDED, SLICES = 0.09, 6  # m, length of half ellipsoids where ends are rounded, as long as the section is half high
RISE = ev.smooth_step(0.0, 2.0)
WAVE = ev.TravellingWave(amplitude=0.06, growth=1.2, wavelength=1.8, period=2.0, ramp=RISE)
SIDE, LIFT, ROLL = (slice(k, None, 3) for k in range(3))  # joints 3i-2, 3i-1, 3i


@dataclass(frozen=True)
class Eel:
    """The robot and its joints, before anything acts on it."""

    mechanism: ev.Mechanism
    joints: tuple[ev.Revolute, ...]
    mass: float  # kg

    def imposed(self, wave: ev.TravellingWave = WAVE, lift: float = 0.0) -> tuple[ev.System, dict[Any, Any]]:
        """The eel in water with all joints imposed, and the inputs of its gait.

        q_{3i-2} = Q(X_{i+1}, t) - Q(X_i, t),  q_{3i-1} = f(t) lift,  q_{3i} = 0,  X_i = 0.14 (i - 1) m   (eq. 63-66)
        """
        drives, inputs = ev.joint_gait(self.joints[SIDE], wave, LINK * np.arange(BODIES + 1))
        lifts = [ev.Imposed(joint) for joint in self.joints[LIFT]]
        rolls = [ev.Imposed(joint) for joint in self.joints[ROLL]]
        every = [drive for three in zip(drives, lifts, rolls, strict=True) for drive in three]
        if lift:
            inputs |= dict.fromkeys(lifts, ev.smooth_step(0.0, 2.0, after=lift))
        return ev.System(self.mechanism, actuators=every, loads=[ev.Morison()]), inputs

    def driven(self) -> tuple[ev.System, list[ev.Motor]]:
        """The eel in water with a motor at each joint, and these motors in order."""
        motors = [ev.Motor(joint) for joint in self.joints]
        return ev.System(self.mechanism, actuators=motors, loads=[ev.Morison()]), motors


def table(first: float = -np.pi / 2, second: float = np.pi / 2) -> list[ev.MDHRow]:
    """Table I; ``first`` and ``second`` are q0_{3i-1} and q0_{3i+1} [rad], printed with the opposite signs."""
    quarter = np.pi / 2
    rows = []
    for i in range(1, BODIES + 1):
        begin = ev.MDHRow(0.0, HEAD, 0.0, 0.0) if i == 1 else ev.MDHRow(quarter, 0.0, second, 0.0)
        rows += [begin, ev.MDHRow(-quarter, 0.0, first, 0.0), ev.MDHRow(-quarter, 0.0, quarter, LINK)]
    return rows


def eel(*, rounded: bool = False, rows: list[ev.MDHRow] | None = None) -> Eel:
    """The robot of the paper; with ``rounded`` ends, or with another table."""
    short = ROUNDED if rounded else 0.0
    head = _cylinder("link-0", "x", short, HEAD)
    links = [head]
    for i in range(1, BODIES + 1):
        end = -short if i == BODIES else 0.0
        links += [ev.RigidBody.massless(f"link-{j}") for j in (3 * i - 2, 3 * i - 1)]
        links.append(_cylinder(f"link-{3 * i}", "z", -LINK, end))
    joints = ev.mdh_chain(links, rows or table())
    slices = []
    if rounded:
        slices = [(head, body) for body in _half_ellipsoid("nose", "x", short, 0.0)]
        slices += [(links[-1], body) for body in _half_ellipsoid("tail", "z", -short, 0.0)]
    fixed = [ev.Fixed(link, body) for link, body in slices]
    mechanism = ev.Mechanism([ev.Floating("world", head, name="free"), *joints, *fixed])
    return Eel(mechanism, joints, float(sum(body.mass for body in mechanism.bodies)))


def _cylinder(name: str, axis: str, start: float, end: float, scale: float = 1.0) -> ev.RigidBody:
    """Elliptic cylinder from ``start`` to ``end`` [m] on an axis of its frame; half axes times ``scale``."""
    centre = 0.5 * (start + end) * np.eye(3)["xyz".index(axis)]
    half_axes = tuple(scale * half for half in HALF_AXES)
    return ev.RigidBody.elliptic_cylinder(half_axes, abs(end - start), axis, density=DENSITY, name=name, centre=centre)


def _half_ellipsoid(name: str, axis: str, wide: float, pole: float) -> list[ev.RigidBody]:
    """Slices of a half ellipsoid from its ``wide`` end to its ``pole`` [m], each of its true volume.

    Half axes are √(1 - u²) of the section's, u from 0 to 1; between u and v the mean square is 1 - (u²+uv+v²)/3.
    """
    cuts = np.linspace(0.0, 1.0, SLICES + 1)
    bodies = []
    for k, (u, v) in enumerate(pairwise(cuts), start=1):
        scale = np.sqrt(1.0 - (u * u + u * v + v * v) / 3.0)
        ends = sorted(wide + (pole - wide) * x for x in (u, v))
        bodies.append(_cylinder(f"{name}-{k}", axis, *ends, scale=scale))
    return bodies
