"""A robot as one array of addresses: how named tuples of arrays pass through compiled code.

Numba hands a named tuple of a hundred arrays on as a thousand numbers, which every function on the way must be compiled
for and every call must copy. Compiled code therefore passes a *table*: for each array its address and its shape. The
table of a robot holds Program and Work; :func:`unpack` turns it back into the two named tuples, and :func:`unpacker`
makes such a function for others. Of all arrays only those used are read. Whoever holds a table must hold its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

from elver.kernels.program import Program, Work, smallest_program, work_for

__all__ = ["named_types", "robot_of", "table_of", "unpack", "unpacker"]


@cache
def named_types() -> tuple[Any, ...]:
    """Numba types of Program and Work."""
    program = smallest_program()
    return typeof(program), typeof(work_for(program))


def robot_of(program: Program, work: Work) -> NDArray[np.int64]:
    """The table of a robot."""
    return table_of(named_types(), program, work)


def table_of(named: tuple[Any, ...], *values: Any) -> NDArray[np.int64]:
    """Addresses and shapes of all arrays, which must have the layout that the kernels were compiled for."""
    words: list[int] = []
    for value, kinds in zip(values, named, strict=True):
        for name, array, kind in zip(kinds.fields, value, kinds.types, strict=True):
            if typeof(array) != kind:
                raise TypeError(f"{type(value).__name__}.{name} is {typeof(array)}: the kernels want {kind}")
            words += [array.ctypes.data, *array.shape]
    return np.array(words, dtype=np.int64)


def unpacker(types_of: Callable[[], tuple[Any, ...]]) -> Any:
    """A function for compiled code: the named tuples of a table, whose Numba types are those of ``types_of``."""

    def read(_: Any, table: Any) -> Any:
        named = types_of()
        both = types.Tuple(named)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = make_array(signature.args[0])(context, builder, arguments[0]).data
            place = iter(range(10_000))

            def word() -> Any:
                return builder.load(cgutils.gep_inbounds(builder, words, next(place)))

            def array_of(kind: Any) -> Any:
                array = make_array(kind)(context, builder)
                address = builder.inttoptr(word(), context.get_data_type(kind.dtype).as_pointer())
                shape = [word() for _ in range(kind.ndim)]
                size = context.get_constant(types.intp, 8)
                strides = [size]
                for extent in shape[:0:-1]:
                    strides.insert(0, builder.mul(strides[0], extent))
                populate_array(array, data=address, shape=shape, strides=strides, itemsize=size, meminfo=None)
                return array._getvalue()

            parts = [context.make_tuple(builder, kind, [array_of(k) for k in kind.types]) for kind in named]
            return context.make_tuple(builder, both, parts)

        return both(table), codegen

    return intrinsic(read)


unpack: Any = unpacker(named_types)
"""(program, work) of a robot, in compiled code."""
