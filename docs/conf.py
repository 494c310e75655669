"""Sphinx settings: Markdown pages (MyST), the furo theme; the list of the gallery is made from its pages."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "elver"
author = "The elver authors"
copyright = "The elver authors"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "elver"


def _gallery_page() -> str:
    """The list of gallery pages as Markdown, made from their own descriptions: it cannot fall behind."""
    lines = [
        "# Gallery",
        "",
        "A page named after a work reproduces it and compares our numbers with the printed ones; others are our own",
        "studies.",
        "`elver gallery list` shows them; `elver gallery run NAME` writes figure, run and metrics.",
        "",
    ]
    for description in sorted((ROOT / "gallery").glob("*/paper.toml")):
        page = tomllib.loads(description.read_text(encoding="utf-8"))
        name = description.parent.name
        lines += [
            f"## {page['title']}",
            "",
            f"{page['source']}, {page['figure']}.",
            "",
            "```",
            f"elver gallery run {name}",
            "```",
            "",
        ]
    return "\n".join(lines)


def _write_gallery(app: object) -> None:
    target = ROOT / "docs" / "gallery.md"
    text = _gallery_page()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app) -> None:
    app.connect("builder-inited", _write_gallery)
