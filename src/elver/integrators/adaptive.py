"""Steps of their own length: what an adaptive run may do (:mod:`elver.integrators.simulate` does it).

Theory: docs/theory/time-integration.md, eq. (adaptive).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elver.errors import positive
from elver.values import of_kind

__all__ = ["Adaptive"]


@dataclass(frozen=True)
class Adaptive:
    """Steps that keep the error of each step below ``tolerance`` (rad of bending over the rod, or base motion / L).

    The error is seen by doing each step twice, whole and in two halves; the halves are kept. ``first``, ``largest`` and
    ``smallest`` bound the step [s].
    """

    tolerance: float = field(default=1e-5, metadata=of_kind("1"))
    first: float = field(default=1e-3, metadata=of_kind("s"))
    largest: float = field(default=0.1, metadata=of_kind("s"))
    smallest: float = field(default=1e-9, metadata=of_kind("s"))

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance, "(error of one step)")
        for name in ("first", "largest", "smallest"):
            positive(f"{name} step", getattr(self, name), "s")
