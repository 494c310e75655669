"""Pages of the documentation that are made from the code itself, so that they cannot fall behind.

The gallery: one page for each folder of ``gallery``, with the text of its ``run.py``, its model files and, where it was
run (by ``make docs``, in its quick setting), the figure and the metrics. The reference: every public name with its
docstring.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RUNS = DOCS / "_build" / "gallery"


def write_all() -> None:
    """Write ``gallery/*.md`` and ``reference.md``; files that would not change are left alone."""
    pages = {}
    for folder in sorted(path.parent for path in (ROOT / "gallery").glob("*/paper.toml")):
        pages[folder.name] = _gallery_page(folder)
    index = [
        "# Gallery",
        "",
        "A page named after a work reproduces it and compares our numbers with the printed ones; others are our own",
        "studies. `elver gallery list` shows them; `elver gallery run NAME` writes figure, run and metrics. Figures",
        "and numbers here are of the quick setting.",
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *pages,
        "```",
        "",
        "````{container} cards",
        *(line for name, text in pages.items() for line in _card(name, text.partition("\n")[0].removeprefix("# "))),
        "````",
    ]
    (DOCS / "gallery").mkdir(exist_ok=True)
    _write(DOCS / "gallery" / "index.md", "\n".join(index))
    for name, text in pages.items():
        _write(DOCS / "gallery" / f"{name}.md", text)
    _write(DOCS / "reference.md", _reference())


def _write(path: Path, text: str) -> None:
    text = text.rstrip("\n") + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


# The gallery -----------------------------------------------------------------------------------------------------


def _gallery_page(folder: Path) -> str:
    page = tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))
    text = ast.get_docstring(ast.parse((folder / "run.py").read_text(encoding="utf-8"))) or ""
    lines = [f"# {page['title']}", "", f"*{page['source']}, {page['figure']}.*", ""]
    figure = RUNS / folder.name / "figure.png"
    if figure.exists():
        target = DOCS / "gallery" / "pictures" / f"{folder.name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(figure, target)
        lines += [f"![{page['title']}](pictures/{folder.name}.png)", ""]
    lines += [markdown(text), "", "```", f"elver gallery run {folder.name}", "```", ""]
    metrics = RUNS / folder.name / "metrics.json"
    if metrics.exists():
        lines += ["| | ours | reference | within | unit | source |", "|---|---|---|---|---|---|"]
        for name, row in json.loads(metrics.read_text(encoding="utf-8")).items():
            numbers = [f"{row[key]:.6g}" for key in ("value", "reference", "tolerance")]
            lines.append("| " + " | ".join(map(_cell, [name, *numbers, row["unit"], row["source"]])) + " |")
    return "\n".join([*lines, *_models(folder, page.get("code", ""))])


def _card(name: str, title: str) -> list[str]:
    """A page in the index: its figure, where it was run, and its title."""
    link = f"[{title}]({name}.md)"
    if not (RUNS / name / "figure.png").exists():
        return [link, ""]
    return [f"```{{figure}} pictures/{name}.png", f":target: {name}.html", f":alt: {title}", "", link, "```", ""]


def _models(folder: Path, code: str) -> list[str]:
    """The robots of a page as files, and what of it they leave to code."""
    lines = ["", "## As a model file", ""]
    files = sorted(folder.glob("model*.toml"))
    if not files:
        return [*lines, f"This page needs code. {_plain(code)}"]
    if code:
        lines += [_plain(code), ""]
    for file in files:
        place = f"gallery/{folder.name}/{file.name}"
        study = tomllib.loads(file.read_text(encoding="utf-8"))["study"]["kind"]
        command = "equilibrium" if study == "equilibrium" else "run"
        lines += ["```", f"elver {command} {place}", "```", ""]
        lines += [f"```{{literalinclude}} ../../{place}", ":language: toml", "```", ""]
    return lines


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


# The reference ---------------------------------------------------------------------------------------------------


def _reference() -> str:
    import elver

    rooms: dict[str, list[str]] = {}
    for name in elver.__all__:
        value = getattr(elver, name)
        module = getattr(value, "__module__", "elver") or "elver"
        rooms.setdefault(module.split(".")[1] if "." in module else "elver", []).append(name)
    lines = ["# Reference", "", "Every name of `import elver as ev`, by room.", ""]
    for room in sorted(rooms):
        lines += [f"## {room}", ""]
        for name in sorted(rooms[room], key=str.lower):
            lines += [f"### {name}", "", *_entry(name, getattr(elver, name)), ""]
    return "\n".join(lines)


def _entry(name: str, value: Any) -> list[str]:
    lines = []
    if callable(value):
        with suppress(TypeError, ValueError):  # some have no signature
            lines += ["```", f"{name}{_short(inspect.signature(value))}", "```", ""]
    lines.append(markdown(inspect.getdoc(value) or ""))
    if inspect.isclass(value):
        for key, member in sorted(vars(value).items()):
            text = inspect.getdoc(member) if not key.startswith("_") else None
            if text and (callable(member) or isinstance(member, property | classmethod | staticmethod)):
                lines += ["", f"`.{key}`: {_plain(' '.join(text.split(chr(10) * 2)[0].split()))}"]
    return lines


def _short(signature: inspect.Signature) -> str:
    """Names and defaults; types are in the docstring, with their units."""
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<[^>]*>", "...", text)


# From docstrings to Markdown -------------------------------------------------------------------------------------


def markdown(text: str) -> str:
    """A docstring as Markdown: paragraphs, and indented pieces and examples as they stand."""
    pieces = []
    for piece in re.split(r"\n\s*\n", text):
        if piece.startswith(("    ", ">>>")):
            pieces.append("```\n" + inspect.cleandoc(piece) + "\n```")
        elif piece.lstrip().startswith(("- ", "1. ")):
            pieces.append("\n".join(_plain(line) for line in piece.splitlines()))
        else:
            pieces.append(_plain(piece))
    return "\n\n".join(pieces)


def _plain(text: str) -> str:
    """Roles and double backquotes as code; what Markdown would read as its own is escaped."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)
    parts = re.split(r"``([^`]+)``", text)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"([\\*_<>$\[\]#`])", r"\\\1", parts[k])
    for k in range(1, len(parts), 2):
        parts[k] = f"`{parts[k]}`"
    return "".join(parts)
