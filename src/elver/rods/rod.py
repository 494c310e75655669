"""A rod: length, section, material, rest shape and the basis of its free strains, on a quadrature grid.

    ξ(s) = ξ₀(s) + B Φ(s) q,   𝓗 = diag(G J_t, E I_y, E I_z, E A, k_y G A, k_z G A),
    𝓜 = ρ diag(I_polar, I_y, I_z, A, A, A),   𝓓 = τ_d 𝓗     (Boyer 2023; six-vectors angular first)

**Breaks.** Where the section or the rest strain jumps, so does the strain. At its ``breaks``, those given and those
that a ``Stepped`` dimension or rest strain tells of, the rod is in pieces: each has the functions of the basis for
itself (:mod:`elver.rods.pieces`) and its own quadrature. Plain functions are searched for jumps when a rod is built
(:mod:`elver.rods.jumps`). Loads, actuators and joints inside a rod change its quadrature where their action is
distributed (see ``grid_with``), never its coordinates: name them in ``breaks`` where strains shall jump or bend there.

**Grid.** Gauss-Legendre points inside each smooth element of the basis, and nodes of weight zero at the base,
at every break and at the tip, so that poses are known there. Where ``nodes`` is not given, the number of
quadrature points is chosen from the degree d of the basis:

    2 d + 14 on the whole rod, no fewer than d + 3 in each element.

A rod with breaks has these numbers on each of its pieces, as rods of their own would.

Gauss-Legendre with n points is exact to degree 2 n - 1: products of two strain functions and the stiffness
of a tapered section are integrated exactly. The 14 is for the poses: by Magnus of order 6 from node to node,
a rod turned through a full circle in space, its coefficients falling to a third with each degree, has
its tip right to between 1e-8 and 1e-7 of its length, and its inertia integrals too. More varied curvature
asks for more ``nodes``: the error falls with their sixth power.

Theory: docs/theory/rods.md, eq. (strain-modes), (grid), (stress), (section-laws).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.errors import BadInput, finite, positive
from elver.rods.basis import STRAIN_SYMBOLS, StrainBasis
from elver.rods.fields import Array, Field, arc_lengths, breaks_of, check_name, is_plain, numbers, sample
from elver.rods.grid import Elements, Grid, Place, filled, planned, same_place
from elver.rods.jumps import find_jumps, warn_of_jumps
from elver.rods.law import FullLaw, SectionLaw, check_law
from elver.rods.material import Material
from elver.rods.pieces import broken, local_functions
from elver.rods.section import (
    STIFFNESS,
    CrossSection,
    Section,
    SectionProperties,
    named_thickness,
    plain_dimensions,
    section_breaks,
)
from elver.rods.space import Magnus, RungeKuttaMuntheKaas, SpaceIntegration, Spectral
from elver.slips import check_proportions, without_dimensions
from elver.values import Carried, of_kind
from elver.words import describe, shown

__all__ = ["STRAIN_SYMBOLS", "Rod"]

_DEFAULT_INTEGRATION = Magnus(order=6)
_STRAIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Rod(Carried):
    """One slender elastic rod.

    ``length`` [m]; ``material`` may be left out where the section is given by its stiffness and mass;
    ``rest`` is None (straight), a constant curvature (3 numbers, 1/m), a constant strain
    (6 numbers, angular first), or a vectorised callable of s [m] that returns (len(s), 3) or (len(s), 6);
    ``nodes`` is the number of quadrature points: left out, it is chosen from the basis and can be read here;
    ``breaks`` [m] are positions inside where strains may jump: between them the rod has the functions of its basis
    anew. Those of ``Stepped`` dimensions and rest strains need not be given; ``piece_ends`` shows all.
    ``law`` is the section law where it is not the linear one of section and material: a :class:`FullLaw` or a
    :class:`Law` of one's own. Inertia is that of section and material in any case.
    Rods are compared by identity: two equal fingers are two rods.
    """

    length: float = field(metadata=of_kind("m"))
    section: CrossSection = field(metadata=of_kind("@section"))
    material: Material = field(default=None, metadata=of_kind("@material"))  # type: ignore[assignment]  # left out, it follows from a section given by its stiffness
    basis: StrainBasis = field(default=None, metadata=of_kind("@basis"))  # type: ignore[assignment]  # asked for below
    rest: Field | None = field(default=None, metadata=of_kind("any @function"))
    name: str = field(default="rod", metadata=of_kind("text"))
    nodes: int | None = field(default=None, metadata=of_kind("int"))
    integration: SpaceIntegration = field(default=_DEFAULT_INTEGRATION, metadata=of_kind("@integration"))
    breaks: tuple[float, ...] = field(default=(), metadata=of_kind("m"))
    law: SectionLaw | None = field(default=None, metadata=of_kind("@law"))

    def __repr__(self) -> str:
        return (
            f"Rod {self.name!r}: {self.length:g} m long, {shown(self.section)}, {self.material.young:.4g} Pa, "
            f"{self.n} coordinates by {shown(self.basis)}"
        )

    def __post_init__(self) -> None:
        put: Callable[[str, Any], None] = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("name", check_name("rod", self.name))
        put("length", positive("length", self.length, "m"))
        direct = isinstance(self.section, Section) and self.section.is_direct
        if direct and self.material is None:
            put("material", self.section.material(self.length))
        for name, kind, example in (
            ("section", CrossSection, "Circle(radius=5e-3)"),
            ("material", Material, "Material(young=1e6, poisson=0.45, density=1070.0)"),
            ("basis", StrainBasis, "Legendre.kirchhoff(4)"),
            ("integration", (Magnus, RungeKuttaMuntheKaas, Spectral), "Magnus(order=6)"),
        ):
            value = getattr(self, name)
            if isinstance(value, type) or not isinstance(value, kind):
                raise BadInput(f"{name} = {describe(value)} cannot be used: pass e.g. {example}")
        put("breaks", self._check_breaks())
        self._check_basis()
        if direct:
            self._check_stiffness()
        put("nodes", self._check_nodes())
        if self.rest is not None and not callable(self.rest):
            wide = np.size(self.rest) == 6
            rest = numbers("rest", self.rest, 6 if wide else 3, "1/m (curvature) and m/m")
            put("rest", rest if wide else (*rest, *_STRAIGHT[3:]))
        # Evaluate every field once: what is wrong is said here, not in the middle of a computation.
        self.section.properties(self.grid.s, self.length)
        self._check_functions()
        real = not without_dimensions(self.material.young, self.material.density)
        if real and (thickest := named_thickness(self.section)) is not None:
            half_y, half_z = self.section.half_widths(self.grid.s, self.length)
            check_proportions(self.name, self.length, (float(np.max(half_y)), float(np.max(half_z))), thickest)
        rest_strain = self.rest_strain(self.grid.s)
        if np.any(rest_strain[:, 3] <= 0.0):
            where = int(np.argmax(rest_strain[:, 3] <= 0.0))
            raise BadInput(
                f"rest: G_x = {rest_strain[where, 3]:g} m/m at s = {self.grid.s[where]:g} m must be greater "
                "than zero; s is the arc length of the rest shape, so G_x is 1 unless you know better"
            )
        self._check_jumps()
        if self.law is not None:
            free = [c for c, count in enumerate(self.counts) if count]
            check_law(f"rod {self.name!r}", self.law, self.length, self.grid.s, free, STRAIN_SYMBOLS)

    # Checks -------------------------------------------------------------------------------------------------

    def _check_stiffness(self) -> None:
        """A section given by its stiffness has that of every strain that may change."""
        for strain, name, count in zip(STRAIN_SYMBOLS, STIFFNESS, self.counts, strict=True):
            if count and getattr(self.section, name) is None:
                unit = "N m2" if strain[0] == "K" else "N"
                raise BadInput(
                    f"rod {self.name!r}: {name} [{unit}] of its section is missing, and its basis lets {strain} "
                    f"change: give Section(..., {name}=...), or leave that strain out of the basis"
                )

    def _check_breaks(self) -> tuple[float, ...]:
        breaks = finite("breaks", np.atleast_1d(np.asarray(self.breaks, dtype=float)), (-1,), "m")
        given = sorted(set(breaks.tolist()))  # np.unique would import masked arrays
        for s in (*given, *breaks_of(self.rest), *section_breaks(self.section)):
            if not same_place(self.length) < s < self.length - same_place(self.length):
                raise BadInput(
                    f"break at s = {s:g} m is not inside the rod {self.name!r}: choose it between 0 and "
                    f"{self.length:g} m"
                )
        return tuple(given)

    def _check_jumps(self) -> None:
        """Warn where a plain function of the section or the rest strain jumps."""
        for name, function, unit in self._plain_fields():
            remedy = ", or describe the jump with Stepped(...)"
            warn_of_jumps(f"rod {self.name!r}: {name}", function, self.piece_ends, unit, remedy)

    def _plain_fields(self) -> list[tuple[str, Callable[[Array], Array], str]]:
        """Fields that are functions of which only values are known, with their names and units."""
        found: list[tuple[str, Callable[[Array], Array], str]] = []
        if is_plain(self.rest):
            found.append(("rest", self.rest_strain, "(1/m or m/m)"))
        for name, function in plain_dimensions(self.section, self.length):
            found.append((f"{name} of its section", function, "(SI units)"))
        return found

    @property
    def hidden_jumps(self) -> tuple[float, ...]:
        """Places [m] where a plain function of the section or the rest strain jumps, and the rod has no break."""
        found = [find_jumps(function, self.piece_ends) for _, function, _ in self._plain_fields()]
        return tuple(sorted({s for jumps in found for jump in jumps for s in (jump.start, jump.end)}))

    def _check_basis(self) -> None:
        counts = tuple(self.basis.counts)
        if len(counts) != 6 or any(int(n) != n or n < 0 for n in counts):
            raise BadInput(f"basis.counts = {describe(counts)}: give six whole numbers >= 0, for K_x ... G_z")
        if not any(counts):
            raise BadInput("basis has 0 functions in all six strains: give some, e.g. Legendre(bending=4)")
        breaks = np.asarray(self.basis.breaks(self.length), dtype=float)
        if np.any(np.diff(breaks, prepend=0.0, append=self.length) <= 0.0):
            raise BadInput(
                f"basis.breaks = {breaks} m: let them increase strictly between 0 and {self.length:g} m"
            )

    def _check_nodes(self) -> int:
        elements, pieces = len(self.expansion.breaks(self.length)) + 1, len(self.piece_ends) - 1
        modes = max(self.counts)
        if self.nodes is None:
            degree = int(self.expansion.degree)
            each = max(degree + 3, -(-max((2 * degree + 14) * pieces, modes) // elements))
            return each * elements
        nodes = finite("nodes", self.nodes, (), "(number of quadrature points)")
        if nodes != np.round(nodes) or nodes < 1:
            raise BadInput(f"nodes = {nodes:g}: expected a whole number of quadrature points, at least 1")
        if nodes < modes:
            raise BadInput(
                f"nodes = {nodes:g} quadrature points for {modes} functions in one strain: the result "
                f"would be wrong without any sign; choose nodes >= {max(modes, elements)}, fewer functions, "
                "or leave nodes out"
            )
        if nodes < elements:
            raise BadInput(
                f"nodes = {nodes:g} quadrature points for {elements} elements: every element needs one; "
                f"choose nodes >= {elements}, fewer elements, or leave nodes out"
            )
        return int(nodes)

    def _check_functions(self) -> None:
        s = self.grid.s
        for component, symbol in enumerate(STRAIN_SYMBOLS):
            _, values = local_functions(self.expansion, component, s, self.length)
            label = f"basis functions of {symbol}"
            bad = ~np.isfinite(values).all(axis=1)
            if bad.any():
                where = int(np.argmax(bad))
                raise BadInput(f"{label} are {values[where]} at s = {s[where]:g} m: let them be finite")

    # Coordinates --------------------------------------------------------------------------------------------

    @cached_property
    def piece_ends(self) -> tuple[float, ...]:
        """0, the breaks given and found, and L [m]: between two of them the rod is smooth."""
        found = sorted({*self.breaks, *breaks_of(self.rest), *section_breaks(self.section)})
        return (0.0, *_inside(np.array(found), np.array([0.0, self.length])).tolist(), self.length)

    @cached_property
    def expansion(self) -> StrainBasis:
        """The functions that the strains of this rod are expanded in: those of ``basis``, anew on each piece."""
        return broken(self.basis, self.piece_ends[1:-1], self.length)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of functions of each strain, in the order K_x, K_y, K_z, G_x, G_y, G_z."""
        return tuple(int(n) for n in self.expansion.counts)

    @property
    def n(self) -> int:
        """Number of generalized coordinates."""
        return sum(self.counts)

    @cached_property
    def component(self) -> NDArray[np.int64]:
        """Strain (0 ... 5) that each coordinate feeds, (n,): the matrix B as indices."""
        return _frozen(np.repeat(np.arange(6), self.counts))

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names such as ``K_y[0]``, one per coordinate."""
        return tuple(f"{STRAIN_SYMBOLS[c]}[{k}]" for c, count in enumerate(self.counts) for k in range(count))

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """``1/m`` for curvatures, ``1`` for stretch and shear, one per coordinate."""
        return tuple("1/m" if c < 3 else "1" for c, count in enumerate(self.counts) for _ in range(count))

    # Fields along s -----------------------------------------------------------------------------------------

    def functions(self, s: ArrayLike) -> Array:
        """Φ(s): value of each coordinate's own function at ``s`` [m], (len(s), n)."""
        s = arc_lengths(s)
        columns = [self.expansion.functions(c, s, self.length) for c in range(6) if self.counts[c]]
        return np.concatenate(columns, axis=1)

    def local_functions(self, s: ArrayLike) -> list[tuple[NDArray[np.int64], Array]]:
        """Φ(s) without its zeros: for each free strain the number of the first function that may differ from zero at
        ``s`` [m], (len(s),), and the values of so many there, (len(s), most)."""
        s = arc_lengths(s)
        return [local_functions(self.expansion, c, s, self.length) for c in range(6) if self.counts[c]]

    def rest_strain(self, s: ArrayLike) -> Array:
        """ξ₀(s) at ``s`` [m], (len(s), 6): angular first, (0, 0, 0, 1, 0, 0) for a straight rod."""
        s = arc_lengths(s)
        if self.rest is None or not callable(self.rest):
            return np.tile(np.array(self.rest or _STRAIGHT), (s.size, 1))
        returned = np.asarray(self.rest(s))
        width = 6 if returned.shape[-1:] == (6,) else 3
        strain = sample("rest", lambda _: returned, s, width, "1/m (curvature) and m/m")
        if width == 3:
            strain = np.hstack([strain, np.tile(_STRAIGHT[3:], (s.size, 1))])
        return strain

    def strain(self, s: ArrayLike, q: ArrayLike) -> Array:
        """ξ(s) = ξ₀(s) + B Φ(s) q: (len(s), 6) for q of shape (n,), (..., len(s), 6) for (..., n)."""
        s = arc_lengths(s)
        q = np.asarray(q, dtype=float)
        if q.shape[-1:] != (self.n,):
            raise BadInput(
                f"q has shape {q.shape}: the rod {self.name!r} has {self.n} coordinates "
                f"({', '.join(self.coordinate_names[:3])}, ...); give an array that ends in {self.n}"
            )
        strain = np.broadcast_to(self.rest_strain(s), (*q.shape[:-1], s.size, 6)).copy()
        Phi_q = self.functions(s) * q[..., None, :]
        for c in range(6):
            strain[..., c] += Phi_q[..., self.component == c].sum(axis=-1)
        return strain

    def section_properties(self, s: ArrayLike) -> SectionProperties:
        """Area, second moments, torsion constant and shear factors at ``s`` [m]."""
        return self.section.properties(s, self.length)

    def stiffness(self, s: ArrayLike) -> Array:
        """Diagonal of 𝓗 at ``s`` [m], (len(s), 6): N m² for curvatures, N for stretch and shear.

        Of a ``law`` it is the diagonal of its slope at rest; where that has none, as in strains that are held fixed,
        what section and material have.
        """
        own = self._linear_stiffness(s)
        if self.law is None:
            return own
        given = np.einsum("nii->ni", self.section_stiffness(s))
        return np.where(given > 0.0, given, own)

    def section_stiffness(self, s: ArrayLike) -> Array:
        """𝓗 at ``s`` [m], (len(s), 6, 6): the slope of the section law at rest."""
        if self.law is None:
            return np.einsum("ni,ik->nik", self._linear_stiffness(s), np.eye(6))
        return self.law.at(s) if isinstance(self.law, FullLaw) else self.law.stiffness(s)

    def elasticity(self, s: ArrayLike, strain: ArrayLike) -> tuple[Array, Array, Array]:
        """What the section law says at ``s`` [m] and the strains ε = ξ - ξ₀, (len(s), 6).

        Elastic stress (len(s), 6) [N m, N], its slope (len(s), 6, 6), energy per length (len(s),) [J/m].
        """
        s = arc_lengths(s)
        strain = finite("strain", strain, (s.size, 6), "1/m and m/m")
        if self.law is not None:
            return self.law.elasticity(s, strain)
        H = self._linear_stiffness(s)
        return H * strain, self.section_stiffness(s), 0.5 * np.sum(H * strain**2, axis=1)

    def _linear_stiffness(self, s: ArrayLike) -> Array:
        """Diagonal of 𝓗 of section and material."""
        if isinstance(self.section, Section) and self.section.is_direct:
            return self.section.stiffness(s, self.length)
        p, E, G = self.section_properties(s), self.material.young, self.material.shear_modulus
        GA = G * p.area
        diagonal = [G * p.torsion_constant, E * p.I_y, E * p.I_z, E * p.area, p.k_y * GA, p.k_z * GA]
        return np.stack(diagonal, axis=1)

    def damping(self, s: ArrayLike) -> Array:
        """Diagonal of 𝓓 = τ_d 𝓗 at ``s`` [m], (len(s), 6)."""
        return self.material.damping * self.stiffness(s)

    @property
    def mass_damping(self) -> float:
        """α [1/s] of the load -α 𝓜 η per length."""
        return self.material.mass_damping

    def inertia(self, s: ArrayLike) -> Array:
        """Diagonal of 𝓜 per metre at ``s`` [m], (len(s), 6): kg m for rotation, kg/m for translation."""
        if isinstance(self.section, Section) and self.section.is_direct:
            return self.section.mass_and_inertia(s, self.length)
        p = self.section_properties(s)
        return self.material.density * np.stack([p.I_polar, p.I_y, p.I_z, p.area, p.area, p.area], axis=1)

    @property
    def mass(self) -> float:
        """Mass [kg], ∫ ρ A ds on the grid."""
        return float(self.grid.weights @ self.inertia(self.grid.s)[:, 3])

    # Grid ---------------------------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> Grid:
        """Quadrature points, and nodes of weight zero at the base, the breaks and the tip."""
        return self.grid_with()

    def grid_with(self, stations: Iterable[float] = (), breaks: Iterable[float] = ()) -> Grid:
        """The grid with further nodes at given positions [m].

        ``stations`` are nodes of weight zero where a pose is wanted (a load, a hold); the quadrature stays as
        it is. ``breaks`` are positions where a field jumps (the end of a tendon): elements are divided there,
        and each part has points in proportion to its length, no fewer than degree + 3.
        """
        at, cuts = self._places(stations), self._places(breaks)
        return filled(planned(self.elements, at, cuts), self.elements, at, cuts)

    @cached_property
    def elements(self) -> Elements:
        """Smooth elements with their quadrature points: those of the basis, on each piece of the rod."""
        assert self.nodes is not None  # set by __post_init__
        ends = (0.0, *self._ends.tolist(), self.length)
        each, rest = divmod(self.nodes, len(ends) - 1)
        points = tuple(each + (k < rest) for k in range(len(ends) - 1))
        return Elements(ends, points, int(self.expansion.degree) + 3)

    @cached_property
    def _ends(self) -> Array:
        """Interior ends of smooth elements [m]: breaks of the rod, exactly as given, and of its functions."""
        own = np.asarray(self.expansion.breaks(self.length), dtype=float)
        breaks = np.array(self.piece_ends[1:-1])
        return np.sort(np.concatenate([breaks, _inside(own, np.array([0.0, *breaks, self.length]))]))

    def _places(self, positions: Iterable[float]) -> list[Place]:
        s = finite("positions of nodes", list(positions), (-1,), "m")
        if np.any((s < 0.0) | (s > self.length)):
            worst = s[np.argmax(np.abs(s - self.length / 2.0))]
            raise BadInput(f"node at s = {worst:g} m is outside the rod; stay within [0, {self.length:g}] m")
        return [Place(float(one)) for one in s]


def _inside(positions: Array, existing: Array) -> Array:
    """Those positions that are not already nodes, each once."""
    kept: list[float] = []
    for s in positions:
        if np.min(np.abs(np.concatenate([existing, kept]) - s)) > same_place(existing.max()):
            kept.append(float(s))
    return np.array(kept)


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array
