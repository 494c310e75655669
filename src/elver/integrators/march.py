"""Compiled steps of one run: the arrays that every method marches on, chunk by chunk.

A march owns the state, the scratch of its method and the inputs at all instants that a chunk asks for. A step that
fails is divided in 2, 4, 8 ... parts, and the time of the division is kept.

Theory: docs/theory/time-integration.md, eq. (step).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import core
from elver.dynamics.forward import closure_drift
from elver.dynamics.increments import words_of_increments, words_of_steps
from elver.dynamics.states import Arrays, arrays, as_state
from elver.integrators.conserving import Conserving
from elver.integrators.explicit import Explicit
from elver.integrators.method import Method, OneStep
from elver.integrators.start import filtered_start
from elver.kernels.march.memory import Place, Scratch, Track
from elver.mechanism import Driven
from elver.results.work import GAUSS_POINTS
from elver.system import State, System

__all__ = ["March"]

Array: TypeAlias = NDArray[Any]


# How often a conserving step is halved for the energy that it brings in.
_FOR_ENERGY = 4


class March:
    """State and scratch arrays of a run, advanced over any grid of times."""

    def __init__(self, system: System, state: State, method: Method, signals: Any) -> None:
        self.system, self.method, self.signals = system, method, signals
        self.core = core(system).with_own_work()  # its own work space: the matrix in it lasts from chunk to chunk
        k = self.core
        a = arrays(state)
        self.base, self.multipliers = a.base, a.multipliers
        self.q = np.vstack([a.q, a.q[2]])  # the last row is the pseudo-acceleration of generalized-α
        self.rates = np.zeros((3, 6))
        self.twist = a.twist
        self.passage = k.passage() if isinstance(method, Conserving) else None
        on_se3 = np.array([int(method.group == "SE3")])
        self.place = Place(method.numbers, on_se3, self.base, self.rates, self.q, self.multipliers)
        self.scratch = self._scratch()
        self.divided: list[float] = []  # s, where steps that were taken in parts began, as Newton had failed
        self.failed = False  # whether it had, since whole steps did
        self.shortened = 0  # steps in parts for the energy that they would have brought in
        self.halved = 0  # how often the next step is halved: one time less than the step before needed
        self._take_rates(a.twist)

    def _scratch(self) -> Scratch:
        """Arrays of the solver, which works on the state of this march."""
        scratch = self.core.scratch(self.method.nodes.size, self.passage)
        scratch.place = self.place
        scratch.iteration.control[:2] = self.method.tolerance, self.method.max_iterations
        return scratch

    @property
    def newton(self) -> str:
        """How increments are found, and why."""
        if isinstance(self.method, Explicit):
            return "none: explicit steps"
        if isinstance(self.method, Conserving):
            return words_of_steps(self.core)
        if self.core.along_tree and not self.scratch.iteration.front.size:
            stages = "closures hold at its stages" if self.core.rows else "its stages are solved together"
            return f"dense matrix: {type(self.method).__name__}(), {stages}"
        return words_of_increments(self.core)

    def _take_rates(self, twist: Array) -> None:
        """Rates of the scheme from the body twist of the base and its rate."""
        eta, eta_dot = twist
        if self.method.group == "SE3":
            self.rates[0], self.rates[1] = eta, eta_dot
        else:
            # on SO(3)×R³ the scheme runs on (Ω, Ω̇) and on the velocity and acceleration in the world
            R = self.base[:3]
            self.rates[0] = np.concatenate([eta[:3], R @ eta[3:]])
            self.rates[1] = np.concatenate([eta_dot[:3], R @ (eta_dot[3:] + np.cross(eta[:3], eta[3:]))])
        self.rates[2] = self.rates[1]

    def filter_start(self, time: float, step: float) -> None:
        """Begin steps of this length [s] with the accelerations that they resolve; see :mod:`.start`."""
        if not isinstance(self.method, OneStep):
            return
        k, system = self.core, self.system
        a = Arrays(self.base, self.twist, self.q[:3], self.multipliers)
        drift = np.zeros(k.rows)
        if k.rows:
            keyed = dict(zip(system.channels, self.signals, strict=True))
            drift = closure_drift(k, as_state(a, time), keyed)
        found = filtered_start(k, a, self.inputs(np.array([time]))[0], self.method, step, drift)
        if found is not None:
            self.q[2] = self.q[3] = found.q_ddot
            self.rates[1:, : found.base_rate.size] = found.base_rate
            self.multipliers[...] = found.multipliers

    def __getstate__(self) -> dict[str, Any]:
        # of the work space only what is remembered from step to step
        return {**vars(self), "core": None, "kept": self.core.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.pop("kept")
        vars(self).update(state)
        self.core = core(self.system).with_own_work()
        if self.passage is not None and self.passage.mass_front.size:
            self.passage = self.passage._replace(mass_front=self.core.mass_table)
        if self.scratch.iteration.matrix.size:
            self.core.make_room()
        told, self.scratch = self.scratch, self._scratch()
        self.scratch.take_over(told)
        for own, values in zip(self.core.kept, kept, strict=True):
            own[...] = values

    @property
    def _carried(self) -> tuple[Array, ...]:
        """What is carried from step to step."""
        own = (self.base, self.rates, self.q, self.multipliers, self.twist)
        return own if self.passage is None else (*own, *self.passage.state)

    def save(self) -> tuple[Array, ...]:
        """Copies of the state, to come back to."""
        steps = np.array([self.halved, len(self.divided), self.failed, self.shortened])
        return *(x.copy() for x in self._carried), steps

    def restore(self, saved: tuple[Array, ...]) -> None:
        """Back to a saved state."""
        *carried, steps = saved
        for x, y in zip(self._carried, carried, strict=True):
            x[...] = y
        self.halved, self.failed, self.shortened = int(steps[0]), bool(steps[2]), int(steps[3])
        del self.divided[int(steps[1]) :]

    def run(self, times: Array) -> tuple[int, dict[str, Array]]:
        """Advance over ``times``; number of steps done, and the records of all times."""
        method, T = self.method, times.size
        if isinstance(method, Conserving):
            return self._run_composed(method, times) if method.order == 4 else self._run_conserving(method, times)
        out = self._records(T)
        if isinstance(method, Explicit):
            return self._run_explicit(method, times, out)
        instants, nodes = times, method.nodes
        if stages := nodes.size:
            fractions = np.append(nodes, 1.0)
            instants = (times[:-1, None] + np.diff(times)[:, None] * fractions).ravel()
        inputs = self.inputs(instants)
        if stages:  # rows are the stages and the end of each step
            out["inputs"] = np.vstack([self.inputs(times[:1]), inputs[stages :: stages + 1]])
            inside = inputs.reshape(T - 1, stages + 1, self.system.input_size)[:, :stages]
        else:
            out["inputs"] = inputs
            inside = 0.5 * (inputs[:-1] + inputs[1:])[:, None]
        out["time"], out["node_inputs"] = times, _behind_nothing(inside)
        return self._done(self.core.solve(method.family, self.scratch, self._track(instants, inputs, out)), out)

    def _track(self, instants: Array, inputs: Array, out: dict[str, Any]) -> Track:
        """What is given at these instants, and where steps are recorded."""
        names = "q", "base", "twist", "multipliers", "iterations"
        return Track(out["time"], inputs, *self.given(instants), *(out[name] for name in names))

    def _records(self, T: int) -> dict[str, Any]:
        """Records of ``T`` instants, the first of them the present."""
        k = self.core
        out: dict[str, Any] = {
            "q": np.zeros((T, 3, k.n)),
            "base": np.zeros((T, 4, 3)),
            "twist": np.zeros((T, 2, 6)),
            "multipliers": np.zeros((T, k.rows)),
            "iterations": np.zeros(T, dtype=np.int64),
        }
        out["q"][0], out["base"][0], out["twist"][0] = self.q[:3], self.base, self.twist
        out["multipliers"][0] = self.multipliers
        return out

    def _run_explicit(self, method: Explicit, times: Array, out: dict[str, Any]) -> tuple[int, dict[str, Array]]:
        """:meth:`run` with stages at the start, the middle and the end of each step."""
        instants = np.sort(np.concatenate([times, 0.5 * (times[:-1] + times[1:])]))
        inputs = self.inputs(instants)
        out["inputs"] = inputs[::2]
        # at the nodes of the ledger's rule, by the parabola through start, middle and end of the step
        c = GAUSS_POINTS if method.order == 4 else np.array([0.5])
        weights = np.stack([(1.0 - c) * (1.0 - 2.0 * c), 4.0 * c * (1.0 - c), c * (2.0 * c - 1.0)])
        inside = np.einsum("ks,ktu->tsu", weights, np.stack([inputs[:-2:2], inputs[1::2], inputs[2::2]]))
        out["time"], out["node_inputs"] = times, _behind_nothing(inside)
        track = self._track(instants, inputs, out)
        return self._done(self.core.march_explicit(self.scratch, track, method.stages), out)

    def _run_composed(self, method: Conserving, times: Array) -> tuple[int, dict[str, Array]]:
        """:meth:`run` with five steps back and forth for each; the inner ones are among the records, not ``whole``."""
        done, parts, pieces = 0, method.composition, [self._run_conserving(method, times[:1])[1]]
        for start, end in pairwise(times.tolist()):
            saved = self.save()
            inner = np.append(start + (end - start) * np.cumsum([0.0, *parts[:-1]]), end)
            count, rows = self._run_conserving(method, inner)
            if count < len(parts):
                self.restore(saved)
                break
            rows["whole"][:-1] = False
            rows["iterations"][-1] = rows["iterations"].sum()
            pieces.append({name: values[1:] for name, values in rows.items()})
            done += 1
        return done, {name: np.concatenate([rows[name] for rows in pieces]) for name in pieces[0]}

    def _run_conserving(self, method: Conserving, times: Array) -> tuple[int, dict[str, Array]]:
        """:meth:`run` with inputs at the start, the middle and the end of each step."""
        out = self._records(times.size)
        instants = np.empty(2 * times.size - 1)
        instants[::2], instants[1::2] = times, 0.5 * (times[:-1] + times[1:])  # in the order of steps, back or forth
        inputs = self.inputs(instants)
        out["inputs"] = inputs[::2]
        out["time"], out["node_inputs"] = times, _behind_nothing(inputs[1::2][:, None])
        out |= {"carried": np.zeros(times.size), "held": np.zeros((times.size, self.core.rows))}
        out["given_work"] = np.zeros((times.size, self.core.program.imposed.shape[0] + 1))
        more = self.passage, out["carried"], out["held"], out["given_work"]
        return self._done(self.core.solve(method.family, self.scratch, self._track(instants, inputs, out), *more), out)

    def _done(self, done: int, out: dict[str, Any]) -> tuple[int, dict[str, Array]]:
        """Go on from the last step that was done; its records and those before it."""
        self.multipliers[...] = out["multipliers"][done]
        self.twist = out["twist"][done].copy()
        out["whole"] = np.ones(out["time"].size, dtype=bool)
        return int(done), {name: values[: done + 1] for name, values in out.items()}

    def inputs(self, instants: Array) -> Array:
        """Inputs at many instants, (T, channels)."""
        if not any(callable(signal) for signal in self.signals):
            u = np.tile(self.system.input_vector(self.signals, 0.0), (instants.size, 1))
            if self.system.feedback:
                u[:, -1] = instants
            return u
        return np.array([self.system.input_vector(self.signals, float(t)) for t in instants]).reshape(
            instants.size, self.system.input_size
        )

    def given(self, instants: Array) -> tuple[Array, Array]:
        """Motion of a driven base at many instants; a clamped base stands still."""
        base, twist = np.tile(self.base, (instants.size, 1, 1)), np.zeros((instants.size, 2, 6))
        if isinstance(self.system.mechanism.base, Driven):
            for k, t in enumerate(instants):
                g, twist[k, 0], twist[k, 1] = self.system.mechanism.base.motion.at(float(t))
                base[k, :3], base[k, 3] = g[:3, :3], g[:3, 3]
        return base, twist

    def advance(self, times: Array) -> tuple[int, dict[str, Array]]:
        """Like :meth:`run`, dividing steps that fail; stops early only where halving does not help.

        The parts of a divided step are among the records, not ``whole`` but for the last.
        """
        done, last = 0, times.size - 1
        pieces = [self.run(times[:1])[1]] if self.halved else []
        while True:
            if not self.halved:
                count, rows = self.run(times[done:])
                pieces.append(rows)
                done += count
            if done == last:
                break
            if not self.halved:
                self.failed = not self._refused
            parts = self._in_parts(float(times[done]), float(times[done + 1]))
            if not parts:
                break
            pieces.append(parts)
            if self.failed:
                self.divided.append(float(times[done]))
            else:
                self.shortened += 1
            done += 1
            if not self.halved and done < last:
                self.filter_start(float(times[done]), float(times[done + 1] - times[done]))
        if len(pieces) == 1:
            return done, pieces[0]
        first, *more = pieces
        return done, {name: np.concatenate([first[name], *(rows[name][1:] for rows in more)]) for name in first}

    @property
    def _refused(self) -> bool:
        """Whether Newton found the step that was not taken."""
        return self.passage is not None and self.passage.refused[0] > 0.0

    def _in_parts(self, t0: float, t1: float) -> dict[str, Array]:
        """One step in 2, 4, 8 ... parts, shorter from where one fails; its records, none where that does not help."""
        most = self.method.halvings
        halved, finest = max(self.halved, 1), 2**most
        grid, at, saved = np.linspace(t0, t1, finest + 1), 0, self.save()
        pieces: list[dict[str, Array]] = []
        if self.passage is not None:
            self.passage.least[0] = 1.1 * (t1 - t0) / 2**_FOR_ENERGY
        while at < finest:
            if halved > most:
                self.restore(saved)
                self.halved = 0
                return {}
            fine = np.ascontiguousarray(grid[at :: finest >> halved])
            self.filter_start(float(fine[0]), float(fine[1] - fine[0]))
            count, rows = self.run(fine)
            pieces.append(rows)
            at += count * (finest >> halved)
            halved += at < finest
            self.failed |= at < finest and not self._refused
        self.halved = halved - 1
        first, *more = pieces
        out = {name: np.concatenate([first[name], *(rows[name][1:] for rows in more)]) for name in first}
        out["whole"][:-1] = False
        out["iterations"][-1] = out["iterations"].sum()
        return out


def _behind_nothing(steps: Array) -> Array:
    """Values of steps as rows of their ends, with zeros for the first row."""
    return np.concatenate([np.zeros((1, *steps.shape[1:])), steps])
