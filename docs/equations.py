"""Equations of the site: MathML made at build time, and labels in place of numbers.

Pages need no network and no script to show their formulas: docutils, which Sphinx brings, turns TeX into MathML, and
browsers draw it (all current ones do, since 2023). A labelled equation shows its label, ``(newmark)``, since that is
what the code cites: a number would change with every equation put before it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.util import logging

logger = logging.getLogger(__name__)


class Labels(MathDomain):
    """Equations are called by their label, in their margin and where they are referred to."""

    def note_equation(self, docname: str, labelid: str, location: Any = None) -> None:
        """Keep the label where Sphinx keeps a number."""
        super().note_equation(docname, labelid, location)
        self.equations[labelid] = (docname, labelid)  # type: ignore[assignment]


# What docutils reads otherwise than TeX: digits behind a fraction are one number, and an index goes below an accent.
_READ = (
    (re.compile(r"(\\[td]?frac)(\d)(\d)"), r"\1{\2}{\3}"),
    (re.compile(r"\{?(\\(?:d?dot|hat|bar)) ?(\\[A-Za-z]+|[A-Za-z])\}?_"), r"{\1{\2}{}}_"),
)


def mathml(node: nodes.Node, block: bool) -> str:
    """The formula of a node; one that cannot be read is a warning, which ends the build."""
    text = node.astext().strip()
    for pattern, meant in _READ:
        text = pattern.sub(meant, text)
    try:
        code = tex2mathml(text, as_block=block)
    except MathError as error:
        logger.warning("equation: %s in %s", error, text, location=node)
        return f"<code>{text}</code>"
    # a prime, not an apostrophe; bars without the room of an operator
    code = code.replace("<mo>'</mo>", '<mo lspace="0" rspace="0">\u2032</mo>')
    return re.sub(r"<mo[^>]*>\|</mo>", '<mo stretchy="false" lspace="0" rspace="0">|</mo>', code)


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    label = node.get("number")
    self.body.append(self.starttag(node, "div", CLASS="math" + (" labelled" if label else "")))
    self.body.append(mathml(node, block=True))
    if label:
        self.body.append(f'<span class="eqno">({label})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_domain(Labels, override=True)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
