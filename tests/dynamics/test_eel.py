"""The swimming eel against a reference that shares nothing with the library, and against laws of mechanics.

Reference and acceptance numbers: W. Khalil, G. Gallot, F. Boyer, "Dynamic modeling and simulation of a 3-D serial
eel-like robot", 2007; the oracle in khalil_reference.py is linear first, in frames of modified Denavit-Hartenberg
rules, and gives classical accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3

from . import khalil_reference as oracle

HALF_AXES = (0.065, 0.09)  # m
HEAD, LINK = 0.4, 0.14  # m
EPS = np.finfo(float).eps
SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]


# The same chain on both sides -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair:
    """One chain here and in the reference."""

    system: ev.System
    eel: oracle.Eel

    @property
    def joints(self) -> tuple:
        return tuple(self.system.blocks)

    @property
    def bodies(self) -> list[ev.RigidBody]:
        """From head to tail."""
        return [self.system.mechanism.tree.root.part, *(joint.b.part for joint in self.joints)]


def eel_bodies(joints: int) -> list[ev.RigidBody]:
    """A head along x, and for each spherical joint two frames without mass and a link along z, its origin behind."""
    head = ev.RigidBody.elliptic_cylinder(
        HALF_AXES, HEAD, "x", density=1000.0, centre=(HEAD / 2.0, 0.0, 0.0), name="head"
    )
    bodies = [head]
    for i in range(1, joints + 1):
        bodies += [ev.RigidBody.massless(f"frame-{3 * i - 2}"), ev.RigidBody.massless(f"frame-{3 * i - 1}")]
        bodies.append(
            ev.RigidBody.elliptic_cylinder(
                HALF_AXES, LINK, "z", density=1000.0, centre=(0.0, 0.0, -LINK / 2.0), name=f"link-{i}"
            )
        )
    return bodies


def chain(eel: oracle.Eel, bodies: list[ev.RigidBody]) -> tuple[ev.Mechanism, tuple]:
    """The mechanism of the frames of the reference."""
    rows = [ev.MDHRow(*row) for row in np.stack([eel.alpha, eel.d, eel.q0, eel.r], axis=1)]
    joints = ev.mdh_chain(bodies, rows)
    return ev.Mechanism([ev.Floating("world", bodies[0]), *joints]), joints


def mdh_eel(joints: int = 12, wet: bool = True, drives: type = ev.Motor, stations: int = 4) -> Pair:
    """The robot of the paper."""
    eel = oracle.khalil_eel(joints, wet=wet)
    mechanism, revolutes = chain(eel, eel_bodies(joints))
    loads = [ev.Morison(stations=stations)] if wet else []
    return Pair(ev.System(mechanism, [drives(joint) for joint in revolutes], loads), eel)


def random_pair(seed: int, n: int = 7) -> Pair:
    """Any frames, masses, wet or dry cylinders, weight, buoyancy, friction and rotors."""
    rng = np.random.default_rng(seed)
    base = oracle.random_eel(rng, n)
    C = (*rng.uniform(0.1, 1.5, 4), *rng.uniform(0.5, 1.5, 3))
    density = 900.0
    centre = base.first_moment / np.where(base.mass > 0.0, base.mass, 1.0)[:, None]
    inertia_centre = base.inertia + base.mass[:, None, None] * oracle.hat(centre) @ oracle.hat(centre)
    length, axes = base.length, rng.integers(3, size=n + 1)
    half_axes = rng.uniform(0.02, 0.06, (n + 1, 2))
    sections = [oracle.morison_section(a, b, density, C) for a, b in half_axes]
    fluid_axes = np.stack([np.eye(3)[:, [k, (k + 1) % 3, (k + 2) % 3]] for k in axes])
    displaced = np.where(base.mass > 0.0, density * np.pi * half_axes.prod(axis=1) * length, 0.0)
    eel = replace(
        base, middle=centre, fluid_axes=fluid_axes, displaced_mass=displaced, centre_of_buoyancy=centre,
        C_ld=np.stack([s.C_ld for s in sections]), C_ad=np.array([s.C_ad for s in sections]),
        C_lm=np.stack([s.C_lm for s in sections]), C_am=np.array([s.C_am for s in sections]),
    )  # fmt: skip
    bodies = []
    for j in range(n + 1):
        if base.mass[j] == 0.0:
            bodies.append(ev.RigidBody.massless(f"link-{j}"))
            continue
        shape = ev.EllipticCylinder(tuple(half_axes[j]), length[j], "xyz"[axes[j]])
        bodies.append(ev.RigidBody(base.mass[j], inertia_centre[j], centre[j], name=f"link-{j}", shape=shape))
    mechanism, joints = chain(eel, bodies)
    loads: list = [ev.Gravity(tuple(eel.gravity)), ev.Buoyancy(fluid_density=density)]
    if eel.wet.any():
        wet = [body for body, is_wet in zip(bodies, eel.wet, strict=True) if is_wet]
        loads.append(ev.Morison(wet, density, drag=C[:4], added_mass=C[4:]))
    for j, joint in enumerate(joints):
        loads.append(ev.JointFriction(joint, viscous=eel.Fv[j], dry=eel.Fs[j], speed=1e-3))
        loads.append(ev.RotorInertia(joint, eel.Ia[j]))
    return Pair(ev.System(mechanism, [ev.Motor(joint) for joint in joints], loads), eel)


def random_state(pair: Pair, seed: int) -> ev.State:
    """A random motion, no joint slower than 0.1 rad/s: tanh(0.1 / 1e-3) of smoothed dry friction is then 1."""
    rng, n = np.random.default_rng(seed), pair.system.n
    rates = rng.uniform(0.1, 1.0, n) * rng.choice([-1.0, 1.0], n)
    g = se3.pose(so3.exp(rng.uniform(-1.0, 1.0, 3)), rng.uniform(-1.0, 1.0, 3))
    return pair.system.rest().with_(
        q=rng.uniform(-0.5, 0.5, n), q_dot=rates, q_ddot=rng.uniform(-2.0, 2.0, n), g=g, eta=rng.uniform(-1, 1, 6)
    )


def head_twist(state: ev.State) -> np.ndarray:
    """(v; ω)."""
    return SWAP @ state.eta


def classical(state: ev.State, eta_dot: np.ndarray) -> np.ndarray:
    """(V̇ + Ω×V; Ω̇), what the reference calls V̇_0."""
    return np.concatenate([eta_dot[3:] + np.cross(state.eta[:3], state.eta[3:]), eta_dot[:3]])


def rounding(A: np.ndarray, coordinates: int) -> float:
    """Relative difference of two backward stable solutions of A x = b whose entries are sums over the chain.

    n ε cond(A), with A in units of equal inertia.
    """
    unit = 1.0 / np.sqrt(np.diag(A))
    return coordinates * EPS * np.linalg.cond(unit[:, None] * A * unit)


def gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


PAIRS = {"eel": mdh_eel, "short eel": lambda: mdh_eel(2), "dry eel": lambda: mdh_eel(3, wet=False)}
PAIRS |= {f"random-{seed}": (lambda seed=seed: random_pair(seed)) for seed in range(6)}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request) -> Pair:
    return PAIRS[request.param]()


# Against the reference ------------------------------------------------------------------------------------------------


def test_bodies_are_where_the_table_puts_them():
    """Acceptance 1: the tail at rest is 2.08 m behind the nose; and all poses of a random state."""
    pair = mdh_eel()
    tail = ev.poses(pair.system, pair.system.rest(), pair.bodies[-1])
    np.testing.assert_allclose(tail[:3, 3], (2.08, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(tail[:3, 2], (1.0, 0.0, 0.0), atol=1e-12)
    state = random_state(pair, 1)
    R, p = oracle.link_poses(pair.eel, state.q, state.g[:3, :3], state.g[:3, 3])
    for body, R_j, p_j in zip(pair.bodies, R, p, strict=True):
        g = ev.poses(pair.system, state, body)
        np.testing.assert_allclose(g[:3, :3], R_j, atol=1e-13)  # rounding of 37 products
        np.testing.assert_allclose(g[:3, 3], p_j, atol=1e-13)


@pytest.mark.parametrize("seed", [1, 2])
def test_inverse_dynamics_with_a_free_head(pair, seed):
    state = random_state(pair, seed)
    V0, R0 = head_twist(state), state.g[:3, :3]
    expected = oracle.inverse(pair.eel, state.q, state.q_dot, state.q_ddot, V0, R0)
    found = ev.floating_inverse_dynamics(pair.system, state)
    A, C = oracle.dense_model(pair.eel, state.q, state.q_dot, V0, R0)
    bound = rounding(A[:6, :6], 6 + pair.system.n)
    assert bound < 1e-10  # the states are well conditioned, so that this says something
    assert gap(classical(state, found.eta_dot), expected.V0_dot) < bound
    # torques are small differences of what heavy links do: their rounding is that of the terms
    terms = np.abs(A) @ np.abs(np.concatenate([expected.V0_dot, state.q_ddot])) + np.abs(C)
    assert np.abs(found.efforts - expected.torques).max() < bound * terms[6:].max()


@pytest.mark.parametrize("seed", [3, 4])
def test_direct_dynamics_under_motors(pair, seed):
    state, rng = random_state(pair, seed), np.random.default_rng(seed)
    torques = rng.uniform(-1.0, 1.0, pair.system.n)
    V0, R0 = head_twist(state), state.g[:3, :3]
    expected = oracle.direct(pair.eel, state.q, state.q_dot, torques, V0, R0)
    found = ev.forward_dynamics(pair.system, state, dict(zip(pair.system.actuators, torques, strict=True)))
    bound = rounding(oracle.dense_model(pair.eel, state.q, state.q_dot, V0)[0], 6 + pair.system.n)
    assert bound < 1e-8
    assert gap(classical(state, found.eta_dot), expected.V0_dot) < bound
    assert gap(found.q_ddot, expected.qdd) < bound


def test_mass_matrix_and_bias_are_the_dense_model(pair):
    """Acceptance 3: A symmetric to 1e-12 and positive definite, A11 the composite inertia, the same C.

    With η̇ = (Ω̇; V̇) and the classical acceleration a = V̇ + Ω×V: M = Pᵀ A P, bias = Pᵀ (C + A (Ω×V; 0)).
    """
    state = random_state(pair, 5)
    V0 = head_twist(state)
    A, C = oracle.dense_model(pair.eel, state.q, state.q_dot, V0, state.g[:3, :3])
    n = pair.system.n
    P = np.eye(6 + n)
    P[:6, :6] = SWAP
    drift = np.zeros(6 + n)
    drift[:3] = np.cross(state.eta[:3], state.eta[3:])
    M, bias = ev.mass_matrix(pair.system, state), ev.bias_forces(pair.system, state)
    # rounding of sums over all links
    assert gap(M, P.T @ A @ P) < 1e-12
    assert gap(bias, P.T @ (C + A @ drift)) < 1e-12
    assert gap(M, M.T) < 1e-12
    assert np.linalg.eigvalsh(M)[0] > 0.0
    J, T = pair.eel.link_inertia.copy(), oracle.screw_transforms(pair.eel, state.q)
    for j in reversed(range(n)):
        J[j] += T[j].T @ J[j + 1] @ T[j]
    assert gap(M[:6, :6], SWAP @ J[0] @ SWAP) < 1e-12


def test_energy_and_momentum_of_links_and_rotors(pair):
    """Without water; momentum about the origin of the world, that of the reference at the head in its axes."""
    loads = [load for load in pair.system.loads if not isinstance(load, ev.Morison | ev.Buoyancy)]
    dry = ev.System(pair.system.mechanism, loads=loads)
    state = random_state(pair, 5)
    V0 = head_twist(state)
    expected = oracle.kinetic_energy(pair.eel, state.q, state.q_dot, V0)
    assert ev.energy(dry, state).kinetic == pytest.approx(expected, rel=1e-12)  # rounding
    at_head = SWAP @ oracle.momentum(pair.eel, state.q, state.q_dot, V0)
    assert gap(ev.momentum(dry, state), se3.coAd(state.g) @ at_head) < 1e-12


@pytest.mark.parametrize("seed", [6, 7, 8])
def test_there_and_back_with_36_joints_in_water(seed):
    """Acceptance 4: |Δq̈| ≤ 1e-9, |ΔV̇_0| ≤ 1e-10."""
    pair = mdh_eel()
    state = random_state(pair, seed)
    there = ev.floating_inverse_dynamics(pair.system, state)
    back = ev.forward_dynamics(pair.system, state, dict(zip(pair.system.actuators, there.efforts, strict=True)))
    assert np.abs(back.q_ddot - state.q_ddot).max() <= 1e-9
    assert np.abs(back.eta_dot - there.eta_dot).max() <= 1e-10


def test_momentum_and_energy_without_water():
    """Acceptance 5: constant to 1e-8 over 5 s, relative to the momentum of the links one by one and to the energy."""
    pair = mdh_eel(wet=False)
    rng = np.random.default_rng(9)
    state = pair.system.rest().with_(q_dot=0.1 * rng.normal(size=36), eta=0.1 * rng.normal(size=6))
    run = ev.simulate(pair.system, state, 5.0, 0.005, ev.RungeKutta4(), every=100)
    V = oracle.link_twists(pair.eel, state.q, state.q_dot, head_twist(state))
    linear = np.linalg.norm(np.einsum("jab,jb->ja", pair.eel.rigid_inertia, V)[:, :3], axis=1).sum()
    reach = HEAD + 12 * LINK
    momentum, energy = run["momentum"].values, run["energy/total"].values
    assert np.abs(momentum[:, 3:] - momentum[0, 3:]).max() < 1e-8 * linear
    assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < 1e-8 * linear * reach
    assert np.abs(energy - energy[0]).max() < 1e-8 * energy[0]
    assert energy[0] == pytest.approx(oracle.kinetic_energy(pair.eel, state.q, state.q_dot, head_twist(state)))


# By hand --------------------------------------------------------------------------------------------------------------


def test_coefficients_of_the_section():
    """Acceptance 6: C_lm2, C_lm3, C_am1; C_ld1, C_ld2, C_ld3, C_ad1, to half a unit of the last digit printed."""
    water = ev.Morison()
    for found, printed, digit in zip(water.added(*HALF_AXES), (25.45, 13.27, 5.90e-3), (1e-2, 1e-2, 1e-5)):
        assert found == pytest.approx(printed, abs=digit / 2.0)
    printed = ((1.217, 1e-3), (90.0, 1e-3), (65.0, 1e-3), (7.51e-3, 1e-5))
    for found, (value, digit) in zip(water.resistance(*HALF_AXES), printed):
        assert found == pytest.approx(value, abs=digit / 2.0)


@pytest.mark.parametrize(("axis", "coefficient"), [(1, 0), (2, 1)])
def test_lateral_push_on_the_straight_eel(axis, coefficient):
    """Acceptance 6: a = F / (m + C_lm L) to 1e-10 with all joints held straight, pushed at the middle."""
    pair = mdh_eel(drives=ev.Imposed)
    length, force = HEAD + 12 * LINK, np.zeros(3)
    force[axis] = 3.0
    moment = np.cross((length / 2.0, 0.0, 0.0), force)
    push = ev.PointWrench(pair.bodies[0], force=force, moment=moment)
    system = ev.System(pair.system.mechanism, pair.system.actuators, [*pair.system.loads, push])
    mass = 1000.0 * np.pi * np.prod(HALF_AXES) * length
    expected = np.zeros(6)
    expected[3 + axis] = 3.0 / (mass + ev.Morison().added(*HALF_AXES)[coefficient] * length)
    eta_dot = ev.forward_dynamics(system, system.rest()).eta_dot
    np.testing.assert_allclose(eta_dot, expected, atol=1e-10 * expected.max())


def one_link(stations: int) -> ev.System:
    link = eel_bodies(1)[-1]
    return ev.System(ev.Mechanism([ev.Floating("world", link)]), loads=[ev.Morison(stations=stations)])


def test_drag_of_a_link_that_moves_sideways():
    """Acceptance 7: 90 kg/m² · 0.14 m · (1 m/s)² = 12.6 N, and 0.07 m · 12.6 N about the origin behind it."""
    system = one_link(4)
    push = ev.bias_forces(system, system.rest().with_(eta=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0)))
    np.testing.assert_allclose(push, (0.0, -0.07 * 12.6, 0.0, 12.6, 0.0, 0.0), atol=1e-13)  # rounding


def test_quadrature_of_drag():
    """Acceptance 7: 4 and 16 stations differ by less than 1e-3 while the normal velocity keeps its direction.

    In a plane the integrand is then a polynomial of degree 3, which both integrate exactly; where the velocity changes
    its sign along the link it has a kink, and 4 points see no more than its place among them.
    """
    few, many = one_link(4), one_link(16)

    def difference(eta: tuple[float, ...]) -> float:
        state = few.rest().with_(eta=eta)
        return gap(ev.bias_forces(few, state), ev.bias_forces(many, state))

    assert difference((0.0, 3.0, 0.0, 1.0, 0.0, 0.2)) < 1e-13
    assert difference((1.0, 3.0, -4.0, 1.0, 0.7, 0.2)) < 1e-3
    assert difference((0.0, 20.0, 0.0, 1.0, 0.0, 0.0)) > 1e-3


def test_stations_do_not_change_the_added_mass():
    np.testing.assert_allclose(
        ev.mass_matrix(one_link(2), one_link(2).rest()), ev.mass_matrix(one_link(9), one_link(9).rest()), atol=1e-14
    )


# Spherical joints -----------------------------------------------------------------------------------------------------


def test_spherical_joints_and_triples_of_revolutes_swim_alike():
    """The same motion of the bodies in water: the same acceleration of the head, and the same power of each joint."""
    count = 5
    pair = mdh_eel(count)
    eel, state = pair.eel, random_state(pair, 11)
    rng = np.random.default_rng(11)
    state = state.with_(q=rng.uniform(-0.5, 0.5, 3 * count))
    V0 = head_twist(state)
    reference = oracle.inverse(eel, state.q, state.q_dot, state.q_ddot, V0)
    R, _ = oracle.link_poses(eel, state.q)
    R_rest, _ = oracle.link_poses(eel, np.zeros(3 * count))
    omega = oracle.link_twists(eel, state.q, state.q_dot, V0)[:, 3:]
    omega_dot = oracle.link_accelerations(eel, state.q, state.q_dot, state.q_ddot, V0, reference.V0_dot)[:, 3:]

    bodies = eel_bodies(count)[::3]
    joints, q, q_dot, q_ddot = [], [], [], []
    for i in range(count):
        a, b = 3 * i, 3 * i + 3
        at_rest = se3.pose(R_rest[a].T @ R_rest[b], (HEAD, 0.0, 0.0) if i == 0 else np.zeros(3))
        joints.append(
            ev.Spherical(
                ev.Frame(bodies[i], pose=at_rest), ev.Frame(bodies[i + 1], pose=(0.0, 0.0, -LINK)), name=f"ball-{i}"
            )
        )
        turn = R[b].T @ R[a]
        spin = omega[b] - turn @ omega[a]
        spin_dot = omega_dot[b] - turn @ omega_dot[a] + np.cross(spin, turn @ omega[a])
        theta = so3.log(at_rest[:3, :3].T @ R[a].T @ R[b])
        theta_dot = so3.dexp_inv(theta) @ spin
        q.append(theta)
        q_dot.append(theta_dot)
        q_ddot.append(so3.dexp_inv(theta) @ (spin_dot - so3.d_dexp(theta, theta_dot) @ theta_dot))
    system = ev.System(ev.Mechanism([ev.Floating("world", bodies[0]), *joints]), loads=[ev.Morison()])
    assert tuple(system.blocks) == tuple(joints)
    balls = system.rest().with_(
        g=state.g, eta=state.eta, q=np.concatenate(q), q_dot=np.concatenate(q_dot), q_ddot=np.concatenate(q_ddot)
    )
    ours, triples = ev.floating_inverse_dynamics(system, balls), ev.floating_inverse_dynamics(pair.system, state)
    bound = rounding(ev.mass_matrix(system, balls)[:6, :6], 6 + system.n)
    assert gap(ours.eta_dot, triples.eta_dot) < bound
    power = (ours.efforts * balls.q_dot).reshape(count, 3).sum(axis=1)
    expected = (triples.efforts * state.q_dot).reshape(count, 3).sum(axis=1)
    # again the rounding of the terms, of which there are as many as joints
    terms = np.abs(ev.mass_matrix(system, balls)) @ np.abs(np.concatenate([ours.eta_dot, balls.q_ddot]))
    assert np.abs(power - expected).max() < bound * terms[6:] @ np.abs(balls.q_dot)


# Many short links are a rod -------------------------------------------------------------------------------------------


class Bending:
    """A planar shape in time, K_z(s, t) = Σ_k q_k(t) P_k(2s/L - 1), and its heading ψ(s) = ∫₀ˢ K_z."""

    length = 1.2
    functions = 3

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.q, self.q_dot, self.q_ddot = rng.uniform(-1.0, 1.0, (3, self.functions)) * [[1.0], [2.0], [4.0]]

    def heading(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        def integral(coefficients: np.ndarray) -> np.ndarray:
            series = np.polynomial.Legendre(coefficients, domain=[0.0, self.length]).integ(lbnd=0.0)
            return series(s)

        return integral(self.q), integral(self.q_dot), integral(self.q_ddot)


def test_many_short_links_in_vacuum_are_a_rod():
    """Acceptance 14: acceleration of the nose, and joint torques against the bending moment of the rod.

    A link has the heading of the rod at its middle, so that a chain is the rod to second order; the bending moment is
    compared by its integrals with the functions of the rod, ∫ P_k M ds ≈ Σ_i P_k(s_i) τ_i L/N.
    """
    shape, base = Bending(), np.array([0.0, 0.0, 0.7, 0.4, -0.3, 0.0])
    L, axes = shape.length, (0.02, 0.03)
    rod = ev.Rod(L, ev.Ellipse(*axes), ev.Material(1e3, poisson=0.3, density=800.0), ev.Legendre.planar(3), nodes=24)
    system = ev.System(ev.Mechanism.free(rod))
    state = system.rest().with_(q=shape.q, q_dot=shape.q_dot, q_ddot=shape.q_ddot, eta=base)
    smooth = ev.floating_inverse_dynamics(system, state)
    elastic = ev.inverse_dynamics(system, system.rest().with_(q=shape.q))[6:]
    moments = smooth.efforts - elastic
    nose = smooth.eta_dot[3:] + np.cross(base[:3], base[3:])

    errors = []
    for N in (12, 24, 48, 96):
        h = L / N
        links = [
            ev.RigidBody.elliptic_cylinder(axes, h, density=800.0, centre=(h / 2.0, 0.0, 0.0), name=f"link-{i}")
            for i in range(N)
        ]
        joints = [
            ev.Revolute(ev.Frame(links[i], pose=(h, 0.0, 0.0)), links[i + 1], axis="z", name=f"joint-{i}")
            for i in range(N - 1)
        ]
        chain = ev.System(ev.Mechanism([ev.Floating("world", links[0]), *joints]))
        heading, spin, turn = shape.heading(h * (np.arange(N) + 0.5))
        g = np.eye(4)
        g[:3, :3] = so3.exp((0.0, 0.0, heading[0]))
        eta = np.concatenate([base[:3] + np.array([0.0, 0.0, spin[0]]), g[:3, :3].T @ base[3:]])
        motion = chain.rest().with_(g=g, eta=eta, q=np.diff(heading), q_dot=np.diff(spin), q_ddot=np.diff(turn))
        found = ev.floating_inverse_dynamics(chain, motion)
        at_nose = g[:3, :3] @ (found.eta_dot[3:] + np.cross(eta[:3], eta[3:]))
        P = np.polynomial.legendre.legvander(2.0 * np.arange(1, N) / N - 1.0, shape.functions - 1)
        errors.append(
            [
                gap(at_nose, nose),
                abs(found.eta_dot[2] - turn[0] - smooth.eta_dot[2]) / abs(smooth.eta_dot[2]),
                gap(h * P.T @ found.efforts, moments),
            ]
        )
    orders = -np.polyfit(np.arange(4), np.log2(errors), 1)[0]
    assert np.all(orders > 1.8), orders
    # second order from the first difference on: what is left at N = 96 is below 1/64 of that at N = 12, with a margin
    assert np.all(np.array(errors[-1]) < np.array(errors[0]) / 32.0)


# What is not determined is said ---------------------------------------------------------------------------------------


def point_mass() -> ev.System:
    return ev.System(ev.Mechanism([ev.Floating("world", ev.RigidBody.point(1.0, name="bob"))]))


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda system: ev.forward_dynamics(system, system.rest()), id="forward"),
        pytest.param(lambda system: ev.floating_inverse_dynamics(system, system.rest()), id="inverse"),
        pytest.param(lambda system: ev.simulate(system, duration=0.1, method=ev.RungeKutta4()), id="explicit"),
        pytest.param(
            lambda system: ev.simulate(system, duration=0.1, method=ev.RungeKutta4(), start="given"), id="given"
        ),
        pytest.param(lambda system: ev.simulate(system, duration=0.1), id="implicit"),
    ],
)
def test_a_floating_point_mass_has_no_inertia_in_rotation(ask):
    with pytest.raises(ev.BadInput, match="motion of base/rotation_x, base/rotation_y, base/rotation_z has no inertia"):
        ask(point_mass())


def test_an_inverse_that_is_not_determined_asks_for_inertia():
    with pytest.raises(ev.BadInput, match=r"composite inertia of the robot is singular.*about all axes"):
        ev.floating_inverse_dynamics(point_mass(), point_mass().rest())


def test_a_held_base_has_no_floating_inverse_dynamics():
    bob = ev.RigidBody.box((0.1, 0.1, 0.1), mass=1.0)
    system = ev.System(ev.Mechanism([ev.Revolute("world", bob)]))
    with pytest.raises(ev.BadInput, match="this base is held; use inverse_dynamics"):
        ev.floating_inverse_dynamics(system, system.rest())


def test_loops_and_feedback_have_no_floating_inverse_dynamics():
    a, b = (ev.RigidBody.box((0.1, 0.1, 0.1), mass=1.0, name=name) for name in "ab")
    tree = [ev.Floating("world", a), ev.Revolute(a, b, axis="z", name="hinge")]
    law = ev.JointFeedback([tree[1]], lambda t, q, q_dot: -q)
    loop = ev.Spherical((a, (0.0, 0.0, 0.1)), (b, (0.0, 0.0, 0.1)), name="again", cut=True)
    refused = pytest.raises(ev.BadInput, match=r"for trees without closures and feedback; use forward_dynamics")
    closed, fed = ev.System(ev.Mechanism([*tree, loop])), ev.System(ev.Mechanism(tree), loads=[law])
    with pytest.warns(ev.ElverWarning, match="redundant"), refused:
        ev.floating_inverse_dynamics(closed, closed.rest())
    with refused:
        ev.floating_inverse_dynamics(fed, fed.rest())
