"""What a person waits for before the first result: compiling once, importing every time; and for a file of a run.

Each of the first is a fresh Python process on this machine. Compiling runs in several processes at once and is what
one waits for, hence wall-clock time: the one row that a busy machine spoils. Importing is CPU time like all others.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row


def run_python(code: str, cache: str | None = None) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a new process, its own children included."""
    environment = os.environ | ({} if cache is None else {"ELVER_CACHE": cache})
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


@row("cold-compile", unit="s (wall)", goal=25.0)
def cold_compile(peers: bool) -> Row:
    """All kernels, into an empty cache."""
    with tempfile.TemporaryDirectory() as empty:
        wall, _ = run_python("from elver.kernels import is_warm, warmup; warmup(); assert is_warm()", empty)
    return Row(wall)


@row("warm-import", unit="s", goal=1.0)
def warm_import(peers: bool) -> Row:
    """``import elver`` with what a first script touches, the start of Python included."""
    return Row(min(run_python("import elver as ev; ev.simulate, ev.Rod")[1] for _ in range(4)))


FIRST = """
import elver as ev
silicone = ev.Material(young=1e6, poisson=0.45, density=1070.0)
rod = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=4, torsion=2))
tendon = ev.Tendon(rod, path=ev.parallel(z=6e-3))
ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), actuators=[tendon], loads=[ev.Gravity()]), {tendon: 2.0})
"""


@row("warm-first-equilibrium", unit="s", goal=0.5)
def warm_first_equilibrium(peers: bool) -> Row:
    """A new process to the equilibrium of a tendon arm, its code compiled before; the start of Python included."""
    run_python(FIRST)
    return Row(min(run_python(FIRST)[1] for _ in range(4)))


_ALLOWED = 0.03  # s, of any file


def arm_run(file: Path | None) -> Any:
    """The tendon arm let go, 10 s in steps of 10 ms."""
    material = ev.Material(young=1e6, poisson=0.45, density=1070.0, damping=0.02)
    rod = ev.Rod(0.4, ev.Circle(8e-3), material, ev.Legendre(bending=4, torsion=2), name="arm")
    tendon = ev.Tendon(rod, path=ev.parallel(z=6e-3), name="tendon")
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[tendon], loads=[ev.Gravity()])
    return ev.simulate(system, None, 10.0, 1e-2, inputs={tendon: 1.0}, start="given", file=file)


@row("file-overhead", unit="x run, less 30 ms", goal=1.2)
def file_overhead(peers: bool) -> Row:
    """CPU time of a run that is written to a file, less 30 ms, over that of the run alone; error of what is read."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run.nc"
        alone, written = cpu_time(lambda: arm_run(None)), cpu_time(lambda: arm_run(place))
        error = float(np.max(np.abs(ev.load(place)["q"].values - arm_run(None)["q"].values)))
    return Row((written - _ALLOWED) / alone if error == 0.0 else None, error)
