"""The tree: every part hangs on one path, the rest is cut, whatever the order of the list."""

import itertools

import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.lie import se3, so3
from elver.mechanism import (
    Clamped,
    Driven,
    Fixed,
    Floating,
    Frame,
    Free,
    Mechanism,
    Motion,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from elver.rods import Circle, Legendre, Material, Rod

RUBBER = Material(1e6, 1070.0, poisson=0.45)


def rod(name, rest=None):
    return Rod(0.4, Circle(8e-3), RUBBER, Legendre.kirchhoff(3), rest, name=name)


def body(name, mass=1.0):
    return RigidBody.sphere(0.05, mass=mass, name=name)


LEFT, RIGHT = rod("left"), rod("right")
PLATFORM, DRONE = body("platform"), body("drone")


def two_rod_loop(**cut):
    """Two rods from motors in the world to one platform."""
    return (
        Revolute("world", (LEFT, "base"), name="motor-left"),
        Revolute(("world", (0.3, 0, 0)), (RIGHT, "base"), name="motor-right"),
        Fixed((LEFT, "tip"), PLATFORM, name="weld"),
        Revolute(PLATFORM, (RIGHT, "tip"), name="hinge", **cut),
    )


def names(values):
    return [value.name for value in values]


def carried(mechanism):
    return names(branch.joint for branch in mechanism.tree.branches)


# Trees -----------------------------------------------------------------------------------------------------


def test_a_clamped_rod_is_a_tree_of_one():
    tree = Mechanism.clamped(LEFT).tree
    (branch,) = tree.branches
    assert tree.root.part == "world"
    assert isinstance(branch.joint, Fixed)
    assert (branch.parent.label, branch.child.label, branch.reverse) == ("world", "left at base", False)
    assert not tree.cuts
    assert tree.parts == (LEFT,)


def test_a_free_rod_is_its_own_root():
    tree = Mechanism.free(LEFT).tree
    assert tree.root.label == "left at base"
    assert tree.floating
    assert (tree.branches, tree.cuts, tree.parts) == ((), (), (LEFT,))


def test_a_loop_is_cut_once_and_at_the_most_freedom():
    mechanism = Mechanism(two_rod_loop())
    assert names(mechanism.tree.cuts) == ["hinge"]
    assert carried(mechanism) == ["motor-left", "weld", "motor-right"]
    assert names(mechanism.parts) == ["left", "platform", "right"]
    ball = (*two_rod_loop()[:3], Spherical((RIGHT, "tip"), PLATFORM, name="ball"))
    for order in itertools.permutations(ball):
        assert names(Mechanism(order).tree.cuts) == ["ball"]


def test_parents_come_first_and_each_limb_in_one_block():
    for order in itertools.permutations(two_rod_loop()):
        mechanism = Mechanism(order)
        hung = {"world"}
        for branch in mechanism.tree.branches:
            assert branch.parent.part in hung
            assert (branch.parent, branch.child) == (
                (branch.joint.b, branch.joint.a) if branch.reverse else (branch.joint.a, branch.joint.b)
            )
            hung.add(branch.child.part)
        assert hung == {"world", LEFT, RIGHT, PLATFORM}
        assert len(mechanism.tree.branches) + len(mechanism.tree.cuts) == 4


def test_coordinates_are_numbered_joint_then_rod():
    tree = Mechanism(two_rod_loop()).tree
    owners = [(owner.name, own.start, own.stop) for owner, own in tree.coordinates]
    assert owners == [
        ("motor-left", 0, 1),
        ("left", 1, 10),
        ("weld", 10, 10),
        ("motor-right", 10, 11),
        ("right", 11, 20),
    ]
    assert (tree.n, tree.rows) == (20, 5)


def test_a_joint_may_be_written_from_child_to_parent():
    (branch,) = Mechanism(Revolute((LEFT, "tip"), "world")).tree.branches
    assert branch.reverse
    assert (branch.parent.label, branch.child.label) == ("world", "left at tip")


def test_a_cut_is_made_where_it_is_asked_for():
    joints = list(two_rod_loop())
    joints[0] = Revolute("world", (LEFT, "base"), name="motor-left", cut=True)
    mechanism = Mechanism(joints)
    assert names(mechanism.tree.cuts) == ["motor-left"]
    assert names(mechanism.parts) == ["right", "platform", "left"]
    assert mechanism.tree.branches[-1].child.label == "left at tip"


def test_equal_freedoms_are_cut_far_from_the_root():
    """A ring of four bodies on revolutes: the cut is opposite the ground."""
    parts = [body(f"b{k}") for k in range(3)]
    around = ["world", *parts, ("world", (1, 0, 0))]
    joints = [Revolute(a, b, name=f"j{k}") for k, (a, b) in enumerate(itertools.pairwise(around))]
    assert names(Mechanism(joints).tree.cuts) == ["j2"]
    assert names(Mechanism(joints[::-1]).tree.cuts) == ["j1"]


def test_a_ring_closes_on_itself():
    ring = Mechanism([Fixed("world", (LEFT, "base")), Fixed((LEFT, "base"), (LEFT, "tip"), name="seam")])
    assert names(ring.tree.cuts) == ["seam"]


def test_a_floating_joint_in_a_loop_closes_nothing():
    loose = Mechanism([*two_rod_loop(), Floating((LEFT, 0.2), (RIGHT, 0.2), name="gauge")])
    assert names(loose.tree.cuts) == ["hinge"]


# Floating bases --------------------------------------------------------------------------------------------


def test_a_single_floating_tie_makes_a_floating_base():
    start = (0.1, 0.2, 0.3, 0.4, -0.5, 0.6)
    offset, clamp = se3.exp([0.3, 0, 0, 0, 0, 1]), se3.exp([0, 0.2, 0, 1, 0, 0])
    floating = Floating("world", (DRONE, offset), start=start)
    mechanism = Mechanism([Fixed(DRONE, (LEFT, "base")), floating], Clamped(clamp))
    placed = se3.pose(so3.exp(start[3:]), start[:3])
    assert isinstance(mechanism.base, Free)
    assert mechanism.base.g == pytest.approx(clamp @ placed @ se3.inverse(offset))
    assert mechanism.tree.root.part is DRONE
    assert names(mechanism.parts) == ["drone", "left"]
    assert (mechanism.tree.n, mechanism.tree.cuts) == (9, ())


def test_a_floating_tie_may_be_written_from_the_part_to_the_world():
    start = (0.1, 0.2, 0.3, 0.4, -0.5, 0.6)
    there = Mechanism([Floating("world", DRONE, start=start)]).base.g
    back = Mechanism([Floating(DRONE, "world", start=start)]).base.g
    assert there @ back == pytest.approx(np.eye(4))


def test_building_again_from_the_fields_changes_nothing():
    joints = [Floating("world", DRONE, start=(1, 2, 3, 0, 0, 0)), Floating(("world", (1, 0, 0)), PLATFORM)]
    once = Mechanism(joints, Clamped(se3.exp([0, 0, 0.5, 1, 1, 0])))
    again = Mechanism(once.joints, once.base, once.holds, once.root)
    assert again.base == once.base
    assert names(again.joints) == names(once.joints)
    for a, b in zip(once.joints, again.joints):
        assert np.array_equal(a.a.g, b.a.g)


def test_several_floating_components_have_ordinary_joints():
    mechanism = Mechanism([Floating("world", DRONE, name="first"), Floating("world", PLATFORM, name="second")])
    assert mechanism.tree.root.part == "world"
    assert carried(mechanism) == ["first", "second"]
    assert mechanism.tree.n == 12


def test_a_root_that_leaves_something_in_the_world_is_refused():
    joints = [Floating("world", DRONE), Fixed("world", (LEFT, "base"))]
    with pytest.raises(BadInput, match="root = drone floats, but left at base hangs from the world"):
        Mechanism(joints, root=DRONE)


def test_beside_a_grounded_part_floating_is_an_ordinary_joint():
    mechanism = Mechanism([Floating("world", DRONE), Fixed("world", (LEFT, "base"))])
    assert mechanism.base == Clamped()
    assert mechanism.tree.root.part == "world"
    assert mechanism.tree.n == 6 + LEFT.n


def test_floating_in_a_moving_world_or_on_request_is_an_ordinary_joint():
    driven = Mechanism([Floating("world", DRONE)], Driven(Motion(lambda t: np.eye(4))))
    assert driven.tree.n == Mechanism([Floating("world", DRONE)], root="world").tree.n == 6
    assert isinstance(driven.base, Driven)


def test_from_a_floating_root_ties_to_the_world_are_cut():
    mechanism = Mechanism(two_rod_loop(), root=PLATFORM)
    assert names(mechanism.tree.cuts) == ["motor-left", "motor-right"]
    assert carried(mechanism) == ["weld", "hinge"]
    # left: straight from the world along x.
    assert mechanism.base.g == pytest.approx(se3.pose(np.eye(3), [0.4, 0, 0]))


def test_the_root_starts_where_joints_and_rods_at_rest_put_it():
    bent = rod("bent", rest=(0.0, 0.0, 2.0))
    clamp, hub = se3.exp([0, 0.4, 0, 0, 0, 1.0]), body("hub")
    joints = [Revolute("world", (bent, "tip"), start=0.5), Prismatic((bent, 0.1), hub, axis="x", start=0.2)]
    mechanism = Mechanism(joints, Clamped(clamp), root=hub)
    turn, shift = se3.exp([0, 0, 0.5, 0, 0, 0]), se3.pose(np.eye(3), [0.2, 0, 0])
    back = se3.exp(-0.3 * np.array([0, 0, 2.0, 1, 0, 0]))
    assert mechanism.base.g == pytest.approx(clamp @ turn @ back @ shift)
    # The clamp is no more: the tie to the world stands where it stood.
    assert mechanism.tree.cuts[0].a.g == pytest.approx(clamp)


def test_a_rod_may_be_the_root_at_any_section():
    joints = [Fixed("world", (LEFT, "base")), Fixed((LEFT, "tip"), (RIGHT, "base"))]
    mechanism = Mechanism(joints, root=(RIGHT, "tip"))
    assert mechanism.tree.root.label == "right at tip"
    assert mechanism.base.g == pytest.approx(se3.pose(np.eye(3), [0.8, 0, 0]))
    assert Mechanism(joints, root=RIGHT).tree.root.label == "right at base"
    pose = se3.exp([0.1, 0.2, 0.3, 1, 2, 3])
    assert Mechanism(joints, Free(pose), root=RIGHT).base == Free(pose)


def test_a_root_need_not_be_tied_to_the_world():
    assert Mechanism([Universal(DRONE, PLATFORM)], root=DRONE).base == Free()


# Errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Mechanism([Fixed("world", (rod("rod"), "base")), Fixed("world", (rod("rod"), "base"))]),
            r"two parts are named 'rod': give each its own, such as Rod\(..., name='left'\)",
        ),
        (
            lambda: Mechanism([Fixed("world", (LEFT, "base")), Fixed((LEFT, "tip"), body("left"))]),
            r"two parts are named 'left': give each its own, such as RigidBody\(",
        ),
        (lambda: Mechanism([Fixed("world", (rod("world"), "base"))]), r"a part is named 'world', which has a meaning"),
        (
            lambda: Mechanism([Fixed("world", (LEFT, s), name="pin") for s in ("base", "tip")]),
            r"two joints are named 'pin': give each its own name=",
        ),
        (lambda: Mechanism([two_rod_loop()[0]] * 2), r"revolute 'motor-left' is listed twice: list each joint once"),
        (
            lambda: Mechanism([Fixed("world", (LEFT, "base")), Fixed(DRONE, PLATFORM)]),
            r"'drone' is connected to nothing that reaches the world: add a joint, or Floating\(\"world\", ...\)",
        ),
        (lambda: Mechanism(two_rod_loop(), root=DRONE), r"root = drone is connected to nothing: no joint names it"),
        (lambda: Mechanism(two_rod_loop(), root="hub"), r"there is no frame 'hub'"),
        (
            lambda: Mechanism(two_rod_loop(), root=Frame(PLATFORM, pose=(1, 0, 0))),
            r"root = platform: an offset has no meaning here",
        ),
        (
            lambda: Mechanism(two_rod_loop(), Driven(Motion(lambda t: np.eye(4))), root=PLATFORM),
            r"root = platform floats, and base = Driven\(...\): choose one of the two",
        ),
        (
            lambda: Mechanism([Revolute("world", (LEFT, "base"), cut=True)]),
            r"revolute 'revolute-1' cannot be cut: left at base would hang on nothing; set cut=True in a loop",
        ),
        (
            lambda: Mechanism([*two_rod_loop(cut=True)[:2], *two_rod_loop(cut=True)[3:]]),
            r"revolute 'hinge' cannot be cut: platform would hang on nothing",
        ),
        (lambda: Mechanism(two_rod_loop(), Free()), r"base = Free\(...\): nothing floats; add Floating"),
        (lambda: Mechanism(), r"a mechanism without joints: give at least one"),
        (lambda: Mechanism(LEFT), r"joints is the Rod .*: give a list .*, or use Mechanism.clamped\(rod\)"),
        (lambda: Mechanism([LEFT]), r"(?s)joints contains the Rod '.*': give Fixed\(a, b\), Revolute"),
        (lambda: Mechanism([Revolute]), r"joints contains the class .*: give Fixed\(a, b\), Revolute"),
        (
            lambda: Mechanism.free(RigidBody.massless("ghost")),
            r"'ghost' floats without mass and with nothing attached: give mass > 0 kg, or join a part",
        ),
        (
            lambda: Mechanism([Fixed("world", (LEFT, "base")), Floating("world", RigidBody.massless("ghost"))]),
            r"'ghost' floats without mass",
        ),
        (lambda: Mechanism(two_rod_loop()).rod, r"this mechanism has 2 rods \('left', 'right'\): say which part"),
        (lambda: Mechanism.free(DRONE).rod, r"this mechanism has 0 rods: say which part you mean"),
        (
            lambda: Mechanism(two_rod_loop()).part("top"),
            r"no part is named 'top': this mechanism has 'left', 'platform', 'right'",
        ),
        (lambda: Mechanism(two_rod_loop()).joint("knee"), r"'knee' is no joint of this mechanism: it has 'motor"),
        (lambda: Mechanism(two_rod_loop()).joint(Planar("world", DRONE)), r"planar \(world to drone\) is no joint of"),
    ],
)
def test_bad_mechanisms_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()


def test_a_massless_body_may_float_between_others():
    ghost = RigidBody.massless("ghost")
    assert Mechanism([Floating("world", ghost), Fixed(ghost, (LEFT, "base"))]).tree.root.part is ghost


# Names and lookups -----------------------------------------------------------------------------------------


def test_joints_without_a_name_are_called_after_their_kind():
    hinge, ball = Revolute("world", (LEFT, "base")), Spherical((LEFT, "tip"), PLATFORM)
    second = Revolute(PLATFORM, DRONE)
    mechanism = Mechanism([hinge, ball, second])
    assert names(mechanism.joints) == ["revolute-1", "spherical-1", "revolute-2"]
    assert mechanism.joint("revolute-2") is mechanism.joints[2]
    assert mechanism.joint(second) is mechanism.joints[2]
    assert mechanism.joint(mechanism.joints[0]) is mechanism.joints[0]


def test_a_joint_moved_with_the_world_is_found_again():
    tie = Spherical("world", PLATFORM)
    mechanism = Mechanism([tie], Clamped(se3.exp([0, 0, 0, 1, 0, 0])), root=PLATFORM)
    assert mechanism.joint(tie) is mechanism.joints[0]


def test_two_joints_alike_need_names():
    tie = [Spherical(("world", (x, 0, 0)), PLATFORM) for x in (0, 1)]
    with pytest.raises(BadInput, match=r"spherical \(world to platform\) is ambiguous, give it a name="):
        Mechanism(tie).joint(tie[0])


def test_parts_are_found_by_name_and_kind():
    mechanism = Mechanism(two_rod_loop())
    assert mechanism.part("platform") is PLATFORM
    assert mechanism.rods == (LEFT, RIGHT)
    assert mechanism.bodies == (PLATFORM,)
    assert Mechanism.clamped(LEFT).rod is LEFT


def test_one_part_may_stand_in_for_another():
    stiffer = rod("left")
    exchanged = Mechanism(two_rod_loop(), root=LEFT).with_part(LEFT, stiffer)
    assert exchanged.rods == (stiffer, RIGHT)
    assert exchanged.tree.root.part is stiffer
    assert names(exchanged.tree.cuts) == ["motor-left", "motor-right"]


# Text ------------------------------------------------------------------------------------------------------


def test_explain_shows_tree_cuts_and_numbers():
    text = Mechanism(two_rod_loop()).explain()
    assert text.splitlines() == [
        "2 rods, 1 body, 4 joints (1 cut)",
        "base clamped at (0, 0, 0) m",
        "",
        "world",
        "├─ motor-left (revolute), axis z    q[0:1]     angle",
        "│  left at base                     q[1:10]    K_x[0], K_x[1], … K_z[2]",
        "│  └─ weld (fixed) at tip",
        "│     platform",
        "└─ motor-right (revolute), axis z   q[10:11]   angle",
        "   right at base                    q[11:20]   K_x[0], K_x[1], … K_z[2]",
        "",
        "closures",
        "   hinge (revolute), axis z   platform to right at tip   rows 0:5   "
        "moment_y, moment_x, force_x, force_y, force_z",
        "",
        "20 coordinates - 5 rows: at least 15 degrees of freedom",
    ]


def test_explain_of_a_floating_root():
    lines = Mechanism(two_rod_loop(), root=PLATFORM).explain().splitlines()
    assert lines[1] == "base free, starts at (0.4, 0, 0) m"
    assert lines[3] == "platform (floats)"
    assert lines[-1] == "19 coordinates + 6 of the base - 10 rows: at least 15 degrees of freedom"


def test_freedom_does_not_depend_on_the_cut():
    mechanisms = [Mechanism(order) for order in itertools.permutations(two_rod_loop())]
    mechanisms.append(Mechanism(two_rod_loop(), root=PLATFORM))
    assert {m.explain().partition("rows: ")[2] for m in mechanisms} == {"at least 15 degrees of freedom"}
