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
from elver.kernels.program import Program, work_for

__all__ = ["ensure", "is_warm", "smallest_program", "warmup"]

_ROUNDS = (("residual", "tangent"), ("statics", "gauss"), ("one-step",))


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
        command = "import sys; from elver.kernels.warmup import compile_group; compile_group(sys.argv[1])"
        running = [subprocess.Popen([sys.executable, "-c", command, group]) for group in groups]
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
    from elver.kernels import evaluate, march, observe

    program = smallest_program()
    work = work_for(program)
    n = coordinates = 1
    base = np.vstack([np.eye(3), np.zeros(3)])
    twist, q, multipliers, u = np.zeros((2, 6)), np.zeros((3, n)), np.zeros(0), np.zeros(1)
    if group == "residual":
        evaluate.evaluate_residual(program, work, base, twist, q, multipliers, u, 3)
        observe.observe(
            program, work, base[None], twist[None], q[None], u[None],
            np.zeros((1, 2, 3)), np.zeros((1, 2, 3, 3)), np.zeros((1, 3)), np.zeros((1, 6)),
        )  # fmt: skip
    elif group == "tangent":
        evaluate.evaluate_tangent(program, work, base, q, multipliers, u, np.zeros((18, 6)), np.ones(3), 3)
    elif group == "statics":
        m = march.march_for(coordinates, n, 0, np.ones(coordinates), 1)
        march.solve_static(program, work, m, base, q, multipliers, u, 1.0, 1e-10, 1.0, np.zeros(3))
    else:
        m = march.march_for(coordinates, n, 0, np.ones(coordinates), 2)
        times = np.array([0.0, 0.1])
        one_step = group == "one-step"
        table = np.array([0.25, 0.5, 0.0, 0.0]) if one_step else np.zeros((10, 2))
        function = march.march_one_step if one_step else march.march_gauss
        rows = 2 if one_step else 3
        function(
            program, work, m, 0, table, times, np.zeros((rows, 1)), np.tile(base, (rows, 1, 1)), np.zeros((rows, 2, 6)),
            base, np.zeros((3, 6)), np.zeros((4, n)), multipliers, 1e-9, 5,
            np.zeros((2, 3, n)), np.zeros((2, 4, 3)), np.zeros((2, 2, 6)), np.zeros((2, 0)), np.zeros(2, dtype=np.int64),
        )  # fmt: skip


def smallest_program() -> Program:
    """A straight rod of one interval that bends about z, clamped, without loads."""
    ints = lambda *shape: np.zeros(shape, dtype=np.int64)  # noqa: E731 (two constructors, used below only)
    floats = lambda *shape: np.zeros(shape)  # noqa: E731
    rest = floats(1, 1, 6)
    rest[0, 0, 3] = 1.0
    inertia = np.tile(np.eye(6), (2, 1, 1))
    linear = floats(1, 1, 2)
    linear[0, 0, 0] = 1.0
    return Program(
        free=ints(1),
        segment=np.array([[0, 0, 1, 0, 1, 0]]),
        active=np.array([[1, 2, 0, 0, 0, 0, 0]]),
        component=np.array([2]),
        slot_start=np.array([[0, 1, 1, 1, 1, 1, 1]]),
        rest=rest,
        phi=np.ones((1, 1, 1)),
        poly_size=np.array([[1, 1]]),
        poly_pair=ints(1, 1, 2),
        poly_beta=floats(1, 1),
        poly_linear=linear,
        inertia=inertia,
        gravity=floats(3),
        gravity_input=np.array([-1]),
        load_frame=ints(0),
        load_input=ints(0),
        load_follows=ints(0),
        load_wrench=floats(0, 6),
        K_elastic=np.eye(1),
        D_elastic=floats(1, 1),
        point_phi=np.ones((1, 1)),
        point_rest=rest[0],
        tendon_input=ints(0),
        tendon_factor=floats(0),
        tendon_row=ints(0),
        tendon_length=floats(0),
        tendon_path=floats(0, 1, 6),
        tendon_weight=floats(0, 1),
        muscle_input=ints(0),
        muscle_force=floats(0, 1),
        hold_frame=ints(0),
        hold_pose=floats(0, 4, 3),
        row_hold=ints(0),
        row_axes=floats(0, 6),
    )
