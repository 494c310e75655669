"""Compile kernels ahead of time, in two processes.

The kernels do not know sizes, so what is compiled once serves every robot. They come in groups: a first equilibrium or
motion waits for the few that it needs, not for all. Half of the time is Numba's own front end, which uses one core, so
two processes take kernels from the two ends of one list, in which neighbours share many helpers.
"""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING

from elver.kernels.build.load import is_stored
from elver.kernels.build.schemes import NEWTON, SCHEMES

if TYPE_CHECKING:
    import subprocess

__all__ = ["COMMON", "GROUPS", "compile_kernels", "ensure", "is_warm", "warmup"]

GROUPS = {
    "tangent": (
        "tree.tangent.evaluate_matrix", "tree.tangent.evaluate_frames", "algebra.lu_factor", "algebra.lu_solve",
    ),
    "terms": (
        "terms.rare.more_frames", "terms.rare.more_residual", "terms.rare.couplings",
        "terms.moving_loads.push_at_start", "terms.moving_loads.slopes_at_start", "terms.moving_loads.heat_of_step",
    ),
    "own": (
        "terms.own_functions.own_stresses", "terms.own_functions.own_slopes", "terms.own_functions.own_energies",
        "terms.own_functions.own_wrenches",
    ),
    "tree": ("tree.elimination.home", "tree.substitution.back"),
    "articulated": ("tree.articulated.accelerations",),
    "spectral": (
        "terms.strain_loads.strain_residual", "terms.strain_loads.strain_tangent", "terms.strain_loads.point_slopes",
    ),
    "residual": ("tree.evaluate.evaluate_residual",),
    "observe": ("tree.observe.observe",),
    "shoot": (
        "one_rod.shoot.shoot", "one_rod.static_shoot.static_shoot", "one_rod.nodes.carry_columns",
        "one_rod.nodes.join_segments", "one_rod.nodes.move_nodes", "one_rod.section.section_strains",
    ),
    "repeat": ("tree.repeat.repeat_residual", "tree.repeat.repeat_tangent", "tree.repeat.repeat_accelerations"),
    "newton": NEWTON,
    **{name: scheme.kernels for name, scheme in SCHEMES.items()},
}  # fmt: skip

COMMON = ("tangent", "residual", "newton", "statics")
"""What any robot needs, beside terms and methods that it asks for."""

_ensured: set[str] = set()  # groups that this process has looked for
_COMMAND = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "  # who starts this process ends it
    "sys.path.insert(0, sys.argv[1]); from elver.kernels.build.compiler import work; work()"
)


def _missing(groups: Iterable[str]) -> list[str]:
    return [kernel for group in groups for kernel in GROUPS[group] if not is_stored(kernel)]


def is_warm(groups: Iterable[str] = tuple(GROUPS)) -> bool:
    """True when these groups of kernels, by default all, are in the cache of this machine."""
    return not _missing(groups)


def warmup(groups: Iterable[str] = tuple(GROUPS)) -> None:
    """Compile what is not in the cache yet."""
    compile_kernels(_missing(groups))


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C wait until the end of this block: amid the start of a process nobody would know the one to end."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):  # nothing is raised here then
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def compile_kernels(kernels: Iterable[str]) -> None:
    """Compile kernels into the cache, by name, in other processes.

    Without subprocesses, or without a writable cache, nothing is stored, and a first call compiles in its own process.
    """
    import subprocess  # where all is compiled already it is not needed

    waiting = deque(kernels)
    command = [sys.executable, "-c", _COMMAND, str(Path(__file__).parents[3])]
    workers: list[subprocess.Popen[str]] = []

    def feed(worker: subprocess.Popen[str], take: Callable[[], str]) -> None:
        with suppress(IndexError, OSError):  # none is left, or the worker has ended
            while True:
                print(take(), file=worker.stdin, flush=True)
                if worker.stdout is None or not worker.stdout.readline():
                    return

    try:
        with suppress(OSError), _interrupts_wait():  # processes cannot be had everywhere
            for _ in range(min(2, len(waiting))):
                workers.append(subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        ends = waiting.popleft, waiting.pop
        threads = [Thread(target=feed, args=pair, daemon=True) for pair in zip(workers, ends, strict=False)]
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
    waiting = tuple(group for group in groups if group not in _ensured)  # a look at the files is not for nothing
    if waiting and not is_warm(waiting):
        print(
            f"elver: compiling {what} for this machine, once (about {seconds} s; 'elver warmup' does it ahead) ...",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        warmup(waiting)
    _ensured.update(waiting)
