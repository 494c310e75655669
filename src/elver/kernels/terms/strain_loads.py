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
from elver.kernels.build.cache import kernel
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
def strain_residual(
    offset, component, block, law, K_elastic, D_elastic, spring_rest, friction, stop, rotor,
    muscle_input, muscle_reach, muscle_force, point_block, point_phi, point_bend, point_rest,
    tendon_input, tendon_factor, tendon_row, tendon_reach, tendon_length, tendon_path, tendon_weight,
    q, multipliers, inputs, jets, v, tendon_rate, tendon_span, tendon_now, residual,
):
    """Add elastic, viscous, muscle and tendon forces, friction and stops, and the closure rows of spooled tendons."""
    for b in range(block.shape[0]):
        if block[b, 2] == 0:
            continue
        first, count = block[b, 0], block[b, 1]
        for i in range(first, first + count):
            total = 0.0
            for k in range(law[i, 0], law[i, 1]):
                total += K_elastic[i, k - law[i, 0]] * (q[0, first + k] - spring_rest[first + k])
                total += D_elastic[i, k - law[i, 0]] * q[1, first + k]
            if jets == 3:
                total += rotor[i] * q[2, i]
            if friction[i, 0] != 0.0 and jets == 3:
                total += friction[i, 0] * math.tanh(q[1, i] / friction[i, 1])
            if stop[i, 2] != 0.0:
                total += stop[i, 2] * beyond(q[0, i], stop[i])
            residual[offset + i] += total
    for j in range(muscle_input.size):
        amount = inputs[muscle_input[j]]
        for k in range(muscle_reach[j, 0], muscle_reach[j, 1]):
            residual[offset + k] += amount * muscle_force[j, k]
    xi, w = v[0], v[1]
    for t in range(tendon_input.size):
        rate, low, high = tendon_rate[t], tendon_reach[t, 2], tendon_reach[t, 3]
        for k in range(low, high):
            rate[k] = 0.0
        length = 0.0
        for g in range(tendon_reach[t, 0], tendon_reach[t, 1]):
            weight = tendon_weight[t, g - tendon_reach[t, 0]]
            if weight != 0.0:
                first = block[point_block[g], 0]
                _strain(component, first, point_bend[g], point_phi[g], point_rest[g], q, xi)
                size, pull = pull_of_tendon(tendon_path[t, g - tendon_reach[t, 0]], xi)
                put(w, pull)
                length += weight * size
                for slot in range(6):
                    shift = point_bend[g, 3 * slot + 2]
                    for k in range(point_bend[g, 3 * slot], point_bend[g, 3 * slot + 1]):
                        rate[first + k] += weight * w[component[first + k]] * point_phi[g, k - shift]
        row, tendon_now[t] = tendon_row[t], length + tendon_span[t]
        if row >= 0:
            wound = tendon_length[t] - inputs[tendon_input[t]]
            residual[offset + component.size + row] = tendon_now[t] - wound
            tension = multipliers[row]
        else:
            tension = tendon_factor[t] * inputs[tendon_input[t]]
        for k in range(low, high):
            residual[offset + k] += tension * rate[k]


@kernel
def tendon_lengths(
    component, block, point_block, point_phi, point_bend, point_rest, tendon_reach, tendon_path, tendon_weight, q, v,
    spans, out,
):
    """Length of each tendon: along its rods, and of its free spans."""
    for t in range(out.size):
        out[t] = spans[t]
        for g in range(tendon_reach[t, 0], tendon_reach[t, 1]):
            weight = tendon_weight[t, g - tendon_reach[t, 0]]
            if weight != 0.0:
                first = block[point_block[g], 0]
                _strain(component, first, point_bend[g], point_phi[g], point_rest[g], q, v[0])
                size, _ = pull_of_tendon(tendon_path[t, g - tendon_reach[t, 0]], v[0])
                out[t] += weight * size


@kernel
def strain_tangent(
    offset, component, block, law, K_elastic, D_elastic, friction, stop, rotor, point_block, point_phi, point_bend,
    tendon_row, q, weights, jets, slope, tendon_rate, matrix,
):
    """Add the variation of :func:`strain_residual`; ``slope`` and ``tendon_rate`` must be up to date."""
    n = component.size
    for b in range(block.shape[0]):
        first, count = block[b, 0], block[b, 1]
        for i in range(first, first + count):
            out, low = matrix[offset + i], law[i, 0]
            for k in range(low, law[i, 1]):
                out[offset + first + k] += weights[0] * K_elastic[i, k - low] + weights[1] * D_elastic[i, k - low]
    for i in range(n):
        matrix[offset + i, offset + i] += coordinate_slope(i, friction, stop, rotor, q, weights, jets)
    for t in range(tendon_row.size):
        row = tendon_row[t]
        if row >= 0:
            for k in range(n):
                matrix[offset + k, offset + n + row] += tendon_rate[t, k]
                matrix[offset + n + row, offset + k] += weights[0] * tendon_rate[t, k]
    for g in range(slope.shape[0]):
        h, phi, bend = slope[g], point_phi[g], point_bend[g]
        if is_none(h):
            continue
        first = block[point_block[g], 0]
        for slot in range(6):
            for i in range(bend[3 * slot], bend[3 * slot + 1]):
                left, a = weights[0] * phi[i - bend[3 * slot + 2]], component[first + i]
                out = matrix[offset + first + i]
                for other in range(6):
                    low, high, shift = bend[3 * other], bend[3 * other + 1], bend[3 * other + 2]
                    for k in range(low, high):
                        out[offset + first + k] += left * h[a, component[first + k]] * phi[k - shift]


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
def point_slopes(
    component, block, point_block, point_phi, point_bend, point_rest, tendon_input, tendon_factor, tendon_row,
    tendon_reach, tendon_path, tendon_weight, q, multipliers, inputs, v, slope,
):
    """slope[g] = weight ∂²(Σ T |c|)/∂ξ² of all tendons at each quadrature point."""
    for g in range(slope.shape[0]):
        for a in range(6):
            for b in range(6):
                slope[g, a, b] = 0.0
    xi = v[0]
    for t in range(tendon_input.size):
        if tendon_row[t] >= 0:
            tension = multipliers[tendon_row[t]]
        else:
            tension = tendon_factor[t] * inputs[tendon_input[t]]
        if tension == 0.0:
            continue
        for g in range(tendon_reach[t, 0], tendon_reach[t, 1]):
            weight = tendon_weight[t, g - tendon_reach[t, 0]] * tension
            if weight == 0.0:
                continue
            _strain(component, block[point_block[g], 0], point_bend[g], point_phi[g], point_rest[g], q, xi)
            path = tendon_path[t, g - tendon_reach[t, 0]]
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


@kernel
def _strain(component, first, bend, phi, rest, q, xi):
    """Strain at a quadrature point."""
    for c in range(6):
        xi[c] = rest[c]
    for slot in range(6):
        for k in range(bend[3 * slot], bend[3 * slot + 1]):
            xi[component[first + k]] += phi[k - bend[3 * slot + 2]] * q[0, first + k]
