"""Signals: inputs as functions of time.

A signal is a number or any callable of t [s] that returns a number. The builders here return frozen values,
so that a saved run can say what drove it. Outside their time span they keep their first and last value.
A signal that also has ``rates(t)``, a :class:`SmoothSignal`, tells its first and second rate: what imposes a motion
asks for them, and takes them as exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elver.errors import BadInput, finite, positive
from elver.values import of_kind
from elver.words import brief, describe

__all__ = [
    "C2Ramp",
    "Ramp",
    "SampledSignal",
    "Signal",
    "Sine",
    "SmoothSignal",
    "SmoothStep",
    "Sum",
    "Triangle",
    "Within",
    "c2_ramp",
    "check_ramp",
    "check_smooth",
    "evaluate",
    "ramp",
    "sampled",
    "sine",
    "smooth_step",
    "sum_of",
    "triangle",
    "within",
]

Signal: TypeAlias = float | Callable[[float], float]


@runtime_checkable
class SmoothSignal(Protocol):
    """A signal that knows its rates; smooth_step, c2_ramp and sine build such, and a class of one's own may be one."""

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        ...

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and its first and second rate at ``t`` [s]."""
        ...


def evaluate(signal: Signal, t: float, name: str = "input", unit: str = "") -> float:
    """Value of a signal at ``t`` [s], checked to be one finite number."""
    try:
        value: Any = signal(t) if callable(signal) else signal
    except Exception as error:
        error.add_note(f"in the function of {name} at t = {t:g} s")
        raise
    if isinstance(value, float) and math.isfinite(value):
        return value
    return float(finite(f"{name} at t = {t:g} s" if callable(signal) else name, value, (), unit))


def check_smooth(name: str, value: Any, unit: str) -> float | SmoothSignal:
    """``value`` if it is a finite number, as a float, or a signal with rates."""
    if isinstance(value, SmoothSignal) and not isinstance(value, type):
        return value
    if callable(value):
        raise BadInput(
            f"{name} = {describe(value)} has no rates; give a number, or a signal with rates such as smooth_step"
        )
    return float(finite(name, value, (), unit))


def check_ramp(name: str, value: Any) -> SmoothSignal | None:
    """``value`` if it can bring up an amplitude smoothly: a signal with rates, or None."""
    if value is None or (isinstance(value, SmoothSignal) and not isinstance(value, type)):
        return value
    raise BadInput(f"{name} = {describe(value)} has no rates; give smooth_step(t0, t1) or c2_ramp(t0, t1), or None")


@dataclass(frozen=True)
class _Transition:
    """From ``before`` until t0 to ``after`` from t1 on; times in s, values in the input's unit."""

    t0: float = field(metadata=of_kind("s"))
    t1: float = field(metadata=of_kind("s"))
    before: float = field(default=0.0, metadata=of_kind("same"))
    after: float = field(default=1.0, metadata=of_kind("same"))

    def __post_init__(self) -> None:
        for name in ("t0", "t1"):
            object.__setattr__(self, name, float(finite(name, getattr(self, name), (), "s")))
        for name in ("before", "after"):
            object.__setattr__(
                self, name, float(finite(name, getattr(self, name), (), "(unit of the input)"))
            )
        if self.t1 <= self.t0:
            raise BadInput(f"t1 = {self.t1:g} s is not after t0 = {self.t0:g} s: choose t1 > t0")

    def _mix(self, fraction: float) -> float:
        # rounding may pass the end by some 1e-15, and a tension that goes to zero must not push
        return self.before + (self.after - self.before) * min(max(fraction, 0.0), 1.0)

    def _scaled(self, value: float, first: float, second: float) -> tuple[float, float, float]:
        """From a function of τ with its derivatives, 0 to 1, to value and rates in time."""
        rise, span = self.after - self.before, self.t1 - self.t0
        return self._mix(value), rise * first / span, rise * second / span**2

    def _tau(self, t: float) -> float:
        return min(max((t - self.t0) / (self.t1 - self.t0), 0.0), 1.0)


@dataclass(frozen=True)
class Ramp(_Transition):
    """Linear from ``before`` at t0 to ``after`` at t1."""

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return self._mix(self._tau(t))


@dataclass(frozen=True)
class SmoothStep(_Transition):
    """Quintic 6 τ⁵ - 15 τ⁴ + 10 τ³: velocity and acceleration vanish at both ends."""

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return self.rates(t)[0]

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and its first and second rate at ``t`` [s]."""
        tau = self._tau(t)
        return self._scaled(
            tau**3 * (10.0 + tau * (6.0 * tau - 15.0)),
            30.0 * tau**2 * (1.0 - tau) ** 2,
            60.0 * tau * (1.0 - tau) * (1.0 - 2.0 * tau),
        )


@dataclass(frozen=True)
class C2Ramp(_Transition):
    """τ - sin(2 π τ) / 2 π: twice continuously differentiable (Boyer 2023, test 4)."""

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return self.rates(t)[0]

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and its first and second rate at ``t`` [s]."""
        tau = self._tau(t)
        turn = 2.0 * np.pi
        sine, cosine = float(np.sin(turn * tau)), float(np.cos(turn * tau))
        return self._scaled(tau - sine / turn, 1.0 - cosine, turn * sine)


@brief
@dataclass(frozen=True)
class Sine:
    """mean + ramp(t) amplitude sin(2 π frequency t + phase).

    ``amplitude`` in the input's unit, ``frequency`` [Hz], ``phase`` [rad]. ``ramp`` brings up the amplitude: a signal
    with rates such as smooth_step(0, 2), or None for full amplitude at all times. ``mean`` is a number, or a signal
    with rates where the mean itself moves.
    """

    mean: float | SmoothSignal = field(metadata=of_kind("same @signal"))
    amplitude: float = field(metadata=of_kind("same"))
    frequency: float = field(metadata=of_kind("Hz"))
    phase: float = field(default=0.0, metadata=of_kind("rad"))
    ramp: SmoothSignal | None = field(default=None, metadata=of_kind("@signal"))

    def __post_init__(self) -> None:
        unit = "(unit of the input)"
        object.__setattr__(self, "mean", check_smooth("sine: mean", self.mean, unit))
        object.__setattr__(self, "amplitude", float(finite("sine: amplitude", self.amplitude, (), unit)))
        object.__setattr__(self, "frequency", positive("sine: frequency", self.frequency, "Hz"))
        object.__setattr__(self, "phase", float(finite("sine: phase", self.phase, (), "rad")))
        object.__setattr__(self, "ramp", check_ramp("sine: ramp", self.ramp))

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return self.rates(t)[0]

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and its first and second rate at ``t`` [s]."""
        w = 2.0 * math.pi * self.frequency
        x = self.amplitude * math.sin(w * t + self.phase)
        x_dot, x_ddot = w * self.amplitude * math.cos(w * t + self.phase), -w * w * x
        if self.ramp is not None:
            f, f_dot, f_ddot = self.ramp.rates(t)
            x, x_dot, x_ddot = f * x, f * x_dot + f_dot * x, f * x_ddot + 2.0 * f_dot * x_dot + f_ddot * x
        m, m_dot, m_ddot = (self.mean, 0.0, 0.0) if isinstance(self.mean, float) else self.mean.rates(t)
        return m + x, m_dot + x_dot, m_ddot + x_ddot


@brief
@dataclass(frozen=True)
class SampledSignal:
    """Straight lines between samples; times [s] increase strictly."""

    times: tuple[float, ...] = field(metadata=of_kind("s"))
    values: tuple[float, ...] = field(metadata=of_kind("same"))

    def __post_init__(self) -> None:
        times = finite("times", self.times, (-1,), "s")
        values = finite("values", self.values, (-1,), "(unit of the input)")
        if times.size == 0 or times.size != values.size:
            raise BadInput(f"{times.size} times (s) and {values.size} values: give as many values as times")
        if np.any(np.diff(times) <= 0.0):
            where = int(np.argmax(np.diff(times) <= 0.0))
            raise BadInput(
                f"times[{where + 1}] = {times[where + 1]:g} s does not come after {times[where]:g} s: "
                "sort the samples and remove doubles"
            )
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "values", tuple(values.tolist()))

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return float(np.interp(t, self.times, self.values))


@dataclass(frozen=True)
class Triangle:
    """From 0 at ``t_start`` up to ``peak`` at ``t_peak`` and back to 0 at ``t_end``, straight; times in s."""

    peak: float = field(metadata=of_kind("same"))
    t_peak: float = field(metadata=of_kind("s"))
    t_end: float = field(metadata=of_kind("s"))
    t_start: float = field(default=0.0, metadata=of_kind("s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "peak", float(finite("peak", self.peak, (), "(unit of the input)")))
        for name in ("t_start", "t_peak", "t_end"):
            object.__setattr__(self, name, float(finite(name, getattr(self, name), (), "s")))
        if not self.t_start < self.t_peak < self.t_end:
            raise BadInput(
                f"t_start = {self.t_start:g} s, t_peak = {self.t_peak:g} s, t_end = {self.t_end:g} s: "
                "let them increase"
            )

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return float(np.interp(t, (self.t_start, self.t_peak, self.t_end), (0.0, self.peak, 0.0)))


@brief
@dataclass(frozen=True)
class Sum:
    """Sum of ``terms``, numbers or signals in the input's unit; it has rates where all its signals have."""

    terms: tuple[Signal, ...] = field(metadata=of_kind("same @signal"))

    def __post_init__(self) -> None:
        terms = tuple(self.terms) if isinstance(self.terms, Sequence) else ()
        if not terms:
            raise BadInput(f"terms = {describe(self.terms)}: give a list of numbers and signals to add up")
        checked = [_check_signal(f"terms[{k}]", term) for k, term in enumerate(terms)]
        object.__setattr__(self, "terms", tuple(checked))

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        return float(sum(term(t) if callable(term) else term for term in self.terms))

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and its first and second rate at ``t`` [s]."""
        value, first, second = map(sum, zip(*(_rates(term, t) for term in self.terms), strict=True))
        return value, first, second


@brief
@dataclass(frozen=True)
class Within:
    """``signal`` from t0 to t1 [s]; before and after it keeps the value that it has there."""

    signal: Signal = field(metadata=of_kind("same @signal"))
    t0: float = field(metadata=of_kind("s"))
    t1: float = field(default=math.inf, metadata=of_kind("s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "signal", _check_signal("signal", self.signal))
        object.__setattr__(self, "t0", float(finite("t0", self.t0, (), "s")))
        if not self.t1 > self.t0:  # which may be infinite
            raise BadInput(f"t1 = {describe(self.t1)} s is not after t0 = {self.t0:g} s: choose t1 > t0")
        object.__setattr__(self, "t1", float(self.t1))

    def __call__(self, t: float) -> float:
        """Value at ``t`` [s]."""
        at = min(max(t, self.t0), self.t1)
        return float(self.signal(at) if callable(self.signal) else self.signal)

    def rates(self, t: float) -> tuple[float, float, float]:
        """Value and its first and second rate at ``t`` [s]."""
        value, first, second = _rates(self.signal, min(max(t, self.t0), self.t1))
        return (value, first, second) if self.t0 <= t <= self.t1 else (value, 0.0, 0.0)


def _check_signal(name: str, value: Any) -> Signal:
    """``value`` if it is a finite number, as a float, or callable."""
    return value if callable(value) else float(finite(name, value, (), "(unit of the input)"))


def _rates(signal: Signal, t: float) -> tuple[float, float, float]:
    """Value and rates of a number or of a signal that has them."""
    if not callable(signal):
        return signal, 0.0, 0.0
    if isinstance(signal, SmoothSignal):
        return signal.rates(t)
    raise BadInput(
        f"{describe(signal)} has no rates; where a motion is imposed, add signals with rates such as smooth_step"
    )


def ramp(t0: float, t1: float, before: float = 0.0, after: float = 1.0) -> Ramp:
    """Linear from ``before`` at t0 [s] to ``after`` at t1 [s]."""
    return Ramp(t0, t1, before, after)


def smooth_step(t0: float, t1: float, before: float = 0.0, after: float = 1.0) -> SmoothStep:
    """Quintic from ``before`` at t0 [s] to ``after`` at t1 [s]: 6 τ⁵ - 15 τ⁴ + 10 τ³."""
    return SmoothStep(t0, t1, before, after)


def c2_ramp(t0: float, t1: float, before: float = 0.0, after: float = 1.0) -> C2Ramp:
    """From ``before`` at t0 [s] to ``after`` at t1 [s] as τ - sin(2 π τ) / 2 π."""
    return C2Ramp(t0, t1, before, after)


def sine(
    mean: float | SmoothSignal,
    amplitude: float,
    frequency: float,
    phase: float = 0.0,
    ramp: SmoothSignal | None = None,
) -> Sine:
    """``mean`` + ramp(t) ``amplitude`` sin(2 π ``frequency`` t + ``phase``); Hz and rad.

    >>> pull = sine(20.0, 20.0, 2.5, phase=np.pi / 2, ramp=c2_ramp(0.0, 1.0))  # tension of a swimmer's tendon [N]
    """
    return Sine(mean, amplitude, frequency, phase, ramp)


def triangle(peak: float, t_peak: float, t_end: float, t_start: float = 0.0) -> Triangle:
    """0 at ``t_start``, ``peak`` at ``t_peak``, 0 at ``t_end`` [s], straight between."""
    return Triangle(peak, t_peak, t_end, t_start)


def sum_of(*terms: Signal) -> Sum:
    """Sum of numbers and signals.

    >>> pull = sum_of(smooth_step(0.0, 0.8, after=5.0), smooth_step(1.5, 2.3, after=-5.0))  # up, and down again
    """
    return Sum(terms)


def within(signal: Signal, t0: float, t1: float = math.inf) -> Within:
    """``signal`` from ``t0`` to ``t1`` [s], held before and after at what it is there.

    >>> pulses = within(sine(1.0, 1.0, 1.0, phase=-np.pi / 2), 4.0, 7.0)  # three pulses, 1 - cos 2 π t
    """
    return Within(signal, t0, t1)


def sampled(times: Sequence[float] | ArrayLike, values: Sequence[float] | ArrayLike) -> SampledSignal:
    """Straight lines through samples at ``times`` [s]."""
    return SampledSignal(times, values)  # type: ignore[arg-type]  # turned into tuples there
