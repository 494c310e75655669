"""Six-vectors as tuples from rows and columns by place, beside those of :mod:`elver.kernels.algebra`."""

from __future__ import annotations

from elver.kernels.build.cache import inner

__all__ = ["add_column", "column", "cross", "plus", "put", "put_column", "six", "turned"]


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
def turned(f, zeta):
    """f × ζ_ω of the couple and the force in ``f``: the change of a dead load in axes that turn by ζ."""
    return (
        f[1] * zeta[2] - f[2] * zeta[1], f[2] * zeta[0] - f[0] * zeta[2], f[0] * zeta[1] - f[1] * zeta[0],
        f[4] * zeta[2] - f[5] * zeta[1], f[5] * zeta[0] - f[3] * zeta[2], f[3] * zeta[1] - f[4] * zeta[0],
    )  # fmt: skip
