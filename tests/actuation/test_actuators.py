"""Tendons, chambers and muscles: their geometry, their stress, and refusals."""

import dataclasses
import warnings

import numpy as np
import pytest

from elver.actuation import (
    Muscle,
    Pressure,
    SpooledTendon,
    Tendon,
    convergent,
    helical,
    parallel,
    route,
)
from elver.errors import BadInput, ElverWarning
from elver.rods import Circle, Legendre, Material, Rectangle, Rod, Taper

L = 0.4
MATERIAL = Material(1e6, 1070.0, poisson=0.45)
ROD = Rod(L, Circle(8e-3), MATERIAL, Legendre.reissner(3))
BENT = dataclasses.replace(ROD, rest=(0.0, 0.0, 0.5))
S = np.linspace(0.0, L, 11)

PATHS = [
    parallel(y=3e-3, z=-2e-3),
    convergent(y=3e-3, z=-2e-3),
    helical(radius=5e-3, turns=1.5, phase=0.4),
    route(lambda s: (3e-3 * np.cos(9 * s), 2e-3 * s)),
    route(lambda s: np.stack([0 * s + 1e-3, s**2 / 100], axis=1), lambda s: (0.0, s / 50)),
]


@pytest.mark.parametrize("path", PATHS)
def test_derivative_of_every_path(path):
    """D' against complex-free central differences of D, whose truncation with h = 1e-4 m is below 1e-9."""
    h = 1e-4
    s = np.linspace(2 * h, L - 2 * h, 9)
    D, D_prime = path(s, L)
    assert D.shape == D_prime.shape == (9, 3)
    assert np.all(D[:, 0] == 0.0)
    difference = (
        (8 * (path(s + h, L)[0] - path(s - h, L)[0]) - path(s + 2 * h, L)[0] + path(s - 2 * h, L)[0]) / 12 / h
    )
    assert D_prime == pytest.approx(difference, abs=1e-9)


def test_paths_start_and_end_where_they_should():
    assert convergent(y=5e-3)(S, L)[0][[0, -1]] == pytest.approx(np.array([[0, 5e-3, 0], [0, 0, 0]]))
    D, _ = helical(5e-3, turns=1.0)(S, L)
    assert D[0] == pytest.approx([0, 5e-3, 0])
    assert np.hypot(D[:, 1], D[:, 2]) == pytest.approx(np.full(11, 5e-3))
    quarter, _ = helical(5e-3, turns=0.25)(S, L)
    assert quarter[-1] == pytest.approx([0, 0, 5e-3])  # a positive turn goes from y to z


def test_route_without_derivative_is_accurate_up_to_the_ends():
    """The stencil stays on the rod: a route that is not defined beyond it is fine."""

    def spiral(s):
        assert np.all((s >= 0.0) & (s <= L))
        return 5e-3 * np.cos(40 * s), 5e-3 * np.sin(40 * s)

    _, D_prime = route(spiral)(S, L)
    exact = np.stack([0 * S, -0.2 * np.sin(40 * S), 0.2 * np.cos(40 * S)], axis=1)
    assert D_prime == pytest.approx(exact, abs=1e-10)


def test_tendon_is_zero_outside_its_stretch():
    tendon = Tendon(ROD, parallel(y=3e-3), start=0.1, end=0.25)
    on = tendon.active(S)
    assert on.tolist() == [0.1 <= s <= 0.25 for s in S]
    D, D_prime, here = tendon.geometry(S)
    assert np.array_equal(here, on)
    assert np.all(D[on, 1] == 3e-3)
    assert np.all(D[~on] == 0.0)
    assert np.all(D_prime == 0.0)
    assert tendon.breaks == (0.1, 0.25)
    assert Tendon(ROD, parallel()).end == L
    assert Tendon(ROD, parallel()).breaks == ()
    assert Tendon(ROD, parallel(), end=L).active(S).all()


def test_inputs_units_and_defaults():
    for actuator, unit, default in (
        (Tendon(ROD, parallel()), "N", 0.0),
        (SpooledTendon(ROD, parallel()), "m", 0.0),
        (Pressure(ROD, 1e-5), "Pa", 0.0),
        (Muscle(ROD, torque=(0, 0, 1)), "1", 1.0),
    ):
        assert (actuator.unit, actuator.default) == (unit, default)
        assert actuator.check(2) == 2.0
        assert {actuator: 1.0}[actuator] == 1.0
        assert actuator.name
    assert SpooledTendon(ROD, parallel()).check(-0.01) == -0.01
    assert Pressure(ROD, 1e-5).check(-100.0) == -100.0


def test_pressure_pushes():
    chamber = Pressure(ROD, 2e-5, parallel(y=4e-3))
    assert chamber.tension(1e4) == pytest.approx(-0.2)
    assert chamber.geometry(S)[0][:, 1] == pytest.approx(np.full(11, 4e-3))


def test_muscle_with_torque():
    muscle = Muscle(ROD, torque=lambda s: np.stack([s, 2 * s, 3 * s], axis=1))
    assert muscle.stress(S) == pytest.approx(np.outer(S, [1, 2, 3, 0, 0, 0]))
    assert Muscle(ROD, torque=np.array([0, 0, 2.0])).stress(0.1).tolist() == [[0, 0, 2.0, 0, 0, 0]]


@pytest.mark.parametrize(
    "target",
    [
        (0.1, 0.0, 2.0),
        np.array([0.1, 0.0, 2.0, 1.0, 0.0, 0.0]),
        lambda s: np.tile([0.1, 0.0, 2.0], (len(s), 1)),
        lambda s: np.tile([0.1, 0.0, 2.0, 1.0, 0.0, 0.0], (len(s), 1)),
    ],
)
def test_muscle_with_target_cancels_elasticity_there(target):
    """At ξ = ξ_d the stress Λ_act + 𝓗 (ξ_d - ξ₀) vanishes."""
    xi_d = np.array([0.1, 0.0, 2.0, 1.0, 0.0, 0.0])
    elastic = BENT.stiffness(S) * (xi_d - BENT.rest_strain(S))
    assert Muscle(BENT, target=target).stress(S) + elastic == pytest.approx(np.zeros((11, 6)), abs=1e-12)


def test_six_component_target_asks_for_stretch():
    stress = Muscle(ROD, target=(0, 0, 0, 1.1, 0, 0)).stress(0.0)[0]
    assert stress[3] == pytest.approx(-0.1 * ROD.stiffness(0.0)[0, 3])


@pytest.mark.parametrize(
    ("rod", "path"),
    [
        (ROD, parallel(y=0.012)),
        (ROD, parallel(y=7e-3, z=7e-3)),
        (dataclasses.replace(ROD, section=Circle(Taper(8e-3, 4e-3))), parallel(z=6e-3)),
        (dataclasses.replace(ROD, section=Rectangle(0.01, 0.01)), parallel(z=6e-3)),
    ],
)
def test_a_tendon_outside_the_section_is_allowed_with_a_warning(rod, path):
    with pytest.warns(
        ElverWarning, match=r"runs .* m from the axis at s = .* m, outside the section .*reach="
    ):
        tendon = Tendon(rod, path)
    assert np.abs(tendon.geometry(S)[0]).max() >= 6e-3


def test_disks_extend_the_reach():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tendon(ROD, parallel(y=0.012), reach=0.012)
        Tendon(dataclasses.replace(ROD, section=Rectangle(0.01, 0.01)), parallel(y=5e-3, z=5e-3))
        Pressure(ROD, 1e-5, helical(8e-3, 2.0))
        SpooledTendon(ROD, convergent(y=0.02), reach=0.02)
    with pytest.warns(ElverWarning, match=r"runs 0.02 m from the axis at s = 0 m, outside reach = 0.012 m"):
        Tendon(ROD, convergent(y=0.02), reach=0.012)


def test_the_warning_points_at_the_line_that_built_the_tendon():
    with pytest.warns(ElverWarning) as caught:
        Tendon(ROD, parallel(y=0.1))
    assert caught[0].filename == __file__


def nan_beyond(s):
    return np.where(s[:, None] > 0.2, np.nan, 1e-3) * np.ones(2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Tendon(ROD, parallel()).check(-1.0),
            r"tension of 'tendon' = -1 N: a tendon can only pull; give a tension >= 0 N",
        ),
        (lambda: Tendon(ROD, parallel(), name="left").check(np.nan), r"tension of 'left' contains nan \(N\)"),
        (
            lambda: SpooledTendon(ROD, parallel()).check(np.inf),
            r"length wound in of 'spooled tendon' .* inf \(m\)",
        ),
        (lambda: Pressure(ROD, 1e-5).check(np.nan), r"pressure of 'pressure' contains nan \(Pa\)"),
        (lambda: Muscle(ROD, torque=(0, 0, 1)).check(np.nan), r"input of 'muscle' contains nan"),
        (
            lambda: Tendon(ROD, parallel(), start=-0.1),
            r"tendon 'tendon': start = -0.1 m: must not be negative",
        ),
        (lambda: Tendon(ROD, parallel(), end=0.5), r"end = 0.5 m lies beyond the rod; choose end <= 0.4 m"),
        (lambda: Tendon(ROD, parallel(), start=0.3, end=0.2), r"start = 0.3 m is not before end = 0.2 m"),
        (lambda: Tendon("arm", parallel()), r"tendon 'tendon': rod = 'arm'; give the Rod it runs along"),
        (lambda: Tendon(ROD, (0, 1)), r"path = \(0, 1\); give e.g. parallel\(y=5e-3, z=0.0\) in m"),
        (lambda: Tendon(ROD, parallel(), name=""), r"tendon name = '': give a non-empty text"),
        (
            lambda: Tendon(ROD, parallel(), reach=-1.0),
            r"tendon 'tendon': reach = -1 m: must be greater than zero",
        ),
        (lambda: Pressure(ROD, 0.0), r"chamber area of 'pressure' = 0 m2: must be greater than zero"),
        (lambda: parallel(y=np.nan), r"path: y contains nan \(m\)"),
        (lambda: convergent(z=np.inf), r"path: z contains inf \(m\)"),
        (lambda: helical(0.0, 1.0), r"path: radius = 0 m: must be greater than zero"),
        (lambda: helical(1e-3, np.nan), r"path: turns contains nan \(\(turns\)\)"),
        (lambda: route(3.0), r"route: function = 3.0; give a callable s \[m\] -> \(D_y, D_z\) \[m\]"),
        (
            lambda: Tendon(ROD, route(nan_beyond)),
            r"route: function: .* \[nan nan\] m at s = 0.2\d* m; make it finite",
        ),
        (
            lambda: Tendon(ROD, route(lambda s: s)),
            r"route: function: the callable returned shape .*return .*, 2\)",
        ),
        (
            lambda: Tendon(ROD, lambda s, length: (s, s)),
            r"path of 'tendon': D has shape \(20,\); return \(20, 3\)",
        ),
        (
            lambda: Tendon(ROD, lambda s, length: (np.full((len(s), 3), np.nan),) * 2),
            r"path of 'tendon': D = \[nan nan nan\] m at s = 0 m; make it finite",
        ),
        (lambda: Muscle(ROD), r"muscle 'muscle': give either torque \[N m\] or target"),
        (lambda: Muscle(ROD, torque=(0, 0, 1), target=(0, 0, 1)), r"give either torque \[N m\] or target"),
        (lambda: Muscle(ROD, torque=(0, 1)), r"torque has shape \(2,\): expected \(3,\) in N m"),
        (lambda: Muscle(ROD, target=(0, 0, np.nan)), r"target contains nan \(1/m"),
        (
            lambda: Muscle(ROD, torque=lambda s: s),
            r"muscle 'muscle': torque: the callable returned shape \(20,\)",
        ),
        (
            lambda: Muscle(ROD, target=lambda s: np.full((len(s), 6), np.inf)),
            r"muscle 'muscle': target: the callable returned .*inf.* at s = 0 m",
        ),
        (lambda: Muscle("arm", torque=(0, 0, 1)), r"muscle 'muscle': rod = 'arm'; give the Rod it acts on"),
    ],
)
def test_bad_actuators_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()


# Through several rods ---------------------------------------------------------------------------------------

NEAR = dataclasses.replace(ROD, name="near")
MIDDLE = dataclasses.replace(ROD, length=0.2, name="middle")
FAR = dataclasses.replace(ROD, length=0.3, name="far")


@pytest.mark.parametrize("kind", [Tendon, SpooledTendon])
def test_one_path_for_all_rods_is_taken_at_each_rods_own_arc_length(kind):
    cable = kind([NEAR, MIDDLE, FAR], convergent(y=4e-3), start=0.1, end=0.25)
    assert cable.rods == (NEAR, MIDDLE, FAR)
    for rod, stretch, breaks in (
        (NEAR, (0.1, 0.4), (0.1,)),
        (MIDDLE, (0.0, 0.2), ()),
        (FAR, (0.0, 0.25), (0.25,)),
    ):
        assert cable.stretch(rod) == stretch
        assert cable.breaks_on(rod) == breaks
        s = np.linspace(0.0, rod.length, 9)
        D, D_prime, here = cable.geometry(s, rod)
        assert here.tolist() == [stretch[0] <= x <= stretch[1] for x in s]
        assert np.array_equal(here, cable.active(s, rod))
        assert D[:, 1] == pytest.approx(np.where(here, 4e-3 * (1 - s / rod.length), 0.0))
        assert D_prime[:, 1] == pytest.approx(np.where(here, -4e-3 / rod.length, 0.0))


def test_each_rod_may_have_its_own_path():
    cable = Tendon((NEAR, FAR), [parallel(y=3e-3), helical(5e-3, 1.0)])
    assert cable.end == FAR.length
    assert cable.geometry(S, NEAR)[0] == pytest.approx(Tendon(NEAR, parallel(y=3e-3)).geometry(S)[0])
    s = np.linspace(0.0, FAR.length, 7)
    for ours, alone in zip(cable.geometry(s, FAR), Tendon(FAR, helical(5e-3, 1.0)).geometry(s)):
        assert np.array_equal(ours, alone)


def test_one_rod_in_a_sequence_is_the_rod():
    tendon = Tendon([ROD], [parallel(y=3e-3)], end=0.3)
    assert tendon.rod is ROD
    assert tendon.breaks == (0.3,) == tendon.breaks_on(ROD)
    assert np.array_equal(tendon.geometry(S)[0], tendon.geometry(S, ROD)[0])


def test_every_actuator_of_rods_names_its_rods():
    for actuator in (
        Tendon(ROD, parallel()),
        SpooledTendon(ROD, parallel()),
        Pressure(ROD, 1e-5),
        Muscle(ROD, torque=(0, 0, 1)),
    ):
        assert actuator.rods == (ROD,)


def test_the_warning_names_the_rod_that_the_cable_leaves():
    with pytest.warns(ElverWarning, match=r"from the axis of 'far' at s = 0 m, outside the section") as caught:
        Tendon([NEAR, FAR], [parallel(), parallel(z=0.02)])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Tendon([], parallel()), r"tendon 'tendon': rod = \[\] is empty; give the rods in the order"),
        (lambda: Tendon([ROD, "far"], parallel()), r"rod contains 'far', neither a rod nor a guide"),
        (lambda: Tendon([NEAR, FAR, NEAR], parallel()), r"the rod 'near' is listed twice; list each rod once"),
        (
            lambda: Tendon([NEAR, FAR], [parallel()] * 3),
            r"tendon 'tendon': 3 paths for 2 rods; give one path for all, or one per rod",
        ),
        (lambda: Tendon(ROD, [parallel()] * 2), r"2 paths for 1 rod; give one path for all"),
        (lambda: Tendon([NEAR, FAR], []), r"path = \[\]; give e.g. parallel"),
        (lambda: Tendon([NEAR, FAR], parallel(), start=0.5), r"tendon 'tendon' on 'near': start = 0.5 m is not before"),
        (lambda: Tendon([NEAR, FAR], parallel(), end=0.35), r"on 'far': end = 0.35 m lies beyond the rod"),
        (
            lambda: Tendon([NEAR, FAR], parallel()).breaks,
            r"'tendon' runs through several rods, 'near', 'far': say which one is meant",
        ),
        (lambda: Tendon([NEAR, FAR], parallel()).geometry(S), r"'tendon' runs through several rods"),
        (
            lambda: Tendon([NEAR, FAR], parallel()).geometry(S, MIDDLE),
            r"'tendon' does not run through the rod 'middle', only through 'near', 'far'",
        ),
        (lambda: Pressure([NEAR, FAR], 1e-5), r"pressure chamber 'pressure': rod = a list of 2 \(Rod\); give the Rod"),
    ],
)
def test_bad_cables_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
