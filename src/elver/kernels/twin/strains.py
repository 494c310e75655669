"""What acts on the coordinates themselves, in the readable twin: elasticity, damping, muscles, tendons, own stresses.

The sums of :mod:`elver.kernels.terms.strain_loads` and :mod:`elver.kernels.terms.own_functions` in plain NumPy, with
full matrices: Λ_act = T (D×u; u), u = c/|c| of a tendon at each quadrature point.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from elver.kernels.tree.program import Program, laws_of
from elver.kernels.twin.evaluation import Evaluation
from elver.kernels.twin.tendon import pull_of_tendon, stiffening_of_tendon, stretch_of_tendon

__all__ = ["add_own_stresses", "add_strain_loads"]

Array = NDArray[np.float64]

_STRESS = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, *[ctypes.c_void_p] * 3
)


def add_strain_loads(e: Evaluation) -> None:
    """Elasticity, damping, friction, stops, rotors, muscles and tendons."""
    program, q, w, own = e.program, e.q, e.w, e.own
    K, D = laws_of(program)
    beyond = q[0] - np.clip(q[0], program.stop[:, 0], program.stop[:, 1])
    dry, speed = program.friction.T
    e.R[own] += K @ (q[0] - program.spring_rest) + D @ q[1] + dry * np.tanh(q[1] / speed) + program.stop[:, 2] * beyond
    e.matrix[own, own] += w[0] * K + w[1] * D
    slope = w[1] * dry / speed / np.cosh(q[1] / speed) ** 2 + w[0] * program.stop[:, 2] * (beyond != 0)
    e.matrix[own, own] += np.diag(slope)
    e.R[own] += program.rotor * q[2]
    e.matrix[own, own] += w[2] * np.diag(program.rotor)
    e.R[own] += e.inputs[program.muscle_input] @ program.muscle_force
    for t in range(program.tendon_input.size):
        _add_tendon(e, t)


def _add_tendon(e: Evaluation, t: int) -> None:
    """T ∂ℓ/∂q of a tendon, and the row of a spooled one."""
    program, w, own = e.program, e.w, e.own
    tension, row = e.tension(t), program.tendon_row[t]
    length, rate = 0.0, np.zeros(program.component.size)
    low, high = program.tendon_reach[t, :2]
    for g, ds, path in zip(range(low, high), program.tendon_weight[t], program.tendon_path[t], strict=False):
        if ds == 0.0:
            continue
        B_Phi = _functions_at(program, g)
        xi = program.point_rest[g] + B_Phi @ e.q[0]
        at = (xi, path[:3], path[3:])
        length += ds * float(stretch_of_tendon(*at))
        rate += ds * pull_of_tendon(*at) @ B_Phi
        e.matrix[own, own] += w[0] * tension * ds * B_Phi.T @ stiffening_of_tendon(*at) @ B_Phi
    e.R[own] += tension * rate
    if row >= 0:
        k = e.coordinates + row
        e.R[k] += length - program.tendon_length[t] + e.inputs[program.tendon_input[t]]
        e.matrix[own, k] += rate
        e.matrix[k, own] += w[0] * rate


def add_own_stresses(e: Evaluation) -> None:
    """Section laws and actuators of one's own: ∫ Φᵀ Bᵀ (Λ(x) - 𝓗 x) ds, x = ξ less the strain they count from."""
    program, own = e.program, e.own
    for t, (low, high) in enumerate(program.own_reach):
        ask = _STRESS(int(program.own_address[t]))
        amount = e.inputs[program.own_input[t]] if program.own_input[t] >= 0 else 0.0
        parameters = program.own_parameters[program.own_first[t] :]
        for r in range(low, high):
            g, ds, H = program.own_point[r], program.own_weight[r], program.own_linear[r]
            B_Phi = _functions_at(program, g)
            x = program.point_rest[g] - program.own_origin[r] + B_Phi @ e.q[0]
            stress, slope = np.zeros(6), np.zeros((6, 6))
            ask(x.ctypes.data, program.own_s[r], amount, *(a.ctypes.data for a in (parameters, stress, slope)))
            e.R[own] += ds * B_Phi.T @ (stress - H @ x)
            e.matrix[own, own] += e.w[0] * ds * B_Phi.T @ (slope - H) @ B_Phi


def _functions_at(program: Program, point: int) -> Array:
    """B Φ at a quadrature point, (6, n)."""
    first = program.block[program.point_block[point], 0]
    B_Phi = np.zeros((6, program.component.size))
    for low, high, shift in program.point_bend[point].reshape(-1, 3):
        k = np.arange(low, high)
        B_Phi[program.component[first + k], first + k] = program.point_phi[point, k - shift]
    return B_Phi
