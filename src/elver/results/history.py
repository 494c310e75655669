"""States behind a result: of a run, an equilibrium or a single state, at recorded instants and between them.

Between two instants coordinates follow the polynomial of degree five that has their values, rates and second rates at
both ends; a moving base does so in the logarithm of its motion since the instant before, g = g_k exp(x(t)). Inputs and
multipliers, whose rates are not recorded, are drawn straight from one instant to the next.

A stiff rod vibrates faster than the steps of most runs: there rates and second rates are those of a motion that the
values do not show, and a polynomial with them would swing out far between. Of each coordinate, rates that are not those
of the parabola through neighbouring instants (off by more than a half: under three instants in a period) are
exchanged for it; accelerations are then drawn straight between the recorded ones, as forces are.

Some methods record accelerations that do not balance (Gauss methods extrapolate them to the end of a step): those are
exchanged for the ones that do, M δa + Jᵀ δλ = -R, J δa = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.dynamics.core import core
from elver.dynamics.states import Arrays, arrays, as_state
from elver.errors import BadInput, finite
from elver.io import loads
from elver.lie import se3, so3
from elver.mechanism import Part
from elver.results.status import is_run
from elver.rods import Rod
from elver.system import Inputs, State, System
from elver.words import describe

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = [
    "Balanced",
    "History",
    "Instant",
    "Result",
    "base_name",
    "history_of",
    "last_instant",
    "part_of",
    "remember",
    "system_of",
]

Array: TypeAlias = NDArray[np.float64]


@runtime_checkable
class Balanced(Protocol):
    """An equilibrium: a system, its state, and the value of every input."""

    @property
    def system(self) -> System: ...
    @property
    def state(self) -> State: ...
    @property
    def inputs(self) -> Array: ...


Result: TypeAlias = "xr.Dataset | Balanced | State"

# Imbalance, in the units of a residual, above which recorded accelerations are exchanged: far above what Newton leaves.
_BALANCED = 1e-6
_SAME_INSTANT = 1e-9  # of the duration


@dataclass(frozen=True, eq=False)
class History:
    """States of a system in the layout of the kernels, time first."""

    system: System
    times: Array  # (T,) s
    base: Array  # (T, 4, 3) rows of R, then p
    twist: Array  # (T, 2, 6)
    q: Array  # (T, 3, n)
    multipliers: Array  # (T, rows)
    inputs: Array  # (T, channels)
    recorded: bool = False
    """True for a run: its accelerations are those of a time-stepping method."""

    def at(self, k: int) -> tuple[Arrays, Array]:
        """State and full input vector of one instant."""
        a = Arrays(self.base[k].copy(), self.twist[k].copy(), self.q[k].copy(), self.multipliers[k].copy())
        u = np.zeros(self.system.input_size)
        u[: len(self.system.channels)] = self.inputs[k]
        for part in self.system.imposed:
            coordinate, _, rate, second = self.system.imposed_columns(part)
            u[rate], u[second] = self.q[k, 1:, coordinate]
        if self.system.feedback:
            u[-1] = self.times[k]
        return a, u

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> History:
        """The states of some instants."""
        names = ("times", "base", "twist", "q", "multipliers", "inputs")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def balanced(self) -> History:
        """With accelerations and multipliers that balance at every instant; only a run's can be off."""
        if not self.recorded:
            return self
        kernels = core(self.system)
        c, free, scale = kernels.coordinates, kernels.coordinates - kernels.n, kernels.assembly.scale
        twist, q, multipliers = self.twist.copy(), self.q.copy(), self.multipliers.copy()
        for k in range(self.times.size):
            a, u = self.at(k)
            R = kernels.residual(a, u)[:c]
            off = float(np.max(np.abs(R * scale), initial=0.0))
            if off <= _BALANCED * kernels.assembly.energy or not np.isfinite(off):
                continue
            matrix = kernels.tangent(a, u, (1.0, 0.0, 0.0))
            matrix[:c, :c] = kernels.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]
            change = np.linalg.lstsq(matrix, np.concatenate([-R, np.zeros(kernels.rows)]), rcond=1e-15)[0]
            if free:
                twist[k, 1] += change[:6]
            q[k, 2] += change[free:c]
            multipliers[k] += change[c:]
        return replace(self, twist=twist, q=q, multipliers=multipliers)

    def interpolated(self, times: Array) -> History:
        """States at any ``times`` [s] within the recorded ones, with accelerations that balance at the recorded."""
        own = self.times
        margin = _SAME_INSTANT * max(own[-1] - own[0], 1e-300)
        outside = (times < own[0] - margin) | (times > own[-1] + margin)
        if np.any(outside):
            raise BadInput(
                f"times = {times[outside][0]:g} s lies outside the run, which goes from {own[0]:g} s to "
                f"{own[-1]:g} s: choose instants within it, or simulate longer"
            )
        before = np.clip(np.searchsorted(own, times + margin, side="right") - 1, 0, own.size - 1)
        needed = np.unique(np.clip(before[:, None] + np.arange(-1, 3), 0, own.size - 1))
        known = self.take(needed).balanced()
        rows = [_between(known, int(np.searchsorted(needed, k)), t, margin) for k, t in zip(before, times)]
        base, twist, q, multipliers, inputs = (np.array([row[i] for row in rows]) for i in range(5))
        return History(self.system, times.copy(), base, twist, q, multipliers, inputs, self.recorded)


def _between(known: History, k: int, t: float, margin: float) -> tuple[Array, Array, Array, Array, Array]:
    """Base, twist, coordinates, multipliers and inputs at ``t``, from the instant k on."""
    if k + 1 == known.times.size or abs(t - known.times[k]) <= margin:
        return known.base[k], known.twist[k], known.q[k], known.multipliers[k], known.inputs[k]
    x = (t - known.times[k]) / (known.times[k + 1] - known.times[k])
    window = np.arange(max(k - 1, 0), min(k + 3, known.times.size))
    times, place = known.times[window], k - int(window[0])
    q = _between_jets(times, np.array([_same_chart(known, k, j) for j in map(int, window)]), place, x)
    base, twist = known.base[k], known.twist[k]
    if np.any(known.twist[window]) or np.any(known.base[window] != base):
        # motion of the base since the instant before, g = g0 exp(y)
        y = _between_jets(times, np.array([_since(known, k, j) for j in map(int, window)]), place, x)
        g, T = se3.pose(base[:3], base[3]) @ se3.exp(y[0]), se3.dexp(y[0])
        base = np.vstack([g[:3, :3], g[:3, 3]])
        twist = np.array([T @ y[1], T @ y[2] + se3.d_dexp(y[0], y[1]) @ y[1]])
    straight = [(1.0 - x) * v[k] + x * v[k + 1] for v in (known.multipliers, known.inputs)]
    return base, twist, q, straight[0], straight[1]


def _since(known: History, k: int, j: int) -> Array:
    """y with g_j = g_k exp(y), its rate and second rate at the instant j, (3, 6)."""
    g_k, g_j = (se3.pose(base[:3], base[3]) for base in (known.base[k], known.base[j]))
    y = se3.log(se3.inverse(g_k) @ g_j)
    inverse, (eta, eta_dot) = se3.dexp_inv(y), known.twist[j]
    rate = inverse @ eta
    return np.array([y, rate, inverse @ eta_dot + se3.d_dexp_inv(y, rate) @ eta])


def _between_jets(times: Array, jets: Array, k: int, x: float) -> Array:
    """Values and rates (3, n) at the part ``x`` of the interval after the instant k of a few; jets (instants, 3, n)."""
    start, end, sharp = _resolved(times, jets, k)
    found = _quintic(start, end, float(times[k + 1] - times[k]), x)
    found[2] = np.where(sharp, (1.0 - x) * jets[k, 2] + x * jets[k + 1, 2], found[2])
    return found


def _resolved(times: Array, jets: Array, k: int) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Values and rates at the instants k and k + 1, (3, n) each, without rates that the step does not resolve.

    Also which coordinates vibrate too fast. At the first and last instant of a run, as at its neighbour.
    """
    ends = jets[k].copy(), jets[k + 1].copy()
    found = np.zeros(jets.shape[2], dtype=bool)
    if times.size < 3:
        return *ends, found
    inner = [min(max(j, 1), times.size - 2) for j in (k, k + 1)]
    middle = [_parabola(times, jets[:, 0], j, j) for j in inner]
    h = times[k + 1] - times[k]
    bend = np.max([np.abs(second) for _, second in middle], axis=0)
    pace = np.maximum(np.max([np.abs(rate) for rate, _ in middle], axis=0), h * bend)
    for end, j, at in zip(ends, (k, k + 1), inner):
        rate, second = _parabola(times, jets[:, 0], at, at)
        fast = np.abs(jets[at, 1] - rate) > 0.5 * pace
        sharp = fast | (np.abs(jets[at, 2] - second) > 0.5 * bend)
        rate, second = _parabola(times, jets[:, 0], at, j)
        end[1], end[2] = np.where(fast, rate, end[1]), np.where(sharp, second, end[2])
        found |= sharp
    return *ends, found


def _parabola(times: Array, values: Array, middle: int, at: int) -> tuple[Array, Array]:
    """Rate at the instant ``at``, and second rate, of the parabola through three values around ``middle``."""
    (a, b, c), (u, v, w) = times[middle - 1 : middle + 2], values[middle - 1 : middle + 2]
    left, right = (v - u) / (b - a), (w - v) / (c - b)
    second = 2.0 * (right - left) / (c - a)
    return left + second * (times[at] - 0.5 * (a + b)), second


def _quintic(start: Array, end: Array, h: float, x: float) -> Array:
    """Value, rate and second rate (3, n) at the part ``x`` of an interval ``h`` [s], from those at its ends."""
    scale = np.array([1.0, h, h * h])[:, None]
    a, b = start * scale, end * scale
    c = [a[0], a[1], 0.5 * a[2]]
    d0, d1, d2 = b[0] - sum(c), b[1] - c[1] - 2.0 * c[2], b[2] - 2.0 * c[2]
    c += [10.0 * d0 - 4.0 * d1 + 0.5 * d2, -15.0 * d0 + 7.0 * d1 - d2, 6.0 * d0 - 3.0 * d1 + 0.5 * d2]
    powers = np.array([[x**k for k in range(6)], [k * x ** max(k - 1, 0) for k in range(6)],
                       [k * (k - 1) * x ** max(k - 2, 0) for k in range(6)]])  # fmt: skip
    return (powers @ np.array(c)) / scale


def _same_chart(known: History, k: int, j: int) -> Array:
    """Coordinates and rates of the instant j with rotation vectors that continue those of the instant k.

    A run may exchange a rotation vector for the shorter one of the same rotation; rates change with it.
    """
    q = known.q[j]
    for first in core(known.system).program.wrap:
        own = slice(first, first + 3)
        theta, near = q[0, own], known.q[k, 0, own]
        angle = float(np.linalg.norm(theta))
        if np.linalg.norm(theta - near) <= np.pi or angle == 0.0:
            continue
        turns = [theta * (1.0 + 2.0 * np.pi * n / angle) for n in (-2, -1, 1, 2)]
        other = min(turns, key=lambda v: float(np.linalg.norm(v - near)))
        spin = so3.dexp(theta) @ q[1, own]
        spin_rate = so3.dexp(theta) @ q[2, own] + so3.d_dexp(theta, q[1, own]) @ q[1, own]
        q = q.copy()
        q[0, own] = other
        q[1, own] = so3.dexp_inv(other) @ spin
        q[2, own] = so3.dexp_inv(other) @ spin_rate + so3.d_dexp_inv(other, q[1, own]) @ spin
    return q


# ---------------------------------------------------------------------------------------------------------------
# From results
# ---------------------------------------------------------------------------------------------------------------


def history_of(
    result: Result, times: ArrayLike | None = None, *, system: System | None = None, inputs: Inputs | None = None
) -> tuple[History, bool]:
    """States of a result at ``times`` [s], all recorded ones by default, and whether it is a single instant."""
    if is_run(result):
        if inputs is not None:
            raise BadInput("inputs belong to a single state: a run has its own")
        found = _of_run(result, system_of(result, system))
        if times is None:
            return found.balanced(), False
        wanted = finite("times", np.atleast_1d(np.asarray(times, dtype=float)).ravel(), (-1,), "s")
        return found.interpolated(wanted), np.ndim(times) == 0
    if times is not None:
        raise BadInput(f"times = {times!r}: only a run has several instants; leave it out for a state or equilibrium")
    if isinstance(result, State):
        if system is None:
            raise BadInput("a State does not know its system: give system=...")
        system.check_state(result)
        u = system.input_vector(system.signals(inputs), result.time)
        return _of_state(system, result, u), True
    if isinstance(result, Balanced):
        return _of_state(result.system, result.state, result.inputs), True
    raise BadInput(
        f"{describe(result)} is no result: give a run (simulate), an equilibrium, or a State with system=..."
    )


@dataclass(frozen=True, eq=False)
class Instant:
    """One instant of a run: wherever a state with its inputs is asked for."""

    system: System
    state: State
    inputs: Array


def last_instant(run: xr.Dataset) -> Instant:
    """The end of a run; other instants are ``state_at(system, run, time)``."""
    found = _of_run(run, system_of(run))
    if not found.times.size:
        raise BadInput("this run has no instant: it stopped before its first step")
    a, u = found.at(-1)
    return Instant(found.system, as_state(a, float(found.times[-1])), u)


def _of_state(system: System, state: State, u: Array) -> History:
    a = arrays(state)
    channels = np.asarray(u, dtype=float)[: len(system.channels)]
    return History(
        system, np.array([state.time]), a.base[None], a.twist[None], a.q[None], a.multipliers[None], channels[None]
    )


def _of_run(run: xr.Dataset, system: System) -> History:
    name = base_name(system)
    wanted = (
        "time",
        "q",
        "q_dot",
        "q_ddot",
        *(f"{name}/{v}" for v in ("position", "orientation", "twist", "twist_rate")),
    )
    missing = [v for v in wanted if v not in run]
    if "q" in run and run["q"].dims[:1] == ("point",):
        raise BadInput(
            "this is a branch of equilibria, which holds their shapes: take forces from branch.equilibria[k] of "
            "continuation(...), or compute one with equilibrium(system, inputs) (elver equilibrium --set NAME=VALUE)"
        )
    if missing:
        raise BadInput(
            f"this dataset has no {', '.join(missing)}: give a run of simulate(...), or one of several with io.part"
        )
    if run["q"].shape[1] != system.n:
        raise BadInput(f"the run has {run['q'].shape[1]} coordinates and the system {system.n}: give the run's own")
    T = run.sizes["time"]
    R = so3.from_quaternion(run[f"{name}/orientation"].values)
    base = np.concatenate([R, run[f"{name}/position"].values[:, None]], axis=1)
    twist = np.stack([run[f"{name}/twist"].values, run[f"{name}/twist_rate"].values], axis=1)
    q = np.stack([run[v].values for v in ("q", "q_dot", "q_ddot")], axis=1)
    multipliers = run["multipliers"].values if "multipliers" in run else np.zeros((T, 0))
    inputs = run["inputs"].values if "inputs" in run else np.zeros((T, 0))
    times = run["time"].values.astype(float)
    return History(system, times, base, twist, q, multipliers, inputs, recorded=T > 1)


# Systems of the runs of this process, as long as they live: better than what a file can tell of functions.
_KNOWN: WeakValueDictionary[str, System] = WeakValueDictionary()
_REBUILT: dict[str, System] = {}


def remember(model: str, system: System) -> None:
    """Keep in mind which system a run with this model text came from."""
    _KNOWN[model] = system


def system_of(run: xr.Dataset, system: System | None = None) -> System:
    """The system of a run: as given, the one it was computed with in this process, or rebuilt from its model."""
    if system is not None:
        return system
    text = run.attrs.get("model")
    if not isinstance(text, str):
        raise BadInput("this dataset carries no model: give the system it was computed with, system=...")
    if (known := _KNOWN.get(text)) is not None:
        return known
    if text not in _REBUILT:
        found = loads(text)
        if not isinstance(found, System):
            raise BadInput("the model in this dataset is no System: give the system it was computed with, system=...")
        while len(_REBUILT) > 7:
            _REBUILT.pop(next(iter(_REBUILT)))
        _REBUILT[text] = found
    return _REBUILT[text]


def part_of(system: System, part: Part | str | None) -> Part:
    """A part of ``system``, by itself, by name, or as it was called in the system that a run came from."""
    mechanism = system.mechanism
    if part is None:
        return mechanism.rod
    if isinstance(part, str):
        return mechanism.part(part)
    if isinstance(part, Part) and part in mechanism.parts:
        return part
    name = getattr(part, "name", None)
    alike = [other for other in mechanism.parts if other.name == name and type(other) is type(part)]
    if not alike:
        known = ", ".join(repr(other.name) for other in mechanism.parts)
        raise BadInput(f"{describe(part)} is not in this mechanism: choose among {known}")
    return alike[0]


def base_name(system: System) -> str:
    """What the base is called in a run: that of the only rod or of the part that floats, else "base"."""
    root: Any = system.mechanism.tree.root.part
    if not isinstance(root, str):
        return f"{root.name}/base"
    only = len(system.mechanism.parts) == 1 and isinstance(system.mechanism.parts[0], Rod)
    return f"{system.rod.name}/base" if only else "base"
