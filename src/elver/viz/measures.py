"""What the colour of a rod tells: its curvature, strain and stress of its outermost fibre, or the resultants of stress.

With κ the change of the strains since rest and a, b the half widths along y and z, an elliptic section has

    strain  ε = |κ_stretch| + √((κ_y b)² + (κ_z a)²)        at the outermost fibre, from bending and stretch
    shear   τ = G |κ_torsion| 2 a² b² / ((a² + b²) min(a, b))    where it is largest; G κ r for a circle
    stress  σ = √((E ε)² + 3 τ²)                            von Mises', of the elastic part

In a rectangle the outermost fibre is a corner, ε = |κ_stretch| + |κ_y| b + |κ_z| a, and τ is the first term of the
series at the middle of its longer side, 0.3 % too large at most (Timoshenko and Goodier, Theory of Elasticity, § 109).
ε and τ may be largest at different places: σ is then a bound from above. In a circle both are on the same ring. A
section law of one's own says what the section bears and not which fibre bears it, so that such a rod has no σ; moment
|C| and force |N| are the resultants of the elastic stress, of any law, in the strains that are free.
"""

from __future__ import annotations

import numpy as np

from elver.errors import BadInput
from elver.lie import so3
from elver.rods import Rectangle, Rod

__all__ = ["MEASURES", "RAMP", "RodMeasures", "turning"]

# Names and units.
MEASURES = {"curvature": "1/m", "strain": "%", "stress": "MPa", "moment": "N m", "force": "N"}

# From zero to the largest value, in even steps; told apart with the common colour deficiencies.
RAMP = ("#1d4e6e", "#12858f", "#6fb98f", "#f0b840", "#e4572e")


class RodMeasures:
    """Measures of ``rod`` at ``s`` [m], (n,)."""

    def __init__(self, rod: Rod, s: np.ndarray) -> None:
        s = np.clip(s, 0.0, rod.length)
        self.rod, self.s = rod, s
        self._Phi, self._bent = rod.functions(s), rod.rest_strain(s)[:, 1:3]
        self._a, self._b = rod.section.half_widths(s, rod.length)
        self._corner = isinstance(rod.section, Rectangle)
        long, short = np.maximum(self._a, self._b), np.minimum(self._a, self._b)
        if self._corner:
            self._lever = 2.0 * short * (1.0 - 8.0 / np.pi**2 / np.cosh(np.minimum(0.5 * np.pi * long / short, 700.0)))
        else:
            self._lever = 2.0 * long**2 * short / (long**2 + short**2)

    @property
    def names(self) -> tuple[str, ...]:
        """Measures that this rod has."""
        return tuple(name for name in MEASURES if name != "stress" or self.rod.law is None)

    def __call__(self, name: str, q: np.ndarray) -> np.ndarray:
        """A measure of :data:`MEASURES`, in its unit, (..., n), from coordinates ``q`` (..., m) of the rod."""
        if name in ("moment", "force"):
            return self._resultant(name, q)
        change = [q[..., own] @ self._Phi[:, own].T for own in (self.rod.component == c for c in range(4))]
        torsion, bend_y, bend_z, stretch = change
        if name == "curvature":
            return np.asarray(np.hypot(self._bent[:, 0] + bend_y, self._bent[:, 1] + bend_z))
        top, side = np.abs(bend_y) * self._b, np.abs(bend_z) * self._a
        fibre = np.abs(stretch) + (top + side if self._corner else np.hypot(top, side))
        if name == "strain":
            return np.asarray(100.0 * fibre)
        if self.rod.law is not None:
            raise BadInput(
                f"rod {self.rod.name!r} has a {type(self.rod.law).__name__}, which says what the section bears and not "
                'which fibre bears it: colour it by "moment", "force", "strain" or "curvature"'
            )
        E, G = self.rod.material.young, self.rod.material.shear_modulus
        return np.asarray(1e-6 * np.sqrt((E * fibre) ** 2 + 3.0 * (G * torsion * self._lever) ** 2))

    def _resultant(self, name: str, q: np.ndarray) -> np.ndarray:
        """|C| or |N| of the elastic stress, (..., n)."""
        strain = self.rod.strain(self.s, q) - self.rod.rest_strain(self.s)
        many = strain.reshape(-1, 6)
        free = np.array([float(count > 0) for count in self.rod.counts])
        stress = self.rod.elasticity(np.tile(self.s, len(many) // self.s.size), many)[0] * free
        part = stress[:, :3] if name == "moment" else stress[:, 3:]
        return np.asarray(np.linalg.norm(part, axis=1).reshape(strain.shape[:-1]))

    def least(self, name: str) -> float:
        """Value below which a measure is not worth colour: a bend of a tenth of a radian over the rod."""
        bend = 0.1 / self.rod.length
        strain = bend * float(max(self._a.max(), self._b.max()))
        if name in ("moment", "force"):
            _, EI_y, EI_z, EA, *_ = self.rod.stiffness(self.s).max(axis=0)
            return float(max(EI_y, EI_z) * bend if name == "moment" else EA * strain)
        return {"curvature": bend, "strain": 100.0 * strain}.get(name, 1e-6 * self.rod.material.young * strain)


def turning(s: np.ndarray, rotation: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Curvature [1/m] at ``at`` (n,) of a rod of which only section frames (N, 3, 3) at ``s`` (N,) are known, (n,)."""
    turn = so3.log(np.swapaxes(rotation[:-1], 1, 2) @ rotation[1:])[:, 1:]  # without torsion, about x
    between = 0.5 * (s[1:] + s[:-1])
    return np.interp(at, between, np.linalg.norm(turn, axis=1) / np.maximum(np.diff(s), 1e-12))
