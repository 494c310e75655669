"""Inverse and direct dynamics of the same motion: the head integrated as in the paper, with a quaternion.

    p' = R(Q) v,   Q' = Q ⊗ (0, ω)/2,   (ω, v)' = η'     body axes, classical Runge-Kutta     (eq. 29-31)

By inverse dynamics η' comes from q, q', q'', and torques with it; by direct dynamics from q, q' and torques. Both know
where the joints are, so what is compared is the head. ``Trace`` is the file between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import elver as ev
from elver.lie import se3, so3

from .model import Eel

STAGES = 0, 1, 1, 2  # half steps from the start of a step to its stages
Rate = Callable[[int, int, ev.State], np.ndarray]  # step, stage, state -> rate of the twist (6,)


@dataclass(frozen=True)
class Trace:
    """A motion of the head, and the torques of the joints at the stages of its steps."""

    position: np.ndarray  # (T, 3) m, of the nose
    torques: np.ndarray  # (T - 1, 4, 36) N m
    norm_error: float  # largest | ‖Q‖ - 1 |, since the quaternion is not brought back to length one


class Joints:
    """The joints of a gait at the starts, middles and ends of steps: q, q', q'' (2 T + 1, 36)."""

    def __init__(self, system: ev.System, inputs: dict, duration: float, step: float) -> None:
        self.step, self.count = step, round(duration / step)
        self.time = 0.5 * step * np.arange(2 * self.count + 1)
        drives = list(zip(system.imposed, system.signals(inputs), strict=True))
        motion = np.array([[drive.motion(signal, t) for drive, signal in drives] for t in self.time])
        self.q, self.q_dot, self.q_ddot = np.moveaxis(motion, 2, 0)


def inverse(eel: Eel, joints: Joints) -> Trace:
    """The head by inverse dynamics, and the torques at all stages."""
    system, _ = eel.driven()
    torques = np.zeros((joints.count, 4, system.n))

    def rate(k: int, stage: int, state: ev.State) -> np.ndarray:
        found = ev.floating_inverse_dynamics(system, state)
        torques[k, stage] = found.efforts
        return found.eta_dot

    position, norm_error = _integrate(system, joints, rate)
    return Trace(position, torques, norm_error)


def direct(eel: Eel, joints: Joints, torques: Callable[[int, int], np.ndarray]) -> Trace:
    """The head by direct dynamics from ``torques(step, stage)`` (36,) [N m]."""
    system, motors = eel.driven()
    used = np.zeros((joints.count, 4, system.n))

    def rate(k: int, stage: int, state: ev.State) -> np.ndarray:
        used[k, stage] = torques(k, stage)
        return ev.forward_dynamics(system, state, dict(zip(motors, used[k, stage], strict=True))).eta_dot

    position, norm_error = _integrate(system, joints, rate)
    return Trace(position, used, norm_error)


def _integrate(system: ev.System, joints: Joints, rate: Rate) -> tuple[np.ndarray, float]:
    """Classical Runge-Kutta from rest, the nose at the origin."""
    h = joints.step
    start = system.rest()
    y = np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0], np.zeros(6)])
    position, norm_error = np.zeros((joints.count + 1, 3)), 0.0

    def slope(k: int, stage: int, y: np.ndarray) -> np.ndarray:
        at = 2 * k + STAGES[stage]
        R, eta = so3.from_quaternion(y[3:7] / np.linalg.norm(y[3:7])), y[7:]
        state = start.with_(
            q=joints.q[at], q_dot=joints.q_dot[at], q_ddot=joints.q_ddot[at], g=se3.pose(R, y[:3]), eta=eta,
            time=float(joints.time[at]),
        )  # fmt: skip
        scalar, vector = y[3], y[4:7]
        Q_dot = 0.5 * np.concatenate([[-vector @ eta[:3]], scalar * eta[:3] + np.cross(vector, eta[:3])])
        return np.concatenate([R @ eta[3:], Q_dot, rate(k, stage, state)])

    for k in range(joints.count):
        a = slope(k, 0, y)
        b = slope(k, 1, y + 0.5 * h * a)
        c = slope(k, 2, y + 0.5 * h * b)
        d = slope(k, 3, y + h * c)
        y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        position[k + 1] = y[:3]
        norm_error = max(norm_error, abs(float(np.linalg.norm(y[3:7])) - 1.0))
    return position, norm_error
