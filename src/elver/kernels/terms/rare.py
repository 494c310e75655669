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
from elver.kernels.terms.frame_loads import frame_load_residual, frame_load_tangent
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
    frame_load_residual(
        p.slide_frame, p.slide, p.drag_frame, p.drag, p.user_frame, w.user_wrench, jets, w.pose, w.eta, w.force,
        w.vector,
    )
    if jets > 0:
        strip_residual(p.strip_frame, p.strip_pose, p.strip, jets, w.pose, w.eta, w.force, w.vector, w.strip_pose)
    closure_residual(
        6 * p.free[0] + p.component.size, p.closure_frame, p.closure_pose, p.closure_rows, p.row_kind, p.row_axes, base,
        multipliers, w.pose, w.vector, w.closure_map, w.closure_end, w.closure, w.closure_force, w.force, w.residual,
    )
    span_residual(
        p.span_tendon, p.span_frame, p.span_point, p.tendon_input, p.tendon_factor, p.tendon_row, base, multipliers,
        inputs, w.pose, w.closure_end, w.span, w.tendon_span, w.force,
    )


@kernel
def more_frames(robot, base, multipliers, inputs, jets):
    """Add the variation of :func:`more_residual` to work.stiffness."""
    p, w = unpack(robot)
    pose, eta, B, v = w.pose, w.eta, w.stiffness, w.vector
    over_step = jets == 2
    if over_step:
        jets = 3
    frame_load_tangent(
        p.slide_frame, p.slide, p.drag_frame, p.drag, p.user_frame, w.user_tangent, jets, pose, eta, B, v
    )
    strip_tangent(p.strip_frame, p.strip_pose, p.strip, jets, pose, eta, B, v, w.strip_pose, w.strip_slope)
    if over_step:
        fold_slopes(robot, base)
    closure_tangent(
        p.closure_frame, p.closure_pose, p.closure_rows, p.row_kind, p.row_axes, base, multipliers, pose, v,
        w.closure_map, w.closure_end, w.closure_force, w.closure_stiffness, B,
    )
    span_tangent(
        p.span_tendon, p.span_frame, p.span_point, p.tendon_input, p.tendon_factor, p.tendon_row, base, multipliers,
        inputs, pose, w.closure_end, w.span, v, w.span_stiffness, B,
    )


@kernel
def couplings(robot, multipliers, inputs):
    """Add to work.matrix what closures and spans couple across branches, and their own rows."""
    p, w = unpack(robot)
    rows_at = 6 * p.free[0] + p.component.size
    closure_couplings(
        rows_at, p.closure_frame, p.closure_slot, p.closure_rows, p.slot_path, p.path, w.closure, w.closure_force,
        w.closure_stiffness, w.saved, w.row, w.matrix,
    )
    span_couplings(
        rows_at, p.span_tendon, p.span_slot, p.tendon_input, p.tendon_factor, p.tendon_row, multipliers, inputs,
        p.slot_path, p.path, w.span, w.span_stiffness, w.saved, w.vector, w.row, w.matrix,
    )
    closure_diagonal(rows_at, p.row_axes, p.row_soft, w.matrix)
