"""A motion that is advanced piece by piece, for programs that decide on the inputs while it runs.

``simulate`` knows its inputs and its end beforehand. A live view, a controller or a game does not: a stepper keeps the
state and the scratch arrays of the compiled steps between calls, takes new inputs whenever they come, and survives a
step that fails. Its ledger keeps the balance of energy over the last seconds, as that of a run does over all of it.
"""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Signal
from elver.dynamics.forward import forward_dynamics
from elver.dynamics.quantities import Observation, observe_states
from elver.errors import BadInput, NotConverged, positive
from elver.integrators.conserving import Conserving
from elver.integrators.march import March
from elver.integrators.method import Method, OneStep
from elver.mechanism import Driven
from elver.results.ledger import Ledger, Verdict
from elver.system import Balanced, Inputs, State, System, situation
from elver.words import describe

__all__ = ["Stepper"]

Array: TypeAlias = NDArray[Any]

_WINDOW = 10.0  # s, over which energy is balanced


class Stepper:
    """Steps of one length [s] from a state, with inputs that may be replaced between calls.

    >>> stepper = Stepper(system, system.rest(), step=1e-3, method=GeneralizedAlpha(rho_inf=0.6))
    >>> stepper.advance(16)
    >>> stepper.signals = system.signals({"pull": 5.0})
    """

    def __init__(
        self, system: System, state: State | Balanced, step: float, method: Method, inputs: Inputs | None = None
    ) -> None:
        self.system, self.method = system, method
        self.step = positive("step", step, "s")
        self._turn = threading.RLock()  # compiled steps let other threads run, and two must not take one step
        if not isinstance(method, OneStep | Conserving):
            raise BadInput(
                f"method = {describe(method)}: a stepper takes Newmark(), HHT(), GeneralizedAlpha() or Conserving()"
            )
        if isinstance(method, Conserving):
            method.check(system)
        system, first, inputs = situation(system, state, inputs)
        self.signals: tuple[Signal, ...] = system.signals(inputs)
        self.start(first)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_turn"}  # a lock stays where it is

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turn=threading.RLock())

    def start(self, state: State | Balanced) -> None:
        """Go on from ``state``, with what the step resolves of the accelerations that the inputs ask for there."""
        system = self.system
        state = system.check_state(state)
        if isinstance(system.mechanism.base, Driven):
            g, eta, eta_dot = system.mechanism.base.motion.at(state.time)
            state = state.with_(g=g, eta=eta, eta_dot=eta_dot)
        if self.method.asks_for_accelerations(system):
            state = forward_dynamics(system, state, dict(zip(system.channels, self.signals, strict=True)))
        self._march = March(system, state, self.method, self.signals)
        self.time = state.time
        self._open_ledger()
        self._march.filter_start(state.time, self.step)
        self.u = system.input_vector(self.signals, self.time)
        self.iterations = 0
        self.before: Verdict | None = None

    def _open_ledger(self) -> None:
        self.ledger = Ledger(self.system, self._march.core, self.method.ledger_order)
        self.ledger.book(*self._here())

    def _here(self) -> tuple[dict[str, Array], Observation]:
        """The present instant, as a row of a run and what is seen of it."""
        row = self._march.run(np.array([self.time]))[1]
        if self._march.passage is not None:
            row["carried"][:] = self._march.passage.carried
        return row, self._seen(row)

    def _seen(self, rows: dict[str, Array]) -> Observation:
        """What is seen of rows of a run; with the energy of what conserving steps do not resolve."""
        seen = observe_states(self.system, rows["base"], rows["twist"], rows["q"], rows["inputs"])
        if "carried" in rows:
            seen.energy[:, 0] += rows["carried"]
        return seen

    @property
    def verdict(self) -> Verdict:
        """What the ledger says of the last seconds: ten at least, once they have passed."""
        now = self.ledger.verdict()
        return self.before if self.before is not None and now.steps * self.step < _WINDOW else now

    def advance(self, count: int, calm: float = 0.0) -> None:
        """Do ``count`` steps; :class:`NotConverged` where one fails, with the state before that step kept.

        ``calm`` [1/s] is a damping in proportion to the mass, M q̈ + calm M q̇ + ... = 0, split off and solved exactly
        once per call: rates are multiplied by exp(-calm h count), which keeps closures. Imposed rates stay as given.
        """
        if count < 1:
            return
        with self._turn:
            self._advance(count, calm)

    def _advance(self, count: int, calm: float) -> None:
        march = self._march
        march.signals = self.signals
        times = self.time + self.step * np.arange(count + 1.0)
        done, out = march.advance(times)
        self.time = float(times[done])
        self.u = out["inputs"][-1]
        self.iterations = int(out["iterations"][1:].max(initial=0))
        self._book({name: values[1:] for name, values in out.items()}, done)
        if calm > 0.0:
            decay = np.exp(-calm * self.step * done)
            march.q[1] *= decay
            march.rates[0] *= decay
            march.twist[0] *= decay
            if march.passage is not None:
                march.passage.rate[...] *= decay
                march.passage.spin[...] *= decay
                march.passage.carried[...] *= decay * decay
            self.ledger.go_on_from(*self._here())
        if done < count or not np.all(np.isfinite(march.q)):
            raise NotConverged(
                f"Newton failed at t = {self.time:.3f} s, even with a step of "
                f"{self.step / 2**self.method.halvings:.1e} s" + (f"; {fault}" if (fault := march.core.fault) else "")
            )

    def _book(self, rows: dict[str, Array], steps: int) -> None:
        if not rows["time"].size:
            return
        if self.ledger.steps * self.step >= _WINDOW:
            self.before = self.ledger.verdict()
            last = self.ledger.last
            self.ledger = Ledger(self.system, self._march.core, self.method.ledger_order)
            assert last is not None  # the first row was booked when the ledger was opened
            self.ledger.book(*last)
        self.ledger.book(rows, self._seen(rows))
        self.ledger.steps += steps
        for begin in self._march.divided:
            self.ledger.divide(begin)
        self._march.divided.clear()

    @property
    def state(self) -> State:
        """Where the system is now."""
        march = self._march
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = march.base[:3], march.base[3]
        return State(
            march.q[0].copy(), march.q[1].copy(), march.q[2].copy(), g, march.twist[0].copy(), march.twist[1].copy(),
            march.multipliers.copy(), self.time,
        )  # fmt: skip
