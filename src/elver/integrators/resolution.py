"""Whether strain functions, nodes and time step suffice, of equilibria and of runs: :func:`check_resolution`.

Equilibria: :mod:`elver.statics.resolution`. A run is looked at where it was recorded, in two ways that are cheap:

- at several instants it is carried over to the finer system, and the functions that it did not have give way to what is
  out of balance there: what is missing at each instant;
- about where it is in its middle, at rest, small vibrations are found with its own functions and with the finer ones. A
  mode of amplitude A whose frequency is off by δω is off by A δω t after a time t (until damping has taken it away):
  what has grown over the run. The time scheme shifts frequencies too, by ω - (2/h) atan(ω h / 2) for schemes of order
  two.

These are estimates of size, for free: of 135 random runs (studies/resolution.py) nine of ten are judged within a factor
of three, and all between 0.6 and 5.4 times their true error. On request (``steps=True``) the run is done again with
half the step, with its own and with the finer functions, and compared.

Theory: docs/theory/time-integration.md, eq. (drift).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elver import integrators
from elver.actuation import Imposed
from elver.dynamics.core import core
from elver.dynamics.quantities import observe_states
from elver.dynamics.refinement import Refinement, refine
from elver.dynamics.states import Arrays, arrays, as_state
from elver.errors import BadInput, ElverWarning, positive
from elver.integrators.adaptive import Adaptive
from elver.integrators.method import Method
from elver.numerics.pencils import symmetric_pencil
from elver.results.history import History, history_of, system_of
from elver.results.status import is_run
from elver.statics.equilibrium import Equilibrium
from elver.statics.resolution import Resolution, conclude, excess_of, resolution_of_equilibrium, strain_by_strain
from elver.statics.settling import null_space
from elver.system import State, System
from elver.words import describe

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["check_resolution", "resolution_in_words"]

Array = NDArray[np.float64]

_FOURTH_ORDER = ("GaussLegendre4", "RungeKutta4")


def check_resolution(
    result: Equilibrium | xr.Dataset,
    *,
    system: System | None = None,
    tolerance: float = 1e-3,
    steps: bool = False,
    instants: int = 5,
) -> Resolution:
    """Whether functions, nodes and step of ``result``, an equilibrium or a run, suffice; with estimates and advice.

    ``tolerance`` is what suffices: errors of positions over the length of the longest rod; energy and reactions may be
    off by ten times as much, as parts of themselves. ``system`` is that of the run, by default the one in it. Runs are
    looked at in so many ``instants``; with ``steps`` they are done again, with half the step and finer functions, which
    takes several times as long as the run and is the better estimate.

    >>> print(check_resolution(equilibrium(system)))
    """
    positive("tolerance", tolerance, "(part of the length)")
    if int(instants) != instants or instants < 1:
        raise BadInput(f"instants = {instants}: give a whole number >= 1")
    if isinstance(result, Equilibrium):
        return resolution_of_equilibrium(result, tolerance)
    if not is_run(result):
        raise BadInput(
            f"check_resolution: {describe(result)} is no result; give an equilibrium or a run of simulate(...)"
        )
    known = system_of(result, system)
    if not known.mechanism.rods:
        raise BadInput("check_resolution: this system has no rods, so there are no strain functions to check")
    if result.sizes["time"] == 1:
        history, _ = history_of(result, system=known)
        a, u = history.at(0)
        still = Equilibrium(known, as_state(a, float(history.times[0])), u, True, 0, 0.0)
        return resolution_of_equilibrium(still, tolerance)
    return _rerun(result, known, tolerance) if steps else _as_recorded(result, known, tolerance, int(instants))


def resolution_in_words(result: Equilibrium | xr.Dataset, system: System | None = None) -> str:
    """The advice of :func:`check_resolution` for a line beside a result; empty where there is nothing to check."""
    try:
        return check_resolution(result, system=system).advice
    except (ValueError, RuntimeError, ArithmeticError, LookupError):
        return ""  # no rods, code of the user's that the file does not hold: no reason to withhold the result itself


# From what was recorded -------------------------------------------------------------------------------------


def _as_recorded(run: xr.Dataset, system: System, tolerance: float, instants: int) -> Resolution:
    times = run["time"].values.astype(float)
    rows = np.unique(np.linspace(0, times.size - 1, instants + 1).round().astype(int))[1:]
    history, _ = history_of(run, times[rows], system=system)
    fine = refine(system)
    length = core(system).assembly.length
    worst, tip, energy, nodes, where = 0.0, 0.0, 0.0, 0.0, 0
    richer = []
    for k in range(rows.size):
        a, u = history.at(k)
        state = as_state(a, float(history.times[k]))
        richer.append(_relaxed(fine, state, u))
        missing, at_tip, part = _compare(fine, state, richer[-1], u)
        if missing >= worst:
            worst, where = missing, k
        tip, energy = max(tip, at_tip), max(energy, part)
        nodes = max(nodes, _nodes(system, fine, state, u))
    middle = history.at(rows.size // 2)
    drift, by_step = _drift(run, system, fine, middle)
    state, u = as_state(history.at(where)[0], 0.0), history.at(where)[1]
    step = by_step if isinstance(run.attrs.get("step"), float) else None
    # what is missing and what has drifted do not know of each other
    total = float(np.hypot(worst, drift)) + nodes + (step or 0.0)
    excess = excess_of(total / length, energy, 0.0, tolerance)
    strains = strain_by_strain(system, fine, state, richer[where], u, excess)
    errors = {"position": total, "tip": max(tip, total - worst), "energy": energy, "reaction": 0.0, "nodes": nodes}
    found = conclude(system, length, errors, strains, tolerance, step)
    # errors of modes are added as if they were largest at one instant: a bound, which a run done again makes a figure
    return replace(found, advice=found.advice.replace("by about", "by up to about"))


def _relaxed(fine: Refinement, state: State, u: Array) -> State:
    """The state on the finer system, where the functions that it did not have give way to what is out of balance.

    They are those without elastic work against its own; its own are held by the motion.
    """
    kernels, carried = core(fine.system), fine.state(state)
    a = arrays(carried)
    c, free = kernels.coordinates, kernels.coordinates - kernels.n
    R = kernels.residual(a, u)
    K = kernels.tangent(a, u, (1.0, 0.0, 0.0))
    scale = kernels.assembly.scale[free:]
    own = (kernels.elastic @ fine.transfer).T * scale
    own[~own.any(axis=1)] = (fine.transfer.T / scale)[~own.any(axis=1)]  # joints without springs
    new = scale[:, None] * null_space(own, 1e-10)
    if not new.shape[1]:
        return carried
    step = -np.linalg.lstsq(new.T @ K[free:c, free:c] @ new, new.T @ R[free:c], rcond=1e-12)[0]
    return carried.with_(q=carried.q + new @ step)


def _compare(fine: Refinement, state: State, richer: State, u: Array) -> tuple[float, float, float]:
    """Largest distance of all points and of tips [m], and the part of the energy in play by which it changes."""
    seen = _observe(fine.system, [arrays(fine.state(state)), arrays(richer)], np.tile(u, (2, 1)))
    apart = np.linalg.norm(seen.position[0] - seen.position[1], axis=1)
    ends = [at.frames[-1] for at in core(fine.system).assembly.rods.values()]
    scale = np.max(seen.energy[:, :2].sum(axis=1))
    energy = abs(seen.energy[1, 1] - seen.energy[0, 1]) / scale if scale > 0.0 else 0.0
    return float(apart.max(initial=0.0)), float(apart[ends].max(initial=0.0)), float(energy)


def _nodes(system: System, fine: Refinement, state: State, u: Array) -> float:
    """How far tips are from where more nodes would put them for the same strains [m]."""
    ends = []
    for one, there in ((system, state), (fine.system, fine.state(state))):
        frames = [at.frames[-1] for at in core(one).assembly.rods.values()]
        ends.append(_observe(one, [arrays(there)], u[None]).position[0, frames])
    return float(np.max(np.linalg.norm(ends[0] - ends[1], axis=1), initial=0.0))


def _observe(system: System, states: list[Arrays], inputs: Array) -> Any:
    base, twist, q = (np.array([getattr(a, name) for a in states]) for name in ("base", "twist", "q"))
    return observe_states(system, base, twist, q, inputs)


# What has drifted -------------------------------------------------------------------------------------------


def _drift(run: xr.Dataset, system: System, fine: Refinement, at: tuple[Arrays, Array]) -> tuple[float, float]:
    """Errors of positions [m] that grow over a run, by frequencies that functions and the step shift."""
    # At rest there: what the inertia of an instant adds to the stiffness comes and goes, and makes no frequency.
    a, u = replace(at[0], q=np.vstack([at[0].q[:1], np.zeros((2, system.n))]), twist=np.zeros((2, 6))), at[1]
    kernels = core(system)
    squares, damping, shapes, mass = _vibrations(system, a, u)
    finer = _vibrations(fine.system, arrays(fine.state(as_state(a, 0.0))), u)[0][: squares.size]
    omega = np.sqrt(np.abs(squares))
    if not omega.size:
        return 0.0, 0.0
    free = kernels.coordinates - kernels.n
    # from rates: what follows slower modes and loads is no vibration of its own
    amplitude = np.max(np.abs(run["q_dot"].values @ (mass @ shapes)[free:]), axis=0) / np.maximum(omega, 1e-300)
    duration = float(run["time"].values[-1] - run["time"].values[0])
    # a damped mode is off most after one time constant, when a part 1/e of it is left
    rate = damping * omega
    lasting = np.minimum(duration, 1.0 / np.maximum(rate, 1e-300)) * np.exp(-np.minimum(rate * duration, 1.0))
    reach = np.minimum(amplitude * _reach(system, a, u, shapes), _excursion(run, system))
    shift = np.abs(squares - finer) / np.maximum(omega + np.sqrt(np.abs(finer)), 1e-300)
    by_functions = np.linalg.norm(reach * np.minimum(shift * lasting, 2.0))
    h = run.attrs.get("step")
    by_step = 0.0
    if isinstance(h, float):
        x = omega * h
        if str(run.attrs.get("method", "")).startswith(_FOURTH_ORDER):
            slower = omega * np.minimum(x**4 / 720.0, 1.0)
        else:
            slower = omega - 2.0 / h * np.arctan(0.5 * x)
        by_step = float(np.linalg.norm(reach * np.minimum(slower * lasting, 2.0)))
    return float(by_functions), by_step


def _vibrations(system: System, a: Arrays, u: Array) -> tuple[Array, Array, Array, Array]:
    """Squares of frequencies [rad²/s²], ascending, negative where a state is not stable; fractions of critical damping,
    shapes (coordinates, modes) and the mass matrix.
    """
    kernels = core(system)
    c, scale = kernels.coordinates, kernels.assembly.scale
    weights = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    whole = [kernels.tangent(a, u, w) for w in weights]
    K, D, M = (matrix[:c, :c] for matrix in whole)
    imposed = np.eye(c)[c - kernels.n + kernels.program.imposed[:, 0]]
    held = np.vstack([whole[0][c:, :c], imposed]) * scale
    Z = scale[:, None] * null_space(held, 1e-9)
    if not Z.shape[1]:
        return np.zeros(0), np.zeros(0), np.zeros((c, 0)), M
    small = [Z.T @ matrix @ Z for matrix in (K, D, M)]
    values, vectors = symmetric_pencil(0.5 * (small[0] + small[0].T), 0.5 * (small[2] + small[2].T))
    omega = np.sqrt(np.abs(values))
    damping = np.einsum("ij,ik,kj->j", vectors, small[1], vectors) / (2.0 * np.maximum(omega, 1e-300))
    return values, np.maximum(damping, 0.0), Z @ vectors, M


def _reach(system: System, a: Arrays, u: Array, shapes: Array) -> Array:
    """Largest displacement of a point per unit of each shape, (modes,); the base of a floating robot is left."""
    kernels = core(system)
    inner = shapes[kernels.coordinates - kernels.n :]
    size = 1e-5 / np.maximum(np.max(np.abs(inner) / kernels.assembly.scale[-kernels.n :, None], axis=0), 1e-300)
    moved = [replace(a, q=np.vstack([a.q[0] + e * x, a.q[1:]])) for e, x in zip(size, inner.T, strict=True)]
    seen = _observe(system, [a, *moved], np.tile(u, (len(moved) + 1, 1))).position
    return np.asarray(np.linalg.norm(seen[1:] - seen[0], axis=2).max(axis=1) / size)


def _excursion(run: xr.Dataset, system: System) -> float:
    """How far points of rods move in a run, from the middle of their range [m]."""
    paths = [run[f"{rod.name}/position"].values for rod in system.mechanism.rods]
    return max(float(np.linalg.norm(0.5 * np.ptp(path, axis=0), axis=1).max()) for path in paths)


# Done again -------------------------------------------------------------------------------------------------


def _rerun(run: xr.Dataset, system: System, tolerance: float) -> Resolution:
    """Half the step, with the functions of the run and with finer ones."""
    fine = refine(system)
    whole, _ = history_of(run, system=system)
    halved = _again(run, system, whole, as_state(whole.at(0)[0], float(whole.times[0])))
    richer = _again(run, fine.system, whole, fine.state(as_state(whole.at(0)[0], float(whole.times[0]))))
    times = whole.times
    rows = np.unique(np.linspace(0, times.size - 1, 200).round().astype(int))[1:]
    T, kernels = fine.transfer, core(fine.system)

    def seen(history: History, carried: bool) -> Any:
        found = history.interpolated(times[rows])
        q = np.einsum("ij,tkj->tki", T, found.q) if carried else found.q
        u = np.array([found.at(k)[1] for k in range(rows.size)])
        return observe_states(fine.system, found.base, found.twist, q, u), replace(found, q=q)

    (one, _), (two, _), (best, ideal) = seen(whole, True), seen(halved, True), seen(richer, False)
    distance = np.linalg.norm(one.position - best.position, axis=2)
    by_step = np.linalg.norm(one.position - two.position, axis=2).max()
    ends = [at.frames[-1] for at in kernels.assembly.rods.values()]
    k = int(np.argmax(distance.max(axis=1)))
    own, _ = history_of(run, times[rows[k : k + 1]], system=system)
    a, u = own.at(0)
    nodes = _nodes(system, fine, as_state(a, 0.0), u)
    in_play = np.max(best.energy[:, :2].sum(axis=1))
    energy = float(np.max(np.abs(one.energy[:, :2].sum(axis=1) - best.energy[:, :2].sum(axis=1))) / in_play)
    length = kernels.assembly.length
    total = float(distance.max())
    excess = excess_of(total / length, 0.0, 0.0, tolerance)
    strains = strain_by_strain(system, fine, as_state(a, 0.0), as_state(ideal.at(k)[0], 0.0), u, excess)
    errors = {
        "position": total, "tip": float(distance[:, ends].max()), "energy": energy, "reaction": 0.0, "nodes": nodes,
    }  # fmt: skip
    return conclude(system, length, errors, strains, tolerance, float(4.0 / 3.0 * by_step))


def _again(run: xr.Dataset, system: System, whole: History, first: State) -> History:
    """The run of ``system`` with half the step, from ``first``, under the inputs that were recorded."""
    method, step = _method(run)
    duration = float(whole.times[-1] - whole.times[0])
    if isinstance(step, Adaptive):
        finer: Any = replace(step, tolerance=0.1 * step.tolerance)
    else:
        finer = 0.5 * min(step, duration)
    from elver.integrators.simulate import simulate  # which imports xarray; an equilibrium does without

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElverWarning)  # said of the run itself
        again = simulate(system, first, duration, finer, method, _inputs(system, whole))
    return history_of(again, system=system)[0]


def _inputs(system: System, whole: History) -> dict[str, Any]:
    """Inputs as they were recorded: constants, or monotone cubics between the instants."""
    from scipy.interpolate import PchipInterpolator  # slow to import, and rarely needed

    def through(values: Array) -> Callable[[float], Any]:
        curve = PchipInterpolator(whole.times, values, extrapolate=False)
        return lambda t: curve(np.clip(t, whole.times[0], whole.times[-1]))

    found: dict[str, Any] = {}
    for k, (name, part) in enumerate(zip(system.channel_names, system.channels, strict=True)):
        if isinstance(part, Imposed):
            own = whole.system.channels[k]
            assert isinstance(own, Imposed)  # the finer system has the same channels
            coordinate = whole.system.imposed_columns(own)[0]
            found[name] = through(whole.q[:, :, coordinate])
        elif np.ptp(whole.inputs[:, k]) == 0.0:
            found[name] = float(whole.inputs[0, k])
        else:
            curve = through(whole.inputs[:, k])
            found[name] = lambda t, curve=curve: float(curve(t))
    return found


def _method(run: xr.Dataset) -> tuple[Method, float | Adaptive]:
    """Time scheme and step of a run, from its attributes."""
    step = run.attrs.get("step")
    try:
        method = _value(str(run.attrs["method"]))
        return method, float(step) if isinstance(step, int | float) else _value(str(step))
    except (KeyError, ValueError, SyntaxError, TypeError, AttributeError) as error:
        raise BadInput(
            f"check_resolution: the time scheme of this run cannot be read ({error}); leave steps out"
        ) from None


def _value(text: str) -> Any:
    """A time scheme from its repr: a name of this package with numbers, texts and schemes as arguments."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"{text!r} is no time scheme")
    kind = getattr(integrators, call.func.id)
    return kind(**{str(word.arg): ast.literal_eval(word.value) for word in call.keywords})
