"""Mechanisms and holds."""


import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.io.model import dumps, loads
from elver.mechanism import Clamped, Driven, Fixed, Free, Hold, Mechanism, Motion
from elver.rods import Circle, Legendre, Material, Rod

ROD = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.kirchhoff(3))
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_three_kinds_of_base():
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = TURN, (1, 2, 3)
    assert Mechanism.clamped(ROD, pose).base == Clamped(pose)
    assert Mechanism.free(ROD).base == Free()
    motion = Motion(lambda t: np.eye(4))
    driven = Mechanism.driven(ROD, motion)
    assert isinstance(driven.base, Driven)
    assert driven.base.motion is motion
    assert Mechanism(Fixed("world", (ROD, "base"))).base == Clamped()


def test_a_hold_counts_its_rows():
    pin = Hold(position=(0.1, None, 0.2))
    assert (pin.position_axes, pin.rotation_axes, pin.rows) == ((0, 2), (), 2)
    assert pin.p.tolist() == [0.1, 0.0, 0.2]
    clamp = Hold(at=0.3, position=(0, 0, 0), orientation=TURN)
    assert clamp.rows == 6
    assert np.array_equal(clamp.R, TURN)
    assert Hold(orientation=np.eye(3), orientation_axes="zy").rotation_axes == (1, 2)
    assert (clamp.s(0.4), pin.s(0.4), Hold(at="base", position=(0, 0, 0)).s(0.4)) == (0.3, 0.4, 0.0)


def test_holds_are_kept_in_order_and_one_may_stand_alone():
    tip, middle = Hold(position=(0, 0, 0)), Hold(at=0.2, position=(0, 0, 0))
    assert Mechanism.clamped(ROD, holds=[tip, middle]).holds == (tip, middle)
    assert Mechanism.clamped(ROD, holds=tip).holds == (tip,)
    assert Mechanism.free(ROD, holds=[Hold(at="base", position=(0, 0, 0))]).holds[0].rows == 3


BODY = RigidBody.sphere(0.1, mass=1.0, name="platform")
OTHER = Rod(0.3, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.kirchhoff(3), name="other")
PAIR = (Fixed("world", (ROD, "base")), Fixed((ROD, "tip"), (OTHER, "base")), Fixed((OTHER, "tip"), BODY))


def test_holds_name_their_part():
    on_body, on_rod = Hold(part=BODY, position=(0, 0, 0)), Hold(0.1, (0, 0, 0), part=OTHER)
    mechanism = Mechanism(PAIR, holds=[on_body, on_rod])
    assert mechanism.held(on_body).label == "platform"
    assert mechanism.held(on_rod).label == "other at s = 0.1 m"
    assert (on_body.label, on_rod.label) == ("hold on 'platform'", "hold on 'other' at s = 0.1 m")
    alone = Hold(position=(0, 0, 0))
    assert Mechanism.clamped(ROD, holds=alone).held(alone).s == ROD.length
    assert Mechanism.free(BODY, holds=on_body).held(on_body).part is BODY


def test_another_rod_in_the_place_of_the_only_one():
    mechanism = Mechanism.clamped(ROD, holds=Hold("tip", (0, 0, 0), part=ROD))
    changed = mechanism.with_part(ROD, OTHER)
    assert changed.rod is OTHER
    assert changed.holds[0].part is OTHER


def test_a_mechanism_comes_back_from_its_text():
    pin = Hold(part=BODY, position=(0, None, 0))
    mechanism = Mechanism(PAIR, Clamped(np.diag([1.0, -1, -1, 1])), holds=pin, root=BODY)
    again = loads(dumps(mechanism))
    assert again.explain() == mechanism.explain()
    assert again.base == mechanism.base
    assert again.holds[0].part is again.part("platform") is again.tree.root.part


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Mechanism(PAIR, holds=Hold(position=(0, 0, 0))),
            r"hold at the tip: this mechanism has 2 rods \('rod', 'other'\); say which part with part=",
        ),
        (
            lambda: Mechanism.clamped(ROD, holds=Hold(part=BODY, position=(0, 0, 0))),
            r"hold on 'platform': 'platform' is connected to nothing: no joint of this mechanism names it",
        ),
        (
            lambda: Mechanism.clamped(BODY, holds=Hold(part=BODY, position=(0, 0, 0))),
            r"hold on 'platform': this base is already prescribed",
        ),
        (lambda: Hold(part="tip", position=(0, 0, 0)), r"hold: part = 'tip'; give a Rod or a RigidBody"),
        (lambda: Hold(), r"hold at the tip holds nothing: give position \(m\)"),
        (lambda: Hold(position=(None,) * 3, name="pin"), r"hold 'pin' holds nothing"),
        (lambda: Hold(position=(1.0, 2.0)), r"position has 2 components; give \(x, y, z\) in m, None = free"),
        (lambda: Hold(position=(1.0, np.nan, 0)), r"hold at the tip: position contains nan \(m\)"),
        (
            lambda: Hold(at="middle", position=(0, 0, 0)),
            r"at = 'middle'; say \"base\", \"tip\" or a number s in m",
        ),
        (lambda: Hold(at=-0.1, position=(0, 0, 0)), r"at = -0.1 m lies outside the rod"),
        (lambda: Hold(orientation=np.eye(3), orientation_axes="w"), r"orientation_axes = 'w'; choose among"),
        (lambda: Hold(orientation=np.eye(3), orientation_axes="xx"), r"orientation_axes = 'xx'"),
        (
            lambda: Hold(orientation=2 * np.eye(3)),
            r"orientation: R\^T R differs from the identity by 3.0e\+00",
        ),
        (
            lambda: Mechanism.clamped(ROD, holds=[Hold(at=0.5, position=(0, 0, 0))]),
            r"hold at s = 0.5 m: at = 0.5 m lies outside the rod; choose s within \[0, 0.4\] m",
        ),
        (
            lambda: Mechanism.clamped(ROD, holds=[Hold(at="base", position=(0, 0, 0))]),
            r"hold at the base \(s = 0 m\): this base is already prescribed; hold another section",
        ),
        (
            lambda: Mechanism.clamped(ROD, holds=[Hold(s, (0, 0, 0), name="pin") for s in (0.1, 0.2)]),
            r"two holds are named 'pin': give each its own name",
        ),
        (lambda: Mechanism.clamped(ROD, holds=["tip"]), r"holds contains 'tip': give Hold"),
        (lambda: Mechanism.clamped("arm"), r"rod = 'arm': give a Rod"),
        (
            lambda: Mechanism(Fixed("world", (ROD, "base")), "clamped"),
            r"base = 'clamped': give Clamped\(pose\), Free\(pose\) or Driven",
        ),
    ],
)
def test_bad_mechanisms_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
