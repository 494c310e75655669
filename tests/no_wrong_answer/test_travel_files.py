"""Systems travel (issue list, section 4): one writer per file, full disks, functions of one's own in runs."""

import errno
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import xarray as xr

import elver as ev
from elver.io import RunFile, load, loads, save

SOFT = ev.Material(young=1e6, poisson=0.45, density=1070.0)


def a_rod(name="arm", **more):
    return ev.Rod(0.4, ev.Circle(8e-3), SOFT, ev.Legendre(bending=3), name=name, **more)


def pulled_arm():
    arm = a_rod()
    return ev.System(ev.Mechanism.clamped(arm), [ev.Tendon(arm, ev.parallel(z=6e-3), name="pull")], [ev.Gravity()])


def chunk(first=0, steps=4, value=1.0):
    time = 0.01 * np.arange(first, first + steps)
    return xr.Dataset({"u": ("time", np.full(steps, value))}, {"time": time})


# ---------------------------------------------------------------------------------------------------------- writers


def test_two_writers_in_one_process(tmp_path):
    """The rows of both were mixed in a file that said "complete"."""
    path = tmp_path / "run.nc"
    first = RunFile(path)
    first.append(chunk(0))
    with pytest.raises(ev.BadInput, match=r"run\.nc: is being written by this process since .* s ago\); close that"):
        RunFile(path)
    with pytest.raises(ev.BadInput, match="is being written by this process"):
        save(chunk(), path)
    with pytest.raises(ev.BadInput, match="is being written by this process"):
        ev.simulate(pulled_arm(), duration=0.01, file=path)
    first.append(chunk(4))
    first.close()
    assert load(path).sizes["time"] == 8
    with RunFile(path) as second:  # closed files are free
        second.append(chunk(value=2.0))
    assert set(load(path)["u"].values) == {2.0}
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


WRITER = """
import sys, time
import numpy as np, xarray as xr
from elver.io import RunFile
file = RunFile(sys.argv[1])
for k in range(4):
    file.append(xr.Dataset({"u": ("time", np.ones(2))}, {"time": np.arange(2.0) + 2 * k}))
print("writing", flush=True)
sys.stdin.readline()
file.close()
"""


def test_two_processes_and_a_killed_one(tmp_path):
    """A second process is refused with owner and age; what a killed process leaves behind is not in the way."""
    path = tmp_path / "run.nc"

    def writer():
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "writing\n"
        return process

    other = writer()
    try:
        with pytest.raises(ev.BadInput, match=rf"process {other.pid} on \S+ since .* s ago\); give another name"):
            RunFile(path)
        assert load(path).sizes["time"] == 8  # reading is free
        other.communicate("\n", timeout=60)
        assert other.returncode == 0
        assert load(path).attrs["status"] == "complete"
        other = writer()
    finally:
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert load(path).attrs["status"] == "running"
    assert load(path).sizes["time"] == 8
    with RunFile(path) as file:
        file.append(chunk(value=3.0))
    assert set(load(path)["u"].values) == {3.0}
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_locks_of_others(tmp_path):
    """Another computer cannot be asked; a number that another process has by now is no owner; nor is rubbish."""
    path, lock = tmp_path / "run.nc", tmp_path / ".run.nc.lock"
    other = {"host": "elsewhere", "process": 1, "began": None, "since": time.time() - 60.0}
    lock.write_text(json.dumps(other))
    with pytest.raises(ev.BadInput, match=r"process 1 on elsewhere .*\(6\d s ago\).*delete \.run\.nc\.lock"):
        RunFile(path)
    lock.write_text(json.dumps({**other, "host": socket.gethostname(), "process": os.getppid(), "began": "0"}))
    if os.path.exists("/proc/self/stat"):  # where the system says when a process began
        RunFile(path).close()
    lock.write_text("")
    os.utime(lock, (0.0, 0.0))
    RunFile(path).close()
    assert not lock.exists()



def test_a_forked_writer_is_refused(tmp_path):
    """A child has a copy of the writer, of which one must be enough."""
    file = RunFile(tmp_path / "run.nc")
    file.append(chunk(0))
    child = os.fork()
    if child == 0:
        try:
            file.append(chunk(4))
        except ev.BadInput as error:
            os._exit(0 if "of which this is a copy" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pytest.raises(TypeError, match="send its name"):
        pickle.dumps(file)
    file.append(chunk(4))
    file.close()
    assert load(tmp_path / "run.nc").sizes["time"] == 8


def test_a_file_that_was_replaced_is_not_written_into(tmp_path):
    """Where locks do not help, the file itself is known."""
    path = tmp_path / "run.nc"
    file = RunFile(path)
    file.append(chunk(0))
    (tmp_path / "other.nc").write_bytes(path.read_bytes())
    os.replace(tmp_path / "other.nc", path)
    with pytest.raises(ev.BadInput, match="was removed or replaced while a run was written to it"):
        file.append(chunk(4))


def test_two_processes_simulate_into_one_file(tmp_path):
    """Each run is in a file of its own, or is refused: never are rows mixed."""
    work = """
        import sys, elver as ev
        m = ev.Material(1e6, poisson=0.45, density=1070.0)
        r = ev.Rod(0.4, ev.Circle(8e-3), m, ev.Legendre(bending=3), name='arm')
        s = ev.System(ev.Mechanism.clamped(r), [ev.Tendon(r, ev.parallel(z=6e-3), name='pull')])
        try:
            ev.simulate(s, duration=0.2, step=1e-3, file='run.nc', inputs={'pull': float(sys.argv[1])})
        except ev.BadInput as error:
            sys.exit(7 if 'is being written by process' in str(error) else 1)
    """
    code = textwrap.dedent(work)
    both = [subprocess.Popen([sys.executable, "-c", code, str(k)], cwd=tmp_path) for k in (1, 2)]
    ends = [process.wait(timeout=120) for process in both]
    assert set(ends) <= {0, 7}
    assert 0 in ends
    run = load(tmp_path / "run.nc")
    assert len(set(run["inputs"].values[:, 0])) == 1
    assert (run.attrs["status"], run.sizes["time"]) == ("complete", 201)


# --------------------------------------------------------------------------------------------------------- disk full

LIMITED = """
import resource, sys
import elver as ev
r = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(1e6, poisson=0.45, density=1070.0), ev.Legendre(bending=3), name='arm')
s = ev.System(ev.Mechanism.clamped(r), [ev.Tendon(r, ev.parallel(z=6e-3), name='pull')])
ev.simulate(s, duration=0.02)
size = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    ev.simulate(s, duration=1.5, step=1e-3, file='run.nc', inputs={'pull': 1.0})
except ev.CannotWrite as error:
    print(error.result.sizes['time'], error.result.attrs['status'], sep='|')
    print(error)
"""


@pytest.mark.parametrize("size", [20_000, 500_000], ids=["nothing fits", "some fits"])
def test_a_limit_of_file_size_in_a_run(tmp_path, size):
    """HDF5 crashed the process, .result was lost; now file, size and remedy are told and the process ends well."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(size)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    result, message = done.stdout.splitlines()
    steps, status = result.split("|")
    assert int(steps) >= 1
    assert status.startswith("stopped: run.nc: cannot be written: files may not grow any larger here")
    assert "MB free" in message
    assert "every=" in message
    left = [p.name for p in tmp_path.iterdir()]
    if size == 20_000:
        assert left == []
    else:
        assert left == ["run.nc"]
        assert 1 <= load(tmp_path / "run.nc").sizes["time"] <= int(steps)
        assert load(tmp_path / "run.nc").attrs["status"].startswith("stopped: run.nc: cannot be written")


class Full:
    """A disk with room for so many bytes; then every write fails, as on a full one."""

    def __init__(self, room):
        self.room, self.open = room, open

    def __call__(self, path, mode="r", **how):
        file = self.open(path, mode, **how)
        return Limited(file, self) if "b" in mode and "+" in mode else file


class Limited:
    def __init__(self, file, disk):
        self.file, self.disk = file, disk

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        if self.disk.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.file.write(data[: self.disk.room])  # a disk takes what fits
        self.disk.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1_000, 9_000, 40_000, 47_000])
def test_a_full_disk_at_any_moment(tmp_path, monkeypatch, room):
    """Whatever is being written when the disk is full, the file keeps the steps it had, and the message says so."""
    path = tmp_path / "run.nc"
    file = RunFile(path)
    file.append(chunk(0, 300))
    steps = 300
    monkeypatch.setattr("elver.io.safe_writing.open", Full(room), raising=False)
    with pytest.raises(ev.CannotWrite, match=r"the disk is full .* MB.* it holds \d+ steps; make room"):
        for first in range(300, 2000, 300):
            file.append(chunk(first, 300))
            steps += 300
    assert load(path).sizes["time"] == steps == file.steps
    with pytest.raises(ev.CannotWrite, match=rf"it holds {steps} steps, with the status \"running\""):
        monkeypatch.setattr("elver.io.safe_writing.open", Full(0), raising=False)
        file.close()
    assert load(path).attrs["status"] == "running"
    monkeypatch.undo()
    RunFile(path).close()  # nothing is locked any more


def test_a_full_disk_at_the_end_of_a_run(tmp_path, monkeypatch):
    """The run is complete, only its file is not: .result holds all of it."""
    monkeypatch.setattr(RunFile, "close", lambda *_: (_ for _ in ()).throw(ev.CannotWrite("no room")))
    with pytest.raises(ev.CannotWrite, match="no room") as told:
        ev.simulate(pulled_arm(), duration=0.05, step=1e-2, file=tmp_path / "run.nc")
    assert told.value.result.sizes["time"] == 6


# --------------------------------------------------------------------------------------------- functions of one's own


def own_path(s, length):
    """D and D′ of a tendon that is no function of elver's: a parabola."""
    D, D_prime = np.zeros((s.size, 3)), np.zeros((s.size, 3))
    D[:, 2], D_prime[:, 2] = 6e-3 * (1.0 - (s / length) ** 2), -12e-3 * s / length**2
    return D, D_prime


class OwnPath:
    """The same as an object."""

    def __call__(self, s, length):
        return own_path(s, length)


@pytest.mark.parametrize("path", [own_path, OwnPath()], ids=["function", "object"])
def test_a_path_of_ones_own(path):
    """Paths (s, length) passed equilibrium and failed in simulate; the model of the run gives the same motion."""
    arm = a_rod()
    system = ev.System(ev.Mechanism.clamped(arm), [ev.Tendon(arm, path, name="pull")])
    run = ev.simulate(system, duration=0.05, step=1e-2, inputs={"pull": 1.0})
    again = ev.simulate(loads(run.attrs["model"]), duration=0.05, step=1e-2, inputs={"pull": 1.0})
    # 101 samples and cubic splines of a parabola are exact up to rounding
    np.testing.assert_allclose(again["q"].values, run["q"].values, rtol=1e-9, atol=1e-12)


def test_one_path_for_rods_of_several_lengths():
    """A path is asked for each rod with its own length, and so are its samples."""
    long, short = a_rod("long"), ev.Rod(0.2, ev.Circle(8e-3), SOFT, ev.Legendre(bending=2), name="short")
    joints = [ev.Fixed("world", (long, "base")), ev.Fixed((long, "tip"), (short, "base"))]
    for path in (own_path, [own_path, ev.parallel(z=1e-3)]):
        system = ev.System(ev.Mechanism(joints), [ev.Tendon([long, short], path, name="pull")])
        run = ev.simulate(system, duration=0.02, step=1e-2, inputs={"pull": 0.5})
        again = ev.simulate(loads(run.attrs["model"]), duration=0.02, step=1e-2, inputs={"pull": 0.5})
        np.testing.assert_allclose(again["q"].values, run["q"].values, rtol=1e-9, atol=1e-12)


def test_routes_that_return_pairs():
    """(D_y, D_z) as a pair of arrays, from functions that take arrays only."""
    route = ev.route(lambda s: (0.0 * s[:], 6e-3 - 1e-2 * s[:] ** 2), lambda s: (0.0 * s[:], -2e-2 * s[:]))
    arm = a_rod()
    system = ev.System(ev.Mechanism.clamped(arm), [ev.Tendon(arm, route, name="pull")])
    run = ev.simulate(system, duration=0.02, step=1e-2, inputs={"pull": 1.0})
    again = ev.simulate(loads(run.attrs["model"]), duration=0.02, step=1e-2, inputs={"pull": 1.0})
    np.testing.assert_allclose(again["q"].values, run["q"].values, rtol=1e-9, atol=1e-12)


class OwnSection:
    """A section that is a class of one's own, and no dataclass: it cannot be written to a file."""

    def __init__(self):
        self.circle = ev.Circle(8e-3)

    def __getattr__(self, name):
        return getattr(self.__dict__["circle"], name)


def test_what_cannot_be_stored_does_not_stop_a_run(tmp_path):
    """The run is computed and written; it says that its model is not in it, and why."""
    arm = ev.Rod(0.4, OwnSection(), SOFT, ev.Legendre(bending=3), name="arm")
    system = ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity()])
    with pytest.warns(ev.ElverWarning, match=r"its model cannot be stored with it: .*section.*cannot be written"):
        run = ev.simulate(system, duration=0.02, step=1e-2, file=tmp_path / "run.nc")
    assert "model" not in run.attrs
    stored = load(tmp_path / "run.nc")
    assert "section" in stored.attrs["model_not_stored"]
    assert stored.attrs["status"] == "complete"
    with pytest.warns(ev.ElverWarning, match="cannot be stored"):
        ev.save(sys.modules["elver.integrators.simulate"].still(ev.equilibrium(system)), tmp_path / "still.nc")


def test_functions_everywhere_in_a_run():
    """Wherever a user's function may stand, a run takes it."""
    arm = ev.Rod(
        0.4, ev.Circle(lambda s: 8e-3 - 5e-3 * s), SOFT, ev.Legendre(bending=3), name="arm",
        rest=lambda s: np.column_stack([0.0 * s, 0.0 * s, 1.0 + s]),
    )  # fmt: skip
    load = ev.DistributedWrench(arm, force=lambda s: np.column_stack([0.0 * s, 0.1 * s, 0.0 * s]), name="wind")
    steer = ev.Feedback((arm, "tip"), lambda t, g, eta: -1e-4 * eta, name="drag")
    muscle = ev.Muscle(arm, target=lambda s: np.column_stack([0.0 * s, s, 0.0 * s]), name="muscle")
    tendon = ev.Tendon(arm, own_path, name="pull")
    system = ev.System(ev.Mechanism.clamped(arm), [tendon, muscle], [load, steer])
    inputs = {"pull": lambda t: 0.1 * t, "wind": lambda t: np.cos(t), "muscle": lambda t: 0.1}
    run = ev.simulate(system, duration=0.02, step=1e-2, inputs=inputs)
    assert run.attrs["status"] == "complete"
    assert "samples of the Python function own_path" in run.attrs["model"]
