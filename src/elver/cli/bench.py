"""Benchmarks: speed at stated accuracy, one row per problem, other tools beside us in the same run.

Rows are functions in ``benchmarks/*.py`` marked with :func:`row`. Each returns a :class:`Row`; one whose
accuracy was not reached returns ``ours=None`` and is reported as missing, not as a time.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from elver.cli.folders import folder, load_module
from elver.cli.tables import print_table
from elver.errors import BadInput

__all__ = ["Benchmark", "Row", "benchmarks", "cpu_time", "row", "run_bench"]


@dataclass(frozen=True)
class Row:
    """What a benchmark measured: our figure, its error, and the other tools' figures.

    A figure is None where the accuracy was not reached. ``error`` is relative and dimensionless, NaN where
    the row has none.
    """

    ours: float | None
    error: float = math.nan
    peers: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A named problem; ``measure(peers)`` runs it. Smaller is better, unless ``goal_is_lower_bound``."""

    name: str
    unit: str
    goal: float | None
    measure: Callable[[bool], Row]
    goal_is_lower_bound: bool = False

    def reached(self, result: Row) -> bool:
        if result.ours is None:
            return False
        if self.goal is None:
            return True
        return result.ours >= self.goal if self.goal_is_lower_bound else result.ours <= self.goal


_ROWS: dict[str, Benchmark] = {}


def row(
    name: str, *, unit: str, goal: float | None, goal_is_lower_bound: bool = False
) -> Callable[[Callable[[bool], Row]], Callable[[bool], Row]]:
    """Mark a function ``measure(peers: bool) -> Row`` as the benchmark ``name``."""

    def mark(measure: Callable[[bool], Row]) -> Callable[[bool], Row]:
        if name in _ROWS:
            raise BadInput(f"two benchmarks are called {name!r}; rename one")
        _ROWS[name] = Benchmark(name, unit, goal, measure, goal_is_lower_bound)
        return measure

    return mark


def cpu_time(call: Callable[[], Any], *, repeats: int = 5, at_least: float = 0.05) -> float:
    """CPU seconds of one warm ``call``: the best of ``repeats``, each at least ``at_least`` seconds long.

    The first call is not counted. CPU time of this process with its threads: a busy machine matters less.
    """
    call()
    start = time.process_time()
    call()
    once = time.process_time() - start
    count = max(1, math.ceil(at_least / max(once, 1e-7)))
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(count):
            call()
        best = min(best, (time.process_time() - start) / count)
    return best


def benchmarks(root: Path | None = None) -> dict[str, Benchmark]:
    """All rows of ``benchmarks/*.py``, in the order of the files and inside them."""
    source = root or folder("benchmarks")
    for path in sorted(source.glob("*.py")):
        load_module(source, path.stem)
    return dict(_ROWS)


def run_bench(*, peers: bool, json_path: Path | None, only: Sequence[str]) -> int:
    """Run the rows, print the table, write the JSON; 0 when every goal is reached, else 1."""
    known = benchmarks()
    unknown = [name for name in only if name not in known]
    if unknown:
        raise BadInput(f"no benchmark called {unknown[0]!r}; known: {', '.join(known) or 'none'}")
    if json_path is not None and not json_path.absolute().parent.is_dir():
        raise BadInput(f"--json {json_path}: the folder {json_path.parent} does not exist; create it first")
    chosen = {name: known[name] for name in (only or known)}

    console = Console(highlight=False)
    results: dict[str, Row] = {}
    for name, benchmark in chosen.items():
        with console.status(f"{name} ..."):
            results[name] = benchmark.measure(peers)
        if json_path is not None:  # after every row: an interrupted bench keeps what it measured
            rows = [_as_json(chosen[done], result) for done, result in results.items()]
            json_path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")

    print_table(_table(chosen, results), console)
    return 0 if all(chosen[name].reached(result) for name, result in results.items()) else 1


def _as_json(benchmark: Benchmark, result: Row) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "ours": result.ours,
        "unit": benchmark.unit,
        "goal": benchmark.goal,
        "error": result.error if math.isfinite(result.error) else None,
        "peers": dict(result.peers),
    }


def _table(chosen: Mapping[str, Benchmark], results: Mapping[str, Row]) -> Table:
    others = list(dict.fromkeys(name for result in results.values() for name in result.peers))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("row", no_wrap=True)
    for column in ("ours", "goal", "error"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    for name in others:
        table.add_column(name, justify="right", style="dim")
    for name, result in results.items():
        benchmark = chosen[name]
        bound = ">=" if benchmark.goal_is_lower_bound else "<="
        table.add_row(
            "[green]ok[/green]" if benchmark.reached(result) else "[bold red]missed[/bold red]",
            name,
            _figure(result.ours),
            "" if benchmark.goal is None else f"{bound} {benchmark.goal:g}",
            f"{result.error:.1e}" if math.isfinite(result.error) else "",
            benchmark.unit,
            *(_figure(result.peers[other]) if other in result.peers else "" for other in others),
        )
    return table


def _figure(value: float | None) -> str:
    return "missing" if value is None else f"{value:.3g}"
