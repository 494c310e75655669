"""A robot as one array of addresses: how named tuples of arrays pass through compiled code.

Numba hands a named tuple of a hundred arrays on as a thousand numbers, which every function on the way must be compiled
for and every call must copy. Compiled code therefore passes a *table*: for each array its address and its shape. The
table of a robot holds Program and Work; :data:`unpack` turns it back into the two named tuples, and an
:class:`Unpacker` into others. Of all arrays only those used are read. Whoever holds a table must hold its arrays.

The table of a robot begins with the addresses of the kernels of :mod:`elver.kernels.terms.rare` and
:mod:`elver.kernels.terms.moving_loads`, behind them those of :mod:`elver.kernels.terms.own_functions`, and of a
Python function that makes room for the dense matrix.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.kinds import Record, Signature, array_kind, record_of
from elver.kernels.build.load import address_of, load
from elver.kernels.build.warmup import ensure
from elver.kernels.tree.program import Program, Work, smallest_program, work_for

__all__ = [
    "OWN",
    "PROTOTYPE",
    "ROOM",
    "AtAddress",
    "OwnFunction",
    "Unpacker",
    "call_own",
    "couplings",
    "heat_of_step",
    "more_frames",
    "more_residual",
    "named_types",
    "own_energies",
    "own_slopes",
    "own_stresses",
    "own_wrenches",
    "push_at_start",
    "robot_of",
    "slopes_at_start",
    "table_of",
    "unpack",
]


@cache
def named_types() -> tuple[Record, ...]:
    """Kinds of Program and Work."""
    program = smallest_program()
    return record_of(program), record_of(work_for(program))


def robot_of(program: Program, work: Work) -> NDArray[np.int64]:
    """The table of a robot."""
    rare = (
        program.user_frame, program.slide_frame, program.drag_frame, program.strip_frame, program.closure_frame,
        program.span_tendon,
    )  # fmt: skip
    addresses = [0] * len(_TERMS)
    if any(len(one) for one in rare):
        ensure(("terms",), "closures, cables and water", 10)
        addresses = [load(term.name).address for term in _TERMS]
    addresses += [0] * len(_OWN)
    if len(program.own_input) or len(program.pushed_input):
        ensure(("own",), "functions of one's own", 5)
        addresses[OWN:] = [load(term.name).address for term in _OWN]
    addresses.append(0)  # of what makes room for the dense matrix: the owner of the arrays sets it
    return np.concatenate([np.array(addresses, dtype=np.int64), table_of(named_types(), program, work)])


def table_of(named: tuple[Record, ...], *values: Any) -> NDArray[np.int64]:
    """Addresses and shapes of all arrays, which must have the layout that the kernels were compiled for.

    Those of a Program are only read, and may be read-only. Addresses of kernels stand as they are.
    """
    words: list[int] = []
    for value, record in zip(values, named, strict=True):
        written = not isinstance(value, Program)
        for k, (array, kind) in enumerate(zip(value, record.kinds, strict=True)):
            if isinstance(kind, Signature):
                words.append(array)
                continue
            found = array_kind(array, written=written)
            if found != kind:
                raise TypeError(f"{type(value).__name__}.{value._fields[k]} is {found}: the kernels want {kind}")
            words += (address_of(array), *array.shape)
    return np.array(words, dtype=np.int64)


class Unpacker:
    """A function for compiled code: the named tuples of a table, of the kinds of ``types_of``, behind some words.

    With ``parts`` only those, by number. Where kernels run as plain Python, their tables are the named tuples.
    """

    def __init__(
        self, types_of: Callable[[], tuple[Record, ...]], behind: int = 0, parts: tuple[int, ...] | None = None
    ) -> None:
        self.types_of, self.behind, self.parts = types_of, behind, parts

    def __call__(self, table: NDArray[np.int64]) -> Any:
        raise TypeError("only compiled code reads tables: in Python, pass the named tuples themselves")

    def of_tuples(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same from named tuples."""
        return values if self.parts is None else tuple(values[k] for k in self.parts)


class AtAddress:
    """A function for compiled code: the kernel of this name, given its address."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, address: int) -> Any:
        raise TypeError("only compiled code calls addresses")


class OwnFunction:
    """A function for compiled code: a user's C function, given its address and its six arguments.

    Arrays pass as the addresses of their numbers, numbers as doubles; the result is a double.
    """

    def __call__(self, address: int, *arguments: Any) -> float:
        raise TypeError("only compiled code calls addresses")


_TERMS = more_residual, more_frames, couplings, push_at_start, slopes_at_start, heat_of_step = (
    AtAddress("terms.rare.more_residual"), AtAddress("terms.rare.more_frames"), AtAddress("terms.rare.couplings"),
    AtAddress("terms.moving_loads.push_at_start"), AtAddress("terms.moving_loads.slopes_at_start"),
    AtAddress("terms.moving_loads.heat_of_step"),
)  # fmt: skip
_OWN = own_stresses, own_slopes, own_energies, own_wrenches = (
    AtAddress("terms.own_functions.own_stresses"), AtAddress("terms.own_functions.own_slopes"),
    AtAddress("terms.own_functions.own_energies"), AtAddress("terms.own_functions.own_wrenches"),
)  # fmt: skip
OWN = len(_TERMS)
"""Where the addresses of the kernels of a user's own functions begin in the table of a robot."""

ROOM = OWN + len(_OWN)
"""Where the address of a Python function stands that makes the arrays of the dense matrix; 0 where they are made."""

PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, *[ctypes.c_void_p] * 3
)
"""The C form of a stress of one's own (:mod:`elver.kernels.terms.own_functions`), and of what makes room."""

call_own = OwnFunction()
unpack = Unpacker(named_types, behind=ROOM + 1)
"""(program, work) of a robot, in compiled code."""
