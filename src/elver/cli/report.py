"""``elver report``: a run as one self-contained page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["command"]


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run to show, as simulate, save or the gallery wrote it (.nc); or two, side by side."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Page to write (.html).", show_default="beside the run, as .html"),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.", show_default="title of the run")] = "",
    part: Annotated[
        str | None,
        typer.Option(help="Which run, where the file holds several.", show_default=False),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(help="Numbers to show beside those of the run: a metrics.json.", show_default=False),
    ] = None,
) -> None:
    """Write one HTML file that shows a run: 3-D playback, plots, numbers, the model and the settings.

    The page opens offline in any browser with WebGL 2, and can be sent by mail: nothing is fetched or installed.

    Example:  elver gallery run boyer-2023-tendon-arm --out out/demo

    Example:  elver report out/demo/run.nc -o report.html

    Example:  elver report soft.nc stiff.nc -o both.html
    """
    from rich.console import Console

    from elver.errors import BadInput
    from elver.viz.reports import report

    if len(runs) > 2:
        raise BadInput(f"{len(runs)} runs; give one, or two to see them side by side")
    target = out or runs[0].parent / f"{'-'.join(run.stem for run in runs)}.html"
    console = Console(highlight=False)
    data = {}
    for run in runs:
        with console.status(f"reading {run} ..."):
            name = run.stem if run.stem not in data else f"{run.stem} 2"
            data[name] = _read(run, part)
        if target.resolve() == run.resolve():
            raise BadInput(f"{target}: that is the run itself; give the page another name, such as -o report.html")
    numbers = {} if metrics is None else _read_metrics(metrics)
    words = ["elver", "report", *map(str, runs), "-o", str(target)]
    for option, value in (("--title", title), ("--part", part), ("--metrics", metrics)):
        words += [option, str(value)] if value else []
    with console.status("writing the page ..."):
        shown = data if len(data) > 1 else next(iter(data.values()))
        report(shown, target, title=title, metrics=numbers, command=shlex.join(words))
    console.print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)", soft_wrap=True, markup=False)


def _read(run: Path, part: str | None) -> Any:
    """The run in a file, or that of its runs which is called ``part``."""
    from elver import io
    from elver.errors import BadInput

    data = io.load(run)
    parts = data.attrs.get("parts")
    if isinstance(parts, Mapping):
        if part is None:
            names = ", ".join(map(str, parts))
            first = shlex.quote(str(next(iter(parts), "")))
            raise BadInput(f"{run}: holds several runs ({names}); choose one, for example --part {first}")
        return io.part(data, part)
    if part is not None:
        raise BadInput(f"--part {part}: {run} holds a single run; leave --part out")
    return data


def _read_metrics(path: Path) -> dict[str, Any]:
    from elver.errors import BadInput

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"--metrics {path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"--metrics {path}: not valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f'--metrics {path}: expected {{"name": {{"value": ..., "unit": ...}}, ...}}')
    return data
