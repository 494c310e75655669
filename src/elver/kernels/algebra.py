"""Small dense algebra of the kernels: se(3) as dual vectors, Stumpff functions, LU.

A twist (ω; v) is the dual vector ω + εv, and the Lie bracket is the dual cross product, so one routine serves
rotation and translation. With the Stumpff functions

    c_n(φ) = Σ (-φ)^k / (2k+n)!,     c_n = 1/n! - φ c_{n+2},     c_n' = (n c_{n+2} - c_{n+1}) / 2,   φ = θ²

the exponential and its tangent are polynomials in the dual vector Ψ, free of a switch at θ = 0:

    exp(Ψ) = c_0 + c_1 Ψ̂ + c_2 ΨΨᵀ        T(-Ψ) = c_1 + c_2 Ψ̂ + c_3 ΨΨᵀ     (c_n of the dual number Ψ·Ψ)

Arrays hold one six-vector per row. A jet is (value, first, second time derivative) in three rows.
"""

from __future__ import annotations

import math

import numpy as np

from elver.kernels.build.cache import kernel

__all__ = ["add_bracket", "add_coad", "lu_factor", "lu_solve", "stumpff"]

# Series of c_8 and c_9 up to φ = 45 (θ = 6.7): 20 terms leave less than 1e-17 of the leading one.
_TERMS = 20
_C8 = np.array([1.0 / math.factorial(2 * k + 8) for k in range(_TERMS)])
_C9 = np.array([1.0 / math.factorial(2 * k + 9) for k in range(_TERMS)])
_INVERSE_FACTORIAL = np.array([1.0 / math.factorial(n) for n in range(8)])
_SERIES_LIMIT = 45.0
# Up to φ = 10 (half a turn) 12 terms leave as little.
_FEW, _SMALL = 12, 10.0


@kernel("void(f8, f8[::1])")
def stumpff(phi, c):
    """Fill c[0:10] with c_0 … c_9 at φ ≥ 0."""
    if phi < _SERIES_LIMIT:
        even = 0.0
        odd = 0.0
        terms = _FEW if phi < _SMALL else _TERMS
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
