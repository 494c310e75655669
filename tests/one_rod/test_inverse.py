"""Inverse models without modes: quadratures against integrated sweeps, strain modes, chains of links and balances.

Works: F. Boyer et al. (2023), eq. 84-86; W. Khalil et al. (2007), composite bodies.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebfit, chebval
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import elver as ev
from elver.lie import se3
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.dynamics import shooting_dynamics
from elver.one_rod.shooting.statics import solve_rod
from elver.one_rod.sweeps.inverse import (
    StrainMotion,
    stress_in_system,
    stress_of_motion,
    stress_of_shape,
    tendon_columns,
    tensions_of_stress,
)

RUBBER = ev.Material(young=1e6, poisson=0.4, density=1100.0, damping=0.02)
GRAVITY = np.array([0.4, -1.0, -9.0])
TIP = np.array([0.02, -0.05, 0.03, 0.4, 0.2, -0.3])


def random_rod(rng, basis=None, **changes):
    """A tapered rod, curved at rest, with a random motion of its basis."""
    section = ev.Circle(ev.Taper(0.03, 0.02))
    arguments = {"rest": (0.3, -0.5, 0.8), "nodes": 40, **changes}
    rod = ev.Rod(0.7, section, RUBBER, basis or ev.Legendre.extensible(4), **arguments)
    fall = np.concatenate([0.4 ** np.arange(n) for n in rod.counts])
    size = fall * np.where(rod.component < 3, 2.0, 0.1)
    return rod, [size * rng.normal(size=rod.n) for _ in range(3)]


def projected(rod, found):
    """-∫ΦᵀBᵀΛ_act ds: generalized forces that act beyond the inputs."""
    act = found.stress_act[:, rod.component]
    return -np.einsum("s,sn,sn->n", found.weights, rod.functions(found.s), act)


def base_motion(rng):
    return se3.exp(rng.normal(size=6)), rng.normal(size=6), rng.normal(size=6)


def gravity_and_more(s, g, eta):
    """A load that depends on place, pose and twist."""
    return np.column_stack([np.sin(3 * s), s, 0 * s, np.cos(s), g[:, 2, 3], 0.1 * eta[:, 4]]) * 0.2


# The sweep itself -----------------------------------------------------------------------------------------------


def integrated(rod, motion, g0, eta0, eta0_dot, density=None, tip=TIP):
    """Newton-Euler by an adaptive method, in the frame of each section: Λ(0) by superposition over [0, L]."""

    def rate(s, y, eta_dot_and_stress):
        x = np.array([s])
        xi, xi_dot, xi_ddot = motion.xi(x)[0], motion.xi_dot(x)[0], motion.xi_ddot(x)[0]
        g, eta = y[:16].reshape(4, 4), y[16:22]
        M = rod.inertia(x)[0]
        F = M * np.concatenate([np.zeros(3), g[:3, :3].T @ GRAVITY])
        if density is not None:
            F = F + density(x, g[None], eta[None])[0]
        g_prime, eta_prime = g @ se3.hat(xi), -se3.ad(xi) @ eta + xi_dot
        eta_dot, stress = y[22:28], y[28:34]
        eta_dot_prime = -se3.ad(xi) @ eta_dot - se3.ad(xi_dot) @ eta + xi_ddot
        stress_prime = se3.ad(xi).T @ stress + M * eta_dot - se3.ad(eta).T @ (M * eta) - F
        return np.concatenate([g_prime.ravel(), eta_prime, eta_dot_prime, stress_prime])

    def tip_stress(start):
        y = np.concatenate([g0.ravel(), eta0, eta0_dot, start])
        end = solve_ivp(rate, (0.0, rod.length), y, args=(None,), method="DOP853", rtol=1e-12, atol=1e-13)
        return end.y[28:, -1]

    zero = tip_stress(np.zeros(6))
    slope = np.stack([tip_stress(unit) - zero for unit in np.eye(6)], axis=1)
    return np.linalg.solve(slope, tip - zero)


@pytest.mark.parametrize("seed", range(3))
def test_quadratures_equal_the_integrated_balance(seed):
    rng = np.random.default_rng(seed)
    rod, q = random_rod(rng)
    motion = StrainMotion.of(rod, *q)
    g0, eta0, eta0_dot = base_motion(rng)
    found = stress_of_motion(
        rod, motion, base=g0, eta=eta0, eta_dot=eta0_dot, gravity=GRAVITY, wrench_density=gravity_and_more,
        tip_wrench=TIP,
    )  # fmt: skip
    wanted = integrated(rod, motion, g0, eta0, eta0_dot, gravity_and_more)
    assert np.max(np.abs(found.stress[0] - wanted)) < 1e-8 * np.max(np.abs(wanted))
    assert found.stress[-1] == pytest.approx(TIP, rel=1e-12)


def test_composite_inertia_and_bias_obey_their_equations():
    """J′ = ad(ξ)ᵀJ + J ad(ξ) - 𝓜 and s′ = ad(ξ)ᵀs - F̃ + J(ξ̈ - ad(ξ̇)η), Boyer eq. 84 with S = -J."""
    rng = np.random.default_rng(4)
    rod, q = random_rod(rng)
    motion = StrainMotion.of(rod, *q)
    g0, eta0, eta0_dot = base_motion(rng)
    found = stress_of_motion(rod, motion, base=g0, eta=eta0, eta_dot=eta0_dot, gravity=GRAVITY, tip_wrench=TIP)

    def rate(s, y):
        x = np.array([s])
        xi, xi_dot, xi_ddot = motion.xi(x)[0], motion.xi_dot(x)[0], motion.xi_ddot(x)[0]
        g, eta, J, bias = y[:16].reshape(4, 4), y[16:22], y[22:58].reshape(6, 6), y[58:]
        M, ad = np.diag(rod.inertia(x)[0]), se3.ad(xi)
        F = M @ np.concatenate([np.zeros(3), g[:3, :3].T @ GRAVITY]) + se3.ad(eta).T @ M @ eta
        return np.concatenate([
            (g @ se3.hat(xi)).ravel(), -ad @ eta + xi_dot, (ad.T @ J + J @ ad - M).ravel(),
            ad.T @ bias - F + J @ (xi_ddot - se3.ad(xi_dot) @ eta),
        ])  # fmt: skip

    end = np.concatenate([found.g[-1].ravel(), found.eta[-1], np.zeros(36), TIP])
    back = solve_ivp(rate, (rod.length, 0.0), end, method="DOP853", rtol=1e-12, atol=1e-14)
    J, bias = back.y[22:58, -1].reshape(6, 6), back.y[58:, -1]
    assert found.composite_inertia[0] == pytest.approx(J, abs=1e-9 * np.abs(J).max())
    assert found.bias[0] == pytest.approx(bias, abs=1e-9 * np.abs(bias).max())
    assert np.all(np.linalg.eigvalsh(found.composite_inertia[0]) > 0.0)
    assert found.composite_inertia[0][3:, 3:] == pytest.approx(rod.mass * np.eye(3), abs=1e-9 * rod.mass)
    assert found.stress == pytest.approx(
        found.bias - np.einsum("nij,nj->ni", found.composite_inertia, found.eta_dot), abs=1e-12 * np.abs(bias).max()
    )


def test_wrench_of_the_base_is_the_rate_of_momentum():
    """d/dt of momentum about the world origin = gravity + tip + base, by differences in time of the whole motion."""
    rng = np.random.default_rng(5)
    rod, (q, q_dot, q_ddot) = random_rod(rng)
    g0, eta0, eta0_dot = base_motion(rng)

    def at(t):
        u, v = q + t * q_dot + 0.5 * t**2 * q_ddot, q_dot + t * q_ddot
        # constant body acceleration: η = η₀ + t η̇₀, and g by two Gauss points of Magnus
        g, eta = g0, eta0 + t * eta0_dot
        x = t * (eta0 + 0.5 * t * eta0_dot)
        g = g0 @ se3.exp(x + t**3 / 12.0 * se3.ad(eta0) @ eta0_dot)
        return g, eta, (u, v, q_ddot)

    def momentum(t):
        g, eta, motion = at(t)
        found = stress_of_motion(rod, StrainMotion.of(rod, *motion), base=g, eta=eta, eta_dot=eta0_dot)
        p = rod.inertia(found.s) * found.eta
        return np.einsum("s,sij,sj->i", found.weights, se3.coAd(found.g), p)

    h = 1e-3
    rate = (8.0 * (momentum(h) - momentum(-h)) - momentum(2 * h) + momentum(-2 * h)) / (12.0 * h)
    motion = StrainMotion.of(rod, q, q_dot, q_ddot)
    found = stress_of_motion(rod, motion, base=g0, eta=eta0, eta_dot=eta0_dot)
    given = se3.coAd(g0) @ found.base_wrench
    assert given == pytest.approx(rate, abs=1e-7 * np.abs(rate).max())


# Free bases -----------------------------------------------------------------------------------------------------


def test_free_rod_keeps_its_momentum():
    """With nothing outside, d/dt of momentum is zero at the acceleration of the base that comes out: 1e-8."""
    rng = np.random.default_rng(6)
    rod, q = random_rod(rng)
    g0, eta0, _ = base_motion(rng)
    found = stress_of_motion(rod, StrainMotion.of(rod, *q), base=g0, eta=eta0)
    M = rod.inertia(found.s)
    local = M * found.eta_dot - np.einsum("sji,sj->si", se3.ad(found.eta), M * found.eta)
    total = np.einsum("s,sij,sj->i", found.weights, se3.coAd(found.g), local)
    parts = np.einsum("s,sij,sj->si", found.weights, se3.coAd(found.g), local)
    assert np.max(np.abs(total)) < 1e-10 * np.sum(np.abs(parts))
    assert np.max(np.abs(found.stress[0])) < 1e-12 * np.max(np.abs(found.stress))
    assert np.max(np.abs(found.stress[-1])) < 1e-12 * np.max(np.abs(found.stress))


def test_free_base_agrees_with_strain_modes():
    """η̇(0) and the efforts of floating_inverse_dynamics."""
    rng = np.random.default_rng(7)
    rod, q = random_rod(rng)
    g0, eta0, _ = base_motion(rng)
    wrench = ev.PointWrench(rod, force=TIP[3:], moment=TIP[:3], frame="section")
    system = ev.System(ev.Mechanism.free(rod, pose=g0), loads=[ev.Gravity(GRAVITY), wrench])
    state = system.rest().with_(q=q[0], q_dot=q[1], q_ddot=q[2], g=g0, eta=eta0)
    modes = ev.floating_inverse_dynamics(system, state)
    found = stress_of_motion(rod, StrainMotion.of(rod, *q), base=g0, eta=eta0, gravity=GRAVITY, tip_wrench=TIP)
    assert found.eta_dot[0] == pytest.approx(modes.eta_dot, abs=1e-7 * np.abs(modes.eta_dot).max())
    efforts = projected(rod, found)
    assert efforts == pytest.approx(modes.efforts, abs=1e-7 * np.abs(modes.efforts).max())
    through = stress_in_system(system, state)
    assert through.stress_act == pytest.approx(found.stress_act, abs=1e-12 * np.abs(found.stress_act).max())


def test_held_base_agrees_with_strain_modes():
    rng = np.random.default_rng(8)
    rod, q = random_rod(rng, ev.Legendre.kirchhoff(8), nodes=60)
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity(GRAVITY)])
    state = system.rest().with_(q=q[0], q_dot=q[1], q_ddot=q[2])
    modes = ev.inverse_dynamics(system, state)
    found = stress_of_motion(rod, StrainMotion.of(rod, *q), base=state.g, eta_dot=np.zeros(6), gravity=GRAVITY)
    assert projected(rod, found) == pytest.approx(modes, abs=1e-8 * np.abs(modes).max())
    assert not np.any(found.stress_act[:, 3:])


def test_system_with_all_its_loads_agrees_with_strain_modes():
    """Dead and following loads on tip, base and along the rod; a driven base."""
    rng = np.random.default_rng(9)
    rod, q = random_rod(rng)
    g0 = se3.exp(rng.normal(size=6))
    loads = [
        ev.Gravity(GRAVITY),
        ev.PointWrench(rod, force=TIP[3:], moment=TIP[:3]),
        ev.PointWrench(rod, force=TIP[:3], frame="section", name="follower"),
        ev.DistributedWrench(rod, force=lambda s: np.outer(np.sin(5 * s), (0.3, 1.0, -0.4)), name="wind"),
    ]
    for mechanism in (ev.Mechanism.clamped(rod, pose=g0), ev.Mechanism.free(rod, pose=g0)):
        system = ev.System(mechanism, loads=loads)
        moving = {"g": g0, "eta": rng.normal(size=6)} if system.free else {}
        state = system.rest().with_(q=q[0], q_dot=q[1], q_ddot=q[2], **moving)
        found = stress_in_system(system, state)
        if system.free:
            state = state.with_(eta_dot=found.eta_dot[0])
        modes = ev.inverse_dynamics(system, state)
        wanted = np.concatenate([np.zeros(6), projected(rod, found)]) if system.free else projected(rod, found)
        assert wanted == pytest.approx(modes, abs=1e-7 * np.abs(modes).max())


def test_driven_base_agrees_with_strain_modes():
    rng = np.random.default_rng(10)
    rod, q = random_rod(rng)
    twist, turn = rng.normal(size=6), rng.normal(size=6)
    moved = ev.Motion(lambda t: se3.exp(twist * np.sin(2.0 * t)) @ se3.exp(turn * t))
    system = ev.System(ev.Mechanism.driven(rod, moved), loads=[ev.Gravity(GRAVITY)])
    state = system.rest(0.4).with_(q=q[0], q_dot=q[1], q_ddot=q[2])
    modes = ev.inverse_dynamics(system, state)
    found = stress_in_system(system, state)
    assert np.max(np.abs(found.eta[0])) > 0.5
    assert projected(rod, found) == pytest.approx(modes, abs=1e-7 * np.abs(modes).max())


def test_held_tips_are_refused():
    rod, _ = random_rod(np.random.default_rng(0))
    mechanism = ev.Mechanism.clamped(rod, holds=[ev.Hold(at="tip", position=(0.5, 0.0, 0.0))])
    system = ev.System(mechanism)
    with pytest.raises(ev.BadInput, match="tip of this rod is held"):
        stress_in_system(system, system.rest())


def test_stress_fed_back_to_shooting_returns_the_motion():
    """Acceptance 19 of Boyer 2023: dynamics by shooting under the stress of the inverse model, of order two in time."""
    flesh = ev.Material(young=5e5, poisson=0.4, density=1000.0, damping=0.05)
    rod = ev.Rod(0.5, ev.Circle(0.02), flesh, ev.Legendre.kirchhoff(3), name="arm", nodes=40)
    size, rate, phase = 2.0 / (1.0 + np.tile(np.arange(3), 3)) ** 2, 9.0, np.arange(9)

    def wanted(t):
        x = rate * t + phase
        return size * np.array([np.sin(x), rate * np.cos(x), -(rate**2) * np.sin(x)])

    def shape(k, c):
        return lambda s: np.outer(chebval(2.0 * s / rod.length - 1.0, np.eye(degree + 1)[k]), np.eye(3)[c])

    degree, duration = 10, 0.2
    instants = np.linspace(0.0, duration, 41)
    rows = []
    for t in instants:
        motion = StrainMotion.of(rod, *wanted(t))
        found = stress_of_motion(rod, motion, eta_dot=np.zeros(6), gravity=GRAVITY, elements=6)
        rows.append(chebfit(2.0 * found.s / rod.length - 1.0, found.stress_act[:, :3], degree))
    stress = CubicSpline(instants, np.array(rows))
    muscles, inputs = [], {}
    for k in range(degree + 1):
        for c in range(3):
            muscles.append(ev.Muscle(rod, torque=shape(k, c), name=f"C_{'xyz'[c]}{k}"))
            inputs[muscles[-1]] = lambda t, k=k, c=c: float(stress(t)[k, c])
    system = ev.System(ev.Mechanism.clamped(rod), actuators=muscles, loads=[ev.Gravity(GRAVITY)])
    q, q_dot, q_ddot = wanted(0.0)
    errors = []
    for step in (2e-2, 1e-2, 5e-3):
        run = shooting_dynamics(
            system, system.rest().with_(q=q, q_dot=q_dot, q_ddot=q_ddot), duration, step, inputs, nodes=40
        )
        exact = np.array([rod.strain(run.s, wanted(t)[0]) for t in run.time])
        errors.append(np.max(np.abs(run.strain - exact)))
    order = np.polyfit(np.log([2e-2, 1e-2, 5e-3]), np.log(errors), 1)[0]
    assert order == pytest.approx(2.0, abs=0.25)
    assert errors[-1] < 2e-3  # 1/m, of curvatures up to 4


# Statics --------------------------------------------------------------------------------------------------------


@cache
def tendon_arm(count=12):
    """The rod of Boyer 2023, tests 1-2: 1 mm radius, 0.4 m, steel, hanging, tendons on disks of 40 mm diameter."""
    steel = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    rod = ev.Rod(0.4, ev.Circle(1e-3), steel, ev.Legendre.kirchhoff(count), name="arm", nodes=60)
    paths = {
        "convergent": ev.convergent(y=0.02),
        "opposite": ev.convergent(y=-0.02),
        "helical": ev.helical(radius=0.02, turns=1.0),
        "aside": ev.convergent(z=0.02),
    }
    tendons = {name: ev.Tendon(rod, path=path, name=name, reach=0.0201) for name, path in paths.items()}
    system = ev.System(
        ev.Mechanism.clamped(rod), actuators=list(tendons.values()), loads=[ev.Gravity((9.81, 0.0, 0.0))]
    )
    return rod, tendons, system


@pytest.mark.parametrize("tensions", [(30.0, 0.0, 0.0, 0.0), (5.0, 0.0, 25.0, 10.0), (0.0, 12.0, 40.0, 0.0)])
def test_tensions_come_back_from_the_shape(tensions):
    """Acceptance 18 of Boyer 2023: inverse after forward statics returns the tensions to 1e-6."""
    rod, tendons, system = tendon_arm()
    rest = ev.equilibrium(system, inputs=dict(zip(tendons.values(), tensions)))
    found = stress_of_shape(rod, lambda s: rod.strain(s, rest.state.q), base=rest.state.g, gravity=(9.81, 0.0, 0.0))
    again = tensions_of_stress(rod, found, list(tendons.values()))
    assert again.tensions == pytest.approx(tensions, abs=1e-6 * max(tensions))
    assert again.residual < 1e-5
    assert np.abs(projected(rod, found) - ev.inverse_dynamics(system, rest.state)).max() < 1e-8


def test_pulling_and_pushing():
    """A tendon on the other side alone would have to push: with tensions >= 0 it stays slack."""
    rod, tendons, _ = tendon_arm()
    s = np.linspace(0.0, rod.length, 5)
    column = tendon_columns([tendons["convergent"]], s, rod.rest_strain(s))
    slope = np.hypot(1.0, 0.02 / 0.4)
    assert column[:, 2, 0] == pytest.approx(-0.02 * (1 - s / 0.4) / slope)
    H = rod.stiffness(s[:1])[0]
    wanted = lambda s: rod.rest_strain(s) + np.outer(1.0 - s / 0.4, (0, 0, 3.0, 0, 0, 0))  # noqa: E731
    found = stress_of_shape(rod, wanted)
    both = tensions_of_stress(rod, found, [tendons["opposite"]], pulling=False)
    assert both.tensions[0] == pytest.approx(-3.0 * H[2] * slope / 0.02, rel=0.05)
    assert tensions_of_stress(rod, found, [tendons["opposite"]]).tensions[0] == 0.0


def test_base_of_a_hanging_rod_carries_its_weight():
    rod, _, _ = tendon_arm()
    found = stress_of_shape(rod, rod.rest_strain, gravity=(9.81, 0.0, 0.0))
    assert found.base_wrench == pytest.approx([0, 0, 0, -rod.mass * 9.81, 0, 0], abs=1e-12)
    assert not np.any(found.stress_act)


@pytest.mark.parametrize("tensions", [(30.0, 0.0, 0.0, 0.0), (5.0, 0.0, 25.0, 10.0)])
def test_inverse_after_shooting_is_the_identity(tensions):
    """FSM after ISM without any modes: the shape of shooting needs the stress that its tendons make."""
    _, tendons, system = tendon_arm()
    inputs = dict(zip(tendons.values(), tensions))
    forward = solve_rod(system, inputs, accuracy=1e-9)
    problem = RodProblem.of(system, inputs)
    found = stress_of_shape(problem, forward.strain, tolerance=1e-7)
    made, _ = problem.actuation(found.s, found.xi)
    size = np.max(np.abs(made[:, :3]))
    assert np.max(np.abs(found.stress_act[:, :3] - made[:, :3])) < 1e-6 * size
    again = tensions_of_stress(problem, found, list(tendons.values()))
    assert again.tensions == pytest.approx(tensions, abs=1e-6 * max(tensions))

    # and forward again, with the stress as a muscle
    coefficients = chebfit(2.0 * found.s / problem.length - 1.0, found.stress_act, 24)
    muscle = lambda s: chebval(2.0 * s / problem.length - 1.0, coefficients).T  # noqa: E731
    again = solve_rod(problem.with_(tendons=(), muscle=muscle), accuracy=1e-9)
    assert again.tip == pytest.approx(forward.tip, abs=1e-7)


# Bad input ------------------------------------------------------------------------------------------------------


def problem_without_stiffness():
    """A rod that only has inertia."""
    rod, _, _ = tendon_arm()
    nothing = lambda s: np.zeros((len(s), 6))  # noqa: E731
    return SimpleNamespace(
        length=rod.length, component=(0, 1, 2), stiffness=nothing, rest_strain=rod.rest_strain, inertia=rod.inertia
    )


def test_jumps_of_a_basis_are_known():
    rng = np.random.default_rng(2)
    rod, q = random_rod(rng, ev.PiecewiseConstant(3))
    found = stress_of_motion(rod, StrainMotion.of(rod, *q), eta_dot=np.zeros(6), gravity=GRAVITY)
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity(GRAVITY)])
    modes = ev.inverse_dynamics(system, system.rest().with_(q=q[0], q_dot=q[1], q_ddot=q[2]))
    assert projected(rod, found) == pytest.approx(modes, abs=1e-7 * np.abs(modes).max())


def test_what_is_wrong_is_said():
    rod, _, _ = tendon_arm()
    with pytest.raises(ev.BadInput, match=r"xi returns shape .* return \(\d+, 6\)"):
        stress_of_shape(rod, lambda s: np.zeros((len(s), 3)))
    with pytest.raises(ev.BadInput, match="breaks"):
        stress_of_shape(rod, rod.rest_strain, breaks=[0.5])
    with pytest.raises(ev.BadInput, match="no tendon"):
        tensions_of_stress(rod, stress_of_shape(rod, rod.rest_strain), [])
    soft = problem_without_stiffness()
    with pytest.raises(ev.BadInput, match="stiffness"):
        tensions_of_stress(soft, stress_of_shape(soft, soft.rest_strain), [ev.parallel])
    jump = lambda s: rod.rest_strain(s) + np.outer(s > 0.123456, (0, 0, 4.0, 0, 0, 0))  # noqa: E731
    with pytest.raises(ev.NotConverged, match=r"breaks=\[...\]"):
        stress_of_shape(rod, jump, gravity=(9.81, 0.0, 0.0))
    known = stress_of_shape(rod, jump, gravity=(9.81, 0.0, 0.0), breaks=[0.123456])
    assert known.g[-1, 0, 3] == pytest.approx(0.123456 + np.sin(4 * (0.4 - 0.123456)) / 4.0, rel=1e-9)
