"""Small dense algebra of the kernels: six-vectors and poses, se(3) as dual vectors, Stumpff functions, LU.

A twist (ω; v) is the dual vector ω + εv, and the Lie bracket is the dual cross product, so one routine serves
rotation and translation. With the Stumpff functions

    c_n(φ) = Σ (-φ)^k / (2k+n)!,     c_n = 1/n! - φ c_{n+2},     c_n' = (n c_{n+2} - c_{n+1}) / 2,   φ = θ²

the exponential and its tangent are polynomials in the dual vector Ψ, free of a switch at θ = 0:

    exp(Ψ) = c_0 + c_1 Ψ̂ + c_2 ΨΨᵀ        T(-Ψ) = c_1 + c_2 Ψ̂ + c_3 ΨΨᵀ     (c_n of the dual number Ψ·Ψ)

A six-vector at hand is a tuple of six numbers, which formulas take and give; arrays hold one per row, read by
:func:`six` and written by :func:`put` and :func:`add`. A pose is an array (4, 3), rows of R and then p: :func:`act`
takes twists from its axes to those around it, Ad(g), :func:`act_back` returns them; :func:`coact` and
:func:`coact_back` do it with wrenches f = (couple; force), Ad(g)⁻ᵀ and Ad(g)ᵀ.

A jet is (value, first, second time derivative) in three rows.
"""

from __future__ import annotations

import math

import numpy as np

from elver.kernels.build.cache import inner, kernel

__all__ = [
    "act", "act_back", "act_turn", "add", "add_bracket", "add_coad", "add_column", "bracket", "coact", "coact_back",
    "coad", "couple_back", "dot", "lu_factor", "lu_solve", "minus", "moved", "plus", "put", "scaled", "six", "stumpff",
    "times", "unit", "velocity_at",
]  # fmt: skip

# Series of c_8 and c_9 up to φ = 45 (θ = 6.7): 20 terms leave less than 1e-17 of the leading one.
_TERMS = 20
_C8 = np.array([1.0 / math.factorial(2 * k + 8) for k in range(_TERMS)])
_C9 = np.array([1.0 / math.factorial(2 * k + 9) for k in range(_TERMS)])
_INVERSE_FACTORIAL = np.array([1.0 / math.factorial(n) for n in range(8)])
_SERIES_LIMIT = 45.0
# Up to φ = 10 (half a turn) 12 terms leave as little, up to φ = 1 seven do.
_FEW, _SMALL = 12, 10.0
_FEWEST, _SMALLEST = 7, 1.0


@kernel("void(f8, f8[::1])")
def stumpff(phi, c):
    """Fill c[0:10] with c_0 … c_9 at φ ≥ 0."""
    if phi < _SERIES_LIMIT:
        even = 0.0
        odd = 0.0
        terms = _FEWEST if phi < _SMALLEST else _FEW if phi < _SMALL else _TERMS
        for j in range(terms):
            k = terms - 1 - j
            even = _C8[k] - phi * even
            odd = _C9[k] - phi * odd
        c[8] = even
        c[9] = odd
        for j in range(8):
            n = 7 - j
            c[n] = _INVERSE_FACTORIAL[n] - phi * c[n + 2]
    else:
        theta = math.sqrt(phi)
        c[0] = math.cos(theta)
        c[1] = math.sin(theta) / theta
        for n in range(8):
            c[n + 2] = (_INVERSE_FACTORIAL[n] - c[n]) / phi


# Six-vectors --------------------------------------------------------------------------------------------------


@inner
def six(row):
    """The six-vector in a row."""
    return row[0], row[1], row[2], row[3], row[4], row[5]


@inner
def put(row, a):
    """row = a."""
    row[0], row[1], row[2], row[3], row[4], row[5] = a


@inner
def add(row, a):
    """row += a."""
    row[0] += a[0]
    row[1] += a[1]
    row[2] += a[2]
    row[3] += a[3]
    row[4] += a[4]
    row[5] += a[5]


@inner
def plus(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inner
def minus(a):
    """-a."""
    return -a[0], -a[1], -a[2], -a[3], -a[4], -a[5]


@inner
def scaled(s, a):
    """s a."""
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5]


@inner
def dot(a, b):
    """Sum of the products: power of a wrench on a twist."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inner
def bracket(a, b):
    """[a, b] = ad(a) b, the Lie bracket of two twists."""
    return (
        a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0],
        a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1],
        a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2],
        a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0],
    )  # fmt: skip


@inner
def coad(a, f):
    """coad(a) f = -ad(a)ᵀ f of a twist and a wrench."""
    return (
        a[1] * f[2] - a[2] * f[1] + a[4] * f[5] - a[5] * f[4],
        a[2] * f[0] - a[0] * f[2] + a[5] * f[3] - a[3] * f[5],
        a[0] * f[1] - a[1] * f[0] + a[3] * f[4] - a[4] * f[3],
        a[1] * f[5] - a[2] * f[4], a[2] * f[3] - a[0] * f[5], a[0] * f[4] - a[1] * f[3],
    )  # fmt: skip


@inner
def times(M, a):
    """M a with a 6x6 matrix."""
    return (
        M[0, 0] * a[0] + M[0, 1] * a[1] + M[0, 2] * a[2] + M[0, 3] * a[3] + M[0, 4] * a[4] + M[0, 5] * a[5],
        M[1, 0] * a[0] + M[1, 1] * a[1] + M[1, 2] * a[2] + M[1, 3] * a[3] + M[1, 4] * a[4] + M[1, 5] * a[5],
        M[2, 0] * a[0] + M[2, 1] * a[1] + M[2, 2] * a[2] + M[2, 3] * a[3] + M[2, 4] * a[4] + M[2, 5] * a[5],
        M[3, 0] * a[0] + M[3, 1] * a[1] + M[3, 2] * a[2] + M[3, 3] * a[3] + M[3, 4] * a[4] + M[3, 5] * a[5],
        M[4, 0] * a[0] + M[4, 1] * a[1] + M[4, 2] * a[2] + M[4, 3] * a[3] + M[4, 4] * a[4] + M[4, 5] * a[5],
        M[5, 0] * a[0] + M[5, 1] * a[1] + M[5, 2] * a[2] + M[5, 3] * a[3] + M[5, 4] * a[4] + M[5, 5] * a[5],
    )


@inner
def unit(k):
    """The six-vector of ones and zeros."""
    return (
        1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0,
        1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0,
    )  # fmt: skip


@inner
def add_column(M, k, a):
    """M[:, k] += a."""
    M[0, k] += a[0]
    M[1, k] += a[1]
    M[2, k] += a[2]
    M[3, k] += a[3]
    M[4, k] += a[4]
    M[5, k] += a[5]


@inner
def velocity_at(p, a):
    """Velocity of the point p in a twist: v + ω×p."""
    return a[3] + a[1] * p[2] - a[2] * p[1], a[4] + a[2] * p[0] - a[0] * p[2], a[5] + a[0] * p[1] - a[1] * p[0]


@inner
def act(g, a):
    """Ad(g) a of a twist: (R ω; R v + p×R ω)."""
    return _shifted(
        g, g[0, 0] * a[0] + g[0, 1] * a[1] + g[0, 2] * a[2], g[1, 0] * a[0] + g[1, 1] * a[1] + g[1, 2] * a[2],
        g[2, 0] * a[0] + g[2, 1] * a[1] + g[2, 2] * a[2], g[0, 0] * a[3] + g[0, 1] * a[4] + g[0, 2] * a[5],
        g[1, 0] * a[3] + g[1, 1] * a[4] + g[1, 2] * a[5], g[2, 0] * a[3] + g[2, 1] * a[4] + g[2, 2] * a[5],
    )  # fmt: skip


@inner
def act_turn(g, x, y, z):
    """Ad(g) (ω; 0)."""
    a = g[0, 0] * x + g[0, 1] * y + g[0, 2] * z
    b = g[1, 0] * x + g[1, 1] * y + g[1, 2] * z
    c = g[2, 0] * x + g[2, 1] * y + g[2, 2] * z
    return a, b, c, g[3, 1] * c - g[3, 2] * b, g[3, 2] * a - g[3, 0] * c, g[3, 0] * b - g[3, 1] * a


@inner
def _shifted(g, x, y, z, u, v, w):
    """(ω; v + p×ω)."""
    return x, y, z, u + g[3, 1] * z - g[3, 2] * y, v + g[3, 2] * x - g[3, 0] * z, w + g[3, 0] * y - g[3, 1] * x


@inner
def act_back(g, a):
    """Ad(g)⁻¹ a of a twist: (Rᵀω; Rᵀ(v - p×ω))."""
    u = a[3] + a[1] * g[3, 2] - a[2] * g[3, 1]
    v = a[4] + a[2] * g[3, 0] - a[0] * g[3, 2]
    w = a[5] + a[0] * g[3, 1] - a[1] * g[3, 0]
    return (
        g[0, 0] * a[0] + g[1, 0] * a[1] + g[2, 0] * a[2], g[0, 1] * a[0] + g[1, 1] * a[1] + g[2, 1] * a[2],
        g[0, 2] * a[0] + g[1, 2] * a[1] + g[2, 2] * a[2], g[0, 0] * u + g[1, 0] * v + g[2, 0] * w,
        g[0, 1] * u + g[1, 1] * v + g[2, 1] * w, g[0, 2] * u + g[1, 2] * v + g[2, 2] * w,
    )  # fmt: skip


@inner
def coact(g, f):
    """A wrench in the axes of g, in those around it: (R c + p×R n; R n)."""
    x, y, z, a, b, c = act(g, (f[3], f[4], f[5], f[0], f[1], f[2]))
    return a, b, c, x, y, z


@inner
def coact_back(g, f):
    """A wrench around g, in its axes: (Rᵀ(c - p×n); Rᵀn)."""
    x, y, z, a, b, c = act_back(g, (f[3], f[4], f[5], f[0], f[1], f[2]))
    return a, b, c, x, y, z


@inner
def couple_back(g, f):
    """The couple of a wrench around g, in its axes: Rᵀ(c - p×n)."""
    x = f[0] - g[3, 1] * f[5] + g[3, 2] * f[4]
    y = f[1] - g[3, 2] * f[3] + g[3, 0] * f[5]
    z = f[2] - g[3, 0] * f[4] + g[3, 1] * f[3]
    return (
        g[0, 0] * x + g[1, 0] * y + g[2, 0] * z, g[0, 1] * x + g[1, 1] * y + g[2, 1] * z,
        g[0, 2] * x + g[1, 2] * y + g[2, 2] * z,
    )  # fmt: skip


@inner
def moved(p, f):
    """A wrench at p about the origin: (c + p×n; n)."""
    return (
        f[0] + p[1] * f[5] - p[2] * f[4], f[1] + p[2] * f[3] - p[0] * f[5], f[2] + p[0] * f[4] - p[1] * f[3],
        f[3], f[4], f[5],
    )  # fmt: skip


@kernel("void(f8[:,::1], i8, f8, f8[:,::1], i8, f8[:,::1], i8)")
def add_bracket(out, i, scale, a, j, b, k):
    """out[i] += scale [a[j], b[k]], the Lie bracket ad(a) b of two twists."""
    a0, a1, a2, a3, a4, a5 = a[j, 0], a[j, 1], a[j, 2], a[j, 3], a[j, 4], a[j, 5]
    b0, b1, b2, b3, b4, b5 = b[k, 0], b[k, 1], b[k, 2], b[k, 3], b[k, 4], b[k, 5]
    out[i, 0] += scale * (a1 * b2 - a2 * b1)
    out[i, 1] += scale * (a2 * b0 - a0 * b2)
    out[i, 2] += scale * (a0 * b1 - a1 * b0)
    out[i, 3] += scale * (a1 * b5 - a2 * b4 + a4 * b2 - a5 * b1)
    out[i, 4] += scale * (a2 * b3 - a0 * b5 + a5 * b0 - a3 * b2)
    out[i, 5] += scale * (a0 * b4 - a1 * b3 + a3 * b1 - a4 * b0)


@kernel("void(f8[:,::1], i8, f8, f8[:,::1], i8, f8[:,::1], i8)")
def add_coad(out, i, scale, a, j, f, k):
    """out[i] += scale coad(a[j]) f[k] = -scale ad(a)ᵀ f for a twist a and a wrench f = (couple; force)."""
    a0, a1, a2, a3, a4, a5 = a[j, 0], a[j, 1], a[j, 2], a[j, 3], a[j, 4], a[j, 5]
    f0, f1, f2, f3, f4, f5 = f[k, 0], f[k, 1], f[k, 2], f[k, 3], f[k, 4], f[k, 5]
    out[i, 0] += scale * (a1 * f2 - a2 * f1 + a4 * f5 - a5 * f4)
    out[i, 1] += scale * (a2 * f0 - a0 * f2 + a5 * f3 - a3 * f5)
    out[i, 2] += scale * (a0 * f1 - a1 * f0 + a3 * f4 - a4 * f3)
    out[i, 3] += scale * (a1 * f5 - a2 * f4)
    out[i, 4] += scale * (a2 * f3 - a0 * f5)
    out[i, 5] += scale * (a0 * f4 - a1 * f3)


# Linear systems -----------------------------------------------------------------------------------------------


@kernel
def lu_factor(a, pivots):
    """LU with row pivoting in place; returns the smallest pivot divided by the largest (0 when singular).

    Four columns at a time: rows beyond are then read and written once for all four.
    """
    n = a.shape[0]
    smallest = np.inf
    largest = 0.0
    for first in range(0, n, 4):
        last = min(first + 4, n)
        for k in range(first, last):
            p = k
            best = abs(a[k, k])
            for i in range(k + 1, n):
                if abs(a[i, k]) > best:
                    best = abs(a[i, k])
                    p = i
            pivots[k] = p
            if not best > 0.0:
                return 0.0
            smallest = min(smallest, best)
            largest = max(largest, best)
            if p != k:
                for j in range(n):
                    swap = a[k, j]
                    a[k, j] = a[p, j]
                    a[p, j] = swap
            inverse = 1.0 / a[k, k]
            for i in range(k + 1, n):
                factor = a[i, k] * inverse
                a[i, k] = factor
                for j in range(k + 1, last):
                    a[i, j] -= factor * a[k, j]
        if last == n:
            break
        for k in range(first + 1, last):
            for i in range(first, k):
                factor = a[k, i]
                for j in range(last, n):
                    a[k, j] -= factor * a[i, j]
        u0, u1, u2, u3 = a[first], a[first + 1], a[first + 2], a[first + 3]
        for i in range(last, n):
            row = a[i]
            l0, l1, l2, l3 = row[first], row[first + 1], row[first + 2], row[first + 3]
            if l0 != 0.0 or l1 != 0.0 or l2 != 0.0 or l3 != 0.0:
                for j in range(last, n):
                    row[j] -= l0 * u0[j] + l1 * u1[j] + l2 * u2[j] + l3 * u3[j]
    return smallest / largest


@kernel
def lu_solve(a, pivots, b):
    """Solve in place with the factors of :func:`lu_factor`."""
    n = a.shape[0]
    for k in range(n):
        p = pivots[k]
        if p != k:
            swap = b[k]
            b[k] = b[p]
            b[p] = swap
    for i in range(1, n):
        row = a[i]
        total = b[i]
        for j in range(i):
            total -= row[j] * b[j]
        b[i] = total
    for r in range(n):
        i = n - 1 - r
        row = a[i]
        total = b[i]
        for j in range(i + 1, n):
            total -= row[j] * b[j]
        b[i] = total / row[i]
