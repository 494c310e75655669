"""Kernels that solvers call at addresses: of what kind each is, and the table in which a solver finds them.

Residual, tangent, factors and the elimination along the tree are those of a robot. A *problem* of Newton
(:mod:`elver.kernels.march.newton`) is a residual, a tangent and an increment, each a function of the tables of a robot
and of a solver: schemes bring the first two, the increment is chosen by the size of the robot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from elver.kernels.build.kinds import F1, F2, F3, FLOAT, I1, INT, VOID, Record, Signature

__all__ = [
    "BACK", "CALLS", "COLUMNS", "FACTOR", "FRAMES", "HOME", "ITERATE", "MATRIX", "RESIDUAL", "SETTLE", "STAGE",
    "START_STEP", "SUBSTITUTE", "Calls",
]  # fmt: skip

RESIDUAL = Signature(VOID, (I1, F2, F2, F2, F1, F1, INT))
FRAMES = Signature(VOID, (I1, F2, F1, F1, INT))
MATRIX = Signature(VOID, (I1, F2, F1, F1, F2, F1, INT))
FACTOR = Signature(FLOAT, (F2, I1))
SUBSTITUTE = Signature(VOID, (F2, I1, F1))
HOME = Signature(FLOAT, (I1, I1, F2, F1, F1, F2, F1, INT))
BACK = Signature(FLOAT, (I1, I1, INT, F1))
STAGE = Signature(FLOAT, (I1, I1))
ITERATE = Signature(INT, (I1, I1))
COLUMNS = Signature(VOID, (I1, F3))
SETTLE = Signature(VOID, (COLUMNS, I1, I1))
START_STEP = Signature(VOID, (RESIDUAL, I1, I1, FLOAT, F2, F2, F1, F1, F1))


class Calls(NamedTuple):
    """What a solver calls, as addresses, or as functions where it runs as plain Python; 0 for what it never calls."""

    evaluate_residual: Any
    evaluate_frames: Any
    evaluate_matrix: Any
    factor: Any
    substitute: Any
    home: Any = 0
    back: Any = 0
    residual: Any = 0  # of the problem at its iterate: -> its norm, where Newton is judged by that
    tangent: Any = 0  # its factors there: -> smallest pivot, relative
    increment: Any = 0  # in place of minus the residual: -> largest rotation of a frame, where that is known
    iterate: Any = 0  # Newton
    frame_columns: Any = 0
    settle: Any = 0
    start_step: Any = 0


CALLS = Record(
    Calls,
    (
        RESIDUAL, FRAMES, MATRIX, FACTOR, SUBSTITUTE, HOME, BACK, STAGE, STAGE, STAGE, ITERATE, COLUMNS, SETTLE,
        START_STEP,
    ),
)  # fmt: skip
