"""Which method a run takes when none is named."""

from __future__ import annotations

from elver.actuation import SpooledTendon
from elver.integrators.gauss import ImplicitMidpoint
from elver.integrators.generalized_alpha import GeneralizedAlpha
from elver.integrators.method import Method
from elver.system import System

__all__ = ["default_method"]

# It strays least on the motions tabled in docs/methods.md; studies/energy.py is there to ask random robots.
_DEFAULT = ImplicitMidpoint()
# The wound length of a spool gives no rate, by which Gauss methods hold closures; a little dissipation keeps the
# multipliers of one-step methods clean.
_WITH_SPOOLS = GeneralizedAlpha(rho_inf=0.6)


def default_method(system: System) -> Method:
    """ImplicitMidpoint(); GeneralizedAlpha(rho_inf=0.6) where a spooled tendon is wound."""
    return _WITH_SPOOLS if any(isinstance(part, SpooledTendon) for part in system.actuators) else _DEFAULT
