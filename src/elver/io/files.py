"""Runs as netCDF files (HDF5), readable by xarray, MATLAB, Julia, Panoply and the rest.

A run is an ``xarray.Dataset``. Its names may hold "/" (``arm/tip/position``), which netCDF forbids: in the
file the slash is a dot, and a dot or percent sign of the name is ``%2E`` or ``%25``, to undo it exactly. So are
blanks (``limb%201.s``): netCDF lists coordinates in one text, with blanks between them.
Attributes that netCDF cannot hold (True, None, lists of texts, mappings) are stored as ``json:`` texts.

Whatever happens while writing, a file under its final name is whole: :func:`save` writes beside it and
renames; :class:`RunFile` appends a chunk of steps at a time, into room made ahead in the same way. A file has one
writer at a time (:mod:`elver.io.locks`), and a full disk is told (:mod:`elver.io.safe_writing`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import h5py
import numpy as np
import xarray as xr

from elver.errors import BadInput, as_path, expect
from elver.io.locks import Lock
from elver.io.netcdf import Content, Stored, variable_in, write_netcdf
from elver.io.recognise import instead_of_run, like_named
from elver.io.safe_writing import checked_target, interrupt_deferred, patient, replacing, told

__all__ = ["RunFile", "collect", "load", "part", "save"]

FORMAT = 1
_STEPS = "elver_steps"
TIME_CHUNK = 256  # steps per HDF5 chunk: 2 kB per scalar, large beside HDF5's own bookkeeping


# ------------------------------------------------------------------------------- whole files


def save(run: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write ``run`` to ``path`` and return it; an existing file is replaced only by a complete new one."""
    expect("save", "run", run, xr.Dataset, wanted="a run (a Dataset)", example="simulate(system, duration=1.0)")
    target = checked_target(path)
    with told(target):
        lock = Lock(target)
        try:
            _write_whole(_to_file_form(run), target)
        finally:
            lock.release()
    return target


def _write_whole(content: Content, target: Path, growing: str | None = None) -> None:
    """A new file in the place of ``target``; the dimension ``growing`` may grow."""
    with replacing(target) as temporary:
        write_netcdf(content, temporary, growing, TIME_CHUNK)


def load(path: str | os.PathLike[str]) -> xr.Dataset:
    """The run in ``path``, in memory, as :func:`save` or :class:`RunFile` wrote it."""
    source = as_path("load", path, "run.nc")
    try:
        otherwise = instead_of_run(source)
    except FileNotFoundError:
        close = like_named(source, ".nc")
        raise BadInput(f"{source}: no such file; expected a run that elver saved (netCDF, .nc){close}") from None
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror}); check the name and its permissions") from None
    if otherwise:
        raise BadInput(f"{source}: {otherwise}")
    try:
        with xr.open_dataset(
            source, engine="h5netcdf", decode_times=False, decode_timedelta=False, mask_and_scale=False
        ) as stored:
            data = stored.load()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise BadInput(
            f"{source}: not readable ({_why(error)}); expected a run that elver saved (netCDF, .nc)"
        ) from error
    version = data.attrs.get("elver_format")
    if version is None:
        raise BadInput(f"{source}: a netCDF file, but not a run of elver (it has no attribute elver_format)")
    if int(version) > FORMAT:
        raise BadInput(
            f"{source}: written in format {int(version)}, this version of elver reads up to {FORMAT}; "
            "install a newer one"
        )
    if _STEPS in data:
        steps = data[_STEPS]
        data = data.drop_vars(_STEPS).isel({steps.attrs["dimension"]: slice(int(steps))})
    return _from_file_form(data)


def _why(error: Exception) -> str:
    """What HDF5 says, in plain words where they are known."""
    said = str(error)
    if "file signature not found" in said:
        return "it is no netCDF-4 file"
    if cut := re.search(r"truncated file: eof = (\d+), .*stored_eof = (\d+)", said):
        return f"it is cut off after {cut[1]} of {cut[2]} bytes: copy it again, or compute it again"
    return said


# ----------------------------------------------------------------------------- growing files


class RunFile:
    """A file that grows while a run is computed, so that nothing computed is lost.

    ::

        with RunFile("arm.nc") as file:
            for chunk in chunks:        # datasets that follow each other in time
                file.append(chunk)

    The first chunk also brings what does not depend on time, and the attributes. :func:`load` reads the file at any
    moment, also when the process was killed within an append: it has room for more steps than were taken, and the
    variable ``elver_steps`` counts them until the run ends (other readers see zeros behind them). Ctrl-C during an
    append takes effect after it. The attribute ``status`` says how the run ended: "running", "complete",
    "complete, ..." with what to know about it, or "stopped: ..." with the reason. From the beginning until
    :meth:`close` nobody else may write to it. Where there is no room, :class:`elver.CannotWrite` is raised and the file
    keeps the steps it has.
    """

    def __init__(self, path: str | os.PathLike[str], *, dimension: str = "time") -> None:
        self.path = checked_target(path)
        with told(self.path):
            self._lock = Lock(self.path)
        self.dimension = dimension
        self.steps = 0
        self._room = 0
        self._is_complete = False
        self._growing: frozenset[str] = frozenset()
        self._file: tuple[int, int] = (0, 0)  # device and number of the file: its name may come to mean another

    def __reduce__(self) -> Any:
        raise TypeError(f"{self.path}: a file that is being written cannot be sent elsewhere; send its name")

    def append(self, chunk: xr.Dataset) -> None:
        """Add the steps of ``chunk`` after those already in the file."""
        if self.dimension not in chunk.dims:
            raise BadInput(f"{self.path}: no dimension {self.dimension!r} in the chunk, only {tuple(chunk.dims)}")
        self._lock.check()
        with interrupt_deferred(), told(self.path, f"{self.steps} steps" if self.steps else ""):
            if self.steps == 0:
                self._create(_to_file_form(chunk.assign_attrs(status="running")))
            else:
                self._extend(_to_file_form(chunk))
            self.steps += chunk.sizes[self.dimension]

    def complete(self, whole: xr.Dataset) -> None:
        """Put the whole run, as the one who appended it has it, in the place of what was appended."""
        self._lock.check()
        with interrupt_deferred(), told(self.path, f'{self.steps} steps, with the status "running"'):
            if self.steps:
                self._check_unchanged()
            _write_whole(_to_file_form(whole), self.path)
            self._is_complete = True

    def close(self, status: str = "complete", attributes: Mapping[str, Any] | None = None) -> None:
        """Say in the file how the run ended, with further ``attributes``, and give back the room for more steps."""
        self._lock.check()
        try:
            if self.steps and not self._is_complete:
                with interrupt_deferred(), told(self.path, f'{self.steps} steps, with the status "running"'):
                    self._check_unchanged()
                    whole = load(self.path).assign_attrs(attributes or {}, status=status)
                    _write_whole(_to_file_form(whole), self.path)
        finally:
            self._lock.release()

    def __enter__(self) -> RunFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif isinstance(error, KeyboardInterrupt):
            self.close("stopped: interrupted by the user")
        else:
            self.close(f"stopped: {error}")

    def _create(self, content: Content) -> None:
        dimension = _file_name(self.dimension)
        self._growing = _growing(content, dimension)
        self._room = content.sizes[dimension]
        count = Stored((), np.array(self._room), {"dimension": dimension})
        _write_whole(replace(content, variables={**content.variables, _STEPS: count}), self.path, dimension)
        self._file = _identity(self.path)

    def _extend(self, content: Content) -> None:
        """Fill room that the file has already: nothing of HDF5's own books changes, so no moment is a bad one."""
        dimension = _file_name(self.dimension)
        names = _growing(content, dimension)
        if names != self._growing:
            odd = ", ".join(sorted(_name_from_file(n) for n in names ^ self._growing))
            raise BadInput(f"{self.path}: chunks must hold the same variables; they differ in {odd}")
        self._check_unchanged()
        end = self.steps + content.sizes[dimension]
        if end > self._room:
            try:
                self._make_room(max(end, 2 * self._room, TIME_CHUNK))
            except OSError:
                self._make_room(end)  # as long as there is room for these
        # h5py is the layer below netCDF, which opens a file ten times faster; others may read what is there meanwhile
        with patient(self.path, "r+b") as disk, h5py.File(disk, "r+") as file:
            for name in names:
                source = content.variables[name]
                rows = tuple(slice(self.steps, end) if d == dimension else slice(None) for d in source.dims)
                variable_in(file, name)[rows] = source.values
            file.flush()
            file[_STEPS][()] = end

    def _make_room(self, steps: int) -> None:
        """Put a copy of the file in its place, with room for so many steps."""
        dimension = _file_name(self.dimension)
        with replacing(self.path) as temporary:
            shutil.copyfile(self.path, temporary)
            with patient(temporary, "r+b") as disk, h5py.File(disk, "r+") as file:
                for name in self._growing | {dimension}:
                    target = variable_in(file, name)
                    axis = target.maxshape.index(None)
                    target.resize(steps, axis=axis)
                    rows = tuple(slice(self._room, None) if i == axis else slice(None) for i in range(target.ndim))
                    target[rows] = np.zeros((), target.dtype)  # HDF5 gives a chunk its place when it is written
        self._room, self._file = steps, _identity(self.path)

    def _check_unchanged(self) -> None:
        """What lies under this name is what was written, not another file that was put in its place."""
        if not self.path.exists() or _identity(self.path) != self._file:
            raise BadInput(
                f"{self.path}: was removed or replaced while a run was written to it; give each run a file of its own"
            )


def _identity(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_dev, about.st_ino


def _growing(content: Content, dimension: str) -> frozenset[str]:
    return frozenset(name for name, variable in content.variables.items() if dimension in variable.dims)


# ----------------------------------------------------------------------- several runs in one


def collect(runs: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Several runs in one dataset: every variable and dimension ``x`` of run ``name`` becomes ``name/x``.

    The attributes of each are kept as one attribute ``name``; :func:`part` takes a run out again.
    """
    parts: list[xr.Dataset] = []
    attributes: dict[str, Any] = {}
    for name, run in runs.items():
        if not name or "/" in name:
            raise BadInput(f"run name {name!r}: give a name without '/'")
        renamed = run.rename({key: f"{name}/{key}" for key in {*run.variables, *run.dims}})
        attributes[name] = dict(run.attrs)
        parts.append(renamed.drop_attrs(deep=False))
    if not parts:
        raise BadInput("collect: no run given")
    return xr.merge(parts, join="exact", combine_attrs="no_conflicts").assign_attrs(parts=attributes)


def part(runs: xr.Dataset, name: str) -> xr.Dataset:
    """The run called ``name`` in what :func:`collect` made."""
    attributes = runs.attrs.get("parts", {})
    if name not in attributes:
        known = ", ".join(attributes) or "none: it was not made by collect"
        raise BadInput(f"no run called {name!r} in this dataset; known: {known}")
    prefix = f"{name}/"
    chosen = runs[[key for key in runs.data_vars if str(key).startswith(prefix)]]
    for key in runs.coords:
        if str(key).startswith(prefix) and key not in chosen.coords:
            chosen = chosen.assign_coords({key: runs.coords[key]})
    chosen = chosen.drop_vars([key for key in chosen.coords if not str(key).startswith(prefix)])
    short = {key: str(key).removeprefix(prefix) for key in {*chosen.variables, *chosen.dims}}
    return chosen.rename(short).drop_attrs(deep=False).assign_attrs(attributes[name])


# ------------------------------------------------------------------------- names, attributes


_CODED = re.compile(r"[%.\s\x00-\x1f\x7f]")  # with the control characters, which netCDF forbids too


def _file_name(name: Any) -> str:
    return _CODED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), str(name)).replace("/", ".")


def _name_from_file(name: Any) -> str:
    return unquote(str(name).replace(".", "/"))


def _file_attributes(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            plain = not value.startswith("json:")
        else:
            plain = isinstance(value, (int, float, np.number, np.ndarray)) and not isinstance(value, bool)
        result[str(key)] = value if plain else "json:" + json.dumps(value, ensure_ascii=False)
    return result


def _attributes_from_file(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in attributes.items():
        if isinstance(value, str) and value.startswith("json:"):
            result[str(key)] = json.loads(value.removeprefix("json:"))
        else:
            result[str(key)] = value.item() if isinstance(value, np.generic) else value
    return result


def _to_file_form(run: xr.Dataset) -> Content:
    variables = {}
    for key, variable in run.variables.items():
        if variable.dtype.kind in "mMO":  # instants, spans, and what only xarray knows how to put down as numbers
            variable = xr.conventions.encode_cf_variable(variable, name=key)
        dims = tuple(_file_name(name) for name in variable.dims)
        variables[_file_name(key)] = Stored(dims, variable.values, _file_attributes(variable.attrs))
    coordinates = frozenset(_file_name(key) for key in run.coords)
    return Content(variables, coordinates, {**_file_attributes(run.attrs), "elver_format": FORMAT})


def _from_file_form(stored: xr.Dataset) -> xr.Dataset:
    run = stored.rename({key: _name_from_file(key) for key in {*stored.variables, *stored.dims}})
    attributes = _attributes_from_file(run.attrs)
    attributes.pop("elver_format", None)
    for variable in run.variables.values():
        variable.attrs = _attributes_from_file(variable.attrs)
        variable.encoding = {}
    run.attrs = attributes
    run.encoding = {}
    return run
