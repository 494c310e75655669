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
    all_columns = np.concatenate([values for _, values in functions], axis=2)
    widths = np.array([values.shape[2] for _, values in functions])
    ends = np.cumsum(widths)
    before: Ints = ends - widths
    near = np.stack([first for first, _ in functions], axis=1) + np.array(starts[: len(functions)])
    found = np.zeros((len(near), SLOTS, 3), dtype=np.int64)
    own = found[:, : len(functions)]
    edges = all_columns[:, :, np.concatenate([before, ends - 1])]
    if edges.any(axis=1).all():  # nothing to leave out
        own[:, :, 0], own[:, :, 1], own[:, :, 2] = near, near + widths, near - before
        return found.reshape(len(near), -1), all_columns
    used = np.any(all_columns != 0.0, axis=1)
    low, high = np.zeros_like(near), np.zeros_like(near)
    for slot, (first, end) in enumerate(zip(before, ends, strict=True)):
        here = used[:, first:end]
        some = here.any(axis=1)
        low[:, slot] = some * here.argmax(axis=1)
        high[:, slot] = some * (end - first - here[:, ::-1].argmax(axis=1))
    at = np.cumsum(high - low, axis=1) - (high - low)
    own[:, :, 0], own[:, :, 1], own[:, :, 2] = near + low, near + high, near + low - at
    columns = np.zeros((*all_columns.shape[:2], int(np.max(np.sum(high - low, axis=1), initial=0))))
    for slot, first in enumerate(before):
        k = np.arange(widths[slot])
        row, k = np.nonzero((k >= low[:, slot, None]) & (k < high[:, slot, None]))
        columns[row, :, (at - low)[row, slot] + k] = all_columns[row, :, first + k]
    return found.reshape(len(near), -1), columns


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
