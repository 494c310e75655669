"""System and State: a mechanism with everything that acts on it, and where it is.

A system is a frozen value. Every actuator and every load is a *channel* with one scalar input: a tension [N], a
wound length [m], a pressure [Pa], or the factor of a load (1 unless given). A state holds coordinates, rates and
the pose of the base; algorithms are functions of a system and a state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Muscle, Pressure, Signal, SpooledTendon, Tendon, evaluate
from elver.environment import DistributedWrench, Gravity, PointWrench
from elver.errors import BadInput, finite
from elver.mechanism import Driven, Free, Mechanism
from elver.rods import Rod

__all__ = ["Channel", "Inputs", "State", "System"]

Array: TypeAlias = NDArray[np.float64]
Actuator: TypeAlias = Tendon | SpooledTendon | Muscle | Pressure
Load: TypeAlias = Gravity | PointWrench | DistributedWrench
Channel: TypeAlias = Actuator | Load
Inputs: TypeAlias = Mapping[Any, Signal]


@dataclass(frozen=True, eq=False)
class System:
    """A mechanism with its actuators and loads.

    >>> system = System(Mechanism.clamped(arm), actuators=[tendon], loads=[Gravity()])
    """

    mechanism: Mechanism
    actuators: Sequence[Actuator] = ()
    loads: Sequence[Load] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise BadInput(
                f"mechanism is a {type(self.mechanism).__name__}: give a Mechanism, for example Mechanism.clamped(rod)"
            )
        for name, kinds, example in (
            ("actuators", Actuator, "Tendon(rod, path=parallel(y=0.0, z=6e-3))"),
            ("loads", Load, "Gravity()"),
        ):
            given = getattr(self, name)
            parts = (given,) if isinstance(given, kinds) else tuple(given)
            for part in parts:
                if not isinstance(part, kinds):
                    raise BadInput(f"{name} contains {part!r}: give values such as {example}")
                if getattr(part, "rod", self.rod) is not self.rod:
                    raise BadInput(
                        f"{part.name!r} acts on the rod {part.rod.name!r}, which is not the rod of this "
                        f"mechanism ({self.rod.name!r}): build it with the same Rod value"
                    )
            object.__setattr__(self, name, parts)
        if sum(isinstance(load, Gravity) for load in self.loads) > 1:
            raise BadInput("loads contains Gravity twice: give it once, with the acceleration in m/s² you want")
        if len(set(map(id, self.channels))) < len(self.channels):
            raise BadInput("the same actuator or load is listed twice: list each once")

    @property
    def rod(self) -> Rod:
        """The rod."""
        return self.mechanism.rod

    @property
    def free(self) -> bool:
        """True when the base pose is unknown."""
        return isinstance(self.mechanism.base, Free)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Actuators, then loads: the order of the input vector."""
        return (*self.actuators, *self.loads)

    @cached_property
    def channel_names(self) -> tuple[str, ...]:
        """Unique names of the channels: parts that share a name are numbered from 1."""
        total = Counter(part.name for part in self.channels)
        seen: Counter[str] = Counter()
        names = []
        for part in self.channels:
            seen[part.name] += 1
            names.append(part.name if total[part.name] == 1 else f"{part.name}-{seen[part.name]}")
        return tuple(names)

    def label(self, part: Channel) -> str:
        """Unique name of an actuator or load of this system."""
        return self.channel_names[self.channels.index(part)]

    @cached_property
    def multipliers(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each multiplier: moments and forces of the holds, then tensions of spooled tendons."""
        rows: list[tuple[str, str]] = []
        for k, hold in enumerate(self.mechanism.holds):
            name = hold.name or f"hold-{k + 1}"
            rows += [(f"{name}/moment_{'xyz'[axis]}", "N m") for axis in hold.rotation_axes]
            rows += [(f"{name}/force_{'xyz'[axis]}", "N") for axis in hold.position_axes]
        rows += [(f"{self.label(a)}/tension", "N") for a in self.actuators if isinstance(a, SpooledTendon)]
        return tuple(rows)

    # Inputs -------------------------------------------------------------------------------------------------

    def signals(self, inputs: Inputs | None) -> tuple[Signal, ...]:
        """One signal per channel, from a mapping keyed by part or by name; what is not named has its default."""
        signals: list[Signal] = [part.default for part in self.channels]
        for key, value in (inputs or {}).items():
            signals[self._channel(key)] = value
        return tuple(signals)

    def input_vector(self, signals: Sequence[Signal], t: float) -> Array:
        """Values of all channels at ``t`` [s], checked."""
        values = [
            part.check(evaluate(signal, t, f"input {name!r}", part.unit))
            for part, signal, name in zip(self.channels, signals, self.channel_names, strict=True)
        ]
        return np.array(values, dtype=float).reshape(len(values))

    def _channel(self, key: Any) -> int:
        for k, part in enumerate(self.channels):
            if key is part or key == self.channel_names[k]:
                return k
        shown = repr(key) if isinstance(key, str) else repr(getattr(key, "name", key))
        known = ", ".join(repr(name) for name in self.channel_names) or "none: it has no actuator and no load"
        raise BadInput(f"inputs: {shown} is not part of this system; its inputs are {known}")

    # States -------------------------------------------------------------------------------------------------

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of all coordinates, such as ``arm/K_y[0]``."""
        return tuple(f"{self.rod.name}/{name}" for name in self.rod.coordinate_names)

    def rest(self, t: float = 0.0) -> State:
        """The state at rest in the rest shape, with the base where the mechanism puts it."""
        base = self.mechanism.base
        if isinstance(base, Driven):
            g, eta, eta_dot = base.motion.at(t)
        else:
            g, eta, eta_dot = base.g, np.zeros(6), np.zeros(6)
        n, m = self.rod.n, len(self.multipliers)
        return State(np.zeros(n), np.zeros(n), np.zeros(n), g, eta, eta_dot, np.zeros(m), t)

    def check_state(self, state: State) -> State:
        """``state`` if it fits this system, else :class:`BadInput`."""
        if not isinstance(state, State):
            raise BadInput(f"state = {state!r}: give a State, such as system.rest() or equilibrium(...).state")
        n, m = self.rod.n, len(self.multipliers)
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

    q: Array
    q_dot: Array
    q_ddot: Array
    g: Array = field(default_factory=lambda: np.eye(4))
    eta: Array = field(default_factory=lambda: np.zeros(6))
    eta_dot: Array = field(default_factory=lambda: np.zeros(6))
    multipliers: Array = field(default_factory=lambda: np.zeros(0))
    time: float = 0.0

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

    def with_(self, **changes: Any) -> State:
        """A copy with some fields replaced: ``state.with_(q=..., q_dot=...)``."""
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            raise BadInput(f"state has no field {sorted(unknown)}: choose among {sorted(self.__dataclass_fields__)}")
        return State(**{**{name: getattr(self, name) for name in self.__dataclass_fields__}, **changes})

