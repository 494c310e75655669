"""Commands on model files: starters run as they are; a killed run is a readable file; exit codes 0, 1, 2."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import elver as ev
from elver.cli import app
from elver.cli.check import changes_of
from elver.cli.new import STARTERS
from elver.errors import BadInput

runner = CliRunner()
ELVER = [sys.executable, "-c", "from elver.cli import main; main()"]


def elver(*arguments):
    return runner.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def result_of(*arguments):
    result = elver(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", STARTERS)
@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
def test_starters_run_as_they_are(kind, folder):
    assert elver("new", kind).exit_code == 0
    assert result_of("check", f"{kind}.toml")["ok"]
    result = result_of("run", f"{kind}.toml", "--set", "study.duration=0.2 s")
    assert (result["status"], result["steps"], result["file"]) == ("complete", 20, f"{kind}.nc")
    about = result_of("info", f"{kind}.nc")
    assert about["complete"]
    assert about["to"] == pytest.approx(0.2)
    model = ev.load_model(f"{kind}.toml")
    again = ev.load_model(ev.save_model("again.toml", model.system, model.inputs, model.study))
    for one, two in zip(model.system.rest().q, again.system.rest().q, strict=True):
        assert one == two


@pytest.mark.parametrize("kind", STARTERS)
def test_every_line_of_a_starter_is_for_reading(kind, folder):
    elver("new", kind, "model.toml")
    text = Path("model.toml").read_text()
    assert text.count("#") >= 5
    assert "elver run model.toml" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_a_starter_replaces_nothing_unless_told(folder):
    assert elver("new", "rod").exit_code == 0
    Path("rod.toml").write_text("mine")
    result = elver("new", "rod")
    assert result.exit_code == 2
    assert "--force" in result.output
    assert Path("rod.toml").read_text() == "mine"
    assert elver("new", "rod", "--force").exit_code == 0
    result = elver("new", "octopus")
    assert result.exit_code == 2
    assert "tendon-arm" in result.output


def test_the_run_is_that_of_python(folder):
    elver("new", "tendon-arm")
    result_of("run", "tendon-arm.toml", "--set", "study.duration=0.1", "--out", "arm.nc")
    model = ev.load_model("tendon-arm.toml")
    run = ev.simulate(model.system, duration=0.1, step=model.study.step, inputs=model.inputs)
    np.testing.assert_array_equal(ev.load("arm.nc")["q"].values, run["q"].values)


def test_settings_change_values(folder):
    elver("new", "tendon-arm")
    pulled = ("equilibrium", "tendon-arm.toml", "--set", "front=1N")
    soft = result_of(*pulled, "--set", "silicone.young=0.5 MPa")
    stiff = result_of(*pulled, "--set", 'materials.silicone.young="2 MPa"')
    assert soft["inputs"]["front"] == stiff["inputs"]["front"] == 1.0
    assert soft["equilibrium"]["arm"][2][3] > stiff["equilibrium"]["arm"][2][3]
    assert changes_of(["a.b=[1, 2]", "c=5N", "d = true"]) == {"a.b": [1, 2], "c": "5N", "d": True}
    for wrong in ("length", "=3", "a="):
        with pytest.raises(BadInput, match="KEY=VALUE"):
            changes_of([wrong])


def test_a_continuation_and_an_equilibrium_are_studies(folder):
    elver("new", "tendon-arm")
    text = Path("tendon-arm.toml").read_text().partition("[study]")[0]
    Path("arm.toml").write_text(text + '[study]\nkind = "continuation"\nover = "front"\nstop = "1 N"\n')
    result = result_of("run", "arm.toml")
    branch = ev.load("arm.nc")
    assert result["points"] == branch.sizes["point"] > 2
    assert branch["value"].values[-1] >= 1.0
    assert elver("info", "arm.nc").exit_code == 0
    both = '[study]\nkind = "continuation"\nover = { front = 1, left = 0.5 }\nstop = "1 N"\n'
    Path("arm.toml").write_text(text + both)
    assert "continuation over front, left" in elver("check", "arm.toml").stdout
    result_of("run", "arm.toml")
    assert not np.array_equal(ev.load("arm.nc")["q"].values[-1], branch["q"].values[-1])


def test_an_equilibrium_is_a_run_of_one_instant(folder):
    elver("new", "tendon-arm")
    text = Path("tendon-arm.toml").read_text().partition("[study]")[0]
    Path("arm.toml").write_text(text + '[study]\nkind = "equilibrium"\n')
    assert result_of("run", "arm.toml")["stable"]
    assert "stable" in elver("run", "arm.toml").stdout
    found = result_of("equilibrium", "arm.toml", "--set", "right=1 N", "-o", "rest.nc")
    rest = ev.load("rest.nc")
    tip = np.array(found["equilibrium"]["arm"])[:3, 3]
    np.testing.assert_allclose(rest["arm/tip/position"].values, [tip], rtol=0, atol=1e-13)
    assert (rest.attrs["stable"], rest.attrs["status"], rest["q_dot"].values.any()) == (True, "complete", False)
    assert elver("report", "rest.nc").exit_code == 0
    (clamp,) = found["reactions"].values()
    assert clamp["force_on_b_world"][2] == pytest.approx(9.81 * ev.load_model("arm.toml").system.rod.mass, rel=1e-9)
    assert "moment [N m]" in elver("equilibrium", "arm.toml").stdout
    assert elver("equilibrium", "arm.toml", "-o", "arm.toml").exit_code == 2


def test_without_a_study_the_remedy_is_told(folder):
    elver("new", "rod")
    Path("rod.toml").write_text(Path("rod.toml").read_text().partition("[study]")[0])
    result = elver("run", "rod.toml")
    assert result.exit_code == 2
    assert "[study]" in result.output


def test_what_cannot_be_solved_ends_with_one(folder):
    """The motors of a loop are farther apart than its rods reach."""
    elver("new", "parallel-robot")
    result = elver("equilibrium", "parallel-robot.toml", "--set", 'right-motor.a=["world", [5, 0, 0]]')
    assert result.exit_code == 1, result.output
    assert "not solved" in result.output
    assert "Traceback" not in result.output


def test_the_model_file_is_not_overwritten(folder):
    elver("new", "rod")
    result = elver("run", "rod.toml", "--out", "rod.toml")
    assert result.exit_code == 2
    assert "model file itself" in result.output


@pytest.mark.parametrize("command", ["run", "equilibrium", "check"])
def test_bad_files_end_with_two(command, folder):
    Path("bad.toml").write_text("[rods.arm]\nlength = 3 m\n")
    result = elver(command, "bad.toml")
    assert result.exit_code == 2
    assert "line 2" in result.output
    assert "Traceback" not in result.output


def test_info_refuses_what_is_no_run(folder):
    Path("bad.nc").write_text("no run")
    result = elver("info", "bad.nc")
    assert result.exit_code == 2
    assert "bad.nc" in result.output


def test_schema_is_printed_as_json(folder):
    result = elver("schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "Model file of elver"


@pytest.mark.parametrize("arguments", [["--help"], ["check", "rod.toml"], ["schema"], ["check", "none.toml"]])
def test_looking_loads_no_compiled_code(arguments, folder):
    elver("new", "rod")
    code = (
        "import sys\nfrom elver.cli import main\nsys.argv = ['elver', *sys.argv[1:]]\n"
        "try:\n    main()\nfinally:\n    print('loaded', 'numba' in sys.modules, 'xarray' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert result.stdout.strip().endswith("loaded False False")


# A run that is cut off --------------------------------------------------------------------------------------


def started(folder, seconds):
    """A long run in a process of its own, once its file holds some steps."""
    elver("new", "tendon-arm")
    arguments = ["run", "tendon-arm.toml", "--out", "long.nc", "--set", f"study.duration={seconds}"]
    process = subprocess.Popen(
        [*ELVER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )  # fmt: skip
    end = time.monotonic() + 600.0
    while not Path("long.nc").exists() or ev.load("long.nc").sizes["time"] <= 16:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.2)  # looking costs as much as computing
    return process


def test_a_terminal_shows_how_far_a_run_is(folder):
    elver("new", "tendon-arm")
    ours, theirs = pty.openpty()
    arguments = ["run", "tendon-arm.toml", "--set", "study.duration=8"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([*ELVER, *arguments], stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while chunk := os.read(ours, 4096):
            shown += chunk
    os.close(ours)
    assert b"complete: 800 steps" in process.communicate()[0]
    assert b"of 8 s" in shown
    assert b"times real time" in shown


def test_a_killed_run_is_a_readable_file(folder):
    process = started(folder, 3600.0)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    about = result_of("info", "long.nc")
    assert not about["complete"]
    assert about["instants"] > 16
    assert "incomplete" in elver("info", "long.nc").stdout
    # what is there is what a shorter run computes
    run = ev.load("long.nc")
    model = ev.load_model("tendon-arm.toml")
    short = ev.simulate(model.system, duration=0.1, step=0.01, inputs=model.inputs)
    # (two processes: the last bits of sums are the machine's)
    np.testing.assert_allclose(run["q"].values[:11], short["q"].values, rtol=0, atol=1e-12)


def test_ctrl_c_keeps_what_was_computed(folder):
    process = started(folder, 3600.0)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "what was computed is in long.nc" in " ".join(errors.split())  # and nothing that only Python has
    assert "Traceback" not in errors
    about = result_of("info", "long.nc")
    assert about["status"] == "stopped: interrupted by the user"
    assert about["instants"] > 16
