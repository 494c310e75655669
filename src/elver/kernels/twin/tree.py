"""The readable twin of the kernels: the textbook recursion in body frames, in plain NumPy.

Inverse dynamics (Gotelli 2024, (3.36), (3.39), (3.44)) and its tangent ((3.45)-(3.55)) on the same
:class:`~elver.kernels.tree.program.Program`, where each interval of a rod is a small joint g_next = g exp(Ψ):

    forward     η = Ad(exp Ψ)⁻¹ η_before + T(Ψ) Ψ'
    backward    F = M η' - ad(η)ᵀ M η - F_ext + Σ Ad(exp Ψ_next)⁻ᵀ F_next
    projection  R = Σ Sᵀ F ,   S = T(Ψ) ∂Ψ/∂q

It is the oracle of the compiled code and shares nothing with it: exp and T are summed from their defining
series (intervals are short, so a few dozen terms reach rounding), rates and variations come from the product
rule, and wrenches stay in the axes of their own frame. Conventions: six-vectors angular first, T
left-trivialised; rows of a matrix of variations are components, columns the unknowns (base, coordinates,
multipliers).
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from elver.kernels.tree.program import Program, laws_of
from elver.kernels.twin.tendon import pull_of_tendon, stiffening_of_tendon, stretch_of_tendon

__all__ = ["twin_residual", "twin_tangent"]

Array = NDArray[np.float64]

_STRESS = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, *[ctypes.c_void_p] * 3
)

# |Ψ| of an interval stays below about 3; 3⁴⁰/40! is far below rounding.
_TERMS = 40


# Lie algebra, from the definitions --------------------------------------------------------------------------


def hat(w: Array) -> Array:
    """ŵ with ŵ x = w × x."""
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def ad(x: Array) -> Array:
    """ad(x) = [[Θ̂, 0], [v̂, Θ̂]]."""
    return np.block([[hat(x[:3]), np.zeros((3, 3))], [hat(x[3:]), hat(x[:3])]])


def Ad(g: Array) -> Array:
    """Ad(g) = [[R, 0], [p̂R, R]]."""
    R, p = g[:3, :3], g[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [hat(p) @ R, R]])


def ad_transposed(F: Array) -> Array:
    """The matrix with ad(x)ᵀ F = ad_transposed(F) x."""
    C, N = hat(F[:3]), hat(F[3:])
    return np.block([[C, N], [N, np.zeros((3, 3))]])


def bracket(a: Array, b: Array) -> Array:
    """ad(a) b over the last axis, any leading axes."""
    (w_a, v_a), (w_b, v_b) = np.split(a, 2, axis=-1), np.split(b, 2, axis=-1)
    return np.concatenate([np.cross(w_a, w_b), np.cross(w_a, v_b) + np.cross(v_a, w_b)], axis=-1)


def exp(x: Array) -> Array:
    """g = Σ x̂ᵏ/k!."""
    x_hat = np.zeros((4, 4))
    x_hat[:3, :3], x_hat[:3, 3] = hat(x[:3]), x[3:]
    g = term = np.eye(4)
    for k in range(1, _TERMS):
        term = term @ x_hat / k
        g = g + term
    return g


def dexp_jet(x: Array, x_dot: Array, x_ddot: Array) -> tuple[Array, Array, Array]:
    """T(x) = Σ (-1)ᵏ ad(x)ᵏ/(k+1)! and its two rates along a motion, term by term."""
    A, A_dot, A_ddot = -ad(x), -ad(x_dot), -ad(x_ddot)
    term, term_dot, term_ddot = np.eye(6), np.zeros((6, 6)), np.zeros((6, 6))
    T, T_dot, T_ddot = term, term_dot, term_ddot
    for k in range(1, _TERMS):
        term, term_dot, term_ddot = (
            A @ term / (k + 1),
            (A_dot @ term + A @ term_dot) / (k + 1),
            (A_ddot @ term + 2.0 * A_dot @ term_dot + A @ term_ddot) / (k + 1),
        )
        T, T_dot, T_ddot = T + term, T_dot + term_dot, T_ddot + term_ddot
    return T, T_dot, T_ddot


def dexp_gradient(x: Array) -> Array:
    """∂T(x)/∂x_c, first axis c: (6, 6, 6)."""
    return np.array([dexp_jet(x, e, np.zeros(6))[1] for e in np.eye(6)])


def rotation_tangent(theta: Array) -> tuple[Array, Array]:
    """T⁻¹(Θ) on SO(3) and ∂T⁻¹/∂Θ_c = -T⁻¹ ∂T T⁻¹, first axis c: (3, 3), (3, 3, 3)."""
    x = np.concatenate([theta, np.zeros(3)])
    inverse = np.asarray(np.linalg.inv(dexp_jet(x, x, x)[0][:3, :3]), dtype=np.float64)
    return inverse, np.array([-inverse @ dT[:3, :3] @ inverse for dT in dexp_gradient(x)[:3]])


# Strain to joint: the Lie polynomial ------------------------------------------------------------------------


class Joint(NamedTuple):
    """One interval as a joint: Ψ with its two rates, and their gradients with the coordinates."""

    psi: Array  # (3, 6)
    gradient: Array  # (3, n, 6): ∂Ψ/∂q and its two rates
    second: Array  # (n, n, 6): ∂²Ψ/∂q²


def joint(program: Program, segment: int, interval: int, q: Array, second: bool) -> Joint:
    """Ψ = last register of the Lie polynomial of the strain moments, differentiated by the product rule."""
    first, _, poly = program.segment[segment, 3:6]
    moments, operations = program.poly_size[poly]
    n = program.component.size
    values: list[Array] = []
    gradients: list[Array] = []
    seconds: list[Array] = []
    for m in range(moments):
        gradient = np.zeros((3, n, 6))
        for low, high, shift in program.bend[interval].reshape(-1, 3):
            k = np.arange(low, high)
            gradient[0, first + k, program.component[first + k]] = program.phi[interval, m, k - shift]
        value = np.einsum("jk,kc->jc", q, gradient[0])
        value[0] += program.rest[interval, m]
        values.append(value)
        gradients.append(gradient)
        seconds.append(np.zeros((n, n, 6)) if second else np.zeros((1, 1, 6)))
    for o in range(operations):
        weights, beta = program.poly_linear[poly, o], program.poly_beta[poly, o]
        a, b = program.poly_pair[poly, o]
        value = sum((w * x for w, x in zip(weights, values)), np.zeros((3, 6)))
        gradient = sum((w * x for w, x in zip(weights, gradients)), np.zeros((3, n, 6)))
        curve = sum((w * x for w, x in zip(weights, seconds)), np.zeros_like(seconds[0]))
        if beta != 0.0:
            x, y, dx, dy = values[a], values[b], gradients[a], gradients[b]
            value = value + beta * _leibniz(x, y)
            gradient = gradient + beta * (_leibniz(dx, y[:, None]) + _leibniz(x[:, None], dy))
            if second:
                curve = curve + beta * (
                    bracket(seconds[a], y[0])
                    + bracket(x[0], seconds[b])
                    + bracket(dx[0][:, None], dy[0][None, :])
                    + bracket(dx[0][None, :], dy[0][:, None])
                )
        values.append(value)
        gradients.append(gradient)
        seconds.append(curve)
    return Joint(values[-1], gradients[-1], seconds[-1])


def _leibniz(x: Array, y: Array) -> Array:
    """[x, y] and its two rates; rates along the first axis."""
    return np.stack(
        [
            bracket(x[0], y[0]),
            bracket(x[1], y[0]) + bracket(x[0], y[1]),
            bracket(x[2], y[0]) + 2.0 * bracket(x[1], y[1]) + bracket(x[0], y[2]),
        ]
    )


# What acts on one frame -------------------------------------------------------------------------------------


def demanded_wrench(program: Program, f: int, R: Array, eta: Array, eta_dot: Array, inputs: Array) -> Array:
    """F = M η' - ad(η)ᵀ M η - F_ext of one frame, in its own axes."""
    M, m, mc, gravity = program.inertia[f], program.weight[f, 0], program.weight[f, 1:], R.T @ _gravity(program, inputs)
    F = M @ eta_dot - ad(eta).T @ (M @ eta) - np.concatenate([np.cross(mc, gravity), m * gravity])
    for j in np.flatnonzero(program.load_frame == f):
        wrench = inputs[program.load_input[j]] * program.load_wrench[j]
        if program.load_follows[j]:
            F = F - wrench
        else:
            F = F - np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
    for viscous, dry, speed in program.slide[program.slide_frame == f]:
        F[3:] += (viscous + dry / np.sqrt(eta[3:] @ eta[3:] + speed**2)) * eta[3:]
    for drag in program.drag[program.drag_frame == f]:
        F += drag @ eta
    for j in np.flatnonzero(program.strip_frame[:, 0] == f):
        to_strip = np.linalg.inv(Ad(_pose(program.strip_pose[j])))
        F += to_strip.T @ strip_wrench(program, int(j), R, to_strip @ eta)[0]
    return F


def varied_wrench(
    program: Program,
    f: int,
    R: Array,
    eta: Array,
    inputs: Array,
    d_zeta: Array,
    d_eta: Array,
    d_eta_dot: Array,
) -> Array:
    """ΔF of :func:`demanded_wrench`, (3.48): gravity and dead loads turn against the frame."""
    M = program.inertia[f]
    d_F = M @ d_eta_dot - ad(eta).T @ M @ d_eta - ad_transposed(M @ eta) @ d_eta
    turned = hat(R.T @ _gravity(program, inputs)) @ d_zeta[:3]
    d_F = d_F - np.vstack([hat(program.weight[f, 1:]) @ turned, program.weight[f, 0] * turned])
    for j in np.flatnonzero((program.load_frame == f) & (program.load_follows == 0)):
        wrench = inputs[program.load_input[j]] * program.load_wrench[j]
        d_F = d_F - np.vstack([hat(R.T @ wrench[:3]), hat(R.T @ wrench[3:])]) @ d_zeta[:3]
    for viscous, dry, speed in program.slide[program.slide_frame == f]:
        V = eta[3:]
        root = np.sqrt(V @ V + speed**2)
        d_F[3:] += (viscous * np.eye(3) + dry / root * (np.eye(3) - np.outer(V, V) / root**2)) @ d_eta[3:]
    for drag in program.drag[program.drag_frame == f]:
        d_F += drag @ d_eta
    for j in np.flatnonzero(program.strip_frame[:, 0] == f):
        to_strip = np.linalg.inv(Ad(_pose(program.strip_pose[j])))
        _, slope, turn = strip_wrench(program, int(j), R, to_strip @ eta)
        d_F += to_strip.T @ (slope @ to_strip @ d_eta + turn @ (to_strip @ d_zeta)[:3])
    return d_F


def strip_wrench(program: Program, j: int, R: Array, eta: Array) -> tuple[Array, Array, Array]:
    """What a strip with twist ``eta`` gives to the water beyond M_a η' + coad(η) M_a η, in its own axes.

    Also its variation with that twist, (6, 6), and with the rotation of the strip against the flow, (6, 3).
    """
    strip = program.strip[j]
    drag, m, I = strip[:3], np.diag([0.0, strip[4], strip[5]]), np.diag([strip[6], 0.0, 0.0])
    w, v = eta[:3], eta[3:]
    u = program.strip_pose[j, :3].T @ R.T @ strip[7:]
    r, e_x = v - u, np.array([1.0, 0.0, 0.0])
    zero = np.zeros((3, 3))
    law = program.strip_frame[j, 1]
    if law == 0:
        # added mass times the acceleration of the strip, v' + ω×v, instead of Kirchhoff's wrench
        across = np.hypot(r[1], r[2])
        speed = np.array([abs(r[0]), across, across])
        d_speed = np.array([[np.sign(r[0]), 0.0, 0.0], *[[0.0, *(r[1:] / across if across else r[1:])]] * 2])
        force = drag * speed * r + m @ np.cross(w, v) - np.cross(w, m @ v)
        couple = strip[3] * abs(w[0]) * w[0] * e_x - np.cross(v, m @ v) - np.cross(w, I @ w)
        d_drag = np.diag(drag * speed) + (drag * r)[:, None] * d_speed
        roll = 2.0 * strip[3] * abs(w[0]) * np.outer(e_x, e_x)
        d_spin = np.vstack([roll + hat(I @ w) - hat(w) @ I, hat(m @ v) - m @ hat(v)])
        d_velocity = np.vstack([hat(m @ v) - hat(v) @ m, d_drag + m @ hat(w) - hat(w) @ m])
        d_flow = np.vstack([zero, -d_drag])
    elif law == 1:
        # Kirchhoff's wrench of the motion through the water instead of that of the motion in space
        force = m @ np.cross(w, u) - np.cross(w, m @ u)
        couple = np.cross(r, m @ r) - np.cross(v, m @ v)
        through, still = hat(r) @ m - hat(m @ r), hat(v) @ m - hat(m @ v)
        d_spin = np.vstack([zero, hat(m @ u) - m @ hat(u)])
        d_velocity = np.vstack([through - still, zero])
        d_flow = np.vstack([-through, m @ hat(w) - hat(w) @ m])
    else:
        # what is shed at the tail, G = V_x M_a η - (0; T e_x), acts on the body
        force = -r[0] * m @ r + 0.5 * (r @ m @ r + w @ I @ w) * e_x
        couple = -r[0] * I @ w
        d_spin = np.vstack([-r[0] * I, np.outer(e_x, I @ w)])
        d_velocity = np.vstack([-np.outer(I @ w, e_x), -r[0] * m - np.outer(m @ r, e_x) + np.outer(e_x, m @ r)])
        d_flow = -d_velocity
    return np.concatenate([couple, force]), np.hstack([d_spin, d_velocity]), d_flow @ hat(u)


def _gravity(program: Program, inputs: Array) -> Array:
    channel = program.gravity_input[0]
    return program.gravity * (inputs[channel] if channel >= 0 else 1.0)


class Closure(NamedTuple):
    """One closure row: residual, row on the relative body twist of the follower, and the gradient of that row."""

    value: float
    row: Array  # (6,)
    gradient: Array  # (6, 3): ∂row/∂(relative rotation, in axes of the follower)


def closure(kind: int, axes: Array, relative: Array) -> Closure:
    """Ψ = Ā (log R; p) of the follower seen from the leader, J = Ā diag(T⁻¹, R), (3.33)-(3.35) and (3.54); or u·R w."""
    R, p = relative[:3, :3], relative[:3, 3]
    if kind == 1:
        u, w = axes[:3], axes[3:]
        # δ(u·R w) = (w × Rᵀu)·ζ ;  δ(w × Rᵀu) = w × (Rᵀu × ζ)
        row = np.concatenate([np.cross(w, R.T @ u), np.zeros(3)])
        return Closure(float(u @ R @ w), row, np.vstack([hat(w) @ hat(R.T @ u), np.zeros((3, 3))]))
    theta = Rotation.from_matrix(R).as_rotvec()
    inverse, d_inverse = rotation_tangent(theta)
    row = np.concatenate([axes[:3] @ inverse, axes[3:] @ R])
    # Δ(T⁻¹) along ΔΘ = T⁻¹ Δζ_ω ;  ΔR = R (Δζ_ω)^
    turning = np.einsum("a,cab,cd->bd", axes[:3], d_inverse, inverse)
    return Closure(float(axes @ np.concatenate([theta, p])), row, np.vstack([turning, hat(R.T @ axes[3:])]))


def _pose(rows: Array) -> Array:
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rows[:3], rows[3]
    return g


# The recursion ----------------------------------------------------------------------------------------------


def twin_residual(
    program: Program, base: Array, twist: Array, q: Array, multipliers: Array, inputs: Array
) -> Array:
    """R with closure rows below; arguments as of :func:`elver.kernels.tree.evaluate.evaluate_residual`."""
    return _evaluate(program, base, twist, q, multipliers, inputs, None)[0]


def twin_tangent(
    program: Program, base: Array, twist: Array, q: Array, multipliers: Array, inputs: Array, weights: Array
) -> Array:
    """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks; the base in body variations."""
    return _evaluate(program, base, twist, q, multipliers, inputs, np.asarray(weights, dtype=float))[1]


def _evaluate(
    program: Program,
    base: Array,
    twist: Array,
    q: Array,
    multipliers: Array,
    inputs: Array,
    weights: Array | None,
) -> tuple[Array, Array]:
    n, offset = program.component.size, 6 * int(program.free[0])
    coordinates = offset + n
    rows = program.row_kind.size + int(np.count_nonzero(program.tendon_row >= 0))
    size = coordinates + rows
    tangent = weights is not None
    w = np.zeros(3) if weights is None else weights
    frames = program.inertia.shape[0]
    R, matrix = np.zeros(size), np.zeros((size, size))
    q = q.copy()
    q[:, program.imposed[:, 0]] = inputs[program.imposed[:, 1:].T]

    # Forward pass: poses, twists, accelerations, and their variations
    g, eta, eta_dot = np.zeros((frames, 4, 4)), np.zeros((frames, 6)), np.zeros((frames, 6))
    d_zeta, d_eta, d_eta_dot = (np.zeros((frames, 6, size)) for _ in range(3))
    g[0] = np.eye(4)
    g[0, :3, :3], g[0, :3, 3] = base[:3], base[3]
    eta[0], eta_dot[0] = twist
    if offset:
        for k, variation in enumerate((d_zeta, d_eta, d_eta_dot)):
            variation[0, :, :6] = w[k] * np.eye(6)
    chain: list[tuple[int, int, Joint, Array, Array, Array]] = []
    for s in range(program.segment.shape[0]):
        before, start, intervals = program.segment[s, :3]
        for i in range(start, start + intervals):
            f = i + 1
            J = joint(program, s, i, q, tangent)
            T, T_dot, T_ddot = dexp_jet(*J.psi)
            eta_rel = T @ J.psi[1]
            eta_dot_rel = T_dot @ J.psi[1] + T @ J.psi[2]
            step = exp(J.psi[0])
            back = np.asarray(np.linalg.inv(Ad(step)), dtype=np.float64)
            # (3.36)
            g[f] = g[before] @ step
            eta[f] = back @ eta[before] + eta_rel
            eta_dot[f] = back @ eta_dot[before] + ad(eta[f]) @ eta_rel + eta_dot_rel
            d_rel = np.zeros((6, size))
            if tangent:
                # body column ζ = T ΔΨ of the joint and its rates, with Δq' = w_1, Δq'' = w_2 per unit w_0
                d0, d1, d2 = (np.zeros((6, size)) for _ in range(3))
                own = slice(offset, coordinates)
                P, P_dot, P_ddot = (part.T for part in J.gradient)
                d0[:, own] = w[0] * P
                d1[:, own] = w[0] * P_dot + w[1] * P
                d2[:, own] = w[0] * P_ddot + 2.0 * w[1] * P_dot + w[2] * P
                d_rel = T @ d0
                rate = T_dot @ d0 + T @ d1
                second_rate = T_ddot @ d0 + 2.0 * T_dot @ d1 + T @ d2
                d_eta_rel = rate + ad(eta_rel) @ d_rel
                d_eta_dot_rel = second_rate + ad(eta_dot_rel) @ d_rel + ad(eta_rel) @ rate
                # (3.45)
                d_zeta[f] = back @ d_zeta[before] + d_rel
                d_eta[f] = back @ d_eta[before] + ad(back @ eta[before]) @ d_rel + d_eta_rel
                d_eta_dot[f] = (
                    back @ d_eta_dot[before]
                    + ad(back @ eta_dot[before]) @ d_rel
                    - ad(eta_rel) @ d_eta[f]
                    + ad(eta[f]) @ d_eta_rel
                    + d_eta_dot_rel
                )
            chain.append((int(before), f, J, T, back, d_rel))
            before = f

    # What each frame demands by itself
    F, d_F = np.zeros((frames, 6)), np.zeros((frames, 6, size))
    for f in range(frames):
        F[f] = demanded_wrench(program, f, g[f, :3, :3], eta[f], eta_dot[f], inputs)
        if tangent:
            d_F[f] = varied_wrench(
                program, f, g[f, :3, :3], eta[f], inputs, d_zeta[f], d_eta[f], d_eta_dot[f]
            )
    for h, (leader, follower) in enumerate(program.closure_frame):
        places = [_pose(rows) for rows in program.closure_pose[h]]
        # variations of the joint's two frames, in their own axes
        g_s, to_s = g[follower] @ places[1], np.linalg.inv(Ad(places[1]))
        g_p, to_p = (places[0], None) if leader < 0 else (g[leader] @ places[0], np.linalg.inv(Ad(places[0])))
        relative = np.linalg.inv(g_p) @ g_s
        across = np.asarray(np.linalg.inv(Ad(relative)), dtype=np.float64)
        d_rel = to_s @ d_zeta[follower]
        if to_p is not None:
            d_rel = d_rel - across @ to_p @ d_zeta[leader]
        F_s, d_F_s = np.zeros(6), np.zeros((6, size))
        first, count = program.closure_rows[h]
        for j in range(first, first + count):
            k = coordinates + j
            if not np.any(program.row_axes[j]):  # a redundant row: its multiplier is zero
                R[k], matrix[k, k] = multipliers[j], 1.0
                continue
            held = closure(int(program.row_kind[j]), program.row_axes[j], relative)
            R[k] = held.value
            matrix[k] += held.row @ d_rel
            matrix[k, k] -= program.row_soft[j]
            F_s += multipliers[j] * held.row
            d_F_s += multipliers[j] * held.gradient @ d_rel[:3]
            d_F_s[:, k] += held.row
        F[follower] += to_s.T @ F_s
        d_F[follower] += to_s.T @ d_F_s
        if to_p is not None:
            F[leader] -= to_p.T @ across.T @ F_s
            d_F[leader] -= to_p.T @ across.T @ (d_F_s - ad_transposed(F_s) @ d_rel)

    for j, (t, ends) in enumerate(zip(program.span_tendon, program.span_frame)):
        row, amount = program.tendon_row[t], inputs[program.tendon_input[t]]
        tension = multipliers[row] if row >= 0 else program.tendon_factor[t] * amount
        points, levers, slopes = [], [], []
        for f, x in zip(ends, program.span_point[j]):
            points.append(x if f < 0 else g[f, :3, :3] @ x + g[f, :3, 3])
            levers.append(np.hstack([-hat(x), np.eye(3)]))  # body twist to velocity of the guide, in body axes
            slopes.append(np.zeros((3, size)) if f < 0 else g[f, :3, :3] @ levers[-1] @ d_zeta[f])
        length = np.linalg.norm(points[1] - points[0])
        u = (points[1] - points[0]) / length
        d_u = (np.eye(3) - np.outer(u, u)) @ (slopes[1] - slopes[0]) / length
        if row >= 0:
            R[coordinates + row] += length
            matrix[coordinates + row] += u @ (slopes[1] - slopes[0])
        for sign, f, lever in zip((-1.0, 1.0), ends, levers):
            if f >= 0:
                # in axes of the frame: Rᵀu, which also varies with the rotation of the frame
                unit = g[f, :3, :3].T @ u
                F[f] += sign * tension * lever.T @ unit
                d_F[f] += sign * tension * lever.T @ (g[f, :3, :3].T @ d_u + hat(unit) @ d_zeta[f, :3])
                if row >= 0:
                    d_F[f, :, coordinates + row] += sign * lever.T @ unit

    # Backward pass and projection
    for before, f, J, T, back, d_rel in reversed(chain):
        S = T @ J.gradient[0].T
        R[offset:coordinates] += S.T @ F[f]
        F[before] += back.T @ F[f]
        if tangent:
            # ΔSᵀF: ∂_b S_a = ∂T[∂_bΨ] ∂_aΨ + T ∂_a∂_bΨ
            P = J.gradient[0]
            through_T = np.einsum("r,crk,bc,ak->ab", F[f], dexp_gradient(J.psi[0]), P, P, optimize=True)
            matrix[offset:coordinates] += S.T @ d_F[f]
            matrix[offset:coordinates, offset:coordinates] += w[0] * (through_T + J.second @ (T.T @ F[f]))
            # (3.50)
            d_F[before] += back.T @ (d_F[f] - ad_transposed(F[f]) @ d_rel)
    if offset:
        R[:6] += F[0]
        matrix[:6] += d_F[0]

    _add_strain_loads(program, offset, q, multipliers, inputs, w, R, matrix)
    _add_own_stresses(program, offset, q, inputs, w, R, matrix)
    for k in offset + program.imposed[:, 0]:
        R[k], matrix[k] = 0.0, 0.0
        matrix[k, k] = w[2]
    return R, matrix


def _add_strain_loads(
    program: Program,
    offset: int,
    q: Array,
    multipliers: Array,
    inputs: Array,
    w: Array,
    R: Array,
    matrix: Array,
) -> None:
    """Elasticity, damping, muscles, and tendons at each quadrature point: Λ_act = T (D×u; u), u = c/|c|."""
    n = program.component.size
    own = slice(offset, offset + n)
    K, D = laws_of(program)
    beyond = q[0] - np.clip(q[0], program.stop[:, 0], program.stop[:, 1])
    dry, speed = program.friction.T
    R[own] += K @ (q[0] - program.spring_rest) + D @ q[1] + dry * np.tanh(q[1] / speed) + program.stop[:, 2] * beyond
    matrix[own, own] += w[0] * K + w[1] * D
    slope = w[1] * dry / speed / np.cosh(q[1] / speed) ** 2 + w[0] * program.stop[:, 2] * (beyond != 0)
    matrix[own, own] += np.diag(slope)
    R[own] += program.rotor * q[2]
    matrix[own, own] += w[2] * np.diag(program.rotor)
    R[own] += inputs[program.muscle_input] @ program.muscle_force
    for t in range(program.tendon_input.size):
        amount, row = inputs[program.tendon_input[t]], program.tendon_row[t]
        tension = multipliers[row] if row >= 0 else program.tendon_factor[t] * amount
        length, rate = 0.0, np.zeros(n)
        low, high = program.tendon_reach[t, :2]
        for g, ds, path in zip(range(low, high), program.tendon_weight[t], program.tendon_path[t], strict=False):
            if ds == 0.0:
                continue
            B_Phi = _functions_at(program, g)
            xi = program.point_rest[g] + B_Phi @ q[0]
            at = (xi, path[:3], path[3:])
            length += ds * float(stretch_of_tendon(*at))
            rate += ds * pull_of_tendon(*at) @ B_Phi
            matrix[own, own] += w[0] * tension * ds * B_Phi.T @ stiffening_of_tendon(*at) @ B_Phi
        R[own] += tension * rate
        if row >= 0:
            k = offset + n + row
            R[k] += length - program.tendon_length[t] + amount
            matrix[own, k] += rate
            matrix[k, own] += w[0] * rate


def _functions_at(program: Program, point: int) -> Array:
    """B Φ at a quadrature point, (6, n)."""
    first = program.block[program.point_block[point], 0]
    B_Phi = np.zeros((6, program.component.size))
    for low, high, shift in program.point_bend[point].reshape(-1, 3):
        k = np.arange(low, high)
        B_Phi[program.component[first + k], first + k] = program.point_phi[point, k - shift]
    return B_Phi


def _add_own_stresses(
    program: Program, offset: int, q: Array, inputs: Array, w: Array, R: Array, matrix: Array
) -> None:
    """Section laws and actuators of one's own: ∫ Φᵀ Bᵀ (Λ(x) - 𝓗 x) ds, x = ξ less the strain they count from."""
    n = program.component.size
    own = slice(offset, offset + n)
    for t, (low, high) in enumerate(program.own_reach):
        ask = _STRESS(int(program.own_address[t]))
        amount = inputs[program.own_input[t]] if program.own_input[t] >= 0 else 0.0
        parameters = program.own_parameters[program.own_first[t] :]
        for r in range(low, high):
            g, ds, H = program.own_point[r], program.own_weight[r], program.own_linear[r]
            B_Phi = _functions_at(program, g)
            x = program.point_rest[g] - program.own_origin[r] + B_Phi @ q[0]
            stress, slope = np.zeros(6), np.zeros((6, 6))
            ask(x.ctypes.data, program.own_s[r], amount, *(a.ctypes.data for a in (parameters, stress, slope)))
            R[own] += ds * B_Phi.T @ (stress - H @ x)
            matrix[own, own] += w[0] * ds * B_Phi.T @ (slope - H) @ B_Phi
