"""Where compiled kernels are kept, and the decorator that every kernel carries.

Numba notices an edited file but not an edited helper in another file, and would silently run the old code. So
the cache folder is named after a hash of all kernel sources, the versions of Numba and NumPy, and the processor:
``<user cache>/elver/<hash>``. Old folders can be deleted at any time. Where elver is installed does not matter: all
installations of one version share what was compiled.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core.caching import FunctionCache

__all__ = ["cache_folder", "inner", "kernel"]


def _user_cache() -> Path:
    if "ELVER_CACHE" in os.environ:
        return Path(os.environ["ELVER_CACHE"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "elver"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "elver"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elver"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        text = source.read_bytes()
        if any(word in text for word in (b"@kernel", b"@inner", b"intrinsic", b"(NamedTuple)")):
            digest.update(text)
    for word in (numba.__version__, np.__version__, platform.python_version(), llvmlite.binding.get_host_cpu_name()):
        digest.update(word.encode())
    return digest.hexdigest()[:16]


cache_folder = _user_cache() / _fingerprint()


def kernel(signature: Any) -> Any:
    """Compile a function with Numba, kept on disk in :data:`cache_folder`.

    Used bare, types are taken from the first call. Small helpers give their signature: Numba would otherwise
    compile a copy for every literal number they are called with. Kernels allocate nothing, so reference
    counting is off (``_nrt``), which halves their time. Fused multiply-add and reordered sums are allowed (they
    let loops run in vector registers); NaN and infinity keep their meaning, so a broken number still shows. Python
    goes on while a kernel runs: its arrays belong to one thread.
    """
    if callable(signature):
        return _compile(signature, (), {"nogil": True})
    return lambda function: _compile(function, (signature,), {"nogil": True})


def inner(signature: Any) -> Any:
    """Like :func:`kernel`, for functions that only kernels call: no wrapper for Python is made, which saves time."""
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if callable(signature):
        return _compile(signature, (), bare)
    return lambda function: _compile(function, (signature,), bare)


def _compile(function: Any, signature: tuple[Any, ...], extra: dict[str, bool]) -> Any:
    njit: Any = numba.njit
    options = {"fastmath": {"contract", "reassoc", "nsz"}, "error_model": "numpy", "_nrt": False}
    compiled = njit(**options, **extra)(function)
    if _writable():
        compiled._cache = _Kept(function)
    for one in signature:
        compiled.compile(one)
        compiled.disable_compile()
    return compiled


@cache
def _writable() -> bool:
    """True where compiled kernels can be kept; elsewhere each process compiles its own."""
    try:
        _Folder.ensure_cache_path()
    except OSError:
        return False
    return True


class _Folder:
    """Numba's cache locator for :data:`cache_folder`.

    Numba's own name a folder after the path of a source file and ask for its date, so that a second installation, or
    the same one moved, compiles anew. Our folder is named after what the sources say: path and date do not matter.
    """

    def __init__(self, function: Any, file: str) -> None:
        self._lines, self._py_file = function.__code__.co_firstlineno, file

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Folder:
        """The locator of a function."""
        return cls(function, file)

    @staticmethod
    def ensure_cache_path() -> None:
        """Make the folder; OSError where nothing can be written."""
        cache_folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache_folder).close()

    def get_cache_path(self) -> str:
        """Where files go."""
        return str(cache_folder)

    def get_source_stamp(self) -> str:
        """What makes kept files stale: nothing, since other sources have another folder."""
        return cache_folder.name

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return str(self._lines)


_Implementation: Any = FunctionCache._impl_class


class _InFolder(_Implementation):
    _locator_classes = (_Folder,)


class _Kept(FunctionCache):
    _impl_class = _InFolder
