"""What completes a program once its kernels can be called: lengths of cables, and closure rows that say nothing new.

Theory: docs/theory/loops.md, eq. (dropped-row).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elver.actuation import SpooledTendon, Tendon
from elver.dynamics.states import arrays
from elver.errors import BadInput, ElverWarning
from elver.kernels import entry
from elver.lie import se3

if TYPE_CHECKING:
    from elver.dynamics.core import Core

__all__ = ["closure_label", "measure_cables", "reduce_rows"]

Array = NDArray[np.float64]

# Compliance of closures that repeat each other, in units of length²/energy: far below any rod's, far above rounding.
_SOFT = 1e-10


def measure_cables(kernels: Core) -> None:
    """Add the free spans at the start of the joints to the length of cables at rest."""
    u = kernels.system.input_vector(kernels.system.signals(None), 0.0)
    rest = arrays(kernels.system.rest())
    entry.evaluate_residual(kernels.robot, rest.base, rest.twist, rest.q, rest.multipliers, u, 1)
    if np.any(none := ~np.isfinite(kernels.work.span).all(axis=1)):
        cables = [part for part in kernels.system.actuators if isinstance(part, Tendon | SpooledTendon)]
        guides = [(part.name, a.label, b.label) for part in cables for a, b in part.spans]
        name, first, second = guides[int(np.argmax(none))]
        raise BadInput(
            f"{name!r} runs from {first} to {second}, which are at the same place at the start: a span of 0 m has "
            "no direction; move one of the two guides, leave one out, or start the joints elsewhere"
        )
    kernels.program.tendon_length[:] += kernels.work.tendon_span


def reduce_rows(kernels: Core) -> None:
    """Set closure rows that depend on others to zero (their multiplier is then zero), and say which.

    A row whose gradient is the same combination of the others' at several random states says nothing new:
    the z of a planar loop, or a section held twice. Where it contradicts them the closure cannot be met. Others
    depend on the rest only where the loops are closed (a planar loop around a body that is free in space).
    """
    names = [name for name, _ in kernels.system.multipliers]
    held, L = len(kernels.program.row_axes), kernels.assembly.length
    random = np.random.default_rng(0)
    gradients, gaps = [], np.zeros(kernels.rows)
    u = kernels.system.input_vector(kernels.system.signals(None), 0.0)
    rest = kernels.system.rest()
    for _ in range(3):
        g = rest.g @ se3.exp(random.normal(size=6) * [1, 1, 1, L, L, L]) if kernels.system.free else rest.g
        q = rest.q + kernels.assembly.scale[kernels.coordinates - kernels.n :] * random.normal(size=kernels.n)
        a = arrays(rest.with_(g=g, q=q))
        gradients.append(kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[kernels.coordinates :, : kernels.coordinates])
        gaps = kernels.residual(a, u, jets=1)[kernels.coordinates :]
    # one row of all samples per closure, angles in rad and lengths over L
    units = np.where([unit == "N" for _, unit in kernels.system.multipliers], L, 1.0)[:held]
    scale = kernels.assembly.scale.copy()
    scale[kernels.coordinates - kernels.n + kernels.program.imposed[:, 0]] = 0.0  # what is imposed does not adapt
    rows = np.hstack([J * scale for J in gradients])[:held] / units[:, None]
    of = np.repeat(np.arange(len(kernels.program.closure_rows)), kernels.program.closure_rows[:, 1])
    kept: list[int] = []
    dropped: list[str] = []
    for j in range(held):
        known = rows[kept]
        combination = np.linalg.lstsq(known.T, rows[j], rcond=1e-12)[0] if kept else np.zeros(0)
        if np.linalg.norm(rows[j] - combination @ known) > 1e-8:
            kept.append(j)
            continue
        gap = gaps[j] / units[j] - combination @ (gaps[kept] / units[kept])
        if abs(gap) > 1e-9:
            unit = kernels.system.multipliers[j][1]
            what, kind = ("rad", "rotation about") if unit == "N m" else ("m", "position along")
            raise BadInput(
                f"{closure_label(kernels, of[j])}: its {kind} {names[j].rsplit('_')[-1]} differs by "
                f"{abs(gap * units[j]):.6g} {what} from what the parts, the imposed motions and the other closures "
                f"allow; {_remedy(kernels, of[j])}, or free more strains in the basis"
            )
        dropped.append(names[j])
        kernels.program.row_axes[j] = 0.0
    shared = _redundant_once_closed(kernels, kept, scale, units)
    kernels.program.row_soft[shared] = _SOFT * units[shared] ** 2 / kernels.assembly.energy
    if shared:
        warnings.warn(
            f"redundant once the loops are closed: {', '.join(names[j] for j in shared)} hold what is held "
            "already; motions are not affected, but such forces are shared and not determined",
            ElverWarning,
            stacklevel=4,
        )
    if dropped:
        of_holds = any(name.split("/")[0] in kernels.system.mechanism.hold_names for name in dropped)
        warnings.warn(
            f"redundant: {', '.join(dropped)} hold what is held already (a planar rod or loop stays in its plane); "
            "they are dropped and their reactions reported as 0"
            + (": leave them free (None) to silence this" if of_holds else ", which changes no motion"),
            ElverWarning,
            stacklevel=4,
        )


def _redundant_once_closed(kernels: Core, kept: list[int], scale: Array, units: Array) -> list[int]:
    """Rows among ``kept`` that add nothing to the others at any of several states with all loops closed."""
    if not kept:
        return []
    random = np.random.default_rng(1)
    samples: list[Array] = []
    for trial in range(8):
        J = _closed_gradient(kernels, kept, scale, units, 0.3 * random.normal(size=kernels.coordinates) * (trial > 0))
        if J is None:
            continue
        samples.append(J)
        if np.linalg.matrix_rank(J, tol=1e-7) == len(kept):
            return []
        if len(samples) == 3:
            break
    if len(samples) < 3:
        return []
    used: list[int] = []
    for k in range(len(kept)):
        if any(np.linalg.matrix_rank(J[[*used, k]], tol=1e-7) > len(used) for J in samples):
            used.append(k)
    return [j for k, j in enumerate(kept) if k not in used]


def _closed_gradient(kernels: Core, kept: list[int], scale: Array, units: Array, aside: Array) -> Array | None:
    """Gradients of the rows ``kept`` at a state with closed loops, sought from the start moved ``aside``."""
    c, free = kernels.coordinates, kernels.coordinates - kernels.n
    u = kernels.system.input_vector(kernels.system.signals(None), 0.0)
    state, step = kernels.system.rest(), scale * aside
    for _ in range(12):
        g = state.g @ se3.exp(step[:6]) if free else state.g
        state = state.with_(g=g, q=state.q + step[free:])
        a = arrays(state)
        matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
        J = matrix[c:, :c][kept] * scale / units[kept, None]
        gap = kernels.residual(a, u, jets=1)[c:][kept] / units[kept]
        if np.max(np.abs(gap)) < 1e-11:
            return J
        increment = -np.linalg.lstsq(J, gap, rcond=1e-9)[0]
        step = scale * increment / max(1.0, float(np.max(np.abs(increment))))
    return None


def _remedy(kernels: Core, closure: int) -> str:
    """What to do about a closure that contradicts the others."""
    if closure < len(kernels.system.mechanism.holds):
        return "prescribe what they give, leave it free (None)"
    return "move the frames of its joints so that the loop closes, use a joint with more freedom"


def closure_label(kernels: Core, closure: int) -> str:
    """How messages speak of a closure."""
    mechanism = kernels.system.mechanism
    if closure < len(mechanism.holds):
        return mechanism.holds[closure].label
    joint = mechanism.tree.cuts[closure - len(mechanism.holds)]
    return f"the loop closed by {joint.kind} {joint.name!r} ({joint.a.label} to {joint.b.label})"
