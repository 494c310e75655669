"""Statics: assembly, equilibria and their stability, branches, singularities, inverse models and workspaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "closing": "assemble",
    "continuation": "Branch BranchPoint continuation",
    "equilibria": "equilibria",
    "equilibrium": "Equilibrium Stability stability",
    "inverse": "InverseStatics inverse_statics",
    "search": "equilibrium",
    "singularity": "Singularity singularity",
    "workspace": "workspace",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.statics.closing import assemble
    from elver.statics.continuation import Branch, BranchPoint, continuation
    from elver.statics.equilibria import equilibria
    from elver.statics.equilibrium import Equilibrium, Stability, stability
    from elver.statics.inverse import InverseStatics, inverse_statics
    from elver.statics.search import equilibrium
    from elver.statics.singularity import Singularity, singularity
    from elver.statics.workspace import workspace
