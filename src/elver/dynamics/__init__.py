"""Dynamics: residual, tangent, mass matrix, energies, small motions; functions of a system and a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "core": "structure_of values_of",
    "explain": "explain",
    "forward": (
        "FloatingInverseDynamics TangentForwardDynamics floating_inverse_dynamics forward_dynamics "
        "tangent_forward_dynamics"
    ),
    "linear": "LinearModel Modes linearize modes",
    "quantities": (
        "Energy TangentInverseDynamics bias_forces energy inverse_dynamics mass_matrix momentum nodes poses "
        "tangent_inverse_dynamics"
    ),
    "structure": "Structure Values",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
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
