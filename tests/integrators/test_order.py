"""Observed order of every method on clamped, free and driven rods, and what it keeps of energy and momentum."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import elver as ev

# Methods that damp reach their order once the fastest mode (16 Hz of torsion) is resolved, the others before.
METHODS = {
    "newmark": (ev.Newmark, {}, (0.01, 0.005, 0.0025)),
    "hht": (ev.HHT, {"rho_inf": 0.7}, (0.004, 0.002, 0.001)),
    "generalized-alpha": (ev.GeneralizedAlpha, {"rho_inf": 0.6}, (0.004, 0.002, 0.001)),
    "midpoint": (ev.ImplicitMidpoint, {}, (0.01, 0.005, 0.0025)),
    "gauss 4": (ev.GaussLegendre4, {}, (0.02, 0.01, 0.005)),
}


def shaken_rod() -> tuple[ev.System, ev.State]:
    """A rod whose base turns about y and moves along x and z, with exact rates."""

    def turn(t: float) -> np.ndarray:
        c, s = np.cos(0.4 * np.sin(5.0 * t)), np.sin(0.4 * np.sin(5.0 * t))
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])

    def pose(t: float) -> np.ndarray:
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = turn(t), (0.05 * np.sin(4.0 * t), 0.0, 0.1 * t**2)
        return g

    def twist(t: float) -> np.ndarray:
        v = turn(t).T @ (0.2 * np.cos(4.0 * t), 0.0, 0.2 * t)
        return np.array([0.0, 2.0 * np.cos(5.0 * t), 0.0, *v])

    def rate(t: float) -> np.ndarray:
        eta = twist(t)
        v_dot = turn(t).T @ (-0.8 * np.sin(4.0 * t), 0.0, 0.2) - np.cross(eta[:3], eta[3:])
        return np.array([0.0, -10.0 * np.sin(5.0 * t), 0.0, *v_dot])

    material = ev.Material(young=1e6, poisson=0.4, density=1e3)
    rod = ev.Rod(1.0, ev.Circle(0.03), material, ev.Legendre(bending=2, torsion=1))
    system = ev.System(ev.Mechanism.driven(rod, ev.Motion(pose, twist, rate)), loads=[ev.Gravity()])
    return system, system.rest().with_(q=np.array([0.3, 0.8, -0.3, 0.5, 0.4]))


def end(run: xr.Dataset) -> np.ndarray:
    """Positions of all nodes, and the velocities of the strains, at the end."""
    return np.concatenate([run["rod/position"].values[-1].ravel(), 0.1 * run["q_dot"].values[-1]])


@pytest.fixture(scope="module")
def cases(make: SimpleNamespace) -> dict[str, tuple[ev.System, ev.State, np.ndarray]]:
    """Each rod with where it is after 0.2 s, by steps of 0.25 ms of order four."""
    rods = {"clamped": make.swinging_rod(), "free": make.tossed_rod(), "driven": shaken_rod()}
    return {name: (*rod, end(ev.simulate(*rod, 0.2, 2.5e-4, ev.GaussLegendre4()))) for name, rod in rods.items()}


@pytest.mark.parametrize("case", ["clamped", "free on SO3xR3", "free on SE3", "driven"])
@pytest.mark.parametrize("name", METHODS)
def test_order(name: str, case: str, cases: dict, make: SimpleNamespace) -> None:
    system, start, exact = cases[case.split()[0]]
    method, options, steps = METHODS[name]
    method = method(group="SE3" if case.endswith("SE3") else "SO3xR3", **options)
    errors = [float(np.linalg.norm(end(ev.simulate(system, start, 0.2, h, method)) - exact)) for h in steps]
    assert make.observed_order(errors) == pytest.approx(method.order, abs=0.15)


@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
@pytest.mark.parametrize(("method", "order"), [(ev.Newmark, 2), (ev.GaussLegendre4, 4)])
@pytest.mark.filterwarnings("ignore:simulate. energy")
def test_energy_error_of_a_free_rod_falls_with_the_order(
    method: type, order: int, group: str, make: SimpleNamespace
) -> None:
    system, start = make.tossed_rod()
    errors = []
    for step in (0.02, 0.01, 0.005):
        energy = ev.simulate(system, start, 1.0, step, method(group=group))["energy/total"].values
        errors.append(float(np.max(np.abs(energy - energy[0]))))
    assert make.observed_order(errors) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
@pytest.mark.parametrize(("method", "order"), [(ev.Newmark, 2), (ev.ImplicitMidpoint, 2), (ev.GaussLegendre4, 4)])
@pytest.mark.filterwarnings("ignore:simulate. energy")
def test_momentum_error_of_a_free_rod_falls_with_the_order(
    method: type, order: int, group: str, make: SimpleNamespace
) -> None:
    system, start = make.tossed_rod()
    errors = []
    for step in (0.02, 0.01, 0.005):
        momentum = ev.simulate(system, start, 0.6, step, method(group=group))["momentum"].values
        errors.append(float(np.max(np.abs(momentum - momentum[0]))))
    assert make.observed_order(errors) > order - 0.3


def test_damping_takes_the_energy_that_the_material_predicts(make: SimpleNamespace) -> None:
    """Free small vibration with Kelvin-Voigt time τ: modal damping ratio is ζ = τ ω / 2, energy falls as e^(-2ζωt)."""
    tau = 2e-3
    rod = ev.Rod(
        1.0,
        ev.Circle(0.01),
        ev.Material(young=1e8, poisson=0.3, density=1e3, damping=tau),
        ev.Legendre.planar(4),
    )
    system = ev.System(ev.Mechanism.clamped(rod))
    modes = ev.modes(system, system.rest(), count=1)
    omega = float(np.abs(modes.eigenvalues[0]))
    assert modes.damping[0] == pytest.approx(0.5 * tau * omega, rel=1e-6)
    start = system.rest().with_(q=1e-4 * modes.shapes[:, 0])
    run = ev.simulate(system, start, 1.0, 1e-3, ev.GaussLegendre4())
    energy = run["energy/total"].values
    # over whole periods the envelope is exact; between them energy wobbles by a factor 1 ± ζ
    expected = energy[0] * np.exp(-tau * omega**2 * run["time"].values)
    assert np.all(np.diff(energy) < 0.0)
    assert np.max(np.abs(energy / expected - 1.0)) < 2.0 * 0.5 * tau * omega


def test_tossed_rod_loses_energy_only_by_its_damping(make: SimpleNamespace) -> None:
    """dE/dt = -q̇ᵀ D q̇: the energy that a run lost equals the integral of the dissipated power."""
    system, start = make.tossed_rod(damping=5e-3)
    run = ev.simulate(system, start, 0.5, 1e-3, ev.GaussLegendre4())
    D = ev.tangent_inverse_dynamics(system, system.rest()).dQ_dq_dot[6:, 6:]
    power = np.einsum("ti,ij,tj->t", run["q_dot"].values, D, run["q_dot"].values)
    lost = run["energy/total"].values[0] - run["energy/total"].values[-1]
    t = run["time"].values
    simpson = (t[1] - t[0]) / 3.0 * (power[0] + power[-1] + 4.0 * power[1:-1:2].sum() + 2.0 * power[2:-1:2].sum())
    assert lost == pytest.approx(simpson, rel=1e-6)  # truncation of Simpson's rule
    assert lost > 0.1
