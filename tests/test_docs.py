"""Every Python block of the documentation runs, page by page, as a reader would type it."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import elver as ev
from elver.cli.folders import load_module

DOCS = Path(__file__).resolve().parents[1] / "docs"
MADE = {"gallery", "_build", "reference.md"}  # from the code, see docs/pages.py
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] not in MADE and "```python" in page.read_text(encoding="utf-8")
]


@pytest.mark.filterwarnings("default::elver.errors.ElverWarning")  # a reader sees them, too
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: plt.close("all"))
    space: dict[str, object] = {"__name__": "__page__"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        exec(compile(block, page.name, "exec"), space)


def test_pages_made_from_the_code() -> None:
    pages = load_module(DOCS, "pages")
    reference = pages._reference()
    assert [name for name in ev.__all__ if f"### {name}\n" not in reference] == []
    folders = [path.parent for path in (DOCS.parent / "gallery").glob("*/paper.toml")]
    assert len(folders) > 25
    for folder in folders:
        assert pages._gallery_page(folder).startswith("# ")


def test_docstrings_become_markdown() -> None:
    pages = load_module(DOCS, "pages")
    text = "The ``strain`` of a :class:`Rod`, K_x [1/m].\n\n    g′ = g ξ̂\n\n- one *thing*"
    assert pages.markdown(text) == (
        "The `strain` of a `Rod`, K\\_x \\[1/m\\].\n\n```\ng′ = g ξ̂\n```\n\n- one \\*thing\\*"
    )
