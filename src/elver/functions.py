"""Functions of a user's own that compiled code calls: Python, Numba's subset of it, or a C function.

Section laws, actuators and loads share one form in C, ``double f(a, b, input, parameters, out, slope)``, in which
arrays are addresses of doubles (:mod:`elver.kernels.terms.own_functions`). As Python functions they read

    law        (strain (6,), s, parameters, stress (6,), slope (6, 6))              -> energy per length
    actuator   (xi (6,), s, input, parameters, stress (6,), slope (6, 6))           -> energy per length, or nothing
    load       (g (4, 4), eta (6,), input, parameters, wrench (6,), slope (6, 12))  -> nothing

and write into the last two, which come as zeros. Such a function is called from compiled code as it is, the slow lane;
marked with :func:`compiled` it becomes machine code. A ``numba.cfunc``, or the address of a C function, serves as well.

Compiled code runs without Python's lock, which a Python function takes; what it raises is kept until compiled code has
come back, and raised then. Addresses belong to one process and never travel.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import inspect
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, get_ident
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput, finite
from elver.kernels.build.load import raised
from elver.kernels.build.tables import PROTOTYPE
from elver.lie import se3
from elver.words import describe

__all__ = [
    "ACTUATOR", "LAW", "LOAD", "Asked", "Compiled", "Form", "Function", "as_function", "check_slopes", "compiled",
]  # fmt: skip

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Any  # a Python function, a Compiled one, a numba.cfunc, or the address of a C function

_making = Lock()
_ON_FRAME = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 3
)


@dataclass(frozen=True)
class Form:
    """What a kind of function is given, and writes."""

    arguments: tuple[str, ...]  # the last is the slope, which Python functions may leave out
    first: tuple[int, ...]  # shape of its first argument
    slope: tuple[int, int]
    prototype: Any

    @property
    def text(self) -> str:
        """How it is written."""
        return f"({', '.join(self.arguments)})"


LAW = Form(("strain", "s", "parameters", "stress", "slope"), (6,), (6, 6), PROTOTYPE)
ACTUATOR = Form(("xi", "s", "input", "parameters", "stress", "slope"), (6,), (6, 6), PROTOTYPE)
LOAD = Form(("g", "eta", "input", "parameters", "wrench", "slope"), (4, 4), (6, 12), _ON_FRAME)


class Compiled:
    """A Python function that :func:`compiled` marked; called from Python it is that function."""

    def __init__(self, function: FunctionType) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


class AtAddress:
    """A C function given by its address, or as a ``numba.cfunc``; it belongs to this process."""

    def __init__(self, address: int, owner: Any = None) -> None:
        self.address, self.owner = address, owner

    def __call__(self, *_: Any) -> Any:
        raise TypeError("compiled code calls addresses")

    def __deepcopy__(self, _: Any) -> AtAddress:
        return self

    def __reduce__(self) -> Any:
        raise pickle.PicklingError(
            "a C function given by its address cannot be sent to another process, where that address means something "
            "else: mark its Python source with compiled, which is compiled again there, or build the system there"
        )


def as_function(label: str, form: Form, function: Any) -> Any:
    """``function`` if it can be asked; what has an address, wrapped."""
    address = getattr(function, "address", function)
    if isinstance(function, AtAddress | Compiled):
        return function
    if isinstance(address, int) and not isinstance(address, bool) and address > 0:
        return AtAddress(address, function)
    if not callable(function) or isinstance(function, type):
        raise BadInput(f"{label}: function is {describe(function)}; give a function {form.text}")
    return function


def compiled(function: FunctionType) -> Compiled:
    """Mark a function of one's own, written in Numba's subset of Python, to be compiled where it is first needed.

    >>> @compiled
    ... def spring(strain, s, parameters, stress, slope):
    ...     stress[2], slope[2, 2] = parameters[0] * strain[2], parameters[0]
    ...     return 0.5 * parameters[0] * strain[2] ** 2
    """
    if not isinstance(function, FunctionType):
        raise BadInput(f"compiled: {describe(function)} is no function; write @compiled above a def")
    if any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(function)):
        raise BadInput(
            f"compiled: {function.__name__} raises an exception, which machine code cannot: return float('nan') where "
            "it has no answer (a solver then takes a shorter step), or leave @compiled out"
        )
    return Compiled(function)


class Asked:
    """A function of one's own with its parameters, for Python and, at its :attr:`address`, for compiled code."""

    def __init__(self, label: str, form: Form, function: Any, parameters: Any) -> None:
        self.label, self.form, self.function = label, form, function
        self.parameters = finite(f"{label}: parameters", np.atleast_1d(parameters), (-1,), "SI units")
        self.differences = False
        plain = function.py_func if isinstance(function, Compiled) else function
        if isinstance(plain, FunctionType | functools.partial):
            self._check_arguments(plain, not isinstance(function, Compiled))
            self._run: Callable[..., Any] = self._plain(plain)
        elif isinstance(function, AtAddress):
            self._run = self._from_address(function.address)
        else:
            self._run = self._plain(plain)

    def _check_arguments(self, function: Any, may_leave_out: bool) -> None:
        wanted, found = len(self.form.arguments), len(inspect.signature(function).parameters)
        self.differences = may_leave_out and found == wanted - 1
        if found != wanted and not self.differences:
            name = getattr(function, "__name__", "function")
            raise BadInput(f"{self.label}: {name} takes {found} arguments; let it take {wanted}, {self.form.text}")

    @property
    def code(self) -> str:
        """Name of the function, by which two designs of one structure are told apart."""
        plain = getattr(self.function, "py_func", self.function)
        return getattr(plain, "__qualname__", None) or type(self.function).__name__

    def _plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self.form is LAW:
            return lambda x, s, _, *more: function(x, s, *more)
        return function

    def _from_address(self, address: int) -> Callable[..., float]:
        call = self.form.prototype(address)

        def run(*arguments: Any) -> float:
            return float(call(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]))

        return run

    # In Python ----------------------------------------------------------------------------------------------

    def evaluate(self, a: Array, b: Any, amount: float = 0.0) -> tuple[Array, Array, float | None]:
        """What it writes (6,), its slope, and its energy; BadInput where one is not finite."""
        out, slope, energy = self.ask(a, b, amount)
        for what, value in (("stress", out), ("slope", slope), ("energy", energy)):
            if value is not None and not np.all(np.isfinite(value)):
                found = np.asarray(value).tolist()
                raise BadInput(f"{self.label}: its {what} is {found} at {self.place(a, b, amount)}")
        return out, slope, energy

    def ask(self, a: Array, b: Any, amount: float) -> tuple[Array, Array, float | None]:
        """The same, not checked."""
        out, slope = np.zeros(6), np.zeros(self.form.slope)
        # copies: a function that works in place must not move the robot
        given = np.array(a, dtype=float), (b.copy() if isinstance(b, np.ndarray) else b), amount, self.parameters.copy()
        if not self.differences:
            energy = self._run(*given, out, slope)
        else:
            energy = self._run(*given, out)
            self._differences(given, slope)
        return out, slope, None if energy is None else float(energy)

    def _differences(self, given: tuple[Any, ...], slope: Array) -> None:
        """Central differences: truncation and rounding are balanced at the cube root of the rounding unit."""
        a, b, *more = given
        size = float(np.cbrt(np.finfo(float).eps))
        for k in range(slope.shape[1]):
            step = size * max(1.0, abs(a[k] if self.form is not LOAD else b[k - 6] if k >= 6 else 0.0))
            ends = []
            for sign in (1.0, -1.0):
                x, y = moved(self.form, a, b, k, sign * step)
                out = np.zeros(6)
                self._run(x, y, *more, out)
                ends.append(out)
            slope[:, k] = (ends[0] - ends[1]) / (2.0 * step)

    def place(self, a: Array, b: Any, amount: float) -> str:
        """Where it was asked, in words."""
        values = np.array2string(np.asarray(a).ravel() if self.form is not LOAD else a[:3, 3], precision=4)
        if self.form is LOAD:
            return f"the position {values} m, the twist {np.array2string(b, precision=4)} and the input {amount:g}"
        asked = f"the {self.form.arguments[0]} {values} and s = {b:g} m"
        return asked if self.form is LAW else f"{asked} with the input {amount:g}"

    # At an address ------------------------------------------------------------------------------------------

    @property
    def address(self) -> int:
        """Where compiled code of this process calls it, as long as this object lives."""
        if isinstance(self.function, AtAddress):
            return self.function.address
        if isinstance(self.function, Compiled):
            with _making:
                return int(machine_code(self.function, self.form, self.parameters.size).address)
        made = self.__dict__.setdefault("_made", self.form.prototype(self._callback))  # of two threads, the first one's
        return int(ctypes.cast(made, ctypes.c_void_p).value or 0)

    def _callback(self, a: int, b: Any, amount: float, _: int, out: int, slope: int) -> float:
        """Called by compiled code; what the function raises waits until that has come back."""
        thread = get_ident()
        written = _view(out, (6,))
        if thread in raised:
            written[:] = math.nan
            return math.nan
        first = _view(a, self.form.first)
        second = _view(b, (6,)) if self.form is LOAD else b
        try:
            written[:], _view(slope, self.form.slope)[:], energy = self.ask(first, second, amount)
        except BaseException as error:
            error.add_note(f"in {self.label}, at {self.place(first, second, amount)}")
            raised[thread] = error
            written[:] = math.nan
            return math.nan
        return 0.0 if energy is None else energy


def moved(form: Form, a: Array, b: Any, k: int, step: float) -> tuple[Array, Any]:
    """The first two arguments of a function, one component of what it varies with changed."""
    x, y = a.copy(), b
    if form is not LOAD:
        x[k] += step
    elif k >= 6:
        y = b.copy()
        y[k - 6] += step
    else:
        x = a @ se3.exp(step * np.eye(6)[k])
    return x, y


# Central differences with this step, of what "one" is, are right to its square: the tolerance has room beyond that.
_STEP, _TOLERANCE = 1e-5, 1e-5


def check_slopes(asked: Asked, places: list[tuple[Array, Any, float]], unit: Array) -> bool:
    """BadInput where the slope is not that of what is written, or that not the slope of the energy.

    ``unit`` is a large change of each of what the slope is with. True where an energy is known at these ``places``;
    one that is never anything but zero, beside a stress, is not.
    """
    energies, sizes = [], []
    for a, b, amount in places:
        out, slope, energy = asked.evaluate(a, b, amount)
        energies.append(energy)
        sizes.append(float(np.max(np.abs(out))))
        if not asked.differences:
            _check_slope(asked, (a, b, amount), out, slope, unit)
    known = asked.form is not LOAD and None not in energies and (any(energies) or not any(sizes))
    if known:
        for place, energy in zip(places, energies, strict=True):
            _check_energy(asked, place, float(energy or 0.0), unit)
    return known


def _check_slope(asked: Asked, at: tuple[Array, Any, float], out: Array, slope: Array, unit: Array) -> None:
    rows = unit[:6]
    size = np.abs(slope) * rows[:, None] * unit
    floor = np.sqrt(np.outer(size.max(axis=1), size.max(axis=0))) + 1e-3 * np.abs(out * rows)[:, None]
    for k, one in enumerate(unit):
        found = _difference(asked, at, k, _STEP * one, 0)
        wrong = np.abs(found - slope[:, k]) * rows * one > _TOLERANCE * floor[:, k] + 1e-300
        if np.any(wrong):
            i = int(np.argmax(wrong))
            name = asked.form.arguments[-2]
            raise BadInput(
                f"{asked.label}: slope[{i}, {k}] = {slope[i, k]:.6g}, but {name}[{i}] changes by {found[i]:.6g} per "
                f"unit at {asked.place(*at)}: let slope[i, k] be the derivative of {name}[i], or leave the argument "
                "out of a Python function"
            )


def _check_energy(asked: Asked, at: tuple[Array, Any, float], energy: float, unit: Array) -> None:
    stress, slope, _ = asked.evaluate(*at)
    for k, one in enumerate(unit):
        found = _difference(asked, at, k, _STEP * one, 2)
        size = max(abs(stress[k]), abs(float(found))) * one + abs(slope[k, k]) * one**2
        if abs(found - stress[k]) * one > _TOLERANCE * size + 1e-8 * abs(energy) + 1e-300:
            raise BadInput(
                f"{asked.label}: {asked.form.arguments[-2]}[{k}] = {stress[k]:.6g}, but the energy that it returns "
                f"changes by {float(found):.6g} per unit at {asked.place(*at)}: a stress is the slope of its energy"
            )


def _difference(asked: Asked, at: tuple[Array, Any, float], k: int, step: float, which: int) -> Any:
    a, b, amount = at
    plus, minus = (asked.evaluate(*moved(asked.form, a, b, k, sign * step), amount)[which] for sign in (1.0, -1.0))
    assert plus is not None  # asked for where it is known only
    assert minus is not None
    return (plus - minus) / (2.0 * step)


def _view(address: int, shape: tuple[int, ...]) -> Array:
    """The doubles at an address."""
    memory: Any = (ctypes.c_double * math.prod(shape)).from_address(address)
    return np.frombuffer(memory).reshape(shape)


@functools.cache
def machine_code(function: Compiled, form: Form, parameters: int) -> Any:
    """The C function of a marked one, made by Numba in this process."""
    from numba import carray, cfunc, njit, types  # a second to import: only where something is compiled

    vector, matrix, real = types.float64[::1], types.float64[:, ::1], types.float64
    inner = njit(error_model="numpy")(function.py_func)
    first, slope, of_law, on_frame = form.first, form.slope, form is LAW, form is LOAD
    kinds = [matrix if on_frame else vector, vector if on_frame else real, real, vector, vector, matrix]
    if of_law:
        del kinds[2]
    inner.compile(tuple(kinds))
    made: Any = inner.overloads[tuple(kinds)]
    silent = made.signature.return_type == types.none
    take = _takers(inner, carray, first, slope, parameters)[("law" if of_law else "load" if on_frame else "actuator")]
    pointer = types.CPointer(real)
    head = real(pointer, pointer if on_frame else real, real, pointer, pointer, pointer)
    if silent:
        return cfunc(head, error_model="numpy")(take[1])
    return cfunc(head, error_model="numpy")(take[0])


def _takers(
    inner: Any, carray: Any, first: tuple[int, ...], slope: tuple[int, int], n: int
) -> dict[str, tuple[Callable[..., float], Callable[..., float]]]:
    """From addresses to arrays, for each form: of functions that return an energy, and of those that do not."""

    def law(a, b, c, p, out, d):
        return float(inner(carray(a, first), b, carray(p, (n,)), carray(out, (6,)), carray(d, slope)))

    def actuator(a, b, c, p, out, d):
        return float(inner(carray(a, first), b, c, carray(p, (n,)), carray(out, (6,)), carray(d, slope)))

    def load(a, b, c, p, out, d):
        return float(inner(carray(a, first), carray(b, (6,)), c, carray(p, (n,)), carray(out, (6,)), carray(d, slope)))

    def silent_law(a, b, c, p, out, d):
        inner(carray(a, first), b, carray(p, (n,)), carray(out, (6,)), carray(d, slope))
        return 0.0

    def silent_actuator(a, b, c, p, out, d):
        inner(carray(a, first), b, c, carray(p, (n,)), carray(out, (6,)), carray(d, slope))
        return 0.0

    def silent_load(a, b, c, p, out, d):
        inner(carray(a, first), carray(b, (6,)), c, carray(p, (n,)), carray(out, (6,)), carray(d, slope))
        return 0.0

    return {"law": (law, silent_law), "actuator": (actuator, silent_actuator), "load": (load, silent_load)}
