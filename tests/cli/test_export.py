"""elver export: tables from files of results."""

import csv

import numpy as np
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


def test_exported_reactions_carry_weight_and_change_momentum(tmp_path):
    """An arm between a clamp and a held tip: what both exert is weight and the rate of momentum, at every instant."""
    arm = ev.Rod(
        0.4, ev.Circle(8e-3), ev.Material(2e6, poisson=0.45, density=1070.0, damping=0.01), ev.Legendre.kirchhoff(4),
        name="arm",
    )  # fmt: skip
    hold = ev.Hold("tip", position=(0.35, 0.0, 0.0), name="grip")
    system = ev.System(ev.Mechanism.clamped(arm, holds=[hold]), loads=[ev.Gravity()])
    run = ev.simulate(
        system, ev.assemble(system), duration=0.2, step=1e-3, method=ev.GeneralizedAlpha(), file=tmp_path / "arm.nc"
    )
    exported(tmp_path / "arm.nc", "--reactions", "-o", tmp_path / "r.csv")
    table = rows(tmp_path / "r.csv")
    assert {row["joint"] for row in table} == {"fixed-1", "grip"}
    on = {side: [f"force_on_{side}_world_{axis} [N]" for axis in "xyz"] for side in "ab"}
    force, opposite = (
        np.array([[float(row[name]) for name in on[side]] for row in table]).reshape(-1, 2, 3) for side in "ba"
    )
    np.testing.assert_allclose(opposite, -force, atol=1e-13)
    weight = np.array([0.0, 0.0, 9.81 * arm.mass])
    # Momentum is differentiated over steps that the vibration of the release does not disturb any more: after 0.1 s.
    rate = np.gradient(run["momentum"].values[:, 3:], run["time"].values, axis=0)
    late = slice(100, -1)
    np.testing.assert_allclose(force.sum(axis=1)[late], (rate + weight)[late], atol=2e-3 * weight[2])


def test_netcdf_says_units_and_axes(file, tmp_path):
    exported(file, "--reactions", "-o", tmp_path / "r.nc")
    found = ev.load(tmp_path / "r.nc")
    np.testing.assert_array_equal(found["force_on_b"], ev.reactions(ev.load(file))["force_on_b"])
    assert found["force_on_b"].attrs == {"units": "N", "long_name": "in joint axes, about the joint's frame on b"}
    assert found["moment_on_a_world"].attrs["units"] == "N m"


def test_a_branch_has_no_forces(tmp_path):
    arm = ev.Rod(0.3, ev.Circle(8e-3), ev.Material(2e6, 1070.0, poisson=0.45), ev.Legendre(bending=2), name="arm")
    ev.save_model(
        tmp_path / "arm.toml",
        ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity(name="weight")]),
        study=ev.io.ContinuationStudy("weight", 1.0, step=0.5),
    )
    assert runner.invoke(app, ["run", str(tmp_path / "arm.toml"), "-o", str(tmp_path / "b.nc")]).exit_code == 0
    result = runner.invoke(app, ["export", str(tmp_path / "b.nc"), "--reactions"])
    assert result.exit_code == 2
    assert "branch.equilibria[k]" in result.output


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
