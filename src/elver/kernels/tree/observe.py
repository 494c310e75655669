"""What a run shows: poses and velocities of all frames, energies, momentum, lengths of cables, for many states."""

from __future__ import annotations

from elver.kernels.build.cache import kernel
from elver.kernels.build.tables import OWN, own_energies, unpack
from elver.kernels.terms.spans import span_residual
from elver.kernels.terms.strain_loads import beyond, tendon_lengths
from elver.kernels.tree.recursion import add_wrench_to_world, first_moment, forward, registers, twist_to_body

__all__ = ["observe"]


@kernel
def observe(robot, base, twist, q, multipliers, inputs, jets, position, rotation, velocity, energy, momentum, length):
    """Fill position (T, frames, 3), rotation (T, frames, 3, 3), velocity (T, frames, 6), energy (T, 4), momentum
    (T, 6), length (T, tendons).

    ``jets`` is 3: poses with rates. Velocities are spin and velocity of the origin of the frame, world axes. Energies
    are kinetic, elastic (springs and stops too), gravitational (zero at the world origin), and that of gravity with
    the scale 1; momentum is (angular about the world origin; linear) in world axes. Both count the water carried
    along as added mass. Lengths are those of cables with their spans. Arguments as of
    :func:`elver.kernels.tree.evaluate.evaluate_residual`, with time first; the multipliers do not matter.
    """
    p, w = unpack(robot)
    v = w.vector
    for t in range(base.shape[0]):
        registers(
            p.segment, p.component, p.poly_size, p.poly_pair, p.poly_beta, p.poly_linear, p.rest, p.phi, p.bend,
            q[t], jets, w.register,
        )
        forward(robot, base[t], twist[t], jets)
        scale = 1.0
        if p.gravity_input[0] >= 0:
            scale = inputs[t, p.gravity_input[0]]
        kinetic = 0.0
        height = 0.0
        for k in range(6):
            v[4, k] = 0.0
        for f in range(w.pose.shape[0]):
            M = p.inertia[f]
            twist_to_body(w.pose, f, w.eta, f, v, 2)
            for i in range(6):
                v[3, i] = 0.0
                for k in range(6):
                    v[3, i] += M[i, k] * v[2, k]
                kinetic += 0.5 * v[3, i] * v[2, i]
            add_wrench_to_world(w.pose, f, v, 3, v, 4)
            spin, x = w.eta[f], w.pose[f, 3]
            velocity[t, f, 3] = spin[3] + spin[1] * x[2] - spin[2] * x[1]
            velocity[t, f, 4] = spin[4] + spin[2] * x[0] - spin[0] * x[2]
            velocity[t, f, 5] = spin[5] + spin[0] * x[1] - spin[1] * x[0]
            for i in range(3):
                velocity[t, f, i] = spin[i]
                position[t, f, i] = base[t, 3, i] + w.pose[f, 3, i]
                for k in range(3):
                    rotation[t, f, i, k] = w.pose[f, i, k]
            moment = first_moment(w.pose, f, p.weight[f])
            for i in range(3):
                height -= p.gravity[i] * (p.weight[f, 0] * base[t, 3, i] + moment[i])
        elastic = 0.0
        for b in range(p.block.shape[0]):
            first, count = p.block[b, 0], p.block[b, 1]
            for i in range(first, first + count):
                kinetic += 0.5 * p.rotor[i] * q[t, 1, i] ** 2
                x = q[t, 0, i] - p.spring_rest[i]
                for k in range(p.law[i, 0], p.law[i, 1]):
                    change = q[t, 0, first + k] - p.spring_rest[first + k]
                    elastic += 0.5 * x * p.K_elastic[i, k - p.law[i, 0]] * change
                if p.stop[i, 2] != 0.0:
                    elastic += 0.5 * p.stop[i, 2] * beyond(q[t, 0, i], p.stop[i]) ** 2
        if p.own_input.size > 0:
            elastic += own_energies(robot[OWN + 2])(robot, q[t], inputs[t])
        energy[t, 0] = kinetic
        energy[t, 1] = elastic
        energy[t, 2] = scale * height
        energy[t, 3] = height
        for k in range(6):
            momentum[t, k] = v[4, k]
        momentum[t, 0] += base[t, 3, 1] * v[4, 5] - base[t, 3, 2] * v[4, 4]
        momentum[t, 1] += base[t, 3, 2] * v[4, 3] - base[t, 3, 0] * v[4, 5]
        momentum[t, 2] += base[t, 3, 0] * v[4, 4] - base[t, 3, 1] * v[4, 3]
        if length.shape[1] > 0:
            span_residual(
                p.span_tendon, p.span_frame, p.span_point, p.tendon_input, p.tendon_factor, p.tendon_row, base[t],
                multipliers, inputs[t], w.pose, w.closure_end, w.span, w.tendon_span, w.force,
            )
            tendon_lengths(
                p.component, p.block, p.point_block, p.point_phi, p.point_bend, p.point_rest, p.tendon_reach,
                p.tendon_path, p.tendon_weight, q[t], v, w.tendon_span, length[t],
            )
