"""Natural frequencies of a uniform Euler-Bernoulli beam.

ω_n = β_n² √(EI/ρA)/L², with β_n the roots of the characteristic equation:
cos β cosh β = -1 (clamped-free), cos β cosh β = 1 (clamped-clamped and, beside the rigid motions, free-free),
sin β = 0 (pinned-pinned), tan β = tanh β (clamped-pinned).

Reference: L. Meirovitch, Fundamentals of Vibrations (2001), chapter 8.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from elver.errors import BadInput, positive

__all__ = ["beam_frequencies", "beam_roots"]

Array = NDArray[np.float64]


def beam_roots(ends: str, count: int) -> Array:
    """First ``count`` positive roots β_n [-] of the characteristic equation, to rounding.

    ``ends``: "clamped-free", "free-free", "clamped-clamped", "pinned-pinned" or "clamped-pinned".
    """
    if count < 1:
        raise BadInput(f"count = {count}: ask for at least one mode")
    n = np.arange(1, count + 1)
    # Divided by cosh β, every equation is a cosine plus an exponentially small term.
    if ends == "pinned-pinned":
        return np.pi * np.arange(1.0, count + 1.0)
    if ends == "clamped-free":
        return np.array([_root((k - 0.5) * np.pi, lambda b: np.cos(b) + 1.0 / np.cosh(b)) for k in n])
    if ends in ("free-free", "clamped-clamped"):
        return np.array([_root((k + 0.5) * np.pi, lambda b: np.cos(b) - 1.0 / np.cosh(b)) for k in n])
    if ends == "clamped-pinned":
        return np.array([_root((k + 0.25) * np.pi, lambda b: np.sin(b) - np.cos(b) * np.tanh(b)) for k in n])
    raise BadInput(
        f"ends = {ends!r}: choose clamped-free, free-free, clamped-clamped, pinned-pinned or clamped-pinned"
    )


def beam_frequencies(
    ends: str, length: float, bending_stiffness: float, mass_per_length: float, count: int = 1
) -> Array:
    """First ``count`` bending frequencies [Hz] of a beam.

    ``length`` [m], ``bending_stiffness`` EI [N m²], ``mass_per_length`` ρA [kg/m]; ``ends`` as in
    :func:`beam_roots`.
    """
    length = positive("length", length, "m")
    stiffness = positive("bending_stiffness", bending_stiffness, "N m²")
    mass_per_length = positive("mass_per_length", mass_per_length, "kg/m")
    omega: Array = (beam_roots(ends, count) / length) ** 2 * np.sqrt(stiffness / mass_per_length)
    return omega / (2.0 * np.pi)


def _root(near: float, function: Callable[[float], float]) -> float:
    root: float = brentq(function, near - 0.5, near + 0.5, xtol=1e-15, rtol=1e-15)
    return root
