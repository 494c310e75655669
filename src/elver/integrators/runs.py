"""One object, one verb: whatever can be seen or saved as a run, as one.

    save(run, "arm.nc"), save(equilibrium, "bent.nc"), save(system, "rest.nc")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import xarray as xr

from elver import io
from elver.errors import BadInput, as_path, describe
from elver.integrators.simulate import still
from elver.statics.equilibrium import Equilibrium
from elver.system import System

if TYPE_CHECKING:
    Seen: TypeAlias = xr.Dataset | Equilibrium | System | str | os.PathLike[str]

__all__ = ["as_run", "save"]


def as_run(where: str, what: Any) -> xr.Dataset:
    """``what`` as a run: a run itself, an equilibrium or a system (at rest) as one instant, the run in a file.

    :class:`BadInput` names what else was given and the way to something that can be seen.
    """
    if isinstance(what, xr.Dataset):
        return what
    if isinstance(what, Equilibrium | System):
        return still(what)
    if isinstance(what, str | os.PathLike):
        return io.load(what)
    if isinstance(getattr(what, "system", None), System) and not isinstance(what, type):
        way = "; give its .system"
    else:
        way = {
            "Rod": ", such as System(Mechanism.clamped(rod))",
            "Mechanism": ", such as System(mechanism)",
            "State": ", such as equilibrium(system, inputs), to which a state belongs",
            "Branch": ", such as branch.equilibria[-1]",
        }.get(type(what).__name__, ", such as simulate(system, duration=1.0)")
    raise BadInput(f"{where} is given {describe(what)}; give a run, an Equilibrium or a System{way}")


def save(what: Seen, path: str | os.PathLike[str]) -> Path:
    """Write a run to ``path`` (.nc) and return it; an equilibrium or a system (at rest) is a run of one instant.

    An existing file is replaced only by a complete new one. Model files are written by :func:`elver.save_model`.
    """
    target = as_path("save", path, "run.nc")
    if target.suffix.lower() == ".toml":
        raise BadInput(f"{target}: runs are netCDF files (.nc); a model file is written by save_model(path, system)")
    return io.save(as_run("save", what), target)
