"""Runs survive the way to a file and back, whatever happens on the way."""

import os
import signal

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from elver.errors import BadInput
from elver.io import RunFile, collect, load, part, save
from elver.io.files import _file_name, _name_from_file


def small_run(start: int = 0, steps: int = 6) -> xr.Dataset:
    time = 0.01 * np.arange(start, start + steps)
    nodes = np.linspace(0.0, 0.4, 5)
    position = np.stack(np.broadcast_arrays(nodes, np.sin(time)[:, None], 0.0), axis=-1)
    energy = np.cos(time)
    if start == 0:
        energy[0] = np.nan  # a hole in a run is a hole, not a fill value
    return xr.Dataset(
        {
            "arm/position": (("time", "arm_node", "xyz"), position, {"units": "m"}),
            "arm/tip/position": (("time", "xyz"), position[:, -1], {"units": "m"}),
            "arm/half_width": (("arm_node", "yz"), np.full((5, 2), 0.008), {"units": "m"}),
            "energy/total": (("time",), energy, {"units": "J"}),
            "inputs": (("time", "input"), np.ones((steps, 2)), {"units": ["N", "1"]}),
            "newton_iterations": (("time",), np.full(steps, 3)),
            "accepted": (("time",), np.ones(steps, dtype=bool)),
        },
        coords={
            "time": ("time", time, {"units": "s"}),
            "arm/s": ("arm_node", nodes, {"units": "m"}),
            "xyz": ["x", "y", "z"],
            "input": ["tendon.1", "gravity"],
        },
        attrs={"elver_version": "0.1.0", "step": 0.01, "model": '{"type": "System"}', "adaptive": False},
    )


def test_round_trip_is_identical(tmp_path):
    run = small_run()
    loaded = load(save(run, tmp_path / "run.nc"))
    xr.testing.assert_identical(loaded, run)
    assert loaded["newton_iterations"].dtype == run["newton_iterations"].dtype
    assert loaded["accepted"].dtype == bool


def test_saving_does_not_change_the_run(tmp_path):
    run = small_run()
    save(run, tmp_path / "run.nc")
    xr.testing.assert_identical(run, small_run())


def test_a_loaded_file_can_be_replaced(tmp_path):
    path = save(small_run(), tmp_path / "run.nc")
    longer = small_run(steps=9)
    assert load(path).sizes["time"] == 6
    xr.testing.assert_identical(load(save(longer, path)), longer)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_file_names_are_reversible(name):
    stored = _file_name(name)
    assert "/" not in stored
    assert stored.split() == [stored]  # netCDF lists coordinates with blanks between them
    assert _name_from_file(stored) == name


@pytest.mark.parametrize(
    "name",
    ["limb 1", "Gliedmaße ①", "腕 2", "no\N{NO-BREAK SPACE}break", "tab\tbed", "50%", "%20", "a.b", "left/arm 1"],
)
def test_names_come_back_as_they_were(tmp_path, name):
    short = {key: str(key).replace("arm", name) for key in ("arm/position", "arm/tip/position", "arm/half_width")}
    run = small_run().rename(short | {"arm/s": f"{name}/s", "arm_node": f"{name}_node"})
    xr.testing.assert_identical(load(save(run, tmp_path / "run.nc")), run)
    with RunFile(tmp_path / "grown.nc") as file:
        file.append(run.isel(time=slice(0, 2)))
        file.append(run.isel(time=slice(2, None)))
    xr.testing.assert_identical(load(tmp_path / "grown.nc"), run.assign_attrs(status="complete"))


def test_files_with_blanks_in_their_names_are_read(tmp_path):
    """As they were written before blanks were coded."""
    names = {"limb 1.position": ("time", [1.0, 2.0]), "a%2Eb": ("time", [3.0, 4.0]), "50%25": ("time", [5.0, 6.0])}
    xr.Dataset(names, attrs={"elver_format": 1}).to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
    assert set(load(tmp_path / "old.nc").data_vars) == {"limb 1/position", "a.b", "50%"}


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = save(small_run(), tmp_path / "run.nc")
    unwritable = small_run().assign(odd=("time", np.array([{}] * 6, dtype=object)))
    with pytest.raises((TypeError, ValueError)):
        save(unwritable, path)
    xr.testing.assert_identical(load(path), small_run())
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


class TestRunFile:
    def test_chunks_equal_the_whole(self, tmp_path):
        path = tmp_path / "run.nc"
        with RunFile(path) as file:
            for start, steps in [(0, 4), (4, 1), (5, 300)]:
                file.append(small_run(start, steps))
        assert file.steps == 305
        xr.testing.assert_identical(load(path), small_run(0, 305).assign_attrs(status="complete"))

    def test_chunks_beyond_the_room_made_ahead(self, tmp_path):
        path = tmp_path / "run.nc"
        file = RunFile(path)
        for start in range(0, 900, 100):
            file.append(small_run(start, 100))
            xr.testing.assert_identical(load(path), small_run(0, start + 100).assign_attrs(status="running"))
        file.close()
        xr.testing.assert_identical(load(path), small_run(0, 900).assign_attrs(status="complete"))

    def test_time_without_values_and_a_variable_called_like_another_dimension(self, tmp_path):
        path = tmp_path / "run.nc"
        whole = xr.Dataset({"a": (("time", "b"), np.arange(12.0).reshape(6, 2)), "b": (("c", "time"), np.ones((3, 6)))})
        with RunFile(path) as file:
            file.append(whole.isel(time=slice(4)))
            file.append(whole.isel(time=slice(4, None)))
        xr.testing.assert_identical(load(path), whole.assign_attrs(status="complete"))

    def test_an_append_cut_short_leaves_the_steps_before_it(self, tmp_path, monkeypatch):
        path = tmp_path / "run.nc"
        file = RunFile(path)
        file.append(small_run(0, 4))
        file.append(small_run(4, 4))

        def cut(_):
            raise OSError("no room on the disk")

        monkeypatch.setattr("h5py.File.flush", cut)
        with pytest.raises(OSError, match="no room"):
            file.append(small_run(8, 4))
        xr.testing.assert_identical(load(path), small_run(0, 8).assign_attrs(status="running"))

    def test_file_is_readable_between_chunks(self, tmp_path):
        path = tmp_path / "run.nc"
        file = RunFile(path)
        file.append(small_run(0, 4))
        with xr.open_dataset(path, engine="h5netcdf"):  # somebody looks meanwhile
            file.append(small_run(4, 4))
            file.append(small_run(8, 4))
        xr.testing.assert_identical(load(path), small_run(0, 12).assign_attrs(status="running"))

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (KeyboardInterrupt(), "stopped: interrupted by the user"),
            (RuntimeError("no step"), "stopped: no step"),
        ],
    )
    def test_what_was_computed_survives_a_failure(self, tmp_path, error, status):
        path = tmp_path / "run.nc"
        with pytest.raises(type(error)), RunFile(path) as file:
            file.append(small_run(0, 4))
            raise error
        xr.testing.assert_identical(load(path), small_run(0, 4).assign_attrs(status=status))

    def test_interrupt_during_a_chunk_waits_for_its_end(self, tmp_path, monkeypatch):
        path = tmp_path / "run.nc"
        file = RunFile(path)
        file.append(small_run(0, 4))
        extend = file._extend

        def interrupted_extend(chunk):
            os.kill(os.getpid(), signal.SIGINT)
            extend(chunk)

        monkeypatch.setattr(file, "_extend", interrupted_extend)
        # tests that run in the background of a shell inherit an ignored SIGINT
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                file.append(small_run(4, 4))
        finally:
            signal.signal(signal.SIGINT, before)
        assert load(path).sizes["time"] == 8

    def test_old_file_stays_until_the_first_chunk(self, tmp_path):
        path = save(small_run(), tmp_path / "run.nc")
        with RunFile(path):
            pass
        xr.testing.assert_identical(load(path), small_run())

    def test_chunk_with_other_variables_is_refused(self, tmp_path):
        file = RunFile(tmp_path / "run.nc")
        file.append(small_run(0, 4))
        with pytest.raises(BadInput, match="differ in energy/total"):
            file.append(small_run(4, 4).drop_vars("energy/total"))

    def test_chunk_without_time_is_refused(self, tmp_path):
        with pytest.raises(BadInput, match="no dimension 'time'"):
            RunFile(tmp_path / "run.nc").append(small_run().isel(time=0))


class TestBadFiles:
    def test_missing(self, tmp_path):
        with pytest.raises(BadInput, match=r"none\.nc: no such file; expected a run that elver saved"):
            load(tmp_path / "none.nc")

    def test_not_netcdf(self, tmp_path):
        path = tmp_path / "notes.nc"
        path.write_text("tip at 0.4 m")
        with pytest.raises(BadInput, match=r"notes\.nc: not readable .* expected a run that elver saved"):
            load(path)

    def test_foreign_netcdf(self, tmp_path):
        path = tmp_path / "weather.nc"
        xr.Dataset({"rain": ("day", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
        with pytest.raises(BadInput, match=r"weather\.nc: a netCDF file, but not a run of elver"):
            load(path)

    def test_truncated(self, tmp_path):
        path = save(small_run(), tmp_path / "run.nc")
        path.write_bytes(path.read_bytes()[:2000])
        with pytest.raises(BadInput, match=r"run\.nc: not readable"):
            load(path)

    def test_from_the_future(self, tmp_path):
        path = tmp_path / "run.nc"
        xr.Dataset(attrs={"elver_format": 99}).to_netcdf(path, engine="h5netcdf")
        with pytest.raises(BadInput, match="format 99"):
            load(path)

    def test_folder_missing(self, tmp_path):
        with pytest.raises(BadInput, match="does not exist; create it first"):
            save(small_run(), tmp_path / "new" / "run.nc")

    def test_folder_as_file(self, tmp_path):
        with pytest.raises(BadInput, match="is a folder"):
            save(small_run(), tmp_path)


def test_several_runs_in_one(tmp_path):
    soft, stiff = small_run(0, 4), small_run(2, 7)
    both = load(save(collect({"soft": soft, "stiff": stiff}), tmp_path / "both.nc"))
    assert both["stiff/arm/tip/position"].dims == ("stiff/time", "stiff/xyz")
    xr.testing.assert_identical(part(both, "soft"), soft)
    xr.testing.assert_identical(part(both, "stiff"), stiff)
    with pytest.raises(BadInput, match=r"no run called 'steel'.*known: soft, stiff"):
        part(both, "steel")
