"""Reports: one file that holds everything, stays small, opens offline and plays; no name in a model becomes code."""

from __future__ import annotations

import base64
import errno
import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import elver as ev
from elver import io
from elver.cli import app
from elver.errors import BadInput
from elver.lie import so3
from elver.viz.history import cast_of
from elver.viz.measures import RodMeasures
from elver.viz.reports.playback import playback_of
from elver.viz.reports.robot import DISKS
from elver.viz.reports.words import model_of, sections_of, sentence_of

HOSTILE = "<script>document.title='broken'</script>"
LENGTH = 0.4


def _browser() -> ModuleType:
    """tests/browser.py, which is no package's module."""
    spec = importlib.util.spec_from_file_location("elver_test_browser", Path(__file__).parents[1] / "browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


browser = _browser()


def swinging(steps: int = 21, rods: int = 1, duration: float = 2.0, nodes: int = 9) -> xr.Dataset:
    """Rods of constant curvature, side by side, that swing up and down: position and frames are exact."""
    time = np.linspace(0.0, duration, steps)
    s = LENGTH * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, nodes)))
    variables: dict = {}
    coordinates: dict = {"time": ("time", time, {"units": "s"})}
    for k in range(rods):
        name = f"arm{k}"
        curvature = 4.0 * np.cos(np.pi * time + 0.3 * k)[:, None] + 1e-9
        angle = curvature * s
        zero = np.zeros_like(angle)
        position = np.stack([np.sin(angle) / curvature, zero + 0.05 * k, (1.0 - np.cos(angle)) / curvature], axis=-1)
        orientation = so3.to_quaternion(so3.exp(np.stack([zero, -angle, zero], axis=-1)))
        variables[f"{name}/position"] = (("time", f"{name}_node", "xyz"), position)
        variables[f"{name}/orientation"] = (("time", f"{name}_node", "quaternion"), orientation)
        variables[f"{name}/half_width"] = ((f"{name}_node", "yz"), np.full((nodes, 2), 0.01))
        coordinates[f"{name}/s"] = (f"{name}_node", s)
    return xr.Dataset(variables, coordinates, {"title": "swinging arms", "status": "complete"})


@pytest.fixture(scope="module")
def arm_run() -> xr.Dataset:
    """A tendon-driven arm with a name that wants to be code."""
    silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
    arm = ev.Rod(LENGTH, ev.Circle(8e-3), silicone, ev.Legendre(bending=4, torsion=2), name=HOSTILE.partition("</")[0])
    tendon = ev.Tendon(arm, path=ev.parallel(y=0.0, z=6e-3), name="pull & <b>hold")
    system = ev.System(ev.Mechanism.clamped(arm), actuators=[tendon], loads=[ev.Gravity()])
    return ev.simulate(system, duration=0.3, step=1e-2, inputs={tendon: lambda t: 5.0 * t})


@pytest.fixture(scope="module")
def loop_run() -> xr.Dataset:
    """Two rods, two hinges, one loop, a body at its apex: multipliers and efforts."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    left, right = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.kirchhoff(3), name=n) for n in ("left", "right"))
    hinge = ev.Revolute(("world", (-0.2, 0, 0)), (left, "base"), start=np.pi / 2)
    other = ev.Revolute(("world", (0.2, 0, 0)), (right, "base"), start=np.pi / 2)
    apex = ev.Spherical((left, "tip"), (right, "tip"))
    weight = ev.RigidBody.box((0.06, 0.06, 0.04), mass=0.05, name="weight")
    held = ev.Fixed((left, "tip"), weight)
    motor = ev.Motor(hinge)
    robot = ev.System(ev.Mechanism([apex, hinge, other, held]), actuators=[motor, ev.Imposed(other)])
    start = ev.equilibrium(robot, {motor: -0.05})
    return ev.simulate(robot, start, duration=0.2, step=1e-2, inputs={motor: 0.0})


@pytest.fixture(scope="module")
def arm_page(arm_run, tmp_path_factory) -> Path:
    """Its report."""
    return ev.report(arm_run, tmp_path_factory.mktemp("arm") / "arm.html")


@pytest.fixture(scope="module")
def loop_page(loop_run, tmp_path_factory) -> Path:
    """Its report."""
    return ev.report(loop_run, tmp_path_factory.mktemp("loop") / "loop.html")


class _Outline(HTMLParser):
    """Elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def outline(path: Path) -> _Outline:
    return _Outline(path.read_text(encoding="utf-8"))


def pictures(page: _Outline) -> dict[str, str]:
    """The SVG of each plot by its description."""
    head = "data:image/svg+xml;base64,"
    return {str(img["alt"]): base64.b64decode(str(img["src"]).removeprefix(head)).decode() for img in page.all("img")}


class TestPage:
    def test_nothing_is_fetched(self, arm_page):
        page = outline(arm_page)
        for _, attributes in page.tags:
            for key in ("src", "href", "srcset", "data", "action"):
                assert str(attributes.get(key) or "data:").startswith("data:")
        policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv"))
        assert str(policy).startswith("default-src 'none'; script-src 'sha256-")

    def test_names_stay_text(self, arm_run, tmp_path):
        path = ev.report(arm_run, tmp_path / "arm.html", title=HOSTILE, metrics={HOSTILE: 1.0}, command=HOSTILE)
        page = outline(path)
        kinds = [script.get("type") for script in page.all("script")]
        assert kinds == ["application/json", "text/plain", None]  # ours, and no other
        assert not page.all("b")
        assert "pull & <b>hold" in page.text
        assert HOSTILE in page.text
        for svg in pictures(page).values():
            assert "<script" not in svg

    def test_the_model_is_told_with_values_and_units(self, arm_page, loop_run):
        text = " ".join(outline(arm_page).text)
        for words in ("length 0.4 m", "radius 0.008 m", "young 1e+06 Pa", "density 1070 kg/m³", "z 0.006 m",
                      "acceleration (0, 0, -9.81) m/s²", "input from 0 to 1.5 N", "Conserving"):  # fmt: skip
            assert words in text
        system, reason = model_of(loop_run)
        assert system is not None, reason
        tables = {section.title: section.rows for section in sections_of(system, loop_run)}
        assert list(tables) == ["Rods", "Rigid bodies", "Joints", "Actuators"]
        assert sentence_of(system, loop_run) == (
            "2 rods and 1 rigid body with 1 motor and 1 imposed motion; 20 coordinates. "
            "0.2 s, 21 instants by Conserving."
        )
        assert {row[1] for row in tables["Joints"]} == {"spherical", "revolute", "fixed"}
        assert "mass 0.05 kg" in tables["Rigid bodies"][0][2]
        assert tables["Rods"][0][:2] == ("left, right", "rod, 2 alike")

    def test_plots_are_those_that_the_run_has_data_for(self, arm_page, loop_page, loop_run, tmp_path):
        arm = pictures(outline(arm_page))
        assert any("energy" in name for name in arm)
        assert any("Newton" in name for name in arm)
        assert any(name.startswith("inputs") for name in arm)
        assert not any("multipliers" in name for name in arm)
        loop = pictures(outline(loop_page))
        assert any("multipliers" in name for name in loop)
        zero = loop_run.assign(multipliers=0.0 * loop_run["multipliers"])
        assert not any("multipliers" in name for name in pictures(outline(ev.report(zero, tmp_path / "zero.html"))))
        plain = pictures(outline(ev.report(swinging(), tmp_path / "plain.html")))
        assert len(plain) == 3  # paths, shapes, tips
        for svg in [*arm.values(), *loop.values()]:
            assert svg.lstrip().startswith("<?xml")

    def test_the_same_numbers_as_in_the_run(self, arm_run, arm_page):
        text = " ".join(outline(arm_page).text)
        total = arm_run["energy/total"].values
        assert f"{total[0]:.6g}, {total[-1]:.6g}" in text
        assert f"elver {ev.__version__}" in text

    def test_metrics_of_the_gallery(self, tmp_path):
        metrics = {"tip": {"value": 0.81, "unit": "m", "reference": 0.8106, "tolerance": 1e-3, "source": "Euler 1744"}}
        text = outline(ev.report(swinging(), tmp_path / "arm.html", metrics=metrics)).text
        assert {"tip", "0.81", "0.8106", "0.001", "Euler 1744"} <= set(text)


class TestPlots:
    @pytest.mark.parametrize(("format", "first"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
    def test_one_call_writes_them_all(self, arm_run, tmp_path, format, first):
        paths = ev.save_plots(arm_run, tmp_path / "figures", format=format)
        names = "paths shapes tips energy balance inputs reactions reactions-2 newton"
        assert [path.stem for path in paths] == names.split()
        assert all(path.read_bytes().startswith(first) for path in paths)

    def test_each_unit_has_its_file(self, loop_run, tmp_path):
        names = [path.name for path in ev.save_plots(loop_run, tmp_path, format="svg")]
        assert len(names) == len(set(names))
        assert {"multipliers.svg", "efforts.svg"} <= set(names)

    def test_bad_format_and_folder(self, tmp_path):
        with pytest.raises(BadInput, match="pdf, svg, png"):
            ev.save_plots(swinging(), tmp_path, format="jpg")
        (tmp_path / "file").write_text("")
        with pytest.raises(BadInput, match="cannot be a folder"):
            ev.save_plots(swinging(), tmp_path / "file")


class TestOddRuns:
    def test_without_rods_and_bodies(self, tmp_path):
        run = xr.Dataset({"energy/total": ("time", [1.0, 2.0])}, {"time": [0.0, 1.0]})
        page = outline(ev.report(run, tmp_path / "energy.html"))
        assert not page.all("canvas")
        assert not page.all("script")
        assert list(pictures(page)) == ["energy over time"]
        assert any("holds no model" in text for text in page.text)

    def test_an_empty_run(self, tmp_path):
        run = xr.Dataset(attrs={"status": "stopped: Newton failed at the first step"})
        text = " ".join(outline(ev.report(run, tmp_path / "empty.html")).text)
        assert "holds no step" in text
        assert "Newton failed at the first step" in text

    @pytest.mark.parametrize(
        ("status", "said"), [("running", "still being computed"), ("stopped: interrupted by the user", "interrupted")]
    )
    def test_an_unfinished_run_says_so(self, tmp_path, status, said):
        path = ev.report(swinging().assign_attrs(status=status), tmp_path / "part.html")
        text = " ".join(outline(path).text)
        assert "not complete" in text
        assert said in text

    def test_a_branch_of_equilibria(self, tmp_path):
        value = np.linspace(0.0, 2.0, 9)
        place = np.stack([value, 0.0 * value, -value], axis=1)
        run = xr.Dataset(
            {
                "value": ("point", value, {"units": "N", "long_name": "pull"}),
                "stable": ("point", value < 1.2),
                "arm/position": (("point", "xyz"), place, {"units": "m"}),
            },
            attrs={"title": "elver continuation over pull", "status": "complete"},
        )
        page = outline(ev.report(run, tmp_path / "branch.html"))
        assert list(pictures(page)) == ["arm/position along the branch; dashed: not stable"]
        assert "pull [N]" in next(iter(pictures(page).values()))
        text = " ".join(page.text)
        assert "9, 5 of them stable" in text
        assert "no motion to play" in text
        assert "holds no step" not in text

    def test_names_with_blanks(self, tmp_path):
        rubber = ev.Material(young=1e6, poisson=0.4, density=1e3)
        limb = ev.Rod(LENGTH, ev.Circle(8e-3), rubber, ev.Legendre(bending=2), name="limb 1½")
        run = ev.simulate(ev.System(ev.Mechanism.clamped(limb)), duration=0.02, step=1e-2, file=tmp_path / "limb.nc")
        xr.testing.assert_identical(ev.load(tmp_path / "limb.nc"), run)
        assert "limb 1½" in outline(ev.report(ev.load(tmp_path / "limb.nc"), tmp_path / "limb.html")).text

    def test_one_instant(self, tmp_path):
        page = outline(ev.report(swinging().isel(time=[0]), tmp_path / "one.html"))
        assert page.all("canvas")

    def test_steps_without_numbers_are_left_out(self, tmp_path):
        run = swinging()
        run["arm0/position"][7:] = np.nan
        assert playback_of(cast_of(run)).frames == 7
        ev.report(run, tmp_path / "nan.html")
        run["arm0/position"][:] = np.nan
        assert not outline(ev.report(run, tmp_path / "nan.html")).all("canvas")

    def test_a_model_of_another_version(self, tmp_path):
        run = swinging().assign_attrs(model='{"type": "Octopus", "arms": 8}')
        text = " ".join(outline(ev.report(run, tmp_path / "new.html")).text)
        assert "Octopus" in text
        assert "cannot be read" in text

    @pytest.mark.parametrize(("name", "message"), [("a.pdf", r"\.html file"), ("no/such/a.html", "create it first")])
    def test_bad_targets(self, tmp_path, name, message):
        with pytest.raises(BadInput, match=message):
            ev.report(swinging(), tmp_path / name)

    def test_several_runs_in_one(self, tmp_path):
        both = io.collect({"soft": swinging(), "stiff": swinging()})
        with pytest.raises(BadInput, match="soft, stiff"):
            ev.report(both, tmp_path / "both.html")


class TestPlayback:
    def test_poses_come_back(self):
        run = swinging(rods=3)
        cast = cast_of(run)
        play = playback_of(cast)
        low, high = np.array(play.scene["low"]), np.array(play.scene["high"])
        count = play.frames * play.scene["nodes"]
        whole = np.frombuffer(play.poses, "<u2", 3 * count).reshape(play.frames, -1, 3)
        position = low + whole / 65535.0 * (high - low)
        expected = np.concatenate([rod.position for rod in cast.rods], axis=1)
        assert np.abs(position - expected).max() <= 0.51 * np.max(high - low) / 65535.0  # rounding
        turns = np.frombuffer(play.poses, "<i2", 4 * count, 6 * count).reshape(play.frames, -1, 4) / 32767.0
        orientation = np.concatenate([rod.orientation for rod in cast.rods], axis=1)
        assert np.abs(so3.from_quaternion(turns) - orientation).max() < 3e-4

    def test_spline_weights_give_the_circle(self):
        play = playback_of(cast_of(swinging(nodes=12)))
        part = play.scene["parts"][0]
        weights = np.frombuffer(base64.b64decode(play.scene["weights"][0]), "<f4").reshape(-1, part["count"])
        nodes = cast_of(swinging(nodes=12)).rods[0].position[0]
        fine = weights @ nodes
        # curvature 4 at t = 0: a circle of radius 1/4 around (0, 0, 1/4); the error is that of the spline
        assert np.hypot(fine[:, 0], fine[:, 2] - 0.25) == pytest.approx(0.25, abs=2e-4)

    def test_the_budget_thins_out_instants_and_keeps_the_ends(self):
        run = swinging(steps=4001, rods=2, duration=3.0)
        play = playback_of(cast_of(run), budget=100_000)
        assert len(play.poses) <= 100_000 + 17 * 18 * 2
        assert play.scene["times"][0] == 0.0
        assert play.scene["times"][-1] == 3.0
        assert np.ptp(np.diff(play.scene["times"])) < 1e-3

    def test_measures_come_back(self, arm_run):
        """To half of 1/255 of the largest, which is that of all instants."""
        system, _ = model_of(arm_run)
        cast = cast_of(arm_run)
        play = playback_of(cast, arm_run, system)
        told = play.scene["measures"]
        assert [(each["name"], each["unit"]) for each in told] == [
            ("curvature", "1/m"),
            ("strain", "%"),
            ("stress", "MPa"),
        ]
        nodes = len(cast.rods[0].s)
        values = np.frombuffer(play.poses, np.uint8, offset=14 * play.frames * nodes).reshape(3, play.frames, nodes)
        rod = system.mechanism.rods[0]
        for measure, value in zip(told, values, strict=True):
            exact = RodMeasures(rod, cast.rods[0].s)(measure["name"], arm_run["q"].values)
            assert measure["largest"] == measure["most"] == exact.max()
            assert np.abs(value / 255.0 * exact.max() - exact).max() <= 0.501 / 255.0 * exact.max()

    def test_without_model_colours_tell_the_curvature_of_the_shape(self):
        run = swinging(nodes=20)
        run["arm0/position"][3] = np.nan  # a step that failed is left out of the colours too
        play = playback_of(cast_of(run))
        assert [each["name"] for each in play.scene["measures"]] == ["curvature"]
        assert play.scene["measures"][0]["most"] == pytest.approx(4.0)
        values = np.frombuffer(play.poses, np.uint8, offset=14 * play.frames * 20).reshape(play.frames, 20)
        curvature = np.abs(4.0 * np.cos(np.pi * np.delete(run["time"].values, 3)))
        assert values / 255.0 * 4.0 == pytest.approx(np.tile(curvature[:, None], 20), abs=4.0 / 255.0)

    def test_tendons_lie_where_they_act_and_pull_as_they_are_told(self, arm_run):
        system, _ = model_of(arm_run)
        play = playback_of(cast_of(arm_run), arm_run, system)
        (line,) = play.scene["lines"]
        offsets = np.frombuffer(base64.b64decode(line["offsets"]), "<f4").reshape(-1, 3)
        assert (line["part"], line["first"], len(offsets)) == (0, 0, 96)
        assert offsets == pytest.approx(np.tile([0.0, 0.0, 6e-3], (96, 1)))
        pulls = np.frombuffer(base64.b64decode(play.scene["pulls"]), np.uint8)
        assert pulls / 255.0 == pytest.approx(arm_run["time"].values / 0.3, abs=0.51 / 255.0)

    def test_cables_run_from_guide_to_guide_and_disks_carry_them(self):
        """Part of the rod, then to a guide on a body and one in the world."""
        silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
        arm = ev.Rod(LENGTH, ev.Circle(4e-3), silicone, ev.Legendre(bending=2), name="arm")
        weight = ev.RigidBody.box((0.02, 0.02, 0.02), mass=0.01, name="weight", centre=(0.01, 0.0, 0.0))
        route = [arm, (weight, (0.01, 0.03, 0.0)), ("world", (0.0, 0.0, 0.2))]
        cable = ev.Tendon(route, path=ev.parallel(y=0.01), start=0.1, reach=0.012)
        system = ev.System(ev.Mechanism([ev.Fixed("world", (arm, "base")), ev.Fixed((arm, "tip"), weight)]), [cable])
        run = ev.simulate(system, duration=0.02, step=1e-2, inputs={cable: 0.1})
        scene = playback_of(cast_of(run), run, system).scene
        (line,) = scene["lines"]
        fine = np.linspace(0.0, LENGTH, 96)
        assert line["first"] == np.argmin(np.abs(fine - 0.1))
        assert [span["ends"] for span in scene["spans"]] == [
            [(0, 95, [0.0, 0.01, 0.0]), (1, 0, [0.0, 0.03, 0.0])],  # from the middle of the body's shape
            [(1, 0, [0.0, 0.03, 0.0]), (-1, 0, [0.0, 0.0, 0.2])],
        ]
        assert len(scene["disks"]) == DISKS
        assert {disk["mesh"] for disk in scene["disks"]} == {scene["disks"][0]["mesh"]}

    def test_the_outline_is_what_is_farthest_out(self):
        play = playback_of(cast_of(swinging()))
        points = cast_of(swinging()).rods[0].position.reshape(-1, 3)
        outline = np.array(play.scene["outline"])
        for axis in range(2):
            assert outline[:, axis].max() == pytest.approx(points[:, axis].max(), abs=2e-3)
        assert len(outline) <= 100

    def test_a_robot_that_goes_away_is_followed(self):
        run = swinging()
        assert not playback_of(cast_of(run)).scene["follow"]
        run["arm0/position"] = run["arm0/position"] + xr.DataArray(np.linspace(0.0, 9.0, 21), dims="time")
        assert playback_of(cast_of(run)).scene["follow"]

    def test_rods_without_frames_get_some(self):
        run = swinging().drop_vars("arm0/orientation")
        assert playback_of(cast_of(run)).frames == 21


class TestCommand:
    runner = CliRunner()

    def test_writes_the_page(self, arm_run, tmp_path):
        io.save(swinging(), tmp_path / "arm.nc")
        done = self.runner.invoke(app, ["report", str(tmp_path / "arm.nc"), "-o", str(tmp_path / "page.html")])
        assert done.exit_code == 0, done.output
        assert "page.html" in done.output
        text = " ".join(outline(tmp_path / "page.html").text)
        assert "elver report" in text
        assert self.runner.invoke(app, ["report", str(tmp_path / "arm.nc")]).exit_code == 0
        assert (tmp_path / "arm.html").is_file()

    def test_help_teaches(self):
        text = self.runner.invoke(app, ["report", "--help"]).output
        assert "Example:" in text
        assert "offline" in text

    def test_bad_input_is_said_and_is_2(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("junk.nc").write_bytes(b"junk" * 100)
        Path("empty.nc").write_bytes(b"")
        xr.Dataset({"a": ("x", [1.0])}).to_netcdf("foreign.nc", engine="h5netcdf")
        io.save(io.collect({"soft": swinging(), "stiff": swinging()}), "both.nc")
        io.save(swinging(), "arm.nc")
        whole = Path("arm.nc").read_bytes()
        Path("cut.nc").write_bytes(whole[: len(whole) // 2])
        Path("run.html").write_bytes(whole)
        Path("page.html").write_text("<html></html>")
        Path("metrics.json").write_text("[1]")
        Path("my arm.toml").write_text("[rods]")
        Path("folder.html").mkdir()
        for arguments, said in (
            (["missing.nc"], "missing.nc: no such file"),
            (["."], "is a folder"),
            (["my arm.toml"], "a model file, not a run; compute it first: elver run 'my arm.toml'"),
            (["junk.nc"], "not readable (it is no netCDF-4 file)"),
            (["empty.nc"], "is an empty file"),
            (["page.html"], "not readable (it is no netCDF-4 file)"),
            (["cut.nc"], f"it is cut off after {len(whole) // 2} of {len(whole)} bytes"),
            (["foreign.nc"], "not a run of elver"),
            (["both.nc"], "--part soft"),
            (["both.nc", "--part", "hard"], "hard"),
            (["arm.nc", "--part", "soft"], "single run"),
            (["arm.nc", "-o", "arm.pdf"], "a report is an .html file, such as arm.html"),
            (["arm.nc", "-o", "folder.html"], "is a folder"),
            (["arm.nc", "-o", "nowhere/arm.html"], "create it first"),
            (["run.html"], "that is the run itself; give the page another name"),
            (["arm.nc", "-o", "./arm.nc"], "that is the run itself"),
            (["arm.nc", "--metrics", "metrics.json"], "expected"),
            (["arm.nc", "--metrics", "none.json"], "cannot be read"),
        ):
            done = self.runner.invoke(app, ["report", *arguments])
            assert done.exit_code == 2, (arguments, done.output)
            assert said in done.output.replace("\n", " "), (arguments, done.output)
        assert Path("arm.nc").read_bytes() == Path("run.html").read_bytes() == whole

    def test_a_page_that_cannot_be_written(self, tmp_path, monkeypatch):
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("os.replace", full)
        with pytest.raises(BadInput, match=r"arm\.html: cannot be written \(No space left on device\)"):
            ev.report(swinging(), tmp_path / "arm.html")
        assert list(tmp_path.iterdir()) == []

    def test_one_of_several_runs(self, tmp_path):
        io.save(io.collect({"soft": swinging(), "stiff": swinging()}), tmp_path / "both.nc")
        arguments = ["report", str(tmp_path / "both.nc"), "--part", "soft", "-o", str(tmp_path / "soft.html")]
        assert self.runner.invoke(app, arguments).exit_code == 0


class TestTwoRuns:
    """Side by side, with their plots over each other."""

    def test_the_page(self, tmp_path):
        late = swinging(steps=41, duration=4.0)
        energies = {f"energy/{kind}": ("time", np.ones(41)) for kind in ("kinetic", "elastic", "total")}
        path = ev.report({"early": swinging(), "late <b>": late}, tmp_path / "both.html")
        page = outline(path)
        assert [canvas["id"] for canvas in page.all("canvas")] == ["stage", "stage1"]
        assert [script.get("id") for script in page.all("script")] == ["scene", "poses", "scene1", "poses1", None]
        plots = pictures(page)
        assert list(plots) == ["paths of tips and bodies of both runs", "the first tip or body of both runs"]
        assert "x, early" in plots["the first tip or body of both runs"]
        assert {"early and late <b>", "late <b>", "0 to 2", "0 to 4"} <= set(page.text)
        both = ev.report({"a": late.assign(energies), "b": late.assign(energies)}, tmp_path / "both.html")
        assert "energies of both runs" in pictures(outline(both))

    def test_the_same_model_is_told_once(self, arm_run, loop_run, tmp_path):
        same = outline(ev.report({"a": arm_run, "b": arm_run}, tmp_path / "same.html")).text
        other = outline(ev.report({"a": arm_run, "b": loop_run}, tmp_path / "other.html")).text
        assert (same.count("Rods"), other.count("Rods")) == (1, 2)

    def test_bad_input(self, tmp_path):
        nothing = xr.Dataset({"energy/total": ("time", [1.0, 2.0])}, {"time": [0.0, 1.0]})
        with pytest.raises(BadInput, match="3 runs; give one run, or two by name"):
            ev.report(dict.fromkeys("abc", swinging()), tmp_path / "a.html")
        with pytest.raises(BadInput, match="the run 'b' holds no rod or body to draw"):
            ev.report({"a": swinging(), "b": nothing}, tmp_path / "a.html")
        with pytest.raises(BadInput, match="is given a list"):
            ev.report([swinging()], tmp_path / "a.html")

    def test_the_command(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("other").mkdir()
        for name in ("arm.nc", "leg.nc", "other/arm.nc"):
            io.save(swinging(steps=3), name)
        run = CliRunner().invoke
        assert run(app, ["report", "arm.nc", "leg.nc"]).exit_code == 0
        assert "elver report arm.nc leg.nc -o arm-leg.html" in outline(Path("arm-leg.html")).text
        assert run(app, ["report", "arm.nc", "other/arm.nc", "-o", "both.html"]).exit_code == 0
        assert {"arm", "arm 2"} <= set(outline(Path("both.html")).text)
        done = run(app, ["report", "arm.nc", "leg.nc", "other/arm.nc"])
        assert done.exit_code == 2
        assert "3 runs; give one, or two" in done.output


class TestInTheBrowser:
    def test_two_runs_play_together_and_turn_together(self, tmp_path):
        """The shorter rests at its end while the other goes on."""
        path = ev.report({"long": swinging(), "short": swinging().isel(time=slice(0, 11))}, tmp_path / "both.html")
        with browser.Page(path, tmp_path) as page:
            page.wait("Number(document.documentElement.dataset.frames) > 2")
            page.value("document.getElementById('play').click()")
            page.value("document.getElementById('trails').click()")
            first, end = self.look(page, 250.0), self.look(page, 500.0, "stage1")
            assert self.look(page, 250.0, "stage1") != end
            assert self.look(page, 1000.0, "stage1") == end
            assert self.look(page, 1000.0) != self.look(page, 500.0)
            where = {"y": 300, "button": "left", "buttons": 1, "clickCount": 1}
            page.ask("Input.dispatchMouseEvent", type="mousePressed", x=300, **where)
            page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=360, **where)
            page.ask("Input.dispatchMouseEvent", type="mouseReleased", x=360, **where)
            assert self.look(page, 250.0) != first
            assert self.look(page, 500.0, "stage1") != end
            assert page.complaints == []

    def test_ten_seconds_of_twenty_rods(self, tmp_path):
        """Under 10 MB, no complaint, no request but the page itself; it plays, stops, seeks and turns."""
        run = swinging(steps=1001, rods=20, duration=10.0, nodes=20)
        path = ev.report(run, tmp_path / "twenty.html")
        assert path.stat().st_size < 10e6
        state = "document.documentElement.dataset"
        with browser.Page(path, tmp_path) as page:
            page.wait(f"{state}.player === 'ready'")
            page.wait(f"Number({state}.frames) > 5 && Number({state}.time) > 0")  # it plays by itself
            assert page.value(f"{state}.parts") == "20"
            assert page.value("document.getElementById('bar').innerText").split() == [
                "curvature",
                "[1/m]",
                "0",
                "2",
                "4",
            ]
            page.value("document.getElementById('play').click()")
            assert page.value(f"{state}.playing") == "false"
            # the slider moves the robot, and with it the pixels
            page.value("document.getElementById('trails').click()")
            first = self.look(page, 0.0)
            assert first != self.look(page, 500.0)
            assert first == self.look(page, 0.0)
            # so do colours, and without them the bar goes
            choose = "(() => {{ const menu = document.getElementById('colour'); menu.value = '{}'; "
            choose += "menu.dispatchEvent(new Event('change')); }})()"
            page.value(choose.format(-1))
            assert page.value("document.getElementById('bar').hidden")
            assert first != self.look(page, 0.0)
            page.value(choose.format(0))
            assert first == self.look(page, 0.0)
            assert page.value(f"Number({state}.time)") == 0.0
            assert page.value("document.getElementById('clock').textContent") == "0.00 s"
            # a drag turns the view
            where = {"y": 300, "button": "left", "buttons": 1, "clickCount": 1}
            page.ask("Input.dispatchMouseEvent", type="mousePressed", x=500, **where)
            page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=640, **where)
            page.ask("Input.dispatchMouseEvent", type="mouseReleased", x=640, **where)
            assert first != self.look(page, 0.0)
            assert page.value(f"{state}.errors") == "0"
            assert page.complaints == []
            assert page.requests == [path.resolve().as_uri()]

    @staticmethod
    def look(page, place: float, stage: str = "stage") -> str:
        """What the stage shows at a place of the slider, after it has been drawn."""
        return page.value(
            "new Promise((done) => { const slider = document.getElementById('time'); "
            f"slider.value = {place}; slider.dispatchEvent(new Event('input')); "
            "requestAnimationFrame(() => { const stage = document.getElementById('" + stage + "'); "
            "requestAnimationFrame(() => { slider.dispatchEvent(new Event('input')); "
            "requestAnimationFrame(() => done(stage.toDataURL())); }); }); })"
        )

    def test_a_click_on_a_plot_goes_to_that_time(self, loop_page, tmp_path):
        with browser.Page(loop_page, tmp_path) as page:
            page.wait("Number(document.documentElement.dataset.frames) > 2")
            page.value(
                "(() => { const plot = document.querySelector('[data-t0]'), box = plot.getBoundingClientRect(); "
                "const middle = (Number(plot.dataset.x0) + Number(plot.dataset.x1)) / 2; "
                "plot.dispatchEvent(new MouseEvent('click', {clientX: box.left + middle * box.width})); })()"
            )
            shown = float(page.value("document.getElementById('clock').textContent").split()[0])
            assert shown == pytest.approx(0.1, abs=1e-3)  # a point of the screen
            assert page.complaints == []

    def test_a_name_cannot_become_code(self, arm_run, tmp_path):
        path = ev.report(arm_run, tmp_path / "arm.html", command=HOSTILE)
        dom, messages = browser.dump_dom(path, tmp_path)
        assert messages == []
        root = re.search(r"<html[^>]*>", dom)
        assert root is not None
        assert 'data-player="ready"' in root[0]
        assert 'data-errors="0"' in root[0]  # with its tendon
        assert "<title>broken</title>" not in dom


def test_program_and_style_are_data_of_the_package():
    """A wheel packs every file under src/elver: so these two, which a page is made of, are in it."""
    folder = Path(ev.__file__).parent / "viz" / "reports"
    assert {"player.js", "page.css"} <= {path.name for path in folder.iterdir()}
