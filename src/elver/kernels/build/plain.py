"""Solvers as plain Python, to be run with any residual and tangent; what calls nobody back stays compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.cache import Kernel
from elver.kernels.build.load import load
from elver.kernels.build.tables import AtAddress, Unpacker

__all__ = ["InPython", "as_python", "callees", "calls_back", "kernel_named"]

# Arguments of kernels that call functions they are given: a function itself, or the table of a solver.
_CALL_BACK = {"evaluate_residual", "evaluate_frames", "find_accelerations", "solver"}


def kernel_named(name: str) -> Kernel:
    """The kernel of this name, as ``room.module.function``."""
    module, _, function = name.rpartition(".")
    kernel = getattr(import_module(f"elver.kernels.{module}"), function)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{name} is not a kernel")
    return kernel


class InPython(NamedTuple):
    """Named tuples for a solver in Python, and the table of them for what it calls."""

    named: tuple[Any, ...]
    table: NDArray[np.int64]


def calls_back(kernel: Any) -> bool:
    """True for a kernel that calls functions it is given."""
    code = kernel.py_func.__code__ if isinstance(kernel, Kernel) else None
    return code is not None and not _CALL_BACK.isdisjoint(code.co_varnames[: code.co_argcount])


def _names(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """The kernels that a kernel calls by name."""
    source = kernel.py_func
    for name in source.__code__.co_names:
        if isinstance(source.__globals__.get(name), Kernel):
            yield name, source.__globals__[name]


def callees(kernel: Kernel) -> set[Kernel]:
    """Kernels that the plain Python of a solver calls; none where a kernel is no solver."""
    if not calls_back(kernel):
        return set()
    own = [other for _, other in _names(kernel)]
    return {other for other in own if not calls_back(other)}.union(*map(callees, own))


@cache
def as_python(kernel: Kernel) -> Callable[..., Any]:
    """A solver as plain Python; its tables are named tuples, or both with their table (:class:`InPython`)."""
    source = kernel.py_func
    names = {**source.__globals__}
    for name in source.__code__.co_names:
        value = names.get(name)
        if isinstance(value, Unpacker):
            names[name] = partial(_named, value)
        elif isinstance(value, AtAddress):
            names[name] = partial(_at_address, value.name)
        elif isinstance(value, Kernel):
            names[name] = as_python(value) if calls_back(value) else _given_tables(value)
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__)


def _named(unpacker: Unpacker, table: Any) -> Any:
    return unpacker.of_tuples(table.named if isinstance(table, InPython) else table)


def _at_address(name: str, _: int) -> Callable[..., Any]:
    """The kernel of this name, wherever it is."""
    call = load(name).call
    return lambda robot, *arguments: call(robot.table, *arguments)


def _given_tables(kernel: Kernel) -> Callable[..., Any]:
    """A kernel as it is, but with tables in the place of what :class:`InPython` names."""
    if kernel.py_func.__code__.co_varnames[0] != "robot":
        return kernel

    def call(*arguments: Any) -> Any:
        return kernel(*(one.table if isinstance(one, InPython) else one for one in arguments))

    return call
