"""What a system is made of and how it is solved, as text."""

from __future__ import annotations

from elver.dynamics.core import core
from elver.dynamics.increments import words_of_increments
from elver.errors import expect
from elver.system import System

__all__ = ["explain"]


def explain(system: System) -> str:
    """What a system is made of and how it is solved: tree, cuts, numbers of the coordinates, and Newton's increments.

    Several lines of text: those of ``system.mechanism.explain()``, then one on how increments are found at rest and in
    one-step methods. What a run did says its attribute ``newton``.
    """
    expect("explain", "system", system, System, wanted="a System", example="System(Mechanism.clamped(rod))")
    return f"{system.mechanism.explain()}\n\nNewton's increments: {words_of_increments(core(system))}"
