"""Time integration: one method per file, as values; :mod:`elver.integrators.simulate` runs them."""

from elver.integrators.adaptive import Adaptive
from elver.integrators.conserving import Conserving
from elver.integrators.explicit import Explicit, RungeKutta4, SemiImplicitEuler
from elver.integrators.gauss import Gauss, GaussLegendre4, ImplicitMidpoint
from elver.integrators.generalized_alpha import GeneralizedAlpha
from elver.integrators.hht import HHT
from elver.integrators.method import Method, OneStep
from elver.integrators.newmark import Newmark

__all__ = [
    "HHT",
    "Adaptive",
    "Conserving",
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
]
