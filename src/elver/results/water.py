"""Power of the water on a strip, for many instants: the laws of :mod:`elver.kernels.terms.fluid`, in NumPy.

The part of Kirchhoff's equations is in the kinetic energy of the added mass; this is what a model has beyond it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["strip_powers"]

Array = NDArray[np.float64]


def strip_powers(law: int, strip: Array, pose: Array, rotation: Array, velocity: Array) -> tuple[Array, Array]:
    """Power [W] on the robot: all of it, and that of drag alone, (T, strips) each.

    ``law`` 0 is Morison, 1 Lighthill, 2 his tail; ``strip`` (strips, 10) and ``pose`` (strips, 4, 3) as in the program;
    ``rotation`` (T, strips, 3, 3) and ``velocity`` (T, strips, 6) of their frames, world axes.
    """
    d, (my, mz, ix), flow = strip.T[:4], strip.T[4:7], strip[:, 7:]
    back = np.swapaxes(rotation @ pose[:, :3], 2, 3)
    arm = (rotation @ pose[:, 3, :, None])[..., 0]
    w = np.moveaxis((back @ velocity[..., :3, None])[..., 0], 2, 0)
    moved = velocity[..., 3:] + np.cross(velocity[..., :3], arm)
    v = np.moveaxis((back @ moved[..., None])[..., 0], 2, 0)
    u = np.moveaxis((back @ flow[:, :, None])[..., 0], 2, 0)
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
