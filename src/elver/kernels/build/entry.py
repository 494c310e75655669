"""Ways into the compiled code, by name: kernels called from Python, and the addresses that solvers are given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from elver.kernels.build.load import load
from elver.kernels.build.plain import as_python
from elver.kernels.build.warmup import ensure

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
    "frame_columns",
    "home",
    "join_segments",
    "march_conserving",
    "march_explicit",
    "march_gauss",
    "march_one_step",
    "move_nodes",
    "observe_states",
    "section_strains",
    "settle",
    "shoot_segments",
    "shoot_statics",
    "solve_static",
]

# What a solver is given; without elimination along the tree the last two are empty.
_OF_SOLVERS = (
    "tree.evaluate.evaluate_residual", "tree.tangent.evaluate_frames", "tree.tangent.evaluate_matrix",
    "algebra.lu_factor", "algebra.lu_solve",
)  # fmt: skip
_ALONG_TREE = ("tree.elimination.home", "tree.substitution.back")
_NOT_ALONG_TREE = ("tree.elimination.no_home", "tree.substitution.no_back")
_OF_CONSERVING = (
    *_OF_SOLVERS, "march.passage.frame_columns", "march.passage.settle", "march.step_residual.start_step",
    "march.step_residual.residual_of_step", "march.step_tangent.matrix_of_step",
)  # fmt: skip


# What is compiled at its first use: how it is called, and for about how many seconds.
_LATER = {
    "tree": ("elimination along the tree", 10),
    "articulated": ("accelerations", 5),
    "observe": ("poses and energies", 5),
    "shoot": ("shooting", 10),
    "one-step": ("one-step methods", 5),
    "gauss": ("Gauss steps", 10),
    "explicit": ("explicit steps", 5),
    "conserving": ("conserving steps", 15),
}


def address(kernel: str) -> int:
    """A kernel as an argument for other compiled code."""
    return load(kernel).address


@cache
def _later(group: str, kernel: str) -> Callable[..., Any]:
    """A kernel of a group that is compiled at its first use."""
    ensure((group,), *_LATER[group])
    return load(kernel).call


@cache
def _solver(group: str, kernel: str, along_tree: bool) -> Callable[..., int]:
    """A solver with the functions that it calls."""
    if along_tree:
        ensure(("tree",), *_LATER["tree"])
    call = load(kernel).call if group == "statics" else _later(group, kernel)
    own = [address(name) for name in (*_OF_SOLVERS, *(_ALONG_TREE if along_tree else _NOT_ALONG_TREE))]
    return lambda *arguments: call(*own, *arguments)


def evaluate_residual(*arguments: Any) -> None:
    """:func:`elver.kernels.tree.evaluate.evaluate_residual`."""
    load("tree.evaluate.evaluate_residual").call(*arguments)


def evaluate_frames(*arguments: Any) -> None:
    """:func:`elver.kernels.tree.tangent.evaluate_frames`."""
    load("tree.tangent.evaluate_frames").call(*arguments)


def evaluate_matrix(*arguments: Any) -> None:
    """:func:`elver.kernels.tree.tangent.evaluate_matrix`."""
    load("tree.tangent.evaluate_matrix").call(*arguments)


def evaluate_tangent(
    robot: Any, base: Any, q: Any, multipliers: Any, inputs: Any, base_columns: Any, weights: Any, jets: int
) -> None:
    """Both parts of the tangent, behind the residual at the same state."""
    evaluate_frames(robot, base, multipliers, inputs, jets)
    evaluate_matrix(robot, q, multipliers, inputs, base_columns, weights, jets)


def home(*arguments: Any) -> float:
    """:func:`elver.kernels.tree.elimination.home`."""
    return float(_later("tree", "tree.elimination.home")(*arguments))


def back(*arguments: Any) -> float:
    """:func:`elver.kernels.tree.substitution.back`."""
    return float(_later("tree", "tree.substitution.back")(*arguments))


def frame_columns(*arguments: Any) -> None:
    """:func:`elver.kernels.march.passage.frame_columns`."""
    _later("conserving", "march.passage.frame_columns")(*arguments)


def settle(*arguments: Any) -> None:
    """:func:`elver.kernels.march.passage.settle`."""
    _later("conserving", "march.passage.settle")(address("march.passage.frame_columns"), *arguments)


def observe_states(*arguments: Any) -> None:
    """:func:`elver.kernels.tree.observe.observe`."""
    _later("observe", "tree.observe.observe")(*arguments)


def shoot_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.shoot.shoot`."""
    _later("shoot", "one_rod.shoot.shoot")(*arguments)


def section_strains(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.section.section_strains`."""
    _later("shoot", "one_rod.section.section_strains")(*arguments)


def shoot_statics(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.static_shoot.static_shoot`."""
    _later("shoot", "one_rod.static_shoot.static_shoot")(*arguments)


def carry_columns(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.static_shoot.carry_columns`."""
    _later("shoot", "one_rod.static_shoot.carry_columns")(*arguments)


def join_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.static_shoot.join_segments`."""
    _later("shoot", "one_rod.static_shoot.join_segments")(*arguments)


def move_nodes(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.static_shoot.move_nodes`."""
    _later("shoot", "one_rod.static_shoot.move_nodes")(*arguments)


def solve_static(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.march.rest.solve_static`, without its functions."""
    return _solver("statics", "march.rest.solve_static", scratch.front.size > 0)(robot, scratch, *arguments)


def march_one_step(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.march.one_step.march_one_step`, without its functions."""
    return _solver("one-step", "march.one_step.march_one_step", scratch.front.size > 0)(robot, scratch, *arguments)


def march_gauss(robot: Any, scratch: Any, *arguments: Any) -> int:
    """:func:`elver.kernels.march.gauss.march_gauss`, without its functions."""
    return _solver("gauss", "march.gauss.march_gauss", scratch.front.size > 0)(robot, scratch, *arguments)


@cache
def _accelerations() -> Callable[..., bool]:
    call, residual = _later("articulated", "tree.articulated.accelerations"), address("tree.evaluate.evaluate_residual")
    return lambda *arguments: call(residual, *arguments)


def accelerations(*arguments: Any) -> bool:
    """:func:`elver.kernels.tree.articulated.accelerations`, without its first argument."""
    return _accelerations()(*arguments)


@cache
def _conserving() -> Callable[..., int]:
    call = _later("conserving", "march.conserving.march_conserving")
    own = [address(name) for name in _OF_CONSERVING]
    return lambda *arguments: call(*own, *arguments)


def march_conserving(*arguments: Any) -> int:
    """:func:`elver.kernels.march.conserving.march_conserving`, without its functions."""
    return _conserving()(*arguments)


@cache
def _explicit() -> Callable[..., int]:
    ensure(("articulated",), *_LATER["articulated"])
    call = _later("explicit", "march.explicit.march_explicit")
    own = address("tree.evaluate.evaluate_residual"), address("tree.articulated.accelerations")
    return lambda *arguments: call(*own, *arguments)


def march_explicit(*arguments: Any) -> int:
    """:func:`elver.kernels.march.explicit.march_explicit`, without its first two arguments."""
    return _explicit()(*arguments)
