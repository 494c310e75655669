"""Laws of inverse dynamics: kinematics, mass, power, Lagrange's equations, indifference to the frame."""

from __future__ import annotations

import numpy as np
import pytest

import elver.environment as en
import elver.mechanism as me
import elver.rods as er
from elver.dynamics.assembly import assembly_of
from elver.dynamics.core import Core
from elver.dynamics.forward import forward_dynamics
from elver.dynamics.quantities import energy, inverse_dynamics, mass_matrix, momentum, poses, tangent_inverse_dynamics
from elver.dynamics.states import arrays
from elver.kernels.tree.program import laws_of
from elver.lie import se3, so3
from elver.system import System

FOUNDATIONS = ("clamped", "free")
INPUTS = {"helix": 1.5}


def largest(x):
    return np.abs(x).max()


def coordinate_directions(system, state):
    """State moved by an amount along each coordinate, base first."""
    if system.free:
        for d in np.eye(6):
            yield lambda h, d=d: state.with_(g=state.g @ se3.exp(h * d))
    for d in np.eye(system.rod.n):
        yield lambda h, d=d: state.with_(q=state.q + h * d)


# Kinematics -------------------------------------------------------------------------------------------------


def test_twist_and_rate_are_time_derivatives_of_the_poses(tools):
    """η = (g⁻¹ġ)^∨ and η̇ at every node along a prescribed motion, base moving (acceptance 3)."""
    system = tools.system(foundation="free")
    state, core = tools.state(system), Core(system)
    u = system.input_vector(system.signals(None), 0.0)

    def body_fields(t):
        core.residual(arrays(tools.along(state, t)), u)
        work = core.work
        g = se3.pose(work.pose[:, :3], work.pose[:, 3])
        back = se3.Ad(se3.inverse(g))
        return np.einsum("fij,fj->fi", back, work.eta), np.einsum("fij,fj->fi", back, work.acc)

    eta, eta_dot = body_fields(0.0)
    g = poses(system, state)
    g_dot = tools.difference(lambda t: poses(system, tools.along(state, t)))
    expected = se3.vee(se3.inverse(g) @ g_dot)
    assert largest(eta - expected) <= 1e-7 * largest(expected)
    expected = tools.difference(lambda t: body_fields(t)[0])
    assert largest(eta_dot - expected) <= 1e-7 * largest(expected)


def test_poses_of_constant_curvature_are_a_circle():
    """Tip at (sin κL, 1 - cos κL)/κ, to rounding."""
    rod = er.Rod(1.0, er.Circle(0.01), er.Material(1e6, 1000.0, poisson=0.4), er.Legendre.planar(1))
    system = System(me.Mechanism.clamped(rod))
    kappa = 2.3
    g = poses(system, system.rest().with_(q=np.array([kappa])))
    np.testing.assert_allclose(
        g[-1, :3, 3], [np.sin(kappa) / kappa, (1 - np.cos(kappa)) / kappa, 0.0], atol=1e-13
    )
    np.testing.assert_allclose(g[-1, :3, :3], so3.exp([0.0, 0.0, kappa]), atol=1e-13)


# Mass matrix ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("foundation", FOUNDATIONS)
@pytest.mark.parametrize("basis", [er.Legendre.extensible(2), er.PiecewiseConstant.reissner(2)])
def test_mass_matrix_is_symmetric_positive_definite(tools, foundation, basis):
    system = tools.system(tools.rod(basis), foundation)
    M = mass_matrix(system, tools.state(system))
    assert largest(M - M.T) <= 1e-10 * largest(M)
    assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize("foundation", FOUNDATIONS)
def test_mass_matrix_is_the_sum_over_sections(tools, foundation):
    """M = Σ Jᵀ𝓜J with the columns of J from differences of poses."""
    system = tools.system(foundation=foundation)
    state, assembly = tools.state(system), assembly_of(system).rods[system.rod]
    back = se3.inverse(poses(system, state))
    J = np.stack(
        [
            se3.vee(back @ tools.difference(lambda h, move=move: poses(system, move(h))))
            for move in coordinate_directions(system, state)
        ],
        axis=-1,
    )
    expected = np.einsum("f,fca,fc,fcb->ab", assembly.weights, J, system.rod.inertia(assembly.s), J)
    M = mass_matrix(system, state)
    assert largest(M - expected) <= 1e-9 * largest(M)


@pytest.mark.parametrize("foundation", FOUNDATIONS)
def test_kinetic_energy_is_half_the_rates_times_mass_times_rates(tools, foundation):
    system = tools.system(foundation=foundation)
    state = tools.state(system)
    rates = np.concatenate([state.eta, state.q_dot]) if system.free else state.q_dot
    expected = 0.5 * rates @ mass_matrix(system, state) @ rates
    assert energy(system, state).kinetic == pytest.approx(expected, rel=1e-12)


# Power and Lagrange -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("foundation", FOUNDATIONS)
def test_power_balance(tools, foundation):
    """R · rates = d(T + U)/dt + dissipation - power of wrenches and tendon (acceptance 5)."""
    system = tools.system(foundation=foundation)
    state, assembly = tools.state(system), assembly_of(system).rods[system.rod]
    rod, tendon = system.rod, system.actuators[0]
    rates = np.concatenate([state.eta, state.q_dot]) if system.free else state.q_dot
    supplied = inverse_dynamics(system, state, INPUTS) @ rates
    stored = tools.difference(lambda t: energy(system, tools.along(state, t)).total)
    dissipated = state.q_dot @ laws_of(assembly_of(system).program)[1] @ state.q_dot

    g = poses(system, state)
    g_dot = tools.difference(lambda t: poses(system, tools.along(state, t)))
    omega = so3.vee(g_dot[:, :3, :3] @ np.swapaxes(g[:, :3, :3], 1, 2))  # world axes
    v = g_dot[:, :3, 3]
    work = 0.0
    for load in system.loads:
        if isinstance(load, en.PointWrench):
            f = int(np.argmin(np.abs(assembly.s - load.position)))
            R = g[f, :3, :3] if load.frame == "section" else np.eye(3)
            work += (R @ load.moment) @ omega[f] + (R @ load.force) @ v[f]
        elif isinstance(load, en.DistributedWrench):
            work += np.einsum("f,fc,fc->", assembly.weights, load.density(assembly.s)[:, 3:], v)

    s, ds = assembly.s[assembly.weights > 0.0], assembly.weights[assembly.weights > 0.0]
    D, D_prime, _ = tendon.geometry(s)

    def cable(t):
        xi = rod.strain(s, tools.along(state, t).q)
        return ds @ np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], D) + D_prime, axis=1)

    work -= INPUTS["helix"] * tools.difference(cable)
    scale = sum(abs(x) for x in (stored, dissipated, work))
    assert supplied == pytest.approx(stored + dissipated - work, abs=1e-8 * scale)


def test_lagrange_equations(tools):
    """R = d/dt ∂L/∂q' - ∂L/∂q + D q' with L of the energies that the library reports."""
    rod = tools.rod(er.Legendre.reissner(2))
    system = System(me.Mechanism.clamped(rod, se3.exp([0.3, -0.4, 0.2, 0.1, 0.2, 0.3])), loads=[en.Gravity()])
    state, eye = tools.state(system), np.eye(rod.n)

    def lagrangian(x):
        e = energy(system, x)
        return e.kinetic - e.elastic - e.gravity

    def generalized_momentum(x):
        # L is quadratic in the rates: a central difference of any step is exact
        return (
            np.array(
                [lagrangian(x.with_(q_dot=x.q_dot + d)) - lagrangian(x.with_(q_dot=x.q_dot - d)) for d in eye]
            )
            / 2.0
        )

    rate = tools.difference(lambda t: generalized_momentum(tools.along(state, t)))
    slope = [tools.difference(lambda h, d=d: lagrangian(state.with_(q=state.q + h * d))) for d in eye]
    damping = laws_of(assembly_of(system).program)[1] @ state.q_dot
    R = inverse_dynamics(system, state)
    assert largest(R - (rate - slope + damping)) <= 1e-6 * largest(R)


def test_base_wrench_is_the_rate_of_momentum(tools):
    """The six base rows of a free rod are d(momentum)/dt less the applied wrenches (here: gravity alone)."""
    rod = tools.rod()
    system = System(me.Mechanism.free(rod), loads=[en.Gravity((0.0, 0.0, -9.81))])
    state = tools.state(system)
    state = state.with_(g=se3.exp([0.5, -0.3, 0.8, 0.2, 0.1, -0.4]))
    rate = tools.difference(lambda t: momentum(system, tools.along(state, t)))
    assembly = assembly_of(system).rods[system.rod]
    mass = assembly.weights * rod.inertia(assembly.s)[:, 3]
    weight = mass[:, None] * [0.0, 0.0, -9.81]
    moment = np.cross(poses(system, state)[:, :3, 3], weight).sum(axis=0)
    expected = rate - np.concatenate([moment, weight.sum(axis=0)])
    found = se3.coAd(state.g) @ inverse_dynamics(system, state)[:6]
    assert largest(found - expected) <= 1e-8 * largest(expected)


# Indifference and limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("foundation", FOUNDATIONS)
def test_residual_does_not_see_a_rotation_of_the_world(tools, foundation):
    rod, shift = tools.rod(), se3.exp([0.7, -1.1, 0.4, 2.0, -1.0, 0.5])
    pose = se3.exp([0.2, 0.3, -0.1, 0.1, 0.0, 0.2])
    here = tools.system(rod, foundation, pose)
    there = tools.system(rod, foundation, shift @ pose, turn=shift[:3, :3])
    R_here = inverse_dynamics(here, tools.state(here), INPUTS)
    R_there = inverse_dynamics(there, tools.state(there), INPUTS)
    assert largest(R_here - R_there) <= 1e-13 * largest(R_here)


def test_residual_does_not_see_where_the_base_stands(tools):
    """A translation of the clamp changes nothing, however far."""
    rod = tools.rod()
    near = tools.system(rod, pose=np.eye(4))
    far = tools.system(rod, pose=se3.pose(np.eye(3), [1e6, -2e6, 3e6]))
    np.testing.assert_array_equal(
        inverse_dynamics(near, tools.state(near)), inverse_dynamics(far, tools.state(far))
    )


def test_a_rod_that_keeps_its_shape_is_a_rigid_body(tools):
    """Straight and unstrained: the base rows are Newton-Euler of a uniform bar, I_c = ρI L + m L²/12."""
    L, radius, rho = 0.8, 0.03, 1200.0
    rod = er.Rod(L, er.Circle(radius), er.Material(1e6, rho, poisson=0.4), er.Legendre(bending=0, torsion=1))
    system = System(me.Mechanism.free(rod), loads=[en.Gravity()])
    still = tools.state(system)
    state = still.with_(q=[0.0], q_dot=[0.0], q_ddot=[0.0], g=se3.exp([0.4, 0.2, -0.7, 0.1, 0.2, 0.3]))
    m, I = rho * np.pi * radius**2 * L, rho * np.pi * radius**4 / 4.0 * L
    centre = np.array([L / 2.0, 0.0, 0.0])
    I_c = np.diag([2.0 * I, I + m * L**2 / 12.0, I + m * L**2 / 12.0])
    # Euler's and Newton's equations at the mass centre, moved to the base
    omega, v = state.eta[:3], state.eta[3:]
    omega_dot, v_dot = state.eta_dot[:3], state.eta_dot[3:]
    acceleration = v_dot + np.cross(omega, v) + np.cross(omega_dot, centre)
    acceleration += np.cross(omega, np.cross(omega, centre))
    force = m * (acceleration - state.g[:3, :3].T @ [0.0, 0.0, -9.81])
    moment = I_c @ omega_dot + np.cross(omega, I_c @ omega) + np.cross(centre, force)
    expected = np.concatenate([moment, force])
    found = inverse_dynamics(system, state)[:6]
    assert largest(found - expected) <= 1e-12 * largest(expected)


def test_a_stiff_rod_falls_like_a_rigid_body():
    """Held at nothing and released without spin, it falls freely and does not bend."""
    stiff = er.Rod(0.5, er.Circle(0.02), er.Material(2e11, 7800.0, poisson=0.3), er.Legendre.kirchhoff(3))
    system = System(me.Mechanism.free(stiff, se3.exp([0.3, 0.5, -0.2, 0.0, 0.0, 1.0])), loads=[en.Gravity()])
    start = system.rest().with_(eta=np.array([0.0, 0.0, 0.0, 0.3, -0.2, 0.5]))
    after = forward_dynamics(system, start)
    expected = np.concatenate([np.zeros(3), start.g[:3, :3].T @ [0.0, 0.0, -9.81]])
    np.testing.assert_allclose(after.eta_dot, expected, atol=1e-10)
    np.testing.assert_allclose(after.q_ddot, 0.0, atol=1e-8)


# Forward dynamics -------------------------------------------------------------------------------------------

TIP_HELD = (me.Hold(at="tip", position=(0.5, 0.1, 0.2), orientation=so3.exp([0.3, 0.2, -0.1])),)


@pytest.mark.parametrize("foundation", FOUNDATIONS)
@pytest.mark.parametrize("holds", [(), TIP_HELD])
def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(tools, foundation, holds):
    system = tools.system(foundation=foundation, holds=holds)
    state = tools.state(system)
    after = forward_dynamics(system, state, INPUTS)
    still = after.with_(q_ddot=0.0 * after.q_ddot, multipliers=0.0 * after.multipliers)
    scale = largest(inverse_dynamics(system, still, INPUTS))  # what the accelerations balance
    assert largest(inverse_dynamics(system, after, INPUTS)) <= 1e-10 * scale
    # any other acceleration needs M times the difference
    moved = after.with_(q_ddot=after.q_ddot + 1.0)
    M = mass_matrix(system, state)
    expected = M[:, -system.rod.n :].sum(axis=1)
    assert largest(inverse_dynamics(system, moved, INPUTS) - expected) <= 1e-10 * scale


def test_accelerations_keep_a_hold_closed(tools):
    """d²Ψ/dt² = 0 along the motion that forward dynamics starts."""
    system = tools.system(foundation="free", holds=TIP_HELD)
    after = forward_dynamics(system, tools.state(system), INPUTS)
    core = Core(system)
    u = system.input_vector(system.signals(INPUTS), 0.0)

    def closure_rate(t):
        moved = tools.along(after, t)
        J = core.tangent(arrays(moved), u, (1.0, 0.0, 0.0))[core.coordinates :, : core.coordinates]
        return J @ np.concatenate([moved.eta, moved.q_dot])

    second = tools.difference(closure_rate)
    assert largest(second) <= 1e-6 * largest(after.q_ddot)


def test_tangent_inverse_dynamics_is_a_first_order_model(tools):
    system = tools.system()
    state = tools.state(system)
    model = tangent_inverse_dynamics(system, state, INPUTS)
    np.testing.assert_array_equal(model.Q, inverse_dynamics(system, state, INPUTS))
    np.testing.assert_array_equal(model.dQ_dq_ddot, mass_matrix(system, state))
    rng = np.random.default_rng(3)
    d, d_dot = rng.standard_normal((2, system.rod.n))
    moved = lambda h: inverse_dynamics(  # noqa: E731
        system, state.with_(q=state.q + h * d, q_dot=state.q_dot + h * d_dot), INPUTS
    )
    expected = tools.difference(moved)
    assert largest(model.dQ_dq @ d + model.dQ_dq_dot @ d_dot - expected) <= 1e-9 * largest(expected)
