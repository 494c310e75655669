"""What a person waits for before the first result: compiling once, importing every time.

Each is a fresh Python process on this machine. Compiling runs in several processes at once and is what one waits for,
hence wall-clock time: the one row that a busy machine spoils. Importing is CPU time like all others.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

from elver.cli.bench import Row, row


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
