"""The law of a tendon at a section, compiled; in NumPy, with the formulas, it is :mod:`elver.kernels.twin.tendon`.

A path is a row that begins with D and D′, in the axes of the section.
"""

from __future__ import annotations

import math

from elver.kernels.build.cache import inner

__all__ = ["add_stiffening", "pull_of_tendon"]


@inner
def pull_of_tendon(path, strain):
    """|c| and (D × t; t), c = Γ + K × D + D′ and t = c/|c|."""
    x, y, z = path[0], path[1], path[2]
    u = strain[3] + strain[1] * z - strain[2] * y + path[3]
    v = strain[4] + strain[2] * x - strain[0] * z + path[4]
    w = strain[5] + strain[0] * y - strain[1] * x + path[5]
    size = math.sqrt(u * u + v * v + w * w)
    u, v, w = u / size, v / size, w / size
    return size, (y * w - z * v, z * u - x * w, x * v - y * u, u, v, w)


@inner
def add_stiffening(part, path, pull, slope):
    """Upper half of slope += part (W Wᵀ - pull pullᵀ), W = [D̂; 1]: of T |c| with the strain for part = T/|c|."""
    x, y, z = path[0], path[1], path[2]
    a, b, c, u, v, w = pull
    slope[0, 0] += part * (y * y + z * z - a * a)
    slope[1, 1] += part * (z * z + x * x - b * b)
    slope[2, 2] += part * (x * x + y * y - c * c)
    slope[0, 1] -= part * (x * y + a * b)
    slope[0, 2] -= part * (x * z + a * c)
    slope[1, 2] -= part * (y * z + b * c)
    slope[0, 3] -= part * a * u
    slope[1, 4] -= part * b * v
    slope[2, 5] -= part * c * w
    slope[0, 4] -= part * (z + a * v)
    slope[0, 5] += part * (y - a * w)
    slope[1, 3] += part * (z - b * u)
    slope[1, 5] -= part * (x + b * w)
    slope[2, 3] -= part * (y + c * u)
    slope[2, 4] += part * (x - c * v)
    slope[3, 3] += part * (1.0 - u * u)
    slope[4, 4] += part * (1.0 - v * v)
    slope[5, 5] += part * (1.0 - w * w)
    slope[3, 4] -= part * u * v
    slope[3, 5] -= part * u * w
    slope[4, 5] -= part * v * w
