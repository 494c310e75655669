"""Inputs that a person moves: the way from one value to the next, where it is at an instant, and where it goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from elver.actuation import Signal, evaluate
from elver.actuation.signals import SmoothStep

__all__ = ["follows_time", "goal_of", "on_the_way", "value_at"]

_REACH_TIME = 0.05  # s in which an input goes to a new value


class ByHand(SmoothStep):
    """The way of an input that a person moves; rounding does not take it beyond its ends, where a tendon would push."""

    def rates(self, t: float) -> tuple[float, float, float]:
        value, first, second = super().rates(t)
        return min(max(value, min(self.before, self.after)), max(self.before, self.after)), first, second


def on_the_way(t: float, before: float, after: float) -> ByHand:
    """From a value at ``t`` [s] to another."""
    return ByHand(t, t + _REACH_TIME, before, after)


def value_at(signal: Signal, t: float) -> float:
    """Value of an input; motions may come with their rates."""
    if not callable(signal):
        return float(signal)
    now = signal(t)
    return float(np.ravel(now)[0]) if np.shape(now) else evaluate(signal, t)


def follows_time(signal: Signal) -> bool:
    """True for a function of time that no hand has taken over."""
    return callable(signal) and not isinstance(signal, ByHand)


def goal_of(signal: Any) -> Any:
    """Where a signal that a hand set is going to; others are what they are."""
    return signal.after if isinstance(signal, ByHand) else signal
