"""One interval of a segment: how its pose varies with the moments of its strain, to second order, with time rates.

Twists are dual vectors ω + ε v; dual 3x3 matrices are pairs of real ones. :func:`columns` differentiates the Lie
polynomial, :func:`world_map` and :func:`world_columns` bring ∂Ψ into world axes as the columns z with z' and z'', and
:func:`curvature` finds F·∂z_b/∂α_a by reverse accumulation.
"""

from __future__ import annotations

from elver.kernels.algebra import add_coad
from elver.kernels.build.cache import inner
from elver.kernels.tree.recursion import add_bracket_jet, add_tangent_transposed, dual_dot, reverse

__all__ = ["add_hat", "columns", "curvature", "world_columns", "world_map"]


@inner("void(f8[:,::1], i8, i8, f8, f8, f8, f8)")
def add_hat(b, i, k, scale, x, y, z):
    """b[i:i+3, k:k+3] += scale hat(x, y, z)."""
    b[i, k + 1] -= scale * z
    b[i, k + 2] += scale * y
    b[i + 1, k] += scale * z
    b[i + 1, k + 2] -= scale * x
    b[i + 2, k] -= scale * y
    b[i + 2, k + 1] += scale * x


@inner
def columns(moments, operations, pair, beta, linear, active, r, jets, column):
    """Variation of all registers of one interval with each moment of each free strain, with time rates."""
    for a in range(active[0] * moments):
        d = column[a]
        m, component = a % moments, active[1 + a // moments]
        for j in range(3 * (moments + operations)):
            for k in range(6):
                d[j, k] = 0.0
        d[3 * m, component] = 1.0
        for o in range(operations):
            out = 3 * (moments + o)
            for j in range(moments + o):
                weight = linear[o, j]
                if weight != 0.0 and (j == m or j >= moments):
                    for jet in range(jets):
                        for k in range(6):
                            d[out + jet, k] += weight * d[3 * j + jet, k]
            if beta[o] != 0.0:
                x, y = pair[o, 0], pair[o, 1]
                if x == m or x >= moments:
                    add_bracket_jet(d, out, beta[o], d, 3 * x, r, 3 * y, jets)
                if y == m or y >= moments:
                    add_bracket_jet(d, out, beta[o], r, 3 * x, d, 3 * y, jets)


@inner
def world_map(pose, eta, acc, before, psi, last, c, jets, maps):
    """W = Ad T(-Ψ) as a dual matrix with its two rates, in maps[6:9]."""
    # T and its rates in maps[0:3]
    for jet in range(jets):
        T = maps[jet]
        for part in range(2):
            for a in range(3):
                for b in range(3):
                    T[part, a, b] = 0.0
                T[part, a, a] = c[jet, 0, part]
    for jet in range(jets):
        for k in range(jet + 1):
            # binomial: (c Ψ)^(jet) = Σ C(jet, k) c^(k) Ψ^(jet-k)
            factor = 2.0 if (jet == 2 and k == 1) else 1.0
            _add_dual_hat(maps[jet], factor * c[k, 1, 0], factor * c[k, 1, 1], psi, last + jet - k)
            for j in range(jet - k + 1):
                inner = 2.0 if (jet - k == 2 and j == 1) else 1.0
                _add_dual_outer(
                    maps[jet],
                    factor * inner * c[k, 2, 0],
                    factor * inner * c[k, 2, 1],
                    psi,
                    last + j,
                    last + jet - k - j,
                )
    # G = Ad and its rates in maps[3:6]
    G = maps[3]
    px, py, pz = pose[before, 3, 0], pose[before, 3, 1], pose[before, 3, 2]
    for b in range(3):
        for a in range(3):
            G[0, a, b] = pose[before, a, b]
        G[1, 0, b] = py * G[0, 2, b] - pz * G[0, 1, b]
        G[1, 1, b] = pz * G[0, 0, b] - px * G[0, 2, b]
        G[1, 2, b] = px * G[0, 1, b] - py * G[0, 0, b]
    for jet in range(jets):
        for part in range(2):
            for a in range(3):
                for b in range(3):
                    maps[6 + jet, part, a, b] = 0.0
                    if jet > 0:
                        maps[3 + jet, part, a, b] = 0.0
    if jets == 3:
        _add_cross_matrix(maps[4], eta, before, maps[3])
        _add_cross_matrix(maps[5], acc, before, maps[3])
        _add_cross_matrix(maps[5], eta, before, maps[4])
    for jet in range(jets):
        for k in range(jet + 1):
            factor = 2.0 if (jet == 2 and k == 1) else 1.0
            _add_dual_product(maps[6 + jet], factor, maps[3 + k], maps[jet - k])


@inner
def world_columns(maps, d, last, count, jets, z):
    """Columns z = W ∂Ψ and their two rates in world axes."""
    for a in range(count):
        for jet in range(3):
            for k in range(6):
                z[a, jet, k] = 0.0
        for jet in range(jets):
            for k in range(jet + 1):
                factor = 2.0 if (jet == 2 and k == 1) else 1.0
                _add_dual_apply(z[a], jet, factor, maps[6 + k], d[a], last + jet - k)


@inner("void(f8[:,:,::1], f8, f8, f8[:,::1], i8)")
def _add_dual_hat(T, real, dual, a, j):
    """T += (real + ε dual) hat(a[j]) as a dual 3x3 matrix."""
    add_hat(T[0], 0, 0, real, a[j, 0], a[j, 1], a[j, 2])
    add_hat(T[1], 0, 0, real, a[j, 3], a[j, 4], a[j, 5])
    add_hat(T[1], 0, 0, dual, a[j, 0], a[j, 1], a[j, 2])


@inner("void(f8[:,:,::1], f8, f8, f8[:,::1], i8, i8)")
def _add_dual_outer(T, real, dual, a, j, k):
    """T += (real + ε dual) a[j] a[k]ᵀ as a dual 3x3 matrix."""
    for r in range(3):
        x, x_e = real * a[j, r], real * a[j, 3 + r] + dual * a[j, r]
        for c in range(3):
            T[0, r, c] += x * a[k, c]
            T[1, r, c] += x * a[k, 3 + c] + x_e * a[k, c]


@inner
def _add_cross_matrix(out, a, j, G):
    """out += hat(a[j]) G for a dual matrix G."""
    w0, w1, w2, v0, v1, v2 = a[j, 0], a[j, 1], a[j, 2], a[j, 3], a[j, 4], a[j, 5]
    for b in range(3):
        r0, r1, r2 = G[0, 0, b], G[0, 1, b], G[0, 2, b]
        e0, e1, e2 = G[1, 0, b], G[1, 1, b], G[1, 2, b]
        out[0, 0, b] += w1 * r2 - w2 * r1
        out[0, 1, b] += w2 * r0 - w0 * r2
        out[0, 2, b] += w0 * r1 - w1 * r0
        out[1, 0, b] += w1 * e2 - w2 * e1 + v1 * r2 - v2 * r1
        out[1, 1, b] += w2 * e0 - w0 * e2 + v2 * r0 - v0 * r2
        out[1, 2, b] += w0 * e1 - w1 * e0 + v0 * r1 - v1 * r0


@inner("void(f8[:,:,::1], f8, f8[:,:,::1], f8[:,:,::1])")
def _add_dual_product(out, factor, A, B):
    """out += factor A B for dual 3x3 matrices."""
    for i in range(3):
        for k in range(3):
            real = A[0, i, 0] * B[0, 0, k] + A[0, i, 1] * B[0, 1, k] + A[0, i, 2] * B[0, 2, k]
            dual = (
                A[0, i, 0] * B[1, 0, k]
                + A[0, i, 1] * B[1, 1, k]
                + A[0, i, 2] * B[1, 2, k]
                + A[1, i, 0] * B[0, 0, k]
                + A[1, i, 1] * B[0, 1, k]
                + A[1, i, 2] * B[0, 2, k]
            )
            out[0, i, k] += factor * real
            out[1, i, k] += factor * dual


@inner("void(f8[:,::1], i8, f8, f8[:,:,::1], f8[:,::1], i8)")
def _add_dual_apply(out, i, factor, A, x, j):
    """out[i] += factor A x[j] for a dual matrix and a twist."""
    x0, x1, x2 = factor * x[j, 0], factor * x[j, 1], factor * x[j, 2]
    x3, x4, x5 = factor * x[j, 3], factor * x[j, 4], factor * x[j, 5]
    for r in range(3):
        out[i, r] += A[0, r, 0] * x0 + A[0, r, 1] * x1 + A[0, r, 2] * x2
        out[i, 3 + r] += (
            A[0, r, 0] * x3
            + A[0, r, 1] * x4
            + A[0, r, 2] * x5
            + A[1, r, 0] * x0
            + A[1, r, 1] * x1
            + A[1, r, 2] * x2
        )


@inner
def curvature(moments, operations, pair, beta, linear, active, r, column, c, real_c, bar, dbar, v, hessian):
    """hessian[a, b] = f · ∂(T(-Ψ)∂_bΨ)/∂α_a inside one interval, f = v[0], by reverse accumulation."""
    registers = moments + operations
    last = 3 * (registers - 1)
    for j in range(registers):
        for k in range(6):
            bar[j, k] = 0.0
    add_tangent_transposed(c, r, last, v, bar, registers - 1)
    reverse(moments, operations, pair, beta, linear, r, bar)
    f_real = r[last, 0] * v[0, 3] + r[last, 1] * v[0, 4] + r[last, 2] * v[0, 5]
    f_dual = 0.0
    for k in range(6):
        f_dual += r[last, k] * v[0, k]
    phi_e = 2.0 * (r[last, 0] * r[last, 3] + r[last, 1] * r[last, 4] + r[last, 2] * r[last, 5])
    for b in range(active[0] * moments):
        d = column[b]
        for j in range(registers):
            for k in range(6):
                dbar[j, k] = 0.0
        # variation of T(-Ψ)ᵀ f along L = dΨ: dc_1 f - dc_2 Ψ×f - c_2 L×f + dc_3 Ψ(Ψ·f) + c_3 (L(Ψ·f) + Ψ(L·f))
        dot, dot_e = dual_dot(r, last, d, last)
        rate, rate_e = 2.0 * dot, 2.0 * dot_e
        for k in range(6):
            v[1, k] = 0.0
        add_coad(v, 1, 1.0, d, last, v, 0)
        l_real = d[last, 0] * v[0, 3] + d[last, 1] * v[0, 4] + d[last, 2] * v[0, 5]
        l_dual = 0.0
        for k in range(6):
            l_dual += d[last, k] * v[0, k]
        # dual rates of c_1, c_2, c_3
        for n in range(1, 4):
            first = 0.5 * (n * real_c[n + 2] - real_c[n + 1])
            p1 = 0.5 * ((n + 1) * real_c[n + 3] - real_c[n + 2])
            r1 = 0.5 * ((n + 2) * real_c[n + 4] - real_c[n + 3])
            second = 0.5 * (n * r1 - p1)
            v[2, n - 1] = first * rate
            v[3, n - 1] = first * rate_e + second * phi_e * rate
        along = v[2, 2] * f_real + c[0, 2, 0] * l_real
        along_e = v[2, 2] * f_dual + v[3, 2] * f_real + c[0, 2, 0] * l_dual + c[0, 2, 1] * l_real
        turn = c[0, 2, 0] * f_real
        turn_e = c[0, 2, 0] * f_dual + c[0, 2, 1] * f_real
        out = registers - 1
        for k in range(3):
            dbar[out, k] = (
                v[2, 0] * v[0, k]
                + v[3, 0] * v[0, 3 + k]
                - v[2, 1] * v[15, k]
                - v[3, 1] * v[15, 3 + k]
                - c[0, 1, 0] * v[1, k]
                - c[0, 1, 1] * v[1, 3 + k]
                + along * r[last, 3 + k]
                + along_e * r[last, k]
                + turn * d[last, 3 + k]
                + turn_e * d[last, k]
            )
            dbar[out, 3 + k] = (
                v[2, 0] * v[0, 3 + k]
                - v[2, 1] * v[15, 3 + k]
                - c[0, 1, 0] * v[1, 3 + k]
                + along * r[last, k]
                + turn * d[last, k]
            )
        for o in range(operations - 1, -1, -1):
            out = moments + o
            for j in range(out):
                weight = linear[o, j]
                if weight != 0.0:
                    for k in range(6):
                        dbar[j, k] += weight * dbar[out, k]
            if beta[o] != 0.0:
                x, y = pair[o, 0], pair[o, 1]
                add_coad(dbar, x, beta[o], r, 3 * y, dbar, out)
                add_coad(dbar, x, beta[o], d, 3 * y, bar, out)
                add_coad(dbar, y, -beta[o], r, 3 * x, dbar, out)
                add_coad(dbar, y, -beta[o], d, 3 * x, bar, out)
        for a in range(active[0] * moments):
            hessian[b, a] = dbar[a % moments, active[1 + a // moments]]
