"""Simulation: steps from a state, recorded as a dataset with names and units.

Steps run compiled, a chunk at a time; between chunks the progress bar moves, Ctrl-C is heard, and the chunk goes to
the file if one was asked for. A step that fails is divided in 2, 4, 8 ... parts. Whatever ends the run, what was
computed is returned with the exception and is in the file.

Theory: docs/theory/time-integration.md, eq. (step), (adaptive).
"""

from __future__ import annotations

import os
import time as clock
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from elver.actuation import SpooledTendon
from elver.bodies import RigidBody
from elver.dynamics.core import Arrays, arrays, as_state, core, observe_states
from elver.dynamics.forward import closure_drift, forward_dynamics
from elver.errors import BadInput, CannotWrite, ElverWarning, Interrupted, NotConverged, expect, finite, positive
from elver.guards import guarded
from elver.integrators.adaptive import Adaptive
from elver.integrators.default import default_method
from elver.integrators.explicit import Explicit
from elver.integrators.gauss import Gauss
from elver.integrators.method import Method, OneStep
from elver.integrators.start import filtered_start
from elver.io import RunFile, dumps
from elver.kernels.march import march_for
from elver.lie import so3
from elver.mechanism import Driven
from elver.results.history import base_name, remember
from elver.results.ledger import RUNAWAY, Ledger
from elver.results.work import GAUSS_POINTS
from elver.statics import Equilibrium, equilibrium
from elver.statics.closing import assemble, check_closed
from elver.system import Inputs, State, System, situation
from elver.words import describe

__all__ = ["simulate", "state_at", "step_ends", "still"]

Array: TypeAlias = NDArray[Any]
Progress: TypeAlias = Callable[[float, float], None]

_CHUNK_SECONDS = 0.2
_KEPT = ("time", "q", "base", "twist", "multipliers", "inputs", "iterations")


class _March:
    """State and scratch arrays of a run, advanced over any grid of times."""

    def __init__(self, system: System, state: State, method: Method, signals: Any) -> None:
        self.system, self.method, self.signals = system, method, signals
        self.core = core(system).with_own_work()  # its own work space: the matrix in it lasts from chunk to chunk
        k = self.core
        stages = method.stages if isinstance(method, Gauss) else 2
        self.scratch = march_for(k.coordinates, k.n, k.rows, k.assembly.scale, stages)
        a = arrays(state)
        self.base, self.multipliers = a.base, a.multipliers
        self.q = np.vstack([a.q, a.q[2]])  # the last row is the pseudo-acceleration of generalized-α
        self.rates = np.zeros((3, 6))
        self.twist = a.twist
        self.divided: list[float] = []  # s, where steps that failed began
        self._take_rates(a.twist)

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
        work = self.core.work
        return {**vars(self), "core": None, "kept": (work.matrix, work.pivots)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.pop("kept")
        vars(self).update(state)
        self.core = core(self.system).with_own_work()
        self.core.work.matrix[...], self.core.work.pivots[...] = kept

    def save(self) -> tuple[Array, ...]:
        """Copies of the state, to come back to."""
        return tuple(x.copy() for x in (self.base, self.rates, self.q, self.multipliers, self.twist))

    def restore(self, saved: tuple[Array, ...]) -> None:
        """Back to a saved state."""
        for x, y in zip((self.base, self.rates, self.q, self.multipliers, self.twist), saved, strict=True):
            x[...] = y

    def run(self, times: Array) -> tuple[int, dict[str, Array]]:
        """Advance over ``times``; number of steps done, and the records of all times."""
        k, method = self.core, self.method
        T, n = times.size, k.n
        out: dict[str, Any] = {
            "q": np.zeros((T, 3, n)),
            "base": np.zeros((T, 4, 3)),
            "twist": np.zeros((T, 2, 6)),
            "multipliers": np.zeros((T, k.rows)),
            "iterations": np.zeros(T, dtype=np.int64),
        }
        out["q"][0], out["base"][0], out["twist"][0] = self.q[:3], self.base, self.twist
        out["multipliers"][0] = self.multipliers
        if isinstance(method, Explicit):
            return self._run_explicit(method, times, out)
        if isinstance(method, OneStep):
            instants = times
            function, table = k.march_one_step, np.array(method.scheme)
        else:
            assert isinstance(method, Gauss)
            table = method.tableau
            fractions = np.append(table[0], 1.0)
            instants = (times[:-1, None] + np.diff(times)[:, None] * fractions).ravel()
            function = k.march_gauss
        inputs = self.inputs(instants)
        if isinstance(method, Gauss):  # rows are the stages and the end of each step
            out["inputs"] = np.vstack([self.inputs(times[:1]), inputs[method.stages :: method.stages + 1]])
            inside = inputs.reshape(T - 1, method.stages + 1, self.system.input_size)[:, : method.stages]
        else:
            out["inputs"] = inputs
            inside = 0.5 * (inputs[:-1] + inputs[1:])[:, None]
        out["time"], out["node_inputs"] = times, _behind_nothing(inside)
        given_base, given_twist = self.given(instants)
        done = function(
            self.scratch, int(method.group == "SE3"), table, times, inputs, given_base, given_twist,
            self.base, self.rates, self.q, self.multipliers, method.tolerance, method.max_iterations,
            out["q"], out["base"], out["twist"], out["multipliers"], out["iterations"],
        )  # fmt: skip
        return self._done(done, out)

    def _run_explicit(
        self, method: Explicit, times: Array, out: dict[str, Any]
    ) -> tuple[int, dict[str, Array]]:
        """:meth:`run` with stages at the start, the middle and the end of each step."""
        instants = np.sort(np.concatenate([times, 0.5 * (times[:-1] + times[1:])]))
        inputs = self.inputs(instants)
        out["inputs"] = inputs[::2]
        # at the nodes of the ledger's rule, by the parabola through start, middle and end of the step
        c = GAUSS_POINTS if method.order == 4 else np.array([0.5])
        weights = np.stack([(1.0 - c) * (1.0 - 2.0 * c), 4.0 * c * (1.0 - c), c * (2.0 * c - 1.0)])
        inside = np.einsum("ks,ktu->tsu", weights, np.stack([inputs[:-2:2], inputs[1::2], inputs[2::2]]))
        out["time"], out["node_inputs"] = times, _behind_nothing(inside)
        done = self.core.march_explicit(
            self.scratch, method.stages, times, inputs, *self.given(instants), self.base, self.rates, self.q,
            self.multipliers,
            out["q"], out["base"], out["twist"], out["multipliers"],
        )  # fmt: skip
        return self._done(done, out)

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
        done, out = self.run(times)
        while done < times.size - 1:
            t0, t1 = times[done], times[done + 1]
            saved = self.save()
            for power in range(1, self.method.halvings + 1):
                self.restore(saved)
                fine = np.linspace(t0, t1, 2**power + 1)
                self.filter_start(float(t0), float(fine[1] - fine[0]))
                count, part = self.run(fine)
                if count == fine.size - 1:
                    break
            else:
                self.restore(saved)
                return done, out
            if done + 2 < times.size:
                self.filter_start(float(t1), float(times[done + 2] - t1))
            rest_done, rest = self.run(times[done + 1 :])
            part["whole"][:-1] = False
            part["iterations"][-1] = part["iterations"].sum()
            out = {name: np.concatenate([values, part[name][1:], rest[name][1:]]) for name, values in out.items()}
            self.divided.append(float(t0))
            done += 1 + rest_done
        return done, out


@guarded
def simulate(
    system: System,
    state: State | Equilibrium | Inputs | None = None,
    duration: float = 1.0,
    step: float | Adaptive = 1e-2,
    method: Method | None = None,
    inputs: Inputs | None = None,
    *,
    start: Literal["consistent", "given"] = "consistent",
    every: int = 1,
    file: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Motion of ``system`` from ``state`` over ``duration`` [s] in steps [s].

    Steps have the length asked for; where they do not fit into the duration the last one is shorter (attributes
    ``steps`` and ``last_step`` of the run say what was done).
    ``state`` is a state, under default inputs where ``inputs`` names no others, or an equilibrium, whose own inputs
    hold on where ``inputs`` names no others: ``simulate(system, bent, inputs={tendon: 0.0})`` cuts the tendon. It may
    also be inputs that held it in equilibrium until then, in place of those of the run: {tendon: 5.0} and no inputs is
    a tendon that is cut. By default it is at rest.
    ``method`` is ImplicitMidpoint() by default, GeneralizedAlpha(rho_inf=0.6) where spooled tendons are wound;
    RungeKutta4() and SemiImplicitEuler() are explicit.
    ``inputs`` are numbers or functions of time, keyed by actuator, load or name. ``start="consistent"`` finds the
    accelerations that the inputs ask for at the first instant; "given" takes those of the state. ``every`` keeps each
    k-th step, and the last. ``file`` (.nc) receives the run while it is computed. ``progress(time, end)`` is called now
    and then.

    Returns a dataset (see the page "Results"): coordinates and rates, positions and orientations of all nodes,
    energies with their balance, momentum, inputs, multipliers, Newton iterations, with units, and the model.
    """
    positive("duration", duration, "s")
    if method is None:
        method = default_method(system)
    if not isinstance(step, Adaptive):
        positive("step", step, "s")
        if step > duration:
            raise BadInput(f"step = {step:g} s is longer than the duration {duration:g} s: choose a smaller step")
    if not isinstance(method, OneStep | Gauss | Explicit):
        raise BadInput(
            f"method = {describe(method)}: choose Newmark(), HHT(), GeneralizedAlpha(), ImplicitMidpoint() ..."
        )
    if isinstance(method, Explicit):
        method.check(system)
    if int(every) != every or every < 1:
        raise BadInput(f"every = {every}: keep each k-th step with a whole number k >= 1")
    if start not in ("consistent", "given"):
        raise BadInput(f'start = {describe(start)}: choose "consistent" or "given"')
    first, inputs = _first(system, state, inputs)
    spooled = [part.name for part in system.actuators if isinstance(part, SpooledTendon)]
    if isinstance(method, Gauss) and spooled:
        raise BadInput(
            f"{type(method).__name__} holds closures by their rates, which the wound length of {spooled[0]!r} does not "
            "give: use GeneralizedAlpha(), HHT() or Newmark() with spooled tendons"
        )
    signals = system.signals(inputs)
    if isinstance(system.mechanism.base, Driven):
        g, eta, eta_dot = system.mechanism.base.motion.at(first.time)
        first = first.with_(g=g, eta=eta, eta_dot=eta_dot)
    check_closed(system, first, inputs)
    if start == "consistent" or isinstance(method, Explicit):  # which has use for no others
        keyed = dict(zip(system.channels, signals, strict=True))
        first = forward_dynamics(system, first, keyed)
    march = _March(system, first, method, signals)
    record = _Recorder(system, march, method, step, duration, int(every), file)
    try:
        if isinstance(step, Adaptive):
            _adaptive(march, record, first.time, duration, step, progress, start == "consistent")
        else:
            _fixed(march, record, first.time, duration, float(step), progress, start == "consistent")
    except KeyboardInterrupt:
        run = record.finish("stopped: interrupted by the user")
        raise Interrupted(
            f"simulate: interrupted at t = {float(run['time'][-1]) if run.sizes.get('time') else first.time:g} s; "
            "what was computed is in .result" + (f" and in {file}" if file else ""),
            result=run,
        ) from None
    except Exception as error:
        # Newton, or an input function of the user's: either way nothing is lost
        error.result = record.finish(f"stopped: {error}")  # type: ignore[attr-defined]
        raise
    verdict = record.ledger.verdict()
    run = record.finish(verdict.status())
    if record.trouble is not None:
        record.trouble.result = run
        raise record.trouble
    if verdict.words:
        warnings.warn(verdict.warning(record.remedy), ElverWarning, stacklevel=2)
    return run


def still(found: Equilibrium | System) -> xr.Dataset:
    """An equilibrium as a run of one instant, to be saved, reported and seen like any other.

    A system is shown at rest: rods in their rest shape, joints at their start, loops and holds closed if possible.
    """
    expect(
        "still", "found", found, (Equilibrium, System), wanted="an Equilibrium or a System",
        example="equilibrium(system, inputs)",
    )  # fmt: skip
    if isinstance(found, System):
        system, state, inputs, about = found, _closed_rest(found), None, {}
    else:
        system, state, about = found.system, found.state, {"stable": found.stable}
        inputs = situation(found)[2]
    method = default_method(system)
    march = _March(system, state, method, system.signals(inputs))
    record = _Recorder(system, march, method, 0.0, 0.0, 1, None)
    record.add(march.run(np.array([state.time]))[1])
    run = record.finish("complete").drop_attrs(deep=False)
    names = ("elver_version", "conventions", "model", "model_not_stored")
    kept = {key: record.attributes[key] for key in names if key in record.attributes}
    what = "elver system of" if isinstance(found, System) else "elver equilibrium of"
    title = system.title or f"{what} {', '.join(part.name for part in system.mechanism.parts)}"
    return run.assign_attrs(title=title, **about, **kept, status="complete")


def _closed_rest(system: System) -> State:
    """The state at rest, with loops and holds closed; as it is where nothing closes them."""
    if not system.multipliers:
        return system.rest()
    try:
        return assemble(system)
    except NotConverged:
        return system.rest()


def _first(
    system: System, state: State | Equilibrium | Inputs | None, inputs: Inputs | None
) -> tuple[State, Inputs]:
    """The state that a run begins from, and its inputs."""
    if isinstance(state, xr.Dataset):
        raise BadInput("simulate: state is a Dataset (a run); one instant of it is state_at(system, run, time)")
    if isinstance(state, Mapping):
        held = list(system.signals(inputs))
        for part, value in state.items():
            held[system._channel(part)] = value
        return equilibrium(system, dict(zip(system.channels, held, strict=True))).state, inputs or {}
    return situation(system, state, inputs)[1:]


def _fixed(
    march: _March, record: _Recorder, t0: float, duration: float, step: float, progress: Progress | None, filtered: bool
) -> None:
    times = t0 + step_ends(duration, step)
    count = times.size - 1
    record.attributes |= {"steps": count, "last_step": float(times[-1] - times[-2])}
    # a chunk takes some time, for progress and files; explicit methods evaluate anew where one begins, where the clock
    # would decide on their last digits
    done, chunk = 0, 64 if isinstance(march.method, Explicit) else 16
    record.add(march.run(times[:1])[1])
    if filtered:
        march.filter_start(t0, float(times[1] - t0))
    while done < count:
        began = clock.perf_counter()
        grid = times[done : done + chunk + 1]
        saved = march.save()
        try:
            steps, out = march.advance(grid)
        except Exception:
            if grid.size == 2:
                raise
            # a function of the user's failed somewhere in the chunk: go there step by step, to keep the steps before it
            march.restore(saved)
            chunk = 1
            continue
        spent = max(clock.perf_counter() - began, 1e-6)
        record.add({name: values[1:] for name, values in out.items()})
        done += steps
        if progress is not None:
            progress(float(times[done]), float(times[-1]))
        if steps < grid.size - 1:
            failed = "the explicit step blew up" if isinstance(march.method, Explicit) else "Newton failed"
            raise NotConverged(
                f"simulate: {failed} at t = {times[done]:g} s even with a step of "
                f"{step / 2**march.method.halvings:.1e} s; {_advice(march)}; .result holds the run so far"
            )
        if not isinstance(march.method, Explicit):
            chunk = int(np.clip(chunk * _CHUNK_SECONDS / spent, chunk // 2 + 1, 4 * chunk))


def step_ends(duration: float, step: float) -> Array:
    """0 and the ends of all steps [s]: of the length asked for, the last one shorter where they do not fit."""
    count = max(1, int(np.ceil(duration / step * (1.0 - 1e-9))))
    ends = np.arange(count + 1.0) * step
    if abs(ends[-1] - duration) > 1e-9 * duration:
        ends[-1] = duration
    return ends


def _advice(march: _March) -> str:
    """What may help a step that Newton cannot take."""
    if isinstance(march.method, Explicit):
        return (
            "it is too long for the fastest motion, such as that of stiff rods, springs or strong drag: try a smaller "
            "step, or an implicit method such as Newmark() or GeneralizedAlpha(rho_inf=0.5)"
        )
    advice = "try a smaller step, damping in the material, or GeneralizedAlpha(rho_inf=0.5)"
    if march.system.mechanism.tree.cuts:
        advice += "; a loop driven beyond its reach or through a singular position cannot go on at all"
    return advice


def _adaptive(
    march: _March, record: _Recorder, t0: float, duration: float, control: Adaptive, progress: Progress | None,
    filtered: bool,
) -> None:  # fmt: skip
    t, end, h = t0, t0 + duration, min(control.first, duration)
    record.add(march.run(np.array([t]))[1])
    if filtered:
        march.filter_start(t0, h)
    scale = march.core.assembly.scale
    order = march.method.order
    while t < end - 1e-12 * duration:
        h = min(h, end - t, control.largest)
        saved = march.save()
        whole, one = march.run(np.array([t, t + h]))
        march.restore(saved)
        halves, two = march.run(np.array([t, t + 0.5 * h, t + h]))
        error = np.inf
        if whole == 1 and halves == 2:
            error = _difference(one, two, scale) / (2.0**order - 1.0)
        if error <= control.tolerance:
            record.add({name: values[1:] for name, values in two.items()})
            t += h
        else:
            march.restore(saved)
            if h <= control.smallest:
                raise NotConverged(
                    f"simulate: at t = {t:g} s even a step of {h:.1e} s misses the tolerance {control.tolerance:g}; "
                    "loosen it, or look for an input that jumps; .result holds the run so far"
                )
        ratio = 4.0 if error == 0.0 else 0.9 * (control.tolerance / error) ** (1.0 / (order + 1))
        h = max(h * float(np.clip(ratio, 0.2, 4.0)), control.smallest)
        if progress is not None:
            progress(t, end)


def _difference(one: dict[str, Array], two: dict[str, Array], scale: Array) -> float:
    """Largest difference of the ends of two runs, in units of the coordinates."""
    n = one["q"].shape[2]
    error = np.max(np.abs(one["q"][-1, 0] - two["q"][-1, 0]) / scale[scale.size - n :], initial=0.0)
    if scale.size > n:
        a, b = one["base"][-1], two["base"][-1]
        error = max(error, np.max(np.abs(a[:3] - b[:3])), np.max(np.abs(a[3] - b[3])) / scale[3])
    return float(error)


def _behind_nothing(steps: Array) -> Array:
    """Values of steps as rows of their ends, with zeros for the first row."""
    return np.concatenate([np.zeros((1, *steps.shape[1:])), steps])


def _joined(records: list[tuple[Array, dict[str, Array]]]) -> tuple[Array, dict[str, Array]]:
    names = records[0][1]
    return np.concatenate([times for times, _ in records]), {
        name: np.concatenate([out[name] for _, out in records]) for name in names
    }


def _model(system: System, duration: float) -> dict[str, str]:
    """The model as text, or the reason why it cannot be stored: no run fails for that."""
    try:
        model = dumps(system, duration=duration)
    except Exception as error:  # of functions and classes of the user's, which may do anything
        why = f"simulate: the run is computed, but its model cannot be stored with it: {error}"
        warnings.warn(why, ElverWarning, stacklevel=4)
        return {"model_not_stored": str(error)}
    remember(model, system)
    return {"model": model}


class _Recorder:
    """Collects the records of a run, as dataset and, if asked for, into a file."""

    def __init__(
        self, system: System, march: _March, method: Method, step: Any, duration: float, every: int, file: Any
    ) -> None:
        self.system, self.march, self.every = system, march, every
        self.seen = 0
        # times and records together, so that Ctrl-C cannot come between them
        self.records: list[tuple[Array, dict[str, Array]]] = []
        self.last: tuple[Array, dict[str, Array]] | None = None  # the last step, where ``every`` leaves it out
        self.ledger = Ledger(system, march.core, method.order)
        self.step, self.method = step, method
        self.file = None if file is None else RunFile(file)
        self.written = -np.inf
        self.trouble: CannotWrite | None = None
        self.attributes = {
            "title": system.title or f"elver simulation of {', '.join(part.name for part in system.mechanism.parts)}",
            "elver_version": version("elver"),
            "conventions": "SI units, radians; six-vectors angular first; world z up; quaternions scalar first",
            "method": repr(method),
            "step": repr(step) if isinstance(step, Adaptive) else float(step),
            **_model(system, duration),
        }

    def add(self, out: dict[str, Array]) -> None:
        """Book these steps, and keep every k-th of them."""
        if not out["time"].size:
            return
        seen = observe_states(self.system, out["base"], out["twist"], out["q"], out["inputs"])
        ledger = self.ledger
        booked = ledger.book(out, seen)
        whole = out["whole"]
        first = ledger.steps == 0 and not self.seen
        ledger.steps += int(whole.sum()) - int(first)
        for begin in self.march.divided[ledger.divided :]:
            ledger.divide(begin)
        numbers = self.seen + np.cumsum(whole) - 1
        self.seen += int(whole.sum())
        rows = {name: out[name] for name in _KEPT}
        rows |= {"ledger": booked, "position": seen.position, "rotation": seen.rotation}
        rows |= {"energy": seen.energy, "momentum": seen.momentum}
        keep = whole & (numbers % self.every == 0)
        last = {name: values[-1:] for name, values in rows.items()}
        self.last = None if keep[-1] else (last["time"], last)
        if keep.any():
            self.records.append((out["time"][keep], {name: values[keep] for name, values in rows.items()}))
            if clock.perf_counter() - self.written > _CHUNK_SECONDS:
                self._write()
        if ledger.has_run_away:
            raise NotConverged(
                f"simulate: stopped at t = {out['time'][-1]:g} s, where the method has brought in more than "
                f"{RUNAWAY:g} times the energy in play ({ledger.in_play:.3g} J): {self.remedy}; .result holds the run "
                "so far"
            )

    def _write(self) -> None:
        """Bring the file up to date with the records; an append that Ctrl-C cut short is made up for."""
        if self.file is None:
            return
        done = np.cumsum([times.size for times, _ in self.records])
        missing = [record for record, last in zip(self.records, done, strict=True) if last > self.file.steps]
        try:
            if missing:
                self.file.append(self._dataset(*_joined(missing)))
        except CannotWrite as error:
            self.trouble = error
            raise
        self.written = clock.perf_counter()

    @property
    def remedy(self) -> str:
        """What helps against energy from nowhere."""
        if isinstance(self.step, Adaptive):
            smaller = f"take a smaller tolerance than {self.step.tolerance:g}"
        else:
            smaller = f"take a smaller step than {self.step:g} s"
        if isinstance(self.method, Gauss):
            return f"{smaller}, or damp what it cannot follow (Material(damping=...), GeneralizedAlpha(rho_inf=0.3))"
        return f"{smaller}, or ImplicitMidpoint() or GaussLegendre4()"

    def finish(self, status: str) -> xr.Dataset:
        """The whole run with its last state; its status goes to the file, ``trouble`` says if that was not to be."""
        about = self.ledger.verdict().attributes
        self.attributes |= about
        if self.last is not None:
            self.records.append(self.last)
            self.last = None
        if self.file is not None:
            try:
                try:
                    if self.trouble is None:
                        self._write()
                finally:
                    self.file.close(status, about)
            except CannotWrite as error:
                self.trouble = self.trouble or error
        if not self.records:
            return xr.Dataset(attrs={**self.attributes, "status": status})
        return self._dataset(*_joined(self.records)).assign_attrs(status=status)

    def _dataset(self, times: Array, out: dict[str, Array]) -> xr.Dataset:
        system = self.system
        u, energy = out["inputs"], out["energy"]
        quaternion = {"units": "1", "long_name": "world from section, scalar first"}
        base = base_name(system)
        variables: dict[str, Any] = {
            "q": (("time", "coordinate"), out["q"][:, 0], {"units": "see coordinate_units"}),
            "q_dot": (("time", "coordinate"), out["q"][:, 1], {"units": "coordinate unit / s"}),
            "q_ddot": (("time", "coordinate"), out["q"][:, 2], {"units": "coordinate unit / s2"}),
            "coordinate_units": ("coordinate", list(system.coordinate_units)),
            f"{base}/position": (("time", "xyz"), out["base"][:, 3], {"units": "m"}),
            f"{base}/orientation": (("time", "quaternion"), so3.to_quaternion(out["base"][:, :3]), quaternion),
            f"{base}/twist": (
                ("time", "six"),
                out["twist"][:, 0],
                {"units": "rad/s, m/s", "long_name": "body twist of the base, angular first"},
            ),
            f"{base}/twist_rate": (("time", "six"), out["twist"][:, 1], {"units": "rad/s2, m/s2"}),
            "energy/kinetic": ("time", energy[:, 0], {"units": "J"}),
            "energy/elastic": ("time", energy[:, 1], {"units": "J"}),
            "energy/gravity": ("time", energy[:, 2], {"units": "J"}),
            "energy/total": ("time", energy.sum(axis=1), {"units": "J"}),
            "momentum": (
                ("time", "six"),
                out["momentum"],
                {"units": "kg m2/s, kg m/s", "long_name": "angular about the world origin, linear; world axes"},
            ),
            "newton_iterations": ("time", out["iterations"], {"units": "1"}),
        }
        coordinates: dict[str, Any] = {
            "time": ("time", times, {"units": "s"}),
            "coordinate": list(system.coordinate_names),
            "xyz": ["x", "y", "z"],
        }
        assembly = self.march.core.assembly
        for rod, at in assembly.rods.items():
            name, node = rod.name, f"{rod.name}_node"
            half_widths = np.column_stack(rod.section.half_widths(at.s, rod.length))
            variables |= {
                f"{name}/position": (("time", node, "xyz"), out["position"][:, at.frames], {"units": "m"}),
                f"{name}/orientation": (
                    ("time", node, "quaternion"), so3.to_quaternion(out["rotation"][:, at.frames]), quaternion
                ),
                f"{name}/half_width": ((node, "yz"), half_widths, {"units": "m"}),
                f"{name}/tip/position": (("time", "xyz"), out["position"][:, at.frames[-1]], {"units": "m"}),
            }  # fmt: skip
            coordinates[f"{name}/s"] = (node, at.s, {"units": "m", "long_name": "arc length of the rest shape"})
        for body, frame in assembly.bodies.items():
            variables |= {
                f"{body.name}/position": (("time", "xyz"), out["position"][:, frame], _appearance(body)),
                f"{body.name}/orientation": (
                    ("time", "quaternion"), so3.to_quaternion(out["rotation"][:, frame]), quaternion
                ),
            }  # fmt: skip
        variables |= self.ledger.variables(out["ledger"])
        if system.channels:
            variables["inputs"] = (("time", "input"), u[:, : len(system.channels)], {"units": "see input_units"})
            variables["input_units"] = ("input", [part.unit for part in system.channels])
            coordinates["input"] = list(system.channel_names)
        if system.multipliers:
            variables["multipliers"] = (
                ("time", "multiplier"), out["multipliers"], {"units": "see multiplier_units"}
            )  # fmt: skip
            variables["multiplier_units"] = ("multiplier", [u for _, u in system.multipliers])
            coordinates["multiplier"] = [label for label, _ in system.multipliers]
        if system.imposed:
            efforts = core(system).efforts(out["base"], out["twist"], out["q"], out["multipliers"], u)
            variables["efforts"] = (("time", "imposed"), efforts, {"units": "see effort_units"})
            variables["effort_units"] = ("imposed", [part.effort_unit for part in system.imposed])
            coordinates["imposed"] = [system.label(part) for part in system.imposed]
        return xr.Dataset(variables, coordinates, self.attributes)


def _appearance(body: RigidBody) -> dict[str, Any]:
    """Attributes of a body's position that say how to draw it; a frame without mass and shape is not drawn."""
    about: dict[str, Any] = {"units": "m", "long_name": "origin of the body frame"}
    if body.shape is not None:
        about |= {"shape": type(body.shape).__name__.lower(), **asdict(body.shape)}
    elif body.mass > 0.0:
        about |= {"shape": "point"}
    if "shape" in about:
        about["centre"] = body.centre
    return {name: np.array(value) if isinstance(value, tuple) else value for name, value in about.items()}


@guarded
def state_at(system: System, run: xr.Dataset, time: float | None = None) -> State:
    """State of a run at the recorded instant nearest to ``time`` [s], the last by default; to go on from there."""
    expect("state_at", "run", run, xr.Dataset, wanted="a run", example="simulate(system, duration=1.0)")
    if "time" not in run:
        raise BadInput("state_at: this dataset has no time, so it is no run; give what simulate returned or load read")
    times = run["time"].values
    k = -1
    if time is not None:
        t, slack = float(finite("time", time, (), "s")), 1e-9 * max(float(times[-1] - times[0]), 1.0)
        if not times[0] - slack <= t <= times[-1] + slack:
            raise BadInput(
                f"state_at: time = {t:g} s is outside of the run, which goes from {times[0]:g} s to {times[-1]:g} s: "
                "choose an instant in it, or simulate longer"
            )
        k = int(np.argmin(np.abs(times - t)))
    at = run.isel(time=k)
    name = base_name(system)
    g = np.eye(4)
    g[:3, :3] = so3.from_quaternion(at[f"{name}/orientation"].values)
    g[:3, 3] = at[f"{name}/position"].values
    multipliers = at["multipliers"].values if "multipliers" in at else np.zeros(0)
    return State(
        at["q"].values, at["q_dot"].values, at["q_ddot"].values, g,
        at[f"{name}/twist"].values, at[f"{name}/twist_rate"].values, multipliers, float(times[k]),
    )  # fmt: skip
