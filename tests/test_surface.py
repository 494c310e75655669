"""Surface: every public name exists and explains itself; the examples of README and methods run as printed."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import elver as ev

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [n for n in ev.__all__ if n != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(ev, name)
    doc = inspect.getdoc(value)
    assert doc, f"{name} has no docstring"
    assert len(doc) > 15, f"the docstring of {name} says too little"


LAZY = [
    file.parent
    for file in sorted((ROOT / "src/elver").rglob("__init__.py"))
    if "import lazy" in file.read_text("utf-8")
]


@pytest.mark.parametrize("folder", LAZY, ids=lambda folder: folder.name)
def test_type_checkers_see_the_same_names(folder: Path) -> None:
    """Names that are loaded late are written twice: where they are, and as imports."""
    name = ".".join(folder.relative_to(ROOT / "src").parts)
    package = importlib.import_module(name)
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert set(seen) == set(package.__all__) - {"__version__"}
    for each, home in seen.items():
        assert getattr(package, each) is getattr(importlib.import_module(str(home)), each)


@pytest.mark.parametrize("first", ["package", "module"])
def test_a_name_wins_over_the_module_that_is_called_alike(first: str) -> None:
    orders = {"package": "from elver.statics import equilibrium", "module": "import elver.statics.equilibrium"}
    code = (
        f"{orders[first]}; import elver.statics.workspace, elver.statics;"
        "print(*[getattr(elver.statics, n).__class__.__name__ for n in ('equilibrium', 'workspace', 'continuation')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["function"] * 3


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="Rood"):
        ev.Rood  # noqa: B018 (reading the attribute is the test)


def test_importing_elver_alone_is_light() -> None:
    code = "import sys, elver; print(sorted({'numpy', 'numba', 'xarray', 'matplotlib'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_examples_of_the_readme_run(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)
    assert space["bent"].stable  # type: ignore[attr-defined]
    for run in ("run", "swing", "swim", "soft"):
        assert space[run].attrs["status"] == "complete"  # type: ignore[attr-defined]
