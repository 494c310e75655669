"""Commands on model files and runs: ``elver check | schema | new | run | equilibrium | info``.

Here stand only their arguments and help; what they do is in modules of their own, loaded when a command runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["add_model_commands"]

_File = Annotated[Path, typer.Argument(help="Model file (TOML).", show_default=False)]
_Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Replace a value: rods.arm.length='0.5 m', tendon=5N.", show_default=False),
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
_Outside = Annotated[bool, typer.Option("--outside", help="Allow tables outside the folder of the model file.")]


def check(file: _File, set_: _Set = None, json: _Json = False, outside: _Outside = False) -> None:
    """Read a model file and say what it describes, or what is wrong with it and where.

    Example:  elver check arm.toml
    """
    from elver.cli.check import check_file

    check_file(file, set_ or [], as_json=json, outside=outside)


def schema() -> None:
    """Print the JSON schema of model files; editors complete keys and show units with it.

    Example:  elver schema > elver.schema.json
    """
    from elver.cli.check import print_schema

    print_schema()


def new(
    kind: Annotated[str, typer.Argument(help="rod, tendon-arm, parallel-robot or eel.", show_default=False)],
    file: Annotated[Path | None, typer.Argument(help="Where to write it.", show_default="KIND.toml")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Write a commented model file to start from.

    Example:  elver new tendon-arm
    """
    from elver.cli.new import write_starter

    write_starter(kind, file, force=force)


def run(
    file: _File,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of the results.", show_default="NAME.nc")
    ] = None,
    set_: _Set = None,
    json: _Json = False,
    outside: _Outside = False,
) -> None:
    """Do the study of a model file and write its results as they come.

    Ctrl-C keeps what was computed. Exit code 1 when it could not be solved, 2 when the file is not right.

    Example:  elver run arm.toml --set tendon=5N --out arm.nc
    """
    from elver.cli.run import run_file

    run_file(file, out, set_ or [], as_json=json, outside=outside)


def equilibrium(
    file: _File,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of the state, for report and view.", show_default="none")
    ] = None,
    set_: _Set = None,
    json: _Json = False,
    outside: _Outside = False,
) -> None:
    """Find the state at rest under the inputs at 0 s, whatever the study of the file is.

    Example:  elver equilibrium arm.toml --set tendon=5N --out rest.nc
    """
    from elver.cli.run import equilibrium_of_file

    equilibrium_of_file(file, out, set_ or [], as_json=json, outside=outside)


def info(
    file: Annotated[Path, typer.Argument(help="Results of a run (netCDF).", show_default=False)],
    json: _Json = False,
) -> None:
    """Say what a file of results holds, and whether its run is complete.

    Example:  elver info arm.nc
    """
    from elver.cli.info import describe_run

    describe_run(file, as_json=json)


def add_model_commands(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (new, check, run, equilibrium, info, schema):
        app.command(command.__name__)(command)
