"""One interval of a segment: how its pose varies with the moments of its strain, to second order, with time rates.

Twists are dual vectors ω + ε v; dual 3x3 matrices are pairs of real ones. :func:`interval_columns` differentiates the
Lie polynomial and brings ∂Ψ into world axes as the columns z with z' and z'', and :func:`curvature` finds F·∂z_b/∂α_a
by reverse accumulation.
"""

from __future__ import annotations

from elver.kernels.algebra import add, bracket, coact_back, coad, minus, plus, put, scaled, six
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.tree.program import POLYNOMIAL
from elver.kernels.tree.recursion import (
    STILL,
    add_bracket_jet,
    dual_at,
    dual_product,
    dual_scaled,
    dual_stumpff,
    dual_times,
    flipped,
    reverse,
    tangent_transposed,
)  # fmt: skip

__all__ = ["add_hat", "curvature", "interval_columns"]


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
def interval_columns(robot, s, i, before, jets):
    """work.local = world columns z of interval i of segment s, which starts at frame ``before``, with two rates."""
    p, w = unpack(robot)
    poly, maps, column = p.segment[s, POLYNOMIAL], w.tangent_map, w.column
    moments, psi = p.poly_size[poly, 0], w.register[i]
    last = 3 * (moments + p.poly_size[poly, 1] - 1)
    _vary(robot, s, psi, jets)
    dual_stumpff(psi, last, jets, w.stumpff, w.scalar)
    _tangent_map(psi, last, w.scalar, jets, maps)
    _adjoint_map(w.pose[before], w.eta, w.acc, before, jets, maps)
    for jet in range(jets):
        for part in range(2):
            for a in range(3):
                for b in range(3):
                    maps[6 + jet, part, a, b] = 0.0
        for k in range(jet + 1):
            factor = 2.0 if (jet == 2 and k == 1) else 1.0
            _add_dual_product(maps[6 + jet], factor, maps[3 + k], maps[jet - k])
    for a in range(p.active[s, 0] * moments):
        z = w.local[a]
        for jet in range(3):
            put(z[jet], STILL)
        for jet in range(jets):
            for k in range(jet + 1):
                factor = 2.0 if (jet == 2 and k == 1) else 1.0
                _add_dual_apply(z, jet, factor, maps[6 + k], column[a], last + jet - k)


@inner
def _vary(robot, s, r, jets):
    """work.column: variation of all registers of an interval with each moment of each free strain, with time rates."""
    p, w = unpack(robot)
    poly, active = p.segment[s, POLYNOMIAL], p.active[s]
    moments, operations = p.poly_size[poly, 0], p.poly_size[poly, 1]
    pair, beta, linear = p.poly_pair[poly], p.poly_beta[poly], p.poly_linear[poly]
    for a in range(active[0] * moments):
        d = w.column[a]
        m, component = a % moments, active[1 + a // moments]
        for j in range(3 * (moments + operations)):
            put(d[j], STILL)
        d[3 * m, component] = 1.0
        for o in range(operations):
            out = 3 * (moments + o)
            for j in range(moments + o):
                weight = linear[o, j]
                if weight != 0.0 and (j == m or j >= moments):
                    for jet in range(jets):
                        add(d[out + jet], scaled(weight, six(d[3 * j + jet])))
            if beta[o] != 0.0:
                x, y = pair[o, 0], pair[o, 1]
                if x == m or x >= moments:
                    add_bracket_jet(d, out, beta[o], d, 3 * x, r, 3 * y, jets)
                if y == m or y >= moments:
                    add_bracket_jet(d, out, beta[o], r, 3 * x, d, 3 * y, jets)


@inner
def _tangent_map(psi, last, c, jets, maps):
    """T(-Ψ) as a dual matrix with its rates, in maps[0:3]."""
    for jet in range(jets):
        T = maps[jet]
        for part in range(2):
            for a in range(3):
                for b in range(3):
                    T[part, a, b] = 0.0
                T[part, a, a] = c[jet, 0, part]
        for k in range(jet + 1):
            # binomial: (c Ψ)^(jet) = Σ C(jet, k) c^(k) Ψ^(jet-k)
            factor = 2.0 if (jet == 2 and k == 1) else 1.0
            _add_dual_hat(T, factor * c[k, 1, 0], factor * c[k, 1, 1], psi, last + jet - k)
            for j in range(jet - k + 1):
                inside = 2.0 * factor if (jet - k == 2 and j == 1) else factor
                _add_dual_outer(T, inside * c[k, 2, 0], inside * c[k, 2, 1], psi, last + j, last + jet - k - j)


@inner
def _adjoint_map(g, eta, acc, before, jets, maps):
    """Ad(g) of a frame that moves, as a dual matrix with its rates, in maps[3:6]."""
    G = maps[3]
    px, py, pz = g[3, 0], g[3, 1], g[3, 2]
    for b in range(3):
        for a in range(3):
            G[0, a, b] = g[a, b]
        G[1, 0, b] = py * G[0, 2, b] - pz * G[0, 1, b]
        G[1, 1, b] = pz * G[0, 0, b] - px * G[0, 2, b]
        G[1, 2, b] = px * G[0, 1, b] - py * G[0, 0, b]
    if jets == 3:
        for jet in range(1, 3):
            for part in range(2):
                for a in range(3):
                    for b in range(3):
                        maps[3 + jet, part, a, b] = 0.0
        _add_cross_matrix(maps[4], eta, before, maps[3])
        _add_cross_matrix(maps[5], acc, before, maps[3])
        _add_cross_matrix(maps[5], eta, before, maps[4])


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
def curvature(robot, s, i, before):
    """work.hessian[b, a] = f · ∂(T(-Ψ)∂_bΨ)/∂α_a inside an interval, f the wrench beyond, by reverse accumulation.

    Behind :func:`interval_columns`, for the same interval.
    """
    p, w = unpack(robot)
    poly, active, r, bar, dbar = p.segment[s, POLYNOMIAL], p.active[s], w.register[i], w.adjoint, w.column_adjoint
    moments = p.poly_size[poly, 0]
    last = moments + p.poly_size[poly, 1] - 1
    psi, f = six(r[3 * last]), flipped(coact_back(w.pose[before], six(w.force[i + 1])))
    for j in range(last):
        put(bar[j], STILL)
    put(bar[last], flipped(tangent_transposed(w.scalar, psi, f)))
    reverse(robot, s, r, bar)
    for b in range(active[0] * moments):
        d = w.column[b]
        for j in range(last):
            put(dbar[j], STILL)
        put(dbar[last], flipped(_transposed_slope(w.scalar, w.stumpff, psi, six(d[3 * last]), f)))
        _reverse_slope(robot, s, r, d)
        for a in range(active[0] * moments):
            w.hessian[b, a] = dbar[a % moments, active[1 + a // moments]]


@inner
def _transposed_slope(c, real, psi, d, f):
    """Variation of T(-Ψ)ᵀ f along d: dc_1 f - dc_2 [Ψ, f] - c_2 [d, f] + dc_3 Ψ(Ψ·f) + c_3 (d(Ψ·f) + Ψ(d·f))."""
    square, along, c3 = dual_product(psi, psi), dual_product(psi, f), dual_at(c, 0, 2)
    rate = dual_times((2.0, 0.0), dual_product(psi, d))
    first, second = _stumpff_rate(real, 1, rate, square), _stumpff_rate(real, 2, rate, square)
    turned = plus(dual_scaled(second, bracket(psi, f)), dual_scaled(dual_at(c, 0, 1), bracket(d, f)))
    moves, stays = dual_times(_stumpff_rate(real, 3, rate, square), along), dual_times(c3, dual_product(d, f))
    on_psi = dual_scaled((moves[0] + stays[0], moves[1] + stays[1]), psi)
    return plus(plus(dual_scaled(first, f), minus(turned)), plus(on_psi, dual_scaled(dual_times(c3, along), d)))


@inner
def _stumpff_rate(c, n, rate, square):
    """Variation of the dual c_n with its argument, which is ``square`` and varies by ``rate``; c the real c_0 … c_9."""
    first = 0.5 * (n * c[n + 2] - c[n + 1])
    p1 = 0.5 * ((n + 1) * c[n + 3] - c[n + 2])
    r1 = 0.5 * ((n + 2) * c[n + 4] - c[n + 3])
    second = 0.5 * (n * r1 - p1)
    return first * rate[0], first * rate[1] + second * square[1] * rate[0]


@inner
def _reverse_slope(robot, s, r, d):
    """Variation of :func:`reverse` with the registers, which vary by d: from the last of work.column_adjoint down."""
    p, w = unpack(robot)
    poly, bar, dbar = p.segment[s, POLYNOMIAL], w.adjoint, w.column_adjoint
    moments, pair, beta, linear = p.poly_size[poly, 0], p.poly_pair[poly], p.poly_beta[poly], p.poly_linear[poly]
    for o in range(p.poly_size[poly, 1] - 1, -1, -1):
        now, out = six(bar[moments + o]), six(dbar[moments + o])
        for j in range(moments + o):
            weight = linear[o, j]
            if weight != 0.0:
                add(dbar[j], scaled(weight, out))
        if beta[o] != 0.0:
            x, y = 3 * pair[o, 0], 3 * pair[o, 1]
            add(dbar[pair[o, 0]], scaled(beta[o], plus(coad(six(r[y]), out), coad(six(d[y]), now))))
            add(dbar[pair[o, 1]], scaled(-beta[o], plus(coad(six(r[x]), out), coad(six(d[x]), now))))
