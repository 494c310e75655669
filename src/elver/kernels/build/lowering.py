"""From typed kernels to LLVM, in few words: what Numba writes for any Python is several times what a kernel needs.

Kernels index C-contiguous arrays of numbers with integers that are not negative, count with ``range`` in steps that are
written down, count no references and raise nothing. So here

- a variable that is assigned once is a value of LLVM wherever it is used, and not a place in memory;
- an element is one address, without a look whether the index counts from the end; a row is an address and a shape;
- a loop counts up to its end, without a look whether its step is zero;
- a call is a call, without a look whether it raised.

There is less to write, to read and to optimise, and what runs is quicker. Anything else is left to Numba. Where bounds
are checked (:data:`elver.kernels.build.cache.CHECKED`), an index outside its axis, or negative, ends the kernel and all
that called it.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, ir_utils, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

__all__ = ["KernelLowering", "array_value"]

_WORD = llvm.IntType(64)
_NUMBERS = types.float64, types.int64
_ITEMS, _ITEM_SIZE, _DATA, _SHAPE, _STRIDES = 2, 3, 4, 5, 6  # fields of an array of Numba

_OF_REALS = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
_OF_WORDS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
_COMPARISONS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip


def array_value(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """A C-contiguous array of Numba from its address and shape."""
    value, stride = llvm.Constant(context.get_value_type(kind), None), _WORD(8)
    value = builder.insert_value(value, data, _DATA)
    value = builder.insert_value(value, stride, _ITEM_SIZE)
    items = None
    for k in range(len(shape) - 1, -1, -1):
        value = builder.insert_value(value, shape[k], (_SHAPE, k))
        value = builder.insert_value(value, stride, (_STRIDES, k))
        items = shape[k] if items is None else builder.mul(items, shape[k])
        if k:
            stride = builder.mul(stride, shape[k])
    return builder.insert_value(value, items, _ITEMS)


def _is_lean(kind: Any) -> bool:
    """True for the arrays whose elements are reached here."""
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.dtype in _NUMBERS


def _parts(kind: Any) -> list[Any]:
    """The types of a tuple, or the one type of what is none."""
    return list(kind) if isinstance(kind, types.BaseTuple) else [kind]  # type: ignore[call-overload]


class KernelLower(Lower):
    """Writes one kernel."""

    def _find_singly_assigned_variable(self) -> None:
        """Look through the function once."""
        self._blk_local_varmap: dict[str, Any] = {}
        self._singly_assigned_vars = self._values()
        self._counters: dict[int, tuple[Any, Any, int]] = {}
        self._tuples = self._index_tuples()

    # Variables ------------------------------------------------------------------------------------------------

    def _values(self) -> set[str]:
        """Variables that are assigned once, before all their uses."""
        assigned: Counter[str] = Counter()
        home: dict[str, int] = {}
        for label, block in self.blocks.items():
            for one in block.find_insts(ir.Assign):
                assigned[one.target.name] += 1
                home[one.target.name] = label
        values = {name for name, times in assigned.items() if times == 1}
        dominators = compute_cfg_from_blocks(self.blocks).dominators()
        for label, used in compute_use_defs(self.blocks).usemap.items():
            for name in used & values:
                if home[name] >= label or home[name] not in dominators[label]:
                    values.discard(name)
        return values

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Keep a value, or put it where it belongs."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def _made(self, var: Any) -> Any:
        """How a variable was made, None where there are several ways."""
        return ir_utils.guard(ir_utils.get_definition, self.func_ir, var)

    def delvar(self, name: str) -> None:
        """Nothing is counted, so that nothing is done."""

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """The value of an assignment; a tuple that is only an index is not made."""
        if inst.target.name in self._tuples:
            return llvm.Constant(self.context.get_value_type(ty), llvm.Undefined)
        return super().lower_assign(ty, inst)

    # Elements and rows ----------------------------------------------------------------------------------------

    def _index_tuples(self) -> dict[str, list[Any]]:
        """Items of tuples that are indices of arrays and nothing else."""
        made: dict[str, list[Any]] = {}
        uses: Counter[str] = Counter()
        for block in self.blocks.values():
            for one in block.body:
                value = getattr(one, "value", None)
                if isinstance(one, ir.Assign) and isinstance(value, ir.Expr) and value.op == "build_tuple":
                    made[one.target.name] = list(value.items)
                index: Any = None
                array: Any = None
                if isinstance(one, ir.Assign) and isinstance(value, ir.Expr) and value.op == "getitem":
                    index, array = value.index, value.value
                elif isinstance(one, ir.SetItem) and self._is_element(one.target, one.index):
                    index, array = one.index, one.target
                if not isinstance(one, ir.Del):
                    for var in one.list_vars():
                        uses[var.name] += 1
                if index is not None and _is_lean(self.typeof(array.name)) and self._counts(index):
                    uses[index.name] -= 1
        return {
            name: items for name, items in made.items()
            if name in self._singly_assigned_vars and uses[name] == 1  # its own assignment
            and all(item.name in self._singly_assigned_vars for item in items)
        }  # fmt: skip

    def _counts(self, index: Any) -> bool:
        """True where an index is an integer or a tuple of integers."""
        kind = self.typeof(index.name)
        return all(isinstance(one, types.Integer) and getattr(one, "signed", False) for one in _parts(kind))

    def _is_element(self, array: Any, index: Any) -> bool:
        """True where an index has a number for each axis."""
        return getattr(self.typeof(array.name), "ndim", 0) == len(_parts(self.typeof(index.name)))

    def _indices(self, index: Any) -> list[Any]:
        """The numbers of an index."""
        kind, made = self.typeof(index.name), self._made(index)
        if isinstance(made, ir.Const):
            written = made.value if isinstance(made.value, tuple) else (made.value,)
            if min(written) < 0:
                raise IndexError(f"{self.fndesc.qualname}: index {written} counts from the end, which kernels do not")
            return [_WORD(one) for one in written]
        if not isinstance(kind, types.BaseTuple):
            found = [(self.loadvar(index.name), kind)]
        elif index.name in self._tuples:
            found = [(self.loadvar(one.name), self.typeof(one.name)) for one in self._tuples[index.name]]
        else:
            whole = self.loadvar(index.name)
            found = [(self.builder.extract_value(whole, k), one) for k, one in enumerate(_parts(kind))]
        return [self.context.cast(self.builder, value, one, types.intp) for value, one in found]

    def _element(self, kind: Any, array: Any, indices: list[Any]) -> tuple[Any, list[Any]]:
        """Address of an element or row, and the shape of the row."""
        builder = self.builder
        shape = [builder.extract_value(array, (_SHAPE, k)) for k in range(0 if self._is_checked else 1, kind.ndim)]
        if self._is_checked:
            for k, place in enumerate(indices):
                cgutils.do_boundscheck(self.context, builder, place, shape[k], k)
            shape = shape[1:]
        offset = None
        for k in range(kind.ndim):
            if offset is not None:
                offset = builder.mul(offset, shape[k - 1], flags=("nsw",))
            if k < len(indices):
                offset = indices[k] if offset is None else builder.add(offset, indices[k], flags=("nsw",))
        data = builder.gep(builder.extract_value(array, _DATA), [offset], inbounds=True)
        return data, shape[len(indices) - 1 :]

    @property
    def _is_checked(self) -> bool:
        return bool(self.context.enable_boundscheck)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """An element, or a row."""
        kind = self.typeof(value.name)
        if not _is_lean(kind) or not self._counts(index):
            return super().lower_getitem(resty, expr, value, index, signature)
        data, shape = self._element(kind, self.loadvar(value.name), self._indices(index))
        if shape:
            return array_value(self.context, self.builder, resty, data, shape)
        return self.context.cast(self.builder, self.builder.load(data), kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """An element."""
        kind, given = self.typeof(target_var.name), self.typeof(value_var.name)
        if not _is_lean(kind) or not self._counts(index_var) or not self._is_element(target_var, index_var):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        data, _ = self._element(kind, self.loadvar(target_var.name), self._indices(index_var))
        value = self.context.cast(self.builder, self.loadvar(value_var.name), given, kind.dtype)
        return self.builder.store(value, data)

    # Arithmetic -----------------------------------------------------------------------------------------------

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Sums, products and comparisons of two reals or two words; all else as usual."""
        kinds = self.fndesc.calltypes[expr].args
        named = _OF_REALS if kinds == (types.float64,) * 2 else _OF_WORDS if kinds == (types.int64,) * 2 else {}
        if op not in named and not (named and op in _COMPARISONS):
            return super().lower_binop(resty, expr, op)
        a, b = (
            self.context.cast(self.builder, self.loadvar(one.name), self.typeof(one.name), kinds[0])
            for one in (expr.lhs, expr.rhs)
        )
        if op in named:
            flags = ("nsw",) if named is _OF_WORDS else ()
            return self.context.cast(self.builder, getattr(self.builder, named[op])(a, b, flags=flags), kinds[0], resty)
        if named is _OF_WORDS:
            found = self.builder.icmp_signed(_COMPARISONS[op], a, b)
        else:  # with NaN nothing is true, but that it differs
            compare = self.builder.fcmp_unordered if op is operator.ne else self.builder.fcmp_ordered
            found = compare(_COMPARISONS[op], a, b)
        return self.context.cast(self.builder, found, types.boolean, resty)

    # Loops and calls ------------------------------------------------------------------------------------------

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Loops over ranges and fixed places in short; all else as usual."""
        if expr.op == "static_getitem" and expr.index_var is not None and _is_lean(self.typeof(expr.value.name)):
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        if expr.op == "call" and self._step(expr, resty):
            return llvm.Constant(self.context.get_value_type(resty), llvm.Undefined)
        if expr.op == "getiter" and self._start_loop(expr):
            return llvm.Constant(self.context.get_value_type(resty), llvm.Undefined)
        if expr.op == "iternext":
            counter = self._counters.get(id(self._made(expr.value)))
            if counter is not None:
                return self._next(resty, *counter)
        return super().lower_expr(resty, expr)

    def lower_inst(self, inst: Any) -> Any:
        """One line."""
        if isinstance(inst, ir.StaticSetItem) and _is_lean(self.typeof(inst.target.name)):
            return self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
        return super().lower_inst(inst)

    def _step(self, call: Any, kind: Any) -> int:
        """Step of a range of words that is written down; zero for anything else."""
        if kind != types.range_state64_type:
            return 0
        if len(call.args) < 3:
            return 1
        made = self._made(call.args[2])
        return made.value if isinstance(made, ir.Const) else 0

    def _start_loop(self, expr: Any) -> bool:
        """Begin to count, where the loop is over such a range."""
        made = self._made(expr.value)
        step = self._step(made, self.typeof(expr.value.name)) if getattr(made, "op", "") == "call" else 0
        if not step:
            return False
        given = [(self.loadvar(one.name), self.typeof(one.name)) for one in made.args[:2]]
        bounds = [self.context.cast(self.builder, value, kind, types.int64) for value, kind in given]
        start, stop = bounds if len(bounds) == 2 else (_WORD(0), *bounds)
        place = cgutils.alloca_once(self.builder, _WORD)
        self.builder.store(start, place)
        self._counters[id(expr)] = place, stop, step
        return True

    def _next(self, resty: Any, place: Any, stop: Any, step: int) -> Any:
        """The pair of a number and whether it is in the range."""
        builder = self.builder
        now = builder.load(place)
        builder.store(builder.add(now, _WORD(step), flags=("nsw",)), place)
        inside = builder.icmp_signed("<" if step > 0 else ">", now, stop)
        pair = llvm.Constant(self.context.get_value_type(resty), llvm.Undefined)
        return builder.insert_value(builder.insert_value(pair, now, 0), inside, 1)

    def _lower_call_normal(self, fnty: Any, expr: Any, signature: Any) -> Any:
        """A call of another kernel; as Numba does it where the other may fail, or is no kernel."""
        if not isinstance(fnty, types.Dispatcher) or self._is_checked:
            return super()._lower_call_normal(fnty, expr, signature)
        arguments = self.fold_call_args(fnty, signature, expr.args, expr.vararg, expr.kws)
        overload = fnty.dispatcher.overloads[tuple(signature.args)]
        self.context.add_linking_libs([overload.library])
        target = overload.fndesc
        function = self.context.declare_function(self.module, target)
        _, value = self.context.call_conv.call_function(
            self.builder, function, target.restype, target.argtypes, arguments
        )
        return value


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """The pass that writes a kernel."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[KernelLower]:
        """What writes."""
        return KernelLower
