"""Richer strain functions that contain those of a basis: about twice as many, to see what a basis leaves out.

Twice as many, and not one or two more, because where convergence is slow (a kink inside the rod, a jump) the next few
functions see only a small part of what all of them would add.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from elver.rods.basis import STRAINS, Chebyshev, Legendre, Mesh, StrainBasis
from elver.rods.fields import Array
from elver.rods.pieces import Piecewise

__all__ = ["Extended", "ends_given", "enriched"]


def enriched(basis: StrainBasis) -> StrainBasis:
    """A basis that contains ``basis``: 2 n + 2 polynomials for n, twice the elements of a mesh."""
    if isinstance(basis, Legendre | Chebyshev):
        counts = dict(zip(STRAINS, (2 * n + 2 if n else 0 for n in basis.counts), strict=True))
        return type(basis)(**{name: n for name, n in counts.items() if name in {f.name for f in fields(basis)}})
    if isinstance(basis, Mesh):
        if isinstance(basis.elements, int):
            return type(basis)(2 * basis.elements, basis.strains)
        ends = np.array([0.0, *basis.elements, 1.0])
        finer = np.sort(np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])]))
        return type(basis)(tuple(finer[1:-1].tolist()), basis.strains)
    if isinstance(basis, Piecewise):
        one = basis.basis
        richer = tuple(enriched(own) for own in one) if isinstance(one, tuple) else enriched(one)
        return Piecewise(richer, basis.elements)
    return Extended(basis)


def ends_given(basis: StrainBasis) -> StrainBasis:
    """The same basis with the ends of its mesh given, not counted: breaks of a rod then cut it, and repeat nothing."""
    if isinstance(basis, Mesh) and isinstance(basis.elements, int):
        return type(basis)(tuple(basis.breaks(1.0).tolist()) or 1, basis.strains)
    if isinstance(basis, Piecewise) and isinstance(basis.elements, int):
        return Piecewise(basis.basis, tuple((np.arange(1, basis.elements) / basis.elements).tolist()) or 1)
    return basis


@dataclass(frozen=True)
class Extended:
    """Functions of one's own with polynomials added that are no combination of them."""

    basis: StrainBasis

    @cached_property
    def _polynomials(self) -> tuple[Array, ...]:
        """For each strain, combinations of Legendre polynomials normal to its functions, (degrees, added)."""
        x, w = leggauss(200)
        out = []
        for component, n in enumerate(self.basis.counts):
            many = 2 * int(n) + 2 if n else 0
            if not many:
                out.append(np.zeros((0, 0)))
                continue
            # the functions know their own length, if any; others are asked on a rod of one metre
            length = float(getattr(self.basis, "s", (1.0,))[-1])
            P = legvander(x, many - 1) * np.sqrt(np.arange(many) + 0.5)
            root = np.sqrt(w)[:, None]
            own = np.linalg.qr(root * self.basis.functions(component, 0.5 * length * (x + 1.0), length))[0]
            weighted = root * P
            _, sizes, Vt = np.linalg.svd(weighted - own @ (own.T @ weighted), full_matrices=False)
            out.append(Vt[sizes > 0.1].T)
        return tuple(out)

    @property
    def counts(self) -> tuple[int, ...]:
        """Own functions and those added."""
        return tuple(int(n) + C.shape[1] for n, C in zip(self.basis.counts, self._polynomials, strict=True))

    @property
    def degree(self) -> int:
        """Highest degree of both."""
        return max(int(self.basis.degree), *(C.shape[0] - 1 for C in self._polynomials))

    def functions(self, component: int, s: Array, length: float) -> Array:
        """Own functions, then those added."""
        C = self._polynomials[component]
        own = self.basis.functions(component, s, length)
        if not C.size:
            return own
        P = legvander(2.0 * s / length - 1.0, C.shape[0] - 1) * np.sqrt(np.arange(C.shape[0]) + 0.5)
        return np.hstack([own, P @ C])

    def breaks(self, length: float) -> Array:
        """Those of the own functions."""
        return self.basis.breaks(length)
