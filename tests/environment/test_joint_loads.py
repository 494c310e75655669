"""Springs, friction and stops of joints, and sliding friction: their laws, their units, and refusals."""

import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.dynamics.assembly import compile_system
from elver.environment import JointFriction, JointLoad, JointSpring, JointStop, SlidingFriction
from elver.errors import BadInput
from elver.io import dumps, loads
from elver.mechanism import Fixed, Frame, Mechanism, Planar, Prismatic, Revolute
from elver.rods import Circle, Legendre, Material, Rod
from elver.system import System

LINK = RigidBody(1.0, (1e-3, 1e-3, 1e-3), name="link")
CRANK = Revolute("world", LINK, name="crank")
SLIDE = Prismatic("world", LINK)
TABLE = Planar("world", LINK, name="table")
WELD = Fixed("world", LINK, name="weld")
ROD = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.planar(2), name="arm")


# Joints -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "name", "index", "unit", "effort_unit"),
    [
        (JointSpring(CRANK, 2.0), "crank-spring", 0, "rad", "N m"),
        (JointSpring(SLIDE, 2.0, name="buffer"), "buffer", 0, "m", "N"),
        (JointFriction(SLIDE, 0.1), "prismatic-friction", 0, "m", "N"),
        (JointFriction(TABLE, dry=0.1, coordinate="angle"), "table-angle-friction", 2, "rad", "N m"),
        (JointStop(TABLE, 0.0, stiffness=1e3, coordinate="y"), "table-y-stop", 1, "m", "N"),
    ],
)
def test_each_acts_on_one_coordinate(load, name, index, unit, effort_unit):
    assert (load.name, load.index) == (name, index)
    assert (load.coordinate_unit, load.effort_unit) == (unit, effort_unit)
    assert load.joint.coordinate_names[load.index] == load.coordinate
    assert load in {load}


def test_a_spring_pulls_back_to_where_it_is_slack():
    spring = JointSpring(CRANK, 2.0, rest=0.5)
    assert spring.effort(0.5) == 0.0
    assert spring.effort(1.0) == -1.0
    assert spring.effort(0.0) == 1.0


def test_friction_is_viscous_and_dry_and_takes_energy():
    friction = JointFriction(CRANK, viscous=0.3, dry=2.0, speed=0.01)
    assert friction.effort(0.0, 0.0) == 0.0
    assert friction.effort(7.0, 5.0) == pytest.approx(-(0.3 * 5.0 + 2.0))  # far above the speed dry is constant
    assert JointFriction(CRANK, dry=2.0, speed=0.01).effort(0.0, 0.01) == pytest.approx(-2.0 * np.tanh(1.0))
    for q_dot in (-3.0, -1e-3, 1e-6, 0.2):
        assert friction.effort(0.0, q_dot) * q_dot < 0.0
        assert friction.effort(0.0, -q_dot) == -friction.effort(0.0, q_dot)


def test_stops_push_back_into_their_range_only():
    stop = JointStop(CRANK, -1.0, 2.0, stiffness=10.0)
    assert [stop.effort(q) for q in (-1.5, -1.0, 0.0, 2.0, 2.5)] == [5.0, 0.0, 0.0, 0.0, -5.0]
    assert JointStop(CRANK, upper=2.0, stiffness=10.0).effort(-1e6) == 0.0
    assert JointStop(CRANK, lower=0.0, stiffness=10.0).effort(1e6) == 0.0


class Trim(JointLoad):
    """A kind of our own: a spring that a coordinate may have beside the one of the library, were there room."""

    def __init__(self, joint, stiffness):
        self.joint, self.coordinate, self.name, self.stiffness = joint, "angle", "trim", stiffness

    @property
    def coefficients(self):
        return {"stiffness": self.stiffness}


def test_a_kind_of_load_on_a_coordinate_is_its_class_alone():
    mechanism = Mechanism([CRANK])
    own, known = (System(mechanism, loads=[load]) for load in (Trim(CRANK, 2.5), JointSpring(CRANK, 2.5)))
    for one, other in zip(compile_system(own).values, compile_system(known).values, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(BadInput, match="'crank-spring' and 'trim' both give stiffness to one coordinate: combine them"):
        compile_system(System(mechanism, loads=[JointSpring(CRANK, 2.5), Trim(CRANK, 1.0)]))


# Sliding ----------------------------------------------------------------------------------------------------


def test_sliding_friction_opposes_the_velocity():
    friction = SlidingFriction(LINK, viscous=2.0, dry=3.0, speed=1e-3)
    assert friction.force((0.0, 0.0, 0.0)).tolist() == [0.0, 0.0, 0.0]
    full = np.array([0.6, 0.0, 0.8]) * -(2.0 * 0.5 + 3.0)
    assert friction.force((0.3, 0.0, 0.4)) == pytest.approx(full, rel=1e-5)
    assert friction.force((1e-30, 0.0, 0.0)) == pytest.approx([-3e-27, 0.0, 0.0], rel=1e-2)
    slow = np.array([1e-3, -2e-3, 0.0])
    magnitude = 2.0 * np.linalg.norm(slow) + 3.0 * np.linalg.norm(slow) / np.hypot(np.linalg.norm(slow), 1e-3)
    assert friction.force(slow) == pytest.approx(-magnitude * slow / np.linalg.norm(slow))


def test_heat_of_sliding_is_the_power_that_its_force_takes():
    friction = SlidingFriction(LINK, viscous=2.0, dry=3.0, speed=0.1)
    motion = np.random.default_rng(1).normal(size=(20, 6))
    power = [-friction.force(v) @ v for v in motion[:, 3:]]
    np.testing.assert_allclose(friction.heat(motion), power, rtol=1e-14)  # rounding


def test_sliding_friction_acts_on_a_body_or_a_section():
    on_body, on_rod = SlidingFriction(LINK), SlidingFriction((ROD, "tip"), name="foot")
    assert (on_body.name, on_rod.name) == ("link-sliding", "foot")
    assert on_body.frame.part is LINK
    assert on_rod.frame.part is ROD
    assert on_rod.frame.s == 0.4
    frame = Frame(ROD, 0.1)
    assert SlidingFriction(frame).frame is frame
    assert SlidingFriction((LINK, (0.0, 0.0, 0.0))).frame.part is LINK


# Refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: JointSpring(WELD, 1.0), r"spring: fixed 'weld' has no coordinate; choose a joint that moves"),
        (
            lambda: JointFriction(TABLE, 1.0),
            r"friction: planar 'table' has several coordinates; choose one of 'x', 'y', 'angle'",
        ),
        (
            lambda: JointStop(TABLE, 0.0, stiffness=1.0, coordinate="z", name="wall"),
            r"stop 'wall': planar 'table' has no coordinate 'z'; choose one of 'x', 'y', 'angle'",
        ),
        (lambda: JointSpring(LINK, 1.0), r"spring: joint = the RigidBody '.*'; give the joint it acts on"),
        (lambda: JointSpring(CRANK, 1.0, name="a/b"), r"spring name = 'a/b': give a non-empty text"),
        (lambda: JointSpring(CRANK, -1.0), r"spring 'crank-spring': stiffness = -1 N m/rad: must not be negative"),
        (lambda: JointSpring(SLIDE, -1.0), r"stiffness = -1 N/m: must not be negative"),
        (lambda: JointSpring(CRANK, 1.0, rest=np.nan), r"spring 'crank-spring': rest contains nan \(rad\)"),
        (
            lambda: JointFriction(CRANK, viscous=-1.0),
            r"friction 'crank-friction': viscous = -1 N m s/rad: must not be negative",
        ),
        (lambda: JointFriction(SLIDE, viscous=-1.0), r"viscous = -1 N s/m: must not be negative"),
        (lambda: JointFriction(CRANK, dry=-1.0), r"dry = -1 N m: must not be negative"),
        (lambda: JointFriction(SLIDE, dry=np.inf), r"dry = inf N: must be a finite number"),
        (lambda: JointFriction(CRANK, speed=0.0), r"speed = 0 rad/s: must be greater than zero"),
        (lambda: JointFriction(SLIDE, speed=-1.0), r"speed = -1 m/s: must be greater than zero"),
        (
            lambda: JointStop(CRANK, 1.0, 0.5, stiffness=1.0),
            r"stop 'crank-stop': lower = 1 rad is not below upper = 0.5 rad; choose lower < upper",
        ),
        (lambda: JointStop(SLIDE, 1.0, 1.0, stiffness=1.0), r"lower = 1 m is not below upper = 1 m"),
        (lambda: JointStop(SLIDE, stiffness=1.0), r"stop 'prismatic-stop' stops nothing: give lower or upper in m"),
        (lambda: JointStop(CRANK, np.nan, stiffness=1.0), r"lower = nan rad: give a number, or leave it out"),
        (lambda: JointStop(CRANK, upper="far", stiffness=1.0), r"upper = 'far': expected a number in rad"),
        (lambda: JointStop(CRANK, 0.0, stiffness=-2.0), r"stiffness = -2 N m/rad: must not be negative"),
        (
            lambda: SlidingFriction((LINK, (0.1, 0.0, 0.0)), name="foot"),
            r"sliding friction 'foot': the frame on link has an offset; give the body or section itself, or fix a",
        ),
        (lambda: SlidingFriction(Frame(ROD, "tip", (0, 0, 0.1))), r"the frame on arm at tip has an offset"),
        (lambda: SlidingFriction("world"), r"sliding friction: acts on the world, which does not move; give a body"),
        (lambda: SlidingFriction(ROD), r"frame on the rod 'arm': say which section"),
        (lambda: SlidingFriction(LINK, viscous=-1.0), r"'link-sliding': viscous = -1 N s/m: must not be negative"),
        (lambda: SlidingFriction(LINK, dry=-1.0), r"'link-sliding': dry = -1 N: must not be negative"),
        (lambda: SlidingFriction(LINK, speed=0.0), r"'link-sliding': speed = 0 m/s: must be greater than zero"),
        (lambda: SlidingFriction(LINK, name=""), r"sliding friction name = '': give a non-empty text"),
    ],
)
def test_bad_joint_and_sliding_loads_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()


def test_loads_survive_a_file():
    stop, friction, sliding, joint = loads(
        dumps(
            (
                JointStop(TABLE, 0.0, stiffness=1e3, coordinate="y"),
                JointFriction(TABLE, 0.1, 0.2, coordinate="x"),
                SlidingFriction((ROD, "tip"), 0.5),
                TABLE,
            )
        )
    )
    assert stop.joint is friction.joint is joint
    assert (stop.lower, stop.upper, stop.stiffness, stop.index) == (0.0, np.inf, 1e3, 1)
    assert (friction.name, friction.viscous, friction.dry) == ("table-x-friction", 0.1, 0.2)
    assert (sliding.frame.at, sliding.viscous) == ("tip", 0.5)
