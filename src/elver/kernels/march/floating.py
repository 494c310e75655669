"""Rows of parts that float apart: wrenches about the world's origin at both ends of a step (see :mod:`.groups`)."""

from __future__ import annotations

from elver.kernels.algebra import lu_factor, lu_solve
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.march.passage import reach_of, segment_columns, unpack_step

__all__ = ["float_from_start", "matrix_of_floats", "rows_of_floats"]


@inner
def float_from_start(robot, step):
    """Rows at the start of the step, and unit twists in the place of the columns there.

    Whatever is projected on the columns of the start is then a wrench about the origin by itself.
    """
    p, w = unpack(robot)
    _, s = unpack_step(step)
    for j in range(s.floats.shape[0]):
        _factor(robot, step, j, s.start_columns)
        _, _, path, _ = reach_of(robot, s.floats[j, 0])
        for k in range(6):
            w.vector[0, k] = s.static[p.path[path + k]]
        lu_solve(s.whole[:6], s.whole_pivots, w.vector[0])
        for k in range(6):
            s.static[p.path[path + k]] = w.vector[0, k]
    for f in range(s.floats_by.size):
        if s.floats_by[f] >= 0:
            for c in range(6):
                for k in range(6):
                    s.start_columns[f, c, k] = 1.0 if c == k else 0.0


@inner
def rows_of_floats(robot, step, residual):
    """Rows at the end of the step, right behind the residual there."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    for j in range(s.floats.shape[0]):
        segment_columns(robot, s.floats[j, 0], s.columns)
        _factor(robot, step, j, s.columns)
        _, _, path, _ = reach_of(robot, s.floats[j, 0])
        for k in range(6):
            w.vector[0, k] = residual[p.path[path + k]]
        lu_solve(s.whole[:6], s.whole_pivots, w.vector[0])
        for k in range(6):
            residual[p.path[path + k]] = w.vector[0, k]


@inner
def matrix_of_floats(robot, step):
    """The same of Newton's matrix, with the columns s.columns of the end.

    The variation of A itself is left out, as small as (acceleration · h² / length): it costs digits of an iteration.
    """
    p, w = unpack(robot)
    _, s = unpack_step(step)
    for j in range(s.floats.shape[0]):
        _factor(robot, step, j, s.columns)
        _, _, path, _ = reach_of(robot, s.floats[j, 0])
        for column in range(w.matrix.shape[1]):
            for k in range(6):
                w.vector[0, k] = w.matrix[p.path[path + k], column]
            lu_solve(s.whole[:6], s.whole_pivots, w.vector[0])
            for k in range(6):
                w.matrix[p.path[path + k], column] = w.vector[0, k]


@inner
def _factor(robot, step, j, J):
    """LU of Aᵀ of a joint in s.whole."""
    _, s = unpack_step(step)
    f = s.floats[j, 1]
    for k in range(6):
        for c in range(6):
            s.whole[k, c] = J[f, c, k]
    lu_factor(s.whole[:6], s.whole_pivots)
