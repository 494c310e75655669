"""Water: strips against closed forms, Galileo, what drag may do, momentum of body and water, rods beside links."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.polynomial import Legendre
from scipy.integrate import simpson, solve_bvp

import elver as ev
from elver import io
from elver.lie import se3, so3

EPS = np.finfo(float).eps
AXES = (0.03, 0.05)  # m, half axes along y and z
FLESH = ev.Material(young=5e5, poisson=0.4, density=1000.0)
STREAM = (0.4, -0.7, 0.3)  # m/s


def body(length: float = 0.4, name: str = "head", axes=AXES, density: float = 1000.0, **more) -> ev.RigidBody:
    """An elliptic cylinder along x from its origin on."""
    more = {"centre": (length / 2.0, 0.0, 0.0), **more}
    return ev.RigidBody.elliptic_cylinder(axes, length, density=density, name=name, **more)


def rod(length: float = 0.5, name: str = "rod", basis=None, axes=AXES, **more) -> ev.Rod:
    return ev.Rod(length, ev.Ellipse(*axes), FLESH, basis or ev.Legendre(bending=2, torsion=0), name=name, **more)


def start_of(part):
    """The end that x points away from."""
    return (part, "base") if isinstance(part, ev.Rod) else part


def floating(part, *loads) -> ev.System:
    return ev.System(ev.Mechanism([ev.Floating("world", start_of(part))]), loads=loads)


def fish(seed: int, water: Callable[..., object], side: bool = True) -> ev.System:
    """A head, a link on a ball joint, a rod behind it that bends; perhaps a fin, a rod that also twists and stretches.

    ``water`` makes the fluid of the parts from nose to tail, and of the fin.
    """
    rng = np.random.default_rng(seed)
    head, link = body(rng.uniform(0.2, 0.4)), body(rng.uniform(0.2, 0.4), "link", axes=(0.04, 0.02), density=700.0)
    tail = rod(rng.uniform(0.3, 0.6), "tail")
    joints = [
        ev.Floating("world", head),
        ev.Spherical((head, (0.3, 0.0, 0.0)), link, name="neck"),
        ev.Revolute((link, (0.3, 0.0, 0.0)), (tail, "base"), axis=str(rng.choice(["x", "y", "z"])), name="hip"),
    ]
    parts = [head, link, tail]
    if side:
        fin = ev.Rod(0.3, ev.Ellipse(0.02, 0.01), FLESH, ev.Legendre.reissner(1), name="fin")
        joints.append(
            ev.Universal(ev.Frame(head, pose=se3.exp(0.5 * rng.normal(size=6))), (fin, "base"), name="shoulder")
        )
        parts.append(fin)
    return ev.System(ev.Mechanism(joints), loads=[water(parts)])


def motion(system: ev.System, seed: int) -> ev.State:
    rng, n = np.random.default_rng(seed), system.n
    state = system.rest().with_(**{name: 0.5 * rng.normal(size=n) for name in ("q", "q_dot", "q_ddot")})
    if not system.free:
        return state
    g = se3.exp(rng.normal(size=6))
    return state.with_(g=g, eta=rng.normal(size=6), eta_dot=rng.normal(size=6))


def classical(state: ev.State) -> np.ndarray:
    """Acceleration of the base, (Ω̇; V̇ + Ω×V)."""
    return state.eta_dot + np.concatenate([np.zeros(3), np.cross(state.eta[:3], state.eta[3:])])


def rounding(system: ev.System, state: ev.State) -> float:
    """Relative error of accelerations: n ε cond(M), with M in units of equal inertia."""
    M = ev.mass_matrix(system, state)
    unit = 1.0 / np.sqrt(np.diag(M))
    return len(M) * EPS * np.linalg.cond(unit[:, None] * M * unit)


# Closed forms -------------------------------------------------------------------------------------------------


def added_inertia(length: float, water: ev.Morison | ev.Lighthill, axes=AXES) -> np.ndarray:
    """Khalil 2007, eq. 56-58, angular first, at the end from which x points along the body."""
    C_y, C_z, roll = water.added(*axes)
    m = np.diag([0.0, C_y, C_z]) * length
    I = np.diag([roll * length, C_z * length**3 / 12.0, C_y * length**3 / 12.0])
    S = so3.hat([length / 2.0, 0.0, 0.0])
    return np.block([[I - S @ m @ S, S @ m], [-m @ S, m]])


@pytest.mark.parametrize("water", [ev.Morison, ev.Lighthill])
@pytest.mark.parametrize("make", [body, rod])
def test_added_mass_of_a_straight_body(make, water):
    part = make(0.4)
    fluid = water([part], fluid_density=900.0, added_mass=(0.8, 1.1, 0.9))
    wet, dry = floating(part, fluid), floating(part)
    added = ev.mass_matrix(wet, wet.rest())[:6, :6] - ev.mass_matrix(dry, dry.rest())[:6, :6]
    np.testing.assert_allclose(added, added_inertia(0.4, fluid), rtol=0.0, atol=1e-13)  # rounding of entries up to 7


@pytest.mark.parametrize("make", [body, rod])
def test_drag_of_a_straight_body(make):
    """Per length d |r| r: along, across and rolling, and turning about its end, with r = ω s."""
    L, part = 0.4, make(0.4)
    water = ev.Morison([part], added_mass=(0.0, 0.0, 0.0), drag=(0.2, 0.9, 1.1, 0.7))
    system = floating(part, water)
    d_x, d_y, d_z, d_roll = water.resistance(*AXES)

    def wrench(*eta: float) -> np.ndarray:
        return ev.bias_forces(system, system.rest().with_(eta=eta))[:6]

    same = {"rtol": 1e-12, "atol": 1e-12}  # rounding: the integrands are polynomials
    np.testing.assert_allclose(wrench(0, 0, 0, -2.0, 0, 0), (0, 0, 0, -4.0 * d_x * L, 0, 0), **same)
    np.testing.assert_allclose(wrench(0, 0, 0, 0, 2.0, 0), (0, 0, 2.0 * d_y * L**2, 0, 4.0 * d_y * L, 0), **same)
    np.testing.assert_allclose(wrench(0, 0, 0, 0, 0, 2.0), (0, -2.0 * d_z * L**2, 0, 0, 0, 4.0 * d_z * L), **same)
    np.testing.assert_allclose(wrench(-3.0, 0, 0, 0, 0, 0), (-9.0 * d_roll * L, 0, 0, 0, 0, 0), **same)
    turning = wrench(0, 0, 2.0, 0, 0, 0)
    np.testing.assert_allclose(turning[[2, 4]], (4.0 * d_y * L**4 / 4.0, 4.0 * d_y * L**3 / 3.0), **same)
    # oblique: the speed is that across the body
    oblique = wrench(0, 0, 0, 0, 3.0, 4.0)
    np.testing.assert_allclose(oblique[4:], (5.0 * 3.0 * d_y * L, 5.0 * 4.0 * d_z * L), **same)


@pytest.mark.parametrize("make", [body, rod])
def test_morisons_added_mass_feels_the_acceleration_of_the_slice(make):
    """At constant twist a slice at s has a = ω×(v + ω×s e_x), and gives m_a a to the water; no drag."""
    L, part = 0.4, make(0.4)
    water = ev.Morison([part], drag=(0.0, 0.0, 0.0, 0.0))
    wet, dry = floating(part, water), floating(part)
    eta = np.random.default_rng(1).normal(size=6)
    state = wet.rest().with_(eta=eta)
    found = ev.bias_forces(wet, state)[:6] - ev.bias_forces(dry, state)[:6]
    C_y, C_z, _ = water.added(*AXES)
    x, w = np.polynomial.legendre.leggauss(4)
    expected = np.zeros(6)
    for s, ds in zip(0.5 * L * (1.0 + x), 0.5 * L * w, strict=True):
        arm = np.array([s, 0.0, 0.0])
        force = ds * np.diag([0.0, C_y, C_z]) @ np.cross(eta[:3], eta[3:] + np.cross(eta[:3], arm))
        expected += np.concatenate([np.cross(arm, force), force])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)  # rounding of entries of order 10


@pytest.mark.parametrize("make", [body, rod])
def test_lighthills_straight_body(make):
    """Kirchhoff's wrench of the water carried along, less what leaves at the tail.

    M_a η' + coad(η) M_a η - coAd(g) G,  G = V_x 𝓜_a η - (0; T e_x) at the tail
    """
    L, part = 0.4, make(0.4)
    water = ev.Lighthill([part])
    wet, dry = floating(part, water), floating(part)
    eta = np.random.default_rng(2).normal(size=6)
    state = wet.rest().with_(eta=eta)
    found = ev.bias_forces(wet, state)[:6] - ev.bias_forces(dry, state)[:6]
    expected = se3.coad(eta) @ added_inertia(L, water) @ eta - shed(water, se3.pose(np.eye(3), (L, 0.0, 0.0)), eta)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)  # rounding of entries of order 10


def shed(water: ev.Lighthill, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """coAd(g) G: the wrench on a body whose tail has the pose g (body axes), at the twist ``eta`` of the body."""
    C_y, C_z, roll = water.added(*AXES)
    at_tail = se3.Ad(se3.inverse(g)) @ eta
    M = np.diag([roll, 0.0, 0.0, 0.0, C_y, C_z])
    G = at_tail[3] * M @ at_tail
    G[3] -= 0.5 * at_tail @ M @ at_tail
    return se3.coAd(g) @ G


def test_drag_and_added_mass_of_a_tapered_rod():
    """r(s) from 40 to 20 mm: ∫ ρ r ds v² across it, and ∫ ρ π r² ds of added mass."""
    taper = ev.Rod(0.5, ev.Circle(ev.Taper(0.04, 0.02)), FLESH, ev.Legendre.planar(1))
    system, dry = floating(taper, ev.Morison()), floating(taper)
    push = ev.bias_forces(system, system.rest().with_(eta=(0.0, 0.0, 0.0, 0.0, 2.0, 0.0)))
    assert push[4] == pytest.approx(4.0 * 1000.0 * 0.03 * 0.5, rel=1e-13)  # rounding
    added = ev.mass_matrix(system, system.rest())[4, 4] - ev.mass_matrix(dry, dry.rest())[4, 4]
    squares = (0.04**2 + 0.04 * 0.02 + 0.02**2) / 3.0
    assert added == pytest.approx(1000.0 * np.pi * squares * 0.5, rel=1e-13)


# Galileo ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", ["Morison", "Lighthill"])
def test_drifting_with_the_stream_is_resting_in_still_water(law, seed):
    """A system that drifts with the flow has the same accelerations, and needs the same forces, as in still water."""

    def water(flow):
        if law == "Morison":
            return lambda parts: ev.Morison(parts, flow=flow, drag=(0.1, 1.0, 0.8, 1.2))
        return lambda parts: ev.Lighthill(parts, flow=flow)

    still = fish(seed, water((0.0, 0.0, 0.0)), side=law == "Morison")
    stream = fish(seed, water(STREAM), side=law == "Morison")
    state = motion(still, seed)
    drift = np.concatenate([np.zeros(3), state.g[:3, :3].T @ STREAM])
    # the same acceleration V̇ + Ω×V of the base, in other components
    turning = np.concatenate([np.zeros(3), np.cross(state.eta[:3], drift[3:])])
    drifting = state.with_(eta=state.eta + drift, eta_dot=state.eta_dot - turning)
    needed, expected = ev.inverse_dynamics(stream, drifting), ev.inverse_dynamics(still, state)
    # rounding of sums over the robot: of what the water does, and of what else is in the balance
    wet = np.abs(expected - ev.inverse_dynamics(ev.System(still.mechanism), state)).max()
    assert wet > 1.0
    assert np.abs(needed - expected).max() < still.n * EPS * (10.0 * wet + np.abs(expected).max())
    moving, resting = ev.forward_dynamics(stream, drifting), ev.forward_dynamics(still, state)
    bound = rounding(still, state)
    assert bound < 1e-9
    assert np.abs(moving.q_ddot - resting.q_ddot).max() < bound * np.abs(resting.q_ddot).max()
    assert np.abs(classical(moving) - classical(resting)).max() < bound * np.abs(classical(resting)).max()


def test_a_run_in_a_stream_is_the_run_in_still_water_seen_from_the_bank():
    """Steps of Runge and Kutta on SO(3)×R³ are invariant too: the two runs differ by p = U t, to rounding."""
    twist = np.array([0.5, -0.4, 0.8, 0.3, -0.2, 0.4])
    part = body()
    still, stream = floating(part, ev.Morison()), floating(part, ev.Morison(flow=STREAM))
    run = {"duration": 4.0, "step": 0.02, "method": ev.RungeKutta4()}
    a = ev.simulate(still, still.rest().with_(eta=twist), **run)
    b = ev.simulate(stream, stream.rest().with_(eta=twist + np.array([0.0, 0.0, 0.0, *STREAM])), **run)
    drift = a["time"].values[:, None] * STREAM
    np.testing.assert_allclose(
        b["head/base/position"].values, a["head/base/position"].values + drift, rtol=0.0, atol=1e-12
    )
    np.testing.assert_allclose(
        b["head/base/orientation"].values, a["head/base/orientation"].values, rtol=0.0, atol=1e-12
    )


# Where a rod is held ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["middle", "tip"])
@pytest.mark.parametrize("law", ["Morison", "Lighthill"])
def test_it_does_not_matter_by_which_section_a_rod_floats(law, place):
    """The same motion described from its base, from a section in between and from its tip: the same accelerations.

    The twist of the section comes from differences of its poses, of order h⁴ = 1e-12 with a rounding of ε/h = 2e-13.
    """
    tail = rod(0.5, basis=ev.Legendre(bending=3, torsion=0), nodes=30)
    at = {"middle": 0.2, "tip": 0.5}[place]

    def system(s: float) -> ev.System:
        fluid = getattr(ev, law)([tail], flow=STREAM)
        marked = ev.PointWrench(tail, at=at, force=(1.0, 2.0, 3.0))  # also makes a node at the section
        mechanism = ev.Mechanism([ev.Floating("world", (tail, s))])
        return ev.System(mechanism, loads=[fluid, ev.Gravity(), ev.Buoyancy(fluid_density=900.0), marked])

    by_base, other = system(0.0), system(at)
    state = motion(by_base, 6)
    node = int(np.argmin(np.abs(ev.nodes(by_base) - at)))
    assert ev.nodes(by_base)[node] == pytest.approx(at, abs=1e-12)
    state = state.with_(q_ddot=np.zeros(by_base.n), eta_dot=np.zeros(6))
    g = ev.poses(by_base, state)[node]
    eta = se3.vee(se3.inverse(g) @ rate_of(lambda x: ev.poses(by_base, x)[node], state, 1e-3))
    same = other.rest().with_(q=state.q, q_dot=state.q_dot, g=g, eta=eta)
    np.testing.assert_allclose(ev.poses(other, same)[:, :3, 3], ev.poses(by_base, state)[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(ev.momentum(other, same), ev.momentum(by_base, state), rtol=0.0, atol=1e-9)
    found, expected = ev.forward_dynamics(other, same).q_ddot, ev.forward_dynamics(by_base, state).q_ddot
    # 1e-11 in the twist, magnified by as much as accelerations depend on it, and their own rounding
    slope = ev.tangent_forward_dynamics(by_base, state).dq_ddot_dq_dot[6:, :6]
    bound = 1e-11 * np.abs(slope).sum(axis=1).max() + rounding(by_base, state) * np.abs(expected).max()
    assert bound < 1e-8 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=bound)


# Coming to rest -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("added_mass", [(1.0, 1.0, 1.0), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_a_body_comes_to_rest_in_still_water(seed, added_mass):
    """η' is quadratic in η, so that speeds fall as 1/t once the start is forgotten, and the energy as 1/t².

    Seen over a decade of time: the energy also varies while the body turns its sides to the water, by less than 2.
    """
    system = floating(body(), ev.Morison(drag=(1.0, 1.0, 1.0, 1.0), added_mass=added_mass))
    eta = np.random.default_rng(seed).normal(size=6)
    # 2 d |v| / m is about 70/s at the start, and h of that must stay below 2.8
    run = ev.simulate(system, system.rest().with_(eta=eta), 500.0, 0.02, ev.RungeKutta4(), every=2500)
    energy = run["energy/kinetic"].values
    assert energy[-1] < 1e-3 * energy[0]
    assert np.log10(energy[1] / energy[10]) == pytest.approx(2.0, abs=np.log10(2.0))


def test_a_body_drifts_away_with_the_stream():
    """From rest, the velocity of the body against the stream falls as 1/t: after twice the time half is left."""
    system = floating(body(), ev.Morison(drag=(1.0, 1.0, 1.0, 1.0), flow=STREAM))
    run = ev.simulate(system, system.rest(), 400.0, 0.02, ev.RungeKutta4(), every=10000)
    R = so3.from_quaternion(run["head/base/orientation"].values)
    twist = run["head/base/twist"].values
    # velocity of the mass centre
    velocity = np.einsum("tij,tj->ti", R, twist[:, 3:] + np.cross(twist[:, :3], (0.2, 0.0, 0.0)))
    left = np.linalg.norm(velocity - STREAM, axis=1)
    assert left[0] == pytest.approx(np.linalg.norm(STREAM), rel=1e-14)
    assert left[2] < 0.02 * left[0]
    assert left[1] / left[2] == pytest.approx(2.0, rel=0.1)


def power_of_drag(wet: ev.System, dry: ev.System, state: ev.State) -> float:
    """q' · (bias with drag - bias without): what the robot gives to the water [W]."""
    rates = np.concatenate([state.eta, state.q_dot])
    return float(rates @ (ev.bias_forces(wet, state) - ev.bias_forces(dry, state)))


def pure_drag(parts) -> ev.Morison:
    return ev.Morison(parts, added_mass=(0.0, 0.0, 0.0), drag=(0.3, 1.0, 0.8, 1.2))


def test_drag_takes_energy_in_every_motion():
    for seed in range(20):
        wet = fish(seed, pure_drag)
        dry = ev.System(wet.mechanism)
        for k in range(4):
            assert power_of_drag(wet, dry, motion(wet, 100 * seed + k)) > 0.0


@pytest.mark.parametrize("seed", range(2))
def test_energy_falls_from_step_to_step_and_all_of_it_goes_to_the_water(seed):
    """E(0) - E(t) = ∫ P dt; the integral by Simpson, its truncation seen by leaving out every second step."""
    system = fish(seed, pure_drag, side=False)
    dry = ev.System(system.mechanism)
    state = motion(system, seed)
    run = ev.simulate(system, state, 0.4, 5e-4, ev.RungeKutta4())
    energy, t = run["energy/total"].values, run["time"].values
    assert np.all(np.diff(energy) < 0.0)
    power = np.array([power_of_drag(system, dry, ev.state_at(system, run, time)) for time in t[::2]])
    given, coarse = simpson(power, x=t[::2]), simpson(power[::2], x=t[::4])
    assert np.all(power > 0.0)
    assert abs(coarse - given) < 0.01 * given
    assert abs(energy[0] - energy[-1] - given) < abs(coarse - given)


# A rod in a current -------------------------------------------------------------------------------------------


def elastica_in_a_current(L: float, EI: float, d: float, flow: np.ndarray):
    """(x, y, θ, M, N_x, N_y) of a planar inextensible rod clamped at s = 0 with drag d |u·n| u·n along its normal n.

    θ' = M/EI,  M' = -(t × N),  N' = -d |u·n| (u·n) n;  M = N = 0 at the tip
    """

    def slope(s, y):
        theta, M, N = y[2], y[3], y[4:]
        t, n = np.array([np.cos(theta), np.sin(theta)]), np.array([-np.sin(theta), np.cos(theta)])
        across = flow @ n
        return np.stack([*t, M / EI, -(t[0] * N[1] - t[1] * N[0]), *(-d * np.abs(across) * across * n)])

    def ends(a, b):
        return np.concatenate([a[:3], b[3:]])

    s = np.linspace(0.0, L, 41)
    return solve_bvp(slope, ends, s, np.zeros((6, s.size)), tol=1e-10, max_nodes=20000)


def test_a_clamped_rod_in_a_current_bends_as_the_elastica():
    L, r, flow = 0.4, 5e-3, np.array([0.1, 0.5])
    strip = ev.Rod(L, ev.Circle(r), ev.Material(2e7, poisson=0.3, density=1000.0), ev.Legendre.planar(12), nodes=60)
    water = ev.Morison([strip], drag=(0.0, 1.0, 1.0, 0.0), flow=(*flow, 0.0))
    system = ev.System(ev.Mechanism.clamped(strip), loads=[water])
    expected = elastica_in_a_current(L, 2e7 * np.pi * r**4 / 4.0, 1000.0 * r, flow)
    assert expected.success
    g = ev.poses(system, ev.equilibrium(system).state)
    y = expected.sol(ev.nodes(system))
    assert y[2, -1] > 0.5  # far beyond small deflections
    # The boundary value problem is solved to 1e-10 relative to rates, which are of order 1 for (x, y), 10 for θ; basis,
    # quadrature and the sixth order of the poses between 60 nodes are beyond that.
    np.testing.assert_allclose(g[:, :2, 3], y[:2].T, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(np.arctan2(g[:, 1, 0], g[:, 0, 0]), y[2], rtol=0.0, atol=1e-8)


def test_still_water_does_not_bend_a_rod():
    strip = rod(basis=ev.Legendre.kirchhoff(2))
    system = ev.System(ev.Mechanism.clamped(strip), loads=[ev.Morison()])
    assert not ev.equilibrium(system).state.q.any()


# Lighthill ----------------------------------------------------------------------------------------------------


def along(state: ev.State, t: float) -> ev.State:
    """The motion with these rates, a moment later."""
    x, x_dot = state.eta * t + 0.5 * state.eta_dot * t**2, state.eta + state.eta_dot * t
    return state.with_(
        g=state.g @ se3.exp(x),
        eta=se3.dexp(x) @ x_dot,
        q=state.q + state.q_dot * t + 0.5 * state.q_ddot * t**2,
        q_dot=state.q_dot + state.q_ddot * t,
    )


def swimmer(heads: int) -> tuple[ev.System, ev.Lighthill, ev.Rod]:
    """Bodies on ball joints, and a rod behind them."""
    tail = rod(0.5, basis=ev.Legendre(bending=3, torsion=0), nodes=40)
    parts = [*(body(0.2, f"body-{k}") for k in range(heads)), tail]
    joints = [ev.Floating("world", start_of(parts[0]))]
    for k in range(heads):
        joints.append(ev.Spherical((parts[k], (0.2, 0.0, 0.0)), start_of(parts[k + 1]), name=f"ball-{k}"))
    water = ev.Lighthill(parts)
    return ev.System(ev.Mechanism(joints), loads=[water]), water, tail


def rate_of(function: Callable[[ev.State], np.ndarray], state: ev.State, h: float) -> np.ndarray:
    """Rate along the motion by five points, with a truncation of order h⁴ and a rounding of order ε/h."""
    f = [function(along(state, k * h)) for k in (-2, -1, 1, 2)]
    return (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * h)


@pytest.mark.parametrize("heads", [0, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_momentum_and_energy_of_body_and_water_change_by_what_the_tail_sheds(heads, seed):
    """d/dt (momentum) = coAd(g_tail) G in world axes, and d/dt (energy) = G · η_tail = V_x T.

    The base rows of the balance are in the first, those of joints and bending in the second.
    """
    system, water, tail = swimmer(heads)
    state = ev.forward_dynamics(system, motion(system, seed))
    # accelerations of the strains are large: a step in which they change little
    h = 1e-3 / max(1.0, np.abs(state.q_ddot).max() ** 0.5)
    g = ev.poses(system, state, tail)[-1]
    eta = se3.vee(se3.inverse(g) @ rate_of(lambda at: ev.poses(system, at, tail)[-1], state, h))
    G = shed(water, np.eye(4), eta)
    found = rate_of(lambda at: ev.momentum(system, at), state, h)
    expected = se3.coAd(g) @ G
    assert np.abs(found - expected).max() < 1e-7 * np.abs(expected).max()
    power = rate_of(lambda at: np.array(ev.energy(system, at).total), state, h)
    C_y, C_z, roll = water.added(*AXES)
    T = 0.5 * (C_y * eta[4] ** 2 + C_z * eta[5] ** 2 + roll * eta[0] ** 2)
    assert eta @ G == pytest.approx(eta[3] * T, rel=1e-12)
    assert power == pytest.approx(eta @ G, rel=1e-7)


def test_lighthill_without_a_tail_would_keep_the_momentum():
    """With no added mass at all nothing is shed."""
    tail = rod()
    system = floating(tail, ev.Lighthill([tail], added_mass=(0.0, 0.0, 0.0)))
    dry = floating(tail)
    state = motion(system, 3)
    np.testing.assert_array_equal(ev.inverse_dynamics(system, state), ev.inverse_dynamics(dry, state))


# A rod held stiff is a body -----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["Morison", "Lighthill"])
def test_a_rod_held_straight_moves_as_a_rigid_body_of_its_shape(law):
    """The normal velocity keeps its direction, so that integrands are smooth: 20 points are exact to rounding."""
    stiff, solid = rod(0.6, nodes=20), body(0.6)
    water = {
        "Morison": lambda part: ev.Morison([part], stations=20, drag=(0.2, 1.0, 0.8, 1.1), flow=(0.1, 0.2, 0.0)),
        "Lighthill": lambda part: ev.Lighthill([part], flow=(0.1, 0.2, 0.0)),
    }[law]
    held = ev.System(ev.Mechanism.free(stiff), ev.Imposed.all(stiff), [water(stiff)])
    rigid = floating(solid, water(solid))
    rng = np.random.default_rng(4)
    for _ in range(5):
        eta = np.concatenate([0.5 * rng.normal(size=3), rng.normal(size=1), rng.uniform(1.0, 2.0, 2)])
        g = se3.exp(0.3 * rng.normal(size=6))
        one = ev.forward_dynamics(held, held.rest().with_(eta=eta, g=g)).eta_dot
        two = ev.forward_dynamics(rigid, rigid.rest().with_(eta=eta, g=g)).eta_dot
        assert np.abs(one - two).max() < 1e-11 * np.abs(two).max()
    assert stiff.mass == pytest.approx(solid.mass, rel=1e-14)


# Weight -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_body_as_dense_as_the_water_stays_where_it_is(axis):
    """Exactly: added mass has no weight, and what is left of the weight is zero."""
    part = body(axis=axis, centre=(0.1, 0.2, -0.3))
    system = floating(part, ev.Gravity((1.0, 2.0, -9.0)), ev.Buoyancy(), ev.Morison())
    state = system.rest().with_(g=se3.exp([0.3, -0.5, 0.8, 1.0, 2.0, 3.0]))
    assert not ev.forward_dynamics(system, state).eta_dot.any()
    assert ev.energy(system, state).total == 0.0


def test_a_rod_as_dense_as_the_water_stays_where_it_is():
    """Weight and displaced water are two products here: what is left is their rounding."""
    part = rod(basis=ev.Legendre.kirchhoff(2))
    system = floating(part, ev.Gravity(), ev.Buoyancy(), ev.Morison())
    found = ev.forward_dynamics(system, system.rest())
    assert np.abs(found.eta_dot).max() < 100.0 * EPS * 9.81
    assert ev.inverse_dynamics(system, system.rest()) == pytest.approx(0.0, abs=100.0 * EPS * 9.81 * part.mass)


@pytest.mark.parametrize("make", [body, rod])
@pytest.mark.parametrize("law", ["Morison", "Lighthill"])
def test_a_heavy_body_sinks(make, law):
    """(m - ρ U) g / (m + m_a), level, its flat side down or its edge."""
    part, density = make(0.4), 600.0
    fluid = getattr(ev, law)([part], fluid_density=density)
    system = floating(part, ev.Gravity(), ev.Buoyancy([part], fluid_density=density), fluid)
    m, volume = part.mass, np.pi * np.prod(AXES) * 0.4
    C_y, C_z, _ = fluid.added(*AXES) * 0.4
    flat, edge = np.eye(4), np.eye(4)
    edge[:3, :3] = so3.exp([np.pi / 2.0, 0.0, 0.0])  # y up
    for g, m_a, axis in ((flat, C_z, 5), (edge, C_y, 4)):
        expected = np.zeros(6)
        expected[axis] = -(m - density * volume) * 9.81 / (m + m_a)
        found = ev.forward_dynamics(system, system.rest().with_(g=g)).eta_dot
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=9.81 * rounding(system, system.rest()))


def test_gravity_scales_the_buoyancy_with_it():
    part, gravity = body(density=1500.0), ev.Gravity()
    system = floating(part, gravity, ev.Buoyancy())
    falls = [ev.forward_dynamics(system, system.rest(), {gravity: f}).eta_dot[5] for f in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(falls, [0.0, -9.81 / 3.0, -2.0 * 9.81 / 3.0], rtol=1e-13, atol=0.0)


def test_a_rod_in_water_hangs_as_one_of_less_weight():
    """Buoyancy of a uniform rod takes ρ_w/ρ of its weight: the same equilibrium as under the rest of gravity."""
    heavy = ev.Rod(
        0.6, ev.Circle(0.01), ev.Material(2e6, poisson=0.4, density=1500.0), ev.Legendre(bending=4, torsion=0)
    )
    wet = ev.System(ev.Mechanism.clamped(heavy), loads=[ev.Gravity(), ev.Buoyancy(), ev.Morison()])
    light = ev.System(ev.Mechanism.clamped(heavy), loads=[ev.Gravity((0.0, 0.0, -9.81 / 3.0))])
    found, expected = ev.equilibrium(wet).state.q, ev.equilibrium(light).state.q
    assert np.abs(expected).max() > 0.5
    # two solutions of the same equations, each to a relative residual of 1e-10
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_energy_counts_buoyancy():
    """Weight less buoyancy has a potential: without a fluid around it the energy of a tumbling robot stays."""
    head, link = body(0.3), body(0.2, "link", axes=(0.04, 0.02), density=700.0)
    joints = [ev.Floating("world", head), ev.Spherical((head, (0.3, 0.0, 0.0)), link, name="neck")]
    system = ev.System(ev.Mechanism(joints), loads=[ev.Gravity((1.0, 2.0, -9.0)), ev.Buoyancy(fluid_density=1400.0)])
    state = motion(system, 3)

    def drift(step: float) -> float:
        energy = ev.simulate(system, state, 0.5, step, ev.RungeKutta4())["energy/total"].values
        return float(np.abs(energy - energy[0]).max())

    # order 4 or better: half the step, a sixteenth of the drift
    assert drift(0.005) < drift(0.01) / 12.0


# A swim by two methods ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["Morison", "Lighthill"])
def test_explicit_and_implicit_methods_swim_alike(law):
    """Each is as far from the truth as 1/3 of what halving the step changes, or less, and a margin of 2.

    Drag has a kink in its slope, which may cost either method its order, but not the second.
    """
    system = fish(2, lambda parts: getattr(ev, law)(parts, flow=STREAM), side=False)
    state = motion(system, 2)

    def end(method, step: float) -> np.ndarray:
        run = ev.simulate(system, state, 0.1, step, method)
        return np.concatenate([run["head/base/position"].values[-1], run["q"].values[-1]])

    explicit, implicit = ev.RungeKutta4(), ev.GaussLegendre4()
    ends = {method: (end(method, 2e-3), end(method, 1e-3)) for method in (explicit, implicit)}
    bound = 2.0 / 3.0 * sum(np.abs(coarse - fine).max() for coarse, fine in ends.values())
    assert bound < 1e-3
    assert np.abs(ends[explicit][1] - ends[implicit][1]).max() < bound


# A rod and many short links -----------------------------------------------------------------------------------


class Wriggle:
    """K_z(s, t) = Σ_k A_k sin(ωt + φ_k) P_k(2s/L - 1), and the heading ψ(s) = ∫₀ˢ K_z of a rod on which it is imposed.

    Of N links each has the heading of the rod at its middle, so that the chain is the rod to second order in L/N.
    """

    length, axes, period = 1.0, (0.03, 0.05), 1.0
    amplitude, phase = np.array([1.0, 2.0, 1.5]), np.array([0.3, 1.7, 3.0])
    water = ev.Morison(drag=(0.05, 1.0, 1.0, 1.0))

    def rates(self, t: float) -> np.ndarray:
        """q, q', q'' of the coordinates of the rod, (3, 3)."""
        w = 2.0 * np.pi / self.period
        s, c = np.sin(w * t + self.phase), np.cos(w * t + self.phase)
        return self.amplitude * np.stack([s, w * c, -(w**2) * s])

    def headings(self, s: np.ndarray) -> np.ndarray:
        """ψ(s) per coordinate of the rod, (len(s), 3)."""
        functions = [Legendre.basis(k, domain=[0.0, self.length]).integ(lbnd=0.0) for k in range(3)]
        return np.stack([f(s) for f in functions], axis=1)

    def rod(self, nodes: int) -> tuple[ev.System, ev.State, dict]:
        part = ev.Rod(self.length, ev.Ellipse(*self.axes), FLESH, ev.Legendre.planar(3), nodes=nodes)
        drives = ev.Imposed.all(part)
        system = ev.System(ev.Mechanism.free(part), drives, [self.water])
        inputs = {drive: (lambda t, k=k: self.rates(t)[:, k]) for k, drive in enumerate(drives)}
        return system, system.rest(), inputs

    def chain(self, N: int) -> tuple[ev.System, ev.State, dict]:
        h = self.length / N
        links = [body(h, f"link-{i}", axes=self.axes) for i in range(N)]
        joints = [
            ev.Revolute((links[i], (h, 0.0, 0.0)), links[i + 1], axis="z", name=f"joint-{i}") for i in range(N - 1)
        ]
        drives = [ev.Imposed(joint) for joint in joints]
        system = ev.System(ev.Mechanism([ev.Floating("world", links[0]), *joints]), drives, [self.water])
        turns = np.diff(self.headings(h * (np.arange(N) + 0.5)), axis=0)
        inputs = {drive: (lambda t, turn=turn: self.rates(t) @ turn) for drive, turn in zip(drives, turns, strict=True)}
        heading, spin, _ = self.rates(0.0) @ self.headings(np.array([h / 2.0]))[0]
        g = se3.pose(so3.exp([0.0, 0.0, heading]), np.zeros(3))
        return system, system.rest().with_(g=g, eta=(0.0, 0.0, spin, 0.0, 0.0, 0.0)), inputs


def test_a_chain_of_short_links_swims_as_the_rod():
    """N = 10, 20, 40, 80 links, at least first order: acceleration of the nose at the start, its place after 1 s, and
    torques of the joints against the bending moment of the rod, ∫ P_k M ds ≈ Σ_i P_k(s_i) τ_i L/N.
    """
    shape = Wriggle()
    system, state, inputs = shape.rod(160)
    shaped = dict(zip(("q", "q_dot", "q_ddot"), shape.rates(0.0), strict=True))
    elastic = ev.inverse_dynamics(system, system.rest().with_(q=shaped["q"]))[6:]
    moments = ev.floating_inverse_dynamics(system, state.with_(**shaped)).efforts - elastic

    def nose(system, state, inputs) -> np.ndarray:
        start = ev.forward_dynamics(system, state, inputs)
        acceleration = start.g[:3, :3] @ classical(start)[3:]
        run = ev.simulate(system, state, 1.0, 0.02, ev.RungeKutta4(), inputs, every=50)
        (place,) = (name for name in run if str(name).endswith("base/position"))
        return np.concatenate([acceleration[:2], run[place].values[-1, :2]])

    def torques(system, state, inputs) -> np.ndarray:
        rates = np.stack([inputs[drive](0.0) for drive in system.imposed], axis=1)
        bent = state.with_(q=rates[0], q_dot=rates[1], q_ddot=rates[2])
        N = system.n + 1
        P = np.polynomial.legendre.legvander(2.0 * np.arange(1, N) / N - 1.0, 2)
        return shape.length / N * P.T @ ev.floating_inverse_dynamics(system, bent).efforts

    expected = nose(system, state, inputs)
    errors = []
    for N in (10, 20, 40, 80):
        chain = shape.chain(N)
        found = nose(*chain)
        pairs = ((found[:2], expected[:2]), (found[2:], expected[2:]), (torques(*chain), moments))
        errors.append([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs])
    orders = -np.polyfit(np.arange(4), np.log2(errors), 1)[0]
    assert np.all(orders > 1.0), (orders, errors)
    assert np.all(np.diff(errors, axis=0) < 0.0)


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [ev.Morison, lambda **more: ev.Lighthill([rod()], **more)])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fluid_density": -1000.0}, r"fluid 'water': density = -1000 kg/m³"),
        ({"fluid_density": 0.0}, r"fluid 'water': density = 0 kg/m³"),
        ({"added_mass": (1.0, -1.0, 1.0)}, r"fluid 'water': added_mass, C_z = -1"),
        ({"added_mass": (1.0, 1.0)}, r"added_mass = \(1.0, 1.0\): give 3 numbers, C_y, C_z, C_roll"),
        ({"added_mass": 1.0}, r"added_mass = 1.0: give 3 numbers, C_y, C_z, C_roll"),
        ({"flow": (1.0, 0.0)}, r"fluid 'water': flow"),
        ({"flow": (np.nan, 0.0, 0.0)}, r"fluid 'water': flow"),
    ],
)
def test_numbers_of_a_fluid_are_checked(law, given, message):
    with pytest.raises(ev.BadInput, match=message):
        law(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"drag": (0.01, 1.0, -1.0, 1.0)}, r"fluid 'water': drag, C_z = -1"),
        ({"drag": (0.01, 1.0, 1.0)}, r"drag = \(0.01, 1.0, 1.0\): give 4 numbers, C_x, C_y, C_z, C_roll"),
        ({"stations": 1}, r"stations = 1; give a whole number of at least 2"),
        ({"stations": 2.5}, r"stations = 2.5; give a whole number of at least 2"),
        ({"stations": "a"}, r"stations = 'a'; give a whole number of at least 2"),
        ({"stations": np.nan}, r"stations = nan; give a whole number of at least 2"),
        ({"added_mass": ((1, 2), (1,))}, r"added_mass = .*: give 3 numbers, C_y, C_z, C_roll"),
        ({"drag": (1, 1, 1, "x")}, r"C_roll = 'x': expected a number$"),
        ({"parts": []}, r"parts is empty"),
        ({"parts": ["head"]}, r"parts contains 'head'; give rods and rigid bodies"),
    ],
)
def test_numbers_of_morison_are_checked(given, message):
    with pytest.raises(ev.BadInput, match=message):
        ev.Morison(**given)


def test_density_of_buoyancy_is_checked():
    with pytest.raises(ev.BadInput, match=r"load 'buoyancy': density = -1 kg/m³"):
        ev.Buoyancy(fluid_density=-1.0)


def test_a_part_is_in_one_fluid_and_listed_once():
    part = body()
    with pytest.raises(ev.BadInput, match=r"'head' is both in 'sea' and in 'lake'; Morison and Lighthill are two mod"):
        floating(part, ev.Morison(name="sea"), ev.Lighthill([part], name="lake"))
    with pytest.raises(ev.BadInput, match=r"'head' is both in 'up' and in 'buoyancy'; list the part in one of them"):
        floating(part, ev.Gravity(), ev.Buoyancy(name="up"), ev.Buoyancy([part]))
    with pytest.raises(ev.BadInput, match=r"a part is listed twice; list each once"):
        ev.Morison([part, part])
    with pytest.raises(ev.BadInput, match=r"'water' acts on the body 'other', which is not in this mechanism"):
        floating(part, ev.Morison([body(name="other")]))


def test_lighthill_wants_rods_that_bend():
    for basis, strain in ((ev.Legendre.extensible(1), "Gamma_x"), (ev.Legendre.reissner(1), "Gamma_x")):
        part = ev.Rod(0.5, ev.Circle(0.02), FLESH, basis, name="tail")
        with pytest.raises(ev.BadInput, match=rf"rod 'tail' has free {strain}, which Lighthill.*or use Morison"):
            ev.Lighthill([part])
    twisting = rod(basis=ev.Legendre.kirchhoff(1), name="tail")
    with pytest.raises(ev.BadInput, match=r"free K_x.* \(or torsion of a circular section\), or use Morison"):
        ev.Lighthill([twisting])
    ev.Lighthill([ev.Rod(0.5, ev.Circle(0.02), FLESH, ev.Legendre.kirchhoff(1))])
    with pytest.raises(ev.BadInput, match=r"list the parts from nose to tail"):
        ev.Lighthill(None)


def test_lighthill_wants_parts_from_nose_to_tail():
    head, joint = body(name="head"), ev.RigidBody.massless("joint")
    first, last = (ev.Rod(0.5, ev.Circle(0.02), FLESH, ev.Legendre.planar(1), name=name) for name in ("first", "last"))
    neck = [ev.Revolute((head, (0.2, 0.0, 0.0)), joint, axis="z"), ev.Revolute(joint, (first, "base"), axis="y")]
    robot = ev.Mechanism([ev.Floating("world", head), *neck, ev.Fixed((first, "tip"), (last, "base"))])
    ev.System(robot, loads=[ev.Lighthill([head, first, last])])
    for parts, message in (
        ([first, head, last], "'head' is not joined to the end of 'first'"),
        ([head, last], "'last' is not joined to the end of 'head'"),
        ([last, first], "'first' is not joined to the end of 'last'"),
    ):
        with pytest.raises(ev.BadInput, match=f"{message}; list the parts from nose to tail"):
            ev.System(robot, loads=[ev.Lighthill(parts)])


@pytest.mark.parametrize("law", [lambda part: ev.Morison(), lambda part: ev.Lighthill([part])])
def test_a_body_needs_an_outline(law):
    part = ev.RigidBody.box((0.1, 0.1, 0.1), mass=1.0, name="crate")
    with pytest.raises(ev.BadInput, match=r"'crate' has no slender outline in the water: give it shape=EllipticCyl"):
        ev.forward_dynamics(system := floating(part, law(part)), system.rest())


def test_buoyancy_needs_gravity_and_volume():
    with pytest.raises(ev.BadInput, match=r"'buoyancy': without Gravity in loads nothing is buoyant; add Gravity"):
        floating(body(), ev.Buoyancy())
    part = ev.RigidBody(1.0, (0.1, 0.1, 0.1), name="crate")
    with pytest.raises(ev.BadInput, match=r"'crate' has no shape to take its volume from"):
        ev.forward_dynamics(system := floating(part, ev.Gravity(), ev.Buoyancy()), system.rest())


# Files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["Morison", "Lighthill"])
def test_a_system_with_water_comes_back_from_its_text(law):
    """The same motion to the last bit."""
    system = fish(5, lambda parts: getattr(ev, law)(parts, flow=STREAM), side=False)
    loads = [*system.loads, ev.Gravity(), ev.Buoyancy(fluid_density=950.0)]
    system = ev.System(system.mechanism, loads=loads)
    again = io.loads(io.dumps(system))
    state = motion(system, 5)
    runs = [ev.simulate(s, state, 0.02, 1e-3, ev.RungeKutta4()) for s in (system, again)]
    for name in ("q", "q_dot", "head/base/position", "head/base/twist", "energy/total"):
        np.testing.assert_array_equal(runs[0][name].values, runs[1][name].values)


def test_a_saved_run_holds_its_water(tmp_path):
    system = floating(body(), ev.Morison(flow=STREAM, drag=(0.1, 1.0, 1.0, 0.5)))
    run = ev.simulate(system, duration=0.2, step=0.02, method=ev.RungeKutta4())
    stored = ev.load(ev.save(run, tmp_path / "drift.nc"))
    again = io.loads(stored.attrs["model"])
    repeated = ev.simulate(again, duration=0.2, step=0.02, method=ev.RungeKutta4())
    np.testing.assert_array_equal(repeated["head/base/position"].values, stored["head/base/position"].values)
