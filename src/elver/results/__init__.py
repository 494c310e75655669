"""What was computed, by name: places and instants of a run or an equilibrium, reactions, the ledger of energy.

Who computes fills it, who draws or stores reads it. Works on a system with states; knows no files and no time steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "reactions": "reactions",
    "sampling": "sample",
    "shape": "state_from",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.results.reactions import reactions
    from elver.results.sampling import sample
    from elver.results.shape import state_from
