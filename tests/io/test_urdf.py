"""Robots from URDF: places, inertia, friction and names as the file says, and help where it is wrong."""

import numpy as np
import pytest

import elver as ev
from elver.bodies import Box, Cylinder, Sphere
from elver.errors import BadInput
from elver.lie import so3

RNG = np.random.default_rng(11)
INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="revolute", inside=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


def robot(*elements):
    return f'<?xml version="1.0"?>\n<robot name="test">{"".join(elements)}</robot>'


def words(values):
    return " ".join(repr(float(value)) for value in values)


def placed(xyz, rpy):
    """Trans(xyz) Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = rpy
    g = np.eye(4)
    g[:3, :3] = so3.exp([0, 0, yaw]) @ so3.exp([0, pitch, 0]) @ so3.exp([roll, 0, 0])
    g[:3, 3] = xyz
    return g


# What it means ----------------------------------------------------------------------------------------------


def test_links_stand_where_origins_and_axes_put_them():
    xyz, rpy, axis = RNG.uniform(-1.0, 1.0, (3, 3, 3))
    kinds = ["revolute", "prismatic", "continuous"]
    text = robot(
        *(link(name) for name in ("foot", "thigh", "shin", "toe")),
        *(
            joint(
                f"j{k}",
                *ends,
                kinds[k],
                f'<origin xyz="{words(xyz[k])}" rpy="{words(rpy[k])}"/><axis xyz="{words(axis[k])}"/>',
            )
            for k, ends in enumerate([("foot", "thigh"), ("thigh", "shin"), ("shin", "toe")])
        ),
    )
    system = ev.read_urdf(text)
    assert system.coordinate_names == ("j0/angle", "j1/distance", "j2/angle")
    q = RNG.uniform(-1.0, 1.0, 3)
    units = axis / np.linalg.norm(axis, axis=1, keepdims=True)
    g = np.eye(4)
    for k, name in enumerate(["thigh", "shin", "toe"]):
        motion = np.eye(4)
        if kinds[k] == "prismatic":
            motion[:3, 3] = q[k] * units[k]
        else:
            motion[:3, :3] = so3.exp(q[k] * units[k])
        g = g @ placed(xyz[k], rpy[k]) @ motion
        body = system.mechanism.part(name)
        np.testing.assert_allclose(ev.poses(system, system.rest().with_(q=q), body), g, atol=1e-14)


def test_inertia_is_turned_into_the_axes_of_the_link():
    text = robot(
        link(
            "arm",
            '<inertial><origin xyz="0.1 0.2 0.3" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
            '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>',
        )
    )
    body = ev.read_urdf(text).mechanism.part("arm")
    assert (body.mass, body.centre) == (2.0, (0.1, 0.2, 0.3))
    # x of the inertia lies along y of the link, its y along -x
    wanted = [[2.0, -0.1, -0.3], [-0.1, 1.0, 0.2], [-0.3, 0.2, 2.5]]
    np.testing.assert_allclose(body.inertia, wanted, atol=1e-15)


def test_the_axis_is_x_unless_given():
    system = ev.read_urdf(robot(link("a"), link("b"), joint("j", "a", "b")))
    assert system.mechanism.joint("j").axis == "x"


def test_a_pendulum_swings_with_its_period():
    """A point of mass m at distance l: θ̈ = -g/l sin θ; and the friction of the file slows it."""
    inertia = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
    text = robot(
        link("stand", ""),
        link("bob", f'<inertial><origin xyz="0 0 -0.5"/><mass value="2"/>{inertia}</inertial>'),
        joint("pin", "stand", "bob", "continuous", '<axis xyz="0 1 0"/><dynamics damping="0.3" friction="0.2"/>'),
    )
    system = ev.read_urdf(text, loads=[ev.Gravity()])
    friction, gravity = system.loads
    assert (friction.viscous, friction.dry, friction.joint.name) == (0.3, 0.2, "pin")
    assert isinstance(gravity, ev.Gravity)
    moved = ev.forward_dynamics(system, system.rest().with_(q=np.array([0.3]), q_dot=np.array([1.5])))
    wanted = -9.81 / 0.5 * np.sin(0.3) - (0.3 * 1.5 + 0.2) / (2.0 * 0.5**2)
    assert moved.q_ddot[0] == pytest.approx(wanted, rel=1e-12)


def test_limits_do_not_hold_anything():
    limit = '<limit lower="-0.1" upper="0.1" effort="1" velocity="1"/>'
    system = ev.read_urdf(robot(link("a"), link("b"), joint("j", "a", "b", inside=limit)))
    assert system.loads == ()


# Bases ------------------------------------------------------------------------------------------------------


def test_root_is_clamped_or_floats():
    text = robot(link("trunk"), link("leg"), joint("hip", "trunk", "leg"))
    clamped, free = ev.read_urdf(text), ev.read_urdf(text, floating=True)
    assert (clamped.free, free.free) == (False, True)
    assert clamped.mechanism.joint("root_joint").kind == "fixed"
    assert free.mechanism.tree.root.part is free.mechanism.part("trunk")
    assert clamped.coordinate_names == free.coordinate_names == ("hip/angle",)


def test_a_root_called_world_is_the_world():
    place = '<origin xyz="1 2 3"/>'
    text = robot(link("world", ""), link("drone"), joint("tie", "world", "drone", "floating", place))
    system = ev.read_urdf(text)
    assert [part.name for part in system.mechanism.parts] == ["drone"]
    assert system.free
    assert system.rest().g[:3, 3].tolist() == [1.0, 2.0, 3.0]
    fixed = ev.read_urdf(robot(link("world", ""), link("arm"), joint("tie", "world", "arm", "revolute", place)))
    assert fixed.coordinate_names == ("tie/angle",)


def test_one_link_may_stand_alone_and_a_base_is_renamed():
    assert ev.read_urdf(robot(link("base"))).mechanism.part("base_link").mass == 2.0
    assert ev.read_urdf(robot(link("stone")), floating=True).free


def test_other_joints_have_their_coordinates():
    text = robot(
        link("table"), link("puck"), link("fly"), joint("slide", "table", "puck", "planar", '<axis xyz="0 0 1"/>'),
        joint("air", "puck", "fly", "floating"),
    )  # fmt: skip
    names = ev.read_urdf(text).coordinate_names
    assert names[:3] == ("slide/x", "slide/y", "slide/angle")
    assert len(names) == 9


def test_a_file_is_read_as_its_text_is(tmp_path):
    text = robot(link("trunk"), link("leg"), joint("hip", "trunk", "leg"))
    path = tmp_path / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    for source in (path, str(path), text):
        assert ev.read_urdf(source).coordinate_names == ("hip/angle",)


def test_a_name_for_the_root_joint_is_found():
    text = robot(link("trunk"), link("leg"), joint("root_joint", "trunk", "leg"))
    assert [j.name for j in ev.read_urdf(text).mechanism.joints] == ["_root_joint", "root_joint"]


# Links without mass -----------------------------------------------------------------------------------------


def test_links_without_inertial_may_be_fixed_or_lie_between():
    text = robot(
        link("foot", ""), link("gimbal", ""), link("head"), link("camera", ""),
        joint("pan", "foot", "gimbal", inside='<axis xyz="0 0 1"/>'), joint("tilt", "gimbal", "head"),
        joint("mount", "head", "camera", "fixed"),
    )  # fmt: skip
    system = ev.read_urdf(text)
    assert np.linalg.eigvalsh(ev.mass_matrix(system, system.rest())).min() > 0.0


# Pictures ---------------------------------------------------------------------------------------------------

MIDDLE = INERTIAL.replace("<mass", '<origin xyz="0 0 0.2"/><mass')


@pytest.mark.parametrize(
    ("visual", "shape"),
    [
        ('<origin xyz="0 0 0.2"/><geometry><box size="1 2 3"/></geometry>', Box((1.0, 2.0, 3.0))),
        ('<origin xyz="0 0 0.2" rpy="0 1.57 0"/><geometry><box size="1 2 3"/></geometry>', Box((3.0, 2.0, 1.0))),
        ('<origin xyz="0 0 0.2" rpy="0 0.7 0"/><geometry><box size="1 2 3"/></geometry>', None),
        ('<origin xyz="0 0 0.2"/><geometry><cylinder radius="1" length="2"/></geometry>', Cylinder(1.0, 2.0, "z")),
        (
            '<origin xyz="0 0 0.2" rpy="-1.5708 0 0.0"/><geometry><cylinder radius="1" length="2"/></geometry>',
            Cylinder(1.0, 2.0, "y"),
        ),
        (
            '<origin xyz="0 0 0.2" rpy="0 0 0.6"/><geometry><cylinder radius="1" length="2"/></geometry>',
            Cylinder(1.0, 2.0, "z"),
        ),
        ('<origin xyz="0 0 0.2" rpy="1 2 3"/><geometry><sphere radius="0.1"/></geometry>', Sphere(0.1)),
        ('<origin xyz="0 0 0.1"/><geometry><sphere radius="0.1"/></geometry>', None),
        ('<geometry><mesh filename="arm.stl"/></geometry>', None),
    ],
)
def test_simple_pictures_are_kept(visual, shape):
    text = robot(link("arm", f"{MIDDLE}<visual>{visual}</visual>"))
    assert ev.read_urdf(text).mechanism.part("arm").shape == shape


# Refusals ---------------------------------------------------------------------------------------------------

A, B, C = link("a"), link("b"), link("c")
INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", r"URDF text is not XML \(.*\); give a URDF file, with <robot> at its root"),
        ("<robot><xacro:macro/></robot>", r"URDF text is not XML \(unbound prefix.*\); expand it with xacro first"),
        (
            '<robot xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property/></robot>',
            r"URDF text holds xacro macros; expand it with xacro first",
        ),
        ("<sdf/>", r"URDF text: its root element is <sdf>; URDF begins with <robot>"),
        ("<robot/>", r"the robot has no link; give at least one <link name=...>"),
        (robot("<link/>"), r"a <link> has no name; give name="),
        (robot(A, A), r"two links are named 'a'; give each its own name"),
        (robot(A, B, C, joint("j", "a", "b"), joint("j", "a", "c")), r"two joints are named 'j'"),
        (
            robot(A, B, joint("j", "a", "b", "screw")),
            r"URDF text: joint 'j': type = 'screw' is not known; choose one of fixed, revolute, continuous, prismatic",
        ),
        (robot(A, B, '<joint name="j"/>'), r"joint 'j' has no type; choose one of fixed"),
        (robot(A, B, '<joint name="j" type="fixed"><child link="b"/></joint>'), r"joint 'j' has no <parent>; give <"),
        (robot(A, B, '<joint name="j" type="fixed"><parent link="a"/></joint>'), r"joint 'j' has no <child>; give <"),
        (robot(A, B, joint("j", "a", "")), r"joint 'j': <child> has no link; give the name of a link"),
        (robot(A, B, joint("j", "a", "d")), r"joint 'j': its child 'd' is no link of the robot; it has 'a', 'b'"),
        (robot(A, B, joint("j", "d", "b")), r"joint 'j': its parent 'd' is no link of the robot"),
        (robot(A, joint("j", "a", "a")), r"joint 'j' joins link 'a' to itself; give two links"),
        (
            robot(A, B, C, joint("j", "a", "c"), joint("k", "b", "c")),
            r"link 'c' has 2 parents, by the joints 'j' and 'k'; URDF is a tree: keep one, and close the loop with a",
        ),
        (robot(A, B, C, joint("j", "a", "b")), r"2 links are no child of any joint \('a', 'c'\); join all but one"),
        (
            robot(A, B, C, joint("j", "b", "c"), joint("k", "c", "b")),
            r"the links 'b', 'c' hang from each other in a loop; one link must be the root of all",
        ),
        (robot(A, B, joint("j", "a", "b"), joint("k", "b", "a")), r"the links 'a', 'b' hang from each other in a loop"),
        (
            robot(A, B, joint("j", "a", "b", inside='<mimic joint="k"/>')),
            r"joint 'j': <mimic> ties it to another joint, which is not supported; remove it",
        ),
        (
            robot(A, link("b", ""), joint("j", "a", "b")),
            r"link 'b' moves by the revolute joint 'j' but has no mass, nor has what hangs on it; give it <inertial>",
        ),
        (
            robot(A, link("b", ""), link("c", ""), joint("j", "a", "b"), joint("k", "b", "c", "fixed")),
            r"link 'b' moves by the revolute joint 'j' but has no mass",
        ),
        (
            robot(link("a", f'<inertial><mass value="-2"/>{INERTIA}</inertial>')),
            r"link 'a': <inertial>: <mass>: value = -2 kg must not be negative; give the mass of the link",
        ),
        (robot(link("a", f"<inertial>{INERTIA}</inertial>")), r"link 'a': <inertial> has no <mass>; give both"),
        (robot(link("a", '<inertial><mass value="1"/></inertial>')), r"link 'a': <inertial> has no <inertia>"),
        (robot(link("a", f"<inertial><mass/>{INERTIA}</inertial>")), r"<mass>: value is missing; give a number in kg"),
        (
            robot(link("a", f'<inertial><mass value="heavy"/>{INERTIA}</inertial>')),
            r"link 'a': <inertial>: <mass>: value = 'heavy' is not numeric; give a number in kg",
        ),
        (
            robot(link("a", INERTIAL.replace('ixy="0" ', ""))),
            r"link 'a': <inertial>: <inertia>: ixy is missing; give a number in kg m²",
        ),
        (
            robot(link("a", INERTIAL.replace('ixx="1"', 'ixx="3"'))),
            r"link 'a': inertia of 'a': principal values 1, 1, 3 kg m² belong to no body",
        ),
        (
            robot(A, B, joint("j", "a", "b", inside='<origin xyz="0 0"/>')),
            r"joint 'j': <origin>: xyz = '0 0': give 3 numbers in m, finite",
        ),
        (robot(A, B, joint("j", "a", "b", inside='<origin rpy="0 nan 0"/>')), r"rpy = '0 nan 0': give 3 numbers"),
        (
            robot(A, B, joint("j", "a", "b", inside='<origin rpy="0 90 0"/>')),
            r"<origin>: rpy holds 90 rad, more than two turns: angles are in rad, not degrees",
        ),
        (robot(A, B, joint("j", "a", "b", inside='<axis xyz="0 0 0"/>')), r"joint 'j': .*axis = \(0, 0, 0\) has no"),
        (
            robot(A, B, joint("j", "a", "b", inside='<dynamics damping="-1"/>')),
            r"joint 'j': <dynamics>: friction .* viscous = -1 N m s/rad: must not be negative",
        ),
        (
            robot(A, B, joint("j", "a", "b", "planar", '<dynamics damping="1"/>')),
            r"joint 'j': <dynamics> of a planar joint, which has 3 coordinates: remove it, and add JointFriction",
        ),
        (robot(link("a/b")), r"link 'a/b': body name = 'a/b': give a non-empty text without"),
        (robot(link("world")), r"link 'world': body name = 'world': .* other than \"world\""),
        (robot(link("world", "")), r"there is only the link \"world\", and nothing that moves; give links and joints"),
        (robot(link("base"), link("base_link"), joint("j", "base", "base_link")), r"'base_link' is taken; rename it"),
        (
            robot(link("a", f"{INERTIAL}<visual><geometry><sphere radius='-1'/></geometry></visual>")),
            r"link 'a': <visual>: <geometry>: <sphere>: radius of the sphere = -1 m: must be greater than zero",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(text, message):
    with pytest.raises(BadInput, match=message):
        ev.read_urdf(text)


def test_what_cannot_float():
    with pytest.raises(BadInput, match=r"floating=True, but its root link is \"world\", which stays; join its robot"):
        ev.read_urdf(robot(link("world", ""), B, joint("j", "world", "b")), floating=True)
    with pytest.raises(BadInput, match=r"floating=True, but no link has mass; give link 'a' <inertial>"):
        ev.read_urdf(robot(link("a", "")), floating=True)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"arm.urdf': there is no such file; give the path of a URDF file, or its text"):
        ev.read_urdf(tmp_path / "arm.urdf")
    with pytest.raises(BadInput, match=r"is a folder; give the path of a URDF file"):
        ev.read_urdf(str(tmp_path))
    with pytest.raises(BadInput, match=r"source is a int: give the path of a URDF file, or its text"):
        ev.read_urdf(3)
    broken = tmp_path / "broken.urdf"
    broken.write_text(robot(A, B))
    with pytest.raises(BadInput, match=r"broken.urdf: 2 links are no child of any joint"):
        ev.read_urdf(broken)
