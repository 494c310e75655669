"""Locks: one writer per file. Beside ``run.nc`` a writer keeps ``.run.nc.lock``, which says who writes, and since when.

The lock of a process that has died is known by its number and taken over; that of a writer on another computer, which
cannot be asked, is not. A file system need only create a file once, and rename it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import weakref
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from elver.errors import BadInput

__all__ = ["Lock", "Writer", "writer_of"]

_UNREADABLE_AGE = 10.0  # s, after which a lock that says nothing was left by a process that died while it wrote it


@dataclass(frozen=True)
class Writer:
    """Who writes a file."""

    host: str
    process: int
    began: str | None
    """When the process began, in the system's own words: another process may have its number by now."""
    since: float
    """When it began to write [s since 1970]."""

    @property
    def here(self) -> bool:
        """True for this very process."""
        return self.host == socket.gethostname() and self.process == os.getpid()

    @property
    def alive(self) -> bool:
        """False when the process is known to have ended."""
        if self.host != socket.gethostname() or self.here:
            return True
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OSError):
            pass  # somebody else's process, or a system that does not tell
        now = _beginning(self.process)
        return now is None or self.began is None or now == self.began

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.since).strftime("%Y-%m-%d %H:%M:%S")
        ago = max(0.0, time.time() - self.since)
        who = "this process" if self.here else f"process {self.process} on {self.host}"
        return f"{who} since {when} ({ago:.0f} s ago)"


def _beginning(process: int) -> str | None:
    """When a process began, where the system tells (Linux)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


class Lock:
    """The right to write ``target``, until :meth:`release`, the end of this object, or of its process."""

    def __init__(self, target: Path) -> None:
        self.path = _lock_path(target)
        me = Writer(socket.gethostname(), os.getpid(), _beginning(os.getpid()), time.time())
        text = json.dumps(asdict(me))
        while not _create(self.path, text):
            if (writer := writer_of(target)) is not None:
                raise BadInput(_taken(target, writer))
        self.writer = me
        self._release = weakref.finalize(self, _remove, self.path, text, os.getpid())

    def check(self) -> None:
        """Refuse to write in a process that was forked from the writer, where both would."""
        if self.writer.process != os.getpid():
            raise BadInput(
                f"{self.path.name[1:-5]}: opened by process {self.writer.process}, of which this is a copy: open a "
                "file of its own in each process"
            )

    def release(self) -> None:
        """Let others write."""
        self._release()


def writer_of(target: Path) -> Writer | None:
    """Who writes ``target`` now; the lock of a process that has died is taken away."""
    lock = _lock_path(target)
    for _ in range(20):
        try:
            text, age = lock.read_text(), time.time() - lock.stat().st_mtime
        except FileNotFoundError:
            return None
        try:
            writer = Writer(**json.loads(text))
        except (TypeError, ValueError):
            if age < _UNREADABLE_AGE:
                time.sleep(0.01)  # it is being written
                continue
        else:
            if writer.alive:
                return writer
        _take_away(lock, text)
    raise BadInput(f"{lock}: a lock that cannot be read; if nobody writes {target.name}, delete it")


def _taken(target: Path, writer: Writer) -> str:
    if writer.here:
        return f"{target}: is being written by {writer}; close that RunFile first, or give each run a file of its own"
    return (
        f"{target}: is being written by {writer}; give another name, or wait "
        f"(if it no longer runs, delete {_lock_path(target).name} beside it)"
    )


def _lock_path(target: Path) -> Path:
    return target.parent.resolve() / f".{target.name}.lock"


def _create(lock: Path, text: str) -> bool:
    """Make the lock; False where there is one."""
    try:
        file = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    try:
        os.write(file, text.encode())
    except OSError:
        lock.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    return True


def _take_away(lock: Path, text: str) -> None:
    """Remove a lock that says ``text``; another that has come in its place meanwhile is put back."""
    aside = lock.with_name(f"{lock.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        lock.rename(aside)
    except FileNotFoundError:
        return
    try:
        if aside.read_text() != text:
            with contextlib.suppress(FileExistsError):
                os.link(aside, lock)
    finally:
        aside.unlink(missing_ok=True)


def _remove(lock: Path, text: str, process: int) -> None:
    """Remove the lock if it is still ours: a forked copy of its writer leaves it alone."""
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            if lock.read_text() == text:
                lock.unlink()
