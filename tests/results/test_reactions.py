"""Reactions of clamps, joints and holds: each part is in balance with them, at rest and in motion."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3

G = 9.81
SOFT = ev.Material(5e6, poisson=0.45, density=1070.0, damping=0.01)


def _study():
    """studies/reactions.py, which is no package's module."""
    spec = importlib.util.spec_from_file_location("reactions_study", Path(__file__).parents[2] / "studies/reactions.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


study = _study()
imbalance = study.imbalance


def rod(name="arm", length=0.3, basis=None, **more):
    return ev.Rod(length, ev.Circle(8e-3), SOFT, basis or ev.Legendre.kirchhoff(4), name=name, **more)


def body(name, mass=0.4, centre=(0.02, -0.01, 0.03)):
    return ev.RigidBody(mass, (3e-4, 5e-4, 4e-4), centre, name)


def vector(data, name, joint):
    return data[name].sel(joint=joint).values


# Whole robots ----------------------------------------------------------------------------------------------------


def robot():
    """A tree with every way to hang: rod on rod, a body in between, a rod reached by its tip, one by its middle."""
    trunk, left, right, cross = rod("trunk"), rod("left", 0.2), rod("right", 0.25), rod("cross", 0.2)
    hub, hand = body("hub"), body("hand", 0.2)
    aside = se3.exp([0.2, 0.5, -0.3, 0.0, 0.01, 0.0])
    joints = [
        ev.Fixed(("world", se3.exp([0.1, -0.2, 0.3, 0.1, 0.2, 0.3])), (trunk, "base"), name="clamp"),
        ev.Fixed((trunk, "tip"), hub, name="hub"),
        ev.Revolute(ev.Frame(hub, pose=aside), (left, "base"), name="shoulder", axis="y", start=0.3),
        ev.Spherical((hub, (0.0, 0.02, 0.0)), (right, "tip"), name="ball", start=(0.1, 0.2, 0.3)),
        ev.Fixed((left, "tip"), hand, name="wrist"),
        ev.Universal((left, 0.1), (cross, 0.07), name="universal"),
    ]
    loads = [
        ev.Gravity(),
        ev.PointWrench(hand, force=(0.3, 0.2, 0.1), moment=(0.01, 0.0, 0.02), name="push"),
        ev.DistributedWrench(left, force=(0.0, 0.5, 0.0), name="wind"),
        ev.JointSpring(joints[2], stiffness=0.5),
    ]
    motor = ev.Motor(joints[2], name="motor")
    return ev.System(ev.Mechanism(joints), [motor], loads), motor


@pytest.fixture(scope="module")
def at_rest():
    """The robot, its motor, and its equilibrium."""
    system, motor = robot()
    # the nearest one: nothing keeps the rod on its ball from spinning about the vertical
    return system, motor, ev.equilibrium(system, {motor: 0.1}, guess=ev.assemble(system))


def test_every_part_is_in_balance_at_rest(at_rest):
    """Sum of loads and reactions on each of six parts is zero; poses between nodes leave 1e-9."""
    system, _, e = at_rest
    for part in system.mechanism.parts:
        np.testing.assert_allclose(imbalance(system, e, part), 0.0, atol=1e-8)
    clamp = vector(ev.reactions(e), "force_on_b_world", "clamp")
    weight = G * sum(part.mass for part in system.mechanism.parts)
    # wind of 0.5 N/m over 0.2 m, and the push
    np.testing.assert_allclose(clamp, [-0.3, -0.2 - 0.1, weight - 0.1], atol=1e-9)


def test_every_part_is_in_balance_in_motion():
    """Sum of loads and reactions on each part is its rate of momentum, at a state of fast motion."""
    system, motor = robot()
    random = np.random.default_rng(1)
    state = system.rest().with_(q_dot=3.0 * random.normal(size=system.n), q=0.3 * random.normal(size=system.n))
    state = ev.forward_dynamics(system, state, {motor: 0.1})
    given = {"system": system, "inputs": {motor: 0.1}}
    size = np.max(np.abs(vector(ev.reactions(state, **given), "force_on_b_world", "clamp")))
    for part in system.mechanism.parts:
        np.testing.assert_allclose(imbalance(system, state, part, **given), 0.0, atol=1e-6 * size)


@pytest.mark.parametrize("seed", [0, 3, 6, 13])
def test_random_robots_are_in_balance(seed):
    """Trees and loops of rods and bodies with cables, motors and loads, in fast motion; the study has a hundred."""
    assert study.run_case(seed).imbalance < 1e-6  # poses between nodes


def test_sides_are_equal_and_opposite_and_axes_agree(at_rest):
    found = ev.reactions(at_rest[2])
    np.testing.assert_allclose(found["force_on_a_world"], -found["force_on_b_world"], atol=1e-14)
    for joint in ("clamp", "hub", "shoulder", "ball", "wrist", "universal"):  # no joint shifts its origin
        np.testing.assert_allclose(
            vector(found, "moment_on_a_world", joint), -vector(found, "moment_on_b_world", joint), atol=1e-14
        )
        np.testing.assert_allclose(
            *(np.linalg.norm(vector(found, f"force_on_a{axes}", joint)) for axes in ("", "_world")), rtol=1e-12
        )
    assert list(found["kind"].values[:2]) == ["fixed", "fixed"]
    assert found["a"].sel(joint="wrist") == "left at tip"


def test_reaction_about_an_axis_is_what_drives_it(at_rest):
    """About the axis of a hinge pass motor and spring, about a ball nothing."""
    system, _, e = at_rest
    found = ev.reactions(e)
    angle = e.state.q[system.coordinates(system.mechanism.joint("shoulder"))][0]
    assert vector(found, "moment_on_b", "shoulder")[2] == pytest.approx(0.1 - 0.5 * angle, abs=1e-9)
    np.testing.assert_allclose(vector(found, "moment_on_b", "ball"), 0.0, atol=1e-9)


# Closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ev.Newmark(), ev.ImplicitMidpoint(), ev.GaussLegendre4()])
def test_pendulum_reaction(method):
    """Along the rope m (g cos θ + l θ'²), across it m (g sin θ + l θ'') = 0, at all instants and with all methods."""
    bob = ev.RigidBody(0.5, name="bob")
    hinge = ev.Revolute("world", (bob, (0.0, 0.7, 0.0)), name="hinge", start=1.0)
    system = ev.System(ev.Mechanism([hinge]), loads=[ev.Gravity((0.0, -G, 0.0))])
    run = ev.simulate(system, duration=1.0, step=0.02, method=method)
    found = ev.reactions(run)
    theta, rate = run["q"].values[:, 0], run["q_dot"].values[:, 0]
    force = found["force_on_b"].sel(joint="hinge").values
    np.testing.assert_allclose(force[:, 1], 0.5 * (G * np.cos(theta) + 0.7 * rate**2), rtol=1e-9)
    np.testing.assert_allclose(force[:, [0, 2]], 0.0, atol=1e-6)
    np.testing.assert_allclose(found["moment_on_b"], 0.0, atol=1e-6)


def test_shaken_clamp_carries_weight_and_inertia():
    """A base that goes up and down: m (g + a) at every instant."""
    arm = rod()
    lift = lambda t: se3.pose(np.eye(3), [0.0, 0.0, 0.05 * np.sin(9.0 * t)])  # noqa: E731
    system = ev.System(ev.Mechanism.driven(arm, ev.Motion(lift)), loads=[ev.Gravity()])
    state = system.rest(0.123)
    found = ev.reactions(state, system=system)
    up = -0.05 * 81.0 * np.sin(9.0 * 0.123)
    np.testing.assert_allclose(found["force_on_b_world"][0], [0.0, 0.0, arm.mass * (G + up)], atol=1e-9)


def test_imposed_effort_is_in_the_reaction():
    bob = ev.RigidBody(0.5, (1e-3, 1e-3, 1e-3), name="bob")
    hinge = ev.Revolute("world", (bob, (0.0, 0.7, 0.0)), name="hinge")
    drive = ev.Imposed(hinge, name="drive")
    system = ev.System(ev.Mechanism([hinge]), [drive], [ev.Gravity((0.0, -G, 0.0))])
    run = ev.simulate(system, {drive: 0.0}, 0.5, 0.01, inputs={drive: ev.sine(0.0, 0.5, 1.0)})
    found = ev.reactions(run)
    np.testing.assert_allclose(found["moment_on_b"].values[:, 0, 2], run["efforts"].values[:, 0], atol=1e-9)


def test_slider_moments_are_about_both_origins():
    """A carriage 0.4 m out on its rail: the weight bends the rail at its root, not at the carriage."""
    cart = ev.RigidBody(2.0, name="cart")
    rail = ev.Prismatic("world", cart, axis="x", name="rail", start=0.4)
    drive = ev.Imposed(rail, name="drive")
    system = ev.System(ev.Mechanism([rail]), [drive], [ev.Gravity()])
    found = ev.reactions(ev.equilibrium(system, {drive: 0.4}))
    np.testing.assert_allclose(vector(found, "moment_on_b_world", "rail"), 0.0, atol=1e-12)
    np.testing.assert_allclose(vector(found, "moment_on_a_world", "rail"), [0.0, 0.4 * 2.0 * G, 0.0], atol=1e-12)


def test_cable_over_guides_pulls_at_its_guides():
    """A weight hung on a wire and a spring joint: the joint carries what the wire does not."""
    box = ev.RigidBody(1.0, name="box")
    rail = ev.Prismatic("world", box, axis="z", name="rail")
    wire = ev.Tendon([("world", (0.0, 0.0, 1.0)), (box, (0.0, 0.0, 0.0))], name="wire")
    system = ev.System(ev.Mechanism([rail]), [wire], [ev.Gravity(), ev.JointSpring(rail, stiffness=100.0)])
    e = ev.equilibrium(system, {wire: 4.0})
    np.testing.assert_allclose(vector(ev.reactions(e), "force_on_b", "rail"), [0, 0, G - 4.0], atol=1e-9)


def test_a_rod_across_a_stream():
    """Morison's drag ½ρ C 2a U² per length on a rod across the flow: shear falls evenly to the tip."""
    arm = rod(basis=ev.Legendre(bending=2))
    water = ev.Morison(drag=(0.0, 1.2, 1.2, 0.0), flow=(0.0, 0.5, 0.0))
    system = ev.System(ev.Mechanism.clamped(arm), loads=[water])
    state = system.rest()
    along = 0.5 * 1000.0 * 1.2 * 2.0 * 8e-3 * 0.5**2
    s = np.array([0.0, 0.1, 0.25, 0.3])
    found = ev.sample(state, at=s, system=system)["force"].values
    np.testing.assert_allclose(found[:, 1], along * (0.3 - s), atol=1e-12)
    clamp = ev.reactions(state, system=system)["force_on_b_world"].values[0]
    np.testing.assert_allclose(clamp, [0.0, -0.3 * along, 0.0], atol=1e-12)


# Loops -----------------------------------------------------------------------------------------------------------


def frame_with_cut(where):
    """Two legs and a beam in space, welded and pinned into a loop that is cut at one of its joints."""
    left, beam, right = rod("left"), rod("beam", 0.35), rod("right")
    up = se3.exp([0.0, -np.pi / 2.0, 0.0, 0.0, 0.0, 0.0])
    down = se3.exp([0.0, np.pi / 2.0, 0.0, 0.0, 0.0, 0.0])
    foot = up.copy()
    foot[0, 3] = 0.35
    at = lambda name: name == where  # noqa: E731
    joints = [
        ev.Fixed(("world", up), (left, "base"), name="foot", cut=at("foot")),
        ev.Fixed(ev.Frame(left, "tip", down), (beam, "base"), name="corner", cut=at("corner")),
        ev.Spherical((beam, "tip"), ev.Frame(right, "tip", down), name="ball", cut=at("ball")),
        ev.Fixed(("world", foot), (right, "base"), name="other foot", cut=at("other foot")),
    ]
    loads = [ev.Gravity(), ev.PointWrench(beam, at=0.1, force=(0.2, 0.5, 0.1))]
    return ev.System(ev.Mechanism(joints), loads=loads)


def test_reactions_do_not_depend_on_the_cut():
    """The same frame cut at each of its four joints, tree joints turned round on the way: the same wrenches."""
    found = {}
    for where in ("corner", "ball", "other foot", "foot"):
        system = frame_with_cut(where)
        assert [joint.name for joint in system.mechanism.tree.cuts] == [where]
        found[where] = ev.reactions(ev.equilibrium(system))
    for where, other in found.items():
        for name in other:
            np.testing.assert_allclose(
                other[name].sel(joint=found["ball"]["joint"]), found["ball"][name], atol=2e-6, err_msg=f"{where} {name}"
            )  # quadrature along rods that grow from the other end
    moments = vector(found["corner"], "moment_on_b", "ball")
    np.testing.assert_allclose(moments, 0.0, atol=1e-9)


def test_hold_has_the_reaction_of_its_multipliers():
    """A rod held at its tip: three forces, equal to the multipliers with the sign of what acts on the rod."""
    arm = rod()
    hold = ev.Hold(position=(0.28, 0.02, 0.05), name="pin")
    system = ev.System(ev.Mechanism.clamped(arm, holds=[hold]), loads=[ev.Gravity()])
    e = ev.equilibrium(system)
    found = ev.reactions(e)
    given = -np.array([e.multipliers[f"pin/force_{axis}"] for axis in "xyz"])
    np.testing.assert_allclose(vector(found, "force_on_b_world", "pin"), given, atol=1e-10)
    total = found["force_on_b_world"].sum("joint").values
    np.testing.assert_allclose(total, [0.0, 0.0, arm.mass * G], atol=1e-9)
    # and the stress before the pin is what the pin exerts
    tip = ev.sample(e, at="tip")
    R = so3.from_quaternion(tip["orientation"].values)
    np.testing.assert_allclose(R @ tip["force"].values, given, atol=1e-9)


def test_floating_robot_tied_to_the_world():
    """From a floating root all ties are cut: their reactions carry the weight."""
    arm = rod()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        joints = [ev.Fixed("world", (arm, "base"), name="clamp")]
        system = ev.System(ev.Mechanism(joints, root=(arm, 0.1)), loads=[ev.Gravity()])
        e = ev.equilibrium(system, guess=ev.equilibrium(system))
    clamped = ev.equilibrium(ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity()]))
    here, there = ev.reactions(e), ev.reactions(clamped)
    np.testing.assert_allclose(here["force_on_b_world"], there["force_on_b_world"], atol=1e-8)
    np.testing.assert_allclose(here["moment_on_b_world"], there["moment_on_b_world"], atol=1e-8)
    s = np.array([0.0, 0.05, 0.1, 0.2])
    for name in ("force", "moment"):
        np.testing.assert_allclose(ev.sample(e, at=s)[name], ev.sample(clamped, at=s)[name], atol=1e-7)
