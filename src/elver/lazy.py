"""Names of a package that are loaded when they are first used: what nobody asks for is not imported.

An ``__init__`` says which module holds which names, and shows the same imports to type checkers:

    __all__ = lazy(__name__, {"sampling": "sample", "reactions": "reactions Reaction"})

    if TYPE_CHECKING:
        from elver.results.reactions import Reaction, reactions
        from elver.results.sampling import sample

A name wins over a module of the package that is called alike, in whatever order the two are loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["lazy"]


class _LazyPackage(ModuleType):
    """A package that finds its names at their first use."""

    __all__: list[str]
    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(self._homes[name]), name)
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system stores a loaded module in its package under its own name.
        if not (isinstance(value, ModuleType) and name in self._homes):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return list(self.__all__)


def lazy(package: str, names: Mapping[str, str]) -> list[str]:
    """Let ``package`` load its names late: ``names`` of each module, by the module's name within the package.

    Returns the names, sorted, for ``__all__``.
    """
    module = sys.modules[package]
    homes = {name: f"{package}.{home}" for home, text in names.items() for name in text.split()}
    vars(module)["_homes"] = homes
    module.__class__ = _LazyPackage
    return sorted(homes)
