"""What acts on the coordinates themselves: elasticity, damping, muscles and tendons; motors, friction and stops.

Rods and joints are blocks of coordinates. Motors and muscles are rows of generalized force. Dry friction is smoothed,
c tanh(q'/w); a stop is a spring beyond the travel; a rotor adds its inertia to the coordinate it drives.

A tendon has the length ℓ(q) = ∫ |c| ds (:mod:`elver.kernels.terms.tendon`) and tension T; it adds T ∂ℓ/∂q to the
residual and T ∂²ℓ/∂q² to the tangent. The tension is an input (times a factor: a pressure chamber is a tendon with
T = -p A), or the multiplier of the closure ℓ(q) + wound = ℓ_rest of a spooled tendon.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import put
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.terms.tendon import add_stiffening, pull_of_tendon

__all__ = [
    "beyond",
    "coordinate_slope",
    "is_none",
    "point_slopes",
    "strain_residual",
    "strain_tangent",
    "tendon_lengths",
]


@kernel
def strain_residual(robot, q, multipliers, inputs, jets, residual):
    """Add elastic, viscous, muscle and tendon forces, friction and stops, and the closure rows of spooled tendons."""
    p, w = unpack(robot)
    offset = 6 * p.free[0]
    _add_springs(robot, q, jets, residual)
    for j in range(p.muscle_input.size):
        amount = inputs[p.muscle_input[j]]
        for k in range(p.muscle_reach[j, 0], p.muscle_reach[j, 1]):
            residual[offset + k] += amount * p.muscle_force[j, k]
    for t in range(p.tendon_input.size):
        rate, row = w.tendon_rate[t], p.tendon_row[t]
        w.tendon_now[t] = _length_with_rate(robot, t, q) + w.tendon_span[t]
        if row >= 0:
            wound = p.tendon_length[t] - inputs[p.tendon_input[t]]
            residual[offset + p.component.size + row] = w.tendon_now[t] - wound
        tension = _tension(robot, t, multipliers, inputs)
        for k in range(p.tendon_reach[t, 2], p.tendon_reach[t, 3]):
            residual[offset + k] += tension * rate[k]


@inner
def _add_springs(robot, q, jets, residual):
    """Elastic and viscous forces, friction, stops and rotors."""
    p, _ = unpack(robot)
    offset = 6 * p.free[0]
    for b in range(p.block.shape[0]):
        first, count = p.block[b, 0], p.block[b, 1]
        if p.block[b, 2] == 0:
            continue
        for i in range(first, first + count):
            low, total = p.law[i, 0], 0.0
            for k in range(low, p.law[i, 1]):
                total += p.K_elastic[i, k - low] * (q[0, first + k] - p.spring_rest[first + k])
                total += p.D_elastic[i, k - low] * q[1, first + k]
            if jets == 3:
                total += p.rotor[i] * q[2, i]
            if p.friction[i, 0] != 0.0 and jets == 3:
                total += p.friction[i, 0] * math.tanh(q[1, i] / p.friction[i, 1])
            if p.stop[i, 2] != 0.0:
                total += p.stop[i, 2] * beyond(q[0, i], p.stop[i])
            residual[offset + i] += total


@inner
def _length_with_rate(robot, t, q):
    """Length of a tendon along its rods; its slopes with the coordinates into work.tendon_rate."""
    p, w = unpack(robot)
    rate, low, length = w.tendon_rate[t], p.tendon_reach[t, 0], 0.0
    for k in range(p.tendon_reach[t, 2], p.tendon_reach[t, 3]):
        rate[k] = 0.0
    for g in range(low, p.tendon_reach[t, 1]):
        weight = p.tendon_weight[t, g - low]
        if weight == 0.0:
            continue
        first, phi, bend = p.block[p.point_block[g], 0], p.point_phi[g], p.point_bend[g]
        _strain(p.component, first, bend, phi, p.point_rest[g], q, w.vector[0])
        size, pull = pull_of_tendon(p.tendon_path[t, g - low], w.vector[0])
        put(w.vector[1], pull)
        length += weight * size
        for slot in range(6):
            shift = bend[3 * slot + 2]
            for k in range(bend[3 * slot], bend[3 * slot + 1]):
                rate[first + k] += weight * w.vector[1, p.component[first + k]] * phi[k - shift]
    return length


@inner
def _tension(robot, t, multipliers, inputs):
    """Multiplier of a spooled tendon, else its input times its factor."""
    p, _ = unpack(robot)
    if p.tendon_row[t] >= 0:
        return multipliers[p.tendon_row[t]]
    return p.tendon_factor[t] * inputs[p.tendon_input[t]]


@kernel
def tendon_lengths(robot, q, out):
    """Length of each tendon: along its rods, and of its free spans."""
    p, w = unpack(robot)
    for t in range(out.size):
        out[t] = w.tendon_span[t]
        for g in range(p.tendon_reach[t, 0], p.tendon_reach[t, 1]):
            weight = p.tendon_weight[t, g - p.tendon_reach[t, 0]]
            if weight != 0.0:
                first = p.block[p.point_block[g], 0]
                _strain(p.component, first, p.point_bend[g], p.point_phi[g], p.point_rest[g], q, w.vector[0])
                size, _ = pull_of_tendon(p.tendon_path[t, g - p.tendon_reach[t, 0]], w.vector[0])
                out[t] += weight * size


@kernel
def strain_tangent(robot, q, weights, jets, matrix):
    """Add the variation of :func:`strain_residual`; work.slope and work.tendon_rate must be up to date."""
    p, w = unpack(robot)
    n, offset = p.component.size, 6 * p.free[0]
    for b in range(p.block.shape[0]):
        first, count = p.block[b, 0], p.block[b, 1]
        for i in range(first, first + count):
            out, low = matrix[offset + i], p.law[i, 0]
            for k in range(low, p.law[i, 1]):
                change = weights[0] * p.K_elastic[i, k - low] + weights[1] * p.D_elastic[i, k - low]
                out[offset + first + k] += change
    for i in range(n):
        matrix[offset + i, offset + i] += coordinate_slope(i, p.friction, p.stop, p.rotor, q, weights, jets)
    for t in range(p.tendon_row.size):
        row = p.tendon_row[t]
        if row >= 0:
            for k in range(n):
                matrix[offset + k, offset + n + row] += w.tendon_rate[t, k]
                matrix[offset + n + row, offset + k] += weights[0] * w.tendon_rate[t, k]
    for g in range(w.slope.shape[0]):
        _add_point(robot, g, weights[0], matrix)


@inner
def _add_point(robot, g, weight, matrix):
    """Add the slope at a quadrature point, taken to the coordinates."""
    p, w = unpack(robot)
    h, phi, bend = w.slope[g], p.point_phi[g], p.point_bend[g]
    if is_none(h):
        return
    first = p.block[p.point_block[g], 0]
    before = 6 * p.free[0] + first
    for slot in range(6):
        for i in range(bend[3 * slot], bend[3 * slot + 1]):
            left, a, out = weight * phi[i - bend[3 * slot + 2]], p.component[first + i], matrix[before + i]
            for other in range(6):
                low, high, shift = bend[3 * other], bend[3 * other + 1], bend[3 * other + 2]
                for k in range(low, high):
                    out[before + k] += left * h[a, p.component[first + k]] * phi[k - shift]


@kernel
def coordinate_slope(i, friction, stop, rotor, q, weights, jets):
    """What rotor, dry friction and stop of a coordinate add to its own row."""
    total = 0.0
    if jets == 3:
        total += weights[2] * rotor[i]
        if friction[i, 0] != 0.0:
            slip = math.tanh(q[1, i] / friction[i, 1])
            total += weights[1] * friction[i, 0] / friction[i, 1] * (1.0 - slip * slip)
    if stop[i, 2] != 0.0 and beyond(q[0, i], stop[i]) != 0.0:
        total += weights[0] * stop[i, 2]
    return total


@kernel
def is_none(h):
    """True for a slope of zeros."""
    for a in range(6):
        for b in range(6):
            if h[a, b] != 0.0:
                return False
    return True


@kernel
def point_slopes(robot, q, multipliers, inputs):
    """work.slope[g] = weight ∂²(Σ T |c|)/∂ξ² of all tendons at each quadrature point."""
    p, w = unpack(robot)
    slope, xi = w.slope, w.vector[0]
    for g in range(slope.shape[0]):
        for a in range(6):
            for b in range(6):
                slope[g, a, b] = 0.0
    for t in range(p.tendon_input.size):
        tension = _tension(robot, t, multipliers, inputs)
        if tension == 0.0:
            continue
        for g in range(p.tendon_reach[t, 0], p.tendon_reach[t, 1]):
            weight = p.tendon_weight[t, g - p.tendon_reach[t, 0]] * tension
            if weight == 0.0:
                continue
            first = p.block[p.point_block[g], 0]
            _strain(p.component, first, p.point_bend[g], p.point_phi[g], p.point_rest[g], q, xi)
            path = p.tendon_path[t, g - p.tendon_reach[t, 0]]
            size, pull = pull_of_tendon(path, xi)
            add_stiffening(weight / size, path, pull, slope[g])
    for g in range(slope.shape[0]):
        for a in range(6):
            for b in range(a):
                slope[g, a, b] = slope[g, b, a]


@kernel
def beyond(x, stop):
    """How far a coordinate is beyond its travel."""
    if x < stop[0]:
        return x - stop[0]
    if x > stop[1]:
        return x - stop[1]
    return 0.0


@inner
def _strain(component, first, bend, phi, rest, q, xi):
    """Strain at a quadrature point."""
    for c in range(6):
        xi[c] = rest[c]
    for slot in range(6):
        for k in range(bend[3 * slot], bend[3 * slot + 1]):
            xi[component[first + k]] += phi[k - bend[3 * slot + 2]] * q[0, first + k]
