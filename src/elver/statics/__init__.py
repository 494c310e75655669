"""Statics: assembly, equilibria and their stability, branches, singularities, inverse models and workspaces."""

from elver.statics.closing import assemble
from elver.statics.continuation import Branch, BranchPoint, continuation
from elver.statics.equilibria import equilibria
from elver.statics.equilibrium import Equilibrium, Stability, stability
from elver.statics.inverse import InverseStatics, inverse_statics
from elver.statics.search import equilibrium
from elver.statics.singularity import Singularity, singularity
from elver.statics.workspace import workspace

__all__ = [
    "Branch",
    "BranchPoint",
    "Equilibrium",
    "InverseStatics",
    "Singularity",
    "Stability",
    "assemble",
    "equilibria",
    "continuation",
    "equilibrium",
    "inverse_statics",
    "singularity",
    "stability",
    "workspace",
]
