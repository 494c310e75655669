"""The page of a report: its parts in order, as HTML. What is on it comes from the modules beside this one."""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

import xarray as xr

from elver.integrators.resolution import resolution_in_words
from elver.results.status import is_complete
from elver.viz.measures import RAMP
from elver.viz.reports.beside import charts_beside
from elver.viz.reports.charts import Chart, charts_of, is_branch
from elver.viz.reports.numbers import Shown, numbers_of
from elver.viz.reports.playback import Playback
from elver.viz.reports.tags import escaped, number, table
from elver.viz.reports.words import sections_of, sentence_of, summary_of

__all__ = ["page_of"]

_MODEL_SHOWN = 400_000  # characters of the model's JSON that a page can show without becoming slow
_SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def page_of(shown: list[Shown], title: str, metrics: Mapping[str, Any], command: str) -> str:
    """The whole page; ``command`` is what made it."""
    program = files(__package__).joinpath("player.js").read_text(encoding="utf-8")
    look = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    playbacks = [one.playback for one in shown if one.playback is not None]
    body = [_header(shown, title)]
    if playbacks:
        body += _player(playbacks, [one.name for one in shown])
    body += [*_plots(list(_charts(shown))), *numbers_of(shown, metrics)]
    body.append("<h2>Model</h2>")
    same = len({one.run.attrs.get("model") for one in shown}) == 1
    for one in shown[:1] if same else shown:
        body += [f"<h3>{escaped(one.name)}</h3>" if not same else "", *_model(one)]
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
            f"<title>{escaped(title)}</title>\n<style>\n{look}</style>\n</head>\n<body>\n<main>",
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _header(shown: list[Shown], title: str) -> str:
    several = len(shown) > 1
    badges = "" if several else _badge(shown[0].run)
    parts = [f"<header><h1>{escaped(title)}</h1>{badges}</header>"]
    for one in shown:
        run, status = one.run, str(one.run.attrs.get("status", ""))
        name = f"<b>{escaped(one.name)}</b> {_badge(run)} " if several else ""
        parts.append(f"<p>{name}{escaped(sentence_of(one.system, run))}</p>")
        if one.system is not None and run.sizes.get("time", 0) and (told := resolution_in_words(run, one.system)):
            parts.append(f"<p>Resolution: {escaped(told)}.</p>")
        if is_complete(status) and status != "complete":
            parts.append(f'<p class="note">This run is {escaped(status)}: see the balance of energy below.</p>')
        elif status and status != "complete":
            killed = "it was still being computed, or was killed, when this page was made"
            why = escaped(killed if status == "running" else status)
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
    return f'<span class="{kind}">{escaped(re.split("[:,]", status)[0])}</span>' if status else ""


def _charts(shown: list[Shown]) -> Iterator[Chart]:
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
        label = f"<b>{escaped(name)}</b><br>" if name else ""
        stages += f'<div class="stage"><canvas id="stage{k or ""}" aria-label="the robot in motion"></canvas>'
        stages += f'<div class="scale">{label}grid {playback.scene["grid"]:g} m</div></div>'
    told = "".join(f'<option value="{k}">{escaped(each["name"])}</option>' for k, each in enumerate(measures))
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
        picture = f'<img alt="{escaped(chart.about)}" src="data:image/svg+xml;base64,{data}">'
        if not chart.over_time or chart.span[0] == chart.span[1]:
            yield f'<figure><div class="plot">{picture}</div></figure>'
            continue
        (left, right, bottom, top), (start, end) = chart.box, chart.span
        where = f'data-x0="{left:.5f}" data-x1="{right:.5f}" data-t0="{start!r}" data-t1="{end!r}"'
        line = f'<div class="cursor" style="top:{100 * (1 - top):.2f}%;height:{100 * (top - bottom):.2f}%"></div>'
        yield f'<figure><div class="plot" {where}>{picture}{line}</div></figure>'
    yield "</div>"


def _model(one: Shown) -> Iterator[str]:
    run, system = one.run, one.system
    if system is None:
        yield f"<p>{escaped(one.reason)}</p>"
    else:
        for section in sections_of(system, run):
            yield f"<h3>{escaped(section.title)}</h3>"
            yield table(("name", "kind", "details"), list(section.rows))
        yield f"<h3>Structure</h3>\n<pre>{escaped(summary_of(system))}</pre>"
    text = run.attrs.get("model")
    if isinstance(text, str) and 0 < len(text) <= _MODEL_SHOWN:
        yield f"<details><summary>The whole model, as stored in the run</summary><pre>{escaped(text)}</pre></details>"


def _settings(shown: list[Shown], command: str) -> Iterator[str]:
    yield "<h2>To make it again</h2>"
    rows: dict[str, list[str]] = {}
    for k, one in enumerate(shown):
        for key, value in _setting_rows(one.run, one.playback):
            rows.setdefault(key, [""] * len(shown))[k] = value
    yield table(("", *(one.name for one in shown)), [(key, *values) for key, values in rows.items()])
    libraries = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "scipy", "numba", "xarray", "matplotlib"))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield f"<p>Page made with elver {_version('elver')}, Python {platform.python_version()}, {libraries}; {made}.</p>"
    yield f"<h3>The command</h3>\n<pre>{escaped(command)}</pre>"
    if "model" in shown[0].run.attrs:
        yield "<h3>The model from the run's file, to compute with it again</h3>"
        code = 'from elver import io\n\nrun = io.load("run.nc")\nsystem = io.loads(run.attrs["model"])'
        yield f"<pre>{escaped(code)}</pre>"


def _setting_rows(run: xr.Dataset, playback: Playback | None) -> Iterator[tuple[str, str]]:
    first = ("method", "step", "status", "conventions")
    for key in first:
        if key in run.attrs:
            yield key, number(run.attrs[key])
    yield "computed with", f"elver {run.attrs.get('elver_version', 'of unknown version')}"
    for key, value in run.attrs.items():
        if key not in {*first, "title", "elver_version", "model"}:
            yield str(key), number(value)
    if playback is not None:
        yield "playback", f"{playback.frames} of {run.sizes.get('time', playback.frames)} stored instants"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
