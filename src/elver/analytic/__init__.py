"""Closed-form (or as accurate) solutions for tests, documentation and users; SI units throughout.

Large deflection: elastica, buckled columns, Reissner cantilever, tendons, helix. Stability: Euler loads.
Vibration: Euler-Bernoulli frequencies. Rigid motion: free top, flight of a mass centre under a pulse.
"""

from elver.analytic.buckling import euler_load
from elver.analytic.elastica import (
    buckled_cantilever,
    buckled_pinned_column,
    cantilever_tip_force,
    cantilever_tip_moment,
)
from elver.analytic.helix import Helix, helix
from elver.analytic.reissner import reissner_cantilever
from elver.analytic.rigid_body import free_rigid_body, pulse_flight, symmetric_top, triangular_pulse
from elver.analytic.shapes import PlanarShape
from elver.analytic.tendons import convergent_tendon, convergent_tendon_curvature, parallel_tendon
from elver.analytic.vibration import beam_frequencies, beam_roots

__all__ = [
    "Helix",
    "PlanarShape",
    "beam_frequencies",
    "beam_roots",
    "buckled_cantilever",
    "buckled_pinned_column",
    "cantilever_tip_force",
    "cantilever_tip_moment",
    "convergent_tendon",
    "convergent_tendon_curvature",
    "euler_load",
    "free_rigid_body",
    "helix",
    "parallel_tendon",
    "pulse_flight",
    "reissner_cantilever",
    "symmetric_top",
    "triangular_pulse",
]
