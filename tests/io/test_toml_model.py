"""Model files: Python to file to Python gives the same motion to the last bit; files say what Python can say."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elver as ev
from elver.errors import BadInput
from elver.io.model_fields import GROUPS, METHODS, STUDY_FIELDS, kinds_of
from elver.io.toml_schema import model_schema
from elver.io.toml_text import value_text
from elver.io.toml_values import arguments, file_types, method_types
from elver.io.units import dimension, quantity

ROOT = Path(__file__).resolve().parents[2]
SILICONE = ev.Material(young=1.0e6, poisson=0.45, density=1070.0, damping=0.01)
STEEL = ev.Material(young=210e9, shear=80e9, density=7800.0)


def tendon_arm():
    arm = ev.Rod(0.4, ev.Circle(ev.Taper(8e-3, 5e-3)), SILICONE, ev.Legendre(bending=4, torsion=2), name="arm")
    tendons = [
        ev.Tendon(arm, path=ev.convergent(y=0.0, z=4e-3), name="straight"),
        ev.Tendon(arm, path=ev.helical(radius=4e-3, turns=1.0 / 3.0), name="turning"),
    ]
    load = ev.PointWrench(arm, force=(0.0, 0.1, 0.0), name="push")
    system = ev.System(ev.Mechanism.clamped(arm), actuators=tendons, loads=[ev.Gravity(), load])
    ramp = ev.c2_ramp(0.0, 0.1, 0.0, 0.7)
    inputs = {tendons[0]: ev.sine(2.0, 1.0, 3.0, phase=0.1, ramp=ramp), tendons[1]: 0.3, "push": ev.ramp(0.0, 0.1)}
    return system, inputs, ev.SimulationStudy(duration=0.1, step=5e-3, method=ev.Newmark())


def loop_robot():
    """RFRFR: two rods on motors, hinged at their tips."""
    left, right = (ev.Rod(1.0, ev.Circle(1e-3), STEEL, ev.Legendre.planar(3), name=n) for n in ("left", "right"))
    j1 = ev.Revolute(("world", (-0.2, 0.0, 0.0)), (left, "base"), name="J1", start=np.pi / 2)
    j4 = ev.Revolute(("world", (0.2, 0.0, 0.0)), (right, "base"), start=np.pi / 2)
    motors = [ev.Motor(j1, name="tau_1"), ev.Motor(j4, name="tau_2")]
    mechanism = ev.Mechanism([j1, j4, ev.Revolute((left, "tip"), (right, "tip"), name="P")])
    inputs = {"tau_1": ev.smooth_step(0.0, 0.1, 0.0, -0.3), "tau_2": ev.sampled((0.0, 0.1, 1.0), (0.0, 0.3, 0.2))}
    study = ev.SimulationStudy(0.1, state="equilibrium", method=ev.GeneralizedAlpha(rho_inf=0.6))
    return ev.System(mechanism, actuators=motors), inputs, study


def eel():
    """Rigid links in water, swimming by a gait of imposed joints."""
    links = [
        ev.RigidBody.elliptic_cylinder((0.065, 0.09), 0.14, "x", density=1000.0, name=f"link-{k}") for k in range(4)
    ]
    joints = [
        ev.Revolute((a, (0.07, 0.0, 0.0)), (b, (-0.07, 0.0, 0.0)), name=f"yaw-{k}")
        for k, (a, b) in enumerate(pairwise(links))
    ]
    wave = ev.TravellingWave(0.06, growth=1.2, wavelength=1.8, period=2.0, ramp=ev.smooth_step(0.0, 2.0))
    drives, inputs = ev.joint_gait(joints, wave, 0.14 * np.arange(4))
    mechanism = ev.Mechanism([ev.Floating("world", links[0], name="free"), *joints])
    system = ev.System(mechanism, actuators=drives, loads=[ev.Morison(flow=(0.1, 0.0, 0.0))])
    return system, inputs, ev.SimulationStudy(0.2, method=ev.RungeKutta4())


def soft_swimmer():
    """A free rod in water with muscles that aim at a travelling wave."""
    flesh = ev.Material(young=1e7, poisson=0.0, density=1000.0)
    rod = ev.Rod(1.0, ev.Circle(0.05), flesh, ev.Legendre.planar(6), name="eel")
    wave = ev.CurvatureWave((1.0, 0.5, 2.0), 1.0, 1.0, ramp=ev.c2_ramp(0.0, 1.0))
    muscles, inputs = ev.muscle_gait(rod, wave)
    system = ev.System(ev.Mechanism.free(rod), actuators=muscles, loads=[ev.Lighthill(rod)])
    return system, inputs, ev.SimulationStudy(0.1)


def everything():
    """Bodies, springs, stops, friction, pressure, distributed loads, guides, two tapered sections, a hold."""
    link = ev.Rod(0.3, ev.Rectangle(0.02, ev.Taper(0.004, 0.003)), SILICONE, ev.PiecewiseLinear(4), name="link")
    hand = ev.RigidBody(mass=0.02, inertia=(1e-5, 1e-5, 2e-5), centre=(0.01, 0.0, 0.0), name="hand",
                        shape=ev.Cylinder(0.01, 0.04, axis="x"))  # fmt: skip
    hip = ev.Revolute("world", (link, "base"), name="hip", axis=(0.0, 1.0, 1.0), start=0.1)
    wrist = ev.Universal((link, "tip"), hand, name="wrist")
    guide = ev.Frame("world", pose=(0.0, 0.05, 0.0))
    actuators = [
        ev.Motor(hip, name="drive"),
        ev.Pressure(link, area=1e-5, path=ev.parallel(0.0, 1e-3), name="air"),
        ev.Tendon([guide, link], path=ev.parallel(y=2e-3, z=0.0), name="cable"),
    ]
    loads = [
        ev.Gravity((0.0, 0.0, -3.7)),
        ev.JointSpring(hip, stiffness=0.7, rest=0.2),
        ev.JointStop(hip, upper=0.9, stiffness=10.0),
        ev.JointFriction(wrist, viscous=1e-3, coordinate=wrist.coordinate_names[0]),
        ev.RotorInertia(hip, 1e-5),
        ev.DistributedWrench(link, force=(0.0, 0.02, 0.0), end=0.2, name="wind"),
        ev.PointWrench(hand, at=(0.01, 0.0, 0.0), force=(0.0, 0.01, 0.0), frame="body", name="thrust"),
        ev.Buoyancy((link,), fluid_density=1.2),
        ev.Morison((link, hand), fluid_density=1.2),
    ]
    hip_drive = ev.triangle(0.05, 0.05, 0.1)
    system = ev.System(ev.Mechanism([hip, wrist]), actuators=actuators, loads=loads)
    inputs = {"drive": hip_drive, "air": 2e4, "cable": 0.5}
    return system, inputs, ev.SimulationStudy(0.05, step=ev.Adaptive(tolerance=1e-4, first=1e-3))


def held_rod():
    arm = ev.Rod(0.5, ev.Tube(4e-3, 3e-3), STEEL, ev.Legendre(bending=5, torsion=2), rest=(0.1, 0.2, 0, 1, 0, 0))
    hold = ev.Hold("tip", position=(0.4, None, 0.05), name="pin")
    pose = np.eye(4)
    pose[:3, 3] = 0.1 / 3.0
    return ev.System(ev.Mechanism.clamped(arm, pose, holds=[hold]), loads=[ev.Gravity()]), {}, ev.EquilibriumStudy()


ROBOTS = [tendon_arm, loop_robot, eel, soft_swimmer, everything]


def start_of(system, inputs, study):
    return ev.equilibrium(system, inputs) if study.state == "equilibrium" else None


def motion(system, inputs, study):
    return ev.simulate(
        system, start_of(system, inputs, study), study.duration, study.step, study.method, inputs, every=study.every
    )


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
def test_a_saved_model_moves_the_same_to_the_last_bit(robot, tmp_path):
    system, inputs, study = robot()
    model = ev.load_model(ev.save_model(tmp_path / "robot.toml", system, inputs, study, title="a robot"))
    assert model.title == "a robot"
    assert model.study.method == study.method
    before, after = motion(system, inputs, study), motion(model.system, model.inputs, model.study)
    assert set(before.variables) == set(after.variables)
    for name in before.variables:
        np.testing.assert_array_equal(before[name].values, after[name].values, err_msg=str(name))


@pytest.mark.parametrize("robot", [*ROBOTS, held_rod])
@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
def test_saving_what_was_loaded_gives_the_same_text(robot, tmp_path):
    system, inputs, study = robot()
    first = ev.save_model(tmp_path / "one.toml", system, inputs, study)
    model = ev.load_model(first)
    second = ev.save_model(tmp_path / "two.toml", model.system, model.inputs, model.study)
    assert first.read_text() == second.read_text()


def test_an_equilibrium_with_a_hold_comes_back(tmp_path):
    system, inputs, study = held_rod()
    model = ev.load_model(ev.save_model(tmp_path / "rod.toml", system, inputs, study))
    np.testing.assert_array_equal(ev.equilibrium(system).state.q, ev.equilibrium(model.system).state.q)
    assert isinstance(model.study, ev.EquilibriumStudy)


def test_a_state_and_a_continuation_come_back(tmp_path):
    system, inputs, _ = tendon_arm()
    state = system.rest().with_(q=0.1 * np.arange(system.n) / 3.0)
    model = ev.load_model(ev.save_model(tmp_path / "a.toml", system, inputs, ev.SimulationStudy(1.0, state=state)))
    np.testing.assert_array_equal(model.study.state.q, state.q)
    study = ev.ContinuationStudy("straight", 4.0, start=1.0)
    assert ev.load_model(ev.save_model(tmp_path / "b.toml", system, inputs, study)).study == study


def test_a_continuation_may_move_several_inputs(tmp_path):
    """Both motors of a loop together; names stand for the actuators, and the branch is the same to the last bit."""
    system, _, _ = loop_robot()
    left, right = system.actuators
    study = ev.ContinuationStudy({left: 1.0, right: -1.0}, stop=-0.3, step=0.2)
    model = ev.load_model(ev.save_model(tmp_path / "loop.toml", system, {}, study))
    assert model.study == ev.ContinuationStudy({"tau_1": 1.0, "tau_2": -1.0}, stop=-0.3, step=0.2)
    with pytest.warns(ev.ElverWarning):  # a planar loop says twice that it is flat
        one, two = (ev.continuation(s, over.over, over.stop, step=over.step)
                    for s, over in ((system, study), (model.system, model.study)))  # fmt: skip
    np.testing.assert_array_equal(one.values, two.values)
    for a, b in zip(one.equilibria, two.equilibria, strict=True):
        np.testing.assert_array_equal(a.state.q, b.state.q)
        np.testing.assert_array_equal(b.inputs, [a.inputs[0], -a.inputs[0]])


# Files by hand ----------------------------------------------------------------------------------------------

HAND = """
title = "two arms"
[materials.silicone]
young = "1 MPa"
poisson = 0.45
density = "1.07 g/cm^3"

[rods.limb]
length = "40 cm"
section = { type = "Circle", radius = "8 mm" }
material = "silicone"
basis = { type = "Legendre", bending = 4, torsion = 2 }

[rods.short]
like = "limb"
length = "300 mm"
section = { radius = { type = "Taper", base = "8 mm", tip = "5 mm" } }

[mechanism]
clamped = "short"
pose = { position = [0, 0, "10 cm"], axis = "y", angle = "90 deg" }

[actuators.tendon]
type = "Tendon"
rod = "short"
path = { type = "Parallel", y = 0.0, z = "4 mm" }

[loads.gravity]
type = "Gravity"
acceleration = [0, 0, "-9.81 m/s^2"]

[signals.up]
type = "SmoothStep"
t0 = 0
t1 = "500 ms"
after = "2 N"

[inputs]
tendon = "up"

[study]
kind = "simulation"
duration = "50 ms"
step = "5 ms"
"""


def written(tmp_path, text, name="model.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_by_hand_with_units_names_and_reuse(tmp_path):
    model = ev.load_model(written(tmp_path, HAND))
    rod = model.system.rod
    assert (rod.name, rod.length, rod.basis.bending) == ("short", 0.3, 4)
    assert (rod.section.radius.base, rod.section.radius.tip) == (8e-3, 5e-3)
    assert rod.material == ev.Material(young=1e6, poisson=0.45, density=1070.0)
    assert model.inputs["tendon"] == ev.smooth_step(0.0, 0.5, after=2.0)
    np.testing.assert_allclose(model.system.mechanism.base.g[:3, 0], (0.0, 0.0, -1.0), atol=1e-15)
    assert model.system.loads[0].acceleration == (0.0, 0.0, -9.81)


def test_poses_one_after_the_other(tmp_path):
    from elver.lie import se3, so3

    moves = '[{ axis = "z", angle = "120 deg" }, { position = ["20 cm", 0, 0], axis = "y", angle = "-70 deg" }]'
    old = 'pose = { position = [0, 0, "10 cm"], axis = "y", angle = "90 deg" }'
    model = ev.load_model(written(tmp_path, HAND.replace(old, f"pose = {moves}")))
    turn = se3.pose(so3.exp(np.array([0.0, 0.0, np.radians(120.0)])), np.zeros(3))
    then = se3.pose(so3.exp(np.array([0.0, -np.radians(70.0), 0.0])), np.array([0.2, 0.0, 0.0]))
    np.testing.assert_allclose(model.system.mechanism.base.g, turn @ then, atol=1e-15)
    with pytest.raises(BadInput, match=r"mechanism\.pose\.1\.angle"):
        ev.load_model(written(tmp_path, HAND.replace(old, "pose = " + moves.replace('"-70 deg"', '"far"'))))


def test_values_can_be_changed_on_the_way(tmp_path):
    path = written(tmp_path, HAND)
    changes = {"short.length": "0.25 m", "tendon": "3 N", "study.duration": 0.2, "materials.silicone.damping": "10 ms"}
    model = ev.load_model(path, changes=changes)
    assert (model.system.rod.length, model.inputs["tendon"], model.study.duration) == (0.25, 3.0, 0.2)
    assert model.system.rod.material.damping == 0.01
    with pytest.raises(BadInput, match="no section and no part is called 'shart'"):
        ev.load_model(path, changes={"shart.length": 1.0})


def test_a_run_may_begin_from_what_other_inputs_hold(tmp_path):
    """At rest under 2 N; the run itself has the signal, which is zero then."""
    path = written(tmp_path, HAND + 'state = { equilibrium = { tendon = "2 N" } }\n')
    model = ev.load_model(path)
    assert model.study.state == ev.load_model(path).study.state == {"tendon": 2.0}
    (tendon,) = model.system.actuators
    study = ev.SimulationStudy(0.05, step=5e-3, state={tendon: 2.0})
    again = ev.load_model(ev.save_model(tmp_path / "again.toml", model.system, model.inputs, study)).study
    assert (again.state, again.duration, again.step) == (model.study.state, 0.05, 5e-3)
    for wrong, message in (
        ('{ equilibrium = { tendan = "2 N" } }', r"study\.state\.equilibrium\.tendan: 'tendan' is no input.*'tendon'"),
        ('{ equilibrium = { tendon = "2 m" } }', r"study\.state\.equilibrium\.tendon"),
        ('{ equilibrium = { tendon = "-2 N" } }', r"study\.state\.equilibrium\.tendon"),
        ('{ equilibrium = "tendon" }', r"is no state; write such as"),
        ("{ equilibrium = {}, q = [] }", r"is no state; write such as"),
    ):
        with pytest.raises(BadInput, match=message):
            ev.load_model(written(tmp_path, HAND + f"state = {wrong}\n"))


def test_signals_are_added_and_cut_out(tmp_path):
    signals = """
    [signals.pulses]
    type = "Within"
    signal = { type = "Sine", mean = "0.1 N", amplitude = "100 mN", frequency = "1 Hz", phase = "-90 deg" }
    t0 = "4 s"
    t1 = "7 s"
    [inputs]
    tendon = { type = "Sum", terms = ["up", "pulses", "1 N", { type = "Ramp", t0 = 0, t1 = "1 s" }] }
    """
    model = ev.load_model(written(tmp_path, HAND.replace('[inputs]\ntendon = "up"', signals)))
    pulses = ev.within(ev.sine(0.1, 0.1, 1.0, quantity("-90 deg", "rad")), 4.0, 7.0)
    assert model.inputs["tendon"] == ev.sum_of(ev.smooth_step(0, 0.5, after=2.0), pulses, 1.0, ev.ramp(0.0, 1.0))
    circle = HAND.replace('t0 = 0\nt1', 'signal = "up"\nt0 = 0\nt1').replace('"SmoothStep"', '"Within"')
    with pytest.raises(BadInput, match=r"signals\.up\.signal: 'up' refers to itself"):
        ev.load_model(written(tmp_path, circle.replace('after = "2 N"', "")))


def test_inputs_that_move_together(tmp_path):
    def over(text):
        study = HAND.partition("[study]")[0] + f'[study]\nkind = "continuation"\nover = {text}\nstop = "2 N"\n'
        return ev.load_model(written(tmp_path, study)).study.over

    assert over('"tendon"') == "tendon"
    assert over("{ tendon = 2 }") == {"tendon": 2.0}
    for text, message in (
        ("{ tendon = 1.0, tendan = 1.0 }", "over = 'tendan' is no input of this system; did you mean 'tendon'"),
        ("{ tendon = true }", r"study\.over\.tendon: True is no number"),
        ("{}", "over names no input"),
        ('["tendon"]', r"over = \['tendon'\] is no input"),
    ):
        with pytest.raises(BadInput, match=message):
            over(text)


def test_bodies_may_be_solids(tmp_path):
    text = """
    [bodies.log]
    shape = { type = "Cylinder", radius = "5 cm", length = "20 cm" }
    density = "1 g/cm^3"
    centre = ["10 cm", 0, 0]
    [bodies.plate]
    shape = { type = "Box", size = ["1 m", "2 m", "3 m"] }
    mass = "6 kg"
    inertia = "solid"
    [mechanism]
    free = "log"
    """
    where = written(tmp_path, text.replace('[mechanism]\n    free = "log"', """
    [joints.free]
    type = "Floating"
    a = "world"
    b = "log"
    [joints.both]
    type = "Fixed"
    a = "log"
    b = "plate"
    """))  # fmt: skip
    log, plate = ev.load_model(where).system.mechanism.bodies
    twin = ev.RigidBody.cylinder(0.05, 0.2, density=1e3, centre=(0.1, 0.0, 0.0))
    assert (log.mass, log.inertia, log.centre) == (twin.mass, twin.inertia, twin.centre)
    assert plate.inertia == ev.RigidBody.box((1, 2, 3), mass=6.0).inertia
    for change, message in (
        ({"bodies.log.mass": 1.0}, r"bodies\.log.*give either mass"),
        ({"bodies.log.inertia": [1, 1, 1]}, r"bodies\.log\.inertia: with density"),
        ({"bodies.log.shape": {"none": True}}, "no solid; give a Box"),
    ):
        with pytest.raises(BadInput, match=message):
            ev.load_model(where, changes=change)


def test_gaits_stand_for_their_actuators_and_inputs(tmp_path):
    text = """
    [bodies.head]
    mass = "4 kg"
    inertia = [0.01, 0.02, 0.02]
    [bodies.tail]
    like = "head"
    [joints.free]
    type = "Floating"
    a = "world"
    b = "head"
    [joints.neck]
    type = "Revolute"
    a = ["head", ["70 mm", 0, 0]]
    b = ["tail", ["-70 mm", 0, 0]]
    [waves.swim]
    type = "TravellingWave"
    amplitude = "3 deg"
    growth = "1.2 1/m"
    wavelength = "1.8 m"
    period = "2 s"
    [gaits.swim-forward]
    type = "joint_gait"
    joints = ["neck"]
    wave = "swim"
    stations = [0, "14 cm"]
    """
    model = ev.load_model(written(tmp_path, text))
    (drive,) = model.system.actuators
    assert isinstance(drive, ev.Imposed)
    assert model.inputs[model.system.label(drive)].frequency == 0.5


def table_file(tmp_path, name, extra=""):
    table = f'tendon = {{ type = "SampledSignal", file = "{name}"{extra} }}'
    return written(tmp_path, HAND.replace('tendon = "up"', table))


def test_a_table_from_a_file_beside_the_model(tmp_path):
    written(tmp_path, "time,slack,pull\n0,9,0.5\n0.1,9,1.5\n", "pull.csv")
    model = ev.load_model(table_file(tmp_path, "pull.csv", ', column = "pull"'))
    assert model.inputs["tendon"] == ev.sampled((0.0, 0.1), (0.5, 1.5))


def test_no_file_outside_the_folder_is_read(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = written(tmp_path, "0,1\n1,2\n", "secret.csv")
    os.symlink(secret, inside / "link.csv")
    os.symlink(tmp_path, inside / "folder")
    for name in ("../secret.csv", str(secret), "link.csv", "folder/secret.csv", "./../secret.csv"):
        path = table_file(inside, name)
        with pytest.raises(BadInput, match=r"inputs\.tendon\.file.*leads out of the folder"):
            ev.load_model(path)
        assert ev.load_model(path, outside=True).inputs["tendon"] == ev.sampled((0.0, 1.0), (1.0, 2.0))


def test_a_file_cannot_name_code(tmp_path):
    for kind in ("Code", "Feedback", "System", "os.system", "__import__", "_Transition"):
        text = HAND.replace('type = "Gravity"', f'type = "{kind}"')
        with pytest.raises(BadInput, match=r"loads\.gravity\.type"):
            ev.load_model(written(tmp_path, text))


def test_python_functions_are_refused_or_sampled(tmp_path):
    system, inputs, study = tendon_arm()
    inputs["push"] = lambda t: math.sin(3.0 * t)
    with pytest.raises(BadInput, match="sample=True"):
        ev.save_model(tmp_path / "arm.toml", system, inputs, study)
    assert not (tmp_path / "arm.toml").exists()
    model = ev.load_model(ev.save_model(tmp_path / "arm.toml", system, inputs, study, sample=True))
    assert model.inputs["push"](0.05) == pytest.approx(math.sin(0.15), rel=1e-8)


def test_a_model_too_large_to_be_read_is_not_written(tmp_path):
    system, inputs, _ = tendon_arm()
    times = np.linspace(0.0, 1.0, 200_000)
    with pytest.raises(BadInput, match="CSV files beside it"):
        ev.save_model(tmp_path / "arm.toml", system, {**inputs, "push": ev.sampled(times, np.sin(times))})
    assert not (tmp_path / "arm.toml").exists()


# The table of keys ------------------------------------------------------------------------------------------


def test_every_key_of_every_type_has_a_unit_or_kind():
    for name, cls in file_types().items():
        for key in arguments(cls):
            words = kinds_of(cls).get(key)
            assert words, f"{name}.{key} says no kind: give its field metadata=of_kind(...)"
            if "@" in words:
                assert words.partition("@")[2] in (*GROUPS, "method")


def test_the_keys_of_time_schemes_are_those_of_their_classes():
    types = method_types()
    assert set(types) == set(METHODS)
    for cls in types.values():
        assert list(kinds_of(cls)) == [f.name for f in fields(cls) if f.init]


def test_every_class_that_a_system_takes_can_stand_in_a_file():
    from elver import acting, environment
    from elver.mechanism import Passive

    passive = {name for name in environment.__all__ if issubclass(getattr(environment, name), Passive)} - {"JointLoad"}
    # functions of the motion have no table: their code is not stored
    loads = ({cls.__name__ for cls in acting.Settable.__args__} | passive) - {"Feedback", "JointFeedback", "FrameLoad"}
    assert loads == set(GROUPS["load"])
    assert {cls.__name__ for cls in acting.Actuator.__args__} - {"ActiveStress"} == set(GROUPS["actuator"])
    for name, cls in (("equilibrium", ev.EquilibriumStudy), ("simulation", ev.SimulationStudy)):
        assert set(STUDY_FIELDS[name]) == {f.name for f in fields(cls) if f.init}


def test_schema_is_json_and_resolves():
    text = json.dumps(model_schema())
    schema = json.loads(text)
    for part in text.split('"$ref": "#/$defs/')[1:]:
        assert part.partition('"')[0] in schema["$defs"]
    assert schema["$defs"]["Rod"]["properties"]["length"]["anyOf"][0]["description"] == "[m]"
    body = schema["$defs"]["RigidBody"]
    assert "density" in body["properties"]
    assert "mass" not in body["required"]  # a solid has density instead
    _, continuation, simulation = schema["properties"]["study"]["anyOf"]
    assert continuation["properties"]["over"]["anyOf"][0]["type"] == ["string", "object"]
    assert any("equilibrium" in way.get("properties", {}) for way in simulation["properties"]["state"]["anyOf"])


def test_looking_at_a_file_needs_no_compiled_core(tmp_path):
    path = written(tmp_path, HAND + 'method = { type = "HHT", rho_inf = 0.7 }\n')
    code = (
        "import sys; from elver.io.toml_model import load_model; from elver.io.toml_schema import model_schema; "
        f"load_model({str(path)!r}); model_schema(); print([m for m in ('numba', 'xarray') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
    assert ev.load_model(path).study.method == ev.HHT(rho_inf=0.7)


# Units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("12 mm", "m", 12e-3),
        ("12mm", "m", 0.012),
        ("207 GPa", "Pa", 207e9),
        ("9.81 m/s^2", "m/s^2", 9.81),
        ("9.81 m s^-2", "m/s^2", 9.81),
        ("9,81", None, None),
        ("3 m/s²", "m/s^2", 3.0),
        ("2.7 g/cm^3", "kg/m^3", 2700.0),
        ("0.3 N m/rad", "N m/rad", 0.3),
        ("5N", "N", 5.0),
        ("-1e-3 mm^4", "m^4", -1e-15),
        ("1.5 bar", "Pa", 1.5e5),
        ("7", "m", 7.0),
    ],
)
def test_quantities(text, unit, value):
    if value is None:
        with pytest.raises(BadInput):
            quantity(text, "m")
    else:
        assert quantity(text, unit) == value


def test_angles():
    assert quantity("30 deg", "rad") == pytest.approx(np.pi / 6, rel=1e-15)
    assert quantity("60 rpm", "rad/s") == pytest.approx(2 * np.pi, rel=1e-15)
    assert dimension("N m") == dimension("J")


@pytest.mark.parametrize("text", ["1 N", "30 deg", "1 m^2", "1 furlong", "m", "", "1 m/", "nan m", "1e999999999 m"])
def test_quantities_that_do_not_fit_a_length(text):
    with pytest.raises(BadInput):
        quantity(text, "m")


@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_a_quantity_is_the_float_that_python_reads(digits, places):
    number = f"{digits / 10**places:.{places}f}"
    assert quantity(f"{number} mm", "m") == float(f"{number}e-3")


@given(st.floats(allow_nan=False))
def test_numbers_survive_the_text(value):
    import tomllib

    assert tomllib.loads(f"x = {value_text(value)}")["x"] == value


@given(st.text())
def test_texts_survive(text):
    import tomllib

    text = "".join(c for c in text if not 0xD800 <= ord(c) < 0xE000)
    assert tomllib.loads(f"x = {value_text(text)}")["x"] == text


def test_the_file_of_the_documentation_is_right(tmp_path):
    page = (ROOT / "docs/model-files.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    model = ev.load_model(written(tmp_path, text))
    assert model.inputs["tendon"](1.0) == 5.0
