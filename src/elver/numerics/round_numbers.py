"""Round numbers for axes, grids and sliders."""

from __future__ import annotations

import math

__all__ = ["nice_step"]


def nice_step(size: float, count: int = 5) -> float:
    """A round number (1, 2 or 5 times a power of ten) that divides ``size`` into about ``count`` parts."""
    raw = size / count
    power = 10.0 ** math.floor(math.log10(raw))
    return min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(math.log(m * power / raw))) * power
