"""The energy ledger of a run: where its energy came from, where it went, and what the method made of it.

    E(t) - E(0) = Σ work of what acts - dissipated + numerical ,      E = kinetic + elastic + gravity ,

booked over every step, also those that are not recorded and the parts of divided ones. The last term is the rest: zero
but for the error of the method (and of the rule of :mod:`elver.results.work`, of the same order), so a run that gains
or loses energy says so. The *energy in play*, against which it is measured, is the largest so far of kinetic energy,
work, dissipated energy and swing of elastic energy, each less what the method had brought in by then.

Theory: docs/theory/time-integration.md, eq. (ledger).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Core
from elver.dynamics.quantities import Observation
from elver.results.status import percent
from elver.results.work import Rows, WorkMeter
from elver.system import System

__all__ = ["ALARM", "RUNAWAY", "Ledger", "Verdict"]

Array = NDArray[np.float64]

ALARM = 0.05
"""Part of the energy in play that a method may gain or lose before the run says so."""

RUNAWAY = 100.0
"""Times the energy in play that a method may gain before the run is stopped: nothing behind that is a result."""

# Rounding, and what Newton leaves, in units of the energies themselves and of the stiffness of the softest rod.
_NOISE = 1e-9
# Steps out of rest move so little that their own error is large beside it.
_FEW = 5
_STATES = ("time", "q", "base", "twist", "multipliers", "inputs", "node_inputs")
# What a conserving method knows of its steps: multipliers over them, work of what is imposed and of a driven base.
_OF_STEPS = ("held", "given_work")


@dataclass(frozen=True)
class Verdict:
    """What the ledger says of a run."""

    in_play: float  # J
    error: float  # largest gain (positive) or loss so far, as a part of the energy in play
    time: float  # s, when it first went beyond ALARM; nan if never
    divided: int  # steps that failed, or came behind one that had, and were divided
    first_divided: float  # s; nan if none
    steps: int
    unresolved: float = 0.0  # largest part of the energy in play in motion that the steps do not resolve

    @property
    def is_off(self) -> bool:
        """Whether energy was gained or lost beyond ALARM; beyond all of it in the first few steps, which say little."""
        return abs(self.error) > (ALARM if self.steps >= _FEW else 1.0)

    @property
    def is_divided(self) -> bool:
        """Whether more than a few steps were divided: three, or one in a hundred."""
        return self.divided > max(3, 0.01 * self.steps)

    @property
    def words(self) -> tuple[str, ...]:
        """What there is to say, for the status."""
        words = []
        if self.is_off:
            words.append(f"energy {'grew' if self.error > 0.0 else 'fell'} by {percent(self.error)}")
        if self.is_divided:
            words.append(f"{self.divided} steps divided (first at {self.first_divided:.3g} s)")
        if self.is_unresolved:
            words.append(f"{percent(self.unresolved)} of the energy in motion that the steps do not resolve")
        return tuple(words)

    @property
    def is_unresolved(self) -> bool:
        """Whether vibration beyond what the steps resolve holds a good part of the energy."""
        return self.unresolved > ALARM

    @property
    def attributes(self) -> dict[str, Any]:
        """The same for machines."""
        out: dict[str, Any] = {"energy_in_play": self.in_play, "energy_error": self.error}
        out["divided_steps"] = self.divided
        if self.unresolved:
            out["energy_unresolved"] = self.unresolved
        if self.is_off:
            out["energy_error_time"] = self.time
        if self.divided:
            out["first_divided"] = self.first_divided
        return out

    def status(self) -> str:
        """ "complete", or with what there is to say behind a comma."""
        return ", ".join(("complete", *self.words))

    def warning(self, remedy: str) -> str:
        """One line: what, when, how much, and what helps."""
        parts = []
        if self.is_off:
            parts.append(
                f"energy {'grew' if self.error > 0.0 else 'fell'} by {percent(self.error)} of the {self.in_play:.3g} J "
                f"in play (beyond 5 % from t = {self.time:.3g} s on) by the error of the method"
            )
        if self.is_divided:
            parts.append(
                f"{self.divided} of {self.steps} steps were divided where Newton failed, "
                f"first at t = {self.first_divided:.3g} s"
            )
        if self.is_unresolved:
            parts.append(
                f"up to {percent(self.unresolved)} of the {self.in_play:.3g} J in play is motion that the steps do not "
                "resolve"
            )
        return f"simulate: {'; '.join(parts)}: {remedy}"


class Ledger:
    """Books the steps of a run."""

    def __init__(self, system: System, kernels: Core, order: int) -> None:
        self.meter = WorkMeter(system, kernels, order)
        self.unit = kernels.assembly.energy
        self.names = tuple(f"work/{name}" for name in self.meter.works)
        self.names += tuple(f"dissipated/{name}" for name in self.meter.losses)
        self.total = np.zeros(len(self.names))
        self.last: tuple[dict[str, Array], Observation] | None = None
        self.first_energy = 0.0
        self.series: list[tuple[Array, Array]] = []  # time, numerical
        self.swing = (np.inf, -np.inf)
        self.in_play = self.largest = self.unresolved = 0.0
        self.divided, self.first_divided, self.steps = 0, np.nan, 0

    def book(self, rows: Rows, seen: Observation) -> Array:
        """The accounts (rows, names + 1) [J] at these rows, which follow those booked before; numerical last."""
        energy = seen.energy.sum(axis=1)
        if "carried" in rows:
            self.unresolved = max(self.unresolved, float(np.max(rows["carried"])))
        names = (*_STATES, *(name for name in _OF_STEPS if name in rows))
        rows = {name: rows[name] for name in names}
        if self.last is None:
            self.first_energy = float(energy[0])
            changes = self._changes(rows, seen)
            changes = np.vstack([np.zeros((1, len(self.names))), changes])
        else:
            before, view = self.last
            both = {name: np.concatenate([before[name], rows[name]]) for name in names}
            if len(self.series) == 1:  # at the first instant multipliers are those of accelerations that no step takes
                both["multipliers"][0] = both["multipliers"][1]
            changes = self._changes(both, _joined(view, seen))
        # one after the other from the last total on: sums do not depend on how a run was cut into chunks
        accounts = np.cumsum(np.vstack([self.total, changes]), axis=0)[1:]
        self.total = accounts[-1].copy()
        self.last = {name: values[-1:] for name, values in rows.items()}, _row(seen, -1)
        works = len(self.meter.works)
        work, loss = accounts[:, :works].sum(axis=1), accounts[:, works:].sum(axis=1)
        numerical = energy - self.first_energy - work + loss
        self._watch(rows["time"], seen.energy, work, loss, numerical)
        return np.column_stack([accounts, numerical])

    def go_on_from(self, rows: Rows, seen: Observation) -> None:
        """Go on from another state, put there from outside: the change of energy is neither work nor error."""
        assert self.last is not None
        self.first_energy += float(seen.energy[-1].sum() - self.last[1].energy[-1].sum())
        names = (*_STATES, *(name for name in _OF_STEPS if name in rows))
        self.last = {name: rows[name][-1:] for name in names}, _row(seen, -1)

    def _changes(self, rows: Rows, seen: Observation) -> Array:
        return np.hstack(self.meter.steps(rows, seen))

    def _watch(self, time: Array, energy: Array, work: Array, loss: Array, numerical: Array) -> None:
        """Bring the energy in play up to date."""
        low = np.minimum(np.minimum.accumulate(energy[:, 1]), self.swing[0])
        high = np.maximum(np.maximum.accumulate(energy[:, 1]), self.swing[1])
        self.swing = float(low[-1]), float(high[-1])
        moved = np.maximum.reduce([energy[:, 0], np.abs(work), loss, high - low]) - np.maximum(numerical, 0.0)
        self.in_play = max(self.in_play, float(np.max(moved)))
        self.largest = max(self.largest, float(np.max(np.abs(energy))))
        self.series.append((time, numerical))

    @property
    def floor(self) -> float:
        """Energy [J] below which all is rounding."""
        return _NOISE * (self.unit + self.largest)

    @property
    def has_run_away(self) -> bool:
        """Whether the method has brought in a hundred times the energy in play."""
        return bool(self.series) and float(np.max(self.series[-1][1])) > RUNAWAY * (self.in_play + 20.0 * self.floor)

    def variables(self, accounts: Array) -> dict[str, Any]:
        """Variables of the dataset for accounts (time, names + 1)."""
        works = len(self.meter.works)
        about = {"units": "J"}
        out: dict[str, Any] = {
            f"energy/{name}": ("time", accounts[:, k], about) for k, name in enumerate(self.names)
        }
        out["energy/work"] = ("time", accounts[:, :works].sum(axis=1), {**about, "long_name": "of all that acts"})
        heat = {**about, "long_name": "turned into heat"}
        rest = {**about, "long_name": "brought in by the method's error"}
        out["energy/dissipated"] = ("time", accounts[:, works:-1].sum(axis=1), heat)
        out["energy/numerical"] = ("time", accounts[:, -1], rest)
        return out

    def divide(self, time: float) -> None:
        """A step that began at ``time`` [s] was divided."""
        if not self.divided:
            self.first_divided = time
        self.divided += 1

    def verdict(self) -> Verdict:
        """What there is to say of the run so far."""
        in_play = max(self.in_play, 20.0 * self.floor)
        time = np.concatenate([t for t, _ in self.series]) if self.series else np.zeros(1)
        numerical = np.concatenate([x for _, x in self.series]) if self.series else np.zeros(1)
        worst = int(np.argmax(np.abs(numerical)))
        off = np.flatnonzero(np.abs(numerical) > ALARM * in_play)
        return Verdict(
            in_play, float(numerical[worst] / in_play), float(time[off[0]]) if off.size else float("nan"), self.divided,
            self.first_divided, self.steps, self.unresolved / in_play,
        )  # fmt: skip


def _row(seen: Observation, k: int) -> Observation:
    own = slice(k, None) if k == -1 else slice(k, k + 1)
    return Observation(*(getattr(seen, name)[own] for name in seen.__dataclass_fields__))


def _joined(one: Observation, two: Observation) -> Observation:
    return Observation(
        *(np.concatenate([getattr(one, name), getattr(two, name)]) for name in one.__dataclass_fields__)
    )
