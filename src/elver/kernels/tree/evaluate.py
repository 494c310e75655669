"""Residual of a system, one of the two functions that every solver calls; the other is its tangent.

    R = Q_inertia + Q_elastic + Q_damping - Q_load - Q_act + Jᵀλ ,   closure rows below,
    matrix = w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' ,   closure blocks beside and below.

Unknowns run: free base (6), coordinates (n), multipliers (m). Order of multipliers: rows of closures, spooled
tendons. A coordinate whose motion is imposed takes it from the inputs; its row becomes δq = 0 and what it held, the
effort that imposes the motion, is put aside.
"""

from __future__ import annotations

from elver.kernels.build.cache import kernel
from elver.kernels.build.tables import OWN, more_residual, own_stresses, unpack
from elver.kernels.terms.strain_loads import strain_residual
from elver.kernels.tree.nodal import nodal_residual
from elver.kernels.tree.recursion import backward, forward, project, registers

__all__ = ["evaluate_residual", "impose"]


@kernel
def evaluate_residual(robot, base, twist, q, multipliers, inputs, jets):
    """work.residual = R; also leaves poses, twists and wrenches of all frames in the work of ``robot``.

    ``jets``: 3 with rates and accelerations; 1 at rest; 2 at the end of a conserving step, where each frame moved from
    work.node_start as a free body (:mod:`.nodal`) and nothing else has rates; 0 at its start, at rest and without what
    acts by its motion.
    """
    p, w = unpack(robot)
    asked, jets = jets, 3 if jets == 3 else 1
    residual = w.residual
    offset = 6 * p.free[0]
    for k in range(residual.size):
        residual[k] = 0.0
    impose(p.imposed, inputs, jets, q)
    registers(robot, q, jets)
    forward(robot, base, twist, jets)
    backward(robot, inputs, jets)
    if asked == 2:
        nodal_residual(robot, base)
    if robot[0] != 0:
        more_residual(robot[0])(robot, base, multipliers, inputs, asked)
    project(robot, w.register, w.pose, w.force, residual)
    strain_residual(robot, q, multipliers, inputs, jets, residual)
    if p.own_input.size > 0:
        own_stresses(robot[OWN])(robot, q, inputs, 1 if asked == 2 else 0)
    for j in range(p.imposed.shape[0]):
        k = offset + p.imposed[j, 0]
        w.effort[j] = residual[k]
        residual[k] = 0.0


@kernel
def impose(imposed, inputs, jets, q):
    """Coordinates whose motion is given take it from the inputs."""
    for j in range(imposed.shape[0]):
        for jet in range(jets):
            q[jet, imposed[j, 0]] = inputs[imposed[j, 1 + jet]]
