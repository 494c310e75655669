"""Types of the kernels that are compiled by themselves, known only to the process that compiles them.

Residual, the two parts of the tangent, LU and the elimination along the tree are handed to the solvers as addresses.
Robots pass as one array (:mod:`elver.kernels.build.tables`).
"""

from __future__ import annotations

from elver.kernels.build.cache import Kernel
from elver.kernels.build.calls import (
    BACK,
    FACTOR,
    FRAMES,
    HOME,
    ITERATE,
    MATRIX,
    RESIDUAL,
    STAGE,
    SUBSTITUTE,
)
from elver.kernels.build.kinds import BOOL, F1, F2, F3, FLOAT, I1, INT, VOID, Signature, record_of
from elver.kernels.build.plain import kernel_named
from elver.kernels.build.schemes import signatures_of_schemes
from elver.kernels.tree.articulated import sweep_for
from elver.kernels.tree.observe import room_for_states
from elver.kernels.tree.program import smallest_program

__all__ = ["SIGNATURES", "find"]

_SWEEP = record_of(sweep_for(smallest_program()))
_ACCELERATIONS = Signature(BOOL, (RESIDUAL, I1, _SWEEP, F2, F2, F2, F1, F1))
_OBSERVED = record_of(room_for_states(0, 0, 0))

SIGNATURES: dict[str, Signature] = {
    **signatures_of_schemes(),
    "tree.evaluate.evaluate_residual": RESIDUAL,
    "tree.tangent.evaluate_frames": FRAMES,
    "tree.tangent.evaluate_matrix": MATRIX,
    "terms.rare.more_residual": FRAMES,
    "terms.rare.more_frames": FRAMES,
    "terms.rare.couplings": Signature(VOID, (I1, F1, F1)),
    "terms.moving_loads.heat_of_step": Signature(FLOAT, (I1, F2, F2, F2)),
    "terms.moving_loads.push_at_start": Signature(VOID, (I1, F2, F2, F2)),
    "terms.moving_loads.slopes_at_start": Signature(VOID, (I1, F2, F2, F3)),
    "terms.own_functions.own_stresses": Signature(VOID, (I1, F2, F1, INT)),
    "terms.own_functions.own_slopes": Signature(VOID, (I1, F2, F1)),
    "terms.own_functions.own_energies": Signature(FLOAT, (I1, F2, F1)),
    "terms.own_functions.own_wrenches": Signature(VOID, (I1, F2, F1, INT)),
    "algebra.lu_factor": FACTOR,
    "algebra.lu_solve": SUBSTITUTE,
    "tree.elimination.home": HOME,
    "tree.substitution.back": BACK,
    "tree.articulated.accelerations": _ACCELERATIONS,
    "tree.observe.observe": Signature(VOID, (I1, F3, F3, F3, F1, F2, _OBSERVED)),
    "march.newton.newton": ITERATE,
    "march.newton.dense": STAGE,
    "march.newton.along_tree": STAGE,
    "march.explicit.march_explicit": Signature(INT, (_ACCELERATIONS, I1, I1, _SWEEP, INT)),
    "one_rod.shoot.shoot": Signature(VOID, (I1, INT, F2, F3, F3)),
    "one_rod.static_shoot.static_shoot": Signature(VOID, (I1, INT, F2, F3, F3)),
    "one_rod.nodes.carry_columns": Signature(VOID, (F3, F2, F3)),
    "one_rod.nodes.join_segments": Signature(VOID, (F2, F2, F1, F3, F2, F3, F3, F1)),
    "one_rod.nodes.move_nodes": Signature(VOID, (F2, F2, F1, F2, F1)),
    "tree.repeat.repeat_residual": Signature(VOID, (RESIDUAL, *RESIDUAL.arguments, INT)),
    "tree.repeat.repeat_tangent": Signature(VOID, (FRAMES, MATRIX, I1, F2, F2, F1, F1, F2, F1, INT, INT)),
    "tree.repeat.repeat_accelerations": Signature(VOID, (_ACCELERATIONS, *_ACCELERATIONS.arguments, INT)),
    "terms.strain_loads.strain_residual": Signature(VOID, (I1, F2, F1, F1, INT, F1)),
    "terms.strain_loads.strain_tangent": Signature(VOID, (I1, F2, F1, INT, F2)),
    "terms.strain_loads.point_slopes": Signature(VOID, (I1, F2, F1, F1)),
    "one_rod.section.section_strains": Signature(VOID, (I1, FLOAT, F3)),
}  # fmt: skip


def find(name: str) -> Kernel:
    """The kernel of this name, as ``room.module.function``, with its signature if it is compiled by itself."""
    kernel = kernel_named(name)
    kernel.signature = kernel.signature or SIGNATURES.get(name)
    return kernel
