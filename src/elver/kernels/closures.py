"""Sections held in place: closure residual, closure wrench and its stiffness (Gotelli 2024, section 3.5.6).

With R, p the pose of the held section seen from its target, Θ = log R and Ā the rows of the hold

    Ψ = Ā (Θ; p) ,   J = Ā diag(T⁻¹(Θ), R) on the body twist ,   wrench Jᵀλ ,
    T⁻¹ = 1 + ½ Θ̂ + c Θ̂² ,   c = (1 - (θ/2) cot(θ/2)) / θ² .

The wrench joins the demand of its frame (+Jᵀλ in the residual). Its variation, on the rotation alone, is
(∂(T⁻¹)[T⁻¹ζ_ω]ᵀ y_1 ; (Rᵀy_2)^ ζ_ω) with y = Āᵀλ.
"""

from __future__ import annotations

import math

from elver.kernels.cache import inner, kernel

__all__ = ["hold_diagonal", "hold_residual", "hold_tangent"]


@inner
def hold_residual(
    size, hold_frame, hold_pose, row_hold, row_axes, base, multipliers, pose, v, maps, closure, force, residual
):
    """Closure rows into ``residual`` from ``size`` on, as world wrenches into ``closure``, wrenches into ``force``."""
    for j in range(row_hold.size):
        h = row_hold[j]
        f = hold_frame[h]
        _relative(pose[f], hold_pose[h], base, v, maps)
        theta, position = v[0], v[1]
        axes, w = row_axes[j], v[2]
        if not _active(axes):
            residual[size + j] = multipliers[j]
            for k in range(6):
                closure[j, k] = 0.0
            continue
        total = 0.0
        for k in range(3):
            total += axes[k] * theta[k] + axes[3 + k] * position[k]
        residual[size + j] = total
        _row(maps, axes, w)
        _frame_to_world(pose[f], w, closure[j])
        for k in range(6):
            force[f, k] += multipliers[j] * closure[j, k]


@inner
def hold_tangent(hold_frame, hold_pose, row_hold, row_axes, base, multipliers, poses, v, maps, stiffness):
    """Add the stiffness of the closure wrenches to ``stiffness``."""
    for j in range(row_hold.size):
        h = row_hold[j]
        f = hold_frame[h]
        _relative(poses[f], hold_pose[h], base, v, maps)
        inverse, R, theta = maps[0], maps[1], v[0]
        axes, lam = row_axes[j], multipliers[j]
        angle = math.sqrt(theta[0] ** 2 + theta[1] ** 2 + theta[2] ** 2)
        c, dc = _inverse_coefficients(angle)
        pose, b = poses[f], stiffness[f]
        for k in range(3):  # world direction k of the rotation of the frame
            z0, z1, z2 = pose[k, 0], pose[k, 1], pose[k, 2]
            d0 = inverse[0, 0] * z0 + inverse[0, 1] * z1 + inverse[0, 2] * z2
            d1 = inverse[1, 0] * z0 + inverse[1, 1] * z1 + inverse[1, 2] * z2
            d2 = inverse[2, 0] * z0 + inverse[2, 1] * z1 + inverse[2, 2] * z2
            # ∂(T⁻¹)ᵀ y = -½ δ×y + dc (Θ·δ) Θ×(Θ×y) + c (δ×(Θ×y) + Θ×(δ×y))
            t0, t1, t2 = theta[0], theta[1], theta[2]
            y0, y1, y2 = lam * axes[0], lam * axes[1], lam * axes[2]
            a0, a1, a2 = t1 * y2 - t2 * y1, t2 * y0 - t0 * y2, t0 * y1 - t1 * y0
            e0, e1, e2 = d1 * y2 - d2 * y1, d2 * y0 - d0 * y2, d0 * y1 - d1 * y0
            s = dc * (t0 * d0 + t1 * d1 + t2 * d2)
            v[3, 0] = -0.5 * e0 + s * (t1 * a2 - t2 * a1) + c * (d1 * a2 - d2 * a1 + t1 * e2 - t2 * e1)
            v[3, 1] = -0.5 * e1 + s * (t2 * a0 - t0 * a2) + c * (d2 * a0 - d0 * a2 + t2 * e0 - t0 * e2)
            v[3, 2] = -0.5 * e2 + s * (t0 * a1 - t1 * a0) + c * (d0 * a1 - d1 * a0 + t0 * e1 - t1 * e0)
            # (Rᵀ y_2) × ζ_ω
            n0 = lam * (R[0, 0] * axes[3] + R[1, 0] * axes[4] + R[2, 0] * axes[5])
            n1 = lam * (R[0, 1] * axes[3] + R[1, 1] * axes[4] + R[2, 1] * axes[5])
            n2 = lam * (R[0, 2] * axes[3] + R[1, 2] * axes[4] + R[2, 2] * axes[5])
            v[3, 3] = n1 * z2 - n2 * z1
            v[3, 4] = n2 * z0 - n0 * z2
            v[3, 5] = n0 * z1 - n1 * z0
            _frame_to_world(pose, v[3], v[4])
            for i in range(6):
                b[i, k] += v[4, i]


@inner
def _active(axes):
    """False for a redundant row, which assembly has set to zero: its multiplier is then required to be zero."""
    total = 0.0
    for k in range(6):
        total += abs(axes[k])
    return total > 0.0


@inner
def hold_diagonal(size, row_axes, matrix):
    """Unit diagonal for redundant rows, whose equation is λ = 0."""
    for j in range(row_axes.shape[0]):
        if not _active(row_axes[j]):
            matrix[size + j, size + j] = 1.0


@inner
def _relative(pose, target, base, v, maps):
    """Rotation vector v[0] and position v[1] of a frame seen from its target; T⁻¹ and R in maps[0], maps[1]."""
    inverse, R = maps[0], maps[1]
    theta, position = v[0], v[1]
    for i in range(3):
        position[i] = 0.0
        for j in range(3):
            position[i] += target[j, i] * (base[3, j] + pose[3, j] - target[3, j])
            R[i, j] = target[0, i] * pose[0, j] + target[1, i] * pose[1, j] + target[2, i] * pose[2, j]
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


@kernel
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


@kernel
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


@inner
def _row(maps, axes, w):
    """Closure row as a wrench in the axes of the held frame: w = (T⁻ᵀ a_1; Rᵀ a_2)."""
    inverse, R = maps[0], maps[1]
    for i in range(3):
        w[i] = inverse[0, i] * axes[0] + inverse[1, i] * axes[1] + inverse[2, i] * axes[2]
        w[3 + i] = R[0, i] * axes[3] + R[1, i] * axes[4] + R[2, i] * axes[5]


@inner
def _frame_to_world(pose, a, out):
    """out = coAd(pose) a for a wrench."""
    for i in range(3):
        out[i] = pose[i, 0] * a[0] + pose[i, 1] * a[1] + pose[i, 2] * a[2]
        out[3 + i] = pose[i, 0] * a[3] + pose[i, 1] * a[4] + pose[i, 2] * a[5]
    p = pose[3]
    out[0] += p[1] * out[5] - p[2] * out[4]
    out[1] += p[2] * out[3] - p[0] * out[5]
    out[2] += p[0] * out[4] - p[1] * out[3]
