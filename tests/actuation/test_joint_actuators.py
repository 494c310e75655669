"""Motors and imposed motions: the coordinate they act on, units, rates, and refusals."""

import numpy as np
import pytest

from elver.actuation import Imposed, Motor, SmoothSignal, c2_ramp, ramp, sine, smooth_step
from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.io import dumps, loads
from elver.mechanism import Cylindrical, Fixed, Planar, Prismatic, Revolute, Spherical
from elver.rods import Circle, Legendre, Material, Rod

LINK = RigidBody(1.0, (1e-3, 1e-3, 1e-3), name="link")
CRANK = Revolute("world", LINK, name="crank", start=0.3)
SLIDE = Prismatic("world", LINK)
TABLE = Planar("world", LINK, name="table", start=(0.1, 0.2, 0.3))
WELD = Fixed("world", LINK, name="weld")
ROD = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre(bending=2, stretch=1), name="arm")
BOW = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre(bending_z=1))


# Motors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("motor", "name", "coordinate", "index", "unit"),
    [
        (Motor(CRANK), "crank-motor", "angle", 0, "N m"),
        (Motor(SLIDE), "prismatic-motor", "distance", 0, "N"),
        (Motor(TABLE, "angle"), "table-angle-motor", "angle", 2, "N m"),
        (Motor(TABLE, "y", name="belt"), "belt", "y", 1, "N"),
        (Motor(Spherical("world", LINK), "theta_z"), "spherical-theta_z-motor", "theta_z", 2, "N m"),
    ],
)
def test_motors_act_on_one_coordinate(motor, name, coordinate, index, unit):
    assert (motor.name, motor.coordinate, motor.index, motor.unit) == (name, coordinate, index, unit)
    assert motor.default == 0.0
    assert motor.check(-2) == -2.0
    assert {motor: 1.0}[motor] == 1.0


# Imposed motion ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imposed", "name", "index", "unit", "effort_unit", "default"),
    [
        (Imposed(CRANK), "crank-angle", 0, "rad", "N m", 0.3),
        (Imposed(SLIDE), "prismatic-distance", 0, "m", "N", 0.0),
        (Imposed(TABLE, "y", "feed"), "feed", 1, "m", "N", 0.2),
        (Imposed(ROD, "K_z[1]"), "arm-K_z[1]", 3, "1/m", "N m2", 0.0),
        (Imposed(ROD, "G_x[0]"), "arm-G_x[0]", 4, "1", "N m", 0.0),
        (Imposed(BOW), "rod-K_z[0]", 0, "1/m", "N m2", 0.0),
    ],
)
def test_imposed_coordinates_and_their_units(imposed, name, index, unit, effort_unit, default):
    assert (imposed.name, imposed.index, imposed.unit) == (name, index, unit)
    assert (imposed.effort_unit, imposed.default) == (effort_unit, default)
    assert imposed.check(2) == 2.0


def test_all_coordinates_of_a_rod_are_one_imposed_motion_each():
    parts = Imposed.all(ROD)
    assert [part.coordinate for part in parts] == list(ROD.coordinate_names)
    assert [part.index for part in parts] == list(range(ROD.n))
    assert [part.coordinate for part in Imposed.all(TABLE)] == ["x", "y", "angle"]
    assert Imposed.all(WELD) == ()


def test_a_number_is_held_still():
    assert Imposed(CRANK).motion(1.5, 2.0).tolist() == [1.5, 0.0, 0.0]


def test_rates_of_a_function_are_differences_of_order_six():
    """At 1 Hz: rates within rounding / step = 1e-12, accelerations within rounding / step² = 1e-8."""
    w, t = 2 * np.pi, 0.37
    q, q_dot, q_ddot = Imposed(CRANK).motion(lambda t: 0.5 * np.sin(w * t), t)
    assert q == 0.5 * np.sin(w * t)
    assert q_dot == pytest.approx(0.5 * w * np.cos(w * t), abs=1e-11)
    assert q_ddot == pytest.approx(-0.5 * w**2 * np.sin(w * t), abs=1e-8)


def test_a_function_sees_plain_numbers():
    seen = []
    Imposed(CRANK).motion(lambda t: seen.append(t) or 0.0, 1)
    assert [type(t) for t in seen[1:]] == [float] * 6
    assert sorted(seen) == pytest.approx(1 + 1e-3 * np.arange(-3, 4))


@pytest.mark.parametrize("triple", [tuple, list, np.array])
def test_three_numbers_are_taken_as_they_are(triple):
    assert Imposed(CRANK).motion(lambda t: triple([t, 7.0, -3.0]), 2.0).tolist() == [2.0, 7.0, -3.0]


@pytest.mark.parametrize("build", [smooth_step, c2_ramp])
def test_rates_of_smooth_steps_are_exact(build):
    signal = build(1.0, 3.0, before=2.0, after=-4.0)
    for t in np.linspace(1.1, 2.9, 7):
        by_differences = Imposed(CRANK).motion(lambda t: signal(t), t)
        assert Imposed(CRANK).motion(signal, t) == pytest.approx(by_differences, abs=2e-8)
    for t, value in ((0.0, 2.0), (1.0, 2.0), (3.0, -4.0), (5.0, -4.0)):
        assert Imposed(CRANK).motion(signal, t) == pytest.approx([value, 0.0, 0.0], abs=1e-13)


class Swing:
    """A signal of one's own, with rates that no difference would give."""

    def __init__(self, *rates):
        self.known = rates

    def __call__(self, t):
        return self.known[0]

    def rates(self, t):
        return self.known


def test_a_signal_with_rates_is_asked_for_them():
    assert Imposed(CRANK).motion(Swing(1.0, 7.0, -3.0), 2.0).tolist() == [1.0, 7.0, -3.0]
    assert isinstance(Swing(), SmoothSignal)
    assert not isinstance(ramp(0.0, 1.0), SmoothSignal)


def test_rates_of_a_sine_are_exact():
    w, t = 2 * np.pi * 1.5, 0.37
    wave = Imposed(CRANK).motion(sine(0.1, 0.5, 1.5, phase=0.2), t)
    s, c = 0.5 * np.sin(w * t + 0.2), 0.5 * np.cos(w * t + 0.2)
    assert wave == pytest.approx([0.1 + s, w * c, -(w**2) * s], rel=1e-14)


def test_rates_of_a_straight_ramp():
    assert Imposed(CRANK).motion(ramp(0.0, 2.0), 1.0) == pytest.approx([0.5, 0.5, 0.0], abs=1e-8)


# Refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Motor(WELD),
            r"motor: fixed 'weld' has no coordinate; choose a joint that moves, such as Revolute",
        ),
        (
            lambda: Motor(Fixed("world", LINK), name="hub"),
            r"motor 'hub': fixed \(world to link\) has no coordinate; choose a joint that moves",
        ),
        (
            lambda: Motor(TABLE, "z"),
            r"motor: planar 'table' has no coordinate 'z'; choose one of 'x', 'y', 'angle'",
        ),
        (
            lambda: Motor(Cylindrical("world", LINK, name="screw")),
            r"motor: cylindrical 'screw' has several coordinates; choose one of 'angle', 'distance'",
        ),
        (lambda: Motor("crank"), r"motor: joint = 'crank'; give the joint it drives, such as a Revolute"),
        (lambda: Motor(ROD, "K_z[0]"), r"motor: joint = the Rod '.*'; give the joint it drives"),
        (lambda: Motor(CRANK, name="a/b"), r"motor name = 'a/b': give a non-empty text"),
        (lambda: Motor(CRANK).check(np.nan), r"torque of 'crank-motor' contains nan \(N m\)"),
        (lambda: Motor(SLIDE).check(np.inf), r"force of 'prismatic-motor' contains inf \(N\)"),
        (lambda: Motor(CRANK).check("fast"), r"torque of 'crank-motor' = 'fast': expected numbers in N m"),
        (lambda: Imposed(WELD), r"imposed motion: fixed 'weld' has no coordinate; choose a joint that moves"),
        (
            lambda: Imposed(ROD),
            r"imposed motion: rod 'arm' has several coordinates; choose one of 'K_y\[0\]', 'K_y\[1\]', 'K_z\[0\]', ",
        ),
        (
            lambda: Imposed(ROD, "K_x[0]", name="twist"),
            r"imposed motion 'twist': rod 'arm' has no coordinate 'K_x\[0\]'; choose one of 'K_y\[0\]'",
        ),
        (lambda: Imposed(LINK), r"target = the RigidBody '.*'; give the joint or the Rod whose coordinate is imposed"),
        (lambda: Imposed.all("arm"), r"imposed motion: target = 'arm'; give the joint or the Rod to impose"),
        (lambda: Imposed(CRANK, name=""), r"imposed motion name = '': give a non-empty text"),
        (lambda: Imposed(CRANK).check(np.nan), r"imposed 'crank-angle' contains nan \(rad\)"),
        (lambda: Imposed(SLIDE).motion(np.inf, 0.0), r"imposed 'prismatic-distance' contains inf \(m\)"),
        (lambda: Imposed(CRANK).motion((1.0, 0.0, 0.0), 0.0), r"imposed 'crank-angle' has shape \(3,\): expected \(\)"),
        (
            lambda: Imposed(CRANK).motion(lambda t: (1.0, 2.0), 0.5),
            r"imposed 'crank-angle' at t = 0.5 s has shape \(2,\): return one number in rad, or three, the coordinate",
        ),
        (
            lambda: Imposed(CRANK).motion(lambda t: (1.0, np.nan, 0.0), 0.5),
            r"imposed 'crank-angle' at t = 0.5 s contains nan \(rad, rad/s, rad/s2\)",
        ),
        (
            lambda: Imposed(ROD, "G_x[0]").motion(lambda t: (1.0, np.inf, 0.0), 0.5),
            r"imposed 'arm-G_x\[0\]' at t = 0.5 s contains inf \(1, 1/s, 1/s2\)",
        ),
        (
            lambda: Imposed(CRANK).motion(lambda t: np.nan if t < 0.5 else 0.0, 0.501),
            r"imposed 'crank-angle' at t = 0.49\d* s contains nan \(rad\)",
        ),
        (
            lambda: Imposed(CRANK).motion(Swing(1.0, 0.0, np.nan), 0.25),
            r"imposed 'crank-angle' at t = 0.25 s contains nan \(rad, rad/s, rad/s2\)",
        ),
        (
            lambda: Imposed(ROD, "K_z[1]").motion(Swing(1.0, 0.0), 0.25),
            r"imposed 'arm-K_z\[1\]' at t = 0.25 s has shape \(2,\): expected \(3,\) in 1/m, 1/m/s, 1/m/s2",
        ),
        (
            lambda: Imposed(CRANK).motion(lambda t: "up", 0.5),
            r"imposed 'crank-angle' at t = 0.5 s = 'up': expected numbers in rad",
        ),
    ],
)
def test_bad_drives_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()


def test_drives_survive_a_file():
    motor, imposed, bent, crank = loads(dumps((Motor(CRANK), Imposed(CRANK), Imposed(ROD, "K_z[1]"), CRANK)))
    assert motor.joint is imposed.target is crank
    assert (motor.name, imposed.default, bent.index) == ("crank-motor", 0.3, 3)
