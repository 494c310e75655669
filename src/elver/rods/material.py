"""Linear elastic material with damping, in proportion to its stiffness (Kelvin-Voigt) and to its mass.

Shear modulus G = E / (2 (1 + ν)) unless given; damping is a time τ_d [s]: the section damping is 𝓓 = τ_d 𝓗. Damping in
proportion to the mass, α [1/s], is a wrench -α 𝓜 η per length: a motion of frequency ω loses α/(2ω) + τ_d ω/2 of
critical (Rayleigh). It acts on motion through the world, a rigid one too, as thin air or a thick film would.

Theory: docs/theory/rods.md, eq. (stress).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elver.errors import BadInput, finite, non_negative, positive
from elver.slips import ask_of_material
from elver.values import of_kind
from elver.words import brief

__all__ = ["Material"]


@brief
@dataclass(frozen=True)
class Material:
    """Isotropic elastic material.

    ``young`` E [Pa], ``density`` ρ [kg/m³], ``poisson`` ν in (-1, 0.5] or ``shear`` G [Pa] (which wins where
    both are given), ``damping`` τ_d [s], in proportion to the stiffness, ``mass_damping`` α [1/s], to the mass.
    """

    young: float = field(metadata=of_kind("Pa"))
    density: float = field(metadata=of_kind("kg/m^3"))
    poisson: float | None = field(default=None, metadata=of_kind("1"))
    shear: float | None = field(default=None, metadata=of_kind("Pa"))
    damping: float = field(default=0.0, metadata=of_kind("s"))
    mass_damping: float = field(default=0.0, metadata=of_kind("1/s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "young", positive("young", self.young, "Pa"))
        object.__setattr__(self, "density", positive("density", self.density, "kg/m3"))
        object.__setattr__(self, "damping", non_negative("damping", self.damping, "s"))
        object.__setattr__(self, "mass_damping", non_negative("mass_damping", self.mass_damping, "1/s"))
        if self.shear is None and self.poisson is None:
            raise BadInput("material has neither poisson [-] nor shear [Pa]: give one of them")
        if self.shear is not None:
            object.__setattr__(self, "shear", positive("shear", self.shear, "Pa"))
        if self.poisson is not None:
            poisson = float(finite("poisson", self.poisson, (), "dimensionless"))
            if not -1.0 < poisson <= 0.5:
                raise BadInput(
                    f"poisson = {poisson:g} (dimensionless): must lie in (-1, 0.5]; "
                    "for another ratio of moduli give shear in Pa instead"
                )
            object.__setattr__(self, "poisson", poisson)
        ask_of_material(self.young, self.density)

    @property
    def shear_modulus(self) -> float:
        """G [Pa]: ``shear`` where given, else E / (2 (1 + ν))."""
        if self.shear is not None:
            return self.shear
        assert self.poisson is not None  # __post_init__ refuses a material without both
        return self.young / (2.0 * (1.0 + self.poisson))
