"""Functions of a user's own, called at their address: stresses at strain points, and wrenches on frames.

A *stress* is a section law or an actuator, a C function of the strain x at a quadrature point,

    double f(const double *x, double s, double input, const double *parameters, double *Λ, double *slope) ,

which returns its energy W per length. A section law has x = ξ - ξ₀ and Λ = ∂W/∂x; its linear part 𝓗 x at rest is in
K_elastic, so that here only the rest of it is asked for, Λ - 𝓗 x with the energy W - ½ xᵀ𝓗 x. An actuator has x = ξ
and no linear part. A *wrench* is a load on a frame, of its pose g (4, 4) and its twist η in its own axes,

    double f(const double *g, const double *η, double input, const double *parameters, double *F, double *slope) ,

with the slope (6, 12) of F with ζ, g exp(ζ), and with η. Both write into arrays of zeros.

Over a conserving step, which takes the mean of both ends, the stress of a law at the end is (Gonzalez 1996)

    Λ₊ + 2 c 𝓗 Δx ,     c = (W₊ - W - ½ (Λ + Λ₊)·Δx) / (Δx·𝓗 Δx) ,

so that its work is the change of its energy; where Δx is so small that rounding would show, c = 0.
"""

from __future__ import annotations

from elver.kernels.algebra import act_back, put, six
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import call_own, unpack

__all__ = ["own_energies", "own_slopes", "own_stresses", "own_wrenches"]


# Part of the strain, squared, from which on a change of it shows beside rounding.
_LEAST_CHANGE = 1e-10


# What is no number, or larger, is a fault. (isfinite(x) is x - x == 0, which reordered sums make true of any sum.)
_HUGE = 1e300


@kernel
def own_stresses(robot, q, inputs, over_step):
    """Add ∫ Φᵀ Λ ds of all stresses to the residual; their energies into work.own_energy.

    ``over_step`` 1: at the end of a conserving step, from what work.own_before holds.
    """
    p, w = unpack(robot)
    offset, residual = 6 * p.free[0], w.residual
    w.own_over[0] = over_step
    for t in range(p.own_input.size):
        total = 0.0
        for r in range(p.own_reach[t, 0], p.own_reach[t, 1]):
            energy, now = _ask(robot, t, r, q, inputs), w.own_now[r]
            total += p.own_weight[r] * energy
            g = p.own_point[r]
            first, stress = p.block[p.point_block[g], 0], w.vector[1]
            for c in range(6):
                now[c], now[6 + c] = w.vector[0, c], stress[c]
            now[12] = energy
            if over_step == 1 and p.own_input[t] < 0:
                part, _ = _correction(p.own_linear[r], w.own_before[r], now, w.vector[2])
                for c in range(6):
                    stress[c] += 2.0 * part * w.vector[2, c]
            for slot in range(6):
                shift = p.point_bend[g, 3 * slot + 2]
                for k in range(p.point_bend[g, 3 * slot], p.point_bend[g, 3 * slot + 1]):
                    force = p.own_weight[r] * stress[p.component[first + k]] * p.point_phi[g, k - shift]
                    residual[offset + first + k] += force
        w.own_energy[t] = total


@kernel
def own_slopes(robot, q, inputs):
    """Add the slopes of all stresses, weighted, to those of the quadrature points."""
    p, w = unpack(robot)
    for t in range(p.own_input.size):
        for r in range(p.own_reach[t, 0], p.own_reach[t, 1]):
            _ask(robot, t, r, q, inputs)
            if w.own_over[0] == 1.0 and p.own_input[t] < 0:
                _correct_slope(p.own_linear[r], w.own_before[r], w.own_now[r], w.vector[2], w.vector[3], w.hessian6)
            for a in range(6):
                for b in range(6):
                    w.slope[p.own_point[r], a, b] += p.own_weight[r] * w.hessian6[a, b]


@kernel
def own_energies(robot, q, inputs):
    """Energies of all stresses into work.own_energy; returns that of the section laws, beside their linear part."""
    p, w = unpack(robot)
    elastic = 0.0
    for t in range(p.own_input.size):
        total = 0.0
        for r in range(p.own_reach[t, 0], p.own_reach[t, 1]):
            total += p.own_weight[r] * _ask(robot, t, r, q, inputs)
        w.own_energy[t] = total
        if p.own_input[t] < 0:
            elastic += total
    return elastic


@inner
def _correction(linear, before, now, push):
    """c over a conserving step, and Δx·𝓗 Δx; push = 𝓗 Δx."""
    square, size, left = 0.0, 0.0, now[12] - before[12]
    for a in range(6):
        push[a] = 0.0
        for b in range(6):
            push[a] += linear[a, b] * (now[b] - before[b])
        change = now[a] - before[a]
        square += push[a] * change
        size += linear[a, a] * now[a] * now[a]
        left -= 0.5 * (now[6 + a] + before[6 + a]) * change
    if square <= _LEAST_CHANGE * size:
        return 0.0, 1.0
    return left / square, square


@inner
def _correct_slope(linear, before, now, push, rate, slope):
    """Slope of Λ₊ + 2 c 𝓗 Δx from that of Λ₊."""
    part, square = _correction(linear, before, now, push)
    if part == 0.0:
        return
    for b in range(6):
        rate[b] = 0.5 * (now[6 + b] - before[6 + b]) - 2.0 * part * push[b]
        for a in range(6):
            rate[b] -= 0.5 * slope[a, b] * (now[a] - before[a])
    for a in range(6):
        for b in range(6):
            slope[a, b] += 2.0 * (part * linear[a, b] + push[a] * rate[b] / square)


@inner
def _ask(robot, t, r, q, inputs):
    """Λ into work.vector[1], its slope into work.hessian6, both less the linear part; returns the energy per length."""
    p, w = unpack(robot)
    g, x, stress, slope = p.own_point[r], w.vector[0], w.vector[1], w.hessian6
    first = p.block[p.point_block[g], 0]
    for c in range(6):
        x[c] = p.point_rest[g, c] - p.own_origin[r, c]
        stress[c] = 0.0
        for b in range(6):
            slope[c, b] = 0.0
    for slot in range(6):
        shift = p.point_bend[g, 3 * slot + 2]
        for k in range(p.point_bend[g, 3 * slot], p.point_bend[g, 3 * slot + 1]):
            x[p.component[first + k]] += p.point_phi[g, k - shift] * q[0, first + k]
    amount = 0.0
    if p.own_input[t] >= 0:
        amount = inputs[p.own_input[t]]
    parameters = p.own_parameters[p.own_first[t] :]
    energy = call_own(p.own_address[t], x, p.own_s[r], amount, parameters, stress, slope)
    check = energy
    for a in range(6):
        linear = 0.0
        for b in range(6):
            linear += p.own_linear[r, a, b] * x[b]
            slope[a, b] -= p.own_linear[r, a, b]
            check += slope[a, b]
        stress[a] -= linear
        energy -= 0.5 * linear * x[a]
        check += stress[a]
    if not abs(check) < _HUGE:
        w.own_fault[0], w.own_fault[1] = t + 1.0, p.own_s[r]
        for c in range(6):
            w.own_fault[2 + c] = x[c]
    return energy


@kernel
def own_wrenches(robot, base, inputs, jets):
    """Wrenches of loads and their slopes into work.user_wrench and work.user_tangent, behind those of feedback."""
    p, w = unpack(robot)
    before = p.user_frame.size - p.pushed_input.size
    for j in range(p.pushed_input.size):
        f, g = p.user_frame[before + j], w.own_pose
        wrench, slope = w.user_wrench[before + j], w.user_tangent[before + j]
        for i in range(3):
            for k in range(3):
                g[i, k] = w.pose[f, i, k]
            g[i, 3] = base[3, i] + w.pose[f, 3, i]
        g[3, 0], g[3, 1], g[3, 2], g[3, 3] = 0.0, 0.0, 0.0, 1.0
        for i in range(6):
            wrench[i], w.vector[0, i] = 0.0, 0.0
            for k in range(12):
                slope[i, k] = 0.0
        if jets == 3:
            put(w.vector[0], act_back(w.pose[f], six(w.eta[f])))
        parameters = p.pushed_parameters[p.pushed_first[j] :]
        check = call_own(p.pushed_address[j], g, w.vector[0], inputs[p.pushed_input[j]], parameters, wrench, slope)
        for i in range(6):
            check += wrench[i]
            for k in range(12):
                check += slope[i, k]
        if not abs(check) < _HUGE:
            w.own_fault[0], w.own_fault[1] = -1.0 - j, 0.0
            for i in range(3):
                w.own_fault[2 + i], w.own_fault[5 + i] = g[i, 3], w.vector[0, 3 + i]
