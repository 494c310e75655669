"""A robot that moves while it is watched: inputs, pulls and pauses come from outside at any time.

No drawing here. :class:`LiveRobot` keeps a state and moves it on by wall-clock time, in statics (the equilibrium of the
present inputs) or in dynamics (compiled steps in small chunks). A new input is reached within a twentieth of a second,
as a hand would do it, so that imposed motions stay smooth. What cannot be solved is said in ``trouble``; the last good
state stays, and the next change of an input tries again. All methods may be called from any thread.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from elver.acting import Fluid
from elver.actuation import Signal
from elver.bodies import RigidBody
from elver.dynamics.core import core
from elver.dynamics.quantities import observe_states
from elver.dynamics.states import arrays
from elver.environment import JointFriction, PointWrench
from elver.errors import BadInput, ElverWarning, NotConverged, finite
from elver.integrators.by_hand import follows_time, goal_of, on_the_way, value_at
from elver.integrators.generalized_alpha import GeneralizedAlpha
from elver.integrators.method import Method
from elver.integrators.ranges import moving_force, pull_points, ranges_of, round_up
from elver.integrators.stepper import Stepper
from elver.rods import Rod
from elver.statics import assemble
from elver.statics.equilibrium import Equilibrium
from elver.statics.search import find
from elver.system import Inputs, State, System, situation
from elver.words import describe

__all__ = ["LiveRobot", "Mode", "Snapshot"]

Mode: TypeAlias = Literal["dynamics", "statics"]

_MOST_LAG = 0.25  # s of wall time that are made up for; what is beyond is given up, and seen in the ratio
_CALM = 1.0  # 1/s, for robots without any damping of their own: they would ring for ever
_PULLS = ("pull-x", "pull-y", "pull-z")


@dataclass(frozen=True)
class Snapshot:
    """What there is to draw at one instant."""

    time: float
    position: np.ndarray  # (frames, 3) m, world
    rotation: np.ndarray  # (frames, 3, 3) world from section
    q: np.ndarray
    inputs: dict[str, float]
    energy: tuple[float, float, float]  # J: kinetic, elastic, gravity
    pull: np.ndarray  # (3,) N, world
    point: np.ndarray  # (3,) m, where it pulls


def _loses_energy(system: System) -> bool:
    """True when something in the model damps its motion, or the robot floats, and calm would hold it like a hand."""
    damped = any(rod.material.damping + rod.material.mass_damping > 0.0 for rod in system.mechanism.rods)
    return damped or system.free or any(isinstance(load, Fluid | JointFriction) for load in system.loads)


class LiveRobot:
    """``system`` with a state that goes on: ``advance(wall)`` moves it by ``wall`` seconds of the clock."""

    def __init__(
        self,
        system: System,
        inputs: Inputs | None = None,
        state: State | Equilibrium | None = None,
        *,
        mode: Mode = "dynamics",
        step: float = 1.0 / 240.0,
        method: Method | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        if not isinstance(system, System):
            raise BadInput(f"view: {describe(system)} is no System; give a system, a run, or the path of a run")
        self.lock = threading.RLock()
        self.system, self.step = system, float(step)
        # a picture needs no more digits than that, and a step that fails must not hold up the next picture
        self.method = method or GeneralizedAlpha(rho_inf=0.6, tolerance=1e-8, halvings=4)
        core(system)  # what there is to warn of is said now, once
        self.names = system.channel_names
        self.units = {name: part.unit for name, part in zip(self.names, system.channels, strict=True)}
        signals = system.signals(situation(system, state, inputs)[2])  # an equilibrium brings its own
        self.given: dict[str, Signal] = dict(zip(self.names, signals, strict=True))
        system.input_vector(tuple(self.given.values()), 0.0)  # checked here, not while it runs
        self.ranges = ranges_of(system, self.given, ranges or {})
        self.points = pull_points(system)
        self.pull_range = round_up(moving_force(system, system.mechanism.rods))
        self.point = next(iter(self.points), "")
        self._first = state
        self._state: State = system.rest()
        self._stepper: Stepper | None = None
        self.speed, self.paused = 1.0, False
        self.calm = 0.0 if _loses_energy(system) else _CALM
        self.mode: Mode = mode
        self.reset()

    # What a person does -------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the beginning: inputs as given, no pull, the first state; a pause and the mode stay."""
        with self.lock:
            self.signals = dict(self.given)
            self.pull = np.zeros(3)
            self.trouble = ""
            self._state = self.system.rest()
            self._near: Equilibrium | None = None  # the last equilibrium found, to start the next search from
            self._asked = object()  # changes with what an equilibrium depends on
            self._answer: tuple[object, Equilibrium | None] = None, None  # what was asked, and what was found
            self._failed = False
            self._window: deque[tuple[float, float]] = deque()
            self._carry = 0.0
            self._attach()
            self._begin(self._initial())

    def set_input(self, name: str, value: float) -> None:
        """Take an input to ``value``, smoothly in dynamics; a function of time that it had is given up."""
        with self.lock:
            if name not in self.signals:
                raise BadInput(f"input {name!r} is not part of this system; its inputs are {', '.join(self.names)}")
            channel = self.system.channels[self.names.index(name)]
            value = channel.check(float(finite(f"input {name!r}", value, (), channel.unit)))
            self.signals[name] = self._on_the_way(self.signals[name], value)
            self._changed()

    def set_pull(self, force: Any) -> None:
        """Pull with ``force`` (3,) [N], world axes, at the chosen point."""
        with self.lock:
            self.pull = finite("pull", force, (3,), "N").copy()
            self._changed()

    def set_point(self, name: str) -> None:
        """Choose where to pull, by name."""
        with self.lock:
            if name not in self.points:
                raise BadInput(f"there is no point {name!r} to pull at: choose among {', '.join(self.points)}")
            self.point = name
            state = self.state
            self._attach()
            self._begin(state)

    def grab(self, part: str, s: float | None = None) -> None:
        """Choose where to pull: at arc length ``s`` [m] of the rod called ``part``, or a body."""
        with self.lock:
            own = next(own for own in self.system.mechanism.parts if own.name == part)
            self.points = pull_points(self.system)
            name = part
            if isinstance(own, Rod) and s is not None:
                name = f"{part} at {s:.3g} m" if s < own.length else f"{part} tip"
                self.points.setdefault(name, (own, s))
            self.set_point(name)

    def set_mode(self, mode: Mode) -> None:
        """Statics or dynamics, from the present shape on; statics has no velocities."""
        with self.lock:
            if mode not in ("statics", "dynamics"):
                raise BadInput(f'mode = {describe(mode)}: choose "dynamics" or "statics"')
            self.mode = mode
            self._changed()
            self._begin(self._still(self.state))

    def settle(self) -> None:
        """Go to the equilibrium of the present inputs at once, and rest there."""
        with self.lock:
            if found := self._solve():
                self._begin(found.state)

    # What the clock does ------------------------------------------------------------------------------------

    def advance(self, wall: float) -> None:
        """Move on by ``wall`` seconds of the clock; never raises for what cannot be solved."""
        with self.lock:
            if self.paused:
                self._window.clear()
                self._carry = 0.0
                return
            if self.mode == "statics":
                if self._answer[0] is not self._asked and (found := self._solve()):
                    self._state = found.state
                self._window.clear()
                return
            stepper = self._stepper
            if self._failed or stepper is None:
                return
            before = stepper.time
            self._carry += min(wall, _MOST_LAG) * self.speed
            count = int(self._carry / self.step)
            self._carry -= count * self.step
            stepper.signals = self._all_signals()
            try:
                stepper.advance(count, self.calm)
            except (NotConverged, BadInput, ArithmeticError, np.linalg.LinAlgError) as error:
                self._failed = True
                self.trouble = f"{error}. It rests where it was: change an input, or reset."
            self._state = stepper.state
            self._window.append((wall * self.speed, stepper.time - before))
            while sum(w for w, _ in self._window) > 3.0 and len(self._window) > 2:
                self._window.popleft()

    @property
    def ratio(self) -> float:
        """Simulated time over wanted time in the last three seconds; 1 is real time."""
        with self.lock:
            wanted = sum(w for w, _ in self._window)
            return sum(s for _, s in self._window) / wanted if wanted > 0.0 else 1.0

    @property
    def energy_words(self) -> str:
        """What the ledger has to say of the last seconds, "" where all is well."""
        with self.lock:
            if self.mode != "dynamics" or self._stepper is None:
                return ""
            said = ", ".join(self._stepper.verdict.words)
        return f"{said}: too long a step for this motion" if said else ""

    @property
    def state(self) -> State:
        """Where the robot is."""
        return self._state

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._state.time

    def inputs_now(self) -> dict[str, float]:
        """Value of each input now."""
        t = self._state.time
        return {name: value_at(signal, t) for name, signal in self.signals.items()}

    def goals(self) -> dict[str, float]:
        """Where each input is going to: its value now, unless a person or Python has just set another."""
        t = self._state.time
        return {name: value_at(goal_of(signal), t) for name, signal in self.signals.items()}

    def follows_time(self, name: str) -> bool:
        """True while an input is a function of time that nobody has taken over."""
        return follows_time(self.signals[name])

    def check_balance(self) -> Equilibrium | None:
        """The equilibrium of the present inputs, None where none is found. In dynamics the motion goes on meanwhile."""
        with self.lock:
            asked, targets, guess = self._asked, self._targets(), self._guess()
            if self.mode == "statics" or (self._answer[0] is asked and not any(map(self.follows_time, self.names))):
                return self.balance
            system = self._twin
        try:
            found = find(system, targets, guess=guess)
        except (NotConverged, BadInput, np.linalg.LinAlgError):
            found = None
        with self.lock:
            if asked is self._asked:
                self._answer, self._near = (asked, found), found or self._near
            return self.balance

    @property
    def balance(self) -> Equilibrium | None:
        """The equilibrium of the present inputs, as far as it is known."""
        asked, found = self._answer
        return found if asked is self._asked else None

    @property
    def searching(self) -> bool:
        """True while nobody has looked for the equilibrium of the present inputs."""
        return self._answer[0] is not self._asked

    def snapshot(self) -> Snapshot:
        """What there is to draw now."""
        with self.lock:
            a = arrays(self._state)
            u = self._live.input_vector(self._all_signals(), self._state.time)
            seen = observe_states(self._live, a.base[None], a.twist[None], a.q[None], u[None])
            kinetic, elastic, gravity = map(float, seen.energy[0])
            return Snapshot(
                self._state.time, seen.position[0], seen.rotation[0], self._state.q, self.inputs_now(),
                (kinetic, elastic, gravity), self.pull.copy(), self._place(seen.position[0], seen.rotation[0]),
            )  # fmt: skip

    def frames(self) -> tuple[dict[Rod, Any], dict[RigidBody, int]]:
        """Where rods and bodies are in the frames of a snapshot; changes with the point to pull at."""
        with self.lock:
            assembly = core(self._live).assembly
            return assembly.rods, assembly.bodies

    # Inside -------------------------------------------------------------------------------------------------

    def _attach(self) -> None:
        """The system with three forces at the chosen point, whose inputs are the pull."""
        pulls = []
        if self.point:
            part, at = self.points[self.point]
            pulls = [PointWrench(part, at, tuple(axis), name=name) for axis, name in zip(np.eye(3), _PULLS)]
        loads = [*self.system.loads, *pulls]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElverWarning)  # said already for the system itself
            # two, each with scratch arrays of its own: one moves while balance is sought for the other
            self._live, self._twin = (System(self.system.mechanism, self.system.actuators, loads) for _ in range(2))
            core(self._live)
            core(self._twin)

    def _all_signals(self) -> tuple[Signal, ...]:
        """In the order of the channels of the system with its pull: actuators, loads, the three forces."""
        pulls = self.pull if self.point else ()
        return (*self.signals.values(), *map(float, pulls))

    def _inputs(self) -> dict[Any, Signal]:
        return dict(zip(self._live.channels, self._all_signals(), strict=True))

    def _initial(self) -> State:
        """Where it begins: as given, else in equilibrium, else closed, else at rest."""
        if self._first is not None:
            return self._first.state if isinstance(self._first, Equilibrium) else self._first
        if found := self._solve(afresh=True):
            return found.state
        self.trouble = ""
        try:
            return assemble(self._live, self._inputs())
        except (NotConverged, BadInput):
            return self._live.rest()

    def _begin(self, state: State) -> None:
        """Go on from ``state``; where its accelerations cannot be found, statics still can."""
        self._state = state
        try:
            if self._stepper is None or self._stepper.system is not self._live:
                self._stepper = Stepper(self._live, state, self.step, self.method, self._inputs())
            else:
                self._stepper.signals = self._all_signals()
                self._stepper.start(state)
            self._failed = False
        except (NotConverged, BadInput, np.linalg.LinAlgError) as error:
            self._failed = True
            self.trouble = str(error)

    def _changed(self) -> None:
        self._asked = object()
        self.trouble = ""
        if self._failed:  # try again, from rest: a motion that ran into a wall has no velocity to go on with
            self._begin(self._still(self._state))

    def _still(self, state: State) -> State:
        zero = np.zeros_like(state.q)
        return state.with_(q_dot=zero, q_ddot=zero, eta=np.zeros(6), eta_dot=np.zeros(6))

    def _targets(self) -> dict[Any, float]:
        """Inputs, at the present time and where they are going to."""
        t = self._state.time
        signals = zip(self._live.channels, self._all_signals(), strict=True)
        return {part: value_at(goal_of(signal), t) for part, signal in signals}

    def _guess(self) -> State | Equilibrium:
        """Near the last equilibrium, at the present time."""
        if self._near is None:
            return self._still(self._state)
        return replace(self._near, state=self._near.state.with_(time=self._state.time))

    def _solve(self, afresh: bool = False) -> Equilibrium | None:
        """Equilibrium of the present inputs, near the last one; ``afresh`` from the rest shape."""
        try:
            found = find(self._live, self._targets(), guess=None if afresh else self._guess())
            self.trouble = ""
        except (NotConverged, BadInput, np.linalg.LinAlgError) as error:
            found = None
            self.trouble = str(error)
        self._answer, self._near = (self._asked, found), found or self._near
        return found

    def _on_the_way(self, signal: Signal, value: float) -> Signal:
        now = value_at(signal, self._state.time)
        if self.mode == "statics" or self.paused or now == value:
            return value
        return on_the_way(self._state.time, now, value)

    def _place(self, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        if not self.point:
            return np.zeros(3)
        part, at = self.points[self.point]
        rods, bodies = self.frames()
        if isinstance(part, Rod):
            s = part.length if at == "tip" else float(at)
            where = rods[part]
            return np.asarray(position[where.frames[int(np.argmin(np.abs(where.s - s)))]])
        k = bodies[part]
        return np.asarray(position[k] + rotation[k] @ np.asarray(at))
