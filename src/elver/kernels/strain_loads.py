"""What acts on the coordinates themselves: elasticity, damping, muscles and tendons; motors, friction and stops.

Rods and joints are blocks of coordinates. Motors and muscles are rows of generalized force. Dry friction is smoothed,
c tanh(q'/w); a stop is a spring beyond the travel; a rotor adds its inertia to the coordinate it drives.

A tendon at D(s) in the section, with unit-free direction c = Γ + K×D + D′ (CONVENTIONS, "Tendon"), has the length
ℓ(q) = ∫ |c| ds and tension T; it adds T ∂ℓ/∂q to the residual and T ∂²ℓ/∂q² to the tangent. With the twist-like
row w = (D×u; u), u = c/|c|:

    ∂|c|/∂ξ = w ,      ∂²|c|/∂ξ² = W P Wᵀ ,   W = [D̂; 1],  P = (1 - u uᵀ)/|c| .

The tension is an input (times a factor: a pressure chamber is a tendon with T = -p A), or the multiplier of the
closure ℓ(q) + wound = ℓ_rest of a spooled tendon.
"""

from __future__ import annotations

import math

from elver.kernels.cache import kernel

__all__ = ["beyond", "strain_residual", "strain_tangent", "tendon_lengths"]


@kernel
def strain_residual(
    offset, component, block, K_elastic, D_elastic, spring_rest, friction, stop, rotor,
    muscle_input, muscle_force, point_block, point_phi, point_rest,
    tendon_input, tendon_factor, tendon_row, tendon_length, tendon_path, tendon_weight,
    q, multipliers, inputs, jets, v, tendon_rate, tendon_span, residual,
):
    """Add elastic, viscous, muscle and tendon forces, friction and stops, and the closure rows of spooled tendons."""
    n = component.size
    for b in range(block.shape[0]):
        if block[b, 2] == 0:
            continue
        first, count = block[b, 0], block[b, 1]
        for i in range(first, first + count):
            total = 0.0
            for k in range(count):
                total += K_elastic[i, k] * (q[0, first + k] - spring_rest[first + k])
                total += D_elastic[i, k] * q[1, first + k]
            if jets == 3:
                total += rotor[i] * q[2, i]
            if friction[i, 0] != 0.0 and jets == 3:
                total += friction[i, 0] * math.tanh(q[1, i] / friction[i, 1])
            if stop[i, 2] != 0.0:
                total += stop[i, 2] * beyond(q[0, i], stop[i])
            residual[offset + i] += total
    for j in range(muscle_input.size):
        amount = inputs[muscle_input[j]]
        for k in range(n):
            residual[offset + k] += amount * muscle_force[j, k]
    xi, w = v[0], v[1]
    for t in range(tendon_input.size):
        rate = tendon_rate[t]
        for k in range(n):
            rate[k] = 0.0
        length = 0.0
        for g in range(point_rest.shape[0]):
            weight = tendon_weight[t, g]
            if weight != 0.0:
                first, count = block[point_block[g], 0], block[point_block[g], 1]
                _strain(component, first, count, point_phi[g], point_rest[g], q, xi)
                norm = _direction(tendon_path[t, g], xi, w)
                length += weight * norm
                for k in range(count):
                    rate[first + k] += weight * w[component[first + k]] * point_phi[g, k]
        row = tendon_row[t]
        if row >= 0:
            residual[offset + n + row] = length + tendon_span[t] - tendon_length[t] + inputs[tendon_input[t]]
            tension = multipliers[row]
        else:
            tension = tendon_factor[t] * inputs[tendon_input[t]]
        for k in range(n):
            residual[offset + k] += tension * rate[k]


@kernel
def tendon_lengths(component, block, point_block, point_phi, point_rest, tendon_path, tendon_weight, q, v, spans, out):
    """Length of each tendon: along its rods, and of its free spans."""
    for t in range(out.size):
        out[t] = spans[t]
        for g in range(point_rest.shape[0]):
            weight = tendon_weight[t, g]
            if weight != 0.0:
                first, count = block[point_block[g], 0], block[point_block[g], 1]
                _strain(component, first, count, point_phi[g], point_rest[g], q, v[0])
                out[t] += weight * _direction(tendon_path[t, g], v[0], v[1])


@kernel
def strain_tangent(
    offset, component, block, K_elastic, D_elastic, friction, stop, rotor, point_block, point_phi, point_rest,
    tendon_input, tendon_factor, tendon_row, tendon_path, tendon_weight,
    q, multipliers, inputs, weights, jets, v, tendon_rate, h, matrix,
):
    """Add the variation of :func:`strain_residual`; ``tendon_rate`` must be up to date."""
    n = component.size
    for b in range(block.shape[0]):
        first, count = block[b, 0], block[b, 1]
        for i in range(first, first + count):
            out = matrix[offset + i]
            for k in range(count):
                out[offset + first + k] += weights[0] * K_elastic[i, k] + weights[1] * D_elastic[i, k]
    for i in range(n):
        if jets == 3:
            matrix[offset + i, offset + i] += weights[2] * rotor[i]
        if friction[i, 0] != 0.0 and jets == 3:
            slip = math.tanh(q[1, i] / friction[i, 1])
            matrix[offset + i, offset + i] += weights[1] * friction[i, 0] / friction[i, 1] * (1.0 - slip * slip)
        if stop[i, 2] != 0.0 and beyond(q[0, i], stop[i]) != 0.0:
            matrix[offset + i, offset + i] += weights[0] * stop[i, 2]
    xi, w = v[0], v[1]
    for t in range(tendon_input.size):
        row = tendon_row[t]
        if row >= 0:
            tension = multipliers[row]
            for k in range(n):
                matrix[offset + k, offset + n + row] += tendon_rate[t, k]
                matrix[offset + n + row, offset + k] += weights[0] * tendon_rate[t, k]
        else:
            tension = tendon_factor[t] * inputs[tendon_input[t]]
        if tension == 0.0:
            continue
        for g in range(point_rest.shape[0]):
            weight = tendon_weight[t, g] * tension * weights[0]
            if weight == 0.0:
                continue
            first, count = block[point_block[g], 0], block[point_block[g], 1]
            _strain(component, first, count, point_phi[g], point_rest[g], q, xi)
            norm = _direction(tendon_path[t, g], xi, w)
            # W P Wᵀ = (W Wᵀ - w wᵀ) / |c| with W = [D̂; 1]
            path = tendon_path[t, g]
            d0, d1, d2 = path[0], path[1], path[2]
            square = d0 * d0 + d1 * d1 + d2 * d2
            for a in range(3):
                for b in range(3):
                    h[a, b] = -path[a] * path[b]
                    h[3 + a, 3 + b] = 0.0
                    h[a, 3 + b] = 0.0
                h[a, a] += square
                h[3 + a, 3 + a] = 1.0
            h[0, 4], h[0, 5], h[1, 3], h[1, 5], h[2, 3], h[2, 4] = -d2, d1, d2, -d0, -d1, d0
            for a in range(3):
                for b in range(3):
                    h[3 + b, a] = h[a, 3 + b]
            for a in range(6):
                for b in range(6):
                    h[a, b] = (h[a, b] - w[a] * w[b]) / norm
            phi = point_phi[g]
            for i in range(count):
                left, a = weight * phi[i], component[first + i]
                if left != 0.0:
                    out = matrix[offset + first + i]
                    for k in range(count):
                        out[offset + first + k] += left * h[a, component[first + k]] * phi[k]


@kernel
def beyond(x, stop):
    """How far a coordinate is beyond its travel."""
    if x < stop[0]:
        return x - stop[0]
    if x > stop[1]:
        return x - stop[1]
    return 0.0


@kernel
def _strain(component, first, count, phi, rest, q, xi):
    """Strain at a quadrature point."""
    for c in range(6):
        xi[c] = rest[c]
    for k in range(count):
        xi[component[first + k]] += phi[k] * q[0, first + k]


@kernel
def _direction(path, xi, w):
    """w = (D×u; u) of a tendon at a point; returns |c|."""
    d0, d1, d2 = path[0], path[1], path[2]
    c0 = xi[3] + xi[1] * d2 - xi[2] * d1 + path[3]
    c1 = xi[4] + xi[2] * d0 - xi[0] * d2 + path[4]
    c2 = xi[5] + xi[0] * d1 - xi[1] * d0 + path[5]
    norm = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
    w[3], w[4], w[5] = c0 / norm, c1 / norm, c2 / norm
    w[0] = d1 * w[5] - d2 * w[4]
    w[1] = d2 * w[3] - d0 * w[5]
    w[2] = d0 * w[4] - d1 * w[3]
    return norm
