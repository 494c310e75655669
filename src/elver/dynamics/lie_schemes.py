"""Pose integrators along a rod as small tables: Magnus 4 and 6, Runge-Kutta-Munthe-Kaas 4, and the rigid joint.

Gotelli 2024, section 3.8, and the works named beside each. Over an interval g_next = g exp(Ψ), with Ψ a Lie polynomial
of a few moments of the strain; a table says which.

Theory: docs/theory/rods.md, eq. (chain), (magnus).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elver.rods import Magnus, Rod, RungeKuttaMuntheKaas

__all__ = ["JOINT", "LieScheme", "lie_scheme"]


@dataclass(frozen=True, eq=False)
class LieScheme:
    """One-step pose integrator: α_m = h Σ_j moments[m, j] ξ(s + points[j] h), then a Lie polynomial of the α.

    Each operation is (beta, a, b, {register: weight}): beta [register a, register b] + Σ weight register.
    The signs are those of g′ = g ξ̂ (strain on the right).
    """

    points: tuple[float, ...]
    moments: tuple[tuple[float, ...], ...]
    operations: tuple[tuple[float, int, int, dict[int, float]], ...]


_R3, _R15 = np.sqrt(3.0), np.sqrt(15.0)

MAGNUS_4 = LieScheme(
    points=(0.5 - _R3 / 6.0, 0.5 + _R3 / 6.0),
    moments=((0.5, 0.5), (-_R3, _R3)),
    operations=((1.0 / 12.0, 0, 1, {0: 1.0}),),
)
# Blanes, Casas, Ros 2000: three Gauss points, three commutators.
MAGNUS_6 = LieScheme(
    points=(0.5 - _R15 / 10.0, 0.5, 0.5 + _R15 / 10.0),
    moments=((0.0, 1.0, 0.0), (-_R15 / 3.0, 0.0, _R15 / 3.0), (10.0 / 3.0, -20.0 / 3.0, 10.0 / 3.0)),
    operations=(
        (-1.0, 0, 1, {}),  # 3: C1
        (0.0, 0, 0, {2: 2.0, 3: 1.0}),  # 4: 2 α3 + C1
        (1.0 / 60.0, 0, 4, {1: 1.0}),  # 5: α2 + C2
        (0.0, 0, 0, {0: -20.0, 2: -1.0, 3: 1.0}),  # 6: -20 α1 - α3 + C1
        (-1.0 / 240.0, 6, 5, {0: 1.0, 2: 1.0 / 12.0}),  # 7: Ψ
    ),
)
# Munthe-Kaas 1998 with the classical tableau; the stages sit just inside the interval, where a basis may jump.
_INSIDE = 1e-9
RKMK_4 = LieScheme(
    points=(_INSIDE, 0.5, 1.0 - _INSIDE),
    moments=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    operations=(
        (1.0, 0, 1, {}),
        (1.0 / 48.0, 0, 3, {1: 1.0, 3: 0.25}),  # 4: second slope
        (1.0, 4, 1, {}),
        (1.0 / 48.0, 4, 5, {1: 1.0, 5: 0.25}),  # 6: third slope
        (1.0, 6, 2, {}),
        (1.0 / 12.0, 6, 7, {2: 1.0, 7: 0.5}),  # 8: fourth slope
        (0.0, 0, 0, {0: 1.0 / 6.0, 4: 1.0 / 3.0, 6: 1.0 / 3.0, 8: 1.0 / 6.0}),
    ),
)


# a rigid joint: its twist is the only moment, and the exponent itself
JOINT = LieScheme(points=(), moments=((),), operations=())


def lie_scheme(rod: Rod) -> LieScheme:
    """The pose integrator that a rod asks for; Magnus 6 draws the poses of a rod solved by collocation."""
    if rod.integration == Magnus(order=4):
        return MAGNUS_4
    if isinstance(rod.integration, RungeKuttaMuntheKaas):
        return RKMK_4
    return MAGNUS_6
