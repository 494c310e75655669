"""A run as one HTML file that opens anywhere, also without a network: playback in 3-D, plots, the model, the settings.

    report(run, "report.html")
    report({"soft": run, "stiff": other}, "both.html")     two runs side by side
    save_plots(run, "figures", format="pdf")       the plots alone, for a paper

The file holds its own style, program and data. A content security policy in it allows that one program, known by its
hash, and no connection: a name in a model cannot become code, and nothing is sent or fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from elver.errors import BadInput, as_path
from elver.integrators.resolution import resolution_in_words
from elver.integrators.runs import as_run
from elver.results.status import energy_line, is_complete
from elver.system import System
from elver.viz.history import Cast, cast_of
from elver.viz.measures import RAMP
from elver.viz.reports.beside import charts_beside
from elver.viz.reports.charts import FORMATS, Chart, charts_of, is_branch
from elver.viz.reports.forces import INSTANTS, reaction_rows, reactions_of, stress_rows
from elver.viz.reports.playback import BUDGET, Playback, playback_of
from elver.viz.reports.words import model_of, sections_of, sentence_of, summary_of
from elver.words import describe

if TYPE_CHECKING:
    from elver.integrators.runs import Seen

__all__ = ["report", "save_plots"]

_MODEL_SHOWN = 400_000  # characters of the model's JSON that a page can show without becoming slow
_SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class _Shown:
    """One run with all that a page needs of it."""

    name: str
    run: xr.Dataset
    cast: Cast | None
    system: System | None
    reason: str  # why there is no system
    playback: Playback | None
    reactions: xr.Dataset | None


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
    text = _page(shown, heading, metrics or {}, command or f'ev.report(run, "{target.name}")')
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


def _shown(name: str, run: xr.Dataset, budget: int) -> _Shown:
    cast = _cast(run)
    system, reason = model_of(run)
    playback = None if cast is None else playback_of(cast, run, system, budget=budget)
    return _Shown(name, run, cast, system, reason, playback, reactions_of(run, system))


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


# ------------------------------------------------------------------------------------------- page


def _page(shown: list[_Shown], title: str, metrics: Mapping[str, Any], command: str) -> str:
    program = files(__package__).joinpath("player.js").read_text(encoding="utf-8")
    look = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    playbacks = [one.playback for one in shown if one.playback is not None]
    body = [_header(shown, title)]
    if playbacks:
        body += _player(playbacks, [one.name for one in shown])
    body += [*_plots(list(_charts(shown))), *_numbers(shown, metrics)]
    body.append("<h2>Model</h2>")
    same = len({one.run.attrs.get("model") for one in shown}) == 1
    for one in shown[:1] if same else shown:
        body += [f"<h3>{_escaped(one.name)}</h3>" if not same else "", *_model(one)]
    body += _settings(shown, command)
    for k, playback in enumerate(playbacks):
        body += [
            f'<script type="application/json" id="scene{k or ""}">{playback.scene_text()}</script>',
            f'<script type="text/plain" id="poses{k or ""}">{playback.poses_text()}</script>',
        ]
    if playbacks:
        body.append(f"<script>{program}</script>")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_escaped(title)}</title>\n<style>\n{look}</style>\n</head>\n<body>\n<main>",
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _escaped(text: Any) -> str:
    return html.escape(str(text), quote=True)


def _header(shown: list[_Shown], title: str) -> str:
    several = len(shown) > 1
    badges = "" if several else _badge(shown[0].run)
    parts = [f"<header><h1>{_escaped(title)}</h1>{badges}</header>"]
    for one in shown:
        run, status = one.run, str(one.run.attrs.get("status", ""))
        name = f"<b>{_escaped(one.name)}</b> {_badge(run)} " if several else ""
        parts.append(f"<p>{name}{_escaped(sentence_of(one.system, run))}</p>")
        if one.system is not None and run.sizes.get("time", 0) and (told := resolution_in_words(run, one.system)):
            parts.append(f"<p>Resolution: {_escaped(told)}.</p>")
        if is_complete(status) and status != "complete":
            parts.append(f'<p class="note">This run is {_escaped(status)}: see the balance of energy below.</p>')
        elif status and status != "complete":
            killed = "it was still being computed, or was killed, when this page was made"
            why = _escaped(killed if status == "running" else status)
            parts.append(f'<p class="note">This run is not complete: {why}. The page shows what there is.</p>')
        if is_branch(run):
            parts.append("<p>A branch of equilibria: there is no motion to play.</p>")
        elif run.sizes.get("time", 0) == 0:
            parts.append('<p class="note">This run holds no step.</p>')
        elif one.playback is None:
            parts.append("<p>This run holds no rod or body to draw.</p>")
    return "\n".join(parts)


def _badge(run: xr.Dataset) -> str:
    status = str(run.attrs.get("status", ""))
    kind = "badge" if status == "complete" else "badge warn"
    return f'<span class="{kind}">{_escaped(re.split("[:,]", status)[0])}</span>' if status else ""


def _charts(shown: list[_Shown]) -> Iterator[Chart]:
    if len(shown) == 1:
        return charts_of(shown[0].run, shown[0].cast, shown[0].reactions)
    return charts_beside({one.name: (one.run, one.cast) for one in shown if one.cast is not None})


def _player(playbacks: list[Playback], names: list[str]) -> list[str]:
    scene = max((playback.scene for playback in playbacks), key=lambda scene: scene["times"][-1] - scene["times"][0])
    speeds = sorted({*_SPEEDS, scene["speed"]})
    options = "".join(
        f'<option value="{s:g}"{" selected" if s == scene["speed"] else ""}>{s:g}×</option>' for s in speeds
    )
    measures = min((playback.scene["measures"] for playback in playbacks), key=len)
    colours = ", ".join(RAMP)
    stages = ""
    for k, (playback, name) in enumerate(zip(playbacks, names, strict=True)):
        label = f"<b>{_escaped(name)}</b><br>" if name else ""
        stages += f'<div class="stage"><canvas id="stage{k or ""}" aria-label="the robot in motion"></canvas>'
        stages += f'<div class="scale">{label}grid {playback.scene["grid"]:g} m</div></div>'
    told = "".join(f'<option value="{k}">{_escaped(each["name"])}</option>' for k, each in enumerate(measures))
    choice = f'<label>colour <select id="colour">{told}<option value="-1">none</option></select></label>'
    bar = (
        '<div id="bar"><div></div>'
        f'<div class="ramp" style="background:linear-gradient(90deg, {colours})"></div>'
        "<div><span></span><span></span><span></span></div></div>"
    )
    return [
        f'<div class="player"><div class="stages">{stages}</div>{bar if measures else ""}',
        '<p class="note" id="no-webgl" hidden>This browser has no WebGL 2, which the playback needs; '
        "everything below works without it.</p>",
        '<div class="controls"><button id="play" type="button">Play</button>',
        '<input id="time" type="range" min="0" max="1000" step="any" value="0" aria-label="time">',
        '<span id="clock"></span>',
        f'<label class="moving">speed <select id="speed">{options}</select></label>',
        choice if measures else "",
        '<label class="moving"><input id="follow" type="checkbox"> follow</label>',
        '<label class="moving"><input id="trails" type="checkbox" checked> trails</label>',
        '<button id="reset" type="button">Reset view</button></div></div>',
        '<p class="quiet">Drag to turn, wheel to come nearer, shift and drag to move, double click to start over'
        '<span class="moving">; space plays and pauses, arrow keys step. A click on a plot goes to that time</span>.'
        "</p>",
    ]


def _plots(charts: list[Chart]) -> Iterator[str]:
    if not charts:
        return
    yield '<h2>Plots</h2>\n<div class="plots">'
    for chart in charts:
        data = base64.b64encode(chart.svg().encode()).decode("ascii")
        picture = f'<img alt="{_escaped(chart.about)}" src="data:image/svg+xml;base64,{data}">'
        if not chart.over_time or chart.span[0] == chart.span[1]:
            yield f'<figure><div class="plot">{picture}</div></figure>'
            continue
        (left, right, bottom, top), (start, end) = chart.box, chart.span
        where = f'data-x0="{left:.5f}" data-x1="{right:.5f}" data-t0="{start!r}" data-t1="{end!r}"'
        line = f'<div class="cursor" style="top:{100 * (1 - top):.2f}%;height:{100 * (top - bottom):.2f}%"></div>'
        yield f'<figure><div class="plot" {where}>{picture}{line}</div></figure>'
    yield "</div>"


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]], numbers: tuple[int, ...] = ()) -> str:
    top = "".join(f"<th>{_escaped(text)}</th>" for text in head)
    lines = []
    for row in rows:
        cells = [f'<td class="number">{_escaped(x)}</td>' if k in numbers else f"<td>{_escaped(x)}</td>"
                 for k, x in enumerate(row)]  # fmt: skip
        lines.append(f"<tr>{''.join(cells)}</tr>")
    header = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table>{header}<tbody>{"".join(lines)}</tbody></table></div>'


# ---------------------------------------------------------------------------------------- numbers


def _numbers(shown: list[_Shown], metrics: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Numbers</h2>"
    if metrics:
        yield _table(("metric", "value", "unit", "reference", "tolerance", "source"), _metric_rows(metrics), (1, 3, 4))
        yield "<h3>Of the run</h3>"
    rows: dict[tuple[str, str], list[str]] = {}
    for k, one in enumerate(shown):
        measures = [] if one.playback is None else one.playback.scene["measures"]
        extremes = [(f"largest {each['name']} of a rod", f"{each['most']:.4g}", each["unit"]) for each in measures]
        for label, value, unit in [*_run_rows(one.run), *extremes]:
            rows.setdefault((label, unit), [""] * len(shown))[k] = value
    numbers = [(label, *values, unit) for (label, unit), values in rows.items()]
    yield _table(("", *(one.name for one in shown), ""), numbers, tuple(range(1, len(shown) + 1)))
    for one in shown:
        if one.cast is not None:
            yield f"<h3>Tips and bodies{f' of {_escaped(one.name)}' if one.name else ''}</h3>"
            head = ("place", "at the end [m]", "farthest from its start [m]", "largest mean speed of a step [m/s]")
            yield _table(head, list(_motion_rows(one.cast)), (1, 2, 3))
        yield from _forces(one)


def _forces(one: _Shown) -> Iterator[str]:
    """What joints and rods carry; nothing where the run does not tell, or its model has code that is not in it."""
    if one.system is None or one.reactions is None:
        return
    joints, rods = list(reaction_rows(one.reactions)), stress_rows(one.run, one.system)
    name = f" of {_escaped(one.name)}" if one.name else ""
    if joints:
        yield f"<h3>Reactions{name}</h3>"
        head = ("joint", "between", "force at the end [N]", "largest [N]", "moment at the end [N m]", "largest [N m]")
        yield _table(head, joints, (2, 3, 4, 5))
        yield (
            '<p class="quiet">What the first exerts on the second, in world axes, moments about the joint; the '
            "opposite acts on the first. In joint axes too, on both sides, over time: elver export --reactions.</p>"
        )
    if rods:
        yield f"<h3>Internal stress{name}</h3>"
        yield _table(("rod", "largest force [N]", "largest moment [N m]"), rods)
        looked = one.run.sizes["time"]
        if looked > INSTANTS:
            yield f'<p class="quiet">Largest of {INSTANTS} instants, evenly spread over {looked}.</p>'


def _metric_rows(metrics: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for name, entry in metrics.items():
        given = entry if isinstance(entry, Mapping) else {"value": entry}
        texts = [_number(given.get(key, "")) for key in ("value", "unit", "reference", "tolerance", "source")]
        rows.append((name, *texts))
    return rows


def _number(value: Any) -> str:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.6g}"
    return str(value)


def _run_rows(run: xr.Dataset) -> Iterator[tuple[str, str, str]]:
    steps = run.sizes.get("time", 0)
    if is_branch(run):
        value, unit = run["value"].values, str(run["value"].attrs.get("units", ""))
        yield "equilibria", f"{value.size}, {int(run['stable'].sum())} of them stable", ""
        yield str(run["value"].attrs.get("long_name", "value")), f"{value.min():.6g} to {value.max():.6g}", unit
        return
    if "stable" in run.attrs:
        stable = run.attrs["stable"]
        yield "equilibrium", stable if isinstance(stable, str) else "stable" if stable else "not stable", ""
    yield "stored instants", str(steps), ""
    if steps and "time" in run.coords:
        time = run["time"].values
        yield "time", f"{time[0]:.6g} to {time[-1]:.6g}", "s"
    if "newton_iterations" in run and steps > 1 and run["newton_iterations"].values.any():
        iterations = run["newton_iterations"].values[1:]
        yield "Newton iterations per step, mean and most", f"{iterations.mean():.2f}, {iterations.max()}", ""
    if "energy/total" in run and steps > 1:
        total = run["energy/total"].values
        first, last = np.where(np.abs(total) > 1e-12 * np.nanmax(np.abs(total)), total, 0.0)[[0, -1]]
        yield "total energy, first and last", f"{first:.6g}, {last:.6g}", "J"
        yield "largest change of the total energy", f"{np.nanmax(np.abs(total - total[0])):.4g}", "J"
    if energy_line(run):
        yield "energy in play", f"{float(run.attrs['energy_in_play']):.4g}", "J"
        for name in ("work", "dissipated"):
            yield f"energy, {name}", f"{float(run[f'energy/{name}'][-1]):.4g}", "J"
        yield "energy gained or lost by the method, at most", f"{100.0 * float(run.attrs['energy_error']):+.2g}", "%"
        yield "steps divided", str(int(run.attrs["divided_steps"])), ""
    if "multipliers" in run and run["multipliers"].size:
        units = [str(unit) for unit in run["multiplier_units"].values] if "multiplier_units" in run else []
        for unit in dict.fromkeys(units):
            own = [k for k, other in enumerate(units) if other == unit]
            largest = np.nanmax(np.abs(run["multipliers"].values[:, own]))
            if largest > 0.0:
                yield "largest multiplier", f"{largest:.6g}", unit


def _motion_rows(cast: Cast) -> Iterator[tuple[str, ...]]:
    time = cast.time
    bodies = {body.name for body in cast.bodies}
    for k, (name, way) in enumerate(cast.ways.items()):
        if k == 24:
            yield f"and {len(cast.ways) - k} more", "", "", ""
            return
        place = f"middle of {name}" if name in bodies else f"tip of {name}"
        end = ", ".join(f"{round(float(x), 9) + 0.0:.5g}" for x in way[-1])
        if len(time) == 1:
            yield place, end, "", ""  # nothing moves
            continue
        speed = _most(np.diff(way, axis=0) / np.maximum(np.diff(time), 1e-300)[:, None])
        yield place, end, f"{_most(way - way[0]):.5g}", f"{speed:.5g}"


def _most(vectors: np.ndarray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())


# ------------------------------------------------------------------------------ model and settings


def _model(one: _Shown) -> Iterator[str]:
    run, system = one.run, one.system
    if system is None:
        yield f"<p>{_escaped(one.reason)}</p>"
    else:
        for section in sections_of(system, run):
            yield f"<h3>{_escaped(section.title)}</h3>"
            yield _table(("name", "kind", "details"), list(section.rows))
        yield f"<h3>Structure</h3>\n<pre>{_escaped(summary_of(system))}</pre>"
    text = run.attrs.get("model")
    if isinstance(text, str) and 0 < len(text) <= _MODEL_SHOWN:
        yield f"<details><summary>The whole model, as stored in the run</summary><pre>{_escaped(text)}</pre></details>"


def _settings(shown: list[_Shown], command: str) -> Iterator[str]:
    yield "<h2>To make it again</h2>"
    rows: dict[str, list[str]] = {}
    for k, one in enumerate(shown):
        for key, value in _setting_rows(one.run, one.playback):
            rows.setdefault(key, [""] * len(shown))[k] = value
    yield _table(("", *(one.name for one in shown)), [(key, *values) for key, values in rows.items()])
    libraries = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "scipy", "numba", "xarray", "matplotlib"))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield f"<p>Page made with elver {_version('elver')}, Python {platform.python_version()}, {libraries}; {made}.</p>"
    yield f"<h3>The command</h3>\n<pre>{_escaped(command)}</pre>"
    if "model" in shown[0].run.attrs:
        yield "<h3>The model from the run's file, to compute with it again</h3>"
        code = 'from elver import io\n\nrun = io.load("run.nc")\nsystem = io.loads(run.attrs["model"])'
        yield f"<pre>{_escaped(code)}</pre>"


def _setting_rows(run: xr.Dataset, playback: Playback | None) -> Iterator[tuple[str, str]]:
    first = ("method", "step", "status", "conventions")
    for key in first:
        if key in run.attrs:
            yield key, _number(run.attrs[key])
    yield "computed with", f"elver {run.attrs.get('elver_version', 'of unknown version')}"
    for key, value in run.attrs.items():
        if key not in {*first, "title", "elver_version", "model"}:
            yield str(key), _number(value)
    if playback is not None:
        yield "playback", f"{playback.frames} of {run.sizes.get('time', playback.frames)} stored instants"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
