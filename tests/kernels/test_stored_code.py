"""Compiled code on disk: loaded without Numba, checked at the border, and safe whatever happens to its files."""

from __future__ import annotations

import hashlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.kernels.build import entry, load
from elver.kernels.build.cache import cache_folder, kernel
from elver.kernels.build.warmup import GROUPS, warmup

SMALL = "algebra.lu_solve"  # quick to compile

FIRST = """
import elver as ev
material = ev.Material(young=1e6, poisson=0.45, density=1070.0)
arm = ev.Rod(0.4, ev.Circle(8e-3), material, ev.Legendre(bending=4, torsion=2), name="arm")
tendon = ev.Tendon(arm, path=ev.parallel(y=0.0, z=6e-3))
system = ev.System(ev.Mechanism.clamped(arm), actuators=[tendon], loads=[ev.Gravity()])
bent = ev.equilibrium(system, inputs={tendon: 1.0})
"""


def run(code: str, cache: Path | None = None) -> str:
    """What a new process prints, with an own cache if one is given."""
    environment = os.environ | ({} if cache is None else {"ELVER_CACHE": str(cache)})
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


SOLVE = (
    "import sys; import numpy as np; from elver.kernels.algebra import lu_solve;"
    "b = np.array([3.0, 8.0]); lu_solve(np.diag([1.0, 2.0]), np.arange(2), b);"
    "print(b.tolist(), 'numba' in sys.modules)"
)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of its own, with nothing but one small kernel."""
    load.load(SMALL)
    folder = tmp_path / cache_folder.name
    folder.mkdir()
    (folder / f"{SMALL}.code").write_bytes((cache_folder / f"{SMALL}.code").read_bytes())
    return tmp_path


def code_file(cache: Path) -> Path:
    """The file of the small kernel."""
    return cache / cache_folder.name / f"{SMALL}.code"


# Without Numba ----------------------------------------------------------------------------------------------


def test_a_first_equilibrium_and_a_first_run_import_no_compiler() -> None:
    warmup()
    after = "import sys; print('numba' in sys.modules)"
    assert run(FIRST + after) == "False"
    motion = "ev.simulate(system, bent.state, 0.02, 0.01, ev.Newmark())\n"
    assert run(FIRST + motion + after) == "False"


def undefined_symbols(code: bytes) -> set[str]:
    """Names that an object file of ELF or its like expects from elsewhere."""
    (sections_at,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections_at + size * k) for k in range(count)]
    (table,) = [header for header in headers if header[1] == 2]
    names = headers[table[6]][4]
    found = set()
    for at in range(table[4], table[4] + table[5], 24):
        name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", code, at)
        if name and section == 0:
            found.add(code[names + name : code.index(b"\0", names + name)].decode())
    return found


def test_stored_code_needs_nothing_but_the_mathematical_library_of_c() -> None:
    warmup()
    allowed = {"sin", "cos", "sincos", "tan", "tanh", "atan2", "acos", "asin", "atan", "exp", "log", "pow", "cbrt"}
    allowed |= {"hypot", "fmod", "memset", "memcpy", "memmove"}
    for name in [one for group in GROUPS.values() for one in group]:
        code = load.read(name)
        assert code is not None
        own, border = code.objects
        assert undefined_symbols(own) <= allowed, name
        assert undefined_symbols(border) <= {code.symbol}, name


def test_one_version_of_each_function() -> None:
    """Literal numbers make no further versions, as they would in Numba; other types are refused with a remedy."""
    from elver.kernels.build.cache import Kernel
    from elver.kernels.build.compiler import dispatcher
    from elver.kernels.build.kinds import F1, FLOAT, VOID, Signature

    dispatcher(literals := Kernel(call_twice, Signature(VOID, (F1,))))
    assert len(dispatcher(add).overloads) == 1
    assert len(dispatcher(literals).overloads) == 1
    with pytest.raises(Exception, match="give it a signature"):
        dispatcher(Kernel(call_otherwise, Signature(VOID, (F1, FLOAT))))


def test_an_index_outside_its_array_ends_a_kernel_where_bounds_are_checked(tmp_path: Path) -> None:
    """Behind the last element, and before the first, which Python would count from the end."""
    code = (
        "import numpy as np; from elver.kernels.build.cache import cache_folder\n"
        "from elver.kernels.algebra import lu_solve\n"
        "for size, first in ((2, 0), (1, 0), (2, -1)):\n"
        "    try: lu_solve(np.eye(2), np.array([first, 1]), np.ones(size)); print('ran')\n"
        "    except RuntimeError as refusal: print(refusal)\n"
        "print(cache_folder.name)"
    )
    environment = os.environ | {"ELVER_CACHE": str(tmp_path), "ELVER_CHECK_BOUNDS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    *found, folder = done.stdout.splitlines()
    assert found == ["ran", *2 * ["elver.algebra.lu_solve failed"]]
    plain = os.environ | {"ELVER_CHECK_BOUNDS": ""}
    print_folder = "from elver.kernels.build.cache import cache_folder; print(cache_folder.name)"
    other = subprocess.run([sys.executable, "-c", print_folder], env=plain, capture_output=True, text=True, check=True)
    assert folder != other.stdout.strip()


@kernel
def add(x, times):
    """A loop."""
    for k in range(times):
        x[k] += 1.0


def call_twice(x):
    """One function, two literals."""
    add(x, 1)
    add(x, 2)


def call_otherwise(x, times):
    """The same with another type."""
    add(x, times)


# The border -------------------------------------------------------------------------------------------------


def solve(matrix: object, pivots: object, x: object) -> None:
    """The small kernel."""
    load.load(SMALL).call(matrix, pivots, x)


MATRIX, PIVOTS, RIGHT = np.eye(2), np.arange(2), np.ones(2)


@pytest.mark.parametrize(
    "arguments",
    [
        (MATRIX.astype(np.float32), PIVOTS, RIGHT),
        (np.eye(2, dtype=np.int64), PIVOTS, RIGHT),
        (MATRIX, PIVOTS.astype(np.int32), RIGHT),
        (MATRIX, PIVOTS.astype(float), RIGHT),
        (MATRIX.astype(">f8"), PIVOTS, RIGHT),
        (np.asfortranarray(np.arange(4.0).reshape(2, 2)), PIVOTS, RIGHT),
        (np.zeros((4, 4))[::2, ::2], PIVOTS, RIGHT),
        (np.zeros(4), PIVOTS, RIGHT),
        (np.zeros((2, 2, 2)), PIVOTS, RIGHT),
        (MATRIX, PIVOTS, RIGHT[0]),
        (MATRIX, PIVOTS, [1.0, 1.0]),
        (MATRIX, PIVOTS, None),
        (MATRIX, PIVOTS),
        (MATRIX, PIVOTS, RIGHT, RIGHT),
    ],
)
def test_an_array_of_another_kind_is_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        load.load(SMALL).call(*arguments)


def test_numbers_and_named_tuples_of_another_kind_are_refused() -> None:
    arm = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(young=1e6, poisson=0.45, density=1070.0), ev.Legendre(bending=2))
    kernels = core(system := ev.System(ev.Mechanism.clamped(arm)))
    a, u = arrays(system.rest()), np.zeros(0)
    with pytest.raises(TypeError):
        entry.evaluate_residual(kernels.robot, a.base, a.twist, a.q, a.multipliers, u, 3.0)
    sweep = kernels.sweep
    for wrong in (tuple(sweep)[:-1], sweep._replace(inertia=sweep.inertia[0]), None, kernels.scratch().trial):
        with pytest.raises(TypeError):
            entry.accelerations(kernels.robot, wrong, a.base, a.twist, a.q, a.multipliers, u)
    assert entry.accelerations(kernels.robot, sweep, a.base, a.twist, a.q, a.multipliers, u)


def test_a_table_takes_only_arrays_of_the_right_kind() -> None:
    from elver.kernels.build.tables import robot_of
    from elver.kernels.tree.program import smallest_program, work_for

    program = smallest_program()
    work = work_for(program)
    read_only = program.inertia.copy()
    read_only.flags.writeable = False
    for field, wrong in (
        ("free", program.free.astype(float)), ("inertia", program.inertia[0]), ("inertia", program.inertia[:, ::2]),
        ("inertia", program.inertia.astype(np.float32)), ("inertia", None),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            robot_of(program._replace(**{field: wrong}), work)
    robot_of(program._replace(inertia=read_only), work)  # kernels only read a program
    read_only = work.pose.copy()
    read_only.flags.writeable = False
    with pytest.raises(TypeError, match="writable"):
        robot_of(program, work._replace(pose=read_only))


def test_kernels_let_other_threads_run() -> None:
    """While one thread is inside a kernel, another goes on counting."""
    size = 900
    matrix, pivots = np.random.default_rng(0).normal(size=(size, size)), np.zeros(size, dtype=np.int64)
    factor, count, done = load.load("algebra.lu_factor").call, 0, threading.Event()

    def work() -> None:
        factor(matrix, pivots)
        done.set()

    switch, thread = sys.getswitchinterval(), threading.Thread(target=work)
    sys.setswitchinterval(100.0)  # nobody is made to give the lock back
    try:
        thread.start()
        while not done.is_set():
            count += 1
            time.sleep(0.0)
    finally:
        sys.setswitchinterval(switch)
        thread.join()
    assert count > 100
    assert np.isfinite(matrix).all()


# Files ------------------------------------------------------------------------------------------------------


def test_what_is_stored_is_used(cache: Path) -> None:
    before = code_file(cache).stat().st_mtime_ns
    assert run(SOLVE, cache) == "[3.0, 4.0] False"
    assert code_file(cache).stat().st_mtime_ns == before


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_a_file_cut_short_is_compiled_again(cache: Path, part: float) -> None:
    whole = code_file(cache).read_bytes()
    code_file(cache).write_bytes(whole[: int(part * len(whole))])
    assert run(SOLVE, cache) == "[3.0, 4.0] False"
    assert len(code_file(cache).read_bytes()) == pytest.approx(len(whole), rel=0.1)


@pytest.mark.parametrize("place", [0, 70, 300, 2000, -1])
def test_a_file_with_a_wrong_byte_is_compiled_again(cache: Path, place: int) -> None:
    whole = bytearray(code_file(cache).read_bytes())
    whole[place] ^= 0xFF
    code_file(cache).write_bytes(whole)
    assert run(SOLVE, cache) == "[3.0, 4.0] False"
    assert code_file(cache).read_bytes() != bytes(whole)


def test_code_that_llvm_refuses_is_compiled_in_the_process(cache: Path) -> None:
    """A file that is whole, but for another loader."""
    broken = (
        "from elver.kernels.build import load;"
        f"code = load.read({SMALL!r}); load.write({SMALL!r}, code._replace(symbol='another'));"
    )
    assert run(broken + SOLVE, cache) == "[3.0, 4.0] True"


def test_a_folder_that_cannot_be_written_is_no_hindrance(tmp_path: Path) -> None:
    """Nothing is stored, and the kernel is compiled in the process."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(SOLVE, blocked) == "[3.0, 4.0] True"


def test_processes_that_compile_at_the_same_time_do_no_harm(tmp_path: Path) -> None:
    environment = os.environ | {"ELVER_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", SOLVE]
    pipes = {"stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=environment, **pipes) for _ in range(3)]
    assert [process.communicate()[0].strip() for process in processes] == ["[3.0, 4.0] False"] * 3
    assert [path.name for path in (tmp_path / cache_folder.name).iterdir()] == [f"{SMALL}.code"]


def children(pid: int) -> Iterator[int]:
    """Processes started by a process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(folder.name)
        except OSError:
            pass


def test_who_is_stopped_while_compiling_leaves_no_half_files_and_no_processes(tmp_path: Path) -> None:
    environment = os.environ | {"ELVER_CACHE": str(tmp_path)}
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored behind some shells
        "from elver.kernels import warmup; print('begins', flush=True); warmup()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    while not (workers := list(children(process.pid))):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert errors.count("KeyboardInterrupt") == 1
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    for path in tmp_path.rglob("*.code"):
        checksum, _, whole = path.read_bytes().partition(b"\n")
        assert hashlib.sha256(whole).hexdigest().encode() == checksum


def test_who_is_stopped_amid_the_start_of_a_process_ends_it(tmp_path: Path) -> None:
    """The interrupt comes when the process runs already, but nobody has got hold of it yet."""
    code = (
        "import os, signal, subprocess; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Interrupted(subprocess.Popen):\n"
        "    def __init__(self, *arguments, **options):\n"
        "        super().__init__(*arguments, **options)\n"
        "        print(self.pid, flush=True)\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "subprocess.Popen = Interrupted\n"
        "from elver.kernels import warmup\n"
        "try: warmup()\n"
        "except KeyboardInterrupt: pass\n"
        "try: os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError: print('none is left')"
    )
    *pids, last = run(code, tmp_path).splitlines()
    assert len(pids) == 2
    assert last == "none is left"


def test_a_numba_of_another_version_compiles_in_its_own_ways() -> None:
    """Nothing of the lean lowering is asked then; the numbers are the same."""
    code = (
        "import numpy as np; from elver.kernels.build import compiler; compiler.LEAN = False;"
        "from elver.kernels.build.load import _caller; from elver.kernels.build.signatures import find;"
        "A = np.random.default_rng(0).normal(size=(7, 7)); b, p = A.sum(axis=1), np.zeros(7, dtype=np.int64);"
        "calls = [];"
        "[calls.append(_caller(c, border)) for c, _, border in "
        "(compiler.addresses(find(name)) for name in ('algebra.lu_factor', 'algebra.lu_solve'))];"
        "calls[0](A, p); calls[1](A, p, b); print(np.abs(b - 1.0).max() < 1e-12)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr
