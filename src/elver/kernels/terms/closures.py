"""Closures: two frames tied together, or one to the world (Gotelli 2024, section 3.5.6).

With R, p the pose of the follower seen from the leader and Θ = log R, a row is either

    Ψ = a_1·Θ + a_2·p      on the relative body twist  (T⁻ᵀ(Θ) a_1 ; Rᵀ a_2) ,
    T⁻¹ = 1 + ½ Θ̂ + c Θ̂² ,   c = (1 - (θ/2) cot(θ/2)) / θ² ,
    Ψ = u·R w              with moment w × Rᵀu                 (axes that stay perpendicular, at any angle).

As world wrench about the base point the row acts on the follower, and with the other sign on the leader (+Jᵀλ in the
residual). In axes of the follower its wrench varies with the relative rotation alone; ``closure_stiffness`` is that
variation, K. In axes of the leader the reaction varies by -(K + C) with C x = coad(x) W: that part of both frames joins
their subtree matrices, the coupling of the two paths is added by :func:`closure_couplings`.
"""

from __future__ import annotations

import math

from elver.kernels.algebra import add, add_coad, add_column, bracket, coact, minus, plus, put, scaled, six
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.tree.recursion import STILL, flipped

__all__ = [
    "add_coad_matrix",
    "add_path_row",
    "closure_accelerations",
    "closure_couplings",
    "closure_diagonal",
    "closure_is_active",
    "closure_rates",
    "closure_residual",
    "closure_tangent",
    "couple_paths",
]


@inner
def closure_residual(robot, base, multipliers):
    """Closure rows into work.residual, as world wrenches into work.closure, wrenches into work.force."""
    p, w = unpack(robot)
    first, ends = 6 * p.free[0] + p.component.size, w.closure_end
    theta, position = w.vector[0], w.vector[1]
    for h in range(p.closure_frame.shape[0]):
        leader, follower, total = p.closure_frame[h, 0], p.closure_frame[h, 1], STILL
        _ends(p.closure_frame[h], p.closure_pose[h], base, w.pose, ends)
        _relative(ends, w.vector, w.closure_map)
        for j in range(p.closure_rows[h, 0], p.closure_rows[h, 0] + p.closure_rows[h, 1]):
            axes, row = p.row_axes[j], w.closure[j]
            if not closure_is_active(axes):
                w.residual[first + j] = multipliers[j]
                put(row, STILL)
                continue
            if p.row_kind[j] == 1:
                w.residual[first + j] = _dot_row(ends, axes, row)
            else:
                value = 0.0
                for k in range(3):
                    value += axes[k] * theta[k] + axes[3 + k] * position[k]
                w.residual[first + j] = value
                _log_row(ends, w.closure_map, axes, row)
            total = plus(total, scaled(multipliers[j], six(row)))
        put(w.closure_force[h], total)
        add(w.force[follower], total)
        if leader >= 0:
            add(w.force[leader], minus(total))


@inner
def closure_tangent(robot, base, multipliers):
    """K of every closure, and its part in the matrices of the two frames."""
    p, w = unpack(robot)
    for h in range(p.closure_frame.shape[0]):
        K = w.closure_stiffness[h]
        _ends(p.closure_frame[h], p.closure_pose[h], base, w.pose, w.closure_end)
        _relative(w.closure_end, w.vector, w.closure_map)
        for i in range(6):
            for k in range(3):
                K[i, k] = 0.0
        for j in range(p.closure_rows[h, 0], p.closure_rows[h, 0] + p.closure_rows[h, 1]):
            if multipliers[j] == 0.0 or not closure_is_active(p.row_axes[j]):
                continue
            if p.row_kind[j] == 1:
                _add_dot_stiffness(w.closure_end, p.row_axes[j], multipliers[j], K)
            else:
                _add_log_stiffness(w.closure_end, w.closure_map, p.row_axes[j], multipliers[j], w.vector[0], K)
        for side in range(2):
            f = p.closure_frame[h, side]
            if f >= 0:
                for i in range(6):
                    for k in range(3):
                        w.stiffness[f, i, k] += K[i, k]
        if p.closure_frame[h, 0] >= 0:
            add_coad_matrix(six(w.closure_force[h]), w.stiffness[p.closure_frame[h, 0]])


@inner
def closure_couplings(robot):
    """Rows J ∂C below, Jᵀ to the right, and the stiffness that couples the path of the leader to the follower's."""
    p, w = unpack(robot)
    for h in range(p.closure_frame.shape[0]):
        a, b = p.closure_slot[h, 0], p.closure_slot[h, 1]
        for j in range(p.closure_rows[h, 0], p.closure_rows[h, 0] + p.closure_rows[h, 1]):
            add_path_row(robot, j, -1.0, w.closure[j], a)
            add_path_row(robot, j, 1.0, w.closure[j], b)
        if a >= 0:
            force, K = six(w.closure_force[h]), w.closure_stiffness[h]
            couple_paths(robot, b, a, 0, force, K)
            couple_paths(robot, a, b, 1, force, K)


@inner
def add_path_row(robot, j, sign, wrench, slot):
    """Row of multiplier j below and its column to the right: a world wrench on the columns and rows of a path."""
    p, w = unpack(robot)
    if slot < 0:
        return
    at, start, kept = 6 * p.free[0] + p.component.size + j, p.slot_path[slot, 0], w.saved[slot]
    for k in range(p.slot_path[slot, 1]):
        below = 0.0
        right = 0.0
        for c in range(6):
            below += wrench[c] * kept[c, k]
            right += wrench[c] * kept[18 + c, k]
        w.matrix[at, p.path[start + k]] += sign * below
        w.matrix[p.path[start + k], at] += sign * right


@inner
def couple_paths(robot, a, b, from_leader, wrench, K):
    """Rows of the path of slot a, columns of slot b: -K from the follower's rows, -(K + C) from the leader's."""
    p, w = unpack(robot)
    left, right, row = w.saved[a], w.saved[b], w.row
    for i in range(p.slot_path[a, 1]):
        z = left[18, i], left[19, i], left[20, i], left[21, i], left[22, i], left[23, i]
        for k in range(6):
            row[k] = 0.0
        for c in range(6):
            for k in range(K.shape[1]):
                row[k] += z[c] * K[c, k]
        if from_leader == 1:
            # zᵀ C = (C × m + N × f ; N × m) for the row z = (m; f)
            add(row, flipped(bracket(flipped(wrench), z)))
        out = w.matrix[p.path[p.slot_path[a, 0] + i]]
        for j in range(p.slot_path[b, 1]):
            value = 0.0
            for c in range(6):
                value += row[c] * right[c, j]
            out[p.path[p.slot_path[b, 0] + j]] -= value


@kernel
def closure_rates(closure_frame, closure_rows, closure, eta, out, start):
    """Rates Ψ' = J (η_follower - η_leader) of all closures into ``out`` from ``start`` on; redundant rows stay."""
    for h in range(closure_frame.shape[0]):
        leader, follower = closure_frame[h, 0], closure_frame[h, 1]
        for j in range(closure_rows[h, 0], closure_rows[h, 0] + closure_rows[h, 1]):
            w = closure[j]
            total, size = 0.0, 0.0
            for k in range(6):
                size += abs(w[k])
                total += w[k] * (eta[follower, k] - (eta[leader, k] if leader >= 0 else 0.0))
            if size > 0.0:
                out[start + j] = total


@kernel
def closure_accelerations(robot, base):
    """Second rates Ψ'' of all closures into their rows of work.residual; redundant rows stay.

    Ψ' = c·η_r with the row c as world wrench on the follower; c' = coad(η_s) c + K η_r, K its stiffness at λ = 1.
    """
    p, w = unpack(robot)
    v, ends, maps, start = w.vector, w.closure_end, w.closure_map, 6 * p.free[0] + p.component.size
    for h in range(p.closure_frame.shape[0]):
        leader, follower, K = p.closure_frame[h, 0], p.closure_frame[h, 1], w.closure_stiffness[h]
        _ends(p.closure_frame[h], p.closure_pose[h], base, w.pose, ends)
        for k in range(6):
            v[5, k] = w.eta[follower, k] - (w.eta[leader, k] if leader >= 0 else 0.0)
            v[6, k] = w.acc[follower, k] - (w.acc[leader, k] if leader >= 0 else 0.0)
        for j in range(p.closure_rows[h, 0], p.closure_rows[h, 0] + p.closure_rows[h, 1]):
            if not closure_is_active(p.row_axes[j]):
                continue
            for i in range(6):
                for k in range(3):
                    K[i, k] = 0.0
            _relative(ends, v, maps)
            if p.row_kind[j] == 1:
                _add_dot_stiffness(ends, p.row_axes[j], 1.0, K)
            else:
                _add_log_stiffness(ends, maps, p.row_axes[j], 1.0, v[0], K)
            for k in range(6):
                v[7, k] = 0.0
                v[8, k] = w.closure[j, k]
            add_coad(v, 7, 1.0, w.eta, follower, v, 8)
            total = 0.0
            for i in range(6):
                turn = v[7, i] + K[i, 0] * v[5, 0] + K[i, 1] * v[5, 1] + K[i, 2] * v[5, 2]
                total += v[8, i] * v[6, i] + turn * v[5, i]
            w.residual[start + j] = total


@inner
def closure_diagonal(size, row_axes, row_soft, matrix):
    """Unit diagonal for redundant rows, whose equation is λ = 0; a little compliance for those that become so.

    The compliance makes the matrix regular and is not in the residual: closures are met exactly, and forces that the
    closed loops share stay near where they were.
    """
    for j in range(row_axes.shape[0]):
        if not closure_is_active(row_axes[j]):
            matrix[size + j, size + j] = 1.0
        else:
            matrix[size + j, size + j] -= row_soft[j]


@kernel
def closure_is_active(axes):
    """False for a redundant row, which assembly has set to zero: its multiplier is then required to be zero."""
    total = 0.0
    for k in range(6):
        total += abs(axes[k])
    return total > 0.0


@inner
def _ends(frames, places, base, pose, ends):
    """Rotation and position, about the base point, of the leader (ends[0]) and of the follower (ends[1])."""
    for side in range(2):
        f, place, end = frames[side], places[side], ends[side]
        if f < 0:
            for i in range(3):
                end[3, i] = place[3, i] - base[3, i]
                for k in range(3):
                    end[i, k] = place[i, k]
        else:
            g = pose[f]
            for i in range(3):
                end[3, i] = g[3, i] + g[i, 0] * place[3, 0] + g[i, 1] * place[3, 1] + g[i, 2] * place[3, 2]
                for k in range(3):
                    end[i, k] = g[i, 0] * place[0, k] + g[i, 1] * place[1, k] + g[i, 2] * place[2, k]


@inner
def _relative(ends, v, maps):
    """Rotation vector v[0] and position v[1] of the follower seen from the leader; T⁻¹ and R in maps[0], maps[1]."""
    inverse, R, p, s = maps[0], maps[1], ends[0], ends[1]
    theta, position = v[0], v[1]
    for i in range(3):
        position[i] = 0.0
        for j in range(3):
            position[i] += p[j, i] * (s[3, j] - p[3, j])
            R[i, j] = p[0, i] * s[0, j] + p[1, i] * s[1, j] + p[2, i] * s[2, j]
    _log(R, theta)
    t0, t1, t2 = theta[0], theta[1], theta[2]
    square = t0 * t0 + t1 * t1 + t2 * t2
    c, _ = _inverse_coefficients(math.sqrt(square))
    for i in range(3):
        for j in range(3):
            inverse[i, j] = c * theta[i] * theta[j]
        inverse[i, i] += 1.0 - c * square
    inverse[0, 1] -= 0.5 * t2
    inverse[0, 2] += 0.5 * t1
    inverse[1, 0] += 0.5 * t2
    inverse[1, 2] -= 0.5 * t0
    inverse[2, 0] -= 0.5 * t1
    inverse[2, 1] += 0.5 * t0


@inner
def _dot_row(ends, axes, w):
    """u·R w, and its row as world moment (R_s w) × (R_p u)."""
    p, s = ends[0], ends[1]
    u0 = p[0, 0] * axes[0] + p[0, 1] * axes[1] + p[0, 2] * axes[2]
    u1 = p[1, 0] * axes[0] + p[1, 1] * axes[1] + p[1, 2] * axes[2]
    u2 = p[2, 0] * axes[0] + p[2, 1] * axes[1] + p[2, 2] * axes[2]
    w0 = s[0, 0] * axes[3] + s[0, 1] * axes[4] + s[0, 2] * axes[5]
    w1 = s[1, 0] * axes[3] + s[1, 1] * axes[4] + s[1, 2] * axes[5]
    w2 = s[2, 0] * axes[3] + s[2, 1] * axes[4] + s[2, 2] * axes[5]
    w[0], w[1], w[2] = w1 * u2 - w2 * u1, w2 * u0 - w0 * u2, w0 * u1 - w1 * u0
    w[3], w[4], w[5] = 0.0, 0.0, 0.0
    return u0 * w0 + u1 * w1 + u2 * w2


@inner
def _add_dot_stiffness(ends, axes, lam, K):
    """K += λ Ŵ Û = λ (U Wᵀ - (U·W) 1), the variation of the moment W × U as seen from the follower."""
    p, s = ends[0], ends[1]
    dot = 0.0
    for i in range(3):
        u = p[i, 0] * axes[0] + p[i, 1] * axes[1] + p[i, 2] * axes[2]
        dot += u * (s[i, 0] * axes[3] + s[i, 1] * axes[4] + s[i, 2] * axes[5])
        for k in range(3):
            K[i, k] += lam * u * (s[k, 0] * axes[3] + s[k, 1] * axes[4] + s[k, 2] * axes[5])
    for i in range(3):
        K[i, i] -= lam * dot


@inner
def _log_row(ends, maps, axes, out):
    """Row a_1·Θ + a_2·p as a world wrench about the base point."""
    inverse, p, s = maps[0], ends[0], ends[1]
    m0 = inverse[0, 0] * axes[0] + inverse[1, 0] * axes[1] + inverse[2, 0] * axes[2]
    m1 = inverse[0, 1] * axes[0] + inverse[1, 1] * axes[1] + inverse[2, 1] * axes[2]
    m2 = inverse[0, 2] * axes[0] + inverse[1, 2] * axes[1] + inverse[2, 2] * axes[2]
    for i in range(3):
        out[i] = s[i, 0] * m0 + s[i, 1] * m1 + s[i, 2] * m2
        out[3 + i] = p[i, 0] * axes[3] + p[i, 1] * axes[4] + p[i, 2] * axes[5]
    out[0] += s[3, 1] * out[5] - s[3, 2] * out[4]
    out[1] += s[3, 2] * out[3] - s[3, 0] * out[5]
    out[2] += s[3, 0] * out[4] - s[3, 1] * out[3]


@inner
def _add_log_stiffness(ends, maps, axes, lam, theta, K):
    """K += variation of the wrench of a row, in axes of the follower: (∂(T⁻¹)[T⁻¹ζ]ᵀ y_1 ; (Rᵀy_2) × ζ), y = λ a."""
    inverse, R, s = maps[0], maps[1], ends[1]
    angle = math.sqrt(theta[0] ** 2 + theta[1] ** 2 + theta[2] ** 2)
    c, dc = _inverse_coefficients(angle)
    t0, t1, t2 = theta[0], theta[1], theta[2]
    y0, y1, y2 = lam * axes[0], lam * axes[1], lam * axes[2]
    a0, a1, a2 = t1 * y2 - t2 * y1, t2 * y0 - t0 * y2, t0 * y1 - t1 * y0
    n0 = lam * (R[0, 0] * axes[3] + R[1, 0] * axes[4] + R[2, 0] * axes[5])
    n1 = lam * (R[0, 1] * axes[3] + R[1, 1] * axes[4] + R[2, 1] * axes[5])
    n2 = lam * (R[0, 2] * axes[3] + R[1, 2] * axes[4] + R[2, 2] * axes[5])
    for k in range(3):  # world direction k of the rotation
        z0, z1, z2 = s[k, 0], s[k, 1], s[k, 2]
        d0 = inverse[0, 0] * z0 + inverse[0, 1] * z1 + inverse[0, 2] * z2
        d1 = inverse[1, 0] * z0 + inverse[1, 1] * z1 + inverse[1, 2] * z2
        d2 = inverse[2, 0] * z0 + inverse[2, 1] * z1 + inverse[2, 2] * z2
        # ∂(T⁻¹)ᵀ y = -½ δ×y + dc (Θ·δ) Θ×(Θ×y) + c (δ×(Θ×y) + Θ×(δ×y))
        e0, e1, e2 = d1 * y2 - d2 * y1, d2 * y0 - d0 * y2, d0 * y1 - d1 * y0
        turn = dc * (t0 * d0 + t1 * d1 + t2 * d2)
        turned = (
            -0.5 * e0 + turn * (t1 * a2 - t2 * a1) + c * (d1 * a2 - d2 * a1 + t1 * e2 - t2 * e1),
            -0.5 * e1 + turn * (t2 * a0 - t0 * a2) + c * (d2 * a0 - d0 * a2 + t2 * e0 - t0 * e2),
            -0.5 * e2 + turn * (t0 * a1 - t1 * a0) + c * (d0 * a1 - d1 * a0 + t0 * e1 - t1 * e0),
            n1 * z2 - n2 * z1, n2 * z0 - n0 * z2, n0 * z1 - n1 * z0,
        )  # fmt: skip
        add_column(K, k, coact(s, turned))


@inner
def add_coad_matrix(W, b):
    """b += C with C x = coad(x) W = (ω×C + v×N ; ω×N)."""
    c0, c1, c2, n0, n1, n2 = W[0], W[1], W[2], W[3], W[4], W[5]
    b[0, 1] += c2
    b[0, 2] -= c1
    b[1, 0] -= c2
    b[1, 2] += c0
    b[2, 0] += c1
    b[2, 1] -= c0
    for o in range(2):
        r, c = 3 * o, 3 - 3 * o
        b[r, c + 1] += n2
        b[r, c + 2] -= n1
        b[r + 1, c] -= n2
        b[r + 1, c + 2] += n0
        b[r + 2, c] += n1
        b[r + 2, c + 1] -= n0


@kernel("UniTuple(f8, 2)(f8)")
def _inverse_coefficients(angle):
    """c(θ) = (1 - (θ/2) cot(θ/2))/θ² and c′(θ)/θ, by series where the closed form cancels."""
    if angle < 0.3:
        s = angle * angle
        tail = 1.0 / 47900160.0 + s * 691.0 / 1307674368000.0
        c = 1.0 / 12.0 + s * (1.0 / 720.0 + s * (1.0 / 30240.0 + s * (1.0 / 1209600.0 + s * tail)))
        d = 1.0 / 360.0 + s * (
            4.0 / 30240.0 + s * (6.0 / 1209600.0 + s * (8.0 / 47900160.0 + s * 10.0 * 691.0 / 1307674368000.0))
        )
        return c, d
    half = 0.5 * angle
    cot = math.cos(half) / math.sin(half)
    c = (1.0 - half * cot) / (angle * angle)
    d = (half * cot + half * half / math.sin(half) ** 2 - 2.0) / angle**4
    return c, d


@kernel("void(f8[:,::1], f8[::1])")
def _log(R, theta):
    """Rotation vector of R, accurate up to half a turn."""
    x, y, z = 0.5 * (R[2, 1] - R[1, 2]), 0.5 * (R[0, 2] - R[2, 0]), 0.5 * (R[1, 0] - R[0, 1])
    sine = math.sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    angle = math.atan2(sine, cosine)
    if cosine > -0.9:
        factor = 1.0 + sine * sine / 6.0 if sine < 1e-4 else angle / sine
        theta[0], theta[1], theta[2] = factor * x, factor * y, factor * z
        return
    # near half a turn: the axis from the symmetric part, its sign from the skew part
    k = 0
    if R[1, 1] > R[0, 0]:
        k = 1
    if R[2, 2] > R[k, k]:
        k = 2
    size = 0.0
    for i in range(3):
        theta[i] = 0.5 * (R[i, k] + R[k, i])
    theta[k] -= cosine
    for i in range(3):
        size += theta[i] * theta[i]
    sign = theta[0] * x + theta[1] * y + theta[2] * z
    factor = angle / math.sqrt(size)
    if sign < 0.0:
        factor = -factor
    for i in range(3):
        theta[i] *= factor
