"""Time integration: one method per file, as values; :mod:`elver.integrators.simulate` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "adaptive": "Adaptive",
    "conserving": "Conserving",
    "explicit": "Explicit RungeKutta4 SemiImplicitEuler",
    "gauss": "Gauss GaussLegendre4 ImplicitMidpoint",
    "generalized_alpha": "GeneralizedAlpha",
    "hht": "HHT",
    "method": "Method OneStep",
    "newmark": "Newmark",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.integrators.adaptive import Adaptive
    from elver.integrators.conserving import Conserving
    from elver.integrators.explicit import Explicit, RungeKutta4, SemiImplicitEuler
    from elver.integrators.gauss import Gauss, GaussLegendre4, ImplicitMidpoint
    from elver.integrators.generalized_alpha import GeneralizedAlpha
    from elver.integrators.hht import HHT
    from elver.integrators.method import Method, OneStep
    from elver.integrators.newmark import Newmark
