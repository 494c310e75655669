"""Functions of coordinates without their zeros: what kernels keep of strain functions and of laws between coordinates.

A row of a table of functions, at a quadrature point or over an interval, has for each free strain a *window* of own
coordinates whose functions may differ from zero there. The columns of all windows stand one after the other; a window
is (first, end, shift), and the column of coordinate k is k - shift. So a rod of many elements has rows as short as
those of one element, and nothing grows with the square of their number.

A law ties a coordinate to those whose functions are not zero at the same place. Its row has one window, and its columns
count from the first coordinate of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["SLOTS", "Near", "law_bands", "project", "stacked", "windows"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Near = tuple[Ints, Array]
"""Functions of one free strain: the first that may differ from zero in each row, and the values of so many from it on,
(rows,) and (rows, most), or (rows, moments, most)."""

SLOTS = 6  # free strains at most


def windows(functions: Sequence[Near], starts: Sequence[int]) -> tuple[Ints, Array]:
    """Windows (rows, 3 SLOTS) and columns (rows, moments, most) of the functions of each free strain.

    ``starts``: first own coordinate of each strain. Values have the shape (rows, moments, most).
    """
    rows = len(functions[0][1]) if functions else 0
    found, parts, whole = np.zeros((rows, SLOTS, 3), dtype=np.int64), [], True
    before: Ints = np.zeros(rows, dtype=np.int64)
    for slot, ((near, values), start) in enumerate(zip(functions, starts, strict=False)):
        used, most = np.any(values != 0.0, axis=1), values.shape[2]
        low: Ints = np.zeros(rows, dtype=np.int64)
        high: Ints = np.full(rows, most)
        if not (used[:, 0].all() and used[:, -1].all()):
            some, whole = used.any(axis=1), False
            low, high = some * used.argmax(axis=1), some * (most - used[:, ::-1].argmax(axis=1))
        found[:, slot, 0] = start + near + low
        found[:, slot, 1] = start + near + high
        found[:, slot, 2] = start + near + low - before
        parts.append((values, low, high, before))
        before = before + (high - low)
    if whole and parts:
        return found.reshape(rows, -1), np.concatenate([values for values, *_ in parts], axis=2)
    moments = functions[0][1].shape[1] if functions else 1
    columns = np.zeros((rows, moments, int(before.max(initial=0))))
    for values, low, high, at in parts:
        k = np.arange(values.shape[2])
        row, k = np.nonzero((k >= low[:, None]) & (k < high[:, None]))
        columns[row, :, (at - low)[row] + k] = values[row, :, k]
    return found.reshape(rows, -1), columns


def stacked(tables: Sequence[Array], rows: int, least: Sequence[int]) -> Array:
    """Tables of rows one below the other, (rows, ...), all padded with zeros to the largest, ``least`` if none is."""
    shape = [max(sizes) for sizes in zip(least, *(table.shape[1:] for table in tables), strict=True)]
    found, first = np.zeros((rows, *shape)), 0
    for table in tables:
        found[(slice(first, first + len(table)), *(slice(size) for size in table.shape[1:]))] = table
        first += len(table)
    return found


def project(near: Near, count: int, weights: Array) -> Array:
    """Σ over the rows of ``weights`` times each of the ``count`` functions of one strain; values (rows, most)."""
    first, values = near
    if values.shape[1] == count:
        return np.asarray(np.einsum("g,gk->k", weights, values))
    found = np.zeros(count)
    for j in range(values.shape[1]):
        np.add.at(found, first + j, weights * values[:, j])
    return found


def law_bands(near: Near, count: int, weights: Array) -> tuple[Ints, Array]:
    """Σ over the rows of ``weights`` times products of the ``count`` functions of one strain, without its zeros.

    First coordinate that each is tied to, (count,), and columns from that on, (count, most); one order of sums
    everywhere, which BLAS does not promise.
    """
    first, values = near
    many = values.shape[1]
    if many == count:
        products = np.einsum("g,gi,gk->ik", weights, values, values)
        return np.zeros(count, dtype=np.int64), np.asarray(products)
    low, high = np.arange(count), np.arange(count) + 1
    for j in range(many):
        np.minimum.at(low, first + j, first)
        np.maximum.at(high, first + j, first + many)
    found = np.zeros((count, int(np.max(high - low))))
    for i in range(many):
        own = first + i
        for k in range(many):
            np.add.at(found, (own, first + k - low[own]), weights * values[:, i] * values[:, k])
    return low, found
