"""Doing the study of a model file: progress on the screen, results in a netCDF file that grows."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from elver.cli.check import changes_of
from elver.cli.notes import warnings_as_notes
from elver.errors import BadInput
from elver.io.toml_model import ContinuationStudy, Model, SimulationStudy, load_model

__all__ = ["equilibrium_of_file", "run_file"]

_REACTIONS = 12  # so many are printed


def run_file(
    file: Path, out: Path | None, settings: Sequence[str], *, as_json: bool = False, outside: bool = False
) -> None:
    """Do the study of a model file."""
    with warnings_as_notes() as heard:
        model = load_model(file, changes=changes_of(settings), outside=outside)
        if model.study is None:
            raise BadInput(
                f'{file}: study: it has no study; add [study] with kind = "simulation" and duration = "1 s", or use '
                "'elver equilibrium'"
            )
        target = _target(file, out or Path(f"{file.stem}.nc"))
        if isinstance(model.study, SimulationStudy):
            result = _simulate(model, model.study, target)
        elif isinstance(model.study, ContinuationStudy):
            result = _continue(model, model.study, target)
        else:
            result = _equilibrium(model, target)
    result = {"model": str(file), "study": model.study.kind, **result, "warnings": heard}
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
    elif "equilibrium" in result:
        _show_equilibrium(result)
    else:
        console = Console(highlight=False)
        text = ", ".join(f"{result[key]} {key}" for key in ("steps", "points") if key in result)
        if "speed" in result:
            text += f", t = {result['end']:g} s in {result['wall']:.2f} s ({result['speed']:.3g} times real time)"
        colour = "green" if result["status"] == "complete" else "yellow"
        console.print(f"[{colour}]{result['status']}[/{colour}]: {text}", soft_wrap=True)
        if result.get("energy"):
            console.print(f"  {result['energy']}", soft_wrap=True)
        _show_resolution(console, result)
        console.print(f"  {target}", soft_wrap=True)


def _show_resolution(console: Console, result: dict[str, Any]) -> None:
    """Whether functions, nodes and step suffice, in one line."""
    if result.get("resolution"):
        console.print(f"  resolution: {result['resolution']}", markup=False, soft_wrap=True)


def _target(file: Path, out: Path) -> Path:
    if out.resolve() == file.resolve():
        raise BadInput(f"--out {out}: that is the model file itself; choose another name, such as run.nc")
    return out


def equilibrium_of_file(
    file: Path, out: Path | None, settings: Sequence[str], *, as_json: bool = False, outside: bool = False
) -> None:
    """Print the state at rest of a model file."""
    with warnings_as_notes() as heard:
        model = load_model(file, changes=changes_of(settings), outside=outside)
        result = {"model": str(file), **_equilibrium(model, out and _target(file, out)), "warnings": heard}
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        _show_equilibrium(result)


# Studies ----------------------------------------------------------------------------------------------------


def _simulate(model: Model, study: SimulationStudy, target: Path) -> dict[str, Any]:
    from elver.dynamics.core import core
    from elver.integrators.resolution import resolution_in_words
    from elver.integrators.simulate import simulate
    from elver.results.status import energy_line
    from elver.statics import equilibrium

    core(model.system)  # compiled before the clock starts
    state = study.state
    if isinstance(state, str):
        state = equilibrium(model.system, model.inputs) if state == "equilibrium" else None
    began = time.perf_counter()
    with _progress(study.duration) as progress:
        run = simulate(
            model.system, state, study.duration, study.step, study.method, model.inputs,
            start=study.start, every=study.every, file=target, progress=progress,
        )  # fmt: skip
    wall = max(time.perf_counter() - began, 1e-9)
    times = run["time"].values
    return {
        "file": str(target),
        "status": run.attrs["status"],
        "steps": int(times.size - 1),
        "energy": energy_line(run),
        "end": float(times[-1]),
        "wall": wall,
        "speed": float(times[-1] - times[0]) / wall,
        "resolution": resolution_in_words(run, model.system),
    }


@contextlib.contextmanager
def _progress(duration: float) -> Iterator[Callable[[float, float], None]]:
    """A bar with the simulated time and the speed relative to real time; nothing where no one looks."""
    if not sys.stderr.isatty():
        yield lambda now, end: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False)
    bar = Progress(
        TextColumn("t = {task.fields[now]:.3g} of {task.fields[end]:.3g} s"),
        BarColumn(),
        TextColumn("{task.fields[speed]:.3g} times real time"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    began = time.perf_counter()
    with bar:
        task = bar.add_task("", total=duration, now=0.0, end=duration, speed=0.0)

        def moved(now: float, end: float) -> None:
            done = now - (end - duration)
            speed = done / max(time.perf_counter() - began, 1e-9)
            bar.update(task, completed=done, now=now, end=end, speed=speed)

        yield moved


def _continue(model: Model, study: ContinuationStudy, target: Path) -> dict[str, Any]:
    import xarray as xr

    from elver import io
    from elver.statics import continuation

    branch = continuation(
        model.system, study.over, study.stop, study.start, model.inputs,
        step=study.step, max_points=study.max_points, tolerance=study.tolerance,
    )  # fmt: skip
    system = model.system
    first = study.moved[0]
    unit = system.channels[system.channel_names.index(first)].unit
    data: dict[str, Any] = {
        "value": ("point", branch.values, {"units": unit, "long_name": first}),
        "stable": ("point", branch.stable),
        "q": (("point", "coordinate"), np.array([e.state.q for e in branch.equilibria])),
    }
    for part in system.mechanism.parts:
        data[f"{part.name}/position"] = (("point", "xyz"), branch.positions(part), {"units": "m"})
    coordinates = {"coordinate": list(system.coordinate_names), "xyz": ["x", "y", "z"]}
    title = system.title or f"elver continuation over {', '.join(study.moved)}"
    attributes = {"title": title, "model": io.dumps(system), "status": "complete"}
    io.save(xr.Dataset(data, coordinates, attributes), target)
    found = [{"kind": point.kind, "value": float(point.value)} for point in branch.points]
    return {"file": str(target), "status": "complete", "points": len(branch.equilibria), "special": found}


def _equilibrium(model: Model, target: Path | None) -> dict[str, Any]:
    from elver import io
    from elver.integrators.resolution import resolution_in_words
    from elver.io.toml_model import EquilibriumStudy
    from elver.statics import equilibrium

    study = model.study if isinstance(model.study, EquilibriumStudy) else EquilibriumStudy()
    found = equilibrium(model.system, model.inputs, tolerance=study.tolerance, max_iterations=study.max_iterations)
    names = model.system.channel_names
    if target is not None:
        from elver.integrators.simulate import still

        io.save(still(found), target)
    return {
        "file": str(target) if target else None,
        "equilibrium": {part.name: found.pose(part).tolist() for part in model.system.mechanism.parts},
        "q": dict(zip(model.system.coordinate_names, found.state.q.tolist())),
        "multipliers": found.multipliers,
        "reactions": _reactions(found),
        "inputs": dict(zip(names, found.inputs.tolist())),
        "stable": found.stable,
        "motion": found.motion,
        "potential": found.potential,
        "iterations": int(found.iterations),
        "residual": float(found.residual),
        "resolution": resolution_in_words(found),
    }


def _reactions(found: Any) -> dict[str, dict[str, Any]]:
    """What the first side of each joint, clamp and hold exerts on the second, in world axes, about the joint."""
    from elver.results.history import history_of
    from elver.results.reactions import passages_of

    rows = {}
    for passage in passages_of(history_of(found)[0]):
        wrench = passage.on("b")[1][0].tolist()
        a, b = passage.labels
        rows[passage.name] = {"a": a, "b": b, "force_on_b_world": wrench[3:], "moment_on_b_world": wrench[:3]}
    return rows


def _show_equilibrium(result: dict[str, Any]) -> None:
    console = Console(highlight=False)
    verdict = "[green]stable[/green]" if result["stable"] is True else "[yellow]not stable[/yellow]"
    if result["stable"] == "neutral":
        verdict = f"[yellow]neutral[/yellow] (nothing resists {escape(result['motion'])})"
    console.print(f"equilibrium, {verdict}, {result['iterations']} Newton steps, residual {result['residual']:.1e}")
    _show_resolution(console, result)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("part (tip of a rod)", "x [m]", "y [m]", "z [m]"):
        table.add_column(column, justify="left" if column.startswith("part") else "right")
    places = {name: [pose[k][3] for k in range(3)] for name, pose in result["equilibrium"].items()}
    for name, place in places.items():
        table.add_row(escape(name), *_rounded(place, places.values(), digits=6))
    console.print(table)
    if result["reactions"]:
        console.print(_reaction_table(result["reactions"]))
        console.print("  what the first exerts on the second, in world axes, about the joint")
    for name, value in result["multipliers"].items():
        console.print(f"  {name} = {value:.6g}", markup=False)
    if result["file"]:
        console.print(f"  {result['file']}", soft_wrap=True)


def _rounded(values: Sequence[float], others: Iterable[Sequence[float]], digits: int = 4) -> list[str]:
    """Numbers as text; what is rounding beside the largest of all others is zero."""
    small = 1e-9 * max(abs(x) for other in others for x in other)
    return [f"{x if abs(x) > small else 0.0:.{digits}g}" for x in values]


def _reaction_table(reactions: dict[str, dict[str, Any]]) -> Table:
    """Force and moment on the second side of each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("reaction", "first", "second", "force [N]", "moment [N m]"):
        table.add_column(column, justify="right" if "[" in column else "left")
    kinds = {kind: [entry[kind] for entry in reactions.values()] for kind in ("force_on_b_world", "moment_on_b_world")}
    for k, (name, entry) in enumerate(reactions.items()):
        if k == _REACTIONS:
            table.add_row(f"and {len(reactions) - k} more (--json has them)")
            break
        texts = [", ".join(_rounded(entry[kind], every)) for kind, every in kinds.items()]
        table.add_row(*map(escape, (name, entry["a"], entry["b"], *texts)))
    return table
