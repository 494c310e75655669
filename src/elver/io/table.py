"""Tables as CSV files, for spreadsheets and other programs: what was sampled, reactions, or a run over time.

A row belongs to one instant (and place, or joint), a column to one component, with its name and unit in the header, as
in ``position_x [m]``. Numbers have all their digits.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Hashable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from elver.errors import BadInput

__all__ = ["save_csv"]

# Dimensions that make rows; all others make columns.
_ROWS = ("time", "s", "point", "joint")
_COMPONENTS = {"quaternion": "wxyz", "xyz": "xyz", "yz": "yz", "six": ("rx", "ry", "rz", "x", "y", "z")}


def save_csv(data: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write ``data`` to ``path`` (.csv) as a table with units in its header, and return the path.

    ``data`` comes from :func:`elver.sample` or :func:`elver.reactions`, or is a run, of which everything over time is
    written but what is known at every node of a rod: sample that at the places you want.
    """
    if not isinstance(data, xr.Dataset):
        raise BadInput(f"save_csv: a {type(data).__name__} is no dataset; give a run, or what sample or reactions gave")
    target = Path(path)
    if target.suffix.lower() != ".csv":
        raise BadInput(f"{target}: a table is a .csv file, such as {target.with_suffix('.csv').name}")
    rows = [name for name in _ROWS if name in data.dims]
    columns = _index(data, rows)
    for name, values in data.data_vars.items():
        columns += _columns(data, name, values, rows)
    if not rows and not columns:
        raise BadInput("save_csv: the dataset holds nothing over time, places or joints")
    try:
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([header for header, _ in columns])
            writer.writerows(zip(*(values for _, values in columns), strict=True))
    except OSError as error:
        raise BadInput(f"{target}: cannot be written ({error.strerror or error})") from None
    return target


def _index(data: xr.Dataset, rows: list[str]) -> list[tuple[str, list[Any]]]:
    """Columns that say which instant, place and joint a row is of."""
    sizes = [data.sizes[name] for name in rows]
    total = int(np.prod(sizes)) if sizes else 1
    columns = []
    for name in dict.fromkeys((*_ROWS, *map(str, data.coords))):
        if name not in data.coords and name not in rows:
            continue
        values = data.coords[name] if name in data.coords else xr.DataArray(np.arange(data.sizes[name]), dims=name)
        if not set(values.dims) <= set(rows) or (not values.dims and name not in _ROWS):
            continue
        spread = values.broadcast_like(xr.DataArray(np.zeros(sizes), dims=rows)).transpose(*rows) if rows else values
        columns.append((_header(name, values.attrs.get("units")), np.asarray(spread.values).reshape(total).tolist()))
    return columns


def _columns(data: xr.Dataset, name: Hashable, values: xr.DataArray, rows: list[str]) -> list[tuple[str, list[Any]]]:
    """One column per component of a variable; none for what is not told by rows, or is told at nodes."""
    own = [str(dim) for dim in values.dims if dim in rows]
    other = [str(dim) for dim in values.dims if dim not in rows]
    if (rows and not own) or values.dtype.kind not in "fiub" or any(dim.endswith("_node") for dim in other):
        return []
    shape = [data.sizes[dim] for dim in rows]
    full = values.broadcast_like(xr.DataArray(np.zeros(shape), dims=rows)) if len(own) < len(rows) else values
    flat = full.transpose(*rows, *other).values.reshape(int(np.prod(shape)), *(data.sizes[dim] for dim in other))
    columns = []
    for index in product(*(range(data.sizes[dim]) for dim in other)):
        labels = [_label(data, dim, k) for dim, k in zip(other, index)]
        header = _header("_".join([str(name), *labels]), _unit(data, values, other, index))
        columns.append((header, [row[index].item() for row in flat]))
    return columns


def _label(data: xr.Dataset, dim: str, k: int) -> str:
    if dim in data.coords:
        return str(data.coords[dim].values[k])
    return str(_COMPONENTS[dim][k]) if dim in _COMPONENTS else str(k)


def _unit(data: xr.Dataset, values: xr.DataArray, other: list[str], index: tuple[int, ...]) -> str | None:
    """Unit of a component: that of the variable, or of its coordinate, input, multiplier or effort."""
    text = str(values.attrs.get("units", ""))
    for dim, k in zip(other, index):
        table = next((t for t in (f"{dim}_units", "effort_units") if t in data and data[t].dims == (dim,)), None)
        if table is not None and (text.startswith("see ") or "coordinate unit" in text):
            own = str(data[table].values[k])
            return own if text.startswith("see ") else text.replace("coordinate unit", own).replace(" / ", "/")
        if dim == "six" and text.count(",") == 1:
            return text.split(", ")[k // 3]
    return text or None


def _header(name: str, unit: Any) -> str:
    return f"{name} [{unit}]" if unit else name
