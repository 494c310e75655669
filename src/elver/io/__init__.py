"""Files: runs as netCDF with names, units and the whole model inside; models as JSON and as TOML model files.

save(run, "arm.nc"); run = load("arm.nc")             a finished run, there and back
with RunFile("arm.nc") as file: file.append(chunk)    a run that grows while it is computed
encode(system), decode(data)                          a model as plain JSON values, there and back
save_model("arm.toml", system), load_model(...)       a model file: robot, inputs and study, there and back
collect({"soft": run_1, "stiff": run_2}), part(...)   several runs in one dataset
save_csv(data, "arm.csv")                             a table with units in its header
read_urdf("arm.urdf")                                 a robot of rigid links from a URDF file

Names are loaded when they are first used: a look at a model file needs no xarray.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

_HOME = {
    "files": "RunFile collect load part save",
    "model": "decode dumps encode loads",
    "stand_ins": "Table",
    "table": "save_csv",
    "toml_model": "ContinuationStudy EquilibriumStudy Model SimulationStudy load_model save_model",
    "toml_schema": "model_schema",
    "urdf": "read_urdf",
}

__all__ = lazy(__name__, _HOME)

if TYPE_CHECKING:
    from elver.io.files import RunFile, collect, load, part, save
    from elver.io.model import decode, dumps, encode, loads
    from elver.io.stand_ins import Table
    from elver.io.table import save_csv
    from elver.io.toml_model import (
        ContinuationStudy,
        EquilibriumStudy,
        Model,
        SimulationStudy,
        load_model,
        save_model,
    )
    from elver.io.toml_schema import model_schema
    from elver.io.urdf import read_urdf
