"""Statics: the branch a person means. Every fault that outside tests found, by its closed form or another method."""

import importlib.util
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import elver as ev
from elver import analytic

STEEL = ev.Material(young=200e9, shear=80e9, density=8000.0)
SOFT = ev.Material(young=1e6, poisson=0.45, density=1070.0)


def welded(seed):
    """Two rods welded in line, clamped, with their weight and a dead force at each tip."""
    random = np.random.default_rng(seed)
    material = ev.Material(young=10 ** random.uniform(5.5, 7), poisson=0.45, density=1070.0)
    a, b = (
        ev.Rod(length, ev.Circle(8e-3), material, ev.Legendre.kirchhoff(6), name=name)
        for length, name in ((0.5, "a"), (0.4, "b"))
    )
    random.normal(size=3)
    sizes = a.stiffness([0.0])[0, 2] / 0.5**2
    forces = random.normal(size=(2, 3)) * sizes * np.array([[random.uniform(1, 10)], [random.uniform(1, 15)]])
    loads = [ev.Gravity(), ev.PointWrench(a, force=forces[0]), ev.PointWrench(b, force=forces[1])]
    mechanism = ev.Mechanism([ev.Fixed("world", (a, "base")), ev.Fixed((a, "tip"), (b, "base"))])
    return ev.System(mechanism, loads=loads)


def total(system, state):
    """Elastic energy, weight and dead forces [J], from the formula of each."""
    dead = [load for load in system.loads if isinstance(load, ev.PointWrench)]
    work = sum(np.dot(load.force, ev.poses(system, state, load.part)[-1, :3, 3]) for load in dead)
    return ev.energy(system, state).total - work


@pytest.mark.parametrize("seed", [4, 17, 21, 24])
def test_two_welded_rods_rest_in_the_shape_that_small_load_steps_lead_to(seed):
    """Unstable with more potential before: the inner load steps were 0.25, 0.75, 1 and left the stable branch."""
    system = welded(seed)
    found = ev.equilibrium(system)
    assert found.stable is True
    step = None
    for part in np.linspace(0.0, 1.0, 33)[1:]:
        step = ev.equilibrium(system, dict.fromkeys(system.channels, part), guess=step)
    assert total(system, found.state) <= total(system, step.state) + 1e-9 * abs(total(system, step.state))


def test_the_potential_is_that_of_springs_weight_and_dead_forces():
    system = welded(4)
    found, rest = ev.equilibrium(system), system.rest()
    # quadrature to rounding, of sums of some joules
    assert found.potential == pytest.approx(total(system, found.state) - total(system, rest), rel=1e-11)


def test_an_unstable_shape_is_told():
    """A couple fixed in space that bends a rod to a circle: it flutters, and nothing near is stable."""
    rod = ev.Rod(1.0, ev.Circle(0.01), SOFT, ev.Legendre.kirchhoff(3), name="rod")
    moment = (0.0, 0.0, 2.0 * np.pi * rod.stiffness([0.0])[0, 2])
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, moment=moment)])
    with pytest.warns(ev.ElverWarning, match=r"unstable \(a motion of rod/K.*guess=.*equilibria"):
        assert ev.equilibrium(system).stable is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who asks for the branch knows
        assert ev.equilibrium(system, branch="connected").stable is False


def test_a_column_buckles_under_more_than_its_euler_load():
    rod = ev.Rod(1.0, ev.Circle(5e-3), ev.Material(young=2e9, poisson=0.3, density=1200.0), ev.Legendre.planar(14))
    EI = rod.stiffness([0.0])[0, 2]
    load = 1.3 * analytic.euler_load("clamped-free", 1.0, EI)
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, force=(-load, 0.0, 0.0))])
    buckled, straight = ev.equilibrium(system), ev.equilibrium(system, branch="connected")
    exact = analytic.buckled_cantilever(load, 1.0, EI).tip
    assert buckled.stable is True
    np.testing.assert_allclose(np.abs(buckled.tip[:2, 3]), np.abs(exact[:2]), atol=1e-7)
    assert straight.stable is False
    np.testing.assert_allclose(straight.tip[:3, 3], [1.0, 0.0, 0.0], atol=1e-12)
    assert buckled.potential < straight.potential
    again = ev.equilibrium(system, guess=straight)  # an unstable guess is left, too
    assert again.stable is True


def test_an_arch_snaps_beyond_its_limit_load():
    rise = 1.0
    rod = ev.Rod(1.0, ev.Circle(5e-3), SOFT, ev.Legendre.planar(10), rest=(0.0, 0.0, -rise))
    g = np.eye(4)
    g[:2, :2] = [[np.cos(rise / 2), -np.sin(rise / 2)], [np.sin(rise / 2), np.cos(rise / 2)]]
    holds = [
        ev.Hold("base", position=(0.0, 0.0, 0.0), orientation=np.eye(3), orientation_axes="xy"),
        ev.Hold("tip", position=(2.0 / rise * np.sin(rise / 2), 0.0, None)),
    ]
    push = ev.PointWrench(rod, at=0.5, force=(0.0, -40.0 * rod.stiffness([0.0])[0, 2], 0.0))
    found = ev.equilibrium(ev.System(ev.Mechanism.free(rod, pose=g, holds=holds), loads=[push]))
    assert found.stable is True
    assert found.pose(rod, 0.5)[1, 3] < 0.0


# Stretch ------------------------------------------------------------------------------------------------------------


def pushed(basis, part):
    rod = ev.Rod(0.4, ev.Circle(8e-3), SOFT, basis, name="arm")
    force = (-part * rod.stiffness([0.0])[0, 3], 0.0, 0.0)
    return ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, force=force)])


def test_a_rod_is_not_turned_inside_out():
    """Pushed by 1.5 EA: a stretch of -0.5 and "stable" before."""
    with pytest.raises(ev.NotConverged, match=r"rod 'arm' is inside out: stretch -0\.5 at s = .* m.*lighten"):
        ev.equilibrium(pushed(ev.Legendre(stretch=3), 1.5))
    with pytest.warns(ev.ElverWarning, match=r"rod 'arm' has a stretch of .* at s = .* m"):
        found = ev.equilibrium(pushed(ev.Legendre.extensible(3), 1.5))
    assert found.stable is not False
    assert found.tip[0, 3] < 0.0  # it has folded over and hangs from its clamp


def test_a_stretch_that_no_law_means_is_told():
    with pytest.warns(ev.ElverWarning, match=r"rod 'arm' has a stretch of 0\.4 at s = .* m, outside 0\.5 to 2"):
        ev.equilibrium(pushed(ev.Legendre(stretch=1), 0.6))
    with pytest.warns(ev.ElverWarning, match=r"stretch of 2\.2 at"):
        ev.equilibrium(pushed(ev.Legendre(stretch=1), -1.2))
    assert ev.equilibrium(pushed(ev.Legendre(stretch=1), 0.4)).stable is True


# Ends that come together ----------------------------------------------------------------------------------------------


def bow(amount=0.03):
    """A rod clamped at both ends, which are ``amount`` of its length nearer than straight, and its load P [N]."""
    rod = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=1e6, poisson=0.5, density=1000.0), ev.Legendre.planar(14))
    hold = ev.Hold("tip", position=(1.0 - amount, 0.0, None), orientation=np.eye(3), orientation_axes="z", name="clamp")
    EI = rod.stiffness([0.0])[0, 2]
    euler = analytic.euler_load("clamped-clamped", 1.0, EI)

    # by symmetry each quarter is a cantilever of a quarter of the length
    def missed(load):
        return 4.0 * analytic.buckled_cantilever(load, 0.25, EI).tip[0] - (1.0 - amount)

    return ev.System(ev.Mechanism.clamped(rod, holds=[hold])), brentq(missed, 1.001 * euler, 1.3 * euler)


def test_a_straight_rod_whose_ends_come_together_bows():
    system, load = bow()
    found = ev.equilibrium(system)
    assert found.stable is True
    # truncation of fourteen functions
    assert abs(found.multipliers["clamp/force_x"]) == pytest.approx(load, rel=1e-6)


@pytest.mark.parametrize("amplitude", [1.0, 3.0, 3.5, 5.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_bent_guess_that_misses_its_place_is_closed_and_kept(amplitude, side):
    """Thrown away before: "closures cannot be met ... open by 0.03 m", from a guess that missed by 1 mm."""
    system, load = bow()
    q = np.where([name.endswith("K_z[2]") for name in system.coordinate_names], side * amplitude, 0.0)
    guess = system.rest().with_(q=q)
    found = ev.equilibrium(system, guess=guess)
    assert found.stable is True
    assert np.sign(found.state.q[2]) == side
    assert abs(found.multipliers["clamp/force_x"]) == pytest.approx(load, rel=1e-6)
    closed = ev.assemble(system, guess=guess)
    assert np.sign(closed.q[2]) == side


def cable(length=1000.0, radius=0.025, young=2e11, part=0.9):
    rod = ev.Rod(
        length, ev.Circle(radius), ev.Material(young=young, poisson=0.3, density=7800.0),
        ev.Legendre(bending=16, torsion=1), name="cable",
    )  # fmt: skip
    joints = [ev.Spherical("world", (rod, "base")), ev.Spherical((rod, "tip"), ("world", (part * length, 0, 0)))]
    return rod, ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def test_a_slack_cable_between_two_balls_is_a_catenary():
    """Refused before, with the advice to move the ends nearer, or to lengthen it."""
    rod, system = cable()
    found = ev.equilibrium(system)
    a = brentq(lambda a: 2 * a * math.sinh(450.0 / a) - 1000.0, 50.0, 1e5)
    # its bending stiffness: w L³/EI = 2e6, boundary layers of (EI/H)^½ = 0.1 % of L
    assert -found.pose(rod, 500.0)[2, 3] == pytest.approx(a * (math.cosh(450.0 / a) - 1.0), rel=1e-3)
    # a round cable rolls between its balls
    assert found.stable == "neutral"
    assert "cable/K" in found.motion


def test_the_advice_on_ends_that_cannot_meet_is_the_right_way_round():
    rod = ev.Rod(1.0, ev.Circle(0.01), SOFT, ev.Legendre.planar(1), name="rod")
    for place, advice in ((0.9, "too long.*apart.*shorten"), (1.1, "out of reach.*nearer.*lengthen")):
        mechanism = ev.Mechanism.clamped(rod, holds=[ev.Hold("tip", position=(place, 0.0, None))])
        with pytest.raises(ev.NotConverged, match=advice):
            ev.equilibrium(ev.System(mechanism))


def test_a_rod_is_bent_rather_than_crushed():
    """5887 J at a stretch of 0.81 before, where 2.5 J exists."""
    rod = ev.Rod(0.5, ev.Circle(1e-3), STEEL, ev.Legendre.reissner(8))
    hold = ev.Hold("tip", position=(0.4, -0.05, 0.0), orientation=np.eye(3))
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod, holds=[hold])))
    assert found.stable is not False
    assert found.potential < 2.6


def test_the_held_rod_of_till():
    """Till, Aloi and Rucker 2019, first example: base force (0, 4.00272501, 26.94371289) N with the rod along z."""
    rod = ev.Rod(0.5, ev.Circle(1e-3), STEEL, ev.Legendre.reissner(24))
    hold = ev.Hold("tip", position=(0.4, -0.05, 0.0), orientation=np.eye(3), name="tip")
    system = ev.System(ev.Mechanism.clamped(rod, holds=[hold]), loads=[ev.Gravity((0.0, 0.0, -9.81))])
    found = ev.equilibrium(system)
    assert found.stable is True
    force = np.array([found.multipliers[f"tip/force_{axis}"] for axis in "xy"])
    # the weight acts across, so that these are the same at both ends; truncation of 24 functions
    np.testing.assert_allclose(np.abs(force), [26.94371289, 4.00272501], rtol=1e-6)


def localised(shortening=0.3, length=9.29, bending=1.345, torsion=0.789, turns=27.0):
    """Twist, depth cos φ₀, width s* and tension of a long rod that is turned and shortened: its localised helix.

    With M the torque and T the tension, 1 + cos φ₀ = M²/2BT, cos φ = cos φ₀ + (1 - cos φ₀) tanh²(s/s*),
    s* = (2B/M) √((1 + cos φ₀)/(1 - cos φ₀)), shortening 2 s* (1 - cos φ₀) (Coyne 1990; van der Heijden and Thompson
    2000); turns are those of the twist and of the helix, ψ' = M/B(1 + cos φ).
    """
    s = np.linspace(-0.5 * length, 0.5 * length, 20001)

    def depth(twist):
        c = math.sqrt(1.0 - (shortening * torsion * twist / (4.0 * bending)) ** 2)
        return c, 2.0 * bending / (torsion * twist) * math.sqrt((1.0 + c) / (1.0 - c))

    def missed(twist):
        c, width = depth(twist)
        tilt = c + (1.0 - c) * np.tanh(s / width) ** 2
        helix = (1.0 - tilt) * torsion * twist / (bending * (1.0 + tilt))
        return twist * length + float(np.sum(helix[:-1])) * (s[1] - s[0]) - 2.0 * np.pi * turns

    twist = brentq(missed, 0.8 * 2.0 * np.pi * turns / length, 2.0 * np.pi * turns / length)
    c, width = depth(twist)
    return twist, c, width, (torsion * twist) ** 2 / (2.0 * bending * (1.0 + c))


def test_a_rod_turned_by_27_turns_buckles_to_a_localised_helix():
    """The numbers are those of Bergou et al. 2008: 9.29 long, 27 turns, shortened by 0.3."""
    L, B, C, radius = 9.29, 1.345, 0.789, 0.05
    twist, c, width, tension = localised()
    material = ev.Material(young=4.0 * B / (np.pi * radius**4), shear=2.0 * C / (np.pi * radius**4), density=1.0)
    rod = ev.Rod(L, ev.Circle(radius), material, ev.Legendre(bending=70, torsion=1), name="rod", nodes=80)
    hold = ev.Hold("tip", position=(L - 0.3, 0.0, 0.0), orientation=np.eye(3), name="tip")
    system = ev.System(ev.Mechanism.clamped(rod, holds=[hold]))
    # a start near it: the rod twisted by its turns and bent like a helix in its middle, which misses its end
    s = np.linspace(0.0, L, 2001)
    bend = np.gradient(math.acos(c) / np.cosh((s - L / 2) / width) * np.exp(1j * C * twist / (2 * B) * s), s)
    bend = bend * np.exp(-1j * twist * s)
    functions, q = rod.functions(s), np.zeros(rod.n)
    for component, values in ((0, np.full_like(s, twist)), (1, -bend.imag), (2, bend.real)):
        own = rod.component == component
        q[own] = np.linalg.lstsq(functions[:, own], values, rcond=None)[0]
    found = ev.equilibrium(system, guess=system.rest().with_(q=q))
    assert found.stable is not False  # a round rod rolls in its clamps
    assert found.state.q[0] == pytest.approx(twist, rel=1e-4)
    # ends that are not infinitely far, and seventy functions for nineteen turns of the bending in the section
    assert abs(found.multipliers["tip/force_x"]) == pytest.approx(tension, rel=1e-2)
    s, tilt = ev.nodes(system), ev.poses(system, found.state)[:, 0, 0]
    centre = np.trapezoid(s * (1.0 - tilt), s) / np.trapezoid(1.0 - tilt, s)  # it may be anywhere along the rod
    np.testing.assert_allclose(tilt, c + (1.0 - c) * np.tanh((s - centre) / width) ** 2, atol=0.02)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_the_lowest_of_several_is_that_of_shooting_from_random_starts(seed):
    """A sample of studies/branches.py: held rods, of which the first shape found is not always the lowest."""
    path = Path(__file__).parents[2] / "studies" / "branches.py"
    spec = importlib.util.spec_from_file_location("branches", path)
    study = importlib.util.module_from_spec(spec)
    sys.modules["branches"] = study
    spec.loader.exec_module(study)
    outcome = study.examine(study.held_rod(seed), starts=6, searches=12)
    assert outcome.said in ("stable", "neutral")
    assert outcome.agrees


def test_a_place_just_out_of_reach_is_said_to_be():
    """Not that Newton failed: a rod that cannot stretch, held 0.3 mm beyond its length."""
    rod = ev.Rod(0.5, ev.Circle(5e-3), ev.Material(young=1e7, poisson=0.4, density=1e3), ev.Legendre.kirchhoff(4))
    hold = ev.Hold("tip", position=(0.5003, 0.0, 0.0), name="eyelet")
    system = ev.System(ev.Mechanism.clamped(rod, holds=[hold]), loads=[ev.Gravity()])
    with pytest.raises(ev.NotConverged, match=r"'eyelet' is open by 0.000\d* m.*out of reach"):
        ev.equilibrium(system)
    with pytest.raises(ev.NotConverged, match=r"closures stay open by 0\.0006"):
        ev.equilibria(system, starts=5)
