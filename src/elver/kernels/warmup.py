"""Compile kernels ahead of time, in two processes.

The kernels do not know sizes, so what is compiled once serves every robot. They come in groups: a first equilibrium or
motion waits for the few that it needs, not for all. Half of the time is Numba's own front end, which uses one core, so
two processes take kernels from one list.
"""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from elver.kernels.load import is_stored

__all__ = ["COMMON", "GROUPS", "compile_kernels", "ensure", "is_warm", "warmup"]

# Kernels of each group; the longest to compile come first.
GROUPS = {
    "tangent": ("tangent.evaluate_matrix", "tangent.evaluate_frames", "algebra.lu_factor", "algebra.lu_solve"),
    "residual": ("evaluate.evaluate_residual",),
    "gauss": ("gauss.march_gauss",),
    "tree": ("elimination.home", "substitution.back"),
    "statics": ("rest.solve_static", "elimination.no_home", "substitution.no_back"),
    "articulated": ("articulated.accelerations",),
    "one-step": ("one_step.march_one_step",),
    "observe": ("observe.observe",),
    "conserving": (
        "conserving.march_conserving", "step_residual.residual_of_step", "step_tangent.matrix_of_step",
        "passage.settle", "passage.frame_columns", "step_residual.start_step",
    ),
    "explicit": ("explicit.march_explicit",),
    "shoot": (
        "shoot.shoot", "static_shoot.static_shoot", "static_shoot.carry_columns", "static_shoot.join_segments",
        "static_shoot.move_nodes", "section.section_strains",
    ),
    "spectral": ("strain_loads.strain_residual", "strain_loads.strain_tangent", "strain_loads.point_slopes"),
    "repeat": ("repeat.repeat_residual", "repeat.repeat_tangent", "repeat.repeat_accelerations"),
}  # fmt: skip

COMMON = ("residual", "statics", "tangent", "articulated", "observe")
"""What equilibria of any robot need, and motion beside its own steps."""

_COMMAND = "import sys; sys.path.insert(0, sys.argv[1]); from elver.kernels.build import work; work()"


def _missing(groups: Iterable[str]) -> list[str]:
    return [kernel for group in groups for kernel in GROUPS[group] if not is_stored(kernel)]


def is_warm(groups: Iterable[str] = tuple(GROUPS)) -> bool:
    """True when these groups of kernels, by default all, are in the cache of this machine."""
    return not _missing(groups)


def warmup(groups: Iterable[str] = tuple(GROUPS)) -> None:
    """Compile what is not in the cache yet."""
    compile_kernels(_missing(groups))


def compile_kernels(kernels: Iterable[str]) -> None:
    """Compile kernels into the cache, by name, in other processes.

    Without subprocesses, or without a writable cache, nothing is stored, and a first call compiles in its own process.
    """
    waiting = deque(kernels)
    command = [sys.executable, "-c", _COMMAND, str(Path(__file__).parents[2])]
    workers: list[subprocess.Popen[str]] = []

    def feed(worker: subprocess.Popen[str]) -> None:
        with suppress(IndexError, OSError):  # none is left, or the worker has ended
            while True:
                print(waiting.popleft(), file=worker.stdin, flush=True)
                if worker.stdout is None or not worker.stdout.readline():
                    return

    try:
        with suppress(OSError):  # processes cannot be had everywhere
            for _ in range(min(2, len(waiting))):
                workers.append(subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        threads = [Thread(target=feed, args=(worker,), daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:  # also when somebody loses patience
        for worker in workers:
            worker.kill()
            worker.wait()


def ensure(groups: Iterable[str], what: str, seconds: int) -> None:
    """Compile ``groups`` at their first use, saying in one line ``what`` is compiled and for how long."""
    if not is_warm(groups):
        print(
            f"elver: compiling {what} for this machine, once (about {seconds} s; 'elver warmup' does it ahead) ...",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        warmup(groups)
