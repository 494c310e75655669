"""Three methods, one answer: strain modes, shooting and direct transcription on one rod after another."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.methods import compare_methods, rod_equilibrium

SOFT = ev.Material(young=2e6, poisson=0.4, density=1100.0)
DOWN = se3.pose(so3.exp(np.array([0.0, np.pi / 2.0, 0.0])), np.zeros(3))
L = 0.5


def rod(basis=None, length: float = L, **more) -> ev.Rod:
    return ev.Rod(length, ev.Circle(0.01), SOFT, basis or ev.Legendre.kirchhoff(10), **more)


def tip_force(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    return ev.System(ev.Mechanism.clamped(r), loads=[ev.PointWrench(r, "tip", force=(0.02, 0.05, -0.06))]), {}


def tip_moment(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    couple = ev.PointWrench(r, "tip", moment=(0.0, 0.0, 0.03), frame="section")
    return ev.System(ev.Mechanism.clamped(r), loads=[couple]), {}


def weight(basis=None) -> tuple[ev.System, dict]:
    return ev.System(ev.Mechanism.clamped(rod(basis)), loads=[ev.Gravity()]), {}


def hanging(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    loads = [ev.Gravity(), ev.PointWrench(r, "tip", force=(0.0, 0.04, 0.0))]
    return ev.System(ev.Mechanism.clamped(r, pose=DOWN), loads=loads), {}


def heavy_column(basis=None) -> tuple[ev.System, dict]:
    """Upright, pushed aside a little: below its buckling load."""
    up = se3.pose(so3.exp(np.array([0.0, -np.pi / 2.0, 0.0])), np.zeros(3))
    r = rod(basis, length=0.2)
    loads = [ev.Gravity(), ev.PointWrench(r, "tip", force=(0.0, 0.02, 0.0))]
    return ev.System(ev.Mechanism.clamped(r, pose=up), loads=loads), {}


def tendon(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    cable = ev.Tendon(r, ev.parallel(y=0.008, z=0.0))
    return ev.System(ev.Mechanism.clamped(r), [cable], [ev.Gravity()]), {cable: 3.0}


def helical_tendon(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    cable = ev.Tendon(r, ev.helical(radius=0.008, turns=1.0))
    return ev.System(ev.Mechanism.clamped(r), [cable]), {cable: 4.0}


def muscle(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    flexor = ev.Muscle(r, target=(0.0, 1.0, 2.0, 1.0, 0.0, 0.0))
    return ev.System(ev.Mechanism.clamped(r), [flexor], [ev.Gravity()]), {flexor: 1.0}


def helix_at_rest(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis, rest=(6.0, 0.0, 8.0))
    return ev.System(ev.Mechanism.clamped(r, pose=DOWN), loads=[ev.Gravity()]), {}


def stretchable(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis or ev.Legendre.reissner(8))
    return ev.System(ev.Mechanism.clamped(r), loads=[ev.PointWrench(r, "tip", force=(0.5, 0.1, 0.0))]), {}


def prescribed_tip(basis=None) -> tuple[ev.System, dict]:
    r = rod(basis)
    pose = se3.pose(so3.exp(np.array([0.0, 0.0, 0.4])), np.array([0.42, 0.12, 0.0]))
    hold = ev.Hold("tip", position=pose[:3, 3], orientation=pose[:3, :3])
    return ev.System(ev.Mechanism.clamped(r, holds=[hold])), {}


def clamped_clamped(basis=None) -> tuple[ev.System, dict]:
    """Heavy, its ends at four fifths of its length."""
    r = rod(basis or ev.Legendre.kirchhoff(12))
    hold = ev.Hold("tip", position=(0.8 * L, 0.0, 0.0), orientation=np.eye(3))
    return ev.System(ev.Mechanism.clamped(r, holds=[hold]), loads=[ev.Gravity()]), {}


def ring(basis=None) -> tuple[ev.System, dict]:
    """Hanging from its clamp."""
    r = rod(basis or ev.Legendre.kirchhoff(12))
    weld = ev.Fixed((r, "tip"), (r, "base"), name="weld")
    return ev.System(ev.Mechanism([ev.Fixed("world", (r, "base")), weld]), loads=[ev.Gravity()]), {}


def sagging(s):
    xi = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (len(s), 1))
    xi[:, 1] = 11.0 * np.cos(2.0 * np.pi * s / L)
    return xi


# of several equilibria, the one meant
GUESSES = {"ring": (0.0, 2.0 * np.pi / L, 0.0, 1.0, 0.0, 0.0), "clamped_clamped": sagging}

PROBLEMS = [
    tip_force, tip_moment, weight, hanging, heavy_column, tendon, helical_tendon, muscle, helix_at_rest, stretchable,
    prescribed_tip, clamped_clamped, ring,
]  # fmt: skip


@pytest.fixture(scope="module")
def exact():
    """Every problem to 1e-9 of the length, by shooting."""
    found = {}

    def solve(problem):
        if problem.__name__ not in found:
            system, inputs = problem()
            guess = GUESSES.get(problem.__name__)
            found[problem.__name__] = rod_equilibrium(system, inputs, "shooting", guess, accuracy=1e-9)
        return found[problem.__name__]

    return solve


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_three_methods_one_answer(problem, exact):
    """Ten functions are good to about 1e-6 of the length (twelve, of tightly bent rods, to 1e-5), fifty linear elements
    to 1e-6; the imbalance of each, from its strain alone, is that of its truncation."""
    system, inputs = problem()
    guess = GUESSES.get(problem.__name__)
    shooting = exact(problem)
    tip = shooting.tip[:3, 3]
    modes = rod_equilibrium(system, inputs, "modes", guess)
    assert np.linalg.norm(modes.tip[:3, 3] - tip) < 1e-5 * L
    assert modes.energy == pytest.approx(shooting.energy, rel=1e-5, abs=1e-9)
    assert shooting.balance.imbalance < 1e-7
    assert shooting.balance.gap < 1e-8
    assert modes.balance.imbalance < 2e-2
    assert modes.stable
    if problem in (tip_moment,):  # a couple that follows has no potential: direct methods refuse it
        with pytest.raises(ev.BadInput, match="couple acts on the tip"):
            rod_equilibrium(system, inputs, "direct")
        return
    direct = rod_equilibrium(system, inputs, "direct", guess, elements=50)
    assert np.linalg.norm(direct.tip[:3, 3] - tip) < 1e-5 * L
    assert abs(direct.energy - shooting.energy) < 1e-5 * (abs(shooting.energy) + 1e-9)
    assert direct.balance.imbalance < 2e-2
    assert direct.stable
    assert shooting.stable


# Orders -------------------------------------------------------------------------------------------------------------


def error(shape, exact) -> float:
    """Largest distance of eight sections from where they are, in lengths of the rod."""
    s = np.linspace(0.0, exact.problem.length, 9)[1:]
    return max(np.linalg.norm(shape.pose(x)[:3, 3] - exact.pose(x)[:3, 3]) for x in s) / exact.problem.length


def observed(coarse: float, fine: float) -> float:
    return float(np.log2(coarse / fine))


CURVED = [problem for problem in PROBLEMS if problem is not tip_moment]  # a couple bends to an arc: all are exact


@pytest.mark.parametrize("problem", CURVED, ids=lambda problem: problem.__name__)
def test_shooting_on_a_fixed_mesh_is_of_fourth_order(problem, exact):
    system, inputs = problem()
    meshes = [
        rod_equilibrium(system, inputs, "shooting", exact(problem), segments=n, steps=1, accuracy=None)
        for n in (16, 32)
    ]
    assert observed(*(error(shape, exact(problem)) for shape in meshes)) == pytest.approx(4.0, abs=0.6)


@pytest.mark.parametrize("problem", CURVED, ids=lambda problem: problem.__name__)
def test_orders_of_direct_methods(problem, exact):
    """Second with constant strains, by the exponential and by Cayley's map; fourth with linear strains."""
    system, inputs = problem()
    for options, sizes, order, about in (
        ({"strain": "constant"}, (16, 32), 2.0, 0.35),
        ({"strain": "constant", "map": "cayley"}, (16, 32), 2.0, 0.35),
        ({"strain": "linear"}, (12, 24), 4.0, 0.7),
    ):
        shapes = [rod_equilibrium(system, inputs, "direct", exact(problem), elements=n, **options) for n in sizes]
        found = observed(*(error(shape, exact(problem)) for shape in shapes))
        assert found == pytest.approx(order, abs=about), options


@pytest.mark.parametrize("problem", CURVED, ids=lambda problem: problem.__name__)
def test_orders_of_strain_modes(problem, exact):
    """Energies: polynomials gain a factor of more than three with each function, linear strains in elements are of
    fourth order, twice that of the strain. Three is a bound from our own runs, which gain 4 to 20; the tip force 3.5,
    where its error meets that of the reference."""
    strains = "reissner" if problem is stretchable else "kirchhoff"

    def off(basis) -> float:
        system, inputs = problem(basis)
        return abs(rod_equilibrium(system, inputs, "modes", exact(problem)).energy / exact(problem).energy - 1.0)

    few, many = (off(getattr(ev.Legendre, strains)(n)) for n in (4, 8))
    assert (few / max(many, 1e-12)) ** 0.25 > 3.0
    coarse, fine = (off(getattr(ev.PiecewiseLinear, strains)(n)) for n in (8, 16))
    assert observed(coarse, fine) == pytest.approx(4.0, abs=0.5)


# The automatic choice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_the_automatic_choice_is_exact_and_checked(problem, exact):
    system, inputs = problem()
    shape = rod_equilibrium(system, inputs, guess=GUESSES.get(problem.__name__))
    assert shape.method == "shooting"
    assert error(shape, exact(problem)) < 1e-7
    assert shape.balance.imbalance < 1e-6
    assert shape.stable is (None if problem is tip_moment else True)
    assert shape.lower is None
    assert any(why.startswith("gave the start") for why in shape.passed_over.values())


def upright(load: float) -> ev.System:
    """A planar column of length 1 and EI = 1 under an axial dead load."""
    r = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=4.0 / (np.pi * 1e-8), poisson=0.4, density=1.0),
               ev.Legendre.planar(10))  # fmt: skip
    return ev.System(ev.Mechanism.clamped(r), loads=[ev.PointWrench(r, "tip", force=(-load, 0.0, 0.0))])


STRAIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def test_without_a_guess_a_saddle_is_left():
    """Twice Euler's load π²/4: the straight column is a saddle, and the bent one has less energy."""
    shape = rod_equilibrium(upright(np.pi**2 / 2.0))
    assert shape.stable
    assert abs(shape.tip[1, 3]) > 0.5
    assert shape.energy < np.pi**2 / 2.0  # of the straight one: its load times its length


def test_a_guess_on_the_wrong_branch_is_said():
    """The straight column is what the guess asks for, and it stays the answer; both energies are told."""
    system = upright(np.pi**2 / 2.0)
    words = r"near the guess has the energy 4\.93\d* J and is unstable, .* wrong branch"
    with pytest.warns(ev.ElverWarning, match=words) as said:
        shape = rod_equilibrium(system, guess=STRAIGHT)
    assert shape.tip[1, 3] == pytest.approx(0.0, abs=1e-9)
    assert shape.stable is False
    assert shape.lower.stable
    assert shape.lower.energy < shape.energy
    assert f"{shape.lower.energy:.6g} J" in str(said[0].message)


def test_a_stable_shape_above_another_is_said():
    """A clamped rod twisted by a full turn is stable below its couple 8.99 EI/L (Greenhill); here it is 0.7 · 2π EI/L.
    Its energy is ½ · 0.7 · 4π² EI/L, that of the rod reached from rest nothing."""
    material = ev.Material(young=4.0 / (np.pi * 1e-8), poisson=1.0 / 0.7 - 1.0, density=1.0)
    r = ev.Rod(1.0, ev.Circle(0.01), material, ev.Legendre.reissner(4))
    hold = ev.Hold("tip", position=(1.0, 0.0, 0.0), orientation=np.eye(3))
    system = ev.System(ev.Mechanism.clamped(r, holds=[hold]))
    with pytest.warns(
        ev.ElverWarning, match=r"near the guess has the energy 13\.8\d* J, and from rest one with .* J is reached"
    ):
        shape = rod_equilibrium(system, guess=(2.0 * np.pi, 0.0, 0.0, 1.0, 0.0, 0.0))
    assert shape.stable
    assert shape.energy == pytest.approx(0.35 * 4.0 * np.pi**2, rel=1e-6)
    assert shape.lower.energy == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("method", ["modes", "shooting"])
def test_an_unstable_shape_is_said_by_every_method(method):
    with pytest.warns(ev.ElverWarning, match="is unstable; try another guess"):
        assert rod_equilibrium(upright(np.pi**2 / 2.0), None, method, STRAIGHT).stable is False


def test_what_failed_is_told_method_by_method(monkeypatch):
    system, inputs = weight()

    def fails(*_, **__):
        raise ev.NotConverged("it had a bad day")

    for name in ("equilibrium", "solve_rod", "direct_equilibrium"):
        monkeypatch.setattr(f"elver.one_rod.methods.{name}", fails)
    with pytest.raises(ev.NotConverged, match="modes: it had a bad day; direct: it had a bad day; shooting: it had a"):
        rod_equilibrium(system, inputs)


def test_without_casadi_the_automatic_choice_does_without(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "casadi", None)
    system, inputs = clamped_clamped()
    shape = rod_equilibrium(system, inputs, guess=lambda s: 0.4 * sagging(s) + 0.6 * np.tile(STRAIGHT, (len(s), 1)))
    assert shape.balance.imbalance < 1e-6


# Guesses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "modes", "shooting", "direct"])
def test_all_methods_take_all_guesses(method):
    r = rod(ev.Legendre.planar(8))
    system = ev.System(ev.Mechanism.clamped(r), loads=[ev.PointWrench(r, "tip", force=(0.02, 0.05, 0.0))])
    first = rod_equilibrium(system, None, "shooting")
    state = ev.equilibrium(system)
    near = lambda s: np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0], (len(s), 1))  # noqa: E731
    by_hand = ev.direct_equilibrium(system, elements=20)
    for guess in (first, first.found, state, state.state, by_hand, near, (0.0, 0.0, 0.3, 1.0, 0.0, 0.0)):
        shape = rod_equilibrium(system, None, method, guess)
        assert np.linalg.norm(shape.tip[:3, 3] - first.tip[:3, 3]) < 1e-5 * L


def test_a_result_is_a_guess_for_a_rod_of_another_length():
    short, _ = heavy_column()
    shape = rod_equilibrium(short)
    long, inputs = weight()
    assert rod_equilibrium(long, inputs, "direct", shape).energy < 0.0


def test_every_shape_becomes_a_state_and_tells_its_reactions(exact):
    system, inputs = prescribed_tip()
    for method in ("modes", "direct", "auto"):
        shape = rod_equilibrium(system, inputs, method)
        assert ev.poses(system, shape.to_state(system))[-1] == pytest.approx(shape.tip, abs=5e-4)  # ten functions
        for end, reaction in exact(prescribed_tip).reactions.items():
            scale = np.linalg.norm(reaction.force)
            assert shape.reactions[end].force == pytest.approx(reaction.force, abs=1e-2 * scale)


# The table, and what cannot be solved -------------------------------------------------------------------------------


def test_table_of_methods():
    system, inputs = tendon()
    found = compare_methods(system, inputs)
    assert set(found.shapes) == {"modes", "shooting", "direct"}
    assert found.distance("modes", "shooting") < 1e-5 * L
    text = str(found)
    assert text.splitlines()[0].startswith("method")
    assert "shooting" in text


def test_a_method_that_is_not_there():
    system, _ = weight()
    with pytest.raises(ev.BadInput, match="method = 'magic': choose one of 'auto', 'modes', 'shooting', 'direct'"):
        rod_equilibrium(system, None, "magic")


METHODS = ("auto", "modes", "shooting", "direct")


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_solved_is_said_alike_by_all(method):
    out_of_reach = ev.Hold("tip", position=(0.9, 0.0, 0.0), orientation=np.eye(3))
    far = ev.System(ev.Mechanism.clamped(rod(), holds=[out_of_reach]))
    with pytest.raises(ev.BadInput, match=r"held 0\.9 m apart, and the rod does not stretch beyond its 0\.5 m"):
        rod_equilibrium(far, None, method)
    system, inputs = tendon()
    (cable,) = inputs
    with pytest.raises(ev.BadInput, match="input 'tendon' contains nan"):
        rod_equilibrium(system, {cable: np.nan}, method)
    with pytest.raises(ev.BadInput, match="'pump' is not part of this system; its inputs are 'tendon', 'gravity'"):
        rod_equilibrium(system, {"pump": 1.0}, method)
    with pytest.raises(ev.BadInput, match=f"method = '{method}' has no option 'patience'"):
        rod_equilibrium(system, inputs, method, patience=3)
    a, b = rod(name="left"), rod(name="right")
    pair = ev.System(ev.Mechanism([ev.Fixed("world", (a, "base")), ev.Fixed((a, "tip"), (b, "base"))]))
    with pytest.raises(ev.BadInput, match="has 2 rods and 0 rigid bodies"):
        rod_equilibrium(pair, None, method)
    twice = [ev.Hold("tip", position=(0.4, 0.0, 0.0), orientation=np.eye(3)), ev.Hold("tip", position=(0.4, 0.1, 0.0))]
    with pytest.raises(ev.BadInput, match="the tip of the rod is held 9 times in all"):
        rod_equilibrium(ev.System(ev.Mechanism.clamped(rod(), holds=twice)), None, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("guess", "words"),
    [
        ((0.0, 0.0, np.nan, 1.0, 0.0, 0.0), "the strain at s = 0 m is not a finite number"),
        (
            lambda s: np.where(s[:, None] > 0.2, np.inf, np.ones((len(s), 6))),
            r"the strain at s = 0\.5 m is not a finite",
        ),
        (lambda s: np.zeros(6), r"guess returned shape \(6,\) for 2 positions"),
        ((0.0, 0.0, 1.0), r"guess has shape \(3,\)"),
        ("bent", "guess is a str: give a result, a state, a strain"),
        (
            ev.System(ev.Mechanism.clamped(rod(ev.Legendre.planar(3)))).rest(),
            "a state belongs to the system it was",
        ),
    ],
    ids=["nan", "infinite somewhere", "shape", "three numbers", "word", "state of another"],
)
def test_what_is_no_guess_is_said_alike_by_all(method, guess, words):
    system, inputs = weight()
    with pytest.raises(ev.BadInput, match=words):
        rod_equilibrium(system, inputs, method, guess)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("shooting", {"form": "x"}, "form = 'x'"),
        ("shooting", {"segments": 0}, "segments = 0"),
        ("shooting", {"segments": np.nan}, "segments = nan"),
        ("shooting", {"accuracy": np.nan}, "accuracy = nan"),
        ("shooting", {"tolerance": 0.0}, "tolerance = 0"),
        ("direct", {"elements": 0}, "elements = 0"),
        ("direct", {"elements": np.nan}, "elements = nan"),
        ("direct", {"tolerance": np.nan}, "tolerance = nan"),
        ("modes", {"tolerance": -1.0}, "tolerance = -1"),
        ("modes", {"max_iterations": 0}, "max_iterations = 0"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(method, options, words):
    system, inputs = weight()
    with pytest.raises(ev.BadInput, match=words):
        rod_equilibrium(system, inputs, method, **options)


def test_ends_are_counted():
    """A ball joint holds three components of six; without weight nothing else places the rod."""
    r = rod()
    pinned = ev.System(ev.Mechanism([ev.Spherical("world", (r, "base"))]))
    for method in ("auto", "shooting"):
        with pytest.raises(ev.BadInput, match="3 components of the poses are held, and 6 are needed"):
            rod_equilibrium(pinned, None, method)


def test_a_rod_without_stiffness_is_refused():
    problem = ev.RodProblem.of(weight()[0])
    with pytest.raises(ev.BadInput, match=r"stiffness of the strain 1 .* is 0: it must be greater than zero"):
        problem.with_(stiffness=lambda s: np.tile([1.0, 0.0, 1.0, 1.0, 1.0, 1.0], (len(s), 1)))
