"""Where the gallery and the benchmarks are: at the root of the repository, or inside an installed package."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType

__all__ = ["folder", "load_module"]


def folder(name: str) -> Path:
    """The folder ``name`` ("gallery", "benchmarks"): the repository's own, else the copy in the wheel."""
    package = Path(__file__).resolve().parents[1]
    root = package.parents[1]
    if (root / "pyproject.toml").is_file() and (root / name).is_dir():
        return root / name
    return package / f"_{name}"


def load_module(folder: Path, module: str) -> ModuleType:
    """``module``.py of ``folder`` as part of a package made of the folder, so that relative imports work."""
    digest = zlib.crc32(str(folder.resolve()).encode())  # two folders of one name are two packages
    package = f"elver_{folder.name}_{digest:08x}".replace("-", "_").replace(".", "_")
    if package not in sys.modules:
        spec = importlib.util.spec_from_loader(package, loader=None, is_package=True)
        assert spec is not None
        spec.submodule_search_locations = [str(folder)]
        sys.modules[package] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{package}.{module}")
