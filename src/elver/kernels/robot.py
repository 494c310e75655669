"""A robot as one array of addresses: how named tuples of arrays pass through compiled code.

Numba hands a named tuple of a hundred arrays on as a thousand numbers, which every function on the way must be compiled
for and every call must copy. Compiled code therefore passes a *table*: for each array its address and its shape. The
table of a robot holds Program and Work; :data:`unpack` turns it back into the two named tuples, and an
:class:`Unpacker` into others. Of all arrays only those used are read. Whoever holds a table must hold its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.kernels.kinds import Record, array_kind, record_of
from elver.kernels.program import Program, Work, smallest_program, work_for

__all__ = ["Unpacker", "named_types", "robot_of", "table_of", "unpack"]


@cache
def named_types() -> tuple[Record, ...]:
    """Kinds of Program and Work."""
    program = smallest_program()
    return record_of(program), record_of(work_for(program))


def robot_of(program: Program, work: Work) -> NDArray[np.int64]:
    """The table of a robot."""
    return table_of(named_types(), program, work)


def table_of(named: tuple[Record, ...], *values: Any) -> NDArray[np.int64]:
    """Addresses and shapes of all arrays, which must have the layout that the kernels were compiled for."""
    words: list[int] = []
    for value, record in zip(values, named, strict=True):
        for array, (name, kind) in zip(value, record.fields.items(), strict=True):
            if array_kind(array) != kind:
                raise TypeError(f"{type(value).__name__}.{name} is {array_kind(array)}: the kernels want {kind}")
            words += [array.ctypes.data, *array.shape]
    return np.array(words, dtype=np.int64)


class Unpacker:
    """A function for compiled code: the named tuples of a table, of the kinds of ``types_of``."""

    def __init__(self, types_of: Callable[[], tuple[Record, ...]]) -> None:
        self.types_of = types_of

    def __call__(self, table: NDArray[np.int64]) -> Any:
        raise TypeError("only compiled code reads tables: in Python, pass the named tuples themselves")


unpack = Unpacker(named_types)
"""(program, work) of a robot, in compiled code."""
