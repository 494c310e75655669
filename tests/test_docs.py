"""The documentation holds: what it says to type runs, its links lead somewhere, the code cites what exists."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from typer.testing import CliRunner

import elver as ev
from elver.cli import app
from elver.cli.folders import load_module
from elver.viz.browser import LiveView, Player

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MADE = {"gallery", "_build", "reference.md"}  # from the code, see docs/pages.py
WRITTEN = [page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE]
PAGES = [*WRITTEN, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
THEORY = [page for page in sorted((DOCS / "theory").glob("*.md")) if page.name != "index.md"]
ELSEWHERE = ("make ", "pip ", "ssh ", ". .venv/")  # they set up a machine, or run what runs here already


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, str]]:
    """Fenced blocks of a page: what they are, and their text."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M)


# What a reader types -------------------------------------------------------------------------------------------------


def typed(command: str, folder: Path) -> None:
    """One line of a console block, as it stands there."""
    words = shlex.split(command, comments=True)
    if not words or command.startswith(ELSEWHERE):
        return
    assert words[0] == "elver", f"who runs {command!r}?"
    if words[1] == "view":
        shown(words) if words[2].endswith(".nc") else served(words, folder)
        return
    # The whole table takes minutes, and its exit code says how fast this machine is: one row will do.
    bench = words[1] == "bench"
    if bench and "--only" not in words:
        words += ["--only", "rod-inverse-dynamics-11"]
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code in ((0, 1) if bench else (0,)), f"{command}\n{result.output}"
    if "--json" in words[:-1] and not words[words.index("--json") + 1].startswith("-"):
        assert (folder / words[words.index("--json") + 1]).exists()


def served(words: list[str], folder: Path) -> None:
    """A page is served until Ctrl-C, by a process of its own: wait for its address, end it."""
    command = [sys.executable, "-c", "from elver.cli import main; main()", *words[1:]]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = ""
        try:
            while "http://127.0.0.1:" not in said:
                line = process.stdout.readline()
                assert line, f"{words}\n{said}"
                said += line
        finally:
            process.kill()


def shown(words: list[str]) -> None:
    """The same here: the page is asked for, and ended, instead of waiting for Ctrl-C."""
    asked = []

    def ask(page: Any) -> None:
        with urllib.request.urlopen(page.url, timeout=600.0) as answer:
            asked.append(answer.status)
        page.stop()

    with pytest.MonkeyPatch.context() as patch:
        for kind in (LiveView, Player):
            patch.setattr(kind, "wait", ask)
        result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, f"{words}\n{result.output}"
    assert "http://127.0.0.1:" in result.output
    assert asked == [200]


_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def compare(printed: str, expected: str) -> None:
    """Printed text is as shown on the page, numbers to one and a half units of the last digit shown there."""
    assert _NUMBER.sub("#", printed).split() == _NUMBER.sub("#", expected).split(), printed
    for one, other in zip(_NUMBER.findall(printed), _NUMBER.findall(expected), strict=True):
        digits = len(other.partition("e")[0].partition(".")[2])
        exponent = int(other.partition("e")[2] or 0)
        assert abs(float(one) - float(other)) <= 1.5 * 10.0 ** (exponent - digits), printed


def played(page: Path, folder: Path) -> None:
    space: dict[str, object] = {"__name__": "__page__"}
    printed = ""
    for kind, text in blocks(page):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, page.name, "exec"), space)
            printed = out.getvalue()
        elif kind == "text":
            compare(printed, text)
        elif kind == "console":
            for line in text.splitlines():
                typed(line, folder)
        elif kind == "toml":
            (folder / "block.toml").write_text(text, encoding="utf-8")
            assert ev.load_model(folder / "block.toml").system.n > 0


@pytest.mark.filterwarnings("default::elver.errors.ElverWarning")  # a reader sees them, too
@pytest.mark.parametrize(
    "page",
    [page for page in WRITTEN if any(kind in ("python", "console", "toml") for kind, _ in blocks(page))],
    ids=name_of,
)
def test_a_page_runs_as_it_is_typed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: plt.close("all"))
    # a third of a second of film: how long they are, and how they look, is tested in tests/viz
    monkeypatch.setattr("elver.viz.animation.pleasant_speed", lambda duration: duration / 0.3)
    played(page, tmp_path)


def test_the_commands_of_the_readme_run_in_a_shell(tmp_path: Path) -> None:
    # its Python is in tests/test_surface.py
    commands = [line for kind, text in blocks(ROOT / "README.md") if kind == "console" for line in text.splitlines()]
    assert sum(command.startswith("elver ") for command in commands) >= 4
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for command in commands:
        if command.strip() and not command.startswith(ELSEWHERE):
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert (tmp_path / "tendon-arm.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_is_forgotten(page: Path) -> None:
    kinds = [kind for kind, _ in blocks(page)]
    assert all(before == "python" for before, kind in pairwise(["", *kinds]) if kind == "text")
    for kind, text in blocks(page):
        assert kind in ("", "python", "text", "console", "toml") or kind.startswith("{"), f"{kind}: who runs it?"
        if kind == "":  # formulas and the like
            assert not re.search(r"^(elver|pip|make|import|from|print\(|\w+ = ev\.|ev\.)\b", text, re.M), text


# Links and equations -------------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """Of headings, as GitHub and MyST make them; those of three levels."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    titles = re.findall(r"^#{1,3} +(.+?) *$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def labels(page: Path) -> list[str]:
    """Names of the equations of a page."""
    return re.findall(r"\$\$ \(([a-z0-9-]+)\)$", page.read_text(encoding="utf-8"), re.M)


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Targets of the links and pictures of a page that stay on the site: file, anchor."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield file, anchor


def made(path: Path) -> str | None:
    """Text of a page that is made from the code."""
    pages = load_module(DOCS, "pages")
    if path == DOCS / "reference.md":
        return str(pages._reference())
    folder = ROOT / "gallery" / path.stem
    if path.parent == DOCS / "gallery" and (folder / "paper.toml").exists():
        return str(pages._gallery_page(folder))
    return "# Gallery" if path == DOCS / "gallery" / "index.md" else None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for file, anchor in links(page):
        target = (page.parent / file).resolve() if file else page
        text = made(target)
        if text is None:
            assert target.exists(), f"no {file}"
            text = target.read_text(encoding="utf-8") if anchor else ""
        assert not anchor or anchor in anchors(text), f"no #{anchor} in {file or page.name}: {sorted(anchors(text))}"
    text = page.read_text(encoding="utf-8")
    known = {label for other in THEORY for label in labels(other)}
    assert set(re.findall(r"\{eq\}`([^`]+)`", text)) <= known
    for names in re.findall(r"gallery pages? ((?:`[a-z0-9-]+`(?:,? and |, )?)+)", text):
        for name in re.findall(r"`([a-z0-9-]+)`", names):
            assert (ROOT / "gallery" / name).is_dir(), name


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in WRITTEN:
        for kind, text in blocks(page):
            if kind == "{toctree}":
                entries = [line for line in text.splitlines() if line and not line.startswith(":")]
                listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert set(WRITTEN) <= listed


def test_the_code_cites_equations_that_exist() -> None:
    known = {page.name: labels(page) for page in THEORY}
    names = [label for page in known.values() for label in page]
    assert len(set(names)) == len(names) > 50
    cited = set()
    for file in sorted((ROOT / "src").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for page, equations in re.findall(r"docs/theory/([\w.-]+), eq\. (\([^;.]*\))", text):
            for label in re.findall(r"\(([^)]*)\)", equations):
                assert label in known[page], f"{file.name} cites {page}, eq. ({label})"
            cited.add(page)
        assert text.count("docs/theory/") == len(re.findall(r"docs/theory/[\w.-]+, eq\. \(", text)), file.name
    assert cited == set(known)


@pytest.mark.parametrize("page", THEORY, ids=name_of)
def test_theory_names_modules_that_exist_and_its_sources(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "## Sources" in text
    for module in set(re.findall(r"`(elver\.[a-z_.]+)`", text)):
        assert importlib.util.find_spec(module), module


# Pages made from the code --------------------------------------------------------------------------------------------


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
