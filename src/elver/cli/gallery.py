"""Pages of the gallery: find them, run one, judge its metrics.

A page is a folder with ``paper.toml`` (title, source, figure), ``run.py`` with ``run(quick)`` that returns a
dataset and its metrics, and ``figures.py`` with ``draw(run, path)`` and, where it moves,
``animate(run, path, still)``. Its robots are model files too (``model.toml``, or several, ``model-*.toml``); what a
file cannot hold, ``paper.toml`` says under ``code``.
"""

from __future__ import annotations

import json
import math
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from elver.cli.folders import folder, load_module
from elver.cli.tables import print_table
from elver.errors import BadInput

__all__ = ["Metric", "Page", "find_pages", "list_pages", "metric", "run_page"]


@dataclass(frozen=True)
class Page:
    """One reproduced work."""

    name: str
    path: Path
    title: str
    source: str
    figure: str
    code: str = ""
    """What of the page only code can say, where something is."""

    @property
    def models(self) -> tuple[Path, ...]:
        """The model files of its robots."""
        return tuple(sorted(self.path.glob("model*.toml")))


@dataclass(frozen=True)
class Metric:
    """A number of ours beside the published one; it holds when |value - reference| <= tolerance."""

    value: float
    unit: str
    reference: float
    source: str
    tolerance: float

    @property
    def holds(self) -> bool:
        return math.isfinite(self.value) and abs(self.value - self.reference) <= self.tolerance


def metric(value: float, unit: str, reference: float, source: str, tolerance: float) -> dict[str, Any]:
    """A metric as pages return it: a number of ours, the published one, where that stands, and how near it must be."""
    value, reference = float(value), float(reference)
    return {"value": value, "unit": unit, "reference": reference, "source": source, "tolerance": tolerance}


def find_pages(root: Path | None = None) -> dict[str, Page]:
    """All pages by name, in alphabetical order."""
    pages: dict[str, Page] = {}
    for description in sorted((root or folder("gallery")).glob("*/paper.toml")):
        try:
            data = tomllib.loads(description.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{description}: not valid TOML ({error})") from None
        missing = [key for key in ("title", "source", "figure") if not isinstance(data.get(key), str)]
        if missing:
            raise BadInput(f"{description}: needs a text for {', '.join(missing)}")
        code = data.get("code", "")
        if not isinstance(code, str):
            raise BadInput(f"{description}: code = {code!r} is no text; say what of the page only code can say")
        name = description.parent.name
        pages[name] = Page(name, description.parent, data["title"], data["source"], data["figure"], code)
    return pages


def list_pages() -> None:
    """Print the names and works of all pages."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("source")
    for page in find_pages().values():
        table.add_row(page.name, page.title, f"{page.source}, {page.figure}")
    print_table(table)


def run_page(name: str, *, quick: bool, out: Path | None) -> int:
    """Run a page, write its files, print its metrics; 0 when all hold, 1 when one does not."""
    pages = find_pages()
    if name not in pages:
        known = ", ".join(pages) or "none"
        raise BadInput(f"no gallery page called {name!r}; known: {known}")
    page = pages[name]
    target = out or Path("out") / name
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out {target}: cannot be a folder ({error.strerror})") from None

    console = Console(highlight=False)
    console.print(f"[bold]{page.title}[/bold]\n[dim]{page.source}, {page.figure}[/dim]")

    # solve
    start = time.perf_counter()
    with console.status("solving ..."):
        run, raw_metrics = load_module(page.path, "run").run(quick)
    metrics = {key: _metric(name, key, value) for key, value in raw_metrics.items()}
    console.print(f"solved in {time.perf_counter() - start:.1f} s")

    # write: numbers first, so that they survive trouble with drawing
    from elver import io

    written = [target / "metrics.json", io.save(run, target / "run.nc")]
    text = json.dumps({key: vars(metric) for key, metric in metrics.items()}, indent=2, ensure_ascii=False)
    written[0].write_text(text + "\n", encoding="utf-8")
    figures = load_module(page.path, "figures")
    with console.status("drawing ..."):
        figures.draw(run, target / "figure.png")
        written.append(target / "figure.png")
    if hasattr(figures, "animate") and not quick:  # with a bar of its own
        figures.animate(run, target / "animation.gif", still=target / "still.png")
        written += [target / "still.png", target / "animation.gif"]

    print_table(_metrics_table(metrics), console)
    for path in written:
        console.print(f"  {path}", soft_wrap=True)
    for path in page.models:
        console.print(f"  {path}  (the model, to run and to change)", style="dim", soft_wrap=True)
    return 0 if all(metric.holds for metric in metrics.values()) else 1


def _metric(page: str, name: str, data: Mapping[str, Any]) -> Metric:
    wanted = {"value", "unit", "reference", "source", "tolerance"}
    if set(data) != wanted:
        raise BadInput(f"{page}, metric {name!r}: has {sorted(data)}, needs exactly {sorted(wanted)}")
    return Metric(
        value=float(data["value"]),
        unit=str(data["unit"]),
        reference=float(data["reference"]),
        source=str(data["source"]),
        tolerance=float(data["tolerance"]),
    )


def _metrics_table(metrics: Mapping[str, Metric]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("metric", overflow="fold")
    for column in ("ours", "reference", "tolerance"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("unit")
    table.add_column("source", style="dim")
    for name, metric in metrics.items():
        table.add_row(
            "[green]ok[/green]" if metric.holds else "[bold red]missed[/bold red]",
            name,
            f"{metric.value:.6g}",
            f"{metric.reference:.6g}",
            f"{metric.tolerance:.2g}",
            metric.unit,
            metric.source,
        )
    return table
