"""Kernels, and where their compiled code is kept.

A :class:`Kernel` is a plain Python function that Numba can compile. Who computes never imports Numba: another process
compiles (:mod:`elver.kernels.build.compiler`) and stores machine code, which :mod:`elver.kernels.build.load` reads. The
folder of the code is named after a hash of all kernel sources, the versions of what compiles them, and the processor
with its features: ``<user cache>/elver/<hash>``. Old folders can be deleted at any time. Where elver is installed does
not matter: all installations of one version share what was compiled.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numpy as np

from elver.kernels.build.kinds import Signature, signature_of

__all__ = ["CHECKED", "Kernel", "cache_folder", "inner", "kernel"]

CHECKED = os.environ.get("ELVER_CHECK_BOUNDS", "") not in ("", "0")
"""True where kernels are compiled so that an index outside its array ends them: for tests, in a folder of its own."""


def _user_cache() -> Path:
    if "ELVER_CACHE" in os.environ:
        return Path(os.environ["ELVER_CACHE"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "elver"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "elver"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elver"


def _numba_version() -> str:
    """Found without importing Numba, nor all that reads the metadata of packages."""
    found = find_spec("numba")
    file = Path(found.origin).with_name("_version.py") if found and found.origin else None
    if file and file.is_file():
        return file.read_text()
    from importlib.metadata import version

    return version("numba")


def _fingerprint() -> str:
    digest = hashlib.sha256()
    aside = "__init__", "entry", "load", "warmup"  # which change nothing of what is compiled
    rooms = Path(__file__).parents[1]
    for source in sorted(rooms.rglob("*.py")):
        if source.stem not in aside and source.parent.name != "twin":
            digest.update(source.read_bytes())
    compilers = _numba_version(), llvmlite.__version__, np.__version__, platform.python_version()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    for word in (*compilers, llvmlite.binding.get_host_cpu_name(), features, "checked" if CHECKED else ""):
        digest.update(word.encode())
    return digest.hexdigest()[:16]


cache_folder = _user_cache() / _fingerprint()


class Kernel:
    """A function for compiled code; called from Python it runs its stored machine code.

    Types never change, so a kernel has one ``signature``: given with the function, declared by
    :mod:`elver.kernels.build.entry`, or None for one that only kernels call, whose types Numba finds. Called from
    Python, a kernel runs without Python's lock: its arrays belong to one thread.
    """

    def __init__(self, function: Callable[..., Any], signature: Signature | None = None) -> None:
        self.py_func, self.signature = function, signature
        self.name = f"{function.__module__.removeprefix('elver.kernels.')}.{function.__name__}"
        functools.update_wrapper(self, function)

    def __reduce__(self) -> str:
        return self.py_func.__name__

    def __call__(self, *arguments: Any) -> Any:
        from elver.kernels.build.load import load  # which needs this module

        return load(self.name).call(*arguments)


def kernel(signature: Any) -> Any:
    """Declare a function for compiled code, which Python may call too.

    Used bare, types are those of its first caller. Small helpers give their signature, as Numba writes it. Kernels
    allocate nothing, so reference counting is off, which halves their time. Fused multiply-add and reordered sums are
    allowed (they let loops run in vector registers); NaN and infinity keep their meaning, so a broken number still
    shows.
    """
    if callable(signature):
        return Kernel(signature)
    return lambda function: Kernel(function, signature_of(signature))


inner = kernel
"""Like :func:`kernel`, for functions that only kernels call: their code is not stored by itself."""
