"""Wrench of the water on strips of bodies and rods: Morison's slices and Lighthill's reactive theory.

The added mass of all strips is part of the inertia of their frames, where it gets the wrench of Kirchhoff's equations,
M_a η' + coad(η) M_a η. A strip adds what its model has beyond that, which depends on pose and twist alone. With spin ω,
velocity v of the strip, flow u and r = v - u, all in axes of the strip (x along the body), the body gives to the water

    Morison    drag  (d_x |r_x| r_x, d_y |r_n| r_y, d_z |r_n| r_z),  roll  d_roll |ω_x| ω_x, r_n = (r_y, r_z),
               and m_a (ω×v) - ω×(m_a v),  -v×(m_a v) - ω×(I_a ω):  added mass times the acceleration of the strip
    Lighthill  m_a (ω×u) - ω×(m_a u),  r×(m_a r) - v×(m_a v):  his momentum is that of the motion through the water
    tail       minus G = r_x (I_a ω; m_a r) - (0; T e_x),  2 T = r·m_a r + ω·I_a ω:  what is shed into the wake

with m_a = diag(0, m_y, m_z), I_a = diag(i_x, 0, 0) (Khalil 2007, eq. 44-62; Boyer 2023, eq. 90-91).
"""

from __future__ import annotations

import math

from elver.kernels.algebra import act_back, add, add_column, coact, plus, six, times, unit
from elver.kernels.build.cache import inner
from elver.kernels.build.tables import unpack
from elver.kernels.tree.nodal import turn_back
from elver.kernels.tree.recursion import STILL, compose

__all__ = ["strip_residual", "strip_tangent"]


@inner
def strip_residual(robot, jets, pose, eta, force):
    """Add the wrench that each strip gives to the water to the demand of frames with these poses and twists.

    Strips of one frame follow each other: they share its twist, and their wrenches are summed in its axes.
    """
    p, _ = unpack(robot)
    before, twist, total = -1, STILL, STILL
    for j in range(p.strip_frame.shape[0]):
        f, law, strip, place = p.strip_frame[j, 0], p.strip_frame[j, 1], p.strip[j], p.strip_pose[j]
        flow = strip[7], strip[8], strip[9]
        flows = flow[0] != 0.0 or flow[1] != 0.0 or flow[2] != 0.0
        if law == 1 and not flows:
            continue
        if f != before:
            if before >= 0:
                add(force[before], coact(pose[before], total))
            before, total = f, STILL
            if jets == 3:
                twist = act_back(pose[f], six(eta[f]))
        if flows:
            x, y, z = turn_back(pose[f], flow[0], flow[1], flow[2])
            flow = turn_back(place, x, y, z)
        total = plus(total, coact(place, _wrench(law, strip, act_back(place, twist), flow)))
    if before >= 0:
        add(force[before], coact(pose[before], total))


@inner
def _wrench(law, strip, twist, flow):
    """What a strip gives to the water beyond Kirchhoff's part, from its twist and the flow in its axes."""
    wx, wy, wz, vx, vy, vz = twist
    ux, uy, uz = flow
    rx, ry, rz = vx - ux, vy - uy, vz - uz
    my, mz, ix = strip[4], strip[5], strip[6]
    if law == 0:
        across = math.sqrt(ry * ry + rz * rz)
        return (
            strip[3] * abs(wx) * wx - (mz - my) * vy * vz,
            mz * vx * vz - ix * wx * wz,
            ix * wx * wy - my * vx * vy,
            strip[0] * abs(rx) * rx + my * wz * vy - mz * wy * vz,
            strip[1] * across * ry + my * (wz * vx - wx * vz) + mz * wx * vz,
            strip[2] * across * rz + mz * (wx * vy - wy * vx) - my * wx * vy,
        )
    if law == 1:
        return (
            (mz - my) * (ry * rz - vy * vz),
            mz * (vx * vz - rx * rz),
            my * (rx * ry - vx * vy),
            my * wz * uy - mz * wy * uz,
            my * (wz * ux - wx * uz) + mz * wx * uz,
            mz * (wx * uy - wy * ux) - my * wx * uy,
        )
    return -rx * ix * wx, 0.0, 0.0, 0.5 * (my * ry * ry + mz * rz * rz + ix * wx * wx), -rx * my * ry, -rx * mz * rz


@inner
def _slope(law, strip, twist, flow, A):
    """A (6, 9): variation of :func:`_wrench` with ω, v and u."""
    wx, wy, wz, vx, vy, vz = twist
    ux, uy, uz = flow
    rx, ry, rz = vx - ux, vy - uy, vz - uz
    my, mz, ix = strip[4], strip[5], strip[6]
    for i in range(6):
        for k in range(9):
            A[i, k] = 0.0
    if law == 0:
        across = math.sqrt(ry * ry + rz * rz)
        A[0, 0], A[0, 4], A[0, 5] = 2.0 * strip[3] * abs(wx), -(mz - my) * vz, -(mz - my) * vy
        A[1, 0], A[1, 2], A[1, 3], A[1, 5] = -ix * wz, -ix * wx, mz * vz, mz * vx
        A[2, 0], A[2, 1], A[2, 3], A[2, 4] = ix * wy, ix * wx, -my * vy, -my * vx
        A[3, 6] = -2.0 * strip[0] * abs(rx)
        A[4, 7], A[5, 8] = -strip[1] * across, -strip[2] * across
        if across > 0.0:
            A[4, 7] -= strip[1] * ry * ry / across
            A[4, 8] = -strip[1] * ry * rz / across
            A[5, 7] = -strip[2] * ry * rz / across
            A[5, 8] -= strip[2] * rz * rz / across
        for i in range(3, 6):
            for k in range(3):
                A[i, 3 + k] = -A[i, 6 + k]
        A[3, 1], A[3, 2] = -mz * vz, my * vy
        A[4, 0], A[4, 2] = (mz - my) * vz, my * vx
        A[5, 0], A[5, 1] = (mz - my) * vy, -mz * vx
        A[3, 4] += my * wz
        A[3, 5] -= mz * wy
        A[4, 3] += my * wz
        A[4, 5] += (mz - my) * wx
        A[5, 3] -= mz * wy
        A[5, 4] += (mz - my) * wx
    elif law == 1:
        A[0, 4], A[0, 5] = (mz - my) * (rz - vz), (mz - my) * (ry - vy)
        A[0, 7], A[0, 8] = -(mz - my) * rz, -(mz - my) * ry
        A[1, 3], A[1, 5], A[1, 6], A[1, 8] = mz * (vz - rz), mz * (vx - rx), mz * rz, mz * rx
        A[2, 3], A[2, 4], A[2, 6], A[2, 7] = my * (ry - vy), my * (rx - vx), -my * ry, -my * rx
        A[3, 1], A[3, 2], A[3, 7], A[3, 8] = -mz * uz, my * uy, my * wz, -mz * wy
        A[4, 0], A[4, 2], A[4, 6], A[4, 8] = (mz - my) * uz, my * ux, my * wz, (mz - my) * wx
        A[5, 0], A[5, 1], A[5, 6], A[5, 7] = (mz - my) * uy, -mz * ux, -mz * wy, (mz - my) * wx
    else:
        A[0, 0], A[0, 3] = -rx * ix, -ix * wx
        A[3, 0], A[3, 4], A[3, 5] = ix * wx, my * ry, mz * rz
        A[4, 3], A[4, 4] = -my * ry, -rx * my
        A[5, 3], A[5, 5] = -mz * rz, -rx * mz
        for i in range(6):
            for k in range(3):
                A[i, 6 + k] = -A[i, 3 + k]


@inner
def strip_tangent(robot, jets, pose, eta, B):
    """Add the variation of :func:`strip_residual` to the matrices of the frames; δu = u×ζ_ω."""
    p, w = unpack(robot)
    here, A = w.strip_pose[0], w.strip_slope
    for j in range(p.strip_frame.shape[0]):
        f, law, strip, twist = p.strip_frame[j, 0], p.strip_frame[j, 1], p.strip[j], STILL
        flows = strip[7] != 0.0 or strip[8] != 0.0 or strip[9] != 0.0
        if (law == 1 or jets == 1) and not flows:
            continue
        compose(pose, f, p.strip_pose[j], w.strip_pose, 0)
        if jets == 3:
            twist = act_back(here, six(eta[f]))
        ux, uy, uz = turn_back(here, strip[7], strip[8], strip[9])
        _slope(law, strip, twist, (ux, uy, uz), A)
        for k in range(6):
            # a unit twist of the world, in axes of the strip
            a = act_back(here, unit(k))
            if flows:
                x, y, z = uy * a[2] - uz * a[1], uz * a[0] - ux * a[2], ux * a[1] - uy * a[0]
                add_column(B[f], k, coact(here, _by_flow(A, x, y, z)))
            if jets == 3:
                add_column(B[f], 6 + k, coact(here, times(A, a)))


@inner
def _by_flow(A, x, y, z):
    """Variation of the wrench when the flow varies so."""
    return (
        A[0, 6] * x + A[0, 7] * y + A[0, 8] * z, A[1, 6] * x + A[1, 7] * y + A[1, 8] * z,
        A[2, 6] * x + A[2, 7] * y + A[2, 8] * z, A[3, 6] * x + A[3, 7] * y + A[3, 8] * z,
        A[4, 6] * x + A[4, 7] * y + A[4, 8] * z, A[5, 6] * x + A[5, 7] * y + A[5, 8] * z,
    )  # fmt: skip
