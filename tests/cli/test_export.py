"""elver export: tables from files of results."""

import csv

import pytest
from typer.testing import CliRunner

import elver as ev
from elver.cli import app

runner = CliRunner()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    arm = ev.Rod(
        0.3, ev.Circle(8e-3), ev.Material(2e6, poisson=0.45, density=1070.0), ev.Legendre(bending=2), name="arm"
    )
    run = ev.simulate(ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity()]), duration=0.05, step=5e-3)
    return ev.save(run, tmp_path_factory.mktemp("export") / "arm.nc")


def exported(*arguments):
    result = runner.invoke(app, ["export", *map(str, arguments)])
    assert result.exit_code == 0, result.output


def rows(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_the_run_itself(file):
    exported(file)
    assert len(rows(file.with_suffix(".csv"))) == 11
    assert "energy/kinetic [J]" in rows(file.with_suffix(".csv"))[0]


def test_places_and_instants(file, tmp_path):
    exported(
        file,
        "--part",
        "arm",
        "--at",
        "0.1",
        "--at",
        "200 mm",
        "--at",
        "tip",
        "--time",
        "0:0.03:0.01",
        "-o",
        tmp_path / "x.csv",
    )
    found = rows(tmp_path / "x.csv")
    assert len(found) == 12
    assert [row["s [m]"] for row in found[:3]] == ["0.1", "0.2", "0.3"]
    expected = ev.sample(ev.load(file), "arm", at=0.2, times=0.03)
    assert float(found[-2]["moment_y [N m]"]) == pytest.approx(float(expected["moment"][1]), rel=1e-12)


def test_reactions(file, tmp_path):
    exported(file, "--reactions", "--time", "10 ms", "-o", tmp_path / "r.csv")
    (row,) = rows(tmp_path / "r.csv")
    assert row["joint"] == "fixed-1"
    assert float(row["time [s]"]) == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "0.1"], "say on which part"),
        (["--part", "leg"], "no part is named 'leg'"),
        (["--part", "arm", "--time", "9"], "outside the run"),
        (["--part", "arm", "--time", "1:0:1"], "start:end:step"),
        (["--part", "arm", "--at", "2 kg"], "kg"),
        (["--time", "0.01"], "say what to sample"),
        (["--part", "arm", "--reactions"], "choose one"),
    ],
)
def test_slips_are_told(file, arguments, message):
    result = runner.invoke(app, ["export", str(file), *arguments])
    assert result.exit_code == 2
    assert message in result.output
