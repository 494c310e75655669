"""The singular linear-quadratic problem of a rod: the acceptance experiments of Le Vey 2006, in both frames.

G. Le Vey, "Newton-Euler formalism of a Cosserat beam from optimal control" (2006); F. Boyer et al. (2023), appendix 2;
W. Khalil et al. (2007) for chains of links. The source is inertial and linear first: (r̈; ω̇), λ = (n; M) = -(RN; RC).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebfit, chebval
from scipy.integrate import solve_ivp

import elver as ev
from elver.lie import integration, se3, so3
from elver.numerics.differences import FIRST, OFFSETS, SECOND
from elver.one_rod.sweeps.inverse import StrainMotion, stress_of_motion
from elver.one_rod.sweeps.singular_rods import inertial_problem, rod_problem, system_problem
from elver.one_rod.sweeps.singular_sweep import (
    SingularProblem,
    condition,
    solve_by_collocation,
    solve_by_riccati,
    solve_by_superposition,
)

from ..dynamics import khalil_reference as khalil

TIP = np.array([0.1, 0.2, -0.1, 0.3, 0.1, -0.2])  # tip wrench of Boyer 2023, section 2.5 of the notes: N m, N
TIME = 0.3


class Bar:
    """Length 1 m, ρA = 1 kg/m, ρI of the sections as given; only its inertia matters here."""

    length, component = 1.0, (0, 1, 2)

    def __init__(self, rotary):
        self.diagonal = np.array([*rotary, 1.0, 1.0, 1.0])

    @classmethod
    def circular(cls, slenderness):
        """Radius r = 1 m / slenderness: ρI = r²/4 diag(2, 1, 1)."""
        return cls(0.25 / slenderness**2 * np.array([2.0, 1.0, 1.0]))

    def inertia(self, s):
        return np.tile(self.diagonal, (len(s), 1))

    def stiffness(self, s):
        return np.zeros((len(s), 6))

    def rest_strain(self, s):
        return np.tile((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), (len(s), 1))


THIN = Bar((0.02, 0.01, 0.01))


def curvature(s, *columns, stretch=0.0):
    """(n, 6) of three curvatures and Γ_x."""
    return np.stack([np.broadcast_to(c, s.shape) for c in (*columns, stretch, 0.0, 0.0)], axis=1).astype(float)


def waving(t):
    """K = (0.3 sin t, sin(2πs - t), 0.5 s cos t) with its rates: experiment 1."""
    return StrainMotion(
        lambda s: curvature(s, 0.3 * np.sin(t), np.sin(2 * np.pi * s - t), 0.5 * s * np.cos(t), stretch=1.0),
        lambda s: curvature(s, 0.3 * np.cos(t), -np.cos(2 * np.pi * s - t), -0.5 * s * np.sin(t)),
        lambda s: curvature(s, -0.3 * np.sin(t), -np.sin(2 * np.pi * s - t), -0.5 * s * np.cos(t)),
    )


def planar(t):
    """Only K_z = sin(2πs - t)."""
    return StrainMotion(
        lambda s: curvature(s, 0.0, 0.0, np.sin(2 * np.pi * s - t), stretch=1.0),
        lambda s: curvature(s, 0.0, 0.0, -np.cos(2 * np.pi * s - t)),
        lambda s: curvature(s, 0.0, 0.0, -np.sin(2 * np.pi * s - t)),
    )


BENT = StrainMotion(  # motion of Boyer 2023, section 2.5 of the notes
    lambda s: curvature(s, 0.3 * np.sin(s), np.sin(2 * s + 0.3), s / 2, stretch=1.0),
    lambda s: curvature(s, 0.2 * np.cos(3 * s), -np.cos(2 * s), 0.4 * s**2),
    lambda s: curvature(s, np.sin(s), 0.7 * np.cos(4 * s), -s),
)


def swept(motion, bar, **options):
    return stress_of_motion(bar, motion, **{"eta_dot": np.zeros(6), **options})


def couple_of(found):
    """C(s) as a polynomial through the result."""
    coefficients = chebfit(2.0 * found.s - 1.0, found.stress[:, :3], 28)
    return lambda s: chebval(2.0 * s - 1.0, coefficients).T


@cache
def bent(slenderness, frame="body", free=False):
    """The forward problem whose answer is K̈ of BENT."""
    bar = Bar.circular(slenderness)
    found = swept(BENT, bar, tip_wrench=TIP, eta_dot=None if free else np.zeros(6))
    make = rod_problem if frame == "body" else inertial_problem
    options = {("eta_dot" if frame == "body" else "start"): None} if free else {}
    return make(1.0, BENT.xi, BENT.xi_dot, bar.inertia, couple_of(found), tip_wrench=TIP, nodes=32, **options)


def error(solution, R=None):
    """Largest error of K̈; in inertial axes the control is RK̈."""
    wanted = BENT.xi_ddot(solution.s)[:, :3]
    if R is not None:
        g = integration.magnus(BENT.xi, solution.s)
        wanted = np.einsum("sij,sj->si", g[:, :3, :3], wanted)
    return np.max(np.abs(solution.control - wanted))


# 1. Kinematics --------------------------------------------------------------------------------------------------


def test_accelerations_are_second_differences_of_the_shape():
    """Experiment 1: (r̈, ω̇) of the equations along s against differences in time of integrated shapes, 1e-6."""
    found = swept(waving(TIME), THIN)
    R = found.g[:, :3, :3]
    V, Omega = found.eta[:, 3:], found.eta[:, :3]
    r_ddot = np.einsum("sij,sj->si", R, found.eta_dot[:, 3:] + np.cross(Omega, V))
    omega_dot = np.einsum("sij,sj->si", R, found.eta_dot[:, :3])

    h = 1e-2
    nodes = np.unique(np.concatenate([found.s, np.linspace(0.0, 1.0, 201)]))
    shapes = np.array([integration.magnus(waving(TIME + k * h).xi, nodes) for k in OFFSETS])
    g_ddot = np.tensordot(SECOND, shapes, axes=1)[np.searchsorted(nodes, found.s)] / h**2
    turned = so3.vee(g_ddot[:, :3, :3] @ np.swapaxes(R, -1, -2))  # skew part of R̈Rᵀ is ω̇
    assert np.max(np.abs(r_ddot - g_ddot[:, :3, 3])) < 1e-6 * np.max(np.abs(r_ddot))
    assert np.max(np.abs(omega_dot - turned)) < 1e-6 * np.max(np.abs(omega_dot))


# 2. Backward ----------------------------------------------------------------------------------------------------


def test_backward_pass_is_the_balance_of_momentum():
    """Experiment 2: n(0) = ∫ρA r̈ ds and M(0) = d/dt of angular momentum about the base, 1e-8."""

    def momentum(t):
        found = swept(waving(t), THIN)
        return np.einsum("s,sij,sj->i", found.weights, se3.coAd(found.g), THIN.diagonal * found.eta)

    h = 1e-2
    rate = np.tensordot(FIRST, [momentum(TIME + k * h) for k in OFFSETS], axes=1) / h
    found = swept(waving(TIME), THIN)
    at_base = -found.stress[0]  # (M, n): the base stands at the identity
    assert at_base == pytest.approx(rate, abs=1e-8)


# 3. Corotational ------------------------------------------------------------------------------------------------


def couple_at_base(motion, printed):
    """M(0) of eq. 11 by an adaptive method from the tip; ``printed`` with the term k×M."""
    found = swept(motion, THIN)
    degree = 40

    def smooth(field):
        coefficients = chebfit(2.0 * found.s - 1.0, field.reshape(len(found.s), -1), degree)
        return lambda s: chebval(2.0 * s - 1.0, coefficients)

    R = found.g[:, :3, :3]
    turn = lambda x: np.einsum("sij,sj->si", R, x)  # noqa: E731
    Omega, V = found.eta[:, :3], found.eta[:, 3:]
    rI = R @ (THIN.diagonal[:3, None] * np.swapaxes(R, -1, -2))
    omega, omega_dot = turn(Omega), turn(found.eta_dot[:, :3])
    inertial = np.einsum("sij,sj->si", rI, omega_dot) + np.cross(omega, np.einsum("sij,sj->si", rI, omega))
    fields = [turn(found.eta_dot[:, 3:] + np.cross(Omega, V)), R[:, :, 0], turn(found.xi[:, :3]), inertial]
    all_of = smooth(np.hstack(fields))

    def rate(s, y):
        r_ddot, t, k, inertia = all_of(s).reshape(4, 3)
        n, M = y[:3], y[3:]
        return np.concatenate([-r_ddot, -np.cross(t, n) - inertia + (np.cross(k, M) if printed else 0.0)])

    run = solve_ivp(rate, (1.0, 0.0), np.zeros(6), method="DOP853", rtol=1e-12, atol=1e-14)
    return run.y[3:, -1], -found.stress[0][:3]


def test_printed_moment_balance_holds_in_the_plane_only():
    """Experiment 3: with k×M as printed M(0) is right in the plane and 3.8 % off in space."""
    as_printed, ours = couple_at_base(planar(TIME), printed=True)
    assert as_printed == pytest.approx(ours, abs=1e-10)
    corrected, ours = couple_at_base(waving(TIME), printed=False)
    assert corrected == pytest.approx(ours, abs=1e-10)
    as_printed, _ = couple_at_base(waving(TIME), printed=True)
    assert np.linalg.norm(as_printed - ours) / np.linalg.norm(ours) == pytest.approx(0.038, abs=0.001)


# 4. Round trip --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["body", "inertial"])
def test_riccati_sweep_returns_the_motion_of_a_very_thick_rod(frame):
    """Experiment 4 (1e-5) and Boyer 20 (1e-6) at l/r = 1."""
    found = solve_by_riccati(bent(1, frame))
    assert error(found, frame == "inertial" or None) < 1e-7
    assert found.optimality < 1e-9


@pytest.mark.parametrize("frame", ["body", "inertial"])
@pytest.mark.parametrize(("slenderness", "tolerance"), [(1, 1e-5), (2, 1e-5), (4, 1e-5), (6, 1e-4), (8, 1e-3)])
def test_superposition_returns_the_motion_of_a_thick_rod(frame, slenderness, tolerance):
    """Experiment 4 (1e-4 at l/r = 4) and Boyer 20 (1e-5 to l/r = 4, 1e-3 at 8)."""
    found = solve_by_superposition(bent(slenderness, frame))
    assert error(found, frame == "inertial" or None) < tolerance


@pytest.mark.parametrize("slenderness", [2, 4, 8])
def test_finite_escape_is_detected(slenderness):
    """Of the sweep for l/r >= 2, between s = 0.01 and 0.3 (notes on Boyer 2023, 2.5)."""
    with pytest.raises(ev.NotConverged, match="escapes to infinity at s = ") as caught:
        solve_by_riccati(bent(slenderness))
    escape = caught.value.result
    assert 0.01 < escape.where < 0.31
    assert np.all(escape.s >= escape.where)


@pytest.mark.parametrize(("slenderness", "tolerance"), [(4, 1e-6), (20, 1e-4), (50, 5e-3)])
def test_collocation_does_not_amplify(slenderness, tolerance):
    """Where marching is hopeless: what is left is (l/r)² times the rounding of the second derivative of the stress."""
    found = solve_by_collocation(bent(slenderness))
    assert error(found) < tolerance
    assert found.condition < 200.0 * slenderness**4


@pytest.mark.parametrize("solve", [solve_by_superposition, solve_by_riccati, solve_by_collocation])
def test_free_rod_returns_its_motion(solve):
    """Locomotor: Λ(0) = 0, and the acceleration of the base comes out too."""
    found = solve(bent(1, free=True))
    assert error(found) < 1e-6
    known = swept(BENT, Bar.circular(1), tip_wrench=TIP, eta_dot=None)
    assert found.state[0] == pytest.approx(known.eta_dot[0], abs=1e-6)


# 5. Frames ------------------------------------------------------------------------------------------------------


def test_inverse_sweeps_agree_in_both_frames():
    """Experiment 5: J, s of the rod carried to inertial axes are ζ, κ of ζ′ + ζF + Fᵀζ + Σ = 0, 1e-9.

    The state of the source is the classical acceleration r̈ = R(V̇ + Ω×V), so that κ = -Q s - ζ (R(Ω×V); 0) with
    Q = P diag(R, R) and P swapping halves.
    """
    motion = waving(TIME)
    found = swept(motion, THIN, tip_wrench=TIP)

    def rate(s, y):
        x = np.array([s])
        xi, xi_dot, xi_ddot = (f(x)[0, :3] for f in (motion.xi, motion.xi_dot, motion.xi_ddot))
        R, omega, zeta, kappa = y[:9].reshape(3, 3), y[9:12], y[12:48].reshape(6, 6), y[48:]
        t, rI = R[:, 0], R @ np.diag(THIN.diagonal[:3]) @ R.T
        F, Sigma = np.zeros((6, 6)), np.eye(6)
        F[:3, 3:], Sigma[3:, 3:] = -so3.hat(t), rI
        h = np.concatenate([np.cross(omega, np.cross(omega, t)), np.cross(omega, R @ xi_dot) + R @ xi_ddot])
        b = np.concatenate([np.zeros(3), np.cross(omega, rI @ omega)])
        return np.concatenate([
            (R @ so3.hat(xi)).ravel(), R @ xi_dot, -(zeta @ F + F.T @ zeta + Sigma).ravel(),
            -(F.T @ kappa + zeta @ h + b),
        ])  # fmt: skip

    R = found.g[-1, :3, :3]
    tip = -np.concatenate([R @ TIP[3:], R @ TIP[:3]])
    end = np.concatenate([R.ravel(), R @ found.eta[-1, :3], np.zeros(36), tip])
    back = solve_ivp(rate, (1.0, 0.0), end, method="DOP853", t_eval=found.s[::-1], rtol=1e-12, atol=1e-14)
    zeta, kappa = back.y[12:48].T[::-1].reshape(-1, 6, 6), back.y[48:].T[::-1]

    R = found.g[:, :3, :3]
    Q = np.zeros((len(R), 6, 6))
    Q[:, :3, 3:] = Q[:, 3:, :3] = R
    ours = Q @ found.composite_inertia @ np.swapaxes(Q, -1, -2)
    classical = np.zeros((len(R), 6))
    classical[:, :3] = np.einsum("sij,sj->si", R, np.cross(found.eta[:, :3], found.eta[:, 3:]))
    bias = -np.einsum("sij,sj->si", Q, found.bias) - np.einsum("sij,sj->si", ours, classical)
    assert ours == pytest.approx(zeta, abs=1e-9)
    assert bias == pytest.approx(kappa, abs=1e-9)
    assert ours[0] == pytest.approx(ours[0].T, abs=1e-13)
    assert np.all(np.linalg.eigvalsh(ours[0]) > 0.0)
    assert ours[0, :3, :3] == pytest.approx(np.eye(3), abs=1e-12)  # mass 1 kg


# 6. Conditioning ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slenderness", "measured"), [(1, 5.0), (2, 2e3), (4, 4e3), (6, 1.5e5), (8, 6.5e6)])
def test_condition_number_follows_the_law(slenderness, measured):
    """Experiment 6: ln(cond) = 2 l/r within 10 % for l/r = 4, 6, 8, and the numbers of the notes on Boyer 2023, 2.5."""
    found = condition(bent(slenderness))
    assert found == pytest.approx(measured, rel=0.15)
    if slenderness >= 4:
        assert np.log(found) == pytest.approx(2.0 * slenderness, rel=0.1)
        assert 1.0 / 3.0 < found / np.exp(2.0 * slenderness) < 3.0
    assert bent(slenderness).growth == pytest.approx(2.0 * slenderness, rel=0.03)


def test_hopeless_rods_are_refused():
    """Boyer 20: l/r = 20 is refused; the message says why and what to use."""
    with pytest.raises(ev.NotConverged, match=r"exp\(40\) = 1e17.*L/r = 20.*solve_by_collocation"):
        solve_by_superposition(bent(20))
    assert condition(bent(20)) > 1e12


# 7. Discrete limit ----------------------------------------------------------------------------------------------


def chain(links, K, K_dot, K_ddot, bar=THIN):
    """Planar chain of ``links`` + 1 rigid links: joints in the middle of equal parts, half links at both ends."""
    N, h = links, 1.0 / links
    length = np.full(N + 1, h)
    length[[0, -1]] = 0.5 * h
    start = np.concatenate([[0.0], (np.arange(N) + 0.5) * h])
    mass, middle = length.copy(), np.zeros((N + 1, 3))
    middle[:, 0] = 0.5 * length
    spread = length[:, None] * bar.diagonal[:3] + mass[:, None] * np.outer(length**2, (0.0, 1.0, 1.0)) / 3.0
    zero = np.zeros(N)
    eel = khalil.Eel(
        alpha=zero, d=np.diff(start), q0=zero, r=zero, mass=mass, first_moment=mass[:, None] * middle,
        inertia=spread[:, :, None] * np.eye(3), Fs=zero, Fv=zero, Ia=zero, wet=np.zeros(N + 1, dtype=bool),
        length=length, middle=middle, fluid_axes=np.tile(np.eye(3), (N + 1, 1, 1)), C_ld=np.zeros((N + 1, 3)),
        C_ad=np.zeros(N + 1), C_lm=np.zeros((N + 1, 3)), C_am=np.zeros(N + 1), gravity=np.zeros(3),
        displaced_mass=np.zeros(N + 1), centre_of_buoyancy=np.zeros((N + 1, 3)),
    )  # fmt: skip
    return eel, start[1:], tuple(h * f(start[1:])[:, 2] for f in (K, K_dot, K_ddot))


@pytest.mark.parametrize("free", [False, True])
def test_chains_of_links_converge_to_the_rod(free):
    """Experiment 7 and Boyer 21: torques of Khalil's composite recursion, N = 8 … 128, of order 2."""
    motion = planar(TIME)
    found = swept(motion, THIN, eta_dot=None if free else np.zeros(6))
    couple = couple_of(found)
    errors = []
    for N in (8, 16, 32, 64, 128):
        eel, at, (q, q_dot, q_ddot) = chain(N, motion.xi, motion.xi_dot, motion.xi_ddot)
        if free:
            torques = khalil.inverse(eel, q, q_dot, q_ddot, np.zeros(6)).torques
        else:
            torques = khalil.newton_euler(eel, q, q_dot, q_ddot, np.zeros(6), np.zeros(6))[1]
        errors.append(np.max(np.abs(torques + couple(at)[:, 2])))  # f_j acts on the link beyond: minus Λ
    order = -np.polyfit(np.log([8, 16, 32, 64, 128]), np.log(errors), 1)[0]
    assert order == pytest.approx(2.0, abs=0.15)
    assert errors[-1] < 2e-4 * np.max(np.abs(found.stress[:, 2]))


def test_spatial_chain_of_links_converges_to_the_rod():
    """The same in space with ball joints: relative rotation exp(hK), rate dexp(hK) hK̇."""
    motion = waving(TIME)
    couple = couple_of(swept(motion, THIN))
    errors = []
    for N in (16, 32, 64, 128):
        h = 1.0 / N
        at = (np.arange(N) + 0.5) * h
        theta, rate, second = (h * f(at)[:, :3] for f in (motion.xi, motion.xi_dot, motion.xi_ddot))
        length = np.full(N + 1, h)
        length[[0, -1]] = 0.5 * h
        # forward: twists of the joint frames
        eta, eta_dot, X = np.zeros((N + 1, 6)), np.zeros((N + 1, 6)), []
        for j in range(N):
            g = se3.pose(so3.exp(theta[j]), (length[j], 0.0, 0.0))
            X.append(se3.Ad(se3.inverse(g)))
            joint = np.concatenate([so3.dexp(theta[j]) @ rate[j], np.zeros(3)])
            joint_dot = so3.dexp(theta[j]) @ second[j] + so3.d_dexp(theta[j], rate[j]) @ rate[j]
            eta[j + 1] = X[j] @ eta[j] + joint
            eta_dot[j + 1] = X[j] @ eta_dot[j] + se3.ad(eta[j + 1]) @ joint
            eta_dot[j + 1, :3] += joint_dot
        # backward: wrenches on each link by the one before
        F, torques = np.zeros(6), np.zeros((N, 3))
        for j in reversed(range(1, N + 1)):
            l = length[j]
            J = np.diag(l * THIN.diagonal)
            shift = se3.Ad(se3.inverse(se3.pose(np.eye(3), (0.5 * l, 0.0, 0.0))))
            J[1, 1] += l**3 / 12.0
            J[2, 2] += l**3 / 12.0
            J = shift.T @ J @ shift
            F = J @ eta_dot[j] - se3.ad(eta[j]).T @ J @ eta[j] + (X[j].T @ F if j < N else 0.0)
            torques[j - 1] = so3.exp(0.5 * theta[j - 1]) @ F[:3]  # the section stands halfway through the joint
        errors.append(np.max(np.abs(torques + couple(at))))
    order = -np.polyfit(np.log([16, 32, 64, 128]), np.log(errors), 1)[0]
    assert order == pytest.approx(2.0, abs=0.15)


# Systems and bad input ------------------------------------------------------------------------------------------


def thick_rod(**changes):
    jelly = ev.Material(young=1e3, poisson=0.4, density=1000.0, damping=0.01)
    return ev.Rod(0.4, ev.Circle(0.1), jelly, ev.Legendre.kirchhoff(3), name="rod", nodes=40, **changes)


@pytest.mark.filterwarnings("ignore::elver.errors.UnitWarning")  # thick on purpose: sweeps solve only short rods
def test_problem_of_a_system():
    """Muscles that carry the stress of a motion return its q̈; a tendon does not fit a smooth motion and is refused."""
    rod = thick_rod(rest=(0.2, 0.5, -0.3))
    rng = np.random.default_rng(1)
    q, q_dot, q_ddot = rng.normal(size=(3, rod.n))
    gravity = ev.Gravity((1.0, -3.0, -9.0))
    state = ev.System(ev.Mechanism.clamped(rod)).rest().with_(q=q, q_dot=q_dot, q_ddot=q_ddot)
    found = stress_of_motion(
        rod, StrainMotion.of(rod, q, q_dot, q_ddot), base=state.g, eta_dot=np.zeros(6), gravity=gravity.acceleration
    )
    coefficients = chebfit(2.0 * found.s / rod.length - 1.0, found.stress_act[:, :3], 24)
    muscle = ev.Muscle(rod, torque=lambda s: chebval(2.0 * s / rod.length - 1.0, coefficients).T)
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[muscle], loads=[gravity])
    problem = system_problem(system, state, inputs={muscle: 1.0}, nodes=28)
    answer = solve_by_collocation(problem)
    wanted = StrainMotion.of(rod, q, q_dot, q_ddot).xi_ddot(answer.s)[:, :3]
    assert np.max(np.abs(answer.control - wanted)) < 1e-5 * np.max(np.abs(wanted))

    tendon = ev.Tendon(rod, path=ev.parallel(y=0.05))
    pulled = ev.System(ev.Mechanism.clamped(rod), actuators=[tendon], loads=[gravity])
    with pytest.raises(ev.NotConverged, match="no smooth motion carries it"):
        solve_by_collocation(system_problem(pulled, state, inputs={tendon: 1.0}, nodes=28))


def test_wrong_data_are_named():
    good = bent(1)
    with pytest.raises(ev.BadInput, match="6 conditions"):
        SingularProblem(1.0, good.F, good.G, good.h, good.Sigma, good.b, good.c, good.end_costate)
    massless = rod_problem(1.0, BENT.xi, BENT.xi_dot, Bar((0.0, 0.1, 0.1)).inertia, lambda s: np.zeros((len(s), 3)))
    with pytest.raises(ev.BadInput, match="has no inertia behind it"):
        solve_by_superposition(massless)
    with pytest.raises(ev.BadInput, match="one column per free strain"):
        rod_problem(1.0, BENT.xi, BENT.xi_dot, THIN.inertia, lambda s: np.zeros((len(s), 2)))
    stretched = lambda s: BENT.xi(s) + curvature(s, 0, 0, 0, stretch=0.1)  # noqa: E731
    with pytest.raises(ev.BadInput, match="without stretch and shear"):
        inertial_problem(1.0, stretched, BENT.xi_dot, THIN.inertia, lambda s: np.zeros((len(s), 3)))
