"""A run as one HTML file that opens anywhere, also without a network: playback in 3-D, plots, the model, the settings.

    report(run, "report.html")
    report({"soft": run, "stiff": other}, "both.html")     two runs side by side
    save_plots(run, "figures", format="pdf")       the plots alone, for a paper

The file holds its own style, program and data. A content security policy in it allows that one program, known by its
hash, and no connection: a name in a model cannot become code, and nothing is sent or fetched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from elver.errors import BadInput, as_path
from elver.integrators.runs import as_run
from elver.viz.history import Cast, cast_of
from elver.viz.reports.charts import FORMATS, charts_of
from elver.viz.reports.forces import reactions_of
from elver.viz.reports.numbers import Shown
from elver.viz.reports.page import page_of
from elver.viz.reports.playback import BUDGET, playback_of
from elver.viz.reports.words import model_of
from elver.words import describe

if TYPE_CHECKING:
    from elver.integrators.runs import Seen

__all__ = ["report", "save_plots"]


def report(
    run: Seen | Mapping[str, Seen],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    metrics: Mapping[str, Any] | None = None,
    command: str = "",
) -> Path:
    """Write ``run`` as one self-contained page, ``path`` (.html), and return the path.

    ``title`` stands above the page (that of the run if not given). ``metrics`` are numbers of yours: plain ones by
    name, or as ``metrics.json`` of the gallery has them, with unit, reference and tolerance. ``command`` is what made
    the page, for people who want to make it again.

    ``run`` may be an equilibrium, or a system, whose page shows it at rest, or the file of a run.
    Two runs by name, ``{"soft": run, "stiff": other}``, are played side by side and at the same time, with their plots
    over each other.

    An unfinished run gives a page of what there is, and the page says so. A run without rods and bodies has no
    playback; plots are those that the run has data for.
    """
    target = _target(path)
    runs: dict[Any, Any] = {"": run} if isinstance(run, xr.Dataset) or not isinstance(run, Mapping) else dict(run)
    if not 1 <= len(runs) <= 2:
        raise BadInput(f"report: {len(runs)} runs; give one run, or two by name to see them side by side")
    runs = {name: as_run("report", each) for name, each in runs.items()}
    for each in runs.values():
        if isinstance(each.attrs.get("parts"), Mapping):
            names = ", ".join(map(str, each.attrs["parts"]))
            raise BadInput(f"this dataset holds several runs ({names}): take one out with io.part(runs, name)")
    shown = [_shown(str(name), each, BUDGET // len(runs)) for name, each in runs.items()]
    for one in shown:
        if len(shown) > 1 and one.playback is None:
            raise BadInput(f"report: the run {one.name!r} holds no rod or body to draw; give it a page of its own")
    heading = str(title) or " and ".join(one.name or _title(one.run, one.cast) for one in shown)
    text = page_of(shown, heading, metrics or {}, command or f'ev.report(run, "{target.name}")')
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, target)
    except OSError as error:
        raise BadInput(f"{target}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)
    return target


def save_plots(run: Seen, folder: str | os.PathLike[str], *, format: str = "pdf") -> list[Path]:
    """Write the plots of a report as files of their own into ``folder``, and return their paths.

    ``format`` is "pdf" or "svg" (vectors, whose text stays text) or "png". The files are called after what they show:
    paths, shapes, tips, energy, balance, inputs, multipliers, efforts, reactions (forces), reactions-2 (moments),
    newton; those of them that the run has data for.
    """
    if format not in FORMATS:
        raise BadInput(f"format = {describe(format)}: choose one of {', '.join(FORMATS)}")
    run = as_run("save_plots", run)
    target = as_path("save_plots", folder, "figures")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{target}: cannot be a folder ({error.strerror})") from None
    try:
        return [chart.save(target, format) for chart in charts_of(run, _cast(run), reactions_of(run, model_of(run)[0]))]
    except OSError as error:
        raise BadInput(f"{target}: cannot be written to ({error.strerror or error})") from None


def _shown(name: str, run: xr.Dataset, budget: int) -> Shown:
    cast = _cast(run)
    system, reason = model_of(run)
    playback = None if cast is None else playback_of(cast, run, system, budget=budget)
    return Shown(name, run, cast, system, reason, playback, reactions_of(run, system))


def _target(path: str | os.PathLike[str]) -> Path:
    target = as_path("report", path, "report.html")
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"{target}: a report is an .html file, such as {target.with_suffix('.html').name}")
    if target.is_dir():
        raise BadInput(f"{target}: is a folder; give the name of a file, such as {target / 'report.html'}")
    if not target.absolute().parent.is_dir():
        raise BadInput(f"{target}: the folder {target.parent} does not exist; create it first")
    return target


def _title(run: xr.Dataset, cast: Cast | None) -> str:
    """That of the run, but a count where it would list many parts."""
    given = str(run.attrs.get("title") or "elver run")
    if cast is None or len(cast.rods) + len(cast.bodies) <= 6 or not given.startswith("elver simulation of "):
        return given
    counts = [(len(cast.rods), "rod", "rods"), (len(cast.bodies), "body", "bodies")]
    return f"elver simulation of {' and '.join(f'{n} {one if n == 1 else many}' for n, one, many in counts if n)}"


def _cast(run: xr.Dataset) -> Cast | None:
    """What can be drawn, or None where there is nothing."""
    drawable = [name for name in run.data_vars if str(name).endswith("/position") and run[name].ndim in (2, 3)]
    bodies = [name for name in drawable if run[name].ndim == 2 and "shape" in run[name].attrs]
    if not any(run[name].ndim == 3 for name in drawable) and not bodies:
        return None
    if not any(np.isfinite(run[name].values).any() for name in drawable):
        return None
    return cast_of(run)
