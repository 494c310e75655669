"""What one gets wrong with robots, and what one is told: each message names the part and the way out.

Mistakes in a single part, joint, drive or load are with those (tests/bodies, tests/mechanism, tests/actuation,
tests/environment); here are those that only a whole robot shows, and runs that fail.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core
from elver.errors import ElverWarning
from elver.lie import se3, so3

DOWN = ev.Gravity((0.0, -9.81, 0.0))


def body(name: str, length: float = 0.2) -> ev.RigidBody:
    return ev.RigidBody(1.0, (0.01, 0.01, 0.01), (length / 2, 0, 0), name=name)


def four_bar(
    lengths: tuple[float, float, float, float] = (0.25, 0.6, 0.5, 0.7), imposed: str = "", **more: object
) -> tuple[ev.System, list[ev.Imposed]]:
    """Crank, coupler and rocker; roughly closed. Out of its plane its rows are redundant."""
    a, b, c, d = lengths
    crank, coupler, rocker = (body(name, length) for name, length in zip(("crank", "coupler", "rocker"), (a, b, c)))
    joints = {
        "A": ev.Revolute("world", crank, name="A", start=1.0),
        "B": ev.Revolute((crank, (a, 0, 0)), coupler, name="B", start=-0.5),
        "C": ev.Revolute((coupler, (b, 0, 0)), (rocker, (c, 0, 0)), name="C", cut=True),
        "D": ev.Revolute(("world", (d, 0, 0)), rocker, name="D", start=1.8),
    }
    drives = [ev.Imposed(joints[name]) for name in imposed]
    return ev.System(ev.Mechanism(list(joints.values())), drives, [DOWN]), drives


def quiet(system: ev.System) -> ev.System:
    """The system, after its redundant rows were told."""
    with pytest.warns(ElverWarning, match=r"redundant: C/moment_y, C/moment_x, C/force_z hold what is held already"):
        core(system)
    return system


# Building --------------------------------------------------------------------------------------------------------


LINK, OTHER, ROD = body("link"), body("other"), ev.Rod(
    0.4, ev.Circle(5e-3), ev.Material(young=1e6, poisson=0.4, density=1e3), ev.Legendre.planar(2), name="arm"
)  # fmt: skip
HINGE, WELD = ev.Revolute("world", LINK, name="hinge"), ev.Fixed("world", LINK, name="weld")
KNEE = ev.Revolute("world", OTHER, name="knee")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: ev.System(ev.Mechanism([HINGE, ev.Fixed(LINK, body("link"))])),
            r"two parts are named 'link': give each its own, such as RigidBody\(",
        ),
        (lambda: ev.Mechanism([HINGE, ev.Fixed((LINK, "tip"), OTHER)]), r"pose on link.*expected numbers"),
        (lambda: ev.Mechanism([HINGE, ev.Fixed("link", OTHER)]), r"there is no frame 'link': only \"world\" is given"),
        (lambda: ev.Mechanism([HINGE, ev.Fixed(LINK, (ROD, 0.5))]), r"'arm': at = 0.5 m lies outside the rod"),
        (
            lambda: ev.Mechanism([HINGE, ev.Revolute(OTHER, (ROD, "base"))]),
            r"'other' is connected to nothing that reaches the world: add a joint, or Floating",
        ),
        (
            lambda: ev.System(ev.Mechanism([HINGE]), loads=[ev.PointWrench(OTHER, force=(1, 0, 0), name="push")]),
            r"'push' acts on the body 'other', which is not in this mechanism \('link'\)",
        ),
        (
            lambda: ev.System(ev.Mechanism([HINGE]), loads=[ev.JointSpring(KNEE, 1.0)]),
            r"revolute 'knee' is no joint of this mechanism: it has 'hinge'",
        ),
        (
            lambda: ev.System(ev.Mechanism([WELD]), [ev.Motor(WELD)]),
            r"motor: fixed 'weld' has no coordinate; choose a joint that moves, such as Revolute",
        ),
        (
            lambda: ev.System(ev.Mechanism([HINGE]), [ev.Motor(HINGE), ev.Imposed(HINGE)]),
            r"'hinge-angle' imposes the coordinate that the motor 'hinge-motor' already drives: keep one of them",
        ),
        (
            lambda: ev.System(ev.Mechanism([HINGE]), [ev.Imposed(HINGE, name="a"), ev.Imposed(HINGE, name="b")]),
            r"'b' and 'a' impose the same coordinate: keep one of them",
        ),
        (
            lambda: ev.System(
                ev.Mechanism([HINGE]), loads=[ev.JointSpring(HINGE, 1.0), ev.JointSpring(HINGE, 2.0, name="second")]
            ),
            r"'hinge-spring' and 'second' are both a JointSpring on hinge/angle: combine them into one",
        ),
        (
            lambda: ev.System(
                ev.Mechanism([HINGE]),
                loads=[ev.JointStop(HINGE, lower=-1.0, stiffness=1.0), ev.JointStop(HINGE, upper=1.0, stiffness=2.0)],
            ),
            r"'hinge-stop' and 'hinge-stop' are both a JointStop on hinge/angle",
        ),
        (
            lambda: ev.System(
                ev.Mechanism([HINGE]), loads=[ev.JointFriction(HINGE, dry=1.0), ev.JointFriction(HINGE, viscous=1.0)]
            ),
            r"are both a JointFriction on hinge/angle",
        ),
        (
            lambda: ev.System(ev.Mechanism.free(ev.RigidBody.massless("ghost"))),
            r"'ghost' floats without mass and with nothing attached: give mass > 0 kg, or join a part",
        ),
        (
            lambda: ev.System(ev.Mechanism([HINGE, ev.Floating("world", ev.RigidBody.massless("ghost"))])),
            r"'ghost' floats without mass and with nothing attached",
        ),
    ],
)  # fmt: skip
def test_wrong_robots_are_refused(build, message):
    with pytest.raises(ev.BadInput, match=message):
        build()


def test_a_motor_where_the_loop_is_cut_is_told_where_to_go():
    system, _ = four_bar()
    pin = system.mechanism.joint("C")
    with pytest.raises(ev.BadInput, match=r"'C-motor' acts on revolute 'C', where a loop is cut .* on another joint"):
        ev.System(system.mechanism, [ev.Motor(pin)])


def test_one_spring_and_one_stop_and_one_friction_share_a_coordinate():
    loads = [ev.JointSpring(HINGE, 1.0), ev.JointStop(HINGE, upper=-0.5, stiffness=2.0), ev.JointFriction(HINGE, dry=1)]
    system = ev.System(ev.Mechanism([HINGE]), loads=loads)
    state = system.rest().with_(q=np.array([0.2]), q_dot=np.array([3.0]))
    assert ev.inverse_dynamics(system, state)[0] == pytest.approx(-sum(load.effort(0.2, 3.0) for load in loads))


# Closures --------------------------------------------------------------------------------------------------------


def door(offset: float) -> ev.System:
    """A door on two hinges, the second out of line by ``offset``."""
    leaf = body("leaf")
    joints = [
        ev.Revolute("world", leaf, name="low"),
        ev.Revolute(("world", (offset, 0, 0.5)), (leaf, (0, 0, 0.5)), name="high"),
    ]
    return ev.System(ev.Mechanism(joints), loads=[DOWN])


def test_redundant_closures_are_named_and_dropped():
    system = door(0.0)
    with pytest.warns(
        ElverWarning, match="redundant: high/moment_y, high/moment_x, high/force_x, high/force_y, high/fo"
    ):
        core(system)
    free = ev.System(ev.Mechanism([ev.Revolute("world", body("leaf"))]), loads=[DOWN])
    runs = [ev.simulate(s, s.rest(), 0.5, 1e-2, ev.Newmark()) for s in (system, free)]
    np.testing.assert_allclose(runs[0]["q"], runs[1]["q"], atol=1e-12)
    np.testing.assert_array_equal(runs[0]["multipliers"], 0.0)


def test_contradictory_closures_are_refused_with_the_gap():
    with pytest.raises(ev.BadInput, match=r"closed by revolute 'high' \(world to leaf\).*along x differs by 0.01 m"):
        core(door(0.01))


def test_a_loop_of_fixed_joints_that_does_not_fit_is_refused():
    joints = [ev.Fixed("world", LINK), ev.Fixed(LINK, OTHER), ev.Fixed(("world", (0.1, 0, 0)), OTHER, cut=True)]
    with pytest.raises(ev.BadInput, match=r"closed by fixed 'fixed-3' \(world to other\).*differs by 0.1 m"):
        core(ev.System(ev.Mechanism(joints)))


def test_imposed_motions_that_leave_a_loop_no_freedom_are_refused():
    system, _ = four_bar(imposed="ABD")
    with pytest.raises(ev.BadInput, match=r"closed by revolute 'C'.*differs by .* from what the parts, the imposed"):
        core(system)


def test_a_start_that_violates_its_loop_is_told_with_the_gap():
    system, _ = four_bar()
    with pytest.raises(
        ev.BadInput, match=r"start does not meet .* revolute 'C' \(coupler to rocker\) is open by 0\.\d+ m"
    ):
        ev.simulate(quiet(system), system.rest(), 0.1, 1e-2)


def test_rates_that_open_a_loop_are_told():
    system, drives = four_bar(imposed="A")
    state = ev.assemble(quiet(system), {drives[0]: 1.0})
    with pytest.raises(ev.BadInput, match=r"velocities of the start .* revolute 'C' .* opens at 0\.\d+ m/s"):
        ev.simulate(system, state, 0.1, 1e-2, inputs={drives[0]: lambda t: (1.0 + t, 1.0, 0.0)})


# Inertia ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "moving"),
    [
        (ev.Mechanism([ev.Revolute("world", ev.RigidBody.massless("lever"), name="hinge")]), "hinge/angle"),
        (ev.Mechanism([ev.Revolute("world", ev.RigidBody.point(1.0, "mass"), name="hinge")]), "hinge/angle"),
        (
            ev.Mechanism([ev.Spherical("world", ev.RigidBody.point(1.0, "mass", (0.1, 0.2, 0.3)), name="ball")]),
            "ball/theta_x, ball/theta_y, ball/theta_z",
        ),
        (
            ev.Mechanism([HINGE, ev.Prismatic(LINK, ev.RigidBody.massless("slider"), name="rail")]),
            "rail/distance",
        ),
        (
            ev.Mechanism.free(ev.RigidBody.point(1.0, "mass", (0.1, 0, 0))),
            "base/rotation_x, base/rotation_y, base/rotation_z, base/position_y, base/position_z",
        ),
    ],
)
def test_a_motion_without_inertia_is_named(mechanism, moving):
    """Also where rounding makes the matrix almost regular: a point mass off all axes spins about its own arm."""
    system = ev.System(mechanism, loads=[DOWN])
    with pytest.raises(ev.BadInput, match=f"singular, since a motion of {moving} has no inertia: give the bodies mass"):
        ev.simulate(system, system.rest(), 0.1, 1e-2)


def bennett() -> ev.System:
    """Bennett's linkage: four skew hinges that move against the count of freedoms."""
    a, b, alpha = 1.0, 0.6, 0.7
    beta = np.arcsin(b * np.sin(alpha) / a)
    theta = 0.8
    phi = 2 * np.arctan(np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2) / np.tan(theta / 2))
    bars = [body(name) for name in ("one", "two", "three")]

    def far(length: float, twist: float) -> np.ndarray:
        return se3.pose(so3.exp([twist, 0, 0]), np.array([length, 0, 0]))

    joints = [
        ev.Revolute("world", bars[0], name="J1", start=theta),
        ev.Revolute((bars[0], far(a, alpha)), bars[1], name="J2", start=phi),
        ev.Revolute((bars[1], far(b, beta)), bars[2], name="J3", start=-theta),
        ev.Revolute((bars[2], far(a, alpha)), ("world", se3.inverse(far(b, beta))), name="J4", cut=True),
    ]
    return ev.System(ev.Mechanism(joints), loads=[DOWN])


def test_closures_that_repeat_each_other_in_all_configurations_of_a_linkage_are_named():
    """Open, the rows of the last hinge are independent; closed, they are not: the linkage moves, and it is said."""
    system = bennett()
    with pytest.warns(ElverWarning, match="redundant once the loops are closed: J4/force_x, .*forces are shared"):
        state = ev.assemble(system)
    errors = []
    for method, bound in ((ev.GaussLegendre4(), 1e-7), (ev.GeneralizedAlpha(rho_inf=0.8), 1e-3)):
        run = ev.simulate(system, state, 0.3, 2.5e-3, method)
        energy = run["energy/total"].values
        assert np.ptp(run["q"].values, axis=0).min() > 0.1
        assert np.ptp(energy) < bound * run["energy/kinetic"].values.max()
        errors.append(run["q"].values[-1])
        # the law of the linkage: opposite turns are equal
        np.testing.assert_allclose(run["q"].values[:, 0], -run["q"].values[:, 2], atol=1e-7)
    np.testing.assert_allclose(*errors, atol=5e-3)


def test_a_planar_loop_around_a_body_that_is_free_in_space():
    """Cut at both feet of the loop, the plane is held twice: the motion is that of the loop cut once."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    rods = [ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), nodes=10, name=name) for name in ("one", "two")]
    apex = ev.RigidBody.sphere(0.01, mass=0.05, name="apex")
    angle = float(np.arccos(0.2))
    joints = [
        ev.Revolute(("world", (-0.2, 0.0, 0.0)), (rods[0], "base"), start=angle),
        ev.Revolute(("world", (0.2, 0.0, 0.0)), (rods[1], "base"), start=np.pi - angle),
        ev.Fixed((rods[0], "tip"), apex),
        ev.Revolute(apex, (rods[1], "tip"), start=np.pi - 2.0 * angle),
    ]
    ends = []
    for root in (None, apex):
        system = ev.System(ev.Mechanism(joints, root=root), loads=[ev.Gravity((-3.0, 0.0, 0.0))])
        with pytest.warns(ElverWarning, match="redundant"):
            state = ev.assemble(system)
        ends.append(ev.simulate(system, state, 0.2, 2e-3, ev.GaussLegendre4())["apex/position"].values[-1])
    assert abs(ends[0][0]) > 1e-3
    np.testing.assert_allclose(*ends, atol=1e-9)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e3])
def test_small_and_large_robots_are_told_from_singular_ones(size: float):
    """A four-bar with a rod as coupler, from tenths of a millimetre to a kilometre: the rank is seen at any size."""
    a, b, c, d = size * np.array([0.25, 0.6, 0.5, 0.7])
    bars = [ev.RigidBody(size**3, (size**5,) * 3, name=name) for name in ("crank", "rocker")]
    material = ev.Material(young=1e6, poisson=0.4, density=1e3)
    rod = ev.Rod(b, ev.Circle(0.02 * size), material, ev.Legendre.planar(4), name="coupler")
    joints = [
        ev.Revolute("world", bars[0], name="A", start=1.0),
        ev.Revolute((bars[0], (a, 0, 0)), (rod, "base"), name="B", start=-0.5),
        ev.Revolute((rod, "tip"), (bars[1], (c, 0, 0)), name="C", cut=True),
        ev.Revolute(("world", (d, 0, 0)), bars[1], name="D", start=1.8),
    ]
    system = quiet(ev.System(ev.Mechanism(joints)))
    state = system.rest().with_(q_dot=np.ones(system.n))
    found = ev.forward_dynamics(system, state)
    R = ev.inverse_dynamics(system, found)
    assert np.max(np.abs(R)) < 1e-9 * np.max(np.abs(ev.mass_matrix(system, state)))


# It starts with no rate, where a damper without inertia asks for one at once: the first step mends that, and says so.
@pytest.mark.filterwarnings("ignore:simulate. energy fell:elver.errors.ElverWarning")
def test_a_massless_needle_with_spring_and_damper_moves_beside_an_imposed_joint():
    """No inertia is needed where a spring and a damper balance: nothing of such a run is lost for its efforts."""
    hub, needle = body("hub"), ev.RigidBody.massless("needle")
    drive_joint, spring_joint = ev.Revolute("world", hub, name="drive"), ev.Revolute(hub, needle, name="needle-hinge")
    drive = ev.Imposed(drive_joint)
    loads = [ev.JointSpring(spring_joint, 1.0, rest=0.3), ev.JointFriction(spring_joint, viscous=0.1)]
    system = ev.System(ev.Mechanism([drive_joint, spring_joint]), [drive], loads)
    run = ev.simulate(system, system.rest(), 0.5, 1e-3, inputs={drive: lambda t: (t, 1.0, 0.0)}, start="given")
    t = run["time"].values
    np.testing.assert_allclose(run["q"][:, 1], 0.3 * (1 - np.exp(-10 * t)), atol=2e-3)
    np.testing.assert_allclose(run["efforts"][1:, 0], 0.0, atol=1e-9)


# Runs that fail --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1e-2, ev.Adaptive(1e-4)])
def test_a_crank_driven_beyond_reach_keeps_the_run_so_far(step, tmp_path: Path):
    """The loop opens at 0.957 s, where crank and rocker are 0.9 m apart: all before is in the result and the file."""
    system, (drive,) = four_bar((0.5, 0.4, 0.5, 0.7), imposed="A")
    state = ev.assemble(quiet(system), {drive: 1.0})
    file = tmp_path / "run.nc"
    with pytest.raises(
        ev.NotConverged, match=r"simulate: .*at t = 0\.9\d* s .*\.result holds the run so far"
    ) as caught:
        ev.simulate(system, state, 2.0, step, inputs={drive: lambda t: 1.0 + 0.5 * (1.0 - np.cos(2.0 * t))}, file=file)
    run = caught.value.result
    assert 0.9 < run["time"][-1] < 0.97
    assert run.attrs["status"].startswith("stopped: simulate: ")
    saved = ev.load(file)
    np.testing.assert_array_equal(saved["q"], run["q"])
    closure = core(system)
    assert closure.rows == 5
    assert np.all(np.isfinite(run["energy/total"]))


def test_a_controller_that_raises_keeps_the_run_so_far():
    def law(t: float, g: np.ndarray, eta: np.ndarray) -> np.ndarray:
        if t > 0.25:
            raise RuntimeError("battery empty")
        return np.zeros(6)

    link = body("link")
    system = ev.System(ev.Mechanism([ev.Revolute("world", link)]), loads=[DOWN, ev.Feedback(link, law)])
    with pytest.raises(RuntimeError, match="battery empty") as caught:
        ev.simulate(system, system.rest(), 1.0, 1e-2)
    assert caught.value.result["time"][-1] == pytest.approx(0.25, abs=0.011)


def test_angles_in_degrees_are_noticed() -> None:
    with pytest.raises(ev.BadInput, match="start = 90 rad is more than two turns: angles are in radians"):
        ev.Revolute("world", ev.RigidBody.point(1.0, name="bob"), name="crank", start=90.0)


def test_modes_of_what_cannot_move() -> None:
    bob = ev.RigidBody.point(1.0, centre=(0.1, 0.0, 0.0), name="bob")
    crank = ev.Revolute("world", bob, name="crank")
    system = ev.System(ev.Mechanism([crank]), actuators=[ev.Imposed(crank)])
    with pytest.raises(ev.BadInput, match="modes: nothing in this system can move"):
        ev.modes(system, system.rest())


def test_mass_and_effort_of_an_imposed_coordinate_are_those_of_the_state() -> None:
    """Imposed or not, a pendulum has the same mass matrix, and inverse dynamics tells the effort of the motion."""
    bob = ev.RigidBody.point(2.0, centre=(0.5, 0.0, 0.0), name="bob")
    crank = ev.Revolute("world", bob, name="crank")
    system = ev.System(ev.Mechanism([crank]), actuators=[ev.Imposed(crank)], loads=[ev.Gravity((0.0, -9.81, 0.0))])
    state = system.rest().with_(q=[0.7], q_dot=[3.0], q_ddot=[4.0])
    np.testing.assert_allclose(ev.mass_matrix(system, state), [[0.5]], rtol=1e-13)
    expected = 0.5 * 4.0 + 2.0 * 9.81 * 0.5 * np.cos(0.7)
    np.testing.assert_allclose(ev.inverse_dynamics(system, state), [expected], rtol=1e-13)
