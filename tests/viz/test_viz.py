"""Pictures of runs: they are drawn, they show what they should, and a run without a shape is refused."""

import sys

import imageio_ffmpeg
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import elver as ev
from elver import viz
from elver.errors import BadInput, Interrupted
from elver.lie import so3
from elver.viz.history import rods_of
from elver.viz.scene import nice_step, pleasant_view
from elver.viz.tube import tube

LENGTH = 0.4


def circle_run(steps: int = 21, nodes: int = 9, name: str = "arm") -> xr.Dataset:
    """A rod of constant curvature in the xz plane that swings up and down: position and frames are exact."""
    time = np.linspace(0.0, 2.0, steps)
    s = LENGTH * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, nodes)))
    curvature = 4.0 * np.cos(np.pi * time)[:, None] + 1e-9
    angle = curvature * s
    zero = np.zeros_like(angle)
    position = np.stack([np.sin(angle) / curvature, zero, (1.0 - np.cos(angle)) / curvature], axis=-1)
    orientation = so3.to_quaternion(so3.exp(np.stack([zero, -angle, zero], axis=-1)))
    kinetic, elastic = np.sin(np.pi * time) ** 2, np.cos(np.pi * time) ** 2
    return xr.Dataset(
        {
            f"{name}/position": (("time", f"{name}_node", "xyz"), position, {"units": "m"}),
            f"{name}/orientation": (("time", f"{name}_node", "quaternion"), orientation),
            f"{name}/half_width": ((f"{name}_node", "yz"), np.full((nodes, 2), 0.01), {"units": "m"}),
            f"{name}/tip/position": (("time", "xyz"), position[:, -1], {"units": "m"}),
            "energy/kinetic": ("time", kinetic, {"units": "J"}),
            "energy/elastic": ("time", elastic, {"units": "J"}),
            "energy/total": ("time", kinetic + elastic, {"units": "J"}),
        },
        coords={"time": ("time", time, {"units": "s"}), f"{name}/s": (f"{name}_node", s, {"units": "m"})},
    )


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def inked(path) -> float:
    """Fraction of a picture that is not white."""
    pixels = np.asarray(Image.open(path).convert("RGB"))
    return float(np.mean(np.any(pixels < 250, axis=2)))


class TestTube:
    def test_points_lie_one_radius_from_the_centre_line(self):
        run = circle_run()
        rod = rods_of(run)[0]
        surface = tube(rod.s, rod.position[0], rod.orientation[0], rod.half_width, colour="teal", around=12)
        curvature = 4.0
        corners = surface.corners.reshape(-1, 3)
        x, y, z = (corners - [0.0, 0.0, 1.0 / curvature]).T
        distance = np.hypot(np.hypot(x, z) - 1.0 / curvature, y)
        inner = (x > 0.0) & (np.arctan2(x, -z) < curvature * LENGTH)  # without the round caps
        # cubic interpolation of nine nodes along a quarter turn: 3e-4 of the radius of curvature
        np.testing.assert_allclose(distance[inner], 0.01, atol=1e-4)

    def test_normals_point_outward(self):
        s = np.linspace(0.0, 1.0, 5)
        position = np.stack([s, 0.0 * s, 0.0 * s], axis=1)
        surface = tube(s, position, None, np.full((5, 2), 0.05), colour="teal")
        outward = surface.corners.mean(axis=1)
        outward[:, 0] -= np.clip(outward[:, 0], 0.0, 1.0)
        assert np.all(np.sum(outward * surface.normals, axis=1) > 0.0)

    def test_half_widths_go_with_the_section_axes(self):
        s = np.linspace(0.0, 1.0, 5)
        position = np.stack([s, 0.0 * s, 0.0 * s], axis=1)
        frames = np.broadcast_to(np.eye(3), (5, 3, 3))
        surface = tube(s, position, frames, np.tile([0.1, 0.02], (5, 1)), colour="teal", around=40)
        half_y, half_z = np.abs(surface.corners[..., 1]).max(), np.abs(surface.corners[..., 2]).max()
        assert half_y == pytest.approx(0.1, rel=0.01)  # a polygon of forty sides
        assert half_z == pytest.approx(0.02, rel=0.01)

    def test_hair_is_drawn_with_the_least_radius(self):
        s = np.linspace(0.0, 1.0, 3)
        surface = tube(s, np.outer(s, [0.0, 0.0, 1.0]), None, np.zeros((3, 2)), colour="teal", least_radius=0.01)
        assert np.hypot(*surface.corners[..., :2].reshape(-1, 2).T).max() == pytest.approx(0.01, rel=1e-6)


class TestPlots:
    def test_show_has_shape_tip_and_energy(self, tmp_path):
        figure = viz.show(circle_run())
        titles = {axes.get_title(loc="left") for axes in figure.axes}
        assert {"shape", "tip of arm", "energy"} <= titles
        figure.savefig(tmp_path / "show.png")
        assert inked(tmp_path / "show.png") > 0.05

    def test_show_works_without_energy(self):
        run = circle_run()
        figure = viz.show(run.drop_vars([key for key in run.data_vars if str(key).startswith("energy")]))
        assert "energy" not in {axes.get_title(loc="left") for axes in figure.axes}

    def test_lines_are_the_data_with_units(self):
        run = circle_run()
        (axes,) = viz.tip_history(run).axes
        np.testing.assert_array_equal(axes.lines[2].get_ydata(), run["arm/tip/position"][:, 2])
        assert axes.get_ylabel() == "position [m]"
        assert axes.get_xlabel() == "time [s]"

    def test_each_of_a_few_tips_has_its_name_and_colour(self):
        material = ev.Material(young=2e7, poisson=0.4, density=1e3)
        rods = [ev.Rod(0.3, ev.Circle(0.01), material, ev.Legendre(bending=2), name=f"arm{k}") for k in range(4)]
        joints = [ev.Fixed(("world", (0.0, 0.1 * k, 0.0)), (rod, "base")) for k, rod in enumerate(rods)]
        run = ev.simulate(ev.System(ev.Mechanism(joints), loads=[ev.Gravity()]), duration=0.01, step=5e-3)
        (axes,) = viz.tip_history(run).axes
        assert [line.get_label() for line in axes.lines] == ["arm0", "arm1", "arm2", "arm3"]
        assert len({line.get_color() for line in axes.lines}) == 4

    def test_energy_draws_what_the_run_holds(self):
        (axes,) = viz.energy(circle_run()).axes
        assert [line.get_label() for line in axes.lines] == ["kinetic", "elastic", "total"]

    def test_gravity_is_counted_from_the_start(self):
        run = circle_run()
        fall = xr.DataArray(-7.0 - run["time"].values, dims="time")
        run = run.assign({"energy/gravity": fall, "energy/total": run["energy/total"] + fall})
        (axes,) = viz.energy(run).axes
        lines = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert lines["gravity"] == pytest.approx(-run["time"].values)
        assert lines["total"] == pytest.approx(lines["kinetic"] + lines["elastic"] + lines["gravity"])
        assert axes.get_ylabel() == "energy [J], gravity 0 at the start"

    @pytest.mark.parametrize("shape", [(12, 3), (4, 12, 3)])
    def test_shape_of_plain_positions(self, shape):
        positions = np.cumsum(np.full(shape, 0.01), axis=-2)
        assert viz.shape_3d(positions).axes

    def test_plots_go_into_axes_of_the_user(self):
        _, axes = plt.subplots()
        assert viz.tip_history(circle_run(), axes=axes) is axes.get_figure()

    def test_several_rods_are_drawn_together(self):
        both = xr.merge([circle_run(), circle_run(name="leg")[["leg/position", "leg/tip/position"]]])
        assert [rod.name for rod in rods_of(both)] == ["arm", "leg"]
        assert viz.shape_3d(both).axes
        (axes,) = viz.tip_history(both, rod="leg").axes
        assert axes.get_title(loc="left") == "tip of leg"

    def test_style_leaves_the_settings_of_the_user_alone(self):
        before = dict(plt.rcParams)
        viz.show(circle_run())
        assert dict(plt.rcParams) == before

    def test_steps_without_numbers_are_left_out(self):
        run = circle_run()
        run["arm/position"][-3:] = np.nan
        assert len(rods_of(run)[0].time) == 18
        assert viz.show(run).axes


class TestBadRuns:
    def test_run_without_rod(self):
        with pytest.raises(BadInput, match=r"no rod or body to draw.*it has q"):
            viz.shape_3d(xr.Dataset({"q": ("time", [1.0])}))

    def test_run_without_energy(self):
        with pytest.raises(BadInput, match="no energy to draw"):
            viz.energy(xr.Dataset({"q": ("time", [1.0])}))

    def test_run_of_nan(self):
        run = circle_run()
        run["arm/position"][:] = np.nan
        with pytest.raises(BadInput, match="no step with finite values"):
            viz.show(run)

    def test_positions_of_wrong_shape(self):
        with pytest.raises(BadInput, match=r"shape \(4, 2\)"):
            viz.shape_3d(np.zeros((4, 2)))

    def test_unknown_rod(self):
        with pytest.raises(BadInput, match="no rod called 'leg' in this run; known: arm"):
            viz.tip_history(circle_run(), rod="leg")

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("arm.avi", {}, r"arm\.avi: a film is a \.mp4 or \.gif file, such as arm\.mp4"),
            ("arm", {}, r"such as arm\.mp4"),
            ("arm.mp4", {"still": "arm.jpg"}, r"arm\.jpg: a still is a \.png, \.pdf or \.svg file, such as arm\.png"),
            ("arm.gif", {"fps": 60.0}, r"fps = 60 .* at most 50; give fps=50\.0, or an \.mp4"),
            ("arm.mp4", {"dpi": 0.0}, "dpi = 0 dots/inch"),
            ("none/arm.gif", {}, "does not exist"),
            ("arm.gif", {"fps": 0.0}, "fps = 0 pictures/s"),
            ("arm.gif", {"speed": -1.0}, "speed = -1 s/s"),
        ],
    )
    def test_animation_to_nowhere(self, tmp_path, name, options, message):
        with pytest.raises(BadInput, match=message):
            viz.animate(circle_run(), tmp_path / name, **options)

    @pytest.mark.parametrize("steps", [slice(0, 0), slice(None)])
    def test_animation_of_nothing(self, tmp_path, steps):
        run = circle_run()
        run["arm/position"][:] = np.nan
        with pytest.raises(BadInput, match=r"arm/position holds no step with finite values"):
            viz.animate(run.isel(time=steps), tmp_path / "arm.mp4")
        assert list(tmp_path.iterdir()) == []

    def test_mp4_without_ffmpeg(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
        monkeypatch.setattr("shutil.which", lambda _: None)
        with pytest.raises(BadInput, match=r"needs ffmpeg.*choose a \.gif"):
            viz.animate(circle_run(), tmp_path / "arm.mp4")


def test_animation_moves_and_has_a_still(tmp_path):
    path = viz.animate(circle_run(), tmp_path / "arm.gif", fps=10, still=tmp_path / "still.png", title="arm")
    film = Image.open(path)
    assert film.n_frames == 21
    assert inked(tmp_path / "still.png") > 0.02
    first = np.asarray(film.convert("RGB"), dtype=int)
    film.seek(10)
    later = np.asarray(film.convert("RGB"), dtype=int)
    assert np.mean(np.abs(first - later).max(axis=2) > 40) > 0.005
    assert tuple(first[0, 0]) == (255, 255, 255)


def test_a_film_is_encoded_without_anything_on_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    seen = []
    told = {"progress": lambda done, count: seen.append((done, count))}
    path = viz.animate(circle_run(), tmp_path / "arm.mp4", fps=10, size=(3.21, 2.4), **told)
    assert seen == [(k, 21) for k in range(1, 22)]
    assert path.read_bytes()[4:8] == b"ftyp"
    assert list(tmp_path.iterdir()) == [path]
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == 21
    assert seconds == pytest.approx(2.1)
    assert next(imageio_ffmpeg.read_frames(str(path)))["size"] == (320, 240)  # an even number of points


@pytest.mark.parametrize("name", ["arm.mp4", "arm.gif"])
def test_ctrl_c_keeps_a_film_of_what_was_drawn(tmp_path, name):
    def stop(done, count):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=f"{name} ends early, with the 4 pictures") as caught:
        viz.animate(circle_run(), tmp_path / name, fps=10, size=(2.0, 2.0), progress=stop)
    path = tmp_path / name
    assert caught.value.result == path
    assert list(tmp_path.iterdir()) == [path]
    frames = Image.open(path).n_frames if name.endswith("gif") else imageio_ffmpeg.count_frames_and_secs(str(path))[0]
    assert frames == 4


def test_a_film_that_cannot_be_written_leaves_nothing(tmp_path):
    def fail(done, count):
        raise RuntimeError("no more")

    for name in ("arm.mp4", "arm.gif"):
        with pytest.raises(RuntimeError, match="no more"):
            viz.animate(circle_run(), tmp_path / name, fps=10, size=(2.0, 2.0), progress=fail)
        (tmp_path / name).mkdir()
        with pytest.raises(BadInput, match=f"{name}: cannot be written"):
            viz.animate(circle_run(steps=3), tmp_path / name, fps=1, size=(2.0, 2.0))
        assert list(tmp_path.iterdir()) == [tmp_path / name]
        (tmp_path / name).rmdir()


def test_a_terminal_shows_a_bar(tmp_path, monkeypatch, capfd):
    viz.animate(circle_run(steps=3), tmp_path / "arm.gif", fps=1, size=(2.0, 2.0))
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    viz.animate(circle_run(steps=3), tmp_path / "arm.gif", fps=1, size=(2.0, 2.0))
    assert "3 of 3 pictures" in capfd.readouterr().err


def test_what_lies_flat_is_seen_from_above():
    points = np.random.default_rng(0).uniform(size=(50, 3))
    assert pleasant_view(points)[0] < 30.0
    assert pleasant_view(points * [1.0, 1.0, 0.1])[0] > 45.0


@given(st.floats(1e-9, 1e9))
def test_grid_step_is_round_and_fits(size):
    step = nice_step(size)
    assert 2.5 < size / step < 10.0
    mantissa = step / 10.0 ** np.floor(np.log10(step) + 1e-9)
    assert min(abs(mantissa - m) for m in (1.0, 2.0, 5.0, 10.0)) < 1e-6
