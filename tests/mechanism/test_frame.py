"""Frames: what may be written for one, and what is refused."""

import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.mechanism import Frame, as_frame
from elver.rods import Circle, Legendre, Material, Rod

ROD = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.kirchhoff(3), name="arm")
BODY = RigidBody.sphere(0.1, mass=1.0, name="platform")
TURNED = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])


def shift(x, y, z):
    g = np.eye(4)
    g[:3, 3] = x, y, z
    return g


@pytest.mark.parametrize(
    ("value", "part", "label", "g"),
    [
        ("world", "world", "world", np.eye(4)),
        (("world", (1, 2, 3)), "world", "world", shift(1, 2, 3)),
        (("world", TURNED), "world", "world", TURNED),
        (BODY, BODY, "platform", np.eye(4)),
        ((BODY, [1, 2, 3]), BODY, "platform", shift(1, 2, 3)),
        ((ROD, "tip"), ROD, "arm at tip", np.eye(4)),
        ([ROD, 0.1], ROD, "arm at s = 0.1 m", np.eye(4)),
        (Frame(ROD, "base", TURNED), ROD, "arm at base", TURNED),
    ],
)
def test_what_may_be_written_for_a_frame(value, part, label, g):
    frame = as_frame(value)
    assert frame.part is part
    assert frame.label == label
    assert np.array_equal(frame.g, g)


def test_arc_length_of_a_section():
    assert [as_frame((ROD, at)).s for at in ("base", "tip", 0.1)] == [0.0, 0.4, 0.1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: as_frame("base"), r"there is no frame 'base': only \"world\" is given as text"),
        (lambda: as_frame(("arm", "tip")), r"there is no frame 'arm'"),
        (lambda: as_frame(ROD), r"frame on the rod 'arm': say which section, such as Frame\(rod, \"tip\"\)"),
        (lambda: as_frame((ROD, 0.5)), r"'arm': at = 0.5 m lies outside the rod; choose s within \[0, 0.4\] m"),
        (lambda: as_frame((ROD, "middle")), r"'arm': at = 'middle'; say \"base\", \"tip\" or a number s in m"),
        (lambda: as_frame(3), r"3 is no frame: give \"world\", a body, \(rod, \"tip\"\)"),
        (lambda: as_frame((ROD, "tip", 3)), r"is no frame"),
        (lambda: Frame(3), r"frame on 3: give a Rod, a RigidBody or \"world\""),
        (lambda: Frame(BODY, "tip"), r"frame on platform: at = 'tip' is for rods; give pose=\(x, y, z\) in m"),
        (lambda: as_frame((BODY, (1, 2))), r"pose on platform has shape \(2,\): expected \(4, 4\)"),
        (lambda: as_frame(("world", 2 * np.eye(4))), r"pose on world: the last row is \[0. 0. 0. 2.\]"),
        (lambda: as_frame(BODY).s, r"platform has no arc length: only rods have"),
    ],
)
def test_what_is_no_frame_is_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
