"""Time integration: one method per file, and simulate."""

from elver.integrators.explicit import Explicit, RungeKutta4, SemiImplicitEuler
from elver.integrators.gauss import Gauss, GaussLegendre4, ImplicitMidpoint
from elver.integrators.generalized_alpha import GeneralizedAlpha
from elver.integrators.hht import HHT
from elver.integrators.method import Method, OneStep
from elver.integrators.newmark import Newmark
from elver.integrators.simulate import Adaptive, simulate, state_at

__all__ = [
    "HHT",
    "Adaptive",
    "Explicit",
    "Gauss",
    "GaussLegendre4",
    "GeneralizedAlpha",
    "ImplicitMidpoint",
    "Method",
    "Newmark",
    "OneStep",
    "RungeKutta4",
    "SemiImplicitEuler",
    "simulate",
    "state_at",
]
