"""What a file of results holds, in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from elver import io
from elver.cli.check import words_of_system
from elver.errors import BadInput
from elver.results.status import is_complete

__all__ = ["describe_run"]


def describe_run(file: Path, *, as_json: bool = False) -> None:
    """Print times, end and model of a run."""
    run = io.load(file)
    status = str(run.attrs.get("status", "unknown"))
    complete = is_complete(status)
    data: dict[str, Any] = {"file": str(file), "complete": complete, "status": status}
    for key in ("title", "elver_version", "method", "step"):
        if key in run.attrs:
            data[key] = run.attrs[key]
    if "time" in run.coords and run.sizes.get("time", 0):
        times = run["time"].values
        data |= {"instants": int(times.size), "from": float(times[0]), "to": float(times[-1])}
    data["variables"] = sorted(str(name) for name in run.data_vars)
    data["model"] = _model(run)
    if as_json:
        print(json.dumps(data, ensure_ascii=False))
        return
    console = Console(highlight=False)
    if complete:
        remark = status.partition(",")[2]
        console.print("[green]complete[/green]" + (f"[yellow],{remark}[/yellow]" if remark else ""), end="")
    elif status == "running":
        console.print("[yellow]incomplete[/yellow]: the run was cut off, or still goes on", end="")
    else:
        console.print(f"[yellow]incomplete[/yellow]: {status}", end="", soft_wrap=True)
    console.print(f"  {file}", soft_wrap=True)
    if "instants" in data:
        console.print(f"    {data['instants']} instants from {data['from']:g} s to {data['to']:g} s")
    for key in ("title", "method", "step", "elver_version"):
        if key in data:
            console.print(f"    {key}: {data[key]}", soft_wrap=True, markup=False)
    for line in data["model"]:
        console.print(f"    {line}", soft_wrap=True, markup=False)
    names = ", ".join(data["variables"])
    console.print(f"    {len(data['variables'])} variables: {names}", soft_wrap=True, markup=False)


def _model(run: Any) -> list[str]:
    text = run.attrs.get("model")
    if not isinstance(text, str):
        return ["no model inside"]
    try:
        return words_of_system(io.loads(text))
    except BadInput as error:
        return [f"the model inside cannot be read: {error}"]
