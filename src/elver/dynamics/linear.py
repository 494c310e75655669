"""Small motions about a state: linear model, natural frequencies and shapes.

    M δq'' + D δq' + K δq = 0   on the motions that closures allow,   K, D, M exact tangents of the inverse dynamics.

Theory: docs/theory/recursion.md, eq. (tangent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import ActiveStress, Imposed
from elver.dynamics.core import Core, core
from elver.dynamics.quantities import tangent_inverse_dynamics
from elver.dynamics.states import arrays
from elver.environment import FrameLoad
from elver.errors import BadInput, warn
from elver.numerics.pencils import symmetric_pencil
from elver.system import Balanced, Inputs, State, System, situation
from elver.words import listed

__all__ = ["LinearModel", "Modes", "linearize", "modes"]

Array: TypeAlias = NDArray[np.float64]

# Work of the imbalance over a unit change of a coordinate, in EI/L, above which a state is not in balance: it spoils
# about that part of the frequencies.
_BALANCED = 1e-4
_ROUNDING = 1e-9  # what eigenvalues leave of no damping, as a fraction of critical


@dataclass(frozen=True, eq=False)
class LinearModel:
    """x' = A x + B u about a state, x = (δq, δq') on the allowed motions, δ(coordinates) = basis @ δq."""

    A: Array
    B: Array
    """Columns in the order of ``system.channel_names``, per unit of each input."""
    basis: Array
    M: Array
    D: Array
    K: Array

    def __repr__(self) -> str:
        states, inputs = self.B.shape
        return f"LinearModel x' = A x + B u: {states} states, {inputs} inputs, M, D and K of {self.M.shape[0]} motions"


@dataclass(frozen=True, eq=False)
class Modes:
    """Natural vibrations about an equilibrium, slowest first."""

    frequencies: Array
    """Hz (damped frequency when there is damping)."""
    damping: Array
    """Fraction of critical; negative for growth (flutter or divergence)."""
    shapes: Array
    """Columns (coordinates, count) of the largest entry one; real part where damping makes them complex."""
    eigenvalues: NDArray[np.complex128]
    """1/s."""

    def __repr__(self) -> str:
        damped = np.any(np.abs(self.damping) > 1e-9)
        return f"Modes: {listed(self.frequencies)} Hz, " + (
            f"damping {listed(self.damping)} of critical" if damped else "undamped"
        )


def linearize(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> LinearModel:
    """Linear model of the dynamics about ``state`` (a free base is described by its body variation).

    ``state`` is an equilibrium, whose own inputs hold unless others are given, or a state that is in balance under
    ``inputs``, with its accelerations and multipliers where it has some; one that is not is told.
    """
    system, state, inputs = situation(system, state, inputs)
    t = tangent_inverse_dynamics(system, state, inputs)
    kernels = core(system)
    c = kernels.coordinates
    imposed = np.eye(c)[c - kernels.n + kernels.program.imposed[:, 0]]
    Z = _allowed(np.vstack([t.J_closure, imposed]), kernels.assembly.scale)
    M, D, K = (Z.T @ X @ Z for X in (t.dQ_dq_ddot, t.dQ_dq_dot, t.dQ_dq))
    signals = system.signals(inputs)
    u = system.input_vector(signals, state.time)
    a = arrays(state)
    rows = kernels.residual(a, u)
    _check_balance(kernels, rows)
    R = rows[:c]
    columns = []
    for k, channel in enumerate(system.channels):
        if isinstance(channel, Imposed):
            # a coordinate, slowly: what its displacement asks of the others
            columns.append(-t.dQ_dq[:, c - kernels.n + system.imposed_columns(channel)[0]])
            continue
        if isinstance(channel, ActiveStress | FrameLoad):
            columns.append(-kernels.input_difference(a, u, k, 3)[:c])
            continue
        v = u.copy()
        v[k] += 1.0
        columns.append(-(kernels.residual(a, v)[:c] - R))
    forces = np.array(columns).reshape(len(system.channels), c).T
    n = M.shape[0]
    inverse = np.linalg.solve(M, np.hstack([K, D, Z.T @ forces]))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse[:, :n], -inverse[:, n : 2 * n]]])
    B = np.vstack([np.zeros((n, len(system.channels))), inverse[:, 2 * n :]])
    return LinearModel(A, B, Z, M, D, K)


def modes(
    system: System | Balanced,
    state: State | Balanced | None = None,
    inputs: Inputs | None = None,
    count: int = 6,
) -> Modes:
    """Natural frequencies [Hz] and shapes about an equilibrium: ``modes(equilibrium(system, inputs))``.

    The inputs that hold it are its own, unless others are given. A bare state is taken under ``inputs``, and told where
    it is not in balance. Rigid motions of a free rod (zero frequency) are left out.
    """
    if count < 1:
        raise BadInput(f"count = {count}: ask for at least one mode")
    linear = linearize(system, state, inputs)
    if not linear.M.size:
        raise BadInput("modes: nothing in this system can move: all coordinates are imposed or held, or there are none")
    M, D, K, Z = linear.M, linear.D, linear.K, linear.basis
    symmetric = np.max(np.abs(K - K.T)) < 1e-7 * np.max(np.abs(K))
    if symmetric and not np.any(D):
        values, vectors = symmetric_pencil(0.5 * (K + K.T), M)
        # a negative value is a pair of real roots, of which the growing one is told
        roots = np.where(values < 0.0, 1.0, 1j) * np.sqrt(np.abs(values))
        shapes = vectors.astype(complex)
    else:
        roots, states = np.linalg.eig(linear.A)
        keep = roots.imag >= 0.0
        roots, shapes = roots[keep], states[: K.shape[0], keep]
    size = np.abs(roots)
    moving = size > 1e-5 * np.max(size) * np.sqrt(np.finfo(float).eps) ** 0.25
    moving &= size > 1e-6 * np.median(size)
    roots, shapes, size = roots[moving], shapes[:, moving], size[moving]
    order = np.argsort(size)[:count]
    roots, shapes = roots[order], shapes[:, order]
    full = (Z @ shapes).astype(complex)
    for k in range(full.shape[1]):
        full[:, k] /= full[np.argmax(np.abs(full[:, k])), k]
    damping = -roots.real / np.abs(roots)
    damping[np.abs(damping) < _ROUNDING] = 0.0  # gyroscopic forces neither damp nor drive
    return Modes(np.abs(roots.imag) / (2.0 * np.pi), damping, full.real, roots)


def _check_balance(kernels: Core, rows: Array) -> None:
    """Tell of a state that its inputs do not hold: about it a linear model has no meaning."""
    system, c = kernels.system, kernels.coordinates
    work = np.abs(rows[:c]) * kernels.assembly.scale
    worst = int(np.argmax(work)) if work.size else -1
    if work.size and work[worst] > _BALANCED * kernels.assembly.energy:
        base = [f"base/{kind}_{axis}" for kind in ("rotation", "position") for axis in "xyz"] if system.free else []
        name, part = [*base, *system.coordinate_names][worst], work[worst] / kernels.assembly.energy
        warn(
            f"linearize, modes: the state is not in balance under these inputs: {part:.2g} EI/L ({work[worst]:.2g} J) "
            f"of work over a unit change of {name}; give the Equilibrium itself, modes(equilibrium(system, inputs)), "
            "or the inputs that hold the state",
        )


def _allowed(J: Array, scale: Array) -> Array:
    """Basis of the motions with J δq = 0, orthonormal in units of the coordinates."""
    if J.size == 0:
        return np.eye(scale.size)
    _, sizes, Vt = np.linalg.svd(J * scale)
    rank = int(np.sum(sizes > 1e-9 * sizes.max(initial=1e-300)))
    return scale[:, None] * Vt[rank:].T
