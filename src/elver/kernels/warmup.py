"""Compile kernels ahead of time, in two processes, for the types of a robot of one interval.

The kernels do not know sizes, so what is compiled for the smallest robot serves every other. They come in groups: a
first equilibrium or motion waits for the few that it needs, not for all. Half of the time is Numba's own front end,
which uses one core, so two processes take groups from one list, in an order in which little is compiled by both.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from elver.kernels.cache import cache_folder

__all__ = ["COMMON", "ensure", "is_warm", "warmup"]

COMMON = ("residual", "statics", "tangent", "articulated", "observe")
"""What equilibria of any robot need, and motion beside its own steps."""

_GROUPS = (
    "residual", "gauss", "statics", "tangent", "articulated", "observe", "one-step", "shoot", "explicit", "tree",
    "conserving",
)
_COMMAND = "import sys; from elver.kernels.entry import compile_group; compile_group(sys.argv[1])"


def is_warm(groups: tuple[str, ...] = _GROUPS) -> bool:
    """True when these groups of kernels, by default all, are in the cache of this machine."""
    return all(_marker(group).is_file() for group in groups)


def _marker(group: str) -> Path:
    return cache_folder / f"{group}.complete"


def warmup(groups: tuple[str, ...] = _GROUPS) -> None:
    """Compile what is not in the cache yet.

    Without subprocesses, or without a writable cache, the first call compiles in its own process.
    """
    cache_folder.mkdir(parents=True, exist_ok=True)
    importlib.import_module("elver.kernels.entry")  # which compiles the small helpers that all groups share
    with ThreadPoolExecutor(max_workers=2) as pool:
        for group in groups:
            if not is_warm((group,)):
                pool.submit(_compile, group)


def _compile(group: str) -> None:
    if subprocess.run([sys.executable, "-c", _COMMAND, group], check=False).returncode == 0:
        _marker(group).write_text("compiled\n")


def ensure(groups: tuple[str, ...], what: str, seconds: int) -> None:
    """Compile ``groups`` at their first use, saying in one line ``what`` is compiled and for how long."""
    if not is_warm(groups):
        print(
            f"elver: compiling {what} for this machine, once (about {seconds} s; 'elver warmup' does it ahead) ...",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        warmup(groups)
