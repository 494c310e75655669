"""Power of the water on a strip, for many instants: the laws of :mod:`elver.kernels.terms.fluid`, in NumPy.

The part of Kirchhoff's equations is in the kinetic energy of the added mass; this is what a model has beyond it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["strip_powers"]

Array = NDArray[np.float64]


def strip_powers(law: int, strip: Array, pose: Array, rotation: Array, velocity: Array) -> tuple[Array, Array]:
    """Power [W] on the robot: all of it, and that of drag alone, (T,) each.

    ``law`` 0 is Morison, 1 Lighthill, 2 his tail; ``strip`` (10,) and ``pose`` (4, 3) as in the program; ``rotation``
    (T, 3, 3) and ``velocity`` (T, 6) of its frame, world axes.
    """
    d, (my, mz, ix), flow = strip[:4], strip[4:7], strip[7:]
    axes = rotation @ pose[:3]
    arm = rotation @ pose[3]
    w = np.einsum("tji,tj->it", axes, velocity[:, :3])
    v = np.einsum("tji,tj->it", axes, velocity[:, 3:] + np.cross(velocity[:, :3], arm))
    u = np.einsum("tji,j->it", axes, flow)
    r = v - u
    zero = np.zeros_like(w[0])
    if law == 0:
        across = np.hypot(r[1], r[2])
        force = np.stack([d[0] * np.abs(r[0]) * r[0], d[1] * across * r[1], d[2] * across * r[2]])
        roll = np.stack([d[3] * np.abs(w[0]) * w[0], zero, zero])
        couple = np.stack(
            [-(mz - my) * v[1] * v[2], mz * v[0] * v[2] - ix * w[0] * w[2], ix * w[0] * w[1] - my * v[0] * v[1]]
        )
        extra = np.stack(
            [
                my * w[2] * v[1] - mz * w[1] * v[2],
                my * (w[2] * v[0] - w[0] * v[2]) + mz * w[0] * v[2],
                mz * (w[0] * v[1] - w[1] * v[0]) - my * w[0] * v[1],
            ]
        )
    elif law == 1:
        force, roll = np.zeros_like(v), np.zeros_like(w)
        couple = np.stack(
            [
                (mz - my) * (r[1] * r[2] - v[1] * v[2]),
                mz * (v[0] * v[2] - r[0] * r[2]),
                my * (r[0] * r[1] - v[0] * v[1]),
            ]
        )
        extra = np.stack(
            [
                my * w[2] * u[1] - mz * w[1] * u[2],
                my * (w[2] * u[0] - w[0] * u[2]) + mz * w[0] * u[2],
                mz * (w[0] * u[1] - w[1] * u[0]) - my * w[0] * u[1],
            ]
        )
    else:
        force, roll = np.zeros_like(v), np.zeros_like(w)
        couple = np.stack([-r[0] * ix * w[0], zero, zero])
        extra = np.stack(
            [0.5 * (my * r[1] ** 2 + mz * r[2] ** 2 + ix * w[0] ** 2), -r[0] * my * r[1], -r[0] * mz * r[2]]
        )
    drag = -np.sum(force * v + roll * w, axis=0)
    return drag - np.sum(extra * v + couple * w, axis=0), drag
