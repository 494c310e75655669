"""Robots of rigid bodies against equations of motion written by hand, in as few coordinates as they have freedoms.

The reference is integrated by an eighth-order method at a tolerance of 1e-11; what is left is the truncation of the
step, which must fall with the order of the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import elver as ev
from elver.analytic import free_rigid_body
from elver.dynamics.core import core
from elver.errors import ElverWarning
from elver.lie import se3, so3
from elver.mechanism import Joint

Array = NDArray[np.float64]

G = 9.81
X, Y, Z = np.eye(3)
KINDS = (
    ev.Fixed, ev.Revolute, ev.Prismatic, ev.Cylindrical, ev.Universal, ev.Spherical, ev.Planar, ev.Floating,
)  # fmt: skip
METHODS = {
    "Newmark": ev.Newmark(),
    "HHT": ev.HHT(0.8),
    "GeneralizedAlpha": ev.GeneralizedAlpha(0.8),
    "ImplicitMidpoint": ev.ImplicitMidpoint(),
    # what Newton leaves behind would hide the fourth order of short steps
    "GaussLegendre4": ev.GaussLegendre4(tolerance=1e-15),
}


def turn(axis: int, angle: float) -> Array:
    """Rotation about x, y or z."""
    return so3.exp(np.eye(3)[axis] * angle)


def reference(rate: Callable[[Array], Array], y0: Sequence[float], t: float) -> Array:
    """State at ``t`` of y' = rate(y)."""
    solution = solve_ivp(lambda _, y: rate(y), (0.0, t), y0, "DOP853", rtol=1e-12, atol=1e-12)
    return solution.y[:, -1]


def orders(errors: Sequence[float]) -> list[float]:
    """Observed order between each two runs, the step being halved."""
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]


def planar_loop(system: ev.System) -> ev.System:
    """The system, after it has said that the rows out of its plane are redundant."""
    with pytest.warns(ElverWarning, match="redundant: .*force_z"):
        core(system)
    return system


# Textbook mass matrices ------------------------------------------------------------------------------------------


def two_link_arm(start: tuple[float, float] = (0.0, 0.0), motors: bool = False) -> tuple[ev.System, tuple[float, ...]]:
    """Planar arm; lengths, centres, masses and inertias of a textbook (Siciliano et al., Robotics, section 7.3.2)."""
    a1, l1, l2, m1, m2, I1, I2 = 0.5, 0.2, 0.35, 1.3, 0.7, 0.021, 0.033
    upper = ev.RigidBody(m1, (0.02, 0.02, I1), (l1, 0, 0), name="upper")
    lower = ev.RigidBody(m2, (0.03, 0.03, I2), (l2, 0, 0), name="lower")
    shoulder = ev.Revolute("world", upper, name="shoulder", start=start[0])
    elbow = ev.Revolute((upper, (a1, 0, 0)), lower, name="elbow", start=start[1])
    system = ev.System(
        ev.Mechanism([elbow, shoulder]),
        [ev.Motor(shoulder), ev.Motor(elbow)] if motors else [],
        [ev.Gravity((0.0, -G, 0.0))],
    )
    return system, (a1, l1, l2, m1, m2, I1, I2)


def arm_equations(p: tuple[float, ...], q: Array, q_dot: Array) -> tuple[Array, Array]:
    """Mass matrix and bias (velocity terms and weight) of the arm."""
    a1, l1, l2, m1, m2, I1, I2 = p
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    b22 = I2 + m2 * l2**2
    b12 = b22 + m2 * a1 * l2 * c2
    b11 = I1 + m1 * l1**2 + I2 + m2 * (a1**2 + l2**2 + 2 * a1 * l2 * c2)
    h = -m2 * a1 * l2 * s2
    velocity = np.array([h * (2 * q_dot[0] * q_dot[1] + q_dot[1] ** 2), -h * q_dot[0] ** 2])
    far = m2 * l2 * G * np.cos(q[0] + q[1])
    weight = np.array([(m1 * l1 + m2 * a1) * G * np.cos(q[0]) + far, far])
    return np.array([[b11, b12], [b12, b22]]), velocity + weight


def test_pendulum_is_the_one_of_the_textbook():
    m, l, I = 0.8, 0.3, 0.05
    body = ev.RigidBody(m, (0.04, 0.05, I), (0.0, -l, 0.0), name="bob")
    hinge = ev.Revolute("world", body, start=0.4)
    system = ev.System(ev.Mechanism([hinge]), [ev.Motor(hinge)], [ev.Gravity((0.0, -G, 0.0))])
    state = system.rest().with_(q_dot=np.array([3.0]), q_ddot=np.array([-2.0]))
    assert ev.mass_matrix(system, state)[0, 0] == pytest.approx(I + m * l**2, rel=1e-12)
    expected = (I + m * l**2) * -2.0 + m * G * l * np.sin(0.4) - 0.7
    assert ev.inverse_dynamics(system, state, {"revolute-motor": 0.7})[0] == pytest.approx(expected, rel=1e-12)


def test_two_link_arm_is_the_one_of_the_textbook():
    system, p = two_link_arm(motors=True)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, q_dot, q_ddot, tau = rng.normal(size=(4, 2)) * [[3.0], [4.0], [9.0], [2.0]]
        state = system.rest().with_(q=q, q_dot=q_dot, q_ddot=q_ddot)
        M, bias = arm_equations(p, q, q_dot)
        np.testing.assert_allclose(ev.mass_matrix(system, state), M, rtol=1e-12)
        R = ev.inverse_dynamics(system, state, {"shoulder-motor": tau[0], "elbow-motor": tau[1]})
        np.testing.assert_allclose(R, M @ q_ddot + bias - tau, atol=1e-12 * np.abs(bias).max())
        found = ev.forward_dynamics(system, state, {"shoulder-motor": tau[0], "elbow-motor": tau[1]})
        np.testing.assert_allclose(found.q_ddot, np.linalg.solve(M, tau - bias), rtol=1e-11)


@pytest.mark.parametrize(("name", "order"), [("Newmark", 2.0), ("GeneralizedAlpha", 2.0), ("GaussLegendre4", 4.0)])
def test_double_pendulum(name: str, order: float):
    system, p = two_link_arm(start=(0.3, 0.5))

    def rate(y: Array) -> Array:
        M, bias = arm_equations(p, y[:2], y[2:])
        return np.concatenate([y[2:], -np.linalg.solve(M, bias)])

    expected = reference(rate, [0.3, 0.5, 0.0, 0.0], 1.2)
    errors = []
    for step in (8e-3, 4e-3, 2e-3):
        run = ev.simulate(system, system.rest(), 1.2, step, METHODS[name]).isel(time=-1)
        errors.append(np.abs(np.concatenate([run["q"], run["q_dot"]]) - expected).max())
    assert orders(errors) == pytest.approx([order] * 2, abs=0.2)
    assert errors[-1] < (5e-3 if order == 2.0 else 1e-8)


# Every joint, without the kernels --------------------------------------------------------------------------------


def random_tree(rng: np.random.Generator, kinds: Sequence[type[Joint]]) -> tuple[ev.System, list]:
    """A tree of bodies with these joints in random frames and either direction; (parent, joint, body) of each."""
    parts: list = []
    links = []
    for k, kind in enumerate(kinds):
        A = rng.normal(size=(3, 3))
        inertia = 0.1 * (A @ A.T + np.trace(A @ A.T) * np.eye(3))
        body = ev.RigidBody(rng.uniform(0.5, 2.0), inertia, 0.2 * rng.normal(size=3), name=f"body{k}")
        parent = parts[rng.integers(len(parts))] if parts else "world"
        a, b = (ev.Frame(part, pose=se3.exp(0.4 * rng.normal(size=6))) for part in (parent, body))
        if rng.random() < 0.5:
            a, b = b, a
        links.append((parent, kind(a, b, axis=rng.normal(size=3), name=f"joint{k}"), body))
        parts.append(body)
    gravity = ev.Gravity(tuple(rng.normal(size=3)))
    joints = [joint for _, joint, _ in links]
    rng.shuffle(joints)
    return ev.System(ev.Mechanism(joints, root="world"), loads=[gravity]), links


def body_poses(system: ev.System, links: list, q: Array) -> list[Array]:
    """g_world_body of every link from the definition of its joint."""
    pose = {"world": np.eye(4)}
    for parent, joint, body in links:
        g = joint.a.g @ joint.pose(q[system.coordinates(joint)] if joint.n else None) @ se3.inverse(joint.b.g)
        pose[body] = pose[parent] @ (g if joint.b.part is body else se3.inverse(g))
    return [pose[body] for _, _, body in links]


FIVE = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))


def derivative(function: Callable[[float], Array], h: float = 2e-3) -> Array:
    """At 0, by five points."""
    return np.asarray(sum(w * function(k * h) for k, w in FIVE)) / (12.0 * h)


def mass_from_poses(system: ev.System, links: list, q: Array) -> Array:
    """Σ Jᵀ M J over bodies, with J from differences of the poses."""
    back = [se3.inverse(g) for g in body_poses(system, links, q)]

    def twists(e: Array) -> Array:
        def at(h: float) -> Array:
            return np.array([se3.log(one @ other) for one, other in zip(back, body_poses(system, links, q + h * e))])

        return derivative(at)

    J = np.array([twists(e) for e in np.eye(q.size)])  # coordinate, body, component
    return sum(J[:, i] @ body.M @ J[:, i].T for i, (_, _, body) in enumerate(links))


@pytest.mark.parametrize("seed", range(4))
def test_every_joint_obeys_lagrange(seed: int):
    """M and R of random trees from poses alone: M = Σ JᵀMJ, R = M q'' + M' q' - ½ ∂(q'ᵀM q')/∂q + ∂V/∂q."""
    rng = np.random.default_rng(seed)
    order = [KINDS[(seed + 3 * k) % len(KINDS)] for k in range(3)]
    system, links = random_tree(rng, order)
    n = system.n
    q, q_dot, q_ddot = 0.5 * rng.normal(size=(3, n))
    state = system.rest().with_(q=q, q_dot=q_dot, q_ddot=q_ddot)
    for (_, _, body), g in zip(links, body_poses(system, links, q)):
        np.testing.assert_allclose(ev.poses(system, state, body), g, atol=1e-13)

    def M(x: Array) -> Array:
        return mass_from_poses(system, links, x)

    def potential(x: Array) -> Array:
        (gravity,) = system.loads
        centres = [(g @ [*body.centre, 1.0])[:3] for (_, _, body), g in zip(links, body_poses(system, links, x))]
        return -sum(body.mass * np.dot(gravity.acceleration, c) for (_, _, body), c in zip(links, centres))

    np.testing.assert_allclose(ev.mass_matrix(system, state), M(q), atol=1e-9)
    # the motion of q at constant rate gives M'; along each coordinate ∂M and ∂V
    M_dot = derivative(lambda h: M(q + h * q_dot))
    slope = [derivative(lambda h, e=e: 0.5 * q_dot @ M(q + h * e) @ q_dot - potential(q + h * e)) for e in np.eye(n)]
    R = M(q) @ q_ddot + M_dot @ q_dot - np.array(slope)
    np.testing.assert_allclose(ev.inverse_dynamics(system, state), R, atol=3e-9 * (1.0 + np.abs(R).max()))


# Each joint in a motion one can write down -----------------------------------------------------------------------


def test_a_slider_falls_along_its_axis():
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    body = ev.RigidBody(2.0, (0.1, 0.1, 0.1), (0.3, 0.1, 0.0), name="slider")
    system = ev.System(ev.Mechanism([ev.Prismatic("world", body, axis=axis, start=0.1)]), loads=[ev.Gravity()])
    run = ev.simulate(system, system.rest().with_(q_dot=np.array([0.4])), 1.0, 0.05)
    t = run["time"].values[:, None]
    np.testing.assert_allclose(run["slider/position"], (0.1 + 0.4 * t + G * t**2 / 3.0) * axis, atol=1e-12)


def test_a_screwed_shaft_turns_and_falls_by_itself():
    body = ev.RigidBody(2.0, (0.1, 0.2, 0.25), (0.3, 0.0, 0.0), name="shaft")
    shaft = ev.Cylindrical("world", body, start=(0.0, 0.2), name="shaft-joint")
    motor, I = ev.Motor(shaft, "angle"), 0.25 + 2.0 * 0.3**2
    system = ev.System(ev.Mechanism([shaft]), [motor], [ev.Gravity()])
    state = system.rest().with_(q_dot=np.array([0.5, 1.0]))
    run = ev.simulate(system, state, 2.0, 0.05, ev.ImplicitMidpoint(), {motor: 1.5})
    t = run["time"].values
    expected = np.column_stack([0.5 * t + 0.75 * t**2 / I, 0.2 + t - 0.5 * G * t**2])
    np.testing.assert_allclose(run["q"], expected, atol=1e-11)


def test_a_puck_spins_about_its_mass_centre():
    """Planar joint in a tilted plane: the mass centre flies a parabola, the frame turns about it."""
    tilt = turn(0, 0.4)
    centre = np.array([0.2, -0.1, 0.0])
    body = ev.RigidBody(1.0, (0.01, 0.01, 0.02), centre, name="puck")
    plane = ev.Planar(("world", se3.pose(tilt, np.zeros(3))), body, start=(0.1, 0.2, 0.3))
    system = ev.System(ev.Mechanism([plane]), loads=[ev.Gravity()])
    spin, v = 4.0, np.array([0.5, -0.2, 0.0])
    errors = []
    for step in (1.6e-2, 8e-3, 4e-3):
        run = ev.simulate(system, system.rest().with_(q_dot=np.array([*v[:2], spin])), 1.0, step)
        t = run["time"].values[:, None]
        R = so3.exp(np.array([0.0, 0.0, 1.0]) * (0.3 + spin * t))
        c0 = np.array([0.1, 0.2, 0.0]) + turn(2, 0.3) @ centre
        c = c0 + (v + spin * np.cross(Z, turn(2, 0.3) @ centre)) * t + 0.5 * (tilt.T @ [0, 0, -G]) * [1, 1, 0] * t**2
        errors.append(np.abs(run["puck/position"] - (c - R @ centre) @ tilt.T).max().item())
        np.testing.assert_allclose(run["q"][:, 2], 0.3 + spin * t[:, 0], atol=30 * step**2)
    assert orders(errors) == pytest.approx([2.0, 2.0], abs=0.05)


def test_a_body_on_a_universal_joint():
    """Ω = (α' cos β, β', α' sin β): p_α = (A cos² β + C sin² β) α' is kept."""
    A, B, C = 0.3, 0.2, 0.4
    body = ev.RigidBody(1.0, (A, B, C), name="cross")
    system = ev.System(ev.Mechanism([ev.Universal("world", body, start=(0.1, 0.2))]))
    p = (A * np.cos(0.2) ** 2 + C * np.sin(0.2) ** 2) * 3.0

    def rate(y: Array) -> Array:
        inertia = A * np.cos(y[1]) ** 2 + C * np.sin(y[1]) ** 2
        return np.array([p / inertia, y[2], 0.5 * (p / inertia) ** 2 * (C - A) * np.sin(2 * y[1]) / B])

    expected = reference(rate, [0.1, 0.2, 1.5], 2.0)
    errors = []
    for step in (2e-2, 1e-2, 5e-3):
        run = ev.simulate(system, system.rest().with_(q_dot=np.array([3.0, 1.5])), 2.0, step, ev.ImplicitMidpoint())
        errors.append(np.abs(run["q"][-1] - expected[:2]).max().item())
    assert orders(errors) == pytest.approx([2.0, 2.0], abs=0.1)


# Loops of one freedom --------------------------------------------------------------------------------------------


class OneFreedom:
    """½ M(θ) θ'² + V(θ) with complex-valued formulas, so that slopes are exact: f'(θ) = Im f(θ + iε)/ε."""

    def __init__(self, inertia: Callable, potential: Callable) -> None:
        self.inertia, self.potential = inertia, potential

    def rate(self, y: Array) -> Array:
        tiny = 1e-30
        M, V = self.inertia(y[0] + 1j * tiny), self.potential(y[0] + 1j * tiny)
        return np.array([y[1], -(0.5 * M.imag / tiny * y[1] ** 2 + V.imag / tiny) / M.real])


def crank_and_slider() -> tuple[ev.System, OneFreedom]:
    """Crank r, rod l, slider along x, all in the plane; gravity along -y."""
    r, l, m1, m2, m3, I1, I2 = 0.2, 0.6, 1.0, 0.8, 0.5, 0.01, 0.03
    c1, c2 = 0.08, 0.25
    start = 0.7

    def rod(theta: complex) -> tuple[complex, complex]:
        phi = -np.arcsin(r / l * np.sin(theta))  # angle of the rod to x
        return phi, -r * np.cos(theta) / (l * np.cos(phi))

    def inertia(theta: complex) -> complex:
        phi, d = rod(theta)
        x, y = -r * np.sin(theta) - c2 * np.sin(phi) * d, r * np.cos(theta) + c2 * np.cos(phi) * d
        slider = -r * np.sin(theta) - l * np.sin(phi) * d
        return I1 + m1 * c1**2 + m2 * (x**2 + y**2) + I2 * d**2 + m3 * slider**2

    def potential(theta: complex) -> complex:
        return G * (m1 * c1 * np.sin(theta) + m2 * (r * np.sin(theta) + c2 * np.sin(rod(theta)[0])))

    phi = rod(start)[0]
    crank = ev.RigidBody(m1, (0.01, 0.01, I1), (c1, 0, 0), name="crank")
    coupler = ev.RigidBody(m2, (0.03, 0.03, I2), (c2, 0, 0), name="coupler")
    slider = ev.RigidBody(m3, name="slider")
    x = r * np.cos(start) + l * np.cos(phi)
    joints = [
        ev.Prismatic("world", slider, name="guide", axis="x", start=x),
        ev.Revolute(slider, (coupler, (l, 0, 0)), name="wrist", start=phi),
        ev.Revolute((crank, (r, 0, 0)), coupler, name="pin", start=phi - start, cut=True),
        ev.Revolute("world", crank, name="shaft", start=start),
    ]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity((0.0, -G, 0.0))]), OneFreedom(inertia, potential)


def four_bar() -> tuple[ev.System, OneFreedom]:
    """Crank a at the origin, rocker c at (d, 0), coupler b between their ends."""
    a, b, c, d = 0.25, 0.6, 0.5, 0.7
    m = np.array([0.9, 1.1, 0.6])
    half = np.array([a, b, c]) / 2
    I = np.array([0.01, 0.04, 0.02])
    start = 1.1

    def angles(theta: complex) -> tuple[complex, complex]:
        # circles about the end of the crank and about (d, 0) meet above the line between them
        x, y = d - a * np.cos(theta), -a * np.sin(theta)
        s = np.sqrt(x**2 + y**2)
        along = (s**2 + b**2 - c**2) / (2 * s)
        across = np.sqrt(b**2 - along**2)
        ex, ey = (along * x - across * y) / b / s, (along * y + across * x) / b / s
        # tan(φ/2) works for complex numbers, and away from φ = π
        phi = 2 * np.arctan(ey / (1 + ex))
        fx, fy = (a * np.cos(theta) + b * ex - d) / c, (a * np.sin(theta) + b * ey) / c
        return phi, 2 * np.arctan(fy / (1 + fx))

    def slopes(theta: complex) -> tuple[complex, complex]:
        phi, psi = angles(theta)
        return (
            a * np.sin(psi - theta) / (b * np.sin(phi - psi)),
            a * np.sin(phi - theta) / (c * np.sin(phi - psi)),
        )

    def inertia(theta: complex) -> complex:
        (phi, _), (dphi, dpsi) = angles(theta), slopes(theta)
        x = -a * np.sin(theta) - half[1] * np.sin(phi) * dphi
        y = a * np.cos(theta) + half[1] * np.cos(phi) * dphi
        crank, rocker = I[0] + m[0] * half[0] ** 2, I[2] + m[2] * half[2] ** 2
        return crank + m[1] * (x**2 + y**2) + I[1] * dphi**2 + rocker * dpsi**2

    def potential(theta: complex) -> complex:
        phi, psi = angles(theta)
        lift = m[0] * half[0] * np.sin(theta) + m[1] * (a * np.sin(theta) + half[1] * np.sin(phi))
        return G * (lift + m[2] * half[2] * np.sin(psi))

    phi, psi = map(float, angles(start))
    bars = [
        ev.RigidBody(mass, (0.5 * i, 0.6 * i, i), (h, 0, 0), name=name)
        for mass, i, h, name in zip(m, I, half, ("crank", "coupler", "rocker"))
    ]
    joints = [
        ev.Revolute("world", bars[0], name="A", start=start),
        ev.Revolute((bars[0], (a, 0, 0)), bars[1], name="B", start=phi - start),
        ev.Revolute((bars[1], (b, 0, 0)), (bars[2], (c, 0, 0)), name="C", start=psi - phi),
        ev.Revolute(("world", (d, 0, 0)), bars[2], name="D", start=psi),
    ]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity((0.0, -G, 0.0))]), OneFreedom(inertia, potential)


@pytest.mark.parametrize(("build", "shaft"), [(crank_and_slider, "shaft/angle"), (four_bar, "A/angle")])
@pytest.mark.parametrize("name", ["Newmark", "HHT", "GeneralizedAlpha", "GaussLegendre4"])
def test_planar_loops(build: Callable, shaft: str, name: str):
    system, loop = build()
    planar_loop(system)
    state = system.rest()
    theta = system.coordinate_names.index(shaft)
    expected = reference(loop.rate, [state.q[theta], 0.0], 1.0)
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        run = ev.simulate(system, state, 1.0, step, METHODS[name]).isel(time=-1)
        errors.append(np.abs(np.array([run["q"][theta], run["q_dot"][theta]]) - expected).max())
    order = METHODS[name].order
    assert orders(errors) == pytest.approx([order] * 2, abs=0.15 * order)
    assert errors[-1] < (3e-3 if order == 2 else 3e-7)


class Spatial:
    """Crank about z at the origin, rocker about an inclined axis, and a coupler between their ends.

    The coupler's long axis is its z. At the crank it has a universal joint (turn about x of the crank, then about its
    own y), at the rocker a ball; with a ball at both ends (RSSR) it does not spin if it starts at rest.
    """

    r, s, l = 0.2, 0.45, 0.8
    foot = np.array([0.5, 0.4, 0.2])
    tilt = turn(0, 1.1) @ turn(1, 0.5)
    masses = (1.0, 0.7, 0.8)
    inertia = (0.01, 0.02, 0.015)  # crank and rocker about their axes, coupler across
    spin = 0.004  # coupler about its axis
    start = 0.6

    def __init__(self, universal: bool) -> None:
        self.universal = universal

    def ends(self, theta: complex) -> tuple[Array, Array, Array, Array, complex, complex]:
        """Ends of crank and rocker, their slopes with θ, the angle ψ of the rocker and its slope."""
        P = self.r * np.array([np.cos(theta), np.sin(theta), 0.0])
        dP = self.r * np.array([-np.sin(theta), np.cos(theta), 0.0])
        # |foot + s (u cos ψ + v sin ψ) - P| = l
        w = self.foot - P
        u, v = self.tilt[:, 0], self.tilt[:, 1]
        A, B = 2 * self.s * (w @ u), 2 * self.s * (w @ v)
        C = self.l**2 - w @ w - self.s**2
        psi = 2 * np.arctan((B - np.sqrt(A**2 + B**2 - C**2)) / (A + C))
        Q = self.foot + self.s * (u * np.cos(psi) + v * np.sin(psi))
        dQ = self.s * (-u * np.sin(psi) + v * np.cos(psi))
        slope = ((Q - P) @ dP) / ((Q - P) @ dQ)
        return P, Q, dP, dQ * slope, psi, slope

    def mass(self, theta: complex) -> complex:
        P, Q, dP, dQ, _, slope = self.ends(theta)
        m, I = self.masses, self.inertia
        middle = 0.5 * (dP + dQ)
        across = (dQ - dP) / self.l
        total = I[0] + m[0] * self.r**2 / 4 + (I[1] + m[1] * self.s**2 / 4) * slope**2
        total += m[2] * (middle @ middle) + I[2] * (across @ across)
        if self.universal:
            rate = self.spin_rate(theta, (Q - P) / self.l, across)
            total += self.spin * rate**2
        return total

    def spin_rate(self, theta: complex, e: Array, de: Array) -> complex:
        """Ω·e of the coupler per θ': with e = Rz(θ) (sin β, -sin α cos β, cos α cos β)."""
        c, s = np.cos(theta), np.sin(theta)
        back = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        f = back @ e
        df = back @ de - np.array([-f[1], f[0], 0.0])  # minus what the crank's turn does: z × f
        cos_beta = np.sqrt(1 - f[0] ** 2)
        alpha_rate = (-df[1] * f[2] + f[1] * df[2]) / cos_beta**2
        return alpha_rate * f[0] + e[2]

    def potential(self, theta: complex) -> complex:
        P, Q, *_ = self.ends(theta)
        m = self.masses
        return G * (0.5 * m[0] * P[2] + 0.5 * m[1] * Q[2] + 0.5 * m[2] * (P[2] + Q[2]))

    def system(self, cut: str) -> ev.System:
        P, Q, _, _, psi, _ = self.ends(self.start)
        m, I, k = self.masses, self.inertia, self.spin
        crank = ev.RigidBody(m[0], (I[0], I[0], I[0]), (self.r / 2, 0, 0), name="crank")
        rocker = ev.RigidBody(m[1], (I[1], I[1], I[1]), (self.s / 2, 0, 0), name="rocker")
        coupler = ev.RigidBody(m[2], (I[2], I[2], k), (0, 0, self.l / 2), name="coupler")
        f = turn(2, self.start).T @ (Q - P) / self.l
        alpha, beta = np.arctan2(-f[1], f[2]), np.arcsin(f[0])
        R_crank_coupler = turn(0, alpha) @ turn(1, beta)
        R_coupler = turn(2, self.start) @ R_crank_coupler
        R_rocker = self.tilt @ turn(2, psi)
        tip = (crank, (self.r, 0, 0))
        first = (
            ev.Universal(tip, coupler, name="near", start=(alpha, beta), cut=cut == "near")
            if self.universal
            else ev.Spherical(tip, coupler, name="near", start=so3.log(R_crank_coupler), cut=cut == "near")
        )
        joints = [
            ev.Spherical((rocker, (self.s, 0, 0)), (coupler, (0, 0, self.l)), name="far", cut=cut == "far",
                         start=so3.log(R_rocker.T @ R_coupler)),
            ev.Revolute(("world", se3.pose(self.tilt, self.foot)), rocker, name="rocker-shaft", start=psi,
                        cut=cut == "rocker-shaft"),
            first,
            ev.Revolute("world", crank, name="shaft", start=self.start, cut=cut == "shaft"),
        ]  # fmt: skip
        return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


@pytest.mark.parametrize("name", ["GeneralizedAlpha", "GaussLegendre4"])
@pytest.mark.parametrize(
    ("universal", "cut"),
    [(False, "far"), (False, "rocker-shaft"), (True, "near"), (True, "far"), (True, "shaft")],
)
def test_spatial_loop(universal: bool, cut: str, name: str):
    """RSSR and RUSR with every kind of joint as the cut one."""
    loop = Spatial(universal)
    system = loop.system(cut)
    crank = system.mechanism.part("crank")
    assert system.n - len(system.multipliers) == (1 if universal else 2)
    expected = reference(OneFreedom(loop.mass, loop.potential).rate, [loop.start, 0.0], 1.0)
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        run = ev.simulate(system, system.rest(), 1.0, step, METHODS[name])
        R = ev.poses(system, ev.state_at(system, run), crank)[:3, :3]
        angle = np.arctan2(R[1, 0], R[0, 0])
        errors.append(abs((angle - expected[0] + np.pi) % (2 * np.pi) - np.pi))
    order = METHODS[name].order
    assert orders(errors) == pytest.approx([order] * 2, abs=0.1 * order)
    assert errors[-1] < (1e-3 if order == 2 else 1e-7)


# Bodies that turn freely -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["SO3xR3", "SE3", "two"])
@pytest.mark.parametrize("name", ["Newmark", "ImplicitMidpoint", "GaussLegendre4"])
def test_an_asymmetric_body_tumbles(where: str, name: str):
    """As a floating base on either group, and as one of two Floating joints with a rotation vector."""
    inertia, omega = np.array([0.2, 0.3, 0.45]), np.array([0.5, 4.0, 1.0])
    centre, v = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, -0.5])
    body = ev.RigidBody(2.0, inertia, centre, name="stone")
    joints = [ev.Floating("world", body, name="flight")]
    if where == "two":
        joints.append(ev.Floating("world", ev.RigidBody(1.0, (1, 1, 1), name="other"), name="other-flight"))
    system = ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])
    state = system.rest()
    # the mass centre starts at rest in the body's frame with velocity v
    v_origin = v - np.cross(omega, centre)
    if where == "two":
        q_dot = np.zeros(12)
        q_dot[system.coordinates(joints[0])] = [*v_origin, *omega]
        state = state.with_(q_dot=q_dot)
    else:
        state = state.with_(eta=np.concatenate([omega, v_origin]))
    method = replace(METHODS[name], group="SE3" if where == "SE3" else "SO3xR3")
    steps = (2e-2, 1e-2, 5e-3)
    errors = []
    for step in steps:
        run = ev.simulate(system, state, 3.0, step, method)
        t = run["time"].values[:: round(0.5 / step)]
        R = free_rigid_body(inertia, omega, t)[1]
        flight = centre + v * t[:, None] + 0.5 * np.array([0.0, 0.0, -G]) * t[:, None] ** 2
        at = run.isel(time=slice(None, None, round(0.5 / step)))
        seen = so3.from_quaternion(at["stone/orientation"].values)
        errors.append(max(np.abs(seen - R).max(), np.abs(at["stone/position"] - (flight - R @ centre)).max().item()))
    order = METHODS[name].order
    assert orders(errors) == pytest.approx([order] * 2, abs=0.25)
    assert errors[-1] < (0.01 if order == 2 else 1e-8)


# Stiff rods ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("young", [1e8, 1e9])
def test_a_stiff_short_rod_swings_as_a_rigid_body(young: float):
    """A rod on a hinge is a compound pendulum; what it bends falls with its stiffness."""
    L, radius, density = 0.2, 0.02, 1000.0
    material = ev.Material(young=young, poisson=0.3, density=density)
    rod = ev.Rod(L, ev.Circle(radius), material, ev.Legendre.reissner(2), name="rod")
    system = ev.System(ev.Mechanism([ev.Revolute("world", (rod, "base"), name="J")]), loads=[ev.Gravity((0, -G, 0))])
    m = density * np.pi * radius**2 * L
    inertia = m * L**2 / 3 + m * radius**2 / 4
    expected = reference(lambda y: np.array([y[1], -m * G * L / 2 * np.cos(y[0]) / inertia]), [0.0, 0.0], 0.5)
    run = ev.simulate(system, system.rest(), 0.5, 1e-3, ev.GaussLegendre4())
    tip = run["rod/tip/position"][-1].values
    assert np.arctan2(tip[1], tip[0]) == pytest.approx(expected[0] % (2 * np.pi) - 2 * np.pi, abs=1e4 / young)


def test_a_stiff_rod_as_coupler_of_a_four_bar():
    """The coupler as a slender stiff rod: the loop moves as that of rigid bars."""
    system, _ = four_bar()
    coupler = system.mechanism.part("coupler")
    area = np.pi * 0.01**2
    density = coupler.mass / (area * 0.6)
    bar = ev.RigidBody(coupler.mass, (0.0, 1.0, 1.0) * np.array(coupler.mass * (0.6**2 / 12 + 0.01**2 / 4)),
                       (0.3, 0, 0), name="coupler")  # fmt: skip
    rigid = ev.System(system.mechanism.with_part(coupler, bar), loads=system.loads)
    a, b, c, d = system.mechanism.joints

    def with_rod(young: float) -> ev.System:
        material = ev.Material(young=young, poisson=0.3, density=density)
        rod = ev.Rod(0.6, ev.Circle(0.01), material, ev.Legendre.planar(2), name="coupler")
        near = ev.Revolute(b.a, (rod, "base"), name="B", start=b.start)
        far = ev.Revolute((rod, "tip"), c.b, name="C", start=c.start)
        return ev.System(ev.Mechanism([a, near, far, d]), loads=system.loads)

    ends = []
    for loop in (rigid, with_rod(1e11), with_rod(1e12), with_rod(1e13)):
        run = ev.simulate(planar_loop(loop), loop.rest(), 0.6, 2e-3, ev.GeneralizedAlpha(0.6))
        ends.append(so3.from_quaternion(run["crank/orientation"][-1].values)[1, 0])
    errors = np.abs(np.array(ends[1:]) - ends[0])
    assert errors[:-1] / errors[1:] == pytest.approx([10.0, 10.0], rel=0.1)
    assert errors[-1] < 1e-5
