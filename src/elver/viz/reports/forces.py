"""What joints and rods carry, for a report: reactions over time and at most, the largest internal stress."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import xarray as xr

from elver.errors import BadInput, ElverWarning
from elver.results import reactions, sample
from elver.system import System

__all__ = ["INSTANTS", "reaction_rows", "reactions_of", "stress_rows"]

INSTANTS = 200  # of a long run so many are looked at, evenly spread, the last always
_ROWS = 24

Row = tuple[str, ...]
T = TypeVar("T")


def reactions_of(run: xr.Dataset, system: System | None) -> xr.Dataset | None:
    """Reactions of a run, thinned; None where it does not tell, or its model has code that is not in it."""
    return None if system is None else _if_told(lambda: reactions(_thinned(run), system=system))


def reaction_rows(found: xr.Dataset) -> Iterator[Row]:
    """Joint, what it joins, force [N] and moment [N m] on its second side at the end, and the largest of each."""
    for k, name in enumerate(found["joint"].values):
        if k == _ROWS:
            yield f"and {found.sizes['joint'] - k} more", "", "", "", "", ""
            return
        one = found.isel(joint=k)
        ends = [_vector(one[f"{what}_on_b_world"].values[-1]) for what in ("force", "moment")]
        most = [f"{_size(one[f'{what}_on_b_world']).max():.4g}" for what in ("force", "moment")]
        yield str(name), f"{one['a'].item()} to {one['b'].item()}", ends[0], most[0], ends[1], most[1]


def stress_rows(run: xr.Dataset, system: System) -> list[Row]:
    """Rod, its largest internal force [N] and moment [N m] with place and instant; none where the run does not tell."""
    return _if_told(lambda: list(_stress_rows(run, system))) or []


def _stress_rows(run: xr.Dataset, system: System) -> Iterator[Row]:
    thin = _thinned(run)
    for k, rod in enumerate(system.mechanism.rods):
        if k == _ROWS:
            yield f"and {len(system.mechanism.rods) - k} more", "", ""
            return
        found = sample(thin, rod, system=system)
        yield rod.name, *(_largest(found, what) for what in ("force", "moment"))


def _if_told(compute: Callable[[], T]) -> T | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElverWarning)  # said when the run was computed
            return compute()
    except BadInput:
        return None


def _thinned(run: xr.Dataset) -> xr.Dataset:
    steps = run.sizes.get("time", 0)
    if not steps or "q" not in run:
        raise BadInput("this dataset holds no motion")
    return run.isel(time=np.unique(np.linspace(0, steps - 1, min(steps, INSTANTS)).round().astype(int)))


def _largest(found: xr.Dataset, what: str) -> str:
    size = _size(found[what])
    t, s = np.unravel_index(int(np.argmax(size)), size.shape)
    when = f", t = {found['time'].values[t]:.4g} s" if found.sizes["time"] > 1 else ""
    return f"{size[t, s]:.4g} at s = {found['s'].values[s]:.4g} m{when}"


def _size(vectors: xr.DataArray) -> np.ndarray:
    return np.linalg.norm(vectors.values, axis=-1)


def _vector(values: np.ndarray) -> str:
    small = 1e-9 * max(float(np.abs(values).max()), 1e-12)
    return ", ".join(f"{x:.4g}" for x in np.where(np.abs(values) > small, values, 0.0))
