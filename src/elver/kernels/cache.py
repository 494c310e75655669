"""Where compiled kernels are kept, and the decorator that every kernel carries.

Numba notices an edited file but not an edited helper in another file, and would silently run the old code. So
the cache folder is named after a hash of all kernel sources, the versions of Numba and NumPy, and the processor:
``<user cache>/elver/<hash>``. Old folders can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

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
    let loops run in vector registers); NaN and infinity keep their meaning, so a broken number still shows.
    """
    if callable(signature):
        return _compile(signature, (), {})
    return lambda function: _compile(function, (signature,), {})


def inner(signature: Any) -> Any:
    """Like :func:`kernel`, for functions that only kernels call: no wrapper for Python is made, which saves time."""
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if callable(signature):
        return _compile(signature, (), bare)
    return lambda function: _compile(function, (signature,), bare)


def _compile(function: Any, signature: tuple[Any, ...], extra: dict[str, bool]) -> Any:
    config: Any = numba.config
    njit: Any = numba.njit
    previous = config.CACHE_DIR
    # The folder is chosen while the decorator runs, hence the switch of Numba's setting around it.
    config.CACHE_DIR = str(cache_folder)
    try:
        options = {"cache": True, "fastmath": {"contract", "reassoc", "nsz"}, "error_model": "numpy", "_nrt": False}
        return njit(*signature, **options, **extra)(function)
    finally:
        config.CACHE_DIR = previous
