"""Issue 11, section 5, "First minute": installing, the version, and the wrong file get a good answer."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import elver as ev
from elver import io
from elver.cli import app

ROOT = Path(__file__).parents[2]
runner = CliRunner()

MODEL = """
title = "The arm of the first minute"

[materials.silicone]
young = "1 MPa"
poisson = 0.45
density = "1070 kg/m^3"

[rods.arm]
length = "40 cm"
section = { type = "Circle", radius = "8 mm" }
material = "silicone"
basis = { type = "Legendre", bending = 2 }

[mechanism]
clamped = "arm"

[loads.gravity]
type = "Gravity"

[study]
kind = "simulation"
duration = "20 ms"
step = "10 ms"
"""


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_pages_say_how_to_install(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "pip install .  " in text
    assert "[view]" in text
    assert "pip wheel" in text
    assert "pip install dist/elver-*.whl" in text
    assert "python -m elver" in text
    assert "elver --version" in text


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_python_m_elver_is_the_command(arguments):
    done = subprocess.run([sys.executable, "-m", "elver", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"elver {ev.__version__} (Python 3.")


def test_usage_names_the_command():
    done = subprocess.run([sys.executable, "-m", "elver", "run"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "elver run" in done.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model and its run, and files that are neither."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "arm.toml").write_text(MODEL, encoding="utf-8")
    model = ev.load_model(folder / "arm.toml")
    io.save(ev.simulate(model.system, duration=model.study.duration, step=model.study.step), folder / "arm.nc")
    (folder / "folder").mkdir()
    for name, data in {
        "empty.nc": b"",
        "empty.toml": b"\n",
        "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(64),
        "photo.nc": b"\xff\xd8\xff\xe0" + bytes(64),
        "page.html": b"<!doctype html><html></html>",
        "robot.urdf": b"<?xml version='1.0'?><robot/>",
        "notes.txt": b"length = 0.4 m\n",
        "noise": bytes(range(256)),
    }.items():
        (folder / name).write_bytes(data)
    return folder


WRONG = [
    (command, name, said)
    for commands, name, said in [
        (("run", "check", "equilibrium"), "arm.nc", ["a netCDF file", "not a model file", "elver report arm.nc"]),
        (("run", "check", "equilibrium"), "picture.png", ["PNG picture", "not a model file", "elver new"]),
        (("run", "check", "equilibrium"), "empty.toml", ["empty file", "elver new"]),
        (("run",), "robot.urdf", ["XML file", "read_urdf"]),
        (("run",), "page.html", ["web page", "not a model file"]),
        (("run",), "noise", ["binary file", "not a model file"]),
        (("run",), "notes.txt", ["not valid TOML", "at line 1"]),
        (("run", "check", "equilibrium", "report", "view", "info"), "folder", ["is a folder", "give the name of"]),
        (("run", "check", "equilibrium"), "missing", ["no such file", "elver new"]),
        (("run",), "arm", ["no such file; is it arm.toml?"]),
        (("report", "view", "info"), "missing", ["no such file", "netCDF, .nc"]),
        (("report", "info"), "arm.toml", ["a model file, not a run", "elver run arm.toml"]),
        (("report", "view", "info"), "empty.nc", ["empty file", "not a run"]),
        (("report", "view", "info"), "picture.png", ["PNG picture", "expected a run"]),
        (("report", "view", "info"), "photo.nc", ["JPEG picture", "expected a run"]),
        (("report", "info"), "arm.ncc", ["no such file", "is it arm.nc?"]),
        (("view",), "missing.toml", ["no such file"]),
    ]
    for command in commands
]


@pytest.mark.parametrize(("command", "name", "said"), WRONG)
def test_the_wrong_file_gets_a_good_answer(files, monkeypatch, command, name, said):
    monkeypatch.chdir(files)
    done = runner.invoke(app, [command, name])
    assert done.exit_code == 2, done.output
    message = " ".join(done.output.split())
    assert message.startswith("bad input: ")
    assert message.count("bad input") == 1
    for words in said:
        assert words in message, message


def test_the_title_of_a_model_file_reaches_run_and_report(files, monkeypatch):
    monkeypatch.chdir(files)
    title = "The arm of the first minute"
    assert runner.invoke(app, ["run", "arm.toml", "-o", "titled.nc"]).exit_code == 0
    assert io.load("titled.nc").attrs["title"] == title
    assert runner.invoke(app, ["report", "titled.nc"]).exit_code == 0
    assert f"<h1>{title}</h1>" in Path("titled.html").read_text(encoding="utf-8")
    assert runner.invoke(app, ["equilibrium", "arm.toml", "-o", "rest.nc"]).exit_code == 0
    assert io.load("rest.nc").attrs["title"] == title


def test_the_title_goes_with_the_system(files, tmp_path):
    system = ev.load_model(files / "arm.toml").system
    assert system.title == "The arm of the first minute"
    again = ev.load_model(ev.save_model(tmp_path / "again.toml", system))
    assert (again.title, again.system.title) == (system.title, system.title)
    assert io.loads(io.dumps(system)).title == system.title
