"""What was computed, by name: places and instants of a run or an equilibrium, reactions, the ledger of energy.

Who computes fills it, who draws or stores reads it. Works on a system with states; knows no files and no time steps.
"""

from __future__ import annotations

from elver.results.reactions import reactions
from elver.results.sampling import sample
from elver.results.shape import state_from

__all__ = ["reactions", "sample", "state_from"]
