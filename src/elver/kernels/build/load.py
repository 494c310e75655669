"""Stored machine code: files, loading without Numba, and calls from Python.

A kernel goes by its name, ``room.module.function``. Each is one file of :data:`elver.kernels.build.cache.cache_folder`:
a checksum, a line that says what is in it, and two object files, the kernel and its border to Python
(:mod:`elver.kernels.build.compiler`). Files appear at once and whole, so that processes that compile the same at the
same time, or are stopped, do no harm; one that is broken is compiled again. Where nothing can be stored, or LLVM
refuses what was, Numba compiles in this process.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from operator import index
from pathlib import Path
from threading import get_ident
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.cache import cache_folder

__all__ = ["Code", "Loaded", "address_of", "is_stored", "load", "raised", "read", "write"]

_NUMBERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "f8": (ctypes.c_double, float), "i8": (ctypes.c_int64, index), "b1": (ctypes.c_int64, bool),
}  # fmt: skip
raised: dict[int, BaseException] = {}
"""What Python functions that compiled code called have raised, by the thread they were called in."""

_HEADER = object.__basicsize__  # of what Python keeps of any value; in an array the address of its numbers follows
_RESULTS: dict[str, Callable[[float], Any]] = {"f8": float, "i8": int, "b1": bool}


class Code(NamedTuple):
    """Machine code of a kernel."""

    symbol: str  # of the kernel
    border: str  # symbol of the function that Python calls
    arguments: tuple[Any, ...]  # kinds; of a named tuple a list of its name and of (field, kind)
    results: tuple[str, ...]  # kinds
    is_tuple: bool  # True where several are returned
    objects: tuple[bytes, ...]


class Loaded(NamedTuple):
    """A kernel ready to be called."""

    call: Callable[..., Any]  # from Python
    address: int  # from kernels
    owner: Any  # of the memory


# Files ------------------------------------------------------------------------------------------------------


def _file(kernel: str) -> Path:
    return cache_folder / f"{kernel}.code"


def is_stored(kernel: str) -> bool:
    """True when there is a file for this kernel."""
    return _file(kernel).is_file()


def write(kernel: str, code: Code) -> None:
    """Store the code of a kernel; OSError where that cannot be."""
    sizes = [len(one) for one in code.objects]
    line = json.dumps([*code[:-1], sizes]).encode() + b"\n"
    whole = line + b"".join(code.objects)
    cache_folder.mkdir(parents=True, exist_ok=True)
    own = _file(kernel).with_suffix(f".{os.getpid()}")
    own.write_bytes(hashlib.sha256(whole).hexdigest().encode() + b"\n" + whole)
    own.replace(_file(kernel))


def read(kernel: str) -> Code | None:
    """The stored code of a kernel, None where there is none or it is broken."""
    try:
        checksum, _, whole = _file(kernel).read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(whole).hexdigest().encode() != checksum:
        return None
    line, _, rest = whole.partition(b"\n")
    symbol, border, arguments, results, is_tuple, sizes = json.loads(line)
    ends = np.cumsum([0, *sizes])
    objects = tuple(rest[a:b] for a, b in pairwise(ends))
    return Code(symbol, border, tuple(arguments), tuple(results), is_tuple, objects)


# Loading ----------------------------------------------------------------------------------------------------


@cache
def load(kernel: str) -> Loaded:
    """A kernel ready to be called: from its file, else compiled by another process, else by this one."""
    for attempt in range(2):
        code = read(kernel)
        if code is not None:
            try:
                return _open(code)
            except RuntimeError:  # LLVM does not want it
                break
        if attempt == 0:
            from elver.kernels.build.warmup import compile_kernels  # which looks here for what is stored

            compile_kernels([kernel])
    from elver.kernels.build.compiler import addresses, find  # Numba, only where nothing else helps

    code, symbol, border = addresses(find(kernel))
    return Loaded(_caller(code, border), symbol, code)


def _open(code: Code) -> Loaded:
    """Into memory; RuntimeError where LLVM refuses."""
    engine = _engine()
    for one in code.objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(one))
    engine.finalize_object()
    symbol, border = engine.get_function_address(code.symbol), engine.get_function_address(code.border)
    if not symbol or not border:
        raise RuntimeError(f"{code.symbol} is not in its object file")
    return Loaded(_caller(code, border), symbol, engine)


def _engine() -> Any:
    """An engine for the code of one kernel: helpers that two kernels share by name stay apart."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _caller(code: Code, border: int) -> Callable[..., Any]:
    """The border as a function of Python, which runs without Python's lock."""
    records = [(place, len(kind[1])) for place, kind in enumerate(code.arguments) if not isinstance(kind, str)]
    numbers = [(place, *_NUMBERS[kind]) for place, kind in enumerate(code.arguments) if kind in list(_NUMBERS)]
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[kind for _, kind, _ in numbers])
    run, count, array_type = prototype(border), len(code.arguments), id(np.ndarray)
    results = [_RESULTS[kind] for kind in code.results]
    memory = ctypes.c_double * len(results)

    def plain(*arguments: Any) -> None:
        """Arrays, one number at most, nothing returned: what is called most, with the least around it."""
        if len(arguments) != count:
            raise TypeError(f"{code.border} takes {count} arguments, not {len(arguments)}")
        if numbers:
            status = run(None, array_type, id(arguments), convert(arguments[place]))
        else:
            status = run(None, array_type, id(arguments))
        if status:
            raise _refusal(code, status, arguments)
        if raised:
            _raise_again()

    def call(*arguments: Any) -> Any:
        if len(arguments) != count:
            raise TypeError(f"{code.border} takes {count} arguments, not {len(arguments)}")
        for place, size in records:
            if not isinstance(arguments[place], tuple) or len(arguments[place]) != size:
                raise TypeError(f"{code.border}: argument {place} is not {code.arguments[place][0]}")
        out = memory()
        status = run(out, array_type, id(arguments), *[convert(arguments[place]) for place, _, convert in numbers])
        if status:
            raise _refusal(code, status, arguments)
        if raised:
            _raise_again()
        values = tuple(convert(value) for convert, value in zip(results, out, strict=True))
        return (values if code.is_tuple else values[0]) if values else None

    if results or records or len(numbers) > 1:
        return call
    place, _, convert = numbers[0] if numbers else (0, None, float)
    return plain


def _raise_again() -> None:
    """Raise what a Python function raised while compiled code ran in this thread."""
    if (error := raised.pop(get_ident(), None)) is not None:
        raise error


def address_of(array: NDArray[Any]) -> int:
    """Where the numbers of an array are: ``array.ctypes.data``, read ten times quicker from the array's own header."""
    return ctypes.c_ssize_t.from_address(id(array) + _HEADER).value


def _refusal(code: Code, status: int, arguments: tuple[Any, ...]) -> Exception:
    """Why a call was refused."""
    if status < 0:
        return RuntimeError(f"{code.border} failed")
    arrays = []
    for place, kind in enumerate(code.arguments):
        if not isinstance(kind, str):
            arrays += [(f"{kind[0]}.{name}", one, arguments[place][k]) for k, (name, one) in enumerate(kind[1])]
        elif kind not in _NUMBERS:
            arrays.append((f"argument {place}", kind, arguments[place]))
    name, wanted, found = arrays[status - 1]
    what = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
    return TypeError(f"{code.border}: {name} is {what}: the kernel wants {wanted}, C-contiguous")
