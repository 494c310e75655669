"""Ways into the compiled code, by name: kernels called from Python, and the addresses that solvers are given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from elver.kernels.load import load
from elver.kernels.plain import as_python
from elver.kernels.warmup import ensure

__all__ = [
    "accelerations",
    "address",
    "as_python",
    "back",
    "carry_columns",
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
    "section_strains",
    "shoot_segments",
    "shoot_statics",
    "solve_static",
]

# What a solver is given; without elimination along the tree the last two are empty.
_OF_SOLVERS = (
    "evaluate.evaluate_residual", "tangent.evaluate_frames", "tangent.evaluate_matrix", "algebra.lu_factor",
    "algebra.lu_solve",
)  # fmt: skip
_ALONG_TREE = ("elimination.home", "substitution.back")
_NOT_ALONG_TREE = ("elimination.no_home", "substitution.no_back")
_OF_CONSERVING = (
    *_OF_SOLVERS, "passage.frame_columns", "passage.settle", "step_residual.start_step",
    "step_residual.residual_of_step", "step_tangent.matrix_of_step",
)  # fmt: skip


def address(kernel: str) -> int:
    """A kernel as an argument for other compiled code."""
    return load(kernel).address


@cache
def _tree(kernel: str) -> Callable[..., Any]:
    ensure(("tree",), "elimination along the tree", 10)
    return load(kernel).call


@cache
def _shooting(kernel: str) -> Callable[..., Any]:
    ensure(("shoot",), "shooting", 20)
    return load(kernel).call


@cache
def _solver(kernel: str, along_tree: bool) -> Callable[..., int]:
    if along_tree:
        ensure(("tree",), "elimination along the tree", 10)
    own = [address(name) for name in (*_OF_SOLVERS, *(_ALONG_TREE if along_tree else _NOT_ALONG_TREE))]
    call = load(kernel).call
    return lambda *arguments: call(*own, *arguments)


def evaluate_residual(*arguments: Any) -> None:
    """:func:`elver.kernels.evaluate.evaluate_residual`."""
    load("evaluate.evaluate_residual").call(*arguments)


def evaluate_frames(*arguments: Any) -> None:
    """:func:`elver.kernels.tangent.evaluate_frames`."""
    load("tangent.evaluate_frames").call(*arguments)


def evaluate_matrix(*arguments: Any) -> None:
    """:func:`elver.kernels.tangent.evaluate_matrix`."""
    load("tangent.evaluate_matrix").call(*arguments)


def evaluate_tangent(
    robot: Any, base: Any, q: Any, multipliers: Any, inputs: Any, base_columns: Any, weights: Any, jets: int
) -> None:
    """Both parts of the tangent, behind the residual at the same state."""
    evaluate_frames(robot, base, multipliers, inputs, jets)
    evaluate_matrix(robot, q, multipliers, inputs, base_columns, weights, jets)


def home(*arguments: Any) -> float:
    """:func:`elver.kernels.elimination.home`."""
    return float(_tree("elimination.home")(*arguments))


def back(*arguments: Any) -> float:
    """:func:`elver.kernels.substitution.back`."""
    return float(_tree("substitution.back")(*arguments))


def observe_states(*arguments: Any) -> None:
    """:func:`elver.kernels.observe.observe`."""
    load("observe.observe").call(*arguments)


def shoot_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.shoot.shoot`."""
    _shooting("shoot.shoot")(*arguments)


def section_strains(*arguments: Any) -> None:
    """:func:`elver.kernels.section.section_strains`."""
    _shooting("section.section_strains")(*arguments)


def shoot_statics(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.static_shoot`."""
    _shooting("static_shoot.static_shoot")(*arguments)


def carry_columns(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.carry_columns`."""
    _shooting("static_shoot.carry_columns")(*arguments)


def join_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.join_segments`."""
    _shooting("static_shoot.join_segments")(*arguments)


def move_nodes(*arguments: Any) -> None:
    """:func:`elver.kernels.static_shoot.move_nodes`."""
    _shooting("static_shoot.move_nodes")(*arguments)


def solve_static(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.rest.solve_static`, without its functions."""
    return _solver("rest.solve_static", scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _one_step(along_tree: bool) -> Callable[..., int]:
    ensure(("one-step",), "one-step methods", 10)
    return _solver("one_step.march_one_step", along_tree)


def march_one_step(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.one_step.march_one_step`, without its functions."""
    return _one_step(scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _gauss(along_tree: bool) -> Callable[..., int]:
    ensure(("gauss",), "Gauss steps", 20)
    return _solver("gauss.march_gauss", along_tree)


def march_gauss(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.gauss.march_gauss`, without its functions."""
    return _gauss(scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _conserving() -> Callable[..., int]:
    ensure(("conserving",), "conserving steps", 20)
    own = [address(name) for name in _OF_CONSERVING]
    call = load("conserving.march_conserving").call
    return lambda *arguments: call(*own, *arguments)


def march_conserving(*arguments: Any) -> int:
    """:func:`elver.kernels.conserving.march_conserving`, without its functions."""
    return _conserving()(*arguments)


@cache
def _explicit() -> Callable[..., int]:
    ensure(("explicit",), "explicit steps", 10)
    own = address("evaluate.evaluate_residual"), address("articulated.accelerations")
    call = load("explicit.march_explicit").call
    return lambda *arguments: call(*own, *arguments)


def march_explicit(*arguments: Any) -> int:
    """:func:`elver.kernels.explicit.march_explicit`, without its first two arguments."""
    return _explicit()(*arguments)


def accelerations(*arguments: Any) -> bool:
    """:func:`elver.kernels.articulated.accelerations`, without its first argument."""
    return bool(load("articulated.accelerations").call(address("evaluate.evaluate_residual"), *arguments))
