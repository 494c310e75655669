"""Compile all kernels ahead of time, in two processes, for the types of a robot of one interval.

The kernels do not know sizes, so what is compiled for the smallest robot serves every other. Half of the time is
Numba's own front end, which uses one core: two processes take groups of kernels in two rounds (those of the second
round find helpers of the first in the cache).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from elver.kernels.cache import cache_folder

__all__ = ["ensure", "is_warm", "warmup"]

_ROUNDS = (("residual observe shoot", "tangent statics"), ("one-step explicit", "gauss"))


def is_warm() -> bool:
    """True when every kernel is in the cache of this machine."""
    return _marker().is_file()


def _marker() -> Path:
    return cache_folder / "complete"


def warmup() -> None:
    """Compile what is not in the cache yet."""
    if is_warm():
        return
    cache_folder.mkdir(parents=True, exist_ok=True)
    command = "import sys; from elver.kernels.entry import compile_group; [*map(compile_group, sys.argv[1:])]"
    for groups in _ROUNDS:
        running = [subprocess.Popen([sys.executable, "-c", command, *names.split()]) for names in groups]
        failed = [process.wait() for process in running]
        if any(failed):
            # without subprocesses (or without a writable cache) the first call compiles in this process
            return
    _marker().write_text("all kernels compiled\n")


def ensure(announce: Callable[[str], None]) -> None:
    """Compile at the first use, saying so in one line."""
    if not is_warm():
        announce("elver: compiling kernels for this machine, once (about 40 s; 'elver warmup' does it ahead) ...")
        warmup()
