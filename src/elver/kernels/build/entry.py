"""Ways into the compiled code, by name: kernels called from Python, and the addresses that solvers are given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from elver.kernels.algebra import lu_factor, lu_solve
from elver.kernels.build.calls import Calls
from elver.kernels.build.load import load
from elver.kernels.build.plain import as_python, kernel_named
from elver.kernels.build.schemes import SCHEMES
from elver.kernels.build.warmup import ensure
from elver.kernels.march.newton import dense, newton

__all__ = [
    "accelerations",
    "address",
    "as_python",
    "back",
    "calls_of",
    "carry_columns",
    "evaluate_frames",
    "evaluate_matrix",
    "evaluate_residual",
    "evaluate_tangent",
    "frame_columns",
    "home",
    "join_segments",
    "march_explicit",
    "move_nodes",
    "observe_states",
    "own_slopes",
    "own_stresses",
    "section_strains",
    "settle",
    "shoot_segments",
    "shoot_statics",
    "solver_in_python",
    "solver_of",
]

_OF_ROBOT = (
    "tree.evaluate.evaluate_residual", "tree.tangent.evaluate_frames", "tree.tangent.evaluate_matrix",
    "algebra.lu_factor", "algebra.lu_solve",
)  # fmt: skip


# What is compiled at its first use: how it is called, and for about how many seconds.
_LATER = {
    "tree": ("elimination along the tree", 10),
    "articulated": ("accelerations", 5),
    "observe": ("poses and energies", 5),
    "shoot": ("shooting", 10),
    **{name: (scheme.words, scheme.seconds) for name, scheme in SCHEMES.items()},
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
def calls_of(scheme: str, along_tree: bool) -> Calls:
    """Addresses of what the solver of a scheme calls, its increments by elimination along the tree or by LU."""
    own, calls = SCHEMES[scheme], Calls(*map(address, _OF_ROBOT))
    if not own.problem:
        return calls
    if own.words:
        ensure((scheme,), own.words, own.seconds)
    if along_tree:
        ensure(("tree",), *_LATER["tree"])
        calls = calls._replace(home=address("tree.elimination.home"), back=address("tree.substitution.back"))
    return calls._replace(
        iterate=address("march.newton.newton"),
        increment=address("march.newton.along_tree" if along_tree else "march.newton.dense"),
        **{field: address(name) for field, name in own.problem.items()},
    )


@cache
def solver_of(scheme: str) -> Callable[..., int]:
    """The solver of a scheme: a function of the tables of a robot and of a solver, and of what it takes beside."""
    return load(SCHEMES[scheme].solver).call


def solver_in_python(scheme: str, residual: Any, frames: Any, matrix: Any) -> tuple[Callable[..., int], Calls]:
    """The same as plain Python, with any residual, frames and matrix; its tables are named tuples; by LU."""
    own = SCHEMES[scheme]
    solver, *problem = (as_python(kernel_named(name)) for name in (own.solver, own.residual, own.tangent))
    named = dict(zip(("residual", "tangent", "increment", "iterate"), (*problem, as_python(dense), as_python(newton))))
    return solver, Calls(residual, frames, matrix, lu_factor, lu_solve)._replace(**named)


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


def own_stresses(*arguments: Any) -> None:
    """:func:`elver.kernels.terms.own_functions.own_stresses`."""
    load("terms.own_functions.own_stresses").call(*arguments)


def own_slopes(*arguments: Any) -> None:
    """:func:`elver.kernels.terms.own_functions.own_slopes`."""
    load("terms.own_functions.own_slopes").call(*arguments)


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
    """:func:`elver.kernels.one_rod.nodes.carry_columns`."""
    _later("shoot", "one_rod.nodes.carry_columns")(*arguments)


def join_segments(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.nodes.join_segments`."""
    _later("shoot", "one_rod.nodes.join_segments")(*arguments)


def move_nodes(*arguments: Any) -> None:
    """:func:`elver.kernels.one_rod.nodes.move_nodes`."""
    _later("shoot", "one_rod.nodes.move_nodes")(*arguments)


@cache
def _accelerations() -> Callable[..., bool]:
    call, residual = _later("articulated", "tree.articulated.accelerations"), address("tree.evaluate.evaluate_residual")
    return lambda *arguments: call(residual, *arguments)


def accelerations(*arguments: Any) -> bool:
    """:func:`elver.kernels.tree.articulated.accelerations`, without its first argument."""
    return _accelerations()(*arguments)


@cache
def _explicit() -> Callable[..., int]:
    ensure(("articulated",), *_LATER["articulated"])
    call, accelerations = _later("explicit", SCHEMES["explicit"].solver), address("tree.articulated.accelerations")
    return lambda *arguments: call(accelerations, *arguments)


def march_explicit(*arguments: Any) -> int:
    """:func:`elver.kernels.march.explicit.march_explicit`, without its first argument."""
    return _explicit()(*arguments)
