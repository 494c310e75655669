"""Rigid trees in Pinocchio beside the same ones here, and the exact change of variables between the two.

Pinocchio's six-vectors are linear first, its joints are numbered depth first and by name, its orientations are
quaternions (x, y, z, w) and the velocity of a spherical joint is the angular velocity ω of the child in its own axes.
Here the coordinates of such a joint are a rotation vector θ, with ω = dexp(θ) θ̇. With u = (η; q̇) of ours

    v = S(q) u,    a = S u̇ + Ṡ u,    Q = Sᵀ τ

and the derivatives of Q and of u̇ follow from Pinocchio's by the product rule. Variations of a floating base are body
twists on either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

import elver as ev
from elver.lie import so3

Array = NDArray[np.float64]

ROOT = "root_joint"


@dataclass(frozen=True, eq=False)
class Variables:
    """A motion in Pinocchio's variables, and how they vary with ours (columns: base, then joints in our order)."""

    x: Array
    v: Array
    a: Array
    S: Array  # ∂v/∂u = ∂a/∂u̇; also the variation of the configuration per variation of ours
    dv_dq: Array
    da_dq: Array
    da_du: Array
    turns: tuple[tuple[slice, slice, Array], ...]  # of spherical joints: rows of v, columns of u, θ

    def variation_of_S_transposed(self, tau: Array) -> Array:
        """∂(Sᵀ τ)/∂q at constant τ."""
        G = np.zeros((self.S.shape[1], self.S.shape[1]))
        for rows, columns, theta in self.turns:
            G[columns, columns] = np.stack([so3.d_dexp(theta, e).T @ tau[rows] for e in np.eye(3)], axis=1)
        return G


@dataclass(frozen=True, eq=False)
class Twin:
    """One robot in both libraries; joints have the same names, a floating base is "root_joint" in Pinocchio."""

    system: ev.System
    model: pin.Model

    def variables(self, state: ev.State) -> Variables:
        """What Pinocchio calls the motion of ``state``."""
        system, model = self.system, self.model
        free = 6 * system.free
        n = free + system.n
        if model.nv != n:
            raise ValueError(f"{n} velocities here, {model.nv} in Pinocchio")
        x, v, a = np.zeros(model.nq), np.zeros(n), np.zeros(n)
        S, dv_dq, da_dq, da_du = (np.zeros((n, n)) for _ in range(4))
        turns = []
        if free:
            joint = model.joints[model.getJointId(ROOT)]
            x[joint.idx_q : joint.idx_q + 7] = [*state.g[:3, 3], *quaternion(state.g[:3, :3])]
            rows = np.arange(joint.idx_v, joint.idx_v + 6)
            S[rows, [3, 4, 5, 0, 1, 2]] = 1.0
            v[rows], a[rows] = np.roll(state.eta, 3), np.roll(state.eta_dot, 3)
        for part, (first, count) in system.blocks.items():
            joint = model.joints[model.getJointId(part.name)]
            own, rows = slice(first, first + count), slice(joint.idx_v, joint.idx_v + count)
            columns = slice(free + first, free + first + count)
            q, q_dot, q_ddot = state.q[own], state.q_dot[own], state.q_ddot[own]
            if count == 3:
                x[joint.idx_q : joint.idx_q + 4] = quaternion(so3.exp(q))
                T, T_dot = so3.dexp(q), so3.d_dexp(q, q_dot)
                S[rows, columns] = T
                v[rows], a[rows] = T @ q_dot, T @ q_ddot + T_dot @ q_dot
                by_q = np.stack([so3.d_dexp(q, e) @ q_dot for e in np.eye(3)], axis=1)
                dv_dq[rows, columns] = by_q
                da_du[rows, columns] = T_dot + by_q
                da_dq[rows, columns] = np.stack(
                    [so3.d_dexp(q, e) @ q_ddot + so3.dd_dexp(q, q_dot, e) @ q_dot for e in np.eye(3)], axis=1
                )
                turns.append((rows, columns, q))
            else:
                # a joint that turns without limit is stored as (cos, sin)
                x[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(q[0]), np.sin(q[0])] if joint.nq == 2 else q
                S[rows, columns] = 1.0
                v[rows], a[rows] = q_dot, q_ddot
        return Variables(x, v, a, S, dv_dq, da_dq, da_du, tuple(turns))

    def inverse_dynamics(self, state: ev.State) -> tuple[Array, Array, Array, Array]:
        """Q, ∂Q/∂q, ∂Q/∂u and the mass matrix by Pinocchio's recursion, in our variables."""
        model, data, y = self.model, self.model.createData(), self.variables(state)
        tau = pin.rnea(model, data, y.x, y.v, y.a)
        tau_x, tau_v, M = (np.array(part) for part in pin.computeRNEADerivatives(model, data, y.x, y.v, y.a))
        M = np.triu(M) + np.triu(M, 1).T
        dQ_dq = y.S.T @ (tau_x @ y.S + tau_v @ y.dv_dq + M @ y.da_dq) + y.variation_of_S_transposed(tau)
        return y.S.T @ tau, dQ_dq, y.S.T @ (tau_v @ y.S + M @ y.da_du), y.S.T @ M @ y.S

    def forward_dynamics(self, state: ev.State, Q: Array) -> tuple[Array, Array, Array]:
        """u̇ under the generalized force ``Q``, ∂u̇/∂q and ∂u̇/∂u by articulated bodies, in our variables."""
        model, data = self.model, self.model.createData()
        still = state.with_(q_ddot=np.zeros(state.q_ddot.size), eta_dot=np.zeros(6))
        y = self.variables(still)
        tau = np.linalg.solve(y.S.T, Q)
        a = pin.aba(model, data, y.x, y.v, tau)
        u_dot = np.linalg.solve(y.S, a - y.a)  # at rest of the coordinates, a is the drift Ṡ u
        free = u_dot.size - state.q.size
        moving = state.with_(q_ddot=u_dot[free:], **({"eta_dot": u_dot[:6]} if free else {}))
        y = self.variables(moving)
        a_x, a_v, M_inv = (np.array(part) for part in pin.computeABADerivatives(model, data, y.x, y.v, tau))
        M_inv = np.triu(M_inv) + np.triu(M_inv, 1).T
        by_force = M_inv @ np.linalg.solve(y.S.T, y.variation_of_S_transposed(tau))
        by_q = np.linalg.solve(y.S, a_x @ y.S + a_v @ y.dv_dq - by_force - y.da_dq)
        return u_dot, by_q, np.linalg.solve(y.S, a_v @ y.S - y.da_du)


def quaternion(R: Array) -> Array:
    """Unit quaternion (x, y, z, w) of a rotation."""
    return np.roll(so3.to_quaternion(R), -1)


def random_state(system: ev.System, rng: np.random.Generator) -> ev.State:
    """A random motion of a tree, base included where it floats."""
    n = system.n
    state = system.rest().with_(**{name: rng.uniform(-1.0, 1.0, n) for name in ("q", "q_dot", "q_ddot")})
    if not system.free:
        return state
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = so3.exp(rng.uniform(-1.0, 1.0, 3)), rng.uniform(-1.0, 1.0, 3)
    return state.with_(g=g, eta=rng.uniform(-1.0, 1.0, 6), eta_dot=rng.uniform(-1.0, 1.0, 6))


def motors(system: ev.System) -> ev.System:
    """The same system with a motor on each coordinate, in the order of q."""
    actuators = [ev.Motor(part, name) for part in system.blocks for name in part.coordinate_names]
    return ev.System(system.mechanism, actuators, system.loads)


# The eel ----------------------------------------------------------------------------------------------------

HALF_AXES = (0.065, 0.09)  # m, along y and z
HEAD, LINK = 0.4, 0.14  # m
DENSITY = 1000.0  # kg/m³


def eel(joints: int = 12) -> Twin:
    """A free head and links, elliptic cylinders one behind the other along x, between spherical joints; with weight.

    Data of W. Khalil, G. Gallot, F. Boyer, "Dynamic modeling and simulation of a 3-D serial eel-like robot", 2007;
    the frame of each body is at its front end.
    """
    lengths = [HEAD, *joints * [LINK]]
    bodies = [
        ev.RigidBody.elliptic_cylinder(HALF_AXES, L, density=DENSITY, name=f"body-{k}", centre=(L / 2.0, 0.0, 0.0))
        for k, L in enumerate(lengths)
    ]
    balls = [
        ev.Spherical((bodies[k], (lengths[k], 0.0, 0.0)), bodies[k + 1], name=f"ball-{k + 1}") for k in range(joints)
    ]
    system = ev.System(ev.Mechanism([ev.Floating("world", bodies[0]), *balls]), loads=[ev.Gravity()])

    model = pin.Model()
    last = 0
    kind: Any = pin.JointModelFreeFlyer()
    for k, L in enumerate(lengths):
        ahead = np.array([lengths[k - 1] if k else 0.0, 0.0, 0.0])
        last = model.addJoint(last, kind, pin.SE3(np.eye(3), ahead), f"ball-{k}" if k else ROOT)
        (b, c), m = HALF_AXES, DENSITY * np.pi * HALF_AXES[0] * HALF_AXES[1] * L
        inertia = m * np.diag([(b**2 + c**2) / 4.0, c**2 / 4.0 + L**2 / 12.0, b**2 / 4.0 + L**2 / 12.0])
        model.appendBodyToJoint(last, pin.Inertia(m, np.array([L / 2.0, 0.0, 0.0]), inertia), pin.SE3.Identity())
        kind = pin.JointModelSpherical()
    return Twin(motors(system), model)


# Trees from URDF --------------------------------------------------------------------------------------------


def random_urdf(rng: np.random.Generator) -> str:
    """URDF of a random tree: 8 to 12 links, joints of random kinds, axes and places, limbs that branch."""
    count = int(rng.integers(8, 13))
    lines = ['<robot name="random">']
    for k in range(count):
        size = rng.uniform(0.1, 0.5, 3)
        mass = rng.uniform(0.5, 3.0)
        R = so3.exp(rng.uniform(-1.0, 1.0, 3))
        inertia = mass / 12.0 * R @ np.diag(np.sum(size**2) - size**2) @ R.T
        entries = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{float(inertia[i, j])!r}"' for i in range(3) for j in range(i, 3))
        lines.append(
            f'<link name="link{k}"><inertial>{_origin(rng, 0.3)}<mass value="{mass!r}"/><inertia {entries}/>'
            "</inertial></link>"
        )
    for k in range(1, count):
        # every kind occurs; half of the links go on from the one before, the others branch off somewhere
        kinds = ("revolute", "prismatic", "fixed", "continuous")
        kind = kinds[k - 1] if k <= len(kinds) else rng.choice(kinds, p=[0.45, 0.25, 0.15, 0.15])
        parent = k - 1 if rng.random() < 0.5 else int(rng.integers(k))
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        # names in an order that is not that of the tree
        lines.append(
            f'<joint name="j{(7 * k) % 13:02d}" type="{kind}"><parent link="link{parent}"/><child link="link{k}"/>'
            f'{_origin(rng, 0.5)}<axis xyz="{_words(axis)}"/>'
            '<limit lower="-9" upper="9" effort="99" velocity="99"/></joint>'
        )
    return "\n".join([*lines, "</robot>"])


def tree(urdf: str, floating: bool) -> Twin:
    """The robot of a URDF text in both libraries, with weight."""
    system = ev.read_urdf(urdf, floating=floating, loads=[ev.Gravity()])
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    return Twin(motors(system), pin.buildModelFromXML(urdf, *root))


def _origin(rng: np.random.Generator, reach: float) -> str:
    xyz, rpy = rng.uniform(-reach, reach, 3), rng.uniform(-1.5, 1.5, 3)
    return f'<origin xyz="{_words(xyz)}" rpy="{_words(rpy)}"/>'


def _words(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)
