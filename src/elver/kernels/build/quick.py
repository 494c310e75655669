"""Numba made quick at what kernels need, in a process that compiles nothing else.

Its answers stay the same; what changes is how often it asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba.core import ir, types
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg

__all__ = ["make_numba_quick"]


def make_numba_quick() -> None:
    """For the rest of this process."""
    _remember_types()
    _list_variables()
    _forget_lifetimes()


def _remember_types() -> None:
    """Numba looks through all versions of an operator wherever it meets one, a third of its time: keep the answer."""
    function: Any = types.Function
    search, found = function.get_call_type, {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        key = self, tuple(args), tuple(kws.items())
        if key not in found:
            found[key] = search(self, context, args, kws)
        return found[key]

    function.get_call_type = get_call_type


def _list_variables() -> None:
    """Which variables a line names is asked a dozen times; most of what a line holds is none."""
    plain = {ir.Loc, str, int, float, bool, type(None)}
    many = {list, tuple, dict}

    def collect(values: Iterable[Any], found: list[Any]) -> list[Any]:
        for one in values:
            kind = type(one)
            if kind is ir.Var:
                found.append(one)
            elif kind in plain:
                continue
            elif kind in many:
                collect(one.values() if kind is dict else one, found)
            elif isinstance(one, ir.Inst):
                found.extend(one.list_vars())
        return found

    instruction: Any = ir.Inst
    instruction._rec_list_vars = lambda self, value: collect((value,), [])


def _forget_lifetimes() -> None:
    """How long variables live matters where references are counted: kernels count none, so it is not found out."""

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        function.blocks = canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)
        function.generator_info = None

    processor: Any = PostProcessor
    processor.run = run
