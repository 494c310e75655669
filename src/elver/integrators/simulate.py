"""Simulation: steps from a state, recorded as a dataset with names and units.

Steps run compiled, a chunk at a time; between chunks the progress bar moves, Ctrl-C is heard, and the chunk goes to
the file if one was asked for. A step that fails is divided in 2, 4, 8 ... parts. Whatever ends the run, what was
computed is returned with the exception and is in the file.

Theory: docs/theory/time-integration.md, eq. (step), (adaptive).
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from elver.dynamics.forward import forward_dynamics
from elver.dynamics.quantities import overload
from elver.errors import BadInput, CannotWrite, Interrupted, NotConverged, expect, finite, positive, warn
from elver.guards import guarded
from elver.integrators.adaptive import Adaptive
from elver.integrators.default import default_method
from elver.integrators.explicit import Explicit
from elver.integrators.march import March
from elver.integrators.method import Method
from elver.integrators.recording import Recorder
from elver.lie import so3
from elver.mechanism import Driven
from elver.results.history import base_name
from elver.statics import Equilibrium, equilibrium
from elver.statics.closing import assemble, check_closed
from elver.system import Inputs, State, System, situation
from elver.words import describe

__all__ = ["simulate", "state_at", "step_ends", "still"]

Array: TypeAlias = NDArray[Any]
Progress: TypeAlias = Callable[[float, float], None]

_CHUNK_SECONDS = 0.2


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
    ``method`` is Conserving() by default; ImplicitMidpoint() where a motion has no inertia, and on large
    trees that it does by the matrix. RungeKutta4() and SemiImplicitEuler() are explicit.
    ``inputs`` are numbers or functions of time, keyed by actuator, load or name. ``start="consistent"`` finds the
    accelerations that the inputs ask for at the first instant; "given" takes those of the state. ``every`` keeps each
    k-th step, and the last. ``file`` (.nc) receives the run while it is computed. ``progress(time, end)`` is called now
    and then.

    Returns a dataset (see the page "Results"): coordinates and rates, positions and orientations of all nodes,
    energies with their balance, momentum, inputs, multipliers, Newton iterations, with units, and the model.
    """
    _check_times(duration, step, every, start)
    if method is None:
        method = default_method(system)
    _check_method(system, method)
    first, inputs = _first(system, state, inputs)
    signals = system.signals(inputs)
    if isinstance(system.mechanism.base, Driven):
        g, eta, eta_dot = system.mechanism.base.motion.at(first.time)
        first = first.with_(g=g, eta=eta, eta_dot=eta_dot)
    check_closed(system, first, inputs)
    asked = start == "consistent" and method.asks_for_accelerations(system)
    if asked or isinstance(method, Explicit):  # which has use for no others
        keyed = dict(zip(system.channels, signals, strict=True))
        first = forward_dynamics(system, first, keyed)
    march = March(system, first, method, signals)
    record = Recorder(system, march, method, step, duration, int(every), file)
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
        error.result = record.finish(f"stopped: {_in_words(error)}")  # type: ignore[attr-defined]
        raise
    verdict = record.ledger.verdict()
    run = record.finish(verdict.status())
    if record.trouble is not None:
        record.trouble.result = run
        raise record.trouble
    if verdict.words:
        warn(verdict.warning(record.remedy))
    return run


def _check_times(duration: float, step: float | Adaptive, every: int, start: str) -> None:
    positive("duration", duration, "s")
    if not isinstance(step, Adaptive):
        positive("step", step, "s")
        if step > duration:
            raise BadInput(f"step = {step:g} s is longer than the duration {duration:g} s: choose a smaller step")
    if int(every) != every or every < 1:
        raise BadInput(f"every = {every}: keep each k-th step with a whole number k >= 1")
    if start not in ("consistent", "given"):
        raise BadInput(f'start = {describe(start)}: choose "consistent" or "given"')


def _check_method(system: System, method: Method) -> None:
    if not isinstance(method, Method) or not method.family:
        raise BadInput(
            f"method = {describe(method)}: choose Conserving(), ImplicitMidpoint(), GeneralizedAlpha(), Newmark() ..."
        )
    method.check(system)


def _in_words(error: Exception) -> str:
    """What ended a run; of errors that are not ours also their kind and notes."""
    if isinstance(error, BadInput | NotConverged | CannotWrite):
        return str(error)
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {error}{notes}"


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
    march = March(system, state, method, system.signals(inputs))
    record = Recorder(system, march, method, 0.0, 0.0, 1, None)
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


def _first(system: System, state: State | Equilibrium | Inputs | None, inputs: Inputs | None) -> tuple[State, Inputs]:
    """The state that a run begins from, and its inputs."""
    if isinstance(state, xr.Dataset):
        raise BadInput("simulate: state is a Dataset (a run); one instant of it is state_at(system, run, time)")
    if isinstance(state, Mapping):
        held = list(system.signals(inputs))
        for part, value in state.items():
            held[system.input_index(part)] = value
        return equilibrium(system, dict(zip(system.channels, held, strict=True))).state, inputs or {}
    return situation(system, state, inputs)[1:]


def _fixed(
    march: March, record: Recorder, t0: float, duration: float, step: float, progress: Progress | None, filtered: bool
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
            t = float(times[done])
            raise NotConverged(
                f"simulate: {failed} at t = {t:g} s even with a step of "
                f"{step / 2**march.method.halvings:.1e} s; {_advice(march, t)}; .result holds the run so far"
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


def _advice(march: March, t: float) -> str:
    """What may help a step from ``t`` [s] on that Newton cannot take."""
    if fault := march.core.fault:
        return f"{fault}: give it a value there, or take a smaller step"
    if much := overload(march.system, march.system.input_vector(march.signals, t)):
        return much
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
    march: March, record: Recorder, t0: float, duration: float, control: Adaptive, progress: Progress | None,
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
