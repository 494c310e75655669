"""``elver export``: a run, or what its parts do at any place and instant, as a table for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["command"]


def command(
    run: Annotated[Path, typer.Argument(help="Run or equilibrium (.nc), as elver wrote it.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table to write (.csv or .nc).", show_default="beside the run, as .csv"),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(help="Rod or body to sample: motion, strains, internal stress.", show_default=False),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(help="Place on the rod: base, tip, 0.2 or '200 mm'; may be repeated.", show_default="all nodes"),
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option(help="Instant: 0.5, '10 ms', or start:end:step; may be repeated.", show_default="all recorded"),
    ] = None,
    reactions: Annotated[
        bool, typer.Option("--reactions", help="Wrench on each side of every joint, clamp and hold.")
    ] = False,
) -> None:
    """Write numbers of a run as a CSV table, one row per instant and place, with units in the header.

    Without options: coordinates, inputs, energies, multipliers, tips and bodies over time. Reactions are computed from
    the run and the model in it: force_on_a and moment_on_a are what b exerts on a, about the joint's frame on a, in
    joint axes (z is the joint's axis); with _world, in world axes. A name that ends in .nc gives a netCDF file.

    Example:  elver export arm.nc -o energies.csv

    Example:  elver export arm.nc --part arm --at 0.2 --at tip --time 0:1:0.01 -o stress.csv

    Example:  elver export arm.nc --reactions -o joints.csv
    """
    from rich.console import Console

    from elver import io
    from elver.errors import BadInput

    if run.suffix.lower() == ".toml":
        raise BadInput(f"{run}: a model file, not a run; compute it first: elver run {run}")
    if at and not part:
        raise BadInput("--at: say on which part, with --part NAME")
    if reactions and part:
        raise BadInput("--reactions and --part: choose one; write the other to a second table")
    data = io.load(run)
    times = None if not time else [t for text in time for t in _instants(text)]
    if reactions or part or times is not None:
        data = _results(data, part, at, times, reactions)
    target = out or run.with_suffix(".csv")
    if target.resolve() == run.resolve():
        raise BadInput(f"--out {target}: that is the run itself; choose another name, such as {run.stem}.csv")
    target = io.save(data, target) if target.suffix.lower() == ".nc" else io.save_csv(data, target)
    Console(highlight=False).print(f"{target} ({target.stat().st_size / 1e3:.0f} kB)", soft_wrap=True, markup=False)


def _results(data: Any, part: str | None, at: list[str] | None, times: list[float] | None, reactions: bool) -> Any:
    from elver import results
    from elver.errors import BadInput

    if reactions:
        return results.reactions(data, times=times)
    if part is None:
        raise BadInput("--time: say what to sample then, with --part NAME or --reactions")
    places = None if not at else [text if text in ("base", "tip") else _number(text, "m") for text in at]
    return results.sample(data, part, at=places, times=times)


def _instants(text: str) -> list[float]:
    """One instant [s], or those of start:end:step."""
    import numpy as np

    from elver.errors import BadInput

    if ":" not in text:
        return [_number(text, "s")]
    values = [_number(piece, "s") for piece in text.split(":")]
    if len(values) != 3 or values[2] <= 0.0 or values[1] < values[0]:
        raise BadInput(f"--time {text}: give start:end:step in s, such as 0:1:0.01")
    start, end, step = values
    found: list[float] = (start + step * np.arange(int(np.floor((end - start) / step + 1e-9)) + 1)).tolist()
    return found


def _number(text: str, unit: str) -> float:
    """A plain number in SI units, or a quantity such as "200 mm"."""
    from elver.io.units import quantity

    try:
        return float(text)
    except ValueError:
        return quantity(text, unit)
