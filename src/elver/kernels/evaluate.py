"""Residual of a system, one of the two functions that every solver calls; the other is its tangent.

    R = Q_inertia + Q_elastic + Q_damping - Q_load - Q_act + Jᵀλ ,   closure rows below,
    matrix = w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' ,   closure blocks beside and below.

Unknowns run: free base (6), coordinates (n), multipliers (m). Order of multipliers: rows of holds, spooled tendons.
"""

from __future__ import annotations

from elver.kernels.cache import kernel
from elver.kernels.closures import hold_residual
from elver.kernels.recursion import backward, forward, project, registers
from elver.kernels.strain_loads import strain_residual

__all__ = ["evaluate_residual"]


@kernel
def evaluate_residual(program, work, base, twist, q, multipliers, inputs, jets):
    """work.residual = R; also leaves poses, twists and wrenches of all frames in ``work``."""
    p, w, residual = program, work, work.residual
    offset = 6 * p.free[0]
    for k in range(residual.size):
        residual[k] = 0.0
    registers(
        p.segment, p.component, p.poly_size, p.poly_pair, p.poly_beta, p.poly_linear, p.rest, p.phi, q, jets, w.register
    )
    forward(p.segment, p.poly_size, base, twist, w.register, jets, w.pose, w.eta, w.acc, w.vector, w.scalar, w.stumpff)
    backward(
        p.inertia, p.gravity, p.gravity_input, p.load_frame, p.load_input, p.load_follows, p.load_wrench,
        inputs, jets, w.pose, w.eta, w.acc, w.force, w.vector,
    )
    hold_residual(
        offset + p.component.size, p.hold_frame, p.hold_pose, p.row_hold, p.row_axes, base, multipliers,
        w.pose, w.vector, w.closure_map, w.closure, w.force, residual,
    )
    project(
        offset, p.segment, p.component, p.poly_size, p.poly_pair, p.poly_beta, p.poly_linear, p.phi,
        w.register, w.pose, w.force, w.adjoint, w.vector, w.scalar, w.stumpff, residual,
    )
    strain_residual(
        offset, p.component, p.K_elastic, p.D_elastic, p.muscle_input, p.muscle_force, p.point_phi, p.point_rest,
        p.tendon_input, p.tendon_factor, p.tendon_row, p.tendon_length, p.tendon_path, p.tendon_weight,
        q, multipliers, inputs, w.vector, w.tendon_rate, residual,
    )
