"""What a model file holds: the model, its study, and the classes of the library that it may name."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from elver.io.model import MODEL_PACKAGES, model_classes
from elver.io.model_fields import GROUPS, METHODS
from elver.words import brief

__all__ = [
    "FORMAT", "STUDIES", "ContinuationStudy", "EquilibriumStudy", "Model", "SimulationStudy", "Study", "arguments",
    "file_types", "method_types",
]  # fmt: skip

FORMAT = 1


@dataclass(frozen=True)
class EquilibriumStudy:
    """Find the state at rest; the arguments of ``equilibrium``."""

    kind: str = field(default="equilibrium", init=False)
    tolerance: float = 1e-10
    max_iterations: int = 40


@dataclass(frozen=True)
class ContinuationStudy:
    """Follow equilibria while the input ``over`` goes from ``start`` to ``stop``; the arguments of ``continuation``.

    ``over`` names one input, or maps the names of several to their rates: start and stop are then those of the first.
    """

    over: str | Mapping[str, float]
    stop: float
    kind: str = field(default="continuation", init=False)
    start: float = 0.0
    step: float = 0.1
    max_points: int = 200
    tolerance: float = 1e-10

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the inputs that move; where a branch is, the value of the first tells."""
        return (self.over,) if isinstance(self.over, str) else tuple(self.over)


@brief
@dataclass(frozen=True, eq=False)
class SimulationStudy:
    """Simulate a motion; the arguments of ``simulate``.

    ``state`` is "rest", "equilibrium" (under the inputs at 0 s), a mapping of inputs that held it in equilibrium until
    then (in a file, ``{ equilibrium = { tendon = "5 N" } }``), or a State. ``method`` None is the choice of simulate.
    """

    duration: float = 1.0
    kind: str = field(default="simulation", init=False)
    step: Any = 1e-2
    method: Any = None
    state: Any = "rest"
    start: Literal["consistent", "given"] = "consistent"
    every: int = 1


Study: TypeAlias = EquilibriumStudy | ContinuationStudy | SimulationStudy
STUDIES: dict[str, type] = {
    "equilibrium": EquilibriumStudy,
    "continuation": ContinuationStudy,
    "simulation": SimulationStudy,
}


@brief
@dataclass(frozen=True, eq=False)
class Model:
    """What a model file describes: ``system``, ``inputs`` by the names of its channels, and the ``study``, if any."""

    system: Any
    inputs: dict[str, Any] = field(default_factory=dict)
    study: Study | None = None
    title: str = ""


@cache
def file_types() -> dict[str, type]:
    """Classes that a model file may name, without those of time schemes."""
    known = model_classes(tuple(package for package in MODEL_PACKAGES if package != "elver.integrators"))
    named = {name for group, names in GROUPS.items() if group != "study" for name in names}
    return {name: known[name] for name in sorted(named)}


def method_types() -> dict[str, type]:
    """Classes of time schemes that a study may name."""
    return {name: getattr(importlib.import_module("elver.integrators"), name) for name in METHODS}


def arguments(cls: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Arguments of a constructor that a model file may give."""
    parameters = dict(inspect.signature(cls).parameters)
    if dataclasses.is_dataclass(cls):
        fields = {f.name for f in dataclasses.fields(cls)}
        parameters = {name: p for name, p in parameters.items() if name in fields}
    return parameters
