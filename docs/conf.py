"""Sphinx settings: Markdown pages (MyST), the furo theme; gallery and reference are made from the code.

The site needs no network, neither to be built nor to be read.
"""

import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import pages

ROOT = Path(__file__).resolve().parents[1]

project = "elver"
author = "The elver authors"
copyright = "The elver authors"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "equations"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True  # a reference that leads nowhere is a warning, and a warning ends the build
html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = "elver"


def setup(app) -> None:
    app.connect("builder-inited", lambda app: pages.write_all())
