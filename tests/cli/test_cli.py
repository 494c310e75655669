"""The command line: exit codes, messages, files; every help text teaches by an example."""

import json
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import elver.cli.bench
import elver.cli.gallery
from elver import io
from elver.cli import app
from elver.cli.bench import Benchmark, Row, cpu_time

runner = CliRunner()

PAPER = 'title = "A bent arm"\nsource = "Euler 1744"\nfigure = "Fig. 7"\n'
RUN = """
import numpy as np
import xarray as xr

from . import helper


def run(quick):
    value = helper.VALUE
    metrics = {
        "tip deflection": {
            "value": value, "unit": "m", "reference": 0.8106, "tolerance": 1e-3,
            "source": "Euler 1744, Fig. 7",
        }
    }
    return xr.Dataset({"arm/tip/position": ("time", np.zeros(3 if quick else 5))}), metrics
"""
FIGURES = """
def draw(run, path):
    path.write_bytes(b"png")


def animate(run, path, still):
    path.write_bytes(b"gif")
    still.write_bytes(b"png")
"""


@pytest.fixture
def gallery(tmp_path, monkeypatch):
    """A gallery of pages that end as their names say."""
    root = tmp_path / "gallery"
    endings = {
        "good": "VALUE = 0.8110",
        "missed": "VALUE = 0.8200",
        "nan": "VALUE = float('nan')",
        "stuck": "from elver.errors import NotConverged\nraise NotConverged('residual 3 N after 20 steps')",
        "bad": "from elver.errors import BadInput\nraise BadInput('radius = -1 m: must be positive')",
        "interrupted": "from elver.errors import Interrupted\nraise Interrupted('stopped at t = 0.2 s')",
        "broken": "raise ZeroDivisionError('a mistake of ours')",
    }
    for name, helper in endings.items():
        page = root / name
        page.mkdir(parents=True)
        (page / "paper.toml").write_text(PAPER)
        (page / "run.py").write_text(RUN)
        (page / "figures.py").write_text(FIGURES)
        (page / "helper.py").write_text(helper)
    monkeypatch.setattr(elver.cli.gallery, "folder", lambda name: tmp_path / name)
    return root


class TestGallery:
    def test_list_names_every_page(self, gallery):
        result = runner.invoke(app, ["gallery", "list"])
        assert result.exit_code == 0
        for page in gallery.iterdir():
            assert page.name in result.stdout

    def test_run_writes_figure_run_and_metrics(self, gallery, tmp_path):
        out = tmp_path / "new" / "out"
        result = runner.invoke(app, ["gallery", "run", "good", "--out", str(out)])
        assert result.exit_code == 0, result.output
        names = {"figure.png", "run.nc", "metrics.json", "animation.gif", "still.png"}
        assert {p.name for p in out.iterdir()} == names
        assert io.load(out / "run.nc").sizes["time"] == 5
        metrics = json.loads((out / "metrics.json").read_text())
        assert metrics == {
            "tip deflection": {
                "value": 0.8110,
                "unit": "m",
                "reference": 0.8106,
                "source": "Euler 1744, Fig. 7",
                "tolerance": 1e-3,
            }
        }
        printed = result.stdout.replace("\n", "")
        assert all(str(out / name) in printed for name in names)

    def test_quick_is_passed_on_and_draws_no_animation(self, gallery, tmp_path):
        result = runner.invoke(app, ["gallery", "run", "good", "--quick", "--out", str(tmp_path / "q")])
        assert result.exit_code == 0
        assert io.load(tmp_path / "q" / "run.nc").sizes["time"] == 3
        assert not (tmp_path / "q" / "animation.gif").exists()

    @pytest.mark.parametrize("name", ["missed", "nan"])
    def test_missed_metric_is_exit_code_1(self, gallery, tmp_path, name):
        result = runner.invoke(app, ["gallery", "run", name, "--out", str(tmp_path / "out")])
        assert result.exit_code == 1
        assert "missed" in result.stdout
        assert (tmp_path / "out" / "figure.png").exists()

    def test_unknown_page_is_exit_code_2_and_lists_the_known(self, gallery):
        result = runner.invoke(app, ["gallery", "run", "gud"])
        assert result.exit_code == 2
        assert "no gallery page called 'gud'" in result.stderr
        assert "good" in result.stderr

    @pytest.mark.parametrize(
        ("name", "code", "message"),
        [
            ("stuck", 1, "not solved: residual 3 N after 20 steps"),
            ("bad", 2, "bad input: radius = -1 m: must be positive"),
            ("interrupted", 130, "interrupted: stopped at t = 0.2 s"),
        ],
    )
    def test_errors_of_the_library_are_one_line(self, gallery, tmp_path, name, code, message):
        result = runner.invoke(app, ["gallery", "run", name, "--out", str(tmp_path / "out")])
        assert result.exit_code == code
        assert result.stderr.strip() == message

    def test_our_own_mistakes_are_not_hidden(self, gallery, tmp_path):
        result = runner.invoke(app, ["gallery", "run", "broken", "--out", str(tmp_path / "out")])
        assert isinstance(result.exception, ZeroDivisionError)

    def test_out_that_is_a_file_is_refused(self, gallery, tmp_path):
        (tmp_path / "file").write_text("")
        result = runner.invoke(app, ["gallery", "run", "good", "--out", str(tmp_path / "file")])
        assert result.exit_code == 2
        assert "cannot be a folder" in result.stderr

    def test_incomplete_page_is_named(self, gallery):
        (gallery / "good" / "paper.toml").write_text('title = "A bent arm"')
        result = runner.invoke(app, ["gallery", "list"])
        assert result.exit_code == 2
        assert "needs a text for source, figure" in result.stderr


class TestBench:
    @pytest.fixture
    def rows(self, tmp_path, monkeypatch):
        (tmp_path / "benchmarks").mkdir()
        (tmp_path / "benchmarks" / "rods.py").write_text(
            "from elver.cli.bench import Row, row\n\n\n"
            "@row('static', unit='ms', goal=1.0)\n"
            "def static(peers):\n"
            "    return Row(ours=0.5, error=2e-7, peers={'exudyn': 18.0} if peers else {})\n\n\n"
            "@row('rough', unit='ms', goal=1.0)\n"
            "def rough(peers):\n"
            "    return Row(ours=None, error=0.2)\n"
        )
        monkeypatch.setattr(elver.cli.bench, "folder", lambda name: tmp_path / name)
        monkeypatch.setattr(elver.cli.bench, "_ROWS", {})

    def test_rows_are_printed_and_written(self, rows, tmp_path):
        path = tmp_path / "bench.json"
        result = runner.invoke(app, ["bench", "--peers", "--only", "static", "--json", str(path)])
        assert result.exit_code == 0, result.output
        assert "exudyn" in result.stdout
        assert json.loads(path.read_text()) == [
            {
                "name": "static",
                "ours": 0.5,
                "unit": "ms",
                "goal": 1.0,
                "error": 2e-7,
                "peers": {"exudyn": 18.0},
            }
        ]

    def test_row_without_its_accuracy_is_missing_not_a_time(self, rows, tmp_path):
        path = tmp_path / "bench.json"
        result = runner.invoke(app, ["bench", "--json", str(path)])
        assert result.exit_code == 1
        assert "missing" in result.stdout
        assert json.loads(path.read_text())[1]["ours"] is None

    def test_unknown_row_lists_the_known(self, rows):
        result = runner.invoke(app, ["bench", "--only", "dynamic"])
        assert result.exit_code == 2
        assert "no benchmark called 'dynamic'; known: static, rough" in result.stderr

    def test_missing_folder_is_refused_before_measuring(self, rows, tmp_path):
        result = runner.invoke(app, ["bench", "--json", str(tmp_path / "none" / "bench.json")])
        assert result.exit_code == 2
        assert "does not exist" in result.stderr

    def test_goal_may_be_a_lower_bound(self):
        speed = Benchmark("speed", "x", 50.0, lambda peers: Row(60.0), goal_is_lower_bound=True)
        assert speed.reached(Row(60.0))
        assert not speed.reached(Row(40.0))

    def test_cpu_time_counts_work_and_not_sleep(self):
        assert cpu_time(lambda: time.sleep(0.02), repeats=1, at_least=0.0) < 0.01
        assert cpu_time(lambda: sum(range(20_000)), repeats=2, at_least=0.01) > 1e-5


@pytest.mark.parametrize(
    "command", [["gallery", "list"], ["gallery", "run"], ["gallery"], ["bench"], ["warmup"], ["version"]]
)
def test_every_help_text_has_an_example(command):
    result = runner.invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert f"elver {' '.join(command)}" in result.stdout.split("Example:")[1]


def test_help_loads_nothing_heavy():
    """It takes 0.15 s for that reason; the time itself is the machine's."""
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom elver.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print(sorted({'numba', 'scipy', 'xarray', 'matplotlib', 'viser'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_version_names_the_libraries():
    result = runner.invoke(app, ["version"])
    assert result.exit_code == 0
    assert "numba" in result.stdout
