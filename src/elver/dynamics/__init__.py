"""Dynamics: residual, tangent, mass matrix, energies, small motions; functions of a system and a state."""

from elver.dynamics.core import (
    Energy,
    TangentInverseDynamics,
    energy,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    momentum,
    nodes,
    poses,
    tangent_inverse_dynamics,
)
from elver.dynamics.linear import LinearModel, Modes, linearize, modes

__all__ = [
    "Energy",
    "LinearModel",
    "Modes",
    "TangentInverseDynamics",
    "energy",
    "forward_dynamics",
    "inverse_dynamics",
    "linearize",
    "mass_matrix",
    "modes",
    "momentum",
    "nodes",
    "poses",
    "tangent_inverse_dynamics",
]
