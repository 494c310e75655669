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
from scipy.optimize import nnls

from elver.actuation import Tendon
from elver.dynamics.core import arrays, core
from elver.errors import BadInput, NotConverged, positive
from elver.mechanism import Hold
from elver.statics.equilibrium import Equilibrium, equilibrium
from elver.system import Inputs, System

__all__ = ["InverseStatics", "inverse_statics"]

Array: TypeAlias = NDArray[np.float64]


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
    c, own = kernels.coordinates, core(system).rows
    spooled = own - sum(hold.rows for hold in system.mechanism.holds)
    # rows of the goal: holds of the system, target, spooled tendons of the system
    first = own - spooled
    is_target = np.zeros(kernels.rows, dtype=bool)
    is_target[first : first + target.rows] = True
    history: list[float] = []
    trust = 1.0
    for iteration in range(max_iterations):
        multipliers = np.zeros(kernels.rows)
        multipliers[~is_target] = now.state.multipliers
        a = arrays(now.state.with_(multipliers=multipliers))
        matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
        residual = kernels.residual(a, u, jets=1)
        gap = residual[c:][is_target]
        history.append(float(np.max(np.abs(gap))))
        if history[-1] < tolerance:
            names = {goal.channel_names[k]: float(u[k]) for k in chosen}
            return InverseStatics(names, now, history[-1], iteration)
        if len(history) > 8 and history[-1] > 0.999 * min(history[:-4]):
            break
        keep = np.concatenate([np.ones(c, dtype=bool), ~is_target])
        K = matrix[np.ix_(keep, keep)]
        slope = np.column_stack([_slope(kernels, a, u, k) for k in chosen])[keep]
        J = matrix[c:][is_target][:, keep]
        A = -J @ np.linalg.solve(K, slope)
        wanted = A @ u[chosen] - gap
        new = _least_norm(A, wanted, tensions)
        # a bounded move, then back to balance
        change = new - u[chosen]
        for _ in range(12):
            trial = u.copy()
            trial[chosen] = u[chosen] + trust * change
            keyed = dict(zip(system.channels, trial, strict=True))
            try:
                moved = equilibrium(system, keyed, guess=now)
            except NotConverged:
                trust *= 0.5
                continue
            now, u = moved, trial
            trust = min(1.0, 2.0 * trust)
            break
        else:
            break
    raise NotConverged(
        f"inverse_statics: the target stays {min(history):.2e} (m, rad) away after {len(history)} steps "
        "with inputs >= 0; "
        "it is likely out of reach: choose a nearer target or more actuators (.result is the nearest equilibrium)",
        history=history,
        result=now,
    )


def _slope(kernels: Any, a: Any, u: Array, channel: int) -> Array:
    """∂R/∂u, exact because R is affine in each input."""
    step = max(1.0, abs(u[channel]))
    v = u.copy()
    v[channel] += step
    return (kernels.residual(a, v, jets=1) - kernels.residual(a, u, jets=1)) / step


def _least_norm(A: Array, b: Array, bounded: NDArray[np.bool_]) -> Array:
    """Least-norm x with A x = b and x ≥ 0 where bounded; the nearest to it where none satisfies A x = b."""
    size = max(float(np.max(np.abs(A))), 1e-300)
    free = np.linalg.pinv(A) @ b
    if not np.any(free[bounded] < 0.0):
        return free
    # x = x⁺ - x⁻ with x⁻ only for unbounded entries; a small weight on x selects the least norm
    both = np.column_stack([A, -A[:, ~bounded]])
    weight = 1e-6 * size
    stacked = np.vstack([both, weight * np.eye(both.shape[1])])
    found, _ = nnls(stacked, np.concatenate([b, np.zeros(both.shape[1])]))
    x = found[: A.shape[1]].copy()
    x[~bounded] -= found[A.shape[1] :]
    # polish on the active set: exact least norm among the inputs that are not zero
    on = (x > 0.0) | ~bounded
    polished = np.zeros_like(x)
    polished[on] = np.linalg.pinv(A[:, on]) @ b
    return x if np.any(polished[bounded] < 0.0) else polished
