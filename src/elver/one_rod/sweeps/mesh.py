"""Gauss points in elements along a rod, and integrals of fields that are known there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss, legint, legvander
from numpy.typing import NDArray

__all__ = ["Mesh", "gauss_integration"]

Array: TypeAlias = NDArray[np.float64]


_POINTS = 10  # Gauss points per element: order 20, beyond that of the poses


@dataclass(frozen=True, eq=False)
class Mesh:
    """Gauss points of all elements between the two ends, and integrals of fields that are known there."""

    s: Array
    weights: Array
    chain: Array
    """Nodes of the poses: the ends of elements too."""
    places: NDArray[np.int64]
    """Where ``s`` is in ``chain``."""
    half: Array
    """Half the length of each element, (elements,)."""

    @classmethod
    def of(cls, borders: Array, elements: int) -> Mesh:
        parts = [np.linspace(a, b, _share(b - a, borders, elements) + 1) for a, b in pairwise(borders)]
        ends = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
        half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
        points = middle[:, None] + half[:, None] * _X
        chain = np.concatenate([ends[:1], np.hstack([points, ends[1:, None]]).ravel()])
        count = len(half)
        inner = (1 + (_POINTS + 1) * np.arange(count)[:, None] + np.arange(_POINTS)).ravel()
        places = np.concatenate([[0], inner, [len(chain) - 1]])
        weights = np.concatenate([[0.0], (half[:, None] * _W).ravel(), [0.0]])
        return cls(chain[places], weights, chain, places, half)

    def integral(self, field: Array) -> Array:
        """∫ from 0 to s of a field (n, ...)."""
        inner, whole = self._within(field)
        before = np.concatenate([np.zeros_like(whole[:1]), np.cumsum(whole, axis=0)])
        return self._with_ends(before[0], before[:-1, None] + inner, before[-1])

    def integral_back(self, field: Array) -> Array:
        """∫ from s to L of a field (n, ...), summed from the tip."""
        inner, whole = self._within(field)
        beyond = np.concatenate([np.cumsum(whole[::-1], axis=0)[::-1], np.zeros_like(whole[:1])])
        return self._with_ends(beyond[0], beyond[:-1, None] - inner, beyond[-1])

    def _within(self, field: Array) -> tuple[Array, Array]:
        values = field[1:-1].reshape(len(self.half), _POINTS, *field.shape[1:])
        half = self.half.reshape(-1, *(1,) * (values.ndim - 1))
        inner = half * np.einsum("ij,ej...->ei...", _INTEGRATION, values)
        whole = half[:, 0] * np.einsum("j,ej...->e...", _W, values)
        return inner, whole

    @staticmethod
    def _with_ends(first: Array, inner: Array, last: Array) -> Array:
        return np.concatenate([first[None], inner.reshape(-1, *first.shape), last[None]])


def gauss_integration(points: int) -> tuple[Array, Array, Array]:
    """Gauss points and weights on [-1, 1], and the matrix that takes values there to their integrals from -1."""
    x, w = leggauss(points)
    return x, w, legvander(x, points) @ legint(np.eye(points), lbnd=-1) @ np.linalg.inv(legvander(x, points - 1))


_X, _W, _INTEGRATION = gauss_integration(_POINTS)


def _share(part: float, borders: Array, elements: int) -> int:
    """Elements of one part of the rod, in proportion to its length."""
    return max(1, int(np.ceil(elements * part / (borders[-1] - borders[0]) - 1e-9)))
