"""Compile all kernels ahead of time, in two processes, on a robot of one interval.

The kernels do not know sizes, so what is compiled for the smallest robot serves every other. Half of the time is
Numba's own front end, which uses one core: two processes take groups of kernels in two rounds (the solvers of the
second round find the recursions of the first in the cache).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from elver.kernels.cache import cache_folder
from elver.kernels.program import smallest_program, work_for

__all__ = ["ensure", "is_warm", "warmup"]

_ROUNDS = (("residual observe", "tangent"), ("statics one-step", "gauss"))


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
    for groups in _ROUNDS:
        command = "import sys; from elver.kernels.warmup import compile_group; [*map(compile_group, sys.argv[1:])]"
        running = [subprocess.Popen([sys.executable, "-c", command, *names.split()]) for names in groups]
        failed = [process.wait() for process in running]
        if any(failed):
            # without subprocesses (or without a writable cache) the first call compiles in this process
            return
    _marker().write_text("all kernels compiled\n")


def ensure(announce: Callable[[str], None]) -> None:
    """Compile at the first use, saying so in one line."""
    if not is_warm():
        announce("elver: compiling kernels for this machine, once (about 20 s; 'elver warmup' does it ahead) ...")
        warmup()


def compile_group(group: str) -> None:
    """Compile one group of kernels by running it on the smallest robot."""
    from elver.kernels import entry
    from elver.kernels.march import march_for

    program = smallest_program()
    work = work_for(program)
    n = coordinates = 1
    base = np.vstack([np.eye(3), np.zeros(3)])
    twist, q, multipliers, u = np.zeros((2, 6)), np.zeros((3, n)), np.zeros(0), np.zeros(1)
    if group == "residual":
        entry.evaluate_residual(program, work, base, twist, q, multipliers, u, 3)
    elif group == "tangent":
        entry.evaluate_tangent(program, work, base, q, multipliers, u, np.zeros((18, 6)), np.ones(3), 3)
    elif group == "observe":
        entry.observe_states(
            program, work, base[None], twist[None], q[None], u[None], 3,
            np.zeros((1, 2, 3)), np.zeros((1, 2, 3, 3)), np.zeros((1, 3)), np.zeros((1, 6)),
        )  # fmt: skip
    elif group == "statics":
        m = march_for(coordinates, n, 0, np.ones(coordinates), 1)
        entry.solve_static(program, work, m, base, q, multipliers, u, 1.0, 1e-10, 1.0, np.zeros(3))
    else:
        m = march_for(coordinates, n, 0, np.ones(coordinates), 2)
        one_step = group == "one-step"
        function = entry.march_one_step if one_step else entry.march_gauss
        table = np.array([0.25, 0.5, 0.0, 0.0]) if one_step else np.zeros((10, 2))
        rows = 2 if one_step else 3
        function(
            program, work, m, 0, table, np.array([0.0, 0.1]),
            np.zeros((rows, 1)), np.tile(base, (rows, 1, 1)), np.zeros((rows, 2, 6)),
            base, np.zeros((3, 6)), np.zeros((4, n)), multipliers, 1e-9, 5,
            np.zeros((2, 3, n)), np.zeros((2, 4, 3)), np.zeros((2, 2, 6)), np.zeros((2, 0)),
            np.zeros(2, dtype=np.int64),
        )  # fmt: skip
