"""Which method a run takes when none is named."""

from __future__ import annotations

from elver.actuation import SpooledTendon
from elver.dynamics.core import core
from elver.integrators.conserving import Conserving
from elver.integrators.gauss import ImplicitMidpoint
from elver.integrators.generalized_alpha import GeneralizedAlpha
from elver.integrators.method import Method
from elver.system import System

__all__ = ["default_method"]

# No step of it can gain energy, and it costs what the midpoint rule costs, or a fraction where steps are divided;
# studies/energy.py asks random robots.
_DEFAULT = Conserving()
# Strays least of the others on the motions tabled in docs/methods.md.
_ELSE = ImplicitMidpoint()
# The wound length of a spool gives no rate, by which Gauss methods hold closures; a little dissipation keeps the
# multipliers of one-step methods clean.
_WITH_SPOOLS = GeneralizedAlpha(rho_inf=0.6)
# Coordinates from which dense matrices cost more than elimination along a tree.
_MANY = 150


def default_method(system: System) -> Method:
    """Conserving(); ImplicitMidpoint() where that is not known, where a motion has no inertia, or on large trees
    that it does by the matrix.

    Where Conserving() is not known and a spooled tendon is wound it is GeneralizedAlpha(rho_inf=0.6).
    """
    kernels = core(system)
    large = system.n > _MANY and kernels.along_tree and not kernels.steps_along_tree
    if not large and not _DEFAULT.refusal(system) and _DEFAULT.asks_for_accelerations(system):
        return _DEFAULT
    return _WITH_SPOOLS if any(isinstance(part, SpooledTendon) for part in system.actuators) else _ELSE
