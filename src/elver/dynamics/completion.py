"""What completes a program once its kernels can be called: lengths of cables, and closure rows that say nothing new.

Theory: docs/theory/loops.md, eq. (dropped-row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.actuation import SpooledTendon, Tendon
from elver.dynamics.states import arrays
from elver.errors import BadInput, warn
from elver.kernels.build import entry
from elver.lie import se3

if TYPE_CHECKING:
    from elver.dynamics.core import Core

__all__ = ["Repeated", "closure_label", "measure_cables", "reduce_rows"]

Array = NDArray[np.float64]

# Compliance of closures that repeat each other, in units of length²/energy: far below any rod's, far above rounding.
_SOFT = 1e-10


class Repeated(NamedTuple):
    """Names of closure rows that say nothing new: in every state, and in those with closed loops only."""

    always: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


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


def reduce_rows(kernels: Core, known: Repeated | None = None) -> Repeated:
    """Set closure rows that depend on others to zero (their multiplier is then zero), and say which.

    A row whose gradient is the same combination of the others' at several random states says nothing new:
    the z of a planar loop, or a section held twice. Where it contradicts them the closure cannot be met. Others
    depend on the rest only where the loops are closed (a planar loop around a body that is free in space).

    Rows ``known`` to repeat others in designs of the same structure are checked at a random state and not sought for:
    nothing but a coincidence hides a dependence there. Those that repeat others in closed loops are taken over.
    """
    rows = _Rows(kernels)
    found = None if known is None else rows.confirmed(known)
    if found is None:
        dropped = rows.search()
        kept = [j for j in range(len(rows.units)) if j not in dropped]
        shared = _redundant_once_closed(kernels, kept, rows.scale, rows.units)
        _warn(kernels, [rows.names[j] for j in dropped], [rows.names[j] for j in shared])
    else:
        dropped, shared = found
    kernels.program.row_axes[dropped] = 0.0
    kernels.program.row_soft[shared] = _SOFT * rows.units[shared] ** 2 / kernels.assembly.energy
    return Repeated(tuple(rows.names[j] for j in dropped), tuple(rows.names[j] for j in shared))


class _Rows:
    """Closure rows at random states, angles in rad and lengths over the size of the robot."""

    def __init__(self, kernels: Core) -> None:
        L, system = kernels.assembly.length, kernels.system
        held = len(kernels.program.row_axes)
        self.kernels = kernels
        self.names = [name for name, _ in system.multipliers]
        self.units = np.where([unit == "N" for _, unit in system.multipliers], L, 1.0)[:held]
        self.scale = kernels.assembly.scale.copy()
        # what is imposed does not adapt
        self.scale[kernels.coordinates - kernels.n + kernels.program.imposed[:, 0]] = 0.0

    def samples(self, count: int) -> tuple[Array, Array]:
        """Gradients of all rows at ``count`` states side by side, and the gaps at the last."""
        kernels, held, c = self.kernels, len(self.units), self.kernels.coordinates
        L, random, rest = kernels.assembly.length, np.random.default_rng(0), kernels.system.rest()
        u = kernels.system.input_vector(kernels.system.signals(None), 0.0)
        gradients = []
        for _ in range(count):
            g = rest.g @ se3.exp(random.normal(size=6) * [1, 1, 1, L, L, L]) if kernels.system.free else rest.g
            q = rest.q + kernels.assembly.scale[c - kernels.n :] * random.normal(size=kernels.n)
            a = arrays(rest)
            a.base[:3], a.base[3], a.q[0] = g[:3, :3], g[:3, 3], q
            gradients.append(kernels.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[c:, :c] * self.scale)
        gaps = kernels.residual(a, u, jets=1)[c:]
        return np.hstack(gradients)[:held] / self.units[:, None], gaps[:held] / self.units

    def search(self) -> list[int]:
        """Rows that depend on those before them."""
        rows, gaps = self.samples(3)
        kept: list[int] = []
        dropped: list[int] = []
        normal = np.zeros((0, rows.shape[1]))  # orthonormal rows that span those kept
        for j, row in enumerate(rows):
            left = row - (normal @ row) @ normal
            left -= (normal @ left) @ normal  # once more: what rounding left of them
            if (size := float(np.linalg.norm(left))) > 1e-8:
                kept.append(j)
                normal = np.vstack([normal, left / size])
            else:
                combination = np.linalg.lstsq(rows[kept].T, row, rcond=1e-12)[0] if kept else np.zeros(0)
                self._check_met(j, gaps[j] - combination @ gaps[kept])
                dropped.append(j)
        return dropped

    def confirmed(self, known: Repeated) -> tuple[list[int], list[int]] | None:
        """Rows that are ``known`` to repeat others, if they do here, too, and no other does."""
        rows, gaps = self.samples(1)
        dropped = [j for j in range(len(rows)) if self.names[j] in known.always]
        kept = [j for j in range(len(rows)) if self.names[j] not in known.always]
        combination, _, rank, _ = np.linalg.lstsq(rows[kept].T, rows[dropped].T, rcond=1e-9)
        left = rows[dropped] - combination.T @ rows[kept]
        if rank < len(kept) or np.any(np.linalg.norm(left, axis=1) > 1e-8):
            return None
        for j, gap in zip(dropped, gaps[dropped] - combination.T @ gaps[kept], strict=True):
            self._check_met(j, gap)
        return dropped, [j for j in kept if self.names[j] in known.closed]

    def _check_met(self, j: int, gap: float) -> None:
        """BadInput where a row that repeats others contradicts them."""
        if abs(gap) > 1e-9:
            kernels = self.kernels
            counts = kernels.program.closure_rows[:, 1]
            closure = int(np.repeat(np.arange(len(counts)), counts)[j])
            unit = kernels.system.multipliers[j][1]
            what, kind = ("rad", "rotation about") if unit == "N m" else ("m", "position along")
            raise BadInput(
                f"{closure_label(kernels, closure)}: its {kind} {self.names[j].rsplit('_')[-1]} differs by "
                f"{abs(gap * self.units[j]):.6g} {what} from what the parts, the imposed motions and the other "
                f"closures allow; {_remedy(kernels, closure)}, or free more strains in the basis"
            )


def _warn(kernels: Core, dropped: list[str], shared: list[str]) -> None:
    if shared:
        warn(
            f"redundant once the loops are closed: {', '.join(shared)} hold what is held "
            "already; motions are not affected, but such forces are shared and not determined",
        )
    if dropped:
        of_holds = any(name.split("/")[0] in kernels.system.mechanism.hold_names for name in dropped)
        warn(
            f"redundant: {', '.join(dropped)} hold what is held already (a planar rod or loop stays in its plane); "
            "they are dropped and their reactions reported as 0"
            + (": leave them free (None) to silence this" if of_holds else ", which changes no motion"),
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
    rest, step = kernels.system.rest(), scale * aside
    a, g = arrays(rest), rest.g
    for _ in range(12):
        g = g @ se3.exp(step[:6]) if free else g
        a.base[:3], a.base[3] = g[:3, :3], g[:3, 3]
        a.q[0] += step[free:]
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
