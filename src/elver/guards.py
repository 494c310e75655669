"""The guard of public functions: a system is a System; whatever else is given is told, with the way to one.

    @guarded
    def equilibrium(system, inputs=None, ...):
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from elver.errors import BadInput, describe
from elver.mechanism import Mechanism
from elver.rods import Rod
from elver.system import System

__all__ = ["check_system", "guarded"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def check_system(where: str, value: Any) -> System:
    """``value`` if it is a System, else :class:`BadInput` with the way from what was given to a System."""
    if isinstance(value, System):
        return value
    if isinstance(value, Rod):
        way = "made from it by System(Mechanism.clamped(rod))"
    elif isinstance(value, Mechanism):
        way = "made from it by System(mechanism, actuators=[tendon], loads=[Gravity()])"
    elif not isinstance(value, type) and isinstance(getattr(value, "system", None), System):
        way = "which is its .system"
    elif type(value).__name__ == "Dataset":
        way = "which of a run is io.loads(run.attrs['model'])"
    elif isinstance(value, str) or hasattr(value, "__fspath__"):
        way = 'which of a model file is load_model("arm.toml").system'
    else:
        way = "such as System(Mechanism.clamped(rod), actuators=[tendon], loads=[Gravity()])"
    raise BadInput(f"{where}: system is {describe(value)}; give a System, {way}")


def guarded(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """``function`` with its argument ``system`` checked before anything is computed."""
    place = list(inspect.signature(function).parameters).index("system")

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if len(args) > place:
            check_system(function.__name__, args[place])
        elif "system" in kwargs:
            check_system(function.__name__, kwargs["system"])
        return function(*args, **kwargs)

    return checked
