"""Central differences of order six, on the seven points x + OFFSETS · h:

    f′(x) = Σ FIRST_k f(x + k h) / h + O(h⁶),     f″(x) = Σ SECOND_k f(x + k h) / h² + O(h⁶)
"""

from __future__ import annotations

import numpy as np

__all__ = ["FIRST", "OFFSETS", "SECOND"]

OFFSETS = np.arange(-3, 4)
FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0
SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180.0
