"""Direct transcription: Blumentals 2017, sections 6.3 to 6.5, and agreement with strain modes and closed forms.

Numbers of the source's tables hold for L = EI = 1 and γ = GJ/EI = 0.7; its axes (d1, d2, d3) are our (y, z, x).
"""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from scipy.special import ellipe, ellipk

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.problem import End, EndWrench, Pull, RodProblem
from elver.one_rod.shooting.statics import solve_rod
from elver.one_rod.transcription.direct import Constraint, direct_equilibrium

SPATIAL = (0, 1, 2)
INFINITY = float("inf")


def straight(s):
    return np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (len(s), 1))


def unit_rod(component=(2,), gamma=0.7, weight=0.0, second=1.0, **changes):
    """L = EI_z = 1, EI_y = ``second``, weight per length ``weight`` along -z."""
    return RodProblem(
        1.0,
        component,
        lambda s: np.tile([gamma, second, 1.0, 1e3, 1e3, 1e3], (len(s), 1)),
        changes.pop("rest", straight),
        lambda s: np.ones((len(s), 6)),
        gravity=np.array([0.0, 0.0, -weight]),
        **changes,
    )


def clamped_at(distance, angle=0.0):
    """Tip on the x axis, its frame turned about x."""
    return End.clamped(se3.pose(so3.exp([angle, 0.0, 0.0]), [distance, 0.0, 0.0]))


# Convergence: 3.7 item 7 ----------------------------------------------------------------------------------

METHODS = {"exp1": ("constant", "exp", 1), "cay1": ("constant", "cayley", 1), "cay2": ("linear", "cayley", 2)}
# Relative error of the energy at N = 10, 20, 40, 80, and of the positions at the nodes.
ENERGY_ERRORS = {
    "exp1": (3.33e-2, 8.26e-3, 2.06e-3, 5.14e-4),
    "cay1": (-1.32e-2, -3.16e-3, -7.83e-4, -1.95e-4),
    "cay2": (-3.99e-2, -1.06e-2, -2.68e-3, -6.73e-4),
}
POSITION_ERRORS = {
    "exp1": (2.09e-4, 2.11e-5, 3.4e-6, 7e-7),
    "cay1": (7.06e-3, 1.77e-3, 4.42e-4, 1.10e-4),
    "cay2": (3.32e-3, 8.82e-4, 2.24e-4, 5.62e-5),
}
EXACT_ENERGY = 4.050409


@pytest.fixture(scope="module")
def fine():
    """The clamped elastica at 0.9 by a fine fourth-order transcription: nodes and positions."""
    r = direct_equilibrium(unit_rod(tip=clamped_at(0.9)), elements=320)
    assert r.energy == pytest.approx(EXACT_ENERGY, rel=3e-7)  # printed digits
    return r


def upward(r):
    return r.g[:, :2, 3] * [1.0, np.sign(r.g[len(r.s) // 2, 1, 3])]


@pytest.mark.parametrize("method", METHODS)
def test_convergence_table(method, fine):
    strain, name, order = METHODS[method]
    energies, positions = [], []
    for n in (10, 20, 40, 80):
        r = direct_equilibrium(unit_rod(tip=clamped_at(0.9)), elements=n, strain=strain, map=name, order=order)
        energies.append(r.energy / EXACT_ENERGY - 1.0)
        positions.append(np.max(np.linalg.norm(upward(r) - upward(fine)[:: 320 // n], axis=1)))
        assert r.stable
        assert r.residual < 1e-9
    assert energies == pytest.approx(ENERGY_ERRORS[method], rel=0.02)
    assert positions == pytest.approx(POSITION_ERRORS[method], rel=0.1)
    assert np.log2(energies[1] / energies[3]) / 2.0 == pytest.approx(2.0, abs=0.1)


def test_internal_force_is_the_multiplier_of_the_position():
    r = direct_equilibrium(unit_rod(tip=clamped_at(0.9)), elements=80, strain="constant")
    assert r.force == pytest.approx(np.tile([-41.592, 0.0, 0.0], (81, 1)), abs=1e-3)  # printed digits
    fine = direct_equilibrium(unit_rod(tip=clamped_at(0.9)), elements=80)
    assert fine.force[:, 0] == pytest.approx(-41.570256, rel=1e-6)
    assert abs(fine.stress[0, 2]) == pytest.approx(4.051527, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("component", [(2,), SPATIAL])
def test_single_and_multiple_shooting_agree(method, component):
    strain, name, order = METHODS[method]
    # of a rod with EI_y = EI_z the shape could spin about the line of its clamps
    problem = unit_rod(component, second=1.3, tip=clamped_at(0.9, 0.4 if len(component) == 3 else 0.0))
    guess = lambda s: straight(s) + np.outer(np.cos(2 * np.pi * s), [0, 0, 4.0, 0, 0, 0])  # noqa: E731
    one, many = (
        direct_equilibrium(
            problem, elements=16, strain=strain, map=name, order=order, shooting=kind, guess=guess, tolerance=1e-10
        )
        for kind in ("single", "multiple")
    )
    assert one.energy == pytest.approx(many.energy, rel=1e-8)
    assert one.g == pytest.approx(many.g, abs=1e-6)
    assert one.stress == pytest.approx(many.stress, abs=1e-5)
    assert one.eigenvalue == pytest.approx(many.eigenvalue, abs=1e-5)


def test_energy_of_linear_strains_is_fourth_order():
    errors = [
        direct_equilibrium(unit_rod(tip=clamped_at(0.9)), elements=n).energy / 4.0504089 - 1.0 for n in (10, 20, 40)
    ]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(4.0, abs=0.15)


# Clamped-clamped elastica: 3.4, length 2, ε² = relative shortening ----------------------------------------

ELASTICA = {
    0.01: (9.919232, 0.629501, 0.126925, 0.197887),
    0.1: (10.392564, 2.025763, 0.389849, 2.025204),
    0.2: (10.982291, 2.924788, 0.532637, 4.161470),
    0.5: (13.318528, 4.971892, 0.746613, 11.401184),
    0.64: (14.848558, 5.860209, 0.789330, 15.335889),
    0.8: (17.169989, 6.921765, 0.806263, 20.438852),
    1.0: (21.549087, 8.438488, 0.783187, 28.109902),
}


@pytest.mark.parametrize("shortening", ELASTICA)
def test_clamped_elastica(shortening):
    force, curvature, height, energy = ELASTICA[shortening]
    guess = lambda s: straight(s) + np.outer(np.cos(2 * np.pi * s), [0, 0, 5.0, 0, 0, 0])  # noqa: E731
    r = direct_equilibrium(unit_rod(tip=clamped_at(1.0 - shortening)), elements=200, guess=guess)
    # length 1 here and 2 there: F l² = 4 F, κ l = 2 κ, y/l = y/2, U l = 2 U
    assert -r.force[100, 0] == pytest.approx(4.0 * force, rel=1e-6)
    assert abs(r.stress[0, 2]) == pytest.approx(2.0 * curvature, rel=2e-6)
    assert np.max(np.abs(r.g[:, 1, 3])) == pytest.approx(0.5 * height, abs=5e-7)
    assert r.energy == pytest.approx(2.0 * energy, rel=1e-6, abs=1e-6)  # printed digits
    assert r.stable
    m = float(np.square({0.01: 0.099937, 0.5: 0.681183}.get(shortening, 0.0)))
    if m:  # U l = 32 K (E - (1 - k²) K)
        assert r.energy == pytest.approx(32.0 * ellipk(m) * (ellipe(m) - (1.0 - m) * ellipk(m)), rel=1e-4)


# Verdicts -------------------------------------------------------------------------------------------------


def test_the_straight_compressed_column_is_a_saddle_beyond_euler():
    """Cantilever under a dead axial force: stable below π²/4, a saddle above, and the search leaves it."""
    push = lambda f: EndWrench(np.array([0, 0, 0, -f, 0, 0.0]), np.zeros(6))  # noqa: E731
    for f, stable in ((0.98 * np.pi**2 / 4.0, True), (1.02 * np.pi**2 / 4.0, False)):
        r = direct_equilibrium(unit_rod(tip_wrench=push(f)), elements=100, guess=straight)
        assert r.g[-1, 1, 3] == pytest.approx(0.0, abs=1e-9)
        assert r.stable is stable
    bent = direct_equilibrium(unit_rod(tip_wrench=push(1.02 * np.pi**2 / 4.0)), elements=100)
    assert bent.stable
    assert abs(bent.g[-1, 1, 3]) > 0.1


def column_eigenvalue(f, n, **kind):
    wrench = EndWrench(np.array([0, 0, 0, -f, 0, 0.0]), np.zeros(6))
    return direct_equilibrium(unit_rod(tip_wrench=wrench), elements=n, guess=straight, **kind).eigenvalue


def test_the_second_variation_of_a_column_is_known():
    """λ = 1 - F/(π²/4): the quotient ∫κ² - F∫θ² over ∫κ² of the clamped-free column."""
    assert column_eigenvalue(3.0, 100) == pytest.approx(1.0 - 3.0 / (np.pi**2 / 4.0), abs=1e-6)
    assert column_eigenvalue(3.0, 100, strain="constant") == pytest.approx(1.0 - 3.0 / (np.pi**2 / 4.0), abs=1e-4)


def test_heavy_column_of_greenhill():
    """Self-buckling of an upright cantilever at ρSgL³/EI = 7.8373."""
    base = End.clamped(se3.pose(so3.exp([0.0, -np.pi / 2.0, 0.0]), np.zeros(3)))
    for factor, stable in ((0.999, True), (1.001, False)):
        problem = unit_rod((1, 2), weight=factor * 7.8373, base=base)
        r = direct_equilibrium(problem, elements=100, guess=straight)
        assert r.stable is stable
        assert r.g[-1, :3, 3] == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)


# Space ----------------------------------------------------------------------------------------------------


def test_hanging_helix_of_silicone():
    """3.7 item 3, both clamps: tip and energy."""
    radius, young = 2.23e-3, 1e6
    EI, density = young * np.pi * radius**4 / 4.0, 1200.0 * np.pi * radius**2
    GJ = EI / 1.5

    def hanging(R):
        return RodProblem(
            0.2,
            SPATIAL,
            lambda s: np.tile([GJ, EI, EI, 1.0, 1.0, 1.0], (len(s), 1)),
            lambda s: np.tile([-24.79, 66.67, 0.0, 1.0, 0.0, 0.0], (len(s), 1)),
            lambda s: np.tile([0.0, 0.0, 0.0, density, density, density], (len(s), 1)),
            gravity=np.array([0.0, 0.0, -9.81]),
            base=End.clamped(se3.pose(R, np.zeros(3))),
        )

    down = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]).T  # columns d3, d1, d2
    r = direct_equilibrium(hanging(down), elements=200, strain="constant")
    assert r.tip[:3, 3] == pytest.approx([-0.00511, 0.01791, -0.10527], abs=1e-5)
    assert r.energy == pytest.approx(-1.56271e-3, abs=2e-8)
    r = direct_equilibrium(hanging(down), elements=50, strain="constant")
    assert r.tip[:3, 3] == pytest.approx([-0.00520, 0.01789, -0.10526], abs=1e-5)
    assert r.stable
    r = direct_equilibrium(hanging(np.eye(3)), elements=200, strain="constant")
    assert r.tip[:3, 3] == pytest.approx([0.02119, -0.00827, -0.10678], abs=1e-5)
    assert r.energy == pytest.approx(-1.65741e-3, abs=2e-8)
    # internal force: the weight beyond each section
    weight = density * 9.81 * (0.2 - r.s)
    assert r.force[:, 2] == pytest.approx(-weight, abs=1e-8 * weight[0] + 1e-12)
    assert r.force[:, :2] == pytest.approx(0.0, abs=1e-9)


def test_ring_without_gravity():
    """3.7 item 4: circle, whole number of twists below the limit γ|n| < √3, constant force."""
    guess = lambda s: straight(s) + np.tile([2 * np.pi, 5.0, 4.0, 0, 0, 0], (len(s), 1))  # noqa: E731
    problem = unit_rod(SPATIAL, base=End.clamped(), tip=End.clamped(), closed=True)
    r = direct_equilibrium(problem, elements=50, strain="constant", guess=guess)
    p = r.g[:-1, :3, 3]
    radius = np.linalg.norm(p - p.mean(axis=0), axis=1)
    assert radius == pytest.approx(0.5 / np.pi, rel=1e-3)
    twist = r.xi[:, 0] / (2.0 * np.pi)
    assert twist == pytest.approx(np.round(twist[0]), abs=1e-5)
    assert 0.7 * abs(twist[0]) < np.sqrt(3.0)
    assert np.std(r.force, axis=0) == pytest.approx(0.0, abs=1e-6)
    assert r.stable


def test_ring_with_gravity():
    """3.7 item 5: β = 150; horizontal force constant, vertical force linear with slope β."""
    guess = lambda s: straight(s) + np.tile([0.0, 2 * np.pi, 0.0, 0, 0, 0], (len(s), 1))  # noqa: E731
    problem = unit_rod(SPATIAL, weight=150.0, base=End.clamped(), tip=End.clamped(), closed=True)
    r = direct_equilibrium(problem, elements=50, strain="constant", guess=guess)
    assert np.diff(r.force[:, 2]) / np.diff(r.s) == pytest.approx(150.0, rel=1e-6)
    assert np.ptp(r.force[:, :2], axis=0) == pytest.approx(0.0, abs=1e-6)
    assert np.min(r.g[:, 2, 3]) < -0.3  # it hangs


def test_invariants_of_the_twisted_loop():
    """3.7 item 6: end rotation π/2 at 0.8, branch of the first planar mode: τ, H, m·f, |F|."""
    solution = direct_equilibrium(
        unit_rod(SPATIAL, tip=clamped_at(0.8)),
        guess=lambda s: straight(s) + np.outer(np.cos(2 * np.pi * s), [0, 0, 5.8, 0, 0, 0]),
    )
    assert solution.force[0, 0] == pytest.approx(-43.929164, rel=1e-4)
    for angle in np.linspace(0.0, np.pi / 2.0, 5)[1:]:
        problem = unit_rod(SPATIAL, tip=clamped_at(0.8, angle))
        solution = direct_equilibrium(problem, guess=solution)
    drift = {}
    for n in (50, 100, 200):
        r = direct_equilibrium(problem, elements=n, strain="linear", guess=solution)
        C, N = r.stress[:, :3], r.stress[:, 3:]
        K = C / [0.7, 1.0, 1.0]
        H = 0.5 * np.sum(C * K, axis=1) + N[:, 0]
        drift[n] = np.ptp(H), np.ptp(np.sum(C * N, axis=1))
        # twist: constant to solver tolerance
        assert np.std(r.xi[:, 0]) < 1e-5
    assert abs(r.xi[0, 0]) == pytest.approx(1.127890, rel=1e-5)
    assert np.mean(H) == pytest.approx(-24.768098, rel=1e-4)
    assert abs(np.mean(np.sum(C * N, axis=1))) == pytest.approx(59.791796, rel=1e-4)
    assert np.linalg.norm(r.force, axis=1) == pytest.approx(42.40472, rel=1e-5)
    assert drift[100][0] < 0.3 * drift[50][0]
    assert drift[200][0] < 0.3 * drift[100][0]


def test_twist_is_constant_at_large_compression():
    """3.7 item 1 and acceptance 24: γ = 0.7, ends 0.5 apart, all strains 1 to start with."""
    ones = lambda s: straight(s) + np.tile([1.0, 1.0, 1.0, 0, 0, 0], (len(s), 1))  # noqa: E731
    energies = []
    for n in (20, 100):
        r = direct_equilibrium(unit_rod(SPATIAL, tip=clamped_at(0.5)), elements=n, order=2, map="cayley", guess=ones)
        assert np.std(r.stress[:, 0]) < 1e-5
        energies.append(r.energy)
    assert energies[0] == pytest.approx(energies[1], rel=0.05)


def test_objectivity():
    """Moving the whole problem moves the solution and leaves strains."""
    move = se3.exp([0.3, -0.8, 1.9, 0.4, 0.1, -2.0])
    guess = lambda s: straight(s) + np.outer(np.cos(2 * np.pi * s), [0, 2.0, 4.0, 0, 0, 0])  # noqa: E731
    first, second = (
        direct_equilibrium(
            unit_rod(SPATIAL, second=1.3, base=End.clamped(g), tip=End.clamped(g @ clamped_at(0.8, 0.6).pose)),
            elements=20,
            guess=guess,
        )
        for g in (np.eye(4), move)
    )
    assert second.xi == pytest.approx(first.xi, abs=1e-7)
    assert second.g == pytest.approx(move @ first.g, abs=1e-8)


def test_cosserat_becomes_kirchhoff():
    stiff = lambda factor: lambda s: np.tile([0.7, 1.0, 1.0, factor, factor, factor], (len(s), 1))  # noqa: E731
    tip = EndWrench(np.array([0.0, 0.0, 0.0, 0.0, 4.0, 2.0]), np.zeros(6))
    kirchhoff = direct_equilibrium(unit_rod(SPATIAL, tip_wrench=tip))
    gaps = []
    for factor in (1e3, 1e6):
        problem = unit_rod(tuple(range(6)), tip_wrench=tip).with_(stiffness=stiff(factor))
        r = direct_equilibrium(problem)
        gaps.append(np.max(np.abs(r.g - kirchhoff.g)))
    assert gaps[1] < 1e-4
    assert gaps[0] == pytest.approx(1e3 * gaps[1], rel=0.1)


# Constraints ----------------------------------------------------------------------------------------------


def test_rod_on_a_floor():
    """A heavy cantilever above a floor: it lies down, the floor pushes and never pulls, forces balance."""
    floor = Constraint(lambda s, p, R, xi: p[2], lower=-0.1, upper=INFINITY, name="floor")
    problem = unit_rod(SPATIAL, weight=60.0)
    free = direct_equilibrium(problem, elements=60)
    assert free.tip[2, 3] < -0.1
    r = direct_equilibrium(problem, elements=60, constraints=[floor])
    push = r.constraint_forces["floor"][:, 0]
    assert np.min(r.g[:, 2, 3]) == pytest.approx(-0.1, abs=1e-8)
    assert np.min(push) > -1e-7
    assert np.max(push) > 1.0
    assert push * (r.g[:, 2, 3] + 0.1) == pytest.approx(0.0, abs=1e-6)
    # the clamp carries the weight that the floor does not
    assert -r.force[0, 2] == pytest.approx(60.0 - push[1:].sum(), abs=1e-6)
    assert r.stable
    assert r.energy > free.energy


def test_an_eyelet_holds_a_point_and_its_force_is_the_reaction():
    eyelet = Constraint(lambda s, p, R, xi: [p[1], p[2] - 0.05], at=0.437, name="eyelet")
    r = direct_equilibrium(unit_rod(SPATIAL, weight=20.0), elements=40, constraints=[eyelet])
    k = int(np.argmin(np.abs(r.s - 0.437)))
    assert r.s[k] == pytest.approx(0.437, abs=1e-12)
    assert r.g[k, 1:3, 3] == pytest.approx([0.0, 0.05], abs=1e-9)
    force = r.constraint_forces["eyelet"][0]
    assert -r.force[0, 1:] == pytest.approx([-force[0], 20.0 - force[1]], abs=1e-6)


def test_bounds_of_the_strain():
    bound = Constraint(lambda s, p, R, xi: xi[2], lower=-3.0, upper=3.0, name="curvature")
    tip = EndWrench(np.array([0.0, 0.0, 0.0, 0.0, 8.0, 0.0]), np.zeros(6))
    free = direct_equilibrium(unit_rod(tip_wrench=tip), elements=40)
    assert np.max(free.xi[:, 2]) > 3.9
    r = direct_equilibrium(unit_rod(tip_wrench=tip), elements=40, constraints=[bound])
    assert np.max(r.xi[:, 2]) == pytest.approx(3.0, abs=1e-7)
    assert r.stress[0, 2] > 3.0  # the bound carries the rest of the couple
    assert np.all(r.constraint_forces["curvature"] < 1e-7)  # upper bound: the force points down


@pytest.mark.parametrize(("index", "radius", "energy"), [(1, 0.9, 99.9770), (0, 1.0, 67.893), (0, 0.8, 91.078)])
def test_ring_in_a_ring(index, radius, energy):
    """3.8 Q2: a closed planar curve of given index inside a circle, from a random start."""
    unit = 0.5 / np.pi
    outer = Constraint(
        lambda s, p, R, xi: casadi.sumsqr(p), lower=-INFINITY, upper=(radius * unit) ** 2, name="outer ring"
    )
    rng = np.random.default_rng(1)
    waves = rng.normal(size=(4, 2)) * 3.0

    def start(s):
        xi = straight(s)
        xi[:, 2] = 2.0 * np.pi * index
        for k, (a, b) in enumerate(waves, start=1):
            xi[:, 2] += a * np.cos(2 * np.pi * k * s) + b * np.sin(2 * np.pi * k * s)
        return xi

    # the direction of the first tangent is held: nothing else stops the ring from turning in the ring
    problem = unit_rod(base=End(rotation_axes=(0, 1, 2)), tip=End.clamped(), closed=True)
    r = direct_equilibrium(problem, elements=100, strain="constant", constraints=[outer], index=index, guess=start)
    assert r.energy == pytest.approx(energy, rel=1e-3)
    distance = np.linalg.norm(r.g[:-1, :2, 3], axis=1)
    assert np.max(distance) == pytest.approx(radius * unit, rel=1e-6)
    push = r.constraint_forces["outer ring"][:, 0]
    assert np.max(push) < 1e-6  # an upper bound pushes inwards
    assert np.any(push < -1.0)
    turn = np.sum(r.elements[:, 0, 2] * np.diff(r.s))
    assert turn == pytest.approx(2.0 * np.pi * index, abs=1e-7)


def test_closed_curves_without_a_wall():
    problem = unit_rod(base=End(), tip=End.clamped(), closed=True)
    circle = direct_equilibrium(problem, elements=100, strain="constant", index=1)
    assert circle.energy == pytest.approx(2.0 * np.pi**2, rel=1e-6)
    wave = lambda s: straight(s) + np.outer(np.sin(2 * np.pi * s), [0, 0, 9.0, 0, 0, 0])  # noqa: E731
    eight = direct_equilibrium(problem, elements=100, strain="constant", index=0, guess=wave)
    assert eight.energy == pytest.approx(56.2405, rel=1e-5)
    assert circle.stable
    assert eight.stable


def test_a_constraint_is_read_anew_at_every_call():
    """Programs are kept between calls; numbers that a constraint takes from outside are not."""
    depth = [0.10]
    floor = Constraint(lambda s, p, R, xi: p[2] + depth[0], lower=0.0, upper=INFINITY, name="floor")
    for depth[0] in (0.10, 0.2):
        r = direct_equilibrium(unit_rod(SPATIAL, weight=60.0), elements=20, strain="constant", constraints=[floor])
        assert np.min(r.g[:, 2, 3]) == pytest.approx(-depth[0], abs=1e-7)


# Agreement with strain modes ------------------------------------------------------------------------------


def arm(basis, **rest):
    material = ev.Material(young=1e6, poisson=0.45, density=1100.0)
    return ev.Rod(0.4, ev.Circle(8e-3), material, basis, **rest)


@pytest.mark.parametrize(
    "basis", [ev.Legendre(bending=8, torsion=6), ev.Legendre(bending=8, torsion=6, stretch=6, shear=6)]
)
def test_cantilever_agrees_with_strain_modes(basis):
    rod = arm(basis)
    tip = ev.PointWrench(rod, force=(0.0, 0.1, 0.05))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity(), tip])
    modes = ev.equilibrium(system)
    direct = direct_equilibrium(system, elements=80)
    assert direct.tip == pytest.approx(modes.tip, abs=2e-6)
    assert direct.stable
    assert direct.stable is modes.stable


def test_tendon_arm_agrees_with_strain_modes():
    rod = arm(ev.Legendre(bending=8, torsion=6), rest=(0.0, 0.5, 1.0))
    tendon = ev.Tendon(rod, ev.convergent(6e-3, 2e-3))
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[tendon], loads=[ev.Gravity()])
    modes = ev.equilibrium(system, inputs={tendon: 3.0})
    direct = direct_equilibrium(system, {tendon: 3.0}, elements=80)
    assert direct.tip == pytest.approx(modes.tip, abs=5e-6)


def test_tendon_that_ends_inside_the_rod():
    """Curvature jumps where the tendon ends, and the transcription follows."""
    rod = arm(ev.Legendre(bending=4))
    tendon = ev.Tendon(rod, ev.parallel(y=5e-3, z=0.0), end=0.25)
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[tendon])
    r = direct_equilibrium(system, {tendon: 2.0}, elements=30)
    EI = rod.stiffness(np.array([0.1]))[0, 2]
    assert r.strain(np.array([0.1, 0.2499]))[:, 2] == pytest.approx(2.0 * 5e-3 / EI, rel=1e-6)
    assert r.strain(np.array([0.2501, 0.4]))[:, 2] == pytest.approx(0.0, abs=1e-6)


def test_muscle_and_natural_shape():
    """A muscle with a target bends the rod to it; a free helix relaxes to its rest shape with no energy."""
    rod = arm(ev.Legendre(bending=4, torsion=2))
    muscle = ev.Muscle(rod, target=(1.0, 2.0, -3.0))
    r = direct_equilibrium(ev.System(ev.Mechanism.clamped(rod), actuators=[muscle]), elements=10)
    assert r.xi[:, :3] == pytest.approx(np.tile([1.0, 2.0, -3.0], (11, 1)), abs=1e-7)
    helix = lambda s: np.tile([2.0, 5.0, 0.0, 1.0, 0.0, 0.0], (len(s), 1))  # noqa: E731
    free = direct_equilibrium(unit_rod(SPATIAL, rest=helix), elements=20)
    assert free.energy == pytest.approx(0.0, abs=1e-15)
    assert free.tip == pytest.approx(se3.exp([2.0, 5.0, 0.0, 1.0, 0.0, 0.0]), abs=1e-6)


def test_couple_in_the_plane():
    """A tip couple bends a rod into a circular arc."""
    couple = EndWrench(np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]), np.zeros(6))
    r = direct_equilibrium(unit_rod(tip_wrench=couple), elements=10)
    assert r.tip == pytest.approx(se3.exp([0.0, 0.0, 2.0, 1.0, 0.0, 0.0]), abs=1e-8)
    assert r.stress[:, 2] == pytest.approx(2.0, abs=1e-8)


def test_transverse_dead_force():
    """F L²/EI = 10: tip at (0.445004, 0.810609) L."""
    tip = EndWrench(np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]), np.zeros(6))
    r = direct_equilibrium(unit_rod(tip_wrench=tip), elements=100)
    assert r.tip[:2, 3] == pytest.approx([0.445004, 0.810609], abs=1e-6)


# Errors ---------------------------------------------------------------------------------------------------


def above(value, name, **at):
    return Constraint(lambda s, p, R, xi: p[2], lower=value, upper=INFINITY, name=name, **at)


def below(value, name, **at):
    return Constraint(lambda s, p, R, xi: p[2], lower=-INFINITY, upper=value, name=name, **at)


def place(where, name, at):
    return Constraint(lambda s, p, R, xi: [p[0], p[1], p[2]], lower=where, upper=where, name=name, at=at)


CONTRADICTIONS = {
    "two of four": (
        (
            above(-2.0, "floor"),
            above(0.3, "shelf", at=1.0),
            below(0.2, "ceiling"),
            place((0.45, 0.1, 0.0), "eyelet", 0.5),
        ),
        End(),
        r"meets 'shelf' and 'ceiling' together \(without any one of them there is one\)",
    ),
    "an eyelet beyond a wall": (
        (above(-1.0, "floor"), below(0.05, "wall"), place((0.3, 0.1, 0.2), "eyelet", 0.5)),
        End(),
        "meets 'wall' and 'eyelet' together",
    ),
    "the tip beyond a wall": (
        (below(-0.1, "wall", at=lambda s: s > 0.6), above(-1.0, "floor")),
        clamped_at(0.8),
        "meets the position of the tip and 'wall' together",
    ),
    "an eyelet out of reach": (
        (above(-1.0, "floor"), place((0.6, 0.0, 0.0), "eyelet", 0.5)),
        End(),
        r"meets 'eyelet' \(without it there is one\)",
    ),
    "three, of which any two can be met": (
        # between the eyelets the rod has 0.05 to spare: its middle rises by less than 0.11
        (place((0.2, 0.0, 0.0), "first", 0.25), place((0.65, 0.0, 0.0), "second", 0.75), above(0.14, "gate", at=0.5)),
        End(),
        "meets 'first', 'second' and 'gate' together",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_constraints_that_contradict_each_other_are_named(case):
    constraints, tip, words = CONTRADICTIONS[case]
    with pytest.raises(ev.NotConverged, match=words) as caught:
        direct_equilibrium(unit_rod(SPATIAL, tip=tip), elements=12, constraints=constraints, max_iterations=200)
    accused = str(caught.value).split("; the nearest")[0]
    assert "floor" not in accused  # what can be met with all others is not blamed
    if case != "an eyelet out of reach":
        assert "together" in accused


def test_each_part_of_a_contradiction_alone_can_be_met():
    """The three of the last case, two at a time; the rod is heavy, so that no turn about x is free."""
    three = CONTRADICTIONS["three, of which any two can be met"][0]
    for left_out in range(3):
        two = [c for k, c in enumerate(three) if k != left_out]
        assert direct_equilibrium(unit_rod(SPATIAL, weight=1.0), elements=12, constraints=two).residual < 1e-8


def test_nothing_comes_back_from_a_solve_that_failed(monkeypatch):
    """Neither when Ipopt gives up, nor when it takes for solved what is not."""
    from elver.one_rod.transcription import solver as direct_solver

    problem = unit_rod(tip=clamped_at(0.8))
    for shooting in ("multiple", "single"):
        with pytest.raises(ev.NotConverged, match="did not converge after 3 steps"):
            direct_equilibrium(problem, elements=20, shooting=shooting, max_iterations=3)
    with pytest.raises(ev.NotConverged, match="after 2 Newton steps"):
        direct_equilibrium(problem, elements=20, seek="stationary", max_iterations=2, guess=(0, 0, 3.0, 1, 0, 0))
    honest = direct_solver._ipopt

    def boastful(*arguments):
        answer = honest(*arguments)
        return answer._replace(w=answer.w + 1e-4, status="Solved_To_Acceptable_Level")

    monkeypatch.setattr(direct_solver, "_ipopt", boastful)
    with pytest.raises(ev.NotConverged, match=r"stopped \(Solved_To_Acceptable_Level\)"):
        direct_equilibrium(problem, elements=20)


def test_bad_input_is_explained():
    with pytest.raises(ev.BadInput, match=r"1\.2 m apart"):
        direct_equilibrium(unit_rod(tip=clamped_at(1.2)))
    follower = EndWrench(np.zeros(6), np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
    with pytest.raises(ev.BadInput, match="follower"):
        direct_equilibrium(unit_rod(tip_wrench=follower))
    couple = EndWrench(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6))
    with pytest.raises(ev.BadInput, match="couple"):
        direct_equilibrium(unit_rod(SPATIAL, tip_wrench=couple))
    for wrong in (
        {"map": "log"}, {"order": 3}, {"strain": "cubic"}, {"shooting": "both"}, {"elements": 1}, {"elements": 0},
        {"elements": float("nan")}, {"elements": 7.5}, {"seek": "saddle"}, {"tolerance": 0.0}, {"max_iterations": 0},
    ):  # fmt: skip
        with pytest.raises(ev.BadInput, match=next(iter(wrong))):
            direct_equilibrium(unit_rod(), **wrong)
    with pytest.raises(ev.BadInput, match="cannot be traced"):
        direct_equilibrium(unit_rod(), constraints=[Constraint(lambda s, p, R, xi: float(p[0]), name="float")])
    with pytest.raises(ev.BadInput, match=r"lower = 1\.0 above upper"):
        direct_equilibrium(unit_rod(), constraints=[Constraint(lambda s, p, R, xi: p[0], lower=1.0, name="swap")])
    with pytest.raises(ev.BadInput, match="planar"):
        direct_equilibrium(unit_rod(SPATIAL), index=1)
    with pytest.raises(ev.BadInput, match="stay within"):
        direct_equilibrium(unit_rod(), constraints=[Constraint(lambda s, p, R, xi: p[0], at=2.0)])


def test_without_casadi_the_way_to_get_it_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "casadi", None)
    with pytest.raises(ev.BadInput, match="pip install"):
        direct_equilibrium(unit_rod())


# Agreement with the indirect method -----------------------------------------------------------------------


@pytest.mark.parametrize("case", ["tip force", "clamped", "twisted", "heavy", "pinned", "tendon", "curled"])
def test_agreement_with_shooting(case):
    """Truncation of 100 linear elements on both sides of the comparison: fourth order in the tip, second in strain."""
    tip = EndWrench(np.array([0.0, 0.0, 0.0, -1.0, 3.0, 2.0]), np.zeros(6))
    bend = lambda s: straight(s) + np.outer(np.cos(2 * np.pi * s), [0, 0, 4.0, 0, 0, 0])  # noqa: E731
    path = lambda s: (  # noqa: E731
        np.tile([0.0, 0.02, 0.01], (len(s), 1)),
        np.zeros((len(s), 3)),
        np.ones(len(s), dtype=bool),
    )
    problem, guess = {
        "tip force": (unit_rod(SPATIAL, second=1.4, tip_wrench=tip), None),
        "clamped": (unit_rod(tip=clamped_at(0.8)), bend),
        "twisted": (unit_rod(SPATIAL, second=1.4, tip=clamped_at(0.8, 1.0)), bend),
        "heavy": (unit_rod(SPATIAL, weight=30.0), None),
        "pinned": (unit_rod(SPATIAL, second=1.4, weight=5.0, tip=End(clamped_at(0.7).pose, (), (0, 1, 2))), bend),
        "tendon": (unit_rod(SPATIAL, weight=2.0, tendons=(Pull(60.0, path),)), None),
        "curled": (
            unit_rod(SPATIAL, weight=8.0, rest=lambda s: np.tile([1.0, 3.0, 0.0, 1.0, 0.0, 0.0], (len(s), 1))),
            None,
        ),
    }[case]
    direct = direct_equilibrium(problem, elements=100, guess=guess)
    indirect = solve_rod(problem, guess=direct.strain)
    assert direct.tip == pytest.approx(indirect.tip, abs=2e-6)
    assert direct.energy == pytest.approx(indirect.energy, rel=1e-5, abs=1e-8)
    assert direct.elastic_energy == pytest.approx(indirect.elastic_energy, rel=1e-4)
    assert direct.stress[0] == pytest.approx(indirect.stress[0], rel=1e-3, abs=2e-3)
    assert direct.pose(0.333) == pytest.approx(indirect.pose(0.333), abs=1e-5)
    for end, reaction in indirect.reactions.items():
        assert direct.reactions[end].force == pytest.approx(reaction.force, rel=1e-3, abs=1e-3)
        assert direct.reactions[end].moment == pytest.approx(reaction.moment, rel=1e-3, abs=2e-3)


def test_warm_start_takes_fewer_steps():
    first = direct_equilibrium(unit_rod(SPATIAL, weight=30.0))
    cold = direct_equilibrium(unit_rod(SPATIAL, weight=31.0))
    warm = direct_equilibrium(unit_rod(SPATIAL, weight=31.0), guess=first)
    assert warm.iterations < cold.iterations
    assert warm.energy == pytest.approx(cold.energy, rel=1e-9)
    finer = direct_equilibrium(unit_rod(SPATIAL, weight=31.0), elements=80, guess=warm)
    assert finer.tip == pytest.approx(warm.tip, abs=1e-4)


def test_solution_becomes_a_state():
    rod = arm(ev.Legendre(bending=8, torsion=6))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
    direct = direct_equilibrium(system, elements=80)
    state = direct.to_state(system)
    assert ev.poses(system, state)[-1] == pytest.approx(direct.tip, abs=1e-4)  # truncation of eight modes
    with pytest.raises(ev.BadInput, match="outside"):
        direct.pose(1.0)
