"""Tables: what is in a dataset is in its CSV, under names with units."""

import csv

import numpy as np
import pytest

import elver as ev


@pytest.fixture(scope="module")
def run():
    arm = ev.Rod(
        0.3, ev.Circle(8e-3), ev.Material(2e6, poisson=0.45, density=1070.0), ev.Legendre(bending=2), name="arm"
    )
    tendon = ev.SpooledTendon(arm, ev.parallel(z=6e-3), name="cable")
    system = ev.System(ev.Mechanism.clamped(arm), [tendon], [ev.Gravity()])
    return ev.simulate(system, {tendon: 1e-4}, duration=0.02, step=5e-3, inputs={tendon: 1e-4})


def table(path):
    with path.open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return {name: [row[k] for row in rows] for k, name in enumerate(head)}


def test_a_run_over_time(run, tmp_path):
    """Coordinates, rates, inputs, multipliers, energies with the units of each; every digit is there."""
    found = table(ev.save_csv(run, tmp_path / "run.csv"))
    assert len(found["time [s]"]) == 5
    for name, values in (
        ("q_arm/K_y[0] [1/m]", run["q"][:, 0]),
        ("q_dot_arm/K_y[0] [1/m/s]", run["q_dot"][:, 0]),
        ("energy/total [J]", run["energy/total"]),
        ("inputs_cable [m]", run["inputs"][:, 0]),
        ("multipliers_cable/tension [N]", run["multipliers"][:, 0]),
        ("arm/tip/position_z [m]", run["arm/tip/position"][:, 2]),
        ("arm/base/twist_rx [rad/s]", run["arm/base/twist"][:, 0]),
        ("arm/base/twist_x [m/s]", run["arm/base/twist"][:, 3]),
        ("momentum_z [kg m/s]", run["momentum"][:, 5]),
    ):
        assert np.array_equal(np.array(found[name], float), values.values), name
    assert not any("arm_node" in name or name.startswith("arm/position") for name in found)


def test_samples_have_a_row_per_instant_and_place(run, tmp_path):
    d = ev.sample(run, at=[0.1, 0.2, 0.3], times=[0.0, 0.013])
    found = table(ev.save_csv(d, tmp_path / "samples.csv"))
    assert list(map(float, found["time [s]"])) == [0.0] * 3 + [0.013] * 3
    assert list(map(float, found["s [m]"])) == [0.1, 0.2, 0.3] * 2
    np.testing.assert_array_equal(np.array(found["moment_y [N m]"], float), d["moment"][..., 1].values.ravel())
    np.testing.assert_array_equal(np.array(found["tension_cable [N]"], float), d["tension"][..., 0].values.ravel())
    assert "orientation_w [1]" in found
    one = table(ev.save_csv(ev.sample(run, at=0.1, times=0.013), tmp_path / "one.csv"))
    assert one["time [s]"] == ["0.013"]
    assert one["force_x [N]"] == [found["force_x [N]"][3]]


def test_reactions_have_a_row_per_joint(run, tmp_path):
    d = ev.reactions(run)
    found = table(ev.save_csv(d, tmp_path / "reactions.csv"))
    assert found["joint"] == ["fixed-1"] * 5
    assert found["b"][0] == "arm at base"
    np.testing.assert_array_equal(np.array(found["force_on_b_world_z [N]"], float), d["force_on_b_world"][:, 0, 2])


def test_samples_and_reactions_are_files_too(run, tmp_path):
    """Saved as netCDF they come back as they were."""
    for d in (ev.sample(run, at=[0.1, 0.2]), ev.reactions(run)):
        again = ev.load(ev.save(d, tmp_path / "d.nc"))
        assert again.identical(d)


def test_what_is_no_table_is_refused(run, tmp_path):
    with pytest.raises(ev.BadInput, match=r"a table is a \.csv file, such as run\.csv"):
        ev.save_csv(run, tmp_path / "run.txt")
    with pytest.raises(ev.BadInput, match="is no dataset"):
        ev.save_csv([1, 2], tmp_path / "run.csv")
    with pytest.raises(ev.BadInput, match="cannot be written"):
        ev.save_csv(run, tmp_path / "nowhere" / "run.csv")
