"""Compile kernels with Numba: the only module that imports it, in a process of its own.

A kernel is compiled once, with the calling convention of Numba, in which other kernels call it at its address. For
Python a *border* is made beside it, a function of one C signature,

    int64 border(double *result, int64 array_type, int64 arguments, numbers ...) ,

which takes the tuple of arguments as it is, reads address and shape of each NumPy array from the array itself, and
refuses what has another rank, type of number, byte order or layout: 0 is returned when all is well, k where the k-th
array does not fit. The fields of an array object (and where a tuple keeps its items) are part of the binary interface
of NumPy and Python that every extension module is compiled against.
"""

from __future__ import annotations

import gc
import sys
from collections import namedtuple
from functools import cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic, register_model
from numba.np.arrayobj import make_array

from elver.kernels.build.cache import CHECKED, Kernel
from elver.kernels.build.kinds import Kind, Record, Signature
from elver.kernels.build.load import Code, read, write
from elver.kernels.build.lowering import KernelLowering, array_value
from elver.kernels.build.machine import IN_VECTORS, UNROLLED, Library
from elver.kernels.build.plain import callees
from elver.kernels.build.quick import make_numba_quick
from elver.kernels.build.signatures import SIGNATURES, find
from elver.kernels.build.tables import AtAddress, OwnFunction, Unpacker

__all__ = ["LEAN", "addresses", "compiled", "dispatcher", "prepare", "store", "work"]

_OPTIONS = {
    "fastmath": {"contract", "reassoc", "nsz"}, "error_model": "numpy", "_nrt": False,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "boundscheck": CHECKED,
}  # fmt: skip
_WORD, _REAL = ir.IntType(64), ir.DoubleType()


# Types ------------------------------------------------------------------------------------------------------


class Address(types.Callable):
    """The address of a compiled kernel, called like the kernel."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.result, self.arguments = numba_type(signature.result), tuple(map(numba_type, signature.arguments))
        super().__init__(name=f"Address({self.result}, {self.arguments})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The one signature."""
        return typing.signature(self.result, *self.arguments, recvr=self)

    def get_call_signatures(self) -> tuple[list[Any], bool]:
        """The same, for messages."""
        return [typing.signature(self.result, *self.arguments)], False

    def get_impl_key(self, sig: Any) -> Any:
        """All addresses are called in one way."""
        return Address


@register_model(Address)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD)


@lower_builtin(Address, types.VarArg(types.Any))
def _call_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kernel = signature.args[0]
    pointer = context.call_conv.get_function_type(kernel.result, kernel.arguments).as_pointer()
    function = builder.inttoptr(arguments[0], pointer)
    status, value = context.call_conv.call_function(
        builder, function, kernel.result, kernel.arguments, arguments[1:]
    )
    if CHECKED:
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
    return value


@cache
def numba_type(kind: Kind) -> Any:
    """The type of Numba for a kind."""
    if isinstance(kind, Record):
        return types.NamedTuple([numba_type(one) for one in kind.kinds], kind.type)
    if isinstance(kind, Signature):
        return Address(kind)
    return numba.core.sigutils._parse_signature_string(kind)


# Kernels ----------------------------------------------------------------------------------------------------


LEAN = numba.version_info.short == (0, 68)
"""True for the Numba whose inner ways :mod:`.lowering` and :mod:`.quick` know; another compiles as it does for all."""


class _Pipeline(CompilerBase):
    """What Numba does to a function, without what kernels have no use for: closures, overloads to inline, literals."""

    def define_pipelines(self) -> list[PassManager]:
        """The one list of passes."""
        manager = PassManager("kernel")
        for one, purpose in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if not LEAN:
                manager.add_pass(one, purpose)
            elif one.__name__ not in _NEEDLESS:
                manager.add_pass(KernelLowering if one is NativeLowering else one, purpose)
        manager.finalize()
        return [manager]


_NEEDLESS = {
    "WithLifting", "InlineClosureLikes", "RewriteSemanticConstants", "DeadBranchPrune", "RewriteDynamicRaises",
    "MakeFunctionToJitFunction", "InlineInlinables", "FindLiterallyCalls", "LiteralUnroll",
    "LiteralPropagationSubPipelinePass", "InlineOverloads", "NopythonRewrites", "NoPythonSupportedFeatureValidation",
    "DumpParforDiagnostics", "IRProcessing", "IRLegalization",
}  # fmt: skip


class _Dispatcher(CPUDispatcher):
    """Compiles one version of a function, whatever literal numbers it is called with."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The signature for these types."""
        return super().get_call_template([types.unliteral(one) for one in args], kws)

    def compile(self, sig: Any) -> Any:
        """Compile for these types, which may be asked for again, but not others."""
        known = next(iter(self.overloads), sig)
        if known != sig:
            raise TypeError(f"{self.py_func.__name__} is called with {sig} and with {known}: give it a signature")
        return super().compile(sig)


@cache
def dispatcher(kernel: Kernel) -> Any:
    """The kernel as a function of Numba, with all that it calls; compiled here when its types are given."""
    source = kernel.py_func
    names = {**source.__globals__}
    for name in source.__code__.co_names:
        value = names.get(name)
        if isinstance(value, Kernel):
            names[name] = dispatcher(value)
        elif isinstance(value, Unpacker):
            names[name] = _reader(value, source.__code__.co_names)
        elif isinstance(value, AtAddress):
            names[name] = _at_address(value.name)
        elif isinstance(value, OwnFunction):
            names[name] = _call_own
    function = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
    function.__module__, function.__qualname__ = source.__module__, source.__qualname__
    made = _Dispatcher(function, targetoptions={"nopython": True, **_OPTIONS}, pipeline_class=_Pipeline)
    if kernel.signature is not None:
        made.compile(tuple(map(numba_type, kernel.signature.arguments)))
        made.disable_compile()
    return made


def owner(kernel: Kernel) -> Kernel:
    """The kernel whose compiling decides the types of this one: itself, or the solver that calls it."""
    if find(kernel.name).signature is not None:
        return kernel
    solvers = [solver for solver in map(find, SIGNATURES) if kernel in callees(solver)]
    if not solvers:
        raise TypeError(f"{kernel.name} has no signature, so that Python cannot call it")
    return solvers[0]


def compiled(kernel: Kernel) -> Any:
    """The one compiled version of a kernel."""
    dispatcher(owner(kernel))
    (overload,) = dispatcher(kernel).overloads.values()
    return overload


@cache
def _reader(unpacker: Unpacker, names: tuple[str, ...]) -> Any:
    """The intrinsic behind an unpacker, for a function that uses these names: other fields are left out."""

    def read(_: Any, table: Any) -> Any:
        records, named = unpacker.types_of(), []
        for record in records:
            used = {name: kind for name, kind in record.fields.items() if name in names}
            named.append(types.NamedTuple(map(numba_type, used.values()), namedtuple(record.type.__name__, used)))
        asked = types.Tuple(unpacker.of_tuples(tuple(named)))

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = make_array(signature.args[0])(context, builder, arguments[0]).data
            place, found = unpacker.behind, []
            for record, kind in zip(records, named, strict=True):
                values = []
                for name, one in zip(record.fields, map(numba_type, record.kinds), strict=True):
                    where = range(place, place + 1 + getattr(one, "ndim", 0))  # the address of a kernel has no shape
                    place = where.stop
                    if name in kind.fields:
                        address, *shape = (builder.load(cgutils.gep_inbounds(builder, words, at)) for at in where)
                        values.append(_array(context, builder, one, address, shape) if shape else address)
                found.append(context.make_tuple(builder, kind, values))
            return context.make_tuple(builder, asked, unpacker.of_tuples(tuple(found)))

        return asked(table), codegen

    return intrinsic(read)


@cache
def _at_address(name: str) -> Any:
    """The intrinsic that takes a number for the address of a kernel."""

    def take(_: Any, address: Any) -> Any:
        return numba_type(SIGNATURES[name])(types.int64), lambda context, builder, signature, arguments: arguments[0]

    return intrinsic(take)


@intrinsic
def _call_own(_: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Call a C function at its address: arrays as addresses of their numbers, numbers as doubles; a double back."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = [
            make_array(kind)(context, builder, one).data if isinstance(kind, types.Array) else one
            for kind, one in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        head = ir.FunctionType(_REAL, [one.type for one in given])
        return builder.call(builder.inttoptr(arguments[0], head.as_pointer()), given)

    return types.float64(address, a, b, c, d, e, f), codegen


def _array(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """A C-contiguous array of Numba from its address and shape."""
    data = builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer())
    return array_value(context, builder, kind, data, shape)


# The border to Python ---------------------------------------------------------------------------------------

# Where objects keep their type, a tuple its items, NumPy's arrays data, rank, shape, type of number, and flags.
_HEAD = object.__basicsize__
_TYPE, _ITEMS = _HEAD - 8, tuple.__basicsize__
_DATA, _RANK, _SHAPE, _NUMBER, _FLAGS = _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 40, _HEAD + 48
_LETTERS = _HEAD + 8  # of a type of number: its kind, its letter, its byte order
_C_CONTIGUOUS_AND_ALIGNED = 0x101


def _border(kernel: Kernel, overload: Any) -> tuple[Any, str]:
    """Library and name of the border of a kernel."""
    context, target = overload.target_context, overload.fndesc
    name = f"elver.{kernel.name}"
    library = context.codegen().create_library(name)
    module = library.create_ir_module(name)
    native = context.declare_function(module, target)
    numbers = [one for one in target.argtypes if not isinstance(one, types.Array | types.BaseTuple)]
    kinds = [_REAL if one == types.float64 else _WORD for one in numbers]
    head = ir.FunctionType(_WORD, [_REAL.as_pointer(), _WORD, _WORD, *kinds])
    function = ir.Function(module, head, name)
    builder = ir.IRBuilder(function.append_basic_block())
    result, array_type, arguments, *given = function.args
    given, count = iter(given), iter(range(1, 10_000))

    def read(address: Any, offset: int, kind: Any = _WORD) -> Any:
        return builder.load(builder.inttoptr(builder.add(address, _WORD(offset)), kind.as_pointer()))

    def refuse(where: Any, number: int) -> None:
        with builder.if_then(where, likely=False):
            builder.ret(_WORD(number))

    def value_of(kind: Any, place: Any) -> Any:
        if _is_tuple(kind):
            item = read(place, 0)
            return context.make_tuple(
                builder, kind, [value_of(one, builder.add(item, _WORD(_ITEMS + 8 * k))) for k, one in enumerate(kind)]
            )
        if not isinstance(kind, types.Array):
            value = next(given)
            return builder.icmp_unsigned("!=", value, _WORD(0)) if kind == types.boolean else value
        array, number = read(place, 0), next(count)
        refuse(builder.icmp_unsigned("!=", read(array, _TYPE), array_type), number)
        half, rank = ir.IntType(32), read(array, _RANK, ir.IntType(32))
        dtype = np.dtype(str(kind.dtype))
        letters = sum(ord(letter) << 8 * k for k, letter in enumerate((dtype.kind, dtype.char, dtype.byteorder)))
        found = builder.and_(read(read(array, _NUMBER), _LETTERS, half), half(0xFFFFFF))
        flags = builder.and_(read(array, _FLAGS, half), half(_C_CONTIGUOUS_AND_ALIGNED))
        fits = [(rank, kind.ndim), (found, letters), (flags, _C_CONTIGUOUS_AND_ALIGNED)]
        wrong = [builder.icmp_unsigned("!=", one, half(wanted)) for one, wanted in fits]
        refuse(builder.or_(wrong[0], builder.or_(wrong[1], wrong[2])), number)
        shape = read(array, _SHAPE)
        return _array(context, builder, kind, read(array, _DATA), [read(shape, 8 * k) for k in range(kind.ndim)])

    values = [
        value_of(kind, builder.add(arguments, _WORD(_ITEMS + 8 * k))) for k, kind in enumerate(target.argtypes)
    ]
    status, value = context.call_conv.call_function(builder, native, target.restype, target.argtypes, values)
    refuse(status.is_error, -1)
    for k, one in enumerate(_results(target.restype)):
        part = builder.extract_value(value, k) if _is_tuple(target.restype) else value
        if one != types.float64:
            part = (builder.uitofp if one == types.boolean else builder.sitofp)(part, _REAL)
        builder.store(part, builder.gep(result, [_WORD(k)]))
    builder.ret(_WORD(0))
    with global_compiler_lock:
        library.add_ir_module(module)
        library.finalize()
    return library, name


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple)


def _results(kind: Any) -> list[Any]:
    """What a kernel returns, one by one."""
    if kind == types.none:
        return []
    return list(kind) if _is_tuple(kind) else [kind]


def _text(kind: Any) -> Any:
    """A type of Numba in the words of the loader."""
    if _is_tuple(kind):
        return kind.instance_class.__name__, [(name, _text(one)) for name, one in zip(kind.fields, kind, strict=True)]
    if isinstance(kind, types.Array):
        return f"{_text(kind.dtype)}[{':,' * (kind.ndim - 1)}::1]"
    return {types.boolean: "b1", types.float64: "f8"}.get(kind, "i8")  # an address is a whole number


def _described(kernel: Kernel) -> tuple[Any, Any, Code]:
    """Libraries of a kernel and of its border, and what the loader must know, yet without objects."""
    overload = compiled(kernel)
    target, (border, name) = overload.fndesc, _border(kernel, overload)
    arguments, results = tuple(map(_text, target.argtypes)), tuple(map(_text, _results(target.restype)))
    several = _is_tuple(target.restype)
    return overload.library, border, Code(target.llvm_func_name, name, arguments, results, several, ())


def addresses(kernel: Kernel) -> tuple[Code, int, int]:
    """A kernel compiled in this process: where Numba put it and its border."""
    library, border, code = _described(kernel)
    return code, library.get_pointer_to_function(code.symbol), border.get_pointer_to_function(code.border)


# The process that compiles ----------------------------------------------------------------------------------


def store(kernel: Kernel) -> None:
    """Compile a kernel into the cache; one without types of its own with all that its solver as plain Python calls."""
    solver = owner(kernel)
    for one in [kernel] if solver is kernel else sorted(callees(solver), key=lambda other: other.name):
        if one is not kernel and read(one.name):
            continue  # of another solver
        library, border, code = _described(one)
        code_of_border = border.emit_native_object()  # nothing to optimise: straight on from one array to the next
        how = {"unroll": one.name in UNROLLED, "in_vectors": one.name in IN_VECTORS}
        objects = library.machine_code(code.symbol, **how), bytes(code_of_border)
        write(one.name, code._replace(objects=objects))


def prepare() -> None:
    """Make Numba quick at what kernels need, in a process that does nothing else."""
    gc.disable()  # Numba keeps most of what it makes, and looking through it takes a tenth of the time
    if LEAN:
        make_numba_quick()
    codegen = cpu_target.target_context.codegen()
    codegen._library_class, codegen.set_env = Library, lambda *_: None  # no code here that an environment is for


def work() -> None:
    """Compile the kernels whose names come in, line by line; answer each with a line."""
    prepare()
    for line in sys.stdin:
        store(find(line.strip()))
        print(flush=True)
