"""Solvers as plain Python, to be run with any residual and tangent; what calls nobody back stays compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

from elver.kernels.build.cache import Kernel

__all__ = ["as_python", "callees", "calls_back"]

# First argument of kernels that call a function they are given.
_CALL_BACK = ("evaluate_residual", "evaluate_frames", "substitute")


def calls_back(kernel: Any) -> bool:
    """True for a kernel that calls functions it is given."""
    return isinstance(kernel, Kernel) and kernel.py_func.__code__.co_varnames[0] in _CALL_BACK


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
    """A solver as plain Python; its robot is (program, work)."""
    source = kernel.py_func
    names = {**source.__globals__, "unpack": lambda robot: robot}
    names |= {name: as_python(other) for name, other in _names(kernel) if calls_back(other)}
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__)
