"""What kernels take and return: kinds of numbers, arrays and named tuples, told apart without Numba.

A kind is written as Numba writes it: ``f8``, ``i8``, ``b1`` for numbers, ``f8[:,::1]`` for a C-contiguous array of two
axes. A named tuple of arrays is a :class:`Record`; a :class:`Signature` among the arguments is the address of a kernel.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BOOL", "F1", "F2", "F3", "F4", "FLOAT", "I1", "INT", "VOID",
    "Kind", "Record", "Signature", "array_kind", "record_of", "signature_of",
]  # fmt: skip

VOID, BOOL, INT, FLOAT = "void", "b1", "i8", "f8"
F1, F2, F3, F4 = (f"f8[{':,' * (n - 1)}::1]" for n in (1, 2, 3, 4))
I1 = "i8[::1]"

_SCALARS = {np.dtype(np.float64): "f8", np.dtype(np.int64): "i8"}


class Record(NamedTuple):
    """A named tuple of arrays, or of addresses of kernels: its class, and the kinds of its fields."""

    type: Any
    kinds: tuple[str | Signature, ...]

    @property
    def fields(self) -> dict[str, str | Signature]:
        """Kinds by name."""
        return dict(zip(self.type._fields, self.kinds, strict=True))


class Signature(NamedTuple):
    """Result and arguments of a kernel."""

    result: str
    arguments: tuple[Kind, ...]


Kind: TypeAlias = str | Record | Signature


_KINDS = {(dtype, n): f"{scalar}[{':,' * (n - 1)}::1]" for dtype, scalar in _SCALARS.items() for n in range(1, 9)}


def array_kind(array: NDArray[Any], *, written: bool = True) -> str:
    """Kind of an array; TypeError where it is not one that kernels take, and write to unless they only read it."""
    kind = _KINDS.get((array.dtype, array.ndim)) if isinstance(array, np.ndarray) else None
    if kind is None or not (array.flags.carray if written else array.flags.c_contiguous):
        what = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        wanted = "writable C-contiguous" if written else "C-contiguous"
        raise TypeError(f"kernels take {wanted} arrays of float64 or int64, not {what}")
    return kind


def record_of(value: Any) -> Record:
    """The record of which this named tuple is an example."""
    return Record(type(value), tuple(array_kind(array) for array in value))


def signature_of(text: str) -> Signature:
    """From ``"void(f8[:,::1], UniTuple(f8, 6))"``."""
    result, arguments = re.fullmatch(r"(\w+(?:\([^()]*\))?)\((.*)\)", text).groups()  # type: ignore[union-attr]
    return Signature(result, tuple(re.findall(r"\w+\([^()]*\)|\w+\[[^]]*\]|\w+", arguments)))
