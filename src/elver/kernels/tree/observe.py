"""What a run shows: poses and velocities of all frames, energies, momentum, lengths of cables, for many states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.algebra import act_back, coact, dot, moved, plus, put, six, times, velocity_at
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import OWN, own_energies, unpack
from elver.kernels.terms.spans import span_residual
from elver.kernels.terms.strain_loads import beyond, tendon_lengths
from elver.kernels.tree.recursion import STILL, first_moment, forward, registers

__all__ = ["Observed", "observe", "room_for_states"]

Floats = NDArray[np.float64]


class Observed(NamedTuple):
    """What is seen at T states; energy and momentum count the water carried along as added mass."""

    position: Floats  # (T, frames, 3)
    rotation: Floats  # (T, frames, 3, 3)
    velocity: Floats  # (T, frames, 6) spin, and velocity of the origin of the frame, world axes
    energy: Floats  # (T, 4) kinetic, elastic with stops, gravitational (zero at the world origin), that at the scale 1
    momentum: Floats  # (T, 6) angular about the world origin, linear, world axes
    length: Floats  # (T, tendons) of cables with their spans


def room_for_states(states: int, frames: int, tendons: int) -> Observed:
    """Arrays of the right sizes."""
    shapes = (frames, 3), (frames, 3, 3), (frames, 6), (4,), (6,), (tendons,)
    return Observed(*(np.zeros((states, *shape)) for shape in shapes))


@kernel
def observe(robot, base, twist, q, multipliers, inputs, seen):
    """Fill what is ``seen`` at many states.

    Arguments as of :func:`elver.kernels.tree.evaluate.evaluate_residual`, with time first; the multipliers do not
    matter.
    """
    p, _ = unpack(robot)
    energy = seen.energy
    for t in range(base.shape[0]):
        registers(robot, q[t], 3)
        forward(robot, base[t], twist[t], 3)
        scale = 1.0
        if p.gravity_input[0] >= 0:
            scale = inputs[t, p.gravity_input[0]]
        _show_frames(robot, base[t], seen.position[t], seen.rotation[t], seen.velocity[t])
        total, kinetic, height = _of_frames(robot, base[t])
        put(seen.momentum[t], moved(base[t, 3], total))
        elastic = _elastic_energy(robot, q[t])
        if p.own_input.size > 0:
            elastic += own_energies(robot[OWN + 2])(robot, q[t], inputs[t])
        for i in range(p.component.size):
            kinetic += 0.5 * p.rotor[i] * q[t, 1, i] ** 2
        energy[t, 0] = kinetic
        energy[t, 1] = elastic
        energy[t, 2] = scale * height
        energy[t, 3] = height
        if seen.length.shape[1] > 0:
            span_residual(robot, base[t], multipliers, inputs[t])
            tendon_lengths(robot, q[t], seen.length[t])


@inner
def _show_frames(robot, base, position, rotation, velocity):
    """Poses of all frames in the world, and their spins and velocities."""
    _, w = unpack(robot)
    for f in range(w.pose.shape[0]):
        g, twist, out = w.pose[f], six(w.eta[f]), velocity[f]
        out[0], out[1], out[2] = twist[0], twist[1], twist[2]
        out[3], out[4], out[5] = velocity_at(g[3], twist)
        for i in range(3):
            position[f, i] = base[3, i] + g[3, i]
            for k in range(3):
                rotation[f, i, k] = g[i, k]


@inner
def _of_frames(robot, base):
    """Momentum about the base point, kinetic energy, and energy in gravity at the scale 1."""
    p, w = unpack(robot)
    total, kinetic, height = STILL, 0.0, 0.0
    for f in range(w.pose.shape[0]):
        g = w.pose[f]
        twist = act_back(g, six(w.eta[f]))
        own = times(p.inertia[f], twist)
        kinetic += 0.5 * dot(own, twist)
        total = plus(total, coact(g, own))
        x, y, z = first_moment(w.pose, f, p.weight[f])
        mass = p.weight[f, 0]
        height -= p.gravity[0] * (mass * base[3, 0] + x)
        height -= p.gravity[1] * (mass * base[3, 1] + y)
        height -= p.gravity[2] * (mass * base[3, 2] + z)
    return total, kinetic, height


@inner
def _elastic_energy(robot, q):
    """Energy of springs, laws that are linear, and stops."""
    p, _ = unpack(robot)
    elastic = 0.0
    for b in range(p.block.shape[0]):
        first, count = p.block[b, 0], p.block[b, 1]
        for i in range(first, first + count):
            x = q[0, i] - p.spring_rest[i]
            for k in range(p.law[i, 0], p.law[i, 1]):
                change = q[0, first + k] - p.spring_rest[first + k]
                elastic += 0.5 * x * p.K_elastic[i, k - p.law[i, 0]] * change
            if p.stop[i, 2] != 0.0:
                elastic += 0.5 * p.stop[i, 2] * beyond(q[0, i], p.stop[i]) ** 2
    return elastic
