"""Statics: equilibria, their stability, branches of equilibria, and which inputs reach a target."""

from elver.statics.closing import assemble
from elver.statics.continuation import Branch, BranchPoint, continuation
from elver.statics.equilibrium import Equilibrium, Stability, equilibrium, stability
from elver.statics.inverse import InverseStatics, inverse_statics

__all__ = [
    "Branch",
    "BranchPoint",
    "Equilibrium",
    "InverseStatics",
    "Stability",
    "assemble",
    "continuation",
    "equilibrium",
    "inverse_statics",
    "stability",
]
