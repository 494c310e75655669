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

from elver.kernels.build.cache import inner
from elver.kernels.tree.recursion import add_wrench_to_world, compose, twist_to_body

__all__ = ["strip_residual", "strip_tangent"]


@inner
def strip_residual(strip_frame, strip_pose, strip, jets, pose, eta, force, v, here):
    """Add the wrench that each strip gives to the water to the demand of its frame.

    Strips of one frame follow each other: they share its twist, v[4], and their wrenches are summed in its axes, v[5].
    """
    before = -1
    for j in range(strip_frame.shape[0]):
        f, law = strip_frame[j, 0], strip_frame[j, 1]
        flows = strip[j, 7] != 0.0 or strip[j, 8] != 0.0 or strip[j, 9] != 0.0
        if law == 1 and not flows:
            continue
        if f != before:
            if before >= 0:
                add_wrench_to_world(pose, before, v, 5, force, before)
            before = f
            for k in range(6):
                v[4, k] = 0.0
                v[5, k] = 0.0
            if jets == 3:
                twist_to_body(pose, f, eta, f, v, 4)
        L = strip_pose[j]
        wx, wy, wz, px, py, pz = v[4, 0], v[4, 1], v[4, 2], L[3, 0], L[3, 1], L[3, 2]
        vx, vy, vz = v[4, 3] + wy * pz - wz * py, v[4, 4] + wz * px - wx * pz, v[4, 5] + wx * py - wy * px
        for k in range(3):
            v[1, k] = L[0, k] * wx + L[1, k] * wy + L[2, k] * wz
            v[1, 3 + k] = L[0, k] * vx + L[1, k] * vy + L[2, k] * vz
            v[2, k] = 0.0
        if flows:
            compose(pose, f, L, here, 0)
            _flow(here, strip[j], v)
        _wrench(law, strip[j], v)
        F = v[3]
        n0 = L[0, 0] * F[3] + L[0, 1] * F[4] + L[0, 2] * F[5]
        n1 = L[1, 0] * F[3] + L[1, 1] * F[4] + L[1, 2] * F[5]
        n2 = L[2, 0] * F[3] + L[2, 1] * F[4] + L[2, 2] * F[5]
        v[5, 0] += L[0, 0] * F[0] + L[0, 1] * F[1] + L[0, 2] * F[2] + py * n2 - pz * n1
        v[5, 1] += L[1, 0] * F[0] + L[1, 1] * F[1] + L[1, 2] * F[2] + pz * n0 - px * n2
        v[5, 2] += L[2, 0] * F[0] + L[2, 1] * F[1] + L[2, 2] * F[2] + px * n1 - py * n0
        v[5, 3] += n0
        v[5, 4] += n1
        v[5, 5] += n2
    if before >= 0:
        add_wrench_to_world(pose, before, v, 5, force, before)


@inner
def _motion(here, eta, f, strip, jets, v):
    """Twist of the strip in v[1] and flow in v[2, :3], in its axes; at rest (one jet) only the flow."""
    for k in range(6):
        v[1, k] = 0.0
    if jets == 3:
        twist_to_body(here, 0, eta, f, v, 1)
    _flow(here, strip, v)


@inner
def _flow(here, strip, v):
    """v[2, :3]: the flow in axes of the strip."""
    for k in range(3):
        v[2, k] = here[0, 0, k] * strip[7] + here[0, 1, k] * strip[8] + here[0, 2, k] * strip[9]


@inner
def _wrench(law, strip, v):
    """v[3]: what the strip gives to the water beyond Kirchhoff's part, from v[1] and v[2]."""
    wx, wy, wz, vx, vy, vz = v[1, 0], v[1, 1], v[1, 2], v[1, 3], v[1, 4], v[1, 5]
    ux, uy, uz = v[2, 0], v[2, 1], v[2, 2]
    rx, ry, rz = vx - ux, vy - uy, vz - uz
    my, mz, ix = strip[4], strip[5], strip[6]
    F = v[3]
    if law == 0:
        across = math.sqrt(ry * ry + rz * rz)
        F[0] = strip[3] * abs(wx) * wx - (mz - my) * vy * vz
        F[1] = mz * vx * vz - ix * wx * wz
        F[2] = ix * wx * wy - my * vx * vy
        F[3] = strip[0] * abs(rx) * rx + my * wz * vy - mz * wy * vz
        F[4] = strip[1] * across * ry + my * (wz * vx - wx * vz) + mz * wx * vz
        F[5] = strip[2] * across * rz + mz * (wx * vy - wy * vx) - my * wx * vy
    elif law == 1:
        F[0] = (mz - my) * (ry * rz - vy * vz)
        F[1] = mz * (vx * vz - rx * rz)
        F[2] = my * (rx * ry - vx * vy)
        F[3] = my * wz * uy - mz * wy * uz
        F[4] = my * (wz * ux - wx * uz) + mz * wx * uz
        F[5] = mz * (wx * uy - wy * ux) - my * wx * uy
    else:
        F[0] = -rx * ix * wx
        F[1] = 0.0
        F[2] = 0.0
        F[3] = 0.5 * (my * ry * ry + mz * rz * rz + ix * wx * wx)
        F[4] = -rx * my * ry
        F[5] = -rx * mz * rz


@inner
def _slope(law, strip, v, A):
    """A (6, 9): variation of :func:`_wrench` with ω, v and u."""
    wx, wy, wz, vx, vy, vz = v[1, 0], v[1, 1], v[1, 2], v[1, 3], v[1, 4], v[1, 5]
    ux, uy, uz = v[2, 0], v[2, 1], v[2, 2]
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
def strip_tangent(strip_frame, strip_pose, strip, jets, pose, eta, B, v, here, A):
    """Add the variation of :func:`strip_residual` to the matrices of the frames; δu = u×ζ_ω."""
    for j in range(strip_frame.shape[0]):
        f, law = strip_frame[j, 0], strip_frame[j, 1]
        flows = strip[j, 7] != 0.0 or strip[j, 8] != 0.0 or strip[j, 9] != 0.0
        if (law == 1 or jets == 1) and not flows:
            continue
        compose(pose, f, strip_pose[j], here, 0)
        _motion(here, eta, f, strip[j], jets, v)
        _slope(law, strip[j], v, A)
        ux, uy, uz = v[2, 0], v[2, 1], v[2, 2]
        b = B[f]
        for k in range(6):
            # a unit twist of the world, in axes of the strip
            for i in range(6):
                v[4, i] = 1.0 if i == k else 0.0
            twist_to_body(here, 0, v, 4, v, 5)
            if flows:
                d0 = uy * v[5, 2] - uz * v[5, 1]
                d1 = uz * v[5, 0] - ux * v[5, 2]
                d2 = ux * v[5, 1] - uy * v[5, 0]
                for i in range(6):
                    v[6, i] = A[i, 6] * d0 + A[i, 7] * d1 + A[i, 8] * d2
                    v[7, i] = 0.0
                add_wrench_to_world(here, 0, v, 6, v, 7)
                for i in range(6):
                    b[i, k] += v[7, i]
            if jets == 3:
                for i in range(6):
                    v[6, i] = 0.0
                    v[7, i] = 0.0
                    for c in range(6):
                        v[6, i] += A[i, c] * v[5, c]
                add_wrench_to_world(here, 0, v, 6, v, 7)
                for i in range(6):
                    b[i, 6 + k] += v[7, i]
