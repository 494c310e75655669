"""Terms that many robots do not have: feedback, sliding and drag, water, closures, and free spans of cables.

They are compiled at the first robot that has one of them, and called at addresses that the table of the robot begins
with (:func:`elver.kernels.build.tables.robot_of`), zero where a robot has none.
"""

from __future__ import annotations

from elver.kernels.build.cache import kernel
from elver.kernels.build.tables import OWN, own_wrenches, unpack
from elver.kernels.terms.closures import (
    closure_couplings,
    closure_diagonal,
    closure_residual,
    closure_tangent,
)
from elver.kernels.terms.fluid import strip_residual, strip_tangent
from elver.kernels.terms.frame_loads import frame_load_residual, frame_load_tangent, outside_residual, outside_tangent
from elver.kernels.terms.moving_loads import fold_slopes, mean_twists
from elver.kernels.terms.spans import span_couplings, span_residual, span_tangent

__all__ = ["couplings", "more_frames", "more_residual"]


@kernel
def more_residual(robot, base, multipliers, inputs, jets):
    """Add wrenches to those of the frames; rows of closures into the residual.

    ``jets`` 2: at the end of a conserving step, where friction, drag and water have the mean velocity of the step; 0:
    at its start, where :func:`.push_at_start` adds them.
    """
    p, w = unpack(robot)
    if jets == 2:
        mean_twists(robot, base, w.pose, w.eta)
        jets = 3
    if p.pushed_input.size > 0:
        own_wrenches(robot[OWN + 3])(robot, base, inputs, jets)
    outside_residual(robot)
    if jets == 3:
        frame_load_residual(robot, w.pose, w.eta, w.force)
    if jets > 0:
        strip_residual(robot, jets, w.pose, w.eta, w.force)
    closure_residual(robot, base, multipliers)
    span_residual(robot, base, multipliers, inputs)


@kernel
def more_frames(robot, base, multipliers, inputs, jets):
    """Add the variation of :func:`more_residual` to work.stiffness."""
    _, w = unpack(robot)
    over_step = jets == 2
    if over_step:
        jets = 3
    if jets == 3:
        frame_load_tangent(robot, w.pose, w.eta, w.stiffness)
    outside_tangent(robot, jets)
    strip_tangent(robot, jets, w.pose, w.eta, w.stiffness)
    if over_step:
        fold_slopes(robot, base)
    closure_tangent(robot, base, multipliers)
    span_tangent(robot, base, multipliers, inputs)


@kernel
def couplings(robot, multipliers, inputs):
    """Add to work.matrix what closures and spans couple across branches, and their own rows."""
    p, w = unpack(robot)
    closure_couplings(robot)
    span_couplings(robot, multipliers, inputs)
    closure_diagonal(6 * p.free[0] + p.component.size, p.row_axes, p.row_soft, w.matrix)
