"""Rigid bodies in pictures: their surfaces are the shapes they stand for, and a run says what they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from PIL import Image

import elver as ev
from elver import io, viz
from elver.bodies import Box, Cylinder, EllipticCylinder, Sphere
from elver.errors import BadInput
from elver.lie import so3
from elver.viz.bodies import corners_of, placed, solid
from elver.viz.history import RodHistory, cast_of
from elver.viz.scene import Scene, surface_of

TIME = np.linspace(0.0, 2.0, 11)
SHAPES = [
    Box((0.3, 0.2, 0.1)),
    Cylinder(0.1, 0.02, "z"),
    Cylinder(0.03, 0.4, "y"),
    EllipticCylinder((0.03, 0.08), 0.3, "x"),
    EllipticCylinder((0.1, 0.04), 0.05, "y"),
    Sphere(0.1),
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def turning(name="hand", velocity=(0.1, 0.0, 0.0), **attributes) -> xr.Dataset:
    """A body that turns about a slanted axis while it moves on a line."""
    R = so3.exp(TIME[:, None] * np.array([0.3, 1.0, 0.5]))
    return xr.Dataset(
        {
            f"{name}/position": (("time", "xyz"), TIME[:, None] * np.array(velocity), {"units": "m", **attributes}),
            f"{name}/orientation": (("time", "quaternion"), so3.to_quaternion(R)),
        },
        {"time": TIME},
    )


def straight_rod(name, tip) -> xr.Dataset:
    """A rod from the origin to the moving point ``tip`` (T, 3)."""
    position = np.linspace(0.0, 1.0, 6)[:, None] * tip[:, None]
    return xr.Dataset({f"{name}/position": (("time", f"{name}_node", "xyz"), position)}, {"time": TIME})


def volume(surface) -> float:
    """∮ x · n dA / 3 over the quadrilaterals of a closed surface."""
    a, b, c, d = np.moveaxis(surface.corners, 1, 0)
    area = 0.5 * np.linalg.norm(np.cross(c - a, d - b), axis=1)
    return float(np.sum(np.sum(surface.corners.mean(axis=1) * surface.normals, axis=1) * area) / 3.0)


class TestSurfaces:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_volume_is_that_of_the_shape(self, shape):
        # polygons instead of circles and rounded edges take a little away
        assert volume(solid(shape, 0.01, colour="gold")) == pytest.approx(shape.volume, rel=0.03)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_surface_fills_its_bounds_exactly(self, shape):
        faces = solid(shape, 0.01, colour="gold").corners.reshape(-1, 3)
        spanned = corners_of(shape, np.eye(3)[None], np.zeros((1, 3)))[0]
        # a polygon of n sides is cos(π/n) as wide as its circle
        np.testing.assert_allclose(faces.max(axis=0), spanned.max(axis=0), rtol=0.01)
        np.testing.assert_allclose(faces.min(axis=0), spanned.min(axis=0), rtol=0.01)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_faces_are_no_longer_than_a_cell_wants(self, shape):
        corners = solid(shape, 0.02, colour="gold").corners
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        assert edges.max() < 0.021

    def test_placing_turns_and_moves(self):
        R, p = so3.exp(np.array([0.0, 0.0, np.pi / 2.0])), np.array([1.0, 2.0, 3.0])
        corners = placed(solid(Box((0.3, 0.2, 0.1)), 0.05, colour="gold"), R, p).corners.reshape(-1, 3)
        np.testing.assert_allclose(np.ptp(corners, axis=0), [0.2, 0.3, 0.1], rtol=1e-12)
        np.testing.assert_allclose(0.5 * (corners.max(axis=0) + corners.min(axis=0)), p, rtol=1e-12)


class TestCast:
    def test_shapes_come_from_the_attributes(self):
        run = xr.merge(
            [
                turning("a", shape="box", size=[0.3, 0.2, 0.1]),
                turning("b", shape="cylinder", radius=0.1, length=0.2, axis="y"),
                turning("c", shape="sphere", radius=0.1),
                turning("d", shape="point"),
                turning("e", shape="ellipticcylinder", half_axes=[0.1, 0.2], length=0.3, axis="z"),
                turning("base"),  # a place, not a body
            ]
        )
        shapes = {body.name: body.shape for body in cast_of(run).bodies}
        assert shapes == {
            "a": Box((0.3, 0.2, 0.1)),
            "b": Cylinder(0.1, 0.2, "y"),
            "c": Sphere(0.1),
            "d": None,
            "e": EllipticCylinder((0.1, 0.2), 0.3, "z"),
        }

    def test_shape_lies_around_the_mass_centre(self):
        (body,) = cast_of(turning(shape="sphere", radius=0.1, centre=[0.0, 0.0, 0.5])).bodies
        np.testing.assert_allclose(np.linalg.norm(body.position - TIME[:, None] * [0.1, 0.0, 0.0], axis=1), 0.5)

    def test_tips_on_a_body_or_on_each_other_have_no_way_of_their_own(self):
        hand = turning(shape="point")
        (body,) = cast_of(hand).bodies
        on_body = body.position + body.orientation @ np.array([0.0, 0.2, 0.0])
        free = np.stack([np.ones_like(TIME), TIME, TIME**2], axis=1)
        rods = [straight_rod(name, tip) for name, tip in [("on", on_body), ("one", free), ("two", free)]]
        assert list(cast_of(xr.merge([hand, *rods])).ways) == ["one", "hand"]

    def test_scene_holds_all_that_bodies_cover(self):
        cast = cast_of(turning(velocity=(0.0, 0.0, 0.0), shape="sphere", radius=0.25))
        scene = Scene.of(None, cast.rods, (20.0, -60.0), cast.bodies)
        np.testing.assert_allclose([scene.points.min(), scene.points.max()], [-0.25, 0.25])

    @pytest.mark.parametrize(
        ("attributes", "message"),
        [
            ({"shape": "cone"}, r"hand/position: shape = 'cone' is not known"),
            ({"shape": "sphere"}, "a sphere without attribute 'radius'"),
        ],
    )
    def test_unknown_shapes(self, attributes, message):
        with pytest.raises(BadInput, match=message):
            viz.shape_3d(turning(**attributes))


class TestPictures:
    def test_bodies_alone(self, tmp_path):
        run = turning(shape="box", size=[0.3, 0.2, 0.1])
        titles = {axes.get_title(loc="left") for axes in viz.show(run).axes}
        assert {"shape", "centre of hand"} <= titles
        film = Image.open(viz.animate(run, tmp_path / "hand.gif", fps=4.0))
        assert film.n_frames == 9

    def test_point_at_rest(self):
        assert viz.shape_3d(turning(velocity=(0.0, 0.0, 0.0), shape="point")).axes

    def test_several_parts_share_one_plot(self):
        free = np.stack([np.ones_like(TIME), TIME, TIME**2], axis=1)
        run = xr.merge([straight_rod("arm", free), turning(shape="point"), turning("foot", shape="point")])
        (axes,) = viz.tip_history(run).axes
        assert [line.get_label() for line in axes.lines] == ["arm", "hand", "foot"]
        np.testing.assert_allclose(axes.lines[1].get_ydata(), 0.1 * TIME)
        assert axes.get_ylabel() == "distance from start [m]"
        (axes,) = viz.tip_history(run, rod="hand").axes
        assert axes.get_title(loc="left") == "centre of hand"

    def test_many_parts_share_a_name(self):
        run = xr.merge([turning(f"link{k}", velocity=(0.1 * k, 0.0, 0.0), shape="point") for k in range(7)])
        (axes,) = viz.tip_history(run).axes
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["7 bodies"]
        assert len(axes.lines) == 7

    def test_faces_that_look_away_are_not_needed(self):
        figure = plt.figure(figsize=(3.0, 3.0))
        cast = cast_of(turning(shape="sphere", radius=0.1))
        scene = Scene.of(figure.add_subplot(projection="3d"), cast.rods, (20.0, -60.0), cast.bodies)
        scene.prepare()
        whole = solid(Sphere(0.1), 0.02, colour="gold")
        pictures = []
        for surface in (whole, scene.visible(whole)):
            artist = scene.add(surface)
            figure.canvas.draw()
            pictures.append(np.asarray(figure.canvas.buffer_rgba(), dtype=int)[..., :3])
            artist.remove()
        assert 0.3 < len(scene.visible(whole).corners) / len(whole.corners) < 0.55
        # what remains are blended pixels of the outline
        assert np.mean(np.abs(pictures[0] - pictures[1]).max(axis=2) > 40) < 2e-3


@pytest.mark.parametrize(
    ("base_angle", "base_travel", "has_flange", "has_ball"),
    [(0.0, 0.0, True, False), (0.5, 0.0, False, True), (0.0, 0.1, False, False)],
    ids=["clamped", "hinge", "slide"],
)
def test_base_is_drawn_as_it_is_held(base_angle, base_travel, has_flange, has_ball):
    s = np.linspace(0.0, 1.0, 5)
    position = np.zeros((2, 5, 3))
    position[..., 0] = s
    position[1] += [0.0, 0.0, base_travel]
    R = np.stack([np.eye(3), so3.exp(np.array([0.0, base_angle, 0.0]))])
    rod = RodHistory("arm", np.arange(2.0), s, position, np.repeat(R[:, None], 5, axis=1), np.full((5, 2), 0.01))
    bare = len(surface_of(rod, 0, 0.001, base=False).corners)
    held = surface_of(rod, 0, 0.001).corners[:-bare].reshape(-1, 3)
    assert (len(held) > 0) == (has_flange or has_ball)
    if has_flange:
        assert held[:, 0].max() == pytest.approx(0.0, abs=1e-12)  # behind the section
    if has_ball:
        assert held[:, 0].max() == pytest.approx(0.017, rel=0.01)  # around it


def test_a_run_read_from_its_file_draws_its_bodies(tmp_path):
    link = ev.RigidBody.box((0.3, 0.03, 0.05), density=2700.0, name="link", centre=(0.15, 0.0, 0.0))
    disc = ev.RigidBody.cylinder(0.05, 0.01, axis="y", mass=0.1, name="disc")
    fin = ev.RigidBody.elliptic_cylinder((0.02, 0.05), 0.1, axis="z", mass=0.1, name="fin")
    bob, frame = ev.RigidBody(0.2, (1e-4, 1e-4, 1e-4), name="bob"), ev.RigidBody.massless("frame")
    mechanism = ev.Mechanism(
        [
            ev.Revolute("world", link, axis="y", name="shoulder"),
            ev.Fixed((link, (0.3, 0.0, 0.0)), disc, name="weld"),
            ev.Fixed((link, (0.2, 0.0, 0.0)), frame, name="mark"),
            ev.Fixed((link, (0.1, 0.0, 0.0)), fin, name="glue"),
            ev.Revolute((disc, (0.05, 0.0, 0.0)), (bob, (-0.1, 0.0, 0.0)), axis="y", name="pin"),
        ]
    )
    ev.simulate(ev.System(mechanism, loads=[ev.Gravity()]), duration=0.05, step=0.01, file=tmp_path / "run.nc")
    run = io.load(tmp_path / "run.nc")
    shapes = {body.name: body.shape for body in cast_of(run).bodies}
    assert shapes == {"link": link.shape, "disc": disc.shape, "fin": fin.shape, "bob": None}
    (middle,) = (body.position for body in cast_of(run).bodies if body.name == "link")
    np.testing.assert_allclose(np.linalg.norm(middle, axis=1), 0.15, rtol=1e-12)
    assert viz.shape_3d(run).axes
