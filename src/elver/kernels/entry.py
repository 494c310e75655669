"""Ways into the compiled code: typed entry points without dispatch, and kernels as function pointers.

Types never change, so each kernel is compiled for one signature and called at its entry point, past Numba's dispatcher.
Residual and tangent are handed to the solvers as pointers of a first-class function type. Robots pass as one array
(:mod:`elver.kernels.robot`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import typeof, types

from elver.kernels import (
    algebra,
    articulated,
    conserving,
    elimination,
    evaluate,
    explicit,
    gauss,
    march,
    observe,
    one_step,
    passage,
    rest,
    section,
    shoot,
    static_shoot,
    step_residual,
    step_tangent,
    substitution,
    tangent,
)
from elver.kernels.program import smallest_program
from elver.kernels.warmup import ensure

__all__ = [
    "accelerations",
    "as_python",
    "back",
    "by_name",
    "carry_columns",
    "compile_group",
    "evaluate_frames",
    "evaluate_matrix",
    "evaluate_residual",
    "evaluate_tangent",
    "home",
    "join_segments",
    "march_conserving",
    "march_explicit",
    "march_gauss",
    "march_one_step",
    "move_nodes",
    "observe_states",
    "pointer",
    "section_strains",
    "shoot_segments",
    "shoot_statics",
    "solve_static",
]

_F1, _F2, _F3, _F4 = (types.Array(types.float64, n, "C") for n in (1, 2, 3, 4))
_I1 = types.Array(types.int64, 1, "C")
_INT, _FLOAT = types.int64, types.float64


@cache
def _march() -> Any:
    return typeof(march.march_for(1, 1, 0, np.ones(1), 1))


def _compiled(function: Any, signature: Any) -> Any:
    function.compile(signature.args)
    return function.overloads[signature.args]


@cache
def _residual_signature() -> Any:
    return types.void(_I1, _F2, _F2, _F2, _F1, _F1, _INT)


@cache
def _frames_signature() -> Any:
    return types.void(_I1, _F2, _F1, _F1, _INT)


@cache
def _matrix_signature() -> Any:
    return types.void(_I1, _F2, _F1, _F1, _F2, _F1, _INT)


@cache
def _factor_signature() -> Any:
    return _FLOAT(_F2, _I1)


@cache
def _substitute_signature() -> Any:
    return types.void(_F2, _I1, _F1)


@cache
def _home_signature() -> Any:
    return _FLOAT(_I1, _I1, _F2, _F1, _F1, _F2, _F1, _INT)


@cache
def _back_signature() -> Any:
    return _FLOAT(_I1, _I1, _INT, _F1)


class _Pointer(types.WrapperAddressProtocol):
    """A compiled kernel as a value of Numba's function type."""

    def __init__(self, function: Any, signature: Any) -> None:
        compiled = _compiled(function, signature)
        self._keep = compiled
        self._address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
        self._signature = signature

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        return self._signature


@cache
def pointer(kernel: str) -> _Pointer:
    """A kernel as an argument for other compiled code, by its name in :data:`_POINTED`."""
    function, make_signature = _POINTED[kernel]
    return _Pointer(function, make_signature())


def by_name(kernel: str) -> Callable[..., Any]:
    """A kernel that others take as a pointer, to be called from Python."""
    return _plain(*_POINTED[kernel])


@cache
def _plain(function: Any, make_signature: Callable[[], Any]) -> Callable[..., Any]:
    return _compiled(function, make_signature()).entry_point


@cache
def _shooting(function: Any, make_signature: Callable[[], Any]) -> Callable[..., Any]:
    ensure(("shoot",), "shooting", 20)
    return _plain(function, make_signature)


@cache
def _bare_solver(function: Any, make_arguments: Callable[[], tuple[Any, ...]]) -> Callable[..., int]:
    pointers = [types.FunctionType(_POINTED[name][1]()) for name in _OF_SOLVERS]
    signature = _INT(*pointers, _I1, _march(), *make_arguments())
    return _compiled(function, signature).entry_point


@cache
def _solver(function: Any, make_arguments: Callable[[], tuple[Any, ...]], along_tree: bool) -> Callable[..., int]:
    if along_tree:
        ensure(("tree",), "elimination along the tree", 10)
    names = _OF_SOLVERS if along_tree else (*_OF_SOLVERS[:5], "no home", "no back")
    entry, pointers = _bare_solver(function, make_arguments), [pointer(name) for name in names]
    return lambda *arguments: entry(*pointers, *arguments)


def compile_group(group: str) -> None:
    """Compile one group of kernels into the cache: types are known, so nothing is run."""
    if group == "residual":
        _plain(evaluate.evaluate_residual, _residual_signature)
    elif group == "tangent":
        _plain(tangent.evaluate_frames, _frames_signature)
        _plain(tangent.evaluate_matrix, _matrix_signature)
        _plain(algebra.lu_factor, _factor_signature)
        _plain(algebra.lu_solve, _substitute_signature)
    elif group == "tree":
        _plain(elimination.home, _home_signature)
        _plain(substitution.back, _back_signature)
    elif group == "observe":
        _plain(observe.observe, _observe_signature)
    elif group == "statics":
        _bare_solver(rest.solve_static, _static_arguments)
    elif group == "articulated":
        _plain(articulated.accelerations, _accelerations_signature)
    elif group == "explicit":
        _plain(explicit.march_explicit, _explicit_signature)
    elif group == "shoot":
        _plain(shoot.shoot, _shoot_signature)
        _plain(static_shoot.static_shoot, _static_shoot_signature)
        _plain(static_shoot.carry_columns, _carry_columns_signature)
        _plain(static_shoot.join_segments, _join_segments_signature)
        _plain(static_shoot.move_nodes, _move_nodes_signature)
        _plain(section.section_strains, _section_strains_signature)
    elif group == "conserving":
        for name in _OF_CONSERVING[5:]:
            _plain(*_POINTED[name])
        _plain(conserving.march_conserving, _conserving_signature)
    elif group == "one-step":
        _bare_solver(one_step.march_one_step, _one_step_arguments)
    else:
        _bare_solver(gauss.march_gauss, _gauss_arguments)


@cache
def as_python(function: Any) -> Callable[..., Any]:
    """A compiled solver as plain Python, to be run with any residual and tangent; its robot is (program, work).

    Kernels that do not call back stay compiled.
    """
    source = function.py_func
    names = {**source.__globals__, "unpack": lambda robot: robot}
    for name in source.__code__.co_names:
        inner = getattr(names.get(name), "py_func", None)
        if inner is not None and inner.__code__.co_varnames[:1] in _CALL_BACK:
            names[name] = as_python(names[name])
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__)


def _static_arguments() -> tuple[Any, ...]:
    return (_F2, _F2, _F2, _F1, _F1, _FLOAT, _FLOAT, _FLOAT, _F1)


def _records() -> tuple[Any, ...]:
    return (_F1, _F2, _F3, _F3, _F2, _F2, _F2, _F1, _FLOAT, _INT, _F3, _F3, _F3, _F2, _I1)


def _one_step_arguments() -> tuple[Any, ...]:
    return (_INT, _F1, *_records())


def _gauss_arguments() -> tuple[Any, ...]:
    return (_INT, _F2, *_records())


@cache
def _columns_signature() -> Any:
    return types.void(_I1, _F3)


@cache
def _settle_signature() -> Any:
    return types.void(types.FunctionType(_columns_signature()), _I1, _I1)


@cache
def _start_step_signature() -> Any:
    return types.void(types.FunctionType(_residual_signature()), _I1, _I1, _FLOAT, _F2, _F2, _F1, _F1, _F1)


@cache
def _step_residual_signature() -> Any:
    pointer = types.FunctionType(_residual_signature())
    return types.void(pointer, _I1, _I1, _FLOAT, _FLOAT, _F2, _F2, _F1, _F2)


@cache
def _step_matrix_signature() -> Any:
    pointers = [types.FunctionType(make()) for make in (_frames_signature, _matrix_signature, _columns_signature)]
    return types.void(*pointers, _I1, _I1, _FLOAT, _FLOAT, _F2, _F1)


@cache
def _conserving_signature() -> Any:
    pointers = [types.FunctionType(_POINTED[name][1]()) for name in _OF_CONSERVING]
    return _INT(*pointers, _I1, _I1, _F1, *_records(), _F1, _F2, _F2)


@cache
def _sweep() -> Any:
    return typeof(articulated.sweep_for(smallest_program()))


@cache
def _accelerations_signature() -> Any:
    residual = types.FunctionType(_residual_signature())
    return types.boolean(residual, _I1, _sweep(), _F2, _F2, _F2, _F1, _F1)


@cache
def _explicit_signature() -> Any:
    pointers = types.FunctionType(_residual_signature()), types.FunctionType(_accelerations_signature())
    records = (_INT, _F1, _F2, _F3, _F3, _F2, _F2, _F2, _F1, _F3, _F3, _F3, _F2)
    return _INT(*pointers, _I1, _march(), _sweep(), *records)


def _shoot_signature() -> Any:
    numbers = (_INT, _FLOAT, _INT, _INT, _FLOAT)
    return types.void(*numbers, _F1, _F1, _F3, _F4, _F3, _F1, _F2, _F3, _F3, _F2, _F2, _F3)


def _static_shoot_signature() -> Any:
    numbers = (_INT, _INT, _INT, _INT, _INT, _FLOAT)
    return types.void(*numbers, _F1, _F1, _F3, _F4, _F3, _F2, _F3, _F3, _F2, _F3)


def _carry_columns_signature() -> Any:
    return types.void(_F3, _F2, _F3)


def _join_segments_signature() -> Any:
    return types.void(_F2, _F2, _F1, _F3, _F2, _F3, _F3, _F1)


def _move_nodes_signature() -> Any:
    return types.void(_F2, _F2, _F1, _F2, _F1)


def _section_strains_signature() -> Any:
    return types.void(_FLOAT, _FLOAT, _F1, _F2, _F3, _F2, _F2, _F3)


def _observe_signature() -> Any:
    return types.void(_I1, _F3, _F3, _F3, _F1, _F2, _INT, _F3, _F4, _F3, _F2, _F2, _F2)


def evaluate_residual(*arguments: Any) -> None:
    """:func:`elver.kernels.evaluate.evaluate_residual`."""
    _plain(evaluate.evaluate_residual, _residual_signature)(*arguments)


def evaluate_frames(*arguments: Any) -> None:
    """:func:`elver.kernels.tangent.evaluate_frames`."""
    _plain(tangent.evaluate_frames, _frames_signature)(*arguments)


def evaluate_matrix(*arguments: Any) -> None:
    """:func:`elver.kernels.tangent.evaluate_matrix`."""
    _plain(tangent.evaluate_matrix, _matrix_signature)(*arguments)


def evaluate_tangent(
    robot: Any, base: Any, q: Any, multipliers: Any, inputs: Any, base_columns: Any, weights: Any, jets: int
) -> None:
    """Both parts of the tangent, behind the residual at the same state."""
    evaluate_frames(robot, base, multipliers, inputs, jets)
    evaluate_matrix(robot, q, multipliers, inputs, base_columns, weights, jets)


def home(*arguments: Any) -> float:
    """:func:`elver.kernels.elimination.home`."""
    return float(_along_tree(elimination.home, _home_signature)(*arguments))


def back(*arguments: Any) -> float:
    """:func:`elver.kernels.substitution.back`."""
    return float(_along_tree(substitution.back, _back_signature)(*arguments))


@cache
def _along_tree(function: Any, make_signature: Callable[[], Any]) -> Callable[..., Any]:
    ensure(("tree",), "elimination along the tree", 10)
    return _plain(function, make_signature)


def observe_states(*arguments: Any) -> None:
    """:func:`elver.kernels.observe.observe`."""
    _plain(observe.observe, _observe_signature)(*arguments)


def shoot_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.shoot.shoot`."""
    _shooting(shoot.shoot, _shoot_signature)(*arguments)


def section_strains(*arguments: Any) -> None:
    """:func:`elver.kernels.section.section_strains`."""
    _shooting(section.section_strains, _section_strains_signature)(*arguments)


def shoot_statics(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.static_shoot`."""
    _shooting(static_shoot.static_shoot, _static_shoot_signature)(*arguments)


def carry_columns(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.carry_columns`."""
    _shooting(static_shoot.carry_columns, _carry_columns_signature)(*arguments)


def join_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.join_segments`."""
    _shooting(static_shoot.join_segments, _join_segments_signature)(*arguments)


def move_nodes(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.move_nodes`."""
    _shooting(static_shoot.move_nodes, _move_nodes_signature)(*arguments)


def solve_static(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.rest.solve_static`, without its functions."""
    return _solver(rest.solve_static, _static_arguments, scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _one_step(along_tree: bool) -> Callable[..., int]:
    ensure(("one-step",), "one-step methods", 10)
    return _solver(one_step.march_one_step, _one_step_arguments, along_tree)


def march_one_step(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.one_step.march_one_step`, without its functions."""
    return _one_step(scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _explicit() -> Callable[..., int]:
    ensure(("explicit",), "explicit steps", 10)
    march = _plain(explicit.march_explicit, _explicit_signature)
    residual, found = pointer("residual"), pointer("accelerations")
    return lambda *arguments: march(residual, found, *arguments)


def march_explicit(*arguments: Any) -> int:
    """:func:`elver.kernels.explicit.march_explicit`, without its first two arguments."""
    return _explicit()(*arguments)


def accelerations(*arguments: Any) -> bool:
    """:func:`elver.kernels.articulated.accelerations`, without its first argument."""
    return bool(_plain(articulated.accelerations, _accelerations_signature)(pointer("residual"), *arguments))


@cache
def _gauss(along_tree: bool) -> Callable[..., int]:
    ensure(("gauss",), "Gauss steps", 20)
    return _solver(gauss.march_gauss, _gauss_arguments, along_tree)


def march_gauss(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.gauss.march_gauss`, without its functions."""
    return _gauss(scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _conserving() -> Callable[..., int]:
    ensure(("conserving",), "conserving steps", 20)
    entry = _plain(conserving.march_conserving, _conserving_signature)
    pointers = [pointer(name) for name in _OF_CONSERVING]
    return lambda *arguments: entry(*pointers, *arguments)


def march_conserving(*arguments: Any) -> int:
    """:func:`elver.kernels.conserving.march_conserving`, without its functions."""
    return _conserving()(*arguments)


# What is passed on as a function pointer; a solver takes those of _OF_SOLVERS.
_POINTED: dict[str, tuple[Any, Callable[[], Any]]] = {
    "residual": (evaluate.evaluate_residual, _residual_signature),
    "frames": (tangent.evaluate_frames, _frames_signature),
    "matrix": (tangent.evaluate_matrix, _matrix_signature),
    "factor": (algebra.lu_factor, _factor_signature),
    "substitute": (algebra.lu_solve, _substitute_signature),
    "home": (elimination.home, _home_signature),
    "back": (substitution.back, _back_signature),
    "no home": (elimination.no_home, _home_signature),
    "no back": (substitution.no_back, _back_signature),
    "accelerations": (articulated.accelerations, _accelerations_signature),
    "columns": (passage.frame_columns, _columns_signature),
    "settle": (passage.settle, _settle_signature),
    "start step": (step_residual.start_step, _start_step_signature),
    "step residual": (step_residual.residual_of_step, _step_residual_signature),
    "step matrix": (step_tangent.matrix_of_step, _step_matrix_signature),
}
_OF_SOLVERS = ("residual", "frames", "matrix", "factor", "substitute", "home", "back")
_OF_CONSERVING = (*_OF_SOLVERS[:5], "columns", "settle", "start step", "step residual", "step matrix")
_CALL_BACK = {("evaluate_residual",), ("evaluate_frames",), ("substitute",)}
