"""Six-vectors as tuples: values that stay in registers. Twists and strains (ω; v), wrenches (moment; force).

    bracket(a, b) = ad(a) b = (ω_a × ω_b; ω_a × v_b + v_a × ω_b)
    coad(a, f) = -ad(a)ᵀ f = (ω_a × m + v_a × f; ω_a × f)

Rows and columns of arrays are read and written by place; matrices stay arrays.
"""

from __future__ import annotations

from elver.kernels.build.cache import inner

__all__ = ["add_column", "bracket", "coad", "column", "cross", "plus", "product", "put", "put_column", "six", "turned"]


@inner("UniTuple(f8, 3)(f8, f8, f8, f8, f8, f8)")
def cross(a0, a1, a2, b0, b1, b2):
    """a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@inner("UniTuple(f8, 6)(f8[::1], i8)")
def six(row, first):
    """The six numbers of a row from ``first`` on."""
    return row[first], row[first + 1], row[first + 2], row[first + 3], row[first + 4], row[first + 5]


@inner("UniTuple(f8, 6)(f8[:,::1], i8, i8)")
def column(X, first, c):
    """The six numbers of a column from row ``first`` on."""
    return X[first, c], X[first + 1, c], X[first + 2, c], X[first + 3, c], X[first + 4, c], X[first + 5, c]


@inner("void(f8[::1], i8, UniTuple(f8, 6))")
def put(row, first, a):
    """Write ``a`` into a row."""
    row[first], row[first + 1], row[first + 2] = a[0], a[1], a[2]
    row[first + 3], row[first + 4], row[first + 5] = a[3], a[4], a[5]


@inner("void(f8[:,::1], i8, i8, UniTuple(f8, 6))")
def put_column(X, first, c, a):
    """Write ``a`` into a column."""
    X[first, c], X[first + 1, c], X[first + 2, c] = a[0], a[1], a[2]
    X[first + 3, c], X[first + 4, c], X[first + 5, c] = a[3], a[4], a[5]


@inner("void(f8[:,::1], i8, i8, f8, UniTuple(f8, 6))")
def add_column(X, first, c, scale, a):
    """Add ``scale`` a to a column."""
    X[first, c] += scale * a[0]
    X[first + 1, c] += scale * a[1]
    X[first + 2, c] += scale * a[2]
    X[first + 3, c] += scale * a[3]
    X[first + 4, c] += scale * a[4]
    X[first + 5, c] += scale * a[5]


@inner("UniTuple(f8, 6)(UniTuple(f8, 6), f8, UniTuple(f8, 6))")
def plus(a, scale, b):
    """a + scale b."""
    return (
        a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2],
        a[3] + scale * b[3], a[4] + scale * b[4], a[5] + scale * b[5],
    )  # fmt: skip


@inner("UniTuple(f8, 6)(UniTuple(f8, 6), UniTuple(f8, 6))")
def bracket(a, b):
    """ad(a) b."""
    return (
        a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0],
        a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1],
        a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2],
        a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0],
    )  # fmt: skip


@inner("UniTuple(f8, 6)(UniTuple(f8, 6), UniTuple(f8, 6))")
def coad(a, f):
    """-ad(a)ᵀ f."""
    return (
        a[1] * f[2] - a[2] * f[1] + a[4] * f[5] - a[5] * f[4],
        a[2] * f[0] - a[0] * f[2] + a[5] * f[3] - a[3] * f[5],
        a[0] * f[1] - a[1] * f[0] + a[3] * f[4] - a[4] * f[3],
        a[1] * f[5] - a[2] * f[4], a[2] * f[3] - a[0] * f[5], a[0] * f[4] - a[1] * f[3],
    )  # fmt: skip


@inner("UniTuple(f8, 6)(UniTuple(f8, 6), UniTuple(f8, 6))")
def turned(f, zeta):
    """f × ζ_ω of the couple and the force in ``f``: the change of a dead load in axes that turn by ζ."""
    return (
        f[1] * zeta[2] - f[2] * zeta[1], f[2] * zeta[0] - f[0] * zeta[2], f[0] * zeta[1] - f[1] * zeta[0],
        f[4] * zeta[2] - f[5] * zeta[1], f[5] * zeta[0] - f[3] * zeta[2], f[3] * zeta[1] - f[4] * zeta[0],
    )  # fmt: skip


@inner("UniTuple(f8, 6)(f8[:,::1], UniTuple(f8, 6))")
def product(A, a):
    """A a, of a matrix (6, 6)."""
    return (
        A[0, 0] * a[0] + A[0, 1] * a[1] + A[0, 2] * a[2] + A[0, 3] * a[3] + A[0, 4] * a[4] + A[0, 5] * a[5],
        A[1, 0] * a[0] + A[1, 1] * a[1] + A[1, 2] * a[2] + A[1, 3] * a[3] + A[1, 4] * a[4] + A[1, 5] * a[5],
        A[2, 0] * a[0] + A[2, 1] * a[1] + A[2, 2] * a[2] + A[2, 3] * a[3] + A[2, 4] * a[4] + A[2, 5] * a[5],
        A[3, 0] * a[0] + A[3, 1] * a[1] + A[3, 2] * a[2] + A[3, 3] * a[3] + A[3, 4] * a[4] + A[3, 5] * a[5],
        A[4, 0] * a[0] + A[4, 1] * a[1] + A[4, 2] * a[2] + A[4, 3] * a[3] + A[4, 4] * a[4] + A[4, 5] * a[5],
        A[5, 0] * a[0] + A[5, 1] * a[1] + A[5, 2] * a[2] + A[5, 3] * a[3] + A[5, 4] * a[4] + A[5, 5] * a[5],
    )  # fmt: skip
