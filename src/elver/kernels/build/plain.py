"""Solvers as plain Python, to be run with any residual and tangent; what calls nobody back stays compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

from elver.kernels.build.cache import Kernel
from elver.kernels.build.tables import Unpacker

__all__ = ["as_python", "callees", "calls_back", "kernel_named"]

# Arguments of kernels that call functions they are given: a function itself, or the table of a solver.
_CALL_BACK = {"evaluate_residual", "find_accelerations", "solver"}


def kernel_named(name: str) -> Kernel:
    """The kernel of this name, as ``room.module.function``."""
    module, _, function = name.rpartition(".")
    kernel = getattr(import_module(f"elver.kernels.{module}"), function)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{name} is not a kernel")
    return kernel


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
    """A solver as plain Python; its tables are named tuples, its robot is (program, work)."""
    source = kernel.py_func
    names = {**source.__globals__}
    names |= {name: value.of_tuples for name, value in names.items() if isinstance(value, Unpacker)}
    names |= {name: as_python(other) for name, other in _names(kernel) if calls_back(other)}
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__)
