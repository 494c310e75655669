"""Schemes of time and statics as the solvers see them, each declared once: here, and nowhere else in this room.

What is compiled together, of which types, and which functions its solver calls follow from it.
"""

from __future__ import annotations

from typing import NamedTuple

from elver.kernels.build.calls import CALLS, ITERATE
from elver.kernels.build.kinds import F1, F2, I1, INT, Signature

__all__ = ["NEWTON", "SCHEMES", "Scheme", "signatures_of_schemes"]

NEWTON = (
    "march.newton.newton", "march.newton.tangent_at_trial", "march.newton.dense", "march.newton.along_tree",
)  # fmt: skip
"""What all schemes share that solve their problem with Newton (:mod:`elver.kernels.march.newton`)."""


class Scheme(NamedTuple):
    """A solver, with the residual and the tangent of its problem; an explicit one has none."""

    solver: str
    takes: Signature | None = ITERATE  # None: told in :mod:`.signatures`
    residual: str = ""
    tangent: str = "march.newton.tangent_at_trial"
    more: tuple[tuple[str, str], ...] = ()  # what else it calls, by the fields of Calls
    words: str = ""  # what is compiled at its first use; empty where it is compiled for all robots
    seconds: int = 0  # for about how long

    @property
    def problem(self) -> dict[str, str]:
        """Kernels that the solver calls, beside Newton and its increments, by the fields of Calls."""
        return {"residual": self.residual, "tangent": self.tangent, **dict(self.more)} if self.residual else {}

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels of its own."""
        return self.solver, *(name for name in self.problem.values() if name not in NEWTON)


SCHEMES = {
    "conserving": Scheme(
        "march.conserving.march_conserving", Signature(INT, (I1, I1, F1, F2, F2)),
        "march.conserving.residual_of_motion", "march.conserving.tangent_of_motion",
        (
            ("settle", "march.passage.settle"), ("frame_columns", "march.passage.frame_columns"),
            ("start_step", "march.step_residual.start_step"),
        ),
        "conserving steps", 15,
    ),
    "explicit": Scheme("march.explicit.march_explicit", None, words="explicit steps", seconds=5),
    "statics": Scheme(
        "march.rest.solve_static", Signature(INT, (I1, I1, F2, F2, F2, F1, F1)), "march.rest.residual_at_rest"
    ),
    "one-step": Scheme(
        "march.one_step.march_one_step", ITERATE, "march.one_step.residual_of_increment", words="one-step methods",
        seconds=5,
    ),
    "gauss": Scheme(
        "march.gauss.march_gauss", ITERATE, "march.gauss.residual_of_stages", "march.gauss.tangent_of_stages",
        words="Gauss steps", seconds=10,
    ),
}  # fmt: skip


def signatures_of_schemes() -> dict[str, Signature]:
    """Types of the kernels of all schemes."""
    found: dict[str, Signature] = {}
    for scheme in SCHEMES.values():
        if scheme.takes is not None:
            found[scheme.solver] = scheme.takes
        for field, name in scheme.problem.items():
            kind = CALLS.fields[field]
            assert isinstance(kind, Signature)  # all of Calls are
            found[name] = kind
    return found
