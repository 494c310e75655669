"""HTML of a report: escaped text, numbers, tables."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

__all__ = ["escaped", "number", "table"]


def escaped(text: Any) -> str:
    """Text of anybody as text of the page: names of a model cannot become code."""
    return html.escape(str(text), quote=True)


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]], numbers: tuple[int, ...] = ()) -> str:
    """A table; columns ``numbers`` stand at the right."""
    top = "".join(f"<th>{escaped(text)}</th>" for text in head)
    lines = []
    for row in rows:
        cells = [f'<td class="number">{escaped(x)}</td>' if k in numbers else f"<td>{escaped(x)}</td>"
                 for k, x in enumerate(row)]  # fmt: skip
        lines.append(f"<tr>{''.join(cells)}</tr>")
    header = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table>{header}<tbody>{"".join(lines)}</tbody></table></div>'


def number(value: Any) -> str:
    """Six digits of a number; anything else as it is."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.6g}"
    return str(value)
