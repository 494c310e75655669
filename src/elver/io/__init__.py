"""Files: runs as netCDF with names, units and the whole model inside; models as JSON.

save(run, "arm.nc"); run = load("arm.nc")             a finished run, there and back
with RunFile("arm.nc") as file: file.append(chunk)    a run that grows while it is computed
encode(system), decode(data)                          a model as plain JSON values, there and back
collect({"soft": run_1, "stiff": run_2}), part(...)   several runs in one dataset
read_urdf("arm.urdf")                                 a robot of rigid links from a URDF file
"""

from elver.io.files import RunFile, collect, load, part, save
from elver.io.model import Table, decode, dumps, encode, loads
from elver.io.urdf import read_urdf

__all__ = ["RunFile", "Table", "collect", "decode", "dumps", "encode", "load", "loads", "part", "read_urdf", "save"]
