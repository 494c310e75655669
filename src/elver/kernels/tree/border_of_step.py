"""The border of a conserving step: ties of a tree whose wrenches act at both ends of the step.

With the variation t of the ties (half of it, as half of the end counts), C_n and C_+ the rows of closures at the start
and at the end, and X the answer of the tree to wrenches at either end,

    t = t₀ + X_+ (S t + ½ C_+ λ) + X_n ½ C_n λ ,       2 C_+ᵀ t + C_λ λ = r .

See :mod:`elver.kernels.tree.substitution`.
"""

from __future__ import annotations

from elver.kernels.algebra import lu_factor
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.terms.closures import closure_is_active
from elver.kernels.tree.front import unpack_front
from elver.kernels.tree.substitution import levers, push_ties, solve_tree

__all__ = ["take_border_of_step"]


@kernel
def take_border_of_step(robot, table, multipliers, inputs):
    """Factors of this border; its smallest pivot over the largest."""
    p, _ = unpack(robot)
    o, f = unpack_front(table)
    ties, rows, M = 6 * o.tie_frame.size, f.lever.shape[1], f.border
    levers(robot, table, multipliers, inputs, True)
    step = f.border_step
    for j in range(ties + rows):
        for k in range(ties + rows):
            step[k] = 0.0
        if j < ties:
            f.wrench[o.tie_frame[j // 6], 6 + j % 6] = 1.0
        else:
            step[j] = 1.0
            push_ties(table, 2, step)
        _answer(robot, table, j, ties)
    for i in range(ties):
        for k in range(ties + rows):
            total = 0.0
            if k < ties:
                for j in range(ties):
                    total += f.compliance[i, j] * f.stiffness[j, k]
            else:
                total = f.pulled[i, k - ties]
            M[i, k] = -total
        M[i, i] += 1.0
    for j in range(rows):
        for k in range(ties):
            M[ties + j, k] = 2.0 * f.lever[k, j]
        for k in range(rows):
            M[ties + j, ties + k] = 0.0
        M[ties + j, ties + j] = -p.row_soft[j] if closure_is_active(p.row_axes[j]) else 1.0
    return lu_factor(M, f.border_pivot)


@inner
def _answer(robot, table, j, ties):
    """Variation of the ties by the wrenches at hand, into a column of the compliance or of what multipliers pull."""
    o, f = unpack_front(table)
    x = f.right
    for k in range(x.size):
        x[k] = 0.0
    solve_tree(robot, table, 2, x)
    for i in range(ties):
        value = f.variation[o.tie_frame[i // 6], i % 6]
        if j < ties:
            f.compliance[i, j] = value
        else:
            f.pulled[i, j - ties] = value
