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
    run: Annotated[Path, typer.Argument(help="Run to show, as simulate, save or the gallery wrote it (.nc).")],
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
    """
    from rich.console import Console

    from elver import io
    from elver.errors import BadInput
    from elver.viz.reports import report

    if run.suffix == ".toml":
        raise BadInput(f"{run}: a model file, not a run; compute it first: elver run {shlex.quote(str(run))}")
    if not run.is_file():
        raise BadInput(f"{run}: no such file; expected a run that elver saved (netCDF, .nc)")
    target = out or run.with_suffix(".html")
    console = Console(highlight=False)
    with console.status(f"reading {run} ..."):
        data = io.load(run)
        if target.resolve() == run.resolve():
            raise BadInput(f"{target}: that is the run itself; give the page another name, such as -o report.html")
        parts = data.attrs.get("parts")
        if isinstance(parts, Mapping):
            if part is None:
                names = ", ".join(map(str, parts))
                first = shlex.quote(str(next(iter(parts), "")))
                raise BadInput(f"{run}: holds several runs ({names}); choose one, for example --part {first}")
            data = io.part(data, part)
        elif part is not None:
            raise BadInput(f"--part {part}: {run} holds a single run; leave --part out")
        numbers = {} if metrics is None else _read_metrics(metrics)
    words = ["elver", "report", str(run), "-o", str(target)]
    for option, value in (("--title", title), ("--part", part), ("--metrics", metrics)):
        words += [option, str(value)] if value else []
    with console.status("writing the page ..."):
        report(data, target, title=title, metrics=numbers, command=shlex.join(words))
    console.print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)", soft_wrap=True, markup=False)


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
