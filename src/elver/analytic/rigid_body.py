"""Free rigid bodies and the flight of a mass centre under a triangular pulse.

Torque-free rotation, I Ω̇ = (I Ω) × Ω in the body frame: closed form for the symmetric top, accurate
integration for three different moments of inertia.

Reference: L. D. Landau and E. M. Lifshitz, Mechanics (3rd ed., 1976), §§ 33-37.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from elver.errors import BadInput, finite, positive
from elver.lie import so3

__all__ = ["free_rigid_body", "pulse_flight", "symmetric_top", "triangular_pulse"]

Array = NDArray[np.float64]


def symmetric_top(axial: float, transverse: float, omega: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
    """Body rates Ω (n, 3) [rad/s] and rotations R (n, 3, 3) of a free body with its symmetry axis along x.

    Ω(t) = exp(-μ t e_x) Ω₀ and R(t) = exp(t H/I_t) exp(μ t e_x), with μ = (1 - I_a/I_t) Ω_x and the angular
    momentum H at t = 0, R(0) = 1. ``axial`` I_a and ``transverse`` I_t [kg m²], ``omega`` Ω₀ (3,) [rad/s],
    ``t`` (n,) [s].
    """
    axial, transverse = positive("axial", axial, "kg m²"), positive("transverse", transverse, "kg m²")
    omega = finite("omega", omega, (3,), "rad/s")
    time = np.atleast_1d(np.asarray(t, dtype=float))[:, None]
    momentum = np.array([axial, transverse, transverse]) * omega
    slip = (1.0 - axial / transverse) * omega[0] * time * np.array([1.0, 0.0, 0.0])
    rates = (so3.exp(-slip) @ omega[:, None])[..., 0]
    return rates, so3.exp(time * momentum / transverse) @ so3.exp(slip)


def free_rigid_body(inertia: ArrayLike, omega: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
    """Body rates Ω (n, 3) [rad/s] and rotations R (n, 3, 3) of a free body, R = 1 at t = 0.

    ``inertia`` principal moments (3,) [kg m²], ``omega`` Ω at t = 0 (3,) [rad/s], ``t`` increasing times
    from 0 (n,) [s]. Eighth-order integration at relative tolerance 1e-13, quaternion renormalised.
    """
    moments = finite("inertia", inertia, (3,), "kg m²")
    if np.any(moments <= 0.0):
        raise BadInput(f"inertia = {moments} kg m²: every moment must be greater than zero")
    omega = finite("omega", omega, (3,), "rad/s")
    time = np.atleast_1d(np.asarray(t, dtype=float))
    if np.any(np.diff(time) < 0.0) or time[0] < 0.0:
        raise BadInput("t [s]: times must increase from 0")

    def rate(_: float, state: Array) -> Array:
        w, q = state[:3], state[3:]
        scalar = -0.5 * (q[1:] @ w)
        vector = 0.5 * (q[0] * w + np.cross(q[1:], w))
        return np.concatenate([np.cross(moments * w, w) / moments, [scalar], vector])

    state, previous, states = np.concatenate([omega, [1.0, 0.0, 0.0, 0.0]]), 0.0, []
    for now in time:
        if now > previous:
            state = solve_ivp(rate, (previous, now), state, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
            state[3:] /= np.linalg.norm(state[3:])
        previous = now
        states.append(state)
    path = np.array(states)
    return path[:, :3], so3.from_quaternion(path[:, 3:])


def triangular_pulse(t: ArrayLike, peak: float, peak_time: float, end_time: float) -> Array:
    """Pulse that rises linearly from 0 to ``peak`` at ``peak_time`` and falls to 0 at ``end_time`` [s]."""
    pulse: Array = np.interp(np.asarray(t, dtype=float), [0.0, peak_time, end_time], [0.0, peak, 0.0])
    return pulse


def pulse_flight(
    t: ArrayLike, mass: float, peak_force: float, peak_time: float, end_time: float
) -> tuple[Array, Array]:
    """Displacement [m] and velocity [m/s] of a mass centre, at rest before a triangular force pulse.

    ``mass`` [kg], ``peak_force`` [N] at ``peak_time`` [s], zero from ``end_time`` [s] on; exact for any body,
    rigid or not, because the mass centre only feels the resultant.
    """
    mass = positive("mass", mass, "kg")
    peak_time, end_time = positive("peak_time", peak_time, "s"), positive("end_time", end_time, "s")
    if end_time <= peak_time:
        raise BadInput(f"end_time = {end_time:g} s: must come after peak_time = {peak_time:g} s")
    t = np.asarray(t, dtype=float)
    # The pulse is a sum of three ramps r(t) = max(t, 0), integrated once and twice.
    slopes = peak_force / mass * np.array([1 / peak_time, -1 / peak_time - 1 / (end_time - peak_time)])
    slopes = np.append(slopes, peak_force / mass / (end_time - peak_time))
    ramps = np.maximum(t[..., None] - np.array([0.0, peak_time, end_time]), 0.0)
    displacement: Array = np.sum(slopes * ramps**3, axis=-1) / 6.0
    velocity: Array = np.sum(slopes * ramps**2, axis=-1) / 2.0
    return displacement, velocity
