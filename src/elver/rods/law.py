"""Section laws: stress, slope and energy of a section at a strain ε = ξ - ξ₀ from its natural shape.

    linear, of section and material     Λ = 𝓗 ε ,   𝓗 diagonal         (no law given)
    linear, all six strains coupled     Λ = 𝓗 ε ,   𝓗 symmetric        :class:`FullLaw`
    nonlinear, a function of one's own  Λ = ∂W/∂ε                      :class:`Law`

Damping is 𝓓 = τ_d 𝓗 of the material, with the slope 𝓗 at ε = 0 where the law is not linear. The stress of a strain that
the basis of the rod holds fixed is a reaction, whatever the law says of it.

Theory: docs/theory/rods.md, eq. (stress), (section-laws).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite
from elver.functions import LAW, Asked, Function, as_function, check_slopes
from elver.rods.fields import Array, arc_lengths, check_name
from elver.values import Carried, of_kind
from elver.words import brief, describe

__all__ = ["FullLaw", "Law", "SectionLaw", "check_law"]

# Strains at which a law is compared with its slope and energy: curvatures times the length of the rod, then stretches.
_PLACES = np.array(
    [
        [0.02, -0.03, 0.04, 0.001, -0.002, 0.0015],
        [-0.2, 0.3, 0.1, -0.01, 0.01, 0.02],
        [0.6, -0.5, -0.8, 0.03, 0.02, -0.03],
    ]
)


@brief
@dataclass(frozen=True, eq=False)
class Law(Carried):
    """A section law of one's own: ``function(strain, s, parameters, stress, slope)`` returns the energy per length.

    ``strain`` (6,) [1/m, 1] is that from the natural shape, the rest of the rod; s [m]; ``parameters`` as given here.
    Write ``stress`` (6,) [N m, N] and ``slope`` (6, 6) = ∂stress/∂strain in place (both come as zeros), and return the
    energy [J/m], whose derivative the stress is. Plain Python is the slow lane, in which the last argument may be left
    out: slopes are then central differences, right to about 1e-10. Marked with :func:`elver.compiled`, as a
    ``numba.cfunc`` or as the address of a C function, it is as quick as the law that is built in. Slope and energy are
    checked at three strains when a rod is built.
    """

    function: Function
    parameters: Any = ()
    name: str = "law"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("law", self.name))
        object.__setattr__(self, "function", as_function(f"law {self.name!r}", LAW, self.function))
        parameters = tuple(float(value) for value in np.atleast_1d(np.asarray(self.parameters, dtype=float)))
        object.__setattr__(self, "parameters", parameters)
        self.asked  # noqa: B018 (what is wrong is said here)

    @cached_property
    def asked(self) -> Asked:
        """The function, for Python and for compiled code."""
        return Asked(f"law {self.name!r}", LAW, self.function, self.parameters)

    def stiffness(self, s: ArrayLike) -> Array:
        """Slope at the natural strain, (len(s), 6, 6)."""
        return np.stack([self.asked.evaluate(np.zeros(6), float(at))[1] for at in arc_lengths(s)])

    def elasticity(self, s: Array, strain: Array) -> tuple[Array, Array, Array]:
        """Stress (n, 6), slope (n, 6, 6) and energy per length (n,) at the strains (n, 6)."""
        found = [self.asked.evaluate(x, float(at)) for at, x in zip(s, strain, strict=True)]
        return tuple(np.array([one[k] for one in found], dtype=float) for k in range(3))  # type: ignore[return-value]

    def check(self, length: float) -> None:
        """Slope and energy at three strains; BadInput names what does not fit."""
        unit = np.array([1.0 / length] * 3 + [1.0] * 3)
        places = [(x * unit, at * length, 0.0) for x, at in zip(_PLACES, (0.1, 0.5, 0.9), strict=True)]
        if not check_slopes(self.asked, places, unit):
            raise BadInput(
                f"law {self.name!r}: its function returns no energy; return the energy per length [J/m], whose "
                "derivative the stress is (a stress without an energy is an ActiveStress)"
            )


@brief
@dataclass(frozen=True, eq=False)
class FullLaw(Carried):
    """A linear law with a full 𝓗: bending that twists, stretch that shears.

    ``stiffness`` is (6, 6), symmetric, in the order K_x, K_y, K_z, G_x, G_y, G_z [N m², N m, N], or a function of
    s (n,) [m] that returns (n, 6, 6).
    """

    stiffness: Any = field(metadata=of_kind("any"))

    def __post_init__(self) -> None:
        if isinstance(self.stiffness, type) or not callable(self.stiffness):
            H = finite("FullLaw: stiffness", self.stiffness, (6, 6), "N m2, N m and N")
            object.__setattr__(self, "stiffness", tuple(map(tuple, H.tolist())))
        _check_symmetric(self.at(np.zeros(1)))

    def at(self, s: ArrayLike) -> Array:
        """𝓗 at ``s`` [m], (len(s), 6, 6)."""
        s = arc_lengths(s)
        if not callable(self.stiffness):
            return np.tile(np.array(self.stiffness), (s.size, 1, 1))
        return finite("FullLaw: stiffness", self.stiffness(s), (s.size, 6, 6), "N m2, N m and N")

    def elasticity(self, s: Array, strain: Array) -> tuple[Array, Array, Array]:
        """Stress (n, 6), slope (n, 6, 6) and energy per length (n,) at the strains (n, 6)."""
        H = self.at(s)
        stress = np.einsum("nik,nk->ni", H, strain)
        return stress, H, 0.5 * np.einsum("ni,ni->n", stress, strain)


SectionLaw: TypeAlias = Law | FullLaw


def _check_symmetric(H: Array) -> None:
    size = np.sqrt(np.abs(np.einsum("nii->ni", H)))
    size = np.einsum("ni,nk->nik", size, size)
    if np.any(wrong := np.abs(H - np.swapaxes(H, 1, 2)) > 1e-9 * size):
        n, i, k = (int(at) for at in np.argwhere(wrong)[0])
        raise BadInput(
            f"FullLaw: stiffness[{i}, {k}] = {H[n, i, k]:g} and stiffness[{k}, {i}] = {H[n, k, i]:g} differ: without "
            "symmetry there is no elastic energy; give a symmetric matrix"
        )


def check_law(label: str, law: Any, length: float, s: Array, free: list[int], names: tuple[str, ...]) -> None:
    """BadInput where ``law`` is none, contradicts itself, or has no stiffness at rest in the ``free`` strains."""
    if not isinstance(law, SectionLaw):
        example = "Law(function, parameters=(...)) or FullLaw(stiffness)"
        raise BadInput(f"{label}: law is {describe(law)}; give {example}, or leave it out")
    if isinstance(law, Law):
        law.check(length)
        H = law.stiffness(s)
    else:
        H = law.at(s)
        _check_symmetric(H)
    own = H[:, free][:, :, free]
    unit = np.array([1.0 / length if c < 3 else 1.0 for c in free])
    least = np.linalg.eigvalsh(own * np.outer(unit, unit))[:, 0]
    if np.any(least <= 0.0):
        n = int(np.argmax(least <= 0.0))
        at = [names[c] for c in free]
        raise BadInput(
            f"{label}: the slope of its law at rest, at s = {s[n]:g} m, in the strains {', '.join(at)}, is not "
            f"positive definite (least eigenvalue {least[n]:.3g}, curvatures times the length): give it some stiffness "
            "at rest, or leave strains without any out of the basis"
        )
