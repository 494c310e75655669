"""Plain arrays with names into netCDF-4 files, by HDF5 alone: ten times as quick as by the layers that read them.

The file is what the netCDF-4 format asks for: each dimension is a dimension scale of HDF5 (a variable of its own name,
or a placeholder where there is none), variables refer to the scales of their dimensions, everything is kept in
the order of its making, and the attributes ``_Netcdf4Dimid`` and ``_Netcdf4Coordinates`` number the dimensions.
Coordinates that are no dimensions stand in the attribute ``coordinates`` of the variables they belong to, as in the
climate and forecast conventions; truth values are bytes with the attribute ``dtype = "bool"``, as xarray writes them.
There are no fill values: a NaN is a NaN.

Sources: NetCDF-4 file format specification (Unidata, appendix C.3 of the NetCDF User's Guide); HDF5 dimension scale
specification; CF conventions 1.10, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
from h5py import h5a, h5d, h5ds, h5p, h5s, h5t
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.io.safe_writing import patient

__all__ = ["Content", "Stored", "variable_in", "write_netcdf"]

Array: TypeAlias = NDArray[Any]

_IN_MEMORY = 64_000_000  # bytes; a smaller file is made in memory and written in one go
_PLACEHOLDER = "This is a netCDF dimension but not a netCDF variable. %9d"
_TEXT = h5py.string_dtype()


@dataclass(frozen=True, eq=False)
class Stored:
    """A variable as it stands in a file: names of its dimensions, numbers or texts, attributes."""

    dims: tuple[str, ...]
    values: Array
    attributes: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Content:
    """All that a file holds; ``coordinates`` are the names of those variables that say where others are."""

    variables: Mapping[str, Stored]
    coordinates: frozenset[str]
    attributes: Mapping[str, Any]

    @property
    def sizes(self) -> dict[str, int]:
        """Lengths of all dimensions, in the order in which variables have them."""
        found: dict[str, int] = {}
        for variable in self.variables.values():
            found |= zip(variable.dims, variable.values.shape)
        return found


def write_netcdf(content: Content, path: Path, growing: str | None = None, chunk: int = 1) -> None:
    """Write a new file; the dimension ``growing`` may become longer, and lies in pieces of ``chunk``."""
    size = sum(variable.values.nbytes for variable in content.variables.values())
    if size > _IN_MEMORY:
        with patient(path, "w+b") as disk, h5py.File(disk, "w", track_order=True) as file:
            _fill(file, content, growing, chunk)
        return
    room = {"driver": "core", "backing_store": False, "block_size": 1 << 20}
    with h5py.File(str(path), "w", track_order=True, **room) as file:
        _fill(file, content, growing, chunk)
        file.flush()
        image = file.id.get_file_image()
    with patient(path, "w+b") as disk:
        disk.write(image)


def variable_in(file: h5py.File, name: str) -> h5py.Dataset:
    """A variable by its name in netCDF, which has its own way to call one like a dimension that it does not hold."""
    other = f"_nc4_non_coord_{name}"
    return file[other if other in file else name]


def _fill(file: h5py.File, content: Content, growing: str | None, chunk: int) -> None:
    sizes = content.sizes
    number = {name: k for k, name in enumerate(sizes)}
    named, attributes = _with_coordinates(content)
    pieces = None if growing is None else (growing, chunk)
    made = {}
    for name, variable in content.variables.items():
        is_scale = variable.dims[:1] == (name,)
        inside = name if is_scale or name not in sizes else f"_nc4_non_coord_{name}"
        made[name] = _dataset(file, inside, variable, pieces)
    scales = {name: made[name] for name, v in content.variables.items() if v.dims[:1] == (name,)}
    for name, size in sizes.items():
        if name in scales:
            h5ds.set_scale(scales[name], name.encode())
        else:
            empty = Stored((name,), np.broadcast_to(np.array(0.0, dtype=">f4"), (size,)), {})
            scales[name] = _dataset(file, name, empty, pieces, hold=False)
            h5ds.set_scale(scales[name], (_PLACEHOLDER % size).encode())
        _attribute(scales[name], "_Netcdf4Dimid", np.array(number[name], dtype=np.int32))
    for name, variable in content.variables.items():
        target, dims = made[name], variable.dims
        if dims and dims[0] != name:
            for axis, dimension in enumerate(dims):
                h5ds.attach_scale(target, scales[dimension], axis)
            _attribute(target, "_Netcdf4Dimid", np.array(number[dims[0]], dtype=np.int32))
        if dims:
            _attribute(target, "_Netcdf4Coordinates", np.array([number[d] for d in dims], dtype=np.int32))
        _attributes(target, named[name])
    _attributes(file.id, attributes)
    by = f"version=2,h5py={h5py.__version__},hdf5={h5py.version.hdf5_version}"
    _attribute(file.id, "_NCProperties", np.array(by.encode()))  # of fixed length: netCDF reads no other


def _with_coordinates(content: Content) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Attributes of the variables and of the file, with the names of the coordinates that are no dimensions."""
    own = {name: dict(variable.attributes) for name, variable in content.variables.items()}
    free = sorted(content.coordinates - {*content.sizes})
    named: set[str] = set()
    for name, variable in content.variables.items():
        if name in free or name in variable.dims:
            continue
        here = [other for other in free if {*content.variables[other].dims} <= {*variable.dims}]
        if here:
            own[name].setdefault("coordinates", " ".join(here))
            named |= {*str(own[name]["coordinates"]).split()}
    rest = [name for name in free if name not in named]
    return own, {**content.attributes, **({"coordinates": " ".join(rest)} if rest else {})}


def _dataset(
    file: h5py.File, name: str, variable: Stored, pieces: tuple[str, int] | None, *, hold: bool = True
) -> h5d.DatasetID:
    """A dataset of HDF5 with these values; ``hold`` is false for placeholders, which have none."""
    values, attributes = _plain(name, variable)
    on_disk, in_memory = _types(values.dtype)
    longest, chunk = values.shape, None
    if pieces is not None and pieces[0] in variable.dims:
        longest = tuple(h5s.UNLIMITED if d == pieces[0] else n for d, n in zip(variable.dims, values.shape))
        chunk = tuple(pieces[1] if n == h5s.UNLIMITED else max(1, n) for n in longest)
    made = h5d.create(file.id, name.encode(), on_disk, _space(values.shape, longest), _layout(chunk))
    if hold and values.size:
        made.write(h5s.ALL, h5s.ALL, values, in_memory)
    for key, value in attributes.items():
        _attribute(made, key, value)
    return made


def _plain(name: str, variable: Stored) -> tuple[Array, dict[str, Any]]:
    """Values that HDF5 holds as netCDF wants them, and the attributes that tell what they were."""
    values = np.asarray(variable.values)
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values).view(np.int8), {"dtype": "bool"}
    if values.dtype.kind in "iuf":
        return (values if values.flags.c_contiguous else values.copy(order="C")), {}
    if values.dtype.kind in "OU" and all(isinstance(value, str) for value in values.flat):
        return values.astype(_TEXT), {}
    raise BadInput(f"{name}: holds {values.dtype}; a netCDF file takes numbers, truth values and texts")


def _attributes(target: Any, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        _attribute(target, name, value if isinstance(value, str) else np.atleast_1d(value))


def _attribute(target: Any, name: str, value: str | Array) -> None:
    """An attribute: one text, or an array of numbers or texts."""
    array: Array = np.array(value, dtype=_TEXT) if isinstance(value, str) else value
    if array.dtype.kind == "U":
        array = array.astype(_TEXT)
    on_disk, in_memory = _types(array.dtype)
    array = array if array.flags.c_contiguous else array.copy(order="C")
    h5a.create(target, name.encode(), on_disk, _space(array.shape, array.shape)).write(array, in_memory)


@lru_cache(maxsize=64)
def _types(kind: np.dtype[Any]) -> tuple[h5t.TypeID, h5t.TypeID]:
    """A type as it is stored, and as it stands in memory."""
    if kind.kind == "O":
        return h5t.py_create(_TEXT, logical=True), h5t.py_create(_TEXT)
    return h5t.py_create(kind, logical=True), h5t.py_create(kind)


@lru_cache(maxsize=64)
def _space(shape: tuple[int, ...], longest: tuple[int, ...]) -> h5s.SpaceID:
    return h5s.create_simple(shape, longest) if shape else h5s.create(h5s.SCALAR)


@lru_cache(maxsize=64)
def _layout(chunk: tuple[int, ...] | None) -> h5p.PropDCID:
    how = h5p.create(h5p.DATASET_CREATE)
    how.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    if chunk is not None:
        how.set_chunk(chunk)
    return how
