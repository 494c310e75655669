"""Dynamics: residual, tangent, mass matrix, energies, small motions; functions of a system and a state."""

from elver.dynamics.core import structure_of, values_of
from elver.dynamics.explain import explain
from elver.dynamics.forward import (
    FloatingInverseDynamics,
    TangentForwardDynamics,
    floating_inverse_dynamics,
    forward_dynamics,
    tangent_forward_dynamics,
)
from elver.dynamics.linear import LinearModel, Modes, linearize, modes
from elver.dynamics.quantities import (
    Energy,
    TangentInverseDynamics,
    bias_forces,
    energy,
    inverse_dynamics,
    mass_matrix,
    momentum,
    nodes,
    poses,
    tangent_inverse_dynamics,
)
from elver.dynamics.structure import Structure, Values

__all__ = [
    "Energy",
    "FloatingInverseDynamics",
    "LinearModel",
    "Modes",
    "Structure",
    "TangentForwardDynamics",
    "TangentInverseDynamics",
    "Values",
    "bias_forces",
    "energy",
    "explain",
    "floating_inverse_dynamics",
    "forward_dynamics",
    "inverse_dynamics",
    "linearize",
    "mass_matrix",
    "modes",
    "momentum",
    "nodes",
    "poses",
    "structure_of",
    "tangent_forward_dynamics",
    "tangent_inverse_dynamics",
    "values_of",
]
