"""Rods: material, section, strain basis, rest shape, and the quadrature grid along s."""

from elver.rods.basis import (
    STRAINS,
    Chebyshev,
    Legendre,
    PiecewiseConstant,
    PiecewiseLinear,
    StrainBasis,
)
from elver.rods.fields import Stepped, Taper
from elver.rods.grid import Grid, GridPlan, Place, filled, planned
from elver.rods.law import FullLaw, Law, SectionLaw
from elver.rods.material import Material
from elver.rods.pieces import Piecewise
from elver.rods.rod import STRAIN_SYMBOLS, Rod
from elver.rods.sampled import Sampled
from elver.rods.section import CrossSection, Section, SectionProperties
from elver.rods.section_shapes import Circle, Ellipse, Rectangle, Tube, rectangle_torsion_constant
from elver.rods.space import Magnus, RungeKuttaMuntheKaas, SpaceIntegration, Spectral

__all__ = [
    "STRAINS",
    "STRAIN_SYMBOLS",
    "Chebyshev",
    "Circle",
    "CrossSection",
    "Ellipse",
    "FullLaw",
    "Grid",
    "GridPlan",
    "Law",
    "Legendre",
    "Magnus",
    "Material",
    "Piecewise",
    "PiecewiseConstant",
    "PiecewiseLinear",
    "Place",
    "Rectangle",
    "Rod",
    "RungeKuttaMuntheKaas",
    "Sampled",
    "Section",
    "SectionLaw",
    "SectionProperties",
    "SpaceIntegration",
    "Spectral",
    "Stepped",
    "StrainBasis",
    "Taper",
    "Tube",
    "filled",
    "planned",
    "rectangle_torsion_constant",
]
