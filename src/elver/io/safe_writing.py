"""Writing that ends well or not at all: a new file takes its place when it is whole, and a full disk is told.

HDF5 does not survive a write that fails: the program crashes when the file is closed, at the latest at its end. Files
are therefore handed to it as Python objects that never fail (:class:`PatientFile`): what the disk refuses goes on in
memory, and the trouble is told once HDF5 is done.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from elver.errors import BadInput, CannotWrite, as_path

__all__ = ["PatientFile", "checked_target", "interrupt_deferred", "patient", "replacing", "told"]

_WORDS = {
    errno.ENOSPC: "the disk is full",
    getattr(errno, "EDQUOT", -1): "the quota of this user is used up",
    errno.EFBIG: "files may not grow any larger here (ulimit -f, or a limit of the file system)",
}


def checked_target(path: str | os.PathLike[str]) -> Path:
    """``path`` if a file may stand there."""
    target = as_path("save", path, "run.nc")
    if target.is_dir():
        raise BadInput(f"{target}: is a folder; give the name of a file, such as {target / 'run.nc'}")
    if not target.parent.is_dir():
        raise BadInput(f"{target}: the folder {target.parent} does not exist; create it first")
    return target


class PatientFile(io.RawIOBase):
    """A file on disk that goes on in memory when a write fails; ``trouble`` is then the first error."""

    def __init__(self, path: Path, mode: str) -> None:
        self._file: Any = open(path, mode, buffering=0)  # noqa: SIM115 (closed with this object)
        self.trouble: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of ``data``, whatever happens."""
        view, place, done = memoryview(data).cast("B"), self._file.tell(), 0
        try:
            while done < len(view):
                done += self._file.write(view[done:])
        except OSError as error:
            self._go_on_in_memory(error)
            self._file.seek(place)
            self._file.write(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the length, whatever happens."""
        length = self._file.tell() if size is None else size
        try:
            return int(self._file.truncate(length))
        except OSError as error:
            self._go_on_in_memory(error)
            if length > len(self._file.getbuffer()):
                self._file.seek(length - 1)
                self._file.write(b"\0")
            return int(self._file.truncate(length))

    def _go_on_in_memory(self, error: OSError) -> None:
        if self.trouble is not None:
            raise error
        self.trouble = error
        self._file.seek(0)
        held = io.BytesIO(self._file.readall())
        self._file.close()
        self._file = held

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer``."""
        return int(self._file.readinto(buffer) or 0)

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place."""
        return int(self._file.seek(place, whence))

    def tell(self) -> int:
        """The present place."""
        return int(self._file.tell())

    def flush(self) -> None:
        """Nothing waits here."""

    def readable(self) -> bool:
        """True."""
        return True

    def writable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._file.close()


@contextlib.contextmanager
def patient(path: Path, mode: str) -> Iterator[PatientFile]:
    """A file for HDF5; where the disk refused something, its error is raised at the end."""
    with contextlib.closing(PatientFile(path, mode)) as file:
        try:
            yield file
        finally:
            if file.trouble is not None:
                raise file.trouble


@contextlib.contextmanager
def told(target: Path, held: str = "") -> Iterator[None]:
    """Trouble with the disk in the block becomes :class:`CannotWrite`, with file, size and remedy."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        why = _WORDS.get(error.errno or 0, error.strerror or str(error))
        size = target.stat().st_size / 1e6 if target.exists() else 0.0
        free = shutil.disk_usage(target.parent).free / 1e6 if target.parent.is_dir() else 0.0
        raise CannotWrite(
            f"{target}: cannot be written: {why} (the file has {size:.3g} MB, the disk {free:.3g} MB free)"
            + (f"; it holds {held}" if held else "")
            + "; make room, choose a file on another disk, or keep fewer steps with every=..."
        ) from error


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path beside ``target`` to write to; it takes the place of ``target`` when the block ends well."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def interrupt_deferred() -> Iterator[None]:
    """Ctrl-C inside the block is raised at its end: a chunk is written whole or not at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if caught and callable(previous):
        previous(*caught[0])
