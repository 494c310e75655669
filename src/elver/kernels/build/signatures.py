"""Types of the kernels that are compiled by themselves, known only to the process that compiles them.

Residual, the two parts of the tangent, LU and the elimination along the tree are handed to the solvers as addresses.
Robots pass as one array (:mod:`elver.kernels.build.tables`).
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from elver.kernels.build.cache import Kernel
from elver.kernels.build.kinds import BOOL, F1, F2, F3, F4, FLOAT, I1, INT, VOID, Signature, record_of
from elver.kernels.build.tables import named_types
from elver.kernels.march.memory import march_for
from elver.kernels.terms.strain_loads import point_slopes, strain_residual, strain_tangent
from elver.kernels.tree.articulated import sweep_for
from elver.kernels.tree.program import smallest_program

__all__ = ["SIGNATURES", "find"]

_MARCH = record_of(march_for(1, 1, 0, np.ones(1), 1))
_SWEEP = record_of(sweep_for(smallest_program()))

_RESIDUAL = Signature(VOID, (I1, F2, F2, F2, F1, F1, INT))
_FRAMES = Signature(VOID, (I1, F2, F1, F1, INT))
_MATRIX = Signature(VOID, (I1, F2, F1, F1, F2, F1, INT))
_FACTOR = Signature(FLOAT, (F2, I1))
_SUBSTITUTE = Signature(VOID, (F2, I1, F1))
_HOME = Signature(FLOAT, (I1, I1, F2, F1, F1, F2, F1, INT))
_BACK = Signature(FLOAT, (I1, I1, INT, F1))
_ACCELERATIONS = Signature(BOOL, (_RESIDUAL, I1, _SWEEP, F2, F2, F2, F1, F1))

_COLUMNS = Signature(VOID, (I1, F3))
_SETTLE = Signature(VOID, (_COLUMNS, I1, I1))
_START_STEP = Signature(VOID, (_RESIDUAL, I1, I1, FLOAT, F2, F2, F1, F1, F1))
_STEP_RESIDUAL = Signature(VOID, (_RESIDUAL, I1, I1, FLOAT, FLOAT, F2, F2, F1, F2))
_STEP_MATRIX = Signature(VOID, (_FRAMES, _MATRIX, _COLUMNS, I1, I1, FLOAT, FLOAT, F2, F1))

# Kinds of arguments that are called like fields of Program and Work, and of a few others.
_NAMED = {name: kind for record in named_types() for name, kind in record.fields.items()}
_NAMED |= {"q": F2, "multipliers": F1, "inputs": F1, "weights": F1, "v": F2, "h": F2, "jets": INT, "offset": INT}


def _by_name(kernel: Kernel) -> Signature:
    code = kernel.py_func.__code__
    return Signature(VOID, tuple(_NAMED[name] for name in code.co_varnames[: code.co_argcount]))


_OF_SOLVERS = (_RESIDUAL, _FRAMES, _MATRIX, _FACTOR, _SUBSTITUTE, _HOME, _BACK, I1, _MARCH)
_RECORDS = (F1, F2, F3, F3, F2, F2, F2, F1, FLOAT, INT, F3, F3, F3, F2, I1)
_OF_CONSERVING = (
    _RESIDUAL, _FRAMES, _MATRIX, _FACTOR, _SUBSTITUTE, _COLUMNS, _SETTLE, _START_STEP, _STEP_RESIDUAL, _STEP_MATRIX,
)  # fmt: skip
_STEPS = (INT, F1, F2, F3, F3, F2, F2, F2, F1, F3, F3, F3, F2)

SIGNATURES: dict[str, Signature] = {
    "tree.evaluate.evaluate_residual": _RESIDUAL,
    "tree.tangent.evaluate_frames": _FRAMES,
    "tree.tangent.evaluate_matrix": _MATRIX,
    "terms.rare.more_residual": _FRAMES,
    "terms.rare.more_frames": _FRAMES,
    "terms.rare.couplings": Signature(VOID, (I1, F1, F1)),
    "terms.moving_loads.push_at_start": Signature(FLOAT, (I1, F2, F2, F2)),
    "terms.moving_loads.slopes_at_start": Signature(VOID, (I1, F2, F2, F3)),
    "terms.own_functions.own_stresses": Signature(VOID, (I1, F2, F1, INT)),
    "terms.own_functions.own_slopes": Signature(VOID, (I1, F2, F1)),
    "terms.own_functions.own_energies": Signature(FLOAT, (I1, F2, F1)),
    "terms.own_functions.own_wrenches": Signature(VOID, (I1, F2, F1, INT)),
    "algebra.lu_factor": _FACTOR,
    "algebra.lu_solve": _SUBSTITUTE,
    "tree.elimination.home": _HOME,
    "tree.elimination.no_home": _HOME,
    "tree.substitution.back": _BACK,
    "tree.substitution.no_back": _BACK,
    "tree.articulated.accelerations": _ACCELERATIONS,
    "tree.observe.observe": Signature(VOID, (I1, F3, F3, F3, F1, F2, INT, F3, F4, F3, F2, F2, F2)),
    "march.rest.solve_static": Signature(INT, (*_OF_SOLVERS, F2, F2, F2, F1, F1, FLOAT, FLOAT, FLOAT, F1)),
    "march.one_step.march_one_step": Signature(INT, (*_OF_SOLVERS, INT, F1, *_RECORDS)),
    "march.gauss.march_gauss": Signature(INT, (*_OF_SOLVERS, INT, F2, *_RECORDS)),
    "march.passage.frame_columns": _COLUMNS,
    "march.passage.settle": _SETTLE,
    "march.step_residual.start_step": _START_STEP,
    "march.step_residual.residual_of_step": _STEP_RESIDUAL,
    "march.step_tangent.matrix_of_step": _STEP_MATRIX,
    "march.conserving.march_conserving": Signature(INT, (*_OF_CONSERVING, I1, I1, F1, *_RECORDS, F1, F2, F2)),
    "march.explicit.march_explicit": Signature(INT, (_RESIDUAL, _ACCELERATIONS, I1, _MARCH, _SWEEP, *_STEPS)),
    "one_rod.shoot.shoot": Signature(
        VOID, (INT, FLOAT, INT, INT, FLOAT, F1, F1, F3, F4, F3, F1, F2, F3, F3, F2, F2, F3)
    ),
    "one_rod.static_shoot.static_shoot": Signature(
        VOID, (INT, INT, INT, INT, INT, FLOAT, F1, F1, F3, F4, F3, F2, F3, F3, F2, F3)
    ),
    "one_rod.static_shoot.carry_columns": Signature(VOID, (F3, F2, F3)),
    "one_rod.static_shoot.join_segments": Signature(VOID, (F2, F2, F1, F3, F2, F3, F3, F1)),
    "one_rod.static_shoot.move_nodes": Signature(VOID, (F2, F2, F1, F2, F1)),
    "tree.repeat.repeat_residual": Signature(VOID, (_RESIDUAL, *_RESIDUAL.arguments, INT)),
    "tree.repeat.repeat_tangent": Signature(VOID, (_FRAMES, _MATRIX, I1, F2, F2, F1, F1, F2, F1, INT, INT)),
    "tree.repeat.repeat_accelerations": Signature(VOID, (_ACCELERATIONS, *_ACCELERATIONS.arguments, INT)),
    "terms.strain_loads.strain_residual": _by_name(strain_residual),
    "terms.strain_loads.strain_tangent": _by_name(strain_tangent),
    "terms.strain_loads.point_slopes": _by_name(point_slopes),
    "one_rod.section.section_strains": Signature(VOID, (FLOAT, FLOAT, F1, F2, F3, F2, F2, F3)),
}  # fmt: skip


def find(name: str) -> Kernel:
    """The kernel of this name, as ``room.module.function``, with its signature if it is compiled by itself."""
    module, _, function = name.rpartition(".")
    kernel = getattr(import_module(f"elver.kernels.{module}"), function)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{name} is not a kernel")
    kernel.signature = kernel.signature or SIGNATURES.get(name)
    return kernel
