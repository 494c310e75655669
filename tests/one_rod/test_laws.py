"""Section laws of all kinds along one rod: modes, shooting, transcription and motion agree, and with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.one_rod import conjugate_points
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.static_flow import SegmentFlow, StaticFlow

E, G, RADIUS, LENGTH = 1.0e6, 3.5e5, 8e-3, 0.4
AREA, I = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4.0
EI, GJ, EA, GA = E * I, 2.0 * G * I, E * AREA, G * AREA
DIAGONAL = (GJ, EI, EI, EA, GA, GA)
COUPLED = np.diag(DIAGONAL)
COUPLED[0, 2] = COUPLED[2, 0] = 0.5 * np.sqrt(GJ * EI)
COUPLED[1, 3] = COUPLED[3, 1] = 0.2 * np.sqrt(EI * EA)


def linear(strain, s, parameters, stress, slope):
    """Λ = 𝓗 ε with the entries of 𝓗 as parameters."""
    energy = 0.0
    for i in range(6):
        for k in range(6):
            stress[i] += parameters[6 * i + k] * strain[k]
            slope[i, k] = parameters[6 * i + k]
        energy += 0.5 * stress[i] * strain[i]
    return energy


def hardening(strain, s, parameters, stress, slope):
    """All strains coupled by a quartic energy, W = w + a w², w = ½ Σ H_k ε_k²."""
    square = 0.0
    for k in range(6):
        square += parameters[k] * strain[k] ** 2
    for i in range(6):
        stress[i] = parameters[i] * strain[i] * (1.0 + parameters[6] * square)
        for k in range(6):
            slope[i, k] = 2.0 * parameters[6] * parameters[i] * strain[i] * parameters[k] * strain[k]
        slope[i, i] += parameters[i] * (1.0 + parameters[6] * square)
    return 0.5 * square + 0.25 * parameters[6] * square**2


def rubber(strain, s, parameters, stress, slope):
    """N = EA/3 (λ - 1/λ²) of a stretch λ; the other strains are linear."""
    energy = 0.0
    for k in range(6):
        stress[k], slope[k, k] = parameters[k] * strain[k], parameters[k]
        energy += 0.5 * parameters[k] * strain[k] ** 2
    stretch, EA = 1.0 + strain[3], parameters[3]
    energy -= 0.5 * EA * strain[3] ** 2
    stress[3], slope[3, 3] = EA / 3.0 * (stretch - 1.0 / stretch**2), EA / 3.0 * (1.0 + 2.0 / stretch**3)
    return energy + EA / 6.0 * (stretch**2 + 2.0 / stretch - 3.0)


LAWS = {
    "full": ev.FullLaw(COUPLED),
    "hardening": ev.Law(ev.compiled(hardening), (*DIAGONAL, 1.0 / (EI * 25.0))),
    "rubber": ev.Law(ev.compiled(rubber), DIAGONAL),
}
IN_PYTHON = ev.Law(hardening, (*DIAGONAL, 1.0 / (EI * 25.0)))


def arm(law, basis=None, damping=0.0, **more):
    material = ev.Material(young=E, poisson=E / (2.0 * G) - 1.0, density=1070.0, damping=damping)
    section = ev.Section(
        EI_y=EI, EI_z=EI, GJ=GJ, EA=EA, GA_y=GA, GA_z=GA, mass=1070.0 * AREA, half_y=RADIUS, half_z=RADIUS
    )
    return ev.Rod(LENGTH, section, material, basis or ev.Legendre.reissner(10), law=law, name="arm", **more)


def hanging(law, tip=(0.05, 0.1, -0.05), loads=(), **more):
    rod = arm(law, **more)
    tendon = ev.Tendon(rod, ev.helical(0.006, 1.0))
    force = ev.PointWrench(rod, "tip", force=tip)
    return ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.Gravity(), force, *loads])


# Equilibria -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_modes_shooting_and_transcription_find_the_same_equilibrium(name):
    """To what ten functions, and fifty elements of order four, leave of the length: set after seeing 2e-7, 4e-7."""
    system = hanging(LAWS[name])
    found = ev.compare_methods(system, {system.actuators[0]: 1.0})
    assert not found.failures
    for method in ("modes", "direct"):
        assert found.distance(method, "shooting") < 2e-6 * LENGTH
        energies = found.shapes[method].energy, found.shapes["shooting"].energy
        assert energies[0] == pytest.approx(energies[1], rel=2e-6)
    shot = found.shapes["shooting"]
    assert shot.balance.imbalance < 1e-7
    assert all(shape.stable for shape in found.shapes.values())
    stress, rod = shot.stress, system.rod
    own = rod.elasticity(shot.s, shot.xi - rod.rest_strain(shot.s))[0]
    active = shot.problem.actuation(shot.s, shot.xi)[0]
    np.testing.assert_allclose(stress, own + active, atol=1e-9 * np.max(np.abs(stress)))


@pytest.mark.parametrize("stretch", [0.6, 0.9, 1.5, 2.5])
@pytest.mark.parametrize("method", ["modes", "shooting", "direct"])
def test_rubber_stretches_as_its_law_says(method, stretch):
    """Compressed to 0.6 of its length and pulled to 2.5; bending is left out, which would buckle."""
    rod = arm(LAWS["rubber"], ev.Legendre(stretch=3))
    force = EA / 3.0 * (stretch - 1.0 / stretch**2)
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, "tip", force=(force, 0.0, 0.0))])
    found = ev.rod_equilibrium(system, method=method)
    close = 1e-7 if method == "direct" else 1e-8  # the former, what Ipopt leaves, set after seeing 4e-8
    assert found.tip[0, 3] == pytest.approx(stretch * LENGTH, rel=close)
    stored = LENGTH * EA / 6.0 * (stretch**2 + 2.0 / stretch - 3.0)
    assert found.energy == pytest.approx(stored - force * stretch * LENGTH, rel=1e-7)


@pytest.mark.parametrize("method", ["shooting", "direct"])
def test_a_rod_that_hardens_is_a_circle_under_a_couple(method):
    a, kappa = 1.0 / (EI * 25.0), 7.0
    rod = arm(LAWS["hardening"], ev.Legendre.planar(4))
    moment = EI * kappa * (1.0 + a * EI * kappa**2)
    tip = ev.PointWrench(rod, "tip", moment=(0.0, 0.0, moment))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[tip])
    found = ev.rod_equilibrium(system, method=method)
    np.testing.assert_allclose(found.strain(np.linspace(0.0, LENGTH, 7))[:, 2], kappa, rtol=1e-8)


def test_a_law_written_out_is_the_full_one():
    """One is a linear solve at each section, the other is asked at its address; damping and motion too."""
    own = ev.Law(ev.compiled(linear), COUPLED.ravel())
    shapes = [ev.rod_equilibrium(hanging(law), method="shooting") for law in (own, LAWS["full"])]
    np.testing.assert_allclose(shapes[0].xi, shapes[1].xi, atol=1e-9)
    systems = [hanging(law, damping=0.05) for law in (own, LAWS["full"])]
    motions = [ev.shooting_dynamics(system, duration=0.05, step=0.01, nodes=30) for system in systems]
    np.testing.assert_allclose(motions[0].strain, motions[1].strain, atol=1e-8)


def test_both_lanes_give_the_same_shape():
    shapes = [ev.rod_equilibrium(hanging(law), method="shooting") for law in (IN_PYTHON, LAWS["hardening"])]
    np.testing.assert_allclose(shapes[0].xi, shapes[1].xi, atol=1e-9)


# Derivatives and stability ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("integrator", ["rkmk", "magnus"])
def test_the_tangent_of_a_shot_is_the_derivative_of_its_steps(name, integrator):
    """By central differences: 1e-6 of the largest entry."""
    system = hanging(LAWS[name])
    problem = RodProblem.of(system, {system.actuators[0]: 1.0})
    march = SegmentFlow(StaticFlow(problem, integrator=integrator), [0.0], [0.5 * LENGTH], 4)
    g = np.eye(4)[None]
    x = np.array([[0.1, 0.2, -0.1, 1.0, 2.0, -1.0]]) * EI * [20, 20, 20, 40, 40, 40]
    Phi = march(g, x)[2][0]
    size = EI * np.array([5.0, 5.0, 5.0, 40.0, 40.0, 40.0])
    for k in range(6):
        step = 1e-5 * size[k] * np.eye(6)[k]
        ends = [march(g, x + sign * step, tangent=False)[1][0] for sign in (1.0, -1.0)]
        change = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(Phi[6:, 6 + k] * size[k] / size, change / size, atol=1e-6 * np.max(np.abs(Phi)))


def test_euler_loads_follow_the_slope_of_the_law():
    """A column that bends as B κ + c κ³ buckles at the Euler load of B, and is stable beyond it where it hardens."""
    B = EI
    for factor, index in ((0.9, 0), (1.1, 1)):
        load = factor * np.pi**2 * B / (4.0 * LENGTH**2)
        rod = arm(LAWS["hardening"], ev.Legendre.kirchhoff(6))
        tip = ev.PointWrench(rod, "tip", force=(-load, 0.0, 0.0))
        system = ev.System(ev.Mechanism.clamped(rod), loads=[tip])
        straight = ev.solve_rod(RodProblem.of(system))
        verdict = conjugate_points(straight)
        assert np.max(np.abs(straight.xi[:, :3])) < 1e-6
        assert verdict.index == 2 * index  # about both axes
        assert verdict.legendre == pytest.approx(1.0)


# Motion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_motion_by_shooting_is_that_of_the_modes(name):
    """The same scheme and step, so that only the functions along s differ: set after seeing 5e-6."""
    system = hanging(LAWS[name], damping=0.02, basis=ev.Legendre.reissner(8))
    start = ev.equilibrium(system)
    inputs = {system.actuators[0]: lambda t: 3.0 * t}  # no force at the start: shooting takes accelerations as they are
    method = ev.Newmark()
    shot = ev.shooting_dynamics(system, start, 0.05, 0.005, inputs, method=method, nodes=80)
    run = ev.simulate(system, start.state, duration=0.05, step=0.005, inputs=inputs, method=method)
    np.testing.assert_allclose(shot.tip, run["arm/position"].values[:, -1], atol=1e-5 * LENGTH)


# Spectral integration ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_spectral_integration_asks_the_law(name):
    """To what steps of order six leave of poses: set after seeing 4e-7."""
    basis = ev.Legendre.reissner(4)
    systems = [hanging(LAWS[name], basis=basis, **more) for more in ({}, {"integration": ev.Spectral()})]
    q = [ev.equilibrium(system, {system.actuators[0]: 1.0}).state.q for system in systems]
    np.testing.assert_allclose(q[1], q[0], atol=1e-6 * np.max(np.abs(q[0])))


# What remains refused ---------------------------------------------------------------------------------------


def test_the_form_of_strains_is_refused_and_says_why():
    with pytest.raises(ev.BadInput, match="derivative of the law along s"):
        ev.solve_rod(RodProblem.of(hanging(LAWS["full"])), form="strain")


def test_what_a_law_raises_comes_through():
    def broken(strain, s, parameters, stress, slope):
        if strain[2] > 1.0 and strain[1] < -1.0:
            raise ZeroDivisionError("no rubber is left")
        for k in range(6):
            stress[k], slope[k, k] = parameters[k] * strain[k], parameters[k]
        return 0.5 * float(np.sum(stress * strain))

    system = hanging(ev.Law(broken, DIAGONAL), tip=(0.0, 0.3, 0.3))
    for method in ("shooting", "direct"):
        with pytest.raises(ZeroDivisionError, match="no rubber is left"):
            ev.rod_equilibrium(system, method=method)
