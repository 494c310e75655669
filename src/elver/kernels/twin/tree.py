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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from elver.kernels.tree.program import Program
from elver.kernels.twin.evaluation import Evaluation
from elver.kernels.twin.strains import add_own_stresses, add_strain_loads

__all__ = ["twin_residual", "twin_tangent"]

Array = NDArray[np.float64]

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
    return _evaluate(Evaluation(program, base, twist, q, multipliers, inputs, None)).R


def twin_tangent(
    program: Program, base: Array, twist: Array, q: Array, multipliers: Array, inputs: Array, weights: Array
) -> Array:
    """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks; the base in body variations."""
    weights = np.asarray(weights, dtype=float)
    return _evaluate(Evaluation(program, base, twist, q, multipliers, inputs, weights)).matrix


def _evaluate(e: Evaluation) -> Evaluation:
    chain = _forward(e)
    for f in range(e.F.shape[0]):
        _demand(e, f)
    for h in range(e.program.closure_frame.shape[0]):
        _hold(e, h)
    for j in range(e.program.span_tendon.size):
        _pull(e, j)
    _backward(e, chain)
    add_strain_loads(e)
    add_own_stresses(e)
    for k in e.offset + e.program.imposed[:, 0]:
        e.R[k], e.matrix[k] = 0.0, 0.0
        e.matrix[k, k] = e.w[2]
    return e


class Link(NamedTuple):
    """An interval on the way out, for the way back."""

    before: int  # frame
    f: int  # frame at its end
    joint: Joint
    T: Array
    back: Array  # Ad(exp Ψ)⁻¹
    d_rel: Array  # (6, size) variation of its own motion


def _forward(e: Evaluation) -> list[Link]:
    """Poses, twists, accelerations, and their variations, from the base to the tips."""
    e.g[0] = np.eye(4)
    e.g[0, :3, :3], e.g[0, :3, 3] = e.base[:3], e.base[3]
    e.eta[0], e.eta_dot[0] = e.twist
    if e.offset:
        for k, variation in enumerate((e.d_zeta, e.d_eta, e.d_eta_dot)):
            variation[0, :, :6] = e.w[k] * np.eye(6)
    chain: list[Link] = []
    for s in range(e.program.segment.shape[0]):
        before, start, intervals = (int(one) for one in e.program.segment[s, :3])
        for i in range(start, start + intervals):
            chain.append(_pass(e, before, i + 1, joint(e.program, s, i, e.q, e.weights is not None)))
            before = i + 1
    return chain


def _pass(e: Evaluation, before: int, f: int, J: Joint) -> Link:
    """From a frame to the next, through the joint between them."""
    T, T_dot, T_ddot = dexp_jet(*J.psi)
    eta_rel = T @ J.psi[1]
    eta_dot_rel = T_dot @ J.psi[1] + T @ J.psi[2]
    step = exp(J.psi[0])
    back = np.asarray(np.linalg.inv(Ad(step)), dtype=np.float64)
    # (3.36)
    e.g[f] = e.g[before] @ step
    e.eta[f] = back @ e.eta[before] + eta_rel
    e.eta_dot[f] = back @ e.eta_dot[before] + ad(e.eta[f]) @ eta_rel + eta_dot_rel
    size = e.R.size
    if e.weights is None:
        return Link(before, f, J, T, back, np.zeros((6, size)))
    # body column ζ = T ΔΨ of the joint and its rates, with Δq' = w_1, Δq'' = w_2 per unit w_0
    w, (d0, d1, d2) = e.weights, (np.zeros((6, size)) for _ in range(3))
    P, P_dot, P_ddot = (part.T for part in J.gradient)
    d0[:, e.own] = w[0] * P
    d1[:, e.own] = w[0] * P_dot + w[1] * P
    d2[:, e.own] = w[0] * P_ddot + 2.0 * w[1] * P_dot + w[2] * P
    d_rel = T @ d0
    rate = T_dot @ d0 + T @ d1
    second_rate = T_ddot @ d0 + 2.0 * T_dot @ d1 + T @ d2
    d_eta_rel = rate + ad(eta_rel) @ d_rel
    d_eta_dot_rel = second_rate + ad(eta_dot_rel) @ d_rel + ad(eta_rel) @ rate
    # (3.45)
    e.d_zeta[f] = back @ e.d_zeta[before] + d_rel
    e.d_eta[f] = back @ e.d_eta[before] + ad(back @ e.eta[before]) @ d_rel + d_eta_rel
    e.d_eta_dot[f] = (
        back @ e.d_eta_dot[before]
        + ad(back @ e.eta_dot[before]) @ d_rel
        - ad(eta_rel) @ e.d_eta[f]
        + ad(e.eta[f]) @ d_eta_rel
        + d_eta_dot_rel
    )
    return Link(before, f, J, T, back, d_rel)


def _demand(e: Evaluation, f: int) -> None:
    """What a frame demands by itself."""
    R = e.g[f, :3, :3]
    e.F[f] = demanded_wrench(e.program, f, R, e.eta[f], e.eta_dot[f], e.inputs)
    if e.weights is not None:
        varied = e.d_zeta[f], e.d_eta[f], e.d_eta_dot[f]
        e.d_F[f] = varied_wrench(e.program, f, R, e.eta[f], e.inputs, *varied)


def _hold(e: Evaluation, h: int) -> None:
    """Rows of a closure, and its wrenches on both frames."""
    p, (leader, follower) = e.program, e.program.closure_frame[h]
    places = [_pose(rows) for rows in p.closure_pose[h]]
    # variations of the joint's two frames, in their own axes
    g_s, to_s = e.g[follower] @ places[1], np.linalg.inv(Ad(places[1]))
    g_p, to_p = (places[0], None) if leader < 0 else (e.g[leader] @ places[0], np.linalg.inv(Ad(places[0])))
    relative = np.linalg.inv(g_p) @ g_s
    across = np.asarray(np.linalg.inv(Ad(relative)), dtype=np.float64)
    d_rel = to_s @ e.d_zeta[follower]
    if to_p is not None:
        d_rel = d_rel - across @ to_p @ e.d_zeta[leader]
    F_s, d_F_s = np.zeros(6), np.zeros((6, e.R.size))
    first, count = p.closure_rows[h]
    for j in range(first, first + count):
        k = e.coordinates + j
        if not np.any(p.row_axes[j]):  # a redundant row: its multiplier is zero
            e.R[k], e.matrix[k, k] = e.multipliers[j], 1.0
            continue
        held = closure(int(p.row_kind[j]), p.row_axes[j], relative)
        e.R[k] = held.value
        e.matrix[k] += held.row @ d_rel
        e.matrix[k, k] -= p.row_soft[j]
        F_s += e.multipliers[j] * held.row
        d_F_s += e.multipliers[j] * held.gradient @ d_rel[:3]
        d_F_s[:, k] += held.row
    e.F[follower] += to_s.T @ F_s
    e.d_F[follower] += to_s.T @ d_F_s
    if to_p is not None:
        e.F[leader] -= to_p.T @ across.T @ F_s
        e.d_F[leader] -= to_p.T @ across.T @ (d_F_s - ad_transposed(F_s) @ d_rel)


def _pull(e: Evaluation, j: int) -> None:
    """A free span of a cable: its length in the row of the cable, its tension on both frames."""
    t, ends = e.program.span_tendon[j], e.program.span_frame[j]
    row, tension = e.program.tendon_row[t], e.tension(t)
    points, levers, slopes = [], [], []
    for f, x in zip(ends, e.program.span_point[j]):
        points.append(x if f < 0 else e.g[f, :3, :3] @ x + e.g[f, :3, 3])
        levers.append(np.hstack([-hat(x), np.eye(3)]))  # body twist to velocity of the guide, in body axes
        slopes.append(np.zeros((3, e.R.size)) if f < 0 else e.g[f, :3, :3] @ levers[-1] @ e.d_zeta[f])
    length = np.linalg.norm(points[1] - points[0])
    u = (points[1] - points[0]) / length
    d_u = (np.eye(3) - np.outer(u, u)) @ (slopes[1] - slopes[0]) / length
    if row >= 0:
        e.R[e.coordinates + row] += length
        e.matrix[e.coordinates + row] += u @ (slopes[1] - slopes[0])
    for sign, f, lever in zip((-1.0, 1.0), ends, levers):
        if f >= 0:
            # in axes of the frame: Rᵀu, which also varies with the rotation of the frame
            unit = e.g[f, :3, :3].T @ u
            e.F[f] += sign * tension * lever.T @ unit
            e.d_F[f] += sign * tension * lever.T @ (e.g[f, :3, :3].T @ d_u + hat(unit) @ e.d_zeta[f, :3])
            if row >= 0:
                e.d_F[f, :, e.coordinates + row] += sign * lever.T @ unit


def _backward(e: Evaluation, chain: list[Link]) -> None:
    """Wrenches from the tips to the base, projected on the motions of the joints."""
    own = e.own
    for before, f, J, T, back, d_rel in reversed(chain):
        S = T @ J.gradient[0].T
        e.R[own] += S.T @ e.F[f]
        e.F[before] += back.T @ e.F[f]
        if e.weights is not None:
            # ΔSᵀF: ∂_b S_a = ∂T[∂_bΨ] ∂_aΨ + T ∂_a∂_bΨ
            P = J.gradient[0]
            through_T = np.einsum("r,crk,bc,ak->ab", e.F[f], dexp_gradient(J.psi[0]), P, P, optimize=True)
            e.matrix[own] += S.T @ e.d_F[f]
            e.matrix[own, own] += e.weights[0] * (through_T + J.second @ (T.T @ e.F[f]))
            # (3.50)
            e.d_F[before] += back.T @ (e.d_F[f] - ad_transposed(e.F[f]) @ d_rel)
    if e.offset:
        e.R[:6] += e.F[0]
        e.matrix[:6] += e.d_F[0]
