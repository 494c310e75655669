"""Gaits: waves of heading and of curvature, and the actuators and inputs that follow them.

Sources: Khalil 2007 (heading of an eel, acceptance 8) and Boyer 2023, test 4 (curvature of a swimmer).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import spherical_jn

import elver as ev
from elver.actuation import Imposed, Muscle, Sine, c2_ramp, ramp, smooth_step
from elver.actuation.gaits import CurvatureWave, TravellingWave, joint_gait, muscle_gait, rod_gait
from elver.bodies import RigidBody
from elver.errors import BadInput, ElverWarning
from elver.io import dumps, load, loads
from elver.mechanism import Fixed, Floating, Mechanism, Prismatic, Revolute, Universal
from elver.numerics.differences import FIRST, OFFSETS, SECOND
from elver.rods import Chebyshev, Circle, Legendre, Material, PiecewiseConstant, PiecewiseLinear, Rod
from elver.system import System

EEL = TravellingWave(amplitude=0.06, growth=1.2, wavelength=1.8, period=2.0, ramp=smooth_step(0.0, 2.0))
STATIONS = 0.14 * np.arange(13)
SWIMMER = CurvatureWave((1.0, 0.5, 2.0), wavelength=1.0, period=1.0, ramp=c2_ramp(0.0, 1.0))
GEL = Material(1e6, 1000.0, poisson=0.45)


@pytest.fixture
def rng():
    return np.random.default_rng(2007)


def chain(joints=12, link=0.14, kind=Revolute):
    bodies = [RigidBody(1.0, (1e-3, 1e-3, 1e-3), name=f"link{k}") for k in range(joints + 1)]
    hinges = [
        kind((bodies[k], (link, 0.0, 0.0)), bodies[k + 1], name=f"hinge{k + 1}") for k in range(joints)
    ]
    return Mechanism([Floating("world", bodies[0]), *hinges]), hinges


def fish(basis=None, length=1.0, **more):
    return Rod(length, Circle(0.05), GEL, Legendre.planar(8) if basis is None else basis, name="fish", **more)


def rates_by_differences(value, t, step=1e-3):
    """Central differences of order six."""
    samples = np.array([value(t + step * k) for k in OFFSETS])
    return np.array([value(t), np.tensordot(FIRST, samples, 1) / step, np.tensordot(SECOND, samples, 1) / step**2])


def quintic(t, t_f):
    tau = np.clip(t / t_f, 0.0, 1.0)
    return 10 * tau**3 - 15 * tau**4 + 6 * tau**5


def heading(s, t, A=0.06, alpha=1.2, wavelength=1.8, T=2.0, t_f=2.0):
    """Khalil 2007, as printed."""
    return quintic(t, t_f) * A * np.exp(alpha * s) * np.sin(2 * np.pi * (s / wavelength - t / T))


def curvature(s, t):
    """Boyer 2023, test 4, with a length of 1 m."""
    tau = np.clip(t, 0.0, 1.0)
    f = tau - np.sin(2 * np.pi * tau) / (2 * np.pi)
    return f * (1.0 + 0.5 * s + 2.0 * s**2) * np.sin(2 * np.pi * (s - t))


# The waves --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wave", "formula"), [(EEL, heading), (SWIMMER, curvature)])
def test_waves_are_the_printed_formulas(wave, formula, rng):
    for s, t in zip(rng.uniform(0.0, 1.7, 30), rng.uniform(-0.5, 4.0, 30), strict=True):
        # rounding of values up to 8, with phases up to 30 rad
        assert wave.at(s, t)[0] == pytest.approx(formula(s, t), abs=1e-13)
    s = rng.uniform(0.0, 1.0, 5)
    assert wave.at(s, 1.3)[0] == pytest.approx(formula(s, 1.3), abs=1e-13)


@pytest.mark.parametrize("wave", [EEL, SWIMMER, TravellingWave(0.1, 0.0, 0.5, 0.7)])
def test_rates_of_waves(wave, rng):
    s = np.linspace(0.0, 1.0, 6)
    for t in (0.05, 0.62, 1.5, 3.1):
        by_differences = rates_by_differences(lambda t: wave.at(s, t)[0], t)
        # rounding / step² for values up to 4; truncation of order six at 1.4 Hz is below it
        assert np.array(wave.at(s, t)) == pytest.approx(by_differences, abs=2e-8)


@pytest.mark.parametrize("wave", [EEL, SWIMMER])
def test_a_wave_is_two_shapes_with_two_signals(wave, rng):
    s = rng.uniform(0.0, 1.0, 10)
    sine, cosine = wave.shapes(s)
    with_sine, with_cosine = wave.signals
    for t in rng.uniform(0.0, 3.0, 10):
        product = np.multiply.outer(with_sine.rates(t), sine) + np.multiply.outer(with_cosine.rates(t), cosine)
        assert product == pytest.approx(np.array(wave.at(s, t)), abs=2e-13)


def test_a_wave_travels_towards_the_tail():
    still = CurvatureWave((1.0,), wavelength=0.8, period=2.0)
    for t in (0.0, 0.3, 5.0):
        assert still.at(0.1 + 0.4 * 0.3, t + 0.3)[0] == pytest.approx(still.at(0.1, t)[0], abs=1e-13)


# Joints -----------------------------------------------------------------------------------------------------


def test_amplitude_at_the_last_node_of_the_eel():
    """Khalil 2007, acceptance 8: 0.06 exp(1.2 · 1.68) = 0.4505 rad."""
    peak = max(abs(EEL.at(1.68, t)[0]) for t in np.linspace(2.0, 4.0, 20001))
    assert peak == pytest.approx(0.4505, abs=5e-5)
    assert peak == pytest.approx(0.06 * np.exp(1.2 * 1.68), rel=1e-6)


def test_joint_angles_are_differences_of_headings(rng):
    _, hinges = chain()
    drives, inputs = joint_gait(hinges, EEL, STATIONS, offset=0.02)
    assert [drive.target for drive in drives] == hinges
    assert list(inputs) == list(drives)
    for t in rng.uniform(0.0, 6.0, 10):
        angles = [drive.motion(inputs[drive], t)[0] for drive in drives]
        assert angles == pytest.approx(np.diff(heading(STATIONS, t)) + 0.02, abs=1e-14)


@pytest.mark.parametrize("offset", [0.0, 0.02, smooth_step(0.0, 2.0, after=np.pi / 40)])
def test_motion_of_joints_is_continuous_at_start_and_full_amplitude(offset):
    """Khalil 2007, acceptance 8: q, q̇, q̈ jump by less than 1e-12 at t = 0 and t_f."""
    _, hinges = chain()
    drives, inputs = joint_gait(hinges, EEL, STATIONS, offset)
    for end in (0.0, 2.0):
        # 1e-15 s apart a smooth function changes by its slope, below 100 per s here, times that: 1e-13
        sides = [end - 1e-15, end, end + 1e-15]
        motions = np.array([[drive.motion(inputs[drive], t) for drive in drives] for t in sides])
        assert np.abs(np.diff(motions, axis=0)).max() < 1e-12
    at_rest = np.array([drive.motion(inputs[drive], 0.0) for drive in drives])
    still = offset if isinstance(offset, float) else 0.0
    assert at_rest == pytest.approx(np.tile([still, 0.0, 0.0], (12, 1)), abs=0.0)


def test_rates_of_joints():
    _, hinges = chain()
    drives, inputs = joint_gait(hinges, EEL, STATIONS, offset=smooth_step(0.0, 3.0, after=0.3))
    for t in (0.3, 1.4, 2.6, 7.0):
        for drive in drives:
            by_differences = rates_by_differences(inputs[drive], t)
            assert drive.motion(inputs[drive], t) == pytest.approx(by_differences, abs=1e-9)


def test_joints_with_several_coordinates_are_given_with_the_name_of_one():
    robot, hinges = chain(2, kind=Universal)
    first, first_inputs = joint_gait([(h, "angle_y") for h in hinges], EEL, STATIONS[:3])
    lift = smooth_step(0.0, 2.0, after=np.pi / 40)
    second = [Imposed(h, "angle_x") for h in hinges]
    system = System(robot, actuators=[*first, *second])
    u = system.input_vector(system.signals({**first_inputs, **dict.fromkeys(second, lift)}), 5.0)
    assert u[:4] == pytest.approx([*np.diff(heading(STATIONS[:3], 5.0)), np.pi / 40, np.pi / 40], abs=1e-14)


# Rods -------------------------------------------------------------------------------------------------------


def shape(rod, drives, inputs, s, t):
    """(3, len(s)) curvature K_z along the rod and its rates, from the coordinates that the gait imposes."""
    motions = np.array([drive.motion(inputs[drive], t) for drive in drives])
    assert [drive.coordinate for drive in drives] == list(rod.coordinate_names)
    return np.array([(rod.strain(s, q) - rod.rest_strain(s))[:, 2] for q in motions.T])


def polynomials_leave(functions):
    """Bound [1/m] of what Legendre polynomials leave of a wave of one turn on the rod, K_d up to 3.5 / m.

    sin(κx + φ), κ = π, has coefficients (2k + 1) |j_k(κ)| at most; the envelope, of degree 2, shifts them by two.
    """
    k = np.arange(functions - 2, functions + 30)
    return 3.5 * np.sum((2 * k + 1) * np.abs(spherical_jn(k, np.pi)))


@pytest.mark.parametrize(
    ("basis", "error"),
    [
        *((family.planar(n), polynomials_leave(n)) for family in (Legendre, Chebyshev) for n in (8, 14, 20)),
        # h²/8 |K″| ≤ 198 h²/8 of interpolation, and four times that where the mean square is least
        *((PiecewiseLinear.planar(n), 4.0 * 198.0 / (8.0 * n**2)) for n in (20, 40, 80)),
    ],
)
def test_the_imposed_shape_is_the_wave(basis, error, rng):
    rod = fish(basis)
    drives, inputs = rod_gait(rod, SWIMMER)
    s = rng.uniform(0.0, 1.0, 50)
    for t in rng.uniform(0.0, 3.0, 10):
        assert shape(rod, drives, inputs, s, t)[0] == pytest.approx(curvature(s, t), abs=error)


@pytest.mark.parametrize("wave", [SWIMMER, CurvatureWave((0.3, -2.0), wavelength=0.31, period=0.7)])
@pytest.mark.parametrize(
    "basis",
    [
        Legendre.planar(6),
        Chebyshev.planar(9),
        PiecewiseConstant.planar(7),
        PiecewiseLinear.planar((0.1, 0.25, 0.3, 0.45, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)),
    ],
)
@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
def test_the_projection_is_the_best_fit_of_the_basis(basis, wave):
    """What is left is orthogonal to the functions, up to rounding; on Gauss points of the test's own."""
    rod = fish(basis, length=1.2)
    ends = np.array([0.0, *basis.breaks(1.2), 1.2])
    x, w = np.polynomial.legendre.leggauss(80)
    s = np.concatenate([0.5 * ((b - a) * x + a + b) for a, b in pairwise(ends)])
    weights = np.concatenate([0.5 * (b - a) * w for a, b in pairwise(ends)])
    drives, inputs = rod_gait(rod, wave)
    for t in (0.4, 1.1, 2.7):
        left = shape(rod, drives, inputs, s, t) - np.array(wave.at(s, t))
        size = np.abs(np.array(wave.at(s, t))).max(axis=1, keepdims=True)
        assert np.abs((weights * left / size) @ rod.functions(s)).max() < 1e-13


def test_rates_of_the_imposed_shape(rng):
    rod = fish()
    drives, inputs = rod_gait(rod, SWIMMER)
    for t in (0.21, 0.9, 1.7):
        for drive in drives:
            assert drive.motion(inputs[drive], t) == pytest.approx(rates_by_differences(inputs[drive], t), abs=1e-8)
    s = rng.uniform(0.0, 1.0, 20)
    # against the rates of the formula only the basis differs, by its error times (2 π / T)² and those of the ramp
    fine = fish(Legendre.planar(20))
    error = (2 * np.pi) ** 2 * 4.0 * polynomials_leave(20)
    assert shape(fine, *rod_gait(fine, SWIMMER), s, 0.7) == pytest.approx(np.array(SWIMMER.at(s, 0.7)), abs=error)


def test_other_strains_are_held_at_rest():
    rod = fish(Legendre(bending=8, torsion=2, stretch=1))
    drives, inputs = rod_gait(rod, SWIMMER, strain="K_y")
    assert [d.coordinate for d in drives] == list(rod.coordinate_names)
    for drive in drives:
        assert (inputs[drive] == 0.0) == (not drive.coordinate.startswith("K_y"))


def test_a_wave_adds_to_the_rest_curvature(rng):
    """Both gaits move the rod about its rest shape."""
    bent = fish(Legendre.planar(20), rest=(0.0, 0.0, 0.7))
    s = rng.uniform(0.0, 1.0, 20)
    error = polynomials_leave(20)
    assert shape(bent, *rod_gait(bent, SWIMMER), s, 0.8)[0] == pytest.approx(curvature(s, 0.8), abs=error)
    muscles, inputs = muscle_gait(bent, SWIMMER)
    stress = sum(inputs[m](0.8) * m.stress(s) for m in muscles)
    assert stress[:, 2] == pytest.approx(-bent.stiffness(s)[:, 2] * curvature(s, 0.8), rel=1e-12)


def test_too_few_functions_for_the_wave_are_told():
    with pytest.warns(ElverWarning, match=r"gait of 'fish': 2 functions of K_z leave \d+ % of the wave") as told:
        rod_gait(fish(Legendre.planar(2)), SWIMMER)
    assert told[0].filename == __file__


# Muscles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strain", "axis"), [("K_y", 1), ("K_z", 2)])
def test_muscles_pull_towards_the_wave(strain, axis, rng):
    """Λ_act = -𝓗 (ξ_d - ξ₀) with K_d of the formula."""
    rod = fish(Legendre.kirchhoff(4))
    muscles, inputs = muscle_gait(rod, SWIMMER, strain)
    assert len(muscles) == 2
    assert all(isinstance(m, Muscle) for m in muscles)
    s = rng.uniform(0.0, 1.0, 20)
    for t in rng.uniform(0.0, 3.0, 10):
        stress = sum(inputs[m](t) * m.stress(s) for m in muscles)
        expected = np.zeros((20, 6))
        expected[:, axis] = -rod.stiffness(s)[:, axis] * curvature(s, t)
        assert stress == pytest.approx(expected, abs=1e-13 * np.abs(rod.stiffness(s)).max())


def test_muscles_alone_bend_a_rod_to_the_wave(rng):
    """Without load the equilibrium is K = K_d: both gaits give the same shape."""
    rod = fish(Legendre.planar(14))
    muscles, inputs = muscle_gait(rod, SWIMMER)
    system = System(Mechanism.clamped(rod), actuators=muscles)
    drives, imposed = rod_gait(rod, SWIMMER)
    s = rng.uniform(0.0, 1.0, 20)
    for t in (0.6, 2.35):
        bent = ev.equilibrium(system, inputs={m: inputs[m](t) for m in muscles})
        q = [drive.motion(imposed[drive], t)[0] for drive in drives]
        # tolerance of the equilibrium, and quadrature of the rod
        assert bent.state.q == pytest.approx(q, abs=1e-8)
        assert rod.strain(s, bent.state.q)[:, 2] == pytest.approx(curvature(s, t), abs=polynomials_leave(14))


# In a system, in a run, in a file -----------------------------------------------------------------------------


def test_a_rod_swings_as_imposed_and_its_run_comes_back(tmp_path):
    rod = fish(Legendre.planar(5))
    drives, inputs = rod_gait(rod, SWIMMER)
    system = System(Mechanism.clamped(rod), actuators=drives)
    path = tmp_path / "swim.nc"
    run = ev.simulate(system, system.rest(), duration=0.1, step=0.01, inputs=inputs, file=path)
    expected = [drive.motion(inputs[drive], 0.1)[0] for drive in drives]
    assert run["q"][-1].values == pytest.approx(expected, abs=1e-12)
    stored = load(path)
    assert stored["q"].values == pytest.approx(run["q"].values, abs=0.0)
    again = loads(stored.attrs["model"])
    assert [part.name for part in again.actuators] == [part.name for part in drives]


def test_joint_gaits_come_back_with_their_system():
    robot, hinges = chain(3)
    drives, inputs = joint_gait(hinges, EEL, STATIONS[:4], offset=smooth_step(0.0, 2.0, after=0.1))
    system, back = loads(dumps((System(robot, actuators=drives), inputs)))
    for t in (0.3, 2.7):
        assert system.input_vector(system.signals(back), t).tolist() == pytest.approx(
            System(robot, actuators=drives).input_vector([inputs[d] for d in drives], t).tolist(), abs=0.0
        )
    assert all(isinstance(signal, Sine) for signal in back.values())


def test_muscle_gaits_come_back_with_their_system():
    """The waves are stored as what they are, not as samples."""
    rod = fish(rest=(0.0, 0.0, 0.3))
    muscles, inputs = muscle_gait(rod, SWIMMER)
    text = dumps((System(Mechanism.clamped(rod), actuators=muscles), inputs))
    assert "Table" not in text
    system, back = loads(text)
    s = np.linspace(0.0, 1.0, 7)
    assert all(muscle.target.rod is system.rod for muscle in system.actuators)
    for old, new in zip(muscles, system.actuators, strict=True):
        assert np.array_equal(new.stress(s), old.stress(s))
        assert back[new] == inputs[old]


@pytest.mark.parametrize("wave", [EEL, SWIMMER, TravellingWave(0.1, 0.0, 0.5, 0.7)])
def test_waves_are_values_and_come_back(wave):
    assert loads(dumps(wave)) == wave
    assert hash(loads(dumps(wave))) == hash(wave)


def test_the_same_rod_driven_twice_is_refused_by_the_system():
    rod = fish()
    a, _ = rod_gait(rod, SWIMMER)
    b, _ = rod_gait(rod, SWIMMER)
    with pytest.raises(BadInput, match="impose the same coordinate: keep one of them"):
        System(Mechanism.clamped(rod), actuators=[*a, *b])


def test_a_gait_of_a_stranger_is_refused_by_the_system():
    robot, hinges = chain(2)
    stranger = Revolute("world", RigidBody(1.0, (1e-3, 1e-3, 1e-3), name="alien"), name="far")
    drives, _ = joint_gait([hinges[0], stranger], EEL, STATIONS[:3])
    with pytest.raises(BadInput, match=r"revolute 'far' is no joint of this mechanism: it has .*'hinge1'"):
        System(robot, actuators=drives)
    for gait in (rod_gait, muscle_gait):
        parts, _ = gait(fish(), SWIMMER)
        other = Rod(1.0, Circle(0.05), GEL, Legendre.planar(8), name="other")
        with pytest.raises(BadInput, match=r"acts on the rod 'fish', which is not in this mechanism \('other'\)"):
            System(Mechanism.clamped(other), actuators=parts)


# Refusals ---------------------------------------------------------------------------------------------------

_, HINGES = chain(3)
BAR = RigidBody(1.0, (1e-3, 1e-3, 1e-3), name="bar")


@dataclass(frozen=True)
class Broken:
    """A ramp that goes wrong at 1 s."""

    def __call__(self, t):
        return self.rates(t)[0]

    def rates(self, t):
        return (1.0, 0.0, 0.0 if t < 1.0 else np.nan)


def test_a_gait_that_becomes_nan_names_input_and_time():
    drives, inputs = joint_gait(HINGES, TravellingWave(0.1, 0.0, 1.0, 1.0, ramp=Broken()), STATIONS[:4])
    assert np.isfinite(drives[1].motion(inputs[drives[1]], 0.5)).all()
    with pytest.raises(BadInput, match=r"imposed 'hinge2-angle' at t = 1.25 s contains nan \(rad, rad/s, rad/s2\)"):
        drives[1].motion(inputs[drives[1]], 1.25)
    with pytest.raises(BadInput, match=r"imposed 'hinge1-angle' at t = 1.25 s contains nan \(rad\)"):
        drives[0].motion(lambda t: np.nan, 1.25)


def test_a_wave_itself_is_no_input():
    with pytest.raises(BadInput, match=r"imposed 'hinge1-angle' = a TravellingWave: expected numbers in rad"):
        Imposed(HINGES[0]).motion(EEL, 0.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TravellingWave(0.1, 0.0, 0.0, 1.0), r"wave: wavelength = 0 m: must be greater than zero"),
        (lambda: TravellingWave(0.1, 0.0, 1.0, -2.0), r"wave: period = -2 s: must be greater than zero"),
        (lambda: TravellingWave(np.nan, 0.0, 1.0, 1.0), r"wave: amplitude contains nan \(rad\)"),
        (lambda: TravellingWave(0.1, np.inf, 1.0, 1.0), r"wave: growth contains inf \(1/m\)"),
        (
            lambda: TravellingWave(0.1, 0.0, 1.0, 1.0, ramp=ramp(0.0, 1.0)),
            r"wave: ramp = a Ramp has no rates; give smooth_step",
        ),
        (lambda: CurvatureWave((1.0,), -1.0, 1.0), r"wave: wavelength = -1 m: must be greater than zero"),
        (lambda: CurvatureWave((1.0,), 1.0, 0.0), r"wave: period = 0 s: must be greater than zero"),
        (lambda: CurvatureWave((), 1.0, 1.0), r"wave: coefficients is empty; give a0 \[1/m\], a1 \[1/m2\]"),
        (lambda: CurvatureWave(1.0, 1.0, 1.0), r"wave: coefficients has shape \(\): expected \(-1,\) in 1/m, 1/m2"),
        (lambda: CurvatureWave((1.0, np.nan), 1.0, 1.0), r"wave: coefficients contains nan \(1/m, 1/m2, ...\)"),
        (
            lambda: joint_gait(HINGES, EEL, STATIONS[:3]),
            r"joint gait: 3 stations for 3 joints; give 4, one more than joints",
        ),
        (lambda: joint_gait([], EEL, [0.0]), r"joint gait: 0 joints and 1 station; give at least one joint"),
        (lambda: joint_gait(HINGES[0], EEL, [0.0, 1.0]), r"joints = the Revolute '.*'; give a sequence of joints"),
        (
            lambda: joint_gait([HINGES[0], BAR], EEL, STATIONS[:3]),
            r"joint gait: joints\[1\] = the RigidBody '.*'; give a joint, or \(joint, name of its coordinate\)",
        ),
        (
            lambda: joint_gait([(HINGES[0], "angle", 2)], EEL, STATIONS[:2]),
            r"joint gait: joints\[0\] = a tuple of .*; give a joint, or \(joint, name",
        ),
        (
            lambda: joint_gait([Universal("world", BAR, name="hip")], EEL, STATIONS[:2]),
            r"joint gait: universal 'hip' has several coordinates; choose one of 'angle_x', 'angle_y'",
        ),
        (
            lambda: joint_gait([(HINGES[0], "angel")], EEL, STATIONS[:2]),
            r"joint gait: revolute 'hinge1' has no coordinate 'angel'; choose one of 'angle'",
        ),
        (
            lambda: joint_gait([Fixed("world", BAR, name="weld")], EEL, STATIONS[:2]),
            r"joint gait: fixed 'weld' has no coordinate; choose a joint that moves",
        ),
        (
            lambda: joint_gait([Prismatic("world", BAR, name="slide")], EEL, STATIONS[:2]),
            r"joint gait: prismatic 'slide': distance is in m, and a heading is an angle; choose a coordinate in rad",
        ),
        (
            lambda: joint_gait(HINGES, EEL, [0.0, 0.28, 0.14, 0.42]),
            r"joint gait: stations\[2\] = 0.14 m does not come after 0.28 m: give them from head to tail",
        ),
        (lambda: joint_gait(HINGES, EEL, [0.0, 0.1, np.nan, 0.3]), r"joint gait: stations contains nan \(m\)"),
        (lambda: joint_gait(HINGES, SWIMMER, STATIONS[:4]), r"joint gait: wave = a CurvatureWave; give a Travelling"),
        (lambda: joint_gait(HINGES, EEL, STATIONS[:4], np.nan), r"joint gait: offset contains nan \(rad\)"),
        (lambda: joint_gait(HINGES, EEL, STATIONS[:4], ramp(0, 1)), r"joint gait: offset = a Ramp has no rates"),
        *(
            case
            for gait, name in ((rod_gait, "rod gait"), (muscle_gait, "muscle gait"))
            for case in (
                (
                    lambda gait=gait: gait(fish(), SWIMMER, "K_q"),
                    rf"{name}: strain = 'K_q'; choose a curvature, 'K_x', 'K_y' or 'K_z'",
                ),
                (
                    lambda gait=gait: gait(fish(Legendre.reissner(8)), SWIMMER, "G_x"),
                    rf"{name}: strain = 'G_x'; choose a curvature",
                ),
                (
                    lambda gait=gait: gait(fish(), SWIMMER, "K_y"),
                    rf"{name}: K_y is not free on the rod 'fish', whose coordinates are of K_z: choose another strain, "
                    "or give its basis functions for K_y",
                ),
                (lambda gait=gait: gait(BAR, SWIMMER), rf"{name}: rod = the RigidBody '.*'; give the Rod that follows"),
                (lambda gait=gait: gait(fish(), EEL), rf"{name}: wave = a TravellingWave; give a CurvatureWave"),
            )
        ),
    ],
)
def test_bad_gaits_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
