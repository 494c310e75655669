"""Inverse statics: which inputs put a section of the rod where it is wanted.

A hold at the target with zero reaction: R(x, T) = 0 and Ψ(x) = 0 with unknown inputs T of the chosen actuators.
Each Newton step eliminates x and leaves A T = b, solved for the least-norm T ≥ 0 (quadratic program by active
set), which is the answer where several tensions do (Boyer 2023, A12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation import Tendon
from elver.dynamics.core import Arrays, arrays, core
from elver.errors import BadInput, NotConverged, positive
from elver.mechanism import Hold
from elver.statics.equilibrium import Equilibrium, equilibrium
from elver.system import Inputs, System

__all__ = ["InverseStatics", "inverse_statics"]

Array: TypeAlias = NDArray[np.float64]

# Inputs whose effect on the target is smaller than this part of the largest do not act on it: antagonist tendons
# pulled together do nothing, and must not be pulled for it.
_RANK = 1e-8
_LONGEST_MOVE = 1.0  # rad of bending over the rod, in one step


@dataclass(frozen=True, eq=False)
class InverseStatics:
    """Inputs that reach the target, the equilibrium they hold, and what is left of the gap."""

    inputs: dict[str, float]
    equilibrium: Equilibrium
    gap: float
    """Largest remaining distance [m] or angle [rad] to the target."""
    iterations: int


def inverse_statics(
    system: System,
    position: Sequence[float | None] | None = None,
    orientation: ArrayLike | None = None,
    *,
    at: float | str = "tip",
    by: Sequence[Any] | None = None,
    inputs: Inputs | None = None,
    guess: Equilibrium | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 60,
) -> InverseStatics:
    """Inputs of the actuators ``by`` (all tendons by default) that bring a section to ``position`` [m, world].

    ``position`` may leave components free with None; ``orientation`` is the 3 x 3 world from section. Inputs of
    tendons stay ≥ 0. Where several inputs do, the one of least norm is returned; where none does,
    :class:`NotConverged` tells the gap that is left.
    """
    positive("tolerance", tolerance, "m or rad")
    chosen = [system._channel(key) for key in (by or [a for a in system.actuators if isinstance(a, Tendon)])]
    if not chosen:
        raise BadInput("inverse_statics: the system has no Tendon; name the actuators to use with by=[...]")
    target = Hold(at=at, position=position, orientation=orientation, name="target")  # type: ignore[arg-type]
    goal = System(
        replace(system.mechanism, holds=(*system.mechanism.holds, target)), system.actuators, system.loads
    )
    tensions = np.array([isinstance(system.channels[k], Tendon) for k in chosen])
    now = guess or equilibrium(system, inputs)
    u = now.inputs.copy()
    kernels = core(goal)
    c = kernels.coordinates
    # rows of the goal: holds of the system, target, cut joints and spooled tendons of the system
    first = sum(hold.rows for hold in system.mechanism.holds)
    is_target = np.zeros(kernels.rows, dtype=bool)
    is_target[first : first + target.rows] = True
    keep = np.concatenate([np.ones(c, dtype=bool), ~is_target])
    scale = kernels.assembly.scale

    def seen(at: Equilibrium) -> Arrays:
        """The equilibrium in the layout of the goal, with no reaction at the target."""
        multipliers = np.zeros(kernels.rows)
        multipliers[~is_target] = at.state.multipliers
        return arrays(at.state.with_(multipliers=multipliers))

    def gap_of(at: Equilibrium) -> Array:
        return kernels.residual(seen(at), at.inputs, jets=1)[c:][is_target]

    gap = gap_of(now)
    history = [float(np.max(np.abs(gap)))]
    damping = 1e-2
    while len(history) <= max_iterations:
        if history[-1] < tolerance:
            names = {goal.channel_names[k]: float(u[k]) for k in chosen}
            return InverseStatics(names, now, history[-1], len(history) - 1)
        # linear answer of the gap to the inputs
        a = seen(now)
        matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
        slope = np.column_stack([kernels.input_slope(a, u, k) for k in chosen])[keep]
        answer = -np.linalg.solve(matrix[np.ix_(keep, keep)], slope)
        A = matrix[c:][is_target][:, keep] @ answer
        b = A @ u[chosen] - gap
        # the whole way to the least norm if that helps, else damped steps toward the target
        better = None
        for attempt in range(14):
            if attempt == 0:
                new = _least_norm(A, b, tensions)
            else:
                new = _damped(A, b, u[chosen], damping * float(np.linalg.norm(A)), tensions)
            bend = float(np.max(np.abs((answer @ (new - u[chosen]))[:c] / scale)))
            if bend < _LONGEST_MOVE:
                trial = u.copy()
                trial[chosen] = new
                better = _moved(system, trial, now)
                if better is not None:
                    moved_gap = gap_of(better)
                    if np.linalg.norm(moved_gap) < 0.999 * np.linalg.norm(gap):
                        damping *= 0.25 if attempt == 1 else 1.0
                        break
                    better = None
            damping *= 4.0 if attempt else 1.0
        if better is None:
            break
        now, u, gap = better, trial, moved_gap
        history.append(float(np.max(np.abs(gap))))
    raise NotConverged(
        f"inverse_statics: the target stays {history[-1]:.2e} (m, rad) away after {len(history) - 1} steps with "
        "tensions >= 0; it is likely out of reach: choose a nearer target or more actuators "
        "(.result is the nearest equilibrium found)",
        history=history,
        result=now,
    )


def _moved(system: System, u: Array, near: Equilibrium) -> Equilibrium | None:
    try:
        return equilibrium(system, dict(zip(system.channels, u[: len(system.channels)], strict=True)), guess=near)
    except NotConverged:
        return None


def _damped(A: Array, b: Array, x: Array, mu: float, bounded: NDArray[np.bool_]) -> Array:
    """Minimum of |A y - b|² + μ² |y - x|² with y ≥ 0 where bounded (a Levenberg step)."""
    low = np.where(bounded, 0.0, -np.inf)
    stacked = np.vstack([A, mu * np.eye(x.size)])
    from scipy.optimize import lsq_linear  # slow to import, and needed here alone

    return np.asarray(lsq_linear(stacked, np.concatenate([b, mu * x]), bounds=(low, np.inf)).x)


def _least_norm(A: Array, b: Array, bounded: NDArray[np.bool_]) -> Array:
    """Least-norm x with A x = b and x ≥ 0 where bounded; the nearest to it where none satisfies A x = b."""
    size = max(float(np.max(np.abs(A))), 1e-300)
    free = np.linalg.pinv(A, rcond=_RANK) @ b
    if not np.any(free[bounded] < 0.0):
        return free
    # x = x⁺ - x⁻ with x⁻ only for unbounded entries; a small weight on x selects the least norm
    both = np.column_stack([A, -A[:, ~bounded]])
    weight = 1e-6 * size
    stacked = np.vstack([both, weight * np.eye(both.shape[1])])
    from scipy.optimize import nnls  # slow to import, and needed here alone

    found, _ = nnls(stacked, np.concatenate([b, np.zeros(both.shape[1])]))
    x = found[: A.shape[1]].copy()
    x[~bounded] -= found[A.shape[1] :]
    # polish on the active set: exact least norm among the inputs that are not zero
    on = (x > 0.0) | ~bounded
    polished = np.zeros_like(x)
    polished[on] = np.linalg.pinv(A[:, on], rcond=_RANK) @ b
    return x if np.any(polished[bounded] < 0.0) else polished
