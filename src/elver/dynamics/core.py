"""Kernels of one system: its program, a work space, and the ways into the compiled residual, tangent and solvers.

Theory: docs/theory/recursion.md, eq. (residual), (rows), (tangent), (front).
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from elver.actuation import ActiveStress
from elver.dynamics.assembly import Assembly, assembly_of, compile_system
from elver.dynamics.completion import Repeated, measure_cables, reduce_rows
from elver.dynamics.increments import Increments, choose_increments, steps_along_tree
from elver.dynamics.passages import passage_of
from elver.dynamics.states import Arrays
from elver.dynamics.structure import Structure, Values, check_rows, locked
from elver.environment import FrameLoad
from elver.errors import BadInput, expect
from elver.kernels.build import entry
from elver.kernels.build.load import load, raised
from elver.kernels.build.plain import InPython
from elver.kernels.build.tables import PROTOTYPE, ROOM, named_types, robot_of, table_of
from elver.kernels.build.warmup import COMMON, ensure
from elver.kernels.march.memory import (
    Scratch,
    Track,
    iteration_for,
    place_for,
    track_for,
    trial_for,
)
from elver.kernels.march.passage import Passage, words_of
from elver.kernels.tree.articulated import Sweep, sweep_for
from elver.kernels.tree.front import Front, Order, front_for, front_types, order_of
from elver.kernels.tree.program import Program, laws_of, with_matrix, work_for
from elver.mechanism import Driven
from elver.rods import Spectral
from elver.system import System

__all__ = ["Core", "core", "structure_of", "values_of"]

Array = NDArray[np.float64]

_SYSTEM = "System(Mechanism.clamped(rod))"
_SIX = np.eye(6)

class Core:
    """Kernels of one system: its program, which nobody writes to, and the work space of one thread or one run.

    :func:`core` hands out one for each thread; a run, which remembers a matrix from step to step, takes its own
    (:meth:`with_own_work`).
    """

    def __init__(self, system: System, structure: Structure | None = None, assembly: Assembly | None = None) -> None:
        self.system = system
        if assembly is None:
            assembly = assembly_of(system) if structure is None else compile_system(system, structure)
        self.assembly = assembly
        program = self.assembly.program
        # the arrays that are completed below are its own: the assembly is shared
        own = {name: getattr(program, name).copy() for name in ("tendon_length", "row_axes", "row_soft")}
        self.n = system.n
        self.coordinates = self.n + 6 * int(system.free)
        self.rows = len(system.multipliers)
        self.driven = isinstance(system.mechanism.base, Driven)
        self._take(program._replace(**own))
        if self.program.span_tendon.size:
            measure_cables(self)
        known = None if structure is None else Repeated(structure.dropped, structure.shared)
        repeated = reduce_rows(self, known) if len(self.program.row_axes) else Repeated()
        self.structure = replace(self.assembly.structure, dropped=repeated.always, shared=repeated.closed)
        if structure is not None:
            check_rows(self.structure, structure)
        self.values = self.assembly.values._replace(**{name: locked(array) for name, array in own.items()})

    def _take(self, program: Program) -> None:
        """Work on this program, in new arrays."""
        self.program = program
        self.__dict__.pop("order", None)
        self.__dict__.pop("_rest", None)
        self.work = work_for(program)
        if not self.along_tree:
            self.program, self.work = with_matrix(program, self.work)
        self.robot = robot_of(self.program, self.work)

    def make_room(self) -> None:
        """Make the arrays of the dense matrix, where they are not there yet."""
        if self.work.matrix.size:
            return
        self.program, self.work = with_matrix(self.program, self.work)
        words = table_of(named_types(), self.program, self.work)
        self.robot[-words.size :] = words

    def _make_room_for(self, scratch: Scratch) -> None:
        """The same while a solver is at work with ``scratch``, at the first matrix that elimination cannot replace."""
        owner = weakref.ref(self)

        def make(*_: Any) -> float:
            try:
                if (own := owner()) is not None:
                    own.make_room()
                    scratch.use_matrix(own.work.matrix, own.work.pivots)
            except BaseException as error:  # no Python may be left in the midst of compiled code
                raised[threading.get_ident()] = error
            return 0.0

        self._maker = PROTOTYPE(make)
        self.robot[ROOM] = ctypes.cast(self._maker, ctypes.c_void_p).value or 0

    def with_own_work(self) -> Self:
        """The same kernels with a work space of their own."""
        other = self._alike()
        other.work = work_for(self.program)
        if not other.along_tree:
            _, other.work = with_matrix(self.program, other.work)
        # a robot ends with the addresses and shapes of its work; those of the program were checked already
        words = [word for array in other.work for word in (array.ctypes.data, *array.shape)]
        other.robot = self.robot.copy()
        other.robot[-len(words) :] = words
        return other

    def _alike(self) -> Self:
        """All but the work space."""
        other = object.__new__(type(self))
        with_work = {"work", "robot", "released", "sweep", "apart", "powers", "_power", "_rest", "_maker"}
        with_work |= {"front", "mass_front"}
        # a copy first: another thread may just be adding one of these
        other.__dict__.update((name, value) for name, value in dict(vars(self)).items() if name not in with_work)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # addresses mean nothing elsewhere
        return core, (self.system,)

    def moves(self, a: Arrays, u: Array) -> bool:
        """True where a base that is driven, or an imposed coordinate, carries along what is at rest in it."""
        if self.driven and a.twist.any():
            return True
        first, count = len(self.system.channels), 2 * len(self.system.imposed)
        return count > 0 and bool(u[first : first + count].any())

    def jets(self, a: Arrays, u: Array, asked: int) -> int:
        """Rates to be computed with: none (1) at rest, unless that is rest in a frame that moves; else all (3)."""
        return 3 if asked == 3 or self.moves(a, u) else 1

    def residual(self, a: Arrays, u: Array, jets: int = 3) -> Array:
        """R with closure rows below, (coordinates + rows,); ``jets`` = 1 at rest in the frame of the base."""
        jets = self.jets(a, u, jets)
        entry.evaluate_residual(self.robot, a.base, a.twist, a.q, a.multipliers, u, jets)
        return self.work.residual.copy()

    def tangent(self, a: Arrays, u: Array, weights: tuple[float, float, float], jets: int = 3) -> Array:
        """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks, in body variations of the base."""
        at_rest, jets = jets == 1, self.jets(a, u, jets)
        self.make_room()
        w = np.array(weights, dtype=float)
        columns = (w[:, None, None] * _SIX).reshape(18, 6)
        entry.evaluate_residual(self.robot, a.base, a.twist, a.q, a.multipliers, u, jets)
        entry.evaluate_tangent(self.robot, a.base, a.q, a.multipliers, u, columns, w, jets)
        return self.with_imposed_rows(self.work.matrix.copy()) if at_rest else self.work.matrix.copy()

    def with_imposed_rows(self, matrix: Array) -> Array:
        """The tangent of statics, in which an imposed coordinate has the row δq = 0."""
        own = self.coordinates - self.n + self.program.imposed[:, 0]
        matrix[own, own] = 1.0
        return matrix

    def input_slope(self, a: Arrays, u: Array, channel: int) -> Array:
        """∂R/∂u of one input at rest: exact where R is affine in it, or a column where it is a coordinate."""
        if isinstance(self.system.channels[channel], ActiveStress | FrameLoad):
            return self.input_difference(a, u, channel, 1)
        for k, column, *_ in self.program.imposed:
            if column == channel:
                return self.tangent(a, u, (1.0, 0.0, 0.0), jets=1)[:, self.coordinates - self.n + k] * (
                    np.arange(self.coordinates + self.rows) != self.coordinates - self.n + k
                )
        step = max(1.0, abs(u[channel]))
        v = u.copy()
        v[channel] += step
        return (self.residual(a, v, jets=1) - self.residual(a, u, jets=1)) / step

    def input_difference(self, a: Arrays, u: Array, channel: int, jets: int) -> Array:
        """∂R/∂u of a function of one's own, which need not be affine, by central differences."""
        step = float(np.cbrt(np.finfo(float).eps)) * max(1.0, abs(u[channel]))
        ends = []
        for sign in (1.0, -1.0):
            v = u.copy()
            v[channel] += sign * step
            ends.append(self.residual(a, v, jets))
        return (ends[0] - ends[1]) / (2.0 * step)

    def own_energies(self, q: Array, u: Array) -> Array:
        """Energies [J] of stresses of one's own, at coordinates (n,): those of laws beside their linear part."""
        jets = np.zeros((3, self.n))
        jets[0] = q
        load("terms.own_functions.own_energies").call(self.robot, jets, np.ascontiguousarray(u))
        return self.work.own_energy.copy()

    @property
    def fault(self) -> str:
        """Which function of one's own gave no finite number since it was forgotten, and where; empty where none did."""
        which, s, *x = self.work.own_fault.tolist()
        if which > 0.0:
            one = self.assembly.own.asked[int(which) - 1]
            return f"{one.label} is not finite at {one.place(np.array(x), s, math.nan).split(' with')[0]}"
        if which < 0.0:
            return f"load {self.assembly.own.loads[int(-which) - 1].name!r} is not finite at the position {x[:3]} m"
        return ""

    def efforts(self, base: Array, twist: Array, q: Array, multipliers: Array, u: Array) -> Array:
        """What imposes the motion of each imposed coordinate, for many states with time first."""
        out = np.zeros((q.shape[0], self.program.imposed.shape[0]))
        free = self.coordinates - self.n
        for t, row in enumerate(out):
            a = Arrays(base[t], twist[t].copy(), q[t].copy(), multipliers[t])
            R = self.residual(a, u[t])
            if not self.rows:
                # Gauss methods extrapolate accelerations to the end of a step, which would cost the effort their order:
                # those of the other coordinates are what balance asks for.
                M = self.tangent(a, u[t], (0.0, 0.0, 1.0))
                try:
                    step = np.linalg.solve(M, -R)
                except np.linalg.LinAlgError:  # a motion without inertia is in balance at any acceleration
                    step = np.linalg.lstsq(M, -R, rcond=None)[0]
                a.twist[1] += step[:6] if free else 0.0
                a.q[2] += step[free:]
                self.residual(a, u[t])
            row[:] = self.work.effort
        return out

    def base_wrench(self, a: Arrays, u: Array) -> Array:
        """Body wrench (6,) that must act on the base for this motion, right behind :meth:`residual` there."""
        R = a.base[:3]
        return np.concatenate([R.T @ self.work.force[0, :3], R.T @ self.work.force[0, 3:]])

    @cached_property
    def released(self) -> Core:
        """The same kernels with no motion imposed: coordinates are those of the state, and no row is left out."""
        if not self.program.imposed.size:
            return self
        other = self._alike()
        other._take(self.program._replace(imposed=np.zeros((0, 4), dtype=np.int64)))
        return other

    @cached_property
    def apart(self) -> Core:
        """The same equations with a frame of its own for each part, load and closure, and no motion imposed.

        After a residual, ``work.force`` then holds the wrench that passes through each joint and along each rod.
        """
        other = self._alike()
        other.assembly = compile_system(self.system, self.structure, apart=True)
        # cables were measured and closure rows that repeat others dropped on the equations that are solved
        own, solved = other.assembly.program, self.program
        other._take(
            own._replace(
                imposed=np.zeros((0, 4), dtype=np.int64), tendon_length=solved.tendon_length,
                row_axes=solved.row_axes, row_soft=solved.row_soft,
            )
        )  # fmt: skip
        return other

    @cached_property
    def elastic(self) -> Array:
        """Stiffness of rods and joint springs, (n, n)."""
        return laws_of(self.program)[0]

    @property
    def tied(self) -> bool:
        """True where closures, holds or free spans of cables tie the tree."""
        return self.rows > 0 or self.program.span_tendon.size > 0

    @cached_property
    def increments(self) -> Increments:
        """Which way of finding Newton's increments is the quicker."""
        return choose_increments(self.program, self.coordinates, self.rows)

    @cached_property
    def along_tree(self) -> bool:
        """True where Newton's increments are found by elimination along the tree."""
        return self.increments.along_tree

    @cached_property
    def order(self) -> Order:
        """In which order coordinates are eliminated."""
        found = self.assembly
        points = [at.frames[at.weights > 0.0] for at in found.rods.values()]
        frames = np.concatenate(points) if points else np.zeros(0, dtype=np.int64)
        return order_of(self.program, frames, found.scale, found.length, found.energy)

    @cached_property
    def front(self) -> Front:
        """Scratch and factors of the elimination along the tree."""
        return front_for(self.program, self.order)

    @cached_property
    def steps_along_tree(self) -> bool:
        """True where conserving steps are: nothing is wound, floats apart, is imposed or asks Python."""
        return steps_along_tree(self)

    def scratch(self, stages: int = 0, passage: Passage | None = None) -> Scratch:
        """Arrays of a solver; ``stages`` of a Gauss method, 0 for others; ``passage`` of conserving steps."""
        unknowns = self.coordinates + self.rows
        residual = None if passage is None else passage.residual
        along_tree = self.along_tree and (stages == 0 or (stages == 1 and self.rows == 0))
        if passage is not None:
            along_tree = passage.mass_front.size > 0
        if not along_tree:
            self.make_room()
        w = self.work
        if stages == 0 and residual is None:
            residual = w.residual
        it = iteration_for(unknowns, max(stages, 1), residual, self.table if along_tree else None)
        if stages == 0 or along_tree:  # else matrices of stages go into a larger one
            it = it._replace(matrix=w.matrix, pivots=w.pivots)
        trial = trial_for(self.coordinates, self.n, self.rows, self.assembly.scale, it.x)
        return Scratch(it, trial, place_for(self.n, self.rows))

    @property
    def kept(self) -> tuple[NDArray[Any], ...]:
        """What a run remembers from step to step beside its scratch: the factors of its last matrix along the tree."""
        return tuple(self.front) if self.along_tree else ()

    @property
    def table(self) -> NDArray[np.int64]:
        """Order and front as compiled code takes them."""
        return table_of(front_types(), self.order, self.front)

    def solve_static(self, a: Arrays, u: Array, control: tuple[float, int, float]) -> tuple[int, Array]:
        """Newton for an equilibrium, in place: :func:`elver.kernels.march.rest.solve_static`.

        ``control``: tolerance, most iterations and longest step. Its status, and the norms of the residual.
        """
        most = control[1]
        rest: tuple[Scratch, Track] | None = self.__dict__.get("_rest")
        if rest is None or rest[0].iteration.history.size < most:
            scratch = self.scratch()
            scratch.iteration = scratch.iteration._replace(history=np.zeros(most))
            scratch.place.scheme[0, 0] = self.assembly.energy
            rest = self.__dict__["_rest"] = scratch, track_for(1, self.system.input_size)
        scratch, track = rest
        scratch.iteration.control[:3] = control
        self.work.own_fault[0] = 0.0
        status = self.solve("statics", scratch, track, a.base, a.twist, a.q, a.multipliers, u)
        return status, scratch.iteration.history[:most]

    def solve(self, scheme: str, scratch: Scratch, track: Track, *more: Any) -> int:
        """The compiled solver of a scheme (:mod:`elver.kernels.march`); number of steps, or of iterations, or a status.

        ``scheme``: "statics", "one-step", "gauss" or "conserving"; ``more`` is what its solver takes beside.
        """
        further = [words_of(one) for one in more if isinstance(one, Passage)]
        table = scratch.table(entry.calls_of(scheme, scratch.iteration.front.size > 0), track, *further)
        if scratch.iteration.front.size and not scratch.iteration.matrix.size:
            self._make_room_for(scratch)
        return entry.solver_of(scheme)(self.robot, table, *more[len(further) :])

    def passage(self) -> Passage:
        """What conserving steps carry on and work with."""
        return passage_of(self, self.mass_table if self.steps_along_tree else None)

    @cached_property
    def mass_front(self) -> Front:
        """The same for the matrix of inertia alone."""
        return front_for(self.program, self.order)

    @property
    def mass_table(self) -> NDArray[np.int64]:
        """Order and front of that matrix as compiled code takes them."""
        return table_of(front_types(), self.order, self.mass_front)

    def march_explicit(self, scratch: Scratch, track: Track, stages: int) -> int:
        """Runge-Kutta steps: :func:`elver.kernels.march.explicit.march_explicit`."""
        table = scratch.table(entry.calls_of("explicit", False), track)
        return entry.march_explicit(self.robot, table, self.sweep, stages)

    @cached_property
    def sweep(self) -> Sweep:
        """Scratch arrays of the sweeps that find accelerations in O(n)."""
        return sweep_for(self.program)

    def solve_in_python(
        self, scheme: str, of_robot: tuple[Any, Any, Any], scratch: Scratch, track: Track, *more: Any
    ) -> int:
        """:meth:`solve` as plain Python, with residual, frames and matrix that call back; never along the tree."""
        solver, calls = entry.solver_in_python(scheme, *of_robot)
        views = calls, scratch.iteration, scratch.trial, scratch.place, track
        return int(solver(InPython((self.program, self.work), self.robot), views, *more))


class _Cores(threading.local):
    """The core of each thread that uses a system: a work space, and one program for all."""

    own: Core | None = None


_making = threading.RLock()


def _renew_lock() -> None:
    """A forked child has no thread that could give back the lock of its parent."""
    global _making
    _making = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def core(system: System, structure: Structure | None = None) -> Core:
    """The kernels of ``system`` with the work space of this thread; the program is made once.

    With a ``structure``, the system is taken as a design of it: BadInput names what does not fit.
    """
    kept: tuple[Core, _Cores] | None = system.__dict__.get("_core")
    if kept is None:
        with _making:
            kept = system.__dict__.get("_core")
            if kept is None:
                first = _make_core(system, structure)
                kept = first, _Cores()
                kept[1].own = first
                system.__dict__["_core"] = kept
                system.__dict__["_assembly"] = first.assembly
    first, cores = kept
    if structure is not None and first.structure != structure:
        raise BadInput("the system was computed with in a structure of its own before: make the design anew")
    if cores.own is None:
        cores.own = first.with_own_work()
    return cores.own


def _make_core(system: System, structure: Structure | None, assembly: Assembly | None = None) -> Core:
    ensure(COMMON, "the numeric core", 20)
    if any(isinstance(rod.integration, Spectral) for rod in system.mechanism.rods):
        from elver.dynamics.spectral import SpectralCore  # a Core itself, so it cannot be imported above

        return SpectralCore(system, structure, assembly)
    if system.feedback:
        from elver.dynamics.feedback import FeedbackCore  # likewise

        return FeedbackCore(system, structure, assembly)
    return Core(system, structure, assembly)


def structure_of(system: System) -> Structure:
    """What all designs of ``system`` share: its parts, loads and actuators by name, and the layout of its unknowns.

    >>> structure = structure_of(arm(length=0.4))
    >>> values = values_of(structure, arm(length=0.5))
    """
    expect("structure_of", "system", system, System, wanted="a System", example=_SYSTEM)
    return core(system).structure


def values_of(structure: Structure, system: System) -> Values:
    """Numbers of the design ``system`` of ``structure``, in arrays of the same shapes for all designs; read-only.

    The same parts, joints, actuators and loads by name, with other numbers: lengths, stiffnesses, masses, offsets,
    places. BadInput names the part that makes another structure of it. Nothing is kept with the system.
    """
    expect("values_of", "structure", structure, Structure, wanted="a Structure", example="structure_of(system)")
    expect("values_of", "system", system, System, wanted="a System", example=_SYSTEM)
    found = compile_system(system, structure)
    if found.values.row_axes.size or found.program.span_tendon.size:  # completed where kernels can be called
        return _make_core(system, structure, found).values
    return found.values
