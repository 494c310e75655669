"""What a report tells in numbers: metrics, what came of a run, its motion, its forces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from elver.results.status import energy_line
from elver.system import System
from elver.viz.history import Cast
from elver.viz.reports.charts import is_branch
from elver.viz.reports.forces import INSTANTS, reaction_rows, stress_rows
from elver.viz.reports.playback import Playback
from elver.viz.reports.tags import escaped, number, table

__all__ = ["Shown", "numbers_of"]


@dataclass(frozen=True)
class Shown:
    """One run with all that a page needs of it."""

    name: str
    run: xr.Dataset
    cast: Cast | None
    system: System | None
    reason: str  # why there is no system
    playback: Playback | None
    reactions: xr.Dataset | None


def numbers_of(shown: list[Shown], metrics: Mapping[str, Any]) -> Iterator[str]:
    """The part of the page below its plots; ``metrics`` are the user's own."""
    yield "<h2>Numbers</h2>"
    if metrics:
        yield table(("metric", "value", "unit", "reference", "tolerance", "source"), _metric_rows(metrics), (1, 3, 4))
        yield "<h3>Of the run</h3>"
    rows: dict[tuple[str, str], list[str]] = {}
    for k, one in enumerate(shown):
        measures = [] if one.playback is None else one.playback.scene["measures"]
        extremes = [(f"largest {each['name']} of a rod", f"{each['most']:.4g}", each["unit"]) for each in measures]
        for label, value, unit in [*_run_rows(one.run), *extremes]:
            rows.setdefault((label, unit), [""] * len(shown))[k] = value
    numbers = [(label, *values, unit) for (label, unit), values in rows.items()]
    yield table(("", *(one.name for one in shown), ""), numbers, tuple(range(1, len(shown) + 1)))
    for one in shown:
        if one.cast is not None:
            yield f"<h3>Tips and bodies{f' of {escaped(one.name)}' if one.name else ''}</h3>"
            head = ("place", "at the end [m]", "farthest from its start [m]", "largest mean speed of a step [m/s]")
            yield table(head, list(_motion_rows(one.cast)), (1, 2, 3))
        yield from _forces(one)


def _forces(one: Shown) -> Iterator[str]:
    """What joints and rods carry; nothing where the run does not tell, or its model has code that is not in it."""
    if one.system is None or one.reactions is None:
        return
    joints, rods = list(reaction_rows(one.reactions)), stress_rows(one.run, one.system)
    name = f" of {escaped(one.name)}" if one.name else ""
    if joints:
        yield f"<h3>Reactions{name}</h3>"
        head = ("joint", "between", "force at the end [N]", "largest [N]", "moment at the end [N m]", "largest [N m]")
        yield table(head, joints, (2, 3, 4, 5))
        yield (
            '<p class="quiet">What the first exerts on the second, in world axes, moments about the joint; the '
            "opposite acts on the first. In joint axes too, on both sides, over time: elver export --reactions.</p>"
        )
    if rods:
        yield f"<h3>Internal stress{name}</h3>"
        yield table(("rod", "largest force [N]", "largest moment [N m]"), rods)
        looked = one.run.sizes["time"]
        if looked > INSTANTS:
            yield f'<p class="quiet">Largest of {INSTANTS} instants, evenly spread over {looked}.</p>'


def _metric_rows(metrics: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for name, entry in metrics.items():
        given = entry if isinstance(entry, Mapping) else {"value": entry}
        texts = [number(given.get(key, "")) for key in ("value", "unit", "reference", "tolerance", "source")]
        rows.append((name, *texts))
    return rows


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
