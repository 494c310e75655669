"""Files that HDF5 alone writes are those that xarray and h5netcdf would have written, as every reader sees them."""

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray as xr

import elver as ev
from elver.cli.new import STARTERS, write_starter
from elver.errors import BadInput
from elver.io import RunFile, collect, load, netcdf, save
from elver.io.files import _file_attributes, _file_name

pytestmark = pytest.mark.filterwarnings("ignore:redundant:elver.errors.ElverWarning")  # a loop in its plane


def by_xarray(run, path):
    """The same file by the way over xarray."""
    stored = run.rename({key: _file_name(key) for key in {*run.variables, *run.dims}})
    stored = stored.assign_attrs(_file_attributes(stored.attrs), elver_format=1)
    for variable in stored.variables.values():
        variable.attrs = _file_attributes(variable.attrs)
        variable.encoding = {"_FillValue": None} if variable.dtype.kind == "f" else {}
    stored.to_netcdf(path, engine="h5netcdf")
    return path


def first_steps(name, folder, file=None):
    """The first steps of a robot that a new user gets."""
    write_starter(name, folder / "model.toml", force=True)
    model = ev.load_model(folder / "model.toml")
    state = ev.equilibrium(model.system, model.inputs) if model.system.multipliers else None
    return ev.simulate(model.system, state, 0.05, 0.01, inputs=model.inputs, file=file)


def odd_things(_):
    """What a run of ours has not, and a dataset of the user's may have."""
    return xr.Dataset(
        {
            "narrow": (("x", "y"), np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1]),
            "small": ("x", np.array([1, 2], dtype=np.int16)),
            "positive": ("x", np.array([1, 2], dtype=np.uint8)),
            "turned": ("x", np.array([1.0, 2.0], dtype=">f8")),
            "truth": (("y", "x"), np.array([[True, False]] * 3)),
            "words": ("x", np.array(["", "größer als 3"], dtype=object)),
            "instants": ("x", np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]")),
            "alone": ((), 3.5, {"range": np.array([1.0, 2.0]), "count": 3, "nothing": None, "words": ["a", "b"]}),
            "nobody": ("empty", np.zeros(0)),
            "y": (("x", "z"), np.ones((2, 2))),
        },
        coords={"place": ("x", [0.1, 0.2]), "both": (("x", "z"), np.eye(2)), "where": 7.0, "far": ("q", [1, 2, 3])},
        attrs={"empty": "", "flag": True},
    )


def several(folder):
    """Two runs in one file."""
    return collect({name: first_steps(name, folder) for name in ("tendon-arm", "eel")})


RUNS = {name: (lambda folder, name=name: first_steps(name, folder)) for name in STARTERS}
RUNS |= {"odd things": odd_things, "several": several}


def same_for_every_reader(one, other):
    """Two files hold the same for xarray: variables and their order, dimensions, coordinates, attributes, types."""
    for decode in (True, False):
        with (
            xr.open_dataset(one, engine="h5netcdf", decode_cf=decode) as a,
            xr.open_dataset(other, engine="h5netcdf", decode_cf=decode) as b,
        ):
            xr.testing.assert_identical(a, b)
            assert list(a.variables) == list(b.variables)
            assert list(a.attrs) == list(b.attrs)
            for name in a.variables:
                assert a[name].dtype == b[name].dtype, name
                assert {k: type(v) for k, v in a[name].attrs.items()} == {k: type(v) for k, v in b[name].attrs.items()}
    with h5netcdf.File(one) as a, h5netcdf.File(other) as b:
        assert {name: d.size for name, d in a.dimensions.items()} == {name: d.size for name, d in b.dimensions.items()}


@pytest.mark.parametrize("name", RUNS)
def test_a_file_is_the_one_that_xarray_would_write(name, tmp_path, monkeypatch):
    run = RUNS[name](tmp_path)
    expected = by_xarray(run, tmp_path / "expected.nc")
    same_for_every_reader(save(run, tmp_path / "run.nc"), expected)
    monkeypatch.setattr(netcdf, "_IN_MEMORY", 0)  # as large files are written
    same_for_every_reader(save(run, tmp_path / "large.nc"), expected)


@pytest.mark.parametrize("name", STARTERS)
def test_a_run_is_in_its_file_as_it_was_returned(name, tmp_path):
    run = first_steps(name, tmp_path, tmp_path / "run.nc")
    xr.testing.assert_identical(load(tmp_path / "run.nc"), run)
    same_for_every_reader(tmp_path / "run.nc", by_xarray(run, tmp_path / "expected.nc"))


def test_dimensions_are_scales_of_hdf5(tmp_path):
    """What netCDF asks of HDF5, for readers that go by its lists: each axis has one scale, which knows its users."""
    with h5py.File(save(first_steps("tendon-arm", tmp_path), tmp_path / "run.nc")) as file:
        scales = {name for name in file if file[name].is_scale}
        assert {"time", "arm_node", "xyz", "six"} <= scales
        users = {name: len(file[name].attrs["REFERENCE_LIST"]) for name in scales}
        held = [scale.name[1:] for name in set(file) - scales for axis in file[name].dims for scale in axis.values()]
        assert len(held) == sum(file[name].ndim for name in set(file) - scales)
        assert {name: held.count(name) for name in scales} == users
        assert sorted(int(file[name].attrs["_Netcdf4Dimid"]) for name in scales) == list(range(len(scales)))
        assert file.attrs["_NCProperties"].startswith(b"version=2,")


def test_a_file_that_grows_can_be_read_by_anybody(tmp_path):
    run = first_steps("tendon-arm", tmp_path)
    file = RunFile(tmp_path / "run.nc")
    file.append(run.isel(time=slice(0, 2)))
    file.append(run.isel(time=slice(2, None)))
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as seen:
        assert int(seen["elver_steps"]) == run.sizes["time"]
        assert seen.sizes["time"] >= run.sizes["time"]
        np.testing.assert_array_equal(seen["arm.position"][: run.sizes["time"]], run["arm/position"])
    file.close()
    same_for_every_reader(tmp_path / "run.nc", by_xarray(run.assign_attrs(status="complete"), tmp_path / "expected.nc"))


def test_what_netcdf_cannot_hold_is_refused(tmp_path):
    run = xr.Dataset({"spin": ("time", np.array([1j, 2.0]))})
    with pytest.raises(BadInput, match=r"spin: holds complex128; .* takes numbers, truth values and texts"):
        save(run, tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []
