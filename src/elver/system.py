"""System and State: a mechanism with everything that acts on it, and where it is.

A system is a frozen value. Every actuator and every load that something outside can set is a *channel* with one scalar
input: a tension [N], a wound length [m], a pressure [Pa], a torque [N m], a coordinate that is imposed, or the factor
of a load (1 unless given). Water, and springs, friction and stops of joints have none. A state holds coordinates, rates
and the pose of a floating base; algorithms are functions of a system and a state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from elver.acting import Actuator, Channel, Fluid, Load, Settable, check_coordinates, check_target, check_water
from elver.actuation import Imposed, Pressure, Signal, SpooledTendon, evaluate
from elver.environment import Buoyancy, Feedback, Gravity, JointFeedback
from elver.errors import BadInput, describe, expect, finite, refused
from elver.mechanism import Driven, Free, Joint, Mechanism, Part
from elver.mechanism.naming import numbered
from elver.rods import Rod
from elver.values import Carried, of_kind
from elver.words import place

__all__ = ["Balanced", "Channel", "Inputs", "State", "System", "situation"]

Array: TypeAlias = NDArray[np.float64]
Inputs: TypeAlias = Mapping[Any, Signal]


@dataclass(frozen=True, eq=False)
class System(Carried):
    """A mechanism with its actuators and loads; ``title`` is what runs, reports and pages call it.

    >>> system = System(Mechanism.clamped(arm), actuators=[tendon], loads=[Gravity()])
    """

    mechanism: Mechanism
    actuators: Sequence[Actuator] = ()
    loads: Sequence[Load] = ()
    title: str = ""

    def __repr__(self) -> str:
        few = ", ".join(part.name for part in self.channels[:4]) + (", ..." if len(self.channels) > 4 else "")
        inputs = f"inputs {few}" if self.channels else "no inputs"
        title = f" {self.title!r}" if self.title else ""
        return f"System{title} of {self.mechanism.summary}: {self.n} coordinates, {inputs}"

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise refused("System", "mechanism", self.mechanism, "a Mechanism", "Mechanism.clamped(rod)")
        for name, kinds, example in (
            ("actuators", Actuator, "Tendon(rod, path=parallel(y=0.0, z=6e-3))"),
            ("loads", Load, "Gravity()"),
        ):
            given = getattr(self, name)
            if not isinstance(given, kinds) and (isinstance(given, str) or not isinstance(given, Iterable)):
                raise refused("System", name, given, "a list of values", f"[{example}]")
            parts = (given,) if isinstance(given, kinds) else tuple(given)
            for part in parts:
                if not isinstance(part, kinds):
                    raise BadInput(f"{name} contains {describe(part)}: give values such as {example}")
                check_target(self, part)
            object.__setattr__(self, name, parts)
        expect("System", "title", self.title, str, wanted="a text", example='"an arm with two tendons"')
        if sum(isinstance(load, Gravity) for load in self.loads) > 1:
            raise BadInput("loads contains Gravity twice: give it once, with the acceleration in m/s² you want")
        if len({*map(id, self.actuators), *map(id, self.loads)}) < len(self.actuators) + len(self.loads):
            raise BadInput("the same actuator or load is listed twice: list each once")
        check_coordinates(self)
        check_water(self)

    def immersed(self, load: Fluid | Buoyancy) -> tuple[Part, ...]:
        """Parts that are in the water of ``load``: those listed, else all rods and all bodies with mass."""
        return load.acts_on(self.mechanism)

    @property
    def rod(self) -> Rod:
        """The rod, where there is only one."""
        return self.mechanism.rod

    @cached_property
    def blocks(self) -> dict[Rod | Joint, tuple[int, int]]:
        """First coordinate and number of coordinates of each rod and joint, in tree order."""
        tree = self.mechanism.tree
        return {owner: (own.start, owner.n) for owner, own in tree.coordinates if owner.n}

    @cached_property
    def n(self) -> int:
        """Number of coordinates of rods and joints; a floating base has six more."""
        return sum(count for _, count in self.blocks.values())

    @property
    def free(self) -> bool:
        """True when the base pose is unknown."""
        return isinstance(self.mechanism.base, Free)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Actuators, then loads: the order of the input vector."""
        return (*self.actuators, *(load for load in self.loads if isinstance(load, Settable)))

    @cached_property
    def feedback(self) -> tuple[Feedback | JointFeedback, ...]:
        """Loads that are Python functions of time and motion."""
        return tuple(load for load in self.loads if isinstance(load, Feedback | JointFeedback))

    @cached_property
    def imposed(self) -> tuple[Imposed, ...]:
        """Coordinates whose motion is given."""
        return tuple(part for part in self.actuators if isinstance(part, Imposed))

    @property
    def input_size(self) -> int:
        """Entries of the input vector: one per channel, two rates per imposed motion, the time for feedback."""
        return len(self.channels) + 2 * len(self.imposed) + bool(self.feedback)

    def input_index(self, key: Channel | str) -> int:
        """Place of a channel, or of its name, in the input vector; BadInput where the system has none such."""
        for k, part in enumerate(self.channels):
            if key is part:
                return k
        if isinstance(key, str) and key in self.channel_names:
            return self.channel_names.index(key)
        known = ", ".join(repr(name) for name in self.channel_names) or "none: it has no actuator and no load"
        copied = not isinstance(key, str) and getattr(key, "name", None) in self.channel_names
        remedy = "; a copy of a system has parts of its own: send both together, or give inputs by name" * copied
        raise BadInput(f"inputs: {describe(key)} is not part of this system; its inputs are {known}{remedy}")

    def imposed_columns(self, part: Imposed) -> tuple[int, int, int, int]:
        """Coordinate of an imposed motion, and where its value and two rates are in the input vector."""
        rates = len(self.channels) + 2 * next(k for k, other in enumerate(self.imposed) if other is part)
        return self.coordinates(part.target).start + part.index, self.input_index(part), rates, rates + 1

    @cached_property
    def channel_names(self) -> tuple[str, ...]:
        """Unique names of the channels: parts that share a name are numbered from 1, past names that others have."""
        return numbered([part.name for part in self.channels])

    def label(self, part: Channel) -> str:
        """Unique name of an actuator or load of this system."""
        return self.channel_names[self.channels.index(part)]

    @cached_property
    def multipliers(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each multiplier: of holds, of cut joints, then tensions of spooled tendons."""
        rows: list[tuple[str, str]] = []
        for name, hold in zip(self.mechanism.hold_names, self.mechanism.holds, strict=True):
            rows += [(f"{name}/moment_{'xyz'[axis]}", "N m") for axis in hold.rotation_axes]
            rows += [(f"{name}/force_{'xyz'[axis]}", "N") for axis in hold.position_axes]
        for joint in self.mechanism.tree.cuts:
            rows += [(f"{joint.name}/{row}", unit) for row, unit in zip(joint.row_names, joint.row_units, strict=True)]
        rows += [(f"{self.label(a)}/tension", "N") for a in self.actuators if isinstance(a, SpooledTendon)]
        return tuple(rows)

    # Inputs -------------------------------------------------------------------------------------------------

    def signals(self, inputs: Inputs | None) -> tuple[Signal, ...]:
        """One signal per channel, from a mapping keyed by part or by name; what is not named has its default."""
        inputs = self.check_inputs(inputs)
        signals: list[Signal] = [part.default for part in self.channels]
        for key, value in inputs.items():
            k = self.input_index(key)
            signals[k] = value
            if isinstance(part := self.channels[k], Pressure) and isinstance(value, (int, float, np.floating)):
                part.ask(float(value))
        return tuple(signals)

    def check_inputs(self, value: Inputs | None) -> Inputs:
        """Inputs as a mapping, empty for None; else the message writes one with the names of this system."""
        if value is None:
            return {}
        if isinstance(value, Mapping) and type(value).__name__ != "Dataset":  # which is a mapping, too
            return value
        if not self.channels:
            raise BadInput(f"inputs is {describe(value)}; this system has no actuator and no load: leave inputs out")
        values = zip(self.channel_names[:2], ("5.0", "2.0"))
        example = ", ".join(f"{name!r}: {number}" for name, number in values) + ", ..." * (len(self.channels) > 2)
        raise BadInput(
            f"inputs is {describe(value)}; say what each value is for, inputs={{{example}}}, by the name of an "
            "actuator or load or by the part itself"
        )

    def input_vector(self, signals: Sequence[Signal], t: float) -> Array:
        """Values of all channels at ``t`` [s], checked; behind them the rates of imposed motions."""
        values, rates = [], []
        for part, signal, name in zip(self.channels, signals, self.channel_names, strict=True):
            if isinstance(part, Imposed):
                value, *rate = part.motion(signal, t).tolist()
                values.append(value)
                rates += rate
            else:
                values.append(part.check(evaluate(signal, t, f"input {name!r}", part.unit)))
        time = [t] if self.feedback else []
        return np.array([*values, *rates, *time], dtype=float).reshape(self.input_size)

    def ramped(self, u: Array, part: float) -> Array:
        """Inputs with all loads and efforts at ``part`` of their value; imposed motions stay as they are."""
        scaled = part * u
        for k, channel in enumerate(self.channels):
            if isinstance(channel, Imposed):
                scaled[k] = u[k]
        scaled[len(self.channels) :] = u[len(self.channels) :]
        return scaled

    # States -------------------------------------------------------------------------------------------------

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of all coordinates, such as ``arm/K_y[0]`` or ``elbow/angle``."""
        return tuple(f"{part.name}/{name}" for part in self.blocks for name in part.coordinate_names)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each coordinate."""
        return tuple(unit for part in self.blocks for unit in part.coordinate_units)

    def coordinates(self, part: Rod | Joint) -> slice:
        """Where the coordinates of a rod or joint are in q."""
        if isinstance(part, Joint):
            part = self.mechanism.joint(part)
        if part not in self.blocks:
            raise BadInput(f"{part.name!r} has no coordinates in this system")
        first, count = self.blocks[part]
        return slice(first, first + count)

    def rest(self, t: float = 0.0) -> State:
        """The state at rest: rods in their rest shape, joints at their start, the base where the mechanism puts it."""
        base = self.mechanism.base
        if isinstance(base, Driven):
            g, eta, eta_dot = base.motion.at(t)
        else:
            g, eta, eta_dot = base.g, np.zeros(6), np.zeros(6)
        n, m = self.n, len(self.multipliers)
        q = np.zeros(n)
        for part, (first, count) in self.blocks.items():
            if isinstance(part, Joint):
                q[first : first + count] = part.start
        return State(q, np.zeros(n), np.zeros(n), g, eta, eta_dot, np.zeros(m), t)

    def check_state(self, state: State | Balanced) -> State:
        """``state``, or the state of an equilibrium, if it fits this system, else :class:`BadInput`."""
        if not isinstance(state, State):
            state = getattr(state, "state", state)
        if not isinstance(state, State):
            raise BadInput(
                f"state = {describe(state)}: give a State or an Equilibrium, such as system.rest() or "
                "equilibrium(system, inputs)"
            )
        n, m = self.n, len(self.multipliers)
        for name, size in (("q", n), ("q_dot", n), ("q_ddot", n), ("multipliers", m)):
            if getattr(state, name).shape != (size,):
                raise BadInput(
                    f"state.{name} has shape {getattr(state, name).shape}: this system needs ({size},); "
                    "a state belongs to the system it was made for"
                )
        return state


@dataclass(frozen=True, eq=False)
class State:
    """Where a system is: coordinates, rates, base pose and body twist, multipliers, time [s]."""

    q: Array = field(metadata=of_kind("any"))
    q_dot: Array = field(metadata=of_kind("any"))
    q_ddot: Array = field(metadata=of_kind("any"))
    g: Array = field(default_factory=lambda: np.eye(4), metadata=of_kind("pose"))
    eta: Array = field(default_factory=lambda: np.zeros(6), metadata=of_kind("any"))
    eta_dot: Array = field(default_factory=lambda: np.zeros(6), metadata=of_kind("any"))
    multipliers: Array = field(default_factory=lambda: np.zeros(0), metadata=of_kind("any"))
    time: float = field(default=0.0, metadata=of_kind("s"))

    def __post_init__(self) -> None:
        for name, shape in (
            ("q", (-1,)),
            ("q_dot", (-1,)),
            ("q_ddot", (-1,)),
            ("g", (4, 4)),
            ("eta", (6,)),
            ("eta_dot", (6,)),
            ("multipliers", (-1,)),
        ):
            object.__setattr__(self, name, finite(f"state.{name}", getattr(self, name), shape, "SI units"))

    def __repr__(self) -> str:
        moving = np.any(self.q_dot) or np.any(self.eta)
        size = f", largest {np.max(np.abs(self.q)):.3g}" if self.q.size else ""
        base = "" if np.array_equal(self.g, np.eye(4)) else f", base at {place(self.g[:3, 3])}"
        return f"State at t = {self.time:g} s, {'moving' if moving else 'at rest'}: q of {self.q.size}{size}{base}"

    def with_(self, **changes: Any) -> State:
        """A copy with some fields replaced: ``state.with_(q=..., q_dot=...)``."""
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            raise BadInput(f"state has no field {sorted(unknown)}: choose among {sorted(self.__dataclass_fields__)}")
        return State(**{**{name: getattr(self, name) for name in self.__dataclass_fields__}, **changes})


@runtime_checkable
class Balanced(Protocol):
    """A state with the inputs that hold it, and the system it is of: an equilibrium, wherever a state is asked for."""

    @property
    def system(self) -> System:
        """What is in balance."""

    @property
    def state(self) -> State:
        """Where it is."""

    @property
    def inputs(self) -> Array:
        """Value of every channel, in the order of ``system.channel_names``; more may follow."""


def _way(value: Any) -> str:
    """From what was given in place of a system, the way to one."""
    return {
        "Rod": ", such as System(Mechanism.clamped(rod))",
        "Mechanism": ", such as System(mechanism)",
        "State": " first, and the state after it",
    }.get(type(value).__name__, ", such as System(Mechanism.clamped(rod), actuators=[tendon], loads=[Gravity()])")


def situation(
    system: System | Balanced, state: State | Balanced | None = None, inputs: Inputs | None = None
) -> tuple[System, State, Inputs]:
    """System, state and inputs of a call ``f(system, state, inputs)``; without a state, the system at rest.

    An equilibrium serves as system, as state, or as both. It brings the inputs that hold it: each stays at its value
    unless ``inputs`` says otherwise. Of another system, inputs of the same name and kind are taken over. A run serves
    with its last instant.
    """
    system, state = _instant(system), _instant(state)
    if not isinstance(system, System):
        if not isinstance(system, Balanced):
            raise BadInput(f"system is {describe(system)}: give a System or an Equilibrium{_way(system)}")
        state = system if state is None else state
        system = system.system
    if state is None:
        state = system.rest()
    if isinstance(state, State) or not isinstance(state, Balanced):
        return system, system.check_state(state), system.check_inputs(inputs)
    signals = list(system.signals(inputs))
    given = {system.input_index(key) for key in system.check_inputs(inputs)}
    own = state.system
    held = {name: (type(part), _held(state, part)) for name, part in zip(own.channel_names, own.channels, strict=True)}
    for k, (name, part) in enumerate(zip(system.channel_names, system.channels, strict=True)):
        kind, signal = held.get(name, (None, 0.0))
        if k not in given and kind is type(part):
            signals[k] = signal
    return system, system.check_state(state), dict(zip(system.channel_names, signals, strict=True))


def _instant(value: Any) -> Any:
    """The last instant of a run, which is made on a floor above this one; all else as it is."""
    return import_module("elver.results.history").last_instant(value) if type(value).__name__ == "Dataset" else value


def _held(at: Balanced, part: Channel) -> Signal:
    """The input of a channel in an equilibrium: a number, or, where it is imposed at a constant rate, that motion."""
    value = float(at.inputs[at.system.input_index(part)])
    if isinstance(part, Imposed):
        rate = float(at.inputs[at.system.imposed_columns(part)[2]])
        return _Going(value, rate, at.state.time) if rate else value
    return value


@dataclass(frozen=True)
class _Going:
    """A coordinate on its way at a constant rate."""

    value: float
    rate: float
    time: float

    def __call__(self, t: float) -> float:
        return self.value + self.rate * (t - self.time)

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and rates at ``t`` [s]."""
        return self(t), self.rate, 0.0
