"""The schemes by themselves: order, damping at high frequency, exactness for constant acceleration, rigid motion."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import elver as ev
from elver.analytic import free_rigid_body
from elver.integrators import OneStep
from elver.kernels.build.schemes import SCHEMES
from elver.lie import so3

FAMILY = {
    "newmark": ev.Newmark(),
    "hht 0.5": ev.HHT(rho_inf=0.5),
    "hht 0.8": ev.HHT(),
    "generalized-alpha 0": ev.GeneralizedAlpha(rho_inf=0.0),
    "generalized-alpha 0.6": ev.GeneralizedAlpha(rho_inf=0.6),
    "generalized-alpha 1": ev.GeneralizedAlpha(rho_inf=1.0),
}


def amplification(method: OneStep, omega_h: float) -> np.ndarray:
    """3x3 map of (x, h ẋ, h² A) over one step of ẍ = -ω² x, straight from the definition of generalized-α.

    x₊ = x + hẋ + h²((½-β)A + βA₊),  hẋ₊ = hẋ + h²((1-γ)A + γA₊),
    (1-α_m)A₊ + α_m A = (1-α_f)ẍ₊ + α_f ẍ.
    """
    beta, gamma, alpha_m, alpha_f = method.scheme
    k = omega_h**2
    after = np.array([[1.0, 0.0, -beta], [0.0, 1.0, -gamma], [(1.0 - alpha_f) * k, 0.0, 1.0 - alpha_m]])
    before = np.array([[1.0, 1.0, 0.5 - beta], [0.0, 1.0, 1.0 - gamma], [-alpha_f * k, 0.0, -alpha_m]])
    return np.linalg.solve(after, before)


@pytest.mark.parametrize("rho_inf", [0.0, 0.5, 0.6, 1.0])
def test_generalized_alpha_leaves_rho_inf_of_a_high_frequency(rho_inf: float) -> None:
    matrix = amplification(ev.GeneralizedAlpha(rho_inf=rho_inf), 1e5)
    # a triple root: rounding of 1e-16 becomes its cube root
    assert np.max(np.abs(np.linalg.eigvals(matrix))) == pytest.approx(rho_inf, abs=1e-3)


@pytest.mark.parametrize("rho_inf", [0.5, 0.8, 1.0])
def test_hht_leaves_rho_inf_of_a_high_frequency(rho_inf: float) -> None:
    matrix = amplification(ev.HHT(rho_inf=rho_inf), 1e5)
    assert np.max(np.abs(np.linalg.eigvals(matrix))) == pytest.approx(rho_inf, abs=1e-3)


@pytest.mark.parametrize("name", FAMILY)
def test_no_frequency_grows(name: str) -> None:
    for omega_h in np.geomspace(1e-2, 1e4, 61):
        radius = np.max(np.abs(np.linalg.eigvals(amplification(FAMILY[name], omega_h))))
        assert radius <= 1.0 + 1e-6  # rounding at a multiple root


def oscillator() -> tuple[ev.System, float]:
    """One planar mode: as long as the bend is small, a scalar oscillator; system and ω [rad/s]."""
    rod = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=1e8, poisson=0.3, density=1e3), ev.Legendre.planar(1))
    system = ev.System(ev.Mechanism.clamped(rod))
    return system, 2.0 * np.pi * float(ev.modes(system, system.rest()).frequencies[0])


@pytest.mark.parametrize("name", FAMILY)
def test_a_small_oscillation_follows_the_amplification_matrix(name: str) -> None:
    system, omega = oscillator()
    step = 0.7 / omega
    start = system.rest().with_(q=np.array([1e-6]))
    run = ev.simulate(system, start, 40 * step, step, FAMILY[name])
    # so small a vibration begins with its consistent acceleration: see the filtered start
    state, expected = np.array([1e-6, 0.0, -((omega * step) ** 2) * 1e-6]), []
    for _ in range(41):
        expected.append(state[0])
        state = amplification(FAMILY[name], omega * step) @ state
    # 40 steps, each solved by Newton to 1e-12; terms beyond the linear ones are 1e-12 of the amplitude
    np.testing.assert_allclose(run["q"].values[:, 0], expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", FAMILY)
def test_order_two_on_a_scalar_oscillator(name: str, make: SimpleNamespace) -> None:
    method, errors = FAMILY[name], []
    for steps in (100, 200, 400, 800):
        h = 5.0 / steps
        state = np.array([1.0, 0.0, -(h**2)])
        for _ in range(steps):
            state = amplification(method, h) @ state
        errors.append(abs(state[0] - np.cos(5.0)) + abs(state[1] / h + np.sin(5.0)))
    assert make.observed_order(errors) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
@pytest.mark.parametrize("method", [ev.Newmark, ev.HHT, ev.GeneralizedAlpha, ev.ImplicitMidpoint, ev.GaussLegendre4])
def test_free_fall_is_exact(method: type, group: str) -> None:
    """A constant acceleration of a free rod, here 9.81 m/s², is reproduced to rounding."""
    rod = ev.Rod(0.5, ev.Circle(0.01), ev.Material(young=1e6, poisson=0.4, density=1e3), ev.Legendre.kirchhoff(2))
    system = ev.System(ev.Mechanism.free(rod), loads=[ev.Gravity()])
    run = ev.simulate(system, duration=2.0, step=0.1, method=method(group=group))
    t = run["time"].values
    np.testing.assert_allclose(run["rod/tip/position"].values[:, 2], -0.5 * 9.81 * t**2, atol=1e-9)
    assert np.abs(run["q"].values).max() < 1e-9


def rigid_stick(stiffer: float) -> tuple[ev.System, ev.State, np.ndarray]:
    """A rod so stiff in one planar mode that it moves as a body with three different moments of inertia."""
    section = ev.Section(area=1e-4, I_y=4e-6, I_z=1e-6, torsion_constant=1e-6)
    material = ev.Material(young=1e6 * stiffer, shear=1e6 * stiffer, density=1e3)
    rod = ev.Rod(0.5, section, material, ev.Legendre.planar(1))
    mass, L = 1e3 * 1e-4 * 0.5, 0.5
    rotary = 1e3 * L * np.array([5e-6, 4e-6, 1e-6])
    inertia = rotary + mass * L**2 / 12.0 * np.array([0.0, 1.0, 1.0])
    system = ev.System(ev.Mechanism.free(rod))
    omega = np.array([0.6, 3.0, 0.6])
    # the mass centre rests: V of the base end is Ω × (-L/2, 0, 0)
    eta = np.concatenate([omega, np.cross(omega, [-0.5 * L, 0.0, 0.0])])
    return system, system.rest().with_(eta=eta), inertia


@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
@pytest.mark.parametrize("method", [ev.Newmark, ev.GeneralizedAlpha, ev.ImplicitMidpoint, ev.GaussLegendre4])
def test_a_stiff_rod_turns_like_a_free_rigid_body(method: type, group: str, make: SimpleNamespace) -> None:
    """With no strain to speak of, the error is that of the group: its order shows alone."""
    system, start, inertia = rigid_stick(1e6)
    _, R = free_rigid_body(inertia, start.eta[:3], [0.0, 2.0])
    scheme, errors = method(group=group), []
    for step in (0.1, 0.05, 0.025) if scheme.order == 4 else (0.04, 0.02, 0.01, 0.005):
        run = ev.simulate(system, start, 2.0, step, scheme)
        ours = so3.from_quaternion(run["rod/orientation"].values[-1, 0])
        errors.append(float(np.linalg.norm(so3.log(R[1].T @ ours))))
        energy = run["energy/total"].values
        assert np.ptp(energy) < 3.0 * step**2 * energy[0]  # bounded, and of the order of the scheme
    assert make.observed_order(errors) == pytest.approx(scheme.order, abs=0.05 if scheme.order == 2 else 0.15)


def test_the_root_integrator_keeps_momentum_as_boyer_demands() -> None:
    """Boyer 2023, acceptance 15: inertia diag(1, 2, 3), Ω = (0.1, 1, 0.1), 1000 steps of 10 ms."""
    length, area = 1.0, 1e-6
    # rotary inertia of the section gives the body its three moments; the mass of the line adds 1e-4 of them
    section = ev.Section(area=area, I_y=2e-3, I_z=3e-3, torsion_constant=1e-3, I_polar=1e-3)
    material = ev.Material(young=1e12, shear=1e12, density=1e3)
    rod = ev.Rod(length, section, material, ev.Legendre.planar(1))
    system = ev.System(ev.Mechanism.free(rod))
    omega = np.array([0.1, 1.0, 0.1])
    eta = np.concatenate([omega, np.cross(omega, [-0.5 * length, 0.0, 0.0])])
    run = ev.simulate(system, system.rest().with_(eta=eta), 10.0, 0.01)
    start = np.array([0.5 * length, 0.0, 0.0])
    H = run["momentum"].values[:, :3] - np.cross(start, run["momentum"].values[:, 3:])
    size = np.linalg.norm(H, axis=1)
    assert np.max(np.abs(size / size[0] - 1.0)) < 1e-5
    assert np.max(np.linalg.norm(H - H[0], axis=1)) < 3e-5 * size[0]
    energy = run["energy/total"].values
    assert np.max(np.abs(energy / energy[0] - 1.0)) < 2e-5


def test_a_family_is_what_is_declared_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is declared with the kernels of another runs as that one, and nothing else knows its name."""

    class Other(ev.Newmark):
        family = "declared by a test"

    monkeypatch.setitem(SCHEMES, Other.family, SCHEMES["one-step"]._replace(words=""))
    link = ev.RigidBody(1.0, (1e-2, 2e-2, 3e-2), (0.1, 0.0, 0.0), name="link")
    system = ev.System(ev.Mechanism([ev.Revolute("world", link, axis="y")]), loads=[ev.Gravity()])
    known, declared = (ev.simulate(system, None, 0.1, 5e-3, method) for method in (ev.Newmark(), Other()))
    np.testing.assert_array_equal(declared["q"].values, known["q"].values)
