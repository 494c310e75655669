"""Graphs of mechanisms: every part and joint is named, nothing overlaps, cuts are dashed."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch, PathPatch

from elver.bodies import RigidBody
from elver.errors import BadInput
from elver.mechanism import Fixed, Floating, Mechanism, Revolute, Spherical, Universal
from elver.rods import Circle, Legendre, Material, Rod
from elver.viz.graph import draw_graph


def rod(name):
    return Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.kirchhoff(3), name=name)


def body(name):
    return RigidBody.sphere(0.05, mass=1.0, name=name)


def two_rod_loop():
    left, right, platform = rod("left"), rod("right"), body("platform")
    return Mechanism(
        [
            Revolute("world", (left, "base"), name="motor"),
            Revolute(("world", (0.3, 0, 0)), (right, "base")),
            Fixed((left, "tip"), platform),
            Revolute(platform, (right, "tip"), name="hinge"),
        ]
    )


def six_limbs(root=None):
    top, joints = body("top"), []
    for k in range(6):
        limb, angle = rod(f"limb-{k}"), np.pi / 3 * k
        foot = np.array([np.cos(angle), np.sin(angle), 0.0])
        joints += [Universal(("world", 0.2 * foot), (limb, "base")), Spherical((limb, "tip"), (top, 0.1 * foot))]
    return Mechanism(joints, root=root and top)


def ring():
    hoop, one, two = rod("hoop"), body("one"), body("two")
    seam = Fixed((hoop, "tip"), (hoop, "base"))
    return Mechanism([Floating("world", one), Floating("world", two), Fixed(one, (hoop, 0.1)), seam])


MECHANISMS = {
    "loop": two_rod_loop,
    "six limbs": six_limbs,
    "floating platform": lambda: six_limbs(root=True),
    "ring": ring,
    "one rod": lambda: Mechanism.clamped(rod("arm")),
    "one body": lambda: Mechanism.free(body("stone")),
}


@pytest.fixture(params=MECHANISMS)
def drawn(request):
    mechanism = MECHANISMS[request.param]()
    figure = draw_graph(mechanism)
    figure.canvas.draw()
    yield mechanism, figure
    plt.close(figure)


def boxes(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]


def test_every_part_and_joint_is_named(drawn):
    mechanism, figure = drawn
    words = [line for text in figure.axes[0].texts for line in text.get_text().split("\n")]
    for name in (*(p.name for p in mechanism.parts), *(j.name for j in mechanism.joints)):
        assert words.count(name) == 1


def test_boxes_do_not_overlap_and_lie_in_the_picture(drawn):
    mechanism, figure = drawn
    extents = [patch.get_window_extent() for patch in boxes(figure)]
    assert len(extents) == len(mechanism.parts)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(extents, 2))
    for box in (*extents, *(text.get_window_extent() for text in figure.axes[0].texts)):
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1


def test_text_fits_its_box_and_names_of_joints_keep_apart(drawn):
    mechanism, figure = drawn
    texts = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
    extents = [patch.get_window_extent() for patch in boxes(figure)]
    for part in mechanism.parts:
        assert any(box.x0 <= texts[part.name].x0 and texts[part.name].x1 <= box.x1 for box in extents)
    names = [texts[text] for text in texts if any(text.split("\n")[0] == joint.name for joint in mechanism.joints)]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(names, 2))


def test_cuts_are_dashed(drawn):
    mechanism, figure = drawn
    lines = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    styles = [patch.get_linestyle() for patch in lines]
    assert len(lines) == len(mechanism.joints)
    assert sum(style in ("solid", "-") for style in styles) == len(mechanism.tree.branches)
    dashed = [style for style in styles if not isinstance(style, str)]
    assert len(dashed) == len(mechanism.tree.cuts)


def test_only_a_mechanism_can_be_drawn():
    with pytest.raises(BadInput, match=r"the Rod 'arm' cannot be drawn as a graph: give a Mechanism"):
        draw_graph(rod("arm"))
