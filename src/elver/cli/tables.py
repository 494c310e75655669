"""Tables on the command line: as wide as the terminal; where there is none, as wide as what they say."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

__all__ = ["print_table"]


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table; in a file or a pipe no column is cut, and every row is one line."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        wide = console.options.update(width=10_000)
        console.width = max(console.width, Measurement.get(console, wide, table).maximum)
    console.print(table)
